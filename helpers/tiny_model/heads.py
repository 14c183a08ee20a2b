"""What a head's weights look like, how much it writes, and what it is worth: measured, one row per head."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .edits import HOWS, ablate_heads
from .model import N_HEADS, N_LAYERS, Floats, Run, forward

HEADS = [(layer, head) for layer in range(N_LAYERS) for head in range(N_HEADS)]
LOOKS = ("previous", "after_match", "opening", "brightest", "read", "written")

__all__ = ["HEADS", "LOOKS", "head_changes", "head_table", "looks", "matches", "rank_correlation"]


def matches(tokens: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Mark the keys an induction head should read: those just after an earlier copy of the query's token.

    Parameters
    ----------
    tokens : ndarray of int, shape (..., T)

    Returns
    -------
    ndarray of bool, shape (..., T, T)

    Examples
    --------
    >>> matches(np.array([0, 5, 9, 5]))[3]
    array([False, False,  True, False])
    """
    tokens = np.asarray(tokens)
    same = np.zeros((*tokens.shape, tokens.shape[-1]), dtype=bool)
    # Key j counts where token j - 1, its predecessor, is the query's token.
    same[..., 1:] = tokens[..., :, None] == tokens[..., None, :-1]
    return same & np.tri(tokens.shape[-1], dtype=bool)


def looks(run: Run, tokens: NDArray[np.integer], where: NDArray[np.bool_]) -> NDArray[np.void]:
    """Measure what a picture of each head would show, and what it writes.

    Parameters
    ----------
    run : dict
        Of `forward` on `tokens`.
    tokens : ndarray of int, shape (n, T)
    where : ndarray of bool, shape (n, T - 1)
        The queries to average over; query 0, which has one key only, never counts.

    Returns
    -------
    structured array, one row per head
        Means over these queries: the weight on the position before ("previous"), on `matches` ("after_match"), on
        ^ ("opening"), of the brightest key ("brightest"); and the lengths ‖A·V‖ ("read") and ‖A·V·W_O‖ ("written").
    """
    where = _from_query_one(where)
    table = np.zeros(len(HEADS), dtype=[("layer", int), ("head", int), *((name, float) for name in LOOKS)])
    after = matches(tokens)[:, :-1]
    before = np.eye(tokens.shape[-1], k=-1, dtype=bool)[:-1]
    for row, (layer, head) in zip(table, HEADS, strict=True):
        A, read, written = (
            run[f"layer{layer}.{name}"][:, head, :-1] for name in ("weights", "read", "written")
        )
        seen = [(A * before).sum(-1), (A * after).sum(-1), A[..., 0], A.max(-1)]
        sizes = [np.linalg.norm(read, axis=-1), np.linalg.norm(written, axis=-1)]
        row["layer"], row["head"] = layer, head
        for name, values in zip(LOOKS, [*seen, *sizes], strict=True):
            row[name] = values[where].mean()
    return table


def head_changes(
    weights: Mapping[str, Floats], tokens: NDArray[np.integer], reference: Run, heads: list[tuple[int, int]]
) -> dict[str, Floats]:
    """Measure the change in loss, at every position, when these heads are taken out in each of the three ways.

    Parameters
    ----------
    weights : mapping
    tokens : ndarray of int, shape (n, T)
    reference : dict
        A run on n other sequences.
    heads : list of (layer, head)

    Returns
    -------
    dict from "zero", "mean", "resample" to ndarray, shape (n, T - 1), in nats
    """
    before = forward(weights, tokens)["loss"]
    return {
        how: forward(weights, tokens, ablate_heads(heads, how, reference))["loss"] - before for how in HOWS
    }


def head_table(
    weights: Mapping[str, Floats], tokens: NDArray[np.integer], where: NDArray[np.bool_], reference: Run
) -> NDArray[np.void]:
    """Put what each head looks like beside what it is worth.

    Parameters
    ----------
    weights : mapping
    tokens : ndarray of int, shape (n, T)
    where : ndarray of bool, shape (n, T - 1)
        The predictions to average over, as `task.parts` gives them.
    reference : dict
        A run on n other sequences.

    Returns
    -------
    structured array, one row per head
        The columns of `looks`, and the mean change in loss, in nats, by "zero", "mean" and "resample" ablation.

    Examples
    --------
    >>> from helpers.tiny_model import model, task
    >>> weights = model.load()
    >>> (tokens, periods), (others, _) = task.sequences(50, seed=1), task.sequences(50, seed=2)
    >>> table = head_table(weights, tokens, task.parts(periods)[1], forward(weights, others))
    >>> int(table["mean"].argmax()), float(table["previous"][1].round(1))
    (1, 0.8)
    """
    seen = looks(forward(weights, tokens), tokens, where)
    table = np.zeros(len(seen), dtype=[*seen.dtype.descr, *((how, float) for how in HOWS)])
    for name in seen.dtype.names:
        table[name] = seen[name]
    for row, head in zip(table, HEADS, strict=True):
        for how, change in head_changes(weights, tokens, reference, [head]).items():
            row[how] = change[where].mean()
    return table


def rank_correlation(a: ArrayLike, b: ArrayLike) -> float:
    """Correlate the ranks of two lists (Spearman's rho): 1 for the same order, -1 for the opposite one.

    Equal numbers share the mean of their ranks.

    Examples
    --------
    >>> round(rank_correlation([1, 2, 3, 4], [10, 20, 400, 300]), 6)
    0.8
    """
    a, b = (np.unique(each, return_inverse=True, return_counts=True)[1:] for each in (a, b))
    ranks = [(np.cumsum(counts) - (counts - 1) / 2)[place.ravel()] for place, counts in (a, b)]
    return float(np.corrcoef(ranks)[0, 1])


def _from_query_one(where: NDArray[np.bool_]) -> NDArray[np.bool_]:
    where = np.array(where, dtype=bool)
    where[:, 0] = False
    return where
