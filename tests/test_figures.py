"""Figures: what is drawn is the data, in both worlds, and every form of it says the same."""

from __future__ import annotations

import base64
import gc
import io
import re
import subprocess
import sys
import warnings
import weakref
from itertools import pairwise
from xml.dom import minidom

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from matplotlib.backends.backend_agg import FigureCanvasAgg
from PIL import Image

from helpers import figures, patterns
from helpers.figures import palette
from helpers.figures.grid import weights_grid
from helpers.figures.words import number, shown

CAUSAL = np.tril(np.ones((4, 4), dtype=bool))
A = np.array([[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]])
WIDE = np.array([[0.1, 0.2, 0.3, 0.25, 0.15], [0.4, 0.05, 0.15, 0.3, 0.1]])
ODD_TOKENS = [
    "the",
    "$x_1$",
    "_",
    "",
    "<script>alert(1)</script>",
    "\n",
    " sat",
    "a&b",
    "漢字",
    "🙂",
    "x" * 80,
]
INK = {"black": "#000000", "white": "#ffffff"}


def drawn(ax):
    """Draw, as a viewer does, and hand back the picture of the cells."""
    ax.figure.canvas.draw()
    return ax.images[0]


def pixels(bundle: dict[str, str]) -> np.ndarray:
    data = re.search(r'src="data:image/png;base64,([^"]+)"', bundle["text/html"])[1]
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB"))


def cells(svg: str) -> list[tuple[str, ...]]:
    """Fill of every cell that is an element."""
    return re.findall(r'<rect [^>]*fill="(#[0-9a-f]{6})"', svg)


def rows_of(table: str) -> list[list[str]]:
    return [re.findall(r"<t[dh][^>]*>(.*?)</t[dh]>", row) for row in re.findall(r"<tr>(.*?)</tr>", table)]


# C01: axes


def test_first_row_is_on_top_and_rows_are_queries():
    ax = figures.plot_weights(A)
    image = drawn(ax)
    np.testing.assert_array_equal(image.get_array(), A)
    assert image.origin == "upper"
    assert (ax.get_xlim(), ax.get_ylim()) == ((-0.5, 2.5), (2.5, -0.5))
    assert "key" in ax.get_xlabel() and "query" in ax.get_ylabel()
    assert ax.transData.transform((2, 0))[1] > ax.transData.transform((0, 2))[1]


@pytest.mark.parametrize("shape", [(2, 5), (5, 2), (1, 1), (1, 7), (17, 40), (70, 3)])
def test_shape_and_corners_survive(shape):
    values = np.random.default_rng(0).random(shape)
    image = drawn(figures.plot_weights(values))
    np.testing.assert_array_equal(image.get_array(), values)
    assert tuple(image.get_extent()) == (-0.5, shape[1] - 0.5, shape[0] - 0.5, -0.5)
    table = rows_of(figures.weights(values).table)
    assert len(table) == shape[0] + 1 and len(table[0]) == shape[1] + 2
    assert table[shape[0]][1] == number(values[-1, 0], 3)
    assert table[1][shape[1]] == number(values[0, -1], 3)


# C02: one scale


def test_weights_are_always_on_zero_to_one():
    ax = figures.plot_weights(np.full((4, 4), 0.25))
    assert drawn(ax).get_clim() == (0, 1)
    assert drawn(ax).norm(0.25) == 0.25
    pale, mid = figures.weights(np.zeros((4, 4))).svg, figures.weights(np.full((4, 4), 0.25)).svg
    assert set(cells(pale)) & set(cells(mid)) == set()


def test_panels_share_one_norm():
    left, right = figures.panels(2)
    figures.plot_weights(A, ax=left)
    figures.plot_weights(WIDE, ax=right)
    assert left.figure is right.figure
    assert drawn(left).get_clim() == drawn(right).get_clim()
    assert drawn(left).get_cmap() == drawn(right).get_cmap()


def test_scores_carry_a_colour_bar_and_can_share_limits():
    ax = figures.plot_scores([[1, -3.5], [2, 0.25]])
    assert drawn(ax).colorbar is not None
    assert drawn(ax).get_clim() == (-3.5, 3.5)
    assert drawn(figures.plot_scores([[1, 2]], limits=(0, 8))).get_clim() == (0, 8)
    assert figures.plot_weights(np.eye(12)).images[0].colorbar is not None, (
        "no numbers, so the scale is shown"
    )


