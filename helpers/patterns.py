"""Who may read whom: plain boolean arrays, rows are queries, columns are keys, True = may attend.

Combine patterns with ``&``. The converters at the end turn one into what a library wants, which depends
on what True means there and on the axes it expects.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import validate

if TYPE_CHECKING:
    import torch

Pattern = NDArray[np.bool_]
IfEmpty = Literal["raise", "keep"]

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
    n_q = validate.whole_number("n_q", n_q)
    n_k = n_q if n_k is None else validate.whole_number("n_k", n_k)
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
        Which ends meet where the numbers differ. "top-left": query 0 stands at key 0. "bottom-right": the
        last query stands at the last key, as when new queries follow keys kept from before. Libraries differ,
        so there is no default.

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
    n_q = validate.whole_number("n_q", n_q)
    n_k = n_q if n_k is None else validate.whole_number("n_k", n_k)
    if align is not None or n_q != n_k:
        fix = f"of {n_q} queries and {n_k} keys, say whether query 0 stands at key 0 or the last at the last"
        validate.choice("align", align, ("top-left", "bottom-right"), fix)
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
    n, width = validate.whole_number("n", n), validate.whole_number("width", width)
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
    n, length = validate.whole_number("n", n), validate.whole_number("length", length, least=0)
    if length > n:
        raise validate.refusal(f"length must be 0 to n={n}", length, "a prefix is part of the sequence")
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
    ids = validate.array("ids", ids)
    validate.filled("ids", ids, "(..., n)", "give each position the number or name of its document", least=1)
    same = ids[..., :, None] == ids[..., None, :]
    if not same.diagonal(axis1=-2, axis2=-1).all():
        raise validate.refusal("every id must equal itself", "NaN", "give each document a number or a name")
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
    keep = validate.booleans("keep", keep)
    validate.filled("keep", keep, "(..., n_k)", "give one entry per key", least=1)
    return keep[..., None, :].copy()


def to_torch_sdpa(allowed: ArrayLike, *, empty_rows: IfEmpty = "raise") -> torch.Tensor:
    """Convert to `attn_mask` of ``torch.nn.functional.scaled_dot_product_attention``: True = may attend.

    Parameters
    ----------
    allowed : array_like of bool or 0/1, shape (n_q, n_k), (B, n_q, n_k) or (B, H, n_q, n_k)
        H may be 1, and so may n_q: ``patterns.keys(keep)``.
    empty_rows : {"raise", "keep"}
        A query without an allowed key is refused, or left to the library. This one gives zeros.

    Returns
    -------
    torch.Tensor of bool, shape (n_q, n_k), (B, 1, n_q, n_k) or (B, H, n_q, n_k)
        Three axes become four, for a query of shape (B, H, n_q, d_k): beside that, torch would read
        (B, n_q, n_k) as one pattern per head, without a word where B = H. For a query without heads,
        (B, n_q, d_k), write ``[:, 0]`` behind it; torch refuses it otherwise.

    Raises
    ------
    ValueError
        If `allowed` is not such an array, or, by "raise", a query has no key.
    ImportError
        If PyTorch is not installed.
    """
    allowed = _checked(allowed, empty_rows)
    return _torch().from_numpy(allowed if allowed.ndim == 2 else _with_head_axis(allowed))


def to_torch_mha(allowed: ArrayLike, n_heads: int, *, empty_rows: IfEmpty = "raise") -> torch.Tensor:
    """Convert to `attn_mask` of ``torch.nn.MultiheadAttention``: True = blocked.

    Parameters
    ----------
    allowed : array_like of bool or 0/1, shape (n_q, n_k), (B, n_q, n_k) or (B, H, n_q, n_k)
        H may be 1. The module does not repeat a row for all queries: write ``full(n_q, n_k) & keys(keep)``.
    n_heads : int
        `num_heads` of the module.
    empty_rows : {"raise", "keep"}
        A query without an allowed key is refused, or left to the library. This one gives NaN with
        ``need_weights=True``, its default, and zeros (before the output projection) without.

    Returns
    -------
    torch.Tensor of bool, shape (n_q, n_k) or (B * n_heads, n_q, n_k)
        All heads of batch item 0 come first, then all of item 1.

    Raises
    ------
    ValueError
        If `allowed` is not such an array, H is neither 1 nor `n_heads`, or, by "raise", a query has no key.
    ImportError
        If PyTorch is not installed.
    """
    allowed, n_heads = _checked(allowed, empty_rows), validate.whole_number("n_heads", n_heads)
    blocked = ~allowed
    if blocked.ndim > 2:
        blocked = _with_head_axis(blocked)
        batch, heads, n_q, n_k = blocked.shape
        if heads not in (1, n_heads):
            fix = "give one pattern per head, or one for all"
            raise validate.refusal(f"allowed must have 1 or n_heads={n_heads} heads", heads, fix)
        blocked = np.broadcast_to(blocked, (batch, n_heads, n_q, n_k)).reshape(batch * n_heads, n_q, n_k)
    return _torch().from_numpy(blocked.copy())


def to_jax(allowed: ArrayLike, *, empty_rows: IfEmpty = "raise") -> Pattern:
    """Convert to `mask` of ``jax.nn.dot_product_attention``: True = may attend.

    Parameters
    ----------
    allowed : array_like of bool or 0/1, shape (n_q, n_k), (B, n_q, n_k) or (B, H, n_q, n_k)
        H may be 1, and so may n_q: ``patterns.keys(keep)``.
    empty_rows : {"raise", "keep"}
        A query without an allowed key is refused, or left to the library. This one spreads its weight evenly
        over the blocked keys.

    Returns
    -------
    ndarray of bool, shape (1, 1, n_q, n_k), (B, 1, n_q, n_k) or (B, H, n_q, n_k)
        Heads before positions, although the query there is (B, n_q, H, d_k), heads after.

    Raises
    ------
    ValueError
        If `allowed` is not such an array, or, by "raise", a query has no key.

    Examples
    --------
    >>> to_jax(causal(3)).shape
    (1, 1, 3, 3)
    >>> to_jax(causal(3) & keys([[1, 1, 1], [1, 1, 0]])).shape
    (2, 1, 3, 3)
    """
    return _with_head_axis(_checked(allowed, empty_rows))


def to_keras(allowed: ArrayLike, *, empty_rows: IfEmpty = "raise") -> Pattern:
    """Convert to `attention_mask` of ``keras.layers.MultiHeadAttention``: True = may attend.

    Parameters
    ----------
    allowed : array_like of bool or 0/1, shape (n_q, n_k), (B, n_q, n_k) or (B, H, n_q, n_k)
        H may be 1, and so may n_q: ``patterns.keys(keep)``.
    empty_rows : {"raise", "keep"}
        A query without an allowed key is refused, or left to the library. This one, on JAX, spreads its
        weight evenly over the blocked keys, or gives zeros with ``return_attention_scores=True``.

    Returns
    -------
    ndarray of bool, shape (1, n_q, n_k), (B, n_q, n_k) or (B, H, n_q, n_k)
        The layer puts in the head axis itself where there are three.

    Raises
    ------
    ValueError
        If `allowed` is not such an array, or, by "raise", a query has no key.

    Examples
    --------
    >>> to_keras(causal(3)).shape
    (1, 3, 3)
    """
    allowed = _checked(allowed, empty_rows)
    return allowed[None] if allowed.ndim == 2 else allowed


def _checked(allowed: ArrayLike, empty_rows: str) -> Pattern:
    """Read what a converter was given, and copy it."""
    validate.choice("empty_rows", empty_rows, ("raise", "keep"))
    allowed = validate.booleans("allowed", allowed)
    if allowed.ndim not in (2, 3, 4) or allowed.size == 0:
        fix = "make it with patterns; of padding alone patterns.keys(keep)"
        expected = "allowed must have shape (n_q, n_k), (B, n_q, n_k) or (B, H, n_q, n_k)"
        raise validate.refusal(expected, f"shape {allowed.shape}", fix)
    if empty_rows == "raise":
        fix = "libraries give zeros, NaN or an even spread there, so allow one"
        validate.no_empty_rows(allowed, f'{fix}, or leave it to the library by empty_rows="keep"')
    return np.array(allowed, order="C")


def _with_head_axis(allowed: Pattern) -> Pattern:
    """(n_q, n_k) -> (1, 1, n_q, n_k) and (B, n_q, n_k) -> (B, 1, n_q, n_k): one pattern for all heads."""
    if allowed.ndim == 2:
        return allowed[None, None]
    return allowed[:, None] if allowed.ndim == 3 else allowed


def _torch() -> ModuleType:
    """Import PyTorch, which a learner may lack, only when it is asked for."""
    try:
        return import_module("torch")
    except ImportError as error:
        raise ImportError(
            "this makes a torch tensor, but PyTorch is not installed: pip install torch"
        ) from error
