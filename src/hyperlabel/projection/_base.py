"""What the projections share: validation, the one problem and its solution, the transform, cross-fitting,
sums.

A supervised projection says which label factor it uses (`_label_factor`), and nothing else unless it differs:
another reading of the solved problem (`_eigenvectors`), another constraint (`_ridge_penalty`), rows through
a kernel (`_kernel_rows`). The projection of a row x is Wᵀ(x − μ). W is stored as `components_` = Wᵀ and
centring is applied to the n×c result, so that sparse rows stay sparse.
"""

from abc import abstractmethod
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from hyperlabel._base import DocumentedEstimator
from hyperlabel._known_labels import encode_like
from hyperlabel._missing_labels import fill_unknown, known_part, refuse_unknown_in_sums
from hyperlabel._params import NONE, Rule, number, one_of, whole
from hyperlabel._sklearn_compat import safe_split
from hyperlabel._validation import TargetLayout, check_features, check_fit
from hyperlabel.geometry.edges import EdgeMoments
from hyperlabel.geometry.factor import LabelFactor
from hyperlabel.geometry.kernels import KernelRows
from hyperlabel.moments.auto_params import ALPHA, Auto
from hyperlabel.moments.cross_validate import Folds
from hyperlabel.moments.model import ScanningModel
from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.spectral.label_eigenproblem import (
    MAX_MOMENT_FEATURES,
    EigenProblem,
    build_problem,
    build_problem_from_moments,
    procrustes_rotation,
)

NORMALIZE = one_of("metric", "unit")


