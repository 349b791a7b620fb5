"""Features of the labels themselves in `BinaryRelevance`: their names as rows, of labels without rows too.

The ridge is drawn to g·V (`solvers.ridge.label_prior`). Where n < d and coefficients over features would take
too much memory they stay in the space of samples, W = Xᵀ(dual_coef) + g·Vᵀ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from hyperlabel._base import place_constant_labels
from hyperlabel._missing_labels import constant_labels, label_counts
from hyperlabel._validation import TargetLayout, canonical_rows
from hyperlabel.moments.auto_params import decide_threshold
from hyperlabel.moments.cross_validate import ClosedFormCV, Folds, closed_form_cross_validation
from hyperlabel.moments.linear_map import Directions, LinearMap, signed_targets
from hyperlabel.solvers.arrays import as_dense
from hyperlabel.solvers.operators import row_products
from hyperlabel.solvers.ridge.evidence import krylov_alpha
from hyperlabel.solvers.ridge.factored import RidgeResult
from hyperlabel.solvers.ridge.label_blocks import SINGLE, SolvedBlock, solve_groups
from hyperlabel.solvers.ridge.label_prior import IterativePriorRidge, PriorRidge, ScaleSums
from hyperlabel.solvers.ridge.routes import (
    DENSE_LIMIT,
    RidgePath,
    RowsPath,
    alpha_of_labels,
    choose_route,
    gram_too_ill_conditioned,
    solve_auto,
    solve_ridge,
)

# Multiplications of an iterative solve per entry of X and label: about 15 products, three solves.
ITERATIVE_WORK = 180
# Coefficients over features of more bytes than these stay in the space of samples.
WIDE_BYTES = 2**27


def rows_by_name(label_features: Any) -> dict[str, Any] | None:
    """Return the rows of a mapping or of a frame by name; None where rows go by position."""
    if isinstance(label_features, Mapping):
        return {str(name): row for name, row in label_features.items()}
    if hasattr(label_features, "columns") and hasattr(label_features, "index"):
        values = label_features.to_numpy()
        return {str(name): row for name, row in zip(label_features.index, values, strict=True)}
    return None


def add_named_labels(
    Y: sparse.csr_array, layout: TargetLayout, label_features: Any
) -> tuple[sparse.csr_array, TargetLayout]:
    """Give labels that have features but no row a column, after those of y."""
    named_rows = rows_by_name(label_features)
    if named_rows is None:
        return Y, layout
    names = [str(name) for name in layout.label_names]
    if named_rows and not set(names) & set(named_rows):
        raise ValueError(
            f"label_features has none of the labels of y ({', '.join(names[:3])}, …): give y as lists of "
            "names or as a frame, with the same names."
        )
    new_names = [name for name in named_rows if name not in set(names)]
    if not new_names:
        return Y, layout
    Y = sparse.csr_array((Y.data, Y.indices, Y.indptr), shape=(Y.shape[0], len(names) + len(new_names)))
    all_names = np.array([*names, *new_names], dtype=object)
    return Y, replace(layout, classes=np.arange(len(all_names)), label_names=all_names)


def _stack_named_rows(named_rows: Any, names: list[str], n_features: int) -> Any:
    """Return the rows in the order of the labels, zeros where a label has none."""
    unknown = next((name for name in named_rows if name not in set(names)), None)
    if unknown is not None:
        raise ValueError(f"label_features names {unknown!r}, which is no label here: name it in classes.")
    blank = sparse.csr_array((1, n_features))
    rows = [sparse.csr_array(np.atleast_2d(_plain(named_rows[name]))) if name in named_rows else blank
            for name in names]  # fmt: skip
    wrong = next((row.shape[1] for row in rows if row.shape[1] != n_features), None)
    if wrong is not None:
        raise ValueError(f"A row of label_features has {wrong} features, X has {n_features}.")
    is_sparse = any(sparse.issparse(row) for row in named_rows.values())
    return sparse.vstack(rows, format="csr") if is_sparse else sparse.vstack(rows).toarray()


def read_label_features(label_features: Any, label_names: Any, n_features: int) -> Any:
    """Validate the features of labels; return them as k×d, one row a label, zeros where a name has none."""
    names = [str(name) for name in label_names]
    named_rows = rows_by_name(label_features)
    if named_rows is not None:
        values = _stack_named_rows(named_rows, names, n_features)
    else:
        values = label_features if sparse.issparse(label_features) else np.asarray(label_features)
    if values.shape != (len(names), n_features):
        raise ValueError(
            f"label_features has shape {values.shape}: it needs a row of the {n_features} features of X for "
            f"each of the {len(names)} labels."
        )
    if values.dtype.kind not in "biuf":
        raise ValueError(f"label_features must hold numbers, got {values.dtype}.")
    values = (
        canonical_rows(values.astype(np.float64)) if sparse.issparse(values) else values.astype(np.float64)
    )
    if not np.isfinite(values.data if sparse.issparse(values) else values).all():
        raise ValueError("label_features holds NaN or infinity: every label needs numbers, or zeros.")
    return values


def _plain(row: Any) -> Any:
    return row.toarray() if sparse.issparse(row) else np.asarray(row, dtype=np.float64)


def choose_named_route(X: Any, n_labels: int) -> str:
    """Return the route for these rows and labels: a factorisation serves many labels cheaply."""
    route = choose_route(X)
    size = min(X.shape)
    is_too_wide = 8 * X.shape[1] * n_labels > WIDE_BYTES
    is_cheap = sparse.issparse(X) and ITERATIVE_WORK * X.nnz * n_labels < 2 * size**3 and not is_too_wide
    if route != "krylov" or size > DENSE_LIMIT or is_cheap:
        return route
    return "gram" if X.shape[1] <= X.shape[0] else "samples"


class NamedSolution(NamedTuple):
    """The ridge around g·V: g, the route, and what gives it in blocks or in the space of samples."""

    scale: float
    route: str
    prior: PriorRidge | IterativePriorRidge

    def blocks(self, *, squares: bool) -> Iterator[SolvedBlock]:
        """Yield blocks of labels."""
        return self.prior.solve(self.scale, squares=squares)

    def squares(self) -> np.ndarray:
        """Return the summed squares of each label's scores around their mean, on the scale 0/1."""
        if isinstance(self.prior, PriorRidge) and self.prior.is_dual:
            return self.prior.squares(self.scale)
        return np.concatenate([block.squares for block in self.blocks(squares=True)])

    @property
    def is_too_wide(self) -> bool:
        """Whether coefficients over features should not be formed."""
        k, d = self.prior.V.shape
        return 8 * d * k > WIDE_BYTES and isinstance(self.prior, PriorRidge) and self.prior.is_dual

    def scores(self, X: Any, products: np.ndarray | None) -> np.ndarray:
        """Return the scores of rows; `products` are theirs with the rows of the fit, where they are known."""
        if products is None or not self.is_too_wide:
            return self.linear_map().scores(X)
        prior: Any = self.prior
        dual, root = prior.dual(self.scale), prior.path.rows.root
        row_scores = products @ (dual if root is None else root[:, None] * dual)
        row_scores += self.scale * as_dense(X @ prior.V.T) + self._intercept()
        return np.asarray(signed_targets(row_scores))

    def linear_map(self) -> LinearMap:
        """Return f(x) on the scale of targets ±1."""
        prior = self.prior
        if self.is_too_wide:
            assert isinstance(prior, PriorRidge)
            rows: Any = prior.path.rows  # type: ignore[union-attr]
            dual, intercept = prior.dual(self.scale), self._intercept()
            if rows.root is not None:
                dual = rows.root[:, None] * dual
            return sample_map(2.0 * dual, rows.X, 2.0 * self.scale * prior.V, signed_targets(intercept))
        blocks = list(prior.solve(self.scale, squares=False))
        coef = np.hstack([block.result.coef for block in blocks])
        return LinearMap.of_targets(coef, np.concatenate([block.result.intercept for block in blocks]))

    def _intercept(self) -> np.ndarray:
        """Return b = mean − x̄ᵀw, W = Xcᵀ(dual) + g·Vᵀ."""
        prior: Any = self.prior
        rows = prior.path.rows
        mean_codes = rows.matmat_mean(prior.dual(self.scale))
        return prior.means - mean_codes - self.scale * np.asarray(prior.V @ rows.mean)


