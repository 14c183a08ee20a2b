"""Comparing what a function returned with what is right, and naming the wrong program that does the same."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import tasks
from ..misconceptions import programs_for
from ..units import readable
from .calling import Outcome, call
from .cases import Case
from .frameworks import Framework

WEIGHTS = (
    "softmax",
    "shifted_softmax",
    "masked_weights",
    "attention_weights",
    "head_weights",
    "weights_beside_values",
)
OUTPUTS = ("attention", "attention_row", "causal_attention", "full_attention")
CAUSAL = ("causal_attention",)


@dataclass
class Trial:
    """One case, what the function made of it, and what is wrong with that (None: nothing)."""

    case: Case
    right: Any
    outcome: Outcome
    value: np.ndarray | None = None
    fault: str | None = None
    changed: str | None = None
    note: str | None = None


def try_on(
    task: str, case: Case, function: Callable[..., Any], framework: Framework, seconds: float
) -> Trial:
    """Call the function on a copy of the case's inputs and judge the result."""
    case = _narrowed(case, framework)
    args = {name: _given(value, framework) for name, value in case.args.items()}
    before = {
        name: framework.take(value).copy()
        for name, value in args.items()
        if isinstance(value, framework.array)
    }
    trial = Trial(case, _right(task, case), call(function, tuple(args.values()), case.options, seconds))
    for name, old in before.items():
        new = framework.take(args[name])
        if new.shape != old.shape or not np.array_equal(new, old, equal_nan=new.dtype.kind == "f"):
            trial.changed = name
    if trial.outcome.error:
        trial.fault = trial.outcome.error
    else:
        trial.fault = _fault_of_form(trial, framework) or _fault_of_value(task, trial)
    return trial


def _right(task: str, case: Case) -> Any:
    """The right result in float64, whatever the precision of the case."""
    args = [value.astype(float) if _is_float(value) else value for value in case.args.values()]
    with np.errstate(all="ignore"):
        return tasks.TASKS[task].truth(*args, **case.options)


def _narrowed(case: Case, framework: Framework) -> Case:
    """Write a case in float32 where the framework has nothing wider."""
    if framework.widest == "float64":
        return case
    return Case(
        {name: value.astype(np.float32) if _is_float(value) else value for name, value in case.args.items()},
        case.options,
        case.size,
    )


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _given(value: Any, framework: Framework) -> Any:
    return framework.give(value) if isinstance(value, np.ndarray) else value


def _fault_of_form(trial: Trial, framework: Framework) -> str | None:
    """Type, kind of number and shape, in this order; sets the trial's value where it can be read at all."""
    value, right = trial.outcome.value, np.asarray(trial.right)
    if value is None:
        return "Nothing came back. Does the function end in a return?"
    numbers = (int, float, np.number) if right.ndim == 0 else ()
    if inspect.isgenerator(value):
        return "A generator came back, and none of its lines has run: write return where yield is."
    if inspect.iscoroutine(value):
        value.close()
        return "A coroutine came back, and none of its lines has run: leave out the async before def."
    if not isinstance(value, (framework.array, *numbers)) or isinstance(value, np.ma.MaskedArray):
        kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        return f"What came back is of type {kind}; expected an array of {framework.name}."
    try:
        value = np.array(framework.take(value))  # a copy: the next call may write on it
    except Exception as error:  # bfloat16 or sparse, say
        return f"What came back cannot be read as numbers ({error}); expected float32 or wider."
    if value.dtype.kind not in "bfiu":
        return f"The dtype is {value.dtype}; expected {'bool' if right.dtype == bool else 'float'}."
    trial.value = value
    if value.shape != right.shape:
        return f"The shape is {value.shape}; expected {right.shape}."
    if right.dtype == bool:
        return None if value.dtype == bool else f"The dtype is {value.dtype}; expected bool, True if allowed."
    if value.dtype.kind != "f" and right.dtype.kind == "f" and right.ndim:
        return f"The dtype is {value.dtype}; expected floating-point numbers."
    if value.dtype.kind == "f" and value.dtype.itemsize < 4:
        return f"The dtype is {value.dtype}; expected float32 or wider: half precision rounds too coarsely."
    given = [array.dtype for array in trial.case.args.values() if _is_float(array)]
    if given and right.ndim and value.dtype != given[0]:
        trial.note = (
            f"One thing more: {given[0]} went in and {value.dtype} came out. Something widened it: dtype=float, or a"
            " NumPy number such as np.sqrt(3), which is a float64; 3 ** 0.5 is a Python number and widens nothing."
            if value.dtype == np.float64
            else f"One thing more: {given[0]} went in and {value.dtype} came out."
        )
    return None


def tolerance(trial: Trial) -> float:
    """What rounding may do, relative to the size of the result: it grows with the scores."""
    kinds = [array.dtype for array in (*trial.case.args.values(), trial.value) if _is_float(array)]
    eps = max((np.finfo(kind).eps for kind in kinds), default=np.finfo(float).eps)
    return float(64 * eps * trial.case.size)


