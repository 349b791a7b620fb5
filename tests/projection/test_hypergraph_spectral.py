"""Hypergraph spectral learning: against dense similarities and eigenproblems."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.datasets import make_multilabel_classification
from sklearn.decomposition import PCA
from sklearn.metrics.pairwise import rbf_kernel
from tests.projection import oracles

from hyperlabel import HypergraphSpectral, outofcore
from hyperlabel.geometry import EXPANSIONS

FORMS = ("exact", "least_squares")


def make_data(seed=0, n=60, d=12, k=6, rank=None):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) if rank is None else rng.normal(size=(n, rank)) @ rng.normal(size=(rank, d))
    Y = ((X[:, :3] @ rng.normal(size=(3, k)) + rng.normal(size=(n, k))) > 0.5).astype(float)
    Y[5:8] = 0.0  # unlabelled rows
    Y[:, -1] = 0.0  # an empty label
    Y[:, -2] = Y[:, 0]  # a repeated one
    return X, Y


def textbook(X, Y, expansion, form, alpha, rank):
    F = oracles.factor(Y, expansion)
    if form == "least_squares":
        return oracles.least_squares(X, F, alpha, rank)
    Fc = oracles.center(F)
    return oracles.generalised(X, Fc @ Fc.T, alpha, rank)


@pytest.mark.parametrize("alpha", [0.0, 0.7])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("expansion", EXPANSIONS)
@pytest.mark.parametrize("shape", [(60, 12, None), (60, 12, 7), (25, 40, None), (40, 25, 6)])
def test_equals_the_textbook_form(expansion, form, alpha, shape):
    n, d, rank = shape
    X, Y = make_data(1, n=n, d=d, rank=rank)
    full = 4  # six labels, one empty, one repeated
    for given, solver in [(X, "auto"), (sparse.csr_array(X), "gram"), (X, "samples"), (X, "krylov")]:
        for c in (None, 1, 3):
            if c and expansion == "cca" and form == "least_squares":
                continue  # all singular values are 1: truncation is arbitrary
            model = HypergraphSpectral(
                c, expansion=expansion, form=form, alpha=alpha, solver=solver, tol=1e-13
            ).fit(given, Y)
            values, W = textbook(X, Y, expansion, form, alpha, c or full)
            assert model.components_.shape == (c or full, d)
            if form == "exact" and c and alpha == 0 and values[0] - values[-1] < 1e-6:
                continue  # rank(Xc) = n − 1 makes every cca eigenvalue 1
            assert oracles.metric_error(model.components_.T, W) < 1e-8, (solver, c)
            assert_allclose(model.eigenvalues_, values, rtol=1e-8)
            apart = oracles.separated(values)
            cosine = np.abs(np.sum(model.components_.T * W, axis=0)) / np.sum(W**2, axis=0)
            assert_allclose(cosine[apart], 1.0, atol=1e-6)
            assert model.residual_ < 1e-9


@pytest.mark.parametrize("expansion", EXPANSIONS)
def test_theorem_4_1_the_two_forms_project_alike_when_rows_are_independent(expansion):
    X, Y = make_data(2, n=20, d=50)
    exact, ls = (HypergraphSpectral(expansion=expansion, form=form, alpha=0.0).fit(X, Y) for form in FORMS)
    assert_allclose(pdist(exact.transform(X)), pdist(ls.transform(X)), rtol=1e-6, atol=1e-12)
    new = np.random.default_rng(3).normal(size=(10, 50))
    assert_allclose(pdist(exact.transform(new)), pdist(ls.transform(new)), rtol=1e-6, atol=1e-12)
    if expansion != "cca":
        for c in (1, 2, 3):
            exact, ls = (
                HypergraphSpectral(c, expansion=expansion, form=form, alpha=0.0).fit(X, Y) for form in FORMS
            )
            assert_allclose(pdist(exact.transform(new)), pdist(ls.transform(new)), rtol=1e-6, atol=1e-12)
    exact, ls = (HypergraphSpectral(expansion=expansion, form=form, alpha=5.0).fit(X, Y) for form in FORMS)
    assert np.abs(pdist(exact.transform(new)) / pdist(ls.transform(new)) - 1).max() > 1e-2  # not for λ > 0


def test_an_offset_of_the_features_changes_nothing():
    X, Y = make_data(4)
    near = HypergraphSpectral().fit(X, Y)
    far = HypergraphSpectral().fit(X + 1e4, Y)
    assert_allclose(far.components_, near.components_, atol=1e-8)
    assert_allclose(far.transform(X + 1e4), near.transform(X), atol=1e-8)


def test_rank_deficient_medical_loses_no_span(load_real):
    data = load_real("medical", "train")
    Y = data.Y.toarray().astype(float)
    assert (Y.sum(axis=0) == 0).sum() == 7
    for expansion in EXPANSIONS:
        for form in FORMS:
            model = HypergraphSpectral(expansion=expansion, form=form, alpha=1.0).fit(data.X, data.Y)
            assert model.n_components_ == 38
            if expansion != "clique":
                continue  # the full d×d eigenproblem takes seconds
            _, W = textbook(data.X.toarray(), Y, expansion, form, 1.0, 38)
            assert oracles.metric_error(model.components_.T, W) < 1e-8


@pytest.mark.parametrize("form", FORMS)
def test_raw_features_cost_no_more_digits_than_their_condition(form, load_real):
    data = load_real("emotions")
    X, Y = np.asarray(data.X, dtype=float), data.Y.toarray().astype(float)
    kappa = np.linalg.cond(oracles.center(X))
    assert kappa > 1e4
    model = HypergraphSpectral(form=form, alpha=0.0).fit(X, Y)
    U, s, Vt = np.linalg.svd(oracles.center(X), full_matrices=False)  # the route that does not square κ
    F = oracles.center(oracles.factor(Y, "clique"))
    left, values, _ = np.linalg.svd(U.T @ F if form == "exact" else F, full_matrices=False)
    W = Vt.T @ ((left if form == "exact" else U.T @ left) / s[:, None])
    limit = max(1e-8, 10 * np.finfo(float).eps * kappa**2)
    assert oracles.metric_error(model.components_.T, W) < limit
    assert_allclose(model.eigenvalues_, values**2, rtol=limit)


@pytest.mark.parametrize("weights", ["compactness", {"b": 2.0}, [1.0, 2, 3, 4, 5, 6]])
def test_edge_weights_reach_the_factor(weights):
    pd = pytest.importorskip("pandas")
    X, Y = make_data(5)
    model = HypergraphSpectral(edge_weights=weights, nu=2.0).fit(X, pd.DataFrame(Y, columns=list("abcdef")))
    if isinstance(weights, dict):
        assert_allclose(model.edge_weights_, [1, 2, 1, 1, 1, 1])
    F = oracles.center(oracles.factor(Y, "clique", model.edge_weights_))
    _, W = oracles.generalised(X, F @ F.T, 1.0, model.n_components_)
    assert oracles.metric_error(model.components_.T, W) < 1e-8
    assert list(model.label_names_) == list("abcdef")


@pytest.mark.parametrize("form", FORMS)
def test_a_linear_kernel_in_dual_form_is_the_linear_model(form):
    X, Y = make_data(6)
    plain = HypergraphSpectral(form=form, alpha=0.5).fit(X, Y)
    dual = HypergraphSpectral(form=form, alpha=0.5, kernel="precomputed").fit(X @ X.T, Y)
    new = make_data(7)[0]
    assert_allclose(dual.eigenvalues_, plain.eigenvalues_, rtol=1e-9)
    assert_allclose(pdist(dual.transform(new @ X.T)), pdist(plain.transform(new)), rtol=1e-8)
    features = HypergraphSpectral(form=form, alpha=0.5, kernel="linear", n_landmarks=60, random_state=0)
    assert_allclose(pdist(features.fit(X, Y).transform(new)), pdist(plain.transform(new)), rtol=1e-5)


def test_a_kernel_equals_the_eigenproblem_in_feature_space():
    X, Y = make_data(8, n=40)
    model = HypergraphSpectral(kernel="rbf", kernel_params={"gamma": 0.1}, alpha=0.3).fit(X, Y)
    P = np.eye(40) - 1 / 40
    K = P @ rbf_kernel(X, gamma=0.1) @ P
    s, U = np.linalg.eigh(K)
    features = U[:, s > 1e-12] * np.sqrt(s[s > 1e-12])  # rows whose products are K
    F = oracles.center(oracles.factor(Y, "clique"))
    values, W = oracles.generalised(features, F @ F.T, 0.3, 4)
    assert_allclose(model.eigenvalues_, values, rtol=1e-8)
    assert_allclose(pdist(model.transform(X)), pdist(features @ W), rtol=1e-6)
    whole = HypergraphSpectral(
        kernel="rbf", kernel_params={"gamma": 0.1}, alpha=0.3, n_landmarks=40, random_state=0
    ).fit(X, Y)
    assert_allclose(pdist(whole.transform(X)), pdist(model.transform(X)), rtol=1e-4)


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_cross_fitting_projects_each_row_by_a_fit_that_did_not_see_it(kernel):
    X, Y = make_data(9, n=50, d=45)
    given = X if kernel == "linear" else X @ X.T
    model = HypergraphSpectral(alpha=1e-6, cross_fit=5, random_state=0, kernel=kernel)
    crossed = model.fit_transform(given, Y)
    inside = model.transform(given)
    assert crossed.shape == inside.shape

    def fit_to_labels(Z):
        Z1 = np.column_stack([Z, np.ones(len(Z))])
        return np.linalg.norm(Y - Z1 @ np.linalg.lstsq(Z1, Y, rcond=None)[0])

    assert fit_to_labels(inside) < 0.5 * fit_to_labels(crossed)  # near rank n − 1 the labels leak
    assert_allclose(crossed, model.fit_transform(given, Y))  # and the folds are reproducible


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cross_fitted_rows_speak_the_coordinates_of_transform(seed):
    """Three labels of equal strength: each fold finds its own rotation of the same three directions."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 6))
    Y = (X[:, :3] + 0.3 * rng.normal(size=(200, 3)) > 0).astype(int)
    model = HypergraphSpectral(3, cross_fit=5, random_state=0)
    crossed, inside = model.fit_transform(X, Y), model.transform(X)
    for j in range(3):
        assert np.corrcoef(crossed[:, j], inside[:, j])[0, 1] > 0.98


