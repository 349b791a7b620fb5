"""Labels nobody knows, in every estimator that takes them: one rule each, against independent code."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import logit
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold
from tests.estimators import CLASSIFIERS, EXCUSES, TRANSFORMERS
from tests.projection import oracles
from tests.test_common import assert_same, make_data, outcome

from hyperlabel import (
    CPLST,
    OPLS,
    PLST,
    CalibratedLabelRanking,
    CompressedSensing,
    HypergraphRankSVM,
    HypergraphSpectral,
    KernelDependencyEstimation,
    LabelForest,
    LabelPowerset,
    LabelTopicModel,
    MLkNN,
    PartialBinaryRelevance,
    ProjectionClassifier,
    RankSVM,
    projection_path,
)
from hyperlabel._missing_labels import (
    fill_unknown,
    find_unknown_labels,
    known_part,
    rank_in_the_middle,
    rows_with_known_labels,
)
from hyperlabel.decision import set_size_targets
from hyperlabel.labelspace import LabelSpaceClassifier

PACKAGES = ("projection", "labelspace", "ranking", "neighbors", "forest")
OURS = [
    model
    for model in [*CLASSIFIERS, *TRANSFORMERS]
    if type(model).__module__.split(".")[1] in PACKAGES and getattr(model, "_accepts_missing_labels", False)
]
every = pytest.mark.parametrize("model", OURS, ids=str)


def with_gaps(Y, share=0.3, seed=0):
    gaps = Y.astype(float)
    gaps[np.random.default_rng(seed).random(Y.shape) < share] = np.nan
    gaps[0, 0], gaps[1, 0] = 0.0, 1.0  # every row and label keeps a known entry
    gaps[np.isnan(gaps).all(axis=1), 0] = Y[np.isnan(gaps).all(axis=1), 0]
    return gaps


def filled(gaps):
    """Gaps filled with the mean of their label."""
    return np.where(np.isnan(gaps), np.nanmean(gaps, axis=0), gaps)


def test_who_takes_them_is_known():
    takers = {type(model).__name__ for model in OURS}
    assert takers >= {"PLST", "CPLST", "PartialBinaryRelevance", "LabelSpaceClassifier", "RankSVM", "MLkNN"}
    assert takers >= {"HypergraphRankSVM", "CalibratedLabelRanking", "LabelForest", "HypergraphSpectral"}
    assert takers >= {"OPLS", "HOPLS", "MDDM", "MLSI"}


@every
def test_the_form_of_a_gap_changes_no_bit(model):
    X, Y = make_data(40)
    gaps = with_gaps(Y)
    want = outcome(clone(model).fit(X, gaps), X)
    assert np.isfinite(want).all()
    stored = sparse.csr_array(gaps)  # NaN is stored, 0 is not
    assert_array_equal(outcome(clone(model).fit(X, stored), X), want)
    as_objects = np.where(np.isnan(gaps), None, gaps.astype(object))
    assert_array_equal(outcome(clone(model).fit(X, as_objects), X), want)


@every
def test_a_row_without_a_known_label_changes_nothing(model):
    X, Y = make_data(41)
    for targets in (with_gaps(Y), Y.astype(float)):
        more_X = np.vstack([X, 100.0 + X[:6]])
        more_Y = np.vstack([targets, np.full((6, Y.shape[1]), np.nan)])
        new = X + 0.125  # scikit-learn rounds the kernel of rows with themselves in another way
        want = outcome(clone(model).fit(X, targets), new)
        assert_array_equal(outcome(clone(model).fit(more_X, more_Y), new), want)


@every
def test_labels_in_another_order(model):
    if EXCUSES.get(id(model), {}).get("label_order") or EXCUSES.get(id(model), {}).get("row_order"):
        pytest.skip(f"{model}: its draws go by column")
    X, Y = make_data(42)
    gaps, order = with_gaps(Y), np.random.default_rng(0).permutation(Y.shape[1])
    moved, plain = (outcome(clone(model).fit(X, y), X) for y in (gaps[:, order], gaps))
    assert_same(model, moved, plain[:, order] if is_classifier(model) else plain)


@every
def test_a_label_that_no_row_knows_is_unknown_and_not_never(model):
    X, Y = make_data(43)
    gaps = Y.astype(float)
    gaps[:, 2] = np.nan
    found = clone(model).fit(X, gaps)
    result = outcome(found, X)
    assert np.isfinite(result).all()
    if is_classifier(model):
        others = np.delete(result, 2, axis=1)
        assert not found.predict(X)[:, 2].any()  # most labels are off
        assert (result[:, 2] > others.min(axis=1)).mean() > 0.5  # not last
    else:  # a constant column of the factor
        assert_same(model, result, outcome(clone(model).fit(X, filled_by(gaps, 2)), X))


def filled_by(gaps, label):
    gaps = gaps.copy()
    gaps[:, label] = 0.0
    return gaps


@pytest.mark.parametrize("model", TRANSFORMERS, ids=str)
def test_projections_fill_gaps_with_the_mean_of_their_label(model):
    X, Y = make_data(44)
    gaps, model = with_gaps(Y), clone(model).set_params(n_components=2)
    if getattr(model, "form", "") == "least_squares":
        model.set_params(n_components=None)  # all singular values of cca are 1: truncation is arbitrary
    if getattr(model, "edge_weights", "uniform") != "uniform":
        return  # its dense form counts pairs of rows, which shares have none of
    Z = model.fit(X, gaps).transform(X)
    want = oracles.dense_projection(model, X, filled(gaps))
    assert_allclose(Z @ Z.T, want, atol=1e-7 * np.abs(want).max())


@pytest.mark.parametrize("kind", [PLST, CPLST, PartialBinaryRelevance])
def test_label_spaces_encode_the_mean_of_a_label_where_it_is_unknown(kind):
    X, Y = make_data(45)
    gaps, model = with_gaps(Y), kind(3, alpha=0.7)
    F, Xc = filled(gaps), X - X.mean(axis=0)
    hat = Xc @ np.linalg.solve(Xc.T @ Xc + 0.7 * np.eye(X.shape[1]), Xc.T)
    o = F.mean(axis=0)
    if isinstance(model, PLST):
        P = np.linalg.svd(F - o)[2][:3]
    elif isinstance(model, CPLST):
        P = np.linalg.eigh((F - o).T @ hat @ (F - o))[1][:, ::-1][:, :3].T
    else:
        P, o = np.eye(5)[np.argsort(-F.mean(axis=0), kind="stable")[:3]], np.zeros(5)
    H = (F - o) @ P.T
    points = o + (H.mean(axis=0) + hat @ (H - H.mean(axis=0))) @ P
    assert_allclose(model.fit(X, gaps).decision_function(X), 2 * points - 1, atol=1e-9)
    with pytest.raises(ValueError, match="keeps no moments"):
        model.partial_fit(X, Y)


def test_shares_are_regressed_as_they_are():
    X, Y = make_data(46)
    shares = np.clip(Y + np.random.default_rng(1).normal(scale=0.2, size=Y.shape), 0, 1)
    model = LabelSpaceClassifier(alpha=0.7).fit(X, shares)
    want = 2 * Ridge(alpha=0.7).fit(X, shares).predict(X) - 1
    assert_allclose(model.decision_function(X), want, atol=1e-9)
    spectral = HypergraphSpectral(2).fit(X, shares)
    Z, want = spectral.transform(X), oracles.dense_projection(spectral, X, shares)
    assert_allclose(Z @ Z.T, want, atol=1e-7 * np.abs(want).max())
    with pytest.raises(ValueError, match="0 and 1"):
        RankSVM(1.0).fit(X, shares)


def test_a_pair_with_an_unknown_label_is_no_pair_of_the_ranker():
    X, Y = make_data(47, n=40, d=4, k=4)
    gaps, C = with_gaps(Y), 2.0
    model = RankSVM(C, scaling="none", tol=1e-10, max_iter=50_000, random_state=0).fit(X, gaps)
    F = X @ model.coef_.T + model.intercept_
    primal = 0.5 * (np.sum(model.coef_**2) + model.intercept_ @ model.intercept_)
    for f, y in zip(F, gaps, strict=True):
        if (y == 1).any() and (y == 0).any():
            primal += C * np.maximum(0, 1 - f[y == 1][:, None] + f[y == 0]).mean()
    assert_allclose(model.objective_, primal, rtol=1e-9)
    assert model.dual_gap_ < 1e-9  # over these pairs: no other weights are better
    frank_wolfe = RankSVM(C, scaling="none", solver="frank-wolfe", tol=3e-3, random_state=0).fit(X, gaps)
    assert_allclose(frank_wolfe.objective_, model.objective_, rtol=3e-3)
    sizes = set_size_targets(F, gaps)
    for f, y, h in zip(F, gaps, sizes, strict=True):
        on, off = f[y == 1], f[y == 0]
        worst = on.min() if len(on) else off.max() + 1
        assert h == pytest.approx((worst + (off.max() if len(off) else on.min() - 1)) / 2)


def test_gaps_of_the_hypergraph_ranker_weigh_edges_by_the_mean_of_their_label():
    X, Y = make_data(48, n=40, d=4, k=4)
    gaps, w, lam = with_gaps(Y), np.array([1.0, 0.5, 2.0, 0.1]), 0.02
    model = HypergraphRankSVM(
        2.0, hypergraph_weight=lam, edge_weights=w, scale="literal", scaling="none", tol=1e-9, max_iter=50_000
    ).fit(X, gaps)
    F = filled(gaps)
    affinity = F @ np.diag(w) @ F.T
    M = np.eye(4) + lam * X.T @ (np.diag(affinity.sum(axis=1)) - affinity) @ X
    scores = X @ model.coef_.T + model.intercept_
    primal = 0.5 * (np.trace(model.coef_ @ M @ model.coef_.T) + model.intercept_ @ model.intercept_)
    for f, y in zip(scores, gaps, strict=True):
        if (y == 1).any() and (y == 0).any():
            primal += 2.0 * np.maximum(0, 1 - f[y == 1][:, None] + f[y == 0]).mean()
    assert_allclose(model.objective_, primal, rtol=1e-8)


def test_C_is_chosen_and_costs_are_balanced_over_known_labels():
    X, Y = make_data(49, n=120)
    model = RankSVM(label_cost="balanced", random_state=0).fit(X, with_gaps(Y))
    assert model.C_ > 0
    assert model.estimate_memory(X, with_gaps(Y)) > 0


@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
def test_every_pair_of_labels_is_fitted_on_the_rows_that_know_both(estimator):
    X, Y = make_data(50)
    gaps = with_gaps(Y)
    model = CalibratedLabelRanking(estimator, alpha=0.5).fit(X, gaps)
    for t, (p, q) in enumerate(model.pairs_):
        rows = np.flatnonzero(np.abs(gaps[:, p] - gaps[:, q]) == 1)  # NaN is no difference
        side = gaps[rows, p]
        if estimator is None:
            twin = Ridge(alpha=0.5).fit(X[rows], 2 * side - 1)
            assert_allclose(model.pair_coef_[t], twin.coef_, atol=1e-9)
        elif 0 < side.sum() < len(side):
            assert_allclose(
                model.pair_estimators_[t].coef_, clone(estimator).fit(X[rows], side).coef_, atol=1e-3
            )
    for j in range(Y.shape[1]):
        rows = np.flatnonzero(~np.isnan(gaps[:, j]))
        if estimator is None:
            twin = Ridge(alpha=0.5).fit(X[rows], 2 * gaps[rows, j] - 1)
            assert_allclose(model.virtual_coef_[j], twin.coef_, atol=1e-9)
        else:
            twin = clone(estimator).fit(X[rows], gaps[rows, j])
            assert_allclose(model.virtual_estimators_[j].coef_, twin.coef_, atol=1e-3)


def test_neighbours_that_know_a_label_speak_for_all_k():
    X, Y = make_data(51, n=60)
    gaps, k, s = with_gaps(Y, 0.6), 5, 1.0
    new = X[:9] + 0.05
    found = MLkNN(k, smoothing=s).fit(X, gaps)
    distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    among = np.argsort(distances, axis=1, kind="stable")[:, :k]
    among_new = np.argsort(((new[:, None] - X[None]) ** 2).sum(axis=2), axis=1, kind="stable")[:, :k]

    def count(rows, j):
        values = gaps[rows, j][~np.isnan(gaps[rows, j])]
        return int(np.floor(k * values.mean() + 0.5)) if len(values) else None

    want = np.empty((len(new), Y.shape[1]))
    for j in range(Y.shape[1]):
        tables = np.zeros((2, k + 1))
        for i in np.flatnonzero(~np.isnan(gaps[:, j])):
            if count(among[i], j) is not None:
                tables[int(gaps[i, j]), count(among[i], j)] += 1
        known = gaps[:, j][~np.isnan(gaps[:, j])]
        for i in range(len(new)):
            c = count(among_new[i], j)
            if c is None:
                want[i, j] = logit((s + known.sum()) / (2 * s + len(known)))
                continue
            off, on = ((s + t.sum()) * (s + t[c]) / (s * (k + 1) + t.sum()) for t in tables)
            want[i, j] = np.log(on / off)
    assert_allclose(found.decision_function(new), want, atol=1e-9)
    assert ((found.predict_proba(new) > 0.5) == found.predict(new)).all()
    assert MLkNN("auto").fit(X, gaps).n_neighbors_ >= 3


@pytest.mark.parametrize("splits", ["columns", "means"])
def test_leaves_answer_with_the_frequency_among_rows_that_know(splits):
    X, Y = make_data(52, n=100)
    gaps = with_gaps(Y, 0.6)
    forest = LabelForest(7, splits=splits, random_state=0).fit(X, gaps)
    leaves, share = forest._find_leaves(X), np.nanmean(gaps, axis=0)
    want = np.zeros(Y.shape)
    for t in range(7):
        for leaf in np.unique(leaves[:, t]):
            inside = gaps[leaves[:, t] == leaf]
            known = (~np.isnan(inside)).sum(axis=0)
            means = np.where(known > 0, np.nansum(inside, axis=0) / np.maximum(known, 1), share)
            want[leaves[:, t] == leaf] += means / 7
    assert_allclose(forest.decision_function(X) + 0.5, want, atol=1e-7)
    by_folds = LabelForest(8, splits=splits, cv=3, random_state=0)
    more = np.vstack([gaps, np.full((2, Y.shape[1]), np.nan)])
    scores = by_folds.fit(np.vstack([X, X[:2]]), more).oof_scores_
    assert scores.shape == more.shape
    assert np.isfinite(scores).all()
    given = list(KFold(4).split(X))
    want = clone(by_folds).set_params(cv=given).fit(X, gaps).oof_scores_
    rows = np.arange(2, len(X) + 2)  # two rows without a known label before the others
    shifted = [(np.append(rows[train], 0), rows[test]) for train, test in given]
    model = clone(by_folds).set_params(cv=shifted)
    more = np.vstack([np.full((2, Y.shape[1]), np.nan), gaps])
    assert_array_equal(model.fit(np.vstack([X[:2], X]), more).oof_scores_[2:], want)


@pytest.mark.parametrize(
    "model",
    [LabelPowerset(), LabelTopicModel(), KernelDependencyEstimation(), CompressedSensing(), PLST()],
    ids=str,
)
def test_methods_of_whole_label_sets_refuse_in_one_sentence(model):
    X, Y = make_data(53)
    name = type(model).__name__
    with pytest.raises(ValueError, match=f"{name} needs every label known.*such as BinaryRelevance"):
        model.fit(X, with_gaps(Y))


def test_kernels_of_the_rows_refuse_since_rows_cannot_be_left_out():
    X, Y = make_data(54)
    for model in (RankSVM(1.0, kernel="precomputed"), HypergraphSpectral(kernel="precomputed")):
        with pytest.raises(ValueError, match="needs every label known"):
            model.fit(X @ X.T, with_gaps(Y))
    with pytest.raises(ValueError, match="needs every label known"):
        MLkNN(metric="precomputed").fit(np.abs(X @ X.T), with_gaps(Y))


def test_nothing_known_is_refused():
    X, Y = make_data(55)
    for model in (PLST(2), RankSVM(1.0), MLkNN(), LabelForest(3), HypergraphSpectral()):
        with pytest.raises(ValueError, match="no known label"):
            model.fit(X, np.full(Y.shape, np.nan))


def test_any_regressor_of_codes_sees_the_filled_labels():
    X, Y = make_data(56)
    gaps = with_gaps(Y)
    model = LabelSpaceClassifier(regressor=LinearRegression()).fit(X, gaps)
    want = LinearRegression().fit(X, filled(gaps)).predict(X)
    assert_allclose(model.decision_function(X), 2 * want - 1, atol=1e-9)


def test_a_read_out_regresses_the_filled_labels():
    X, Y = make_data(57)
    gaps = with_gaps(Y)
    model = ProjectionClassifier(HypergraphSpectral(3), readout_alpha=0.1).fit(X, gaps)
    Z = HypergraphSpectral(3).fit(X, gaps).transform(X)
    want = 2 * Ridge(alpha=0.1).fit(Z, filled(gaps)).predict(Z) - 1
    assert_allclose(model.decision_function(X), want, atol=1e-9)


def test_a_path_fills_gaps_as_single_fits_do():
    X, Y = make_data(58)
    gaps = with_gaps(Y)
    gaps[5] = np.nan
    for model in projection_path(X, gaps, alphas=[1.0, 10.0]):
        expansion, form = model.name
        single = HypergraphSpectral(expansion=expansion, form=form, alpha=model.alpha).fit(X, gaps)
        assert_allclose(model.components, single.components_, atol=1e-8)


def test_sums_over_blocks_refuse_gaps():
    X, Y = make_data(59)
    for model in (PLST(3), OPLS(2)):
        with pytest.raises(ValueError, match="needs? every label known"):
            model.partial_fit(X, with_gaps(Y))
    with pytest.raises(ValueError, match="needs every label known"):
        OPLS(2, cross_fit=3).fit_transform(X, with_gaps(Y))


FEW_GAPS = np.array([[1, np.nan, 0, np.nan], [np.nan] * 4, [0, np.nan, 1, 1], [np.nan, np.nan, 1, 0]])


def test_gaps_are_filled_with_the_mean_over_the_rows_that_know():
    filled = fill_unknown(sparse.csr_array(FEW_GAPS)).toarray()
    means = [0.5, 0.0, 2 / 3, 0.5]  # of the second label nothing is known: it says nothing
    assert_allclose(filled, np.where(np.isnan(FEW_GAPS), means, FEW_GAPS))
    whole = sparse.csr_array(np.eye(3))
    assert fill_unknown(whole) is whole


def test_rows_without_a_known_label_are_left_out():
    Y = sparse.csr_array(FEW_GAPS)
    assert_array_equal(rows_with_known_labels(Y), [0, 2, 3])
    X, known = known_part(np.arange(8.0).reshape(4, 2), Y)
    assert_array_equal(X[:, 0], [0, 4, 6])
    assert_array_equal(known.toarray(), FEW_GAPS[[0, 2, 3]])
    assert rows_with_known_labels(sparse.csr_array(FEW_GAPS[[0, 2]])) is None
    with pytest.raises(ValueError, match="no known label"):
        known_part(X, sparse.csr_array(np.full((3, 2), np.nan)))


def test_a_label_that_no_row_knows_gets_the_mean_share_of_the_others():
    unknown_labels, share = find_unknown_labels(sparse.csr_array(FEW_GAPS))
    assert_array_equal(unknown_labels, [1])
    assert share == pytest.approx(np.mean([1 / 2, 2 / 3, 1 / 2]))
    scores = np.array([[3.0, 9.0, 1.0], [-3.0, 9.0, 1.0]])
    rank_in_the_middle(scores, np.array([1]))
    assert_allclose(scores[:, 1], [0.0, -1.0], atol=1e-12)
    assert (scores[:, 1] < 0).all()
