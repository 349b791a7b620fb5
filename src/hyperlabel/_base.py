"""The classifier contract: what every multi-label classifier of the library guarantees.

A classifier implements ``fit`` and ``_scores(X)`` (validated rows in, n×k scores out);
everything a user calls afterwards is here, so that it behaves the same everywhere:

* ``decision_function(X)``: scores, > 0 exactly where ``predict`` says yes;
* ``predict(X)``: the form y had in ``fit`` (sparse, dense, 1-D; same dtype);
* ``predict_topk(X, k)``: the k best labels of each row, never forming n×K at once;
* labels never seen in training rank last, labels always on rank first.
"""

import importlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import lru_cache, wraps
from importlib.metadata import PackageNotFoundError, metadata
from inspect import signature
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted

from hyperlabel._known_labels import encode_by_names
from hyperlabel._missing_labels import EPS, constant_labels, label_counts
from hyperlabel._sklearn_compat import num_samples, safe_indexing
from hyperlabel._topk import top_k
from hyperlabel._validation import CheckedTargets, TargetLayout, check_features, check_fit, check_weights

# Scores are formed for as many rows at a time as fit in this many bytes.
SCORE_BLOCK_BYTES = 64 * 2**20


class DocumentedEstimator(BaseEstimator):
    """An estimator whose HTML representation links to its page of the documentation.

    The address of the site is the environment variable HYPERLABEL_DOCS, or the URL "Documentation" of the
    installed package. Without either there is no link.
    """

    _doc_link_module = "hyperlabel"

    def __init_subclass__(cls, **options: Any) -> None:
        fit = cls.__dict__.get("fit")
        if fit is not None and not {"sample_weight", "params", "fit_params"} & set(signature(fit).parameters):
            cls.fit = _refuse_sample_weight(fit)
        super().__init_subclass__(**options)

    @property
    def _doc_link_template(self) -> str:
        address = os.environ.get("HYPERLABEL_DOCS") or _published_docs()
        return f"{address.rstrip('/')}/generated/{{page}}.html" if address else ""

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        cls = type(self)
        is_top_level = cls.__name__ in importlib.import_module("hyperlabel").__all__
        package = "hyperlabel" if is_top_level else ".".join(cls.__module__.split(".")[:2])
        return {"page": f"{package}.{cls.__name__}"}


def _refuse_sample_weight(fit: Any) -> Any:
    """Return a `fit` that refuses weights, which it does not take, in a sentence; its signature stays."""
    return wraps(fit)(
        lambda self, *arguments, **params: fit(
            self, *arguments, **(_without_weights(self, params) if "sample_weight" in params else params)
        )
    )


def _without_weights(estimator: Any, params: dict[str, Any]) -> dict[str, Any]:
    if params.pop("sample_weight") is not None:
        raise TypeError(
            f"{type(estimator).__name__} counts every row alike: leave out sample_weight, or use an "
            "estimator that weighs rows and entries of y, such as BinaryRelevance."
        )
    return params


@lru_cache
def _published_docs() -> str:
    try:
        urls = metadata("hyperlabel").get_all("Project-URL") or []
    except PackageNotFoundError:  # run from a source tree
        return ""
    addresses = dict(url.split(", ", 1) for url in urls)
    return addresses.get("Documentation", "")


