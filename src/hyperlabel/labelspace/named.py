"""The linear label-space classifiers by name: PLST, CPLST, PBR, CS."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if

from hyperlabel.labelspace.classifier import EncodedClassifier
from hyperlabel.labelspace.dimension import dimension_path
from hyperlabel.labelspace.encoders import (
    ConditionalPrincipalEncoder,
    FrequentLabelsEncoder,
    PrincipalEncoder,
    check_dimension,
)
from hyperlabel.labelspace.hadamard import HadamardEncoder
from hyperlabel.moments.blocks import refuse_large
from hyperlabel.moments.model import MomentsModel
from hyperlabel.solvers.label_svd import (
    PrincipalDirections,
    directions_of_gram,
    predictable_directions,
    shifted_gram,
)
from hyperlabel.solvers.moments import CenteredMoments, Moments


def _can_stream(self: Any) -> bool:
    refusal = self._refuses_blocks()
    if refusal:
        raise AttributeError(refusal)
    return True


class _SummedClassifier(MomentsModel, EncodedClassifier):
    """Classifiers that follow from sums over rows: they stream, merge, forget and gain labels."""

    _how_to_keep = "give n_components a number and train by partial_fit to merge, forget or relabel"

    @available_if(_can_stream)
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        """Add rows; the result equals one fit on all rows seen.

        The sums XᵀX, XᵀY and YᵀY are kept, so that the model can also `merge`, `forget`, `slide`
        and change its labels. Needs a given number of components and the default regressor.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            More rows.
        y : array-like or sparse matrix
            Their labels.
        classes : array-like, default=None
            At the first call with a 1-D y: all classes that will ever come.

        Returns
        -------
        self : object
        """
        return self._partial_fit(X, y, classes, None)

    def _sum_rows(self, X: Any, Y: sparse.csr_array, sample_weight: Any = None) -> Moments:
        refuse_large(X.shape[1], Y.shape[1], True)
        return super()._sum_rows(X, Y, sample_weight)


class _NestedClassifier(_SummedClassifier):
    """Classifiers whose components are nested, so that their number can be chosen."""

    n_components: Any
    regressor: Any
    alpha: float
    scoring: Any
    candidates: Any
    cv: int
    random_state: int | None

    def _encoder(self, n_components: int | None) -> Any:
        raise AttributeError(f"{type(self).__name__} names no encoder.")

    def _directions(
        self, moments: Moments, centered: CenteredMoments
    ) -> tuple[np.ndarray, PrincipalDirections]:
        raise AttributeError(f"{type(self).__name__} names no directions.")

    def _encoder_from_sums(self, moments: Moments) -> Any:
        encoder = self._encoder(self.n_components)
        M = check_dimension(self.n_components, len(moments.f_sum))
        encoder.offset_, found = self._directions(moments, moments.centered())
        encoder._keep(
            replace(found, components=found.components[:M], singular_values=found.singular_values[:M])
        )
        return encoder

    def _make_encoder(self, X: Any, Y: sparse.csr_array) -> Any:
        self.__dict__.pop("dimension_path_", None)
        chosen = self.n_components
        if isinstance(chosen, str):
            if chosen != "auto":
                raise ValueError(f"n_components must be an integer, None or 'auto', got {chosen!r}.")
            if self._layout.kind != "multilabel":
                return self._encoder(None)  # classes exclude each other: there is nothing to compress
            self.dimension_path_ = dimension_path(
                X,
                Y,
                encoder=self._encoder(None),
                directions=self._directions,
                regressor=self.regressor,
                alpha=float(self.alpha),
                scoring=self.scoring,
                candidates=self.candidates,
                cv=self.cv,
                random_state=self.random_state,
            )
            chosen = self.dimension_path_["chosen"]
        return self._encoder(chosen)


class PLST(_NestedClassifier):
    r"""Principal label space transformation: regress M principal directions of the labels.

    The label sets are projected on the flat that loses least of them, eq. (6),

    .. math:: \min_{o, P} \frac1n \sum_i \|y_i - o - P^T P (y_i - o)\|^2
              \quad \text{subject to} \quad P P^T = I,

    the M coordinates are predicted by ridge, and :math:`\tilde y = o + P^T r(x)` is rounded at ½,
    where:

    - :math:`y_i` is the vertex of row i, a 0/1 vector over the K labels;
    - :math:`o` is the reference point, :math:`P` the M×K matrix of right singular vectors, eq. (7);
    - :math:`r` is the regressor.

    With all components it is binary relevance. A low rank shared by all labels follows the
    frequent ones: labels with few positives are dropped first (see the guide on label spaces).

    Parameters
    ----------
    n_components : int, None or "auto", default="auto"
        M. None means the rank; "auto" chooses on held-out folds (the rank for a 1-D y, whose
        classes exclude each other).
    reference : {"mean", "origin"}, default="mean"
        The reference point o.
    regressor : regressor, default=None
        Any scikit-learn regressor; None is the ridge on shared moments.
    alpha : float, default=1.0
        The ridge λ of the default regressor.
    scoring : str or callable, default=None
        What "auto" maximises: nDCG@5 (None), any name of `hyperlabel.metrics.get_scorer_names`,
        or ``metric(Y_true, scores) -> float``. On sparse labels the Hamming loss is a poor guide:
        predicting nothing nearly minimises it.
    candidates : None, "all" or array of int, default=None
        The M that "auto" tries: 16 of them spaced geometrically, all, or those given.
    cv : int, default=3
        Folds of "auto". A given `regressor` is fitted once per fold, at the largest M; that is
        exact for regressors that treat their outputs separately.
    random_state : int, default=None
        How rows are dealt to the folds; None is 0.

    Attributes
    ----------
    encoder_ : PrincipalEncoder
        The fitted encoder: `components_` (P), `offset_` (o), `singular_values_`.
    dimension_path_ : dict
        After "auto": ``n_components``, ``mean``, ``spread`` and ``fold_scores`` of the held-out
        metric for each M, and ``chosen``: the M of the highest mean (the smallest of equals).
    coef_, intercept_, residual_
        The default ridge and its certificate, as in `LabelSpaceClassifier`.

    References
    ----------
    Tai & Lin (2012), Multilabel classification with principal label space transformation,
    Neural Computation 24(9).

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import PLST
    >>> X, Y = make_multilabel_classification(n_samples=300, n_classes=12, random_state=0)
    >>> model = PLST().fit(X, Y)
    >>> model.encoder_.components_.shape[0] == model.dimension_path_["chosen"]
    True
    """

    def __init__(
        self,
        n_components: int | Literal["auto"] | None = "auto",
        *,
        reference: Literal["mean", "origin"] = "mean",
        regressor: Any = None,
        alpha: float = 1.0,
        scoring: Any = None,
        candidates: Any = None,
        cv: int = 3,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.reference = reference
        self.regressor = regressor
        self.alpha = alpha
        self.scoring = scoring
        self.candidates = candidates
        self.cv = cv
        self.random_state = random_state

    def _encoder(self, n_components: int | None) -> PrincipalEncoder:
        return PrincipalEncoder(n_components, reference=self.reference)

    def _directions(
        self, moments: Moments, centered: CenteredMoments
    ) -> tuple[np.ndarray, PrincipalDirections]:
        offset = centered.f_mean if self.reference == "mean" else np.zeros_like(centered.f_mean)
        assert moments.ff is not None
        gram = shifted_gram(moments.ff, moments.f_sum, moments.weight, offset)
        return offset, directions_of_gram(gram, certify=False)


class CPLST(_NestedClassifier):
    r"""Conditional PLST: directions of the labels that the features can predict.

    P holds the top eigenvectors of :math:`Y_c^T X_c (X_c^T X_c + \alpha I)^{-1} X_c^T Y_c`, where
    :math:`X_c` and :math:`Y_c` are the centred rows and label sets: among all flats of M
    dimensions it has the smallest squared error *after* the ridge, not before it.

    Parameters
    ----------
    n_components : int, None or "auto", default="auto"
        M. None means the rank; "auto" chooses on held-out folds.
    regressor : regressor, default=None
        Any scikit-learn regressor; None is the ridge on shared moments.
    alpha : float, default=1.0
        The ridge λ, of the encoder and of the default regressor.
    scoring, candidates, cv, random_state
        How "auto" chooses: see `PLST`.

    Attributes
    ----------
    encoder_ : ConditionalPrincipalEncoder
        The fitted encoder: `components_`, `offset_`, `eigenvalues_`.
    dimension_path_ : dict
        After "auto": see `PLST`.
    coef_, intercept_, residual_
        The default ridge and its certificate, as in `LabelSpaceClassifier`.

    References
    ----------
    Chen & Lin (2012), Feature-aware label space dimension reduction for multi-label
    classification, NIPS 25.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import CPLST
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> CPLST(2).fit(X, Y).predict(X[:2]).shape
    (2, 5)
    """

    def __init__(
        self,
        n_components: int | Literal["auto"] | None = "auto",
        *,
        regressor: Any = None,
        alpha: float = 1.0,
        scoring: Any = None,
        candidates: Any = None,
        cv: int = 3,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.regressor = regressor
        self.alpha = alpha
        self.scoring = scoring
        self.candidates = candidates
        self.cv = cv
        self.random_state = random_state

    def _encoder(self, n_components: int | None) -> ConditionalPrincipalEncoder:
        return ConditionalPrincipalEncoder(n_components, alpha=self.alpha)

    def _directions(
        self, moments: Moments, centered: CenteredMoments
    ) -> tuple[np.ndarray, PrincipalDirections]:
        return centered.f_mean, predictable_directions(centered, float(self.alpha))


class PartialBinaryRelevance(_SummedClassifier):
    """Binary relevance on the M most frequent labels; the others are always the reference point.

    Parameters
    ----------
    n_components : int or None, default=None
        M; None keeps every label.
    reference : {"origin", "mean"}, default="origin"
        What the discarded labels decode to: absent, or their frequency.
    regressor : regressor, default=None
        Any scikit-learn regressor; None is the ridge on shared moments.
    alpha : float, default=1.0
        The ridge λ of the default regressor.

    Attributes
    ----------
    encoder_ : FrequentLabelsEncoder
        The fitted encoder.

    References
    ----------
    Tai & Lin (2012), §3.2 and §4.4.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import PartialBinaryRelevance
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> PartialBinaryRelevance(2).fit(X, Y).predict(X[:3]).shape
    (3, 5)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        reference: Literal["origin", "mean"] = "origin",
        regressor: Any = None,
        alpha: float = 1.0,
    ) -> None:
        self.n_components = n_components
        self.reference = reference
        self.regressor = regressor
        self.alpha = alpha

    def _encoder_from_sums(self, moments: Moments) -> FrequentLabelsEncoder:
        encoder, K = FrequentLabelsEncoder(self.n_components, reference=self.reference), len(moments.f_sum)
        if self.reference not in ("origin", "mean"):
            raise ValueError(f"reference must be 'mean' or 'origin', got {self.reference!r}.")
        encoder.offset_ = moments.f_sum / moments.weight if self.reference == "mean" else np.zeros(K)
        encoder._keep_most(moments.f_sum, check_dimension(self.n_components, K) or K)
        return encoder

    def _make_encoder(self, X: Any, Y: sparse.csr_array) -> FrequentLabelsEncoder:
        return FrequentLabelsEncoder(self.n_components, reference=self.reference)


