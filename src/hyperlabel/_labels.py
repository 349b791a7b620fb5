"""Labels as people have them: sets of names, list columns, frames of 0/1 with holes, sparse frames.

`plain_targets` turns them into what NumPy and SciPy know, without ever making a sparse one dense; arrays and
lists of numbers stay what they are.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)
NOT_ALL_NAMES = (
    "Unknown label type: y looks like a list of label sets, but not all of them hold names (text): "
    "spell numbered labels as text, or pass an indicator matrix."
)


@dataclass(frozen=True, eq=False)
class NamedColumns:
    """The values of a frame of any library, dense or sparse, and the names of its columns."""

    values: Any
    columns: list[str]
    ndim = 2

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return tuple(self.values.shape)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        values = self.values.toarray() if sparse.issparse(self.values) else self.values
        return values if dtype is None else values.astype(dtype)


def is_plain(y: Any) -> bool:
    """Whether y is a matrix of numbers, which names no labels: most are, and need no further look."""
    return sparse.issparse(y) or (isinstance(y, np.ndarray) and y.dtype != object)


def plain_targets(y: Any) -> Any:
    """Return y as `NamedColumns` where it names its labels; other forms as they are."""
    if y is None or is_plain(y) or isinstance(y, NamedColumns):
        return y
    sets = label_sets(y)
    if sets is not None:
        return NamedColumns(*indicator_from_sets(sets))
    names = column_names(y)
    return y if names is None else NamedColumns(_read_frame(y), names)


def label_sets(y: Any, *, even_empty: bool = False) -> list[Iterable[str]] | None:
    """Return y as a list of label sets (rows of names, or a column of such lists), or None: it is none.

    Lists that are all empty name no label: they are label sets only where labels are known (`even_empty`).
    """
    rows = _list_rows(_select_only_column(y))
    if not rows:
        return None
    sets = [() if row is None or _is_nan(row) else row for row in rows]
    if not all(isinstance(row, COLLECTIONS) for row in sets):
        return None
    words = {isinstance(name, str) for row in sets for name in row}
    if words == {True, False}:
        raise ValueError(NOT_ALL_NAMES)
    return sets if words == {True} or (even_empty and not words) else None


def _select_only_column(y: Any) -> Any:
    """Return the column of a frame that has one only; other forms as they are."""
    if isinstance(y, NamedColumns) or len(column_names(y) or ()) != 1:
        return y
    return y.column(0) if hasattr(y, "column_names") else y[y.columns[0]]


def indicator_from_sets(
    sets: Sequence[Iterable[str]], names: Sequence[str] | None = None
) -> tuple[sparse.csr_array, list[str]]:
    """Return the indicator of label sets and the label names (sorted when not given)."""
    label_names = sorted({str(name) for row in sets for name in row}) if names is None else list(names)
    column_of_label = {label: j for j, label in enumerate(label_names)}
    try:
        row_columns = [sorted({column_of_label[name] for name in row}) for row in sets]
    except KeyError as error:
        raise ValueError(f"The label {error.args[0]!r} is not among label_names.") from None
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in row_columns], dtype=np.int64)])
    indices = np.array([j for row in row_columns for j in row], dtype=np.int64)
    Y = sparse.csr_array(
        (np.ones(len(indices), dtype=np.int64), indices, indptr), shape=(len(row_columns), len(label_names))
    )
    return small_indices(Y), label_names


def small_indices(matrix: sparse.csr_array) -> sparse.csr_array:
    """Use 32-bit indices where they suffice: scikit-learn's liblinear and trees take no others."""
    if max(matrix.nnz, *matrix.shape) < np.iinfo(np.int32).max:
        matrix.indices = matrix.indices.astype(np.int32, copy=False)
        matrix.indptr = matrix.indptr.astype(np.int32, copy=False)
    return matrix


def check_places(matrix: Any) -> None:
    """Refuse a csr or csc matrix whose rows lead outside its arrays, which compiled code trusts.

    scipy looks at rows only if the last of them ends above 0, and at differences, which may overflow.
    """
    if (matrix.indptr[1:] < matrix.indptr[:-1]).any():
        raise ValueError("rows of a sparse matrix end before they start")
    matrix.check_format(full_check=True)


