"""Classifier chains of scikit-learn, averaged over label orders, as a multi-label baseline."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain

from hyperlabel._base import MultiLabelClassifier, shape_probabilities


@dataclass(eq=False, repr=False)
class ChainEnsemble(MultiLabelClassifier):
    """Average of scikit-learn's `ClassifierChain` over random label orders.

    A chain lets each label see the predictions of those before it; averaging over orders takes away
    the luck of one order. Labels that are constant in training are left out of the chains.

    Parameters
    ----------
    estimator : classifier, default=None
        Cloned for each label; logistic regression when None.
    n_chains : int, default=5
        Number of chains.
    random_state : int, default=None
        Seed of the orders.

    Attributes
    ----------
    chains_ : list of ClassifierChain
        The fitted chains.

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes, E. Frank, *Classifier chains for multi-label classification*,
    Machine Learning 85, 2011.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel.linear import ChainEnsemble
    >>> X, Y = make_multilabel_classification(n_samples=60, random_state=0)
    >>> ChainEnsemble(n_chains=2, random_state=0).fit(X, Y).predict(X).shape
    (60, 5)
    """

    estimator: Any = None
    _: KW_ONLY
    n_chains: int = 5
    random_state: int | None = None

    def fit(self, X: Any, y: Any) -> ChainEnsemble:
        X, Y = self._check_fit(X, y)
        self._varying = np.flatnonzero(self._constant == 0)
        base_estimator = LogisticRegression(max_iter=1000) if self.estimator is None else self.estimator
        rng = np.random.default_rng(self.random_state)
        targets = Y[:, self._varying].toarray().astype(np.int8)
        self.chains_ = []
        for _ in range(self.n_chains if len(self._varying) else 0):
            label_order = [int(j) for j in rng.permutation(targets.shape[1])]
            self.chains_.append(ClassifierChain(clone(base_estimator), order=label_order).fit(X, targets))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each label, n×k, averaged over chains."""
        X = self._check_predict(X)
        return shape_probabilities(self._layout, self._average_probabilities(X))

    def _average_probabilities(self, X: Any) -> np.ndarray:
        probabilities = np.repeat((self._constant > 0).astype(float)[None, :], X.shape[0], axis=0)
        if self.chains_:
            probabilities[:, self._varying] = np.mean([c.predict_proba(X) for c in self.chains_], axis=0)
        return probabilities

    def _scores(self, X: Any) -> np.ndarray:
        return self._average_probabilities(X) - 0.5
