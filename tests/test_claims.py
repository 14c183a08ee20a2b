"""Each claim of the two source documents is asked somewhere: docs/claims.toml, and the table made of it.

``python -m tests.test_claims --write`` makes docs/claims.md anew.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Collection, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from helpers import questions
from helpers.exercises import EXERCISES
from helpers.misconceptions import CATALOGUE, programs_for

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "claims.toml"
PAGE = ROOT / "docs" / "claims.md"
SOURCES = {
    "000": "the explanation from first principles",
    "004": "the exercise with framework operations",
    "both": "both documents",
}
PLANNED = ("08_quadratic_memory", "09_heatmap_pitfalls")
KNOWN_GAPS = 1  # claims marked open; may fall, must not grow
KEYS = {"source", "says", "questions", "exercises", "waits_for", "open", "reason"}

Content = dict[str, Any]


def content() -> Content:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def written() -> set[str]:
    """Name the notebooks that exist."""
    return {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}


def diagnosed(id: str) -> list[str]:
    """Beliefs that a question can name in a wrong answer, or a check in what is handed in."""
    if id in EXERCISES:
        return list(programs_for(EXERCISES[id].task))
    question = questions.get(id)
    options = [option.misconception for option in question.options if option.misconception]
    return list(dict.fromkeys([*question.wrong, *options]))


def covering(claim: Mapping[str, Any]) -> list[str]:
    return [*claim.get("questions", ()), *claim.get("exercises", ())]


def known_ids(table: Content) -> Iterator[str]:
    """Sources, keys, questions and exercises are ones that exist, and no claim stands twice."""
    said: set[str] = set()
    for claim in table["claims"]:
        says = claim["says"]
        if says in said:
            yield f"twice: {says}"
        said.add(says)
        if claim["source"] not in SOURCES or set(claim) - KEYS:
            yield f"unknown source or key {sorted(set(claim) - KEYS)}: {says}"
        for name, known in (("questions", questions.load()), ("exercises", EXERCISES)):
            for id in claim.get(name, ()):
                if id not in known:
                    yield f"{id} is not one of the {name}: {says}"


def asked(table: Content, notebooks: Collection[str]) -> Iterator[str]:
    """Each claim is asked, or waits for a notebook that is not there yet, or is open with a reason."""
    for claim in table["claims"]:
        says, waits_for = claim["says"], claim.get("waits_for")
        states = [bool(covering(claim)), waits_for is not None, claim.get("open", False)]
        if sum(states) != 1:
            yield f"name questions or exercises, or waits_for, or open, and only one of these: {says}"
        if waits_for is not None and waits_for not in PLANNED:
            yield f"waits for {waits_for!r}, which is none of {PLANNED}: {says}"
        if waits_for in notebooks:
            yield f"{waits_for} is there now: name the question that asks it: {says}"
        if claim.get("open") and not claim.get("reason"):
            yield f"open without a reason: {says}"


def gaps(table: Content) -> Iterator[str]:
    """No more claims are open than are known to be."""
    found = [claim["says"] for claim in table["claims"] if claim.get("open")]
    if len(found) > KNOWN_GAPS:
        yield f"{len(found)} claims are open, {KNOWN_GAPS} are known: {found}"


def diagnoses(table: Content) -> Iterator[str]:
    """Each question names at least one wrong answer, or is listed as one that does not, with the reason."""
    excused, used = table.get("undiagnosed", {}), set()
    for claim in table["claims"]:
        for id in covering(claim):
            if id not in EXERCISES and id not in questions.load():
                continue  # said above
            used.add(id)
            if not diagnosed(id) and not excused.get(id):
                yield f"{id} names no wrong answer; list it under [undiagnosed] with the reason: {claim['says']}"
    for id in excused:
        if id not in used or diagnosed(id):
            yield f"{id} stands under [undiagnosed], but names a wrong answer or covers nothing: remove it"


def problems(table: Content, notebooks: Collection[str]) -> list[str]:
    return [*known_ids(table), *asked(table, notebooks), *gaps(table), *diagnoses(table)]


def page(table: Content) -> str:
    """Return docs/claims.md: a row for each claim and each question or exercise that covers it."""
    claims, named = table["claims"], set()
    lines = [
        "# What the course claims, and where you predict it",
        "",
        "Each claim of the two source documents, in words of our own, with the questions that nobody gets right "
        "without knowing it, and the wrong answers to them that are named. What the names stand for is listed at "
        "the end. A *check* is an exercise: the function handed in is compared with that many wrong programs. "
        "For those who teach: this page tells results.",
        "",
        "Made from `claims.toml` by `python -m tests.test_claims --write`; a test compares the two.",
    ]
    for source, title in SOURCES.items():
        lines += ["", f"## Claims of {title}", "", "| claim | notebook | question | wrong answers it names |"]
        lines += ["|---|---|---|---|"]
        for claim in claims:
            if claim["source"] != source:
                continue
            says = claim["says"]
            for id in covering(claim):
                beliefs = diagnosed(id)
                if id in EXERCISES:
                    cells = f"{id[:2]} | {id} (check) | {len(beliefs)} wrong programs |"
                else:
                    named.update(beliefs)
                    shown = ", ".join(f"`{name}`" for name in beliefs) or "none by name"
                    cells = f"{id[:2]} | {id} | {shown} |"
                lines.append(f"| {says} | {cells}")
                says = ""
            if "waits_for" in claim:
                lines.append(f"| {says} | {claim['waits_for'][:2]} | to come | |")
            if claim.get("open"):
                lines.append(f"| {says} | | none yet | {claim['reason']} |")
    lines += ["", "## Questions that name no wrong answer", ""]
    lines += [f"- {id}: {reason}" for id, reason in table.get("undiagnosed", {}).items()]
    lines += ["", "## Statements that are not asked", ""]
    lines += [f"- {one['says']} {one['because']}" for one in table["not_claims"]]
    lines += ["", "## The wrong beliefs", "", "| name | what somebody holds who answers so |", "|---|---|"]
    lines += [f"| `{id}` | {CATALOGUE[id].belief} |" for id in sorted(named)]
    return "\n".join(lines) + "\n"


def test_the_table_keeps_the_rules():
    assert problems(content(), written()) == []


def test_there_are_claims_of_both_documents():
    assert {claim["source"] for claim in content()["claims"]} == set(SOURCES)


def test_the_page_is_made_of_the_table():
    made = page(content())
    assert PAGE.read_text(encoding="utf-8") == made, "run: python -m tests.test_claims --write"


def first_asked(table: Content) -> dict[str, Any]:
    return next(claim for claim in table["claims"] if claim.get("questions"))


DEFECTS = {
    "question that is not there": (lambda t: first_asked(t)["questions"].append("99-none"), "not one of"),
    "exercise that is not there": (lambda t: first_asked(t).update(exercises=["99-none"]), "not one of"),
    "unknown source": (lambda t: first_asked(t).update(source="001"), "unknown source"),
    "unknown key": (lambda t: first_asked(t).update(question="01-weights"), "unknown source or key"),
    "claim twice": (lambda t: t["claims"].append(dict(first_asked(t))), "twice"),
    "nothing asks it": (lambda t: first_asked(t).update(questions=[]), "only one of these"),
    "asked and waiting": (lambda t: first_asked(t).update(waits_for=PLANNED[0]), "only one of these"),
    "waits for no notebook": (
        lambda t: first_asked(t).update(questions=[], waits_for="11_more"),
        "which is none of",
    ),
    "open without a reason": (lambda t: first_asked(t).update(questions=[], open=True), "without a reason"),
    "one more gap": (lambda t: first_asked(t).update(questions=[], open=True, reason="x"), "are known"),
    "names no wrong answer": (lambda t: first_asked(t)["questions"].append("04-leak"), "no wrong answer"),
    "excused without need": (lambda t: t["undiagnosed"].update({"01-weights": "x"}), "remove it"),
    "excused and unused": (lambda t: t["undiagnosed"].update({"03-blind": "x"}), "remove it"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_each_rule_is_seen_failing(defect):
    edit, complaint = DEFECTS[defect]
    table = deepcopy(content())
    if defect == "names no wrong answer":
        table["undiagnosed"].pop("04-leak")
    edit(table)
    assert any(complaint in problem for problem in problems(table, written()))


@pytest.mark.parametrize("name", PLANNED)
def test_a_claim_cannot_wait_for_a_notebook_that_is_there(name):
    table = content()
    first_asked(table).update(questions=[], exercises=[], waits_for=name)
    assert any("is there now" in problem for problem in problems(table, written() | {name}))


def test_a_stale_page_is_seen():
    table = content()
    first_asked(table)["says"] = "Something else."
    assert page(table) != page(content())


def main(arguments: list[str] | None = None) -> int:
    """Check docs/claims.toml, or write docs/claims.md anew; the exit code is 1 where a problem is left."""
    parser = argparse.ArgumentParser(prog="python -m tests.test_claims", description=main.__doc__)
    parser.add_argument("--write", action="store_true", help="make docs/claims.md anew")
    options = parser.parse_args(arguments)
    table = content()
    found = problems(table, written())
    if options.write and not found:
        PAGE.write_text(page(table), encoding="utf-8", newline="\n")
    print(*found, sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
