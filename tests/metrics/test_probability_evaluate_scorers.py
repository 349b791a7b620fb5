"""Log loss and Brier score, `evaluate` against the single functions, scorers in scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics as sk
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier

from hyperlabel import metrics as hm
from hyperlabel._topk import top_k


@pytest.fixture
def proba():
    rng = np.random.default_rng(0)
    y = (rng.random((50, 6)) < 0.3).astype(int)
    y[0] = 0
    p = rng.random((50, 6)).round(1)  # exact zeros and ones too
    return y, p


def test_label_wise_against_sklearn_binary(proba):
    y, p = proba
    w = np.random.default_rng(1).random(50)
    logs = [sk.log_loss(y[:, j], p[:, j], sample_weight=w) for j in range(6)]
    briers = [sk.brier_score_loss(y[:, j], p[:, j], sample_weight=w) for j in range(6)]
    truth = sparse.csr_array(y)
    np.testing.assert_allclose(hm.log_loss(truth, p, average=None, sample_weight=w), logs)
    np.testing.assert_allclose(hm.brier_score(truth, p, average=None, sample_weight=w), briers)
    assert hm.log_loss(y, p, sample_weight=w) == pytest.approx(np.mean(logs))


def test_log_loss_difference_from_sklearn_by_hand():
    y, p = np.array([[1, 0]]), np.array([[0.8, 0.2]])
    assert hm.log_loss(y, p) == pytest.approx(-np.log(0.8))  # both entries cost -log 0.8
    y, p = np.array([[1, 0]]), np.array([[0.8, 0.9]])
    assert hm.log_loss(y, p) == pytest.approx((-np.log(0.8) - np.log(0.1)) / 2)
    with pytest.warns(UserWarning, match="sum to one"):
        theirs = sk.log_loss(y, p)  # its (1 - y) terms are gone
    assert theirs == pytest.approx(-np.log(0.8), rel=1e-6) or theirs == pytest.approx(-np.log(0.8 / 1.7))


@pytest.mark.parametrize("measure", [hm.log_loss, hm.brier_score])
def test_lists_are_zero_elsewhere(proba, measure):
    y, p = proba
    indices, values = top_k(p, 3)
    completed = np.zeros_like(p)
    np.put_along_axis(completed, indices, values, axis=1)
    lists = measure(sparse.csr_array(y), (indices, values), average=None)
    np.testing.assert_allclose(lists, measure(y, completed, average=None))


@pytest.mark.parametrize("measure", [hm.log_loss, hm.brier_score])
def test_unknown_entries_are_left_out(proba, measure):
    y, p = proba
    known = np.random.default_rng(2).random(y.shape) < 0.6
    known[:, 5] = False
    truth = np.where(known, y, np.nan)
    expected = [measure(y[known[:, j], j], p[known[:, j], j]) for j in range(5)] + [np.nan]
    np.testing.assert_allclose(measure(truth, p, average=None), expected)
    np.testing.assert_allclose(measure(truth, top_k(p, 6), average=None), expected)
    assert measure(truth, p) == pytest.approx(np.nanmean(expected))


def test_probabilities_only():
    with pytest.raises(ValueError, match="probabilities between 0 and 1"):
        hm.brier_score([[1, 0]], [[1.5, 0.0]])
    with pytest.raises(ValueError, match="average must be"):
        hm.log_loss([[1, 0]], [[0.5, 0.0]], average="micro")


@pytest.mark.parametrize("kind", ["full", "lists", "missing"])
def test_evaluate_equals_the_single_functions(proba, kind):
    y, p = proba
    w = np.random.default_rng(3).random(50)
    truth = np.where(np.random.default_rng(4).random(y.shape) < 0.8, y, np.nan) if kind == "missing" else y
    score = top_k(p, 5) if kind == "lists" else p
    propensity = hm.propensities(y)
    values = hm.evaluate(
        truth, y_pred=p > 0.6, y_proba=score, propensities=propensity, ks=(1, 2, 5, 99), sample_weight=w
    )
    left_over = set(values) - {"n_rows", "n_labels"}
    for name in ("hamming_loss", "subset_accuracy"):
        assert values[name] == pytest.approx(getattr(hm, name)(truth, p > 0.6, sample_weight=w))
        left_over.remove(name)
    for name in ("precision", "recall", "f1", "jaccard"):
        for average in ("micro", "macro", "weighted", "samples"):
            alone = getattr(hm, f"{name}_score")(truth, p > 0.6, average=average, sample_weight=w)
            assert values[f"{name}_{average}"] == pytest.approx(alone)
            left_over.remove(f"{name}_{average}")
        each = getattr(hm, f"{name}_score")(truth, p > 0.6, average=None, sample_weight=w)
        occurs = np.nansum(truth, axis=0) > 0
        assert values[f"{name}_macro_present"] == pytest.approx(np.asarray(each)[occurs].mean())
        left_over.remove(f"{name}_macro_present")
    labelled = np.nansum(truth, axis=1) > 0  # rows whose labels can be ranked
    ranked = (
        truth[labelled],
        tuple(part[labelled] for part in score) if kind == "lists" else score[labelled],
    )
    weights = w[labelled]
    for name in ("ranking_loss", "one_error", "coverage_error", "label_ranking_average_precision"):
        assert values[name] == pytest.approx(getattr(hm, name)(*ranked, sample_weight=weights)), name
        left_over.remove(name)
    for name in ("log_loss", "brier_score"):
        assert values[name] == pytest.approx(getattr(hm, name)(truth, score, sample_weight=w)), name
        left_over.remove(name)
    assert values["roc_auc_macro"] == pytest.approx(hm.roc_auc_score(truth, score, sample_weight=w))
    for k in (1, 2, 5):
        for name, extra in (("precision", {}), ("ndcg", {}), ("psp", {"propensities": propensity})):
            alone = getattr(hm, f"{name}_at_k")(*ranked, k=k, sample_weight=weights, **extra)
            assert values[f"{name}_at_{k}"] == pytest.approx(alone)
            left_over.remove(f"{name}_at_{k}")
    left_over.remove("roc_auc_macro")
    for average in ("micro", "macro"):
        alone = hm.average_precision_score(truth, score, average=average, sample_weight=w)
        assert values[f"average_precision_{average}"] == pytest.approx(alone)
        left_over.remove(f"average_precision_{average}")
    counts = {"n_labels_absent", "n_rows_without_pairs", "n_rows_without_labels", "n_labels_one_class"}
    counts |= {"n_labels_without_positives"} | ({"n_unknown"} if kind == "missing" else set())
    assert left_over == counts
    assert all(isinstance(value, (int, float)) for value in values.values())


@pytest.mark.parametrize("weighted", [False, True])
def test_one_table_counts_rows_without_labels_alike(weighted):
    """precision_at_1 counted them as misses, one_error and the ranking loss left them out."""
    rng = np.random.default_rng(0)
    y, score = (rng.random((200, 8)) < 0.15).astype(int), rng.random((200, 8))
    w = rng.random(200) if weighted else None
    labelled = y.any(axis=1)
    assert 20 < (~labelled).sum() < 180
    values = hm.evaluate(y, y_score=score, propensities=np.full(8, 0.5), sample_weight=w)
    other = hm.evaluate(
        y[labelled],
        y_score=score[labelled],
        propensities=np.full(8, 0.5),
        sample_weight=w if w is None else w[labelled],
    )
    assert values["precision_at_1"] + values["one_error"] == pytest.approx(1.0, abs=1e-12)
    assert values["n_rows_without_labels"] == (~labelled).sum()
    for name in (
        set(values)
        - {"n_rows", "n_rows_without_labels", "n_rows_without_pairs", "roc_auc_macro"}
        - {
            "average_precision_micro",
            "average_precision_macro",
        }
    ):
        assert values[name] == pytest.approx(other[name]), name


def test_a_table_of_rows_without_labels_alone_has_no_ranking_measures():
    values = hm.evaluate(np.zeros((3, 4)), y_score=np.ones((3, 4)), ks=(1,))
    for name in ("precision_at_1", "one_error", "ndcg_at_1", "ranking_loss", "coverage_error"):
        assert np.isnan(values[name])
    assert values["n_rows_without_labels"] == 3


def test_evaluate_needs_something():
    with pytest.raises(ValueError, match="Nothing to evaluate"):
        hm.evaluate([[1, 0]])


@pytest.mark.parametrize("n_classes", [2, 5])
def test_every_scorer_works_in_cross_validation(n_classes):
    X, y = make_multilabel_classification(60, n_classes=n_classes, allow_unlabeled=False, random_state=0)
    names = [n for n in hm.get_scorer_names() if not n.endswith(("_3", "_5")) or n_classes > 2]
    scoring = {name: hm.get_scorer(name) for name in names}
    model = OneVsRestClassifier(LogisticRegression())
    result = cross_validate(model, X, y, cv=2, scoring=scoring)
    model.fit(X, y)
    values = hm.evaluate(y, model.predict(X), model.decision_function(X), y_proba=model.predict_proba(X))
    for name in names:
        assert np.isfinite(result[f"test_{name}"]).all()
        sign = -1 if name in ("hamming_loss", "log_loss", "brier_score") or "error" in name else 1
        sign = -1 if name == "ranking_loss" else sign
        assert scoring[name](model, X, y) == pytest.approx(sign * values[name]), name


def test_scorers_in_grid_search_and_with_lists_of_probabilities():
    X, y = make_multilabel_classification(n_samples=60, random_state=0)
    search = GridSearchCV(RidgeClassifier(), {"alpha": [1e-3, 1e4]}, scoring=hm.get_scorer("f1_macro"))
    assert search.fit(X, y).best_params_ == {"alpha": 1e-3}
    forest_like = KNeighborsClassifier(3).fit(X, y)  # predict_proba is a list of n×2 arrays
    p = np.column_stack([part[:, 1] for part in forest_like.predict_proba(X)])
    assert hm.get_scorer("brier_score")(forest_like, X, y) == pytest.approx(-hm.brier_score(y, p))
    binary = LogisticRegression().fit(X, y[:, 0])
    alone = sk.brier_score_loss(y[:, 0], binary.predict_proba(X)[:, 1])
    assert hm.get_scorer("brier_score")(binary, X, y[:, 0]) == pytest.approx(-alone)
    assert hm.get_scorer("roc_auc_macro")(binary, X, y[:, 0]) == pytest.approx(
        sk.roc_auc_score(y[:, 0], binary.decision_function(X))
    )


def test_scorers_take_routed_weights():
    from sklearn import config_context

    X, y = make_multilabel_classification(n_samples=60, random_state=0)
    w = np.random.default_rng(0).random(60)
    with config_context(enable_metadata_routing=True):
        scorer = hm.get_scorer("ranking_loss").set_score_request(sample_weight=True)
        model = RidgeClassifier().set_fit_request(sample_weight=False)
        routed = cross_validate(model, X, y, cv=2, scoring=scorer, params={"sample_weight": w})
    plain = cross_validate(RidgeClassifier(), X, y, cv=2, scoring=hm.get_scorer("ranking_loss"))
    assert not np.allclose(routed["test_score"], plain["test_score"])


def test_unknown_scorer_names_the_choices():
    with pytest.raises(ValueError, match="There is no scorer 'f1'.*f1_macro"):
        hm.get_scorer("f1")
    assert hm.get_scorer(max) is max


def test_evaluate_says_how_many_rows_and_labels_it_saw():
    values = hm.evaluate(np.eye(3, 2, dtype=int), y_pred=np.eye(3, 2, dtype=int))
    assert (values["n_rows"], values["n_labels"]) == (3, 2)
