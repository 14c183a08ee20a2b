"""Wrong beliefs about how large dot products become, and about how weights answer to a nudge."""

from __future__ import annotations

import numpy as np

from . import scaling  # noqa: F401, its entries get further programs here
from .catalogue import also, belief, wrong


@wrong(
    "variance-stays",
    "dot_variance",
    "Sums of numbers of size 1 have size 1, however many there are.",
    verdict="the variance is taken not to depend on how many terms are added",
    why="Variances of independent terms add up; only a mean, which divides by their number, stays small.",
)
def variance_stays(sizes):
    return np.ones_like(sizes)


@wrong(
    "variance-root",
    "dot_variance",
    "The variance is the typical size.",
    verdict="this is the standard deviation, the root of the variance",
    why="The variance is the mean of the squares. The typical size is its root.",
)
def standard_deviation(sizes):
    return np.sqrt(sizes)


@wrong(
    "variance-squared",
    "dot_variance",
    "The terms of a dot product all push the same way.",
    verdict="the terms are taken to add up, as if all had one sign",
    why="Terms of either sign cancel in part: the variance grows like their number, not like its square.",
)
def nothing_cancels(sizes):
    return sizes**2


@wrong(
    "variance-doubled",
    "dot_variance",
    "The variances of the two factors add up.",
    verdict="the variances of the two factors are added",
    why="Those of a sum add up. For a product of independent numbers of mean 0 they are multiplied: 1 times 1.",
)
def factors_added(sizes):
    return 2 * sizes


@wrong(
    "variance-once",
    "scaled_variance",
    "What divides a number divides its variance.",
    verdict="the variance is divided by √d_k, once instead of twice",
    why="A variance is a mean of squares: dividing each number by c divides each square by c².",
)
def divided_once(sizes):
    return sizes / np.sqrt(sizes)


@also("scale-missing", "scaled_variance")
def not_divided(sizes):
    return sizes  # the variance of the dot products themselves


@also("scale-dk", "scaled_variance")
def divided_by_the_width(sizes):
    return sizes / sizes**2


@also("scale-prevents", "aligned_scores")
def unit_size_promised(sizes):
    return np.ones_like(sizes)  # the size that independent features have


@also("scale-missing", "aligned_scores")
def aligned_not_divided(sizes):
    return sizes


@wrong(
    "always-cancels",
    "aligned_scores",
    "In a dot product the terms cancel out.",
    verdict="the terms are taken to cancel",
    why="They cancel where the signs are independent. If q and k agree in their signs, every term is positive.",
)
def all_terms_cancel(sizes):
    return np.zeros_like(sizes)


@wrong(
    "slope-grows-with-weight",
    "own_slopes",
    "The larger a weight, the more it answers to a nudge.",
    verdict="the slope is taken to grow in proportion to the weight",
    why="A weight near 1 has almost nothing left to gain: what it gains, the other keys must lose.",
)
def in_proportion(weights):
    return weights / 2  # 0.25 at a weight of 0.5


@wrong(
    "slope-is-the-rest",
    "own_slopes",
    "A weight answers by as much as it has left to gain.",
    verdict="only what is left to gain is counted",
    why="A weight also needs something to grow from: a key with hardly any weight gains hardly anything.",
)
def what_is_left(weights):
    return 1 - weights


@wrong(
    "slope-constant",
    "own_slopes",
    "The same nudge moves every weight by the same amount.",
    verdict="the slope is taken to be the same everywhere",
    why="Softmax is steep where the shares are even and flat where one key has nearly everything.",
)
def the_same_everywhere(weights):
    return np.full_like(weights, 0.25)


@wrong(
    "slope-exponential",
    "own_slopes",
    "A weight grows as fast as its exponential.",
    verdict="the sum is forgotten: it grows with the exponential",
    why="A weight is an exponential divided by a sum that holds it too: a nudge raises both.",
)
def numerator_only(weights):
    return weights


@also("slope-exponential", "softmax_slopes")
def numerators_only(weights):
    return np.diag(weights)  # the sum is taken to stay


@wrong(
    "slope-own-only",
    "softmax_slopes",
    "A nudge of one score moves the weight of that key alone.",
    verdict="the other weights are taken to stay",
    why="A row of weights makes 1 before and after: what one key gains, the others lose.",
)
def others_stay(weights):
    return np.diag(weights * (1 - weights))


@wrong(
    "slope-equal-loss",
    "softmax_slopes",
    "What one key gains, the others lose in equal parts.",
    verdict="the loss is shared evenly among the other keys",
    why="The other exponentials stay and only the sum grows: each other weight is divided by the same, and loses in "
    "proportion to itself.",
)
def losses_shared_evenly(weights):
    gain, others = weights * (1 - weights), len(weights) - 1
    loss = np.tile(-gain[:, None] / max(others, 1), len(weights))
    return np.where(np.eye(len(weights)) > 0, gain[:, None], loss)


@wrong(
    "slope-all-gain",
    "softmax_slopes",
    "A nudge of one score lifts the other weights as well.",
    verdict="the sign is lost: the other weights fall",
    why="The nudge makes the sum larger, and the other exponentials are divided by it.",
)
def all_gain(weights):
    return np.abs(np.diag(weights) - np.outer(weights, weights))


@wrong(
    "slope-diagonal-missing",
    "softmax_slopes",
    "Every slope is minus the product of two weights.",
    verdict="on the diagonal the weight itself is missing",
    why="A nudge of its own score raises a weight: by the weight itself, less the part that the larger sum takes back.",
)
def losses_only(weights):
    return -np.outer(weights, weights)


belief(
    "scale-delays",
    "The division only makes saturation come later.",
    verdict="the division is taken to slow the growth down, not to end it",
    why="√d_k grows exactly as fast as the typical dot product, so their quotient does not grow at all.",
)
