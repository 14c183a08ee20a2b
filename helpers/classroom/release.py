"""Notebooks for a class: the chosen ones and all they need, as a folder and as a zip."""

from __future__ import annotations

import re
import shutil
import zipfile
from collections.abc import Iterable
from pathlib import Path

import click
import nbformat
from nbformat import NotebookNode

from .. import questions
from .arguments import numbered
from .context import NOTEBOOKS
from .writing import check_folder

COURSE = Path(__file__).resolve().parents[2]
FIRST = "00_start_here"  # start.py opens it, and it explains the cards
BESIDE = (
    "start.py",
    "requirements.txt",
    "requirements-tested.txt",
    "requirements-frameworks.txt",
    "pyproject.toml",
    "LICENSE",
    "LICENSE-TEXT",
)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
LETTERS = "letters from a to z, digits, - and _, at most 40"
TAKEN = re.compile(r"base|fresh-.*")  # what the record calls the course's own numbers, and those of a re-ask
HELD = """\
# Your class opens the explanations later. When it does: write "open" in place of "held", save this file,
# and run the notebook again.
explanations = "held"
"""
README = """\
# {title}

You need Python 3.11 or newer and, the first time, a network connection. In this folder:

    python start.py

installs what the notebooks need into a folder of its own (about 450 MB) and opens JupyterLab. Where there is no
`python`, it is called `python3`. The next time, the same command opens it at once, also offline.

{rows}

Your copies lie in `my_notebooks/`; work there. What you commit is kept beside them, in `my_predictions.jsonl`, and in
the notebook itself. None of it leaves your computer until you hand it in: save the notebook, and hand in its file.
{held}
Code is under the BSD licence (LICENSE), texts and figures under CC BY 4.0 (LICENSE-TEXT).
"""
README_HELD = """
Explanations open later. When your class says so, write `open` in place of `held` in
`my_notebooks/class_settings.toml`, and run the notebook again.
"""


def release(
    notebooks: Iterable[str],
    to: str | Path,
    *,
    name: str = "attention-by-hand",
    numbers: str | None = None,
    held: bool = False,
) -> Path:
    """
    Write what a class gets: the folder ``to/name`` and the same as ``to/name.zip``.

    Released twice from the same course, the zip is the same byte for byte. It can also be given to pip, which
    then installs the helpers.

    Parameters
    ----------
    notebooks : iterable of str
        As `chosen` takes them. ``00_start_here`` comes along in any case.
    to : str or Path
        Folder, made where it is missing.
    name : str
        Of the folder that learners see: letters, digits, ``-`` and ``_``, at most 40.
    numbers : str, optional
        A name for this class's own numbers, for example its year; the same name gives the same numbers.
        `own_numbers` says which questions have them.
    held : bool
        Hold the explanations back until the class opens them, in ``my_notebooks/class_settings.toml``.

    Returns
    -------
    Path
        The zip.

    Raises
    ------
    ValueError
        If a notebook is not known, or a name cannot be used.
    FileExistsError
        If there is something of this name already.
    """
    paths = chosen(notebooks)
    if NOTEBOOKS / f"{FIRST}.ipynb" not in paths:
        paths.insert(0, NOTEBOOKS / f"{FIRST}.ipynb")
    check_name(name)
    if numbers is not None:
        check_numbers(numbers)
    folder, archive = Path(to) / name, Path(to) / f"{name}.zip"
    for place in (folder, archive):
        if place.exists():
            raise FileExistsError(f"{place} is there already. Delete it, or choose another name or folder.")

    (folder / "notebooks").mkdir(parents=True)
    here = {path.name for path in paths}
    for path in paths:
        _write(folder / "notebooks" / path.name, notebook_text(prepared(path, here, numbers)))
    for file in BESIDE:
        shutil.copyfile(COURSE / file, folder / file)
    _copy_helpers(folder)
    _write(folder / "README.md", _readme(name, paths, held))
    if held:
        for place in ("my_notebooks", "notebooks"):
            _write(folder / place / "class_settings.toml", HELD)
    _zip(folder, archive)
    return archive


def chosen(names: Iterable[str]) -> list[Path]:
    """
    Find notebooks by number or name; all of them where none is named.

    Parameters
    ----------
    names : iterable of str
        ``"04"``, ``"4"``, ``"01,04"``, ``"04_masks_and_temperature"`` or a path to it.

    Returns
    -------
    list of Path
        In the order of the course, each once.

    Raises
    ------
    ValueError
        If one is not there, with those that are; or if this is not the course's own folder.

    Examples
    --------
    >>> [path.name for path in chosen(["01", "00_start_here.ipynb"])]
    ['00_start_here.ipynb', '01_one_row_by_hand.ipynb']
    """
    known = sorted(NOTEBOOKS.glob("*.ipynb"))
    if not known:
        raise ValueError(f"There are no notebooks in {NOTEBOOKS}: run this in the course's own folder.")
    wanted = [Path(name).name.removesuffix(".ipynb") for name in numbered(names)]
    for name in wanted:
        if not any(name in (path.stem, path.stem[:2]) for path in known):
            raise ValueError(f"There is no notebook {name}. Known: {', '.join(path.stem for path in known)}.")
    return [path for path in known if not wanted or {path.stem, path.stem[:2]} & set(wanted)]


