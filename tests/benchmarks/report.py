"""
How long a report takes, and how much memory, for growing classes: ``python -m tests.benchmarks.report``.

Each student hands in the whole course with outputs, two megabytes. The bar is 10 s and 300 MB
for 1,000 on two processors, and at most twice the time for twice the students; "ratio" is that to the size before.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from tests.class_of import make

SIZES = (250, 500, 1000)


def measured(command: list[str]) -> tuple[float, float]:
    """Seconds, and the largest sum of the memory of all processes in MB."""
    started, largest = time.perf_counter(), 0
    process = psutil.Popen(command, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        try:
            family = [process, *process.children(recursive=True)]
            largest = max(largest, sum(map(held, family)))
        except psutil.NoSuchProcess:
            pass
        time.sleep(0.2)
    assert process.returncode == 0, command
    return time.perf_counter() - started, largest / 2**20


def held(process: psutil.Process) -> int:
    """Bytes in memory; on Linux each page that several processes share is shared out among them."""
    return process.memory_full_info().pss if psutil.LINUX else process.memory_info().rss


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--workers", default="2")
    parser.add_argument("--zipped", action="store_true")
    chosen = parser.parse_args()
    print(f"{'students':>8} {'command':<26} {'s':>6} {'ms each':>8} {'ratio':>6} {'MB':>6}")
    before: dict[str, float] = {}
    for size in chosen.sizes:
        with tempfile.TemporaryDirectory() as folder:
            made = str(make(Path(folder) / "class", size, zipped=chosen.zipped))
            kept, shown = f"{folder}/kept", f"{folder}/shown"
            base = [sys.executable, "-m", "helpers.classroom"]
            workers = ["--workers", chosen.workers]
            for name, command in {
                "report of submissions": ["report", made, "--to", shown],
                "collect": ["collect", made, "--to", kept],
                "report of what it wrote": ["report", kept, "--to", shown],
            }.items():
                seconds, megabytes = measured([*base, *command, *workers])
                ratio = f"{seconds / before[name]:.2f}" if name in before else ""
                before[name], each = seconds, 1000 * seconds / size
                print(f"{size:>8} {name:<26} {seconds:>6.1f} {each:>8.1f} {ratio:>6} {megabytes:>6.0f}")


if __name__ == "__main__":
    main()
