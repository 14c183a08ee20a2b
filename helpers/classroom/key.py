"""The answer key of a notebook, made from the notebook itself, the right answers and the reference solutions.

Nothing is kept by hand: change the notebook, a question or a solution, and the key follows.
"""

from __future__ import annotations

import ast
import copy
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode

from ..predictions.own import GIVEN

CELL_SECONDS = 120
WIDGET = "application/vnd.jupyter.widget-view+json"
# The page of nbconvert without its scripts: they come from public servers, and nothing here needs them.
PAGE = """\
{%- extends 'lab/index.html.j2' -%}
{%- block html_head_js -%}{%- endblock -%}
{%- block html_head_js_mathjax -%}{%- endblock -%}
{%- block html_head_js_mermaidjs -%}{%- endblock -%}
{%- block body_header -%}
{{ super() }}
<header class="jp-RenderedHTMLCommon" style="padding:1em;border:2px solid #b35900;border-radius:4px">
<h1 style="margin-top:0">{{ resources.metadata.name }}</h1>
<p>{{ resources.metadata.numbers }} It tells every answer: for those who teach.</p>
</header>
{%- endblock -%}
"""


def build_key(
    notebook_path: str | Path,
    out_path: str | Path,
    answers: Mapping[str, Mapping[str, Any]] | None = None,
    solutions: Mapping[str, str] | None = None,
    numbers: str | None = None,
) -> Path:
    """
    Write the executed answer key of a notebook.

    Built twice, it is the same byte for byte: it holds no times, no record and no output of cells tagged
    ``measured``. Each output is as it was first displayed, which is what ``pytest --nbval`` compares.

    Parameters
    ----------
    notebook_path : str or Path
        The learner's notebook.
    out_path : str or Path
        The file to write. It need not be in a folder that has anything else.
    answers : mapping, optional
        As `learner_notebook` takes them. Default: `right_answers` of this notebook.
    solutions : mapping, optional
        As `learner_notebook` takes them. Default: ``helpers.exercises.SOLUTIONS``.
    numbers : str, optional
        A class's own numbers, by the name they were released with.

    Returns
    -------
    Path
        ``out_path``.

    Raises
    ------
    ValueError
        If a question or an exercise of the notebook has no answer, or a cell prints a warning.
    nbclient.exceptions.CellExecutionError
        If a cell raises.
    """
    notebook_path, out_path = Path(notebook_path), Path(out_path)
    if solutions is None:
        from ..exercises import SOLUTIONS as solutions
    notebook = nbformat.read(notebook_path, as_version=4)
    with _numbers_of(numbers):
        if answers is None:
            answers = right_answers(notebook_path.stem)
        lacking = sorted(set(_asked(notebook)) - set(answers)) + sorted(
            set(checked(notebook)) - set(solutions)
        )
        if lacking:
            raise ValueError(f"{notebook_path.name} asks for what has no answer: {', '.join(lacking)}.")
        key = _execute(learner_notebook(notebook, answers, solutions))
    out_path.write_text(nbformat.v4.writes(key) + "\n", encoding="utf-8", newline="\n")
    return out_path


def key_page(key_path: str | Path, numbers: str | None = None) -> Path:
    """
    Write a key as an HTML page beside it, which needs no network and runs no script.

    Parameters
    ----------
    key_path : str or Path
        An executed notebook, as `build_key` writes it.
    numbers : str, optional
        The class's own numbers that it was built with, for the heading to say.

    Returns
    -------
    Path
        The page.
    """
    from nbconvert import HTMLExporter

    from .. import questions
    from .release import own_numbers

    key_path = Path(key_path)
    own = numbers is not None and own_numbers(key_path.stem)
    said = {
        "name": f"Answer key: {key_path.stem[:2]} {questions.titles().get(key_path.stem, key_path.stem)}",
        "numbers": f"With the class’s own numbers, {numbers}." if own else "With the course’s numbers.",
    }
    notebook = nbformat.read(key_path, as_version=4)
    page, _ = HTMLExporter(raw_template=PAGE).from_notebook_node(notebook, resources={"metadata": said})
    out_path = key_path.with_suffix(".html")
    out_path.write_text(page, encoding="utf-8", newline="\n")
    return out_path


def learner_notebook(
    notebook: NotebookNode,
    answers: Mapping[str, Mapping[str, Any]],
    solutions: Mapping[str, str],
) -> NotebookNode:
    """
    Fill in a notebook as a learner would who types predictions as code.

    Parameters
    ----------
    notebook : NotebookNode
        An untouched notebook; it is not changed.
    answers : mapping of question id to mapping
        What ``predict`` shall be called with: ``answer``, ``because``, ``sure``. Others stay open.
    solutions : mapping of exercise id to str
        Source that replaces the stub: ``01-softmax`` goes into the cell ``write-softmax``, under the name
        that the notebook checks. Others stay stubs.

    Returns
    -------
    NotebookNode
        The filled in copy, not executed.

    Raises
    ------
    ValueError
        If a solution has no stub to go into.

    Examples
    --------
    >>> from nbformat.v4 import new_code_cell, new_notebook
    >>> open_book = new_notebook(cells=[new_code_cell('predict("01-weights")', id="predict-weights")])
    >>> given = {"01-weights": {"answer": [0.67, 0.33], "because": "closer", "sure": 3}}
    >>> print(learner_notebook(open_book, given, {}).cells[0].source)
    predict("01-weights", [0.67, 0.33], because="closer", sure=3)
    """
    filled = copy.deepcopy(notebook)
    by_id = {cell.id: cell for cell in _code_cells(filled)}
    for exercise, function in checked(filled).items():
        if exercise not in solutions:
            continue
        cell_id = f"write-{exercise.partition('-')[2]}"
        if cell_id not in by_id:
            raise ValueError(f"{exercise} is checked, but there is no cell {cell_id}.")
        by_id[cell_id].source = _named(function, solutions[exercise].strip())
    for cell in _code_cells(filled):
        cell.source = _answered(cell.source, answers)
    return filled


