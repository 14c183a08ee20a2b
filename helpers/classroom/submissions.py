"""What one student's files hold: committed answers and results of checks, as data. Nothing in them is ever run."""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, NamedTuple

import orjson

from .. import questions
from ..misconceptions import CATALOGUE
from ..predictions import record
from . import judging
from .handed_in import MB, File, Problem, Unreadable, content, shown, unzipped

FLOOD = 5 * MB  # a notebook of the course is at most half a megabyte
LINES = 5_000  # of one student; the whole course makes about a hundred
ENOUGH = 3  # known cell ids that make a notebook known
NUMBERS = 20  # sets of numbers on which one question is answered
ANSWER = 2_000  # characters of one answer
NOT_KEPT = "its cards say committed, but the answers are not stored in it: ask for my_predictions.jsonl"
NOT_RUN = "but never run, or the outputs were cleared"
EARLIEST = datetime(2025, 1, 1, tzinfo=UTC)  # before the course there was

_MARK = re.compile(rb"^[ \t]*(<{7}|={7}|>{7}|\|{7})( |\r?$)", re.MULTILINE)
_CALL = re.compile(r'\b(predict|compare|check)\(\s*"(\d\d-[\w-]+)"')
_FRAMEWORK = re.compile(r'framework\s*=\s*["\'](\w+)')
_CHECKED = re.compile(
    r"(?P<id>\d\d-[\w-]+): (?P<says>Right, on all|Not yet|Not started|That one is ready-made)"
)
_RANK = {"right": 3, "not yet": 2, "not started": 1}


class Answer(NamedTuple):
    """One committed line, without what is the same for all of a question."""

    question: str
    version: int
    variant: str
    answer: str  # as JSON, so that equal answers are equal
    sure: int | None
    because: str
    attempt: int
    time: str


class Check(NamedTuple):
    """The best result of an exercise that a student's files show."""

    state: str  # "right", "not yet" or "not started"
    misconception: str | None = None


@dataclass
class Student:
    """What one person handed in, over all files and attempts."""

    owner: str
    answers: list[Answer] = field(default_factory=list)
    checks: dict[str, Check] = field(default_factory=dict)
    notebooks: dict[str, int] = field(default_factory=dict)  # notebook -> copies handed in
    problems: list[Problem] = field(default_factory=list)
    owner_id: str = ""
    files: int = 0


@dataclass
class _Found:
    """What one file holds."""

    lines: list[dict] = field(default_factory=list)
    checks: dict[str, Check] = field(default_factory=dict)
    notebook: str | None = None
    problems: list[str] = field(default_factory=list)


def read_student(handed_in: tuple[str, list[File]]) -> Student:
    """
    Read all files of one student.

    Parameters
    ----------
    handed_in : (str, list of File)
        Whose, and which. A record beside a notebook is used as well, and no line counts twice.

    Returns
    -------
    Student
        Answers in the order in which they were committed, the best result of each check.
    """
    owner, files = handed_in
    student = Student(owner, owner_id=next((file.owner_id for file in files if file.owner_id), ""))
    lines: dict[Answer, None] = {}
    for name, data in _contents(files, student):
        student.files += 1
        try:
            found = read_record(data) if name.lower().endswith(".jsonl") else read_notebook(data)
        except Unreadable as error:
            student.problems.append(Problem(name, str(error), student.owner))
            continue
        student.problems += [Problem(name, what, student.owner) for what in found.problems]
        if found.notebook:
            student.notebooks[found.notebook] = student.notebooks.get(found.notebook, 0) + 1
        for exercise, check in found.checks.items():
            student.checks[exercise] = _better(check, student.checks.get(exercise))
        sorted_out, said = _answers(found.lines)
        student.problems += [Problem(name, what, student.owner) for what in said]
        lines.update(dict.fromkeys(sorted_out))
    student.answers = _limited(sorted(lines, key=_order), student)
    return student


