"""The start command, in a project of its own where a tiny package stands in for JupyterLab and pytest."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import runpy
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

START = Path(__file__).resolve().parent.parent / "start.py"

# Says what it was started with; the last argument may ask for an exit code.
STAND_IN = """
import json, os, sys
inherited = sorted({"PYTHONPATH", "VIRTUAL_ENV"} & set(os.environ))
print(json.dumps({"module": __spec__.name, "arguments": sys.argv[1:], "folder": os.getcwd(),
                  "prefix": sys.prefix, "inherited": inherited}))
sys.exit(int(sys.argv[-1]) if sys.argv[-1].isdigit() else 0)
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a project with the real start.py, in a folder with a space and letters beyond ASCII."""
    root = tmp_path / "my cöurse"
    (root / "notebooks").mkdir(parents=True)
    (root / "helpers").mkdir()
    shutil.copy(START, root)
    for name in ("00_start_here", "01_one_row"):
        (root / "notebooks" / f"{name}.ipynb").write_bytes(b'{"cells": [],\n "metadata": {}}\n')
    (root / "helpers" / "__init__.py").write_text("", encoding="utf-8")
    (root / "pyproject.toml").write_text("", encoding="utf-8")
    (root / "requirements.txt").write_text("./stand_in-1.0-py3-none-any.whl\n", encoding="utf-8")
    for name in ("requirements-dev.txt", "requirements-frameworks.txt", "requirements-tested.txt"):
        (root / name).write_text("", encoding="utf-8")
    with zipfile.ZipFile(root / "stand_in-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("jupyterlab.py", STAND_IN)
        wheel.writestr("pytest.py", STAND_IN)
        wheel.writestr("course.pth", f"import sys; sys.path.append({str(root)!a})")  # as `-e .` does
        metadata = "Metadata-Version: 2.1\nName: stand-in\nVersion: 1.0\n"
        wheel.writestr("stand_in-1.0.dist-info/METADATA", metadata)
        wheel.writestr("stand_in-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("stand_in-1.0.dist-info/RECORD", "")
    return root


@pytest.fixture
def start(project: Path) -> ModuleType:
    """Import the project's start.py."""
    spec = importlib.util.spec_from_file_location("start_under_test", project / "start.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def command(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess:
    """Run the start command as a person does, but from some other folder."""
    return subprocess.run(
        [sys.executable, "-X", "utf8", str(project / "start.py"), *arguments],
        cwd=project.parent,
        env={**os.environ, "PIP_NO_INDEX": "1", **environment},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )


def last_line(run: subprocess.CompletedProcess) -> dict:
    return json.loads(run.stdout.splitlines()[-1])


def test_the_life_of_a_project(project):
    first = command(project, "--no-browser", PYTHONPATH=str(project.parent), VIRTUAL_ENV="/elsewhere")
    assert first.returncode == 0, first.stderr
    assert "Making a Python environment" in first.stdout
    assert "Installing requirements.txt" in first.stdout
    assert "00_start_here.ipynb, 01_one_row.ipynb" in first.stdout
    ran = last_line(first)
    assert ran["module"] == "jupyterlab"
    assert os.path.samefile(ran["folder"], project / "my_notebooks")
    assert os.path.samefile(ran["prefix"], project / ".venv"), "the environment's Python, whichever is active"
    assert ran["inherited"] == [], "nothing of another environment gets in"
    option, _, served = ran["arguments"][0].partition("=")
    assert option == "--ServerApp.root_dir"
    assert os.path.samefile(served, project / "my_notebooks")
    assert ran["arguments"][1:] == ["--LabApp.default_url=/lab/tree/00_start_here.ipynb", "--no-browser"]

    shutil.move(project / "stand_in-1.0-py3-none-any.whl", project.parent)  # as good as no network
    second = command(project)
    assert second.returncode == 0, second.stderr
    assert "Installing" not in second.stdout
    assert "Making" not in second.stdout

    tested = command(project, "test", "-k", "softmax", "3")
    assert "pip could not install everything" in tested.stderr, "what is needed and cannot be had is told"
    assert tested.returncode == 1
    assert command(project).returncode == 0, "and what worked goes on working"

    shutil.move(project.parent / "stand_in-1.0-py3-none-any.whl", project)
    tested = command(project, "test", "-k", "softmax", "3")
    assert tested.returncode == 3, "the exit code of pytest passes through"
    assert last_line(tested)["module"] == "pytest"
    assert last_line(tested)["arguments"] == ["-k", "softmax", "3"]
    assert os.path.samefile(last_line(tested)["folder"], project)
    assert "Installing" not in command(project).stdout, "a later start installs nothing again"

    (project / ".venv" / "unfinished").touch()  # as a pip that was killed leaves it
    (project / ".venv" / "left_over").touch()
    again = command(project)
    assert again.returncode == 0, again.stderr
    assert "again: the last attempt did not finish" in again.stdout
    assert not (project / ".venv" / "left_over").exists()


def no_call(*_, **__):
    raise AssertionError("this must not be called")


def test_a_half_made_environment_is_made_again(start, monkeypatch):
    start.VENV.mkdir()
    made = []
    done = subprocess.CompletedProcess([], 0)
    monkeypatch.setattr(start.subprocess, "run", lambda command, **_: made.append(command) or done)
    monkeypatch.setattr(start, "version_of", lambda _: None)
    start.make_environment()
    assert made == [[sys.executable, "-m", "venv", "--clear", str(start.VENV)]]


def test_a_python_that_does_not_run_has_no_version(start, tmp_path):
    broken = tmp_path / "python"
    assert start.version_of(broken) is None
    broken.write_text("not a program", encoding="utf-8")
    assert start.version_of(broken) is None
    assert start.version_of(sys.executable) == sys.version_info[:2]


def test_a_working_environment_is_left_alone(start, monkeypatch):
    start.VENV.mkdir()
    monkeypatch.setattr(start, "version_of", lambda _: (3, 13))
    monkeypatch.setattr(start.subprocess, "run", no_call)
    start.make_environment()


def test_an_environment_that_is_too_old_is_told_and_kept(start, monkeypatch):
    start.VENV.mkdir()
    monkeypatch.setattr(start, "version_of", lambda _: (3, 9))
    monkeypatch.setattr(start.subprocess, "run", no_call)
    with pytest.raises(SystemExit, match=r"holds Python 3\.9, too old\. Delete that folder"):
        start.make_environment()


def test_without_ensurepip_the_package_to_install_is_named(start, monkeypatch):
    monkeypatch.setattr(start.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(start.subprocess, "run", no_call)
    with pytest.raises(SystemExit, match="sudo apt install python3-venv"):
        start.make_environment()
    assert not start.VENV.exists()


def test_an_old_python_is_told_what_to_do(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 1, "final", 0))
    with pytest.raises(SystemExit, match=r"needs Python 3\.11 or newer.*this is 3\.9"):
        runpy.run_path(str(START), run_name="__main__")


def test_an_old_python_can_read_the_file_and_any_console_print_it():
    source = START.read_text(encoding="ascii")
    ast.parse(source, feature_version=(3, 7))
    imported = {
        alias.name.split(".")[0] if isinstance(node, ast.Import) else node.module
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    assert imported <= sys.stdlib_module_names


def test_help_is_the_docstring_and_installs_nothing(start, monkeypatch, capsys):
    monkeypatch.setattr(start, "make_environment", no_call)
    assert start.main(["test", "--help"]) == 0
    assert "python start.py test" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "everything", "files"),
    [
        ([], "", ["requirements.txt"]),
        (["--frameworks"], "", ["requirements.txt", "requirements-frameworks.txt"]),
        (["test"], "", ["requirements.txt", "requirements-dev.txt"]),
        (["test"], "1", ["requirements.txt", "requirements-dev.txt", "requirements-frameworks.txt"]),
    ],
)
def test_each_command_installs_what_it_needs(start, monkeypatch, arguments, everything, files):
    asked = []
    monkeypatch.setenv("REQUIRE_EVERYTHING", everything)
    monkeypatch.setattr(start, "install", lambda names, exact: asked.append((names, exact)))
    for name in ("make_environment", "copy_notebooks", "check_helpers", "quieten_jupyterlab"):
        monkeypatch.setattr(start, name, lambda: None)
    monkeypatch.setattr(start, "run", lambda *command, **_: command)
    for exact in (False, True):
        command = start.main([*arguments, *(["--exact"] if exact else []), "-x"])
        assert command[-1] == "-x"
        assert not {"--exact", "--frameworks", "test"} & set(command)
        assert asked.pop() == (files, exact)


