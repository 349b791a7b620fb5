"""CSV, JSON lines and Parquet tables; the door for every format."""

from __future__ import annotations

import builtins
import contextlib
import gzip
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.optional import optional

from hyperlabel.datasets import (
    DataError,
    concat,
    data_format,
    iter_data,
    make_multilabel,
    read_data,
    read_table,
)

pd = optional("pandas")

LISTED = (
    "id,body,size,tags,when,who\n"
    'p1,"two\nlines, ""quoted""",3.5,"b; a",2020-01-02,x\n'
    "p2,plain,,a;c,2019-05-01,y\n"
    'p3,"",4,,2021-01-01,x\n'
    "p4,text,5,\"['b', 'c']\",2021-02-01,z\n"
)
COLUMNS = "f,g,sky,sea\n1,2.5,1,0\n-3,,yes,NO\n4e2,7,0,true\n"


def write(tmp_path, text, name="d.csv"):
    path = tmp_path / name
    raw = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return path


def same(one, two):
    np.testing.assert_array_equal(one.X, two.X)
    assert (one.Y != two.Y).nnz == 0
    assert one.text == two.text


def read_listed(path, **more):
    return read_table(path, label_column="tags", text="body", group="who", time="when", **more)


def test_listed_labels_and_text(tmp_path):
    path = write(tmp_path, LISTED)
    with pytest.warns(UserWarning, match="left out text or id columns 'id'"):
        data = read_listed(path)
    assert data.label_names == ["a", "b", "c"]
    assert data.label_sets() == [["a", "b"], ["a", "c"], [], ["b", "c"]]
    assert data.text == ['two\nlines, "quoted"', "plain", "", "text"]
    np.testing.assert_array_equal(data.X.ravel(), [3.5, np.nan, 4, 5])
    assert data.groups.tolist() == ["x", "y", "x", "z"]
    assert data.time.dtype.kind == "M"
    assert np.argsort(data.time).tolist() == [1, 0, 2, 3]


def test_label_columns(tmp_path):
    data = read_table(write(tmp_path, COLUMNS), labels=["sky", "sea"])
    np.testing.assert_array_equal(data.X, [[1, 2.5], [-3, np.nan], [400, 7]])
    assert data.Y.toarray().tolist() == [[1, 0], [1, 0], [0, 1]]
    assert data.feature_names == ["f", "g"]


@pytest.mark.parametrize("how", ["crlf", "bom", "semicolon", "tab", "gzip", "latin-1"])
def test_same_through_other_forms(tmp_path, how):
    raw = {
        "crlf": lambda: COLUMNS.replace("\n", "\r\n"),
        "bom": lambda: b"\xef\xbb\xbf" + COLUMNS.encode(),
        "semicolon": lambda: COLUMNS.replace(",", ";"),
        "tab": lambda: COLUMNS.replace(",", "\t"),
        "gzip": lambda: COLUMNS,
        "latin-1": lambda: COLUMNS.replace("f,", "gr\xf6\xdfe,", 1).encode("latin-1"),
    }[how]()
    plain = read_table(write(tmp_path, COLUMNS), labels=["sky", "sea"])
    name = {"gzip": "e.csv.gz", "tab": "e.tsv"}.get(how, "e.csv")
    same(read_table(write(tmp_path, raw, name), labels=["sky", "sea"]), plain)


def test_json_lines_and_parquet_equal_csv(tmp_path):
    frame = pd.DataFrame(
        {
            "body": ["one", "two\nlines", ""],
            "size": [1.0, 2.0, np.nan],
            "tags": [["a", "b"], [], ["b"]],
        }
    )
    frame.to_parquet(tmp_path / "d.parquet")
    frame.to_json(tmp_path / "d.jsonl", orient="records", lines=True)
    flat = frame.assign(tags=[";".join(tags) for tags in frame.tags])
    flat.to_csv(tmp_path / "d.csv", index=False)
    one, two, three = (
        read_table(tmp_path / f"d.{ending}", label_column="tags", text="body")
        for ending in ("csv", "jsonl", "parquet")
    )
    same(one, two)
    same(one, three)
    assert one.label_names == two.label_names == three.label_names == ["a", "b"]


def test_separator_and_given_names(tmp_path):
    path = write(tmp_path, "x,t\n1,new york/a b\n2,a b\n")
    data = read_table(path, label_column="t", label_separator="/", label_names=["a b", "zzz", "new york"])
    assert data.Y.toarray().tolist() == [[1, 0, 1], [1, 0, 0]]
    with pytest.raises(DataError, match="'new york' is not among"):
        read_table(path, label_column="t", label_separator="/", label_names=["a b"])
    blank = read_table(write(tmp_path, "x,t\n1,b  a\n2,\n"), label_column="t", label_separator=" ")
    assert blank.label_sets() == [["a", "b"], []]


def test_stream_equals_whole(tmp_path):
    path = write(tmp_path, LISTED.split("\n", 1)[0] + "\n" + LISTED.split("\n", 1)[1] * 20)
    with pytest.warns(UserWarning, match="left out"):
        whole = read_listed(path)
    with pytest.warns(UserWarning, match="left out"):
        parts = list(iter_data(path, label_column="tags", text="body", chunk_rows=9))
    assert [len(part) for part in parts] == [9] * 8 + [8]
    same(concat(parts), whole)


