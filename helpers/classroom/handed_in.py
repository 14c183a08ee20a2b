"""Which files a class has handed in, whose each is, and their bytes: nothing is unpacked to disk or followed."""

from __future__ import annotations

import io
import os
import re
import stat
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from .. import questions

MB = 1024 * 1024
LARGEST = 50 * MB  # of one file
MOST = 200 * MB  # of one zip in a zip, unpacked
RATIO = 200  # a zip that packs more than this is made to do harm; notebooks pack 3 to 20 times
ENTRIES = 200_000  # of one zip
DEEPEST = 20  # folders in folders

# Moodle: NAME_NUMBER_assignsubmission_file_ is a folder, or with folders switched off a prefix.
_MOODLE = re.compile(r"(?P<name>.+)_(?P<id>\d+)_assignsubmission_(?P<way>file|onlinetext)_?(?P<rest>.*)")
# Canvas: NAME[_LATE]_USER_FILE_original, or [LATE_]anon_KEY_FILE_original.
_CANVAS = re.compile(
    r"(?:(?P<name>.+?)_(?:LATE_)?(?P<id>\d{2,})|(?:LATE_)?(?P<anon>anon_[^_]+))_\d{2,}_(?P<rest>.+)"
)
_COPY = re.compile(r"(?: ?\(\d+\)|[-_ ](?:copy\d*|\d{1,2}))+$", re.IGNORECASE)  # x-1, x (2), x-Copy1
_OURS = re.compile(r"[-_ ]*(?:0\d|10)_[a-z_]+", re.IGNORECASE)  # the name of a notebook of the course
_CLUTTER = {"__MACOSX", ".ipynb_checkpoints", ".git", "__pycache__", ".venv"}
_OTHERS = {".html", ".htm", ".pdf", ".py", ".docx", ".rar", ".7z", ".gz", ".tar", ".tgz", ".json", ".txt", ""}
_HARMLESS = {"timestamp.txt", "class_settings.toml", "requirements.txt", "onlinetext.html", "readme.txt"}
_UNSEEN = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class Unreadable(Exception):
    """A file cannot be read; the message says why, for the instructor."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something about a file that the instructor should know: it stopped nothing else."""

    file: str
    what: str
    owner: str = ""
    other: str = ""  # a second person it concerns, for `{other}` in the text
    owner_id: str = ""  # the number a learning platform gave

    @property
    def text(self) -> str:
        return self.what.replace("{other}", self.other)


@dataclass(frozen=True, slots=True)
class File:
    """One file handed in: where it lies, how it is shown, and whose it is."""

    place: str  # a file, or the zip that holds it
    entry: int | None  # its position in that zip
    name: str  # as shown: source and path
    owner: str
    owner_id: str = ""  # the number a learning platform gave

    @property
    def kind(self) -> str:
        return PurePosixPath(self.name).suffix.lower()


def find(sources: Iterable[str | os.PathLike[str]]) -> tuple[list[File], list[Problem]]:
    """
    List what has been handed in.

    Parameters
    ----------
    sources : iterable of path-like
        Folders and zips, as Moodle, Canvas or nbgrader export them, or with one folder or file a student;
        or single notebooks.

    Returns
    -------
    files : list of File
        Notebooks, records and students' own zips, in the order of their names.
    problems : list of Problem
        What was left aside, and why.
    """
    files: list[File] = []
    problems: list[Problem] = []
    for source in map(Path, sources):
        aside: list[Problem] = []
        if source.is_dir():
            found = _in_folder(source, aside)
        elif source.suffix.lower() in (".ipynb", ".jsonl"):
            found = [_file((source.name,), source.parent, str(source), None)]
        elif source.suffix.lower() == ".zip" or zipfile.is_zipfile(source):
            found = _in_zip(source, aside)
        else:
            found = []
            aside.append(Problem(shown(source.name), "neither a folder, nor a zip, nor a notebook: not read"))
        found, aside = _told_apart(found, aside)
        files += found
        problems += aside
    return files, problems


def shown(name: str) -> str:
    """A name as it may stand in a report or a terminal: control and direction characters become visible."""
    return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", name)


def without_person(file: str, owner: str) -> str:
    """What of a file's name says nothing about whose it is: the course's own names, or the kind of file."""
    name = PurePosixPath(file).name
    ours = _OURS.search(PurePosixPath(name).stem)
    if name.endswith("my_predictions.jsonl"):
        return "my_predictions.jsonl"
    if ours and ours.group().strip("-_ ") in questions.titles():
        return ours.group().strip("-_ ") + PurePosixPath(name).suffix
    return f"a file{' of kind ' + PurePosixPath(name).suffix if PurePosixPath(name).suffix else ''}"


# Whose a file is.


