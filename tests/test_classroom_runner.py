"""Functions of other people's notebooks, run apart: what is right counts, and nothing else does."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
import struct
import sys
import time

import nbformat
import numpy as np
import pytest
from click.testing import CliRunner

from helpers.classroom.check_command import command, course_functions
from helpers.classroom.key import learner_notebook
from helpers.classroom.release import NOTEBOOKS
from helpers.classroom.runner import MOST, Apart, check_apart, definitions, receive, send
from helpers.exercises import EXERCISES, SOLUTIONS
from helpers.misconceptions import programs_for

SETUP = "import math\nimport numpy as np"
RIGHT = SOLUTIONS["01-softmax"]


def outcome(source: str, **limits: float):
    """Check a softmax called my_softmax."""
    with Apart([SETUP, source], **limits) as apart:
        return apart.check("01-softmax", "my_softmax")


def test_every_solution_is_right_apart_too():
    functions = course_functions()
    assert set(functions) == set(EXERCISES)
    for exercise, name in functions.items():
        source = SOLUTIONS[exercise]
        written = source.replace(f"def {source.split('(')[0].split()[1]}(", f"def {name}(")
        result = check_apart([SETUP, written], {exercise: name})[exercise]
        assert (result.passed, result.score) == (True, 1.0), exercise


def test_a_belief_is_named_as_it_would_be_in_the_notebook():
    """The judging is the same: programs of the catalogue keep their names."""
    assert "scores-as-weights" in programs_for("softmax")
    assert outcome("def my_softmax(scores):\n    return scores.copy()").misconception == "scores-as-weights"
    assert outcome("def my_softmax(scores):\n    return np.exp(scores)").misconception == "not-normalised"
    changes = "def my_softmax(scores):\n    scores -= scores.max()\n    return np.exp(scores)"
    assert outcome(changes).misconception == "mutates", "what it did to its inputs comes back as well"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("def my_softmax(scores):\n    '''Weights.'''\n    ...", "Not started yet"),
        ("", "There is no my_softmax in it"),
        ("my_softmax = 3", "That is a result, not a function"),
        ("from helpers.attention import softmax as my_softmax", "ready-made"),
        (
            "from helpers.attention import softmax\ndef my_softmax(scores):\n    return softmax(scores)",
            "work in it",
        ),
        ("def my_softmax(scores:", "There is no my_softmax in it"),
    ],
)
def test_what_is_not_judged_earns_nothing(source, said):
    result = outcome(source)
    assert (result.passed, result.score) == (None, 0)
    assert said in result.headline


HOSTILE = {
    "a loop without end": ("while True: pass", "seconds"),
    "a loop that swallows": (
        "while True:\n        try:\n            while True: pass\n        except: pass",
        "seconds",
    ),
    "a process that ends": ("import os; os._exit(0)", "ended before"),
    "a signal to itself": ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "ended before"),
    "an exit": ("raise SystemExit", "Not yet"),
    "a deep recursion": ("return my_softmax(scores)", "Not yet"),
    "an unheard-of memory": ("return np.zeros((10**6, 10**6)) + 1", "Not yet"),
    "an output without end": ("print('x' * 10**7); return scores", "Not yet"),
    "a result of megabytes": ("return np.ones((3000, 3000))", "no result"),
    "an error of megabytes": ("raise ValueError('x' * 10**7)", "Not yet"),
    "writing where results go": (
        "import os\n    for at in range(3, 30):\n        try: os.write(at, b'\\xff' * 99)\n"
        "        except OSError: pass\n    return scores",
        "no result",
    ),
    "a pickle": ("return np.array([print], dtype=object)", "Not yet"),
    "a subclass": ("return np.ma.masked_array(scores)", "Not yet"),
    "a text": ("return 'right'", "Not yet"),
    "only NaN": ("return scores * np.nan", "Not yet"),
    "nothing in it": ("return np.array([])", "Not yet"),
    "of another shape": ("return np.full((1, 1), 0.5)", "Not yet"),
}


@pytest.mark.parametrize("body, said", HOSTILE.values(), ids=HOSTILE)
def test_whatever_a_function_does_it_earns_nothing_and_ends(body, said):
    started = time.monotonic()
    result = outcome(f"def my_softmax(scores):\n    {body}", seconds=1.0)
    assert (result.passed, result.score) == (False, 0)
    assert said in result.headline
    assert len(repr(result)) < 3_000
    assert time.monotonic() - started < 60, "it is ended; a wide margin for a busy machine"


def test_replacing_what_compares_changes_nothing():
    """In the notebook's own process each of these would be believed."""
    patched = """
import helpers.exercises, helpers.exercises.judging, helpers.classroom.runner
np.isclose = np.allclose = np.array_equal = lambda *given, **options: np.array(True)
helpers.exercises.check = lambda *given, **options: helpers.exercises.Result(True, "", score=1.0)
helpers.exercises.judging.try_on = None
helpers.classroom.runner.check_apart = None
def my_softmax(scores):
    return np.full(scores.shape, 2.0)
"""
    assert outcome(patched).score == 0
    assert outcome(RIGHT).score == 1, "nothing of it reached this process"


