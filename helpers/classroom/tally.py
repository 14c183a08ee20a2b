"""What a class's answers come to: by question, by belief, by sureness. Counts, and who only where that is asked."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import ceil
from typing import NamedTuple

from .. import questions
from ..exercises import SOLUTIONS
from ..misconceptions import CATALOGUE, Misconception
from ..predictions import own
from ..questions import Question
from .collect import Class
from .judging import Asked, Verdict, judge_all, remember
from .submissions import Answer, Student
from .workers import spread

FEW = 5  # fewer people than this are not broken down
PART = 10  # a notebook that one in so many of a class hand in is taken to be assigned
PRETEST = "-pre-"  # committed before the course, so that it says nothing about what was learned


class Event(NamedTuple):
    """A student's first answer to a question on some numbers."""

    student: int
    answer: Answer
    verdict: Verdict
    again: bool  # whether it was asked again, on fresh numbers


@dataclass
class Count:
    """How many people, and how sure they were."""

    people: int = 0
    sure: Counter = field(default_factory=Counter)  # 1, 2, 3

    def add(self, answer: Answer) -> None:
        self.people += 1
        self.sure[answer.sure] += 1

    @property
    def weight(self) -> float:
        """People counted by their sureness: a guess is a third of one who is sure."""
        return sum((level or 0) * count for level, count in self.sure.items()) / 3


def events(
    collected: Class,
    notebooks: Sequence[str] = (),
    workers: int | None = None,
    label: str = "",
    *,
    copies: bool = False,
) -> list[Event]:
    """
    Judge every first answer; equal answers are judged once.

    Parameters
    ----------
    collected : Class
    notebooks : sequence of str
        Only questions of these; all, if there are none.
    workers, label
        As `workers.spread` takes them.
    copies : bool
        Count the lines that two people have in common for both. Default: for one of them.

    Returns
    -------
    list of Event
        Student by student, each in the order of time.
    """
    passed_on: dict[int, set[Answer]] = defaultdict(set)
    for first, later in () if copies else collected.shared:
        passed_on[later].update(collected.students[first].answers)
    firsts = [
        (at, answer)
        for at, student in enumerate(collected.students)
        for answer in _firsts(student, notebooks)
        if answer not in passed_on.get(at, ())
    ]
    verdicts = _judged({_asked(answer) for _, answer in firsts}, workers, label)
    return [
        Event(at, answer, verdicts[_asked(answer)], own.is_again({"variant": answer.variant}))
        for at, answer in firsts
    ]


def _firsts(student: Student, notebooks: Sequence[str]) -> list[Answer]:
    found: dict[tuple[str, str], Answer] = {}
    for answer in student.answers:
        if not notebooks or questions.get(answer.question).notebook in notebooks:
            found.setdefault((answer.question, answer.variant), answer)
    return sorted(found.values(), key=lambda answer: answer.time)


def _asked(answer: Answer) -> Asked:
    return Asked(answer.question, answer.version, answer.variant, answer.answer)


def _judged(asked: Iterable[Asked], workers: int | None, label: str) -> dict[Asked, Verdict]:
    """Verdicts by answer. A notebook on the course's numbers is one batch, and so is each set of other numbers.

    What the questions of a batch are computed from is then made once, and in one process.
    """
    batches: dict[tuple[str, ...], list[Asked]] = defaultdict(list)
    for one in sorted(asked):
        base = one.variant == "base"
        batches[(questions.get(one.question).notebook,) if base else ("", one.variant)].append(one)
    verdicts = {}
    for batch in spread(judge_all, _slowest_first(batches), workers, label, at_once=1):
        remember(batch.known)
        verdicts.update(batch.verdicts)
    return verdicts


def _slowest_first(batches: dict[tuple[str, ...], list[Asked]]) -> list[list[Asked]]:
    """Whole notebooks first, the later ones before the earlier: nobody is to wait for the longest at the end."""
    return [batches[key] for key in sorted(batches, key=lambda key: (len(key) == 1, key), reverse=True)]


# Questions.


@dataclass
class Group:
    """One question in one wording and on the same numbers; or what few people each had, put together."""

    question: Question
    version: int
    variant: str | None  # None: several people's own numbers
    events: list[Event] = field(default_factory=list)

    @property
    def count(self) -> Count:
        return counted(self.events)


@dataclass
class Answered:
    """What became of one question."""

    question: Question
    groups: list[Group]
    again: int  # answered again later, on fresh numbers
    again_right: int

    @property
    def people(self) -> int:
        return sum(len(group.events) for group in self.groups)


def by_question(found: Sequence[Event]) -> list[Answered]:
    """Answers by question; versions and numbers apart, numbers of few people put together."""
    mine: dict[str, list[Event]] = defaultdict(list)
    for event in found:
        mine[event.answer.question].append(event)
    result = []
    for name, question in questions.load().items():
        if name not in mine:
            continue
        again = [event for event in mine[name] if event.again]
        right = sum(event.verdict.right is True for event in again)
        result.append(Answered(question, _groups(question, mine[name]), len(again), right))
    return result


def _groups(question: Question, found: Sequence[Event]) -> list[Group]:
    groups: dict[tuple[int, str | None], Group] = {}
    sizes = Counter((event.answer.version, event.answer.variant) for event in found if not event.again)
    for event in found:
        if event.again:
            continue
        key = (event.answer.version, event.answer.variant)
        if sizes[key] < FEW and key[1] != "base":
            key = (key[0], None)
        groups.setdefault(key, Group(question, *key)).events.append(event)
    return sorted(groups.values(), key=lambda group: (-group.version, -len(group.events)))


def counted(found: Iterable[Event]) -> Count:
    """How many, and how sure."""
    count = Count()
    for event in found:
        count.add(event.answer)
    return count


