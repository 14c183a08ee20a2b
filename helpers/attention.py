"""The truth of this course: attention in plain NumPy, to compare answers, pictures and libraries with.

Rows are queries, columns are keys; `allowed` is boolean, True = may attend. For all functions here:

- The result has the widest dtype of the inputs and is computed in it, but never below float32: float16 gives
  float32, integers give float64. (`split_heads` and `merge_heads` only move numbers, and keep their dtype.)
- Inputs are never changed, and no result shares memory with one.
- A blocked weight is exactly 0. What a blocked key or value holds cannot matter, not even NaN.
- What has no right answer is a ValueError: what was expected, what came, what to do. `validate` words them.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import patterns, validate

Floats = NDArray[np.floating]

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
    scores : array_like, shape (..., n_k)
        Finite numbers, or -inf for a blocked score.
    axis : int
        The axis along which the weights sum to 1.

    Returns
    -------
    ndarray, shape of `scores`

    Raises
    ------
    ValueError
        If a score is NaN or +inf, a row holds only -inf, there are no scores, or there is no such axis.

    Examples
    --------
    >>> softmax([2, 1, -np.inf]).round(6)
    array([0.731059, 0.268941, 0.      ])
    """
    (scores,) = validate.floats(scores=scores)
    validate.filled("scores", scores, "(..., n_k)", "give the scores of one query as a list", least=1)
    axis = validate.axis_of(scores, axis)
    validate.usable_scores(scores, axis)
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
        The leading axes (batch, heads) are those of Q.
    allowed : array_like of bool or 0/1, shape (n_q, n_k) or (..., n_q, n_k), optional
        True where query i may read key j; everywhere, if left out. Two axes, or as many as Q. A leading axis
        may be 1, and so may n_q: ``patterns.keys(keep)``, the same for all queries.
    temperature : float
        Above 1 makes the weights more even, below 1 sharper.
    empty_rows : {"raise", "zero"}
        What a query without an allowed key gets: a ValueError that names it, or a row of zeros.

    Returns
    -------
    ndarray, shape (..., n_q, n_k)
        Each row sums to 1, an empty one of "zero" to 0.

    Raises
    ------
    ValueError
        If shapes do not fit; `allowed` is neither boolean nor 0/1; a query has no allowed key; `temperature`
        is not positive and finite; an allowed cell uses NaN or inf, or its score overflows.

    Notes
    -----
    Vaswani et al., "Attention Is All You Need", arXiv 1706.03762, equation 1.

    Examples
    --------
    >>> attention_weights([[1], [2]], [[1], [2]], patterns.causal(2)).round(6)
    array([[1.      , 0.      ],
           [0.119203, 0.880797]])
    """
    Q, K = validate.floats(Q=Q, K=K)
    allowed = validate.allowed_cells(allowed, validate.attention_inputs(Q, K), empty_rows)
    temperature = validate.positive_number("temperature", temperature)
    Q = _used_rows("Q", Q, allowed.any(axis=-1))
    K = _used_rows("K", K, allowed.any(axis=-2))
    d_k = Q.shape[-1]
    with np.errstate(all="ignore"):  # a blocked score may overflow, an allowed one is refused below
        scores = Q @ K.swapaxes(-1, -2) / d_k**0.5  # (n_q, d_k) @ (d_k, n_k) -> (n_q, n_k)
    validate.no_overflow("Q @ K.T", scores, allowed & ~np.isfinite(scores))
    # -inf and not -1e9: a blocked score is below every other then, and its exponential is 0.
    return _softmax(np.where(allowed, scores, -np.inf), temperature=temperature)


def attention(
    Q: ArrayLike,
    K: ArrayLike,
    V: ArrayLike,
    allowed: ArrayLike | None = None,
    *,
    temperature: float = 1.0,
    empty_rows: Literal["raise", "zero"] = "raise",
) -> Floats:
    """Sum the values by their weights: each row of the result is a weighted sum of rows of V.

    Parameters
    ----------
    Q, K, allowed, temperature, empty_rows
        As for `attention_weights`.
    V : array_like, shape (..., n_k, d_v)
        One row per key; d_v need not be d_k.

    Returns
    -------
    ndarray, shape (..., n_q, d_v)

    Raises
    ------
    ValueError
        As `attention_weights`, and where V does not fit or an allowed cell uses NaN or inf in it.

    Examples
    --------
    >>> attention([[1, 0]], [[1, 0], [0, 1]], [[10, 0], [0, 20]]).round(2)
    array([[6.7, 6.6]])
    """
    Q, K, V = validate.floats(Q=Q, K=K, V=V)
    allowed = validate.allowed_cells(allowed, validate.attention_inputs(Q, K, V), empty_rows)
    weights = attention_weights(Q, K, allowed, temperature=temperature, empty_rows=empty_rows)
    V = _used_rows("V", V, allowed.any(axis=-2))
    return _product("weights @ V", weights, V)  # (n_q, n_k) @ (n_k, d_v) -> (n_q, d_v)


def causal_attention(Q: ArrayLike, K: ArrayLike, V: ArrayLike) -> Floats:
    """Let each position attend to itself and to those before it.

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
        As `attention`, and if there are not as many queries as keys.

    Examples
    --------
    >>> causal_attention([[1], [2]], [[1], [2]], [[10], [20]]).round(6)
    array([[10.      ],
           [18.807971]])
    """
    Q, K, V = validate.floats(Q=Q, K=K, V=V)
    *_, n_q, n_k = validate.attention_inputs(Q, K, V)
    if n_q != n_k:
        fix = f'say which ends meet: attention(Q, K, V, patterns.causal({n_q}, {n_k}, align="bottom-right"))'
        raise validate.refusal("causal_attention needs as many queries as keys", f"{n_q} and {n_k}", fix)
    return attention(Q, K, V, patterns.causal(n_q))


def split_heads(X: ArrayLike, n_heads: int) -> NDArray[Any]:
    """Cut the features into one slice per head.

    Parameters
    ----------
    X : array_like, shape (..., T, d_model)
    n_heads : int
        A divisor of d_model.

    Returns
    -------
    ndarray, shape (..., n_heads, T, d_model / n_heads)

    Raises
    ------
    ValueError
        If `n_heads` does not divide d_model, or X has no rows and columns.

    Examples
    --------
    >>> split_heads([[1, 2, 3, 4], [5, 6, 7, 8]], 2)
    array([[[1, 2],
            [5, 6]],
    <BLANKLINE>
           [[3, 4],
            [7, 8]]])
    """
    X = validate.numbers("X", X)
    validate.filled("X", X, "(..., T, d_model)", "give one row per position")
    n_heads = validate.whole_number("n_heads", n_heads)
    *batch, T, d_model = X.shape
    if d_model % n_heads:
        got = f"n_heads={n_heads} and d_model={d_model}"
        raise validate.refusal("n_heads must divide d_model", got, "choose a divisor, or another width")
    # Cut the features, then swap the axes: a reshape straight to (n_heads, T, d_head) would mix positions.
    return X.reshape(*batch, T, n_heads, d_model // n_heads).swapaxes(-3, -2).copy()


def merge_heads(H: ArrayLike) -> NDArray[Any]:
    """Put the heads' features side by side again: the inverse of `split_heads`.

    Parameters
    ----------
    H : array_like, shape (..., n_heads, T, d_head)

    Returns
    -------
    ndarray, shape (..., T, n_heads * d_head)

    Raises
    ------
    ValueError
        If H has fewer than three axes, or nothing in it.

    Examples
    --------
    >>> merge_heads([[[1, 2], [5, 6]], [[3, 4], [7, 8]]])
    array([[1, 2, 3, 4],
           [5, 6, 7, 8]])
    """
    H = validate.numbers("H", H)
    validate.filled("H", H, "(..., n_heads, T, d_head)", "split_heads makes such an array", least=3)
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
    """Attend in `n_heads` subspaces of X, then join the heads and project back.

    Parameters
    ----------
    X : array_like, shape (..., T, d_model)
    W_Q, W_K : array_like, shape (d_model, n_heads * d_k)
    W_V : array_like, shape (d_model, n_heads * d_v)
    W_O : array_like, shape (n_heads * d_v, d_model)
    n_heads : int
    allowed : array_like of bool or 0/1, shape (T, T) or (..., T, T), optional
        As for `attention_weights`. Leading axes are those of X, the batch, never heads: all heads share it.

    Returns
    -------
    ndarray, shape (..., T, d_model)

    Raises
    ------
    ValueError
        As `attention`, and if a projection does not fit or `n_heads` does not divide its width.

    Examples
    --------
    >>> X, same = [[1, 0, 0, 1], [0, 1, 1, 0]], np.eye(4)
    >>> multi_head_attention(X, same, same, same, same, n_heads=2, allowed=patterns.causal(2)).round(3)
    array([[1.  , 0.  , 0.  , 1.  ],
           [0.33, 0.67, 0.67, 0.33]])
    """
    X, W_Q, W_K, W_V, W_O = validate.floats(X=X, W_Q=W_Q, W_K=W_K, W_V=W_V, W_O=W_O)
    validate.filled("X", X, "(..., T, d_model)", "give one row per position")
    allowed = validate.allowed_cells(allowed, (*X.shape[:-1], X.shape[-2]), "raise")
    Q = split_heads(_project("X", X, "W_Q", W_Q), n_heads)  # (..., T, d_model) -> (..., n_heads, T, d_k)
    K = split_heads(_project("X", X, "W_K", W_K), n_heads)
    V = split_heads(_project("X", X, "W_V", W_V), n_heads)
    heads = attention(Q, K, V, allowed[..., None, :, :])  # each divides by sqrt(d_k), its own width
    return _project("heads", merge_heads(heads), "W_O", W_O)


@np.errstate(all="ignore")  # exp(-1000) is 0, and should be
def _softmax(scores: Floats, axis: int = -1, temperature: float = 1.0) -> Floats:
    """exp(scores / temperature), each row divided by its sum; a row of -inf becomes zeros."""
    dtype = scores.dtype
    # A temperature above 1 divides first, one below 1 after the maximum is taken away: neither order can make
    # inf - inf. Both divide in float64, because float32 reads 1e-50 as 0 and 1e50 as inf.
    if temperature > 1:
        scores = scores / np.float64(temperature)
    largest = scores.max(axis, keepdims=True)
    largest[np.isneginf(largest)] = 0  # a row of -inf only, and -inf - -inf is NaN
    # Taking the same from a whole row changes no weight, and now the largest exponential is exp(0) = 1.
    scores = scores - largest
    if temperature < 1:
        scores = scores / np.float64(temperature)
    exps = np.exp(scores)
    total = exps.sum(axis, keepdims=True)  # at least 1, or 0 in a row of -inf
    return (exps / np.maximum(total, 1)).astype(dtype, copy=False)


def _used_rows(name: str, X: Floats, used: NDArray[np.bool_]) -> Floats:
    """X with 0 in the rows that no allowed cell uses: a weight of 0 would not hide them, 0 * NaN is NaN."""
    validate.finite(name, X, used)
    return np.where(used[..., None], X, 0)


def _product(name: str, left: Floats, right: Floats) -> Floats:
    """The matrix product of finite numbers; an overflow is refused by name."""
    with np.errstate(all="ignore"):
        result = left @ right
    validate.no_overflow(name, result, ~np.isfinite(result))
    return result


def _project(name: str, X: Floats, weight_name: str, W: Floats) -> Floats:
    """X @ W, (..., T, d_in) @ (d_in, d_out) -> (..., T, d_out)."""
    if W.ndim != 2 or W.shape[0] != X.shape[-1] or W.size == 0:
        expected = f"{weight_name} must have two axes, and {X.shape[-1]} rows, one per feature of {name}"
        raise validate.refusal(expected, f"shape {W.shape}", "a row of X is multiplied from the left: X @ W")
    validate.finite(name, X)
    validate.finite(weight_name, W)
    return _product(f"{name} @ {weight_name}", X, W)