def _differs(value: Any, other: Any, rounding: float) -> np.ndarray:
    """Where two results of equal shape are apart by more than rounding; NaN equals NaN only."""
    value, other = np.asarray(value, dtype=float), np.asarray(other, dtype=float)
    largest = np.abs(other[np.isfinite(other)]).max(initial=1)
    return ~np.isclose(value, other, rtol=0, atol=rounding * largest, equal_nan=True)


def _fault_of_value(task: str, trial: Trial) -> str | None:
    """The first property that does not hold, in words; None where the value is right."""
    value, right = trial.value, np.asarray(trial.right)
    if value.dtype.kind == "f" and not np.isfinite(value).all():
        at = tuple(np.argwhere(~np.isfinite(value))[0].tolist())
        return f"Every number of the result is finite; at {_index(at)} it is {value[at]}."
    off = _differs(value, right, tolerance(trial))
    close = off.any() and not _differs(value, right, 1e-4).any()
    blocked = _blocked(trial.case)
    if task in WEIGHTS and blocked is not None and (value[blocked] != 0).any():
        at = tuple(np.argwhere(blocked & (value != 0))[0].tolist())
        return f"A blocked key has weight exactly 0; at {_index(at)} it is {value[at]:.4g}."
    if not off.any():
        return None
    if close:
        largest = float(np.abs(value - right).max())
        return f"Close, but up to {largest:.0e} away, which is more than rounding explains."
    row = int(np.argwhere(off)[0][0]) if off.ndim > 1 else 0
    if task in WEIGHTS:
        return _fault_of_weights(value, row, tolerance(trial))
    if task in OUTPUTS:
        return _fault_of_output(value, row, trial.case, causal=task in CAUSAL)
    if task == "causal_pattern":
        return f"Each query may read its own position and the earlier ones; row {row} says otherwise."
    return (
        f"The result differs, first at {_index(tuple(np.argwhere(off)[0].tolist()))}."
        if off.ndim
        else "The number differs."
    )


def _blocked(case: Case) -> np.ndarray | None:
    allowed = case.given.get("allowed")
    return None if allowed is None else ~np.asarray(allowed)


def _fault_of_weights(value: np.ndarray, row: int, atol: float) -> str:
    """Why a row is not the softmax of its scores."""
    rows = value if value.ndim > 1 else value[None]
    negative = np.argwhere(rows < 0)
    if len(negative):
        return f"A weight is never negative; row {negative[0][0]} holds {rows[tuple(negative[0])]:.4g}."
    sums = rows.sum(axis=-1)
    bad = np.flatnonzero(np.abs(sums.ravel() - 1) > atol)
    if len(bad):
        return f"Each row sums to 1; row {bad[0]} sums to {sums.ravel()[bad[0]]:.4g}."
    return f"The weights of row {row} are in the ratio of the exponentials of its scores; these are not."


def _fault_of_output(value: np.ndarray, row: int, case: Case, causal: bool) -> str:
    """Why an output row is not a weighted sum of the values it may read."""
    given = case.given
    V, rows = given["V"], value if value.ndim > 1 else value[None]
    n_q, n_k = len(rows), len(V)
    allowed = given.get("allowed")
    if allowed is None:
        allowed = np.tri(n_q, n_k, dtype=bool) if causal else np.ones((n_q, n_k), dtype=bool)
    readable = V[allowed[row]]
    if len(readable) == 1:
        return f"Query {row} may read one key alone, so its output is that key's value."
    if not len(readable):
        return f"Query {row} may read nothing, so its output is 0."
    low, high = readable.min(axis=0), readable.max(axis=0)
    if (rows[row] < low).any() or (rows[row] > high).any():
        return (
            f"Output row {row} lies, in each feature, between the smallest and the largest value it may read."
        )
    return (
        f"Output row {row} is the sum of the values that query {row} may read, by the weights of its softmax."
    )


def _index(at: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, at))}]"


def name(task: str, trials: Sequence[Trial]) -> str | None:
    """Find the wrong program, by id, that does as the function did in every trial.

    Where none does, an overflow may hide it, or axes in front that the function does not expect: then in every
    trial that gave finite numbers, or in every one with the fewest axes.
    """
    finite = [trial for trial in trials if trial.value is not None and np.isfinite(trial.value).all()]
    for tried in (trials, finite, [trial for trial in trials if axes(trial) == min(map(axes, trials))]):
        wrong = next((trial for trial in tried if trial.fault and trial.value is not None), None)
        if wrong is None or _alike(wrong.value, wrong.right, wrong):
            continue
        for id, program in programs_for(task).items():
            if all(_does_as(program, trial) for trial in [wrong, *tried]):
                return id
    return None


def axes(trial: Trial) -> int:
    """How many axes the largest input of a trial has."""
    return max(np.ndim(value) for value in trial.case.args.values())


