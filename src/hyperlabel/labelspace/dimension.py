"""The number of components, chosen on held-out rows: every M from one fit per fold.

Components are nested, so a fold's model with the most components holds all smaller ones. With
the default ridge the folds cost no further pass over the training rows: moments of all rows
minus moments of the fold are the moments of the rest, and XᵀX, XᵀY and YᵀY are all that
encoder and regressor need. Both are refitted per fold, so nothing of the held-out rows leaks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold

from hyperlabel._base import KnownScores, constant_labels
from hyperlabel._validation import TargetLayout
from hyperlabel.metrics import get_scorer
from hyperlabel.solvers.arrays import dense
from hyperlabel.solvers.folds import MEMORY_LIMIT, FoldMoments
from hyperlabel.solvers.label_svd import GRAM_MAX, PrincipalDirections
from hyperlabel.solvers.moments import CenteredMoments, Moments
from hyperlabel.solvers.prefix_scores import score_prefixes
from hyperlabel.solvers.ridge import choose_route, solve_codes, solve_ridge

# The metrics that the compiled walk knows, by their names in `hyperlabel.metrics`, with k.
WALKED = {
    "ndcg_at_1": ("ndcg", 1),
    "ndcg_at_3": ("ndcg", 3),
    "ndcg_at_5": ("ndcg", 5),
    "precision_at_1": ("precision", 1),
    "precision_at_3": ("precision", 3),
    "precision_at_5": ("precision", 5),
    "f1_micro": ("f1_micro", 1),
    "hamming_loss": ("hamming_loss", 1),
}
LARGE_MAX = 256  # components tried when the labels are too many for a K×K matrix
GRID_SIZE = 16
FAR = 1e6  # score of labels that a fold never (always) sees: they rank last (first)

Fold = tuple[np.ndarray, np.ndarray, np.ndarray, sparse.csr_array]  # R, P, base, Y held out
Directions = Callable[[Moments, CenteredMoments], tuple[np.ndarray, PrincipalDirections]]


def dimension_path(
    X: Any,
    Y: sparse.csr_array,
    *,
    encoder: Any,
    directions: Directions,
    regressor: Any,
    alpha: float,
    scoring: Any,
    candidates: Any,
    cv: int,
    random_state: int | None,
) -> dict[str, Any]:
    """Held-out score of every candidate M; see `PLST` for the parameters.

    Returns
    -------
    path : dict
        ``n_components`` (the candidates), ``mean`` and ``spread`` (standard deviation over the
        folds), ``fold_scores`` (folds × candidates), ``chosen``.
    """
    grid, metric = check_candidates(candidates, Y.shape), check_scoring(scoring)
    n_folds = min(cv, Y.shape[0])
    if n_folds < 2 or len(grid) == 1:
        scores = np.zeros((1, len(grid)))  # nothing to compare
    else:
        folds = list(KFold(n_folds, shuffle=True, random_state=random_state or 0).split(np.empty(Y.shape[0])))
        if regressor is None and _moments_fit(X, Y, n_folds):
            models = _folds_from_moments(X, Y, folds, directions, alpha)
        else:
            encoder = encoder.set_params(n_components=int(grid[-1]))
            models = _folds_from_rows(X, Y, folds, encoder, regressor, alpha)
        scores = np.stack([_score_fold(fold, grid, metric) for fold in models])
    mean = scores.mean(axis=0)
    return {
        "n_components": grid,
        "mean": mean,
        "spread": scores.std(axis=0, ddof=1) if len(scores) > 1 else np.zeros(len(grid)),
        "fold_scores": scores,
        "chosen": int(grid[mean.argmax()]),  # the smallest of equals
    }


def check_candidates(candidates: Any, shape: tuple[int, int]) -> np.ndarray:
    """Return the M to try, ascending: a geometric grid, all of them, or the user's own."""
    n, K = shape
    largest = min(K, n) if min(n, K) <= GRAM_MAX else min(n, K, LARGE_MAX)
    if candidates is None:
        return np.unique(np.geomspace(1, largest, GRID_SIZE).round().astype(np.int64))
    if isinstance(candidates, str):
        if candidates != "all":
            raise ValueError(f"candidates must be None, 'all' or integers, got {candidates!r}.")
        return np.arange(1, largest + 1)
    grid = np.unique(np.asarray(candidates))
    if grid.ndim != 1 or grid.dtype.kind not in "iu" or not len(grid) or grid[0] < 1 or grid[-1] > K:
        raise ValueError(f"candidates must be integers from 1 to the number of labels ({K}).")
    return grid.astype(np.int64)


