"""Ridge around the labels' own features, against literal solves and the evidence itself."""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import multivariate_normal

from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.ridge.factored import RidgePath, SamplePath
from hyperlabel.solvers.ridge.from_rows import RowsPath
from hyperlabel.solvers.ridge.label_prior import IterativePriorRidge, PriorRidge


def draw(n=40, d=12, k=5, *, seed=0, weighted=False, is_sparse=False):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    V = rng.normal(size=(k, d)) * (rng.random((k, d)) < 0.5)
    Y = (X @ (V.T + 0.5 * rng.normal(size=(d, k))) > 1.0).astype(float)
    Y[:, -1] = 0.0  # a label without rows
    weights = rng.integers(1, 4, n).astype(float) if weighted else None
    return (sparse.csr_array(X) if is_sparse else X), Y, V, weights


def solve_literally(X, Y, V, alpha, scale, weights=None):
    """Minimise the objective label by label, as a least squares problem in (w, b)."""
    X = X.toarray() if sparse.issparse(X) else X
    root = np.sqrt(np.ones(len(X)) if weights is None else weights)
    coef, intercept = [], []
    for j in range(Y.shape[1]):
        rows = np.vstack(
            [
                np.column_stack([X, np.ones(len(X))]) * root[:, None],
                np.column_stack([np.sqrt(alpha) * np.eye(X.shape[1]), np.zeros(X.shape[1])]),
            ]
        )
        targets = np.concatenate([Y[:, j] * root, np.sqrt(alpha) * scale * V[j]])
        solution = np.linalg.lstsq(rows, targets, rcond=None)[0]
        coef.append(solution[:-1])
        intercept.append(solution[-1])
    return np.array(coef).T, np.array(intercept)


def make_path(route, X, Y, weights):
    if route == "gram":
        return RidgePath(RowMoments.from_rows(X, sparse.csr_array(Y), sample_weight=weights), alphas=(2.0,))
    if route == "samples":
        return SamplePath.from_rows(X, sparse.csr_array(Y), sample_weight=weights, alphas=(2.0,))
    return RowsPath(X, Y, sample_weight=weights)


def solved(prior, scale, **options):
    blocks = list(prior.solve(scale, **options))
    coef = np.hstack([block.result.coef for block in blocks])
    intercept = np.concatenate([block.result.intercept for block in blocks])
    squares = None if blocks[0].squares is None else np.concatenate([block.squares for block in blocks])
    return coef, intercept, squares


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("route", "is_sparse"),
    [
        *((route, form) for route in ("gram", "samples", "rows") for form in (False, True)),
        ("iterative", True),
    ],
)
def test_labels_with_rows_minimise_the_objective_and_others_are_their_name(route, is_sparse, weighted):
    X, Y, V, weights = draw(weighted=weighted, is_sparse=is_sparse)
    has_rows = Y.any(axis=0)
    if route == "iterative":
        prior = IterativePriorRidge(X, sparse.csr_array(Y), V, 2.0, sample_weight=weights, tol=1e-12)
    else:
        prior = PriorRidge(make_path(route, X, Y, weights), 2.0, sparse.csr_array(V), has_rows)
    coef, intercept, squares = solved(prior, 1.3, squares=True)
    wanted_coef, wanted_intercept = solve_literally(X, Y, V, 2.0, 1.3, weights)
    np.testing.assert_allclose(coef[:, has_rows], wanted_coef[:, has_rows], atol=1e-9)
    np.testing.assert_allclose(intercept[has_rows], wanted_intercept[has_rows], atol=1e-9)
    row_weights = np.ones(len(Y)) if weights is None else weights
    row_mean = np.average(X.toarray() if is_sparse else X, axis=0, weights=row_weights)
    shares = np.average(Y, axis=0, weights=row_weights)[has_rows]
    np.testing.assert_allclose(coef[:, -1], 1.3 * V[-1], atol=1e-12)
    np.testing.assert_allclose(intercept[-1], shares.mean() - 1.3 * V[-1] @ row_mean, atol=1e-12)
    scores = X @ coef - row_mean @ coef
    np.testing.assert_allclose(
        squares[has_rows], (row_weights @ np.asarray(scores) ** 2)[has_rows], rtol=1e-7
    )


@pytest.mark.parametrize("route", ["gram", "samples", "rows"])
def test_the_scale_maximises_the_evidence(route):
    X, Y, V, _ = draw(n=30, d=6, k=4, seed=3)
    alpha, noise = 2.0, 0.4
    has_rows = Y.any(axis=0)
    prior = PriorRidge(make_path(route, X, Y, None), alpha, V, has_rows)
    centring = np.linalg.qr(np.column_stack([np.ones(30), np.eye(30)[:, :-1]]))[0][:, 1:].T
    Xc, Yc = centring @ X, centring @ Y  # without the direction of the intercept
    covariance = noise * np.eye(29) + noise / alpha * Xc @ Xc.T

    def log_evidence(scale):
        return sum(
            multivariate_normal.logpdf(Yc[:, j], scale * Xc @ V[j], covariance)
            for j in np.flatnonzero(has_rows)
        )

    grid = np.linspace(prior.sums.scale - 0.5, prior.sums.scale + 0.5, 101)
    values = [log_evidence(scale) for scale in grid]
    assert abs(grid[int(np.argmax(values))] - prior.sums.scale) < 0.0051
    parabola = np.polyfit(grid, values, 2)
    np.testing.assert_allclose(-parabola[1] / (2 * parabola[0]), prior.sums.scale, rtol=1e-6)


def test_every_route_reads_off_the_same_scale():
    X, Y, V, weights = draw(n=25, d=40, k=6, seed=5, weighted=True, is_sparse=True)
    has_rows = Y.any(axis=0)
    scales = [
        PriorRidge(make_path(route, X, Y, weights), 2.0, V, has_rows).sums.scale
        for route in ("gram", "samples", "rows")
    ]
    iterative = IterativePriorRidge(X, sparse.csr_array(Y), V, 2.0, sample_weight=weights, tol=1e-12)
    np.testing.assert_allclose([*scales[1:], iterative.sums.scale], scales[0], rtol=1e-8)


def test_names_that_contradict_their_labels_weigh_nothing():
    X, Y, V, _ = draw(seed=2)
    prior = PriorRidge(make_path("gram", X, Y, None), 2.0, -V, Y.any(axis=0))
    assert prior.sums.agreement < 0
    assert prior.sums.scale == 0.0
    np.testing.assert_allclose(solved(prior, 0.0)[0], solve_literally(X, Y, V, 2.0, 0.0)[0], atol=1e-9)


def test_at_lambda_zero_names_fill_the_directions_that_rows_leave_open():
    X, Y, V, _ = draw(n=8, d=12, k=3, seed=7)
    has_rows = np.array([True, True, True])
    Y[:3, 2] = 1.0
    prior = PriorRidge(SamplePath.from_rows(X, Y), 0.0, V, has_rows)
    coef, intercept, _ = solved(prior, 0.7)
    np.testing.assert_allclose(X @ coef + intercept, Y, atol=1e-9)  # the rows are still met
    centred = X - X.mean(axis=0)
    open_directions = np.eye(12) - np.linalg.pinv(centred) @ centred
    np.testing.assert_allclose(open_directions @ coef, 0.7 * open_directions @ V.T, atol=1e-9)
