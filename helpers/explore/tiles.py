"""Exact attention in tiles, live: watch one tile after the other, and what is kept of those that have gone by."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import figures, patterns, validate
from ..attention import attention
from ..figures.words import count, number
from ..tiled import Step, sweep
from .controls import Number, Switch
from .live import Frame, LiveFigure

LARGEST = 10  # positions: cells that still hold their numbers
SECONDS = 0.4  # for one tile, when they are played
HELD = 8  # scores that may be held at once, in the goal
_RNG = np.random.default_rng(8)
_Q, _K, _V = (_RNG.normal(size=(8, width)).round(1) for width in (4, 4, 2))


class _Steps(Number):
    """Which tile is at work: by slider, by number, or by a button that plays them one after the other."""

    def __init__(self, high: int) -> None:
        super().__init__("tile number", 1, 1, high)
        self._play: Any = None

    def widget(self) -> Any:
        import ipywidgets as widgets

        line = super().widget()
        # ipywidgets has a player of its own, but its buttons have no names.
        self._play = widgets.ToggleButton(description="play", layout={"width": "auto"})
        self._play.observe(lambda change: self._start() if change["new"] else None, "value")
        return widgets.HBox(
            [line, self._play], layout={"flex_flow": "row wrap", "align_items": "center", "max_width": "100%"}
        )

    def _start(self) -> None:
        if self.value == self.high:
            self._set(1)
        self._wait()

    def _wait(self) -> None:
        try:
            asyncio.get_running_loop().call_later(SECONDS, self._step)
        except RuntimeError:  # no event loop, so nobody watches
            self._play.value = False

    def _step(self) -> None:
        if not self._play.value:
            return
        self._set(min(self.value + 1, self.high))
        if self.value < self.high:
            self._wait()
        else:
            self._play.value = False

    def reach(self, high: int) -> None:
        """Let there be so many tiles; the present one stays, if there still is such a one."""
        self.high = high
        for widget in (self._slider, self._box):
            if widget is not None:
                widget.max = high  # clips the widget's own value, which sets ours
        self._set(min(self.value, high))


def tiles(Q: ArrayLike = _Q, K: ArrayLike = _K, V: ArrayLike = _V) -> LiveFigure:
    """Watch attention computed in tiles.

    Parameters
    ----------
    Q, K : array-like, shape (T, d_k)
        2 to 10 positions.
    V : array-like, shape (T, d_v)

    Returns
    -------
    LiveFigure

    Raises
    ------
    ValueError
        If shapes do not fit, or a number is not finite.

    Examples
    --------
    >>> tiles().frame().says[:71]
    'Tile 1 of 4: queries 0 to 3 with keys 0 to 3. 16 of 64 scores are held.'
    """
    Q, K, V = validate.floats(Q=Q, K=K, V=V)
    if Q.ndim != 2 or not 2 <= len(Q) <= LARGEST or len(K) != len(Q):
        expected = f"Q and K must be (T, d_k) with 2 to {LARGEST} positions"
        raise validate.refusal(
            expected, f"{Q.shape} and {K.shape}", "pick one head, and few enough cells to read"
        )
    T = len(Q)
    scores = Q @ K.T / Q.shape[1] ** 0.5  # only to be shown
    exact = {on: attention(Q, K, V, patterns.causal(T) if on else None) for on in (False, True)}
    steps = cache(lambda rows, keys, on: list(sweep(Q, K, V, tile=(rows, keys), causal=on)))
    least = min(
        _computed(steps(rows, keys, True))
        for rows in range(1, T + 1)
        for keys in range(1, T + 1)
        if rows * keys <= HELD
    )
    goal = (
        f"Switch the causal mask on. Choose a tile of at most {HELD} cells, so that as few tiles as possible are "
        "computed, and go to the last one. How far is the output from that of attention?"
    )
    half = max(1, T // 2)
    at = _Steps(len(steps(half, half, False)))
    controls = {
        "rows": Number("queries a tile", half, 1, T),
        "keys": Number("keys a tile", half, 1, T),
        "causal": Switch("causal mask"),
        "at": at,
    }

    def cut() -> None:
        at.reach(len(steps(*(controls[name].value for name in ("rows", "keys", "causal")))))

    for name in ("rows", "keys", "causal"):
        controls[name].observe(cut)

    def draw(rows: int, keys: int, causal: bool, at: int) -> Frame:
        done = steps(rows, keys, causal)[:at]
        all_steps = len(steps(rows, keys, causal))
        blocked = ~patterns.causal(T) if causal else np.zeros((T, T), bool)
        pictures = {
            "scores held, and what is kept of each query": _cells(done, scores, blocked),
            "output so far": figures.matrix(done[-1].out, axes=("query i (reads)", "feature")),
        }
        few = rows * keys <= HELD and causal and _computed(steps(rows, keys, causal)) == least
        says = _says(done, all_steps, blocked, exact[causal])
        return Frame(pictures, says, few and at == all_steps)

    return LiveFigure("Attention in tiles", goal, controls, draw)


def _computed(steps: list[Step]) -> int:
    return sum(not step.skipped for step in steps)


def _cells(done: list[Step], scores: np.ndarray, blocked: np.ndarray) -> figures.Picture:
    now, gone = done[-1], np.zeros(scores.shape, bool)
    for step in done[:-1]:
        gone[step.queries.start : step.queries.stop, step.keys.start : step.keys.stop] = True
    side = [
        f"{number(largest)}, {number(total)}" if total else "—"
        for largest, total in zip(now.running_max, now.running_sum, strict=True)
    ]
    return figures.tile(scores, blocked, gone, now.queries, now.keys, side=("max, sum of exp", side))


def _says(done: list[Step], all_steps: int, blocked: np.ndarray, exact: np.ndarray) -> str:
    now = done[-1]
    cells = len(now.queries) * len(now.keys)
    held = cells - int(blocked[now.queries.start : now.queries.stop, now.keys.start : now.keys.stop].sum())
    where = f"Tile {len(done)} of {all_steps}: {_range('query', now.queries)} with {_range('key', now.keys)}."
    what = (
        "No cell of it is allowed, so it is skipped."
        if now.skipped
        else f"{held} of {blocked.size} scores {'is' if held == 1 else 'are'} held."
    )
    said = [where, what, f"{count(_computed(done), 'tile')} computed so far."]
    if len(done) == all_steps:
        off = float(np.abs(now.out - exact).max())
        said.append(f"The output differs from that of attention by at most {off:.1g}, which is rounding.")
    return " ".join(said)


def _range(noun: str, positions: range) -> str:
    if len(positions) == 1:
        return f"{noun} {positions[0]}"
    return f"{'queries' if noun == 'query' else 'keys'} {positions[0]} to {positions[-1]}"
