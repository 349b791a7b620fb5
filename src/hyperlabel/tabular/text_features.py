"""Which features of texts a fit takes: words, or characters in a row, as held-out rows say.

Languages that build words of parts (Finnish, German) need the parts. Words are kept unless characters rank
the labels of held-out rows clearly better: words take a third of the time, and are easier to read.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.tabular.fit_plan import count_characters
from hyperlabel.tabular.label_text import make_label_rows
from hyperlabel.tabular.pipeline import Choices, features_step, fit_index, learned_rows

_FEWEST_ROWS = 50  # of fewer, three folds say nothing
_MOST_ROWS = 2000  # that both kinds of features are compared on
_MOST_CHARACTERS = 30_000_000  # of all texts: beyond, features of characters would take minutes
_STANDARD_ERRORS = 2.0  # by which characters must be better, and by how much: people read words
_LEAST_GAIN = 0.05
_DEPTH = 10  # of the ranking compared


def choose_text_features(dataset: Any, columns: Any, choices: Choices) -> tuple[Choices, str | None]:
    """Return the choices with words or characters as features of texts, and what was compared."""
    if choices.analyzer != "auto":
        return choices, None
    by_words = replace(choices, analyzer="word")
    has_missing_labels = dataset.missing is not None and dataset.missing.nnz > 0
    n_characters = count_characters(dataset, columns)
    if not columns.text or has_missing_labels or n_characters > _MOST_CHARACTERS:
        return by_words, None
    rows = _sample_rows(dataset, columns, choices)
    labels = np.flatnonzero(np.asarray(dataset.Y[rows].sum(axis=0)).ravel() >= 2)
    if len(rows) < _FEWEST_ROWS or len(labels) < 2:
        return by_words, None
    row_sample = dataset if len(rows) == dataset.Y.shape[0] else dataset[rows]
    row_groups = row_sample.groups if row_sample.time is None else row_sample.time
    if row_groups is not None and len(set(row_groups)) < 2:
        return by_words, None
    split = _split_rows(row_sample)
    by_characters = replace(choices, analyzer="char_wb", ngrams=1)
    candidates = [
        _make_rows(row_sample, columns, candidate, labels) for candidate in (by_words, by_characters)
    ]
    word_gains, character_gains = _held_out_gains(candidates, row_sample.Y[:, labels], choices, *split)
    takes_characters = _is_clearly_better(character_gains - word_gains)
    sentence = (
        f"features: {'characters' if takes_characters else 'words'} (nDCG@{_DEPTH} on {len(word_gains)} "
        f"held-out rows: {word_gains.mean():.3f} by words, {character_gains.mean():.3f} by characters)"
    )
    return (by_characters if takes_characters else by_words), sentence


def _is_clearly_better(differences: np.ndarray) -> bool:
    if len(differences) < 2:
        return False
    standard_error = differences.std(ddof=1) / np.sqrt(len(differences))
    return bool(differences.mean() > max(_STANDARD_ERRORS * standard_error, _LEAST_GAIN))


def _sample_rows(dataset: Any, columns: Any, choices: Choices) -> np.ndarray:
    """Return rows to compare on: none of those held out for a guarantee, the latest where there are times."""
    row_groups, n_rows = dataset.groups if dataset.time is None else dataset.time, dataset.Y.shape[0]
    rows = np.arange(n_rows)[fit_index(n_rows, row_groups, choices.precision)]
    if len(rows) <= _MOST_ROWS:
        return rows
    if dataset.time is not None:
        return np.sort(rows[np.argsort(dataset.time[rows], kind="stable")[-_MOST_ROWS:]])
    return np.sort(np.random.default_rng(choices.seed).choice(rows, _MOST_ROWS, replace=False))


def _split_rows(row_sample: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return rows to learn from and a third to score, the later half where rows have times."""
    from hyperlabel.model_selection import TimeOrderedSplit
    from hyperlabel.model_selection.folds import make_folds

    if row_sample.time is not None:
        return next(TimeOrderedSplit(1).split(row_sample.time, groups=row_sample.time))
    return make_folds(3, row_sample.Y, row_sample.groups, at_most_rows=True)[0]


def _make_rows(row_sample: Any, columns: Any, choices: Choices, labels: np.ndarray) -> tuple[Any, Any]:
    """Return the features of the rows, and those of the labels."""
    feature_step = features_step(columns, row_sample, choices)
    X = sparse.csr_array(learned_rows(feature_step, columns.inputs(row_sample), None, None), dtype=np.float64)
    label_names = [columns.label_names[j] for j in labels]
    return X, make_label_rows(label_names, feature_step, X.shape[1], choices)


def _held_out_gains(
    candidates: list[Any], Y: Any, choices: Choices, train: np.ndarray, test: np.ndarray
) -> list[np.ndarray]:
    """Return nDCG of the held-out rows that carry one of the labels, scored as the fit will score."""
    from hyperlabel.linear.label_features import score_held_out
    from hyperlabel.metrics.at_k import ndcg_rows
    from hyperlabel.metrics.ranking import ranked_blocks
    from hyperlabel.metrics.validation import Truth

    Y, alpha = sparse.csr_array(Y, dtype=np.float64), choices.alpha[0] if choices.alpha else 1.0
    test = test[np.asarray(Y[test].sum(axis=1)).ravel() > 0]
    scores_by_candidate = [score_held_out(X, Y, V, alpha, train, test) for X, V in candidates]
    truth = Truth.of_targets(Y[test])
    return [
        np.concatenate([ndcg_rows(block, min(_DEPTH, Y.shape[1])) for block in ranked_blocks(truth, scores)])
        for scores in scores_by_candidate
    ]
