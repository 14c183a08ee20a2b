"""
A class that never was: submissions of the whole course, as a learning platform exports them.

``python -m tests.class_of 300 folder --layout moodle`` writes one to look at. Answers are right, hold a known
belief, or fit nothing; notebooks carry them as JupyterLab saves them, with outputs as large as executed ones have.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from helpers import figures, questions
from helpers.exercises import EXERCISES
from helpers.misconceptions import CATALOGUE, programs_for
from helpers.predictions import own, render
from helpers.questions import Question

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))
PICTURE = 27_000  # bytes; with it a course has 2.1 MB, half of it pictures, as one that was executed
START = datetime(2026, 10, 5, 9, tzinfo=UTC)
REASONS = (
    "the larger score takes more",
    "I divided by the root",
    "weights make 1",
    "looked at the shapes",
    "",
)
LAYOUTS = ("moodle", "moodle-flat", "canvas", "nbgrader", "plain")


@dataclass
class Learner:
    """One made-up student."""

    number: int
    rng: random.Random
    skill: float
    beliefs: set[str]
    done: int  # how many notebooks
    lines: list[dict] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"Learner {self.number:04d}"


def learners(count: int, seed: int = 0) -> Iterator[Learner]:
    """Made-up students, the same for the same seed; of each, some notebooks are not reached."""
    for number in range(1, count + 1):
        rng = random.Random(f"{seed}/{number}")
        beliefs = {name for name in CATALOGUE if rng.random() < 0.25}
        done = len(NOTEBOOKS) if rng.random() < 0.85 else rng.randrange(len(NOTEBOOKS))
        learner = Learner(number, rng, rng.uniform(0.35, 0.95), beliefs, done)
        learner.lines = list(_lines(learner))
        yield learner


def _lines(learner: Learner) -> Iterator[dict]:
    time, lines = START + timedelta(minutes=learner.rng.randrange(20_000)), []
    for path in NOTEBOOKS[: learner.done]:
        for question in questions.of_notebook(path.stem):
            time += timedelta(seconds=learner.rng.randrange(30, 300))
            lines.append(_line(learner, own.of(question, lines), time))
            yield lines[-1]


def _line(learner: Learner, question: Question, time: datetime) -> dict:
    rng = learner.rng
    if rng.random() < 0.03:
        answer, sure = None, None
    else:
        answer, sure = _answer(learner, question), rng.choice((1, 2, 2, 3, 3))
    return {
        "format": 1,
        "question": question.id,
        "version": question.version,
        "variant": question.variant,
        "notebook": question.notebook,
        "kind": question.kind,
        "answer": answer,
        "because": rng.choice(REASONS),
        "sure": sure,
        "attempt": 1,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def _answer(learner: Learner, question: Question) -> Any:
    held = [option.key for option in question.options if option.misconception in learner.beliefs]
    held = held or [value for name, value in question.wrong.items() if name in learner.beliefs]
    if held and learner.rng.random() < 0.6:
        return committed(question, held[0])
    if learner.rng.random() < learner.skill:
        return committed(question, question.truth)
    return _odd(learner.rng, question)


def _odd(rng: random.Random, question: Question) -> Any:
    """An answer that fits nothing known, as a rule; some are common, as slips are."""
    if question.kind == "choice":
        return rng.choice(question.options).key
    if question.kind == "shape":
        return [int(size) + (at == 0) for at, size in enumerate(question.truth)]
    if question.kind == "cells":
        cells = np.asarray(question.truth, dtype=int)
        cells.flat[rng.choice((0, -1))] ^= 1
        return cells.tolist()
    factor = rng.choice((2.0, 2.0, 1.5, rng.uniform(0.2, 3)))
    return committed(question, np.asarray(question.truth, dtype=float) * factor + 0.07)


def committed(question: Question, value: Any) -> Any:
    """A value as a record holds it."""
    if question.kind == "choice":
        return value
    if question.kind == "shape":
        return [int(size) for size in value]
    if question.kind == "cells":
        return np.asarray(value, dtype=int).tolist()
    text = np.vectorize(lambda one: f"{one:.4f}", otypes=[object])(np.asarray(value, dtype=float))
    return text.tolist() if np.ndim(value) else str(text)


# Notebooks with outputs.


def notebook(path: Path, lines: list[dict], checks: Callable[[str], str] | None = None) -> dict:
    """
    A notebook as it is handed in.

    Parameters
    ----------
    path : Path
        The learner's notebook of the course.
    lines : list of dict
        What was committed, other notebooks included.
    checks : callable, optional
        What a check shows, by the id of its cell. Default: not started.
    """
    mine: dict[str, list[dict]] = {}
    for line in lines:
        mine.setdefault(line["question"], []).append(line)
    content = json.loads(_source(path))
    for number, cell in enumerate(content["cells"], 1):
        if cell["cell_type"] == "code":
            cell["execution_count"] = number
            cell["outputs"] = _outputs(cell, path.stem, mine, checks or (lambda _: "Not started yet"))
    return content


@cache
def _source(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _outputs(cell: dict, stem: str, mine: dict[str, list[dict]], checks: Callable[[str], str]) -> list[dict]:
    kind, _, rest = cell["id"].partition("-")
    name = f"{stem[:2]}-{rest}"
    if kind == "predict" and name in questions.load():
        carried = {"predictions": mine[name]} if name in mine else {}
        return [_display(*_card(name, name in mine), carried)]
    if kind == "run" and name in mine:
        return [_display(*_comparison(name), {"predictions": mine[name]})]
    if kind == "check":
        exercise = name if name in EXERCISES else name.rpartition("-")[0]
        says = checks(cell["id"])
        text = f"{exercise}: {says}"
        shown = _display(text, f"<div>{text}</div>", _judged(exercise, says))
        return [shown | {"output_type": "execute_result", "execution_count": 1}]
    if "show(" in "".join(cell["source"]):
        return [
            _display(
                "A picture.", f'{_drawing()}<img alt="A picture" src="data:image/png;base64,{_picture()}">'
            )
        ]
    return []


def _display(plain: str, html: str, metadata: dict | None = None) -> dict:
    data = {"text/html": html.splitlines(keepends=True), "text/plain": plain.splitlines(keepends=True)}
    return {"output_type": "display_data", "data": data, "metadata": metadata or {}}


def _judged(exercise: str, says: str) -> dict:
    """What a check leaves in the metadata, where it judged something."""
    if says.startswith("Not started"):
        return {}
    verdict = says.split("\n")[0].removeprefix("Not yet: ")
    held = next((name for name, entry in CATALOGUE.items() if entry.verdict == verdict), None)
    passed = says.startswith("Right")
    told = {"exercise": exercise, "passed": passed, "misconception": held, "score": float(passed)}
    return {"check": told}


@cache
def _card(name: str, done: bool) -> tuple[str, str]:
    """A card; a committed one as of the right answer: of anybody's the size, and nothing reads it."""
    question = questions.get(name)
    line = {"answer": committed(question, question.truth), "because": REASONS[0], "sure": 2}
    shown = render.committed_card(question, line, line, 1, []) if done else render.card(question, [], "")
    return shown["text/plain"], shown["text/html"]


