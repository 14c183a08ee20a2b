"""A score matrix of which only one tile is held, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from . import grid as _grid
from . import palette
from .draw import svg
from .frame import Frame, swatch
from .picture import Picture
from .tables import grid_table
from .words import count

GONE = "#aad8f6"  # pale on the ramp of weights: was there
STATES = ("held now", "gone by", "to come", palette.BLOCKED)


def tile(
    scores, blocked, gone, queries: range, keys: range, *, side: tuple[str, Sequence[str]] | None = None
) -> Picture:
    """One tile of scores, and which cells have gone by.

    Parameters
    ----------
    scores : array-like, shape (n_q, n_k)
        Written out in the cells of the tile.
    blocked, gone : array-like of bool, same shape
        Which cells are never computed, and which have been.
    queries, keys : range
        Rows and columns of the tile.
    side : (str, sequence of str), optional
        A heading, and a text for every row: what is kept of it.

    Returns
    -------
    Picture

    Examples
    --------
    >>> tile([[1, 2], [3, 4]], [[0, 1], [0, 0]], [[1, 0], [0, 0]], range(1, 2), range(0, 1)).text
    '2 queries by 2 keys. 1 cell is held now, 1 gone by, 1 to come, 1 blocked.'
    """
    grid = _grid.scores_grid(scores)
    grid = replace(grid, blocked=_grid.booleans(blocked, "blocked"))
    gone = _grid.booleans(gone, "gone") & ~grid.blocked
    held = np.zeros(grid.shape, bool)
    held[queries.start : queries.stop, keys.start : keys.stop] = True
    held &= ~grid.blocked
    gone &= ~held
    shades = np.zeros((*grid.shape, 3), np.uint8)
    shades[held], shades[gone] = palette.rgb(palette.ALLOWED), palette.rgb(GONE)
    texts = [
        [f"{v:.1f}".replace("-0.0", "0.0") if held[i, j] else "" for j, v in enumerate(row)]
        for i, row in enumerate(grid.values)
    ]
    kinds = (held, gone, ~(held | gone | grid.blocked), grid.blocked)
    told = np.select(kinds, STATES, "")
    numbers = [f"{int(kind.sum())} {name}" for kind, name in zip(kinds[1:], STATES[1:], strict=True)]
    n_held = int(held.sum())
    alt = (
        f"{count(grid.shape[0], 'query')} by {count(grid.shape[1], 'key')}. "
        f"{count(n_held, 'cell')} {'is' if n_held == 1 else 'are'} held now, {', '.join(numbers)}."
    )
    frame = Frame(grid, texts, side)
    items = [
        swatch(STATES[0], palette.ALLOWED),
        swatch(STATES[1], GONE),
        swatch(STATES[2]),
        *([swatch(palette.BLOCKED, hatched=True)] if grid.blocked.any() else []),
    ]
    parts = frame.cells(shades, kinds[2]) + frame.around() + frame.legend(items)
    drawn = svg(parts, frame.width, frame.height, alt)
    return Picture(drawn, lambda: grid_table(grid, lambda i, j: str(told[i, j]), side), alt, folded=True)