def sample_map(dual: np.ndarray, X: Any, names: Any, intercept: np.ndarray) -> LinearMap:
    """Return f(x) = dualᵀXx + names·x + intercept without its coefficients over features."""
    basis = sparse.hstack([sparse.csr_array(X).T, sparse.csr_array(names).T], format="csc")
    readout = np.vstack([dual, np.eye(names.shape[0])])
    through = Directions(basis, np.zeros(basis.shape[1]), readout, intercept)
    return LinearMap(None, intercept, through)


def solve_named_sums(moments: Any, alpha: Any, V: Any, *, rows: Any = None) -> NamedSolution:
    """Solve the ridge around g·V from sums over rows."""
    path: Any = RidgePath(moments, alphas=() if alpha == "auto" else (alpha,))
    if alpha == "auto":
        alpha = alpha_of_labels(moments, path)
    if rows is not None and alpha == 0 and gram_too_ill_conditioned(path, rows[0].shape):
        path = RowsPath(rows[0], rows[1], sample_weight=rows[2])
    prior = PriorRidge(path, alpha, V, moments.sum_targets > 0)
    return NamedSolution(prior.sums.scale, path.solver, prior)


def solve_named_rows(
    X: Any,
    Y: sparse.csr_array,
    alpha: Any,
    V: Any,
    route: Any,
    *,
    sample_weight: Any,
    tol: float,
    products: np.ndarray | None = None,
) -> NamedSolution:
    """Solve the ridge around g·V without sums over rows; `products` are XXᵀ, where it is known.

    A `route` of None is chosen here.
    """
    route = route or choose_named_route(X, Y.shape[1])
    prior: PriorRidge | IterativePriorRidge
    if route == "krylov":
        if alpha == "auto":
            alpha = krylov_alpha(X, Y, sample_weight)
        if not sparse.issparse(X) or alpha <= 0:
            raise ValueError(
                "label_features with solver='krylov' need sparse X and alpha above 0: take solver='auto'."
            )
        dtype = np.float32 if tol >= SINGLE else np.float64
        prior = IterativePriorRidge(X, Y, V, alpha, sample_weight=sample_weight, tol=tol, dtype=dtype)
        return NamedSolution(prior.sums.scale, "krylov", prior)
    options: Any = {"solver": route, "sample_weight": sample_weight, "products": products}
    path: Any
    if alpha == "auto":
        path, alpha = solve_auto(X, Y, **options)
    else:
        path = solve_ridge(X, Y, alphas=(alpha,), **options)
    counts = np.asarray(Y.sum(axis=0)) if sample_weight is None else np.asarray(sample_weight @ Y)
    prior = PriorRidge(path, alpha, V, counts > 0)
    return NamedSolution(prior.sums.scale, path.solver, prior)


