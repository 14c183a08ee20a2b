"""The measuring tools: what they count, what they refuse, and that they leave no trace."""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
import psutil
import pytest

from helpers import measure
from helpers.measure import (
    fits,
    free_bytes,
    growth,
    must_fit,
    peak_bytes,
    readable,
    score_bytes,
    seconds,
    slopes,
)


def hold(n):
    """Hold n bytes and as many again for a moment, and give 10."""
    first = np.ones(n, np.uint8)
    second = first + first
    del first
    return second[:10].copy()


def test_a_peak_counts_what_is_held_at_once_and_not_what_comes_after_another():
    n = 3_000_000
    assert 1.9 * n < peak_bytes(hold, n) < 2.2 * n
    assert 0.9 * n < peak_bytes(lambda: [np.ones(n, np.uint8).sum() for _ in range(4)]) < 1.2 * n


def test_a_peak_counts_the_result_and_leaves_out_the_arguments():
    X = np.ones((500, 1000))
    assert peak_bytes(np.sum, X) < X.nbytes / 10
    assert 0.9 * X.nbytes < peak_bytes(np.copy, X, order="C") < 1.2 * X.nbytes


def test_a_peak_is_the_same_the_second_time_and_after_something_larger():
    first = peak_bytes(hold, 1_000_000)
    peak_bytes(hold, 9_000_000)
    assert abs(peak_bytes(hold, 1_000_000) - first) < 100_000


def test_tracing_ends_with_the_call_even_with_an_error_and_goes_on_where_it_was_on():
    with pytest.raises(ZeroDivisionError):
        peak_bytes(lambda: 1 / 0)
    assert not tracemalloc.is_tracing()
    tracemalloc.start()
    try:
        kept = np.ones(2_000_000, np.uint8)
        assert peak_bytes(hold, 1_000_000) < 2_500_000
        assert tracemalloc.is_tracing()
        assert kept.all()
    finally:
        tracemalloc.stop()


def test_seconds_warm_up_once_and_take_the_median():
    naps = iter([0.2, 0.0, 0.2, 0.0, 0.0, 0.0])
    assert seconds(lambda: time.sleep(next(naps))) < 0.1
    assert next(naps, None) is None
    assert seconds(time.sleep, 0.02, rounds=1) > 0.015


@pytest.mark.parametrize("rounds", [0, 1.5])
def test_seconds_need_a_round(rounds):
    with pytest.raises(ValueError, match="rounds must be a whole number, 1 or more"):
        seconds(int, rounds=rounds)


def test_slopes_are_the_exponents():
    sizes = np.array([3, 10, 70, 100])
    for power in (0.5, 1, 2, 3):
        np.testing.assert_allclose(slopes(sizes, 7.0 * sizes**power), [power] * 3)
    np.testing.assert_allclose(slopes([1, 10, 100], [1, 10, 1000]), [1, 2])


# b03: memory figures say of what they are, and in which unit


def test_b03_a_score_matrix_in_bytes():
    assert score_bytes(1024) == 4_194_304
    assert score_bytes(1024, np.float64) == 8_388_608
    assert score_bytes(4096) == 67_108_864 == 16 * score_bytes(1024)
    assert 32 * score_bytes(4096, np.float16, n_heads=32) == 34_359_738_368
    for bad in (0, -1, 2.5):
        with pytest.raises(ValueError, match="whole number"):
            score_bytes(bad)


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 B"),
        (1000, "1,000 B"),
        (1024, "1 KiB"),
        (4_194_304, "4 MiB"),
        (67_108_864, "64 MiB"),
        (34_359_738_368, "32 GiB"),
        (1023 * 1024**3, "1,023 GiB"),
        (3_000_000, "2.86 MiB"),
        (1024**4, "1 TiB"),
        (5000 * 1024**4, "5,000 TiB"),
    ],
)
def test_b03_a_size_is_written_with_powers_of_1024(n_bytes, text):
    assert readable(n_bytes) == text


# What would not fit


@pytest.fixture
def small_machine(monkeypatch, tmp_path):
    """A machine with 16 GiB free, and no container."""
    monkeypatch.setattr(psutil, "virtual_memory", lambda: type("Memory", (), {"available": 16 * 1024**3}))
    monkeypatch.setattr(measure, "CONTAINER", tmp_path)
    return tmp_path


