"""Notebooks as an nbgrader assignment: what a learner's file must not carry is added here, on release."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_code_cell

from .. import questions
from ..exercises import EXERCISES
from .key import checked
from .release import FIRST, HELD, check_name, check_numbers, chosen, notebook_text, prepared, release

EXERCISE_POINTS = 5
QUESTION_POINTS = 1
STUB = "..."
LEARNERS = ("for_learners", "attention-by-hand")  # folder and name of what learners need besides
CONFIG = (
    "# nbgrader's configuration for these notebooks. Add your own lines below, as c.CourseDirectory.course_id.\n"
    "from helpers.classroom.nbgrader_grading import configure\n\n"
    "c = get_config()\n"
    "configure(c)\n"
)


def write_course(
    notebooks: Iterable[str],
    to: str | Path,
    *,
    name: str,
    numbers: str | None = None,
    held: bool = False,
) -> Path:
    """
    Write an assignment's source notebooks into an nbgrader course folder, and the folder's configuration.

    nbgrader hands out notebooks alone. What they import, with 00 and start.py, is put beside as a release, where
    there is none: learners unzip it and work there, or a hub installs it.

    Parameters
    ----------
    notebooks : iterable of str
        As `chosen` takes them.
    to : str or Path
        The course folder; a configuration that is there stays as it is.
    name : str
        Of the assignment.
    numbers, held
        As `release` takes them.

    Returns
    -------
    Path
        ``to/source/name``.

    Raises
    ------
    ValueError
        If a notebook is not known, or a name cannot be used.
    FileExistsError
        If the assignment is there already.
    """
    paths = chosen(notebooks)
    check_name(name)
    if numbers is not None:
        check_numbers(numbers)
    folder, config = Path(to) / "source" / name, Path(to) / "nbgrader_config.py"
    if folder.exists():
        raise FileExistsError(f"{folder} is there already. Delete it, or choose another name.")
    folder.mkdir(parents=True)
    here = {path.name for path in paths}
    for path in paths:
        text = notebook_text(assignment(prepared(path, here, numbers), path.stem))
        (folder / path.name).write_text(text, encoding="utf-8", newline="\n")
    if held:
        (folder / "class_settings.toml").write_text(HELD, encoding="utf-8", newline="\n")
    if not config.exists():
        config.write_text(CONFIG, encoding="utf-8", newline="\n")
    if not learners_zip(to).exists():
        release([FIRST], Path(to) / LEARNERS[0], name=LEARNERS[1])
    return folder


def learners_zip(to: str | Path) -> Path:
    """Where a course folder has what learners need besides the assignments."""
    return Path(to) / LEARNERS[0] / f"{LEARNERS[1]}.zip"


def assignment(notebook: NotebookNode, name: str) -> NotebookNode:
    """
    Give a notebook nbgrader's metadata and its graded cells.

    Each NumPy exercise gets a graded cell behind its check; at the end stands one for the predictions that were
    committed. Exercises in other libraries are not graded: whoever grades may lack them.

    Parameters
    ----------
    notebook : NotebookNode
        As `prepared` gives it; it is changed.
    name : str
        The notebook's file name without ending.

    Returns
    -------
    NotebookNode
    """
    functions = {id: function for id, function in checked(notebook).items() if id in EXERCISES}
    of_cell = {id.partition("-")[2]: id for id in functions}
    cells = []
    for cell in notebook.cells:
        kind, _, what = cell.get("id", "").partition("-")
        cells.append(cell)
        if kind == "write" and what in of_cell:
            _make_solution(cell, what)
        elif kind == "check" and what in of_cell:
            exercise = of_cell[what]
            call = f'earned("{exercise}", {functions[exercise]}, {EXERCISE_POINTS})'
            cells.append(_graded(what, "earned", call, EXERCISE_POINTS))
    asked = len(list(questions.of_notebook(name)))
    points = asked * QUESTION_POINTS
    cells.append(_graded("predictions", "committed", f'committed("{name}", {points})', points))
    notebook.cells = cells
    return notebook


def _make_solution(cell: NotebookNode, what: str) -> None:
    """Mark a stub as the place for an answer. Its last line stands in nbgrader's marks, or all of it would go."""
    head, _, last = cell.source.rpartition("\n")
    if last.strip() != STUB:
        raise ValueError(f"{cell.id} does not end in {STUB}: a stub does.")
    indent = last[: -len(STUB)]
    cell.source = f"{head}\n{indent}### BEGIN SOLUTION\n{last}\n{indent}### END SOLUTION"
    cell.metadata.nbgrader = _metadata(f"write-{what}", solution=True)


def _graded(what: str, function: str, call: str, points: float) -> NotebookNode:
    source = f"from helpers.classroom.points import {function}  # of {points} points\n\n{call}"
    metadata = {"nbgrader": _metadata(f"grade-{what}", grade=True, locked=True, points=points)}
    return new_code_cell(source, id=f"grade-{what}", metadata=metadata)


def _metadata(grade_id: str, **what: bool | float) -> dict[str, bool | float | str | int]:
    kinds = {"grade": False, "solution": False, "locked": False, "task": False}
    return {"schema_version": 3, "grade_id": grade_id, **kinds, **what}
