from __future__ import annotations

import contextlib
import gzip
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.optional import optional

from hyperlabel.datasets import DataError, concat, read_arff, read_mulan_xml
from hyperlabel.datasets import _arff_rows as module
from hyperlabel.datasets._arff import iter_arff

arff = optional("arff")

HEADER = (
    "@relation r\n@attribute a numeric\n@attribute b {0,1}\n@attribute l1 {0,1}\n@attribute l2 {0,1}\n@data\n"
)
DENSE = HEADER + "0.5,1,0,1\n-1e3,0,1,1\n% comment\n\n?,1,0,0\n"
SPARSE = HEADER + "{0 0.5,1 1,3 1}\n{0 -1e3, 2 1, 3 1}\n{}\n{ 1 1 }\n"
LABELS = ["l1", "l2"]


def write(tmp_path, text, name="d.arff"):
    path = tmp_path / name
    raw = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return path


def dense(data):
    return data.X.toarray() if sparse.issparse(data.X) else data.X


@pytest.mark.parametrize("name", ["d.arff", "d.arff.gz"])
def test_dense(tmp_path, name):
    data = read_arff(write(tmp_path, DENSE, name), LABELS)
    np.testing.assert_array_equal(data.X, [[0.5, 1], [-1000, 0], [np.nan, 1]])
    assert data.Y.toarray().tolist() == [[0, 1], [1, 1], [0, 0]]
    assert (data.feature_names, data.label_names, data.name) == (["a", "b"], LABELS, "d")


def test_sparse(tmp_path):
    data = read_arff(write(tmp_path, SPARSE), LABELS)
    assert isinstance(data.X, sparse.csr_array)
    assert data.X.toarray().tolist() == [[0.5, 1], [-1000, 0], [0, 0], [0, 1]]
    assert data.Y.toarray().tolist() == [[0, 1], [1, 1], [0, 0], [0, 0]]
    assert data.X.indices.dtype == np.int32


def change(text, how):
    return {
        "crlf": lambda: text.replace("\n", "\r\n").encode(),
        "bom": lambda: b"\xef\xbb\xbf" + text.encode(),
        "no end": lambda: text.rstrip("\n").encode(),
        "latin-1": lambda: text.replace("attribute a ", "attribute 'gr\xf6\xdfe' ").encode("latin-1"),
        "utf-8": lambda: text.replace("attribute a ", "attribute 'gr\xf6\xdfe' ").encode(),
        "upper": lambda: re.sub("@[a-z]+", lambda m: m[0].upper(), text).encode(),
        "tight": lambda: text.replace(" {0,1}", "{0,1}").encode(),
    }[how]()


@pytest.mark.parametrize("how", ["crlf", "bom", "no end", "latin-1", "utf-8", "upper", "tight"])
@pytest.mark.parametrize("text", [DENSE, SPARSE])
def test_same_through_other_forms(tmp_path, text, how):
    plain = read_arff(write(tmp_path, text, "plain.arff"), LABELS)
    other = read_arff(write(tmp_path, change(text, how)), LABELS)
    np.testing.assert_array_equal(dense(plain), dense(other))
    assert (plain.Y != other.Y).nnz == 0
    assert other.feature_names[0] == ("größe" if how in ("latin-1", "utf-8") else "a")


def test_labels_from_xml_beside_the_file(tmp_path):
    path = write(tmp_path, DENSE, "d-train.arff")
    (tmp_path / "d.xml").write_text('<labels xmlns="u"><label name="l2"><label name="l1"/></label></labels>')
    assert read_arff(path).label_names == LABELS  # file order


@pytest.mark.parametrize(("count", "labels"), [(2, ["a", "b"]), (-2, ["l1", "l2"])])
def test_labels_from_meka_header(tmp_path, count, labels):
    text = DENSE.replace("@relation r", f"@relation 'r: -C {count} -split-percentage 60'")
    text = text.replace("0.5,", "1,").replace("-1e3", "0").replace("?", "1")
    path = write(tmp_path, text)
    assert read_arff(path).label_names == labels
    assert read_arff(path, count).label_names == labels


