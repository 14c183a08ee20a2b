"""Set up this course and open it. Needs nothing but Python 3.11 or newer.

    python start.py               install what the notebooks need, then open JupyterLab on your copy of them
    python start.py test          install what the tests need, then run them

The first run downloads into the folder .venv, beside this file; later runs start at once and work offline.
Your notebooks are in my_notebooks, copied from notebooks once; nothing here ever overwrites one of yours.

    --exact         (either)      install the exact versions in requirements-tested.txt
    --frameworks    (test)        also install PyTorch, JAX and Keras, and run their tests
    anything else                 is passed on, to `jupyter lab` (--no-browser, --port=8890) or to `pytest` (-x, -k softmax)
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


def main(arguments):
    """Do what the command line asks and return the exit code."""
    if {"-h", "--help"} & set(arguments):
        print(__doc__)
        return 0
    testing = arguments[:1] == ["test"]
    own = {"--exact", "--frameworks"} if testing else {"--exact"}
    passed_on = [argument for argument in arguments[testing:] if argument not in own]
    everything = "--frameworks" in arguments or os.environ.get("REQUIRE_EVERYTHING") == "1"

    make_environment()
    files = ["requirements-dev.txt" if testing else "requirements.txt"]
    if testing and everything:
        files.append("requirements-frameworks.txt")
    install(files, exact="--exact" in arguments)
    if testing:
        return run("-m", "pytest", *passed_on)

    copy_notebooks()
    check_helpers()
    print("Opening JupyterLab. Keep this window open while you work; Ctrl-C here stops it.", flush=True)
    return run("-m", "jupyterlab", "00_start_here.ipynb", *passed_on, folder=COPIES)


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
    if subprocess.run(
        [sys.executable, "-m", "venv", "--clear", str(VENV)], env=clean_environment()
    ).returncode:
        stop(f"The environment could not be made (reason above). Can you write in {ROOT}?")


def version_of(python):
    """Return (major, minor) of an environment that has pip, or None where it does not run."""
    code = "import sys, pip; print(*sys.version_info[:2])"
    try:
        answer = subprocess.run(
            [str(python), "-c", code], env=clean_environment(), capture_output=True, check=True
        )
        return tuple(int(number) for number in answer.stdout.split())
    except (OSError, subprocess.CalledProcessError):
        return None


def install(files, exact=False):
    """Have pip install requirements files, unless the very same were installed before."""
    constraints = ["requirements-tested.txt"] if exact else []
    wanted = {name: digest_of_requirements([name, *constraints]) for name in files}
    installed = read_json(STAMP)
    if all(installed.get(name) == digest for name, digest in wanted.items()):
        return
    much = "several minutes, 2 GB" if "requirements-frameworks.txt" in files else "a minute or two, 450 MB"
    print(f"Installing {', '.join(files)} (the first time {much}).", flush=True)
    options = [option for name in files for option in ("-r", name)] + [
        x for name in constraints for x in ("-c", name)
    ]
    UNFINISHED.touch()
    failed = run(
        "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options, waiting="still installing"
    )
    UNFINISHED.unlink()
    if failed:
        stop("pip could not install everything (reason above). Are you online? The same command tries again.")
    STAMP.write_text(json.dumps({**installed, **wanted}, indent=1), encoding="utf-8")


def digest_of_requirements(names):
    """Digest all that an install depends on: the files they name, the package, and where this folder lies."""
    texts = [
        (ROOT / name).read_text(encoding="utf-8") for name in [*names, "requirements.txt", "pyproject.toml"]
    ]
    return hashlib.sha256("\n".join([str(ROOT), *texts]).encode("utf-8")).hexdigest()


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
    code = "from importlib.util import find_spec; print(find_spec('helpers').origin)"
    command = [str(PYTHON), "-X", "utf8", "-c", code]
    answer = subprocess.run(
        command, cwd=COPIES, env=clean_environment(), capture_output=True, encoding="utf-8"
    )
    found, ours = answer.stdout.strip(), ROOT / "helpers" / "__init__.py"
    if not found:
        stop(f"The course's own package is not installed. Delete {VENV} and start again.\n{answer.stderr}")
    if not os.path.samefile(found, ours):
        stop(f"The notebooks would import {found} instead of {ours.parent}. Rename or move that file.")


def run(*arguments, folder=ROOT, waiting=None):
    """Run the environment's Python to its end; what it prints goes straight through. Return its exit code."""
    process = subprocess.Popen([str(PYTHON), *arguments], cwd=folder, env=clean_environment())
    seconds = 0
    while True:
        try:
            return process.wait(timeout=20 if waiting else None)
        except subprocess.TimeoutExpired:
            seconds += 20
            print(f"  {waiting}, {seconds} s", flush=True)
        except KeyboardInterrupt:  # the child has had Ctrl-C as well and ends in its own way
            waiting = None


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
            "This course needs Python 3.11 or newer; this is {}.{}. Get one from python.org.".format(
                *sys.version_info
            )
        )
    sys.exit(main(sys.argv[1:]))
