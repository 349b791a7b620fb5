"""Files as people have them: nested JSON, and Excel's semicolons with decimal commas."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest
from tests.commands import done, run

TEXTS = {"print": "the printer jams again", "bill": "an invoice was charged twice"}


def write_nested(path):
    """Texts, labels and facts of packages one level down, as annotation tools write them."""
    rows = []
    for i in range(40):
        name = list(TEXTS)[i % 2]
        marks = [{"label": name, "by": "anna"}] + ([{"label": "odd", "by": "bob"}] if i % 4 == 1 else [])
        text = {"title": f"no {i}", "body": TEXTS[name]}
        rows.append({"key": f"k{i}", "text": text, "meta": {"size": i % 5}, "annotations": marks})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_objects_are_refused_as_labels_with_the_names_inside(tmp_path):
    data = write_nested(tmp_path / "n.jsonl")
    inside = "name what is inside them: annotations.label, annotations.by."
    for command in (["fit", data], ["data", "label-errors", data], ["compare", data]):
        wrong = run(*command, "--labels", "annotations")
        assert wrong.exit_code == 2
        assert inside in wrong.stderr
    unsaid = run("fit", data)
    assert unsaid.exit_code == 2
    assert "perhaps --labels annotations.label" in unsaid.stderr
    # any table is described, with the sentence of fit
    told = done("data", "info", data, "--labels", "annotations")
    assert told.stderr.startswith("fit would stop: ")
    assert inside in told.stderr
    assert "perhaps --labels annotations.label" in done("data", "info", data).stderr
    found = json.loads(done("data", "info", data, "--labels", "annotations", "--json").stdout)
    assert inside in found["fit"]
    kinds = {one["column"]: (one["kind"], one["use"]) for one in found["columns"]}
    assert kinds["annotations"] == ("objects", "left out")


def test_dotted_names_work_in_every_command(tmp_path):
    data, model = write_nested(tmp_path / "n.jsonl"), tmp_path / "m.hyper"
    found = done("fit", data, "--labels", "annotations.label", "--text", "text.body", "-o", model)
    assert "text: 'text.body'" in found.stderr
    assert "left out the column of objects 'meta': dotted names reach inside (meta.size)." in found.stderr
    assert "3 labels" in found.stderr
    answers = done("predict", model, data, "--top", 1, "--scores").stdout.splitlines()[1:]
    assert [line.split(",")[1] for line in answers[:2]] == ["print", "bill"]
    # out of fold, two texts say nothing of each other: probabilities need rows that stand alone
    alone = tmp_path / "alone.hyper"
    done("fit", data, "--labels", "annotations.label", "--text", "text.body", "--group", "", "-o", alone)
    answers = [line.split(",") for line in done("predict", alone, data, "--top", 1).stdout.splitlines()[1:]]
    assert [row[1] for row in answers] == ["print", "bill"] * 20
    assert min(float(row[2]) for row in answers) > 0.9
    done("evaluate", model, data)
    # no key of an object is a word of the model
    why = json.loads(done("explain", model, data, "--label", "print", "--json").stdout)
    assert {share["name"] for share in why[0]["features"]} <= {
        *["the", "printer", "jams", "again", "an", "invoice", "was", "charged", "twice"],
        *("the printer", "printer jams", "jams again", "an invoice", "invoice was", "was charged"),
        "charged twice",
    }
    done("update", model, data)
    queue = tmp_path / "q.csv"
    done("predict", model, data, "--review", "--entries", 3, "--id", "key", "-o", queue)
    rows = list(csv.DictReader(io.StringIO(queue.read_text())))
    assert rows[0]["text.body"] in TEXTS.values()
    assert rows[0]["row"].startswith("k")
    done("data", "drift", data, data, "--model", model)
    done("predict", model, data, "--id", "meta.size", "--top", 1)
    done("data", "split", data, "--labels", "annotations.label", "--out", tmp_path / "parts")
    assert (tmp_path / "parts" / "n-train.jsonl").read_text().count('"by": "anna"') == 30


def write_excel(path, *, decimal, n=90, columns=6, labels=19):
    """Write what Excel writes in Europe: BOM, semicolons, decimal commas, a counter, 0/1 columns."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, columns)).round(4)
    Y = X @ rng.normal(size=(columns, labels)) + rng.normal(size=labels) > 0.8
    header = [
        "Nr.",
        *(f"ton-{j}" for j in range(columns)),
        "Bemerkung",
        *(f"Vogel {j}" for j in range(labels)),
    ]
    lines = [";".join(header)]
    for i in range(n):
        numbers = [str(value).replace(".", decimal) for value in X[i]]
        lines.append(";".join([str(i + 1), *numbers, ["", "laut"][i % 2], *(str(int(y)) for y in Y[i])]))
    path.write_bytes(("\ufeff" + "\r\n".join(lines) + "\r\n").encode())
    return ["--labels", ",".join(header[-labels:])]


