"""The live figures of a row by hand, of the length of keys and of the bytes of scores."""

from __future__ import annotations

import math
import re
from xml.dom import minidom

import numpy as np
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import explore, figures
from helpers.explore.controls import Choice, Number
from helpers.figures import palette

NOTEBOOK = ([1, 0], [[1, 0], [0, 1]], [[100, 0], [0, 20]])
THREE = ([0.5, -2], [[1, 0.3], [-0.7, 2], [2, 1.5]], [[7, -3], [-12, 1], [4, 18]])
SIZES = [2**k for k in range(11)]

FIGURES = {
    "row of two": lambda: explore.row(*NOTEBOOK),
    "row of three": lambda: explore.row(*THREE, goal="query", key=2, share=0.8),
    "scale": explore.scale,
    "growth": lambda: explore.growth(memory=3e9),
}


def settings_of(control):
    """Every kind of value that a control takes, its ends among them."""
    if isinstance(control, Choice):
        return st.sampled_from(list(control.options.values()))
    if isinstance(control.value, int):
        return st.sampled_from([control.low, control.high]) | st.integers(control.low, control.high)
    return st.sampled_from([control.low, 0.0, control.high]) | st.floats(control.low, control.high)


@pytest.mark.parametrize("name", FIGURES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_every_setting_is_drawn_and_says_what_it_shows(name, data):
    figure = FIGURES[name]()
    for control in figure.controls.values():
        control.value = data.draw(settings_of(control))
    frame = figure.frame()
    assert frame.says.endswith(".") and "nan" not in frame.says
    for picture in frame.pictures.values():
        svg = minidom.parseString(picture.svg).getElementsByTagName("svg")[0]
        assert svg.getAttribute("role") == "img"
        assert svg.getAttribute("aria-label") == picture.text
        assert " id=" not in picture.svg and "nan" not in picture.svg
        assert "<th" in picture.table


@pytest.mark.parametrize("name", FIGURES)
def test_the_start_has_a_goal_that_is_not_reached(name):
    figure = FIGURES[name]()
    assert figure.goal and not figure.frame().reached


@pytest.mark.parametrize("name", FIGURES)
def test_what_is_drawn_stands_out_in_both_themes(name):
    for picture in FIGURES[name]().frame().pictures.values():
        for element in re.findall(r"<(?:path|circle|rect)[^>]*>", picture.svg):
            for kind, colour in re.findall(r'(fill|stroke)="(#[0-9a-f]{6})"', element):
                if kind == "stroke" or "fill-opacity" not in element:
                    assert min(palette.contrast(colour, page) for page in ("#ffffff", "#111111")) >= 3


# row


def by_hand(q, K, V) -> tuple[list[float], list[float]]:
    """Weights and output in plain Python, from the definition."""
    exps = [math.exp((q[0] * k[0] + q[1] * k[1]) / math.sqrt(2)) for k in K]
    weights = [e / sum(exps) for e in exps]
    return weights, [sum(w * v[d] for w, v in zip(weights, V, strict=True)) for d in (0, 1)]


def vectors_of(figure):
    numbers = [control.value for control in figure.controls.values() if isinstance(control, Number)]
    pairs = list(zip(numbers[::2], numbers[1::2], strict=True))
    n = len(pairs) // 2
    return pairs[0], pairs[1 : n + 1], pairs[n + 1 :]


def circles(picture, ring: bool):
    """Centres of the rings or of the discs, in px."""
    kind = "none" if ring else "#[0-9a-f]{6}"
    return np.array(re.findall(rf'<circle cx="(\S+)" cy="(\S+)" r="\S+" fill="{kind}"', picture.svg), float)


entries = st.lists(st.floats(-5, 5), min_size=14, max_size=14)


@settings(max_examples=60, deadline=None)
@given(entries)
def test_row_draws_the_weights_and_puts_the_output_where_they_say(numbers):
    figure = explore.row(*THREE)
    boxes = [control for control in figure.controls.values() if isinstance(control, Number)]
    for control, number in zip(boxes, numbers, strict=True):
        control.value = number
    weights, output = by_hand(*vectors_of(figure))
    frame = figure.frame()

    drawn = re.findall(r"weight (\S+)\.(?: |$)", frame.pictures["weights"].text)
    assert drawn == [figures.svg.number(weight) for weight in weights]
    # The picture maps the plane evenly, so the output is the same mixture in px.
    plane = frame.pictures["values and output"]
    np.testing.assert_allclose(circles(plane, ring=True)[0], weights @ circles(plane, ring=False), atol=0.2)
    # Which numbers it has is settled by where [0, 0] and [20, 20] lie: the ticks say so.
    x, y = circles(plane, ring=True)[0]
    assert [x, y] == pytest.approx([tick(plane, value, d) for d, value in enumerate(output)], abs=0.2)


def tick(picture, value: float, axis: int) -> float:
    """Place of a number on an axis, in px, read off the ticks written at -20 and 20."""
    place = (r'x="(\S+)" y="\S+" text-anchor="middle"', r'y="(\S+)" text-anchor="end"')[axis]
    low, high = (float(re.search(rf"{place}[^>]*>{end}<", picture.svg)[1]) for end in (-20, 20))
    return low + (value + 20) / 40 * (high - low) - 4 * axis  # a text's baseline lies below its middle


def test_row_says_the_sum_that_the_output_is():
    weights, output = by_hand(*THREE)
    assert np.round([*weights, *output], 2).tolist() == [0.76, 0.04, 0.20, 5.68, 1.33]
    assert explore.row(*THREE).frame().says == (
        "The output [5.68, 1.33] is 0.76 of value 0 [7, -3], 0.04 of value 1 [-12, 1] and 0.20 of value 2 [4, 18]."
    )


def moved(figure, **numbers: float):
    for name, number in numbers.items():
        vector, k, which = re.fullmatch(r"(query|key|value)_?(\d?)_(first|second)", name).groups()
        figure.controls[f"{vector} {k}".strip() + f", {which}"].value = number
    return figure.frame().reached


def test_goal_of_equal_numbers_is_reached_by_value_0_alone():
    # 0.66976 x = 0.33024 * 20 where x = 9.862
    assert moved(explore.row(*NOTEBOOK), value_0_first=9.862)
    assert moved(explore.row(*NOTEBOOK), value_0_first=29.862, value_0_second=20)
    assert not moved(explore.row(*NOTEBOOK), value_0_first=9.6)
    assert not moved(explore.row(*NOTEBOOK), value_0_first=9.862, value_1_first=0.001)
    assert not moved(explore.row(*NOTEBOOK), value_1_first=0, value_0_first=0, value_1_second=0)


def test_goal_of_the_query_is_reached_by_the_query_alone():
    def figure():
        return explore.row(*NOTEBOOK, goal="query")

    needed = math.log(9) * math.sqrt(2)  # key 1 ahead by ln 9 after the division by the root of 2
    assert moved(figure(), query_first=0, query_second=needed + 0.01)
    assert not moved(figure(), query_first=0, query_second=needed - 0.01)
    assert not moved(figure(), query_first=0, query_second=needed + 0.01, key_0_first=0.9)
    assert not moved(figure(), key_1_first=5)


def test_the_numbers_shown_are_those_of_the_vector_to_move():
    figure = explore.row(*THREE)
    figure.faces()

    def shown():
        boxes = []

        def walk(widget):
            if widget.layout.display == "none":
                return
            if type(widget).__name__ == "BoundedFloatText":
                boxes.append((widget.description, widget.value))
            for child in getattr(widget, "children", ()):
                walk(child)

        walk(figure.box)
        return boxes

    assert shown() == [("value 0, first", 7), ("value 0, second", -3)]
    before = figure.frame()
    figure.controls["move"].value = "key 1"
    assert shown() == [("key 1, first", -0.7), ("key 1, second", 2)]
    assert figure.frame().says == before.says
    figure.controls["key 1, first"].value = 1.25
    figure.controls["move"].value = "query"
    figure.controls["move"].value = "key 1"
    assert shown() == [("key 1, first", 1.25), ("key 1, second", 2)]
    assert figure.failed is None
    figure.close()


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"goal": "equel"}, "'equal', 'query'"),
        ({"goal": "query", "key": 3}, "position from 0 to 2"),
        ({"goal": "query", "key": 0, "share": 0.5}, "met at the start"),
        ({"goal": "query", "key": 0, "share": 1.0}, "no query within reach"),
        ({"K": [[0, 0], [1, 1], [2, 2]], "goal": "query", "key": 1}, "no query within reach"),
        ({"V": [[3, 3], [3, 3], [3, 3]]}, "met at the start"),
        ({"V": [[0, 0], [0, 0], [5, -5]], "q": [-4, -4], "K": [[4, 4], [4, 4], [0, 0]]}, "no value 0 within"),
        ({"q": [1, 2, 3]}, "q must be (2,)"),
        ({"K": [[1, 0]], "V": [[1, 0]]}, "2 to 4 keys"),
        ({"V": [[1, 0], [0, 1]]}, "2 to 4 keys"),
        ({"K": [[1, np.nan], [0, 1], [1, 1]]}, "K must be finite"),
    ],
)
def test_row_refuses_what_it_cannot_show_or_what_cannot_be_reached(given, says):
    q, K, V = THREE
    with pytest.raises(ValueError, match=re.escape(says)):
        explore.row(**{"q": q, "K": K, "V": V, **given})


