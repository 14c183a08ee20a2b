"""Pictures of attention weights that are wrong in one way each, drawn as people draw them, and repaired."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import figures, tiny_model
from .figures import palette
from .figures.canvas import axes_for, remember
from .figures.tables import html_table
from .figures.words import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.floating]

# Two heads of a text of four tokens, constructed: each query reads itself and what came before it.
HEADS = np.array(
    [
        [[1.0, 0, 0, 0], [0.3, 0.7, 0, 0], [0.2, 0.5, 0.3, 0], [0.1, 0.6, 0.1, 0.2]],
        [[1.0, 0, 0, 0], [0.9, 0.1, 0, 0], [0.6, 0.1, 0.3, 0], [0.7, 0.0, 0.1, 0.2]],
    ]
)
LATER = np.array([[0.2, 0.2, 0.4, 0.2]])  # the row of one more query, which gives key 4 nothing
OPEN = np.array([[0.4, 0.3, 0.2, 0.1], [0.2, 0.5, 0.1, 0.2], [0.2, 0.4, 0.3, 0.1], [0.1, 0.6, 0.1, 0.2]])
SHARP = np.array([[1.0, 0, 0, 0], [1e-9, 1, 0, 0], [0.5, 1e-9, 0.5, 0], [0.3, 0.6, 1e-9, 0.1]])
PALE = 0.01  # below this a colour cannot be told from that of 0

__all__ = ["HEADS", "PLATES", "Plate", "Wall", "bars", "heat", "maps", "pale", "pictures", "wall"]


@dataclass(frozen=True)
class Plate:
    """One picture of the gallery.

    Attributes
    ----------
    defect : str
        What was done wrong, as a half sentence.
    array : ndarray, shape (4, 4)
        What is drawn.
    repaired : ndarray, shape (4, 4)
        What should have been drawn.
    numbers : bool
        Whether the cells carry their numbers.
    """

    defect: str
    array: Floats
    repaired: Floats
    numbers: bool = True


PLATES: dict[str, Plate] = {
    "A": Plate("transposed: queries stand in the columns", HEADS[0].T, HEADS[0]),
    "B": Plate(
        "blocked after the softmax, without new division",
        np.tril(OPEN),
        np.tril(OPEN) / np.tril(OPEN).sum(axis=-1, keepdims=True),
    ),
    "C": Plate("row labels off by one", np.concatenate([HEADS[0][1:], LATER]), HEADS[0]),
    "D": Plate("an average of two heads, labelled head 0", HEADS.mean(axis=0), HEADS[0]),
    "E": Plate("blocked cells drawn as 0", SHARP, SHARP, numbers=False),
}


class Wall(list):
    """Axes of one figure that show themselves, with their text alternative, when they end a notebook's cell."""

    def _repr_mimebundle_(self, include=None, exclude=None) -> dict[str, str]:
        return figures.bundle(list(self))


def pictures(letters: Iterable[str]) -> Floats:
    """Stack what some plates show, (plates, 4, 4).

    Examples
    --------
    >>> pictures(["A", "D"]).shape
    (2, 4, 4)
    """
    return np.stack([PLATES[str(letter)].array for letter in letters])


def pale(letter: str) -> NDArray[np.bool_]:
    """Say which cells of a plate are drawn so pale that they cannot be told from 0."""
    return PLATES[letter].array < PALE


