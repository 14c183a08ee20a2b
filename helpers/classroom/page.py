"""What the report says, as plain data: the template only lays it out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

from .. import questions
from ..misconceptions import CATALOGUE, programs_for
from ..predictions import render
from ..questions import Question
from . import tally
from .clusters import Cluster, clusters, explained
from .collect import Class, grouped
from .context import context
from .handed_in import Problem, shown, without_person
from .judging import NO_ANSWER, OTHER_WORDING
from .roster import Person, absent
from .submissions import NOT_KEPT, NOT_RUN, Student
from .tally import FEW, Assigned, Belief, Count, Event, Group
from .writing import GENERATOR

FIRST = 3  # beliefs for the next lecture
MANY = 15  # beliefs that are shown at once
UNKNOWN = 4  # clusters of a question that are shown
NEW = 4  # clusters of the class that are shown at once
MOST_NEW = 30  # and altogether
QUOTED = 3  # reasons
NAMED = 3  # misconceptions of an exercise
REASON = 160  # characters of a reason
KINDS = ("right", "wrong", "odd", "rest")
UNKNOWN_IS = "fits nothing known"


@dataclass(frozen=True)
class Wishes:
    """What the instructor wants to see."""

    title: str = "What the class believes"
    names: bool = False
    reasons: bool = True
    notebooks: tuple[str, ...] = ()
    roster: tuple[Person, ...] | None = None
    keep_until: str = ""
    copies: bool = False  # whether lines that two people share count for both
    assigned: Assigned | None = None  # where the notebooks were not named, what the class handed in


@cache
def template(name: str) -> jinja2.Template:
    loader = jinja2.PackageLoader("helpers.classroom", "templates", encoding="utf-8")
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.get_template(name)


def share(part: int, whole: int) -> str:
    """
    A share in words that cannot mislead: whole per cent.

    Examples
    --------
    >>> share(1, 3), share(0, 0)
    ('33%', '–')
    """
    return f"{100 * part / whole:.0f}%" if whole else "–"


@dataclass(frozen=True)
class Counted:
    """What a class's answers come to, counted once for the page and the tables."""

    collected: Class
    found: list[Event]
    answered: list[tally.Answered]
    beliefs: list[Belief]
    odd: dict[int, list[Cluster]]  # by id() of the group: answers that fit nothing known

    def unknown(self, group: Group) -> list[Cluster]:
        return self.odd[id(group)]


def count(collected: Class, found: list[Event]) -> Counted:
    """Count a class's answers."""
    answered = tally.by_question(found)
    odd = {id(group): clusters(group) for one in answered for group in one.groups}
    return Counted(collected, found, answered, tally.beliefs(found), odd)


def report(counted: Counted, wishes: Wishes) -> dict[str, Any]:
    """Everything that the report shows, by section."""
    collected = counted.collected
    enough = [belief for belief in counted.beliefs if belief.could >= FEW]
    asked = _ask_again(collected, wishes)
    return {
        "wishes": wishes,
        "assigned": [_numbered(name) for name in wishes.assigned.notebooks] if wishes.assigned else [],
        "unread": sum(one["kind"] == UNREAD for one in asked),
        "uncommitted": sum(one["kind"] == UNCOMMITTED for one in asked),
        "ask": asked,
        "students": len(collected.students),
        "files": sum(student.files for student in collected.students),
        "answers": len(counted.found),
        "few": FEW,
        "many": MANY,
        "first": [_belief(belief, wishes) for belief in first(counted.beliefs)],
        "progress": _progress(collected, wishes),
        "absent": _absent(collected, wishes),
        "calibration": _calibration(counted.found),
        "beliefs": [_row(belief) for belief in enough],
        "beliefs_of_few": len(counted.beliefs) - len(enough),
        "unknown": _unknown(counted, wishes),
        "new": NEW,
        "exercises": _exercises(collected, wishes),
        "notebooks": _questions(counted),
        "problems": [_problem(collected, *one, wishes) for one in grouped(collected.all_problems)]
        + _strays(collected, wishes),
    }


def _numbered(notebook: str) -> str:
    """A notebook by number and title."""
    return f"{notebook[:2]} {questions.titles()[notebook]}"


# The three beliefs.


def first(beliefs: Sequence[Belief], count: int = FIRST) -> list[Belief]:
    """The beliefs to lecture on: those that most people hold most surely, of what five or more were asked."""
    return [belief for belief in beliefs if belief.held.people and belief.could >= FEW][:count]


