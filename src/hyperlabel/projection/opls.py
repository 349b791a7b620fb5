"""Orthonormalised partial least squares, plain (OPLS) and guided by the label hypergraph (HOPLS).

Notation
--------
code         paper          meaning                                                shape
Y            Y              labels; 0/1 here, −1/1 in the paper: centred, twice    n×k
base·right   [Yᵀ, √α H₀]    factor F of YᵀY + αS                                   n×2k
tradeoff     α (11)         weight of the hypergraph term                          —
alpha        λ (13)         ridge                                                  —
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from hyperlabel._params import Rule, number, one_of
from hyperlabel.geometry.edges import Edges
from hyperlabel.geometry.factor import ExpansionFactor, LabelFactor, PlainFactor
from hyperlabel.moments.auto_params import Auto
from hyperlabel.projection._base import LabelProjection


@dataclass(eq=False, repr=False)
class OPLS(LabelProjection):
    r"""Orthonormalised partial least squares: (10) of the paper on HOPLS.

    .. math:: \max_W \operatorname{tr}(W^T X_c^T Y_c Y_c^T X_c W)
              \quad\text{subject to}\quad W^T (X_c^T X_c + \lambda I) W = I,

    where :math:`X_c` and :math:`Y_c` are the centred rows and labels and :math:`\lambda` is `alpha`
    (0 means the pseudo-inverse).

    With all components (`n_components` at least the rank of :math:`Y_c`) the projection is that of
    canonical correlation analysis, ``HypergraphSpectral(expansion="cca")``, for every λ: any
    invertible mix of the label columns gives the same :math:`W W^T`. They differ below.

    Parameters
    ----------
    n_components, alpha, solver, tol, max_iter, cross_fit, normalize
        As in `HypergraphSpectral`; sparse rows are not densified on any route.
    kernel, kernel_params, n_landmarks, random_state
        The projection through a kernel, as in `HypergraphSpectral`.

    Attributes
    ----------
    components_, eigenvalues_, mean_, solver_, residual_, n_iter_, alpha_
        As in `HypergraphSpectral`.

    References
    ----------
    .. [1] L. Sun, S. Ji, S. Yu, J. Ye, "On the Equivalence between Canonical Correlation Analysis
       and Orthonormalized Partial Least Squares", IJCAI 2009.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import OPLS
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> OPLS(n_components=3).fit_transform(X, Y).shape
    (200, 3)
    """

    _: KW_ONLY
    alpha: float | Auto = 1.0
    kernel: Any = "linear"
    kernel_params: dict[str, Any] | None = None
    n_landmarks: int | None = None
    tol: float = 1e-6
    max_iter: int = 300
    random_state: Any = None

    def _label_factor(self) -> LabelFactor:
        return PlainFactor()


@dataclass(eq=False, repr=False)
class HOPLS(LabelProjection):
    r"""Hypergraph-regularised OPLS (11)(12)(13): labels and the clique similarity of their hypergraph.

    .. math:: \max_W \operatorname{tr}(W^T X_c^T (Y_c Y_c^T + \alpha S) X_c W)
              \quad\text{subject to}\quad W^T (X_c^T X_c + \lambda I) W = I,

    where:

    - :math:`Y_c` holds the labels coded −1/1, centred;
    - :math:`S` is the clique similarity of the label hypergraph (its largest eigenvalue is 1);
    - :math:`\alpha` is `tradeoff`, and :math:`\lambda` is `alpha`.

    Taken literally the two terms differ by a factor of about the number of rows, and no tradeoff up to
    1 changes anything but the third decimal of a score. ``scale="trace"`` scales S so that at
    tradeoff 1 both terms have the same trace; ``scale="literal"`` is the paper's objective.
    With tradeoff 0 the projection is that of `OPLS` (its eigenvalues are 4 times larger, for the coding).

    Parameters
    ----------
    tradeoff : float, default=1.0
        Weight of the hypergraph term, at least 0.
    scale : {"trace", "literal"}, default="trace"
        Whether S is scaled to the trace of the label term.
    n_components, alpha, edge_weights, nu, solver, tol, max_iter, cross_fit, normalize
        As in `HypergraphSpectral`.
    kernel, kernel_params, n_landmarks, random_state
        The projection through a kernel, as in `HypergraphSpectral`.

    Attributes
    ----------
    components_, eigenvalues_, mean_, solver_, residual_, n_iter_
        As in `OPLS`.

    References
    ----------
    .. [1] "Hypergraph Orthonormalized Partial Least Squares for Multi-label Classification",
       Journal of Computers 9(6), 2014.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import HOPLS
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> HOPLS(n_components=3, tradeoff=0.5).fit_transform(X, Y).shape
    (200, 3)

    Kernel HOPLS, exactly and with Nyström features (for many rows, and for fits in blocks):

    >>> from sklearn.pipeline import make_pipeline
    >>> from hyperlabel import NystroemRBF
    >>> HOPLS(3, kernel="rbf", kernel_params={"gamma": 0.01}).fit_transform(X, Y).shape
    (200, 3)
    >>> make_pipeline(NystroemRBF(50, random_state=0), HOPLS(3)).fit_transform(X, Y).shape
    (200, 3)
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "tradeoff": number(0),
        "scale": one_of("trace", "literal"),
        "nu": number(0),
    }

    _: KW_ONLY
    tradeoff: float = 1.0
    alpha: float | Auto = 1.0
    scale: str = "trace"
    edge_weights: Any = "uniform"
    nu: float = 1.0
    kernel: Any = "linear"
    kernel_params: dict[str, Any] | None = None
    n_landmarks: int | None = None
    tol: float = 1e-6
    max_iter: int = 300
    random_state: Any = None

    def _label_factor(self) -> LabelFactor:
        return GuidedFactor(
            edge_weights=self.edge_weights, nu=self.nu, tradeoff=self.tradeoff, scale=self.scale
        )


@dataclass(frozen=True, eq=False)
class GuidedFactor(ExpansionFactor):
    """[2Y, √α H₀]: the labels, coded ±1, beside the clique factor."""

    tradeoff: float = 1.0
    scale: str = "trace"

    def base(self, Y: sparse.csr_array, edges: Edges) -> sparse.csr_array:
        """Return Y and the base of H₀ side by side."""
        return sparse.hstack([Y, super().base(Y, edges)], format="csr")

    def right(self, edges: Edges, gram: np.ndarray, base_sums: np.ndarray) -> np.ndarray:
        """Return the two mixes; "trace" gives both terms the same trace at tradeoff 1."""
        k, trace = len(edges.sizes), np.diag(gram)
        root = super().right(edges, gram, base_sums)
        weight = self.tradeoff
        if self.scale == "trace":
            similarity = float((root**2 * trace[k:]).sum())
            weight *= 4 * float(trace[:k].sum()) / similarity if similarity > 0 else 1.0
        return np.concatenate([np.full(k, 2.0), np.sqrt(weight) * root])
