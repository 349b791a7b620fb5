"""ARFF files, dense and sparse, with multi-label headers: header, columns, rows, then a data set."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from hyperlabel.datasets._arff_columns import ArffColumns
from hyperlabel.datasets._arff_header import read_header
from hyperlabel.datasets._arff_hierarchy import expand_hierarchy, hierarchical_block
from hyperlabel.datasets._arff_rows import dense_block, sparse_block
from hyperlabel.datasets._dataset import Dataset, rebatch
from hyperlabel.datasets._lines import LineReader
from hyperlabel.datasets._mulan import label_columns

Labels = Sequence[str] | str | os.PathLike[str] | int | None


def read_arff(
    path: str | os.PathLike[str],
    labels: Labels = None,
    *,
    nominal: Literal["drop", "onehot"] = "drop",
    name: str | None = None,
) -> Dataset:
    r"""Read an ARFF file, dense or sparse, plain or gzip.

    Parameters
    ----------
    path : path
        The file. Sparse files stay sparse (``csr_array``).
    labels : None, path, list of str or int
        Which attributes are labels. A path: Mulan's XML. A list: their names. An int: MEKA's ``-C``,
        the first ``C`` attributes, or the last ones when negative. None: the XML that lies beside
        the file (``a-train.arff.gz`` → ``a.xml``), else the ``-C`` in its ``@relation``.
    nominal : {"drop", "onehot"}
        What to do with nominal features that are words. Values such as NO/YES and numbers
        become numbers either way.
    name : str, optional
        Name of the data set; the file's stem when not given.

    Returns
    -------
    Dataset
        Features and labels, each in the order of the file.

    Warns
    -----
    UserWarning
        Names the text, date and (unless one-hot) word columns that were left out.

    Notes
    -----
    Hierarchical files (a last attribute ``class hierarchical`` with paths such as ``30/05@34/11``) need no
    `labels`: every path and every beginning of one is a label, and
    ``hyperlabel.geometry.LabelTree.from_paths(data.label_names)`` is their tree.

    A value left out of a sparse row is 0, for nominal attributes the first declared value, as Weka
    defines it. ``?`` in a feature reads as NaN; in a label it is refused.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hyperlabel.datasets import read_arff
    >>> text = "@relation 'r: -C 1'\n@attribute sky {0,1}\n@attribute hue real\n@data\n1,0.5\n0,0.1\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "a.arff")
    ...     _ = file.write_text(text)
    ...     read_arff(file)
    Dataset('a', n=2, d=1, k=1, dense)
    """
    raw_blocks = list(_iter_raw_blocks(path, labels, nominal, name))  # at least one
    columns, title, raw = raw_blocks[0]
    if len(raw_blocks) > 1:
        block_rows = [raw_block for _, _, raw_block in raw_blocks]
        raw = sparse.vstack(block_rows, format="csr") if sparse.issparse(raw) else np.vstack(block_rows)
    return columns.dataset(raw, title)


def iter_arff(
    path: str | os.PathLike[str], labels: Labels = None, *, chunk_rows: int = 10_000, **options: Any
) -> Iterator[Dataset]:
    """Read an ARFF file as a stream of data sets of ``chunk_rows`` rows; at least one, perhaps empty."""
    raw_blocks = _iter_raw_blocks(path, labels, **options)
    yield from rebatch((columns.dataset(raw, title) for columns, title, raw in raw_blocks), chunk_rows)


def _iter_raw_blocks(
    path: str | os.PathLike[str], labels: Labels, nominal: str = "drop", name: str | None = None
) -> Iterator[tuple[ArffColumns, str, Any]]:
    """Yield the column roles, the data set's name, and rows × attributes of each block (at least one)."""
    if nominal not in ("drop", "onehot"):
        raise ValueError(f"nominal must be 'drop' or 'onehot', not {nominal!r}.")
    path = Path(path)
    with LineReader(path) as reader:
        relation, attributes = read_header(reader)
        is_hierarchical = bool(attributes) and any(a.kind == "hierarchical" for a in attributes)
        if is_hierarchical:
            n_features, attributes = len(attributes) - 1, expand_hierarchy(attributes, reader)
        attribute_names = [attribute.name for attribute in attributes]
        if is_hierarchical and labels is None:
            label_positions = list(range(n_features, len(attributes)))
        else:
            label_positions = label_columns(path, relation, attribute_names, labels)
        columns = ArffColumns.choose(attributes, label_positions, nominal, reader)
        title = re.sub(r"\.arff(\.gz)?$", "", path.name, flags=re.IGNORECASE) if name is None else name
        is_sparse: bool | None = None
        for first_line, line_block in reader.blocks():
            if is_sparse is None:
                is_sparse = _starts_sparse(line_block)
            if is_sparse is not None:
                parse_block = sparse_block if is_sparse else dense_block
                if is_hierarchical:
                    parse_block = hierarchical_block
                yield columns, title, parse_block(line_block, first_line, columns, reader)
        if is_sparse is None:
            yield columns, title, np.empty((0, len(attribute_names)))


def _starts_sparse(block: bytes) -> bool | None:
    for stripped_line in block.split(b"\n"):
        stripped_line = stripped_line.strip()
        if stripped_line and not stripped_line.startswith(b"%"):
            return stripped_line.startswith(b"{")
    return None
