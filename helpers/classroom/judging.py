"""What each distinct answer agrees with, found once, by the code that tells it to the learner."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import questions
from ..predictions import answers, render, typed
from ..questions import NUMERIC, Question


class Asked(NamedTuple):
    """An answer and what it answers: who gave it does not matter."""

    question: str
    version: int
    variant: str
    answer: str  # JSON


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer agrees with."""

    right: bool | None  # None: no answer yet, another wording, or it cannot be read
    misconception: str | None = None
    step: str = ""  # for an answer that fits nothing known: where it parts from the run
    said: str = ""  # the answer as one reads it
    fault: str = ""  # why nothing is judged


OTHER_WORDING = "answers another wording of the question"
NO_ANSWER = "no answer yet"
MISFIT = "does not fit the question"
# The form in which a record holds the answers to each kind of question.
FORMS = {"row": "[text]", "grid": "[[text]]", "shape": "[int]", "cells": "[[int]]"}


@lru_cache(maxsize=32)  # one student's numbers at a time
def question_on(name: str, variant: str) -> Question:
    """A question on the numbers of a variant."""
    question = questions.get(name)
    return question if variant == question.variant else question.renew(variant)


def judge(asked: Asked) -> Verdict:
    """
    Judge one answer as the learner's card does.

    Examples
    --------
    >>> judge(Asked("01-weights", 1, "base", '["0.73", "0.27"]')).misconception
    'scale-missing'
    """
    answer: Any = json.loads(asked.answer)
    if asked.version != questions.get(asked.question).version:
        return Verdict(None, said=plain(asked.answer), fault=OTHER_WORDING)
    if answer is None:
        return Verdict(None, said="I don’t know yet", fault=NO_ANSWER)
    misfit = Verdict(None, said=plain(asked.answer), fault=MISFIT)
    if not suits(asked.question, asked.answer):
        return misfit
    question = question_on(asked.question, asked.variant)
    try:
        if question.shape and np.shape(answer) != question.shape:
            return misfit
        found = answers.diagnose(question, answer)
    except ValueError:  # lists of unequal lengths, or a broken number where a whole one is asked for
        return misfit
    return Verdict(found.right, found.misconception, found.step, render.answer_text(question, answer))


@lru_cache(maxsize=20_000)
def suits(name: str, text: str) -> bool:
    """
    Say whether an answer is one that its question can have, right or wrong, as far as can be said without running it.

    Parameters
    ----------
    name : str
        A question's id.
    text : str
        The answer as JSON.

    Examples
    --------
    >>> suits("01-weights", '["0.9", "0.9"]'), suits("01-weights", '"0.9"'), suits("01-weights", '["a", "b"]')
    (True, False, False)
    """
    question, answer = questions.get(name), json.loads(text)
    if answer is None:
        return True
    if _form(answer) != FORMS.get(question.kind, "text"):
        return False
    if question.kind == "choice":
        return question.option(answer) is not None
    if question.kind not in NUMERIC:
        return True
    try:
        for number in np.ravel(np.array(answer, dtype=object)):
            typed.read_number(number, unit=question.unit)
    except (ValueError, TypeError):  # no number, or lists of unequal lengths
        return False
    return True


def _form(answer: Any) -> str:
    """
    How an answer is built.

    Examples
    --------
    >>> _form("a"), _form(["0.5", "0.5"]), _form([[1], [0]]), _form([1, "a"])
    ('text', '[text]', '[[int]]', '[mixed]')
    """
    if isinstance(answer, list):
        forms = {_form(part) for part in answer}
        return f"[{forms.pop() if len(forms) == 1 else 'mixed'}]"
    return "text" if isinstance(answer, str) else "int"


class Batch(NamedTuple):
    """What a process found out about a batch."""

    verdicts: list[tuple[Asked, Verdict]]
    known: dict[
        str, dict[str, Any]
    ]  # question -> what it gives on the course's numbers; some take seconds to run


def judge_all(asked: Iterable[Asked]) -> Batch:
    """Judge a batch, those on the same numbers one after the other."""
    verdicts = [(one, judge(one)) for one in sorted(asked, key=lambda one: (one.question, one.variant))]
    found = [questions.get(name) for name in {one.question for one, _ in verdicts if one.variant == "base"}]
    return Batch(verdicts, {one.id: {"truth": one.truth, "wrong": one.wrong} for one in found})


def remember(known: dict[str, dict[str, Any]]) -> None:
    """Take over what another process has run."""
    for name, values in known.items():
        vars(questions.get(name)).update(values)  # where its cached properties keep them


def plain(text: str) -> str:
    """
    Give an answer as it stands in the record, cut where it is long.

    Examples
    --------
    >>> plain('"one key"'), plain('["0.5", "0.5"]')
    ('one key', '["0.5", "0.5"]')
    """
    text = text.strip('"')
    return text if len(text) <= 60 else text[:59] + "…"
