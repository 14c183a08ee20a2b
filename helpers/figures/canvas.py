"""Axes for the page: made or taken, titled, labelled, and remembered with what they show in words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Axes -> (sentence, table). Weak, so that a figure that is let go of takes its words along.
_WORDS: WeakKeyDictionary = WeakKeyDictionary()


def remember(ax: Axes, sentence: str, table: str = "") -> None:
    """Keep what an Axes shows, in words and as an HTML table."""
    _WORDS[ax] = (sentence, table)


def describe(ax: Axes) -> str:
    """What an Axes shows, in words: its title and the sentence computed from the data.

    Examples
    --------
    >>> from helpers.figures import plot_weights
    >>> describe(plot_weights([[0.5, 0.5]], title="One row"))
    'One row. 1 query by 2 keys. Every weight is 0.50. Every row sums to 1.'
    """
    said = [ax.get_title(loc) for loc in ("left", "center", "right")]
    if ax in _WORDS:
        said.append(_WORDS[ax][0])
    else:  # not one of ours: what its labels tell
        said.append(" against ".join(name for name in (ax.get_ylabel(), ax.get_xlabel()) if name))
        said.append(", ".join(ax.get_legend_handles_labels()[1]))
    sentence = " ".join(part if part.endswith(".") else f"{part}." for part in said if part)
    return sentence if ax in _WORDS or not sentence else f"Figure: {sentence}"


def table_of(ax: Axes) -> str:
    """The numbers of an Axes as an HTML table, or nothing where its picture has none."""
    return _WORDS.get(ax, ("", ""))[1]


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
        figure.suptitle(title, parse_math=False, fontfamily=fonts_for(title))
    return [figure.add_subplot(lines, columns, k + 1) for k in range(n)]


def axes_for(ax: Axes | None, width: float, height: float) -> Axes:
    return panels(1, size=(width, height))[0] if ax is None else ax


@lru_cache(maxsize=1)
def _fallbacks() -> tuple[str, ...]:
    """Installed fonts for what matplotlib's own lacks, its last one (boxes with a code) at the end."""
    from matplotlib.font_manager import fontManager

    wanted = ("Noto Sans CJK JP", "Microsoft YaHei", "Hiragino Sans", "Segoe UI Emoji", "Apple Symbols")
    installed = {font.name for font in fontManager.ttflist}
    return tuple(f for f in ("DejaVu Sans", *wanted, "Last Resort High-Efficiency") if f in installed)


def fonts_for(text: str) -> list[str] | None:
    """Fonts for a text: the usual ones if it is plain, else some that draw emoji without a warning."""
    return None if text.isascii() else list(_fallbacks())


def label_ticks(axis: Any, labels: Sequence[str] | None, n: int, room: float) -> None:
    """Label every position that has a token, or numbers in round steps; one position has `room` inches."""
    width = 0.1 + 0.1 * len(str(n - 1)) if axis.axis_name == "x" else 0.2
    steps = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, n)
    step = 1 if labels else next(s for s in steps if s * room >= width or s >= n)
    places = list(range(0, n, step))
    names = [labels[k] if labels else str(k) for k in places]
    size = float(np.clip(room * step * 50, 5, 10))
    axis.set_ticks(places, names, fontsize=size)
    for tick, name in zip(axis.get_major_ticks(), names, strict=True):
        for label in (tick.label1, tick.label2):
            label.set(parse_math=False, fontfamily=fonts_for(name))
    if axis.axis_name == "x" and max(map(len, names)) * size * 0.62 / 72 > room * step * 0.95:
        axis.set_tick_params(rotation=90)


def put_title(ax: Axes, title: str | None) -> None:
    if title:
        ax.set_title(title, parse_math=False, fontfamily=fonts_for(title), fontsize=11, loc="left")
