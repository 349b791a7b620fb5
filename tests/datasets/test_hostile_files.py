"""Files made or damaged to harm: a reader answers with a DataError, in linear time and bounded memory."""

from __future__ import annotations

import gzip
import io
import json
import struct
import time
import tracemalloc
import zipfile
from types import SimpleNamespace

import numpy as np
import pytest
from tests.optional import optional

from hyperlabel.datasets import (
    DataError,
    Dataset,
    load_npz,
    read_arff,
    read_data,
    read_mulan_xml,
    read_svmlight,
    read_table,
)
from hyperlabel.datasets._lines import LineReader

pa = optional("pyarrow")
pyarrow = optional("pyarrow.parquet")

HEADER = "@relation 'r: -C 1'\n@attribute y {0,1}\n@attribute a numeric\n@attribute w {red,blue}\n@data\n"


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def npy(array, header=None):
    """Bytes of a npy member, with another header on request."""
    stream = io.BytesIO()
    if header is None:
        np.lib.format.write_array(stream, array)
        return stream.getvalue()
    raw = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(raw)) + raw + array.tobytes()


def archive(path, members, method=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", method) as packed:
        for name, raw in members:
            packed.writestr(name, raw)
    return path


GOOD = [("X.npy", npy(np.arange(60.0).reshape(20, 3))), ("Y.npy", npy(np.eye(20, 2, dtype=np.int8)))]

# -- npz ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]
)
def test_npz_with_any_damaged_byte_is_refused_or_read(tmp_path, method):
    raw = bytearray(archive(tmp_path / "good.npz", GOOD, method).read_bytes())
    path = tmp_path / "d.npz"
    refused = 0
    for place in range(len(raw)):
        damaged = raw.copy()
        damaged[place] ^= 0xFF
        path.write_bytes(damaged)
        try:
            load_npz(path)
        except DataError:
            refused += 1
    assert refused > len(raw) / 2


def test_encrypted_npz_is_refused(tmp_path):
    raw = bytearray(archive(tmp_path / "d.npz", GOOD).read_bytes())
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = raw.find(mark)
        raw[place + offset] |= 1
    with pytest.raises(DataError, match="encrypted"):
        load_npz(write(tmp_path / "d.npz", bytes(raw)))


@pytest.mark.parametrize("header", ["(((", "-" * 3000 + "1", "{'descr': '<f8'", "[" * 5000, "\x00", "'" * 9])
def test_npz_with_a_forged_header_is_refused(tmp_path, header):
    members = [("X.npy", npy(np.zeros(3), header)), GOOD[1]]
    with pytest.raises(DataError, match=r"d\.npz: "):
        load_npz(archive(tmp_path / "d.npz", members))


def test_npz_that_claims_more_bytes_than_the_file_has_is_refused_before_memory_is_taken(tmp_path):
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (100000000, 10)}"
    raw = bytearray(archive(tmp_path / "d.npz", [("X.npy", npy(np.zeros(30), header)), GOOD[1]]).read_bytes())
    central = raw.find(b"PK\x01\x02")
    struct.pack_into("<II", raw, central + 20, 1 << 30, (1 << 32) - 2)  # packed and unpacked size
    write(tmp_path / "d.npz", bytes(raw))
    tracemalloc.start()
    with pytest.raises(DataError):
        load_npz(tmp_path / "d.npz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6


def test_npz_with_one_array_twice_is_refused(tmp_path):
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = archive(tmp_path / "d.npz", [*GOOD, GOOD[0]])
    with pytest.raises(DataError, match=r"'X' is stored twice"):
        load_npz(path)


@pytest.mark.parametrize("shape", [[20, np.inf], [20, 2**62], [-20, -3]])
def test_npz_with_an_impossible_shape_is_refused(tmp_path, shape):
    Y = np.zeros(21, dtype=np.int64)
    np.savez(tmp_path / "d.npz", X=np.eye(20), Y_indices=Y[:0], Y_indptr=Y, Y_shape=np.array(shape))
    with pytest.raises(DataError):
        load_npz(tmp_path / "d.npz")


@pytest.mark.parametrize("ends", [[0, 1, 2, -1], [0, 10**6, 10**6, 0], [0, 2**63 - 1, -(2**63), 2]])
@pytest.mark.parametrize("which", ["X", "Y"])
def test_npz_whose_rows_end_before_they_start_is_refused(tmp_path, which, ends):
    """The attack found it as an overrun heap: scipy looks at such rows only if the last ends above 0."""
    places = np.array([0, 1, 0])
    members = {"X": np.eye(3), "Y": np.eye(3)}
    del members[which]
    members |= {f"{which}_indices": places, f"{which}_indptr": np.array(ends), f"{which}_shape": [3, 2]}
    np.savez(tmp_path / "d.npz", **members, **({"X_data": np.ones(3)} if which == "X" else {}))
    with pytest.raises(DataError, match=r"d\.npz: "):
        load_npz(tmp_path / "d.npz")


# -- text ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["d.arff", "d.svm", "d.txt", "d.csv", "d.jsonl"])
@pytest.mark.parametrize("raw", [b"\xc2\x85", b"\xc2\x85\n", b"\x85\n", b"\xa0", b"\x1c\n", b"\xef\xbb\xbf"])
def test_a_file_of_odd_blanks_is_refused(tmp_path, name, raw):
    options = {"labels": ["y"]} if name[2:] in ("arff", "csv", "jsonl") else {}
    with pytest.raises(DataError):
        read_data(write(tmp_path / name, raw), **options)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + "{" + "9" * 5000 + " 1}\n", "is beyond the 3 attributes"),
        (HEADER.replace("-C 1", "-C " + "9" * 5000), "labels are asked for, of 3 attributes"),
        (
            HEADER.replace("-C 1", "-C -2").replace("attribute a", "attribute w"),
            "'w' is listed more than once",
        ),
        (HEADER.replace("attribute a", "attribute y") + "1,1,red\n", "'y' names 2"),
    ],
)
def test_arff_is_refused_with_the_name_of_the_file(tmp_path, text, message):
    with pytest.raises(DataError, match=message) as caught:
        read_arff(write(tmp_path / "d.arff", text), nominal="onehot")
    assert str(caught.value).startswith("d.arff")


