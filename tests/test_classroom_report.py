"""The report: what it counts, against a count by hand; what it says, and to whom; and how it looks in a browser."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from helpers import questions
from helpers.classroom import clusters, page, tally
from helpers.classroom.__main__ import cli
from helpers.classroom.collect import Class, collect
from helpers.classroom.handed_in import Problem
from helpers.classroom.judging import MISFIT, NO_ANSWER, OTHER_WORDING, Asked, judge
from helpers.classroom.report import write_report
from helpers.classroom.roster import Person
from helpers.classroom.submissions import NOT_KEPT, Answer, Check, Student
from helpers.classroom.tally import FEW
from helpers.misconceptions import CATALOGUE, programs_for
from helpers.predictions import answers, overview
from tests.class_of import learners, make
from tests.support import chromium, optional


def said(
    question: str, answer, *, sure=2, because="", variant="base", version=1, attempt=1, minute=0
) -> Answer:
    text = json.dumps(answer)
    sure = None if answer is None else sure
    return Answer(question, version, variant, text, sure, because, attempt, f"2026-11-02T10:{minute:02d}:00Z")


def a_class(*students: list[Answer]) -> Class:
    return Class([Student(f"Person {at}", mine) for at, mine in enumerate(students)])


def report(collected: Class, **wishes) -> dict:
    wishes = page.Wishes(**wishes)
    return page.report(page.count(collected, tally.events(collected, wishes.notebooks)), wishes)


def sheet(folder: Path, name: str) -> list[dict[str, str]]:
    with open(folder / name, encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


# Judging.


@pytest.mark.parametrize("question", questions.load().values(), ids=lambda question: question.id)
def test_an_answer_is_judged_as_the_learners_card_does(question):
    """Against the learner's own overview, for the truth and every wrong program."""
    for value in (question.truth, *question.wrong.values()):
        typed = answers.read(question, answers.as_typed(question, value))
        verdict = judge(Asked(question.id, question.version, "base", json.dumps(typed)))
        line = {
            "question": question.id,
            "version": question.version,
            "variant": "base",
            "answer": typed,
            "sure": 2,
        }
        assert verdict.right == answers.diagnose(question, typed).right
        assert verdict.misconception == answers.diagnose(question, typed).misconception
        if overview.UNJUDGED not in question.id:
            assert verdict.right == overview.judged(line)


def test_what_cannot_be_judged_says_why():
    assert judge(Asked("01-weights", 1, "base", "null")).fault == NO_ANSWER
    assert judge(Asked("01-weights", 7, "base", '["1", "0"]')).fault == OTHER_WORDING
    for question, odd in (
        ("01-weights", '"0.5"'),
        ("01-weights", '["0.5", "0.5", "0"]'),
        ("01-weights", '["x", "y"]'),
        ("01-order", '"nonsense"'),
        ("01-order", '["one key"]'),
        ("01-mixture", '["a"]'),
        ("00-shapes", '"2, 4"'),
        ("04-pattern", "[[7]]"),
        ("06-weights", '[["1"]]'),
    ):
        assert judge(Asked(question, 1, "base", odd)).fault == MISFIT, (question, odd)


def test_numbers_of_their_own_are_judged_on_those_numbers():
    question = questions.get("10-output").renew("2026-11-02T10:00:00Z")
    typed = answers.read(question, answers.as_typed(question, question.truth))
    assert judge(Asked("10-output", 1, "2026-11-02T10:00:00Z", json.dumps(typed))).right
    assert judge(Asked("10-output", 1, "base", json.dumps(typed))).right is False


# Counting.


def test_counts_agree_with_counts_by_hand():
    """A class of thirty, against plain loops over its lines with the learner's own diagnosis."""
    made = list(learners(30))
    collected = Class([Student(one.name, [_answer(line) for line in one.lines]) for one in made])
    found = tally.events(collected)
    right: Counter = Counter()
    met: dict[str, set[int]] = {}
    for at, learner in enumerate(made):
        for event in overview.events(learner.lines):
            if event.right is not None:
                right[event.line["sure"], event.right] += 1
            if event.misconception:
                met.setdefault(event.misconception, set()).add(at)
    mine = tally.calibration(found)
    assert mine == {s: (right[s, True] + right[s, False], right[s, True]) for s in (1, 2, 3)}
    without_pretest = tally.beliefs([event for event in found if "-pre-" not in event.answer.question])
    assert {belief.entry.id: belief.met for belief in without_pretest} == {
        name: len(who) for name, who in met.items()
    }
    for one in tally.by_question(found):
        assert one.people == sum(
            any(line["question"] == one.question.id for line in who.lines) for who in made
        )


