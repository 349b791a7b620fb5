"""CSV in, CSV out: `data split`, `data convert` and `predict` keep what the user's file holds (D10)."""

from __future__ import annotations

import csv
import io
import json
import re

import numpy as np
import pytest
from tests.commands import run

from hyperlabel.datasets import Dataset, make_multilabel, read_data, read_table
from hyperlabel.datasets.table_sources import TableRows


def notes(path, n=60, delimiter=","):
    rng = np.random.default_rng(0)
    words = {"fruit": "apple pear", "vehicle": "car lorry", "New York, NY": "city harbour"}
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["key", "note", "when", "tags"])
        for i in range(n):
            chosen = rng.choice(list(words), size=rng.integers(1, 3), replace=False)
            said = " ".join(rng.choice(words[c].split()) for c in chosen)
            writer.writerow(
                [f"A-{i:03d}", f'a "note",\non {said}', f"2024-01-{i % 28 + 1:02d}", "|".join(chosen)]
            )
    return path


def rows_of(path):
    columns = TableRows(path).whole().columns
    return [tuple(row) for row in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "csv.gz"])
def test_a_table_splits_into_tables_with_every_column(tmp_path, ending):
    source = tmp_path / f"notes.{ending}"
    done = run("data", "convert", notes(tmp_path / "first.csv"), source)
    assert done.exit_code == 0, done.output
    done = run("data", "split", source, "--labels", "tags", "--out", tmp_path / "parts", "--json")
    assert done.exit_code == 0, done.output
    files = [tmp_path / "parts" / part["file"] for part in json.loads(done.stdout)["parts"]]
    assert [file.name for file in files] == [
        f"notes-{p}.{ending.removesuffix('.gz')}" for p in ("train", "test")
    ]
    train, test = map(rows_of, files)
    assert len(train) == 45
    assert sorted(train + test) == sorted(rows_of(source))
    assert list(TableRows(files[0]).whole().columns) == ["key", "note", "when", "tags"]
    assert run("fit", files[0], "--labels", "tags", "-o", tmp_path / "m.hyper").exit_code == 0
    assert run("evaluate", tmp_path / "m.hyper", files[1]).exit_code == 0


def test_the_delimiter_of_a_european_table_stays(tmp_path):
    source = notes(tmp_path / "notes.csv", delimiter=";")
    assert run("data", "split", source, "--labels", "tags", "--out", tmp_path / "p").exit_code == 0
    assert (tmp_path / "p" / "notes-test.csv").read_text().startswith("key;note;when;tags\n")


def test_a_table_converts_to_every_table_and_back_without_loss(tmp_path):
    source = tmp_path / "a.csv"
    source.write_text('id,size,share,tags\n007,3,0.5,"[""a"", ""b""]"\n008,,1.25,\n')
    for ending in ("jsonl", "parquet", "tsv", "csv.gz"):
        done = run("data", "convert", source, tmp_path / f"b.{ending}")
        assert done.exit_code == 0, done.output
        assert "2 rows, 4 columns" in done.stdout
        assert run("data", "convert", tmp_path / f"b.{ending}", tmp_path / "c.csv").exit_code == 0
        assert (tmp_path / "c.csv").read_text() == source.read_text()
    first = json.loads((tmp_path / "b.jsonl").read_text().splitlines()[0])
    assert first == {"id": "007", "size": 3, "share": 0.5, "tags": '["a", "b"]'}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_arrays_become_a_table_that_reads_back(tmp_path, ending):
    data = make_multilabel(12, 3, 4, random_state=0)
    data = Dataset(data.X, data.Y, ["u", "v", "w"], ["a", "b;c", "d", "e|f"], text=["x y"] * 12)
    data.save(tmp_path / "a.npz")
    done = run("data", "convert", tmp_path / "a.npz", tmp_path / f"b.{ending}")
    assert done.exit_code == 0, done.output
    again = read_table(
        tmp_path / f"b.{ending}", label_column="labels", label_names=data.label_names, text="text"
    )
    np.testing.assert_array_equal(again.X, data.X)
    assert again.label_sets() == data.label_sets()
    assert again.text == data.text


