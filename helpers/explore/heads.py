"""Heads side by side, and their average, live."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from .. import figures, validate
from ..attention import softmax
from ..figures.words import listed, number
from . import given
from .controls import Number, Switch
from .live import Frame, LiveFigure

SURE = 0.9  # a head that gives a key so much reads that key
EVEN = 0.4  # an average in which no key gets more shows none
MOST = 6


def heads(scores: ArrayLike, *, query: int = -1, tokens: Sequence[str] | None = None) -> LiveFigure:
    """See some heads side by side, and what their average shows.

    Parameters
    ----------
    scores : array-like, shape (n_heads, n, n)
        Scaled scores of 2 to 6 heads; -inf where a cell is blocked.
    query : int
        The row that the goal is about.
    tokens : sequence of str, length n, optional

    Returns
    -------
    LiveFigure

    Raises
    ------
    ValueError
        If scores have another shape, or a row has nothing to read.

    Examples
    --------
    >>> heads([[[9, 0], [9, 0]], [[0, 9], [0, 9]]]).frame().says
    'In row 1 the heads give at most 1.000 and 1.000 to a key, their average at most 0.500.'
    """
    (scores,) = validate.floats(scores=scores)
    if scores.ndim != 3 or not 2 <= len(scores) <= MOST or scores.shape[1] != scores.shape[2]:
        expected = f"scores must be (n_heads, n, n) with 2 to {MOST} heads"
        raise validate.refusal(expected, f"shape {scores.shape}", "leave the batch axis out, and pick heads")
    query = given.position("query", query, scores.shape[-1])
    blocked = np.isneginf(scores)
    softmax(scores)  # raises where a row has nothing to read
    goal = (
        f"Choose heads and a sharpness so that in row {query} each of them gives one key more than {SURE}, "
        f"and their average gives no key more than {EVEN}."
    )
    controls = {
        "sharper": Number("sharpness (multiplies all scores)", 1.0, 0.1, 20.0, step=0.05, log=True),
        **{f"head_{h}": Switch(f"head {h}", True) for h in range(len(scores))},
    }

    def draw(sharper: float, **on: bool) -> Frame:
        kept = [h for h, name in enumerate(on) if on[name]]
        if not kept:
            return Frame({}, "No head is chosen, so there is nothing to average.")
        weights = softmax(scores[kept] * sharper)
        average = weights.mean(axis=0)
        shown = {
            f"head {h}": figures.weights(own, ~blocked[h], tokens=tokens)
            for h, own in zip(kept, weights, strict=True)
        }
        # What no chosen head may read is blocked in their average too.
        shown["average"] = figures.weights(average, ~blocked[kept].all(axis=0), tokens=tokens)
        most, together = weights[:, query].max(axis=-1), float(average[query].max())
        each = listed([number(value, 3) for value in most], most=MOST)
        subject, whose = ("the heads give", "their") if len(kept) > 1 else ("the head gives", "its")
        says = f"In row {query} {subject} at most {each} to a key, {whose} average at most {number(together, 3)}."
        return Frame(shown, says, bool((most > SURE).all()) and together <= EVEN)

    return LiveFigure("Heads and their average", goal, controls, draw)
