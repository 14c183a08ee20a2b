"""What students upload by accident or on purpose: each kind gets a line that names the file, and stops nothing."""

from __future__ import annotations

import copy
import csv
import html
import io
import json
import os
import stat
import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.classroom import handed_in, page, submissions
from helpers.classroom.collect import Class, collect, load, save
from helpers.classroom.report import write_report
from helpers.classroom.submissions import Check
from tests.class_of import NOTEBOOKS, Learner, committed, learners, notebook

GOOD = "Good Student"
BAD = "Odd One"
ROW = NOTEBOOKS[1]  # 01_one_row_by_hand


@pytest.fixture(scope="module")
def learner() -> Learner:
    return next(one for one in learners(5) if one.done == len(NOTEBOOKS))


@pytest.fixture(scope="module")
def right(learner) -> dict:
    """A notebook as a student hands it in; tests change a copy."""
    return notebook(ROW, learner.lines)


def text(content: dict) -> str:
    return json.dumps(content, ensure_ascii=False, indent=1)


def first_lines(content: dict) -> list[dict]:
    """The committed lines of the first comparison."""
    return next(
        output["metadata"]["predictions"]
        for cell in content["cells"]
        for output in cell.get("outputs", ())
        if output["metadata"].get("predictions")
    )


def changed(content: dict, **fields) -> str:
    """The notebook with the first committed line altered."""
    other = copy.deepcopy(content)
    first_lines(other)[0].update(fields)
    return text(other)


def zipped(*entries: tuple[str, bytes], **attributes) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = attributes.get("external_attr", 0)
            archive.writestr(info, data)
    return held.getvalue()


def encrypted(data: bytes) -> bytes:
    """A zip whose entries say that a password is needed."""
    changed = bytearray(data)
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = changed.find(mark) + at
        struct.pack_into("<H", changed, place, struct.unpack_from("<H", changed, place)[0] | 1)
    return bytes(changed)


def damaged(data: bytes) -> bytes:
    middle = data.find(b".ipynb") + 40
    return data[:middle] + bytes(byte ^ 255 for byte in data[middle : middle + 30]) + data[middle + 30 :]


def without_ids(content: dict) -> str:
    other = copy.deepcopy(content)
    for number, cell in enumerate(other["cells"]):
        cell["id"] = f"c{number}"
    return text(other)


def copied_cell(content: dict) -> str:
    other = copy.deepcopy(content)
    at = next(at for at, cell in enumerate(other["cells"]) if cell["id"] == "run-weights")
    other["cells"].insert(at + 1, copy.deepcopy(other["cells"][at]))
    return text(other)


def without_lines(content: dict) -> str:
    other = copy.deepcopy(content)
    for cell in other["cells"]:
        for output in cell.get("outputs", ()):
            output["metadata"] = {}
    return text(other)


def never_run(_: dict) -> str:
    other = json.loads(ROW.read_text(encoding="utf-8"))
    for cell in other["cells"]:
        if cell["id"] == "predict-weights":
            cell["source"] = 'predict("01-weights", [0.67, 0.33], because="closer", sure=2)'
    return text(other)


def flooded(content: dict) -> str:
    other = copy.deepcopy(content)
    cell = next(cell for cell in other["cells"] if cell["id"] == "explore-overflow")
    cell["outputs"] = [{"output_type": "stream", "name": "stdout", "text": ["x" * 100 + "\n"] * 60_000}]
    return text(other)


def merged(content: dict) -> str:
    lines = text(content).splitlines()
    return "\n".join([*lines[:40], "<<<<<<< HEAD", *lines[40:50], "=======", *lines[50:]])


def all_kinds_of_lines(content: dict) -> str:
    other = copy.deepcopy(content)
    lines = first_lines(other)
    lines += [
        7,
        None,
        {},
        {**lines[0], "sure": 9},
        {**lines[0], "version": "1"},
        {**lines[0], "answer": [[[[[1]]]]]},
    ]
    lines += [{**lines[0], "format": 2}, {**lines[0], "answer": 0.5}, {**lines[0], "time": ["now"]}]
    return text(other)


def many_numbers(content: dict) -> str:
    other = copy.deepcopy(content)
    lines = first_lines(other)
    lines += [{**lines[0], "variant": f"v{at}"} for at in range(400)]
    return text(other)