def test_decimal_commas_of_excel_give_the_score_of_decimal_points(tmp_path):
    found = {}
    for name, decimal in (("comma", ","), ("point", ".")):
        labels = write_excel(tmp_path / f"{name}.csv", decimal=decimal)
        model = tmp_path / f"{name}.hyper"
        found[name] = json.loads(done("fit", tmp_path / f"{name}.csv", *labels, "-o", model, "--json").stdout)
    said = done("fit", tmp_path / "comma.csv", *labels, "--dry-run").stderr
    assert "left out 'Nr.'" in said
    assert "6 columns of numbers: 'ton-0'" in said
    assert found["comma"]["score"] == found["point"]["score"] > 0.5
    assert found["comma"]["features"] == found["point"]["features"] >= 6
    # a model of either file reads the other
    scores = [
        json.loads(done("evaluate", tmp_path / "comma.hyper", tmp_path / f"{n}.csv", "--json").stdout)
        for n in ("comma", "point")
    ]
    assert scores[0]["f1_macro"] == scores[1]["f1_macro"]


def write_quoted(path, price):
    rows = ["id,price,weight,size,tags"]
    rows += [f'{i},"{price(i)}","{i % 7},5","{i % 3},25",{"high" if i % 7 > 3 else ""}' for i in range(40)]
    path.write_text("\n".join(rows) + "\n")
    return path


def test_no_model_is_written_on_what_unread_numbers_leave(tmp_path):
    data, model = write_quoted(tmp_path / "q.csv", lambda i: f"{i},75"), tmp_path / "m.hyper"
    wrong = run("fit", data, "--labels", "tags", "-o", model)
    assert wrong.exit_code == 2
    assert "3 columns of q.csv hold numbers with a comma ('price', 'weight', 'size')" in wrong.stderr
    assert "--decimal ," in wrong.stderr
    assert not model.exists()
    found = done("fit", data, "--labels", "tags", "--decimal", ",", "-o", model)
    assert "3 columns of numbers: 'price', 'weight', 'size'" in found.stderr
    assert json.loads(done("evaluate", model, data, "--json").stdout)["f1_micro"] > 0.8


def test_numbers_of_a_column_agree_on_one_decimal_mark(tmp_path):
    for name, cells in (("a", ["1,5", "2.5"]), ("b", ["1.5", "2", "2,5"])):
        path = tmp_path / f"{name}.csv"
        path.write_text("size;tags\n" + "".join(f"{cell};x\n" for cell in cells))
        wrong = run("fit", path, "--labels", "tags")
        assert wrong.exit_code == 2
        assert "write all numbers of a column alike" in wrong.stderr


@pytest.mark.parametrize("decimal", [",", "."])
def test_decimal_says_which_mark_counts(tmp_path, decimal):
    path = tmp_path / "a.csv"
    path.write_text("size;weight;tags\n" + "".join(f"{i}{decimal}5;{i % 3};t{i % 2}\n" for i in range(20)))
    other = {",": ".", ".": ","}[decimal]
    fitted = done("fit", path, "--labels", "tags", "--decimal", decimal, "-o", tmp_path / "m.hyper")
    assert "'size', 'weight'" in fitted.stderr
    run_other = run("fit", path, "--labels", "tags", "--decimal", other, "-o", tmp_path / "n.hyper")
    assert "'size', 'weight'" not in run_other.stderr
