"""What the numerical functions accept, and how they say what they do not: expected, got, and the fix."""

from __future__ import annotations

import math
import operator
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

SHOWN = 6  # rows named in a message before "and 12 more"


def refusal(expected: str, got: object, fix: str) -> ValueError:
    """Word an error the one way all of them are worded."""
    return ValueError(f"{expected}, got {got}: {fix}.")


def place(bad: NDArray[np.bool_]) -> tuple[int, ...]:
    """Find the first True."""
    return tuple(np.argwhere(bad)[0].tolist())


def name_rows(chosen: NDArray[np.bool_]) -> str:
    """Name the True entries of `chosen`: "row 3", or "rows (0, 3), (1, 3)" where there are batch axes."""
    rows: list[Any] = [row[0] if len(row) == 1 else tuple(row) for row in np.argwhere(chosen).tolist()]
    if rows == [()]:
        return "the only row"
    more = f" and {len(rows) - SHOWN} more" if len(rows) > SHOWN else ""
    return ("row " if len(rows) == 1 else "rows ") + ", ".join(map(str, rows[:SHOWN])) + more


def _integer(value: Any) -> int | None:
    """Read an int of any kind, without booleans; None if it is none."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def whole_number(name: str, value: Any, least: int = 1) -> int:
    """Read a whole number that is at least `least`."""
    number = _integer(value)
    if number is None or number < least:
        raise refusal(f"{name} must be a whole number, {least} or more", repr(value), "pass such an int")
    return number


def positive_number(name: str, value: Any) -> float:
    """Read a number that is above 0 and finite."""
    try:
        number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        number = math.inf
    if not 0 < number < math.inf:
        fix = "pass a float above 0, such as 0.01 for nearly all weight on the best key"
        raise refusal(f"{name} must be a positive finite number", repr(value), fix)
    return number


def choice(name: str, value: Any, options: tuple[str, ...], fix: str = "write one of these") -> str:
    """Read one of a few words."""
    if not (isinstance(value, str) and value in options):
        raise refusal(f"{name} must be one of {', '.join(map(repr, options))}", repr(value), fix)
    return value


def array(name: str, values: Any) -> NDArray[Any]:
    """Read an array or nested lists, without copying."""
    if isinstance(values, np.ma.MaskedArray):
        fix = "its hidden entries would be used; pass .data, and say what may be read by `allowed`"
        raise refusal(f"{name} must be a plain array", "a masked one", fix)
    try:
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        fix = "give rows of equal length; of a tensor pass tensor.detach().cpu().numpy()"
        raise refusal(f"{name} must be an array", f"a {type(values).__name__} ({error})", fix) from error


def numbers(name: str, values: Any) -> NDArray[Any]:
    """Read an array of real numbers, in the dtype it has."""
    found = array(name, values)
    # numpy has no bfloat16 of its own; what JAX and others bring is known by being part of float32.
    real = found.dtype.kind in "iuf" or (found.dtype.kind == "V" and np.can_cast(found.dtype, np.float32))
    if not real:
        fix = "who may read whom goes in `allowed`" if found.dtype == bool else "convert it to floats"
        raise refusal(f"{name} must hold real numbers", f"dtype {found.dtype}", fix)
    return found


def floats(**values: Any) -> list[NDArray[np.floating]]:
    """Read arrays in the dtype to compute in: their widest, float32 at least; integers count as float64."""
    found = [numbers(name, value) for name, value in values.items()]
    dtypes = [np.dtype(np.float64) if each.dtype.kind in "iu" else each.dtype for each in found]
    dtype = np.result_type(np.float32, *dtypes)
    return [each.astype(dtype, copy=False) for each in found]


def booleans(name: str, values: Any) -> NDArray[np.bool_]:
    """Read an array of booleans, or of the integers 0 and 1."""
    found = array(name, values)
    if found.dtype == bool:
        return found
    if found.dtype.kind in "iu" and ((found == 0) | (found == 1)).all():
        return found.astype(bool)
    if found.dtype.kind in "iu":
        got = "other integers"
        fix = "pass `ids != pad` or the like; and on integers ~ does not mean not, np.logical_not does"
    else:
        got = f"dtype {found.dtype}"
        fix = "of a mask that is added (0 and -inf) pass mask == 0, of one of 1.0 and 0.0 pass mask == 1"
    raise refusal(f"{name} must be boolean, True = may attend, or the integers 0 and 1", got, fix)


def filled(name: str, found: NDArray[Any], shape: str, fix: str, least: int = 2) -> None:
    """Refuse an array with fewer axes than `least`, or with nothing in it."""
    if found.ndim < least or found.size == 0:
        raise refusal(f"{name} must have shape {shape}, no axis empty", f"shape {found.shape}", fix)


def axis_of(found: NDArray[Any], axis: Any) -> int:
    """Read the number of an axis of `found`."""
    n = found.ndim
    number = _integer(axis)
    if number is None or not -n <= number < n:
        raise refusal(f"axis must be a whole number, {-n} to {n - 1}", repr(axis), "-1 is the last, the keys")
    return number


def usable_scores(scores: NDArray[np.floating], axis: int) -> None:
    """Refuse scores that have no softmax: NaN, +inf, and a row of nothing but -inf."""
    bad = np.isnan(scores) | (scores == np.inf)
    if bad.any():
        at = place(bad)
        fix = "find where it arises; only -inf has a meaning, blocked"
        raise refusal("scores must be finite, or -inf where blocked", f"scores{list(at)} = {scores[at]}", fix)
    empty = np.isneginf(scores).all(axis=axis)
    if empty.any():
        fix = "leave one unblocked, or leave the row out"
        raise refusal("every row must have a finite score", f"only -inf in {name_rows(empty)}", fix)


def attention_inputs(Q: NDArray[Any], K: NDArray[Any], V: NDArray[Any] | None = None) -> tuple[int, ...]:
    """Refuse Q, K, V that do not fit each other; the shape of their weights, (..., n_q, n_k)."""
    filled("Q", Q, "(..., n_q, d_k)", "one row per query, so put a single one in brackets: [q]")
    filled("K", K, "(..., n_k, d_k)", "one row per key, so put a single one in brackets: [k]")
    if Q.shape[-1] != K.shape[-1]:
        expected = f"K must be as wide as Q, which has d_k={Q.shape[-1]}"
        raise refusal(expected, f"K with d_k={K.shape[-1]}", "project both to the same width")
    others = {"K": K}
    if V is not None:
        filled("V", V, "(..., n_k, d_v)", "one row per key, so write single numbers as [[10], [20]]")
        if V.shape[-2] != K.shape[-2]:
            fix = "every key comes with one value"
            raise refusal(f"V must have a row for each of the {K.shape[-2]} keys", f"{V.shape[-2]} rows", fix)
        others["V"] = V
    for name, other in others.items():
        if other.shape[:-2] != Q.shape[:-2]:
            expected = f"{name} must have the leading axes of Q, {Q.shape[:-2]}"
            raise refusal(expected, f"{other.shape[:-2]}", "repeat what is shared with np.broadcast_to")
    return (*Q.shape[:-1], K.shape[-2])


def allowed_cells(allowed: Any, shape: tuple[int, ...], empty_rows: str) -> NDArray[np.bool_]:
    """Read `allowed` for weights of `shape`, (..., n_q, n_k), and repeat it to that shape without copying.

    Stricter than broadcasting, in which (n_q, 1) and (1, 1) fit anything by accident, and (B, 1, n_k) beside
    a Q of (B, H, n_q, d_k) is one row per head where B = H.
    """
    choice("empty_rows", empty_rows, ("raise", "zero"))
    if allowed is None:
        return np.broadcast_to(True, shape)
    allowed = booleans("allowed", allowed)
    have, want = allowed.shape[::-1], shape[::-1]
    fits = (
        len(have) in (2, len(want))
        and have[0] == want[0]
        and all(size in (1, full) for size, full in zip(have[1:], want[1:], strict=False))
    )
    if not fits:
        *batch, n_q, n_k = shape
        legal = [f"({n_q}, {n_k})"]
        if batch:
            legal.append(f"({', '.join(f'{size} or 1' for size in batch)}, {n_q}, {n_k})")
        expected = f"allowed must have shape {' or '.join(legal)}, or 1 for {n_q} where all queries are alike"
        fix = "rows are queries; patterns.keys(keep) is for padding, and allowed[:, None] adds a head axis"
        raise refusal(expected, f"shape {allowed.shape}", fix)
    allowed = np.broadcast_to(allowed, shape)
    if empty_rows == "raise":
        no_empty_rows(
            allowed, 'allow one, such as its own position; attention gives zeros by empty_rows="zero"'
        )
    return allowed


def no_empty_rows(allowed: NDArray[np.bool_], fix: str) -> None:
    """Refuse a query with no allowed key: no weights of such a row sum to 1."""
    empty = ~allowed.any(axis=-1)
    if empty.any():
        raise refusal("every query must have an allowed key", f"none in {name_rows(empty)}", fix)


def finite(name: str, X: NDArray[Any], used: NDArray[np.bool_] | bool = True) -> None:
    """Refuse NaN and inf in the rows of X that are `used`, (...,) or all."""
    bad = ~np.isfinite(X) & np.asarray(used)[..., None]
    if bad.any():
        at = place(bad)
        fix = "repair that number, or block its position wherever it is read"
        raise refusal(f"{name} must be finite where it is used", f"{name}{list(at)} = {X[at]}", fix)


def no_overflow(name: str, result: NDArray[Any], bad: NDArray[np.bool_]) -> None:
    """Refuse a product of finite numbers that was too large for its dtype."""
    if bad.any():
        at = place(bad)
        fix = "scale the inputs down, or pass float64 where they are float32"
        raise refusal(f"{name} must not overflow {result.dtype}", f"{result[at]} at {at}", fix)
