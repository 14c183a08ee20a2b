"""What a call costs here and now: peak bytes, seconds at best, how both grow with T, and whether it would fit at all.

Peaks are counted by tracemalloc, to which Python and NumPy report what they allocate. It does not see what other
libraries take by themselves: PyTorch, JAX, the workspace of BLAS.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from IPython import get_ipython
from IPython.display import ProgressBar
from numpy.typing import ArrayLike, DTypeLike, NDArray

from . import validate
from .units import readable

__all__ = [
    "Growth",
    "fits",
    "free_bytes",
    "growth",
    "must_fit",
    "peak_bytes",
    "readable",
    "score_bytes",
    "seconds",
    "slopes",
]

PATIENCE = 2.0  # seconds that may pass without a progress bar
CONTAINER = Path("/sys/fs/cgroup")  # where Linux tells what a container may use


def score_bytes(T: int, dtype: DTypeLike = np.float32, n_heads: int = 1) -> int:
    """Count the bytes of the scores, T x T per head, of one layer and one sequence.

    Examples
    --------
    >>> score_bytes(4096), readable(score_bytes(4096))
    (67108864, '64 MiB')
    """
    T, n_heads = validate.whole_number("T", T), validate.whole_number("n_heads", n_heads)
    return T * T * np.dtype(dtype).itemsize * n_heads


def free_bytes() -> int:
    """Ask how much memory a new array may take: what the machine has left, or less where a container limits it."""
    free = psutil.virtual_memory().available
    try:
        limit, used = (
            (CONTAINER / name).read_text(encoding="utf-8") for name in ("memory.max", "memory.current")
        )
    except OSError:  # no container, or not Linux
        return free
    return free if limit.strip() == "max" else max(0, min(free, int(limit) - int(used)))


def fits(T: int, dtype: DTypeLike = np.float32, n_heads: int = 1, *, matrices: int = 1) -> bool:
    """Tell whether `matrices` score matrices fit into the memory that is free, with some left for all else."""
    return matrices * score_bytes(T, dtype, n_heads) < 0.8 * free_bytes()


def must_fit(T: int, dtype: DTypeLike = np.float32, n_heads: int = 1, *, matrices: int = 1) -> None:
    """Refuse what `fits` denies, before anything is allocated.

    Raises
    ------
    MemoryError
        With both sizes.
    """
    if not fits(T, dtype, n_heads, matrices=matrices):
        heads = "one head" if n_heads == 1 else f"{n_heads} heads"
        times = "" if matrices == 1 else f"{matrices} times "
        raise MemoryError(
            f"T={T:,} in {np.dtype(dtype)} needs {times}{readable(score_bytes(T, dtype, n_heads))} for {heads}; "
            f"this machine has {readable(free_bytes())} free. Choose a smaller T, or compute it in tiles."
        )


def peak_bytes(function: Callable[..., Any], *args: Any, **kwargs: Any) -> int:
    """Call a function and count how many bytes it held at once, its result included, its arguments not.

    Examples
    --------
    >>> 8_000_000 <= peak_bytes(np.ones, (1000, 1000)) < 8_100_000
    True
    """
    with _tracing():
        gc.collect()
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        result = function(*args, **kwargs)
        _, peak = tracemalloc.get_traced_memory()
        del result
    return max(0, peak - before)


def seconds(function: Callable[..., Any], *args: Any, rounds: int = 5) -> float:
    """Time a call: once to warm up, then the shortest of `rounds`, since whatever else runs can only make it longer."""
    function(*args)
    return min(_timed(function, args) for _ in range(validate.whole_number("rounds", rounds)))


@dataclass(frozen=True, eq=False)
class Growth:
    """What `growth` measured: one entry per T. It prints as a table.

    Attributes
    ----------
    T : ndarray of int
    seconds : ndarray
        The shortest of the timed calls.
    bytes : ndarray of int
        Peaks.
    """

    T: NDArray[np.integer]
    seconds: NDArray[np.floating]
    bytes: NDArray[np.integer]

    def __str__(self) -> str:
        rows = zip(self.T, self.seconds, self.bytes, strict=True)
        lines = [f"{T:>9,} {1000 * took:>12,.2f} {readable(peak):>12}" for T, took, peak in rows]
        return "\n".join([f"{'T':>9} {'milliseconds':>12} {'peak':>12}", *lines])

    __repr__ = __str__


def growth(
    function: Callable[..., Any],
    ladder: Sequence[int],
    inputs: Callable[[int], tuple[Any, ...]],
    *,
    matrices: int = 0,
    rounds: int = 5,
) -> Growth:
    """Measure time and peak of ``function(*inputs(T))`` for each T of a ladder, the smallest first.

    Parameters
    ----------
    function : callable
    ladder : sequence of int
        Increasing values of T.
    inputs : callable
        Makes the arguments for a T; neither timed nor counted.
    matrices : int
        How many T x T matrices in float32 the function holds. All of the ladder is checked against the memory
        before the first call.
    rounds : int
        Timed calls per T, after one to warm up.

    Returns
    -------
    Growth

    Raises
    ------
    MemoryError
        If a T of the ladder would not fit.
    ValueError
        If the ladder does not increase.

    Notes
    -----
    A progress bar appears in a notebook where it takes more than two seconds.
    """
    ladder = [validate.whole_number("T", T) for T in ladder]
    if not ladder or any(a >= b for a, b in pairwise(ladder)):
        raise validate.refusal("ladder must hold increasing values of T", ladder, "sort them")
    if matrices:
        must_fit(ladder[-1], matrices=matrices)
    measured: list[tuple[float, int]] = []
    with _progress(len(ladder)) as step:
        for i, T in enumerate(ladder):
            # At worst the time grows as T².
            expected = measured[-1][0] * (T / ladder[i - 1]) ** 2 * (rounds + 2) if measured else 0.0
            step(i, expected)
            args = inputs(T)
            measured.append((seconds(function, *args, rounds=rounds), peak_bytes(function, *args)))
        step(len(ladder), 0.0)
    times, peaks = zip(*measured, strict=True)
    return Growth(np.array(ladder), np.array(times), np.array(peaks))


def slopes(sizes: ArrayLike, values: ArrayLike) -> NDArray[np.floating]:
    """Give the exponent p of ``values ~ sizes ** p`` between neighbours: the slope of the log-log line there.

    Parameters
    ----------
    sizes, values : array_like, shape (n,)
        Positive.

    Returns
    -------
    ndarray, shape (n - 1,)

    Examples
    --------
    >>> slopes([1, 2, 4], [1, 4, 16])
    array([2., 2.])
    """
    return np.diff(np.log(values)) / np.diff(np.log(sizes))


def _timed(function: Callable[..., Any], args: tuple[Any, ...]) -> float:
    begin = time.perf_counter()
    function(*args)
    return time.perf_counter() - begin


@contextmanager
def _tracing() -> Iterator[None]:
    """Trace allocations, and stop unless somebody traced before."""
    traced = tracemalloc.is_tracing()
    if not traced:
        tracemalloc.start()
    try:
        yield
    finally:
        if not traced:
            tracemalloc.stop()


@contextmanager
def _progress(total: int) -> Iterator[Callable[[int, float], None]]:
    """Give a function that tells how far we are, and shows it where it has taken, or will take, too long."""
    begin, bar = time.monotonic(), ProgressBar(total)
    shown = False

    def step(done: int, expected: float) -> None:
        nonlocal shown
        late = time.monotonic() - begin + expected > PATIENCE and done < total
        if not shown and late and get_ipython() is not None:
            bar.display()
            shown = True
        if shown:
            bar.progress = done

    yield step
