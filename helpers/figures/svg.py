"""Pictures for cards and live figures: arrays in, SVG text out, no matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from . import grid as _grid
from . import palette, words
from .draw import elided, label, lines, svg, text, text_width
from .frame import CELLS_UP_TO, NUMBERS_UP_TO, Frame, note, scale, swatch
from .grid import Grid
from .picture import Picture, tag
from .tables import FEW_BARS, bar_table, grid_table, html_table, number_table
from .words import listed, number, shown

_LYING_UP_TO = 24  # labels; more bars of one series stand upright, without a text each


def _written(grid: Grid, digits: int = 2) -> list[list[str]] | None:
    """Numbers for the cells, where there is room for them."""
    if max(grid.shape) > NUMBERS_UP_TO:
        return None
    return [
        ["" if grid.blocked[i, j] else number(value, digits) for j, value in enumerate(row)]
        for i, row in enumerate(grid.values)
    ]


def weights(A, allowed=None, *, tokens=None, query_tokens=None, key_tokens=None) -> Picture:
    """Attention weights as a heatmap on the fixed scale 0 to 1.

    Parameters
    ----------
    A : array-like, shape (n_q, n_k)
        Weights; what blocked cells hold is not drawn.
    allowed : array-like of bool, shape (n_q, n_k) or (1, n_k), optional
        True = may attend. Blocked cells are hatched.
    tokens : sequence of str, optional
        Labels of queries and keys alike; `query_tokens` and `key_tokens` label each side by itself.

    Returns
    -------
    Picture

    Raises
    ------
    ValueError
        If an allowed weight is not a number from 0 to 1, or shapes or labels do not fit.

    Examples
    --------
    >>> weights([[0.25, 0.75]]).text
    '1 query by 2 keys. Query 0 gives the most weight of all, 0.75, to key 1. Every row sums to 1.'
    """
    grid = _grid.weights_grid(A, allowed, tokens=tokens, query_tokens=query_tokens, key_tokens=key_tokens)
    sums = [grid.sum_text(i) for i in range(grid.shape[0])]
    frame = Frame(grid, _written(grid), ("sum", sums), ~grid.whole)
    parts = frame.heat((0.0, 1.0)) + frame.around()
    items = [scale((0.0, 1.0), "weight")]
    if grid.blocked.any():
        items.append(swatch(palette.BLOCKED, hatched=True))
    if len(frame.ticks[0]) < grid.shape[0]:
        items.append(note(words.sums_text(grid)))
    parts += frame.legend(items)
    alt = words.weights_text(grid)
    drawn = svg(parts, frame.width, frame.height, alt)
    return Picture(drawn, lambda: number_table(grid, 3, ("sum", sums)), alt, folded=True)


def _numbers(grid: Grid, limits: tuple[float, float] | None, digits: int, name: str) -> Picture:
    limits = _grid.check_limits(limits) or palette.limits_for(grid.values[~grid.blocked])
    side = [palette.EMPTY if empty else "" for empty in grid.empty] if grid.empty.any() else None
    frame = Frame(grid, _written(grid, digits), ("", side) if side else None, grid.empty)
    unknown = np.isnan(grid.values)
    items = [scale(limits, name)]
    if grid.blocked.any():
        items.append(swatch(palette.BLOCKED, hatched=True))
    if unknown.any():
        items.append(swatch("nan"))
    parts = frame.heat(limits, unknown) + frame.around() + frame.legend(items)
    alt = words.numbers_text(grid)
    drawn = svg(parts, frame.width, frame.height, alt)
    return Picture(drawn, lambda: number_table(grid, max(3, digits)), alt, folded=True)


def scores(
    S, allowed=None, *, tokens=None, query_tokens=None, key_tokens=None, limits=None, digits=2
) -> Picture:
    """Scores as a heatmap on their own scale, which the picture shows; -inf counts as blocked.

    Parameters
    ----------
    S : array-like, shape (n_q, n_k)
    allowed, tokens, query_tokens, key_tokens
        As for `weights`.
    limits : (low, high), optional
        The scale, for pictures that are compared; chosen from the numbers if not given.
    digits : int
        Decimals in the cells.

    Returns
    -------
    Picture

    Raises
    ------
    ValueError
        If shapes or labels do not fit.

    Examples
    --------
    >>> scores([[1, float("-inf")], [2, 4]]).text.split(". ")[-1]
    '1 of 4 cells is blocked.'
    """
    grid = _grid.scores_grid(S, allowed, tokens=tokens, query_tokens=query_tokens, key_tokens=key_tokens)
    return _numbers(grid, limits, digits, "score")


def matrix(M, *, rows=None, columns=None, axes=("row i", "column j"), limits=None, digits=2) -> Picture:
    """Any matrix as a grid of numbers on its own scale.

    Parameters
    ----------
    M : array-like, shape (n_rows, n_columns)
        -inf counts as blocked; nan is written out.
    rows, columns : sequence of str, optional
        Labels, one for each.
    axes : (str, str)
        What a row and a column is: ``("position i", "feature")``.
    limits : (low, high), optional
        The scale; chosen from the numbers if not given.
    digits : int
        Decimals in the cells.

    Returns
    -------
    Picture

    Raises
    ------
    ValueError
        If `M` is not a matrix or labels do not fit.

    Examples
    --------
    >>> matrix([[10, 0], [0, 20]]).text
    '2 rows by 2 columns. Row 0: 10, 0; row 1: 0, 20.'
    """
    nouns = tuple(axis.split()[0] for axis in axes)
    return _numbers(
        _grid.numbers_grid(M, rows=rows, columns=columns, nouns=nouns, axes=axes), limits, digits, "value"
    )


def pattern(
    allowed, other=None, *, tokens=None, query_tokens=None, key_tokens=None, names=("run", "you")
) -> Picture:
    """Who may read whom; with `other`, where two patterns agree and where they part.

    Parameters
    ----------
    allowed : array-like of bool, shape (n_q, n_k)
        True = may attend.
    other : array-like of bool, same shape, optional
        A pattern to compare with: the learner's.
    tokens, query_tokens, key_tokens
        As for `weights`.
    names : (str, str)
        What `allowed` and `other` are called.

    Returns
    -------
    Picture

    Raises
    ------
    ValueError
        If a pattern is not boolean, or shapes or labels do not fit.

    Examples
    --------
    >>> pattern([[1, 0], [1, 1]], [[1, 1], [1, 1]]).text
    '2 queries by 2 keys. run and you agree in 3 of 4 cells. Allowed by you only: query 0, key 1.'
    """
    grid = _grid.pattern_grid(allowed, tokens=tokens, query_tokens=query_tokens, key_tokens=key_tokens)
    mine = ~grid.blocked
    theirs = mine if other is None else _grid.booleans(other, "other")
    if theirs.shape != mine.shape:
        raise ValueError(f"other must have the shape of allowed, {mine.shape}, got {theirs.shape}")
    kinds = (mine & theirs, mine & ~theirs, theirs & ~mine, ~mine & ~theirs)
    if other is None:
        marks, names_of_kinds = ("", "", "", ""), ("allowed", "", "", palette.BLOCKED)
        alt = words.pattern_text(grid)
    else:
        marks = ("✓", "−", "+", "")
        names_of_kinds = ("both allow", f"{names[0]} only", f"{names[1]} only", "both block")
        alt = words.difference_text(grid, kinds[1], kinds[2], names)
    fills = (palette.ALLOWED, None, palette.series_colour(names[1], 1), None)

    drawn = replace(grid, blocked=kinds[3])
    shades = np.zeros((*mine.shape, 3), np.uint8)
    texts, told = np.full(mine.shape, "", object), np.full(mine.shape, "", object)
    for cells, fill, mark, name in zip(kinds, fills, marks, names_of_kinds, strict=True):
        texts[cells], told[cells] = mark, name
        if fill:
            shades[cells] = palette.rgb(fill)
    side = [palette.EMPTY if empty else "" for empty in grid.empty] if grid.empty.any() else None
    frame = Frame(drawn, side=("", side) if side else None, strong=grid.empty)
    if other is not None and max(grid.shape) <= CELLS_UP_TO:
        frame.texts = texts.tolist()
    items = [
        swatch(name, fill, mark, hatched=k == 3)
        for k, (name, fill, mark) in enumerate(zip(names_of_kinds, fills, marks, strict=True))
        if kinds[k].any()
    ]
    parts = frame.cells(shades, kinds[1]) + frame.around() + frame.legend(items)
    drawn = svg(parts, frame.width, frame.height, alt)
    return Picture(drawn, lambda: grid_table(grid, lambda i, j: told[i, j]), alt, folded=True)


def bars(
    labels: Sequence[object],
    series: Mapping[str, Sequence[float | None]],
    *,
    texts: Mapping[str, Sequence[str]] | None = None,
    limits: tuple[float, float] | None = None,
    digits: int = 3,
) -> Picture:
    """Numbers side by side, yours against the computed ones, with a bar for each.

    Parameters
    ----------
    labels : sequence of str, length n
        One for each position; equal ones stay apart.
    series : mapping of str to sequence of float or None, each of length n
        ``{"you": [0.73, 0.27], "run": [0.670, 0.330]}``; None where there is no answer.
    texts : mapping of str to sequence of str, optional
        What is written for a series instead of its formatted numbers: an answer as it was typed.
    limits : (low, high), optional
        Ends of the scale; 0 to 1 if everything fits, else from the numbers.
    digits : int
        Decimals of formatted numbers.

    Returns
    -------
    Picture

    Raises
    ------
    ValueError
        If there is nothing to draw, or a series has not one number for each label.

    Examples
    --------
    >>> bars(["key 0", "key 1"], {"you": [0.7, None], "run": [0.67, 0.33]}).text
    'key 0: you 0.700, run 0.670. key 1: you —, run 0.330.'
    """
    labels, values = _grid.bar_values(labels, series)
    written = words.written(values, digits)
    for name, own in (texts or {}).items():
        if name not in written or len(own) != len(labels):
            raise ValueError(
                f"texts has {len(own)} for {name!r}: pass {len(labels)}, for one of {listed(list(series))}"
            )
        written[name] = [shown(typed) for typed in own]
    limits = _grid.check_limits(limits, stretch=False) or _grid.bar_limits(values)
    alt = words.bars_text(labels, values, written)
    upright = len(values) == 1 and len(labels) > _LYING_UP_TO
    drawn = (_draw_columns if upright else _draw_bars)(labels, values, written, limits, alt)
    return Picture(drawn, lambda: bar_table(labels, written), alt, folded=len(labels) > FEW_BARS)


def _draw_bars(labels, values, written, limits, alt) -> str:
    low, high = limits
    size, thick = (13, 10) if len(labels) <= 16 else (11, 8)
    # Every bar has its number beside it, so bars lie as far apart as lines of text.
    pitch = size + 2
    block = pitch * len(values) + 10
    left = max(text_width(elided(name), size) for name in labels) + 10
    beside = max(text_width(f"{name} {own}", size) for name in written for own in written[name]) + 10
    span = max(120.0, min(300.0, 460.0 - left - beside))
    zero = left + span * (min(max(0.0, low), high) - low) / (high - low)
    drop = size * 0.36  # from the middle of a line to its baseline
    fills = [palette.series_colour(name, s) for s, name in enumerate(values)]
    parts, drawn, texts = [], [], []
    for k, name in enumerate(labels):
        top = k * block + 4
        parts.append(label(name, 0, top + pitch * len(values) / 2 + drop, "start", size))
        for s, (series, own) in enumerate(values.items()):
            y, end, value = top + s * pitch, zero, own[k]
            if value is not None and isfinite(value):
                end = left + span * (min(max(value, low), high) - low) / (high - low)
                at = f'x="{min(zero, end):.1f}" y="{y + (pitch - thick) / 2:.1f}" width="{abs(end - zero):.1f}"'
                drawn.append(f'<rect {at} height="{thick}" fill="{fills[s]}"></rect>')
            at = f'x="{max(zero, end) + 7:.1f}" y="{y + pitch / 2 + drop:.1f}"'
            texts.append(f"<text {at}>{escape(series)} {escape(written[series][k])}</text>")
    # Written out rather than put together by `tag`: they are most of a live figure's time for a frame.
    parts += [Markup("".join(drawn)), tag("g", Markup("".join(texts)), font_size=size)]
    height = len(labels) * block
    parts.append(lines(f"M{zero:.1f} 0V{height}"))
    return svg(parts, left + span + beside, height, alt)


def _draw_columns(labels, values, written, limits, alt) -> str:
    """One series with many labels: bars that stand in a row, the longest with its number; the table has them all."""
    (name, own), (texts,) = *values.items(), written.values()
    low, high = limits
    pitch = max(6.0, min(20.0, 480 / len(own)))
    ends = [number(low), number(high)]
    left, top, tall = max(text_width(end, 11) for end in ends) + 8, 34.0, 110.0
    heights = [0.0 if v is None or not isfinite(v) else min(max(v, low), high) for v in own]
    zero = top + tall * (high - min(max(0.0, low), high)) / (high - low)
    drawn = []
    for k, value in enumerate(heights):
        y = top + tall * (high - value) / (high - low)
        at = f'x="{left + k * pitch:.1f}" y="{min(y, zero):.1f}" width="{pitch - 1.5:.1f}"'
        drawn.append(f'<rect {at} height="{abs(zero - y):.1f}"></rect>')
    step = next(s for s in (1, 2, 4, 8, 16, 32, 64, 128, len(own)) if s * pitch >= 30 or s >= len(own))
    most = max(range(len(own)), key=lambda k: abs(heights[k]))
    right = left + len(own) * pitch
    said = f"{labels[most]}: {name} {texts[most]}"
    x = min(left + (most + 0.5) * pitch, max(left, right - text_width(said, 11)))
    parts = [
        tag("g", Markup("".join(drawn)), fill=palette.series_colour(name, 0)),
        lines(f"M{left - 2:.1f} {top:g}V{top + tall:g}M{left - 2:.1f} {zero:.1f}H{right:.1f}"),
        text(said, x, top - 8, font_size=11),
        text(ends[1], left - 6, top + 8, font_size=11, text_anchor="end"),
        text(ends[0], left - 6, top + tall, font_size=11, text_anchor="end"),
    ]
    for k in range(0, len(own), step):
        parts.append(
            text(str(k), left + (k + 0.5) * pitch, top + tall + 14, font_size=11, text_anchor="middle")
        )
    return svg(parts, max(right, left + text_width(said, 11)), top + tall + 20, alt)


def table(
    values: Sequence[Sequence[Any]],
    *,
    rows: Sequence[object],
    columns: Sequence[object],
    caption: str = "",
    digits: int = 3,
    text: str | None = None,
) -> Picture:
    """A table by itself, its rows and columns headed.

    Parameters
    ----------
    values : sequence of sequences, n_rows by n_columns
        Numbers are formatted, None is a dash, anything else is written as it is.
    rows, columns : sequence of str
        Headers; a row called ``you`` or ``run`` carries its colour.
    caption : str
        Line above the table.
    digits : int
        Decimals of formatted numbers.
    text : str, optional
        The sentence; made from the table if not given.

    Returns
    -------
    Picture

    Raises
    ------
    ValueError
        If the headers do not fit the values.

    Examples
    --------
    >>> table([[0.5, None]], rows=["you"], columns=["key 0", "key 1"]).text
    'you: key 0 0.500, key 1 —.'
    """

    def write(value: Any) -> str:
        if value is None:
            return "—"
        return shown(value) if isinstance(value, str | bool | np.bool_) else number(value, digits)

    rows, columns = [shown(name) for name in rows], [shown(name) for name in columns]
    written = [[write(value) for value in row] for row in values]
    if len(written) != len(rows) or any(len(row) != len(columns) for row in written):
        raise ValueError(
            f"values must be {len(rows)} rows of {len(columns)}, "
            f"got rows of lengths {[len(row) for row in written]}"
        )
    if text is None:
        text = " ".join(
            f"{name}: {', '.join(f'{column} {value}' for column, value in zip(columns, row, strict=True))}."
            for name, row in zip(rows, written, strict=True)
        )
    return Picture("", html_table(columns, list(zip(rows, written, strict=True)), caption), text)
