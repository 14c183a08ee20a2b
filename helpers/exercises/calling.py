"""Calling a learner's function so that whatever it does comes back as something to say."""

from __future__ import annotations

import contextlib
import io
import linecache
import sys
import sysconfig
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

PRINTED = 400  # characters kept of what a function prints
LINES = 1000  # that run before a call can count as endless: a library that starts slowly runs none of them
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


class _TimeUp(BaseException):
    """Not an Exception, so that a learner's `except Exception` lets it through."""


@dataclass
class Outcome:
    """What one call came to: a value, or an error in words."""

    value: Any = None
    error: str | None = None
    printed: str = ""
    warned: str | None = None
    stopped: bool = False


class _Capped(io.TextIOBase):
    """A stream that keeps the beginning and drops the rest."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        if len(self.text) <= PRINTED:
            self.text += text[: PRINTED + 1]
        return len(text)

    def kept(self):
        return self.text if len(self.text) <= PRINTED else self.text[:PRINTED] + " ..."


def call(function: Callable[..., Any], args: tuple, options: dict[str, Any], seconds: float) -> Outcome:
    """Call and capture: prints, warnings, exceptions, and a loop that does not end."""
    stream = _Capped()
    outcome = Outcome()
    with (
        contextlib.redirect_stdout(stream),
        contextlib.redirect_stderr(stream),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        try:
            with _deadline(seconds):
                outcome.value = function(*args, **options)
        except _TimeUp as up:
            outcome.stopped = True
            outcome.error = (
                f"It had not come back after {seconds:g} seconds, at {up}. Does a loop there never end?"
            )
        except KeyboardInterrupt:
            outcome.stopped, outcome.error = True, "You stopped it before it came back."
        except BaseException as error:
            outcome.error = _in_words(error, function)
    outcome.printed = stream.kept()
    if caught:
        outcome.warned = f"{caught[0].category.__name__}: {caught[0].message}"
    return outcome


@contextlib.contextmanager
def _deadline(seconds: float):
    """Stop Python code of the learner's own that runs on, in this thread and on every system."""
    end, lines = time.monotonic() + seconds, 0

    def each_call(frame, event, arg):
        return None if frame.f_code.co_filename.startswith(("<frozen", *_LIBRARIES)) else each_line

    def each_line(frame, event, arg):
        nonlocal lines
        lines += 1
        if lines > LINES and time.monotonic() > end:
            raise _TimeUp(_place(frame.f_code.co_filename, frame.f_lineno))
        return each_line

    before = sys.gettrace()
    sys.settrace(each_call)
    try:
        yield
    finally:
        sys.settrace(before)


def _place(filename: str, line: int) -> str:
    source = linecache.getline(filename, line).strip()
    return f"`{source}`" if source else f"line {line}"


def _in_words(error: BaseException, function: Callable[..., Any]) -> str:
    """Name the exception and the line of the function where it arose."""
    said = traceback.format_exception_only(error)[-1].strip()
    said = said if len(said) <= PRINTED else said[:PRINTED] + " ..."
    own = getattr(getattr(function, "__code__", None), "co_filename", None)
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == own]
    if lines:
        return f"It stopped at {_place(own, lines[-1].lineno)} (line {lines[-1].lineno}) with {said}"
    return f"It stopped with {said}"
