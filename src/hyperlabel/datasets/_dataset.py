"""`Dataset`: features, label sets and their names, as every reader returns them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel._labels import (
    NamedColumns,
    checked_csr,
    indicator_from_sets,
    label_sets,
    plain_targets,
    small_indices,
)
from hyperlabel.datasets._save import save_dataset
from hyperlabel.datasets._statistics import describe_labels


class NumberedNames(Sequence[str]):
    """The names ``x0, x1, …`` without storing them: a file may declare 10⁹ features."""

    def __init__(self, prefix: str, count: int, start: int = 0) -> None:
        self.prefix, self.size, self.start = prefix, count, start

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: Any) -> Any:
        positions = range(self.size)[index]
        if isinstance(index, slice):
            return [f"{self.prefix}{self.start + j}" for j in positions]
        return f"{self.prefix}{self.start + positions}"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NumberedNames):
            return vars(self) == vars(other)
        return isinstance(other, Sequence) and len(self) == len(other) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self)) if self.size <= 20 else f"[{self[0]!r}, {self[1]!r}, …, {self[-1]!r}]"


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Rows with features X and label sets Y, and what they are called.

    Parameters
    ----------
    X : array of shape (n, d) or sparse
        Features: a dense ``float64`` ndarray, or a ``csr_array`` when given sparse.
    Y : array of shape (n, k), sparse, or list of label sets
        Label indicator of zeros and ones; or, for each row, the names of its labels. Kept as a
        ``csr_array`` of integer ones.
    feature_names, label_names : sequence of str, optional
        Names of the columns; ``x0, x1, …`` and ``label0, label1, …`` when not given (label sets bring
        their own names, sorted).
    name : str, optional
        What to call the data in tables.
    groups : array of shape (n,), optional
        Rows with the same value belong together: splits must not separate them.
    time : array of shape (n,), optional
        When each row was seen, for splits by time.
    text : sequence of str, optional
        The raw text of each row, where the source had one.
    text_columns : dict of str to sequence of str, optional
        Further columns as text, by name: categories, and the columns of `text` where it is several columns.
    missing : sparse indicator of shape (n, k), optional
        Missing labels: entries of Y that are unknown (they are 0 in Y).

    Attributes
    ----------
    n_rows, n_features, n_labels : int
        Their numbers n, d and k.

    See Also
    --------
    read_arff : ARFF files.
    load_npz : npz files.

    Examples
    --------
    >>> from hyperlabel.datasets import Dataset
    >>> data = Dataset([[0.0, 1.0], [1.0, 0.0]], [["red", "blue"], []], name="tiny")
    >>> data
    Dataset('tiny', n=2, d=2, k=2, dense)
    >>> data.label_names
    ['blue', 'red']
    >>> data.Y.toarray()
    array([[1, 1],
           [0, 0]])
    """

    X: Any
    Y: Any
    feature_names: Any = None
    label_names: Any = None
    name: str = "data"
    groups: Any = None
    time: Any = None
    text: Any = None
    text_columns: Any = None
    missing: Any = None
    n_rows: int = field(init=False)
    n_features: int = field(init=False)
    n_labels: int = field(init=False)

    def __post_init__(self) -> None:
        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        put("X", _as_features(self.X))
        Y, label_names = _as_indicator(self.Y, self.label_names)
        put("Y", Y)
        if self.Y.shape[0] != self.X.shape[0]:
            raise ValueError(f"X has {self.X.shape[0]} rows but Y has {self.Y.shape[0]}.")
        for size, value in zip(("n_rows", "n_features"), self.X.shape, strict=True):
            put(size, int(value))
        put("n_labels", int(self.Y.shape[1]))
        put("feature_names", _as_names(self.feature_names, self.X.shape[1], "x", "feature"))
        put("label_names", _as_names(label_names, self.Y.shape[1], "label", "label"))
        for name in ("groups", "time"):
            value = getattr(self, name)
            if value is not None:
                put(name, _as_column(value, self.X.shape[0], name))
        if self.text is not None:
            put("text", list(self.text))
            if len(self.text) != self.X.shape[0]:
                raise ValueError(f"There are {len(self.text)} texts for {self.X.shape[0]} rows.")
        if self.text_columns is not None:
            put("text_columns", {str(name): list(column) for name, column in self.text_columns.items()})
            if any(len(column) != self.X.shape[0] for column in self.text_columns.values()):
                raise ValueError(f"Every column of words must have {self.X.shape[0]} rows.")
        if self.missing is not None:
            put("missing", sparse.csr_array(self.missing))
            if self.missing.shape != self.Y.shape:
                raise ValueError(f"missing must have the shape of Y, not {self.missing.shape}.")

    def __repr__(self) -> str:
        kind = "sparse" if sparse.issparse(self.X) else "dense"
        return f"Dataset({self.name!r}, n={self.n_rows}, d={self.n_features}, k={self.n_labels}, {kind})"

    def __len__(self) -> int:
        return self.n_rows

    def __getitem__(self, rows: Any) -> Dataset:
        """Return the named rows (slice, index array or mask) as a Dataset."""
        row_index = np.arange(self.n_rows)[rows]
        if row_index.ndim == 0:
            row_index = row_index[None]
        return replace(
            self,
            X=self.X[row_index],
            Y=self.Y[row_index],
            groups=None if self.groups is None else self.groups[row_index],
            time=None if self.time is None else self.time[row_index],
            text=None if self.text is None else [self.text[i] for i in row_index],
            text_columns=self.text_columns
            and {name: [c[i] for i in row_index] for name, c in self.text_columns.items()},
            missing=None if self.missing is None else self.missing[row_index],
        )

    def describe(self, *, n_pairs: int = 10) -> dict[str, Any]:
        """Return statistics of the data set.

        Parameters
        ----------
        n_pairs : int
            How many of the most correlated pairs of labels to list.

        Returns
        -------
        dict
            ``rows, features, labels``, ``feature_density`` (share of non-zeros), ``cardinality`` (labels
            per row), ``density`` (cardinality / labels), ``max_labels_per_row``,
            ``distinct_label_sets``, ``hypercube_sparsity_log2`` (log₂ of the share of the 2^k vertices of
            the label hypercube that occur), ``rows_without_labels``, ``labels_without_positives``,
            ``rarest_label`` and ``most_frequent_label`` (counts, among labels that occur),
            ``mean_imbalance_ratio`` and ``max_imbalance_ratio`` (count of the most frequent label over
            that of each label), ``correlated_pairs`` (by the φ coefficient), ``groups`` and
            ``unknown_entries`` (of Y; None where all are known).

        Examples
        --------
        >>> from hyperlabel.datasets import Dataset
        >>> stats = Dataset([[0.0], [1.0]], [["red", "blue"], ["red"]]).describe()
        >>> stats["cardinality"], stats["distinct_label_sets"], stats["hypercube_sparsity_log2"]
        (1.5, 2, -1.0)
        """
        from hyperlabel._validation import number_groups

        group_numbers = None if self.groups is None else number_groups(self.groups, self.n_rows)
        n_nonzeros = self.X.nnz if sparse.issparse(self.X) else int(np.count_nonzero(self.X))
        n_entries = self.n_rows * self.n_features
        return {
            "name": self.name,
            "rows": self.n_rows,
            "features": self.n_features,
            "labels": self.n_labels,
            "sparse": sparse.issparse(self.X),
            "feature_density": n_nonzeros / n_entries if n_entries else 0.0,
            "groups": None if group_numbers is None else int(group_numbers.max(initial=-1)) + 1,
            "unknown_entries": None if self.missing is None else self.missing.nnz or None,
            **describe_labels(self.Y, self.label_names, n_pairs=n_pairs),
        }

    def save(self, path: str | os.PathLike[str], format: str | None = None) -> Path:
        """Write the data set to a file; it appears only once it is complete.

        Parameters
        ----------
        path : path
            The file; a name that ends in ``.gz`` is compressed (all but npz and Parquet).
        format : {"npz", "libsvm", "xmc", "csv", "jsonl", "json", "parquet", "xlsx"}, optional
            By default the ending says it: ``.npz``, ``.svm``, ``.libsvm``, ``.svmlight``, ``.xmc``,
            ``.txt``, ``.csv``, ``.tsv``, ``.jsonl``, ``.ndjson``, ``.parquet`` or ``.pq``.
            npz and tables keep names, groups, time and text; a table lists the labels of a row in its
            column ``labels``. LIBSVM numbers labels from 0 and features from 1.

        Returns
        -------
        path

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from hyperlabel.datasets import load_npz, make_multilabel
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = make_multilabel(4, 2, 3, random_state=0).save(pathlib.Path(folder, "a.npz"))
        ...     load_npz(file)
        Dataset('a', n=4, d=2, k=3, dense)
        """
        return save_dataset(self, path, format)

    def label_sets(self) -> list[list[str]]:
        """Return, for each row, the names of its labels."""
        name_array = np.asarray(self.label_names, dtype=object)
        row_labels: list[list[str]] = [
            list(name_array[self.Y.indices[a:b]])
            for a, b in zip(self.Y.indptr[:-1], self.Y.indptr[1:], strict=True)
        ]
        return row_labels