def _does_as(program: Callable[..., Any], trial: Trial) -> bool:
    given = {
        name: value.copy() if isinstance(value, np.ndarray) else value
        for name, value in trial.case.given.items()
    }
    try:
        value = program(*[given.pop(name) for name in trial.case.args], **given)
    except ValueError:
        return trial.value is None and trial.outcome.error is not None
    return trial.value is not None and _alike(trial.value, value, trial)


def _alike(value: Any, other: Any, trial: Trial) -> bool:
    """Alike enough to be called the same: programs differ by far more, and -1e-9 for 0 is the same belief."""
    return (
        np.shape(value) == np.shape(other) and not _differs(value, other, max(1e-6, tolerance(trial))).any()
    )


def leak(
    function: Callable[..., Any], case: Case, framework: Framework, seconds: float
) -> tuple[str | None, tuple[str, ...]]:
    """Find an earlier output that depends on a later key or value: by changing these, and by the gradient.

    Returns
    -------
    str or None
        What depends on what; None where nothing does.
    tuple of str
        Remarks, where there is no gradient to look at.
    """
    case = _narrowed(case, framework)
    Q, K, V = case.args.values()
    before = _output(function, (Q, K, V), framework, seconds)
    for j in range(1, len(K)):
        later = [array.copy() for array in (K, V)]
        later[0][j:], later[1][j:] = -K[j:] + 1, 1e6
        after = _output(function, (Q, *later), framework, seconds)
        if before is None or after is None:
            return None, ()
        moved = _differs(after[:j], before[:j], 64 * np.finfo(before.dtype).eps)
        if moved.any():
            return _depends(int(np.argwhere(moved)[0][0]), j, "when these were changed, it moved"), ()
    return _leak_of_gradient(function, (Q, K, V), framework, seconds)


def _leak_of_gradient(function, arrays, framework, seconds) -> tuple[str | None, tuple[str, ...]]:
    if framework.gradients is None:
        return None, ()
    given = tuple(map(framework.give, arrays))
    outcome = call(lambda: framework.gradients(function, given), (), {}, seconds)
    if outcome.error or outcome.value is None:
        said = f" ({outcome.error})" if outcome.error else ""
        return None, (
            f"One thing more: no gradient comes through from the output to K and V, so a model could not learn. "
            f"Stay with operations of {framework.name} from end to end.{said}",
        )
    for by in outcome.value:
        for i, j, _ in np.argwhere(by != 0):
            if j > i and np.isfinite(by[i, j]).all():
                return _depends(i, j, "by the gradient it depends on them"), ()
    if not all(np.isfinite(by).all() for by in outcome.value):
        return None, ("One thing more: the output is right, but its gradient is not a finite number.",)
    return None, ()


def _depends(i: int, j: int, how: str) -> str:
    return f"Output row {i} does not depend on key and value {j}, which come later; {how}."


def _output(function, arrays, framework, seconds) -> np.ndarray | None:
    """What the function returned, or None where that is not of the shape of V."""
    value = call(function, tuple(map(framework.give, arrays)), {}, seconds).value
    if not isinstance(value, framework.array) or tuple(value.shape) != arrays[-1].shape:
        return None
    try:
        value = np.array(framework.take(value))
    except Exception:  # said already, of the value itself
        return None
    return value if value.dtype.kind == "f" else None


def all_scores(function: Callable[..., Any], seconds: float) -> str | None:
    """Say that a function of tiles holds as much at once as all scores take; None where it does not."""
    from ..measure import peak_bytes  # which loads IPython

    rng, n_q, n_k, size = np.random.default_rng(5), 32, 2048, 16
    Q, K, V = rng.normal(size=(n_q, 4)), rng.normal(size=(n_k, 4)), rng.normal(size=(n_k, 4))
    args = (Q, K, V, np.ones((n_q, n_k), dtype=bool), size)
    outcome = call(lambda: peak_bytes(function, *args), (), {}, seconds)
    scores = n_q * n_k * Q.itemsize
    if outcome.error or not outcome.value > scores / 2:
        return None
    tile = readable(n_q * size * Q.itemsize)
    return (
        f"With {n_q} queries, {n_k} keys and size {size}, the scores of one tile take {tile} and all scores "
        f"{readable(scores)}; this call held {readable(outcome.value)}."
    )


def device_note(
    function: Callable[..., Any], case: Case, framework: Framework, seconds: float
) -> tuple[str, ...]:
    """Remark on a mask, or a result, that is on the CPU while the inputs are on another device."""
    if framework.elsewhere is None:
        return ()
    args = tuple(framework.elsewhere(value) for value in case.args.values())
    outcome = call(function, args, case.options, seconds)
    if outcome.error and "is not on the expected device" in outcome.error:
        return (
            "One thing more: the mask is made on the CPU, so on a GPU this would stop. "
            "torch.ones_like(scores, dtype=torch.bool) makes one where the scores are.",
        )
    device = getattr(outcome.value, "device", args[0].device)
    if device != args[0].device:
        return (f"One thing more: whatever the device of the inputs, the result comes back on {device}.",)
    return ()
