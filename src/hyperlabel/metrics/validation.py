"""Read the arguments of the measures: truth, label sets and scores in one form each.

Notation
--------
Y  : n×K ``csr_array`` of ones, the true labels
missing : n×K ``csr_array`` pattern of the entries of y_true that are NaN, or None
TopK : lists of the best labels of each row; every label outside the list is taken as tied below it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from inspect import cleandoc, signature
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse
from sklearn.utils import gen_batches

from hyperlabel._labels import NamedColumns, indicator_from_sets, label_sets
from hyperlabel._missing_labels import harden, split_missing
from hyperlabel._validation import check_targets, check_weights, column_names

# Rows are handled in blocks of about this many entries, so that nothing n×K is ever formed.
BLOCK_ENTRIES = 2**18


_ARGUMENTS = {
    "y_true": """y_true : array-like or sparse matrix of shape (n_samples, n_labels)
    True indicator of 0 and 1; NaN where unknown (such entries count nowhere, nor do rows without a known
    one). A share between 0 and 1 counts as the likelier answer, and as unknown at ½. Or the names of the
    labels of each row; y_pred then names labels too, and scores are a frame with these names. A label that
    these lack counts as not predicted, ranked below all others (several such tie) and of probability 0.""",
    "y_pred": """y_pred : array-like or sparse matrix of shape (n_samples, n_labels)
    Predicted indicator.""",
    "y_score": """y_score : array-like of shape (n_samples, n_labels), or tuple (indices, scores)
    Scores of all labels, or the best labels of each row as `predict_topk` gives them; labels outside a list
    are taken as tied below it.""",
    "y_proba": """y_proba : array-like of shape (n_samples, n_labels), or tuple (indices, probabilities)
    Probability of each label, or of the best labels of each row; the others are taken as 0.""",
    "k": """k : int, default=5
    How many labels of each row are looked at; lists must hold as many.""",
    "average": """average : str or None, default="macro"
    None gives one value for each label, "macro" their mean; for others see :func:`f1_score`.""",
    "sample_weight": """sample_weight : array-like of shape (n_samples,), default=None
    Weights of the rows.""",
}
_PARAMETERS, _RETURNS = "Parameters\n----------\n", "Returns\n-------\n"
Measure = TypeVar("Measure", bound=Callable[..., Any])


def takes_checked(measure: Any) -> bool:
    """Whether a function reads a `Truth` and a `CheckedAnswer`: those of this package do."""
    return getattr(measure, "takes_checked", False)


def with_shared_arguments(measure: Measure) -> Measure:
    """Write into the docstring of a measure the arguments that it shares with others and does not name."""
    doc = cleandoc(measure.__doc__ or "")
    if _PARAMETERS not in doc:
        doc = doc.replace(_RETURNS, f"{_PARAMETERS}\n{_RETURNS}", 1)
    missing_names = [name for name in signature(measure).parameters if f"\n{name} : " not in doc]
    shared_texts = [f"{_ARGUMENTS[name]}\n" for name in missing_names]
    measure.takes_checked = True  # type: ignore[attr-defined]
    measure.__doc__ = doc.replace(_PARAMETERS, "".join([_PARAMETERS, *shared_texts]), 1)
    return measure


class NamedAnswer(NamedColumns):
    """Predictions of a model, under the names of its labels: a label it does not know counts as missed.

    The values are an array of a column for each name, or lists of the best labels (indices, scores).
    """


@dataclass(frozen=True, eq=False)
class CheckedAnswer:
    """Predictions that are validated already, to be compared with a `Truth`: sets as csr_array, or scores."""

    values: Any


class TopK(NamedTuple):
    """The best labels of each row, best first; an index of -1 pads a shorter list."""

    indices: np.ndarray
    scores: np.ndarray


@dataclass(frozen=True, eq=False)
class Truth:
    """The true labels, which of them nobody knows, and what they are called."""

    Y: sparse.csr_array
    missing: sparse.csr_array | None = None
    names: list[str] | None = None  # of the labels, where y_true has them
    from_sets: bool = False  # the labels are those that either side names

    @classmethod
    def of_targets(cls, Y: sparse.csr_array, names: list[str] | None = None) -> Truth:
        """Return the truth of a validated indicator: stored NaN is unknown, shares become hard."""
        if (Y.data == 1.0).all():
            return cls(Y, None, names)
        known, missing = split_missing(harden(Y))
        return cls(known, None if missing is None else missing.astype(bool), names)

    def with_unknown(self) -> sparse.csr_array:
        """Return the indicator with NaN where nobody knows, the inverse of `of_targets`."""
        return self.Y if self.missing is None else sparse.csr_array(self.Y + self.missing * np.nan)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and labels."""
        return self.Y.shape

    @property
    def rows_known(self) -> np.ndarray | None:
        """Rows with a known label, where others have none."""
        if self.missing is None:
            return None
        has_known = self.n_known(axis=1) > 0
        return None if has_known.all() else np.flatnonzero(has_known)

    def take(self, rows: np.ndarray) -> Truth:
        """Return some of the rows."""
        return replace(self, Y=self.Y[rows], missing=None if self.missing is None else self.missing[rows])

    def clear_unknown(self, P: sparse.csr_array) -> sparse.csr_array:
        """Return label sets without the entries nobody knows the truth of."""
        if self.missing is not None:
            P = sparse.csr_array(P - P.multiply(self.missing))
            P.eliminate_zeros()
        return P

    def n_known(self, axis: int) -> np.ndarray:
        """Count the known entries of each label (axis 0) or row (axis 1)."""
        full = np.full(self.shape[1 - axis], self.shape[axis], dtype=np.int64)
        return full if self.missing is None else full - np.diff(_along_axis(self.missing, axis).indptr)


