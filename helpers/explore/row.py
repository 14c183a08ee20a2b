"""One row of attention by hand, live: move a query, a key or a value, and see the weights and the output follow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .. import figures, validate
from ..attention import attention_weights
from ..figures.words import listed, number
from . import given
from .controls import Choice, Number
from .live import Frame, LiveFigure

MOST_KEYS = 4  # more would not be told apart in a small plane
WITHIN = 0.1  # two numbers so close count as equal
ENTRIES = ("first", "second")


class _Entry(Number):
    """One number of a vector, on the page while that vector is the one to move."""

    def __init__(self, name: str, value: float, reach: float, shown: bool) -> None:
        super().__init__(name, value, -reach, reach, step=reach / 100)
        self._shown = shown
        self._line: Any = None

    def widget(self) -> Any:
        self._line = super().widget()
        self.appear(self._shown)
        return self._line

    def appear(self, shown: bool) -> None:
        """Come to the page, or leave it."""
        self._shown = shown
        if self._line is not None:
            self._line.layout.display = None if shown else "none"


def row(
    q: ArrayLike, K: ArrayLike, V: ArrayLike, *, goal: str = "equal", key: int = 1, share: float = 0.9
) -> LiveFigure:
    """Move the numbers of one query, its keys and their values; see the weights and the output.

    Parameters
    ----------
    q : array-like, shape (2,)
    K, V : array-like, shape (n_k, 2)
        2 to 4 keys, and a value for each.
    goal : str
        ``"equal"``: a value 0 with which both numbers of the output are equal.
        ``"query"``: a query that gives `key` more than `share` of its weight.
    key, share : int, float
        What the goal about the query means.

    Returns
    -------
    LiveFigure

    Raises
    ------
    ValueError
        If shapes do not fit, a number is not finite, there is no such goal or key, the goal is met at the start,
        or no vector on the scale of the sliders meets it.

    Examples
    --------
    >>> row([1, 0], [[1, 0], [0, 1]], [[100, 0], [0, 20]]).frame().says
    'The output [66.98, 6.60] is 0.67 of value 0 [100, 0] and 0.33 of value 1 [0, 20].'
    """
    start, names = _vectors(q, K, V)
    n = len(names) // 2
    reaches = [_reach(start[: n + 1], 5.0)] * (n + 1) + [_reach(start[n + 1 :], 1.0)] * n
    key = given.position("key", key, n)
    goals = {
        "equal": (
            "value 0",
            f"until the two numbers of the output differ by less than {WITHIN}. Do the weights move?",
        ),
        "query": ("query", f"until it gives key {key} more than {share:g} of its weight."),
    }
    validate.choice("goal", goal, tuple(goals))
    moving, until = goals[goal]

    def met(vectors: np.ndarray) -> bool:
        weights, output = _attend(vectors, n)
        return bool(weights[key] > share if goal == "query" else abs(output[0] - output[1]) < WITHIN)

    if met(start):
        raise ValueError(f"goal {goal!r} is met at the start: pass numbers that do not meet it yet")
    if not _within_reach(start, n, reaches[names.index(moving)], None if goal == "equal" else (key, share)):
        raise ValueError(
            f"no {moving} within reach meets goal {goal!r}: pass other keys, values or a smaller share"
        )
    choice = Choice("move", names, moving)
    entries = {
        f"{name}, {which}": _Entry(f"{name}, {which}", float(number), reach, name == moving)
        for name, vector, reach in zip(names, start, reaches, strict=True)
        for which, number in zip(ENTRIES, vector, strict=True)
    }

    def chosen() -> None:
        for name, entry in entries.items():
            entry.appear(name.rpartition(",")[0] == choice.value)

    choice.observe(chosen)

    def draw(move: str, **numbers: float) -> Frame:
        vectors = np.array(list(numbers.values())).reshape(-1, 2)
        weights, output = _attend(vectors, n)
        written = _written(vectors, names)
        pictures = {
            **_planes(vectors, output, reaches),
            "weights": figures.bars(written[1 : n + 1], {"weight": weights}, digits=2),
        }
        others_stay = all((vectors == start).all(axis=1) | (np.array(names) == moving))
        return Frame(pictures, _says(weights, written[n + 1 :], output), others_stay and met(vectors))

    goal_says = f"Move only {'the query' if moving == 'query' else moving}, {until}"
    return LiveFigure("One row by hand", goal_says, {"move": choice, **entries}, draw)


def _vectors(q: ArrayLike, K: ArrayLike, V: ArrayLike) -> tuple[np.ndarray, list[str]]:
    """Query, keys and values below each other, (2 n_k + 1, 2), and what each is called."""
    q, K, V = validate.floats(q=q, K=K, V=V)
    n = len(K) if K.ndim == 2 else 0
    if q.shape != (2,) or K.shape != (n, 2) or V.shape != (n, 2) or not 2 <= n <= MOST_KEYS:
        raise validate.refusal(
            f"q must be (2,), K and V (n_k, 2) with 2 to {MOST_KEYS} keys",
            f"q {q.shape}, K {K.shape}, V {V.shape}",
            "a plane shows vectors of two numbers, and a value belongs to each key",
        )
    for name, array in (("q", q), ("K", K), ("V", V)):
        validate.finite(name, array)
    vectors = np.concatenate([q[None], K, V]).astype(np.float64)
    return vectors, ["query", *(f"key {k}" for k in range(n)), *(f"value {k}" for k in range(n))]


def _reach(vectors: np.ndarray, least: float) -> float:
    """How far a scale goes to both sides, to have room for these: 1, 2 or 5 times a power of ten.

    Examples
    --------
    >>> _reach(np.array([3, -17]), 5.0), _reach(np.array([1, 0]), 5.0)
    (20.0, 5.0)
    """
    largest = max(float(np.abs(vectors).max()), least)
    power = 10.0 ** np.floor(np.log10(largest))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= largest))


def _attend(vectors: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights (n_k,) and output (2,) of the query in the first row."""
    q, K, V = vectors[:1], vectors[1 : n + 1], vectors[n + 1 :]
    weights = attention_weights(q, K)  # (1, 2), (n_k, 2) -> (1, n_k)
    return weights[0], (weights @ V)[0]  # (1, n_k) @ (n_k, 2) -> (1, 2)


