"""Groups of rows on their way to folds that lie inside an estimator."""

from inspect import signature
from typing import Any

from sklearn.pipeline import Pipeline

from hyperlabel._sklearn_compat import is_search


def groups_for_fit(estimator: Any, groups: Any) -> dict[str, Any]:
    """Return the parameters of `fit` that take groups to the folds an estimator makes itself.

    Without metadata routing, that is: the estimator gets them if its `fit` takes `groups` (scikit-learn's
    searches take them without saying so), and so do the steps of a Pipeline (`fit_transform` of those
    before the last: cross-fitted projections).
    """
    if groups is None:
        return {}
    if isinstance(estimator, Pipeline):
        *earlier_steps, (name, last_step) = estimator.steps
        params_of_step = {name: groups_for_fit(last_step, groups)}
        params_of_step |= {
            name: {"groups": groups} for name, step in earlier_steps if _takes_groups(step, "fit_transform")
        }
        return {
            f"{name}__{key}": value
            for name, params in params_of_step.items()
            for key, value in params.items()
        }
    return {"groups": groups} if is_search(estimator) or _takes_groups(estimator, "fit") else {}


def _takes_groups(estimator: Any, method: str) -> bool:
    fit_method = getattr(estimator, method, None)
    return fit_method is not None and "groups" in signature(fit_method).parameters
