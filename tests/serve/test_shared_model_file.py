"""One model file changed by several processes: every acknowledged row is in it."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.commands import run as run_any
from tests.report.made_model import rows, run

from hyperlabel import load
from hyperlabel._files import locked, replacing, stamp_of, write_text
from hyperlabel.apps.serve import served_model
from hyperlabel.apps.serve.served_model import ServedModel
from hyperlabel.tabular.model_file import open_model, read_columns, save_model, with_columns

COMMAND = [sys.executable, "-m", "hyperlabel"]


@pytest.fixture
def model_path(made, tmp_path):
    return Path(shutil.copy(made["model"], tmp_path / "notes.hyper"))


def write_rows(path, n_rows, seed):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows(n_rows, seed)), encoding="utf-8")
    return path


def count_rows(path):
    """Rows the file says it learned; its moments must agree."""
    n_rows = read_columns(str(path)).rows
    assert load(path)[-1].estimator_.moments_.n == n_rows
    return n_rows


def test_an_update_between_a_servers_save_and_its_stamp_is_not_overwritten(model_path, monkeypatch):
    """The server has replaced the file and reads it again: at that moment `hyperlabel update` starts."""
    new = write_rows(model_path.parent / "new.jsonl", 20, 1)
    project = ServedModel(str(model_path), learns=True)
    read, updates = served_model.read_plain, []

    def read_while_another_updates(path):
        if not updates:
            command = [*COMMAND, "update", str(path), str(new)]
            updates.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
            updates[0].stderr.readline()  # it says that it waits, or has ended
        return read(path)

    monkeypatch.setattr(served_model, "read_plain", read_while_another_updates)
    project.learn(["piano"], [["music"]])
    _, said = updates[0].communicate(timeout=120)
    assert updates[0].returncode == 0, said
    assert count_rows(model_path) == 240 + 1 + 20
    project.learn(["violin"], [["music"]])
    assert count_rows(model_path) == 240 + 1 + 20 + 1


def test_a_file_put_in_place_of_the_servers_without_a_lock_is_not_taken_for_its_own(model_path, monkeypatch):
    """`hyperlabel.save` asks for no lock: a file it puts there right after the server's is learned on."""
    project = ServedModel(str(model_path), learns=True)
    other = open_model(str(model_path))
    put, replaced = os.replace, []

    def replace_twice(source, target):
        put(source, target)
        if not replaced:
            replaced.append(target)
            save_model(with_columns(other, rows=1000))

    monkeypatch.setattr(os, "replace", replace_twice)
    project.learn(["piano"], [["music"]])
    assert read_columns(str(model_path)).rows == 1000
    project.learn(["violin"], [["music"]])
    assert read_columns(str(model_path)).rows == 1001


def test_the_lock_stays_with_the_file_that_took_the_place_of_the_first(tmp_path):
    path, order = tmp_path / "n", []
    write_text(path, "0")

    def change():
        with locked(path, lambda: order.append("waits")):
            order.append("second")

    with locked(path, lambda: None):
        for text in "12":
            write_text(path, text)
        second = threading.Thread(target=change)
        second.start()
        second.join(0.3)
        order.append("first")
    second.join()
    assert order == ["waits", "first", "second"]


def test_the_stamp_of_a_lock_is_that_of_the_file_written_under_it(tmp_path):
    path = tmp_path / "n"
    write_text(path, "0")
    with locked(path, lambda: None) as lock:
        assert lock.stamp == stamp_of(path)
        write_text(tmp_path / "other", "elsewhere")
        assert lock.stamp == stamp_of(path)
        write_text(path, "1")
        assert lock.stamp == stamp_of(path)
        with pytest.raises(KeyboardInterrupt), replacing(path):
            raise KeyboardInterrupt
        assert lock.stamp == stamp_of(path)
        written = lock.stamp
        path.unlink()
        path.write_text("of another program", encoding="utf-8")
        assert lock.stamp == written != stamp_of(path)


