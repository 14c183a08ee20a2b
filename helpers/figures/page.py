"""Pictures for the page: matplotlib, one Axes given or made, always handed back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from . import grid as _grid
from . import palette
from .grid import Grid, number, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NUMBERS_UP_TO = 10
# Axes -> what they show. Weak, so that a figure that is let go of takes its sentence along.
_TEXTS: WeakKeyDictionary = WeakKeyDictionary()
# matplotlib's own last font draws a box with the code for what no other font has, and so nothing warns.
_FONTS = ["DejaVu Sans", "Last Resort High-Efficiency"]


def describe(ax: Axes) -> str:
    """What an Axes shows, in words: the sentence its figure function computed from the data.

    Examples
    --------
    >>> describe(plot_weights([[1, 0], [0.5, 0.5]]))
    '2 queries by 2 keys. Query 0 gives the most weight of all, 1, to key 0. Every row sums to 1.'
    """
    if ax in _TEXTS:
        return _TEXTS[ax]
    parts = [ax.get_title(loc) for loc in ("left", "center", "right")]
    names = " against ".join(name for name in (ax.get_ylabel(), ax.get_xlabel()) if name)
    series = [text for text in ax.get_legend_handles_labels()[1] if not text.startswith("_")]
    said = [*filter(None, parts), names, ", ".join(series)]
    return ". ".join(part.rstrip(".") for part in said if part) + "." if any(said) else ""


def panels(
    n: int, *, columns: int | None = None, size: tuple[float, float] = (4.2, 3.6), title: str | None = None
) -> list[Axes]:
    """Axes side by side on one new figure, to be passed on as ``ax=``.

    Parameters
    ----------
    n : int
        How many, at least 1.
    columns : int, optional
        How many in a line; at most 3 if not given.
    size : (float, float)
        Width and height of one, in inches.
    title : str, optional
        Title above all of them.

    Returns
    -------
    list of Axes

    Raises
    ------
    ValueError
        If `n` or `columns` is below 1.

    Examples
    --------
    >>> left, right = panels(2)
    >>> left.figure is right.figure
    True
    """
    from matplotlib.figure import Figure

    columns = min(n, 3) if columns is None else columns
    if n < 1 or columns < 1:
        raise ValueError(f"panels needs at least one panel and one column, got n={n}, columns={columns}")
    lines = -(-n // columns)
    # A Figure of its own, not pyplot's: nothing is drawn twice and none stays open.
    figure = Figure(figsize=(columns * size[0], lines * size[1]), layout="constrained", facecolor="white")
    if title:
        figure.suptitle(shown(title), parse_math=False, fontfamily=_FONTS)
    return [figure.add_subplot(lines, columns, k + 1) for k in range(n)]


def _axes(ax: Axes | None, width: float, height: float) -> Axes:
    return panels(1, size=(width, height))[0] if ax is None else ax


def _text(ax: Axes, x: float, y: float, text: str, **kwargs: Any):
    return ax.text(x, y, text, parse_math=False, fontfamily=_FONTS, **kwargs)


def _title(ax: Axes, title: str | None) -> None:
    if title is not None:
        ax.set_title(shown(title), parse_math=False, fontfamily=_FONTS, fontsize=11, loc="left")


def _ticks(axis, labels: Sequence[str] | None, n: int, room: float) -> None:
    """A tick for every position that has a token, or a round step where there are only numbers.

    `room` is how many inches one position has.
    """
    step = 1
    if labels is None:
        step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, n) if s * room >= 0.24 or s >= n)
        labels = [str(k) for k in range(n)]
    places = list(range(0, n, step))
    size = float(np.clip(room * step * 50, 5, 10))
    axis.set_ticks(places, [labels[k] for k in places], fontsize=size, fontfamily=_FONTS)
    for tick in axis.get_major_ticks():
        for label in (tick.label1, tick.label2):
            label.set_parse_math(False)
    longest = max(len(labels[k]) for k in places)
    if axis.axis_name == "x" and longest * size * 0.62 / 72 > room * step * 0.95:
        axis.set_tick_params(rotation=90)


def _heatmap(
    ax: Axes | None, grid: Grid, limits: tuple[float, float], title: str | None, *, cells=True
) -> Axes:
    """The cells of a grid with labels, axis names and blocked cells; shared by all matrices."""
    rows, columns = grid.shape
    n = max(rows, columns)
    side = 0.5 if n <= NUMBERS_UP_TO else max(0.17 if grid.rows or grid.columns else 0.0, 5.0 / n)
    ax = _axes(ax, max(columns * side + 2.2, 3.4), max(rows * side + 1.5, 2.2))
    picture = ax.imshow(
        np.ma.masked_array(grid.values, grid.blocked),
        cmap=palette.colormap(limits[0] < 0),
        vmin=limits[0],
        vmax=limits[1],
        origin="upper",
        # Smoothing would show colours of numbers that are not there.
        interpolation="nearest",
        aspect="equal" if max(grid.shape) <= 8 * min(grid.shape) else "auto",
    )
    picture.set_gid("cells")
    ax.set_facecolor("white")
    ax.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    box = ax.get_position()
    wide, high = (box.width, box.height) * ax.figure.get_size_inches()
    if ax.get_aspect() != "auto":
        wide = high = min(wide / columns, high / rows)
        wide, high = wide * columns, high * rows
    _ticks(ax.xaxis, grid.columns, columns, wide / columns)
    _ticks(ax.yaxis, grid.rows, rows, high / rows)
    ax.tick_params(length=0)
    ax.set_xlabel(grid.axes[1])
    ax.set_ylabel(grid.axes[0])
    ax.spines[:].set_color(palette.GREY)
    _hatch(ax, grid.blocked)
    if n <= 32:
        lines = {"colors": palette.GREY, "linewidth": 0.5, "alpha": 0.45}
        ax.vlines(np.arange(1, columns) - 0.5, -0.5, rows - 0.5, **lines)
        ax.hlines(np.arange(1, rows) - 0.5, -0.5, columns - 0.5, **lines)
    if cells and n <= NUMBERS_UP_TO:
        for i, j in np.argwhere(~grid.blocked):
            value = grid.values[i, j]
            ink = "#000000" if np.isnan(value) else palette.ink_on(palette.colour(value, limits))
            _text(ax, j, i, number(value), ha="center", va="center", color=ink, fontsize=9)
    _title(ax, title)
    return ax


def _hatch(ax: Axes, blocked: np.ndarray) -> None:
    """Hatch the blocked cells and name them in a legend."""
    if not blocked.any():
        return
    from matplotlib.collections import PolyCollection
    from matplotlib.patches import Patch

    boxes = []
    for i, row in enumerate(blocked):
        edges = np.flatnonzero(np.diff(np.concatenate([[False], row, [False]]).astype(int)))
        for a, b in edges.reshape(-1, 2) - 0.5:
            boxes.append([(a, i - 0.5), (b, i - 0.5), (b, i + 0.5), (a, i + 0.5)])
    look = {"facecolor": "none", "edgecolor": palette.GREY, "hatch": "////", "linewidth": 0}
    ax.add_collection(PolyCollection(boxes, label=palette.BLOCKED, **look), autolim=False)
    ax.legend(
        handles=[Patch(label=palette.BLOCKED, **look)],
        loc="upper left",
        bbox_to_anchor=(0, 0),
        borderaxespad=0.4,
        borderpad=0,
        frameon=False,
        fontsize=9,
    )


def _beside(ax: Axes, head: str, texts: Sequence[str], strong: np.ndarray) -> None:
    """A text beside each row, outside the cells."""
    place = ax.get_yaxis_transform()
    size = ax.yaxis.get_major_ticks()[0].label1.get_fontsize()
    for i, text in enumerate(texts):
        weight = "bold" if strong[i] else "normal"
        _text(ax, 1.02, i, text, transform=place, va="center", fontsize=min(9, size), fontweight=weight)
    ax.annotate(head, (1.02, 1), (0, 4), xycoords="axes fraction", textcoords="offset points", fontsize=9)


def plot_weights(
    A, allowed=None, *, tokens=None, query_tokens=None, key_tokens=None, title=None, ax=None
) -> Axes:
    """Draw attention weights as a heatmap on the fixed scale 0 to 1.

    Parameters
    ----------
    A : array-like, shape (n_q, n_k)
        Weights; what blocked cells hold is not looked at.
    allowed : array-like of bool, shape (n_q, n_k) or (1, n_k), optional
        True = may attend. Blocked cells are hatched and named in the legend.
    tokens : sequence of str, optional
        Labels of queries and keys alike; `query_tokens` and `key_tokens` label each side by itself.
    title : str, optional
    ax : Axes, optional
        Where to draw; a new figure if not given.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If an allowed weight is not a number from 0 to 1, or shapes or labels do not fit.

    Examples
    --------
    >>> ax = plot_weights([[1, 0], [0.5, 0.5]], tokens=["the", "the"])
    >>> [label.get_text() for label in ax.get_xticklabels()]
    ['the', 'the']
    """
    grid = _grid.weights_grid(A, allowed, tokens=tokens, query_tokens=query_tokens, key_tokens=key_tokens)
    ax = _heatmap(ax, grid, (0.0, 1.0), title)
    sums = [grid.sum_text(i) for i in range(grid.shape[0])]
    if grid.shape[0] > 64:  # no room for a number beside each row: those that need a look
        sums = ["" if whole else text for text, whole in zip(sums, grid.whole, strict=True)]
    _beside(ax, "sum", sums, ~grid.whole)
    if max(grid.shape) > NUMBERS_UP_TO:
        _scale(ax, "weight")
    _TEXTS[ax] = _grid.weights_text(grid)
    return ax


def _scale(ax: Axes, label: str) -> None:
    bar = ax.figure.colorbar(ax.images[-1], ax=ax, shrink=0.8, pad=0.02, label=label)
    bar.outline.set_edgecolor(palette.GREY)


def plot_scores(
    S, allowed=None, *, tokens=None, query_tokens=None, key_tokens=None, title=None, limits=None, ax=None
) -> Axes:
    """Draw scores as a heatmap on their own scale, with a colour bar; -inf counts as blocked.

    Parameters
    ----------
    S : array-like, shape (n_q, n_k)
    allowed, tokens, query_tokens, key_tokens, title, ax
        As for `plot_weights`.
    limits : (low, high), optional
        The scale, for panels that are compared; chosen from the numbers if not given.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If shapes or labels do not fit.

    Examples
    --------
    >>> ax = plot_scores([[1, float("-inf")], [2, 4]])
    >>> ax.images[0].get_clim()
    (0.0, 4.0)
    """
    grid = _grid.scores_grid(S, allowed, tokens=tokens, query_tokens=query_tokens, key_tokens=key_tokens)
    limits = _grid.check_limits(limits) or palette.limits_for(grid.values[~grid.blocked])
    ax = _heatmap(ax, grid, limits, title)
    if grid.empty.any():
        _beside(ax, "", ["no key" if empty else "" for empty in grid.empty], grid.empty)
    _scale(ax, "score")
    _TEXTS[ax] = _grid.numbers_text(grid)
    return ax


def plot_pattern(allowed, *, tokens=None, query_tokens=None, key_tokens=None, title=None, ax=None) -> Axes:
    """Draw who may read whom: allowed cells filled, blocked ones hatched.

    Parameters
    ----------
    allowed : array-like of bool, shape (n_q, n_k)
        True = may attend.
    tokens, query_tokens, key_tokens, title, ax
        As for `plot_weights`.

    Returns
    -------
    Axes

    Raises
    ------
    ValueError
        If `allowed` is not boolean, or shapes or labels do not fit.

    Examples
    --------
    >>> describe(plot_pattern([[1, 0], [1, 1]]))
    '2 queries by 2 keys. 3 of 4 cells are allowed. Allowed keys of each query, in order: 1, 2.'
    """
    grid = _grid.pattern_grid(allowed, tokens=tokens, query_tokens=query_tokens, key_tokens=key_tokens)
    # Half way up the ramp of weights: a strong blue that says nothing about how much.
    ax = _heatmap(ax, grid, (0.0, 2.0), title, cells=False)
    if grid.empty.any():
        _beside(ax, "", ["no key" if empty else "" for empty in grid.empty], grid.empty)
    _TEXTS[ax] = _grid.pattern_text(grid)
    return ax


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
    labels, values, text = _grid.bar_values(labels, series)
    n = len(labels)
    ax = _axes(ax, float(np.clip(n * 0.3 * (len(values) + 1), 3.6, 12)), 3.0)
    width = 0.8 / len(values)
    for s, (name, own) in enumerate(values.items()):
        at = np.arange(n) + (s - (len(values) - 1) / 2) * width
        heights = [np.nan if v is None else v for v in own]
        drawn = ax.bar(at, heights, width * 0.94, color=palette.series_colour(name, s), label=shown(name))
        if n * len(values) <= 16:
            for bar, v in zip(drawn, own, strict=True):
                if v is not None and np.isfinite(v):
                    ax.annotate(
                        number(v),
                        (bar.get_x() + bar.get_width() / 2, v),
                        (0, 2 if v >= 0 else -2),
                        textcoords="offset points",
                        ha="center",
                        va="bottom" if v >= 0 else "top",
                        fontsize=8,
                    )
    low, high = _grid.check_limits(limits, stretch=False) or _grid.bar_limits(values)
    room = 0.08 * (high - low)
    ax.set_ylim(low - (room if low < 0 else 0), high + room)
    ax.set_xlim(-0.6, n - 0.4)
    ax.axhline(0, color=palette.GREY, linewidth=0.8)
    box = ax.get_position()
    _ticks(ax.xaxis, labels, n, box.width * ax.figure.get_size_inches()[0] / n)
    ax.tick_params(axis="x", length=0)
    _open_frame(ax)
    if ylabel:
        ax.set_ylabel(ylabel)
    if len(values) > 1:
        ax.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(1, 1))
    _title(ax, title)
    _TEXTS[ax] = text
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
    """Draw lines over `x`, each named at its end and apart in colour, lightness, dash and marker.

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
    >>> describe(ax)
    'weight against temperature, from 1 to 2. row 0 goes from 0.50 to 0.70.'
    """
    at = np.asarray(x, dtype=float)
    lines = {shown(name): np.asarray(y, dtype=float) for name, y in series.items()}
    if at.ndim != 1 or at.size == 0 or not 1 <= len(lines) <= len(_MARKERS):
        raise ValueError(
            f"plot_lines needs one list of x and 1 to {len(_MARKERS)} lines, "
            f"got x of shape {at.shape} and {len(lines)} lines"
        )
    for name, y in lines.items():
        if y.shape != at.shape:
            raise ValueError(
                f"{name} has shape {y.shape} for x of shape {at.shape}: pass one number for each x"
            )
    if (logx and (at <= 0).any()) or (logy and any((y <= 0).any() for y in lines.values())):
        raise ValueError(
            "a logarithmic axis takes positive numbers only: drop the others, or use a linear one"
        )
    ax = _axes(ax, 6.0, 3.4)
    for k, (name, y) in enumerate(lines.items()):
        ax.plot(
            at,
            y,
            color=palette.series_colour(name, k),
            linestyle=_DASHES[k],
            marker=_MARKERS[k] if at.size <= 40 else None,
            markersize=4.5,
            linewidth=1.8,
            label=name,
        )
    ax.set(
        xlabel=xlabel, ylabel=ylabel, xscale="log" if logx else "linear", yscale="log" if logy else "linear"
    )
    _open_frame(ax)
    ax.autoscale_view()
    _name_lines(ax, at, lines)
    _title(ax, title)
    ends = [_ends(name, y) for name, y in lines.items()]
    _TEXTS[ax] = " ".join([f"{ylabel} against {xlabel}, from {number(at[0])} to {number(at[-1])}.", *ends])
    return ax


def _ends(name: str, y: np.ndarray) -> str:
    finite = y[np.isfinite(y)]
    return (
        f"{name} goes from {number(finite[0])} to {number(finite[-1])}."
        if finite.size
        else f"{name} has no numbers."
    )


def _name_lines(ax: Axes, at: np.ndarray, lines: Mapping[str, np.ndarray]) -> None:
    """Write each name at the right end of its line, moved apart where they would overlap."""
    to_axes = ax.transData + ax.transAxes.inverted()
    ends = []
    for k, (name, y) in enumerate(lines.items()):
        if (known := np.flatnonzero(np.isfinite(y))).size:
            ends.append((float(to_axes.transform((at[known[-1]], y[known[-1]]))[1]), k, name))
    ends.sort()
    gap = 13 / (ax.get_position().height * ax.figure.get_size_inches()[1] * 72)
    places: list[float] = []
    for height, *_ in ends:
        places.append(max(height, places[-1] + gap) if places else height)
    if places and (over := places[-1] - 1) > 0:
        places = [place - over for place in places]
    for place, (_, k, name) in zip(places, ends, strict=True):
        colour = palette.dark(palette.series_colour(name, k))
        _text(ax, 1.02, place, name, transform=ax.transAxes, va="center", color=colour, fontsize=9)
