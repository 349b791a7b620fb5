"""Results files that are damaged, foreign, or on a full or closed disk: one sentence, and nothing lost."""

from __future__ import annotations

import re
import resource
import sqlite3

import pytest

from hyperlabel.experiments.store import Store, StoreError


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