@cache
def _comparison(name: str) -> tuple[str, str]:
    """What compare shows of the right answer, for the same reason."""
    question = questions.get(name)
    line = {"answer": committed(question, question.truth), "version": question.version, "sure": 2}
    shown = render.comparison(question, line, question.run(), False, False)
    return shown["text/plain"], shown["text/html"]


@cache
def _drawing() -> str:
    return figures.weights(np.full((4, 4), 0.25)).svg


@cache
def _picture() -> str:
    return base64.b64encode(random.Random(0).randbytes(PICTURE)).decode()


def check_of(learner: Learner) -> Callable[[str], str]:
    """What this student's checks show."""

    def shows(cell: str) -> str:
        name = cell.removeprefix("check-")
        exercise = next((one for one in EXERCISES.values() if one.id[3:] == name), None)
        if learner.rng.random() < learner.skill:
            return "Right, on all 9 inputs"
        programs = programs_for(exercise.task) if exercise else {}
        held = [one for one in programs if one in learner.beliefs]
        return f"Not yet: {CATALOGUE[held[0]].verdict}\n  your call  f()" if held else "Not started yet"

    return shows


# As platforms export it.


def place(learner: Learner, name: str, layout: str) -> str:
    """Where a learning platform puts a file."""
    who, number = learner.name, 4000 + learner.number
    key = who.lower().replace(" ", "")
    return {
        "moodle": f"{who}_{number}_assignsubmission_file_/{name}",
        "moodle-flat": f"{who}_{number}_assignsubmission_file_{name}",
        "canvas": f"{key}_{'LATE_' if learner.number % 9 == 0 else ''}{number}_{learner.number}77_{name}",
        "nbgrader": f"submitted/{key}/week1/{name}",
        "plain": f"{who}/{name}",
    }[layout]


def make(
    folder: Path,
    count: int,
    layout: str = "moodle",
    seed: int = 0,
    zipped: bool = False,
    record: bool = False,
) -> Path:
    """
    Write what a class hands in.

    Parameters
    ----------
    folder : Path
        Where to write; with ``zipped``, beside it.
    count : int
        Of how many students.
    layout : str
        One of `LAYOUTS`.
    seed : int
    zipped : bool
        As one zip rather than a folder.
    record : bool
        With my_predictions.jsonl beside the notebooks.

    Returns
    -------
    Path
        The folder, or the zip.
    """
    archive = zipfile.ZipFile(folder.with_suffix(".zip"), "w", zipfile.ZIP_DEFLATED) if zipped else None
    for learner in learners(count, seed):
        shows = check_of(learner)
        texts = {
            path.name: json.dumps(notebook(path, learner.lines, shows), ensure_ascii=False, indent=1)
            for path in NOTEBOOKS[: learner.done]
        }
        if record:
            texts["my_predictions.jsonl"] = "".join(json.dumps(line) + "\n" for line in learner.lines)
        for name, text in texts.items():
            where = place(learner, name, layout)
            if archive:
                archive.writestr(where, text)
            else:
                (folder / where).parent.mkdir(parents=True, exist_ok=True)
                (folder / where).write_text(text, encoding="utf-8", newline="\n")
    if archive:
        archive.close()
        return folder.with_suffix(".zip")
    return folder


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("count", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--layout", choices=LAYOUTS, default="moodle")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--zipped", action="store_true")
    chosen = parser.parse_args()
    print(make(chosen.folder, chosen.count, chosen.layout, chosen.seed, chosen.zipped))
