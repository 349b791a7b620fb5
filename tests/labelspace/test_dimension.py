"""The choice of the number of components: brute force over M on every fold."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import norm
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from hyperlabel import (
    CPLST,
    PLST,
    BinaryRelevance,
    CompressedSensing,
)
from hyperlabel.labelspace.dimension import LARGE_MAX, check_n_components_grid
from hyperlabel.metrics import get_scorer, ndcg_at_k
from hyperlabel.model_selection import IterativeStratifiedGroupKFold, IterativeStratifiedKFold
from hyperlabel.solvers.spectral.label_svd import GRAM_MAX

X, Y = make_multilabel_classification(n_samples=240, n_features=15, n_classes=12, n_labels=3, random_state=0)


BOTH = {"alpha": "auto", "threshold": "auto"}


def table(n=300, d=15, k=6, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.geomspace(0.3, 4, d) + 2
    scores = (X - 2) @ rng.normal(size=(d, k)) / 4 + 2 * rng.normal(size=(n, k))
    Y = (scores > scores.std(axis=0) * norm.ppf(np.linspace(0.6, 0.95, k))).astype(int)
    return X, Y


@pytest.mark.parametrize("make", [PLST, CPLST])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_dimension_path_equals_refitting_every_fold(make, container):
    A = container(X)
    model = make(n_components_grid="all", cv=3).fit(A, Y)
    path = model.dimension_path_
    assert_array_equal(path["n_components"], np.arange(1, 13))
    folds = IterativeStratifiedKFold(3).split(X, Y)
    want = [
        [
            ndcg_at_k(Y[out], make(M).fit(A[kept], Y[kept]).decision_function(A[out]), k=5)
            for M in range(1, 13)
        ]
        for kept, out in folds
    ]
    assert_allclose(path["fold_scores"], want, atol=1e-6)
    assert_allclose(path["mean"], np.mean(want, axis=0), atol=1e-6)
    assert_allclose(path["std"], np.std(want, axis=0, ddof=1), atol=1e-6)
    assert model.encoder_.n_components_ == path["chosen"]


def test_dimension_path_by_rows_equals_that_by_moments():
    by_moments = PLST(alpha=1.0).fit(X, Y).dimension_path_
    by_rows = PLST(regressor=Ridge(alpha=1.0)).fit(X, Y).dimension_path_
    assert_allclose(by_rows["fold_scores"], by_moments["fold_scores"], atol=1e-6)


@pytest.mark.parametrize("scoring", ["f1_micro", "ranking_loss", "precision_at_3", "f1_macro"])
def test_dimension_by_any_metric(scoring):
    path = PLST(scoring=scoring, n_components_grid=[2, 6, 12]).fit(X, Y).dimension_path_
    assert path["fold_scores"].shape == (3, 3)
    assert path["mean"][2] > path["mean"][0]


def test_dimension_by_a_callable():
    seen = []

    def scorer(estimator, rows, truth):
        seen.append((rows.shape[1], truth.shape[1]))
        return -float(estimator.decision_function(rows).shape[1])

    path = PLST(scoring=scorer, n_components_grid=[3, 5]).fit(X, Y).dimension_path_
    assert path["chosen"] == 3  # all equal: the smallest
    assert set(seen) == {(15, 12)}
    by_name = PLST(scoring="ndcg_at_5", cv=KFold(4), n_components_grid=[2, 6]).fit(X, Y).dimension_path_
    by_scorer = (
        PLST(scoring=get_scorer("ndcg_at_5"), cv=KFold(4), n_components_grid=[2, 6]).fit(X, Y).dimension_path_
    )
    assert_allclose(by_scorer["fold_scores"], by_name["fold_scores"], atol=1e-6)


def test_folds_keep_groups_together():
    groups = np.arange(240) // 12
    cv = list(IterativeStratifiedGroupKFold(3).split(X, Y, groups))
    by_groups = PLST(n_components_grid=[2, 6]).fit(X, Y, groups=groups).dimension_path_
    assert_allclose(
        by_groups["mean"], PLST(n_components_grid=[2, 6], cv=cv).fit(X, Y).dimension_path_["mean"]
    )


def test_codes_that_are_no_sums_have_no_choices_to_make():
    assert not {"threshold", "scoring", "n_components_grid", "cv"} & set(CompressedSensing().get_params())


def test_lambda_and_dimension_are_chosen_together():
    X, Y = table()
    folds = list(KFold(3).split(X))
    model = PLST("auto", n_components_grid="all", cv=folds, **BOTH).fit(X, Y)
    scores = []
    for train, test in folds:
        fixed = PLST("auto", n_components_grid="all", alpha=model.alpha_, cv=[(train, test)]).fit(X, Y)
        scores.append(fixed.dimension_path_["fold_scores"][0])
    assert_allclose(model.dimension_path_["fold_scores"], scores, atol=1e-12)
    assert model.alpha_ == BinaryRelevance(alpha="auto").fit(X, Y).alpha_


def test_a_label_that_no_row_has_does_not_change_what_each_dimension_is_worth():
    X, Y = table()
    with_empty = np.column_stack([Y, np.zeros(len(Y), dtype=int)])
    first, second = (PLST("auto", alpha=1.0).fit(X, targets) for targets in (Y, with_empty))
    scores = second.dimension_path_["fold_scores"]
    assert_allclose(scores[:, : Y.shape[1]], first.dimension_path_["fold_scores"], atol=1e-12)


def test_every_dimension_is_tried_while_the_labels_fit_a_square_matrix():
    for shape, largest in (
        ((50, 30), 30),
        ((20, 30), 20),
        ((10**6, GRAM_MAX), GRAM_MAX),
        ((10**6, 10**5), LARGE_MAX),
    ):
        for n_components_grid in (None, "all"):
            grid = check_n_components_grid(n_components_grid, shape)
            assert (grid[0], grid[-1]) == (1, largest)
