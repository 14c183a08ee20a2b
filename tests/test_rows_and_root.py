"""What notebooks 02 and 03 say of their runs holds: random draws, orders, widths, slopes, divisors."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from helpers import questions, tasks
from tests.test_questions import code, execute

ROWS, ROOT = "02_from_rows_to_matrices", "03_why_the_square_root"


@cache
def run(name: str) -> tuple[dict, list[tuple]]:
    return execute(code(name))


def compared(name: str, question: str):
    return next(call[2] for call in run(name)[1] if call[:2] == ("compare", question))


def shown(name: str, after: str) -> list:
    return [call[1] for call in run(name)[1] if call[0] == "show" and call[2]["after"] == after]


def test_a_random_matrix_favours_no_word():
    counts = compared(ROWS, "02-random")
    assert counts.sum() == 1000
    assert np.all(np.abs(counts - 250) < 50)


def test_a_table_of_dot_products_can_make_one_word_read_another():
    space, _ = run(ROWS)
    table = np.zeros((5, 5))
    table[2, [1, 4]] = 9
    for text in (space["X"], space["X_after"]):
        assert space["attention_weights"](text @ table, text)[2, 1] > 0.9


def test_changing_places_changes_places_in_the_output():
    before, after = compared(ROWS, "02-order")
    np.testing.assert_allclose(before[[2, 1, 0]], after, atol=1e-12)


@pytest.mark.parametrize("change", ["positions", "no later keys"])
def test_positions_or_a_mask_tell_the_orders_apart(change):
    space, _ = run(ROWS)
    added = np.arange(9).reshape(3, 3) if change == "positions" else np.zeros((3, 3))
    allowed = space["patterns"].causal(3) if change == "no later keys" else None
    one, other = (
        space["read_all"](rows + added, 0, allowed)[1] for rows in (space["X_order"], space["X_swapped"])
    )
    assert not np.allclose(one, other, atol=1e-3)


def test_keys_need_the_width_of_queries_and_values_do_not():
    space, _ = run(ROWS)
    Q, weigh = space["X"] @ np.ones((5, 3)), space["attention_weights"]
    with pytest.raises(ValueError, match="d_k"):
        weigh(Q, np.ones((4, 2)))
    assert (weigh(Q, np.ones((4, 3))) @ np.ones((4, 7))).shape == (4, 7)


def test_measured_variances_are_near_what_they_should_be():
    dots = run(ROOT)[0]["dots"]
    for d_k in questions.get("03-variance").inputs["sizes"]:
        assert abs(dots(d_k).var() / d_k - 1) < 0.03


def test_bare_slopes_vanish_and_divided_ones_stay_level():
    bare, divided = compared(ROOT, "03-trend")
    assert np.all(np.diff(bare) < 0) and bare[-1] < 0.03
    assert np.ptp(divided) < 0.02


def test_only_equal_sizes_hide_a_wrong_divisor():
    by_divisor = run(ROOT)[0]["by_divisor"]

    def passing(d_k, n_heads):
        weights = by_divisor(d_k, n_heads)
        right = weights.pop("√d_k")
        return {name for name, weight in weights.items() if abs(weight - right) < 0.02}

    assert passing(4, 2) == set()
    assert passing(4, 4) == {"√n_heads"}
    asked = questions.get("03-head").inputs
    assert by_divisor(asked["d_k"], asked["n_heads"])["√d_k"] == pytest.approx(
        tasks.run("head_weights", asked)[0, 0]
    )


def test_an_aligned_key_saturates_the_row_and_no_power_keeps_both_kinds_level():
    (row, _) = shown(ROOT, "03-aligned")
    assert row[0] > 0.99
    products = run(ROOT)[0]["products"]
    for power in (0.25, 0.5, 0.75, 1, 1.25):
        growth = [
            math.log(_typical(product, 256) / 256**power) - math.log(_typical(product, 4) / 4**power)
            for product in products.values()
        ]
        assert max(map(abs, growth)) > 0.9


def _typical(product: np.ndarray, d_k: int) -> float:
    return float(np.sqrt((product[:, :d_k].sum(axis=-1) ** 2).mean()))
