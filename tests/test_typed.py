"""Nobody is counted wrong for form: every way people type a number is read, or explained in a sentence."""

from __future__ import annotations

import json
import math
from decimal import ROUND_DOWN, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from helpers.predictions.typed import (
    AmbiguousNumber,
    NotANumber,
    Typed,
    Unreadable,
    canonical,
    read_cells,
    read_grid,
    read_number,
    read_row,
    read_shape,
)

from .support import optional

E = math.e**0.707

NUMBERS = {  # what is typed: its value, and half a unit of its last digit
    "0.67": (0.67, 0.005),
    "0,67": (0.67, 0.005),
    "0,670": (0.67, 0.0005),
    "  0.67 ": (0.67, 0.005),
    "\u200b0.67\ufeff": (0.67, 0.005),
    "+0.67": (0.67, 0.005),
    "−0.67": (-0.67, 0.005),
    "–0,67": (-0.67, 0.005),
    "- 0.67": (-0.67, 0.005),
    ".5": (0.5, 0.05),
    ",5": (0.5, 0.05),
    "5.": (5, 0.5),
    "0.67.": (0.67, 0.005),
    "0.666...": (0.666, 0.0005),
    "0.666…": (0.666, 0.0005),
    "(0.67)": (0.67, 0.005),
    "[0.67]": (0.67, 0.005),
    "`0.67`": (0.67, 0.005),
    '"0.67"': (0.67, 0.005),
    "$0.67$": (0.67, 0.005),
    "０．６７": (0.67, 0.005),
    "٠٫٦٧": (0.67, 0.005),
    "=0.67": (0.67, 0.005),
    "≈0.67": (0.67, 0.005),
    "~ -0.67": (-0.67, 0.005),
    "about 0.67": (0.67, 0.005),
    "ca. 0,67": (0.67, 0.005),
    "key 0: 0.67": (0.67, 0.005),
    "weights[0, 1] = 0.67": (0.67, 0.005),
    "67%": (0.67, 0.005),
    "67 %": (0.67, 0.005),
    "67 percent": (0.67, 0.005),
    "66,7%": (0.667, 0.0005),
    "100%": (1, 0.005),
    "0": (0, 0.05),
    "-0": (0, 0.05),
    "0.0": (0, 0.05),
    "1": (1, 0.05),
    "7": (7, 0.5),
    "007": (7, 0.5),
    "4194304": (4194304, 0.5),
    "1,048,576": (1048576, 0.5),
    "1.048.576": (1048576, 0.5),
    "1 048 576": (1048576, 0.5),
    "1\u202f048\u00a0576": (1048576, 0.5),
    "1'048'576": (1048576, 0.5),
    "1’048’576": (1048576, 0.5),
    "1_048_576": (1048576, 0.5),
    "10,48,576": (1048576, 0.5),
    "1,048,576.25": (1048576.25, 0.5),
    "1.024,5": (1024.5, 0.05),
    "1e-3": (0.001, 0.0005),
    "1E3": (1000, 50),
    "1.05e6": (1.05e6, 5e3),
    "1,05e6": (1.05e6, 5e3),
    "1.05·10^6": (1.05e6, 5e3),
    "1.05 x 10^6": (1.05e6, 5e3),
    "1.05×10⁶": (1.05e6, 5e3),
    "1*10**-3": (0.001, 0.0005),
    "−2·10⁻³": (-0.002, 0.0005),
    "10^6": (1e6, 5e4),
    "-10^6": (-1e6, 5e4),
    "2/3": (2 / 3, 0.005),
    "1 / 4": (0.25, 0.005),
    "200/3 %": (2 / 3, 0.005),
    "½": (0.5, 0.005),
    "−½": (-0.5, 0.005),
    "1½": (1.5, 0.005),
    "1 1/2": (1.5, 0.005),
    "1-0.67": (0.33, 0.005),
    "2^20": (1048576, 0.005),
    "2**20": (1048576, 0.005),
    "2²⁰": (1048576, 0.005),
    "4*1024*1024": (4194304, 0.005),
    "4 × 1024 × 1024": (4194304, 0.005),
    "4x1024x1024": (4194304, 0.005),
    "1,024.0*2": (2048, 0.005),
    "sqrt(2)": (2**0.5, 0.005),
    "np.sqrt(2)": (2**0.5, 0.005),
    "√2": (2**0.5, 0.005),
    "√(1+1)": (2**0.5, 0.005),
    "sqrt 2": (2**0.5, 0.005),
    "1/√2": (2**-0.5, 0.005),
    "2√3": (2 * 3**0.5, 0.005),
    "e^0.707": (E, 0.005),
    "exp(0,707)": (E, 0.005),
    "math.exp(0.707)": (E, 0.005),
    "e": (math.e, 0.005),
    "pi": (math.pi, 0.005),
    "2π": (2 * math.pi, 0.005),
    "ln(2)": (math.log(2), 0.005),
    "log2(8)": (3, 0.005),
    "log10(1000)": (3, 0.005),
    "2(3)": (6, 0.005),
    "-(2)": (-2, 0.005),
    "1/1000": (0.001, 0.00005),
    "zero": (0, 0.05),
    "Three": (3, 0.5),
    "half": (0.5, 0.005),
    "two thirds": (2 / 3, 0.005),
}

