"""Rank-SVM and its hypergraph-regularised form (CVPR'09): the estimators.

Notation
--------
code                   paper                                                       shape
coef_, intercept_      w_p, b_p of f_p(x) = ⟨w_p, x⟩ + b_p                         k×d, k
dual_coef_             (I + λLK)⁻¹β, f(x) = k(x, X)·dual_coef_ᵀ + b                k×n
label_set_size_coef_        weights of h(x) (§3.4), on features or training rows        d or n
hypergraph_weight      λ of eq. (10)                                               scalar
C                      C of eq. (9), (10)                                          scalar

The features are scaled inside (`hyperlabel.solvers.rank.scaling`) and the scaling is folded back, so
the coefficients apply to X as the user gave it.
"""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from hyperlabel._base import MultiLabelClassifier
from hyperlabel._callbacks import CallbackSupportMixin, report_fit
from hyperlabel._missing_labels import (
    constant_labels,
    find_unknown_labels,
    known_part,
    label_counts,
    rank_in_the_middle,
    rows_with_known_labels,
)
from hyperlabel._params import FLAG, NONE, Rule, number, one_of, whole
from hyperlabel._validation import check_targets, check_weights, target_check_options
from hyperlabel.moments.linear_map import LinearMap, not_linear
from hyperlabel.ranking._choose import choose_C
from hyperlabel.ranking._fit import RankFit, Solved, estimate_fit_memory, refuse_if_too_large
from hyperlabel.solvers.arrays import row_blocks

DEFAULT_MEMORY = 4 * 2**30


