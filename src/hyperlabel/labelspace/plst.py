"""The linear label-space classifiers by name: PLST, CPLST, PBR, CS."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar, Literal

from hyperlabel._params import one_of
from hyperlabel.labelspace.classifier import EncodedClassifier
from hyperlabel.labelspace.encoders import (
    COMPONENTS,
    ConditionalPrincipalEncoder,
    FrequentLabelsEncoder,
    PrincipalEncoder,
)
from hyperlabel.labelspace.hadamard import HadamardEncoder
from hyperlabel.moments.auto_params import ALPHA, is_auto

AUTO = COMPONENTS | one_of("auto")


@dataclass(eq=False, repr=False)
class PLST(EncodedClassifier):
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
        M, at most the rank, which None stands for; "auto" chooses on held-out folds (the rank for a
        1-D y, whose classes exclude each other).
    reference : {"mean", "origin"}, default="mean"
        The reference point o.
    regressor, alpha, threshold
        The regression of the codes and what is subtracted from the scores: see `LabelSpaceClassifier`.
    scoring : str or callable, default=None
        What "auto" maximises: nDCG@5 (None), or as in `BinaryRelevance`. On sparse labels the Hamming
        loss is a poor guide: predicting nothing nearly minimises it.
    n_components_grid : None, "all" or array of int, default=None
        The M that "auto" tries: 16 of them spaced geometrically, all, or those given.
    cv : int, splitter or iterable of (train, test), default=3
        Folds of "auto": stratified for a number (grouped when `fit` gets groups). A given `regressor`
        is fitted once per fold, at the largest M; that is exact for regressors that treat their
        outputs separately.

    Attributes
    ----------
    encoder_ : PrincipalEncoder
        The fitted encoder: `components_` (P), `offset_` (o), `singular_values_`.
    dimension_path_ : dict
        After "auto": ``n_components``, ``mean``, ``std`` and ``fold_scores`` of the held-out
        metric for each M, and ``chosen``: the M of the highest mean (the smallest of equals).
    alpha_, threshold_, coef_, intercept_, residual_
        As in `LabelSpaceClassifier`.

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

    _encodes = PrincipalEncoder
    _rules: ClassVar = PrincipalEncoder._rules | {"n_components": AUTO}

    n_components: int | Literal["auto"] | None = "auto"
    _: KW_ONLY
    reference: Literal["mean", "origin"] = "mean"


@dataclass(eq=False, repr=False)
class CPLST(EncodedClassifier):
    r"""Conditional PLST: directions of the labels that the features can predict.

    P holds the top eigenvectors of :math:`Y_c^T X_c (X_c^T X_c + \alpha I)^{-1} X_c^T Y_c`, where
    :math:`X_c` and :math:`Y_c` are the centred rows and label sets: among all flats of M
    dimensions it has the smallest squared error *after* the ridge, not before it.

    Parameters
    ----------
    n_components, scoring, n_components_grid, cv
        The number of directions and how "auto" chooses it: see `PLST`.
    regressor, alpha, threshold
        As in `LabelSpaceClassifier`; `alpha` is also the encoder's.

    Attributes
    ----------
    encoder_ : ConditionalPrincipalEncoder
        The fitted encoder: `components_`, `offset_`, `eigenvalues_`.
    dimension_path_, alpha_, threshold_, coef_, intercept_, residual_
        As in `PLST`.

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

    _encodes = ConditionalPrincipalEncoder
    _rules: ClassVar = ConditionalPrincipalEncoder._rules | {"n_components": AUTO, "alpha": ALPHA}

    n_components: int | Literal["auto"] | None = "auto"

    def _make_encoder(self) -> ConditionalPrincipalEncoder:
        encoder = super()._make_encoder()
        return encoder.set_params(alpha=1.0) if is_auto(self.alpha) else encoder  # until λ is decided

    def _with_alpha(self, encoder: Any, alpha: float) -> Any:
        return encoder.set_params(alpha=alpha)


@dataclass(eq=False, repr=False)
class PartialBinaryRelevance(EncodedClassifier):
    """Binary relevance on the M most frequent labels; the others are always the reference point.

    Parameters
    ----------
    n_components : int, None or "auto", default=None
        M; None keeps every label; "auto" chooses on held-out folds.
    reference : {"origin", "mean"}, default="origin"
        What the discarded labels decode to: absent, or their frequency.
    regressor, alpha, threshold, scoring, n_components_grid, cv
        As in `PLST`.

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

    _encodes = FrequentLabelsEncoder
    _rules: ClassVar = FrequentLabelsEncoder._rules | {"n_components": AUTO}

    n_components: int | Literal["auto"] | None = None
    _: KW_ONLY
    reference: Literal["origin", "mean"] = "origin"


@dataclass(eq=False, repr=False)
class CompressedSensing(EncodedClassifier):
    """Random Hadamard codes of the label sets, decoded by sparse recovery (Algorithm 4).

    Parameters
    ----------
    n_components, decoder, sparsity, reference, sensing, random_state
        Of the codes and their recovery: see `HadamardEncoder`.
    regressor, alpha
        As in `LabelSpaceClassifier`; λ is 1 by default, since what is recovered from shrunken codes holds too
        few labels, and no threshold goes beside it.

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

    _encodes = HadamardEncoder
    _rules: ClassVar = HadamardEncoder._rules

    n_components: int | None = None
    _: KW_ONLY
    decoder: Literal["cosamp", "omp"] = "cosamp"
    sparsity: int | None = None
    reference: Literal["origin", "best_vertex"] = "origin"
    sensing: Literal["hadamard", "bernoulli", "gaussian"] = "hadamard"
    random_state: int | None = None
    threshold: None = field(
        init=False, default=None
    )  # its codes are not sums over rows: nothing to choose from
    scoring: None = field(init=False, default=None)
    n_components_grid: None = field(init=False, default=None)
    cv: int = field(init=False, default=3)