def concat(datasets: Iterable[Dataset], *, name: str | None = None) -> Dataset:
    """Put the rows of several data sets with the same columns on top of each other.

    Parameters
    ----------
    datasets : iterable of Dataset
        At least one; names of features and labels must agree.
    name : str, optional
        Name of the result; the first one's when not given.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from hyperlabel.datasets import Dataset, concat
    >>> one = Dataset([[1.0]], [[1]], name="one")
    >>> len(concat([one, one]))
    2
    """
    datasets = list(datasets)
    if not datasets:
        raise ValueError("There is nothing to concatenate: give at least one data set.")
    if len(datasets) == 1:
        return datasets[0] if name is None else replace(datasets[0], name=name)
    first_dataset = datasets[0]
    for dataset in datasets[1:]:
        same_features = dataset.feature_names == first_dataset.feature_names
        if not same_features or dataset.label_names != first_dataset.label_names:
            raise ValueError(
                f"{first_dataset.name!r} and {dataset.name!r} differ in their feature or label names: "
                "only data sets with the same columns can be concatenated."
            )

    def joined(name: str, join: Callable[[list[Any]], Any] = np.concatenate) -> Any:
        field_values = [getattr(dataset, name) for dataset in datasets]
        return None if any(field_value is None for field_value in field_values) else join(field_values)

    return replace(
        first_dataset,
        X=joined("X", _concat_rows),
        Y=joined("Y", _concat_rows),
        name=first_dataset.name if name is None else name,
        groups=joined("groups"),
        time=joined("time"),
        text=joined("text", lambda texts: list(chain.from_iterable(texts))),
        text_columns=joined("text_columns", _concat_text_columns),
        missing=_concat_missing(datasets),
    )


