"""From trials to a result: what is said of a function that is right, wrong, or not there yet."""

from __future__ import annotations

import dis
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..misconceptions import CATALOGUE
from . import frameworks, judging
from .cases import Case
from .ready_made import owner
from .report import Result


def judge(
    task: str,
    function: Callable[..., Any],
    cases: Sequence[Case],
    library: frameworks.Framework,
    title: str,
    seconds: float,
    *,
    in_tiles: bool = False,
) -> Result:
    """Try a function on every case and say what came of it; `in_tiles` also asks it not to hold all scores at once."""
    trials: list[judging.Trial] = []
    for case in cases:
        trials.append(judging.try_on(task, case, function, library, seconds))
        if trials[-1].outcome.stopped:  # the other cases would take as long
            break
        if trials[-1].outcome.value is ...:
            return not_started(title, function)
    wrong = [trial for trial in trials if trial.changed or trial.fault]
    notes = _notes(trials, right=not wrong)
    leak, remarks = None, ()
    if task in judging.CAUSAL and not trials[-1].outcome.stopped:
        leak, remarks = judging.leak(function, _largest(cases), library, seconds)
    hoard = judging.all_scores(function, seconds) if in_tiles and not wrong else None
    if hoard:
        return _right_but(
            title,
            "the numbers are right, but as much is held at once as all scores take",
            len(cases),
            (("what holds", hoard),),
            "Compute the scores of one tile of keys, add them, and let them go before the next.",
            notes,
        )
    if not wrong and not leak:
        notes += (*remarks, *judging.device_note(function, cases[0], library, seconds))
        return Result(True, f"Right, on all {len(cases)} inputs", score=1.0, exercise=title, notes=notes)
    if not wrong:
        rows = (("your call", _call_text(function, _largest(cases))), ("what holds", leak))
        said = "The numbers agree all the same: look for a sum, a mean or a maximum that runs over all keys."
        return _right_but(title, "a later position reaches an earlier output", len(cases), rows, said, notes)
    score = 1 - (len(wrong) + len(cases) - len(trials)) / len(cases)
    changed = next((trial for trial in wrong if trial.changed), None)
    first = changed or wrong[0]
    id = "mutates" if changed else judging.name(task, trials)
    rows = [("your call", _call_text(function, first.case))]
    if first.value is not None:
        rows.append(("got", _text(first.value)))
    rows.append(("what holds", f"{changed.changed} is the same after the call." if changed else first.fault))
    if first.outcome.error:
        rows[-1] = ("but", first.fault)
    entry = CATALOGUE.get(id)
    return Result(
        False,
        f"Not yet: {entry.verdict}" if entry else "Not yet",
        id,
        score,
        title,
        rows=tuple(rows),
        said=() if entry else (*([leak] if leak else []), _advice(first, trials, task)),
        lines=tuple(entry.lines(task)) if entry else (),
        whole=entry is not None and task in entry.programs,
        why=entry.why if entry else "",
        notes=notes,
    )


def _largest(cases: Sequence[Case]) -> Case:
    """The tame case with the most positions."""
    return max((case for case in cases if case.size == 1), key=lambda case: len(case.args["Q"]))


def _right_but(
    title: str,
    what: str,
    n_cases: int,
    rows: tuple[tuple[str, str], ...],
    said: str,
    notes: tuple[str, ...],
) -> Result:
    """The numbers are right on every case, and yet it is not what was asked for."""
    score = n_cases / (n_cases + 1)
    return Result(False, f"Not yet: {what}", None, score, title, rows=rows, said=(said,), notes=notes)


def ready_made(title: str, what: str) -> Result:
    """Say that a function was imported, and not written."""
    said = f"{what}. Write the steps yourself and hand in that function."
    return Result(None, "That one is ready-made", exercise=title, said=(said,))


def not_judged(id: str, function: Any) -> Result | None:
    """Say why there is nothing to judge, if so."""
    function = getattr(function, "func", function)  # what a functools.partial holds
    if function is None or function is ... or _is_stub(function):
        return not_started(id, function)
    if not callable(function):
        kind = type(function).__name__
        said = f"Hand in the function by its name alone, without parentheses behind it; this is a {kind}."
        return Result(None, "That is a result, not a function", exercise=id, said=(said,))
    library = owner(function)
    return ready_made(id, f"This function comes from {library}") if library else None


def not_started(id: str, function: Any) -> Result:
    """Say that the function is still a stub."""
    name = getattr(function, "__name__", "the function").replace("<lambda>", "the lambda")
    said = (
        f'Put your own lines in place of the ... in {name} and run this again. hint("{id}") helps to begin.'
    )
    return Result(None, "Not started yet", exercise=id, said=(said,))


def _is_stub(function: Any) -> bool:
    """Whether a body is only `...`, `pass` or a docstring, or returns `...`."""
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    steps = list(dis.get_instructions(code))
    if any(
        step.opname not in ("RESUME", "NOP", "LOAD_CONST", "RETURN_CONST", "RETURN_VALUE") for step in steps
    ):
        return False
    return next(step.argval for step in reversed(steps) if "CONST" in step.opname) in (None, ...)


def _notes(trials: Sequence[judging.Trial], right: bool) -> tuple[str, ...]:
    """What a function printed, what it was warned of, and what could be better in a right one: each once."""
    printed = next((trial.outcome.printed for trial in trials if trial.outcome.printed), None)
    warned = next((trial.outcome.warned for trial in trials if trial.outcome.warned), None)
    remark = next((trial.note for trial in trials if trial.note), None)
    return (
        *([f"It printed: {printed}"] if printed else []),
        *([f"NumPy warned on one of the inputs: {warned}"] if warned else []),
        *([remark] if remark and right else []),
    )


def _advice(trial: judging.Trial, trials: Sequence[judging.Trial], task: str) -> str:
    fewest = min(map(judging.axes, trials))
    if judging.axes(trial) > fewest and not any(one.fault for one in trials if judging.axes(one) == fewest):
        return "Right without axes in front, but not with them. Count axes from the end: -3, -2, -1."
    if isinstance(trial.outcome.value, (list, tuple)):
        return "Return one array: np.array([...]) makes it of numbers, np.hstack of columns."
    if trial.outcome.error:
        return "Call it yourself on these inputs to look closer."
    if task not in (*judging.WEIGHTS, *judging.OUTPUTS):
        return "No error known to this course behaves so. Call it on these inputs and look at each step."
    return (
        "No error known to this course behaves so. Call it on these inputs and look at each step: "
        "the scores, the exponentials, their sums."
    )


def _call_text(function: Callable[..., Any], case: Case) -> str:
    """The call with its inputs, one in a line."""
    name = getattr(function, "__name__", "function")
    name = "function" if name == "<lambda>" else name
    options = [f"{option}={value!r}" for option, value in case.options.items()]
    lines = [f"{argument} = {_text(value, argument)}" for argument, value in case.args.items()]
    return "\n".join([f"{name}({', '.join([*case.args, *options])})", *lines])


def _text(value: Any, name: str = "") -> str:
    """An array as it would be typed, to four digits and in columns."""
    if not isinstance(value, np.ndarray):
        return repr(value)
    write = str if value.dtype.kind in "bO" else "{:.4g}".format
    width = max((len(write(one)) for one in value.ravel().tolist()), default=0)
    text = np.array2string(
        value,
        separator=", ",
        threshold=60,
        prefix=" " * (len(name) + 3 if name else 0),
        formatter={"all": lambda one: write(one).rjust(width)},
    )
    return text if value.dtype in (np.float64, bool) else f"{text}  ({value.dtype})"
