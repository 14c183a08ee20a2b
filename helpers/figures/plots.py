"""Plots for live figures, in SVG: points in a plane, a histogram, sizes on logarithmic axes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from markupsafe import Markup

from . import palette
from .draw import box, lines, outline, svg, text, text_width
from .grid import check_limits
from .picture import Picture, tag
from .tables import html_table
from .words import exactly, listed, number

_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_DECIMAL = ("bytes", "kB", "MB", "GB", "TB", "PB", "EB")

Ticks = tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class _Plot:
    """Where numbers lie between two axes, in px; the names of the axes stand above and below."""

    x: tuple[float, float]
    y: tuple[float, float]
    x_ticks: Ticks
    y_ticks: Ticks
    names: tuple[str, str]
    span: float
    rise: float
    beside: float = 0.0  # room to the right

    top = 24

    @property
    def left(self) -> float:
        return max(text_width(tick, 12) for _, tick in self.y_ticks) + 10

    @property
    def width(self) -> float:
        beyond = max(self.beside, text_width(self.x_ticks[-1][1], 12) / 2, 4)
        return max(self.left + self.span + beyond, *(text_width(name, 12) + 20 for name in self.names))

    @property
    def height(self) -> float:
        return self.top + self.rise + 40

    def at(self, x: float, y: float) -> tuple[float, float]:
        """A point in px; what lies outside is moved to the edge."""
        across = (min(max(x, self.x[0]), self.x[1]) - self.x[0]) / (self.x[1] - self.x[0])
        up = (min(max(y, self.y[0]), self.y[1]) - self.y[0]) / (self.y[1] - self.y[0])
        return self.left + across * self.span, self.top + (1 - up) * self.rise


@lru_cache(maxsize=64)  # the same in every frame of a live figure
def _around(plot: _Plot) -> tuple[Markup, ...]:
    """The line round a plot, its ticks, and the names of its axes."""
    left, bottom = plot.left, plot.top + plot.rise
    parts = [outline(left, plot.top, plot.span, plot.rise)]
    marks = []
    for value, tick in plot.x_ticks:
        x, _ = plot.at(value, plot.y[0])
        marks.append(f"M{x:.1f} {bottom}v5")
        parts.append(text(tick, x, bottom + 18, text_anchor="middle", font_size=12))
    for value, tick in plot.y_ticks:
        _, y = plot.at(plot.x[0], value)
        marks.append(f"M{left:.1f} {y:.1f}h-5")
        parts.append(text(tick, left - 8, y + 4, text_anchor="end", font_size=12))
    # Both names lie level: nothing reads upwards.
    parts.append(text(f"{plot.names[1]} ↑", 0, 13, font_size=12))
    right = max(left + plot.span, text_width(plot.names[0], 12) + 20)
    parts.append(text(f"{plot.names[0]} →", right, bottom + 35, text_anchor="end", font_size=12))
    return (*parts, lines("".join(marks)))


def _labels(
    points: Sequence[tuple[float, float, str]],
    plot: _Plot,
    ways: Sequence[Sequence[tuple[float, float]]] = (),
) -> list[Markup]:
    """A text beside each point, where it covers no point, no line and no other text if there is such a place.

    Parameters
    ----------
    points : sequence of (x, y, text)
    plot : _Plot
    ways : sequence of sequences of (x, y)
        Lines to keep clear of.
    """
    x, y = np.array([point[:2] for point in points]).T
    taken = np.stack([x - 9, y - 9, x + 9, y + 9], axis=-1)
    crossed = np.concatenate([np.zeros((0, 4)), *map(_along, ways)])
    inside = np.array([[plot.left, plot.top, plot.left + plot.span, plot.top + plot.rise]])
    parts = []
    for x, y, content in points:
        w = text_width(content, 13)
        # To the right and the left, then above and below, then further off.
        shifts = [(12, -8), (-12 - w, -8)]
        shifts += [(across, down) for down in (-26, 11, -43, 28) for across in (-w / 2, -4, 4 - w, 8, -8 - w)]
        corner = np.array(shifts) + np.array([x, y])
        places = np.concatenate([corner, corner + np.array([w, 16])], axis=-1)
        off = np.hypot(*np.maximum(np.maximum(places[:, :2] - (x, y), (x, y) - places[:, 2:]), 0).T)
        cost = 3 * _covered(places, taken) + _covered(places, crossed) - 9 * _covered(places, inside)
        best = places[(cost + 8 * np.maximum(off, 12)).argmin()]
        taken = np.concatenate([taken, best[None]])
        parts.append(text(content, float(best[0]), float(best[1]) + 12.5))
    return parts


def _covered(places: np.ndarray, taken: np.ndarray) -> np.ndarray:
    """How much of each rectangle (n, 4) lies over the others (m, 4), in square px: (n,)."""
    ends = np.minimum(places[:, None, 2:], taken[None, :, 2:])
    starts = np.maximum(places[:, None, :2], taken[None, :, :2])
    return np.maximum(ends - starts, 0).prod(axis=-1).sum(axis=-1)


def _along(way: Sequence[tuple[float, float]]) -> np.ndarray:
    """Small squares along a line, (n, 4)."""
    way = np.asarray(way)
    steps = np.linspace(0, len(way) - 1, 12 if len(way) == 2 else 3 * len(way))
    x, y = (np.interp(steps, np.arange(len(way)), side) for side in way.T)
    return np.stack([x - 3, y - 3, x + 3, y + 3], axis=-1)


def plane(
    groups: Mapping[str, Sequence[Sequence[float]]],
    *,
    limits: tuple[float, float] | None = None,
    hull: str | None = None,
    arrows: bool = False,
) -> Picture:
    """Pairs of numbers as points in the plane, each with its name and its numbers.

    Parameters
    ----------
    groups : mapping of str to array-like, each of shape (n, 2)
        ``{"value": V, "output": [output]}``: points of a group are numbered, one alone is a ring.
    limits : (low, high), optional
        Ends of both axes; chosen from the numbers if not given. What lies outside is drawn at the edge.
    hull : str, optional
        The group between whose points the plane is shaded.
    arrows : bool
        Whether a line leads to each point from [0, 0].

    Returns
    -------
    Picture

    Raises
    ------
    ValueError
        If there are no points, or one is not a pair of finite numbers.

    Examples
    --------
    >>> plane({"value": [[10, 0], [0, 20]], "output": [[6.7, 6.6]]}).text
    'In the plane: value 0 [10, 0], value 1 [0, 20], output [6.70, 6.60].'
    """
    arrays = {name: np.asarray(points, dtype=float) for name, points in groups.items()}
    for name, points in arrays.items():
        if points.ndim != 2 or points.shape[1] != 2 or not points.size or not np.isfinite(points).all():
            raise ValueError(f"{name} must be pairs of finite numbers, (n, 2), got shape {points.shape}")
    if not arrays:
        raise ValueError("groups must name at least one group of points, got none: pass {'value': V}")
    limits = check_limits(limits) or _limits(arrays)
    plot = _square(*limits)
    parts, ways = [*_around(plot)], []
    if hull:
        corners = _hull([plot.at(*point) for point in arrays[hull].tolist()])
        ways.append([*corners, corners[0]])
        parts.append(_shade(corners))
    origin = plot.at(0.0, 0.0)
    named, told = [], {}
    for name, points in arrays.items():
        colour = palette.series_colour(name, 0)
        for k, point in enumerate(points.tolist()):
            x, y = plot.at(*point)
            if arrows:
                ways.append([origin, (x, y)])
                parts.append(tag("path", d=_path(ways[-1]), stroke=colour, stroke_width=2, fill="none"))
            alone = len(points) == 1
            parts.append(_marker(x, y, colour, ring=alone))
            called = name if alone else f"{name} {k}"
            told[called] = [number(own) for own in point]
            named.append((x, y, _written(called, told[called]) if alone else called))
    # The last ones are drawn on top, and are the first to a place for their label.
    parts += _labels(named[::-1], plot, ways)
    alt = f"In the plane: {', '.join(_written(*point) for point in told.items())}."
    return Picture(
        svg(parts, plot.width, plot.height, alt),
        lambda: html_table(plot.names, list(told.items())),
        alt,
        folded=True,
    )


def _written(name: str, numbers: Sequence[str]) -> str:
    return f"{name} [{', '.join(numbers)}]"


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _limits(arrays: Mapping[str, np.ndarray]) -> tuple[float, float]:
    largest = max(float(np.abs(points).max()) for points in arrays.values()) or 1.0
    return -largest, largest


@lru_cache(maxsize=64)
def _square(low: float, high: float) -> _Plot:
    """Two axes alike, with a little room beyond their ends."""
    room = 0.08 * (high - low)
    ticks = tuple((value, f"{value:g}") for value in np.linspace(low, high, 5).tolist())
    ends = (low - room, high + room)
    return _Plot(ends, ends, ticks, ticks, ("first number", "second number"), 270.0, 270.0)


def _marker(x: float, y: float, colour: str, ring: bool) -> Markup:
    look = {"fill": "none", "stroke": colour, "stroke_width": 3.5} if ring else {"fill": colour}
    return tag("circle", cx=round(x, 1), cy=round(y, 1), r=7.5 if ring else 5, **look)


def _shade(corners: list[tuple[float, float]]) -> Markup:
    look = {"fill": palette.VALUE, "fill_opacity": 0.12, "stroke": palette.GREY, "stroke_width": 1}
    return tag("path", d=_path(corners) + "Z", stroke_dasharray="4 3", **look)


def _hull(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Corners of the smallest shape without dents that holds the points (Andrew's monotone chain)."""
    corners: list[tuple[float, float]] = []
    for way in (sorted(points), sorted(points, reverse=True)):
        side: list[tuple[float, float]] = []
        for point in way:
            while len(side) > 1 and _turn(side[-2], side[-1], point) <= 0:
                side.pop()
            side.append(point)
        corners += side[:-1] or side
    return corners


