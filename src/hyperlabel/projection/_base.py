"""What every supervised projection shares: the gate, the solve, the transform, cross-fitting, streaming.

A method says which label factor it uses, and nothing else:

* ``_label_base(Y, edges)``: a sparse n×q matrix, row by row once the label sizes are known;
* ``_label_mix(edges, gram)``: the small matrix (or diagonal) that turns it into the factor F;
* ``_read(path, gram, right)``: how W follows from the ridge path; here the exact eigenvectors.

The projection of a row x is Wᵀ(x − μ). W is stored as `components_` = Wᵀ and centring is applied
to the n×c result, so that sparse rows stay sparse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hyperlabel._validation import TargetLayout, check_features, check_fit, encode_like
from hyperlabel.geometry.hypergraph import EdgeSums, edge_weights
from hyperlabel.geometry.similarity import centered_gram, clear_constant, mix_both
from hyperlabel.model_selection import resolve_cv
from hyperlabel.moments.blocks import add_scans, close_fit, open_fit, scan_block, sum_block, use_scan
from hyperlabel.moments.model import MomentsModel
from hyperlabel.projection._solve import align, first_columns, fold_sums, read_form, ridge_path
from hyperlabel.solvers.eigen import Gram, fix_signs
from hyperlabel.solvers.moments import Moments
from hyperlabel.solvers.ridge import Path, RidgePath, choose_route

# `fit` keeps XᵀX, for later partial_fit, merge and forget, up to this many features (32 MB).
KEEP_SUMS = 2000


@dataclass(frozen=True, eq=False)
class Edges:
    """Sizes and weights of the hyperedges over all rows."""

    sizes: np.ndarray
    weights: np.ndarray


def _streams(self: Any) -> bool:
    return self._one_pass


class LabelProjection(MomentsModel, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the supervised projections; see the module docstring."""

    components_: np.ndarray
    eigenvalues_: np.ndarray
    mean_: np.ndarray
    label_names_: np.ndarray
    n_components: int | None
    alpha: float
    cross_fit: bool
    _keeps_ff: ClassVar[bool] = True
    _dtype: np.dtype = np.dtype(np.float64)  # of the components; that of X after `fit`

    # -- what a method says -------------------------------------------------------------------------

    _edge_spec: Any = "uniform"  # hyperedge weights; a method with the parameter overrides this
    _nu: float = 1.0

    @property
    def _one_pass(self) -> bool:
        """Whether a block of rows gives its rows of the base without the sizes of all labels."""
        return True

    def _label_base(self, Y: sparse.csr_array, edges: Edges | None) -> sparse.csr_array:
        return Y

    def _label_mix(self, edges: Edges, gram: np.ndarray) -> np.ndarray:
        return np.ones(len(gram))

    def _alphas(self) -> tuple[float, ...]:
        """Return the λ the path will be asked for."""
        return (self._checked_alpha(),)

    def _read(self, path: Path, gram: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the eigenvalues and W; `gram` is that of the centred base."""
        factor = Gram(mix_both(gram, right))
        return read_form("exact", path, factor, right, self.alpha, self.n_components)

    # -- for users ----------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Any:
        """Learn the projection.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows; sparse rows are not densified.
        y : array-like or sparse matrix of shape (n_samples, n_labels), or array of shape (n_samples,)
            Label indicator, or classes. Rows and labels may be empty.

        Returns
        -------
        self : object
        """
        X, Y = self._check_fit(X, y, min_samples=2)
        self._drop_sums()
        if self._one_pass and self._route(X) in ("gram", "none") and X.shape[1] <= min(KEEP_SUMS, X.shape[0]):
            self.moments_ = self._sum_rows(X, Y)
            self._solve()
        else:
            self._fit_rows(X, Y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> np.ndarray:
        """Fit, and project the training rows; with ``cross_fit=True`` out of fold.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training rows.
        y : array-like or sparse matrix
            Their labels.
        **fit_params : dict
            Passed on to `fit`.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
            With ``cross_fit=True`` each row is projected by a fit that did not see it, turned to
            agree with the projection `transform` uses; so it differs from ``fit(X, y).transform(X)``.
        """
        self.fit(X, y, **fit_params)
        if not getattr(self, "cross_fit", False):
            return self.transform(X)
        return self._cross_project(X, y)

    def transform(self, X: Any) -> np.ndarray:
        """Project rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        Z : ndarray of shape (n_samples, n_components)
        """
        check_is_fitted(self)
        return self._project(check_features(self, X))

    @available_if(_streams)
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Any:
        """Add rows; the result equals one `fit` on all rows seen so far.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            More rows; give large blocks, since every call solves anew.
        y : array-like or sparse matrix
            Their labels: the same columns in every call.
        classes : array-like, default=None
            At the first call with a 1-D y: all classes that will ever come.

        Returns
        -------
        self : object
        """
        if hasattr(self, "components_") and not hasattr(self, "moments_"):
            raise ValueError(_NO_SUMS)
        return self._partial_fit(X, y, classes, None)

    def fit_chunks(self, chunks: Any) -> Any:
        """Fit from blocks of rows, equal to `fit` on all of them; memory O(d² + d·labels).

        Methods whose factor depends on label sizes (or compactness weights) read the blocks
        twice, first to count; the others read them once.

        Parameters
        ----------
        chunks : callable, or iterable of (X, y)
            A function without arguments returning an iterator of blocks; or a list (or anything
            that can be iterated more than once).

        Returns
        -------
        self : object
        """
        if self._scans() and not callable(chunks) and iter(chunks) is chunks:
            raise ValueError("These blocks are read twice: give a list, or a function that opens them.")
        opened, scan, total = False, None, None
        for X, y in self._open(chunks) if self._scans() else ():
            if not opened:
                open_fit(self, X, y)
                opened = True
            part = scan_block(self, X, y)
            scan = part if scan is None else add_scans(scan, part)
        if scan is not None:
            use_scan(self, scan)
        for X, y in self._open(chunks):
            if not opened:
                open_fit(self, X, y)
                opened = True
            block = sum_block(self, X, y)
            total = block if total is None else total.add(block)
        if total is None:
            raise ValueError("There are no blocks of rows to fit on.")
        return close_fit(self, total)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    # -- rows in memory -----------------------------------------------------------------------------

    def _check_fit(self, X: Any, y: Any, *, min_samples: int = 1) -> tuple[Any, sparse.csr_array]:
        X, Y, layout = check_fit(self, X, y, min_samples=min_samples)
        self._set_targets(layout, counts=None, n_rows=X.shape[0])
        self._dtype = X.dtype
        return X, Y

    def _set_targets(self, layout: TargetLayout, *, counts: Any, n_rows: float) -> None:
        self._layout = layout
        self.label_names_ = layout.label_names

    def _fit_rows(self, X: Any, Y: sparse.csr_array, moments: Moments | None = None) -> None:
        """Fit on validated rows; `moments` are sums of these rows over any factor, if known."""
        edges = self._edges(X, Y)
        base = self._label_base(Y, edges)
        path = self._path(X, base, moments)
        gram = centered_gram(base)
        values, W = self._read(path, gram, self._label_mix(edges, gram))
        self._store(W, values, path)

    def _path(self, X: Any, base: sparse.csr_array, moments: Moments | None) -> Path:
        return ridge_path(X, base, moments, alphas=self._alphas(), **self._solver_options())

    def _path_of_sums(self, sums: Any) -> Path:
        return RidgePath(sums, alphas=self._alphas())

    def _edges(self, X: Any, Y: sparse.csr_array) -> Edges:
        return self._edges_from(EdgeSums.from_rows(Y, X if self._needs_rows else None))

    def _edges_from(self, sums: EdgeSums) -> Edges:
        names = self._layout.label_names
        weights = edge_weights(self._edge_spec, sums, nu=self._nu, label_names=names)
        return Edges(sums.sizes, weights)

    @property
    def _needs_rows(self) -> bool:
        return isinstance(self._edge_spec, str) and self._edge_spec.startswith("compactness")

    def _solver_options(self) -> dict[str, Any]:
        names = ("solver", "tol", "max_iter")
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def _checked_alpha(self) -> float:
        if not (np.isfinite(self.alpha) and self.alpha >= 0):
            raise ValueError(f"alpha must be a finite number of at least 0, got {self.alpha}.")
        return float(self.alpha)

    def _store(self, W: np.ndarray, values: np.ndarray, path: Path) -> None:
        self._check_rank(W)
        self.components_ = np.ascontiguousarray(fix_signs(W).T.astype(self._dtype))
        self.eigenvalues_ = values
        self.mean_ = path.x_mean
        self.n_components_ = W.shape[1]
        self.solver_ = path.solver
        self.n_iter_ = path.n_iter
        self.residual_ = path.residual(self._alphas()[0])

    def _check_rank(self, W: np.ndarray) -> None:
        if not W.shape[1]:
            raise ValueError(
                "There is nothing to project on: the labels are constant over these rows, "
                "or the features do not vary with them."
            )

    def _project(self, X: Any) -> np.ndarray:
        offset = self.mean_ @ self.components_.T.astype(np.float64)
        Z = np.asarray(X @ self.components_.T)
        Z -= offset.astype(Z.dtype)
        return Z

    # -- cross-fitting ------------------------------------------------------------------------------

    def _cross_project(self, X: Any, y: Any) -> np.ndarray:
        X = check_features(self, X)
        Y = encode_like(y, self._layout, n_rows=X.shape[0])
        Z = np.empty((X.shape[0], self._n_features_out), dtype=self._dtype)
        for train, test, model in self._fold_fits(X, Y):
            turn = align(model._project(self._rows(X, train, train)), self._project(X[train]))
            Z[test] = model._project(self._rows(X, test, train)) @ turn.astype(self._dtype)
        return Z

    def _fold_fits(self, X: Any, Y: sparse.csr_array) -> Iterator[tuple[np.ndarray, np.ndarray, Any]]:
        """Fit on every training fold; where XᵀX fits, folds cost a subtraction instead of a pass."""
        model: Any = self
        splits = list(resolve_cv(model.cv, Y).split(np.zeros(X.shape[0]), Y))
        sums = fold_sums(X, Y, splits, self._route(X))
        for fold, (train, test) in enumerate(splits):
            other = self._sibling()
            other._layout, other._dtype = self._layout, self._dtype
            known = None if sums is None else sums.training(fold)
            other._fit_rows(self._rows(X, train, train), Y[train], known)
            yield train, test, other

    def _sibling(self) -> Any:
        """Return an unfitted projection with the same settings, for a fold."""
        return clone(self)

    def _route(self, X: Any) -> str:
        solver = getattr(self, "solver", "auto")
        return choose_route(X) if solver == "auto" else solver

    def _rows(self, X: Any, rows: np.ndarray, training: np.ndarray) -> Any:
        """Return rows of X as a model fitted on the rows `training` wants them."""
        return X[rows]

    # -- blocks of rows -----------------------------------------------------------------------------

    _known: Edges | None = None  # what a first pass over the blocks counted, if there was one

    def _factor(self, Y: sparse.csr_array) -> sparse.csr_array:
        base = self._label_base(Y, self._known if self._scans() else None)
        if self._scans() or base is Y:
            return base
        return sparse.hstack([base, Y], format="csr")  # Y as well: its sums are the sizes

    def _solve(self) -> None:
        sums = self.moments_.centered()
        k = self._layout.n_columns
        edges = self._known
        if edges is None or not self._scans():
            edges = Edges(self.moments_.f_sum[-k:], np.ones(k))
            if sums.xf.shape[1] > k:
                sums = first_columns(sums, sums.xf.shape[1] - k)
        gram = np.array(sums.ff)  # kept, since _keeps_ff
        gram = clear_constant(gram, np.diag(np.asarray(self.moments_.ff))[: len(gram)])
        path = self._path_of_sums(sums)
        values, W = self._read(path, gram, self._label_mix(edges, gram))
        self._store(W, values, path)

    @staticmethod
    def _open(chunks: Any) -> Any:
        return chunks() if callable(chunks) else chunks

    def _scans(self) -> bool:
        return not self._one_pass

    def _scan(self, X: Any, Y: sparse.csr_array, sample_weight: Any) -> dict[str, Any]:
        return EdgeSums.from_rows(Y, X if self._needs_rows else None, shift=self._block_shift).to_arrays()

    def _use_scan(self, total: dict[str, Any]) -> None:
        self._known = self._edges_from(EdgeSums.from_arrays(total, shift=self._block_shift))

    def _drop_sums(self) -> None:
        for name in ("moments_", "_known"):
            self.__dict__.pop(name, None)

    def _check_sums(self) -> None:
        """Refuse to merge or forget where the sums do not allow it."""
        check_is_fitted(self)
        if not self._one_pass:
            raise ValueError(
                "This factor depends on the label sizes of all rows, "
                "so that rows cannot be added or taken out: fit anew."
            )
        if not hasattr(self, "moments_"):
            raise ValueError(_NO_SUMS)

    def merge(self, other: Any) -> Any:
        """Add the rows another projection was fitted on (both by `partial_fit` or `fit_chunks`).

        Parameters
        ----------
        other : estimator of the same class
            Fitted on other rows with the same features and labels.

        Returns
        -------
        self : object
        """
        self._check_sums()
        other._check_sums()
        return super().merge(other)

    def _replace_rows(self, entering: tuple | None, leaving: tuple) -> Any:
        self._check_sums()
        return super()._replace_rows(entering, leaving)

    def _labels(self, verb: str) -> TargetLayout:
        self._check_sums()
        if self.moments_.xf.shape[1] > self._layout.n_columns:
            raise ValueError(
                f"The degree of a row changes with its labels, so none can be {verb}ed: fit anew."
            )
        return super()._labels(verb)


_NO_SUMS = (
    f"This model keeps no sums (it has more than {KEEP_SUMS} features, or was not fitted by the d×d Gram): "
    "build it with partial_fit or fit_chunks."
)