def owner_of(parts: tuple[str, ...], source: str) -> tuple[str, str]:
    """
    Say whose a file is: a name, and the number a learning platform gave.

    Examples
    --------
    >>> owner_of(("Ann Lee_4711_assignsubmission_file_", "01.ipynb"), "week")
    ('Ann Lee', '4711')
    >>> owner_of(("leeann_LATE_321_98765_01_one_row_by_hand-1.ipynb",), "week")
    ('leeann', '321')
    >>> owner_of(("submitted", "ann", "week1", "01_one_row_by_hand.ipynb"), "course")
    ('ann', '')
    >>> owner_of(("ann lee 01_one_row_by_hand (1).ipynb",), "week")
    ('ann lee', '')
    """
    for part in parts:
        if found := _MOODLE.fullmatch(part):
            return found["name"], found["id"]
    if found := _CANVAS.fullmatch(parts[-1]):
        return (found["name"], found["id"]) if found["name"] else (found["anon"], "")
    for at, part in enumerate(parts[:-2]):
        if part == "submitted":
            return parts[at + 1], ""
    if len(parts) > 1:
        return parts[0], ""
    stem = PurePosixPath(parts[0]).stem.removesuffix("my_predictions")
    return _OURS.sub("", _COPY.sub("", stem)).strip("-_ ") or source, ""


def _told_apart(files: list[File], problems: list[Problem]) -> tuple[list[File], list[Problem]]:
    """Give namesakes their number: Moodle's differs by assignment, so that it names nobody by itself."""
    numbers: dict[str, set[str]] = defaultdict(set)
    for one in (*files, *problems):
        numbers[one.owner].add(one.owner_id)

    def told(one: Any) -> Any:
        several = one.owner and len(numbers[one.owner]) > 1
        return replace(one, owner=f"{one.owner} {one.owner_id}".strip()) if several else one

    files.sort(key=lambda file: (file.name, file.entry or 0))
    return [told(file) for file in files], [told(problem) for problem in problems]


def _file(parts: tuple[str, ...], source: Path, place: str, entry: int | None) -> File:
    owner, number = owner_of(parts, source.stem)
    return File(place, entry, shown("/".join((source.name, *parts))), shown(owner), number)


def _problem(name: str, why: str, owner: tuple[str, str]) -> Problem:
    return Problem(shown(name), why, shown(owner[0]), owner_id=owner[1])


def _wanted(parts: tuple[str, ...]) -> bool:
    name = PurePosixPath(parts[-1])
    hidden = name.name.startswith(".") or _CLUTTER.intersection(parts)
    return not hidden and name.suffix.lower() in (".ipynb", ".jsonl", ".zip")


def _other(parts: tuple[str, ...]) -> str | None:
    """Why a file that is no notebook is mentioned, if it is: somebody may have meant it as the submission."""
    name = PurePosixPath(parts[-1].lower())
    if name.name.startswith(".") or _CLUTTER.intersection(parts) or "feedback" in parts:
        return None
    if name.suffix not in _OTHERS or name.name in _HARMLESS or "_onlinetext" in "/".join(parts):
        return None
    return f"not a notebook ({name.suffix or 'no ending'}): not read; a notebook ends in .ipynb"


# Folders.


def _in_folder(folder: Path, problems: list[Problem]) -> list[File]:
    files = []
    # Beside what is submitted, an nbgrader course keeps the notebooks it gave out, and copies with marks.
    start = ("submitted",) if (folder / "submitted").is_dir() else ()
    for path, parts, why in _walk(folder.joinpath(*start), start):
        if not why and path.suffix.lower() == ".zip" and _is_export(path):
            files += _in_zip(path, problems)
        elif not why and _wanted(parts):
            files.append(_file(parts, folder, str(path), None))
        elif why := why or _other(parts):
            problems.append(_problem("/".join((folder.name, *parts)), why, owner_of(parts, folder.stem)))
    return files


def _walk(folder: Path, above: tuple[str, ...]) -> Iterator[tuple[Path, tuple[str, ...], str | None]]:
    """Every file below a folder; links, which can lead anywhere, and what else is no ordinary file, with the reason."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield folder, (*above, ""), f"cannot be opened: {error.strerror}"
        return
    for entry in entries:
        path, parts = Path(entry.path), (*above, entry.name)
        if entry.is_symlink() or _is_junction(entry):
            yield path, parts, "a link: not followed, hand in the file itself"
        elif entry.is_dir(follow_symlinks=False):
            if entry.name not in _CLUTTER and len(parts) <= DEEPEST:
                yield from _walk(path, parts)
        elif stat.S_ISREG(entry.stat(follow_symlinks=False).st_mode):
            yield path, parts, None
        else:
            yield path, parts, "not an ordinary file: not read"


def _is_junction(entry: os.DirEntry) -> bool:
    """Whether it is Windows' other kind of link, which Python tells from 3.12 on."""
    return hasattr(entry, "is_junction") and entry.is_junction()


# Zips.


def _is_export(path: Path) -> bool:
    """Whether a zip in a folder is a class's rather than a student's."""
    try:
        with zipfile.ZipFile(path) as opened:
            names = [name.rstrip("/").split("/") for name in opened.namelist()[:ENTRIES]]
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError):
        return False
    return any(_MOODLE.fullmatch(part) for parts in names for part in parts) or (
        sum(_CANVAS.fullmatch(parts[-1]) is not None for parts in names) > len(names) / 2
    )


