"""What a picture is made from, checked once: numbers, blocked cells, names of rows and columns."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

# Written as escapes, besides control characters: what XML has no place for, breaks a line or turns text round.
_HIDDEN = {0x2028, 0x2029, 0xFFFE, 0xFFFF, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}


def shown(token: object) -> str:
    r"""Text of a token as it is drawn: unchanged, but for characters that nothing can draw.

    Examples
    --------
    >>> shown("$x_1$"), shown("a\nb")
    ('$x_1$', 'a\\nb')
    """
    return "".join(
        c.encode("unicode_escape").decode("ascii")
        if ord(c) in _HIDDEN or unicodedata.category(c) in ("Cc", "Cs")
        else c
        for c in str(token)
    )


def number(value: Any, digits: int = 2) -> str:
    """A number as people write it: whole ones whole, others with `digits` decimals.

    Zero is written ``0``, so that a number which only rounds to zero can be told from it.

    Examples
    --------
    >>> [number(x) for x in (0, 0.004, 0.25, 0.998, 1, -1.5, 12345.6)]
    ['0', '<0.01', '0.25', '1.00', '1', '-1.50', '12346']
    """
    value = float(value)
    if np.isnan(value):
        return "nan"
    if np.isinf(value):
        return "inf" if value > 0 else "-inf"
    size = abs(value)
    if value == round(value) and size < 1e6:
        return str(int(value))
    if size >= 1e6 or size < 1e-6:
        mantissa, exponent = f"{value:.1e}".split("e")
        return f"{mantissa.removesuffix('.0')}e{int(exponent)}"
    if size >= 1000:
        return f"{value:.0f}"
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        smallest = f"{10.0**-digits:.{digits}f}"
        return f"<{smallest}" if value > 0 else f">-{smallest}"
    return text


def count(n: int, noun: str) -> str:
    """``1 query``, ``4 queries``."""
    plural = noun[:-1] + "ies" if noun.endswith("y") and noun != "key" else noun + "s"
    return f"{n} {noun if n == 1 else plural}"


def listed(names: Sequence[str], most: int = 4) -> str:
    """Names in a sentence: ``1``, ``1 and 2``, ``1, 2, 3, 4 and 6 more``."""
    names = list(names)
    if len(names) > most + 1:
        names[most:] = [f"{len(names) - most} more"]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


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
    axes: tuple[str, str] = ("query i (reads)", "key j (is read)")
    exact: float = 1e-6
    leaks: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """(n_rows, n_columns)."""
        return self.values.shape

    @property
    def empty(self) -> np.ndarray:
        """Which rows have every cell blocked, (n_rows,)."""
        return self.blocked.all(axis=1)

    @property
    def sums(self) -> np.ndarray:
        """Sum of every row over the cells that are drawn, (n_rows,)."""
        return self.values.sum(axis=1)

    @property
    def whole(self) -> np.ndarray:
        """Which rows sum to 1 within rounding, (n_rows,)."""
        return np.abs(self.sums - 1) <= self.exact

    def label(self, axis: int, position: int) -> str:
        """What is drawn at a row (axis 0) or column (axis 1): its token, or its number."""
        tokens = (self.rows, self.columns)[axis]
        return tokens[position] if tokens else str(position)

    def labels(self, axis: int) -> list[str]:
        """All of an axis, one for each position."""
        return [self.label(axis, k) for k in range(self.shape[axis])]

    def name(self, axis: int, position: int) -> str:
        """A row or column in a sentence: ``query 1 (sat)``."""
        tokens = (self.rows, self.columns)[axis]
        return f"{self.nouns[axis]} {position}" + (f" ({tokens[position]})" if tokens else "")

    def sum_text(self, row: int) -> str:
        """Sum of a row as it stands beside the picture."""
        if self.empty[row]:
            return "no key"
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
        axes=("query i (reads)", "key j (is read)"),
    )


def pattern_grid(allowed, *, tokens=None, query_tokens=None, key_tokens=None) -> Grid:
    """Check a pattern of who may read whom, (n_q, n_k); its values are 1 where a cell is allowed."""
    array = booleans(allowed)
    rows, columns = both_labels(array.shape, tokens, query_tokens, key_tokens)
    return Grid(array.astype(np.float64), ~array, rows, columns)


def size_text(grid: Grid) -> str:
    """How many rows and columns, as a sentence."""
    return f"{count(grid.shape[0], grid.nouns[0]).capitalize()} by {count(grid.shape[1], grid.nouns[1])}."


def _blocked_text(grid: Grid) -> list[str]:
    sentences = []
    if n := int(grid.blocked.sum()):
        sentences.append(f"{n} of {grid.blocked.size} cells {'is' if n == 1 else 'are'} blocked.")
    if grid.leaks:
        sentences.append(f"{count(grid.leaks, 'blocked cell')} came with a number other than 0.")
    if empty := [str(i) for i in np.flatnonzero(grid.empty)]:
        noun = grid.nouns[0].capitalize() if len(empty) == 1 else count(2, grid.nouns[0])[2:].capitalize()
        sentences.append(f"{noun} {listed(empty)} {'has' if len(empty) == 1 else 'have'} no key to read.")
    return sentences


def _extreme(grid: Grid, best: float, what: str) -> str:
    """Where the largest number stands, in words."""
    where = np.argwhere(~grid.blocked & (grid.values == best))
    i, j = where[0]
    place = f"{grid.name(0, i)}, {grid.name(1, j)}"
    if len(where) == 1:
        return f"The {what}, {number(best)}, is at {place}."
    return f"The {what}, {number(best)}, stands in {len(where)} cells, first at {place}."


def weights_text(grid: Grid) -> str:
    """Sentences that say what a picture of weights shows."""
    drawn = grid.values[~grid.blocked]
    sentences = [size_text(grid)]
    if drawn.size:
        best = float(drawn.max())
        where = np.argwhere(~grid.blocked & (grid.values == best))
        i, j = where[0]
        if np.ptp(drawn) == 0:
            sentences.append(f"Every {'allowed ' if grid.blocked.any() else ''}weight is {number(best)}.")
        elif len(where) == 1:
            reader = grid.name(0, i).capitalize() if not grid.rows else "Query" + grid.name(0, i)[5:]
            sentences.append(f"{reader} gives the most weight of all, {number(best)}, to {grid.name(1, j)}.")
        else:
            sentences.append(_extreme(grid, best, "largest weight"))
    sentences += _blocked_text(grid)
    full = ~grid.empty
    if full.any():
        rows = "Every row" if full.all() else "Every other row"
        off = np.flatnonzero(full & ~grid.whole)
        if off.size == 0:
            sentences.append(f"{rows} sums to 1.")
        elif off.size <= 4:
            sums = [f"row {i} to {grid.sum_text(i)}" for i in off]
            sentences.append(f"Not every row sums to 1: {listed(sums)}.")
        else:
            sums = grid.sums[off]
            sentences.append(
                f"{off.size} of {grid.shape[0]} rows do not sum to 1: "
                f"their sums go from {number(sums.min())} to {number(sums.max())}."
            )
    return " ".join(sentences)


def numbers_text(grid: Grid) -> str:
    """Sentences that say what a picture of any matrix shows."""
    drawn = grid.values[~grid.blocked]
    finite = drawn[np.isfinite(drawn)]
    sentences = [size_text(grid)]
    if grid.values.size <= 6 and not grid.blocked.any():
        parts = [
            f"{grid.name(0, i)}: {', '.join(number(v) for v in row)}" for i, row in enumerate(grid.values)
        ]
        sentences.append("; ".join(parts).capitalize() + "." if not grid.rows else "; ".join(parts) + ".")
    elif finite.size and np.ptp(finite) == 0:
        sentences.append(f"Every number is {number(finite[0])}.")
    elif finite.size:
        sentences.append(_extreme(grid, float(finite.max()), "largest"))
        sentences.append(_extreme(grid, float(finite.min()), "smallest"))
    for name, odd in (("nan (not a number)", np.isnan(drawn)), ("infinite", np.isinf(drawn))):
        if n := int(odd.sum()):
            sentences.append(f"{count(n, 'cell')} {'is' if n == 1 else 'are'} {name}.")
    return " ".join(sentences + _blocked_text(grid))


def pattern_text(grid: Grid) -> str:
    """Sentences that say what a picture of a pattern shows."""
    n = int((~grid.blocked).sum())
    sentences = [size_text(grid), f"{n} of {grid.blocked.size} cells {'is' if n == 1 else 'are'} allowed."]
    per_row = (~grid.blocked).sum(axis=1)
    if np.ptp(per_row) == 0:
        sentences.append(f"Every query may read {count(int(per_row[0]), 'key')}.")
    elif per_row.size <= 8:
        sentences.append(f"Allowed keys of each query, in order: {', '.join(map(str, per_row))}.")
    else:
        sentences.append(f"A query may read from {per_row.min()} to {count(int(per_row.max()), 'key')}.")
    return " ".join(sentences + _blocked_text(grid)[1 if grid.blocked.any() else 0 :])


def bar_values(labels, series) -> tuple[list[str], dict[str, list[float | None]], str]:
    """Check the numbers of bars; also says in words what they show.

    Raises
    ------
    ValueError
        If there is nothing to draw, or a series has not one number for each label.
    """
    labels = [shown(label) for label in labels]
    if not labels or not series:
        raise ValueError("bars need at least one label and one series, got none")
    values = {name: [None if v is None else float(v) for v in given] for name, given in series.items()}
    for name, own in values.items():
        if len(own) != len(labels):
            raise ValueError(
                f"{name} has {len(own)} numbers for {len(labels)} labels: pass one for each, or None"
            )
    written = {name: ["—" if v is None else number(v, 3) for v in own] for name, own in values.items()}
    return labels, values, bars_text(labels, values, written)


def bar_limits(values: dict[str, list[float | None]]) -> tuple[float, float]:
    """Ends of a scale for bars: 0 to 1 if everything fits, else what the numbers need, always with zero."""
    finite = [v for own in values.values() for v in own if v is not None and np.isfinite(v)]
    low, high = min([0.0, *finite]), max([0.0, *finite])
    return (low, high) if low < 0 < high or high > 1 else (low, 1.0 if low == 0 else 0.0)


def bars_text(labels, values, written) -> str:
    """Sentences that say what bars show: every number while they are few, else the largest ones."""
    if len(labels) <= 8:
        return " ".join(
            f"{label}: {', '.join(f'{name} {own[k]}' for name, own in written.items())}."
            for k, label in enumerate(labels)
        )
    sentences = [f"{len(labels)} positions, {listed(list(values))}."]
    for name, own in values.items():
        known = [k for k, v in enumerate(own) if v is not None and np.isfinite(v)]
        if known:
            k = max(known, key=lambda k: own[k])
            sentences.append(f"Largest of {name}: {written[name][k]} at position {k} ({labels[k]}).")
    return " ".join(sentences)
