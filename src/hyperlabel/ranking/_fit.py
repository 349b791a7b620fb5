"""One fit of a ranking estimator: data prepared once, solved for any C and λ, read back as a model."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from hyperlabel._missing_labels import fill_unknown, split_missing
from hyperlabel._validation import per_label_values
from hyperlabel.decision import set_size_targets
from hyperlabel.geometry import LabelHypergraph
from hyperlabel.geometry.kernels import KernelRows
from hyperlabel.solvers.arrays import BLOCK_BYTES
from hyperlabel.solvers.rank.problem import RankProblem, RankResult, count_relevant, rank_memory
from hyperlabel.solvers.rank.row_space import RowSpace, ScaledProblem, kernel_space
from hyperlabel.solvers.rank.scaling import FeatureScaling
from hyperlabel.solvers.rank.svr import GRAM_FEATURES, solve_svr

MAX_ITER = {"dcd": 1000, "frank-wolfe": 20_000}


@dataclass(frozen=True, eq=False)
class Solved:
    """A certified ranking and its threshold, on the user's features (or on training rows)."""

    result: RankResult
    coef: np.ndarray
    intercept: np.ndarray
    label_set_size_coef: np.ndarray
    label_set_size_intercept: float
    set_size_regressor: Any = None


class RankFit:
    """Rows, labels and geometry of one fit; `solve` may be called for many C and λ."""

    def __init__(
        self,
        model: Any,
        X: Any,
        Y: sparse.csr_array,
        weights: np.ndarray | None,
        known: tuple[sparse.csr_array, sparse.csr_array | None] | None = None,
    ) -> None:
        self.options = solver_options(model)
        max_iter = model.max_iter or MAX_ITER[model.solver]
        self.limits = {"tol": model.tol, "max_iter": max_iter, **self.options}
        if model.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"A precomputed kernel must be square, got {X.shape[0]}×{X.shape[1]}: "
                "pass k(xᵢ, xⱼ) of the training rows."
            )
        self.model, self.X, self.Y, self.weights = model, X, Y, weights
        self.single = Y.shape[1] == 1  # one column has no pairs: rank it against its absence
        self.labels = sparse.csr_array(sparse.hstack([1 - Y.toarray(), Y])) if self.single else Y
        self._posed: Any = None
        self.known_labels, self.missing = known or split_missing(self.labels)
        self.sized = not self.single and model._layout.kind == "multilabel"
        self.cost = _label_costs(
            model.label_cost, self.known_labels, weights, model.label_names_, self.single
        )

    @cached_property
    def scaling(self) -> FeatureScaling:
        """The scaling of the features."""
        mode = "none" if self.model.kernel == "precomputed" else self.model.scaling
        return FeatureScaling.fit(self.X, mode, self.weights)

    @cached_property
    def kernel(self) -> KernelRows | None:
        """The kernel with the training rows: scaled, not centred (which would fill sparse rows)."""
        kernel = self.model.kernel
        if kernel == "linear":
            return None
        if kernel == "precomputed":
            return KernelRows(kernel)
        rows, params = self.scaling.rows(self.X, center=False), _kernel_parameters(self)
        return KernelRows(kernel, params, rows, scale=self.scaling.scale, lenient=True)

    @cached_property
    def plain(self) -> RowSpace:
        """Rows for λ = 0."""
        if self.kernel is None:
            rows = self.scaling.rows(self.X)
            return RowSpace(rows, self.scaling.shift if sparse.issparse(rows) else np.zeros(rows.shape[1]))
        return kernel_space(self._kernel_matrix())

    @cached_property
    def full(self) -> RowSpace:
        """Dense rows for λ > 0: features when they are fewer than the rows, else the kernel form."""
        if self.kernel is not None:
            return self.plain
        if self.X.shape[1] <= self.X.shape[0] and not sparse.issparse(self.X):
            return self.plain
        rows = self.scaling.rows(self.X.toarray() if sparse.issparse(self.X) else self.X)
        if rows.shape[1] <= rows.shape[0]:
            return RowSpace(rows, np.zeros(rows.shape[1]))
        return kernel_space(rows @ rows.T)

    @cached_property
    def hyperedges(self) -> LabelHypergraph:
        """The hypergraph of the labels, unknown ones filled, its weights measured on the scaled rows."""
        return LabelHypergraph(
            fill_unknown(self.labels),
            self.full.rows,
            weights=self.model.edge_weights,
            nu=self.model.nu,
            label_names=self.model.label_names_,
            sample_weight=self.weights,
        )

    @cached_property
    def form(self) -> np.ndarray:
        """XᵀLX, scaled as asked for."""
        is_normalized = self.model.laplacian == "normalized"
        form = self.hyperedges.quadratic_form(self.full.rows, normalized=is_normalized)
        # Counted in features also in the kernel form, so that the choice of form changes nothing.
        mean = np.trace(form) / (len(form) if self.kernel is not None else self.X.shape[1])
        return form / mean if self.model.scale == "trace" and mean > 0 else form

    def solve(
        self,
        C: float,
        weight: float,
        alpha: np.ndarray | None = None,
        report_epoch: Callable[[], bool] | None = None,
    ) -> Solved:
        """Solve for one C and one λ, from given duals; then learn the threshold, if label sets are wanted.

        `report_epoch` is called after each epoch and may say that it shall be the last.
        """
        posed, seed = self.pose(weight), check_random_state(self.model.random_state)
        limits = self.limits if report_epoch is None else {**self.limits, "report_epoch": report_epoch}
        result = posed.solve(self.model.solver, alpha, seed, C=C, **limits)
        w, b, set_size_regressor = None, 0.0, None
        if self.sized and self.model.set_size_regressor is not None:
            fit_params = {} if self.weights is None else {"sample_weight": self.weights}
            set_size_regressor = clone(self.model.set_size_regressor)
            set_size_regressor.fit(self.X, self._set_size_targets(posed.problem, result), **fit_params)
        elif self.sized:
            size_targets = self._set_size_targets(posed.problem, result)
            size_fit = solve_svr(posed.space.rows, size_targets, sample_weight=self.weights)
            w, b = size_fit.w, size_fit.b + float(posed.space.shift @ size_fit.w)
        coef, intercept = posed.read_back(result, w, b)
        return Solved(result, coef[:-1], intercept[:-1], coef[-1], float(intercept[-1]), set_size_regressor)

    def pose(self, weight: float) -> ScaledProblem:
        """Return rows, factor and pairs for one λ; kept for the λ last asked for."""
        if self._posed is None or self._posed[0] != weight:
            space, form = (self.full, self.form) if weight > 0 else (self.plain, None)
            scaling = self.scaling if self.kernel is None else None
            costs = {"sample_weight": self.weights, "label_cost": self.cost}
            self._posed = (
                weight,
                ScaledProblem.build(
                    space,
                    self.labels,
                    self.X,
                    scaling,
                    is_single=self.single,
                    form=form,
                    weight=weight,
                    **costs,
                ),
            )
        return self._posed[1]

    def _set_size_targets(self, problem: RankProblem, result: RankResult) -> np.ndarray:
        targets = np.empty(self.Y.shape[0])
        for rows in problem.blocks():
            targets[rows] = set_size_targets(problem.scores(rows, result.W, result.b), self.Y[rows])
        return targets

    def _kernel_matrix(self) -> np.ndarray:
        if self.model.kernel == "precomputed":
            return self.X.toarray() if sparse.issparse(self.X) else np.array(self.X, dtype=np.float64)
        assert self.kernel is not None
        return self.kernel.basis_kernel()