# Name of the file -> how it is made from a right one, and what the report says of it. None: it is read as it is.
KINDS: dict[str, tuple[str, Callable[[dict], str | bytes], str | None]] = {
    "broken json": ("01.ipynb", lambda right: text(right)[:5000], "not readable as a notebook: line"),
    "merge marks": ("01.ipynb", merged, "line 41 looks like a mark left by a merge"),
    "empty": ("01.ipynb", lambda _: "", "empty (0 bytes)"),
    "zeros": ("01.ipynb", lambda _: b"\0" * 2048, "empty (2048 bytes)"),
    "utf-16": ("01.ipynb", lambda right: text(right).encode("utf-16"), "is no UTF-8"),
    "old format": ("01.ipynb", lambda _: '{"worksheets": [{"cells": []}], "nbformat": 3}', "old format 3"),
    "no notebook": ("01.ipynb", lambda _: "[1, 2]", "it holds no cells"),
    "cells of the wrong type": ("01.ipynb", lambda _: '{"cells": {"a": 1}}', "not a notebook of this course"),
    "parts of the wrong type": (
        "01.ipynb",
        lambda _: '{"cells": [7, {"id": 3, "source": {}, "outputs": "x"}, {"outputs": [1, {"data": 2}]}]}',
        "not a notebook of this course",
    ),
    "deep nesting": (
        "01.ipynb",
        lambda _: '{"cells":' + "[" * 100_000 + "]" * 100_000 + "}",
        "nested too deeply",
    ),
    "huge number": ("01.ipynb", lambda _: '{"cells": [' + "9" * 10_000 + "]}", "thousands of digits"),
    "another notebook": (
        "01.ipynb",
        lambda _: '{"cells": [{"id": "a", "cell_type": "code", "source": "print(1)", "outputs": []}]}',
        "not a notebook of this course",
    ),
    "byte order mark": ("01.ipynb", lambda right: b"\xef\xbb\xbf" + text(right).encode(), None),
    "not a number in it": ("01.ipynb", lambda right: text({**right, "x": float("nan"), "y": 10**300}), None),
    "renamed": ("homework FINAL (2).ipynb", text, None),
    "other cell ids": ("01.ipynb", without_ids, "taken for 01_one_row_by_hand by the questions it asks"),
    "copied cell": ("01.ipynb", copied_cell, "have the same id 'run-weights'"),
    "missing record": ("01.ipynb", without_lines, "the answers are not stored in it"),
    "never run": ("01.ipynb", never_run, "1 prediction is typed in (01-weights), but never run"),
    "flood of output": ("01.ipynb", flooded, "(explore-overflow): read all the same"),
    "another kind of file": ("essay.docx", lambda _: "PK", "not a notebook (.docx)"),
    "lines of wrong types": (
        "01.ipynb",
        all_kinds_of_lines,
        "a committed line: sure is 1, 2, 3 or null, not 9",
    ),
    "lines of a newer course": ("01.ipynb", all_kinds_of_lines, "made by a newer version"),
    "unknown question": (
        "01.ipynb",
        lambda right: changed(right, question="77-x"),
        "'77-x' is not in this course",
    ),
    "another kind of answer": ("01.ipynb", lambda right: changed(right, kind="grid"), "is of kind choice"),
    "answer that does not fit": (
        "01.ipynb",
        lambda right: changed(right, answer="nonsense"),
        "does not fit the question",
    ),
    "endless answer": (
        "01.ipynb",
        lambda right: changed(right, answer="9" * 5000),
        "an answer to 01-order of 5002",
    ),
    "future": (
        "01.ipynb",
        lambda right: changed(right, time="2199-01-01T00:00:00Z"),
        "a time that cannot be (2199",
    ),
    "no time": (
        "01.ipynb",
        lambda right: changed(right, time="0001-01-01T00:00:00+23:59"),
        "a time that cannot be",
    ),
    "hundreds of numbers": ("01.ipynb", many_numbers, "more than anybody gives: 381 are not counted"),
    "lone surrogate": (
        "01.ipynb",
        lambda right: changed(right, because="\ud800 x").replace("\ud800", "\\ud800"),
        None,
    ),
    "torn record": (
        "my_predictions.jsonl",
        lambda _: '{"format": 1, "question": "01-w',
        "line 1: breaks off",
    ),
    "zip: climbs": (
        "01.zip",
        lambda right: zipped(("../../up.ipynb", text(right).encode())),
        "climbs out of the zip",
    ),
    "zip: absolute": (
        "01.zip",
        lambda right: zipped(("/etc/up.ipynb", text(right).encode())),
        "is a place on a disk",
    ),
    "zip: drive": (
        "01.zip",
        lambda right: zipped(("C:\\up.ipynb", text(right).encode())),
        "is a place on a disk",
    ),
    "zip: bomb": ("01.zip", lambda _: zipped(("01.ipynb", b" " * 30_000_000)), "as a zip bomb is"),
    "zip: too large": (
        "01.zip",
        lambda _: zipped(("01.ipynb", b" " * 60_000_000)),
        "too large: 57 MB unpacked",
    ),
    "zip: link": (
        "01.zip",
        lambda _: zipped(("01.ipynb", b"/etc/passwd"), external_attr=(stat.S_IFLNK | 0o777) << 16),
        "a link in a zip",
    ),
    "zip: encrypted": (
        "01.zip",
        lambda right: encrypted(zipped(("01.ipynb", text(right).encode()))),
        "encrypted",
    ),
    "zip: damaged": (
        "01.zip",
        lambda right: damaged(zipped(("01.ipynb", text(right).encode()))),
        "damaged in its zip",
    ),
    "zip: in a zip": (
        "01.zip",
        lambda right: zipped(("in.zip", zipped(("01.ipynb", text(right).encode())))),
        "a zip inside a zip",
    ),
    "zip: none": ("01.zip", lambda _: "no zip at all", "not readable as a zip"),
    "zip: right": ("01.zip", lambda right: zipped(("deep/er/01.ipynb", text(right).encode())), None),
}