def test_uniform_weights_over_64_keys_are_seen():
    uniform, nothing = palette.colours(np.array([1 / 64, 0.0])).astype(int)
    assert np.abs(uniform - nothing).max() > 20
    assert "0.0156" in figures.weights(np.full((64, 64), 1 / 64)).text


@pytest.mark.parametrize("n", [2, 8, 12, 40])
def test_a_cell_has_the_colour_of_its_number_in_both_worlds(n):
    values = np.random.default_rng(n).random((n, n))
    expected = palette.colours(values)
    ax = figures.plot_weights(values)
    ax.figure.set_layout_engine("none")
    ax.set_position((0.1, 0.1, 0.8, 0.8))
    for text in list(ax.texts):
        text.remove()
    canvas = FigureCanvasAgg(ax.figure)
    canvas.draw()
    page = np.asarray(canvas.buffer_rgba())[..., :3]
    # A little off the middle: exactly there, a pixel may belong to either neighbour of an odd width.
    at = ax.transData.transform([(j + 0.1, i + 0.1) for i in range(n) for j in range(n)])
    found = page[page.shape[0] - 1 - at[:, 1].astype(int), at[:, 0].astype(int)].reshape(n, n, 3)
    assert np.abs(found.astype(int) - expected).max() <= 2
    svg = figures.weights(values).svg
    if n <= 16:
        assert cells(svg)[: n * n] == [palette.colour(v) for v in values.flat]
    else:
        bitmap = bitmap_of(svg)
        np.testing.assert_array_equal(bitmap[..., :3], expected)
        assert (bitmap[..., 3] == 255).all()
        assert "image-rendering:pixelated" in svg


def bitmap_of(svg: str) -> np.ndarray:
    data = re.search(r'href="data:image/png;base64,([^"]+)"', svg)[1]
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA"))


@pytest.mark.parametrize("signed", [False, True])
def test_blocked_cells_of_a_bitmap_are_clear_and_the_others_keep_their_colour(signed):
    values = np.random.default_rng(3).random((40, 40))
    values[39, 0] = 1.0  # the end of the ramp, whose place stands for clear
    allowed = patterns.causal(40)
    drawn = figures.scores(values - 0.5, allowed) if signed else figures.weights(values, allowed)
    bitmap = bitmap_of(drawn.svg)
    assert ((bitmap[..., 3] == 255) == allowed).all()
    shown = np.where(allowed, values, 0)
    limits = palette.limits_for((values - 0.5)[allowed]) if signed else (0, 1)
    expected = palette.colours(shown - 0.5 * signed, limits)
    assert np.abs(bitmap[..., :3].astype(int) - expected)[allowed].max() <= 2


# C03: blocked cells and empty rows


def test_blocked_cells_have_their_own_look_named_in_the_legend():
    weights = np.tril(np.full((4, 4), 0.25))
    ax = figures.plot_weights(weights, CAUSAL)
    np.testing.assert_array_equal(np.ma.getmaskarray(drawn(ax).get_array()), ~CAUSAL)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["blocked"]
    assert any(collection.get_hatch() for collection in ax.collections)
    inside = {(round(t.get_position()[1]), round(t.get_position()[0])) for t in ax.texts[: CAUSAL.sum()]}
    assert inside == {tuple(cell) for cell in np.argwhere(CAUSAL)}, "numbers stand in allowed cells only"
    picture = figures.weights(weights, CAUSAL)
    assert ">blocked<" in picture.svg and picture.table.count(">blocked<") == 6
    assert len(cells(picture.svg)) == CAUSAL.sum()


@pytest.mark.parametrize("junk", [0.0, 0.9, 7.0, -1e9, np.nan, np.inf])
def test_what_a_blocked_cell_holds_changes_no_colour(junk):
    weights = np.tril(np.full((4, 4), 0.25))
    filled = np.where(CAUSAL, weights, junk)
    assert cells(figures.weights(filled, CAUSAL).svg) == cells(figures.weights(weights, CAUSAL).svg)
    one, other = (drawn(figures.plot_weights(w, CAUSAL)) for w in (filled, weights))
    np.testing.assert_array_equal(one.to_rgba(one.get_array()), other.to_rgba(other.get_array()))
    assert ("other than 0" in figures.weights(filled, CAUSAL).text) == (junk != 0)


