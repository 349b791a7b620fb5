"""A file holds what its name says, in every command that writes one."""

from __future__ import annotations

import csv
import gzip
import json

import numpy as np
import pytest
from tests.commands import done, run


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outputs")
    rng = np.random.default_rng(0)
    lines = ["id,body,year,tags"]
    for i in range(40):
        tags = [tag for tag in ("red", "blue") if rng.random() < 0.5]
        lines.append(
            f"k{i},{' '.join([*tags, 'said', f'w{rng.integers(4)}'])},{2000 + i // 2},{';'.join(tags)}"
        )
    (folder / "t.csv").write_text("\n".join(lines) + "\n")
    done("fit", folder / "t.csv", "--labels", "tags", "--text", "body", "-o", folder / "m.hyper")
    return folder


TABLES = "end it with .csv, .tsv, .jsonl, .ndjson, .json, .parquet, .pq, .xlsx, .xlsm.\n"
REFUSED = {
    "fit {p}/t.csv --labels tags -o {o}/m.pkl": ".hyper",
    "update {p}/m.hyper --add-label x -o {o}/m.csv": ".hyper",
    "predict {p}/m.hyper {p}/t.csv -o {o}/out.ods": TABLES,
    "predict {p}/m.hyper {p}/t.csv -o {o}/out.txt": ".csv, .tsv",
    "predict {p}/m.hyper {p}/t.csv -o {o}/out.parquet --format csv": "not parquet as its name says",
    "predict {p}/m.hyper {p}/t.csv -o {o}/out.csv --json": "not csv as its name says",
    "predict {p}/m.hyper {p}/t.csv --review -o {o}/out.jsonl": ".csv",
    "evaluate {p}/m.hyper {p}/t.csv --per-label {o}/l.ods": ".csv, .tsv",
    "evaluate {p}/m.hyper {p}/t.csv --report {o}/p.pdf": ".html or .htm",
    "report {p}/m.hyper {p}/t.csv -o {o}/p.pdf": ".html or .htm",
    "compare {p}/t.csv --labels tags -o {o}/c.md": ".html or .htm",
    "demo -o {o}/d.md": ".html or .htm",
    "data report {p}/t.csv --labels tags -o {o}/d.docx": ".html or .htm",
    "data label-errors {p}/t.csv --labels tags -o {o}/s.xls": ".csv, .tsv",
    "data convert {p}/t.csv {o}/t.ods": ".csv",
    "data convert {p}/t.csv {o}/t.parquet --to csv": "not parquet as its name says",
}


@pytest.mark.parametrize("line", list(REFUSED))
def test_endings_of_something_else_are_refused(line, place, tmp_path):
    wrong = run(*(word.format(p=place, o=tmp_path) for word in line.split()))
    assert wrong.exit_code == 2, wrong.output
    assert REFUSED[line] in wrong.stderr
    assert list(tmp_path.iterdir()) == []


