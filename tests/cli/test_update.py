"""``explain`` and ``update`` on small tables of texts and tags."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from tests.commands import run

import hyperlabel
import hyperlabel.persistence
from hyperlabel._files import locked

WORDS = {"fruit": "apple pear banana", "vehicle": "car lorry tram", "colour": "red green blue"}


def write(path, n, seed, extra=""):
    rng = np.random.default_rng(seed)
    lines = ["note,tags"]
    for i in range(n):
        chosen = rng.choice(list(WORDS), size=rng.integers(1, 3), replace=False)
        words = " ".join(rng.choice(WORDS[c].split()) for c in chosen)
        tags = ";".join(chosen) + (f";{extra}" if extra and i % 2 else "")
        lines.append(f"a note on {words} {extra if i % 2 else ''},{tags}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("notes")
    write(place / "old.csv", 60, 0)
    write(place / "new.csv", 30, 1)
    write(place / "more.csv", 30, 2, extra="urgent")
    for method in ("ridge", "plst", "mlknn"):
        done = run(
            "fit", place / "old.csv", "--labels", "tags", "--method", method, "-o", place / f"{method}.hyper"
        )
        assert done.exit_code == 0, done.output
    return place


def test_explain(folder):
    done = run("explain", folder / "ridge.hyper", "--text", "a red apple", "--label", "fruit", "--json")
    assert done.exit_code == 0, done.output
    (why,) = json.loads(done.stdout)
    assert why["features"][0]["name"] == "apple"
    total = why["base"] + why["rest"] + sum(f["share"] for f in why["features"])
    assert total == pytest.approx(why["score"])
    shown = run("explain", folder / "plst.hyper", folder / "new.csv", "--row", 2)
    assert shown.exit_code == 0, shown.output
    assert shown.output.count("score") == 3
    assert "through direction" in shown.output
    assert "apple" in run("explain", folder / "ridge.hyper", "--label", "fruit").output


def test_update_equals_a_fit_on_all_rows(folder, tmp_path):
    model = tmp_path / "m.hyper"
    shutil.copy(folder / "ridge.hyper", model)
    done = run("update", model, folder / "new.csv", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["rows"] == 90
    texts = ["a red apple", "blue tram"]
    old, new = hyperlabel.load(folder / "ridge.hyper"), hyperlabel.load(model)
    both = "\n".join(
        [(folder / "old.csv").read_text().strip(), *(folder / "new.csv").read_text().split("\n")[1:]]
    )
    (tmp_path / "both.csv").write_text(both)
    X, Y = [], []
    from hyperlabel.datasets import read_table

    table = read_table(tmp_path / "both.csv", label_column="tags", text="note", features=[])
    X, Y = old[:-1].transform(table.text), table.Y
    ridge = hyperlabel.BinaryRelevance(alpha=old[-1].estimator_.alpha_, solver="gram").fit(X, Y)
    wanted = ridge.decision_function(old[:-1].transform(texts))
    assert np.allclose(new.decision_function(texts), wanted)
    done = run("update", model, "--forget", folder / "new.csv")
    assert done.exit_code == 0, done.output
    assert np.allclose(hyperlabel.load(model).decision_function(texts), old.decision_function(texts))


def test_rows_and_queues_need_not_be_utf_8(folder, tmp_path):
    """Spreadsheets save Latin-1, and semicolons where the comma is the decimal mark."""
    model = tmp_path / "m.hyper"
    shutil.copy(folder / "ridge.hyper", model)
    rows = tmp_path / "rows.csv"
    rows.write_text("note,tags\nein grüner Apfel,fruit;colour\n", encoding="latin-1")
    done = run("update", model, rows, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["rows"] == 61
    assert run("update", model, "--forget", rows).exit_code == 0
    queue = tmp_path / "queue.csv"
    done = run("predict", model, folder / "new.csv", "--review", "-o", queue)
    assert done.exit_code == 0, done.output
    header, first, *_ = csv.reader(queue.read_text(encoding="utf-8").splitlines())
    first[header.index("labels")], first[header.index("note")] = "fruit", "ein grüner Apfel"
    with queue.open("w", encoding="latin-1", newline="") as file:
        csv.writer(file, delimiter=";").writerows([header, first])
    done = run("update", model, queue, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["rows"] == 61


def some(folder, target, rows, source="old.csv"):
    lines = (folder / source).read_text().splitlines()
    target.write_text("\n".join([lines[0], *(lines[1 + i] for i in rows)]) + "\n")
    return target


def scores(path):
    return hyperlabel.load(path).decision_function(["a red apple", "blue tram", "a note on a green lorry"])


def test_every_file_named_by_forget_is_forgotten(folder, tmp_path):
    a, b = some(folder, tmp_path / "a.csv", range(10)), some(folder, tmp_path / "b.csv", range(10, 15))
    both, each = tmp_path / "both.hyper", tmp_path / "each.hyper"
    done = run("update", folder / "ridge.hyper", "--forget", a, "--forget", b, "-o", both, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["forgotten"] == 15
    assert json.loads(done.stdout)["rows"] == 45
    assert run("update", folder / "ridge.hyper", "--forget", a, "-o", each).exit_code == 0
    assert run("update", each, "--forget", b).exit_code == 0
    assert np.allclose(scores(both), scores(each))
    assert not np.allclose(scores(both), scores(folder / "ridge.hyper"))


def test_forgetting_several_files_is_all_or_nothing(folder, tmp_path):
    model = tmp_path / "m.hyper"
    shutil.copy(folder / "ridge.hyper", model)
    a = some(folder, tmp_path / "a.csv", range(10))
    stranger = tmp_path / "b.csv"
    stranger.write_text("note,tags\ncar car apple tram banana,fruit\n")
    for second, sentence in (
        (stranger, "These rows were not all in the model"),
        (a, "twice"),
        ("no.csv", "no file"),
    ):
        done = run("update", model, "--forget", a, "--forget", second)
        assert done.exit_code == 2, done.output
        assert sentence in " ".join(done.output.split())
        assert model.read_bytes() == (folder / "ridge.hyper").read_bytes()


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ("a note on red,colour\n" * 61, "Cannot take 61 rows out of 60"),
        ("a note on red,colour\n" * 50, "row 4 is not among them with these labels"),
        ("car car apple apple apple tram,fruit\n", "row 0 is not among them with these labels"),
    ],
)
def test_rows_that_cannot_have_been_learned_are_not_forgotten(folder, tmp_path, rows, sentence):
    path = tmp_path / "never.csv"
    path.write_text("note,tags\n" + rows)
    done = run("update", folder / "ridge.hyper", "--forget", path, "-o", tmp_path / "m.hyper")
    assert done.exit_code == 2, done.output
    assert sentence in " ".join(done.output.split())
    assert not (tmp_path / "m.hyper").exists()


def test_files_to_forget_may_stand_in_a_config(folder, tmp_path):
    a = some(folder, tmp_path / "a.csv", range(10))
    (tmp_path / "run.toml").write_text(f'[update]\nforget = "{a}"\n')
    done = run(
        "update", folder / "ridge.hyper", "--config", tmp_path / "run.toml", "-o", tmp_path / "m", "--json"
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["forgotten"] == 10


def test_update_labels(folder, tmp_path):
    model, target = tmp_path / "m.hyper", tmp_path / "changed.hyper"
    shutil.copy(folder / "ridge.hyper", model)
    before = model.read_bytes()
    done = run("update", model, folder / "more.csv")
    assert done.exit_code == 2
    assert "1 label the model does not know (urgent)" in " ".join(done.output.split())
    assert model.read_bytes() == before  # all or nothing
    done = run(
        *("update", model, folder / "more.csv", "--add-labels", "--rename-label", "colour=color"),
        *("--drop-label", "vehicle", "-o", target),
    )
    assert done.exit_code == 0, done.output
    assert model.read_bytes() == before
    assert list(hyperlabel.load(target)[-1].label_names_) == ["color", "fruit", "urgent"]
    done = run("predict", target, "--text", "a pear", "--top", 3, "--json")
    assert json.loads(done.stdout)["labels"][0]["label"] == "fruit"
    assert run("evaluate", target, folder / "more.csv").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["update", "{f}/mlknn.hyper", "{f}/new.csv"], "takes --method ridge, not mlknn"),
        (["update", "{f}/ridge.hyper"], "There is nothing to do"),
        (["update", "{f}/ridge.hyper", "--rename-label", "a"], "takes OLD=NEW"),
        (["update", "{f}/ridge.hyper", "--drop-label", "zzz"], "no label 'zzz'"),
        (["update", "{f}/ridge.hyper", "--forget", "{f}/more.csv"], "1 label the model does not know"),
        (["explain", "{f}/mlknn.hyper", "{f}/new.csv"], "MLkNN is not linear"),
        (["explain", "{f}/ridge.hyper"], "Name a label"),
        (["explain", "{f}/ridge.hyper", "--label", "zzz"], "no label 'zzz'"),
        (["explain", "{f}/ridge.hyper", "{f}/new.csv", "--row", "999"], "there is no row 999"),
        (["data", "drift", "{f}/old.csv", "nowhere.csv", "--labels", "tags"], "There is no file nowhere.csv"),
    ],
)
def test_bad_input_gets_one_sentence_and_code_2(folder, arguments, sentence):
    done = run(*(a.format(f=folder) for a in arguments))
    assert done.exit_code == 2, done.output
    assert sentence in " ".join(done.output.split())


def test_two_updates_at_once_lose_neither(folder, tmp_path):
    model = tmp_path / "m.hyper"
    shutil.copy(folder / "ridge.hyper", model)
    rows = [write(tmp_path / f"new{i}.csv", 10, 10 + i) for i in range(3)]
    command = [sys.executable, "-m", "hyperlabel", "update", str(model)]
    with locked(model, lambda: None):  # so that all of them meet
        jobs = [
            subprocess.Popen([*command, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            for path in rows
        ]
        for job in jobs:
            assert "waiting until it is done" in job.stderr.readline()
    for job in jobs:
        _, error = job.communicate(timeout=120)
        assert job.returncode == 0, error
    assert hyperlabel.persistence.describe(model)["metadata"]["hyperlabel fit"]["rows"] == 90
    together = tmp_path / "all.csv"
    texts = [path.read_text().split("\n", 1) for path in rows]
    together.write_text(texts[0][0] + "\n" + "".join(text for _, text in texts))
    assert run("update", folder / "ridge.hyper", together, "-o", tmp_path / "once.hyper").exit_code == 0
    asked = ["a red apple", "the green tram"]
    scores = [hyperlabel.load(path).decision_function(asked) for path in (model, tmp_path / "once.hyper")]
    np.testing.assert_allclose(*scores, atol=1e-10)
    assert sorted(path.name for path in tmp_path.glob("*.hyper*")) == ["m.hyper", "once.hyper"]
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("fitted", "why"),
    [
        (["--method", "plst"], "takes --method ridge, not plst"),
        (["--method", "logistic"], "takes --method ridge, not logistic"),
        (["--slim"], "kept neither rows nor sums"),
        (["--thresholds", "top_k"], "--thresholds top_k"),
    ],
)
def test_what_cannot_be_updated_says_so_in_the_words_of_the_command_line(folder, tmp_path, fitted, why):
    model = tmp_path / "m.hyper"
    assert run("fit", folder / "old.csv", "--labels", "tags", *fitted, "-o", model).exit_code == 0
    done = run("update", model, folder / "new.csv")
    assert done.exit_code == 2
    assert why in done.output
    assert "=" not in done.output
