"""What estimators with ``label_tree=`` share: ancestors in training, consistent scores and label sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel._labels import is_plain, label_sets
from hyperlabel._validation import CheckedTargets, TargetLayout
from hyperlabel.decision.guarantee_table import Guarantees
from hyperlabel.geometry import LabelTree
from hyperlabel.geometry.label_tree import TreeColumns


class ConsistentLabels:
    """Base of the estimators that take a tree of labels; without one nothing changes."""

    label_tree: Any
    tree_columns_: TreeColumns

    def _get_tree(self) -> LabelTree | None:
        if self.label_tree is None or isinstance(self.label_tree, LabelTree):
            return self.label_tree
        if isinstance(self.label_tree, Mapping):
            return LabelTree(self.label_tree)
        raise ValueError(
            "label_tree must be a LabelTree or a mapping of labels to their parents, "
            f"not {self.label_tree!r:.60}."
        )

    def _imply_sets(self, y: Any) -> Any:
        """Add the ancestors to label sets, so that ancestors nobody wrote down get columns as well."""
        tree = self._get_tree()
        if (
            tree is None
            or isinstance(y, CheckedTargets)
            or is_plain(y)
            or label_sets(y, even_empty=True) is None
        ):
            return y
        return tree.imply(y)

    def _imply_columns(self, Y: sparse.csr_array, layout: TargetLayout) -> sparse.csr_array:
        """Add the ancestors to a validated indicator, and keep the tree between its columns."""
        tree = self._get_tree()
        if tree is None:
            return Y
        if layout.kind != "multilabel":
            raise ValueError(
                "label_tree is about label sets: give an indicator or lists of labels, not 1-D y."
            )
        label_names = [str(name) for name in layout.label_names]
        if not set(label_names) & set(tree.parents):
            raise ValueError(
                f"label_tree has none of the labels of y ({', '.join(label_names[:3])}, …): give y as "
                "lists of names or as a frame, with the names of the tree."
            )
        self.tree_columns_ = tree.columns(label_names)
        return self.tree_columns_.imply(Y)

    def _raise(self, scores: np.ndarray) -> np.ndarray:
        """Return scores (or label sets) in which no label is below one that lies under it."""
        return self.tree_columns_.raise_scores(scores) if hasattr(self, "tree_columns_") else scores

    def _back_off(self, guarantees: Guarantees) -> Guarantees:
        """Let labels without a guarantee be predicted as their nearest ancestor that has one.

        Thresholds of precisions rise to those above them: a higher threshold has passed the same tests.
        Recalls need no change, since the sets of ancestors only grow.
        """
        if not hasattr(self, "tree_columns_"):
            return guarantees
        if guarantees.kind == "precision":
            raised = self.tree_columns_.raise_thresholds(guarantees.thresholds)
            guarantees = replace(guarantees, thresholds=raised)
        nearest = self.tree_columns_.nearest(~np.isnan(guarantees.bound))
        names = guarantees.names
        instead = [None if i in (-1, j) else names[i] for j, i in enumerate(nearest)]
        return replace(guarantees, instead=instead)


def follow_tree(model: Any, renamed: Mapping[str, str]) -> None:
    """Let a fitted model's tree follow its labels, which have been renamed, dropped or added."""
    tree = model._get_tree()
    if tree is None:
        return
    if renamed:
        new = {name: renamed.get(name, name) for name in tree.parents}
        tree = LabelTree({new[name]: [new[above] for above in tree.parents[name]] for name in tree.parents})
        model.label_tree = tree
    model.tree_columns_ = tree.columns([str(name) for name in model.label_names_])
