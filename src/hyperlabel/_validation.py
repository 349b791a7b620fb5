"""Validation of (X, Y), in one place: every estimator reads its data through here.

Inside the library X is a ``float64``/``float32`` array (dense ndarray or ``csr_array``)
and Y is always a ``csr_array`` of ones, n×k, however the user wrote it. ``TargetLayout``
remembers how it was written, so that predictions go back the same way.

An estimator that sets ``_accepts_missing_labels`` may find NaN stored in Y: labels nobody knows. One that
sets ``_accepts_soft_targets`` may find shares between 0 and 1. All others are spared them by a sentence.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from hyperlabel._labels import (
    COLLECTIONS,
    NOT_ALL_NAMES,
    NamedColumns,
    checked_csr,
    column_names,
    is_missing,
    is_plain,
    numbers_of_objects,
    plain_targets,
    small_indices,
)
from hyperlabel._params import start_fit
from hyperlabel._sklearn_compat import check_sample_weight

FLOATS = (np.float64, np.float32)
_BLOCK_ENTRIES = 2**17  # of a dense y read at once: they stay in the cache
SMALLEST, LARGEST = 1e-100, 1e100  # of the largest feature: its square stays far from overflow and zero
# Uneven: one row in twenty has so many times the squares of the median row (benchmarks.row_scales).
FEW_ROWS, UNEVEN = 50, 4.0


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


@dataclass(frozen=True, eq=False)
class CheckedTargets:
    """A y that is validated already: what a wrapper hands to the `fit` of the classifier inside it."""

    Y: sparse.csr_array
    layout: TargetLayout

    def take(self, rows: np.ndarray) -> "CheckedTargets | None":
        """Return some rows; None for classes, of which they may lack some."""
        return CheckedTargets(self.Y[rows], self.layout) if self.layout.kind == "multilabel" else None


def read_targets(
    y: Any, *, n_rows: int, name: str, missing: bool = False, soft: bool = False
) -> CheckedTargets:
    """Validate y, unless a wrapper has done so."""
    if not isinstance(y, CheckedTargets):
        return CheckedTargets(*check_targets(y, n_rows=n_rows, name=name, missing=missing, soft=soft))
    _refuse_values(y.Y.data, name, missing=missing, soft=soft)
    return y


def checked_indicator(Y: sparse.csr_array, names: Any = None) -> CheckedTargets:
    """Return an indicator that is validated already as y; `names` are those of its columns."""
    return CheckedTargets(Y, make_indicator_layout(Y.shape[1], Y.dtype, names=names, is_sparse=True))


def check_fit(
    estimator: Any, X: Any, y: Any, *, min_samples: int = 1, **options: bool
) -> tuple[Any, sparse.csr_array, TargetLayout]:
    """Validate training data; return X, the indicator Y as ``csr_array`` and the layout of y.

    `options` are those of `check_targets`; without any they are what the estimator says that it takes.
    Sets ``n_features_in_`` and ``feature_names_in_`` on the estimator.
    """
    X = check_features(estimator, X, reset=True, min_samples=min_samples)
    if not isinstance(y, CheckedTargets):  # whoever fits an estimator inside has looked at its rows
        warn_of_counts(estimator, X)
    options = options or target_check_options(estimator)
    targets = read_targets(y, n_rows=X.shape[0], name=type(estimator).__name__, **options)
    return X, targets.Y, targets.layout


def warn_of_counts(estimator: Any, X: Any) -> None:
    """Warn where λ = "auto" would be read off sparse counts whose longest rows outweigh the others."""
    alpha = getattr(estimator, "alpha", None)
    if not (sparse.issparse(X) and isinstance(alpha, str) and X.shape[0] >= FEW_ROWS and X.nnz):
        return
    X = sparse.csr_array(X)
    counts = X.data
    if not (counts.min() >= 0 and counts.max() > 1 and (counts == np.floor(counts)).all()):
        return
    row_squares = X.power(2).sum(axis=1)
    median, longest = np.quantile(row_squares, [0.5, 0.95])
    if longest > UNEVEN * median:
        warnings.warn(
            "X holds counts, and its longest rows outweigh the others: alpha='auto' fits those. Scale the "
            f"rows first: make_pipeline(TfidfTransformer(sublinear_tf=True), {type(estimator).__name__}()).",
            UserWarning,
            stacklevel=4,
        )


def target_check_options(estimator: Any) -> dict[str, bool]:
    """Return which entries of y besides 0 and 1 an estimator takes, as options of `check_targets`.

    A Pipeline takes what its last step does.
    """
    estimator = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    return {
        "missing": getattr(estimator, "_accepts_missing_labels", False),
        "soft": getattr(estimator, "_accepts_soft_targets", False),
    }


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


def check_weights(sample_weight: Any, X: Any, n_labels: int | None = None) -> np.ndarray | None:
    """Validate sample weights; None stays None (all rows count once).

    With `n_labels` they may also be n×k, a weight for each entry of Y.
    """
    if sample_weight is None:
        return None
    if np.asarray(sample_weight).ndim == 2:  # a container of weights need not know NumPy's ndim
        weights = _check_entry_weights(sample_weight, X.shape[0], n_labels)
    else:
        weights = check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weights.any():  # older releases of scikit-learn let them pass
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weights


def _check_entry_weights(sample_weight: Any, n_rows: int, n_labels: int | None) -> np.ndarray:
    if n_labels is None:
        raise ValueError(
            "sample_weight must have one number for each row here, not one for each label too: give each row "
            "one weight, or use an estimator that weighs entries, such as BinaryRelevance."
        )
    if sparse.issparse(sample_weight):
        raise ValueError("sample_weight must be dense: pass an array of one number for each row and label.")
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows, n_labels):
        raise ValueError(
            f"sample_weight has shape {weights.shape}: pass {n_rows} numbers, one for each row, or an array "
            f"of shape ({n_rows}, {n_labels}), one for each entry of y."
        )
    if not np.isfinite(weights).all():
        raise ValueError("sample_weight contains NaN or infinity: give entries that do not count weight 0.")
    if (weights < 0).any():
        raise ValueError("Negative values in sample_weight: weights must be at least 0.")
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
    y: Any,
    *,
    n_rows: int | None = None,
    name: str = "This estimator",
    missing: bool = False,
    soft: bool = False,
) -> tuple[sparse.csr_array, TargetLayout]:
    """Validate y; return the n×k indicator as ``csr_array`` of float ones and its layout.

    With `missing`, entries that nobody knows are stored as NaN (`split_missing` tells them apart); with
    `soft`, entries may lie between 0 and 1. Without, they are refused in a sentence that names `name`.
    """
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
        Y, layout = _read_array_targets(y, missing=missing, soft=soft)
    _refuse_values(Y.data, name, missing=missing, soft=soft)
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
    if isinstance(y, CheckedTargets):
        return plain_of_indicator(Y, layout)
    if layout.kind == "multilabel" and layout.is_sparse and not sparse.issparse(y):
        return Y.astype(layout.dtype)
    return y


def plain_of_indicator(Y: sparse.csr_array, layout: TargetLayout) -> Any:
    """Return y in a form that any library can read, from its indicator."""
    if layout.kind == "multilabel":
        return Y.astype(layout.dtype) if layout.is_sparse else Y.toarray().astype(layout.dtype)
    columns = Y.toarray()
    return layout.classes[columns[:, 0].astype(int) if layout.kind == "binary" else columns.argmax(axis=1)]


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


def layout_of_classes(classes: Any, dtype: np.dtype) -> TargetLayout:
    """Layout of a 1-D y with the given classes, for a first ``partial_fit``."""
    classes = np.unique(np.asarray(classes))
    kind: Literal["binary", "multiclass"] = "binary" if len(classes) == 2 else "multiclass"
    names = classes[1:] if kind == "binary" else classes
    return TargetLayout(kind, classes, names.astype(str).astype(object), dtype)


def encode_one_hot(codes: np.ndarray, n_classes: int) -> sparse.csr_array:
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
    layout = make_indicator_layout(y.shape[1], np.dtype(y.dtype), names=names, is_sparse=True)
    return Y.astype(np.float64), layout


def _as_array(y: Any) -> np.ndarray:
    """Return y as an array; lists of different lengths, which are no indicator, are refused."""
    try:
        values = np.asarray(y)
    except ValueError as ragged:
        raise ValueError(NOT_ALL_NAMES) from ragged
    if values.dtype == object and values.ndim == 1 and len(values) and isinstance(values[0], COLLECTIONS):
        raise ValueError(NOT_ALL_NAMES)
    return values


def _read_array_targets(y: Any, *, missing: bool, soft: bool) -> tuple[sparse.csr_array, TargetLayout]:
    names = None if is_plain(y) else column_names(y)
    values = _as_array(y)
    if values.dtype == object and values.ndim == 2:
        values = numbers_of_objects(values)
    if values.ndim == 2 and values.shape[1] == 1 and not _is_indicator(values, missing=missing, soft=soft):
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
    Y = _compress_rows(values)
    return Y, make_indicator_layout(values.shape[1], values.dtype, names=names, is_sparse=False)


def _compress_rows(values: np.ndarray) -> sparse.csr_array:
    """Return an indicator as floats in csr, a block of rows at a time: SciPy takes three copies of it."""
    (n_rows, n_columns), columns, entries = values.shape, [], []
    indptr = np.zeros(n_rows + 1, np.int64)
    for rows in gen_batches(max(1, n_rows), max(1, _BLOCK_ENTRIES // n_columns)):
        block = values[rows]
        is_stored = block != 0
        counts = np.count_nonzero(is_stored, axis=1)
        indptr[rows.start + 1 : rows.stop + 1] = counts
        places = np.flatnonzero(is_stored)
        columns.append((places - np.repeat(n_columns * np.arange(len(block)), counts)).astype(np.int32))
        entries.append(block.reshape(-1)[places].astype(np.float64))
    indptr = np.cumsum(indptr)
    stored = (np.concatenate([[], *entries]), np.concatenate([np.empty(0, np.int32), *columns]), indptr)
    return small_indices(sparse.csr_array(stored, shape=values.shape))


def _read_class_targets(values: np.ndarray) -> tuple[sparse.csr_array, TargetLayout]:
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError("Input y contains NaN or infinity: every row needs a class.")
    check_classification_targets(values)
    classes, codes = np.unique(values, return_inverse=True)
    return encode_one_hot(codes, len(classes)), layout_of_classes(classes, values.dtype)


def make_indicator_layout(k: int, dtype: np.dtype, *, names: Any, is_sparse: bool) -> TargetLayout:
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


def _is_indicator(values: np.ndarray, *, missing: bool, soft: bool) -> bool:
    """Whether a column holds 0 and 1, and what else may stand there; other columns are classes."""
    if values.dtype.kind not in "biuf":
        return False
    known = values[~np.isnan(values)] if missing else values
    return bool((((known >= 0) & (known <= 1)) if soft else np.isin(known, (0, 1))).all())


def _refuse_values(values: np.ndarray, name: str, *, missing: bool, soft: bool) -> None:
    """One sentence for each way the entries of an indicator can be wrong."""
    unknown = np.isnan(values)
    if np.isinf(values).any() or (unknown.any() and not missing):
        raise ValueError(
            f"Input y contains NaN or infinity, and {name} needs every label known: drop those rows, set the "
            "entries to 0, or use an estimator that leaves unknown labels out, such as BinaryRelevance."
        )
    wrong = ((values < 0) | (values > 1)) if soft else (values != 0) & (values != 1) & ~unknown
    if wrong.any() and ((values[wrong] > 0) & (values[wrong] < 1)).all():
        raise ValueError(
            f"{name} takes labels of 0 and 1 only, and y holds the share {values[wrong][0]:g}: round shares "
            "(y > 0.5), or use an estimator that takes them, such as BinaryRelevance."
        )
    if wrong.any():
        allowed = "0 and 1 or shares between them" if soft else "0 and 1"
        raise ValueError(
            f"Unknown label type: a 2-D y must hold only {allowed}, found {values[wrong][0]!s}. "
            "Code an absent label as 0 and a present one as 1."
        )


def _convert_to_numbers(values: np.ndarray) -> np.ndarray:
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("Unknown label type: a 2-D y must hold 0 and 1, found text.") from error