def take_answer(answer: Any, rows: np.ndarray) -> Any:
    """Return some rows of scores, best labels or label sets; None stays None."""
    if isinstance(answer, TopK):
        return TopK(answer.indices[rows], answer.scores[rows])
    return None if answer is None else answer[rows]


def leave_out_unknown(truth: Truth, *answers: Any) -> tuple[Any, ...]:
    """Return truth and answers (or weights) without the rows no label of which is known."""
    rows = truth.rows_known
    if rows is None:
        return (truth, *answers)
    return (truth.take(rows), *(take_answer(answer, rows) for answer in answers))


def _along_axis(A: sparse.csr_array, axis: int) -> Any:
    return A if axis == 1 else A.tocsc()


def read_truth(y_true: Any, *others: Any) -> Truth:
    """Read y_true: an indicator, dense or sparse (NaN marks an entry nobody knows), or sets of names.

    Sets know only the labels they name: those of `others`, which are compared with them, belong to them too.
    """
    if isinstance(y_true, Truth):
        return y_true
    compared_names = [name for compared in others for name in named_labels(compared) or ()]
    if (sets := label_sets(y_true, even_empty=bool(compared_names))) is not None:
        label_names = sorted({*(named_labels(y_true) or ()), *compared_names})
        return Truth(indicator_from_sets(sets, label_names)[0], None, label_names, from_sets=True)
    if sparse.issparse(y_true):
        return Truth.of_targets(_read_indicator(y_true, "y_true", uncertain=True))
    names = _given_names(y_true)
    values = _as_two_dimensional(y_true, "y_true")
    return Truth.of_targets(_read_indicator(values, "y_true", uncertain=True), names)


def named_labels(y: Any) -> list[str] | None:
    """Labels that sets name, or the columns of a frame; None where there are no names."""
    sets = label_sets(y)
    return _given_names(y) if sets is None else [name for row in sets for name in row]


def name_columns(answer: Any, label_names: Any, name: str) -> Any:
    """Return the answer under these names, unless it has names of its own."""
    if answer is None or isinstance(answer, NamedAnswer) or named_labels(answer) is not None:
        return answer
    names = [str(label) for label in label_names]
    if not isinstance(answer, tuple):
        answer = answer if sparse.issparse(answer) else np.asarray(answer)
        if answer.shape[1:] != (len(names),):
            columns = answer.shape[1] if answer.ndim == 2 else 1
            raise ValueError(f"{len(names)} labels are named, {name} has {columns} columns.")
    return NamedAnswer(answer, names)


def read_label_sets(y_pred: Any, truth: Truth) -> sparse.csr_array:
    """Read predicted label sets; entries nobody knows the truth of are cleared."""
    if isinstance(y_pred, CheckedAnswer):
        return truth.clear_unknown(y_pred.values)
    if (sets := label_sets(y_pred, even_empty=truth.names is not None)) is not None:
        if truth.names is None:
            raise ValueError("y_pred names labels, but y_true has no names: give both as sets, or neither.")
        y_pred, _ = indicator_from_sets(sets, truth.names)
    else:
        y_pred = _order_by_name(y_pred, truth, "y_pred", absent=0)
        y_pred = y_pred if sparse.issparse(y_pred) else _as_two_dimensional(y_pred, "y_pred")
    P = _read_indicator(y_pred, "y_pred")
    _check_shape(P.shape, truth.shape, "y_pred")
    return truth.clear_unknown(P)


