"""What several test modules share: optional libraries, skipped with a reason, never silently."""

from __future__ import annotations

import importlib
import os
import shutil
from html.parser import HTMLParser
from types import ModuleType

import pytest

EVERYTHING = os.environ.get("REQUIRE_EVERYTHING") == "1"
LOADS = {
    "src",
    "srcset",
    "poster",
    "data",
    "background",
}  # attributes whose address a browser asks for at once


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


class Remote(HTMLParser):
    """Finds what a page would fetch from somewhere else, and the scripts in it."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.scripts = 0
        self.style = False

    def handle_starttag(self, tag, attributes):
        self.scripts += tag == "script"
        self.style = tag == "style"
        for name, value in attributes:
            loads = name in LOADS or (name == "href" and tag != "a")
            if loads and not str(value).startswith(("data:", "#")):
                self.found.append(f"{tag} {name}={value}")
            if name == "style":
                self._look_at_style(value)

    def handle_endtag(self, tag):
        self.style = False

    def handle_data(self, text):
        if self.style:
            self._look_at_style(text)

    def _look_at_style(self, text):
        for part in text.split("url(")[1:]:
            if not part.lstrip("'\" ").startswith(("data:", "#")):
                self.found.append(f"url({part[:60]}")
        if "@import" in text:
            self.found.append("@import")
