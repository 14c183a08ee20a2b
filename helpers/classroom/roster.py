"""A class list as learning platforms export it, and who of it has handed in nothing."""

from __future__ import annotations

import csv
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from pathlib import Path

import click

from .handed_in import shown
from .submissions import Student

FULL = ("full name", "name", "student", "student name", "display name")
FIRST = ("first name", "firstname", "given name", "forename")
LAST = ("last name", "lastname", "surname", "family name")
MAIL = ("email", "e-mail", "email address", "mail")
# The first that a list has is shown; any of them tells people apart.
IDS = (
    "id number",
    "student id",
    "student number",
    "id",
    "identifier",
    "user id",
    "username",
    "login",
    "login id",
)
IDS = (*IDS, "sis user id", "sis login id", "matriculation number", "external id", "net id", "netid")
MOST_WORDS = 5  # of a name, in all orders
NOBODY = ("points possible", "student, test", "test student")  # rows of Canvas that are no people


@dataclass(frozen=True)
class Person:
    """One line of a class list."""

    name: str
    id: str = ""
    email: str = ""
    also: frozenset[str] = frozenset()  # further ids, and names otherwise written

    @cached_property
    def words(self) -> frozenset[str]:
        """All that may name the person."""
        return self.also | spellings(self.name)


def read_roster(path: Path) -> tuple[Person, ...]:
    """
    Read a class list.

    Parameters
    ----------
    path : Path
        A CSV with a header (commas, semicolons or tabs), its columns known by their English names; else a name
        or an id a line, of which further columns may tell more.

    Returns
    -------
    tuple of Person

    Raises
    ------
    click.ClickException
        If nobody is on it.
    """
    text = _decoded(path.read_bytes())
    lines = [line for line in text.splitlines() if line.strip()]
    rows = list(csv.reader(lines, delimiter=_delimiter(lines)))
    head = [cell.strip().casefold() for cell in rows[0]] if rows else []
    if any(name in (*FULL, *LAST, *FIRST, *IDS, *MAIL) for name in head):
        found = [_by_columns(dict(zip(head, row, strict=False))) for row in rows[1:]]
    else:
        found = [_by_line(line, row) for line, row in zip(lines, rows, strict=False)]
    people = tuple(one for one in found if one and one.name.casefold() not in NOBODY)
    if not people:
        raise click.ClickException(
            f"{path} lists nobody: expected a name or an id a line, or a CSV with columns such as name, id, email."
        )
    return people


def _decoded(data: bytes) -> str:
    """Text as spreadsheets save it: UTF-8, UTF-16, else Windows' own."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _delimiter(lines: Sequence[str]) -> str:
    """What parts the columns: the sign that stands in the first line most."""
    counts = Counter({sign: lines[0].count(sign) for sign in "\t;,"} if lines else {",": 0})
    return counts.most_common(1)[0][0]


def _by_columns(row: dict[str, str]) -> Person | None:
    row = {name: shown((cell or "").strip()) for name, cell in row.items()}

    def first(names: Iterable[str]) -> str:
        return next((row[name] for name in names if row.get(name)), "")

    parts = " ".join(filter(None, (first(FIRST), first(LAST))))
    name = parts if first(LAST) or not first(FULL) else first(FULL)
    ids = [row[name].removeprefix("Participant ") for name in IDS if row.get(name)]
    return _person(name or next(iter(ids), "") or first(MAIL), ids, first(MAIL), [first(FULL)])


def _by_line(line: str, row: Sequence[str]) -> Person | None:
    """Without a header: the first column, or "Last, First" as one; digits and addresses may tell people apart."""
    cells = [shown(cell.strip()) for cell in row if cell.strip()]
    if not cells:
        return None
    words = [cell for cell in cells if not any(sign.isdigit() or sign == "@" for sign in cell)]
    name = ", ".join(words) if "," in line and len(words) == 2 and words == cells[:2] else cells[0]
    ids = [cell for cell in cells if any(map(str.isdigit, cell)) and "@" not in cell]
    return _person(
        name, ids, next((cell for cell in cells if "@" in cell), ""), [shown(line.strip()), *cells[:1]]
    )


def _person(name: str, ids: Sequence[str], email: str, names: Iterable[str]) -> Person | None:
    also = {one.casefold() for one in (*ids, email, email.partition("@")[0]) if one}
    also |= {spelling for one in names for spelling in spellings(one)}
    return Person(name, next(iter(ids), ""), email, frozenset(also)) if name else None


def key(name: str) -> str:
    """A name as two lists write it alike: its letters and digits, without accents and spaces."""
    return "".join(sign for sign in unicodedata.normalize("NFKD", name.casefold()) if sign.isalnum())


def spellings(name: str) -> set[str]:
    """
    Keys of a name with its words in any order, since one list has the surname first and another last.

    Examples
    --------
    >>> sorted(spellings("Lee, Ann"))
    ['annlee', 'leeann']
    """
    words = list(filter(None, map(key, name.split())))
    return {"".join(some) for some in permutations(words)} if len(words) <= MOST_WORDS else {key(name)}


def matched(roster: Sequence[Person], students: Sequence[Student]) -> dict[int, int]:
    """
    Say who of a class list is which student.

    By name and id together first, then by name, then by id; each student is one person of the list at most, so that
    of two namesakes both must hand in.

    Parameters
    ----------
    roster : sequence of Person
    students : sequence of Student

    Returns
    -------
    dict of int to int
        Place in ``students`` -> place in ``roster``.
    """
    names = [key(_without_id(student)) for student in students]
    ids = [{one.casefold() for one in (student.owner_id, student.owner) if one} for student in students]

    def by_name(person: Person, at: int) -> bool:
        return names[at] in person.words

    def by_id(person: Person, at: int) -> bool:
        return bool(ids[at] & person.also)

    found: dict[int, int] = {}
    left = dict.fromkeys(range(len(roster)))
    for alike in (lambda *pair: by_name(*pair) and by_id(*pair), by_name, by_id):
        index: dict[str, list[int]] = {}
        for at in range(len(students)):
            if at not in found:
                for word in {names[at], *ids[at]}:
                    index.setdefault(word, []).append(at)
        for place in list(left):
            person = roster[place]
            near = [at for word in person.words for at in index.get(word, ())]
            at = next((at for at in sorted(near) if at not in found and alike(person, at)), None)
            if at is not None:
                found[at] = place
                del left[place]
    return found


def _without_id(student: Student) -> str:
    """A student's name without the number that tells namesakes apart."""
    return student.owner.removesuffix(f" {student.owner_id}") if student.owner_id else student.owner


def absent(roster: Sequence[Person], students: Sequence[Student]) -> list[str]:
    """Names of those on the list who handed in nothing, in its order; of namesakes, with their id or how many."""
    there = set(matched(roster, students).values())
    away = [person for at, person in enumerate(roster) if at not in there]
    many = Counter(key(person.name) for person in roster)
    said = []
    for person in away:
        if many[key(person.name)] == 1:
            said.append(person.name)
        else:
            said.append(f"{person.name} ({person.id or f'one of {many[key(person.name)]} of this name'})")
    return said
