"""Wrong beliefs about what a weight matrix and an output say, and about what queries, keys and values are."""

from __future__ import annotations

import numpy as np

from .catalogue import also, belief, wrong
from .plain import weigh


@wrong(
    "swap-qk",
    "scores",
    "Queries and keys can change places.",
    verdict="queries and keys have changed places",
    why="Row i belongs to query i: its scores are that query with every key, Q @ K.T and not K @ Q.T.",
)
def swap_qk(Q, K):
    return K @ Q.T / Q.shape[-1] ** 0.5


@wrong(
    "heat-swap",
    "attention_weights",
    "Columns are the readers, rows are what is read.",
    verdict="rows and columns are swapped",
    why="Only the rows sum to 1. The entry in row i, column j is how much query i takes from value j.",
    source="poloclub/transformer-explainer #19; DeBERTa #44",
)
def heat_swap(Q, K, allowed):
    weights = weigh(Q, K, allowed)
    return weights.T


@also("heat-swap", "cross_weights_of_sizes")
def keys_in_rows(n_q, n_k, n_heads):
    return np.zeros((n_heads, n_k, n_q))


@wrong(
    "heat-offset",
    "attention_weights",
    "A row belongs to the token before it.",
    verdict="the rows are read one off",
    why="Row i belongs to query i, counted from 0: under a causal mask "
    "row 0 has one legal key, not none or two.",
    source="bojieli/ai-agent-book #346",
)
def heat_offset(Q, K, allowed):
    weights = weigh(Q, K, allowed)
    return np.roll(weights, 1, axis=0)


@wrong(
    "heat-scale",
    "attention_weights",
    "The brightest cell of a picture is a weight of 1.",
    verdict="the colours are stretched: the brightest cell is taken for 1",
    why="A picture that scales itself shows 0.26 beside 0.24 as it shows 0.9 "
    "beside 0.1. Read the numbers, on a scale from 0 to 1.",
    source="d2l show_heatmaps",
)
def heat_scale(Q, K, allowed):
    weights = weigh(Q, K, allowed)
    return (weights - weights.min()) / (weights.max() - weights.min())


@wrong(
    "values-move-weights",
    "weights_beside_values",
    "A larger value draws more attention.",
    verdict="the values are let into the weights",
    why="The weights are made of queries and keys alone: a value changes what is read, not where.",
)
def values_move_weights(Q, K, V, allowed):
    pull = weigh(Q, K, allowed) * np.linalg.norm(V, axis=-1)
    return pull / pull.sum(axis=-1, keepdims=True)


@wrong(
    "sum-unweighted",
    "weighted_sum",
    "The values are added up.",
    verdict="the values are added without their weights",
    why="Each value counts only by its weight, and the weights make 1: the output lies between the values.",
)
def sum_unweighted(values):
    return np.sum(values, axis=0)


@wrong(
    "output-is-weights",
    "attention",
    "The output is the row of weights.",
    verdict="these are the weights: the sum of the values is still to come",
    why="The weights say where to read. The output is what is read there: weights @ V, as wide as a value.",
)
def output_is_weights(Q, K, V, allowed):
    return weigh(Q, K, allowed)  # and not weights @ V


@wrong(
    "output-is-scores",
    "attention",
    "The output is the matrix of scores.",
    verdict="these are the scores: the softmax and the sum of the values are still to come",
    why="The scores only compare queries with keys; the output is as wide as a value.",
)
def output_is_scores(Q, K, V, allowed):
    return Q @ K.T / Q.shape[-1] ** 0.5


@wrong(
    "output-is-key",
    "attention",
    "The output is a mixture of the keys.",
    verdict="the keys are summed instead of the values",
    why="Keys are only compared with. What is summed are the values, which may even have another width.",
)
def output_is_key(Q, K, V, allowed):
    weights = weigh(Q, K, allowed)
    return weights @ K


@wrong(
    "dv-equals-dk",
    "attention",
    "The values must be as wide as the keys.",
    verdict="the output is given the width of the keys",
    why="Only queries and keys meet in a dot product and need the same "
    "width; (n_q, n_k) @ (n_k, d_v) gives (n_q, d_v).",
)
def dv_equals_dk(Q, K, V, allowed):
    V = np.resize(V, K.shape)  # forced to the width of the keys
    return weigh(Q, K, allowed) @ V


@wrong(
    "mutates",
    "masked_weights",
    "The inputs are mine to write on.",
    verdict="the inputs are changed",
    why="Whoever called the function still needs its arrays: a second call would "
    "start from other numbers. Write on a new array.",
    source="d2l, X[~mask] = ...; masked_fill_; pytorch/pytorch #109072",
)
def mutates(scores, allowed):
    scores[~np.broadcast_to(allowed, scores.shape)] = -np.inf  # the caller's array
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1, keepdims=True)


belief(
    "direction",
    "A weight says how important query i is to key j.",
    verdict="the reader and the read are exchanged",
    why="Row i sums to 1 because query i shares out its own attention; "
    "A[i, j] is how position i reads value j.",
    source="tensorflow/text PR #936; detr #162",
)
belief(
    "heat-headavg",
    "The average over the heads shows what a head does.",
    verdict="an average over heads is taken for a head",
    why="Two heads that look at opposite ends average to a flat picture that neither of them has.",
    source="the default average_attn_weights=True of PyTorch's MultiheadAttention",
)


@also("heat-headavg", "average_of_heads")
def first_head(queries, keys):
    return weigh(queries[0], keys[0], True)  # one head alone


belief(
    "explain",
    "A large weight means that the token was important for the answer.",
    verdict="a weight is taken for an importance",
    why="How much a token matters depends on its value, the output projection, the residual path and later "
    "layers: ablate and measure.",
    source="Neuromatch; contested between arXiv 1902.10186 and 1908.04626",
)
belief(
    "sink",
    "The bright first column is the important token.",
    verdict="a bright column is taken for an important token",
    why="What arrives is weight times value: a weight of 0.9 on a vector of tiny "
    "norm moves the output less than 0.1 on a long one.",
    source="arXiv 2410.10781",
)
belief(
    "qkv-inputs",
    "Q, K and V are three inputs.",
    verdict="Q, K and V are taken for three inputs",
    why="In self-attention all three come from the same rows: change one "
    "row of X, and one row of each changes.",
)
belief(
    "order-for-free",
    "Attention knows in which order the tokens stand.",
    verdict="the order of the tokens is taken to be known",
    why="Permute the tokens, and the outputs are permuted with them: not one number of them changes.",
)
belief(
    "bug-missed",
    "The program does what its name says.",
    verdict="this is what the program is meant to give, not what it gives",
    why="Read it once more, one line at a time, and write the result of each line beside it.",
)
belief(
    "weights-free",
    "The weights have been computed anyway, so returning them costs nothing.",
    verdict="the weights are taken to be there anyway",
    why="It works tile by tile and keeps a running sum; to return the "
    "matrix it would have to store all T² entries.",
    source="pytorch/pytorch #98505, #119811; flash-attention #159",
)