def test_a_server_waits_while_another_process_changes_the_file(model_path):
    project = ServedModel(str(model_path), learns=True)
    learner = threading.Thread(target=project.learn, args=(["piano"], [["music"]]))
    with locked(model_path, lambda: None):
        file = open_model(str(model_path))
        learner.start()
        learner.join(1)
        assert learner.is_alive()
        save_model(with_columns(file, rows=1000))
    learner.join()
    assert read_columns(str(model_path)).rows == 1001


def test_update_and_learn_work_where_files_cannot_be_locked_and_say_so(model_path, monkeypatch):
    def flock(file, how):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("hyperlabel._files.fcntl", SimpleNamespace(**(vars(fcntl) | {"flock": flock})))
    with pytest.warns(UserWarning, match="without locks"):
        project = ServedModel(str(model_path), learns=True)
    with pytest.warns(UserWarning, match="without locks"):
        project.learn(["piano"], [["music"]])
    said = run("update", model_path, write_rows(model_path.parent / "new.jsonl", 3, 4))
    assert f"Warning: {model_path} is on a file system without locks" in " ".join(said.split())
    assert count_rows(model_path) == 240 + 1 + 3


@contextmanager
def learning_server(model):
    """Run `hyperlabel serve --learn` in a process; give a function that learns one text."""
    code = (
        "import socket, sys, uvicorn\n"
        "from hyperlabel.apps.serve.served_model import ServedModel\n"
        "from hyperlabel.apps.serve import make_app\n"
        "listening = socket.create_server(('127.0.0.1', 0))\n"
        "app = make_app([ServedModel(sys.argv[1], learns=True)])\n"
        "print(listening.getsockname()[1], flush=True)\n"
        "uvicorn.Server(uvicorn.Config(app, log_level='warning')).run([listening])\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(model)], stdout=subprocess.PIPE, text=True)
    port = int(process.stdout.readline())

    def learn(text):
        body = json.dumps([{"text": text, "subjects": [{"uri": "music"}]}]).encode()
        url = f"http://127.0.0.1:{port}/v1/projects/notes/learn"
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status

    try:
        yield learn
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def test_a_server_and_updates_beside_it_lose_no_acknowledged_row(model_path):
    pytest.importorskip("uvicorn")
    new = write_rows(model_path.parent / "new.jsonl", 30, 2)
    with learning_server(model_path) as learn:
        updates = [
            subprocess.Popen([*COMMAND, "update", str(model_path), str(new)], stdout=subprocess.DEVNULL)
            for _ in range(2)
        ]
        learned = 0
        while learned < 10 or any(update.poll() is None for update in updates):
            assert learn(f"piano number {learned}") == 204
            learned += 1
        assert [update.returncode for update in updates] == [0, 0]
    assert count_rows(model_path) == 240 + 2 * 30 + learned


def test_a_project_that_another_process_gave_other_labels_learns_nothing_more(model_path):
    project = ServedModel(str(model_path), learns=True)
    run("update", model_path, "--rename-label", "music=sound")
    before = model_path.read_bytes()
    with pytest.raises(RuntimeError, match="labels of the model file have changed"):
        project.learn(["piano"], [["music"]])
    assert model_path.read_bytes() == before
    assert project.label_names[2] == "music"


def test_on_a_full_disk_update_and_learn_acknowledge_nothing_and_lose_nothing(model_path):
    before = model_path.read_bytes()
    project = ServedModel(str(model_path), learns=True)
    new = write_rows(model_path.parent / "new.jsonl", 3, 4)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, limits[1]))
    try:
        refused = run_any("update", model_path, new)
        with pytest.raises(OSError, match="notes.hyper") as caught:
            project.learn(["piano"], [["music"]])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (refused.exit_code, caught.value.errno) == (2, errno.EFBIG)
    assert "notes.hyper: file too large" in refused.stderr
    assert model_path.read_bytes() == before
    assert sorted(path.name for path in model_path.parent.iterdir()) == ["new.jsonl", "notes.hyper"]
    project.learn(["piano"], [["music"]])
    run("update", model_path, new)
    assert count_rows(model_path) == 240 + 1 + 3
