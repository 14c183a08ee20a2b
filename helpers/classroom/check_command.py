"""The command that checks the functions in notebooks that were handed in, each apart from this process."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import click
import nbformat

from ..exercises import EXERCISES, Result
from .arguments import Submissions
from .handed_in import File, Unreadable, content, find, shown
from .key import checked
from .release import chosen
from .runner import check_apart, definitions
from .sheets import write_sheet
from .submissions import cells_of, joined, recognised
from .writing import check_above

HEAD = ("student", "file", "exercise", "result", "part of the cases", "misconception", "said")
WORDS = {True: "right", False: "not yet", None: "not judged"}


class Row(NamedTuple):
    """One exercise in one file, or why a file was not checked."""

    student: str
    file: str
    exercise: str
    result: str
    part: float | None
    misconception: str
    said: str


@click.command("check")
@click.argument("sources", nargs=-1, required=True, type=Submissions())
@click.option("--to", default="checked.csv", show_default=True, type=click.Path(path_type=Path))
def command(sources: tuple[Path, ...], to: Path) -> None:
    """Run the functions in SOURCES (folders or zips of submissions) apart, and write which are right.

    Unlike all other commands, this one runs what was handed in: with limits on time, memory and output, and yet
    as your account. Read "Running what was handed in" in docs/instructors.md first.
    """
    if to.exists():
        raise click.ClickException(f"{to} is there already. Delete it, or choose another file with --to.")
    check_above(to)
    files, problems = find(sources)
    notebooks = [file for file in files if file.kind == ".ipynb"]
    rows = [Row(one.owner, one.file, "", "not checked", None, "", one.text) for one in problems]
    functions, nothing_asked = course_functions(), 0
    with click.progressbar(notebooks, item_show_func=lambda file: shown(file.name) if file else "") as bar:
        for file in bar:
            mine = check_file(file, functions)
            nothing_asked += not mine
            rows += mine
    to.parent.mkdir(parents=True, exist_ok=True)
    write_sheet(to, HEAD, rows)
    right = sum(row.result == "right" for row in rows)
    click.echo(f"Written to {to}: {right} functions right, {sum(bool(row.exercise) for row in rows)} found.")
    for row in rows:
        if row.result == "not checked":
            click.echo(f"  {row.file}: {row.said}")
    if nothing_asked:
        click.echo(f"Nothing to check in {nothing_asked} more: no NumPy function is asked for there.")


def course_functions() -> dict[str, str]:
    """Exercise -> name of the function that the course's notebooks ask for, NumPy only."""
    found = {}
    for path in chosen([]):
        found |= checked(nbformat.read(path, as_version=4))
    return {exercise: name for exercise, name in found.items() if exercise in EXERCISES}


def check_file(file: File, functions: dict[str, str]) -> list[Row]:
    """Check what one notebook defines of the course's exercises; no rows, if its notebook asks for nothing."""

    def row(exercise: str, result: str, part: float | None = None, misconception: str = "", said: str = ""):
        return Row(file.owner, file.name, exercise, result, part, misconception, said)

    try:
        cells = cells_of(content(file))
    except Unreadable as error:
        return [row("", "not checked", said=str(error))]
    sources = [joined(cell.get("source")) for cell in cells if cell.get("cell_type") == "code"]
    defined = {
        word for text in sources for part in definitions(text) for word in part.replace("(", " ").split()
    }
    mine = {exercise: name for exercise, name in functions.items() if name in defined}
    if not mine and _asks_nothing(cells, functions):
        return []
    if not mine:
        return [row("", "not checked", said="no function of this course's exercises is defined in it")]
    return [
        row(exercise, WORDS[result.passed], round(result.score, 3), result.misconception or "", _said(result))
        for exercise, result in check_apart(sources, mine).items()
    ]


def _asks_nothing(cells: list[dict], functions: dict[str, str]) -> bool:
    """Whether it is a notebook of the course without an exercise to check."""
    try:
        notebook, _ = recognised(cells)
    except Unreadable:
        return False
    return not any(exercise[:2] == notebook[:2] for exercise in functions)


def _said(result: Result) -> str:
    """The headline, and the property that does not hold."""
    rows = dict(result.rows)
    return shown(" ".join([result.headline, rows.get("what holds") or rows.get("but") or ""]).strip())