REFUSED = {  # what is typed: a part of the sentence that answers
    "": "Nothing is typed",
    " \n": "Nothing is typed",
    "()": "Nothing is typed",
    "inf": "not a finite number",
    "-inf": "not a finite number",
    "−∞": "not a finite number",
    "-np.inf": "not a finite number",
    "float('nan')": "not a finite number",
    "NaN": "not a finite number",
    "0.67 0.33": "more than one number",
    "0.67, 0.33": "more than one number",
    "0.67; 0.33": "more than one number",
    "0.67 ± 0.01": "more than one number",
    "0.67+-0.01": "more than one number",
    "< 0.5": "more than one number",
    "2/3 = 0.67": "more than one number",
    "0.6-0.7": "range",
    "0.6 – 0.7": "range",
    "1/0": "divides by zero",
    "0^-1": "divides by zero",
    "9**9**9": "too large",
    "exp(1000)": "too large",
    "1e999": "too large",
    "1e200*1e200": "too large",
    "9" * 400: "longer",
    "sqrt(-1)": "no real value",
    "ln(0)": "no real value",
    "(-8)^(1/3)": "no real value",
    "T^2": "holds “T”",
    "1/sqrt(d_k)": "holds “d_k”",
    "0x10": "holds “x10”",
    "4 MiB": "holds “MiB”",
    "log(2)": "log2",
    "1,0485,76": "not read as a number",
    "1__0": "not read as a number",
    "1 0485 76": "more than one number",
    "5!": "not read as a number",
    "quite a lot": "not read as a number",
    "I don't know": "not read as a number",
    "True": "not read as a number",
    "2 +": "not read as a number",
    "((((2": "not read as a number",
    "(" * 90 + "2" + ")" * 90: None,  # deep, and read
    "-" * 150 + "2": None,
    "__import__('os').system('x')": "not read as a number",
    "().__class__": "not read as a number",
    "exp": "not read as a number",
    "sqrt(2, 3)": "more than one number",
    "²": "not read as a number",
}


@pytest.mark.parametrize("text", NUMBERS)
def test_every_form_is_read_with_its_digits(text):
    value, slack = NUMBERS[text]
    typed = read_number(text)
    assert typed.value == pytest.approx(value, rel=1e-12, abs=0)
    assert typed.slack == pytest.approx(slack, rel=1e-9)
    assert typed.fits(value)
    assert read_number(typed.text) == typed
    assert read_number(canonical(typed)) == typed


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_number_is_answered_in_a_sentence(text):
    if REFUSED[text] is None:
        assert read_number(text).value == 2
        return
    with pytest.raises(NotANumber) as caught:
        read_number(text)
    message = str(caught.value)
    assert REFUSED[text] in message
    assert message.endswith(".") and len(message) < 260 and "\n" not in message


@pytest.mark.parametrize("text", ["1,024", "12,345", "999,000", "-1,024", "1,024%", "1,024 * 2"])
def test_a_comma_before_three_digits_is_ambiguous(text):
    with pytest.raises(AmbiguousNumber, match="write"):
        read_number(text)


