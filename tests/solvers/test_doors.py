"""The doors of compiled code: what would lead a loop outside its arrays is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import hyperlabel
from hyperlabel.solvers.labels.cosamp import solve_sparse_codes
from hyperlabel.solvers.labels.label_trees import find_leaves, grow_tree
from hyperlabel.solvers.labels.nested_metric_path import score_nested
from hyperlabel.solvers.labels.score_bins import bin_scores
from hyperlabel.solvers.labels.stratify import solve_stratify
from hyperlabel.solvers.margin.losses import solve_margins
from hyperlabel.solvers.margin.platt import solve_platt
from hyperlabel.solvers.neighbors.nearest import Nearest, solve_nearest, update_nearest
from hyperlabel.solvers.neighbors.neighbor_counts import count_tables
from hyperlabel.solvers.operators import CenteredRows
from hyperlabel.solvers.rank.problem import RankProblem
from hyperlabel.solvers.ridge.conjugate_gradients import ConjugateRidge
from hyperlabel.solvers.sparse_matmul import ColumnsInTurn

EYE = sparse.csr_array(np.eye(3))


def far_away() -> sparse.csr_array:
    """Return rows with a column that there is not."""
    A = sparse.csr_array(np.eye(3))
    A.indices[1] = 10**6
    return A


def with_entry(array: np.ndarray, value: float) -> np.ndarray:
    changed = array.copy()
    changed.flat[-1] = value
    return changed


@pytest.mark.parametrize("method", ["cosamp", "omp"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("argument", ["P", "codes", "gram"])
def test_sparse_recovery_of_numbers_that_are_none_is_refused(method, value, argument):
    """NaN never is the largest, so the places of the largest stayed whatever memory held."""
    P = np.random.default_rng(0).normal(size=(6, 9))
    arrays = {"P": P, "codes": P[:, :4].T.copy(), "gram": P.T @ P}
    arrays[argument] = with_entry(arrays[argument], value)
    with pytest.raises(ValueError, match=f"{argument} must be finite"):
        solve_sparse_codes(arrays["P"], arrays["codes"], 3, method=method, gram=arrays["gram"])


@pytest.mark.parametrize("patient", [False, True])
@pytest.mark.parametrize("size", [1e160, 1e300])
def test_sparse_recovery_whose_products_overflow_stays_in_its_arrays(size, patient):
    """Finite codes whose correlations are not: numba checks no bounds, so the supports show it."""
    P = np.random.default_rng(0).normal(size=(6, 9))
    with np.errstate(all="ignore"):
        try:
            found = solve_sparse_codes(size * P, P[:, :4].T.copy(), 3, gram=P.T @ P, patient=patient)
        except np.linalg.LinAlgError:  # the least squares may refuse such numbers themselves
            return
    assert ((found.indices >= -1) & (found.indices < 9)).all()


def test_gram_of_integers_is_taken_as_numbers():
    P = np.eye(4)
    whole = solve_sparse_codes(P, P[:2], 1, gram=np.eye(4, dtype=np.int64))
    np.testing.assert_allclose(whole.toarray(), P[:2], atol=1e-8)


def forest(**changed):
    parts = {
        "splits": sparse.csr_array(([1.0, 1.0], ([0, 2], [0, 1])), shape=(5, 3)),
        "threshold": np.zeros(5),
        "children": np.array([[1, 2], [1, 1], [3, 4], [3, 3], [4, 4]], dtype=np.int32),
        "roots": np.array([0], dtype=np.int32),
        **changed,
    }
    return (parts["splits"], parts["threshold"], parts["children"]), parts["roots"]


@pytest.mark.parametrize(
    "changed",
    [
        {"children": np.zeros((5, 0), dtype=np.int32)},
        {"children": np.zeros((5, 1), dtype=np.int32)},
        {"children": np.zeros((5, 3), dtype=np.int32)},
        {"children": np.zeros((4, 2), dtype=np.int32)},
        {"children": np.zeros(10, dtype=np.int32)},
        {"threshold": np.zeros(4)},
        {"threshold": np.zeros((5, 1))},
        {"roots": np.zeros((1, 1), dtype=np.int32)},
        {"roots": np.zeros(0, dtype=np.int32)},
        {
            "splits": sparse.csr_array((0, 3)),
            "threshold": np.zeros(0),
            "children": np.zeros((0, 2), dtype=np.int32),
        },
    ],
)
def test_a_forest_whose_arrays_do_not_fit_each_other_is_refused(changed):
    tree, roots = forest()
    assert find_leaves(EYE, tree, roots).ravel().tolist() == [3, 1, 1]
    tree, roots = forest(**changed)
    with pytest.raises(ValueError, match="must have"):
        find_leaves(EYE, tree, roots)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint64, np.float64])
def test_a_forest_in_other_number_types_leads_to_the_same_leaves(dtype):
    tree, roots = forest()
    leaves = find_leaves(EYE, tree, roots)
    other = (tree[0].astype(np.float64), tree[1].astype(np.float32), tree[2].astype(dtype))
    np.testing.assert_array_equal(find_leaves(EYE, other, roots.astype(dtype)), leaves)


def test_a_tree_of_no_rows_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        grow_tree(sparse.csr_array((0, 3)), sparse.csr_array((0, 2)), 1, 0)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scores_that_fall_into_no_bin_are_refused(value):
    scores = with_entry(np.random.default_rng(0).normal(size=(8, 3)), value)
    Y = sparse.csr_array(np.eye(8, 3))
    with pytest.raises(ValueError, match="finite"):
        solve_platt(scores, Y)
    with pytest.raises(ValueError, match="finite"), np.errstate(all="ignore"):
        bin_scores(scores, Y, np.ones(8), np.zeros(8, dtype=int), 16, 8.0)


def test_scores_too_large_for_their_mean_are_refused():
    scores = np.full((4, 1), np.finfo(float).max)
    scores[::2] *= -1
    Y = sparse.csr_array(np.eye(4, 1))
    with pytest.raises(ValueError, match="finite"):
        solve_platt(scores, Y)
    with pytest.raises(ValueError, match="finite"), np.errstate(all="ignore"):
        bin_scores(scores, Y, np.ones(4), np.zeros(4, dtype=int), 16, 8.0)


@pytest.mark.parametrize("metric", ["ndcg", "precision", "f1_micro", "hamming_loss"])
@pytest.mark.parametrize(("which", "value"), [(0, np.nan), (1, np.inf), (2, np.nan), (0, 1e30), (1, 1e30)])
def test_components_whose_scores_are_no_numbers_are_refused(metric, which, value):
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=(5, 4)), rng.normal(size=(4, 7)), rng.normal(size=7)]
    Y = sparse.csr_array((rng.random((5, 7)) < 0.4).astype(float))
    assert np.isfinite(score_nested(*arrays, Y, [1, 2, 4], metric=metric, k=3)).all()
    arrays[which] = with_entry(arrays[which], value)
    with pytest.raises(ValueError, match="finite"), np.errstate(all="ignore"):
        score_nested(*arrays, Y, [1, 2, 4], metric=metric, k=3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: count_tables(np.full((3, 1), -1), EYE),
        lambda: count_tables(np.full((3, 1), 3), EYE),
        lambda: count_tables(np.zeros((4, 1), dtype=int), EYE),
        lambda: count_tables(np.zeros((3, 1), dtype=int), far_away()),
        lambda: solve_nearest(np.eye(3), np.eye(3), 1, skip=np.array([0, 1, 3])),
        lambda: solve_nearest(np.eye(3), np.eye(3), 1, skip=np.array([0, 1])),
        lambda: update_nearest(np.eye(4), Nearest.nothing_yet(3, 1), first=0, skip=np.zeros(3, dtype=int)),
        lambda: update_nearest(np.eye(3), Nearest.nothing_yet(3, 1), first=0, skip=np.zeros(2, dtype=int)),
        lambda: bin_scores(np.eye(3), far_away(), np.ones(3), np.zeros(3, dtype=int), 8, 8.0),
        lambda: bin_scores(np.eye(3), EYE, np.ones(3), np.full(3, -9), 8, 8.0),
        lambda: bin_scores(np.eye(3), EYE, np.ones(2), np.zeros(3, dtype=int), 8, 8.0),
        lambda: bin_scores(np.eye(3), EYE, np.ones(3), np.zeros(4, dtype=int), 8, 8.0),
        lambda: bin_scores(np.eye(3, 2), EYE, np.ones(3), np.zeros(3, dtype=int), 8, 8.0),
        lambda: solve_platt(np.eye(3), far_away()),
        lambda: solve_platt(np.eye(3, 2), EYE),
        lambda: solve_platt(np.eye(3), EYE, sample_weight=np.ones(2)),
        lambda: solve_platt(np.eye(3), EYE, sample_weight=np.zeros(3)),
        lambda: solve_stratify(far_away(), np.ones(2) / 2),
        lambda: solve_stratify(EYE, np.ones(2) / 2, size=np.ones(2)),
        lambda: solve_stratify(EYE, np.ones(2) / 2, rows_per_fold=np.ones(3)),
        lambda: solve_stratify(EYE, np.ones(0)),
        lambda: score_nested(np.eye(3), np.eye(3), np.zeros(3), far_away(), [1, 2]),
        lambda: score_nested(np.eye(3), np.eye(3), np.zeros(2), EYE, [1, 2]),
        lambda: score_nested(np.eye(3), np.eye(3), np.zeros(3), EYE, [1, 4]),
        lambda: score_nested(np.eye(3), np.eye(3), np.zeros(3), EYE, [2, 1]),
        lambda: score_nested(np.eye(3), np.eye(3), np.zeros(3), EYE, [-2, 1]),
        lambda: score_nested(np.eye(3), np.eye(3), np.zeros(3), EYE, [1, 2], k=0),
        lambda: solve_margins(np.eye(3), np.ones((2, 2)), "logistic", 1.0),
        lambda: solve_margins(np.eye(3), np.ones((3, 2)), "logistic", 1.0, sample_weight=np.ones(2)),
        lambda: solve_margins(far_away(), np.ones((3, 2)), "squared_hinge", 1.0),
        lambda: RankProblem.build(np.eye(3), far_away()),
        lambda: RankProblem.build(far_away(), EYE),
        lambda: RankProblem.build(np.eye(2), EYE),
        lambda: RankProblem.build(np.eye(3), EYE, label_cost=np.ones(2)),
        lambda: RankProblem.build(np.eye(3), EYE, sample_weight=np.ones(2)),
        lambda: RankProblem.build(np.eye(3), EYE, shift=np.ones(2)),
        lambda: ConjugateRidge(far_away(), 1.0),
        lambda: ConjugateRidge(EYE, 1.0, sample_weight=np.ones(2)),
        lambda: ConjugateRidge(EYE, 1.0).solve(far_away(), tol=1e-3),
        lambda: ConjugateRidge(EYE, 1.0).solve(sparse.csr_array(np.eye(4)), tol=1e-3),
        lambda: CenteredRows(far_away()),
        lambda: ColumnsInTurn(EYE).add_product(slice(1, 3), np.eye(2), np.zeros((3, 2))),
        lambda: ColumnsInTurn(EYE).add_product(slice(0, 2), np.eye(3), np.zeros((3, 3))),
        lambda: ColumnsInTurn(EYE).add_product(slice(0, 3), np.eye(3), np.zeros((2, 3))),
    ],
)
def test_sizes_and_places_that_lead_outside_are_refused(call):
    with pytest.raises(ValueError, match=r"must|index|indices|Each of the|There must"):
        call()


def test_a_label_stored_twice_is_not_ranked():
    """Pairs are laid out by stored entries: fewer than are visited where one entry is stored twice."""
    twice = sparse.csr_array((np.ones(4), np.array([0, 0, 1, 1]), np.array([0, 4])), shape=(1, 5))
    with pytest.raises(ValueError, match="once"):
        RankProblem.build(np.eye(1), twice)


@pytest.mark.parametrize("form", ["csr_array", "csc_array", "csr_matrix"])
@pytest.mark.parametrize("argument", ["X", "y"])
def test_a_sparse_matrix_that_leads_outside_its_own_shape_is_refused_by_fit(form, argument):
    broken = getattr(sparse, form)(np.eye(6))
    broken.indices[3] = 10**7
    whole = sparse.csr_array(np.eye(6))
    X, y = (broken, whole) if argument == "X" else (whole, broken)
    with pytest.raises(ValueError, match="index|indices"):
        hyperlabel.BinaryRelevance().fit(X, y)


def test_rows_that_end_before_they_start_are_refused_by_predict():
    model = hyperlabel.BinaryRelevance().fit(np.eye(4), np.eye(4, 2, dtype=int))
    broken = sparse.csr_array(np.eye(4))
    broken.indptr[2] = 10**6
    with pytest.raises(ValueError, match="end before they start"):
        model.predict(broken)
