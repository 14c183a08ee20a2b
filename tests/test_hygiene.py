"""Files as they should lie in the repository: notebooks by their rules, sources by ruff, text in UTF-8."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from helpers import questions
from tests import notebook_format
from tests.notebook_format import METADATA, NOTEBOOKS, SETUP, fix, problems, text_of, told

ROOT = NOTEBOOKS.parent
SOURCES = ("helpers", "tests", "notebooks")
TEXT = {".py", ".md", ".toml", ".txt", ".ipynb", ".yml", ".html", ".css"}


def notebooks() -> list[Path]:
    return sorted(NOTEBOOKS.glob("*.ipynb"))


def sources() -> list[Path]:
    inside = [path for folder in SOURCES for path in (ROOT / folder).rglob("*") if path.suffix in TEXT]
    kept = [path for path in inside if not {"__pycache__", ".ipynb_checkpoints"} & set(path.parts)]
    return kept + [path for path in ROOT.iterdir() if path.suffix in TEXT]


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_a_notebook_keeps_the_rules(path):
    assert problems(path) == []


@pytest.mark.parametrize("path", notebooks(), ids=lambda path: path.stem)
def test_no_number_that_is_asked_for_stands_in_the_notebook(path):
    secrets = {}
    for question in questions.of_notebook(path.stem):
        if question.kind in questions.NUMERIC:
            for value in np.ravel(np.asarray(question.truth, dtype=float)):
                if (
                    abs(value * 100 - round(value * 100)) > 1e-6
                ):  # 0.25 may well stand there for another reason
                    secrets |= {
                        f"{question.id} to {digits} digits": f"{value:.{digits}f}" for digits in (2, 3, 4)
                    }
    assert not list(told(notebook_format.read(path), secrets))


def test_there_are_notebooks():
    assert notebooks(), "a glob that finds nothing would pass every other test here"


def tiny() -> nbformat.NotebookNode:
    """Make a notebook that keeps every rule."""
    opening = "# Add two numbers\n\nWe will add.\n\n**Afterwards you can** add. It takes 20 to 40 minutes."
    return new_notebook(
        metadata=METADATA,
        cells=[
            new_markdown_cell(opening, id="opening"),
            new_code_cell(SETUP, id="setup"),
            new_code_cell("_, ax = plt.subplots()\n_ = ax.plot([1, 2])", id="plot-line"),
            new_code_cell("figures", id="show-version", metadata={"tags": ["measured"]}),
        ],
    )


def damaged(edit: Callable[[nbformat.NotebookNode], object]) -> nbformat.NotebookNode:
    notebook = tiny()
    edit(notebook)
    return notebook


def write(path: Path, notebook: nbformat.NotebookNode) -> Path:
    path.write_bytes(text_of(notebook).encode("utf-8"))
    return path


def test_the_tiny_notebook_keeps_the_rules(tmp_path):
    assert problems(write(tmp_path / "tiny.ipynb", tiny())) == []


DEFECTS = {
    "format 4.4": (lambda nb: nb.update(nbformat_minor=4), "not 4.5"),
    "no id": (lambda nb: nb.cells[2].pop("id"), "has no id"),
    "missing id is invalid": (lambda nb: nb.cells[2].pop("id"), "not valid"),
    "double id": (lambda nb: nb.cells[3].update(id="plot-line"), "used twice"),
    "random id": (lambda nb: nb.cells[3].update(id="8f3a20c1"), "not words"),
    "hexadecimal id of letters": (lambda nb: nb.cells[3].update(id="deadbeef"), "not words"),
    "uuid": (lambda nb: nb.cells[3].update(id="abcd-1234-abcd"), "not words"),
    "numbered id": (lambda nb: nb.cells[3].update(id="12"), "not words"),
    "underscore in id": (lambda nb: nb.cells[3].update(id="plot_line_2"), "not words"),
    "other kernel": (lambda nb: nb.metadata.kernelspec.update(name="my-env"), "not {'kernelspec'"),
    "language version": (lambda nb: nb.metadata.language_info.update(version="3.11"), "not {'kernelspec'"),
    "widget state": (lambda nb: nb.metadata.update(widgets={}), "not {'kernelspec'"),
    "cell metadata": (lambda nb: nb.cells[2].metadata.update(scrolled=True), "only tags"),
    "unknown tag": (lambda nb: nb.cells[3].metadata.tags.append("nbval-skip"), "unknown tags"),
    "count": (lambda nb: nb.cells[2].update(execution_count=7), "execution count"),
    "output": (
        lambda nb: nb.cells[2].outputs.append(nbformat.v4.new_output("stream", text="0.67")),
        "holds outputs",
    ),
    "pasted picture": (lambda nb: nb.cells[0].update(attachments={"a.png": {"image/png": ""}}), "picture"),
    "carriage return": (lambda nb: nb.cells[2].update(source="a = 1\r\nb = 2"), "carriage"),
    "trailing lines": (lambda nb: nb.cells[2].update(source="a = 1\n\n"), "empty lines"),
    "other setup": (lambda nb: nb.cells[1].update(source=SETUP + "\nimport os"), "differs"),
    "no setup": (lambda nb: nb.cells.pop(1), "not the one with the id setup"),
    "no title": (lambda nb: nb.cells[0].update(source="Hello"), "a title"),
    "no plan": (lambda nb: nb.cells[0].update(source="# Add"), "We will"),
    "no aims": (lambda nb: nb.cells[0].update(source="# Add"), "Afterwards you can"),
    "no time": (lambda nb: nb.cells[0].update(source="# Add"), "minutes"),
    "two titles": (lambda nb: nb.cells.append(new_markdown_cell("# More", id="more")), "more than one"),
    "long code": (lambda nb: nb.cells[2].update(source="a = 1\n" * 20 + "a"), "21 lines of code"),
    "long text": (lambda nb: nb.cells[0].update(source=nb.cells[0].source + " a" * 121), "words, at most"),
    "raw cell": (lambda nb: nb.cells.append(nbformat.v4.new_raw_cell("x", id="raw")), "shows nothing"),
    "magic": (lambda nb: nb.cells[2].update(source="%matplotlib inline"), "magic"),
    "shell": (lambda nb: nb.cells[2].update(source="!ls"), "shell"),
    "install": (lambda nb: nb.cells[2].update(source="import pip"), "installs"),
    "search path": (lambda nb: nb.cells[2].update(source="sys.path.insert(0, x)"), "where Python looks"),
    "relative path": (lambda nb: nb.cells[2].update(source="x = open('../a.txt')"), "the path of a file"),
    "Windows path": (lambda nb: nb.cells[2].update(source=r"x = 'C:\data'"), "the path of a file"),
    "semicolon": (lambda nb: nb.cells[2].update(source="ax.plot([1, 2]);"), "ends in ';'"),
    "bare plot": (lambda nb: nb.cells[2].update(source="ax.plot([1, 2])"), "prints an object"),
    "bare plot on one of many axes": (
        lambda nb: nb.cells[2].update(source="axes[0].bar(x, y)"),
        "prints an",
    ),
    "bare pyplot": (lambda nb: nb.cells[2].update(source="plt.plot([1, 2])"), "prints an object"),
}


@pytest.mark.parametrize("defect", DEFECTS)
def test_each_rule_is_seen_failing(defect, tmp_path):
    edit, complaint = DEFECTS[defect]
    found = problems(write(tmp_path / "damaged.ipynb", damaged(edit)))
    assert any(complaint in problem for problem in found), found


@pytest.mark.parametrize("source", ["plt.show()", "_ = ax.plot([1])", "figures.plot_bars(x)", "axis.mean()"])
def test_cells_that_print_no_object_pass(source, tmp_path):
    notebook = damaged(lambda nb: nb.cells[2].update(source=source))
    assert problems(write(tmp_path / "fine.ipynb", notebook)) == []


@pytest.mark.parametrize(
    "mangle",
    [
        lambda raw: raw.replace(b"\n", b"\r\n"),
        lambda raw: raw.rstrip(b"\n"),
        lambda raw: raw.replace(b"\n ", b"\n  "),
        lambda raw: b"\n" + raw,
    ],
    ids=["CRLF", "no last newline", "other indentation", "empty line before"],
)
def test_other_bytes_than_jupyters_are_told_and_repaired(mangle, tmp_path):
    path = write(tmp_path / "mangled.ipynb", tiny())
    good = path.read_bytes()
    path.write_bytes(mangle(good))
    assert any("not written as Jupyter" in problem for problem in problems(path))
    assert fix(path)
    assert path.read_bytes() == good


@pytest.mark.parametrize("text", ["{", "[]", '{"cells": "\udc9d"}'], ids=["torn", "a list", "cp1252"])
def test_a_file_that_is_no_notebook_is_one_problem(text, tmp_path):
    path = tmp_path / "broken.ipynb"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert len(problems(path)) == 1


def test_the_fixer_repairs_a_notebook_that_was_worked_in(tmp_path):
    result = nbformat.v4.new_output("execute_result", {"text/plain": "0.67"}, execution_count=1)

    def work(notebook):
        for number, cell in enumerate(notebook.cells):
            cell.metadata.update(trusted=True, execution={"iopub.execute": "noon"}, tags=["measured", "x"])
            cell.source += "\n\n"
            if cell.cell_type == "code":
                cell.update(execution_count=number, outputs=[result])
        notebook.cells[1].source += "import os"
        notebook.metadata.update(widgets={"a": 1}, kernelspec={"name": "my-env", "display_name": "mine"})
        notebook.nbformat_minor = 4

    worked_in = damaged(work)
    path = write(tmp_path / "worked_in.ipynb", worked_in)
    assert len(problems(path)) > 8
    assert fix(path)
    assert problems(path) == []
    assert [cell.id for cell in notebook_format.read(path).cells] == [cell.id for cell in worked_in.cells]
    assert not fix(path), "repairing twice changes nothing more"


def test_the_command_says_what_it_repaired_and_what_is_left(tmp_path, capsys):
    path = write(
        tmp_path / "01_x.ipynb", damaged(lambda nb: nb.cells[2].update(execution_count=3, id="8f3a20c1"))
    )
    assert notebook_format.main([str(path)]) == 1
    assert notebook_format.main(["--fix", str(path)]) == 1, "an id needs a person"
    assert "01_x.ipynb: repaired\n01_x.ipynb: cell 2: the id '8f3a20c1'" in capsys.readouterr().out
    path.write_bytes(path.read_bytes().replace(b"8f3a20c1", b"plot-line"))
    assert notebook_format.main([str(path)]) == 0


def test_words_are_counted_as_a_reader_reads_them():
    prose = "Two *words* [and a link](https://a.b/c-d) $x_1 + x_2$"
    markdown = prose + "\n\n| a | table |\n|---|---|\n```\ncode here\n```\n$$a\nb$$"
    assert notebook_format.count_words(markdown) == 5


def test_a_secret_in_a_cell_is_found_however_it_is_wrapped():
    notebook = damaged(lambda nb: nb.cells[0].update(source="The weights\nare 0.670, as `x10.670` shows."))
    assert len(list(told(notebook, {"the answer": "0.670"}))) == 1
    assert len(list(told(notebook, {"the explanation": "weights are"}))) == 1
    assert not list(told(notebook, {"another": "0.67", "a third": "670"}))


def test_sources_are_utf8_with_unix_line_ends():
    for path in sources():
        raw = path.read_bytes()
        raw.decode("utf-8")
        assert b"\r" not in raw, f"{path}: has carriage returns"
        assert not raw or raw.endswith(b"\n"), f"{path}: has no newline at its end"


def test_nothing_names_a_folder_of_the_machine_it_was_written_on():
    for path in sources():
        found = re.search(r"/(root|home|work|Users)/\w+/|/tmp/\w+", path.read_text(encoding="utf-8"))
        assert not found or path.name == Path(__file__).name, f"{path}: names {found[0]}"


@pytest.mark.parametrize("command", [["check"], ["format", "--check"]], ids=["lint", "format"])
def test_ruff_has_nothing_to_say(command):
    arguments = [sys.executable, "-m", "ruff", *command, "--no-cache", "."]
    run = subprocess.run(arguments, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert run.returncode == 0, run.stdout + run.stderr
