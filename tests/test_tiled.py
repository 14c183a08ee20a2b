"""Attention in tiles: against loops and libraries, on published bugs, and the refusals it shares with `attention`."""

from __future__ import annotations

import dataclasses
import math
import re
import threading

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from threadpoolctl import threadpool_info

from helpers import patterns, tiled
from helpers.attention import attention
from helpers.measure import peak_bytes
from helpers.tiled import add_tile, start, sweep, tiled_attention
from tests.oracles import slow_attention, slow_softmax
from tests.support import optional

inf, nan = np.inf, np.nan
B, H, N_Q, N_K, D_K, D_V = 2, 3, 4, 5, 6, 7  # all different, so that no axis can pass for another
TILES = [None, (1, 1), (2, 3), (3, 2), (4, 5), (1, 5), (4, 1), (100, 100)]
TOLERANCE = {"f2": 2e-5, "f4": 2e-5, "f8": 1e-12}


def same(result, expected, rtol=1e-12, atol=1e-12):
    """Compare values and shape; assert_allclose alone lets () stand for any shape."""
    expected = np.asarray(expected)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=rtol, atol=atol)


def random_inputs(*leading, seed=0, scale=1.0, sizes=(N_Q, N_K, D_K, D_V)):
    """Q, K, V; `scale` 1 keeps the scores where no maximum is needed, 40 does not."""
    rng = np.random.default_rng(seed)
    n_q, n_k, d_k, d_v = sizes
    Q, K, V = (rng.normal(0.3, 1.0, (*leading, *shape)) for shape in ((n_q, d_k), (n_k, d_k), (n_k, d_v)))
    return scale * Q, K, V


@pytest.fixture
def three_threads(monkeypatch):
    """Share out even small work among three threads."""
    monkeypatch.setattr(tiled, "_cores", lambda: 3)
    monkeypatch.setattr(tiled, "CELLS_WORTH_A_THREAD", 1)


def lse_of(Q, K, allowed):
    """log(sum(exp(score))) of each query, in float64."""
    scores = np.asarray(Q, float) @ np.asarray(K, float).swapaxes(-1, -2) / Q.shape[-1] ** 0.5
    scores = np.where(allowed, scores, -inf)
    largest = scores.max(-1, keepdims=True)
    with np.errstate(all="ignore"):
        total = np.log(np.exp(scores - largest).sum(-1)) + largest[..., 0]
    return np.where(np.any(allowed, axis=-1), total, -inf)


# Against the slow loop


ALLOWED = {
    "everything": None,
    "aligned left": patterns.causal(N_Q, N_K, align="top-left"),
    "aligned right": patterns.causal(N_Q, N_K, align="bottom-right"),
    "padding": patterns.keys([1, 0, 1, 1, 0]),
    "as integers": [[0, 1, 0, 0, 1]] * N_Q,
}


@pytest.mark.parametrize("scale", [1, 40])
@pytest.mark.parametrize("tile", TILES, ids=str)
@pytest.mark.parametrize("allowed", ALLOWED.values(), ids=ALLOWED.keys())
@pytest.mark.parametrize("leading", [(), (B,), (B, H)], ids=str)
def test_agrees_with_the_slow_loop(leading, allowed, tile, scale):
    Q, K, V = random_inputs(*leading, scale=scale)
    same(tiled_attention(Q, K, V, allowed=allowed, tile=tile), slow_attention(Q, K, V, allowed))


@pytest.mark.parametrize("scale", [1, 40])
@pytest.mark.parametrize("tile", TILES, ids=str)
@pytest.mark.parametrize("n_k", [2, 4, 7])
@pytest.mark.parametrize("align", ["top-left", "bottom-right"])
def test_causal_agrees_with_the_causal_pattern_and_combines_with_allowed(align, n_k, tile, scale):
    Q, K, V = random_inputs(B, scale=scale, sizes=(N_Q, n_k, D_K, D_V))
    pattern = patterns.causal(N_Q, n_k, align=align)
    options = {"causal": True, "align": align, "tile": tile, "empty_rows": "zero"}
    same(tiled_attention(Q, K, V, **options), slow_attention(Q, K, V, pattern))
    keep = patterns.keys(np.arange(n_k) % 3 != 1)
    same(tiled_attention(Q, K, V, allowed=keep, **options), slow_attention(Q, K, V, pattern & keep))


@pytest.mark.parametrize("shape", [(B, 1, N_Q, N_K), (1, H, N_Q, N_K), (B, H, N_Q, N_K), (B, 1, 1, N_K)])
@pytest.mark.parametrize("tile", TILES, ids=str)
def test_each_batch_item_and_head_keeps_its_own_pattern(shape, tile):
    Q, K, V = random_inputs(B, H)
    allowed = np.random.default_rng(1).random(shape) < 0.6
    allowed[..., 1] = True
    same(tiled_attention(Q, K, V, allowed=allowed, tile=tile), slow_attention(Q, K, V, allowed))