class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DocumentedEstimator):
    """A linear map of (possibly kernelised) rows, centred."""

    components_: np.ndarray
    eigenvalues_: np.ndarray
    mean_: np.ndarray
    kernel_: KernelRows | None = None
    normalize: str
    _fitted_shapes: ClassVar[dict[str, str]] = {"components_": "m w", "eigenvalues_": "m", "mean_": "w"}

    def transform(self, X: Any) -> np.ndarray:
        """Project rows, n×d, onto the components, n×c."""
        check_is_fitted(self)
        return self._project(check_features(self, X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def _project(self, X: Any) -> np.ndarray:
        rows = X if self.kernel_ is None else self.kernel_.rows(X)
        W = self.components_.T
        Z = np.asarray(rows @ W)
        Z -= (self.mean_ @ W.astype(np.float64)).astype(Z.dtype)
        return Z.astype(W.dtype, copy=False)

    def _scale_directions(self, W: np.ndarray) -> np.ndarray:
        """Return directions as long as the constraint makes them, or of length 1."""
        return W if self.normalize == "metric" else W / np.linalg.norm(W, axis=0)

    def _set_components(self, values: np.ndarray, W: np.ndarray, mean: np.ndarray, dtype: np.dtype) -> None:
        if not W.shape[1]:
            raise ValueError(
                "There is nothing to project on: the labels are constant over these rows, "
                "or the features do not vary with them."
            )
        self.components_ = np.ascontiguousarray(self._scale_directions(W).T.astype(dtype))
        self.eigenvalues_, self.mean_, self.n_components_ = values, mean, W.shape[1]


@dataclass(eq=False, repr=False)
class LabelProjection(ScanningModel, Projection):
    """Base of the supervised projections; see the module docstring."""

    n_components: int | None = None
    _: KW_ONLY
    alpha: float | Auto = field(init=False)  # of those that have one
    solver: str = "auto"
    cross_fit: Any = False
    normalize: str = "metric"
    kernel: Any = field(init=False, default="linear")  # these four of those that take one
    kernel_params: dict[str, Any] | None = field(init=False, default=None)
    n_landmarks: int | None = field(init=False, default=None)
    random_state: Any = field(init=False, default=None)
    _rules: ClassVar[dict[str, Rule]] = {
        "n_components": whole(1) | NONE,
        "alpha": ALPHA,
        "solver": one_of("auto", "gram", "samples", "krylov", "lsqr"),
        "tol": number(above=0),
        "max_iter": whole(1),
        "normalize": NORMALIZE,
        "n_landmarks": whole(1) | NONE,
    }
    _accepts_soft_targets = True
    _keeps_target_gram = True
    _dtype = np.dtype(np.float64)  # of the components; that of X after `fit`

    @property
    def _accepts_missing_labels(self) -> bool:
        return not self._is_precomputed()  # rows that are left out would still be columns of the kernel

    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    # -- what a method says -------------------------------------------------------------------------

    @abstractmethod
    def _label_factor(self) -> LabelFactor:
        """Return the label factor."""

    def _ridge_penalty(self) -> float | Auto | None:
        """Return λ of the constraint Wᵀ(XcᵀXc + λI)W = I, or None for WᵀW = I."""
        return self.alpha

    def _known_alphas(self, *others: float) -> tuple[float, ...] | None:
        """Return the λ that are known before the problem is posed, or None for WᵀW = I."""
        ridge = self._ridge_penalty()
        return None if ridge is None else others if isinstance(ridge, str) else (*others, float(ridge))

    def _eigenvectors(self, problem: EigenProblem, alpha: float) -> tuple[np.ndarray, np.ndarray]:
        """Return eigenvalues and W at one λ, as long as the constraint makes it."""
        return problem.read("exact", alpha, self.n_components)

    def _kernel_rows(self, X: Any) -> KernelRows | None:
        """Return the kernel the rows go through, or None."""
        params = self.kernel_params or {}
        if self.n_landmarks is not None:
            return KernelRows.landmarks(self.kernel, params, X, self.n_landmarks, self.random_state)
        if self.kernel == "linear":
            return None
        return KernelRows(self.kernel, params, None if self.kernel == "precomputed" else X)

    def _refuses_blocks(self) -> str | None:
        if self.kernel == "linear" and self.n_landmarks is None:
            return None
        return "A kernel needs all rows at once: fit it in memory, or use kernel='linear'."

    def _choose_solver(self) -> str:
        """Return how the problem is solved: see `solvers.spectral.label_eigenproblem.build_problem`."""
        return self.solver

    # -- for users ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Any:
        """Learn the projection.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; sparse rows are not densified.
        y : array-like or sparse matrix of shape (n_samples, n_labels), or array of shape (n_samples,)
            Label indicator, or classes. Rows and labels may be empty. Shares between 0 and 1 enter the label
            factor as they are. NaN (nobody knows) is filled with the mean of its label over the rows that
            know it, which contributes 0 once labels are centred; rows without a known label are left out.
        groups : ignored
            For `fit_transform` with `cross_fit`: metadata routing requests them by ``set_fit_request``.

        Returns
        -------
        self : object
        """
        X, Y = known_part(*self._check_fit(X, y, min_samples=2))
        known = fill_unknown(Y)
        # what an unknown entry is filled with depends on all rows: rows cannot come and go
        self._set_fitted_attributes(self._build_problem(X, known, keep=known is Y))
        return self

    def fit_transform(self, X: Any, y: Any = None, groups: Any = None) -> np.ndarray:
        """Fit, and project the training rows.

        With `cross_fit` each row is projected by a fit that did not see it (its `groups` stay in one fold),
        turned to agree with the projection `transform` uses; so it differs from ``fit(X, y).transform(X)``.
        """
        self.fit(X, y)
        if self.cross_fit is False:
            return self.transform(X)
        X = check_features(self, X)
        Y = encode_like(y, self._layout, n_rows=X.shape[0], name=f"{type(self).__name__}(cross_fit=…)")
        summed = self._ridge_penalty() is not None and self.solver_ == "gram"
        return _cross_project(self, X, Y, Folds(X, Y, self.cross_fit, groups=groups, summed=summed))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.input_tags.pairwise = self._is_precomputed()
        return tags

    # -- rows in memory -----------------------------------------------------------------------------

    def _check_fit(self, X: Any, y: Any, *, min_samples: int = 1) -> tuple[Any, sparse.csr_array]:
        options = {"missing": self._accepts_missing_labels, "soft": True}
        X, Y, layout = check_fit(self, X, y, min_samples=min_samples, **options)
        self._layout, self.label_names_, self._dtype = layout, layout.label_names, X.dtype
        return X, Y

    def _set_targets(self, layout: TargetLayout, *, counts: Any, n_rows: float) -> None:
        self._layout = layout
        self.label_names_ = layout.label_names

    def _build_problem(
        self,
        X: Any,
        Y: sparse.csr_array,
        *,
        row_moments: RowMoments | None = None,
        alphas: tuple[float, ...] = (),
        keep: bool = False,
    ) -> EigenProblem:
        """Pose the problem on validated rows, for the λ of this projection and others.

        `row_moments` are sums of these rows over any factor. With `keep` those of the base are kept, where
        they serve the solution and the factor allows rows to come and go.
        """
        solver, alphas_ahead = self._choose_solver(), self._known_alphas(*alphas)
        self.kernel_ = kernel = self._kernel_rows(X)
        if kernel is not None and kernel.lift is None and self.normalize == "unit":
            raise ValueError(
                "normalize='unit' needs directions over features, and a kernel has them over training rows: "
                "use n_landmarks, or normalize='metric'."
            )
        options = {name: getattr(self, name) for name in ("tol", "max_iter") if hasattr(self, name)}
        label_factor = self._label_factor()
        can_keep = keep and kernel is None and not label_factor.needs_sizes
        summed_factor = label_factor.summed(Y, None) if can_keep else None
        factor = label_factor.on_rows(Y, X, self._layout.label_names)
        if kernel is not None:
            X = kernel.rows(X)
            solver = "kernel" if kernel.lift is None else "auto"
        self._edges_ = factor.edges
        shape = factor.base, factor.right, factor.gram
        return build_problem(
            X, *shape, alphas_ahead, solver=solver, row_moments=row_moments, keep=summed_factor, **options
        )

    def _set_fitted_attributes(self, problem: EigenProblem) -> None:
        """Read the solution at the λ of this projection."""
        ridge, path = self._ridge_penalty(), problem.path
        alpha = problem.alpha if isinstance(ridge, str) else float(ridge or 0.0)
        if ridge is not None:
            self.alpha_ = alpha
        values, W = self._eigenvectors(problem, alpha)
        self.solver_, self.n_iter_, self.residual_ = path.solver, path.n_iter, path.residual(alpha)
        if problem.moments is not None:
            self.moments_ = problem.moments
        if hasattr(self, "edge_weights"):
            self.edge_weights_ = self._edges_.weights
        self._set_components(values, W, path.x_mean, self._dtype)

    # -- blocks of rows: sums over the base, and over Y beside it where it is not Y --------------------

    def _sum_validated(self, X: Any, Y: sparse.csr_array, *args: Any, **options: Any) -> Any:
        refuse_unknown_in_sums(Y, type(self).__name__)
        return super()._sum_validated(X, Y, *args, **options)

    def _factor(self, Y: sparse.csr_array) -> sparse.csr_array:
        rule = self._label_factor()
        return rule.summed(Y, self._edges_ if rule.needs_sizes else None)

    def _solve(self) -> None:
        rule = self._label_factor()
        edges = self._edges_ if rule.needs_sizes else None
        shape = rule.on_moments(self.moments_, edges, self._layout.n_columns)
        self._edges_ = shape.edges
        self._set_fitted_attributes(
            build_problem_from_moments(self.moments_, shape.right, shape.gram, self._known_alphas())
        )

    def _scans(self) -> bool:
        return self._label_factor().needs_sizes

    def _scan(self, X: Any, Y: sparse.csr_array, sample_weight: Any) -> dict[str, Any]:
        sums = self._label_factor().edge_moments(Y, X, shift=self._block_shift, sample_weight=sample_weight)
        return sums.to_arrays()

    def _use_scan(self, total: dict[str, Any]) -> None:
        sums = EdgeMoments.from_arrays(total, shift=self._block_shift)
        self._edges_ = self._label_factor().edges(sums, self._layout.label_names)

    def _refuses_rows(self) -> str | None:
        if not self._scans():
            return self._refuses_blocks()
        return (
            "This factor depends on the label sizes of all rows, "
            "so that rows cannot be added or taken out: fit anew."
        )

    def _check_moments(self) -> None:
        check_is_fitted(self)
        if self._scans():
            raise ValueError(self._refuses_rows())
        if not hasattr(self, "moments_"):
            raise ValueError(
                f"This model keeps no sums (it has more than {MAX_MOMENT_FEATURES} features, was not fitted "
                "by the d×d Gram, or found unknown labels): build it with partial_fit or outofcore.fit."
            )

    def _labels(self, verb: str) -> TargetLayout:
        layout = super()._labels(verb)
        if self.moments_.cross.shape[1] > layout.n_columns:
            raise ValueError(
                f"The degree of a row changes with its labels, so none can be {verb}ed: fit anew."
            )
        return layout


def _cross_project(model: Any, X: Any, Y: sparse.csr_array, folds: Folds) -> np.ndarray:
    """Project each row by a fit on the other folds, turned onto the fit on all rows."""
    Z = np.empty((X.shape[0], model._n_features_out), dtype=model._dtype)
    for fold in folds:
        fold_model = clone(model)
        fold_model._layout, fold_model._dtype = model._layout, model._dtype
        train_rows, _ = safe_split(model, X, None, fold.train)
        test_rows, _ = safe_split(model, X, None, fold.test, fold.train)
        problem = fold_model._build_problem(train_rows, Y[fold.train], row_moments=fold.moments)
        fold_model._set_fitted_attributes(problem)
        rotation = procrustes_rotation(fold_model._project(train_rows), model._project(X[fold.train]))
        Z[fold.test] = fold_model._project(test_rows) @ rotation.astype(model._dtype)
    return Z