def solve_named_groups(groups: Any, alpha: Any, V: Any, *, squares: bool) -> tuple[SolvedBlock, float]:
    """Solve the ridge around g·V of labels that are known in different rows; return it and g."""
    (k, d), alpha = V.shape, groups.choose() if alpha == "auto" else alpha
    if 8 * d * k > WIDE_BYTES:
        raise ValueError(
            f"{d} features of {k} labels are too many for rows of which some labels are unknown: name all."
        )
    priors = [
        (labels, PriorRidge(path, alpha, V[labels], groups.counts[labels] > 0))
        for labels, path in groups._iter_paths((alpha,))
    ]
    sums = ScaleSums(0.0, 0.0)
    for _, prior in priors:
        sums = sums.plus(prior.sums)
    coef = sums.scale * as_dense(V).T  # all there is of labels of which no row is known
    shares = groups.counts[groups.known > 0] / groups.known[groups.known > 0]
    intercept, residual = shares.mean() - groups.x_mean @ coef, 0.0
    for labels, prior in priors:
        blocks = [block.result for block in prior.solve(sums.scale)]
        coef[:, labels] = np.hstack([block.coef for block in blocks])
        intercept[labels] = np.concatenate([block.intercept for block in blocks])
        residual = max(residual, *(block.residual for block in blocks))
    groups._results[alpha] = RidgeResult(coef, intercept, residual)
    return solve_groups(groups, alpha, squares=squares), sums.scale


