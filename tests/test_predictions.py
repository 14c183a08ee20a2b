"""The prediction cell's contract, on a page that only remembers what was shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers import compare, diagnose, predict, progress, questions, revisit, show
from helpers.attention import attention_weights
from helpers.classroom.key import right_answers
from helpers.misconceptions import CATALOGUE
from helpers.predictions import answers, kernel, overview, picture
from helpers.predictions.form import Form
from helpers.questions import Option, Question
from tests.support import optional

Q, K = [[0.5, -1.0, 2.0]], [[1.0, 0.2, 0.4], [-0.3, 1.0, 0.1], [0.6, 0.5, -0.8], [0.0, -1.2, 0.3]]
WEIGHTS = attention_weights(Q, K)[0]
ROW = Question(
    id="99-row",
    notebook="99_test",
    kind="row",
    task="attention_weights",
    part="row 0",
    labels=("a", "b", "c", "d"),
    prompt="Query `{Q[0]}`.",
    explanation="The secret is {asked[0]:.3f}.",
    because="a model reason",
    wrong_and_sure="A longer answer.",
    misconceptions=("scale-missing", "uniform"),
    inputs={"Q": Q, "K": K},
    fresh={"Q": [-1, 0, 1, 2], "K": [-1, 0, 1, 2]},
)
CHOICE = Question(
    id="99-choice",
    notebook="99_test",
    kind="choice",
    task="softmax",
    part="same or different",
    prompt="And now?",
    inputs={"scores": [0.7, 0.0]},
    then={"scores": [100.7, 100.0]},
    explanation="Shifting leaves them.",
    options=(
        Option("same", "Nothing moves."),
        Option("different", "They move.", misconception="shift-changes", feedback="Look at the difference."),
    ),
)
OTHERS = [
    Question(
        id="99-number",
        notebook="99_test",
        kind="number",
        task="weighted_sum",
        prompt="?",
        inputs={"weights": [0.25, 0.75], "values": [2, 6]},
    ),
    Question(
        id="99-shape",
        notebook="99_test",
        kind="shape",
        task="product_of_shapes",
        part="shape",
        prompt="?",
        inputs={"left": [2, 3], "right": [3, 5]},
    ),
    Question(
        id="99-grid",
        notebook="99_test",
        kind="grid",
        task="softmax",
        prompt="?",
        inputs={"scores": [[0.0, 1.0, 2.0], [2.0, 0.5, 0.0]]},
    ),
    Question(
        id="99-cells",
        notebook="99_test",
        kind="cells",
        task="pattern",
        prompt="?",
        inputs={"allowed": {"pattern": "causal", "n_q": 3}},
    ),
    Question(id="99-words", notebook="99_test", kind="words", prompt="Why?", explanation="Because."),
    Question(id="98-later", notebook="98_test", kind="words", prompt="Later?", explanation="Later."),
]


class Page:
    """What stands on the page, slot by slot."""

    def __init__(self) -> None:
        self.slots: dict[str, dict] = {}
        self.metadata: dict[str, dict] = {}

    def send(self, slot: kernel.Slot, bundle: dict, metadata: Any, update: bool) -> None:
        assert update == (slot._id in self.slots)
        self.slots[slot._id] = bundle
        self.metadata[slot._id] = dict(metadata or {})

    @property
    def text(self) -> str:
        return "\n".join(bundle["text/plain"] for bundle in self.slots.values())

    @property
    def html(self) -> str:
        return "\n".join(bundle.get("text/html", "") for bundle in self.slots.values())


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Page]:
    """A page, a record of its own, and the test's questions among the known ones."""
    page = Page()
    monkeypatch.setenv("PREDICTIONS_FILE", str(tmp_path / "my_predictions.jsonl"))
    monkeypatch.setattr(
        kernel.Slot, "_send", lambda slot, bundle, metadata, update: page.send(slot, bundle, metadata, update)
    )
    monkeypatch.setattr(kernel, "_current", None)
    for question in (ROW, CHOICE, *OTHERS):
        monkeypatch.setitem(questions.load(), question.id, question)
    yield page