def test_tiny_weight_is_told_from_blocked():
    picture = figures.weights([[1, 1e-9]])
    assert "blocked" not in picture.svg and "&lt;0.01" in picture.svg


def test_empty_row_is_marked():
    allowed = np.array([[True, True, False], [False] * 3, [True] * 3])
    weights = np.where(allowed, [[0.4, 0.6, 0], [0] * 3, [0.1, 0.2, 0.7]], np.nan)
    assert ">no key<" in figures.weights(weights, allowed).svg
    assert "Query 1 has no key to read. Every other row sums to 1." in figures.weights(weights, allowed).text
    for ax in (figures.plot_weights(weights, allowed), figures.plot_pattern(allowed)):
        marked = [t for t in ax.texts if t.get_text() == "no key"]
        assert [t.get_position()[1] for t in marked] == [1]
    everything = np.zeros((2, 3), dtype=bool)
    assert "Queries 0 and 1 have no key to read. No row has a sum." in figures.weights(A[:2], everything).text


def test_integer_weights_and_one_row_of_keys():
    ax = figures.plot_weights([[1, 0], [0, 1]], [[True, False], [True, True]])
    assert drawn(ax).get_array()[0, 0] == 1
    keep = figures.weights(np.full((3, 2), 0.5), np.array([[1, 0]]))
    assert "3 of 6 cells are blocked" in keep.text
    assert "Every row sums to 1" in figures.weights(np.full((3, 7), 1 / 7, dtype=np.float16)).text


def test_row_sums_stand_at_the_side():
    ax = figures.plot_weights([[0.5, 0.5], [0.3, 0.3], [0.9, 0.0999]])
    assert [t.get_text() for t in ax.texts[6:9]] == ["1", "0.60", "0.9999"]
    assert [t.get_fontweight() for t in ax.texts[6:9]] == ["normal", "bold", "bold"]
    picture = figures.weights([[0.5, 0.5], [0.3, 0.3]])
    assert [row[-1] for row in rows_of(picture.table)] == ["sum", "1", "0.60"]
    assert "row 1 to 0.60" in picture.text
    assert "40 of 40 rows do not sum to 1 but to 0.40" in figures.weights(np.full((40, 40), 0.01)).text


# C04: tokens


def test_repeated_tokens_stay_apart():
    tokens = ["the", "cat", "the"]
    ax = figures.plot_weights(A, tokens=tokens)
    drawn(ax)
    for axis in (ax.xaxis, ax.yaxis):
        assert [t.get_text() for t in axis.get_ticklabels()] == tokens
        assert list(axis.get_ticklocs()) == [0, 1, 2]
    bars = figures.plot_bars(tokens, {"run": [0.2, 0.5, 0.3]})
    assert [round(p.get_x() + p.get_width() / 2) for p in bars.patches] == [0, 1, 2]
    assert [t.get_text() for t in bars.get_xticklabels()] == tokens
    assert rows_of(figures.bars(tokens, {"run": [0.2, 0.5, 0.3]}).table)[0][1:] == tokens
    assert figures.bars(tokens, {"run": [0.2, 0.5, 0.3]}).svg.count("<rect") == 3


