"""Encoders: transformers of y, from label sets to codes h = P(y − o) and back.

Notation (Tai & Lin 2012, Algorithms 7–8)
-----------------------------------------
code         paper                                       shape
Y            vertices y, one per row                     n×K
offset_      reference point o of the affine subspace               K
components_  projection matrix P                         M×K
H            codes h = P(y − o)                          n×M
points       ỹ, a point near the cube; ỹ > ½ ⇔ label     n×K

`fit(y, X=None)` (only CPLST looks at X), `transform(y)` gives H, `inverse_transform(H)` gives
ỹ: real numbers, so that labels can be ranked; rounding at ½ gives the vertex.

An `AffineEncoder` says how o and P follow from sums over the rows (`fit_moments`). Any classifier that
holds one can then be fitted in blocks, streamed, merged, relabelled, searched in closed form and asked to
choose the number of components; tests/labelspace/test_own_encoder.py has one in full.
"""

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from hyperlabel._base import DocumentedEstimator
from hyperlabel._params import NONE, clip_components, number, one_of, start_fit, whole
from hyperlabel._validation import canonical_rows, check_targets, target_check_options
from hyperlabel.geometry.hypercube import mean_vertex
from hyperlabel.moments.linear_map import signed_targets
from hyperlabel.solvers.arrays import as_dense
from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.ridge.routes import choose_route, solve_ridge
from hyperlabel.solvers.spectral.label_svd import (
    directions_of_gram,
    predictable_directions,
    principal_directions,
    shifted_gram,
)

COMPONENTS = whole(1) | NONE
REFERENCE = one_of("mean", "origin")


class Encoder(DocumentedEstimator, ABC):
    """Base of the encoders: transformers of y that `LabelSpaceClassifier` can hold.

    Examples
    --------
    >>> from hyperlabel.labelspace import Encoder, HadamardEncoder
    >>> issubclass(HadamardEncoder, Encoder)
    True
    """

    n_components: Any
    offset_: np.ndarray
    components_: Any

    def fit(self, y: Any, X: Any = None) -> Any:
        """Choose the codes of label sets; X are the rows, for encoders that look at them."""
        Y, _ = check_targets(y, name=type(self).__name__, **target_check_options(self))
        start_fit(self)
        self._fit(Y, X)
        return self

    @property
    def n_components_(self) -> int:
        """M, the length of the codes."""
        return self.components_.shape[0]

    @abstractmethod
    def _fit(self, Y: sparse.csr_array, X: Any) -> None:
        """Set `offset_`, `components_` and whatever else from validated labels."""

    @abstractmethod
    def transform(self, y: Any) -> Any:
        """Encode label sets (an indicator, n×K) into codes, n×M; the identity's stay sparse."""

    @abstractmethod
    def inverse_transform(self, H: Any) -> np.ndarray:
        """Decode codes, n×M, to points near the cube, n×K; above ½ means the label is on."""

    def fit_transform(self, y: Any, X: Any = None) -> Any:
        """Fit, then encode the same label sets."""
        return self.fit(y, X).transform(y)

    def _check_labels(self, y: Any) -> sparse.csr_array:
        check_is_fitted(self)
        Y, _ = check_targets(y, name=type(self).__name__, **target_check_options(self))
        if Y.shape[1] != len(self.offset_):
            raise ValueError(f"y has {Y.shape[1]} labels, the encoder was fitted with {len(self.offset_)}.")
        return Y

    def _check_codes(self, H: Any) -> Any:
        check_is_fitted(self)
        H = check_array(H, accept_sparse="csr", ensure_min_samples=0)
        if H.shape[1] != self.n_components_:
            raise ValueError(f"The codes have {H.shape[1]} columns, the encoder makes {self.n_components_}.")
        return H


