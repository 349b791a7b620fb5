"""Objects in JSON lines and Parquet: dotted names reach inside, and no object is ever read as text."""

from __future__ import annotations

import json
import warnings

import pytest
from tests.optional import optional

from hyperlabel.datasets import DataError, iter_data, read_table

pyarrow = optional("pyarrow.parquet")
ROWS = [
    {
        "text": {"title": "one", "body": "first text"},
        "labels": [{"label": "a", "by": "anna"}, {"label": "b", "by": "bob"}],
        "meta": {"size": 3, "place": {"town": "Ulm"}},
    },
    {"text": {"title": "two", "body": None}, "labels": [], "meta": {"size": 4, "place": {"town": "Bonn"}}},
    {"text": {"title": "three", "body": "third"}, "labels": [{"label": "b"}], "meta": {"size": 5}},
]


def write_lines(path, rows=ROWS):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_dotted_names_reach_inside_objects(tmp_path):
    path = write_lines(tmp_path / "n.jsonl")
    data = read_table(
        path,
        label_column="labels.label",
        text=["text.title", "text.body"],
        features=["meta.size"],
        group="meta.place.town",
    )
    assert data.label_sets() == [["a", "b"], [], ["b"]]
    assert data.text == ["one\nfirst text", "two\n", "three\nthird"]
    assert data.X.tolist() == [[3.0], [4.0], [5.0]]
    assert data.groups.tolist() == ["Ulm", "Bonn", "None"]
    chunks = iter_data(path, chunk_rows=1, label_column="labels.label", text="text.body", features=[])
    assert [part.label_sets() for part in chunks] == [[["a", "b"]], [[]], [["b"]]]


def test_a_list_of_objects_gives_lists_of_numbers_and_texts(tmp_path):
    rows = [{"parts": [{"say": "a b", "n": i}, {"say": "c", "n": 2 * i}], "y": i % 2} for i in range(4)]
    path = write_lines(tmp_path / "n.jsonl", rows)
    data = read_table(path, labels=["y"], text="parts.say", features=["parts.n"])
    assert data.feature_names == ["parts.n[0]", "parts.n[1]"]
    assert data.X[3].tolist() == [3.0, 6.0]
    assert data.text[0] == "a b\nc"


def test_a_name_with_a_dot_in_it_goes_first(tmp_path):
    rows = [{"a.b": 1, "a": {"b": 2, "c.d": 5}, "y": 0}, {"a.b": 3, "a": {"b": 4, "c.d": 6}, "y": 1}]
    data = read_table(write_lines(tmp_path / "n.jsonl", rows), labels=["y"], features=["a.b", "a.c.d"])
    assert data.X.tolist() == [[1.0, 5.0], [3.0, 6.0]]


def test_objects_that_nobody_names_are_left_out_with_their_dotted_names(tmp_path):
    path = write_lines(tmp_path / "n.jsonl", [row | {"n": 1} for row in ROWS])
    message = r"left out the column of objects 'meta'.*\(meta.size, meta.place.town\)"
    with pytest.warns(UserWarning, match=message):
        data = read_table(path, label_column="labels.label", text="text.body")
    assert data.feature_names == ["n"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(path, label_column="labels.label", text="text.body", group="meta.size")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"label_column": "labels"},
            "'labels' holds objects: name what is inside them: labels.label, labels.by",
        ),
        ({"label_column": "labels.label", "text": "text"}, "'text' holds objects.*text.title, text.body"),
        ({"label_column": "labels.label", "features": ["meta"]}, "'meta' holds objects.*meta.size"),
        (
            {"label_column": "labels.label", "text_columns": ["meta.place"]},
            "'meta.place' holds objects.*place.town",
        ),
        ({"label_column": "labels.label", "group": "meta"}, "'meta' holds objects"),
        ({"label_column": "labels.lable"}, "no column 'labels.lable'; there are text.title"),
    ],
)
def test_objects_are_refused_where_a_value_is_wanted(tmp_path, options, message):
    with pytest.raises(DataError, match=message):
        read_table(write_lines(tmp_path / "n.jsonl"), **options)


def test_an_object_in_a_late_row_is_refused_too(tmp_path):
    plain = [{"text": "some words", "tags": ["a"], "n": 1}] * 30_000
    text = write_lines(tmp_path / "t.jsonl", [*plain, {"text": {"body": "x"}, "tags": ["a"], "n": 1}])
    with pytest.raises(DataError, match="line 30001.*'text' is an object"):
        read_table(text, label_column="tags", text="text", features=["n"])
    tags = write_lines(tmp_path / "l.jsonl", [*plain, {"text": "x", "tags": ["a", {"name": "b"}], "n": 1}])
    with pytest.raises(DataError, match="a label is an object.*COLUMN.name"):
        read_table(tags, label_column="tags", text="text", features=["n"])


def test_objects_written_as_json_in_csv_are_no_labels(tmp_path):
    path = tmp_path / "n.csv"
    path.write_text('text,labels\nx y,"[{""label"": ""a""}]"\nz,"[{""label"": ""b""}]"\n')
    with pytest.raises(DataError, match="'labels' holds objects.*labels.label"):
        read_table(path, label_column="labels", text="text")
    data = read_table(path, label_column="labels.label", text="text")
    assert data.label_sets() == [["a"], ["b"]]


def test_structs_of_parquet_are_objects(tmp_path):
    path = tmp_path / "n.parquet"
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)
    data = read_table(path, label_column="labels.label", text="text.title", features=["meta.size"])
    assert data.label_sets()[0] == ["a", "b"]
    with pytest.raises(DataError, match="'labels' holds objects"):
        read_table(path, label_column="labels")
