"""Collecting: every export's way to name files, attempts, records beside notebooks, and whose each is."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner

from helpers import questions
from helpers.classroom.__main__ import cli
from helpers.classroom.arguments import numbered
from helpers.classroom.collect import ANSWERS, NAMES, Class, collect, grouped, load, save, summary
from helpers.classroom.handed_in import find, owner_of, without_person
from helpers.classroom.submissions import Check, read_notebook, read_record
from helpers.classroom.workers import spread
from helpers.classroom.writing import whole
from helpers.misconceptions import programs_for
from tests import class_of
from tests.class_of import LAYOUTS, NOTEBOOKS, learners, make, notebook

ROW = NOTEBOOKS[1]


@pytest.fixture(scope="module")
def learner():
    return next(one for one in learners(5) if one.done == len(NOTEBOOKS))


def put(folder: Path, name: str, content: dict | str) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8", newline="\n")


@pytest.mark.parametrize("zipped", [False, True], ids=["folder", "zip"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_class(layout, zipped, tmp_path):
    collected = collect([make(tmp_path / "class", 4, layout, seed=3, zipped=zipped)], workers=1)
    expected = [learner for learner in learners(4, seed=3) if learner.done]
    assert collected.all_problems == []
    assert len(collected.students) == len(expected)
    for student, learner in zip(collected.students, expected, strict=True):
        assert student.owner.casefold().replace(" ", "") == learner.name.casefold().replace(" ", "")
        assert {answer.question for answer in student.answers} == {line["question"] for line in learner.lines}
        assert sum(student.notebooks.values()) == learner.done


@pytest.mark.parametrize(
    ("parts", "owner"),
    [
        (("Ann Lee_4711_assignsubmission_file_", "deep", "01.ipynb"), ("Ann Lee", "4711")),
        (("Ann_Lee_4711_assignsubmission_file_01.ipynb",), ("Ann_Lee", "4711")),
        (("Participant_12_assignsubmission_file_", "01.ipynb"), ("Participant", "12")),
        (("leeann_321_98765_01_one_row_by_hand-1.ipynb",), ("leeann", "321")),
        (("lee, ann_LATE_321_98765_x.ipynb",), ("lee, ann", "321")),
        (("anon_aB3x_98765_x.ipynb",), ("anon_aB3x", "")),
        (("LATE_anon_aB3x_98765_x.ipynb",), ("anon_aB3x", "")),
        (("submitted", "ann", "week1", "x.ipynb"), ("ann", "")),
        (("ann", "x.ipynb"), ("ann", "")),
        (("ann.ipynb",), ("ann", "")),
        (("ann-01_one_row_by_hand-2.ipynb",), ("ann", "")),
        (("ann.zip",), ("ann", "")),
        (("01_one_row_by_hand.ipynb",), ("week1", "")),
        (("01_one_row_by_hand (3).ipynb",), ("week1", "")),
        (("my_predictions.jsonl",), ("week1", "")),
    ],
)
def test_whose_a_file_is(parts, owner):
    assert owner_of(parts, "week1") == owner


def test_one_learners_own_folder_is_one_student(learner, tmp_path):
    for path in NOTEBOOKS:
        put(tmp_path / "mine", path.name, notebook(path, learner.lines))
    put(tmp_path / "mine", "my_predictions.jsonl", "".join(json.dumps(line) + "\n" for line in learner.lines))
    (student,) = collect([tmp_path / "mine"], workers=1).students
    assert student.owner == "mine"
    assert len(student.answers) == len(learner.lines) == len(questions.load())


def test_a_notebook_alone_is_a_whole_submission(learner, tmp_path):
    """What the record says, every notebook's outputs say too; the pre-test is on its cards."""
    make(tmp_path / "alone", 1, seed=0)
    make(tmp_path / "both", 1, seed=0, record=True)
    alone, both = (collect([tmp_path / name], workers=1).students for name in ("alone", "both"))
    assert alone[0].answers == both[0].answers
    assert len(alone[0].answers) > 60


def test_attempts_are_merged_and_no_line_counts_twice(learner, tmp_path):
    """The first attempt lacks a question; the second, renamed by the platform, has it and a change of mind."""
    lines = [line for line in learner.lines if line["notebook"] == ROW.stem]
    second = {**lines[0], "answer": "equal", "attempt": 2, "time": "2026-12-01T00:00:00Z"}
    put(tmp_path / "week", "leeann_321_11_01_one_row_by_hand.ipynb", notebook(ROW, lines[:-1]))
    put(tmp_path / "week", "leeann_LATE_321_12_01_one_row_by_hand-1.ipynb", notebook(ROW, [second, *lines]))
    put(tmp_path / "week", "leeann_321_13_my_predictions.jsonl", "".join(json.dumps(x) + "\n" for x in lines))
    (student,) = collect([tmp_path / "week"], workers=1).students
    assert len(student.answers) == len(lines) + 1
    assert student.notebooks == {ROW.stem: 2}
    assert [answer.attempt for answer in student.answers if answer.question == lines[0]["question"]] == [1, 2]


