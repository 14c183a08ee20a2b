"""The truth itself: against loops, by its properties, on published bugs, and in what it refuses."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from helpers import patterns
from helpers.attention import (
    attention,
    attention_weights,
    causal_attention,
    merge_heads,
    multi_head_attention,
    softmax,
    split_heads,
)
from tests.oracles import slow_attention, slow_multi_head, slow_softmax, slow_weights

inf, nan = np.inf, np.nan
B, H, N_Q, N_K, D_K, D_V = 2, 3, 4, 5, 6, 7  # all different, so that no axis can pass for another

exact = {"rtol": 0, "atol": 0}
close = {"rtol": 1e-12, "atol": 1e-12}
printed = {"rtol": 0, "atol": 1e-9}  # right values quoted to nine digits
properties = settings(deadline=None, max_examples=60, derandomize=True)


def same(result, expected, rtol=1e-12, atol=1e-12):
    """Compare values and shape; assert_allclose alone lets () stand for any shape."""
    expected = np.asarray(expected)
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=rtol, atol=atol)


def random_inputs(*leading, seed=0):
    """Q, K, V with scores that neither saturate nor agree."""
    rng = np.random.default_rng(seed)
    shapes = ((N_Q, D_K), (N_K, D_K), (N_K, D_V))
    return tuple(rng.normal(0.3, 1.0, (*leading, *shape)) for shape in shapes)


def weights_of(scores, allowed=None, **options):
    """Weights of given scores: one query per row, the identity as keys, d_k undone."""
    scores = np.atleast_2d(np.asarray(scores, dtype=float))
    n_k = scores.shape[1]
    return attention_weights(scores * n_k**0.5, np.eye(n_k), allowed, **options)


# Against the slow loop


ALLOWED = {
    "everything": None,
    "aligned left": patterns.causal(N_Q, N_K, align="top-left"),
    "aligned right": patterns.causal(N_Q, N_K, align="bottom-right"),
    "padding": patterns.keys([1, 0, 1, 1, 0]),
    "as integers": [[0, 1, 0, 0, 1]] * N_Q,
}


@pytest.mark.parametrize("temperature", [1.0, 0.4, 3])
@pytest.mark.parametrize("allowed", ALLOWED.values(), ids=ALLOWED.keys())
@pytest.mark.parametrize("leading", [(), (B,), (B, H)], ids=str)
def test_agrees_with_the_slow_loop(leading, allowed, temperature):
    Q, K, V = random_inputs(*leading)
    same(attention_weights(Q, K, allowed, temperature=temperature), slow_weights(Q, K, allowed, temperature))
    same(attention(Q, K, V, allowed, temperature=temperature), slow_attention(Q, K, V, allowed, temperature))


@pytest.mark.parametrize("shape", [(B, 1, N_Q, N_K), (1, H, N_Q, N_K), (B, H, N_Q, N_K), (B, 1, 1, N_K)])
def test_each_batch_item_and_head_keeps_its_own_pattern(shape):
    Q, K, V = random_inputs(B, H)
    allowed = np.random.default_rng(1).random(shape) < 0.6
    allowed[..., 1] = True
    same(attention(Q, K, V, allowed), slow_attention(Q, K, V, allowed))


def test_causal_attention_is_attention_with_the_causal_pattern():
    Q, K, V = random_inputs(B)
    Q = np.concatenate([Q, Q[:, :1]], axis=1)
    same(causal_attention(Q, K, V), slow_attention(Q, K, V, np.tri(N_K)))
    same(causal_attention(Q[0], K[0], V[0]), slow_attention(Q[0], K[0], V[0], np.tri(N_K)))


@pytest.mark.parametrize("leading", [(), (B,), (5, B)], ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_many_heads_agree_with_one_head_after_the_other(leading, masked):
    rng = np.random.default_rng(2)
    T, d_model = 4, 5
    X = rng.normal(size=(*leading, T, d_model))
    W_Q, W_K = rng.normal(size=(2, d_model, H * 2))
    W_V, W_O = rng.normal(size=(d_model, H * 7)), rng.normal(size=(H * 7, d_model))
    allowed = patterns.causal(T) if masked else None
    if masked and leading == (B,):
        allowed = allowed & patterns.keys([[1, 1, 1, 1], [1, 1, 0, 0]])
    same(
        multi_head_attention(X, W_Q, W_K, W_V, W_O, H, allowed),
        slow_multi_head(X, W_Q, W_K, W_V, W_O, H, allowed),
    )


def test_one_row_by_hand():
    q, K = [[1, 0]], [[1, 0], [0, 1]]
    same(attention_weights(q, K), [[0.670, 0.330]], rtol=0, atol=5e-4)
    same(attention(q, K, [[10, 0], [0, 20]]), [[6.70, 6.60]], rtol=0, atol=5e-3)
    same(attention(q, K, [[100, 0], [0, 20]]), [[67.0, 6.60]], rtol=0, atol=3e-2)


# By its properties


def finite(shape, most=4.0):
    return arrays(np.float64, shape, elements=st.floats(-most, most, width=32))


@st.composite
def problems(draw, square=False):
    """Q, K, V of any small sizes and a pattern that leaves no row empty."""
    n_q, d_k, d_v = (draw(st.integers(1, 5)) for _ in range(3))
    n_k = n_q if square else draw(st.integers(1, 5))
    allowed = draw(arrays(bool, (n_q, n_k)))
    allowed[np.arange(n_q), draw(arrays(int, n_q, elements=st.integers(0, n_k - 1)))] = True
    return draw(finite((n_q, d_k))), draw(finite((n_k, d_k))), draw(finite((n_k, d_v))), allowed


@properties
@given(problems(), st.floats(0.05, 20))
def test_any_problem_agrees_with_the_slow_loop(problem, temperature):
    Q, K, V, allowed = problem
    options = {"temperature": temperature}
    same(attention_weights(Q, K, allowed, **options), slow_weights(Q, K, allowed, temperature), 1e-9)
    same(attention(Q, K, V, allowed, **options), slow_attention(Q, K, V, allowed, temperature), 1e-9, 1e-9)


@properties
@given(problems())
def test_rows_sum_to_one_and_blocked_weights_are_exactly_zero(problem):
    Q, K, _, allowed = problem
    weights = attention_weights(Q, K, allowed)
    same(weights.sum(-1), np.ones(len(Q)))
    assert (weights >= 0).all()
    assert (weights[~allowed] == 0).all()


@properties
@given(problems(), st.randoms())
def test_the_order_of_keys_with_their_values_does_not_matter(problem, random):
    Q, K, V, allowed = problem
    order = random.sample(range(len(K)), len(K))
    same(attention(Q, K[order], V[order], allowed[:, order]), attention(Q, K, V, allowed))


@properties
@given(problems(), st.randoms())
def test_the_order_of_queries_is_the_order_of_outputs(problem, random):
    Q, K, V, allowed = problem
    order = random.sample(range(len(Q)), len(Q))
    same(attention(Q[order], K, V, allowed[order]), attention(Q, K, V, allowed)[order])


@properties
@given(finite((3, 4)), finite((3, 1), most=100))
def test_a_number_added_to_a_whole_row_changes_nothing(scores, per_row):
    same(softmax(scores + per_row), softmax(scores))


@properties
@given(problems())
def test_every_output_lies_between_the_values_it_may_read(problem):
    Q, K, V, allowed = problem
    out = attention(Q, K, V, allowed)
    readable = np.where(allowed[:, :, None], V, nan)  # (n_q, n_k, d_v)
    assert (out >= np.nanmin(readable, axis=1) - 1e-12).all()
    assert (out <= np.nanmax(readable, axis=1) + 1e-12).all()


@properties
@given(problems(square=True), st.integers(0, 4), st.floats(-1e9, 1e9))
def test_nothing_before_a_changed_token_moves(problem, token, value):
    Q, K, V, _ = problem
    token %= len(Q)
    before = causal_attention(Q, K, V)
    changed = [a.copy() for a in (Q, K, V)]
    for a in changed:
        a[token] = value
    same(causal_attention(*changed)[:token], before[:token], **exact)


@properties
@given(problems(), st.sampled_from([0.125, 0.5, 3.0, 8.0]))
def test_queries_times_c_with_keys_over_c_change_nothing(problem, c):
    Q, K, V, allowed = problem
    same(attention(Q * c, K / c, V, allowed), attention(Q, K, V, allowed), 1e-9, 1e-9)


@properties
@given(problems(), st.sampled_from([0.25, 2.0, 10.0]))
def test_temperature_is_a_division_of_the_queries(problem, temperature):
    Q, K, _, allowed = problem
    same(
        attention_weights(Q, K, allowed, temperature=temperature),
        attention_weights(Q / temperature, K, allowed),
    )


@properties
@given(finite((2, 3, 4)), st.integers(-3, 2))
def test_softmax_works_along_any_axis(scores, axis):
    weights = softmax(scores, axis)
    same(weights, np.apply_along_axis(lambda row: slow_softmax(row.tolist()), axis, scores))


@properties
@given(st.integers(1, 4), st.integers(1, 3), st.integers(1, 3), st.sampled_from([(), (2,), (2, 3)]))
def test_merging_undoes_splitting(n_heads, T, d_head, leading):
    X = np.arange(np.prod((*leading, T, n_heads * d_head))).reshape(*leading, T, n_heads * d_head)
    heads = split_heads(X, n_heads)
    assert heads.shape == (*leading, n_heads, T, d_head)
    same(merge_heads(heads), X, **exact)
    for head in range(n_heads):
        same(heads[..., head, :, :], X[..., head * d_head : (head + 1) * d_head], **exact)


# Rows that tame numbers never show


def test_a_legal_score_of_exactly_zero_still_counts():
    same(attention_weights([[1, 0]], [[0, 1], [2, 0]]), slow_weights([[1, 0]], [[0, 1], [2, 0]]))
    assert attention_weights([[1, 0]], [[0, 1], [2, 0]])[0, 0] > 0.19


def test_a_huge_blocked_score_leaves_the_others_their_weights():
    same(weights_of([0.5, 0.0, 900.0], [[1, 1, 0]])[0], [*slow_softmax([0.5, 0.0]), 0])
    same(softmax([0.5, 0.0, 900.0]), [0, 0, 1])


def test_large_scores_do_not_overflow():
    same(softmax([1000, 1001, 1002]), softmax([0, 1, 2]))
    same(softmax([-1000.0, -1001.0]), softmax([0.0, -1.0]))
    same(softmax([1.7e308, -1.7e308, 1.7e308]), [0.5, 0, 0.5])


def test_the_only_legal_key_gets_all_weight_however_low_its_score():
    same(weights_of([-1e30, 5.0], [[1, 0]]), [[1, 0]], **exact)
    same(softmax([-1e30, -inf]), [1, 0], **exact)


def test_one_position():
    same(attention([[3.0]], [[2.0]], [[5.0, 7.0]]), [[5, 7]])
    same(causal_attention([[3.0]], [[2.0]], [[5.0, 7.0]]), [[5, 7]])
    same(multi_head_attention([[1, 2]], *[np.eye(2)] * 4, n_heads=2, allowed=[[1]]), [[1, 2]])
    same(softmax([4.0]), [1])


def test_equal_scores_share_the_weight_of_the_legal_keys():
    same(
        attention_weights(np.zeros((3, 2)), np.ones((3, 2)), np.tri(3, dtype=bool)),
        np.tri(3) / [[1], [2], [3]],
    )


# Published bugs, by their number in the list of cases


def test_a01_a_row_without_a_key_is_refused_or_zero():
    Q = K = [[1], [2], [3], [4]]
    V = [[10], [20], [30], [40]]
    allowed = patterns.window(4, 2) & patterns.keys([1, 1, 0, 0])
    with pytest.raises(ValueError, match="every query must have an allowed key, got none in row 3: "):
        attention(Q, K, V, allowed)
    weights = attention_weights(Q, K, allowed, empty_rows="zero")
    same(weights, [[1, 0, 0, 0], [0.119202922, 0.880797078, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]], **printed)
    assert (weights[3] == 0).all()
    same(weights.sum(-1), [1, 1, 1, 0])
    same(attention(Q, K, V, allowed, empty_rows="zero"), [[10], [18.80797078], [20], [0]], rtol=0, atol=1e-8)


def test_a01_rows_are_named_with_their_batch_item():
    Q, K, V = random_inputs(B)
    allowed = np.ones((B, N_Q, N_K), dtype=bool)
    allowed[1, 2] = allowed[0, 3] = False
    with pytest.raises(ValueError, match=re.escape("rows (0, 3), (1, 2)")):
        attention(Q, K, V, allowed)
    with pytest.raises(ValueError, match="rows 0, 1, 2, 3, 4, 5 and 3 more"):
        attention_weights(np.ones((9, 1)), [[1]], np.zeros((9, 1), dtype=bool))
    with pytest.raises(ValueError, match="only -inf in row 1"):
        softmax([[0, -inf], [-inf, -inf]])
    with pytest.raises(ValueError, match="only -inf in the only row"):
        softmax([-inf, -inf])
    with pytest.raises(ValueError, match="only -inf in row 0"):
        softmax([[-inf, 1], [-inf, 1]], axis=0)


def test_a02_true_means_may_attend():
    Q = K = [[1], [2]]
    V = [[10], [20]]
    blocked = np.array([[False, True], [False, False]])
    same(attention(Q, K, V, ~blocked), [[10], [18.80797078]], rtol=0, atol=1e-8)
    same(attention(Q, K, V, blocked, empty_rows="zero"), [[20], [0]])
    same(weights_of([2, 1, 3], [[1, 1, 0]]), [[0.731058579, 0.268941421, 0]], **printed)


@pytest.mark.parametrize(
    "mask",
    [
        [[0, -inf], [0, 0]],
        [[1.0, 0.0], [1.0, 1.0]],
        [[-2, -1], [-1, -1]],
        [[1, 0], [1, 2]],
        [["a", "b"], ["c", "d"]],
        [[1j, 0], [0, 1]],
        [[None, True], [True, True]],
    ],
    ids=str,
)
def test_a02_what_is_neither_boolean_nor_zero_and_one_is_refused(mask):
    with pytest.raises(
        ValueError, match=r"allowed must be boolean, True = may attend, or the integers 0 and 1, got"
    ):
        attention([[1], [2]], [[1], [2]], [[10], [20]], mask)


@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint8, np.int32, np.int64])
def test_a02_zero_and_one_of_any_integer_type_are_booleans(dtype):
    allowed = np.array([[1, 0], [1, 1]], dtype=dtype)
    same(attention([[1], [2]], [[1], [2]], [[10], [20]], allowed), [[10], [18.807970780]], rtol=0, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a03_blocked_is_exactly_zero_in_every_dtype(dtype):
    scores = np.array([2, 1, 3], dtype=dtype)
    weights = softmax(np.where([1, 1, 0], scores, -inf).astype(dtype))
    same(weights, [0.731058579, 0.268941421, 0], rtol=0, atol=1e-9 if dtype is np.float64 else 1e-6)
    assert weights[2] == 0
    causal_and_padded = patterns.causal(3) & patterns.keys([1, 1, 0])
    weights = attention_weights(np.ones((3, 1), dtype), scores[:, None], causal_and_padded)
    assert (weights[~causal_and_padded] == 0).all()
    same(weights.sum(-1), [1, 1, 1], 1e-6, 0)


def test_a04_the_diagonal_is_kept():
    same(causal_attention([[1], [2]], [[1], [2]], [[10], [20]]), [[10], [18.80797078]], rtol=0, atol=1e-8)
    strict = np.tri(2, k=-1, dtype=bool)
    same(attention([[1], [2]], [[1], [2]], [[10], [20]], strict, empty_rows="zero"), [[0], [10]])


def test_a05_unequal_numbers_need_an_alignment():
    V = [[1], [2], [3], [4]]
    one_query, four_keys = np.zeros((1, 3)), np.zeros((4, 3))
    same(attention(one_query, four_keys, V, patterns.causal(1, 4, align="bottom-right")), [[2.5]])
    same(attention(one_query, four_keys, V, patterns.causal(1, 4, align="top-left")), [[1.0]])
    allowed = patterns.causal(5, 2, align="bottom-right")
    out = attention(np.zeros((5, 3)), np.zeros((2, 3)), [[10], [20]], allowed, empty_rows="zero")
    same(out, [[0], [0], [0], [10], [15]])
    with pytest.raises(ValueError, match=r"as many queries as keys, got 1 and 4: .*align="):
        causal_attention(one_query, four_keys, V)


def test_a06_heads_are_split_and_joined_along_the_features():
    same(merge_heads([[[1, 2], [3, 4]], [[5, 6], [7, 8]]]), [[1, 2, 5, 6], [3, 4, 7, 8]], **exact)
    same(split_heads([[1, 2, 3, 4], [5, 6, 7, 8]], 2), [[[1, 2], [5, 6]], [[3, 4], [7, 8]]], **exact)


def test_a06_two_heads_with_identity_projections():
    X = [[1, 0, 0, 1], [0, 1, 1, 0], [1, 1, 0, 0]]
    right = [
        [1, 0, 0, 1],
        [0.330238451, 0.669761549, 0.669761549, 0.330238451],
        [0.751744922, 0.751744922, 0.333333333, 0.333333333],
    ]
    same(multi_head_attention(X, *[np.eye(4)] * 4, 2, patterns.causal(3)), right, **printed)


def test_a06_padding_belongs_to_the_batch_item_not_to_the_head():
    sample = np.array([[1, 0], [0, 1], [1, 1]])
    X = np.stack([sample, sample])  # B = H = 2
    one = np.eye(2)
    padding = patterns.keys([[1, 1, 1], [1, 1, 0]])
    right = [
        [[0.844637597, 0.666666667], [0.666666667, 0.844637597], [0.844637597, 0.844637597]],
        [[0.731058579, 0.5], [0.5, 0.731058579], [0.731058579, 0.731058579]],
    ]
    same(multi_head_attention(X, one, one, one, one, 2, padding), right, **printed)
    heads = split_heads(X, 2)
    weights = attention_weights(heads, heads, padding[:, None])
    assert (weights[1, :, :, 2] == 0).all()
    assert (weights[0, :, :, 2] > 0).all()
    with pytest.raises(
        ValueError, match=r"allowed must have shape .*got shape \(2, 1, 3\).*allowed\[:, None\]"
    ):
        attention_weights(heads, heads, padding)


@pytest.mark.parametrize("allowed", [np.ones((2, 1, 3)), np.ones((2, 3, 3)), np.ones((1, 2, 3, 3))])
def test_a06_nothing_can_land_on_the_heads_of_one_sequence(allowed):
    with pytest.raises(ValueError, match="allowed must have shape"):
        multi_head_attention(np.ones((3, 4)), *[np.eye(4)] * 4, 2, allowed.astype(bool))


def test_a06_heads_must_divide_the_width():
    with pytest.raises(ValueError, match="n_heads must divide d_model, got n_heads=4 and d_model=6"):
        split_heads(np.ones((3, 6)), 4)
    with pytest.raises(ValueError, match="n_heads must divide d_model, got n_heads=4 and d_model=6"):
        multi_head_attention(np.ones((3, 6)), *[np.eye(6)] * 4, 4)


@pytest.mark.parametrize("n_heads", [2, 4])
def test_a07_each_head_divides_by_the_root_of_its_own_width(n_heads):
    d_model, d_k = 4 * n_heads, 4
    X = np.concatenate([np.ones((1, d_model)), np.zeros((1, d_model))])
    one = np.eye(d_model)
    weights = attention_weights(split_heads(X, n_heads), split_heads(X, n_heads))
    same(weights[:, 0], [[0.880797078, 0.119202922]] * n_heads, **printed)
    same(multi_head_attention(X, one, one, one, one, n_heads)[0], [0.880797078] * d_model, **printed)
    assert split_heads(X, n_heads).shape[-1] == d_k


def test_a07_the_width_of_the_values_is_no_part_of_the_scale():
    q, K = [[2, 2, 2, 2]], [[1, 1, 1, 1], [0, 0, 0, 0]]
    same(attention(q, K, [[1], [0]]), [[0.98201379]], rtol=0, atol=1e-8)


def test_a08_softmax_runs_over_the_keys():
    scores = [[0, 1], [2, 0]]
    same(softmax(scores), [[0.268941421, 0.731058579], [0.880797078, 0.119202922]], **printed)
    same(softmax(scores, axis=0), [[0.119202922, 0.731058579], [0.880797078, 0.268941421]], **printed)
    same(weights_of(scores), softmax(scores))
    same(weights_of([[0.3, 2.1]]), [[0.141851065, 0.858148935]], **printed)


def test_a09_padding_hides_keys_and_not_queries():
    allowed = patterns.causal(4) & patterns.keys(np.array([5, 7, 0, 0]) != 0)
    same(allowed, [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0]], **exact)
    out = attention(np.zeros((4, 3)), np.zeros((4, 3)), [[1], [2], [30], [40]], allowed)
    same(out, [[1], [1.5], [1.5], [1.5]])
    source = patterns.keys([1, 1, 1, 0])
    same(attention(np.zeros((2, 3)), np.zeros((4, 3)), [[1], [2], [3], [400]], source), [[2], [2]])


@pytest.mark.parametrize(
    "shape", [(8, 8), (16, 1), (1, 1), (16,), (), (16, 17), (1, 16, 16), (0, 16)], ids=str
)
def test_a09_a_pattern_of_another_size_is_refused(shape):
    Q = np.ones((16, 2))
    message = "allowed must have shape (16, 16), or 1 for 16 where all queries are alike, got shape "
    with pytest.raises(ValueError, match=re.escape(message + str(shape))):
        attention_weights(Q, Q, np.ones(shape, dtype=bool))


@pytest.mark.parametrize(
    "shape", [(B, N_Q, N_K), (H, N_Q, N_K), (H, B, N_Q, N_K), (B, H, N_Q, 1), (B, N_K)], ids=str
)
def test_a09_a_pattern_that_fits_only_by_accident_is_refused(shape):
    Q, K, V = random_inputs(B, H)
    with pytest.raises(ValueError, match="allowed must have shape"):
        attention(Q, K, V, np.ones(shape, dtype=bool))


A10 = {
    1: [0.665240956, 0.244728471, 0.090030573],
    2: [0.506480391, 0.307195886, 0.186323723],
    0.5: [0.866813332, 0.117310428, 0.01587624],
    100: [0.336672167, 0.333322222, 0.330005611],
    1e-3: [1, 0, 0],
}


@pytest.mark.parametrize(("temperature", "right"), A10.items())
def test_a10_temperature_sharpens_or_flattens(temperature, right):
    same(weights_of([2, 1, 0], temperature=temperature), [right], **printed)
    same(weights_of([2, 1, 0], temperature=np.float32(temperature)), [right], rtol=0, atol=1e-7)


@pytest.mark.parametrize("temperature", [5e-324, 1e-308, 1e-50, 1e-3, 1, 7, 1e50, 1e308])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a10_no_temperature_leaks_or_overflows(temperature, dtype):
    scores = np.array([[2], [1], [0]], dtype=dtype)
    q = np.ones((1, 1), dtype=dtype)
    same(attention_weights(q, scores, [[1, 0, 0]], temperature=temperature), [[1, 0, 0]], **exact)
    weights = attention_weights(q, scores, [[0, 1, 1]], temperature=temperature)
    assert weights.dtype == dtype
    assert weights[0, 0] == 0
    if temperature <= 1e-3:
        same(weights, [[0, 1, 0]], **exact)
    if temperature >= 1e50:
        same(weights, [[0, 0.5, 0.5]], **exact)


def test_a10_ties_share_the_weight_as_temperature_falls():
    same(weights_of([2, 2, 1], temperature=1e-300), [[0.5, 0.5, 0]])


def test_a10_huge_scores_over_a_huge_temperature():
    same(weights_of([1e308, -1e308], temperature=1e308)[0], slow_softmax([1.0, -1.0]), rtol=1e-9)
    same(weights_of([1e308, -1e308], temperature=0.5), [[1, 0]], **exact)


@pytest.mark.parametrize(
    "temperature",
    [0, 0.0, -1, inf, -inf, nan, True, "1", None, [1.0], np.array([1.0]), 1j, 10**400],
    ids=repr,
)
def test_a10_other_temperatures_are_refused(temperature):
    with pytest.raises(ValueError, match="temperature must be a positive finite number, got "):
        attention_weights([[1.0]], [[1.0]], temperature=temperature)


def test_a10_infinite_scores_are_refused_and_minus_infinity_blocks():
    with pytest.raises(ValueError, match=re.escape("got scores[2] = inf: ")):
        softmax([1, 1, inf])
    with pytest.raises(ValueError, match=re.escape("got scores[1, 0] = nan: ")):
        softmax([[1, 2], [nan, 1]])
    same(softmax([0, 0, -inf]), [0.5, 0.5, 0], **exact)


def test_a11_half_precision_is_widened_before_anything_else():
    q = np.full((1, 64), 40, dtype=np.float16)
    K = np.full((2, 64), 40, dtype=np.float16)
    K[1, 0] = 39.75
    weights = attention_weights(q, K)
    same(weights, [[0.777299861, 0.222700139]], rtol=0, atol=1e-6)
    assert weights.dtype == np.float32


@pytest.mark.parametrize("kind", [list, tuple, np.int8, np.int32, np.int64, np.uint8])
def test_a12_lists_and_integers(kind):
    scores = kind([1, 2, 3]) if kind in (list, tuple) else np.array([1, 2, 3], dtype=kind)
    weights = softmax(scores)
    same(weights, [0.090030573, 0.244728471, 0.665240956], **printed)
    assert weights.dtype == np.float64


def test_a12_integers_are_not_truncated():
    same(softmax([1000, 1001, 1002]), [0.090030573, 0.244728471, 0.665240956], **printed)
    same(causal_attention([[1], [2]], [[1], [2]], [[10], [20]]), [[10], [18.80797078]], rtol=0, atol=1e-8)


def test_a13_rows_sum_to_one_under_any_pattern():
    same(weights_of([2, 1, 3], [[1, 1, 0]]).sum(-1), [1])
    rng = np.random.default_rng(3)
    same(softmax(rng.normal(size=(1000, 7))).sum(-1), np.ones(1000))


# What is read, what is returned, what is left alone


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
        "offset": np.concatenate([a, a], axis=-2)[..., a.shape[-2] :, :],
        "read-only": read_only,
        "byte-swapped": a.astype(a.dtype.newbyteorder()),
        "lists": a.tolist(),
    }


@pytest.mark.parametrize("layout", layouts(np.ones((2, 2))))
def test_a14_every_memory_layout_gives_the_same_answer(layout):
    Q, K, V = random_inputs(B)
    allowed = patterns.causal(N_Q, N_K, align="bottom-right")
    read = [layouts(a)[layout] for a in (Q, K, V)]
    same(attention(*read, allowed), attention(Q, K, V, allowed))
    same(softmax(read[0]), softmax(Q))
    same(split_heads(read[0], 3), split_heads(Q, 3), **exact)
    same(merge_heads(read[0]), merge_heads(Q), **exact)
    for pattern in (
        np.asfortranarray(allowed),
        allowed[::-1].copy()[::-1],
        allowed.T.copy().T,
        allowed.tolist(),
    ):
        same(attention(Q, K, V, pattern), attention(Q, K, V, allowed))


def test_a14_one_array_may_be_all_three():
    X = random_inputs()[0]
    same(causal_attention(X, X, X), slow_attention(X, X, X, np.tri(N_Q)))


def calls():
    """Every function once, with fresh inputs: name -> (function, arrays)."""
    Q, K, V = random_inputs(B)
    allowed = np.broadcast_to(patterns.causal(N_Q, N_K, align="top-left"), (B, N_Q, N_K)).copy()
    one = np.eye(D_K)
    blocked_scores = np.where(allowed[0], 1.5, -inf)
    return {
        "softmax": (softmax, [blocked_scores]),
        "attention_weights": (attention_weights, [Q, K, allowed]),
        "attention": (attention, [Q, K, V, allowed]),
        "causal_attention": (causal_attention, [K, K, V]),
        "split_heads": (lambda X: split_heads(X, 3), [Q]),
        "split_heads, one head": (lambda X: split_heads(X, 1), [Q]),
        "split_heads, one position": (lambda X: split_heads(X, 3), [Q[:, :1]]),
        "merge_heads": (merge_heads, [Q]),
        "merge_heads, one head": (merge_heads, [Q[:1]]),
        "multi_head_attention": (
            lambda X, a, b, c, d, may: multi_head_attention(X, a, b, c, d, 2, may),
            [Q, one, one.copy(), one.copy(), one.copy(), np.tri(N_Q, dtype=bool)],
        ),
    }


@pytest.mark.parametrize("name", calls())
def test_a14_inputs_stay_as_they_are_and_results_are_new(name):
    function, given_arrays = calls()[name]
    copies = [a.copy() for a in given_arrays]
    for a in given_arrays:
        a.setflags(write=False)
    first, second = function(*given_arrays), function(*given_arrays)
    same(second, first, **exact)
    for a, copy in zip(given_arrays, copies, strict=True):
        same(a, copy, **exact)
        assert not np.shares_memory(first, a)
    assert first.flags.writeable


@pytest.mark.parametrize(
    ("dtypes", "result"),
    [
        (("f2", "f2", "f2"), "f4"),
        (("f4", "f4", "f4"), "f4"),
        (("f2", "f4", "f2"), "f4"),
        (("f4", "f4", "f8"), "f8"),
        (("f8", "f8", "f8"), "f8"),
        (("i2", "i4", "i8"), "f8"),
        (("f4", "i1", "f4"), "f8"),
        (("g", "f4", "f4"), "g"),
    ],
    ids=str,
)
def test_the_result_has_the_widest_dtype_given(dtypes, result):
    Q, K, V = (a.round().astype(dtype) for a, dtype in zip(random_inputs(), dtypes, strict=True))
    out = attention(Q, K, V, temperature=0.7)
    assert out.dtype == np.dtype(result)
    same(out, slow_attention(Q, K, V, temperature=0.7), rtol=1e-5, atol=1e-5)
    assert softmax(Q).dtype == (np.float64 if Q.dtype.kind == "i" else np.result_type(Q.dtype, np.float32))
    assert split_heads(Q, 2).dtype == Q.dtype


def test_single_precision_is_right_to_its_last_digits():
    Q, K, V = random_inputs(B, H)
    out = attention(*(a.astype(np.float32) for a in (Q, K, V)))
    same(out, slow_attention(Q, K, V), rtol=1e-5, atol=2e-6)


def test_no_numpy_warning_escapes_however_strict_the_caller_is():
    with np.errstate(all="raise"):
        softmax([0.0, -800.0, -inf])
        softmax(np.array([0, -1e30], dtype=np.float32))
        attention([[1e-200], [1.0]], [[1e-200], [800.0], [1.0]], [[1e-310], [1.0], [5.0]])
        attention([[1e300]], [[1.0], [1e300]], [[1.0], [nan]], [[1, 0]], temperature=1e-300)
        attention_weights(np.float32([[3e38]]), np.float32([[1.0], [-1.0]]), temperature=1e300)
        multi_head_attention([[1e-200]], [[1e-200]], [[1.0]], [[1.0]], [[1e-300]], 1)
        with pytest.raises(ValueError, match="overflow"):
            attention_weights([[1e300]], [[1e300]])


# Whatever is blocked holds


@pytest.mark.parametrize("anything", [nan, inf, -inf, 1e10, 1.7e308])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_blocked_key_or_value_cannot_matter(anything, dtype):
    with np.errstate(over="ignore"):
        anything = dtype(anything)
    Q, K, V = (a.astype(dtype) for a in random_inputs(B))
    allowed = patterns.keys([1, 0, 1, 1, 0])
    before = attention(Q, K, V, allowed)
    K[:, [1, 4]] = anything
    V[:, [1, 4]] = anything
    same(attention(Q, K, V, allowed), before, **exact)


def test_a_key_blocked_in_one_batch_item_only():
    Q, K, V = random_inputs(B)
    allowed = patterns.keys([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]])
    before = attention(Q, K, V, allowed)
    K[1, 4] = V[1, 4] = nan
    same(attention(Q, K, V, allowed), before, **exact)
    V[0, 4] = nan
    with pytest.raises(
        ValueError, match=re.escape("V must be finite where it is used, got V[0, 4, 0] = nan")
    ):
        attention(Q, K, V, allowed)


def test_a_query_without_a_key_may_hold_anything():
    Q, K, V = random_inputs()
    allowed = np.ones((N_Q, N_K), dtype=bool)
    allowed[2] = False
    Q[2] = nan
    out = attention(Q, K, V, allowed, empty_rows="zero")
    same(out[2], np.zeros(D_V), **exact)
    same(out[[0, 1, 3]], attention(Q[[0, 1, 3]], K, V), **exact)


def test_a_huge_value_reaches_only_the_rows_that_may_read_it():
    before = causal_attention([[1.0], [2.0]], [[1.0], [2.0]], [[10.0], [20.0]])
    after = causal_attention([[1.0], [2.0]], [[1.0], [2.0]], [[10.0], [1e308]])
    same(after[0], before[0], **exact)
    # Key 1 times query 0 overflows, but is blocked.
    after = causal_attention([[1e200], [1e-200]], [[1.0], [1e200]], [[10.0], [20.0]])
    same(after[0], before[0], **exact)


@pytest.mark.parametrize(("name", "position"), [("Q", (1, 2)), ("K", (3, 0)), ("V", (4, 6))])
@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_what_an_allowed_cell_uses_must_be_finite(name, position, bad):
    arrays_ = dict(zip("QKV", random_inputs(), strict=True))
    arrays_[name][position] = bad
    allowed = patterns.causal(N_Q, N_K, align="bottom-right")
    with pytest.raises(ValueError, match=re.escape(f"got {name}{list(position)} = {bad}: ")):
        attention(**arrays_, allowed=allowed)


def test_a_value_blocked_for_one_row_and_read_by_another_must_be_finite():
    with pytest.raises(ValueError, match=re.escape("V[1, 0] = nan")):
        causal_attention([[1], [2]], [[1], [2]], [[10], [nan]])
    with pytest.raises(ValueError, match=re.escape("K[1, 0] = inf")):
        causal_attention([[1], [2]], [[1], [inf]], [[10], [20]])


def test_a_value_of_vanishing_weight_is_still_read():
    with pytest.raises(ValueError, match=re.escape("V[1, 0] = nan")):
        attention([[1000.0]], [[1.0], [-1.0]], [[1.0], [nan]])


@pytest.mark.parametrize("name", ["X", "W_Q", "W_K", "W_V", "W_O"])
def test_projections_must_be_finite_too(name):
    given_arrays = {"X": np.ones((3, 4))} | {each: np.eye(4) for each in ("W_Q", "W_K", "W_V", "W_O")}
    given_arrays[name][1, 2] = nan
    with pytest.raises(ValueError, match=re.escape(f"got {name}[1, 2] = nan: ")):
        multi_head_attention(**given_arrays, n_heads=2)


OVERFLOWS = {
    "Q @ K.T": (lambda: attention_weights([[1.0], [1e200]], [[1.0], [1e200]]), (1, 1)),
    "Q @ K.T, both signs": (lambda: attention_weights([[1e200, 1e200]], [[1, 1], [1e200, -1e200]]), (0, 1)),
    "Q @ K.T, single": (lambda: attention_weights(np.float32([[1e20]]), np.float32([[1e20]])), (0, 0)),
    "X @ W_Q": (lambda: multi_head_attention([[1e200]], [[1e200]], [[1]], [[1]], [[1]], 1), (0, 0)),
    "heads @ W_O": (lambda: multi_head_attention([[1]], [[1]], [[1]], [[1e200]], [[1e200]], 1), (0, 0)),
}


@pytest.mark.parametrize("name", OVERFLOWS)
def test_finite_numbers_whose_product_overflows_are_named(name):
    call, at = OVERFLOWS[name]
    product = name.split(",")[0]
    with pytest.raises(
        ValueError, match=rf"^{re.escape(product)} must not overflow .* at {re.escape(str(at))}: "
    ):
        call()


@pytest.mark.parametrize("n_k", range(2, 30))
def test_an_average_of_the_largest_number_is_that_number_or_refused(n_k):
    largest = np.finfo(float).max  # for some n_k rounding makes the weights sum to a little more than 1
    try:
        same(attention([[0.0]], [[0.0]] * n_k, [[1.0, largest]] * n_k), [[1.0, largest]])
    except ValueError as error:
        assert str(error).startswith("weights @ V must not overflow float64, got inf at (0, 1): ")


# What is refused, and how it is said


REFUSED = {
    "one vector as Q": lambda: attention_weights([1, 0], [[1, 0]]),
    "one vector as K": lambda: attention_weights([[1, 0]], [1, 0]),
    "values as a list of numbers": lambda: attention([[1]], [[1], [2]], [10, 20]),
    "no queries": lambda: attention_weights(np.ones((0, 2)), np.ones((3, 2))),
    "no keys": lambda: attention_weights(np.ones((3, 2)), np.ones((0, 2))),
    "no width": lambda: attention_weights(np.ones((3, 0)), np.ones((3, 0))),
    "no values": lambda: attention(np.ones((3, 1)), np.ones((3, 1)), np.ones((3, 0))),
    "no batch": lambda: attention_weights(np.ones((0, 3, 2)), np.ones((0, 3, 2))),
    "no scores": lambda: softmax([]),
    "a single number as scores": lambda: softmax(3.0),
    "no positions": lambda: causal_attention(*[np.ones((0, 1))] * 3),
    "widths that differ": lambda: attention_weights(np.ones((2, 4)), np.ones((2, 3))),
    "a value missing": lambda: attention(np.ones((2, 4)), np.ones((3, 4)), np.ones((2, 4))),
    "batches that differ": lambda: attention_weights(np.ones((2, 3, 4)), np.ones((3, 3, 4))),
    "a batch of queries only": lambda: attention_weights(np.ones((2, 3, 4)), np.ones((3, 4))),
    "a batch of keys only": lambda: attention_weights(np.ones((3, 4)), np.ones((1, 3, 4))),
    "a batch of values only": lambda: attention(np.ones((3, 4)), np.ones((3, 4)), np.ones((2, 3, 4))),
    "ragged rows": lambda: attention_weights([[1, 2], [3]], [[1, 2]]),
    "text": lambda: attention_weights([["a"]], [[1]]),
    "complex numbers": lambda: softmax([1j]),
    "objects": lambda: softmax([None, 1]),
    "dates": lambda: softmax(np.array(["2020-01-01"], dtype="M8[D]")),
    "allowed in the place of V": lambda: attention([[1]], [[1]], [[True]]),
    "a masked array": lambda: softmax(np.ma.masked_array([1.0, 2.0], [0, 1])),
    "a masked array as allowed": lambda: attention_weights([[1]], [[1]], np.ma.masked_array([[True]])),
    "an axis that is not there": lambda: softmax([[1, 2]], axis=2),
    "an axis below": lambda: softmax([[1, 2]], axis=-3),
    "no axis": lambda: softmax([[1, 2]], axis=None),
    "a fractional axis": lambda: softmax([[1, 2]], axis=1.0),
    "two axes": lambda: softmax([[1, 2]], axis=(0, 1)),
    "True as an axis": lambda: softmax([[1, 2]], axis=True),
    "a word for empty rows": lambda: attention_weights([[1]], [[1]], empty_rows="nan"),
    "no word for empty rows": lambda: attention_weights([[1]], [[1]], empty_rows=None),
    "no heads": lambda: split_heads(np.ones((2, 4)), 0),
    "minus two heads": lambda: split_heads(np.ones((2, 4)), -2),
    "half a head": lambda: split_heads(np.ones((2, 4)), 0.5),
    "two heads as a float": lambda: split_heads(np.ones((2, 4)), 2.0),
    "True heads": lambda: split_heads(np.ones((2, 4)), True),
    "a vector to split": lambda: split_heads([1, 2], 2),
    "two axes to merge": lambda: merge_heads([[1, 2]]),
    "projection of another height": lambda: multi_head_attention(
        np.ones((3, 4)), np.eye(5), *[np.eye(4)] * 3, 2
    ),
    "projection back of another height": lambda: multi_head_attention(
        np.ones((3, 4)), *[np.eye(4)] * 3, np.eye(5), 2
    ),
    "projections of two widths": lambda: multi_head_attention(
        np.ones((3, 4)), np.eye(4), np.ones((4, 2)), np.eye(4), np.eye(4), 2
    ),
    "one position as a vector": lambda: multi_head_attention([1, 2], *[np.eye(2)] * 4, 2),
    "heads without a key": lambda: multi_head_attention([[1, 2]], *[np.eye(2)] * 4, 2, [[0]]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_every_refusal_says_expected_got_and_the_fix(name):
    with pytest.raises(ValueError, match=r"(?s)^.+ (must|needs) .+, got .+: .+\.$"):
        REFUSED[name]()


def test_a_matrix_that_does_not_fit_is_refused_by_its_own_name():
    one = np.eye(4)
    for position, name in enumerate(["W_Q", "W_K", "W_V", "W_O"]):
        for wrong in (np.eye(5), np.ones((4, 4, 4)), np.ones(4), np.ones((4, 0))):
            matrices = [one] * 4
            matrices[position] = wrong
            with pytest.raises(ValueError, match=f"^{name} must have two axes, and 4 rows"):
                multi_head_attention(np.ones((3, 4)), *matrices, 2)
