"""Changes to make while the model runs: any step, any part of it, by zero, a mean or another input's."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from .. import validate
from .model import Edit, Floats, Run

How = Literal["zero", "mean", "resample"]
HOWS: tuple[How, ...] = ("zero", "mean", "resample")

__all__ = ["HOWS", "How", "ablate", "ablate_heads", "cut", "replace", "together"]


def replace(step: str, at: Any, by: ArrayLike) -> dict[str, Edit]:
    """Put something else into a part of a step.

    Parameters
    ----------
    step : str
        One of `model.SITES`.
    at : index
        The part. Start with ``...`` for the batch: ``np.s_[..., 2, :, :]`` is head 2, ``np.s_[..., 2, 5, 1]`` of
        "weights" is the edge from query 5 to key 1, and of "v" one number of a value.
    by : array_like
        A number, or an array that fits the part.

    Returns
    -------
    dict
        For `forward`.

    Examples
    --------
    >>> from helpers.tiny_model.model import forward, load
    >>> run = forward(load(), [0, 1, 8], replace("layer0.v", np.s_[..., 3, 1, :], 0))
    >>> bool(run["layer0.v"][3, 1].any())
    False
    """

    def edit(value: Floats, run: Run) -> Floats:
        changed = value.copy()
        changed[at] = by
        return changed

    return {step: edit}


def ablate(step: str, at: Any, how: How, reference: Run | None = None) -> dict[str, Edit]:
    """Take out what this input put into a part of a step.

    Parameters
    ----------
    step, at
        As for `replace`.
    how : {"zero", "mean", "resample"}
        Put 0 there; the mean over the batch of `reference`, at the same positions; or what `reference` has there,
        sequence for sequence.
    reference : dict, optional
        A run on other sequences; for "resample" as many as will be run.

    Raises
    ------
    ValueError
        If `how` is none of these, or needs a reference and has none.

    Examples
    --------
    >>> from helpers.tiny_model.model import forward, load
    >>> other = forward(load(), [[0, 3, 4], [0, 5, 6]])
    >>> run = forward(load(), [[0, 1, 8]], ablate("layer0.read", np.s_[..., 2, :, :], "mean", other))
    >>> np.allclose(run["layer0.read"][0, 2], other["layer0.read"][:, 2].mean(axis=0))
    True
    """
    validate.choice("how", how, HOWS)
    if how == "zero":
        return replace(step, at, 0)
    if reference is None:
        raise validate.refusal(f"{how!r} needs a reference", "none", "pass forward(weights, other_sequences)")
    source = reference[step]
    return replace(step, at, (source.mean(axis=0, keepdims=True) if how == "mean" else source)[at])


def ablate_heads(heads: list[tuple[int, int]], how: How, reference: Run | None = None) -> dict[str, Edit]:
    """Take out whole heads, given as (layer, head), at once.

    Examples
    --------
    >>> sorted(ablate_heads([(0, 1), (1, 2)], "zero"))
    ['layer0.read', 'layer1.read']
    """
    each = [ablate(f"layer{layer}.read", np.s_[..., head, :, :], how, reference) for layer, head in heads]
    return together(*each)


def cut(
    layer: int, head: Any, query: Any, key: Any, *, sequence: Any = ..., renormalise: bool = False
) -> dict[str, Edit]:
    """Remove an edge: query no longer reads key in this head.

    Parameters
    ----------
    layer : int
    head, query, key : int, slice or array of int
    sequence : array of int, optional
        Where in the batch; everywhere, if left out. With arrays for all four, one edge in each sequence.
    renormalise : bool
        False takes the one term away and leaves the other weights as they are, so that what is removed is just
        weight · value · W_O. True blocks the score, and the other keys share the weight; a query's only key
        cannot be blocked.

    Examples
    --------
    >>> from helpers.tiny_model.model import forward, load
    >>> A = forward(load(), [0, 1, 8], cut(1, head=0, query=2, key=0))["layer1.weights"]
    >>> float(A[0, 2, 0]), bool(A[0, 2].sum() < 1)
    (0.0, True)
    """
    step, nothing = ("scores", -np.inf) if renormalise else ("weights", 0)
    return replace(f"layer{layer}.{step}", (sequence, head, query, key), nothing)


def together(*edits: dict[str, Edit]) -> dict[str, Edit]:
    """Make one set of edits out of several; where two change the same step, the later sees the earlier's result.

    Examples
    --------
    >>> list(together(cut(1, 0, 2, 0), cut(1, 0, 2, 1)))
    ['layer1.weights']
    """
    joined: dict[str, Edit] = {}
    for step, edit in (pair for each in edits for pair in each.items()):
        joined[step] = _chain(joined[step], edit) if step in joined else edit
    return joined


def _chain(first: Edit, second: Edit) -> Edit:
    return lambda value, run: second(np.asarray(first(value, run)), run)
