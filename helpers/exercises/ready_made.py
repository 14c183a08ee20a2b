"""Telling a function that a learner wrote from one that was imported, or that only calls an imported one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import CodeType, ModuleType
from typing import Any

import numpy as np

OWNERS = (
    "numpy",
    "scipy",
    "torch",
    "jax",
    "jaxlib",
    "keras",
    "helpers.attention",
    "helpers.patterns",
    "helpers.tiled",
    "helpers.tasks",
    "helpers.exercises.solutions",
)
WHOLE_ATTENTION = {
    "attention",
    "causal_attention",
    "attention_weights",
    "multi_head_attention",
    "tiled_attention",
    "scaled_dot_product_attention",
    "dot_product_attention",
}
# What leaves nothing to write, by task; of the others only the right function itself.
WHOLE = {
    "softmax": {"softmax"},
    "causal_pattern": {"causal"},
    "masked_weights": {"masked_weights", "attention_weights"},
    "attention_row": {"attention_row", *WHOLE_ATTENTION},
    "attention": WHOLE_ATTENTION,
    "causal_attention": WHOLE_ATTENTION,
    "tiled_attention": WHOLE_ATTENTION,
}


def owner(function: Any) -> str | None:
    """Name the library that a function was imported from, or None where it is somebody's own."""
    if isinstance(function, np.ufunc):
        return "numpy"
    module = getattr(function, "__module__", None) or type(getattr(function, "__self__", function)).__module__
    return next((name for name in OWNERS if module == name or module.startswith(f"{name}.")), None)


def does_the_work(function: Callable[..., Any], task: str) -> str | None:
    """
    Name the imported function that does a task's whole work inside a learner's, if its code calls one.

    It follows the names in the code, in nested functions and in own functions that are called. A name that is
    put together while the function runs (``getattr``, ``eval``) is not seen.
    """
    whole = WHOLE.get(task, {task})
    for name, thing in _called(function, []):
        if getattr(thing, "__name__", None) in whole and owner(thing):
            return name
    return None


def _called(function: Any, seen: list[Any]) -> Iterator[tuple[str, Any]]:
    """Names in a function's code with what they stand for, attributes of modules included."""
    code = getattr(function, "__code__", None)
    if code is None or any(function is one for one in seen):
        return
    seen.append(function)
    names = list(dict.fromkeys(_names(code)))
    bound = zip(code.co_freevars, (cell_contents(cell) for cell in function.__closure__ or ()), strict=True)
    things = list(bound) + [(name, function.__globals__.get(name, sys.modules.get(name))) for name in names]
    modules: list[ModuleType] = []
    for name, thing in things:  # grows: the attributes of a module come behind it
        yield name, thing
        if isinstance(thing, ModuleType) and not any(thing is one for one in modules):
            modules.append(thing)
            things += [(one, getattr(thing, one)) for one in names if hasattr(thing, one)]
        elif callable(thing) and owner(thing) is None:
            yield from _called(thing, seen)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def cell_contents(cell: Any) -> Any:
    """What a closure holds; None where it is empty still."""
    try:
        return cell.cell_contents
    except ValueError:
        return None