def shown_most(belief: Belief) -> Question:
    """The question in which most people showed a belief."""
    return questions.get(min(belief.where, key=lambda name: (-belief.where[name], name)))


def _belief(belief: Belief, wishes: Wishes) -> dict[str, Any]:
    """One belief, so that it can be lectured from."""
    question = shown_most(belief)
    return {
        **_row(belief),
        "verdict": belief.entry.verdict,
        "why": render.markdown(question.why.get(belief.entry.id, belief.entry.why)),
        "question": question.id,
        "prompt": render.markdown(question.text),
        "context": context(question),
        "lines": "\n".join(lines(belief.entry.id, question)),
        "gives": gives(question, belief.entry.id),
        "right": right(question),
        "because": question.say(question.because),
        "reasons": _reasons(belief.events) if wishes.reasons and belief.held.people >= FEW else [],
    }


def lines(name: str, question: Question) -> list[str]:
    """The source lines of a wrong program, where a question is about what it computes."""
    if question.task is None or not question.show_program or name not in programs_for(question.task):
        return []
    return CATALOGUE[name].lines(question.task)


def gives(question: Question, name: str) -> str:
    """What the answer is if one believes this."""
    option = next((option for option in question.options if option.misconception == name), None)
    return _value(question, option.key if option else question.wrong[name])


def right(question: Question) -> str:
    """What the run gives."""
    return _value(question, question.truth)


def _value(question: Question, value: Any) -> str:
    """A result in the form of the question's answers."""
    if question.kind == "choice":
        option = question.option(value)
        return render.inline(option.says) if option else str(value)
    if question.kind == "cells":
        return render.answer_text(question, np.asarray(value, dtype=int).tolist())
    return render.value_text(value)


def _reasons(found: Iterable[Event]) -> list[str]:
    """A few reasons as they were typed: of the surest, each once."""
    typed = Counter()
    for event in found:
        if event.answer.because:
            typed[event.answer.because] += event.answer.sure or 0
    best = sorted(typed, key=lambda text: (-typed[text], text))[:QUOTED]
    return [shown(text if len(text) <= REASON else text[: REASON - 1] + "…") for text in best]


def _row(belief: Belief) -> dict[str, Any]:
    return {
        "id": belief.entry.id,
        "belief": belief.entry.belief,
        "could": belief.could,
        "met": belief.met,
        "held": belief.held.people,
        "share": share(belief.held.people, belief.could),
        "sure": sureness(belief.held),
        "weight": f"{belief.weight:.1f}" if belief.held.people >= FEW else "",
        "where": sorted(belief.where, key=lambda name: (-belief.where[name], name)),
    }


def sureness(count: Count) -> list[int] | None:
    """How many guessed, were fairly sure, were sure; None where so few people are not broken down."""
    return [count.sure[level] for level in (1, 2, 3)] if count.people >= FEW else None


# The class.


def _progress(collected: Class, wishes: Wishes) -> list[dict[str, Any]]:
    return [
        {
            "title": _numbered(row.notebook),
            "asked": row.asked,
            "all": len(row.all),
            "some": len(row.some),
            "none": len(row.none),
            "missing": len(row.missing),
            "names": sorted(collected.students[at].owner for at in (*row.none, *row.missing))
            if wishes.names
            else [],
        }
        for row in tally.progress(collected, wishes.notebooks)
    ]


def _absent(collected: Class, wishes: Wishes) -> dict[str, Any] | None:
    """Who is on the class list and handed in nothing."""
    if wishes.roster is None:
        return None
    names = absent(wishes.roster, collected.students)
    return {"count": len(names), "of": len(wishes.roster), "names": names if wishes.names else []}


UNREAD, UNCOMMITTED, SOME, ELSEWHERE = "unread", "uncommitted", "some", "elsewhere"


def _ask_again(collected: Class, wishes: Wishes) -> list[dict[str, str]]:
    """Whom to ask to hand in again, and why: nothing could be read, nothing is committed, or other notebooks came."""
    found = []
    for at, student in enumerate(collected.students):
        if told := _lacking(student, wishes):
            kind, why = told
            found.append(
                {"who": student.owner if wishes.names else f"Submission {at + 1}", "kind": kind, "why": why}
            )
    return found


