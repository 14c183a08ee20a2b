"""Weights of a learner's own model: every defect planted here is named, with its place; sound weights pass."""

from __future__ import annotations

import re
import warnings
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import patterns
from helpers.attention import attention_weights
from helpers.figures import describe
from helpers.figures.canvas import table_of
from helpers.own_model import read_attentions
from tests.support import optional

L, B, H, T = 2, 3, 4, 6  # layers, items, heads, positions
KEEP = np.arange(T) < np.array([[6], [4], [5]])  # padding on the right
LEFT = KEEP[:, ::-1]


def made(allowed=None, shape=(L, B, H, T, T), seed=0):
    """Weights of shape (layers, batch, heads, n_q, n_k), each matrix another."""
    *lead, n_q, n_k = shape
    rng = np.random.default_rng(seed)
    Q, K = (rng.normal(size=(*lead, n, 3)) for n in (n_q, n_k))
    return attention_weights(Q, K, allowed, empty_rows="zero")


CAUSAL = made(patterns.causal(T))
PADDED = made(patterns.keys(KEEP)[None, :, None] & np.ones((L, 1, H, 1, 1), bool))


def changed(weights, place, value):
    weights = weights.copy()
    weights[place] = value
    return weights


def problem(*args, **kwargs):
    """The only problem of a report."""
    (said,) = read_attentions(*args, **kwargs).problems
    return said


def unknown(*args, **kwargs):
    return " ".join(read_attentions(*args, **kwargs).unknown)


# Sound weights


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        (made(), {}),
        (made(), {"causal": False}),
        (CAUSAL, {"causal": True}),
        (CAUSAL, {}),
        (PADDED, {"attention_mask": KEEP}),
        (PADDED, {"attention_mask": KEEP.astype(int), "causal": False}),
        (made(np.tile(patterns.causal(T) & patterns.keys(KEEP)[:, None], (L, 1, H, 1, 1))), {"causal": True}),
        (made(shape=(L, B, H, 2, 7)), {}),
        (made(patterns.causal(2, 7, align="bottom-right"), (L, B, H, 2, 7)), {"causal": True}),
        (np.ones((L, B, H, 1, 1)), {"causal": True}),
        (np.tile(np.eye(T), (L, B, H, 1, 1)), {"causal": True}),
    ],
    ids=str,
)
def test_sound_weights_have_no_problem(weights, told):
    assert read_attentions(weights, **told).problems == []


@pytest.mark.parametrize("n_k", [2, 63, 1024])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_what_a_type_rounds_is_no_problem(dtype, n_k):
    weights = made(shape=(1, 2, 3, 5, n_k)).astype(dtype)
    assert read_attentions(weights).problems == []


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_a_softmax_computed_in_half_precision_is_no_problem(dtype):
    torch = optional("torch")
    torch.manual_seed(0)
    weights = torch.softmax(torch.randn(2, 3, 5, 700, dtype=getattr(torch, dtype)), dim=-1)
    report = read_attentions(weights)
    assert report.problems == []
    assert f"What {dtype} rounded away" in " ".join(report.unknown)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_what_a_type_does_not_explain_is_a_problem(dtype):
    torch = optional("torch")
    weights = torch.tensor(made(), dtype=torch.float32)
    weights[1, 2, 3, 5] *= 0.97
    assert problem(weights.to(getattr(torch, dtype))).startswith(
        "Layer 1, item 2, head 3, row 5: the weights sum"
    )


def test_a_sum_that_is_hardly_off_is_not_written_as_one():
    said = problem(changed(made(), (1, 2, 3, 5), made()[1, 2, 3, 5] * 1.00001))
    assert "sum to 1.00001, not 1 (1 of 144 rows)" in said


# What can be passed


def test_one_layer_a_tuple_a_list_a_stack_and_an_output_are_read_alike():
    want = made()
    output = SimpleNamespace(attentions=tuple(want), decoder_attentions=None, cross_attentions=())
    for given in (tuple(want), list(want), want, output, {"attentions": tuple(want), "logits": 3}):
        np.testing.assert_array_equal(read_attentions(given).weights, want)
    np.testing.assert_array_equal(read_attentions(want[1]).weights, want[1:])
    for name in ("encoder_attentions", "decoder_attentions", "cross_attentions"):
        np.testing.assert_array_equal(read_attentions(SimpleNamespace(**{name: list(want)})).weights, want)


