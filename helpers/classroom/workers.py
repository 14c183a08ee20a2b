"""The same work on many things, on as many processors as there are, in order and with a bar where it takes long."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import click

MOST = 4  # more would wait for the disk
WORTH = 80  # from so many things on, starting processes takes less time than it saves


def spread(
    work: Callable[[Any], Any],
    things: Sequence[Any],
    workers: int | None = None,
    label: str = "",
    at_once: int = 20,
) -> list[Any]:
    """
    Apply a function to each thing.

    Parameters
    ----------
    work : callable
        A function of a module: other processes import it.
    things : sequence
    workers : int, optional
        How many processes; 1 stays in this one. Default: by the number of things and of processors.
    label : str
        What the bar says. Without it, and where nobody looks at a terminal, there is none.
    at_once : int
        How many things a process takes at a time: few, where some take much longer than others.

    Returns
    -------
    list
        Results in the order of the things.
    """
    if workers is None:
        workers = min(MOST, os.cpu_count() or 1) if len(things) >= WORTH else 1
    with click.progressbar(
        length=len(things), label=label, hidden=not label or len(things) < WORTH or not sys.stdout.isatty()
    ) as bar:
        if workers == 1:
            return list(_counted(map(work, things), bar))
        with ProcessPoolExecutor(workers, _context(work)) as pool:
            return list(_counted(pool.map(work, things, chunksize=at_once), bar))


def _context(work: Callable[[Any], Any]) -> Any:
    """How processes start: never as a copy of this one, whose threads (PyTorch's, JAX's) a copy would not have."""
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([work.__module__])  # so that what all of them need is read in once
    return context


def _counted(results: Iterable[Any], bar: Any) -> Iterator[Any]:
    for result in results:
        bar.update(1)
        yield result
