"""Do two sets of rows come from the same source? One permutation test over everything they hold.

Every label, word, category and number is a column of values. Its sum over the m new rows is compared with
what a random choice of m of all rows would give: z = (sum − expected) / standard deviation, both known. The
largest |z| and the mean of z² are then compared with the same over random choices of rows, so a false alarm
is as rare as the level says, however many columns there are and however they hang together. Rows must be
independent of each other: where those of a group are not, groups change sides, not rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import rankdata

from hyperlabel.tabular.label_spelling import move_columns

LEVEL = 0.05
PERMUTATIONS = 399
_AT_ONCE = 57  # permutations
_FEWEST = 10  # rows of both files that must have a word or label: rarer ones only add noise
_MOST_WORDS = 5000


@dataclass(frozen=True)
class ColumnGroup:
    """Columns of one kind, of the old rows and then the new ones."""

    kind: str  # labels, words, categories, numbers, missing or scores
    names: list[str]
    values: Any  # n × columns, dense or sparse
    shown: Any = None  # what means are told of, where values are ranks


@dataclass(frozen=True)
class Shift:
    """What the test says."""

    p_value: float
    moved: list[dict[str, Any]]  # every column, what moved most first

    @property
    def alarm(self) -> bool:
        """Whether the rows differ more than chance would have them."""
        return self.p_value <= LEVEL


def two_sample_test(
    sections: Sequence[ColumnGroup], n_old: int, *, groups: np.ndarray | None = None, seed: int = 0
) -> Shift:
    """Compare the first `n_old` rows of every section with the others; rows of one group stay together."""
    sections = [part for part in map(_drop_constant_columns, sections) if part.names]
    if not sections:
        return Shift(1.0, [])
    n = sections[0].values.shape[0]
    rng = np.random.default_rng(seed)
    new = np.zeros(n)
    new[n_old:] = 1.0
    draw = (lambda: rng.permutation(new)) if groups is None else _group_draw(rng, new, groups)
    z = [_z_scores(part.values, new[:, None]) for part in sections]
    found = [_test_statistics(values) for values in z]
    for start in range(0, PERMUTATIONS, _AT_ONCE):
        count = min(_AT_ONCE, PERMUTATIONS - start)
        chosen = np.column_stack([draw() for _ in range(count)])
        for i, part in enumerate(sections):
            found[i] = np.hstack([found[i], _test_statistics(_z_scores(part.values, chosen))])
    table = np.vstack(found)  # statistics × (what was seen, then the permutations)
    # how extreme each statistic is among its like; then how extreme the most extreme one is
    below = [np.searchsorted(np.sort(row), row, side="left") / len(row) for row in table]
    extreme = 1.0 - np.array(below)
    least = extreme.min(axis=0)
    p_value = float((least <= least[0]).mean())
    moved = [
        one
        for part, values in zip(sections, z, strict=True)
        for one in _describe_shifts(part, values[:, 0], n_old)
    ]
    return Shift(p_value, sorted(moved, key=lambda one: (-abs(one["z"]), one["name"])))


def _group_draw(rng: np.random.Generator, new: np.ndarray, groups: np.ndarray) -> Callable[[], np.ndarray]:
    """Return how new rows are drawn again: groups of one file change files whole.

    The rows of a group that both files share change places among themselves.
    """
    _, group_of = np.unique(groups, return_inverse=True)
    sizes = np.bincount(group_of)
    share_new = np.bincount(group_of, weights=new) / sizes
    in_one_file = np.flatnonzero((share_new == 0) | (share_new == 1))
    in_both = ~np.isin(group_of, in_one_file)
    by_group = np.argsort(group_of[in_both], kind="stable")

    def draw() -> np.ndarray:
        drawn_share = share_new.copy()
        drawn_share[in_one_file] = rng.permutation(share_new[in_one_file])
        drawn = drawn_share[group_of]
        shuffled = np.lexsort((rng.random(len(by_group)), group_of[in_both]))
        shared_rows = np.empty(len(by_group))
        shared_rows[shuffled] = new[in_both][by_group]
        drawn[in_both] = shared_rows
        return drawn

    return draw


def _test_statistics(z: np.ndarray) -> np.ndarray:
    """Return the largest |z| and the mean of z² of each choice of rows."""
    return np.vstack([np.abs(z).max(axis=0), (z**2).mean(axis=0)])


def _z_scores(values: Any, chosen: np.ndarray) -> np.ndarray:
    n, m = (
        values.shape[0],
        chosen.sum(axis=0),
    )  # groups of unequal size: a draw may have other numbers of rows
    mean, variance = _column_moments(values)
    standard_deviation = np.sqrt(np.outer(variance, m * (n - m) / max(n - 1, 1)))
    return (values.T @ chosen - np.outer(mean, m)) / standard_deviation


def _column_moments(values: Any) -> tuple[np.ndarray, np.ndarray]:
    mean = np.asarray(values.mean(axis=0)).ravel()
    squares = values.multiply(values) if sparse.issparse(values) else values**2
    return mean, np.maximum(np.asarray(squares.mean(axis=0)).ravel() - mean**2, 0.0)


def _drop_constant_columns(part: ColumnGroup) -> ColumnGroup:
    """Leave out columns that never change, and labels and words too rare to tell anything."""
    if not part.names:
        return part
    mean, variance = _column_moments(part.values)
    kept = variance > 1e-12 * (1 + mean**2)
    if part.kind not in ("numbers", "scores"):
        n = part.values.shape[0]
        kept &= (mean * n >= _FEWEST) & ((1 - mean) * n >= _FEWEST)
    columns = np.flatnonzero(kept)
    shown = None if part.shown is None else part.shown[:, columns]
    return ColumnGroup(part.kind, [part.names[j] for j in columns], part.values[:, columns], shown)


def _describe_shifts(part: ColumnGroup, z: np.ndarray, n_old: int) -> list[dict[str, Any]]:
    told = part.values if part.shown is None else part.shown
    with np.errstate(invalid="ignore"):
        old, new = (_column_means(told[rows]) for rows in (slice(None, n_old), slice(n_old, None)))
    return [
        {"kind": part.kind, "name": name, "old": float(old[j]), "new": float(new[j]), "z": float(z[j])}
        for j, name in enumerate(part.names)
    ]


def _column_means(values: Any) -> np.ndarray:
    if sparse.issparse(values):
        return np.asarray(values.mean(axis=0)).ravel()
    known = ~np.isnan(values)
    return np.where(known, values, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)


# -- from rows to sections ------------------------------------------------------------------------------


def label_section(old: Any, new: Any) -> ColumnGroup:
    """Which rows have which label, over the labels of both files."""
    names = sorted({*old.label_names, *new.label_names})
    place = {name: j for j, name in enumerate(names)}
    parts = [
        move_columns(data.Y, [place[name] for name in data.label_names], len(names)) for data in (old, new)
    ]
    return ColumnGroup("labels", names, sparse.vstack(parts, format="csr", dtype=np.float64))


def word_section(texts: list[str], column: str | None) -> ColumnGroup:
    """Which texts use which word."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(binary=True, max_features=_MOST_WORDS, min_df=min(_FEWEST, len(texts)))
    try:
        used = vectorizer.fit_transform(texts)
    except ValueError:  # no word is used often enough
        return ColumnGroup("words", [], None)
    names = [word if column is None else f"{word} ({column})" for word in vectorizer.get_feature_names_out()]
    return ColumnGroup("words", names, sparse.csr_array(used, dtype=np.float64))


