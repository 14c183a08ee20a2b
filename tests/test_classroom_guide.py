"""The instructor's guide: its commands run, its minutes add up, and what notebooks bring to light is as it says.

``python -m tests.test_classroom_guide`` writes docs/misconceptions.md anew.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

import nbformat
import pytest

from helpers import questions
from helpers.classroom.key import checked, learner_notebook, right_answers
from helpers.classroom.release import chosen, own_numbers
from helpers.exercises import EXERCISES, SOLUTIONS
from helpers.misconceptions import CATALOGUE, programs_for
from tests.class_of import learners, place
from tests.class_of import notebook as notebook_of
from tests.support import optional
from tests.test_learners import execute

DOCS = Path(__file__).resolve().parent.parent / "docs"
GUIDE, PAGE = DOCS / "instructors.md", DOCS / "misconceptions.md"
NOT_RUN = ("pip install ",)  # a test leaves the environment as it is
PROGRAMS = {"nbgrader": "nbgrader", "otter": "otter"}  # as typed -> module


def guide() -> str:
    return GUIDE.read_text(encoding="utf-8")


def section(title: str) -> str:
    """One section of the guide, without its heading."""
    return re.split(r"^## ", guide().split(f"\n## {title}\n")[1], maxsplit=1, flags=re.M)[0]


def commands(text: str) -> list[str]:
    """Lines of the shell blocks of a text."""
    return [line for block in re.findall(r"```sh\n(.*?)```", text, re.S) for line in block.splitlines()]


def minutes(path: Path) -> int:
    """What a notebook says it takes."""
    return int(re.search(r"Allow (\d+) minutes", nbformat.read(path, 4).cells[0].source)[1])


def beliefs(notebook: str) -> dict[str, list[str]]:
    """Beliefs that a notebook's questions name, each with the questions, and those its exercises add."""
    found: dict[str, list[str]] = {}
    for question in questions.of_notebook(notebook):
        options = (option.misconception for option in question.options)
        for name in dict.fromkeys([*question.wrong, *filter(None, options)]):
            if name in CATALOGUE:
                found.setdefault(name, []).append(question.id)
    for exercise in EXERCISES.values():
        if exercise.id[:2] == notebook[:2]:
            for name in programs_for(exercise.task):
                found.setdefault(name, []).append(f"*{exercise.id}*")
    return found


def page() -> str:
    """What each notebook brings to light, made from the notebooks, the questions and the catalogue."""
    titles = questions.titles()
    head = """# What each notebook brings to light

For those who teach: this page tells results. A belief stands here where an answer or a function that comes from it
is named. An exercise is in italics. Made by `python -m tests.test_classroom_guide`; a test compares the two.

| notebook | minutes | predictions | exercises | beliefs |
|---|---|---|---|---|
"""
    rows, parts = [], []
    for path in chosen([]):
        found = beliefs(path.stem)
        asked = len(list(questions.of_notebook(path.stem)))
        written = len({name for name in checked(nbformat.read(path, 4)) if name in EXERCISES})
        title = f"{path.stem[:2]} {titles[path.stem]}"
        rows.append(f"| {title} | {minutes(path)} | {asked} | {written} | {len(found)} |")
        lines = [f"- {CATALOGUE[name].belief} `{name}`: {', '.join(where)}" for name, where in found.items()]
        parts.append(f"\n## {title}\n\n" + "\n".join(lines) + "\n")
    return head + "\n".join(rows) + "\n" + "".join(parts)


def run(command: str, folder: Path) -> None:
    """Run a line of the guide as it stands there, with this Python."""
    programs = [sysconfig.get_path("scripts"), os.environ["PATH"]]
    for program, module in PROGRAMS.items():
        command = re.sub(rf"^{program} ", f"python -m {module} ", command)
    command = re.sub(r"^python ", f'"{sys.executable}" ', command)
    environment = {**os.environ, "PATH": os.pathsep.join(programs), "PREDICTIONS_FILE": ""}
    ran = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=300
    )
    assert ran.returncode == 0, f"{command}\n{ran.stdout}\n{ran.stderr}"


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory) -> Path:
    """A folder with the zip that the guide's commands read: two who ran it, and eight made up, who hold beliefs."""
    folder = tmp_path_factory.mktemp("guide")
    path = chosen(["01"])[0]
    for number, student in enumerate(("ann", "bob"), 1):
        notebook = learner_notebook(nbformat.read(path, 4), right_answers(path.stem), SOLUTIONS)
        execute(notebook, folder / f"{student}.jsonl")
        (folder / "in").mkdir(exist_ok=True)
        nbformat.write(notebook, folder / "in" / f"{student}_{number}_{number}99_{path.name}")
    for learner in [one for one in learners(30) if one.done > 1][:8]:
        text = json.dumps(notebook_of(path, learner.lines), ensure_ascii=False)
        (folder / "in" / place(learner, path.name, "canvas")).write_text(text, encoding="utf-8", newline="\n")
    shutil.make_archive(str(folder / "submissions"), "zip", folder / "in")
    return folder


