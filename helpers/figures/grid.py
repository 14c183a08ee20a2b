"""What a picture is made from, checked once: numbers, blocked cells, names of rows and columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from . import palette
from .words import count, number, shown


@dataclass(frozen=True)
class Grid:
    """Checked numbers with the names of their rows and columns.

    Attributes
    ----------
    values : ndarray of float64, shape (n_rows, n_columns)
        A copy; blocked cells hold 0.
    blocked : ndarray of bool, same shape
    rows, columns : tuple of str or None
        Tokens as they are drawn, or None where positions are all there is.
    nouns : (str, str)
        What a row and a column is: ``("query", "key")``.
    axes : (str, str)
        Names of the axes as they stand in the picture.
    exact : float
        How far from 1 a row sum may be through rounding alone.
    leaks : int
        How many blocked cells came with a number other than 0.
    """

    values: np.ndarray
    blocked: np.ndarray
    rows: tuple[str, ...] | None
    columns: tuple[str, ...] | None
    nouns: tuple[str, str] = ("query", "key")
    axes: tuple[str, str] = (palette.QUERY_AXIS, palette.KEY_AXIS)
    exact: float = 1e-6
    leaks: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_columns)."""
        return self.values.shape

    @cached_property
    def empty(self) -> np.ndarray:
        """Which rows have every cell blocked, (n_rows,)."""
        return self.blocked.all(axis=1)

    @cached_property
    def sums(self) -> np.ndarray:
        """Sum of every row over the cells that are drawn, (n_rows,)."""
        return self.values.sum(axis=1)

    @cached_property
    def whole(self) -> np.ndarray:
        """Which rows sum to 1 within rounding, (n_rows,)."""
        return np.abs(self.sums - 1) <= self.exact

    def label(self, axis: int, position: int) -> str:
        """What is drawn at a row (axis 0) or column (axis 1): its token, or its number."""
        tokens = (self.rows, self.columns)[axis]
        return tokens[position] if tokens else str(position)

    def name(self, axis: int, position: int) -> str:
        """A row or column in a sentence: ``query 1 (sat)``."""
        tokens = (self.rows, self.columns)[axis]
        if not tokens:
            return f"{self.nouns[axis]} {position}"
        token = tokens[position]
        # A blank that begins or ends a token is part of it: quotes show it.
        token = token if token and token == token.strip() else f'"{token}"'
        return f"{self.nouns[axis]} {position} ({token})"

    def sum_text(self, row: int) -> str:
        """Sum of a row as it stands beside the picture."""
        if self.empty[row]:
            return palette.EMPTY
        if self.whole[row]:
            return "1"
        total = float(self.sums[row])
        for digits in (2, 3, 4, 5, 6):
            if float(f"{total:.{digits}f}") != 1:
                return number(total, digits)
        return f"{total:.7g}"


def _as_array(values: Any, name: str) -> np.ndarray:
    """Any array-like of numbers, also one of another library's, as NumPy."""
    if hasattr(values, "detach"):
        values = values.detach().cpu()
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array: pass its data, and which cells may be read as allowed=")
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "biuf":  # bfloat16 and the like have kinds of their own
            array = array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must be an array of numbers, got {type(values).__name__}: {error}"
        ) from None
    return array


def _two_axes(array: np.ndarray, name: str, shape: str) -> np.ndarray:
    if array.ndim != 2:
        fix = {1: f"for one row pass {name}[np.newaxis, :]"}.get(
            array.ndim, f"pass one of its matrices, as {name}[0]" if array.ndim > 2 else "pass a matrix"
        )
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}: {fix}")
    if 0 in array.shape:
        raise ValueError(
            f"{name} must have at least one row and one column, got shape {array.shape}: nothing to draw"
        )
    return array


def booleans(allowed: Any, name: str = "allowed") -> np.ndarray:
    """A pattern as booleans, (n_q, n_k); 0/1 integers are read, other numbers refused."""
    array = _as_array(allowed, name)
    if array.dtype.kind in "iu" and np.isin(array, (0, 1)).all():
        array = array.astype(bool)
    if array.dtype != bool:
        raise ValueError(
            f"{name} must be boolean, True = may attend, got {array.dtype}: pass {name} == 0 or the like"
        )
    return _two_axes(array, name, "(n_q, n_k)")


def _tokens(tokens: Sequence[object] | None, n: int, name: str, what: str) -> tuple[str, ...] | None:
    if tokens is None:
        return None
    if len(tokens) != n:
        raise ValueError(f"{name} has {len(tokens)} labels for {count(n, what)}: pass one for each position")
    return tuple(shown(token) for token in tokens)


def both_labels(
    shape, tokens, query_tokens, key_tokens
) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
    """Labels of queries and keys from `tokens` for both, or from one list for each."""
    if tokens is not None:
        if query_tokens is not None or key_tokens is not None:
            raise ValueError(
                "tokens stands for both sides: pass tokens, or query_tokens and key_tokens, not all"
            )
        if shape[0] != shape[1]:
            raise ValueError(
                f"tokens labels both sides, but there are {count(shape[0], 'query')} and "
                f"{count(shape[1], 'key')}: pass query_tokens and key_tokens"
            )
        query_tokens = key_tokens = tokens
    return (
        _tokens(query_tokens, shape[0], "tokens" if tokens is not None else "query_tokens", "query"),
        _tokens(key_tokens, shape[1], "tokens" if tokens is not None else "key_tokens", "key"),
    )


