"""When to draw, and which figures a cell has left behind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

WAIT = 0.015  # seconds: about one frame of a screen
_figures: dict[str, tuple[int, list[Any]]] = {}


class Coalesced:
    """Calls a function for a burst of calls: at once for the first, once more after the last.

    In between it is called at most once in `WAIT` seconds, however fast the calls come, and each time with things
    as they stand then. Without an event loop (a script) every call goes through.
    """

    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function
        self._last = -WAIT
        self._waiting = False

    def __call__(self) -> None:
        if self._waiting:
            return  # the call that waits will find the newest values
        left = self._last + WAIT - time.monotonic()
        loop = _loop()
        if left <= 0 or loop is None:
            self._run()
        else:
            self._waiting = True
            loop.call_later(left, self._run)

    def _run(self) -> None:
        self._waiting = False
        self._function()
        self._last = time.monotonic()  # after the drawing: a slow one leaves time for messages in between


def _loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def adopt(figure: Any) -> None:
    """Remember a figure with the cell that made it, and close those of the cell's earlier runs."""
    try:
        from IPython import get_ipython

        shell = get_ipython()
        cell_id = shell.get_parent()["metadata"]["cellId"]
    except (ImportError, AttributeError, KeyError, TypeError):
        return  # not in a notebook
    run, figures = _figures.get(cell_id, (None, []))
    if run != shell.execution_count:
        for old in figures:
            old.close()
        figures = []
    _figures[cell_id] = (shell.execution_count, [*figures, figure])
