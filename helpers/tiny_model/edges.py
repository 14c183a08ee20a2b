"""Weight against influence, edge by edge: how bright, how much it carries, and what its removal does to the loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .edits import cut
from .model import N_HEADS, N_LAYERS, Floats, Run, forward

COLUMNS = [(name, int) for name in ("sequence", "layer", "head", "query", "key")]
COLUMNS += [(name, float) for name in ("weight", "read", "written", "change")]
LAST = N_LAYERS - 1
AT_ONCE = 256  # copies of a sequence in one run, to keep memory small

__all__ = ["cut_each", "edge_table", "last_layer_edges", "telling_edges"]


def edge_table(
    weights: Mapping[str, Floats], tokens: NDArray[np.integer], *, renormalise: bool = False
) -> NDArray[np.void]:
    """Measure every edge of one sequence, but for query 0, which has one key, and the last, which predicts nothing.

    Parameters
    ----------
    weights : mapping
    tokens : ndarray of int, shape (T,)
    renormalise : bool
        As for `edits.cut`: by default the other weights stay.

    Returns
    -------
    structured array, one row per layer, head, query and key
        "weight", A; "read", ‖A·v‖; "written", ‖A·v·W_O‖; and "change", what the loss of the whole sequence gains
        when this edge alone is removed, in nats.

    Examples
    --------
    >>> from helpers.tiny_model.model import load
    >>> table = edge_table(load(), np.array([0, 1, 8, 1]))
    >>> len(table), table.dtype.names[-4:]
    (40, ('weight', 'read', 'written', 'change'))
    """
    tokens = np.asarray(tokens)
    last = last_layer_edges(weights, tokens[None], renormalise=renormalise)
    head, query, key = _edges(len(tokens))
    earlier = [
        cut_each(
            weights,
            np.repeat(tokens[None], len(head), axis=0),
            layer,
            head,
            query,
            key,
            renormalise=renormalise,
        )
        for layer in range(LAST)
    ]
    table = np.concatenate([*earlier, last])
    table["sequence"] = 0
    return table


def last_layer_edges(
    weights: Mapping[str, Floats], tokens: NDArray[np.integer], *, renormalise: bool = False
) -> NDArray[np.void]:
    """Measure every edge of the last layer, in many sequences.

    After the last attention no position reads another: an edge from query i changes the loss at i and nowhere else.
    So the edges from all queries to one key can be removed in one run.

    Parameters
    ----------
    weights : mapping
    tokens : ndarray of int, shape (n, T)
    renormalise : bool

    Returns
    -------
    structured array
        As `edge_table`, one sequence after the other.
    """
    tokens = np.asarray(tokens)
    n, T = tokens.shape
    run = forward(weights, tokens)
    change = np.zeros((n, N_HEADS, T, T))
    for head in range(N_HEADS):
        for key in range(T - 1):
            edits = cut(LAST, head, np.s_[max(key, 1) :], key, renormalise=renormalise)
            change[:, head, :-1, key] = forward(weights, tokens, edits)["loss"] - run["loss"]
    head, query, key = _edges(T)
    sequence = np.repeat(np.arange(n), len(head))
    head, query, key = (np.tile(each, n) for each in (head, query, key))
    return _table(weights, run, sequence, LAST, head, query, key, change[sequence, head, query, key])


def cut_each(
    weights: Mapping[str, Floats],
    tokens: NDArray[np.integer],
    layer: int,
    head: ArrayLike,
    query: ArrayLike,
    key: ArrayLike,
    *,
    renormalise: bool = False,
) -> NDArray[np.void]:
    """Remove one edge from each sequence.

    Parameters
    ----------
    weights : mapping
    tokens : ndarray of int, shape (n, T)
    layer : int
    head, query, key : int, or ndarray of int, shape (n,)
        The edge, the same for all or one for each.
    renormalise : bool

    Returns
    -------
    structured array, shape (n,)
        As `edge_table`.

    Examples
    --------
    >>> from helpers.tiny_model import model, task
    >>> tokens, periods = task.sequences(40, seed=3)
    >>> to_the_opening = cut_each(model.load(), tokens, 1, head=1, query=9, key=0)
    >>> bool(to_the_opening["weight"].mean() > 0.9), bool(abs(to_the_opening["change"].mean()) < 0.02)
    (True, True)
    """
    tokens = np.asarray(tokens)
    head, query, key = (np.broadcast_to(each, len(tokens)) for each in (head, query, key))
    pieces = []
    for start in range(0, len(tokens), AT_ONCE):
        part = slice(start, start + AT_ONCE)
        run, rows = forward(weights, tokens[part]), np.arange(len(tokens[part]))
        edits = cut(layer, head[part], query[part], key[part], sequence=rows, renormalise=renormalise)
        change = (forward(weights, tokens[part], edits)["loss"] - run["loss"]).sum(axis=-1)
        pieces.append(_table(weights, run, rows, layer, head[part], query[part], key[part], change))
    table = np.concatenate(pieces)
    table["sequence"] = np.arange(len(tokens))
    return table


def telling_edges(
    weights: Mapping[str, Floats],
    tokens: NDArray[np.integer],
    *,
    bright: float = 0.9,
    dim: float = 0.1,
    harmless: float = 0.01,
) -> NDArray[np.void]:
    """Find a bright edge that does not matter and a dim one that does, in the last layer.

    Parameters
    ----------
    weights : mapping
    tokens : ndarray of int, shape (n, T)
        The sequences to search.
    bright, dim : float
        The least and the largest weight of the two.
    harmless : float
        The most that the bright one may change the loss, up or down, in nats.

    Returns
    -------
    structured array, two rows, as `edge_table`
        Of the bright harmless edges the one that writes most; of the dim ones the one that changes the loss most.

    Raises
    ------
    ValueError
        If there is no such edge.
    """
    table = last_layer_edges(weights, tokens)
    idle = table[(table["weight"] >= bright) & (abs(table["change"]) <= harmless)]
    faint = table[table["weight"] <= dim]
    if not len(idle) or not len(faint):
        raise ValueError(
            f"no edge above {bright} is within {harmless}, or none below {dim}: search more sequences."
        )
    return np.stack([idle[idle["written"].argmax()], faint[faint["change"].argmax()]])


def _edges(T: int) -> tuple[NDArray[np.intp], ...]:
    """Head, query and key of every edge that is measured."""
    measured = np.tri(T, dtype=bool)
    measured[[0, -1]] = False
    return np.nonzero(np.broadcast_to(measured, (N_HEADS, T, T)))


def _table(
    weights: Mapping[str, Floats],
    run: Run,
    sequence: Any,
    layer: int,
    head: Any,
    query: Any,
    key: Any,
    change: Any,
) -> NDArray[np.void]:
    A = run[f"layer{layer}.weights"][sequence, head, query, key]
    v = run[f"layer{layer}.v"][sequence, head, key]  # (edges, d_head)
    rows = weights["W_O"][layer].reshape(N_HEADS, -1, weights["W_O"].shape[-1])
    length = np.linalg.norm(run[f"layer{layer}.v"] @ rows, axis=-1)[sequence, head, key]
    table = np.zeros(len(A), dtype=COLUMNS)
    filled = (sequence, layer, head, query, key, A, A * np.linalg.norm(v, axis=-1), A * length, change)
    for (name, _), values in zip(COLUMNS, filled, strict=True):
        table[name] = values
    return table
