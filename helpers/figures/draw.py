"""The strokes that pictures in SVG are made of: texts, labels, hatching, small bitmaps."""

from __future__ import annotations

import base64
import io
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from markupsafe import Markup, escape

from . import palette
from .picture import sideways, tag, written

_LONGEST_LABEL = 40
_NARROW = 400
_SMALL = 64 * 64  # pixels
_FONT = "var(--jp-ui-font-family, system-ui, sans-serif)"


@lru_cache(maxsize=4096)
def text_width(text: str, size: float = 13) -> float:
    """Width of a text in px, estimated on the safe side: the font is the reader's."""
    width = 0.0
    for c in text:
        if unicodedata.east_asian_width(c) in "WF":
            width += 1.05
        elif not unicodedata.combining(c):
            width += 0.95 if c in "mwMW@%—" else 0.38 if c in "iljt.,:;'|! " else 0.64
    return width * size


def elided(label: str) -> str:
    """A label short enough to draw; the whole one stands in its tooltip and in the table."""
    return label if len(label) <= _LONGEST_LABEL else f"{label[:24]}…{label[-14:]}"


def text(content: str, x: float, y: float, **attributes: Any) -> Markup:
    """A text with its baseline at `y`."""
    return Markup(f'<text x="{x:.1f}" y="{y:.1f}"{written(attributes)}>{escape(content)}</text>')


@lru_cache(maxsize=4096)  # a live figure draws the same labels in every frame
def label(content: str, x: float, y: float, anchor: str, size: float, turn: int | None = None) -> Markup:
    """A token, its blanks kept, turned by `turn` degrees about where it starts."""
    short = elided(content)
    return tag(
        "text",
        short,
        *([tag("title", content)] if short != content else []),
        x=round(x, 1),
        y=round(y, 1),
        text_anchor=anchor,
        font_size=size,
        transform=f"rotate({turn} {x:.1f} {y:.1f})" if turn else None,
        style="white-space:pre",
    )


def box(x: float, y: float, width: float, height: float, **attributes: Any) -> Markup:
    """A rectangle."""
    place = f'x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
    return Markup(f"<rect {place}{written(attributes)}></rect>")


def outline(x: float, y: float, width: float, height: float) -> Markup:
    """The line round something."""
    return box(x, y, width, height, fill="none", stroke=palette.GREY)


def lines(path: str, **attributes: Any) -> Markup:
    """Thin grey lines along an SVG path."""
    return tag("path", d=path, fill="none", stroke=palette.GREY, stroke_width=1, **attributes)


def image(pixels: np.ndarray, x: float, y: float, width: float, height: float) -> Markup:
    """Pixels, (rows, columns, 3 or 4) of uint8, stretched over a rectangle without smoothing."""
    from PIL import Image

    return _stretched(Image.fromarray(pixels), x, y, width, height)


def ramp_image(
    places: np.ndarray, ramp: np.ndarray, clear: np.ndarray, x: float, y: float, width: float, height: float
) -> Markup:
    """Colours given by their place on a ramp: under half the bytes of `image`, in every frame of a live figure.

    Parameters
    ----------
    places : ndarray of uint8, shape (n_rows, n_columns)
    ramp : ndarray of uint8, shape (256, 3)
    clear : ndarray of bool, shape (n_rows, n_columns)
        Left as the page is; the last place then stands for clear, and what was there moves one down.
    x, y, width, height : float
    """
    from PIL import Image

    last = len(ramp) - 1
    if clear.any():
        places = np.where(clear, last, np.minimum(places, last - 1)).astype(np.uint8)
    drawn = Image.fromarray(places).convert("P")
    drawn.putpalette(ramp.tobytes())
    return _stretched(drawn, x, y, width, height, **({"transparency": last} if clear.any() else {}))


def _stretched(drawn: Any, x: float, y: float, width: float, height: float, **options: int) -> Markup:
    file = io.BytesIO()
    # A small picture moves with a slider: packing it would cost more time than it saves room.
    small = drawn.width * drawn.height <= _SMALL
    drawn.save(file, "PNG", compress_level=0 if small else 6, **options)
    return tag(
        "image",
        href="data:image/png;base64," + base64.b64encode(file.getvalue()).decode("ascii"),
        x=x,
        y=y,
        width=width,
        height=height,
        preserveAspectRatio="none",
        style="image-rendering:pixelated",
    )


def hatch(cells: np.ndarray, left: float, top: float, w: float, h: float) -> Markup:
    """Diagonal lines over the marked cells, drawn one by one: a pattern would need an id."""
    if not cells.any():
        return Markup("")
    return _hatch(cells.tobytes(), cells.shape, left, top, w, h)


@lru_cache(maxsize=64)  # from one frame of a live figure to the next, the blocked cells seldom change
def _hatch(cells: bytes, shape: tuple[int, int], left: float, top: float, w: float, h: float) -> Markup:
    rows, columns = shape
    cells = np.frombuffer(cells, bool).reshape(shape)
    step = 8.0 if min(w, h) >= 8 else max(min(w, h), 4.0)
    path = []
    for c in np.arange(step / 2, columns * w + rows * h, step):
        # Where the line x + y = c crosses from cell to cell; stretches through neighbours become one.
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
    return lines("".join(path))


def svg(parts: Sequence[object], width: float, height: float, alt: str) -> str:
    """The whole picture: labelled, without ids, in the reader's font and colour, no wider than the page."""
    width, height = int(np.ceil(width)), int(np.ceil(height))
    drawn = tag(
        "svg",
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        role="img",
        aria_label=alt,
        fill="currentColor",
        # Shrinks with the page while its text stays readable, then scrolls.
        style=f"display:block;max-width:100%;min-width:{min(width, max(300, width * 3 // 4))}px;"
        f"height:auto;font:13px {_FONT}",
    )
    return str(sideways(drawn, "wide picture") if width > _NARROW else drawn)
