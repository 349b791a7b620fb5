"""Scorers in scikit-learn: folds, searches, routed weights, names."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics as sk
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier

from hyperlabel import metrics as hm


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
