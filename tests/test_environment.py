"""What the start notebook says of the environment: versions, gaps and how to fill them, whose helpers."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from helpers import environment

ROOT = Path(environment.__file__).resolve().parent.parent


@pytest.fixture
def without(monkeypatch):
    """Make packages look as if they were not installed."""

    def hide(*names: str) -> None:
        find = importlib.util.find_spec
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name in names else find(name))

    return hide


def test_versions_are_those_of_the_packages():
    import numpy

    rows = dict(environment.report().rows)
    assert rows["numpy"] == numpy.__version__
    assert sys.executable in rows["Python"]
    assert Path(rows["helpers"]) == ROOT / "helpers"


def test_the_record_is_where_predictions_go(monkeypatch, tmp_path):
    monkeypatch.setenv("PREDICTIONS_FILE", str(tmp_path / "mine.jsonl"))
    assert dict(environment.report().rows)["record"] == str(tmp_path / "mine.jsonl")


def test_what_is_missing_is_one_line_with_the_way_to_get_it(without):
    without("torch", "jax", "keras")
    report = environment.report()
    how = "`python start.py --frameworks` in the course's folder gets them"
    assert report.remarks == (f"Not installed, optional: torch, jax, keras; {how}.",)
    assert dict(report.rows)["jax"] == "not installed"


def test_what_is_needed_is_told_apart(without):
    without("ipywidgets", "keras")
    needed, *_ = environment.report().remarks
    assert needed == "Not installed, needed: ipywidgets; `python start.py` in the course's folder gets it."


def test_nothing_is_imported_to_know_its_version():
    code = """
import sys
from helpers.environment import report
print(report())
print(*{"torch", "jax", "keras", "matplotlib", "jupyterlab"} & set(sys.modules))
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8")
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[-1] == ""


def test_a_package_that_cannot_say_its_version_is_there_all_the_same(monkeypatch, tmp_path):
    (tmp_path / "keras.py").write_text("", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)

    def unknown(name):
        raise environment.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(environment.metadata, "version", unknown)
    assert environment.version("keras") == "of unknown version"


@pytest.mark.parametrize("form", ["helpers.py", "helpers/__init__.py", "helpers/readme.txt"])
def test_another_helpers_is_found(form, tmp_path, monkeypatch):
    other = tmp_path / form
    other.parent.mkdir(exist_ok=True)
    other.write_text("", encoding="utf-8")
    place = other if form == "helpers.py" else other.parent
    assert environment.other_helpers([str(tmp_path), str(ROOT), str(tmp_path)]) == [place]
    monkeypatch.syspath_prepend(tmp_path)
    remark = next(remark for remark in environment.report().remarks if "Another helpers" in remark)
    assert str(place) in remark


def test_the_folder_a_kernel_starts_in_counts(tmp_path, monkeypatch):
    (tmp_path / "helpers.py").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert environment.other_helpers(["", str(ROOT)]) == [tmp_path / "helpers.py"]
    assert environment.other_helpers([str(ROOT), str(tmp_path / "nowhere")]) == []


def test_notebooks_of_another_copy_of_the_course_are_noticed(tmp_path, monkeypatch):
    (tmp_path / "start.py").write_text("", encoding="utf-8")
    (tmp_path / "my_notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "my_notebooks")
    assert any(f"belong to {tmp_path}, but" in remark for remark in environment.report().remarks)
    monkeypatch.chdir(ROOT / "notebooks")
    assert not any("belong to" in remark for remark in environment.report().remarks)


def test_the_table_is_a_real_one_and_escaped():
    report = environment.Report((("a<b", "1 & 2"),), ("use `x`",))
    html = report._repr_html_()
    assert '<th scope="row" style="text-align:left">a&lt;b</th>' in html
    assert "1 &amp; 2" in html
    assert str(report) == "a<b  1 & 2\nuse `x`"
