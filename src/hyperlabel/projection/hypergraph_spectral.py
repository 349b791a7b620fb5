"""Hypergraph spectral learning (Sun, Ji & Ye, KDD 2008).

Notation
--------
code         paper           meaning                                       shape
X            Xᵀ              rows, centred implicitly                      n×d
base·right   H₀ (16)         factor of the similarity S = H₀H₀ᵀ            n×k
alpha        λ (14)(28)      ridge                                         —
path         —               R = (XcᵀXc + λI)⁻¹XcᵀH₀ for every λ           d×k
components_  Wᵀ              projection                                    c×d
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from hyperlabel._params import Rule, number, one_of
from hyperlabel.geometry.factor import ExpansionFactor
from hyperlabel.geometry.similarity import EXPANSIONS
from hyperlabel.moments.auto_params import Auto
from hyperlabel.projection._base import LabelProjection
from hyperlabel.solvers.spectral.label_eigenproblem import EigenProblem

FORMS = ("exact", "least_squares")


@dataclass(eq=False, repr=False)
class HypergraphSpectral(LabelProjection):
    r"""Project rows onto the directions that follow the label hypergraph.

    The exact form solves

    .. math:: \max_W \operatorname{tr}(W^T X_c^T S X_c W)
              \quad\text{subject to}\quad W^T (X_c^T X_c + \lambda I) W = I,

    where:

    - :math:`X_c` holds the centred rows;
    - :math:`S = H_0 H_0^T` is the similarity of samples that share labels, one of four
      `expansion` of the hypergraph whose hyperedges are the labels;
    - :math:`\lambda` is `alpha`; 0 means the pseudo-inverse.

    The least-squares form regresses the left singular vectors of the centred :math:`H_0` on the
    rows with the same ridge. Both cost k ridge solves here and never form an n×n or, on the
    sparse route, a d×d matrix.

    Parameters
    ----------
    n_components : int, default=None
        Number of directions; None means all (the rank). More than exist gives those that exist.
        The exact form keeps the largest generalised eigenvalues, the least-squares form the
        largest singular values of the centred :math:`H_0`. With ``expansion="cca"`` those are
        all 1, so truncating its least-squares form is arbitrary.
    expansion : {"clique", "star", "zhou", "cca"}, default="clique"
        How the hypergraph becomes a similarity; ``"cca"`` is canonical correlation analysis.
    form : {"exact", "least_squares"}, default="exact"
        Generalised eigenvectors (13)(14), or regression (24)–(30). They agree at λ = 0 when the
        rows are linearly independent (Theorem 4.1), not otherwise.
    alpha : float or "auto", default=1.0
        The ridge λ of (14)(28); "auto": chosen by the evidence of the label factor (`alpha_` says it).
    edge_weights : {"uniform", "compactness", "compactness-literal"}, array or dict, default="uniform"
        Hyperedge weights; ``{label: weight}`` leaves the others at 1. Not used by cca.
    nu : float, default=1.0
        ν of the compactness weights exp(−ν·d̄), d̄ the mean squared distance inside the label,
        relative to its mean over labels ("literal": as it is).
    kernel : str or callable, default="linear"
        Any kernel of scikit-learn, or "precomputed": the projection then lives in its feature space.
    kernel_params : dict, default=None
        Parameters of the kernel, such as ``{"gamma": 0.1}``.
    n_landmarks : int, default=None
        Approximate the kernel by Nyström features of that many rows (for large n).
    solver : {"auto", "gram", "samples", "krylov", "lsqr"}, default="auto"
        Factor the d×d Gram, the n×n Gram, or iterate without forming either, over all right-hand
        sides at once or one by one with a bias column as in (30); "auto" goes by shape and density.
    tol : float, default=1e-6
        Krylov and LSQR: relative residual.
    max_iter : int, default=300
        Krylov and LSQR: bound on (block) products.
    cross_fit : False, int, splitter or iterable, default=False
        Folds in which `fit_transform` projects every training row by a fit that did not see it; a number
        means stratified folds. What is trained on in-sample projections is optimistic, the more the
        closer the rank of X is to n.
    normalize : {"metric", "unit"}, default="metric"
        Length of the directions, which the eigenproblem leaves open: that of the constraint, or 1. A
        classifier that measures distances of projected rows, such as `MLkNN`, sees the difference.
    random_state : int or RandomState, default=None
        Picks the landmarks.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Wᵀ; each row's largest entry is positive. With a kernel over the rows of `kernel_`: one
        column per training row, or per landmark direction.
    kernel_ : KernelRows or None
        What turns rows into their kernel with the training rows (or landmarks).
    eigenvalues_ : ndarray of shape (n_components,)
        Generalised eigenvalues, or squared singular values in the least-squares form.
    mean_, edge_weights_ : ndarray of shape (n_features,) and (n_labels,)
        Mean row, and the hyperedge weights used.
    solver_, n_iter_
        The route taken; block products with X (Krylov), products (LSQR), 1 for a direct solve.
    distance_bound_ : float
        With ``form="least_squares"``: how far its inner products of rows are from those of the exact form,
        at most and up to one scale, as a share of the latter (all directions kept). With μ the eigenvalues of
        Wᵀ(XcᵀXc + λI)W it is (μ_max − μ_min)/(μ_max + μ_min): 0 where the forms agree (Theorem 4.1).
    moments_ : object
        Sums over the rows, kept when `partial_fit` can go on from them.
    residual_ : float
        Certificate: relative residual of the ridge equations.

    Notes
    -----
    float32 rows give float32 components and projections. Sums, factorisations and the Krylov
    recurrence run in float64 in any case: single precision would lose the small eigenvalues.

    References
    ----------
    .. [1] L. Sun, S. Ji, J. Ye, "Hypergraph Spectral Learning for Multi-label Classification",
       KDD 2008.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import HypergraphSpectral
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> HypergraphSpectral(n_components=3).fit_transform(X, Y).shape
    (200, 3)
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "expansion": one_of(*EXPANSIONS),
        "form": one_of(*FORMS),
        "nu": number(0),
    }

    _: KW_ONLY
    expansion: str = "clique"
    form: str = "exact"
    alpha: float | Auto = 1.0
    edge_weights: Any = "uniform"
    nu: float = 1.0
    kernel: Any = "linear"
    kernel_params: dict[str, Any] | None = None
    n_landmarks: int | None = None
    tol: float = 1e-6
    max_iter: int = 300
    random_state: Any = None

    def _label_factor(self) -> ExpansionFactor:
        return ExpansionFactor(self.expansion, self.edge_weights, self.nu)

    def _eigenvectors(self, problem: EigenProblem, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        return problem.read(self.form, alpha, self.n_components)

    def _set_fitted_attributes(self, problem: EigenProblem) -> None:
        super()._set_fitted_attributes(problem)
        if self.form == "least_squares":
            self.distance_bound_ = problem.distance_bound(self.alpha_)
