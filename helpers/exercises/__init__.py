"""One checker for every exercise and framework: is a function right, and if not, which belief is in it?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..libraries import missing
from . import frameworks
from .cases import cases_for
from .listing import EXERCISES, Exercise
from .ready_made import does_the_work
from .report import Result
from .solutions import SOLUTIONS
from .verdict import judge, not_judged, ready_made

__all__ = ["EXERCISES", "SOLUTIONS", "Exercise", "Result", "check", "check_task", "hint", "solution"]

SECONDS = 5.0  # one call may take this long

_hints_given: dict[str, int] = {}
_attempted: set[str] = set()  # names in SOLUTIONS, of this kernel's learner


def check(
    id: str, function: Callable[..., Any], framework: str = "numpy", *, seconds: float = SECONDS
) -> Result:
    """Check a function that a learner wrote; it never raises.

    Parameters
    ----------
    id : str
        Of the exercise, as the notebook gives it.
    function : callable
        The function itself, not its result.
    framework : {"numpy", "torch", "jax"}
        Whose arrays it takes and returns.
    seconds : float
        How long one call may take.

    Returns
    -------
    Result
        With ``passed`` (True, False, or None where it is not started), ``misconception`` (an id or None) and
        ``score`` (the part of the cases that came out right).

    Examples
    --------
    >>> import numpy as np
    >>> check("01-softmax", lambda scores: np.exp(scores)).misconception
    'not-normalised'
    """
    if id not in EXERCISES:
        return _unknown(id)
    exercise = EXERCISES[id]
    if framework not in exercise.frameworks:
        known = ", ".join(exercise.frameworks)
        return Result(None, f"{id} is not checked in {framework!r}, only in: {known}.", exercise=id)
    try:
        library = frameworks.load(framework)
    except ImportError:
        return Result(None, missing(framework), exercise=id)
    try:
        in_tiles = id == "08-tiles" and not getattr(function, "runs_elsewhere", False)
        result = not_judged(id, function) or judge(
            exercise.task, function, cases_for(exercise.task), library, id, seconds, in_tiles=in_tiles
        )
    except (
        Exception
    ) as error:  # a fault of the checker's must not stop a notebook, nor look like the learner's
        said = f"{type(error).__name__}: {error}. That is no fault of your function; please report it."
        return Result(None, "The check itself failed", exercise=id, said=(said,))
    unnamed_error = result.misconception is None and any(name == "but" for name, _ in result.rows)
    if (result.passed or unnamed_error) and (work := does_the_work(function, exercise.task)):
        return ready_made(id, f"The whole work in it is done by {work}")
    if result.passed is None:
        return result
    _attempted.add(_solution_name(id, framework))
    return result if result.passed else replace(result, notes=(*result.notes, _offer(id, framework)))


def check_task(
    task: str, function: Callable[..., Any], *, beyond: bool = False, seconds: float = SECONDS
) -> Result:
    """Check a NumPy function against a task's right function by the same rules.

    Parameters
    ----------
    task : str
        A name in ``helpers.tasks.TASKS``.
    function : callable
    beyond : bool
        Ask also what only helpers.attention is asked: temperatures, empty rows, NaN that nobody reads.
    seconds : float

    Returns
    -------
    Result
    """
    return judge(task, function, cases_for(task, beyond), frameworks.load("numpy"), task, seconds)


def hint(id: str) -> None:
    """Show the next of an exercise's three hints; after the third, that one again."""
    if id not in EXERCISES:
        _show(_unknown(id))
        return
    hints = EXERCISES[id].hints
    at = min(_hints_given.get(id, 0), len(hints) - 1)
    _hints_given[id] = at + 1
    _show(Result(None, f"Hint {at + 1} of {len(hints)}", exercise=id, said=(hints[at],)))


def solution(id: str, framework: str = "numpy") -> None:
    """Show one way to write an exercise, once a function of the learner's own has been checked in this kernel.

    Parameters
    ----------
    id : str
    framework : {"numpy", "torch", "jax"}
    """
    name = _solution_name(id, framework)
    if name not in SOLUTIONS:
        _show(Result(None, f"There is no solution {name!r}. Known: {', '.join(SOLUTIONS)}."))
    elif name not in _attempted:
        said = f'Check a function of your own first; right or wrong does not matter. hint("{id}") helps to begin.'
        _show(Result(None, "After your first attempt", exercise=id, said=(said,)))
    else:
        said = "Set it beside your own, line by line: where do they part?"
        rows = (("one way", SOLUTIONS[name].strip()),)
        _show(Result(None, "One way to write it", exercise=id, rows=rows, said=(said,)))


def _unknown(id: Any) -> Result:
    """Say that there is no such exercise, what the id is instead, and which ones that notebook has."""
    from .. import questions

    if id in questions.load():
        return Result(
            None,
            f"{id} is a question: commit a prediction, and the run explains it. Hints are for exercises.",
        )
    here = [name for name in EXERCISES if name[:2] == str(id)[:2]] or list(EXERCISES)
    return Result(None, f"There is no exercise {id!r}. Known: {', '.join(here)}.")


def _solution_name(id: str, framework: str) -> str:
    return id if framework == "numpy" else f"{id}-{framework}"


def _offer(id: str, framework: str) -> str:
    where = f'"{id}"' if framework == "numpy" else f'"{id}", "{framework}"'
    return f'hint("{id}") gives a hint; solution({where}) shows one way to write it.'


def _show(result: Result) -> None:
    from IPython.display import display

    display(result)
