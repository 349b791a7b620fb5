"""Cross-validated scores for any Y: scikit-learn's `cross_validate` refuses a sparse one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone
from sklearn.metrics import check_scoring, get_scorer
from sklearn.utils import indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _check_method_params

from hyperlabel import metrics
from hyperlabel.model_selection._splits import resolve_cv
from hyperlabel.model_selection.groups import groups_for_fit

Scores = dict[str, float]


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
        The group (or the time, for `TimeOrderedSplit`) of each row, for the splitter and, cut to the
        fold, for the folds that the estimator makes itself.
    params : dict, default=None
        Passed to `fit`, entries with one value per row cut to the fold (`sample_weight`).
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
    splitter = resolve_cv(cv, y, groups)
    scorer = resolve_scoring(estimator, scoring)
    routed = _route(estimator, splitter, scorer, dict(params or {}))
    if groups is not None:
        routed["split"]["groups"] = groups
        if not get_config()["enable_metadata_routing"]:
            routed["fit"] = groups_for_fit(estimator, groups) | routed["fit"]
    parts = list(splitter.split(X, y, **routed["split"]))
    folds = Parallel(n_jobs=n_jobs)(
        delayed(_fit_and_score)(
            clone(estimator), X, y, scorer, train, test, routed["fit"], routed["score"], return_train_score
        )
        for train, test in parts
    )
    return _collect(folds, parts, return_estimator=return_estimator, return_indices=return_indices)


def resolve_scoring(estimator: Any, scoring: Any) -> Callable[..., Any]:
    """Return one callable for whatever `scoring=` was given; names of ours come before scikit-learn's."""
    if isinstance(scoring, str):
        return _one_scorer(scoring)
    if isinstance(scoring, Mapping):
        named = {name: _one_scorer(score) for name, score in scoring.items()}
    elif isinstance(scoring, (list, tuple, set)):
        if not scoring or not all(isinstance(name, str) for name in scoring):
            raise ValueError("A list of scores must hold names; use a dict {name: callable} for callables.")
        named = {name: _one_scorer(name) for name in scoring}
    else:
        return check_scoring(estimator, scoring=scoring)
    return check_scoring(estimator, scoring=named)


def _one_scorer(score: Any) -> Any:
    if not isinstance(score, str):
        return score
    known = score in metrics.get_scorer_names()
    return metrics.get_scorer(score) if known else get_scorer(score)


def _route(estimator: Any, splitter: Any, scorer: Any, params: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Say which parameter goes to whom; without metadata routing all go to `fit`."""
    if not (params and get_config()["enable_metadata_routing"]):
        return {"fit": params, "split": {}, "score": {}}
    router = MetadataRouter(owner="cross_val_scores")
    router.add(estimator=estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
    router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))
    takes_metadata = hasattr(scorer, "get_metadata_routing")  # a plain function does not
    if takes_metadata:
        router.add(scorer=scorer, method_mapping=MethodMapping().add(caller="fit", callee="score"))
    routed = process_routing(router, "fit", **params)
    scored = dict(routed.scorer.score) if takes_metadata else {}
    return {"fit": dict(routed.estimator.fit), "split": dict(routed.splitter.split), "score": scored}


def _fit_and_score(
    estimator: Any,
    X: Any,
    y: Any,
    scorer: Callable[..., Any],
    train: np.ndarray,
    test: np.ndarray,
    fit_params: dict[str, Any],
    score_params: dict[str, Any],
    with_train: bool,
) -> dict[str, Any]:
    X_train, y_train = _safe_split(estimator, X, y, train)
    X_test, y_test = _safe_split(estimator, X, y, test, train)
    start = time.perf_counter()
    estimator.fit(X_train, y_train, **_check_method_params(X, fit_params, train))
    fitted = time.perf_counter()
    scores = _as_dict(scorer(estimator, X_test, y_test, **_check_method_params(X, score_params, test)))
    fold = {
        "fit_time": fitted - start,
        "score_time": time.perf_counter() - fitted,
        "test": scores,
        "estimator": estimator,
    }
    if with_train:
        cut = _check_method_params(X, score_params, train)
        fold["train"] = _as_dict(scorer(estimator, X_train, y_train, **cut))
    return fold


def _as_dict(score: Any) -> Scores:
    if isinstance(score, Mapping):
        return {str(name): float(value) for name, value in score.items()}
    if np.ndim(score):
        raise ValueError(
            f"scoring must return one number, or a dict of numbers, per fold; got {type(score).__name__}."
        )
    return {"score": float(score)}


def _collect(folds: list[dict[str, Any]], parts: list[Any], **wanted: bool) -> dict[str, Any]:
    results: dict[str, Any] = {
        key: np.array([fold[key] for fold in folds]) for key in ("fit_time", "score_time")
    }
    for part in ("test", "train"):
        if folds and part in folds[0]:
            for name in folds[0][part]:
                results[f"{part}_{name}"] = np.array([fold[part][name] for fold in folds])
    if wanted["return_estimator"]:
        results["estimator"] = [fold["estimator"] for fold in folds]
    if wanted["return_indices"]:
        results["indices"] = {
            "train": [train for train, _ in parts],
            "test": [test for _, test in parts],
        }
    return results
