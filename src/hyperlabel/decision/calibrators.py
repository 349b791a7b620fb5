"""Probabilities of many labels at once: for each the curve that predicts held-out rows best.

Every label starts from a sigmoid whose slope is drawn to that of all labels when positives are few. Labels
with enough of them may take a beta curve or a rising step curve instead, if its log loss on held-out rows is
lower by more than a standard error. All of that is read off one histogram of each label's scores.

Notation
--------
code       meaning                                               shape
logit      a_j·score + b_j at the middle of each bin             k×B
rows, on   rows and positives in each bin, by fold (`bin_rows` and `bin_positives`: over folds) F×k×B
weights    of a curve: σ(w₀·ln p − w₁·ln(1−p) + w₂), p = σ(logit) k×3

References
----------
M. Kull, T. Silva Filho, P. Flach, *Beta calibration*, AISTATS 2017. B. Zadrozny, C. Elkan, *Transforming
classifier scores into accurate multiclass probability estimates*, KDD 2002.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.optimize import isotonic_regression
from scipy.special import expit, log_expit

from hyperlabel.decision.calibration_curves import Isotonic, Sigmoid
from hyperlabel.decision.known_entries import is_complete, known_column, known_labels, split_shares
from hyperlabel.solvers.labels.score_bins import bin_scores

N_BINS, REACH = 128, 8.0  # of standardised scores
N_FOLDS = 3
SHRINKAGE = 3.0  # positives that the shared slope counts for
LEAST = {"sigmoid": 0, "beta": 50, "isotonic": 200}  # positives a curve needs to be tried


@dataclass(frozen=True, eq=False)
class Calibrators:
    """Fitted curves of all labels."""

    sigmoid: Sigmoid
    kind: np.ndarray  # "sigmoid", "beta" or "isotonic"
    weights: np.ndarray  # of the beta curves, k×3
    steps: Isotonic  # on logits; labels with another curve have none
    positives: np.ndarray  # that each curve was fitted on

    @classmethod
    def fit(
        cls,
        scores: np.ndarray,
        Y: sparse.csr_array,
        sample_weight: np.ndarray | None = None,
        *,
        method: str = "auto",
    ) -> Calibrators:
        """Fit all labels; `method` names one curve for all of them, or lets held-out rows choose.

        With "sigmoid" the slopes are those of each label alone. Y may hold NaN where nobody knows and shares
        between 0 and 1, weights may be n×k.
        """
        score_histogram = _Histogram.of(scores, Y, sample_weight)
        platt_sigmoid = Sigmoid.fit(scores, Y, sample_weight)
        sigmoid = platt_sigmoid if method == "sigmoid" else _shrink_slopes(platt_sigmoid, score_histogram)
        logit = score_histogram.middle * sigmoid.slope[:, None] + sigmoid.intercept[:, None]
        bin_rows, bin_positives = score_histogram.rows.sum(axis=0), score_histogram.on.sum(axis=0)
        k = len(logit)
        curve_kind = np.full(k, "sigmoid" if method == "auto" else method, dtype=object)
        if method == "auto":
            curve_kind = _choose_curves(score_histogram, logit)
        curve_kind[bin_rows.sum(axis=1) == 0] = "sigmoid"  # nobody knows the label
        beta_weights = np.tile([1.0, 1.0, 0.0], (k, 1))
        if (beta_labels := np.flatnonzero(curve_kind == "beta")).size:
            beta_weights[beta_labels] = _fit_beta(
                logit[beta_labels], bin_rows[beta_labels], bin_positives[beta_labels]
            )
        knot_start, knots, knot_values = np.zeros(k + 1, dtype=np.int64), [], []
        for j in np.flatnonzero(curve_kind == "isotonic"):
            filled_bins = bin_rows[j] > 0
            knots.append(logit[j, filled_bins])
            knot_values.append(_fit_isotonic(bin_rows[j, filled_bins], bin_positives[j, filled_bins]))
            knot_start[j + 1 :] += int(filled_bins.sum())
        steps = Isotonic(knot_start, np.concatenate([*knots, []]), np.concatenate([*knot_values, []]))
        return cls(sigmoid, curve_kind.astype(str), beta_weights, steps, bin_positives.sum(axis=1))

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the probability of each label, n×k."""
        p = scores * self.sigmoid.slope + self.sigmoid.intercept
        for j, curve_kind in enumerate(self.kind):
            if curve_kind == "beta":
                p[:, j] = _beta_features(p[:, j]) @ self.weights[j]
            elif curve_kind == "isotonic":
                label_knots = slice(self.steps.start[j], self.steps.start[j + 1])
                p[:, j] = np.interp(p[:, j], self.steps.score[label_knots], self.steps.p[label_knots])
        is_logit = self.kind != "isotonic"
        p[:, is_logit] = expit(p[:, is_logit])
        return p

    @property
    def is_linear(self) -> bool:
        """Whether log-odds are a linear function of the scores."""
        return bool((self.kind == "sigmoid").all())

    def relabelled(self, old_columns: np.ndarray) -> Calibrators:
        """Return the curves of the labels `old_columns`; -1 is a new label, with the usual slope."""
        old_label, is_old = np.maximum(old_columns, 0), old_columns >= 0
        slope, intercept = self.sigmoid.slope, self.sigmoid.intercept
        usual_curve = (np.median(slope), np.min(intercept)) if len(slope) else (1.0, 0.0)
        steps = self.steps
        knot_slices = [slice(steps.start[j], steps.start[j + 1]) if j >= 0 else slice(0) for j in old_columns]
        knot_scores = [steps.score[knot_slice] for knot_slice in knot_slices]
        knot_start = np.r_[0, np.cumsum([len(knot_slice) for knot_slice in knot_scores])].astype(np.int64)
        p = np.concatenate([*(steps.p[knot_slice] for knot_slice in knot_slices), []])
        return Calibrators(
            Sigmoid(
                np.where(is_old, slope[old_label], usual_curve[0]),
                np.where(is_old, intercept[old_label], usual_curve[1]),
            ),
            np.where(is_old, self.kind[old_label], "sigmoid"),
            np.where(is_old[:, None], self.weights[old_label], [1.0, 1.0, 0.0]),
            Isotonic(knot_start, np.concatenate([*knot_scores, []]), p),
            np.where(is_old, self.positives[old_label], 0.0),
        )


