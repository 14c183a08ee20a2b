"""A head built by hand, to see how much one picture of a head proves: the experiment of notebook 07."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .attention import softmax

SENTENCES = (  # with the places of verb and subject, counted from 0
    ("yesterday the baby slept", 3, 2),
    ("birds in trees sing", 3, 0),
    ("a small dog barks", 3, 2),
)


def built_head(words: Sequence[str], score: float = 4.0) -> NDArray[np.floating]:
    """Weights of a head that was constructed, not trained: every word reads the word before it.

    Keys are one-hot positions, and so are queries, those of the position before. What the words are does not enter.

    Parameters
    ----------
    words : sequence of str, length T
    score : float
        Of the word before; all others have 0.

    Returns
    -------
    ndarray, shape (T, T)

    Examples
    --------
    >>> built_head(["the", "dog", "barks"]).argmax(axis=-1)
    array([0, 0, 1])
    """
    position = np.eye(len(words))
    before = np.maximum(np.arange(len(words)) - 1, 0)  # the first word has none, and reads itself
    Q, K = score * position[before], position
    return softmax(Q @ K.T)
