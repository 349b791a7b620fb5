"""A table reads the same whatever the size of the chunks, and loses nothing without a word."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.optional import optional

from hyperlabel.datasets import DataError, concat, iter_data, read_table

pa = optional("pyarrow")
pyarrow = optional("pyarrow.parquet")

CHUNK = 20_000  # rows that read_table takes at a time


def write_rows(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def column_table(path, column, values, kind):
    if kind == "jsonl":
        return write_rows(path / "d.jsonl", [{"x": 1, "y": 1, column: value} for value in values])
    lines = "".join(f"1,1,{value}\n" for value in values)
    target = path / "d.csv"
    target.write_text(f"x,y,{column}\n{lines}")
    return target


def test_parquet_with_two_columns_of_one_name_is_refused(tmp_path):
    table = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0]), pa.array([1])], names=["a", "a", "y"])
    pyarrow.parquet.write_table(table, tmp_path / "d.parquet")
    with pytest.raises(DataError, match="the column 'a' appears twice"):
        read_table(tmp_path / "d.parquet", labels=["y"])


def test_a_json_object_with_two_values_of_one_name_is_refused(tmp_path):
    path = tmp_path / "d.jsonl"
    path.write_text('{"a": 1, "y": 1}\n{"a": 1, "y": 1, "a": 2}\n')
    with pytest.raises(DataError, match="line 2: the name 'a' appears twice in one object"):
        read_table(path, labels=["y"])


@pytest.mark.parametrize("count", [3, CHUNK])
def test_a_json_column_first_seen_late_is_kept(tmp_path, count):
    rows = [{"a": 1, "y": 1}] * count + [{"a": 1, "y": 0, "late": 7.5, "z": 1}]
    data = read_table(write_rows(tmp_path / "d.jsonl", rows), labels=["y"])
    assert data.feature_names == ["a", "late", "z"]
    assert np.isnan(data.X[:-1, 1]).all()
    assert data.X[-1].tolist() == [1, 7.5, 1]


def test_a_late_json_column_is_kept_in_a_stream(tmp_path):
    rows = [{"a": 1, "y": 1}] * 5 + [{"a": 1, "y": 0, "late": 7.5, "tags": ["red"], "who": 3}]
    path = write_rows(tmp_path / "d.jsonl", rows)
    options = {"label_column": "tags", "group": "who"}
    whole, parts = read_table(path, **options), list(iter_data(path, chunk_rows=2, **options))
    assert [part.feature_names for part in parts] == [["a", "y", "late"]] * 3
    np.testing.assert_array_equal(concat(parts).X, whole.X)
    assert concat(parts).label_sets() == whole.label_sets() == [[]] * 5 + [["red"]]
    assert concat(parts).groups.tolist() == whole.groups.tolist() == ["None"] * 5 + ["3"]


def test_a_label_column_that_json_names_late_is_missing_before(tmp_path):
    path = write_rows(tmp_path / "d.jsonl", [{"a": 1}] * 3 + [{"a": 1, "y": 0}])
    with pytest.raises(DataError, match="line 1.*the value of 'y' is empty, not 0 or 1"):
        list(iter_data(path, labels=["y"], chunk_rows=2))


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_group_has_one_spelling(tmp_path, kind):
    values = [1] * CHUNK + [1.0, 2.5, 2]
    path = column_table(tmp_path, "g", values, kind)
    whole = read_table(path, labels=["y"], group="g")
    assert set(whole.groups.tolist()) == {"1", "2.5", "2"}
    parts = list(iter_data(path, labels=["y"], group="g", chunk_rows=7000))
    assert concat(parts).groups.tolist() == whole.groups.tolist()


TIMES = {
    "numbers then dates": [3, 4, "2024-01-02"],
    "dates then numbers": ["2024-01-02", "2024-01-03", 5],
    "dates then words": ["2024-01-02", "2024-01-03", "spring"],
    "whole then fractions": [1, 2, 3.5],
    "a date is missing": ["2024-01-02", "", "2024-01-03"],
    "a number is missing": [5, "", 7],
}
KINDS = dict(zip(TIMES, "UUUfMf", strict=True))


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
@pytest.mark.parametrize("case", TIMES)
def test_times_have_one_kind_for_the_whole_column(tmp_path, case, kind):
    values = [value or None for value in TIMES[case]] if kind == "jsonl" else TIMES[case]
    path = column_table(tmp_path, "t", values, kind)
    whole = read_table(path, labels=["y"], time="t")
    assert whole.time.dtype.kind == KINDS[case]
    parts = list(iter_data(path, labels=["y"], time="t", chunk_rows=1))
    assert {part.time.dtype.kind for part in parts} == {KINDS[case]}
    np.testing.assert_array_equal(concat(parts).time, whole.time)


def test_times_change_kind_after_the_first_rows_read(tmp_path):
    """NumPy refused to join numbers and text."""
    path = column_table(tmp_path, "t", [*range(CHUNK), "2024-01-02"], "csv")
    data = read_table(path, labels=["y"], time="t")
    assert data.time[[0, -1]].tolist() == ["0", "2024-01-02"]


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_column_that_starts_empty_reads_as_in_one_chunk(tmp_path, kind):
    empty = None if kind == "jsonl" else ""
    path = column_table(tmp_path, "word", [empty, empty, "blue"], kind)
    with pytest.warns(UserWarning, match="left out text or id columns 'word'"):
        whole = read_table(path, labels=["y"])
    with pytest.warns(UserWarning, match="left out text or id columns 'word'"):
        parts = list(iter_data(path, labels=["y"], chunk_rows=1))
    assert concat(parts).feature_names == whole.feature_names == ["x"]


def test_only_as_much_is_read_twice_as_needed(tmp_path, monkeypatch):
    """A CSV table whose columns are clear from the first rows is read once (and its first chunk again)."""
    from hyperlabel.datasets import table

    seen = []

    def counting(*given):
        for cells in real(*given):
            seen.append(len(cells.places))
            yield cells

    real = table.read_cells
    monkeypatch.setattr(table, "read_cells", counting)
    path = column_table(tmp_path, "z", [1] * 100, "csv")
    assert sum(len(part) for part in iter_data(path, labels=["y"], chunk_rows=10)) == 100
    assert sum(seen) == 110


@pytest.mark.parametrize("role", ["group", "time"])
def test_a_column_of_long_text_is_no_group_and_no_time(tmp_path, role):
    """NumPy would make every entry as wide as the widest."""
    path = column_table(tmp_path, "g", ["a", "b" * 10_001], "csv")
    with pytest.raises(DataError, match="line 3, column 3: a value of 'g' is longer than 10000 characters"):
        read_table(path, labels=["y"], **{role: "g"})
