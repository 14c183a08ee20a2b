"""
Time and memory of causal attention, one head, float32, d = 64: ``python -m tests.benchmarks.tiled``.

Each contender runs in a process of its own, one after the other, round after round: in one process PyTorch's waiting
threads slow down whoever comes next. Times are medians over the rounds of each round's median. Memory is how far the
process grew over what it held before the call; for Python's own arrays tracemalloc counts it as well.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import psutil

from helpers import tiled
from helpers.measure import fits, peak_bytes, readable
from helpers.tiled import tiled_attention

SIZES = (1024, 2048, 4096, 8192, 16384)
D = 64
MATRICES = 4  # score matrices that a dense computation holds at once, at most
PAUSE = 0.5  # seconds between processes


def arrays(T: int, scale: float = 1.0) -> list[np.ndarray]:
    """Q, K and V, (T, d) each."""
    Q, K, V = np.random.default_rng(T).normal(size=(3, T, D)).astype(np.float32)
    return [np.float32(scale) * Q, K, V]


def tiles(T: int) -> Callable[[], Any]:
    return partial(tiled_attention, *arrays(T), causal=True)


def tiles_with_large_scores(T: int) -> Callable[[], Any]:
    """Scores beyond 20, so that each tile's maximum is needed."""
    return partial(tiled_attention, *arrays(T, 10.0), causal=True)


def products(T: int) -> Callable[[], Any]:
    """The two products of each tile and no softmax between them: the floor of any such program."""

    def add_product(
        scores: Any, V: Any, running_max: Any, running_sum: Any, out: Any, **options: Any
    ) -> None:
        out += scores @ V

    tiled.add_tile = add_product
    return partial(tiled_attention, *arrays(T), causal=True, empty_rows="zero")


def dense(T: int) -> Callable[[], Any]:
    """Attention as one writes it down."""
    Q, K, V = arrays(T)

    def run() -> np.ndarray:
        scores = np.where(np.tri(T, dtype=bool), Q @ K.T / D**0.5, np.float32(-np.inf))
        exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return exps / exps.sum(axis=-1, keepdims=True) @ V

    return run


def torch(T: int) -> Callable[[], Any]:
    import torch

    Q, K, V = (torch.from_numpy(X)[None, None] for X in arrays(T))
    return partial(torch.nn.functional.scaled_dot_product_attention, Q, K, V, is_causal=True)


def jax(T: int) -> Callable[[], Any]:
    import jax

    Q, K, V = (jax.numpy.asarray(X)[None, :, None] for X in arrays(T))
    run = jax.jit(partial(jax.nn.dot_product_attention, is_causal=True))
    return lambda: run(Q, K, V).block_until_ready()


CONTENDERS = {
    "tiles": tiles,
    "tiles, large scores": tiles_with_large_scores,
    "bare products": products,
    "torch sdpa": torch,
    "dense numpy": dense,
    "jax": jax,
}
HOLDS_ALL_SCORES = ("dense numpy", "jax")


def timed(name: str, T: int, budget: float) -> float:
    """The median time of a call, of as many as `budget` seconds allow, three at least."""
    call, times = CONTENDERS[name](T), []
    call()
    call()
    while len(times) < 3 or sum(times) < budget:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return median(times)


def memory(name: str, T: int) -> dict[str, int]:
    """How many bytes a call needs, by the size of the process, and by tracemalloc where that sees it."""
    CONTENDERS[name](128)()  # what is loaded and started only once
    call = CONTENDERS[name](T)
    clear = Path("/proc/self/clear_refs")
    if clear.exists():
        clear.write_text("5", encoding="utf-8")  # forget the peak so far
    before = psutil.Process().memory_info().rss
    call()
    needed = {"process": max(0, peak_rss() - before)}
    if name not in ("torch sdpa", "jax"):
        needed["traced"] = peak_bytes(call)
    return needed


def peak_rss() -> int:
    """The most memory this process ever held."""
    status = Path("/proc/self/status")
    if status.exists():
        lines = status.read_text(encoding="utf-8").splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])
    info = psutil.Process().memory_info()
    if hasattr(info, "peak_wset"):
        return info.peak_wset
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def in_own_process(job: str, name: str, T: int, budget: float) -> Any:
    """What `timed` or `memory` says in a fresh process."""
    time.sleep(PAUSE)
    command = [sys.executable, "-m", "tests.benchmarks.tiled", "--job", job, name, str(T), str(budget)]
    ran = subprocess.run(command, capture_output=True, encoding="utf-8")
    if ran.returncode:
        raise SystemExit(f"{name} at T={T} failed:\n{ran.stderr}")
    return json.loads(ran.stdout)


def absent(name: str) -> bool:
    """Whether a contender's library is not installed."""
    library = {"torch sdpa": "torch", "jax": "jax"}.get(name)
    found = (
        library is None
        or not subprocess.run([sys.executable, "-c", f"import {library}"], capture_output=True).returncode
    )
    if not found:
        print(f"{name} is left out: {library} is not installed (pip install -r requirements-frameworks.txt).")
    return not found


def table(title: str, rows: dict[str, dict[int, str]], sizes: list[int]) -> None:
    print(f"\n{title:<24}" + "".join(f"{f'T={T:,}':>14}" for T in sizes))
    for name, cells in rows.items():
        print(f"{name:<24}" + "".join(f"{cells.get(T, ''):>14}" for T in sizes))


def main() -> None:
    """Print two tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="T")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=CONTENDERS, default=list(CONTENDERS), metavar="NAME")
    parser.add_argument("--budget", type=float, default=0.5, help="seconds of calls per size and round")
    parser.add_argument("--job", nargs=4, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.job:
        job, name, T, budget = chosen.job
        print(json.dumps(timed(name, int(T), float(budget)) if job == "time" else memory(name, int(T))))
        return

    names = [name for name in chosen.only if not absent(name)]
    pairs = [(name, T) for T in chosen.sizes for name in names]
    for name, T in [
        pair for pair in pairs if pair[0] in HOLDS_ALL_SCORES and not fits(pair[1], matrices=MATRICES)
    ]:
        print(f"{name} is left out at T={T:,}: its scores would not fit into the memory of this machine.")
        pairs.remove((name, T))
    times: dict[tuple[str, int], list[float]] = {pair: [] for pair in pairs}
    for _ in range(chosen.rounds):
        for pair in pairs:
            times[pair].append(in_own_process("time", *pair, chosen.budget))
    middle = {pair: median(each) for pair, each in times.items()}
    best = {pair: min(each) for pair, each in times.items()}
    for title, of in (("milliseconds, median", middle), ("milliseconds, best", best)):
        table(
            title,
            {name: {T: f"{1000 * of[n, T]:,.2f}" for n, T in pairs if n == name} for name in names},
            chosen.sizes,
        )
    if "torch sdpa" in names:
        ratios = {
            name: {T: f"{middle[n, T] / middle['torch sdpa', T]:.2f}" for n, T in pairs if n == name}
            for name in names
        }
        table("times torch's", ratios, chosen.sizes)
    needed = {pair: in_own_process("memory", *pair, 0.0) for pair in pairs}
    for kind in ("process", "traced"):
        rows = {
            name: {T: readable(needed[n, T][kind]) for n, T in pairs if n == name and kind in needed[n, T]}
            for name in names
        }
        table(f"peak, {kind}", {name: cells for name, cells in rows.items() if cells}, chosen.sizes)


if __name__ == "__main__":
    main()
