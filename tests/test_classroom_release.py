"""A release: the chosen notebooks, alone on another computer, with a class's own numbers, explanations held."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner
from nbclient import NotebookClient

from helpers import questions
from helpers.classroom import release as releasing
from helpers.classroom.key import learner_notebook, right_answers
from helpers.classroom.release import chosen, own_numbers, release
from helpers.exercises import SOLUTIONS
from tests.test_learners import in_page, shown

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def held(tmp_path_factory) -> Path:
    """An unpacked release of two notebooks, with own numbers and held explanations."""
    folder = tmp_path_factory.mktemp("class")
    archive = release(["10", "01"], folder / "out", name="spring", numbers="spring-1", held=True)
    zipfile.ZipFile(archive).extractall(folder / "home")
    return folder / "home" / "spring"


def run(course: Path, notebook: nbformat.NotebookNode, **environment: str) -> list[dict]:
    """Run a notebook as a learner who has nothing but the release, in its working folder."""
    env = {name: value for name, value in os.environ.items() if name != "PREDICTIONS_FILE"}
    folder = course / "my_notebooks"
    client = NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(folder)}})
    client.execute(env={**env, "PYTHONPATH": str(course), **environment})
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def test_it_holds_what_a_learner_needs_and_nothing_else(held):
    files = {path.relative_to(held).as_posix() for path in held.rglob("*") if path.is_file()}
    outside = {name for name in files if not name.startswith("helpers/")}
    assert outside == {
        "LICENSE",
        "LICENSE-TEXT",
        "README.md",
        "my_notebooks/class_settings.toml",
        "notebooks/00_start_here.ipynb",
        "notebooks/01_one_row_by_hand.ipynb",
        "notebooks/10_check_your_understanding.ipynb",
        "notebooks/class_settings.toml",
        "pyproject.toml",
        "requirements-frameworks.txt",
        "requirements-tested.txt",
        "requirements.txt",
        "start.py",
    }
    inside = {path.relative_to(ROOT).as_posix() for path in (ROOT / "helpers").rglob("*.toml")}
    assert inside <= files
    assert not any("__pycache__" in name for name in files)


def test_every_file_that_start_py_names_is_there(held):
    """All but what its test command asks for."""
    named = set(
        re.findall(r'"(requirements[a-z-]*\.txt|pyproject\.toml)"', (held / "start.py").read_text("utf-8"))
    )
    missing = {name for name in named if not (held / name).exists()}
    assert len(named) == 5
    assert missing == {"requirements-dev.txt"}


@pytest.mark.parametrize("names", [["1", "4"], ["01,04"], ["1, 4"], ["04", "01_one_row_by_hand.ipynb"]])
def test_notebooks_are_named_as_one_types_them(names):
    assert [path.stem[:2] for path in chosen(names)] == ["01", "04"]


def test_released_twice_it_is_the_same_byte_for_byte(tmp_path):
    one, other = (release(["04"], tmp_path / name, numbers="x") for name in ("one", "other"))
    assert one.read_bytes() == other.read_bytes()
    assert one.read_bytes() != release(["04"], tmp_path / "third", held=True).read_bytes()


def test_links_lead_to_what_is_there(held):
    for path in (held / "notebooks").glob("*.ipynb"):
        text = path.read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([\w.-]+\.ipynb)\)", text):
            assert (path.parent / link).exists(), f"{path.name} links to {link}"
    alone = nbformat.read(held / "notebooks" / "10_check_your_understanding.ipynb", 4)
    source = nbformat.read(ROOT / "notebooks" / "10_check_your_understanding.ipynb", 4)
    assert [cell.id for cell in alone.cells] == [cell.id for cell in source.cells]


def test_without_own_numbers_code_is_as_in_the_course(tmp_path):
    release([], tmp_path, name="all")
    for path in chosen([]):
        was, now = nbformat.read(path, 4), nbformat.read(tmp_path / "all" / "notebooks" / path.name, 4)
        nbformat.validate(now)
        assert [cell for cell in was.cells if cell.cell_type == "code"] == [
            cell for cell in now.cells if cell.cell_type == "code"
        ]
        assert was == now, "all notebooks are there, so every link stays"


@pytest.mark.parametrize("numbers", ["spring-1", "2027", "b"])
def test_every_question_that_can_has_its_own_numbers(numbers):
    ids = own_numbers()
    assert len(ids) == 8, "notebook 10, without the two questions that have no numbers to draw"
    for id in ids:
        base = questions.get(id)
        assert base.renew(numbers).inputs != base.inputs
        assert base.renew(numbers).inputs == base.renew(numbers).inputs


def test_the_cells_of_a_release_agree_with_its_own_numbers(held, monkeypatch):
    """The right learner on the class's numbers is right everywhere; the answers to other numbers would not be."""
    name = "10_check_your_understanding"
    monkeypatch.setenv("QUESTION_NUMBERS", "spring-1")
    given = right_answers(name)
    monkeypatch.delenv("QUESTION_NUMBERS")
    assert sum(given[id] != right_answers(name)[id] for id in own_numbers()) >= 6
    notebook = nbformat.read(held / "notebooks" / f"{name}.ipynb", 4)
    page = shown(run(held, learner_notebook(notebook, given, SOLUTIONS), EXPLANATIONS="open"))
    (held / "my_notebooks" / "my_predictions.jsonl").unlink()
    assert "nothing is judged" not in page
    judged = [q for q in questions.of_notebook(name) if q.kind != "words"]
    assert page.count("Yes, your prediction and the run agree.") >= len(judged)
    assert '"variant": "spring-1"' in page