# scale


def drawn_again(d_k: int, divisor: float) -> np.ndarray:
    """Scores of 400 queries with 8 keys each, as notebook 03 draws them."""
    rng = np.random.default_rng(0)
    q, K = rng.normal(size=(400, 1, d_k)), rng.normal(size=(400, 8, d_k))
    return np.einsum("nid,njd->nj", q, K) / divisor


def softmax_of(scores: np.ndarray) -> np.ndarray:
    exps = np.exp(scores - scores.max(axis=1, keepdims=True))
    return exps / exps.sum(axis=1, keepdims=True)


def measured(scores: np.ndarray, step: float = 1e-6) -> tuple[float, float]:
    """The largest weight on average, and the growth of that weight when its score is nudged."""
    best = np.eye(8)[scores.argmax(axis=1)]
    weights = softmax_of(scores)
    growth = softmax_of(scores + step * best) - weights
    return float((weights * best).sum(axis=1).mean()), float((growth * best).sum(axis=1).mean() / step)


@pytest.mark.parametrize("d_k", [1, 8, 64, 1024])
@pytest.mark.parametrize("divisor", ["nothing", "√d_k", "d_k"])
def test_scale_measures_what_the_notebook_measures(d_k, divisor):
    figure = explore.scale()
    figure.controls["d_k"].value, figure.controls["divisor"].value = d_k, divisor
    scores = drawn_again(d_k, {"nothing": 1, "√d_k": d_k**0.5, "d_k": d_k}[divisor])
    mean, slope = measured(scores)
    histogram, *bars = figure.frame().pictures.values()
    assert [bar.text for bar in bars] == [f"mean: weight {mean:.2f}.", f"mean: slope {slope:.3f}."]
    assert float(re.search(r"variance (\S+)\.", figure.frame().says)[1]) == pytest.approx(
        scores.var(), rel=0.005
    )

    counts, edges = np.histogram(scores.clip(-100, 99.9), bins=200, range=(-100, 100))
    rows = re.findall(r"<th[^>]*>(\S+) to \S+</th><td>(\d+)</td>", histogram.table)
    assert {float(low): int(n) for low, n in rows} == {
        float(low): n for low, n in zip(edges[:-1].tolist(), counts.tolist(), strict=True) if n
    }


