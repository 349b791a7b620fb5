"""``BinaryRelevance(label_features=…)``: names as a prior, on every route and through every update."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from tests.solvers.test_label_prior import draw, solve_literally

import hyperlabel
from hyperlabel import BinaryRelevance, Moments, ThresholdTuner
from hyperlabel.linear import label_features as module

ALPHA = 2.0


def fit(X, Y, V, **options):
    return BinaryRelevance(alpha=ALPHA, label_features=V, **options).fit(X, Y)


def assert_solves(model, X, Y, V, weights=None):
    """Labels with rows minimise the objective at the model's g; the last label has none."""
    coef, intercept = solve_literally(X, Y, V, ALPHA, model.label_scale_, weights)
    dense = X.toarray() if sparse.issparse(X) else X
    scores = 2 * (dense @ coef + intercept) - 1 - model.threshold_
    mean = np.average(dense, axis=0, weights=weights)
    shares = np.average(Y, axis=0, weights=weights)[:-1]
    last = 2 * (shares.mean() + model.label_scale_ * (dense - mean) @ V[-1]) - 1 - model.threshold_
    np.testing.assert_allclose(model.decision_function(X), np.column_stack([scores[:, :-1], last]), atol=1e-7)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize(("solver", "n"), [("gram", 60), ("samples", 25), ("auto", 60), ("auto", 20)])
def test_every_route_minimises_the_objective(solver, n, is_sparse, weighted):
    X, Y, V, weights = draw(n=n, d=30, weighted=weighted, is_sparse=is_sparse)
    model = BinaryRelevance(alpha=ALPHA, label_features=V, solver=solver)
    model.fit(X, Y, sample_weight=weights)
    assert model.label_scale_ > 0
    assert_solves(model, X, Y, V, weights)
    plain = BinaryRelevance(alpha=ALPHA, solver=solver).fit(X, Y, sample_weight=weights)
    w, v = plain.coef_[:-1] / 2, V[:-1]
    centred = (X.toarray() if is_sparse else X) - np.average(
        X.toarray() if is_sparse else X, axis=0, weights=weights
    )
    gram = centred.T @ (centred * (1.0 if weights is None else weights[:, None]))
    fitted = np.linalg.solve(gram + ALPHA * np.eye(30), gram @ v.T).T
    np.testing.assert_allclose(model.label_scale_, (v * w).sum() / (v * fitted).sum(), rtol=1e-7)


def test_the_iterative_route_agrees():
    X, Y, V, _ = draw(n=60, d=30, is_sparse=True)
    model = fit(X, Y, V, solver="krylov", tol=1e-10)
    assert_solves(model, X, Y, V)
    with pytest.raises(ValueError, match="solver='auto'"):
        fit(X.toarray(), Y, V, solver="krylov")


