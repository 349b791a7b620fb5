"""What a file means does not depend on what else stands in the same block.

A block of plain numbers is read by array operations, any other line by line. A comment sends the block the
second way, so a file must read the same, or be refused with the same words, with a comment and without.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from hyperlabel.datasets import DataError, read_arff, read_svmlight, read_xmc

HEADER = "@relation 'r: -C -2'\n@attribute a numeric\n@attribute b {0,1}\n"
HEADER += "@attribute l1 {0,1}\n@attribute l2 numeric\n@data\n"
NUMBERS = [
    "0",
    "1",
    "2",
    "3",
    "01",
    "1.0",
    "0.5",
    "-1",
    "-0",
    "+1",
    "1e1",
    "1e-9999",
    ".5",
    "5.",
    "1_0",
    "0_1",
]
NUMBERS += [
    "nan",
    "inf",
    "1" * 17,
    "0" * 20 + "1",
    "1e",
    ".",
    "-",
    "x",
    "?",
    "'1'",
    "\u0663",
    "1\x1c",
    "\xe9",
    "",
]
BLANKS = ["", " ", "\t", "\r", "\x0b", "\x0c", "\x1c", "\x85", "\xa0", "  "]


number, blank = st.sampled_from(NUMBERS), st.sampled_from(BLANKS)
digit = st.sampled_from(["0", "1", "2", "3"])
odd = st.sampled_from([",", ":", " ", "\n", "{", "}", "\t", "qid:1", "\\", '"'])


@st.composite
def svm_rows(draw):
    rows = []
    for _ in range(draw(st.integers(1, 3))):
        labels = draw(st.lists(st.one_of(digit, number), max_size=3))
        row = draw(blank) if draw(st.integers(0, 9)) == 0 else ""
        row += draw(st.sampled_from([",", ",", ",", ", ", " ,"])).join(labels)
        for _ in range(draw(st.integers(0, 3))):
            gap = draw(blank) if draw(st.booleans()) else " "
            row += gap + draw(st.one_of(digit, number)) + ":" + draw(number)
        rows.append(row + (draw(odd) if draw(st.integers(0, 9)) == 0 else ""))
    return "\n".join(rows) + draw(st.sampled_from(["", "\n", "\n\n", " \n", "\r\n"]))


@st.composite
def dense_rows(draw):
    rows = []
    for _ in range(draw(st.integers(1, 3))):
        cells = [draw(number), *draw(st.lists(st.one_of(digit, number), min_size=2, max_size=4))]
        cells = [draw(blank) + cell if draw(st.integers(0, 4)) == 0 else cell for cell in cells]
        rows.append(draw(st.sampled_from([",", ",", ",", " ", " ,"])).join(cells))
    return "\n".join(rows) + draw(st.sampled_from(["", "\n", "\n\n", " \n", ",\n"]))


@st.composite
def sparse_rows(draw):
    rows = []
    for _ in range(draw(st.integers(1, 3))):
        pairs = []
        for _ in range(draw(st.integers(0, 3))):
            gap = draw(blank) if draw(st.integers(0, 4)) == 0 else " "
            pairs.append(draw(st.one_of(digit, number)) + gap + draw(st.one_of(digit, number)))
        inner = draw(st.sampled_from([",", ",", ", ", ",\n", ",,"])).join(pairs)
        rows.append(
            draw(st.sampled_from(["{%s}", "{%s}", "{ %s }", " {%s}", "{%s} ", "{%s", "{\n%s}"])) % inner
        )
    return draw(st.sampled_from(["\n", "\n", "\n\n", "", " \n"])).join(rows)


def outcome(read, path, text):
    path.write_bytes(text.encode() if re.search("[\u0660-\u0669]", text) else text.encode("latin-1"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            data = read(path)
        except DataError as error:
            return str(error)
    X = data.X.toarray() if sparse.issparse(data.X) else data.X
    return X.shape, X.tobytes(), data.Y.toarray().tolist(), list(data.label_names)


def check(read, path, text, comment):
    if not text.strip():
        return  # a file of nothing is refused, one of a comment holds no rows
    plain = outcome(read, path, text)
    commented = outcome(read, path, text + ("" if text.endswith("\n") else "\n") + comment + "\n")
    assert plain == commented


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("grammar")


@given(svm_rows())
@example("1e1 2:1\n")
@example(" 3 2:1")
@example("0,2, 1 3:1")
@example("0 -0:1")
@example("0\x0c1:1\n")
@settings(max_examples=150, deadline=None)
def test_libsvm_reads_the_same_with_a_comment(folder, text):
    check(read_svmlight, folder / "d.svm", text, "# c")


@given(svm_rows())
@example("0,2, 1 3:1")
@example(" \n")
@settings(max_examples=150, deadline=None)
def test_xmc_reads_the_same_with_a_comment(folder, text):
    rows = text.count("\n") + (not text.endswith("\n"))
    check(read_xmc, folder / "d.xmc", f"{rows} 4 4\n{text}", "# c")


@given(dense_rows())
@example("0,1.0,0,0\n")
@example("0,1,0,0_1\n")
@example("1\x1c,1,0,0\n")
@settings(max_examples=150, deadline=None)
def test_dense_arff_reads_the_same_with_a_comment(folder, text):
    check(read_arff, folder / "d.arff", HEADER + text, "% c")


@given(sparse_rows())
@example("{1e-9999 7,2 1}")
@example("{0 1,\n2 1}\n")
@example("{1\t 1}\n")
@example("{1 1.0}\n")
@settings(max_examples=150, deadline=None)
def test_sparse_arff_reads_the_same_with_a_comment(folder, text):
    check(read_arff, folder / "d.arff", HEADER + text, "% c")


def test_a_nominal_with_one_value_takes_no_other(folder):
    """{0} was read as {0,1} by array operations."""
    header = "@relation 'r: -C 1'\n@attribute y {0,1}\n@attribute a {0}\n@data\n"
    for text in ("1,1\n", "{1 1}\n"):
        check(read_arff, folder / "d.arff", header + text, "% c")
        assert "not one of its values" in outcome(read_arff, folder / "d.arff", header + text)


@pytest.mark.parametrize("text", ["0,1,0,0_1\n", "0,1,0,1_0\n", "{3 0_1}\n", "0,1,0,\u0661\n"])
def test_python_s_own_number_forms_are_no_arff_numbers(folder, text):
    assert "is not 0 or 1" in outcome(read_arff, folder / "d.arff", HEADER + text)


def test_a_nominal_of_underscored_words_is_no_number(folder):
    text = "@relation 'r: -C 1'\n@attribute y {0,0_1}\n@attribute a numeric\n@data\n0_1,1\n"
    assert "'y' is not binary" in outcome(read_arff, folder / "d.arff", text)


def test_both_ways_are_taken(folder, monkeypatch):
    """Without this the comparisons above could compare a way with itself."""
    from hyperlabel.datasets import _arff_rows, _row_blocks

    taken = []
    for module, name in (
        (_row_blocks, "_parse_lines"),
        (_arff_rows, "_dense_row"),
        (_arff_rows, "_sparse_row"),
    ):
        monkeypatch.setattr(module, name, lambda *_, name=name: taken.append(name))
    for read, text in (
        (read_svmlight, "0,2 1:0.5 3:-1e-3\n 2:4\n"),
        (read_arff, HEADER + "0.5,1,0,1\n-1e3, 0,1,1\n\n"),
        (read_arff, HEADER + "{0 0.5, 1 1}\n{}\n{3 1}\n"),
        (read_arff, HEADER + "{0 5,1 1}\n{}\n{3 1}\n"),
    ):
        outcome(read, folder / ("d.arff" if read is read_arff else "d.svm"), text)
    assert taken == []
    np.testing.assert_equal(len(outcome(read_svmlight, folder / "d.svm", "0 1:1\n")), 4)