def test_a_lone_empty_cell_stays_a_row(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"x": ""}\n{"x": "b"}\n')
    assert run("data", "convert", tmp_path / "a.jsonl", tmp_path / "b.csv").exit_code == 0
    assert len(rows_of(tmp_path / "b.csv")) == 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("notes")
    done = run("fit", notes(place / "notes.csv"), "--labels", "tags", "--text", "note", "--features", "",
               "-o", place / "m.hyper")  # fmt: skip
    assert done.exit_code == 0, done.output
    return place


def test_predict_appends_to_the_columns_of_the_input(folder, tmp_path):
    done = run("predict", folder / "m.hyper", folder / "notes.csv", "--keep")
    assert done.exit_code == 0, done.output
    found = list(csv.DictReader(io.StringIO(done.stdout)))
    plain = list(csv.DictReader(io.StringIO(run("predict", folder / "m.hyper", folder / "notes.csv").stdout)))
    assert list(found[0]) == ["key", "note", "when", "tags", "labels", "probabilities"]
    assert [tuple(row.values())[:4] for row in found] == rows_of(folder / "notes.csv")
    assert [(r["labels"], r["probabilities"]) for r in found] == [
        (r["labels"], r["probabilities"]) for r in plain
    ]
    for ending in ("jsonl", "parquet"):
        out = tmp_path / f"o.{ending}"
        done = run("predict", folder / "m.hyper", folder / "notes.csv", "--keep", "-o", out)
        assert done.exit_code == 0, done.output
        columns = TableRows(out).whole().columns
        assert columns["key"] == [row["key"] for row in found]
        assert ["|".join(labels) for labels in columns["labels"]] == [row["labels"] for row in found]


def test_predict_gives_one_column_per_label(folder, tmp_path):
    out = tmp_path / "wide.csv"
    done = run("predict", folder / "m.hyper", folder / "notes.csv", "--wide", "-o", out)
    assert done.exit_code == 0, done.output
    wide = read_data(out, labels=["New York, NY", "fruit", "vehicle"], features=[])
    plain = list(csv.DictReader(io.StringIO(run("predict", folder / "m.hyper", folder / "notes.csv").stdout)))
    assert wide.label_sets() == [sorted(filter(None, row["labels"].split("|"))) for row in plain]
    done = run("predict", folder / "m.hyper", out, "--wide", "--keep", stdin="")
    assert done.exit_code == 2
    assert "'note'" in done.stderr


def test_predicted_columns_never_replace_those_of_the_input(folder):
    table = "note,fruit,labels\na car,7,x\n"
    done = run("predict", folder / "m.hyper", "-", "--keep", "--wide", stdin=table)
    assert done.exit_code == 0, done.output
    (row,) = csv.DictReader(io.StringIO(done.stdout))
    assert (row["fruit"], row["fruit (predicted)"], row["vehicle"]) == ("7", "0", "1")
    done = run("predict", folder / "m.hyper", "-", "--keep", stdin=table)
    (row,) = csv.DictReader(io.StringIO(done.stdout))
    assert (row["labels"], row["labels (predicted)"]) == ("x", "vehicle")


def test_lines_of_text_keep_the_text(folder):
    done = run("predict", folder / "m.hyper", "-", "--keep", stdin="an apple\na lorry\n")
    assert [r["text"] for r in csv.DictReader(io.StringIO(done.stdout))] == ["an apple", "a lorry"]


def test_evaluate_writes_every_label_and_says_what_macro_leaves_out(folder, tmp_path):
    (tmp_path / "held.csv").write_text("note,tags\na car,vehicle\nan apple,fruit\nlorry and pear,vehicle\n")
    out = tmp_path / "labels.csv"
    done = run("evaluate", folder / "m.hyper", tmp_path / "held.csv", "--per-label", out, "--worst", 1)
    assert done.exit_code == 0, done.output
    with open(out, encoding="utf-8", newline="") as file:
        found = {row["label"]: row for row in csv.DictReader(file)}
    assert list(found) == ["New York, NY", "fruit", "vehicle"]
    assert found["fruit"] == {"label": "fruit", "rows": "1", "predicted": "2", "right": "1", "mistakes": "1",
                              "precision": "0.5", "recall": "1.0", "f1": str(2 / 3)}  # fmt: skip
    assert "1 label without a row count 0 in f1_macro; 2 occur" in done.stdout
    lines = done.stdout.splitlines()
    assert lines[-2].split() == [
        "label",
        "mistakes",
        "rows",
        "predicted",
        "right",
        "precision",
        "recall",
        "f1",
    ]
    assert lines[-1].split()[:2] == ["fruit", "1"]
    values = json.loads(run("evaluate", folder / "m.hyper", tmp_path / "held.csv", "--json").stdout)
    assert values["f1_macro_present"] == pytest.approx(values["f1_macro"] * 3 / 2)


