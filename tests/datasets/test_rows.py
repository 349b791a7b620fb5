"""LIBSVM multilabel and XMC files."""

from __future__ import annotations

import gzip
import re
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_svmlight_file
from sklearn.preprocessing import MultiLabelBinarizer

from hyperlabel.datasets import DataError, concat, read_svmlight, read_xmc
from hyperlabel.datasets import _row_blocks as module
from hyperlabel.datasets._rows import iter_svmlight, iter_xmc

SVM = "0,2 1:0.5 3:-1e-3\n 2:4\n1 1:1 2:2 3:3\n0,1,2\n"
XMC = "4 3 3\n0,2 0:0.5 2:-1e-3\n 1:4\n1 0:1 1:2 2:3\n\n"


def write(tmp_path, text, name="d.svm"):
    path = tmp_path / name
    raw = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return path


@pytest.mark.parametrize("name", ["d.svm", "d.svm.gz"])
def test_svmlight(tmp_path, name):
    data = read_svmlight(write(tmp_path, SVM, name))
    assert data.X.toarray().tolist() == [[0.5, 0, -1e-3], [0, 4, 0], [1, 2, 3], [0, 0, 0]]
    assert data.Y.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 1, 1]]
    assert list(data.label_names) == ["0", "1", "2"]
    assert data.name == "d"


def test_svmlight_numbering(tmp_path):
    path = write(tmp_path, "1,3 0:1\n2 4:1\n")
    data = read_svmlight(path)
    assert (data.n_features, data.n_labels, list(data.label_names)) == (5, 3, ["1", "2", "3"])
    data = read_svmlight(path, labels_zero_based=True, n_features=10, n_labels=7)
    assert (data.n_features, data.n_labels) == (10, 7)
    with pytest.raises(DataError, match="said to start at 1"):
        read_svmlight(path, zero_based=False)
    with pytest.raises(DataError, match="beyond the 2 features"):
        read_svmlight(path, n_features=2)
    with pytest.raises(DataError, match="beyond the 2 labels"):
        list(iter_svmlight(path, n_features=9, n_labels=2, zero_based=True, labels_zero_based=True))


def test_equal_to_sklearn(tmp_path):
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(200):
        labels = ",".join(map(str, sorted(rng.choice(9, rng.integers(1, 4), replace=False))))
        columns = sorted(rng.choice(30, rng.integers(0, 8), replace=False) + 1)
        rows.append(labels + "".join(f" {j}:{rng.normal():.5g}" for j in columns))
    path = write(tmp_path, "\n".join(rows))
    X, sets = load_svmlight_file(str(path), multilabel=True, n_features=30, zero_based=False)
    data = read_svmlight(path, n_features=30)
    assert (data.X != X).nnz == 0
    Y = MultiLabelBinarizer(classes=np.arange(9)).fit_transform([[int(v) for v in row] for row in sets])
    np.testing.assert_array_equal(data.Y.toarray(), Y)


def test_xmc(tmp_path):
    data = read_xmc(write(tmp_path, XMC))
    assert data.X.toarray().tolist() == [[0.5, 0, -1e-3], [0, 4, 0], [1, 2, 3], [0, 0, 0]]
    assert data.Y.toarray().tolist() == [[1, 0, 1], [0, 0, 0], [0, 1, 0], [0, 0, 0]]
    named = read_xmc(write(tmp_path, XMC), label_names=["a", "b", "c"])
    assert named.label_sets()[0] == ["a", "c"]


@pytest.mark.parametrize(
    "same",
    [
        SVM.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + SVM.encode(),
        SVM.replace("0,2 1:0.5 3:-1e-3", "2,0 3:-1e-3 1:0.5  # out of order"),
        SVM.replace("0,2", "0.0,2.0").replace(" 2:4", " qid:3 2:4"),
        "# first line\n\n" + SVM,
    ],
)
def test_same_through_other_forms(tmp_path, same):
    one, two = read_svmlight(write(tmp_path, SVM)), read_svmlight(write(tmp_path, same, "e.svm"))
    assert (one.X != two.X).nnz == 0
    assert (one.Y != two.Y).nnz == 0


@pytest.mark.parametrize(
    ("text", "read", "stream"), [(SVM, read_svmlight, iter_svmlight), (XMC, read_xmc, iter_xmc)]
)
def test_stream_and_careful_parser(tmp_path, monkeypatch, text, read, stream):
    text = "204 3 3\n" + text.split("\n", 1)[1] * 51 if text is XMC else text * 51
    path = write(tmp_path, text)
    whole = read(path)
    monkeypatch.setattr("hyperlabel.datasets._lines.BLOCK_BYTES", 100)
    parts = list(stream(path, chunk_rows=50))
    assert [len(part) for part in parts] == [50, 50, 50, 50, 4]
    monkeypatch.setattr(module, "_parse_plain_block", lambda *_: None)
    for other in (concat(parts), read(path)):
        assert (other.X != whole.X).nnz == 0
        assert (other.Y != whole.Y).nnz == 0