def test_a_definition_that_never_ends_is_stopped_and_the_rest_is_said():
    with Apart(["numbers = [n for n in iter(int, 1)]", RIGHT], loading=1.0) as apart:
        first, second = (apart.check("01-softmax", "my_softmax") for _ in range(2))
    assert (first.passed, first.score) == (None, 0)
    assert "had not come back" in first.headline and "had not come back" in second.headline


def test_all_of_a_notebook_has_one_limit_of_time():
    slow = "import time\ndef my_softmax(scores):\n    time.sleep(0.4)\n    return scores"
    result = outcome(slow, seconds=5.0, altogether=1.5)
    assert result.passed is False and "had not come back" in result.headline


@pytest.mark.skipif(sys.platform != "linux", reason="address space is limited on Linux alone")
def test_memory_is_limited():
    head, _, body = RIGHT.partition("\n")
    wants = f"{head}\n    held = bytearray(600_000_000)\n{body}"
    assert outcome(wants, memory=2**31).score == 1
    assert outcome(wants, memory=2**29).score == 0


@pytest.mark.skipif(os.name == "nt", reason="Windows does not group processes so")
def test_what_it_started_is_ended_with_it(tmp_path):
    mark = tmp_path / "alive"
    child = f"import time; time.sleep(3); open({str(mark)!r}, 'w', encoding='utf-8')"
    source = f"import subprocess, sys\nstarted = subprocess.Popen([sys.executable, '-c', {child!r}])\n{RIGHT}"
    assert outcome(source).score == 1
    time.sleep(4)
    assert not mark.exists()


def test_it_sees_an_empty_folder_and_little_of_the_environment(monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "x")
    source = """
import os
seen = bool(os.listdir(".")) or "SECRET_TOKEN" in os.environ or "PREDICTIONS_FILE" in os.environ
def my_softmax(scores):
    if seen:
        raise ValueError
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1, keepdims=True)
"""
    assert outcome(source).score == 1


def test_only_definitions_run():
    cell = """
!rm x
import os
compare('01-order', 3)
for i in range(9): pass
x: int = 3
try:
    import torch
except ImportError:
    pass
"""
    assert [line.split()[0] for line in definitions(cell)] == ["import", "x:", "try:"]
    for source in (
        "def broken(:",
        "x = " + "(" * 10_000,
        "x = " + "-" * 10_000 + "1",
        "x = 1" + "+1" * 5_000,
        "x = \0",
    ):
        assert definitions(source) in ([], [source]), "whatever it is, reading it harms nothing"


def message(header: dict, data: bytes = b"") -> io.BytesIO:
    text = json.dumps(header).encode("utf-8")
    return io.BytesIO(struct.pack(">II", len(text), len(data)) + text + data)


