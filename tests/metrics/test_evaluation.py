"""`evaluate` against the single functions, and what it counts."""

from __future__ import annotations

import numpy as np
import pytest

from hyperlabel import metrics as hm
from hyperlabel._topk import top_k


@pytest.fixture
def proba():
    rng = np.random.default_rng(0)
    y = (rng.random((50, 6)) < 0.3).astype(int)
    y[0] = 0
    p = rng.random((50, 6)).round(1)  # exact zeros and ones too
    return y, p


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


def test_evaluate_says_how_many_rows_and_labels_it_saw():
    values = hm.evaluate(np.eye(3, 2, dtype=int), y_pred=np.eye(3, 2, dtype=int))
    assert (values["n_rows"], values["n_labels"]) == (3, 2)
