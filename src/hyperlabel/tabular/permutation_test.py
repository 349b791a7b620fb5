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
from hyperlabel.tabular.model_file import ModelColumns

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
    shown: Any = None  # values whose means are reported, where `values` are ranks


@dataclass(frozen=True)
class Shift:
    """The p-value of the test and how far each column moved."""

    p_value: float
    moved: list[dict[str, Any]]  # every column, what moved most first

    @property
    def alarm(self) -> bool:
        """Return whether the test rejects, at `LEVEL`, that both sets of rows have one source."""
        return self.p_value <= LEVEL


def two_sample_test(
    old: Any,
    new: Any,
    *,
    columns: Any = None,
    scores: np.ndarray | None = None,
    groups: np.ndarray | None = None,
    random_state: int = 0,
) -> Shift:
    """Test by permutations whether the rows of two data sets come from one source.

    Parameters
    ----------
    old, new : Dataset
        Their labels, words, categories and numbers are compared.
    columns : ModelColumns, optional
        What the columns are, as `read_training` returns it; by default texts, text columns and numbers.
    scores : array of shape (n_old + n_new, n_labels), optional
        Scores of a model on the old and then the new rows, to be compared as well.
    groups : array of shape (n_old + n_new,), optional
        Rows of one group stay together when rows are exchanged.
    random_state : int, default=0
        Seed of the permutations.

    Returns
    -------
    Shift
        The p-value, and every column by how far it moved.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel.datasets import Dataset
    >>> from hyperlabel.tabular import two_sample_test
    >>> rng = np.random.default_rng(0)
    >>> y = np.zeros((60, 0))
    >>> old, new = (Dataset(rng.normal(mean, size=(60, 1)), y, ["size"]) for mean in (0, 1))
    >>> shift = two_sample_test(old, new)
    >>> shift.alarm, shift.moved[0]["name"]
    (True, 'size')
    """
    if columns is None:
        text_names = [] if old.text is None else ["text"]
        columns = ModelColumns(
            "table",
            list(old.label_names),
            n_features=old.n_features,
            feature_names=list(old.feature_names),
            text=text_names,
            categories=list(old.text_columns or ()),
        )
    sections = column_groups(old, new, columns, scores)
    return compare_sections(sections, len(old), groups=groups, seed=random_state)


def compare_sections(
    sections: Sequence[ColumnGroup], n_old: int, *, groups: np.ndarray | None = None, seed: int = 0
) -> Shift:
    """Compare the first `n_old` rows of every section with the others; rows of one group stay together."""
    sections = [section for section in map(_drop_constant_columns, sections) if section.names]
    if not sections:
        return Shift(1.0, [])
    n = sections[0].values.shape[0]
    rng = np.random.default_rng(seed)
    is_new = np.zeros(n)
    is_new[n_old:] = 1.0
    draw = (lambda: rng.permutation(is_new)) if groups is None else _make_group_draw(rng, is_new, groups)
    z = [_compute_z_scores(section.values, is_new[:, None]) for section in sections]
    section_statistics = [_compute_statistics(section_z) for section_z in z]
    for start in range(0, PERMUTATIONS, _AT_ONCE):
        n_draws = min(_AT_ONCE, PERMUTATIONS - start)
        drawn_rows = np.column_stack([draw() for _ in range(n_draws)])
        for i, section in enumerate(sections):
            section_statistics[i] = np.hstack(
                [section_statistics[i], _compute_statistics(_compute_z_scores(section.values, drawn_rows))]
            )
    all_statistics = np.vstack(section_statistics)  # statistics × (observed, then the permutations)
    # the minimum p-value is itself compared with its permutations: it accounts for several statistics
    shares_below = [np.searchsorted(np.sort(row), row, side="left") / len(row) for row in all_statistics]
    statistic_p_values = 1.0 - np.array(shares_below)
    min_p_values = statistic_p_values.min(axis=0)
    p_value = float((min_p_values <= min_p_values[0]).mean())
    column_shifts = [
        shift
        for section, section_z in zip(sections, z, strict=True)
        for shift in _describe_shifts(section, section_z[:, 0], n_old)
    ]
    return Shift(p_value, sorted(column_shifts, key=lambda shift: (-abs(shift["z"]), shift["name"])))


