"""Heatmaps for the page: matplotlib, one Axes given or made, always handed back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from . import grid as _grid
from . import palette, words
from .canvas import axes_for, label_ticks, put_title, remember
from .frame import NUMBERS_UP_TO, TOO_LARGE
from .grid import Grid
from .tables import number_table, pattern_table
from .words import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _heatmap(ax: Axes | None, grid: Grid, limits: tuple[float, float], title: str | None, cells=True) -> Axes:
    """The cells of a grid with labels, axis names and blocked cells; shared by all matrices."""
    rows, columns = grid.shape
    n = max(rows, columns)
    side = 0.48 if n <= NUMBERS_UP_TO else max(0.17 if grid.rows or grid.columns else 0.0, 5.0 / n)
    longest = [max(map(len, names), default=2) * 0.085 for names in (grid.rows or (), grid.columns or ())]
    tall = longest[1] if longest[1] > side else 0.15
    ax = axes_for(ax, columns * side + longest[0] + 1.1, rows * side + tall + 1.1)
    ax.imshow(
        np.ma.masked_array(grid.values, grid.blocked),
        cmap=palette.colormap(limits[0] < 0),
        vmin=limits[0],
        vmax=limits[1],
        origin="upper",
        interpolation="nearest",  # smoothing would show colours of numbers that are not there
        aspect="equal" if n <= 8 * min(grid.shape) else "auto",
    )
    ax.set_facecolor("white")
    ax.set(xlim=(-0.5, columns - 0.5), ylim=(rows - 0.5, -0.5))
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    wide, high = ax.get_position().size * ax.figure.get_size_inches()
    if ax.get_aspect() != "auto":
        wide, high = min(wide / columns, high / rows) * np.array([columns, rows])
    label_ticks(ax.xaxis, grid.columns, columns, wide / columns)
    label_ticks(ax.yaxis, grid.rows, rows, high / rows)
    ax.tick_params(length=0)
    ax.set_xlabel(grid.axes[1] + (" · too large to show every cell" if n > TOO_LARGE else ""))
    ax.set_ylabel(grid.axes[0])
    ax.spines[:].set_color(palette.GREY)
    _hatch(ax, grid.blocked)
    if n <= 32:
        look = {"colors": palette.GREY, "linewidth": 0.5, "alpha": 0.5}
        ax.vlines(np.arange(1, columns) - 0.5, -0.5, rows - 0.5, **look)
        ax.hlines(np.arange(1, rows) - 0.5, -0.5, columns - 0.5, **look)
    if cells and n <= NUMBERS_UP_TO:
        for i, j in np.argwhere(~grid.blocked):
            value = grid.values[i, j]
            ink = "#000000" if np.isnan(value) else palette.ink_on(palette.colour(value, limits))
            ax.text(j, i, number(value), ha="center", va="center", color=ink, fontsize=9)
    put_title(ax, title)
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
    look = {"facecolor": "none", "edgecolor": palette.GREY, "hatch": "////"}
    ax.add_collection(PolyCollection(boxes, linewidth=0, **look), autolim=False)
    ax.legend(
        handles=[Patch(label=palette.BLOCKED, linewidth=0.8, **look)],
        loc="upper left",
        bbox_to_anchor=(0, 0),
        borderaxespad=0.5,
        borderpad=0,
        frameon=False,
        fontsize=9,
    )


def _beside(ax: Axes, head: str, texts: Sequence[str], strong: np.ndarray, what: str) -> None:
    """A text beside each row; where rows are too low, beside labelled ones, with a count of the strong."""
    inches = ax.get_window_extent().height / ax.figure.dpi
    size = min(9.0, ax.yaxis.get_major_ticks()[0].label1.get_fontsize())
    tight = inches * 72 / len(texts) < size * 0.9
    if tight and strong.any():
        head = f"{head} ({strong.sum()} of {strong.size} {what})".strip()
    for i in map(int, ax.get_yticks()) if tight else range(len(texts)):
        weight = "bold" if strong[i] else "normal"
        place = {"transform": ax.get_yaxis_transform(), "va": "center"}
        ax.text(1.02, i, texts[i], fontsize=size, fontweight=weight, **place)
    ax.annotate(head, (1.02, 1), (0, 4), xycoords="axes fraction", textcoords="offset points", fontsize=9)


def _mark_empty(ax: Axes, grid: Grid) -> None:
    if grid.empty.any():
        _beside(ax, "", [palette.EMPTY if empty else "" for empty in grid.empty], grid.empty, palette.EMPTY)


def _scale(ax: Axes, name: str, away: float) -> None:
    """A colour bar as high as the cells, `away` inches to their right."""
    inch = 1 / (ax.get_window_extent().width / ax.figure.dpi)
    beside = ax.inset_axes((1 + away * inch, 0, 0.14 * inch, 1))
    bar = ax.figure.colorbar(ax.images[-1], cax=beside, label=name)
    bar.outline.set_edgecolor(palette.GREY)


def plot_weights(
    A, allowed=None, *, tokens=None, query_tokens=None, key_tokens=None, title=None, ax=None
) -> Axes:
    """Draw attention weights as a heatmap on the fixed scale 0 to 1.

    Parameters
    ----------
    A : array-like, shape (n_q, n_k)
        Weights; what blocked cells hold is not drawn.
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
    _beside(ax, "sum", sums, ~grid.whole, "not 1")
    if max(grid.shape) > NUMBERS_UP_TO:
        _scale(ax, "weight", 0.3 + 0.08 * max(map(len, sums)))
    remember(ax, words.weights_text(grid), number_table(grid, 3, ("sum", sums)))
    return ax


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
    _mark_empty(ax, grid)
    _scale(ax, "score", 0.65 if grid.empty.any() else 0.1)
    remember(ax, words.numbers_text(grid), number_table(grid, 3))
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
    >>> from helpers.figures import describe
    >>> describe(plot_pattern([[1, 0], [1, 1]]))
    '2 queries by 2 keys. 3 of 4 cells are allowed. Allowed keys of each query, in order: 1, 2.'
    """
    grid = _grid.pattern_grid(allowed, tokens=tokens, query_tokens=query_tokens, key_tokens=key_tokens)
    # Half way up the ramp of weights: a strong blue that says nothing about how much.
    ax = _heatmap(ax, grid, (0.0, 2.0), title, cells=False)
    _mark_empty(ax, grid)
    remember(ax, words.pattern_text(grid), pattern_table(grid))
    return ax