def test_whole_numbers_settle_the_comma():
    assert read_number("1,024", integers=True).value == 1024
    assert read_number("-1,024", integers=True).value == -1024
    point = read_number("1.024", integers=True)
    assert point.value == 1.024 and point.fits(1024) and point.fits(1.024) and not point.fits(1025)
    assert not read_number("1.024").fits(1024)
    assert read_number(1.5, integers=True).value == 1.5


FITS = {  # what is typed: truths that fit, truths that do not
    "0.67": ([2 / 3, 0.66976, 0.665, 0.675, 0.6799], [0.6649, 0.6801, -0.67]),
    "0.66": ([2 / 3, 0.655, 0.669], [0.67, 0.6549]),
    "0.7": ([2 / 3, 0.670, 0.65, 0.79], [0.6499, 0.8]),
    "0.670": ([0.66976, 0.6705], [2 / 3, 0.671]),
    "67%": ([2 / 3, 0.66976], [0.66, 0.68]),
    "-0.66": ([-2 / 3, -0.66], [-0.67, 2 / 3, -0.65]),
    "6.7": ([6.6976], [6.8]),
    "7": ([6.6976, 6.5, 7.5], [6.4, 7.6]),
    "6": ([6.4, 5.5], [6.6976]),
    "4": ([4, 4.4], [4.9]),
    "0": ([0, 0.05, -0.05], [0.33, 0.051]),
    "1": ([1, 0.96, 1.04], [0.67, 0.707, 1.3]),
    "-1": ([-1, -0.96], [-0.67, 1]),
    "0.0": ([0, 0.04], [0.06, 0.09, -0.09]),
    "1.0": ([1, 0.96, 1.09], [0.94, 1.1]),
    "4194304": ([4194304, 4194304.4], [4194303, 4194305]),
    "1,048,576": ([1048576], [1048575, 1048577]),
    "1e6": ([1e6, 1048576], [1.1e6, 0.9e6]),
    "1.05e6": ([1048576], [1.1e6]),
    "1.04e6": ([1048576], [1.03e6, 1.05e6]),
    "1.1e6": ([1.1e6], [1048576]),
    "1e-3": ([0.001, 0.0019], [0.002, 0.0004]),
    "2/3": ([2 / 3, 0.66976, 0.67], [0.68, 0.66]),
    "1/1000": ([0.001, 0.00104], [0.0011, 0.005]),
    "1-1": ([0, 0.004], [0.01]),
    "2^20": ([1048576], [1048575, 1049600, 1e6]),
    "e^0.707": ([math.exp(2**-0.5), 2.03], [2.04]),
    "0.66976155": ([0.6697615493266569, np.float32(0.6697615)], [0.66977]),
    "0.6697615493266569": ([0.66976155, 0.6697615493266569], [0.66977]),
    "1048576.5": ([1048576.5, 1048576.9], [1048578]),
}


@pytest.mark.parametrize("text", FITS)
def test_compared_at_the_digits_typed(text):
    typed = read_number(text)
    fitting, other = FITS[text]
    assert [truth for truth in fitting if not typed.fits(truth)] == []
    assert [truth for truth in other if typed.fits(truth)] == []
    assert not any(typed.fits(value) for value in (math.inf, -math.inf, math.nan))


UNITS = {
    "4 MiB": ([4 * 2**20], [4e6 - 6e5, 8 * 2**20]),
    "4 MB": ([4e6, 4 * 2**20], [8e6]),
    "64 MB": ([64 * 2**20, 64e6], [65.6e6]),
    "4.19 MB": ([4194304], [4.3e6]),
    "64KiB": ([2**16], [2**17]),
    "4 kB": ([4000, 4096], [5000]),
    "4 KB": ([4000, 4096], [5000]),
    "2 GiB": ([2**31], [2**32]),
    "1 GiB": ([2**30], [1.5 * 2**30]),
    "4 mebibytes": ([4 * 2**20], []),
    "4 Megabytes": ([4e6], []),
    "4M": ([4e6, 4 * 2**20], []),
    "½ MiB": ([2**19], [2**20]),
    "4*1024 KiB": ([4 * 2**20], [4096]),
    "4,194,304 bytes": ([4194304], [4194305]),
    "4096 B": ([4096], [4097]),
    "4,096": ([4096], [4.096]),
    "4.096": ([4096, 4.096], [4097]),
    "34359738368": ([2**35], [2**35 + 1]),
    "2^35": ([2**35], [2**35 + 1]),
    "32 GiB": ([2**35], [2**36]),
}


