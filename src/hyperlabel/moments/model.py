"""Models that are a function of moments: they stream, merge, forget, and gain and lose labels.

A model says two things: `_factor(Y)`, the row-local label factor it sums (Y itself unless said
otherwise), and `_solve()`, how its fitted attributes follow from `moments_`. Validation (`_check_fit`)
and how y looked (`_set_targets`) come from the classifier contract, which therefore stands left of
these classes among the bases. Everything else is here: no old row is ever needed again.

The numerical guard: forgetting more than what remains costs digits. When fewer than
``MIN_DIGITS`` would be left, `forget` refuses and leaves the model as it was.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from hyperlabel._known_labels import check_same_classes, encode_like, layout_of_names
from hyperlabel._params import check_params
from hyperlabel._validation import TargetLayout, check_features, check_weights, target_check_options
from hyperlabel.moments.label_columns import edit_columns, with_names
from hyperlabel.moments.memory import refuse_many_groups
from hyperlabel.moments.probabilities import OutOfFoldProbabilities
from hyperlabel.solvers.moments.downdate_check import why_not_sums
from hyperlabel.solvers.moments.grouped_moments import (
    GroupedMoments,
    add_sums,
    subtract_sums,
)
from hyperlabel.solvers.moments.label_groups import WeightedEntries
from hyperlabel.solvers.moments.row_moments import RowMoments
from hyperlabel.solvers.moments.stored_rows import StoredRows

MIN_DIGITS = 8.0


SET_BY_VALIDATION = {"n_features_in_", "feature_names_in_", "classes_", "label_names_"}


def _holds_fit(model: Any) -> bool:
    """Whether rows were learned: a call that failed at validation leaves names and counts alone."""
    return any(name.endswith("_") and name not in SET_BY_VALIDATION for name in vars(model))


def _can_stream(self: Any) -> bool:
    refusal = self._refuses_rows()
    if refusal:
        raise AttributeError(refusal)
    return True


class MomentsModel(ABC):
    """Base of the models that live on moments; see the module docstring."""

    moments_: Any  # `RowMoments`, `GroupedMoments` of labels with gaps, or `StoredRows` in their place
    n_features_in_: int
    feature_names_in_: np.ndarray
    _layout: TargetLayout
    _block_shift: np.ndarray  # while a fit in blocks is under way
    _keeps_target_gram: bool = False
    _takes_grouped_moments: ClassVar[bool] = False  # of labels with gaps or weights of their own
    _how_to_keep: ClassVar[str] = (
        "wide rows, and labels with many patterns of gaps or weights, are solved without them; fit with "
        "solver='gram', or with a larger memory_limit, to add rows, merge, forget or relabel"
    )

    @abstractmethod
    def _solve(self) -> None:
        """Set the fitted attributes from `moments_`."""

    @abstractmethod
    def _set_targets(self, layout: TargetLayout, *, counts: np.ndarray, n_rows: float) -> None:
        """Remember how y looked (`_layout`, `label_names_`); `_solve` says which labels are constant."""

    @abstractmethod
    def _check_fit(self, X: Any, y: Any) -> tuple[Any, sparse.csr_array]:
        """Let the first rows in through validation and remember how y looked."""

    # -- fits in blocks of rows (see `moments.blocks`) and from moments ---------------------------

    def _factor(self, Y: sparse.csr_array) -> Any:
        """Label factor of a block of rows; it must depend on those rows alone."""
        return Y

    def _blocks_done(self) -> None:  # noqa: B027 (nothing to drop, unless a model says so)
        """After a fit in blocks: drop what is not worth keeping."""

    def _refuses_blocks(self) -> str | None:
        """Say in a sentence why these parameters need all rows at once, or None."""
        return None

    def _refuses_rows(self) -> str | None:
        """Say in a sentence why rows cannot come one block after the other, or None."""
        return self._refuses_blocks()

    def _scans(self) -> bool:
        """Whether `_factor` needs a pass over all rows first."""
        return False

    @classmethod
    def from_moments(cls, moments: Any, **params: Any) -> Self:
        """Fit from sums over rows, equal to `fit` on the rows themselves.

        `moments` are sums of the labels, or of this model's own label factor where it has one
        (``Moments.from_rows(X, y, factor=model)``); they are copied. `params` go to the constructor. More
        rows can be added and others forgotten as after `partial_fit`.
        """
        model = cls(**params)
        check_params(model)
        refusal = model._refuses_blocks()
        if refusal:
            raise ValueError(refusal)
        if getattr(model, "class_weight", None) is not None:
            raise ValueError("class_weight weighs rows, which sums no longer tell apart: leave it out.")
        columns = moments.columns
        model.n_features_in_ = moments.n_features
        if columns.features is not None:
            model.feature_names_in_ = columns.features.copy()
        model._set_targets(columns.layout, counts=np.zeros(columns.layout.n_columns), n_rows=0)
        model.moments_ = moments.moments_for(model)
        model._solve()
        return model

    # -- rows come and go ---------------------------------------------------------------------------

    def _sum_rows(self, X: Any, Y: sparse.csr_array, sample_weight: Any = None) -> Any:
        # Sparse rows are summed around 0; adding moves them to the model's own shift.
        own_moments = getattr(self, "moments_", None)
        weights = self._check_row_weights(sample_weight, X)
        if isinstance(own_moments, StoredRows):
            return StoredRows.from_rows(X, self._factor(Y), weights)
        shift = None if own_moments is None or sparse.issparse(X) else own_moments.shift
        return self._sum_validated(X, Y, weights, shift)

    def _sum_validated(
        self,
        X: Any,
        Y: sparse.csr_array,
        weights: np.ndarray | None,
        shift: np.ndarray | None,
        *,
        single: bool = False,
    ) -> Any:
        """Sum validated rows: by groups of labels where these do not count on the same rows."""
        on_off = self._weights_of_classes()
        if on_off is None and (weights is None or weights.ndim == 1) and not np.isnan(Y.data).any():
            keeps_gram = self._keeps_target_gram
            return RowMoments.from_rows(
                X,
                self._factor(Y),
                sample_weight=weights,
                shift=shift,
                with_target_gram=keeps_gram,
                single=single,
            )
        if not self._takes_grouped_moments:
            raise ValueError(
                f"Sums of {type(self).__name__} need every label known and rows of one weight: use fit."
            )
        entries = WeightedEntries.of(Y, weights, on_off)
        groups = entries.groups()
        refuse_many_groups(X.shape[1], Y.shape[1], len(groups), getattr(self, "memory_limit", None))
        return GroupedMoments.from_rows(X, entries, shift=shift, groups=groups, single=single)

    def _weights_of_classes(self) -> np.ndarray | None:
        """Return the weights of positives and negatives of each label, 2×k, where they are weighed."""
        return None

    def _check_row_weights(self, sample_weight: Any, X: Any) -> np.ndarray | None:
        """Validate weights of rows, or of entries where the model takes them."""
        takes_entries = getattr(self, "_accepts_entry_weights", False)
        return check_weights(sample_weight, X, self._layout.n_columns if takes_entries else None)

    def _encode(self, y: Any, n_rows: int) -> sparse.csr_array:
        """Validate more y of the labels the model knows."""
        return encode_like(
            y, self._layout, n_rows=n_rows, name=type(self).__name__, **target_check_options(self)
        )

    @available_if(_can_stream)
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Add rows; the result equals one fit on all rows seen.

        The sums over the rows are kept, so that the model can also `merge`, `forget`, `slide` and change its
        labels. After a `fit` that kept none, rows are refused. Blocks are solved anew: give large ones, or
        single rows to `BinaryRelevance` at a fixed λ, which follows them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            More rows.
        y : array-like or sparse matrix
            Their labels: the same columns in every call.
        classes : array-like, default=None
            At the first call: all classes of a 1-D y, or labels of label sets, that will ever come (of an
            indicator the names of its columns). Later blocks may lack some; other classes are refused.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight of each row.

        Returns
        -------
        self : object
        """
        if not _holds_fit(self):
            if classes is None:
                X, Y = self._check_fit(X, y)
            else:
                X = check_features(self, X, reset=True)
                layout = layout_of_names(y, classes)
                self._set_targets(layout, counts=np.zeros(layout.n_columns), n_rows=0)
                Y = self._encode(y, X.shape[0])
            self.moments_ = self._sum_rows(X, Y, sample_weight)
        else:
            self._check_moments()
            if classes is not None:
                check_same_classes(classes, self._layout)
            X = check_features(self, X)
            Y = self._encode(y, X.shape[0])
            if self._follow(X, Y, self._check_row_weights(sample_weight, X)):
                self._drop_folds()
                return self
            self.moments_ = add_sums(self.moments_, self._sum_rows(X, Y, sample_weight))
        self._solve_anew()
        return self

    def _follow(self, X: Any, Y: sparse.csr_array, weights: np.ndarray | None) -> bool:
        """Learn a few rows without solving anew, where a model can; say whether that was done."""
        return False

    def merge(self, other: Any) -> Any:
        """Add the rows another model of this class was fitted on, without seeing them.

        Both have the same features and labels. The result is as if fitted on both sets of rows; `other` is
        not changed.
        """
        self._check_moments()
        self._refuse_new_rows()
        if type(other) is not type(self):
            raise ValueError(f"Only another {type(self).__name__} can be merged in.")
        other._check_moments()
        own_layout, other_layout = self._layout, other._layout
        same_kind = own_layout.kind == other_layout.kind
        if not same_kind or list(own_layout.label_names) != list(other_layout.label_names):
            raise ValueError("The two models do not have the same labels in the same order.")
        self._check_same_labels(other)
        own_moments, other_moments = self.moments_, other.moments_
        if type(own_moments) is not type(other_moments):
            own_moments, other_moments = own_moments.sums(), other_moments.sums()
        self.moments_ = add_sums(own_moments, other_moments)
        self._solve_anew()
        return self

    def forget(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Take rows out again, without the others: as if the model had never seen them.

        X, y and `sample_weight` are as given in `fit`. What cannot have been among the rows fitted on is
        refused (label counts or sums of squares that would turn negative); not every stranger shows.
        """
        return self._replace_rows(None, (X, y, sample_weight))

    def slide(self, X_in: Any, y_in: Any, X_out: Any, y_out: Any) -> Any:
        """Move a sliding window: rows enter and others leave in one solve."""
        return self._replace_rows((X_in, y_in, None), (X_out, y_out, None))

    def _refuse_new_rows(self) -> None:
        refusal = self._refuses_rows()
        if refusal:
            raise ValueError(refusal)

    def _replace_rows(self, entering: tuple | None, leaving: tuple) -> Any:
        self._check_moments()
        self._refuse_new_rows()
        remaining = self.moments_.copy()  # the model stays as it was if the guard refuses
        if entering is not None:
            remaining = add_sums(remaining, self._new_rows(*entering))
        remaining = subtract_sums(remaining, self._new_rows(*leaving))
        if np.max(remaining.weight) <= 0:
            raise ValueError("Nothing would be left: a model cannot forget all its rows.")
        self._check_remaining(remaining)
        if remaining.digits_kept() < MIN_DIGITS:
            raise ValueError(
                f"Forgetting these rows would leave only {remaining.digits_kept():.0f} correct digits "
                f"({MIN_DIGITS:.0f} are needed): fit anew on the rows that remain."
            )
        self.moments_ = remaining
        self._solve_anew()
        return self

    def _check_remaining(self, remaining: Any) -> None:
        """Refuse to forget rows that cannot have been in the sums."""
        if isinstance(remaining, StoredRows):  # which looked each of them up
            return
        label_names = [str(name) for name in self._layout.label_names]
        n_columns = len(remaining.sum_targets)  # a factor may have columns of its own
        column_names = (
            label_names if len(label_names) == n_columns else [f"factor {j}" for j in range(n_columns)]
        )
        zero_one = type(self)._factor is MomentsModel._factor
        contradiction = why_not_sums(remaining, self.moments_, column_names, zero_one=zero_one)
        if contradiction is not None:
            raise ValueError(f"These rows were not all in the model: {contradiction}.")

    def _solve_anew(self) -> None:
        """Solve after rows or labels have changed."""
        self._drop_folds()
        self._solve()

    def _drop_folds(self) -> None:
        """Out-of-fold scores of other rows are no longer those of the model."""
        if isinstance(self, OutOfFoldProbabilities):
            self._drop_rows()
        for name in ("oof_scores_", "cv_results_"):
            if hasattr(self, name):
                delattr(self, name)

    def _new_rows(self, X: Any, y: Any, sample_weight: Any) -> Any:
        X = check_features(self, X)
        return self._sum_rows(X, self._encode(y, X.shape[0]), sample_weight)

    def _check_moments(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "moments_"):
            raise ValueError(f"This {type(self).__name__} keeps no moments: {self._how_to_keep}.")

    # -- labels come and go -----------------------------------------------------------------------

    def edit_labels(
        self,
        *,
        rename: Mapping[str, str] | None = None,
        merge: Mapping[str, str] | None = None,
        drop: Sequence[str] = (),
        add: Sequence[str] | Mapping[str, Any] = (),
    ) -> Any:
        """Rename, merge, drop and add labels, in this order: as if fitted on these rows with those columns.

        Parameters
        ----------
        rename : dict of str to str, default=None
            Names in `label_names_`, and the ones to put in their place.
        merge : dict of str to str, default=None
            Labels, and the label that their rows carry instead: one there is, or a new one. It is refused
            where the moments do not determine the answer: labels that meet in some rows, and of which none
            implies the other (unless the model keeps rows). Splitting a label always needs the rows.
        drop : sequence of str, default=()
            Labels to remove; the others are as if they had never been there.
        add : sequence of str, or dict of str to (X, y), default=()
            New labels, which become the last columns. No row so far carries them, or only the rows X
            given, which are among those fitted on; y are their labels in the columns before (None will
            do, except for models that keep label co-occurrence). Labels of later rows (`partial_fit`)
            must have the new columns too.

        Returns
        -------
        self : object
            Solved once, or as it was if a change was refused.
        """
        for verb, change in (("rename", rename), ("merge", merge), ("drop", drop), ("add", add)):
            if change:
                self._labels(verb)
        self._check_moments()
        if merge and type(self)._factor is not MomentsModel._factor:
            raise ValueError(f"Sums of {type(self).__name__} are not over labels: fit anew on the rows.")
        old_names = list(self._layout.label_names)
        new_moments, names, kept_columns = edit_columns(self.moments_, old_names, rename, merge, drop)
        for name, rows in (add if isinstance(add, Mapping) else dict.fromkeys(add)).items():
            if name in names:
                raise ValueError(f"The model already has a label {name!r}.")
            new_moments = self._with_label(new_moments, names, *(rows or (None, None)))
            names.append(name)
        self._set_targets(
            with_names(self._layout, names), counts=new_moments.sum_targets, n_rows=new_moments.weight
        )
        self.moments_ = new_moments
        self._follow_labels(kept_columns, names[len(kept_columns) :])
        self._solve_anew()
        if hasattr(self, "calibrators_"):
            old_columns = np.full(len(names), -1)
            old_columns[: len(kept_columns)] = kept_columns
            self.calibrators_: Any = self.calibrators_.relabelled(old_columns)
        return self

    def _with_label(self, m: Any, names: list[str], X: Any, y: Any) -> Any:
        """Return the sums with one more label, on in the rows X only."""
        if isinstance(m, StoredRows):
            return m.with_label(None if X is None else check_features(self, X))
        cross, count, together = np.zeros(len(m.shift)), 0.0, np.zeros(len(m.sum_targets))
        if X is not None:
            rows = check_features(self, X)
            count = float(rows.shape[0])
            cross = np.asarray(rows.sum(axis=0)).ravel() - count * m.shift
            if getattr(m, "target_gram", None) is not None:
                if y is None:
                    raise ValueError("This model keeps label co-occurrence: give y, the rows' other labels.")
                Y = encode_like(y, with_names(self._layout, names), n_rows=rows.shape[0])
                together = np.asarray(Y.sum(axis=0)).ravel()
        if isinstance(m, GroupedMoments):
            if self._weights_of_classes() is not None:
                raise ValueError("A label cannot be added to sums weighed by class_weight: fit anew.")
            return m.with_label(cross, count)
        target_gram = (
            None
            if m.target_gram is None
            else np.block([[m.target_gram, together[:, None]], [together, count]])
        )
        return replace(
            m,
            cross=np.column_stack([m.cross, cross]),
            sum_targets=np.append(m.sum_targets, count),
            target_gram=target_gram,
        )

    def _follow_labels(self, kept: list[int], added: list[str]) -> None:  # noqa: B027 (most keep nothing)
        """Let what is kept of each label follow its column: those kept, and then the added ones."""

    def _check_same_labels(self, other: Any) -> None:  # noqa: B027 (most keep nothing)
        """Refuse to merge a model that says something else of its labels."""

    def _labels(self, verb: str) -> TargetLayout:
        self._check_moments()
        if self._layout.kind != "multilabel":
            raise ValueError(f"This model was fitted on 1-D y: there is no label column to {verb}.")
        return self._layout


class ScanningModel(MomentsModel):
    """A model whose factor may need a pass over all rows first."""

    @abstractmethod
    def _scans(self) -> bool:
        """Whether it does."""

    @abstractmethod
    def _scan(self, X: Any, Y: sparse.csr_array, sample_weight: Any) -> dict[str, Any]:
        """Arrays that add over blocks of rows, for `_use_scan`."""

    @abstractmethod
    def _use_scan(self, total: dict[str, Any]) -> None:
        """Take the sum of all scans."""
