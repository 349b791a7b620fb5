"""Moments: the sums over rows that every linear method of the library needs.

They add (chunks, workers, models) and subtract (folds, forgotten rows), so one pass over
the data serves cross-validation, streaming, merging and forgetting.

Notation
--------
code         meaning                         shape
X            samples                         n×d
F            label factor (Y, H₀, …)         n×m
shift        s, a fixed point near the data  d
weight       Σw (n without weights)          scalar
sum_x        Σ w (x − s)                     d
sum_targets  Σ w f                           m
gram         Σ w (x − s)(x − s)ᵀ             d×d
cross        Σ w (x − s) fᵀ                  d×m
target_gram  Σ w f fᵀ (only on request)      m×m

Numerics
--------
Raw sums lose about 2·log10(|mean|/std) digits when they are centred. Dense rows are
therefore shifted by the mean of the first block seen; sparse rows keep s = 0, which is what
keeps them sparse. Subtracting a part that is p times larger than what remains costs about
log10(p) digits more: `digits_kept` says how many are left.

With ``single=True`` dense float32 rows are multiplied in float32, at most `SINGLE_ROWS` at a time, and
those products are added up in float64: half the time and memory, and errors of about 1e-6 of the
largest entry (measured), as if the rows themselves had been rounded a little more. `digits` says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.solvers.arrays import BLOCK_BYTES, as_dense, first_mean, row_blocks
from hyperlabel.solvers.blas import add_gram, add_product, add_weighted_sum
from hyperlabel.solvers.sparse_matmul import ColumnsInTurn

SINGLE_ROWS = 2048  # longest sum ever taken in float32
DIGITS = 15.6  # of a float64
SINGLE_DIGITS = 5.5  # of sums with float32 products


@dataclass
class RowMoments:
    """Mergeable, subtractable sums over rows; see the module docstring for the symbols."""

    n: int
    weight: float
    shift: np.ndarray
    sum_x: np.ndarray
    sum_targets: np.ndarray
    gram: np.ndarray
    cross: np.ndarray
    target_gram: np.ndarray | None = None
    peak: float = 0.0  # largest trace of the Gram these sums ever held, for `digits_kept`
    digits: float = DIGITS  # decimal digits of the sums before any subtraction

    rank_one_factor = None  # type: Any  # a factor of these very sums (`solvers.moments.rank_one_update`), neither copied nor saved

    @classmethod
    def from_rows(
        cls,
        X: Any,
        F: Any,
        *,
        sample_weight: np.ndarray | None = None,
        shift: np.ndarray | None = None,
        with_target_gram: bool = False,
        single: bool = False,
    ) -> RowMoments:
        """Sum over the rows of X (dense or sparse) and of the factor F (dense or sparse)."""
        if shift is None:
            shift = np.zeros(X.shape[1]) if sparse.issparse(X) else first_mean(X)
        single = single and X.dtype == np.float32 and not sparse.issparse(X)
        if single:  # a point that float32 rows can be moved to
            shift = shift.astype(np.float32).astype(np.float64)
        if sparse.issparse(X):
            if shift.any():
                raise ValueError("Sparse rows cannot be shifted without densifying them: use shift = 0.")
            sum_x, sum_targets, gram, cross = _sum_sparse_rows(X, F, sample_weight)
        else:
            sum_x, sum_targets, gram, cross = _sum_dense_rows(X, F, sample_weight, shift, single)
        target_gram = as_dense(F.T @ _scale_rows(F, sample_weight)) if with_target_gram else None
        total_weight = float(X.shape[0] if sample_weight is None else sample_weight.sum())
        decimal_digits = SINGLE_DIGITS if single else DIGITS
        return cls(
            X.shape[0],
            total_weight,
            shift,
            sum_x,
            sum_targets,
            gram,
            cross,
            target_gram,
            float(np.trace(gram)),
            decimal_digits,
        )

    @property
    def n_features(self) -> int:
        """Number of features d."""
        return len(self.shift)

    # -- adding and subtracting -----------------------------------------------------------------

    def __add__(self, other: RowMoments) -> RowMoments:
        return self.copy().add(other)

    def __sub__(self, other: RowMoments) -> RowMoments:
        return self.copy().subtract(other)

    def add(self, other: RowMoments) -> RowMoments:
        """Add in place (no second d×d array)."""
        return self._combine(other, +1)

    def subtract(self, other: RowMoments) -> RowMoments:
        """Subtract in place: the rows of `other` must be among those summed here."""
        if other.n > self.n:
            raise ValueError(f"Cannot take {other.n} rows out of {self.n}.")
        return self._combine(other, -1)

    def add_row(self, x: np.ndarray, f: np.ndarray, weight: float) -> None:
        """Add one row in place: nothing of size d×d is made, and only its own columns are touched."""
        self.n, self.weight = self.n + 1, self.weight + weight
        z = x - self.shift
        nonzero_columns = np.flatnonzero(z)
        self.sum_x += weight * z
        self.sum_targets += weight * f
        if len(nonzero_columns) < len(z):
            self.gram[np.ix_(nonzero_columns, nonzero_columns)] += np.outer(
                weight * z[nonzero_columns], z[nonzero_columns]
            )
        else:
            self.gram += np.outer(weight * z, z)
        self.cross[nonzero_columns] += np.outer(weight * z[nonzero_columns], f)
        if self.target_gram is not None:
            self.target_gram += np.outer(weight * f, f)
        self.peak = max(self.peak, float(np.trace(self.gram)))

    def sums(self) -> RowMoments:
        """Return these moments, as `StoredRows` forms them."""
        return self

    def take_over(self, other: RowMoments) -> None:
        """Take the factor of the same sums from `other`: it spares a full solve when rows come one by one."""
        self.rank_one_factor, other.rank_one_factor = other.rank_one_factor, None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "rank_one_factor"}

    def _combine(self, other: RowMoments, sign: int) -> RowMoments:
        if self.cross.shape != other.cross.shape or (self.target_gram is None) != (other.target_gram is None):
            raise ValueError(
                f"These moments do not fit together: {self.cross.shape} features × labels here, "
                f"{other.cross.shape} there."
            )
        if not np.array_equal(self.shift, other.shift):
            other = other.reshift(self.shift)
        self.rank_one_factor = None
        self.n += sign * other.n
        self.weight += sign * other.weight
        for field_name in ("sum_x", "sum_targets", "gram", "cross", "target_gram"):
            own_sums = getattr(self, field_name)
            if own_sums is not None:
                (np.add if sign > 0 else np.subtract)(own_sums, getattr(other, field_name), out=own_sums)
        self.peak = max(self.peak, other.peak, float(np.trace(self.gram)))
        self.digits = min(self.digits, other.digits)
        return self

    def reshift(self, shift: np.ndarray) -> RowMoments:
        """Return the same rows, summed around another point (exact up to rounding)."""
        shift_step = shift - self.shift
        sum_step = np.outer(self.sum_x, shift_step)
        # (x − s − δ)(x − s − δ)ᵀ multiplied out and summed
        shifted_gram = self.gram - sum_step - sum_step.T + self.weight * np.outer(shift_step, shift_step)
        return replace(
            self,
            shift=shift,
            sum_x=self.sum_x - self.weight * shift_step,
            gram=shifted_gram,
            cross=self.cross - np.outer(shift_step, self.sum_targets),
            peak=max(self.peak, float(np.trace(shifted_gram))),
        )

    def copy(self) -> RowMoments:
        """Return an independent copy."""
        return replace(
            self,
            sum_x=self.sum_x.copy(),
            sum_targets=self.sum_targets.copy(),
            gram=self.gram.copy(),
            cross=self.cross.copy(),
            target_gram=None if self.target_gram is None else self.target_gram.copy(),
        )

    def digits_kept(self) -> float:
        """Return the decimal digits of the centred sums that survived additions and subtractions."""
        centered_trace = (
            float(np.trace(self.gram) - self.sum_x @ self.sum_x / self.weight) if self.weight > 0 else 0.0
        )
        if centered_trace <= 0:
            return 0.0
        return max(0.0, self.digits - float(np.log10(max(self.peak / centered_trace, 1.0))))

    # -- plain arrays -----------------------------------------------------------------------------

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return everything as plain arrays, for a file."""
        field_values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: np.asarray(value) for name, value in field_values.items() if value is not None}

    @classmethod
    def from_arrays(cls, arrays: dict[str, np.ndarray]) -> RowMoments:
        """Return the sums that `to_arrays` took apart."""
        field_values: dict[str, Any] = {
            name: value if value.ndim else value.item() for name, value in arrays.items()
        }
        return cls(**field_values)

    # -- reading ----------------------------------------------------------------------------------

    def centered(self) -> CenteredMoments:
        """Means and centred sums: XcᵀXc, XcᵀFc and, if kept, FcᵀFc."""
        if self.weight <= 0:
            raise ValueError("No rows are left in these moments.")
        x_mean = self.sum_x / self.weight
        f_mean = self.sum_targets / self.weight
        centered_gram = self.gram - np.outer(self.sum_x, x_mean)
        centered_cross = self.cross - np.outer(self.sum_x, f_mean)
        target_gram = (
            None if self.target_gram is None else self.target_gram - np.outer(self.sum_targets, f_mean)
        )
        return CenteredMoments(
            self.weight, self.shift + x_mean, f_mean, centered_gram, centered_cross, target_gram
        )


