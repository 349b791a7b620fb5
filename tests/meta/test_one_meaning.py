"""`cv=` and a callable `scoring=` mean the same wherever they are parameters."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from hyperlabel import (
    CPLST,
    PLST,
    BinaryRelevance,
    ClosedFormSearchCV,
    HypergraphSpectral,
    ProjectionClassifier,
)
from hyperlabel.metrics import label_ranking_average_precision
from hyperlabel.model_selection import IterativeStratifiedGroupKFold, IterativeStratifiedKFold

CHOOSERS = {
    "ridge": lambda **how: BinaryRelevance(alpha=[1.0, 100.0], **how),
    "PLST": lambda **how: PLST(n_components_grid=[1, 3], **how),
    "CPLST": lambda **how: CPLST(n_components_grid=[1, 3], **how),
    "search": lambda **how: ClosedFormSearchCV(PLST(), {"n_components": [1, 3]}, **how),
    "search of a projection": lambda **how: ClosedFormSearchCV(
        ProjectionClassifier(HypergraphSpectral()), {"alpha": [1.0, 100.0]}, **how
    ),
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.arange(90.0), rng.normal(size=(90, 5))])
    Y = (X[:, 1:5] + rng.normal(size=(90, 4)) > 0.5).astype(int)
    return X, Y, np.repeat(np.arange(18), 5)


@pytest.mark.parametrize("make", CHOOSERS.values(), ids=CHOOSERS)
@pytest.mark.parametrize("grouped", [False, True])
def test_a_number_of_folds_is_stratified_and_a_scorer_takes_estimator_rows_and_labels(data, make, grouped):
    X, Y, groups = data
    groups = groups if grouped else None
    tested = []

    def scorer(estimator, rows, labels):
        tested.append(rows[:, 0].astype(int))
        np.testing.assert_array_equal(labels, Y[tested[-1]])
        return label_ranking_average_precision(labels, estimator.decision_function(rows))

    make(cv=3, scoring=scorer).fit(X, Y, groups=groups)
    splitter = (IterativeStratifiedGroupKFold if grouped else IterativeStratifiedKFold)(3)
    want = {tuple(test) for _, test in splitter.split(X, Y, groups)}
    assert {tuple(rows) for rows in tested} == want


@pytest.mark.parametrize("word", ["loo", "five"])
@pytest.mark.parametrize(
    "model",
    [
        BinaryRelevance(LogisticRegression()),
        BinaryRelevance(loss="logistic"),
        PLST(),
        ClosedFormSearchCV(PLST(2), {"alpha": [1.0, 10.0]}),
        ClosedFormSearchCV(ProjectionClassifier(HypergraphSpectral()), {"alpha": [1.0, 10.0]}),
    ],
    ids=lambda model: type(model).__name__,
)
def test_leave_one_out_by_name_is_for_closed_forms_alone(model, word):
    """The models would be judged on the rows they were fitted on."""
    X, Y = np.random.default_rng(0).normal(size=(40, 5)), np.eye(4, dtype=int)[np.arange(40) % 4]
    with pytest.raises(ValueError, match=f"cv='{word}' is not possible here"):
        model.set_params(cv=word).fit(X, Y)