def estimate_fit_memory(model: Any, X: Any, Y: sparse.csr_array, weight: float) -> int:
    """Bytes of one fit beyond X and y; the choice of C keeps rows and duals of its own."""
    return _estimate_memory(model, X, Y, weight) * (2 if model.C == "auto" else 1)


def _estimate_memory(model: Any, X: Any, Y: sparse.csr_array, weight: float) -> int:
    n, d = X.shape
    n_labels, dual_dtype = max(Y.shape[1], 2), solver_options(model)["dual_dtype"]
    n_relevant, n_irrelevant = count_relevant(Y)
    n_pairs = int((n_relevant * n_irrelevant).sum()) if Y.shape[1] > 1 else n
    n_pairs = n_pairs if model.solver == "dcd" else 0
    if model.kernel != "linear" or (weight > 0 and d > n):
        row_bytes = 8 * n * (d if model.kernel == "linear" else 0)  # scaled, to form the kernel
        row_bytes += 8 * n * n * (5 if weight > 0 else 3)  # eigenvectors, Φ, lift; XᵀLX and G
        d = n
    elif sparse.issparse(X) and weight == 0:
        svr_bytes = 12 * X.nnz + 20 * d * d if d <= GRAM_FEATURES else 20 * X.nnz
        return 8 * X.nnz + svr_bytes + rank_memory(n, d, n_labels, n_pairs, dual_dtype)
    else:
        n_squares = 4 if weight > 0 else 2 if d <= GRAM_FEATURES else 0
        row_bytes = 8 * n * d * (3 if weight > 0 else 1) + 8 * d * d * n_squares
    svr_bytes = 8 * n * d  # rows outside the tube, and a block of them centred
    svr_bytes += min(8 * n * d, BLOCK_BYTES) if d <= GRAM_FEATURES else 0
    return row_bytes + rank_memory(n, d, n_labels, n_pairs, dual_dtype) + svr_bytes


