"""Bytes of the scores, live: how they grow with T, heads, layers and dtype, and whether this machine holds them."""

from __future__ import annotations

import numpy as np

from .. import figures, validate
from ..figures import in_bytes
from ..figures.words import count
from .controls import Choice, Number
from .live import Frame, LiveFigure
from .powers import Power

FIRST, LAST = 256, 1_048_576  # ends of the slider for T
TILE = 128  # rows and columns of a tile
MOST_HEADS, MOST_LAYERS = 128, 128
DTYPES = ("float16", "float32", "float64")


def growth(*, heads: int = 8, dtype: str = "float32", memory: float | None = None) -> LiveFigure:
    """Count the bytes of the scores, against the memory of this machine and against what tiles need.

    Parameters
    ----------
    heads : int
        How many heads there are at the start, and in the goal.
    dtype : {"float32", "float16", "float64"}
        The same for the numbers.
    memory : float, optional
        Bytes to compare with; those of this machine if not given.

    Returns
    -------
    LiveFigure

    Raises
    ------
    ValueError
        If heads is not a whole number from 1 to 128, there is no such dtype, or the scores of the shortest T
        do not fit the memory.

    Examples
    --------
    >>> growth(memory=2**34).frame().says[:76]
    'At T = 256, the scores of 1 layer with 8 heads in float32 take 2 MiB (2.097 '
    """
    heads = validate.whole_number("heads", heads)
    if heads > MOST_HEADS:
        raise validate.refusal(f"heads must be at most {MOST_HEADS}", heads, "pass fewer")
    validate.choice("dtype", dtype, DTYPES)
    whose = "this machine's memory" if memory is None else "a memory"
    memory = validate.positive_number("memory", memory_here() if memory is None else memory)
    least = dense_bytes(FIRST, heads, 1, dtype)
    if memory < least:
        raise ValueError(f"memory must hold the scores of T = {FIRST}, {least:,} bytes, got {memory:,.0f}")
    first = FIRST
    while dense_bytes(first, heads, 1, dtype) <= memory:
        first *= 2
    last = max(LAST, first)
    lengths = [2**k for k in range(FIRST.bit_length() - 1, last.bit_length())]
    goal = (
        f"Find the smallest T on the slider at which the scores of one layer with {count(heads, 'head')} "
        f"in {dtype} no longer fit {whose} of {in_bytes(memory)}."
    )
    controls = {
        "T": Power("T", FIRST, FIRST, last),
        "heads": Number("heads", heads, 1, MOST_HEADS),
        "layers": Number("layers", 1, 1, MOST_LAYERS),
        "dtype": Choice("dtype", DTYPES, dtype),
    }
    asked = {"T": first, "heads": heads, "layers": 1, "dtype": dtype}

    def draw(**now: int | str) -> Frame:
        T, *sort = now.values()
        series = {
            "all scores": [dense_bytes(t, *sort) for t in lengths],
            "in tiles": [tiled_bytes(t, *sort) for t in lengths],
        }
        picture = figures.sizes(lengths, series, at=T, memory=memory)
        return Frame({"": picture}, _says(memory, **now), now == asked)

    return LiveFigure("Bytes of the scores", goal, controls, draw)


def memory_here() -> int:
    """Bytes of memory that this machine has."""
    import psutil

    return psutil.virtual_memory().total


def dense_bytes(T: int, heads: int, layers: int, dtype: str) -> int:
    """Bytes of all scores, a matrix (T, T) for each head of each layer.

    Examples
    --------
    >>> dense_bytes(1024, 8, 1, "float32") == 32 * 2**20
    True
    """
    return layers * heads * T * T * np.dtype(dtype).itemsize


def tiled_bytes(T: int, heads: int, layers: int, dtype: str) -> int:
    """Bytes for the same result in tiles: one tile of scores, and a maximum and a sum kept for each query.

    Source: Dao et al., FlashAttention (arXiv 2205.14135), algorithm 1.

    Examples
    --------
    >>> tiled_bytes(2048, 1, 1, "float32") - tiled_bytes(1024, 1, 1, "float32") == 1024 * 2 * 4
    True
    """
    return (TILE * TILE + layers * heads * T * 2) * np.dtype(dtype).itemsize


def _says(memory: float, T: int, heads: int, layers: int, dtype: str) -> str:
    dense, tiled = (size(T, heads, layers, dtype) for size in (dense_bytes, tiled_bytes))
    times = f"{dense / memory:,.0f}" if dense > 10 * memory else f"{dense / memory:.2g}"
    fits = f"{times} times the memory" if dense > memory else "that fits the memory"
    return (
        f"At T = {T:,}, the scores of {count(layers, 'layer')} with {count(heads, 'head')} in {dtype} take "
        f"{in_bytes(dense)}; {fits}. One tile of {TILE} by {TILE}, and a maximum and a sum for each query, "
        f"take {in_bytes(tiled)}."
    )