@dataclass(frozen=True)
class CenteredMoments:
    """Means, XcᵀXc (d×d), XcᵀFc (d×m) and FcᵀFc (m×m, if kept)."""

    weight: float
    x_mean: np.ndarray
    f_mean: np.ndarray
    gram: np.ndarray
    cross: np.ndarray
    target_gram: np.ndarray | None


def _scale_rows(A: Any, weights: np.ndarray | None) -> Any:
    if weights is None:
        return A
    return sparse.diags_array(weights) @ A if sparse.issparse(A) else weights[:, None] * A


class _DenseBlocks:
    """Blocks of sparse rows as dense arrays, in one buffer that is never wiped as a whole."""

    def __init__(self, F: Any) -> None:
        self._rows = sparse.csr_array(F)
        if not self._rows.has_canonical_format:
            self._rows = self._rows.copy()
            self._rows.sum_duplicates()
        self._buffer, self._places = np.empty(0), np.empty(0, np.intp)

    def read(self, rows: slice) -> np.ndarray:
        """Return some rows, valid until the next call; no later block may have more rows than the first."""
        n_rows, n_columns = rows.stop - rows.start, self._rows.shape[1]
        if not self._buffer.size:
            self._buffer = np.zeros(n_rows * n_columns, self._rows.dtype)
        ends = self._rows.indptr[rows.start : rows.stop + 1]
        self._buffer[self._places] = 0
        row_start = np.repeat(n_columns * np.arange(n_rows), np.diff(ends))
        self._places = row_start + self._rows.indices[ends[0] : ends[-1]]
        self._buffer[self._places] = self._rows.data[ends[0] : ends[-1]]
        return self._buffer[: n_rows * n_columns].reshape(n_rows, n_columns)


