"""The package as others get it: a wheel with all its data, and requirements that agree with each other."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a wheel from a copy of the sources, offline."""
    source, built = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT / "helpers", source / "helpers", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", "LICENSE-TEXT"):
        shutil.copy(ROOT / name, source)
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--wheel-dir", str(built)]
    command = [sys.executable, "-m", "pip", "wheel", *options, str(source)]
    ran = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert ran.returncode == 0, ran.stderr
    (path,) = built.glob("*.whl")
    return path


def test_the_wheel_holds_every_file_of_the_package_and_no_other(wheel):
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    files = [path for path in (ROOT / "helpers").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert inside == {path.relative_to(ROOT).as_posix() for path in files}


def test_the_wheel_carries_both_licences(wheel):
    names = {Path(name).name for name in zipfile.ZipFile(wheel).namelist()}
    assert {"LICENSE", "LICENSE-TEXT"} <= names


def test_the_wheel_works_in_another_folder(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    code = """
import helpers, numpy as np
from helpers import check, diagnose, figures, predict
from helpers import questions
assert helpers.__file__.startswith(r"{place}"), helpers.__file__
assert questions.load()
predict("01-weights", [0.67, 0.33], because="closer", sure=2)
print(diagnose("01-weights", [1.0, 0.0]), check("01-softmax", lambda scores: np.exp(scores)).misconception)
print(figures.weights(np.eye(2)).text)
""".replace("{place}", str(tmp_path / "installed"))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed")}
    environment["PREDICTIONS_FILE"] = str(tmp_path / "record.jsonl")
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8"
    )
    assert ran.returncode == 0, ran.stderr
    assert "lookup not-normalised" in ran.stdout
    assert (tmp_path / "record.jsonl").exists()


def requirements(name: str) -> list[Requirement]:
    """Read the requirements of a file; options, comments and empty lines are left out."""
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [Requirement(line.split("#")[0]) for line in lines if re.match(r"[A-Za-z]", line)]


def test_requirements_and_package_ask_for_the_same():
    asked = {requirement.name: requirement.specifier for requirement in requirements("requirements.txt")}
    for needed in map(Requirement, PROJECT["dependencies"]):
        assert asked[needed.name] == needed.specifier, f"{needed.name} differs in requirements.txt"
    assert (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()[-1] == "-e ."


def test_the_tested_versions_are_exact_and_within_the_ranges():
    tested: dict[str, list[str]] = {}
    for requirement in requirements("requirements-tested.txt"):
        ((exact, version),) = ((part.operator, part.version) for part in requirement.specifier)
        assert exact == "==", f"{requirement} is no exact version"
        tested.setdefault(canonicalize_name(requirement.name), []).append(version)
    for name in ("requirements.txt", "requirements-dev.txt", "requirements-frameworks.txt"):
        for requirement in requirements(name):
            assert tested.get(requirement.name), f"{requirement.name} has no tested version"
            for version in tested[requirement.name]:
                assert requirement.specifier.contains(version), f"{requirement} excludes the tested {version}"


def test_what_helpers_import_is_declared_and_what_is_declared_is_imported():
    imported = set()
    for path in (ROOT / "helpers").rglob("*.py"):
        source = path.read_text(encoding="utf-8")
        imported |= set(re.findall(r"^\s*(?:from|import) ([A-Za-z_]\w*)", source, flags=re.M))
    packages = {"IPython": "ipython", "markdown_it": "markdown-it-py", "PIL": "pillow"}
    optional = {"torch", "jax", "keras"}
    used = {packages.get(name, name) for name in imported - set(sys.stdlib_module_names)} - optional
    assert used == {Requirement(line).name for line in PROJECT["dependencies"]}
