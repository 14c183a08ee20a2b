"""What a learner's record comes to: own numbers, what is asked again and when, the picture, before and after."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pytest

from helpers import predict, questions, revisit
from helpers.classroom.key import learner_notebook
from helpers.exercises import SOLUTIONS
from helpers.misconceptions import CATALOGUE
from helpers.predictions import answers, before_and_after, numbers, overview, own, picture, twins
from helpers.predictions.record import Record, make_line
from helpers.questions import Question, agree
from tests.notebook_format import NOTEBOOKS
from tests.test_learners import execute, shown

TEN = "10_check_your_understanding"
MINE = [question for question in questions.load().values() if question.own_numbers]
START = datetime(2026, 11, 2, 9, 30, tzinfo=UTC)


def line(
    id: str, answer: Any, *, after: timedelta = timedelta(), variant: str = "base", sure: int = 3
) -> dict:
    """A line committed some time after the start: ``answer`` is a value, or the id of a belief to answer by."""
    question = questions.get(id)
    asked = question if variant == "base" else question.renew(variant)
    if isinstance(answer, str) and answer in asked.wrong:
        answer = asked.wrong[answer]
    committed = None if answer is None else answers.read(asked, answers.as_typed(asked, answer))
    return make_line(
        question=id,
        version=question.version,
        variant=variant,
        notebook=question.notebook,
        kind=question.kind,
        answer=committed,
        sure=None if answer is None else sure,
        time=(START + after).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )


def right(id: str, **more: Any) -> dict:
    question = questions.get(id)
    variant = more.get("variant", "base")
    return line(id, (question if variant == "base" else question.renew(variant)).truth, **more)


def committed(*lines: dict) -> list[dict]:
    """The lines, written to this test's record as well."""
    for one in lines:
        assert Record().append(one).on_disk
    return list(lines)


# Own numbers.


def test_an_empty_record_has_the_numbers_of_the_key():
    assert own.variant(TEN, []) == "base"
    assert own.of(questions.get("10-output"), []) is questions.get("10-output")


def test_the_first_line_of_the_record_decides_and_what_is_committed_there_stays():
    first = right("01-weights")
    assert own.variant(TEN, [first]) == first["time"]
    begun = right("10-output")
    later = right("01-mixture", after=timedelta(days=9))
    assert own.variant(TEN, [begun, later]) == "base", "who began there keeps the numbers"
    other = right("10-output", variant="autumn", after=timedelta(days=1))
    assert own.variant(TEN, [first, other]) == "autumn"
    again = right("10-output", variant="fresh-1")
    assert own.variant(TEN, [first, again]) == first["time"], "a question asked again decides nothing"


def test_a_class_can_be_given_one_set_of_numbers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(own.GIVEN, "autumn")
    assert own.variant(TEN, [right("01-weights")]) == "autumn"
    assert own.variant(TEN, [right("10-output", variant="winter")]) == "winter"
    monkeypatch.setenv(own.GIVEN, "base")
    assert own.of(questions.get("10-output"), [right("01-weights")]) is questions.get("10-output")


def test_other_notebooks_ask_everybody_the_same():
    assert own.of(questions.get("01-weights"), [right("00-dot")]) is questions.get("01-weights")


def test_numbers_are_those_of_the_card_and_the_same_when_asked_again(capsys: pytest.CaptureFixture):
    committed(right("01-weights"))
    q, K, V, allowed = numbers("10-output")
    assert (K.shape, V.shape, allowed.dtype) == ((3, 4), (3, 2), bool)
    np.testing.assert_array_equal(numbers("10-output")[1], K)
    assert not np.array_equal(K, questions.get("10-output").inputs["K"])
    predict("10-output")
    assert f"The query is `{q.tolist()}`" in capsys.readouterr().out


@pytest.mark.parametrize("question", MINE, ids=lambda question: question.id)
def test_fifty_learners_get_numbers_that_tell_the_same_slips_apart(question: Question):
    for second in range(50):
        asked = question.renew(f"2026-11-02T09:30:{second:02d}Z")
        assert asked.inputs != question.inputs or not question.fresh
        assert asked.wrong.keys() == question.wrong.keys()
        assert not any(agree(asked.truth, wrong, within=0.005) for wrong in asked.wrong.values())
        assert asked._alike <= question._alike
        for value in (asked.truth, *asked.wrong.values()):
            answers.read(asked, answers.as_typed(asked, value))


def test_the_draw_is_the_same_in_every_version():
    """A record must be read rightly years later, with another Python and another NumPy."""
    inputs = questions.get("10-output").renew("2026-11-02T09:30:00Z").inputs
    assert inputs["q"] == [1, 1, 0, 1]
    assert inputs["K"] == [[0, 0, 1, 1], [0, 0, 1, 0], [0, 0, 1, 1]]
    assert inputs["V"] == [[50, 20], [10, 0], [30, 30]]


