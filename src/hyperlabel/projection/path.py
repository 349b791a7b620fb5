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

from hyperlabel._missing_labels import fill_unknown, known_part
from hyperlabel._params import check_params, number
from hyperlabel._validation import check_fit
from hyperlabel.geometry.similarity import EXPANSIONS, centered_gram, column_sums
from hyperlabel.projection._base import LabelProjection
from hyperlabel.projection.hypergraph_spectral import FORMS, HypergraphSpectral
from hyperlabel.solvers.ridge.routes import Path, Solver, solve_ridge
from hyperlabel.solvers.spectral.label_eigenproblem import EigenProblem


@dataclass(frozen=True, eq=False)
class ProjectionModel:
    """One model of a path: the method `name` at λ = `alpha`; `components` are Wᵀ."""

    name: Any
    alpha: float
    components: np.ndarray
    eigenvalues: np.ndarray
    mean: np.ndarray

    def transform(self, X: Any) -> np.ndarray:
        """Project rows."""
        return np.asarray(X @ self.components.T) - self.mean @ self.components.T


class ProjectionPath:
    """The models of a path, formed on demand; iterate λ by λ, or call `model`, which takes any λ.

    `path` is the one ridge path: ``path.solver`` names the route, ``path.n_iter`` counts block products with
    X, ``path.residual(alpha)`` is the certificate.
    """

    def __init__(self, path: Path, alphas: Sequence[float]) -> None:
        self.path, self.alphas = path, tuple(alphas)
        self._methods: dict[Any, tuple[LabelProjection, EigenProblem]] = {}
        self._reduced: tuple[float, np.ndarray] | None = None
        self._solution: tuple[float, np.ndarray] | None = None

    @property
    def names(self) -> tuple[Any, ...]:
        """Names of the methods."""
        return tuple(self._methods)

    def __len__(self) -> int:
        return len(self.alphas) * len(self.names)

    def model(self, name: Any, alpha: float) -> ProjectionModel:
        """Return one model."""
        if name not in self._methods:
            raise ValueError(f"The path was not made for {name!r}.")
        method, problem = self._methods[name]
        values, W = method._eigenvectors(problem, alpha)
        return ProjectionModel(name, alpha, method._scale_directions(W).T, values, self.path.x_mean)

    def __iter__(self) -> Iterator[ProjectionModel]:
        for alpha in self.alphas:
            # all models of this λ will be asked for: R is formed once for them
            self._solution = alpha, self.path.combine(alpha, np.eye(len(self.path.f_mean)))
            for name in self.names:
                yield self.model(name, alpha)

    def _reduce_bases(self, alpha: float) -> np.ndarray:
        """Return BᵀW of all bases side by side, kept for the λ last asked for."""
        if self._reduced is None or self._reduced[0] != alpha:
            self._reduced = alpha, self.path.reduced(alpha)
        return self._reduced[1]

    def _combine_columns(self, alpha: float, columns: slice, column_mix: np.ndarray) -> np.ndarray:
        if self._solution is not None and self._solution[0] == alpha:
            return self._solution[1][:, columns] @ column_mix
        full_mix = np.zeros((len(self.path.f_mean), column_mix.shape[1]))
        full_mix[columns] = column_mix
        return self.path.combine(alpha, full_mix)


class _Columns(Path):
    """The columns of a shared path that belong to one base, as a path of its own."""

    def __init__(self, shared: ProjectionPath, columns: slice) -> None:
        self._shared, self._columns = shared, columns
        self.solver = shared.path.solver
        self.x_mean, self.f_mean = shared.path.x_mean, shared.path.f_mean[columns]

    @property
    def n_iter(self) -> int:
        return self._shared.path.n_iter

    def coef(self, alpha: float) -> np.ndarray:
        return self._shared.path.coef(alpha)[:, self._columns]

    def reduced(self, alpha: float) -> np.ndarray:
        return self._shared._reduce_bases(alpha)[self._columns, self._columns]

    def combine(self, alpha: float, column_mix: np.ndarray) -> np.ndarray:
        return self._shared._combine_columns(alpha, self._columns, column_mix)

    def residual(self, alpha: float) -> float:
        return self._shared.path.residual(alpha)

    def spectrum(self) -> tuple[np.ndarray, np.ndarray, Any]:
        path: Any = self._shared.path
        if not hasattr(path, "spectrum"):
            raise ValueError("MLSI needs all singular vectors of the rows: use solver='gram' or 'samples'.")
        s, target, basis = path.spectrum()
        return s, target[:, self._columns], basis


