"""Prompts away from their notebook: what they refer to comes along."""

from __future__ import annotations

import re

import pytest

from helpers import questions
from helpers.classroom.context import FOLLOWS, context, earlier

BACK = re.compile(
    r"\b(again|above|as before|same (row|d_k|pattern)|[Nn]ow|These|the table|The picture|plate)\b"
)
QUESTIONS = questions.load().values()


@pytest.mark.parametrize(
    "question", [one for one in QUESTIONS if BACK.search(one.text)], ids=lambda question: question.id
)
def test_what_refers_back_shows_to_what(question):
    shown = context(question)
    assert shown["earlier"] or shown["cells"], question.text


@pytest.mark.parametrize(
    ("question", "before"),
    [
        ("01-shift", "01-columns"),
        ("02-together", "02-alone"),
        ("03-blind", "03-head"),
        ("04-first-row-hot", "04-first-row"),
        ("04-hot", "04-first-row"),
        ("05-filled", "05-inf"),
        ("06-output", "06-scores"),
        ("07-score-shape", "07-split-shape"),
        ("01-order", None),
        ("02-shapes", None),
    ],
)
def test_the_question_before_is_the_one_that_sets_the_scene(question, before):
    found = earlier(questions.get(question))
    assert (found and found.id) == before


def test_the_exceptions_are_questions_of_one_notebook_in_order():
    order = list(questions.load())
    for name, before in FOLLOWS.items():
        assert name in order
        if before:
            assert before[:2] == name[:2] and order.index(before) < order.index(name)


def test_cells_before_a_question_tell_what_the_learner_saw_and_no_result():
    assert "published_weights" in context(questions.get("10-bug-weights"))["cells"]
    assert "a thousand times" in context(questions.get("02-random"))["cells"]
    assert "[-1, 1]" in context(questions.get("04-zero-fill"))["cells"], (
        "all rows of Q, of which the prompt has one"
    )
    for question in QUESTIONS:
        cells = str(context(question)["cells"])
        code = "".join(re.findall(r"<pre>(.*?)</pre>", cells, re.S))
        assert "compare(" not in code and "predict(" not in code, question.id
        assert "<h" not in cells.replace("<hr", "") and "<a " not in cells and "<img" not in cells