@pytest.mark.parametrize("text", UNITS)
def test_bytes_with_their_units(text):
    typed = read_number(text, unit="bytes")
    fitting, other = UNITS[text]
    assert all(typed.fits(truth) for truth in fitting)
    assert not any(typed.fits(truth) for truth in other)
    assert read_number(canonical(typed), unit="bytes") == typed


def test_units_that_cannot_be_read():
    for text in ("4 Mbit", "4 parsec", "4 MiB 8 MiB"):
        with pytest.raises(NotANumber):
            read_number(text, unit="bytes")
    with pytest.raises(AmbiguousNumber):
        read_number("4,194 MB", unit="bytes")
    with pytest.raises(ValueError, match="expected None"):
        read_number("4", unit="ms")


def test_numbers_that_are_not_text():
    two = (0.67, np.float64(0.67), np.float32(0.67), np.array(0.67), np.array([0.67], np.float32), [0.67])
    assert {read_number(number) for number in (*two, Decimal("0.67"))} == {read_number("0.67")}
    assert {str(read_number(zero).value) for zero in ("-0.0", "-0", -0.0, "-(0)")} == {"0.0"}
    assert read_number(1.0) == read_number("1.0") != read_number("1") == read_number(np.int64(1))
    assert read_number(Fraction(2, 3)).value == 2 / 3
    assert read_number(np.float64(1e22)).fits(1e22)
    for wrong in (
        True,
        np.True_,
        None,
        1j,
        math.nan,
        -math.inf,
        [1, 2],
        [],
        {},
        np.eye(2),
        object(),
        b"1",
        10**999,
    ):
        with pytest.raises(NotANumber):
            read_number(wrong)


@given(st.floats(-1e4, 1e4).map(lambda x: round(x, 7)), st.integers(1, 6))
@example(2 / 3, 2)
@example(-0.0996, 2)
def test_rounded_or_cut_off_fits_and_two_units_away_does_not(truth, digits):
    unit = Decimal(1).scaleb(-digits)
    rounded = Decimal(repr(truth)).quantize(unit)
    cut = Decimal(repr(truth)).quantize(unit, rounding=ROUND_DOWN)
    assert read_number(f"{rounded:f}").fits(truth)
    assert cut == 0 or read_number(f"{cut:f}").fits(truth)
    if abs(rounded) < Decimal(1).scaleb(5 - digits):  # six significant digits are demanded at most
        for away in (rounded + 2 * unit, rounded - 2 * unit):
            assert not read_number(f"{away:f}").fits(truth)


@given(st.decimals(-9999, 9999, allow_nan=False, allow_infinity=False, places=4))
def test_the_form_changes_neither_value_nor_digits(number):
    text = f"{number:f}"
    typed = read_number(text)
    comma, wide = (
        text.replace(".", ","),
        text.translate({ord(sign): ord(sign) + 0xFEE0 for sign in "0123456789.-"}),
    )
    for form in (
        f" {text} ",
        comma,
        wide,
        text.replace("-", "−"),
        f"≈{text}",
        f"[{text}]",
        f"{number.scaleb(2):f}%",
    ):
        again = read_number(form)
        assert (again.value, again.slack, again.cut) == (typed.value, typed.slack, typed.cut)


@given(st.integers(-(10**15), 10**15))
def test_whole_numbers_are_exact_in_every_grouping(number):
    plain = f"{number:,}"
    forms = {plain, plain.replace(",", "'"), plain.replace(",", "_"), plain.replace(",", " "), str(number)}
    for form in forms:
        typed = read_number(form, integers=True)
        assert typed.value == number and typed.fits(number) and not typed.fits(number + 1)


