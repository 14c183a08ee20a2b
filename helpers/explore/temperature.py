"""A temperature under a mask, live: weights as a heatmap, and how far each row is spread."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from .. import figures, patterns
from ..attention import softmax
from ..figures.words import listed, number
from . import given
from .controls import Choice, Number
from .live import Frame, LiveFigure

NEAR = 0.005  # a goal of 0.4 is reached by whatever rounds to 0.40


def temperature(
    scores: ArrayLike, *, query: int = -1, share: float = 0.4, tokens: Sequence[str] | None = None
) -> LiveFigure:
    """Divide scores by a temperature, masked or not.

    Parameters
    ----------
    scores : array-like, shape (n, n)
        Scaled scores, none of them blocked: the figure blocks what its pattern says.
    query : int
        The row that the goal is about; a negative one counts from the end.
    share : float
        What this row shall give its best key under the causal mask.
    tokens : sequence of str, length n, optional

    Returns
    -------
    LiveFigure

    Raises
    ------
    ValueError
        If scores are not a square matrix of finite numbers, or no temperature gives that share.

    Examples
    --------
    >>> temperature([[1, 0], [0, 2]], share=0.6).frame().says[:70]
    'At temperature 1 under the causal pattern, query 1 gives 0.88 to key 1'
    """
    scores = given.square("scores", scores)
    n = len(scores)
    query = given.position("query", query, n)
    legal = scores[query, : query + 1]
    least, ties = 1 / legal.size, int((legal == legal.max()).sum())
    if not least < share < 1 / ties:
        raise ValueError(
            f"share must lie between {least:.3g}, which an even spread gives, and {1 / ties:.3g}, "
            f"which a temperature near 0 gives; got {share}"
        )
    goal = (
        f"Under the causal mask, find a temperature at which query {query} gives {share:.2f} to its best key. "
        "Keep it, and choose full: what changes in that row?"
    )
    allowed = {"causal": patterns.causal(n), "full": patterns.full(n)}
    controls = {
        "t": Number("temperature", 1.0, 0.05, 50.0, step=0.05, log=True),
        "pattern": Choice("pattern", list(allowed)),
    }

    def draw(t: float, pattern: str) -> Frame:
        may = allowed[pattern]
        weights = softmax(np.where(may, scores, -np.inf) / t)
        best = float(weights[query].max())
        spread = entropy(weights)
        bars = figures.bars(
            [f"query {i}" for i in range(n)], {"entropy": spread}, limits=(0, max(1.0, np.log2(n))), digits=2
        )
        says = (
            f"At temperature {t:.3g} under the {pattern} pattern, query {query} gives {number(best)} to "
            f"{_best(weights[query])}; its entropy is {spread[query]:.2f} of {np.log2(may[query].sum()):.2f} bits."
        )
        pictures = {
            "weights": figures.weights(weights, may, tokens=tokens),
            "entropy in bits, 0 if one key gets all": bars,
        }
        return Frame(pictures, says, pattern == "causal" and abs(best - share) < NEAR)

    return LiveFigure("Temperature under a mask", goal, controls, draw)


def _best(row: np.ndarray) -> str:
    """The best key of a row, or all of them: ``key 0``, ``each of keys 0 and 3``."""
    best = [str(j) for j in np.flatnonzero(np.isclose(row, row.max(), rtol=1e-12, atol=0))]
    return f"key {best[0]}" if len(best) == 1 else f"each of keys {listed(best, most=8)}"


def entropy(weights: np.ndarray) -> np.ndarray:
    """How far each row is spread, in bits: 0 if all is on one key, log2(n) if it is even over n.

    Examples
    --------
    >>> entropy(np.array([[1, 0], [0.5, 0.5]]))
    array([0., 1.])
    """
    logs = np.log2(weights, where=weights > 0, out=np.zeros_like(weights))
    return 0.0 - (weights * logs).sum(axis=-1)
