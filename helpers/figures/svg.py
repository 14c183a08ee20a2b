"""Pictures for cards and live figures: arrays in, SVG text out, no matplotlib."""

from __future__ import annotations

import base64
import io
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from markupsafe import Markup

from . import grid as _grid
from . import palette
from .grid import Grid, listed, number, shown
from .picture import Picture, join, tag

NUMBERS_UP_TO = 10  # cells hold their numbers up to so many rows and columns
CELLS_UP_TO = 16  # cells are elements up to so many; beyond, one PNG
_TABLE_CELLS = 4096
_LONGEST_LABEL = 26
_FONT = "var(--jp-ui-font-family, system-ui, sans-serif)"


def _width(text: str, size: float = 13) -> float:
    """Width of a text in px, estimated on the safe side: the font is the reader's."""
    width = 0.0
    for c in text:
        if unicodedata.east_asian_width(c) in "WF":
            width += 1.05
        elif unicodedata.combining(c):
            continue
        else:
            width += 0.9 if c in "mwMW@%—" else 0.36 if c in "iljt.,:;'|! " else 0.64
    return width * size


def _elided(label: str) -> str:
    """A label short enough to draw; the whole one stands in its tooltip and in the table."""
    return label if len(label) <= _LONGEST_LABEL else f"{label[:16]}…{label[-8:]}"


def _label(
    text: str, x: float, y: float, anchor: str = "end", size: float = 13, turn: float | None = None
) -> Markup:
    short = _elided(text)
    return tag(
        "text",
        *([short] if short == text else [short, tag("title", text)]),
        x=round(x, 1),
        y=round(y, 1),
        text_anchor=anchor if anchor != "start" else None,
        font_size=size if size != 13 else None,
        transform=f"rotate({turn:g} {x:.1f} {y:.1f})" if turn else None,
        style="white-space:pre",
    )


def _text(text: str, x: float, y: float, **attributes: Any) -> Markup:
    return tag("text", text, x=round(x, 1), y=round(y, 1), **attributes)


def _svg(parts: Sequence[object], width: float, height: float, text: str) -> str:
    width, height = int(np.ceil(width)), int(np.ceil(height))
    return str(
        tag(
            "svg",
            *parts,
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {width} {height}",
            width=width,
            height=height,
            role="img",
            aria_label=text,
            fill="currentColor",
            style=f"display:block;max-width:100%;height:auto;font:13px {_FONT}",
        )
    )


def png(pixels: np.ndarray) -> str:
    """Pixels, (height, width, 3 or 4) of uint8, as a data address."""
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii")