def _turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> float:
    """Above 0 where the way from a over b to c bends one way, below where it bends the other."""
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def histogram(values: Sequence[float], *, name: str, limits: tuple[float, float], bins: int = 200) -> Picture:
    """How often numbers fall into each of many equal steps.

    Parameters
    ----------
    values : array-like of any shape
        Finite numbers.
    name : str
        What one of them is: ``"score"``.
    limits : (low, high)
        Ends of the axis, the same for every picture that is compared. Numbers beyond count in the outer steps.
    bins : int
        How many steps.

    Returns
    -------
    Picture

    Raises
    ------
    ValueError
        If there are no numbers, or one is not finite.

    Examples
    --------
    >>> histogram([-3, 0, 1, 1, 2], name="score", limits=(-4, 4), bins=8).text
    '5 scores from -3 to 2, half of them from 0 to 1. The fullest step, from 1 to 2, holds 40.0% of them.'
    """
    values = np.asarray(values, dtype=float).ravel()
    if not values.size or not np.isfinite(values).all():
        raise ValueError(
            f"values must be finite numbers, at least one, got {values.size} of which some are not"
        )
    low, high = check_limits(limits)
    # Twice as fast as np.histogram, which a live figure draws in every frame.
    step = (high - low) / bins
    place = np.clip((values - low) / step, 0, bins - 1).astype(int)
    counts = np.bincount(place, minlength=bins)
    shares = counts / values.size
    top = int(counts.argmax())
    plot = _share_plot(low, high, float(shares[top]), name)
    path = _steps(plot, shares)
    look = {"fill": palette.RUN, "stroke": palette.RUN, "stroke_width": 1}
    parts = [*_around(plot), tag("path", d=path, **look)]
    ordered = np.sort(values)
    first, third = ordered[values.size // 4], ordered[(3 * values.size) // 4]
    edges = [number(edge) for edge in np.linspace(low, high, bins + 1).tolist()]
    alt = (
        f"{values.size:,} {name}s from {exactly(ordered[0])} to {exactly(ordered[-1])}, "
        f"half of them from {exactly(first)} to {exactly(third)}. The fullest step, "
        f"from {edges[top]} to {edges[top + 1]}, holds {shares[top]:.1%} of them."
    )

    def table() -> str:
        rows = [(f"{edges[k]} to {edges[k + 1]}", [str(counts[k])]) for k in np.flatnonzero(counts)]
        return html_table([f"{name}s"], rows)

    return Picture(svg(parts, plot.width, plot.height, alt), table, alt, folded=True)


@lru_cache(maxsize=256)
def _share_plot(low: float, high: float, largest: float, name: str) -> _Plot:
    """An axis of numbers and one of shares, up to the largest."""
    x_ticks = tuple((value, f"{value:g}") for value in np.linspace(low, high, 5).tolist())
    y_ticks = ((0.0, "0"), (largest, f"{largest:.1%}"))
    names = (name, f"share of the {name}s in each step")
    return _Plot((low, high), (0.0, largest), x_ticks, y_ticks, names, 360.0, 150.0)


def _steps(plot: _Plot, shares: np.ndarray) -> str:
    """The bars of a histogram as one path; empty ones have no line."""
    wide = plot.span / shares.size
    bottom = plot.top + plot.rise
    highest = shares.max()
    return "".join(
        f"M{plot.left + k * wide:.1f} {bottom:.1f}v{-share / highest * plot.rise:.1f}"
        f"h{wide:.1f}v{share / highest * plot.rise:.1f}z"
        for k, share in enumerate(shares.tolist())
        if share
    )


def in_bytes(size: float) -> str:
    """A size in binary units, and in the decimal ones that are easily taken for them.

    Examples
    --------
    >>> in_bytes(2**25), in_bytes(100)
    ('32 MiB (33.55 MB)', '100 bytes')
    """
    if size < 1024:
        return f"{size:g} bytes"
    return f"{_unit(size, 1024, _UNITS)} ({_unit(size, 1000, _DECIMAL)})"


def _unit(size: float, base: int, units: Sequence[str]) -> str:
    k = 0
    while k + 1 < len(units) and size >= base ** (k + 1):
        k += 1
    return f"{size / base**k:.4g} {units[k]}"


def sizes(
    lengths: Sequence[int], series: Mapping[str, Sequence[float]], *, at: int, memory: float | None = None
) -> Picture:
    """Sizes in bytes against a length T, both axes in powers of two, with one T marked.

    Parameters
    ----------
    lengths : sequence of int, length n
        Powers of two, ascending.
    series : mapping of str to sequence of float, each of length n
        Bytes at each length: ``{"all scores": [...], "in tiles": [...]}``.
    at : int
        One of the lengths, whose sizes are written out.
    memory : float, optional
        A size in bytes, drawn as a level line; what lies above it does not fit.

    Returns
    -------
    Picture

    Raises
    ------
    ValueError
        If `at` is not one of the lengths, or a series has not one size for each.

    Examples
    --------
    >>> sizes([256, 512], {"all scores": [2**18, 2**20]}, at=512, memory=2**19).text
    'At T = 512: all scores 1 MiB (1.049 MB). Too large for 512 KiB (524.3 kB) of memory: all scores.'
    """
    lengths = [int(length) for length in lengths]
    if at not in lengths:
        raise ValueError(f"at must be one of the lengths, {lengths[0]} to {lengths[-1]}, got {at}")
    for name, own in series.items():
        if len(own) != len(lengths):
            raise ValueError(f"{name} must have a size for each of {len(lengths)} lengths, got {len(own)}")
    beside = max(text_width(name, 13) for name in series) + 10
    plot = _length_plot(lengths[0], lengths[-1], beside)
    parts, known, ways = [], [], []
    if memory is not None:
        parts += _level(plot, memory)
    parts += _around(plot)
    x = plot.at(math.log2(at), 0)[0]
    parts.append(lines(f"M{x:.1f} {plot.top}V{plot.top + plot.rise}", stroke_dasharray="2 3"))
    for k, (name, own) in enumerate(series.items()):
        colour = palette.OTHERS[k % len(palette.OTHERS)]
        points = [
            plot.at(math.log2(t), math.log2(max(size, 1))) for t, size in zip(lengths, own, strict=True)
        ]
        ways.append(points)
        dashes = None if not k else "7 4"
        look = {"stroke": colour, "stroke_width": 2.5, "stroke_dasharray": dashes}
        parts.append(tag("path", d=_path(points), fill="none", **look))
        end = points[lengths.index(at)]
        parts.append(_marker(*end, colour, ring=False))
        known.append((*end, _unit(own[lengths.index(at)], 1024, _UNITS)))
        parts.append(text(name, plot.left + plot.span + 8, points[-1][1] + 4))
    parts += _labels(known, plot, ways)
    here = {name: own[lengths.index(at)] for name, own in series.items()}
    alt = f"At T = {at:,}: {', '.join(f'{name} {in_bytes(size)}' for name, size in here.items())}."
    if memory is not None:
        large = [name for name, size in here.items() if size > memory]
        alt += f" Too large for {in_bytes(memory)} of memory: {listed(large) if large else 'none of them'}."

    def table() -> str:
        rows = [(f"T = {t:,}", [in_bytes(own[k]) for own in series.values()]) for k, t in enumerate(lengths)]
        return html_table(list(series), rows)

    return Picture(svg(parts, plot.width, plot.height, alt), table, alt, folded=True)


def _level(plot: _Plot, memory: float) -> list[Markup]:
    """The line of the memory, and what lies above it."""
    left, y = plot.at(plot.x[0], math.log2(memory))
    return [
        box(left, plot.top, plot.span, y - plot.top, fill=palette.VALUE, fill_opacity=0.1),
        tag("path", d=f"M{left:.1f} {y:.1f}h{plot.span:g}", stroke=palette.VALUE, stroke_width=2),
        text(f"does not fit {_unit(memory, 1024, _UNITS)}", left + 8, y - 7),
    ]


@lru_cache(maxsize=16)
def _length_plot(first: int, last: int, beside: float) -> _Plot:
    """An axis of lengths and one of sizes, from 1 KiB to 1 EiB, both logarithmic."""
    low, high = math.log2(first), math.log2(last)
    x_ticks = tuple((float(k), f"{2**k:,}") for k in range(int(low), int(high) + 1, 4))
    y_ticks = tuple((10.0 * k, f"1 {_UNITS[k]}") for k in range(1, 7))
    room = 0.5
    names = ("T, number of tokens", "memory")
    return _Plot((low - room, high + room), (9.0, 61.0), x_ticks, y_ticks, names, 360.0, 270.0, beside)
