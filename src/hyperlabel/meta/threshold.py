"""Label sets from the scores of any classifier, by thresholds tuned on out-of-fold scores."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from hyperlabel._base import decode_scores, label_probabilities
from hyperlabel._params import one_of
from hyperlabel._sklearn_compat import safe_indexing
from hyperlabel._topk import top_k
from hyperlabel._validation import check_features, number_groups
from hyperlabel.decision import (
    LabelSetSize,
    Sigmoid,
    best_k,
    decide,
    expected_f1_sets,
    global_threshold,
    guarantee_precision,
    guarantee_recall,
    per_label_thresholds,
    proportional_thresholds,
)
from hyperlabel.decision.calibrators import Calibrators
from hyperlabel.decision.guarantee_table import Guarantees
from hyperlabel.decision.risk_control import ERROR_CONTROLS, check_guarantee
from hyperlabel.decision.risk_control_overall import guarantee_overall_precision, guarantee_overall_recall
from hyperlabel.meta.wrapper_base import WrappingClassifier
from hyperlabel.metrics import f1_score, hamming_loss
from hyperlabel.metrics.statistics import split_std
from hyperlabel.model_selection import resolve_cv
from hyperlabel.model_selection.out_of_fold import few_folds

STRATEGIES = (
    "per_label",
    "global",
    "top_k",
    "proportional",
    "label_set_size",
    "expected_f1",
    "precision_at_least",
    "recall_at_least",
)
GUARANTEES = STRATEGIES[-2:]


def _has_probabilities(self: Any) -> bool:
    scored_estimator = getattr(self, "estimator_", self._get_estimator())
    return hasattr(self, "calibrators_") or hasattr(scored_estimator, "predict_proba")


@dataclass(eq=False, repr=False)
class ThresholdTuner(WrappingClassifier):
    r"""Decide which scores are high enough, by a rule tuned on out-of-fold scores.

    Label j of row x is predicted where :math:`f_j(x) > c_j`,

    where:

    - :math:`f_j` is the wrapped estimator's score, passed through unchanged: `decision_function`,
      `predict_topk` and every ranking stay as they were;
    - :math:`c_j` (`thresholds_`) is chosen on scores of rows the model had not seen.

    Strategies:

    ``"per_label"``
        A threshold for each label that maximises `scoring`. A label with P positives is drawn to the best
        shared threshold with weight `shrinkage` / (P + `shrinkage`).
    ``"global"``
        One threshold for all labels that maximises `scoring`.
    ``"top_k"``
        The `k` best labels of every row; None: the k that maximises `scoring`.
    ``"proportional"``
        Each label as often as in the training labels.
    ``"label_set_size"``
        A threshold h(x) for each row, regressed on x (:class:`hyperlabel.decision.LabelSetSize`); X must be
        numeric.
    ``"expected_f1"``
        For each row the set of greatest expected F1 under calibrated probabilities.
    ``"precision_at_least"``
        For each label the lowest threshold whose precision is at least `precision` with the `confidence`
        asked for (:func:`hyperlabel.decision.guarantee_precision`): P(guaranteed and violated) ≤ 1 −
        confidence. `guarantees_` lists threshold, bound and rows of each label, or how many more positive
        rows it would take; a label that cannot be guaranteed is never predicted. `coverage_` is the share of
        the true labels that are predicted.
    ``"recall_at_least"``
        For each label the highest threshold that misses at most 1 − `recall` of its rows, in expectation
        (conformal risk control).

    With ``cv="split"`` or ``"prefit"`` a guarantee is a theorem for independent rows (groups); with
    cross-fitted scores it rests on more rows and is measured only (``benchmarks/guarantees.py``), since the
    model fitted on all rows is another one than those that gave the scores. Every row counts alike in a
    guarantee, whatever its sample weight.

    Out-of-fold scores that the estimator brings along (`oof_scores_`) are used as they are; otherwise it
    is cross-validated. A 1-D y asks for one class of each row, not for thresholds: it is predicted as the
    estimator does.

    Parameters
    ----------
    estimator : classifier, default=None
        Anything with `decision_function` or `predict_proba`; None: :class:`BinaryRelevance`.
    strategy : str, default="per_label"
        See above.
    scoring : {"f1_macro", "f1_micro", "f1_samples", "hamming_loss"}, default="f1_macro"
        What ``"per_label"`` (not f1_samples), ``"global"`` and ``"top_k"`` maximise, and what `cv_score_` is.
    cv : None, int, splitter, iterable, "split" or "prefit", default=None
        Folds of the out-of-fold scores: None takes the estimator's own if it has them, else 10 stratified
        folds where they have a closed form (the shared ridge), 5 elsewhere. ``"split"``: a third of the rows
        (groups) is held out for the rule, and the estimator fitted on the rest alone. ``"prefit"``: the
        estimator is fitted already and (X, y) are other rows.
    k : int, default=None
        Of ``"top_k"``.
    precision, recall : float, default=0.9
        Of ``"precision_at_least"`` and ``"recall_at_least"``.
    confidence : float, default=0.9
        Of ``"precision_at_least"``; a recall holds in expectation, without it.
    error_control : {"per_label", "fdr", "overall"}, default="per_label"
        What is guaranteed: ``"per_label"`` each label by itself, ``"fdr"`` (precision only) that the expected
        share of violated guarantees among the guaranteed labels is at most 1 − confidence, ``"overall"`` the
        precision of all that is predicted, or the mean share of a row's labels that is predicted.
    shrinkage : float, default=10.0
        Of ``"per_label"``, in positives; 0 leaves every label to itself.
    label_tree : LabelTree or mapping of labels to parents, default=None
        Labels that lie under labels. Ancestors are added to the training labels, no score is above that of an
        ancestor, and no label is predicted without its ancestors. A label whose precision cannot be
        guaranteed is predicted as its nearest ancestor that has a guarantee (`guarantees_` names it).
    n_jobs : int, default=None
        Folds fitted in parallel.

    Attributes
    ----------
    estimator_ : classifier
        Fitted on all rows.
    thresholds_ : ndarray of shape (n_labels,)
        The thresholds; inf for labels never predicted, -inf for labels always on in training (of the
        strategies with a threshold for each label).
    cv_score_, cv_score_std_ : float
        `scoring` on rows that neither the model nor the rule had seen, the rule being fitted on the other
        folds, and its standard deviation over the folds; a loss with a minus sign. Not of guarantees, which
        are tested on rows of their own.
    k_ : int
        Of ``"top_k"``.
    set_size_ : LabelSetSize
        Of ``"label_set_size"``.
    f1_sigmoid_ : Sigmoid
        Of ``"expected_f1"``.
    calibrators_ : Calibrators
        From scores to probabilities, where the estimator has no `predict_proba` of its own.
    guarantees_ : Guarantees
        Of ``"precision_at_least"`` and ``"recall_at_least"``: one line a label (one in all with
        ``error_control="overall"``); ``pandas.DataFrame(list(tuner.guarantees_))`` is a table.
    coverage_ : float
        Of the same: share of all true labels that are predicted, on the rows tested.
    classes_, label_names_ : ndarray
        As in every classifier of the library.

    References
    ----------
    Y. Yang, *A study of thresholding strategies for text categorization*, SIGIR 2001. R.-E. Fan,
    C.-J. Lin, *A study on threshold selection for multi-label classification*, 2007.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import ThresholdTuner
    >>> X, y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> tuned = ThresholdTuner().fit(X, y)
    >>> tuned.thresholds_.shape, bool(0.5 < tuned.cv_score_ < 1)
    ((5,), True)
    >>> (tuned.decision_function(X) == tuned.estimator_.decision_function(X)).all()
    np.True_
    """

    _rules: ClassVar = {"strategy": one_of(*STRATEGIES), "error_control": one_of(*ERROR_CONTROLS)}

    estimator: Any = None
    _: KW_ONLY
    strategy: str = "per_label"
    scoring: str = "f1_macro"
    cv: Any = None
    k: int | None = None
    precision: float = 0.9
    recall: float = 0.9
    confidence: float = 0.9
    error_control: str = "per_label"
    shrinkage: float = 10.0
    label_tree: Any = None
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any, *, groups: Any = None, **params: Any) -> ThresholdTuner:
        """Fit the estimator on all rows and the rule on out-of-fold scores.

        `X` is anything the estimator takes. Rows of one of the `groups` stay together in every fold, the
        estimator's own among them. `params` go to the estimator's `fit` (a `sample_weight` also weighs in
        the tuning); they and the groups are routed as requested when metadata routing is enabled.
        """
        self._check_guarantee()
        X, Y, routed = self._fit_estimator(X, y, groups, params, kinds=("multilabel",))
        if self._layout.kind != "multilabel":
            return self
        if self._constant.all() and self.strategy not in GUARANTEES:
            self.thresholds_ = self._constant_thresholds()
            return self
        scores, Y, weights, rows = self._out_of_fold_scores(X, y, Y, routed)
        if not hasattr(self.estimator_, "predict_proba"):
            self.calibrators_ = Calibrators.fit(scores, Y, weights)
        groups = routed["split"].get("groups")
        groups = None if groups is None else np.asarray(groups)[rows]
        if self.strategy in GUARANTEES:
            self._fit_guarantees(*self._select_varying_labels(scores, Y), groups)
            return self
        self._fit_rule(X, rows, scores, Y, weights)
        self._cross_score(X, rows, scores, Y, weights, groups)
        return self

    def _select_varying_labels(
        self, scores: np.ndarray, Y: sparse.csr_array
    ) -> tuple[np.ndarray, sparse.csr_array]:
        """Drop labels that are constant in training: they would only bias the shared thresholds."""
        varies = self._constant == 0
        return (scores, Y) if varies.all() else (np.ascontiguousarray(scores[:, varies]), Y[:, varies])

    def _fit_rule(
        self, X: Any, rows: np.ndarray, scores: np.ndarray, Y: sparse.csr_array, weights: np.ndarray | None
    ) -> None:
        """Fit the rule on the out-of-fold scores of these rows."""
        scores, Y = self._select_varying_labels(scores, Y)
        if self.strategy == "label_set_size":
            Z = check_features(self, safe_indexing(X, rows))
            self.set_size_ = LabelSetSize().fit(Z, scores, Y, sample_weight=weights)
        elif self.strategy == "expected_f1":
            self.f1_sigmoid_ = Sigmoid.fit(scores, Y, weights)
        elif self.strategy == "top_k":
            self.k_ = self._best_k(scores, Y, weights)
        else:
            self._fit_thresholds(scores, Y, weights)

    def _cross_score(
        self,
        X: Any,
        rows: np.ndarray,
        scores: np.ndarray,
        Y: sparse.csr_array,
        weights: np.ndarray | None,
        groups: np.ndarray | None,
    ) -> None:
        """Score the rule on each fold, fitted on the others: all folds pooled, and their standard deviation.

        All folds are judged as one test set: macro-F1 of a small fold would count every label it lacks as 0.
        """
        n_units = len(rows) if groups is None else number_groups(groups, len(rows)).max() + 1
        self.cv_score_, self.cv_score_std_ = np.nan, np.nan
        if n_units < 2:
            return
        predicted_sets = np.zeros(scores.shape, dtype=bool)
        folds = list(resolve_cv(few_folds(None, n_units), Y, groups).split(scores, Y, groups))
        for train, test in folds:
            fold_tuner = copy(self)
            fold_tuner._fit_rule(
                X, rows[train], scores[train], Y[train], None if weights is None else weights[train]
            )
            predicted_sets[test] = fold_tuner._sets(X, rows[test], scores[test])

        def value(fold_rows: Any) -> float:
            weight = None if weights is None else weights[fold_rows]
            if self.scoring == "hamming_loss":
                return -hamming_loss(Y[fold_rows], predicted_sets[fold_rows], sample_weight=weight)
            average: Any = self.scoring.removeprefix("f1_")
            return float(
                f1_score(Y[fold_rows], predicted_sets[fold_rows], average=average, sample_weight=weight)
            )

        self.cv_score_ = value(slice(None))
        self.cv_score_std_ = split_std([value(test) for _, test in folds])

    def _check_guarantee(self) -> None:
        if self.strategy == "precision_at_least":
            check_guarantee(self.precision, self.confidence)
            if self.label_tree is not None and self.error_control == "overall":
                raise ValueError(
                    "error_control='overall' counts all that is predicted, and a tree would add ancestors to "
                    "it: guarantee each label, or leave label_tree=None."
                )
        elif self.strategy == "recall_at_least":
            check_guarantee(self.recall, None, "recall")
            if self.error_control == "fdr":
                raise ValueError(
                    "error_control='fdr' is about precision: a recall holds in expectation, by label or "
                    "overall."
                )

    def _fit_guarantees(self, scores: np.ndarray, Y: sparse.csr_array, groups: np.ndarray | None) -> None:
        label_names = [str(name) for name in self.label_names_]
        varying_names = [name for name, c in zip(label_names, self._constant, strict=True) if c == 0]
        overall = self.error_control == "overall"
        options: dict[str, Any] = (
            {"groups": groups} if overall else {"groups": groups, "names": varying_names}
        )
        control: Callable[..., Guarantees]
        if self.strategy == "recall_at_least":
            control, target = guarantee_overall_recall if overall else guarantee_recall, self.recall
        else:
            control, target = (
                guarantee_overall_precision if overall else guarantee_precision,
                self.precision,
            )
            options |= {"confidence": self.confidence} | (
                {} if overall else {"error_control": self.error_control}
            )
        is_proven = self._is_prefit() or self._is_split()
        guarantees = replace(
            control(scores, Y, target, **options), basis="split" if is_proven else "cross-fitted"
        )
        guarantees = guarantees.widened(self._constant, len(scores), label_names)
        self.guarantees_ = guarantees if overall else self._back_off(guarantees)
        self.thresholds_ = self.guarantees_.thresholds
        self.coverage_ = float(self.guarantees_.right.sum() / max(self.guarantees_.positives.sum(), 1))

    def _best_k(self, scores: np.ndarray, Y: sparse.csr_array, weights: np.ndarray | None) -> int:
        if self.k is not None and not 1 <= self.k <= len(self.classes_):
            raise ValueError(
                f"k must be between 1 and the number of labels ({len(self.classes_)}), got {self.k}."
            )
        return self.k or best_k(scores, Y, scoring=self.scoring, sample_weight=weights)[0]

    def _constant_thresholds(self) -> np.ndarray:
        """Return thresholds that always predict the labels always on in training, and no other."""
        return np.where(self._constant > 0, -np.inf, np.inf)

    def _fit_thresholds(self, scores: np.ndarray, Y: sparse.csr_array, weights: np.ndarray | None) -> None:
        self.thresholds_ = self._constant_thresholds()
        varies = self._constant == 0
        if self.strategy == "proportional":
            thresholds = proportional_thresholds(scores, Y, sample_weight=weights)
        else:
            options: dict[str, Any] = {"scoring": self.scoring, "sample_weight": weights}
            if self.strategy == "global":
                thresholds = global_threshold(scores, Y, **options).thresholds
            else:
                thresholds = per_label_thresholds(scores, Y, shrinkage=self.shrinkage, **options).thresholds
        self.thresholds_[varies] = thresholds

    def predict(self, X: Any) -> Any:
        """Label sets of each row, in the form y had in `fit`: its dtype, and sparse if that was sparse."""
        X = self._check_predict(X)
        if self._layout.kind != "multilabel":
            return decode_scores(self._layout, (block for _, block in self._score_blocks(X)))
        signs = (np.where(self._sets(X, rows, block), 1.0, -1.0) for rows, block in self._score_blocks(X))
        return decode_scores(self._layout, signs)

    def _sets(self, X: Any, rows: Any, scores: np.ndarray) -> np.ndarray:
        """Apply the rule to a block of scores; no label comes without its ancestors."""
        return self._raise(self._own_sets(X, rows, scores))

    def _own_sets(self, X: Any, rows: Any, scores: np.ndarray) -> np.ndarray:
        if hasattr(self, "guarantees_"):
            return self.guarantees_.decide(scores)
        if hasattr(self, "thresholds_"):
            return decide(scores, self.thresholds_)
        predicted_sets = np.broadcast_to(self._constant > 0, scores.shape).copy()
        varies = self._constant == 0
        if self.strategy == "top_k":
            np.put_along_axis(predicted_sets, top_k(scores, min(self.k_, scores.shape[1]))[0], True, axis=1)
            predicted_sets[:, self._constant < 0] = False
        elif self.strategy == "label_set_size":
            Z = check_features(self, safe_indexing(X, rows))
            predicted_sets[:, varies] = self.set_size_.decide(Z, scores[:, varies])
        else:
            predicted_sets[:, varies] = expected_f1_sets(self.f1_sigmoid_.probabilities(scores[:, varies]))
        return predicted_sets

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Probability of each label, of shape (n_samples, n_labels): the wrapped estimator's own.

        Where it has none, its scores are calibrated by curves fitted on the out-of-fold ones.
        """
        X = self._check_predict(X)
        if not hasattr(self, "calibrators_"):
            return label_probabilities(self.estimator_, X)
        tiny = np.finfo(np.float32).eps
        return np.clip(self.calibrators_.probabilities(self.decision_function(X)), tiny, 1 - tiny)
