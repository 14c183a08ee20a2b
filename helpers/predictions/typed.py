"""Reads what people really type: numbers, rows, grids, shapes and patterns, or says what to type instead."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .numeral import AmbiguousNumber, NotANumber, Typed, Unreadable, plain, read_number, unwrapped

__all__ = [
    "AmbiguousNumber",
    "NotANumber",
    "Typed",
    "Unreadable",
    "canonical",
    "read_cells",
    "read_grid",
    "read_number",
    "read_row",
    "read_shape",
]


def read_row(
    typed: Any,
    n: int,
    labels: Sequence[str] | None = None,
    *,
    integers: bool = False,
    unit: str | None = None,
) -> list[Typed]:
    """
    Read a row of numbers.

    Parameters
    ----------
    typed : str, sequence or array, shape (n,)
        As text: numbers with commas, semicolons, spaces, tabs or line breaks between, in brackets or not.
    n : int
        How many numbers are asked for. It settles what a comma means: "0,67 0,33" is a row of two.
    labels : sequence of str, optional
        What each number is for; used in messages.
    integers, unit
        As in `read_number`.

    Returns
    -------
    list of Typed
        Of length n.

    Raises
    ------
    NotANumber
        If there are not n of them, or one cannot be read; the message names it by its label.

    Examples
    --------
    >>> [number.text for number in read_row("0,67; 0,33", 2)]
    ['0,67', '0,33']
    """
    names = list(labels or (f"number {place}" for place in range(1, n + 1)))

    def read(parts: Iterable[Any]) -> list[Typed]:
        row = []
        for name, part in zip(names, parts, strict=True):
            try:
                row.append(read_number(part, integers=integers, unit=unit))
            except NotANumber as error:
                raise type(error)(f"{name}: {error}") from None
        return row

    text = plain(typed) if isinstance(typed, str) else None
    cuts = _cuts(text, unit) if text is not None else [_items(typed, n)]
    failures = []
    for parts in cuts:
        if len(parts) == n:
            try:
                return read(parts)
            except NotANumber as error:
                failures.append(error)
    if failures:
        raise failures[0]
    got = next((parts for parts in cuts if len(parts) > 1), cuts[0])
    message = f"Expected {_count(n, 'number')} ({_short(', '.join(names))}), got {len(got)}"
    message += (
        f": {_short(', '.join(map(str, got)))}." if got else ": type them with commas or spaces between."
    )
    if text and re.search(r"\d,\d", text):
        message += " Where commas are decimal, put semicolons between the numbers."
    raise NotANumber(message)


def read_grid(
    typed: Any, rows: int, cols: int, *, integers: bool = False, unit: str | None = None
) -> list[list[Typed]]:
    """
    Read a table of numbers.

    Parameters
    ----------
    typed : str, nested sequence or array, shape (rows, cols)
        As text: one row a line, or rows with semicolons between or in brackets of their own.
    rows, cols : int
        What is asked for.
    integers, unit
        As in `read_number`.

    Returns
    -------
    list of list of Typed

    Raises
    ------
    NotANumber
        If the size is another, or a number cannot be read; the message says which.

    Examples
    --------
    >>> [[number.value for number in row] for row in read_grid("1 0; 0.3 0.7", 2, 2)]
    [[1.0, 0.0], [0.3, 0.7]]
    """
    parts = _text_rows(plain(typed), "\n;") if isinstance(typed, str) else _items(typed)
    if len(parts) != rows:
        size = f"{_count(rows, 'row')} of {_count(cols, 'number')}"
        raise NotANumber(f"Expected {size}, got {_count(len(parts), 'row')}: write one row a line.")
    names = [f"column {column}" for column in range(cols)]
    grid = []
    for row, part in enumerate(parts):
        try:
            grid.append(read_row(part, cols, names, integers=integers, unit=unit))
        except NotANumber as error:
            raise type(error)(f"Row {row}: {error}") from None
    return grid


def read_shape(typed: Any) -> tuple[int, ...]:
    """
    Read the shape of an array.

    Parameters
    ----------
    typed : str, int or sequence of int
        As text: sizes with commas, spaces, "x", "×", "*" or "by" between, in brackets or not. () has no axis.

    Returns
    -------
    tuple of int

    Raises
    ------
    Unreadable
        If it is empty, holds names instead of numbers, or a size is not 0, 1, 2, ...

    Examples
    --------
    >>> read_shape("(4, 3)"), read_shape("4 × 3"), read_shape("4"), read_shape("()")
    ((4, 3), (4, 3), (4,), ())
    """
    if not isinstance(typed, str) and typed is not None:
        return tuple(_size(size, typed) for size in _items(typed))
    text = plain(typed or "").lower().replace("**", "^")
    text = re.sub(r"^(?:(?:torch\.)?size|shape|tuple)\s*[=:]?\s*|\s*(?:matrix|array|tensor)$", "", text)
    if not text:
        raise Unreadable("Nothing is typed yet: type the sizes in order, as in (5, 2).")
    text = unwrapped(text)
    if text in ("", "scalar"):
        return ()
    between = r"\s*(?:x|\*|\bby\b|\band\b)\s*"
    if re.search(between, text):
        parts = re.split(between, text)
    else:
        parts = re.split(r"\s*,\s+|\s*;\s*", text)
        if not all(re.fullmatch(r"\d{1,3}(,\d{3})+|[^,\s]+", part) for part in parts):
            parts = re.split(r"[\s,;]+", text.rstrip(",; "))
    return tuple(_size(part, typed) for part in parts)


def read_cells(typed: Any, rows: int, cols: int) -> tuple[tuple[bool, ...], ...]:
    """
    Read a pattern of allowed cells.

    Parameters
    ----------
    typed : str, nested sequence or array, shape (rows, cols)
        1 or True for an allowed cell. As text: rows with "/", semicolons, spaces or line breaks between;
        allowed is 1, x, # or T, and blocked is 0, ".", "-" or F.
    rows, cols : int
        What is asked for.

    Returns
    -------
    tuple of tuple of bool

    Raises
    ------
    Unreadable
        If the size is another, or a cell is neither allowed nor blocked; the message says which.

    Examples
    --------
    >>> read_cells("10/11", 2, 2)
    ((True, False), (True, True))
    """
    parts = _items(typed)
    if isinstance(typed, str):
        parts = _text_rows(unicodedata.normalize("NFKC", typed), "\n;/|")
        words = re.split(r"[\s,]+", parts[0]) if len(parts) == 1 else []
        parts = words if len(words) == rows else parts
    if len(parts) != rows:
        size = f"{_count(rows, 'row')} of {_count(cols, 'cell')}"
        raise Unreadable(f"Expected {size}, got {_count(len(parts), 'row')}: put / between the rows.")
    pattern = []
    for row, part in enumerate(parts):
        cells = _text_cells(part, cols) if isinstance(part, str) else _items(part)
        if len(cells) != cols:
            raise Unreadable(f"Row {row}: expected {_count(cols, 'cell')}, got {len(cells)}.")
        pattern.append(tuple(_cell(cell, f"Row {row}, column {column}") for column, cell in enumerate(cells)))
    return tuple(pattern)


def canonical(read: Any) -> Any:
    """
    Return what goes into the record for what was read.

    Parameters
    ----------
    read : Typed, bool, int, str or None, or sequences of these
        What one of the readers returned.

    Returns
    -------
    str, int, None or lists of these
        Numbers as typed, sizes as they are, cells as 0 and 1. Read again, it gives the same.

    Examples
    --------
    >>> canonical(read_row("0.670 1/3", 2)), canonical(read_cells("10/11", 2, 2))
    (['0.670', '1/3'], [[1, 0], [1, 1]])
    """
    if isinstance(read, Typed):
        return read.text
    if isinstance(read, (list, tuple)):
        return [canonical(item) for item in read]
    return int(read) if isinstance(read, int) else read


_ALLOWED = {"1", "1.", "1.0", "x", "×", "#", "t", "true", "y", "yes", "✓", "✔", "■", "█"}
_BLOCKED = {"0", "0.", "0.0", ".", "-", "−", "–", "_", "·", "f", "false", "n", "no", "□", "░"}


def _cuts(text: str, unit: str | None) -> list[list[str]]:
    """The ways to cut a text into numbers, by the most telling separator first."""
    text = re.sub(r"(?<=[\d)])[ \t]+%", "%", unwrapped(text))
    if unit:
        text = re.sub(r"(?<=\d)[ \t]+(?=(?:[kmgt]i?b?|b|bytes?)\b)", "", text, flags=re.IGNORECASE)
    cuts = [[text]] if text else [[]]
    for separator in (r"[;\n\t|]", r"\s*,\s+|\s+,\s*", r"\s+", ",", r"[,;\s|]+", r"\s*(?:&|\band\b)\s*"):
        parts = [part.strip(" ,;") for part in re.split(separator, text)]
        while parts and not parts[-1]:  # a comma or a line break at the end
            parts.pop()
        cuts.append(parts)
    return cuts


def _text_rows(text: str, separators: str) -> list[str]:
    """A text cut into rows: by brackets of their own, else by the first separator that is there."""
    text = unwrapped(text)
    if text.startswith(("[", "(")) and text.endswith(("]", ")")):
        parts = re.split(r"[\])]\s*[,;]?\s*[\[(]", text[1:-1])
    else:
        parts = text.split(next((sign for sign in separators if sign in text), "\n"))
    return [part for part in (part.strip(" \t\n,;") for part in parts) if part]


def _text_cells(row: str, cols: int) -> list[str]:
    """The cells of a row: words, or the signs of a single word."""
    words = [word for word in re.split(r"[\s,|]+", row.strip("[]() ")) if word]
    return list(words[0]) if len(words) == 1 != cols else words


def _cell(cell: Any, where: str) -> bool:
    word = str(cell).strip(" '\"").lower()
    if word in _ALLOWED:
        return True
    if word in _BLOCKED:
        return False
    raise Unreadable(f"{where}: expected 1 (allowed) or 0 (blocked), got {_shown(cell)}.")


def _size(size: Any, typed: Any) -> int:
    """One size of a shape."""
    if isinstance(size, str):
        if re.search(r"[a-z]", size):
            raise Unreadable(f"{_shown(typed)} holds names: write the sizes as numbers, as in (5, 2).")
        if re.match(r"0\d", size):
            raise Unreadable(f"{_shown(typed)} can be read in two ways: write 1024, without a comma inside.")
        if not re.fullmatch(r"[+-]?\d[\d_',.]*|\d+\^\d+", size):
            raise Unreadable(
                f"{_shown(typed)} is not read as a shape: write the sizes in order, as in (5, 2)."
            )
    try:
        value = read_number(size, integers=True).value
    except NotANumber as error:
        raise Unreadable(f"{_shown(typed)} is not read as a shape: {error}") from None
    if value < 0 or value != int(value):
        raise Unreadable(f"{_shown(typed)} is not a shape: a size is 0, 1, 2 or more, got {_shown(size)}.")
    return int(value)


def _items(typed: Any, n: int | None = None) -> list[Any]:
    """The parts of a list or array, in order; a row of `n` may come as a column, or in a list of its own."""
    if isinstance(typed, (set, frozenset, dict)):
        raise NotANumber(f"Expected numbers in order, got {_shown(typed)}: write them in square brackets.")
    if hasattr(typed, "detach"):  # a torch tensor, perhaps with a gradient or on a device
        typed = typed.detach().cpu()
    if hasattr(typed, "__array__"):
        typed = np.asarray(typed)
        if typed.ndim == 0 or (n is not None and typed.size == n):
            typed = typed.ravel()
    elif typed is None or not isinstance(typed, Iterable):
        return [] if typed is None else [typed]
    parts = list(typed)
    if n is not None and len(parts) == 1 != n and isinstance(parts[0], (list, tuple)):
        return list(parts[0])
    return parts


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _shown(value: Any) -> str:
    return f"“{_short(value)}”" if isinstance(value, str) else _short(repr(value))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:59] + "…"