# Beliefs.


@dataclass
class Belief:
    """One misconception in a class."""

    entry: Misconception
    could: int = 0  # people who answered a question that can show it
    met: int = 0  # people who showed it
    held: Count = field(default_factory=Count)  # people who showed it and were not right about it since
    events: list[Event] = field(default_factory=list)  # of those who hold it, the last that showed it
    where: Counter = field(default_factory=Counter)  # question -> people who showed it there

    @property
    def weight(self) -> float:
        return self.held.weight


def beliefs(found: Sequence[Event]) -> list[Belief]:
    """Every misconception that was met; those that most people hold most surely come first."""
    result: dict[str, Belief] = {}
    able: Counter = Counter()
    mine: dict[int, list[Event]] = defaultdict(list)
    for event in found:
        mine[event.student].append(event)
    for one in mine.values():
        able.update({name for event in one for name in shows(event.answer.question)})
        for name, last in _still_held(one).items():
            belief = result.setdefault(name, Belief(CATALOGUE[name]))
            belief.met += 1
            if last is not None:
                belief.held.add(last.answer)
                belief.events.append(last)
        for name, where in {(event.verdict.misconception, event.answer.question) for event in one}:
            if name:
                result[name].where[where] += 1
    for name, belief in result.items():
        belief.could = able[name]
    return sorted(result.values(), key=lambda belief: (-belief.weight, -belief.met, belief.entry.id))


def _still_held(mine: Sequence[Event]) -> dict[str, Event | None]:
    """Each belief that one student showed: the last time, or None if right since where it could have shown."""
    last: dict[str, Event | None] = {}
    for event in mine:
        if name := event.verdict.misconception:
            last[name] = event
        elif event.verdict.right:
            for name in shows(event.answer.question) & set(last):
                last[name] = None
    return last


@cache
def shows(name: str) -> frozenset[str]:
    """The misconceptions that an answer to a question can show."""
    question = questions.get(name)
    return frozenset({*question.wrong, *(one.misconception for one in question.options if one.misconception)})


# Sureness, exercises, and who has done how much.


def calibration(found: Iterable[Event]) -> dict[int, tuple[int, int]]:
    """How many answers were judged, and how many were right, by sureness; pre-test and re-asks left out."""
    judged: Counter = Counter()
    right: Counter = Counter()
    for event in found:
        if event.verdict.right is not None and not event.again and PRETEST not in event.answer.question:
            judged[event.answer.sure] += 1
            right[event.answer.sure] += event.verdict.right
    return {level: (judged[level], right[level]) for level in (1, 2, 3)}


class Exercise(NamedTuple):
    """What became of one exercise."""

    id: str
    states: Counter  # right, not yet, not started: people
    beliefs: Counter  # misconception -> people whose code behaves so


def exercises(collected: Class, notebooks: Sequence[str] = ()) -> list[Exercise]:
    """Results as the notebooks show them: what a check said where the student ran it."""
    numbers = {name[:2] for name in notebooks}
    result = []
    for name in SOLUTIONS:
        checks = [one.checks[name] for one in collected.students if name in one.checks]
        if checks and (not numbers or name[:2] in numbers):
            named = Counter(check.misconception for check in checks if check.misconception)
            result.append(Exercise(name, Counter(check.state for check in checks), named))
    return result


class Progress(NamedTuple):
    """How far a class is with one notebook: numbers of students, by position in the class."""

    notebook: str
    asked: int
    all: list[int]
    some: list[int]
    none: list[int]  # handed in without any answer
    missing: list[int]  # not handed in


class Assigned(NamedTuple):
    """Which notebooks a class was asked for, as far as what it handed in tells."""

    notebooks: tuple[str, ...]
    strays: dict[int, list[str]]  # by position in the class: notebooks that only few handed in
    needed: int  # how many have to hand a notebook in


def assigned(collected: Class) -> Assigned:
    """
    Take as assigned what a tenth of the class and at least two people handed in; in a class under five, one.

    The class are those who handed in something of the course. Lines of a record alone do not hand a notebook in
    where there are notebooks: a record holds what its owner answered in the whole course.
    """
    mine = {at: _handed_in(student) for at, student in enumerate(collected.students)}
    counts = Counter(name for names in mine.values() for name in names)
    people = sum(map(bool, mine.values()))
    needed = 1 if people < FEW else max(2, ceil(people / PART))
    notebooks = tuple(name for name in questions.titles() if counts[name] >= needed)
    notebooks = notebooks or tuple(name for name in questions.titles() if counts[name])
    strays = {at: sorted(names - set(notebooks)) for at, names in mine.items() if names - set(notebooks)}
    return Assigned(notebooks, strays, needed)


def _handed_in(student: Student) -> set[str]:
    if student.notebooks:
        return set(student.notebooks)
    return {questions.get(answer.question).notebook for answer in student.answers}


def progress(collected: Class, notebooks: Sequence[str] = ()) -> list[Progress]:
    """Who has committed all, some or no predictions of each notebook that anybody handed in."""
    rows = []
    for notebook in notebooks or questions.titles():
        ids = {question.id for question in questions.of_notebook(notebook)}
        row = Progress(notebook, len(ids), [], [], [], [])
        for at, student in enumerate(collected.students):
            done = len(committed(student, ids))
            place = row.all if done == len(ids) else row.some if done else row.none
            (row.missing if not done and notebook not in student.notebooks else place).append(at)
        if len(row.missing) < len(collected.students):
            rows.append(row)
    return rows


def committed(student: Student, ids: Iterable[str]) -> set[str]:
    """Which of the questions a student has committed; "I don't know yet" is an answer too."""
    return {answer.question for answer in student.answers}.intersection(ids)
