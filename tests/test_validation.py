"""The gate: what it lets in, in which form, and the sentence it gives for what it refuses."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from tests.optional import optional

from hyperlabel import BinaryRelevance, LabelForest, outofcore
from hyperlabel._known_labels import encode_like
from hyperlabel._labels import checked_csr
from hyperlabel._missing_labels import split_missing
from hyperlabel._validation import check_targets, layout_of_classes
from hyperlabel.datasets import Dataset
from hyperlabel.metrics import f1_score

pd = optional("pandas")
pa = optional("pyarrow")

INDICATOR = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1]])


@pytest.mark.parametrize(
    "y",
    [
        INDICATOR,
        INDICATOR.astype(bool),
        INDICATOR.astype(np.float32),
        INDICATOR.tolist(),
        INDICATOR.astype(object),
        sparse.csr_array(INDICATOR),
        sparse.csc_matrix(INDICATOR),
        sparse.coo_array(INDICATOR),
        pd.DataFrame(INDICATOR, columns=["a", "b", "c"]),
    ],
)
def test_every_way_to_write_an_indicator(y):
    Y, layout = check_targets(y, n_rows=3)
    assert isinstance(Y, sparse.csr_array)
    assert_array_equal(Y.toarray(), INDICATOR)
    assert layout.kind == "multilabel"
    assert layout.is_sparse == sparse.issparse(y)
    assert_array_equal(layout.classes, [0, 1, 2])


def test_explicit_zeros_and_duplicates_in_sparse_y():
    y = sparse.csr_array((np.array([1, 0]), np.array([0, 2]), np.array([0, 2])), shape=(1, 3))
    Y, _ = check_targets(y)
    assert Y.nnz == 1
    double = sparse.coo_array((np.ones(2), ([0, 0], [1, 1])), shape=(1, 3))
    with pytest.raises(ValueError, match="only 0 and 1, found 2"):
        check_targets(double)


def test_the_user_keeps_his_sparse_y():
    y = sparse.csr_array((np.array([1, 0]), np.array([0, 2]), np.array([0, 2])), shape=(1, 3))
    check_targets(y)
    assert y.nnz == 2


@pytest.mark.parametrize(
    ("y", "kind", "columns"),
    [(["b", "a", "b"], "binary", 1), ([3, 1, 2], "multiclass", 3), (["x"] * 3, "multiclass", 1)],
)
def test_one_dimensional_y(y, kind, columns):
    Y, layout = check_targets(y)
    assert layout.kind == kind
    assert Y.shape == (3, columns) == (3, layout.n_columns)
    assert_array_equal(encode_like(y, layout, n_rows=3).toarray(), Y.toarray())


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (None, "requires y"),
        (INDICATOR * 2, "only 0 and 1, found 2"),
        (INDICATOR - 1, "only 0 and 1, found -1"),
        (np.where(INDICATOR, np.nan, 0.0), "NaN or infinity"),
        (sparse.csr_array(np.where(INDICATOR, np.inf, 0.0)), "NaN or infinity"),
        (np.array([["a", "b"]]), "MultiLabelBinarizer"),
        (np.array([["a", 1]], dtype=object), "found text"),
        ([["a", "b"], ["c", 1]], "list of label sets"),
        ([{1}, {2, 3}], "list of label sets"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        (np.zeros((3, 0)), "no label columns"),
        (sparse.csr_array((3, 0)), "no label columns"),
        ([0.5, 1.5, 2.25], "Unknown label type"),
        ([1.0, np.nan], "every row needs a class"),
        (pd.DataFrame(INDICATOR, columns=["a", "a", "b"]), "same name"),
    ],
)
def test_what_is_refused_gets_a_sentence(y, sentence):
    with pytest.raises(ValueError, match=sentence):
        check_targets(y)


def test_more_rows_for_a_known_model():
    _, layout = check_targets(pd.DataFrame(INDICATOR, columns=["a", "b", "c"]))
    assert_array_equal(encode_like(INDICATOR[:1], layout, n_rows=1).toarray(), INDICATOR[:1])
    with pytest.raises(ValueError, match="3 label columns"):
        encode_like(INDICATOR[:, :2], layout, n_rows=3)
    with pytest.raises(ValueError, match="same names, same order"):
        encode_like(pd.DataFrame(INDICATOR, columns=["b", "a", "c"]), layout, n_rows=3)
    classes = layout_of_classes(["x", "y", "z"], np.dtype(object))
    with pytest.raises(ValueError, match="the class w"):
        encode_like(["w"], classes, n_rows=1)


class Frame:
    """A frame as polars writes one: `columns` is a list of names, `__array__` gives the values."""

    def __init__(self, values, columns):
        self.values, self.columns = values, columns
        self.shape = values.shape

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __len__(self):
        return len(self.values)


@pytest.mark.parametrize(
    "frame",
    [
        pa.table(dict(zip("abc", INDICATOR.T, strict=True))),
        pa.table(dict(zip("abc", INDICATOR.astype(bool).T, strict=True))),
        Frame(INDICATOR, ["a", "b", "c"]),
    ],
)
def test_frames_of_other_libraries_keep_their_names(frame):
    Y, layout = check_targets(frame, n_rows=3)
    assert_array_equal(Y.toarray(), INDICATOR)
    assert list(layout.label_names) == ["a", "b", "c"]
    with pytest.raises(ValueError, match="same names, same order"):
        encode_like(pa.table(dict(zip("cab", INDICATOR.T, strict=True))), layout, n_rows=3)


@pytest.mark.parametrize("write", [pd.DataFrame, pa.table, lambda d: Frame(np.array([*d.values()]).T, [*d])])
def test_unknown_entries_keep_the_names_of_any_frame(write):
    y = write({"a": np.array([1.0, np.nan, 0.0]), "b": np.array([0.0, 1.0, 1.0])})
    Y, layout = check_targets(y, missing=True)
    Y, unknown = split_missing(Y)
    assert_array_equal(Y.toarray(), [[1, 0], [0, 1], [0, 1]])
    assert_array_equal(unknown.toarray(), [[0, 0], [1, 0], [0, 0]])
    assert list(layout.label_names) == ["a", "b"]


def damaged(format, **arrays):
    """A matrix whose arrays were changed behind scipy's back, as a slip in somebody's code does."""
    matrix = sparse.random_array((6, 4), density=0.5, rng=np.random.default_rng(0), format=format)
    matrix.data[:] = 1.0
    for name, (place, value) in arrays.items():
        getattr(matrix, name)[place] = value
    return matrix


DAMAGED = {
    "a column beyond the last": lambda: damaged("csr", indices=(3, 10**6)),
    "a negative column": lambda: damaged("csr", indices=(0, -1)),
    "a row beyond the last": lambda: damaged("csc", indices=(2, 99)),
    "rows that end before they start": lambda: damaged("csr", indptr=(2, 11)),
    "rows beyond the entries": lambda: damaged("csr", indptr=(6, 1000)),
    "a block beyond the last": lambda: damaged("bsr", indices=(0, 50)),
    "a place beyond the last": lambda: damaged("coo", col=(1, 4)),
    "a place before the first": lambda: damaged("coo", row=(1, -7)),
}


@pytest.mark.parametrize("make", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_sparse_matrix_gets_one_sentence(make):
    y = np.tile([[1, 0], [0, 1]], (3, 1))
    model = BinaryRelevance().fit(np.eye(6, 4), y)
    for ask in (
        lambda: BinaryRelevance().fit(make(), y),
        lambda: BinaryRelevance().fit(np.eye(6, 4), make()),
        lambda: LabelForest(2, random_state=0).fit(make(), y),
        lambda: model.predict(make()),
        lambda: model.partial_fit(make(), y),
        lambda: f1_score(make(), make()),
        lambda: Dataset(make(), y),
        lambda: outofcore.fit(BinaryRelevance(), outofcore.RowChunks(make(), y)),
        lambda: Dataset(np.eye(6, 4), make()),
    ):
        with pytest.raises(ValueError, match=r"A sparse matrix is damaged \(.*\): build it again"):
            ask()


def test_looking_for_damage_changes_nothing():
    for format in ("csr", "csc", "bsr", "coo"):
        matrix = damaged(format)
        names = ("data", "row", "col") if format == "coo" else ("data", "indices", "indptr")
        before = [getattr(matrix, name) for name in names]
        copies = [array.copy() for array in before]
        checked_csr(matrix)
        for name, array, copy in zip(names, before, copies, strict=True):
            assert getattr(matrix, name) is array or format == "coo"
            np.testing.assert_array_equal(array, copy)