def test_names_with_quotes_and_escapes(tmp_path):
    text = "@relation r\n@attribute 'it\\'s a name' numeric\n@attribute \"two words\" {0,1}\n@data\n3,1\n"
    data = read_arff(write(tmp_path, text), ["two words"])
    assert data.feature_names == ["it's a name"]
    assert data.X.tolist() == [[3.0]]


def test_nominal_words(tmp_path):
    text = (
        "@relation r\n@attribute id string\n@attribute f {NO,YES}\n@attribute c {red,'dark blue',green}\n"
        "@attribute y {FALSE,TRUE}\n@data\n'a, b',YES,'dark blue',TRUE\nx,NO,red,FALSE\n"
    )
    path = write(tmp_path, text)
    with pytest.warns(UserWarning, match="left out text or id columns 'id', 'c'") as told:
        data = read_arff(path, ["y"])
    assert "nominal=onehot keeps nominal ones" in str(told[0].message)
    assert data.X.tolist() == [[1.0], [0.0]]
    assert data.Y.toarray().tolist() == [[1], [0]]
    with pytest.warns(UserWarning, match="columns 'id'") as told:
        data = read_arff(path, ["y"], nominal="onehot")
    assert "nominal" not in str(told[0].message)
    assert data.feature_names == ["f", "c=red", "c=dark blue", "c=green"]
    assert data.X.tolist() == [[1, 0, 1, 0], [0, 1, 0, 0]]


def test_sparse_omitted_nominal_is_its_first_value(tmp_path):
    text = (
        "@relation r\n@attribute f {1,0}\n@attribute c {red,blue}\n"
        "@attribute x numeric\n@attribute y {0,1}\n@data\n"
        "{0 0,1 blue,3 1}\n{2 4}\n{0 1, 2 ?}\n"
    )
    data = read_arff(write(tmp_path, text), ["y"], nominal="onehot")
    expected = [[0, 0, 1, 0], [1, 1, 0, 4], [1, 1, 0, np.nan]]
    np.testing.assert_array_equal(data.X.toarray(), expected)
    assert data.Y.toarray().ravel().tolist() == [1, 0, 0]


def test_minus_one_labels(tmp_path):
    text = "@relation r\n@attribute x numeric\n@attribute y {-1,1}\n@data\n1,-1\n2,1\n"
    assert read_arff(write(tmp_path, text), ["y"]).Y.toarray().ravel().tolist() == [0, 1]


def test_no_rows(tmp_path):
    data = read_arff(write(tmp_path, HEADER), LABELS)
    assert (data.n_rows, data.n_features, data.n_labels) == (0, 2, 2)


@pytest.mark.parametrize("text", [DENSE, SPARSE])
def test_stream_equals_whole(tmp_path, monkeypatch, text):
    path = write(tmp_path, text + text.split("@data\n")[1] * 30)
    monkeypatch.setattr("hyperlabel.datasets._lines.BLOCK_BYTES", 64)
    whole, parts = read_arff(path, LABELS), list(iter_arff(path, LABELS, chunk_rows=7))
    assert len(parts) > 5
    assert {len(part) for part in parts[:-1]} == {7}
    np.testing.assert_array_equal(dense(concat(parts)), dense(whole))
    assert (concat(parts).Y != whole.Y).nnz == 0


@pytest.mark.parametrize("text", [DENSE.replace("?", "7"), SPARSE])
def test_careful_parser_equals_fast(tmp_path, monkeypatch, text):
    path = write(tmp_path, text.replace("% comment\n", ""))
    fast = read_arff(path, LABELS)
    monkeypatch.setattr(module, "_parse_plain_dense", lambda *_: None)
    monkeypatch.setattr(module, "_parse_plain_sparse", lambda *_: None)
    slow = read_arff(path, LABELS)
    np.testing.assert_array_equal(dense(fast), dense(slow))
    assert (fast.Y != slow.Y).nnz == 0


