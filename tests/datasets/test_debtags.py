from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from hyperlabel.datasets import debtags_vectorizer, load_debtags
from hyperlabel.datasets._debtags import DATA_FILE


def test_sizes_and_promises():
    data = load_debtags()
    assert DATA_FILE.stat().st_size < 2_000_000
    assert 3000 < data.n_rows < 10_000
    assert 90 <= data.n_labels <= 130
    assert data.Y.sum(axis=0).min() >= 30
    assert sparse.issparse(data.X)
    assert len(set(data.groups)) < data.n_rows
    assert len(set(data.feature_names)) == data.n_features
    lengths = np.sqrt((data.X**2).sum(axis=1))
    np.testing.assert_allclose(lengths[np.diff(data.X.indptr) > 0], 1.0)


def test_counts_are_counts():
    data = load_debtags(weighting="counts")
    assert (data.X.data >= 1).all()
    assert (data.X.data == np.round(data.X.data)).all()
    assert ((data.X > 0).sum(axis=0) >= 5).all()


@pytest.mark.parametrize("weighting", ["tfidf", "counts"])
def test_vectorizer_gives_the_shipped_features(weighting):
    """Text rebuilt from the counts comes out of the vectorizer as the shipped row."""
    data, counts = load_debtags(weighting=weighting), load_debtags(weighting="counts").X
    rows = np.random.default_rng(0).choice(len(data), 50, replace=False)
    texts = [
        " ".join(
            data.feature_names[j]
            for j, c in zip(counts[[i]].indices, counts[[i]].data, strict=True)
            for _ in range(int(c))
        )
        for i in rows
    ]
    made = sparse.csr_array(debtags_vectorizer(weighting=weighting).transform(texts))
    np.testing.assert_allclose(made.toarray(), data.X[rows].toarray(), atol=1e-12)


def test_unknown_weighting():
    with pytest.raises(ValueError, match="weighting must be"):
        load_debtags(weighting="bm25")
    with pytest.raises(ValueError, match="weighting must be"):
        debtags_vectorizer(weighting="bm25")
