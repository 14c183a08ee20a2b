"""The engine of the live figures, and the figures of masks, temperature and heads."""

from __future__ import annotations

import asyncio
import gc
import math
import re
import sys
import tracemalloc

import ipywidgets as widgets
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import explore, figures, patterns
from helpers.explore import Frame, LiveFigure, cell
from helpers.explore.controls import Cells, Choice, Number, Switch
from helpers.explore.temperature import entropy

SCORES = np.array([[1.0, 0.3, 2.0, 0.1], [0.2, 1.1, 0.4, 1.3], [1.2, 2.1, 1.5, 3.2], [2.2, 0.7, 1.4, 1.6]])
HEADS = np.array(
    [[[9, 0, 0], [9, 1, 0], [9, 0, 2]], [[9, 0, 1], [0, 9, 0], [1, 0, 9]], [[9, 3, 0], [9, 0, 4], [8, 0, 0]]]
)


def counting(**controls) -> tuple[LiveFigure, list[dict]]:
    """A figure that writes down what it drew."""
    drawn: list[dict] = []

    def draw(**values) -> Frame:
        drawn.append(values)
        return Frame({"row": figures.bars(["a"], {"v": [0.5]})}, f"Set to {values}.")

    return LiveFigure("Test", "Move it.", controls, draw), drawn


def shown(figure: LiveFigure) -> widgets.VBox:
    figure.faces()
    return figure.box


def inside(box: widgets.Widget, kind: type) -> list:
    found, left = [], [box]
    while left:
        widget = left.pop(0)
        left += getattr(widget, "children", ())
        found += [widget] * isinstance(widget, kind)
    return found


def cells_of(box: widgets.Widget) -> list:
    """The toggles of a grid of cells, row by row."""
    return [button for button in inside(box, widgets.ToggleButton) if button.tooltip]


def open_widgets() -> int:
    from ipywidgets.widgets.widget import _instances

    return len(_instances)


# The engine


def test_a_slider_its_box_and_the_value_agree_whichever_moves():
    figure, drawn = counting(t=Number("temperature", 1.0, 0.25, 4.0, step=0.5, log=True))
    box = shown(figure)
    (slider,), (typed,) = inside(box, widgets.FloatSlider), inside(box, widgets.BoundedFloatText)
    slider.value = 1.0
    assert (typed.value, figure.values["t"]) == (2.0, 2.0)
    typed.value = 3.1  # between two places of the slider
    assert figure.values["t"] == 3.1 and slider.value == pytest.approx(math.log2(3.1), abs=0.5)
    typed.value = 99
    assert figure.values["t"] == 4.0
    figure.controls["t"].value = 0.25
    assert (slider.value, typed.value) == (-2.0, 0.25)
    assert drawn[-1] == {"t": 0.25}


def test_a_slider_starts_on_one_of_its_own_steps():
    """Else the page moves it to the nearest as soon as it is shown, and the figure with it."""
    number = Number("temperature", 1.0, 0.05, 50.0, step=0.02, log=True)
    (slider,) = inside(number.widget(), widgets.FloatSlider)
    steps = (slider.value - slider.min) / slider.step
    assert steps == pytest.approx(round(steps), abs=1e-9)
    assert slider.min <= math.log2(0.05) and slider.max >= math.log2(50)
    slider.value = slider.min
    assert number.value == 0.05


def test_every_control_has_a_name_that_is_said():
    figure, _ = counting(
        n=Number("length", 3, 1, 9),
        c=Choice("pattern", ["full", "causal"]),
        s=Switch("divide"),
        g=Cells("may read?", np.eye(2, dtype=bool), ["query 0", "query 1"], ["key 0", "key 1"]),
    )
    box = shown(figure)
    names = [
        w.description for w in inside(box, (widgets.BoundedIntText, widgets.RadioButtons, widgets.Checkbox))
    ]
    assert sorted(names) == ["divide", "length", "pattern"]
    toggles = cells_of(box)
    assert [(b.description, b.tooltip) for b in toggles] == [
        ("yes", "query 0, key 0"),
        ("no", "query 0, key 1"),
        ("no", "query 1, key 0"),
        ("yes", "query 1, key 1"),
    ]
    toggles[1].value = True
    assert toggles[1].description == "yes" and figure.values["g"].tolist() == [[True, True], [False, True]]


