"""Wrong beliefs about what a position is told of the others, and about the shapes that come of it."""

from __future__ import annotations

import numpy as np

from . import reading, sizes, softmaxes  # noqa: F401, their entries get further programs here
from .catalogue import also, belief, wrong


@wrong(
    "context-for-free",
    "each_alone",
    "A network that is given a whole text sees all of it at every position.",
    verdict="every position is taken to be told of the whole text",
    why="A matrix product from the right works on each row of X separately: nothing passes from one row to another.",
)
def whole_text_everywhere(X):
    return X + X.sum(axis=0)  # every row is told of all rows


@wrong(
    "left-to-right",
    "each_alone",
    "Whatever stands later has read what stands before it.",
    verdict="later positions are taken to have read the earlier ones, and only those",
    why="Nothing in these products is read from left to right: no row waits for another, and none comes first.",
)
def told_of_all_before(X):
    return np.cumsum(X, axis=0)  # each row is told of those before it


@wrong(
    "neighbour",
    "each_alone",
    "A word that depends on its neighbour feels it when the neighbour changes.",
    verdict="a change is taken to reach the next word, because its meaning depends on it",
    why="What a word means to a reader is not in its row. Only a product that mixes rows can bring it there.",
)
def told_of_one_before(X):
    return X + np.roll(X, 1, axis=0)  # each row is told of the row before it


@wrong(
    "position-alone",
    "self_attention",
    "An output belongs to its own token and depends on nothing else.",
    verdict="each output is taken to depend on its own token alone",
    why="An output is a sum of the values of all keys, and each weight in it is above 0.",
)
def own_row_only(X):
    return X  # no row reads another


@also("left-to-right", "self_attention")
def reads_all_before(X):
    return np.cumsum(X, axis=0)  # each row is told of those before it


@also("neighbour", "self_attention")
def reads_one_before(X):
    return X + np.roll(X, 1, axis=0)  # each row is told of the row before it


@also("order-for-free", "self_attention")
def places_known(X):
    place = np.arange(1, len(X) + 1)[:, None]
    return X + (place * X).sum(axis=0)  # the places count as well


@wrong(
    "bag-of-words",
    "self_attention",
    "Without positions every output is the same, whatever the order.",
    verdict="all outputs are taken for one mixture of the whole text",
    why="The keys and values are the same set in any order, but each output still belongs to its own query.",
)
def one_mixture(X):
    return np.tile(X.mean(axis=0), (len(X), 1))  # one mixture for all positions


@also("position-alone", "readings")
def own_value_only(A, values):
    return values  # each position keeps its own


@also("direction", "readings")
def down_the_columns(A, values):
    return A.T @ values  # read down the columns


@also("lookup", "readings")
def value_at_the_largest(A, values):
    return values[A.argmax(axis=-1)]


@also("uniform", "readings")
def even_shares(A, values):
    return np.full(len(A), values.mean())


@also("qkv-inputs", "changed_counts")
def keys_and_values_from_elsewhere(X, X_after):
    changed = (X_after != X).any(axis=-1).sum()
    return np.array([changed, 0, 0, changed * len(X)])  # K and V have inputs of their own


@wrong(
    "projection-mixes",
    "changed_counts",
    "A matrix product mixes all rows of X.",
    verdict="the product X @ W is taken to mix the rows of X",
    why="Row i of X @ W is row i of X times W. It is a product with X on the right that would mix rows.",
)
def every_row_of_every_row(X):
    n = len(X)
    return np.array([n, n, n, n * n])  # one changed row is taken to reach every row of X @ W


@wrong(
    "column-forgotten",
    "changed_counts",
    "A changed word changes its own row of the scores.",
    verdict="the column is forgotten: a word is also a key",
    why="A word asks in its row and is asked in its column: its query and its key are both new.",
)
def own_row_of_the_scores(X, X_after):
    changed = (X_after != X).any(axis=-1).sum()
    return np.array([changed, changed, changed, changed * len(X)])


@wrong(
    "cell-alone",
    "changed_counts",
    "One changed row of Q and one of K change one dot product.",
    verdict="only the word's dot product with itself is taken to change",
    why="The new query meets every key, and every query meets the new key.",
)
def own_cell_of_the_scores(X, X_after):
    changed = (X_after != X).any(axis=-1).sum()
    return np.array([changed, changed, changed, changed**2])


@also("product-reversed", "projection_of_sizes")
def rows_and_columns_exchanged(T, d_k):
    return np.zeros((d_k, T))


@also("product-left", "projection_of_sizes")
def as_wide_as_x(T, d_model):
    return np.zeros((T, d_model))


@also("product-inner", "projection_of_sizes")
def shared_width_kept(d_model):
    return np.zeros((d_model, d_model))


@also("dv-equals-dk", "sizes_of_attention")
def output_as_wide_as_a_key(n_q, n_k, d_k):
    return np.array([(n_q, n_k), (n_q, d_k)])


@also("output-is-weights", "sizes_of_attention")
def output_as_wide_as_a_row_of_weights(n_q, n_k):
    return np.array([(n_q, n_k), (n_q, n_k)])


@also("heat-swap", "sizes_of_attention")
def keys_in_the_rows(n_q, n_k, d_v):
    return np.array([(n_k, n_q), (n_q, d_v)])


@wrong(
    "scores-by-feature",
    "sizes_of_attention",
    "The scores compare features with features.",
    verdict="the product sums over the positions and keeps the features",
    why="A score belongs to a query and a key. Q @ K.T has a row for each query, a column for each key, and sums "
    "over the features.",
)
def features_by_features(n_q, d_k, d_v):
    return np.array([(d_k, d_k), (n_q, d_v)])  # Q.T @ K


@wrong(
    "output-as-wide-as-x",
    "sizes_of_attention",
    "The output is as wide as the rows that went in.",
    verdict="the output is given the width of X",
    why="Attention sums values, so its output is as wide as a value. A further projection may lead back to d_model.",
)
def output_as_wide_as_the_input(n_q, n_k, d_model):
    return np.array([(n_q, n_k), (n_q, d_model)])


@wrong(
    "square-scores",
    "sizes_of_attention",
    "The weights form a square matrix.",
    verdict="the weights are taken to be square",
    why="There is a row for each query and a column for each key; square is only the case where both come from "
    "one sequence.",
)
def as_many_keys_as_queries(n_q, d_v):
    return np.array([(n_q, n_q), (n_q, d_v)])


belief(
    "reasoning-for-free",
    "Attention finds the word that matters.",
    verdict="what attention can express is taken for what it does",
    why="Which key wins is settled by the numbers in W_Q and W_K. That they can be right does not make them right.",
)
belief(
    "self-most",
    "A token attends most to itself.",
    verdict="a token is taken to match itself best",
    why="A query and a key of the same token are two different projections of it: nothing makes them alike.",
)
belief(
    "feature-meaning",
    "Each feature of a query stands for one property of the token.",
    verdict="a meaning is seen in single features",
    why="Only dot products are used, and many other vectors have the same ones. No single feature is needed for them.",
)
