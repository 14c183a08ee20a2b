"""Wrong beliefs about what grows with T, and about attention computed in tiles."""

from __future__ import annotations

import numpy as np

from .catalogue import also, belief, wrong
from .plain import added, blocked, row_tiles, scaled, softmax, tiles


@also("memory-linear", "entries")
def all_arrays_linear(T, d_k):
    return T * np.ones(3)


@wrong(
    "output-as-scores",
    "entries",
    "The output grows as the scores do that it is made of.",
    verdict="the output is given a cell for each pair",
    why="The sum over the keys leaves one row of width d_v for each query: (T, T) @ (T, d_v) gives (T, d_v).",
)
def output_as_scores(T, d_k):
    return np.array([T * d_k, T * T, T * T])


@wrong(
    "all-quadratic",
    "entries",
    "In attention everything grows as T².",
    verdict="what has a row for each token is taken to grow like what has a cell for each pair",
    why="Q, K, V and the output have a row for each token, of a width that stays. Only the scores have a cell for "
    "each pair of tokens.",
)
def all_quadratic(T, d_k):
    return T * T * np.ones(3)


@also("heads-share-scores", "score_bytes_of_all")
def layers_of_one_head(T, itemsize, n_layers):
    return T * T * itemsize * np.array([1, 1, n_layers])


@also("bytes-forgotten", "score_bytes_of_all")
def entries_of_all(T, n_heads, n_layers):
    return T * T * np.array([1, n_heads, n_heads * n_layers])


@also("bits-for-bytes", "score_bytes_of_all")
def bits_of_all(T, itemsize, n_heads, n_layers):
    return 8 * T * T * itemsize * np.array([1, n_heads, n_heads * n_layers])


@also("memory-linear", "score_bytes_of_all")
def bytes_of_tokens(T, itemsize, n_heads, n_layers):
    return T * itemsize * np.array([1, n_heads, n_heads * n_layers])


@also("mask-saves", "bytes_beside_mask")
def half_is_stored(T, itemsize):
    legal = T * (T + 1) // 2
    return np.array([T * T * itemsize, legal * itemsize, T * T])


@wrong(
    "bool-is-bit",
    "bytes_beside_mask",
    "True or False takes one bit.",
    verdict="a boolean is taken for one bit",
    why="NumPy keeps a boolean in a byte of its own, because a byte is the smallest thing with an address.",
)
def bool_is_bit(T, itemsize):
    return T * T * np.array([itemsize, itemsize, 1 / 8])


@wrong(
    "bool-as-wide",
    "bytes_beside_mask",
    "The pattern takes as much as the scores.",
    verdict="entries are counted, but a boolean is smaller than a number",
    why="The pattern has as many entries as the scores, of one byte each.",
)
def bool_as_wide(T, itemsize):
    return T * T * itemsize * np.ones(3)


@wrong(
    "online-not-shrunk",
    "next_score",
    "What has been added up stays as it is.",
    verdict="what was added up under the old maximum is not brought to the new one",
    why="Its exponentials were taken less the old maximum. To add those of a new one, they have to be "
    "multiplied by exp(old maximum - new maximum).",
)
def score_not_shrunk(running_max, running_sum, score):
    new_max = max(running_max, score)
    return np.array([new_max, running_sum + np.exp(score - new_max)])


@also("online-not-shrunk", "next_tile")
def tile_not_shrunk(scores, running_max, running_sum):
    new_max = np.maximum(running_max, scores.max(axis=-1, keepdims=True))
    exps = np.exp(scores - new_max)
    return np.hstack([new_max, running_sum + exps.sum(axis=-1, keepdims=True)])


@also("online-not-shrunk", "add_tile")
def state_not_shrunk(scores, V, running_max, running_sum, out):
    new_max = np.maximum(running_max, scores.max(axis=-1, keepdims=True))
    exps = np.exp(scores - new_max)
    return np.hstack([new_max, running_sum + exps.sum(axis=-1, keepdims=True), out + exps @ V])


@also("online-not-shrunk", "row_in_tiles")
def row_not_shrunk(scores, values, size):
    new_max, total, out = np.finfo(float).min, 0.0, 0.0
    for some, their_values in row_tiles(scores, values, size):
        new_max = np.maximum(new_max, some.max())  # what was added before is left as it is
        _, total, out = added(some, their_values, new_max, total, out)
    return (out / total)[0]


