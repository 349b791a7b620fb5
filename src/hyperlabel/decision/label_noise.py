"""Which labels of the training data look wrong or missing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hyperlabel._validation import check_targets
from hyperlabel.decision.calibrators import Calibrators
from hyperlabel.solvers.arrays import row_blocks

GRID = 256  # scores of each label at which its curve is looked at before its entries are
LEAST_LIKELY = 0.2  # share of the entries that tell how often labels are added
DROPPED = 0.03  # share of the labels assumed to be missing: scores alone cannot tell it


@dataclass(frozen=True, eq=False)
class LabelErrors:
    """Entries of Y, the most suspicious first.

    Parameters
    ----------
    row, label : ndarray of int of shape (n_entries,)
        Where the entry is.
    is_set : ndarray of bool of shape (n_entries,)
        True: the label is set and looks wrong. False: it is not set and looks missing.
    probability : ndarray of shape (n_entries,)
        What the model, not having seen the row, gives the label.
    evidence : ndarray of shape (n_entries,)
        Log-odds that the entry is an error, up to a constant.
    label_names : list of str or None
        Names of all labels.

    Examples
    --------
    >>> len(LabelErrors(*(np.array([value]) for value in (3, 1, True, 0.02, 3.9))))
    1
    """

    row: np.ndarray
    label: np.ndarray
    is_set: np.ndarray
    probability: np.ndarray
    evidence: np.ndarray
    label_names: list[str] | None = None

    def __len__(self) -> int:
        """Return the number of entries."""
        return len(self.row)

    def __iter__(self) -> Iterator[tuple[int, int, str, float]]:
        """Go through (row, label, "wrong" or "missing", probability)."""
        for row, label, is_set, p in zip(self.row, self.label, self.is_set, self.probability, strict=True):
            yield int(row), int(label), "wrong" if is_set else "missing", float(p)

    def table(self) -> list[dict[str, Any]]:
        """Return one dict an entry, the label by its name: ready for ``pandas.DataFrame``."""
        return [
            {
                "row": row,
                "label": label if self.label_names is None else self.label_names[label],
                "looks": looks,
                "probability": p,
                "evidence": float(evidence),
            }
            for (row, label, looks, p), evidence in zip(self, self.evidence, strict=True)
        ]


def label_errors(
    y: Any,
    scores: Any,
    *,
    proba: bool = False,
    noise: str = "estimated",
    n_entries: int | None = 100,
    label_names: Sequence[str] | None = None,
) -> LabelErrors:
    r"""Rank the (row, label) entries most likely to be wrong or missing.

    With p the probability of the label by a model that has not seen the row, the odds that an entry is
    an error are, up to a constant,

    .. math:: \text{missing: } \frac{p}{1-p}, \qquad
              \text{wrong: } \frac{1-p}{p} \cdot r_j, \qquad
              r_j = \frac{\text{rate at which label j is added}}{\text{rate at which it is dropped}},

    where:

    - *uniform* noise flips every entry at one rate, r = 1; *proportional* noise adds labels in proportion to
      their frequency, r = π/(1 − π) with π the share of rows with the label;
    - *estimated*: r = min(1, ρ/0.03), where labels are added at one rate ρ: the share that is set among the
      least likely fifth of all entries. Hardly any of them belongs there, and unlike a probability, which a
      curve may carry on towards 0, a count does not fall below what was added.

    Parameters
    ----------
    y : array-like or sparse matrix of shape (n_samples, n_labels)
        The labels to be checked.
    scores : array-like of shape (n_samples, n_labels)
        **Out-of-fold** scores, `oof_scores_` or :func:`hyperlabel.out_of_fold_scores`; rows with NaN are
        left out. They are turned into probabilities by the curve of each label that predicts best.
    proba : bool, default=False
        The scores are probabilities already.
    noise : {"estimated", "proportional", "uniform"}, default="estimated"
        See above.
    n_entries : int or None, default=100
        How many entries to list; None lists all n×k of them.
    label_names : sequence of str, default=None
        For the table; None takes those of y where it has them.

    Returns
    -------
    quality : LabelErrors

    References
    ----------
    C. Northcutt, L. Jiang, I. Chuang, *Confident learning: estimating uncertainty in dataset labels*,
    JAIR 2021 (the idea of ranking by out-of-fold probabilities).

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel.decision import label_errors
    >>> y = np.array([[1, 0], [0, 1], [1, 1]])
    >>> p = np.array([[0.9, 0.8], [0.2, 0.9], [0.8, 0.7]])
    >>> next(iter(label_errors(y, p, proba=True)))
    (0, 1, 'missing', 0.8)
    """
    if noise not in ("estimated", "proportional", "uniform"):
        raise ValueError(f"noise must be 'estimated', 'proportional' or 'uniform', got {noise!r}.")
    Y, layout = check_targets(y, name="label_errors")
    names = [str(name) for name in (layout.label_names if label_names is None else label_names)]
    scores = np.asarray(scores, dtype=np.float64)
    if scores.shape != Y.shape:
        raise ValueError(f"scores have shape {scores.shape}, but y has shape {Y.shape}: they must agree.")
    scored_rows = np.flatnonzero(~np.isnan(scores.sum(axis=1)))
    if len(scored_rows) < len(scores):
        scores, Y = scores[scored_rows], Y[scored_rows]
    if not proba:
        curves = Calibrators.fit(scores, Y)
    elif scores.size and not (scores.min() >= 0 and scores.max() <= 1):
        raise ValueError("With proba=True the scores must be probabilities between 0 and 1.")
    n, k = Y.shape
    sampled_rows = slice(None, None, max(1, n // 5000))
    probabilities = (lambda given_scores: given_scores) if proba else curves.probabilities
    prior_odds = _log_prior_odds(noise, Y, Y[sampled_rows], probabilities(scores[sampled_rows]))
    max_entries = n * k if n_entries is None else min(n_entries, n * k)
    entry_index, evidence, p, is_set = _most_likely_errors(scores, Y, probabilities, prior_odds, max_entries)
    return LabelErrors(scored_rows[entry_index // k], entry_index % k, is_set, p, evidence, names)


def _most_likely_errors(
    scores: np.ndarray, Y: Any, probabilities: Any, prior_odds: np.ndarray, max_entries: int
) -> Any:
    """Return index, evidence, probability and label of the entries most likely to be wrong, best first."""
    n, k = Y.shape
    top_entries = [np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0), np.zeros(0, dtype=bool)]
    min_evidence, odds_lattice = -np.inf, None  # evidence that still makes the list
    for block in row_blocks(n, 32 * k):  # four arrays of a block at a time
        rows = np.arange(block.start, block.stop)
        if min_evidence > -np.inf:
            if odds_lattice is None:
                odds_lattice = _odds_of_scores(scores, probabilities)
            rows = _may_be_error(rows, scores[block], Y[block], odds_lattice, prior_odds, min_evidence)
        p = np.clip(probabilities(scores[rows]), 1e-12, 1 - 1e-12)
        is_set = Y[rows].toarray() > 0
        log_odds = np.log(p) - np.log1p(-p)
        evidence = np.where(is_set, prior_odds - log_odds, log_odds).ravel()
        new_entries = np.flatnonzero(evidence > min_evidence)  # the list stays short from block to block
        block_entries = (
            rows[new_entries // k] * k + new_entries % k,
            evidence[new_entries],
            p.ravel()[new_entries],
            is_set.ravel()[new_entries],
        )
        top_entries = [np.concatenate(pair) for pair in zip(top_entries, block_entries, strict=True)]
        if len(top_entries[0]) > max_entries:
            top_order = np.argsort(-top_entries[1], kind="stable")[:max_entries]
            top_entries = [entry_column[top_order] for entry_column in top_entries]
            min_evidence = top_entries[1][-1] if max_entries else np.inf
    return (entry_column[np.argsort(-top_entries[1], kind="stable")] for entry_column in top_entries)


def _odds_of_scores(scores: np.ndarray, probabilities: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return scores over the range of each label's, and their log-odds, which rise with them."""
    min_score, max_score = scores.min(axis=0), scores.max(axis=0)
    score_grid = min_score + np.linspace(0.0, 1.0, GRID)[:, None] * (max_score - min_score)
    p = np.clip(probabilities(score_grid), 1e-12, 1 - 1e-12)
    return score_grid, np.log(p) - np.log1p(-p)