def score_held_out(X: Any, Y: sparse.csr_array, V: Any, alpha: float, train: Any, test: Any) -> np.ndarray:
    """Return the scores of validated rows `test` by the ridge around g·V of the rows `train`."""
    solution = solve_named_rows(X[train], Y[train], alpha, V, None, sample_weight=None, tol=SINGLE)
    return solution.linear_map().scores(X[test])


def cross_validate_named(
    X: Any,
    Y: sparse.csr_array,
    layout: TargetLayout,
    V: Any,
    cv: Any,
    alphas: list[Any],
    scorer: Any,
    route: Any,
    sample_weight: np.ndarray | None,
    groups: Any,
    threshold: Any,
    tol: float,
) -> tuple[ClosedFormCV, Any]:
    """Cross-validate the ridge around g·V, with g of each fold's own; also return the sums of all rows.

    A label without a row in a training fold is scored by its features there, as it would be later.
    """
    folds = Folds(X, Y, cv, groups=groups, sample_weight=sample_weight, summed=route == "gram")
    products = row_products(X) if route == "samples" and sparse.issparse(X) else None

    def fold_scores(setting: dict[str, Any]) -> Iterator[np.ndarray]:
        alpha = setting["alpha"]
        for train, test, moments in folds:
            train_weights = None if sample_weight is None else sample_weight[train]
            counts, weight = label_counts(Y[train], train_weights)
            test_products = None if products is None else products[np.ix_(test, train)]
            if moments is not None:
                solution = solve_named_sums(moments, alpha, V)
            else:
                train_products = None if products is None else products[np.ix_(train, train)]
                options: Any = {"sample_weight": train_weights, "tol": tol, "products": train_products}
                solution = solve_named_rows(X[train], Y[train], alpha, V, route, **options)
            fold_threshold = decide_threshold(
                threshold, layout.kind, counts / weight, solution.squares, counts, weight
            )
            constant = np.where(counts > 0, constant_labels(counts, weight), 0)
            yield place_constant_labels(solution.scores(X[test], test_products) - fold_threshold, constant)

    settings = [{"alpha": alpha} for alpha in alphas]
    return closed_form_cross_validation(X, Y, layout, folds, settings, fold_scores, scorer), folds.total


