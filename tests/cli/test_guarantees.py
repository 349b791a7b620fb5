"""``fit --precision``, ``predict --probabilities`` and ``--review``, and answers that come back."""

from __future__ import annotations

import csv
import io
import itertools
import json

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification
from tests.commands import run

from hyperlabel import BinaryRelevance, LabelForest, ThresholdTuner
from hyperlabel.apps.cli._guarantees import guarantee_summary
from hyperlabel.tabular.model_file import open_model
from hyperlabel.tabular.review_queue import calibration_positives

WORDS = {"printing": ["printer", "toner", "paper"], "network": ["wifi", "router"], "billing": ["invoice"]}


def tickets(path, n, seed, noise=0.05):
    """Texts whose words give the tags away, but for some noise; a number; a customer."""
    rng = np.random.default_rng(seed)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["body", "minutes", "customer", "tags"])
        for i in range(n):
            on = [name for name in WORDS if rng.random() < 0.3]
            words = [rng.choice(WORDS[name]) for name in on] + ["please", "help", f"w{rng.integers(40)}"]
            tags = [name for name in WORDS if (name in on) != (rng.random() < noise)]
            writer.writerow([" ".join(words), rng.integers(60), f"c{i // 2}", ";".join(tags)])
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("guarantees")
    tickets(folder / "train.csv", 900, 0)
    tickets(folder / "new.csv", 60, 1)
    tickets(folder / "held-out.csv", 400, 2)
    options = ("--labels", "tags", "--text", "body", "--features", "minutes")
    for name, more in (("plain", ()), ("guaranteed", ("--precision", 0.8))):
        done = run("fit", folder / "train.csv", *options, *more, "-o", folder / f"{name}.hyper")
        assert done.exit_code == 0, done.output
        (folder / f"{name}.txt").write_text(done.output)
    return folder


def test_fit_says_what_it_guarantees_and_the_model_file_remembers(place):
    assert "Precision of at least 0.8 with confidence 0.9 is guaranteed for 3 of 3" in (
        (place / "guaranteed.txt").read_text()
    )
    assert "Of the guarantees made, at most 10 % are expected to be violated." in (
        (place / "guaranteed.txt").read_text()
    )
    model = open_model(str(place / "guaranteed.hyper")).model[-1]
    assert model.guarantees_.basis == "split"
    assert [line["label"] for line in model.guarantees_] == ["billing", "network", "printing"]


def test_the_words_are_learned_without_the_rows_held_out(place):
    plain, guaranteed = (
        open_model(str(place / f"{name}.hyper")).model[0] for name in ("plain", "guaranteed")
    )
    idf = [step.named_transformers_["text"].idf_ for step in (plain, guaranteed)]
    assert len(idf[0]) == len(idf[1])
    assert not np.allclose(*idf)


def test_evaluate_prints_guarantee_outcome_and_interval(place):
    done = run("evaluate", place / "guaranteed.hyper", place / "held-out.csv")
    assert done.exit_code == 0, done.output
    lines = [line for line in done.output.splitlines() if "0.8 guaranteed" in line]
    assert len(lines) == 3
    assert all("[" in line and line.endswith(("kept", "not refuted")) for line in lines)
    found = json.loads(run("evaluate", place / "guaranteed.hyper", place / "held-out.csv", "--json").stdout)
    one = found["guarantees"][0]
    assert one["low"] <= one["outcome"] <= one["high"]
    assert one["outcome"] == pytest.approx(one["right"] / one["rows"])
    assert "guarantees" not in json.loads(
        run("evaluate", place / "plain.hyper", place / "held-out.csv", "--json").stdout
    )


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--precision", 1.2), "precision must lie between 0 and 1"),
        (("--precision", 0.9, "--confidence", 1), "confidence must lie between 0 and 1"),
        (("--precision", 0.999), "needs at least 2302 rows to test"),
    ],
)
def test_impossible_guarantees_are_one_sentence(place, tmp_path, options, sentence):
    done = run("fit", place / "train.csv", "--labels", "tags", *options, "-o", tmp_path / "m.hyper")
    assert done.exit_code != 0
    assert sentence in done.output