def test_a_wrong_clock_does_not_make_a_second_attempt_the_first(learner, tmp_path):
    line = learner.lines[0]
    later = {**line, "attempt": 2, "time": "2026-01-01T00:00:00Z", "because": "changed"}
    put(tmp_path / "ann", "my_predictions.jsonl", json.dumps(later) + "\n" + json.dumps(line) + "\n")
    (student,) = collect([tmp_path / "ann"], workers=1).students
    assert [answer.attempt for answer in student.answers] == [1, 2]


def test_moodles_number_differs_by_assignment_and_tells_namesakes_apart(learner, tmp_path):
    content = notebook(ROW, learner.lines)
    for week, numbers in (("week1", ("11", "12")), ("week2", ("27",))):
        for number in numbers:
            put(tmp_path / week, f"Ann Lee_{number}_assignsubmission_file_/01.ipynb", content)
        put(tmp_path / week, f"Bo_{week[-1]}5_assignsubmission_file_/01.ipynb", content)
    owners = [one.owner for one in collect([tmp_path / "week1", tmp_path / "week2"], workers=1).students]
    assert owners == ["Ann Lee", "Ann Lee 11", "Ann Lee 12", "Bo"]
    one_week = collect([tmp_path / "week2"], workers=1).students
    assert [(one.owner, one.owner_id) for one in one_week] == [("Ann Lee", "27"), ("Bo", "25")]


def test_a_folder_of_exports_and_students_own_zips(learner, tmp_path):
    """A zip that a platform made holds a class; any other in a folder is a student's."""
    exports = tmp_path / "exports"
    exports.mkdir()
    make(exports / "week1", 3, "moodle", seed=8, zipped=True)
    make(exports / "week2", 3, "canvas", seed=9, zipped=True)
    own = exports / "zed.zip"
    with zipfile.ZipFile(own, "w") as archive:
        archive.writestr("my_notebooks/01 copy.ipynb", json.dumps(notebook(ROW, learner.lines)))
        archive.writestr("__MACOSX/._01 copy.ipynb", "rubbish")
        archive.writestr(".ipynb_checkpoints/01-checkpoint.ipynb", "rubbish")
    collected = collect([exports], workers=1)
    assert [one.owner for one in collected.students if one.owner == "zed"] == ["zed"]
    made = [one for seed in (8, 9) for one in learners(3, seed) if one.done]
    assert len(collected.students) == 1 + len(made)
    assert not collected.problems


def test_nbgrader_gives_only_what_was_submitted(learner, tmp_path):
    course = make(tmp_path / "course", 2, "nbgrader")
    for place in ("source/week1", "release/week1", "autograded/x/week1"):
        put(course, f"{place}/{ROW.name}", ROW.read_text(encoding="utf-8"))
    put(course, "submitted/learner0001/week1/timestamp.txt", "2026-11-01 10:00:00 UTC")
    assert [one.owner for one in collect([course], workers=1).students] == ["learner0001", "learner0002"]
    assert collect([course / "submitted"], workers=1).students[0].owner == "learner0001"


