"""What a method says about the labels: the rule that turns Y into a thin factor F = base·right.

The base is formed row by row (given the sizes of the labels, where the rule needs them), so it can be summed
over blocks; `right` is a small mix that follows from the Gram of the centred base. Symbols as in
`hyperlabel.geometry.similarity`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.geometry.edges import EdgeMoments, Edges, edge_weights
from hyperlabel.geometry.similarity import (
    EXPANSIONS,
    FactorShape,
    ThinFactor,
    centered_gram,
    clear_constant,
    column_sums,
    edge_scale,
    edge_share,
    normalise_rows,
    whitening_root,
)
from hyperlabel.solvers.moments.row_moments import RowMoments


class LabelFactor(ABC):
    """A label factor as a rule; a method subclasses it or picks one of those below.

    Attributes
    ----------
    needs_sizes : bool
        Whether the base depends on how many rows carry each label (then blocks are read twice).
    edge_weights, nu
        Hyperedge weights, as in `hyperlabel.geometry.edge_weights`.

    Examples
    --------
    A factor that weighs every label by one over its size:

    >>> class Shares(LabelFactor):
    ...     def base(self, Y, edges):
    ...         return Y
    ...     def right(self, edges, gram, base_sums):
    ...         return 1 / base_sums
    >>> Y = sparse.csr_array(np.array([[1.0, 0], [1, 1]]))
    >>> Shares().on_rows(Y, None).toarray()
    array([[0.5, 0. ],
           [0.5, 1. ]])
    """

    needs_sizes: bool = False
    edge_weights: Any = "uniform"
    nu: float = 1.0

    @abstractmethod
    def base(self, Y: sparse.csr_array, edges: Edges) -> sparse.csr_array:
        """Return the sparse n×q base of a block of rows."""

    @abstractmethod
    def right(self, edges: Edges, gram: np.ndarray, base_sums: np.ndarray) -> np.ndarray:
        """Return the mix, a q×m matrix or the diagonal of one.

        `gram` is that of the centred base (q×q), `base_sums` holds the column sums of the base (q).
        """

    def edge_moments(self, Y: sparse.csr_array, X: Any = None, **options: Any) -> EdgeMoments:
        """Return what the hyperedge weights need to know of a block of rows."""
        needs_rows = isinstance(self.edge_weights, str) and self.edge_weights.startswith("compactness")
        return EdgeMoments.from_rows(Y, X if needs_rows else None, **options)

    def edges(self, sums: EdgeMoments, label_names: np.ndarray | None = None) -> Edges:
        """Return the hyperedges of all rows from their sums."""
        weights = edge_weights(self.edge_weights, sums, nu=self.nu, label_names=label_names)
        return Edges(sums.sizes, weights)

    def on(self, Y: sparse.csr_array, edges: Edges) -> ThinFactor:
        """Return the factor on all rows."""
        base = self.base(Y, edges)
        gram = centered_gram(base)
        return ThinFactor(self.right(edges, gram, column_sums(base)), gram, edges, base)

    def on_rows(self, Y: sparse.csr_array, X: Any, label_names: np.ndarray | None = None) -> ThinFactor:
        """Return the factor on all rows, their hyperedges counted and weighed first."""
        return self.on(Y, self.edges(self.edge_moments(Y, X), label_names))

    def summed(self, Y: sparse.csr_array, edges: Edges | None) -> sparse.csr_array:
        """Return what is summed over a block of rows: the base, and Y where only that tells the sizes."""
        unknown = Edges(np.ones(Y.shape[1]), np.ones(Y.shape[1]))
        base = self.base(Y, edges or unknown)
        return base if self.needs_sizes or base is Y else sparse.hstack([base, Y], format="csr")

    def on_moments(self, moments: RowMoments, edges: Edges | None, k: int) -> FactorShape:
        """Return the shape of the factor from sums over `summed`, k the number of labels."""
        if edges is None:
            edges = Edges(moments.sum_targets[-k:], np.ones(k))
        q = len(moments.sum_targets) if self.needs_sizes else max(len(moments.sum_targets) - k, 0) or k
        target_gram = moments.centered().target_gram
        assert target_gram is not None
        gram = clear_constant(np.array(target_gram[:q, :q]), np.diag(np.asarray(moments.target_gram))[:q])
        return FactorShape(self.right(edges, gram, moments.sum_targets[:q]), gram, edges)


@dataclass(frozen=True, eq=False)
class PlainFactor(LabelFactor):
    """F = Y: the labels as they are.

    Examples
    --------
    >>> PlainFactor().on_rows(sparse.csr_array(np.eye(2)), None).toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def base(self, Y: sparse.csr_array, edges: Edges) -> sparse.csr_array:
        """Return Y."""
        return Y

    def right(self, edges: Edges, gram: np.ndarray, base_sums: np.ndarray) -> np.ndarray:
        """Return ones."""
        return np.ones(len(gram))


@dataclass(frozen=True, eq=False)
class ExpansionFactor(LabelFactor):
    """H₀ of one expansion of the label hypergraph; ``"cca"`` is Y(YcᵀYc)^(+1/2).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[1.0, 0], [1, 1], [0, 0]]))
    >>> rule = ExpansionFactor("zhou")
    >>> rule.on(Y, rule.edges(rule.edge_moments(Y))).toarray().round(3)
    array([[0.707, 0.   ],
           [0.5  , 0.707],
           [0.   , 0.   ]])
    """

    expansion: str = "clique"
    edge_weights: Any = "uniform"
    nu: float = 1.0

    def __post_init__(self) -> None:
        """Refuse an expansion nobody knows."""
        if self.expansion not in EXPANSIONS:
            raise ValueError(f"Unknown expansion {self.expansion!r}: choose one of {', '.join(EXPANSIONS)}.")

    @property
    def needs_sizes(self) -> bool:  # type: ignore[override]
        """Zhou's degrees D = Yw need no sizes, and cca has none."""
        uniform = isinstance(self.edge_weights, str) and self.edge_weights == "uniform"
        return self.expansion != "cca" and not (self.expansion == "zhou" and uniform)

    def edges(self, sums: EdgeMoments, label_names: np.ndarray | None = None) -> Edges:
        """Return the hyperedges; cca has no use for weights."""
        if self.expansion == "cca":
            return Edges(sums.sizes, np.ones(len(sums.sizes)))
        return super().edges(sums, label_names)

    def base(self, Y: sparse.csr_array, edges: Edges) -> sparse.csr_array:
        """Return D^(−1/2)Y with D = Y(c∘δ), or Y for cca."""
        if self.expansion == "cca":
            return Y
        return normalise_rows(Y, edge_share(edges.sizes, edges.weights, self.expansion))

    def right(self, edges: Edges, gram: np.ndarray, base_sums: np.ndarray) -> np.ndarray:
        """Return diag(c)^(1/2), or (YcᵀYc)^(+1/2) for cca."""
        if self.expansion == "cca":
            return whitening_root(gram)
        return np.sqrt(edge_scale(edges.sizes, edges.weights, self.expansion))
