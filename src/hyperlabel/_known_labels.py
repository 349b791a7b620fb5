"""More y for a model that knows its labels: rows to add or to judge it on, labels named in advance."""

from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel._labels import column_names, indicator_from_sets, is_plain, label_sets
from hyperlabel._validation import (
    TargetLayout,
    check_targets,
    count_dimensions,
    encode_one_hot,
    layout_of_classes,
    make_indicator_layout,
)


def encode_like(
    y: Any, layout: TargetLayout, *, n_rows: int, name: str = "This model", missing: bool = False,
    soft: bool = False,
) -> sparse.csr_array:  # fmt: skip
    """Validate more y for a model that already knows its labels; return the indicator.

    Used by ``partial_fit``, ``forget`` and the like: 1-D y may hold any subset of the known
    classes, an indicator must have the known columns. `missing` and `soft` as in `check_targets`.
    """
    if layout.kind == "multilabel":
        plain = is_plain(y)
        if not plain and (sets := label_sets(y, even_empty=True)) is not None:
            y = _encode_known_sets(sets, layout)
        Y, new_layout = check_targets(y, n_rows=n_rows, name=name, missing=missing, soft=soft)
        if new_layout.kind != "multilabel" or Y.shape[1] != layout.n_columns:
            raise ValueError(
                f"y must be an indicator with the {layout.n_columns} label columns of the model."
            )
        if not plain and column_names(y) not in (None, list(layout.label_names)):
            raise ValueError("The columns of y are not those of the model: same names, same order, please.")
        return Y
    values = np.asarray(y).ravel()
    if len(values) != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, "
            f"y has {len(values)}."
        )
    codes = np.searchsorted(layout.classes, values).clip(max=len(layout.classes) - 1)
    unknown = layout.classes[codes] != values
    if unknown.any():
        raise ValueError(f"y holds the class {values[unknown][0]!s}, which the model does not know.")
    return encode_one_hot(codes, len(layout.classes))


def encode_by_names(y: Any, layout: TargetLayout, *, n_rows: int) -> tuple[sparse.csr_array, np.ndarray]:
    """Encode y for a model that is to be judged on it; also say which rows have labels unknown to the model.

    Label sets and frames go by names, in any order. What names no labels goes by column, as in `encode_like`.
    """
    label_names = list(layout.label_names)
    if (sets := None if is_plain(y) else label_sets(y, even_empty=True)) is not None:
        model_labels = set(label_names)
        has_unknown = np.array([not model_labels.issuperset(row) for row in sets])
        y = [model_labels.intersection(row) for row in sets]
    elif is_plain(y) or column_names(y) in (None, label_names):
        has_unknown = np.zeros(n_rows, dtype=bool)
    else:
        Y, given_layout = check_targets(y, n_rows=n_rows)
        column_of_name = {name: j for j, name in enumerate(given_layout.label_names)}
        absent_names = [name for name in label_names if name not in column_of_name]
        if absent_names:
            raise ValueError(f"y has no column {absent_names[0]!r}, which the model predicts.")
        unknown_columns = [j for name, j in column_of_name.items() if name not in set(label_names)]
        has_unknown = np.asarray(Y[:, unknown_columns].sum(axis=1)) > 0
        return Y[:, [column_of_name[name] for name in label_names]], has_unknown
    return encode_like(y, layout, n_rows=n_rows), has_unknown


def _encode_known_sets(sets: Any, layout: TargetLayout) -> sparse.csr_array:
    unknown = {name for row in sets for name in row}.difference(layout.label_names)
    if unknown:
        raise ValueError(f"y holds the label {min(unknown)!r}, which the model does not know.")
    return indicator_from_sets(sets, list(layout.label_names))[0]


def layout_of_names(y: Any, classes: Any) -> TargetLayout:
    """Layout of a first block of y where all labels are named (`classes`).

    They are the labels of label sets, the columns of an indicator, in this order, or classes of a 1-D y.
    """
    names = list(classes)
    if not is_plain(y) and label_sets(y, even_empty=True) is not None:
        wrong = next((name for name in names if not isinstance(name, str)), None)
        if wrong is not None:
            raise ValueError(f"classes must name the labels of label sets as text, not {wrong!r}.")
        return make_indicator_layout(len(names), np.dtype(np.int64), names=names, is_sparse=True)
    if count_dimensions(y) < 2 or (np.shape(y)[1] == 1 and len(names) > 1):
        return layout_of_classes(names, np.asarray(y).dtype)
    _, layout = check_targets(y)
    if len(names) != layout.n_columns:
        raise ValueError(f"classes names {len(names)} labels, y has {layout.n_columns} columns.")
    if not all(isinstance(name, str) for name in names):
        return layout
    if not is_plain(y) and column_names(y) is not None and names != list(layout.label_names):
        raise ValueError("classes are not the columns of y: same names, same order, please.")
    return make_indicator_layout(len(names), layout.dtype, names=names, is_sparse=layout.is_sparse)


def check_same_classes(classes: Any, layout: TargetLayout) -> None:
    """Refuse other classes than those of the first block."""
    names = list(classes)
    if layout.kind != "multilabel":
        is_same = np.array_equal(np.unique(np.asarray(names)), layout.classes)
    elif all(isinstance(name, str) for name in names):
        is_same = names == list(layout.label_names)
    else:
        is_same = len(names) == layout.n_columns
    if not is_same:
        raise ValueError("classes are not those of the first call: leave them out, or edit_labels first.")
