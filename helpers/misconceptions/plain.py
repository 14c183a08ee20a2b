"""The right steps as the wrong programs use them: bare, so that each of those is wrong in one thing only.

They refuse nothing and give NaN where helpers.attention would raise, as a first version does.
"""

from __future__ import annotations

import numpy as np

from ..fixture import outputs  # noqa: F401, what a belief about a test or a line of code comes to is
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
