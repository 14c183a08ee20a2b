"""Bars and lines for the page: matplotlib, one Axes given or made, always handed back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from . import grid as _grid
from . import palette, words
from .canvas import axes_for, fonts_for, label_ticks, put_title, remember
from .tables import bar_table
from .words import number, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_bars(
    labels: Sequence[object],
    series: Mapping[str, Sequence[float | None]],
    *,
    title: str | None = None,
    ylabel: str | None = None,
    limits: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw bars, one group for each label, every series in its own colour and named.

    Parameters
    ----------
    labels : sequence of str, length n
        Equal ones stay apart.
    series : mapping of str to sequence of float or None, each of length n
        None leaves a gap.
    title, ylabel : str, optional
    limits : (low, high), optional
        Ends of the axis; 0 to 1 if everything fits, else from the numbers.
    ax : Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If there is nothing to draw, or a series has not one number for each label.

    Examples
    --------
    >>> ax = plot_bars(["the", "cat", "the"], {"run": [0.2, 0.5, 0.3]})
    >>> len(ax.patches)
    3
    """
    labels, values = _grid.bar_values(labels, series)
    low, high = _grid.check_limits(limits, stretch=False) or _grid.bar_limits(values)
    n = len(labels)
    ax = axes_for(ax, float(np.clip(n * 0.3 * (len(values) + 1), 3.6, 12)), 3.0)
    width = 0.8 / len(values)
    for s, (name, own) in enumerate(values.items()):
        at = np.arange(n) + (s - (len(values) - 1) / 2) * width
        heights = [np.nan if v is None or not np.isfinite(v) else v for v in own]
        drawn = ax.bar(at, heights, width * 0.94, color=palette.series_colour(name, s), label=name)
        if n * len(values) <= 16:
            texts = ["" if v is None or not np.isfinite(v) else number(v) for v in own]
            ax.bar_label(drawn, texts, padding=2, fontsize=8)
    room = 0.08 * (high - low)
    ax.set_ylim(low - (room if low < 0 else 0), high + room)
    ax.set_xlim(-0.6, n - 0.4)
    ax.axhline(0, color=palette.GREY, linewidth=0.8)
    label_ticks(ax.xaxis, labels, n, ax.get_position().width * ax.figure.get_size_inches()[0] / n)
    ax.tick_params(axis="x", length=0)
    _open_frame(ax)
    ax.set_ylabel(ylabel or "")
    if len(values) > 1:
        ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    put_title(ax, title)
    written = words.written(values, 3)
    remember(ax, words.bars_text(labels, values, written), bar_table(labels, written))
    return ax


def _open_frame(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(palette.GREY)


_MARKERS = "os^DvP"
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))


def plot_lines(
    x: Sequence[float],
    series: Mapping[str, Sequence[float]],
    *,
    xlabel: str,
    ylabel: str,
    title: str | None = None,
    logx: bool = False,
    logy: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw lines over `x`, each named at its end and apart in colour, dash and marker.

    Parameters
    ----------
    x : sequence of float, length n
    series : mapping of str to sequence of float, each of length n
        Up to six lines; nan leaves a gap.
    xlabel, ylabel : str
    title : str, optional
    logx, logy : bool
        Logarithmic axes.
    ax : Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If a line has not one number for each x, there are none or too many, or a logarithmic axis meets
        a number that is not positive.

    Examples
    --------
    >>> ax = plot_lines([1, 2], {"row 0": [0.5, 0.7]}, xlabel="temperature", ylabel="weight")
    >>> from helpers.figures import describe
    >>> describe(ax)
    'weight against temperature, from 1 to 2. row 0 goes from 0.50 to 0.70.'
    """
    at = np.asarray(x, dtype=float)
    lines = {shown(name): np.asarray(y, dtype=float) for name, y in series.items()}
    most = len(_MARKERS)
    if at.ndim != 1 or at.size == 0 or not 1 <= len(lines) <= most:
        raise ValueError(
            f"plot_lines needs one list of x and 1 to {most} lines, "
            f"got x of shape {at.shape} and {len(lines)} lines"
        )
    for name, y in lines.items():
        if y.shape != at.shape:
            raise ValueError(
                f"{name} has shape {y.shape} for x of shape {at.shape}: pass a number for each x"
            )
    if (logx and (at <= 0).any()) or (logy and any((y <= 0).any() for y in lines.values())):
        raise ValueError("a logarithmic axis takes positive numbers only: drop the others, or make it linear")
    ax = axes_for(ax, 6.0, 3.4)
    for k, (name, y) in enumerate(lines.items()):
        look = {"linestyle": _DASHES[k], "marker": _MARKERS[k] if at.size <= 40 else None}
        colour = palette.series_colour(name, k)
        ax.plot(at, y, color=colour, markersize=4.5, linewidth=1.8, label=name, **look)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    if logx:
        ax.set_xscale("log")
    if logy:
        ax.set_yscale("log")
    for axis in (ax.xaxis, ax.yaxis):
        low, high = axis.get_view_interval()
        if axis.get_scale() == "log" and low >= 1e-4 and high <= 1e5:
            axis.set_major_formatter("{x:g}")  # 0.1, 1, 10 rather than powers of ten
    if logx and _few_whole(at):
        ax.set_xticks(at, [f"{x:,.0f}" for x in at])  # powers of two lie between those of ten
        ax.set_xticks([], minor=True)
    _open_frame(ax)
    _name_lines(ax, at, lines)
    put_title(ax, title)
    remember(ax, words.lines_text(at, lines, xlabel, ylabel))
    return ax


def _few_whole(at: np.ndarray) -> bool:
    """Whether x are whole numbers, few and far enough apart on a logarithmic axis to be written below it."""
    if at.size < 2 or (at != at.round()).any():
        return False
    gaps = np.diff(np.log(np.sort(at)))
    return bool(gaps.min() > 0.1 * gaps.sum())


def _name_lines(ax: Axes, at: np.ndarray, lines: Mapping[str, np.ndarray]) -> None:
    """Write each name at the right end of its line, moved apart where they would overlap."""
    to_axes = ax.transData + ax.transAxes.inverted()
    ax.autoscale_view()
    ends = []
    for k, (name, y) in enumerate(lines.items()):
        known = np.flatnonzero(np.isfinite(y))
        if known.size:
            ends.append((float(to_axes.transform((at[known[-1]], y[known[-1]]))[1]), k, name))
    ends.sort()
    gap = 13 / (ax.get_position().height * ax.figure.get_size_inches()[1] * 72)
    # Names that collide become a block round the mean of their heights, which may collide in turn.
    blocks: list[list[float]] = []
    for height, *_ in ends:
        blocks.append([height])
        while len(blocks) > 1 and _reach(blocks[-2], gap)[1] + gap > _reach(blocks[-1], gap)[0]:
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    places = [_reach(block, gap)[0] + k * gap for block in blocks for k in range(len(block))]
    for place, (_, k, name) in zip(places, ends, strict=True):
        look = {"color": palette.dark(palette.series_colour(name, k)), "fontfamily": fonts_for(name)}
        ax.text(1.02, place, name, transform=ax.transAxes, va="center", fontsize=9, parse_math=False, **look)


def _reach(block: Sequence[float], gap: float) -> tuple[float, float]:
    """Lowest and highest place of a block of names."""
    middle, half = float(np.mean(block)), gap * (len(block) - 1) / 2
    return middle - half, middle + half
