"""The process in which `runner` has a notebook's functions called. Whatever runs here is trusted with nothing."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import numpy as np

from .runner import receive, send

WRITTEN = 2**20  # bytes that one file may grow to


def main() -> None:
    """Answer messages until there are no more; what the notebook prints goes nowhere."""
    inlet, outlet = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)
    names: dict[str, Any] = {"__name__": "__main__"}
    while True:
        try:
            asked, arrays = receive(inlet)
        except EOFError:
            return
        if "load" in asked:
            _limit(asked["memory"], asked["processor"])
            for statement in asked["load"]:
                with suppress(BaseException):  # the next ones may do without it
                    exec(compile(statement, "<notebook>", "exec"), names)
            reply, back = {}, []
        elif "look" in asked:
            reply, back = _look(names.get(asked["look"]), asked), []
        else:
            reply, back = _call(names.get(asked["call"]), asked, arrays)
        send(outlet, reply, back)


def _limit(memory: int, processor: int) -> None:
    """Limit memory, processor time and what can be written; Windows has none of these, macOS not the first."""
    try:
        import resource
    except ImportError:
        return
    limits = {"RLIMIT_AS": memory, "RLIMIT_CPU": processor, "RLIMIT_FSIZE": WRITTEN, "RLIMIT_CORE": 0}
    for name, most in limits.items():
        with suppress(ValueError, OSError, AttributeError):
            resource.setrlimit(getattr(resource, name), (most, most))


def _look(function: Any, asked: dict) -> dict:
    """Say why a function is not to be judged, if so: missing, a stub, not its writer's own."""
    from ..exercises import EXERCISES
    from ..exercises.ready_made import does_the_work
    from ..exercises.verdict import not_judged

    if function is None:
        return {"not judged": f"There is no {asked['look']} in it"}
    try:
        result = not_judged(asked["exercise"], function)
        work = does_the_work(function, EXERCISES[asked["exercise"]].task)
    except Exception as error:  # an object that only looks like a function
        return {"not judged": f"It cannot be looked at: {error}"}
    if result:
        return {"not judged": result.headline}
    return {"not judged": f"The whole work in it is done by {work}"} if work else {}


def _call(function: Any, asked: dict, arrays: list[np.ndarray]) -> tuple[dict, list[np.ndarray]]:
    args = list(asked["plain"])
    for at, array in zip(asked["at"], arrays, strict=True):
        args[at] = array
    try:
        value = function(*args, **asked["options"])
        return _packed(value, arrays)
    except BaseException as error:
        return {"raised": f"{type(error).__name__}: {error}"[:400]}, arrays


def _packed(value: Any, arrays: list[np.ndarray]) -> tuple[dict, list[np.ndarray]]:
    if type(value) is np.ndarray and value.dtype.kind in "bfiu":
        return {"gave": "array"}, [*arrays, value]
    if isinstance(value, np.number) and value.dtype.kind in "bfiu":
        value = value.item()
    if type(value) in (int, float):
        return {"gave": "number", "number": value}, arrays
    if value is ...:
        return {"gave": "..."}, arrays
    if value is None:
        return {"gave": "nothing"}, arrays
    return {"gave": "something else", "type": type(value).__name__}, arrays


if __name__ == "__main__":
    main()