def test_the_sentence_is_a_widget_of_its_own_that_is_announced():
    figure, _ = counting(s=Switch("on"))
    box = shown(figure)
    figure.controls["s"].value = True
    announced = [w for w in inside(box, widgets.HTML) if 'aria-live="polite"' in w.value]
    assert len(announced) == 1 and "<svg" not in announced[0].value and "True" in announced[0].value
    pictures = [w for w in inside(box, widgets.HTML) if "<svg" in w.value]
    assert len(pictures) == 1 and pictures[0] is not announced[0]


def test_a_failing_draw_is_said_on_the_figure_and_the_next_move_mends_it():
    def draw(n: int) -> Frame:
        if n == 2:
            raise ValueError("no row <b>left</b>")
        return Frame({"row": figures.bars(["a"], {"v": [0.5]})}, f"At {n}.")

    figure = LiveFigure("Test", "Move it.", {"n": Number("n", 1, 1, 3)}, draw)
    box = shown(figure)
    figure.controls["n"].value = 2
    (told,) = [w.value for w in inside(box, widgets.HTML) if "alert" in w.value]
    assert "ValueError: no row &lt;b&gt;left" in told and "<svg" not in told
    assert isinstance(figure.failed, ValueError)
    figure.controls["n"].value = 3
    assert not [w for w in inside(box, widgets.HTML) if "alert" in w.value] and figure.failed is None
    figure.controls["n"].value = 2
    assert "no row" in figure.faces()[0]["text/plain"]


def test_the_goal_says_once_that_it_is_reached_and_stays_so():
    figure = LiveFigure(
        "Test", "Set it to 3.", {"n": Number("n", 1, 1, 5)}, lambda n: Frame({}, f"At {n}.", n == 3)
    )
    box = shown(figure)
    goal = inside(box, widgets.HTML)[1]
    assert "Goal: </strong>Set it to 3." in goal.value
    figure.controls["n"].value = 3
    assert "Goal reached: " in goal.value and any(
        "At 3. Goal reached." in w.value for w in inside(box, widgets.HTML)
    )
    figure.controls["n"].value = 4
    assert "Goal, reached once: " in goal.value and any(
        "At 4.<" in w.value for w in inside(box, widgets.HTML)
    )


def test_numbers_come_as_a_table_when_asked_for():
    figure, _ = counting(s=Switch("on"))
    box = shown(figure)
    (button,) = inside(box, widgets.ToggleButton)
    assert "<table" not in "".join(w.value for w in inside(box, widgets.HTML))
    button.value = True
    assert "<table" in "".join(w.value for w in inside(box, widgets.HTML))


def test_of_a_burst_the_first_and_the_last_are_drawn_and_few_in_between():
    figure, drawn = counting(n=Number("n", 0, 0, 100))

    async def burst(pause: float) -> None:
        shown(figure)
        drawn.clear()
        for value in range(1, 21):
            figure.controls["n"].value = value
            await asyncio.sleep(pause)
        await asyncio.sleep(5 * cell.WAIT)

    asyncio.run(burst(0))
    assert drawn[0] == {"n": 1} and drawn[-1] == {"n": 20} and len(drawn) <= 3
    figure.controls["n"].value = 0
    asyncio.run(burst(3 * cell.WAIT))  # slower than the screen: each is drawn
    assert [values["n"] for values in drawn] == list(range(1, 21))


def test_a_slow_draw_leaves_time_for_messages_and_still_ends_on_the_last_value():
    import time

    drawn = []

    def draw(n: int) -> Frame:
        time.sleep(0.03)
        drawn.append(n)
        return Frame({}, f"At {n}.")

    figure = LiveFigure("Test", "Move it.", {"n": Number("n", 0, 0, 100)}, draw)

    async def burst() -> None:
        shown(figure)
        drawn.clear()
        for value in range(1, 21):
            figure.controls["n"].value = value
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.2)

    asyncio.run(burst())
    assert drawn[-1] == 20 and len(drawn) < 15