def _make_group_draw(
    rng: np.random.Generator, is_new: np.ndarray, groups: np.ndarray
) -> Callable[[], np.ndarray]:
    """Return how new rows are drawn again: groups of one file change files whole.

    The rows of a group that both files share change places among themselves.
    """
    _, group_of = np.unique(groups, return_inverse=True)
    group_sizes = np.bincount(group_of)
    share_new = np.bincount(group_of, weights=is_new) / group_sizes
    in_one_file = np.flatnonzero((share_new == 0) | (share_new == 1))
    in_both = ~np.isin(group_of, in_one_file)
    by_group = np.argsort(group_of[in_both], kind="stable")

    def draw() -> np.ndarray:
        drawn_share = share_new.copy()
        drawn_share[in_one_file] = rng.permutation(share_new[in_one_file])
        drawn_new = drawn_share[group_of]
        shuffled_order = np.lexsort((rng.random(len(by_group)), group_of[in_both]))
        shared_rows = np.empty(len(by_group))
        shared_rows[shuffled_order] = is_new[in_both][by_group]
        drawn_new[in_both] = shared_rows
        return drawn_new

    return draw


def _compute_statistics(z: np.ndarray) -> np.ndarray:
    """Return the largest |z| and the mean of z² of each choice of rows."""
    return np.vstack([np.abs(z).max(axis=0), (z**2).mean(axis=0)])


def _compute_z_scores(values: Any, drawn_rows: np.ndarray) -> np.ndarray:
    # groups differ in size, so the number of rows m may differ from draw to draw
    n, m = values.shape[0], drawn_rows.sum(axis=0)
    means, variance = _compute_moments(values)
    standard_deviation = np.sqrt(np.outer(variance, m * (n - m) / max(n - 1, 1)))
    return (values.T @ drawn_rows - np.outer(means, m)) / standard_deviation


def _compute_moments(values: Any) -> tuple[np.ndarray, np.ndarray]:
    means = np.asarray(values.mean(axis=0)).ravel()
    squares = values.multiply(values) if sparse.issparse(values) else values**2
    return means, np.maximum(np.asarray(squares.mean(axis=0)).ravel() - means**2, 0.0)


def _drop_constant_columns(section: ColumnGroup) -> ColumnGroup:
    """Leave out columns that never change, and labels and words too rare to tell anything."""
    if not section.names:
        return section
    column_means, variance = _compute_moments(section.values)
    is_informative = variance > 1e-12 * (1 + column_means**2)
    if section.kind not in ("numbers", "scores"):
        n = section.values.shape[0]
        is_informative &= (column_means * n >= _FEWEST) & ((1 - column_means) * n >= _FEWEST)
    columns = np.flatnonzero(is_informative)
    reported_values = None if section.shown is None else section.shown[:, columns]
    return ColumnGroup(
        section.kind, [section.names[j] for j in columns], section.values[:, columns], reported_values
    )


def _describe_shifts(section: ColumnGroup, z: np.ndarray, n_old: int) -> list[dict[str, Any]]:
    reported_values = section.values if section.shown is None else section.shown
    with np.errstate(invalid="ignore"):
        old, new = (
            _average_columns(reported_values[rows]) for rows in (slice(None, n_old), slice(n_old, None))
        )
    return [
        {"kind": section.kind, "name": name, "old": float(old[j]), "new": float(new[j]), "z": float(z[j])}
        for j, name in enumerate(section.names)
    ]


def _average_columns(values: Any) -> np.ndarray:
    if sparse.issparse(values):
        return np.asarray(values.mean(axis=0)).ravel()
    is_observed = ~np.isnan(values)
    return np.where(is_observed, values, 0.0).sum(axis=0) / np.maximum(is_observed.sum(axis=0), 1)


# -- from rows to sections ------------------------------------------------------------------------------


