"""Answers that fit nothing known, put together where they are alike: that is where new misconceptions are found."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ..misconceptions import programs_for
from ..predictions import answers
from ..questions import NUMERIC, Question
from .judging import question_on
from .tally import Count, Event, Group

WITHIN = 0.02  # of the largest number of the run: answers no further apart are one


@dataclass
class Cluster:
    """Answers that are alike."""

    said: str  # the commonest of them, as it was typed
    step: str  # where it parts from the run
    count: Count = field(default_factory=Count)
    events: list[Event] = field(default_factory=list)


def clusters(group: Group) -> list[Cluster]:
    """
    Put a group's unexplained answers together.

    Parameters
    ----------
    group : Group
        Where people had numbers of their own, what parts from the run makes answers alike, not the numbers.

    Returns
    -------
    list of Cluster
        Largest first.
    """
    odd = [
        event for event in group.events if event.verdict.right is False and not event.verdict.misconception
    ]
    if group.variant is None:
        found = _by_step(group.question, odd)
    else:
        question = question_on(group.question.id, group.variant)
        found = _by_numbers(question, odd) if question.kind in NUMERIC else _by_answer(odd)
    return sorted(found, key=lambda cluster: (-cluster.count.people, cluster.said))


def _cluster(found: Sequence[Event], said: str | None = None) -> Cluster:
    """A cluster under its commonest answer."""
    (typical, _), *_ = Counter((event.verdict.said, event.verdict.step) for event in found).most_common(1)
    cluster = Cluster(said if said is not None else typical[0], typical[1], events=list(found))
    for event in found:
        cluster.count.add(event.answer)
    return cluster


def _by_answer(odd: Sequence[Event]) -> list[Cluster]:
    return [_cluster(found) for found in _by_text(odd).values()]


def _by_text(odd: Sequence[Event]) -> dict[str, list[Event]]:
    alike: dict[str, list[Event]] = defaultdict(list)
    for event in odd:
        alike[event.answer.answer].append(event)
    return alike


def _by_step(question: Question, odd: Sequence[Event]) -> list[Cluster]:
    """On numbers of their own, people are alike who part from the run in the same way."""
    alike: dict[str, list[Event]] = defaultdict(list)
    for event in odd:
        alike[re.sub(r"[-−]?\d[\d.,e+]*", "…", event.verdict.step)].append(event)
    return [_cluster(found, said=_own(question, found)) for found in alike.values()]


def _own(question: Question, found: Sequence[Event]) -> str:
    """Answers on different numbers in a few words: how many there are, and how far they spread."""
    texts = {event.answer.answer for event in found}
    alike = (
        "none alike" if len(texts) == len(found) > 1 else f"{len(texts)} different" if len(found) > 1 else ""
    )
    said = f"{len(found)} {'answer' if len(found) == 1 else 'answers'} on numbers of their own"
    said += f", {alike}" if alike else ""
    if question.kind not in NUMERIC:
        return said
    typed = [number.value for text in texts for number in answers.flat_numbers(question, json.loads(text))]
    values = sorted(value for value in typed if np.isfinite(value))
    if len(values) < 2:
        return said
    low, middle, high = (f"{value:.4g}" for value in (values[0], float(np.median(values)), values[-1]))
    return f"{said}: from {low} to {high}, median {middle}"


def _by_numbers(question: Question, odd: Sequence[Event]) -> list[Cluster]:
    """The commonest answer gathers what lies near it, then the commonest of the rest."""
    alike: dict[tuple[float, ...], list[Event]] = defaultdict(list)
    for text, found in _by_text(odd).items():
        typed = answers.flat_numbers(question, json.loads(text))
        alike[tuple(number.value for number in typed)] += found
    finite = np.abs(np.asarray(question.truth, dtype=float))
    within = WITHIN * float(np.max(finite, where=np.isfinite(finite), initial=0.0)) or WITHIN
    left = sorted(alike, key=lambda numbers: (-len(alike[numbers]), numbers))
    found = []
    while left:
        near = [other for other in left if _near(left[0], other, within)]
        found.append(_cluster([event for numbers in near for event in alike[numbers]]))
        left = [other for other in left if other not in near]
    return found


def _near(one: tuple[float, ...], other: tuple[float, ...], within: float) -> bool:
    return one == other or all(abs(a - b) <= within for a, b in zip(one, other, strict=True))


def explained(group: Group, cluster: Cluster) -> list[str]:
    """
    Name wrong programs of the catalogue that give a cluster's answer, beyond those that the question looks for.

    Parameters
    ----------
    group : Group
        The cluster's own.
    cluster : Cluster

    Returns
    -------
    list of str
        Ids. A program that is undefined on these inputs, or a group without numbers in common, gives none.
    """
    question = group.question if group.variant is None else question_on(group.question.id, group.variant)
    if group.variant is None or question.task is None or question.kind == "choice":
        return []
    answer, found = json.loads(cluster.events[0].answer.answer), []
    for name, program in programs_for(question.task).items():
        if name in question.wrong or name == question.program:
            continue
        try:
            if answers.fits(question, answer, question.asked(program)):
                found.append(name)
        except (ValueError, IndexError, ZeroDivisionError, TypeError):
            continue
    return found
