"""Exact attention in tiles: the scores exist one tile at a time, so memory grows as T and not as T².

`add_tile` is the idea, the rest is bookkeeping. Each query keeps three things while the keys go by, tile
after tile: the largest score so far, the sum of exponentials so far, and the weighted sum of values so far.
`sweep` shows them after every tile. Results, dtypes and errors are those of `attention`.

FlashAttention, arXiv 2205.14135, does this on a GPU; the running softmax is from arXiv 1805.02867.
"""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import ThreadpoolController

from . import validate

Floats = NDArray[np.floating]
Align = Literal["top-left", "bottom-right"]
Job = tuple[tuple[int, ...], slice]  # which batch item, which of its queries

__all__ = ["Step", "add_tile", "start", "sweep", "tiled_attention"]

TILE_BYTES = 2**19  # one tile of scores: half a MiB stays in a core's own cache
MOST_QUERIES, FEWEST_QUERIES = 256, 64
CELLS_WORTH_A_THREAD = 2**17
BOUND = 20.0  # scores between -20 and 20 need no maximum: see `add_tile`


def start(shape: tuple[int, ...], dtype: Any = np.float64) -> tuple[Floats, Floats, Floats]:
    """Give what `add_tile` adds to, before the first tile.

    Parameters
    ----------
    shape : tuple of int
        Shape of the output, (..., n_q, d_v).
    dtype : dtype
        That of the scores, float32 or wider.

    Returns
    -------
    running_max : ndarray, shape (..., n_q, 1)
    running_sum : ndarray, shape (..., n_q, 1)
    out : ndarray, shape (..., n_q, d_v)

    Examples
    --------
    >>> running_max, running_sum, out = start((1, 1))
    >>> add_tile(np.array([[0.0, 1.0]]), np.array([[1.0], [2.0]]), running_max, running_sum, out)
    >>> add_tile(np.array([[1000.0, 999.0]]), np.array([[3.0], [4.0]]), running_max, running_sum, out)
    >>> (out / running_sum).round(6)
    array([[3.268941]])
    """
    # The lowest finite number and not -inf: where a first tile is all blocked, -inf - -inf would be NaN.
    running_max = np.full((*shape[:-1], 1), np.finfo(dtype).min, dtype)
    return running_max, np.zeros_like(running_max), np.zeros(shape, dtype)


def add_tile(
    scores: Floats, V: Floats, running_max: Floats, running_sum: Floats, out: Floats, *, bounded: bool = False
) -> None:
    """Add the keys of one tile to the softmax and output of some queries: the online softmax.

    Parameters
    ----------
    scores : ndarray, shape (n_q, n_k)
        Those of this tile, -inf where blocked. Overwritten.
    V : ndarray, shape (n_k, d_v)
        The values of this tile.
    running_max, running_sum : ndarray, shape (n_q, 1)
        Changed in place, as is `out`; `start` gives the first ones.
    out : ndarray, shape (n_q, d_v)
        The sum of exp(score - running_max) * value so far. Divided by `running_sum` it is the output.
    bounded : bool
        Promise that all scores lie between -20 and 20. Their exponentials cannot overflow, so that a
        `running_max` of 0 serves as well as the largest score and need not be looked for.
    """
    if not bounded:
        new_max = np.maximum(running_max, scores.max(axis=-1, keepdims=True))
        shrink = np.exp(running_max - new_max)  # turns exp(score - old maximum) into exp(score - new maximum)
        running_sum *= shrink
        out *= shrink
        scores -= new_max
        running_max[...] = new_max
    exps = np.exp(scores, out=scores)
    running_sum += exps @ np.ones((len(V), 1), V.dtype)  # each row's sum, faster as a product
    out += exps @ V  # (n_q, n_k) @ (n_k, d_v) -> (n_q, d_v)