def _answer(line: dict) -> Answer:
    return Answer(
        line["question"],
        line["version"],
        line["variant"],
        json.dumps(line["answer"], ensure_ascii=False),
        line["sure"],
        line["because"],
        line["attempt"],
        line["time"],
    )


def test_the_first_answer_counts():
    collected = a_class([said("01-order", "one key"), said("01-order", "uneven", attempt=2, minute=5)])
    (event,) = tally.events(collected)
    assert event.verdict.misconception == "lookup"


def test_beliefs_are_ranked_by_people_times_sureness():
    """Five people who are sure weigh more than six who guess; a held belief, not one that was mended since."""
    sure = [[said("01-shift", "sharper", sure=3)] for _ in range(5)]
    guess = [[said("01-order", "one key", sure=1)] for _ in range(6)]
    mended = [
        [said("01-value-weights", "grows", sure=3), said("10-post-value", _right("10-post-value"), minute=9)]
        for _ in range(9)
    ]
    found = tally.beliefs(tally.events(a_class(*sure, *guess, *mended)))
    assert [(one.entry.id, one.held.people, one.met) for one in found] == [
        ("shift-changes", 5, 5),
        ("lookup", 6, 6),
        ("values-move-weights", 0, 9),
    ]
    assert [one.weight for one in found] == [5, 2, 0]
    assert {one.entry.id: one.could for one in found}["lookup"] == 6
    assert [one["id"] for one in report(a_class(*sure, *guess, *mended))["first"]] == [
        "shift-changes",
        "lookup",
    ]


def _right(name: str):
    question = questions.get(name)
    return answers.read(question, answers.as_typed(question, question.truth))


def test_a_belief_shown_again_after_a_right_answer_is_held():
    mine = [
        said("01-value-weights", "grows", minute=1),
        said("10-post-value", _right("10-post-value"), minute=2),
        said("00-pre-value", "grows", minute=3),
    ]
    (belief,) = tally.beliefs(tally.events(a_class(mine)))
    assert belief.held.people == 1


def test_a_first_belief_can_be_lectured_from():
    """The belief, the wrong program's lines, the numbers, what the run gives, and the class's own words."""
    people = [[said("01-weights", ["0.73", "0.27"], sure=3, because=f"reason {at}")] for at in range(6)]
    (first,) = report(a_class(*people))["first"]
    assert first["belief"] == CATALOGUE["scale-missing"].belief
    assert first["lines"] == "return Q @ K.T  # not divided by √d_k"
    assert (first["gives"], first["right"]) == ("[0.731, 0.269]", "[0.670, 0.330]")
    assert (first["held"], first["could"], first["share"], first["sure"]) == (6, 6, "100%", [0, 0, 6])
    assert first["reasons"] == ["reason 0", "reason 1", "reason 2"]
    assert report(a_class(*people), reasons=False)["first"][0]["reasons"] == []


def test_groups_under_five_are_not_broken_down(tmp_path):
    assert FEW == 5
    few = [[said("01-weights", ["0.73", "0.27"], sure=3, because="secret words")] for _ in range(4)]
    shown = report(a_class(*few))
    assert shown["notebooks"][0]["questions"][0]["groups"][0]["rows"] is None
    assert (shown["first"], shown["beliefs"], shown["beliefs_of_few"]) == ([], [], 1)
    text = write_report(a_class(*few), tmp_path, page.Wishes()).read_text(encoding="utf-8")
    assert "secret words" not in text and CATALOGUE["scale-missing"].belief not in text
    assert "fewer than 5 are not broken down" in text and "100%" not in text.partition("</style>")[2]
    assert sheet(tmp_path, "misconceptions.csv") == []
    assert [row["as the run"] for row in sheet(tmp_path, "calibration.csv")] == ["", "", ""]
    assert [row["kind"] for row in sheet(tmp_path, "questions.csv")] == ["fewer than 5, not broken down"]
    few_hold = report(a_class(*few, *([said("01-weights", ["0.67", "0.33"])] for _ in range(3))))
    (row,) = few_hold["first"]
    assert (row["held"], row["could"], row["sure"], row["weight"], row["reasons"]) == (4, 7, None, "", [])
    five = report(a_class(*few, *few[:1]))
    assert five["notebooks"][0]["questions"][0]["groups"][0]["rows"][0]["people"] == 5


