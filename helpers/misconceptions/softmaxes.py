"""Wrong beliefs about turning scores into weights."""

from __future__ import annotations

import numpy as np

from .catalogue import also, belief, wrong
from .plain import blocked, softmax


@wrong(
    "lookup",
    "softmax",
    "The best key is looked up and takes all the weight.",
    verdict="attention is taken for a lookup of the best key",
    why="No exponential is 0, so every key that takes part keeps a share, however poor its match.",
    source="course; examples so saturated that one weight rounds to 1",
)
def lookup(scores):
    best = scores.argmax(axis=-1)
    return np.eye(scores.shape[-1])[best]


@also("lookup", "weighted_sum")
def value_of_the_best(weights, values):
    return values[weights.argmax()]


@also("lookup", "average_of_heads")
def best_key_of_each_head(queries, keys):
    best = (queries @ keys.swapaxes(-2, -1)).argmax(axis=-1)
    return np.eye(keys.shape[-2])[best].mean(axis=0)


@wrong(
    "uniform",
    "softmax",
    "Every key that may be read gets the same share.",
    verdict="an even share for every key, whatever its score",
    why="Equal weights need equal scores; here the scores differ, and "
    "the exponential widens the differences.",
)
def uniform(scores):
    return np.full(scores.shape, 1 / scores.shape[-1])


@also("uniform", "masked_weights")
def uniform_over_legal(scores, allowed):
    return allowed / allowed.sum(axis=-1, keepdims=True)


@also("uniform", "weighted_sum")
def plain_mean(weights, values):
    return values.mean(axis=0)


@wrong(
    "uniform-unmasked",
    "masked_weights",
    "Every key gets the same share, those in the future too.",
    verdict="an even share for every key, the blocked ones included",
    why="A blocked key has weight exactly 0, and equal weights among the rest need equal scores.",
)
def uniform_unmasked(scores, allowed):
    return np.full(scores.shape, 1 / scores.shape[-1])


@wrong(
    "score-proportional",
    "softmax",
    "The weights are proportional to the scores.",
    verdict="each score divided by the sum of the scores: the exponential is missing",
    why="A score of 0 still gets a share, because exp(0) = 1, and a negative score gets a positive one.",
)
def score_proportional(scores):
    return scores / scores.sum(axis=-1, keepdims=True)


@also("score-proportional", "masked_weights")
def legal_scores_proportional(scores, allowed):
    scores = np.where(allowed, scores, 0)
    return scores / scores.sum(axis=-1, keepdims=True)


@wrong(
    "scores-as-weights",
    "softmax",
    "The scores are the weights.",
    verdict="these are the scores: the softmax is missing",
    why="Weights are positive and sum to 1; scores need be neither.",
)
def scores_as_weights(scores):
    return scores


@also("scores-as-weights", "masked_weights")
def legal_scores_as_weights(scores, allowed):
    return np.where(allowed, scores, 0)


@wrong(
    "not-normalised",
    "softmax",
    "The exponentials are the weights.",
    verdict="the exponentials are not divided by their sum",
    why="Shares of one whole sum to 1; the bare exponentials of a row do not.",
)
def not_normalised(scores):
    return np.exp(scores)


@wrong(
    "order-reversed",
    "softmax",
    "The smaller the score, the larger the weight.",
    verdict="the order is reversed",
    why="exp grows with the score, so the key whose dot product is largest is read most.",
)
def order_reversed(scores):
    return softmax(-scores)


@also("order-reversed", "masked_weights")
def legal_order_reversed(scores, allowed):
    return softmax(blocked(-scores, allowed))


@wrong(
    "axis",
    "softmax",
    "The softmax runs down the columns, over the queries.",
    verdict="the softmax runs over the queries instead of over the keys",
    why="Each query shares out its own attention, so each row sums to 1. Here the columns do.",
    source="PetrochukM/PyTorch-NLP #2; nerminnuraydogan/vision-transformer "
    "#1; nerdai/llms-from-scratch-rs PR #30; labml #146",
)
def axis(scores):
    return softmax(scores, axis=0)


@wrong(
    "softmax-whole",
    "softmax",
    "One softmax over the whole matrix.",
    verdict="one softmax over the whole matrix instead of one for each row",
    why="Each query has one unit of attention of its own to share out: every "
    "row sums to 1, not only all rows together.",
)
def softmax_whole(scores):
    return softmax(scores.ravel()).reshape(scores.shape)


@wrong(
    "no-maximum",
    "softmax",
    "The maximum need not be subtracted: it cancels anyway.",
    verdict="the exponential overflows: the row's maximum is not subtracted first",
    why="It cancels on paper, but exp(1000) is infinite in a computer, and "
    "infinity divided by infinity is not a number.",
)
def no_maximum(scores):
    exps = np.exp(scores)
    return exps / exps.sum(axis=-1, keepdims=True)


@wrong(
    "shift-changes",
    "shifted_softmax",
    "Adding 100 to every score of a row changes its weights.",
    verdict="an amount common to the whole row is taken to matter",
    why="exp(s + 100) is exp(s) times e^100, and so is the sum that it is divided by.",
)
def shift_changes(scores, shift):
    return np.exp(scores + shift) / np.exp(scores).sum(axis=-1, keepdims=True)  # the old sum


@wrong(
    "shift",
    "shifted_softmax",
    "Whatever is added to the scores cancels.",
    verdict="something is taken to cancel that does not",
    why="Only an amount that reaches every score alike, and exactly, drops out.",
)
def shift(scores, shift):
    return softmax(scores)


belief(
    "sharper-means-more",
    "If one weight grows, the row as a whole attends more.",
    verdict="a row is taken to have more to give than 1",
    why="What one key gains the others lose: the weights of a row always sum to 1.",
)