def tiled_attention(
    Q: ArrayLike,
    K: ArrayLike,
    V: ArrayLike,
    *,
    causal: bool = False,
    align: Align | None = None,
    allowed: ArrayLike | None = None,
    tile: tuple[int, int] | None = None,
    empty_rows: Literal["raise", "zero"] = "raise",
    return_lse: bool = False,
) -> Floats | tuple[Floats, Floats]:
    """Compute `attention` without ever holding its score matrix; equal to it up to rounding.

    Parameters
    ----------
    Q : array_like, shape (..., n_q, d_k)
    K : array_like, shape (..., n_k, d_k)
    V : array_like, shape (..., n_k, d_v)
        Leading axes (batch, heads) are those of Q.
    causal : bool
        Let each query read its own position and the earlier ones. Tiles above the diagonal are skipped.
    align : {"top-left", "bottom-right"}
        Needed for `causal` with ``n_q != n_k``, as in `patterns.causal`.
    allowed : array_like of bool or 0/1, shape (n_q, n_k) or (..., n_q, n_k), optional
        As for `attention`; with `causal` both must allow a cell.
    tile : (int, int), optional
        Queries and keys per tile. Chosen, if left out, so that a tile stays in a core's cache.
    empty_rows : {"raise", "zero"}
        What a query without an allowed key gets: a ValueError that names it, or a row of zeros.
    return_lse : bool
        Give the logarithm of each query's sum of exp(score) as well.

    Returns
    -------
    out : ndarray, shape (..., n_q, d_v)
    lse : ndarray, shape (..., n_q)
        Only with `return_lse`; -inf for an empty row.

    Raises
    ------
    ValueError
        As `attention`; and if `tile` is not two whole numbers of at least 1, or `align` does not fit.

    Notes
    -----
    Query tiles are shared out among the cores. While they work, BLAS keeps to one thread in this process.

    Examples
    --------
    >>> tiled_attention([[1], [2]], [[1], [2]], [[10], [20]], causal=True).round(6)
    array([[10.      ],
           [18.807971]])
    """
    problem = _read(Q, K, V, causal, align, allowed, tile, empty_rows)
    running_max, running_sum, out = results = problem.new_results()

    def work(jobs: Iterator[Job]) -> None:
        """Finish one tile of queries after the other."""
        buffer = problem.new_buffer()
        with np.errstate(all="ignore"):  # exp(-1000) is 0, and should be
            for batch, rows in jobs:
                q = problem.scaled_queries(batch, rows)
                _, total, weighted = state = problem.begin(each[batch][rows] for each in results)
                for keys in problem.key_tiles(rows):
                    _visit(problem, batch, rows, keys, q, state, buffer)
                weighted /= _divisor(total)

    jobs = problem.jobs()
    _share_out(work, jobs, problem.n_threads(len(jobs)))
    if empty_rows == "raise":
        _refuse_empty(running_sum[..., 0] > 0)
    out = problem.unscaled(out)
    if not return_lse:
        return out
    with np.errstate(divide="ignore"):  # log(0) of an empty row is -inf
        return out, (running_max + np.log(running_sum))[..., 0]


@dataclass(frozen=True, eq=False)
class Step:
    """What is known after one tile of `sweep`.

    Attributes
    ----------
    queries, keys : range
        The tile: its rows and its columns.
    skipped : bool
        Whether no cell of it is allowed, so that nothing was computed.
    running_max, running_sum : ndarray, shape (n_q,)
        The largest allowed score so far, and the sum of exp(score - running_max); -inf and 0 before the first.
    out : ndarray, shape (n_q, d_v)
        Attention over the allowed keys so far; zeros before the first.
    """

    queries: range
    keys: range
    skipped: bool
    running_max: Floats
    running_sum: Floats
    out: Floats


