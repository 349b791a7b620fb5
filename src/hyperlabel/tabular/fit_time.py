"""How long a fit will take, from small pieces of it that are timed before it starts."""

import math
import warnings
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.tabular.fit_plan import folds_share_factor
from hyperlabel.tabular.pipeline import SUMS, Choices

_LONG = 60.0  # seconds above which a fit says how long it will take
_BLOCK_LABELS = 128  # of a timed piece of wide sparse rows
_FEWEST_PIECES = 8  # a fit of fewer pieces is not timed first: one more would show
_PIECE_ROWS = 250  # of the first timed piece; each further one has twice as many
_PIECE_COLUMNS = 400  # of a timed piece of the shared ridge
_PIECE_SECONDS = 0.5  # a second piece as long as this is the last one
_FEWEST_PRODUCTS = 1e11  # multiplications of a ridge below which it surely takes less than a minute
_STEEPEST = 2.0  # power of the rows with which the time of any method grows at most


def warn_of_long_fit(
    classifier: Any, row_features: Any, Y: Any, choices: Choices, *, has_text: bool = True
) -> float | None:
    """Warn where timed pieces of a fit predict more than a minute; return the seconds they predict.

    Less than a minute may be an upper bound. None where a fit is so small that it is not timed, or where a
    piece of it cannot be fitted.
    """
    predicted_seconds = _predict_seconds(classifier, row_features, Y, choices)
    if predicted_seconds is not None and predicted_seconds > _LONG:
        warnings.warn(
            f"This fit will take about {predicted_seconds / 60:.0f} minutes, by the time of its first block. "
            f"Faster: {', or '.join(_list_faster(row_features, choices, has_text))}.",
            stacklevel=2,
        )
    return predicted_seconds


def _predict_seconds(classifier: Any, row_features: Any, Y: Any, choices: Choices) -> float | None:
    from hyperlabel.linear import BinaryRelevance
    from hyperlabel.meta import AutoMultiLabel
    from hyperlabel.meta.wrapper_base import iter_nested_estimators
    from hyperlabel.solvers.ridge.routes import route_of_shape

    nested = [model for model in iter_nested_estimators(classifier, "estimator") if model is not None]
    innermost = nested[-1]
    n, d = row_features.shape
    if isinstance(innermost, AutoMultiLabel):  # its first method runs to the end, whatever the budget
        first_method = innermost.get_params(deep=False) | {"methods": ("ridge",), "blend": False}
        return _time_rows(AutoMultiLabel(**first_method), row_features, Y)
    if not (isinstance(innermost, BinaryRelevance) and innermost._is_ridge()):
        return _time_rows(classifier, row_features, Y)
    if d <= SUMS:
        return _time_ridge(classifier, row_features, Y)
    if route_of_shape(n, d, sparse.issparse(row_features)) == "krylov":
        return _time_labels(innermost, row_features, Y, choices)
    return _time_rows(classifier, row_features, Y)


def _time_rows(classifier: Any, row_features: Any, Y: Any) -> float | None:
    """Fit on more and more of the rows until the time for all of them is clear."""
    n = row_features.shape[0]
    row_order = np.random.default_rng(0).permutation(n)
    n_rows, growth, seconds = _PIECE_ROWS, _STEEPEST, 0.0
    while n_rows <= n // 2:
        rows, previous_seconds = np.sort(row_order[:n_rows]), seconds
        piece_seconds = _time_fit(classifier, row_features[rows], Y[rows])
        if piece_seconds is None:
            return None
        seconds = piece_seconds
        if previous_seconds:
            growth = float(np.clip(math.log2(max(seconds / previous_seconds, 1.0)), 1.0, _STEEPEST))
        is_clear = previous_seconds and seconds >= _PIECE_SECONDS
        n_rows *= 2
        if is_clear or seconds * (2 * n / n_rows) ** _STEEPEST <= _LONG:
            break
    return seconds * (2 * n / n_rows) ** growth if seconds else None


def _time_ridge(classifier: Any, row_features: Any, Y: Any) -> float | None:
    """Fit on some rows and columns, and on half of these rows: sums grow with n·d², solutions with d³."""
    n, d = row_features.shape
    if n * d**2 + 20 * d**3 < _FEWEST_PRODUCTS:
        return None
    columns = np.sort(np.random.default_rng(0).permutation(d)[:_PIECE_COLUMNS])
    rows = np.sort(np.random.default_rng(1).permutation(n)[: max(_PIECE_ROWS, min(n, 8 * len(columns)))])
    piece = row_features[rows][:, columns]
    whole = _time_fit(classifier, piece, Y[rows])
    half = _time_fit(classifier, piece[::2], Y[rows[::2]])
    if whole is None or half is None:
        return None
    by_rows = max(whole - half, 0.0) / (len(rows) - len(rows[::2])) * n
    by_columns = max(2 * half - whole, 0.0)
    share = d / len(columns)
    return by_rows * share**2 + by_columns * share**3


def _time_labels(ridge: Any, row_features: Any, Y: Any, choices: Choices) -> float | None:
    """Fit a block of labels: wide sparse rows are solved in such blocks."""
    from hyperlabel.linear import BinaryRelevance

    n_folds = 0 if choices.thresholds == "none" else (3 if row_features.shape[0] > 4000 else 5)
    n_solves = 1 + n_folds
    if n_folds and folds_share_factor(row_features.shape[0], row_features.nnz, Y.shape[1], n_folds):
        n_solves = 2  # one factorisation for all folds takes no longer than a fit
    n_pieces = math.ceil(Y.shape[1] / _BLOCK_LABELS) * n_solves
    if n_pieces < _FEWEST_PIECES:
        return None
    alpha = ridge.alpha if isinstance(ridge.alpha, float) else 1.0
    seconds = _time_fit(BinaryRelevance(alpha=alpha), row_features, Y[:, :_BLOCK_LABELS])
    return None if seconds is None else n_pieces * seconds


def _time_fit(classifier: Any, row_features: Any, Y: Any) -> float | None:
    """Return the seconds that a fit takes; None where it fails, as one of few rows may."""
    from sklearn.base import clone

    from hyperlabel.solvers.clock import working_seconds

    start_seconds = working_seconds()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            clone(classifier).fit(row_features, Y)
    except ValueError:
        return None
    return working_seconds() - start_seconds


def _list_faster(row_features: Any, choices: Choices, has_text: bool) -> list[str]:
    """Return the options that shorten a fit by much."""
    options = []
    if choices.method != "ridge":
        options.append("--method ridge")
    if has_text:
        options.append(f"--words {max(1, row_features.shape[1] // 4)} (has {row_features.shape[1]})")
    options.append("--min-rows 5 (leaves out rare labels)")
    if choices.thresholds != "none" and choices.method != "auto":
        options.append("--thresholds none (only ranks labels)")
    return [*options, "fewer rows (hyperlabel data split)"]
