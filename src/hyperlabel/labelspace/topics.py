"""Topic modelling of label sets: soft clusters of vertices (Algorithm 5)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse, special
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation

from hyperlabel._base import MultiLabelClassifier, shape_probabilities
from hyperlabel._params import number, whole
from hyperlabel.geometry.hypercube import mean_vertex
from hyperlabel.moments.linear_map import not_linear, signed_targets
from hyperlabel.solvers.arrays import as_dense
from hyperlabel.solvers.margin.soft_logistic import solve_soft_logistic


@dataclass(eq=False, repr=False)
class LabelTopicModel(MultiLabelClassifier):
    r"""Latent topics of label sets, predicted by a probabilistic classifier.

    .. math:: P(y \mid x) = \sum_m P(y \mid z = m)\, r_m(x), \qquad \tilde y = \sum_m r_m(x)\, p_m,

    where:

    - :math:`z` is the topic; :math:`h_{im} = P(z = m \mid y_i)` comes from latent Dirichlet
      allocation, each label set being a document of label names ("no label" is a word as well),
      or from another `clustering` of the label sets;
    - :math:`p_m = \sum_i h_{im} y_i / \sum_i h_{im}` is the centre of topic m, inside the cube;
    - :math:`r_m(x)` is multinomial logistic regression (maximum entropy) on the soft targets h.

    Labels with :math:`\tilde y_k > ½` are predicted; rare labels seldom get there, so tune the
    threshold or use the ranking.

    Parameters
    ----------
    n_topics : int, default=10
        M.
    classifier : classifier, default=None
        A probabilistic classifier that takes sample_weight, trained on every row once per topic
        with weight h; None is logistic regression on the soft targets themselves.
    clustering : clusterer, mixture or decomposition, default=None
        Another way to find the topics, with ``n_components`` or ``n_clusters`` (set to `n_topics`):
        memberships are its `predict_proba`, its clusters as 0 and 1, or its non-negative
        `transform` with rows of sum 1; None is latent Dirichlet allocation.
    alpha : float, default=1.0
        The penalty (λ/2)‖W‖² of the default classifier, on columns of unit variance.
    n_init : int, default=3
        Random starts of latent Dirichlet allocation; the one of lowest perplexity is kept.
    random_state : int, default=None
        First start of the topic model; None is 0.

    Attributes
    ----------
    topics_ : LatentDirichletAllocation, or the fitted clustering
        The topic model.
    components_ : ndarray of shape (n_topics, n_labels)
        p, the centres.
    coef_, intercept_ : ndarray
        The default classifier (n_topics × n_features).
    classifier_ : classifier
        The fitted classifier, if one was given.

    References
    ----------
    Law, Settles & Mitchell (2010), Learning to tag from open vocabulary labels;
    Blei, Ng & Jordan (2003), Latent Dirichlet allocation; Tai & Lin (2012), Algorithm 5.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import LabelTopicModel
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> LabelTopicModel(4).fit(X, Y).predict_proba(X[:2]).shape
    (2, 5)
    """

    _fitted_shapes: ClassVar[dict[str, str]] = {"components_": "t k", "coef_": "t d", "intercept_": "t"}
    _rules: ClassVar = {"n_topics": whole(1), "alpha": number(0), "n_init": whole(1)}
    _inner = "classifier"

    n_topics: int = 10
    _: KW_ONLY
    classifier: Any = None
    clustering: Any = None
    alpha: float = 1.0
    n_init: int = 3
    random_state: int | None = None

    def fit(self, X: Any, y: Any) -> LabelTopicModel:
        X, Y = self._check_fit(X, y)
        # "no label" is a word too, or rows without labels would belong to every topic alike
        empty = sparse.csr_array((np.diff(Y.indptr) == 0).astype(np.float64)[:, None])
        H = self._find_topics(sparse.hstack([Y, empty], format="csr"))
        mass = H.sum(axis=0)
        centres = as_dense(Y.T @ H).T
        # a topic that no row belongs to has no centre of its own: it gets the mean
        self.components_ = np.where(
            mass[:, None] > 1e-9, centres / np.maximum(mass, 1e-9)[:, None], mean_vertex(Y)
        )
        self._fit_topics(X, H)
        return self

    def _find_topics(self, documents: sparse.csr_array) -> np.ndarray:
        """Topic distribution of each label set, from the best of several starts."""
        if self.clustering is not None:
            return self._cluster_label_sets(documents.toarray())
        starts = []
        for start in range(int(self.n_init)):
            # label sets are short documents: a small prior lets each belong to few topics
            model = LatentDirichletAllocation(
                int(self.n_topics),
                doc_topic_prior=0.01,
                max_iter=30,
                random_state=(self.random_state or 0) + start,
            )
            H = model.fit_transform(documents)
            starts.append((model.bound_, start, model, H))
        _, _, self.topics_, H = min(starts, key=lambda entry: entry[:2])  # bound_ is the perplexity
        return H

    def _cluster_label_sets(self, documents: np.ndarray) -> np.ndarray:
        model = clone(self.clustering)
        size_param = next((p for p in ("n_components", "n_clusters") if p in model.get_params()), None)
        if size_param is None:
            raise ValueError(
                f"clustering must have n_components or n_clusters, not so {type(model).__name__}."
            )
        self.topics_ = model.set_params(**{size_param: int(self.n_topics)}).fit(documents)
        if hasattr(model, "predict_proba"):
            return model.predict_proba(documents)
        if hasattr(model, "labels_"):
            return np.eye(int(self.n_topics))[model.labels_]
        H = model.transform(documents)
        if (H < 0).any():
            raise ValueError(f"Memberships must not be negative, as those of {type(model).__name__} are.")
        return H / np.maximum(H.sum(axis=1, keepdims=True), 1e-12)

    def _fit_topics(self, X: Any, H: np.ndarray) -> None:
        if self.classifier is None:
            logistic = solve_soft_logistic(X, H, alpha=float(self.alpha))
            self.coef_, self.intercept_ = np.ascontiguousarray(logistic.coef).T, logistic.intercept
            return
        # the same row once per topic, weighted by how much it belongs there
        row, topic = np.nonzero(H > 1e-3)
        self.classifier_ = clone(self.classifier).fit(X[row], topic, sample_weight=H[row, topic])

    def _predict_topics(self, X: Any) -> np.ndarray:
        """r(x) of validated rows, n×M."""
        if self.classifier is None:
            return special.softmax(as_dense(X @ self.coef_.T) + self.intercept_, axis=1)
        probabilities = np.zeros((X.shape[0], len(self.components_)))
        probabilities[:, self.classifier_.classes_] = self.classifier_.predict_proba(X)
        return probabilities

    def _linear_map(self) -> Any:
        raise not_linear(type(self).__name__)

    def _scores(self, X: Any) -> np.ndarray:
        return signed_targets(self._predict_topics(X) @ self.components_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each label, Σ r_m(x) p_m, n×k."""
        X = self._check_predict(X)
        return shape_probabilities(self._layout, self._predict_topics(X) @ self.components_)