def _within_reach(start: np.ndarray, n: int, reach: float, asked: tuple[int, float] | None) -> bool:
    """Whether a vector on the scale meets the goal: a share for a key, or else equal numbers of the output."""
    if asked is None:
        weights, _ = _attend(start, n)
        # Value 0 moves the difference of the two numbers by its own difference, times its weight.
        rest = weights[1:] @ start[n + 2 :]
        return bool(abs(rest[0] - rest[1]) < 2 * reach * weights[0])
    key, share = asked
    side = np.linspace(-reach, reach, 101)
    queries = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    return bool((attention_weights(queries, start[1 : n + 1])[:, key] > share).any())


def _planes(vectors: np.ndarray, output: np.ndarray, reaches: list[float]) -> dict[str, figures.Picture]:
    """Query and keys in one plane, values and output in another."""
    n = len(vectors) // 2
    match = {"key": vectors[1 : n + 1], "query": vectors[:1]}
    read = {"value": vectors[n + 1 :], "output": output[None]}
    return {
        "query and keys": figures.plane(match, limits=(-reaches[0], reaches[0]), arrows=True),
        "values and output": figures.plane(read, limits=(-reaches[-1], reaches[-1]), hull="value"),
    }


def _written(vectors: np.ndarray, names: list[str]) -> list[str]:
    """Every vector with its name and its numbers."""
    pairs = zip(names, vectors.tolist(), strict=True)
    return [f"{name} [{number(x)}, {number(y)}]" for name, (x, y) in pairs]


def _says(weights: np.ndarray, values: list[str], output: np.ndarray) -> str:
    shares = [f"{number(weight)} of {value}" for weight, value in zip(weights, values, strict=True)]
    return f"The output [{number(output[0])}, {number(output[1])}] is {listed(shares, most=MOST_KEYS)}."