def handed_in_by(folder: Path, who: str, name: str, data: str | bytes) -> None:
    place = folder / f"{who}_{4000 + len(who)}_assignsubmission_file_" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))


def a_class(folder: Path, right: dict, name: str, data: str | bytes) -> Class:
    """A healthy submission, and an odd one."""
    other = copy.deepcopy(right)
    for cell in other["cells"]:
        for output in cell.get("outputs", ()):
            for line in output["metadata"].get("predictions", ()):
                line["because"] = "my own words"
    handed_in_by(folder, GOOD, "01.ipynb", text(other))
    handed_in_by(folder, BAD, name, data)
    return collect([folder], workers=1)


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_named_and_stops_nothing(kind: str, right: dict, tmp_path: Path) -> None:
    name, make, expected = KINDS[kind]
    collected = a_class(tmp_path / "week1", right, name, make(right))
    by_name = {student.owner: student for student in collected.students}
    assert len(by_name[GOOD].answers) == 10
    assert len(by_name) == 2, "who handed in only what cannot be read is a student too"
    path = write_report(collected, tmp_path / "report", page.Wishes(names=True), workers=1)
    with open(path.with_name("problems.csv"), encoding="utf-8-sig", newline="") as file:
        problems = list(csv.reader(file))[1:]
    if expected is None:
        assert problems == []
        odd = next(student for student in collected.students if student.owner != GOOD)
        assert len(odd.answers) == 10
        return
    assert any(expected in what for _, _, what in problems), problems
    for _, file, what in problems:
        assert name in file or "more than anybody gives" in what, "the line names the file"
    shown = html.unescape(path.read_text(encoding="utf-8"))
    assert all(what in shown for _, _, what in problems), "each stands on the page too"


def test_the_hostile_set_in_one_class_hides_nobody(right, learner, tmp_path):
    """All kinds at once, as a class of their own: the healthy one is counted, and every kind has its line."""
    folder = tmp_path / "week1"
    handed_in_by(folder, GOOD, "01.ipynb", text(right))
    for kind, (name, make, _) in KINDS.items():
        handed_in_by(folder, kind.replace(":", ""), name, make(right))
    collected = collect([folder], workers=2)
    said = "\n".join(f"{problem.owner}: {problem.what}" for problem in collected.all_problems)
    lacking = [kind for kind, (_, _, expected) in KINDS.items() if expected and expected not in said]
    assert lacking == []
    assert len(collected.students) == len(KINDS) + 1
    assert next(one for one in collected.students if one.owner == GOOD).answers


@pytest.mark.skipif(sys.platform == "win32", reason="making links needs a right that users of Windows lack")
def test_links_and_pipes_in_a_folder_are_not_followed(right, tmp_path):
    secret = tmp_path / "secret" / "01.ipynb"
    secret.parent.mkdir()
    secret.write_text(text(right), encoding="utf-8")
    handed_in_by(tmp_path / "week1", GOOD, "01.ipynb", text(right))
    mine = next((tmp_path / "week1").iterdir())
    (mine / "link.ipynb").symlink_to(secret)
    (mine / "round").symlink_to(mine)
    os.mkfifo(mine / "pipe.ipynb")
    files, problems = handed_in.find([tmp_path / "week1"])
    assert [Path(file.place).name for file in files] == ["01.ipynb"]
    assert sorted((problem.file.rpartition("/")[2], problem.what.split(":")[0]) for problem in problems) == [
        ("link.ipynb", "a link"),
        ("pipe.ipynb", "not an ordinary file"),
        ("round", "a link"),
    ]