def test_an_install_is_done_again_when_what_it_depends_on_changed(start):
    def digest(constraints=()):
        return start.digest_of_requirements(["requirements-dev.txt", *constraints])

    before = digest()
    assert before == digest()
    assert before != digest(["requirements-tested.txt"])
    for name in ("requirements.txt", "requirements-dev.txt", "pyproject.toml"):
        (start.ROOT / name).write_text("# changed\n", encoding="utf-8")
        assert before != digest(), name
        before = digest()
    start.ROOT = start.ROOT.parent / "moved"
    shutil.copytree(START.parent / "notebooks", start.ROOT)
    for name in ("requirements.txt", "requirements-dev.txt", "pyproject.toml"):
        (start.ROOT / name).write_text("# changed\n", encoding="utf-8")
    assert before != digest(), "an editable install does not follow a folder that moved"


def notebook(folder: Path, number: str) -> Path:
    return next(folder.glob(f"{number}*.ipynb"))


def test_a_learners_copy_is_never_overwritten(start, capsys):
    start.copy_notebooks()
    mine = notebook(start.COPIES, "01")
    assert mine.read_bytes() == notebook(start.SOURCE, "01").read_bytes()
    mine.write_text("my work", encoding="utf-8")
    start.copy_notebooks()
    assert "Newer" not in capsys.readouterr().out

    notebook(start.SOURCE, "01").write_text("a better one", encoding="utf-8")
    (start.SOURCE / "02_new.ipynb").write_text("{}", encoding="utf-8")
    start.copy_notebooks()
    told = capsys.readouterr().out
    assert mine.read_text(encoding="utf-8") == "my work"
    assert "Copied" in told
    assert "02_new.ipynb" in told
    assert "Newer than your copy, which is kept: 01_one_row.ipynb\nTo take a new one, rename yours" in told

    mine.rename(mine.with_stem("01_mine"))
    start.copy_notebooks()
    assert "Newer" not in capsys.readouterr().out
    assert mine.read_text(encoding="utf-8") == "a better one"
    assert mine.with_stem("01_mine").read_text(encoding="utf-8") == "my work"


