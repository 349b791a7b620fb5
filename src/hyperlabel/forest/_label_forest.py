"""Leaves as hyperedges: trees that part rows by their labels, each leaf joining the rows that fall into it.

A row asks each tree for its leaf, each leaf answers with the label frequencies of its rows, and the score is
the mean of the answers. A tree splits by one column (scikit-learn's, grown on a few label codes, PLST) or by
the means of two groups of label sets (`solvers.labels.label_trees`). Either is kept as weights, a threshold
and two children, plain arrays that no compiled code trusts: 8 bytes for each row and tree, 24 for each node,
8 for each weight, and Y. Every tree is grown on the training rows of one fold: out-of-fold scores need no
refit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import normalize
from sklearn.tree import ExtraTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from hyperlabel._base import MultiLabelClassifier, place_constant_labels, shape_probabilities
from hyperlabel._missing_labels import (
    EPS,
    fill_unknown,
    find_unknown_labels,
    known_part,
    label_counts,
    rows_with_known_labels,
    split_missing,
)
from hyperlabel._params import NONE, Rule, number, one_of, whole
from hyperlabel._validation import canonical_rows
from hyperlabel.model_selection.folds import make_folds
from hyperlabel.solvers.arrays import mostly_zero, row_blocks
from hyperlabel.solvers.labels.label_trees import Tree, find_leaves, grow_tree, leaf_frequencies
from hyperlabel.solvers.spectral.label_svd import principal_directions

DENSE_BYTES = 2**29  # trees grow several times faster on dense rows: sparse ones are opened up to here


@dataclass(eq=False, repr=False)
class LabelForest(MultiLabelClassifier):
    r"""Trees that part rows by their labels, whose leaves hold label frequencies.

    .. math:: f_j(x) = \frac1T \sum_t \frac1{|e_t(x)|} \sum_{i \in e_t(x)} y_{ij},

    where :math:`e_t(x)`, a hyperedge over the training rows, is the leaf of tree t that x falls into.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    splits : {"auto", "columns", "means"}, default="auto"
        How nodes part their rows. "columns" compares one column with a threshold (extremely randomised
        trees). "means" parts the label sets of a node into two groups and sends each row, at unit length, to
        the group with the nearer mean row: many columns speak, as rows of words need it. "auto" takes means
        where most entries of X are zero.
    min_samples_leaf : int, default=None
        Fewest rows of a leaf; None is 2 for columns and 5 for means, which part nodes of more than twice as
        many rows.
    n_codes : int, default=40
        Label codes that columns are judged on: principal directions of the label sets.
    max_features : {"sqrt", "log2"}, float or int, default="sqrt"
        Columns compared at a split, as in scikit-learn.
    cv : None, int, splitter or iterable of (train, test), default=None
        Folds the trees are dealt to, each grown without the rows its fold tests; None grows all on all rows.
        Leaves are filled with all rows in either case.
    n_jobs, random_state
        Trees grown in parallel, and their seed.

    Attributes
    ----------
    oof_scores_ : ndarray of shape (n_samples, n_labels)
        With `cv`, scores of each row by the trees grown without it, from leaves filled without its fold; NaN
        for rows in no test fold.

    References
    ----------
    P. Geurts, D. Ernst, L. Wehenkel, *Extremely randomized trees*, Machine Learning 63, 2006.
    A. Joly, P. Geurts, L. Wehenkel, *Random forests with random projections of the output space for high
    dimensional multi-label classification*, ECML PKDD 2014.
    W. Siblini, P. Kuntz, F. Meyer, *CRAFTML, an efficient clustering-based random forest for extreme
    multi-label learning*, ICML 2018.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import LabelForest
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> model = LabelForest(30, cv=3, random_state=0).fit(X, Y)
    >>> model.predict_proba(X[:2]).shape, model.oof_scores_.shape
    ((2, 5), (200, 5))
    """

    # nodes m of all trees: left and right child (a leaf's: itself), and the training rows that each joins
    _fitted_shapes: ClassVar[dict[str, str]] = {"_labels": "n k", "_edges": "m n", "_children": "m 2"}
    _fitted_shapes |= {"_missing": "n k", "_weights": "m d", "_threshold": "m", "_roots": "t"}
    _rules: ClassVar[dict[str, Rule]] = {
        **dict.fromkeys(("n_estimators", "n_codes"), whole(1)),
        "splits": one_of("auto", "columns", "means"),
        "min_samples_leaf": whole(1) | NONE,
        "max_features": one_of("sqrt", "log2") | number(above=0) | NONE,
    }

    _accepts_missing_labels = True

    n_estimators: int = 100
    _: KW_ONLY
    splits: str = "auto"
    min_samples_leaf: int | None = None
    n_codes: int = 40
    max_features: Any = "sqrt"
    cv: Any = None
    n_jobs: int | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any, groups: Any = None) -> LabelForest:
        """Grow the trees, on folds that keep `groups` together, and fill their leaves with the rows.

        Labels nobody knows (NaN): a leaf answers with the frequency among its rows that know the label, or
        with the label's share among all rows that do. Trees of columns part rows by labels filled with those
        shares, trees of means by the labels known. Rows without a known label are left out (their
        `oof_scores_` are those of all trees). A label that no row knows has the mean share of the others,
        and is not predicted by that alone.
        """
        X_given, Y_given = self._check_fit(X, y)
        X, Y_known = known_part(X_given, Y_given)
        known_rows = rows_with_known_labels(Y_given)
        if groups is not None and known_rows is not None:
            groups = np.asarray(groups)[known_rows]
        Y, missing = split_missing(Y_known)
        if missing is not None:
            self._set_unknown(Y_known, missing)
        all_rows = np.arange(X.shape[0])
        folds = self._make_folds(X, Y, groups, known_rows, Y_given.shape[0])
        self._by_means = self.splits == "means" or (self.splits == "auto" and mostly_zero(X))
        rows = self._prepare_rows(X)
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_estimators)
        trees: list[Any] = [None] * len(seeds)
        for fold, (train, _) in enumerate(folds):  # the test rows' labels shape neither codes nor trees
            fold_trees = slice(fold, None, len(folds))
            labels = Y_known[train] if missing is not None and not self._by_means else Y[train]
            grow = self._make_grower(rows[train], fill_unknown(labels))
            trees[fold_trees] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(grow)(seed) for seed in seeds[fold_trees]
            )
        self._stack_trees(trees)
        leaves = np.vstack([self._find_leaves(X[block]) for block in self._iter_row_blocks(X)])
        self._labels = Y
        self._edges = self._make_leaf_edges(leaves, all_rows)
        if self.cv is not None:
            self._score_folds(leaves, folds)
            if known_rows is not None:
                self._score_left_out_rows(X_given, known_rows)
        return self

    def _stack_trees(self, trees: list[Any]) -> None:
        """Keep the nodes of all trees in one table; `_roots` says where each tree begins."""
        self._roots = np.cumsum([0, *(len(tree[1]) for tree in trees[:-1])], dtype=np.int32)
        self._weights = canonical_rows(sparse.vstack([tree[0] for tree in trees], format="csr"))
        self._threshold = np.concatenate([tree[1] for tree in trees])
        self._children = np.vstack([tree[2] + root for tree, root in zip(trees, self._roots, strict=True)])

    def _make_folds(self, X: Any, Y: Any, groups: Any, known_rows: Any, n_given: int) -> list[Any]:
        """Return (train, test) rows of each fold; without `cv` one fold trains on all rows."""
        if self.cv is None:
            all_rows = np.arange(X.shape[0])
            return [(all_rows, all_rows[:0])]
        cv = self.cv if known_rows is None else _renumber_folds(self.cv, known_rows, n_given)
        return make_folds(cv, Y, groups, X=X, at_most_rows=True)

    def _set_unknown(self, Y: sparse.csr_array, missing: sparse.csr_array) -> None:
        self._missing = missing
        counts, known_rows = label_counts(Y, None)
        self._shares = np.divide(counts, known_rows, out=np.zeros(len(counts)), where=known_rows > 0)
        unknown_labels, share = find_unknown_labels(Y)
        self._shares[unknown_labels] = min(share, 0.5 - EPS) if share <= 0.5 else share

    def _score_left_out_rows(self, X: Any, known_rows: Any) -> None:
        scores = place_constant_labels(self._scores(X), self._constant)
        scores[known_rows] = self.oof_scores_
        self.oof_scores_: np.ndarray = scores

    def _frequencies(self, leaves: np.ndarray, edges: sparse.csr_array) -> np.ndarray:
        missing, shares = getattr(self, "_missing", None), getattr(self, "_shares", None)
        return leaf_frequencies(leaves, edges, self._labels, missing, shares)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the mean label frequency of the leaves of each row, above ½ where `predict` says yes."""
        scores = self.decision_function(X)
        return shape_probabilities(self._layout, scores.reshape(len(scores), -1) + 0.5)

    def _prepare_rows(self, X: Any) -> sparse.csr_array:
        """Return rows as trees see them: in single precision, of unit length where means are compared."""
        rows = canonical_rows(X)
        return (normalize(rows) if self._by_means else rows).astype(np.float32)

    def _make_grower(self, rows: sparse.csr_array, Y: sparse.csr_array) -> Callable[[int], Tree]:
        """Return what grows a tree on these rows and label sets from a seed."""
        if self._by_means:
            is_unlabelled = sparse.csr_array((Y.sum(axis=1) == 0).astype(np.float64)[:, None])
            label_sets = TfidfTransformer().fit_transform(sparse.hstack([Y, is_unlabelled], format="csr"))
            return partial(grow_tree, rows, label_sets, 2 * (self.min_samples_leaf or 5))
        fits_dense = 4 * rows.shape[0] * rows.shape[1] <= DENSE_BYTES
        return partial(
            self._grow_by_columns, rows.toarray() if fits_dense else rows, _label_codes(Y, self.n_codes)
        )

    def _grow_by_columns(self, rows: Any, codes: np.ndarray, seed: int) -> Tree:
        least = self.min_samples_leaf or 2
        tree = ExtraTreeRegressor(max_features=self.max_features, min_samples_leaf=least, random_state=seed)
        grown = tree.fit(rows, codes).tree_
        children = np.column_stack([grown.children_left, grown.children_right]).astype(np.int32)
        leaf = children[:, 0] < 0
        children[leaf] = np.flatnonzero(leaf)[:, None]
        ends = np.cumsum([0, *~leaf])
        ones = np.ones(ends[-1], dtype=np.float32), grown.feature[~leaf].astype(np.int32), ends
        return sparse.csr_array(ones, shape=(len(leaf), rows.shape[1])), grown.threshold.copy(), children

    def _make_leaf_edges(self, leaves: np.ndarray, rows: np.ndarray) -> sparse.csr_array:
        """Return the hyperedges (nodes × training rows) that these leaves of these rows make."""
        coordinates = leaves.ravel(), np.repeat(rows.astype(np.int32), leaves.shape[1])
        shape = len(self._threshold), self._labels.shape[0]
        return sparse.csr_array((np.ones(leaves.size, dtype=np.float32), coordinates), shape=shape)

    def _score_folds(self, leaves: np.ndarray, folds: list[Any]) -> None:
        scores = np.full(self._labels.shape, np.nan)
        for fold, (train, test) in enumerate(folds):
            fold_leaves = leaves[:, fold :: len(folds)]
            edges = self._make_leaf_edges(fold_leaves[train], train)
            never_seen = -(self._labels[train].sum(axis=0) == 0).astype(np.int8)
            for rows in row_blocks(len(test) if fold_leaves.size else 0, 64 * fold_leaves.shape[1]):
                leaf_scores = self._frequencies(fold_leaves[test[rows]], edges) - 0.5
                scores[test[rows]] = place_constant_labels(leaf_scores, never_seen)
        self.oof_scores_ = scores[:, 0] if self._layout.kind == "binary" else scores

    def _scores(self, X: Any) -> np.ndarray:
        frequency_blocks = [
            self._frequencies(self._find_leaves(X[rows]), self._edges) for rows in self._iter_row_blocks(X)
        ]
        return np.vstack(frequency_blocks) - 0.5

    def _iter_row_blocks(self, X: Any) -> Any:
        """Rows at a time: with their leaves' labels they stay small."""
        return row_blocks(X.shape[0], 12 * X.shape[1] + 64 * len(self._roots))

    def _find_leaves(self, X: Any) -> np.ndarray:
        """Return the leaf of each row in each tree."""
        return find_leaves(
            self._prepare_rows(X), (self._weights, self._threshold, self._children), self._roots
        )


def _label_codes(Y: sparse.csr_array, n_codes: int) -> np.ndarray:
    """Label codes for the trees; all labels as they are where they are few (splits ignore a rotation)."""
    if Y.shape[1] <= n_codes:
        return Y.toarray()
    P = principal_directions(Y, n_codes, offset=np.asarray(Y.mean(axis=0)).ravel()).components
    return np.asarray(Y @ P.T)


def _renumber_folds(cv: Any, known_rows: np.ndarray, n_rows: int) -> Any:
    """Return folds given as row numbers with those of the known rows alone; others as they are."""
    if isinstance(cv, int) or hasattr(cv, "split"):
        return cv
    place = np.full(n_rows, -1)
    place[known_rows] = np.arange(len(known_rows))
    fold_parts = [[place[np.arange(n_rows)[part]] for part in fold] for fold in cv]
    return [tuple(part[part >= 0] for part in fold) for fold in fold_parts]
