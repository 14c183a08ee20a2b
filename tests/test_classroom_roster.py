"""Class lists as platforms export them: who has handed in nothing, namesakes and ids included."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from helpers.classroom.collect import collect
from helpers.classroom.page import Wishes
from helpers.classroom.report import write_report
from helpers.classroom.roster import Person, absent, matched, read_roster, spellings
from helpers.classroom.submissions import Student

MOODLE = "First name,Last name,ID number,Email address\r\nAnn,Lee,11,ann@x.org\r\nJörg,Weiß,12,jw@x.org\r\n"
GRADING = (
    "Identifier;Full name;Email address;Status\n"
    "Participant 11;Ann Lee;ann@x.org;No\nParticipant 12;Jörg Weiß;jw@x.org;No\n"
)
CANVAS = (
    'Student,ID,SIS User ID,SIS Login ID,Section\n"    Points Possible",,,,\n'
    '"Lee, Ann",11,s11,ann,A\n"Weiß, Jörg",12,s12,jw,A\n"Student, Test",99,,,A\n'
)
TABBED = "surname\tfirst name\tstudent id\nLee\tAnn\t11\nWeiß\tJörg\t12\n"
PLAIN = "Ann Lee\n\nJörg Weiß\n"
TURNED = "Lee, Ann\nWeiß, Jörg\n"
COLUMNS = "Ann Lee;11;ann@x.org\nJörg Weiß;12;jw@x.org\n"


@pytest.mark.parametrize("text", [MOODLE, GRADING, CANVAS, TABBED, PLAIN, TURNED, COLUMNS])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_a_list_is_read_as_it_was_exported(text, encoding, tmp_path):
    path = tmp_path / "class.csv"
    path.write_bytes(text.encode(encoding))
    roster = read_roster(path)
    assert [spellings(person.name) for person in roster] == [spellings("Ann Lee"), spellings("Jörg Weiß")]
    assert absent(roster, [Student("Jörg Weiß", owner_id="4012")]) == [roster[0].name]
    assert len(absent(roster, [])) == 2
    if text not in (PLAIN, TURNED):
        assert roster[1].id == "12"
        assert absent(roster, [Student("anon_x", owner_id="12")]) == [roster[0].name], "by id alone"
    if "@" in text:
        assert roster[0].email == "ann@x.org"


@pytest.mark.parametrize("owner", ["Jörg Weiß", "weissjorg", "WEISS, Jörg", "Weiß Jörg"])
def test_a_name_is_known_however_a_platform_writes_it(owner):
    assert absent([Person("Jörg Weiß")], [Student(owner)]) == []
    assert absent([Person("Jörg Weise")], [Student(owner)]) == ["Jörg Weise"]


def test_a_name_of_the_same_letters_is_another():
    assert absent([Person("Amy Lee")], [Student("May Lee")]) == ["Amy Lee"]


def test_logins_of_a_hub_are_found_in_ids_and_addresses(tmp_path):
    path = tmp_path / "class.csv"
    path.write_text(
        "name,username,email\nAnn Lee,al7,x@x.org\nBo Ray,,bray@x.org\nCy Du,cd,\n", encoding="utf-8"
    )
    assert absent(read_roster(path), [Student("al7"), Student("bray")]) == ["Cy Du"]


def test_of_two_namesakes_both_must_hand_in():
    two = [Person("Sam Smith", "1", also=frozenset({"1"})), Person("Sam Smith", "2", also=frozenset({"2"}))]
    first, second = Student("Sam Smith 1", owner_id="1"), Student("Sam Smith 2", owner_id="2")
    assert absent(two, [first, second]) == []
    assert absent(two, [second]) == ["Sam Smith (1)"]
    assert matched(two, [second, first]) == {0: 1, 1: 0}
    without = [Person("Sam Smith"), Person("Sam Smith")]
    assert absent(without, [first, second]) == [], "nobody is accused"
    assert absent(without, [second]) == ["Sam Smith (one of 2 of this name)"]


def test_anothers_number_is_not_taken_for_an_id_where_the_name_tells():
    """Moodle's number in a file name is another than the ID number: they may coincide."""
    roster = [Person("Ann Lee", "5", also=frozenset({"5"})), Person("Bo Ray", "7", also=frozenset({"7"}))]
    assert matched(roster, [Student("Bo Ray", owner_id="5"), Student("Ann Lee", owner_id="9")]) == {
        0: 1,
        1: 0,
    }
    assert absent(roster, [Student("Bo Ray", owner_id="5")]) == ["Ann Lee"]


def test_a_list_of_nobody_is_refused(tmp_path):
    path = tmp_path / "class.csv"
    for text in ("", "\n\n", "name,id\n"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(click.ClickException, match="lists nobody"):
            read_roster(path)


def test_who_handed_in_only_what_cannot_be_read_keeps_the_number(tmp_path):
    """A .docx of one namesake and a broken notebook of the other are two people with their numbers."""
    for number, name in ((4007, "Homework.docx"), (4008, "01.ipynb")):
        folder = tmp_path / "week" / f"Sam Smith_{number}_assignsubmission_file_"
        folder.mkdir(parents=True)
        (folder / name).write_text("{", encoding="utf-8")
    collected = collect([tmp_path / "week"], workers=1)
    assert [(one.owner, one.owner_id) for one in collected.students] == [
        ("Sam Smith 4007", "4007"),
        ("Sam Smith 4008", "4008"),
    ]
    assert absent([Person("Sam Smith"), Person("Sam Smith")], collected.students) == []


def test_marks_carry_what_a_platform_asks_for(tmp_path):
    """Name, id and address of the class list where there is one; per cent for each notebook and for all."""
    collected = collect([_one(tmp_path)], workers=1)
    roster = (Person("Lee, Ann", "s11", "ann@x.org", frozenset({"s11"})),)
    for wishes, start in (
        (Wishes(), "submission,00 %,"),
        (Wishes(names=True), "submission,name,id,email,00 %,"),
        (Wishes(names=True, roster=roster), "submission,name,id,email,00 %,"),
    ):
        write_report(collected, tmp_path / "out", wishes)
        head, line = (tmp_path / "out" / "marks.csv").read_text(encoding="utf-8-sig").splitlines()
        assert head.startswith(start) and head.endswith(",committed %")
    assert line.startswith('1,"Lee, Ann",s11,ann@x.org,100.0,')
    assert all(0 <= float(cell) <= 100 for cell in line.split(",")[5:])


def _one(folder: Path) -> Path:
    """One learner's submission of the whole course."""
    import json

    from tests.class_of import NOTEBOOKS, learners, notebook

    learner = next(one for one in learners(9) if one.done == len(NOTEBOOKS))
    for path in NOTEBOOKS:
        where = folder / "week" / "Ann Lee_4011_assignsubmission_file_" / path.name
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_text(json.dumps(notebook(path, learner.lines)), encoding="utf-8")
    return folder / "week"
