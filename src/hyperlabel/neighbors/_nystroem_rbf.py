"""Rows as their similarity to landmark rows: non-linear features for models on moments (Nyström)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import linalg, sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from hyperlabel._base import DocumentedEstimator
from hyperlabel._params import Rule, number, whole
from hyperlabel._validation import check_features
from hyperlabel.solvers.arrays import as_dense, rank_tolerance, row_blocks


@dataclass(eq=False, repr=False)
class NystroemRBF(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DocumentedEstimator):
    r"""Features whose dot products are about :math:`\exp(-\|x - z\|^2 / (w\,\bar d))`.

    .. math:: z(x) = \Lambda^{-1/2} V^T (k(x, c_1), …, k(x, c_m)), \qquad K_{cc} = V \Lambda V^T,

    where :math:`c_1, …, c_m` are rows drawn in `fit`, and :math:`\bar d` is the mean squared distance of the
    rows seen there. Both are fixed from then on: `BinaryRelevance` and every other model on sums over rows
    streams, merges, forgets and cross-validates through the map as it does without.

    scikit-learn's `Nystroem` does the same in float64 with two n×m arrays and a singular value decomposition;
    here rows, dense or sparse, are mapped in blocks to float32, 4 bytes for each row and landmark.

    Parameters
    ----------
    n_components : int, default=1000
        Number of landmarks m, at most the rows of `fit`. Fitting takes O(m³), a row O(m²).
    length_scale : float, default=1.0
        w, how far similarity reaches, in units of the mean squared distance.
    random_state : int, RandomState or None, default=None
        Draws the landmarks.

    Attributes
    ----------
    gamma_ : float
        :math:`1/(w\,\bar d)`.
    components_ : ndarray or csr_array of shape (m, n_features)
        The landmarks.

    References
    ----------
    C. Williams, M. Seeger, *Using the Nyström method to speed up kernel machines*, NIPS 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel import BinaryRelevance, NystroemRBF
    >>> from sklearn.pipeline import make_pipeline
    >>> X = np.linspace(-1, 1, 40)[:, None]
    >>> Y = np.column_stack([abs(X[:, 0]) < 0.5, X[:, 0] > 0]).astype(int)
    >>> model = make_pipeline(NystroemRBF(20, random_state=0), BinaryRelevance(alpha=0.01))
    >>> float(model.fit(X, Y).score(X, Y))
    1.0
    """

    _rules: ClassVar[dict[str, Rule]] = {"n_components": whole(1), "length_scale": number(above=0)}
    _fitted_shapes: ClassVar[dict[str, str]] = {"components_": "m d", "normalization_": "m r"}

    n_components: int = 1000
    _: KW_ONLY
    length_scale: float = 1.0
    random_state: Any = None

    def fit(self, X: Any, y: Any = None) -> NystroemRBF:
        """Draw the landmarks and measure the length scale; later rows, more or fewer, are mapped by them."""
        X = check_features(self, X, reset=True)
        squares = _squared_norms(X)
        mean_distance = 2.0 * (squares.mean() - np.square(np.asarray(X.mean(axis=0), dtype=np.float64)).sum())
        # rows that are all equal have no distance to measure by
        varies = mean_distance > 1e-12 * squares.mean()
        self.gamma_ = 1.0 / (self.length_scale * mean_distance) if varies else 1.0
        row_order = check_random_state(self.random_state).permutation(X.shape[0])
        self.components_ = X[np.sort(row_order[: self.n_components])]
        values, vectors = linalg.eigh(self._kernel(self.components_).astype(np.float64), driver="evd")
        in_range = values > max(rank_tolerance(values), 1e-7 * values[-1])  # below is the rounding of float32
        self.normalization_ = (vectors[:, in_range] / np.sqrt(values[in_range])).astype(np.float32)
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Map rows to float32 features, as many as the landmarks have independent directions."""
        check_is_fitted(self)
        X = check_features(self, X)
        Z = np.empty((X.shape[0], self._n_features_out), dtype=np.float32)
        for rows in row_blocks(X.shape[0], 16 * self.components_.shape[0]):
            Z[rows] = self._kernel(X[rows]) @ self.normalization_
        return Z

    def _kernel(self, X: Any) -> np.ndarray:
        """Similarities of rows and landmarks: dot products in float64, for distances are differences."""
        product = as_dense(X @ self.components_.T).astype(np.float64, copy=False)
        product *= -2.0
        product += _squared_norms(X)[:, None]
        product += _squared_norms(self.components_)
        np.maximum(product, 0.0, out=product)
        product *= -self.gamma_
        return np.exp(product.astype(np.float32))

    @property
    def _n_features_out(self) -> int:
        return int(self.normalization_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = []
        return tags


def _squared_norms(X: Any) -> np.ndarray:
    """Squared lengths of the rows."""
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64)
    return np.einsum("ij,ij->i", X, X, dtype=np.float64)
