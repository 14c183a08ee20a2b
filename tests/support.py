"""What several test modules share: optional libraries, skipped with a reason, never silently."""

from __future__ import annotations

import importlib
import os
import shutil
from types import ModuleType

import pytest

EVERYTHING = os.environ.get("REQUIRE_EVERYTHING") == "1"


def missing(reason: str) -> None:
    """Skip the calling test, or fail it where everything must be there (CI sets REQUIRE_EVERYTHING=1)."""
    if EVERYTHING:
        pytest.fail(f"REQUIRE_EVERYTHING=1, but {reason}")
    pytest.skip(reason)


def optional(name: str) -> ModuleType:
    """Import a module that a learner may lack."""
    if name == "keras":
        os.environ.setdefault("KERAS_BACKEND", "jax")
    try:
        return importlib.import_module(name)
    except ImportError:
        kind = "frameworks" if name in ("torch", "jax", "keras") else "dev"
        missing(f"{name} is not installed: pip install -r requirements-{kind}.txt")
        raise


def chromium() -> str:
    """Path of a Chromium to drive."""
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    if not path:
        missing("no Chromium found: install it, or set CHROMIUM to its path")
    return str(path)