def refuse_if_too_large(model: Any, X: Any, Y: sparse.csr_array, weight: float) -> None:
    """Say before the fit, in one sentence, that it would not fit and what would."""
    needed_bytes = estimate_fit_memory(model, X, Y, weight)
    if needed_bytes <= model.memory_limit:
        return
    if model.kernel != "linear":
        advice = "use fewer rows or kernel='linear'"
    elif weight > 0:
        advice = "reduce the features first, set hypergraph_weight=0"
    else:
        advice = "use solver_options={'dual_dtype': 'float32'} or solver='frank-wolfe' (which keeps no duals)"
    if model.C == "auto":
        advice = f"set C, whose choice takes half of it, {advice}"
    raise ValueError(
        f"{type(model).__name__} would need about {needed_bytes / 2**30:.2f} GiB for {X.shape[0]} rows, "
        f"{X.shape[1]} features and {Y.shape[1]} labels, more than memory_limit allows "
        f"({model.memory_limit / 2**30:.2f} GiB): {advice}, or raise memory_limit."
    )


def solver_options(model: Any) -> dict[str, Any]:
    """Return `solver_options` with its defaults; refuse what no solver knows."""
    options = {"trace": False, "dual_dtype": "float64"} | dict(model.solver_options or {})
    unknown_options = options.keys() - {"trace", "dual_dtype"}
    if unknown_options:
        raise ValueError(
            f"solver_options knows trace and dual_dtype, not {', '.join(sorted(unknown_options))}."
        )
    if str(options["dual_dtype"]) not in ("float64", "float32"):
        raise ValueError(f"dual_dtype must be 'float64' or 'float32', got {options['dual_dtype']!r}.")
    return options


def _label_costs(
    spec: Any, labels: sparse.csr_array, weights: np.ndarray | None, names: np.ndarray, single: bool
) -> np.ndarray | None:
    """Per-label costs c; "balanced" has mean 1 over the positive entries."""
    if spec is None:
        return None
    k = labels.shape[1]
    if isinstance(spec, str):
        if spec != "balanced":
            raise ValueError(
                f"label_cost must be 'balanced', one number per label or a mapping, got {spec!r}."
            )
        counts = np.asarray(labels.sum(axis=0)).ravel() if weights is None else labels.T @ weights
        has_positives = counts > 0
        mean_count = counts.sum() / max(has_positives.sum(), 1)
        return np.divide(mean_count, counts, out=np.ones(k), where=has_positives)
    cost = per_label_values(spec, 1 if single else k, names, name="label_cost")
    return np.append(1.0, cost) if single else cost


def _kernel_parameters(fit: RankFit) -> dict[str, Any]:
    gamma = fit.model.gamma
    if gamma == "scale":  # scaled rows have total variance 1
        is_unscaled = fit.model.scaling == "none"
        gamma = float(FeatureScaling.fit(fit.X, "norm", fit.weights).scale[0] ** 2) if is_unscaled else 1.0
    return {"gamma": gamma, "degree": fit.model.degree, "coef0": fit.model.coef0}
