"""What is committed stays: several kernels at once, killed kernels, full disks, damaged files, odd places."""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from filelock import FileLock, Timeout

from helpers.predictions import record as module
from helpers.predictions.record import BECAUSE_LIMIT, Record, make_line, record_path

FOLDER = Path(
    module.__file__
).parent  # the scripts below import record.py alone: a kernel's worth is not needed
posix = pytest.mark.skipif(os.name != "posix", reason="needs POSIX: fork, pipes or resource limits")


def line(question="01-weights", **fields):
    fields = {"version": 1, "variant": "base", "notebook": "01_one_row_by_hand", "kind": "row"} | fields
    return make_line(
        question=question, **{"answer": ["0.67", "0.33"], "because": "closer", "sure": 2} | fields
    )


def raw(**fields):
    """A line as the file holds it, with some fields replaced, or left out if None is given as a type."""
    whole = line() | fields
    return json.dumps({name: value for name, value in whole.items() if value is not NotImplemented}).encode()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "my_predictions.jsonl"


# A line


def test_a_line_holds_what_was_promised_and_reads_back_the_same(path):
    committed = line(because="näher ≈ größer", answer=[["0,67", "⅓"], ["1", "0"]])
    assert Record(path).append(committed).on_disk
    text = path.read_bytes()
    assert text.endswith(b"\n") and text.count(b"\n") == 1 and b"\r" not in text
    assert "näher ≈ größer".encode() in text
    assert json.loads(text) == committed == Record(path).lines()[0]
    names = "format, question, version, variant, notebook, kind, answer, because, sure, attempt, time"
    assert ", ".join(committed) == names
    assert committed["format"] == 1 and committed["attempt"] == 1 and committed["time"].endswith("Z")


@pytest.mark.parametrize(
    "answer", ["flatter", "0.67", ["1", "2/3"], [["1"], ["0"]], [4, 3], [[1, 0], [1, 1]], []]
)
def test_every_kind_of_answer_is_kept(path, answer):
    record = Record(path)
    record.append(line(answer=answer))
    assert record.latest("01-weights")["answer"] == Record(path).latest("01-weights")["answer"] == answer


def test_not_knowing_yet_is_an_answer(path):
    assert Record(path).append(line(answer=None, sure=None, because="")).on_disk
    assert Record(path).first("01-weights")["answer"] is None


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sure": 4}, "sure is 1, 2, 3 or null, not 4"),
        ({"sure": True}, "sure"),
        ({"sure": None}, "sure is 1, 2 or 3 with an answer"),
        ({"answer": None}, "null without one"),
        ({"answer": 0.67}, "answer"),
        ({"answer": [0.67]}, "answer"),
        ({"answer": [[[["0"]]]]}, "answer"),
        ({"answer": {"key 0": "1"}}, "answer"),
        ({"question": ""}, "question is a question's id, not ''"),
        ({"version": 0}, "version is a whole number from 1, not 0"),
        ({"version": "1"}, "version"),
        ({"variant": None}, "variant"),
        ({"attempt": 1.0}, "attempt"),
        ({"time": "yesterday"}, "time is a date and time, not 'yesterday'"),
    ],
)
def test_a_line_that_would_be_skipped_is_not_made(path, fields, message):
    with pytest.raises(ValueError, match=message):
        line(**fields)
    with pytest.raises(ValueError, match=message):
        Record(path).append(line() | fields)
    assert not path.exists()


def test_a_reason_is_one_line_of_a_sane_length_in_unicode():
    assert line(because=" it\nreads\r\n\tmore ")["because"] == "it reads more"
    long = line(because="x" * 1_000_000)["because"]
    assert len(long) == BECAUSE_LIMIT and long.endswith("x…")
    assert line(because="x" * BECAUSE_LIMIT)["because"] == "x" * BECAUSE_LIMIT
    assert line(because="a\ud83d\ude00b")["because"] == "a😀b"
    assert line(because="a\ud83db\u2028c", answer="\udc00")["because"] == "a\ufffdb c"


def test_a_line_built_by_hand_is_written_whole_whatever_it_holds(path):
    record = Record(path)
    odd = line() | {"because": "x" * 1_000_000 + "\ud800\n\0", "later": {"format": 1}}
    assert record.append(odd).on_disk and record.append(line()).on_disk
    assert [len(one["because"]) for one in Record(path).lines()] == [1_000_003, 6]
    assert not record.problems