def test_explanations_are_held_until_the_class_opens_them(held):
    name = "01_one_row_by_hand"
    notebook = nbformat.read(held / "notebooks" / f"{name}.ipynb", 4)
    filled = learner_notebook(notebook, right_answers(name), {})
    explained = [question.say(question.explanation) for question in questions.of_notebook(name)]

    page = shown(run(held, filled))
    assert page.count("Compare 01-") == len(explained), "prediction and run stand side by side"
    assert "prediction and the run agree" not in page
    assert not any(in_page(text, page) for text in explained)

    settings = held / "my_notebooks" / "class_settings.toml"
    settings.write_text(settings.read_text("utf-8").replace('= "held"', '= "open"'), encoding="utf-8")
    page = shown(run(held, filled))
    settings.write_text(releasing.HELD, encoding="utf-8")
    assert all(in_page(text, page) for text in explained)


def test_pip_takes_the_zip(tmp_path):
    archive = release(["01"], tmp_path)
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--wheel-dir", str(tmp_path)]
    ran = subprocess.run([sys.executable, "-m", "pip", "wheel", *options, str(archive)], capture_output=True)
    assert ran.returncode == 0, ran.stderr
    (wheel,) = tmp_path.glob("*.whl")
    assert "helpers/questions/01_one_row_by_hand.toml" in zipfile.ZipFile(wheel).namelist()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["01", "77"], "There is no notebook 77. Known: 00_start_here"),
        (["01", "--numbers", "a b"], "'a b' cannot be used"),
        (["01", "--numbers", "fresh-1"], "Numbers cannot be called 'fresh-1'"),
        (["01", "--numbers", "base"], "Numbers cannot be called 'base'"),
        (["01", "--name", "../up"], "'../up' cannot be used"),
        (["01", "--name", "Woche 1 ä"], "choose another --name (letters from a to z, digits, - and _"),
        (["01,77"], "There is no notebook 77"),
    ],
)
def test_what_cannot_be_released_is_said_before_anything_is_written(tmp_path, arguments, said):
    ran = CliRunner().invoke(releasing.command, [*arguments, "--to", str(tmp_path / "out")])
    assert ran.exit_code == 1
    assert said in ran.output
    assert not (tmp_path / "out").exists()


def test_the_command_says_what_it_wrote_and_overwrites_nothing(tmp_path):
    line = ["04", "10", "--to", str(tmp_path), "--name", "week", "--numbers", "2027"]
    first, second = (CliRunner().invoke(releasing.command, line) for _ in range(2))
    assert first.exit_code == 0, first.output
    assert str(tmp_path / "week.zip") in first.output
    assert "With numbers of their own: 10-output, 10-cross" in first.output
    assert second.exit_code == 1
    assert "is there already" in second.output
