from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hyperlabel import BinaryRelevance
from hyperlabel.apps.cli import main
from hyperlabel.datasets import make_multilabel
from hyperlabel.metrics import evaluate
from hyperlabel.model_selection import IterativeStratifiedKFold


@pytest.fixture(scope="module")
def data_file(tmp_path_factory):
    from sklearn.datasets import make_multilabel_classification

    X, Y = make_multilabel_classification(n_samples=80, n_features=6, n_classes=4, random_state=0)
    path = tmp_path_factory.mktemp("data") / "mine.npz"
    np.savez(path, X=X, Y=Y.astype(np.uint8))
    return path


def invoke(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments])


def test_compare_writes_a_report_and_resumes(data_file, tmp_path):
    options = ["--methods", "ridge,prior", "--folds", 2, "--repeats", 1, "--store", tmp_path / "s.sqlite"]
    options += [
        "--out",
        tmp_path / "r.html",
        "--scoring",
        "f1_micro,hamming_loss",
        "--no-curves",
        "--no-tune",
    ]
    first = invoke("compare", data_file, *options)
    assert first.exit_code == 0, first.output
    assert "Which method should I use here? BinaryRelevance (shared ridge)" in first.output
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")
    again = invoke("compare", data_file, *options, "--json")
    assert again.exit_code == 0, again.output
    found = json.loads(again.stdout)
    assert found["best"]["mine"]["best"] == "ridge"
    assert {s["method"] for s in found["scores"]} == {"ridge", "prior"}
    assert found["failures"] == []
    written = invoke(
        "report", tmp_path / "s.sqlite", "--out", tmp_path / "again.html", "--scoring", "hamming_loss"
    )
    assert written.exit_code == 0, written.output
    assert "lower is better" in (tmp_path / "again.html").read_text()
    assert "compare mine" in invoke("report", tmp_path / "s.sqlite", "--list").output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["compare"], "Name at least one data file"),
        (["compare", "nowhere.arff"], "There is no file nowhere.arff"),
        (["compare", __file__], "Cannot tell the format"),
        (["report", "nowhere.sqlite"], "There is no results file"),
    ],
)
def test_bad_input_gets_one_sentence_and_code_2(arguments, sentence):
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert sentence in done.output.replace("\n", " ")


def test_unknown_methods_and_scores_are_named(data_file, tmp_path):
    done = invoke("compare", data_file, "--methods", "magic", "--store", tmp_path / "s")
    assert done.exit_code == 2
    assert "There is no method 'magic'" in done.output
    done = invoke("compare", data_file, "--scoring", "magic", "--store", tmp_path / "s")
    assert done.exit_code == 2
    assert "There is no scorer 'magic'" in done.output
    done = invoke("compare", data_file, data_file, "--store", tmp_path / "s")
    assert "Two data sets are called 'mine'" in done.output


def test_the_catalogue_is_listed_and_every_method_runs():
    from hyperlabel.apps.comparison.methods import build_methods
    from hyperlabel.apps.comparison.protocol import fit_and_score
    from hyperlabel.meta.catalogue import CATALOGUE

    listed = invoke("compare", "--list-methods", "--json")
    assert [e["name"] for e in json.loads(listed.output)] == [method.name for method in CATALOGUE]
    data = make_multilabel(120, 10, 5, random_state=0)
    rows = np.arange(120)
    for method in build_methods([method.name for method in CATALOGUE], data, tune=False):
        outcome = fit_and_score(data, method, rows[:80], rows[80:], "f1_macro", 2, 0)
        assert {v.metric for v in outcome.values} >= {"f1_macro", "ranking_loss"}, method.name


def test_labels_that_nobody_knows_are_counted_and_left_out(tmp_path):
    """Two files differ only in what stands behind unknown entries: blank cells, read as unknown."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    Y = (X @ rng.normal(size=(4, 3)) + rng.normal(size=(120, 3)) > 0.3).astype(int)
    hidden = rng.random(Y.shape) < 0.3
    cells = np.where(hidden, "", Y.astype(str))
    rows = [",".join([*(f"{v:.6f}" for v in x), *labels]) for x, labels in zip(X, cells, strict=True)]
    path = tmp_path / "gaps.csv"
    path.write_text("\n".join(["a,b,c,d,up,down,left", *rows]) + "\n")
    options = ["--labels", "up,down,left", "--blank", "missing", "--folds", 2, "--repeats", 1, "--no-tune"]
    options += [
        "--no-curves",
        "--thresholds",
        "none",
        "--store",
        tmp_path / "s.sqlite",
        "-o",
        tmp_path / "r.html",
    ]
    done = invoke("compare", path, *options, "--json")
    assert done.exit_code == 0, done.output
    assert f"gaps: {hidden.sum()} of 360 label entries are unknown; no fit and no measure counts them" in (
        done.stderr
    )
    assert "chain-ensemble, prior are left out, which need every label" in done.stderr
    found = json.loads(done.stdout)
    assert found["failures"] == []
    assert {"ridge", "mlknn", "logistic"} <= {score["method"] for score in found["scores"]}
    gaps = np.where(hidden, np.nan, Y)
    model = make_pipeline(StandardScaler(), BinaryRelevance())
    scores = [
        evaluate(gaps[test], model.fit(np.round(X[train], 6), gaps[train]).predict(np.round(X[test], 6)))
        for train, test in IterativeStratifiedKFold(2, shuffle=True, random_state=0).split(X, gaps)
    ]
    ridge = next(score for score in found["scores"] if score["method"] == "ridge")
    assert ridge["f1_macro"] == pytest.approx(np.mean([score["f1_macro"] for score in scores]), abs=1e-9)
    assert ridge["hamming_loss"] == pytest.approx(np.mean([s["hamming_loss"] for s in scores]), abs=1e-9)
    page = (tmp_path / "r.html").read_text()
    assert f"{hidden.sum()} label entries unknown" in page
    named = invoke("compare", path, *options, "--methods", "ridge,powerset", "--json")
    assert "needs every label known" in json.loads(named.stdout)["failures"][0]["error"]
