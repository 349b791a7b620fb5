"""`Moments`, the public object: sums over rows, and what their columns are.

The numbers are `solvers.moments.row_moments.RowMoments`; here stand validation, the names, and which label
factor was summed. Rows come in through `moments.blocks`, as in every other fit in blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, clone

from hyperlabel._validation import TargetLayout, check_fit
from hyperlabel.moments.batches import Batches
from hyperlabel.moments.blocks import add_scans, open_fit, scan_block, sum_block
from hyperlabel.moments.label_columns import edit_columns, with_names
from hyperlabel.moments.model import MIN_DIGITS, MomentsModel
from hyperlabel.solvers.arrays import as_dense
from hyperlabel.solvers.moments.downdate_check import why_not_sums
from hyperlabel.solvers.moments.grouped_moments import GroupedMoments, add_sums, subtract_sums
from hyperlabel.solvers.moments.row_moments import CenteredMoments


@dataclass(frozen=True, eq=False)
class MomentColumns:
    """What the columns of moments are; `scan` is what a first pass found, where the factor needs one.

    `probe` is the factor of two made-up label sets: it tells one factor from another.
    """

    features: np.ndarray | None
    layout: TargetLayout
    scan: dict[str, Any]
    probe: np.ndarray


@dataclass(eq=False)
class Moments:
    """Sums over labelled rows: all that the linear models of the library need of their data.

    They are small (features × features, features × labels, labels × labels), add and subtract, and
    every model on them is fitted by ``from_moments``, as if on the rows. Build them with `from_rows` or
    `from_batches`; `hyperlabel.save` and `hyperlabel.load` keep them in a file without pickle.

    Attributes
    ----------
    row_moments : object
        The sums themselves: ``gram``, ``cross``, ``target_gram``, ``sum_x``, ``sum_targets`` around
        ``shift``.
    columns : object
        What the columns of the sums are.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel import BinaryRelevance, Moments, PLST
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3)); Y = (X @ rng.normal(size=(3, 4)) > 0).astype(int)
    >>> monday, tuesday = Moments.from_rows(X[:60], Y[:60]), Moments.from_rows(X[60:], Y[60:])
    >>> week = monday + tuesday
    >>> week
    Moments(100 rows, 3 features, 4 labels)
    >>> model = PLST.from_moments(week, n_components=2)
    >>> bool(np.allclose(model.decision_function(X), PLST(2).fit(X, Y).decision_function(X)))
    True
    >>> BinaryRelevance.from_moments(week - monday).moments_.n
    40
    """

    row_moments: Any
    columns: MomentColumns

    @classmethod
    def from_rows(
        cls, X: Any, y: Any, *, sample_weight: Any = None, factor: Any = None, cooccurrence: bool = True
    ) -> Moments:
        """Sum over rows in memory.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The rows; sparse ones are not densified.
        y : array-like or sparse matrix
            Their labels, in any form `fit` takes.
        sample_weight : array-like of shape (n_samples,) or (n_samples, n_labels), default=None
            Weight of each row, or of each entry of y.
        factor : estimator, default=None
            Sum the label factor of this model instead of the labels; for models whose
            ``from_moments`` asks for it.
        cooccurrence : bool, default=True
            Keep YᵀY (labels × labels) as well; `BinaryRelevance` is the one model that needs it not. Not
            kept of labels with gaps (NaN in y) or weights of their own, which only it can use.

        Returns
        -------
        moments : Moments
        """
        model = _make_summing_model(factor, cooccurrence)
        open_fit(model, X, y, is_only_block=True)
        return cls._from_model(model, lambda block: [block(model, X, y, sample_weight)])

    @classmethod
    def from_batches(
        cls,
        batches: Any,
        *,
        labels: Any = None,
        features: Any = None,
        sample_weight: str | None = None,
        classes: Any = None,
        factor: Any = None,
        cooccurrence: bool = True,
        memory_limit: float | None = None,
    ) -> Moments:
        """Sum over batches of rows, one after the other; memory holds one of them and the sums.

        Parameters
        ----------
        batches : Arrow stream, iterable, or function
            Anything with the Arrow C stream (a ``RecordBatchReader`` or ``Table`` of pyarrow, a frame of
            polars or pandas, a result of DuckDB), a pyarrow data set or scanner, an iterable of record
            batches or of ``(X, y)`` or ``(X, y, sample_weight)``, or a function that returns one of these.
        labels : list of str, or str, default=None
            Arrow: the label columns, each 0/1 or true/false; or the one column that holds a list of labels
            or a class per row (then `classes` says which there are). Pairs: names of the columns of y.
        features : list of str, default=None
            Arrow: the feature columns, by default all others; they must hold numbers. Pairs: names
            of the columns of X.
        sample_weight : str, default=None
            Arrow: the column of weights.
        classes : array-like, default=None
            All labels of a list column, or all classes of a 1-D y.
        factor : estimator, default=None
            As in `from_rows`; factors that need label sizes first read the batches twice, which a function,
            a table or a list allows and an iterator does not.
        cooccurrence : bool, default=True
            As in `from_rows`.
        memory_limit : float, default=None
            Bytes the sums may take, by default what the machine has; more is refused at the first batch.

        Returns
        -------
        moments : Moments
        """
        model = _make_summing_model(factor, cooccurrence)
        source = Batches(
            batches, labels=labels, features=features, sample_weight=sample_weight, classes=classes
        )

        def read(block: Callable[..., Any]) -> Iterable[Any]:
            for X, y, weights in source.read():
                if not hasattr(model, "_block_shift"):
                    names = {"classes": source.classes, "label_names": source.label_names}
                    open_fit(model, X, y, memory_limit=memory_limit, **names)
                yield block(model, X, y, weights)

        if model._scans() and not source.twice:
            raise ValueError(
                f"{model} needs the label sizes of all rows first, so the batches are read twice: give a "
                "list, a table, or a function that opens them."
            )
        return cls._from_model(model, read, source)

    @classmethod
    def _from_model(
        cls, model: Any, read: Callable[..., Iterable[Any]], source: Batches | None = None
    ) -> Moments:
        scan: dict[str, Any] = {}
        if model._scans():
            scan = _sum_blocks(read(scan_block), add_scans)
            model._use_scan(scan)
        sums = _sum_blocks(read(sum_block), add_sums)
        source_names = None if source is None else source.feature_names
        feature_names = getattr(model, "feature_names_in_", None) if source_names is None else source_names
        if feature_names is not None:
            feature_names = np.asarray(feature_names, dtype=object)
            if len(feature_names) != sums.n_features:
                raise ValueError(f"{len(feature_names)} features are named, X has {sums.n_features}.")
        return cls(sums, MomentColumns(feature_names, model._layout, scan, _probe_factor(model)))

    # -- reading ------------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of rows."""
        return self.row_moments.n

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.row_moments.n_features

    @property
    def label_names(self) -> np.ndarray:
        """Names of the labels."""
        return self.columns.layout.label_names

    @property
    def feature_names(self) -> np.ndarray | None:
        """Names of the features, where they have any."""
        return self.columns.features

    def centered(self) -> CenteredMoments:
        """Means and centred sums: XcᵀXc, XcᵀFc and, if kept, FcᵀFc; unknown labels count as their means."""
        sums = self.row_moments
        return (sums.filled()[0] if isinstance(sums, GroupedMoments) else sums).centered()

    def __repr__(self) -> str:
        k = self.columns.layout.n_columns
        return f"Moments({self.n} rows, {self.n_features} features, {k} label{'s' if k != 1 else ''})"

    # -- adding and subtracting ---------------------------------------------------------------------

    def __add__(self, other: Moments) -> Moments:
        return self.copy().add(other)

    def __sub__(self, other: Moments) -> Moments:
        return self.copy().subtract(other)

    def add(self, other: Moments) -> Moments:
        """Add the rows of `other` (same features and labels; not changed) in place."""
        self._check_same_columns(other)
        self.row_moments = add_sums(self.row_moments, other.row_moments)
        return self

    def subtract(self, other: Moments) -> Moments:
        """Take the rows of `other`, which are among those summed here, out again; `other` is not changed."""
        self._check_same_columns(other)
        remaining = subtract_sums(self.row_moments.copy(), other.row_moments)
        if np.max(remaining.weight) > 0:
            sums_labels = _same_factor(self.columns.probe, _make_probe_sets(len(self.label_names)))
            column_names = [f"factor {j}" for j in range(len(remaining.sum_targets))]
            if sums_labels:
                column_names = [str(name) for name in self.label_names]
            contradiction = why_not_sums(remaining, self.row_moments, column_names, zero_one=sums_labels)
            if contradiction is not None:
                raise ValueError(f"These rows were not all summed here: {contradiction}.")
        self.row_moments = remaining
        return self

    def edit_labels(
        self,
        *,
        rename: Mapping[str, str] | None = None,
        merge: Mapping[str, str] | None = None,
        drop: Sequence[str] = (),
    ) -> Moments:
        """Return the moments with labels renamed, merged and dropped, in this order: as if summed so.

        What the sums do not determine is refused, as by ``edit_labels`` of models.

        Examples
        --------
        >>> from hyperlabel import Moments
        >>> sums = Moments.from_rows([[1.0], [2.0], [3.0]], [["tea"], ["coffee"], ["cake"]])
        >>> drinks = sums.edit_labels(merge={"tea": "drink", "coffee": "drink"})
        >>> [str(name) for name in drinks.label_names], drinks.row_moments.sum_targets
        (['cake', 'drink'], array([1., 2.]))
        """
        if not _same_factor(self.columns.probe, _make_probe_sets(len(self.label_names))):
            raise ValueError(
                "These moments are sums over a label factor, not over labels: sum the rows anew."
            )
        label_names = [str(name) for name in self.label_names]
        sums, names, _ = edit_columns(self.row_moments, label_names, rename, merge, drop)
        layout = with_names(self.columns.layout, names)
        columns = replace(self.columns, layout=layout, probe=_make_probe_sets(len(names)))
        return Moments(sums, columns).copy()

    def copy(self) -> Moments:
        """Return an independent copy."""
        return Moments(self.row_moments.copy(), self.columns)

    def _check_same_columns(self, other: Moments) -> None:
        if not isinstance(other, Moments):
            raise TypeError(f"Only other Moments can be added or subtracted, got {type(other).__name__}.")
        own_columns, other_columns = self.columns, other.columns
        same_kind = own_columns.layout.kind == other_columns.layout.kind
        if not same_kind or list(self.label_names) != list(other.label_names):
            raise ValueError("The two moments do not have the same labels in the same order.")
        if not (
            own_columns.features is None
            or other_columns.features is None
            or list(own_columns.features) == list(other_columns.features)
        ):
            raise ValueError("The two moments do not have the same features in the same order.")
        if not _same_factor(own_columns.probe, other_columns.probe):
            raise ValueError(
                "The two moments are sums over different label factors (or label sizes): build both with the "
                "same factor=, or sum all rows in one from_batches."
            )

    def check_shapes(self) -> None:
        """Refuse sums whose parts do not belong together, as a file might hold."""
        sums, moment_columns = self.row_moments, self.columns
        if isinstance(sums, GroupedMoments):
            sums.check_shapes(len(moment_columns.layout.label_names))
            return
        d, m = sums.n_features, moment_columns.probe.shape[1]
        shapes = {
            "shift": (d,),
            "sum_x": (d,),
            "sum_targets": (m,),
            "gram": (d, d),
            "cross": (d, m),
            "target_gram": (m, m),
        }
        for name, shape in shapes.items():
            array = getattr(sums, name)
            if array is not None and np.shape(array) != shape:
                raise ValueError(f"{name} has shape {np.shape(array)} instead of {shape}.")
        if moment_columns.features is not None and len(moment_columns.features) != d:
            raise ValueError(f"{len(moment_columns.features)} features are named instead of {d}.")

    # -- for models ---------------------------------------------------------------------------------

    def moments_for(self, model: Any) -> Any:
        """Return a copy of the sums as `model`, which knows its labels already, keeps them."""
        if model._scans():
            if not self.columns.scan:
                _refuse_factor(model)
            model._block_shift = self.row_moments.shift
            model._use_scan(self.columns.scan)
            del model._block_shift
        if not _same_factor(_probe_factor(model), self.columns.probe):
            _refuse_factor(model)
        if isinstance(self.row_moments, GroupedMoments):
            if not model._takes_grouped_moments:
                raise ValueError(
                    f"{type(model).__name__} needs every label known and rows of one weight: these moments "
                    "are sums of labels with gaps or weights of their own."
                )
            return self.row_moments.copy()
        if model._keeps_target_gram and self.row_moments.target_gram is None:
            raise ValueError(f"{type(model).__name__} needs label co-occurrence: sum with cooccurrence=True.")
        if self.row_moments.digits_kept() < MIN_DIGITS:
            raise ValueError(
                f"Subtracting left only {self.row_moments.digits_kept():.0f} correct digits in these moments "
                f"({MIN_DIGITS:.0f} are needed): sum the rows that remain anew."
            )
        sums = self.row_moments if model._keeps_target_gram else replace(self.row_moments, target_gram=None)
        return sums.copy()