@st.composite
def problems(draw):
    """Q, K, V of any small sizes and dtype, a pattern that may leave rows empty, and a tile."""
    n_q, n_k, d_k, d_v = (draw(st.integers(1, 9)) for _ in range(4))
    leading = draw(st.sampled_from([(), (2,), (2, 3)]))
    most = draw(st.sampled_from([1.0, 4.0, 60.0]))
    values = st.floats(-most, most, width=16)
    dtype = draw(st.sampled_from(["f2", "f4", "f8"]))
    Q, K, V = (
        draw(arrays(dtype, (*leading, *s), elements=values)) for s in ((n_q, d_k), (n_k, d_k), (n_k, d_v))
    )
    allowed = draw(st.none() | arrays(bool, (*draw(st.sampled_from([(), leading])), n_q, n_k)))
    align = draw(st.sampled_from([None, "top-left", "bottom-right"]))
    tile = draw(st.none() | st.tuples(st.integers(1, 10), st.integers(1, 10)))
    return Q, K, V, allowed, align, tile, dtype


@settings(deadline=None, max_examples=300, derandomize=True)
@given(problems())
@example((*random_inputs(sizes=(1, 1, 1, 1)), None, None, None, "f8"))
def test_any_problem_agrees_with_the_slow_loop_and_with_its_log_sum_exp(problem):
    Q, K, V, allowed, align, tile, dtype = problem
    options = {"allowed": allowed, "causal": align is not None, "align": align, "tile": tile}
    may = np.ones((len(Q[0]) if Q.ndim > 9 else Q.shape[-2], K.shape[-2]), bool)
    if align:
        may = may & patterns.causal(*may.shape, align=align)
    if allowed is not None:
        may = may & allowed
    may = np.broadcast_to(may, (*Q.shape[:-1], K.shape[-2]))
    out, lse = tiled_attention(Q, K, V, empty_rows="zero", return_lse=True, **options)
    size = 1 + np.abs(Q.astype(float)).max() * np.abs(K.astype(float)).max() * Q.shape[-1] ** 0.5
    tolerance = TOLERANCE[dtype] * size
    same(out, slow_attention(Q, K, V, may), tolerance, tolerance)
    same(lse, lse_of(Q, K, may), tolerance, tolerance)
    assert (out[~may.any(-1)] == 0).all()
    assert out.dtype == lse.dtype == ("f8" if dtype == "f8" else "f4")
    if not may.any(-1).all():
        with pytest.raises(ValueError, match="every query must have an allowed key"):
            tiled_attention(Q, K, V, **options)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("scale", [1, 9])
@pytest.mark.parametrize(("n_q", "n_k"), [(1, 1500), (1400, 3), (700, 1100), (1300, 900)])
@pytest.mark.parametrize("tile", [None, (64, 640), (97, 101)], ids=str)
def test_agrees_with_attention_on_sizes_that_need_many_tiles(n_q, n_k, tile, scale, dtype, three_threads):
    Q, K, V = (a.astype(dtype) for a in random_inputs(B, scale=scale, sizes=(n_q, n_k, 11, 5)))
    tolerance = TOLERANCE[dtype]
    same(tiled_attention(Q, K, V, tile=tile), attention(Q, K, V), tolerance, tolerance)
    for align in ("top-left", "bottom-right"):
        pattern = patterns.causal(n_q, n_k, align=align)
        result = tiled_attention(Q, K, V, causal=True, align=align, tile=tile, empty_rows="zero")
        same(result, attention(Q, K, V, pattern, empty_rows="zero"), tolerance, tolerance)
        keep = patterns.keys(np.arange(n_k) % 7 != 3)
        same(
            tiled_attention(Q, K, V, causal=True, align=align, allowed=keep, tile=tile, empty_rows="zero"),
            attention(Q, K, V, pattern & keep, empty_rows="zero"),
            tolerance,
            tolerance,
        )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("scale", [1, 9])
def test_agrees_with_the_fused_kernels(causal, scale):
    torch = optional("torch")
    Q, K, V = (a.astype("f4") for a in random_inputs(B, H, scale=scale, sizes=(901, 901, 32, 17)))
    right = torch.nn.functional.scaled_dot_product_attention(
        *(torch.from_numpy(a) for a in (Q, K, V)), is_causal=causal
    )
    same(tiled_attention(Q, K, V, causal=causal), right.numpy(), 5e-5, 5e-5)


def test_agrees_with_jax():
    jax = optional("jax")
    Q, K, V = (a.astype("f4") for a in random_inputs(B, H, sizes=(301, 301, 8, 8)))
    heads_last = [jax.numpy.asarray(a.swapaxes(1, 2)) for a in (Q, K, V)]
    right = np.asarray(jax.nn.dot_product_attention(*heads_last, is_causal=True)).swapaxes(1, 2)
    same(tiled_attention(Q, K, V, causal=True), right, 5e-5, 5e-5)


# The core


def through(scores, tile, V=None, **options):
    """One row of scores and its values, tile by tile through `add_tile`."""
    scores = np.array([scores], dtype=float)
    V = np.arange(1.0, scores.size + 1)[:, None] if V is None else V
    running_max, running_sum, out = start((1, V.shape[1]))
    for k in range(0, scores.size, tile):
        add_tile(scores[:, k : k + tile].copy(), V[k : k + tile], running_max, running_sum, out, **options)
    return running_max, running_sum, out


