"""The learner's record: one JSON object a line, whole and on disk before anything says "committed"."""

from __future__ import annotations

import copy
import errno
import json
import os
import re
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from filelock import FileLock

FORMAT = 1
BECAUSE_LIMIT = 2_000
LOCK_SECONDS = 10

# Every line starts so. Inside a JSON string the quotes would be escaped: text cannot hold these bytes.
_START = b'{"format":'
_MERGE_MARK = re.compile(rb"(<{7}|={7}|>{7}|\|{7})( |$)")
_FULL = {errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)}
# Lines that could not be written yet, by path: another Record of the same kernel knows them too.
_memory: dict[Path, list[bytes]] = {}
_mutex = threading.RLock()
# What a file system answers that has no fsync to offer, as some network folders do not.
_NO_FSYNC = {errno.EINVAL, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP}


def record_path() -> Path:
    """
    Where the record is kept now.

    Returns
    -------
    Path
        `PREDICTIONS_FILE` from the environment, else `my_predictions.jsonl` in the kernel's working folder.
    """
    place = Path(os.environ.get("PREDICTIONS_FILE") or "my_predictions.jsonl").expanduser()
    try:
        return place.absolute()
    except FileNotFoundError:  # the working folder was removed; appending will say so
        return place


@dataclass(frozen=True)
class Saved:
    """What became of a line: on disk, or why it could only be kept in memory."""

    on_disk: bool
    message: str | None = None


def make_line(
    *,
    question: str,
    version: int,
    variant: str,
    notebook: str,
    kind: str,
    answer: str | list | None,
    because: str = "",
    sure: int | None = None,
    attempt: int = 1,
    time: str | None = None,
) -> dict[str, Any]:
    """
    Build the line for one commit.

    Parameters
    ----------
    question, version, variant, notebook, kind
        Which question was asked, in which wording, with which numbers, and where.
    answer : str, list or None
        As `typed.canonical` gives it: text as typed, whole numbers, lists of these. None: "I don't know yet".
    because : str
        The reason. Line breaks become spaces; beyond `BECAUSE_LIMIT` characters it is cut, and "…" says so.
    sure : {1, 2, 3} or None
        None exactly when `answer` is None.
    attempt : int
        1 for the first commit.
    time : str, optional
        UTC, ISO 8601 to the second. Default: now.

    Returns
    -------
    dict
        What a reader of the file will get back, field by field.

    Raises
    ------
    ValueError
        If a field does not hold what its name promises; the message says which, and what is expected.

    Examples
    --------
    >>> line = make_line(question="01-weights", version=1, variant="", notebook="01_one_row_by_hand",
    ...                  kind="row", answer=["0.67", "0.33"], because="closer\\nkey", sure=2)
    >>> line["because"], line["sure"], line["format"]
    ('closer key', 2, 1)
    """
    because = " ".join(str(because or "").split())
    if len(because) > BECAUSE_LIMIT:
        because = because[: BECAUSE_LIMIT - 1] + "…"
    line = {
        "format": FORMAT,
        "question": question,
        "version": version,
        "variant": variant,
        "notebook": notebook,
        "kind": kind,
        "answer": answer,
        "because": because,
        "sure": sure,
        "attempt": attempt,
        "time": time or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }
    return json.loads(_encode(line))