def test_probabilities_are_the_models_own(place):
    done = run("predict", place / "plain.hyper", place / "new.csv", "--probabilities", "--top", 3, "--json")
    assert done.exit_code == 0, done.output
    p = [one["probability"] for line in done.stdout.splitlines() for one in json.loads(line)["labels"]]
    assert 0 < min(p) < 0.2
    assert 0.8 < max(p) < 1
    fit = ("fit", place / "train.csv", "--labels", "tags", "--method", "plst", "-o", place / "plst.hyper")
    asked = ("predict", place / "plst.hyper", place / "new.csv", "--probabilities")
    assert run(*fit).exit_code == 0
    assert run(*asked).exit_code == 0  # from the out-of-fold scores the thresholds were tuned on
    assert run(*fit, "--thresholds", "none").exit_code == 0
    assert "fit it without --thresholds none" in run(*asked).output


def test_a_queue_asks_first_what_is_worth_most_and_never_what_is_guaranteed(place, tmp_path):
    asked = {}
    for name in ("plain", "guaranteed"):
        target = tmp_path / f"{name}.csv"
        done = run(
            "predict", "--review", place / f"{name}.hyper", place / "new.csv", "-o", target, "--entries", 20
        )
        assert done.exit_code == 0, done.output
        asked[name] = list(csv.DictReader(io.StringIO(target.read_text())))
        assert len(asked[name]) == 20
        assert set(asked[name][0]) == {
            *("row", "question", "probability", "answer", "predicted", "labels", "body", "minutes")
        }
        assert not any(one["answer"] or one["labels"] for one in asked[name])  # nobody has answered yet
    file = open_model(str(place / "guaranteed.hyper"))
    predicted = run("predict", place / "guaranteed.hyper", place / "new.csv", "--json").stdout.splitlines()
    sets = [{one["label"] for one in json.loads(line)["labels"]} for line in predicted]
    assert not any(one["question"] in sets[int(one["row"]) - 1] for one in asked["guaranteed"])
    assert all(one["predicted"] == ";".join(sorted(sets[int(one["row"]) - 1])) for one in asked["guaranteed"])
    p = [float(one["probability"]) for one in asked["guaranteed"]]
    assert p == sorted(p, reverse=True)  # nothing asked is predicted: the likeliest misses first
    assert file.columns.label_column == "tags"


def test_the_order_knows_the_positives_behind_every_models_curves():
    X, Y = make_multilabel_classification(n_samples=120, random_state=0)
    for model in (ThresholdTuner(), BinaryRelevance(cv=3)):
        model.fit(X, Y).predict_proba(X)
        np.testing.assert_array_equal(calibration_positives(model), Y.sum(axis=0))
    assert calibration_positives(LabelForest(5).fit(X, Y)) is None  # its frequencies are no curves


def test_rows_of_a_group_are_shown_together(place, tmp_path):
    target = tmp_path / "queue.csv"
    options = ("-o", target, "--entries", 60, "--group", "customer")
    done = run("predict", "--review", place / "plain.hyper", place / "new.csv", *options)
    assert done.exit_code == 0, done.output
    customers = [(int(one["row"]) - 1) // 2 for one in csv.DictReader(io.StringIO(target.read_text()))]
    runs = 1 + sum(a != b for a, b in itertools.pairwise(customers))
    assert runs == len(set(customers))


def asked_queue(folder, target, entries):
    """The questions of the plain model on new.csv."""
    done = run(
        "predict", "--review", folder / "plain.hyper", folder / "new.csv", "-o", target, "--entries", entries
    )
    assert done.exit_code == 0, done.output
    return list(csv.DictReader(io.StringIO(target.read_text())))


def write_table(path, lines):
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)


def weights_of(path):
    return open_model(str(path)).model[-1].estimator_.coef_


def fitted_with(place, more_rows, more_targets):
    """The weights of a fit on the training file and more rows, at the penalty of the plain model."""
    file = open_model(str(place / "plain.hyper"))
    with open(place / "train.csv", newline="") as train:
        every_row = list(csv.DictReader(train))
    Y = [[float(name in row["tags"].split(";")) for name in file.columns.label_names] for row in every_row]
    inputs = [[row["body"], float(row["minutes"])] for row in (*every_row, *more_rows)]
    model = BinaryRelevance(alpha=file.model[-1].estimator_.alpha_, threshold=0.0)
    rows = file.model[0].transform(np.array(inputs, dtype=object))
    return model.fit(rows, np.vstack([Y, more_targets])).coef_


