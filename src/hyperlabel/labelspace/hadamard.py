"""Compressed sensing of label sets: the encoder whose decoder is a search (see `encoders` for notation)."""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from hyperlabel._params import NONE, clip_components, one_of, whole
from hyperlabel.geometry.hypercube import (
    flip_vertices,
    hadamard_order,
    hadamard_sample,
    majority_vertex,
    random_normal,
    random_signs,
)
from hyperlabel.labelspace.encoders import COMPONENTS, Encoder
from hyperlabel.solvers.arrays import as_dense
from hyperlabel.solvers.labels.cosamp import solve_sparse_codes

SENSING = {"hadamard": hadamard_sample, "bernoulli": random_signs, "gaussian": random_normal}


@dataclass(eq=False, repr=False)
class HadamardEncoder(Encoder):
    """Compressed sensing of label sets: random Hadamard codes, decoded by sparse recovery.

    Parameters
    ----------
    n_components : int or None, default=None
        M, at most the Hadamard order 2^⌈log₂K⌉, which None stands for. Recovery of s-sparse
        label sets from perfect codes wants about 6·s·ln K.
    decoder : {"cosamp", "omp"}, default="cosamp"
        The sparse recovery.
    sparsity : int or None, default=None
        s, the most labels a row may get; None takes the largest label set seen.
    reference : {"origin", "best_vertex"}, default="origin"
        "best_vertex" flips the labels that most rows carry, which makes the sets sparser.
    sensing : {"hadamard", "bernoulli", "gaussian"}, default="hadamard"
        The random matrix: rows of a Hadamard matrix, independent signs or normal entries.
    random_state : int or None, default=None
        The draw of the matrix; None is 0.

    Attributes
    ----------
    components_ : ndarray of shape (M, K)
        P, columns of unit length (the rows are not orthonormal).
    vertex_ : ndarray of shape (K,), bool
        The vertex every label set is XORed with.
    sparsity_ : int
        s.

    References
    ----------
    Hsu, Kakade, Langford & Zhang (2009), Multi-label prediction via compressed sensing;
    Tai & Lin (2012), Algorithm 4 and §4.4.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel.labelspace import HadamardEncoder
    >>> Y = np.eye(8, dtype=int)
    >>> encoder = HadamardEncoder(6, random_state=0).fit(Y)
    >>> np.array_equal(encoder.inverse_transform(encoder.transform(Y)) > 0.5, Y)
    True
    """

    _fitted_shapes: ClassVar[dict[str, str]] = {"components_": "m l", "gram_": "l l", "vertex_": "l"}
    _rules: ClassVar = {
        "n_components": COMPONENTS,
        "decoder": one_of("cosamp", "omp"),
        "sparsity": whole(1) | NONE,
        "reference": one_of("origin", "best_vertex"),
        "sensing": one_of(*SENSING),
    }

    n_components: int | None = None
    _: KW_ONLY
    decoder: Literal["cosamp", "omp"] = "cosamp"
    sparsity: int | None = None
    reference: Literal["origin", "best_vertex"] = "origin"
    sensing: Literal["hadamard", "bernoulli", "gaussian"] = "hadamard"
    random_state: int | None = None

    def _fit(self, Y: sparse.csr_array, X: Any) -> None:
        K = Y.shape[1]
        M = clip_components(self.n_components, hadamard_order(K))
        self.vertex_ = majority_vertex(Y) if self.reference == "best_vertex" else np.zeros(K, dtype=bool)
        self.components_ = SENSING[self.sensing](M, K, np.random.default_rng(self.random_state or 0))
        self.offset_ = np.zeros(K)
        # the flipped sets have another largest size: s is counted after the XOR
        largest_size = int(np.diff(flip_vertices(Y, self.vertex_).indptr).max(initial=1))
        self.sparsity_ = max(1, min(largest_size if self.sparsity is None else self.sparsity, K))
        self.gram_ = self.components_.T @ self.components_

    def transform(self, y: Any) -> np.ndarray:
        return np.asarray(flip_vertices(self._check_labels(y), self.vertex_) @ self.components_.T)

    def inverse_transform(self, H: Any) -> np.ndarray:
        """Recover the sparse label set behind each code: exactly 0 (1 where flipped) outside it."""
        H = as_dense(self._check_codes(H))
        recovered_sets = solve_sparse_codes(
            self.components_, H, self.sparsity_, method=self.decoder, gram=self.gram_
        ).toarray()
        return np.where(self.vertex_, 1.0 - recovered_sets, recovered_sets)