def _concat_missing(datasets: list[Dataset]) -> Any:
    """Put the missing labels on top of each other; a data set without such has none."""
    if all(dataset.missing is None for dataset in datasets):
        return None
    blocks = [
        sparse.csr_array(dataset.Y.shape, dtype=np.int8) if dataset.missing is None else dataset.missing
        for dataset in datasets
    ]
    return _concat_rows(blocks)


def _concat_rows(blocks: list[Any]) -> Any:
    if not any(sparse.issparse(block) for block in blocks):
        return np.vstack(blocks)
    return sparse.vstack([sparse.csr_array(block) for block in blocks], format="csr")


def _concat_text_columns(blocks: list[dict[str, list[str]]]) -> dict[str, list[str]]:
    return {name: [cell for block in blocks for cell in block[name]] for name in blocks[0]}


def rebatch(datasets: Iterable[Dataset], chunk_rows: int) -> Iterator[Dataset]:
    """Yield the rows of a stream of data sets in chunks of ``chunk_rows`` (the last may be shorter)."""
    if chunk_rows < 1:
        raise ValueError(f"chunk_rows must be at least 1, not {chunk_rows}.")
    pending_datasets: list[Dataset] = []
    n_pending, has_yielded = 0, False
    for dataset in datasets:
        pending_datasets.append(dataset)
        n_pending += len(dataset)
        while n_pending >= chunk_rows:
            pending_rows = concat(pending_datasets)
            yield pending_rows[:chunk_rows]
            has_yielded = True
            pending_datasets, n_pending = [pending_rows[chunk_rows:]], n_pending - chunk_rows
    if n_pending or (pending_datasets and not has_yielded):
        yield concat(pending_datasets)