def test_only_the_answers_of_a_queue_are_learned_and_what_nobody_answered_is_unknown(place, tmp_path):
    """Every question answered, no whole row: as a fit with NaN in all other entries of these rows."""
    queue, names = tmp_path / "queue.csv", open_model(str(place / "plain.hyper")).columns.label_names
    lines = asked_queue(place, queue, 12)
    row_numbers = list(dict.fromkeys(int(one["row"]) for one in lines))
    with open(place / "new.csv", newline="") as file:
        new = list(csv.DictReader(file))
    for answer in ("no", "yes"):
        write_table(queue, [one | {"answer": answer} for one in lines])
        done = run("update", place / "plain.hyper", queue, "-o", tmp_path / "a.hyper")
        assert done.exit_code == 0, done.output
        assert f"Of {len(row_numbers)} only the answers are learned, the other labels stay unknown" in (
            done.output
        )
        targets = np.full((len(row_numbers), len(names)), np.nan)
        for one in lines:
            targets[row_numbers.index(int(one["row"])), names.index(one["question"])] = answer == "yes"
        want = fitted_with(place, [new[number - 1] for number in row_numbers], targets)
        np.testing.assert_allclose(weights_of(tmp_path / "a.hyper"), want, atol=1e-8)
    back = run("update", tmp_path / "a.hyper", "--forget", queue, "-o", tmp_path / "b.hyper")
    assert back.exit_code == 0, back.output
    np.testing.assert_allclose(weights_of(tmp_path / "b.hyper"), weights_of(place / "plain.hyper"), atol=1e-8)
    more = run("update", tmp_path / "a.hyper", "--add-label", "new", "--drop-label", names[0])
    assert more.exit_code == 0, more.output
    write_table(queue, lines)
    refused = run("update", place / "plain.hyper", queue)
    assert refused.exit_code == 2
    assert "answer its questions with yes or no" in refused.output


def test_a_queue_with_whole_rows_is_learned_as_a_fit_with_the_true_rows_added(place, tmp_path):
    queue = tmp_path / "queue.csv"
    lines = asked_queue(place, queue, 40)
    with open(place / "new.csv", newline="") as file:
        truth = list(csv.DictReader(file))
    rows = list(dict.fromkeys(one["row"] for one in lines))
    complete, answered = set(rows[::2]), set(rows[1::4])
    for one in lines:
        true_labels = truth[int(one["row"]) - 1]["tags"]
        if one["row"] in complete:
            one["labels"] = true_labels or "-"
        if one["row"] in answered:
            one["answer"] = "yes" if one["question"] in true_labels.split(";") else "no"
    write_table(queue, lines)
    done = run("update", place / "plain.hyper", queue, "-o", tmp_path / "a.hyper")
    assert done.exit_code == 0, done.output
    untouched = len(rows) - len(complete) - len(answered)
    assert f"{len(complete)} of {len(rows)} rows have all their labels" in done.output
    assert (
        f"Of {len(answered)} only the answers are learned, the other labels stay unknown. Left out: "
        f"{untouched} untouched" in done.output
    )

    true_rows = [truth[int(row) - 1] for row in rows if row in complete]
    assert any(not row["tags"] for row in true_rows)  # a row without labels is among them
    names = open_model(str(place / "plain.hyper")).columns.label_names
    targets = [[float(name in row["tags"].split(";")) for name in names] for row in true_rows]
    partial_rows = sorted(answered, key=int)
    for row in partial_rows:
        known = {one["question"]: float(one["answer"] == "yes") for one in lines if one["row"] == row}
        targets.append([known.get(name, np.nan) for name in names])
    want = fitted_with(place, [*true_rows, *(truth[int(row) - 1] for row in partial_rows)], targets)
    np.testing.assert_allclose(weights_of(tmp_path / "a.hyper"), want, atol=1e-8)
    assert not np.allclose(weights_of(place / "plain.hyper"), want, atol=1e-4)
    again = run("predict", tmp_path / "a.hyper", place / "new.csv", "--probabilities")
    assert again.exit_code == 0, again.output


