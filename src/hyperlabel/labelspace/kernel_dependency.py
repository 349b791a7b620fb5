"""Kernel dependency estimation: principal components of label sets in a feature space (Algorithm 6).

Notation
--------
code       paper                                               shape
V          distinct label sets v_i, c_i rows on each           C×K
_dual_     a: u_m = Σ a_im φ(v_i), the principal components    C×M
H          h_im = ⟨φ(v_i) − o, u_m⟩                            C×M
_coef_     dual coefficients of the kernel ridge on x          n×M

Rows on one vertex share its image, so the label kernel is C×C: kernel PCA weighted by c.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.preprocessing import KernelCenterer

from hyperlabel._base import MultiLabelClassifier
from hyperlabel._params import NONE, number, one_of
from hyperlabel.geometry.hypercube import distinct_vertices, mean_vertex
from hyperlabel.labelspace.encoders import COMPONENTS
from hyperlabel.moments.linear_map import not_linear, signed_targets
from hyperlabel.solvers.arrays import as_dense, row_blocks
from hyperlabel.solvers.labels.vertex_decode import best_with_and_without, label_margins
from hyperlabel.solvers.ridge.routes import SamplePath
from hyperlabel.solvers.spectral.label_svd import directions_of_gram

ROWS_MAX = 20_000  # the kernel of the rows is then 3.2 GB
SAME = 1e-10  # squared distances this close are ties, which go to the first
STEPS = 50  # a pre-image search of this many flips has left the data far behind


@dataclass(eq=False, repr=False)
class KernelDependencyEstimation(MultiLabelClassifier):
    r"""Regress the kernel principal components of the label sets and search the pre-image.

    Each label set is mapped to :math:`h_m = \langle \phi(y) - o, u_m \rangle`, predicted by kernel
    ridge regression, and decoded by, eq. (1),

    .. math:: \hat y = \arg\min_{y} \|(\langle \phi(y) - o, u_m \rangle)_{m \le M} - r(x)\|,

    where:

    - :math:`\phi` is the feature map of the label kernel, :math:`o` the mean image;
    - :math:`u_m` are the leading principal components in the feature space;
    - the minimum is taken over the label sets seen, then refined by flipping single labels
      as long as that comes closer.

    The score of a label is half the difference between the squared distances of the best
    candidate without and with it (candidates: sets seen, the answer, its single flips).

    Parameters
    ----------
    n_components : int or None, default=None
        M; None means the rank.
    label_kernel : {"rbf", "linear", "poly"}, default="rbf"
        Kernel of label sets; "poly" is (⟨y, y'⟩ + 1)².
    label_gamma : float, default=None
        Width of the rbf label kernel; None is one over the mean squared distance of label sets.
    kernel : str, default="linear"
        Kernel of the rows, a name of `sklearn.metrics.pairwise.pairwise_kernels`.
    gamma : float, default=None
        Its width.
    alpha : float, default=1.0
        The ridge λ.
    regressor : regressor, default=None
        Any scikit-learn regressor of rows to images, cloned; `kernel`, `gamma` and `alpha` are then not used.
        None is the kernel ridge.
    decoder : {"preimage", "round"}, default="preimage"
        "round" (linear label kernel only) makes this PLST in dual form.

    Attributes
    ----------
    vertices_ : csr_array of shape (n_sets, n_labels)
        The distinct label sets, most frequent first.
    codes_ : ndarray of shape (n_sets, n_components)
        Their images h.
    regressor_ : regressor
        The fitted clone, if one was given.
    eigenvalues_ : ndarray of shape (n_components,)
        Scatter along each component.

    References
    ----------
    Weston, Chapelle, Elisseeff, Schölkopf & Vapnik (2002), Kernel dependency estimation;
    Tai & Lin (2012), Algorithm 6.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import KernelDependencyEstimation
    >>> X, Y = make_multilabel_classification(n_samples=100, random_state=0)
    >>> KernelDependencyEstimation(4).fit(X, Y).predict(X[:2]).shape
    (2, 5)
    """

    _fitted_shapes: ClassVar[dict[str, str]] = {
        "vertices_": "v k",
        "_dual_": "v m",
        "codes_": "v m",
        "_coef_": "n m",
        "_offset_": "k",
    }
    _rules: ClassVar = {
        "n_components": COMPONENTS,
        "label_kernel": one_of("rbf", "linear", "poly"),
        "label_gamma": number(0) | NONE,
        "gamma": number(0) | NONE,
        "alpha": number(0),
        "decoder": one_of("preimage", "round"),
    }

    _inner = "regressor"

    n_components: int | None = None
    _: KW_ONLY
    label_kernel: Literal["rbf", "linear", "poly"] = "rbf"
    label_gamma: float | None = None
    kernel: str = "linear"
    gamma: float | None = None
    alpha: float = 1.0
    regressor: Any = None
    decoder: Literal["preimage", "round"] = "preimage"

    def fit(self, X: Any, y: Any) -> KernelDependencyEstimation:
        X, Y = self._check_fit(X, y)
        self._check_parameters(X.shape[0])
        label_sets = distinct_vertices(Y)
        self.vertices_ = label_sets.Y
        self._sizes_ = np.diff(label_sets.Y.indptr).astype(np.float64)
        self._offset_ = mean_vertex(Y)
        # two independent rows differ in label k with probability 2p(1 − p): the mean squared distance
        mean_distance = 2.0 * float(np.sum(self._offset_ * (1.0 - self._offset_)))
        self._gamma_ = self.label_gamma if self.label_gamma is not None else 1.0 / max(mean_distance, 1e-12)
        self._fit_components(label_sets.counts)
        H = self.codes_[label_sets.codes]
        if self.regressor is None:
            self._fit_kernel_ridge(X, H)
        else:
            self.regressor_ = clone(self.regressor).fit(X, H[:, 0] if H.shape[1] == 1 else H)
        return self

    def _fit_kernel_ridge(self, X: Any, H: np.ndarray) -> None:
        self._X_ = X
        gram = self._compute_row_kernel(X)
        self._centerer_ = KernelCenterer().fit(gram)
        self._mean_ = H.mean(axis=0)
        alpha = float(self.alpha)
        centered_gram = self._centerer_.transform(gram)
        ridge_path = SamplePath(centered_gram, H - self._mean_, f_mean=self._mean_, alphas=(alpha,))
        self._coef_, self.residual_ = ridge_path.dual(alpha), ridge_path.residual(alpha)

    def _check_parameters(self, n: int) -> None:
        if self.decoder == "round" and self.label_kernel != "linear":
            raise ValueError("decoder='round' needs label_kernel='linear': other images have no inverse.")
        if n > ROWS_MAX and self.regressor is None:
            raise ValueError(
                f"The kernel of {n} rows does not fit: fit on at most {ROWS_MAX} of them, give a regressor, "
                "or use PLST."
            )

    # -- label sets in feature space ------------------------------------------------------------------

    def _compute_label_kernel(
        self, inner: np.ndarray, sizes: np.ndarray, seen_sizes: np.ndarray
    ) -> np.ndarray:
        """κ(y, v) from ⟨y, v⟩, |y| and |v|."""
        if self.label_kernel == "linear":
            return inner
        if self.label_kernel == "poly":
            return (inner + 1.0) ** 2
        return np.exp(-self._gamma_ * np.maximum(sizes[:, None] + seen_sizes - 2.0 * inner, 0.0))

    def _fit_components(self, counts: np.ndarray) -> None:
        V, c = self.vertices_, counts.astype(np.float64)
        kernel = self._compute_label_kernel(as_dense(V @ V.T), self._sizes_, self._sizes_)
        mean_kernel = kernel @ c / c.sum()
        centered_kernel = kernel - mean_kernel[:, None] - mean_kernel + c @ mean_kernel / c.sum()
        roots = np.sqrt(c)  # c rows on one vertex weigh as one row of length √c
        directions = directions_of_gram(roots[:, None] * centered_kernel * roots, self.n_components)
        sigma = directions.singular_values
        self.eigenvalues_ = sigma**2
        # Σ_i a_im = 0 (each component is orthogonal to √c), so ⟨φ(y) − o, u_m⟩ needs no mean over y
        self._dual_ = roots[:, None] * directions.components.T / np.where(sigma > 0, sigma, np.inf)
        self._shift_ = mean_kernel @ self._dual_
        self.codes_ = kernel @ self._dual_ - self._shift_

    def _map_label_sets(self, inner: np.ndarray, sizes: np.ndarray) -> np.ndarray:
        """H of label sets given by ⟨y, v_i⟩ and |y|."""
        return self._compute_label_kernel(inner, sizes, self._sizes_) @ self._dual_ - self._shift_

    # -- rows -----------------------------------------------------------------------------------------

    def _compute_row_kernel(self, X: Any) -> np.ndarray:
        params = {} if self.gamma is None else {"gamma": self.gamma}
        gram = pairwise_kernels(X, self._X_, metric=self.kernel, filter_params=True, **params)
        return np.asarray(as_dense(gram), dtype=np.float64)

    def _linear_map(self) -> Any:
        raise not_linear(type(self).__name__)

    def _scores(self, X: Any) -> np.ndarray:
        scores = np.empty((X.shape[0], self.vertices_.shape[1]))
        n_kernel_columns = self._X_.shape[0] if self.regressor is None else 0
        decode = self._round_codes if self.decoder == "round" else self._search_preimages
        for rows in row_blocks(X.shape[0], 8 * (n_kernel_columns + 4 * self.vertices_.shape[0])):
            scores[rows] = decode(self._predict_codes(X[rows]))
        return scores

    def _predict_codes(self, X: Any) -> np.ndarray:
        """r(x) of validated rows, n×M."""
        if self.regressor is None:
            return self._centerer_.transform(self._compute_row_kernel(X)) @ self._coef_ + self._mean_
        return np.asarray(self.regressor_.predict(X), dtype=np.float64).reshape(X.shape[0], -1)

    def _round_codes(self, codes: np.ndarray) -> np.ndarray:
        components = as_dense(self._dual_.T @ self.vertices_)
        return signed_targets(self._offset_ + codes @ components)

    def _search_preimages(self, codes: np.ndarray) -> np.ndarray:
        """Scores of the nearest label sets, seen or one flip after another from a seen one."""
        # negative squared distances, so that the larger is the better as in `best_with_and_without`
        affinity = -cdist(codes, self.codes_, "sqeuclidean")
        best_with, best_without = best_with_and_without(affinity, self.vertices_)
        nearest = _first_best(affinity)
        chosen = self.vertices_[nearest].toarray() > 0
        label_columns = self.vertices_.toarray().T
        for row, r in enumerate(codes):
            y, best_affinity = chosen[row], affinity[row, nearest[row]]
            for _ in range(STEPS):
                sign = np.where(y, -1.0, 1.0)
                # ⟨y ± e_k, v⟩ for every k at once: all single flips of y in one product
                inner = label_columns.T @ y + sign[:, None] * label_columns
                flip_affinity = -np.sum((self._map_label_sets(inner, y.sum() + sign) - r) ** 2, axis=1)
                k = int(_first_best(flip_affinity))
                if not flip_affinity[k] > best_affinity + SAME * (1.0 + abs(best_affinity)):
                    break
                best_affinity = flip_affinity[k]
                y[k] = not y[k]
            best_with[row] = np.maximum(best_with[row], np.where(y, best_affinity, flip_affinity))
            best_without[row] = np.maximum(best_without[row], np.where(y, flip_affinity, best_affinity))
        return label_margins(best_with, best_without, chosen) / 2.0


def _first_best(values: np.ndarray) -> np.ndarray:
    """Return the first index whose value is the largest up to rounding, along the last axis."""
    top = values.max(axis=-1, keepdims=True)
    return np.argmax(values >= top - SAME * (1.0 + np.abs(top)), axis=-1)