class Record:
    """
    The lines committed so far, and the only way to add one.

    Lines are appended and never altered, whoever wrote them. What is no line of this format (torn by a crash,
    edited, merged, from a newer version) stays in the file, is skipped, and is named in `problems`. A line
    that cannot be written stays in memory while the kernel runs, counts in every answer, and goes to disk
    with the next append that succeeds. Threads may share a Record, processes may share its file; beside it
    stands a hidden lock file.

    Parameters
    ----------
    path : path-like, optional
        Default: `record_path()` at the time of the call.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     record = Record(folder + "/mine.jsonl")
    ...     saved = record.append(make_line(question="01-shift", version=1, variant="", kind="choice",
    ...                                     notebook="01_one_row_by_hand", answer="same", sure=3))
    ...     saved.on_disk, record.first("01-shift")["answer"], record.attempts("01-shift")
    (True, 'same', 1)
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = record_path() if path is None else Path(path)
        self._memory = _memory.setdefault(self.path, [])
        self._cached = Reading()
        self._told: set[tuple[int, str]] = set()

    def append(self, line: dict[str, Any]) -> Saved:
        """
        Add a line, and return once it is on disk or known not to be.

        Parameters
        ----------
        line : dict
            As `make_line` builds it.

        Returns
        -------
        Saved
            With a message for the learner if the line is in memory only, or if earlier ones left memory.

        Raises
        ------
        ValueError
            If `line` is not what `make_line` builds: it would be skipped on reading.
        """
        raw = _encode(line)
        with _mutex:
            try:
                self._look_at_place()
                with self._locked():
                    # A write can fail after its bytes went out: what stands in the file is not written again.
                    late = self._not_in(self._load()) if self._memory else []
                    self._write([*late, raw])
            except OSError as error:
                self._memory.append(raw)
                return Saved(False, self._explain(error))
            self._memory.clear()
        many = "1 prediction" if len(late) == 1 else f"{len(late)} predictions"
        return Saved(
            True, f"{many} kept in memory so far: now in {self.path.name} as well." if late else None
        )

    def lines(self, question: str | None = None) -> list[dict[str, Any]]:
        """
        Return copies of all lines, or of one question's: the file's in its order, then those in memory.

        Parameters
        ----------
        question : str, optional
            A question's id.

        Returns
        -------
        list of dict
        """
        with _mutex:
            reading = self._reading()
            found = [*reading.lines, *(json.loads(raw) for raw in self._not_in(reading))]
        return copy.deepcopy([line for line in found if question in (None, line["question"])])

    def first(self, question: str, variant: str | None = None) -> dict[str, Any] | None:
        """Return the commit that counts: the first of a question (of one variant, if given), or None."""
        return next(iter(self._of(question, variant)), None)

    def latest(self, question: str, variant: str | None = None) -> dict[str, Any] | None:
        """Return the last commit of a question (of one variant, if given), or None."""
        return next(reversed(self._of(question, variant)), None)

    def attempts(self, question: str, variant: str | None = None) -> int:
        """Return how many commits a question has (in one variant, if given)."""
        return len(self._of(question, variant))

    @property
    def problems(self) -> list[str]:
        """A sentence for each stretch of the file that is skipped, or for why it cannot be read."""
        with _mutex:
            reading = self._reading()
        return self._sentences(reading.faults)

    def new_problems(self) -> list[str]:
        """Return the problems this object has not returned yet."""
        with _mutex:
            faults = [fault for fault in self._reading().faults if fault not in self._told]
            self._told.update(faults)
        return self._sentences(faults)

    def _of(self, question: str, variant: str | None) -> list[dict[str, Any]]:
        return [line for line in self.lines(question) if variant in (None, line["variant"])]

    def _not_in(self, reading: Reading) -> list[bytes]:
        return [raw for raw in self._memory if raw not in reading.raw]

    def _sentences(self, faults: Iterable[tuple[int, str]]) -> list[str]:
        """One sentence for each sort of fault: a binary file is not reported line by line."""
        lines: dict[str, list[int]] = {}
        for number, what in faults:
            lines.setdefault(what, []).append(number)
        return [
            f"{self.path.name}, {_places(numbers)}: {what}. Kept in the file, and skipped."
            if numbers[0]
            else f"{self.path} cannot be read ({what}): what is in it does not show, and stays."
            for what, numbers in lines.items()
        ]

    def _reading(self) -> Reading:
        """The file as it is now, read again only if its size or time of change says so."""
        try:
            now = os.stat(self.path)
            stamp = (now.st_ino, now.st_size, now.st_mtime_ns)
            if stamp != self._cached.stamp:
                reading = self._load(stamp)
                if reading.torn:
                    # Perhaps caught while another kernel was writing it: with the lock held, nobody is.
                    with self._locked():
                        reading = self._load(stamp)
                self._cached = reading
            return self._cached
        except FileNotFoundError:
            return Reading()
        except OSError as error:
            return Reading(faults=((0, error.strerror or str(error)),))

    def _load(self, stamp: tuple[int, ...] | None = None) -> Reading:
        """Read the file, asking nobody; a file that is not there holds nothing."""
        try:
            if not stat.S_ISREG(os.stat(self.path).st_mode):  # reading a pipe would wait for ever
                raise OSError(errno.EINVAL, "not an ordinary file")
            return scan(self.path.read_bytes(), stamp)
        except FileNotFoundError:
            return Reading()

    def _look_at_place(self) -> None:
        """Raise early where a file cannot be: opening a pipe waits, and taking a lock may create folders."""
        try:
            mode = os.stat(self.path).st_mode
        except FileNotFoundError:
            os.stat(self.path.parent)
            return
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "not an ordinary file")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """
        Hold the lock that the other kernels take too.

        Where none can be had (a network folder, a folder that takes no new file, a holder that hangs) go on
        without: a line is a single appending write, which local file systems keep whole by themselves.
        """
        lock_file = self.path.with_name(f".{self.path.name}.lock")
        try:
            lock = FileLock(lock_file, timeout=LOCK_SECONDS, poll_interval=0.005, fallback_to_soft=False)
            lock.acquire()
        except (OSError, RuntimeError):  # filelock's Timeout is an OSError
            lock = None
        try:
            yield
        finally:
            if lock is not None:
                with suppress(OSError, RuntimeError):
                    lock.release()

    def _write(self, lines: list[bytes]) -> None:
        data = b"".join(line + b"\n" for line in lines)
        # O_BINARY: Windows would turn "\n" into "\r\n".
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0)
        descriptor = os.open(self.path, flags, 0o666)
        try:
            if _ends_inside_a_line(descriptor):
                data = b"\n" + data
            _write_whole(descriptor, data)
            try:
                os.fsync(descriptor)
            except OSError as error:
                if error.errno not in _NO_FSYNC:
                    raise
        finally:
            os.close(descriptor)  # some network folders report a full disk only here

    def _explain(self, error: OSError) -> str:
        if isinstance(error, IsADirectoryError):
            reason, remedy = f"{self.path} is a folder, not a file", "rename that folder"
        elif isinstance(error, (FileNotFoundError, NotADirectoryError)):
            reason, remedy = f"the folder {self.path.parent} does not exist", "create it"
        elif error.errno in _FULL:
            reason, remedy = f"there is no space left for {self.path}", "free some space"
        elif isinstance(error, PermissionError) or error.errno == errno.EROFS:
            reason, remedy = f"{self.path} cannot be written to", "make the file and its folder writable"
        else:
            reason, remedy = f"{self.path} cannot be written to ({error.strerror or error})", "put that right"
        return (
            f"Kept in memory only: {reason}. Nothing is lost while this kernel runs; {remedy}, and your next "
            "prediction saves it too. To use another place, set PREDICTIONS_FILE before JupyterLab starts."
        )


@dataclass(frozen=True)
class Reading:
    """What one look at a record found; `raw` are its lines byte for byte, a fault on line 0 is the file's."""

    stamp: tuple[int, ...] | None = None
    lines: tuple[dict[str, Any], ...] = ()
    raw: frozenset[bytes] = frozenset()
    faults: tuple[tuple[int, str], ...] = ()
    torn: bool = False


