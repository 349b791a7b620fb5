"""``--fetch``: what OpenML has, checked against what the papers used."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from reproduction.command import main
from reproduction.data import FILES

RECORDED = Path(__file__).parent / "openml"  # OpenML's answers for 40589, its data cut to 13 rows


class Recorded:
    """An opener that answers from the recorded bodies; `md5` replaces the published checksum."""

    def __init__(self, md5=None):
        self.asked, self.md5 = [], md5

    def __call__(self, request, timeout=None):
        url = request.full_url
        self.asked.append(url)
        kinds = {"/json/data/features/": "jdf", "/json/data/qualities/": "jdq", "/json/data/": "jd-"}
        part = next((part for key, part in kinds.items() if key in url), "data")
        body = gzip.decompress(next(RECORDED.glob(f"*{part}*")).read_bytes())
        if part == "jd-" and self.md5:
            told = json.loads(body)
            told["data_set_description"]["md5_checksum"] = self.md5
            body = json.dumps(told).encode()
        answer = io.BytesIO(body)
        answer.info = lambda: {}
        return answer


@pytest.fixture
def openml(monkeypatch):
    """OpenML as it answered, the labels of its 13 rows unexpected."""
    from reproduction import data

    opener = Recorded()
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", opener)
    monkeypatch.setattr("sklearn.datasets._openml.time.sleep", lambda seconds: None)
    monkeypatch.setattr(data, "OPENML", data.OPENML | {"emotions": (40589, 13, 72, "9f0b")})
    return opener


def test_fetched_data_is_kept_and_used(openml, monkeypatch, tmp_path):
    from reproduction import data

    monkeypatch.setattr(data, "OPENML", {"emotions": (40589, 13, 72, "b5b2d6978b3da7c2")})
    monkeypatch.setattr(data, "SOURCES", dict.fromkeys(FILES, "the moon"))
    arguments = ["jcp14-table1", "neco12-table2", "--fetch", "--quick", "--n-jobs", "1"]
    files = ["--store", str(tmp_path / "s.sqlite"), "--out", str(tmp_path / "r.html")]
    done = CliRunner().invoke(main, [*arguments, *files], env={"HYPERLABEL_DATA": ""})
    assert done.exit_code == 0, done.output
    assert "emotions: fetched from OpenML (40589)" in done.output
    assert "genbase: not on OpenML; get it from the moon and save it as" in done.output
    asked = len(openml.asked)
    assert asked >= 3
    again = CliRunner().invoke(main, [*arguments, *files], env={"HYPERLABEL_DATA": ""})
    assert "emotions: there" in again.output
    assert len(openml.asked) == asked


def test_fetched_data_that_is_not_the_papers_is_refused(openml, tmp_path):
    from reproduction import data

    with pytest.raises(ValueError, match="40589 is not emotions: rows, features and the hash"):
        data.fetch(tmp_path, "emotions")
    assert not list(tmp_path.glob("*.npz"))


def test_a_download_without_its_published_checksum_is_refused(openml, tmp_path):
    from reproduction import data

    openml.md5 = 32 * "0"
    with pytest.raises(ValueError, match="md5 checksum"):
        data.fetch(tmp_path, "emotions")
    assert not list(tmp_path.glob("*.npz"))


def test_offline_a_fetch_ends_in_one_sentence(openml, monkeypatch, tmp_path):
    from urllib.error import URLError

    def offline(request, timeout=None):
        raise URLError("no route")

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", offline)
    files = ["--store", str(tmp_path / "s.sqlite"), "--out", str(tmp_path / "r.html")]
    arguments = ["neco12-table2", "--fetch", "--quick", "--data", str(tmp_path), *files]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2
    assert done.output.count("openml.org could not be reached") == 1
    assert "Nothing could be computed" in done.output
    assert "Traceback" not in done.output


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["emotions", "scene", "yeast"])
def test_the_hashes_pinned_for_openml_are_those_of_the_papers_files(load_real, name):
    from reproduction import data

    found = load_real(name)
    assert data.OPENML[name][1:] == (found.n_rows, found.n_features, data.label_hash(found.Y))
    order = np.random.default_rng(0)
    mixed = found.Y[order.permutation(found.n_rows)][:, order.permutation(found.n_labels)]
    assert data.label_hash(mixed) == data.OPENML[name][3]
    changed = found.Y.tolil()
    changed[0, 0] = 1 - changed[0, 0]
    assert data.label_hash(changed.tocsr()) != data.OPENML[name][3]


def test_every_file_that_cannot_be_fetched_has_a_source():
    from reproduction import data

    assert set(data.OPENML) | set(data.SOURCES) == set(FILES)