def right_answers(notebook: str) -> dict[str, dict[str, Any]]:
    """
    Give what a learner types who is right about everything a notebook asks, and sure of it.

    Where each learner has other numbers, the answers are to those of an empty record: ``QUESTION_NUMBERS`` in the
    environment names a class's own.

    Parameters
    ----------
    notebook : str
        File name without ending, for example ``01_one_row_by_hand``.

    Returns
    -------
    dict of str to dict
        As `learner_notebook` takes them. Where nothing computes an answer (words), the model reason is it.
    """
    from .. import questions
    from ..predictions import answers, own

    found = {}
    for question in questions.of_notebook(notebook):
        question = own.of(question, [])
        because = question.say(question.because)
        value = because if question.truth is None else answers.as_typed(question, question.truth)
        found[question.id] = {"answer": value, "because": because, "sure": 3}
    return found


@contextmanager
def _numbers_of(name: str | None) -> Iterator[None]:
    """Ask with a class's own numbers for a while, here and in kernels started from here."""
    before = os.environ.get(GIVEN)
    if name is not None:
        os.environ[GIVEN] = name
    try:
        yield
    finally:
        if name is not None:
            os.environ.pop(GIVEN)
            os.environ.update({} if before is None else {GIVEN: before})


class _FirstDisplays(NotebookClient):
    """Runs a notebook as nbval does, which does not follow later updates of a display."""

    def _update_display_id(self, display_id: str, msg: dict[str, Any]) -> None:
        pass


def _execute(notebook: NotebookNode) -> NotebookNode:
    """Run a notebook in an empty folder, with a record of its own, and keep what is the same every time."""
    metadata = copy.deepcopy(notebook.metadata)
    with tempfile.TemporaryDirectory() as folder:
        client = _FirstDisplays(
            notebook,
            timeout=CELL_SECONDS,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            record_timing=False,
            store_widget_state=False,
        )
        own_place = {"PREDICTIONS_FILE": str(Path(folder) / "my_predictions.jsonl"), "EXPLANATIONS": "open"}
        # What the kernel's process itself writes is its warning about networks; a cell's stderr is an output.
        client.execute(env={**os.environ, **own_place}, stderr=subprocess.DEVNULL)
    notebook.metadata = metadata  # execution adds the interpreter's version
    for cell in _code_cells(notebook):
        if "measured" in cell.metadata.get("tags", ()):
            cell.outputs, cell.execution_count = [], None
        for output in cell.outputs:
            if output.get("name") == "stderr":
                raise ValueError(f"{cell.id}: prints a warning: {output.text}")
            output.get("metadata", {}).pop("predictions", None)  # the committed lines, which hold times
            output.get("data", {}).pop(WIDGET, None)  # its model is drawn at random, and gone with the kernel
    return notebook


def _answered(source: str, answers: Mapping[str, Mapping[str, Any]]) -> str:
    """Put answers into the ``predict("id")`` statements of a cell."""
    lines = source.splitlines()
    for statement, question in reversed(list(_predictions(source))):
        if question in answers:
            lines[statement.lineno - 1 : statement.end_lineno] = [_call(question, **answers[question])]
    return "\n".join(lines)


def _call(question: str, answer: Any, because: str, sure: int | None) -> str:
    """Write one call, on one line where it fits."""
    arguments = [_text(question), _text(answer), f"because={_text(because)}", f"sure={sure}"]
    line = f"predict({', '.join(arguments)})"
    return line if len(line) <= 110 else "predict(\n    " + ",\n    ".join(arguments) + ",\n)"


def _text(value: Any) -> str:
    """Write a Python literal with double quotes, as the notebooks do."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return repr(value)


def _asked(notebook: NotebookNode) -> list[str]:
    """Ids of the questions that a notebook asks."""
    return [question for cell in _code_cells(notebook) for _, question in _predictions(cell.source)]


def _predictions(source: str) -> Iterator[tuple[ast.Expr, str]]:
    """Find the statements of a cell that are a ``predict("id")`` still without an answer."""
    for statement in _body(source):
        match statement:
            case ast.Expr(ast.Call(ast.Name("predict"), [ast.Constant(str() as question)], [])):
                yield statement, question


def checked(notebook: NotebookNode) -> dict[str, str]:
    """Exercise id -> name of the learner's function, for each ``check("id", name)`` of a notebook."""
    found = {}
    for cell in _code_cells(notebook):
        for statement in _body(cell.source):
            match statement:
                case ast.Expr(
                    ast.Call(
                        ast.Name("check"), [ast.Constant(str() as exercise), ast.Name(function), *_], keywords
                    )
                ):
                    library = [one.value.value for one in keywords if one.arg == "framework"]
                    found["-".join([exercise, *library])] = function
    return found


def _named(name: str, source: str) -> str:
    """Give the function that a solution ends with the name that the notebook checks."""
    *_, function = (statement.name for statement in _body(source) if isinstance(statement, ast.FunctionDef))
    return re.sub(rf"\b{function}\b", name, source)


def _body(source: str) -> list[ast.stmt]:
    """Statements of a cell; none where it is not Python, which running it will tell better."""
    try:
        return ast.parse(source).body
    except SyntaxError:
        return []


def _code_cells(notebook: NotebookNode) -> list[NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]