def test_the_weights_are_a_copy_and_the_input_stays():
    given = made()
    before = given.copy()
    report = read_attentions(given, causal=True, attention_mask=KEEP)
    assert not np.shares_memory(report.weights, given)
    np.testing.assert_array_equal(given, before)


@pytest.mark.parametrize(
    ("dtype", "wide"), [("bfloat16", "float32"), ("float32", "float32"), ("float64", "float64")]
)
def test_tensors_with_gradients_are_read(dtype, wide):
    torch = optional("torch")
    layers = [torch.tensor(each, dtype=getattr(torch, dtype), requires_grad=True) for each in CAUSAL]
    report = read_attentions(layers, causal=True, attention_mask=torch.ones(B, T, dtype=torch.long))
    assert report.problems == []
    assert (report.dtype, report.weights.dtype) == (dtype, wide)
    np.testing.assert_allclose(report.weights, CAUSAL, atol=2**-8)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_jax_arrays_are_read(dtype):
    jnp = optional("jax").numpy
    report = read_attentions(tuple(jnp.asarray(each, dtype=dtype) for each in CAUSAL), causal=True)
    assert (report.problems, report.dtype) == ([], dtype)
    np.testing.assert_allclose(report.weights, CAUSAL, atol=2**-8)


def test_an_output_with_several_kinds_asks_which():
    output = SimpleNamespace(encoder_attentions=tuple(made()), cross_attentions=list(made()), attentions=())
    with pytest.raises(
        ValueError, match=r"got encoder_attentions, cross_attentions: pass one of them, such as output"
    ):
        read_attentions(output)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ((tuple(made()), tuple(made())), "generate returns a tuple per new token"),
        ([np.ones((2, 2)), [np.ones((2, 2))]], "a tuple at position 1"),
        ((made()[0], made()[1, :, :2]), r"\(3, 4, 6, 6\) at position 0 and \(3, 2, 6, 6\) after it"),
        (np.ones(6), r"got shape \(6,\)"),
        (np.ones((1, 1, 1, 1, 1, 1)), "got shape"),
        (np.ones((2, 0, 3, 3)), "no axis empty"),
        (np.ones((1, 1, 2, 2), dtype=bool), "who may read whom"),
        ({"weights": made()}, "must hold real numbers"),
    ],
)
def test_what_cannot_be_read_is_refused(given, match):
    with pytest.raises(ValueError, match=match):
        read_attentions(given)