def test_a_copy_that_was_not_worked_in_is_not_overwritten_either(start, capsys):
    start.copy_notebooks()
    before = notebook(start.COPIES, "01").read_bytes()
    notebook(start.SOURCE, "01").write_text("a better one", encoding="utf-8")
    start.copy_notebooks()
    assert notebook(start.COPIES, "01").read_bytes() == before
    assert "Newer than your copy" in capsys.readouterr().out


def test_line_ends_are_no_news(start, capsys):
    start.copy_notebooks()
    source = notebook(start.SOURCE, "01")
    source.write_bytes(source.read_bytes().replace(b"\n", b"\r\n"))
    start.copy_notebooks()
    assert "Newer" not in capsys.readouterr().out


@pytest.mark.parametrize("content", ["", "{", "[1, 2]", "null"])
def test_a_damaged_list_of_copies_loses_no_work(start, content):
    start.copy_notebooks()
    notebook(start.COPIES, "01").write_text("my work", encoding="utf-8")
    start.COPIED.write_text(content, encoding="utf-8")
    start.copy_notebooks()
    assert notebook(start.COPIES, "01").read_text(encoding="utf-8") == "my work"


def test_a_foreign_helpers_is_named(start, monkeypatch):
    monkeypatch.setattr(start, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(start, "clean_environment", lambda: {**os.environ, "PYTHONPATH": str(start.ROOT)})
    start.copy_notebooks()
    start.check_helpers()
    foreign = start.COPIES / "helpers.py"
    foreign.write_text("def helper(): ...\n", encoding="utf-8")
    with pytest.raises(SystemExit) as stopped:
        start.check_helpers()
    assert str(foreign) in str(stopped.value)
    assert "Rename or move that file" in str(stopped.value)


def test_helpers_that_are_not_installed_are_missed(start, monkeypatch):
    nothing = subprocess.CompletedProcess([], 0, stdout="\n")
    monkeypatch.setattr(start.subprocess, "run", lambda *_, **__: nothing)
    with pytest.raises(SystemExit, match="package is not installed"):
        start.check_helpers()


def test_jupyterlab_is_kept_from_asking_about_its_own_news(start):
    start.quieten_jupyterlab()
    start.quieten_jupyterlab()
    settings = start.VENV / "share" / "jupyter" / "lab" / "settings" / "overrides.json"
    quiet = json.loads(settings.read_text(encoding="utf-8"))["@jupyterlab/apputils-extension:notification"]
    assert quiet == {"fetchNews": "false", "checkForUpdates": False}
