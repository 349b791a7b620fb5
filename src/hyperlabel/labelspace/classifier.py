"""Label-space classifiers: encode the labels, regress the codes, decode (Algorithms 7–8).

Notation
--------
code        Tai & Lin (2012)                              shape
encoder_    o, P and the decoder D                        —
_codes_     W of the ridge r(x) = Wᵀ(x − μ) + h̄           d×M
coef_       2(WP)ᵀ, where D(r) = o + Pᵀr                  K×d
points      ỹ = D(r(x)); the score is 2ỹ − 1              n×K
"""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import clone

from hyperlabel._base import MultiLabelClassifier
from hyperlabel._known_labels import encode_like
from hyperlabel._missing_labels import (
    EPS,
    constant_labels,
    fill_unknown,
    find_unknown_labels,
    known_part,
    refuse_unknown_in_sums,
)
from hyperlabel._params import check_params
from hyperlabel.geometry.hypercube import round_to_vertex
from hyperlabel.labelspace.dimension import choose_dimension
from hyperlabel.labelspace.encoders import AffineEncoder, IdentityEncoder
from hyperlabel.labelspace.ridge_codes import (
    RidgeOfCodes,
    codes_from_moments,
    codes_from_rows,
    through_labels,
)
from hyperlabel.moments.auto_params import ALPHA, THRESHOLD, Auto, decide_alpha
from hyperlabel.moments.blocks import refuse_large
from hyperlabel.moments.linear_map import LinearMap, not_linear, signed_targets
from hyperlabel.moments.model import MomentsModel
from hyperlabel.solvers.arrays import as_dense, row_blocks
from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.ridge.routes import RidgePath, choose_route

