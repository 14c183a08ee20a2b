"""What the live figures are given, checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .. import validate


def square(name: str, array: ArrayLike) -> np.ndarray:
    """A square matrix of finite numbers, as float64."""
    (values,) = validate.floats(**{name: array})
    values = values.astype(np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not values.size:
        raise validate.refusal(
            f"{name} must be a square matrix",
            f"shape {values.shape}",
            "pass one row and one column per token",
        )
    validate.finite(name, values)
    return values


def position(name: str, value: int, n: int) -> int:
    """A position from 0 to n - 1; a negative one counts from the end."""
    if not -n <= value < n:
        raise validate.refusal(
            f"{name} must be a position from 0 to {n - 1}", str(value), "count rows from 0, as NumPy does"
        )
    return value % n
