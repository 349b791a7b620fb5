"""The number of components, chosen on held-out rows: every M from one fit per fold.

Components are nested, so a fold's model with the most components holds all smaller ones. With
the default ridge the folds cost no further pass over the training rows: moments of all rows
minus moments of the fold are the moments of the rest, and XᵀX, XᵀY and YᵀY are all that
encoder and regressor need. Both are refitted per fold, so nothing of the held-out rows leaks; only λ = "auto"
is decided once, on all rows: every M has the same, so that it favours none.
"""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from hyperlabel._base import KnownScores
from hyperlabel._missing_labels import constant_labels
from hyperlabel._validation import TargetLayout
from hyperlabel.labelspace.ridge_codes import codes_from_moments, codes_from_rows
from hyperlabel.metrics import get_scorer
from hyperlabel.moments.cross_validate import Fold, Folds, as_indicator
from hyperlabel.solvers.arrays import as_dense
from hyperlabel.solvers.labels.nested_metric_path import score_nested
from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.ridge.routes import alpha_of_labels, choose_alpha
from hyperlabel.solvers.spectral.label_svd import GRAM_MAX

# The metrics that the compiled path scores, by their names in `hyperlabel.metrics`, with k.
COMPILED_METRICS = {f"{name}_at_{k}": (name, k) for name in ("ndcg", "precision") for k in (1, 3, 5)}
COMPILED_METRICS |= {"f1_micro": ("f1_micro", 1), "hamming_loss": ("hamming_loss", 1)}
LARGE_MAX = 256  # components tried when the labels are too many for a K×K matrix
GRID_SIZE = 16
FAR = 1e6  # score of labels that a fold never (always) sees: they rank last (first)


def choose_dimension(
    model: Any, encoder: Any, X: Any, Y: sparse.csr_array, groups: Any
) -> tuple[dict[str, Any], RowMoments | None, Any]:
    """Held-out score of every candidate M of a label-space classifier: its `dimension_path_` (see `PLST`).

    Also return the moments of all rows, where the folds were summed, and λ.
    """
    grid, scorer = check_n_components_grid(model.n_components_grid, Y.shape), check_scoring(model.scoring)
    # one row, or one candidate: nothing to compare
    fold_scores, total_moments, alpha = np.zeros((1, len(grid))), None, model.alpha
    if Y.shape[0] > 1 and len(grid) > 1:
        cv = min(model.cv, Y.shape[0]) if isinstance(model.cv, int) else model.cv
        largest_encoder = clone(encoder).set_params(n_components=int(grid[-1]))
        # a regressor of the user's needs the rows of each fold: their moments would be summed for nothing
        summed = None if model.regressor is None else False
        folds = Folds(X, Y, cv, groups=groups, with_target_gram=encoder.needs_cooccurrence, summed=summed)
        total_moments = folds.total
        if isinstance(alpha, str) and model.regressor is None:
            alpha = choose_alpha(X, Y) if total_moments is None else alpha_of_labels(total_moments)
        all_folds = list(folds)
        fold_constants = [constant_labels(Y[fold.train].sum(axis=0), len(fold.train)) for fold in all_folds]
        fold_scores = np.stack(
            [
                _score_fold(model, largest_encoder, alpha, fold, X, Y, grid, scorer, FAR * constant_signs)
                for fold, constant_signs in zip(all_folds, fold_constants, strict=True)
            ]
        )
    mean_scores = fold_scores.mean(axis=0)
    dimension_path = {
        "n_components": grid,
        "mean": mean_scores,
        "std": fold_scores.std(axis=0, ddof=1) if len(fold_scores) > 1 else np.zeros(len(grid)),
        "fold_scores": fold_scores,
        "chosen": int(grid[mean_scores.argmax()]),  # the smallest of equals
    }
    return dimension_path, total_moments, alpha


def check_n_components_grid(n_components_grid: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return the M to try, ascending: a geometric grid, all of them, or the user's own."""
    n, K = shape
    largest = min(n, K) if min(n, K) <= GRAM_MAX else LARGE_MAX
    if n_components_grid is None:
        return np.unique(np.geomspace(1, largest, GRID_SIZE).round().astype(np.int64))
    if isinstance(n_components_grid, str):
        if n_components_grid != "all":
            raise ValueError(f"n_components_grid must be None, 'all' or integers, got {n_components_grid!r}.")
        return np.arange(1, largest + 1)
    grid = np.unique(np.asarray(n_components_grid))
    if grid.ndim != 1 or grid.dtype.kind not in "iu" or not len(grid) or grid[0] < 1 or grid[-1] > K:
        raise ValueError(f"n_components_grid must be integers from 1 to the number of labels ({K}).")
    return grid.astype(np.int64)


def check_scoring(scoring: Any) -> Any:
    """Return the name and k of a metric that the compiled path scores, or a scorer."""
    name = "ndcg_at_5" if scoring is None else scoring
    return COMPILED_METRICS[name] if isinstance(name, str) and name in COMPILED_METRICS else get_scorer(name)


def _score_fold(
    model: Any,
    encoder: Any,
    alpha: Any,
    fold: Fold,
    X: Any,
    Y: sparse.csr_array,
    grid: np.ndarray,
    scorer: Any,
    constant: np.ndarray,
) -> np.ndarray:
    """Score of each M on the test rows of a fold, by encoder and regressor fitted on its training rows."""
    test_rows = X[fold.test]
    if fold.moments is None:
        codes = _predict_codes(model, encoder, alpha, X[fold.train], Y[fold.train], test_rows)
    else:
        ridge = codes_from_moments(encoder, model._with_alpha, alpha, fold.moments).codes
        # in single precision, as they are judged: see `prefix_scores`
        codes = as_dense(test_rows.astype(np.float32) @ ridge.coef.astype(np.float32))
        codes += ridge.intercept.astype(np.float32)
    # ỹ > ½ decides, so scores are ỹ − ½: the sign is what the compiled metrics read
    base_scores = encoder.offset_ - 0.5 + constant
    P, truth = as_dense(encoder.components_), Y[fold.test]
    # a fold of lower rank has fewer components: larger M change nothing there
    component_counts, grid_index = np.unique(np.minimum(grid, len(P)), return_inverse=True)
    metric, k = scorer if isinstance(scorer, tuple) else (_scorer_metric(scorer, test_rows, model._layout), 0)
    return score_nested(codes, P, base_scores, truth, component_counts, metric=metric, k=k)[grid_index]


def _predict_codes(
    model: Any, encoder: Any, alpha: Any, X: Any, Y: sparse.csr_array, test_rows: Any
) -> np.ndarray:
    """Codes predicted for the test rows, where moments do not suffice or do not fit."""
    if model.regressor is None:
        ridge = codes_from_rows(encoder, model._with_alpha, alpha, X, Y).codes
        return as_dense(test_rows @ ridge.coef) + ridge.intercept
    H = as_dense(encoder.fit(Y, X).transform(Y))
    fitted_regressor = clone(model.regressor).fit(X, H[:, 0] if H.shape[1] == 1 else H)
    return np.asarray(fitted_regressor.predict(test_rows)).reshape(test_rows.shape[0], -1)


def _scorer_metric(scorer: Any, X: Any, layout: TargetLayout) -> Any:
    """Return the metric(Y, scores) that a scorer(estimator, X, y) means on these rows."""
    layout = as_indicator(layout)

    def metric(Y: sparse.csr_array, scores: np.ndarray) -> float:
        truth = Y if layout.is_sparse else Y.toarray().astype(int)
        return scorer(KnownScores(scores, layout), X, truth)

    return metric
