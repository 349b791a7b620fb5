"""Ridge around what a label's own features say: its name as a row, times one number for all labels.

Minimise ‖Xc wⱼ − yⱼ‖² + λ‖wⱼ − g·vⱼ‖², vⱼ the features of label j (its name as a text, say). With
A = XcᵀXc and the plain ridge W = (A + λI)⁻¹XcᵀYc the solution is

    W + g·S,   S = λ(A + λI)⁻¹Vᵀ = Vᵀ − W_V,   W_V = (A + λI)⁻¹AVᵀ:

W_V is the ridge on the targets XVᵀ, so that each route solves it with the factorisation it has. Under
wⱼ ~ N(g·vⱼ, τ²I) the evidence is quadratic in g, and its maximum is a ratio of sums over labels,

    g = Σⱼ vⱼᵀwⱼ / Σⱼ vⱼᵀ(vⱼ − sⱼ),

no less than 0: a name does not speak against its label. A label without rows adds nothing to either sum. All
it has is its name: wⱼ = g·vⱼ, around the mean share of the labels that have rows.

code      meaning                                shape
V         features of the labels                 k×d
W, S      plain ridge, λ(A + λI)⁻¹Vᵀ             d×k
scale     g                                      –
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hyperlabel.solvers.arrays import as_dense
from hyperlabel.solvers.operators import CenteredRows, weighted_row_mean
from hyperlabel.solvers.ridge.conjugate_gradients import ConjugateRidge
from hyperlabel.solvers.ridge.factored import RidgePath, RidgeResult, SamplePath
from hyperlabel.solvers.ridge.from_rows import RowsPath
from hyperlabel.solvers.ridge.label_blocks import SolvedBlock

SCALE_LABELS = 512  # labels that g is read off where each costs an iterative solve
BLOCK_LABELS = 128


class ScaleSums(NamedTuple):
    """What g is the ratio of; they add over labels."""

    agreement: float  # Σ vᵀw
    strength: float  # Σ vᵀ(v − s)

    def plus(self, other: "ScaleSums") -> "ScaleSums":
        """Return the sums over the labels of both."""
        return ScaleSums(self.agreement + other.agreement, self.strength + other.strength)

    @property
    def scale(self) -> float:
        """g: at its maximum of the evidence, 0 where names and labels do not agree."""
        return max(self.agreement / self.strength, 0.0) if self.strength > 0 else 0.0


class PriorRidge:
    """The ridge of some labels, and that on the scores of their names: all that a prior of any g needs.

    `has_rows` says which labels have a row at all; the others get g·v.
    """

    def __init__(
        self, path: RidgePath | SamplePath | RowsPath, alpha: float, V: Any, has_rows: np.ndarray
    ) -> None:
        self.path, self.alpha, self.V, self.has_rows = path, alpha, V, has_rows
        self._name_dual: np.ndarray | None = None
        if isinstance(path, SamplePath):
            if path.rows is None:
                raise ValueError("A path over a kernel has no features that a name could be a row of.")
            targets = center_products(path.rows, V)
            self._name_dual = path.apply_inverse(alpha, targets)
            plain, fitted_names, self._name_scores = path.dual(alpha), self._name_dual, targets
        else:
            targets = as_dense(V).T
            self._fitted_names = path.project_rows(alpha, targets)
            plain, fitted_names = path.coef(alpha), self._fitted_names
        known = np.flatnonzero(has_rows)
        self.sums = ScaleSums(
            float(np.einsum("ij,ij->", targets[:, known], plain[:, known])),
            float(np.einsum("ij,ij->", targets[:, known], fitted_names[:, known])),
        )

    def solve(self, scale: float, *, squares: bool = False) -> Iterator[SolvedBlock]:
        """Yield the ridge around scale·V, a block of labels at a time."""
        path, n_labels = self.path, self.V.shape[0]
        block_width = n_labels if self._name_dual is None else BLOCK_LABELS
        residual, means = path.residual(self.alpha), self.means
        plain_squares = path.fitted_squares(self.alpha) if squares and self._name_dual is None else None
        for first_label in range(0, n_labels, block_width):
            labels = slice(first_label, first_label + block_width)
            label_rows, has_rows = as_dense(self.V[labels]).T, self.has_rows[labels]
            block_squares = None
            if self._name_dual is not None:
                dual = self.dual(scale, labels)
                coef = path.rows.rmatmat(np.ascontiguousarray(dual)) + scale * label_rows  # type: ignore[union-attr]
                block_squares = self.squares(scale, labels) if squares else None
            else:
                plain, fitted_names = path.coef(self.alpha)[:, labels], self._fitted_names[:, labels]
                shrunk = label_rows - fitted_names
                coef = plain + scale * shrunk
                coef[:, ~has_rows] = scale * label_rows[:, ~has_rows]
                if plain_squares is not None:  # AW + gAS is known: AS = λW_V
                    block_squares = plain_squares[labels] + self.alpha * (
                        2 * scale * np.einsum("ij,ij->j", plain, fitted_names)
                        + scale**2 * np.einsum("ij,ij->j", shrunk, fitted_names)
                    )
                    block_squares = np.maximum(block_squares, 0.0)
            result = RidgeResult(coef, means[labels] - path.x_mean @ coef, residual)
            yield SolvedBlock(result, path.x_mean, self.alpha, block_squares)

    @property
    def means(self) -> np.ndarray:
        """The mean score of each label on the scale 0/1: of one without rows, the mean of the others."""
        return np.where(self.has_rows, self.path.f_mean, mean_share(self.path.f_mean, self.has_rows))

    # -- in the space of samples: W = Xcᵀ(dual) + scale·Vᵀ, never formed ------------------------------

    @property
    def is_dual(self) -> bool:
        """Whether the route has coefficients over samples."""
        return self._name_dual is not None

    def dual(self, scale: float, labels: slice = slice(None)) -> np.ndarray:
        """Return the coefficients over samples, n×m; 0 for labels without rows."""
        path: Any = self.path
        assert self._name_dual is not None
        dual = path.dual(self.alpha)[:, labels] - scale * self._name_dual[:, labels]
        dual[:, ~self.has_rows[labels]] = 0.0
        return dual

    def squares(self, scale: float, labels: slice = slice(None)) -> np.ndarray:
        """Return ‖XcW‖² of each label with rows; XcW is Fc − λ(dual)."""
        path: Any = self.path
        if self.alpha > 0:
            fitted = path.Fc[:, labels] - self.alpha * self.dual(scale, labels)
        else:
            fitted = path.A @ self.dual(scale, labels) + scale * self._name_scores[:, labels]
        return np.einsum("ij,ij->j", fitted, fitted)


def mean_share(label_means: np.ndarray, has_rows: np.ndarray) -> float:
    """Return the mean share of rows of the labels that have some."""
    return float(label_means[has_rows].mean()) if has_rows.any() else 0.0


def center_products(rows: CenteredRows, V: Any) -> np.ndarray:
    """Return XcVᵀ, the scores of the names on the rows (n×k)."""
    name_scores = as_dense(rows.X @ V.T).astype(np.float64)
    name_scores -= np.asarray(V @ rows.mean)
    if rows.root is not None:
        name_scores *= rows.root[:, None]
    return name_scores


class IterativePriorRidge:
    """The same without a factorisation, by conjugate gradients: sparse rows, wide and tall.

    g is read off at most `SCALE_LABELS` labels, evenly spaced among those with rows.
    """

    def __init__(
        self,
        X: sparse.csr_array,
        Y: sparse.csr_array,
        V: Any,
        alpha: float,
        *,
        sample_weight: np.ndarray | None = None,
        tol: float,
        dtype: Any = np.float64,
    ) -> None:
        self.X, self.Y, self.V, self.tol = X, sparse.csc_array(Y), sparse.csr_array(V), tol
        self.ridge = ConjugateRidge(X, alpha, sample_weight=sample_weight, dtype=dtype)
        self.label_means = weighted_row_mean(Y, sample_weight)
        self.has_rows = self.label_means > 0
        known = np.flatnonzero(self.has_rows)
        spread = np.linspace(0, len(known) - 1, min(len(known), SCALE_LABELS)).astype(int)
        self.sums = ScaleSums(0.0, 0.0)
        for first_label in range(0, len(spread), BLOCK_LABELS):
            labels = known[spread[first_label : first_label + BLOCK_LABELS]]
            label_rows = as_dense(self.V[labels]).T
            agreement, strength = (
                float(np.vdot(label_rows, self._solve(targets).coef))
                for targets in (self.Y[:, labels], X @ self.V[labels].T)
            )
            self.sums = self.sums.plus(ScaleSums(agreement, strength))

    def _solve(self, targets: Any) -> RidgeResult:
        return self.ridge.solve(sparse.csr_array(targets), tol=self.tol)[0]

    def solve(self, scale: float, *, squares: bool = False) -> Iterator[SolvedBlock]:
        """Yield the ridge around scale·V, a block of labels at a time."""
        row_mean, label_share = self.ridge.x_mean, mean_share(self.label_means, self.has_rows)
        for first_label in range(0, self.V.shape[0], BLOCK_LABELS):
            labels = slice(first_label, first_label + BLOCK_LABELS)
            label_rows, has_rows = as_dense(self.V[labels]).T, self.has_rows[labels]
            # around g·V: the plain ridge on what the names leave of the targets, and the names again
            result = self._solve(self.Y[:, labels] - scale * (self.X @ self.V[labels].T))
            coef = result.coef + (scale * label_rows).astype(result.coef.dtype)
            coef[:, ~has_rows] = scale * label_rows[:, ~has_rows]
            means = np.where(has_rows, self.label_means[labels], label_share)
            block_squares = None
            if squares:
                block_squares = self.ridge.weight @ (as_dense(self.X @ coef) - row_mean @ coef) ** 2
            intercept = means - row_mean @ coef
            result = replace(result, coef=coef, intercept=intercept)
            yield SolvedBlock(result, row_mean, self.ridge.alpha, block_squares)