def test_components_below_the_error_of_the_krylov_route_are_left_out():
    X, Y = make_data(12, n=120, d=40)
    rough = HypergraphSpectral(alpha=1.0, solver="krylov", tol=0.2).fit(X, Y)
    bound = 10 * rough.residual_**2 * rough.eigenvalues_[0]
    assert (rough.eigenvalues_ > bound).all()
    exact = HypergraphSpectral(alpha=1.0, solver="gram").fit(X, Y)
    assert exact.eigenvalues_[-1] < bound


@pytest.mark.parametrize("expansion", EXPANSIONS)
@pytest.mark.parametrize("as_sparse", [False, True])
def test_blocks_of_rows_equal_one_fit(expansion, as_sparse):
    X, Y = make_data(11, n=90)
    X = sparse.csr_array(X) if as_sparse else X + 10.0
    whole = HypergraphSpectral(expansion=expansion, alpha=0.2).fit(X, Y)
    blocks = [(X[:20], Y[:20]), (X[20:70], Y[20:70]), (X[70:], Y[70:])]
    parts = outofcore.fit(HypergraphSpectral(expansion=expansion, alpha=0.2), blocks)
    assert_allclose(parts.components_, whole.components_, atol=1e-10)
    assert_allclose(parts.eigenvalues_, whole.eigenvalues_, rtol=1e-8)
    opened = outofcore.fit(HypergraphSpectral(expansion=expansion, alpha=0.2), lambda: iter(blocks))
    assert_allclose(opened.components_, whole.components_, atol=1e-10)
    streaming = HypergraphSpectral(expansion=expansion, alpha=0.2)
    if expansion in ("clique", "star"):
        assert not hasattr(streaming, "partial_fit")
        with pytest.raises(ValueError, match="label sizes of all rows"):
            parts.merge(whole)
        return
    for block in blocks:
        streaming.partial_fit(*block)
    assert_allclose(streaming.components_, whole.components_, atol=1e-10)
    extra = make_data(12)
    streaming.partial_fit(extra[0] if not as_sparse else sparse.csr_array(extra[0]), extra[1])
    streaming.forget(extra[0], extra[1])
    assert_allclose(streaming.components_, whole.components_, atol=1e-8)


