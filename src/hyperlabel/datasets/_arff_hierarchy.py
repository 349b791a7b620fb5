"""The labels of hierarchical ARFF files: a last attribute ``class hierarchical`` that holds paths.

``30/05@34/11`` puts a row under 30/05 and 34/11, and so under 30 and 34: every path and every beginning of
one is a label.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hyperlabel.datasets._arff_columns import ArffColumns
from hyperlabel.datasets._arff_header import Attribute, unquote_name
from hyperlabel.datasets._arff_rows import dense_block
from hyperlabel.datasets._lines import LineReader, decode_bytes
from hyperlabel.datasets._numbers import BLANKS


def expand_hierarchy(attributes: tuple[Attribute, ...], reader: LineReader) -> tuple[Attribute, ...]:
    """Return the attributes with one label of 0 and 1 in the place of the hierarchical one for each path."""
    if any(attribute.kind == "hierarchical" for attribute in attributes[:-1]):
        raise reader.fail("a hierarchical attribute holds the labels: it must be the last one.")
    beginnings = {begin for path in attributes[-1].values for begin in iter_beginnings(path)}
    zero_one = {"values": ("0", "1"), "codes": {"0": 0.0, "1": 1.0}, "is_zero_one": True}
    path_labels = (Attribute(path, "nominal", **zero_one) for path in sorted(beginnings))  # type: ignore[arg-type]
    return *attributes[:-1], *path_labels


def iter_beginnings(path: str) -> list[str]:
    """Return a path and all its beginnings: ``a/b/c`` gives a, a/b and a/b/c."""
    parts = path.split("/")
    return ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]


def hierarchical_block(block: bytes, first_line: int, columns: ArffColumns, reader: LineReader) -> np.ndarray:
    """Return rows × attributes as numbers, the labels being 1 where a path or what lies below it is given."""
    n_features = len(columns.attributes) - len(columns.labels)
    column_of_path = {columns.attributes[j].name: j - n_features for j in columns.labels}
    feature_lines, label_rows = [], []
    for line_number, row_text in enumerate(decode_bytes(block).split("\n"), start=first_line):
        stripped_text = row_text.strip(BLANKS)
        if not stripped_text or stripped_text.startswith("%"):
            feature_lines.append("")
            continue
        if stripped_text.startswith("{"):
            raise reader.fail(
                "a sparse row; hierarchical labels are read from dense rows only.", line_number, 1
            )
        feature_text, _, path_text = stripped_text.rpartition(",")
        feature_lines.append(feature_text)
        label_row = np.zeros(len(column_of_path))
        for path in unquote_name(path_text.strip(BLANKS)).split("@"):
            if path not in column_of_path:
                raise reader.fail(f"the path {path[:40]!r} is not declared in the header.", line_number)
            label_row[[column_of_path[begin] for begin in iter_beginnings(path)]] = 1.0
        label_rows.append(label_row)
    is_label = columns.is_label
    feature_columns = replace(
        columns,
        attributes=columns.attributes[:n_features],
        labels=columns.labels[:0],
        is_label=is_label[:n_features],
        zero_one=columns.zero_one[:n_features],
        one_digit=columns.one_digit[:n_features],
    )
    feature_rows = dense_block("\n".join(feature_lines).encode(), first_line, feature_columns, reader)
    return np.hstack([feature_rows, np.array(label_rows).reshape(-1, len(column_of_path))])