def test_scale_reaches_its_goal_in_one_setting():
    figure = explore.scale()
    reached = []
    for figure.controls["d_k"].value in SIZES:
        for figure.controls["divisor"].value in ("nothing", "√d_k", "d_k"):
            if figure.frame().reached:
                reached.append(tuple(figure.values.values()))
    enough = min(d_k for d_k in SIZES if measured(drawn_again(d_k, 1))[0] > 0.9)
    assert reached == [(enough, "nothing")]


@pytest.mark.parametrize("above", [0.1, 0.99, -1, "0.9"])
def test_scale_refuses_a_goal_out_of_reach(above):
    with pytest.raises(ValueError, match="above must"):
        explore.scale(above=above)


@pytest.mark.parametrize(("typed", "kept"), [(0, 1), (3, 4), (90, 64), (91, 128), (5000, 1024)])
def test_a_typed_size_goes_to_the_nearest_power_of_two_in_box_and_slider(typed, kept):
    figure = explore.scale()
    box, slider = figure.controls["d_k"].widget().children
    figure.controls["d_k"].value = 64
    box.value = typed
    assert (figure.controls["d_k"].value, box.value, slider.value) == (kept, kept, math.log2(kept))


# growth


@pytest.mark.parametrize(
    ("T", "heads", "layers", "dtype"),
    [(512, 3, 2, "float16"), (256, 8, 1, "float32"), (1024, 1, 5, "float64")],
)
def test_growth_counts_the_bytes_that_arrays_take(T, heads, layers, dtype):
    figure = explore.growth(memory=3e9)
    for name, value in {"T": T, "heads": heads, "layers": layers, "dtype": dtype}.items():
        figure.controls[name].value = value
    dense = np.empty((layers, heads, T, T), dtype).nbytes
    tiled = np.empty((128, 128), dtype).nbytes + 2 * np.empty((layers, heads, T), dtype).nbytes
    frame = figure.frame()
    (picture,) = frame.pictures.values()
    binary = [
        f"{size / 2**20:.4g} MiB" if size >= 2**20 else f"{size / 2**10:.4g} KiB" for size in (dense, tiled)
    ]
    assert f"take {binary[0]} ({dense / 1e6:.4g} MB);" in frame.says
    assert f"all scores {binary[0]} (" in picture.text and f"in tiles {binary[1]} (" in picture.text
    rows = dict(re.findall(r"<th[^>]*>T = (\S+)</th><td>(\S+ \S+) \(", picture.table))
    assert rows[f"{T:,}"] == binary[0] and len(rows) == 13