class NamedLabels:
    """What `BinaryRelevance` does with `label_features`; without them nothing changes."""

    def _add_named_labels(self: Any, Y: sparse.csr_array) -> sparse.csr_array:
        """Give labels that have features, but no row in y, a column; a column of nothing but NaN is one."""
        is_unknown = np.bincount(Y.indices[np.isnan(Y.data)], minlength=Y.shape[1]) == Y.shape[0]
        if is_unknown.any():
            Y = Y.copy()
            Y.data[is_unknown[Y.indices]] = 0.0
            Y.eliminate_zeros()
        Y, layout = add_named_labels(Y, self._layout, self.label_features)
        self._set_targets(layout, counts=np.ones(Y.shape[1]), n_rows=Y.shape[0])
        self._get_label_features()
        return Y

    def _get_label_features(self: Any) -> Any:
        """Return the features of the labels, k×d, or None; they are validated once a fit."""
        if self.label_features is None:
            return None
        if not self._is_ridge():
            raise ValueError(
                "label_features are a prior of the shared ridge: leave estimator=None and loss='squared'."
            )
        if self._layout.kind != "multilabel" or (isinstance(self.cv, str) and self.cv == "loo"):
            raise ValueError("label_features need label sets (not 1-D y), and folds (not cv='loo').")
        if not hasattr(self, "label_features_"):
            self.label_features_ = read_label_features(
                self.label_features, self.label_names_, self.n_features_in_
            )
        return self.label_features_

    def _set_named(self: Any, solution: NamedSolution, counts: np.ndarray, weight: Any) -> None:
        """Set the fitted attributes from the ridge around the features of the labels."""
        self.label_scale_, self._by_name_alone = solution.scale, counts <= 0
        squares = isinstance(self._threshold_rule(), str)
        for name in ("dual_coef_", "samples_", "coef_"):
            self.__dict__.pop(name, None)
        if solution.is_too_wide and self.max_nonzero_coefs is None:
            prior: Any = solution.prior
            named_map: Any = solution.linear_map()
            self.dual_coef_ = named_map.through.readout[: prior.path.rows.shape[0]]
            self.samples_ = prior.path.rows.X
            self.alpha_, self.residual_ = prior.alpha, prior.path.residual(prior.alpha)
            self.solver_ = solution.route
            label_squares = [prior.squares(solution.scale)]
            self._set_threshold(named_map.intercept, label_squares, None, counts, weight)
        else:
            self._set_coef(solution.blocks(squares=squares), solution.route, counts, weight)
        self._constant = np.where(counts > 0, constant_labels(counts, weight), 0).astype(np.int8)

    def _set_named_groups(self: Any, groups: Any, label_features: Any) -> None:
        """Set the fitted attributes where some labels of some rows are unknown."""
        squares = isinstance(self._threshold_rule(), str)
        block, scale = solve_named_groups(groups, self.alpha_, label_features, squares=squares)
        self.label_scale_, self._by_name_alone = scale, groups.counts <= 0
        named_intercept = signed_targets(block.result.intercept)
        self._set_coef([block], "gram", groups.counts, groups.known)
        unknown = groups.known <= 0
        self.intercept_[unknown] = named_intercept[unknown] - self.threshold_
        self._constant = np.where(groups.counts > 0, self._constant, 0).astype(np.int8)

    def _choose_route(self: Any, X: Any) -> str:
        if self.solver != "auto":
            return str(self.solver)
        named = self.label_features is not None
        return choose_named_route(X, self._layout.n_columns) if named else choose_route(X)

    def _follow_labels(self: Any, kept: list[int], added: list[str]) -> None:
        """Let the features of labels follow their columns: those kept, and then the added ones."""
        if self.label_features is None:
            return
        # an added label has features where a mapping names it; by position it has none
        named_rows = rows_by_name(self.label_features) or {}
        blank = sparse.csr_array((1, self.n_features_in_))
        added_rows = [sparse.csr_array(named_rows.get(name, blank)).reshape(1, -1) for name in added]
        stacked = sparse.vstack([sparse.csr_array(self.label_features_)[kept], *added_rows])
        is_sparse = sparse.issparse(self.label_features_)
        self.label_features_ = stacked.tocsr() if is_sparse else stacked.toarray()

    def _check_same_labels(self: Any, other: Any) -> None:
        """Refuse to merge a model that was told something else of its labels."""
        own, others = self._get_label_features(), other._get_label_features()
        if (own is None) != (others is None) or (own is not None and abs(own - others).max() > 0):
            raise ValueError("The two models do not have the same label_features: fit both with the same.")