def test_it_is_on_disk_before_append_returns(path, monkeypatch):
    real, held = os.fsync, []
    monkeypatch.setattr(
        module.os, "fsync", lambda descriptor: held.append(path.read_bytes()) or real(descriptor)
    )
    Record(path).append(line())
    assert held == [path.read_bytes()]


# A record


def test_where_it_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PREDICTIONS_FILE", raising=False)
    assert record_path() == Record().path == tmp_path / "my_predictions.jsonl"
    monkeypatch.setenv("PREDICTIONS_FILE", "elsewhere.jsonl")
    assert record_path() == tmp_path / "elsewhere.jsonl"
    monkeypatch.setenv("PREDICTIONS_FILE", "~/mine.jsonl")
    assert record_path() == Path.home() / "mine.jsonl"


def test_first_counts_and_changes_of_mind_follow(path):
    record = Record(path)
    assert record.lines() == [] and record.first("01-weights") is record.latest("01-weights") is None
    record.append(line(sure=1))
    record.append(line("01-shift", answer="same"))
    record.append(line(sure=3, attempt=2))
    record.append(line(variant="fresh", sure=2))
    assert [one["sure"] for one in record.lines("01-weights")] == [1, 3, 2]
    assert record.first("01-weights")["sure"] == 1 and record.latest("01-weights")["sure"] == 2
    assert record.latest("01-weights", variant="base")["sure"] == 3
    assert record.first("01-weights", "fresh")["sure"] == 2
    assert (
        record.attempts("01-weights"),
        record.attempts("01-weights", "base"),
        record.attempts("02-x"),
    ) == (3, 2, 0)
    assert len(record.lines()) == 4


def test_what_is_returned_is_a_copy(path):
    record = Record(path)
    record.append(line())
    record.first("01-weights")["answer"].append("1")
    assert record.first("01-weights")["answer"] == ["0.67", "0.33"]


def test_two_records_see_each_other(path):
    one, other = Record(path), Record(path)
    for turn in range(6):
        (one, other)[turn % 2].append(line(because=str(turn)))
        assert len(one.lines()) == len(other.lines()) == turn + 1
    assert [found["because"] for found in one.lines()] == list("012345")


def test_the_file_is_read_again_only_when_it_changed(path, monkeypatch):
    record = Record(path)
    record.append(line())
    looks = []
    scan = module.scan
    monkeypatch.setattr(module, "scan", lambda *given: looks.append(1) or scan(*given))
    for _ in range(50):
        assert record.attempts("01-weights") == 1
    assert len(looks) == 1
    Record(path).append(line(attempt=2))
    assert record.attempts("01-weights") == 2