def class_zip(path: Path, files: dict[tuple[str, str], str]) -> Path:
    """A zip, which holds names that not every disk can."""
    path.write_bytes(
        zipped(
            *(
                (f"{who}_{number}_assignsubmission_file_/{name}", data.encode("utf-8", "surrogatepass"))
                for number, ((who, name), data) in enumerate(files.items(), 4001)
            )
        )
    )
    return path


def test_markup_script_and_formulas_stay_text(right, tmp_path):
    attack = '<script>alert(1)</script><img src=x onerror=alert(2)> =HYPERLINK("http://x")'
    files = {("=2+5<b>", "<script>x.ipynb"): "{"}
    for at in range(6):
        content = copy.deepcopy(right)
        for cell in content["cells"]:
            for output in cell.get("outputs", ()):
                for line in output["metadata"].get("predictions", ()):
                    line.update(because=f"{attack} {at}", sure=3)
        first_lines(content)[0].update(answer="one key", variant="<u>=1")  # a known misconception
        files[f"=cmd {at}<i>", f"01<u>{at}.ipynb"] = text(content)
    collected = collect([class_zip(tmp_path / "week1.zip", files)], workers=1)
    path = write_report(collected, tmp_path / "report", page.Wishes(title="<b>T", names=True), workers=1)
    shown = path.read_text(encoding="utf-8")
    for quoted in (
        "&lt;script&gt;alert(1)",
        "&lt;u&gt;=1",
        "&lt;b&gt;T",
        "&lt;script&gt;x.ipynb",
        "=2+5&lt;b&gt;",
    ):
        assert quoted in shown
    for tag in ("<script", "<img", "<i>", "<u>", "<b>"):
        assert tag not in shown
    for sheet in (tmp_path / "report").glob("*.csv"):
        with open(sheet, encoding="utf-8-sig", newline="") as file:
            for row in csv.reader(file):
                assert not any(value.lstrip().startswith(("=", "+", "@")) for value in row), (sheet.name, row)


def test_names_cannot_steer_a_terminal_or_turn_text_round(tmp_path):
    assert handed_in.shown("a\x1b[31mb\u202ec\ud800") == "a\ufffd[31mb\ufffdc\ufffd"
    collected = collect(
        [class_zip(tmp_path / "week1.zip", {("An\u202ena\x07", "01\x1b[2J.ipynb"): "{"})], workers=1
    )
    (problem,) = collected.all_problems
    assert problem.what.startswith("not readable as a notebook")
    assert (problem.file + problem.owner).isprintable()


def test_a_passed_on_file_is_told_of_and_counted_once(right, tmp_path):
    for who in ("Ann", "Ben"):
        handed_in_by(tmp_path / "week1", who, "01.ipynb", text(right))
    collected = collect([tmp_path / "week1"], workers=1)
    (problem,) = collected.problems
    assert (problem.owner, problem.other) == ("Ben", "Ann")
    assert "committed lines are those of Ann, to the second" in problem.text
    assert [len(one.answers) for one in collected.students] == [10, 10]
    shown = write_report(collected, tmp_path / "report", page.Wishes(), workers=1).read_text(encoding="utf-8")
    assert "are those of submission 1" in shown
    assert "2 students, 2 files, 10 first answers" in shown
    wishes = page.Wishes(copies=True)
    shown = write_report(collected, tmp_path / "report", wishes, workers=1).read_text(encoding="utf-8")
    assert "2 students, 2 files, 20 first answers" in shown
    save(collected, tmp_path / "kept")
    assert collect([tmp_path / "kept"]).all_problems == collected.all_problems, "told of once"
    assert "Ann" not in shown and "Ben" not in shown


def test_untouched_notebooks_are_no_copies_of_each_other(tmp_path):
    for who in ("Ann", "Ben"):
        handed_in_by(tmp_path / "week1", who, "01.ipynb", ROW.read_text(encoding="utf-8"))
    collected = collect([tmp_path / "week1"], workers=1)
    assert collected.all_problems == []
    assert [one.notebooks for one in collected.students] == [{ROW.stem: 1}] * 2