def test_the_notebook_runs_on_a_learners_own_numbers(tmp_path: Path):
    """With an earlier line in the record, all cells and cards get the same other numbers, and agree."""
    record = tmp_path / "record.jsonl"
    before = [right("01-weights"), line("00-pre-mask", "mask-ignored"), line("00-pre-value", None)]
    record.write_text("".join(json.dumps(one) + "\n" for one in before), encoding="utf-8")
    mine = [own.of(question, before) for question in questions.of_notebook(TEN)]
    given = {
        question.id: {"answer": answers.as_typed(question, question.truth), "because": "so", "sure": 3}
        for question in mine
    }
    notebook = learner_notebook(nbformat.read(NOTEBOOKS / f"{TEN}.ipynb", as_version=4), given, SOLUTIONS)
    page = shown(execute(notebook, record))
    assert page.count("Yes, your prediction and the run agree.") >= len(mine)
    assert "nothing is judged" not in page
    assert "Before the course 0 of 4 agreed with the run, now 4." in page
    written = [json.loads(one) for one in record.read_text(encoding="utf-8").splitlines()]
    assert {one["variant"] for one in written if one["question"][:2] == "10"} == {before[0]["time"]}
    assert all(overview.judged(one) is not False for one in written[3:])


def test_progress_counts_what_was_predicted_on_own_numbers():
    text = overview.progress([right("10-cross", variant="autumn"), right("10-cross", variant="fresh-1")])
    assert "10 Check your understanding: 1 of 10 predicted, 1 of 1 judged agree" in text["text/plain"]


def test_a_bug_that_is_missed_is_named():
    for question in MINE:
        if question.program:
            asked = question.renew("x")
            missed = answers.read(asked, answers.as_typed(asked, asked.wrong["bug-missed"]))
            assert answers.diagnose(asked, missed).misconception == "bug-missed"


# What comes back.

WRONG = ("01-weights", "scale-missing")
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def test_it_is_said_when_to_come_back():
    now = START + HOUR
    told = overview.agenda([line(*WRONG)], now)
    local = (START + DAY).astimezone()
    assert f"Nothing is due. Come back on {local.day} {local:%B} from {local:%H:%M} for 01-weights." in told
    assert "another notebook" in told
    assert overview.agenda([line(*WRONG)], START + DAY).startswith("Due now: 01-weights.")
    assert overview.agenda([line(*WRONG), right("04-equal", after=HOUR)], now).startswith(
        "Due now: 01-weights"
    )
    assert "comes back here later" in overview.agenda([right("01-weights")], now)


def test_what_is_wrong_again_waits_a_day_whatever_else_is_done():
    lines = [line(*WRONG), right("04-equal", after=HOUR)]
    again = line(*WRONG, variant="fresh-1", after=2 * HOUR)
    elsewhere = right("04-padding", after=3 * HOUR)
    assert overview.due([*lines, again, elsewhere], START + 4 * HOUR) == []
    (asked,) = overview.due([*lines, again, elsewhere], START + 2 * HOUR + DAY)
    assert asked.variant == "fresh-2"
    done = right("01-weights", variant="fresh-2", after=2 * DAY)
    assert overview.coming_back([*lines, again, done]) == []


def test_own_numbers_come_back_on_others_and_programs_of_the_notebook_do_not():
    lines = [
        line("10-output", "scale-missing", variant="autumn"),
        line("10-bug-join", "bug-missed", variant="autumn"),
    ]
    (back,) = overview.coming_back(lines)
    assert back.question.id == "10-output" and back.question.variant == "fresh-1"


def test_the_longest_due_is_asked_first_and_few_at_a_time(capsys: pytest.CaptureFixture):
    wrong = []
    for id, question in questions.load().items():
        names = [name for name in question.wrong if question.kind != "choice"]
        if own.comes_back(question) and names and id[:2] != "10":
            wrong.append(line(id, names[0], after=-timedelta(days=30) + len(wrong) * HOUR))
    assert len(wrong) > 5
    committed(*wrong)
    revisit()
    text = capsys.readouterr().out
    assert [id for id in (one["question"] for one in wrong) if f"Predict {id}:" in text] == [
        one["question"] for one in wrong[: overview.MOST_AGAIN]
    ]
    assert "run the cell again for the others" in text


# The picture.


def test_the_picture_of_an_empty_record_says_so():
    bundle = overview.picture([])
    assert "Nothing is committed yet." in bundle["text/html"]
    assert "Nothing to compare yet" in bundle["text/plain"]