def read_scores(y_score: Any, truth: Truth, name: str = "y_score") -> np.ndarray | TopK:
    """Read scores: an n×K array, or a tuple (indices, scores) of the best labels of each row."""
    if isinstance(y_score, CheckedAnswer):
        return y_score.values
    if isinstance(y_score, NamedAnswer) and isinstance(y_score.values, tuple):
        return _read_named_lists(y_score, truth, name)
    if isinstance(y_score, tuple):
        _refuse_unnamed(truth, name)
        return _read_lists(y_score, truth.shape)
    scores = np.asarray(_order_by_name(y_score, truth, name, absent=0 if name == "y_proba" else -np.inf))
    scores = scores[:, None] if scores.ndim == 1 else scores
    if scores.dtype.kind not in "biuf":
        raise ValueError(f"{name} must hold numbers, got dtype {scores.dtype}.")
    _check_shape(scores.shape, truth.shape, name)
    if np.isnan(scores).any():
        raise ValueError(f"{name} contains NaN: every label of every row needs a score.")
    return scores.astype(np.float64, copy=False) if scores.dtype.kind != "f" else scores


def read_scored(
    y_true: Any, y_score: Any, sample_weight: Any
) -> tuple[Truth, np.ndarray | TopK, np.ndarray | None]:
    """Read truth, scores and weights of the rows."""
    truth = read_truth(y_true, y_score)
    scores, weights = read_scores(y_score, truth), read_weights(sample_weight, truth)
    known: tuple[Truth, np.ndarray | TopK, np.ndarray | None] = leave_out_unknown(truth, scores, weights)
    return known


def read_weights(sample_weight: Any, truth: Truth) -> np.ndarray | None:
    """Read the weights of the rows; None means that every row counts once."""
    return None if sample_weight is None else check_weights(sample_weight, truth.Y)


def weighted_mean(values: np.ndarray, weights: np.ndarray | None) -> float:
    """Mean over rows (NaN if there is none), with weights where given."""
    if len(values) == 0 or (weights is not None and not weights.any()):
        return float("nan")
    return float(np.average(values, weights=weights))