def projection_path(
    X: Any,
    y: Any,
    *,
    methods: Mapping[Any, LabelProjection] | None = None,
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
        Label indicator, or classes; shares and NaN as in the projections.
    methods : mapping of name to projection, default=None
        Projections with a label factor and an `alpha`, which is not used, nor is their `solver`.
        Methods with the same label factor share its right-hand sides: a whole grid of tradeoffs
        costs no more than one. None means `HypergraphSpectral` in all four expansions and both
        forms, named ``(expansion, form)``.
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
    >>> from hyperlabel import HOPLS, OPLS, projection_path
    >>> X, Y = make_multilabel_classification(n_samples=100, random_state=0)
    >>> methods = {"OPLS": OPLS(3)} | {t: HOPLS(3, tradeoff=t) for t in (0.1, 1.0)}
    >>> path = projection_path(X, Y, methods=methods, alphas=[0.1, 10.0])
    >>> [(m.name, m.alpha) for m in path][:3]
    [('OPLS', 0.1), (0.1, 0.1), (1.0, 0.1)]
    >>> spectral = projection_path(X, Y, alphas=[0.1, 1.0, 10.0])
    >>> len(spectral), spectral.model(("star", "exact"), 1.0).transform(X).shape
    (24, (100, 5))
    """
    alphas = [float(alpha) for alpha in alphas]
    if not alphas or not all(number(0).accepts(alpha) for alpha in alphas):
        raise ValueError("alphas must be one or more finite numbers of at least 0.")
    if methods is None:
        methods = {
            (expansion, form): HypergraphSpectral(expansion=expansion, form=form)
            for expansion in EXPANSIONS
            for form in FORMS
        }
    if not methods:
        raise ValueError("There is no method to solve for.")
    for method in methods.values():
        _check_method(method)
    X, Y, layout = check_fit(HypergraphSpectral(), X, y, min_samples=2)
    X, Y = known_part(X, Y)
    Y = fill_unknown(Y)
    bases = _Bases()
    prepared = {}
    for name, method in methods.items():
        label_factor = method._label_factor()
        edges = label_factor.edges(label_factor.edge_moments(Y, X), layout.label_names)
        base = label_factor.base(Y, edges)
        columns, gram = bases.add(base)
        prepared[name] = method, columns, label_factor.right(edges, gram, column_sums(base)), gram
    path = solve_ridge(X, bases.stacked(), alphas=alphas, solver=solver, tol=tol, max_iter=max_iter)
    shared = ProjectionPath(path, alphas)
    for name, (method, columns, factor_mix, gram) in prepared.items():
        shared._methods[name] = method, EigenProblem(_Columns(shared, columns), factor_mix, gram)
    return shared


def _check_method(method: Any) -> None:
    kind = type(method).__name__
    if not isinstance(method, LabelProjection):
        raise ValueError(f"A path takes projections with a label factor, such as OPLS, not {kind}.")
    check_params(method)
    if "alpha" not in method.get_params(deep=False) or method._refuses_blocks():
        raise ValueError(f"A path solves for every λ on the rows themselves; {kind} as given does not.")


class _Bases:
    """Right-hand sides of the path: the distinct bases of its methods, side by side."""

    def __init__(self) -> None:
        self._entries: list[tuple[sparse.csr_array, slice, np.ndarray]] = []

    def add(self, base: sparse.csr_array) -> tuple[slice, np.ndarray]:
        for stored_base, columns, gram in self._entries:
            if _same_factor(base, stored_base):
                return columns, gram
        start = self._entries[-1][1].stop if self._entries else 0
        self._entries.append((base, slice(start, start + base.shape[1]), centered_gram(base)))
        return self._entries[-1][1:]

    def stacked(self) -> sparse.csr_array:
        return sparse.hstack([base for base, _, _ in self._entries], format="csr")


def _same_factor(a: sparse.csr_array, b: sparse.csr_array) -> bool:
    if a is b or a.shape != b.shape:
        return a is b
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ("indptr", "indices", "data"))
