"""Wrong beliefs about where masks break: combined patterns, rows with nothing to read, what True means."""

from __future__ import annotations

import numpy as np

from . import masking  # noqa: F401, its entries get more programs here
from .catalogue import also, wrong
from .plain import softmax, window


@wrong(
    "padding-ignored",
    "causal_and_padding",
    "The causal rule takes care of the padding.",
    verdict="the padding is left out of the combination",
    why="Padding before the text, or behind it but before the query, is not in the future: only a second "
    "pattern hides it.",
)
def padding_ignored(keep):
    return np.tri(len(keep), dtype=bool)


@also("padding-ignored", "window_and_padding")
def window_alone(keep, width):
    return window(len(keep), width)


@also("padding-ignored", "added_weights")
def second_plane_alone(scores, more):
    return softmax(scores + more)


@also("mask-ignored", "causal_and_padding")
def every_real_key(keep):
    return np.tile(keep, (len(keep), 1))


@also("mask-ignored", "window_and_padding")
def every_real_key_in_each_row(keep):
    return np.tile(keep, (len(keep), 1))


@also("mask-ignored", "added_weights")
def first_plane_alone(scores, M):
    return softmax(scores + M)


@wrong(
    "combine-or",
    "causal_and_padding",
    "A combined pattern allows what either of the two allows.",
    verdict="the two patterns are joined with or instead of and",
    why="A key may be read only if both rules allow it: padding stays hidden though it is in the past, and "
    "the future though it is real.",
)
def combine_or(keep):
    return np.tri(len(keep), dtype=bool) | keep


@also("combine-or", "window_and_padding")
def either_window_or_keep(keep, width):
    return window(len(keep), width) | keep


@also("mask-on-queries", "causal_and_padding")
def keep_down_the_rows(keep):
    return np.tri(len(keep), dtype=bool) & keep[:, None]


@also("padrows", "window_and_padding")
def window_with_keep_on_both_axes(keep, width):
    return window(len(keep), width) & keep & keep[:, None]


@also("polarity", "causal_and_padding")
def blocked_where_allowed(keep):
    return ~(np.tri(len(keep), dtype=bool) & keep)


@wrong(
    "window-wide",
    "window_and_padding",
    "A window holds that many keys besides the query's own.",
    verdict="the window is one key too wide",
    why="The width counts all keys of the window, and the last of them is the query's own.",
)
def window_wide(keep, width):
    return window(len(keep), width + 1) & keep


@wrong(
    "empty-is-zero",
    "filled_weights",
    "A blocked key gets weight 0, so a row of blocked keys is all zeros.",
    verdict="the softmax is expected to give zeros where all is blocked",
    why="Softmax shares 1 out, whatever the scores are: no row of it can be all zeros.",
    source="pytorch/pytorch #41508; d2l-ai/d2l-en PR #2423",
)
def empty_is_zero(scores, allowed, fill):
    weights = softmax(np.where(allowed, scores, fill))
    return np.where(allowed, weights, 0)


@also("empty-is-zero", "added_weights")
def zeros_where_added(scores, M, more):
    weights = softmax(scores + M + more)
    return np.where(M + more == 0, weights, 0)


@wrong(
    "fill-added",
    "filled_weights",
    "Filling with a low number is the same as adding it.",
    verdict="the low number is added to the scores, not put in their place",
    why="A number put in the place of the scores leaves nothing of their differences; an added one may.",
)
def fill_added(scores, allowed, fill):
    return softmax(scores + np.where(allowed, 0, fill))


@wrong(
    "added-is-filled",
    "added_weights",
    "Adding a low number is the same as putting it in the place of the score.",
    verdict="what is added is taken for what stands in the score's place",
    why="In the sum the score is still there, as far as the digits of its type reach.",
)
def added_is_filled(scores, M, more):
    low = M + more
    return softmax(np.where(low < 0, low, scores))


@also("mask-addtwice", "added_weights")
def one_plane_for_both(scores, M, more):
    low = np.minimum(M, more)
    return softmax(np.where(low < 0, low, scores))


@wrong(
    "float-exact",
    "added_weights",
    "Half precision adds as one does on paper.",
    verdict="the sum is taken as on paper, with every digit kept",
    why="A type has so many digits: beside a large number a small one is rounded away.",
)
def float_exact(scores, M, more):
    return softmax(scores + M + more)


@also("masked-nan", "nan_count")
def unread_values_cleared(weights, V):
    read = (weights != 0).any(axis=0)
    return np.isnan(weights @ np.where(read[:, None], V, 0)).sum()


@wrong(
    "nan-stays",
    "nan_count",
    "A NaN harms only the position it belongs to.",
    verdict="the NaN is taken to stay where it stands",
    why="Each output is a sum over all positions, and a sum with one NaN in it is NaN.",
)
def nan_stays(V):
    return np.isnan(V).sum()


@wrong(
    "nan-everywhere",
    "nan_count",
    "One NaN spoils every number of a matrix product.",
    verdict="the NaN is taken to reach every column",
    why="A column of the output is a sum over the same column of the values: the others never meet it.",
)
def nan_everywhere(weights, V):
    return np.isnan(V).any() * len(weights) * V.shape[1]


@also("align", "cached_pattern")
def from_the_first_key(n_q, n_k):
    return np.tri(n_q, n_k, dtype=bool)


@also("mask-ignored", "cached_pattern")
def all_keys(n_q, n_k):
    return np.ones((n_q, n_k), dtype=bool)


@also("mask-diag", "cached_pattern")
def earlier_keys_only(n_q, n_k):
    return np.tri(n_q, n_k, n_k - n_q - 1, dtype=bool)


@wrong(
    "cache-forgotten",
    "cached_pattern",
    "New queries read only the keys that came with them.",
    verdict="the keys that were kept from before are not read",
    why="They are kept in order to be read: nothing that stands before a query is forbidden to it.",
)
def cache_forgotten(n_q, n_k):
    new = np.arange(n_k) >= n_k - n_q
    return np.tri(n_q, n_k, n_k - n_q, dtype=bool) & new


@also("convention-drift", "by_library")
def allowed_everywhere(given, values):
    return np.full(4, values[given].mean())


@also("polarity", "by_library")
def blocked_everywhere(given, values):
    return np.full(4, values[~given].mean())


@also("mask-ignored", "by_library")
def nothing_is_blocked(values):
    return np.full(4, values.mean())


@also("convention-drift", "to_allowed")
def as_boolean(given):
    return given.astype(bool)


@wrong(
    "true-blocks",
    "to_allowed",
    "True means blocked, in every array.",
    verdict="True is read as blocked in every kind of array",
    why="One kind means the opposite, and the array itself does not tell which it is.",
)
def true_blocks(given):
    return given == 0


@wrong(
    "integer-not",
    "to_allowed",
    "The operator ~ turns 0 into 1 and 1 into 0, in an array of any type.",
    verdict="~ is used on integers, where it makes −1 and −2 of 0 and 1",
    why="Both are different from 0, so as booleans both are True. Compare with == 0 instead, or make a "
    "boolean array first.",
)
def integer_not(given, kind):
    flip = given == 0 if kind == "additive" else ~given
    return given.astype(bool) if kind == "allowed" else flip.astype(bool)
