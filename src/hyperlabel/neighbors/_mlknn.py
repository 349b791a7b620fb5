"""ML-kNN: count a label among the neighbours, ask what that count meant in training."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from scipy.special import expit, logit

from hyperlabel._base import MultiLabelClassifier, shape_probabilities
from hyperlabel._missing_labels import EPS, find_unknown_labels, known_part, label_counts, split_missing
from hyperlabel._params import Rule, number, one_of, whole
from hyperlabel.neighbors._search import find_neighbors
from hyperlabel.solvers.neighbors.neighbor_counts import (
    count_tables,
    known_count_tables,
    leave_one_out_loss,
    log_odds,
    look_up,
    look_up_known,
)

SIZES = (3, 5, 7, 10, 14, 20)  # compared by n_neighbors="auto"


@dataclass(eq=False, repr=False)
class MLkNN(MultiLabelClassifier):
    r"""Multi-label k nearest neighbours, after Zhang and Zhou.

    For every label the number of neighbours that carry it is turned into a posterior
    probability by Bayes' rule,

    .. math:: P(H_1 \mid E_j) = \frac{P(H_1) P(E_j \mid H_1)}
              {P(H_1) P(E_j \mid H_1) + P(H_0) P(E_j \mid H_0)},

    where:

    * :math:`H_1, H_0` say that a row has, or has not, the label,
    * :math:`E_j` says that j of its k neighbours have it,
    * :math:`P(H_1) = (s + n_1)/(2s + n)` with :math:`n_1` of n training rows labelled,
    * :math:`P(E_j \mid H_1) = (s + c_j)/(s(k+1) + \sum_p c_p)`, :math:`c_j` being the number of
      labelled training rows with j labelled neighbours among the *other* training rows;
      likewise for :math:`H_0`.

    A training row is left out of its own neighbours by its index (duplicates stay), and equal
    distances go to the row that comes first. Y is never densified in training.

    Labels nobody knows (NaN): a training row counts for the labels it knows, in :math:`n, n_1` and
    :math:`c_j`. If r of the k neighbours know a label and i of them have it, j is ki/r, rounded; where none
    knows it, the prior decides. Rows without a known label are left out. A label that no row knows has the
    mean prior of the others, and is not predicted by that alone.

    Parameters
    ----------
    n_neighbors : int or "auto", default=10
        Number of neighbours k. "auto" takes the one of 3, 5, 7, 10, 14 and 20 whose log loss is least
        when each training row is left out of its own counts, from one list of neighbours.
    smoothing : float, default=1.0
        Pseudo-count s > 0 (Laplace: 1).
    metric : str or callable, default="euclidean"
        Any metric of `sklearn.metrics.pairwise_distances`, ``"precomputed"`` included.
        Euclidean neighbours are found in compiled code; metrics that scikit-learn does not
        compute on sparse rows densify a bounded block of them at a time.
    metric_params : dict, default=None
        Further arguments of the metric.

    Attributes
    ----------
    n_neighbors_ : int
        Neighbours really used: chosen, or at most the number of other training rows.
    log_odds_ : ndarray of shape (n_labels, k + 1)
        Log-odds of each label for each number of neighbours that have it.
    classes_ : ndarray
        Labels (column numbers), or the classes of a 1-D y.
    label_names_ : ndarray of str
        Names of the labels.

    References
    ----------
    M.-L. Zhang, Z.-H. Zhou, "ML-KNN: A lazy learning approach to multi-label learning",
    Pattern Recognition 40(7), 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel import MLkNN
    >>> X = np.arange(12.0)[:, None]
    >>> Y = np.column_stack([X[:, 0] < 7, X[:, 0] > 4]).astype(int)
    >>> model = MLkNN(3).fit(X, Y)
    >>> model.predict([[0.2], [5.6], [11.0]])
    array([[1, 0],
           [1, 1],
           [0, 1]])
    >>> model.predict_proba([[0.2]]).round(2)
    array([[0.88, 0.18]])
    """

    _fitted_shapes: ClassVar[dict[str, str]] = {"_rows": "n d", "_labels": "n k", "log_odds_": "k j"}
    _fitted_shapes |= {"_missing": "n k", "_log_prior_odds": "k"}

    # A smoothing of 0 would make counts never seen in training impossible.
    _rules: ClassVar[dict[str, Rule]] = {
        "n_neighbors": whole(1) | one_of("auto"),
        "smoothing": number(above=0),
    }

    @property
    def _accepts_missing_labels(self) -> bool:  # type: ignore[override]
        return not self._pairwise  # rows that are left out would still be columns of the distances

    n_neighbors: int | str = 10
    _: KW_ONLY
    smoothing: float = 1.0
    metric: Any = "euclidean"
    metric_params: dict[str, Any] | None = None

    def fit(self, X: Any, y: Any) -> MLkNN:
        """Find the neighbours of every training row and count labels among them.

        With ``metric="precomputed"`` X is the square matrix of the training rows' distances.
        """
        X, Y_given = known_part(*self._check_fit(X, y, min_samples=2))
        Y, missing = split_missing(Y_given)
        if self._pairwise and X.shape[0] != X.shape[1]:
            raise ValueError(f"Precomputed distances must be a square matrix, got shape {X.shape}.")
        candidate_sizes = SIZES if self.n_neighbors == "auto" else (int(self.n_neighbors),)
        sizes = sorted({min(size, X.shape[0] - 1) for size in candidate_sizes})
        self._rows = X
        self._labels = Y
        self.n_neighbors_ = sizes[-1]
        neighbors, smoothing = self._find_neighbor_index(X, skip=np.arange(X.shape[0])), float(self.smoothing)
        if missing is None:
            count_pairs = [count_tables(neighbors[:, :size], Y) for size in sizes]
        else:
            count_pairs = [known_count_tables(neighbors[:, :size], Y, missing) for size in sizes]
        losses = [leave_one_out_loss(*pair, smoothing) if len(sizes) > 1 else 0.0 for pair in count_pairs]
        best_size = int(np.argmin(losses))
        self.n_neighbors_, self.log_odds_ = sizes[best_size], log_odds(*count_pairs[best_size], smoothing)
        if missing is not None:
            self._set_unknown(Y_given, missing, smoothing)
        return self

    def _set_unknown(self, Y: sparse.csr_array, missing: sparse.csr_array, smoothing: float) -> None:
        self._missing = missing
        counts, known_rows = label_counts(Y, None)
        self._log_prior_odds = np.log(smoothing + counts) - np.log(smoothing + known_rows - counts)
        unknown_labels, share = find_unknown_labels(Y)
        prior_odds = float(logit(np.clip(share, EPS, 1 - EPS)))
        self._log_prior_odds[unknown_labels] = min(prior_odds, -EPS) if share <= 0.5 else prior_odds
        self.log_odds_[unknown_labels] = self._log_prior_odds[unknown_labels, None]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the posterior probability of each label, above ½ exactly where `predict` says yes.

        For a 1-D y there is one column per class, and rows sum to 1.
        """
        X = self._check_predict(X)
        logits = np.vstack([block for _, block in self._score_blocks(X)])
        # A constant label's rank was put in its place; its probability is not weaker than Bayes' rule says.
        never, always = self._constant < 0, self._constant > 0
        logits[:, never] = np.minimum(logits[:, never], self.log_odds_[never, 0])
        logits[:, always] = np.maximum(logits[:, always], self.log_odds_[always, -1])
        return shape_probabilities(self._layout, expit(logits))

    @property
    def _pairwise(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._pairwise
        return tags

    def _find_neighbor_index(self, X: Any, *, skip: np.ndarray | None = None) -> np.ndarray:
        nearest = find_neighbors(
            X,
            self._rows,
            self.n_neighbors_,
            metric=self.metric,
            metric_params=self.metric_params,
            skip=skip,
        )
        if (nearest.index < 0).any():
            raise ValueError(f"The metric {self.metric!r} gave NaN or infinite distances for these rows.")
        return nearest.index

    def _scores(self, X: Any) -> np.ndarray:
        neighbors = self._find_neighbor_index(X)
        if not hasattr(self, "_missing"):
            return look_up(neighbors, self._labels, self.log_odds_)
        return look_up_known(neighbors, self._labels, self._missing, self.log_odds_, self._log_prior_odds)
