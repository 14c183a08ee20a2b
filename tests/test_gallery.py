"""The gallery: each plate is wrong in its one way and repaired; and what notebook 09 says of the tiny model holds."""

from __future__ import annotations

import numpy as np
import pytest

from helpers import figures, gallery, influence, tasks
from helpers.figures import describe
from helpers.figures.canvas import table_of
from helpers.tiny_model import cut_each, forward, load, sequences, telling_edges

EARLIER = np.tri(4, dtype=bool)
N = 200  # as in the notebook


def test_the_edges_that_are_told_are_those_that_the_search_finds():
    found, told = telling_edges(load(), sequences(500, seed=1)[0][:100]), influence.edges()
    assert found.dtype == told.dtype
    for name in found.dtype.names:
        np.testing.assert_allclose(told[name], found[name], rtol=1e-9, atol=1e-12, err_msg=name)


def rows_make_one(weights):
    return np.allclose(weights.sum(axis=-1), 1)


@pytest.mark.parametrize("letter", gallery.PLATES)
def test_a_repaired_plate_is_a_causal_head(letter):
    repaired = gallery.PLATES[letter].repaired
    assert rows_make_one(repaired) and not repaired[~EARLIER].any()


@pytest.mark.parametrize(
    ("letter", "sums_hold", "nothing_ahead"),
    [("A", False, False), ("B", False, True), ("C", True, False), ("D", True, True), ("E", True, True)],
)
def test_each_plate_fails_the_checks_it_should(letter, sums_hold, nothing_ahead):
    shown = gallery.PLATES[letter].array
    assert (rows_make_one(shown), not shown[~EARLIER].any()) == (sums_hold, nothing_ahead)


def test_each_defect_is_the_one_it_is_called():
    plates, (first, second) = gallery.PLATES, gallery.HEADS
    np.testing.assert_array_equal(plates["A"].array.T, first)
    assert (np.tril(gallery.OPEN) == plates["B"].array).all() and rows_make_one(gallery.OPEN)
    np.testing.assert_array_equal(plates["C"].array[:-1], first[1:])
    np.testing.assert_array_equal(plates["D"].array, (first + second) / 2)
    assert not np.allclose(plates["D"].array, first) and not np.allclose(plates["D"].array, second)


def test_pale_cells_are_blocked_or_allowed():
    pale = gallery.pale("E")
    assert (pale & EARLIER).any() and pale[~EARLIER].all()
    drawn = gallery.wall("E")[0].images[0]
    colours = drawn.cmap(drawn.norm(drawn.get_array()))
    assert len(np.unique(colours[pale], axis=0)) == 1, "no eye could tell them apart"


def test_a_wall_shows_the_arrays_on_one_scale_and_does_not_name_a_defect():
    axes = gallery.wall("ABCDE")
    for ax, letter in zip(axes, "ABCDE", strict=True):
        plate = gallery.PLATES[letter]
        np.testing.assert_array_equal(ax.images[0].get_array(), plate.array)
        assert ax.images[0].get_clim() == (0, 1)
        assert len(ax.texts) == (16 if plate.numbers else 0)
        assert plate.defect not in describe(ax) + table_of(ax)
    assert "pale" in table_of(axes[-1]) and "0.70" in table_of(axes[0])


def test_a_repaired_wall_names_the_defects_and_hatches_what_is_blocked():
    axes = gallery.wall("AE", repaired=True)
    assert [ax.get_title("left") for ax in axes] == [
        f"{letter} · {gallery.PLATES[letter].defect}" for letter in "AE"
    ]
    np.testing.assert_array_equal(axes[0].images[0].get_array().mask, ~EARLIER)


def test_a_wall_shows_itself_in_words_and_as_a_picture():
    shown = gallery.wall("AB")._repr_mimebundle_()
    assert shown["text/html"].startswith("<img alt=") and shown["text/plain"].startswith("A. A heatmap")


def test_a_bare_heatmap_stretches_what_it_is_given():
    weights = np.array([[0.26, 0.24], [0.25, 0.25]])
    image = gallery.heat(weights).images[0]
    np.testing.assert_allclose(image.norm(weights), tasks.own_shades(weights[None])[0])