CELLS = [
    *("1", "-1", "+1", ".5", "5.", "-.5", "+5.", "007", "0.1", "-0", "-0.0", "1e3", "1E-3", "-1e400"),
    *("123456789012345", "1234567890.12345", "1234567890123456", "0.10000000000000001", "nan", "inf", "?"),
    *(".", "-", "+", "-.", "+-", "1-", "1-2", "1.2.3", "--1", "1+", "1_0", "x", "1e", "0x1", "1,2", "1;2"),
    *("", " 1", "1 ", "1 2", "\t1", "\x1f1", "\u0661"),
]


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("colour", ["numeric", "{red,blue_1,50}"])
def test_fast_ways_read_what_the_careful_parser_does(tmp_path, monkeypatch, cell, colour):
    """Decimals at once, words by column: the same numbers to the bit, or the same sentence."""
    attributes = ("x numeric", f"c {colour}", "l1 {0,1}", "l2 numeric")
    header = "@relation r\n" + "".join(f"@attribute {attribute}\n" for attribute in attributes)
    rows = f"1.5,50,0,1\n{cell},50,1,0\n-2,50,0,0\n"
    path = write(tmp_path, header + "@data\n" + rows)

    def read():
        try:
            data = read_arff(path, LABELS, nominal="onehot")
        except DataError as error:
            return str(error)
        return data.X.tobytes(), data.Y.toarray().tobytes()

    fast = read()
    monkeypatch.setattr(module, "_parse_plain_dense", lambda *_: None)
    assert fast == read()


BAD = {
    "few values": (DENSE.replace("-1e3,0,1,1", "-1e3,0,1"), "line 8, column 9: the row has 3 values"),
    "many values": (DENSE.replace("-1e3,0,1,1", "1,1,1,1,1"), "line 8, column 10: the row has 5 values"),
    "not a number": (
        DENSE.replace("-1e3", "x"),
        "line 8, column 1: the value 'x' of attribute 'a' is not a number",
    ),
    "underscore": (DENSE.replace("-1e3", "1_0"), "line 8, column 1"),
    "label value": (DENSE.replace("-1e3,0,1,1", "1,0,1,7"), "line 8, column 7: the value '7' of label 'l2'"),
    "label missing": (
        DENSE.replace("-1e3,0,1,1", "1,0,?,1"),
        "line 8, column 5: the value '?' of label 'l1'",
    ),
    "nominal value": (
        DENSE.replace("-1e3,0,", "1,2,"),
        "line 8, column 3: the value '2' of attribute 'b' is not one",
    ),
    "open quote": (DENSE.replace("-1e3", "'1"), "line 8, column 1: a quote never closes"),
    "sparse in dense": (DENSE.replace("-1e3,0,1,1", "{0 1}"), "line 8, column 1: a sparse row"),
    "dense in sparse": (SPARSE.replace("{}", "1,1,1,1"), "line 9, column 1: a sparse row stands in braces"),
    "index beyond": (
        SPARSE.replace("{}", "{99999999999999 1}"),
        "line 9, column 2: the index 99999999999999 is beyond",
    ),
    "index twice": (SPARSE.replace("{}", "{0 1,0 2}"), "line 9, column 6: the index 0 appears twice"),
    "index negative": (SPARSE.replace("{}", "{-1 1}"), "line 9, column 2: '-1 1' is not an index"),
    "no value": (SPARSE.replace("{}", "{1}"), "line 9, column 2: '1' is not an index"),
    "sparse value": (SPARSE.replace("{}", "{0 1, 2 5}"), "line 9, column 9: the value '5' of label 'l1'"),
    "open brace": (SPARSE.replace("{}", "{0 1"), "line 9, column 1"),
    "no data": (HEADER.replace("@data\n", ""), "ends before @data"),
    "no attributes": ("@relation r\n@data\n1\n", "before any @attribute"),
    "not arff": ("hello world\n", "line 1, column 1: 'hello world' is neither"),
    "bad type": (HEADER.replace("numeric", "complex"), "line 2, column 14: the type 'complex'"),
    "open nominal": (HEADER.replace("{0,1}", "{0,1", 1), "line 3, column 14: the values of 'b' lack"),
    "no type": (HEADER.replace(" numeric", ""), "line 2, column 1: an attribute needs"),
    "empty": ("", "the file is empty"),
    "blank": ("\n \n", "the file is empty"),
    "binary": (bytes(range(256)) * 20, "binary bytes"),
    "utf-16": (DENSE.encode("utf-16"), "UTF-16"),
    "zip": (b"PK\x03\x04 whatever", "zip archive"),
    "word label": (HEADER.replace("l1 {0,1}", "l1 {red,blue}"), "the label 'l1' is not binary"),
    "text label": (HEADER.replace("l1 {0,1}", "l1 string"), "the label 'l1' is not binary"),
    "twice named": (HEADER.replace("attribute b", "attribute l1"), "names 2 attributes"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files(tmp_path, case):
    text, message = BAD[case]
    with pytest.raises(DataError, match=re.escape(message)):
        read_arff(write(tmp_path, text), LABELS)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["l1", "nope"], "the label 'nope' is not an attribute"),
        (["l1", "l1"], "listed more than once"),
        (9, "9 labels are asked for, of 4"),
        (0, "0 labels"),
        (None, "nothing says which attributes are labels"),
    ],
)
def test_bad_labels(tmp_path, labels, message):
    with pytest.raises(DataError, match=message):
        read_arff(write(tmp_path, DENSE), labels)


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        ("", "is empty"),
        ("<labels>", "not well-formed"),
        ("<labels/>", "must list its labels"),
        ("<labels><label/></labels>", "must list its labels"),
        ('<labels><label name="a"/><label name="a"/></labels>', "listed more than once"),
        ('<labels><label name="zzz"/></labels>', "'zzz' is not an attribute"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><labels/>', "document type"),
        (b"\x00\xff\x10garbage", "not well-formed"),
    ],
)
def test_bad_xml(tmp_path, xml, message):
    path = write(tmp_path, DENSE)
    write(tmp_path, xml, "d.xml")
    with pytest.raises(DataError, match=message):
        read_arff(path)