class CompressedSensing(EncodedClassifier):
    """Random Hadamard codes of the label sets, decoded by sparse recovery (Algorithm 4).

    Parameters
    ----------
    n_components : int or None, default=None
        M, at most the Hadamard order 2^⌈log₂K⌉, which None stands for.
    decoder : {"cosamp", "omp"}, default="cosamp"
        The sparse recovery.
    sparsity : int or None, default=None
        The most labels a row may get; None takes the largest label set seen.
    reference : {"origin", "best_vertex"}, default="origin"
        "best_vertex" flips the labels that most rows carry, which makes the sets sparser.
    regressor : regressor, default=None
        Any scikit-learn regressor; None is the ridge on shared moments.
    alpha : float, default=1.0
        The ridge λ of the default regressor.
    random_state : int or None, default=None
        Which rows and columns of the Hadamard matrix; None is 0.

    Attributes
    ----------
    encoder_ : HadamardEncoder
        The fitted encoder.

    References
    ----------
    Hsu, Kakade, Langford & Zhang (2009), Multi-label prediction via compressed sensing, NIPS 22.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import CompressedSensing
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> CompressedSensing(8, random_state=0).fit(X, Y).predict(X[:3]).shape
    (3, 5)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        decoder: Literal["cosamp", "omp"] = "cosamp",
        sparsity: int | None = None,
        reference: Literal["origin", "best_vertex"] = "origin",
        regressor: Any = None,
        alpha: float = 1.0,
        random_state: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.decoder = decoder
        self.sparsity = sparsity
        self.reference = reference
        self.regressor = regressor
        self.alpha = alpha
        self.random_state = random_state

    def _make_encoder(self, X: Any, Y: sparse.csr_array) -> HadamardEncoder:
        return HadamardEncoder(
            self.n_components,
            decoder=self.decoder,
            sparsity=self.sparsity,
            reference=self.reference,
            random_state=self.random_state,
        )