def _may_be_error(
    rows: np.ndarray,
    scores: np.ndarray,
    Y: Any,
    odds_lattice: Any,
    prior_odds: np.ndarray,
    min_evidence: float,
) -> np.ndarray:
    """Return the rows with an entry whose evidence may exceed `min_evidence`, by its score alone."""
    score_grid, log_odds = odds_lattice
    # an entry may be an error above `lower_score` if it is not set, below `upper_score` if it is
    lower_score = np.where(log_odds <= min_evidence, score_grid, -np.inf).max(axis=0)
    upper_score = np.where(prior_odds - log_odds <= min_evidence, score_grid, np.inf).min(axis=0)
    may_be_error, entries = scores > lower_score, Y.tocoo()
    may_be_error[entries.row, entries.col] = scores[entries.row, entries.col] < upper_score[entries.col]
    return rows[may_be_error.any(axis=1)]


def _log_prior_odds(noise: str, Y: Any, sampled_Y: Any, likely: np.ndarray) -> np.ndarray:
    """Log r of each label (see `label_errors`); `likely` are the probabilities of the rows of `sampled_Y`."""
    n, k = Y.shape
    if noise == "proportional":
        label_rate = np.clip(Y.sum(axis=0) / max(1, n), 1 / (n + 2), 1 - 1 / (n + 2))
        return np.log(label_rate / (1 - label_rate))
    if noise == "uniform" or not likely.size:
        return np.zeros(k)
    is_least_likely = likely <= np.quantile(likely, LEAST_LIKELY)
    added_share = sampled_Y.toarray()[is_least_likely].mean()
    return np.full(k, np.log(np.clip(added_share / DROPPED, 1e-3, 1.0)))
