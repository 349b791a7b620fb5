"""scikit-learn's private parts that the library uses: a release that moves one is answered here alone.

What belongs to `sklearn.model_selection` is imported when it is called: it is slow to load, and a model that
only predicts needs none of it.
"""

from contextlib import nullcontext
from typing import Any

from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils.metadata_routing import _routing_enabled as routing_enabled
from sklearn.utils.metaestimators import _safe_split as safe_split
from sklearn.utils.validation import _check_method_params as check_method_params
from sklearn.utils.validation import _check_response_method as check_response_method
from sklearn.utils.validation import _check_sample_weight as check_sample_weight
from sklearn.utils.validation import _num_samples as num_samples

try:
    from sklearn.callback import CallbackSupportMixin
    from sklearn.callback._callback_support import callback_management_context as manage_callbacks
except ImportError:  # before version 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nobody can set callbacks."""

    manage_callbacks = nullcontext  # never entered: no estimator has callbacks

__all__ = [
    "CallbackSupportMixin",
    "check_method_params",
    "check_response_method",
    "check_sample_weight",
    "cross_validate_any",
    "is_search",
    "manage_callbacks",
    "num_samples",
    "routing_enabled",
    "safe_indexing",
    "safe_split",
    "validate_shuffle_split",
]


def is_search(estimator: Any) -> bool:
    """Whether an estimator is one of scikit-learn's searches, whose `fit` takes groups without saying so."""
    from sklearn.model_selection._search import BaseSearchCV

    return isinstance(estimator, BaseSearchCV)


def validate_shuffle_split(
    n_samples: int, test_size: Any, train_size: Any, default_test_size: float
) -> tuple[int, int]:
    """Return the numbers of training and test rows that the two sizes ask for."""
    from sklearn.model_selection._split import _validate_shuffle_split

    n_train, n_test = _validate_shuffle_split(
        n_samples, test_size, train_size, default_test_size=default_test_size
    )
    return n_train, n_test


def cross_validate_any(estimator: Any, X: Any, y: Any, **options: Any) -> dict[str, Any]:
    """Call `sklearn.model_selection.cross_validate` without its wrapper, which refuses a sparse y."""
    from sklearn.model_selection import cross_validate

    return cross_validate.__wrapped__(estimator, X, y, **options)
