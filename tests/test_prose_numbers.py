"""Every number in prose is computed, and every quoted claim has its source: tests/prose_numbers.toml says from what."""

from __future__ import annotations

import math
import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers import questions, tasks
from helpers.exercises.cases import cases_for
from helpers.misconceptions import CATALOGUE
from helpers.predictions.render import SURENESS
from helpers.questions import Question
from tests import notebook_format
from tests.test_questions import execute

ROOT = Path(__file__).resolve().parent.parent
TABLE = Path(__file__).with_name("prose_numbers.toml")
FIELDS = ("prompt", "ask", "because", "explanation", "wrong_and_sure")
DRAWS = ("class-a", "class-b", "class-c")

WORDS = {
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "sixteen": 16,
    "twenty": 20,
}
WORDS |= {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9}
THING = "keys?|query|queries|rows?|columns?|tokens?|outputs?|positions?|heads?|texts?|value|features?|words?"
MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
EQUATION = re.compile(r"(?:(?P<e>\be)(?:\^(?P<power>[−\d.]*\d))?|√(?P<root>\d+)) ≈ (?P<value>[\d.]*\d)")
# What holds digits and is no number to check: code, placeholders, links, lists, references, indices, dates.
ELSE = re.compile(
    r"```.*?```|`[^`]*`|\{[^{}]*\}|\[[^\]]*\]\([^)]*\)|^\d+\. |\be\^[−\d.]*\d|√\d+"
    r"|\b(?:[Ss]ections?|[Nn]otebooks?) \d+(?:\.\d+)*(?:,? (?:and|to) \d+(?:\.\d+)*)?|\b(?:arXiv|issue|PR) #?[\d.]*\d"
    rf"|\b(?i:{THING}) \d+(?:(?:, \d+)*,? (?:and|to|or) \d+)?(?!\d|\.\d)"
    rf"|Allow \d+ minutes(?:,? and \d+ more)?|\b\d+ \(\d{{4}}\)|\b(?:{MONTH}) \d{{4}}",
    re.S | re.M,
)
NUMBER = re.compile(
    rf"\b(?i:(?:a )?(?:{'|'.join(WORDS)}))\b"
    r"|(?<![\w.,])(?<![A-Za-z]-)[−-]?\d(?:[\d,]*\d)?(?:\.\d+)?(?:e-?\d+)?%?"
)
QUOTED = re.compile(
    r"\bpublished\b|\b[Pp]ublic code\b|\bmany programs\b|\bcollection of exercises\b|\brepository\b"
    r"|https?://(?!arxiv\.org)"
)


# What is found in prose


@cache
def prose() -> dict[str, str]:
    """All prose by its place: Markdown cells and the sentences of questions."""
    found = {}
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        for cell in notebook_format.read(path).cells:
            if cell.cell_type == "markdown":
                found[f"{path.stem}/{cell.id}"] = cell.source
    for question in questions.load().values():
        texts = {field: getattr(question, field) for field in FIELDS}
        texts |= {f"why {name}": text for name, text in question.why.items()}
        for option in question.options:
            texts |= {f"{option.key} says": option.says, f"{option.key} feedback": option.feedback}
        found |= {f"{question.id}/{field}": text for field, text in texts.items() if text}
    return found


def numbers_in(text: str) -> list[str]:
    """Numbers that need an entry, in order, words in lower case.

    >>> numbers_in("Key 2 has 0.25 of `7`, in notebook 03; e^2 ≈ 7.39, about Eight times {asked}.")
    ['0.25', 'eight']
    """
    bare = ELSE.sub(" ", EQUATION.sub(" ", text.replace("{{", "").replace("}}", "")))
    return [found[0].lower() for found in NUMBER.finditer(bare) if found[0] not in ("0", "1")]


def wrong_equations(text: str) -> list[str]:
    """Equations such as e^2 ≈ 7.39 or √2 ≈ 1.41 whose two sides differ at the digits shown."""
    found = []
    for match in EQUATION.finditer(text):
        power, root = match["power"], match["root"]
        exact = math.sqrt(int(root)) if root else math.exp(float((power or "1").replace("−", "-")))
        if not agrees(match["value"], exact):
            found.append(match[0])
    return found


