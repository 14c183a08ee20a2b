"""Keeps tests, and the kernels they start, away from the learner's own files and from the network."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent
RECORD = "my_predictions.jsonl"
_NUMBERS = itertools.count()
_SCRATCH = pytest.StashKey[Path]()
_RECORDS = pytest.StashKey[dict[Path, tuple[int, int]]]()

# Runs in each kernel before the first cell: a warning that a learner would see is an error, and a notebook
# that goes online finds no network.
KERNEL_STARTUP = """
def _settle():
    import socket
    import warnings

    for category in (UserWarning, RuntimeWarning, FutureWarning, SyntaxWarning):
        warnings.simplefilter("error", category)
    warnings.filterwarnings("error", module=r"__main__$|helpers(\\.|$)")
    connect = socket.socket.connect

    def connect_locally(self, address):
        inet = self.family in (socket.AF_INET, socket.AF_INET6)
        if inet and address[0] not in ("127.0.0.1", "::1", "localhost"):
            raise OSError(f"the tests run offline, and this notebook wants {address}")
        return connect(self, address)

    socket.socket.connect = connect_locally


_settle()
del _settle
"""


def pytest_configure(config: pytest.Config) -> None:
    """Point everything that kernels and tests inherit at a folder of this run's own."""
    scratch = Path(tempfile.mkdtemp(prefix="course-tests-"))
    config.stash[_SCRATCH] = scratch
    config.stash[_RECORDS] = _learner_records()
    startup = scratch / "ipython" / "profile_default" / "startup" / "settle.py"
    startup.parent.mkdir(parents=True)
    startup.write_text(KERNEL_STARTUP, encoding="utf-8")
    os.environ.update(
        {
            "PREDICTIONS_FILE": str(scratch / RECORD),
            "JUPYTER_CONFIG_DIR": str(scratch / "config"),
            "JUPYTER_DATA_DIR": str(scratch / "data"),
            "JUPYTER_RUNTIME_DIR": str(scratch / "runtime"),
            "IPYTHONDIR": str(scratch / "ipython"),
            "PYTHONPATH": str(ROOT),  # kernels test this checkout, not a helpers installed from elsewhere
            "PYTHONWARNDEFAULTENCODING": "1",  # a file that helpers open without an encoding is an error,
            "PYTHONWARNINGS": "ignore::EncodingWarning",  # one that other packages open so is not
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
            "KERAS_BACKEND": "jax",
            "JAX_PLATFORMS": "cpu",
            "TF_CPP_MIN_LOG_LEVEL": "3",
        }
    )
    os.environ.pop("MPLBACKEND", None)  # kernels would take it instead of drawing in the page
    os.environ.pop("EXPLANATIONS", None)

    import matplotlib

    matplotlib.use("agg")


def pytest_unconfigure(config: pytest.Config) -> None:
    shutil.rmtree(config.stash[_SCRATCH], ignore_errors=True)


@pytest.fixture(autouse=True)
def _own_record(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give each test a record of its own; what nbval runs knows no fixtures and keeps the run's."""
    record = request.config.stash[_SCRATCH] / f"{next(_NUMBERS)}.jsonl"
    monkeypatch.setenv("PREDICTIONS_FILE", str(record))


def _learner_records() -> dict[Path, tuple[int, int]]:
    """Size and time of each record that lies where a learner's would, except in the environment."""
    folders = [ROOT, *(folder for folder in ROOT.iterdir() if folder.is_dir() and folder.name[0] != ".")]
    records = [path for folder in folders for path in folder.glob(RECORD + "*")]
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in records}


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail the run when a learner's record was written, changed or removed."""
    before, after = session.config.stash[_RECORDS], _learner_records()
    touched = [path for path in before.keys() | after.keys() if before.get(path) != after.get(path)]
    if touched:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
        print(f"\nThe tests touched a learner's record: {', '.join(map(str, touched))}")