@pytest.mark.parametrize(
    ("scores", "right"),
    [
        ([-inf, -inf, 1, 2], 3.731058579),
        ([1, 2, -inf, -inf, 0.5, 0.5], None),
        ([1, 2, -inf, -inf, 0.5], 2.189509252),
        ([-inf, 1, -inf, 2, -inf, -inf], None),
    ],
    ids=str,
)
@pytest.mark.parametrize("tile", [1, 2, 3, 6])
def test_b01_a_tile_with_every_key_blocked(scores, right, tile):
    _, running_sum, out = through(scores, tile)
    weights = slow_softmax([None if score == -inf else score for score in scores])
    same(out / running_sum, [[np.dot(weights, np.arange(1, len(scores) + 1))]])
    if right:
        same(out / running_sum, [[right]], rtol=0, atol=1e-9)


def test_b01_a_row_with_every_key_blocked_stays_at_zero():
    running_max, running_sum, out = through([-inf] * 4, 2)
    assert running_sum == out == 0
    assert np.isfinite(running_max).all()
    allowed = [[0, 0, 0, 0], [0, 0, 1, 1]]
    result, lse = tiled_attention(
        [[1], [1]],
        [[0]] * 4,
        [[1], [2], [3], [4]],
        allowed=allowed,
        tile=(2, 2),
        empty_rows="zero",
        return_lse=True,
    )
    same(result, [[0], [3.5]])
    same(lse, [-inf, math.log(2)])


@pytest.mark.parametrize("order", [[1000, 999, 0, 1], [0, 1, 1000, 999], [0, 1000, 999, 1]], ids=str)
@pytest.mark.parametrize("tile", [1, 2, 3])
def test_b02_the_running_maximum_is_kept(order, tile):
    running_max, running_sum, out = through(order, tile)
    same(out / running_sum, [[np.dot(slow_softmax(order), [1, 2, 3, 4])]])
    assert running_max == 1000
    if order[0] == 1000:
        same(out / running_sum, [[1.268941421]], rtol=0, atol=1e-9)


def test_scores_in_safe_bounds_need_no_maximum():
    scores = [-20, 20, 3, -7.5]
    running_max, running_sum, out = start((1, 1))
    running_max[...] = 0
    for k, score in enumerate(scores):
        add_tile(
            np.array([[float(score)]]), np.array([[k + 1.0]]), running_max, running_sum, out, bounded=True
        )
    same(out / running_sum, [[np.dot(slow_softmax(scores), [1, 2, 3, 4])]])
    assert running_max == 0


def test_the_core_gives_the_same_for_any_cut():
    rng = np.random.default_rng(0)
    scores, V = rng.normal(0, 9, 12), rng.normal(size=(12, 3))
    right = slow_softmax(scores.tolist()) @ V
    for tile in range(1, 13):
        _, running_sum, out = through(scores, tile, V)
        same(out / running_sum, right[None])


@pytest.mark.parametrize("scale", [1, 40])
def test_the_core_is_what_runs(monkeypatch, scale):
    seen = []

    def counted(scores, V, *state, **options):
        seen.append((scores.shape, options["bounded"]))
        return add_tile(scores, V, *state, **options)

    monkeypatch.setattr(tiled, "add_tile", counted)
    tiled_attention(*random_inputs(scale=scale), tile=(3, 2))
    assert [shape for shape, _ in seen] == [(1, 2), (1, 2), (1, 1), (3, 2), (3, 2), (3, 1)]
    assert {bounded for _, bounded in seen} == {scale == 1}


def test_tiles_above_the_diagonal_are_skipped_and_those_on_it_cut(monkeypatch):
    cells = []

    def counted(scores, *rest, **options):
        cells.append(scores.size)
        return add_tile(scores, *rest, **options)

    monkeypatch.setattr(tiled, "add_tile", counted)
    X = np.ones((64, 1))
    tiled_attention(X, X, X, causal=True, tile=(8, 4))
    assert sum(cells) == 64 * 64 / 2 + 64 * 4 / 2  # half of all, and half of a small square at each step


# Whether a maximum is needed


@pytest.mark.parametrize(
    ("Q", "V", "bounded"),
    [
        ([[20.0]], 1.0, True),
        ([[20.5]], 1.0, False),
        ([[-20.5]], 1.0, False),
        ([[1.0]], 1e-30, False),  # exp(-20) * V would lose digits
        ([[1.0]], 1e30, False),  # exp(20) * V could overflow
        ([[1.0]], 0.0, False),
    ],
)
def test_the_maximum_is_left_out_only_where_that_is_safe(Q, V, bounded):
    problem = tiled._read(
        np.float32(Q), np.float32([[1]]), np.float32([[V]]), False, None, None, None, "raise"
    )
    assert problem.bounded is bounded


