"""``hyperlabel data``: what it prints and writes, and that bad input ends in one sentence."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from click.testing import CliRunner

from hyperlabel.apps.cli import main
from hyperlabel.datasets import concat, load_npz, make_multilabel, read_data

ARFF = (
    "@relation 'r: -C -2'\n@attribute a numeric\n@attribute id string\n"
    "@attribute l1 {0,1}\n@attribute l2 {0,1}\n"
    "@data\n" + "0.5,x,1,0\n1.5,y,0,1\n2.5,z,1,1\n" * 4
)
CSV = "size,tags,who,when\n" + "".join(
    f"{i + 0.5},{'a;b' if i % 3 else 'b'},p{i % 10},2020-01-{i % 28 + 1:02d}\n" for i in range(60)
)


def run(*arguments):
    return CliRunner().invoke(main, ["data", *map(str, arguments)])


@pytest.fixture
def arff(tmp_path):
    path = tmp_path / "d.arff"
    path.write_text(ARFF)
    return path


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(CSV)
    return path


def test_info(arff):
    found = run("info", arff)
    assert found.exit_code == 0
    assert "distinct label sets" in found.stdout
    assert found.stderr.startswith("Warning: d.arff: left out text or id columns 'id'")
    numbers = json.loads(run("info", arff, "--json").stdout)
    assert (numbers["rows"], numbers["features"], numbers["labels"]) == (12, 1, 2)
    assert numbers["cardinality"] == pytest.approx(4 / 3)
    assert json.loads(run("info", arff, "--labels", "l2", "--json").stdout)["labels"] == 1
    assert json.loads(run("info", arff, "--labels", "-1", "--json").stdout)["labels"] == 1


def test_info_of_the_embedded_data():
    numbers = json.loads(run("info", "debtags", "--json").stdout)
    assert numbers["groups"] < numbers["rows"]
    assert len(numbers["correlated_pairs"]) == 5


def test_convert(arff, tmp_path):
    for ending in ("npz", "svm", "xmc.gz"):
        done = run("convert", arff, tmp_path / f"o.{ending}")
        assert done.exit_code == 0
        assert "12 rows" in done.stdout
        assert len(read_data(tmp_path / f"o.{ending}")) == 12
    assert load_npz(tmp_path / "o.npz").label_names == ["l1", "l2"]


def test_convert_to_shards(table, tmp_path):
    done = run(
        "convert", table, tmp_path / "shards", "--label-column", "tags", "--shard-rows", 25, "--group", "who"
    )
    assert done.exit_code == 0
    parts = [load_npz(path) for path in sorted((tmp_path / "shards").iterdir())]
    assert [len(part) for part in parts] == [25, 25, 10]
    assert concat(parts).label_names == ["a", "b"]


@pytest.mark.parametrize("by", ["labels", "groups", "time"])
@pytest.mark.parametrize("folds", [None, 3])
def test_split(table, tmp_path, by, folds):
    options = [
        "--label-column",
        "tags",
        "--group",
        "who",
        "--time",
        "when",
        "--by",
        by,
        "--to",
        "npz",
        "--json",
    ]
    options += [] if folds is None else ["--folds", folds]
    done = run("split", table, "--out", tmp_path / "parts", *options)
    assert done.exit_code == 0, done.output
    files = [tmp_path / "parts" / part["file"] for part in json.loads(done.stdout)["parts"]]
    assert len(files) == 2 * (folds or 1)
    for train, test in zip(files[::2], files[1::2], strict=True):
        one, two = load_npz(train), load_npz(test)
        assert not set(one.X[:, 0]) & set(two.X[:, 0])
        if by == "groups":
            assert not set(one.groups) & set(two.groups)
        if by == "time":
            assert one.time.max() < two.time.min()
        elif by == "labels":
            shares = [part.Y.sum(axis=0) / len(part) for part in (one, two)]
            np.testing.assert_allclose(*shares, atol=0.05)
        if by != "time":
            assert len(one) + len(two) == 60
    assert (
        "split by"
        in run("split", table, "--out", tmp_path / "parts", *options[: -1 if folds is None else -3]).stdout
    )


def test_split_is_repeatable(tmp_path):
    path = make_multilabel(80, 3, 4, random_state=0).save(tmp_path / "m.npz")
    for name in ("one", "two"):
        assert run("split", path, "--out", tmp_path / name, "--seed", 3).exit_code == 0
    one, two = (load_npz(tmp_path / name / "m-test.npz") for name in ("one", "two"))
    np.testing.assert_array_equal(one.X, two.X)


def bad_files(tmp_path):
    good = gzip.compress(ARFF.encode() * 30)
    files = {
        "threshold.arff.gz": good[: len(good) // 2],
        "garbage.arff": bytes(range(256)) * 8,
        "empty.arff": b"",
        "counts.arff": ARFF.replace("1.5,y,0,1", "1.5,y,0", 1).encode(),
        "nolabels.arff": ARFF.replace("-C -2", "").encode(),
        "huge.xmc": b"9 99999999999999 3\n",
        "empty.npz": b"",
        "garbage.npz": bytes(range(256)),
        "garbage.parquet": bytes(range(256)),
        "bad.svm": b"0 x:1\n",
        "bad.csv": b"a,b\n1\n",
        "bad.jsonl": b"{\n",
        "what.docx": b"hello",
    }
    for name, raw in files.items():
        (tmp_path / name).write_bytes(raw)
    return [*files, "missing.arff"]


def test_bad_input_ends_with_code_2_and_one_sentence(tmp_path):
    for name in bad_files(tmp_path):
        more = ["--labels", "b"] if name.split(".")[1] in ("csv", "jsonl", "parquet") else []
        done = run("info", tmp_path / name, *more)
        assert done.exit_code == 2, (name, done.output)
        assert isinstance(done.exception, SystemExit), name
        message = [line for line in done.stderr.splitlines() if not line.startswith("Warning")]
        assert message[0].startswith("Error: "), (name, done.stderr)
        assert len(message) == 1, (name, done.stderr)
        assert "Traceback" not in done.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "t.csv", "--label-column", "nope"], "there is no column 'nope'"),
        (["info", "t.csv", "--label-column", "tags", "--nominal", "drop"], "--nominal does not apply"),
        (["info", "d.arff", "--group", "who"], "--group does not apply"),
        (["convert", "d.arff", "d.arff"], "are the same file"),
        (["convert", "d.arff", "o.docx"], "Cannot tell the format"),
        (["convert", "d.arff", "no/o.npz"], "There is no folder"),
        (["convert", "d.arff", "o", "--to", "xmc", "--shard-rows", "3"], "Shards are npz files"),
        (["split", "d.arff", "--out", "o", "--by", "groups"], "The data have no groups"),
        (["split", "d.arff", "--out", "o", "--by", "time"], "The data have no time"),
        (["split", "d.arff", "--out", "o", "--test-size", "2"], "Invalid value"),
    ],
)
def test_bad_options(arff, table, monkeypatch, tmp_path, arguments, message):
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.stderr
