"""The one way files are written: whole or not at all, with the permissions the user chose."""

from __future__ import annotations

import ast
import errno
import fcntl
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import hyperlabel
from hyperlabel import outofcore
from hyperlabel._files import locked, replacing, stamp_of, write_text
from hyperlabel.datasets import make_multilabel

SOURCE = Path(hyperlabel.__file__).parent


def save_model(path):
    hyperlabel.save(hyperlabel.BinaryRelevance().fit(np.eye(4), np.eye(4, 2, dtype=int)), path)


def save_data(path):
    make_multilabel(10, 3, 4, random_state=0).save(path)


def save_predictions(path):
    model = hyperlabel.BinaryRelevance().fit(np.eye(4), np.eye(4, 2, dtype=int))
    outofcore.predict(model, [(np.eye(4), None)], path.parent / "parts")
    os.link(path.parent / "parts" / "part-000000.npz", path)


def save_report(path):
    write_text(path, "<html></html>")


WRITERS = [save_model, save_data, save_predictions, save_report]


@pytest.fixture
def strict_umask():
    before = os.umask(0o027)
    yield
    os.umask(before)


@pytest.mark.parametrize("write", WRITERS)
def test_the_kernel_applies_the_umask_and_nobody_changes_it(write, tmp_path, strict_umask, monkeypatch):
    def forbidden(mask):
        raise AssertionError("the umask belongs to the whole process")

    monkeypatch.setattr(os, "umask", forbidden)
    write(tmp_path / "x.npz")
    monkeypatch.undo()
    assert stat.S_IMODE((tmp_path / "x.npz").stat().st_mode) == 0o640


@pytest.mark.parametrize("write", WRITERS)
def test_file_and_folder_are_on_disk_when_the_writer_returns(write, tmp_path, monkeypatch):
    synced = []
    really = os.fsync

    def fsync(handle):
        synced.append(stat.S_ISDIR(os.fstat(handle).st_mode))
        really(handle)

    monkeypatch.setattr(os, "fsync", fsync)
    write(tmp_path / "x.npz")
    assert synced == [False, True]


@pytest.mark.parametrize("write", [save_model, save_data, save_report])
def test_a_missing_folder_is_named_as_the_user_wrote_it(write, tmp_path):
    with pytest.raises(FileNotFoundError, match=f"There is no folder {tmp_path / 'no'}: make it first"):
        write(tmp_path / "no" / "x.npz")
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write(tmp_path / "folder.npz")


