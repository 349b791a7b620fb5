"""The measures as scorers for `GridSearchCV`, `cross_validate` and the like."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import make_scorer

from hyperlabel._base import KnownScores, label_probabilities, score_rows
from hyperlabel._labels import is_plain, label_sets
from hyperlabel._sklearn_compat import check_response_method
from hyperlabel._validation import TargetLayout, count_dimensions, layout_of_classes, made_up_names
from hyperlabel.metrics import bipartition
from hyperlabel.metrics.measures import Measure, get_measure, list_measures
from hyperlabel.metrics.validation import CheckedAnswer, NamedAnswer, Truth, named_labels, takes_checked

_SCORES = ("decision_function", "predict_proba")
_PROBA = ("predict_proba",)
_ONE_LABEL = layout_of_classes([0, 1], np.dtype(int))


class LabelScorer(type(make_scorer(bipartition.hamming_loss))):  # type: ignore[misc]
    """A scikit-learn scorer that compares y with the predictions by the names of the labels."""

    def _score(self, method_caller: Any, estimator: Any, X: Any, y_true: Any, **kwargs: Any) -> float:
        answer = _name_answer(estimator, self._answer(method_caller, estimator, X, y_true), y_true)
        return self._sign * self._score_func(y_true, answer, **{**self._kwargs, **kwargs})

    def _answer(self, method_caller: Any, estimator: Any, X: Any, y_true: Any) -> Any:
        method = check_response_method(estimator, self._response_method)
        return method_caller(estimator, method.__name__, X)


class ScoreScorer(LabelScorer):
    """A scorer that takes the n×k scores as they are.

    scikit-learn's own reads an estimator with two labels (``classes_ = [0, 1]``) as a binary one and
    keeps the second column of its probabilities only.
    """

    def _answer(self, method_caller: Any, estimator: Any, X: Any, y_true: Any) -> Any:
        check_response_method(estimator, list(self._response_method))
        binary = count_dimensions(y_true) == 1
        if self._response_method == _PROBA:
            return label_probabilities(estimator, X, binary=binary)
        return score_rows(estimator, X, _ONE_LABEL if binary else None)


def _name_answer(estimator: Any, answer: Any, y_true: Any) -> Any:
    """Return the predictions under the label names of the estimator, where y_true has names to compare."""
    has_sets = not is_plain(y_true) and label_sets(y_true, even_empty=True) is not None
    truth_names = None if is_plain(y_true) else named_labels(y_true)
    if (truth_names is None and not has_sets) or answer.ndim != 2:
        return answer
    model_names = _fitted_label_names(estimator)
    is_made_up = model_names == made_up_names(len(model_names or ())) and not set(truth_names or ()).issubset(
        model_names or ()
    )
    if model_names is not None and not is_made_up:
        return NamedAnswer(answer, model_names)
    if has_sets:
        raise ValueError(
            f"y names its labels, but {type(estimator).__name__} was not fitted on label names: fit it on "
            "label sets or a frame, or score it on the indicator it was fitted on."
        )
    return answer


def _fitted_label_names(estimator: Any) -> list[str] | None:
    """Return the label names of a fitted classifier, through Pipelines and searches; None if it has none."""
    if hasattr(estimator, "label_names_"):
        return [str(name) for name in estimator.label_names_]
    if hasattr(estimator, "steps"):
        return _fitted_label_names(estimator.steps[-1][1])
    inner = getattr(estimator, "best_estimator_", getattr(estimator, "estimator_", None))
    return None if inner is None else _fitted_label_names(inner)


def _make_scorer(measure: Measure) -> Any:
    sign = 1 if measure.greater_is_better else -1
    if measure.reads == "label_sets":
        return LabelScorer(measure.function, sign, dict(measure.options), "predict")
    response = _SCORES if measure.reads == "scores" else _PROBA
    return ScoreScorer(measure.function, sign, dict(measure.options), response)


def get_scorer_names() -> list[str]:
    """Names that `get_scorer` knows: those of `evaluate`.

    Examples
    --------
    >>> from hyperlabel.metrics import get_scorer_names
    >>> "ranking_loss" in get_scorer_names()
    True
    """
    return sorted(measure.name for measure in list_measures())


def get_scorer(name: Any) -> Any:
    """Return a scorer by name, for ``scoring=`` anywhere in scikit-learn.

    Greater is better, as scikit-learn wants it: the scorer of a loss gives the negative loss. Measures
    with further parameters: ``make_scorer(psp_at_k, response_method="decision_function", propensities=p)``.

    Where y names its labels (label sets, a frame) it is compared by names with `label_names_` of the
    estimator, through Pipelines and searches. A label that the estimator does not know counts as missed:
    not predicted, ranked below all others (several such tie) and of probability 0.

    Parameters
    ----------
    name : str or callable
        One of `get_scorer_names`, or an alias of one; a callable is returned as it is.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y) -> float``.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import RidgeClassifier
    >>> from sklearn.model_selection import GridSearchCV
    >>> from hyperlabel.metrics import get_scorer
    >>> X, y = make_multilabel_classification(random_state=0)
    >>> search = GridSearchCV(RidgeClassifier(), {"alpha": [0.1, 10.0]}, scoring=get_scorer("ranking_loss"))
    >>> bool(search.fit(X, y).best_score_ <= 0)
    True

    A test row may carry a tag that no training row had:

    >>> from hyperlabel import BinaryRelevance
    >>> model = BinaryRelevance(alpha=0.1).fit([[0.0], [1.0]], [["red"], ["blue"]])
    >>> get_scorer("recall_micro")(model, [[0.0], [1.0]], [["red"], ["blue", "new"]])
    0.6666666666666666
    """
    if callable(name):
        return name
    return _make_scorer(get_measure(name))


def score_known(
    scorer: Any, Y: Any, scores: np.ndarray, layout: TargetLayout, X: Any, thresholds: Any = 0.0
) -> float:
    """Return what a scorer says of known scores; its own measure is asked straight, on validated arrays.

    Y is the truth or a validated indicator. Label sets are where a score is above its threshold. A scorer of
    others sees a classifier, X and y.
    """
    truth = Y if isinstance(Y, Truth) else Truth.of_targets(Y)
    is_ours = isinstance(scorer, LabelScorer) and takes_checked(scorer._score_func)
    if is_ours and scorer._response_method != _PROBA:
        values = scores if isinstance(scorer, ScoreScorer) else sparse.csr_array(scores > thresholds) * 1.0
        return float(scorer._sign * scorer._score_func(truth, CheckedAnswer(values), **scorer._kwargs))
    y = truth.with_unknown()
    y = y if layout.is_sparse else y.toarray().astype(int if truth.missing is None else float)
    return float(scorer(KnownScores(scores, layout, thresholds), X, y))