def own_numbers(notebook: str | None = None) -> list[str]:
    """
    Ids of the questions that a class can have its own numbers for, in one notebook or in all.

    Their cells take the numbers from ``numbers(id)``; in the other notebooks the text speaks of the numbers.

    Examples
    --------
    >>> {id[:2] for id in own_numbers()}
    {'10'}
    """
    found = questions.load().values() if notebook is None else questions.of_notebook(notebook)
    return [question.id for question in found if question.own_numbers and question.fresh]


def check_numbers(numbers: str) -> None:
    """Refuse, by a ValueError, a name for numbers that the record would take for something else."""
    check_name(numbers)
    if TAKEN.fullmatch(numbers):
        raise ValueError(f"Numbers cannot be called {numbers!r}: the record calls others so. Choose another.")


def prepared(path: Path, here: set[str], numbers: str | None = None) -> NotebookNode:
    """
    Read a notebook as a class gets it.

    Parameters
    ----------
    path : Path
    here : set of str
        File names of the notebooks that come along: links to others become plain text.
    numbers : str, optional
        Set in the setup cell of a notebook that asks with own numbers.

    Returns
    -------
    NotebookNode
    """
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = re.sub(
                r"\[([^\]]+)\]\(([\w.-]+\.ipynb)\)",
                lambda link: link[0] if link[2] in here else link[1],
                cell.source,
            )
        elif cell.id == "setup" and numbers and own_numbers(path.stem):
            cell.source += (
                f'\n\nimport os\n\nos.environ["QUESTION_NUMBERS"] = "{numbers}"  # the numbers of this class'
            )
    return notebook


def notebook_text(notebook: NotebookNode) -> str:
    """Write a notebook as the course's own files are written."""
    return nbformat.v4.writes(notebook) + "\n"


@click.command("release")
@click.argument("notebooks", nargs=-1)
@click.option("--to", default="release", show_default=True, help="Folder to write into.")
@click.option("--name", default="attention-by-hand", show_default=True, help="Name of folder and zip.")
@click.option("--numbers", help="Own numbers for this class, by any name, where questions can have them.")
@click.option("--held", is_flag=True, help="Hold the explanations back until the class opens them.")
@click.option("--nbgrader", is_flag=True, help="Write a course folder for nbgrader instead.")
def command(
    notebooks: tuple[str, ...], to: str, name: str, numbers: str | None, held: bool, nbgrader: bool
) -> None:
    """Write NOTEBOOKS (01 04 or 01,04, or none for all) and what they need, as a folder and a zip for learners."""
    check_folder(Path(to))
    if not NAME.fullmatch(name):
        raise click.ClickException(f"{name!r} cannot be used: choose another --name ({LETTERS}).")
    if numbers is not None and not NAME.fullmatch(numbers):
        raise click.ClickException(f"{numbers!r} cannot be used: choose other --numbers ({LETTERS}).")
    try:
        if nbgrader:
            from .nbgrader_assignment import write_course

            made = write_course(notebooks, to, name=name, numbers=numbers, held=held)
        else:
            made = release(notebooks, to, name=name, numbers=numbers, held=held)
        asked = [id for path in chosen(notebooks) for id in own_numbers(path.stem)]
    except (ValueError, FileExistsError) as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"Written: {made}")
    if nbgrader:
        from .nbgrader_assignment import learners_zip

        click.echo(
            f"Learners need the helpers once: give them {learners_zip(to)}, or install it where they work."
        )
    if numbers:
        click.echo(f"With numbers of their own: {', '.join(asked) or 'none of the questions in these'}.")


def check_name(name: str) -> None:
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot be used: choose another ({LETTERS}).")


def _readme(name: str, paths: list[Path], held: bool) -> str:
    titles = questions.titles()
    rows = "\n".join(f"- {path.stem[:2]} {titles[path.stem]}" for path in paths)
    return README.format(title=name, rows=rows, held=README_HELD if held else "")


def _copy_helpers(folder: Path) -> None:
    """Copy the package as source, without what Python leaves beside it."""
    helpers = COURSE / "helpers"
    for source in sorted(helpers.rglob("*")):
        if source.is_file() and "__pycache__" not in source.parts and source.name[0] != ".":
            copy = folder / "helpers" / source.relative_to(helpers)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _zip(folder: Path, archive: Path) -> None:
    """Zip a folder so that the same files make the same bytes: sorted, without times, owners and system."""
    with zipfile.ZipFile(archive, "w") as packed:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(path.relative_to(folder.parent).as_posix())
            entry.create_system, entry.external_attr = 3, 0o100644 << 16
            packed.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
