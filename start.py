"""Set up this course and open it. Needs nothing but Python 3.11 or newer.

    python start.py          install what the notebooks need, then open JupyterLab on your copy of them
    python start.py test     install what the tests need, then run them

The first run downloads into the folder .venv, beside this file; later runs start at once and work offline.
Your notebooks are in my_notebooks, copied from notebooks; nothing here ever overwrites one of yours.

    --exact         install the exact versions in requirements-tested.txt
    --frameworks    also install PyTorch, JAX and Keras, which some notebooks and tests compare with
    other options   are passed on, to jupyter lab (--no-browser, --port=8890) or to pytest (-x, -k softmax)
"""

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST = (3, 11)
ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
PYTHON = VENV / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
STAMP = VENV / "installed.json"  # what was installed, as a digest of each requirements file
UNFINISHED = VENV / "unfinished"  # there while pip works: still there later means it was interrupted
SOURCE = ROOT / "notebooks"
COPIES = ROOT / "my_notebooks"
COPIED = COPIES / ".copied.json"  # digest of each notebook when it was copied
FIRST_TIME = {
    "requirements.txt": "a minute or two, 450 MB",
    "requirements-dev.txt": "a minute or two, 650 MB",
    "requirements-frameworks.txt": "several minutes, 2 to 6 GB",
}


def main(arguments):
    """Do what the command line asks and return the exit code."""
    if {"-h", "--help"} & set(arguments):
        print(__doc__)
        return 0
    testing = arguments[:1] == ["test"]
    own = {"--exact", "--frameworks"}
    passed_on = [argument for argument in arguments[testing:] if argument not in own]

    files = ["requirements.txt"]
    if testing:
        files.append("requirements-dev.txt")
    if "--frameworks" in arguments or os.environ.get("REQUIRE_EVERYTHING") == "1":
        files.append("requirements-frameworks.txt")
    make_environment()
    install(files, exact="--exact" in arguments)
    if testing:
        return run("-m", "pytest", *passed_on)

    copy_notebooks()
    check_helpers()
    quieten_jupyterlab()
    print("Opening JupyterLab. Keep this window open while you work; Ctrl-C here stops it.", flush=True)
    options = [f"--ServerApp.root_dir={COPIES}", "--LabApp.default_url=/lab/tree/00_start_here.ipynb"]
    return run("-m", "jupyterlab", *options, *passed_on, folder=COPIES)


def make_environment():
    """Make the virtual environment, unless a working one is there."""
    if VENV.exists() and not UNFINISHED.exists():
        found = version_of(PYTHON)
        if found and found < OLDEST:
            stop("{} holds Python {}.{}, too old. Delete that folder and start again.".format(VENV, *found))
        if found:
            return
    if importlib.util.find_spec("ensurepip") is None:
        stop("This Python lacks a part that Debian and Ubuntu package apart: sudo apt install python3-venv")
    again = " again: the last attempt did not finish" if VENV.exists() else ""
    print(f"Making a Python environment in {VENV}{again}.", flush=True)
    command = [sys.executable, "-m", "venv", "--clear", str(VENV)]
    if subprocess.run(command, env=clean_environment()).returncode:
        stop(f"The environment could not be made (reason above). Can you write in {ROOT}?")