def test_wide_rows_keep_coefficients_over_samples(monkeypatch, tmp_path):
    X, Y, V, weights = draw(n=20, d=50, weighted=True, is_sparse=True)
    V = sparse.csr_array(V)
    wanted = fit(X, Y, V)
    monkeypatch.setattr(module, "WIDE_BYTES", 0)
    wide = fit(X, Y, V)
    assert wide.dual_coef_.shape == (20, 5)
    assert not hasattr(wide, "coef_")
    np.testing.assert_allclose(wide.decision_function(X), wanted.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(wide.threshold_, wanted.threshold_, atol=1e-9)
    np.testing.assert_allclose(wide._linear_map().weights([1, 2]), wanted.coef_[[1, 2]], atol=1e-9)
    hyperlabel.save(wide, tmp_path / "wide.hyper")
    loaded = hyperlabel.load(tmp_path / "wide.hyper")
    np.testing.assert_array_equal(loaded.decision_function(X), wide.decision_function(X))
    options = {"alpha": ALPHA, "label_features": V, "cv": 4}
    narrow = BinaryRelevance(**options)
    monkeypatch.setattr(module, "WIDE_BYTES", 10**9)
    narrow.fit(X, Y, sample_weight=weights)
    monkeypatch.setattr(module, "WIDE_BYTES", 0)
    again = BinaryRelevance(**options).fit(X, Y, sample_weight=weights)
    np.testing.assert_allclose(again.oof_scores_, narrow.oof_scores_, atol=1e-9)


@pytest.mark.parametrize("solver", ["gram", "samples"])
def test_folds_are_fits_on_their_training_rows(solver):
    X, Y, V, _ = draw(n=40, d=30)
    folds = [(np.arange(20), np.arange(20, 40)), (np.arange(20, 40), np.arange(20))]
    model = fit(X, Y, V, cv=folds, solver=solver, threshold=0.0)
    for train, test in folds:
        alone = fit(X[train], Y[train], V, solver=solver, threshold=0.0)
        np.testing.assert_allclose(model.oof_scores_[test], alone.decision_function(X[test]), atol=1e-8)


def test_a_column_of_nothing_but_nan_is_a_label_without_rows():
    X, Y, V, _ = draw(n=50, d=8)
    gaps = Y.copy()
    gaps[:, -1] = np.nan
    np.testing.assert_allclose(fit(X, gaps, V).coef_, fit(X, Y, V).coef_)
    gaps[3, 0] = np.nan
    with pytest.raises(ValueError, match="leave out NaN"):
        fit(X, gaps, V)


def test_rows_and_labels_come_and_go_as_in_a_fit_from_scratch():
    X, Y, V, _ = draw(n=60, d=8)
    options = {"alpha": "auto", "label_features": V}
    whole = BinaryRelevance(**options).fit(X, Y)
    half = BinaryRelevance(**options).fit(X[:30], Y[:30])
    rest = BinaryRelevance(**options).fit(X[30:], Y[30:])
    models = {
        "partial_fit": BinaryRelevance(**options).fit(X[:30], Y[:30]).partial_fit(X[30:], Y[30:]),
        "stream": BinaryRelevance(**options).partial_fit(X[:30], Y[:30]).partial_fit(X[30:], Y[30:]),
        "merge": half.merge(rest),
        "moments": BinaryRelevance.from_moments(Moments.from_rows(X, Y), **options),
    }
    for name, model in models.items():
        np.testing.assert_allclose(model.label_scale_, whole.label_scale_, rtol=1e-8, err_msg=name)
        np.testing.assert_allclose(model.coef_, whole.coef_, atol=1e-8, err_msg=name)
        np.testing.assert_allclose(model.intercept_, whole.intercept_, atol=1e-8, err_msg=name)
    forgotten = models["merge"].forget(X[30:], Y[30:])
    np.testing.assert_allclose(
        forgotten.coef_, BinaryRelevance(**options).fit(X[:30], Y[:30]).coef_, atol=1e-8
    )
    edited = BinaryRelevance(**options).fit(X, Y).edit_labels(drop=["label1"], add=["new"])
    columns = [0, 2, 3, 4]
    scratch = BinaryRelevance(alpha="auto", label_features=np.vstack([V[columns], np.zeros(8)]))
    scratch.fit(X, np.column_stack([Y[:, columns], np.zeros(60)]))
    np.testing.assert_allclose(edited.coef_, scratch.coef_, atol=1e-8)
    with pytest.raises(ValueError, match="same label_features"):
        whole.merge(BinaryRelevance(alpha="auto", label_features=2 * V).fit(X, Y))


def test_names_without_rows_become_labels_and_rank_by_their_name():
    X, Y, V, _ = draw(n=60, d=8, seed=4)
    sets = [[f"l{j}" for j in np.flatnonzero(row)] for row in Y]
    rows = {f"l{j}": V[j] for j in range(5)}
    model = fit(X, sets, rows)
    assert list(model.label_names_) == ["l0", "l1", "l2", "l3", "l4"]
    np.testing.assert_allclose(model.decision_function(X), fit(X, Y, V).decision_function(X), atol=1e-9)
    tuner = ThresholdTuner(BinaryRelevance(alpha=ALPHA, label_features=rows)).fit(X, sets)
    assert list(tuner.label_names_) == list(model.label_names_)
    order = np.argsort(tuner.decision_function(X)[:, 4])
    np.testing.assert_array_equal(order, np.argsort(X @ V[4]))  # neither last everywhere nor constant
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(V, index=list(rows))
    np.testing.assert_allclose(fit(X, sets, frame).coef_, model.coef_)


def test_shuffled_names_weigh_next_to_nothing():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 60))
    V = rng.normal(size=(40, 60)) / 8
    Y = (X @ V.T + rng.normal(size=(400, 40)) > 1.5).astype(int)
    named, shuffled = fit(X, Y, V), fit(X, Y, V[rng.permutation(40)])
    assert shuffled.label_scale_ < 0.05 * named.label_scale_


@pytest.mark.parametrize(
    ("label_features", "options", "message"),
    [
        (np.ones((3, 8)), {}, r"shape \(3, 8\): it needs a row of the 8 features of X for each of the 5"),
        (np.full((5, 8), np.nan), {}, "NaN or infinity"),
        ({"x": np.ones(8)}, {}, "none of the labels of y"),
        ({"label0": np.ones(3)}, {}, "has 3 features, X has 8"),
        (np.full((5, 8), "a"), {}, "must hold numbers"),
        (np.ones((5, 8)), {"loss": "logistic"}, "leave estimator=None and loss='squared'"),
        (np.ones((5, 8)), {"cv": "loo"}, "not cv='loo'"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(label_features, options, message):
    X, Y, _, _ = draw(n=30, d=8)
    with pytest.raises(ValueError, match=message):
        BinaryRelevance(label_features=label_features, **options).fit(X, Y)


@pytest.mark.parametrize("n", [60, 20])
def test_answers_about_some_labels_keep_the_names(n):
    """Rows of which some labels are unknown, learned later: each label is solved on the rows that know it."""
    X, Y, V, _ = draw(n=n, d=30)
    names = [f"label{j}" for j in range(Y.shape[1])]
    model = BinaryRelevance(alpha=ALPHA, label_features=V, solver="gram").fit(X[:-6], Y[:-6])
    gaps = Y[-6:].astype(float)
    gaps[:, 0] = np.nan
    model.partial_fit(X[-6:], gaps)
    assert model.label_scale_ > 0
    first_rows = BinaryRelevance(alpha=ALPHA, label_features=V, solver="gram").fit(X[:-6], Y[:-6])
    # the first label knows the first rows only: at the same g it would be what it was
    plain = BinaryRelevance(alpha=ALPHA, solver="gram").fit(X[:-6], Y[:-6])
    prior = (first_rows.coef_[0] - plain.coef_[0]) / first_rows.label_scale_
    np.testing.assert_allclose(model.coef_[0], plain.coef_[0] + model.label_scale_ * prior, atol=1e-8)
    # the last label has no row: its name alone
    np.testing.assert_allclose(model.coef_[-1], 2 * model.label_scale_ * V[-1], atol=1e-8)
    assert len(names) == len(model.intercept_)