def test_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file"):
        read_arff(tmp_path / "no.arff")
    with pytest.raises(FileNotFoundError, match="label XML"):
        read_mulan_xml(tmp_path / "no.xml")
    with pytest.raises(DataError, match="folder"):
        read_arff(tmp_path)
    with pytest.raises(ValueError, match="nominal must be"):
        read_arff(tmp_path, nominal="codes")


@pytest.mark.parametrize("keep", [0.3, 0.9, 0.999])
def test_truncated_gzip(tmp_path, keep):
    rng = np.random.default_rng(0)
    rows = "".join(f"{v},1,0,1\n" for v in rng.random(5000))
    raw = gzip.compress((HEADER + rows).encode())
    path = tmp_path / "d.arff.gz"
    path.write_bytes(raw[: int(len(raw) * keep)])
    with pytest.raises(DataError, match="damaged or truncated"):
        read_arff(path, LABELS)


def test_damaged_gzip(tmp_path):
    raw = bytearray(gzip.compress(DENSE.encode() * 50))
    raw[40:60] = b"\xff" * 20
    path = tmp_path / "d.arff.gz"
    path.write_bytes(raw)
    with pytest.raises(DataError, match="damaged or truncated"):
        read_arff(path, LABELS)


def test_bomb_without_line_ends_stops_early(tmp_path, monkeypatch):
    monkeypatch.setattr("hyperlabel.datasets._lines.MAX_LINE_BYTES", 1 << 20)
    path = write(tmp_path, HEADER + "1" * (8 << 20), "d.arff.gz")
    with pytest.raises(DataError, match="longer than"):
        read_arff(path, LABELS)


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_random_damage_never_escapes(tmp_path_factory, data):
    """Whatever happens to the bytes: a data set or a DataError, nothing else."""
    raw = bytearray(data.draw(st.sampled_from([DENSE, SPARSE])).encode())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(raw) - 1))
        action = data.draw(st.sampled_from(["set", "threshold", "insert"]))
        if action == "set":
            raw[at] = data.draw(st.integers(0, 255))
        elif action == "threshold":
            del raw[at : at + data.draw(st.integers(1, 20))]
        else:
            raw[at:at] = data.draw(st.binary(max_size=8))
        if not raw:
            break
    path = tmp_path_factory.mktemp("fuzz") / "d.arff"
    path.write_bytes(raw)
    with warnings.catch_warnings(), contextlib.suppress(DataError):
        warnings.simplefilter("ignore")
        read_arff(path, LABELS)