def test_a_message_comes_back_as_it_was_sent():
    arrays = [np.arange(6.0).reshape(2, 3), np.array(True), np.zeros((0, 4), np.float32)]
    pipe = io.BytesIO()
    send(pipe, {"call": "f"}, arrays)
    pipe.seek(0)
    header, back = receive(pipe)
    assert header["call"] == "f"
    for one, other in zip(arrays, back, strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert np.array_equal(one, other)


@pytest.mark.parametrize(
    ("pipe", "error"),
    [
        (message({"arrays": [["<f8", [10**9, 10**9]]]}, b"\0" * 8), ValueError),
        (message({"arrays": [["O", [1]]]}, b"\0" * 8), ValueError),
        (message({"arrays": [["f8,O", [1]]]}, b"\0" * 16), ValueError),
        (message({"arrays": [["<f8", ["a"]]]}, b"\0" * 8), TypeError),
        (message({}), KeyError),
        (io.BytesIO(struct.pack(">II", MOST, 1)), ValueError),
        (io.BytesIO(b"\0\0\0\1"), EOFError),
        (io.BytesIO(struct.pack(">II", 5, 0) + b"[1,2]"), TypeError),
    ],
)
def test_a_forged_message_makes_no_array(pipe, error):
    with pytest.raises(error):
        receive(pipe)


def test_the_command_checks_a_folder_and_names_what_it_cannot(tmp_path):
    """One right, one wrong, one untouched, one that is no notebook, one of another course."""
    source = nbformat.read(NOTEBOOKS / "04_masks_and_temperature.ipynb", 4)
    wrong = learner_notebook(
        source, {}, {"04-masked-weights": "def f(scores, allowed):\n    return scores * allowed"}
    )
    handed_in = {"ann": learner_notebook(source, {}, SOLUTIONS), "bob": wrong, "cy": source}
    for student, notebook in handed_in.items():
        folder = tmp_path / "in" / student
        folder.mkdir(parents=True)
        nbformat.write(notebook, folder / "04_masks_and_temperature.ipynb")
    for name, text in {
        "torn": "<<<<<<< HEAD",
        "other": '{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}',
    }.items():
        (tmp_path / "in" / name).mkdir()
        (tmp_path / "in" / name / "=1+1.ipynb").write_text(text, encoding="utf-8")
    ran = CliRunner().invoke(command, [str(tmp_path / "in"), "--to", str(tmp_path / "checked.csv")])
    assert ran.exit_code == 0, ran.output
    with (tmp_path / "checked.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {(row["student"], row["exercise"]): row["result"] for row in rows}
    assert found == {
        ("ann", "04-causal-pattern"): "right",
        ("ann", "04-masked-weights"): "right",
        ("bob", "04-causal-pattern"): "not judged",
        ("bob", "04-masked-weights"): "not yet",
        ("cy", "04-causal-pattern"): "not judged",
        ("cy", "04-masked-weights"): "not judged",
        ("torn", ""): "not checked",
        ("other", ""): "not checked",
    }
    assert "=1+1.ipynb: not readable" in ran.output and "no function of this course" in ran.output
    assert "Nothing to check" not in ran.output
    again = CliRunner().invoke(command, [str(tmp_path / "in"), "--to", str(tmp_path / "checked.csv")])
    assert again.exit_code == 1 and "is there already" in again.output


def test_notebooks_that_ask_for_no_function_are_one_line(tmp_path):
    for student in ("ann", "bo", "cy"):
        folder = tmp_path / "in" / student
        folder.mkdir(parents=True)
        shutil.copyfile(NOTEBOOKS / "00_start_here.ipynb", folder / "00_start_here.ipynb")
    to = tmp_path / "deep" / "checked.csv"
    ran = CliRunner().invoke(command, [str(tmp_path / "in"), "--to", str(to)])
    assert ran.exit_code == 0, ran.output
    assert "00_start_here" not in ran.output
    assert "Nothing to check in 3 more: no NumPy function is asked for there." in ran.output
    assert len(to.read_text(encoding="utf-8-sig").splitlines()) == 1


def test_function_names_are_one_exercises_each():
    names = list(course_functions().values())
    assert len(names) == len(set(names))
