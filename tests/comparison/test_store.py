"""Results files that are damaged, foreign, or on a full or closed disk: one sentence, and nothing lost."""

from __future__ import annotations

import os
import re
import resource
import shutil
import sqlite3
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.commands import run as run_command

from hyperlabel.apps.comparison import environment
from hyperlabel.apps.comparison.store import Store, StoreError, content_id


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "results.sqlite"
    with Store(path) as store:
        store.begin("suite", {"data": ["d"]}, ["a"], "a command")
        store.write("a", {"fold": 0}, [("ridge", "f1", None, 0.5)], details={"alpha": 1.0})
        store.put_artifact("suite", "portrait", {"rows": 3})
    return path


def change(path, *commands):
    db = sqlite3.connect(path)
    for command in commands:
        db.execute(command)
    db.commit()
    db.close()


@pytest.mark.parametrize(
    "command",
    [
        "UPDATE cell SET spec = '{'",
        "UPDATE cell SET spec = '[1]'",
        "UPDATE cell SET details = x'ff'",
        "UPDATE cell SET fit_seconds = 'soon'",
        "UPDATE value SET value = 'high'",
        "UPDATE value SET x = x'00'",
        "UPDATE suite SET spec = 7",
        "UPDATE environment SET described = '" + "[" * 100_000 + "'",
        "UPDATE cell SET spec = CAST(x'ff22' AS TEXT)",
    ],
)
def test_content_that_makes_no_sense_is_refused(path, command):
    change(path, command)

    def read():
        with Store(path) as store:
            store.suite("suite"), store.cells("suite"), store.values("suite")

    with pytest.raises(StoreError, match="results.sqlite .*damaged"):
        read()


@pytest.mark.parametrize(
    "commands",
    [
        ["CREATE TABLE other (x)"],
        ["CREATE TRIGGER t AFTER INSERT ON cell BEGIN DELETE FROM cell; END"],
        ["DROP TABLE value", "CREATE VIEW value AS SELECT 1"],
    ],
)
def test_another_database_is_refused_and_left_as_it_is(path, commands):
    change(path, *commands)
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not a hyperlabel results file but another database"):
        Store(path)
    assert path.read_bytes() == before


def test_a_foreign_database_gets_no_tables(tmp_path):
    change(tmp_path / "mine.sqlite", "CREATE TABLE friends (name TEXT)")
    with pytest.raises(StoreError, match="another database"):
        Store(tmp_path / "mine.sqlite")
    db = sqlite3.connect(tmp_path / "mine.sqlite")
    assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("friends",)]
    db.close()


def test_a_cut_file_is_refused(path):
    raw = path.read_bytes()
    for size in range(1009, len(raw), 1009):
        path.write_bytes(raw[:size])
        with pytest.raises(StoreError):
            Store(path)


def test_a_full_disk_is_said_and_what_was_written_stays(path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Store(path) as store:
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 4096, limits[1]))
        try:
            with pytest.raises(StoreError, match="cannot be opened or written"):
                store.write("b", {"fold": 1, "much": "x" * 10**6})
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        assert store.finished(["a", "b"]) == {"a": "done"}
        store.write("b", {"fold": 1})
        assert store.finished(["a", "b"]) == {"a": "done", "b": "done"}


def test_a_path_that_cannot_be_a_file_is_said(tmp_path):
    with pytest.raises(StoreError, match="cannot be opened or written"):
        Store(tmp_path)


def test_reading_does_not_write(path):
    before = path.read_bytes()
    with Store(path) as store:
        assert len(store.values("suite")) == 1
    assert path.read_bytes() == before


def test_a_table_and_an_index_that_disagree_are_damage(path):
    """SQLite looks names up in an index of its own, which one changed byte parts from the table."""
    with Store(path) as store:
        store.begin("morgenstern", {"data": []}, ["c0"], "a command")
    whole = path.read_bytes()
    places = [found.start() for found in re.finditer(b"morgenstern", whole)]
    assert len(places) > 2
    for place in places:
        path.write_bytes(whole[:place] + b"n" + whole[place + 1 :])
        with pytest.raises(StoreError, match="damaged"), Store(path) as store:
            store.suite("morgenstern")


@contextmanager
def as_nobody():
    """Let root be refused what others are."""
    me = os.geteuid()
    if me == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(me)


@contextmanager
def read_only_copies(*files, folder_mode=0o555):
    """Copy files, so that they cannot be written, to a folder that cannot be written either."""
    folder = Path(tempfile.mkdtemp())
    try:
        for file in files:
            shutil.copy(file, folder)
            (folder / file.name).chmod(0o444)
        folder.chmod(folder_mode)
        yield folder
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