@also("online-not-shrunk", "tiled_attention")
def attention_not_shrunk(Q, K, V, allowed, size):
    new_max, total, out = np.finfo(float).min, 0.0, 0.0
    for scores, values in tiles(Q, K, V, allowed, size):
        new_max = np.maximum(new_max, scores.max(axis=-1, keepdims=True))  # what is there is left as it is
        _, total, out = added(scores, values, new_max, total, out)
    return out / total


@wrong(
    "online-max-kept",
    "next_score",
    "The first maximum serves for all that comes.",
    verdict="the maximum is not raised when a larger score comes",
    why="The sum is right on paper. But a later score far above the first overflows, and to prevent that the "
    "maximum was introduced.",
)
def max_kept(running_max, running_sum, score):
    return np.array([running_max, running_sum + np.exp(score - running_max)])


@also("online-max-kept", "next_tile")
def max_kept_of_each(scores, running_max, running_sum):
    exps = np.exp(scores - running_max)
    return np.hstack([running_max, running_sum + exps.sum(axis=-1, keepdims=True)])


@also("online-max-kept", "add_tile")
def max_kept_in_state(scores, V, running_max, running_sum, out):
    exps = np.exp(scores - running_max)
    return np.hstack([running_max, running_sum + exps.sum(axis=-1, keepdims=True), out + exps @ V])


@wrong(
    "online-grown",
    "next_score",
    "A larger maximum makes the sum so far larger.",
    verdict="the factor is upside down: exp(new maximum - old maximum)",
    why="Less a larger maximum, every exponential is smaller than before: the factor is at most 1.",
)
def sum_grown(running_max, running_sum, score):
    new_max = max(running_max, score)
    return np.array([new_max, running_sum * np.exp(new_max - running_max) + np.exp(score - new_max)])


@also("online-grown", "next_tile")
def sum_grown_of_each(scores, running_max, running_sum):
    new_max = np.maximum(running_max, scores.max(axis=-1, keepdims=True))
    grown = running_sum * np.exp(new_max - running_max)
    return np.hstack([new_max, grown + np.exp(scores - new_max).sum(axis=-1, keepdims=True)])


@also("online-grown", "add_tile")
def state_grown(scores, V, running_max, running_sum, out):
    new_max = np.maximum(running_max, scores.max(axis=-1, keepdims=True))
    grow, exps = np.exp(new_max - running_max), np.exp(scores - new_max)
    total = running_sum * grow + exps.sum(axis=-1, keepdims=True)
    return np.hstack([new_max, total, out * grow + exps @ V])


@wrong(
    "online-restarted",
    "next_score",
    "A new maximum starts the sum anew.",
    verdict="a new maximum throws away what was added up",
    why="The earlier scores have their share of the softmax still; only the number they are compared with changed.",
)
def sum_restarted(running_max, running_sum, score):
    new_max = max(running_max, score)
    kept = running_sum if new_max == running_max else 0
    return np.array([new_max, kept + np.exp(score - new_max)])


@also("online-restarted", "next_tile")
def sum_restarted_of_each(scores, running_max, running_sum):
    new_max = np.maximum(running_max, scores.max(axis=-1, keepdims=True))
    kept = np.where(new_max == running_max, running_sum, 0)
    return np.hstack([new_max, kept + np.exp(scores - new_max).sum(axis=-1, keepdims=True)])


@wrong(
    "online-new-less-old",
    "next_score",
    "The new score is taken less the maximum so far.",
    verdict="the new score's exponential is taken less the old maximum",
    why="All exponentials in the sum must be taken less the same maximum, and from now on that is the new one.",
)
def new_less_old(running_max, running_sum, score):
    new_max = max(running_max, score)
    return np.array([new_max, running_sum * np.exp(running_max - new_max) + np.exp(score - running_max)])


@also("online-new-less-old", "next_tile")
def tile_less_old(scores, running_max, running_sum):
    new_max = np.maximum(running_max, scores.max(axis=-1, keepdims=True))
    exps = np.exp(scores - running_max)
    return np.hstack(
        [new_max, running_sum * np.exp(running_max - new_max) + exps.sum(axis=-1, keepdims=True)]
    )