def _as_features(X: Any) -> Any:
    X = checked_csr(X) if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions (rows, features), not {X.ndim}.")
    if X.dtype.kind != "f":
        _check_numbers(X.data if sparse.issparse(X) else X)
        X = X.astype(np.float64)
    return small_indices(X) if sparse.issparse(X) else X


def _check_numbers(values: np.ndarray) -> None:
    """Refuse what NumPy would turn into numbers with a loss, or by Python's grammar (``1_000``)."""
    is_mixed = values.dtype.kind == "O"
    if values.dtype.kind == "c" or (is_mixed and any(isinstance(value, complex) for value in values.flat)):
        raise ValueError("X holds complex numbers: give their real and imaginary parts as two features.")
    if values.dtype.kind in "US" or (
        is_mixed and any(isinstance(value, str | bytes) for value in values.flat)
    ):
        raise ValueError("X holds text: turn it into numbers first.")
    if values.dtype.kind not in "biuO":
        raise ValueError(f"X must hold numbers, not {values.dtype}.")


def _as_indicator(Y: Any, names: Sequence[str] | None) -> tuple[sparse.csr_array, Any]:
    if (row_sets := label_sets(Y)) is not None:
        return indicator_from_sets(row_sets, names)
    Y = plain_targets(Y)
    if isinstance(Y, NamedColumns):  # a frame brings its names
        Y, names = Y.values, Y.columns if names is None else names
    Y = checked_csr(Y) if sparse.issparse(Y) else np.asarray(Y)
    if Y.ndim != 2:
        raise ValueError(f"Y must have two dimensions (rows, labels), not {Y.ndim}.")
    values = Y.data if sparse.issparse(Y) else Y
    if values.dtype.kind not in "buif" or not ((values == 0) | (values == 1)).all():
        raise ValueError("Y must hold only zeros and ones: one column per label, 1 where a row has it.")
    Y = sparse.csr_array(Y)
    Y.sum_duplicates()
    Y.eliminate_zeros()
    Y = sparse.csr_array((np.ones(Y.nnz, dtype=np.int64), Y.indices, Y.indptr), shape=Y.shape)
    return small_indices(Y), names


def _as_names(names: Any, count: int, prefix: str, column_role: str) -> Sequence[str]:
    if names is None:
        return NumberedNames(prefix, count)
    if isinstance(names, NumberedNames) and len(names) == count:
        return names
    names = [str(name) for name in names]
    if len(names) != count:
        raise ValueError(f"There are {len(names)} {column_role}_names for {count} {column_role}s.")
    if column_role == "label" and len(set(names)) < len(names):
        repeated_name = next(name for name, count in Counter(names).items() if count > 1)
        raise ValueError(f"The label name {repeated_name!r} appears more than once: label names must differ.")
    return names


def _as_column(values: Any, n_rows: int, field: str) -> np.ndarray:
    column = np.asarray(values)
    if column.shape != (n_rows,):
        raise ValueError(f"{field} must hold one value per row ({n_rows}), not shape {column.shape}.")
    return column
