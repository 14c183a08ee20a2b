"""Right answers worked out another way: loops over Python floats, cell by cell, blocked keys skipped."""

from __future__ import annotations

import math

import numpy as np


def slow_softmax(scores):
    """Weights of one row; a score of None is blocked, a row of None gives zeros."""
    legal = [score for score in scores if score is not None]
    largest = max(legal, default=0.0)
    exps = [0.0 if score is None else math.exp(score - largest) for score in scores]
    total = math.fsum(exps)
    return [e / total if total else 0.0 for e in exps]


def slow_weights(Q, K, allowed=None, temperature=1.0):
    """(..., n_q, d_k), (..., n_k, d_k) -> (..., n_q, n_k)."""
    Q, K = np.asarray(Q, dtype=float), np.asarray(K, dtype=float)
    shape = (*Q.shape[:-1], K.shape[-2])
    allowed = np.broadcast_to(True if allowed is None else np.asarray(allowed, dtype=bool), shape)
    weights = np.full(shape, np.nan)
    for row in np.ndindex(shape[:-1]):
        q, keys = Q[row].tolist(), K[row[:-1]].tolist()
        scores = [
            math.fsum(a * b for a, b in zip(q, k, strict=True)) / math.sqrt(len(q)) / temperature
            if may
            else None
            for k, may in zip(keys, allowed[row].tolist(), strict=True)
        ]
        weights[row] = slow_softmax(scores)
    return weights


def slow_attention(Q, K, V, allowed=None, temperature=1.0):
    """(..., n_q, d_k), (..., n_k, d_k), (..., n_k, d_v) -> (..., n_q, d_v)."""
    V = np.asarray(V, dtype=float)
    weights = slow_weights(Q, K, allowed, temperature)
    out = np.full((*weights.shape[:-1], V.shape[-1]), np.nan)
    for row in np.ndindex(weights.shape[:-1]):
        for feature in range(V.shape[-1]):
            values = V[row[:-1]][:, feature].tolist()
            out[row][feature] = math.fsum(
                weight * value for weight, value in zip(weights[row].tolist(), values, strict=True) if weight
            )
    return out


def slow_multi_head(X, W_Q, W_K, W_V, W_O, n_heads, allowed=None):
    """(..., T, d_model) -> (..., T, d_model), one head after the other, from its columns of each matrix."""
    X = np.asarray(X, dtype=float)
    out = np.zeros((*X.shape[:-1], np.shape(W_O)[1]))
    d_k, d_v = np.shape(W_Q)[1] // n_heads, np.shape(W_V)[1] // n_heads
    for head in range(n_heads):
        for_scores, for_values = slice(head * d_k, (head + 1) * d_k), slice(head * d_v, (head + 1) * d_v)
        read = slow_attention(X @ W_Q[:, for_scores], X @ W_K[:, for_scores], X @ W_V[:, for_values], allowed)
        out += read @ W_O[for_values]
    return out
