"""Who may read whom, live: choose a pattern or click cells, and see what becomes of the weights."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from .. import figures, patterns
from ..attention import softmax
from ..figures.words import count, listed
from . import given
from .controls import LARGEST_CLICKED, Cells, Choice
from .live import Frame, LiveFigure

BY_HAND = "by hand"
_SCORES = np.random.default_rng(4).normal(size=(6, 6)).round(1)


def masks(scores: ArrayLike = _SCORES, *, tokens: Sequence[str] | None = None) -> LiveFigure:
    """Choose who may read whom, and see the weights that are left.

    Parameters
    ----------
    scores : array-like, shape (n, n)
        Scaled scores of 3 to 6 tokens.
    tokens : sequence of str, length n, optional

    Returns
    -------
    LiveFigure

    Raises
    ------
    ValueError
        If scores are not a square matrix of finite numbers of that size.

    Examples
    --------
    >>> masks().frame().says
    '36 of 36 cells are allowed. A later key is read by queries 0, 1, 2, 3 and 4.'
    """
    scores = given.square("scores", scores)
    n = len(scores)
    if not 3 <= n <= LARGEST_CLICKED:
        raise ValueError(f"masks takes 3 to {LARGEST_CLICKED} tokens, whose cells can be clicked; got {n}")
    offered = _patterns(n)
    wanted = patterns.causal(n) & (patterns.window(n, 2) | _only(n, 0))
    goal = (
        "Let each query read key 0, its own key and the key before that, and nothing else. "
        "Which pattern needs the fewest clicks?"
    )
    choice = Choice("pattern", {**{name: name for name in offered}, BY_HAND: BY_HAND})
    names = list(tokens) if tokens is not None else [str(i) for i in range(n)]
    cells = Cells(
        "may read?", offered["full"], [f"query {name}" for name in names], [f"key {name}" for name in names]
    )

    def chosen() -> None:
        if choice.value in offered:
            cells.value = offered[choice.value]

    def clicked() -> None:
        if choice.value in offered and not np.array_equal(cells.value, offered[choice.value]):
            choice.value = BY_HAND

    choice.observe(chosen)
    cells.observe(clicked)

    def draw(pattern: str, allowed: np.ndarray) -> Frame:
        empty = ~allowed.any(axis=1)
        weights = np.zeros((n, n))
        if not empty.all():
            weights[~empty] = softmax(np.where(allowed, scores, -np.inf)[~empty])
        picture = figures.weights(weights, allowed, tokens=tokens)
        return Frame({"weights": picture}, _says(allowed), np.array_equal(allowed, wanted))

    return LiveFigure("Who may read whom", goal, {"pattern": choice, "allowed": cells}, draw)


def _patterns(n: int) -> dict[str, np.ndarray]:
    real = patterns.keys(np.arange(n) < n - 2)
    return {
        "full": patterns.full(n),
        "causal": patterns.causal(n),
        "window": patterns.window(n, 2),
        "prefix": patterns.prefix(n, 2),
        "padding": patterns.full(n) & real,
        "documents": patterns.documents(np.arange(n) * 2 // n),
        "causal and padding": patterns.causal(n) & real,
    }


def _only(n: int, key: int) -> np.ndarray:
    """Every query may read this key only."""
    return patterns.full(n) & patterns.keys(np.arange(n) == key)


def _says(allowed: np.ndarray) -> str:
    ahead = np.flatnonzero((allowed & ~patterns.causal(len(allowed))).any(axis=1))
    empty = np.flatnonzero(~allowed.any(axis=1))
    said = [f"{int(allowed.sum())} of {count(allowed.size, 'cell')} are allowed."]
    if ahead.size:
        said.append(f"A later key is read by {_queries(ahead)}.")
    else:
        said.append("No query reads a later key.")
    if empty.size:
        said.append(f"Nothing is left to read for {_queries(empty)}: no weights, and no output.")
    return " ".join(said)


def _queries(rows: np.ndarray) -> str:
    return ("query " if rows.size == 1 else "queries ") + listed([str(i) for i in rows], most=6)