def _make_label_adder(F: Any, single: bool) -> Callable[[slice, np.ndarray, np.ndarray], None]:
    """Return what adds F[rows]ᵀ @ Z to a sum, for blocks of rows in turn."""
    is_very_sparse = (
        sparse.issparse(F) and 25 * F.nnz <= F.shape[0] * F.shape[1]
    )  # so many flops cost one gather
    if is_very_sparse and single:
        return ColumnsInTurn(F).add_product

    read_block = _DenseBlocks(F).read if sparse.issparse(F) else lambda rows: np.ascontiguousarray(F[rows])

    def add(rows: slice, Z: np.ndarray, out: np.ndarray) -> None:
        if is_very_sparse:
            out += F[rows].T @ Z
        elif single:
            out += np.matmul(read_block(rows).T, Z)
        else:
            add_product(read_block(rows), Z, out)

    return add


def _sum_sparse_rows(X: Any, F: Any, weights: np.ndarray | None) -> tuple[np.ndarray, ...]:
    x_scaled = _scale_rows(X, weights)
    f_scaled = _scale_rows(F, weights)
    if X.dtype != np.float64:  # a float32 sum of many rows would lose digits
        X, x_scaled = X.astype(np.float64), x_scaled.astype(np.float64)
    sum_x = np.asarray(x_scaled.sum(axis=0), dtype=np.float64).ravel()
    sum_targets = np.asarray(f_scaled.sum(axis=0), dtype=np.float64).ravel()
    return sum_x, sum_targets, as_dense(X.T @ x_scaled), as_dense(x_scaled.T @ F)


def _sum_dense_rows(
    X: np.ndarray, F: Any, weights: np.ndarray | None, shift: np.ndarray, single: bool
) -> tuple[np.ndarray, ...]:
    d, m = X.shape[1], F.shape[1]
    sum_x, sum_targets = (
        np.zeros(d),
        np.asarray(F.sum(axis=0) if weights is None else weights @ F, float).ravel(),
    )
    lower_half, fx = np.zeros((d, d), order="C" if single else "F"), np.zeros((m, d))
    float_type = np.dtype(np.float32 if single else np.float64)
    shift_point, root_weights = shift.astype(float_type), np.ones(len(X), dtype=float_type)
    F = F.astype(float_type, copy=False)
    if weights is not None:
        root_weights = np.sqrt(weights).astype(float_type)
        F = _scale_rows(F, root_weights)
    add_labels = _make_label_adder(F, single)
    block_gram = np.empty((d, d), dtype=float_type) if single else None
    row_buffer: np.ndarray | None = None
    if single:
        row_bytes = max(float_type.itemsize * d, BLOCK_BYTES // SINGLE_ROWS)
    else:
        row_bytes = 8 * max(d, min(m, BLOCK_BYTES // 8 // SINGLE_ROWS))  # labels become dense, too
    for row_block in row_blocks(X.shape[0], row_bytes):
        if row_buffer is None:  # one buffer for all blocks: fresh pages cost more than the subtraction
            row_buffer = np.empty((row_block.stop - row_block.start, d), dtype=float_type)
        Z = np.subtract(
            X[row_block], shift_point, out=row_buffer[: row_block.stop - row_block.start], casting="same_kind"
        )
        if weights is not None:
            Z *= root_weights[row_block, None]
        add_labels(row_block, Z, fx)
        if single:  # NumPy's product with a transpose is one syrk, too
            sum_x += np.matmul(root_weights[row_block], Z)
            lower_half += np.matmul(Z.T, Z, out=block_gram)
        else:
            add_weighted_sum(root_weights[row_block], Z, sum_x)
            add_gram(Z, lower_half)
    full_gram = lower_half if single else lower_half + np.tril(lower_half, -1).T
    return sum_x, sum_targets, full_gram, np.ascontiguousarray(fx.T)