def test_the_picture_counts_by_day_sureness_and_half():
    lines = [
        line(*WRONG),
        right("01-mixture", sure=2),
        line("01-output", None),
        *(right(f"04-{name}", after=3 * DAY) for name in ("pattern", "first-row", "equal", "padding")),
        right("01-distinct", after=3 * DAY),
        right("01-weights", variant="fresh-1", after=4 * DAY),
        right("01-columns", sure=1, after=4 * DAY),
    ]
    text = overview.picture(lines)["text/plain"]
    day = START.astimezone()
    assert f"{day.day} {day:%b}: 3 predicted, 1 of 2 judged agree with the run" in text
    assert "5 predicted, 5 of 5 judged agree with the run" in text
    assert "sure: 5 of 6 agree, 2 of 3 in the first half, 3 of 3 in the second half" in text
    assert "a guess: 1 of 1 agree, — in the first half, 1 of 1 in the second half" in text
    assert "When you were sure, 5 of 6 agreed with the run" in text
    html = overview.picture(lines)["text/html"]
    assert html.count("<svg") == 2 and 'href="01_one_row_by_hand.ipynb"' in html


def test_a_misconception_is_cleared_by_a_later_right_answer_that_could_have_shown_it():
    belief = f"Met: {CATALOGUE['scale-missing'].belief} In 01-weights; "
    met = [line(*WRONG)]
    blind = right("04-pattern", after=HOUR)
    assert belief + "still open." in overview.picture([*met, blind])["text/plain"]
    seeing = right("01-distinct", after=HOUR)
    assert belief + "right since, in 01-distinct." in overview.picture([*met, seeing])["text/plain"]
    relapse = line("01-output", "scale-missing", after=2 * HOUR)
    told = overview.picture([*met, seeing, relapse])["text/plain"]
    assert "In 01-weights, 01-output; still open." in told


def test_the_notebook_with_most_to_give_is_named_first_until_its_questions_are_right():
    lines = [
        line("01-mixture", "uniform", sure=1),
        line("01-output", None),
        line("04-equal", "mask-ignored", sure=3),
        line("00-pre-mask", "mask-ignored"),
    ]
    rows = overview._to_look_at_again(overview.events(lines))
    assert [(row["title"][:2], row["ids"], row["sure"]) for row in rows] == [
        ("04", "04-equal", 1),
        ("01", "01-mixture, 01-output", 0),
    ]
    again = right("01-mixture", variant="fresh-1")
    rows = overview._to_look_at_again(overview.events([*lines, again]))
    assert [row["ids"] for row in rows] == ["04-equal", "01-output"]


def test_a_change_of_mind_after_the_result_changes_nothing():
    lines = [line(*WRONG), right("01-weights", after=HOUR)]
    assert [event.right for event in overview.events(lines)] == [False]


def test_a_line_of_another_version_or_of_no_question_is_not_judged():
    old = right("01-weights") | {"version": 0}
    gone = right("01-weights") | {"question": "01-gone"}
    assert [event.right for event in overview.events([old, gone])] == [None]
    assert overview.judged(gone) is None
    assert overview.picture([old, gone])["text/plain"]


def test_the_picture_redraws_itself(capsys: pytest.CaptureFixture):
    picture()
    predict("01-mixture", 5.0, because="x", sure=2)
    assert "fairly sure: 1 of 1 agree" in capsys.readouterr().out


# Before and after.


def test_before_and_after_waits_for_the_whole_twin(capsys: pytest.CaptureFixture):
    posts = [question.id for question in MINE if twins.AFTER in question.id]
    committed(line("00-pre-mask", "mask-ignored"), *(right(id, variant="base") for id in posts[:-1]))
    before_and_after()
    told = capsys.readouterr().out
    assert f"Left: {posts[-1]}." in told
    before = questions.get("00-pre-mask")
    assert before.say(before.explanation) not in told


def test_before_and_after_shows_both_rounds_and_the_first_ones_answers():
    posts = [question.id for question in MINE if twins.AFTER in question.id]
    lines = [line("00-pre-mask", "mask-ignored"), right("00-pre-value", sure=1), *map(right, posts)]
    bundle = twins.beside(own_variant_of(lines))
    assert "Before the course 1 of 4 agreed with the run, now 4." in bundle["text/plain"]
    for before, _ in twins.pairs(lines):
        assert before.question.say(before.question.explanation) in bundle["text/plain"]
    assert "not asked" in bundle["text/plain"] and "(a guess)" in bundle["text/plain"]
    held = twins.beside(own_variant_of(lines), held=True)
    assert "agreed" not in held["text/plain"]
    assert "no answer from before" in twins.beside(own_variant_of(lines[2:]))["text/plain"]


def own_variant_of(lines: list[dict]) -> list[dict]:
    """As a notebook 10 begun before everything else: its lines, on the numbers of the key, come first."""
    return sorted(lines, key=lambda one: one["notebook"] != TEN)


def test_each_question_of_the_pretest_has_a_twin_with_other_numbers():
    found = twins.pairs([])
    assert [before.question.id for before, _ in found] == [
        id for id in questions.load() if twins.BEFORE in id
    ]
    for before, after in found:
        assert before.question.text != after.question.text
        assert (before.question.kind, before.question.task) == (after.question.kind, after.question.task)
