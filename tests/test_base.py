"""The classifier contract: the scores of any classifier, in one place for every package that asks for
them.
"""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from hyperlabel import OPLS, BinaryRelevance
from hyperlabel._base import label_probabilities, score_rows
from hyperlabel._validation import check_targets
from hyperlabel.apps.comparison.protocol import Method, fit_and_score
from hyperlabel.apps.report import ReliabilityDisplay
from hyperlabel.datasets import Dataset
from hyperlabel.decision import LabelSetSize
from hyperlabel.labelspace import PrincipalEncoder
from hyperlabel.metrics import get_scorer, ranking_loss
from hyperlabel.tabular.model_file import ModelColumns, ModelFile

X = np.arange(12.0)[:, None]
# a label on every second row, one never on, one always on, one on in the second half
Y = np.column_stack([np.arange(12) % 2, np.zeros(12), np.ones(12), np.arange(12) >= 6]).astype(int)
LISTS = [
    DummyClassifier(strategy="prior"),
    RandomForestClassifier(n_estimators=5, random_state=0),
    KNeighborsClassifier(2),
]


@pytest.mark.parametrize("model", LISTS, ids=lambda m: type(m).__name__)
def test_a_label_never_seen_ranks_last_and_one_always_on_first(model):
    scores = score_rows(model.fit(X, Y), X)
    others = np.delete(scores, 1, axis=1)
    assert (scores[:, [1]] < others).all()
    assert (scores[:, [2]] >= scores).all()
    p = label_probabilities(model, X)
    assert_array_equal(p[:, 1], 0.0)
    assert_array_equal(np.delete(p, 1, axis=1), others)


def test_every_room_reads_the_scores_of_a_forest_alike():
    forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, Y)
    on, never, always, late = forest.predict_proba(X)
    p = np.column_stack([on[:, 1], 0 * never[:, 0], always[:, 0], late[:, 1]])
    expected = score_rows(forest, X)
    loss = ranking_loss(Y, expected)
    assert loss < 0.05
    assert get_scorer("ranking_loss")(forest, X, Y) == -loss
    assert get_scorer("brier_score")(forest, X, Y) == pytest.approx(-np.mean((p - Y) ** 2))
    rows = np.arange(12)
    method = Method("forest", RandomForestClassifier(n_estimators=5, random_state=0))
    outcome = fit_and_score(Dataset(X, Y), method, rows, rows, "f1_micro", 3, 0)
    assert {v.metric: v.value for v in outcome.values}["ranking_loss"] == loss
    assert_array_equal(ModelFile(forest, ModelColumns("table", list("abcd")), "").scores(X), expected)


def test_the_reliability_of_a_forest_knows_labels_never_seen():
    forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, Y)
    curves = ReliabilityDisplay.from_estimators({"forest": forest}, X, Y).curves
    assert curves["forest"].calibration_error < 0.2


def test_scores_of_one_dimensional_y():
    y = np.arange(12) % 3
    half = y < 2
    full = GaussianNB().fit(X, y)
    layout = check_targets(y)[1]
    assert_array_equal(score_rows(full, X, layout), full.predict_proba(X))
    two = LogisticRegression().fit(X[half], y[half])
    scores = score_rows(two, X, layout)
    assert (scores[:, [2]] < scores[:, :2]).all()
    assert_array_equal(scores[:, 1], two.decision_function(X))
    binary = GaussianNB().fit(X, Y[:, 0])
    p = binary.predict_proba(X)[:, 1]
    assert_array_equal(score_rows(binary, X, check_targets(Y[:, 0])[1])[:, 0], p - 0.5)
    assert get_scorer("brier_score")(binary, X, Y[:, 0]) == pytest.approx(-np.mean((p - Y[:, 0]) ** 2))
    assert np.isfinite(get_scorer("roc_auc_macro")(binary, X, Y[:, 0]))


@pytest.mark.parametrize(
    ("model", "page"),
    [
        (BinaryRelevance(), "hyperlabel.BinaryRelevance"),
        (OPLS(), "hyperlabel.OPLS"),
        (PrincipalEncoder(), "hyperlabel.labelspace.PrincipalEncoder"),
        (LabelSetSize(), "hyperlabel.decision.LabelSetSize"),
    ],
)
def test_the_html_form_links_to_the_documentation(model, page, monkeypatch):
    monkeypatch.setenv("HYPERLABEL_DOCS", "https://docs.example/")
    assert f'href="https://docs.example/generated/{page}.html"' in model._repr_html_()
    assert f"   {page.rsplit('.')[-1]}\n" in Path("docs/api.md").read_text()
    monkeypatch.delenv("HYPERLABEL_DOCS")
    assert "docs.example" not in model._repr_html_()


def test_no_scores_get_a_sentence():
    class Silent:
        pass

    with pytest.raises(ValueError, match="neither decision_function nor predict_proba"):
        score_rows(Silent(), X)
    with pytest.raises(ValueError, match="gives 1 scores a row for 4 labels"):
        score_rows(LogisticRegression().fit(X, Y[:, 0]), X, check_targets(Y)[1])