@pytest.mark.parametrize("q", [-15.0, 15.0])
@pytest.mark.parametrize("size", [1e-37, 1e-30, 1e-20, 1e20, 1e30, 3e37])
def test_small_and_large_values_keep_their_digits(size, q):
    Q, K, V = np.float32([[q]]), np.float32([[1], [0.9]]), np.float32([[size], [2 * size]])
    weights = slow_softmax([q, float(q * np.float32(0.9))])
    same(tiled_attention(Q, K, V), [[float(V[0, 0]) * weights[0] + float(V[1, 0]) * weights[1]]], 1e-5, 0)


def test_with_and_without_the_maximum_agree(monkeypatch):
    Q, K, V = random_inputs(B)
    first = tiled_attention(Q, K, V, return_lse=True)
    monkeypatch.setattr(tiled, "BOUND", 0.0)
    second = tiled_attention(Q, K, V, return_lse=True)
    same(first[0], second[0])
    same(first[1], second[1])


# Published bugs, by their number in the list of cases


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_a01_a_row_without_a_key_is_refused_or_zero(tile):
    Q = K = [[1], [2], [3], [4]]
    V = [[10], [20], [30], [40]]
    allowed = patterns.window(4, 2) & patterns.keys([1, 1, 0, 0])
    with pytest.raises(ValueError, match="every query must have an allowed key, got none in row 3: "):
        tiled_attention(Q, K, V, allowed=allowed, tile=tile)
    out = tiled_attention(Q, K, V, allowed=allowed, tile=tile, empty_rows="zero")
    same(out, [[10], [18.80797078], [20], [0]], rtol=0, atol=1e-8)
    assert out[3] == 0


def test_a02_true_means_may_attend():
    Q = K = [[1], [2]]
    blocked = np.array([[False, True], [False, False]])
    same(tiled_attention(Q, K, [[10], [20]], allowed=~blocked), [[10], [18.80797078]], rtol=0, atol=1e-8)
    same(tiled_attention(Q, K, [[10], [20]], allowed=blocked, empty_rows="zero"), [[20], [0]])


@pytest.mark.parametrize("tile", [None, (2, 1)], ids=str)
def test_a03_blocked_is_exactly_zero_however_the_blocks_are_combined(tile):
    scores, V = np.float32([[2], [1], [3]]), np.float32([[1], [10], [1e30]])
    keep = patterns.keys([1, 1, 0])
    out = tiled_attention([[1], [1], [1]], scores, V, causal=True, allowed=keep, tile=tile)
    same(out, [[1], [0.731058579 + 2.68941421], [0.731058579 + 2.68941421]], rtol=1e-6, atol=0)


def test_a04_the_diagonal_is_kept():
    out = tiled_attention([[1], [2]], [[1], [2]], [[10], [20]], causal=True)
    same(out, [[10], [18.80797078]], rtol=0, atol=1e-8)
    same(tiled_attention([[3.0]], [[2.0]], [[5.0, 7.0]], causal=True), [[5, 7]])


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_a05_unequal_numbers_need_an_alignment(tile):
    V = [[1], [2], [3], [4]]
    query, keys = np.zeros((1, 3)), np.zeros((4, 3))
    same(tiled_attention(query, keys, V, causal=True, align="bottom-right", tile=tile), [[2.5]])
    same(tiled_attention(query, keys, V, causal=True, align="top-left", tile=tile), [[1.0]])
    five, two = np.zeros((5, 3)), np.zeros((2, 3))
    options = {"causal": True, "tile": tile, "empty_rows": "zero"}
    out = tiled_attention(five, two, [[10], [20]], align="bottom-right", **options)
    same(out, [[0], [0], [0], [10], [15]])
    same(tiled_attention(five, two, [[10], [20]], align="top-left", **options), [[10], *[[15]] * 4])
    with pytest.raises(ValueError, match="none in rows 0, 1, 2: "):
        tiled_attention(five, two, [[10], [20]], causal=True, align="bottom-right", tile=tile)


def test_a06_padding_belongs_to_the_batch_item_not_to_the_head():
    sample = np.array([[[1], [0], [1]], [[0], [1], [1]]])  # two heads, d = 1
    Q = K = V = np.stack([sample, sample])
    keep = patterns.keys([[1, 1, 1], [1, 1, 0]])[:, None]
    out = tiled_attention(Q, K, V, allowed=keep).swapaxes(1, 2)[..., 0]
    right = [
        [[0.844637597, 0.666666667], [0.666666667, 0.844637597], [0.844637597, 0.844637597]],
        [[0.731058579, 0.5], [0.5, 0.731058579], [0.731058579, 0.731058579]],
    ]
    same(out, right, rtol=0, atol=1e-9)


def test_a07_the_scale_is_the_root_of_the_width_of_the_keys():
    out = tiled_attention([[2, 2, 2, 2]], [[1, 1, 1, 1], [0, 0, 0, 0]], [[1], [0]])
    same(out, [[0.98201379]], rtol=0, atol=1e-8)


def test_a08_weights_sum_over_the_keys():
    same(tiled_attention([[1.0]], [[0.3], [2.1]], np.eye(2)), [[0.141851065, 0.858148935]], rtol=0, atol=1e-9)