@dataclass(eq=False, repr=False)
class RankSVM(CallbackSupportMixin, MultiLabelClassifier):
    r"""Rank every relevant label above every irrelevant one by a margin; certified.

    .. math::
        \min_{W, b} \tfrac12 \|W\|^2 + \tfrac12 \|b\|^2 + C \sum_i \frac{s_i}{|y_i||\bar y_i|}
        \sum_{p \in y_i, q \in \bar y_i} c_p\,[1 - f_p(x_i) + f_q(x_i)]_+

    where:

    - :math:`f_p(x) = w_p^T x + b_p` is the score of label p, and the problem is (9) of [2]_;
    - :math:`y_i` are the labels of row i, :math:`\bar y_i` the others;
    - :math:`s_i` is the sample weight, :math:`c_p` the label's cost.

    Rows with all or no labels have no pairs: they do not shape f, and are predicted like any
    other. How many labels a row gets is learned afterwards: h(x), half way between the worst
    relevant and the best irrelevant label of each training row, regressed on x
    (`hyperlabel.decision.LabelSetSize`). `decision_function` returns f(x) − h(x), so that
    positive means predicted; within a row the order is that of f, which `rank_scores` returns.
    With 1-D y every row has one class, and no h is needed.

    Labels nobody knows (NaN) are in no pair and do not shape h; rows without a known label are left out.
    A label that no row knows gets the mean score of the others in each row, and is not predicted.

    Parameters
    ----------
    C : float or "auto", default="auto"
        Weight of the ranking loss. "auto" fits roughly for growing C, each started from the last, and takes
        the one that orders the labels of held-out rows best (average precision; three folds up to 2000
        rows, one fifth beyond): two to six times the price of one fit.
    solver : {"dcd", "frank-wolfe"}, default="dcd"
        Dual coordinate descent, or the published Frank–Wolfe method (keeps no duals; slower).
    kernel : str or callable, default="linear"
        A kernel of `sklearn.metrics.pairwise.pairwise_kernels`, or ``"precomputed"``.
    gamma : float or "scale", default="scale"
        Kernel coefficient; ``"scale"`` is one over the total variance of the scaled features.
    degree, coef0 : float
        Further kernel parameters.
    tol : float, default=1e-3
        Relative duality gap (P − D)/P to reach.
    max_iter : int, default=None
        Largest number of epochs (None: 1000) or Frank–Wolfe steps (None: 20000).
    scaling : {"auto", "standard", "norm", "none"}, default="auto"
        How features are scaled inside; see `hyperlabel.solvers.rank.scaling`.
    label_cost : None, "balanced", array-like or {label: cost}, default=None
        Cost of ranking a relevant label too low; ``"balanced"`` gives rare labels more, with
        mean 1 over the positive entries of y.
    set_size_regressor : regressor, default=None
        A scikit-learn regressor of the rows, cloned, that learns h(x). None is the linear support vector
        regression of `hyperlabel.decision.LabelSetSize`, on the same (kernel) rows as f.
    warm_start : bool, default=False
        Start from the duals of the last fit when their number is the same (they are kept then).
    solver_options : dict, default=None
        Of the solver: ``{"trace": True}`` records the primal and dual objective after every
        iteration in `trace_`; ``{"dual_dtype": "float32"}`` (dcd) halves the memory of the duals, one
        for each relevant/irrelevant pair of each row.
    memory_limit : int, default=2**32
        Refuse, before allocating, a fit that `estimate_memory` puts above this many bytes.
    random_state : int, RandomState or None, default=None
        For the order in which rows are visited, and for those held out to choose C.

    Attributes
    ----------
    coef_ : ndarray of shape (n_labels, n_features)
        Weights of f (linear kernel).
    dual_coef_ : ndarray of shape (n_labels, n_training_rows)
        Weights of f on the training rows (other kernels).
    intercept_ : ndarray of shape (n_labels,)
        Biases of f.
    label_set_size_coef_, label_set_size_intercept_ : ndarray and float
        The learned threshold h (of the default regressor).
    set_size_regressor_ : regressor
        What learned h, if it was given.
    C_ : float
        The C of the fit.
    dual_gap_ : float
        (P − D)/P of the solution, computed over every pair.
    objective_ : float
        P.
    n_iter_ : int
        Epochs or steps taken.
    trace_ : ndarray of shape (n_records, 3)
        Iteration, P and D, if traced.

    References
    ----------
    .. [1] A. Elisseeff, J. Weston. A kernel method for multi-labelled classification. NIPS 2001.
    .. [2] G. Chen, J. Zhang, F. Wang, C. Zhang, Y. Gao. Efficient multi-label classification with
       hypergraph regularization. CVPR 2009.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import RankSVM
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> model = RankSVM(C=10.0, random_state=0).fit(X, Y)
    >>> bool(model.dual_gap_ <= 1e-3)
    True
    >>> bool(((model.decision_function(X) > 0) == model.predict(X)).all())
    True
    >>> best, _ = model.predict_topk(X[:3], k=2)
    >>> best.shape
    (3, 2)
    """

    _fitted_shapes: ClassVar[dict[str, str]] = {
        "coef_": "k d",
        "intercept_": "k",
        "dual_coef_": "k n",
    }

    _rules: ClassVar[dict[str, Rule]] = {
        "C": number(above=0) | one_of("auto"),
        "solver": one_of("dcd", "frank-wolfe"),
        "tol": number(above=0),
        "max_iter": whole(1) | NONE,
        "scaling": one_of("auto", "standard", "norm", "none"),
        "warm_start": FLAG,
        "memory_limit": number(above=0),
        "hypergraph_weight": number(0),
        "nu": number(0),
        "scale": one_of("trace", "literal"),
        "laplacian": one_of("combinatorial", "normalized"),
    }

    @property
    def _accepts_missing_labels(self) -> bool:  # type: ignore[override]
        return self.kernel != "precomputed"  # rows that are left out would still be columns of the kernel

    C: float | Literal["auto"] = "auto"
    _: KW_ONLY
    solver: str = "dcd"
    kernel: Any = "linear"
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 1.0
    tol: float = 1e-3
    max_iter: int | None = None
    scaling: str = "auto"
    label_cost: Any = None
    set_size_regressor: Any = None
    warm_start: bool = False
    solver_options: dict[str, Any] | None = None
    memory_limit: float = DEFAULT_MEMORY
    random_state: Any = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RankSVM:
        """Fit the ranking, then the label-set size; a row of `sample_weight` 2 is one written twice.

        With ``kernel="precomputed"`` X is the kernel matrix of the training rows.
        """
        with report_fit(self, X, y) as steps:
            prepared = self._prepare(X, y, sample_weight)
            if self.C == "auto":
                end_step = steps.begin("choose C")
                self.C_ = choose_C(prepared)[0]
                end_step()
            else:
                self.C_ = float(self.C)
            start_duals = getattr(self, "_alpha", None) if self.warm_start else None
            solved = prepared.solve(self.C_, self._laplacian_weight(), start_duals, steps.report_epoch)
        self._adopt(prepared, solved)
        if self.warm_start:
            self._alpha = solved.result.alpha
        elif hasattr(self, "_alpha"):
            del self._alpha
        return self

    def rank_scores(self, X: Any) -> np.ndarray:
        """Return f(x), the ranking scores before the threshold h is taken off, n×k.

        They are comparable across rows too (for ROC curves per label), which f − h is not.
        """
        return self._linear(self._check_predict(X), with_threshold=False)

    def estimate_memory(self, X: Any, y: Any) -> int:
        """Return the bytes a fit will need beyond X and y themselves."""
        Y, _ = check_targets(y, name=type(self).__name__, **target_check_options(self))
        return estimate_fit_memory(
            self, X if sparse.issparse(X) else np.asarray(X), Y, self._laplacian_weight()
        )

    # -- inside ---------------------------------------------------------------------------------

    def _laplacian_weight(self) -> float:
        return 0.0

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> RankFit:
        X, Y = self._check_fit(X, y, missing=self._accepts_missing_labels)
        weights = check_weights(sample_weight, X)
        known_rows = rows_with_known_labels(Y)
        if known_rows is not None:
            X, Y = known_part(X, Y)
            weights = None if weights is None else weights[known_rows]
        if np.isnan(Y.data).any():
            self._unknown_labels_ = find_unknown_labels(Y)[0]
        if weights is not None:
            self._constant = constant_labels(*label_counts(Y, weights))
            if weights.any() and not weights.all() and self.kernel != "precomputed":
                weighed_rows = np.flatnonzero(weights)  # a row of weight 0 is a row that is not there
                X, Y, weights = X[weighed_rows], Y[weighed_rows], weights[weighed_rows]
        refuse_if_too_large(self, X, Y, self._laplacian_weight())
        return RankFit(self, X, Y, weights)

    def _adopt(self, prepared: RankFit, solved: Solved) -> None:
        """Take over a solution as fitted attributes."""
        result = solved.result
        self.dual_gap_, self.objective_, self.n_iter_ = float(result.gap), result.primal, result.n_iter
        self.trace_ = result.trace if prepared.options["trace"] else np.empty((0, 3))
        self.intercept_, self.label_set_size_intercept_ = solved.intercept, solved.label_set_size_intercept
        self.label_set_size_coef_ = solved.label_set_size_coef
        if solved.set_size_regressor is not None:
            self.set_size_regressor_ = solved.set_size_regressor
        if prepared.kernel is None:
            self.coef_ = solved.coef
        else:
            self.dual_coef_, self.kernel_ = solved.coef, prepared.kernel
        if not result.converged:
            warnings.warn(
                f"{type(self).__name__} stopped after {result.n_iter} iterations at a relative duality "
                f"gap of {result.gap:.2g}, above tol={self.tol:g}: raise max_iter, lower C"
                + (" or scale the features (scaling='auto')." if self.scaling == "none" else "."),
                ConvergenceWarning,
                stacklevel=3,
            )

    def _scores(self, X: Any) -> np.ndarray:
        return self._linear(X, with_threshold=True)

    def _linear(self, X: Any, *, with_threshold: bool) -> np.ndarray:
        """Scores of validated rows, f − h or f."""
        is_linear = hasattr(self, "coef_")
        coef, intercept = self.coef_ if is_linear else self.dual_coef_, self.intercept_
        if with_threshold:
            coef, intercept = coef - self.label_set_size_coef_, intercept - self.label_set_size_intercept_
        scores = np.empty((X.shape[0], len(intercept)))
        if is_linear:
            scores[:] = np.asarray(X @ coef.T) + intercept
        else:
            for rows in row_blocks(X.shape[0], 8 * coef.shape[1]):
                scores[rows] = self.kernel_.rows(X[rows]) @ coef.T + intercept
        if with_threshold and hasattr(self, "set_size_regressor_"):
            scores -= np.asarray(self.set_size_regressor_.predict(X), dtype=np.float64).reshape(-1, 1)
        if len(getattr(self, "_unknown_labels_", ())):
            rank_in_the_middle(scores, self._unknown_labels_, predicts=with_threshold)
        return scores

    def _linear_map(self) -> LinearMap:
        """Return f − h as one linear function of the features."""
        if not hasattr(self, "coef_") or hasattr(self, "set_size_regressor_"):
            raise not_linear(type(self).__name__)
        return LinearMap(
            self.coef_ - self.label_set_size_coef_, self.intercept_ - self.label_set_size_intercept_
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


@dataclass(eq=False, repr=False)
class HypergraphRankSVM(RankSVM):
    r"""Rank-SVM whose scores vary little inside the hyperedges of the labels (Rank-HLapSVM).

    .. math::
        \min_{W, b} \tfrac12 \operatorname{tr}(W^T (I + \lambda X^T L X) W) + \tfrac12 \|b\|^2
        + C \sum_i \frac{s_i}{|y_i||\bar y_i|} \sum_{p \in y_i, q \in \bar y_i} c_p\,
        [1 - f_p(x_i) + f_q(x_i)]_+

    where:

    - L is the Laplacian of the clique expansion of the label hypergraph, combinatorial (5) or normalised (6);
    - λ is `hypergraph_weight`, relative to the size of XᵀLX by default (`scale`);
    - the other symbols are those of `RankSVM`, which λ = 0 is.

    XᵀLX is formed without an n×n matrix. With fewer features than rows the d×d matrix I + λXᵀLX
    is factored; otherwise the n×n kernel form (27) is used, in which the rows themselves carry the
    weights. Beyond `memory_limit` the fit is refused.

    Parameters
    ----------
    C : float or "auto", default="auto"
        Weight of the ranking loss, as in `RankSVM`.
    hypergraph_weight : float, default=1.0
        λ.
    edge_weights : str, array-like or mapping, default="compactness"
        Hyperedge weights: exp(−ν d̄) with d̄ the mean squared distance inside the hyperedge,
        relative to its mean over labels (29)–(30), or as `hyperlabel.geometry.edge_weights`.
    nu : float, default=1.0
        ν of the compactness weights.
    laplacian : {"combinatorial", "normalized"}, default="combinatorial"
        L = D − HWHᵀ (5), or I − D^(−1/2)HWHᵀD^(−1/2) (6) with D^(−1/2) = 0 for rows without labels. Both act
        on the scores without their bias, the normalised one on features centred by `scaling`.
    scale : {"trace", "literal"}, default="trace"
        ``"trace"`` divides XᵀLX by its mean diagonal entry, so that λ = 1 weighs as much as the
        plain penalty whatever n is; ``"literal"`` takes it as printed, where it grows with n².
    solver, kernel, gamma, degree, coef0, tol, max_iter, scaling
        As in `RankSVM`.
    label_cost, warm_start, solver_options, memory_limit, random_state
        As in `RankSVM`.

    Attributes
    ----------
    edge_weights_ : ndarray of shape (n_labels,)
        Hyperedge weights used (absent when λ = 0).
    coef_, dual_coef_, intercept_, label_set_size_coef_, label_set_size_intercept_
        As in `RankSVM`.
    C_, dual_gap_, objective_, n_iter_, trace_
        As in `RankSVM`.

    References
    ----------
    .. [1] G. Chen, J. Zhang, F. Wang, C. Zhang, Y. Gao. Efficient multi-label classification with
       hypergraph regularization. CVPR 2009. Equations (10)–(27), (29), (30).

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import HypergraphRankSVM
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> model = HypergraphRankSVM(C=10.0, hypergraph_weight=2.0, random_state=0).fit(X, Y)
    >>> model.coef_.shape
    (5, 20)
    """

    _: KW_ONLY
    hypergraph_weight: float = 1.0
    edge_weights: Any = "compactness"
    nu: float = 1.0
    laplacian: str = "combinatorial"
    scale: str = "trace"

    def _laplacian_weight(self) -> float:
        return float(self.hypergraph_weight)

    def _adopt(self, prepared: RankFit, solved: Solved) -> None:
        super()._adopt(prepared, solved)
        if self.hypergraph_weight > 0:
            self.edge_weights_ = prepared.hyperedges.weights
