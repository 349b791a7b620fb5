"""Hypergraph spectral learning (Sun, Ji & Ye, KDD 2008).

Notation
--------
===========  ==============  ============================================  =====
code         paper           meaning                                       shape
===========  ==============  ============================================  =====
X            Xᵀ              rows, centred implicitly                      n×d
base·right   H₀ (16)         factor of the similarity S = H₀H₀ᵀ            n×k
alpha        λ (14)(28)      ridge                                         —
path         —               R = (XcᵀXc + λI)⁻¹XcᵀH₀ for every λ           d×k
components_  Wᵀ              projection                                    c×d
===========  ==============  ============================================  =====
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import pairwise_kernels

from hyperlabel.geometry.similarity import (
    EXPANSIONS,
    centered_gram,
    edge_scale,
    mix_both,
    normalise_rows,
    whitening,
)
from hyperlabel.projection._base import Edges, LabelProjection
from hyperlabel.projection._solve import FORMS, read_form
from hyperlabel.solvers.eigen import Gram, fix_signs
from hyperlabel.solvers.moments import Moments
from hyperlabel.solvers.ridge import Path, SamplePath


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
    alpha : float, default=1.0
        The ridge λ.
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
    solver : {"auto", "gram", "samples", "krylov"}, default="auto"
        Factor the d×d Gram, the n×n Gram, or iterate without forming either; "auto" goes by
        shape and density.
    tol, max_iter : float, default=1e-6, and int, default=300
        Krylov: relative residual, and the bound on block products.
    cross_fit : bool, default=False
        Whether `fit_transform` projects every training row by a fit that did not see it. What is
        trained on in-sample projections is optimistic, the more the closer the rank of X is to n.
    cv : int, splitter or iterable, default=5
        Folds of cross-fitting; a number means stratified folds (`IterativeStratifiedKFold`).
    random_state : int or RandomState, default=None
        Picks the landmarks.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Wᵀ; each row's largest entry is positive. In the space of the landmarks after Nyström,
        absent for an exact kernel.
    dual_coef_ : ndarray of shape (n_samples, n_components)
        Coefficients over the training rows (exact kernel only).
    eigenvalues_ : ndarray of shape (n_components,)
        Generalised eigenvalues, or squared singular values in the least-squares form.
    mean_ : ndarray of shape (n_features,)
        Mean row.
    edge_weights_ : ndarray of shape (n_labels,)
        Hyperedge weights used.
    solver_ : str
        The route taken.
    n_iter_ : int
        Block products with X (Krylov), 1 for a direct solve.
    moments_ : Moments
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

    The paper's classifier, a linear SVM per label on the projection (whose columns have norm 1 over
    the training rows, so that C = 100 is a moderate penalty):

    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> from hyperlabel import BinaryRelevance
    >>> model = make_pipeline(HypergraphSpectral(cross_fit=True), BinaryRelevance(LinearSVC(C=100)))
    >>> model.fit(X, Y).predict(X[:2]).shape
    (2, 5)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        expansion: str = "clique",
        form: str = "exact",
        alpha: float = 1.0,
        edge_weights: Any = "uniform",
        nu: float = 1.0,
        kernel: Any = "linear",
        kernel_params: dict[str, Any] | None = None,
        n_landmarks: int | None = None,
        solver: str = "auto",
        tol: float = 1e-6,
        max_iter: int = 300,
        cross_fit: bool = False,
        cv: Any = 5,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.expansion = expansion
        self.form = form
        self.alpha = alpha
        self.edge_weights = edge_weights
        self.nu = nu
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.n_landmarks = n_landmarks
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.cross_fit = cross_fit
        self.cv = cv
        self.random_state = random_state

    # -- which factor -------------------------------------------------------------------------------

    @property
    def _edge_spec(self) -> Any:
        return "uniform" if self.expansion == "cca" else self.edge_weights

    @property
    def _nu(self) -> float:  # type: ignore[override]
        return self.nu

    @property
    def _one_pass(self) -> bool:
        uniform = isinstance(self._edge_spec, str) and self._edge_spec == "uniform"
        return self.expansion in ("zhou", "cca") and uniform and not self._refuses_blocks()

    def _refuses_blocks(self) -> str | None:
        if self.kernel == "linear" and self.n_landmarks is None:
            return None
        return "A kernel needs all rows at once: fit it in memory, or use kernel='linear'."

    def _label_base(self, Y: sparse.csr_array, edges: Edges | None) -> sparse.csr_array:
        self._check_choices()
        if self.expansion == "cca":
            return Y
        if edges is None:  # Zhou's degrees need no sizes: D = Yw
            return normalise_rows(Y, np.ones(Y.shape[1]))
        self.edge_weights_ = edges.weights
        return normalise_rows(Y, edge_scale(edges.sizes, edges.weights, self.expansion) * edges.sizes)

    def _label_mix(self, edges: Edges, gram: np.ndarray) -> np.ndarray:
        self.edge_weights_ = edges.weights
        if self.expansion == "cca":
            return whitening(gram)
        return np.sqrt(edge_scale(edges.sizes, edges.weights, self.expansion))

    def _read(self, path: Path, gram: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return read_form(self.form, path, Gram(mix_both(gram, right)), right, self.alpha, self.n_components)

    def _check_choices(self) -> None:
        if self.expansion not in EXPANSIONS:
            raise ValueError(f"Unknown expansion {self.expansion!r}: choose one of {', '.join(EXPANSIONS)}.")
        if self.form not in FORMS:
            raise ValueError(f"Unknown form {self.form!r}: choose one of {', '.join(FORMS)}.")

    # -- the kernel form ----------------------------------------------------------------------------

    def _fit_rows(self, X: Any, Y: sparse.csr_array, moments: Moments | None = None) -> None:
        for name in ("dual_coef_", "X_fit_", "nystroem_", "components_"):
            self.__dict__.pop(name, None)
        if self.kernel == "linear" and self.n_landmarks is None:
            super()._fit_rows(X, Y, moments)
        elif self.n_landmarks is not None:
            if self.kernel == "precomputed":
                raise ValueError("Nyström features need rows: a precomputed kernel has none to pick.")
            self.nystroem_ = Nystroem(
                self.kernel,
                kernel_params=self.kernel_params,
                n_components=min(self.n_landmarks, X.shape[0]),
                random_state=self.random_state,
            ).fit(X)
            super()._fit_rows(self.nystroem_.transform(X), Y)
        else:
            self._fit_kernel(X, Y)

    def _fit_kernel(self, X: Any, Y: sparse.csr_array) -> None:
        K = self._kernel_with(X, X).astype(np.float64)
        if K.shape[0] != K.shape[1]:
            raise ValueError(f"A precomputed kernel must be square over the training rows, got {K.shape}.")
        edges = self._edges(X, Y)
        base = self._label_base(Y, edges)
        along = K.mean(axis=0)
        centered = K - along - along[:, None] + along.mean()
        targets = base.toarray()
        mean = targets.mean(axis=0)
        path = SamplePath(centered, targets - mean, f_mean=mean, alphas=self._alphas())
        gram = centered_gram(base)
        self.eigenvalues_, dual = self._read(path, gram, self._label_mix(edges, gram))
        self._check_rank(dual)
        self.dual_coef_ = fix_signs(dual).astype(self._dtype)
        self._offset = along @ self.dual_coef_
        self.n_components_ = dual.shape[1]
        self.solver_, self.n_iter_, self.residual_ = "samples", 1, path.residual(self.alpha)
        if self.kernel != "precomputed":
            self.X_fit_ = X

    def _kernel_with(self, X: Any, rows: Any) -> np.ndarray:
        if self.kernel == "precomputed":
            return X
        return pairwise_kernels(X, rows, metric=self.kernel, **(self.kernel_params or {}))

    def _project(self, X: Any) -> np.ndarray:
        if hasattr(self, "dual_coef_"):
            # Columns of dual_coef_ sum to zero, so centring by the row means of K drops out.
            K = self._kernel_with(X, getattr(self, "X_fit_", None))
            return (K @ self.dual_coef_ - self._offset).astype(self._dtype)
        if hasattr(self, "nystroem_"):
            return super()._project(self.nystroem_.transform(X)).astype(self._dtype)
        return super()._project(X)

    def _rows(self, X: Any, rows: np.ndarray, training: np.ndarray) -> Any:
        return X[np.ix_(rows, training)] if self.kernel == "precomputed" else X[rows]

    def _route(self, X: Any) -> str:
        plain = self.kernel == "linear" and self.n_landmarks is None
        return super()._route(X) if plain else "samples"

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