@also("online-new-less-old", "add_tile")
def tile_and_values_less_old(scores, V, running_max, running_sum, out):
    new_max = np.maximum(running_max, scores.max(axis=-1, keepdims=True))
    shrink, exps = np.exp(running_max - new_max), np.exp(scores - running_max)
    total = running_sum * shrink + exps.sum(axis=-1, keepdims=True)
    return np.hstack([new_max, total, out * shrink + exps @ V])


@wrong(
    "online-plain-sum",
    "next_score",
    "The sum is that of the plain exponentials.",
    verdict="the maximum is noted, but not subtracted in the exponentials",
    why="The sum is kept relative to the maximum, so that no exponential is above 1.",
)
def plain_sum(running_max, running_sum, score):
    return np.array([max(running_max, score), running_sum * np.exp(running_max) + np.exp(score)])


@wrong(
    "tile-own-max",
    "next_tile",
    "The maximum is that of the tile at hand.",
    verdict="the tile's own maximum takes the place of a larger one from before",
    why="Where a tile has small scores only, the factor exp(old - new) is large and can overflow: "
    "the maximum may rise and never fall.",
)
def own_max(scores, running_max, running_sum):
    new_max = scores.max(axis=-1, keepdims=True)
    total = running_sum * np.exp(running_max - new_max) + np.exp(scores - new_max).sum(axis=-1, keepdims=True)
    return np.hstack([new_max, total])


@also("tile-own-max", "add_tile")
def own_max_in_state(scores, V, running_max, running_sum, out):
    new_max = scores.max(axis=-1, keepdims=True)
    shrink, exps = np.exp(running_max - new_max), np.exp(scores - new_max)
    total = running_sum * shrink + exps.sum(axis=-1, keepdims=True)
    return np.hstack([new_max, total, out * shrink + exps @ V])


@wrong(
    "tile-one-max",
    "next_tile",
    "One maximum serves all queries.",
    verdict="one maximum is taken for all queries",
    why="Each query keeps its own. Less that of another, all exponentials of a row of low scores may come out as 0.",
)
def one_max_for_all(scores, running_max, running_sum):
    new_max = np.maximum(running_max, scores.max())  # of all queries
    total = running_sum * np.exp(running_max - new_max) + np.exp(scores - new_max).sum(axis=-1, keepdims=True)
    return np.hstack([new_max, total])


@wrong(
    "tile-one-sum",
    "next_tile",
    "The exponentials of the tile have one sum.",
    verdict="the exponentials of all queries are put into one sum",
    why="Each query has a row and a sum of its own: add along axis=-1, with keepdims=True.",
)
def one_sum_for_all(scores, running_max, running_sum):
    new_max = np.maximum(running_max, scores.max(axis=-1, keepdims=True))
    return np.hstack([new_max, running_sum * np.exp(running_max - new_max) + np.exp(scores - new_max).sum()])


@also("tile-one-sum", "add_tile")
def one_sum_in_state(scores, V, running_max, running_sum, out):
    new_max = np.maximum(running_max, scores.max(axis=-1, keepdims=True))
    shrink, exps = np.exp(running_max - new_max), np.exp(scores - new_max)
    return np.hstack([new_max, running_sum * shrink + exps.sum(), out * shrink + exps @ V])


@wrong(
    "tile-divided",
    "add_tile",
    "After every tile the output is divided by the sum.",
    verdict="the output is divided by the sum already",
    why="`out` adds up exp(score - maximum) · value over all tiles. What is divided by the sum so far cannot be added "
    "to what will be divided by a later one: divide once, after the last tile.",
)
def output_divided(scores, V, running_max, running_sum, out):
    new_max = np.maximum(running_max, scores.max(axis=-1, keepdims=True))
    shrink, exps = np.exp(running_max - new_max), np.exp(scores - new_max)
    total = running_sum * shrink + exps.sum(axis=-1, keepdims=True)
    return np.hstack([new_max, total, (out * shrink + exps @ V) / total])


