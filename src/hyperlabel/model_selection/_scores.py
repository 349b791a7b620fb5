"""Cross-validated scores for any Y: scikit-learn's `cross_validate` refuses a sparse one."""

from collections.abc import Mapping
from typing import Any

from sklearn import get_config
from sklearn.metrics import get_scorer
from sklearn.utils import indexable

from hyperlabel import metrics
from hyperlabel._sklearn_compat import cross_validate_any
from hyperlabel.model_selection.folds import resolve_cv
from hyperlabel.model_selection.groups import groups_for_fit


def cross_val_scores(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    scoring: Any = None,
    cv: Any = None,
    groups: Any = None,
    params: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
    return_train_score: bool = False,
    return_estimator: bool = False,
    return_indices: bool = False,
) -> dict[str, Any]:
    """Fit on each training part, score on each test part.

    Like scikit-learn's `cross_validate`, but y may be sparse, folds are stratified, and names of scores are
    looked up in `hyperlabel.metrics` first.

    Parameters
    ----------
    estimator, X, y, cv, n_jobs
        As in :func:`out_of_fold_scores`.
    scoring : str, callable, list of str, dict or None, default=None
        One score, or several at once (predictions are then computed once per fold). A
        callable takes (estimator, X, y) and returns a number or a dict of numbers; None uses
        the estimator's own `score`.
    groups : array-like of shape (n_samples,), default=None
        The group (or the time, for `TimeOrderedSplit`) of each row, for the splitter and, limited to
        the fold, for the folds that the estimator makes itself.
    params : dict, default=None
        Passed to `fit`, entries with one value per row limited to the fold (`sample_weight`).
        With scikit-learn's metadata routing enabled they are routed to estimator, scorer and
        splitter as requested.
    return_train_score, return_estimator, return_indices : bool, default=False
        Also return the scores on the training part, the fitted estimators, the rows.

    Returns
    -------
    results : dict of str to ndarray of shape (n_splits,)
        ``fit_time``, ``score_time`` (seconds) and ``test_score``, or ``test_<name>`` with
        several scores; on request ``train_…``, ``estimator`` and ``indices``.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import BinaryRelevance
    >>> from hyperlabel.model_selection import cross_val_scores
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> cross_val_scores(BinaryRelevance(), X, Y, scoring="f1_micro", cv=2)["test_score"].shape
    (2,)
    """
    X, y, groups = indexable(X, y, groups)
    splitter, params = resolve_cv(cv, y, groups), dict(params or {})
    if not get_config()["enable_metadata_routing"]:
        params = groups_for_fit(estimator, groups) | params
    elif groups is not None:
        params, groups = {**params, "groups": groups}, None
    return cross_validate_any(
        estimator, X, y, groups=groups, scoring=_resolve_scorers(scoring),
        cv=splitter, params=params, n_jobs=n_jobs,
        return_train_score=return_train_score, return_estimator=return_estimator,
        return_indices=return_indices, error_score="raise",
    )  # fmt: skip


def _resolve_scorers(scoring: Any) -> Any:
    """Return what `scoring=` stands for; names of ours come before scikit-learn's."""
    if isinstance(scoring, str):
        return metrics.get_scorer(scoring) if scoring in metrics.get_scorer_names() else get_scorer(scoring)
    if isinstance(scoring, (list, tuple, set)):
        if not scoring or not all(isinstance(name, str) for name in scoring):
            raise ValueError("A list of scores must hold names; use a dict {name: callable} for callables.")
        scoring = {name: name for name in scoring}
    if isinstance(scoring, Mapping):
        return {name: _resolve_scorers(score) for name, score in scoring.items()}
    return scoring
