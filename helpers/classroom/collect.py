"""From what was handed in to a class's record: answers by number, names apart, and what could not be read."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

import click

from .arguments import Submissions
from .handed_in import File, Problem, find, shown
from .sheets import uncell, write_sheet
from .submissions import Answer, Check, Student, read_student
from .workers import spread
from .writing import check_folder, whole, write_whole

FORMAT = 1
ANSWERS, NAMES, PROBLEMS, ABOUT = "answers.jsonl", "names.csv", "problems.csv", "about.txt"
MOST_SAID = 5  # of what was found where nothing could be read
_NOTEBOOK = re.compile(r"\b\d\d_[a-z_]+\b")
SHARED = 3  # lines alike to the second and the word, from which on a record looks copied
KEPT = """\
What a class handed in, read on {when}. Nothing of it was sent anywhere.

answers.jsonl  committed answers and results of checks, under numbers
names.csv      which number is who; delete it as soon as nobody needs to be named
problems.csv   files that could not be read, or hold something odd

Nothing here is deleted by itself. To delete all of it, delete this folder; the submissions themselves lie
where you put them.
"""


@dataclass
class Class:
    """What a class handed in."""

    students: list[Student]
    problems: list[Problem] = field(
        default_factory=list
    )  # of files that are nobody's, or of several people's

    def number(self, owner: str) -> int | None:
        """Under which number a student stands in a report without names."""
        return self._numbers.get(owner)

    def __post_init__(self) -> None:
        self._numbers = {student.owner: at for at, student in enumerate(self.students, 1)}

    @cached_property
    def shared(self) -> dict[tuple[int, int], int]:
        """
        Records that two people have in common: who stands first and who later, and how many lines.

        Alike to the second and to the word of the reason, which chance does not do.
        """
        first: dict[int, int] = {}
        found: Counter = Counter()
        for at, student in enumerate(self.students):
            for answer in student.answers:
                if answer.because and (other := first.setdefault(hash(answer), at)) != at:
                    found[other, at] += 1
        return {pair: count for pair, count in found.items() if count >= SHARED}

    @property
    def all_problems(self) -> list[Problem]:
        return [*self.problems, *(problem for student in self.students for problem in student.problems)]


def collect(sources: Iterable[str | Path], workers: int | None = None, label: str = "") -> Class:
    """
    Read what a class handed in.

    Parameters
    ----------
    sources : iterable of path-like
        Folders and zips, see `handed_in.find`; or folders that `save` wrote.
    workers : int, optional
        How many processes read. Default: as many as are worth it.
    label : str
        What the progress bar says; without it there is none.

    Returns
    -------
    Class
        Students in the order of their names.
    """
    sources = list(map(Path, sources))
    saved = [load(source) for source in sources if (source / ANSWERS).is_file()]
    files, problems = find(source for source in sources if not (source / ANSWERS).is_file())
    by_owner: dict[str, list[File]] = defaultdict(list)
    for file in files:
        by_owner[file.owner].append(file)
    for problem in problems:
        if problem.owner:
            by_owner.setdefault(problem.owner, [])  # who handed in only what cannot be read is a student too
    owners = sorted(by_owner, key=_sortable)
    students = spread(read_student, [(owner, by_owner[owner]) for owner in owners], workers, label)
    by_name = dict(zip(owners, students, strict=True))
    for problem in problems:
        if problem.owner:
            by_name[problem.owner].problems.append(problem)
            by_name[problem.owner].owner_id = by_name[problem.owner].owner_id or problem.owner_id
    problems = [problem for problem in problems if not problem.owner]
    students += [student for one in saved for student in one.students]
    problems += [problem for one in saved for problem in one.problems]
    collected = Class(students, problems)
    # Once each: a class that was saved tells of its own copies already.
    collected.problems = list(dict.fromkeys([*problems, *_copied(collected)]))
    return collected


def _sortable(owner: str) -> tuple:
    """Student 9 before student 10."""
    return tuple(
        (part.zfill(12) if part.isdigit() else part.casefold()) for part in re.split(r"(\d+)", owner)
    )


def _copied(collected: Class) -> list[Problem]:
    """A line for each pair of records that have lines in common."""
    students = collected.students
    return [
        Problem(
            students[at].owner,
            f"{count} committed lines are those of {{other}}, to the second and the word: a file passed on, or "
            "work done together; the report counts them once (with --count-copies for both)",
            students[at].owner,
            students[other].owner,
        )
        for (other, at), count in collected.shared.items()
    ]


# Kept as a folder.


def save(collected: Class, folder: str | Path) -> None:
    """Write a class's record; `load` reads it again."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with whole(folder / ANSWERS, encoding="utf-8", newline="\n") as file:
        for number, student in enumerate(collected.students, 1):
            line = {
                "format": FORMAT,
                "submission": number,
                "files": student.files,
                "notebooks": student.notebooks,
                "checks": student.checks,
                "answers": student.answers,
            }
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    rows = [(number, student.owner, student.owner_id) for number, student in enumerate(collected.students, 1)]
    write_sheet(folder / NAMES, ("submission", "name", "id"), rows)
    rows = [
        (collected.number(problem.owner) or "", problem.file, problem.what, problem.other)
        for problem in collected.all_problems
    ]
    write_sheet(folder / PROBLEMS, ("submission", "file", "problem", "other"), rows)
    when = datetime.now(UTC).date().isoformat()
    write_whole(folder / ABOUT, KEPT.format(when=when))