@given(st.floats(allow_nan=False, allow_infinity=False).filter(lambda x: x == 0 or 1e-290 < abs(x) < 1e290))
def test_a_float_is_its_own_digits_and_survives_the_record(number):
    for kind in (float, np.float64):
        typed = read_number(kind(number))
        assert typed.value == number and typed.fits(number)
        assert read_number(json.loads(json.dumps(canonical(typed)))) == typed


@given(st.floats(-1e6, 1e6, width=32))
def test_what_is_copied_from_a_run_fits_the_run(number):
    copied = np.float32(number)
    for form in (copied, str(copied), float(copied), np.array([copied])):
        assert read_number(form).fits(float(copied))


@given(st.text(max_size=40) | st.text("0123456789.,'_-+*/^()e %√x=~[]", max_size=25))
@example("1e5*10^3")
@example("1,2.3,4")
@example("1.٫5")
def test_any_text_is_read_or_refused_in_a_sentence(text):
    for options in ({}, {"integers": True}, {"unit": "bytes"}):
        try:
            typed = read_number(text, **options)
        except NotANumber as error:
            assert str(error).endswith(".")
        else:
            assert math.isfinite(typed.value) and typed.slack >= 0
            assert read_number(typed.text, **options) == typed
    for read in (lambda: read_row(text, 2), lambda: read_grid(text, 2, 2), lambda: read_cells(text, 2, 2)):
        try:
            answer = read()
        except Unreadable as error:
            assert str(error).endswith(".")
        else:
            assert len(answer) == 2
    try:
        shape = read_shape(text)
    except Unreadable as error:
        assert str(error).endswith(".")
    else:
        assert read_shape(canonical(shape)) == shape


ROWS = [
    "0.67, 0.33",
    "0.67,0.33",
    "0.67 ,0.33",
    "0.67 0.33",
    "0.67; 0.33",
    "0.67\t0.33",
    "0.67\n0.33",
    "0.67 | 0.33",
    "0.67 and 0.33",
    "0,67 0,33",
    "0,67; 0,33",
    "0,67, 0,33",
    "0,67\t0,33",
    "67% 33%",
    "67 %, 33 %",
    "[0.67, 0.33]",
    "[0.67 0.33]",
    "[[0.67, 0.33]]",
    "(0.67, 0.33,)",
    "np.array([0.67, 0.33])",
    "tensor([0.67, 0.33], dtype=torch.float64)",
    "key 0: 0.67, key 1: 0.33",
    "０．６７，０．３３",
    "0.67、0.33",
    ["0.67", "0.33"],
    ["0,67", 0.33],
    (0.67, 0.33),
    np.array([0.67, 0.33]),
    np.array([[0.67], [0.33]], dtype=np.float32),
    [[0.67, 0.33]],
    iter([0.67, 0.33]),
]


@pytest.mark.parametrize("typed", ROWS, ids=str)
def test_every_form_of_a_row(typed):
    row = read_row(typed, 2, ["key 0", "key 1"])
    assert [(number.value, number.slack) for number in row] == [(0.67, 0.005), (0.33, 0.005)]
    assert read_row(json.loads(json.dumps(canonical(row))), 2) == row


def test_other_rows():
    assert [number.value for number in read_row("1 0 0", 3)] == [1, 0, 0]
    assert [number.value for number in read_row("1,0,0", 3)] == [1, 0, 0]
    assert [number.value for number in read_row("1. 0.", 2)] == [1, 0]
    assert [number.value for number in read_row("-1 −2", 2)] == [-1, -2]
    assert [number.value for number in read_row("½ 1/4 √4", 3)] == [0.5, 0.25, 2]
    assert [number.value for number in read_row("1 048 576; 2", 2)] == [1048576, 2]
    assert [number.value for number in read_row("1,024 2,048", 2, integers=True)] == [1024, 2048]
    assert [number.value for number in read_row("4 KiB 1 MiB", 2, unit="bytes")] == [4096, 2**20]
    assert read_row(0.67, 1) == read_row("0.67", 1) == read_row([0.67], 1) == [read_number("0.67")]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("0.67", r"Expected 2 numbers \(key 0, key 1\), got 1: 0.67\."),
        ([1, 0, 0], r"Expected 2 numbers \(key 0, key 1\), got 3: 1, 0, 0\."),
        ("0,25,0,75", "put semicolons between"),
        ("", "got 0"),
        ("[]", "got 0"),
        (None, "got 0"),
        ("0.5 x", "^key 1: “x” is not read"),
        (["", 0.5], "^key 0: Nothing is typed"),
        ([0.5, None], "^key 1: Nothing is typed"),
        ([0.5, True], "^key 1: True"),
        ("-inf 0.5", "^key 0: “-inf” is not a finite number"),
        ("1,024; 3", "^key 0: “1,024” can be"),
        ({"key 0": 0.67, "key 1": 0.33}, "in order"),
        ({0.67, 0.33}, "in order"),
        (np.eye(2), "^key 0: Expected one number"),
    ],
)
def test_a_row_that_cannot_be_read_names_the_place(typed, message):
    with pytest.raises(NotANumber, match=message):
        read_row(typed, 2, ["key 0", "key 1"])