def _lacking(student: Student, wishes: Wishes) -> tuple[str, str] | None:
    """What a student did not hand in, for an e-mail to the student."""
    if not student.notebooks and not student.answers:
        said = [
            f"{', '.join(_named(file, student.owner, wishes) for file in files)}: "
            + what.replace("ask for the file again", "please hand it in again")
            for _, files, what in grouped(student.problems)
        ]
        return UNREAD, "; ".join(said) or "nothing that could be read"
    answered = {questions.get(answer.question).notebook for answer in student.answers}
    asked = [
        name for name in wishes.notebooks or questions.titles() if name in {*student.notebooks, *answered}
    ]
    if not asked:
        names = ", ".join(name[:2] for name in sorted({*student.notebooks, *answered}))
        return ELSEWHERE, f"handed in {names}, and none of {', '.join(name[:2] for name in wishes.notebooks)}"
    empty = [name for name in asked if name not in answered]
    if not empty:
        return None
    texts = [problem.what for problem in student.problems]
    if any(text == NOT_KEPT for text in texts):
        why = "the answers were not saved in it; please hand in my_predictions.jsonl as well"
    elif any(text.endswith(NOT_RUN) for text in texts):
        why = "predictions are typed in, but were not run, or the outputs were cleared"
    else:
        why = "was it run and saved?"
    names = ", ".join(name[:2] for name in empty)
    return SOME if len(empty) < len(asked) else UNCOMMITTED, f"{names} handed in, nothing committed: {why}"


def _strays(collected: Class, wishes: Wishes) -> list[dict[str, str]]:
    """A line for each student whose notebooks few handed in."""
    if wishes.assigned is None:
        return []
    return [
        {
            "who": collected.students[at].owner if wishes.names else f"submission {at + 1}",
            "file": ", ".join(f"{name}.ipynb" for name in names),
            "what": f"handed in by fewer than {wishes.assigned.needed}, so taken for a slip and left out; "
            f"--notebook {','.join(name[:2] for name in (*wishes.assigned.notebooks, *names))} takes it in",
        }
        for at, names in wishes.assigned.strays.items()
    ]


def _calibration(found: Sequence[Event]) -> list[dict[str, Any]]:
    """Right answers by sureness; of a level that fewer than five answers have, only how many."""
    return [
        {
            "name": render.SURENESS[level],
            "judged": judged,
            "right": right if judged >= FEW else None,
            "share": share(right, judged),
        }
        for level, (judged, right) in tally.calibration(found).items()
    ]


def _exercises(collected: Class, wishes: Wishes) -> list[dict[str, Any]]:
    rows = []
    for exercise in tally.exercises(collected, wishes.notebooks):
        people = sum(exercise.states.values())
        named = exercise.beliefs.most_common(NAMED) if people >= FEW else []
        rows.append(
            {
                "id": exercise.id,
                "people": people,
                **{
                    state.replace(" ", "_"): exercise.states[state]
                    for state in ("right", "not yet", "not started")
                },
                "beliefs": [(CATALOGUE[name].verdict, count) for name, count in named if count >= FEW],
                "under": [CATALOGUE[name].verdict for name, count in named if count < FEW],
            }
        )
    return rows


# Questions.


def _questions(counted: Counted) -> list[dict[str, Any]]:
    notebooks: dict[str, dict[str, Any]] = {}
    for one in counted.answered:
        name = one.question.notebook
        shelf = notebooks.setdefault(name, {"title": _numbered(name), "questions": []})
        shelf["questions"].append(
            {
                "id": one.question.id,
                "prompt": render.markdown(one.question.text),
                "context": context(one.question),
                "right": right(one.question),
                "own": one.question.own_numbers,
                "groups": [
                    _group(group, counted.unknown(group), len(one.groups) > 1) for group in one.groups
                ],
                "again": one.again,
                "again_right": one.again_right,
            }
        )
    return list(notebooks.values())


def _group(group: Group, odd: list[Cluster], several: bool) -> dict[str, Any]:
    people = len(group.events)
    return {
        "title": group_title(group) if several or group.variant != "base" else "",
        "people": people,
        "rows": spread(group, odd) if people >= FEW else None,
    }


