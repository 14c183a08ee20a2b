"""Wrong beliefs about pictures of weights, and about what taking a part of a model out shows."""

from __future__ import annotations

import numpy as np

from . import heads as _heads  # noqa: F401
from . import masking, reading  # noqa: F401, their entries get more programs here
from .catalogue import also, belief, wrong
from .plain import columns, pale, pictures, ranks


@wrong(
    "columns-summed",
    "alarms",
    "Each column of a heatmap sums to 1.",
    verdict="the columns are added up instead of the rows",
    why="A query shares out 1 among the keys, and its weights stand in a row. What a key gets in all may be anything.",
)
def columns_summed(plates):
    shown = pictures(plates)
    off = ~np.isclose(shown.sum(axis=-2), 1).all(axis=-1)
    return np.stack([off, np.triu(shown, k=1).any(axis=(-2, -1))], axis=-1)[None].astype(int)


@also("heat-swap", "alarms")
def read_by_columns(plates):
    turned = pictures(plates).swapaxes(-2, -1)  # queries looked for in the columns
    off = ~np.isclose(turned.sum(axis=-1), 1).all(axis=-1)
    return np.stack([off, np.triu(turned, k=1).any(axis=(-2, -1))], axis=-1)[None].astype(int)


@wrong(
    "sums-see-all",
    "alarms",
    "Whatever is wrong with a heatmap shows in its row sums.",
    verdict="every picture is taken to have wrong row sums",
    why="Rows that make 1 can stand in the wrong place, or belong to no head at all. Add up one row and see.",
)
def sums_see_all(plates):
    ahead = np.triu(pictures(plates), k=1).any(axis=(-2, -1))
    return np.stack([np.ones(len(plates)), ahead], axis=-1)[None].astype(int)


@wrong(
    "transposed-sums",
    "alarms",
    "Rows still sum to 1 when a heatmap is turned over.",
    verdict="a picture turned over is taken to keep its row sums",
    why="Turned over, the rows are what the columns were, and only the old rows made 1.",
)
def transposed_sums(plates):
    shown = pictures(plates)
    off = [~np.isclose(shown.sum(axis=axis), 1).all(axis=-1) for axis in (-1, -2)]
    return np.stack([off[0] & off[1], np.triu(shown, k=1).any(axis=(-2, -1))], axis=-1)[None].astype(int)


@wrong(
    "shade-is-weight",
    "own_shades",
    "How dark a cell is says how large its weight is.",
    verdict="the shade is taken for the weight",
    why="Without limits the smallest number gets the palest colour and the largest the darkest, whatever they are.",
    source="matplotlib/matplotlib #20556, #25468",
)
def shade_is_weight(panels):
    return panels


@wrong(
    "shade-from-zero",
    "own_shades",
    "The palest colour always stands for 0.",
    verdict="the scale is taken to begin at 0",
    why="Without limits the palest colour goes to the smallest number that is there.",
)
def shade_from_zero(panels):
    return panels / panels.max(axis=(-2, -1), keepdims=True)


@wrong(
    "shade-shared",
    "own_shades",
    "Panels that stand side by side share their colours.",
    verdict="both panels are put on one scale",
    why="Each call chooses its own limits; a common scale has to be asked for.",
)
def shade_shared(panels):
    return (panels - panels.min()) / (panels.max() - panels.min())


@wrong(
    "pale-is-blocked",
    "pale_and_allowed",
    "A pale cell is a blocked one.",
    verdict="every pale cell is taken to be blocked",
    why="A weight of a billionth may be read, and looks like 0: count the cells that may be read.",
    source="mwaskom/seaborn #375",
)
def pale_is_blocked(plate):
    return 0 * pale(plate).sum()  # none of them may be read


@wrong(
    "pale-is-allowed",
    "pale_and_allowed",
    "All pale cells are small weights.",
    verdict="every pale cell is taken for a small weight",
    why="Above the diagonal nothing may be read: those cells hold no weight at all.",
)
def pale_is_allowed(plate):
    return pale(plate).sum()


@wrong(
    "blocked-counted",
    "pale_and_allowed",
    "The pale cells that count are those above the diagonal.",
    verdict="the blocked cells are counted",
    why="Those above the diagonal may not be read. Asked for are the others that look like them.",
)
def blocked_counted(plate):
    n = len(pale(plate))
    return n * (n - 1) // 2


@wrong(
    "bars-apart",
    "heights_seen",
    "Every entry of a list of names gets a bar of its own.",
    verdict="equal names are taken to stand apart",
    why="A name is a place on the axis, and two equal names are one place. Draw by position, and label afterwards.",
    source="fossasia/visdom #21, #680",
)
def bars_apart(row):
    return row.sum()