def mean_where_defined(values: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Mean over the rows whose value is defined."""
    is_defined = ~np.isnan(values)
    return weighted_mean(values[is_defined], None if weights is None else weights[is_defined])


def mean_over_labels(values: np.ndarray, average: Any) -> Any:
    """Mean over the labels whose value is defined, or with `average` None the values themselves."""
    if average not in ("macro", None):
        raise ValueError(f"average must be 'macro' or None, got {average!r}.")
    return values if average is None else mean_where_defined(values)


def bounded_blocks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of rows (or columns) of a bounded number of entries."""
    return gen_batches(n_rows, max(1, BLOCK_ENTRIES // max(1, n_columns)))


def row_entries(Y: sparse.csr_array, rows: slice) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of stored entries of some rows and their columns, without a copy."""
    ends = Y.indptr[rows.start : rows.stop + 1]
    return np.diff(ends), Y.indices[ends[0] : ends[-1]]


def contains_columns(A: sparse.csr_array, indices: np.ndarray) -> np.ndarray:
    """Say which of the columns listed for each row are stored in that row of A."""
    n, n_columns = A.shape
    row_index = np.repeat(np.arange(n, dtype=np.int64), np.diff(A.indptr))
    stored_keys = np.sort(row_index * n_columns + A.indices)
    listed_keys = np.arange(n, dtype=np.int64)[:, None] * n_columns + indices
    if len(stored_keys) == 0:
        return np.zeros(listed_keys.shape, dtype=bool)
    insertion_index = np.minimum(np.searchsorted(stored_keys, listed_keys.ravel()), len(stored_keys) - 1)
    return (stored_keys[insertion_index].reshape(listed_keys.shape) == listed_keys) & (indices >= 0)


def _read_lists(y_score: tuple, shape: tuple[int, int]) -> TopK:
    if len(y_score) != 2:
        raise ValueError(f"Top-k scores are a pair (indices, scores), got {len(y_score)} parts.")
    indices, scores = np.asarray(y_score[0]), np.asarray(y_score[1], dtype=np.float64)
    if indices.ndim != 2 or indices.shape != scores.shape or len(indices) != shape[0]:
        raise ValueError(
            f"Top-k indices and scores must both be of shape ({shape[0]}, k); "
            f"got {indices.shape} and {scores.shape}."
        )
    if indices.dtype.kind not in "iu":
        raise ValueError(f"Top-k indices must be integers, got dtype {indices.dtype}.")
    indices = indices.astype(np.int64, copy=False)
    if indices.size and not (indices.min() >= -1 and indices.max() < shape[1]):
        raise ValueError(f"Top-k indices must lie between 0 and {shape[1] - 1} (or be -1 for padding).")
    ordered = np.sort(indices, axis=1)
    if ((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)).any():
        raise ValueError("A row of the top-k indices names the same label twice.")
    if np.isnan(scores[indices >= 0]).any():
        raise ValueError("Top-k scores contain NaN: every listed label needs a score.")
    return TopK(indices, scores)


def _given_names(y: Any) -> list[str] | None:
    """Column names that somebody gave: pandas numbers the columns of a plain array."""
    names = column_names(y)
    return None if names == [str(j) for j in range(len(names or ()))] else names


def _order_by_name(y: Any, truth: Truth, name: str, *, absent: float) -> Any:
    """Return the columns of y in the order of y_true, where both have names; otherwise y as it is.

    Labels that y does not have are `absent` where they count as missed: y_true names those of each row, or y
    is the answer of a model.
    """
    given_names, values = _given_names(y), y.values if isinstance(y, NamedColumns) else y
    if given_names is None:
        _refuse_unnamed(truth, name)
    if given_names is None or truth.names is None or given_names == truth.names:
        return values
    for column_labels, owner in ((given_names, name), (truth.names, "y_true")):
        if len(set(column_labels)) < len(column_labels):
            raise ValueError(f"Two columns of {owner} have the same name: rename one of them.")
    column_of_label = {label: j for j, label in enumerate(given_names)}
    missing_labels = [label for label in truth.names if label not in column_of_label]
    refused_labels = [] if truth.from_sets or isinstance(y, NamedAnswer) else missing_labels
    _refuse_columns(
        refused_labels, sorted(set(given_names).difference(truth.names), key=given_names.index), name
    )
    return _take_columns(values, [column_of_label.get(label, -1) for label in truth.names], absent)


def _take_columns(values: Any, columns: list[int], absent: float) -> Any:
    """Return some columns of an array or a sparse indicator, `absent` where the column is -1."""
    if sparse.issparse(values):
        empty_column = sparse.csr_array((values.shape[0], 1), dtype=values.dtype)
        return sparse.hstack([values, empty_column], format="csc")[:, columns]
    values = np.asarray(values)
    if min(columns, default=0) >= 0:
        return values[:, columns]
    absent_column = np.full((len(values), 1), absent, dtype=np.result_type(values, type(absent)))
    return np.hstack([values, absent_column])[:, columns]


def _read_named_lists(answer: NamedAnswer, truth: Truth, name: str) -> TopK:
    """Read the best labels of each row as columns of the truth."""
    lists = _read_lists(answer.values, (truth.shape[0], len(answer.columns)))
    if truth.names is None:
        return _read_lists(answer.values, truth.shape)
    column_of_label = {label: j for j, label in enumerate(truth.names)}
    _refuse_columns([], [label for label in answer.columns if label not in column_of_label], name)
    columns = np.array([*(column_of_label[label] for label in answer.columns), -1])
    return TopK(columns[lists.indices], lists.scores)


def _refuse_columns(missing: list[str], strange: list[str], name: str) -> None:
    """Refuse columns that y_true has and y has not, or the other way round."""
    faults = [f"{label!r} is missing" for label in missing][:1]
    faults += [f"{label!r} is not in y_true" for label in strange][:1]
    if faults:
        raise ValueError(
            f"The columns of {name} are not those of y_true: {' and '.join(faults)}. Frames are compared by "
            "column names; pass arrays to compare by place."
        )


def _refuse_unnamed(truth: Truth, name: str) -> None:
    if truth.from_sets:
        raise ValueError(
            f"y_true names its labels, the columns of {name} have no names: give a frame with the names as "
            "columns, the names themselves (predict_labels), or label_names= to evaluate."
        )


def _as_two_dimensional(y: Any, name: str) -> np.ndarray:
    values = np.asarray(y)
    if values.ndim == 1 and values.dtype.kind in "biuf":
        values = values[:, None]  # one label
    if values.ndim != 2:
        raise ValueError(
            f"{name} must be an indicator of 0 and 1 (rows × labels); got {values.ndim} dimension(s) "
            f"of dtype {values.dtype}."
        )
    return values


def _read_indicator(y: Any, name: str, *, uncertain: bool = False) -> sparse.csr_array:
    Y, layout = check_targets(y, name=name, missing=uncertain, soft=uncertain)
    if layout.kind != "multilabel":  # a column of other values than 0 and 1
        raise ValueError(f"{name} must hold only 0 and 1.")
    return Y


def _check_shape(shape: tuple[int, ...], truth_shape: tuple[int, int], name: str) -> None:
    if shape != truth_shape:
        raise ValueError(f"{name} has shape {shape}, but y_true has shape {truth_shape}: they must agree.")