def test_without_an_event_loop_every_change_is_drawn():
    figure, drawn = counting(n=Number("n", 0, 0, 100))
    shown(figure)
    for value in range(1, 6):
        figure.controls["n"].value = value
    assert [values["n"] for values in drawn[-5:]] == [1, 2, 3, 4, 5]


def test_a_thousand_moves_leave_nothing_behind():
    figure = explore.temperature(SCORES)
    shown(figure)
    slider = figure.controls["t"]

    def moves(count: int) -> None:
        for k in range(count):
            slider.value = 0.1 + 0.01 * (k % 300)

    moves(300)  # fills the caches of labels and hatchings
    gc.collect()
    tracemalloc.start()
    before, objects = open_widgets(), tracemalloc.get_traced_memory()[0]
    moves(1000)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - objects
    tracemalloc.stop()
    assert open_widgets() == before
    assert grown < 500_000
    pyplot = sys.modules.get("matplotlib.pyplot")
    assert pyplot is None or not pyplot.get_fignums()


def test_a_figure_that_is_closed_or_shown_again_leaves_no_widget():
    before = open_widgets()
    figure = explore.masks()
    shown(figure)
    once = open_widgets()
    shown(figure)
    assert open_widgets() == once > before
    figure.close()
    assert open_widgets() == before
    figure.controls["pattern"].value = "causal"  # moves nothing any more, and does not fail
    assert figure.frame().says.startswith("21 of 36")


@pytest.mark.parametrize(
    "figure",
    [explore.masks(), explore.temperature(SCORES), explore.heads(HEADS), explore.tiles()],
    ids=lambda f: f.name,
)
def test_the_still_face_is_a_picture_a_table_a_goal_and_a_sentence(figure):
    still, live = figure.faces()
    assert "<svg" in still["text/html"] and "<table" in still["text/html"]
    assert figure.goal in still["text/html"] and figure.frame().says in still["text/plain"]
    assert figure.name in still["text/plain"]
    assert "application/vnd.jupyter.widget-view+json" in live and live["text/plain"] == ""
    assert " id=" not in still["text/html"] and "http" not in still["text/html"].replace(
        "http://www.w3.org", ""
    )
    assert not figure.reached and not figure.frame().reached


