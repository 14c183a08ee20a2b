"""A number that is a power of two, as sizes of models are."""

from __future__ import annotations

import math

from .controls import Number


class Power(Number):
    """A power of two from `low` to `high`, one a step of the slider; a number typed in between goes to the nearest."""

    def __init__(self, name: str, value: int, low: int, high: int) -> None:
        super().__init__(name, value, low, high, step=1, log=True)

    def _set(self, value: float) -> None:
        nearest = 2 ** round(math.log2(max(value, self.low)))
        super()._set(min(nearest, self.high))
        self._show()  # else the box keeps what was typed where the nearest is the number it was before