# -- an independent parse of the real files ---------------------------------------------------------


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["emotions", "medical"])
def test_equal_to_liac(load_real, real_data_folder, name):
    data = load_real(name)
    with open(real_data_folder / name / f"{name}.arff") as stream:
        is_sparse = name == "medical"
        found = arff.load(stream, encode_nominal=True, return_type=arff.COO if is_sparse else arff.DENSE)
    if is_sparse:
        values, rows, columns = found["data"]
        raw = sparse.coo_array(
            (values, (rows, columns)), shape=(len(data), len(found["attributes"]))
        ).toarray()
    else:
        raw = np.array(found["data"], dtype=float)
    names = [attribute for attribute, _ in found["attributes"]]
    is_label = np.isin(names, data.label_names)
    np.testing.assert_array_equal(dense(data), raw[:, ~is_label])
    np.testing.assert_array_equal(data.Y.toarray(), raw[:, is_label])


@pytest.mark.real_data
def test_delicious_equal_to_a_plain_parse(load_real, real_data_folder):
    data = load_real("delicious", "test")
    with gzip.open(real_data_folder / "delicious" / "delicious-test.arff.gz", "rt") as stream:
        body = stream.read().split("@data")[1].split()
    text = " ".join(body)
    rows = [row.strip("{} ") for row in text.split("} {")]
    expected = sparse.lil_array((len(rows), 1483))
    for i, row in enumerate(rows):
        for pair in row.split(","):
            if pair:
                j, value = pair.split()
                expected[i, int(j)] = float(value)
    expected = expected.tocsr()
    assert (sparse.hstack([data.X, data.Y]) != expected).nnz == 0


@pytest.mark.real_data
def test_genbase_drops_the_protein_and_says_so(real_data_folder):
    with pytest.warns(UserWarning, match="left out text or id columns 'protein'"):
        data = read_arff(real_data_folder / "genbase" / "genbase.arff")
    assert "protein" not in data.feature_names
    assert set(np.unique(data.X)) == {0.0, 1.0}
    with open(real_data_folder / "genbase" / "genbase.arff") as stream:
        body = stream.read().lower().split("@data")[1].split("\n")
    rows = [[field.strip() for field in line.split(",")] for line in body if line.strip()]
    yes = np.array([[field in ("yes", "1") for field in row[1:]] for row in rows])
    np.testing.assert_array_equal(np.hstack([data.X, data.Y.toarray()]), yes)


@pytest.mark.real_data
def test_delicious_has_rows_without_labels(load_real):
    data = load_real("delicious")
    assert (data.Y.sum(axis=1) == 0).sum() == 14


SHORT = HEADER + "{0 7,1 1,3 1}\n{}\n{2 1,3 0}\n{0 3}\n"


def test_plain_sparse_rows_equal_the_careful_parser(tmp_path, monkeypatch):
    path = write(tmp_path, SHORT)
    assert module._PLAIN_SPARSE.fullmatch(SHORT.split("@data\n")[1].encode()) is not None
    fast = read_arff(path, LABELS)
    monkeypatch.setattr(module, "_parse_plain_sparse", lambda *_: None)
    slow = read_arff(path, LABELS)
    assert (slow.X != fast.X).nnz == 0
    assert (slow.Y != fast.Y).nnz == 0
    assert fast.X.toarray().tolist() == [[7, 1], [0, 0], [0, 0], [3, 0]]


@pytest.mark.parametrize(
    "row",
    ["{ 1}", "{0 1,}", "{,0 1}", "{0 1 1}", "{01}", "{0  1}", "{0 1", "0 1}", "{0 1}{0 1}", "{{0 1}",
     "{0 1}}", "{0\n1}", "{0 1,,1 1}", "{0 1} ", "{0 x}", "{0 1-2}", "{0 }", "{ 0 1}", ""],
)  # fmt: skip
def test_odd_sparse_rows_are_left_to_the_careful_parser(row):
    assert module._PLAIN_SPARSE.fullmatch(f"{{0 1}}\n{row}\n".encode()) is None
    assert module._PLAIN_SPARSE.fullmatch(f"{row}\n".encode()) is None
