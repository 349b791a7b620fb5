"""Fold moments against sums over the training rows, for every kind of split."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, TimeSeriesSplit

from hyperlabel.solvers.moments.fold_moments import FoldMoments
from hyperlabel.solvers.moments.row_moments import RowMoments


@pytest.mark.parametrize(
    "splitter", [KFold(4), GroupKFold(3), TimeSeriesSplit(5), ShuffleSplit(6, random_state=0)]
)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("memory_limit", [2**30, 0])
def test_training_moments_equal_direct_sums(splitter, container, memory_limit):
    rng = np.random.default_rng(0)
    X, F, w = rng.normal(size=(90, 4)) + 5, rng.random((90, 3)), rng.random(90)
    groups = np.arange(90) // 7 if isinstance(splitter, GroupKFold) else None
    trains = [train for train, _ in splitter.split(X, groups=groups)]
    folds = FoldMoments(
        container(X), F, trains, sample_weight=w, with_target_gram=True, memory_limit=memory_limit
    )
    for fold, train in enumerate(trains):
        got = folds.training(fold).centered()
        want = RowMoments.from_rows(
            X[train], F[train], sample_weight=w[train], with_target_gram=True
        ).centered()
        for name in ("weight", "x_mean", "f_mean", "gram", "cross", "target_gram"):
            assert_allclose(getattr(got, name), getattr(want, name), atol=1e-10, err_msg=name)
    assert folds.total.n == 90