def _contents(files: list[File], student: Student) -> Iterator[tuple[str, bytes]]:
    for file in files:
        try:
            data = content(file)
            inside = unzipped(data) if file.kind == ".zip" else [("", data)]
            for name, what in inside:
                if isinstance(what, Unreadable):
                    student.problems.append(Problem(f"{file.name}/{name}".rstrip("/"), str(what), file.owner))
                else:
                    yield f"{file.name}/{name}".rstrip("/"), what
        except Unreadable as error:
            student.problems.append(Problem(file.name, str(error), file.owner))


# One file.


def read_record(data: bytes) -> _Found:
    """The lines of a my_predictions.jsonl, read as the notebooks read it."""
    reading = record.scan(data)
    faults = Counter(what for _, what in reading.faults)
    first = {what: number for number, what in reversed(reading.faults)}
    said = [f"line {first[what]}: {shown(what)}{_more(count)}: skipped" for what, count in faults.items()]
    return _Found(list(reading.lines), problems=said)


def read_notebook(data: bytes) -> _Found:
    """
    What a notebook holds, whatever it is called.

    Raises
    ------
    Unreadable
        If it is no notebook, or none of this course.
    """
    found = _Found()
    cells = cells_of(data)
    found.notebook, said = recognised(cells)
    found.problems += said
    if len(data) > FLOOD:
        sizes = [len(str(cell.get("outputs", ""))) for cell in cells]
        most = sizes.index(max(sizes)) if sizes else 0
        found.problems.append(
            f"{len(data) / MB:.0f} MB, most of it output of cell {most + 1}{_called(cells[most])}: read all the same"
        )
    faults = Counter()
    last = None
    for cell in cells:
        for output in _list(cell.get("outputs")):
            committed = _list(_dict(_dict(output).get("metadata")).get("predictions"))[:LINES]
            if committed and committed != last:  # a card and the comparison below it carry the same
                last = committed
                _sort(committed, found.lines, faults)
            _see_checks(found, cell, output)
    found.problems += [f"a committed line: {shown(what)}{_more(n)}: skipped" for what, n in faults.items()]
    if not found.lines:
        found.problems += _why_empty(cells)
    return found


def _sort(committed: list, lines: list[dict], faults: Counter) -> None:
    """Put records to the lines, and count what is wrong with the rest."""
    for line in committed:
        if fault := record.fault_in(line):
            faults[fault] += 1
        else:
            lines.append(line)


def cells_of(data: bytes) -> list[dict]:
    """
    Cells of a notebook, each a dict; what is in them may be anything.

    Raises
    ------
    Unreadable
        If it is no notebook; the message says what it is instead, or where it breaks.
    """
    notebook = _parsed(data)
    if not isinstance(notebook, dict) or not ("cells" in notebook or "worksheets" in notebook):
        raise Unreadable("not a notebook: it holds no cells")
    if "cells" not in notebook:
        raise Unreadable("a notebook of the old format 3: open it in JupyterLab and save it again")
    return [cell for cell in _list(notebook["cells"]) if isinstance(cell, dict)]


def joined(value: Any) -> str:
    """Join a source or a text as nbformat stores it: a string, or a list of lines."""
    parts = value if isinstance(value, list) else [value]
    return "".join(part for part in parts if isinstance(part, str))


def _parsed(data: bytes) -> Any:
    if not data.strip(b"\x00 \t\r\n"):
        raise Unreadable(f"empty ({len(data)} bytes): ask for the file again")
    try:
        return orjson.loads(data)  # in less than half of json's time, which was half of all reading
    except orjson.JSONDecodeError:
        pass  # also what is readable and only unusual, such as NaN or a byte order mark
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise Unreadable(
            f"not readable as text (byte {error.start} is no UTF-8): not a saved notebook"
        ) from None
    except json.JSONDecodeError as error:
        if mark := _MARK.search(data):
            line = data.count(b"\n", 0, mark.start()) + 1
            raise Unreadable(f"not readable: line {line} looks like a mark left by a merge") from None
        where = f"line {error.lineno}, column {error.colno}"
        raise Unreadable(
            f"not readable as a notebook: {where}: {error.msg}; save it again in JupyterLab"
        ) from None
    except (RecursionError, ValueError) as error:
        why = "nested too deeply" if isinstance(error, RecursionError) else "a number of thousands of digits"
        raise Unreadable(f"not readable as a notebook: {why}") from None