def test_threads_may_share_a_record(path):
    record = Record(path)

    def commit(name):
        for n in range(25):
            record.append(line(because=f"{name}-{n}"))
            record.lines()

    threads = [threading.Thread(target=commit, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({found["because"] for found in Record(path).lines()}) == len(record.lines()) == 200


# What is no line of ours

DAMAGE = {  # what the file holds: how many records are read, and what is said
    b"": (0, []),
    b"\n\n  \n": (0, []),
    b"\xef\xbb\xbf" + raw() + b"\n": (1, []),
    raw() + b"\r\n" + raw(attempt=2) + b"\r\n": (2, []),
    raw(): (1, []),
    raw(added="by a later edition of this format"): (1, []),
    raw() + b"\n" + raw()[:50]: (1, ["line 2: breaks off"]),
    raw() + b"\n" + b'{"fo': (1, ["line 2: breaks off"]),
    raw()[:50] + b"\n" + raw() + b"\n": (1, ["line 1: breaks off"]),
    raw()[:50] + raw() + b"\n": (1, ["line 1: breaks off"]),
    raw() + raw() + b"\n": (2, []),
    b"\0" * 4096 + raw() + b"\n": (1, ["line 1: not JSON"]),
    b"hello\n" + raw() + b"\nworld\n": (1, ["lines 1, 3: not JSON"]),
    b"<<<<<<< HEAD\n" + raw() + b"\n=======\n" + raw(sure=3) + b"\n>>>>>>> other\n": (
        2,
        ["lines 1, 3, 5: a mark left by a merge"],
    ),
    (b"oops\n" * 3 + raw() + b"\n") * 20: (
        20,
        ["lines 1 to 3, 5 to 7, 9 to 11, 13 to 15, 17 to 19, 21 to 23, 25 to 27, 29 to 31, …: not"],
    ),
    raw() + b"\n" + raw(format={"format": 1}) + b"\n": (1, ["line 2: format is 1"]),
    b"[1]\n7\nnull\n": (0, ["lines 1 to 3: not a record"]),
    b"{}\n": (0, ["line 1: a record without format, question,"]),
    raw(sure=NotImplemented) + b"\n": (0, ["line 1: a record without sure"]),
    raw(sure="sure") + b"\n": (0, ["line 1: sure is 1, 2, 3 or null, not 'sure'"]),
    raw(question=7) + b"\n": (0, ["line 1: question is"]),
    raw(format="1") + b"\n": (0, ["line 1: format is 1, not '1'"]),
    raw(format=0) + b"\n": (0, ["line 1: format is 1, not 0"]),
    raw(format=2) + b"\n" + raw() + b"\n": (1, ["line 1: made by a newer version of this course (format 2"]),
    b'{"format": 3, "prediction": {}}\n' * 9: (
        0,
        ["lines 1 to 9: made by a newer version of this course (format 3"],
    ),
    b"[" * 100_000 + b"\n": (0, ["line 1: not JSON"]),
    b'{"format": ' + b"9" * 5000 + b"}\n": (0, ["line 1: breaks off"]),
    (raw().decode() + "\n").encode("utf-16"): (0, ["not JSON"]),
    random.Random(0).randbytes(20_000): (0, ["not JSON"]),
    b'{"format": 1' * 3000: (0, ["line 1: breaks off"]),
}


@pytest.mark.parametrize("held", DAMAGE, ids=lambda held: repr(held[:20]))
def test_what_is_foreign_is_kept_and_skipped_and_said_once(path, held):
    count, said = DAMAGE[held]
    path.write_bytes(held)
    record = Record(path)
    assert len(record.lines()) == count
    told = record.problems
    assert len(told) == len(said)
    for sentence, part in zip(told, said, strict=True):
        assert part in sentence and sentence.startswith("my_predictions.jsonl, line") and len(sentence) < 200
        assert sentence.endswith("Kept in the file, and skipped.")
    assert record.new_problems() == told and record.new_problems() == []

    assert record.append(line("01-after")).on_disk
    text = path.read_bytes()
    assert text.startswith(held) and json.loads(text.split(b"\n")[-2])["question"] == "01-after"
    assert len(record.lines()) == count + 1 and record.first("01-after")
    assert record.new_problems() == [] and len(record.problems) == len(said)
    assert Record(path).new_problems() == told


def test_a_new_fault_is_said_when_it_comes(path):
    record = Record(path)
    record.append(line())
    assert record.new_problems() == []
    with path.open("ab") as file:
        file.write(b"oops\n")
    assert record.new_problems() == ["my_predictions.jsonl, line 2: not JSON. Kept in the file, and skipped."]
    with path.open("ab") as file:
        file.write(b"oops\n")
    assert record.new_problems() == ["my_predictions.jsonl, line 3: not JSON. Kept in the file, and skipped."]


def test_a_line_that_another_kernel_is_writing_is_waited_for(path):
    half, rest = raw()[:60], raw()[60:] + b"\n"
    record = Record(path)
    with FileLock(path.with_name(f".{path.name}.lock")):
        path.write_bytes(half)
        found = []
        reader = threading.Thread(target=lambda: found.append((record.lines(), record.problems)))
        reader.start()
        reader.join(0.2)
        assert reader.is_alive()
        with path.open("ab") as file:
            file.write(rest)
    reader.join()
    assert found == [([json.loads(half + rest)], [])]


# Places that do not take a line


def refuse(monkeypatch, name, error, times=10**6):
    """Let a function of `os` fail from now on, `times` times."""
    real, left = getattr(os, name), [times]

    def failing(*given, **named):
        left[0] -= 1
        if left[0] < 0:
            return real(*given, **named)
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(module.os, name, failing)


def in_memory_only(record, part):
    """Commit once: told why, nothing lost, nothing on disk."""
    saved = record.append(line(because="kept"))
    assert not saved.on_disk and part in saved.message and "PREDICTIONS_FILE" in saved.message
    assert record.latest("01-weights")["because"] == "kept"
    assert record.attempts("01-weights") == 1
    return saved.message


def test_a_folder_that_is_not_there_is_not_made_up(tmp_path):
    folder = tmp_path / "a" / "b"
    record = Record(folder / "mine.jsonl")
    in_memory_only(record, f"the folder {folder} does not exist")
    assert not (tmp_path / "a").exists()
    folder.mkdir(parents=True)
    saved = record.append(line(because="second"))
    assert saved.on_disk and saved.message == "1 prediction kept in memory so far: now in mine.jsonl as well."
    assert [found["because"] for found in Record(folder / "mine.jsonl").lines()] == ["kept", "second"]
    assert record.append(line(because="third")) == module.Saved(True)


def test_a_place_below_a_file(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    in_memory_only(Record(tmp_path / "file" / "mine.jsonl"), "does not exist")


def test_a_folder_in_the_place_of_the_file(tmp_path):
    record = Record(tmp_path)
    assert record.lines() == []
    assert "cannot be read" in record.new_problems()[0]
    in_memory_only(record, "is a folder, not a file")


@posix
def test_a_pipe_in_the_place_of_the_file(path):
    os.mkfifo(path)
    record = Record(path)
    assert "not an ordinary file" in record.problems[0]
    in_memory_only(record, "not an ordinary file")


@pytest.mark.parametrize("error", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_folder_that_cannot_be_written(path, monkeypatch, error):
    with monkeypatch.context() as patch:
        refuse(patch, "open", error)
        record = Record(path)
        in_memory_only(record, "cannot be written to")
        assert not record.problems
    assert record.append(line(attempt=2)).on_disk
    assert record.attempts("01-weights") == Record(path).attempts("01-weights") == 2


@pytest.fixture
def closed_folder():
    """A folder that takes no new file, seen by somebody without root's rights."""
    with tempfile.TemporaryDirectory() as name:
        folder, user = Path(name), os.geteuid()
        (folder / "there.jsonl").touch()
        (folder / "there.jsonl").chmod(0o666)
        folder.chmod(0o555)
        if user == 0:
            os.seteuid(65534)
        try:
            yield folder
        finally:
            os.seteuid(user)
            folder.chmod(0o755)


@posix
def test_a_folder_without_write_permission(closed_folder):
    in_memory_only(Record(closed_folder / "new.jsonl"), "cannot be written to")


@posix
def test_a_writable_file_in_a_folder_that_takes_no_lock(closed_folder):
    record = Record(closed_folder / "there.jsonl")
    assert record.append(line()) == module.Saved(True)
    assert record.attempts("01-weights") == 1
    assert [file.name for file in closed_folder.iterdir()] == ["there.jsonl"]


def test_a_file_that_cannot_be_read(path, monkeypatch):
    Record(path).append(line(because="before"))

    def refused(self):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refused)
    record = Record(path)
    assert record.lines() == []
    assert "cannot be read (Permission denied)" in record.new_problems()[0]


@posix
def test_a_working_folder_that_was_removed(tmp_path, monkeypatch):
    monkeypatch.delenv("PREDICTIONS_FILE", raising=False)
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    in_memory_only(Record(), "")


# Disks that fill up


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)])
def test_a_full_disk_is_said_and_what_waits_is_written_once_in_order(path, monkeypatch, error):
    record = Record(path)
    record.append(line(because="0"))
    with monkeypatch.context() as patch:
        refuse(patch, "write", error)
        for n in "123":
            saved = record.append(line(because=n))
            assert not saved.on_disk and "no space left" in saved.message
        assert [found["because"] for found in record.lines()] == list("0123")
        assert len(Record(path).lines()) == 4
        assert path.read_bytes().count(b"\n") == 1
    saved = record.append(line(because="4"))
    assert saved.on_disk and saved.message.startswith("3 predictions kept in memory so far")
    assert (
        [found["because"] for found in Record(path).lines()]
        == list("01234")
        == [x["because"] for x in record.lines()]
    )


