"""Wrong beliefs about heads."""

from __future__ import annotations

import numpy as np

from .catalogue import also, belief, wrong
from .plain import merge, split, weigh


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


@wrong(
    "projection-missing",
    "multi_head_attention",
    "The joined heads are the result.",
    verdict="the output projection W_O is missing",
    why="Side by side the heads do not mix. W_O lets each output feature draw on all of them.",
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


@wrong(
    "heads-divide-parameters",
    "parameters",
    "With narrower heads there are fewer parameters.",
    verdict="narrower heads, but as many more of them",
    why="A head is d_model / n_heads wide and there are n_heads of them: the product is d_model again.",
)
def heads_divide_parameters(d_model, n_heads):
    return 4 * d_model**2 // n_heads


belief(
    "heads",
    "Each head has a role, such as grammar or meaning.",
    verdict="a meaning is read off one picture of a head",
    why="Many heads can be removed with little loss, some are specialised indeed: one picture of one "
    "sentence cannot tell which.",
    source="transformer-explainer; Neuromatch; against it arXiv 1905.10650, and partly arXiv 1905.09418",
)
