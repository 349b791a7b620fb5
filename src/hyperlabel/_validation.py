"""Validation of (X, Y), in one place: every estimator reads its data through here.

Inside the library X is a ``float64``/``float32`` array (dense ndarray or ``csr_array``)
and Y is always a ``csr_array`` of ones, n×k, however the user wrote it. ``TargetLayout``
remembers how it was written, so that predictions go back the same way.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from hyperlabel._labels import (
    COLLECTIONS,
    NOT_ALL_NAMES,
    NamedColumns,
    checked_csr,
    column_names,
    indicator_from_sets,
    is_missing,
    is_plain,
    label_sets,
    plain_targets,
)
from hyperlabel._params import start_fit
from hyperlabel._sklearn_compat import check_sample_weight

FLOATS = (np.float64, np.float32)
SMALLEST, LARGEST = 1e-100, 1e100  # of the largest feature: its square stays far from overflow and zero


@dataclass(frozen=True, eq=False)
class TargetLayout:
    """How the user's y looked: what `predict` needs to answer in the same form.

    `classes` are ``arange(k)`` for an indicator, the sorted distinct values of a 1-D y; `label_names` the
    column names of a frame, otherwise made up from them.
    """

    kind: Literal["multilabel", "binary", "multiclass"]
    classes: np.ndarray
    label_names: np.ndarray
    dtype: np.dtype
    is_sparse: bool = False

    @property
    def n_columns(self) -> int:
        """Number of columns of the internal indicator (and of the scores)."""
        return 1 if self.kind == "binary" else len(self.classes)


def check_fit(
    estimator: Any, X: Any, y: Any, *, min_samples: int = 1
) -> tuple[Any, sparse.csr_array, TargetLayout]:
    """Validate training data; return X, the indicator Y as ``csr_array`` and the layout of y.

    Sets ``n_features_in_`` and ``feature_names_in_`` on the estimator.
    """
    X = check_features(estimator, X, reset=True, min_samples=min_samples)
    Y, layout = check_targets(y, n_rows=X.shape[0], name=type(estimator).__name__)
    return X, Y, layout


def check_features(
    estimator: Any, X: Any, *, reset: bool = False, min_samples: int = 1, dtype: Any = FLOATS
) -> Any:
    """Validate X alone: the same matrix in any storage comes out as the same bits.

    Dense rows come out in C order, every sparse format as a canonical ``csr_array``. With ``reset`` a fit
    starts here: parameters are checked and the last fit is forgotten.
    """
    if reset:
        start_fit(estimator)
    if sparse.issparse(X):
        if X.dtype.kind == "c":  # scikit-learn refuses dense ones only, and drops the imaginary part
            raise ValueError("Complex data not supported: X must hold real numbers.")
        X = canonical_rows(X) if X.ndim == 2 and X.dtype.kind in "biuf" else X
    X = validate_data(
        estimator, X, reset=reset, accept_sparse="csr", dtype=dtype, order="C", ensure_min_samples=min_samples
    )
    X = canonical_rows(X) if sparse.issparse(X) else X
    if reset:
        _check_size(X.data if sparse.issparse(X) else X)
    return X


def _check_size(values: np.ndarray) -> None:
    """Refuse features whose squares leave what a float64 can hold, which every fit would need."""
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if largest and not SMALLEST <= largest <= LARGEST:
        raise ValueError(
            f"The largest feature is {largest:.1g} in size; a fit squares features, so the largest must lie "
            f"between {SMALLEST:g} and {LARGEST:g}: scale them (StandardScaler)."
        )


def canonical_rows(A: Any) -> sparse.csr_array:
    """CSR with sorted indices, every entry stored once, no zeros, 32-bit indices where they fit.

    The compiled loops rely on it. Nothing is copied that is so already; the user's matrix stays as it is.
    """
    A = checked_csr(A) if sparse.issparse(A) else sparse.csr_array(A)
    csr_arrays = (A.data, A.indices, A.indptr)
    if max(A.shape[0], A.shape[1], len(A.indices)) < np.iinfo(np.int32).max:
        csr_arrays = (A.data, A.indices.astype(np.int32, copy=False), A.indptr.astype(np.int32, copy=False))
    # anew: what the user's object says about its own order may be stale
    A = sparse.csr_array(csr_arrays, shape=A.shape)
    if A.has_canonical_format and A.data.all():
        return A
    A = A.copy()
    A.sum_duplicates()
    A.eliminate_zeros()
    return A


def check_weights(sample_weight: Any, X: Any) -> np.ndarray | None:
    """Validate sample weights; None stays None (all rows count once)."""
    if sample_weight is None:
        return None
    weights = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():  # older releases of scikit-learn let them pass
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def number_groups(groups: Any, n_rows: int) -> np.ndarray:
    """Number the groups of rows from 0, in the order of their names; refuse rows without a group."""
    if groups is None:
        raise ValueError("The 'groups' parameter should not be None: pass the group of each row.")
    names = column_or_1d(np.asarray(groups))
    if len(names) != n_rows:
        raise ValueError(f"groups has {len(names)} entries, y has {n_rows} rows: pass one group per row.")
    as_objects = names.dtype == object
    missing = np.flatnonzero([is_missing(name) for name in names] if as_objects else names != names)
    if len(missing):
        raise ValueError(
            f"groups has no value in {len(missing)} of {n_rows} rows (first in row {missing[0]}): give each "
            "of them its group, or one of its own."
        )
    try:
        numbers: np.ndarray = np.unique(names, return_inverse=True)[1]
    except TypeError as error:
        raise ValueError("groups holds values of several types: turn all of them into text.") from error
    return numbers


def per_label_values(spec: Any, k: int, label_names: np.ndarray | None, *, name: str) -> np.ndarray:
    """One number ≥ 0 for each label, from an array or from ``{label: number}`` (1 where not named).

    Labels are named by column name or index; `name` is the parameter's, for the error messages.
    """
    if isinstance(spec, Mapping):
        values = np.ones(k)
        for label, value in spec.items():
            values[_find_column(label, label_names, k, name)] = value
    else:
        values = np.asarray(spec, dtype=np.float64)
    if values.shape != (k,):
        raise ValueError(f"{name} must give one number for each of the {k} labels.")
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError(f"{name} must be finite and not negative.")
    return values


def _find_column(label: Any, names: np.ndarray | None, k: int, name: str) -> int:
    named_columns = np.flatnonzero(np.asarray([] if names is None else names) == label)
    if len(named_columns):
        return int(named_columns[0])
    if isinstance(label, (int, np.integer)) and 0 <= label < k:
        return int(label)
    raise ValueError(f"{name} names the label {label!r}, which y does not have.")


def check_targets(
    y: Any, *, n_rows: int | None = None, name: str = "This estimator"
) -> tuple[sparse.csr_array, TargetLayout]:
    """Validate y; return the n×k indicator as ``csr_array`` of float ones and its layout."""
    if y is None:
        raise ValueError(
            f"{name} requires y to be passed, but the target y is None: pass the label indicator matrix."
        )
    y = plain_targets(y)
    if sparse.issparse(y):
        Y, layout = _read_sparse_targets(y)
    elif isinstance(y, NamedColumns) and sparse.issparse(y.values):
        Y, layout = _read_sparse_targets(y.values, names=y.columns)
    else:
        Y, layout = _read_array_targets(y)
    if n_rows is not None and Y.shape[0] != n_rows:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, "
            f"y has {Y.shape[0]}."
        )
    return Y, layout


def indicator_of_names(y: Any, Y: sparse.csr_array, layout: TargetLayout) -> Any:
    """Return y as a sparse indicator where it was label sets or a sparse frame; other forms as they are.

    A part of the rows still has every label then, and estimators of other libraries can read it.
    """
    if layout.kind == "multilabel" and layout.is_sparse and not sparse.issparse(y):
        return Y.astype(layout.dtype)
    return y


def split_missing(y: Any) -> tuple[Any, sparse.csc_array | None]:
    """Split a 2-D y with NaN for unknown entries into y with zeros there and a mask of them.

    The mask is None when nothing is unknown; y then comes back as it was.
    """
    y = plain_targets(y)
    if sparse.issparse(y):
        if y.ndim != 2 or y.dtype.kind != "f":
            return y, None
        filled = canonical_rows(y)
        missing = np.isnan(filled.data)
        if not missing.any():
            return y, None
        mask = filled.copy()
        mask.data = missing.astype(np.int8)
        mask.eliminate_zeros()
        filled.data = np.where(missing, 0.0, filled.data)
        return filled, mask.tocsc()
    if count_dimensions(y) != 2 or (isinstance(y, NamedColumns) and sparse.issparse(y.values)):
        return y, None
    values = np.asarray(y)
    if values.dtype == object:
        values = _convert_to_numbers(values)
    if values.dtype.kind != "f" or not np.isnan(values).any():
        return y, None
    missing = np.isnan(values)
    filled = np.where(missing, 0.0, values)
    names = column_names(y)
    filled = filled if names is None else NamedColumns(filled, names)
    return filled, sparse.csc_array(missing, dtype=np.int8)


def count_dimensions(y: Any) -> int:
    """Return the number of dimensions of y; label sets have two, other ragged lists count as one."""
    y = plain_targets(y)
    n_dimensions = getattr(y, "ndim", None)
    if n_dimensions is not None:
        return int(n_dimensions)
    try:
        return np.asarray(y).ndim
    except ValueError:
        return 1


def encode_like(y: Any, layout: TargetLayout, *, n_rows: int) -> sparse.csr_array:
    """Validate more y for a model that already knows its labels; return the indicator.

    Used by ``partial_fit``, ``forget`` and the like: 1-D y may hold any subset of the known
    classes, an indicator must have the known columns.
    """
    if layout.kind == "multilabel":
        plain = is_plain(y)
        if not plain and (sets := label_sets(y, even_empty=True)) is not None:
            y = _encode_known_sets(sets, layout)
        Y, new_layout = check_targets(y, n_rows=n_rows)
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
    return _encode_one_hot(codes, len(layout.classes))


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


def layout_of_classes(classes: Any, dtype: np.dtype) -> TargetLayout:
    """Layout of a 1-D y with the given classes, for a first ``partial_fit``."""
    classes = np.unique(np.asarray(classes))
    kind: Literal["binary", "multiclass"] = "binary" if len(classes) == 2 else "multiclass"
    names = classes[1:] if kind == "binary" else classes
    return TargetLayout(kind, classes, names.astype(str).astype(object), dtype)


def layout_of_names(y: Any, classes: Any) -> TargetLayout:
    """Layout of a first block of y where all labels are named (`classes`).

    They are the labels of label sets, the columns of an indicator, in this order, or classes of a 1-D y.
    """
    names = list(classes)
    if not is_plain(y) and label_sets(y, even_empty=True) is not None:
        wrong = next((name for name in names if not isinstance(name, str)), None)
        if wrong is not None:
            raise ValueError(f"classes must name the labels of label sets as text, not {wrong!r}.")
        return _make_indicator_layout(len(names), np.dtype(np.int64), names=names, is_sparse=True)
    if count_dimensions(y) < 2 or (np.shape(y)[1] == 1 and len(names) > 1):
        return layout_of_classes(names, np.asarray(y).dtype)
    _, layout = check_targets(y)
    if len(names) != layout.n_columns:
        raise ValueError(f"classes names {len(names)} labels, y has {layout.n_columns} columns.")
    if not all(isinstance(name, str) for name in names):
        return layout
    if not is_plain(y) and column_names(y) is not None and names != list(layout.label_names):
        raise ValueError("classes are not the columns of y: same names, same order, please.")
    return _make_indicator_layout(len(names), layout.dtype, names=names, is_sparse=layout.is_sparse)


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


def _encode_one_hot(codes: np.ndarray, n_classes: int) -> sparse.csr_array:
    """One column per class; two classes need only the column of the second."""
    if n_classes == 2:
        return sparse.csr_array((codes == 1).astype(np.float64)[:, None])
    ones = (np.ones(len(codes)), (np.arange(len(codes)), codes))
    return canonical_rows(sparse.csr_array(ones, shape=(len(codes), n_classes)))


def _read_sparse_targets(y: Any, names: Any = None) -> tuple[sparse.csr_array, TargetLayout]:
    if y.ndim != 2:
        raise ValueError("A sparse y must be 2-D (rows × labels).")
    if y.shape[1] == 0:
        raise ValueError("y has no label columns: it needs at least one.")
    Y = canonical_rows(y)
    _refuse_non_binary(Y.data)
    layout = _make_indicator_layout(y.shape[1], np.dtype(y.dtype), names=names, is_sparse=True)
    return Y.astype(np.float64), layout


def _read_array_targets(y: Any) -> tuple[sparse.csr_array, TargetLayout]:
    names = None if is_plain(y) else column_names(y)
    try:
        values = np.asarray(y)
    except ValueError as ragged:
        raise ValueError(NOT_ALL_NAMES) from ragged
    if values.dtype == object and values.ndim == 1 and len(values) and isinstance(values[0], COLLECTIONS):
        raise ValueError(NOT_ALL_NAMES)
    if values.ndim == 2 and values.shape[1] == 1 and not _is_binary(values):
        values = values[:, 0]  # a column vector of classes, not an indicator
    if values.ndim == 1:
        return _read_class_targets(values)
    if values.ndim != 2:
        raise ValueError(f"y must be 1-D (classes) or 2-D (rows × labels); got {values.ndim} dimensions.")
    if values.shape[1] == 0:
        raise ValueError("y has no label columns: it needs at least one.")
    if values.dtype == object:
        values = _convert_to_numbers(values)
    if values.dtype.kind not in "biuf":
        raise ValueError(
            f"Unknown label type: a 2-D y must hold 0 and 1, got dtype {values.dtype}. "
            "Turn names into an indicator with sklearn.preprocessing.MultiLabelBinarizer."
        )
    _refuse_non_binary(values)
    Y = sparse.csr_array(values.astype(np.float64))
    return Y, _make_indicator_layout(values.shape[1], values.dtype, names=names, is_sparse=False)


def _read_class_targets(values: np.ndarray) -> tuple[sparse.csr_array, TargetLayout]:
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError("Input y contains NaN or infinity: every row needs a class.")
    check_classification_targets(values)
    classes, codes = np.unique(values, return_inverse=True)
    return _encode_one_hot(codes, len(classes)), layout_of_classes(classes, values.dtype)


def _make_indicator_layout(k: int, dtype: np.dtype, *, names: Any, is_sparse: bool) -> TargetLayout:
    if names is None:
        named = np.array(made_up_names(k), dtype=object)
    else:
        named = np.asarray(names, dtype=object)
        if len(set(named)) < k:
            raise ValueError("Two columns of y have the same name: rename one of them.")
    return TargetLayout("multilabel", np.arange(k), named, dtype, is_sparse)


def made_up_names(k: int) -> list[str]:
    """Names of the columns of an indicator that has none."""
    return [f"label{j}" for j in range(k)]


def _is_binary(values: np.ndarray) -> bool:
    return values.dtype.kind in "biuf" and bool(np.isin(values, (0, 1)).all())


def _refuse_non_binary(values: np.ndarray) -> None:
    """One sentence for each way an indicator can be wrong."""
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(
            "Input y contains NaN or infinity: every entry must be 0 or 1 "
            "(only BinaryRelevance takes NaN for labels nobody knows; drop those rows or set them to 0)."
        )
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        raise ValueError(
            f"Unknown label type: a 2-D y must hold only 0 and 1, found {values[wrong][0]!s}. "
            "Code an absent label as 0 and a present one as 1."
        )


def _convert_to_numbers(values: np.ndarray) -> np.ndarray:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("Unknown label type: a 2-D y must hold 0 and 1, found text.") from error