def scan(data: bytes, stamp: tuple[int, ...] | None = None) -> Reading:
    """
    Sort a file's lines into records and faults. A byte order mark, "\\r\\n" and empty lines do no harm.

    Parameters
    ----------
    data : bytes
        The whole file.
    stamp : tuple of int, optional
        What the reading is remembered by.

    Returns
    -------
    Reading
    """
    lines, raws, faults = [], [], []
    number, fault = 0, None
    for number, text in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        fault = None
        for raw, line, fault in _records(text.strip()):
            if fault is None:
                lines.append(line)
                raws.append(raw)
            else:
                faults.append((number, fault))
    return Reading(stamp, tuple(lines), frozenset(raws), tuple(faults), torn=fault is not None)


def _records(text: bytes) -> Iterator[tuple[bytes, Any, str | None]]:
    """The record in a line; or its parts, where without a lock one came to stand right behind a torn one."""
    line, fault = _parse(text)
    if line is not None or text.find(_START, 1) < 0:
        if text:
            yield text, line, fault
        return
    for piece in re.split(b"(?=" + re.escape(_START) + b")", text):
        if piece:
            yield piece, *_parse(piece)


def _parse(raw: bytes) -> tuple[Any, str | None]:
    """What a line holds, None if that is no JSON; and what is wrong with it, None if it is a record."""
    try:
        line = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        if _MERGE_MARK.match(raw):
            return None, "a mark left by a merge"
        if raw.startswith(_START[: len(raw)]):
            return None, "breaks off, as after a crash or a full disk"
        return None, "not JSON"
    return line, fault_in(line)


