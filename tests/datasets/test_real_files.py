"""The real benchmark files read to the sizes their README states."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

# name: n, d, k, cardinality, distinct label sets
SIZES = {
    "emotions": (593, 72, 6, 1.869, 27),
    "scene": (2407, 294, 6, 1.074, 15),
    "yeast": (2417, 103, 14, 4.237, 198),
    "genbase": (662, 1185, 27, 1.252, 32),
    "medical": (978, 1449, 45, 1.245, 94),
    "corel5k": (5000, 499, 374, 3.522, 3175),
    "delicious": (16105, 500, 983, 19.020, 15806),
    "yahoo-arts": (7484, 23146, 26, 1.654, 599),
    "yahoo5k-computers": (5000, 681, 33, 1.508, 253),
    "mediamill-real4k": (4387, 120, 101, 4.364, 1401),
    "mediamill-disc3": (43851, 120, 101, 4.373, 6539),
    "imageclef07a": (11006, 80, 96, 3.000, 63),
}


@pytest.mark.real_data
@pytest.mark.parametrize("name", SIZES)
def test_sizes(load_real, name):
    n, d, k, cardinality, distinct = SIZES[name]
    data = load_real(name)
    assert (data.n_rows, data.n_features, data.n_labels) == (n, d, k)
    assert data.Y.sum() / n == pytest.approx(cardinality, abs=6e-4)  # emotions: 1.8685, stated as 1.869
    assert len({tuple(labels) for labels in data.label_sets()}) == distinct
    assert sparse.issparse(data.X) == (name in {"medical", "corel5k", "delicious"} or "yahoo" in name)
    values = data.X.data if sparse.issparse(data.X) else data.X
    assert np.isfinite(values).all()