class AffineEncoder(Encoder):
    """Codes h = P(y − o), points ỹ = o + Pᵀh, with o and P that follow from sums over the rows.

    A subclass sets `offset_` and `components_` in `fit_moments`. With a parameter `n_components` the
    rows of P come best first: those of a smaller number are the first of them.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel.labelspace import AffineEncoder, LabelSpaceClassifier
    >>> class AnyLabel(AffineEncoder):
    ...     def fit_moments(self, moments):
    ...         self.offset_ = moments.sum_targets / moments.weight
    ...         self.components_ = np.ones((1, len(moments.sum_targets)))
    ...         return self
    >>> X, Y = np.eye(4), np.array([[1, 1], [0, 0], [1, 0], [0, 0]])
    >>> LabelSpaceClassifier(AnyLabel()).partial_fit(X[:2], Y[:2]).partial_fit(X[2:], Y[2:]).coef_.shape
    (2, 4)
    """

    _accepts_soft_targets = True
    needs_cooccurrence: ClassVar[bool] = (
        True  # whether `fit_moments` reads label co-occurrence, moments.target_gram
    )

    @abstractmethod
    def fit_moments(self, moments: RowMoments) -> Any:
        """Choose the affine subspace from sums over the rows: Σy, XᵀX, XᵀY and, if needed, YᵀY."""

    def _fit(self, Y: sparse.csr_array, X: Any) -> None:
        no_features = sparse.csr_array((Y.shape[0], 0))
        self.fit_moments(RowMoments.from_rows(no_features, Y, with_target_gram=self.needs_cooccurrence))

    def transform(self, y: Any) -> Any:
        Y = self._check_labels(y)
        H = Y @ self.components_.T
        offset_code = np.asarray(self.components_ @ self.offset_)
        return H if sparse.issparse(H) and not offset_code.any() else as_dense(H) - offset_code

    def inverse_transform(self, H: Any) -> np.ndarray:
        return as_dense(self._check_codes(H) @ self.components_) + self.offset_


class IdentityEncoder(AffineEncoder):
    """P = I, o = 0: binary relevance seen as a label-space transformation.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel.labelspace import IdentityEncoder
    >>> Y = np.array([[1, 0], [1, 1]])
    >>> IdentityEncoder().fit_transform(Y).toarray()
    array([[1., 0.],
           [1., 1.]])
    """

    needs_cooccurrence = False

    def fit_moments(self, moments: RowMoments) -> Any:
        self.offset_ = np.zeros_like(moments.sum_targets)
        self.components_ = sparse.eye_array(len(moments.sum_targets), format="csr")
        return self


@dataclass(eq=False, repr=False)
class FrequentLabelsEncoder(AffineEncoder):
    """Rows of I for the M most frequent labels; the other labels decode to o.

    Parameters
    ----------
    n_components, reference
        As in `PartialBinaryRelevance`; "auto" leaves the choice to the classifier that holds the encoder.

    Attributes
    ----------
    components_ : csr_array of shape (M, K)
        Selection of the kept labels, most frequent first (ties: lowest index).
    offset_ : ndarray of shape (K,)
        The reference point.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel.labelspace import FrequentLabelsEncoder
    >>> Y = np.array([[1, 0, 1], [1, 1, 0], [1, 0, 0]])
    >>> FrequentLabelsEncoder(1).fit(Y).components_.toarray()
    array([[1., 0., 0.]])
    """

    _rules: ClassVar = {"n_components": COMPONENTS, "reference": REFERENCE}
    needs_cooccurrence = False

    n_components: Any = None
    _: KW_ONLY
    reference: Literal["origin", "mean"] = "origin"

    def fit_moments(self, moments: RowMoments) -> Any:
        K = len(moments.sum_targets)
        M = clip_components(self.n_components, K)
        frequent_labels = np.argsort(-moments.sum_targets, kind="stable")[:M]
        self.offset_ = _reference_point(self.reference, moments.sum_targets, moments.weight)
        self.components_ = sparse.csr_array((np.ones(M), (np.arange(M), frequent_labels)), shape=(M, K))
        return self