@contextmanager
def read_only_medium(*files, folder_mode=0o555):
    """As `read_only_copies`, seen by one who is not root."""
    with read_only_copies(*files, folder_mode=folder_mode) as folder, as_nobody():
        yield folder


def test_a_finished_file_on_a_read_only_medium_can_be_read(path):
    with read_only_medium(path) as folder:
        with Store(folder / path.name) as store:
            assert store.suites() == ["suite"]
            assert [row["value"] for row in store.values("suite")] == [0.5]
            with pytest.raises(StoreError, match="cannot be opened or written"):
                store.write("b", {"fold": 1})
        assert os.listdir(folder) == [path.name]


def test_a_file_that_only_its_owner_may_write_can_be_read_by_others(path):
    with read_only_medium(path, folder_mode=0o777) as folder, Store(folder / path.name) as store:
        assert store.artifact("suite", "portrait") == {"rows": 3}


def test_results_still_in_the_log_are_not_passed_over_on_a_read_only_medium(path):
    with Store(path) as store:
        store.write("b", {"fold": 1}, [("ridge", "f1", None, 0.75)])
        refused = pytest.raises(StoreError, match="part of its results are still in results.sqlite-wal: copy")
        with read_only_medium(path, path.with_name(f"{path.name}-wal")) as folder, refused:
            Store(folder / path.name)


def test_no_file_is_made_on_a_read_only_medium_and_damage_is_still_said(path, tmp_path):
    damaged = tmp_path / "damaged.sqlite"
    damaged.write_bytes(path.read_bytes()[:-4096])
    with read_only_medium(damaged) as folder:
        with pytest.raises(StoreError, match="cannot be opened or written"):
            Store(folder / "new.sqlite")
        with pytest.raises(StoreError, match="damaged"):
            Store(folder / "damaged.sqlite")


def test_a_report_is_made_from_a_read_only_medium(tmp_path, monkeypatch):
    store, data = tmp_path / "d.sqlite", tmp_path / "d.csv"
    rows = (f"{i},{i % 7},{'xy'[i % 2]}\n" for i in range(60))
    data.write_text("a,b,tags\n" + "".join(rows), encoding="utf-8")
    compared = ["--label-column", "tags", "--methods", "ridge,prior", "--folds", "2", "--no-tune"]
    done = run_command("compare", data, *compared, "--store", store, "-o", tmp_path / "first.html")
    assert done.exit_code == 0, done.output
    open_store = Store.__init__

    def open_as_nobody(self, path):
        with as_nobody():
            open_store(self, path)

    monkeypatch.setattr(Store, "__init__", open_as_nobody)
    with read_only_copies(store) as folder:
        done = run_command("report", folder / store.name, "-o", tmp_path / "page.html")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")


# -- what the file guarantees --------------------------------------------------------------------------------


def test_cells_computed_with_other_versions_are_other_cells(monkeypatch):
    spec = {"data": "d", "fold": 0}
    ids = {content_id(spec)}
    for versions in ({"numpy": "1.0"}, {"numpy": "1.1"}, {"numpy": "1.0", "scipy": "2"}, {}):
        monkeypatch.setattr(environment, "package_versions", lambda versions=versions: versions)
        ids.add(content_id(spec))
    assert len(ids) == 5


def test_a_cell_computed_again_leaves_none_of_its_old_values(path):
    with Store(path) as store:
        store.write("a", {"fold": 0}, [("ridge", "f1", None, 0.75), ("ridge", "hamming", None, 0.1)])
        assert [(row["metric"], row["value"]) for row in store.values("suite")] == [
            ("f1", 0.75),
            ("hamming", 0.1),
        ]
        store.forget(["a"])
        assert store.values("suite") == []
        store.write("a", {"fold": 0}, [("ridge", "f1", None, 0.25)])
        assert [row["value"] for row in store.values("suite")] == [0.25]
    db = sqlite3.connect(path)
    assert db.execute("SELECT count(*) FROM value").fetchone() == (1,)
    db.close()


def test_values_belong_to_cells_and_cells_to_environments(path):
    with Store(path) as store:
        with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
            store._db.execute("INSERT INTO value VALUES ('no such cell', 'ridge', 'f1', NULL, 0.5)")
        with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
            store._db.execute("UPDATE cell SET environment = 'no such environment'")


@pytest.mark.parametrize("opened", ["new", "again"])
def test_a_transaction_is_on_disk_when_it_ends(tmp_path, path, opened):
    """SQLite calls it FULL (2): the write-ahead log is synced after every transaction, not now and then."""
    with Store(path if opened == "again" else tmp_path / "new.sqlite") as store:
        assert store._db.execute("PRAGMA synchronous").fetchone() == (2,)
        assert store._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
