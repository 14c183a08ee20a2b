"""The leak of notebook 04 is real: with the mask chance is the limit, without it the next token is read."""

from __future__ import annotations

import numpy as np

from helpers import patterns
from helpers.leak import train_next_token


def test_with_the_mask_the_loss_stays_at_chance() -> None:
    loss, weights = train_next_token(patterns.causal(6))
    assert abs(loss - np.log(8)) < 0.02
    assert np.all(weights[~patterns.causal(6)[:-1]] == 0)


def test_without_it_every_position_learns_to_read_the_next() -> None:
    loss, weights = train_next_token(patterns.full(6))
    assert loss < 0.01
    assert weights.argmax(axis=-1).tolist() == [1, 2, 3, 4, 5]
    assert weights.max(axis=-1).min() > 0.9


def test_the_next_token_alone_is_the_leak() -> None:
    """One key too many, the next position's, is enough."""
    one_ahead = np.tri(6, 6, 1, dtype=bool)
    assert train_next_token(one_ahead)[0] < 0.01
