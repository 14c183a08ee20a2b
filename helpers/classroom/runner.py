"""Checking functions that somebody else wrote: they run in a process of their own, and are judged in this one.

The other process (`runner_child`) gets inputs and gives arrays back, nothing else. What is right, and whether an
array is, is decided here, where the notebook's code has never been. Time, memory and output have limits. It is no
sandbox: that process may read and change files, use the network and start programs, as its account may.
"""

from __future__ import annotations

import ast
import json
import math
import os
import queue
import re
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..exercises import Result, check

SECONDS = 5.0  # for one call
LOADING = 30.0  # for the notebook's imports and definitions
ALTOGETHER = 60.0  # for one notebook, of clock and of processor
MEMORY = 2**31  # bytes of address space; POSIX only
MOST = 2**25  # bytes of one message
RUN = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign, ast.If, ast.Try)
PLAIN = "bfiu"  # kinds of numbers that can come back
PASSED_ON = ("PATH", "SYSTEMROOT", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")


class Stopped(Exception):
    """The other process was ended, or ended itself; the text says why."""


def check_apart(sources: Iterable[str], functions: Mapping[str, str]) -> dict[str, Result]:
    """
    Check a notebook's functions without running any of its code in this process.

    Parameters
    ----------
    sources : iterable of str
        The notebook's code cells, in order. Imports, definitions and assignments are run, nothing else.
    functions : mapping of exercise id to function name
        Only NumPy functions are checked.

    Returns
    -------
    dict of exercise id to Result
        ``score`` is more than 0 only for cases in which the function was called and gave back what is right.

    Examples
    --------
    >>> cell = "import numpy as np\\ndef mine(n):\\n    return np.tri(n, dtype=bool)"
    >>> check_apart([cell], {"04-causal-pattern": "mine"})["04-causal-pattern"].score
    1.0
    """
    results = {}
    with Apart(sources) as apart:
        for exercise, name in functions.items():
            results[exercise] = apart.check(exercise, name)
    return results


class Apart:
    """
    A notebook's functions in a process of their own, which ends with this context.

    Parameters
    ----------
    sources : iterable of str
        Code cells, in order.
    seconds, loading, altogether : float
        How long one call, the notebook's own imports and definitions, and everything may take.
    memory : int
        Bytes of address space, where the system can limit it.
    """

    def __init__(
        self,
        sources: Iterable[str],
        *,
        seconds: float = SECONDS,
        loading: float = LOADING,
        altogether: float = ALTOGETHER,
        memory: int = MEMORY,
    ) -> None:
        self.statements = [text for source in sources for text in definitions(source)]
        self.seconds, self.loading, self.memory = seconds, loading, memory
        self.altogether = altogether
        self.ended: str | None = None

    def __enter__(self) -> Apart:
        self._until = time.monotonic() + self.altogether
        self._folder = tempfile.TemporaryDirectory(prefix="apart-", ignore_cleanup_errors=True)
        self._process = _start(self._folder.name)
        self._heard: queue.Queue[tuple[dict, list] | str] = queue.Queue(maxsize=4)
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        limits = {"memory": self.memory, "processor": math.ceil(self.altogether)}
        with suppress(Stopped):  # what is checked next says so
            self._ask({"load": self.statements, **limits}, (), self.loading)
        return self

    def __exit__(self, *_: object) -> None:
        self._end("It is over.")
        until = time.monotonic() + 1  # a process that left the group may hold the pipe still
        while self._listener.is_alive() and time.monotonic() < until:
            with suppress(queue.Empty):
                self._heard.get_nowait()  # it may be waiting to be heard
            self._listener.join(0.01)
        if not self._listener.is_alive():
            self._process.stdout.close()
        self._folder.cleanup()

    def check(self, exercise: str, name: str) -> Result:
        """Check one function; nothing it does is an error here."""
        try:
            look, _ = self._ask({"look": name, "exercise": exercise}, (), self.seconds)
            said = look.get("not judged")
            if said:
                return Result(None, str(said)[:400], exercise=exercise)
        except Stopped as stopped:
            return Result(None, str(stopped), exercise=exercise)
        result = check(exercise, _Remote(self, name), seconds=2 * self.altogether)
        return replace(result, headline=self.ended, rows=()) if self.ended else result

    def call(self, name: str, args: Sequence[Any], options: Mapping[str, Any]) -> Any:
        """Call a function there; what it did to its inputs is done to ``args`` too."""
        at = [i for i, value in enumerate(args) if isinstance(value, np.ndarray)]
        plain = [None if i in at else value for i, value in enumerate(args)]
        asked = {"call": name, "plain": plain, "options": dict(options), "at": at}
        reply, arrays = self._ask(asked, [args[i] for i in at], self.seconds)
        if reply.get("raised"):
            raise RuntimeError(str(reply["raised"])[:400])
        for i, after in zip(at, arrays, strict=False):
            if after.shape == args[i].shape and after.dtype == args[i].dtype:
                args[i][...] = after
        match reply.get("gave"):
            case "array" if len(arrays) > len(at):
                return arrays[len(at)]
            case "number" if type(reply.get("number")) in (int, float):
                return reply["number"]
            case "...":
                return ...
            case "nothing":
                return None
        raise TypeError(
            f"what came back is of type {str(reply.get('type'))[:60]}; expected an array of NumPy"
        )

    def _ask(
        self, asked: dict, arrays: Sequence[np.ndarray], seconds: float
    ) -> tuple[dict, list[np.ndarray]]:
        if self.ended:
            raise Stopped(self.ended)
        wait = min(seconds, self._until - time.monotonic())
        try:
            send(self._process.stdin, asked, arrays)
            heard = self._heard.get(timeout=max(wait, 0))
        except queue.Empty:
            self._end(f"It had not come back after {seconds:g} seconds. Does a loop in it never end?")
            raise Stopped(self.ended) from None
        except OSError:
            heard = "Its process ended before the check did."
        if isinstance(heard, str):
            self._end(heard)
            raise Stopped(self.ended)
        return heard

    def _listen(self) -> None:
        """Read what comes back until there is no more; a message that is none ends it."""
        try:
            while True:
                self._heard.put(receive(self._process.stdout))
        except EOFError:
            self._heard.put("Its process ended before the check did.")
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            self._heard.put(f"Its process gave back what is no result: {str(error)[:200]}")

    def _end(self, why: str) -> None:
        self.ended = self.ended or why
        _kill(self._process)


class _Remote:
    """Looks like a function to the checker, and is called in the other process."""

    runs_elsewhere = True  # so that what it holds in memory is not seen here

    def __init__(self, apart: Apart, name: str) -> None:
        self._apart, self.__name__ = apart, name

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self._apart.call(self.__name__, args, options)


def definitions(source: str) -> list[str]:
    """
    Cut a cell into the statements that define something, without those that only show or ask.

    Examples
    --------
    >>> definitions("%matplotlib inline\\nimport math\\npredict('01-order')\\nx = 3")
    ['import math', 'x = 3']
    """
    source = re.sub(r"^[ \t]*[%!].*$", "", source, flags=re.M)  # magics are not Python
    try:
        body = ast.parse(source).body
        return [ast.unparse(statement) for statement in body if isinstance(statement, RUN)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def send(pipe: BinaryIO, header: dict, arrays: Sequence[np.ndarray] = ()) -> None:
    """Write one message: its size, a header as JSON with each array's dtype and shape, the arrays' bytes."""
    header = {**header, "arrays": [[array.dtype.str, array.shape] for array in arrays]}
    text = json.dumps(header).encode("utf-8")
    data = b"".join(array.tobytes() for array in arrays)
    pipe.write(struct.pack(">II", len(text), len(data)) + text + data)
    pipe.flush()


def receive(pipe: BinaryIO) -> tuple[dict, list[np.ndarray]]:
    """
    Read one message; nothing in it is run, and no array is made larger than the bytes that came.

    Raises
    ------
    EOFError
        Where the other side is gone.
    ValueError
        Where it is no message, or one of more than `MOST` bytes.
    """
    sizes = struct.unpack(">II", _exactly(pipe, 8))
    if sum(sizes) > MOST:
        raise ValueError(f"{sum(sizes):,} bytes, expected at most {MOST:,}")
    header, data = json.loads(_exactly(pipe, sizes[0])), _exactly(pipe, sizes[1])
    arrays = []
    for kind, shape in header["arrays"]:
        dtype = np.dtype(str(kind))
        if dtype.kind not in PLAIN:
            raise ValueError(f"an array of {dtype}")
        size = math.prod(shape) * dtype.itemsize
        arrays.append(np.frombuffer(data[:size], dtype).reshape(shape).copy())
        data = data[size:]
    return header, arrays


def _exactly(pipe: BinaryIO, size: int) -> bytes:
    data = pipe.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _start(folder: str) -> subprocess.Popen:
    """Start the other process in an empty folder, with nothing of this one's environment that it does not need."""
    kept = {name: value for name, value in os.environ.items() if name in PASSED_ON}
    own = {"HOME": folder, "TMPDIR": folder, "TEMP": folder, "TMP": folder, "PYTHONUTF8": "1"}
    one_thread = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    course = Path(__file__).resolve().parents[2]
    return subprocess.Popen(
        [sys.executable, "-m", f"{__package__}.runner_child"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env={**kept, **own, **one_thread, "PYTHONPATH": str(course), "MPLBACKEND": "agg"},
        start_new_session=True,
    )


def _kill(process: subprocess.Popen) -> None:
    """End the other process and, where the system groups them, those it started."""
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, 9)
        else:
            process.kill()
    process.wait()
    with suppress(OSError):
        process.stdin.close()