def test_a09_padding_hides_keys_and_not_queries():
    zeros, V = np.zeros((4, 1)), [[1], [2], [30], [40]]
    keep = patterns.keys([1, 1, 0, 0])
    same(tiled_attention(zeros, zeros, V, causal=True, allowed=keep, tile=(2, 2)), [[1], [1.5], [1.5], [1.5]])


def test_a11_half_precision_is_widened_before_anything_else():
    q, K = np.full((1, 64), 40, dtype=np.float16), np.full((2, 64), 40, dtype=np.float16)
    K[1, 0] = 39.75
    out = tiled_attention(q, K, np.eye(2, dtype=np.float16))
    same(out, [[0.777299861, 0.222700139]], rtol=0, atol=1e-6)
    assert out.dtype == np.float32


@pytest.mark.parametrize(
    ("dtypes", "result"),
    [("f2 f2 f2", "f4"), ("f4 f2 f4", "f4"), ("f4 f8 f4", "f8"), ("i2 i4 i8", "f8"), ("g f4 f4", "g")],
)
def test_a12_the_result_has_the_widest_dtype_given_float32_at_least(dtypes, result):
    Q, K, V = (a.round().astype(dtype) for a, dtype in zip(random_inputs(), dtypes.split(), strict=True))
    out, lse = tiled_attention(Q, K, V, tile=(3, 2), return_lse=True)
    assert out.dtype == lse.dtype == np.dtype(result)
    same(out, slow_attention(Q, K, V), rtol=1e-5, atol=1e-5)
    same(tiled_attention(Q.tolist(), K.tolist(), V.tolist()), slow_attention(Q, K, V))


def layouts(a):
    """The same numbers in every layout a caller may bring."""
    wide = np.repeat(np.repeat(a, 2, axis=-2), 3, axis=-1)
    read_only = a.copy()
    read_only.setflags(write=False)
    return {
        "fortran": np.asfortranarray(a),
        "reversed rows": a[..., ::-1, :].copy()[..., ::-1, :],
        "reversed columns": a[..., ::-1].copy()[..., ::-1],
        "every second": wide[..., ::2, ::3],
        "transposed": np.ascontiguousarray(a.swapaxes(-1, -2)).swapaxes(-1, -2),
        "read-only": read_only,
        "byte-swapped": a.astype(a.dtype.newbyteorder()),
        "broadcast": np.broadcast_to(a[:1], a.shape),
    }


@pytest.mark.parametrize("layout", layouts(np.ones((2, 2))))
def test_a14_every_memory_layout_gives_the_same_answer(layout):
    Q, K, V = (layouts(a)[layout] for a in random_inputs(B))
    allowed = patterns.causal(N_Q, N_K, align="bottom-right")
    right = slow_attention(Q, K, V, allowed)
    for pattern in (allowed, np.asfortranarray(allowed), allowed[::-1].copy()[::-1]):
        same(tiled_attention(Q, K, V, allowed=pattern, tile=(3, 2)), right)
    same(tiled_attention(Q, K, V, causal=True, align="bottom-right", tile=(3, 2)), right)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("scale", [1, 40])
def test_a14_inputs_stay_as_they_are_and_results_are_new(scale, dtype):
    given_arrays = [a.astype(dtype) for a in random_inputs(B, scale=scale)]
    given_arrays.append(np.broadcast_to(np.tri(N_Q, N_K, dtype=bool), (B, N_Q, N_K)).copy())
    copies = [a.copy() for a in given_arrays]
    *QKV, allowed = given_arrays
    first, lse = tiled_attention(*QKV, allowed=allowed, return_lse=True)
    second = tiled_attention(*QKV, allowed=allowed)
    same(second, first, 0, 0)
    for a, copy in zip(given_arrays, copies, strict=True):
        same(a, copy, 0, 0)
        assert not np.shares_memory(first, a)
    assert first.flags.writeable
    assert first.flags.c_contiguous
    assert lse.flags.writeable


def test_one_array_may_be_all_three():
    X = random_inputs()[0]
    same(tiled_attention(X, X, X, causal=True, tile=(2, 3)), slow_attention(X, X, X, np.tri(N_Q)))


# Whatever is blocked holds, whatever is allowed must be finite


@pytest.mark.parametrize("anything", [nan, inf, -inf, 1e10, 3e38])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("tile", [None, (1, 1), (3, 2)], ids=str)
def test_a_blocked_key_or_value_cannot_matter(anything, dtype, tile):
    Q, K, V = (a.astype(dtype) for a in random_inputs(B))
    allowed = patterns.keys([1, 0, 1, 1, 0])
    before = tiled_attention(Q, K, V, allowed=allowed, tile=tile)
    K[:, [1, 4]] = anything
    V[:, [1, 4]] = anything
    after = tiled_attention(Q, K, V, allowed=allowed, tile=tile)
    np.testing.assert_allclose(
        after, before, rtol=1e-6, atol=1e-6
    )  # other keys decide whether a maximum is needed


