from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from hyperlabel.datasets import make_multilabel


def test_same_seed_same_data():
    one, two = (make_multilabel(50, 8, 5, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(one.X, two.X)
    assert (one.Y != two.Y).nnz == 0
    assert (one.Y != make_multilabel(50, 8, 5, random_state=4).Y).nnz


@pytest.mark.parametrize("cardinality", [0.5, 1.0, 3.0, 8.0])
def test_cardinality(cardinality):
    data = make_multilabel(4000, 2, 40, cardinality=cardinality, random_state=0)
    assert data.Y.sum() / 4000 == pytest.approx(cardinality, rel=0.06)


def test_correlation_grows_and_frequencies_stay():
    strength, counts = [], []
    for correlation in (0.0, 0.5, 1.0):
        data = make_multilabel(8000, 1, 16, cardinality=2.5, correlation=correlation, random_state=0)
        phi = np.corrcoef(data.Y.toarray().T)
        strength.append(np.sort(phi[np.triu_indices(16, 1)])[-24:].mean())  # 4 topics · 6 pairs
        counts.append(data.Y.sum(axis=0) / 8000)
    assert abs(strength[0]) < 0.05
    assert strength[0] + 0.05 < strength[1] < strength[2] - 0.05
    np.testing.assert_allclose(counts[0], counts[2], rtol=0.2)


def test_power_law_slope():
    data = make_multilabel(20000, 10, 1000, exponent=1.0, cardinality=2, density=0.1, random_state=0)
    counts = np.sort(data.Y.sum(axis=0))[::-1][10:200]
    slope = np.polyfit(np.log(np.arange(10, 200)), np.log(counts), 1)[0]
    assert slope == pytest.approx(-1.0, abs=0.15)


def test_hundred_thousand_labels_stay_sparse():
    data = make_multilabel(3000, 5000, 100_000, exponent=1.2, cardinality=5, density=0.005, random_state=0)
    assert data.n_labels == 100_000
    assert sparse.issparse(data.X)
    assert data.X.nnz / (3000 * 5000) == pytest.approx(0.005, rel=0.15)
    assert data.Y.sum() / 3000 == pytest.approx(5, rel=0.05)


def test_labels_can_be_learned_from_features():
    """Least squares on half of the rows ranks labels of the other half well above chance."""
    for density in (1.0, 0.1):
        data = make_multilabel(1500, 80, 6, density=density, random_state=1)
        X = data.X.toarray() if sparse.issparse(data.X) else data.X
        Y = data.Y.toarray()
        X = np.column_stack([X, np.ones(len(X))])
        W = np.linalg.lstsq(X[:1000], Y[:1000], rcond=None)[0]
        score, truth = X[1000:] @ W, Y[1000:] > 0
        wins = np.mean(
            [(score[:, j][truth[:, j], None] > score[:, j][~truth[:, j]]).mean() for j in range(6)]
        )
        assert wins > 0.75


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_rows": 0}, "at least 1"),
        ({"cardinality": 11.0}, "cardinality"),
        ({"correlation": 1.5}, "correlation"),
        ({"density": 0.0}, "density"),
        ({"exponent": -1.0}, "negative"),
    ],
)
def test_bad_parameters(given, message):
    with pytest.raises(ValueError, match=message):
        make_multilabel(**{"n_rows": 10, **given})


def test_every_label_on():
    data = make_multilabel(20, 3, 4, cardinality=4, correlation=1.0, random_state=0)
    assert data.Y.sum(axis=1).max() == 4
