"""From what was typed or clicked to what is committed, and from there to what it agrees with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..questions import NUMERIC, Question, agree
from ..units import readable
from . import typed

ONE_SOFTMAX = (
    "softmax",
    "shifted_softmax",
    "masked_weights",
    "attention_weights",
    "head_weights",
)  # of each row
FINEST = 1e-4  # nobody is asked for digits beyond this


class NotCommitted(ValueError):
    """The answer cannot be committed yet; the message is for the learner."""


def read(question: Question, raw: Any) -> Any:
    """What goes into the record for an answer given as text, numbers, arrays or clicks.

    Raises
    ------
    NotCommitted
        If it cannot be read, has another size than asked, or leaves open whether it is the run's result or a
        wrong program's: one more digit decides.
    """
    try:
        answer = _read(question, raw)
    except (ValueError, TypeError) as error:  # a TypeError: a tensor that NumPy has no type for
        raise NotCommitted(str(error)) from None
    if question.kind in NUMERIC:
        _ask_for_a_digit(question, answer)
        _ask_for_a_unit(question, answer)
    return answer


def _read(question: Question, raw: Any) -> Any:
    if question.kind == "choice":
        return _read_choice(question, raw)
    if question.kind == "words":
        if not isinstance(raw, str) or not raw.strip():
            raise NotCommitted("Write a few words, in quotes if you type the answer as code.")
        return raw.strip()
    if question.kind == "shape":
        return typed.canonical(typed.read_shape(raw))
    if question.kind == "cells":
        one_row = question.shape[0] == 1 and np.ndim(raw) == 1 and len(raw) == question.shape[1]
        try:
            return typed.canonical(typed.read_cells([raw] if one_row else raw, *question.shape))
        except ValueError as error:
            if question.part != "rows that change":
                raise
            example = [0] * question.shape[1]
            raise NotCommitted(
                f"Type 1 where it changes and 0 where it stays, as in {example}. {error}"
            ) from None
    return typed.canonical(_numbers(question, raw))


def _numbers(question: Question, raw: Any) -> Any:
    integers = (
        bool(np.all(np.asarray(question.truth) == np.round(question.truth))) and question.unit is not None
    )
    form = {"integers": integers, "unit": question.unit}
    if question.kind == "number":
        return typed.read_number(raw, **form)
    if question.kind == "row":
        return typed.read_row(raw, question.shape[0], labels=question.labels or None, **form)
    return typed.read_grid(raw, *question.shape, **form)


def _read_choice(question: Question, raw: Any) -> str:
    keys = [option.key for option in question.options]
    if isinstance(raw, str) and raw.strip() in keys:
        return raw.strip()
    if isinstance(raw, (int, np.integer)) and not isinstance(raw, bool) and 1 <= raw <= len(keys):
        return keys[int(raw) - 1]
    letters = "abcdefghij"[: len(keys)]
    letter = raw.strip().strip("().").lower() if isinstance(raw, str) else ""
    if len(letter) == 1 and letter in letters:
        return keys[letters.index(letter)]
    raise NotCommitted(
        f"Choose one of the statements by its letter, {letters[0]} to {letters[-1]}; got {raw!r}."
    )


def fits(question: Question, answer: Any, value: Any) -> bool:
    """Whether a committed answer says ``value``, at the digits typed."""
    if answer is None or value is None:
        return False
    if question.kind in ("choice", "words"):
        return answer == value
    if question.kind == "shape":
        return tuple(answer) == tuple(value)
    if question.kind == "cells":
        return np.shape(answer) == np.shape(value) and bool(
            np.array_equal(np.asarray(answer, bool), np.asarray(value, bool))
        )
    values = np.asarray(value, dtype=float)
    numbers = flat_numbers(question, answer)
    return values.size == len(numbers) and all(
        _close(number, float(one)) for number, one in zip(numbers, values.ravel(), strict=True)
    )


def _close(number: typed.Typed, value: float) -> bool:
    """Whether a typed number says ``value``.

    From two decimals on, one unit of the last is forgiven: rounding on the way, or to make a row sum to 1, is no error.
    """
    forgiven = 2 * number.slack * (1 + 1e-9) if 0 < number.slack <= 0.005 else 0
    return number.fits(value) or (math.isfinite(value) and abs(number.value - value) <= forgiven)


def flat_numbers(question: Question, answer: Any) -> list[typed.Typed]:
    """The typed numbers of a committed numeric answer, row after row."""
    read_again = _numbers(question, answer)
    if question.kind == "number":
        return [read_again]
    return [number for row in read_again for number in (row if isinstance(row, Sequence) else [row])]


def _ask_for_a_digit(question: Question, answer: Any) -> None:
    """Refuse an answer so coarse that the truth and a wrong program both fit it, while another digit would tell."""
    values = [question.truth, *question.wrong.values()]
    fitting = [value for value in values if fits(question, answer, value)]
    if len(fitting) < 2 or fitting[0] is not question.truth:
        return
    if any(not agree(question.truth, value, within=FINEST) for value in fitting[1:]):
        raise NotCommitted("One more digit, please; if you mean a whole number exactly, type it as 1.0.")


def _ask_for_a_unit(question: Question, answer: Any) -> None:
    """Refuse a few bytes where none were meant: 32 for 32 MiB. What a known program gives may be as small."""
    if question.unit is None:
        return
    bare = [
        one
        for one in flat_numbers(question, answer)
        if one.value < 1000 and not one.text.strip()[-1:].isalpha()
    ]
    if bare and not any(
        fits(question, answer, value) for value in (question.truth, *question.wrong.values())
    ):
        raise NotCommitted(f"{bare[0].text}: of what? Type the unit too, as in 32 MiB; for bytes, 32 B.")


@dataclass(frozen=True)
class Diagnosis:
    """What a committed answer agrees with: the run, a known wrong program, or neither."""

    right: bool | None  # None: nothing is judged (no answer yet, or words)
    misconception: str | None = None
    step: str = ""  # for an answer that fits nothing known: where it first parts from the run


def diagnose(question: Question, answer: Any) -> Diagnosis:
    """Compare a committed answer with the run and with every wrong program the question can see."""
    if answer is None or question.kind == "words":
        return Diagnosis(None)
    if fits(question, answer, question.truth):
        return Diagnosis(True)
    option = question.option(answer) if question.kind == "choice" else None
    if option is not None and option.misconception:
        return Diagnosis(False, option.misconception)
    for name, value in question.wrong.items():
        if fits(question, answer, value):
            return Diagnosis(False, name)
    return Diagnosis(False, None, first_difference(question, answer))


def first_difference(question: Question, answer: Any) -> str:
    """One sentence: the first step at which an answer parts from the run (sum, order, scores; or the first entry)."""
    if question.kind == "shape":
        return _shape_difference(tuple(answer), tuple(question.truth))
    if question.kind == "cells" and question.part == "rows that change":
        mine, run = np.asarray(answer, bool)[0], np.asarray(question.truth, bool)[0]
        at = int(np.argmax(mine != run))
        return f"It parts first at {_label(question, at)}, which {'changes' if run[at] else 'stays'}."
    if question.kind == "cells":
        return _cells_difference(np.asarray(answer, bool), np.asarray(question.truth, bool))
    if question.kind not in NUMERIC:
        return ""
    numbers = flat_numbers(question, answer)
    mine = np.array([number.value for number in numbers])
    run = np.asarray(question.truth, dtype=float).ravel()
    if question.kind == "row" and len(run) > 1 and np.all(run >= 0) and np.isclose(run.sum(), 1):
        return _weights_difference(question, mine, run)
    apart = next((at for at, number in enumerate(numbers) if not _close(number, float(run[at]))), None)
    if apart is None:
        return ""
    where = f"{_label(question, apart)}: " if len(run) > 1 else ""
    return (
        f"The first number that parts from the run is {where}you {_amount(question, mine[apart], 'g')}, "
        f"the run {_amount(question, run[apart])}."
        if where
        else _size(question, mine[0], run[0])
    )


def _amount(question: Question, value: float, form: str = ".4g") -> str:
    """A number as a sentence says it: bytes in the unit that suits them."""
    return readable(value) if question.unit == "bytes" else f"{value:{form}}"


def _label(question: Question, at: int) -> str:
    if question.kind in ("row", "cells") and question.labels:
        return question.labels[at]
    if question.kind == "grid":
        row, column = np.unravel_index(at, question.shape)
        return f"row {row}, column {column}"
    return f"entry {at}"


def _size(question: Question, mine: float, run: float) -> str:
    if mine == 0 or run == 0:
        return ""
    if mine * run < 0:
        return "The sign parts first."
    ratio = mine / run
    if 0.9 < ratio < 1.1:
        return f"Near the run’s {_amount(question, run)}, and not equal to it."
    if 0.5 < ratio < 2:
        return f"Yours is {'larger' if ratio > 1 else 'smaller'} than the run’s {_amount(question, run)}."
    return (
        f"Yours is {ratio:.3g} times the run's."
        if ratio >= 2
        else f"Yours is {1 / ratio:.3g} times smaller than the run's."
    )


def _weights_difference(question: Question, mine: np.ndarray, run: np.ndarray) -> str:
    slack = 0.006 * len(mine)
    if np.any(mine < 0):
        return f"A weight is never negative: {_label(question, int(np.argmin(mine)))} has {mine.min():g}."
    blocked = [at for at in range(len(run)) if run[at] == 0 and mine[at] > 0]
    if blocked:
        given = f"{_label(question, blocked[0])} is blocked here, and you gave it {mine[blocked[0]]:g}"
        return f"It parts at who may be read: {given}."
    if abs(mine.sum() - 1) > slack:
        return f"It parts at the sum: a row of weights shares out 1, and yours adds up to {mine.sum():.3g}."
    gaps = run[:, None] - run[None, :]
    alike = np.argwhere((np.abs(gaps) < 1e-9) & (run[:, None] > 0) & (mine[:, None] - mine[None, :] > slack))
    if len(alike) and question.task in ONE_SOFTMAX:
        more, less = alike[0]
        return (
            f"It parts at the scores: {_label(question, less)} and {_label(question, more)} "
            "have the same one, so they share alike."
        )
    turned = np.argwhere((gaps > 1e-9) & (mine[:, None] < mine[None, :]))
    if len(turned):
        more, less = turned[0]
        return (
            f"It parts at the order: {_label(question, more)} weighs more than "
            f"{_label(question, less)} in the run."
        )
    top, low = int(np.argmax(run)), int(np.argmin(np.where(run > 0, run, np.inf)))
    if mine[top] > 0 and mine[low] > 0 and run[top] > run[low]:
        yours, theirs = np.log(mine[top] / mine[low]), np.log(run[top] / run[low])
        word = "too sharp" if yours > theirs else "too flat"
        return (
            f"The order is right, the sharing is {word}: yours belongs to scores {yours:.2f} apart between "
            f"{_label(question, top)} and {_label(question, low)}; the run's are {theirs:.2f} apart."
        )
    return "The sum and the order are right; it parts at the exponentials."


def _shape_difference(mine: tuple[int, ...], run: tuple[int, ...]) -> str:
    if len(mine) != len(run):
        return f"It parts at the number of axes: you gave {len(mine)}, the run has {len(run)}."
    if sorted(mine) == sorted(run):
        return "The sizes are right; their order is not."
    at = next(axis for axis, (one, other) in enumerate(zip(mine, run, strict=True)) if one != other)
    return f"It parts at axis {at}: you gave {mine[at]}, the run has {run[at]}."


def _cells_difference(mine: np.ndarray, run: np.ndarray) -> str:
    row, column = np.argwhere(mine != run)[0]
    state = "allowed" if run[row, column] else "blocked"
    count = int((mine != run).sum())
    differ = "cell differs" if count == 1 else "cells differ"
    return f"{count} {differ}; the first is row {row}, column {column}: {state} in the run."


def as_typed(question: Question, value: Any) -> Any:
    """How a learner would type ``value`` as code: the fewest decimals, three to six, that commit at once."""
    if question.kind in ("choice", "words"):
        return value
    if question.kind == "shape":
        return tuple(int(size) for size in value)
    if question.kind == "cells":
        return np.asarray(value, dtype=int).tolist()
    for digits in range(3, 7):
        for raw in (np.round(np.asarray(value, dtype=float), digits).tolist(), _with_zeros(value, digits)):
            try:
                answer = read(question, raw)
            except NotCommitted:
                continue
            if fits(question, answer, value):
                return raw
    raise ValueError(
        f"{question.id}: {value!r} cannot be typed so that it is told apart from the wrong programs."
    )


def _with_zeros(value: Any, digits: int) -> Any:
    return np.vectorize(lambda one: f"{one:.{digits}f}")(np.asarray(value, dtype=float)).tolist()