def test_bars_of_one_name_lie_on_each_other():
    tokens, row = ["the", "cat", "the"], [0.5, 0.3, 0.2]
    ax = gallery.bars(tokens, row)
    places = [bar.get_x() for bar in ax.patches]
    assert places[0] == places[2] != places[1]
    assert tasks.heights_seen(tokens, np.array(row)) == pytest.approx(0.8)
    assert "the 0.50, cat 0.30" in describe(ax)


def test_maps_are_the_weights_of_these_heads():
    heads = [(0, 1), (1, 2)]
    tokens, _ = sequences(1, seed=1)
    run = forward(load(), tokens[0])
    for ax, (layer, head) in zip(gallery.maps(heads), heads, strict=True):
        np.testing.assert_array_equal(ax.images[0].get_array().data, run[f"layer{layer}.weights"][head])


# The figure of measures


def test_measures_share_their_rows_and_not_their_scales():
    weight, change = figures.plot_measures(["head 0", "head 1"], {"weight": [0.9, 0.1], "change": [0, 2]})
    assert [bar.get_width() for bar in weight.patches] == [0.9, 0.1]
    assert weight.get_ylim() == change.get_ylim() and weight.get_xlim() != change.get_xlim()
    assert weight.get_xlim()[0] == change.get_xlim()[0] == 0
    assert "head 1" in table_of(weight) and "0.90" in table_of(weight)


@pytest.mark.parametrize(
    ("labels", "measures"),
    [
        ([], {"weight": []}),
        (["a"], {}),
        (["a"], {"weight": [1, 2]}),
        (["a"], {"weight": [-1]}),
        (["a"], {"w": [np.nan]}),
    ],
)
def test_measures_that_cannot_be_drawn_are_refused(labels, measures):
    with pytest.raises(ValueError, match=r"plot_measures needs|must be 1 numbers"):
        figures.plot_measures(labels, measures)


# What the notebook says of the model


def test_ranks_count_from_the_largest():
    assert influence.ranks([0.2, 0.9, 0.5]).tolist() == [3, 1, 2]


def test_one_head_looks_like_another_and_is_worth_a_fraction():
    bright, far_less = influence.columns([(0, 1), (0, 3)], "mean", N)
    assert bright > 10 * far_less
    assert (influence.columns([(0, 1), (0, 3)], "previous", N) > 0.6).all()


def test_the_longest_vectors_are_not_worth_most():
    heads = [(0, 1), (1, 1), (1, 2)]
    assert (
        influence.columns(heads, "written", N).argmin() == influence.columns(heads, "mean", N).argmax() == 0
    )


def test_a_bright_edge_is_worth_nothing_and_a_dim_one_much():
    bright, dim = influence.edges()
    assert bright["weight"] > 0.9 and abs(bright["change"]) < 0.01
    assert dim["weight"] < 0.1 and dim["change"] > 0.5


def test_the_other_heads_read_what_the_bright_edge_reads():
    edge = influence.edges()[0]
    run = forward(load(), sequences(500, seed=1)[0][edge["sequence"]])
    assert (run["layer1.weights"][:, edge["query"], edge["key"]] > 0.7).all()


def test_the_dim_edge_stands_where_the_block_ends():
    edge = influence.edges()[1]
    assert edge["query"] == sequences(500, seed=1)[1][edge["sequence"]] and edge["key"] == 1


def test_the_weight_on_the_opening_falls_on_a_short_value():
    letters = sequences(500, seed=1)[0][:100]
    lengths = np.linalg.norm(forward(load(), letters)["layer1.v"], axis=-1)
    for head in range(4):
        edge = cut_each(load(), letters, 1, head=head, query=9, key=0)
        assert edge["weight"].mean() > 0.99 and abs(edge["change"].mean()) < 0.02
        assert lengths[:, head, 1:].mean() > 7 * lengths[:, head, 0].mean()


def test_another_sequences_message_costs_more_than_none():
    zero, mean, resample = tasks.ways_to_take_out((0, 1), ["zero", "mean", "resample"], N)[0]
    assert resample > 1.5 * max(zero, mean)


def test_distance_and_cost_part():
    main, double = (0, 1), (0, 3)
    assert influence.far(double, "zero", N) > 2 * influence.far(main, "zero", N)
    assert influence.cost((double,), "zero", N) < influence.cost((main,), "zero", N) / 10


def test_a_stand_in_is_worth_more_once_the_other_is_gone():
    alone, without = tasks.cost_after((0, 3), [], N), tasks.cost_after((0, 3), [(0, 1)], N)
    assert without > 5 * alone > 0
