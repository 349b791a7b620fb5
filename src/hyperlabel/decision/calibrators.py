"""Probabilities of many labels at once: for each the curve that predicts held-out rows best.

Every label starts from a sigmoid whose slope is drawn to that of all labels when positives are few. Labels
with enough of them may take a beta curve or a rising step curve instead, if its log loss on held-out rows is
lower by more than a standard error. All of that is read off one histogram of each label's scores.

Notation
--------
code       meaning                                               shape
logit      a_j·score + b_j at the middle of each bin             k×B
rows, on   rows and positives in each bin, by fold               F×k×B
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
        """Fit all labels; `method` names one curve for all of them, or lets held-out rows choose."""
        hist = _Histogram.of(scores, Y, sample_weight)
        found = Sigmoid.fit(scores, Y, sample_weight)
        sigmoid = _shrink_slopes(found, hist)
        logit = hist.middle * sigmoid.slope[:, None] + sigmoid.intercept[:, None]
        rows, on = hist.rows.sum(axis=0), hist.on.sum(axis=0)
        k = len(logit)
        kind = np.full(k, "sigmoid" if method == "auto" else method, dtype=object)
        if method == "auto":
            kind = _choose_curves(hist, logit)
        weights = np.tile([1.0, 1.0, 0.0], (k, 1))
        if (beta := np.flatnonzero(kind == "beta")).size:
            weights[beta] = _fit_beta(logit[beta], rows[beta], on[beta])
        start, knots, values = np.zeros(k + 1, dtype=np.int64), [], []
        for j in np.flatnonzero(kind == "isotonic"):
            kept = rows[j] > 0
            knots.append(logit[j, kept])
            values.append(_fit_isotonic(rows[j, kept], on[j, kept]))
            start[j + 1 :] += int(kept.sum())
        steps = Isotonic(start, np.concatenate([*knots, []]), np.concatenate([*values, []]))
        return cls(sigmoid, kind.astype(str), weights, steps, on.sum(axis=1))

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the probability of each label, n×k."""
        p = scores * self.sigmoid.slope + self.sigmoid.intercept
        for j, kind in enumerate(self.kind):
            if kind == "beta":
                p[:, j] = _beta_features(p[:, j]) @ self.weights[j]
            elif kind == "isotonic":
                part = slice(self.steps.start[j], self.steps.start[j + 1])
                p[:, j] = np.interp(p[:, j], self.steps.score[part], self.steps.p[part])
        is_logit = self.kind != "isotonic"
        p[:, is_logit] = expit(p[:, is_logit])
        return p

    def relabelled(self, kept: np.ndarray) -> Calibrators:
        """Return the curves of the labels numbered in `kept`; -1 is a new label, with the usual slope."""
        old, is_old = np.maximum(kept, 0), kept >= 0
        slope, intercept = self.sigmoid.slope, self.sigmoid.intercept
        usual = (np.median(slope), np.min(intercept)) if len(slope) else (1.0, 0.0)
        steps = self.steps
        parts = [slice(steps.start[j], steps.start[j + 1]) if j >= 0 else slice(0) for j in kept]
        score = [steps.score[part] for part in parts]
        start = np.r_[0, np.cumsum([len(part) for part in score])].astype(np.int64)
        p = np.concatenate([*(steps.p[part] for part in parts), []])
        return Calibrators(
            Sigmoid(np.where(is_old, slope[old], usual[0]), np.where(is_old, intercept[old], usual[1])),
            np.where(is_old, self.kind[old], "sigmoid"),
            np.where(is_old[:, None], self.weights[old], [1.0, 1.0, 0.0]),
            Isotonic(start, np.concatenate([*score, []]), p),
            np.where(is_old, self.positives[old], 0.0),
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
        n = len(scores)
        weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        fold = np.random.default_rng(0).permutation(np.arange(n) % N_FOLDS)
        mean, std, rows, on = bin_scores(scores, Y, weight, fold, N_BINS, REACH)
        middle = (np.arange(N_BINS) + 0.5 - N_BINS / 2) * (2 * REACH / N_BINS)
        return cls(mean[:, None] + middle * std[:, None], std, rows, on)


def _shrink_slopes(found: Sigmoid, hist: _Histogram) -> Sigmoid:
    """Draw slopes to the shared one (of standardised scores) and make the mean probability the base rate."""
    rows, on = hist.rows.sum(axis=0), hist.on.sum(axis=0)
    positives, n = on.sum(axis=1), rows.sum(axis=1)
    if not positives.sum():
        return found
    shared = np.average(found.slope * hist.std, weights=positives) / hist.std
    slope = (positives * found.slope + SHRINKAGE * shared) / (positives + SHRINKAGE)
    typical = (hist.middle * on).sum(axis=1) / np.maximum(positives, 1)
    intercept = found.intercept + (found.slope - slope) * typical
    target = np.clip(positives, 0.5, n - 0.5)
    for _ in range(50):
        p = expit(hist.middle * slope[:, None] + intercept[:, None])
        gap = target - (rows * p).sum(axis=1)
        step = gap / np.maximum((rows * p * (1 - p)).sum(axis=1), 1e-12)
        intercept = intercept + np.clip(step, -1.0, 1.0)
        if (np.abs(gap) < 1e-6 * n).all():
            break
    return Sigmoid(slope, intercept)


def _beta_features(logit: np.ndarray) -> np.ndarray:
    """Return ln p, −ln(1 − p) and 1."""
    return np.stack([log_expit(logit), -log_expit(-logit), np.ones_like(logit)], axis=-1)


def _fit_beta(logit: np.ndarray, rows: np.ndarray, on: np.ndarray) -> np.ndarray:
    """Fit σ(w·features) for all labels by Newton's method, drawn slightly to the curve they start from."""
    F = _beta_features(np.clip(logit, -30, 30))
    start = np.array([1.0, 1.0, 0.0])
    w = np.tile(start, (len(logit), 1))
    for _ in range(25):
        p = expit(np.einsum("kbf,kf->kb", F, w))
        gradient = np.einsum("kbf,kb->kf", F, on - rows * p) - (w - start)
        H = np.matmul(F.transpose(0, 2, 1) * (rows * p * (1 - p))[:, None, :], F) + np.eye(3)
        step = np.linalg.solve(H, gradient[:, :, None])[:, :, 0]
        w = w + step * np.minimum(1.0, 2.0 / np.maximum(np.abs(step).max(axis=1), 1e-12))[:, None]
        w[:, :2] = np.maximum(w[:, :2], 0.0)  # the curve must rise
        if np.abs(step).max(initial=0) < 1e-3:
            break
    return w


def _fit_isotonic(rows: np.ndarray, on: np.ndarray) -> np.ndarray:
    """Fit a rising step curve to the shares of one label, as far from 0 and 1 as its rows can tell."""
    edge = 1 / (rows.sum() + 2)
    return np.clip(isotonic_regression(on / rows, weights=rows).x, edge, 1 - edge)


def _choose_curves(hist: _Histogram, logit: np.ndarray) -> np.ndarray:
    """Return for each label the curve whose loss on held-out rows is clearly the lowest, or the sigmoid."""
    k = len(logit)
    positives = hist.on.sum(axis=(0, 2))
    kind = np.full(k, "sigmoid", dtype=object)
    lead = np.zeros(k)
    for name in ("beta", "isotonic"):
        tried = np.flatnonzero(positives >= LEAST[name])
        if not len(tried):
            continue
        mean, error = _held_out_gain(name, hist, logit, tried)
        better = mean > np.maximum(error, lead[tried])
        kind[tried[better]], lead[tried[better]] = name, mean[better]
    return kind


def _held_out_gain(
    name: str, hist: _Histogram, logit: np.ndarray, tried: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return by how much a curve lowers the held-out loss of the sigmoid, and the standard error of that."""
    total, square = np.zeros(len(tried)), np.zeros(len(tried))
    x = logit[tried]
    base_on, base_off = log_expit(x), log_expit(-x)
    for fold in range(len(hist.rows)):
        rows = (hist.rows.sum(axis=0) - hist.rows[fold])[tried]
        on = (hist.on.sum(axis=0) - hist.on[fold])[tried]
        if name == "beta":
            u = np.einsum("kbf,kf->kb", _beta_features(np.clip(x, -30, 30)), _fit_beta(x, rows, on))
            log_on, log_off = log_expit(u), log_expit(-u)
        else:
            p = np.empty_like(x)
            for j in range(len(tried)):
                kept = rows[j] > 0
                p[j] = np.interp(x[j], x[j, kept], _fit_isotonic(rows[j, kept], on[j, kept]))
            log_on, log_off = np.log(p), np.log1p(-p)
        hits, misses = hist.on[fold][tried], (hist.rows[fold] - hist.on[fold])[tried]
        gain_on, gain_off = log_on - base_on, log_off - base_off
        total += (hits * gain_on + misses * gain_off).sum(axis=1)
        square += (hits * gain_on**2 + misses * gain_off**2).sum(axis=1)
    return total, np.sqrt(square)