def test_json_is_an_array_and_jsonl_are_lines(place, tmp_path):
    done("predict", place / "m.hyper", place / "t.csv", "--top", 2, "-o", tmp_path / "a.json")
    done("predict", place / "m.hyper", place / "t.csv", "--top", 2, "-o", tmp_path / "a.jsonl")
    array = json.loads((tmp_path / "a.json").read_text())
    assert array == [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert len(array) == 40
    assert array[0]["row"] == "1"
    done("predict", place / "m.hyper", place / "t.csv", "--wide", "--keep", "-o", tmp_path / "w.json")
    rows = json.loads((tmp_path / "w.json").read_text())
    assert list(rows[0]) == ["id", "body", "year", "tags", "blue", "red"]
    assert {row["red"] for row in rows} == {0, 1}
    done("data", "label-errors", place / "t.csv", "--labels", "tags", "-o", tmp_path / "s.json")
    assert json.loads((tmp_path / "s.json").read_text())[0]["looks"] in ("wrong", "missing")


def test_a_packed_name_holds_packed_lines(place, tmp_path):
    done("predict", place / "m.hyper", place / "t.csv", "-o", tmp_path / "a.jsonl.gz")
    with gzip.open(tmp_path / "a.jsonl.gz", "rt") as file:
        assert len([json.loads(line) for line in file]) == 40


def test_tabs_separate_what_is_called_tsv(place, tmp_path):
    done("evaluate", place / "m.hyper", place / "t.csv", "--per-label", tmp_path / "l.tsv")
    assert (tmp_path / "l.tsv").read_text().splitlines()[0].count("\t") > 3


def test_wide_probabilities_are_probabilities(place):
    """They were 0 and 1, as without --probabilities."""
    answer = done("predict", place / "m.hyper", place / "t.csv", "--wide", "--probabilities").stdout
    rows = list(csv.DictReader(answer.splitlines()))
    values = [float(row[name]) for row in rows for name in ("red", "blue")]
    assert len({*values}) > 4
    assert all(0 <= value <= 1 for value in values)
    listed = done(
        "predict", place / "m.hyper", place / "t.csv", "--probabilities", "--top", 2, "--json"
    ).stdout
    first = {one["label"]: one["probability"] for one in json.loads(listed.splitlines()[0])["labels"]}
    assert {name: float(rows[0][name]) for name in ("red", "blue")} == first
    best = done("predict", place / "m.hyper", place / "t.csv", "--wide", "--probabilities", "--top", 1).stdout
    assert all((row["red"] == "") != (row["blue"] == "") for row in csv.DictReader(best.splitlines()))


def test_the_queue_names_rows_by_the_column_asked_for(place, tmp_path):
    """Rows were numbered."""
    queue = tmp_path / "q.csv"
    done("predict", place / "m.hyper", place / "t.csv", "--review", "--id", "id", "-o", queue)
    rows = list(csv.DictReader(queue.read_text().splitlines()))
    assert {row["row"][0] for row in rows} == {"k"}
    rows[0]["labels"] = "red"
    with open(queue, "w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerow(rows[0])
    grown = done("update", place / "m.hyper", queue, "--json", "-o", tmp_path / "n.hyper").stdout
    assert json.loads(grown)["merged"] == 1
    twice = run("predict", place / "m.hyper", place / "t.csv", "--review", "--id", "year")
    assert twice.exit_code == 2
    assert "--id year names several rows '2000'" in twice.stderr
    assert (
        "no column 'no'"
        in run("predict", place / "m.hyper", place / "t.csv", "--review", "--id", "no").stderr
    )


@pytest.mark.parametrize(
    "void", ["--top=2", "--probabilities", "--scores", "--keep", "--wide", "--json", "--format=jsonl"]
)
def test_what_a_queue_cannot_heed_is_refused(place, void):
    wrong = run("predict", place / "m.hyper", place / "t.csv", "--review", void)
    assert wrong.exit_code == 2
    assert "--review" in wrong.stderr


def write_years(path, when):
    """Write rows of projects that come and go: the project tells the label, but no earlier row knows it."""
    lines = ["project,when,source,tags"]
    for i in range(120):
        lines.append(f"p{i // 20},{when(i)},{'xy'[i % 2]},{'big' if i // 20 in (0, 3, 4) else 'small'}")
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("when", [lambda i: 1900 + i, lambda i: f"{2000 + i // 4}-0{i % 4 + 1}-15"])
def test_time_changes_the_folds_of_the_score(tmp_path, when):
    data = write_years(tmp_path / "t.csv", when)
    call = ("fit", data, "--labels", "tags", "--features", "project", "-o", tmp_path / "m.hyper")
    scores = [json.loads(done(*call, "--json", *time).stdout)["score"] for time in ((), ("--time", "when"))]
    assert scores[0] > 0.95
    assert scores[1] < 0.7
    said = done(*call, "--time", "when").stderr
    assert "scored forward in time: 5 blocks of rows, each by a model of earlier rows" in said


def test_what_is_no_time_is_refused(tmp_path):
    data = write_years(tmp_path / "t.csv", lambda i: "" if i == 7 else 1900 + i)
    call = ("fit", data, "--labels", "tags", "--features", "project", "-o", tmp_path / "m.hyper")
    for command in (call, ("compare", data, "--labels", "tags"), ("data", "info", data, "--labels", "tags")):
        wrong = run(*command, "--time", "source")
        assert wrong.exit_code == 2
    assert "--time source must hold numbers or dates such as 2024-05-31, which 'x' is not" in (
        run(*call, "--time", "source").stderr
    )
    assert "no time in 1 row, the first of them row 8" in run(*call, "--time", "when").stderr
    both = run("fit", data, "--labels", "tags", "--time", "source", "--group", "source")
    assert both.exit_code == 2


def test_features_with_line_breaks_keep_an_explanation_in_its_lines(capsys):
    from hyperlabel.apps.cli.explain import _print_explanation
    from hyperlabel.meta.explanation import Explanation, Share

    share = Share("。\n次\t", 1.0, 0.5, 0.5)
    made = Explanation(row=0, label="a", score=0.5, threshold=0.0, base=0.0, features=(share,), rest=0.0)
    _print_explanation(made, None)
    assert [line.split()[-1] for line in capsys.readouterr().out.splitlines()[1:]] == [
        "。⏎次⇥",
        "else",
        "base",
    ]
