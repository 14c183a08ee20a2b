"""The tests' own promise: no learner's record is touched, and what tests start inherits folders of the run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_what_tests_start_inherits_folders_of_this_run():
    scratch = Path(os.environ["IPYTHONDIR"]).parent
    for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "PREDICTIONS_FILE"):
        assert Path(os.environ[name]).parent == scratch
    assert scratch.parent == Path(tempfile.gettempdir())
    assert os.environ["PYTHONPATH"] == str(ROOT)
    assert "MPLBACKEND" not in os.environ


@pytest.mark.parametrize("number", [1, 2])
def test_each_test_has_a_record_of_its_own(number):
    record = Path(os.environ["PREDICTIONS_FILE"])
    assert not record.exists()
    record.write_text(str(number), encoding="utf-8")


WORK = "{}\n"
DAMAGES = {
    "writes one": "(HERE / 'notebooks/my_predictions.jsonl').write_text('x', encoding='utf-8')",
    "adds to one": "(HERE / 'my_notebooks/my_predictions.jsonl').write_text('x', encoding='utf-8')",
    "removes one": "(HERE / 'my_notebooks/my_predictions.jsonl').unlink()",
    "reads one": "(HERE / 'my_notebooks/my_predictions.jsonl').read_text(encoding='utf-8')",
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_run_that_touches_a_learners_record_is_red(damage, tmp_path):
    shutil.copy(ROOT / "conftest.py", tmp_path)
    for folder in ("notebooks", "my_notebooks"):
        (tmp_path / folder).mkdir()
    (tmp_path / "my_notebooks" / "my_predictions.jsonl").write_text(WORK, encoding="utf-8")
    test = f"from pathlib import Path\nHERE = Path(__file__).parent\ndef test_it():\n    {DAMAGES[damage]}\n"
    (tmp_path / "test_it.py").write_text(test, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, encoding="utf-8")
    assert "1 passed" in ran.stdout
    assert ran.returncode == (0 if damage == "reads one" else 1)
    assert ("touched a learner's record" in ran.stdout) == (damage != "reads one")