def _list(value: Any) -> list:
    return value if isinstance(value, list) else []


def _dict(value: Any) -> dict:
    return value if isinstance(value, dict) else {}


def _text(output: Any) -> str:
    return joined(_dict(_dict(output).get("data")).get("text/plain"))


def _called(cell: dict) -> str:
    return f" ({shown(cell['id'])[:60]})" if isinstance(cell.get("id"), str) else ""


# Which notebook it is.


@cache
def _asked_in() -> dict[str, str]:
    """Question or exercise -> notebook."""
    from ..exercises import EXERCISES

    by_number = {notebook[:2]: notebook for notebook in questions.titles()}
    known = {question.id: question.notebook for question in questions.load().values()}
    return {**known, **{name: by_number[name[:2]] for name in EXERCISES if name[:2] in by_number}}


@cache
def _ids_of() -> dict[str, set[str]]:
    """Notebook -> ids that its cells have by their questions and exercises."""
    ids: dict[str, set[str]] = {notebook: set() for notebook in questions.titles()}
    for name, notebook in _asked_in().items():
        ids[notebook] |= {f"{kind}-{name[3:]}" for kind in ("predict", "run", "check", "write")}
    return ids


def recognised(cells: list[dict]) -> tuple[str, list[str]]:
    """Which notebook of the course the cells belong to: by their ids, else by the questions that they name."""
    ids = {cell["id"] for cell in cells if isinstance(cell.get("id"), str)}
    known = Counter({notebook: len(mine & ids) for notebook, mine in _ids_of().items()})
    (best, count), (_, next_count) = known.most_common(2)
    said = _copied(cells)
    if count >= ENOUGH and count > 2 * next_count:
        return best, said
    called = Counter(
        _asked_in().get(name, "")
        for cell in cells
        if cell.get("cell_type") == "code"
        for _, name in _CALL.findall(joined(cell.get("source")))
    )
    called.pop("", None)
    if not called:
        raise Unreadable("not a notebook of this course: none of its cells is known")
    ((notebook, _),) = called.most_common(1)
    if known[notebook] < ENOUGH:
        said.append(f"its cell ids are missing or changed: taken for {notebook} by the questions it asks")
    return notebook, said


def _copied(cells: list[dict]) -> list[str]:
    """Cells that have the same id: each answer in them counts once, of the checks the best."""
    places: dict[str, list[int]] = {}
    for at, cell in enumerate(cells, 1):
        if isinstance(cell.get("id"), str):
            places.setdefault(cell["id"], []).append(at)
    return [
        f"cells {' and '.join(map(str, at))} have the same id {shown(name)[:60]!r}: each answer counts once"
        for name, at in places.items()
        if len(at) > 1
    ][:5]


# Checks.


@cache
def _by_verdict() -> dict[str, str]:
    return {entry.verdict: name for name, entry in CATALOGUE.items()}


def _see_checks(found: _Found, cell: dict, output: Any) -> None:
    """Take the result of a check from its output."""
    exercise, check = _carried(output) or _read_off(output) or ("", None)
    if exercise not in _asked_in():
        return
    library = _FRAMEWORK.search(joined(cell.get("source")))
    name = exercise if library is None or library[1] == "numpy" else f"{exercise}-{library[1][:10]}"
    found.checks[name] = _better(check, found.checks.get(name))


def _carried(output: Any) -> tuple[str, Check] | None:
    """What the output's metadata says, as a check leaves it there once it has judged something."""
    told = _dict(_dict(_dict(output).get("metadata")).get("check"))
    exercise, passed, name = (told.get(key) for key in ("exercise", "passed", "misconception"))
    if not isinstance(exercise, str) or not isinstance(passed, bool):
        return None
    if passed:
        return exercise, Check("right")
    return exercise, Check("not yet", name if isinstance(name, str) and name in CATALOGUE else None)


