"""What each distinct answer agrees with, found once, by the code that tells it to the learner."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import questions
from ..predictions import answers, render
from ..questions import Question


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
        return Verdict(None, said=_plain(answer), fault=OTHER_WORDING)
    if answer is None:
        return Verdict(None, said="I don’t know yet", fault=NO_ANSWER)
    if _form(answer) != FORMS.get(questions.get(asked.question).kind, "text"):
        return Verdict(None, said=_plain(answer), fault=MISFIT)
    try:
        question = question_on(asked.question, asked.variant)
        if question.shape and np.shape(answer) != question.shape:
            return Verdict(None, said=_plain(answer), fault=MISFIT)
        found = answers.diagnose(question, answer)
        said = render.answer_text(question, answer)
    # What is no number, or lists of unequal lengths, fails wherever it is first used.
    except (ValueError, TypeError, IndexError, KeyError, OverflowError, AttributeError):
        return Verdict(None, said=_plain(answer), fault=MISFIT)
    if found.right is False and question.kind == "choice" and question.option(answer) is None:
        return Verdict(None, said=_plain(answer), fault=MISFIT)
    return Verdict(found.right, found.misconception, found.step, said)


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


def judge_all(asked: Iterable[Asked]) -> list[tuple[Asked, Verdict]]:
    """Judge a batch, those on the same numbers one after the other."""
    return [(one, judge(one)) for one in sorted(asked, key=lambda one: (one.question, one.variant))]


def _plain(answer: Any) -> str:
    text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    return text if len(text) <= 60 else text[:59] + "…"
