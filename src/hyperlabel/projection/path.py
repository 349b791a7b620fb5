"""Many projections × every λ from one pass over the rows.

All label factors are solved as right-hand sides of one ridge path; what distinguishes the models
afterwards is algebra on k×k matrices. W is formed when a model is asked for it: 96 dense W of a
text problem would not fit where the path does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.geometry.similarity import EXPANSIONS, centered_gram, mix_both
from hyperlabel.projection._base import LabelProjection
from hyperlabel.projection._solve import FORMS, noise_of, read_mix
from hyperlabel.projection.hypergraph_spectral import HypergraphSpectral
from hyperlabel.projection.opls import HOPLS, OPLS
from hyperlabel.solvers.eigen import Gram, fix_signs
from hyperlabel.solvers.ridge import Path, Solver, solve_ridge


@dataclass(frozen=True, eq=False)
class ProjectionModel:
    """One model of a path.

    Attributes
    ----------
    name : hashable
        Which method, as named in the path.
    alpha : float
        Which λ.
    components : ndarray of shape (n_components, d)
        Wᵀ.
    eigenvalues : ndarray of shape (n_components,)
    mean : ndarray of shape (d,)
    """

    name: Any
    alpha: float
    components: np.ndarray
    eigenvalues: np.ndarray
    mean: np.ndarray

    @property
    def expansion(self) -> str:
        """Expansion, on a path of `hypergraph_spectral_path`."""
        return self.name[0]

    @property
    def form(self) -> str:
        """Form, on a path of `hypergraph_spectral_path`."""
        return self.name[1]

    def transform(self, X: Any) -> np.ndarray:
        """Project rows."""
        return np.asarray(X @ self.components.T) - self.mean @ self.components.T


@dataclass(frozen=True, eq=False)
class _Reading:
    """How one method reads the shared path."""

    columns: slice
    right: np.ndarray
    gram: Gram
    form: str
    n_components: int | None


class ProjectionPath:
    """The models of a path, formed on demand; iterate λ by λ, or call `model`.

    Attributes
    ----------
    alphas : tuple of float
        The λ it was made for; `model` takes any, above the smallest at full accuracy.
    names : tuple
        The methods.
    solver : str
        The route taken.
    n_iter : int
        Block products with X (Krylov).
    """

    def __init__(self, path: Path, readings: dict[Any, _Reading], alphas: Sequence[float]) -> None:
        self.path, self.alphas, self.names = path, tuple(alphas), tuple(readings)
        self._readings = readings

    @property
    def solver(self) -> str:
        """Name of the route."""
        return self.path.solver

    @property
    def n_iter(self) -> int:
        """Block products with X; 1 for a factorisation."""
        return self.path.n_iter

    def __len__(self) -> int:
        return len(self.alphas) * len(self.names)

    def residual(self, alpha: float) -> float:
        """Return the relative residual of the ridge equations at one λ."""
        return self.path.residual(alpha)

    def model(self, name: Any, alpha: float) -> ProjectionModel:
        """Return one model."""
        if name not in self._readings:
            raise ValueError(f"The path was not made for {name!r}.")
        values, chosen = self._read(name, self.path.reduced(alpha), noise_of(self.path, alpha))
        whole = np.zeros((len(self.path.f_mean), chosen.shape[1]))
        whole[self._readings[name].columns] = chosen
        return self._model(name, alpha, values, self.path.combine(alpha, whole))

    def __iter__(self) -> Iterator[ProjectionModel]:
        for alpha in self.alphas:
            reduced, noise = self.path.reduced(alpha), noise_of(self.path, alpha)
            R = self.path.combine(alpha, np.eye(len(self.path.f_mean)))  # shared by all models of this λ
            for name, reading in self._readings.items():
                values, chosen = self._read(name, reduced, noise)
                yield self._model(name, alpha, values, R[:, reading.columns] @ chosen)

    def _read(self, name: Any, reduced: np.ndarray, noise: float) -> tuple[np.ndarray, np.ndarray]:
        r = self._readings[name]
        return read_mix(r.form, reduced[r.columns, r.columns], r.gram, r.right, r.n_components, noise=noise)

    def _model(self, name: Any, alpha: float, values: np.ndarray, W: np.ndarray) -> ProjectionModel:
        return ProjectionModel(name, alpha, fix_signs(W).T, values, self.path.x_mean)


class SpectralPath(ProjectionPath):
    """A `ProjectionPath` whose methods are pairs (expansion, form)."""

    def model(self, expansion: str, form: str, alpha: float) -> ProjectionModel:  # type: ignore[override]
        """Return one model."""
        return super().model((expansion, form), alpha)


def projection_path(
    X: Any,
    y: Any,
    *,
    estimators: Mapping[Any, LabelProjection],
    alphas: Sequence[float],
    solver: Solver = "auto",
    tol: float = 1e-6,
    max_iter: int = 300,
) -> ProjectionPath:
    """Solve several projections for every λ from one pass over the rows.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows; sparse rows are not densified.
    y : array-like or sparse matrix of shape (n_samples, n_labels)
        Label indicator, or classes.
    estimators : mapping of name to `HypergraphSpectral`, `OPLS` or `HOPLS`
        The methods; their `alpha` and `solver` are not used. Methods with the same label factor
        share its right-hand sides: a whole grid of tradeoffs costs no more than one.
    alphas : sequence of float
        The λ, each at least 0.
    solver, tol, max_iter
        As in `HypergraphSpectral`.

    Returns
    -------
    path : ProjectionPath
        Iterate for all models, λ by λ, or ask ``path.model(name, alpha)``.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import HOPLS, OPLS
    >>> from hyperlabel.projection import projection_path
    >>> X, Y = make_multilabel_classification(n_samples=100, random_state=0)
    >>> methods = {"OPLS": OPLS(3)} | {t: HOPLS(3, tradeoff=t) for t in (0.1, 1.0)}
    >>> path = projection_path(X, Y, estimators=methods, alphas=[0.1, 10.0])
    >>> [(m.name, m.alpha) for m in path][:3]
    [('OPLS', 0.1), (0.1, 0.1), (1.0, 0.1)]
    """
    path, readings, alphas = _solve(X, y, estimators, alphas, solver, tol, max_iter)
    return ProjectionPath(path, readings, alphas)


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
    shared: Any = {"n_components": n_components, "edge_weights": edge_weights, "nu": nu}
    estimators = {
        (expansion, form): HypergraphSpectral(expansion=expansion, form=form, **shared)
        for expansion in expansions
        for form in forms
    }
    path, readings, alphas = _solve(X, y, estimators, alphas, solver, tol, max_iter)
    return SpectralPath(path, readings, alphas)


def _solve(
    X: Any,
    y: Any,
    estimators: Mapping[Any, LabelProjection],
    alphas: Sequence[float],
    solver: Solver,
    tol: float,
    max_iter: int,
) -> tuple[Path, dict[Any, _Reading], list[float]]:
    alphas = [float(alpha) for alpha in alphas]
    if not alphas or not all(np.isfinite(alpha) and alpha >= 0 for alpha in alphas):
        raise ValueError("alphas must be one or more finite numbers of at least 0.")
    if not estimators:
        raise ValueError("There is no method to solve for.")
    gate = HypergraphSpectral()
    X, Y = gate._check_fit(X, y, min_samples=2)
    bases = _Bases()
    readings = {}
    for name, estimator in estimators.items():
        if not isinstance(estimator, (HypergraphSpectral, OPLS, HOPLS)):
            kind = type(estimator).__name__
            raise ValueError(f"A path takes HypergraphSpectral, OPLS and HOPLS, not {kind}.")
        estimator._set_targets(gate._layout, counts=None, n_rows=X.shape[0])
        edges = estimator._edges(X, Y)
        columns, gram = bases.add(estimator._label_base(Y, edges))
        right = estimator._label_mix(edges, gram)
        form = getattr(estimator, "form", "exact")
        readings[name] = _Reading(columns, right, Gram(mix_both(gram, right)), form, estimator.n_components)
    path = solve_ridge(X, bases.stacked(), alphas=alphas, solver=solver, tol=tol, max_iter=max_iter)
    return path, readings, alphas


class _Bases:
    """Right-hand sides of the path: the distinct bases of its methods, side by side."""

    def __init__(self) -> None:
        self._known: list[tuple[sparse.csr_array, slice, np.ndarray]] = []

    def add(self, base: sparse.csr_array) -> tuple[slice, np.ndarray]:
        for other, columns, gram in self._known:
            if _same(base, other):
                return columns, gram
        start = self._known[-1][1].stop if self._known else 0
        self._known.append((base, slice(start, start + base.shape[1]), centered_gram(base)))
        return self._known[-1][1:]

    def stacked(self) -> sparse.csr_array:
        return sparse.hstack([base for base, _, _ in self._known], format="csr")


def _same(a: sparse.csr_array, b: sparse.csr_array) -> bool:
    parts = ("indptr", "indices", "data")
    return a is b or (a.shape == b.shape and all(np.array_equal(getattr(a, p), getattr(b, p)) for p in parts))
