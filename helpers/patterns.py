"""Who may read whom: boolean arrays, rows are queries, columns are keys, True = may attend; combine them with ``&``.

The converters at the end turn such an array into what each library wants, because no two mean quite the same
by ``True`` or by the order of the axes.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    import torch

Pattern = NDArray[np.bool_]

__all__ = [
    "causal",
    "documents",
    "full",
    "keys",
    "prefix",
    "to_jax",
    "to_keras",
    "to_torch_mha",
    "to_torch_sdpa",
    "window",
]


def full(n_q: int, n_k: int | None = None) -> Pattern:
    """Let every query read every key.

    Parameters
    ----------
    n_q, n_k : int
        Number of queries and of keys; as many keys as queries where `n_k` is left out.

    Returns
    -------
    ndarray of bool, shape (n_q, n_k)

    Raises
    ------
    ValueError
        If a size is not a whole number of at least 1.

    Examples
    --------
    >>> full(2, 3).astype(int)
    array([[1, 1, 1],
           [1, 1, 1]])
    """
    n_q = whole_number("n_q", n_q)
    n_k = n_q if n_k is None else whole_number("n_k", n_k)
    return np.ones((n_q, n_k), dtype=bool)


def causal(
    n_q: int, n_k: int | None = None, *, align: Literal["top-left", "bottom-right"] | None = None
) -> Pattern:
    """Let every query read its own position and the earlier ones.

    Parameters
    ----------
    n_q, n_k : int
        Number of queries and of keys; as many keys as queries where `n_k` is left out.
    align : {"top-left", "bottom-right"}
        Which ends meet where the numbers differ. "top-left": query 0 stands at key 0. "bottom-right": the last
        query stands at the last key, as when new queries follow keys kept from before. Libraries differ, so
        there is no default.

    Returns
    -------
    ndarray of bool, shape (n_q, n_k)
        With more queries than keys, "bottom-right" leaves the first ``n_q - n_k`` rows without a key.

    Raises
    ------
    ValueError
        If a size is not a whole number of at least 1, or ``n_q != n_k`` and `align` is not given.

    Examples
    --------
    >>> causal(3).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 1]])
    >>> causal(2, 5, align="bottom-right").astype(int)
    array([[1, 1, 1, 1, 0],
           [1, 1, 1, 1, 1]])
    """
    n_q = whole_number("n_q", n_q)
    n_k = n_q if n_k is None else whole_number("n_k", n_k)
    if align not in ("top-left", "bottom-right", None):
        raise ValueError(f'align must be "top-left" or "bottom-right", got {align!r}: write one of the two.')
    if align is None and n_q != n_k:
        raise ValueError(
            f"a causal pattern of {n_q} queries and {n_k} keys has two meanings, and align is not given: "
            'say align="top-left" (query 0 stands at key 0) or align="bottom-right" (the last query stands at the last key).'
        )
    last_key_of_row_0 = n_k - n_q if align == "bottom-right" else 0
    return np.tri(n_q, n_k, last_key_of_row_0, dtype=bool)


def window(n: int, width: int) -> Pattern:
    """Let query i read the `width` keys that end at its own: ``i - width + 1`` to ``i``.

    Parameters
    ----------
    n : int
        Number of positions.
    width : int
        Keys per row, the query's own included.

    Returns
    -------
    ndarray of bool, shape (n, n)

    Raises
    ------
    ValueError
        If `n` or `width` is not a whole number of at least 1.

    Examples
    --------
    >>> window(4, 2).astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]])
    """
    n, width = whole_number("n", n), whole_number("width", width)
    return np.tri(n, dtype=bool) & ~np.tri(n, k=-width, dtype=bool)


def prefix(n: int, length: int) -> Pattern:
    """Let every query read the first `length` keys, and of the rest its own and the earlier ones.

    Parameters
    ----------
    n : int
        Number of positions.
    length : int
        Length of the prefix, 0 to `n`.

    Returns
    -------
    ndarray of bool, shape (n, n)

    Raises
    ------
    ValueError
        If `n` is not a whole number of at least 1, or `length` not one of 0 to `n`.

    Examples
    --------
    >>> prefix(4, 2).astype(int)
    array([[1, 1, 0, 0],
           [1, 1, 0, 0],
           [1, 1, 1, 0],
           [1, 1, 1, 1]])
    """
    n, length = whole_number("n", n), whole_number("length", length, least=0)
    if length > n:
        raise ValueError(f"length must be 0 to n={n}, got {length}: a prefix cannot be longer than the sequence.")
    return np.tri(n, dtype=bool) | (np.arange(n) < length)


def documents(ids: ArrayLike) -> Pattern:
    """Let every query read the keys of its own document; not causal (combine with ``& causal(n)``).

    Parameters
    ----------
    ids : array_like, shape (..., n)
        The document each position belongs to; any values that can be compared.

    Returns
    -------
    ndarray of bool, shape (..., n, n)

    Raises
    ------
    ValueError
        If there is no position, or an id is NaN, which equals not even itself.

    Examples
    --------
    >>> documents([7, 7, 9]).astype(int)
    array([[1, 1, 0],
           [1, 1, 0],
           [0, 0, 1]])
    >>> (documents([7, 7, 9]) & causal(3)).astype(int)
    array([[1, 0, 0],
           [1, 1, 0],
           [0, 0, 1]])
    """
    ids = np.asarray(ids)
    if ids.ndim == 0 or ids.size == 0:
        raise ValueError(f"ids must have shape (..., n) with n >= 1, got {ids.shape}: give one id per position.")
    same = ids[..., :, None] == ids[..., None, :]
    if not same.diagonal(axis1=-2, axis2=-1).all():
        raise ValueError("ids must be values that equal themselves, got NaN: give every document a number or a name.")
    return same


def keys(keep: ArrayLike) -> Pattern:
    """Hide the keys that are padding from every query; padding hides keys, not queries.

    Parameters
    ----------
    keep : array_like of bool or 0/1, shape (..., n_k)
        True for the keys that may be read.

    Returns
    -------
    ndarray of bool, shape (..., 1, n_k)
        The axis of length 1 stands for the queries, so that ``causal(n) & keys(keep)`` has shape (..., n, n).

    Raises
    ------
    ValueError
        If `keep` holds anything but booleans or 0 and 1, or no key.

    Examples
    --------
    >>> (causal(3) & keys([[1, 1, 1], [1, 1, 0]])).astype(int)[1]
    array([[1, 0, 0],
           [1, 1, 0],
           [1, 1, 0]])
    """
    keep = as_boolean("keep", keep)
    if keep.ndim == 0 or keep.size == 0:
        raise ValueError(f"keep must have shape (..., n_k) with n_k >= 1, got {keep.shape}: give one entry per key.")
    return keep[..., None, :].copy()


def to_torch_sdpa(allowed: ArrayLike) -> torch.Tensor:
    """Convert to `attn_mask` of ``torch.nn.functional.scaled_dot_product_attention``, where True = may attend.

    Parameters
    ----------
    allowed : array_like of bool or 0/1, shape (n_q, n_k), (B, n_q, n_k) or (B, H or 1, n_q, n_k)

    Returns
    -------
    torch.Tensor of bool, shape (n_q, n_k) or (B, H or 1, n_q, n_k)
        For a query of shape (B, H, n_q, d_k). The head axis is put in, because torch would read
        (B, n_q, n_k) as one pattern per head, and say nothing where B = H.

    Raises
    ------
    ValueError
        If `allowed` is not such an array, or a query has no key: libraries give zeros, NaN or an even spread there.
    ImportError
        If PyTorch is not installed.
    """
    allowed = _ready(allowed)
    return _torch().from_numpy(_with_head_axis(allowed) if allowed.ndim > 2 else allowed)


def to_torch_mha(allowed: ArrayLike, n_heads: int) -> torch.Tensor:
    """Convert to `attn_mask` of ``torch.nn.MultiheadAttention``, where True = blocked.

    Parameters
    ----------
    allowed : array_like of bool or 0/1, shape (n_q, n_k), (B, n_q, n_k) or (B, H or 1, n_q, n_k)
    n_heads : int
        The module's `num_heads`.

    Returns
    -------
    torch.Tensor of bool, shape (n_q, n_k) or (B * n_heads, n_q, n_k)
        In the second the heads of batch item 0 come first, then those of item 1.

    Raises
    ------
    ValueError
        If `allowed` is not such an array, or a query has no key: libraries give zeros, NaN or an even spread there.
    ImportError
        If PyTorch is not installed.
    """
    allowed, n_heads = _ready(allowed), whole_number("n_heads", n_heads)
    if allowed.ndim > 2:
        batch, heads, n_q, n_k = _with_head_axis(allowed).shape
        if heads not in (1, n_heads):
            raise ValueError(f"allowed has {heads} heads, expected 1 or n_heads={n_heads}: give one pattern per head.")
        allowed = np.broadcast_to(_with_head_axis(allowed), (batch, n_heads, n_q, n_k)).reshape(-1, n_q, n_k)
    return _torch().from_numpy(~allowed)


def to_jax(allowed: ArrayLike) -> Pattern:
    """Convert to `mask` of ``jax.nn.dot_product_attention``, where True = may attend.

    Parameters
    ----------
    allowed : array_like of bool or 0/1, shape (n_q, n_k), (B, n_q, n_k) or (B, H or 1, n_q, n_k)

    Returns
    -------
    ndarray of bool, shape (B or 1, H or 1, n_q, n_k)
        JAX wants these four axes although its query is (B, n_q, H, d_k), heads after positions.

    Raises
    ------
    ValueError
        If `allowed` is not such an array, or a query has no key: libraries give zeros, NaN or an even spread there.

    Examples
    --------
    >>> to_jax(causal(3)).shape
    (1, 1, 3, 3)
    >>> to_jax(causal(3) & keys([[1, 1, 1], [1, 1, 0]])).shape
    (2, 1, 3, 3)
    """
    return _with_head_axis(_ready(allowed))


def to_keras(allowed: ArrayLike) -> Pattern:
    """Convert to `attention_mask` of ``keras.layers.MultiHeadAttention``, where True = may attend.

    Parameters
    ----------
    allowed : array_like of bool or 0/1, shape (n_q, n_k), (B, n_q, n_k) or (B, H or 1, n_q, n_k)

    Returns
    -------
    ndarray of bool, shape (B or 1, n_q, n_k) or (B, H or 1, n_q, n_k)

    Raises
    ------
    ValueError
        If `allowed` is not such an array, or a query has no key: libraries give zeros, NaN or an even spread there.

    Examples
    --------
    >>> to_keras(causal(3)).shape
    (1, 3, 3)
    """
    allowed = _ready(allowed)
    return allowed[None] if allowed.ndim == 2 else allowed


def whole_number(name: str, value: Any, least: int = 1) -> int:
    """Return `value` as an int, or say in a ValueError that `name` must be a whole number of at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or number < least or isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be a whole number, at least {least}, got {value!r}: pass an int.")
    return number


