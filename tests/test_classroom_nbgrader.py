"""The notebooks as an nbgrader assignment, by nbgrader itself: generate, release, autograde, feedback, export."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import nbformat
import numpy as np
import pytest
from click.testing import CliRunner
from nbclient import NotebookClient
from nbformat.v4 import new_output

from helpers import questions
from helpers.classroom.key import learner_notebook, right_answers
from helpers.classroom.nbgrader_assignment import assignment
from helpers.classroom.release import NOTEBOOKS, chosen, command, prepared
from helpers.exercises import SOLUTIONS, check
from helpers.predictions import answers
from tests.support import Remote, optional

ROOT = Path(__file__).resolve().parent.parent
NAME = "04_masks_and_temperature"
PREDICTIONS = len(list(questions.of_notebook(NAME)))
WRONG = """
def my_masked_weights(scores, allowed):
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    return weights * allowed
"""
HOSTILE = """
import helpers.exercises, helpers.classroom.points
np.isclose = np.allclose = np.array_equal = lambda *given, **options: np.array(True)
helpers.exercises.check = lambda *given: helpers.exercises.Result(True, "", score=1.0)
helpers.classroom.points.earned = lambda exercise, function, points: float(points)
helpers.classroom.points.committed = lambda notebook, points: 1000.0

def my_masked_weights(scores, allowed):
    return scores
"""
DEADLY = "import os\nos._exit(0)"


def nbgrader(folder: Path, *arguments: str) -> str:
    """Run one nbgrader command in a course folder; what it said."""
    programs = [sysconfig.get_path("scripts"), os.environ["PATH"]]  # nbgrader calls alembic by its name alone
    ran = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=folder,
        env={**os.environ, "PATH": os.pathsep.join(programs), "PYTHONWARNINGS": "default"},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stderr


def cell(notebook: nbformat.NotebookNode, id: str) -> nbformat.NotebookNode:
    return next(cell for cell in notebook.cells if cell.id == id)


def run(notebook: nbformat.NotebookNode, record: Path) -> nbformat.NotebookNode:
    """Run as a learner would, errors and all."""
    client = NotebookClient(
        notebook, timeout=60, allow_errors=True, resources={"metadata": {"path": str(record.parent)}}
    )
    client.execute(env={**os.environ, "PREDICTIONS_FILE": str(record)})
    return notebook


def by_card(released: nbformat.NotebookNode, folder: Path) -> nbformat.NotebookNode:
    """All right, committed on cards: the calls stay as they were, the lines stand in the outputs alone."""
    ran = run(learner_notebook(released, right_answers(NAME), SOLUTIONS), folder / "elsewhere.jsonl")
    for was, now in zip(released.cells, ran.cells, strict=True):
        if was.id.startswith("predict-"):
            now.source = was.source
    return ran


def half(released: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Five predictions, none of them right, one function right and one wrong; not run before it is handed in."""
    ids = [question.id for question in questions.of_notebook(NAME)][:4]
    given = {id: {"answer": None, "because": "", "sure": None} for id in ids}
    row = questions.get("04-zero-fill")
    belief = answers.as_typed(row, next(iter(row.wrong.values())))
    given[row.id] = {"answer": belief, "because": "so I believe", "sure": 3}
    filled = learner_notebook(released, given, {"04-causal-pattern": SOLUTIONS["04-causal-pattern"]})
    cell(filled, "write-masked-weights").source = WRONG
    return filled


def hand_in(course: Path, student: str, notebook: nbformat.NotebookNode, name: str = NAME) -> None:
    folder = course / "submitted" / student / "week1"
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / f"{name}.ipynb")