def agrees(shown: str, value: float) -> bool:
    """Whether a number is a value at the digits shown; an integer has to be exact."""
    if (word := shown.removeprefix("a ")) in WORDS:
        return value == WORDS[word]
    plain = shown.replace(",", "").replace("−", "-").removesuffix("%")
    value = float(value) * (100 if shown.endswith("%") else 1)
    mantissa, _, exponent = plain.partition("e")
    if "." not in mantissa and not exponent:
        return abs(value - int(plain)) < 1e-9
    unit = 10.0 ** (int(exponent or 0) - len(mantissa.partition(".")[2]))
    return abs(value - float(plain)) <= unit * (0.5 + 1e-9)


# What expressions see


@cache
def sources(notebook: str) -> dict[str, str]:
    cells = notebook_format.read(ROOT / "notebooks" / f"{notebook}.ipynb").cells
    return {cell.id: cell.source for cell in cells if cell.cell_type == "code"}


def code(notebook: str, cell: str, name: str) -> Any:
    """Return the value of a variable after the setup and one cell."""
    return execute([sources(notebook)[cell]])[0][name]


def stands(notebook: str, cell: str, literal: str) -> float:
    """Return a number that stands in a code cell."""
    if not re.search(rf"(?<![\w.]){re.escape(literal)}(?![\w.])", sources(notebook)[cell]):
        raise ValueError(f"{literal} does not stand in {notebook}/{cell}")
    return float(literal)


def minutes() -> list[int]:
    """Minutes that the notebooks say they take."""
    said = (re.search(r"Allow (\d+) minutes", text) for place, text in prose().items() if "_" in place)
    return [int(found[1]) for found in said if found]


def largest(task: str) -> float:
    """Return the largest finite score on which a function for this task is checked."""
    scores = [np.ravel(case.given["scores"]) for case in cases_for(task)]
    return max(float(np.max(one[np.isfinite(one)], initial=0)) for one in scores)


def version_tried(package: str) -> str:
    """Return the version in requirements-tested.txt."""
    lines = (ROOT / "requirements-tested.txt").read_text(encoding="utf-8")
    return re.search(rf"^{package}==(\S+)", lines, flags=re.M)[1]


def space(question: Callable[[str], Question] = questions.get) -> dict[str, Any]:
    """Names that an expression may use."""

    def again(id: str, **inputs: Any) -> Any:
        one = question(id)
        return tasks.read(tasks.run(one.task, {**one.inputs, **inputs}), one.part)

    return {
        "np": np,
        "math": math,
        "tasks": tasks,
        "SURENESS": SURENESS,
        "given": lambda id: tasks.resolve(question(id).inputs),
        "then": lambda id: tasks.resolve(question(id).then),
        "run": lambda id: question(id).run(),
        "asked": lambda id: question(id).asked(),
        "wrong": lambda id: question(id).wrong,
        "again": again,
        "code": code,
        "stands": stands,
        "minutes": minutes,
        "largest": largest,
        "version_tried": version_tried,
    }


# The rules


def expressions(entry: dict[str, Any]) -> list[str]:
    given = entry.get("is", [])
    return [given] if isinstance(given, str) else given


def disagreements(entry: dict[str, Any], names: dict[str, Any]) -> Iterator[str]:
    """Where the expressions of an entry give something else than its number."""
    number = entry["number"]
    for expression in expressions(entry):
        value = eval(expression, dict(names))
        if not agrees(number, value):
            yield f"{entry['place']}: {number} stands there, {expression} is {value}"
    if "holds" in entry:
        plain = number.replace(",", "").replace("−", "-")
        if plain not in entry["holds"]:
            yield f"{entry['place']}: {number} does not stand in {entry['holds']}"
        if not eval(entry["holds"], dict(names)):
            yield f"{entry['place']}: it does not hold that {entry['holds']}"


def fresh_spaces(place: str) -> Iterator[dict[str, Any]]:
    """Names for expressions, for the question of this place with other numbers."""
    own = questions.load().get(place.partition("/")[0])
    for draw in DRAWS if own and own.fresh else ():
        renewed = own.renew(draw)
        yield space(lambda id, renewed=renewed: renewed if id == renewed.id else questions.get(id))