def load(folder: str | Path) -> Class:
    """
    Read what `save` wrote.

    Where names.csv was deleted, students are called by their number.
    """
    folder = Path(folder)
    names = {int(row[0]): row[1:] for row in _rows(folder / NAMES)}
    students = []
    with open(folder / ANSWERS, encoding="utf-8") as lines:
        for text in lines:
            line = json.loads(text)
            if line["format"] != FORMAT:
                raise click.ClickException(
                    f"{folder / ANSWERS} has format {line['format']}, this version reads {FORMAT}: collect again."
                )
            owner, owner_id = names.get(line["submission"], (f"submission {line['submission']}", ""))
            students.append(
                Student(
                    owner,
                    [Answer(*answer) for answer in line["answers"]],
                    {name: Check(*check) for name, check in line["checks"].items()},
                    line["notebooks"],
                    owner_id=owner_id,
                    files=line["files"],
                )
            )
    problems = []
    for number, file, what, other in _rows(folder / PROBLEMS):
        owner = students[int(number) - 1].owner if number else ""
        problems.append(Problem(file, what, owner, other))
    return Class(students, problems)


def _rows(path: Path) -> Iterator[list[str]]:
    if path.is_file():
        with open(path, encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file)
            next(rows, None)
            yield from (list(map(uncell, row)) for row in rows)


@click.command("collect")
@click.argument("sources", nargs=-1, required=True, type=Submissions())
@click.option(
    "--to", default="class", show_default=True, type=click.Path(path_type=Path), help="Folder to write."
)
@click.option("--workers", type=click.IntRange(1), help="How many processes read. Default: by the machine.")
def command(sources: tuple[Path, ...], to: Path, workers: int | None) -> None:
    """Read submissions: SOURCES are folders or zips as Moodle, Canvas or nbgrader export them.

    Answers are kept under numbers, names in a file of their own. No submission is run.
    """
    check_folder(to, ANSWERS)
    collected = something(collect(sources, workers, "Reading"), sources)
    save(collected, to)
    click.echo(summary(collected))
    click.echo(f"Written to {to}. Next: python -m helpers.classroom report {to}")


def something(collected: Class, sources: Iterable[Path]) -> Class:
    """
    Give a class back in which something could be read.

    Raises
    ------
    click.ClickException
        If nothing could: it names what was found.
    """
    if any(student.notebooks or student.answers for student in collected.students):
        return collected
    found = [f"  {', '.join(files)}: {what}" for _, files, what in grouped(collected.all_problems)]
    more = [f"  and {len(found) - MOST_SAID} more"] if len(found) > MOST_SAID else []
    raise click.ClickException(
        "\n".join(
            [
                f"Nothing in {', '.join(map(str, sources))} could be read, and nothing was written. Expected a folder "
                "or a zip with notebooks of this course (.ipynb); found:",
                *(found[:MOST_SAID] or ["  no file"]),
                *more,
            ]
        )
    )


def grouped(problems: Iterable[Problem]) -> list[tuple[Problem, list[str], str]]:
    """
    Put together what is the same with several files of one person.

    Returns
    -------
    list of (Problem, list of str, str)
        The first of them, the names of all their files, and what to say of them, as `Problem.what`: where each was
        taken for a notebook, the numbers of these.
    """
    groups: dict[tuple, list[Problem]] = defaultdict(list)
    for problem in problems:
        alike = _NOTEBOOK.sub("", problem.what)
        groups[problem.owner or problem.file, alike, problem.other].append(problem)
    found = []
    for same in groups.values():
        named = sorted({name[:2] for one in same for name in _NOTEBOOK.findall(one.what)})
        text = same[0].what if len(same) == 1 else _NOTEBOOK.sub(", ".join(named), same[0].what)
        found.append((same[0], list(dict.fromkeys(shown(one.file) for one in same)), text))
    return found


def summary(collected: Class) -> str:
    """One line on what came in, and one for each problem of a person."""
    committed = sum(len(student.answers) for student in collected.students)
    files = sum(student.files for student in collected.students)
    said = [f"{len(collected.students)} students, {files} files, {committed} committed answers."]
    for problem, names, what in grouped(collected.all_problems):
        also = [name.removeprefix(f"{problem.file.rpartition('/')[0]}/") for name in names[1:]]
        said.append(f"  {', '.join([*names[:1], *also])}: {what.replace('{other}', problem.other)}")
    return "\n".join(said)
