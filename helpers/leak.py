"""A very small language model that may or may not read its own answers: the experiment of notebook 04."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .attention import softmax


def train_next_token(
    allowed: NDArray[np.bool_], vocab: int = 8, steps: int = 200, seed: int = 0
) -> tuple[float, NDArray[np.floating]]:
    """Train attention to predict the next of random tokens, and return where it ends.

    The model is a table of scores, query position by key position, and a gain: each position reads the tokens
    by the weights of its row, and guesses the next one as softmax(gain * what it read). Both are trained by
    gradient descent on the mean of -ln(probability of the right token), on 64 new sequences a step.

    Parameters
    ----------
    allowed : ndarray of bool, shape (T, T)
        True where a position may read another. The last position has no next token and is left out.
    vocab : int
        How many kinds of tokens there are.
    steps : int
        Steps of gradient descent.
    seed : int
        Of the tokens.

    Returns
    -------
    loss : float
        The mean over the last 64 sequences, in nats.
    weights : ndarray, shape (T - 1, T)
        Whom each position reads in the end.

    Examples
    --------
    >>> from helpers import patterns
    >>> loss, weights = train_next_token(patterns.causal(3), steps=10)
    >>> weights.shape
    (2, 3)
    """
    allowed = np.asarray(allowed, dtype=bool)[:-1]
    n_q, T = allowed.shape
    rng = np.random.default_rng(seed)
    scores, gain = np.zeros(allowed.shape), 1.0
    for _ in range(steps):
        tokens = np.eye(vocab)[rng.integers(vocab, size=(64, T))]  # (64, T, vocab), one-hot
        weights = softmax(np.where(allowed, scores, -np.inf))
        read = weights @ tokens  # (n_q, T) @ (64, T, vocab) -> (64, n_q, vocab)
        guess = softmax(gain * read)
        answers = tokens[:, 1:]
        error = (guess - answers) / (64 * n_q)  # gradient of the loss by gain * read
        by_weight = gain * np.einsum("bqv,bkv->qk", error, tokens)
        mean = (weights * by_weight).sum(axis=-1, keepdims=True)
        scores -= 20 * weights * (by_weight - mean)  # through the softmax of each row
        gain -= 5 * float((error * read).sum())
    return float(-np.log((guess * answers).sum(axis=-1)).mean()), weights