def numbers(table: dict[str, Any], texts: dict[str, str]) -> Iterator[str]:
    """Each number has one entry, each entry its numbers, and they agree, on fresh numbers too."""
    entries: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for entry in table["numbers"]:
        entries[entry["place"], entry["number"]].append(entry)
        if sum(name in entry for name in ("is", "holds", "free")) != 1:
            yield f"{entry['place']}: {entry['number']} needs is, holds or free, and only one of these"
    found = {place: numbers_in(text) for place, text in texts.items()}
    for place, shown in found.items():
        for number in dict.fromkeys(shown):
            mine = entries.pop((place, number), [])
            times = shown.count(number)
            if not mine:
                yield f"{place}: {number} has no entry in {TABLE.name}"
            elif len(mine) > 1:
                yield f"{place}: {number} has {len(mine)} entries: give one with a list"
            elif "is" in mine[0] and len(expressions(mine[0])) != times:
                yield f"{place}: {number} stands there {times} times, with {len(expressions(mine[0]))} expressions"
            elif mine[0].get("holds") and times > 1:
                yield f"{place}: {number} stands there {times} times: give each an expression"
            else:
                yield from judged(mine[0])
    for place, number in entries:
        yield f"{place}: no {number} stands there: remove the entry"


def judged(entry: dict[str, Any]) -> Iterator[str]:
    spaces = [space(), *fresh_spaces(entry["place"])]
    wrong = [problem for names in spaces for problem in disagreements(entry, names)]
    if "reported" not in entry:
        yield from wrong
    elif not wrong:
        yield f"{entry['place']}: {entry['number']} is right now: remove `reported`"


def quotes(table: dict[str, Any], texts: dict[str, str]) -> Iterator[str]:
    """Each quoted claim has an entry, its words stand in their place, and its source where the entry says."""
    course = table["course_sources"]
    quoted = {entry["place"] for entry in table["quotes"]}
    for place, text in texts.items():
        if place not in quoted and QUOTED.search(re.sub(r"`[^`]*`", " ", text)):
            yield f"{place}: something is quoted without an entry in {TABLE.name}"
        for number in re.findall(r"\b\d{4}\.\d{5}\b", text):
            if number not in course:
                yield f"{place}: arXiv {number} is none of the course's sources"
    for entry in table["quotes"]:
        place, words = entry["place"], entry["words"]
        if words not in texts.get(place, ""):
            yield f"{place}: {words!r} does not stand there: remove the entry"
        if sum(name in entry for name in ("catalogue", "course")) != 1:
            yield f"{place}: {words!r} needs catalogue or course, and only one of these"
        elif entry.get("course", next(iter(course))) not in course:
            yield f"{place}: {entry['course']} is none of the course's sources"
        elif "catalogue" in entry:
            held = CATALOGUE[entry["catalogue"]].source if entry["catalogue"] in CATALOGUE else ""
            listed = bool(entry.get("source")) and entry["source"] in held
            if listed and "unlisted" in entry:
                yield f"{place}: {entry['catalogue']} names {entry['source']!r} now: remove `unlisted`"
            if not listed and "unlisted" not in entry:
                yield f"{place}: {entry['catalogue']} does not name {entry.get('source')!r} as its source"


def content() -> dict[str, Any]:
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def test_each_number_is_what_it_is_computed_to_be():
    assert list(numbers(content(), prose())) == []


def test_each_quoted_claim_has_its_source():
    assert list(quotes(content(), prose())) == []


def test_equations_in_prose_are_right():
    assert {place: wrong for place, text in prose().items() if (wrong := wrong_equations(text))} == {}


# Each rule is seen failing


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It is 0.67, then 6.7e-8, −40 or 12%.", ["0.67", "6.7e-8", "−40", "12%"]),
        (
            "There are 50,000 pairs, four keys and Eight heads; a thousand more.",
            ["50,000", "eight", "a thousand"],
        ),
        ("Queries 2 and 3 read key 5; row 12, notebooks 01 and 04, section 3.2.1, √64, e^2.83.", []),
        ("Allow 40 minutes. `x = 7`, {asked:.3f}, [3](a_9.ipynb), arXiv 1706.03762, November 2026.", []),
        ("0 and 1 need none, 0.0 and 10 do.", ["0.0", "10"]),
        ("position 3.5 is a number, CIFAR-10 is a name.", ["3.5"]),
    ],
)
def test_numbers_are_found(text, found):
    assert numbers_in(text) == found


