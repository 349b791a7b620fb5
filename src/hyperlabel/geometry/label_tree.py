"""A tree (or a directed acyclic graph) over labels: a label implies its ancestors.

code       meaning                                                  shape
parents    the parents of each label, by name                       –
child      for each edge between columns, the column below          m
parent     and the column above, deepest edges first                m
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel._labels import is_plain, label_sets


@dataclass(frozen=True, eq=False)
class LabelTree:
    r"""Which labels lie under which: a row with a label has the labels above it, too.

    A label may have several parents (a directed acyclic graph) or none (a root). `ThresholdTuner` and
    `AutoMultiLabel` take it as ``label_tree=``: they add the ancestors to the training labels, and their
    scores and label sets are then consistent,

    .. math:: f_a(x) \ge f_j(x) \quad \text{for every ancestor } a \text{ of label } j,

    where :math:`f_a` is the largest score of a and of all labels below it.

    Parameters
    ----------
    parents : mapping of str to str or list of str
        Label name → its parent or parents; an empty list (or an empty string) for a root. Parents that are
        not listed themselves are roots.

    See Also
    --------
    ThresholdTuner : Guarantees with ``label_tree=`` back off to the nearest ancestor that has one.

    Examples
    --------
    >>> from hyperlabel.geometry import LabelTree
    >>> tree = LabelTree({"tit": "bird", "bird": "animal", "dog": "animal"})
    >>> tree.ancestors("tit")
    ['bird', 'animal']
    >>> tree.imply([["tit"], ["dog"], []])
    [['animal', 'bird', 'tit'], ['animal', 'dog'], []]
    >>> LabelTree.from_paths(["animal/bird/tit"]).parents["animal/bird/tit"]
    ('animal/bird',)
    """

    parents: Mapping[str, Any]

    def __post_init__(self) -> None:
        parents: dict[str, tuple[str, ...]] = {}
        for name, above in self.parents.items():
            names = (above,) if isinstance(above, str) else tuple(above or ())
            parents[name] = tuple(dict.fromkeys(parent for parent in names if parent))
            if not all(isinstance(label, str) for label in (name, *parents[name])):
                raise ValueError(
                    f"The labels of a tree are text; {name!r} and its parents {above!r} are not."
                )
        for above in list(parents.values()):
            for parent in above:
                parents.setdefault(parent, ())
        object.__setattr__(self, "parents", parents)
        self._check_acyclic()

    @classmethod
    def from_paths(cls, names: Iterable[str], separator: str = "/") -> LabelTree:
        """Return the tree of names that are paths: ``a/b/c`` lies under ``a/b``, that under ``a``.

        Examples
        --------
        >>> from hyperlabel.geometry import LabelTree
        >>> sorted(LabelTree.from_paths(["30/05", "34"]).parents)
        ['30', '30/05', '34']
        """
        if not separator:
            raise ValueError("separator must be what stands between the parts of a path, not an empty text.")
        parents: dict[str, str] = {}
        for name in names:
            while name not in parents:
                parents[name] = above = name.rpartition(separator)[0]
                if not above:
                    break
                name = above
        return cls(parents)

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[str, str]]) -> LabelTree:
        """Return the tree of pairs (label, parent), such as two columns of a table.

        A label with several parents has several pairs; an empty parent makes a root.

        Examples
        --------
        >>> from hyperlabel.geometry import LabelTree
        >>> LabelTree.from_pairs([("tit", "bird"), ("tit", "garden"), ("bird", "")]).parents["tit"]
        ('bird', 'garden')
        """
        parents: dict[str, list[str]] = {}
        for name, parent in pairs:
            parents.setdefault(name, []).append(parent)
        return cls(parents)

    def _check_acyclic(self) -> None:
        """Refuse a label that lies under itself, and name the circle."""
        finished: set[str] = set()
        for root in self.parents:
            path: dict[str, Any] = {}  # the labels on the way up, and which of their parents come next
            label: str | None = None if root in finished else root
            while label is not None:
                upward = path.setdefault(label, iter(self.parents[label]))
                parent = next((above for above in upward if above not in finished), None)
                if parent is None:
                    finished.add(label)
                    path.popitem()
                    label = next(reversed(path), None)
                elif parent in path:
                    circle = [*path][[*path].index(parent) :]
                    shown = " → ".join(map(repr, [*circle, parent]))
                    raise ValueError(
                        f"The labels lie under each other in a circle: {shown}. Remove one of them."
                    )
                else:
                    label = parent

    def __len__(self) -> int:
        """Return the number of labels."""
        return len(self.parents)

    def __repr__(self) -> str:
        return f"LabelTree({len(self)} labels, {sum(not above for above in self.parents.values())} roots)"

    def ancestors(self, name: str) -> list[str]:
        """Return the labels above a label, nearest first; none of a label that the tree does not have.

        Examples
        --------
        >>> from hyperlabel.geometry import LabelTree
        >>> LabelTree({"c": ["a", "b"], "a": "r", "b": "r"}).ancestors("c")
        ['a', 'b', 'r']
        """
        found: dict[str, None] = {}
        level = list(self.parents.get(name, ()))
        while level:
            found.update(dict.fromkeys(level))
            level = [above for label in level for above in self.parents[label] if above not in found]
        return list(found)

    def imply(self, y: Any, label_names: Sequence[str] | None = None) -> Any:
        """Return labels with all their ancestors.

        Parameters
        ----------
        y : label sets, or indicator of shape (n_samples, n_labels)
            Lists of names come back as sorted lists of names, an indicator as an indicator.
        label_names : sequence of str, default=None
            Names of the columns of an indicator; a frame brings its own.

        Returns
        -------
        y : list of list of str, ndarray or csr_array
            With all ancestors; of an indicator those that have a column.

        Examples
        --------
        >>> from hyperlabel.geometry import LabelTree
        >>> LabelTree({"tit": "bird"}).imply([[0, 1], [0, 0]], ["bird", "tit"])
        array([[1, 1],
               [0, 0]])
        """
        if (sets := None if is_plain(y) else label_sets(y, even_empty=True)) is not None:
            above = {name: self.ancestors(name) for name in {name for row in sets for name in row}}
            return [sorted({label for name in row for label in (name, *above[name])}) for row in sets]
        names = getattr(y, "columns", None) if label_names is None else label_names
        if names is None:
            raise ValueError("An indicator has no names: give label_names, the names of its columns.")
        columns = self.columns([str(name) for name in names])
        closed = columns.imply(sparse.csr_array(y))
        return closed if sparse.issparse(y) else closed.toarray()

    def columns(self, label_names: Sequence[str]) -> TreeColumns:
        """Return the tree between the columns of these names; a label without a column is passed through.

        Examples
        --------
        >>> from hyperlabel.geometry import LabelTree
        >>> tree = LabelTree({"tit": "bird", "bird": "animal"})
        >>> tree.columns(["animal", "tit"]).raise_scores(np.array([[-1.0, 2.0]]))
        array([[2., 2.]])
        """
        column_of_name = {name: j for j, name in enumerate(label_names)}
        nearest: dict[str, tuple[int, ...]] = {}  # the columns right above a label
        depth: dict[str, int] = {}
        for name in self._from_roots:
            above: dict[int, None] = {}
            for parent in self.parents[name]:
                column = column_of_name.get(parent)
                above.update(dict.fromkeys(nearest[parent] if column is None else (column,)))
            nearest[name] = tuple(above)
            depth[name] = 1 + max((depth[parent] for parent in self.parents[name]), default=0)
        known = [name for name in label_names if name in depth]
        deepest_first = sorted(known, key=lambda name: -depth[name])
        edges = [(column_of_name[name], above) for name in deepest_first for above in nearest[name]]
        child, parent = np.array(edges, dtype=np.int64).reshape(-1, 2).T
        return TreeColumns(child, parent, len(label_names))

    @cached_property
    def _from_roots(self) -> list[str]:
        """Every label after its parents."""
        order: dict[str, None] = {}
        for start in self.parents:
            waiting = [start]
            while waiting:
                missing = [above for above in self.parents[waiting[-1]] if above not in order]
                if missing:
                    waiting += missing
                else:
                    order[waiting.pop()] = None
        return list(order)


@dataclass(frozen=True, eq=False)
class TreeColumns:
    """A tree between the columns of Y; `child` and `parent` are its edges, deepest first."""

    child: np.ndarray
    parent: np.ndarray
    n_columns: int

    def imply(self, Y: sparse.csr_array) -> sparse.csr_array:
        """Return the indicator with the ancestors of its labels; NaN, which nobody knows, implies nothing.

        An ancestor is at least what its labels are: on where one of them is, the largest share of soft ones.
        """
        if not len(self.child):
            return sparse.csr_array(Y)
        if Y.dtype.kind == "f" and not (Y.data == 1.0).all():
            return self._imply_numbers(Y)
        columns = sparse.csc_array(Y).astype(bool)
        rows = [columns.indices[columns.indptr[j] : columns.indptr[j + 1]] for j in range(self.n_columns)]
        # deepest first: by the time an edge is walked, its child has the rows of all labels below
        for child, parent in zip(self.child, self.parent, strict=True):
            rows[parent] = np.union1d(rows[parent], rows[child])
        indptr = np.concatenate([[0], np.cumsum([len(column) for column in rows])])
        ones = np.ones(indptr[-1], dtype=Y.dtype)
        return sparse.csc_array((ones, np.concatenate(rows), indptr), shape=Y.shape).tocsr()

    def _imply_numbers(self, Y: sparse.csr_array) -> sparse.csr_array:
        """Do so for targets with gaps or shares; a gap stays one unless a label below it is on."""
        targets = Y.toarray()
        is_unknown = np.isnan(targets)
        targets[is_unknown] = 0.0
        for child, parent in zip(self.child, self.parent, strict=True):
            np.maximum(targets[:, parent], targets[:, child], out=targets[:, parent])
        targets[is_unknown & (targets < 1.0)] = np.nan
        return sparse.csr_array(targets)

    def raise_scores(self, scores: np.ndarray) -> np.ndarray:
        """Return scores in which no label is below one that lies under it."""
        if not len(self.child):
            return scores
        by_label = np.ascontiguousarray(np.asarray(scores).T)
        by_label = by_label.copy() if by_label.base is not None else by_label
        for child, parent in zip(self.child, self.parent, strict=True):
            np.maximum(by_label[parent], by_label[child], out=by_label[parent])
        return np.ascontiguousarray(by_label.T)

    def raise_thresholds(self, thresholds: np.ndarray) -> np.ndarray:
        """Return thresholds in which no finite one is below that of a label above it."""
        is_finite = np.isfinite(thresholds)
        raised = np.where(is_finite, thresholds, -np.inf)
        for child, parent in zip(self.child[::-1], self.parent[::-1], strict=True):
            raised[child] = max(raised[child], raised[parent])
        return np.where(is_finite, raised, thresholds)

    def nearest(self, holds: np.ndarray) -> np.ndarray:
        """Return for each column the nearest one above it where `holds` is true (itself if so), or -1."""
        nearest = np.where(holds, np.arange(self.n_columns), -1)
        distance = np.where(holds, 0.0, np.inf)
        for child, parent in zip(self.child[::-1], self.parent[::-1], strict=True):
            if distance[parent] + 1 < distance[child]:
                nearest[child], distance[child] = nearest[parent], distance[parent] + 1
        return nearest
