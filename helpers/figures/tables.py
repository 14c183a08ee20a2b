"""Real HTML tables: what is left of a picture in a notebook that is opened untrusted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from . import palette
from .grid import Grid
from .picture import sideways, tag
from .words import number

_ALL_CELLS_UP_TO = 4096
_NARROW = 40  # characters that fit beside each other on a narrow page
FEW_BARS = 12


def _header(name: str, scope: str) -> object:
    """A header cell; a row called after a series carries its colour."""
    look = {"row": "text-align:left;white-space:nowrap", "col": "text-align:right;font-weight:normal"}[scope]
    if scope == "row" and name in palette.SERIES:
        look += f";border-left:4px solid {palette.SERIES[name]}"
    return tag("th", name, scope=scope, style=look)


def html_table(columns: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], caption: str = "") -> str:
    """A table whose first row and first column are headers."""
    head = tag("tr", tag("td"), *[_header(name, "col") for name in columns])
    body = [tag("tr", _header(name, "row"), *[tag("td", value) for value in values]) for name, values in rows]
    table = tag(
        "table",
        *([tag("caption", caption, style="text-align:left")] if caption else []),
        tag("thead", head),
        tag("tbody", *body),
        # Once for all cells, where a style on each would make a table of 64 by 64 four times as long.
        cellpadding=5,
        style="border-collapse:collapse;text-align:right;font-variant-numeric:tabular-nums;margin:2px 0",
    )
    wide = sum(max(6, len(name)) for name in columns) > _NARROW
    return str(sideways(table, caption or "numbers as a table") if wide else table)


def _name(grid: Grid, axis: int, position: int) -> str:
    tokens = (grid.rows, grid.columns)[axis]
    return f"{grid.nouns[axis]} {position}" + (f" · {tokens[position]}" if tokens else "")


def grid_table(
    grid: Grid, write: Callable[[int, int], str], side: tuple[str, Sequence[str]] | None = None
) -> str:
    """The numbers of a grid; of a very large one, the largest of each row."""
    n_rows, n_columns = grid.shape
    extra = [side[0]] if side else []
    last = [[value] for value in side[1]] if side else [[]] * n_rows
    if n_rows * n_columns > _ALL_CELLS_UP_TO:
        best = np.where(grid.blocked, -np.inf, grid.values).argmax(axis=1)
        body = [
            (_name(grid, 0, i), [_name(grid, 1, j), write(i, j), *last[i]])
            for i, j in enumerate(best.tolist())
        ]
        return html_table(["largest at", "value", *extra], body)
    body = [(_name(grid, 0, i), [*(write(i, j) for j in range(n_columns)), *last[i]]) for i in range(n_rows)]
    return html_table([*(_name(grid, 1, j) for j in range(n_columns)), *extra], body)


def number_table(grid: Grid, digits: int, side: tuple[str, Sequence[str]] | None = None) -> str:
    """The numbers of a grid, "blocked" where a cell is."""

    def write(i: int, j: int) -> str:
        return palette.BLOCKED if grid.blocked[i, j] else number(grid.values[i, j], digits)

    return grid_table(grid, write, side)


def pattern_table(grid: Grid) -> str:
    """What is allowed and what is blocked, in words."""
    return grid_table(grid, lambda i, j: palette.BLOCKED if grid.blocked[i, j] else "allowed")


def bar_table(labels: Sequence[str], written: Mapping[str, Sequence[str]]) -> str:
    """Series on adjacent lines; with many labels, on adjacent columns."""
    if len(labels) <= FEW_BARS:
        return html_table(labels, list(written.items()))
    rows = [(name, [own[k] for own in written.values()]) for k, name in enumerate(labels)]
    return html_table(list(written), rows)