@dataclass(frozen=True, eq=False)
class _Histogram:
    """Rows and positives of each label in bins of its standardised scores, by fold."""

    middle: np.ndarray  # scores, k×B
    std: np.ndarray  # standard deviation of the scores
    rows: np.ndarray
    on: np.ndarray

    @classmethod
    def of(cls, scores: np.ndarray, Y: sparse.csr_array, sample_weight: np.ndarray | None) -> _Histogram:
        if not is_complete(Y, sample_weight):
            return cls._of_known(scores, Y, sample_weight)
        n = len(scores)
        row_weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        fold_of_row = np.random.default_rng(0).permutation(np.arange(n) % N_FOLDS)
        mean_score, std, bin_rows, bin_positives = bin_scores(
            scores, Y, row_weight, fold_of_row, N_BINS, REACH
        )
        bin_middle = (np.arange(N_BINS) + 0.5 - N_BINS / 2) * (2 * REACH / N_BINS)
        return cls(mean_score[:, None] + bin_middle * std[:, None], std, bin_rows, bin_positives)

    @classmethod
    def _of_known(
        cls, scores: np.ndarray, Y: sparse.csr_array, sample_weight: np.ndarray | None
    ) -> _Histogram:
        """Return the histograms of labels with gaps, each of the rows that know it."""
        k = Y.shape[1]
        middle, std = np.zeros((k, N_BINS)), np.ones(k)
        bin_rows, bin_positives = np.zeros((2, N_FOLDS, k, N_BINS))
        for j, rows, target, weight in known_labels(Y, sample_weight, shares=True):
            if not len(rows):
                continue
            label_scores, target, weight = split_shares(scores[rows, j], target, weight)
            column = cls.of(np.ascontiguousarray(label_scores[:, None]), known_column(target), weight)
            middle[j], std[j] = column.middle[0], column.std[0]
            n_folds = len(column.rows)  # fewer than usual of very few rows
            bin_rows[:n_folds, j], bin_positives[:n_folds, j] = column.rows[:, 0], column.on[:, 0]
        return cls(middle, std, bin_rows, bin_positives)


def _shrink_slopes(platt_sigmoid: Sigmoid, hist: _Histogram) -> Sigmoid:
    """Draw slopes to the shared one (of standardised scores) and make the mean probability the base rate."""
    bin_rows, bin_positives = hist.rows.sum(axis=0), hist.on.sum(axis=0)
    positives, n = bin_positives.sum(axis=1), bin_rows.sum(axis=1)
    if not positives.sum():
        return platt_sigmoid
    is_unknown = n == 0
    shared_slope = np.average(platt_sigmoid.slope * hist.std, weights=positives) / hist.std
    slope = (positives * platt_sigmoid.slope + SHRINKAGE * shared_slope) / (positives + SHRINKAGE)
    mean_positive_score = (hist.middle * bin_positives).sum(axis=1) / np.maximum(positives, 1)
    intercept = platt_sigmoid.intercept + (platt_sigmoid.slope - slope) * mean_positive_score
    target_count = np.where(is_unknown, 0.0, np.clip(positives, 0.5, n - 0.5))
    for _ in range(50):
        p = expit(hist.middle * slope[:, None] + intercept[:, None])
        count_error = target_count - (bin_rows * p).sum(axis=1)
        newton_step = count_error / np.maximum((bin_rows * p * (1 - p)).sum(axis=1), 1e-12)
        intercept = intercept + np.clip(newton_step, -1.0, 1.0)
        if (np.abs(count_error) <= 1e-6 * n).all():
            break
    slope, intercept = (
        np.where(is_unknown, 0.0, slope),
        np.where(is_unknown, platt_sigmoid.intercept, intercept),
    )
    return Sigmoid(slope, intercept)


