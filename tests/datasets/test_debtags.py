from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from hyperlabel.datasets import debtags_vectorizer, iter_data, load_debtags, read_data
from hyperlabel.datasets._debtags import DATA_FILE, _load_word_counts


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
    counts = _load_word_counts()
    assert (counts.data >= 1).all()
    assert (counts.data == np.round(counts.data)).all()
    assert ((counts > 0).sum(axis=0) >= 5).all()


def test_vectorizer_gives_the_shipped_features():
    """Text rebuilt from the counts comes out of the vectorizer as the shipped row."""
    data, counts = load_debtags(), _load_word_counts()
    rows = np.random.default_rng(0).choice(len(data), 50, replace=False)
    texts = [
        " ".join(
            data.feature_names[j]
            for j, c in zip(counts[[i]].indices, counts[[i]].data, strict=True)
            for _ in range(int(c))
        )
        for i in rows
    ]
    made = sparse.csr_array(debtags_vectorizer().transform(texts))
    np.testing.assert_allclose(made.toarray(), data.X[rows].toarray(), atol=1e-12)


def test_the_embedded_data_reads_like_a_file_unless_there_is_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_data("debtags").n_labels == load_debtags().n_labels
    assert sum(len(part) for part in iter_data("debtags", chunk_rows=2000)) == len(load_debtags())
    (tmp_path / "debtags").write_text("mine")
    with pytest.raises(ValueError, match="Cannot tell the format"):
        read_data("debtags")