@pytest.mark.parametrize("taken", [0, 1, 40, 10_000])
def test_a_disk_that_takes_a_part_loses_nothing(path, monkeypatch, taken):
    record, real, room = Record(path), os.write, [taken]
    record.append(line(because="0"))

    def write(descriptor, data):
        if not room[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        part = real(descriptor, data[: room[0]])
        room[0] -= part
        return part

    with monkeypatch.context() as patch:
        patch.setattr(module.os, "write", write)
        saved = record.append(line(because="1"))
        assert saved.on_disk == (taken == 10_000)
        record.append(line(because="2"))
    assert record.append(line(because="3")).on_disk
    assert [found["because"] for found in record.lines()] == list("0123")
    assert [found["because"] for found in Record(path).lines()] == list("0123")
    assert len(record.problems) == (taken in (1, 40))


def test_a_write_that_takes_nothing_ends(path, monkeypatch):
    monkeypatch.setattr(module.os, "write", lambda descriptor, data: 0)
    in_memory_only(Record(path), "no space left")


@pytest.mark.parametrize("name", ["fsync", "close"])
def test_a_line_whose_way_to_disk_fails_late_is_not_written_twice(path, monkeypatch, name):
    record = Record(path)
    with monkeypatch.context() as patch:
        if name == "fsync":
            refuse(patch, "fsync", errno.EIO)
        else:
            real = os.close
            patch.setattr(
                module.os, "close", lambda descriptor: real(descriptor) or os.stat(path.parent / "none")
            )
        assert not record.append(line()).on_disk
        assert record.attempts("01-weights") == 1
    saved = record.append(line(attempt=2))
    assert saved == module.Saved(True)
    assert record.attempts("01-weights") == Record(path).attempts("01-weights") == 2


def test_a_file_system_without_fsync(path, monkeypatch):
    refuse(monkeypatch, "fsync", errno.EINVAL)
    assert Record(path).append(line()) == module.Saved(True)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_the_full_device_refuses():
    descriptor = os.open("/dev/full", os.O_WRONLY)
    try:
        with pytest.raises(OSError, match="No space left"):
            module._write_whole(descriptor, b"line\n")
    finally:
        os.close(descriptor)


LIMITED = """
import json, resource, sys
sys.path.insert(0, sys.argv[1])
import record
line = json.loads(sys.argv[3])
mine = record.Record(sys.argv[2])
first = mine.append(line | {"because": "0"})
hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (mine.path.stat().st_size + 100, hard))
second = mine.append(line | {"because": "1"})
torn = mine.path.stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
third = mine.append(line | {"because": "2"})
print([first.on_disk, second.on_disk, third.on_disk], torn, second.message)
"""


@posix
def test_a_real_limit_on_the_size_of_the_file(path):
    run = python(LIMITED, path, json.dumps(line()))
    assert run.startswith("[True, False, True]") and "no space left" in run
    record = Record(path)
    assert [found["because"] for found in record.lines()] == list("012")
    assert ["breaks off" in said for said in record.problems] == [True]


@pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="only root on Linux can mount a small disk"
)
def test_a_real_full_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("this machine does not allow a mount")
    try:
        record = Record(disk / "mine.jsonl")
        filler = disk / "filler"
        record.append(line(because="0"))
        with pytest.raises(OSError, match="No space left"), filler.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 4096)
        saved = [record.append(line(because=f"{n}" * 900)) for n in range(1, 9)]
        assert not saved[-1].on_disk and "no space left" in saved[-1].message
        assert len(record.lines()) == 9
        filler.unlink()
        assert record.append(line(because="9")).on_disk
        assert [found["because"][0] for found in Record(disk / "mine.jsonl").lines()] == list("0123456789")
    finally:
        subprocess.run(["umount", str(disk)], check=True)