@given(st.lists(st.floats(-100, 100).map(lambda x: round(x, 3)), min_size=2, max_size=6))
def test_rows_with_any_separator(values):
    for text in (str(values), str(values)[1:-1], " ".join(map(str, values)), "; ".join(map(str, values))):
        assert [number.value for number in read_row(text, len(values))] == values
    comma = "; ".join(str(value).replace(".", ",") for value in values)
    if not any(abs(value) >= 1 and len(str(value).partition(".")[2]) == 3 for value in values):
        assert [number.value for number in read_row(comma, len(values))] == values


def test_tensors_of_other_libraries():
    torch = optional("torch")
    row = torch.tensor([0.67, 0.33], requires_grad=True)
    assert canonical(read_row(row, 2)) == ["0.67", "0.33"]
    assert read_number(row[0]).fits(0.67)
    assert read_shape(torch.zeros(4, 3).shape) == (4, 3)
    assert read_cells(torch.ones(2, 2).tril().bool(), 2, 2) == ((True, False), (True, True))


GRIDS = [
    "1 0; 0.3 0.7",
    "1, 0\n0.3, 0.7",
    "1 0;\n0.3 0.7;",
    "[[1, 0], [0.3, 0.7]]",
    "[[1. 0.]\n [0.3 0.7]]",
    "array([[1. , 0. ],\n       [0.3, 0.7]])",
    "(1, 0), (0.3, 0.7)",
    "1,0 0,0; 0,3 0,7",
    "1\t0\n30%\t70%",
    [[1, 0], ["0.3", 0.7]],
    ["1 0", "0.3 0.7"],
    np.array([[1, 0], [0.3, 0.7]]),
]


@pytest.mark.parametrize("typed", GRIDS, ids=str)
def test_every_form_of_a_grid(typed):
    grid = read_grid(typed, 2, 2)
    assert [[number.value for number in row] for row in grid] == [[1, 0], [0.3, 0.7]]
    assert read_grid(json.loads(json.dumps(canonical(grid))), 2, 2) == grid


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("1 0 0.3 0.7", "Expected 2 rows of 2 numbers, got 1 row:"),
        (np.eye(3), "got 3 rows"),
        ("1 0; 1", r"Row 1: Expected 2 numbers \(column 0, column 1\), got 1: 1\."),
        ("1 0; y 1", "Row 1: column 0: “y”"),
        ("", "got 0 rows"),
        (None, "got 0 rows"),
        (5, "got 1 row:"),
    ],
)
def test_a_grid_that_cannot_be_read_names_the_place(typed, message):
    with pytest.raises(NotANumber, match=message):
        read_grid(typed, 2, 2)


SHAPES = {
    (4, 3): [
        "(4, 3)",
        "4, 3",
        "4,3",
        "4 3",
        "[4,3]",
        "(4;3)",
        "4x3",
        "4 X 3",
        "4 × 3",
        "4*3",
        "4 by 3",
        "4 and 3",
    ],
    (4,): ["(4,)", "4", "[4]", "4,", 4, np.int64(4), 4.0, ["4"]],
    (): ["()", "( )", "[]", "scalar", (), []],
    (2, 5, 3): ["2x5x3", "(2, 5, 3)", "shape (2, 5, 3)", "torch.Size([2, 5, 3])", np.array([2, 5, 3])],
    (1024, 64): ["1024 x 64", "(1,024, 64)", "1,024 x 64", "2^10 x 64", "2**10, 64", "1_024 64"],
    (0, 3): ["(0, 3)", "0x3", (0, 3)],
    (7, 2): ["7x2 matrix", "shape: 7 × 2", "（７，２）", (7.0, np.float64(2)), ["7", "2"]],
}