def test_wordings_and_numbers_are_told_apart():
    now = [[said("01-weights", ["0.67", "0.33"])] for _ in range(5)]
    old = [[said("01-weights", ["0.67", "0.33"], version=9)] for _ in range(6)]
    autumn = [[said("01-weights", ["1.0", "0.0"], variant="autumn")] for _ in range(7)]
    own = [[said("01-weights", ["1.0", "0.0"], variant=f"v{at}")] for at in range(8)]
    again = [[said("01-weights", ["1.0", "0.0"], variant="fresh-1")] for _ in range(9)]
    (one,) = tally.by_question(tally.events(a_class(*now, *old, *autumn, *own, *again)))
    sizes = {(group.version, group.variant): len(group.events) for group in one.groups}
    assert sizes == {(9, "base"): 6, (1, None): 8, (1, "autumn"): 7, (1, "base"): 5}
    assert one.again == 9
    titles = [page.group_title(group) for group in one.groups]
    assert titles[0] == "the course’s numbers, wording 9 (now 1): not judged"
    assert "numbers “autumn”" in titles


def test_every_answer_is_in_exactly_one_row():
    made = list(learners(40))
    collected = Class([Student(one.name, [_answer(line) for line in one.lines]) for one in made])
    for one in tally.by_question(tally.events(collected)):
        for group in one.groups:
            rows = page.spread(group, clusters.clusters(group))
            assert sum(row["people"] for row in rows) == len(group.events), one.question.id
            assert all(sum(row["sure"]) <= row["people"] for row in rows if row["sure"])


# Answers that fit nothing known.


def test_alike_answers_are_one_cluster_and_others_are_not():
    """Within 2% of the run's largest number, 0.67; how it was written does not matter."""
    typed = [["0.90", "0.10"], ["0.9", "0.1"], ["0.91", "0.09"], ["0.905", "0.095"], ["0.80", "0.20"]]
    people = [[said("01-weights", one)] for one in (*typed, typed[0])]
    (one,) = tally.by_question(tally.events(a_class(*people)))
    found = clusters.clusters(one.groups[0])
    assert [(cluster.said, cluster.count.people) for cluster in found] == [
        ("0.90, 0.10", 5),
        ("0.80, 0.20", 1),
    ]
    assert "too sharp" in found[0].step


def test_a_cluster_that_the_catalogue_knows_elsewhere_is_named():
    """01-weights does not look for the lost order; the answer is that program's all the same."""
    question = questions.get("01-weights")
    name = "order-reversed"
    assert name not in question.wrong and name in programs_for(question.task)
    typed = answers.read(question, np.round(question.asked(programs_for(question.task)[name]), 3).tolist())
    (one,) = tally.by_question(tally.events(a_class(*([said("01-weights", typed)] for _ in range(5)))))
    (cluster,) = clusters.clusters(one.groups[0])
    assert name in clusters.explained(one.groups[0], cluster)
    shown = report(a_class(*([said("01-weights", typed, because="why")] for _ in range(5))))["unknown"]
    assert CATALOGUE[name].verdict in shown[0]["also"]


def test_on_numbers_of_their_own_people_are_alike_who_part_alike():
    people = []
    for at in range(6):
        variant = f"2026-11-02T10:00:0{at}Z"
        question = questions.get("10-output").renew(variant)
        far = answers.read(question, np.round(np.asarray(question.truth) * 0 + 900 + at, 2).tolist())
        people.append([said("10-output", far, variant=variant)])
    (one,) = tally.by_question(tally.events(a_class(*people)))
    assert [group.variant for group in one.groups] == [None]
    assert max(cluster.count.people for cluster in clusters.clusters(one.groups[0])) >= 2