def heat(
    weights: ArrayLike,
    *,
    limits: tuple[float, float] | None = None,
    numbers: bool = True,
    title: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a heatmap as a bare ``imshow`` does: no look of its own for blocked cells, no sums, no scale.

    Parameters
    ----------
    weights : array_like, shape (n_q, n_k)
    limits : (low, high), optional
        The numbers of the palest and of the darkest colour; by default the smallest and the largest weight.
    numbers : bool
        Write each number into its cell.
    title : str, optional
    ax : Axes, optional

    Returns
    -------
    Axes

    Examples
    --------
    >>> ax = heat([[0.26, 0.24], [0.25, 0.25]])
    >>> ax.images[0].get_clim()
    (0.24, 0.26)
    """
    A = np.asarray(weights, dtype=float)
    ax = axes_for(ax, 3.0, 2.9)
    low, high = limits or (A.min(), A.max())
    ax.imshow(A, cmap=palette.colormap(), vmin=low, vmax=high)
    rows, columns = (
        [f"{noun} {k}" for k in range(n)] for noun, n in zip(("query", "key"), A.shape, strict=True)
    )
    ax.set_xticks(range(len(columns)), columns, fontsize=9)
    ax.set_yticks(range(len(rows)), rows, fontsize=9)
    ax.tick_params(length=0)
    ax.set_title(title or "", loc="left", fontsize=11)
    shade = (A - low) / (high - low)
    for i, j in np.ndindex(A.shape) if numbers else ():
        ink = palette.ink_on(palette.colour(shade[i, j]))
        ax.text(j, i, number(A[i, j]), ha="center", va="center", color=ink, fontsize=9)
    told = [
        [number(A[i, j]) if numbers else _shade(shade[i, j]) for j in range(A.shape[1])]
        for i in range(len(A))
    ]
    what = "with their numbers" if numbers else "without numbers; the table says how dark each is"
    table = html_table(columns, list(zip(rows, told, strict=True)))
    remember(ax, f"A heatmap of {A.shape[0]} by {A.shape[1]} cells, {what}.", table)
    return ax


def _shade(shade: float) -> str:
    """How dark a cell looks, in words."""
    if shade < PALE:
        return "pale"
    return "darkest" if shade > 1 - PALE else "dark" if shade > 0.6 else "middle"


def wall(letters: Iterable[str], *, repaired: bool = False) -> Wall:
    """Hang plates side by side, all on the scale 0 to 1.

    Parameters
    ----------
    letters : iterable of str
        Keys of `PLATES`.
    repaired : bool
        Draw what should have been drawn, with the course's own figure, which hatches what is blocked; the
        titles then name the defect.

    Returns
    -------
    Wall
        A list of Axes.

    Examples
    --------
    >>> [ax.get_title("left") for ax in wall("AB")]
    ['A', 'B']
    """
    letters = list(letters)
    axes = figures.panels(
        len(letters),
        columns=min(len(letters), 2 if repaired else 4),
        size=(4.3, 3.4) if repaired else (3.0, 3.0),
    )
    for ax, letter in zip(axes, letters, strict=True):
        plate = PLATES[letter]
        if repaired:
            title = f"{letter} · {plate.defect}"
            figures.plot_weights(plate.repaired, np.tri(4, dtype=bool), title=title, ax=ax)
        else:
            heat(plate.array, limits=(0, 1), numbers=plate.numbers, title=letter, ax=ax)
    return Wall(axes)


def bars(tokens: Sequence[str], row: Sequence[float], *, ax: Axes | None = None) -> Axes:
    """Draw one row of weights as ``ax.bar(tokens, row)`` does: equal names share one place.

    Examples
    --------
    >>> ax = bars(["the", "cat", "the"], [0.5, 0.3, 0.2])
    >>> len(ax.patches), len(ax.get_xticks())
    (3, 2)
    """
    ax = axes_for(ax, 3.4, 2.6)
    drawn = ax.bar(tokens, row, color=palette.RUN)
    ax.set(ylim=(0, 1), ylabel="weight")
    ax.spines[["top", "right"]].set_visible(False)
    tops: dict[str, float] = {}
    for token, bar in zip(tokens, drawn, strict=True):
        tops[token] = max(tops.get(token, 0.0), float(bar.get_height()))
    told = ", ".join(f"{token} {number(top)}" for token, top in tops.items())
    remember(
        ax,
        f"The bars that can be seen: {told}.",
        html_table(list(tops), [("height", list(map(number, tops.values())))]),
    )
    return ax


def maps(heads: Sequence[tuple[int, int]], *, seed: int = 1) -> Wall:
    """Draw what some heads of the tiny model look like on one of its sequences.

    Parameters
    ----------
    heads : sequence of (layer, head)
    seed : int
        Of the sequence.

    Returns
    -------
    Wall

    Examples
    --------
    >>> [ax.get_title("left") for ax in maps([(0, 1)])]
    ['layer 0, head 1']
    """
    tokens, _ = tiny_model.sequences(1, seed=seed)
    run = tiny_model.forward(tiny_model.load(), tokens[0])
    letters, allowed = list(tiny_model.text(tokens)), np.tri(tokens.size, dtype=bool)
    axes = figures.panels(len(heads), columns=2, size=(5.9, 4.9))
    # Room for the colour bars, which stand outside their axes.
    axes[0].figure.get_layout_engine().set(wspace=0.2)
    for ax, (layer, head) in zip(axes, heads, strict=True):
        title = f"layer {layer}, head {head}"
        figures.plot_weights(run[f"layer{layer}.weights"][head], allowed, tokens=letters, title=title, ax=ax)
    return Wall(axes)
