"""One checker for every exercise and framework: is a function right, and if not, which belief is in it?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import frameworks
from .cases import cases_for
from .listing import EXERCISES, Exercise
from .report import Result
from .solutions import SOLUTIONS
from .verdict import judge, not_judged

__all__ = ["EXERCISES", "SOLUTIONS", "Exercise", "Result", "check", "check_task", "hint"]

SECONDS = 5.0  # one call may take this long

_hints_given: dict[str, int] = {}


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
        return Result(None, f"There is no exercise {id!r}. Known: {', '.join(EXERCISES)}.")
    exercise = EXERCISES[id]
    if framework not in exercise.frameworks:
        known = ", ".join(exercise.frameworks)
        return Result(None, f"{id} is not checked in {framework!r}, only in: {known}.", exercise=id)
    try:
        library = frameworks.load(framework)
    except ImportError:
        name = frameworks.NAMES[framework]
        said = (
            "The rest of the notebook works without it: pip install -r requirements-frameworks.txt brings it."
        )
        return Result(None, f"{name} is not installed here.", exercise=id, said=(said,))
    try:
        return not_judged(id, function) or judge(
            exercise.task, function, cases_for(exercise.task), library, id, seconds
        )
    except (
        Exception
    ) as error:  # a fault of the checker's must not stop a notebook, nor look like the learner's
        said = f"{type(error).__name__}: {error}. That is no fault of your function; please report it."
        return Result(None, "The check itself failed", exercise=id, said=(said,))


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
        _show(Result(None, f"There is no exercise {id!r}. Known: {', '.join(EXERCISES)}."))
        return
    hints = EXERCISES[id].hints
    at = min(_hints_given.get(id, 0), len(hints) - 1)
    _hints_given[id] = at + 1
    _show(Result(None, f"Hint {at + 1} of {len(hints)}", exercise=id, said=(hints[at],)))


def _show(result: Result) -> None:
    from IPython.display import display

    display(result)