class MultiLabelClassifier(ClassifierMixin, DocumentedEstimator, ABC):
    """Base of the library's classifiers; see the module docstring for the contract."""

    classes_: np.ndarray
    label_names_: np.ndarray
    n_features_in_: int
    _layout: TargetLayout
    _inner: ClassVar[str | None] = None  # the parameter that takes the rows in its place, if given
    _constant: np.ndarray  # per column: -1 never seen in training, +1 always on, 0 ordinary or unknown
    # What fit takes besides 0 and 1: NaN in Y for labels nobody knows, shares between 0 and 1.
    _accepts_missing_labels: ClassVar[bool] = False
    _accepts_soft_targets: ClassVar[bool] = False

    # What model files check: k label columns, c classes, d features, other letters alike within a class.
    _fitted_shapes: ClassVar[dict[str, str]] = {"classes_": "c", "label_names_": "k", "_constant": "k"}

    # -- for subclasses -------------------------------------------------------------------------

    def _check_fit(
        self, X: Any, y: Any, *, min_samples: int = 1, **options: bool
    ) -> tuple[Any, sparse.csr_array]:
        """Let (X, y) in through validation and remember how y looked; `options` as in `check_fit`."""
        X, Y, layout = check_fit(self, X, y, min_samples=min_samples, **options)
        counts, known_rows = label_counts(Y, None)
        self._set_targets(layout, counts=counts, n_rows=known_rows)
        return X, Y

    def _set_targets(self, layout: TargetLayout, *, counts: np.ndarray, n_rows: Any) -> None:
        self._layout = layout
        self.classes_ = layout.classes
        self.label_names_ = layout.label_names
        self._constant = constant_labels(counts, n_rows)

    @abstractmethod
    def _scores(self, X: Any) -> np.ndarray:
        """Scores of validated rows, n×k; positive means predicted."""

    # -- for users ------------------------------------------------------------------------------

    @abstractmethod
    def fit(self, X: Any, y: Any) -> Any:
        """Learn to predict the labels of rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; sparse ones are not densified.
        y : array-like or sparse matrix of shape (n_samples, n_labels), or array of shape (n_samples,)
            Label indicator, label sets, or classes.

        Returns
        -------
        self : object
        """

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores of each label.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_labels)
            Positive exactly where `predict` says yes. Not so in `ThresholdTuner` and `AutoMultiLabel`: they
            tune another rule, such as `thresholds_`, and the sign says nothing. Of shape (n_samples,) after a
            fit with 1-D binary y; float32 for float32 rows.
        """
        X = self._check_predict(X)
        scores = np.empty((num_samples(X), self._layout.n_columns), dtype=score_dtype(X))
        for rows, block in self._score_blocks(X):
            scores[rows] = block
        return scores[:, 0] if self._layout.kind == "binary" else scores

    def predict(self, X: Any) -> Any:
        """Label sets of each row, in the form y had in `fit`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows to label.

        Returns
        -------
        y : ndarray or csr_array of shape (n_samples, n_labels), or ndarray of shape (n_samples,)
            Indicator with the dtype of the training y; sparse if that was sparse.
        """
        X = self._check_predict(X)
        return decode_scores(self._layout, (block for _, block in self._score_blocks(X)))

    def predict_labels(self, X: Any) -> list[list[str]]:
        """Names of the labels of each row: the entries of `label_names_` that `predict` says yes to.

        After a fit with 1-D y, the one class of each row.
        """
        predictions = self.predict(X)
        if self._layout.kind != "multilabel":
            return [[str(value)] for value in predictions]
        label_sets = sparse.csr_array(predictions)
        label_sets.eliminate_zeros()
        label_sets.sort_indices()
        names = np.asarray(self.label_names_, dtype=object)[label_sets.indices]
        return [row_names.tolist() for row_names in np.split(names, label_sets.indptr[1:-1])]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows (weighed, if asked) whose label sets are predicted without a mistake.

        y may have any form that `fit` takes. Label sets and frames are compared by names; a row with a label
        that the model does not know counts as a mistake.
        """
        check_is_fitted(self)
        if self._layout.kind != "multilabel":
            return float(super().score(X, y, sample_weight))
        Y, has_unknown = encode_by_names(y, self._layout, n_rows=num_samples(X))
        mistakes = sparse.csr_array(sparse.csr_array(self.predict(X)) != Y)
        is_right = (np.diff(mistakes.indptr) == 0) & ~has_unknown
        return float(np.average(is_right, weights=check_weights(sample_weight, Y)))

    def predict_topk(
        self, X: Any, k: int = 5, *, names: bool = False, propensity: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the k best labels of each row, best first.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows to label.
        k : int, default=5
            How many labels; at most the number of labels.
        names : bool, default=False
            Return the names of the labels in place of their column indices.
        propensity : array-like of shape (n_labels,), default=None
            How likely a relevant label was marked in training (`hyperlabel.metrics.propensities`): labels
            are ranked by the probability of being marked divided by it, so that rare ones come up. Under
            squared loss that is the fit on labels so weighted (the unbiased one); others need
            `predict_proba`.

        Returns
        -------
        indices, scores : ndarray of shape (n_samples, k)
            Column indices into `classes_` (or `label_names_` themselves) and their scores; ties to the lowest
            index.
        """
        X = self._check_predict(X)
        if propensity is None:
            best_blocks = [top_k(block, k) for _, block in self._score_blocks(X)]
        else:
            propensities = self._check_propensity(propensity)
            best_blocks = [top_k(block / propensities, k) for block in self._estimate_marking(X)]
        indices, scores = (np.vstack(blocks) for blocks in zip(*best_blocks, strict=True))
        return (np.asarray(self.label_names_, dtype=object)[indices] if names else indices), scores

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        inner = getattr(self, self._inner, None) if self._inner else None
        if inner is not None:
            inner_tags = inner.__sklearn_tags__()
            tags.input_tags.sparse = inner_tags.input_tags.sparse
            if inner_tags.classifier_tags is not None:
                tags.classifier_tags.poor_score = inner_tags.classifier_tags.poor_score
        return tags

    # -- shared machinery -----------------------------------------------------------------------

    def _check_predict(self, X: Any) -> Any:
        check_is_fitted(self)
        return check_features(self, X)

    def _check_propensity(self, propensity: Any) -> np.ndarray:
        p = np.asarray(propensity, dtype=np.float64)
        if self._layout.kind != "multilabel" or p.shape != (self._layout.n_columns,):
            raise ValueError(f"propensity must have one number for each of {self._layout.n_columns} labels.")
        if not ((p > 0) & (p <= 1)).all():
            raise ValueError("propensity must lie in (0, 1]: get it from hyperlabel.metrics.propensities.")
        return p

    def _estimate_marking(self, X: Any) -> Iterator[np.ndarray]:
        """Estimates of the probability that a label is marked: targets of 0 and 1 where they were ±1."""
        if hasattr(self, "threshold_"):
            yield from ((block + self.threshold_ + 1.0) / 2.0 for _, block in self._score_blocks(X))
        elif hasattr(self, "predict_proba"):
            for batch in score_batches(num_samples(X), self._layout.n_columns):
                yield self.predict_proba(safe_indexing(X, batch))
        else:
            raise ValueError(
                f"{type(self).__name__} has no probabilities to divide by propensity: wrap it in "
                "MultiLabelCalibrator."
            )

    def _score_blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """Scores of validated rows, a bounded block at a time, constant labels in their place."""
        for batch in score_batches(X.shape[0], self._layout.n_columns):
            scores = np.asarray(self._scores(X[batch]), dtype=score_dtype(X))
            yield batch, place_constant_labels(scores, self._constant)


def fit_checked(model: Any, X: Any, y: Any, targets: CheckedTargets | None, params: dict[str, Any]) -> Any:
    """Fit a classifier; one of the library takes the y that is validated already."""
    if targets is None or not isinstance(model, MultiLabelClassifier):
        return model.fit(X, y, **params)
    return model.fit(X, targets, **params)


class KnownScores(ClassifierMixin, BaseEstimator):
    """A classifier that already knows its scores, so that any scikit-learn scorer can judge them.

    Its label sets are where a score is above its threshold; the scores stay unchanged.
    """

    def __init__(self, scores: np.ndarray, layout: TargetLayout, thresholds: Any = 0.0) -> None:
        self.scores = scores
        self.layout = layout
        self.thresholds = thresholds
        self.classes_ = layout.classes

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the scores, whatever X is."""
        return self.scores[:, 0] if self.layout.kind == "binary" else self.scores

    def predict(self, X: Any) -> Any:
        """Return the label sets of the scores, whatever X is."""
        return decode_scores(self.layout, iter([self.scores - self.thresholds]))


def seeded(estimator: Any, seed: int) -> Any:
    """Clone an estimator; every `random_state` left at None gets the seed."""
    model = clone(estimator)
    free = {
        key: seed
        for key, value in model.get_params().items()
        if (key == "random_state" or key.endswith("__random_state")) and value is None
    }
    return model.set_params(**free)


def score_rows(estimator: Any, X: Any, layout: TargetLayout | None = None) -> np.ndarray:
    """Scores of any fitted classifier as an n×k array, whatever it calls them.

    `decision_function`, or `predict_proba` where there is none. A label or class that the estimator has
    not seen ranks last. Without `layout`, y was an indicator and its columns are taken as they come.
    """
    if hasattr(estimator, "decision_function"):
        scores = np.asarray(estimator.decision_function(X), dtype=np.float64)
        scores = scores[:, None] if scores.ndim == 1 else scores
    elif hasattr(estimator, "predict_proba"):
        binary = layout is not None and layout.kind == "binary"
        # Just below every probability: last in every ranking, without moving a calibration.
        scores = label_probabilities(estimator, X, binary=binary, unseen=-EPS)
        scores = scores - 0.5 if binary else scores
    else:
        raise ValueError(
            f"{type(estimator).__name__} has neither decision_function nor predict_proba: "
            "it gives no scores to work with."
        )
    if layout is None or scores.shape[1] == layout.n_columns:
        return scores
    class_columns = np.searchsorted(layout.classes, estimator.classes_)
    if layout.kind == "multiclass" and scores.shape[1] == 1 and len(class_columns) == 2:
        scores = np.hstack([-scores, scores])
    if layout.kind != "multiclass" or scores.shape[1] != len(class_columns):
        raise ValueError(
            f"{type(estimator).__name__} gives {scores.shape[1]} scores a row for {layout.n_columns} labels."
        )
    aligned = np.full((len(scores), layout.n_columns), scores.min(initial=0.0) - 1.0)
    aligned[:, class_columns] = scores
    return aligned


def label_probabilities(estimator: Any, X: Any, *, binary: bool = False, unseen: float = 0.0) -> np.ndarray:
    """P(label on) of any fitted classifier as an n×k array; `binary` says that its y was 1-D, two classes.

    scikit-learn's trees, forests and dummies give a list with one array for each label, which has a column
    for each *class seen*: a label that was never on has no column of ones, and gets `unseen`.
    """
    p = estimator.predict_proba(X)
    if isinstance(p, list):
        positive = np.full((len(p[0]), len(p)), unseen)
        for j, (class_proba, label_classes) in enumerate(zip(p, estimator.classes_, strict=True)):
            if 1 in label_classes:
                positive[:, j] = class_proba[:, list(label_classes).index(1)]
        return positive
    p = np.asarray(p, dtype=np.float64)
    return p[:, [1]] if binary else p


def score_dtype(X: Any) -> type[np.floating]:
    """Return the type of the scores of rows: float32 for float32 rows, which hold no more digits."""
    return np.float32 if getattr(X, "dtype", None) == np.float32 else np.float64


def score_batches(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Split rows into batches whose scores take at most `SCORE_BLOCK_BYTES`."""
    return gen_batches(n_rows, max(1, SCORE_BLOCK_BYTES // (8 * n_columns)))


def shape_probabilities(layout: TargetLayout, positive: np.ndarray) -> np.ndarray:
    """Give P(label on), n×k, the shape scikit-learn expects for the kind of y.

    Indicator y: n×k as it is. 1-D binary y: columns for both classes. 1-D multiclass y: rows
    scaled to sum to 1. Values stay strictly inside (0, 1).
    """
    tiny = np.finfo(np.float32).eps
    positive = np.clip(np.asarray(positive, dtype=np.float64), tiny, 1.0 - tiny)
    if layout.kind == "binary":
        return np.hstack([1.0 - positive, positive])
    if layout.kind == "multiclass":
        return positive / positive.sum(axis=1, keepdims=True)
    return positive


def place_constant_labels(scores: np.ndarray, constant: np.ndarray) -> np.ndarray:
    """Rank never-seen labels last and always-on labels first in each row.

    A constant label has no evidence for any score; left at 0 (one-vs-rest) a label never
    seen would outrank every negative margin.
    """
    if constant.any():
        ordinary = scores[:, constant == 0]
        low = np.minimum(ordinary.min(axis=1, initial=0.0), 0.0) - 1.0
        high = np.maximum(ordinary.max(axis=1, initial=0.0), 0.0) + 1.0
        scores = scores.copy()
        scores[:, constant < 0] = low[:, None]
        scores[:, constant > 0] = high[:, None]
    return scores


def decode_scores(layout: TargetLayout, blocks: Iterator[np.ndarray]) -> Any:
    """Turn blocks of scores into predictions in the form the training y had."""
    if layout.kind == "multilabel" and layout.is_sparse:
        indicator_blocks = [sparse.csr_array(block > 0) for block in blocks]
        return sparse.vstack(indicator_blocks, format="csr").astype(layout.dtype)
    if layout.kind == "multilabel":
        return np.vstack([block > 0 for block in blocks]).astype(layout.dtype)
    if layout.kind == "binary":
        return layout.classes[np.concatenate([block[:, 0] > 0 for block in blocks]).astype(int)]
    return layout.classes[np.concatenate([block.argmax(axis=1) for block in blocks])]
