"""Three learners run every notebook end to end: one leaves it untouched, one is right, one holds every known belief."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from helpers import questions
from helpers.classroom.key import learner_notebook, right_answers
from helpers.exercises import EXERCISES, SOLUTIONS
from helpers.misconceptions import CATALOGUE
from helpers.predictions import answers, overview
from helpers.questions import Question
from tests.lab import ROOT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
pytestmark = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def execute(notebook: nbformat.NotebookNode, record: Path) -> list[dict]:
    """Run a notebook with a record of its own; all outputs, in order."""
    env = {**os.environ, "PREDICTIONS_FILE": str(record)}
    client = NotebookClient(
        notebook, timeout=120, resources={"metadata": {"path": str(record.parent)}}, store_widget_state=False
    )
    client.execute(env=env)
    return [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]


def shown(outputs: list[dict]) -> str:
    """All text a reader of the saved notebook could find, metadata included."""
    return json.dumps(outputs, ensure_ascii=False)


def secrets(question: Question) -> list[str]:
    """What must not stand anywhere before the commit."""
    said = [question.say(question.explanation), question.say(question.because)]
    said += [option.feedback for option in question.options]
    return [text for text in said if text]


def in_page(text: str, page: str) -> bool:
    """Whether a passage stands in a page, whatever markup is between its words."""
    words = re.findall(r"\w+", text)[:8]
    return len(words) > 0 and re.search(r"\W+(?:\w+\W+){0,2}?".join(map(re.escape, words)), page) is not None


def test_untouched_nothing_is_revealed(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    outputs = execute(notebook, tmp_path / "record.jsonl")
    page = shown(outputs)
    assert not any(output["output_type"] == "error" or output.get("name") == "stderr" for output in outputs)
    assert not (tmp_path / "record.jsonl").exists()
    for question in questions.of_notebook(path.stem):
        assert f"Predict {question.id}" in page, f"{question.id} is never asked"
        for secret in secrets(question):
            assert not in_page(secret, page), f"{question.id} is told before its commit"
            assert not in_page(secret, path.read_text(encoding="utf-8")), (
                f"{question.id} is told in the source"
            )
    for exercise in (name for name in EXERCISES if name[:2] == path.stem[:2]):
        assert "not started yet" in page.lower(), f"{exercise} says nothing of its stub"


def test_all_right_everything_agrees(path: Path, tmp_path: Path) -> None:
    mine = list(questions.of_notebook(path.stem))
    notebook = learner_notebook(nbformat.read(path, as_version=4), right_answers(path.stem), SOLUTIONS)
    page = shown(execute(notebook, tmp_path / "record.jsonl"))
    record = [
        json.loads(line) for line in (tmp_path / "record.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert {line["question"] for line in record} == {question.id for question in mine}
    assert all(overview.judged(line) in (True, None) for line in record)
    assert "nothing is judged" not in page
    judged = [
        question for question in mine if overview.UNJUDGED not in question.id and question.kind != "words"
    ]
    assert page.count("Yes, your prediction and the run agree.") >= len(judged)
    for question in judged:
        assert in_page(question.say(question.explanation), page), (
            f"{question.id} is committed and not explained"
        )
    assert "not started yet" not in page.lower()


def ways_to_be_wrong(question: Question) -> list[tuple[str, object]]:
    """(misconception, what its holder answers), for a question."""
    if question.kind == "choice":
        return [(option.misconception, option.key) for option in question.options if option.misconception]
    return [(name, answers.as_typed(question, value)) for name, value in question.wrong.items()]


def test_every_known_belief_is_named(path: Path, tmp_path: Path) -> None:
    """As many learners as the question with the most wrong ways needs; each holds one belief a question."""
    mine = [question for question in questions.of_notebook(path.stem) if overview.UNJUDGED not in question.id]
    rounds = max((len(ways_to_be_wrong(question)) for question in mine), default=0)
    assert rounds or path.stem.startswith("00")
    for at in range(rounds):
        held = {q.id: ways_to_be_wrong(q)[at] for q in mine if at < len(ways_to_be_wrong(q))}
        given = {
            name: {"answer": answer, "because": "so I believe", "sure": 3}
            for name, (_, answer) in held.items()
        }
        notebook = learner_notebook(nbformat.read(path, as_version=4), given, {})
        folder = tmp_path / str(at)
        folder.mkdir()
        outputs = execute(notebook, folder / "record.jsonl")
        for name, (misconception, _) in held.items():
            texts = [
                shown([output])
                for output in outputs
                if f"Compare {name}." in output.get("data", {}).get("text/plain", "")
            ]
            assert texts, f"{name} was committed and its comparison is not shown"
            assert any(in_page(CATALOGUE[misconception].verdict, text) for text in texts), (
                f"{name}: {misconception} is not named"
            )
