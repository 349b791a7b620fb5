"""Models that are a function of moments: they stream, merge, forget, and gain and lose labels.

A model mixes this in and says two things: `_factor(Y)`, the row-local label factor it sums
(Y itself unless said otherwise), and `_solve()`, how its fitted attributes follow from
`moments_`. Everything else is here: no old row is ever needed again.

The numerical guard: forgetting more than what remains costs digits. When fewer than
``MIN_DIGITS`` would be left, `forget` refuses and leaves the model as it was.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from hyperlabel._validation import (
    TargetLayout,
    check_features,
    check_weights,
    dimensions,
    encode_like,
    layout_of_classes,
)
from hyperlabel.solvers.moments import Moments

MIN_DIGITS = 8.0


class MomentsModel:
    """Mixin of the models that live on `Moments`; see the module docstring."""

    moments_: Moments
    _layout: TargetLayout
    _block_shift: np.ndarray  # while a fit in blocks is under way
    _keeps_ff: ClassVar[bool] = False
    _how_to_keep: ClassVar[str] = (
        "wide rows were solved without them; fit with solver='gram' to merge, forget or relabel"
    )

    # -- fits in blocks of rows (see `moments.blocks`) --------------------------------------------

    def _factor(self, Y: sparse.csr_array) -> Any:
        """Label factor of a block of rows; it must depend on those rows alone."""
        return Y

    def _solve(self) -> None:
        """Set the fitted attributes from `moments_`."""
        raise AttributeError(f"{type(self).__name__} does not say how to solve its moments.")

    def _blocks_done(self) -> None:
        """After a fit in blocks: drop what is not worth keeping."""

    def _refuses_blocks(self) -> str | None:
        """Say in a sentence why these parameters need all rows at once, or None."""
        return None

    def _scans(self) -> bool:
        """Whether `_factor` needs a pass over all rows first."""
        return False

    def _scan(self, X: Any, Y: sparse.csr_array, sample_weight: Any) -> dict[str, Any]:
        """Arrays that add over blocks of rows, for `_use_scan`."""
        return {}

    def _use_scan(self, total: dict[str, Any]) -> None:
        """Take the sum of all scans."""

    def _set_layout(self, layout: TargetLayout, *, counts: np.ndarray, n_rows: float) -> None:
        """Remember how y looked and, where the model keeps them, how often each label came."""
        self._layout = layout
        remember = getattr(self, "_set_targets", None)
        if remember is not None:
            remember(layout, counts=counts, n_rows=n_rows)

    # -- rows come and go ---------------------------------------------------------------------------

    def _sum_rows(self, X: Any, Y: sparse.csr_array, sample_weight: Any = None) -> Moments:
        # Sparse rows are summed around 0; adding moves them to the model's own shift.
        known = getattr(self, "moments_", None)
        shift = None if known is None or sparse.issparse(X) else known.shift
        weights = check_weights(sample_weight, X)
        return Moments.from_rows(
            X, self._factor(Y), sample_weight=weights, shift=shift, with_ff=self._keeps_ff
        )

    def _partial_fit(self, X: Any, y: Any, classes: Any, sample_weight: Any) -> Any:
        model: Any = self
        if not hasattr(self, "moments_"):
            if classes is None or dimensions(y) == 2:
                X, Y = model._check_fit(X, y)
            else:
                X = check_features(self, X, reset=True)
                layout = layout_of_classes(classes, np.asarray(y).dtype)
                model._set_targets(layout, counts=np.zeros(layout.n_columns), n_rows=0)
                Y = encode_like(y, layout, n_rows=X.shape[0])
            self.moments_ = self._sum_rows(X, Y, sample_weight)
        else:
            self.moments_.add(self._new_rows(X, y, sample_weight))
        self._solve()
        return self

    def merge(self, other: Any) -> Any:
        """Add the rows another model of this kind was fitted on, without seeing them.

        Parameters
        ----------
        other : estimator of the same class
            Fitted on other rows with the same features and labels.

        Returns
        -------
        self : object
            As if fitted on both sets of rows; `other` is not changed.
        """
        self._check_moments()
        if type(other) is not type(self):
            raise ValueError(f"Only another {type(self).__name__} can be merged in.")
        other._check_moments()
        mine, theirs = self._layout, other._layout
        if mine.kind != theirs.kind or list(mine.label_names) != list(theirs.label_names):
            raise ValueError("The two models do not have the same labels in the same order.")
        self.moments_.add(other.moments_)
        self._solve()
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Take rows out again, without the others: as if the model had never seen them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows that are among those fitted on.
        y : array-like or sparse matrix
            Their labels as given in `fit`.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights as given in `fit`.

        Returns
        -------
        self : object
        """
        return self._replace_rows(None, (X, y, sample_weight))

    def slide(self, X_in: Any, y_in: Any, X_out: Any, y_out: Any) -> Any:
        """Move a sliding window: add rows and forget others in one solve.

        Parameters
        ----------
        X_in, y_in : array-like or sparse matrix
            Rows that enter the window.
        X_out, y_out : array-like or sparse matrix
            Rows that leave it.

        Returns
        -------
        self : object
        """
        return self._replace_rows((X_in, y_in, None), (X_out, y_out, None))

    def _replace_rows(self, entering: tuple | None, leaving: tuple) -> Any:
        self._check_moments()
        left = self.moments_.copy()  # the model stays as it was if the guard refuses
        if entering is not None:
            left.add(self._new_rows(*entering))
        left.subtract(self._new_rows(*leaving))
        if left.weight <= 0:
            raise ValueError("Nothing would be left: a model cannot forget all its rows.")
        if left.f_sum.min() < -1e-9 * left.weight:
            raise ValueError("These rows were not all in the model: some label would have fewer than 0 rows.")
        if left.digits_kept() < MIN_DIGITS:
            raise ValueError(
                f"Forgetting these rows would leave only {left.digits_kept():.0f} correct digits "
                f"({MIN_DIGITS:.0f} are needed): fit anew on the rows that remain."
            )
        self.moments_ = left
        self._solve()
        return self

    def _new_rows(self, X: Any, y: Any, sample_weight: Any) -> Moments:
        X = check_features(self, X)
        return self._sum_rows(X, encode_like(y, self._layout, n_rows=X.shape[0]), sample_weight)

    def _check_moments(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "moments_"):
            raise ValueError(f"This {type(self).__name__} keeps no moments: {self._how_to_keep}.")

    # -- labels come and go -----------------------------------------------------------------------

    def add_label(self, name: str, X: Any = None, y: Any = None) -> Any:
        """Add a label that the rows so far did not have, or only the rows given.

        Parameters
        ----------
        name : str
            Name of the new label; it becomes the last column.
        X : array-like or sparse matrix of shape (n_positive, n_features), default=None
            The rows, among those already fitted on, that carry the new label; none by default.
        y : array-like or sparse matrix of shape (n_positive, n_labels), default=None
            Their other labels; needed by models that keep label co-occurrence.

        Returns
        -------
        self : object
            As if fitted on the same rows with the new column; labels of later rows
            (`partial_fit`) must have it too.
        """
        layout = self._labels("add")
        if name in layout.label_names:
            raise ValueError(f"The model already has a label {name!r}.")
        m = self.moments_
        xf, count, together = np.zeros(len(m.shift)), 0.0, np.zeros(len(m.f_sum))
        if X is not None:
            rows = check_features(self, X)
            count = float(rows.shape[0])
            xf = np.asarray(rows.sum(axis=0)).ravel() - count * m.shift
            if m.ff is not None:
                if y is None:
                    raise ValueError("This model keeps label co-occurrence: give y, the rows' other labels.")
                Y = encode_like(y, layout, n_rows=rows.shape[0])
                together = np.asarray(Y.sum(axis=0)).ravel()
        ff = None if m.ff is None else np.block([[m.ff, together[:, None]], [together, count]])
        self.moments_ = replace(m, xf=np.column_stack([m.xf, xf]), f_sum=np.append(m.f_sum, count), ff=ff)
        return self._relabel(np.append(layout.label_names, name))

    def drop_label(self, name: str) -> Any:
        """Remove a label; the others are as if it had never been there.

        Parameters
        ----------
        name : str
            One of `label_names_`.

        Returns
        -------
        self : object
        """
        layout = self._labels("drop")
        if len(layout.label_names) == 1:
            raise ValueError("The last label cannot be dropped.")
        gone = self._find_label(name)
        m = self.moments_
        ff = None if m.ff is None else np.delete(np.delete(m.ff, gone, axis=0), gone, axis=1)
        self.moments_ = replace(m, xf=np.delete(m.xf, gone, axis=1), f_sum=np.delete(m.f_sum, gone), ff=ff)
        return self._relabel(np.delete(layout.label_names, gone))

    def rename_label(self, old: str, new: str) -> Any:
        """Give a label another name.

        Parameters
        ----------
        old, new : str
            The name in `label_names_` and the one to put in its place.

        Returns
        -------
        self : object
        """
        layout = self._labels("rename")
        if new != old and new in layout.label_names:
            raise ValueError(f"The model already has a label {new!r}.")
        names = layout.label_names.copy()
        names[self._find_label(old)] = new
        return self._relabel(names)

    def _labels(self, verb: str) -> TargetLayout:
        self._check_moments()
        if self._layout.kind != "multilabel":
            raise ValueError(f"This model was fitted on 1-D y: there is no label column to {verb}.")
        return self._layout

    def _find_label(self, name: str) -> int:
        found = np.flatnonzero(self._layout.label_names == name)
        if not len(found):
            raise ValueError(f"The model has no label {name!r}; label_names_ lists them.")
        return int(found[0])

    def _relabel(self, names: np.ndarray) -> Any:
        model: Any = self
        layout = replace(self._layout, classes=np.arange(len(names)), label_names=names)
        model._set_targets(layout, counts=self.moments_.f_sum, n_rows=self.moments_.weight)
        self._solve()
        return self