@pytest.mark.parametrize("bad", [nan, inf])
def test_what_the_causal_pattern_hides_may_hold_anything(bad):
    Q, K, V = random_inputs(sizes=(3, 5, D_K, D_V))
    right = tiled_attention(Q, K[:3], V[:3], causal=True)
    K[3:] = V[3:] = bad
    same(tiled_attention(Q, K, V, causal=True, align="top-left", tile=(2, 2)), right)
    Q, K, V = random_inputs(sizes=(5, 3, D_K, D_V))
    Q[:2] = bad
    out = tiled_attention(Q, K, V, causal=True, align="bottom-right", empty_rows="zero")
    same(out[2:], tiled_attention(Q[2:], K, V, causal=True))
    assert (out[:2] == 0).all()


def test_a_huge_value_reaches_only_the_rows_that_may_read_it():
    options = {"causal": True, "tile": (2, 2)}
    before = tiled_attention([[1.0], [2.0]], [[1.0], [2.0]], [[10.0], [20.0]], **options)
    same(tiled_attention([[1.0], [2.0]], [[1.0], [2.0]], [[10.0], [1e308]], **options)[0], before[0])
    # Key 1 times query 0 overflows, but is blocked; the sign that would make inf - inf as well.
    for big in (1e200, -1e200):
        out = tiled_attention(
            [[1e200, 1e200], [1e-200, 0]], [[1, 1], [big, -big]], [[10.0], [20.0]], **options
        )
        same(out[0], [10])


@pytest.mark.parametrize(("name", "position"), [("Q", (1, 2)), ("K", (3, 0)), ("V", (4, 6))])
@pytest.mark.parametrize("bad", [nan, inf, -inf])
@pytest.mark.parametrize("causal", [True, False])
def test_what_an_allowed_cell_uses_must_be_finite(name, position, bad, causal):
    arrays_ = dict(zip("QKV", random_inputs(), strict=True))
    arrays_[name][position] = bad
    options = {"causal": True, "align": "bottom-right"} if causal else {}
    with pytest.raises(ValueError, match=re.escape(f"got {name}{list(position)} = {bad}: ")):
        tiled_attention(**arrays_, tile=(3, 2), **options)


def test_a_value_of_vanishing_weight_is_still_read():
    with pytest.raises(ValueError, match=re.escape("V[1, 0] = nan")):
        tiled_attention([[1000.0]], [[1.0], [-1.0]], [[1.0], [nan]])


@pytest.mark.parametrize("name", ["Q", "K"])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("tile", [None, (1, 1), (2, 1)], ids=str)
def test_an_allowed_score_that_overflows_is_named(name, sign, tile):
    arrays_ = {"Q": np.ones((B, 3, 1)), "K": np.ones((B, 4, 1)), "V": np.ones((B, 4, 2))}
    arrays_["Q"][1, 2] = 1e200
    arrays_["K"][1, 3] = sign * 1e200
    with pytest.raises(
        ValueError, match=rf"^Q @ K.T must not overflow float64, got {sign * inf} at \(1, 2, 3\): "
    ):
        tiled_attention(**arrays_, tile=tile)
    allowed = np.ones((B, 3, 4), bool)
    allowed[1, 2, 3] = False
    same(tiled_attention(**arrays_, allowed=allowed, tile=tile), np.ones((B, 3, 2)))


