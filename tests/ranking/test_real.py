"""Rank-SVM on the real files: the guaranteed gap on yeast, ranking quality on sparse text."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from hyperlabel import RankSVM
from hyperlabel.metrics import precision_at_k, ranking_loss
from hyperlabel.solvers.rank.dual_coordinate_descent import solve_rank_dcd
from hyperlabel.solvers.rank.problem import RankProblem

pytestmark = pytest.mark.real_data


@pytest.mark.parametrize("scaling", ["none", "standard"])
def test_yeast_reaches_gap_1e_4_within_15_epochs(load_real, scaling):
    data = load_real("yeast")
    model = RankSVM(C=1.0, tol=1e-4, max_iter=15, scaling=scaling, random_state=0).fit(data.X, data.Y)
    assert model.dual_gap_ <= 1e-4
    assert model.n_iter_ <= 15


def test_scores_of_medical_are_good_at_the_top(load_real):
    train, test = load_real("medical", "train"), load_real("medical", "test")
    model = RankSVM(C=10.0, random_state=0).fit(train.X, train.Y)
    scores = model.decision_function(test.X)
    assert sparse.issparse(train.X)
    assert ranking_loss(test.Y, scores) < 0.035  # one-vs-rest LinearSVC: .063, .781
    assert precision_at_k(test.Y, scores, k=1) > 0.82
    best, _ = model.predict_topk(test.X, k=1)
    truth = sparse.csr_array(test.Y).toarray()
    assert truth[np.arange(len(best)), best[:, 0]].mean() > 0.82


def test_raw_mediamill_at_the_papers_cost_names_its_gap(load_real):
    data = load_real("mediamill-real4k")
    with pytest.warns(ConvergenceWarning, match="scale the features"):
        model = RankSVM(C=1024.0, scaling="none", max_iter=3, random_state=0).fit(data.X[:500], data.Y[:500])
    problem = RankProblem.build(data.X[:500], sparse.csr_array(data.Y[:500]).astype(float))
    again = solve_rank_dcd(problem, C=1024.0, max_iter=3, seed=0)
    assert model.dual_gap_ == pytest.approx(again.gap, rel=1e-6)