BAD_SVM = {
    "word": (SVM.replace("2:4", "2:x"), "line 2, column 4: the value 'x' of feature 2 is not a number"),
    "label word": (SVM.replace("0,1,2", "0,a"), "line 4, column 1: 'a' is not the number of a label"),
    "two label lists": (SVM.replace("0,1,2", "0 1 1:1"), "line 4, column 3: '1' is not index:value"),
    "label later": (SVM.replace(" 2:4", "1:1 7"), "line 2, column 5: '7' is not index:value"),
    "negative": (SVM.replace("2:4", "-2:4"), "line 2, column 2: '-2' is not the number of a feature"),
    "fraction": (SVM.replace("2:4", "2.5:4"), "line 2, column 2: '2.5' is not the number"),
    "twice": (SVM.replace("2:4", "2:4 2:5"), "line 2, column 6: the feature 2 appears twice"),
    "label twice": (SVM.replace("0,1,2", "0,0"), "line 4, column 1: a label appears twice"),
    "huge feature": (
        SVM.replace("2:4", "99999999999:4"),
        "line 2, column 2: the feature 99999999999 is beyond",
    ),
    "huge label": (SVM.replace("0,1,2", "999999999"), "line 4, column 1: the label 999999999 is beyond"),
    "endless digits": (SVM.replace("2:4", "9" * 400 + ":4"), "line 2, column 2"),
    "comma at end": (SVM.replace("0,1,2", "0,1,"), "line 4, column 1: '' is not"),
    "no value": (SVM.replace("2:4", "2:"), "line 2, column 4: the value ''"),
    "spaced colon": (SVM.replace("2:4", "2 :4"), "line 2, column 2"),
    "double colon": (SVM.replace("2:4", "2:4:5"), "line 2, column 4"),
    "empty": ("", "the file is empty"),
    "binary": (bytes(range(256)), "binary bytes"),
}


@pytest.mark.parametrize("case", BAD_SVM)
def test_bad_svmlight(tmp_path, case):
    text, message = BAD_SVM[case]
    with pytest.raises(DataError, match=re.escape(message)):
        read_svmlight(write(tmp_path, text))


BAD_XMC = {
    "no header": ("0,1 1:1\n", "first line must hold three sizes"),
    "few rows": (XMC.replace("4 3 3", "9 3 3"), "9 rows are declared but only 4"),
    "many rows": (XMC.replace("4 3 3", "2 3 3"), "2 rows are declared but there are more"),
    "feature beyond": (
        XMC.replace("1:4", "3:4"),
        "line 3, column 2: the feature 3 is beyond the 3 features declared",
    ),
    "label beyond": (
        XMC.replace("0,2", "0,3"),
        "line 2, column 1: the label 3 is beyond the 3 labels declared",
    ),
    "huge": ("1 999999999999 3\n0 1:1\n", "at most"),
    "huge labels": ("1 3 999999999999\n0 1:1\n", "at most"),
    "absurd": ("1 3 " + "9" * 500 + "\n", "first line must hold three sizes"),
}


@pytest.mark.parametrize("case", BAD_XMC)
def test_bad_xmc(tmp_path, case):
    text, message = BAD_XMC[case]
    with pytest.raises(DataError, match=re.escape(message)):
        read_xmc(write(tmp_path, text))


def test_huge_declared_sizes_take_no_memory(tmp_path):
    path = write(tmp_path, "1 2000000000 20000000\n5 1999999999:1\n")
    tracemalloc.start()
    data = read_xmc(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (data.n_features, data.n_labels) == (2_000_000_000, 20_000_000)
    assert data.feature_names[-1] == "x1999999999"
    assert peak < 30e6


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_random_damage_never_escapes(tmp_path_factory, data):
    kind = data.draw(st.sampled_from(["svm", "xmc"]))
    raw = bytearray((SVM if kind == "svm" else XMC).encode())
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, max(len(raw) - 1, 0)))
        raw[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    path = tmp_path_factory.mktemp("fuzz") / "d"
    path.write_bytes(raw)
    read = read_svmlight if kind == "svm" else read_xmc
    try:
        found = read(path)
    except DataError:
        return
    assert found.Y.shape[0] == found.X.shape[0]


def test_streaming_holds_a_chunk_not_the_file(tmp_path):
    """Four times the rows, the same peak."""
    row = "1,4 " + " ".join(f"{j}:0.25" for j in range(20)) + "\n"
    peaks = []
    for rows in (8000, 32_000):
        path = write(tmp_path, f"{rows} 99 9\n" + row * rows)
        tracemalloc.start()
        assert sum(len(part) for part in iter_xmc(path, chunk_rows=2000)) == rows
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