def test_a_queue_for_columns_of_zeros_and_ones_asks_for_whole_rows_too(tmp_path):
    """The same fault, built on numbers and 0/1 label columns, with an input column named like one of ours."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    lines = [
        {"labels": f"{a:.3f}", "y": f"{b:.3f}", "up": int(a > 0), "right": int(b > 0)} for a, b in X.tolist()
    ]
    write_table(tmp_path / "train.csv", lines[:60])
    write_table(tmp_path / "new.csv", lines[60:])
    fit = run("fit", tmp_path / "train.csv", "--labels", "up,right", "-o", tmp_path / "m.hyper")
    assert fit.exit_code == 0, fit.output
    queue = tmp_path / "queue.csv"
    asked = run(
        "predict", "--review", tmp_path / "m.hyper", tmp_path / "new.csv", "-o", queue, "--entries", 9
    )
    assert asked.exit_code == 0, asked.output
    header, *questions = csv.reader(io.StringIO(queue.read_text()))
    assert header == ["row", "question", "probability", "answer", "predicted", "labels", "labels", "y"]

    def answer(answers, labels):
        with open(queue, "w", newline="") as file:
            csv.writer(file).writerows(
                [header, *([*q[:3], answers, q[4], labels(q), *q[6:]] for q in questions)]
            )
        return run("update", tmp_path / "m.hyper", queue, "-o", tmp_path / "a.hyper")

    one_by_one = answer("no", lambda q: "")
    assert one_by_one.exit_code == 0, one_by_one.output
    assert "has no row to learn" in answer("", lambda q: "?").output  # somebody who does not know
    assert "the model has no label 'left'" in answer("", lambda q: "up;left").output
    assert "answered yes, but not so in labels" in answer("yes", lambda q: "-").output

    def truth(question):
        row = lines[59 + int(question[0])]
        return ";".join(name for name in ("up", "right") if row[name]) or "-"

    done = answer("", truth)
    assert done.exit_code == 0, done.output
    learned = sorted({int(q[0]) for q in questions})
    write_table(tmp_path / "true.csv", [lines[59 + row] for row in learned])
    direct = run("update", tmp_path / "m.hyper", tmp_path / "true.csv", "-o", tmp_path / "b.hyper")
    assert direct.exit_code == 0, direct.output
    a, b = (weights_of(tmp_path / f"{name}.hyper") for name in "ab")
    np.testing.assert_allclose(a, b, atol=1e-12)


def test_a_queue_with_strange_or_contradicting_answers_is_refused(place, tmp_path):
    queue = tmp_path / "queue.csv"
    lines = asked_queue(place, queue, 3)
    write_table(queue, [one | {"answer": "perhaps"} for one in lines])
    strange = run("update", place / "plain.hyper", queue, "-o", tmp_path / "a.hyper")
    assert "answer yes or no, not 'perhaps'" in strange.output
    write_table(queue, [lines[0] | {"labels": "billing"}, lines[0] | {"labels": "network"}])
    contradicting = run("update", place / "plain.hyper", queue, "-o", tmp_path / "a.hyper")
    assert "two lines of the column labels say different things" in contradicting.output


def test_suspects_are_listed_with_text_names_and_words(place, tmp_path):
    with open(place / "train.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    wrong = next(i for i, one in enumerate(rows) if "invoice" in one["body"] and "billing" in one["tags"])
    rows[wrong]["tags"] = ";".join(tag for tag in rows[wrong]["tags"].split(";") if tag != "billing")
    with open(tmp_path / "train.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    options = ("--labels", "tags", "--text", "body", "--group", "customer", "-o", tmp_path / "out.csv")
    done = run("data", "label-errors", tmp_path / "train.csv", *options, "--entries", 150)
    assert done.exit_code == 0, done.output
    found = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text())))
    assert len(found) == 150
    scores = [float(one["score"]) for one in found]
    assert scores == sorted(scores, reverse=True)
    planted = [one for one in found if (int(one["row"]) - 1, one["label"]) == (wrong, "billing")]
    assert len(planted) == 1
    assert planted[0]["looks"] == "missing"
    assert "invoice" in planted[0]["words"]
    assert planted[0]["text"] == rows[wrong]["body"]
    few = run("data", "label-errors", place / "new.csv", "--labels", "tags", "--folds", 100)
    assert "too few for 100 folds" in few.output


def test_what_is_said_of_the_guarantees_made_follows_what_they_control():
    X, Y = make_multilabel_classification(900, 20, n_classes=4, random_state=0)
    options = {"strategy": "precision_at_least", "precision": 0.7}
    for control, sentence in (
        (None, "Of the guarantees made, at most 10 % are expected to be violated."),
        (
            "per_label",
            "Each label is guaranteed by itself: of the guarantees made, any share may be violated.",
        ),
    ):
        model = ThresholdTuner(BinaryRelevance(), error_control=control, **options).fit(X, Y)
        assert sentence in guarantee_summary(model)
    recall = ThresholdTuner(BinaryRelevance(), strategy="recall_at_least").fit(X, Y)
    assert recall.guarantees_.error_control == "per_label"
    assert "violated" not in guarantee_summary(recall)
