"""Attention by Hand: what the notebooks import. Nothing runs or draws on import; each name loads when first used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_WHERE = {
    "predict": "predictions",
    "compare": "predictions",
    "show": "predictions",
    "progress": "predictions",
    "revisit": "predictions",
    "diagnose": "predictions",
    "check": "exercises",
    "hint": "exercises",
    "solution": "exercises",
}
_MODULES = ("attention", "environment", "explore", "figures", "misconceptions", "patterns")

__all__ = [*_WHERE, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        value = getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"helpers has no {name!r}; it offers {', '.join(sorted(__all__))}.")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