def test_info_looks_at_columns_text_and_labels(tmp_path):
    source = notes(tmp_path / "notes.csv")
    found = json.loads(run("data", "info", source, "--labels", "tags", "--json").stdout)
    kinds = {one["column"]: one["kind"] for one in found["columns"]}
    assert kinds["note"] == "text"
    assert kinds["key"] == "identifier"
    assert [one["rows"] for one in found["frequent_labels"]] == sorted(
        (one["rows"] for one in found["frequent_labels"]), reverse=True
    )
    assert all(pair["together"] >= 5 for pair in found["correlated_pairs"])
    said = run("data", "info", source, "--labels", "tags").stdout
    assert "most frequent labels" in said
    assert "words per cell" in said


def test_info_proposes_the_column_of_labels(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # no cell is broken into two lines
    asked = run("data", "info", notes(tmp_path / "notes.csv"))
    assert asked.exit_code == 0  # any table is described
    assert "fit would stop: Say which column" in asked.stderr
    lines = asked.stdout.splitlines()
    assert re.split(r"  +", lines[0].strip())[:6] == [
        *("column", "kind", "fit takes it as", "missing", "unreadable", "distinct")
    ]
    described = {line.split()[0]: re.split(r"  +", line.strip())[1:6] for line in lines[1:]}
    assert described == {
        "key": ["identifier", "left out", "0", "0", "60"],
        "note": ["text", "text", "0", "0", "24"],
        "when": ["categories", "categories", "0", "0", "28"],
        "tags": ["words", "left out", "0", "0", "9"],
    }
    assert "perhaps --labels tags" in asked.stderr
    sets = ["red, blue", "blue", "green, red", "blue, green", "red"]
    rows = "".join(
        f"{10 + i % 7},{10 + i % 5};{sets[i % 5]}\n" for i in range(35)
    )  # decimal commas list nothing
    (tmp_path / "prices.csv").write_text(f"price;words\n{rows}")
    assert "perhaps --labels words" in run("data", "info", tmp_path / "prices.csv").stderr
    (tmp_path / "flags.csv").write_text("x,spam,urgent\n1.5,0,1\n2.5,1,1\n")
    assert "perhaps --labels spam,urgent" in run("data", "info", tmp_path / "flags.csv").stderr


@pytest.mark.parametrize("columns", [80, 50])
def test_tables_fit_the_terminal(folder, tmp_path, columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    commands = [
        ["data", "info", folder / "notes.csv", "--labels", "tags"],
        ["data", "split", folder / "notes.csv", "--labels", "tags", "--out", tmp_path / "o", "--folds", 2],
    ]
    for command in commands:
        lines = run(*command).stdout.splitlines()
        tables = [line for line in lines if "written to" not in line]
        assert max(map(len, tables)) <= columns
    assert any("notes-fold1-train.csv" in line for line in lines)  # a file name is never broken


def test_a_stop_says_what_is_kept(folder, monkeypatch):
    from hyperlabel.tabular import model_file

    def stop(path):
        raise KeyboardInterrupt

    monkeypatch.setattr(model_file, "read_columns", stop)
    done = run("predict", folder / "m.hyper", "--text", "x")
    assert done.exit_code == 130
    assert done.stderr == "Stopped. No file was changed: run the same command to start again.\n"


def test_no_number_of_the_operating_system_in_messages(folder, tmp_path):
    for arguments in (
        ["fit", "--config", tmp_path / "nope.toml"],
        ["predict", folder / "m.hyper", "--text", "x", "-o", tmp_path / "no" / "x.csv"],
    ):
        done = run(*arguments)
        assert done.exit_code == 2
        assert "Errno" not in done.stderr
