"""Where the cells of a matrix stand in SVG, and everything that is drawn round them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

import numpy as np
from markupsafe import Markup, escape

from . import palette
from .draw import box, elided, hatch, image, label, lines, outline, ramp_image, text, text_width
from .grid import Grid
from .picture import join, tag
from .words import number

NUMBERS_UP_TO = 10  # cells hold their numbers up to so many rows and columns
CELLS_UP_TO = 16  # cells are elements up to so many; beyond, one bitmap
TOO_LARGE = 600  # cells of a larger matrix fall below a pixel on a common screen

Texts = Sequence[Sequence[str]]


class Frame:
    """Cells of a grid with axes, labels, what stands beside the rows, and a legend.

    Parameters
    ----------
    grid : Grid
    texts : n_rows by n_columns of str, optional
        What cells hold; they are wide enough for it.
    side : (str, sequence of str), optional
        A heading and a text beside every row.
    strong : ndarray of bool, shape (n_rows,), optional
        Which of those texts are bold.
    """

    def __init__(
        self,
        grid: Grid,
        texts: Texts | None = None,
        side: tuple[str, Sequence[str]] | None = None,
        strong: np.ndarray | None = None,
    ):
        self.grid, self.texts = grid, texts
        self.head, self.side = side or ("", [])
        self.strong = np.zeros(len(self.side), bool) if strong is None else strong
        n = max(grid.shape)
        tokens = grid.rows or grid.columns
        if texts:
            self.w, self.h = max(44.0, 12 + max(text_width(t) for t in chain(*texts))), 36.0
        else:
            self.w = self.h = float(
                max(12 if tokens else 1, min(30 if n <= NUMBERS_UP_TO else 22, -(-360 // n)))
            )
        self.size = 13 if self.h >= 18 else 10
        self.ticks = [self._ticks(axis, pitch) for axis, pitch in enumerate((self.h, self.w))]
        widths = [
            max(text_width(elided(grid.label(axis, k)), self.size) for k in self.ticks[axis])
            for axis in (0, 1)
        ]
        room = self.w * (self.ticks[1][1] if len(self.ticks[1]) > 1 else 1)
        self.turn = None if widths[1] <= room - 3 else -50 if self.w >= 16 else -90
        rise = {None: self.size, -50: 0.77 * widths[1] + 6, -90: widths[1]}[self.turn]
        # The name of the rows stands in the corner, before the columns' labels: nothing reads upwards.
        self.row_name, self.column_name = f"{grid.axes[0]} ↓", f"{grid.axes[1]} →"
        self.left = max(widths[0], text_width(self.row_name, 12)) + 8
        self.top = 24 + rise
        self.right, self.bottom = self.left + grid.shape[1] * self.w, self.top + grid.shape[0] * self.h
        beside = max((text_width(t, 12) for t in (self.head, *self.side)), default=0) + 12 if self.side else 1
        overhang = widths[1] * 0.64 if self.turn == -50 else 1
        self.width = max(self.right + max(beside, overhang), self.left + text_width(self.column_name, 12))
        self.height = self.bottom + 2

    def _ticks(self, axis: int, pitch: float) -> list[int]:
        """Positions that carry a label: all of them if they have tokens or room, else every so many."""
        n = self.grid.shape[axis]
        if (self.grid.rows, self.grid.columns)[axis] or pitch >= 18:
            return list(range(n))
        room = 14 if axis == 0 else text_width(str(n), 10) + 8
        step = next(s for s in (2, 5, 10, 20, 50, 100, 200, 500, 1000, n) if s * pitch >= room or s >= n)
        return list(range(0, n, step))

    def around(self) -> list[Markup]:
        """Names of the axes, labels, what stands beside each row, and the line round the cells."""
        grid = self.grid
        at = [self.left + (j + 0.5) * self.w + (self.size * 0.36 if self.turn else 0) for j in self.ticks[1]]
        columns = tuple((grid.label(1, j), x) for j, x in zip(self.ticks[1], at, strict=True))
        at = [self.top + (i + 0.5) * self.h + self.size * 0.36 for i in self.ticks[0]]
        rows = tuple((grid.label(0, i), y) for i, y in zip(self.ticks[0], at, strict=True))
        side = tuple((self.side[i], bool(self.strong[i])) for i in self.ticks[0]) if self.side else ()
        place = (self.left, self.top, self.right, self.bottom)
        return [
            _around(
                place, self.size, self.turn, self.row_name, self.column_name, self.head, rows, columns, side
            )
        ]

    def cells(self, shades: np.ndarray, clear: np.ndarray | None = None) -> list[Markup]:
        """The cells in their colours, (n_rows, n_columns, 3), an element each or all in one bitmap.

        Blocked cells are hatched, and those of `clear`, boolean of the same shape, are left as the page is.
        """
        grid = self.grid
        empty = grid.blocked if clear is None else grid.blocked | clear
        hatched = hatch(grid.blocked, self.left, self.top, self.w, self.h)
        if max(grid.shape) > CELLS_UP_TO:
            alpha = np.where(empty, 0, 255).astype(np.uint8)
            return [image(np.dstack([shades, alpha]), *self._area()), hatched]
        # Written out rather than put together by `tag`: they are most of a live figure's time for a frame.
        parts, dark, plain = [], [], []
        shades, empty = shades.tolist(), empty.tolist()
        size = f'width="{self.w:g}" height="{self.h:g}"'
        for i, j in np.argwhere(~grid.blocked).tolist():
            x, y = self.left + j * self.w, self.top + i * self.h
            fill = "#{:02x}{:02x}{:02x}".format(*shades[i][j])
            if not empty[i][j]:
                parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" {size} fill="{fill}"></rect>')
            if self.texts:
                ink, group = ("", plain) if empty[i][j] else (f' fill="{palette.ink_on(fill)}"', dark)
                at = f'x="{x + self.w / 2:.1f}" y="{y + self.h / 2 + 4.5:.1f}"'
                group.append(f"<text {at}{ink}>{escape(self.texts[i][j])}</text>")
        parts, dark, plain = ([Markup("".join(own))] for own in (parts, dark, plain))
        across = [
            f"M{self.left + j * self.w:g} {self.top:g}V{self.bottom:g}" for j in range(1, grid.shape[1])
        ]
        down = [f"M{self.left:g} {self.top + i * self.h:g}H{self.right:g}" for i in range(1, grid.shape[0])]
        parts += [hatched, lines("".join(across + down), stroke_opacity=0.5)]
        # Else a forced-colours theme paints the numbers in its own ink, but not the cells behind them.
        parts.append(tag("g", *dark, text_anchor="middle", style="forced-color-adjust:none"))
        return [*parts, tag("g", *plain, text_anchor="middle")]

    def heat(self, limits: tuple[float, float], clear: np.ndarray | None = None) -> list[Markup]:
        """The cells in the colours of their numbers; `clear` as for `cells`."""
        values = self.grid.values
        ramp = palette.ramp_for(limits)
        if max(self.grid.shape) <= CELLS_UP_TO or len(ramp) > 256:
            return self.cells(palette.colours(values, limits), clear)
        blocked = self.grid.blocked
        empty = blocked if clear is None else blocked | clear
        places = palette.places(values, limits).astype(np.uint8)
        hatched = hatch(blocked, self.left, self.top, self.w, self.h)
        return [ramp_image(places, ramp, empty, *self._area()), hatched]

    def _area(self) -> tuple[float, float, float, float]:
        """Where the cells lie: left, top, width, height."""
        return self.left, self.top, self.right - self.left, self.bottom - self.top

    def legend(self, items: Sequence[tuple[Markup, float]]) -> list[Markup]:
        """Items of known width in lines below the cells; makes room for them."""
        if max(self.grid.shape) > TOO_LARGE:
            items = [*items, note("too large to show every cell: some share a pixel of the screen")]
        parts, x, y = [], 0.0, self.bottom + 14
        limit = max(self.width, 350.0)
        for item, width in items:
            if x and x + width > limit:
                x, y = 0.0, y + 22
            parts.append(tag("g", item, transform=f"translate({x:g} {y:g})"))
            self.width = max(self.width, x + width)
            x += width + 18
        self.height = y + 18
        return parts


@lru_cache(maxsize=64)  # from one frame of a live figure to the next, all of it stays
def _around(place, size, turn, row_name, column_name, head, rows, columns, side) -> Markup:
    left, top, right, bottom = place
    parts = [
        text(column_name, left, 12, font_size=12),
        text(row_name, left - 8, top - 7, font_size=12, text_anchor="end"),
    ]
    anchor = "start" if turn else "middle"
    parts += [label(name, x, top - 7, anchor, size, turn) for name, x in columns]
    parts += [label(name, left - 8, y, "end", size) for name, y in rows]
    for (said, bold), (_, y) in zip(side, rows, strict=False):
        weight = "bold" if bold else None
        parts.append(text(said, right + 9, y, font_size=min(12, size + 1), font_weight=weight))
    if head:
        parts.append(text(head, right + 9, top - 7, font_size=12))
    return join([*parts, outline(left - 0.5, top - 0.5, right - left + 1, bottom - top + 1)])


def note(content: str) -> tuple[Markup, float]:
    """A line of text as a legend item."""
    return text(content, 0, 11, font_size=12), text_width(content, 12)


@lru_cache(maxsize=64)
def scale(limits: tuple[float, float], name: str) -> tuple[Markup, float]:
    """The colour scale with its ends, as a legend item."""
    low, high = (number(limit) for limit in limits)
    ramp = palette.colours(np.linspace(*limits, 128), limits)[np.newaxis]
    x = text_width(f"{name} {low}", 12) + 4
    parts = [
        text(f"{name} {low}", x - 6, 11, font_size=12, text_anchor="end"),
        image(ramp, x, 1, 90, 12),
        outline(x, 1, 90, 12),
        text(high, x + 96, 11, font_size=12),
    ]
    return join(parts), x + 98 + text_width(high, 12)


@lru_cache(maxsize=64)
def swatch(name: str, fill: str | None = None, mark: str = "", hatched: bool = False) -> tuple[Markup, float]:
    """A small cell with its name, as a legend item."""
    parts = [box(0.5, 0.5, 18, 13, fill=fill)] if fill else []
    if hatched:
        parts.append(hatch(np.array([[True]]), 0.5, 0.5, 18, 13))
    if mark:
        look = {"fill": palette.ink_on(fill), "style": "forced-color-adjust:none"} if fill else {}
        parts.append(text(mark, 9.5, 11.5, text_anchor="middle", **look))
    parts += [outline(0.5, 0.5, 18, 13), text(name, 24, 11, font_size=12)]
    return join(parts), 24 + text_width(name, 12)