def test_without_ipywidgets_the_still_face_is_the_figure(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    still, live = explore.temperature(SCORES).faces()
    assert "<svg" in still["text/html"] and live == {"text/html": "", "text/plain": ""}


# Masks


def test_masks_offers_each_pattern_and_follows_clicks():
    figure = explore.masks()
    choice, cells = figure.controls["pattern"], figure.controls["allowed"]
    assert list(choice.options)[:2] == ["full", "causal"]
    for name, expected in {
        "causal": patterns.causal(6),
        "window": patterns.window(6, 2),
        "prefix": patterns.prefix(6, 2),
        "padding": patterns.full(6) & patterns.keys([1, 1, 1, 1, 0, 0]),
        "documents": patterns.documents([0, 0, 0, 1, 1, 1]),
        "full": patterns.full(6),
    }.items():
        choice.value = name
        assert np.array_equal(cells.value, expected), name
    box = shown(figure)
    choice.value = "causal"
    toggles = cells_of(box)
    assert [t.value for t in toggles] == patterns.causal(6).ravel().tolist()
    toggles[5].value = True
    assert choice.value == "by hand" and bool(cells.value[0, 5])
    assert "A later key is read by query 0." in figure.frame().says


def test_the_goal_of_masks_is_reached_by_clicking_four_cells_of_the_window():
    figure = explore.masks()
    box = shown(figure)
    figure.controls["pattern"].value = "window"
    toggles = np.array(cells_of(box), dtype=object).reshape(6, 6)
    for row in (2, 3, 4):
        toggles[row, 0].value = True
        assert not figure.reached
    toggles[5, 0].value = True
    assert figure.reached


@settings(max_examples=25, deadline=None)
@given(st.lists(st.booleans(), min_size=16, max_size=16))
def test_masks_draws_any_pattern_and_names_empty_rows(cells):
    allowed = np.array(cells).reshape(4, 4)
    figure = explore.masks(SCORES)
    figure.controls["allowed"].value = allowed
    frame = figure.frame()
    empty = np.flatnonzero(~allowed.any(axis=1))
    assert ("Nothing is left to read" in frame.says) == bool(empty.size)
    assert all(str(i) in frame.says.partition("Nothing")[2] for i in empty)
    assert frame.says.startswith(f"{allowed.sum()} of 16 cells")


def test_masks_refuses_what_cannot_be_clicked():
    with pytest.raises(ValueError, match="3 to 6 tokens"):
        explore.masks(np.zeros((7, 7)))
    with pytest.raises(ValueError, match=r"square matrix.*shape"):
        explore.masks(np.zeros((3, 4)))


# Temperature


def test_temperature_weights_and_entropy_are_those_of_a_loop():
    figure = explore.temperature(SCORES, query=2)
    figure.controls["t"].value = 2.5
    for name, legal in (("causal", 3), ("full", 4)):
        figure.controls["pattern"].value = name
        exps = [math.exp(s / 2.5) for s in SCORES[2, :legal]]
        p = [e / math.fsum(exps) for e in exps]
        bits = -math.fsum(x * math.log2(x) for x in p)
        says = figure.frame().says
        assert f"under the {name} pattern, query 2 gives {max(p):.2f} to key {p.index(max(p))};" in says
        assert f"its entropy is {bits:.2f} of {math.log2(legal):.2f} bits" in says
    assert entropy(np.array([[1, 0, 0], [1 / 3] * 3])) == pytest.approx([0, math.log2(3)])


def test_the_goal_of_temperature_can_be_reached_by_slider_and_only_under_the_mask():
    figure = explore.temperature(SCORES, query=2, share=0.4)
    control = figure.controls["t"]
    shown(figure)
    places = 2.0 ** np.arange(-4, 5.6, control.step)
    for place in places:
        control.value = float(f"{place:.4g}")
    assert figure.reached
    full = explore.temperature(SCORES, query=2, share=0.4)
    full.controls["pattern"].value = "full"
    shown(full)
    for place in places:
        full.controls["t"].value = float(f"{place:.4g}")
    assert not full.reached


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"share": 0.2}, "between 0.333, which an even spread gives, and 1"),
        ({"query": 4}, "a position from 0 to 3, got 4|a position from 0 to 3.*4"),
        ({"scores": np.full((4, 4), -np.inf)}, "scores"),
        ({"scores": SCORES[:3]}, "square"),
    ],
)
def test_temperature_says_what_it_cannot_take(change, message):
    with pytest.raises(ValueError, match=message):
        explore.temperature(**{"scores": SCORES, "query": 2, "share": 0.4, **change})


# Heads


def test_heads_average_only_those_that_are_chosen():
    figure = explore.heads(HEADS)
    figure.controls["head_1"].value = False
    figure.controls["sharper"].value = 0.5
    exps = np.exp(HEADS[[0, 2]] * 0.5)
    weights = exps / exps.sum(-1, keepdims=True)
    drawn = figure.frame().pictures
    assert list(drawn) == ["head 0", "head 2", "average"]
    assert drawn["average"].svg == figures.weights(weights.mean(0), np.ones((3, 3), bool)).svg
    for name in ("head_0", "head_2"):
        figure.controls[name].value = False
    assert figure.frame().says == "No head is chosen, so there is nothing to average."


def test_heads_keeps_blocked_cells_blocked_and_refuses_rows_with_none():
    scores = np.where(patterns.causal(3), HEADS, -np.inf)
    drawn = explore.heads(scores).frame().pictures
    assert all("3 of 9 cells are blocked" in picture.text for picture in drawn.values())
    scores[1, 0] = -np.inf
    with pytest.raises(ValueError):
        explore.heads(scores)
    with pytest.raises(ValueError, match=r"\(n_heads, n, n\).*shape \(3, 3\)"):
        explore.heads(HEADS[0])


# Tiles