# Several kernels, and kernels that are killed


@pytest.mark.parametrize(
    "error", [PermissionError(), Timeout("lock"), NotImplementedError(), OSError(errno.ENOLCK, "no locks")]
)
def test_without_a_lock_a_line_is_still_written(path, monkeypatch, error):
    def refused(*given, **named):
        raise error

    monkeypatch.setattr(module.FileLock, "acquire", refused)
    record = Record(path)
    path.write_bytes(raw()[:50])
    assert record.append(line()) == module.Saved(True)
    assert record.attempts("01-weights") == 1 and len(record.problems) == 1


def python(script, *given, **options):
    """Run a script beside record.py, and return what it prints."""
    command = [sys.executable, "-c", script, str(FOLDER), *map(str, given)]
    run = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, **options)
    assert run.returncode == 0 and not run.stderr, run.stderr
    return run.stdout


COMMIT = """
import json, sys
sys.path.insert(0, sys.argv[1])
import record
mine, line, name = record.Record(sys.argv[2]), json.loads(sys.argv[3]), sys.argv[4]
for n in range(int(sys.argv[5])):
    saved = mine.append(line | {"because": f"{name}-{n} " + "x" * (n * 37 % 3000)})
    assert saved == record.Saved(True), saved
"""


@pytest.mark.parametrize("lock", [True, pytest.param(False, marks=posix)], ids=["with lock", "without"])
def test_eight_kernels_commit_two_thousand_times(path, lock):
    if not lock:
        path.with_name(f".{path.name}.lock").mkdir()
    given = [sys.executable, "-c", COMMIT, str(FOLDER), str(path), json.dumps(line())]
    kernels = [subprocess.Popen([*given, str(name), "250"]) for name in range(8)]
    record, seen = Record(path), 0
    while any(kernel.poll() is None for kernel in kernels):
        time.sleep(0.05)
        found = len(record.lines())
        assert found >= seen and (not lock or not record.problems)
        seen = found
    assert [kernel.returncode for kernel in kernels] == [0] * 8
    found = [one["because"].split()[0] for one in record.lines()]
    assert len(found) == 2000 and set(found) == {f"{name}-{n}" for name in range(8) for n in range(250)}
    for name in range(8):
        assert [one for one in found if one.startswith(f"{name}-")] == [f"{name}-{n}" for n in range(250)]
    assert not record.problems