def _blocked(allowed: Any, shape: tuple[int, int]) -> np.ndarray:
    """Which cells are blocked; one row of keys, as `patterns.keys` gives it, stands for every query."""
    if allowed is None:
        return np.zeros(shape, dtype=bool)
    array = booleans(allowed)
    if array.shape not in (shape, (1, shape[1])):
        raise ValueError(f"allowed must have the shape of what is drawn, {shape}, got {array.shape}")
    return ~np.broadcast_to(array, shape)


def weights_grid(A, allowed=None, *, tokens=None, query_tokens=None, key_tokens=None) -> Grid:
    """Check attention weights for drawing.

    Raises
    ------
    ValueError
        If `A` is not a matrix, an allowed weight is not a number from 0 to 1, or labels or `allowed`
        do not fit.
    """
    array = _two_axes(_as_array(A, "A"), "A", "(n_q, n_k)")
    # Row sums of half precision are off by more than those of float64: the type says by how much.
    rounding = float(np.finfo(array.dtype).eps) if array.dtype.kind == "f" else 0.0
    exact = max(1e-6, 2 * array.shape[1] * rounding)
    values = array.astype(np.float64)
    blocked = _blocked(allowed, values.shape)
    wrong = ~blocked & ~((values >= -exact) & (values <= 1 + exact))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise ValueError(
            f"A[{i}, {j}] is {values[i, j]:.6g}, but a weight is a number from 0 to 1: "
            "draw other numbers with matrix or plot_scores, or pass allowed= if the cell is blocked"
        )
    leaks = int((blocked & (values != 0)).sum())
    values[blocked] = 0
    rows, columns = both_labels(values.shape, tokens, query_tokens, key_tokens)
    return Grid(values, blocked, rows, columns, exact=exact, leaks=leaks)


def numbers_grid(
    M, allowed=None, *, rows=None, columns=None, nouns=("row", "column"), axes=("row", "column")
) -> Grid:
    """Check any matrix for drawing: -inf counts as blocked, nan and inf are kept.

    Raises
    ------
    ValueError
        If `M` is not a matrix, or labels or `allowed` do not fit.
    """
    values = _two_axes(_as_array(M, "M"), "M", "(n_rows, n_columns)").astype(np.float64)
    blocked = _blocked(allowed, values.shape) | np.isneginf(values)
    values[blocked] = 0
    return Grid(
        values,
        blocked,
        _tokens(rows, values.shape[0], f"labels of {nouns[0]}", nouns[0]),
        _tokens(columns, values.shape[1], f"labels of {nouns[1]}", nouns[1]),
        nouns=nouns,
        axes=axes,
    )


def check_limits(limits: tuple[float, float] | None, *, stretch: bool = True) -> tuple[float, float] | None:
    """A scale as given; below zero it is stretched so that zero keeps its colour in the middle.

    Raises
    ------
    ValueError
        If the limits are not two finite numbers, the lower one first.
    """
    if limits is None:
        return None
    low, high = (float(limit) for limit in limits)
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(f"limits must be two finite numbers, the lower one first, got {limits}")
    largest = max(-low, high)
    return (-largest, largest) if low < 0 and stretch else (low, high)


def scores_grid(S, allowed=None, *, tokens=None, query_tokens=None, key_tokens=None) -> Grid:
    """Check scores, (n_q, n_k), for drawing."""
    shape = np.shape(S)
    if len(shape) == 2 and 0 not in shape:
        query_tokens, key_tokens = both_labels(shape, tokens, query_tokens, key_tokens)
    return numbers_grid(
        S,
        allowed,
        rows=query_tokens,
        columns=key_tokens,
        nouns=("query", "key"),
        axes=(palette.QUERY_AXIS, palette.KEY_AXIS),
    )


def pattern_grid(allowed, *, tokens=None, query_tokens=None, key_tokens=None) -> Grid:
    """Check a pattern of who may read whom, (n_q, n_k); its values are 1 where a cell is allowed."""
    array = booleans(allowed)
    rows, columns = both_labels(array.shape, tokens, query_tokens, key_tokens)
    return Grid(array.astype(np.float64), ~array, rows, columns)


def bar_values(labels, series) -> tuple[list[str], dict[str, list[float | None]]]:
    """Check labels and numbers of bars.

    Raises
    ------
    ValueError
        If there is nothing to draw, or a series has not one number for each label.
    """
    labels = [shown(label) for label in labels]
    if not labels or not series:
        raise ValueError("bars need at least one label and one series, got none")
    values = {shown(name): [None if v is None else float(v) for v in own] for name, own in series.items()}
    for name, own in values.items():
        if len(own) != len(labels):
            raise ValueError(
                f"{name} has {len(own)} numbers for {len(labels)} labels: pass one for each, or None"
            )
    return labels, values


def bar_limits(values: dict[str, list[float | None]]) -> tuple[float, float]:
    """Ends of a scale for bars: 0 to 1 if everything fits, else what the numbers need, always with zero."""
    finite = [v for own in values.values() for v in own if v is not None and np.isfinite(v)]
    low, high = max(-1e300, min([0.0, *finite])), min(1e300, max([0.0, *finite]))
    return (low, high) if low < 0 < high or high > 1 else (low, 1.0 if low == 0 else 0.0)