def test_parquet_with_a_damaged_name_is_refused(tmp_path):
    path = tmp_path / "d.parquet"
    pyarrow.parquet.write_table(pa.table({"wxyz": [1.0], "y": [1]}), path)
    raw = path.read_bytes().replace(b"wxyz", b"\xff\xfe\xfd\xfc")
    with pytest.raises(DataError, match="not a readable Parquet file"):
        read_table(write(path, raw), labels=["y"])


@pytest.mark.parametrize("value", [10**400, [[1], [1, 2]], {"a": 1}])
@pytest.mark.parametrize("role", ["group", "time", "text"])
def test_any_json_value_but_an_object_is_a_group_a_time_or_a_text(tmp_path, role, value):
    rows = [{"y": 1, "v": value}, {"y": 0, "v": [1]}]
    path = write(tmp_path / "d.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    if isinstance(value, dict):
        with pytest.raises(DataError, match=r"'v' holds objects: name what is inside them: v\.a"):
            read_table(path, labels=["y"], **{role: "v"})
        return
    data = read_table(path, labels=["y"], **{role: "v"})
    found = {"group": data.groups, "time": data.time, "text": data.text}[role]
    joined = str(value) if isinstance(value, int) else "1\n1\n2"  # the parts of a list, one to a line
    assert list(found) == ([joined, "1"] if role == "text" else [str(value), "[1]"])


def test_half_a_character_is_refused_when_read_and_when_saved(tmp_path):
    path = write(tmp_path / "d.jsonl", '{"y": 1, "v": "\\ud83d\\ude00"}\n{"y": 1, "v": "a\\ud800b"}\n')
    with pytest.raises(DataError, match=r"line 2: .*half a character"):
        read_table(path, labels=["y"], text="v")
    data = Dataset([[1.0], [2.0]], [[1], [0]], text=["fine", "a\ud800b"])
    with pytest.raises(ValueError, match=r"text of row 1 holds half a character"):
        data.save(tmp_path / "d.npz")
    assert not (tmp_path / "d.npz").exists()


def test_the_encoding_of_a_line_does_not_depend_on_its_neighbours(tmp_path):
    """One byte that is not UTF-8 turned every other accent of its block into two letters."""
    rows = ["größe".encode(), "größe".encode("latin-1"), "größe".encode()]
    path = write(tmp_path / "d.csv", b"y,v\n" + b"".join(b"1," + row + b"\n" for row in rows))
    assert read_table(path, labels=["y"], text="v").text == ["größe"] * 3


def test_csv_fields_may_be_long_without_a_setting_of_the_process(tmp_path):
    import csv

    before = csv.field_size_limit()
    path = write(tmp_path / "d.csv", "y,v\n1," + "a" * (before + 10) + "\n")
    assert len(read_table(path, labels=["y"], text="v").text[0]) == before + 10
    assert csv.field_size_limit() == before


# -- XML ----------------------------------------------------------------------------------------------

ENTITIES = (
    '<?xml version="1.0" encoding="{}"?><!DOCTYPE a [<!ENTITY b "sky">]><labels><label name="&b;"/></labels>'
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "latin-1"])
def test_xml_entities_are_refused_in_every_encoding(tmp_path, encoding):
    declared = "utf-16" if encoding.startswith("utf-16") else encoding
    path = write(tmp_path / "d.xml", ENTITIES.format(declared).encode(encoding))
    with pytest.raises(DataError, match="document type"):
        read_mulan_xml(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
def test_xml_without_entities_is_read_in_every_encoding(tmp_path, encoding):
    text = f'<?xml version="1.0" encoding="{encoding}"?><m:labels xmlns:m="u"><m:label name="ö"/></m:labels>'
    assert read_mulan_xml(write(tmp_path / "d.xml", text.encode(encoding))) == ["ö"]


def test_deep_xml_is_refused_at_once(tmp_path):
    path = write(tmp_path / "d.xml", '<label name="a">' * 500_000)
    tracemalloc.start()
    with pytest.raises(DataError, match="nested"):
        read_mulan_xml(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * path.stat().st_size


@pytest.mark.parametrize("declared", ["nonsense", "utf-7", "rot13"])
def test_xml_in_an_unknown_encoding_is_refused(tmp_path, declared):
    with pytest.raises(DataError, match="not well-formed"):
        read_mulan_xml(write(tmp_path / "d.xml", f'<?xml version="1.0" encoding="{declared}"?><labels/>'))


def test_a_folder_is_no_xml(tmp_path):
    with pytest.raises(DataError, match="this is a folder"):
        read_mulan_xml(tmp_path)


# -- time and memory ----------------------------------------------------------------------------------


def seconds(action):
    start = time.process_time()
    with pytest.raises(DataError):
        action()
    return time.process_time() - start


@pytest.mark.parametrize("use", ["blocks", "readline"])
def test_a_long_line_is_copied_a_bounded_number_of_times(tmp_path, use):
    """What was held was copied and searched anew for every 256 KiB."""
    path = write(tmp_path / "d.txt", "x" * (32 << 20))
    with LineReader(path) as lines:
        sizes = []
        real = lines._file.read
        lines._file = SimpleNamespace(read=lambda n: sizes.append(n) or real(n), close=lines._file.close)
        text = next(lines.blocks())[1] if use == "blocks" else lines.readline()
    assert len(text) == 32 << 20
    assert len(sizes) < 12


@pytest.mark.parametrize(
    ("name", "start", "unit"),
    [
        ("d.jsonl", '{"y": "', "a"),
        ("d.svm", "0 ", "x"),
        ("d.csv", "y,v\n1,", "a,"),
        ("d.arff", HEADER, "1 "),
        ("d.arff", HEADER, "'1' "),
    ],
)
def test_one_long_line_costs_linear_time(tmp_path, name, start, unit):
    """64 MB took 8 s, and 256 MB (the longest line taken) two minutes."""
    taken = []
    for size in (4 << 20, 32 << 20):
        path = write(tmp_path / name, start + unit * (size // len(unit)))
        options = {"nominal": "onehot"} if name == "d.arff" else {"labels": ["y"]} if name != "d.svm" else {}
        taken.append(seconds(lambda path=path, options=options: read_data(path, **options)))
    assert taken[1] < 24 * taken[0] + 0.5  # eight times the bytes


@pytest.mark.parametrize("row", ["'a',1{} ,red", "1,{}x,'red'", "{{0 1, 2 'red'{}x}}", "1,1,{}'red"])
def test_quoted_blanks_cost_linear_time(tmp_path, row):
    """8000 blanks took 0.8 s, and each doubling four times as long."""
    path = write(tmp_path / "d.arff", HEADER + row.format(" " * 200_000) + "\n")
    assert seconds(lambda: read_arff(path, nominal="onehot")) < 30  # of the 500 that squares would take


def test_a_file_of_blank_lines_is_refused_before_it_is_unpacked(tmp_path):
    path = write(tmp_path / "d.svm.gz", gzip.compress(b"\n" * (64 << 20), 1))
    tracemalloc.start()
    with pytest.raises(DataError, match="blank"):
        read_svmlight(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8e6


def test_a_header_of_many_columns_is_refused(tmp_path):
    path = write(tmp_path / "d.csv", "," * 1_000_001 + "\n")
    with pytest.raises(DataError, match="more than 1000000 columns"):
        read_table(path, labels=["y"])


@pytest.mark.parametrize("what", ["left out", "one-hot"])
def test_a_short_arff_file_does_not_unfold_to_all_memory(tmp_path, what):
    if what == "left out":
        columns, row = "".join(f"@attribute a{j} {{1,0}}\n" for j in range(6000)), "{}\n"
    else:
        columns, row = f"@attribute a {{{','.join(f'w{j}' for j in range(6000))}}}\n", "{0 1}\n"
    text = f"@relation 'r: -C 1'\n@attribute y {{0,1}}\n{columns}@data\n" + row * 90_000
    with pytest.raises(DataError, match="there would be 540000000 values"):
        read_arff(write(tmp_path / "d.arff", text), nominal="onehot")


def test_json_rows_with_names_of_their_own_do_not_unfold_to_all_memory(tmp_path):
    text = "".join(f'{{"y": 1, "n{i}": 1}}\n' for i in range(15_000))
    with pytest.raises(DataError, match="most of them empty"):
        read_table(write(tmp_path / "d.jsonl", text), labels=["y"])