def _read_off(output: Any) -> tuple[str, Check] | None:
    """What the first line shows, of what was not started or has lost its metadata."""
    plain = _dict(_dict(output).get("data")).get("text/plain")
    text = plain[0] if isinstance(plain, list) and plain else plain
    if not isinstance(text, str) or not (seen := _CHECKED.match(text)):
        return None
    first = text.split("\n", 1)[0]
    check = {
        "Right, on all": Check("right"),
        "Not yet": Check("not yet", _by_verdict().get(first.partition("Not yet: ")[2])),
    }.get(seen["says"], Check("not started"))
    return seen["id"], check


def _better(one: Check, other: Check | None) -> Check:
    return one if other is None or _RANK[one.state] > _RANK[other.state] else other


def _why_empty(cells: list[dict]) -> list[str]:
    """What to tell of a notebook without committed answers, where it is not simply untouched."""
    shown_text = [_text(output) for cell in cells for output in _list(cell.get("outputs"))]
    if any(re.match(r"Predict [\w-]+: committed", text) for text in shown_text):
        return [NOT_KEPT]
    typed = [
        name
        for cell in cells
        if cell.get("cell_type") == "code"
        for name in re.findall(r'\bpredict\(\s*"(\d\d-[\w-]+)",\s*[^)\s]', joined(cell.get("source")))
    ]
    if typed:
        ids = ", ".join(typed[:3])
        what = "prediction is" if len(typed) == 1 else "predictions are"
        return [f"{len(typed)} {what} typed in ({ids}), {NOT_RUN}"]
    return []


# Lines.


def _answers(lines: Iterable[dict]) -> tuple[list[Answer], list[str]]:
    """Lines as answers, and what is odd about them."""
    known, odd = questions.load(), Counter()
    now = datetime.now(UTC) + timedelta(days=1)
    found = []
    for line in lines:
        name = line["question"]
        answer = shown(json.dumps(line["answer"], ensure_ascii=False))
        if name not in known:
            odd[f"the question {shown(name)[:40]!r} is not in this course: skipped"] += 1
            continue
        if len(answer) > ANSWER:
            odd[f"an answer to {name} of {len(answer)} characters: skipped, at most {ANSWER} are read"] += 1
            continue
        if line["kind"] != known[name].kind and line["version"] == known[name].version:
            odd[
                f"{name} is of kind {known[name].kind}, this answer of {shown(line['kind'])[:20]}: skipped"
            ] += 1
            continue
        if line["version"] == known[name].version and not judging.suits(name, answer):
            odd[f"the answer to {name}, {judging.plain(answer)}, does not fit the question: not judged"] += 1
        when = _time(line["time"])
        if when is None or not EARLIEST < when < now:
            odd[f"a time that cannot be ({shown(line['time'])[:40]}): kept"] += 1
        found.append(
            Answer(
                sys.intern(name),
                line["version"],
                sys.intern(shown(line["variant"][:80])),
                sys.intern(answer),
                line["sure"],
                shown(line["because"][: record.BECAUSE_LIMIT]),
                line["attempt"],
                shown(line["time"][:40]),
            )
        )
    return found, [f"{what}{_more(count)}" for what, count in odd.items()]


def _time(text: str) -> datetime | None:
    try:
        when = datetime.fromisoformat(text.replace("Z", "+00:00"))
        return when.astimezone(UTC) if when.tzinfo else when.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None


def _order(answer: Answer) -> tuple:
    """First by the attempt, which the record counts; a clock can be wrong."""
    return answer.attempt, answer.time


def _limited(answers: list[Answer], student: Student) -> list[Answer]:
    """Nobody answers a question on dozens of numbers; who made a file that does must not hold up the class."""
    numbers: dict[str, set[str]] = {}
    kept = []
    for answer in answers[:LINES]:
        mine = numbers.setdefault(answer.question, set())
        if answer.variant in mine or len(mine) < NUMBERS:
            mine.add(answer.variant)
            kept.append(answer)
    if len(kept) < len(answers):
        what = f"{len(answers)} answers, more than anybody gives: {len(answers) - len(kept)} are not counted"
        student.problems.append(Problem(student.owner, what, student.owner))
    return kept


def _more(count: int) -> str:
    return f" ({count} times)" if count > 1 else ""