def test_tokens_are_drawn_as_given_whatever_they_hold():
    n = len(ODD_TOKENS)
    weights = np.full((n, n), 1 / n)
    ax = figures.plot_weights(weights, tokens=ODD_TOKENS, title="100$ of $weights 🙂")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        drawn(ax)
        bundle = figures.bundle(ax)
    assert [str(w.message) for w in caught] == []
    assert [t.get_text() for t in ax.get_xticklabels()] == [shown(t) for t in ODD_TOKENS]
    assert not any(t.get_parse_math() for t in ax.get_xticklabels() + ax.get_yticklabels())
    assert shown("$x_1$") == "$x_1$" and shown("\n") == "\\n" and shown("\ud800") == "\\ud800"
    picture = figures.weights(weights, tokens=ODD_TOKENS)
    for html in (picture.html, bundle["text/html"], figures.bars(ODD_TOKENS, {"run": weights[0]}).html):
        assert "<script" not in html and "&lt;script&gt;" in html
    assert "x" * 80 in picture.svg, "a label too long to draw is whole in its tooltip"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: f(A, tokens=["a", "b"]), "tokens has 2 labels for 3 queries"),
        (lambda f: f(WIDE, tokens=["a", "b"]), "pass query_tokens and key_tokens"),
        (lambda f: f(WIDE, query_tokens="ab", key_tokens="abc"), "key_tokens has 3 labels for 5 keys"),
        (lambda f: f(A, tokens="abc", key_tokens="abc"), "not all"),
        (lambda f: f(A, np.ones((2, 5), bool)), r"allowed must have the shape of what is drawn, \(3, 3\)"),
        (lambda f: f(A, np.ones((3, 1), bool)), "shape of what is drawn"),
        (lambda f: f(A, np.full((3, 3), -np.inf)), "allowed must be boolean"),
        (lambda f: f(np.zeros((0, 0))), "at least one row"),
        (lambda f: f(A[0]), r"A\[np.newaxis, :\]"),
        (lambda f: f(np.stack([A, A])), r"A\[0\]"),
        (lambda f: f(1.0), "pass a matrix"),
        (lambda f: f([["a"]]), "array of numbers"),
        (lambda f: f(np.ma.masked_equal(A, 0)), "masked array"),
    ],
)
@pytest.mark.parametrize("make", [figures.weights, figures.plot_weights, figures.plot_scores, figures.scores])
def test_what_does_not_fit_is_refused(make, call, message):
    if make in (figures.plot_scores, figures.scores):
        message = message.replace(r"A\[", r"\w\[")
    with pytest.raises(ValueError, match=message):
        call(make)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -0.1, 1.1, 100])
def test_weights_out_of_range_are_refused_where_they_may_be_read(bad):
    values = A.copy()
    values[1, 2] = bad
    for make in (figures.weights, figures.plot_weights):
        with pytest.raises(ValueError, match=re.escape(f"A[1, 2] is {bad:.6g}")):
            make(values)
        make(values, np.tril(np.ones((3, 3), bool)))


# Scores and other matrices


def test_scores_block_minus_infinity_and_keep_nan():
    ax = figures.plot_scores([[1, -np.inf], [np.nan, np.inf]])
    assert np.ma.getmaskarray(drawn(ax).get_array())[0, 1]
    assert ax.get_legend() is not None
    picture = figures.scores([[1, -np.inf], [np.nan, np.inf]])
    assert "1 cell is not a number (nan). 1 cell is infinite. 1 of 4 cells is blocked." in picture.text
    assert ">nan<" in picture.svg


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_finfo_min_is_drawn(dtype):
    scores = np.array([[1, np.finfo(dtype).min], [2, 4]], dtype=dtype)
    drawn(figures.plot_scores(scores))
    assert cells(figures.scores(scores).svg)[1] == "#77330c"


def test_matrix_names_rows_and_columns():
    picture = figures.matrix([[10, 0], [0, 20]], axes=("position i", "feature"), rows=["the", "cat"])
    assert picture.text == "2 positions by 2 features. Position 0 (the): 10, 0; position 1 (cat): 0, 20."
    assert "position i ↓" in picture.svg and "feature →" in picture.svg
    with pytest.raises(ValueError, match="labels of row has 1"):
        figures.matrix(A, rows=["a"])
    with pytest.raises(ValueError, match="lower one first"):
        figures.matrix(A, limits=(1, 0))


# Patterns


def test_pattern_tells_difference_by_shape_and_words():
    run, you = CAUSAL, np.eye(4, dtype=bool) | (np.arange(4) == 3)
    picture = figures.pattern(run, you, tokens=["the", "cat", "the", "sat"])
    assert picture.svg.count(">✓<") == 4 + 1 and picture.svg.count(">−<") == 6 + 1
    assert picture.svg.count(">+<") == 3 + 1
    told = [row[1:] for row in rows_of(picture.table)[1:]]
    assert told[0] == ["both allow", "both block", "both block", "you only"]
    assert told[3] == ["run only", "run only", "run only", "both allow"]
    assert "run and you agree in 7 of 16 cells" in picture.text
    with pytest.raises(ValueError, match="shape of allowed"):
        figures.pattern(run, you[:3])
    with pytest.raises(ValueError, match="must be boolean"):
        figures.pattern([[0.5]])