def test_reading_runs_nothing_and_writes_nothing(right, tmp_path, monkeypatch):
    trap = copy.deepcopy(right)
    trap["cells"][1]["source"] = f"open({str(tmp_path / 'ran')!r}, 'w')"
    trap["metadata"]["kernelspec"] = {"name": "; touch ran", "argv": ["touch", "ran"]}
    handed_in_by(tmp_path / "week1", GOOD, "01.ipynb", text(trap))
    handed_in_by(
        tmp_path / "week1",
        "Zip",
        "01.zip",
        zipped(("../ran.ipynb", b"{}"), ("a/01.ipynb", text(trap).encode())),
    )
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setattr("builtins.exec", None)
    monkeypatch.setattr("builtins.eval", None)
    assert len(collect([tmp_path / "week1"], workers=1).students) == 2
    assert sorted(tmp_path.rglob("*")) == before


def test_a_class_zip_is_guarded_like_a_students(right, tmp_path):
    good = f"{GOOD}_4001_assignsubmission_file_/01.ipynb"
    climbing = "Bad_4002_assignsubmission_file_/../../01.ipynb"
    path = tmp_path / "week1.zip"
    path.write_bytes(zipped((good, text(right).encode()), (climbing, text(right).encode())))
    collected = collect([path], workers=1)
    assert {one.owner: len(one.answers) for one in collected.students} == {"Bad": 0, GOOD: 10}
    assert "climbs out of the zip" in collected.all_problems[0].what


def test_an_entry_cannot_hold_more_than_it_says(right, tmp_path, monkeypatch):
    monkeypatch.setattr(handed_in, "LARGEST", 1000)
    handed_in_by(tmp_path / "week1", GOOD, "01.ipynb", text(right))
    collected = collect([tmp_path / "week1"], workers=1)
    assert "too large" in collected.all_problems[0].what
    monkeypatch.setattr(handed_in, "MOST", 100)
    monkeypatch.setattr(handed_in, "LARGEST", 50_000_000)
    several = zipped(("a.ipynb", text(right).encode()), ("b.ipynb", text(right).encode()))
    assert [type(data) for _, data in handed_in.unzipped(several)] == [handed_in.Unreadable] * 2


def test_a_collected_class_survives_the_way_to_disk_with_odd_names(right, tmp_path):
    for who in ("=1+1", "'t Hooft", "Zoë, the 2nd", "-x"):
        handed_in_by(tmp_path / "week1", who, "01.ipynb", "{")
        handed_in_by(tmp_path / "week1", who, "also.ipynb", text(right))
    collected = collect([tmp_path / "week1"], workers=1)
    save(collected, tmp_path / "class")
    again = load(tmp_path / "class")
    assert [one.owner for one in again.students] == [one.owner for one in collected.students]
    assert [one.answers for one in again.students] == [one.answers for one in collected.students]
    assert len(again.all_problems) == len(collected.all_problems)


def test_no_outcome_but_a_right_check_counts_as_right(right):
    """E05, E06: what merely looks like a result is none, in the text or in the metadata."""
    for shows in (
        "Right",
        "right, on all 9 inputs",
        "Not yet: Right, on all 9 inputs",
        " 01-softmax: Right, on all",
    ):
        content = copy.deepcopy(right)
        cell = next(cell for cell in content["cells"] if cell["id"] == "check-softmax")
        cell["outputs"][0]["data"]["text/plain"] = f"01-softmax: {shows}"
        found = submissions.read_notebook(text(content).encode())
        assert found.checks.get("01-softmax", Check("none")).state != "right", shows
    for told in (
        7,
        ["01-softmax", True],
        {"exercise": ["01-softmax"], "passed": True},
        {"exercise": "77-x", "passed": True},
        {"exercise": "01-softmax", "passed": "yes"},
        {"exercise": "01-softmax", "passed": False, "misconception": {"a": 1}},
    ):
        content = copy.deepcopy(right)
        cell = next(cell for cell in content["cells"] if cell["id"] == "check-softmax")
        cell["outputs"][0]["metadata"] = {"check": told}
        found = submissions.read_notebook(text(content).encode())
        assert set(found.checks) <= {"01-softmax", "01-attention-row"}, told
        assert set(found.checks.values()) <= {Check("not started"), Check("not yet")}, told


def test_committed_forms_are_those_of_the_record(learner):
    """The made-up class commits what a record would take."""
    from helpers import questions
    from helpers.predictions import record

    for line in learner.lines:
        assert record.fault_in(line) is None
    for question in questions.load().values():
        assert committed(question, question.truth) is not None
