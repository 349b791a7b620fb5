"""Tables in every format hold the same rows, and cells mean the same in all of them."""

from __future__ import annotations

import gzip
import json
import sqlite3
import zipfile

import numpy as np
import pytest

from hyperlabel.datasets import DataError, data_format, iter_data, read_data, read_table
from hyperlabel.datasets.formats import BY_NAME, FORMATS, find_function
from hyperlabel.datasets.table_sources import TableRows
from hyperlabel.datasets.writing import write_columns

COLUMNS = {
    "note": ["a red bird", 'two\nlines; "quoted"', "ein Vogel, für Ä", ""],
    "size": [3, 4, 2.5, None],
    "tags": ["a;b", "", "b", "a"],
}


def write(path, kind):
    if kind == "sqlite":
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE birds (note TEXT, size REAL, tags TEXT)")
            rows = zip(*COLUMNS.values(), strict=True)
            database.executemany("INSERT INTO birds VALUES (?, ?, ?)", rows)
        database.close()
        return path
    with open(path, "wb") as file:
        write_columns(COLUMNS, file, kind)
    return path


@pytest.mark.parametrize("kind", [f.name for f in FORMATS if f.is_table])
def test_every_table_format_gives_the_same_data(tmp_path, kind):
    path = write(tmp_path / f"a{BY_NAME[kind].endings[0]}", kind)
    data = read_table(path, label_column="tags", text="note")
    assert data.label_sets() == [["a", "b"], [], ["b"], ["a"]]
    assert data.text == COLUMNS["note"]
    np.testing.assert_array_equal(data.X[:, 0], [3, 4, 2.5, np.nan])
    assert data_format(path) == "table"
    assert sum(len(chunk) for chunk in iter_data(path, label_column="tags", text="note", chunk_rows=3)) == 4


def test_every_function_named_by_a_format_is_there():
    for file_format in FORMATS:
        for name in (file_format.read, file_format.iterate, file_format.write, file_format.cells):
            assert name is None or callable(find_function(name))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": [1], "b": [{"x": 1}], "c": [{"x": 2}]}', "array of objects"),
        ('[{"x": 1, "x": 2}]', "'x' appears twice"),
        ("[1, 2]", "array of objects"),
        ('[{"x": 1},]', "not JSON"),
    ],
)
def test_other_json_is_refused(tmp_path, text, message):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_table(path, labels=["x"])