def run_through(figure: LiveFigure, **settings_) -> list[Frame]:
    for name, value in settings_.items():
        figure.controls[name].value = value
    frames = []
    for at in range(1, figure.controls["at"].high + 1):
        figure.controls["at"].value = at
        frames.append(figure.frame())
    return frames


@pytest.mark.parametrize(
    ("rows", "keys", "causal"), [(2, 4, True), (3, 5, True), (8, 8, False), (1, 1, True)]
)
def test_tiles_ends_at_attention_and_holds_one_tile(rows, keys, causal):
    Q, K, V = (np.random.default_rng(n).normal(size=(8, n)) for n in (4, 4, 3))
    K = np.roll(K, 1, axis=0)
    figure = explore.tiles(Q, K, V)
    frames = run_through(figure, rows=rows, keys=keys, causal=causal)
    assert len(frames) == math.ceil(8 / rows) * math.ceil(8 / keys)
    off = re.search(r"by at most (\S+), which is rounding\.$", frames[-1].says)[1]
    assert float(off) < 1e-14
    held = [re.search(r"(\d+) cells? (?:is|are) held", next(iter(f.pictures.values())).text) for f in frames]
    assert max(int(found[1]) for found in held) <= rows * keys
    skipped = sum("so it is skipped" in frame.says for frame in frames)
    tiles = [(i, j) for i in range(0, 8, rows) for j in range(0, 8, keys)]
    assert skipped == sum(causal and j > min(i + rows, 8) - 1 for i, j in tiles)
    assert f"{len(tiles) - skipped} tile" in frames[-1].says


def test_tiles_goal_is_reached_at_the_last_tile_of_the_best_cut_only():
    best = []
    for rows in range(1, 9):
        for keys in range(1, 9):
            figure = explore.tiles()
            reached = [frame.reached for frame in run_through(figure, rows=rows, keys=keys, causal=True)]
            assert not any(reached[:-1])
            best += [(rows, keys)] * reached[-1]
    assert best == [(2, 4), (4, 2)]
    assert not any(frame.reached for frame in run_through(explore.tiles(), rows=2, keys=4, causal=False))


def test_fewer_tiles_leave_the_number_within_reach_and_the_widgets_agree():
    figure = explore.tiles()
    box = shown(figure)
    figure.controls["rows"].value = figure.controls["keys"].value = 1
    figure.controls["at"].value = 64
    figure.controls["rows"].value = 8
    assert figure.controls["at"].value == 8 and figure.failed is None
    highest = [widget.max for widget in inside(box, (widgets.IntSlider, widgets.BoundedIntText))]
    assert highest.count(8) == 6  # tile number, as well as queries and keys a tile
    figure.controls["rows"].value = 4
    assert figure.controls["at"].value == 8 and "Tile 8 of 16" in figure.frame().says


def test_play_goes_through_all_tiles_and_stops(monkeypatch):
    monkeypatch.setattr(sys.modules["helpers.explore.tiles"], "SECONDS", 0.001)
    figure = explore.tiles()
    (button,) = [b for b in inside(shown(figure), widgets.ToggleButton) if b.description == "play"]

    async def play() -> list[int]:
        seen: list[int] = []
        figure.controls["at"].observe(lambda: seen.append(figure.controls["at"].value))
        button.value = True
        await asyncio.sleep(0.1)
        return seen

    assert asyncio.run(play()) == [2, 3, 4]
    assert not button.value
    assert asyncio.run(play()) == [1, 2, 3, 4]  # from the start again
    button.value = True  # nobody to watch, without an event loop
    assert not button.value


def test_tiles_refuses_what_cannot_be_read():
    with pytest.raises(ValueError, match="2 to 10 positions"):
        explore.tiles(np.zeros((11, 2)), np.zeros((11, 2)), np.zeros((11, 2)))


def test_svg_of_frames_is_well_formed_and_has_no_ids():
    for figure in (explore.masks(), explore.temperature(SCORES), explore.heads(HEADS), explore.tiles()):
        for picture in figure.frame().pictures.values():
            assert not re.search(r"\sid=", picture.svg) and 'role="img"' in picture.svg
