"""ARFF files whose last attribute holds paths of labels."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from hyperlabel.datasets import DataError, read_arff
from hyperlabel.datasets._arff import iter_arff
from hyperlabel.geometry import LabelTree

HEADER = (
    "@relation r\n@attribute a numeric\n@attribute colour {red,blue}\n@attribute b real\n"
    "@ATTRIBUTE class hierarchical 01/02,01/03/01, 30,34/11\n@data\n"
)
ROWS = "0.5,red,?,01/03/01@34/11\n\n% a comment\n1,blue,2,30\n-2,blue,0, 01/02 \n"


def write(tmp_path, text, name="h.arff"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["h.arff", "h.arff.gz"])
def test_every_beginning_of_a_path_is_a_label(tmp_path, name):
    with pytest.warns(UserWarning, match="colour"):
        data = read_arff(write(tmp_path, HEADER + ROWS, name))
    np.testing.assert_array_equal(data.X, [[0.5, np.nan], [1, 2], [-2, 0]])
    assert data.label_names == ["01", "01/02", "01/03", "01/03/01", "30", "34", "34/11"]
    assert data.label_sets() == [
        ["01", "01/03", "01/03/01", "34", "34/11"],
        ["30"],
        ["01", "01/02"],
    ]
    tree = LabelTree.from_paths(data.label_names)
    assert tree.imply(data.label_sets()) == data.label_sets()


def test_streams_read_the_same(tmp_path):
    path = write(tmp_path, HEADER + ROWS)
    whole = read_arff(path, nominal="onehot")
    chunks = list(iter_arff(path, chunk_rows=1, nominal="onehot"))
    assert [chunk.n_rows for chunk in chunks] == [1, 1, 1]
    np.testing.assert_array_equal(np.vstack([chunk.Y.toarray() for chunk in chunks]), whole.Y.toarray())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEADER + "1,red,2,99\n", r"line 7.*the path '99' is not declared"),
        (HEADER + "1,red,2,30\n\n1,red,30\n", r"line 9.*3 values|line 9.*2 values"),
        (HEADER + "1,red,x,30\n", r"line 7.*not a number"),
        (HEADER + "{0 1}\n", "dense rows only"),
        ("@relation r\n@attribute c hierarchical a,b\n@attribute d real\n@data\na,1\n", "must be the last"),
    ],
)
def test_mistakes_are_located(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read_arff(write(tmp_path, text), nominal="onehot")


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "n", "k"), [("cellcycle_FUN", 1628, 499), ("church_FUN", 1630, 499)])
def test_gene_functions(real_data_folder, name, n, k):
    data = read_arff(real_data_folder / "trees" / f"{name}.train.arff.gz", nominal="onehot")
    assert (data.n_rows, data.n_labels) == (n, k)
    tree = LabelTree.from_paths(data.label_names)
    assert (tree.imply(data.Y, data.label_names) != data.Y).nnz == 0
