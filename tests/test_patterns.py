"""Who may read whom: each pattern against its rule in words, and what the converters hand over."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import patterns

properties = settings(deadline=None, max_examples=60, derandomize=True)
sizes = st.integers(1, 7)


def same(pattern, rows):
    """A plain boolean array with exactly these cells."""
    assert type(pattern) is np.ndarray
    assert pattern.dtype == bool
    assert pattern.shape == np.shape(rows)
    np.testing.assert_array_equal(pattern, np.asarray(rows, dtype=bool))


def by_rule(n_q, n_k, rule):
    return [[bool(rule(i, j)) for j in range(n_k)] for i in range(n_q)]


@properties
@given(sizes, sizes)
def test_full(n_q, n_k):
    same(patterns.full(n_q, n_k), by_rule(n_q, n_k, lambda i, j: True))
    same(patterns.full(n_q), by_rule(n_q, n_q, lambda i, j: True))


@properties
@given(sizes, sizes)
def test_causal(n_q, n_k):
    same(patterns.causal(n_q), by_rule(n_q, n_q, lambda i, j: j <= i))
    same(patterns.causal(n_q, n_k, align="top-left"), by_rule(n_q, n_k, lambda i, j: j <= i))
    right = by_rule(n_q, n_k, lambda i, j: n_k - 1 - j >= n_q - 1 - i)
    same(patterns.causal(n_q, n_k, align="bottom-right"), right)


@properties
@given(sizes, st.integers(1, 9))
def test_window(n, width):
    same(patterns.window(n, width), by_rule(n, n, lambda i, j: i - width + 1 <= j <= i))


@properties
@given(sizes, st.data())
def test_prefix(n, data):
    length = data.draw(st.integers(0, n))
    same(patterns.prefix(n, length), by_rule(n, n, lambda i, j: j < length or j <= i))


@properties
@given(st.lists(st.integers(0, 3), min_size=1, max_size=7))
def test_documents(ids):
    same(patterns.documents(ids), by_rule(len(ids), len(ids), lambda i, j: ids[i] == ids[j]))


@properties
@given(st.lists(st.booleans(), min_size=1, max_size=7))
def test_keys(keep):
    same(patterns.keys(keep), [keep])
    same(patterns.full(3, len(keep)) & patterns.keys(keep), by_rule(3, len(keep), lambda i, j: keep[j]))


def test_a04_causal():
    same(patterns.causal(3), [[1, 0, 0], [1, 1, 0], [1, 1, 1]])
    same(patterns.causal(1), [[1]])


def test_a05_both_alignments():
    same(patterns.causal(2, 5, align="bottom-right"), [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]])
    same(patterns.causal(2, 5, align="top-left"), [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0]])
    same(patterns.causal(5, 2, align="bottom-right"), [[0, 0], [0, 0], [0, 0], [1, 0], [1, 1]])
    same(patterns.causal(5, 2, align="top-left"), [[1, 0], [1, 1], [1, 1], [1, 1], [1, 1]])


def test_patterns_of_a_batch():
    keep = [[1, 1, 1], [1, 1, 0]]
    same(patterns.keys(keep), [[[1, 1, 1]], [[1, 1, 0]]])
    same(
        patterns.causal(3) & patterns.keys(keep),
        [[[1, 0, 0], [1, 1, 0], [1, 1, 1]], [[1, 0, 0], [1, 1, 0], [1, 1, 0]]],
    )
    same(patterns.documents([["a", "b"], ["c", "c"]]), [[[1, 0], [0, 1]], [[1, 1], [1, 1]]])


def test_documents_and_causal_together():
    same(
        patterns.documents([7, 7, 9, 7]) & patterns.causal(4),
        [[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [1, 1, 0, 1]],
    )


def test_patterns_are_new_and_writable():
    keep = np.array([True, False, True])
    ids = np.array([1, 1, 2])
    keep.setflags(write=False)
    for pattern in (
        patterns.full(3),
        patterns.causal(3),
        patterns.window(3, 2),
        patterns.prefix(3, 1),
        patterns.documents(ids),
        patterns.keys(keep),
    ):
        assert pattern.flags.writeable
        assert not np.shares_memory(pattern, keep)


def test_sizes_may_be_numpy_integers():
    same(patterns.causal(np.int64(2), np.uint8(2)), [[1, 0], [1, 1]])


REFUSED = {
    "no positions": lambda: patterns.causal(0),
    "no keys": lambda: patterns.full(3, 0),
    "fewer than none": lambda: patterns.full(-1),
    "half a position": lambda: patterns.full(2.5),
    "a float": lambda: patterns.causal(3.0),
    "True positions": lambda: patterns.causal(True),
    "numpy True positions": lambda: patterns.causal(np.True_),
    "a shape": lambda: patterns.causal((3, 3)),
    "no alignment": lambda: patterns.causal(2, 5),
    "an alignment that is none": lambda: patterns.causal(2, 2, align="left"),
    "a window of nothing": lambda: patterns.window(4, 0),
    "a longer prefix than the sequence": lambda: patterns.prefix(4, 5),
    "a prefix of less than nothing": lambda: patterns.prefix(4, -1),
    "no ids": lambda: patterns.documents([]),
    "one id without a list": lambda: patterns.documents(3),
    "text for ids": lambda: patterns.documents("aab"),
    "NaN as an id": lambda: patterns.documents([1.0, float("nan")]),
    "ragged ids": lambda: patterns.documents([[1, 2], [3]]),
    "no keys to keep": lambda: patterns.keys([]),
    "one key without a list": lambda: patterns.keys(True),
    "token ids as keep": lambda: patterns.keys([5, 7, 0, 0]),
    "floats as keep": lambda: patterns.keys([1.0, 0.0]),
    "an added mask": lambda: patterns.to_jax([[0.0, -np.inf], [0.0, 0.0]]),
    "one row to convert": lambda: patterns.to_jax([True, False]),
    "five axes to convert": lambda: patterns.to_keras(np.ones((1, 1, 1, 2, 2), dtype=bool)),
    "nothing to convert": lambda: patterns.to_keras(np.ones((0, 2), dtype=bool)),
    "an empty row to JAX": lambda: patterns.to_jax([[1, 0], [0, 0]]),
    "an empty row to Keras": lambda: patterns.to_keras([[1, 0], [0, 0]]),
    "an empty row to SDPA": lambda: patterns.to_torch_sdpa([[1, 0], [0, 0]]),
    "an empty row to MultiheadAttention": lambda: patterns.to_torch_mha([[1, 0], [0, 0]], 2),
    "a word for empty rows": lambda: patterns.to_jax([[1]], empty_rows="zero"),
    "no heads": lambda: patterns.to_torch_mha([[1]], 0),
    "three heads of two": lambda: patterns.to_torch_mha(np.ones((1, 3, 2, 2), dtype=bool), 2),
}


@pytest.mark.parametrize("name", REFUSED)
def test_every_refusal_says_expected_got_and_the_fix(name):
    with pytest.raises(ValueError, match=r"(?s)^.+ must .+, got .+: .+\.$"):
        REFUSED[name]()


def test_the_alignments_are_named_where_one_is_missing():
    with pytest.raises(ValueError, match=r"'top-left', 'bottom-right', got None: of 2 queries and 5 keys"):
        patterns.causal(2, 5)


def test_converters_name_the_empty_rows():
    allowed = patterns.window(4, 2) & patterns.keys([[1, 1, 1, 1], [1, 1, 0, 0]])
    with pytest.raises(ValueError, match=r"got none in row \(1, 3\): "):
        patterns.to_jax(allowed)
    assert patterns.to_jax(allowed, empty_rows="keep").shape == (2, 1, 4, 4)


def test_shapes_for_jax_and_keras():
    two = patterns.causal(3)
    three = two & patterns.keys([[1, 1, 1], [1, 1, 0]])
    four = np.stack([three] * 5, axis=1)
    same(patterns.to_jax(two), two[None, None])
    same(patterns.to_jax(three), three[:, None])
    same(patterns.to_jax(four), four)
    same(patterns.to_keras(two), two[None])
    same(patterns.to_keras(three), three)
    same(patterns.to_keras(four), four)
    same(patterns.to_jax([[1, 0], [1, 1]]), [[[[1, 0], [1, 1]]]])


@pytest.mark.parametrize("convert", [patterns.to_jax, patterns.to_keras])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (2, 5, 3, 4)], ids=str)
def test_converted_patterns_are_copies(convert, shape):
    allowed = np.ones(shape, dtype=bool)
    assert not np.shares_memory(convert(allowed), allowed)


@pytest.mark.parametrize(
    "convert", [patterns.to_torch_sdpa, lambda allowed: patterns.to_torch_mha(allowed, 2)]
)
def test_without_pytorch_the_way_to_get_it_is_named(convert, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="PyTorch is not installed: pip install torch"):
        convert([[1]])