class _LabelSums(BaseEstimator, MomentsModel):
    """The model that only sums: its factor is the labels themselves."""

    _accepts_missing_labels = _accepts_soft_targets = _accepts_entry_weights = True
    _takes_grouped_moments = True

    def __init__(self, cooccurrence: bool = True) -> None:
        self.cooccurrence = cooccurrence
        self._keeps_target_gram = cooccurrence

    def _check_fit(self, X: Any, y: Any) -> tuple[Any, sparse.csr_array]:
        X, Y, self._layout = check_fit(self, X, y)
        return X, Y

    def _set_targets(self, layout: TargetLayout, *, counts: Any, n_rows: float) -> None:
        self._layout = layout

    def _solve(self) -> None:
        """Nothing follows."""


def _make_summing_model(factor: Any, cooccurrence: bool) -> Any:
    return _LabelSums(cooccurrence) if factor is None else clone(factor)


def _sum_blocks(blocks: Iterable[Any], add: Callable[[Any, Any], Any]) -> Any:
    total = None
    for block in blocks:
        total = block if total is None else add(total, block)
    if total is None:
        raise ValueError("There are no rows in the batches.")
    return total


def _probe_factor(model: Any) -> np.ndarray:
    return as_dense(model._factor(sparse.csr_array(_make_probe_sets(model._layout.n_columns))))


def _make_probe_sets(k: int) -> np.ndarray:
    """All labels, and every other one."""
    return np.vstack([np.ones(k), (np.arange(k) % 2 == 0).astype(np.float64)])


def _same_factor(probe: np.ndarray, other_probe: np.ndarray) -> bool:
    return probe.shape == other_probe.shape and bool(np.allclose(probe, other_probe, rtol=1e-12, atol=0.0))


def _refuse_factor(model: Any) -> NoReturn:
    raise ValueError(
        f"{model} needs sums over its own label factor, not over these columns: build them with "
        f"Moments.from_rows(X, y, factor={model}) or Moments.from_batches(…, factor=…)."
    )
