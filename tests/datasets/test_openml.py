"""fetch_openml against a recorded response (emotions, the first rows), never the network."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import numpy as np
import pytest

from hyperlabel.datasets import fetch_openml, read_arff

RECORDED = Path(__file__).with_name("openml")


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    asked = []

    def urlopen(request, *_, **__):
        url = request.full_url
        asked.append(url)
        if "data/list" in url or "/list/" in url:
            file = "api-v1-jdl-dn-emotions-l-2-s-act-.json.gz"
        elif "features" in url:
            file = "api-v1-jdf-40589.json.gz"
        elif "qualities" in url:
            file = "api-v1-jdq-40589.json.gz"
        elif "download" in url:
            file = "data-v1-dl-4644182.arff.gz"
        else:
            file = "api-v1-jd-40589.json.gz"
        return _Answer((RECORDED / file).read_bytes())

    # The recorded file is cut to its first rows, so its checksum is that of the rows kept.
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", urlopen)
    return asked


class _Answer(io.BytesIO):
    def info(self):
        return {"Content-Encoding": "gzip"}


def test_emotions(recorded, tmp_path):
    data = fetch_openml("emotions", data_home=str(tmp_path))
    assert (data.n_features, data.n_labels) == (72, 6)
    assert recorded
    raw = gzip.decompress((RECORDED / "data-v1-dl-4644182.arff.gz").read_bytes())
    (tmp_path / "a.arff").write_bytes(raw)
    ours = read_arff(tmp_path / "a.arff", list(data.label_names))
    np.testing.assert_allclose(data.X, ours.X)
    assert (data.Y != ours.Y).nnz == 0


def test_not_multilabel(recorded, tmp_path):
    with pytest.raises(ValueError, match="no more than one target column"):
        fetch_openml("emotions", data_home=str(tmp_path), label_names=["happy.pleased"])