def sweep(
    Q: ArrayLike,
    K: ArrayLike,
    V: ArrayLike,
    *,
    tile: tuple[int, int],
    causal: bool = False,
    align: Align | None = None,
    allowed: ArrayLike | None = None,
    empty_rows: Literal["raise", "zero"] = "raise",
) -> Iterator[Step]:
    """Watch `tiled_attention` at work: the state of all queries after each tile, row of tiles by row of tiles.

    Parameters
    ----------
    Q, K, V, tile, causal, align, allowed, empty_rows
        As for `tiled_attention`, but of one head: Q, K and V have two axes.

    Yields
    ------
    Step
        The last one's `out` is the result.

    Raises
    ------
    ValueError
        As `tiled_attention`, at once, and if there are more axes.

    Examples
    --------
    >>> for step in sweep([[1], [2]], [[1], [2]], [[10], [20]], tile=(1, 1), causal=True):
    ...     print(step.queries, step.keys, step.skipped, step.out.ravel().round(2))
    range(0, 1) range(0, 1) False [10.  0.]
    range(0, 1) range(1, 2) True [10.  0.]
    range(1, 2) range(0, 1) False [10. 10.]
    range(1, 2) range(1, 2) False [10.   18.81]
    """
    problem = replace(_read(Q, K, V, causal, align, allowed, tile, empty_rows), bounded=False)
    if problem.leading:
        got = f"Q of shape {problem.Q.shape}"
        raise validate.refusal("sweep must have one head, Q with two axes", got, "pick one, such as Q[0]")
    if empty_rows == "raise":
        _refuse_empty(problem.who_reads()[0])
    return _steps(problem)


def _steps(problem: _Problem) -> Iterator[Step]:
    running_max, running_sum, out = start(problem.out_shape, problem.Q.dtype)
    buffer = problem.new_buffer()
    for rows in _cut(0, problem.n_q, problem.tile[0]):
        q = problem.scaled_queries((), rows)
        state = running_max[rows], running_sum[rows], out[rows]
        for keys in _cut(0, problem.n_k, problem.tile[1]):
            with np.errstate(all="ignore"):
                visited = _visit(problem, (), rows, keys, q, state, buffer)
            yield Step(
                range(rows.start, rows.stop),
                range(keys.start, keys.stop),
                not visited,
                np.where(running_sum > 0, running_max, -np.inf)[:, 0],
                running_sum[:, 0].copy(),
                problem.unscaled(out / _divisor(running_sum)),
            )


def _visit(
    problem: _Problem,
    batch: tuple[int, ...],
    rows: slice,
    keys: slice,
    q: Floats,
    state: tuple[Floats, Floats, Floats],
    buffer: Floats,
) -> bool:
    """Compute the scores of one tile and add them to the state; False where no cell of it is allowed."""
    tile_start = rows.start
    rows, keys = problem.within_diagonal(rows, keys)
    n_q, n_k = rows.stop - rows.start, keys.stop - keys.start
    if n_q <= 0:
        return False
    blocked = None if problem.allowed is None else problem.blocked(batch, rows, keys)
    if blocked is not None and blocked.all():
        return False
    cut = rows.start - tile_start
    # Column by column in memory: maximum and subtraction then run along many queries at once, twice as fast.
    scores = buffer[: n_q * n_k].reshape(n_k, n_q).T
    np.matmul(q[cut:], problem.K[batch][keys].T, out=scores)  # (n_q, d_k) @ (d_k, n_k)
    if problem.may_overflow:
        _refuse_overflow(batch, rows, keys, scores, problem.blocked(batch, rows, keys))
    if blocked is not None:
        np.copyto(scores, -np.inf, where=blocked)
    elif problem.diagonal is not None:
        past = rows.start + problem.diagonal - keys.start  # the diagonal starts at this column
        n = n_k - past
        if n > 1:
            corner = scores[:n, past:]
            np.fmin(corner, _ceiling(min(problem.tile), scores.dtype)[:n, :n], out=corner)
    add_tile(scores, problem.V[batch][keys], *(each[cut:] for each in state), bounded=problem.bounded)
    return True


@lru_cache(maxsize=4)
def _ceiling(n: int, dtype: np.dtype) -> Floats:
    """What a causal pattern lets a score be at most, (n, n): anything up to the diagonal, -inf above it."""
    return np.where(np.tri(n, dtype=bool), np.inf, -np.inf).astype(dtype, order="F")


def _divisor(running_sum: Floats) -> Floats:
    """The sum; in an empty row, whose output is 0 already, a number to divide by. No other sum is nearly so small."""
    return np.maximum(running_sum, np.finfo(running_sum.dtype).tiny)


