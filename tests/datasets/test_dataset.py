"""Dataset itself: forms of input, rows, stacking, saving, statistics, npz."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from scipy import sparse
from tests.optional import optional

from hyperlabel.datasets import (
    DataError,
    Dataset,
    concat,
    iter_data,
    load_npz,
    make_multilabel,
    read_svmlight,
    read_xmc,
    save_shards,
)

pd = optional("pandas")


@pytest.fixture
def data():
    made = make_multilabel(30, 12, 7, density=0.3, cardinality=1.2, random_state=0)
    Y = made.Y.tolil()
    Y[3] = 0
    X = made.X.tolil()
    X[3] = 0
    names = [f"label {j}" for j in range(7)]
    return Dataset(
        X.tocsr(), Y.tocsr(), [f"f{j}" for j in range(12)], names, "small",
        groups=np.arange(30) // 3, time=np.arange(30.0), text=[f"row {i} ü\n" for i in range(30)],
    )  # fmt: skip


def same(one, two):
    left, right = (sparse.csr_array(part.X).toarray() for part in (one, two))
    np.testing.assert_array_equal(left, right)
    assert (one.Y != two.Y).nnz == 0


def test_forms_of_y():
    expected = [[1, 0, 1], [0, 0, 0]]
    X = np.zeros((2, 1))
    for Y in (
        expected,
        np.array(expected, dtype=bool),
        np.array(expected, dtype=np.float32),
        sparse.csr_matrix(expected),
        sparse.coo_array(expected),
        pd.DataFrame(expected, columns=["a", "b", "c"]),
    ):
        made = Dataset(X, Y)
        assert isinstance(made.Y, sparse.csr_array)
        assert made.Y.toarray().tolist() == expected
    assert Dataset(X, pd.DataFrame(expected, columns=["a", "b", "c"])).label_names == ["a", "b", "c"]
    sets = Dataset(X, [{"c", "a"}, ()], label_names=["a", "b", "c"])
    assert sets.Y.toarray().tolist() == expected
    assert sets.label_sets() == [["a", "c"], []]
    assert Dataset(X, [[], []]).n_labels == 0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X": [1.0, 2.0]}, "two dimensions"),
        ({"Y": [1, 0]}, "two dimensions"),
        ({"Y": [[2], [0]]}, "zeros and ones"),
        ({"Y": [[np.nan], [0]]}, "zeros and ones"),
        ({"Y": [[1]]}, "X has 2 rows but Y has 1"),
        ({"label_names": ["a", "b"]}, "2 label_names for 1"),
        ({"feature_names": []}, "0 feature_names for 1"),
        ({"Y": [[1, 0], [0, 1]], "label_names": ["a", "a"]}, "more than once"),
        ({"groups": [1]}, "one value per row"),
        ({"text": ["a"]}, "1 texts for 2 rows"),
        ({"Y": [["x"], ["y"]], "label_names": ["x"]}, "'y' is not among"),
    ],
)
def test_bad_datasets(given, message):
    with pytest.raises(ValueError, match=message):
        Dataset(**{"X": [[1.0], [2.0]], "Y": [[1], [0]], **given})


def test_rows_and_stack(data):
    part = data[[5, 1]]
    assert part.groups.tolist() == [1, 0]
    assert part.text == ["row 5 ü\n", "row 1 ü\n"]
    same(concat([data[:10], data[10:]]), data)
    assert len(data[3]) == 1
    assert len(data[data.time > 20]) == 9
    with pytest.raises(ValueError, match="nothing to concatenate"):
        concat([])
    with pytest.raises(ValueError, match="differ in their feature or label names"):
        concat([data, make_multilabel(3, 12, 7, random_state=0)])


def test_npz_round_trip(data, tmp_path):
    found = load_npz(data.save(tmp_path / "a.npz"))
    same(found, data)
    assert (found.feature_names, found.label_names, found.text) == (
        data.feature_names, data.label_names, data.text,
    )  # fmt: skip
    np.testing.assert_array_equal(found.groups, data.groups)
    np.testing.assert_array_equal(found.time, data.time)
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]


def test_sparse_labels_in_npz(data, tmp_path, monkeypatch):
    monkeypatch.setattr("hyperlabel.datasets._save._DENSE_Y", 0)
    same(load_npz(data.save(tmp_path / "a.npz")), data)


@pytest.mark.parametrize("ending", ["svm", "svm.gz", "xmc", "txt.gz"])
@pytest.mark.parametrize("is_dense", [False, True])
def test_text_round_trip(data, tmp_path, ending, is_dense):
    if is_dense:
        data = make_multilabel(20, 4, 3, cardinality=0.8, random_state=1)
    path = data.save(tmp_path / f"a.{ending}")
    if "svm" in ending:
        sizes = {"n_features": data.n_features, "n_labels": data.n_labels}
        found = read_svmlight(path, zero_based=False, labels_zero_based=True, **sizes)
    else:
        found = read_xmc(path)
    same(found, data)


def test_shards(data, tmp_path):
    paths = save_shards((data[i : i + 8] for i in range(0, 30, 8)), tmp_path / "shards")
    assert len(paths) == 4
    same(concat(iter_data(tmp_path / "shards")), data)
    with pytest.raises(FileNotFoundError, match="no npz files"):
        list(iter_data(tmp_path))


def test_failed_save_leaves_the_old_file(data, tmp_path, monkeypatch):
    path = data.save(tmp_path / "a.xmc")
    before = path.read_bytes()

    def fail(value):
        raise OSError("disk full")

    monkeypatch.setattr("hyperlabel.datasets._save._short_number", fail)
    with pytest.raises(OSError, match="disk full"):
        data.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["a.xmc"]


def test_bad_saves(data, tmp_path):
    with pytest.raises(ValueError, match="Cannot tell the format"):
        data.save(tmp_path / "a.docx")
    with pytest.raises(ValueError, match="format must be one of"):
        data.save(tmp_path / "a", format="docx")
    with pytest.raises(FileNotFoundError, match="There is no folder"):
        data.save(tmp_path / "no" / "a.npz")


def _npz(path, **arrays):
    np.savez(path, **arrays)
    return path


def _forged(path, shape):
    raw = io.BytesIO()
    np.lib.format.write_array_header_1_0(raw, {"descr": "<f8", "fortran_order": False, "shape": shape})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", raw.getvalue())
        archive.writestr("Y.npy", raw.getvalue())
    return path


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: p.write_bytes(b""), "not a readable npz"),
        (lambda p: p.write_bytes(bytes(range(256)) * 9), "not a readable npz"),
        (lambda p: _npz(p, Z=np.ones(3)), "neither X nor X_indptr"),
        (lambda p: _npz(p, X=np.ones((3, 2))), "neither Y nor Y_indptr"),
        (lambda p: _npz(p, X=np.ones((3, 2)), Y=np.ones((2, 2))), "X has 3 rows but Y has 2"),
        (lambda p: _npz(p, X=np.ones((3, 2)), Y=np.full((3, 2), 5)), "zeros and ones"),
        (lambda p: _npz(p, X=np.ones((1, 1)), Y=np.array([[None]])), "pickled objects"),
        (lambda p: _forged(p, (10**12, 10**6)), "declares more values than it holds"),
        (
            lambda p: _npz(
                p, X_data=np.ones(1), X_indices=np.array([7]), X_indptr=np.array([0, 1]),
                X_shape=np.array([1, 3]), Y=np.ones((1, 1)),
            ),
            "a.npz:",
        ),
        (lambda p: _npz(p, X=np.array([["a"]]), Y=np.ones((1, 1))), "a.npz:"),
    ],
)  # fmt: skip
def test_bad_npz(tmp_path, make, message):
    path = tmp_path / "a.npz"
    make(path)
    with pytest.raises(DataError, match=message):
        load_npz(path)


def test_npz_parts(tmp_path):
    path = _npz(tmp_path / "a.npz", X=np.eye(3), Y=np.eye(3), train_idx=np.array([2, 0]))
    assert load_npz(path, part="train").X.argmax(axis=1).tolist() == [2, 0]
    with pytest.raises(DataError, match="no published split"):
        load_npz(path, part="test")
    with pytest.raises(FileNotFoundError):
        load_npz(tmp_path / "no.npz")


def test_statistics_against_dense_counting():
    data = make_multilabel(300, 3, 9, cardinality=2.2, exponent=0.7, correlation=0.9, random_state=5)
    Y = data.Y.toarray()
    Y[:, 4] = 0
    Y[7] = 0
    found = Dataset(data.X, Y, label_names=list("abcdefghi")).describe(n_pairs=3)
    assert found["rows_without_labels"] == (Y.sum(axis=1) == 0).sum()
    assert found["labels_without_positives"] == 1
    assert found["cardinality"] == pytest.approx(Y.sum() / 300)
    assert found["density"] == pytest.approx(Y.mean())
    assert found["max_labels_per_row"] == Y.sum(axis=1).max()
    distinct = len(np.unique(Y, axis=0))
    assert found["distinct_label_sets"] == distinct
    assert found["hypercube_sparsity_log2"] == pytest.approx(np.log2(distinct / 2**9))
    counts = np.delete(Y.sum(axis=0), 4)
    assert found["mean_imbalance_ratio"] == pytest.approx((counts.max() / counts).mean())
    phi = np.corrcoef(np.delete(Y, 4, axis=1).T)
    best = found["correlated_pairs"][0]
    assert best["phi"] == pytest.approx(phi[np.triu_indices(8, 1)].max())
    a, b = ("abcdefghi".index(name) for name in best["labels"])
    assert best["together"] == (Y[:, a] & Y[:, b]).sum()


def test_statistics_of_nothing():
    found = Dataset(np.empty((0, 2)), sparse.csr_array((0, 3))).describe()
    assert found["cardinality"] == 0
    assert found["hypercube_sparsity_log2"] is None
    assert found["correlated_pairs"] == []


def test_statistics_of_many_labels_stay_small():
    data = make_multilabel(500, 10, 100_000, density=0.2, cardinality=5, exponent=1.0, random_state=0)
    found = data.describe()
    assert len(found["correlated_pairs"]) == 10
    assert found["labels"] == 100_000


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, lambda X: X.astype(object)])
def test_complex_features_are_refused(form):
    """Their imaginary part was dropped."""
    with pytest.raises(ValueError, match="X holds complex numbers"):
        Dataset(form(np.array([[1 + 2j, 0], [0, 1]])), [[1], [0]])


@pytest.mark.parametrize("X", [[["1", "0_1"]], np.array([["1", "0_1"]], dtype=object), [["a", "b"]]])
def test_text_features_are_refused(X):
    with pytest.raises(ValueError, match="X holds text"):
        Dataset(X, [[1]])


def test_complex_features_in_npz_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.array([[1 + 2j]]), Y=np.array([[1]]))
    with pytest.raises(DataError, match="X holds complex numbers"):
        load_npz(tmp_path / "a.npz")


def test_labels_numbered_from_one_keep_their_names_in_npz(tmp_path):
    """Label 1 of a LIBSVM file came back as y0."""
    path = tmp_path / "a.svm"
    path.write_text("1,3 1:1\n2 1:2\n")
    data = read_svmlight(path)
    data.save(tmp_path / "a.npz")
    assert list(load_npz(tmp_path / "a.npz").label_names) == list(data.label_names) == ["1", "2", "3"]


def test_no_rows_with_text_survive_npz(data, tmp_path):
    assert load_npz(data[:0].save(tmp_path / "a.npz")).text == []


@pytest.mark.parametrize("key", ["words", "unknown_rows"])
def test_an_npz_file_with_keys_of_another_version_is_refused(tmp_path, key):
    path = tmp_path / "old.npz"
    np.savez(path, X=np.eye(2), Y=np.eye(2, dtype=int), **{key: np.arange(2)})
    with pytest.raises(DataError, match=f"'{key}' is a key of hyperlabel 0.1: write the file again"):
        load_npz(path)
