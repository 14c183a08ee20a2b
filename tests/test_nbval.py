"""Answer keys by strict nbval, and proof that nbval turns red: its blind spots are looked at, not assumed."""

from __future__ import annotations

import copy
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from nbformat.v4 import new_code_cell, new_notebook, new_output

from helpers.classroom.key import build_key, learner_notebook
from tests.notebook_format import METADATA, NOTEBOOKS, SETUP

ROOT = NOTEBOOKS.parent
PATHS = sorted(NOTEBOOKS.glob("*.ipynb"))
PLOT = "import matplotlib.pyplot as plt\n_, ax = plt.subplots()\n"
STRICT = ("--nbval", "--nbval-current-env")
LAX = ("--nbval-lax", "--nbval-current-env")


def nbval(options: tuple[str, ...], *paths: Path, **environment: str) -> subprocess.CompletedProcess:
    """Run nbval on notebooks in a pytest of its own, each with its record beside it."""
    shared = ["-p", "nbval.plugin", "-p", "no:cacheprovider", "-q", "--color=no", "--nbval-cell-timeout=60"]
    only_nbval = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PREDICTIONS_FILE": ""}
    return subprocess.run(
        [sys.executable, "-m", "pytest", *options, *shared, *map(str, paths)],
        cwd=paths[0].parent,
        env={**os.environ, **only_nbval, **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=600,
    )


def red_cells(ran: subprocess.CompletedProcess) -> dict[str, str]:
    """Say for each failed cell, by the notebook's name and its number, what nbval told about it."""
    parts = re.split(r"^_+ (?:\S*[/\\])?(\w+)\.ipynb::Cell (\d+) _+$", ran.stdout, flags=re.M)
    return {f"{name} {number}": said for name, number, said in zip(*[iter(parts[1:])] * 3, strict=True)}


def notebook(*sources: str) -> nbformat.NotebookNode:
    cells = [new_code_cell(source, id=f"cell-{number}") for number, source in enumerate(sources)]
    return new_notebook(metadata=METADATA, cells=cells)


def keep(path: Path, content: nbformat.NotebookNode) -> Path:
    nbformat.write(content, path)
    return path


def run(content: nbformat.NotebookNode, folder: Path, record: Path, **environment: str):
    """Execute a copy of a notebook with its kernel in a folder."""
    content = copy.deepcopy(content)
    client = NotebookClient(content, timeout=60, resources={"metadata": {"path": str(folder)}})
    client.execute(env={**os.environ, "PREDICTIONS_FILE": str(record), **environment})
    return content


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return [build_key(path, tmp_path_factory.mktemp(path.stem) / path.name) for path in PATHS]


def test_the_answer_keys_agree_with_a_new_run(keys):
    ran = nbval(STRICT, *keys)
    assert ran.returncode == 0, ran.stdout


def test_a_key_is_the_same_byte_for_byte_when_built_again(keys, tmp_path):
    for path, key in zip(PATHS, keys, strict=True):
        assert build_key(path, tmp_path / path.name).read_bytes() == key.read_bytes(), path.name


def test_a_key_keeps_the_cells_and_gives_nbval_something_to_compare(keys):
    for path, key in zip(PATHS, keys, strict=True):
        was, now = nbformat.read(path, 4), nbformat.read(key, 4)
        nbformat.validate(now)
        assert now.metadata == was.metadata
        for one, other in zip(was.cells, now.cells, strict=True):
            assert (one.id, one.metadata) == (other.id, other.metadata)
        code = [cell for cell in now.cells if cell.cell_type == "code" and not cell.metadata.get("tags")]
        assert all(cell.execution_count for cell in code), "nbval compares nothing where the count is missing"
        assert sum(bool(cell.outputs) for cell in code) > len(code) / 3
        text = key.read_text(encoding="utf-8")
        for volatile in ("0x7f", '"predictions":', "widget-view", "iopub", "not started yet", str(ROOT)):
            assert volatile not in text, f"{path.name}: the key holds {volatile}"


def test_a_broken_helper_turns_the_strict_run_red(keys, tmp_path):
    shutil.copytree(ROOT / "helpers", tmp_path / "helpers", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "helpers" / "attention.py").open("a", encoding="utf-8") as source:
        source.write(
            "\n_right = softmax\n\n\ndef softmax(scores, axis=-1):\n    return _right(scores, axis) ** 2\n"
        )
    key = next(key for key in keys if key.name.startswith("01"))
    red = red_cells(nbval(STRICT, key, PYTHONPATH=str(tmp_path)))
    assert any("mismatch 'text/" in said for said in red.values()), "not just an error, another result"


def test_what_strict_nbval_sees_and_what_it_does_not(tmp_path):
    """Among them D01: a cell that prints an object's address fails, one that ends in plt.show() passes."""
    figure = new_output("display_data", {"text/plain": "<Figure size 640x480 with 1 Axes>", "image/png": ""})
    two = new_output("execute_result", {"text/plain": "2"}, execution_count=1)
    address = new_output(
        "execute_result", {"text/plain": "<object object at 0x7f0000000000>"}, execution_count=1
    )
    cases = {
        "right": ("1 + 1", [two], 1),
        "wrong": ("1 + 2", [two], 1),
        "never run": ("1 + 1", [], None),
        "stripped": ("1 + 1", [], 1),
        "run, count stripped": ("1 + 1", [two], None),
        "ends in an assignment": (PLOT + "_ = ax.plot([1, 2])", [figure], 1),
        "ends in plt.show()": (PLOT + "ax.plot([1, 2])\nplt.show()", [figure], 1),
        "ends in a call": (PLOT + "ax.plot([1, 2])", [figure], 1),
        "ends in ;": (PLOT + "ax.plot([1, 2]);", [figure], 1),
        "an address": ("object()", [address], 1),
    }
    stored = notebook(*(source for source, _, _ in cases.values()))
    for cell, (_, outputs, count) in zip(stored.cells, cases.values(), strict=True):
        cell.update(outputs=outputs, execution_count=count)
    red = red_cells(nbval(STRICT, keep(tmp_path / "stored.ipynb", stored)))
    seen = {name for number, name in enumerate(cases) if f"stored {number}" in red}
    assert seen == set(cases) - {"right", "never run", "ends in an assignment", "ends in plt.show()"}


def test_what_turns_the_lax_run_red(tmp_path):
    """D07 and more: an error, a warning, a call to the network, a kernel that is not there."""
    cells = notebook(
        "1 / 0",
        "import numpy as np\nnp.log(np.zeros(1))",
        "import socket\nsocket.create_connection(('192.0.2.1', 80), timeout=1)",
        "'sound'",
    )
    cells_path, other_path = keep(tmp_path / "cells.ipynb", cells), tmp_path / "other.ipynb"
    other = notebook("'sound'")
    other.metadata.kernelspec.name = "my-env"
    crlf = keep(tmp_path / "crlf.ipynb", notebook("'sound'"))
    crlf.write_bytes(crlf.read_bytes().replace(b"\n", b"\r\n"))
    ran = nbval(("--nbval-lax",), cells_path, keep(other_path, other), crlf)
    red = red_cells(ran)
    assert sorted(red) == ["cells 0", "cells 1", "cells 2"]
    assert "ZeroDivisionError" in red["cells 0"]
    assert "RuntimeWarning" in red["cells 1"]
    assert "the tests run offline" in red["cells 2"]
    assert "3 failed, 2 passed, 1 error" in ran.stdout, "the sound cells, in CRLF too, pass"
    assert "NoSuchKernel" in ran.stdout


def test_a_measured_cell_is_run_and_neither_stored_nor_compared(tmp_path):
    timed = notebook("import time\ntime.time()", "'same'")
    timed.cells[0].metadata.tags = ["measured"]
    key = build_key(keep(tmp_path / "open.ipynb", timed), tmp_path / "key.ipynb", {}, {})
    first, second = nbformat.read(key, 4).cells
    assert (first.outputs, first.execution_count) == ([], None)
    assert second.outputs[0].data["text/plain"] == "'same'"
    assert nbval(STRICT, key).returncode == 0


def test_a_key_that_warns_or_raises_is_not_built(tmp_path):
    warns = keep(tmp_path / "warns.ipynb", notebook("import sys\nprint('careful', file=sys.stderr)"))
    with pytest.raises(ValueError, match="cell-0: prints a warning: careful"):
        build_key(warns, tmp_path / "key.ipynb", {}, {})
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        build_key(keep(tmp_path / "raises.ipynb", notebook("1 / 0")), tmp_path / "key.ipynb", {}, {})
    assert not (tmp_path / "key.ipynb").exists()


OPEN = notebook('predict("01-weights")\npredict("01-order")', 'check("01-softmax", my_softmax)')
OPEN.cells.insert(1, new_code_cell("def my_softmax(scores):\n    ...", id="write-softmax"))
GIVEN = {"01-weights": {"answer": ["0.670", "0.330"], "because": "“closer” \\ key", "sure": 2}}


def test_answers_and_solutions_go_into_their_cells():
    before = copy.deepcopy(OPEN)
    filled = learner_notebook(OPEN, GIVEN, {"01-softmax": "def softmax(scores):\n    return softmax\n"})
    assert before == OPEN, "the notebook given stays as it was"
    assert filled.cells[0].source == (
        'predict("01-weights", ["0.670", "0.330"], because="“closer” \\\\ key", sure=2)\npredict("01-order")'
    )
    assert filled.cells[1].source == "def my_softmax(scores):\n    return my_softmax"
    assert learner_notebook(OPEN, {}, {}) == before


@pytest.mark.parametrize(
    "answer", [None, "flatter", 2.5, (4, 2), [[1, 0], [0, 1]], ["0.5", "0.5"], 'it\'s a "mix"']
)
def test_an_answer_is_written_as_the_call_would_take_it(answer):
    given = {"01-weights": {"answer": answer, "because": "x" * 120, "sure": None}}
    calls = []
    source = learner_notebook(OPEN, given, {}).cells[0].source
    exec(source, {"predict": lambda *answer, **more: calls.append((answer, more))})
    assert calls == [(("01-weights", answer), {"because": "x" * 120, "sure": None}), (("01-order",), {})]


def test_a_key_with_something_left_open_is_not_built(tmp_path):
    with pytest.raises(ValueError, match="01-order, 01-softmax"):
        build_key(keep(tmp_path / "open.ipynb", OPEN), tmp_path / "key.ipynb", GIVEN, {})
    with pytest.raises(ValueError, match="no cell write-softmax"):
        learner_notebook(notebook('check("01-softmax", f)'), {}, {"01-softmax": "def f(): ..."})


SHORT = learner_notebook(
    notebook(SETUP, 'predict("01-weights")', 'compare("01-weights", [0.5, 0.5])'),
    {"01-weights": {"answer": [0.67, 0.33], "because": "", "sure": 1}},
    {},
)


def test_a_notebook_runs_from_any_folder_and_with_windows_line_ends(tmp_path):
    """D06: kernel in the project, beside the notebook, nowhere near. D05: all text of helpers in CRLF."""
    shutil.copytree(ROOT / "helpers", tmp_path / "helpers", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (tmp_path / "helpers").rglob("*"):
        if path.suffix in {".py", ".toml", ".html", ".css"}:
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    (tmp_path / "empty").mkdir()
    shown = [
        run(SHORT, folder, tmp_path / f"{number}.jsonl", PYTHONPATH=str(helpers)).cells[2].outputs[0].data
        for number, (folder, helpers) in enumerate(
            [(ROOT, ROOT), (NOTEBOOKS, ROOT), (tmp_path / "empty", ROOT), (tmp_path / "empty", tmp_path)]
        )
    ]
    assert all(one == shown[0] for one in shown)
    assert "0.67" in shown[0]["text/plain"]


def test_a_foreign_helpers_is_named_by_the_setup_cell(tmp_path):
    """D06: a module of the same name beside the notebook, which Python finds before an installed one."""
    foreign = tmp_path / "helpers.py"
    foreign.write_text("def check():\n    pass\n", encoding="utf-8")
    with pytest.raises(CellExecutionError, match="from 'helpers'") as stopped:
        run(SHORT, tmp_path, tmp_path / "record.jsonl", PYTHONPATH="")
    assert str(foreign) in str(stopped.value)


def test_no_file_is_opened_in_the_systems_own_encoding():
    """D05: all modules import and all questions are read where an open() without an encoding is an error."""
    code = """
import importlib, pkgutil, helpers
from helpers import questions
for module in pkgutil.walk_packages(helpers.__path__, "helpers."):
    importlib.import_module(module.name)
for question in questions.load().values():
    question.say(question.explanation)
"""
    command = [sys.executable, "-X", "warn_default_encoding", "-W", "error::EncodingWarning", "-c", code]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8")
    assert ran.returncode == 0, ran.stderr
