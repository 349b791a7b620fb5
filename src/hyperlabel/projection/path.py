"""Every expansion × form × λ of hypergraph spectral learning from one pass over the rows.

All label factors are solved as right-hand sides of one ridge path; what distinguishes the models
afterwards is algebra on k×k matrices. W is formed when a model is asked for it: 96 dense W of a
text problem would not fit where the path does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.geometry.similarity import EXPANSIONS, centered_gram, mix_both
from hyperlabel.projection._solve import FORMS, noise_of, read_mix
from hyperlabel.projection.hypergraph_spectral import HypergraphSpectral
from hyperlabel.solvers.eigen import Gram, fix_signs
from hyperlabel.solvers.ridge import Path, Solver, solve_ridge


@dataclass(frozen=True, eq=False)
class SpectralModel:
    """One model of the path.

    Attributes
    ----------
    expansion, form, alpha
        Which one.
    components : ndarray of shape (n_components, d)
        Wᵀ.
    eigenvalues : ndarray of shape (n_components,)
    mean : ndarray of shape (d,)
    """

    expansion: str
    form: str
    alpha: float
    components: np.ndarray
    eigenvalues: np.ndarray
    mean: np.ndarray

    def transform(self, X: Any) -> np.ndarray:
        """Project rows."""
        return np.asarray(X @ self.components.T) - self.mean @ self.components.T


class SpectralPath:
    """The models of a path, formed on demand; iterate, or call `model`.

    Attributes
    ----------
    alphas, expansions, forms
        What the path was made for; `model` takes any λ, above the smallest at full accuracy.
    solver : str
        The route taken.
    n_iter : int
        Block products with X (Krylov).
    """

    def __init__(
        self,
        path: Path,
        factors: dict[str, tuple[slice, np.ndarray, Gram]],
        *,
        alphas: Sequence[float],
        forms: Sequence[str],
        n_components: int | None,
    ) -> None:
        self.path, self.alphas, self.forms = path, tuple(alphas), tuple(forms)
        self.expansions = tuple(factors)
        self.n_components = n_components
        self._factors = factors

    @property
    def solver(self) -> str:
        """Name of the route."""
        return self.path.solver

    @property
    def n_iter(self) -> int:
        """Block products with X; 1 for a factorisation."""
        return self.path.n_iter

    def __len__(self) -> int:
        return len(self.alphas) * len(self.expansions) * len(self.forms)

    def residual(self, alpha: float) -> float:
        """Return the relative residual of the ridge equations at one λ."""
        return self.path.residual(alpha)

    def model(self, expansion: str, form: str, alpha: float) -> SpectralModel:
        """Return one model."""
        if expansion not in self._factors:
            raise ValueError(f"The path was not made for expansion {expansion!r}.")
        columns, right, gram = self._factors[expansion]
        reduced, noise = self.path.reduced(alpha)[columns, columns], noise_of(self.path, alpha)
        values, chosen = read_mix(form, reduced, gram, right, self.n_components, noise=noise)
        whole = np.zeros((len(self.path.f_mean), chosen.shape[1]))
        whole[columns] = chosen
        return self._model(expansion, form, alpha, values, self.path.combine(alpha, whole))

    def __iter__(self) -> Iterator[SpectralModel]:
        for alpha in self.alphas:
            reduced, noise = self.path.reduced(alpha), noise_of(self.path, alpha)
            R = self.path.combine(alpha, np.eye(len(self.path.f_mean)))  # shared by all models of this λ
            for expansion, (columns, right, gram) in self._factors.items():
                for form in self.forms:
                    small = reduced[columns, columns]
                    values, chosen = read_mix(form, small, gram, right, self.n_components, noise=noise)
                    yield self._model(expansion, form, alpha, values, R[:, columns] @ chosen)

    def _model(
        self, expansion: str, form: str, alpha: float, values: np.ndarray, W: np.ndarray
    ) -> SpectralModel:
        components = fix_signs(W).T
        return SpectralModel(expansion, form, alpha, components, values, self.path.x_mean)


def hypergraph_spectral_path(
    X: Any,
    y: Any,
    *,
    alphas: Sequence[float],
    expansions: Sequence[str] = EXPANSIONS,
    forms: Sequence[str] = FORMS,
    n_components: int | None = None,
    edge_weights: Any = "uniform",
    nu: float = 1.0,
    solver: Solver = "auto",
    tol: float = 1e-6,
    max_iter: int = 300,
) -> SpectralPath:
    """Solve every combination of expansion, form and λ from one pass over the rows.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows; sparse rows are not densified.
    y : array-like or sparse matrix of shape (n_samples, n_labels)
        Label indicator, or classes.
    alphas : sequence of float
        The λ, each at least 0.
    expansions, forms : sequence of str
        Which of the four expansions and two forms; see `HypergraphSpectral`.
    n_components, edge_weights, nu, solver, tol, max_iter
        As in `HypergraphSpectral`.

    Returns
    -------
    path : SpectralPath
        Iterate for all models, λ by λ, or ask ``path.model(expansion, form, alpha)``.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import hypergraph_spectral_path
    >>> X, Y = make_multilabel_classification(n_samples=100, random_state=0)
    >>> path = hypergraph_spectral_path(X, Y, alphas=[0.1, 1.0, 10.0])
    >>> len(path), path.solver
    (24, 'gram')
    >>> path.model("star", "exact", 1.0).transform(X).shape
    (100, 5)
    """
    alphas = [float(alpha) for alpha in alphas]
    if not alphas or not all(np.isfinite(alpha) and alpha >= 0 for alpha in alphas):
        raise ValueError("alphas must be one or more finite numbers of at least 0.")
    makers = {
        name: HypergraphSpectral(expansion=name, edge_weights=edge_weights, nu=nu) for name in expansions
    }
    gate = HypergraphSpectral(edge_weights=edge_weights, nu=nu)
    X, Y = gate._check_fit(X, y, min_samples=2)
    edges = gate._edges(X, Y)
    bases: list[sparse.csr_array] = []
    factors: dict[str, tuple[slice, np.ndarray, Gram]] = {}
    start = 0
    for form in forms:
        if form not in FORMS:
            raise ValueError(f"Unknown form {form!r}: choose one of {', '.join(FORMS)}.")
    for name, maker in makers.items():
        base = maker._label_base(Y, edges)
        gram = centered_gram(base)
        right = maker._label_mix(edges, gram)
        bases.append(base)
        factors[name] = (slice(start, start + base.shape[1]), right, Gram(mix_both(gram, right)))
        start += base.shape[1]
    stacked = sparse.hstack(bases, format="csr")
    path = solve_ridge(X, stacked, alphas=alphas, solver=solver, tol=tol, max_iter=max_iter)
    return SpectralPath(path, factors, alphas=alphas, forms=forms, n_components=n_components)