def test_permissions_of_the_old_file_stay_and_so_do_links(tmp_path):
    target = tmp_path / "real.txt"
    write_text(target, "old")
    target.chmod(0o600)
    (tmp_path / "link.txt").symlink_to(target)
    write_text(tmp_path / "link.txt", "new")
    assert (tmp_path / "link.txt").is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_a_device_is_written_to_not_replaced():
    write_text("/dev/null", "gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    write_text(tmp_path / "a", "old")

    def half():
        with replacing(tmp_path / "a") as file:
            file.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


def test_a_full_disk_names_the_target_and_leaves_the_old_file(tmp_path):
    target = tmp_path / "big.html"
    write_text(target, "old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(OSError, match="big.html") as caught:
            write_text(target, "x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert caught.value.errno == errno.EFBIG
    assert ".tmp" not in str(caught.value)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]


KILLED = """
import os, signal, sys
from hyperlabel._files import replacing
with replacing(sys.argv[1]) as file:
    file.write(bytes(10**6))
    file.flush()
    print("half", flush=True)
    signal.pause()
"""


def test_the_leftover_of_a_killed_writer_goes_with_the_next_one_and_a_living_writer_keeps_its_own(tmp_path):
    target = tmp_path / "m.hyper"
    other = tmp_path / ".m.hyper.notes.tmp"
    other.write_text("not ours")
    killed, living = (
        subprocess.Popen([sys.executable, "-c", KILLED, str(target)], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    )
    try:
        for process in (killed, living):
            assert process.stdout.readline() == "half\n"
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert len(list(tmp_path.glob(".m.hyper.*.tmp"))) == 3
        write_text(target, "whole")
        left = sorted(tmp_path.glob(".m.hyper.*.tmp"))
        assert len(left) == 2  # the living one's and the user's
        assert other in left
    finally:
        for process in (killed, living):
            process.kill()
            process.wait()
            process.stdout.close()
    write_text(target, "again")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".m.hyper.notes.tmp", "m.hyper"]


def test_a_new_file_that_a_tidier_holds_is_given_up(tmp_path, monkeypatch):
    # A tidier may lock a new file in the moment before its writer does, and delete it a moment later.
    held, gone = [], []

    def lock(file, how):
        if not held:
            (name,) = tmp_path.iterdir()
            held.append(os.open(name, os.O_RDONLY))
            fcntl.flock(held[0], fcntl.LOCK_EX)
            gone.append(name)
        fcntl.flock(file, how)

    monkeypatch.setattr("hyperlabel._files.fcntl", SimpleNamespace(**(vars(fcntl) | {"flock": lock})))
    with replacing(tmp_path / "a") as file:
        gone[0].unlink()
        file.write(b"whole")
    os.close(held[0])
    (only,) = tmp_path.iterdir()
    assert only.read_bytes() == b"whole"


def test_many_writers_of_one_file_end_in_one_whole_file(tmp_path):
    errors = []

    def work(text):
        try:
            for _ in range(20):
                write_text(tmp_path / "a", text)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(letter * 1000,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    (only,) = tmp_path.iterdir()
    assert only.read_text() in {letter * 1000 for letter in "abcd"}


def test_one_at_a_time_changes_a_file(tmp_path):
    path, waited = tmp_path / "n", []
    write_text(path, "0")

    def add():
        for _ in range(25):
            with locked(path, lambda: waited.append(1)):
                write_text(path, str(int(path.read_text()) + 1))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() == "100"
    assert [found.name for found in tmp_path.iterdir()] == ["n"]


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_written_all_the_same_and_said(tmp_path, monkeypatch, number):
    path = tmp_path / "n"
    write_text(path, "0")

    def flock(file, how):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("hyperlabel._files.fcntl", SimpleNamespace(**(vars(fcntl) | {"flock": flock})))
    said = pytest.warns(UserWarning, match="without locks: let no two programs change it at once")
    with said, locked(path, lambda: None) as held:
        write_text(path, "1")
    assert path.read_text() == "1"
    assert held.stamp == stamp_of(path)


def test_a_lock_that_fails_for_another_reason_is_an_error(tmp_path, monkeypatch):
    write_text(tmp_path / "n", "0")

    def flock(file, how):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("hyperlabel._files.fcntl", SimpleNamespace(**(vars(fcntl) | {"flock": flock})))
    with pytest.raises(OSError, match="Input/output error"), locked(tmp_path / "n", lambda: None):
        pass


@pytest.mark.parametrize("name", ["n" * 255, "ü" * 127, "n" * 234 + ".hyper", "n" * 229])
def test_a_name_as_long_as_the_file_system_allows_can_be_written(tmp_path, name):
    path = tmp_path / name
    write_text(path, "first")
    write_text(path, "second")
    assert path.read_text() == "second"
    assert [found.name for found in tmp_path.iterdir()] == [name]


def test_the_leftover_of_a_killed_writer_of_a_long_name_goes_too(tmp_path):
    target = tmp_path / ("n" * 250)
    killed = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(target)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert killed.stdout.readline() == "half\n"
    killed.kill()
    killed.communicate()
    assert len(list(tmp_path.iterdir())) == 1
    write_text(target, "whole")
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_into_a_missing_folder_names_that_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("model.hyper").symlink_to("nowhere/model.hyper")
    for write in (save_model, save_report):
        with pytest.raises(FileNotFoundError, match=f"There is no folder {tmp_path}/nowhere: make it first"):
            write(Path("model.hyper"))
    Path("page.html").symlink_to("new.html")  # nothing there yet, but its folder is
    write_text("page.html", "whole")
    assert Path("new.html").read_text() == "whole"
    assert Path("page.html").is_symlink()


def test_nothing_in_the_library_writes_a_file_in_another_way():
    """Only `_files` makes files; a temporary folder and a device of the kernel are not results."""
    allowed = {("tabular/data_as_path.py", "write_bytes"), ("apps/comparison/resource_meter.py", "open")}
    found = set()
    for path in SOURCE.rglob("*.py"):
        where = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            attribute = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            if attribute in (
                "write_text",
                "write_bytes",
                "mkstemp",
                "NamedTemporaryFile",
                "umask",
                "replace",
            ):
                owner = getattr(node.func.value, "id", "")
                if attribute != "replace" or owner == "os":
                    found.add((where, attribute))
            modes = [arg.value for arg in node.args[1:2] if isinstance(arg, ast.Constant)]
            if getattr(node.func, "id", "") == "open" and modes and set(str(modes[0])) & set("wxa"):
                found.add((where, "open"))
    assert {one for one in found if one[0] != "_files.py"} == allowed


# NumPy 2.0 leaves an archive that could not be written to the collector, which cannot close it either.
@pytest.mark.filterwarnings("ignore:Exception ignored in.*ZipFile:pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("write", [save_model, save_data, save_report])
@pytest.mark.parametrize("call", ["open", "fsync", "replace", "fchmod", "write"])
def test_every_write_may_fail_once(write, call, tmp_path, monkeypatch):
    """Whatever call of the system fails, and whenever: the old file stays and nothing lies beside it."""
    path, failures = tmp_path / "x.npz", 0
    write(path)
    before = path.read_bytes()

    def failing(real, number):
        counts = iter(range(10**9))

        def once(*args, **kwargs):
            if next(counts) == number:
                raise OSError(errno.EIO, "Input/output error")
            return real(*args, **kwargs)

        return once

    class Failing:
        """A file whose n-th write fails."""

        def __init__(self, file, number):
            self._file, self.write = file, failing(file.write, number)

        def __getattr__(self, name):
            return getattr(self._file, name)

        def __enter__(self):
            self._file.__enter__()
            return self

        def __exit__(self, *args):
            return self._file.__exit__(*args)

    for number in range(100):
        with monkeypatch.context() as patch:
            if call == "write":
                real = os.fdopen
                patch.setattr(os, "fdopen", lambda *args, n=number, real=real: Failing(real(*args), n))
            else:
                patch.setattr(os, call, failing(getattr(os, call), number))
            try:
                write(path)
                if call != "fsync" or number > 1:  # a folder that cannot be synced is no failure
                    break
            except OSError as error:
                failures += error.errno == errno.EIO
        assert [found.name for found in tmp_path.iterdir()] == ["x.npz"]
        assert path.read_bytes() == before
    assert failures >= 1


@pytest.mark.parametrize("write", [save_model, save_data, save_report])
def test_a_read_only_file_system_is_said_with_the_name_of_the_target(write, tmp_path, monkeypatch):
    """As the kernel says it, whoever asks: root may write to folders others may not."""
    real = os.open

    def closed(path, flags, *args, **kwargs):
        if flags & os.O_CREAT:
            raise OSError(errno.EROFS, "Read-only file system", str(path))
        return real(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", closed)
    with pytest.raises(OSError, match=r"Read-only file system: '.*/x\.npz'$"):
        write(tmp_path / "x.npz")
    assert not list(tmp_path.iterdir())