def checked_csr(matrix: Any) -> sparse.csr_array:
    """Return a user's sparse matrix as csr; refuse one that would lead scipy outside its arrays."""
    compressed = {"csr": sparse.csr_array, "csc": sparse.csc_array, "bsr": sparse.bsr_array}
    try:
        if matrix.ndim == 2 and matrix.format in compressed:
            arrays = (matrix.data, matrix.indices, matrix.indptr)
            check_places(
                compressed[matrix.format](arrays, shape=matrix.shape)
            )  # which changes what it checks
        elif matrix.format == "coo":
            sparse.coo_array((matrix.data, matrix.coords), shape=matrix.shape)
    except (ValueError, IndexError) as error:
        raise ValueError(
            f"A sparse matrix is damaged ({error}): build it again, from (values, (rows, columns))."
        ) from error
    return sparse.csr_array(matrix)


def column_names(y: Any) -> list[str] | None:
    """Column names of a frame (pandas, polars, pyarrow), or None: an array has none."""
    names = getattr(y, "column_names", None)  # pyarrow's: its `columns` are the columns themselves
    if names is None:
        names = getattr(y, "columns", None)
    return None if names is None else [str(name) for name in names]


def _list_rows(y: Any) -> list[Any] | None:
    """Return the rows of a list or of a column that may hold lists; None for columns of numbers or words."""
    if isinstance(y, (list, tuple)):
        return list(y)
    kind = getattr(getattr(y, "dtype", None), "kind", "O")
    if kind != "O" or getattr(y, "ndim", 1) != 1:
        return None
    for convert in ("to_pylist", "to_list", "tolist"):  # pyarrow, pandas and polars, NumPy
        if hasattr(y, convert):
            rows = getattr(y, convert)()
            return rows if isinstance(rows, list) else None
    return None


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and value != value


def _read_frame(y: Any) -> Any:
    """Return the values of a frame: sparse where it is, floats with NaN where entries are missing."""
    kinds = list(y.dtypes) if hasattr(y, "dtypes") and hasattr(y, "iloc") else []  # pandas
    if kinds and all(getattr(kind, "fill_value", None) == 0 for kind in kinds):
        return sparse.csr_array(y.sparse.to_coo())
    if hasattr(y, "column_names"):
        return _join_columns([column.to_numpy() for column in y.columns], len(y))
    values = np.asarray(y)
    return numbers_of_objects(values) if values.dtype == object and values.ndim == 2 else values


def numbers_of_objects(values: np.ndarray) -> np.ndarray:
    """Return the numbers of an array of objects, NaN for None and NA; words stay objects."""
    return _join_columns([values[:, j] for j in range(values.shape[1])], len(values))


def _join_columns(columns: list[np.ndarray], n_rows: int) -> np.ndarray:
    """Put columns side by side; of those that hold None or NA, numbers with NaN in their place."""
    if not columns:
        return np.zeros((n_rows, 0))
    return np.column_stack(
        [_read_numbers(column) if column.dtype == object else column for column in columns]
    )


def _read_numbers(column: np.ndarray) -> np.ndarray:
    """Return whole numbers or truth values as they are, floats where some are missing, words untouched."""
    missing = np.array([is_missing(value) or value is not value for value in column], dtype=bool)
    present_values = column[~missing]
    if any(isinstance(value, (str, bytes)) for value in present_values):
        return column
    present_numbers = np.array(present_values.tolist()) if len(present_values) else np.zeros(0)
    if present_numbers.ndim != 1 or present_numbers.dtype.kind not in "biuf" or not missing.any():
        return present_numbers if present_numbers.shape == column.shape else column
    numbers_or_nan = np.full(len(column), np.nan)
    numbers_or_nan[~missing] = present_numbers
    return numbers_or_nan


def is_missing(value: Any) -> bool:
    """Tell None, NaN, NaT and pandas' NA, which compares with nothing, without importing pandas."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or _is_nan(value)
