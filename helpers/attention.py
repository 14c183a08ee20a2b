"""The truth of this course: attention in plain NumPy, which every answer, picture and library is compared with.

Rows are queries, columns are keys; `allowed` is boolean, True = may attend. Throughout:

- arithmetic and results are in the widest dtype given, float32 at least: float16 gives float32, integers float64;
- inputs are never changed, and no result shares memory with one;
- a blocked weight is exactly 0, and what a blocked key or value holds cannot matter, not even NaN;
- whatever has no right answer is a ValueError that says what was expected, what came, and the way out.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import patterns
from .patterns import as_boolean, row_names, whole_number

Floats = NDArray[np.floating]
Axes = tuple[int, ...]

__all__ = [
    "attention",
    "attention_weights",
    "causal_attention",
    "merge_heads",
    "multi_head_attention",
    "softmax",
    "split_heads",
]


def softmax(scores: ArrayLike, axis: int = -1) -> Floats:
    """Turn scores into weights: exp(scores), divided by their sum along `axis`.

    Parameters
    ----------
    scores : array_like, shape (..., n_k) for the default axis
        Numbers; -inf is a blocked score and gets weight 0.
    axis : int
        The axis along which the weights sum to 1.

    Returns
    -------
    ndarray, shape of `scores`

    Raises
    ------
    ValueError
        If a score is NaN or +inf, all scores of a row are -inf, there are none, or `axis` is not an axis.

    Examples
    --------
    >>> softmax([2, 1, -math.inf]).round(3)
    array([0.731, 0.269, 0.   ])
    """
    (scores,) = _numbers(scores=scores)
    if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)) or not -scores.ndim <= axis < scores.ndim:
        raise ValueError(
            f"axis must be a whole number from {-scores.ndim} to {scores.ndim - 1}, got {axis!r}: "
            "scores of one query are a row, so the last axis (-1) is the usual one."
        )
    _refuse("scores", scores, np.isnan(scores) | (scores == np.inf), "use finite scores, and -inf to block one")
    _refuse_empty(np.isneginf(scores).all(axis), "every score there is -inf")
    return _softmax(scores, axis)


def attention_weights(
    Q: ArrayLike,
    K: ArrayLike,
    allowed: ArrayLike | None = None,
    *,
    temperature: float = 1.0,
    empty_rows: Literal["raise", "zero"] = "raise",
) -> Floats:
    """Weigh the keys for each query: softmax(Q Kᵀ / sqrt(d_k) / temperature) over the allowed keys.

    Parameters
    ----------
    Q : array_like, shape (..., n_q, d_k)
    K : array_like, shape (..., n_k, d_k)
    allowed : array_like of bool or 0/1, shape (n_q, n_k) or (..., n_q or 1, n_k), optional
        True where query i may read key j. Two axes, or as many as Q; a leading axis of 1 serves the whole batch.
    temperature : float
        Above 1 the weights become more even, below 1 sharper; positive and finite.
    empty_rows : {"raise", "zero"}
        What a query without any allowed key gets: a ValueError, or a row of zeros.

    Returns
    -------
    ndarray, shape (..., n_q, n_k)
        Each row sums to 1.

    Raises
    ------
    ValueError
        If shapes do not fit, a query has no allowed key, `temperature` or `allowed` is none, an allowed cell uses
        a number that is not finite, or its score overflows.

    Notes
    -----
    Vaswani et al., Attention Is All You Need, arXiv 1706.03762, equation 1.

    Examples
    --------
    >>> attention_weights([[1], [2]], [[1], [2]], [[1, 0], [1, 1]]).round(3)
    array([[1.   , 0.   ],
           [0.119, 0.881]])
    """
    Q, K = _numbers(Q=Q, K=K)
    allowed = _check(Q, K, allowed, empty_rows)
    return _weights(Q, K, allowed, _positive(temperature))


def attention(
    Q: ArrayLike,
    K: ArrayLike,
    V: ArrayLike,
    allowed: ArrayLike | None = None,
    *,
    temperature: float = 1.0,
    empty_rows: Literal["raise", "zero"] = "raise",
) -> Floats:
    """Sum the values by their weights: each output row is a weighted sum of the rows of V.

    Parameters
    ----------
    Q, K, allowed, temperature, empty_rows
        As in `attention_weights`.
    V : array_like, shape (..., n_k, d_v)

    Returns
    -------
    ndarray, shape (..., n_q, d_v)

    Raises
    ------
    ValueError
        As `attention_weights`; and if V does not have one row per key, or an allowed cell uses a number of V that is
        not finite.

    Examples
    --------
    >>> attention([[1, 0]], [[1, 0], [0, 1]], [[10, 0], [0, 20]]).round(2)
    array([[6.7, 6.6]])
    """
    Q, K, V = _numbers(Q=Q, K=K, V=V)
    allowed = _check(Q, K, allowed, empty_rows, V)
    weights = _weights(Q, K, allowed, _positive(temperature))
    # A value that nobody may read is set to 0 first, because 0 * NaN is NaN.
    readable = np.where(allowed.any(-2)[..., None], V, 0)
    return _product("weights @ V", weights, readable)  # (n_q, n_k) @ (n_k, d_v) -> (n_q, d_v)


def causal_attention(Q: ArrayLike, K: ArrayLike, V: ArrayLike) -> Floats:
    """Attend to one's own position and the earlier ones.

    Parameters
    ----------
    Q, K : array_like, shape (..., seq_len, d_k)
    V : array_like, shape (..., seq_len, d_v)

    Returns
    -------
    ndarray, shape (..., seq_len, d_v)

    Raises
    ------
    ValueError
        As `attention`; and if there are not as many queries as keys.

    Examples
    --------
    >>> causal_attention([[1], [2]], [[1], [2]], [[10], [20]]).round(6)
    array([[10.      ],
           [18.807971]])
    """
    Q, K, V = _numbers(Q=Q, K=K, V=V)
    _check(Q, K, None, "raise", V)
    n_q, n_k = Q.shape[-2], K.shape[-2]
    if n_q != n_k:
        raise ValueError(
            f"causal_attention needs as many queries as keys, got {n_q} and {n_k}: use attention with "
            f'patterns.causal({n_q}, {n_k}, align="top-left") or align="bottom-right".'
        )
    return attention(Q, K, V, patterns.causal(n_q))


def split_heads(X: ArrayLike, n_heads: int) -> NDArray[Any]:
    """Give each head its own slice of the features.

    Parameters
    ----------
    X : array_like, shape (..., T, d_model)
    n_heads : int

    Returns
    -------
    ndarray, shape (..., n_heads, T, d_model / n_heads)

    Raises
    ------
    ValueError
        If `n_heads` does not divide d_model.

    Examples
    --------
    >>> split_heads([[1, 2, 3, 4], [5, 6, 7, 8]], 2)[0]
    array([[1., 2.],
           [5., 6.]])
    """
    (X,) = _numbers(X=X)
    _rows("X", X)
    *batch, T, d_model = X.shape
    n_heads = whole_number("n_heads", n_heads)
    if d_model % n_heads:
        raise ValueError(f"n_heads must divide d_model={d_model}, got {n_heads}: choose a divisor, or another width.")
    # The features are cut first and the axes swapped after: cutting straight to (n_heads, T, d_head) mixes positions.
    return X.reshape(*batch, T, n_heads, d_model // n_heads).swapaxes(-3, -2).copy()


def merge_heads(H: ArrayLike) -> NDArray[Any]:
    """Put the heads side by side again: the inverse of `split_heads`.

    Parameters
    ----------
    H : array_like, shape (..., n_heads, T, d_head)

    Returns
    -------
    ndarray, shape (..., T, n_heads * d_head)

    Raises
    ------
    ValueError
        If `H` has fewer than three axes.

    Examples
    --------
    >>> merge_heads([[[1, 2], [3, 4]], [[5, 6], [7, 8]]])
    array([[1., 2., 5., 6.],
           [3., 4., 7., 8.]])
    """
    (H,) = _numbers(H=H)
    if H.ndim < 3:
        raise ValueError(f"H must be (..., n_heads, T, d_head), got shape {H.shape}: split_heads makes such an array.")
    *batch, n_heads, T, d_head = H.shape
    return H.swapaxes(-3, -2).copy().reshape(*batch, T, n_heads * d_head)


def multi_head_attention(
    X: ArrayLike,
    W_Q: ArrayLike,
    W_K: ArrayLike,
    W_V: ArrayLike,
    W_O: ArrayLike,
    n_heads: int,
    allowed: ArrayLike | None = None,
) -> Floats:
    """Attend in `n_heads` subspaces of X at once and project the joined outputs back.

    Parameters
    ----------
    X : array_like, shape (..., T, d_model)
    W_Q, W_K : array_like, shape (d_model, n_heads * d_k)
    W_V : array_like, shape (d_model, n_heads * d_v)
    W_O : array_like, shape (n_heads * d_v, d_model)
    n_heads : int
    allowed : array_like of bool or 0/1, shape (T, T) or (..., T or 1, T), optional
        True where query i may read key j. Two axes, or as many as X: its leading axes are X's batch, never the
        heads, which all share it.

    Returns
    -------
    ndarray, shape (..., T, d_model)

    Raises
    ------
    ValueError
        As `attention`; and if a projection does not fit, or `n_heads` does not divide its width.

    Examples
    --------
    >>> one = np.eye(4)
    >>> X = [[1, 0, 0, 1], [0, 1, 1, 0]]
    >>> multi_head_attention(X, one, one, one, one, 2, patterns.causal(2)).round(3)
    array([[1.  , 0.  , 0.  , 1.  ],
           [0.33, 0.67, 0.67, 0.33]])
    """
    X, W_Q, W_K, W_V, W_O = _numbers(X=X, W_Q=W_Q, W_K=W_K, W_V=W_V, W_O=W_O)
    allowed = _check(X, X, allowed, "raise")
    Q, K, V = (split_heads(_project(X, name, W), n_heads) for name, W in (("W_Q", W_Q), ("W_K", W_K), ("W_V", W_V)))
    heads = attention(Q, K, V, allowed[..., None, :, :])
    return _project(merge_heads(heads), "W_O", W_O)


@np.errstate(all="ignore")
def _softmax(scores, axis, temperature=1.0):
    if temperature >= 1:
        scores = scores / temperature
    largest = scores.max(axis, keepdims=True)
    largest = np.where(np.isneginf(largest), 0, largest)
    shifted = scores - largest
    if temperature < 1:
        shifted = shifted / np.float64(temperature)
    exps = np.exp(shifted)
    total = exps.sum(axis, keepdims=True)
    return (exps / np.where(total == 0, 1, total)).astype(scores.dtype, copy=False)


@np.errstate(all="ignore")
def _weights(Q, K, allowed, temperature):
    d_k = Q.shape[-1]
    scores = Q @ K.swapaxes(-1, -2) / d_k**0.5  # (n_q, d_k) @ (d_k, n_k) -> (n_q, n_k)
    _refuse("Q @ K.T", scores, allowed & ~np.isfinite(scores), "scale")
    return _softmax(np.where(allowed, scores, -np.inf), -1, temperature)


@np.errstate(all="ignore")
def _product(name, left, right):
    result = left @ right
    _refuse(name, result, ~np.isfinite(result), "scale")
    return result


def _project(X, name, W):
    return _product(f"X @ {name}", X, W)


def _numbers(**arrays):
    found = [np.asarray(a) for a in arrays.values()]
    dtype = np.result_type(np.float32, *(np.float64 if a.dtype.kind in "iu" else a.dtype for a in found))
    return [a.astype(dtype, copy=False) for a in found]


def _rows(name, X):
    if X.ndim < 2 or X.size == 0:
        raise ValueError(f"{name} shape {X.shape}")


def _positive(temperature):
    if not (temperature > 0 and math.isfinite(temperature)):
        raise ValueError("temperature")
    return float(temperature)


def _refuse(name, array, bad, fix):
    if bad.any():
        place = tuple(np.argwhere(bad)[0].tolist())
        raise ValueError(f"{name}{list(place)} is {array[place]}: {fix}.")


def _refuse_empty(empty, why):
    if empty.any():
        raise ValueError(f"{row_names(empty)}: {why}")


def _check(Q, K, allowed, empty_rows, V=None):
    shape = (*Q.shape[:-1], K.shape[-2])
    allowed = np.broadcast_to(True if allowed is None else as_boolean("allowed", allowed), shape)
    if empty_rows == "raise":
        _refuse_empty(~allowed.any(-1), "no allowed key")
    return allowed
