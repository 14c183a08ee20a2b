"""The rules for notebook files, and what repairs them: ``python -m tests.notebook_format --fix``."""

from __future__ import annotations

import argparse
import ast
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import nbformat
from nbformat import NotebookNode

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
METADATA = {
    "kernelspec": {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
TAGS = {"measured"}  # the output is a time, a size or a version: neither stored nor compared
LONGEST_CODE = 20  # lines
LONGEST_TEXT = 120  # words
SETUP = """\
import math

import matplotlib.pyplot as plt
import numpy as np

from helpers import check, compare, explore, figures, hint, patterns, predict, show, solution
from helpers.predictions import progress, revisit"""

Problems = Iterator[str]


def read(path: Path) -> NotebookNode:
    """Read a notebook exactly as the file has it: nothing converted, repaired or added."""
    return nbformat.reader.reads(path.read_text(encoding="utf-8"))


def text_of(notebook: NotebookNode) -> str:
    """Return the text that Jupyter writes for a notebook: sorted keys, one space of indentation."""
    return nbformat.v4.writes(notebook) + "\n"


def problems(path: Path) -> list[str]:
    """Name everything in a notebook file that is against the rules; an empty list when all is well."""
    try:
        notebook = read(path)
    except (ValueError, AttributeError) as error:  # not UTF-8, not JSON, or JSON of something else
        return [f"the file is not a notebook in UTF-8: {error}"]
    found = [problem for rule in RULES for problem in rule(notebook)]
    if path.read_bytes() != text_of(notebook).encode("utf-8"):
        found.append(
            "the file is not written as Jupyter does: LF, indentation 1, sorted keys, a last newline"
        )
    return found


def fix(path: Path) -> bool:
    """Repair what has one right form; cell ids and words stay. Return whether the file changed."""
    before = path.read_bytes()
    notebook = read(path)
    notebook.nbformat_minor = 5
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        tags = [tag for tag in cell.metadata.get("tags", []) if tag in TAGS]
        cell.metadata = nbformat.from_dict({"tags": tags} if tags else {})
        cell.source = cell.source.replace("\r\n", "\n").rstrip()
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
            if cell.get("id") == "setup":
                cell.source = SETUP
    after = text_of(notebook).encode("utf-8")
    path.write_bytes(after)
    return after != before


def valid(notebook: NotebookNode) -> Problems:
    """The format is 4.5 and the schema holds; a missing or double cell id is an error, not a warning."""
    if (notebook.nbformat, notebook.nbformat_minor) != (4, 5):
        yield f"the format is {notebook.nbformat}.{notebook.nbformat_minor}, not 4.5"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            nbformat.validate(nbformat.from_dict(notebook))
        except (nbformat.ValidationError, Warning) as error:
            yield f"the notebook is not valid: {str(error).splitlines()[0]}"


def metadata(notebook: NotebookNode) -> Problems:
    """The notebook's metadata are the kernel python3 and the language's name; a cell's are known tags."""
    if notebook.metadata != METADATA:
        yield f"the notebook's metadata are {dict(notebook.metadata)}, not {METADATA}"
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        if set(cell.metadata) - {"tags"}:
            yield f"{name(cell)}: has metadata {sorted(set(cell.metadata) - {'tags'})}; only tags are kept"
        if set(tags) - TAGS:
            yield f"{name(cell)}: has unknown tags {sorted(set(tags) - TAGS)}; known are {sorted(TAGS)}"


def clean(notebook: NotebookNode) -> Problems:
    """No outputs, no execution counts, no pasted pictures, no stray carriage returns or spaces at the end."""
    for cell in notebook.cells:
        if cell.get("outputs") or cell.get("execution_count") is not None:
            yield f"{name(cell)}: holds outputs or an execution count"
        if cell.get("attachments"):
            yield f"{name(cell)}: holds a pasted picture"
        if "\r" in cell.source or cell.source != cell.source.rstrip():
            yield f"{name(cell)}: has carriage returns, or spaces or empty lines at its end"


def ids(notebook: NotebookNode) -> Problems:
    """Each cell's id says what the cell is for, in words: predict-weights, not 8f3a20c1; no two are equal."""
    seen = set()
    for number, cell in enumerate(notebook.cells):
        cell_id = cell.get("id", "")
        if not cell_id:
            yield f"cell {number}: has no id"
        elif not WORDS.fullmatch(cell_id) or RANDOM.fullmatch(cell_id):
            yield f"cell {number}: the id {cell_id!r} is not words joined by hyphens"
        elif cell_id in seen:
            yield f"cell {number}: the id {cell_id!r} is used twice"
        seen.add(cell_id)


WORDS = re.compile(r"[a-z]{2,}[0-9]{0,3}(-([a-z]+[0-9]{0,3}|[0-9]{1,3}))*")
RANDOM = re.compile(r"[0-9a-f]{8}|[0-9a-f]{4,}(-[0-9a-f]{4,})+")


def setup(notebook: NotebookNode) -> Problems:
    """One cell with the id setup, the same in every notebook, before any other code."""
    first = next((cell for cell in notebook.cells if cell.cell_type == "code"), None)
    if first is None or first.get("id") != "setup":
        yield "the first code cell is not the one with the id setup"
    elif first.source != SETUP:
        yield "setup: differs from the setup cell of the other notebooks"


def opening(notebook: NotebookNode) -> Problems:
    """The first cell has title, what we will do, what you can do afterwards, and how long it takes."""
    source = notebook.cells[0].source if notebook.cells else ""
    for wanted, pattern in {
        "a title (# ...)": r"\A# \S",
        "a sentence with We will": r"\bWe will\b",
        "**Afterwards you can**": r"\*\*Afterwards you can\*\*",
        "how many minutes it takes": r"\d+ (to \d+ )?minutes",
    }.items():
        if not re.search(pattern, source):
            yield f"the opening lacks {wanted}"
    if sum(bool(re.match(r"# ", cell.source)) for cell in notebook.cells if cell.cell_type == "markdown") > 1:
        yield "more than one cell starts with a title (# ...)"


def length(notebook: NotebookNode) -> Problems:
    """Cells that a learner reads through: code up to 20 lines, text up to 120 words."""
    for cell in notebook.cells:
        lines, words = len(cell.source.splitlines()), count_words(cell.source)
        if cell.cell_type == "code" and lines > LONGEST_CODE:
            yield f"{name(cell)}: {lines} lines of code, at most {LONGEST_CODE}"
        if cell.cell_type == "markdown" and words > LONGEST_TEXT:
            yield f"{name(cell)}: {words} words, at most {LONGEST_TEXT}"
        if cell.cell_type not in ("code", "markdown"):
            yield f"{name(cell)}: a {cell.cell_type} cell shows nothing"


def count_words(markdown: str) -> int:
    """Count what is read as words: no link addresses, formulas, code blocks, tables or signs."""
    prose = re.sub(r"```.*?```|\$\$.*?\$\$|\$[^$\n]*\$|\]\([^)]*\)|^\|.*$", " ", markdown, flags=re.S | re.M)
    return len(re.findall(r"\w[\w'’.-]*", prose))


def portable(notebook: NotebookNode) -> Problems:
    """Code that runs on any system from any folder: no magics, installs, search paths or file paths."""
    for cell in code_cells(notebook):
        if re.search(r"^\s*[%!]", cell.source, flags=re.M):
            yield f"{name(cell)}: holds a magic or a shell command"
        if re.search(r"\bpip\b|\bconda\b|sys\.path|os\.chdir|subprocess", cell.source):
            yield f"{name(cell)}: installs something or changes where Python looks"
        if re.search(r"""["'](/|~|\.\./|\./|[A-Za-z]:\\)""", cell.source):
            yield f"{name(cell)}: holds the path of a file"


def quiet_plots(notebook: NotebookNode) -> Problems:
    """A plot cell ends in an assignment or plt.show(): not in a bare call, whose result prints an address."""
    for cell in code_cells(notebook):
        if cell.source.rstrip().endswith(";"):
            yield f"{name(cell)}: ends in ';', which hides nothing from a test"
        try:
            body = ast.parse(cell.source).body
        except SyntaxError:
            continue  # a magic, which is another rule's matter
        if not body or not isinstance(body[-1], ast.Expr) or not isinstance(body[-1].value, ast.Call):
            continue
        function = body[-1].value.func
        if isinstance(function, ast.Attribute) and PLOT_CALL.match(call := ast.unparse(function)):
            yield f"{name(cell)}: ends in {call}(...), which prints an object: assign it or end in plt.show()"


PLOT_CALL = re.compile(r"plt\.(?!show$)|(ax[0-9]?|axes|fig|figure)[.\[]")


def told(notebook: NotebookNode, secrets: Mapping[str, str]) -> Problems:
    """Nothing that a learner shall find out stands in the file.

    Parameters
    ----------
    notebook : NotebookNode
        A learner's notebook.
    secrets : mapping of str to str
        Texts or numbers that must not stand in any cell, by a name to complain with.
    """
    for cell in notebook.cells:
        source = " ".join(cell.source.split())
        for what, secret in secrets.items():
            if re.search(rf"(?<![\w.]){re.escape(' '.join(secret.split()))}(?![\w])", source):
                yield f"{name(cell)}: tells {what}: {secret!r}"


def code_cells(notebook: NotebookNode) -> Iterator[NotebookNode]:
    return (cell for cell in notebook.cells if cell.cell_type == "code")


def name(cell: NotebookNode) -> str:
    return cell.get("id") or repr(cell.source[:30])


RULES: list[Callable[[NotebookNode], Problems]] = [
    valid,
    metadata,
    clean,
    ids,
    setup,
    opening,
    length,
    portable,
    quiet_plots,
]


def main(arguments: list[str] | None = None) -> int:
    """Check notebooks, or repair them first; the exit code is 1 where a problem is left."""
    parser = argparse.ArgumentParser(prog="python -m tests.notebook_format", description=main.__doc__)
    parser.add_argument("files", nargs="*", type=Path, help="notebooks (default: all in notebooks/)")
    parser.add_argument("--fix", action="store_true", help="repair what has one right form")
    options = parser.parse_args(arguments)
    left = 0
    for path in options.files or sorted(NOTEBOOKS.glob("*.ipynb")):
        if options.fix and fix(path):
            print(f"{path.name}: repaired")
        for problem in problems(path):
            print(f"{path.name}: {problem}")
            left += 1
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