BAD = {
    "few fields": (COLUMNS.replace("-3,,", "-3,"), "line 3, column 4: the row has 3 fields"),
    "many fields": (COLUMNS.replace("-3,", "-3,1,1,"), "line 3, column 5: the row has 6 fields"),
    "number": (COLUMNS.replace("4e2", "four"), "line 4, column 1: the value 'four' of 'f' is not a number"),
    "label": (COLUMNS.replace("true", "maybe"), "line 4, column 4: the value 'maybe' of 'sea' is not 0 or 1"),
    "label empty": (COLUMNS.replace("true", ""), "line 4, column 4"),
    "twice": (COLUMNS.replace("f,g", "f,f"), "line 1, column 2: the column 'f' appears twice"),
    "open quote": (COLUMNS + '"5,1,1,1\n', "line 5: this is not a readable table row"),
    "missing label": (COLUMNS.replace("sea", "lake"), "there is no column 'sea'; there are f, g, sky, lake"),
    "empty": ("", "the file is empty"),
    "binary": (bytes(range(256)), "binary bytes"),
    "utf-16": (COLUMNS.encode("utf-16"), "UTF-16"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_csv(tmp_path, case):
    text, message = BAD[case]
    with pytest.raises(DataError, match=re.escape(message)):
        read_table(write(tmp_path, text), labels=["sky", "sea"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "y": 1}\n{"a": 2, "y": }\n', "line 2, column 1"),
        ('{"a": 1, "y": 1}\n[1]\n', "line 2, column 1: each line must hold"),
        ('{"a": 1, "y": 1}\n{"a": "x", "y": 1}\n', "line 2, column 1: the value 'x' of 'a'"),
        ('{"a": 1, "y": 1}\n{"a": [1], "y": 1}\n', "line 2, column 1: the value '[1]' of 'a'"),
        ('{"a": 1, "y": 1}\n{"a": 2}\n', "line 2, column 2: the value of 'y' is empty"),
        ("[" * 100_000 + "\n", "line 1"),
        ('{"a": ' + "9" * 5000 + "}\n", "line 1"),
    ],
)
def test_bad_json(tmp_path, text, message):
    with pytest.raises(DataError, match=re.escape(message)):
        read_table(write(tmp_path, text, "d.jsonl"), labels=["y"])


def test_bad_parquet(tmp_path, monkeypatch):
    with pytest.raises(DataError, match="not a readable Parquet file"):
        read_table(write(tmp_path, b"PAR1garbage", "d.parquet"), labels=["y"])
    with pytest.raises(FileNotFoundError):
        read_table(tmp_path / "no.parquet", labels=["y"])
    pd.DataFrame({"x": [1.0, 2.0], "y": [1, 5]}).to_parquet(tmp_path / "e.parquet")
    with pytest.raises(DataError, match="row 2, column 'y': the value '5'"):
        read_table(tmp_path / "e.parquet", labels=["y"])
    real = builtins.__import__

    def without(name, *rest):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ValueError, match="needs pyarrow: pip install"):
        read_table(tmp_path / "e.parquet", labels=["y"])


def test_bad_options(tmp_path):
    path = write(tmp_path, COLUMNS)
    with pytest.raises(DataError, match="say which columns are labels"):
        read_table(path)
    with pytest.raises(DataError, match="listed more than once"):
        read_table(path, labels=["sky", "sky"])
    with pytest.raises(DataError, match="no column 'nope'"):
        read_table(path, labels=["sky"], features=["nope"])
    with pytest.raises(ValueError, match="one character"):
        read_table(path, labels=["sky"], delimiter="ab")
    with pytest.raises(ValueError, match="chunk_rows"):
        list(iter_data(path, labels=["sky"], chunk_rows=0))


def test_unclosed_quote_does_not_swallow_a_large_file(tmp_path, monkeypatch):
    import csv

    monkeypatch.setattr("hyperlabel.datasets.table_sources.MAX_FIELD", 1 << 17)
    before = csv.field_size_limit(1 << 17)
    try:
        path = write(tmp_path, COLUMNS + '"' + "1,1,1,1\n" * 50_000)
        with pytest.raises(DataError, match="field larger than"):
            read_table(path, labels=["sky", "sea"])
    finally:
        csv.field_size_limit(before)


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_random_damage_never_escapes(tmp_path_factory, data):
    ending = data.draw(st.sampled_from(["csv", "jsonl"]))
    text = COLUMNS if ending == "csv" else '{"f": 1, "sky": 1, "sea": 0}\n{"f": 2, "sky": 0, "sea": 1}\n'
    raw = bytearray(text.encode())
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(0, max(len(raw) - 1, 0)))
        raw[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=4))
    path = tmp_path_factory.mktemp("fuzz") / f"d.{ending}"
    path.write_bytes(raw)
    with warnings.catch_warnings(), contextlib.suppress(DataError):
        warnings.simplefilter("ignore")
        read_table(path, labels=["sky", "sea"])


def test_one_door(tmp_path):
    data = make_multilabel(25, 4, 3, cardinality=1.5, random_state=0)
    for ending in ("npz", "svm", "txt", "xmc.gz"):
        path = data.save(tmp_path / f"a.{ending}")
        found = read_data(path)
        assert len(found) == 25
        assert [len(part) for part in iter_data(path, chunk_rows=10)] == [10, 10, 5]
    assert data_format(tmp_path / "a.txt") == "xmc"
    assert len(read_data(write(tmp_path, COLUMNS), labels=["sky", "sea"])) == 3
    assert len(read_data(write(tmp_path, "0,1 1:1\n", "svm.txt"))) == 1
    shards = tmp_path / "shards"
    shards.mkdir()
    data[:20].save(shards / "a.npz")
    data[20:].save(shards / "b.npz")
    assert read_data(shards).name == "shards"
    assert [len(part) for part in iter_data(shards, chunk_rows=10)] == [10, 10, 5]
    with pytest.raises(ValueError, match="Cannot tell the format"):
        read_data(tmp_path / "a.docx")