def test_every_command_of_the_guide_is_one_of_a_kind_that_is_run_here():
    lines = commands(guide())
    assert len(lines) > 12
    for line in lines:
        known = ("python -m helpers.classroom ", "nbgrader ", "otter ", "cd ", "mkdir ", *NOT_RUN)
        assert line.startswith(known), line


@pytest.mark.parametrize(
    "title", ["In a hurry", "Hand out", "The answer key", "Collect and report", "Running what was handed in"]
)
def test_the_commands_of_a_section_run(title, handed_in):
    for line in commands(section(title)):
        run(line, handed_in)
    for named in re.findall(r"--to (\S+)", section(title)):
        assert (handed_in / named).exists()


def test_the_commands_for_nbgrader_run(handed_in):
    optional("nbgrader")
    folder = handed_in
    for line in commands(section("nbgrader")):
        if line.startswith("cd "):
            folder /= line.removeprefix("cd ")
        elif not line.startswith(NOT_RUN):
            run(line, folder)
        if "generate_assignment" in line:
            (place,) = re.findall(r"`submitted/NAME/(\S+)`", section("nbgrader"))
            handed = folder / "submitted" / "ann" / place
            shutil.copytree(folder / "release" / "week1", handed.parent)
            assert handed.exists(), "as it was released"
            shutil.copytree(handed.parent, folder / "submitted" / "bo" / "week1")
            (folder / "submitted" / "bo" / place).rename(
                folder / "submitted" / "bo" / "week1" / "my 04.ipynb"
            )
            (zipped,) = (folder / "for_learners").glob("*.zip")
            assert f"for_learners/{zipped.name}" in section("nbgrader")
    rows = (folder / "grades.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert sorted(row.split(",")[0] for row in rows) == ["week1", "week1"]


@pytest.mark.skipif(find_spec("otter") is None, reason="otter-grader is not installed; the guide says how")
def test_the_commands_for_otter_run(handed_in):
    (source,) = re.findall(r"```python\n(.*?)```", section("Otter"), re.S)
    (handed_in / "tests").mkdir()
    (handed_in / "tests" / "softmax.py").write_text(source, encoding="utf-8")
    path = chosen(["01"])[0]
    nbformat.write(learner_notebook(nbformat.read(path, 4), {}, SOLUTIONS), handed_in / path.name)
    for line in commands(section("Otter")):
        if not line.startswith(NOT_RUN):
            run(line, handed_in)
    results = json.loads((handed_in / "graded" / "results.json").read_text(encoding="utf-8"))
    assert [one["score"] for one in results["tests"] if one["name"] == "softmax"] == [5]


def test_the_plans_add_up():
    """Each row's minutes are those of its notebooks."""
    rows = re.findall(r"^\| ([^|]+) \| ([\d ]+) \| (\d+) \|", section("Choose notebooks"), re.M)
    assert len(rows) == 6
    for plan, names, total in rows:
        assert sum(map(minutes, chosen(names.split()))) == int(total), plan


def test_the_page_of_beliefs_is_as_the_notebooks_are():
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tests.test_classroom_guide"


def test_every_belief_of_the_course_is_named_somewhere():
    named = {name for path in chosen([]) for name in beliefs(path.stem)}
    assert named <= set(CATALOGUE)
    assert len(named) > 80


def test_what_the_guide_says_of_numbers_and_limits_holds():
    from helpers.classroom import nbgrader_assignment, runner

    text = " ".join(guide().split())
    assert len(own_numbers()) == 8 and "Eight questions of notebook 10" in text
    assert f"{runner.SECONDS:g} s a call, {runner.LOADING:g} s for definitions" in text
    assert f"{runner.ALTOGETHER:g} s altogether" in text
    assert f"memory ({runner.MEMORY / 2**30:g} GiB, Linux)" in text
    assert f"{nbgrader_assignment.EXERCISE_POINTS} for each NumPy exercise" in text
    assert f"{nbgrader_assignment.QUESTION_POINTS} for each question" in text


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8", newline="\n")
