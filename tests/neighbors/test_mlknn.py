"""ML-kNN: against the published definition, word for word."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.preprocessing import StandardScaler

from hyperlabel import MLkNN
from hyperlabel.metrics import ranking_loss
from hyperlabel.solvers.neighbors.nearest import solve_nearest
from hyperlabel.solvers.neighbors.neighbor_counts import count_tables, leave_one_out_loss, look_up


def direct(X, Y, X_new, k=10, s=1.0, metric="euclidean"):
    """Posterior probabilities by the formulas of the paper, label by label."""
    n, n_labels = Y.shape
    inside = cdist(X, X, metric)
    np.fill_diagonal(inside, np.inf)  # leave self out by index
    near = np.argsort(inside, axis=1, kind="stable")[:, :k]
    near_new = np.argsort(cdist(X_new, X, metric), axis=1, kind="stable")[:, :k]
    answer = np.empty((len(X_new), n_labels))
    for l in range(n_labels):
        has = Y[:, l] == 1
        prior = (s + has.sum()) / (2 * s + n)
        C = Y[near, l].sum(axis=1)
        c1 = np.array([(C[has] == j).sum() for j in range(k + 1)])
        c0 = np.array([(C[~has] == j).sum() for j in range(k + 1)])
        p1, p0 = (s + c1) / (s * (k + 1) + c1.sum()), (s + c0) / (s * (k + 1) + c0.sum())
        j = Y[near_new, l].sum(axis=1)
        answer[:, l] = prior * p1[j] / (prior * p1[j] + (1 - prior) * p0[j])
    return answer


def agree(model, X_new, expected):
    ordinary = model._constant == 0
    np.testing.assert_allclose(model.predict_proba(X_new)[:, ordinary], expected[:, ordinary], rtol=1e-9)
    scores = model.decision_function(X_new)
    predicted = model.predict(X_new)
    predicted = predicted.toarray() if sparse.issparse(predicted) else predicted
    np.testing.assert_array_equal(predicted == 1, scores > 0)
    np.testing.assert_array_equal(model.predict_proba(X_new) > 0.5, scores > 0)


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(90, 4)).astype(float)  # many duplicates, many equal distances
    Y = (rng.random((90, 5)) < [0.1, 0.3, 0.5, 0.7, 0.9]).astype(int)
    X_new = rng.integers(0, 3, size=(40, 4)).astype(float)
    return X, Y, X_new


@pytest.mark.parametrize(("k", "s"), [(10, 1.0), (1, 0.1), (7, 3.0)])
def test_duplicates_and_ties_as_published(small, k, s):
    X, Y, X_new = small
    expected = direct(X, Y, X_new, k, s)
    for form in (np.asarray, np.asfortranarray, sparse.csr_array, sparse.csc_matrix):
        agree(MLkNN(k, smoothing=s).fit(form(X), sparse.csr_array(Y)), form(X_new), expected)


@pytest.mark.parametrize("metric", ["cityblock", "chebyshev", "cosine", "jaccard"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_metrics_of_scikit_learn(metric, form):
    rng = np.random.default_rng(1)
    X, X_new = rng.random((60, 5)) + 0.1, rng.random((20, 5)) + 0.1
    if metric == "jaccard":
        X, X_new = (X > 0.5).astype(float), (X_new > 0.5).astype(float)
    Y = (rng.random((60, 3)) < 0.4).astype(int)
    bits = (lambda A: A.astype(bool)) if metric == "jaccard" else (lambda A: A)
    expected = direct(bits(X), Y, bits(X_new), 5, metric=metric)
    agree(MLkNN(5, metric=metric).fit(form(X), Y), form(X_new), expected)


def test_precomputed_callable_and_metric_params(small):
    X, Y, X_new = small
    expected = direct(X, Y, X_new, metric="cityblock")
    agree(
        MLkNN(metric="precomputed").fit(cdist(X, X, "cityblock"), Y), cdist(X_new, X, "cityblock"), expected
    )
    agree(MLkNN(metric=lambda a, b: np.abs(a - b).sum()).fit(X, Y), X_new, expected)
    agree(MLkNN(metric="minkowski", metric_params={"p": 1}).fit(X, Y), X_new, expected)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "published", "within"),
    [("emotions", 0.171, 0.002), ("scene", 0.092, 0.002), ("yeast", 0.170, 0.002), ("medical", 0.058, 0.004)],
)
def test_published_splits(load_real, name, published, within):
    train, test = load_real(name, "train"), load_real(name, "test")
    X, X_new = train.X, test.X
    if name != "medical":
        scaler = StandardScaler().fit(X)
        X, X_new = scaler.transform(X), scaler.transform(X_new)
    model = MLkNN().fit(X, train.Y)
    rows = [A.toarray() if sparse.issparse(A) else A for A in (X, train.Y, X_new)]
    agree(model, X_new, direct(*rows))
    assert ranking_loss(test.Y, model.decision_function(X_new)) == pytest.approx(published, abs=within)


def test_constant_labels_rank_last_and_first_with_honest_probabilities(small):
    X, Y, X_new = small
    Y = np.column_stack([Y, np.zeros(90, int), np.ones(90, int)])
    model = MLkNN().fit(X, Y)
    proba = model.predict_proba(X_new)
    assert (proba[:, 5] < proba[:, :5].min(axis=1)).all()
    assert (proba[:, 6] > proba[:, :5].max(axis=1)).all()
    assert proba[:, 5].max() < 0.02
    assert proba[:, 6].min() > 0.98
    assert (proba > 0).all()
    assert (proba < 1).all()
    assert model.predict(X_new)[:, 5:].tolist() == [[0, 1]] * 40


def test_tables_that_do_not_fit_are_refused():
    Y = sparse.csr_array(np.eye(3))
    with pytest.raises(ValueError, match="labels × counts"):
        look_up(np.array([[0, 1]]), Y, np.zeros((3, 2)))
    with pytest.raises(ValueError, match="Neighbours must be rows of Y"):
        look_up(np.array([[0, 3]]), Y, np.zeros((3, 3)))


def test_fewer_rows_than_neighbours():
    model = MLkNN(10).fit(np.arange(4.0)[:, None], np.array([[1], [1], [0], [0]]))
    assert model.n_neighbors_ == 3


@pytest.mark.parametrize(
    ("model", "X", "message"),
    [
        (MLkNN(0), np.eye(3), "n_neighbors must be"),
        (MLkNN(smoothing=0.0), np.eye(3), "smoothing must be"),
        (MLkNN(metric="precomputed"), np.ones((3, 2)), "square"),
        (MLkNN(metric=lambda a, b: np.nan), np.eye(3), "NaN or infinite distances"),
    ],
)
def test_bad_input_gets_one_sentence(model, X, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, np.array([[1, 0], [0, 1], [1, 1]]))


def test_auto_takes_the_k_of_least_leave_one_out_loss(small):
    X, Y, X_new = small
    losses = {}
    for k in (3, 5, 7, 10, 14, 20):
        near = solve_nearest(X, X, k, skip=np.arange(len(X))).index
        C = np.array([Y[row].sum(axis=0) for row in near])
        loss = 0.0
        for i in range(len(X)):  # count anew among the other rows, one row at a time
            rest = np.arange(len(X)) != i
            for l in range(Y.shape[1]):
                same = [rest & (Y[:, l] == value) for value in (0, 1)]
                likely = [
                    (1 + rows.sum()) * (1 + (C[rows, l] == C[i, l]).sum()) / (k + 1 + rows.sum())
                    for rows in same
                ]
                loss -= np.log(likely[Y[i, l]] / sum(likely))
        losses[k] = loss
        from_tables = leave_one_out_loss(*count_tables(near, sparse.csr_array(Y.astype(float))), 1.0)
        np.testing.assert_allclose(from_tables, loss, rtol=1e-10)
    model = MLkNN("auto").fit(X, Y)
    assert model.n_neighbors_ == min(losses, key=losses.get)
    fixed = MLkNN(model.n_neighbors_).fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X_new), fixed.decision_function(X_new))


def test_auto_never_asks_for_more_neighbours_than_there_are(small):
    X, Y, _ = small
    assert MLkNN("auto").fit(X[:4], Y[:4]).n_neighbors_ <= 3
    with pytest.raises(ValueError, match="whole number of at least 1 or 'auto'"):
        MLkNN("many").fit(X, Y)
