"""Rows that were summed can always be taken out; rows that were not are refused where the sums show it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from hyperlabel import PLST, BinaryRelevance
from hyperlabel.solvers.moments.downdate_check import why_not_a_gram
from hyperlabel.solvers.moments.row_moments import RowMoments

NAMES = ["a", "b", "c"]


def wide(n=30, d=80, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n, d), density=0.2, rng=rng, format="csr")
    return X, sparse.csr_array((rng.random((n, 3)) < 0.5).astype(int))


def why(X, Y, X_out, Y_out):
    before = RowMoments.from_rows(X, Y)
    return why_not_a_gram(before - RowMoments.from_rows(X_out, Y_out), before, NAMES, zero_one=True)


@pytest.mark.parametrize("scale", [1.0, 1e-6, 1e6])
@pytest.mark.parametrize("kind", ["wide", "tall", "shifted", "uneven", "duplicated"])
def test_rows_that_were_summed_can_be_taken_out(kind, scale):
    rng = np.random.default_rng(3)
    if kind == "wide":
        X, Y = wide()
    else:
        X, Y = rng.normal(size=(400, 12)), (rng.random((400, 3)) < 0.3).astype(int)
        X = {
            "tall": X,
            "shifted": X + 1e4,
            "uneven": X * np.geomspace(1e-5, 1e5, 12),
            "duplicated": np.hstack([X, X, np.zeros((400, 2))]),
        }[kind]
    X = X * scale
    for share in (0.03, 0.5, 0.95):
        out = rng.random(X.shape[0]) < share
        assert why(X, Y, X[out], Y[out]) is None


def test_taking_out_row_by_row_is_never_refused():
    X, Y = wide()
    left = RowMoments.from_rows(X, Y)
    for i in range(25):
        before = left.copy()
        left.subtract(RowMoments.from_rows(X[[i]], Y[[i]]))
        assert why_not_a_gram(left, before, NAMES, zero_one=True) is None


def test_a_row_outside_the_span_is_refused():
    (X, Y), (other, _) = wide(), wide(seed=1)
    assert "negative sum of squares" in why(X, Y, other[[0]], Y[[0]])


def test_a_known_row_with_other_labels_is_refused():
    X, Y = wide()
    wrong = Y[[0]].toarray()
    j = int(Y.sum(axis=0).argmax())
    wrong[0, j] = 1 - wrong[0, j]
    assert "could not carry" in why(X, Y, X[[0]], sparse.csr_array(wrong))


def test_a_row_taken_out_twice_is_refused():
    X, Y = wide()
    assert why(X, Y, X[[0, 0]], Y[[0, 0]]) is not None


def test_counts_that_turn_impossible_are_named():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(200, 3)), np.zeros((200, 3), dtype=int)
    Y[:5, 1] = 1
    Y[:, 2] = 1
    assert why(X, Y, X[:6], np.ones((6, 3), dtype=int)) == "'a' would have fewer than 0 rows"
    assert why(X, Y, X[:6], np.zeros((6, 3), dtype=int)) == "'c' would have more rows than there are"


@pytest.mark.parametrize("model", [BinaryRelevance(solver="gram"), PLST(2)], ids=["ridge", "plst"])
def test_models_refuse_rows_never_learned_and_stay_as_they_were(model):
    (X, Y), (other, _) = wide(), wide(seed=1)
    model.partial_fit(X, Y.toarray())
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="not all in the model: .* negative sum of squares"):
        model.forget(other[[0]], Y[[0]].toarray())
    np.testing.assert_array_equal(model.decision_function(X), before)
    model.forget(X[:3], Y[:3].toarray())


@pytest.mark.parametrize(("count", "refused"), [(-0.8e-9, False), (-1.5e-9, True)])
def test_where_less_than_a_row_is_left_counts_may_miss_zero_by_a_billionth_of_a_row(count, refused):
    X, Y = wide(d=3)
    weights = np.full(30, 0.02)
    left = RowMoments.from_rows(X, Y, sample_weight=weights)
    left.sum_targets[1] = count
    found = why_not_a_gram(left, RowMoments.from_rows(X, Y), NAMES, zero_one=False)
    assert (found == "'b' would have fewer than 0 rows") == refused
