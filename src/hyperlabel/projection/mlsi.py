"""Multi-label informed latent semantic indexing (Yu, Yu & Tresp 2005).

Notation
--------
code    meaning                                                     shape
s       S², non-zero eigenvalues of XcᵀXc (Xc = U S Pᵀ)             r
t       UᵀYc, the labels seen from the span of the features         r×k
E       Yc − U t, what of the labels lies outside that span         n×k
beta    β, weight of the labels                                     —
alpha   γ, ridge                                                    —

Everything happens in the r×r coordinates of P, so sparse X is not densified; r ≤ min(n, d), and
the r×r eigenproblem is what MLSI costs: its factor has as many columns as X and no low-rank
shortcut exists.

What the default reading amounts to: with K = (1 − β)XcXcᵀ + βYcYcᵀ one finds (Schur complement over the
part of the labels outside the span)

    Pᵀ Xcᵀ K⁺ Xc P = ((1 − β)I + β M Mᵀ)⁻¹,   M = S⁻¹ t Z,   Z a basis of the null space of E,

so the labels count only through combinations that are *exactly* linear in the features. When
there are more rows than features and labels together, generically none is, and the result is
principal component analysis whatever β.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import linalg

from hyperlabel._params import Rule, number, one_of
from hyperlabel.geometry.factor import LabelFactor, PlainFactor
from hyperlabel.moments.auto_params import Auto
from hyperlabel.projection._base import LabelProjection
from hyperlabel.solvers.arrays import rank_tolerance
from hyperlabel.solvers.spectral.eigen import fix_signs
from hyperlabel.solvers.spectral.label_eigenproblem import EigenProblem


@dataclass(eq=False, repr=False)
class MLSI(LabelProjection):
    r"""Latent semantic indexing informed by the labels.

    Two readings of the method exist; with :math:`K = (1 - \beta) X_c X_c^T + \beta Y_c Y_c^T`,

    - ``"latent"`` (default): :math:`X_c^T X_c w = \lambda (X_c^T K^+ X_c + \gamma I) w`, the features being
      :math:`\sqrt{\lambda_j} w_j^T x`;
    - ``"projection"``: :math:`\max_W \operatorname{tr}(W^T X_c^T K X_c W)` subject to
      :math:`W^T (X_c^T X_c + \gamma I) W = I`.

    With more rows than features and labels together the latent reading is, generically, principal
    component analysis, whatever β (the module's notes have the formula).

    Parameters
    ----------
    n_components : int, default=None
        Number of directions; None means all (the rank of the features).
    beta : float, default=0.5
        β, weight of the labels, from 0 to 1.
    alpha : float or "auto", default=1.0
        The ridge γ; "auto" lets the evidence choose it, that of the labels (`alpha_` says it).
    variant : {"latent", "projection"}, default="latent"
        Which of the two.
    solver : {"auto", "gram", "samples"}, default="auto"
        Factor the d×d or the n×n Gram; sparse rows are not densified, but the smaller Gram is dense.
    cross_fit, normalize
        As in `OPLS`.

    Attributes
    ----------
    components_, eigenvalues_, mean_, solver_, residual_, n_iter_
        As in `OPLS`; the latent reading multiplies `components_` by √λ, unless they have length 1.

    References
    ----------
    .. [1] K. Yu, S. Yu, V. Tresp, "Multi-label Informed Latent Semantic Indexing", SIGIR 2005.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import MLSI
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> MLSI(n_components=3, variant="projection").fit_transform(X, Y).shape
    (200, 3)
    """

    _rules: ClassVar[dict[str, Rule]] = {
        "beta": number(0, 1),
        "variant": one_of("latent", "projection"),
        "solver": one_of("auto", "gram", "samples"),
    }

    _: KW_ONLY
    beta: float = 0.5
    alpha: float | Auto = 1.0
    variant: str = "latent"

    def _label_factor(self) -> LabelFactor:
        return PlainFactor()

    def _choose_solver(self) -> str:
        return "factored" if self.solver == "auto" else self.solver  # all singular vectors are needed

    def _eigenvectors(self, problem: EigenProblem, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        path: Any = problem.path
        s, t, basis = path.spectrum()
        solve = solve_latent if self.variant == "latent" else solve_projection
        values, M = solve(s, t, problem.gram, self.beta, alpha)
        return values[: self.n_components], fix_signs(basis(M[:, : self.n_components]))


def solve_projection(
    s: np.ndarray, t: np.ndarray, gram: np.ndarray, beta: float, gamma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Maximise Mᵀ((1−β)S⁴ + βS t tᵀS)M subject to Mᵀ(S² + γI)M = I."""
    scale = 1.0 / np.sqrt(s + gamma)
    B = (np.sqrt(s) * scale)[:, None] * t
    A = beta * B @ B.T
    A[np.diag_indices_from(A)] += (1 - beta) * (s * scale) ** 2
    values, V = linalg.eigh(A)
    values, M = values[::-1], scale[:, None] * V[:, ::-1]
    in_range = values > rank_tolerance(values)
    return values[in_range], M[:, in_range]


def solve_latent(
    s: np.ndarray, t: np.ndarray, gram: np.ndarray, beta: float, gamma: float
) -> tuple[np.ndarray, np.ndarray]:
    """Solve S²m = λ(N + γI)m with N = PᵀXcᵀK⁺XcP, the columns multiplied by √λ."""
    if beta < 1:
        e, V = linalg.eigh(gram - t.T @ t)  # EᵀE; its null space holds what is linear in the features
        Z = V[:, e <= 1e-10 * max(float(np.trace(gram)), 1e-300)]
        M = (t @ Z) / np.sqrt(s)[:, None]
        inverse = beta * M @ M.T
        inverse[np.diag_indices_from(inverse)] += 1 - beta
        N = linalg.inv(inverse)
    else:
        half = np.sqrt(s)[:, None] * (t @ linalg.pinvh(gram, rtol=1e-10))
        N = half @ half.T
    N[np.diag_indices_from(N)] += gamma
    # (N + γI)^(1/2)-free form: the reciprocal problem S⁻¹(N + γI)S⁻¹ u = λ⁻¹u, m = S⁻¹u·√λ.
    root = 1.0 / np.sqrt(s)
    reciprocal, U = linalg.eigh(root[:, None] * ((N + N.T) / 2) * root)
    in_range = reciprocal > rank_tolerance(reciprocal)
    values = 1.0 / reciprocal[in_range]
    # mᵀ(N + γI)m = 1 fixes m = √λ S⁻¹u; the features carry another √λ.
    return values, (root[:, None] * U[:, in_range]) * values