@pytest.fixture(scope="module")
def course(tmp_path_factory) -> Path:
    """A whole course: one assignment, eight students, everything nbgrader makes of them."""
    optional("nbgrader")
    course, scratch = tmp_path_factory.mktemp("course"), tmp_path_factory.mktemp("scratch")
    made = CliRunner().invoke(command, ["04", "--nbgrader", "--to", str(course), "--name", "week1", "--held"])
    assert made.exit_code == 0, made.output
    exchange = tmp_path_factory.mktemp("exchange")
    exchange.chmod(0o777)
    with (course / "nbgrader_config.py").open("a", encoding="utf-8") as config:
        config.write(f'c.CourseDirectory.course_id = "attention"\nc.Exchange.root = {str(exchange)!r}\n')
    nbgrader(course, "generate_assignment", "week1")
    if os.name != "nt":  # where nbgrader has no exchange
        nbgrader(course, "release_assignment", "week1")

    def released() -> nbformat.NotebookNode:
        return nbformat.read(course / "release" / "week1" / f"{NAME}.ipynb", 4)

    hand_in(course, "untouched", released())
    hand_in(course, "right", by_card(released(), scratch))
    hand_in(course, "half", half(released()))
    hostile, deadly, copied, torn = (half(released()) for _ in range(4))
    cell(hostile, "write-masked-weights").source = HOSTILE
    cell(hostile, "grade-causal-pattern").source = "5.0"
    hand_in(course, "hostile", hostile)
    cell(deadly, "setup").source += f"\n{DEADLY}"
    hand_in(course, "deadly", deadly)
    again = nbformat.from_dict({**cell(copied, "grade-masked-weights"), "id": "again"})
    copied.cells.insert(copied.cells.index(cell(copied, "grade-masked-weights")) + 1, again)
    hand_in(course, "copied", copied)
    torn.cells.remove(cell(torn, "grade-masked-weights"))
    hand_in(course, "torn", torn)
    hand_in(course, "renamed", released(), "old (1)")
    os.utime(course / "submitted" / "renamed" / "week1" / "old (1).ipynb", (1, 1))
    hand_in(course, "renamed", half(released()), "final (2)")
    nbformat.write(run(hostile, scratch / "hostile.jsonl"), course / "believed.ipynb")
    said = nbgrader(course, "autograde", "week1")
    assert f"{NAME} of copied: cell " in said, "a copy is reported with its place"
    assert f"final (2).ipynb: taken for {NAME}.ipynb, by its cells" in said
    nbgrader(course, "generate_feedback", "week1")
    nbgrader(course, "export")
    return course


