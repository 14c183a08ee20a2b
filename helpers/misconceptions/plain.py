"""The right steps as the wrong programs use them: bare, so that each of those is wrong in one thing only.

They refuse nothing and give NaN where helpers.attention would raise, as a first version does.
"""

from __future__ import annotations

import numpy as np

from ..fixture import outputs  # noqa: F401, what a belief about a test or a line of code comes to is
from ..gallery import pale, pictures  # noqa: F401, a picture or
from ..influence import columns, ranks  # noqa: F401, a model is
from ..tasks import caller_after  # noqa: F401, shown by running these on something else


def softmax(scores, axis=-1):
    """Weights from scores; NaN for a row of nothing but -inf."""
    exps = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return exps / exps.sum(axis=axis, keepdims=True)


def blocked(scores, allowed):
    """Scores with -inf where `allowed` is False."""
    return np.where(allowed, scores, -np.inf)


def scaled(Q, K):
    """Scores divided by √d_k."""
    return Q @ K.T / Q.shape[-1] ** 0.5


def weigh(Q, K, allowed):
    """Weights over the allowed keys."""
    return softmax(blocked(scaled(Q, K), allowed))


def window(n, width):
    """(n, n), True for the `width` keys that end at the query's own."""
    return np.tri(n, dtype=bool) & ~np.tri(n, k=-width, dtype=bool)


def split(X, n_heads):
    """(T, d_model) -> (n_heads, T, d_head)."""
    return X.reshape(len(X), n_heads, -1).swapaxes(0, 1)


def merge(H):
    """(n_heads, T, d_head) -> (T, d_model)."""
    return H.swapaxes(0, 1).reshape(H.shape[1], -1)


def costs(T, d_model, n_heads, itemsize):
    """Parameters, multiplications in matrix products, bytes of scores and exponentials of one layer."""
    products = 4 * T * d_model**2 + 2 * T**2 * d_model
    return np.array([4 * d_model**2, products, n_heads * T**2 * itemsize, n_heads * T**2])


def tiles(Q, K, V, allowed, size):
    """Scores and values, `size` keys at a time; the last tile may be smaller."""
    scores = blocked(scaled(Q, K), allowed)
    return [(scores[:, i : i + size], V[i : i + size]) for i in range(0, len(K), size)]


def row_tiles(scores, values, size):
    """The same of one query whose scores are there."""
    return [(scores[i : i + size], values[i : i + size]) for i in range(0, len(scores), size)]


def added(scores, V, running_max, running_sum, out):
    """Largest score, sum and output so far, once a tile has been added."""
    new_max = np.maximum(running_max, scores.max(axis=-1, keepdims=True))
    shrink, exps = np.exp(running_max - new_max), np.exp(scores - new_max)
    return new_max, running_sum * shrink + exps.sum(axis=-1, keepdims=True), out * shrink + exps @ V
