"""What the numbers of a test can see: wrong programs run on arrays of your own. The experiment of notebook 06."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .attention import causal_attention

if TYPE_CHECKING:
    from .figures import Picture

PROGRAMS = {  # as notebook 06 calls them
    "no scale": "scale-missing",
    "by d_k": "scale-dk",
    "by root T": "scale-length",
    "swapped": "swap-qk",
    "axis 0": "axis",
    "late mask": "mask-renormalised",
}
SEEN = 1e-6  # relative to the largest output: less is rounding to a test


def outputs(
    Q: ArrayLike, K: ArrayLike, V: ArrayLike, programs: Sequence[str] = ("right",)
) -> NDArray[np.floating]:
    """
    Run causal attention by several programs.

    Parameters
    ----------
    Q, K : array-like, shape (T, d_k)
    V : array-like, shape (T, d_v)
    programs : sequence of str
        Ids of misconceptions, and "right" for the right program.

    Returns
    -------
    ndarray, shape (len(programs), T * d_v)
        The output of each, flat.

    Raises
    ------
    ValueError
        If the shapes do not fit, or a program has no result for these arrays.

    Examples
    --------
    >>> outputs([[1], [2]], [[1], [2]], [[10], [20]], ["right", "mask-ignored"]).round(1)
    array([[10. , 18.8],
           [17.3, 18.8]])
    """
    from .misconceptions import programs_for

    Q, K, V = (np.array(array, dtype=float) for array in (Q, K, V))
    wrong = programs_for("causal_attention")
    runs = [causal_attention if name == "right" else wrong[name] for name in programs]
    return np.array([np.ravel(run(Q, K, V)) for run in runs])


def survivors(Q: ArrayLike, K: ArrayLike, V: ArrayLike) -> Picture:
    """
    Say which of six wrong programs these arrays let through.

    Parameters
    ----------
    Q, K : array-like, shape (T, d_k)
    V : array-like, shape (T, d_v)

    Returns
    -------
    Picture
        A table with the largest difference from the right output, and whether a test would see it. Arrays
        that do not fit together give a sentence.

    Examples
    --------
    >>> survivors([[1], [2]], [[2], [1]], [[10], [20]]).text
    '3 of 6 survive: no scale, by d_k, late mask.'
    """
    from .figures import Picture, svg
    from .figures.picture import tag

    try:
        right, *wrong = outputs(Q, K, V, ["right", *PROGRAMS.values()])
    except ValueError as error:
        return Picture("", str(tag("p", str(error))), str(error))
    gaps = [float(np.abs(one - right).max()) for one in wrong]
    alive = [name for name, gap in zip(PROGRAMS, gaps, strict=True) if gap <= SEEN * np.abs(right).max()]
    said = f": {', '.join(alive)}" if alive else ""
    text = f"{len(alive)} of {len(PROGRAMS)} survive{said}."
    rows = [
        (_size(gap), "survives" if name in alive else "found")
        for name, gap in zip(PROGRAMS, gaps, strict=True)
    ]
    columns = ["largest difference", "verdict"]
    return svg.table(rows, rows=list(PROGRAMS), columns=columns, caption=text, text=text)


def _size(gap: float) -> str:
    return f"{gap:.3g}" if np.isfinite(gap) else "not a number"