@wrong(
    "output-not-shrunk",
    "add_tile",
    "Only the sum has to follow a new maximum.",
    verdict="the sum is brought to the new maximum, the output is not",
    why="Numerator and denominator hold the same exponentials: what one is multiplied by, the other is too.",
)
def output_not_shrunk(scores, V, running_max, running_sum, out):
    new_max = np.maximum(running_max, scores.max(axis=-1, keepdims=True))
    shrink, exps = np.exp(running_max - new_max), np.exp(scores - new_max)
    total = running_sum * shrink + exps.sum(axis=-1, keepdims=True)
    return np.hstack([new_max, total, out + exps @ V])


@wrong(
    "tile-own-share",
    "row_in_tiles",
    "Each tile has its softmax, and the outputs are added up.",
    verdict="each tile is divided by its own sum, and the results are added",
    why="Then every tile has the weight 1. The keys of all tiles share one 1, so there is one division, "
    "by the sum over all of them.",
)
def row_shares_added(scores, values, size):
    return sum(softmax(some) @ theirs for some, theirs in row_tiles(scores, values, size))


@also("tile-own-share", "tiled_attention")
def shares_added(Q, K, V, allowed, size):
    return sum(softmax(scores) @ values for scores, values in tiles(Q, K, V, allowed, size))


@also("tile-own-share", "add_tile")
def share_added_to_state(scores, V, running_max, running_sum, out):
    new_max = np.maximum(running_max, scores.max(axis=-1, keepdims=True))
    shrink, exps = np.exp(running_max - new_max), np.exp(scores - new_max)
    total = running_sum * shrink + exps.sum(axis=-1, keepdims=True)
    return np.hstack([new_max, total, out * shrink + softmax(scores) @ V])


@wrong(
    "tiles-averaged",
    "row_in_tiles",
    "The outputs of the tiles are averaged.",
    verdict="each tile gets a softmax of its own, and the outputs are averaged",
    why="Then every tile counts alike, though one may hold nearly all the weight, and a last tile may hold fewer keys.",
)
def row_averaged(scores, values, size):
    return np.mean([softmax(some) @ theirs for some, theirs in row_tiles(scores, values, size)])


@also("tiles-averaged", "tiled_attention")
def averaged(Q, K, V, allowed, size):
    return np.mean([softmax(scores) @ values for scores, values in tiles(Q, K, V, allowed, size)], axis=0)


@wrong(
    "tile-last-only",
    "row_in_tiles",
    "A larger score replaces what was there.",
    verdict="only the last tile counts",
    why="The earlier keys keep their share: a new maximum makes it smaller, not 0. In a program, see that the new "
    "maximum is kept for the next tile.",
)
def last_tile_of_row(scores, values, size):
    some, theirs = row_tiles(scores, values, size)[-1]
    return softmax(some) @ theirs


@also("output-not-shrunk", "tiled_attention")
def weighted_not_shrunk(Q, K, V, allowed, size):
    largest, total, out = np.finfo(float).min, 0.0, 0.0
    for scores, values in tiles(Q, K, V, allowed, size):
        largest, total, new = added(scores, values, largest, total, 0.0)
        out = out + new  # what is there is left as it is
    return out / total


@also("tile-divided", "tiled_attention")
def divided_in_each_tile(Q, K, V, allowed, size):
    largest, total, out = np.finfo(float).min, 0.0, 0.0
    for scores, values in tiles(Q, K, V, allowed, size):
        largest, total, out = added(scores, values, largest, total, out)
        out = out / total
    return out


@also("tile-last-only", "tiled_attention")
def last_tile(Q, K, V, allowed, size):
    lowest, total, out = np.finfo(float).min, 0.0, 0.0
    for scores, values in tiles(Q, K, V, allowed, size):
        _, total, out = added(scores, values, lowest, total, out)  # the new maximum is not kept
    return out / total


@wrong(
    "ragged-dropped",
    "row_in_tiles",
    "The tiles cover all keys.",
    verdict="the keys left over at the end, too few for a whole tile, are forgotten",
    why="Where the size does not divide the number of keys, one more tile is needed, a smaller one.",
)
def row_without_rest(scores, values, size):
    whole = len(scores) // size * size
    return softmax(scores[:whole]) @ values[:whole]