def category_section(cells: list[str], column: str) -> ColumnGroup:
    """Which rows have which value of a column of categories."""
    names, codes = np.unique(np.array(cells, dtype=np.str_), return_inverse=True)
    ones = (np.ones(len(cells)), (np.arange(len(cells)), codes))
    values = sparse.csr_array(ones, shape=(len(cells), len(names)))
    return ColumnGroup("categories", [f"{column}={name}" for name in names], values)


def number_sections(X: Any, names: Sequence[str], kind: str = "numbers") -> list[ColumnGroup]:
    """Where numbers lie among all (ranks), how far from the middle, and where they are missing."""
    if sparse.issparse(X):
        counts = np.bincount(X.indices, minlength=X.shape[1])
        most = np.sort(np.argsort(-counts, kind="stable")[:_MOST_WORDS])
        return [ColumnGroup(kind, [names[j] for j in most], sparse.csr_array(X[:, most]))]
    missing = np.isnan(X)
    known = np.maximum((~missing).sum(axis=0), 1)
    middle = (rankdata(X, axis=0, nan_policy="omit") - 0.5) / known - 0.5  # from −½ to ½
    ranks, out = np.where(missing, 0.0, [middle, np.abs(middle) - 0.25])
    medians = np.nanmedian(np.where(missing.all(axis=0), 0.0, X), axis=0)
    parts = [
        ColumnGroup(kind, list(names), ranks, X),
        ColumnGroup(kind, [f"{name} (deviation)" for name in names], out, np.abs(X - medians)),
    ]
    if missing.any():
        parts.append(
            ColumnGroup("missing", [f"{name} (missing)" for name in names], missing.astype(np.float64))
        )
    return parts