# Who, and marks.


def test_names_stand_only_where_they_are_wanted(tmp_path):
    collected = collect([make(tmp_path / "class", 6)], workers=1)
    listed = (Person("Learner 0001"), Person("Nobody Here"))
    without = write_report(collected, tmp_path / "a", page.Wishes(roster=listed))
    assert "Learner" not in without.read_text(encoding="utf-8")
    assert "Nobody" not in without.read_text(encoding="utf-8")
    assert "Learner" not in (tmp_path / "a" / "marks.csv").read_text(encoding="utf-8-sig")
    named = write_report(
        collected,
        tmp_path / "b",
        page.Wishes(names=True, roster=(Person("0001, LEARNER"), Person("Nobody Here"))),
    )
    assert "Of 2 on the class list, 1 has handed in nothing: Nobody Here." in named.read_text(
        encoding="utf-8"
    )
    assert sheet(tmp_path / "b", "marks.csv")[1]["name"] == "Learner 0002"


def test_marks_count_what_was_committed_unless_asked(tmp_path):
    """One is right about all of 01, one wrong about all, one knows nothing yet: all have done the same."""
    mine = list(questions.of_notebook("01_one_row_by_hand"))
    right = [said(one.id, _right(one.id)) for one in mine]
    unsure = [said(one.id, None) for one in mine]
    half = right[:5]
    wrong = [said("01-order", "one key"), said("01-shift", "sharper")]
    collected = a_class(right, unsure, half, wrong, [])
    wishes = page.Wishes(notebooks=("01_one_row_by_hand",))
    write_report(collected, tmp_path / "a", wishes)
    rows = sheet(tmp_path / "a", "marks.csv")
    assert [row["committed %"] for row in rows] == ["100.0", "100.0", "50.0", "20.0", "0.0"]
    assert not any("right" in name for name in rows[0])
    path = write_report(collected, tmp_path / "b", wishes, mark="right")
    assert [row["right %"] for row in sheet(tmp_path / "b", "marks.csv")] == ["100.0", "", "100.0", "0.0", ""]
    assert "but you asked for it" in path.read_text(encoding="utf-8")


def handing_in(*notebooks: str, lines: int | None = None) -> Student:
    """Somebody who handed in notebooks by number, all or some of their predictions committed."""
    stems = [stem for stem in questions.titles() if stem[:2] in notebooks]
    mine = [said(one.id, None) for stem in stems for one in list(questions.of_notebook(stem))[:lines]]
    return Student(f"Person {'/'.join(notebooks)}", mine, notebooks=dict.fromkeys(stems, 1))


def test_the_per_cent_are_of_what_was_assigned(tmp_path):
    """Twenty hand in 01 and 04, one of them the wrong week as well, and one the wrong week alone."""
    both = [handing_in("01", "04") for _ in range(20)]
    both[3] = handing_in("01", "04", "09")
    collected = Class([*both, handing_in("07")])
    assigned = tally.assigned(collected)
    assert [name[:2] for name in assigned.notebooks] == ["01", "04"]
    assert {at: [name[:2] for name in names] for at, names in assigned.strays.items()} == {
        3: ["09"],
        20: ["07"],
    }
    text = write_report(collected, tmp_path, page.Wishes()).read_text(encoding="utf-8")
    rows = sheet(tmp_path, "marks.csv")
    assert list(rows[0]) == ["submission", "01 %", "04 %", "committed %"]
    assert [row["committed %"] for row in rows] == ["100.0"] * 20 + ["0.0"]
    assert (
        "Taken as assigned, because at least 3 students" in text and "--notebook 01,04,07 takes it in" in text
    )
    started = text.partition('id="started"')[2].partition("</section>")[0]
    assert "07 " not in started and "09 " not in started
    assert "Submission 21: handed in 07, and none of 01, 04" in text
    rows = sheet(
        write_report(collected, tmp_path, page.Wishes(notebooks=assigned.notebooks[:1])).parent, "marks.csv"
    )
    assert list(rows[0]) == ["submission", "01 %", "committed %"]