def _hatch(cells: np.ndarray, left: float, top: float, w: float, h: float) -> Markup:
    """Diagonal lines over the marked cells: drawn one by one, since a pattern would need an id."""
    if not cells.any():
        return Markup("")
    rows, columns = cells.shape
    # Lines run at 45 degrees whatever the cells' shape; runs across neighbouring cells become one line.
    step = 8.0 if min(w, h) >= 8 else max(min(w, h), 4.0)
    path = []
    for c in np.arange(step / 2, columns * w + rows * h, step):
        xs = np.concatenate([np.arange(columns + 1) * w, c - np.arange(rows + 1) * h])
        xs = np.unique(xs[(xs >= max(0.0, c - rows * h)) & (xs <= min(columns * w, c))].round(3))
        if xs.size < 2:
            continue
        middle = (xs[:-1] + xs[1:]) / 2
        i = np.clip(((c - middle) // h).astype(int), 0, rows - 1)
        j = np.clip((middle // w).astype(int), 0, columns - 1)
        inside = np.concatenate([[False], cells[i, j], [False]])
        starts, ends = np.flatnonzero(~inside[:-1] & inside[1:]), np.flatnonzero(inside[:-1] & ~inside[1:])
        path += [
            f"M{left + xs[a]:g} {top + c - xs[a]:g}L{left + xs[b]:g} {top + c - xs[b]:g}"
            for a, b in zip(starts, ends, strict=True)
        ]
    return tag("path", d="".join(path), stroke=palette.GREY, stroke_width=1, fill="none")


def _ticks(grid: Grid, axis: int, pitch: float) -> list[int]:
    """Positions that carry a label: all of them if they have tokens or room, else every so many."""
    n = grid.shape[axis]
    if (grid.rows, grid.columns)[axis] or pitch >= 18:
        return list(range(n))
    step = next(s for s in (2, 5, 10, 20, 50, 100, 200, 500, 1000) if s * pitch >= 26)
    return list(range(0, n, step))


class _Frame:
    """Where the cells of a matrix stand, and everything that is drawn round them."""

    def __init__(self, grid: Grid, texts: list[list[str]] | None, side: list[str] | None):
        self.grid, self.side = grid, side
        n = max(grid.shape)
        if texts:
            longest = max(_width(t) for row in texts for t in row)
            self.w, self.h = max(44.0, longest + 12), 36.0
        else:
            tokens = grid.rows or grid.columns
            self.w = self.h = float(max(12 if tokens else 1, min(26, 360 // n)))
        self.small = 13.0 if self.h >= 18 else 10.0
        self.ticks = [_ticks(grid, axis, (self.h, self.w)[axis]) for axis in (0, 1)]
        labels = [[_elided(grid.label(axis, k)) for k in self.ticks[axis]] for axis in (0, 1)]
        widths = [max(_width(label, self.small) for label in labels[axis]) for axis in (0, 1)]
        room = (
            self.w if len(self.ticks[1]) == grid.shape[1] else self.w * (self.ticks[1][1] - self.ticks[1][0])
        )
        flat = widths[1] <= room - 4
        self.turn = None if flat else -90 if self.w < 16 else -50
        rise = self.small if flat else widths[1] * (1 if self.w < 16 else 0.77) + 6
        # The name of the rows stands in the corner, on the line of the columns' labels.
        self.row_name, self.column_name = f"{grid.axes[0]} ↓", f"{grid.axes[1]} →"
        self.left = max(widths[0], _width(self.row_name, 12)) + 8
        self.top = 18 + rise + 6
        self.right, self.bottom = self.left + grid.shape[1] * self.w, self.top + grid.shape[0] * self.h
        beside = max((_width(t, 12) for t in side or []), default=0.0)
        overhang = 0.0 if self.turn != -50 else widths[1] * 0.64 - self.w / 2
        self.width = max(self.right + max(beside + 12, overhang, 1), self.left + _width(self.column_name, 12))
        self.height = self.bottom + 2

    def around(self) -> list[Markup]:
        """Names of the axes, labels, what stands beside each row, and the line round the cells."""
        grid = self.grid
        parts = [
            _text(self.column_name, self.left, 12, font_size=12),
            _text(self.row_name, self.left - 8, self.top - 7, font_size=12, text_anchor="end"),
        ]
        for j in self.ticks[1]:
            x = self.left + (j + 0.5) * self.w
            if self.turn:
                x += self.small * 0.36
                parts.append(_label(grid.label(1, j), x, self.top - 6, "start", self.small, self.turn))
            else:
                parts.append(_label(grid.label(1, j), x, self.top - 7, "middle", self.small))
        for i in self.ticks[0]:
            y = self.top + (i + 0.5) * self.h + self.small * 0.36
            parts.append(_label(grid.label(0, i), self.left - 8, y, "end", self.small))
        if self.side and self.h >= 12:
            for i, text in enumerate(self.side[1:]):
                y = self.top + (i + 0.5) * self.h + 4
                parts.append(_text(text, self.right + 9, y, font_size=min(12, self.small + 1)))
            parts.append(_text(self.side[0], self.right + 9, self.top - 7, font_size=12))
        parts.append(
            tag(
                "rect",
                x=self.left - 0.5,
                y=self.top - 0.5,
                width=self.right - self.left + 1,
                height=self.bottom - self.top + 1,
                fill="none",
                stroke=palette.GREY,
            )
        )
        return parts

    def cells(self, shades: np.ndarray, texts: list[list[str]] | None) -> list[Markup]:
        """The cells: an element each while they are few, else one small PNG scaled without smoothing."""
        grid = self.grid
        hatch = _hatch(grid.blocked, self.left, self.top, self.w, self.h)
        if max(grid.shape) > CELLS_UP_TO:
            alpha = np.where(grid.blocked, 0, 255).astype(np.uint8)
            image = tag(
                "image",
                href=png(np.dstack([shades, alpha])),
                x=self.left,
                y=self.top,
                width=self.right - self.left,
                height=self.bottom - self.top,
                preserveAspectRatio="none",
                style="image-rendering:pixelated",
            )
            return [image, hatch]
        parts, numbers = [], []
        for i, j in np.argwhere(~grid.blocked):
            x, y = self.left + j * self.w, self.top + i * self.h
            fill = "#{:02x}{:02x}{:02x}".format(*shades[i, j])
            parts.append(tag("rect", x=x, y=y, width=self.w, height=self.h, fill=fill))
            if texts:
                numbers.append(
                    _text(texts[i][j], x + self.w / 2, y + self.h / 2 + 4.5, fill=palette.ink_on(fill))
                )
        lines = "".join(
            [f"M{self.left + j * self.w:g} {self.top:g}V{self.bottom:g}" for j in range(1, grid.shape[1])]
            + [f"M{self.left:g} {self.top + i * self.h:g}H{self.right:g}" for i in range(1, grid.shape[0])]
        )
        parts.append(hatch)
        if lines:
            parts.append(
                tag("path", d=lines, stroke=palette.GREY, stroke_opacity=0.45, stroke_width=1, fill="none")
            )
        # Else a forced-colours theme paints the numbers in its own ink, but not the cells behind them.
        parts.append(tag("g", *numbers, text_anchor="middle", style="forced-color-adjust:none"))
        return parts

    def legend(self, items: Sequence[tuple[Markup, float]]) -> list[Markup]:
        """Items of known width in lines below the cells; makes room for them."""
        parts, x, y = [], 0.0, self.bottom + 14
        limit = max(self.width, 300.0)
        for item, width in items:
            if x and x + width > limit:
                x, y = 0.0, y + 22
            parts.append(tag("g", item, transform=f"translate({x:g} {y:g})"))
            x += width + 18
            self.width = max(self.width, x - 18)
        self.height = y + 18
        return parts


def _scale_item(limits: tuple[float, float], what: str) -> tuple[Markup, float]:
    """The colour scale with its ends, as a legend item."""
    low, high = (number(v) for v in limits)
    ramp = palette.colours(np.linspace(*limits, 128), limits)[np.newaxis]
    x = _width(f"{what} {low}", 12) + 8
    parts = [
        _text(f"{what} {low}", 0, 11, font_size=12),
        tag("image", href=png(ramp), x=x, y=1, width=90, height=12, preserveAspectRatio="none"),
        tag("rect", x=x, y=1, width=90, height=12, fill="none", stroke=palette.GREY),
        _text(high, x + 96, 11, font_size=12),
    ]
    return join(parts), x + 98 + _width(high, 12)


def _swatch(name: str, drawn: Sequence[Markup]) -> tuple[Markup, float]:
    """A small cell with its name, as a legend item."""
    border = tag("rect", x=0.5, y=0.5, width=17, height=13, fill="none", stroke=palette.GREY)
    return join([*drawn, border, _text(name, 24, 11, font_size=12)]), 24 + _width(name, 12)


def _blocked_item() -> tuple[Markup, float]:
    return _swatch(palette.BLOCKED, [_hatch(np.array([[True]]), 0.5, 0.5, 17, 13)])


def _th(text: str, scope: str, colour: str | None = None) -> Markup:
    align = "left" if scope == "row" else "right"
    mark = f";border-left:4px solid {colour}" if colour else ""
    return tag(
        "th", text, scope=scope, style=f"text-align:{align};padding:2px 12px 2px 8px;font-weight:600{mark}"
    )


def _table(
    columns: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], corner: str = "", *, caption=""
) -> str:
    """A real table: the first row and the first cell of every row are headers."""
    head = tag(
        "tr", tag("td", corner) if not corner else _th(corner, "col"), *[_th(c, "col") for c in columns]
    )
    cell = "text-align:right;padding:2px 12px 2px 8px"
    body = [
        tag("tr", _th(name, "row", palette.SERIES.get(name)), *[tag("td", v, style=cell) for v in values])
        for name, values in rows
    ]
    table = tag(
        "table",
        tag("caption", caption, style="text-align:left;padding:2px 8px") if caption else "",
        tag("thead", head),
        tag("tbody", *body),
        style="border-collapse:collapse;font-variant-numeric:tabular-nums;margin:4px 0",
    )
    if len(columns) <= 8:
        return str(table)
    # Wider than a narrow page: it scrolls by itself, and by keyboard too.
    return str(
        tag(
            "div",
            table,
            style="overflow-x:auto",
            tabindex=0,
            role="region",
            aria_label=caption or "numbers as a table",
        )
    )


def _header(grid: Grid, axis: int, position: int) -> str:
    tokens = (grid.rows, grid.columns)[axis]
    return f"{grid.nouns[axis]} {position}" + (f" · {tokens[position]}" if tokens else "")


def _grid_table(grid: Grid, write, side: tuple[str, list[str]] | None = None) -> str:
    """The numbers of a grid as a table; of a very large one, the largest of every row."""
    rows, columns = grid.shape
    if rows * columns > _TABLE_CELLS:
        best = np.where(grid.blocked, -np.inf, grid.values).argmax(axis=1)
        body = [
            (
                _header(grid, 0, i),
                [_header(grid, 1, best[i]), write(i, best[i])] + ([side[1][i]] if side else []),
            )
            for i in range(rows)
        ]
        return _table(["largest at", "value"] + ([side[0]] if side else []), body)
    body = [
        (_header(grid, 0, i), [write(i, j) for j in range(columns)] + ([side[1][i]] if side else []))
        for i in range(rows)
    ]
    return _table([_header(grid, 1, j) for j in range(columns)] + ([side[0]] if side else []), body)


def weights(A, allowed=None, *, tokens=None, query_tokens=None, key_tokens=None) -> Picture:
    """Attention weights as a heatmap on the fixed scale 0 to 1.

    Parameters
    ----------
    A : array-like, shape (n_q, n_k)
        Weights; what blocked cells hold is not looked at.
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
    texts = _cell_texts(grid) if max(grid.shape) <= NUMBERS_UP_TO else None
    sums = [grid.sum_text(i) for i in range(grid.shape[0])]
    text = _grid.weights_text(grid)
    frame = _Frame(grid, texts, ["sum", *sums])
    parts = frame.cells(palette.colours(grid.values), texts) + frame.around()
    items = [_scale_item((0.0, 1.0), "weight")]
    if grid.blocked.any():
        items.append(_blocked_item())
    if frame.h < 12:
        odd = [str(i) for i in np.flatnonzero(~grid.whole & ~grid.empty)]
        note = f"row sums other than 1: {listed(odd)}" if odd else "every row that reads sums to 1"
        if grid.empty.any():
            note += f"; no key to read: {listed([str(i) for i in np.flatnonzero(grid.empty)])}"
        items.append((_text(note, 0, 11, font_size=12), _width(note, 12)))
    parts += frame.legend(items)
    table = _grid_table(grid, lambda i, j: _written(grid, i, j, 3), ("sum", sums))
    return Picture(_svg(parts, frame.width, frame.height, text), table, text, folded=True)


def _written(grid: Grid, i: int, j: int, digits: int) -> str:
    return palette.BLOCKED if grid.blocked[i, j] else number(grid.values[i, j], digits)


def _cell_texts(grid: Grid, digits: int = 2) -> list[list[str]]:
    return [
        ["" if blocked else number(v, digits) for v, blocked in zip(*row, strict=True)]
        for row in zip(grid.values, grid.blocked, strict=True)
    ]


def _numbers(grid: Grid, limits: tuple[float, float] | None, digits: int, what: str) -> Picture:
    limits = limits or palette.limits_for(grid.values[~grid.blocked])
    texts = _cell_texts(grid, digits) if max(grid.shape) <= NUMBERS_UP_TO else None
    text = _grid.numbers_text(grid)
    frame = _Frame(grid, texts, None)
    shades = palette.colours(grid.values, limits)
    odd = np.isnan(grid.values)
    shades[odd] = palette.rgb("#ffffff")
    items = [_scale_item(limits, what)]
    if grid.blocked.any():
        items.append(_blocked_item())
    if odd.any():
        items.append(_swatch("nan", [tag("rect", width=18, height=14, fill="#ffffff")]))
    parts = frame.cells(shades, texts) + frame.around() + frame.legend(items)
    table = _grid_table(grid, lambda i, j: _written(grid, i, j, max(3, digits)))
    return Picture(_svg(parts, frame.width, frame.height, text), table, text, folded=True)


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
    return _numbers(grid, _grid.check_limits(limits), digits, "score")


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
    grid = _grid.numbers_grid(M, rows=rows, columns=columns, nouns=nouns, axes=axes)
    return _numbers(grid, _grid.check_limits(limits), digits, "value")


_ALLOWED = "#2e72be"


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
    '2 queries by 2 keys. The patterns of run and you agree in 3 of 4 cells. Only you allows query 0, key 1.'
    """
    grid = _grid.pattern_grid(allowed, tokens=tokens, query_tokens=query_tokens, key_tokens=key_tokens)
    mine = ~grid.blocked
    theirs = mine if other is None else _grid.booleans(other, "other")
    if theirs.shape != mine.shape:
        raise ValueError(f"other must have the shape of allowed, {mine.shape}, got {theirs.shape}")
    both, only_mine, only_theirs = mine & theirs, mine & ~theirs, theirs & ~mine
    compared = other is not None
    words = np.full(mine.shape, "blocked", dtype=object)
    words[both] = "both" if compared else "allowed"
    words[only_mine], words[only_theirs] = f"only {names[0]}", f"only {names[1]}"
    text = _pattern_difference(grid, only_mine, only_theirs, names) if compared else _grid.pattern_text(grid)

    shades = np.full((*mine.shape, 3), palette.rgb(_ALLOWED), dtype=np.uint8)
    shades[only_mine], shades[only_theirs] = palette.rgb("#ffffff"), palette.rgb(palette.YOU)
    marks = np.full(mine.shape, "", dtype=object)
    marks[both & compared], marks[only_mine], marks[only_theirs] = "✓", "−", "+"
    drawn = replace(grid, blocked=~(mine | theirs))
    small = max(grid.shape) <= NUMBERS_UP_TO
    frame = _Frame(
        drawn, None, ["", *("no key" if e else "" for e in grid.empty)] if grid.empty.any() else None
    )
    parts = frame.cells(shades, marks.tolist() if small or max(grid.shape) <= CELLS_UP_TO else None)
    parts += frame.around()

    def item(name: str, fill: str, mark: str):
        drawn = [tag("rect", width=18, height=14, fill=fill)]
        if mark:
            ink = _text(
                mark,
                9,
                11.5,
                text_anchor="middle",
                fill=palette.ink_on(fill),
                style="forced-color-adjust:none",
            )
            drawn.append(ink)
        return _swatch(name, drawn)

    items = [item("both allow" if compared else "allowed", _ALLOWED, "✓" if compared else "")]
    if only_mine.any():
        items.append(item(f"only {names[0]} allows", "#ffffff", "−"))
    if only_theirs.any():
        items.append(item(f"only {names[1]} allow" + ("" if names[1] == "you" else "s"), palette.YOU, "+"))
    if drawn.blocked.any():
        items.append(_blocked_item())
    parts += frame.legend(items)
    table = _grid_table(grid, lambda i, j: words[i, j])
    return Picture(_svg(parts, frame.width, frame.height, text), table, text, folded=True)


def _pattern_difference(grid: Grid, only_mine: np.ndarray, only_theirs: np.ndarray, names) -> str:
    differ = int((only_mine | only_theirs).sum())
    size = grid.blocked.size
    sentences = [
        _grid.size_text(grid),
        f"The patterns of {names[0]} and {names[1]} agree in {size - differ} of {size} cells.",
    ]
    for name, cells in zip(names, (only_mine, only_theirs), strict=True):
        where = [f"{grid.name(0, i)}, {grid.name(1, j)}" for i, j in np.argwhere(cells)]
        if len(where) == 1:
            sentences.append(f"Only {name} allows {where[0]}.")
        elif where:
            sentences.append(f"Only {name} allows {len(where)} cells, first {where[0]}.")
    return " ".join(sentences)


def _finite(value: Any) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)


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
    labels, values, _ = _grid.bar_values(labels, series)
    written = {name: ["—" if v is None else number(v, digits) for v in own] for name, own in values.items()}
    for name, own in (texts or {}).items():
        if name not in written or len(own) != len(labels):
            raise ValueError(
                f"texts has {len(own)} for {name!r}: pass {len(labels)}, for one of {listed(list(series))}"
            )
        written[name] = [shown(text) for text in own]
    text = _grid.bars_text(labels, values, written)
    limits = _grid.check_limits(limits, stretch=False) or _grid.bar_limits(values)
    return Picture(_bars_svg(labels, values, written, limits, text), _bars_table(labels, written), text)


def _bars_table(labels, written) -> str:
    if len(labels) <= 12:
        return _table(labels, list(written.items()))
    return _table(
        list(written), [(label, [own[k] for own in written.values()]) for k, label in enumerate(labels)]
    )


def _bars_svg(labels, values, written, limits, text) -> str:
    low, high = limits
    size, thick, gap = (13.0, 10.0, 2.0) if len(labels) <= 16 else (11.0, 8.0, 1.0)
    # Every bar has a line of text beside it, so its pitch is a line of text.
    pitch = max(thick + gap, size + 1)
    block = pitch * len(values) + 9
    left = max(_width(_elided(label), size) for label in labels) + 10
    beside = max(_width(f"{name} {t}", size) for name, own in written.items() for t in own) + 10
    span = max(120.0, min(300.0, 460.0 - left - beside))
    zero = left + span * (0 - low) / (high - low)
    parts = []
    for k, label in enumerate(labels):
        top = k * block + 4
        parts.append(_label(label, 0, top + pitch * len(values) / 2 + size * 0.36, "start", size))
        for s, (name, own) in enumerate(values.items()):
            y = top + s * pitch
            end = zero
            if (value := _finite(own[k])) is not None:
                end = left + span * (min(max(value, low), high) - low) / (high - low)
                parts.append(
                    tag(
                        "rect",
                        x=round(min(zero, end), 1),
                        y=y + (pitch - thick) / 2,
                        width=round(max(abs(end - zero), 0.0), 1),
                        height=thick,
                        fill=palette.series_colour(name, s),
                    )
                )
            x = max(zero, end) + 7
            parts.append(_text(f"{name} {written[name][k]}", x, y + pitch / 2 + size * 0.36, font_size=size))
    height = len(labels) * block
    parts.append(tag("path", d=f"M{zero:g} 0V{height:g}", stroke=palette.GREY, stroke_width=1))
    return _svg(parts, left + span + beside, height, text)


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
        if isinstance(value, str | bool | np.bool_):
            return shown(value)
        return number(value, digits)

    rows, columns = [shown(r) for r in rows], [shown(c) for c in columns]
    written = [[write(value) for value in row] for row in values]
    if len(written) != len(rows) or any(len(row) != len(columns) for row in written):
        raise ValueError(
            f"values must be {len(rows)} rows of {len(columns)}, "
            f"got rows of lengths {[len(row) for row in written]}"
        )
    if text is None:
        text = " ".join(
            f"{name}: {', '.join(f'{c} {v}' for c, v in zip(columns, row, strict=True))}."
            for name, row in zip(rows, written, strict=True)
        )
    return Picture("", _table(columns, list(zip(rows, written, strict=True)), caption=caption), text)