def lines(tmp_path: Path) -> list[dict]:
    path = tmp_path / "my_predictions.jsonl"
    return (
        [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    )


def open_form(monkeypatch: pytest.MonkeyPatch, question_id: str) -> Form:
    """The form that `predict` puts on the page."""
    made: list[Form] = []
    original = Form.__init__

    def remember(form: Form, *arguments: Any, **named: Any) -> None:
        original(form, *arguments, **named)
        made.append(form)

    monkeypatch.setattr(Form, "__init__", remember)
    predict(question_id)
    return made[-1]


def test_nothing_of_the_answer_is_shown_before_the_commit(page: Page) -> None:
    predict("99-row")
    compare("99-row", WEIGHTS)
    show(np.array(WEIGHTS), after="99-row")
    everything = json.dumps(list(page.slots.values()), default=str) + json.dumps(list(page.metadata.values()))
    for secret in ("secret", "model reason", "longer answer", *(f"{weight:.2f}" for weight in WEIGHTS)):
        assert secret not in everything
    assert "appears here once you commit" in page.text


def test_the_commit_fills_the_place_that_waited(page: Page) -> None:
    compare("99-row", WEIGHTS)
    waiting = list(page.slots)
    predict("99-row", answers.as_typed(ROW, ROW.truth), because="I computed", sure=2)
    assert "secret" in page.slots[waiting[0]]["text/html"]
    assert "Yes, your prediction" in page.text
    assert page.metadata[waiting[0]]["predictions"][0]["because"] == "I computed"


def test_the_card_carries_what_was_committed_and_nothing_before(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pre-test has no comparison: its cards alone must make the notebook a whole submission."""
    form = open_form(monkeypatch, "99-choice")
    assert not any(page.metadata.values())
    form.answer.index, form.because.value, form.sure.value = 0, "a reason", 2
    form.button.click()
    (carried,) = filter(None, page.metadata.values())
    assert [line["question"] for line in carried["predictions"]] == ["99-choice"]
    predict("99-row", answers.as_typed(ROW, ROW.truth), because="typed", sure=1)
    assert list(page.metadata.values())[-1]["predictions"][0]["because"] == "typed"


def test_a_misconception_is_named_with_its_program_run_on_the_same_numbers(page: Page) -> None:
    wrong = ROW.wrong["scale-missing"]
    predict("99-row", answers.as_typed(ROW, wrong), because="e to the score", sure=3)
    compare("99-row", WEIGHTS)
    assert CATALOGUE["scale-missing"].verdict in page.text
    assert f"{wrong[0]:.3f}" in page.html
    for code in CATALOGUE["scale-missing"].lines():
        assert code.strip()[:20] in page.text
    assert "A longer answer." in page.text
    assert "revisit()" in page.text


def test_an_answer_that_fits_nothing_known_gets_the_first_step_that_parts(page: Page) -> None:
    for typed, step in [
        ([0.1, 0.2, 0.3, 0.2], "sum"),
        ([0.2, 0.3, 0.4, 0.1], "order"),
        ([-0.2, 0.4, 0.4, 0.4], "never negative"),
    ]:
        assert step in answers.diagnose(ROW, answers.read(ROW, typed)).step
    sharper = np.exp(3 * np.log(WEIGHTS)) / np.exp(3 * np.log(WEIGHTS)).sum()
    found = answers.diagnose(ROW, answers.read(ROW, np.round(sharper, 3)))
    assert found.misconception is None
    assert "too sharp" in found.step


def test_where_truth_and_a_wrong_program_fit_another_digit_is_asked_for(page: Page, tmp_path: Path) -> None:
    question = Question(
        id="99-close",
        notebook="99_test",
        kind="row",
        task="attention_weights",
        part="row 0",
        prompt="?",
        misconceptions=("scale-missing",),
        inputs={"q": [1, 0], "K": [[1, 0], [0, 1]]},
    )
    questions.load()["99-close"] = question
    try:
        predict("99-close", [0.7, 0.3], because="about", sure=2)
        assert "One more digit" in page.text
        assert lines(tmp_path) == []
        predict("99-close", [0.67, 0.33], because="about", sure=2)
        assert len(lines(tmp_path)) == 1
    finally:
        del questions.load()["99-close"]


@pytest.mark.parametrize(
    "answer",
    ([32, 512, 16], "32, 512, 16", ["32 MiB", 512, "16 GiB"]),
    ids=("numbers", "a text", "a unit forgotten"),
)
def test_bytes_without_a_unit_are_asked_for_it(page: Page, tmp_path: Path, answer: Any) -> None:
    predict("08-bytes", answer, because="counted", sure=2)
    assert "32 MiB" in page.text and "unit" in page.text
    assert lines(tmp_path) == []


@pytest.mark.parametrize(
    ("id", "answer"),
    (
        ("08-bytes", ["32 MiB", "512 MiB", "16 GiB"]),
        ("08-bytes", [33554432, 536870912, 17179869184]),
        ("06-dense", 400),  # what a known wrong program gives
        ("08-bytes", ["32 B", "512 B", "16 B"]),
    ),
)
def test_bytes_that_are_meant_are_committed(page: Page, tmp_path: Path, id: str, answer: Any) -> None:
    predict(id, answer, because="counted", sure=2)
    assert len(lines(tmp_path)) == 1


def test_bytes_of_a_run_are_said_in_both_ways(page: Page) -> None:
    predict("06-dense", "40 kB", because="counted", sure=2)
    compare("06-dense")
    assert "40,000 (39.1 KiB)" in page.text
    predict("08-bytes", ["32 MiB", "512 MiB", "16 GiB"], because="counted", sure=2)
    compare("08-bytes")
    assert "17,179,869,184 (16 GiB)" in page.html


def test_bytes_that_part_are_said_in_units(page: Page) -> None:
    predict("08-bytes", ["8 MiB", "512 MiB", "16 GiB"], because="counted", sure=2)
    compare("08-bytes")
    assert "you 8 MiB, the run 32 MiB" in page.text


@pytest.mark.parametrize(
    ("measured", "judged"),
    ((9.3, True), (4.0, True), (0.9, False), (37.9, False), (float("nan"), False)),
)
def test_a_measurement_that_shows_something_else_judges_nobody(
    page: Page, measured: float, judged: bool
) -> None:
    predict("08-block", "between", because="mostly rows", sure=2)
    compare("08-block", np.round(measured, 1))
    assert ("your prediction and the run agree" in page.text) == judged
    assert ("believe the run" in page.text) != judged
    assert f"{measured:.3g}" in page.text


def test_a_measurement_without_an_upper_end_names_the_lower(page: Page) -> None:
    predict("08-time", "dense", because="loops", sure=3)
    compare("08-time", 0.2)
    assert "expected is at least 1.1" in page.text
    assert CATALOGUE["loops-are-slow"].verdict not in page.text


def test_the_first_commit_stays_and_a_change_of_mind_is_a_further_line(page: Page, tmp_path: Path) -> None:
    for answer in ([0.25, 0.25, 0.25, 0.25], [0.25, 0.25, 0.25, 0.25], [0.4, 0.2, 0.2, 0.2]):
        predict("99-row", answer, because="so", sure=1)
    kept = lines(tmp_path)
    assert [line["attempt"] for line in kept] == [1, 2]
    assert kept[0]["answer"] == ["0.25"] * 4
    assert {
        "question",
        "version",
        "variant",
        "notebook",
        "kind",
        "answer",
        "because",
        "sure",
        "attempt",
        "time",
    } <= set(kept[0])


def test_i_do_not_know_yet_is_a_commit(page: Page, tmp_path: Path) -> None:
    compare("99-row", WEIGHTS)
    predict("99-row", None)
    assert lines(tmp_path)[0]["answer"] is None
    assert "did not know yet" in page.text


def test_changed_numbers_are_shown_and_not_judged(page: Page) -> None:
    predict("99-row", [0.25, 0.25, 0.25, 0.25], because="even", sure=3)
    compare("99-row", attention_weights(np.array(Q) * 2, K)[0])
    assert "nothing is judged" in page.text
    assert CATALOGUE["uniform"].verdict not in page.text


def test_held_explanations_leave_prediction_and_run(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXPLANATIONS", "held")
    predict("99-row", [0.25, 0.25, 0.25, 0.25], because="even", sure=3)
    compare("99-row", WEIGHTS)
    assert f"{WEIGHTS[0]:.3f}" in page.text
    assert "secret" not in page.html
    assert CATALOGUE["uniform"].verdict not in page.html


def test_a_choice_over_two_runs_is_judged_by_the_runs(page: Page) -> None:
    predict("99-choice", "b", because="bigger", sure=3)
    compare("99-choice", ([0.668, 0.332], [0.668, 0.332]))
    assert "nothing is judged" in page.text  # not these numbers
    page.slots.clear()
    compare("99-choice", (CHOICE.run()[0], CHOICE.run()[1]))
    assert CATALOGUE["shift-changes"].verdict in page.text
    assert "Look at the difference." in page.text


@pytest.mark.parametrize("question", [ROW, CHOICE, *OTHERS], ids=lambda question: question.id)
def test_every_kind_commits_from_the_form_and_compares(
    question: Question, page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = open_form(monkeypatch, question.id)
    right = "in a word" if question.kind == "words" else answers.as_typed(question, question.truth)
    monkeypatch.setattr(form, "_read", lambda: right)
    form.because.value, form.sure.value = "a reason", 2
    form.button.click()
    assert form.message.value == ""
    assert len(lines(tmp_path)) == 1
    compare(question.id, question.run())
    assert "nothing is judged" not in page.text
    if question.kind != "words":
        assert "Yes, your prediction" in page.text


def test_the_form_reads_its_own_boxes(page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    form = open_form(monkeypatch, "99-cells")
    toggles = [child for child in form.answer.children if hasattr(child, "icon")]
    for at in (0, 3, 4, 6, 7, 8):
        toggles[at].value = True
    form.because.value, form.sure.value = "below the diagonal", 3
    form.button.click()
    assert lines(tmp_path)[0]["answer"] == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]
    assert toggles[0].description == "allowed"


def test_the_form_says_what_is_missing_and_commits_nothing(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = open_form(monkeypatch, "99-number")
    form.button.click()
    assert "how sure" in form.message.value
    form.sure.value = 1
    form.button.click()
    assert "reason" in form.message.value
    form.button.click()  # going without is allowed the second time; the box is still empty
    assert "alert" in form.message.value
    assert lines(tmp_path) == []
    form.answer.value = "a lot"
    form.button.click()
    assert lines(tmp_path) == []
    form.answer.value = "5,0"
    form.button.click()
    assert lines(tmp_path)[0]["answer"] == "5,0"


def test_a_failing_commit_is_said_on_the_card(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    form = open_form(monkeypatch, "99-number")
    monkeypatch.setattr(form, "_commit", lambda *_: 1 / 0)
    form.answer.value, form.because.value, form.sure.value = "5.0", "x", 2
    form.button.click()
    assert "ZeroDivisionError" in form.message.value


def test_a_second_click_or_run_leaves_one_line(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = open_form(monkeypatch, "99-number")
    form.answer.value, form.because.value, form.sure.value = "5.0", "x", 2
    form.button.click()
    form.button.click()
    predict("99-number")
    assert len(lines(tmp_path)) == 1


def test_without_ipywidgets_the_card_is_text_and_typing_works(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("helpers.predictions._has_widgets", lambda: False)
    predict("99-row")
    assert 'predict("99-row", […, …, …, …], because="…", sure=2)' in page.text
    predict("99-row", "0.25 0.25 0.25 0.25", because="even", sure=1)
    assert lines(tmp_path)[0]["answer"] == ["0.25"] * 4


def test_an_unwritable_place_is_told_and_the_session_goes_on(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("PREDICTIONS_FILE", str(tmp_path / "file" / "my_predictions.jsonl"))
    predict("99-row", [0.25, 0.25, 0.25, 0.25], because="even", sure=1)
    compare("99-row", WEIGHTS)
    assert "memory" in page.html
    assert CATALOGUE["uniform"].verdict in page.text


@pytest.mark.parametrize(
    ("answer", "told"),
    [([0.5, 0.5], "4"), ("abc", "number"), ([0.1, 0.2, 0.3, float("nan")], "number"), ([], "4"), ({}, "")],
)
def test_what_cannot_be_read_is_said_and_not_raised(
    page: Page, tmp_path: Path, answer: Any, told: str
) -> None:
    predict("99-row", answer, because="x", sure=1)
    assert told in page.text
    assert lines(tmp_path) == []


def test_a_missing_sureness_and_an_unknown_question_are_sentences(page: Page, tmp_path: Path) -> None:
    predict("99-row", [0.25, 0.25, 0.25, 0.25])
    assert "sure=1" in page.html
    predict("99-rwo")
    compare("99-rwo", 1)
    assert page.text.count("There is no question") == 2
    assert lines(tmp_path) == []


def test_a_reason_is_shown_as_text_not_as_markup(page: Page) -> None:
    predict("99-row", [0.25, 0.25, 0.25, 0.25], because="<script>alert(1)</script>", sure=1)
    compare("99-row", WEIGHTS)
    assert "<script>" not in page.html


def test_what_was_sure_and_wrong_comes_back_on_fresh_numbers_until_right(page: Page, tmp_path: Path) -> None:
    predict("99-row", answers.as_typed(ROW, ROW.wrong["scale-missing"]), because="x", sure=3)
    revisit()
    assert "Nothing is due" in page.text
    predict("98-later", "later", because="x", sure=1)
    (asked,) = overview.due(lines(tmp_path))
    assert asked.variant == "fresh-1"
    assert not questions.agree(asked.truth, ROW.truth)
    assert asked.truth.tolist() == ROW.renew("fresh-1").truth.tolist()  # reproducible from the record alone
    revisit()
    assert str(asked.inputs["Q"][0]) in page.text
    line = lines(tmp_path)[0] | {
        "variant": "fresh-1",
        "answer": answers.read(asked, answers.as_typed(asked, asked.truth)),
    }
    assert overview.due([*lines(tmp_path), line]) == []
    wrong = line | {"answer": ["0.9", "0.1", "0.0", "0.0"]}
    assert overview.due([*lines(tmp_path), wrong]) == [], "wrong again waits for a day"
    a_day_on = datetime.now(UTC) + timedelta(days=1, seconds=1)
    assert overview.due([*lines(tmp_path), wrong], now=a_day_on)[0].variant == "fresh-2"


def test_a_day_makes_it_due_as_well(page: Page, tmp_path: Path) -> None:
    predict("99-row", answers.as_typed(ROW, ROW.wrong["uniform"]), because="x", sure=3)
    later = datetime.now(UTC) + timedelta(days=1, seconds=1)
    assert [question.id for question in overview.due(lines(tmp_path), now=later)] == ["99-row"]


def test_progress_counts_first_answers_and_redraws_itself(page: Page) -> None:
    progress()
    place = next(iter(page.slots))
    assert "Nothing to compare yet" in page.slots[place]["text/plain"]
    question = questions.get("01-weights")
    predict("01-weights", answers.as_typed(question, question.truth), because="x", sure=3)
    predict("01-weights", answers.as_typed(question, question.wrong["scale-missing"]), because="x", sure=3)
    assert "When you were sure, 1 of 1 agreed" in page.slots[place]["text/plain"]


def test_diagnose_names_the_wrong_program() -> None:
    assert diagnose("01-weights", [1.0, 0.0]) == "lookup"
    assert diagnose("01-weights", [0.67, 0.33]) is None


def test_a_damaged_record_is_told_once_and_kept(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "my_predictions.jsonl"
    path.write_text("<<<<<<< HEAD\n", encoding="utf-8")
    predict("99-row")
    assert "line 1" in page.html
    assert path.read_text(encoding="utf-8").startswith("<<<<<<< HEAD")


def test_a_tensor_with_autograd_is_compared_and_another_failure_is_a_sentence(page: Page) -> None:
    torch = optional("torch")
    compare("99-row", torch.tensor(WEIGHTS, requires_grad=True))
    compare("99-row", torch.tensor(WEIGHTS).bfloat16())
    predict("99-row", torch.tensor(WEIGHTS).bfloat16(), because="x", sure=1)
    assert "BFloat16" in page.text
    predict("99-row", answers.as_typed(ROW, ROW.truth), because="x", sure=1)
    assert "Yes, your prediction" in page.text
    assert "cannot set beside" in page.text


def test_the_run_is_shown_as_it_was_when_its_cell_ran(page: Page) -> None:
    run = np.array(WEIGHTS)
    compare("99-row", run)
    run *= 2
    predict("99-row", answers.as_typed(ROW, ROW.truth), because="x", sure=1)
    assert "Yes, your prediction" in page.text


@pytest.mark.parametrize(
    ("question", "run"),
    [(ROW, [0.2] * 5), (OTHERS[2], np.full((3, 4), 0.25)), (OTHERS[3], np.ones((4, 4), dtype=bool))],
    ids=["row", "grid", "cells"],
)
def test_a_run_with_more_keys_is_shown_and_not_judged(page: Page, question: Question, run: Any) -> None:
    predict(question.id, answers.as_typed(question, question.truth), because="x", sure=1)
    compare(question.id, run)
    assert "nothing is judged; both are shown" in page.text


@pytest.mark.parametrize("sure", [True, 2.0, "2", [2], np.array([1, 2]), 0])
def test_another_sureness_is_a_sentence(page: Page, tmp_path: Path, sure: Any) -> None:
    predict("99-row", [0.25] * 4, because="x", sure=sure)
    assert "sure=1" in page.text
    assert lines(tmp_path) == []


def test_a_sureness_from_numpy_is_read(page: Page, tmp_path: Path) -> None:
    predict("99-row", [0.25] * 4, because="x", sure=np.int64(2))
    assert lines(tmp_path)[0]["sure"] == 2


def test_no_id_raises(page: Page) -> None:
    show("a text", after="99-rwo")
    predict(["99-row"])
    compare(None, 1)
    assert page.text.count("There is no question") == 3
    assert "a text" not in page.text


def test_held_explanations_stay_out_of_words_and_of_the_picture(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXPLANATIONS", "held")
    predict("99-words", "a thought", because="x", sure=1)
    compare("99-words")
    predict("99-row", answers.as_typed(ROW, ROW.wrong["uniform"]), because="x", sure=3)
    picture()
    for shown in (page.text, page.html):
        assert "Because." not in shown
        assert CATALOGUE["uniform"].belief not in shown


@pytest.mark.parametrize("saved", [b'\xef\xbb\xbfexplanations = "held"\r\n', b"explanations = held"])
def test_a_slip_in_the_class_settings_opens_nothing(page: Page, tmp_path: Path, saved: bytes) -> None:
    (tmp_path / "class_settings.toml").write_bytes(saved)
    assert kernel.session().explanations_held


def test_a_return_is_promised_only_where_the_first_answer_brings_it(page: Page, tmp_path: Path) -> None:
    wrong = answers.as_typed(ROW, ROW.wrong["uniform"])
    predict("99-row", wrong, because="x", sure=1)
    predict("99-row", wrong, because="x", sure=3)
    compare("99-row", WEIGHTS)
    assert overview.coming_back(lines(tmp_path)) == []
    assert "revisit()" not in page.text


@pytest.mark.parametrize("now", [ROW, CHOICE, *OTHERS[:5]], ids=lambda question: question.kind)
@pytest.mark.parametrize("then", [ROW, CHOICE, *OTHERS[:5]], ids=lambda question: question.kind)
@pytest.mark.parametrize("version", [1, 2])
def test_an_answer_to_an_earlier_form_of_a_question_breaks_nothing(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, then: Question, now: Question, version: int
) -> None:
    typed = ["a thought" if one.kind == "words" else answers.as_typed(one, one.truth) for one in (then, now)]
    predict(then.id, typed[0], because="x", sure=3)
    monkeypatch.setitem(questions.load(), then.id, replace(now, id=then.id, version=version))
    predict(then.id)
    compare(then.id, now.run())
    progress()
    if version == 2:
        assert "Yes, your prediction" not in page.text
        predict(then.id, typed[1], because="x", sure=3)
        assert len(lines(tmp_path)) == 2


def test_words_are_shown_as_typed(page: Page) -> None:
    predict("99-words", "Q*K*V ![seen](https://example.org/seen.png)", because="x", sure=1)
    compare("99-words")
    assert "Q*K*V" in page.html
    assert "<img" not in page.html


def test_a_key_answers_the_numbers_of_its_class(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUESTION_NUMBERS", "autumn")
    for name, said in right_answers("10_check_your_understanding").items():
        predict(name, **said)
        compare(name)
    assert page.text.count("Yes, your prediction") == 10