def version_of(python):
    """Return (major, minor) of an environment that has pip, or None where it does not run."""
    command = [str(python), "-c", "import sys, pip; print(*sys.version_info[:2])"]
    try:
        answer = subprocess.run(command, env=clean_environment(), capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return tuple(int(number) for number in answer.stdout.split())


def install(files, exact=False):
    """Have pip install requirements files, unless the very same were installed before."""
    constraints = ["requirements-tested.txt"] if exact else []
    wanted = {name: digest_of_requirements([name, *constraints]) for name in files}
    installed = read_json(STAMP)
    if all(installed.get(name) == digest for name, digest in wanted.items()):
        return
    print(f"Installing {', '.join(files)} (the first time {FIRST_TIME[files[-1]]}).", flush=True)
    options = [f"--requirement={name}" for name in files] + [f"--constraint={name}" for name in constraints]
    UNFINISHED.touch()
    process = start("-m", "pip", "install", "--quiet", "--quiet", "--disable-pip-version-check", *options)
    seconds = 0
    while process.poll() is None:
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            seconds += 20
            print(f"  still installing, {seconds} s", flush=True)
    UNFINISHED.unlink()
    if process.returncode:
        stop("pip could not install everything (reason above). Are you online? The same command tries again.")
    STAMP.write_text(json.dumps({**installed, **wanted}, indent=1), encoding="utf-8")


def digest_of_requirements(names):
    """Digest all that an install depends on: the files named, the package, and where this folder lies."""
    names = [*names, "requirements.txt", "pyproject.toml"]
    texts = [str(ROOT), *((ROOT / name).read_text(encoding="utf-8") for name in names)]
    return hashlib.sha256("\n".join(texts).encode("utf-8")).hexdigest()


def copy_notebooks():
    """Give the learner a copy of each notebook they have none of; never touch one that is there."""
    COPIES.mkdir(exist_ok=True)
    copied = read_json(COPIED)
    added, changed = [], []
    for notebook in sorted(SOURCE.glob("*.ipynb")):
        copy = COPIES / notebook.name
        digest = hashlib.sha256(notebook.read_bytes().replace(b"\r\n", b"\n")).hexdigest()
        if not copy.exists():
            shutil.copyfile(notebook, copy)
            copied[notebook.name] = digest
            added.append(notebook.name)
        elif copied.setdefault(notebook.name, digest) != digest:
            changed.append(notebook.name)
    COPIED.write_text(json.dumps(copied, indent=1), encoding="utf-8")
    if added:
        print(f"Copied to {COPIES}: {', '.join(added)}")
    if changed:
        print(f"Newer than your copy, which is kept: {', '.join(changed)}")
        print("To take a new one, rename yours in my_notebooks and start again.")


def check_helpers():
    """Refuse to start where notebooks would import some other module called helpers."""
    code = "from importlib.util import find_spec; print(getattr(find_spec('helpers'), 'origin', None) or '')"
    command = [str(PYTHON), "-X", "utf8", "-c", code]
    options = {"cwd": COPIES, "env": clean_environment(), "capture_output": True, "encoding": "utf-8"}
    found = subprocess.run(command, **options).stdout.strip()
    ours = ROOT / "helpers" / "__init__.py"
    if not found:
        stop(f"The course's own package is not installed. Delete {VENV} and start again.")
    if not (os.path.exists(found) and os.path.samefile(found, ours)):
        stop(f"Notebooks would import {found}, not helpers from {ours.parent}. Rename or move that file.")


def quieten_jupyterlab():
    """Keep JupyterLab from asking about its own news before the course has asked anything."""
    settings = VENV / "share" / "jupyter" / "lab" / "settings"
    settings.mkdir(parents=True, exist_ok=True)
    quiet = {"@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False}}
    (settings / "overrides.json").write_text(json.dumps(quiet, indent=1), encoding="utf-8")


def start(*arguments, folder=ROOT):
    """Start the environment's Python; what it prints goes straight through."""
    return subprocess.Popen([str(PYTHON), *arguments], cwd=folder, env=clean_environment())


def run(*arguments, folder=ROOT):
    """Run the environment's Python to its end and return its exit code."""
    process = start(*arguments, folder=folder)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            pass  # the child has had Ctrl-C as well, and ends in its own way


def clean_environment():
    """Return the environment variables without those that would let another Python's packages in."""
    hidden = {"PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__"}
    kept = {name: value for name, value in os.environ.items() if name not in hidden}
    return {**kept, "PIP_USER": "0", "JUPYTER_PREFER_ENV_PATH": "1"}


def read_json(path):
    """Read one of our own small files; one that is missing or damaged counts as empty."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return {}


def stop(reason):
    """End with one sentence that says what to do."""
    sys.exit(f"\n{reason}")


if __name__ == "__main__":
    if sys.version_info < OLDEST:
        stop(
            "This course needs Python 3.11 or newer, from python.org; this is {}.{}.".format(
                *sys.version_info
            )
        )
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        stop("Interrupted. The same command goes on from here.")
