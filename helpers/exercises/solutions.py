"""The reference solutions: the only place where an answer to an exercise stands as code.

They use the names that the notebooks import at their top, and nothing else.
"""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
    import torch


def my_softmax(scores):
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1, keepdims=True)


def my_attention_row(q, K, V):
    scores = K @ q / len(q) ** 0.5  # (n_k, d_k) @ (d_k,) -> (n_k,)
    exps = np.exp(scores - scores.max())
    weights = exps / exps.sum()
    return weights @ V  # (n_k,) @ (n_k, d_v) -> (d_v,)


def my_scores(Q, K):
    return Q @ K.T / Q.shape[-1] ** 0.5  # (n_q, d_k) @ (d_k, n_k) -> (n_q, n_k)


def my_attention(Q, K, V):
    scores = Q @ K.T / Q.shape[-1] ** 0.5
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exps / exps.sum(axis=-1, keepdims=True)
    return weights @ V  # (n_q, n_k) @ (n_k, d_v) -> (n_q, d_v)


def my_slopes(weights):
    return np.diag(weights) - np.outer(weights, weights)


def my_causal_pattern(n):
    return np.tril(np.ones((n, n), dtype=bool))


def my_masked_weights(scores, allowed):
    scores = np.where(allowed, scores, -np.inf)
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1, keepdims=True)


def my_combined(keep):
    return np.tri(len(keep), dtype=bool) & keep  # keep goes along the keys of every row


def my_to_allowed(given, kind):
    return given != 0 if kind == "allowed" else given == 0


def my_causal_attention(Q, K, V):
    scores = Q @ K.T / Q.shape[-1] ** 0.5  # (T, d_k) @ (d_k, T) -> (T, T)
    future = np.triu(np.ones(scores.shape, dtype=bool), k=1)
    scores = np.where(future, -np.inf, scores)
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = exps / exps.sum(axis=-1, keepdims=True)
    return weights @ V  # (T, T) @ (T, d_v) -> (T, d_v)


def my_causal_attention_in_torch(Q, K, V):
    scores = Q @ K.T / Q.shape[-1] ** 0.5
    future = torch.triu(torch.ones_like(scores, dtype=torch.bool), diagonal=1)
    scores = scores.masked_fill(future, -math.inf)
    return torch.softmax(scores, dim=-1) @ V


def my_causal_attention_in_jax(Q, K, V):
    scores = Q @ K.T / Q.shape[-1] ** 0.5
    future = jnp.triu(jnp.ones_like(scores, dtype=bool), k=1)
    scores = jnp.where(future, -jnp.inf, scores)
    return jax.nn.softmax(scores, axis=-1) @ V


def my_split_heads(X, n_heads):
    cut = X.reshape(*X.shape[:-1], n_heads, -1)  # (..., T, n_heads, d_head)
    return cut.swapaxes(-3, -2)


def my_merge_heads(H):
    side_by_side = H.swapaxes(-3, -2)  # (..., T, n_heads, d_head)
    return side_by_side.reshape(*side_by_side.shape[:-2], -1)


def my_multi_head(X, W_Q, W_K, W_V, W_O, n_heads, allowed):
    cut = [Y.reshape(*Y.shape[:-1], n_heads, -1) for Y in (X @ W_Q, X @ W_K, X @ W_V)]
    Q, K, V = [Y.swapaxes(-3, -2) for Y in cut]  # (..., n_heads, T, d_head)
    scores = Q @ K.swapaxes(-2, -1) / Q.shape[-1] ** 0.5  # (..., n_heads, T, T)
    scores = np.where(allowed, scores, -np.inf)
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    heads = exps / exps.sum(axis=-1, keepdims=True) @ V
    joined = heads.swapaxes(-3, -2).reshape(*X.shape[:-1], -1)
    return joined @ W_O


def my_next_score(running_max, running_sum, score):
    new_max = max(running_max, score)
    return np.array([new_max, running_sum * np.exp(running_max - new_max) + np.exp(score - new_max)])


def my_next_tile(scores, running_max, running_sum):
    new_max = np.maximum(running_max, scores.max(axis=-1, keepdims=True))
    exps = np.exp(scores - new_max)
    new_sum = running_sum * np.exp(running_max - new_max) + exps.sum(axis=-1, keepdims=True)
    return np.hstack([new_max, new_sum])


def my_add_tile(scores, V, running_max, running_sum, out):
    new_max = np.maximum(running_max, scores.max(axis=-1, keepdims=True))
    shrink = np.exp(running_max - new_max)  # turns exp(score - old maximum) into exp(score - new maximum)
    exps = np.exp(scores - new_max)
    new_sum = running_sum * shrink + exps.sum(axis=-1, keepdims=True)
    return np.hstack([new_max, new_sum, out * shrink + exps @ V])


def my_tiled_attention(Q, K, V, allowed, size):
    running_max = np.full((len(Q), 1), np.finfo(float).min)  # not -inf: -inf less -inf is not a number
    running_sum, out = np.zeros((len(Q), 1)), np.zeros((len(Q), V.shape[-1]))
    for first in range(0, len(K), size):
        keys = slice(first, first + size)
        scores = np.where(allowed[:, keys], Q @ K[keys].T / Q.shape[-1] ** 0.5, -np.inf)
        new_max = np.maximum(running_max, scores.max(axis=-1, keepdims=True))
        shrink, exps = np.exp(running_max - new_max), np.exp(scores - new_max)
        running_max, running_sum = new_max, running_sum * shrink + exps.sum(axis=-1, keepdims=True)
        out = out * shrink + exps @ V[keys]
    return out / running_sum


def my_picture(heads, head, allowed):
    return np.where(allowed, heads[head], -1)  # a colour of its own for what is blocked


def my_lengths(A, V, W_O):
    return A * np.linalg.norm(V @ W_O, axis=-1)  # (n_q, n_k) * (n_k,)


SOLUTIONS: dict[str, str] = {
    id: inspect.getsource(function)
    for id, function in {
        "01-softmax": my_softmax,
        "01-attention-row": my_attention_row,
        "02-scores": my_scores,
        "02-attention": my_attention,
        "03-softmax-slopes": my_slopes,
        "04-causal-pattern": my_causal_pattern,
        "04-masked-weights": my_masked_weights,
        "05-combine": my_combined,
        "05-converter": my_to_allowed,
        "06-causal-attention": my_causal_attention,
        "06-causal-attention-torch": my_causal_attention_in_torch,
        "06-causal-attention-jax": my_causal_attention_in_jax,
        "07-split-heads": my_split_heads,
        "07-merge-heads": my_merge_heads,
        "07-multi-head": my_multi_head,
        "08-next-score": my_next_score,
        "08-next-tile": my_next_tile,
        "08-add-tile": my_add_tile,
        "08-tiles": my_tiled_attention,
        "09-picture": my_picture,
        "09-lengths": my_lengths,
        "10-repair-attention": my_causal_attention,
        "10-repair-weights": my_masked_weights,
        "10-repair-join": my_merge_heads,
    }.items()
}