@dataclass(eq=False, repr=False)
class PrincipalEncoder(AffineEncoder):
    """The flat that loses least of the label sets, eq. (6) of `PLST`.

    Parameters
    ----------
    n_components, reference
        As in `PLST`; "auto" leaves the choice to the classifier that holds the encoder.

    Attributes
    ----------
    components_ : ndarray of shape (M, K)
        P: top right singular vectors of Y − 1oᵀ, eq. (7); signs are fixed.
    singular_values_ : ndarray of shape (M,)
        σ of eq. (7).
    offset_ : ndarray of shape (K,)
        o; the mean is optimal.
    residual_ : float
        Certificate of the decomposition.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel.labelspace import PrincipalEncoder
    >>> Y = np.array([[0, 0], [1, 1], [1, 1]])  # two labels that always agree: one direction holds all
    >>> encoder = PrincipalEncoder(1).fit(Y)
    >>> encoder.inverse_transform(encoder.transform(Y)).round(9) + 0.0
    array([[0., 0.],
           [1., 1.],
           [1., 1.]])
    """

    _rules: ClassVar = {"n_components": COMPONENTS, "reference": REFERENCE}

    n_components: Any = None
    _: KW_ONLY
    reference: Literal["mean", "origin"] = "mean"

    def _fit(self, Y: sparse.csr_array, X: Any) -> None:
        # not from sums: many labels have no dense YᵀY
        self.offset_ = _reference_point(self.reference, np.asarray(Y.sum(axis=0)).ravel(), Y.shape[0])
        directions = principal_directions(Y, self.n_components, offset=self.offset_)
        self.components_, self.singular_values_ = directions.components, directions.singular_values
        self.residual_ = directions.residual

    def fit_moments(self, moments: RowMoments) -> Any:
        assert moments.target_gram is not None
        self.offset_ = _reference_point(self.reference, moments.sum_targets, moments.weight)
        gram = shifted_gram(moments.target_gram, moments.sum_targets, moments.weight, self.offset_)
        directions = directions_of_gram(gram, self.n_components)
        self.components_, self.singular_values_ = directions.components, directions.singular_values
        self.residual_ = directions.residual
        return self


@dataclass(eq=False, repr=False)
class ConditionalPrincipalEncoder(AffineEncoder):
    """Directions of the labels that are both principal and predictable from X: the encoder of `CPLST`.

    Parameters
    ----------
    n_components : int, None or "auto", default=None
        As in `PrincipalEncoder`.
    alpha : float, default=1.0
        λ of the ridge regression that follows.

    Attributes
    ----------
    components_, offset_, residual_
        As in `PrincipalEncoder`, around the mean label set.
    eigenvalues_ : ndarray of shape (M,)
        Label variance the ridge explains along each direction.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel.labelspace import ConditionalPrincipalEncoder
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 3)); Y = (X @ rng.normal(size=(3, 4)) > 0).astype(int)
    >>> ConditionalPrincipalEncoder(2).fit(Y, X).components_.shape
    (2, 4)
    """

    _rules: ClassVar = {"n_components": COMPONENTS, "alpha": number(0)}
    needs_cooccurrence = False

    n_components: Any = None
    _: KW_ONLY
    alpha: float = 1.0

    def _fit(self, Y: sparse.csr_array, X: Any) -> None:
        if X is None:
            raise ValueError("CPLST looks at the rows as well: call fit(y, X).")
        X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32), order="C")
        X = canonical_rows(X) if sparse.issparse(X) else X
        if choose_route(X) == "gram" and self.alpha > 0:
            self.fit_moments(RowMoments.from_rows(X, Y))
        else:  # the K×K matrix itself, from the n×n, the matrix-free or (λ = 0) the orthogonal route
            self.offset_ = mean_vertex(Y)
            explained_gram = solve_ridge(X, Y, alphas=(float(self.alpha),)).reduced(float(self.alpha))
            directions = directions_of_gram(explained_gram, self.n_components)
            self.components_, self.eigenvalues_ = directions.components, directions.singular_values**2
            self.residual_ = directions.residual

    def fit_moments(self, moments: RowMoments) -> Any:
        self.offset_ = moments.sum_targets / moments.weight
        directions = predictable_directions(moments.centered(), float(self.alpha), self.n_components)
        self.components_, self.eigenvalues_ = directions.components, directions.singular_values**2
        self.residual_ = directions.residual
        return self


def _reference_point(reference: str, counts: np.ndarray, n_rows: float) -> np.ndarray:
    return counts / n_rows if reference == "mean" else np.zeros(len(counts))


def ideal_scores(encoder: Any, y: Any) -> np.ndarray:
    """Scores 2ỹ − 1 of the ideal learner: what a fitted encoder makes of perfectly predicted codes of y.

    The only error left is the encoder's, which is what Figures 9 and 10 of the paper show.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel.labelspace import PrincipalEncoder, ideal_scores
    >>> Y = np.array([[1, 1, 0], [0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> bool(((ideal_scores(PrincipalEncoder(2).fit(Y), Y) > 0) == Y).all())
    True
    """
    return signed_targets(encoder.inverse_transform(encoder.transform(y)))