def check_scoring(scoring: Any) -> tuple[Any, int]:
    """Return the metric of the walk and its k: compiled where known, any other by its scorer."""
    name = "ndcg_at_5" if scoring is None else scoring
    if callable(name):
        return name, 0
    if name in WALKED:
        return WALKED[name]
    scorer = get_scorer(name)  # refuses unknown names

    def judge(Y: sparse.csr_array, scores: np.ndarray) -> float:
        labels = np.arange(scores.shape[1])
        layout = TargetLayout("multilabel", labels, labels, np.dtype(np.int8), is_sparse=True)
        return scorer(KnownScores(scores, layout), None, Y)

    return judge, 0


def _moments_fit(X: Any, Y: sparse.csr_array, n_folds: int) -> bool:
    """Whether XᵀX, XᵀY and YᵀY of every fold fit side by side."""
    d, K = X.shape[1], Y.shape[1]
    return choose_route(X) == "gram" and (n_folds + 3) * 8 * (d + K) ** 2 <= MEMORY_LIMIT


def _folds_from_moments(
    X: Any, Y: sparse.csr_array, folds: list[Any], directions: Directions, alpha: float
) -> Iterator[Fold]:
    moments = FoldMoments(X, Y, [kept for kept, _ in folds], with_ff=True)
    for fold, (_, out) in enumerate(folds):
        rest = moments.training(fold)
        centered = rest.centered()
        offset, found = directions(rest, centered)
        P = found.components
        ridge = solve_codes(centered, P, offset, alpha)
        R = dense(X[out] @ ridge.coef) + ridge.intercept
        yield R, P, _base_scores(offset, rest.f_sum, rest.weight), Y[out]


def _folds_from_rows(
    X: Any, Y: sparse.csr_array, folds: list[Any], encoder: Any, regressor: Any, alpha: float
) -> Iterator[Fold]:
    for kept, out in folds:
        fitted = clone(encoder).fit(Y[kept], X[kept])
        H = fitted.transform(Y[kept])
        if regressor is None:
            ridge = solve_ridge(X[kept], H, alphas=(alpha,)).solve(alpha)
            R = dense(X[out] @ ridge.coef) + ridge.intercept
        else:
            model = clone(regressor).fit(X[kept], H[:, 0] if H.shape[1] == 1 else H)
            R = np.asarray(model.predict(X[out])).reshape(len(out), -1)
        counts = np.asarray(Y[kept].sum(axis=0)).ravel()
        yield R, fitted.components_, _base_scores(fitted.offset_, counts, len(kept)), Y[out]


def _base_scores(offset: np.ndarray, counts: np.ndarray, n_rows: float) -> np.ndarray:
    return offset - 0.5 + FAR * constant_labels(counts, n_rows)


def _score_fold(fold: Fold, grid: np.ndarray, metric: tuple[Any, int]) -> np.ndarray:
    R, P, base, Y = fold
    # a fold of lower rank has fewer components: larger M change nothing there
    reachable = np.minimum(grid, len(P))
    steps, place = np.unique(reachable, return_inverse=True)
    return score_prefixes(R, P, base, Y, steps, metric=metric[0], k=metric[1])[place]