def _beta_features(logit: np.ndarray) -> np.ndarray:
    """Return ln p, −ln(1 − p) and 1."""
    return np.stack([log_expit(logit), -log_expit(-logit), np.ones_like(logit)], axis=-1)


def _fit_beta(logit: np.ndarray, bin_rows: np.ndarray, bin_positives: np.ndarray) -> np.ndarray:
    """Fit σ(w·features) for all labels by Newton's method, drawn slightly to the curve they start from."""
    F = _beta_features(np.clip(logit, -30, 30))
    start_weights = np.array([1.0, 1.0, 0.0])
    w = np.tile(start_weights, (len(logit), 1))
    for _ in range(25):
        p = expit(np.einsum("kbf,kf->kb", F, w))
        gradient = np.einsum("kbf,kb->kf", F, bin_positives - bin_rows * p) - (w - start_weights)
        H = np.matmul(F.transpose(0, 2, 1) * (bin_rows * p * (1 - p))[:, None, :], F) + np.eye(3)
        newton_step = np.linalg.solve(H, gradient[:, :, None])[:, :, 0]
        w = (
            w
            + newton_step * np.minimum(1.0, 2.0 / np.maximum(np.abs(newton_step).max(axis=1), 1e-12))[:, None]
        )
        w[:, :2] = np.maximum(w[:, :2], 0.0)  # the curve must rise
        if np.abs(newton_step).max(initial=0) < 1e-3:
            break
    return w


def _fit_isotonic(bin_rows: np.ndarray, bin_positives: np.ndarray) -> np.ndarray:
    """Fit a rising step curve to the shares of one label, as far from 0 and 1 as its rows can tell."""
    min_probability = 1 / (bin_rows.sum() + 2)
    return np.clip(
        isotonic_regression(bin_positives / bin_rows, weights=bin_rows).x,
        min_probability,
        1 - min_probability,
    )


def _choose_curves(hist: _Histogram, logit: np.ndarray) -> np.ndarray:
    """Return for each label the curve whose loss on held-out rows is clearly the lowest, or the sigmoid."""
    k = len(logit)
    positives = hist.on.sum(axis=(0, 2))
    curve_kind = np.full(k, "sigmoid", dtype=object)
    best_gain = np.zeros(k)
    for curve_name in ("beta", "isotonic"):
        tried_labels = np.flatnonzero(positives >= LEAST[curve_name])
        if not len(tried_labels):
            continue
        total_gain, standard_error = _held_out_gain(curve_name, hist, logit, tried_labels)
        is_better = total_gain > np.maximum(standard_error, best_gain[tried_labels])
        curve_kind[tried_labels[is_better]], best_gain[tried_labels[is_better]] = (
            curve_name,
            total_gain[is_better],
        )
    return curve_kind


def _held_out_gain(
    curve_name: str, hist: _Histogram, logit: np.ndarray, tried_labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return by how much a curve lowers the held-out loss of the sigmoid, and the standard error of that."""
    total_gain, squared_gain = np.zeros(len(tried_labels)), np.zeros(len(tried_labels))
    x = logit[tried_labels]
    base_on, base_off = log_expit(x), log_expit(-x)
    for fold in range(len(hist.rows)):
        train_rows = (hist.rows.sum(axis=0) - hist.rows[fold])[tried_labels]
        train_positives = (hist.on.sum(axis=0) - hist.on[fold])[tried_labels]
        if curve_name == "beta":
            u = np.einsum(
                "kbf,kf->kb", _beta_features(np.clip(x, -30, 30)), _fit_beta(x, train_rows, train_positives)
            )
            log_on, log_off = log_expit(u), log_expit(-u)
        else:
            p = np.empty_like(x)
            for j in range(len(tried_labels)):
                filled_bins = train_rows[j] > 0
                p[j] = np.interp(
                    x[j],
                    x[j, filled_bins],
                    _fit_isotonic(train_rows[j, filled_bins], train_positives[j, filled_bins]),
                )
            log_on, log_off = np.log(p), np.log1p(-p)
        test_positives, test_negatives = (
            hist.on[fold][tried_labels],
            (hist.rows[fold] - hist.on[fold])[tried_labels],
        )
        gain_on, gain_off = log_on - base_on, log_off - base_off
        total_gain += (test_positives * gain_on + test_negatives * gain_off).sum(axis=1)
        squared_gain += (test_positives * gain_on**2 + test_negatives * gain_off**2).sum(axis=1)
    return total_gain, np.sqrt(squared_gain)