def test_pattern_on_the_page():
    ax = figures.plot_pattern(CAUSAL)
    np.testing.assert_array_equal(np.ma.getmaskarray(drawn(ax).get_array()), ~CAUSAL)
    assert "10 of 16 cells are allowed" in figures.describe(ax)
    assert palette.colour(1.0, (0.0, 2.0)) == palette.ALLOWED


# Bars and lines


def test_bars_keep_gaps_negative_and_large_numbers():
    series = {"you": [None, -1.5, 40], "run": [2.5, np.nan, np.inf]}
    picture = figures.bars(["a", "a", "b"], series, texts={"you": ["", "-1.5", "4e1"]})
    assert rows_of(picture.table)[1] == ["you", "", "-1.5", "4e1"]
    widths = [float(w) for w in re.findall(r'<rect [^>]*width="([\d.]+)"', picture.svg)]
    assert len(widths) == 3, "no bar where there is no number"
    assert "run nan" in picture.svg and "run inf" in picture.svg
    drawn_bars = figures.plot_bars(["a", "a", "b"], series)
    drawn_bars.figure.canvas.draw()
    assert drawn_bars.get_ylim()[0] < -1.5 and drawn_bars.get_ylim()[1] > 40
    with pytest.raises(ValueError, match="you has 1 numbers for 2 labels"):
        figures.bars(["a", "b"], {"you": [1]})
    with pytest.raises(ValueError, match="at least one"):
        figures.plot_bars([], {"you": []})


def test_bars_are_as_long_as_their_numbers():
    picture = figures.bars(["a", "b"], {"run": [0.25, 0.75]})
    short, long = (float(w) for w in re.findall(r'<rect [^>]*width="([\d.]+)"', picture.svg))
    assert long == pytest.approx(3 * short, rel=0.01)
    many = figures.bars(range(64), {"you": np.linspace(0, 1, 64), "run": np.linspace(1, 0, 64)})
    assert many.svg.count("<rect") == 128 and many.folded


def test_many_bars_of_one_series_stand_in_a_row_as_tall_as_their_numbers():
    values = [0.25, -0.5, None, 0.75, *[0.1] * 40]
    picture = figures.bars([f"key {k}" for k in range(44)], {"run": values})
    boxes = re.findall(r'<rect [^>]*y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', picture.svg)
    tops, widths, heights = (np.array(each, float) for each in zip(*boxes, strict=True))
    assert len(boxes) == 44 and len(set(widths)) == 1
    assert heights[:4] == pytest.approx(np.array([1, 2, 0, 3]) * heights[0], abs=0.2)
    assert tops[1] == pytest.approx(tops[0] + heights[0], abs=0.2)  # below zero, where the first one ends
    assert "key 3: run 0.750" in picture.svg and picture.svg.count("<text") < 20
    assert len(rows_of(picture.table)) == 45 and "—" in picture.table


def test_a_table_is_made_when_it_is_asked_for_and_only_once():
    made = []
    picture = figures.Picture("", lambda: made.append(1) or "<table></table>", "empty")
    assert made == [] and (picture.table, picture.table, made) == ("<table></table>",) * 2 + ([1],)


def test_a_tile_tells_apart_what_is_held_gone_by_to_come_and_blocked():
    gone = np.array([[1, 1, 0], [0, 0, 0]])
    blocked = np.array([[0, 0, 1], [0, 0, 0]])
    picture = figures.tile([[1, 2, 3], [4, -0.04, 6]], blocked, gone, range(1, 2), range(0, 2))
    assert picture.text == "2 queries by 3 keys. 2 cells are held now, 2 gone by, 1 to come, 1 blocked."
    told = [row[1:] for row in rows_of(picture.table)[1:]]
    assert told == [["gone by", "gone by", "blocked"], ["held now", "held now", "to come"]]
    assert ">4.0<" in picture.svg and ">0.0<" in picture.svg and ">6.0<" not in picture.svg