@pytest.mark.parametrize(
    ("hands_in", "needed", "expected"),
    [
        ([("01",)] * 3 + [("07",)], 1, ["01", "07"]),
        ([("01",)] * 5 + [("07",)], 2, ["01"]),
        ([("01",)] * 20 + [("07",)] * 2, 3, ["01"]),
        ([("01",)] * 18 + [("07",)] * 2, 2, ["01", "07"]),
        ([("00", "01")] * 6, 2, ["00", "01"]),
        ([(f"0{at}",) for at in range(6)], 2, [f"0{at}" for at in range(6)]),
    ],
)
def test_a_tenth_and_two_people_make_a_notebook_assigned(hands_in, needed, expected):
    assigned = tally.assigned(Class([handing_in(*one) for one in hands_in]))
    assert (assigned.needed, [name[:2] for name in assigned.notebooks]) == (needed, expected)


def test_a_record_alone_hands_in_what_it_answers():
    lines = [said("01-order", "one key"), said("04-first-row", ["1", "0", "0", "0"])]
    with_notebook = Student("a", lines, notebooks={"01_one_row_by_hand": 1})
    assert [name[:2] for name in tally.assigned(Class([Student("a", lines)])).notebooks] == ["01", "04"]
    assert [name[:2] for name in tally.assigned(Class([with_notebook])).notebooks] == ["01"]


def test_whom_to_ask_again_and_why(tmp_path):
    whole = [handing_in("01", "04") for _ in range(6)]
    unread = Student(
        "Dora", problems=[Problem("week/Dora_7_assignsubmission_file_/Dora.docx", "not a notebook", "Dora")]
    )
    never = Student("Tom", notebooks={"01_one_row_by_hand": 1})
    half = Student("Uli", handing_in("04").answers, notebooks=dict.fromkeys(whole[0].notebooks, 1))
    colab = Student(
        "Carl", notebooks={"01_one_row_by_hand": 1}, problems=[Problem("x.ipynb", NOT_KEPT, "Carl")]
    )
    collected = Class([*whole, unread, never, half, colab])
    text = write_report(collected, tmp_path, page.Wishes()).read_text(encoding="utf-8")
    assert (
        "<strong>1 of 10 handed in nothing that could be read, 2 handed in notebooks with nothing committed"
        in text
    )
    assert text.index("1 of 10 handed in nothing") < text.index('id="first"')
    again = re.findall(r"<li>(.*)</li>", text.partition('id="again"')[2].partition("</section>")[0])
    assert again == [
        "Submission 7: a file of kind .docx: not a notebook",
        "Submission 8: 01 handed in, nothing committed: was it run and saved?",
        "Submission 9: 01 handed in, nothing committed: was it run and saved?",
        "Submission 10: 01 handed in, nothing committed: the answers were not saved in it; please hand in "
        "my_predictions.jsonl as well",
    ]
    named = write_report(collected, tmp_path, page.Wishes(names=True)).read_text(encoding="utf-8")
    assert "<li>Dora: Dora.docx: not a notebook</li>" in named
    assert 'id="again"' not in write_report(Class(whole), tmp_path, page.Wishes()).read_text(encoding="utf-8")


def test_every_belief_of_the_three_has_a_line_that_starts_a_vote(written):
    text = written.read_text(encoding="utf-8")
    starts = re.findall(r"<code>python -m helpers.classroom live ([\w-]+)</code>", text)
    assert len(starts) == 3 and all(name in questions.load() for name in starts)


def test_the_first_beliefs_say_by_what_they_are_ordered(written):
    text = written.read_text(encoding="utf-8")
    assert "in the order of people by sureness, not of per cent" in text.partition("</h2>")[0]


def test_what_a_belief_was_shown_in_makes_sense_by_itself():
    """The question before comes along where the prompt goes on with it."""
    people = [[said("04-first-row-hot", ["0.325", "0.225", "0.225", "0.225"], sure=3)] for _ in range(5)]
    (first,) = report(a_class(*people))["first"]
    assert first["question"] == "04-first-row-hot" and first["prompt"].startswith("<p>The same row")
    assert first["context"]["earlier"]["id"] == "04-first-row"
    assert "under the causal pattern" in first["context"]["earlier"]["prompt"]


def test_the_menu_and_the_headings_say_the_same(written):
    text = written.read_text(encoding="utf-8")
    for name in ("unknown", "exercises", "questions", "started", "sure"):
        (linked,) = re.findall(rf'<a href="#{name}">([^<]+)</a>', text)
        assert f'<h2 id="{name}">{linked}</h2>' in text


