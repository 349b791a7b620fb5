"""Groups of rows on their way to folds that lie inside an estimator."""

from __future__ import annotations

from typing import Any

from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter


def groups_for_fit(estimator: Any, groups: Any) -> dict[str, Any]:
    """Return the parameters of `fit` that take groups to the folds an estimator makes itself.

    Without metadata routing, that is: the estimator (or the last step of a Pipeline) gets them if
    its `fit` takes `groups`; scikit-learn's searches take them without saying so.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from hyperlabel import BinaryRelevance
    >>> from hyperlabel.model_selection.groups import groups_for_fit
    >>> groups_for_fit(make_pipeline("passthrough", BinaryRelevance(cv=2)), [1, 1, 2])
    {'binaryrelevance__groups': [1, 1, 2]}
    """
    if groups is None:
        return {}
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        return {f"{name}__{key}": value for key, value in groups_for_fit(last, groups).items()}
    takes = isinstance(estimator, BaseSearchCV) or has_fit_parameter(estimator, "groups")
    return {"groups": groups} if takes else {}