@pytest.mark.parametrize(
    ("told", "match"),
    [
        ({"causal": "yes"}, "True, False or None"),
        ({"tokens": "the cat"}, "a single text"),
        ({"attention_mask": np.ones((B, T + 1), int)}, r"shape \(3, 6\), got shape \(3, 7\)"),
        ({"attention_mask": np.ones((T, T), bool)}, r"shape \(3, 6\), got shape \(6, 6\)"),
        ({"attention_mask": np.ones((B, 1, 1, T), int)}, r"\(batch, n_k\)"),
        ({"attention_mask": np.zeros((B, T))}, "mask == 0"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(told, match):
    with pytest.raises(ValueError, match=match):
        read_attentions(made(), **told)


def test_causal_with_more_queries_than_keys_is_refused():
    with pytest.raises(ValueError, match="7 queries, 2 keys: cross attention is not causal"):
        read_attentions(made(shape=(L, B, H, 7, 2)), causal=True)


# Missing weights and axes


@pytest.mark.parametrize(
    "given", [(), (None, None), None, SimpleNamespace(attentions=None), {"attentions": ()}], ids=str
)
def test_no_weights_at_all_names_the_fix(given):
    report = read_attentions(given)
    (said,) = report.problems
    assert 'attn_implementation="eager"' in said and "output_attentions=True" in said
    assert report.weights.size == 0
    with pytest.raises(ValueError, match="eager"):
        report.draw(0, 0)
    assert "eager" in repr(report)


def test_a_single_none_is_named_and_the_other_layers_keep_their_numbers():
    dropped = CAUSAL[1] * (np.random.default_rng(1).random(CAUSAL[1].shape) < 0.9) / 0.9
    report = read_attentions((None, dropped), causal=True)
    assert report.problems[0].startswith(
        "Layer 0: None in place of weights. Fix: load the model with attn_imp"
    )
    assert "Layer 1, " in report.problems[1] and "of 72 rows" in report.problems[1]
    np.testing.assert_array_equal(report.weights[1], dropped)
    assert np.isnan(report.weights[0]).all() and report.missing == [0]
    np.testing.assert_array_equal(
        read_attentions((None, CAUSAL[1])).draw(1, 2, 1).images[0].get_array(), CAUSAL[1, 1, 2]
    )
    with pytest.raises(ValueError, match="layer 0 must hold weights"):
        report.draw(0, 0)
    assert read_attentions((CAUSAL[0], None), causal=True).problems[0].startswith("Layer 1: None")
    assert len(read_attentions((CAUSAL[0] * 1.5, None), causal=True).problems) == 2


def test_three_axes_may_be_averaged_heads_or_one_item():
    averaged = made()[0].mean(axis=1)  # (B, T, T)
    said = problem(averaged)
    assert "heads are averaged already" in said and "batch axis was dropped" in said
    assert "Read as heads of one item" in said
    assert read_attentions(averaged).weights.shape == (1, 1, B, T, T)
    by_item = read_attentions(averaged, attention_mask=np.ones((B, T), int))
    assert by_item.weights.shape == (1, B, 1, T, T)
    assert "one averaged head per item" in by_item.problems[0]


def test_two_axes_are_one_head():
    assert "Two axes, (6, 6)" in problem(made()[0, 0, 0])
    assert read_attentions(made()[:, 0, 0][0]).weights.shape == (1, 1, 1, T, T)


# Planted defects, each in one place


def test_scores_in_place_of_weights():
    scores = np.random.default_rng(2).normal(size=(L, B, H, T, T))
    for given in (
        scores,
        np.where(patterns.causal(T), scores, -np.inf),
        scores + 20,
        scores.astype(np.float32) * 1e38,
    ):
        assert "look like scores, before the softmax" in problem(given)
    one = changed(made(), (1, 2, 3), np.where(patterns.causal(T), scores[1, 2, 3], np.finfo(float).min))
    assert problem(one, causal=False).startswith("Layer 1, item 2, head 3, row ")


def test_swapped_axes_are_named_and_nothing_else_is_checked():
    said = problem(CAUSAL.swapaxes(-1, -2), causal=True)
    assert "Along the rows (axis 2) every sum is 1" in said and "np.moveaxis(A, 2, 3)" in said
    assert problem(changed(CAUSAL, 1, CAUSAL[1].swapaxes(-1, -2)), causal=True).startswith("Layer 1, item")
    cross = made(shape=(L, B, H, 2, 7))
    assert "Along the rows (axis 2)" in problem(cross.swapaxes(-1, -2))


def test_heads_last_and_a_softmax_over_heads():
    assert "Along the rows (axis 2)" in problem(np.moveaxis(made(), 2, 4))  # (batch, queries, keys, heads)
    over_heads = np.random.default_rng(3).random((L, B, H, T, T))
    over_heads /= over_heads.sum(axis=2, keepdims=True)
    assert "Along the heads (axis 1)" in problem(over_heads)
    over_items = np.random.default_rng(3).random((L, B, H, T, T))
    over_items /= over_items.sum(axis=1, keepdims=True)
    assert "Along the items (axis 0)" in problem(over_items)


@pytest.mark.parametrize("weights", [made(), CAUSAL], ids=["open", "causal"])
def test_dropout_left_on(weights):
    rng = np.random.default_rng(4)
    said = " ".join(read_attentions(weights * (rng.random(weights.shape) < 0.9) / 0.9).problems)
    assert "Dropout seems on" in said and "model.eval()" in said
    assert "scores" not in said and "scaled, or" not in said  # also where a whole head kept every weight


def test_dropout_is_not_claimed_of_what_is_only_scaled():
    for factor in (1.01, 0.5, 100):
        said = problem(CAUSAL * factor, causal=True)
        assert f"sum to {factor}, and so does every row" in said and "(144 of 144 rows)" in said
    above = problem(changed(made(), (1, 0, 2, 5), made()[1, 0, 2, 5] * 1.01))
    assert "Too much for one softmax" in above and "Dropout seems" not in above
    for layers in (
        (CAUSAL[0] * 1.01, None),
        (changed(CAUSAL, (0, 0, 2, 5), CAUSAL[0, 0, 2, 5] * 1.01)[0], None),
    ):
        assert "Dropout seems" not in read_attentions(layers).problems[1]
    below = problem(changed(CAUSAL, (1, 0, 2, 5, 3), 0), causal=True)
    assert "Part of the weight is missing" in below and "Dropout seems" not in below


def test_a_row_of_zeros():
    said = problem(changed(made(), (1, 2, 0, 4), 0))
    assert said.startswith("Layer 1, item 2, head 0, row 4: every weight is 0") and "no key to read" in said
    assert "(1 of 144 rows)" in said
    assert "row 0: every weight is 0, so the sum is 0 (6 of 144" in problem(changed(made(), (1, 2, 0), 0))


def test_masked_after_the_softmax():
    said = problem(np.where(patterns.causal(T), made(), 0), causal=True)
    assert "masked after the softmax" in said
    assert "row 0: the weights sum to 0" in said  # the first row loses most


def test_the_row_farthest_from_one_is_named():
    weights = changed(made(), (0, 0, 0, 1), made()[0, 0, 0, 1] * 0.9)
    weights[1, 1, 2, 3] *= 0.5
    assert problem(weights).startswith(
        "Layer 1, item 1, head 2, row 3: the weights sum to 0.5, not 1 (2 of 144"
    )


def test_nan_rows_and_single_ones():
    said = problem(changed(made(), (0, 1, 2, 3), np.nan))
    assert said.startswith(
        "Layer 0, item 1, head 2, row 3: key 0 is nan (1 of 144 rows). A softmax over nothing but"
    )
    said = problem(changed(made(), (0, 1, 2, 3, 4), np.nan))
    assert "row 3: key 4 is nan" in said and "Something before the softmax" in said
    assert "key 4 is inf" in problem(changed(made(), (0, 1, 2, 3, 4), np.inf))


def test_a_negative_weight_in_a_row_that_sums_to_one():
    weights = made()
    weights[1, 2, 3, 4, :2] = [-0.25, weights[1, 2, 3, 4, :2].sum() + 0.25]
    said = problem(weights)
    assert said.startswith("Layer 1, item 2, head 3, row 4: key 0 has -0.25 (1 of 144 rows)")
    weights = made()
    weights[1, 2, 3, 4] = [0, 0, -0.25, 0, 1.75, -0.5]
    assert "row 4: key 4 has 1.75" in problem(weights)


def test_one_bad_row_does_not_make_a_matrix_scores():
    said = read_attentions(changed(made(), (1, 2, 3, 4, 1), -0.25)).problems
    assert "key 1 has -0.25" in said[0] and "sum to" in said[1] and len(said) == 2


def test_weight_on_the_future():
    weights = CAUSAL.copy()
    weights[1, 2, 3, 4] = made()[1, 2, 3, 4]
    said = problem(weights, causal=True)
    most = weights[1, 2, 3, 4, 5]
    assert said.startswith(
        f"Layer 1, item 2, head 3, row 4: {most:.3g} goes to key 5, a later one, though causal=True"
    )
    assert read_attentions(weights).problems == []
    shifted = np.roll(np.tile(np.eye(T), (L, B, H, 1, 1)), 1, axis=-1)
    assert "row 0: 1 goes to key 1, a later one" in problem(shifted, causal=True)


def test_the_last_queries_of_a_cache_may_read_what_came_before():
    weights = made(patterns.causal(2, 7, align="top-left"), (L, B, H, 2, 7))
    assert read_attentions(weights, causal=True).problems == []
    assert "row 0" in problem(made(shape=(L, B, H, 2, 7)), causal=True)


def test_causal_weights_though_told_otherwise():
    assert "no weight stands above the diagonal, though causal=False" in problem(CAUSAL, causal=False)
    assert "though causal=False" in read_attentions((None, CAUSAL[0]), causal=False).problems[1]


def test_weight_on_padding():
    weights = changed(PADDED, (1, 1, 3, 2), made()[1, 1, 3, 2])
    said = problem(weights, attention_mask=KEEP)
    key = 4 + weights[1, 1, 3, 2, 4:].argmax()
    assert said.startswith("Layer 1, item 1, head 3, row 2: ")
    assert f"goes to key {key}, which attention_mask calls padding (1 of 144 rows)" in said
    assert read_attentions(weights).problems == []


def test_a_tiny_weight_on_padding_is_found():
    assert "1e-30 goes to key 5" in problem(changed(PADDED, (0, 2, 0, 0, 5), 1e-30), attention_mask=KEEP)


def test_rows_of_padding_are_told_apart():
    """A library that adds a large negative number spreads a row with nothing to read evenly over all keys."""
    weights = made(np.tile(patterns.causal(T) & patterns.keys(LEFT)[:, None], (L, 1, H, 1, 1)))
    weights[weights.sum(axis=-1) == 0] = 1 / T
    for causal in (True, None):
        said = problem(weights, causal=causal, attention_mask=LEFT)
        assert "0.167 goes to key" in said and "the query is padding itself (" in said
        assert f"({L * H * 3} of 144 rows)" in said  # two rows of item 1, one of item 2


def test_an_inverted_mask():
    for weights in (
        PADDED,
        made(np.tile(patterns.causal(T) & patterns.keys(KEEP)[:, None], (L, 1, H, 1, 1))),
    ):
        assert "attention_mask seems inverted" in problem(weights, attention_mask=~KEEP)
    assert "inverted" not in " ".join(read_attentions(made(), attention_mask=KEEP).problems)


def test_padding_of_cross_attention_is_that_of_the_keys():
    keep = np.arange(7) < np.array([[7], [3], [6]])
    weights = made(np.tile(patterns.keys(keep)[:, None], (L, 1, H, 2, 1)), (L, B, H, 2, 7))
    assert read_attentions(weights, attention_mask=keep).problems == []
    assert "calls padding" in problem(changed(weights, (0, 1, 0, 1, 5), 1e-9), attention_mask=keep)


def test_one_item_may_be_masked_by_a_list():
    assert read_attentions(PADDED[:, 1:2], attention_mask=KEEP[1]).problems == []


def test_the_item_is_named_only_where_there_are_several():
    assert problem(changed(made(), (1, 0, 2, 3), 0)[:, :1]).startswith("Layer 1, head 2, row 3: ")


def test_no_warning_escapes():
    rng = np.random.default_rng(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for odd in (np.nan, np.inf, -np.inf, 1e308, -1e308):
            weights = np.where(rng.random((L, B, H, T, T)) < 0.3, odd, made())
            report = read_attentions(weights, causal=True, attention_mask=KEEP)
            assert report.problems
            repr(report)


# Tokens


def test_labels_that_do_not_fit_are_said_and_not_drawn():
    report = read_attentions(made(), tokens=list("abcde"))
    assert "tokens has 5 labels for 6 positions of item 0" in report.problems[0]
    assert report.tokens is None
    assert [label.get_text() for label in report.draw(0, 0).get_xticklabels()] == list("012345")
    assert "tokens holds 2 lists for 3 items" in problem(made(), tokens=[list("abcdef")] * 2)
    assert "2 queries read 7 keys" in problem(made(shape=(L, B, H, 2, 7)), tokens=list("abcdefg"))


def test_repeated_tokens_stay_apart_and_each_item_has_its_own():
    words = [["the", "cat", "and", "the", "dog", "the"], list("abcdef"), list("uvwxyz")]
    report = read_attentions(made(), tokens=words)
    assert report.problems == []
    for item, own in enumerate(words):
        ax = report.draw(1, 2, item)
        assert [label.get_text() for label in ax.get_xticklabels()] == own
        assert [label.get_text() for label in ax.get_yticklabels()] == own
    assert read_attentions(made(), tokens=words[0]).tokens == [words[0]] * B
    assert read_attentions(made(), tokens=np.arange(T)).tokens == [list("012345")] * B


# The picture


def test_the_picture_is_that_head():
    report = read_attentions(made())
    ax = report.draw(1, 3, item=2)
    np.testing.assert_array_equal(ax.images[0].get_array(), made()[1, 2, 3])
    assert ax.get_title("left") == "Layer 1, item 2, head 3"
    assert "blocked" not in describe(ax)
    assert ax is report.draw(0, 0, ax=ax)


def test_cells_are_blocked_only_where_that_was_told():
    def hatched(report, item):
        return np.ma.getmaskarray(report.draw(0, 0, item).images[0].get_array())

    both = made(np.tile(patterns.causal(T) & patterns.keys(KEEP)[:, None], (L, 1, H, 1, 1)))
    future, pads = ~patterns.causal(T), ~np.tile(KEEP[1], (T, 1))
    for told, want in (
        ({}, np.zeros((T, T), bool)),
        ({"causal": False}, np.zeros((T, T), bool)),
        ({"causal": True}, future),
        ({"attention_mask": KEEP}, pads),
        ({"causal": True, "attention_mask": KEEP}, future | pads),
    ):
        np.testing.assert_array_equal(hatched(read_attentions(both, **told), 1), want)


def test_what_is_no_weight_is_not_drawn_as_one():
    with pytest.raises(ValueError, match="a weight is a number from 0 to 1"):
        read_attentions(made() - 1).draw(0, 0)


@pytest.mark.parametrize("asked", [(L, 0, 0), (0, H, 0), (0, 0, B), (-1, 0, 0), (0, 1.5, 0)])
def test_there_is_no_such_head(asked):
    with pytest.raises(ValueError, match="must be"):
        read_attentions(made()).draw(*asked)


# What it cannot know


def test_what_holds_for_all_weights_is_said():
    said = unknown(made())
    for about in (
        "value",
        "W_O",
        "residual",
        "temperature",
        "sqrt(d_k)",
        "position",
        "causal=",
        "attention_mask=",
    ):
        assert about in said


@pytest.mark.parametrize(
    ("weights", "other", "about"),
    [
        (made(shape=(L, 3, 3, T, T)), made(), "batch and heads are both 3"),
        (made(shape=(L, B, 7, 2, 7)), made(shape=(L, B, H, 2, 7)), "np.moveaxis(A, 2, 1)"),
        (made(shape=(L, B, 7, 2, 7)), made(shape=(L, B, T, T, T)), "np.moveaxis(A, 2, 1)"),
        (made(shape=(L, B, T, T, T)), made(), f"heads and T are both {T}"),
        (made(shape=(L, B, 1, T, T)), made(), "an average sums to 1 too"),
        (made(shape=(L, B, H, 2, 7)), made(), "2 queries by 7 keys"),
        (np.full((L, B, H, T, T), 1 / T), made(), "columns sum to 1"),
        (np.tile(np.eye(T), (L, B, H, 1, 1)), CAUSAL, "columns sum to 1"),
        (CAUSAL, made(), f"{L * B * H * 15} are exactly 0"),
        (CAUSAL, made(), "all weights above the diagonal are 0"),
        (made(), CAUSAL, "weights stand above the diagonal"),
        (np.ones((L, B, H, 1, 1)), made(), "with one key the weight is 1"),
        (made().astype(np.float16), made(), "rounded away"),
    ],
)
def test_what_these_weights_leave_open_is_said_of_them_alone(weights, other, about):
    assert about in unknown(weights)
    assert about not in unknown(other)


def test_what_was_told_is_not_called_unknown():
    said = unknown(CAUSAL, causal=True, attention_mask=np.ones((B, T), int))
    assert "was not given" not in said and "exactly 0" not in said
    assert "1 are exactly 0" in unknown(changed(CAUSAL, (1, 2, 3, 5, 1), 0), causal=True)


# How it shows itself


class Cells(HTMLParser):
    """Tags of a page in order, and the text of its cells."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.inside = [], [], False
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs).get("scope")))
        self.inside = tag in ("th", "td")
        if self.inside:
            self.texts.append("")

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.texts[-1] += data


def test_it_shows_itself_as_a_table_and_as_text():
    report = read_attentions(changed(made(), (1, 2, 3, 4), 0))
    shown = report._repr_mimebundle_()
    cells = Cells(shown["text/html"])
    assert ("table", None) in cells.tags and ("caption", None) in cells.tags
    assert cells.tags.count(("th", "row")) == cells.tags.count(("td", None)) == 2 + len(report.unknown)
    assert cells.texts[1] == "2 layers, 3 items, 4 heads, 6 queries, 6 keys; float64"
    for said in report.problems + report.unknown:
        assert said in cells.texts and said in shown["text/plain"]
    assert "None found" in repr(read_attentions(made()))
    assert "1 layer, 3 items, 4 heads, 1 query, 1 key;" in repr(read_attentions(np.ones((B, H, 1, 1))))


# Real models, built from a configuration with random weights; nothing is downloaded


@pytest.fixture(scope="module")
def transformers():
    optional("torch").manual_seed(0)
    # Not `optional`: the library is no requirement of any kind, so its absence never fails a run.
    pytest.importorskip("transformers", reason="transformers is not installed: pip install transformers")
    import transformers

    return transformers


@pytest.fixture(scope="module")
def ids():
    return optional("torch").tensor([[3, 4, 3, 5, 6, 7], [8, 9, 3, 5, 1, 1]])


def small(transformers, kind, how="eager"):
    """A model of two layers and three heads with random weights."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        common = {"vocab_size": 20, "bos_token_id": 0, "eos_token_id": 0, "attn_implementation": how}
        if kind == "GPT2":
            config = transformers.GPT2Config(n_positions=9, n_embd=12, n_layer=2, n_head=3, **common)
        elif kind == "Bert":
            config = transformers.BertConfig(
                hidden_size=12, num_hidden_layers=2, num_attention_heads=3, intermediate_size=8, **common
            )
        else:
            sizes = {
                f"{part}_{what}": n
                for part in ("encoder", "decoder")
                for what, n in (("layers", 2), ("attention_heads", 3), ("ffn_dim", 8))
            }
            config = transformers.BartConfig(d_model=12, max_position_embeddings=9, **sizes, **common)
        return getattr(transformers, f"{kind}Model")(config).eval()


def test_bert(transformers, ids):
    model, keep = small(transformers, "Bert"), (ids != 1).long()
    output = model(ids, attention_mask=keep, output_attentions=True)
    report = read_attentions(output, causal=False, attention_mask=keep, tokens=ids)
    assert report.problems == []
    assert report.weights.shape == (2, 2, 3, 6, 6)
    np.testing.assert_array_equal(report.weights[1], output.attentions[1].detach().numpy())
    assert "blocked" in table_of(report.draw(1, 2, item=1))
    assert "causal=True" in problem(output, causal=True)
    unmasked = model(ids, output_attentions=True)
    assert re.match(
        r"Layer \d, item 1, .* goes to key [45], which attention_mask calls",
        " ".join(read_attentions(unmasked, attention_mask=keep).problems[1:]),
    )
    half = model.bfloat16()(ids, output_attentions=True)
    assert read_attentions(half).problems == []


def test_bert_in_training(transformers, ids):
    output = small(transformers, "Bert").train()(ids, output_attentions=True)
    assert "Dropout seems on" in " ".join(read_attentions(output).problems)


def test_gpt2(transformers, ids):
    model = small(transformers, "GPT2")
    assert read_attentions(model(ids, output_attentions=True), causal=True).problems == []
    keep = (ids != 1).long().flip(1)
    output = model(ids.flip(1), attention_mask=keep, output_attentions=True)
    assert "the query is padding itself" in problem(output, causal=True, attention_mask=keep)


def test_bart_has_three_kinds(transformers, ids):
    output = small(transformers, "Bart")(ids, decoder_input_ids=ids[:, :4], output_attentions=True)
    with pytest.raises(ValueError, match="encoder_attentions, decoder_attentions, cross_attentions"):
        read_attentions(output)
    assert read_attentions(output.encoder_attentions, causal=False).problems == []
    assert read_attentions(output.decoder_attentions, causal=True).problems == []
    cross = read_attentions(output.cross_attentions)
    assert (cross.problems, cross.weights.shape) == ([], (2, 2, 3, 4, 6))


def test_fused_attention_gives_no_weights(transformers, ids):
    output = small(transformers, "Bert", "sdpa")(ids, output_attentions=True)
    assert 'attn_implementation="eager"' in problem(output)