def test_the_largest_clusters_come_first_and_the_rest_is_folded(tmp_path):
    many = [
        [said("01-weights", [f"{0.01 * at:.2f}", "0.99"], because=f"group {at}")]
        for at in range(5, 15, 1)
        for _ in range(5)
    ]
    text = write_report(a_class(*many), tmp_path, page.Wishes()).read_text(encoding="utf-8")
    section = text.partition('id="unknown"')[2].partition("</section>")[0]
    shown, _, folded = section.partition("<details>")
    assert shown.count("<article>") == page.NEW < shown.count("<article>") + folded.count("<article>")


def test_answers_on_numbers_of_their_own_say_how_far_they_spread():
    question = questions.get("10-output")
    people = []
    for at in range(6):
        variant = f"2026-11-02T10:00:0{at}Z"
        far = answers.read(question.renew(variant), [900 + at] * len(question.truth))
        people.append([said("10-output", far, variant=variant)])
    (one,) = tally.by_question(tally.events(a_class(*people)))
    found = [cluster.said for cluster in clusters.clusters(one.groups[0])]
    assert all("on numbers of their own" in text for text in found)
    assert any(
        re.search(r"^\d answers .*none alike: from 90\d to 90\d, median 90\d", text) for text in found
    ), found


@pytest.mark.parametrize(
    ("typed", "expected"), [("01,04", ["01", "04"]), ("4", ["04"]), ("1, 4", ["01", "04"])]
)
def test_notebooks_are_called_by_number_in_any_of_the_usual_ways(typed, expected, tmp_path):
    folder = str(make(tmp_path / "class", 3))
    ran = CliRunner().invoke(cli, ["report", folder, "--notebook", typed, "--to", str(tmp_path / "out")])
    assert ran.exit_code == 0, ran.output
    marks = sheet(tmp_path / "out", "marks.csv")[0]
    assert [name[:2] for name in marks if name.endswith(" %") and name[0] == "0"] == expected
    assert "Taken as assigned" not in ran.output
    ran = CliRunner().invoke(cli, ["report", folder, "--notebook", "01", "04", "--to", str(tmp_path / "out")])
    assert ran.exit_code == 2 and "write --notebook 01,04" in " ".join(ran.output.split())


def test_who_has_not_started():
    of_one = [said(one.id, None) for one in questions.of_notebook("01_one_row_by_hand")]
    collected = a_class(of_one, of_one[:2], [], [])
    collected.students[2].notebooks["01_one_row_by_hand"] = 1
    (row,) = tally.progress(collected)
    assert (row.all, row.some, row.none, row.missing) == ([0], [1], [2], [3])
    (shown,) = report(collected, names=True)["progress"]
    assert shown["names"] == ["Person 2", "Person 3"]


def test_exercises_are_counted_with_what_the_wrong_ones_do():
    collected = a_class(*([] for _ in range(7)))
    states = [Check("right")] * 3 + [Check("not yet", "no-maximum")] * 2 + [Check("not started")]
    for student, check in zip(collected.students, states, strict=False):
        student.checks["01-softmax"] = check
    (row,) = report(collected)["exercises"]
    assert (row["people"], row["right"], row["not_yet"], row["not_started"]) == (6, 3, 2, 1)
    assert (row["beliefs"], row["under"]) == ([], [CATALOGUE["no-maximum"].verdict]), "named, not numbered"
    for student in collected.students[3:]:
        student.checks["01-softmax"] = Check("not yet", "no-maximum")
    collected.students += [Student(f"more {at}", checks=collected.students[3].checks) for at in range(3)]
    (row,) = report(collected)["exercises"]
    assert (row["beliefs"], row["under"]) == ([(CATALOGUE["no-maximum"].verdict, 7)], [])


def test_nobody_at_all_is_a_report_too(tmp_path):
    text = write_report(Class([]), tmp_path, page.Wishes()).read_text(encoding="utf-8")
    assert "0 students" in text and "None was met." in text


# The page.