def test_a_zipped_folder_of_students_is_unwrapped(learner, tmp_path):
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for who in ("ann", "bo"):
            archive.writestr(f"all/{who}/x.ipynb", json.dumps(notebook(ROW, learner.lines)))
    assert [one.owner for one in collect([path], workers=1).students] == ["ann", "bo"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_known_by_its_content(path):
    content = json.loads(path.read_text(encoding="utf-8"))
    assert read_notebook(json.dumps(content).encode()).notebook == path.stem
    assert read_notebook(json.dumps(content).encode()).problems == []
    for cell in content["cells"]:
        cell.pop("id")
    assert read_notebook(json.dumps(content).encode()).notebook == path.stem


def test_checks_are_taken_from_what_the_notebook_shows():
    """Through the real thing: a check's own text, for every state, in each library."""
    from helpers import check

    def shown(cell: str, result, carries: bool = True) -> dict:
        data, metadata = result._repr_mimebundle_()
        metadata = metadata if carries else {}  # as of a notebook from before checks left any
        output = {"output_type": "execute_result", "metadata": metadata, "data": data}
        source = (
            'check("06-causal-attention", f, framework="torch")' if cell.endswith("torch") else "check(...)"
        )
        return {"id": cell, "cell_type": "code", "source": source, "outputs": [output]}

    content = json.loads(NOTEBOOKS[6].read_text(encoding="utf-8"))
    wrong = check("06-causal-attention", programs_for("causal_attention")["scale-missing"])
    content["cells"] += [
        shown("again", check("06-causal-attention", lambda Q, K, V: ...)),
        shown("check-causal-attention", wrong),
        shown("check-causal-attention-torch", check("06-causal-attention", lambda Q, K, V: ...)),
    ]
    found = read_notebook(json.dumps(content).encode()).checks
    assert found == {
        "06-causal-attention": Check("not yet", wrong.misconception),
        "06-causal-attention-torch": Check("not started"),
    }
    assert wrong.misconception == "scale-missing"
    alone = {"cells": [*content["cells"][:-3], shown("old", wrong, carries=False)]}
    assert read_notebook(json.dumps(alone).encode()).checks["06-causal-attention"] == Check(
        "not yet", "scale-missing"
    )
    told = shown("told", wrong)
    told["outputs"][0]["data"] = {"text/plain": "another wording"}
    alone = {"cells": [*content["cells"][:-3], told]}
    assert read_notebook(json.dumps(alone).encode()).checks["06-causal-attention"].misconception


def test_a_saved_class_is_read_again_and_holds_no_name_among_the_answers(tmp_path):
    collected = collect([make(tmp_path / "class", 3, record=True)], workers=1)
    save(collected, tmp_path / "kept")
    again = load(tmp_path / "kept")
    assert again.students == collected.students
    assert "Learner" not in (tmp_path / "kept" / ANSWERS).read_text(encoding="utf-8")
    first = (tmp_path / "kept" / ANSWERS).read_text(encoding="utf-8").splitlines()[0]
    assert set(json.loads(first)) == {"format", "submission", "files", "notebooks", "checks", "answers"}
    (tmp_path / "kept" / NAMES).unlink()
    assert load(tmp_path / "kept").students[0].owner == "submission 1"
    assert isinstance(collect([tmp_path / "kept"]), Class)


def test_several_processes_read_the_same(tmp_path):
    folder = make(tmp_path / "class", 5)
    assert collect([folder], workers=2).students == collect([folder], workers=1).students
    assert spread(len, [[1], [], [1, 2]], workers=2) == [1, 0, 2]


def test_a_record_is_read_as_the_notebooks_read_it(learner):
    lines = [json.dumps(line) for line in learner.lines[:3]]
    data = "\ufeff" + "\r\n".join([*lines, "<<<<<<< mine", "", '{"format": 1, "que'])
    found = read_record(data.encode())
    assert found.lines == learner.lines[:3]
    assert [said.split(":")[0] for said in found.problems] == ["line 4", "line 6"]


def test_what_of_a_name_says_nothing_about_a_person():
    assert without_person("week/Ann_1_assignsubmission_file_/01_one_row_by_hand (2).ipynb", "Ann") == (
        "01_one_row_by_hand.ipynb"
    )
    assert without_person("week/ann lee.ipynb", "ann lee") == "a file of kind .ipynb"
    assert without_person("week/annlee_12_44_my_predictions.jsonl", "annlee") == "my_predictions.jsonl"


def test_the_command_line_collects(tmp_path):
    folder = make(tmp_path / "class", 2)
    put(folder, "Torn_9_assignsubmission_file_/01.ipynb", "{")
    ran = CliRunner().invoke(cli, ["collect", str(folder), "--to", str(tmp_path / "kept")])
    assert ran.exit_code == 0, ran.output
    assert "3 students" in ran.output
    assert "class/Torn_9_assignsubmission_file_/01.ipynb: not readable as a notebook" in ran.output
    taken = tmp_path / "taken"
    put(taken, "thesis.txt", "x")
    ran = CliRunner().invoke(cli, ["collect", str(folder), "--to", str(taken)])
    assert ran.exit_code == 1 and "holds other things" in ran.output


def test_the_command_line_names_its_commands_and_imports_none_of_them():
    code = "import sys; import helpers.classroom.__main__; print('numpy' in sys.modules, 'nbformat' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert ran.stdout.split() == ["False", "False"]
    shown = CliRunner().invoke(cli, ["--help"])
    assert shown.exit_code == 0
    for name in ("collect", "report", "live"):
        assert f"\n  {name} " in shown.output


def test_files_come_in_the_order_of_their_names(tmp_path):
    files, _ = find([make(tmp_path / "class", 3)])
    assert [file.name for file in files] == sorted(file.name for file in files)


def test_a_made_up_class_is_the_same_each_time():
    first, second = (copy.deepcopy([one.lines for one in learners(3, seed=4)]) for _ in range(2))
    assert first == second
    assert class_of.LAYOUTS == LAYOUTS


NOTHING = {
    "empty": {},
    "essay.py": "print(1)",
    "marks.csv": "a,b",
    "torn.zip": "PK",
    "other": {"Ann_1_assignsubmission_file_/essay.docx": "x", "Bo_2_assignsubmission_file_/x.ipynb": "{"},
}


@pytest.mark.parametrize("command", ["collect", "report"])
@pytest.mark.parametrize("name", NOTHING)
def test_what_holds_nothing_to_read_overwrites_nothing(name, command, tmp_path):
    """The former result stays byte for byte, and what was found is named."""
    out = tmp_path / "out"
    line = [command, str(make(tmp_path / "class", 2)), "--to", str(out)]
    assert CliRunner().invoke(cli, line).exit_code == 0
    was = {path.name: path.read_bytes() for path in out.iterdir()}
    if isinstance(NOTHING[name], dict):
        (tmp_path / name).mkdir()
        for file, text in NOTHING[name].items():
            put(tmp_path / name, file, text)
    else:
        put(tmp_path, name, NOTHING[name])
    ran = CliRunner().invoke(cli, [command, str(tmp_path / name), "--to", str(out)])
    assert ran.exit_code == 1 and "could be read, and nothing was written" in ran.output
    expected = {"empty": "no file", "other": "essay.docx: not a notebook (.docx)"}.get(name, name)
    assert expected in ran.output
    assert {path.name: path.read_bytes() for path in out.iterdir()} == was


def test_a_failure_in_the_middle_leaves_the_former_file(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("former", encoding="utf-8")
    with pytest.raises(ZeroDivisionError), whole(path, encoding="utf-8") as file:
        file.write("half")
        file.flush()
        1 / 0  # noqa: B018
    assert [(one.name, one.read_text(encoding="utf-8")) for one in tmp_path.iterdir()] == [
        ("page.html", "former")
    ]
    with whole(path, encoding="utf-8") as file:
        file.write("new")
    assert [(one.name, one.read_text(encoding="utf-8")) for one in tmp_path.iterdir()] == [
        ("page.html", "new")
    ]


def test_one_notebook_can_be_read_by_itself(learner, tmp_path):
    put(tmp_path, f"ann {ROW.name}", notebook(ROW, learner.lines))
    (student,) = collect([tmp_path / f"ann {ROW.name}"], workers=1).students
    assert (student.owner, list(student.notebooks)) == ("ann", [ROW.stem])


def test_one_persons_files_with_one_problem_are_one_line(learner, tmp_path):
    """Of Colab: no ids, no metadata. Two problems of three files each are two lines; another person's stay apart."""
    for who in ("Carl", "Dora"):
        for path in NOTEBOOKS[:3]:
            content = notebook(path, learner.lines)
            for cell in content["cells"]:
                cell.pop("id")
                for output in cell.get("outputs", ()):
                    output["metadata"] = {}
            put(tmp_path / "week" / who, path.name, content)
    found = grouped(collect([tmp_path / "week"], workers=1).all_problems)
    assert [(one.owner, len(files)) for one, files, _ in found] == [("Carl", 3)] * 2 + [("Dora", 3)] * 2
    assert "taken for 00, 01, 02 by the questions it asks" in found[0][2]
    assert summary(collect([tmp_path / "week"], workers=1)).count("\n") == 4


def test_notebooks_are_named_as_one_types_them():
    assert numbered(["1", "01,4", " 10 , 02_from_rows_to_matrices"]) == [
        "01",
        "01",
        "04",
        "10",
        "02_from_rows_to_matrices",
    ]


@pytest.mark.parametrize("command", ["report", "collect"])
def test_a_file_in_the_place_of_the_folder_is_said(command, tmp_path):
    put(tmp_path, "taken", "x")
    folder = str(make(tmp_path / "class", 1))
    for to in ("taken", "taken/deeper"):
        ran = CliRunner().invoke(cli, [command, folder, "--to", str(tmp_path / to)])
        assert ran.exit_code == 1 and "taken is a file" in ran.output
    assert (tmp_path / "taken").read_text(encoding="utf-8") == "x"


def test_reading_a_class_waits_for_no_library_of_notebooks():
    """nbformat's import takes a second, in each process that reads."""
    said = "import sys; import helpers.classroom.report; print({'nbformat', 'matplotlib'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", said], capture_output=True, encoding="utf-8", check=True)
    assert ran.stdout.strip() == "set()"
