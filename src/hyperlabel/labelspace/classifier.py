"""Label-space classifiers: encode the labels, regress the codes, decode (Algorithms 7–8).

Notation
--------
==========  ============================================  =====
code        Tai & Lin (2012)                              shape
==========  ============================================  =====
encoder_    o, P and the decoder D                        —
coef_       W of the ridge r(x) = Wᵀ(x − μ) + h̄           d×M
points      ỹ = D(r(x)); the score is 2ỹ − 1              n×K
==========  ============================================  =====
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from hyperlabel._base import MultiLabelClassifier, constant_labels
from hyperlabel._validation import encode_like
from hyperlabel.geometry.hypercube import round_to_vertex
from hyperlabel.labelspace.encoders import IdentityEncoder, LabelEncoder
from hyperlabel.moments.model import BlockModel
from hyperlabel.solvers.arrays import dense, row_blocks
from hyperlabel.solvers.moments import Moments
from hyperlabel.solvers.ridge import RidgeResult, choose_route, solve_codes, solve_ridge

# W and P are multiplied out to one d×K map where that is cheaper per row and the map is below this.
FOLDED_MAX_BYTES = 512 * 2**20


@dataclass(frozen=True)
class ErrorDecomposition:
    """Theorem 1 on a set of rows (means over the rows).

    Attributes
    ----------
    prediction_error : float or None
        (4/K)‖r(x) − h‖², what the regressor gets wrong; None if the rows of P are not orthonormal.
    encoding_error : float or None
        (4/K)‖y − o − Pᵀh‖², what the encoder cannot say; None likewise.
    bound : float
        Their sum, eq. (3); without orthonormal rows (4/K)‖ỹ − y‖² of Lemma 1.
    hamming_loss : float
        Observed, of the rounded ỹ; never above `bound`.
    """

    prediction_error: float | None
    encoding_error: float | None
    bound: float
    hamming_loss: float


class EncodedClassifier(BlockModel, MultiLabelClassifier):
    """Fit and predict for every encoder; subclasses say which encoder and which regressor."""

    encoder_: Any
    regressor: Any
    alpha: float
    _keeps_ff = True  # fits in blocks choose the flat from YᵀY

    def _make_encoder(self, X: Any, Y: sparse.csr_array) -> Any:
        """Return an unfitted encoder for validated data."""
        raise AttributeError(f"{type(self).__name__} names no encoder.")

    def fit(self, X: Any, y: Any) -> Any:
        """Encode the label sets and learn to predict the codes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like or sparse matrix of shape (n_samples, n_labels), or array of shape (n_samples,)
            Label indicator, or classes.

        Returns
        -------
        self : EncodedClassifier
        """
        X, Y = self._check_fit(X, y)
        if not self.alpha >= 0:
            raise ValueError(f"alpha must be at least 0, got {self.alpha}.")
        self.encoder_ = self._make_encoder(X, Y).fit(Y, X)
        self._regress(X, Y)
        return self

    def _regress(self, X: Any, Y: sparse.csr_array) -> None:
        for name in ("regressor_", "moments_", "coef_", "intercept_", "residual_", "_map"):
            self.__dict__.pop(name, None)
        per_row = X.nnz / max(X.shape[0], 1) if sparse.issparse(X) else X.shape[1]
        if self.regressor is None and self._sums_are_smaller(X, Y):
            self._keep(self._ridge_of_sums(Moments.from_rows(X, Y)), per_row)
            return
        H = self.encoder_.transform(Y)
        if self.regressor is not None:
            H = dense(H)
            self.regressor_ = clone(self.regressor).fit(X, H[:, 0] if H.shape[1] == 1 else H)
            return
        result = solve_ridge(X, H, alphas=(float(self.alpha),)).solve(float(self.alpha))
        self._keep(result, per_row)

    def _sums_are_smaller(self, X: Any, Y: sparse.csr_array) -> bool:
        """Whether XᵀY (d×K), which gives XᵀH for codes linear in y, is smaller than the codes H (n×M)."""
        linear = getattr(type(self.encoder_), "transform", None) is LabelEncoder.transform
        fewer = linear and X.shape[1] * Y.shape[1] <= X.shape[0] * self.encoder_.components_.shape[0]
        return fewer and choose_route(X) == "gram"

    def _ridge_of_sums(self, moments: Moments) -> RidgeResult:
        """The ridge from X to the codes P(y − o), from sums over the rows alone."""
        encoder = self.encoder_
        return solve_codes(moments.centered(), encoder.components_, encoder.offset_, float(self.alpha))

    # -- fits in blocks of rows: XᵀX, XᵀY and YᵀY hold all that encoder and ridge need --------------

    def _encoder_from_sums(self, moments: Moments) -> Any:
        """Return the encoder of the rows summed in `moments`, or None where sums do not tell."""
        return None

    def _refuses_blocks(self) -> str | None:
        if type(self)._encoder_from_sums is EncodedClassifier._encoder_from_sums:
            return f"{type(self).__name__} needs all rows at once: its codes are not sums over rows."
        if self.regressor is not None:
            return "Your own regressor needs all rows at once: leave regressor=None for the shared ridge."
        if isinstance(getattr(self, "n_components", None), str):
            return "Choosing n_components needs all rows at once: give the number."
        return None

    def _solve(self) -> None:
        moments = self.moments_
        self._constant = constant_labels(moments.f_sum, moments.weight)
        self.encoder_ = encoder = self._encoder_from_sums(moments)
        encoder.n_components_ = encoder.components_.shape[0]
        self._keep(self._ridge_of_sums(moments), moments.n_features)

    def _blocks_done(self) -> None:
        del self.moments_  # K×K and d×K: kept by `partial_fit` alone

    def _keep(self, result: RidgeResult, per_row: float) -> None:
        self.coef_, self.intercept_, self.residual_ = result.coef, result.intercept, result.residual
        self._fold(per_row)

    def _fold(self, per_row: float) -> None:
        """Multiply W and P out where one d×K product is cheaper than two through M."""
        if not _rounds(self.encoder_):
            return
        d, M = self.coef_.shape
        K = len(self.encoder_.offset_)
        if 8 * d * K <= FOLDED_MAX_BYTES and per_row * K <= per_row * M + M * K:
            P, o = self.encoder_.components_, self.encoder_.offset_
            self._map = dense(self.coef_ @ P), dense(self.intercept_ @ P) + o

    def _codes(self, X: Any) -> np.ndarray:
        """r(x) of validated rows, n×M."""
        if self.regressor is None:
            return np.asarray(X @ self.coef_) + self.intercept_
        return np.asarray(self.regressor_.predict(X), dtype=np.float64).reshape(X.shape[0], -1)

    def _points(self, X: Any) -> np.ndarray:
        """ỹ of validated rows, n×K."""
        folded = getattr(self, "_map", None)
        if folded is not None:
            return np.asarray(X @ folded[0]) + folded[1]
        return self.encoder_.inverse_transform(self._codes(X))

    def _scores(self, X: Any) -> np.ndarray:
        points = self._points(X)  # 2ỹ − 1: the ±1 scale of BinaryRelevance
        points *= 2.0
        points -= 1.0
        return points

    def predict_codes(self, X: Any) -> np.ndarray:
        """Return r(x), the predicted codes of each row.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        H : ndarray of shape (n_samples, n_components)
        """
        return self._codes(self._check_predict(X))

    def error_decomposition(self, X: Any, y: Any) -> ErrorDecomposition:
        """Theorem 1: split the bound on the Hamming loss into prediction and encoding error.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows, usually held out.
        y : array-like or sparse matrix of shape (n_samples, n_labels)
            Their labels.

        Returns
        -------
        result : ErrorDecomposition
        """
        X = self._check_predict(X)
        Y = encode_like(y, self._layout, n_rows=X.shape[0])
        encoder, (n, K) = self.encoder_, Y.shape
        exact = _rounds(encoder) and has_orthonormal_rows(encoder.components_)
        sums = np.zeros(4)
        for rows in row_blocks(n, 8 * K):
            truth, codes = Y[rows], self._codes(X[rows])
            vertices = truth.toarray()
            points = encoder.inverse_transform(codes)
            sums[0] += np.sum((points - vertices) ** 2)
            sums[1] += np.count_nonzero(round_to_vertex(points) != (vertices > 0))
            if exact:
                h = dense(encoder.transform(truth))
                sums[2] += np.sum((codes - h) ** 2)
                sums[3] += np.sum((vertices - encoder.inverse_transform(h)) ** 2)
        lemma, loss, prediction, encoding = (sums / (n * K)).tolist()
        if not exact:
            return ErrorDecomposition(None, None, 4 * lemma, loss)
        return ErrorDecomposition(4 * prediction, 4 * encoding, 4 * (prediction + encoding), loss)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.regressor is not None:
            tags.input_tags.sparse = self.regressor.__sklearn_tags__().input_tags.sparse
        return tags


class LabelSpaceClassifier(EncodedClassifier):
    r"""Any encoder of label sets with any regressor (Algorithms 7 and 8).

    Codes :math:`h = P(y - o)` are predicted from x and decoded to a point
    :math:`\tilde y = D(r(x))`, where:

    - :math:`o` and :math:`P` belong to the encoder, :math:`D` is its decoder;
    - :math:`r` is the regressor, by default a ridge :math:`\min_W \|X_c W - H_c\|^2 + \alpha\|W\|^2`
      with an unpenalised intercept.

    The score of a label is :math:`2\tilde y_k - 1`; it is predicted where that is positive.

    Parameters
    ----------
    encoder : encoder, default=None
        A transformer of y (`fit(y, X)`, `transform`, `inverse_transform`), cloned to `encoder_`;
        None is the identity, that is binary relevance.
    regressor : regressor, default=None
        Any scikit-learn regressor; None is the ridge on shared moments.
    alpha : float, default=1.0
        The ridge λ of the default regressor.

    Attributes
    ----------
    encoder_ : encoder
        The fitted encoder.
    regressor_ : regressor
        The fitted regressor, if one was given.
    coef_ : ndarray of shape (n_features, n_components)
        W of the default ridge.
    intercept_ : ndarray of shape (n_components,)
        Its intercept.
    residual_ : float
        Certificate: relative residual of its normal equations.
    classes_ : ndarray
        ``arange(n_labels)``, or the classes of a 1-D y.

    References
    ----------
    Tai & Lin (2012), Multilabel classification with principal label space transformation,
    Neural Computation 24(9).

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from hyperlabel.labelspace import LabelSpaceClassifier, PrincipalEncoder
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> model = LabelSpaceClassifier(PrincipalEncoder(3), KNeighborsRegressor()).fit(X, Y)
    >>> model.predict(X[:2]).shape
    (2, 5)
    """

    def __init__(self, encoder: Any = None, regressor: Any = None, *, alpha: float = 1.0) -> None:
        self.encoder = encoder
        self.regressor = regressor
        self.alpha = alpha

    def _make_encoder(self, X: Any, Y: sparse.csr_array) -> Any:
        return IdentityEncoder() if self.encoder is None else clone(self.encoder)


def ideal_scores(encoder: Any, y: Any) -> np.ndarray:
    """Scores of the ideal learner: what the decoder makes of perfectly predicted codes.

    The only error left is the encoder's, which is what Figures 9 and 10 of the paper show.

    Parameters
    ----------
    encoder : fitted encoder
        For instance the `encoder_` of a classifier.
    y : array-like or sparse matrix of shape (n_samples, n_labels)
        True labels, held out.

    Returns
    -------
    scores : ndarray of shape (n_samples, n_labels)
        2ỹ − 1 with ỹ = D(h); positive means predicted.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel.labelspace import PrincipalEncoder, ideal_scores
    >>> Y = np.array([[1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> bool(((ideal_scores(PrincipalEncoder(2).fit(Y), Y) > 0) == Y).all())
    True
    """
    return 2.0 * encoder.inverse_transform(encoder.transform(y)) - 1.0


def has_orthonormal_rows(components: Any, tol: float = 1e-8) -> bool:
    """Whether PPᵀ = I, which Theorem 1 needs."""
    gram = dense(components @ components.T)
    return bool(np.abs(gram - np.eye(len(gram))).max() <= tol)


def _rounds(encoder: Any) -> bool:
    return bool(getattr(encoder, "rounds", False))
