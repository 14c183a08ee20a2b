"""Every question holds: its words resolve, its numbers are the notebook's, its beliefs can be told apart."""

from __future__ import annotations

import math
import re
from itertools import combinations, pairwise
from pathlib import Path

import nbformat
import numpy as np
import pytest

from helpers import questions, tasks
from helpers.misconceptions import CATALOGUE
from helpers.questions import NUMERIC, Question, agree
from tests import notebook_format

NOTEBOOKS = Path(__file__).resolve().parent.parent / "notebooks"
QUESTIONS = list(questions.load().values())
TITLES = questions.titles()
MOST_PREDICTIONS = 10  # a notebook; more tires

each_question = pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.id)
each_notebook = pytest.mark.parametrize("name", TITLES)


def cells(name: str) -> list[nbformat.NotebookNode]:
    return nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4).cells


def code(name: str) -> list[str]:
    """All code after the setup cell."""
    return [cell.source for cell in cells(name) if cell.cell_type == "code" and cell.id != "setup"]


def execute(sources: list[str]) -> tuple[dict, list[tuple]]:
    """Run cells without a kernel or a page; their names, and what they asked, compared and showed."""
    calls: list[tuple] = []
    recorders = {
        name: lambda *given, name=name, **more: calls.append((name, *given, more))
        for name in ("predict", "compare", "show", "check", "hint", "progress", "revisit")
    }
    space: dict = {"__name__": "notebook"}
    exec(notebook_format.SETUP, space)
    space |= recorders
    for source in sources:
        exec(source, space)
    return space, calls


@each_question
def test_words_resolve(question: Question) -> None:
    said = [
        question.text,
        question.asks,
        *map(question.say, (question.explanation, question.because, question.wrong_and_sure)),
    ]
    assert question.prompt and question.explanation and question.because
    assert not any(re.search(r"[{}]|nan", text) for text in said), (
        "a placeholder is left, or a number is none"
    )


@each_question
def test_a_prompts_numbers_come_from_the_inputs(question: Question) -> None:
    named = r"(keys?|quer(y|ies)|rows?|columns?|tokens?|outputs?|positions?) \d+((, \d+)* (and|to) \d+)?"
    bare = re.sub(rf"\{{.*?\}}|{named}|√\d|e\^\S+", "", question.prompt)
    assert set(re.findall(r"\d+(?:\.\d+)?", bare)) <= {"0", "1"}


@each_question
def test_one_answer_is_right(question: Question) -> None:
    keys = [option.key for option in question.options]
    assert len(keys) == len(set(keys))
    if question.kind == "choice":
        assert question.right_key in keys
        assert sum(option.right for option in question.options) == (question.task is None)
        assert question.option(question.right_key).misconception is None
        if question.expected:
            low, high = question.expected
            assert 0 < low < high, "a measurement is expected between two numbers, the smaller one first"
    elif question.kind in NUMERIC:
        assert np.all(np.isfinite(np.asarray(question.truth, dtype=float)))
    for labels, size in zip((question.labels, question.row_labels), question.shape[::-1], strict=False):
        assert len(labels) in (0, size)


@each_question
def test_each_belief_can_be_told_from_the_truth_and_from_the_others(question: Question) -> None:
    options = {option.misconception: option.key for option in question.options if option.misconception}
    for name in (*question.misconceptions, *options):
        assert name in CATALOGUE
        assert name in question.wrong or name in options, f"{name}: no program and no option shows it"
        if name in question.wrong and name in options:
            assert question.wrong[name] == options[name]
    for name in question.misconceptions:
        if name in question.wrong:
            assert not agree(question.truth, question.wrong[name], within=0.005), name
    if question.kind != "choice":
        for one, other in combinations(
            [name for name in question.misconceptions if name in question.wrong], 2
        ):
            assert not agree(question.wrong[one], question.wrong[other], within=0.005), (one, other)


@each_question
def test_fresh_numbers_can_be_drawn(question: Question) -> None:
    if question.fresh:
        again = question.renew("class-a")
        assert again.inputs != question.inputs
        assert again.text and again.say(again.explanation)


@each_question
def test_the_cell_writes_the_inputs_out(question: Question) -> None:
    if question.cell is None:
        return
    source = next(cell.source for cell in cells(question.notebook) if cell.id == question.cell)
    space, _ = execute([source])
    written = tasks.resolve({name: space[question.names.get(name, name)] for name in question.inputs})
    for name, value in tasks.resolve(question.inputs).items():
        np.testing.assert_array_equal(written[name], value, err_msg=name)


def test_exponentials_given_for_help_are_right() -> None:
    texts = [question.ask for question in QUESTIONS]
    texts += [cell.source for name in TITLES for cell in cells(name)]
    given = [found for text in texts for found in re.findall(r"\be(?:\^([−\d.]+))? ≈ ([\d.]*\d)", text)]
    assert given
    for power, value in given:
        unit = 10.0 ** -len(value.partition(".")[2])
        assert abs(math.exp(float(power.replace("−", "-") or 1)) - float(value)) <= unit / 2, (power, value)


@each_notebook
def test_a_notebook_asks_its_questions_once_and_in_order(name: str) -> None:
    _, calls = execute(code(name))
    mine = [question.id for question in questions.of_notebook(name)]
    assert [call[1] for call in calls if call[0] == "predict"] == mine
    assert len(mine) <= MOST_PREDICTIONS
    assert [call[1] for call in calls if call[0] == "compare"] == [one for one in mine if "-pre-" not in one]
    assert cells(name)[0].source.startswith(f"# {TITLES[name]}\n")


@each_notebook
def test_what_is_shown_waits_for_a_question_asked_before_it(name: str) -> None:
    _, calls = execute(code(name))
    asked = set()
    for kind, *given, more in calls:
        asked |= {given[0]} if kind == "predict" else set()
        assert kind != "show" or more.get("after") in asked


@each_notebook
def test_every_section_runs_right_after_the_setup(name: str) -> None:
    found = cells(name)
    starts = [at for at, cell in enumerate(found) if cell.source.startswith("## ")] + [len(found)]
    for start, end in pairwise(starts):
        execute([cell.source for cell in found[start:end] if cell.cell_type == "code"])


@each_notebook
def test_no_number_of_a_result_stands_in_the_notebook(name: str) -> None:
    secrets = {}
    for question in questions.of_notebook(name):
        if question.kind in NUMERIC:
            for value in np.ravel(question.truth).astype(float):
                if value != round(value):
                    secrets |= {
                        f"{question.id} ({digits} digits)": f"{value:.{digits}f}" for digits in (2, 3)
                    }
    assert list(notebook_format.told(nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4), secrets)) == []


def test_the_leak_falls_below_chance_and_the_mask_holds_it_there() -> None:
    _, calls = execute(code("04_masks_and_temperature"))
    with_mask, without_mask = next(call[2] for call in calls if call[:2] == ("compare", "04-leak"))
    chance = questions.get("04-leak").inputs["chance"]
    assert with_mask > 0.95 * chance
    assert without_mask < 0.1 * chance


def test_masking_after_the_softmax_can_be_mended_on_tame_scores_only() -> None:
    _, calls = execute(code("04_masks_and_temperature"))
    sums, again, far = (call[1] for call in calls if call[0] == "show" and call[2]["after"] == "04-after")
    masked = tasks.run("attention_weights", questions.get("04-after").inputs)
    assert np.all(sums[:-1] < 1) and sums[-1] == 1
    np.testing.assert_allclose(again, masked, atol=5e-4)
    assert np.isnan(far[0])