def test_lines_are_named_in_the_picture_and_do_not_collide():
    x = np.geomspace(0.1, 10, 9)
    names = {f"key {k}": np.full(9, 0.25 + 0.001 * k) for k in range(4)}
    ax = figures.plot_lines(x, names, xlabel="temperature", ylabel="weight", logx=True)
    ax.figure.canvas.draw()
    assert sorted(t.get_text() for t in ax.texts) == list(names)
    heights = sorted(t.get_window_extent().y0 for t in ax.texts)
    assert np.diff(heights).min() >= ax.texts[0].get_window_extent().height * 0.8
    looks = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in ax.lines}
    assert len(looks) == 4 and ax.get_xscale() == "log"
    with pytest.raises(ValueError, match="positive numbers only"):
        figures.plot_lines([0, 1], {"a": [1, 2]}, xlabel="x", ylabel="y", logx=True)
    with pytest.raises(ValueError, match="a has shape"):
        figures.plot_lines([0, 1], {"a": [1]}, xlabel="x", ylabel="y")
    with pytest.raises(ValueError, match="1 to 6 lines"):
        figures.plot_lines([0, 1], {}, xlabel="x", ylabel="y")


@pytest.mark.parametrize(
    ("x", "written"),
    [
        ([512, 1024, 2048, 4096, 8192], ["512", "1,024", "2,048", "4,096", "8,192"]),
        ([4096, 512], ["4,096", "512"]),
        ([1, 2, 3, 4, 5, 6, 7, 100], None),  # the last ones would collide
        ([0.5, 2.5], None),
        ([7], None),
    ],
)
def test_few_whole_numbers_are_written_below_a_logarithmic_axis(x, written):
    ax = figures.plot_lines(x, {"peak": [3, *x[1:]]}, xlabel="T", ylabel="bytes", logx=True, logy=True)
    ax.figure.canvas.draw()
    drawn = [tick.get_text() for tick in ax.get_xticklabels()]
    assert (drawn == written) == (written is not None)
    if written:
        extents = sorted((tick.get_window_extent() for tick in ax.get_xticklabels()), key=lambda box: box.x0)
        assert all(one.x1 < other.x0 for one, other in pairwise(extents))
        assert not ax.get_xticks(minor=True).size


# Colours


@pytest.mark.parametrize("name", ["QUERY", "KEY", "VALUE", "YOU", "RUN", "GREY", "ALLOWED"])
def test_lines_are_legible_on_both_pages(name):
    for page in ("#ffffff", "#111111"):
        assert palette.contrast(getattr(palette, name), page) >= 3


@pytest.mark.parametrize("colour", palette.OTHERS)
def test_names_of_lines_are_legible_on_white(colour):
    assert palette.contrast(colour, "#ffffff") >= 3
    assert palette.contrast(palette.dark(colour), "#ffffff") >= 4.5


@pytest.mark.parametrize("limits", [(0.0, 1.0), (-1.0, 1.0)])
def test_numbers_are_legible_on_every_cell(limits):
    for value in np.linspace(*limits, 2001):
        cell = palette.colour(value, limits)
        assert palette.contrast(palette.ink_on(cell), cell) >= 4.5


@pytest.mark.parametrize("limits", [(0.0, 1.0), (-1.0, 1.0)])
def test_more_is_always_darker(limits):
    light = [palette.luminance(palette.colour(v, limits)) for v in np.linspace(0, limits[1], 256)]
    assert np.all(np.diff(light) <= 1e-4) and light[0] / light[-1] > 10


# https://doi.org/10.1109/TVCG.2009.113, severity 1.0: protan, deutan, tritan, on linear light
MACHADO = {
    "protan": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deutan": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "tritan": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}


@pytest.mark.parametrize("vision", MACHADO)
def test_series_that_meet_are_told_apart_by_any_colour_vision(vision):
    def seen(colour):
        parts = np.array(palette.rgb(colour)) / 255
        linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
        linear = np.clip(np.array(MACHADO[vision]) @ linear, 0, 1)
        return 255 * np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)

    for group in (("YOU", "RUN"), ("QUERY", "KEY", "VALUE")):
        for k, one in enumerate(group):
            for other in group[k + 1 :]:
                away = seen(getattr(palette, one)) - seen(getattr(palette, other))
                assert np.linalg.norm(away) > 55, (one, other)


# Forms


PICTURES = {
    "weights": figures.weights(A, np.tril(np.ones((3, 3), bool)), tokens=["the", "<script>", "the"]),
    "large weights": figures.weights(np.full((40, 40), 1 / 40)),
    "scores": figures.scores([[1, -np.inf], [2, 4]]),
    "matrix": figures.matrix(WIDE),
    "pattern": figures.pattern(CAUSAL, np.eye(4, dtype=bool)),
    "bars": figures.bars(["key 0", "key 1"], {"you": [0.7, None], "run": [0.67, 0.33]}),
    "wide bars": figures.bars(["x" * 60] * 20, {"you": [0.05] * 20}),
}


