"""Several measures of the same things side by side: each on an axis of its own from 0, all with the same rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from . import palette
from .canvas import fonts_for, panels, remember
from .tables import html_table
from .words import listed, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_measures(
    labels: Sequence[str], measures: Mapping[str, Sequence[float]], *, digits: int = 2
) -> list[Axes]:
    """Draw what each of several measures says of the same things, one panel a measure, one row a thing.

    Lengths compare within a panel and not between panels: measures differ in unit. The last one is drawn
    stronger, as the one that the others are held against.

    Parameters
    ----------
    labels : sequence of str, length n
    measures : mapping of str to sequence of float, each of length n
        In the order of the panels; none below 0 or not a number.
    digits : int
        After the point.

    Returns
    -------
    list of Axes
        On one figure.

    Raises
    ------
    ValueError
        If there is nothing to draw, a measure has not one number for each label, or one is negative or no number.

    Examples
    --------
    >>> from helpers.figures import describe
    >>> first, second = plot_measures(["head 0", "head 1"], {"weight": [0.9, 0.1], "change": [0.0, 2.0]})
    >>> describe(second)
    'change. From 0 to 2, most for head 1.'
    """
    columns = {name: np.asarray(values, dtype=float) for name, values in measures.items()}
    if not labels or not columns:
        raise ValueError(f"plot_measures needs rows and measures, got {len(labels)} and {len(columns)}")
    for name, values in columns.items():
        if values.shape != (len(labels),) or not (values >= 0).all():
            raise ValueError(
                f"{name} must be {len(labels)} numbers from 0 up, got {values.tolist()}: one for each label"
            )
    axes = panels(len(columns), columns=len(columns), size=(2.5, 0.75 + 0.28 * len(labels)))
    rows = np.arange(len(labels))
    for k, (ax, (name, values)) in enumerate(zip(axes, columns.items(), strict=True)):
        last = k == len(columns) - 1
        written = [number(value, digits) for value in values]
        drawn = ax.barh(rows, values, 0.72, color=palette.RUN if last else palette.GREY)
        ax.bar_label(drawn, written, padding=3, fontsize=9)
        ax.set(ylim=(len(labels) - 0.4, -0.6), xlim=(0, 1.32 * (values.max() or 1)), xticks=[])
        ax.set_yticks(rows, labels if k == 0 else [""] * len(labels), fontsize=9)
        ax.tick_params(length=0)
        ax.spines[["top", "right", "bottom"]].set_visible(False)
        ax.spines["left"].set_color(palette.GREY)
        ax.set_title(name, loc="left", fontsize=10, parse_math=False, fontfamily=fonts_for(name))
        most = [label for label, value in zip(labels, values, strict=True) if value == values.max()]
        said = (
            f"From {number(values.min(), digits)} to {number(values.max(), digits)}, most for {listed(most)}."
        )
        remember(ax, said, "" if k else _table(labels, columns, digits))
    return axes


def _table(labels: Sequence[str], columns: Mapping[str, np.ndarray], digits: int) -> str:
    rows = [
        (label, [number(values[k], digits) for values in columns.values()]) for k, label in enumerate(labels)
    ]
    return html_table(list(columns), rows)