def test_a_large_legal_score_does_not_overflow():
    same(
        tiled_attention([[1.0]], [[1.7e308], [-1.7e308], [1.7e308]], [[1.0], [5.0], [2.0]], tile=(1, 1)),
        [[1.5]],
    )
    same(tiled_attention([[1.0]], [[-1e30], [5.0]], [[3.0], [4.0]], allowed=[[1, 0]], tile=(1, 1)), [[3]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_k", range(2, 30))
def test_an_average_of_the_largest_number_is_that_number_or_refused(n_k, dtype):
    largest = np.finfo(dtype).max
    one, V = np.zeros((1, 1), dtype), np.full((n_k, 2), largest, dtype)
    V[:, 0] = 1
    try:
        same(tiled_attention(one, np.zeros((n_k, 1), dtype), V, tile=(1, 2)), [[1, largest]], 1e-6, 0)
    except ValueError as error:
        assert str(error).startswith(f"weights @ V must not overflow {np.dtype(dtype)}, got inf at (0, 1): ")


def test_no_numpy_warning_escapes_however_strict_the_caller_is(three_threads):
    with np.errstate(all="raise"):
        Q, K, V = random_inputs(B, scale=900)
        tiled_attention(Q, K, V, tile=(1, 1))
        tiled_attention([[1e-200], [1.0]], [[1e-200], [800.0], [1.0]], [[1e-310], [1.0], [5.0]])
        tiled_attention(np.float32([[1]]), np.float32([[0], [-1e30]]), np.float32([[1], [2]]), tile=(1, 1))
        tiled_attention([[1.0]], [[1.0], [nan]], [[1.0], [inf]], allowed=[[1, 0]])
        tiled_attention([[1.0]], [[1.0]], [[1.0]], allowed=[[0]], empty_rows="zero", return_lse=True)
        list(sweep(Q[0], K[0], V[0], tile=(1, 1)))
        with pytest.raises(ValueError, match="overflow"):
            tiled_attention([[1e300]], [[1e300]], [[1]])


# What is refused


def both(function, *args, **options):
    """The message that a call is refused with."""
    with pytest.raises(ValueError, match=r"(?s)^.+ (must|needs) .+, got .+: .+\.$") as error:
        function(*args, **options)
    return str(error.value)


ones = np.ones
REFUSED_BY_BOTH = {
    "one vector as Q": ([1, 0], [[1, 0]], [[1]]),
    "one vector as K": ([[1, 0]], [1, 0], [[1]]),
    "values as a list of numbers": ([[1]], [[1], [2]], [10, 20]),
    "no queries": (ones((0, 2)), ones((3, 2)), ones((3, 2))),
    "no keys": (ones((3, 2)), ones((0, 2)), ones((0, 2))),
    "no width": (ones((3, 0)), ones((3, 0)), ones((3, 1))),
    "no values": (ones((3, 1)), ones((3, 1)), ones((3, 0))),
    "no batch": (ones((0, 3, 2)), ones((0, 3, 2)), ones((0, 3, 2))),
    "widths that differ": (ones((2, 4)), ones((2, 3)), ones((2, 3))),
    "a value missing": (ones((2, 4)), ones((3, 4)), ones((2, 4))),
    "batches that differ": (ones((2, 3, 4)), ones((3, 3, 4)), ones((3, 3, 4))),
    "a batch of values only": (ones((3, 4)), ones((3, 4)), ones((2, 3, 4))),
    "text": ([["a"]], [[1]], [[1]]),
    "allowed in the place of V": ([[1]], [[1]], [[True]]),
    "a masked array": (np.ma.masked_array([[1.0]], [[0]]), [[1]], [[1]]),
    "a float mask": ([[1], [2]], [[1], [2]], [[1], [2]], [[0, -inf], [0, 0]]),
    "other integers": ([[1], [2]], [[1], [2]], [[1], [2]], [[-2, -1], [-1, -1]]),
    "a pattern too small": (ones((16, 1)), ones((16, 1)), ones((16, 1)), ones((8, 8), bool)),
    "a pattern as a column": (ones((3, 1)), ones((4, 1)), ones((4, 1)), ones((3, 1), bool)),
    "padding on the head axis": (
        ones((2, 2, 3, 1)),
        ones((2, 2, 3, 1)),
        ones((2, 2, 3, 1)),
        ones((2, 1, 3), bool),
    ),
    "an empty row": (ones((3, 1)), ones((2, 1)), ones((2, 1)), [[1, 0], [0, 0], [0, 1]]),
    "empty rows and NaN": ([[1.0], [nan]], [[1]], [[1]], [[1], [0]]),
    "NaN that is used": ([[1.0], [nan]], [[1]], [[1]], [[1], [1]]),
    "a score that overflows": ([[1.0], [1e200]], [[1.0], [1e200]], [[1], [1]]),
}


@pytest.mark.parametrize("name", REFUSED_BY_BOTH)
def test_what_attention_refuses_is_refused_in_the_same_words(name):
    Q, K, V, *allowed = REFUSED_BY_BOTH[name]
    assert both(tiled_attention, Q, K, V, allowed=allowed[0] if allowed else None) == both(
        attention, Q, K, V, *allowed
    )


def test_a_missing_alignment_is_refused_in_the_words_of_patterns():
    X, Y = np.ones((2, 1)), np.ones((3, 1))
    for align in (None, "left"):
        assert both(tiled_attention, X, Y, Y, causal=True, align=align) == both(
            patterns.causal, 2, 3, align=align
        )
    assert both(tiled_attention, X, X, X, causal=True, align="left") == both(patterns.causal, 2, align="left")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tile": (0, 4)}, "tile[0] must be a whole number, 1 or more, got 0"),
        ({"tile": (4, -1)}, "tile[1] must be a whole number, 1 or more, got -1"),
        ({"tile": (4, 2.0)}, "tile[1] must be a whole number, 1 or more, got 2.0"),
        ({"tile": 4}, "tile must be two sizes, of queries and of keys, got 4"),
        ({"tile": (4,)}, "tile must be two sizes, of queries and of keys, got (4,)"),
        ({"causal": np.tri(3)}, "causal must be True or False, got ndarray"),
        ({"causal": None}, "causal must be True or False, got NoneType"),
        ({"align": "top-left"}, "align must come with causal=True, got align='top-left' alone"),
        ({"empty_rows": "nan"}, "empty_rows must be one of 'raise', 'zero', got 'nan'"),
    ],
    ids=str,
)
def test_options_that_mean_nothing_are_refused(options, words):
    X = np.ones((3, 1))
    assert both(tiled_attention, X, X, X, **options).startswith(words)
    assert both(sweep, X, X, X, **{"tile": (1, 1)} | options).startswith(words)


# Threads


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