@pytest.fixture(scope="module")
def written(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    make(folder / "class", 12)
    (folder / "class" / "Torn_99_assignsubmission_file_").mkdir()
    (folder / "class" / "Torn_99_assignsubmission_file_" / "01.ipynb").write_text("{", encoding="utf-8")
    ran = CliRunner().invoke(
        cli, ["report", str(folder / "class"), "--to", str(folder / "out"), "--keep-until", "May"]
    )
    assert ran.exit_code == 0, ran.output
    assert "Torn_99_assignsubmission_file_/01.ipynb: not readable" in ran.output
    return folder / "out" / "report.html"


def test_the_page_is_whole_in_itself_and_begins_with_three_beliefs(written):
    text = written.read_text(encoding="utf-8")
    assert not re.search(r"(src|href)=\"(?!#)", text), "nothing is fetched"
    assert not re.search(r"url\(|@import|<script|<link|<iframe", text)
    assert "default-src 'none'" in text
    first = text.index("Worth ten minutes")
    assert first < min(
        text.index(f'id="{name}"') for name in ("started", "sure", "beliefs", "unknown", "exercises")
    )
    assert text.count('<article class="card">') == 3
    assert "until May: delete it then" in text and "nothing left this computer" in text


def test_the_tables_agree_with_the_page(written):
    text = written.read_text(encoding="utf-8")
    rows = sheet(written.parent, "misconceptions.csv")
    for row, card in zip(rows, text.split('<article class="card">')[1:], strict=False):
        assert f"<strong>{row['hold it']} of {row['could show it']}</strong>" in card
    weights = [float(row["weight"]) for row in rows if row["weight"]]
    assert len(weights) > 1
    assert weights == sorted(weights, reverse=True)


def test_only_the_notebooks_asked_for(tmp_path):
    make(tmp_path / "class", 3)
    ran = CliRunner().invoke(
        cli, ["report", str(tmp_path / "class"), "--notebook", "01", "--to", str(tmp_path / "out")]
    )
    assert ran.exit_code == 0, ran.output
    assert {row["question"][:2] for row in sheet(tmp_path / "out", "questions.csv")} == {"01"}
    ran = CliRunner().invoke(cli, ["report", str(tmp_path / "class"), "--notebook", "44"])
    assert ran.exit_code == 1 and "no notebook '44'" in ran.output


def test_a_folder_with_other_things_is_left_alone(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("x", encoding="utf-8")
    make(tmp_path / "class", 1)
    ran = CliRunner().invoke(cli, ["report", str(tmp_path / "class"), "--to", str(tmp_path / "out")])
    assert ran.exit_code == 1 and "holds other things" in ran.output


@pytest.fixture(scope="module")
def browser() -> Iterator:
    playwright = optional("playwright.sync_api")
    with playwright.sync_playwright() as started:
        found = started.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        yield found
        found.close()


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 700), ("dark", 700), ("light", 320)]
)
def test_the_page_in_a_browser(browser, written, scheme, width):
    axe = optional("axe_playwright_python.sync_playwright").Axe()
    shown = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    asked = []
    shown.on("request", lambda request: asked.append(request.url))
    shown.goto(written.as_uri())
    shown.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    found = axe.run(shown).response["violations"]
    assert [(rule["id"], rule["nodes"][0]["html"][:100]) for rule in found] == []
    assert asked == [written.as_uri()]
    assert shown.evaluate("document.documentElement.scrollWidth") <= width, "no scrolling sideways"
    shown.keyboard.press("Tab")
    assert shown.evaluate("document.activeElement.textContent") == "Next lecture"
    shown.close()


def test_a_table_that_is_cut_off_says_so(browser, written):
    """At 700 pixels a line above the table and a shadow at its edge; at 1280 all of it is there, and no line."""
    hint = """one => getComputedStyle(one, "::before").content"""
    for width, cut in ((700, True), (1280, False)):
        shown = browser.new_page(viewport={"width": width, "height": 800})
        shown.goto(written.as_uri())
        table = shown.locator(".believed").first
        assert (table.evaluate("one => one.scrollWidth > one.clientWidth + 1"), width) == (cut, width)
        assert ("Scroll sideways" in table.evaluate(hint)) == cut
        assert "gradient" in table.evaluate("one => getComputedStyle(one).backgroundImage")
        shown.close()