@wrong(
    "last-bar-wins",
    "heights_seen",
    "The last bar of a name replaces the others.",
    verdict="the last bar is taken to replace the first",
    why="That is what a dictionary does. Bars are drawn on top of each other, and the tallest is seen.",
)
def last_bar_wins(tokens, row):
    last = dict(zip(tokens, row, strict=True))
    return sum(last.values())


@also("heat-swap", "picture_of_head")
def turned_over(heads, head, allowed):
    return np.where(allowed, heads[head].T, -1)


@also("heat-scale", "picture_of_head")
def stretched(heads, head, allowed):
    return np.where(allowed, heads[head] / heads[head].max(), -1)


@also("heat-headavg", "picture_of_head")
def averaged(heads, allowed):
    return np.where(allowed, heads.mean(axis=0), -1)


@wrong(
    "blocked-as-zero",
    "picture_of_head",
    "A blocked cell is a weight of 0.",
    verdict="blocked cells are drawn as weights of 0",
    why="Then nobody can tell what was forbidden from what was allowed and left. A number below all weights can.",
    source="mwaskom/seaborn #375",
)
def blocked_as_zero(heads, head, allowed):
    return np.where(allowed, heads[head], 0)


@also("polarity", "picture_of_head")
def allowed_hidden(heads, head, allowed):
    return np.where(allowed, -1, heads[head])


@also("explain", "value_lengths")
def weights_alone(weights):
    return weights  # whatever the values are


@wrong(
    "weight-forgotten",
    "value_lengths",
    "What a key adds is its value.",
    verdict="the values are measured without their weights",
    why="A key adds its value times its weight: a long value with a weight of 0 adds nothing.",
)
def values_alone(V):
    return np.linalg.norm(V, axis=-1)


@also("explain", "edge_lengths")
def map_alone(A):
    return A  # whatever is read and written


@also("weight-forgotten", "edge_lengths")
def written_without_weights(A, V, W_O):
    return np.ones_like(A) * np.linalg.norm(V @ W_O, axis=-1)


@also("projection-missing", "edge_lengths")
def lengths_of_what_is_read(A, V):
    return A * np.linalg.norm(V, axis=-1)  # before W_O


@wrong(
    "lengths-of-the-sum",
    "edge_lengths",
    "The length of the output says what each edge adds.",
    verdict="the edges are summed before they are measured",
    why="In a sum two long vectors can cancel, and one length is left for a whole row. Measure each edge first.",
)
def lengths_of_the_sum(A, V, W_O):
    return np.linalg.norm(A @ V @ W_O, axis=-1)


@wrong(
    "lengths-on-queries",
    "edge_lengths",
    "The length belongs to the row.",
    verdict="the lengths are laid along the queries",
    why="A value belongs to its key, and keys are the columns: one length for each column.",
)
def lengths_on_queries(A, V, W_O):
    return A * np.linalg.norm(V @ W_O, axis=-1)[:, None]


@also("explain", "head_ranks")
def brightest_first(heads, n):
    return ranks(columns(heads, "brightest", n))


@wrong(
    "long-is-worth",
    "head_ranks",
    "The head that writes the longest vector matters most.",
    verdict="the length of what a head writes is taken for its worth",
    why="A long vector may point where nobody reads, or say what another head says too: take it out and measure.",
)
def longest_first(heads, n):
    return ranks(columns(heads, "written", n))


@wrong(
    "ranks-reversed",
    "head_ranks",
    "Rank 1 is the smallest.",
    verdict="the order is right, and counted from the wrong end",
    why="Here 1 stands for the head that costs most.",
)
def least_first(heads, n):
    return ranks(-columns(heads, "mean", n))


belief(
    "zero-is-most",
    "Putting zeros takes out the most that can be taken.",
    verdict="zeros are taken to be the strongest way of taking out",
    why="A wrong message can cost more than none: the layers that read it believe it.",
)
belief(
    "ablations-agree",
    "It does not matter with what a part is replaced.",
    verdict="the ways of taking out are taken to agree",
    why="Each answers another question: without anything, without what is particular, with something wrong.",
)
belief(
    "cost-is-distance",
    "What costs most has taken the model farthest from what it knows.",
    verdict="the loss is taken for the distance",
    why="A natural input in the wrong place can cost much, and an unnatural one little: they are two measurements.",
)
belief(
    "heads-independent",
    "What a head is worth does not depend on the other heads.",
    verdict="heads are taken to count each by itself",
    why="Where two do the same work, either can go, and not both.",
)
belief(
    "nothing-left",
    "Once the main head is gone, the others have nothing left to lose.",
    verdict="the other heads are taken to be worthless without the main one",
    why="A head that does a part of the same work is needed most when it is the only one left.",
)
