"""The built head of notebook 07 goes by position alone, which fits grammar where a subject stands by its verb."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.constructed import built_head


@pytest.mark.parametrize("T", [1, 2, 3, 7])
def test_every_word_reads_the_word_before(T: int) -> None:
    weights = built_head(["word"] * T)
    assert weights.shape == (T, T)
    np.testing.assert_allclose(weights.sum(axis=-1), 1)
    assert weights.argmax(axis=-1).tolist() == [0, *range(T - 1)]
    assert weights.max(axis=-1).min() > 0.85


def test_the_words_do_not_matter() -> None:
    np.testing.assert_array_equal(built_head(["the", "dog", "barks"]), built_head(["a", "a", "a"]))


def test_it_looks_like_grammar_only_where_the_subject_is_next_to_the_verb() -> None:
    near, far = ["the", "dog", "barks"], ["birds", "in", "trees", "sing"]
    assert near[built_head(near)[2].argmax()] == "dog"
    assert far[built_head(far)[3].argmax()] == "trees"
