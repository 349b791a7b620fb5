"""Probabilities of classifiers that have out-of-fold scores anyway."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from hyperlabel.decision.calibrators import Calibrators


def _has_probabilities(self: Any) -> bool:
    return hasattr(self, "calibrators_") or hasattr(self, "_oof_labels_")


class OutOfFoldProbabilities:
    """Gives a classifier with `oof_scores_` a calibrated `predict_proba`.

    The curves are fitted when they are first asked for, and kept: through rows and labels that come and go
    they stay as they are, since scores of a model with a few more rows mean nearly the same.
    """

    oof_scores_: np.ndarray
    calibrators_: Calibrators
    _calibrated_threshold_: float
    _oof_labels_: sparse.csr_array
    _oof_weights_: np.ndarray | None
    _constant: np.ndarray
    _layout: Any

    def _keep_truth(self, Y: sparse.csr_array, weights: np.ndarray | None = None) -> None:
        """Remember the labels that belong to `oof_scores_`."""
        self._drop_calibrators()
        if self._layout.kind == "multilabel":  # a 1-D y asks for one class, which scores decide
            self._oof_labels_, self._oof_weights_ = Y, weights

    def _calibrate(self) -> None:
        """Fit the curves, if they are not there and can be."""
        if hasattr(self, "calibrators_") or not hasattr(self, "_oof_labels_"):
            return
        rows = np.flatnonzero(~np.isnan(self.oof_scores_).any(axis=1))
        weights = None if self._oof_weights_ is None else self._oof_weights_[rows]
        self.calibrators_ = Calibrators.fit(self.oof_scores_[rows], self._oof_labels_[rows], weights)
        self._calibrated_threshold_ = getattr(self, "threshold_", 0.0)

    def _drop_calibrators(self) -> None:
        """Forget the probabilities of an earlier fit."""
        for name in ("calibrators_", "_calibrated_threshold_", "_oof_labels_", "_oof_weights_"):
            self.__dict__.pop(name, None)

    def _drop_rows(self) -> None:
        """Forget what is known row by row; the curves stay."""
        self._calibrate()
        for name in ("oof_scores_", "_oof_labels_", "_oof_weights_"):
            self.__dict__.pop(name, None)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Calibrated probability of each label, strictly inside (0, 1), from out-of-fold scores.

        `predict` cuts the scores instead.
        """
        self._calibrate()
        scores = self.decision_function(X)  # type: ignore[attr-defined]
        scores = scores + (
            getattr(self, "threshold_", 0.0) - self._calibrated_threshold_
        )  # a threshold moves with the rows
        tiny = np.finfo(np.float32).eps
        return np.clip(self.calibrators_.probabilities(scores), tiny, 1 - tiny)