def as_boolean(name: str, values: Any) -> Pattern:
    """Return a boolean array of `values` (booleans, or the integers 0 and 1); anything else is a ValueError."""
    array = np.asarray(values)
    if array.dtype == bool:
        return array
    if array.dtype.kind in "iu" and ((array == 0) | (array == 1)).all():
        return array.astype(bool)
    if array.dtype.kind in "iu":
        got, fix = "other integers", "write allowed == 1, and turn it round with np.logical_not, not with ~ on integers"
    else:
        got = f"dtype {array.dtype}"
        fix = "for a mask that is added (0 and -inf) pass mask == 0, for one of 0.0 and 1.0 pass mask == 1"
    raise ValueError(f"{name} must hold booleans (True = may attend) or the integers 0 and 1, got {got}: {fix}.")


def row_names(empty: Pattern, limit: int = 6) -> str:
    """Name the True places of `empty`, (..., n_q): "row 3", or "rows (0, 3), (1, 3) and 9 more" with batch axes."""
    places = [tuple(place) if len(place) > 1 else place[0] for place in np.argwhere(empty).tolist()]
    more = f" and {len(places) - limit} more" if len(places) > limit else ""
    return ("row " if len(places) == 1 else "rows ") + ", ".join(map(str, places[:limit])) + more