# Moments of all rows are kept up to so many features and labels together (8 MB).
MAX_KEPT = 1000


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

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel import PLST
    >>> X, Y = np.eye(4), np.array([[1, 1], [0, 0], [1, 1], [0, 0]])
    >>> errors = PLST(1, alpha=0.0).fit(X, Y).error_decomposition(X, Y)
    >>> round(errors.encoding_error, 9), errors.hamming_loss
    (0.0, 0.0)
    """

    prediction_error: float | None
    encoding_error: float | None
    bound: float
    hamming_loss: float


@dataclass(eq=False, repr=False)
class EncodedClassifier(MultiLabelClassifier, MomentsModel):
    """Everything a label-space classifier does, for any encoder; subclasses name it (`_encodes`).

    What it can do beyond `fit` and `predict` is up to the encoder: with an `AffineEncoder` it streams,
    merges, forgets, relabels, fits in blocks, is searched in closed form and chooses its dimension.
    """

    _: KW_ONLY
    regressor: Any = None
    alpha: float | Auto = "auto"
    threshold: float | Auto | None = None
    scoring: Any = None
    n_components_grid: Any = None
    cv: Any = 3
    _rules: ClassVar = {"alpha": ALPHA, "threshold": THRESHOLD}
    _inner = "regressor"
    # where the parameters that ClosedFormSearchCV may search live
    _closed_form_params: ClassVar = {"alpha": "alpha", "n_components": "n_components"}

    _encodes: ClassVar[Any]  # a class of encoders whose parameters are among those of the classifier

    def _make_encoder(self) -> Any:
        """Return the encoder, unfitted."""
        return self._encodes(**{name: getattr(self, name) for name in self._encodes._get_param_names()})

    def fit(self, X: Any, y: Any, groups: Any = None) -> Any:
        """Encode the label sets and learn to predict the codes.

        With an affine encoder of given size, y may hold shares between 0 and 1, which are encoded as they
        are, and NaN for labels nobody knows. An unknown entry is filled with the mean of its label over the
        rows that know it, and rows without a known label are left out. A label without any known row gets
        the mean share of the others as its score, and is not predicted by that alone.

        `groups` keep rows together in the folds of ``n_components="auto"``.
        """
        encoder, moments, alpha = self._make_encoder(), None, self.alpha
        chooses = _chooses_dimension(encoder)
        if chooses:
            encoder.set_params(n_components=None)
        for estimator in (self, encoder):
            check_params(estimator)
        takes_shares = isinstance(encoder, AffineEncoder) and not chooses
        X, Y = known_part(*self._check_fit(X, y, missing=takes_shares, soft=takes_shares))
        has_unknown = bool(np.isnan(Y.data).any())
        if has_unknown:
            self._unknown_labels_, self._unknown_share_ = find_unknown_labels(Y)
            Y = fill_unknown(Y)
        # classes of a 1-D y exclude each other: there is nothing to compress
        if chooses and self._layout.kind == "multilabel":
            self.dimension_path_, moments, alpha = choose_dimension(self, encoder, X, Y, groups)
            encoder.set_params(n_components=self.dimension_path_["chosen"])
        per_row = X.nnz / X.shape[0] if sparse.issparse(X) else X.shape[1]
        if moments is not None:
            self._fit_moments(encoder, moments, alpha, per_row)
        else:
            # what an unknown entry is filled with depends on all rows: they cannot come and go
            kept_moments = None if has_unknown else self._moments_to_keep(X, Y)
            self._fit_rows(encoder, X, Y, alpha, per_row, kept_moments)
        return self

    @property
    def _accepts_missing_labels(self) -> bool:  # type: ignore[override]
        encoder = self._make_encoder()
        return isinstance(encoder, AffineEncoder) and not _chooses_dimension(encoder)

    _accepts_soft_targets = _accepts_missing_labels

    def _fit_rows(
        self,
        encoder: Any,
        X: Any,
        Y: sparse.csr_array,
        alpha: Any,
        per_row: float,
        kept_moments: RowMoments | None,
    ) -> None:
        if self.regressor is None:
            code_ridge = codes_from_rows(encoder, self._with_alpha, alpha, X, Y, kept_moments)
            if kept_moments is not None:
                self.moments_ = kept_moments
            label_counts = np.asarray(Y.sum(axis=0))
            self._set_fitted_attributes(encoder, code_ridge, label_counts, Y.shape[0], per_row)
            return
        H = as_dense(encoder.fit(Y, X).transform(Y))
        rule = self._threshold_rule()
        self.encoder_, self.threshold_ = encoder, 0.0 if isinstance(rule, str) else float(rule)
        self.regressor_ = clone(self.regressor).fit(X, H[:, 0] if H.shape[1] == 1 else H)

    def _moments_to_keep(self, X: Any, Y: sparse.csr_array) -> RowMoments | None:
        """Return the moments that let rows and labels come and go later, where they are not too large."""
        if (
            self.regressor is not None
            or self._refuses_blocks()
            or choose_route(X) != "gram"
            or X.shape[1] + Y.shape[1] > MAX_KEPT
        ):
            return None
        return self._sum_rows(X, Y)

    def _fit_moments(self, encoder: AffineEncoder, moments: RowMoments, alpha: Any, per_row: float) -> None:
        """Fit encoder and ridge from moments alone."""
        code_ridge = codes_from_moments(encoder, self._with_alpha, alpha, moments)
        self._set_fitted_attributes(encoder, code_ridge, moments.sum_targets, moments.weight, per_row)

    def _with_alpha(self, encoder: Any, alpha: float) -> Any:
        """Return the encoder, with its λ set where it shares that of the ridge."""
        return encoder

    def _threshold_rule(self) -> Any:
        """Return the threshold asked for: without a word on it "auto" beside an automatic λ, else 0."""
        if self.threshold is not None:
            return self.threshold
        return "auto" if isinstance(self.alpha, str) else 0.0

    def _set_fitted_attributes(
        self, encoder: Any, code_ridge: RidgeOfCodes, counts: np.ndarray, weight: float, per_row: float
    ) -> None:
        codes, rule = code_ridge.codes, self._threshold_rule()
        self.encoder_, self.alpha_, self._codes_ = encoder, code_ridge.alpha, codes
        self.residual_, self.threshold_ = codes.residual, 0.0 if isinstance(rule, str) else float(rule)
        if isinstance(encoder, AffineEncoder):
            P, offset = encoder.components_, encoder.offset_
            if isinstance(rule, str):
                self.threshold_ = code_ridge.threshold(rule, self._layout.kind, P, offset, counts, weight)
            # per_row entries decide whether x·W·P or one d×K matrix is the cheaper product
            linear_map = LinearMap.through_directions(codes.coef, codes.intercept, P, offset, per_row=per_row)
            self._map_ = linear_map.lowered(self.threshold_)

    # -- from moments: XᵀX, XᵀY and YᵀY hold all that encoder and ridge need ------------------------

    @property
    def _keeps_target_gram(self) -> bool:  # type: ignore[override]
        return getattr(self._make_encoder(), "needs_cooccurrence", False)

    @property
    def _how_to_keep(self) -> str:  # type: ignore[override]
        advice = self._refuses_blocks() or "train by partial_fit to add rows, merge, forget or relabel"
        return advice.rstrip(".")

    def _refuses_blocks(self) -> str | None:
        encoder = self._make_encoder()
        if not isinstance(encoder, AffineEncoder):
            return f"{type(self).__name__} needs all rows at once: its codes are not sums over rows."
        if self.regressor is not None:
            return "Your own regressor needs all rows at once: leave regressor=None for the shared ridge."
        if _chooses_dimension(encoder):
            return "Choosing n_components needs all rows at once: give the number."
        return None

    def _sum_rows(self, X: Any, Y: sparse.csr_array, sample_weight: Any = None) -> RowMoments:
        refuse_large(X.shape[1], Y.shape[1], self._keeps_target_gram)
        return super()._sum_rows(X, Y, sample_weight)

    def _sum_validated(self, X: Any, Y: sparse.csr_array, *args: Any, **options: Any) -> Any:
        refuse_unknown_in_sums(Y, type(self).__name__)
        return super()._sum_validated(X, Y, *args, **options)

    def _solve(self) -> None:
        moments = self.moments_
        self._constant = constant_labels(moments.sum_targets, moments.weight)
        encoder = self._make_encoder()
        check_params(encoder)
        self._fit_moments(encoder, moments, self.alpha, moments.n_features)

    def _blocks_done(self) -> None:
        del self.moments_  # K×K and d×K: kept by `partial_fit` alone

    def _fold_maps(
        self, moments: RowMoments, X: Any, Y: Any, alphas: Sequence[float]
    ) -> Callable[[dict[str, Any]], LinearMap]:
        """Return the map that any setting would have, fitted on the rows summed in `moments`."""
        ridge_path = RidgePath(moments)
        fitted_encoders: dict[str, AffineEncoder] = {}
        decided_alphas: dict[Any, float] = {}

        def fold_map(setting: dict[str, Any]) -> LinearMap:
            model = clone(self).set_params(
                **{self._closed_form_params[name]: setting[name] for name in setting}
            )
            encoder = model._make_encoder()
            M = getattr(encoder, "n_components", None)
            if M is not None:
                encoder.set_params(n_components=None)  # components are nested: one fit holds every M
            if model.alpha not in decided_alphas:
                decided_alphas[model.alpha] = decide_alpha(moments, model.alpha, ridge_path)
            encoder = model._with_alpha(encoder, decided_alphas[model.alpha])
            encoder_key = repr(sorted(encoder.get_params().items()))
            if encoder_key not in fitted_encoders:
                fitted_encoders[encoder_key] = encoder.fit_moments(moments)
            encoder = fitted_encoders[encoder_key]
            P, offset = encoder.components_[:M], encoder.offset_
            code_ridge = through_labels(ridge_path, P, offset, decided_alphas[model.alpha])
            threshold = code_ridge.threshold(
                model._threshold_rule(), self._layout.kind, P, offset, moments.sum_targets, moments.weight
            )
            linear_map = LinearMap.through_directions(
                code_ridge.codes.coef, code_ridge.codes.intercept, P, offset
            )
            return linear_map.lowered(threshold)

        return fold_map

    # -- the fitted model ---------------------------------------------------------------------------

    def _linear_map(self) -> LinearMap:
        """Return f(x) = coef·x + intercept; predictions, explanations and closed-form search all read it."""
        if not hasattr(self, "_map_"):
            raise not_linear(type(self).__name__)
        return self._map_

    @property
    def coef_(self) -> np.ndarray:
        """Weights of each label, on the scale ±1."""
        return self._map_.coef

    @property
    def intercept_(self) -> np.ndarray:
        """Score of a row of zeros for each label."""
        return self._map_.intercept

    def _predict_codes(self, X: Any) -> np.ndarray:
        """r(x) of validated rows, n×M."""
        if self.regressor is None:
            return np.asarray(X @ self._codes_.coef) + self._codes_.intercept
        return np.asarray(self.regressor_.predict(X), dtype=np.float64).reshape(X.shape[0], -1)

    def _scores(self, X: Any) -> np.ndarray:
        if hasattr(self, "_map_"):
            scores = self._map_.scores(X)
        else:
            scores = signed_targets(self.encoder_.inverse_transform(self._predict_codes(X))) - self.threshold_
        if len(getattr(self, "_unknown_labels_", ())):
            share = self._unknown_share_
            score = float(signed_targets(share)) - self.threshold_
            scores[:, self._unknown_labels_] = min(score, -EPS) if share <= 0.5 else score
        return scores

    def predict_codes(self, X: Any) -> np.ndarray:
        """Return r(x), the predicted codes of each row, n×M."""
        return self._predict_codes(self._check_predict(X))

    def error_decomposition(self, X: Any, y: Any) -> ErrorDecomposition:
        """Theorem 1: split the bound on the Hamming loss of (usually held out) rows.

        Into what the regressor gets wrong and what the encoder cannot say; see `ErrorDecomposition`.
        """
        X = self._check_predict(X)
        Y = encode_like(y, self._layout, n_rows=X.shape[0])
        encoder, (n, K) = self.encoder_, Y.shape
        is_orthonormal = isinstance(encoder, AffineEncoder)
        if is_orthonormal:  # Theorem 1 needs PPᵀ = I
            gram = as_dense(encoder.components_ @ encoder.components_.T)
            is_orthonormal = bool(np.abs(gram - np.eye(len(gram))).max() <= 1e-8)
        error_sums = np.zeros(4)
        for rows in row_blocks(n, 8 * K):
            truth, codes = Y[rows], self._predict_codes(X[rows])
            vertices = truth.toarray()
            points = encoder.inverse_transform(codes)
            error_sums[0] += np.sum((points - vertices) ** 2)
            error_sums[1] += np.count_nonzero(round_to_vertex(points) != (vertices > 0))
            if is_orthonormal:
                h = as_dense(encoder.transform(truth))
                error_sums[2] += np.sum((codes - h) ** 2)
                error_sums[3] += np.sum((vertices - encoder.inverse_transform(h)) ** 2)
        lemma, loss, prediction, encoding = (error_sums / (n * K)).tolist()
        if not is_orthonormal:
            return ErrorDecomposition(None, None, 4 * lemma, loss)
        return ErrorDecomposition(4 * prediction, 4 * encoding, 4 * (prediction + encoding), loss)


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
    alpha : float or "auto", default="auto"
        The ridge λ of the default regressor, as in `BinaryRelevance`.
    threshold : float, "auto" or None, default=None
        What is subtracted from every score; "auto" as in `BinaryRelevance` with a flat encoder and the
        default regressor, 0 otherwise. None is "auto" beside ``alpha="auto"``.
    scoring, n_components_grid, cv
        How ``n_components="auto"`` of a flat encoder is chosen: see `PLST`.

    Attributes
    ----------
    encoder_, regressor_
        The fitted encoder, and the fitted regressor if one was given.
    coef_ : ndarray of shape (n_labels, n_features)
        Weights of the scores, with the default ridge and a flat encoder; formed on demand where
        codes are predicted first.
    intercept_ : ndarray of shape (n_labels,)
        Scores of a row of zeros.
    alpha_, threshold_ : float
        λ of the default ridge and the threshold, as in `BinaryRelevance`.
    residual_ : float
        Certificate: relative residual of the normal equations of the default ridge.
    dimension_path_ : dict
        After "auto": see `PLST`.

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

    def __init__(
        self,
        encoder: Any = None,
        regressor: Any = None,
        *,
        alpha: float | Auto = "auto",
        threshold: float | Auto | None = None,
        scoring: Any = None,
        n_components_grid: Any = None,
        cv: Any = 3,
    ) -> None:
        self.encoder = encoder
        self.regressor = regressor
        self.alpha = alpha
        self.threshold = threshold
        self.scoring = scoring
        self.n_components_grid = n_components_grid
        self.cv = cv

    def _make_encoder(self) -> Any:
        return IdentityEncoder() if self.encoder is None else clone(self.encoder)

    @property
    def _closed_form_params(self) -> dict[str, str]:  # type: ignore[override]
        param_paths = {"alpha": "alpha", "n_components": "encoder__n_components"}
        return param_paths if hasattr(self.encoder, "n_components") else {"alpha": "alpha"}


def _chooses_dimension(encoder: Any) -> bool:
    return isinstance(encoder, AffineEncoder) and getattr(encoder, "n_components", None) == "auto"