@pytest.mark.parametrize(
    ("memory", "heads", "dtype"), [(3e9, 8, "float32"), (2**34, 5, "float16"), (1e16, 1, "float64")]
)
def test_growth_is_reached_where_the_scores_no_longer_fit(memory, heads, dtype):
    figure = explore.growth(memory=memory, heads=heads, dtype=dtype)
    itemsize = {"float16": 2, "float32": 4, "float64": 8}[dtype]
    reached = []
    for T in (2**k for k in range(8, 30)):
        figure.controls["T"].value = T
        if figure.frame().reached:
            reached.append(figure.controls["T"].value)
    (first,) = set(reached)
    assert heads * first**2 * itemsize > memory >= heads * (first // 2) ** 2 * itemsize

    figure.controls["T"].value = first
    for name, value in {"layers": 2, "heads": heads + 1}.items():
        before, figure.controls[name].value = figure.controls[name].value, value
        assert not figure.frame().reached
        figure.controls[name].value = before
    assert figure.frame().reached


def test_memory_that_fits_exactly_fits():
    exactly = 8 * 1024**2 * 4
    assert "one layer with 8 heads" in explore.growth(memory=exactly).goal
    for memory, first in ((exactly, 2048), (exactly - 1, 1024)):
        figure = explore.growth(memory=memory)
        figure.controls["T"].value = first
        assert figure.frame().reached


def test_growth_measures_this_machine_unless_told_otherwise():
    assert figures.in_bytes(psutil.virtual_memory().total) in explore.growth().goal
    assert "this machine" in explore.growth().goal and "this machine" not in explore.growth(memory=3e9).goal


@pytest.mark.parametrize(
    "given",
    [{"heads": 0}, {"heads": 129}, {"heads": 2.5}, {"dtype": "bfloat16"}, {"memory": 1e6}, {"memory": -1}],
)
def test_growth_refuses_what_has_no_answer(given):
    with pytest.raises(ValueError, match=next(iter(given))):
        explore.growth(**{"memory": 3e9, **given})


# the pictures


def test_lines_of_sizes_rise_by_one_and_by_two_octaves():
    lengths = [2**k for k in range(8, 13)]
    series = {"square": [t**2 for t in lengths], "line": [t * 100 for t in lengths]}
    paths = re.findall(r'd="M([\d. L]+)" fill="none" stroke="#', figures.sizes(lengths, series, at=512).svg)
    square, line = (np.array([point.split() for point in path.split("L")], float) for path in paths)
    assert np.diff(square[:, 1]) == pytest.approx(2 * np.diff(line[:, 1]), abs=0.2)
    assert (np.diff(line[:, 1]) < -1).all() and np.diff(line[:, 0]) == pytest.approx(np.diff(square[:, 0]))


def test_the_shade_between_values_leaves_out_none_and_has_no_dent():
    picture = figures.plane({"value": [[0, 0], [4, 0], [0, 4], [1, 1]], "output": [[1.2, 1]]}, hull="value")
    corners = re.search(r'd="M([^"Z]+)Z"', picture.svg)[1].split("L")
    assert len(corners) == 3
    drawn = {f"{x:.1f} {y:.1f}" for x, y in circles(picture, ring=False)}
    assert set(corners) < drawn
    assert (
        picture.text
        == "In the plane: value 0 [0, 0], value 1 [4, 0], value 2 [0, 4], value 3 [1, 1], output [1.20, 1]."
    )


@pytest.mark.parametrize("points", [[[1, 1]] * 3, [[0, 0], [1, 1], [2, 2]]])
def test_values_in_one_place_or_on_a_line_are_drawn(points):
    minidom.parseString(figures.plane({"value": points, "output": [points[0]]}, hull="value").svg)


@pytest.mark.parametrize(
    "draw",
    [
        lambda: figures.plane({}),
        lambda: figures.plane({"value": [[1, 2, 3]]}),
        lambda: figures.plane({"value": [[1, np.inf]]}),
        lambda: figures.histogram([], name="score", limits=(0, 1)),
        lambda: figures.histogram([np.nan], name="score", limits=(0, 1)),
        lambda: figures.histogram([1], name="score", limits=(1, 1)),
        lambda: figures.sizes([256, 512], {"all": [1, 2]}, at=300),
        lambda: figures.sizes([256, 512], {"all": [1]}, at=256),
    ],
)
def test_pictures_refuse_what_cannot_be_drawn(draw):
    with pytest.raises(ValueError, match=r"must|got"):
        draw()


@pytest.mark.parametrize(
    ("size", "said"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 KiB (1.024 kB)"),
        (10**6, "976.6 KiB (1 MB)"),
        (2**60 * 5, "5 EiB (5.765 EB)"),
        (2**70, "1024 EiB (1181 EB)"),
    ],
)
def test_sizes_are_said_in_both_units(size, said):
    assert figures.in_bytes(size) == said