def _encode(line: dict[str, Any]) -> bytes:
    fault = fault_in(line)
    if fault:
        raise ValueError(f"This prediction cannot be recorded: {fault}.")
    text = json.dumps(line, ensure_ascii=False)
    # Halves of a surrogate pair, as some front ends send them, are joined; a lone one cannot be written.
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode("utf-8")


def fault_in(line: Any) -> str | None:
    """
    Say what keeps `line` from being a record of this format, or None.

    Examples
    --------
    >>> fault_in(7), fault_in({"format": 1})[:25]
    ('not a record', 'a record without question')
    """
    if not isinstance(line, dict):
        return "not a record"
    if _is_count(line.get("format")) and line["format"] > FORMAT:
        return f"made by a newer version of this course (format {line['format']}, this one reads {FORMAT})"
    missing = [name for name in _EXPECTED if name not in line]
    if missing:
        return f"a record without {', '.join(missing)}"
    for name, (holds, expected) in _EXPECTED.items():
        if not holds(line[name]):
            return f"{name} is {expected}, not {_short(line[name])}"
    if (line["answer"] is None) != (line["sure"] is None):
        return "sure is 1, 2 or 3 with an answer, and null without one"
    return None


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 1


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _is_answer(value: Any, depth: int = 0) -> bool:
    if isinstance(value, list):
        return depth < 3 and all(_is_answer(item, depth + 1) for item in value)
    return type(value) in (str, int) if depth else value is None or isinstance(value, str)


def _is_time(value: Any) -> bool:
    try:
        return datetime.fromisoformat(value.removesuffix("Z")) is not None
    except (AttributeError, ValueError):
        return False


_EXPECTED = {
    "format": (lambda value: type(value) is int and value == FORMAT, str(FORMAT)),
    "question": (_is_name, "a question's id"),
    "version": (_is_count, "a whole number from 1"),
    "variant": (_is_text, "text"),
    "notebook": (_is_text, "text"),
    "kind": (_is_name, "a kind of question"),
    "answer": (_is_answer, "null, text, or lists of text and whole numbers"),
    "because": (_is_text, "text"),
    "sure": (lambda value: value is None or (_is_count(value) and value <= 3), "1, 2, 3 or null"),
    "attempt": (_is_count, "a whole number from 1"),
    "time": (_is_time, "a date and time"),
}


def _places(numbers: list[int]) -> str:
    """Say "lines 1 to 3, 5" for 1, 2, 3 and 5, and no more than eight stretches."""
    stretches = []
    for number in sorted(set(numbers)):
        if stretches and number == stretches[-1][-1] + 1:
            stretches[-1][1:] = [number]
        else:
            stretches.append([number])
    said = ", ".join(" to ".join(map(str, stretch)) for stretch in stretches[:8])
    return ("lines " if len(set(numbers)) > 1 else "line ") + said + (", …" if len(stretches) > 8 else "")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"


def _ends_inside_a_line(descriptor: int) -> bool:
    if not os.fstat(descriptor).st_size:
        return False
    os.lseek(descriptor, -1, os.SEEK_END)
    return os.read(descriptor, 1) != b"\n"


def _write_whole(descriptor: int, data: bytes) -> None:
    """One write as a rule. A disk that fills up takes a part: the rest is tried, and what is torn stays."""
    while data:
        written = os.write(descriptor, data)
        if not written:
            raise OSError(errno.ENOSPC, "no byte was taken")
        data = data[written:]
