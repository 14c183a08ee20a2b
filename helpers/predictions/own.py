"""Numbers of a learner's own: which variant of a notebook's questions is theirs, found from the record alone."""

from __future__ import annotations

import os
from typing import Any

from .. import tasks
from ..questions import Question

AGAIN = "fresh-"  # variants that `revisit` asks are called so
GIVEN = "QUESTION_NUMBERS"  # in the environment: a name, the same for a whole class


def is_again(line: dict) -> bool:
    """Whether a committed line answers a question that was asked again."""
    return line["variant"].startswith(AGAIN)


def variant(notebook: str, lines: list[dict]) -> str:
    """
    Name the numbers with which a notebook's questions are asked.

    Parameters
    ----------
    notebook : str
        File name without ending.
    lines : list of dict
        The record.

    Returns
    -------
    str
        What the notebook's first committed line has; before there is one, what ``QUESTION_NUMBERS`` in the
        environment says, else the time of the very first line of the record, else ``"base"``: the numbers of the
        TOML file, which is what an answer key is made from.

    Examples
    --------
    >>> variant("10_check_your_understanding", [])
    'base'
    """
    for line in lines:
        if line["notebook"] == notebook and not is_again(line):
            return line["variant"]
    return os.environ.get(GIVEN) or (lines[0]["time"] if lines else "base")


def of(question: Question, lines: list[dict]) -> Question:
    """Return the question as this learner meets it; most questions are the same for everybody."""
    name = variant(question.notebook, lines) if question.own_numbers else "base"
    return question if name == question.variant else question.renew(name)


def comes_back(question: Question) -> bool:
    """Whether it can be asked again anywhere: on fresh numbers, and not about a program that stands in its notebook."""
    return bool(question.fresh) and not (question.own_numbers and question.program)


def numbers(question: Question) -> tuple[Any, ...]:
    """Return a question's inputs in the order of its TOML table: lists as arrays, ``allowed`` as a boolean array.

    Examples
    --------
    >>> from helpers import questions
    >>> numbers(questions.get("01-mixture"))
    (array([0.25, 0.75]), array([2, 6]))
    """
    ready = tasks.resolve(question.inputs)
    return tuple(ready[name] for name in question.inputs)
