"""The inputs that functions are checked on, for each task from the smallest to the most extreme.

Sizes differ pairwise and values are uneven and tame, so that no wrong axis, scale or swap can pass; the
special rows follow: one key, an exact legal score of 0, a blocked score of 900, scores of 1000, and a legal
score far below -1e9 as the only one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from .. import fixture, patterns


@dataclass(frozen=True)
class Case:
    """One call.

    Parameters
    ----------
    args : dict
        What is passed in order, by the names the task uses.
    options : dict
        What is passed by name.
    size : float
        The largest score whose rounding can show in the result; the tolerance follows it.
    """

    args: dict[str, Any]
    options: dict[str, Any] = field(default_factory=dict)
    size: float = 1.0

    @property
    def given(self) -> dict[str, Any]:
        return {**self.args, **self.options}


def _draw(seed: int, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(0, 1.2, shape).round(1) + 0.0 for shape in shapes]  # + 0.0: no -0.


def _single(case: Case) -> Case:
    """The same case in float32."""
    args = {
        name: value.astype(np.float32) if isinstance(value, np.ndarray) and value.dtype == float else value
        for name, value in case.args.items()
    }
    return Case(args, case.options, case.size)


def softmax() -> list[Case]:
    small = [[2.0, 1.0], [0.5, 0.0, -1.5], [3.0], [[0.0, 1.0], [2.0, 0.0]], [0.1, 0.7, -0.4, 1.6, -2.2]]
    tame = [Case({"scores": scores}) for scores in [*map(np.array, small), *_draw(1, (3, 5), (4, 2, 3))]]
    large = [
        Case({"scores": np.array(row)}, size=abs(row[0]))
        for row in ([1000.0, 999.0], [-1e4, -9999.0, -9997.5], [1e4, 0.0, -1e4])
    ]
    apart = Case(
        {"scores": np.array([[1000.0, 1001.0], [0.0, 1.0]])}, size=1000
    )  # each row has a maximum of its own
    return [*tame, *large, apart, _single(tame[-2])]


def shifted_softmax() -> list[Case]:
    row = np.array([2.0, 0.5, 1.0])
    return [
        Case({"scores": row, "shift": 3.0}),
        Case({"scores": row, "shift": np.array([1.0, 0.0, -2.0])}),
        Case({"scores": row, "shift": 100.0}, size=100),
        Case({"scores": _draw(2, (2, 3))[0], "shift": np.array([0.5, 0.0, -1.0])}),
    ]


def masked_weights() -> list[Case]:
    S2, S3, S35, S24, S5 = _draw(3, (2, 2), (3, 3), (3, 5), (2, 4), (5, 5))
    zero = np.array([[0.4, 1.1, -0.3], [0.0, 0.8, 1.4], [1.2, 0.0, -0.7]])
    uneven = np.array([[1, 1, 0, 0, 1], [0, 1, 1, 1, 0], [1, 0, 1, 0, 0]], dtype=bool)
    padding = patterns.causal(4) & patterns.keys([1, 0, 1, 1])
    tiny = np.array([[1e-9, 0.3, 0.7], [-1e-9, 1e-6, 0.2], [1e-12, -1e-6, 0.0]])  # near 0, and ordinary
    low = S3.copy()
    lowest = S3.copy()
    low[0, 0], lowest[0, 0] = -2e4, -2e9
    return [
        Case({"scores": S2, "allowed": patterns.causal(2)}),
        Case({"scores": S3, "allowed": patterns.causal(3)}),
        Case({"scores": zero, "allowed": patterns.causal(3)}),
        Case({"scores": tiny, "allowed": patterns.causal(3)}),
        Case({"scores": -tiny, "allowed": patterns.causal(3)}),
        Case({"scores": np.array([[0.7]]), "allowed": patterns.causal(1)}),
        Case({"scores": np.array([[0.5, 900.0], [1.0, 0.3]]), "allowed": patterns.causal(2)}),
        Case({"scores": low, "allowed": patterns.causal(3)}),
        Case({"scores": lowest, "allowed": patterns.causal(3)}),
        Case(
            {"scores": np.array([[1000.0, 0.0], [1000.0, 999.0]]), "allowed": patterns.causal(2)}, size=1000
        ),
        Case({"scores": S5, "allowed": patterns.causal(5)}),
        _single(Case({"scores": S5, "allowed": patterns.causal(5)})),
        Case({"scores": S5[:4, :4], "allowed": padding}),
        Case({"scores": S35, "allowed": uneven}),
        Case({"scores": S24, "allowed": patterns.causal(2, 4, align="bottom-right")}),
    ]


def scores() -> list[Case]:
    Q, K, square, keys = _draw(5, (2, 3), (5, 3), (4, 2), (4, 2))
    return [
        Case({"Q": np.array([[1.0, 0.0]]), "K": np.eye(2)}),
        Case({"Q": square, "K": keys}),
        Case({"Q": Q, "K": K}),
        _single(Case({"Q": Q, "K": K})),
    ]


def _squares() -> list[tuple[np.ndarray, np.ndarray, float]]:
    """As many queries as keys: Q, K and the size of the scores, first tame, then special."""
    Q2, K2, Q3, K3, Q5, K5, Q1, K1 = _draw(
        803, (2, 3), (2, 3), (3, 2), (3, 2), (5, 3), (5, 3), (1, 3), (1, 3)
    )
    at_right_angle = Q3.copy(), K3.copy()
    at_right_angle[0][1], at_right_angle[1][0] = [1.5, 0.0], [0.0, 0.8]
    ahead = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([[0.3, 0.8], [900 * 2**0.5, 0.0]])
    Q_low = np.array([[1.0, 0.4], [0.0, 1.1], [0.0, -0.9]])  # only query 0 meets the first feature
    K_low, K_lowest = K3.copy(), K3.copy()
    K_low[0], K_lowest[0] = [-2e4 * 2**0.5, 0.0], [-2e9 * 2**0.5, 0.0]
    return [
        (Q2, K2, 1),
        (Q3, K3, 1),
        (*at_right_angle, 1),
        (Q1, K1, 1),
        (*ahead, 1),
        (Q_low, K_low, 1),
        (Q_low, K_lowest, 1),
        (np.array([[1.0], [1.0]]), np.array([[1000.0], [999.0]]), 1000),
        (Q5, K5, 1),
    ]


def _values(n_k: int, d_k: int) -> np.ndarray:
    d_v = {1: 2, 2: 1, 3: 4, 4: 5, 5: 4}[n_k]
    return _draw(11 * n_k + d_k, (n_k, d_v))[0]


def attention_weights() -> list[Case]:
    causal = [
        Case({"Q": Q, "K": K, "allowed": patterns.causal(len(Q))}, size=size) for Q, K, size in _squares()
    ]
    Q4, K4, Q, K = _draw(612, (4, 2), (4, 2), (2, 3), (4, 3))
    others = [
        {"Q": Q4, "K": K4, "allowed": patterns.causal(4) & patterns.keys([1, 0, 1, 1])},
        {"Q": Q, "K": K, "allowed": np.array([[1, 0, 1, 1], [0, 1, 1, 0]], dtype=bool)},
        {"Q": Q, "K": K, "allowed": patterns.causal(2, 4, align="bottom-right")},
    ]
    return [*causal, _single(causal[-1]), *map(Case, others)]


def attention() -> list[Case]:
    return [_with_values(case, _values(*case.args["K"].shape)) for case in attention_weights()]


def beyond_weights() -> list[Case]:
    """What only helpers.attention is asked: a temperature, and a query with no legal key."""
    Q, K = _draw(13, (3, 2), (3, 2))
    given = {"Q": Q, "K": K, "allowed": patterns.causal(3)}
    empty = {**given, "allowed": patterns.causal(3) & patterns.keys([0, 1, 1])}
    return [
        Case(given, {"temperature": 2.5}),
        Case(given, {"temperature": 0.4}),
        Case(empty, {"empty_rows": "zero"}),
    ]


def beyond_attention() -> list[Case]:
    """The same, and a blocked value that is not a number."""
    V = _values(3, 2)
    spoilt = V.copy()
    spoilt[2] = np.nan
    weights = [
        *beyond_weights(),
        Case({**beyond_weights()[0].args, "allowed": patterns.causal(3) & patterns.keys([1, 1, 0])}),
    ]
    return [_with_values(case, spoilt if case is weights[-1] else V) for case in weights]


def _with_values(case: Case, V: np.ndarray) -> Case:
    Q, K, allowed = case.args.values()
    return Case({"Q": Q, "K": K, "V": V, "allowed": allowed}, case.options, case.size)


def causal_attention() -> list[Case]:
    worked = np.array([[1.0], [2.0]])
    cases = [Case({"Q": Q, "K": K, "V": _values(*K.shape)}, size=size) for Q, K, size in _squares()]
    example = Case({"Q": worked, "K": worked.copy(), "V": np.array([[10.0], [20.0]])})
    return [example, *cases, _single(cases[-1])]


def full_attention() -> list[Case]:
    """Sizes are (n_q, d_k, n_k, d_v)."""
    sizes = ((2, 3, 4, 5), (3, 2, 5, 4), (4, 2, 4, 3), (3, 4, 1, 2))
    names = ("Q", "K", "V")
    drawn = [_draw(sum(one) + one[1], *_query_key_value(*one)) for one in sizes]
    cases = [Case(dict(zip(names, arrays, strict=True))) for arrays in drawn]
    V = np.array([[1.0, 2.0, -1.0], [4.0, 0.0, 3.0]])
    large = Case({"Q": np.array([[1.0], [0.5]]), "K": np.array([[1000.0], [999.0]]), "V": V}, size=1000)
    return [*cases, large, _single(cases[1])]


def _query_key_value(n_q: int, d_k: int, n_k: int, d_v: int) -> tuple[tuple[int, int], ...]:
    return (n_q, d_k), (n_k, d_k), (n_k, d_v)


def softmax_slopes() -> list[Case]:
    rows = [[0.6, 0.4], [0.5, 0.3, 0.2], [1.0], [0.1, 0.2, 0.3, 0.4], [0.97, 0.02, 0.01]]
    cases = [Case({"weights": np.array(row)}) for row in rows]
    return [*cases, _single(cases[1])]


def _texts() -> list[np.ndarray]:
    """Rows of X, each once with a token for each row and once uneven."""
    return [np.eye(5)[[0, 1, 2, 3]], *_draw(53, (3, 4), (5, 3))]


def attention_row() -> list[Case]:
    """Sizes are (d_k, n_k, d_v)."""
    cases = [
        Case(dict(zip(("q", "K", "V"), _draw(17 + d_k + n_k, (d_k,), (n_k, d_k), (n_k, d_v)), strict=True)))
        for d_k, n_k, d_v in ((3, 2, 4), (2, 3, 4), (3, 1, 2), (3, 5, 4))
    ]
    V = np.array([[1.0, 2.0, -1.0], [4.0, 0.0, 3.0]])
    large = Case({"q": np.array([1.0]), "K": np.array([[1000.0], [999.0]]), "V": V}, size=1000)
    return [*cases, large, _single(cases[-1])]


def causal_pattern() -> list[Case]:
    return [Case({"n": n}) for n in (1, 2, 3, 5)]


def patterns_to_read() -> list[Case]:
    padded = patterns.causal(3) & patterns.keys([1, 1, 0])
    return [
        Case({"allowed": patterns.causal(2)}),
        Case({"allowed": padded}),
        Case({"allowed": patterns.window(4, 2)}),
    ]


def head_weights() -> list[Case]:
    return [
        Case({"Q": Q, "K": K, "n_heads": 7, "allowed": allowed}, size=case.size)
        for case in attention_weights()
        for Q, K, allowed in [case.args.values()]
    ]


def split_heads() -> list[Case]:
    small, X, batch = _draw(37, (2, 4), (3, 8), (2, 5, 12))
    calls = [(small, 2), (X, 2), (X, 1), (batch, 3)]
    return [Case({"X": X, "n_heads": n_heads}) for X, n_heads in calls]


def merge_heads() -> list[Case]:
    small, H, one, batch = _draw(41, (2, 2, 1), (2, 3, 4), (1, 3, 4), (2, 3, 5, 4))
    return [Case({"H": H}) for H in (small, H, one, batch)]


def multi_head_attention() -> list[Case]:
    names, one, causal = ("W_Q", "W_K", "W_V", "W_O"), np.eye(4), patterns.causal(3)
    X = np.array([[1.0, 0, 0, 1], [0, 1, 1, 0], [1, 1, 0, 0]])
    # d_model 6, two heads: d_k 3 and d_v 3, then d_v 4
    even, uneven = _draw(43, *[(6, 6)] * 4), _draw(44, (6, 6), (6, 6), (6, 8), (8, 6))
    T5, batch = _draw(47, (5, 6), (4, 5, 6))
    some = np.array(
        [[1, 0, 1, 1, 0], [1, 1, 0, 1, 0], [1, 0, 1, 0, 0], [0, 1, 1, 1, 0], [1, 1, 0, 0, 0]], dtype=bool
    )
    calls = [
        (X, [one] * 4, 2, causal),
        (T5 / 2, even, 2, patterns.causal(5)),
        (T5 / 2, even, 2, some),
        (T5 / 2, uneven, 2, patterns.causal(5)),
        (batch / 2, even, 3, patterns.causal(5)),
        # Query 0 meets itself at 0.1 * 0.1, times the factor in W_K: far above, and far below a finite fill.
        (
            np.array([[0.1, 0.0], [1.0, 0.5], [0.2, 1.0]]),
            [np.eye(2), 1e5 * np.eye(2), np.eye(2), np.eye(2)],
            1,
            causal,
        ),
        (
            np.array([[0.1, 0.0], [0.0, 1.0], [1e-6, 2.0]]),
            [np.eye(2), -5e6 * np.eye(2), np.eye(2), np.eye(2)],
            1,
            causal,
        ),
        (
            np.array([[0.1, 0.0], [0.0, 1.0], [1e-11, 2.0]]),
            [np.eye(2), -5e11 * np.eye(2), np.eye(2), np.eye(2)],
            1,
            causal,
        ),
    ]
    return [
        Case(
            {"X": X, **dict(zip(names, weights, strict=True)), "n_heads": n_heads, "allowed": allowed},
            size=10,
        )
        for X, weights, n_heads, allowed in calls
    ]


def average_of_heads() -> list[Case]:
    queries, keys = _draw(53, (2, 3, 4), (2, 3, 4))
    return [Case({"queries": queries, "keys": keys})]


def joined_features() -> list[Case]:
    queries, keys, values = _draw(59, (2, 3, 4), (2, 3, 4), (2, 3, 4))
    return [Case({"queries": queries, "keys": keys, "values": values})]


def weights_of_texts() -> list[Case]:
    (texts,) = _draw(61, (2, 3, 4))
    return [Case({"texts": texts, "n_heads": 2, "keep": np.array([[1, 1, 1], [1, 1, 0]])})]


def causal_and_padding() -> list[Case]:
    keeps = ([1, 1, 0], [0, 1, 1, 1], [1], [1, 0, 1, 1, 0], [0, 0, 1, 1], [1, 1])
    return [Case({"keep": np.array(keep, dtype=bool)}) for keep in keeps]


def window_and_padding() -> list[Case]:
    return [
        Case({"keep": np.array(keep, dtype=bool), "width": width})
        for keep, width in (([1, 1, 0], 2), ([1, 1, 0, 0], 2), ([0, 0, 1, 1, 1], 2), ([1, 0, 1, 1, 0], 3))
    ]


def cached_pattern() -> list[Case]:
    return [Case({"n_q": n_q, "n_k": n_k}) for n_q, n_k in ((1, 4), (2, 5), (3, 4), (4, 2), (3, 3))]


def filled_weights() -> list[Case]:
    scores = np.array([[1.0, 0.0, 2.0], [0.5, 1.5, -0.3]])
    allowed = np.array([[1, 1, 0], [0, 0, 0]], dtype=bool)
    return [Case({"scores": scores, "allowed": allowed, "fill": fill}) for fill in (-1e9, -2.0, 0.0, -1e4)]


def empty_output() -> list[Case]:
    scores, values = np.array([[1.0, 0.0, 2.0]]), np.array([10.0, 20.0, 90.0])
    return [
        Case({"scores": scores * factor, "values": values, "fill": fill})
        for factor, fill in ((1, -1e9), (-1, -1e9), (1, -1e4), (0.5, -2.0))
    ]


def added_weights() -> list[Case]:
    scores = np.array([[1.0, 0.0, 2.0, 1.5]])
    one, more = np.array([[-2.0, -3.0, 0.0, 0.0]]), np.array([[0.0, -1.0, -4.0, 0.0]])
    none = np.zeros((1, 4))
    return [
        Case({"scores": scores, "M": one, "more": none}),
        Case({"scores": scores, "M": one, "more": more}),
        Case({"scores": scores, "M": one - 1, "more": more - 1}),
        Case({"scores": scores, "M": np.full((1, 4), -1e9), "more": none}),
        Case({"scores": scores, "M": np.full((1, 4), -1e9), "more": none}, {"dtype": "float32"}),
        Case(
            {"scores": scores, "M": -65504.0 * (one < 0), "more": -65504.0 * (one > -3)}, {"dtype": "float16"}
        ),
    ]


def nan_count() -> list[Case]:
    rng = np.random.default_rng(9)
    weights = rng.dirichlet(np.ones(3), size=4).round(2)
    blocked = weights * np.array([1, 1, 0])
    V = np.array([[1.0, 2.0], [0.5, -1.0], [np.nan, 3.0]])
    return [
        Case({"weights": blocked, "V": V}),
        Case({"weights": weights, "V": V}),
        Case({"weights": blocked, "V": V[:, ::-1].copy()}),
        Case({"weights": blocked[:2], "V": V * np.array([1, np.nan])}),
    ]


def by_library() -> list[Case]:
    values = np.array([10.0, 20.0, 90.0])
    rows = ([1, 1, 0], [0, 1, 0], [1, 0, 1], [0, 0, 1])
    return [Case({"given": np.array(row, dtype=bool), "values": values}) for row in rows]


def to_allowed() -> list[Case]:
    allowed = patterns.causal(2)
    wide = np.array([[1, 0, 1], [0, 1, 1]])
    return [
        Case({"given": ~allowed, "kind": "blocked"}),
        Case({"given": np.where(allowed, 0.0, -np.inf), "kind": "additive"}),
        Case({"given": allowed, "kind": "allowed"}),
        Case({"given": wide, "kind": "blocked"}),
        Case({"given": wide, "kind": "allowed"}),
        Case({"given": np.where(wide, -np.inf, 0.0).astype(np.float32), "kind": "additive"}),
    ]


def next_tile() -> list[Case]:
    """A tile that raises some maxima and not others, scores of 1000, and a tile that is all blocked."""
    tame, wide = _draw(71, (3, 4), (2, 5))
    rising, falling = np.array([[0.4], [3.0], [-1.5]]), np.array([[2.5], [-0.5]])
    large = np.array([[1000.0, 999.0], [3.0, 1000.0]])
    before = np.array([[998.0], [1000.5]])
    blocked = np.array([[-np.inf, -np.inf, -np.inf], [0.3, -np.inf, 1.2]])
    calls = [
        (tame, rising, np.array([[1.5], [2.0], [1.0]])),
        (wide, falling, np.array([[1.25], [3.5]])),
        (large, before, np.array([[1.5], [1.25]])),
        (blocked, falling[::-1].copy(), np.array([[1.75], [1.5]])),
    ]
    names = ("scores", "running_max", "running_sum")
    return [Case(dict(zip(names, call, strict=True)), size=abs(call[1]).max()) for call in calls]


def add_tile() -> list[Case]:
    """The tiles of `next_tile` with values, and a first tile."""
    found = []
    for at, case in enumerate(next_tile()):
        scores, running_max, running_sum = case.args.values()
        (n_q, n_k), d_v = scores.shape, (3, 4, 5, 6)[at] - (at == 1)
        V, out = _draw(73 + at, (n_k, d_v), (n_q, d_v))
        found.append((scores, V, running_max, running_sum, out))
    scores, V, *_ = found[0]
    lowest = np.full((3, 1), np.finfo(float).min)
    found.append((scores, V, lowest, np.zeros((3, 1)), np.zeros((3, V.shape[1]))))
    names = ("scores", "V", "running_max", "running_sum", "out")
    size = [*(case.size for case in next_tile()), 1]
    return [
        Case(dict(zip(names, call, strict=True)), size=own) for call, own in zip(found, size, strict=True)
    ]


def tiled_attention() -> list[Case]:
    """Those of attention, in tiles that leave a rest; then first, middle and last tiles that are all blocked."""
    sizes = (1, 2, 3)
    known = [
        Case({**case.args, "size": sizes[at % 3]}, case.options, case.size)
        for at, case in enumerate(attention())
        if case.args["Q"].dtype == float
    ]
    Q, K, V = _draw(79, (5, 3), (7, 3), (7, 4))
    gaps = np.array(
        [
            [1, 1, 0, 0, 0, 0, 0],
            [0, 0, 0, 1, 0, 1, 0],
            [0, 0, 0, 0, 0, 0, 1],
            [0, 1, 0, 0, 0, 0, 1],
            [1, 1, 1, 1, 1, 1, 1],
        ],
        dtype=bool,
    )
    low = K.copy()
    low[:, 0] = -2000  # every score far below 0
    sized = [
        Case({"Q": Q, "K": K, "V": V, "allowed": allowed, "size": size})
        for allowed, size in ((patterns.full(5, 7), 3), (gaps, 3), (gaps, 2), (gaps, 9))
    ]
    positive = np.hstack([np.ones((5, 1)), Q[:, 1:]])
    far = Case({"Q": positive, "K": low, "V": V, "allowed": gaps, "size": 4}, size=2000)
    return [*known, *sized, far]


def row_in_tiles() -> list[Case]:
    rows = [
        ([1.1, 0.0, 2.2], [10.0, 20.0, 60.0], 2),
        ([0.5, 2.0, -1.0, 0.3, 1.0], [1.0, 4.0, 2.0, 8.0, 3.0], 2),
    ]
    rows += [([1.0, -0.5, 2.5, 0.0], [3.0, 1.0, 2.0, 7.0], 3), ([2.0, 1.0], [5.0, 9.0], 2)]
    return [Case({"scores": np.array(one), "values": np.array(two), "size": size}) for one, two, size in rows]


def picture_of_head() -> list[Case]:
    """No head has a weight of 1, so that a stretched scale shows; heads, queries and keys differ in number."""
    rng = np.random.default_rng(67)
    some = {
        (2, 2): [[1, 1], [1, 1]],
        (3, 3): [[1, 1, 0], [0, 1, 1], [1, 1, 1]],
        (2, 4): [[1, 0, 1, 1], [1, 1, 1, 0]],
        (4, 4): [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 1], [1, 0, 1, 1]],
    }
    cases = []
    for n_heads, (shape, allowed) in zip((3, 4, 3, 2), some.items(), strict=True):
        shares = rng.uniform(1, 3, (n_heads, *shape)) * np.array(allowed)
        heads = shares / shares.sum(axis=-1, keepdims=True)
        cases.append(Case({"heads": heads, "head": n_heads - 1, "allowed": np.array(allowed, dtype=bool)}))
    return cases


def edge_lengths() -> list[Case]:
    """Sizes are (n_q, n_k, d_v, d_model)."""
    cases = []
    for n_q, n_k, d_v, d_model in ((2, 2, 3, 4), (3, 3, 2, 5), (2, 4, 3, 5), (4, 3, 2, 6)):
        A = np.random.default_rng(n_q + 10 * n_k).dirichlet(np.ones(n_k), size=n_q).round(2)
        V, W_O = _draw(71 + n_q + n_k, (n_k, d_v), (d_v, d_model))
        cases.append(Case({"A": A, "V": V, "W_O": W_O}))
    return [*cases, _single(cases[1])]


def _plain(*calls: dict[str, Any]) -> Callable[[], list[Case]]:
    return lambda: [Case(call) for call in calls]


lines_of_a_function = ["Q = Q / 2", "Q /= 2", "S = Q.T; S /= 2", "S = Q @ Q; S /= 2"]


def outputs() -> list[Case]:
    """The worked example, the same with other keys, and one on which all but one of six programs show."""
    programs = ["right", *fixture.PROGRAMS.values()]
    Q, K, V = (np.array([[1.0], [2.0]]), np.array([[2.0], [1.0]]), np.array([[10.0], [20.0]]))
    wide = [array[:, ::-1] / 2 for array in (np.hstack([Q, V / 10]), np.hstack([K, K + 1]))]
    return [
        Case({"Q": Q, "K": keys, "V": V, "programs": programs})
        for Q, keys in ((Q, Q.copy()), (Q, K), tuple(wide))
    ]


MAKERS: dict[str, Callable[[], list[Case]]] = {
    "alarms": _plain(
        {"plates": ["A", "B", "C", "D"]},
        {"plates": ["A"]},
        {"plates": ["D", "B"]},
    ),
    "own_shades": _plain({"panels": np.array([[[0.26, 0.24], [0.25, 0.25]], [[0.9, 0.1], [0.2, 0.8]]])}),
    "pale_and_allowed": _plain({"plate": "E"}),
    "heights_seen": _plain({"tokens": ["the", "cat", "the"], "row": np.array([0.5, 0.3, 0.2])}),
    "picture_of_head": picture_of_head,
    "value_lengths": _plain({"weights": np.array([0.9, 0.1]), "V": np.array([[0.06, 0.08], [3.0, 4.0]])}),
    "edge_lengths": edge_lengths,
    "head_ranks": _plain({"heads": np.array([[0, 1], [0, 3], [1, 1], [1, 0]]), "n": 200}),
    "dot": _plain({"u": np.array([1.0, -2.0]), "v": np.array([3.0, 4.0])}),
    "exp": _plain({"x": 0.0}, {"x": 1.0}, {"x": -2.0}),
    "mean": _plain({"values": np.array([2.0, 3.0, 10.0])}),
    "product_of_shapes": _plain({"left": (2, 3), "right": (3, 4)}),
    "weighted_sum": _plain(
        {"weights": np.array([0.25, 0.75]), "values": np.array([[2.0, 1.0, 0.0], [6.0, 4.0, 1.0]])}
    ),
    "head_width": _plain({"d_model": 512, "n_heads": 8}),
    "head_scale": _plain({"d_model": 512, "n_heads": 8}, {"d_model": 48, "n_heads": 2}),
    "parameters": _plain({"d_model": 6, "n_heads": 3}),
    "score_bytes": _plain({"T": 8, "itemsize": 4, "n_heads": 3, "n_layers": 2}, {"T": 5, "itemsize": 8}),
    "split_of_sizes": _plain({"T": 5, "d_model": 6, "n_heads": 3}),
    "scores_of_sizes": _plain({"T": 5, "d_model": 6, "n_heads": 3}),
    "cross_weights_of_sizes": _plain({"n_q": 3, "n_k": 5, "d_model": 8, "n_heads": 2}),
    "reshape_alone": _plain({"X": np.arange(12.0).reshape(3, 4), "n_heads": 2}),
    "head_row": _plain({"dots": np.array([8.0, 0.0]), "d_model": 512, "n_heads": 8}),
    "head_costs": _plain({"T": 5, "d_model": 6, "n_heads": 3}),
    "joined_features": joined_features,
    "weights_of_texts": weights_of_texts,
    "average_of_heads": average_of_heads,
    "score_growth": _plain({"before": 1024, "after": 4096}, {"before": 2, "after": 6}),
    "entries": _plain({"T": 5, "d_k": 3}),
    "score_bytes_of_all": _plain({"T": 5, "itemsize": 4, "n_heads": 3, "n_layers": 2}),
    "bytes_beside_mask": _plain({"T": 5, "itemsize": 4}),
    "tiled_counts": _plain({"T": 11, "d_v": 3, "side": 4}),
    "next_score": _plain(
        {"running_max": 1.0, "running_sum": 1.5, "score": 3.0},
        {"running_max": 2.0, "running_sum": 1.25, "score": 0.5},
        {"running_max": -1.0, "running_sum": 2.0, "score": -1.0},
        {"running_max": -3.0, "running_sum": 2.5, "score": -1.5},
        {"running_max": 0.5, "running_sum": 3.0, "score": 1000.0},
        {"running_max": 1000.0, "running_sum": 1.0, "score": 999.0},
    ),
    "next_tile": next_tile,
    "add_tile": add_tile,
    "row_in_tiles": row_in_tiles,
    "tiled_attention": tiled_attention,
    "outputs": outputs,
    "caller_after": _plain({"Q": np.array([[1.0, 2.0], [3.0, 4.0]]), "lines": lines_of_a_function}),
    "bytes_each": _plain({"d_k": 3, "dtype": "float32"}, {"d_k": 4, "dtype": "float64"}),
    "scores": scores,
    "softmax": softmax,
    "shifted_softmax": shifted_softmax,
    "masked_weights": masked_weights,
    "attention_weights": attention_weights,
    "attention_row": attention_row,
    "attention": attention,
    "full_attention": full_attention,
    "each_alone": lambda: [Case({"X": X}) for X in _texts()],
    "self_attention": lambda: [Case({"X": X}) for X in _texts()],
    "changed_counts": _plain({"X": np.eye(5)[[0, 1, 2, 3]], "X_after": np.eye(5)[[0, 4, 2, 3]]}),
    "projection_of_sizes": _plain({"T": 4, "d_model": 5, "d_k": 3}),
    "sizes_of_attention": _plain({"n_q": 6, "n_k": 4, "d_model": 5, "d_k": 3, "d_v": 2}),
    "readings": _plain(
        {
            "A": np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1], [0.1, 0.2, 0.7]]),
            "values": np.array([10.0, 0.0, 3.0]),
        }
    ),
    "dot_variance": _plain({"sizes": np.array([4.0, 16.0, 64.0])}),
    "scaled_variance": _plain({"sizes": np.array([4.0, 16.0, 64.0])}),
    "aligned_scores": _plain({"sizes": np.array([4.0, 16.0, 64.0])}),
    "own_slopes": _plain({"weights": np.array([0.8, 0.95])}),
    "softmax_slopes": softmax_slopes,
    "causal_attention": causal_attention,
    "causal_pattern": causal_pattern,
    "pattern": patterns_to_read,
    "head_weights": head_weights,
    "weights_beside_values": attention,
    "causal_and_padding": causal_and_padding,
    "window_and_padding": window_and_padding,
    "cached_pattern": cached_pattern,
    "filled_weights": filled_weights,
    "empty_output": empty_output,
    "added_weights": added_weights,
    "nan_count": nan_count,
    "by_library": by_library,
    "to_allowed": to_allowed,
    "split_heads": split_heads,
    "merge_heads": merge_heads,
    "multi_head_attention": multi_head_attention,
}
BEYOND: dict[str, Callable[[], list[Case]]] = {
    "attention_weights": beyond_weights,
    "attention": beyond_attention,
    "causal_pattern": lambda: [Case({"n_q": 2, "n_k": 4}, {"align": "bottom-right"})],
    "shifted_softmax": lambda: [Case({"scores": np.array([1.0, 0.0]), "shift": 1e8, "dtype": "float32"})],
}


@cache
def cases_for(task: str, beyond: bool = False) -> tuple[Case, ...]:
    """Return the cases of a task, smallest first; `beyond` adds those beyond every exercise."""
    return (*MAKERS[task](), *(BEYOND[task]() if beyond and task in BEYOND else ()))
