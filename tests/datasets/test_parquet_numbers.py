"""Parquet columns of numbers are read as arrays, and as the cells of the same file are."""

import numpy as np
import pytest

from hyperlabel import datasets, outofcore
from hyperlabel.datasets import arrow_numbers, table

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def write_numbers(path, **more):
    rng = np.random.default_rng(0)
    n_rows = 1300
    columns = {
        "a": pyarrow.array(rng.normal(size=n_rows).astype(np.float32)),
        "sick": pyarrow.array((rng.random(n_rows) < 0.3).astype(np.int8)),
        "b": pyarrow.array([None if i % 7 == 0 else i for i in range(n_rows)], pyarrow.int64()),
        "c": pyarrow.array(rng.random(n_rows) < 0.5),
        "well": pyarrow.array(rng.random(n_rows) < 0.5),
        "d": pyarrow.array([None if i % 5 == 0 else float(i) for i in range(n_rows)]),
    } | more
    parquet.write_table(pyarrow.table(columns), path, row_group_size=500)
    return path


def read_all(path, **options):
    return list(datasets.iter_data(path, chunk_rows=400, labels=["well", "sick"], **options))


@pytest.mark.parametrize("features", [None, ["d", "a"]])
def test_arrays_hold_what_the_cells_hold(tmp_path, monkeypatch, features):
    path = write_numbers(tmp_path / "numbers.parquet")
    arrays = read_all(path, features=features)
    monkeypatch.setattr(table, "number_columns", lambda *arguments: None)
    cells = read_all(path, features=features)
    assert [chunk.n_rows for chunk in arrays] == [chunk.n_rows for chunk in cells]
    for ours, plain in zip(arrays, cells, strict=True):
        np.testing.assert_array_equal(ours.X, plain.X)
        np.testing.assert_array_equal(ours.Y.toarray(), plain.Y.toarray())
        assert list(ours.feature_names) == list(plain.feature_names)
        assert list(ours.label_names) == list(plain.label_names)
    assert ours.X.flags.c_contiguous


def test_no_cell_becomes_a_python_object(tmp_path, monkeypatch):
    path = write_numbers(tmp_path / "numbers.parquet")
    monkeypatch.setattr(table, "Cells", None)
    monkeypatch.setattr(table, "read_cells", None)
    assert sum(chunk.X.shape[0] for _, chunk in outofcore.FileChunks(path, labels=["sick"]).read()) == 1300


def test_a_label_that_is_no_number_of_labels_is_named(tmp_path):
    path = write_numbers(tmp_path / "bad.parquet", sick=pyarrow.array([0, 2] * 650))
    with pytest.raises(ValueError, match="row 2, column 'sick': the value '2' of 'sick' is not 0 or 1"):
        read_all(path)
    path = write_numbers(tmp_path / "gap.parquet", sick=pyarrow.array([0, None] * 650))
    with pytest.raises(ValueError, match="the value of 'sick' is empty"):
        read_all(path)


def test_columns_of_text_are_left_out_as_before(tmp_path):
    path = write_numbers(tmp_path / "text.parquet", name=pyarrow.array(["x"] * 1300))
    with pytest.warns(UserWarning, match="name"):
        assert read_all(path)[0].X.shape[1] == 4


def test_rows_are_columns_turned():
    columns = np.random.default_rng(0).normal(size=(7, 1300))
    rows = arrow_numbers.rows_of_columns(list(columns), 1300, np.float32)
    np.testing.assert_array_equal(rows, columns.T.astype(np.float32))
