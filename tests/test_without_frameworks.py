"""The notebooks that use PyTorch, JAX or Keras run where any of them is missing, and say in a line how to get it."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from helpers import libraries, questions
from helpers.classroom.key import learner_notebook, right_answers
from helpers.exercises import SOLUTIONS
from tests.lab import ROOT

ALL = ("torch", "jax", "keras")
USING = [path for path in sorted((ROOT / "notebooks").glob("*.ipynb")) if path.name[:2] in ("05", "06")]
HIDDEN = [ALL, ("torch",), ("jax",)]


def hide(folder: Path, names: tuple[str, ...]) -> str:
    """Make a folder that, first on the path, lets a Python find none of these libraries."""
    block = f"import sys\nsys.modules.update(dict.fromkeys({names!r}))\n"  # None: import raises, find_spec is None
    (folder / "sitecustomize.py").write_text(block, encoding="utf-8")
    return os.pathsep.join([str(folder), str(ROOT)])


def run(notebook: nbformat.NotebookNode, folder: Path, names: tuple[str, ...]) -> list[dict]:
    env = {**os.environ, "PREDICTIONS_FILE": str(folder / "record.jsonl"), "PYTHONPATH": hide(folder, names)}
    client = NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(folder)}}, store_widget_state=False
    )
    client.execute(env=env)
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def text_of(output: dict) -> str:
    return output.get("text", "") + output.get("data", {}).get("text/plain", "")


@pytest.mark.parametrize("path", USING, ids=lambda path: path.stem[:2])
@pytest.mark.parametrize("names", HIDDEN, ids="-".join)
def test_the_rest_of_a_notebook_runs(path, names, tmp_path):
    """Filled in by a learner who is right: every cell runs, every prediction is compared."""
    notebook = learner_notebook(nbformat.read(path, as_version=4), right_answers(path.stem), SOLUTIONS)
    outputs = run(notebook, tmp_path, names)
    assert not any(output["output_type"] == "error" or output.get("name") == "stderr" for output in outputs)
    page = "\n".join(map(text_of, outputs))
    for question in questions.of_notebook(path.stem):
        assert f"Compare {question.id}." in page
    assert "nothing is judged" not in page
    if path.name.startswith("06"):
        for name in ("torch", "jax"):
            gone = name in names or find_spec(name) is None  # hidden here, or never installed
            assert (libraries.missing(name) in page) == gone


def test_each_library_is_really_hidden(tmp_path):
    probe = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(
                "from importlib.util import find_spec\n"
                "from helpers.libraries import library\n"
                "print([(library(name), find_spec(name)) for name in ('torch', 'jax', 'keras')])"
            )
        ]
    )
    (output,) = run(probe, tmp_path, ALL)
    assert output["text"].endswith("[(None, None), (None, None), (None, None)]\n")
    assert output["text"].count("is not installed here") == 3


def test_an_unknown_library_is_named():
    with pytest.raises(ValueError, match="'tensorflow'"):
        libraries.library("tensorflow")