@dataclass(frozen=True, eq=False)
class _Problem:
    """Inputs that were checked, and how they are cut into tiles."""

    Q: Floats
    K: Floats
    V: Floats
    allowed: NDArray[np.bool_] | None
    diagonal: int | None  # if causal, query i reads the keys up to i + diagonal
    tile: tuple[int, int]
    may_overflow: bool = False
    bounded: bool = False
    shift: int = 0  # V was divided by 2**shift

    @property
    def leading(self) -> tuple[int, ...]:
        return self.Q.shape[:-2]

    @property
    def n_q(self) -> int:
        return self.Q.shape[-2]

    @property
    def n_k(self) -> int:
        return self.K.shape[-2]

    @property
    def out_shape(self) -> tuple[int, ...]:
        return (*self.Q.shape[:-1], self.V.shape[-1])

    def jobs(self) -> list[Job]:
        """Tell apart what can be worked on at once; under a diagonal the longest first, so that none is late."""
        tiles = _cut(0, self.n_q, self.tile[0])[::-1]
        return [(batch, rows) for rows in tiles for batch in product(*map(range, self.leading))]

    def n_threads(self, n_jobs: int) -> int:
        """As many as there are cores and jobs, as long as each has enough to do to be worth its start."""
        worth = math.prod(self.Q.shape[:-1]) * self.n_k // CELLS_WORTH_A_THREAD
        return max(1, min(_cores(), n_jobs, worth))

    def begin(self, state: Iterable[Floats]) -> tuple[Floats, Floats, Floats]:
        """Set maximum, sum and output of some queries to what they are before the first tile."""
        running_max, running_sum, out = state
        running_max.fill(0 if self.bounded else np.finfo(self.Q.dtype).min)
        running_sum.fill(0)
        out.fill(0)
        return running_max, running_sum, out

    def key_tiles(self, rows: slice) -> list[slice]:
        """Cut the keys that some of these queries may read."""
        stop = self.n_k if self.diagonal is None else min(self.n_k, rows.stop + self.diagonal)
        return _cut(0, stop, self.tile[1])

    def new_results(self) -> tuple[Floats, Floats, Floats]:
        """Make room for the maximum, the sum and the output of all queries."""
        column = (*self.Q.shape[:-1], 1)
        running_max, running_sum, out = (
            np.empty(shape, self.Q.dtype) for shape in (column, column, self.out_shape)
        )
        return running_max, running_sum, out

    def new_buffer(self) -> Floats:
        """Make room for the scores of one tile."""
        return np.empty(math.prod(self.tile), self.Q.dtype)

    def scaled_queries(self, batch: tuple[int, ...], rows: slice) -> Floats:
        return self.Q[batch][rows] * self.Q.shape[-1] ** -0.5

    def within_diagonal(self, rows: slice, keys: slice) -> tuple[slice, slice]:
        """Leave out those first queries and last keys of a tile that lie wholly above the diagonal."""
        if self.diagonal is None:
            return rows, keys
        first, stop = keys.start - self.diagonal, rows.stop + self.diagonal
        return slice(max(rows.start, first), rows.stop), slice(keys.start, min(keys.stop, stop))

    def blocked(self, batch: tuple[int, ...], rows: slice, keys: slice) -> NDArray[np.bool_] | None:
        """Find the blocked cells of a tile, (n_q, n_k); None where none is."""
        blocked = None if self.allowed is None else ~self.allowed[batch][rows, keys]
        if self.diagonal is not None and keys.stop - 1 > rows.start + self.diagonal:
            last = np.arange(rows.start, rows.stop) + self.diagonal
            future = (np.arange(keys.start, keys.stop)[:, None] > last).T
            blocked = future if blocked is None else blocked | future
        return blocked if blocked is not None and blocked.any() else None

    def who_reads(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Find the queries that may read some key, (..., n_q), and the keys that some query may read, (..., n_k)."""
        reading, read = np.zeros(self.Q.shape[:-1], bool), np.zeros(self.K.shape[:-1], bool)
        for batch, tile in self.jobs():
            for key_tile in self.key_tiles(tile):
                rows, keys = self.within_diagonal(tile, key_tile)
                if rows.start < rows.stop:
                    blocked = self.blocked(batch, rows, keys)
                    reading[batch][rows] |= blocked is None or ~blocked.all(axis=-1)
                    read[batch][keys] |= blocked is None or ~blocked.all(axis=-2)
        return reading, read

    def unscaled(self, out: Floats) -> Floats:
        """Undo the division of V; an output that is too large for its dtype is refused."""
        if self.shift:
            with np.errstate(all="ignore"):
                out = np.ldexp(out, self.shift)
            validate.no_overflow("weights @ V", out, ~np.isfinite(out))
        return out


def _read(
    Q: ArrayLike,
    K: ArrayLike,
    V: ArrayLike,
    causal: bool,
    align: str | None,
    allowed: ArrayLike | None,
    tile: tuple[int, int] | None,
    empty_rows: str,
) -> _Problem:
    """Check everything that can be checked without looking at each cell."""
    Q, K, V = validate.floats(Q=Q, K=K, V=V)
    shape = validate.attention_inputs(Q, K, V)
    validate.choice("empty_rows", empty_rows, ("raise", "zero"))
    if allowed is not None:
        allowed = validate.allowed_cells(allowed, shape, "zero")
    diagonal = _diagonal(causal, align, *shape[-2:])
    problem = _Problem(Q, K, V, allowed, diagonal, _tile(tile, shape, Q.itemsize))
    return _with_safe_numbers(problem, empty_rows)


def _with_safe_numbers(problem: _Problem, empty_rows: str) -> _Problem:
    """Refuse NaN and inf where they are used, put 0 where not, and see how large the results may become."""
    Q, K, V = problem.Q, problem.K, problem.V
    sizes = _longest(Q), _longest(K), _largest(V)
    if not all(map(math.isfinite, sizes)):
        reading, read = problem.who_reads()
        if empty_rows == "raise":
            _refuse_empty(reading)
        used = {"Q": (Q, reading), "K": (K, read), "V": (V, read)}
        for name, (X, rows) in used.items():
            validate.finite(name, X, rows)
        Q, K, V = (np.where(rows[..., None], X, 0) for X, rows in used.values())  # 0 * NaN would be NaN
        sizes = _longest(Q), _longest(K), _largest(V)
    largest_product = sizes[0] * sizes[1]  # q . k is at most |q| |k|
    largest_sum = sizes[2] * K.shape[-2]
    info = np.finfo(Q.dtype)
    most, least, precision = float(info.max), float(info.tiny), float(info.eps)
    # A sum of values may be too large although their average is not; powers of two divide without rounding.
    shift = K.shape[-2].bit_length() if largest_sum >= most else 0
    # Times exp(BOUND) no value may overflow, times exp(-BOUND) each must keep its digits.
    room = math.exp(BOUND) * largest_sum < most and math.exp(-BOUND) * sizes[2] * precision > least
    return replace(
        problem,
        Q=Q,
        K=K,
        V=np.ldexp(V, -shift) if shift else V,
        may_overflow=not largest_product < most,
        bounded=room and largest_product * Q.shape[-1] ** -0.5 <= BOUND,
        shift=shift,
    )


def _longest(X: Floats) -> float:
    """Give the largest length of a row; NaN or inf where a number is, or where its square overflows."""
    with np.errstate(all="ignore"):
        return math.sqrt(np.vecdot(X, X).max())


def _largest(X: Floats) -> float:
    """Give the largest absolute value, or NaN where there is one; without a temporary array."""
    with np.errstate(all="ignore"):
        return float(np.maximum(X.max(), -X.min()))


def _diagonal(causal: bool, align: str | None, n_q: int, n_k: int) -> int | None:
    """How far the diagonal of a causal pattern is shifted to the right; None without one."""
    if not isinstance(causal, (bool, np.bool_)):
        fix = "a pattern of your own goes in `allowed`"
        raise validate.refusal("causal must be True or False", type(causal).__name__, fix)
    if not causal:
        if align is not None:
            raise validate.refusal(
                "align must come with causal=True", f"align={align!r} alone", "leave it out"
            )
        return None
    if align is not None or n_q != n_k:
        fix = f"of {n_q} queries and {n_k} keys, say whether query 0 stands at key 0 or the last at the last"
        validate.choice("align", align, ("top-left", "bottom-right"), fix)
    return n_k - n_q if align == "bottom-right" else 0


def _tile(tile: Any, shape: tuple[int, ...], itemsize: int) -> tuple[int, int]:
    """Read the sizes of a tile, or choose them: enough tiles to share out, each small enough for the cache."""
    if tile is not None:
        if not (isinstance(tile, (tuple, list)) and len(tile) == 2):
            fix = "pass tile=(128, 256) or the like, or leave it out"
            raise validate.refusal("tile must be two sizes, of queries and of keys", repr(tile), fix)
        rows, keys = (validate.whole_number(f"tile[{i}]", size) for i, size in enumerate(tile))
        return min(rows, shape[-2]), min(keys, shape[-1])
    *leading, n_q, n_k = shape
    rows = MOST_QUERIES
    while rows > FEWEST_QUERIES and math.prod(leading) * math.ceil(n_q / rows) < 2 * _cores():
        rows //= 2
    return min(rows, n_q), min(TILE_BYTES // (rows * itemsize), n_k)


def _cut(begin: int, stop: int, size: int) -> list[slice]:
    """Cut positions into tiles of `size`; the last may be smaller."""
    return [slice(i, min(i + size, stop)) for i in range(begin, stop, size)]


def _refuse_empty(reading: NDArray[np.bool_]) -> None:
    """Refuse queries, (..., n_q), that may read no key."""
    validate.no_empty_rows(
        reading[..., None], 'allow one, such as its own position; attention gives zeros by empty_rows="zero"'
    )


def _refuse_overflow(
    batch: tuple[int, ...], rows: slice, keys: slice, scores: Floats, blocked: NDArray[np.bool_] | None
) -> None:
    """Refuse an allowed score that was too large for its dtype, by its place among all scores."""
    bad = ~np.isfinite(scores)
    if blocked is not None:
        bad &= ~blocked
    if bad.any():
        i, j = validate.place(bad)
        got = f"{scores[i, j]} at {(*batch, rows.start + i, keys.start + j)}"
        fix = "scale the inputs down, or pass float64 where they are float32"
        raise validate.refusal(f"Q @ K.T must not overflow {scores.dtype}", got, fix)


def _cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _share_out(work: Callable[[Iterator[Job]], None], jobs: list[Job], n_threads: int) -> None:
    """Let `n_threads` threads, this one among them, take jobs until none is left. NumPy works outside the lock."""
    waiting = deque(jobs)

    def taken() -> Iterator[Job]:
        while waiting:
            try:
                yield waiting.popleft()
            except IndexError:  # another thread was quicker
                return

    if n_threads == 1:
        work(taken())
        return
    with _blas_in_one_thread():
        others = [_pool().submit(work, taken()) for _ in range(n_threads - 1)]
        try:
            work(taken())
        finally:
            waiting.clear()  # after an error or an interrupt the others stop soon
            for other in others:
                other.cancel()  # one that has not begun has nothing left to do
        for other in others:
            if not other.cancelled():
                other.result()


@cache
def _pool() -> ThreadPoolExecutor:
    """Threads that wait between calls: to start them anew takes as long as attention over 300 positions."""
    return ThreadPoolExecutor(max(1, _cores() - 1), "tiled_attention")


if hasattr(os, "register_at_fork"):  # a forked process has the pool, but not its threads
    os.register_at_fork(after_in_child=_pool.cache_clear)


_calls_lock = threading.Lock()
_calls = 0  # how many hold BLAS to one thread now
_before: Any = None  # what restores its threads


@contextmanager
def _blas_in_one_thread() -> Iterator[None]:
    """Keep BLAS from starting threads of its own under each of ours.

    The setting is one for the whole process: the first call sets it, the last to leave restores it.
    """
    global _calls, _before
    with _calls_lock:
        if not _calls:
            _before = _blas().limit(limits=1)
        _calls += 1
    try:
        yield
    finally:
        with _calls_lock:
            _calls -= 1
            if not _calls:
                _before.restore_original_limits()


@cache
def _blas() -> ThreadpoolController:
    """The BLAS that NumPy has loaded; looking for it takes longer than setting it."""
    return ThreadpoolController()
