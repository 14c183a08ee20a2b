"""The length of queries and keys, live: how far their dot products spread, and what that does to a softmax."""

from __future__ import annotations

from functools import cache

import numpy as np

from .. import figures, validate
from ..attention import softmax
from ..figures.words import number
from .controls import Choice
from .live import Frame, LiveFigure
from .powers import Power

LARGEST = 1024
QUERIES, KEYS = 400, 8
DIVISORS = {"nothing": 0.0, "√d_k": 0.5, "d_k": 1.0}  # each a power of d_k
ENDS = 100.0  # of the axis of scores: a bare one of 1,024 features seldom lies beyond


def scale(*, above: float = 0.9) -> LiveFigure:
    """Draw queries and keys at random, with more and more features, and divide their dot products or not.

    Each of 400 queries meets 8 keys of its own; all their numbers are drawn independently, with mean 0 and
    variance 1. The slope of a weight with its own score is weight times (1 − weight).

    Parameters
    ----------
    above : float
        What the largest of the 8 weights shall exceed on average, without a division.

    Returns
    -------
    LiveFigure

    Raises
    ------
    ValueError
        If no d_k leads above it, or the first one does.

    Examples
    --------
    >>> scale().frame().says[:70]
    'At d_k = 1, divided by nothing, the scores have variance 0.98. The lar'
    """
    above = validate.positive_number("above", above)
    dots = {d_k: _dots(d_k) for d_k in _sizes()}
    enough = [d_k for d_k, own in dots.items() if largest_weights(own).mean() > above]
    if not enough or enough[0] == 1:
        low, high = (largest_weights(dots[d_k]).mean() for d_k in (1, LARGEST))
        raise ValueError(
            f"above must lie between {low:.3f}, where d_k = 1 already is, and {high:.3f}, got {above}"
        )
    goal = (
        f"Without a division, find the smallest d_k at which the largest of {KEYS} weights is above {above:g} "
        "on average. Then choose √d_k and move d_k again: which pictures stay as they are?"
    )
    controls = {
        "d_k": Power("d_k", 1, 1, LARGEST),
        "divisor": Choice("divided by", list(DIVISORS)),
    }

    def draw(d_k: int, divisor: str) -> Frame:
        scores = dots[d_k] / d_k ** DIVISORS[divisor]
        largest = largest_weights(scores)
        slope = float((largest * (1 - largest)).mean())
        mean = float(largest.mean())
        pictures = {
            f"{scores.size:,} scores, {QUERIES} queries by {KEYS} keys": figures.histogram(
                scores, name="score", limits=(-ENDS, ENDS)
            ),
            f"largest of {KEYS} weights, on a scale to 1": figures.bars(
                ["mean"], {"weight": [mean]}, limits=(0, 1), digits=2
            ),
            "slope of that weight, on a scale to 0.25": figures.bars(
                ["mean"], {"slope": [slope]}, limits=(0, 0.25), digits=3
            ),
        }
        reached = divisor == "nothing" and d_k == enough[0]
        return Frame(pictures, _says(d_k, divisor, float(scores.var()), mean, slope), reached)

    return LiveFigure("Length and scale", goal, controls, draw)


def _sizes() -> list[int]:
    return [2**k for k in range(LARGEST.bit_length())]


@cache
def _dots(d_k: int) -> np.ndarray:
    """Dot products of 400 queries with 8 keys each, (400, 8): the same ones that notebook 03 draws."""
    rng = np.random.default_rng(0)
    q, K = rng.normal(size=(QUERIES, 1, d_k)), rng.normal(size=(QUERIES, KEYS, d_k))
    return (q * K).sum(axis=-1)


def largest_weights(scores: np.ndarray) -> np.ndarray:
    """The largest weight of each row, (n_q, n_k) -> (n_q,).

    Examples
    --------
    >>> largest_weights(np.array([[0.0, 0.0], [0.0, np.log(3)]]))
    array([0.5 , 0.75])
    """
    return softmax(scores).max(axis=-1)


def _says(d_k: int, divisor: str, variance: float, mean: float, slope: float) -> str:
    return (
        f"At d_k = {d_k:,}, divided by {divisor}, the scores have variance {variance:.3g}. "
        f"The largest of {KEYS} weights is {number(mean)} on average, its slope {number(slope, 3)}."
    )
