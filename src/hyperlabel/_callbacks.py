"""Long fits report their steps to scikit-learn's callbacks, such as its `ProgressBar` (from version 1.9 on).

A class takes callbacks by `CallbackSupportMixin` among its bases, and reports by `report_fit` in its `fit`.
An older scikit-learn has no callbacks: the mixin is then empty, and nothing is reported.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hyperlabel._sklearn_compat import CallbackSupportMixin, manage_callbacks

__all__ = ["CallbackSupportMixin", "FitSteps", "report_fit"]


class FitSteps:
    """The steps of a fit that runs; without callbacks they go nowhere."""

    def __init__(self, estimator: Any, context: Any = None) -> None:
        self.estimator, self.context = estimator, context
        # what reports one epoch after the other as done, or None where nobody listens
        self.report_epoch = None if context is None else lambda: self.begin("epoch")()

    def begin(self, name: str) -> Callable[[], bool]:
        """Report that a step begins; call what is returned at its end: it says whether the fit shall stop."""
        if self.context is None:
            return lambda: False
        step = self.context.subcontext(task_name=name).call_on_fit_task_begin(estimator=self.estimator)
        return lambda: bool(step.call_on_fit_task_end(estimator=self.estimator))


@contextmanager
def report_fit(estimator: Any, X: Any, y: Any, n_steps: int | None = None) -> Iterator[FitSteps]:
    """Report begin and end of a fit to the callbacks of an estimator, or of what it is fitted in."""
    if not hasattr(estimator, "_skl_callbacks") and not hasattr(estimator, "_parent_callback_ctx"):
        yield FitSteps(estimator)
        return
    with manage_callbacks(estimator):
        context = estimator._init_callback_context(max_subtasks=n_steps)
        context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        yield FitSteps(estimator, context)
        context.call_on_fit_task_end(estimator=estimator, X=X, y=y)
