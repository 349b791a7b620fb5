"""Columns as tables have them: categories, blanks, x marks, texts, embeddings, variants, rare tags."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from tests.commands import done, run

from hyperlabel.datasets import load_npz, read_table


def write(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def predicted(*arguments, stdin=None):
    return [
        row["labels"] for row in csv.DictReader(io.StringIO(done("predict", *arguments, stdin=stdin).stdout))
    ]


SECTIONS = {"gnome": "desktop", "libs": "code", "fonts": "type"}


def packages(n=90):
    """Tags that only the section tells; a rare section each tenth row."""
    rng = np.random.default_rng(0)
    for i in range(n):
        section = list(SECTIONS)[i % 3] if i % 30 else f"odd{i}"
        yield [f"pkg-{i}", section, rng.integers(9), SECTIONS.get(section, "")]


def test_numbers_with_decimal_commas_are_named_where_they_are_left_out(tmp_path):
    rows = ([i, f"1.2{i:02},{i:02}" if i else "", *row[1::2]] for i, row in enumerate(packages()))
    table = write(tmp_path / "p.csv", ["id", "price", "section", "tags"], rows)
    found = done("fit", table, "--labels", "tags", "--dry-run")
    assert (
        "columns 'price'. Numbers are read with a decimal point; 'price' has commas (see --decimal)."
        in found.stderr
    )


def test_categorical_columns_are_used(tmp_path):
    table = write(tmp_path / "p.csv", ["package", "section", "size", "tags"], packages())
    found = done("fit", table, "--labels", "tags", "-o", tmp_path / "m.hyper")
    assert "categories: 'section'; 1 column of numbers: 'size'" in found.stderr
    assert "left out text or id columns 'package'" in found.stderr
    rows = "section,size\ngnome,1\nlibs,2\nnever seen,3\n"
    assert predicted(tmp_path / "m.hyper", "-", stdin=rows)[:2] == ["desktop", "code"]
    why = done("explain", tmp_path / "m.hyper", "-", "--label", "desktop", stdin=rows).stdout
    assert "section_gnome" in why
    named = done("fit", table, "--labels", "tags", "--features", "section", "-o", tmp_path / "n.hyper")
    assert "categories: 'section'; 3 rows" in named.stderr
    assert predicted(tmp_path / "n.hyper", "-", stdin=rows)[:2] == ["desktop", "code"]


def test_categories_survive_npz_and_update(tmp_path):
    table = write(tmp_path / "p.csv", ["package", "section", "size", "tags"], packages())
    done("data", "convert", table, tmp_path / "p.npz", "--labels", "tags")
    assert list(load_npz(tmp_path / "p.npz").text_columns) == ["section"]
    done("fit", tmp_path / "p.npz", "-o", tmp_path / "a.hyper")
    done("fit", table, "--labels", "tags", "-o", tmp_path / "b.hyper")
    answers = [predicted(tmp_path / m, tmp_path / "p.npz") for m in ("a.hyper", "b.hyper")]
    assert answers[0] == answers[1]
    assert json.loads(done("update", tmp_path / "b.hyper", table, "--json").stdout)["rows"] == 180
    quick = ["--methods", "ridge", "--folds", 2, "--repeats", 1, "--no-curves", "--no-tune"]
    places = ["--store", tmp_path / "c.sqlite", "--out", tmp_path / "c.html"]
    done("compare", table, "--labels", "tags", *quick, *places)


def test_several_texts_are_told_apart(tmp_path):
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(80):
        a, b = rng.random(2) < 0.5
        title = f"the org said {'yes' if a else 'well'} here today"
        body = f"the org said {'yes' if b else 'well'} here again"
        rows.append([title, body, ";".join(["first"] * int(a) + ["second"] * int(b))])
    table = write(tmp_path / "t.csv", ["title", "body", "tags"], rows)
    assert (
        "text: 'title', 'body'" in done("fit", table, "--labels", "tags", "-o", tmp_path / "m.hyper").stderr
    )
    why = done("explain", tmp_path / "m.hyper", "--label", "first", "--label", "second", "--json")
    best = {one["label"]: [share["name"] for share in one["features"][:2]] for one in json.loads(why.stdout)}
    for label, column in (("first", "(title)"), ("second", "(body)")):
        assert all(name.endswith(column) and ("yes" in name or "well" in name) for name in best[label])


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_embeddings_in_a_column(tmp_path, ending):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(60, 5))
    lines = [
        json.dumps(
            {"key": f"k{i}", "emb": v.tolist(), "tags": ["up"] * int(v[0] > 0) + ["far"] * int(v[3] > 0)}
        )
        for i, v in enumerate(vectors)
    ]
    (tmp_path / "first.jsonl").write_text("\n".join(lines) + "\n")
    source = tmp_path / f"e.{ending}"
    done("data", "convert", tmp_path / "first.jsonl", source)
    found = done("fit", source, "--labels", "tags", "-o", tmp_path / "m.hyper")
    assert "5 columns of numbers: 'emb'" in found.stderr
    score = json.loads(done("evaluate", tmp_path / "m.hyper", source, "--json").stdout)["f1_micro"]
    assert score > 0.85
    assert "emb[0]" in done("explain", tmp_path / "m.hyper", "--label", "up").stdout
    (tmp_path / "bad.jsonl").write_text('{"emb": [1, 2]}\n')
    wrong = run("predict", tmp_path / "m.hyper", tmp_path / "bad.jsonl")
    assert wrong.exit_code == 2
    assert "has no feature 'emb[2]'" in wrong.stderr


def test_vectors_are_used_where_they_are_named(tmp_path):
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(80, 4)).astype(np.float32)
    table = write(
        tmp_path / "t.csv",
        ["key", "tags"],
        [[f"k{i}", "up" if v[0] > 0 else ""] for i, v in enumerate(vectors)],
    )
    np.save(tmp_path / "v.npy", vectors)
    done("data", "split", table, "--labels", "tags", "--vectors", tmp_path / "v.npy", "--out", tmp_path / "p")
    parts = {name: tmp_path / "p" / f"t-{name}" for name in ("train", "test")}
    train, test = (path.with_suffix(".csv") for path in parts.values())
    train_vectors, test_vectors = (path.with_suffix(".npy") for path in parts.values())
    model = tmp_path / "m.hyper"
    found = done("fit", train, "--labels", "tags", "--vectors", train_vectors, "-o", model)
    assert "; 4 columns of numbers" in found.stderr
    scored = done("evaluate", model, test, "--vectors", test_vectors, "--json").stdout
    assert json.loads(scored)["f1_micro"] > 0.9
    wrong = run("evaluate", model, test)
    assert wrong.exit_code == 2
    assert f"name those of {test} with --vectors FILE" in wrong.stderr
    assert "There is no file of vectors" in run("evaluate", model, test, "--vectors", "no.npy").stderr
    assert "one vector of numbers for each of the 20 rows" in (
        run("evaluate", model, test, "--vectors", train_vectors).stderr
    )
    np.save(tmp_path / "short.npy", np.load(test_vectors)[:, :3])
    short = run("predict", model, test, "--vectors", tmp_path / "short.npy")
    assert "holds vectors of 3 numbers, the model needs 4" in short.stderr
    grown = json.loads(done("update", model, test, "--vectors", test_vectors, "--json").stdout)
    assert grown["rows"] == 80
    both = ("--vectors", train_vectors, "--vectors", test_vectors)
    again = json.loads(done("update", model, train, "--forget", test, *both, "--json").stdout)
    assert (again["rows"], again["forgotten"]) == (120, 20)
    assert "names 1 file for 2 files" in (
        run("update", model, train, "--forget", test, "--vectors", train_vectors).stderr
    )
    done("explain", model, test, "--vectors", test_vectors)
    done("data", "drift", train, test, "--labels", "tags", *both)
    done("data", "drift", train, test, "--model", model, *both)
    done("report", model, test, "--vectors", test_vectors, "-o", tmp_path / "p.html")
    assert "cannot hold the vectors" in run("predict", model, test, "--review").stderr


def test_a_stray_npy_file_is_no_feature(tmp_path):
    """Labels saved as NAME.npy beside NAME.csv made a perfect score."""
    rng = np.random.default_rng(1)
    y = rng.random((60, 2)) < 0.5
    rows = [[*rng.normal(size=3).round(3), *map(int, row)] for row in y]
    table = write(tmp_path / "t.csv", ["a", "b", "c", "up", "far"], rows)
    before = done("fit", table, "--labels", "up,far", "-o", tmp_path / "m.hyper")
    np.save(tmp_path / "t.npy", y.astype(float))
    after = done("fit", table, "--labels", "up,far", "-o", tmp_path / "m.hyper")
    assert after.stderr == before.stderr
    assert after.stdout.splitlines()[0] == before.stdout.splitlines()[0]
    done("data", "convert", table, tmp_path / "u.jsonl")
    assert not (tmp_path / "u.npy").exists()


def test_a_column_named_like_vectors_needs_none(tmp_path):
    """A list column called 'vector' made later commands look for an npy file."""
    rows = [{"vector": [i % 3, i % 5], "tags": ["up"] if i % 3 else []} for i in range(30)]
    (tmp_path / "e.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done("fit", tmp_path / "e.jsonl", "--labels", "tags", "-o", tmp_path / "m.hyper")
    done("predict", tmp_path / "m.hyper", tmp_path / "e.jsonl")


def test_x_marks_and_blanks(tmp_path):
    rows = [[7 * i % 23, "x" if i % 2 else "", "X" if i % 3 else " "] for i in range(30)]
    table = write(tmp_path / "x.csv", ["size", "odd", "third"], rows)
    data = read_table(table, labels=["odd", "third"])
    assert data.Y.sum(axis=0).tolist() == [15, 20]
    done("fit", table, "--labels", "odd,third", "-o", tmp_path / "m.hyper")


def test_blanks_beside_zeros_are_refused_until_said(tmp_path):
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(60):
        a, b = rng.normal(size=2)
        rows.append([a, b, int(a > 0), "" if rng.random() < 0.4 else int(b > 0)])
    table = write(tmp_path / "b.csv", ["u", "v", "up", "far"], rows)
    refused = run("fit", table, "--labels", "up,far", "-o", tmp_path / "m.hyper")
    assert refused.exit_code == 2
    assert "'far' is empty" in refused.stderr
    assert "--blank" in refused.stderr
    found = done("fit", table, "--labels", "up,far", "--blank", "missing", "-o", tmp_path / "m.hyper")
    n_unknown = read_table(table, labels=["up", "far"], blank="missing").missing.nnz
    assert n_unknown > 10
    assert f"{n_unknown} of 120 label entries unknown" in found.stderr
    assert "by cross-fitting" in found.stdout  # thresholds are tuned on what is known
    values = json.loads(done("evaluate", tmp_path / "m.hyper", table, "--json").stdout)
    assert values["f1_micro"] > 0.85
    assert values["n_unknown"] == n_unknown
    printed = done("evaluate", tmp_path / "m.hyper", table).stdout
    assert f"{n_unknown} of 120 label entries are unknown: no measure counts them" in printed
    described = done("data", "info", table, "--labels", "up,far", "--blank", "missing", "--json").stdout
    assert json.loads(described)["unknown_entries"] == n_unknown
    page = tmp_path / "d.html"
    done("data", "report", table, "--labels", "up,far", "--blank", "missing", "-o", page)
    assert f"{n_unknown} label cells unknown" in page.read_text()
    done("fit", table, "--labels", "up,far", "--blank", "no", "-o", tmp_path / "n.hyper")
    wrong = run(
        "fit", table, "--labels", "up,far", "--blank", "missing", "--method", "powerset", "-o", tmp_path / "o"
    )
    assert "powerset needs every label known: choose a method such as ridge or logistic" in wrong.stderr
    done("data", "convert", table, tmp_path / "b.npz", "--labels", "up,far", "--blank", "missing")
    assert (
        load_npz(tmp_path / "b.npz").missing.nnz
        == read_table(table, labels=["up", "far"], blank="missing").missing.nnz
    )


def rare(path, n, seed):
    rng = np.random.default_rng(seed)
    rows = [[f"a {w} on the table", f"{w};t{i}" if i % 7 == 0 else w]
            for i, w in enumerate(rng.choice(["apple", "pear"], n))]  # fmt: skip
    return write(path, ["note", "tags"], rows)


def test_a_model_fitted_with_min_rows_updates_and_forgets(tmp_path):
    table, new = rare(tmp_path / "t.csv", 70, 0), rare(tmp_path / "n.csv", 20, 1)
    found = done("fit", table, "--labels", "tags", "--min-rows", 5, "-o", tmp_path / "m.hyper")
    assert "10 labels with too few rows left out" in found.stderr
    again = done("update", tmp_path / "m.hyper", new, "--json")
    assert json.loads(again.stdout)["rows"] == 90
    assert "ignored 3 labels that the fit left out as too rare: t0, t14, t7" in again.stderr
    gone = done("update", tmp_path / "m.hyper", "--forget", table, "--json")
    assert json.loads(gone.stdout) | {"rows": 20, "labels": 2} == json.loads(gone.stdout)
    write(tmp_path / "o.csv", ["note", "tags"], [["a plum", "plum"]])
    assert (
        "1 label the model does not know (plum)"
        in run("update", tmp_path / "m.hyper", tmp_path / "o.csv").stderr
    )
    added = done("update", tmp_path / "m.hyper", new, "--add-labels", "-o", tmp_path / "all.hyper", "--json")
    assert json.loads(added.stdout)["added"] == ["t0", "t14", "t7"]


def test_label_variants_are_reported_and_joined(tmp_path):
    rows = [["some words on apple here", "Fruit"], ["some words on pear here", "fruit "],
            ["some words on fig here", "FRUIT"], ["some words on car here", "new  car"],
            ["some words on tram here", "New car"], ["some words on bus here", "new car"]] * 5  # fmt: skip
    table = write(tmp_path / "v.csv", ["note", "tags"], [*rows, ["more apple words here", "Fruit"]])
    found = done("fit", table, "--labels", "tags", "-o", tmp_path / "m.hyper")
    assert "2 labels differ only in case or blanks" in found.stderr
    joined = done(
        "fit", table, "--labels", "tags", "--normalise-labels", "-o", tmp_path / "m.hyper", "--json"
    )
    assert json.loads(joined.stdout)["labels"] == 2
    assert "differ only" not in joined.stderr
    assert predicted(tmp_path / "m.hyper", "-", stdin="an apple\n") == ["Fruit"]
    held = write(tmp_path / "h.csv", ["note", "tags"], [["some words on apple here", "fRUIT"]])
    values = json.loads(done("evaluate", tmp_path / "m.hyper", held, "--json").stdout)
    assert (values["unknown_labels"], values["recall_micro"]) == (0, 1.0)