def label_section(old: Any, new: Any) -> ColumnGroup:
    """Return which rows have which label, over the labels of both files."""
    label_names = sorted({*old.label_names, *new.label_names})
    column_of_name = {name: j for j, name in enumerate(label_names)}
    label_matrices = [
        move_columns(dataset.Y, [column_of_name[name] for name in dataset.label_names], len(label_names))
        for dataset in (old, new)
    ]
    return ColumnGroup("labels", label_names, sparse.vstack(label_matrices, format="csr", dtype=np.float64))


def word_section(texts: list[str], column: str | None) -> ColumnGroup:
    """Return which texts use which word."""
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = CountVectorizer(binary=True, max_features=_MOST_WORDS, min_df=min(_FEWEST, len(texts)))
    try:
        word_matrix = vectorizer.fit_transform(texts)
    except ValueError:  # no word is used often enough
        return ColumnGroup("words", [], None)
    names = [word if column is None else f"{word} ({column})" for word in vectorizer.get_feature_names_out()]
    return ColumnGroup("words", names, sparse.csr_array(word_matrix, dtype=np.float64))


def category_section(column_values: list[str], column: str) -> ColumnGroup:
    """Return which rows have which value of a column of categories."""
    category_names, category_codes = np.unique(np.array(column_values, dtype=np.str_), return_inverse=True)
    matrix_entries = (np.ones(len(column_values)), (np.arange(len(column_values)), category_codes))
    indicator = sparse.csr_array(matrix_entries, shape=(len(column_values), len(category_names)))
    return ColumnGroup("categories", [f"{column}={name}" for name in category_names], indicator)


def number_sections(X: Any, names: Sequence[str], kind: str = "numbers") -> list[ColumnGroup]:
    """Return the ranks of numbers, the deviations of ranks from the middle, and which numbers are missing."""
    if sparse.issparse(X):
        column_counts = np.bincount(X.indices, minlength=X.shape[1])
        frequent_columns = np.sort(np.argsort(-column_counts, kind="stable")[:_MOST_WORDS])
        return [
            ColumnGroup(kind, [names[j] for j in frequent_columns], sparse.csr_array(X[:, frequent_columns]))
        ]
    is_missing = np.isnan(X)
    n_observed = np.maximum((~is_missing).sum(axis=0), 1)
    centred_ranks = (rankdata(X, axis=0, nan_policy="omit") - 0.5) / n_observed - 0.5  # from −½ to ½
    ranks, rank_deviations = np.where(is_missing, 0.0, [centred_ranks, np.abs(centred_ranks) - 0.25])
    medians = np.nanmedian(np.where(is_missing.all(axis=0), 0.0, X), axis=0)
    sections = [
        ColumnGroup(kind, list(names), ranks, X),
        ColumnGroup(kind, [f"{name} (deviation)" for name in names], rank_deviations, np.abs(X - medians)),
    ]
    if is_missing.any():
        sections.append(
            ColumnGroup("missing", [f"{name} (missing)" for name in names], is_missing.astype(np.float64))
        )
    return sections


def column_groups(old_table: Any, new_table: Any, columns: Any, scores: Any = None) -> list[Any]:
    """Return what two data sets are compared by; `scores` are of the old and then the new rows."""
    sections = []
    if old_table.n_labels and new_table.n_labels:
        sections.append(label_section(old_table, new_table))
    old_columns, new_columns = (
        (columns.cells(dataset) if columns.text_columns else []) for dataset in (old_table, new_table)
    )
    for j, (column_name, old_cells, new_cells) in enumerate(
        zip(columns.text_columns, old_columns, new_columns, strict=True)
    ):
        if j < len(columns.text):
            section_name = column_name if len(columns.text) > 1 else None
            sections.append(word_section(old_cells + new_cells, section_name))
        else:
            sections.append(category_section(old_cells + new_cells, column_name))
    if columns.n_features:
        numbers_by_file = [old_table.X, new_table.X]
        if any(map(sparse.issparse, numbers_by_file)):
            X = sparse.vstack([sparse.csr_array(numbers) for numbers in numbers_by_file], format="csr")
        else:
            X = np.vstack(numbers_by_file)
        sections += number_sections(X, columns.feature_names or old_table.feature_names)
    if scores is not None:
        sections += number_sections(scores, columns.label_names, "scores")[:1]
    return sections