def group_title(group: Group) -> str:
    """Which wording and which numbers, in words."""
    numbers = {
        None: "numbers of their own, too few people each to tell apart",
        "base": "the course’s numbers",
    }.get(group.variant, f"numbers “{shown(group.variant or '')}”")
    now = group.question.version == group.version
    return (
        numbers if now else f"{numbers}, wording {group.version} (now {group.question.version}): not judged"
    )


def spread(group: Group, odd: list[Cluster]) -> list[dict[str, Any]]:
    """The rows of a question's table: right, each belief, what fits nothing known, and the rest."""
    kinds: dict[tuple[int, str], list[Event]] = {}
    for event in group.events:
        kinds.setdefault(_kind(event), []).append(event)
    total = len(group.events)
    rows = []
    for (order, name), found in sorted(
        kinds.items(), key=lambda item: (item[0][0], -len(item[1]), item[0][1])
    ):
        if order == 2:
            rows += [_line(c.said, c.count, total, "odd", UNKNOWN_IS, c.step) for c in odd[:UNKNOWN]]
            if rest := [event for cluster in odd[UNKNOWN:] for event in cluster.events]:
                said = f"{len(odd) - UNKNOWN} other answers"
                rows.append(_line(said, tally.counted(rest), total, "odd", UNKNOWN_IS))
            continue
        what = ("as the run", CATALOGUE[name].belief if name in CATALOGUE else "", "", name)[order]
        row = _line(_typical(group, found), tally.counted(found), total, KINDS[order], what)
        rows.append(row | {"id": name if order == 1 else ""})
    return rows


def _kind(event: Event) -> tuple[int, str]:
    """In which row of a table an answer counts."""
    verdict = event.verdict
    if verdict.right is None:
        return 3, verdict.fault
    if verdict.right:
        return 0, ""
    return (1, verdict.misconception) if verdict.misconception else (2, "")


def _typical(group: Group, found: Sequence[Event]) -> str:
    if group.variant is None or found[0].verdict.fault == OTHER_WORDING:
        return "various"
    if found[0].verdict.fault == NO_ANSWER:
        return found[0].verdict.said
    return Counter(event.verdict.said for event in found).most_common(1)[0][0]


def _line(said: str, count: Count, total: int, kind: str, what: str, step: str = "") -> dict[str, Any]:
    return {
        "kind": kind,
        "id": "",
        "said": shown(said),
        "people": count.people,
        "share": share(count.people, total),
        "sure": sureness(count),
        "what": what,
        "step": step,
    }


def _unknown(counted: Counted, wishes: Wishes) -> list[dict[str, Any]]:
    """The largest clusters of the class: enough people that it is no slip of one."""
    found = [
        (cluster, group)
        for one in counted.answered
        for group in one.groups
        for cluster in counted.unknown(group)
        if cluster.count.people >= FEW and one.question.kind != "choice"
    ]
    found.sort(key=lambda pair: (-pair[0].count.weight, pair[0].said))
    return [
        {
            **_line(cluster.said, cluster.count, len(group.events), "odd", "", cluster.step),
            "question": group.question.id,
            "right": right(group.question) if group.variant == "base" else "",
            "own": group.variant is None,
            "also": [CATALOGUE[name].verdict for name in explained(group, cluster)[:2]],
            "reasons": _reasons(cluster.events) if wishes.reasons else [],
        }
        for cluster, group in found[:MOST_NEW]
    ]


# Files.


def _problem(
    collected: Class, problem: Problem, files: Sequence[str], what: str, wishes: Wishes
) -> dict[str, str]:
    """A line for a person's problem; without names, what of the files' names says nothing about a person."""
    number, other = collected.number(problem.owner), collected.number(problem.other)
    names = dict.fromkeys(file if number is None else _named(file, problem.owner, wishes) for file in files)
    if wishes.names:
        return {
            "who": problem.owner,
            "file": ", ".join(names),
            "what": what.replace("{other}", problem.other),
        }
    who = f"submission {number}" if number else ""
    return {"who": who, "file": ", ".join(names), "what": what.replace("{other}", f"submission {other}")}


def _named(file: str, owner: str, wishes: Wishes) -> str:
    """A file without where it lies; without names, only what of it is the course's."""
    return PurePosixPath(file).name if wishes.names else without_person(file, owner)


def rendered(name: str, context: dict[str, Any]) -> str:
    """A page that is whole in itself."""
    style = Markup(template("page.css").render())  # ours, without anybody's text
    return template(name).render(style=style, generator=GENERATOR, **context)