@pytest.mark.parametrize(
    ("shape", "typed"), [(shape, typed) for shape, forms in SHAPES.items() for typed in forms]
)
def test_every_form_of_a_shape(shape, typed):
    assert read_shape(typed) == shape
    assert read_shape(json.loads(json.dumps(canonical(shape)))) == shape


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("", "Nothing is typed"),
        (None, "Nothing is typed"),
        ("T x d", "holds names"),
        ("(T, d_k)", "holds names"),
        ("four", "holds names"),
        ("(4, -1)", "0, 1, 2 or more, got “-1”"),
        ((4, 2.5), "0, 1, 2 or more, got 2.5"),
        ("1,024,64", "two ways"),
        ("4-3", "in order"),
        ("(4, ?)", "in order"),
        ("4x", "in order"),
        ((True, 2), "True"),
        (np.eye(2), "not read as a shape"),
        ({4, 3}, "in order"),
    ],
)
def test_a_shape_that_cannot_be_read(typed, message):
    with pytest.raises(Unreadable, match=message):
        read_shape(typed)


CELLS = [
    "1000/1100",
    "1000 1100",
    "1000,1100",
    "1000\n1100",
    "1 0 0 0; 1 1 0 0",
    "1, 0, 0, 0\n1, 1, 0, 0",
    "|1|0|0|0|\n|1|1|0|0|",
    "x.../xx..",
    "x…/xx..",
    "X---/XX--",
    "×···/××··",
    "TFFF/TTFF",
    "True False False False / True True False False",
    "[[1, 0, 0, 0], [1, 1, 0, 0]]",
    "array([[ True, False, False, False],\n       [ True,  True, False, False]])",
    ["1000", "1100"],
    [[1, 0, 0, 0], [1, 1, 0, 0]],
    [["x", ".", ".", "."], ["x", "x", ".", "."]],
    np.tri(2, 4, dtype=bool),
    np.tri(2, 4),
]


@pytest.mark.parametrize("typed", CELLS, ids=str)
def test_every_form_of_a_pattern(typed):
    pattern = read_cells(typed, 2, 4)
    assert pattern == ((True, False, False, False), (True, True, False, False))
    assert canonical(pattern) == [[1, 0, 0, 0], [1, 1, 0, 0]]
    assert all(type(cell) is int for row in canonical(pattern) for cell in row)
    assert read_cells(json.loads(json.dumps(canonical(pattern))), 2, 4) == pattern


def test_narrow_patterns():
    assert read_cells("1/0/1", 3, 1) == read_cells("1 0 1", 3, 1) == ((True,), (False,), (True,))
    assert read_cells("101", 1, 3) == read_cells("1 0 1", 1, 3) == ((True, False, True),)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("1000", "Expected 2 rows of 4 cells, got 1 row"),
        ("1000/110", "Row 1: expected 4 cells, got 3"),
        ("1000/1200", r"Row 1, column 1: expected 1 \(allowed\) or 0 \(blocked\), got “2”"),
        ([[1, 0, 0, 0], [1, None, 0, 0]], "Row 1, column 1: .* got None"),
        (np.tri(2, 4) * 0.5, "Row 0, column 0"),
        (np.tri(4), "got 4 rows"),
        ("", "got 0 rows"),
        (None, "got 0 rows"),
        ([1, 0], "Row 0: expected 4 cells, got 1"),
    ],
)
def test_a_pattern_that_cannot_be_read_names_the_place(typed, message):
    with pytest.raises(Unreadable, match=message):
        read_cells(typed, 2, 4)


def test_choices_and_no_answer_go_into_the_record_as_they_are():
    assert canonical("flatter") == "flatter"
    assert canonical(None) is None
    assert isinstance(read_number("0.67"), Typed)