def _ready(allowed: ArrayLike) -> Pattern:
    """Check what a converter was given and return a copy of it."""
    allowed = as_boolean("allowed", allowed)
    if allowed.ndim not in (2, 3, 4) or allowed.size == 0:
        raise ValueError(
            f"allowed must be (n_q, n_k), (B, n_q, n_k) or (B, H, n_q, n_k), got shape {allowed.shape}: "
            "for padding alone pass patterns.keys(keep)."
        )
    empty = ~allowed.any(axis=-1)
    if empty.any():
        raise ValueError(
            f"{row_names(empty)} of allowed has no key, expected at least one in each: libraries return zeros, NaN "
            "or an even spread there. Allow a key, such as the query's own, or drop the row."
        )
    return np.array(allowed, order="C")


def _with_head_axis(allowed: Pattern) -> Pattern:
    """(n_q, n_k) -> (1, 1, n_q, n_k) and (B, n_q, n_k) -> (B, 1, n_q, n_k): the same pattern for every head."""
    return allowed.reshape({2: (1, 1), 3: (-1, 1), 4: allowed.shape[:2]}[allowed.ndim] + allowed.shape[-2:])


def _torch():
    """Import PyTorch only where it is asked for."""
    try:
        import torch
    except ImportError as error:
        raise ImportError("this converter returns a torch tensor, but PyTorch is not installed: pip install torch") from error
    return torch