KILLED = """
import itertools, json, os, random, signal, sys, time
sys.path.insert(0, sys.argv[1])
import record
line = json.loads(sys.argv[3])
random.seed(3)
for kernel in range(200):
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        mine = record.Record(sys.argv[2])
        for n in itertools.count():
            name = f"{kernel}-{n}"
            if mine.append(line | {"because": name + " " + "x" * (n * 997 % 20_000)}).on_disk:
                os.write(tell, (name + "\\n").encode())
    os.close(tell)
    with open(told, encoding="ascii") as acknowledged:
        for _ in range(random.randrange(4)):
            sys.stdout.write(acknowledged.readline())
        time.sleep(random.random() * 0.004)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        sys.stdout.write(acknowledged.read())
"""


@posix
def test_what_was_acknowledged_survives_two_hundred_kills(path):
    acknowledged = python(KILLED, path, json.dumps(line())).split()
    record = Record(path)
    found = [one["because"].split()[0] for one in record.lines()]
    assert len(acknowledged) > 200
    assert set(acknowledged) <= set(found) and len(found) == len(set(found))
    assert all("breaks off" in said for said in record.problems)


COMMIT_AND_TELL = """
import itertools, json, sys
sys.path.insert(0, sys.argv[1])
import record
mine, line, name = record.Record(sys.argv[2]), json.loads(sys.argv[3]), sys.argv[4]
for n in itertools.count():
    if mine.append(line | {"because": f"{name}-{n}"}).on_disk:
        print(f"{name}-{n}", flush=True)
"""


def test_a_killed_process_leaves_the_lock_and_the_line_to_the_next(path):
    acknowledged = []
    for name in range(3):
        command = [
            sys.executable,
            "-c",
            COMMIT_AND_TELL,
            str(FOLDER),
            str(path),
            json.dumps(line()),
            str(name),
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, encoding="utf-8") as kernel:
            acknowledged += [kernel.stdout.readline().strip() for _ in range(5)]
            kernel.kill()
            acknowledged += kernel.stdout.read().split()
    found = [one["because"] for one in Record(path).lines()]
    assert len(acknowledged) >= 15 and set(acknowledged) <= set(found)
    assert Record(path).append(line()).on_disk
