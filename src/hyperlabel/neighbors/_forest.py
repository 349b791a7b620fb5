"""Leaves as hyperedges: trees grown on label codes, each leaf joining the training rows that fall into it.

A row asks each tree for its leaf, each leaf answers with the label frequencies of its rows, and the score is
the mean of the answers. Trees are scikit-learn's, grown one at a time on a few label codes (PLST) and kept as
plain arrays that no compiled code trusts: 8 bytes for each row and tree, 20 for each node, and Y. Every tree
is grown on the training rows of one fold, so that out-of-fold scores need no refit.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.tree import ExtraTreeRegressor
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from hyperlabel._base import MultiLabelClassifier, place_constant_labels, shape_probabilities
from hyperlabel._params import NONE, Rule, number, one_of, whole
from hyperlabel.model_selection import resolve_cv
from hyperlabel.model_selection.out_of_fold import few_folds
from hyperlabel.solvers.arrays import row_blocks
from hyperlabel.solvers.label_svd import principal_directions

DENSE_BYTES = 2**29  # trees grow several times faster on dense rows: sparse ones are opened up to here


@dataclass(eq=False, repr=False)
class LabelForest(MultiLabelClassifier):
    r"""Extremely randomised trees on label codes, whose leaves hold label frequencies.

    .. math:: f_j(x) = \frac1T \sum_t \frac1{|e_t(x)|} \sum_{i \in e_t(x)} y_{ij},

    where :math:`e_t(x)`, a hyperedge over the training rows, is the leaf of tree t that x falls into.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    n_codes : int, default=40
        Label codes that splits are judged on: principal directions of the label sets.
    min_samples_leaf : int, default=2
        Fewest rows of a leaf.
    max_features : {"sqrt", "log2"}, float or int, default="sqrt"
        Features compared at a split, as in scikit-learn.
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
    _fitted_shapes: ClassVar[dict[str, str]] = {"_labels": "n k", "_edges": "m n", "_children": "m two"}
    _fitted_shapes |= {"_feature": "m", "_threshold": "m", "_roots": "t"}
    _rules: ClassVar[dict[str, Rule]] = {
        **dict.fromkeys(("n_estimators", "n_codes", "min_samples_leaf"), whole(1)),
        "max_features": one_of("sqrt", "log2") | number(above=0) | NONE,
    }

    n_estimators: int = 100
    _: KW_ONLY
    n_codes: int = 40
    min_samples_leaf: int = 2
    max_features: Any = "sqrt"
    cv: Any = None
    n_jobs: int | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any, groups: Any = None) -> LabelForest:
        """Grow the trees, on folds that keep `groups` together, and fill their leaves with the rows."""
        X, Y = self._check_fit(X, y)
        everything = np.arange(X.shape[0])
        splits: list[Any] = [(everything, everything[:0])]
        if self.cv is not None:
            splits = list(resolve_cv(few_folds(self.cv, X.shape[0]), Y, groups).split(X, Y, groups))
        rows = X.astype(np.float32)
        if sparse.issparse(rows) and 4 * rows.shape[0] * rows.shape[1] <= DENSE_BYTES:
            rows = rows.toarray()
        seeds = check_random_state(self.random_state).randint(2**31 - 1, size=self.n_estimators)
        trees: list[Any] = [None] * len(seeds)
        for fold, (train, _) in enumerate(splits):  # the test rows' labels shape neither codes nor trees
            own = slice(fold, None, len(splits))
            part, codes = rows[train], _codes(Y[train], self.n_codes)
            trees[own] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                delayed(self._grow)(part, codes, seed) for seed in seeds[own]
            )
        self._roots = np.cumsum([0, *(len(tree[0]) for tree in trees[:-1])], dtype=np.int32)
        self._feature, self._threshold = (np.concatenate([tree[part] for tree in trees]) for part in (0, 1))
        self._children = np.vstack([tree[2] + root for tree, root in zip(trees, self._roots, strict=True)])
        leaves = np.vstack([self._find(X[block]) for block in self._blocks(X)])
        self._labels = Y
        self._edges = self._join(leaves, everything)
        if self.cv is not None:
            self._score_folds(leaves, splits)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the mean label frequency of the leaves of each row, above ½ where `predict` says yes."""
        scores = self.decision_function(X)
        return shape_probabilities(self._layout, scores.reshape(len(scores), -1) + 0.5)

    def _grow(self, X: Any, codes: np.ndarray, seed: int) -> tuple[np.ndarray, ...]:
        tree = ExtraTreeRegressor(
            max_features=self.max_features, min_samples_leaf=self.min_samples_leaf, random_state=seed
        )
        grown = tree.fit(X, codes).tree_
        children = np.column_stack([grown.children_left, grown.children_right]).astype(np.int32)
        leaf = np.flatnonzero(children[:, 0] < 0)
        children[leaf] = leaf[:, None]
        return np.maximum(grown.feature, 0).astype(np.int32), grown.threshold.copy(), children

    def _join(self, leaves: np.ndarray, rows: np.ndarray) -> sparse.csr_array:
        """Return the hyperedges (nodes × training rows) that these leaves of these rows make."""
        places = leaves.ravel(), np.repeat(rows.astype(np.int32), leaves.shape[1])
        shape = len(self._feature), self._labels.shape[0]
        return sparse.csr_array((np.ones(leaves.size, dtype=np.float32), places), shape=shape)

    def _score_folds(self, leaves: np.ndarray, splits: list[Any]) -> None:
        scores = np.full(self._labels.shape, np.nan)
        for fold, (train, test) in enumerate(splits):
            own = leaves[:, fold :: len(splits)]
            edges = self._join(own[train], train)
            never = -(self._labels[train].sum(axis=0) == 0).astype(np.int8)
            for rows in row_blocks(len(test) if own.size else 0, 64 * own.shape[1]):
                found = leaf_frequencies(own[test[rows]], edges, self._labels) - 0.5
                scores[test[rows]] = place_constant_labels(found, never)
        self.oof_scores_ = scores[:, 0] if self._layout.kind == "binary" else scores

    def _scores(self, X: Any) -> np.ndarray:
        found = [leaf_frequencies(self._find(X[rows]), self._edges, self._labels) for rows in self._blocks(X)]
        return np.vstack(found) - 0.5

    def _blocks(self, X: Any) -> Any:
        """Rows at a time: opened up, with their nodes and their leaves' labels, they stay small."""
        return row_blocks(X.shape[0], 4 * X.shape[1] + 64 * len(self._roots))

    def _find(self, X: Any) -> np.ndarray:
        """Walk all trees with all rows, a level at a time, and return the leaves reached."""
        X = np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float32)
        row = np.arange(X.shape[0])[:, None]
        node = np.tile(self._roots, (X.shape[0], 1))
        for _ in range(len(self._feature)):
            right = X[row, self._feature[node]] > self._threshold[node]
            # children come after their parent: a file cannot lead in circles
            below = np.maximum(node, self._children[node, right.astype(np.int8)])
            if np.array_equal(below, node):
                break
            node = below
        return node


def leaf_frequencies(leaves: np.ndarray, edges: sparse.csr_array, Y: sparse.csr_array) -> np.ndarray:
    """Mean over each row's leaves (m×T) of the label frequencies among the rows that each leaf joins."""
    met, place = np.unique(leaves, return_inverse=True)
    some = edges[met]
    share = sparse.diags_array(1.0 / np.maximum(np.diff(some.indptr), 1) / leaves.shape[1])
    starts = np.arange(0, leaves.size + 1, leaves.shape[1])
    walks = sparse.csr_array((np.ones(leaves.size), place.ravel(), starts), shape=(len(leaves), len(met)))
    return (walks @ (share @ (some @ Y))).toarray()


def _codes(Y: sparse.csr_array, n_codes: int) -> np.ndarray:
    """Label codes for the trees; all labels as they are where they are few (splits ignore a rotation)."""
    if Y.shape[1] <= n_codes:
        return Y.toarray()
    P = principal_directions(Y, n_codes, offset=np.asarray(Y.mean(axis=0)).ravel()).components
    return np.asarray(Y @ P.T)
