"""What a fixture can see, and what notebook 06 says of dtypes, of writing in place and of fused functions."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import questions
from helpers.attention import causal_attention
from helpers.fixture import PROGRAMS, outputs, survivors
from helpers.tasks import bytes_each, caller_after
from tests.support import optional

WORKED = ([[1], [2]], [[1], [2]], [[10], [20]])


def alive(Q, K, V):
    text = survivors(Q, K, V).text
    return set(text.rstrip(".").partition(": ")[2].split(", ")) - {""}


def test_the_worked_example_lets_four_of_six_through():
    assert alive(*WORKED) == {"no scale", "by d_k", "swapped", "late mask"}


@pytest.mark.parametrize(
    ("Q", "K", "V", "left"),
    [
        ([[1], [2]], [[2], [1]], [[10], [20]], {"no scale", "by d_k", "late mask"}),
        ([[1, 1], [0, 1]], [[0, 1], [1, 2]], [[1], [2]], {"by root T", "late mask"}),  # T equals d_k
        ([[1, 0, 1], [0, 1, 1]], [[1, 0, 0], [0, 2, 1]], [[1], [2]], {"late mask"}),
        ([[1, 0, 1], [0, 1, 1]], [[1, 0, 0], [2000, 2, 1]], [[1], [2]], set()),  # a blocked score far above
    ],
)
def test_each_blind_spot_has_a_cause_of_its_own(Q, K, V, left):
    assert alive(Q, K, V) == left


def test_the_table_says_what_each_program_differs_by():
    picture = survivors(*WORKED)
    assert picture.text == "4 of 6 survive: no scale, by d_k, swapped, late mask."
    assert picture.table.count("survives") == 4 and picture.table.count("found") == 2
    assert all(name in picture.table for name in PROGRAMS)


@pytest.mark.parametrize("V", [[[10]], [[10], [20], [30]], [10, 20]])
def test_arrays_that_do_not_fit_give_a_sentence(V):
    picture = survivors(WORKED[0], WORKED[1], V)
    assert "V" in picture.text and picture.text.strip("<p>") in picture.table.replace("&#39;", "'")


def test_outputs_are_those_of_the_right_and_of_the_wrong_programs():
    right, ignored = outputs(*WORKED, ["right", "mask-ignored"])
    np.testing.assert_allclose(right, causal_attention(*map(np.array, WORKED)).ravel())
    np.testing.assert_allclose(right, [10, 18.807971], atol=1e-6)
    assert ignored[0] > 17
    with pytest.raises(ValueError, match="project both to the same width"):
        outputs([[1], [2]], [[1, 2], [3, 4]], [[1], [2]])


def test_the_card_names_the_programs_as_the_table_does():
    for id in ("06-survivors", "06-unequal"):
        question = questions.get(id)
        assert list(question.labels) == list(PROGRAMS)
        assert question.then["programs"] == list(PROGRAMS.values())


def test_the_numbers_of_the_exercise_are_the_source_texts():
    weights = questions.get("06-weights").truth
    np.testing.assert_array_equal(questions.get("06-scores").truth, [[1, 2], [2, 4]])
    np.testing.assert_allclose(weights, [[1, 0], [0.119203, 0.880797]], atol=1e-6)
    np.testing.assert_allclose(questions.get("06-output").truth, [[10], [18.807971]], atol=1e-6)


def test_a_numpy_number_widens_float32_and_a_python_number_does_not():
    np.testing.assert_array_equal(bytes_each(3), [4, 4, 8])
    np.testing.assert_array_equal(bytes_each(3, "float64"), [8, 8, 8])


@pytest.mark.parametrize("divisor", [3**0.5, np.sqrt(3)])
def test_torch_and_jax_keep_float32_with_either_divisor(divisor):
    torch, jnp = optional("torch"), optional("jax").numpy
    assert (torch.ones(2, 2) / divisor).dtype == torch.float32
    assert (jnp.ones((2, 2)) / divisor).dtype == jnp.float32


def test_which_lines_write_on_the_callers_array():
    after = caller_after([[1, 2], [3, 4]], questions.get("06-inplace").then["lines"])
    assert [tuple(row) == (1, 2, 3, 4) for row in after] == [True, False, False, True]


def test_fused_functions_differ_by_rounding_only():
    torch, jax = optional("torch"), optional("jax")
    rows = np.random.default_rng(0).normal(size=(3, 5, 3)).astype(np.float32)
    ours = causal_attention(*rows)
    attend = torch.nn.functional.scaled_dot_product_attention
    by_torch = attend(*map(torch.from_numpy, rows), is_causal=True).numpy()
    by_jax = np.asarray(jax.nn.dot_product_attention(*rows[:, :, None], is_causal=True)[:, 0])
    assert 0 < np.abs(ours - by_torch).max() < 1e-6 and 0 < np.abs(ours - by_jax).max() < 1e-6
    assert np.abs(ours).max() > 0.5