@pytest.fixture(scope="module")
def scores(course) -> dict[str, dict[str, float]]:
    """Points by student and graded cell."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{course / 'gradebook.db'}") as book:
        found = {}
        for student in book.assignment_submissions("week1"):
            grades = [grade for notebook in student.notebooks for grade in notebook.grades]
            assert not any(grade.needs_manual_grade for grade in grades), student.student.id
            found[student.student.id] = {grade.name.removeprefix("grade-"): grade.score for grade in grades}
        return found


def own_module() -> dict:
    names = {"np": np}
    exec(WRONG, names)
    return names


def test_the_scores_are_what_they_should_be(scores):
    """Completion for predictions, the part of the cases for a function, whatever else the notebook does."""
    part = 5 * check("04-masked-weights", own_module()["my_masked_weights"]).score
    assert 0 < part < 5, "partial credit"
    some = {"causal-pattern": 5, "masked-weights": round(part, 2), "predictions": 5}
    assert scores["untouched"] == {"causal-pattern": 0, "masked-weights": 0, "predictions": 0}
    assert scores["right"] == {"causal-pattern": 5, "masked-weights": 5, "predictions": PREDICTIONS}
    assert scores["half"] == some
    assert scores["hostile"] == {**some, "masked-weights": 0}
    assert scores["deadly"] == {**some, "predictions": 0}, "graded by its functions, though it never ran"
    assert scores["copied"] == some
    assert scores["torn"] == some
    assert scores["renamed"] == some, "under the released name, the file saved last"


def test_a_file_under_the_released_name_wins_and_strangers_are_left_alone(course, tmp_path):
    from helpers.classroom.nbgrader_grading import by_released_names

    source = course / "release" / "week1" / f"{NAME}.ipynb"
    for name in (f"{NAME}.ipynb", "copy.ipynb"):
        (tmp_path / name).write_bytes(source.read_bytes())
    (tmp_path / "poem.ipynb").write_text("{}", encoding="utf-8")
    was = (tmp_path / f"{NAME}.ipynb").read_bytes()
    (tmp_path / "copy.ipynb").write_bytes(source.read_bytes() + b"\n")
    paths = [str(tmp_path / name) for name in (f"{NAME}.ipynb", "copy.ipynb", "poem.ipynb")]
    by_released_names(notebooks=paths, assignment="week1", student="ann")
    assert sorted(Path(path).name for path in paths) == [f"{NAME}.ipynb", "poem.ipynb"]
    assert (tmp_path / f"{NAME}.ipynb").read_bytes() == was


def test_what_learners_need_besides_lies_beside_the_assignment(course):
    """nbgrader hands out the notebook alone; the zip has the helpers, and pip takes it as any release."""
    import zipfile

    assert {path.name for path in (course / "release" / "week1").iterdir()} <= {
        f"{NAME}.ipynb",
        "class_settings.toml",
    }
    names = zipfile.ZipFile(course / "for_learners" / "attention-by-hand.zip").namelist()
    assert {"attention-by-hand/start.py", "attention-by-hand/helpers/__init__.py"} <= set(names)
    assert not any("04_masks" in name and name.endswith(".ipynb") for name in names)


def test_in_its_own_kernel_a_submission_is_believed(course):
    """Why the points are worked out elsewhere."""
    ran = nbformat.read(course / "believed.ipynb", 4)
    assert cell(ran, "grade-masked-weights").outputs[-1].data["text/plain"] == "5.0"
    assert cell(ran, "grade-predictions").outputs[-1].data["text/plain"] == "1000.0"


def test_the_export_holds_each_students_sum(course, scores):
    with (course / "grades.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["student_id"]: row for row in csv.DictReader(file)}
    assert {name: float(row["score"]) for name, row in rows.items()} == {
        name: pytest.approx(sum(points.values())) for name, points in scores.items()
    }
    assert {float(row["max_score"]) for row in rows.values()} == {10 + PREDICTIONS}


def test_the_released_assignment_reveals_no_answer_and_carries_the_settings(course):
    released = course / "release" / "week1"
    assert 'explanations = "held"' in (released / "class_settings.toml").read_text(encoding="utf-8")
    text = (released / f"{NAME}.ipynb").read_text(encoding="utf-8")
    assert "BEGIN SOLUTION" not in text and "NotImplementedError" not in text
    notebook = nbformat.read(released / f"{NAME}.ipynb", 4)
    source = nbformat.read(NOTEBOOKS / f"{NAME}.ipynb", 4)
    added = [cell.id for cell in notebook.cells if cell.id.startswith("grade-")]
    assert added == ["grade-causal-pattern", "grade-masked-weights", "grade-predictions"]
    kept = [cell.source for cell in notebook.cells if cell.id not in added]
    links = [cell.source for cell in prepared(NOTEBOOKS / f"{NAME}.ipynb", {f"{NAME}.ipynb"}).cells]
    assert kept == links, "every other cell is as a learner's"
    assert [cell.id for cell in source.cells] == [cell.id for cell in notebook.cells if cell.id not in added]


def test_feedback_shows_what_was_predicted_and_no_solution(course):
    for student in ("untouched", "right", "half", "hostile", "deadly"):
        (page,) = (course / "feedback" / student / "week1").glob("*.html")
        text = page.read_text(encoding="utf-8")
        if student == "right":
            assert text.count("Compare · 04-") == PREDICTIONS, "cards that were committed are committed again"
        else:
            assert "exps.sum(axis=-1" not in text
        looked = Remote()
        looked.feed(text)
        assert [one for one in looked.found if "//" in one] == [], "nothing is asked of anybody else"
    assert "class opens the explanations" not in text


@pytest.mark.parametrize("path", chosen([]), ids=lambda path: path.stem)
def test_every_notebook_can_be_an_assignment(path):
    """Metadata by nbgrader's own rules, each NumPy exercise graded once, and nothing of it in the course's file."""
    formats = optional("nbgrader.nbgraderformat")
    source = nbformat.read(path, 4)
    assert not any("nbgrader" in cell.metadata for cell in source.cells)
    made = assignment(prepared(path, {path.name}), path.stem)
    nbformat.validate(made)
    formats.MetadataValidator().validate_nb(made)
    graded = [cell.metadata.nbgrader for cell in made.cells if cell.metadata.get("nbgrader", {}).get("grade")]
    exercises = [
        name
        for name in SOLUTIONS
        if name[:2] == path.stem[:2] and name.split("-")[-1] not in ("torch", "jax")
    ]
    assert [one["grade_id"] for one in graded] == [
        *(f"grade-{name.partition('-')[2]}" for name in exercises),
        "grade-predictions",
    ]
    assert sum(one["points"] for one in graded) == 5 * len(exercises) + len(
        list(questions.of_notebook(path.stem))
    )


def test_a_flood_of_foreign_lines_in_an_output_does_no_harm(tmp_path, monkeypatch):
    optional("nbgrader")
    from helpers.classroom.nbgrader_grading import MOST_LINES, KeepPredictions, RestorePredictions

    monkeypatch.setenv("PREDICTIONS_FILE", "unset")
    notebook = nbformat.read(NOTEBOOKS / f"{NAME}.ipynb", 4)
    lines = [{"question": "04-off"}, 7, None, {"format": 1}, "x" * 10] * MOST_LINES
    output = new_output("display_data", {"text/plain": ""}, metadata={"predictions": lines})
    cell(notebook, "setup").outputs = [output, new_output("stream", text="no metadata")]
    resources = {"metadata": {"path": str(tmp_path)}}
    notebook, _ = KeepPredictions().preprocess(notebook, resources)
    assert len(notebook.metadata.predictions) == MOST_LINES
    RestorePredictions().preprocess(notebook, resources)
    assert not (tmp_path / "my_predictions.jsonl").exists()
    assert os.environ["PREDICTIONS_FILE"] == str(tmp_path / "my_predictions.jsonl")
