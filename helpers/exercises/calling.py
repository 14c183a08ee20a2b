"""Calling a learner's function so that whatever it does comes back as something to say."""

from __future__ import annotations

import contextlib
import ctypes
import io
import linecache
import site
import sys
import sysconfig
import threading
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PRINTED = 400  # characters kept of what a function prints
AGAIN = 0.005  # seconds from one look at a call that is overdue to the next
NOT_THE_LEARNERS = tuple(
    {
        "<frozen",
        str(Path(__file__).parent),
        *(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")),
        *site.getsitepackages(),
        site.getusersitepackages(),
    }
)


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
        deadline = _Deadline(seconds)
        value, error = _within(deadline, function, args, options)
        if deadline.place:  # also where the function swallowed what was to stop it, and came back
            outcome.stopped = True
            outcome.error = (
                f"It had not come back after {seconds:g} seconds, at {deadline.place}. "
                "Does a loop there never end?"
            )
        elif isinstance(error, KeyboardInterrupt):
            outcome.stopped, outcome.error = True, "You stopped it before it came back."
        elif error is not None:
            outcome.error = _in_words(error, function)
        else:
            outcome.value = value
    outcome.printed = stream.kept()
    if caught:
        outcome.warned = f"{caught[0].category.__name__}: {caught[0].message}"
    return outcome


class _Deadline:
    """Stops Python code of the learner's own that runs on, on every system.

    A second thread looks, from the deadline on, where the call is, and raises in it whenever that is in the
    learner's own lines, from the second time on: a library that starts slowly is left alone, a loop that
    swallows every exception is asked again. (A trace function would not do: it does not see
    ``while True: pass``, and is gone once it raised.)
    """

    def __init__(self, seconds: float):
        self.place = ""  # where the call was when time was up
        self._seconds = seconds
        self._caller = threading.get_ident()
        self._over = threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)
        self._watch.start()

    def close(self) -> None:
        self._over.set()
        self._watch.join()

    def _look(self) -> None:
        seen, wait = 0, self._seconds
        while not self._over.wait(wait):
            wait = AGAIN
            frame = sys._current_frames().get(self._caller)
            if frame is None or frame.f_code.co_filename.startswith(NOT_THE_LEARNERS):
                continue
            seen += 1
            if seen == 1:
                continue
            self.place = self.place or _place(frame.f_code.co_filename, frame.f_lineno)
            self._raise(ctypes.py_object(_TimeUp))
        self._raise(None)  # takes back one that has not arrived

    def _raise(self, kind: Any) -> None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(self._caller), kind)


def _within(
    deadline: _Deadline, function: Callable[..., Any], args: tuple, options: dict[str, Any]
) -> tuple[Any, BaseException | None]:
    """What came back, and what was raised."""
    try:
        try:
            value, error = function(*args, **options), None
        except BaseException as raised:
            value, error = None, raised
        deadline.close()
    except _TimeUp as late:  # one may still be on its way when the call is left
        value, error = None, late
        deadline.close()
    return value, error


def _place(filename: str, line: int) -> str:
    source = linecache.getline(filename, line).strip()
    return f"`{source}` (line {line})" if source else f"line {line}"


def _in_words(error: BaseException, function: Callable[..., Any]) -> str:
    """Name the exception and the line of the function where it arose."""
    said = traceback.format_exception_only(error)[-1].strip()
    said = said if len(said) <= PRINTED else said[:PRINTED] + " ..."
    own = getattr(getattr(function, "__code__", None), "co_filename", None)
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == own]
    if lines:
        return f"It stopped at {_place(own, lines[-1].lineno)} with {said}"
    return f"It stopped with {said}"
