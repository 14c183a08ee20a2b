"""Wrong beliefs about heads."""

from __future__ import annotations

import numpy as np

from .catalogue import also, belief, wrong
from .plain import blocked, costs, merge, softmax, split, weigh


@wrong(
    "merge",
    "split_heads",
    "A reshape alone splits and joins the heads.",
    verdict="the heads are cut or joined by a reshape alone, which mixes positions",
    why="The numbers lie position by position, heads inside. The two axes have to change places as well, or "
    "a head holds parts of several tokens.",
    source="jsbaan/transformer-from-scratch PR #6; hyunwoongko/transformer #15; FuxiCTR #30; "
    "QAnet-pytorch #2",
)
def cut_by_reshape(X, n_heads):
    T, d_model = X.shape
    return X.reshape(n_heads, T, d_model // n_heads)


@also("merge", "merge_heads")
def join_by_reshape(H):
    n_heads, T, d_head = H.shape
    return H.reshape(T, n_heads * d_head)


@also("merge", "multi_head_attention")
def heads_joined_by_reshape(X, W_Q, W_K, W_V, W_O, n_heads, allowed):
    Q, K, V = (split(X @ W, n_heads) for W in (W_Q, W_K, W_V))
    heads = np.stack([weigh(Q[h], K[h], allowed) @ V[h] for h in range(n_heads)])
    return heads.reshape(len(X), -1) @ W_O  # heads and positions have not changed places


@wrong(
    "heads-interleaved",
    "split_heads",
    "Head h takes every n_heads-th feature.",
    verdict="the features are dealt out in turn instead of in blocks",
    why="Head 0 gets the first d_head features in a row, head 1 the next: "
    "the projections are laid out in that order.",
)
def heads_interleaved(X, n_heads):
    return np.stack([X[:, h::n_heads] for h in range(n_heads)])


@also("heads-interleaved", "merge_heads")
def joined_in_turn(H):
    return np.moveaxis(H, 0, -1).reshape(H.shape[1], -1)  # a feature of each head, then the next


@also("heads-interleaved", "reshape_alone")
def columns_in_turn(X, n_heads):
    return np.stack([X[:, h::n_heads] for h in range(n_heads)])


@wrong(
    "heads-inside",
    "split_heads",
    "After the cut the positions still come first.",
    verdict="cut into heads, but the head axis still stands behind the positions",
    why="A product of stacked matrices works on the last two axes. With the heads among these, "
    "heads would be compared with heads.",
)
def heads_inside(X, n_heads):
    return X.reshape(len(X), n_heads, -1)  # heads and positions have not changed places


@also("heads-inside", "scores_of_sizes")
def heads_with_heads(T, d_model, n_heads):
    Q = K = np.zeros((T, n_heads, d_model // n_heads))
    return Q @ K.swapaxes(-2, -1)


@wrong(
    "reshape-splits",
    "reshape_alone",
    "A reshape to (n_heads, T, d_head) gives each head its features.",
    verdict="the reshape is taken to cut every row into heads",
    why="A reshape keeps the numbers in their order and fills the new shape from the front: "
    "whole rows go to the first head.",
)
def reshape_splits(X, n_heads):
    d_head = X.shape[1] // n_heads
    return np.stack([X[:, h * d_head : (h + 1) * d_head] for h in range(n_heads)])


@also("reshape-splits", "multi_head_attention")
def heads_cut_by_reshape(X, W_Q, W_K, W_V, W_O, n_heads, allowed):
    T = len(X)
    Q, K, V = ((X @ W).reshape(n_heads, T, -1) for W in (W_Q, W_K, W_V))  # this does not cut the rows
    return merge(np.stack([weigh(Q[h], K[h], allowed) @ V[h] for h in range(n_heads)])) @ W_O


@wrong(
    "reshape-twice",
    "multi_head_attention",
    "If the same reshape cuts the heads and joins them again, nothing is lost.",
    verdict="cut by a reshape alone, and joined by one: in between, the heads hold parts of several tokens",
    why="The second reshape puts the numbers back, but attention came in between, on rows that "
    "are no position's features.",
    source="reczoo/FuxiCTR #30",
)
def reshape_twice(X, W_Q, W_K, W_V, W_O, n_heads, allowed):
    T = len(X)
    Q, K, V = ((X @ W).reshape(n_heads, T, -1) for W in (W_Q, W_K, W_V))
    heads = np.stack([weigh(Q[h], K[h], allowed) @ V[h] for h in range(n_heads)])
    return heads.reshape(T, -1) @ W_O


@wrong(
    "scores-of-features",
    "scores_of_sizes",
    "The scores compare the features of a head.",
    verdict="features are compared with features, not queries with keys",
    why="A product sums over the width that both sides share; a query's row and a key's column stay.",
)
def scores_of_features(T, d_model, n_heads):
    d_head = d_model // n_heads
    return np.zeros((n_heads, d_head, d_head))


@wrong(
    "dout",
    "split_heads",
    "Every head has the full width.",
    verdict="the width is shared out among the heads, not given to each",
    why="Together the heads are d_model wide: 512 and 8 heads make 64 each.",
    source="rasbt/LLMs-from-scratch #443; labml #180",
)
def full_width_each(X, n_heads):
    return np.stack([X] * n_heads)


@also("dout", "head_width")
def full_width(d_model, n_heads):
    return d_model


@wrong(
    "heads-averaged",
    "merge_heads",
    "The outputs of the heads are averaged.",
    verdict="the heads are averaged instead of put side by side",
    why="Side by side nothing of any head is lost; it is W_O, which is learned, that mixes them.",
)
def heads_averaged(H):
    return H.mean(axis=0)


@wrong(
    "heads-stacked",
    "merge_heads",
    "The outputs of the heads are put below one another.",
    verdict="the heads are joined along the positions, not along the features",
    why="Every position keeps one row, and in it stands side by side what each of its heads has read.",
)
def heads_stacked(H):
    return np.concatenate(H, axis=0)


@also("heads-interleaved", "joined_features")
def features_in_turn(queries, keys, values):
    heads = [weigh(q, k, True) @ v for q, k, v in zip(queries, keys, values, strict=True)]
    return np.stack(heads, axis=-1).reshape(len(heads[0]), -1).T


@wrong(
    "heads-ignored",
    "multi_head_attention",
    "Heads are only a way to store one attention.",
    verdict="one attention over the full width instead of one for each head",
    why="Each head compares its own part of the features and has its own "
    "weights: two heads may read from two places at once.",
)
def heads_ignored(X, W_Q, W_K, W_V, W_O, allowed):
    weights = weigh(X @ W_Q, X @ W_K, allowed)
    return weights @ (X @ W_V) @ W_O


@also("heads-ignored", "joined_features")
def one_attention_over_all(queries, keys, values):
    weights = weigh(merge(queries), merge(keys), True)
    return (weights @ merge(values)).T


@wrong(
    "projection-missing",
    "multi_head_attention",
    "The joined heads are the result.",
    verdict="the output projection W_O is missing",
    why="What the heads have read is projected by W_O: it mixes them, and can lengthen or shorten what is written.",
)
def projection_missing(X, W_Q, W_K, W_V, n_heads, allowed):
    Q, K, V = (split(X @ W, n_heads) for W in (W_Q, W_K, W_V))
    return merge(np.stack([weigh(Q[h], K[h], allowed) @ V[h] for h in range(n_heads)]))


@wrong(
    "v-embed",
    "multi_head_attention",
    "V holds the embeddings of the tokens.",
    verdict="V is taken for X itself",
    why="V = X @ W_V is learned, and may have another width than X.",
    source="Deep-ML #53, learn.md",
)
def v_is_x(X, W_Q, W_K, W_O, n_heads, allowed):
    Q, K, V = (split(Y, n_heads) for Y in (X @ W_Q, X @ W_K, X))  # V is X itself
    return merge(np.stack([weigh(Q[h], K[h], allowed) @ V[h] for h in range(n_heads)])) @ W_O


@wrong(
    "more-heads-more-parameters",
    "parameters",
    "More heads need more parameters.",
    verdict="more heads are taken to need more parameters",
    why="The heads share out d_model: the four matrices stay (d_model, d_model), however they are cut.",
)
def more_heads_more_parameters(d_model, n_heads):
    return n_heads * 4 * d_model**2


@also("more-heads-more-parameters", "head_costs")
def every_head_costs_the_whole(T, d_model, n_heads, itemsize):
    return n_heads * costs(T, d_model, 1, itemsize)


@wrong(
    "heads-multiply-products",
    "head_costs",
    "More heads mean more multiplications.",
    verdict="the products of each head are counted at full width",
    why="A head's products are narrower by the same factor by which there are more of them.",
)
def heads_multiply_products(T, d_model, n_heads, itemsize):
    parameters, products, scores, exps = costs(T, d_model, n_heads, itemsize)
    return np.array([parameters, n_heads * products, scores, exps])


@wrong(
    "heads-divide-parameters",
    "parameters",
    "With narrower heads there are fewer parameters.",
    verdict="narrower heads, but as many more of them",
    why="A head is d_model / n_heads wide and there are n_heads of them: the product is d_model again.",
)
def heads_divide_parameters(d_model, n_heads):
    return 4 * d_model**2 // n_heads


@also("heads-divide-parameters", "head_costs")
def one_head_counted(T, d_model, n_heads, itemsize):
    return costs(T, d_model, n_heads, itemsize) / n_heads  # what one of the heads costs


@wrong(
    "axes-by-meaning",
    "weights_of_texts",
    "NumPy lays each text's pattern on that text.",
    verdict="the axes are matched by what they mean, but NumPy counts them from the right",
    why="NumPy does not know which axis is the text. It lines two shapes up at their last axes and "
    "stretches axes of size 1.",
    source="lsdefine/attention-is-all-you-need-keras #36",
)
def axes_by_meaning(texts, n_heads, keep):
    heads = np.stack([split(X, n_heads) for X in texts])
    scores = heads @ heads.swapaxes(-2, -1) / heads.shape[-1] ** 0.5
    allowed = keep[:, None, None, :] == 1  # (text, 1, 1, key)
    return softmax(blocked(scores, allowed)).reshape(len(texts) * n_heads, -1)


@wrong(
    "pattern-everywhere",
    "weights_of_texts",
    "What is padding in one text is blocked in all.",
    verdict="one text's padding is blocked in every text and head",
    why="The pattern keeps an entry for each text; none of them counts for all.",
)
def pattern_everywhere(texts, n_heads, keep):
    heads = np.stack([split(X, n_heads) for X in texts])
    scores = heads @ heads.swapaxes(-2, -1) / heads.shape[-1] ** 0.5
    allowed = (keep == 1).all(axis=0)  # (key,)
    return softmax(blocked(scores, allowed)).reshape(len(texts) * n_heads, -1)


@wrong(
    "average-scores",
    "average_of_heads",
    "Heads with opposite scores cancel out.",
    verdict="the scores are averaged, not the weights",
    why="Each head takes the softmax of its own scores first. Weights are never negative, so no two can cancel.",
)
def average_scores(queries, keys):
    scores = queries @ keys.swapaxes(-2, -1) / queries.shape[-1] ** 0.5
    return softmax(scores.mean(axis=0))


@wrong(
    "heads-added",
    "average_of_heads",
    "The heads' weights are added up.",
    verdict="the weights are added, not averaged",
    why="Each head's row makes 1, so a sum of rows makes as much as there are heads; an average makes 1 again.",
)
def heads_added(queries, keys):
    return sum(weigh(q, k, True) for q, k in zip(queries, keys, strict=True))


belief(
    "fits-both",
    "A further example that fits confirms a rule.",
    verdict="a case that fits both rules is taken for evidence",
    why="Where two rules name the same word, the picture is the same whichever of them holds.",
)
belief(
    "heads",
    "Each head has a role, such as grammar or meaning.",
    verdict="a meaning is read off one picture of a head",
    why="Many heads can be removed with little loss, some are specialised indeed: one picture of one "
    "sentence cannot tell which.",
    source="transformer-explainer; Neuromatch; against it arXiv 1905.10650, and partly arXiv 1905.09418",
)