def test_compactness_needs_two_passes_and_gets_them():
    X, Y = make_data(13)
    options = {"expansion": "zhou", "edge_weights": "compactness"}
    whole = HypergraphSpectral(**options).fit(X, Y)
    parts = outofcore.fit(HypergraphSpectral(**options), [(X[:30], Y[:30]), (X[30:], Y[30:])])
    assert_allclose(parts.edge_weights_, whole.edge_weights_, rtol=1e-10)
    assert_allclose(parts.components_, whole.components_, atol=1e-10)


def test_single_precision_in_single_precision_out():
    X, Y = make_data(14)
    double, single = (HypergraphSpectral().fit(X.astype(t), Y) for t in (np.float64, np.float32))
    assert single.components_.dtype == np.float32
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    assert_allclose(single.components_, double.components_, rtol=1e-4, atol=1e-6)


def test_signs_do_not_depend_on_the_route():
    X, Y = make_data(15)
    models = [HypergraphSpectral(solver=s, tol=1e-12).fit(X, Y) for s in ("gram", "samples", "krylov")]
    assert [m.solver_ for m in models] == ["gram", "samples", "krylov"]
    for model in models[1:]:
        assert_allclose(model.components_, models[0].components_, atol=1e-8)
    top = np.abs(models[0].components_).argmax(axis=1)
    assert (models[0].components_[np.arange(len(top)), top] > 0).all()