@also("ragged-dropped", "tiled_attention")
def without_rest(Q, K, V, allowed, size):
    whole = len(K) // size * size
    return softmax(blocked(scaled(Q, K[:whole]), allowed[:, :whole])) @ V[:whole]


@also("uniform", "row_in_tiles")
def mean_of_values(scores, values):
    return np.mean(values)


@also("not-normalised", "row_in_tiles")
def row_not_divided(scores, values):
    return np.exp(scores - scores.max()) @ values


@also("not-normalised", "tiled_attention")
def not_divided(Q, K, V, allowed, size):
    largest, total, out = np.finfo(float).min, 0.0, 0.0
    for scores, values in tiles(Q, K, V, allowed, size):
        largest, total, out = added(scores, values, largest, total, out)
    return out


@wrong(
    "starts-at-minus-inf",
    "tiled_attention",
    "The maximum before the first score is -inf.",
    verdict="the running maximum starts at -inf, and -inf less -inf is not a number",
    why="A query whose first tile is all blocked has -inf as its new maximum too. The lowest finite number serves "
    "as well and subtracts without harm.",
)
def starts_at_minus_inf(Q, K, V, allowed, size):
    largest, total, out = np.full((len(Q), 1), -np.inf), 0.0, 0.0
    for scores, values in tiles(Q, K, V, allowed, size):
        largest, total, out = added(scores, values, largest, total, out)
    return out / total


@wrong(
    "starts-at-zero",
    "tiled_attention",
    "The maximum before the first score is 0.",
    verdict="the running maximum starts at 0, above scores that are all far below it",
    why="Where all allowed scores are far below 0, every exponential less 0 is 0, and 0 / 0 is left.",
)
def starts_at_zero(Q, K, V, allowed, size):
    largest, total, out = np.zeros((len(Q), 1)), 0.0, 0.0
    for scores, values in tiles(Q, K, V, allowed, size):
        largest, total, out = added(scores, values, largest, total, out)
    return out / total


@wrong(
    "tiles-save-work",
    "tiled_counts",
    "In tiles everything grows only as T.",
    verdict="what is not stored is taken not to be computed",
    why="Every query still meets every key. Tiles change how long a score is kept, not how many there are.",
)
def tiles_save_work(T, d_v, side):
    return np.array([side * side, T * (1 + 1 + d_v), T * side])


@wrong(
    "tiles-grow",
    "tiled_counts",
    "The tiles grow with T.",
    verdict="the tile is taken to grow with the text",
    why="A longer text has more tiles of the same size, and only one is held at a time.",
)
def tiles_grow(T, d_v, side):
    return np.array([T * T, T * (1 + 1 + d_v), T * T])


@wrong(
    "nothing-kept",
    "tiled_counts",
    "Nothing but the tile is kept.",
    verdict="what is kept of each query is forgotten",
    why="A maximum, a sum and a row of output stay for each query, and there are as many as the text is long.",
)
def nothing_kept(T, d_v, side):
    return np.array([side * side, 1 + 1 + d_v, T * T])


belief(
    "overhead-free",
    "Memory that holds T² scores grows exactly as T².",
    verdict="the arrays that grow as T are left out",
    why="Next to the scores there are rows for each token. At a small T they are a large part of the whole.",
)
belief(
    "tiles-must-fit",
    "The tile size has to divide the number of keys.",
    verdict="the last tile is taken to need the full size",
    why="A smaller last tile is added like any other.",
)
belief(
    "tiles-add-error",
    "The more tiles, the more is lost.",
    verdict="another order of additions is taken for a growing error",
    why="Each step is the exact formula; what differs is rounding in the last digits, with few tiles as with many.",
)
belief(
    "loops-are-slow",
    "A loop over tiles has to be slower than one product.",
    verdict="the steps of Python are counted, not the bytes that move",
    why="A tile stays in the cache of a core from one step to the next; a large matrix is written to memory and "
    "read again at every step.",
)
belief(
    "same-work-same-time",
    "As many multiplications take as much time.",
    verdict="multiplications are counted, not the bytes that move",
    why="Time is also what it takes to write a matrix to memory and to read it again, at every step.",
)
