"""Multi-label dimensionality reduction by dependence maximisation (Zhang & Zhou 2010).

Notation: Xc, Yc centred rows and labels, B = XcᵀYc (d×k). With the linear label kernel the
Hilbert–Schmidt dependence of a projected row on the labels is tr(WᵀBBᵀW).
"""

from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np

from hyperlabel._params import Rule, number, one_of
from hyperlabel.geometry.factor import LabelFactor, PlainFactor
from hyperlabel.projection._base import LabelProjection
from hyperlabel.solvers.spectral.label_eigenproblem import EigenProblem


@dataclass(eq=False, repr=False)
class MDDM(LabelProjection):
    r"""Directions along which rows depend most on the labels.

    .. math:: \max_W \operatorname{tr}(W^T X_c^T Y_c Y_c^T X_c W) \quad\text{subject to}\quad W^T C W = I,

    where C is the identity in the *projection* variant (orthonormal directions) and
    :math:`\mu X_c^T X_c + (1 - \mu) I` in the *feature* variant (uncorrelated features).

    Parameters
    ----------
    n_components : int, default=None
        Number of directions; None means all (the rank).
    variant : {"projection", "feature"}, default="projection"
        Which constraint.
    mu : float, default=0.5
        μ of the feature variant, from 0 (the projection variant) to 1 (`OPLS` with λ = 0).
    solver, tol, max_iter, cross_fit, normalize
        As in `OPLS`; the projection variant solves nothing.

    Attributes
    ----------
    components_, eigenvalues_, mean_, solver_, residual_, n_iter_
        As in `OPLS`; `solver_` is "none" in the projection variant.

    References
    ----------
    .. [1] Y. Zhang, Z.-H. Zhou, "Multilabel Dimensionality Reduction via Dependence Maximization",
       ACM TKDD 4(3), 2010.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import MDDM
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> W = MDDM(n_components=3).fit(X, Y).components_
    >>> bool(abs(W @ W.T - [[1, 0, 0], [0, 1, 0], [0, 0, 1]]).max() < 1e-10)
    True
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "variant": one_of("projection", "feature"),
        "mu": number(0, 1),
    }

    _: KW_ONLY
    variant: str = "projection"
    mu: float = 0.5
    tol: float = 1e-6
    max_iter: int = 300

    def _label_factor(self) -> LabelFactor:
        return PlainFactor()

    def _ridge_penalty(self) -> float | None:
        """Return λ = (1 − μ)/μ that the feature variant amounts to, up to a factor 1/√μ of W."""
        return (1.0 - self.mu) / self.mu if self.variant == "feature" and self.mu > 0 else None

    def _eigenvectors(self, problem: EigenProblem, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        values, W = super()._eigenvectors(problem, alpha)
        return (values, W) if self._ridge_penalty() is None else (values / self.mu, W / np.sqrt(self.mu))