def test_blas_has_its_threads_back_after_a_call_an_error_and_two_calls_at_once(three_threads, monkeypatch):
    before = blas_threads()
    Q, K, V = random_inputs(B, H)
    inside, both_in = [], threading.Barrier(2, timeout=20)

    def meet(*args, **options):
        if not inside or len(inside) < 2:
            inside.append(blas_threads())
        return add_tile(*args, **options)

    monkeypatch.setattr(tiled, "add_tile", meet)
    tiled_attention(Q, K, V, tile=(2, 2))
    assert all(n == 1 for n in inside[0])
    assert blas_threads() == before

    def call():
        both_in.wait()
        for _ in range(20):
            tiled_attention(Q, K, V, tile=(2, 2))

    callers = [threading.Thread(target=call) for _ in range(2)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert blas_threads() == before

    def fail(*args, **options):
        raise RuntimeError("stop")

    monkeypatch.setattr(tiled, "add_tile", fail)
    with pytest.raises(RuntimeError, match="stop"):
        tiled_attention(Q, K, V, tile=(2, 2))
    assert blas_threads() == before


def test_an_error_in_another_thread_arrives_and_ends_the_work(three_threads, monkeypatch):
    caller, done = threading.get_ident(), []

    def fail_elsewhere(*args, **options):
        done.append(threading.get_ident())
        if threading.get_ident() != caller:
            raise RuntimeError("elsewhere")
        threading.Event().wait(0.05)  # the others get their turn
        return add_tile(*args, **options)

    monkeypatch.setattr(tiled, "add_tile", fail_elsewhere)
    with pytest.raises(RuntimeError, match="elsewhere"):
        tiled_attention(*random_inputs(B, H), tile=(1, 5))
    assert len(set(done)) > 1


def test_every_thread_count_gives_the_same_answer(monkeypatch):
    monkeypatch.setattr(tiled, "CELLS_WORTH_A_THREAD", 1)
    Q, K, V = random_inputs(B, H)
    right = slow_attention(Q, K, V)
    for cores in (1, 2, 5, 64):
        monkeypatch.setattr(tiled, "_cores", lambda cores=cores: cores)
        same(tiled_attention(Q, K, V), right)


# Memory


def test_memory_grows_as_t_and_stays_far_below_the_scores():
    small, large = (
        peak_bytes(
            tiled_attention, *(a.astype("f4") for a in random_inputs(sizes=(T, T, 8, 8))), tile=(64, 64)
        )
        for T in (2048, 4096)
    )
    assert 1.5 < large / small < 2.5
    assert large < 4096 * 4096 * 4 / 20


# Watched from outside


@pytest.mark.parametrize("scale", [1, 40])
@pytest.mark.parametrize("tile", TILES[1:], ids=str)
@pytest.mark.parametrize(
    "options", [{}, {"causal": True, "align": "bottom-right"}, {"allowed": ALLOWED["padding"]}], ids=str
)
def test_sweep_knows_after_each_tile_what_attention_over_the_keys_so_far_gives(options, tile, scale):
    Q, K, V = random_inputs(scale=scale)
    pattern = options.get("allowed", np.ones((N_Q, N_K), bool))
    if "causal" in options:
        pattern = patterns.causal(N_Q, N_K, align="bottom-right")
    pattern, seen = np.broadcast_to(pattern, (N_Q, N_K)), np.zeros((N_Q, N_K), bool)
    scores = np.where(pattern, Q @ K.T / D_K**0.5, -inf)
    for step in sweep(Q, K, V, tile=tile, **options):
        cells = np.ix_(step.queries, step.keys)
        assert not seen[cells].any()
        assert step.skipped is not pattern[cells].any()
        seen[cells] = True
        so_far = np.where(seen, scores, -inf)
        same(step.running_max, so_far.max(-1))
        finite = np.maximum(so_far.max(-1, keepdims=True), -1e300)
        same(step.running_sum, np.exp(so_far - finite).sum(-1))
        same(step.out, slow_attention(Q, K, V, seen & pattern))
    assert seen.all()
    same(step.out, tiled_attention(Q, K, V, tile=tile, **options))


def test_sweep_is_lazy_and_its_steps_keep_what_they_show():
    Q, K, V = random_inputs()
    steps = sweep(Q, K, V, tile=(2, 2))
    first = next(steps)
    kept = first.out.copy(), first.running_max.copy(), first.running_sum.copy()
    assert (first.queries, first.keys) == (range(2), range(2))
    assert len(list(steps)) == 5
    for now, then in zip((first.out, first.running_max, first.running_sum), kept, strict=True):
        same(now, then, 0, 0)
    with pytest.raises(dataclasses.FrozenInstanceError):
        first.out = None


def test_sweep_refuses_at_once_what_it_cannot_show():
    Q, K, V = random_inputs(B)
    assert both(sweep, Q, K, V, tile=(1, 1)).startswith("sweep must have one head")
    with pytest.raises(ValueError, match="none in row 0"):
        sweep([[1], [1]], [[1]], [[1]], tile=(1, 1), causal=True, align="bottom-right")
    for step in sweep(
        [[1], [1]], [[1]], [[1]], tile=(1, 1), causal=True, align="bottom-right", empty_rows="zero"
    ):
        assert step.out[0] == 0


def test_sweep_shows_values_that_had_to_be_scaled_down():
    *_, last = sweep([[0.0]], [[0.0], [0.0]], [[1.5e308], [1.7e308]], tile=(1, 1))
    same(last.out, [[1.6e308]])
