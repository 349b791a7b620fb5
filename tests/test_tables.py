"""Results that are tables: rows for programs, a table at the prompt and in a notebook."""

from __future__ import annotations

import numpy as np

import hyperlabel
from hyperlabel import AutoMultiLabel, BinaryRelevance, ClosedFormSearchCV, explain
from hyperlabel.metrics import evaluate


def rows():
    rng = np.random.default_rng(0)
    Y = (rng.random((60, 3)) < 0.4).astype(int)
    return rng.normal(size=(60, 4)) + Y @ rng.normal(size=(3, 4)), Y


def test_the_leaderboard_shows_itself_and_survives_a_model_file(tmp_path):
    X, Y = rows()
    model = AutoMultiLabel(methods=("ridge", "plst"), cv=2).fit(X, Y)
    text = repr(model.leaderboard_)
    assert text.splitlines()[0].split()[:2] == ["method", "params"]
    assert len(text.splitlines()) == 1 + len(model.leaderboard_)
    assert model.leaderboard_._repr_html_().count("<tr>") == 1 + len(model.leaderboard_)
    again = hyperlabel.load(hyperlabel.save(model, tmp_path / "m.hyper") or tmp_path / "m.hyper")
    assert again.leaderboard_ == list(model.leaderboard_)


def test_search_results_are_scikit_learns_dict_and_a_table():
    X, Y = rows()
    search = ClosedFormSearchCV(BinaryRelevance(), {"alpha": [1.0, 10.0]}, cv=3).fit(X, Y)
    assert isinstance(search.cv_results_, dict)
    shown = search.cv_results_._repr_html_()
    assert shown.count("<tr>") == 3
    assert "<th>mean_test_score</th>" in shown
    assert "alpha=10.000" in shown


def test_explanations_are_a_table_and_names_are_escaped():
    X, Y = rows()
    model = BinaryRelevance().fit(X, [[f"<b>{j}</b>" for j in np.flatnonzero(row)] for row in Y])
    found = explain(model, X[:2])
    assert found[0].label in repr(found)
    assert found._repr_html_().count("<tr>") == 3
    assert "<b>" not in found._repr_html_()


def test_measures_by_label_are_a_table():
    y, p = np.array([[1, 0, 0], [1, 1, 0]]), np.array([[1, 1, 0], [0, 1, 0]])
    found = evaluate(y, p, per_label=True)
    first, second, third = found["per_label"]
    assert first == {"label": "label0", "rows": 2, "predicted": 1, "right": 1,
                     "precision": 1.0, "recall": 0.5, "f1": 2 / 3}  # fmt: skip
    assert (second["precision"], second["recall"]) == (0.5, 1.0)
    assert third["rows"] == 0
    assert found["n_labels_without_positives"] == 1
    assert found["f1_macro_present"] == np.mean([2 / 3, 2 / 3])
    assert found["f1_macro"] == np.mean([2 / 3, 2 / 3, 0])
    assert "label0" in found["per_label"]._repr_html_()