def _in_zip(path: Path, problems: list[Problem]) -> list[File]:
    try:
        entries = _opened(str(path)).infolist()
    except Unreadable as error:
        problems.append(Problem(shown(path.name), str(error)))
        return []
    names = [tuple(part for part in entry.filename.split("/") if part) for entry in entries]
    wrapper = _wrapper([name for entry, name in zip(entries, names, strict=True) if not entry.is_dir()])
    files = []
    for at, (entry, parts) in enumerate(zip(entries, names, strict=True)):
        if entry.is_dir() or not parts:
            continue
        name = "/".join((path.name, *parts))
        why = _refused(entry)
        if not why and _wanted(parts):
            found = _file(parts[wrapper:], path, str(path), at)
            files.append(replace(found, name=shown(name)))
        elif why := why or _other(parts):
            problems.append(_problem(name, why, owner_of(parts[wrapper:], path.stem)))
    return files


def _wrapper(names: list[tuple[str, ...]]) -> int:
    """1 where everything lies in one folder that is nobody's: the folder that was zipped."""
    tops = {name[0] for name in names if name[0] not in _CLUTTER}
    inside = any(len(name) > 2 for name in names)
    return int(len(tops) == 1 and inside and not _MOODLE.fullmatch(next(iter(tops))))


def _refused(entry: zipfile.ZipInfo) -> str | None:
    """Why an entry of a zip is not read."""
    name = entry.filename
    if ".." in re.split(r"[/\\]", name):
        return "its name climbs out of the zip (..): not read"
    if name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", name):
        return "its name is a place on a disk: not read"
    if stat.S_ISLNK(entry.external_attr >> 16):
        return "a link in a zip: not followed, hand in the file itself"
    if entry.flag_bits & 1:
        return "encrypted: not read; hand it in without a password"
    if entry.file_size > LARGEST:
        return f"too large: {entry.file_size / MB:.0f} MB unpacked, at most {LARGEST // MB} MB are read"
    if entry.file_size > MB and entry.file_size > RATIO * max(entry.compress_size, 1):
        return f"packed {entry.file_size // max(entry.compress_size, 1)} times smaller, as a zip bomb is: not read"
    return None


def _opened(place: str) -> zipfile.ZipFile:
    """A zip, opened once as long as it stays the same."""
    try:
        return _opened_at(place, os.stat(place).st_mtime_ns)
    except OSError as error:
        raise Unreadable(f"cannot be opened: {error.strerror}") from None


@lru_cache(maxsize=4)
def _opened_at(place: str, _: int) -> zipfile.ZipFile:
    try:
        opened = zipfile.ZipFile(place)
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError) as error:
        raise Unreadable(f"not readable as a zip ({error}): export or zip it again") from None
    if len(opened.infolist()) > ENTRIES:
        raise Unreadable(f"a zip of {len(opened.infolist())} entries: at most {ENTRIES} are read")
    return opened


# Bytes.


def content(file: File) -> bytes:
    """
    Return a file's bytes.

    Raises
    ------
    Unreadable
        If it is too large, damaged, or cannot be opened.
    """
    if file.entry is not None:
        opened = _opened(file.place)
        return _entry(opened, opened.infolist()[file.entry])
    try:
        size = os.path.getsize(file.place)
        if size > LARGEST:
            raise Unreadable(f"too large: {size / MB:.0f} MB, at most {LARGEST // MB} MB are read")
        return Path(file.place).read_bytes()
    except OSError as error:
        raise Unreadable(f"cannot be opened: {error.strerror or error}") from None


def unzipped(data: bytes) -> Iterator[tuple[str, bytes | Unreadable]]:
    """Give what a student's own zip holds, by name: bytes, or why there are none. A zip in it is not opened."""
    try:
        opened = zipfile.ZipFile(io.BytesIO(data))
        entries = opened.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        yield "", Unreadable(f"not readable as a zip ({error})")
        return
    left = MOST
    for entry in entries[:ENTRIES]:
        parts = tuple(part for part in entry.filename.split("/") if part)
        if entry.is_dir() or not parts or not (_wanted(parts) or _refused(entry)):
            continue
        name, why = shown("/".join(parts)), _refused(entry)
        left -= entry.file_size
        if not why and parts[-1].lower().endswith(".zip"):
            why = "a zip inside a zip: not opened, hand in the notebooks themselves"
        if not why and left < 0:
            why = f"the zip unpacks to more than {MOST // MB} MB: the rest is not read"
        try:
            yield name, Unreadable(why) if why else _entry(opened, entry)
        except Unreadable as error:
            yield name, error


def _entry(opened: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """One entry, never more of it than it says, whatever it says."""
    try:
        with opened.open(entry) as stream:
            data = stream.read(LARGEST + 1)
    # zlib.error, EOFError and struct.error among others: a damaged entry can fail in many ways
    except Exception as error:
        raise Unreadable(f"damaged in its zip ({error or type(error).__name__})") from None
    if len(data) > LARGEST:
        raise Unreadable(f"too large: at most {LARGEST // MB} MB are read")
    return data
