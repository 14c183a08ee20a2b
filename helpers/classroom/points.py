"""What a graded cell of an nbgrader assignment calls: points as one number, which is what nbgrader reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def earned(exercise: str, function: Callable[..., Any], points: float) -> float:
    """
    Points for a function: the part of the checker's cases that it gets right, of ``points``.

    Examples
    --------
    >>> import numpy as np
    >>> earned("04-causal-pattern", lambda n: np.tri(n, dtype=bool), 5)
    5.0
    >>> earned("04-causal-pattern", lambda n: ..., 5)
    0.0
    """
    from ..exercises import check

    return share(check(exercise, function).score, points)


def committed(notebook: str, points: float) -> float:
    """
    Points for predictions: one part for each question of a notebook that was committed, right or wrong.

    "I don't know yet" counts. Nothing of this is a mark for being right.
    """
    from ..predictions.kernel import session

    return completion(notebook, session().record.lines(), points)


def completion(notebook: str, lines: Iterable[dict], points: float) -> float:
    """
    As `committed`, from the lines of a record.

    Examples
    --------
    >>> completion("00_start_here", [{"question": "00-try"}, {"question": "00-dot"}], 8)
    2.0
    """
    from .. import questions

    asked = {question.id for question in questions.of_notebook(notebook)}
    return share(len(asked & {line["question"] for line in lines}) / len(asked), points)


def share(part: float, points: float) -> float:
    """A part of the points, between none and all, to a hundredth."""
    return round(min(max(part, 0.0), 1.0) * points, 2)