def test_json_arrays_inside_an_object_and_lines_under_the_name_json(tmp_path):
    rows = [{"x": 1, "y": 0}, {"x": 0, "y": 1, "z": 2.5}]
    texts = {
        "a.json": json.dumps({"version": 2, "rows": rows}, indent=1),
        "b.json": "\n".join(map(json.dumps, rows)),
        "c.json": json.dumps(rows),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        data = read_data(tmp_path / name, labels=["x", "y"])
        assert data.Y.toarray().tolist() == [[1, 0], [0, 1]]
        np.testing.assert_array_equal(data.X, [[np.nan], [2.5]])
    with gzip.open(tmp_path / "c.json.gz", "wt") as file:
        file.write(texts["c.json"])
    assert len(read_data(tmp_path / "c.json.gz", labels=["x", "y"])) == 2


def test_one_table_of_several(tmp_path):
    path = write(tmp_path / "two.sqlite", "sqlite")
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE 'other; --' (x INTEGER, tags TEXT)")
        database.execute("INSERT INTO 'other; --' VALUES (1, 'q')")
    database.close()
    with pytest.raises(DataError, match="several tables: name one .two.sqlite::birds, two.sqlite::other"):
        read_table(path, label_column="tags")
    assert read_table(f"{path}::other; --", label_column="tags").label_names == ["q"]
    with pytest.raises(DataError, match="no table 'gone'"):
        read_table(f"{path}::gone", label_column="tags")


def test_sheets_of_a_workbook(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["x", "tags"])
    book.active.append([1.0, "a"])
    book.create_sheet("more").append(["size", "when", "tags"])
    import datetime

    book["more"].append([None, None, None])
    book["more"].append([7, datetime.datetime(2024, 5, 31), "b"])
    book.save(tmp_path / "b.xlsx")
    with pytest.warns(UserWarning, match=r"the sheet 'Sheet' is read; others are b.xlsx::more"):
        assert read_table(tmp_path / "b.xlsx", label_column="tags").label_names == ["a"]
    data = read_table(f"{tmp_path / 'b.xlsx'}::more", label_column="tags", time="when")
    assert (len(data), data.X.tolist(), str(data.time[0])[:10]) == (1, [[7.0]], "2024-05-31")


@pytest.mark.parametrize("content", [b"PK\x03\x04junk", b"no workbook"])
def test_damaged_workbooks_and_databases_are_refused(tmp_path, content):
    for name in ("a.xlsx", "a.sqlite"):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(DataError, match="cannot be read|not a readable"):
            read_table(tmp_path / name, label_column="tags")
    with zipfile.ZipFile(tmp_path / "b.xlsx", "w") as archive:
        archive.writestr("nothing.xml", "<a/>")
    with pytest.raises(DataError, match="not a readable"):
        read_table(tmp_path / "b.xlsx", label_column="tags")


@pytest.mark.parametrize(
    ("cells", "mark", "decimal", "numbers"),
    [
        (["809,720", "12", "1,234,567.5"], ",", None, [809720, 12, 1234567.5]),
        (["1.234,5", "2,25", "7"], ";", None, [1234.5, 2.25, 7]),
        (["1.234.567", "2,25"], ";", None, [1234567, 2.25]),
        (["1.234", "2,25"], ";", ",", [1234, 2.25]),
        (["1\u202f234,5", "12 345"], ";", None, [1234.5, 12345]),
        (["1'234.5", "2.5"], ",", None, [1234.5, 2.5]),
        (["0,5", "1,75"], ",", ",", [0.5, 1.75]),
    ],
)
def test_numbers_as_people_write_them(tmp_path, cells, mark, decimal, numbers):
    path = tmp_path / "n.csv"
    path.write_text(f"size{mark}tags\n" + "".join(f'"{cell}"{mark}a\n' for cell in cells), encoding="utf-8")
    data = read_table(path, label_column="tags", features=["size"], decimal=decimal)
    assert data.X[:, 0].tolist() == numbers


def test_all_unreadable_cells_are_named_at_once(tmp_path):
    path = tmp_path / "m.csv"
    cells = [("12", "3"), ("4841 kB", "4"), ("7 MB", "x"), ("9", "?"), ("-", "NULL")]
    path.write_text("size,n,tags\n" + "".join(f"{size},{n},a\n" for size, n in cells))
    with pytest.raises(DataError) as failure:
        read_table(path, label_column="tags", features=["size", "n"])
    said = str(failure.value)
    assert said.startswith("m.csv, line 3, column 1: the value '4841 kB' of 'size' is not a number.")
    assert "2 of 'size' ('4841 kB', '7 MB'), 1 of 'n' ('x')" in said
    assert "--unreadable missing" in said
    with pytest.warns(UserWarning, match="unreadable cells are read as missing: 2 of 'size'"):
        data = read_table(path, label_column="tags", features=["size", "n"], unreadable="missing")
    assert np.argwhere(np.isnan(data.X)).tolist() == [[1, 0], [2, 0], [2, 1], [3, 1], [4, 0], [4, 1]]


def test_words_for_missing_cells_mean_the_same_everywhere(tmp_path):
    path = tmp_path / "m.csv"
    words = ["NA", "n/a", "?", "-", "NULL", "none", "#N/A"]
    path.write_text("text,kind,n,y\n" + "".join(f"{w},{w},{w},{w}\n" for w in words) + "a b,k,1,1\n")
    data = read_table(path, labels=["y"], features=["n"], text="text", text_columns=["kind"])
    assert data.text == [""] * len(words) + ["a b"]
    assert data.text_columns == {"kind": [""] * len(words) + ["k"]}
    assert np.isnan(data.X[:, 0]).tolist() == [True] * len(words) + [False]
    assert data.missing.toarray()[:, 0].tolist() == [1] * len(words) + [0]


def test_unknown_labels_survive_chunks_without_any(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("n,y\n" + "1,1\n" * 20_001 + "2,unknown\n")
    data = read_table(path, labels=["y"])
    assert data.missing.nnz == 1
    assert data.missing.nonzero()[0][0] == 20_001


@pytest.mark.parametrize("mark", ["、", "/", "；", "，"])
def test_further_marks_between_labels(tmp_path, mark):
    path = tmp_path / "m.csv"
    lists = [["red", "blue"], ["blue", "green", "red"], ["green"], ["blue", "red"], ["green", "blue"]]
    path.write_text("n,tags\n" + "".join(f"1,{mark.join(names)}\n" for names in lists), encoding="utf-8")
    assert read_table(path, label_column="tags").label_sets() == [sorted(names) for names in lists]


def test_a_slash_inside_names_separates_nothing(tmp_path):
    path = tmp_path / "m.csv"
    path.write_text("n,tags\n1,TCP/IP;net\n2,I/O\n3,net;I/O\n4,net\n")
    assert read_table(path, label_column="tags").label_names == ["I/O", "TCP/IP", "net"]


def test_rows_are_parsed_once(tmp_path, monkeypatch):
    from hyperlabel.datasets import table_sources
    from hyperlabel.tabular import read_training

    path = tmp_path / "m.csv"
    path.write_text("text,n,tags\n" + "a red bird sings,3,a;b\nno bird sings here,1,b\n" * 9)
    n_parsed = 0
    parse = table_sources.read_csv_cells

    def counting(*arguments):
        nonlocal n_parsed
        n_parsed += 1
        return parse(*arguments)

    monkeypatch.setattr(table_sources, "read_csv_cells", counting)
    read_training(str(path), labels="tags")
    assert n_parsed == 1


def test_a_table_of_many_cells_is_read_again_with_the_same_rows(tmp_path, monkeypatch):
    from hyperlabel.datasets import table_sources

    path = tmp_path / "m.csv"
    path.write_text("n\n" + "".join(f"{i}\n" for i in range(25)))
    monkeypatch.setattr(table_sources, "MAX_KEPT", 10)
    rows = TableRows(path, chunk_rows=4)
    passes = [[cell for chunk in rows for cell in chunk.column("n")] for _ in range(3)]
    assert passes == [[str(i) for i in range(25)]] * 3
    kept = TableRows(path, chunk_rows=4)
    next(iter(kept))  # a look at the first rows loses none
    assert [cell for chunk in kept for cell in chunk.column("n")] == passes[0]