def test_what_does_not_fit_is_refused_with_both_sizes(small_machine):
    with pytest.raises(MemoryError) as error:
        must_fit(131_072)
    assert str(error.value) == (
        "T=131,072 in float32 needs 64 GiB for one head; this machine has 16 GiB free. "
        "Choose a smaller T, or compute it in tiles."
    )
    with pytest.raises(MemoryError, match=r"T=32,768 in float64 needs 2 times 32 GiB for 4 heads;"):
        must_fit(32_768, np.float64, 4, matrices=2)
    must_fit(32_768)


def test_something_is_left_for_all_else(small_machine):
    assert fits(57_000)
    assert not fits(60_000)
    assert not fits(65_536)
    assert not fits(57_000, matrices=2)
    assert not fits(57_000, n_heads=2)
    assert fits(57_000, np.float16, n_heads=2)


@pytest.mark.parametrize(
    ("limit", "used", "free"),
    [("max", 5, 16 * 1024**3), (2**30, 2**29, 2**29), (2**40, 0, 16 * 1024**3), (2**30, 2**31, 0)],
)
def test_a_container_may_hold_less_than_the_machine(small_machine, limit, used, free):
    (small_machine / "memory.max").write_text(f"{limit}\n", encoding="utf-8")
    (small_machine / "memory.current").write_text(f"{used}\n", encoding="utf-8")
    assert free_bytes() == free


def test_this_machine_has_something_free():
    assert 0 < free_bytes() <= psutil.virtual_memory().total


# Growth


def inputs(T):
    return (np.ones(T),)


def test_growth_measures_every_rung():
    grown = growth(lambda x: np.multiply.outer(x, x).sum(), [400, 800, 1600], inputs, rounds=2)
    assert grown.T.tolist() == [400, 800, 1600]
    assert (grown.seconds > 0).all()
    assert np.allclose(slopes(grown.T, grown.bytes), 2, atol=0.2)
    lines = str(grown).splitlines()
    assert lines[0].split() == ["T", "milliseconds", "peak"]
    assert lines[3].split()[0] == "1,600"
    assert lines[3].endswith(readable(int(grown.bytes[2])))
    assert repr(grown) == str(grown)


def test_growth_refuses_the_whole_ladder_before_the_first_call(small_machine):
    called = []
    with pytest.raises(MemoryError, match=r"T=131,072 .* needs 3 times 64 GiB"):
        growth(called.append, [2, 131_072], lambda T: (T,), matrices=3)
    assert called == []


@pytest.mark.parametrize("ladder", [[], [2, 2], [4, 2]], ids=str)
def test_a_ladder_goes_up(ladder):
    with pytest.raises(ValueError, match="ladder must hold increasing values of T, got"):
        growth(len, ladder, inputs)


class Bar:
    """What a progress bar was told."""

    def __init__(self, total):
        self.total, self.shown, self.told = total, 0, []

    def display(self):
        self.shown += 1

    progress = property(None, lambda self, done: self.told.append(done))


@pytest.fixture
def bars(monkeypatch):
    """Progress bars as a notebook would show them, and a clock that only the function moves."""
    made, now = [], [0.0]
    monkeypatch.setattr(measure, "ProgressBar", lambda total: made.append(Bar(total)) or made[-1])
    monkeypatch.setattr(measure, "get_ipython", lambda: object())
    monkeypatch.setattr(measure.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(measure.time, "perf_counter", lambda: now[0])
    return made, now


def test_a_bar_appears_once_it_took_two_seconds_and_ends_full(bars):
    made, now = bars

    def slow(T):
        now[0] += 0.3

    growth(slow, [1000, 1001, 1002, 1003], lambda T: (T,))
    assert made[0].total == 4
    assert made[0].shown == 1
    assert made[0].told == [1, 2, 3, 4]


def test_a_bar_appears_before_a_rung_that_will_take_long(bars):
    made, now = bars

    def quadratic(T):
        now[0] += T**2 / 1e6

    growth(quadratic, [10, 1000], lambda T: (T,))  # first 0.7 ms, then 7 s
    assert made[0].shown == 1
    assert made[0].told == [1, 2]


def test_no_bar_for_what_is_quick_or_outside_a_notebook(bars, monkeypatch, capfd):
    made, now = bars

    def step(T):
        now[0] += T

    growth(step, [1, 2], lambda T: (0.05,))
    assert made[0].shown == 0
    monkeypatch.setattr(measure, "get_ipython", lambda: None)
    growth(step, [1, 2, 3], lambda T: (5,))
    assert made[1].shown == 0
    assert made[1].told == []
    assert capfd.readouterr() == ("", "")
