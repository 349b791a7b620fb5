"""The thin factors H₀ of the normalised similarities S = I − L = H₀H₀ᵀ: never an n×n matrix.

Notation
--------
code     meaning                                                     shape
Y        incidence J: sample i lies on hyperedge (label) e           n×k
sizes    δ(e), samples on e                                          k
weights  w(e) ≥ 0                                                    k
scale    c(e) = w(e)/δ(e)^p: p = 0 clique, 1 Zhou, 2 star            k
degrees  D = Y(c∘δ)                                                  n
base     D^(−1/2)Y, or Y for cca: depends on single rows (given δ)   n×q
right    diag(c)^(1/2), or T = (YcᵀYc)^(+1/2) for cca                q×m

One formula serves three expansions of Sun, Ji & Ye (2008): the clique weights (2)(3), the star
graph seen from its vertices (4)–(6) and Zhou's random walk (7) are S = D^(−1/2) Y diag(c) Yᵀ D^(−1/2)
with the same D = Y(c∘δ) and p = 0, 2 and 1. A sample without labels has D = 0 and D^(−1/2) := 0;
an empty label contributes a zero column.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse

from hyperlabel.geometry.edges import Edges
from hyperlabel.solvers.arrays import mix_both, mix_columns, rank_tolerance

POWER = {"clique": 0, "zhou": 1, "star": 2}
EXPANSIONS = ("clique", "star", "zhou", "cca")


@dataclass(frozen=True, eq=False)
class FactorShape:
    """What of a factor F = base·right does not depend on single rows.

    `right` is the mix, a vector for a diagonal matrix; `gram` that of the centred base.
    """

    right: np.ndarray
    gram: np.ndarray
    edges: Edges

    def centered_gram(self) -> np.ndarray:
        """Return FcᵀFc (m×m) without forming F."""
        return mix_both(self.gram, self.right)


@dataclass(frozen=True, eq=False)
class ThinFactor(FactorShape):
    """F = base·right on given rows, n×m, kept as a sparse n×q base and a small mix: H₀ of (16) in KDD'08.

    Examples
    --------
    >>> base = sparse.csr_array(np.eye(2))
    >>> factor = ThinFactor(np.array([2.0, 3.0]), centered_gram(base), Edges(np.ones(2), np.ones(2)), base)
    >>> factor.shape, factor.toarray().tolist()
    ((2, 2), [[2.0, 0.0], [0.0, 3.0]])
    """

    base: sparse.csr_array

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples and of columns m."""
        return self.base.shape[0], self.right.shape[-1]

    def tosparse(self) -> sparse.csr_array:
        """Return F as a sparse matrix; for a diagonal mix only (a full one would fill it)."""
        if self.right.ndim == 2:
            raise ValueError("This factor is a full mix of sparse columns: use base and right, or toarray().")
        return sparse.csr_array(self.base @ sparse.diags_array(self.right))

    def toarray(self) -> np.ndarray:
        """Return F dense, for small n."""
        return mix_columns(self.base.toarray(), self.right)


def edge_scale(sizes: np.ndarray, weights: np.ndarray, expansion: str) -> np.ndarray:
    """Return c(e) = w(e)/δ(e)^p, 0 for an empty label.

    Clique (2)(3), star (4)(6) and Zhou (7) of KDD'08 differ in p alone; the clique is (5)(6) of HOPLS.
    """
    power = np.asarray(sizes, dtype=np.float64) ** POWER[expansion]
    return np.divide(weights, power, out=np.zeros(len(sizes)), where=sizes > 0)


def edge_share(sizes: np.ndarray, weights: np.ndarray, expansion: str) -> np.ndarray:
    """Return c(e)·δ(e) = w(e)·δ(e)^(1 − p), what an edge adds to the degree of a member."""
    return weights * np.where(sizes > 0, sizes, 1.0) ** (1.0 - POWER[expansion])


def normalise_rows(Y: sparse.csr_array, along: np.ndarray) -> sparse.csr_array:
    """Return D^(−1/2)Y with D = Y·along and D^(−1/2) = 0 where D = 0."""
    degrees = Y @ along
    root = np.divide(1.0, np.sqrt(degrees), out=np.zeros_like(degrees), where=degrees > 0)
    return sparse.csr_array((Y.data * np.repeat(root, np.diff(Y.indptr)), Y.indices, Y.indptr), shape=Y.shape)


def whitening_root(gram: np.ndarray) -> np.ndarray:
    """Return the pseudo-inverse square root of a small Gram, null directions dropped (k×rank).

    Of YcᵀYc it makes Yc the factor of CCA, (15) of KDD'08.
    """
    s, V = linalg.eigh(gram)
    in_range = s > rank_tolerance(s)
    return (V[:, in_range] / np.sqrt(s[in_range])) @ V[:, in_range].T


def column_sums(base: Any) -> np.ndarray:
    """Return the sums of the columns of a sparse matrix."""
    return np.asarray(base.sum(axis=0), dtype=np.float64).ravel()


def centered_gram(base: Any) -> np.ndarray:
    """Return (PF)ᵀ(PF), P the centring projector, for sparse F."""
    total = column_sums(base)
    raw = (base.T @ base).toarray()
    return clear_constant(raw - np.outer(total, total) / base.shape[0], np.diag(raw))


def clear_constant(gram: np.ndarray, raw: np.ndarray) -> np.ndarray:
    """Set to 0 what rounding left of constant columns; `raw` is the diagonal before centring."""
    constant = np.diag(gram) <= 100 * np.finfo(np.float64).eps * raw
    gram[constant] = 0.0
    gram[:, constant] = 0.0
    return gram
