"""The catalogue: wrong beliefs about attention, each with the program it amounts to where it can be computed.

One entry gives a choice its wrong option, names the error in a typed row and in a learner's function, shows
the program, and is what the checker's own tests must refuse. Modules by theme register the entries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

import numpy as np

from .. import tasks
from . import (  # noqa: F401, registers the entries
    breaking,
    heads,
    heatmaps,
    masking,
    operations,
    positions,
    reading,
    scaling,
    sizes,
    softmaxes,
    spread,
    tiles,
)
from .catalogue import CATALOGUE, Misconception
from .lifts import programs_for

__all__ = ["CATALOGUE", "Misconception", "match", "programs_for"]


def match(
    task: str,
    inputs: Mapping[str, Any],
    part: str,
    fits: Callable[[Any], bool],
    then: Mapping[str, Any] | None = None,
) -> list[str]:
    """Name the wrong programs whose result fits what somebody answered.

    Parameters
    ----------
    task : str
        A name in ``helpers.tasks.TASKS``.
    inputs : mapping
        As a question writes them.
    part : str
        What of the result is asked, as in ``helpers.tasks.read``.
    fits : callable
        Takes the asked part, says whether it fits.
    then : mapping, optional
        A second set of inputs, overriding the first; the result is then the pair (before, after).

    Returns
    -------
    list of str
        Ids, commonest first. A program that gives the right answer here is left out.

    Examples
    --------
    >>> inputs = {"Q": [[1, 0]], "K": [[1, 0], [0, 1]]}
    >>> match("attention_weights", inputs, "row 0", lambda row: abs(row[0] - 0.731) < 0.001)
    ['scale-missing']
    """

    def asked(program=None):
        before = tasks.run(task, deepcopy(inputs), program)  # one wrong program writes on its inputs
        result = before if then is None else (before, tasks.run(task, deepcopy({**inputs, **then}), program))
        return tasks.read(result, part)

    right, found = asked(), []
    for id, program in programs_for(task).items():
        try:
            value = asked(program)
        except (ValueError, IndexError):  # no result on these inputs, or no such part of it
            continue
        if not _same(value, right) and fits(value):
            found.append(id)
    return found


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    one, other = np.asarray(one), np.asarray(other)
    return one.shape == other.shape and bool(np.allclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True))