@pytest.mark.parametrize("name", PICTURES)
def test_svg_is_labelled_escaped_and_without_ids(name):
    picture = PICTURES[name]
    assert not re.search(r"\bid=|url\(#|<style|<script", picture.html)
    root = minidom.parseString(picture.svg).getElementsByTagName("svg")[0]
    assert root.getAttribute("role") == "img" and root.getAttribute("aria-label") == picture.text
    minidom.parseString(f"<div>{picture.table}</div>")
    assert "<table" in picture.table and 'scope="row"' in picture.table and 'scope="col"' in picture.table
    assert picture._repr_mimebundle_() == {"text/html": picture.html, "text/plain": picture.text}
    assert picture == picture.__class__(picture.svg, picture.table, picture.text, picture.folded)


def test_table_stands_first_where_it_is_not_a_repetition():
    assert PICTURES["bars"].html.startswith("<table")
    assert "<details" in PICTURES["weights"].html


def test_table_writes_what_it_is_given():
    picture = figures.table(
        [[0.25, None], ["a<b", True]], rows=["you", "run"], columns=["0", "1"], caption="weights"
    )
    assert rows_of(picture.table)[1:] == [["you", "0.250", "—"], ["run", "a&lt;b", "True"]]
    assert "<caption" in picture.table and picture.svg == ""
    with pytest.raises(ValueError, match="must be 1 rows of 2"):
        figures.table([[1]], rows=["a"], columns=["b", "c"])


def test_very_large_table_is_the_largest_of_each_row():
    weights = np.full((100, 100), 0.001)
    weights[:, 7] = 0.901
    rows = rows_of(figures.weights(weights).table)
    assert len(rows) == 101 and rows[1] == ["query 0", "key 7", "0.901", "1"]
    assert len(figures.weights(np.full((600, 601), 0.001)).html) < 300_000
    assert "share a pixel" in figures.weights(np.full((2, 601), 0.001)).svg


# Bundles


def test_bundle_of_a_figure_is_an_image_with_its_text_and_numbers():
    bundle = figures.bundle(figures.plot_weights(A, title='a "b" <c>'))
    assert set(bundle) == {"text/html", "text/plain"}
    assert bundle["text/plain"].startswith('a "b" <c>. 3 queries by 3 keys.')
    assert "background:#fff" in bundle["text/html"] and "max-width:100%" in bundle["text/html"]
    assert 'alt="a &#34;b&#34; &lt;c&gt;. 3 queries' in bundle["text/html"]
    assert rows_of(bundle["text/html"])[2][1:] == ["0.500", "0.500", "0", "1"]
    picture, width = pixels(bundle), int(re.search(r'width="(\d+)"', bundle["text/html"])[1])
    assert picture.shape[1] // 2 == width
    assert np.all(picture[[0, -1]][:, [0, -1]] == 255)
    assert figures.bundle(figures.plot_weights(A), alt="mine")["text/plain"] == "mine"


def test_bundle_is_the_same_every_time():
    one, two = (
        figures.bundle(figures.plot_weights(A, CAUSAL[:3, :3], tokens=["a", "🙂", "a"])) for _ in range(2)
    )
    assert one == two


def test_bundle_of_panels_is_one_image_that_tells_of_all():
    axes = figures.panels(2, title="Two heads")
    figures.plot_weights(A, ax=axes[0], title="head 0")
    figures.plot_scores(WIDE, ax=axes[1], title="head 1")
    bundle = figures.bundle(axes)
    for same in (axes[0].figure, axes[1], np.array(axes)):
        assert figures.bundle(same)["text/plain"] == bundle["text/plain"]
    assert (
        bundle["text/plain"].startswith("Two heads. head 0. 3 queries")
        and "head 1. 2" in bundle["text/plain"]
    )
    assert bundle["text/html"].count("<img") == 1 and bundle["text/html"].count("<details") == 2
    with pytest.raises(ValueError, match="at least one panel"):
        figures.panels(0)