def test_columns_of_a_frame_are_named_after_the_projection():
    pytest.importorskip("pandas")
    X, Y = make_data(16, n=150)
    assert HypergraphSpectral(2).set_output(transform="pandas").fit_transform(X, Y).columns.tolist() == [
        "hypergraphspectral0",
        "hypergraphspectral1",
    ]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"expansion": "square"}, "expansion must be"),
        ({"form": "round"}, "form must be"),
        ({"alpha": -1.0}, "alpha must be"),
        ({"n_components": 0}, "n_components must be"),
        ({"solver": "magic"}, "solver must be"),
        ({"kernel": "precomputed", "n_landmarks": 3}, "precomputed kernel has none"),
    ],
)
def test_bad_choices_get_one_sentence(options, sentence):
    X, Y = make_data(17)
    with pytest.raises(ValueError, match=sentence):
        HypergraphSpectral(**options).fit(X, Y)


def test_two_rows_are_enough_and_one_is_not():
    X, Y = np.array([[0.0, 1.0], [1.0, 0.0]]), np.eye(2, dtype=int)
    assert HypergraphSpectral().fit_transform(X, Y).shape[0] == 2
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        HypergraphSpectral().fit(X[:1], Y[:1])


def test_constant_labels_are_refused():
    X, Y = make_data(18)
    with pytest.raises(ValueError, match="nothing to project on"):
        HypergraphSpectral().fit(X, np.ones_like(Y))


def test_cca_correlates_as_scikit_learn_finds():
    from sklearn.cross_decomposition import CCA

    X, Y = make_data(19, n=200)
    Y = Y[:, :4]
    Z = HypergraphSpectral(2, expansion="cca", alpha=0.0).fit_transform(X, Y)
    twin = CCA(2, max_iter=5000, tol=1e-12, scale=False).fit(X, Y).transform(X)
    for j in range(2):
        assert abs(np.corrcoef(Z[:, j], twin[:, j])[0, 1]) > 1 - 1e-6
    assert PCA(2).fit_transform(X).shape == Z.shape


@pytest.mark.parametrize("form", ["exact", "least_squares"])
def test_lsqr_projects_like_the_other_routes_and_counts_its_products(form):
    X, Y = make_multilabel_classification(80, 20, n_classes=5, random_state=0)
    X = sparse.csr_array(X)
    other = HypergraphSpectral(form=form, solver="gram").fit(X, Y)
    found = HypergraphSpectral(form=form, solver="lsqr", tol=1e-9, max_iter=2000).fit(X, Y)
    assert_allclose(np.abs(found.transform(X)), np.abs(other.transform(X)), atol=1e-5)
    assert found.solver_ == "lsqr"
    assert found.n_iter_ > 5


@pytest.mark.parametrize("alpha", [0.0, 0.1, 10.0, 1000.0])
@pytest.mark.parametrize("expansion", EXPANSIONS)
@pytest.mark.parametrize("shape", [(80, 12), (30, 50)])
def test_the_distance_of_the_two_forms_stays_below_its_bound_up_to_one_scale(expansion, alpha, shape):
    X, Y = make_data(17, *shape)
    exact, least_squares = (
        HypergraphSpectral(expansion=expansion, form=form, alpha=alpha).fit(X, Y) for form in FORMS
    )
    W, bound = least_squares.components_.T, least_squares.distance_bound_
    M = W.T @ (oracles.center(X).T @ oracles.center(X) + alpha * np.eye(X.shape[1])) @ W
    mu = np.linalg.eigvalsh(M)
    assert_allclose(bound, (mu[-1] - mu[0]) / (mu[-1] + mu[0]), atol=1e-7)
    new = np.random.default_rng(18).normal(size=(40, X.shape[1]))
    scale = (mu[-1] + mu[0]) / 2
    for rows in (X, new):
        K, other = (Z @ Z.T for Z in (exact.transform(rows), least_squares.transform(rows)))
        for norm in (2, "fro"):
            distance = np.linalg.norm(other - scale * K, norm) / np.linalg.norm(scale * K, norm)
            assert distance <= bound + 1e-7
    assert not hasattr(exact, "distance_bound_")
    if shape == (30, 50) and alpha == 0:
        assert bound < 1e-9  # Theorem 4.1


def test_the_bound_does_not_depend_on_the_route_or_on_how_many_are_kept():
    X, Y = make_data(19)
    models = [HypergraphSpectral(c, form="least_squares", solver=s, tol=1e-12).fit(X, Y)
              for c, s in ((None, "gram"), (None, "samples"), (None, "krylov"), (2, "gram"))]  # fmt: skip
    assert_allclose([m.distance_bound_ for m in models], models[0].distance_bound_, rtol=1e-8)
