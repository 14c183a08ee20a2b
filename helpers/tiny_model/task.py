"""What the tiny model reads: a block of letters, then the same block again; and how well anyone could guess it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Tokens = NDArray[np.integer]
Floats = NDArray[np.floating]

LETTERS = "^abcdefghijklmnopqrstuvwxyz"  # a token is a place in it; ^ opens every sequence, and only that
VOCAB = len(LETTERS)
T = 33  # the opening and 32 letters: the longest block twice
PERIODS = np.arange(12, 17)  # how long a block may be
HABIT = 0.5  # how often a letter is followed by its favourite

__all__ = [
    "HABIT",
    "LETTERS",
    "PERIODS",
    "VOCAB",
    "T",
    "best_possible",
    "favourite",
    "parts",
    "sequences",
    "text",
]


def favourite(tokens: Tokens) -> Tokens:
    """Name the favourite follower of each letter: the seventh after it in the alphabet, which is a ring.

    Examples
    --------
    >>> text(favourite(np.array([1, 20])))
    'ha'
    """
    return (np.asarray(tokens) - 1 + 7) % (VOCAB - 1) + 1


def sequences(n: int, seed: int) -> tuple[Tokens, Tokens]:
    """Draw sequences: ^, a block of random letters, and the same block again and again up to the end.

    In a block the first letter is any; each next one is the favourite of the one before with probability 0.5,
    else any. Blocks have 12 to 16 letters, so that where a block begins again cannot be told from the position.

    Parameters
    ----------
    n : int
        How many sequences.
    seed : int
        The same seed draws the same sequences.

    Returns
    -------
    tokens : ndarray of int, shape (n, 33)
    periods : ndarray of int, shape (n,)
        The length of each block.

    Examples
    --------
    >>> tokens, periods = sequences(1, seed=0)
    >>> text(tokens[0]), periods
    ('^qnuipbievcjqxzsqqnuipbievcjqxzsq', array([16]))
    """
    rng = np.random.default_rng(seed)
    periods = rng.choice(PERIODS, size=n)
    block = rng.integers(1, VOCAB, size=(n, PERIODS.max()))
    by_habit = rng.random(block.shape) < HABIT
    for place in range(1, block.shape[1]):
        block[:, place] = np.where(by_habit[:, place], favourite(block[:, place - 1]), block[:, place])
    places = np.arange(T - 1) % periods[:, None]
    opening = np.zeros((n, 1), dtype=block.dtype)
    return np.concatenate([opening, np.take_along_axis(block, places, axis=1)], axis=1), periods


def parts(periods: Tokens) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Say which predictions fall into the first block and which into its repetition.

    Position i predicts token i + 1. The first letter of the repetition belongs to neither: nothing says when it comes.

    Parameters
    ----------
    periods : ndarray of int, shape (n,)

    Returns
    -------
    first, second : ndarray of bool, shape (n, 32)

    Examples
    --------
    >>> first, second = parts(np.array([12]))
    >>> first.sum(), second.sum()
    (np.int64(12), np.int64(19))
    """
    predicted = np.arange(1, T)
    periods = np.asarray(periods)[:, None]
    return predicted <= periods, predicted > periods + 1


def best_possible(tokens: Tokens) -> Floats:
    """Give the probabilities of the next token that are right for whoever knows how sequences are drawn.

    By Bayes' rule: each length of the block that fits the tokens so far predicts, and counts as much as it is likely.
    No model can have a lower expected loss.

    Parameters
    ----------
    tokens : ndarray of int, shape (n, 33)
        As `sequences` draws them.

    Returns
    -------
    ndarray, shape (n, 32, 27)
        At [:, i] the probabilities of token i + 1.

    Examples
    --------
    >>> tokens, _ = sequences(2, seed=0)
    >>> best_possible(tokens)[0, 30].argmax() == tokens[0, 31]
    np.True_
    """
    n, rows = len(tokens), np.arange(len(tokens))
    chance = np.full((VOCAB, VOCAB), (1 - HABIT) / (VOCAB - 1))  # of a letter after a letter, in a block
    chance[np.arange(1, VOCAB), favourite(np.arange(1, VOCAB))] += HABIT
    chance[:, 0] = 0
    chance[0, 1:] = 1 / (VOCAB - 1)
    likely = np.full((n, len(PERIODS)), 1 / len(PERIODS))
    best = np.empty((n, T - 1, VOCAB))
    for i in range(T - 1):
        by_period = np.repeat(chance[tokens[:, i]][:, None], len(PERIODS), axis=1)  # (n, periods, VOCAB)
        for number, period in enumerate(PERIODS):
            if i >= period:  # this block is over, and token i + 1 - period comes again
                by_period[:, number] = np.eye(VOCAB)[tokens[:, i + 1 - period]]
        best[:, i] = (likely[:, None] @ by_period)[:, 0]  # (n, 1, periods) @ (n, periods, VOCAB)
        likely = likely * by_period[rows, :, tokens[:, i + 1]]
        likely /= likely.sum(axis=1, keepdims=True)
    return best


def text(tokens: Tokens) -> str:
    """Write tokens as letters.

    Examples
    --------
    >>> text(np.array([0, 1, 26]))
    '^az'
    """
    return "".join(LETTERS[token] for token in np.asarray(tokens).ravel())