def test_pyplot_figures_are_taken_and_closed():
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots()
    ax.plot([1, 2])
    ax.set(title="Loss", xlabel="step", ylabel="loss")
    assert figures.bundle(figure)["text/plain"] == "Figure: Loss. loss against step."
    assert plt.get_fignums() == []
    assert figures.bundle(plt.subplots()[1])["text/plain"] == "A figure without a title."
    figures.plot_weights(A, ax=plt.subplots()[1])
    assert len(plt.get_fignums()) == 1, "an Axes that was given stays its owner's"
    plt.close("all")


def test_bundle_of_arrays_and_text():
    assert "2 rows by 5 columns" in figures.bundle(WIDE)["text/plain"]
    assert figures.bundle(WIDE[0])["text/plain"].startswith("value: 0 0.100, 1 0.200")
    assert "10 of 16 cells are allowed" in figures.bundle(CAUSAL)["text/plain"]
    assert figures.bundle(np.float64(0.5)) == {"text/html": "<p>0.5</p>", "text/plain": "0.5"}
    assert figures.bundle("a < b")["text/html"] == "<p>a &lt; b</p>"
    assert figures.bundle(PICTURES["bars"])["text/plain"] == PICTURES["bars"].text
    assert figures.bundle([[1], [2, 3]])["text/plain"] == "[[1], [2, 3]]"
    assert "<pre>" in figures.bundle(np.zeros((2, 3, 4)))["text/html"]


# Manners


def test_import_leaves_matplotlib_alone():
    code = (
        "import sys, helpers.figures as f; assert 'matplotlib' not in sys.modules; f.weights([[0.5, 0.5]]);"
        "f.bundle('x'); assert 'matplotlib' not in sys.modules; import matplotlib;"
        "before = list(dict.items(matplotlib.rcParams)); ax = f.plot_weights([[0.5, 0.5]]); f.bundle(ax);"
        "assert list(dict.items(matplotlib.rcParams)) == before;"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_no_figure_stays_open_and_none_is_kept_alive():
    import matplotlib.pyplot as plt

    ax = figures.plot_weights(A)
    figures.bundle(ax)
    assert plt.get_fignums() == []
    gone = weakref.ref(ax)
    del ax
    gc.collect()
    assert gone() is None


def test_inputs_are_left_alone():
    weights, allowed = A.copy(), np.tril(np.ones((3, 3), bool))
    figures.weights(weights, allowed)
    figures.plot_weights(weights, allowed)
    np.testing.assert_array_equal(weights, A)
    assert not np.shares_memory(weights_grid(weights).values, weights)


# Any array


@settings(max_examples=60, deadline=None)
@given(
    arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=20), elements=st.floats(0, 1)),
    st.data(),
)
def test_any_weights_make_a_picture(values, data):
    allowed = data.draw(arrays(bool, values.shape))
    tokens = data.draw(st.lists(st.text(max_size=5), min_size=len(values), max_size=len(values)))
    picture = figures.weights(values, allowed, query_tokens=tokens)
    minidom.parseString(picture.svg.encode("utf-8"))
    assert len(rows_of(picture.table)) == values.shape[0] + 1
    assert picture.table.count(">blocked<") == (~allowed).sum()


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=12)))
@example(np.array([[5e-324, 0]]))
@example(np.array([[-np.finfo(float).max, np.finfo(float).max]]))
def test_any_matrix_makes_a_picture(values):
    minidom.parseString(figures.matrix(values).svg)


@settings(max_examples=10, deadline=None)
@given(arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=6)))
def test_any_scores_are_drawn_on_the_page(values):
    image = drawn(figures.plot_scores(values))
    blocked = np.isneginf(values)
    np.testing.assert_array_equal(np.asarray(image.get_array().data)[~blocked], values[~blocked])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.none() | st.floats(), min_size=1, max_size=20))
@example([-1.7e308, 1.7e308])
@example([5e-324])
def test_any_answers_make_bars(values):
    svg = figures.bars(range(len(values)), {"you": values}).svg
    minidom.parseString(svg)
    assert not re.search(r'(x|width|d)="[^"]*(nan|inf)', svg)


@given(st.floats(-1e300, 1e300), st.integers(0, 6))
def test_numbers_are_short_and_true(value, digits):
    text = number(value, digits)
    assert len(text) <= 9 + digits
    if not text.startswith(("<", ">")):
        assert float(text) == pytest.approx(value, rel=0.06, abs=10.0**-digits)