@pytest.mark.parametrize("text", ["e^2 ≈ 7.40", "e ≈ 2.71", "√2 ≈ 1.42", "e^−1 ≈ 0.36"])
def test_a_wrong_equation_is_seen(text):
    assert wrong_equations(text) == [text]


@pytest.mark.parametrize(
    ("shown", "value", "right"),
    [
        ("0.67", 0.6742, True),
        ("0.67", 0.676, False),
        ("4", 4.3, False),
        ("50,000", 50_000, True),
        ("7e-8", 7.4e-8, True),
        ("7e-8", 7.6e-8, False),
        ("12%", 0.12, True),
        ("eight", 8, True),
        ("a thousand", 999, False),
    ],
)
def test_numbers_are_compared_at_the_digits_shown(shown, value, right):
    assert agrees(shown, value) is right


def entry(table: dict[str, Any], place: str) -> dict[str, Any]:
    return next(one for one in [*table["numbers"], *table["quotes"]] if one["place"] == place)


READ, FLOAT, FUSED, FILLS = (
    "01_one_row_by_hand/read-order",
    "01-float32/because",
    "06-fused/rounding says",
    "04_masks_and_temperature/section-fills",
)
DEFECTS = {
    "no entry": (lambda t, p: t["numbers"].remove(entry(t, FLOAT)), "has no entry"),
    "new number in prose": (lambda t, p: p.update({READ: p[READ] + " It is 17."}), "17 has no entry"),
    "number changed in prose": (lambda t, p: p.update({FUSED: "About 1e-6."}), "1e-6 has no entry"),
    "nothing left of it": (lambda t, p: p.update({FUSED: "About nothing."}), "remove the entry"),
    "stands once more": (lambda t, p: p.update({FLOAT: p[FLOAT] + " And 8."}), "2 times, with 1"),
    "two entries": (lambda t, p: t["numbers"].append(dict(entry(t, FLOAT))), "2 entries"),
    "other value": (lambda t, p: entry(t, FLOAT).update({"is": "7"}), "is 7"),
    "does not hold": (
        lambda t, p: entry(t, "00_start_here/read-map").update(holds="20 > 40"),
        "does not hold",
    ),
    "holds without the number": (
        lambda t, p: entry(t, "00_start_here/read-map").update(holds="True"),
        "does not stand in",
    ),
    "no kind": (lambda t, p: entry(t, FLOAT).pop("is"), "only one of these"),
    "reported without need": (lambda t, p: entry(t, FLOAT).update(reported="x"), "remove `reported`"),
    "wrong on fresh numbers": (
        lambda t, p: entry(t, "05-added/explanation").update(
            {"is": "1e9 * given('05-added')['scores'][0, 0]"}  # a billion with the notebook's own scores only
        ),
        "05-added",
    ),
    "quote without an entry": (lambda t, p: p.update({FUSED: "Found in public code."}), "quoted without"),
    "paper unknown": (lambda t, p: p.update({FUSED: "arXiv 1234.56789"}), "none of the course's"),
    "words gone": (lambda t, p: p.update({FILLS: "Both have stood somewhere."}), "'timm' does not stand"),
    "other source": (lambda t, p: entry(t, FILLS).update(source="nobody/nothing"), "does not name"),
    "no source": (lambda t, p: entry(t, FILLS).pop("source"), "does not name"),
    "no such entry": (lambda t, p: entry(t, FILLS).update(catalogue="none"), "does not name"),
    "no kind of quote": (lambda t, p: entry(t, FILLS).pop("catalogue"), "needs catalogue"),
    "course source unknown": (
        lambda t, p: entry(t, "00_start_here/recap").update(course="x"),
        "none of the course's",
    ),
    "unlisted without need": (lambda t, p: entry(t, FILLS).update(unlisted="x"), "remove `unlisted`"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_each_rule_is_seen_failing(defect):
    edit, complaint = DEFECTS[defect]
    table, texts = deepcopy(content()), dict(prose())
    edit(table, texts)
    found = [*numbers(table, texts), *quotes(table, texts)]
    assert any(complaint in problem for problem in found), found


def test_a_literal_that_is_gone_is_seen():
    with pytest.raises(ValueError, match="does not stand"):
        stands("03_why_the_square_root", "run-variance", "60_000")
