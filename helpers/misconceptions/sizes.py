"""Wrong beliefs about bytes, shapes and the small sums before attention."""

from __future__ import annotations

import numpy as np

from .catalogue import also, belief, wrong
from .plain import costs


@wrong(
    "mask-saves",
    "score_bytes",
    "A causal mask halves the memory.",
    verdict="blocked cells are taken to need no memory",
    why="The array has T * T entries whatever they hold. Only a kernel that never makes them saves anything.",
    source="TinyTorch, Module 13, Q4",
)
def mask_saves(T, itemsize, n_heads, n_layers):
    legal = T * (T + 1) // 2
    return legal * itemsize * n_heads * n_layers


@wrong(
    "memory-linear",
    "score_bytes",
    "The memory grows like the number of tokens.",
    verdict="one entry is counted for each token, not for each pair",
    why="Every query has a score with every key: T queries and T keys make T * T entries.",
)
def memory_linear(T, itemsize, n_heads, n_layers):
    return T * itemsize * n_heads * n_layers


@wrong(
    "bytes-forgotten",
    "score_bytes",
    "The bytes are the number of entries.",
    verdict="entries are counted, not bytes",
    why="Each number takes the bytes of its dtype, 2 in float16 and 4 in float32: multiply the entries by that.",
)
def bytes_forgotten(T, n_heads, n_layers):
    return T * T * n_heads * n_layers


@wrong(
    "bits-for-bytes",
    "score_bytes",
    "A float32 takes 32 bytes.",
    verdict="bits are counted, not bytes",
    why="The 32 in float32 counts bits; eight of them make a byte.",
)
def bits_for_bytes(T, itemsize, n_heads, n_layers):
    return T * T * 8 * itemsize * n_heads * n_layers


@wrong(
    "heads-share-scores",
    "score_bytes",
    "All heads share one score matrix.",
    verdict="all heads are taken to share one score matrix",
    why="Narrower heads share out the features, but every head compares all T queries with all T keys.",
)
def heads_share_scores(T, itemsize, n_layers):
    return T * T * itemsize * n_layers


@also("heads-share-scores", "head_costs")
def scores_of_one_head(T, d_model, itemsize):
    return costs(T, d_model, 1, itemsize)


@also("heads-share-scores", "scores_of_sizes")
def one_score_matrix(T):
    return np.zeros((T, T))


@wrong(
    "growth-linear",
    "score_growth",
    "The scores grow as fast as the tokens.",
    verdict="the factor is not squared",
    why="There are that many times the queries, and each of them meets that many times the keys.",
)
def growth_linear(before, after):
    return after / before


@wrong(
    "growth-exponential",
    "score_growth",
    "The scores grow exponentially.",
    verdict="quadratic growth is taken for exponential growth",
    why="A square multiplies by four whenever the length doubles, however long the text is already.",
)
def growth_exponential(before, after):
    return 2.0 ** (after / before)


@wrong(
    "product-elementwise",
    "dot",
    "A dot product multiplies entry by entry.",
    verdict="the products are not added up",
    why="A dot product is one number: multiply entry by entry, then add.",
)
def product_elementwise(u, v):
    return np.asarray(u) * np.asarray(v)


@wrong(
    "dot-of-sums",
    "dot",
    "Add up each vector, then multiply.",
    verdict="added first and multiplied after",
    why="Each entry meets its partner: multiply the pairs first, then add the products.",
)
def dot_of_sums(u, v):
    return np.sum(u) * np.sum(v)


@wrong(
    "dot-sign-lost",
    "dot",
    "Multiply the pairs without their signs.",
    verdict="a minus sign is lost",
    why="The product of a negative and a positive number is negative, and is subtracted from the sum.",
)
def dot_sign_lost(u, v):
    return np.abs(u) @ np.abs(v)


@wrong(
    "exp-zero",
    "exp",
    "The exponential of 0 is 0.",
    verdict="exp(0) is taken for 0",
    why="Any number but 0 to the power 0 is 1, and e is no exception.",
)
def exp_zero(x):
    return x  # as if nothing in gave nothing out


@wrong(
    "exp-is-e",
    "exp",
    "The exponential of a number is e.",
    verdict="this is e itself, which is exp(1)",
    why="exp(x) multiplies e by itself x times; for 0 there is no factor left, and 1 remains.",
)
def exp_is_e(x):
    return np.e * np.ones_like(x)


@wrong(
    "exp-negative",
    "exp",
    "The exponential of a negative number is negative.",
    verdict="the exponential of a negative number is taken to be negative",
    why="exp(-x) is 1 / exp(x): small, but above 0.",
)
def exp_negative(x):
    return np.where(x < 0, -np.exp(-x), np.exp(x))


@wrong(
    "median",
    "mean",
    "The mean is the number in the middle.",
    verdict="this is the median, not the mean",
    why="The mean is the sum divided by how many there are; one large number pulls it up.",
)
def median(values):
    return np.median(values)


@wrong(
    "sum-for-mean",
    "mean",
    "The mean is the sum.",
    verdict="the sum is not divided by how many numbers there are",
    why="A mean lies between the smallest and the largest number.",
)
def sum_for_mean(values):
    return np.sum(values)


@wrong(
    "product-inner",
    "product_of_shapes",
    "The width that two matrices share stays.",
    verdict="the shared width is kept, though the product sums over it",
    why="(n, k) @ (k, m) gives (n, m): a row of the left meets a column of the right in one number.",
)
def product_inner(left, right):
    return np.zeros((left[1], right[0]))


@wrong(
    "product-reversed",
    "product_of_shapes",
    "The columns of the right come first.",
    verdict="rows and columns are exchanged",
    why="The result has the rows of the left and the columns of the right, in that order.",
)
def product_reversed(left, right):
    return np.zeros((right[1], left[0]))


@wrong(
    "product-left",
    "product_of_shapes",
    "A product has the shape of the left matrix.",
    verdict="this is the shape of the left matrix",
    why="Only the rows come from the left; the columns come from the right.",
)
def product_left(left, right):
    return np.zeros(left)


@also("heads-share-scores", "cross_weights_of_sizes")
def one_matrix_of_weights(n_q, n_k):
    return np.zeros((n_q, n_k))


@also("product-left", "cross_weights_of_sizes")
def shape_of_the_queries_of_heads(n_q, d_model, n_heads):
    return np.zeros((n_heads, n_q, d_model // n_heads))


@wrong(
    "cross-as-self",
    "cross_weights_of_sizes",
    "There are as many keys as queries.",
    verdict="cross-attention is taken for self-attention, with as many keys as queries",
    why="Queries come from one text, keys and values from the other, and each text has a length of its own.",
)
def keys_from_the_queries(n_q, n_heads):
    return np.zeros((n_heads, n_q, n_q))


@also("product-left", "scores_of_sizes")
def shape_of_the_queries(T, d_model, n_heads):
    return np.zeros((n_heads, T, d_model // n_heads))


belief(
    "t2-time",
    "Four times the tokens, sixteen times slower.",
    verdict="sixteen times the scores is taken for sixteen times the time",
    why="Projections and MLP grow only fourfold, and batching, memory traffic "
    "and kernels count too: measure a whole block.",
)
belief(
    "flash-approx",
    "FlashAttention leaves out the small weights.",
    verdict="small weights are taken to be left out",
    why="Every weight is added, however small. Tile by tile with a running maximum the result equals the dense one to "
    "rounding, whatever the tile.",
    source="TinyTorch, Q5",
)
