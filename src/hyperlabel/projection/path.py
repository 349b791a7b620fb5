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

from hyperlabel.geometry.similarity import EXPANSIONS, centered_gram
from hyperlabel.projection._solve import FORMS, read_form
from hyperlabel.projection.hypergraph_spectral import HypergraphSpectral
from hyperlabel.solvers.eigen import fix_signs
from hyperlabel.solvers.ridge import Path, RidgeResult, Solver, solve_ridge


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
    residual : float
        Relative residual of the ridge equations.
    """

    expansion: str
    form: str
    alpha: float
    components: np.ndarray
    eigenvalues: np.ndarray
    mean: np.ndarray
    residual: float

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
        factors: dict[str, tuple[slice, np.ndarray, np.ndarray]],
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

    def model(self, expansion: str, form: str, alpha: float) -> SpectralModel:
        """Return one model."""
        return self._form(self.path, expansion, form, alpha)

    def __iter__(self) -> Iterator[SpectralModel]:
        for alpha in self.alphas:
            once = _OneLambda(self.path, alpha)  # R of all factors, shared by the models of this λ
            for expansion in self.expansions:
                for form in self.forms:
                    yield self._form(once, expansion, form, alpha)

    def _form(self, path: Path, expansion: str, form: str, alpha: float) -> SpectralModel:
        if expansion not in self._factors:
            raise ValueError(f"The path was not made for expansion {expansion!r}.")
        columns, right, gram = self._factors[expansion]
        part = _Columns(path, columns)
        values, W = read_form(form, part, gram, right, alpha, self.n_components)
        components = np.ascontiguousarray(fix_signs(W).T)
        return SpectralModel(expansion, form, alpha, components, values, path.x_mean, path.residual(alpha))


class _Columns:
    """Some right-hand sides of a path."""

    def __init__(self, path: Path, columns: slice) -> None:
        self.path, self.columns = path, columns
        self.solver, self.n_iter = path.solver, path.n_iter
        self.x_mean, self.f_mean = path.x_mean, path.f_mean[columns]

    def solve(self, alpha: float) -> RidgeResult:
        result = self.path.solve(alpha)
        return RidgeResult(result.coef[:, self.columns], result.intercept[self.columns], result.residual)

    def reduced(self, alpha: float) -> np.ndarray:
        return self.path.reduced(alpha)[self.columns, self.columns]

    def combine(self, alpha: float, right: np.ndarray) -> np.ndarray:
        whole = np.zeros((len(self.path.f_mean), right.shape[1]))
        whole[self.columns] = right
        return self.path.combine(alpha, whole)

    def residual(self, alpha: float) -> float:
        return self.path.residual(alpha)


class _OneLambda:
    """A path at one λ, with its coefficients and small matrix kept."""

    def __init__(self, path: Path, alpha: float) -> None:
        self._result, self._reduced = path.solve(alpha), path.reduced(alpha)
        self.solver, self.n_iter = path.solver, path.n_iter
        self.x_mean, self.f_mean = path.x_mean, path.f_mean

    def solve(self, alpha: float) -> RidgeResult:
        return self._result

    def reduced(self, alpha: float) -> np.ndarray:
        return self._reduced

    def combine(self, alpha: float, right: np.ndarray) -> np.ndarray:
        rows = np.flatnonzero(right.any(axis=1))  # the columns of one factor
        return self._result.coef[:, rows[0] : rows[-1] + 1] @ right[rows[0] : rows[-1] + 1]

    def residual(self, alpha: float) -> float:
        return self._result.residual


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
    bases, factors, start = [], {}, 0
    for form in forms:
        if form not in FORMS:
            raise ValueError(f"Unknown form {form!r}: choose one of {', '.join(FORMS)}.")
    for name, maker in makers.items():
        base = maker._label_base(Y, edges)
        gram = centered_gram(base)
        bases.append(base)
        factors[name] = (slice(start, start + base.shape[1]), maker._label_mix(edges, gram), gram)
        start += base.shape[1]
    stacked = sparse.hstack(bases, format="csr")
    path = solve_ridge(X, stacked, alphas=alphas, solver=solver, tol=tol, max_iter=max_iter)
    return SpectralPath(path, factors, alphas=alphas, forms=forms, n_components=n_components)
