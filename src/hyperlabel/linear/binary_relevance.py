"""Binary relevance: one linear model per label, all labels in one solve.

Notation
--------
code        meaning                                shape
X           samples                                n×d
Y           labels, 0/1                            n×k
moments_    Σx, Σy, XᵀX, XᵀY                       —
coef_       2W, W = (XcᵀXc + λI)⁻¹XcᵀYc            k×d
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if

from hyperlabel._base import MultiLabelClassifier, shape_probabilities
from hyperlabel._missing_labels import label_counts
from hyperlabel._params import Rule, each_number, number, one_of
from hyperlabel._validation import check_weights
from hyperlabel.linear.fit_rows import FitRows, balanced_weights, class_weights
from hyperlabel.linear.label_features import (
    NamedLabels,
    sample_map,
    solve_named_rows,
    solve_named_sums,
)
from hyperlabel.linear.margins import fit_margins
from hyperlabel.linear.per_label import fit_one_by_one, map_of_labels, score_labels, score_of_unknown
from hyperlabel.linear.shared_ridge import fit_shared_ridge, fits_memory, fold_maps, follow_rows
from hyperlabel.linear.solved_labels import SolvedLabels
from hyperlabel.metrics import get_scorer
from hyperlabel.moments.auto_params import (
    ALPHA,
    THRESHOLD,
    Auto,
)
from hyperlabel.moments.cross_validate import ClosedFormCV
from hyperlabel.moments.linear_map import LinearMap
from hyperlabel.moments.model import ScanningModel
from hyperlabel.moments.probabilities import OutOfFoldProbabilities
from hyperlabel.solvers.margin.losses import CURVATURE
from hyperlabel.solvers.moments.grouped_moments import GroupedMoments
from hyperlabel.solvers.moments.label_groups import WeightedEntries
from hyperlabel.solvers.moments.stored_rows import StoredRows
from hyperlabel.solvers.ridge.grouped_path import RowGroups, SummedGroups
from hyperlabel.solvers.ridge.label_blocks import (
    SETTLED,
    solve_groups,
    solve_label_blocks,
    solve_sums,
)
from hyperlabel.solvers.ridge.routes import Solver

CLASS_WEIGHT = Rule(
    lambda value: not isinstance(value, str) or value == "balanced",
    "'balanced', a dict, one number for each label, or None",
)


def _has_probabilities(self: Any) -> bool:
    if self.estimator is not None:
        return hasattr(self.estimator, "predict_proba")
    return self.loss == "logistic" or hasattr(self, "calibrators_") or hasattr(self, "_oof_labels_")


@dataclass(eq=False, repr=False)
class BinaryRelevance(NamedLabels, SolvedLabels, OutOfFoldProbabilities, MultiLabelClassifier, ScanningModel):
    r"""One linear model per label; with the default estimator, one shared solve for all of them.

    With ``estimator=None`` every label j is a ridge regression on targets ±1,

    .. math:: \min_{w_j, b_j} \sum_i (w_j^T x_i + b_j - (2 y_{ij} - 1))^2 + \alpha \|w_j\|^2,

    where:

    - :math:`x_i` is a row of X, :math:`y_{ij} \in \{0, 1\}` says whether it carries label j;
    - :math:`\alpha` is the ridge λ (the intercept :math:`b_j` is not penalised).

    All labels share XᵀX, so the fit is one pass over the rows and one d×d factorisation however many labels
    there are; sparse X is never densified. The sums (`moments_`) are kept, so that rows and labels can come
    and go without the old rows, equal to a fit from scratch. With ``cv=`` the moments of each training fold
    follow by subtraction: exact out-of-fold scores (`oof_scores_`), and a choice among several `alpha`, at
    little more than the price of one fit.

    Another `loss` of the score f and the target t = ±1 may stand in the place of the squared one:
    max(0, 1 − tf)² or log(1 + exp(−tf)). All labels still share one factorisation, which then preconditions
    L-BFGS; but the rows do not add up to sums, so that they are needed all at once.

    A 2-D y may hold NaN where nobody knows whether a row carries a label: each label is then fitted on the
    rows where it is known, and a label of which no row is known ranks by the mean prevalence of the others.
    It may hold numbers between 0 and 1 as well: a share p counts as a row of weight p with the label and one
    of weight 1 − p without. Labels with the same gaps and weights share a solve (docs/guides/gaps-in-labels).

    Parameters
    ----------
    estimator : classifier, default=None
        A scikit-learn classifier cloned for each label, or None for the shared ridge.
    loss : {"squared", "squared_hinge", "logistic"}, default="squared"
        Loss of the shared solve. "squared_hinge" ranks better on wide text (docs/scaling.md). "logistic" is
        slower, ranks better on some data (docs/choosing.md) and has probabilities of its own; α is 1/(2C) of
        scikit-learn's `LogisticRegression`.
    class_weight : "balanced", dict, array-like of shape (n_labels,) or None, default=None
        Weight of each label's positives, negatives counting once, by label (1 where a dict names none);
        ``{0: a, 1: b}`` weighs negatives and positives of all labels; "balanced" makes both sides of each
        label weigh the same. They multiply `sample_weight`, and the choice of λ knows nothing of them.
    alpha : float, sequence of float or "auto", default="auto"
        The ridge λ of the shared solve. "auto" takes the smallest λ whose evidence is the largest, or nearly,
        a function of the sums alone: every way to the same sums (`partial_fit`, `merge`, `forget`, chunks,
        Dask) chooses the same; other losses take it in proportion to their curvature. 0 means the
        pseudo-inverse. Several values need `cv`, which chooses one.
    threshold : float, "auto" or None, default=None
        What is subtracted from every score, so that a label is predicted where its score exceeded
        it; rankings stay as they are. "auto" predicts about as many labels as the training rows carry, from
        the sums alone (0 for a 1-D y). None is "auto" beside ``alpha="auto"``, 0 beside numbers and other
        losses. Thresholds for each label are `ThresholdTuner`'s.
    cv : None, int, "loo", splitter or iterable of (train, test), default=None
        How to form out-of-fold scores: None for none, a number for stratified folds (grouped if
        `groups` are given), "loo" for leave-one-out in closed form, or any splitter. In closed form for
        the shared ridge; with `estimator` or another `loss` each fold is fitted anew.
    scoring : str or callable, default=None
        What `cv` maximises: a name of `hyperlabel.metrics.get_scorer_names`, or
        ``scorer(estimator, X, y)``. None means label ranking average precision where there is a
        choice to make, and no scoring where there is not.
    solver : {"auto", "gram", "samples", "krylov"}, default="auto"
        Route of the shared solve (`solver_` names the one taken): "gram" factors the d×d Gram and
        keeps the moments, "samples" the n×n one, "krylov" iterates without either.
    max_nonzero_coefs : int, default=None
        Keep only so many weights per label, those of largest magnitude; `coef_` is then a
        ``csr_array``. What it costs depends on the data: measure it (docs/scaling.md does).
    memory_limit : float, default=None
        Bytes the "krylov" route may take besides X (1 GiB by default): labels are solved in blocks
        that fit.
    tol : float, default=5e-4
        Where the "krylov" route stops: estimated error of a label's scores, root mean square over the
        rows, labels being 0 and 1. The default left precision at 1, 3 and 5 within .001 of the exact
        solution's where it was measured (docs/scaling.md); `residual_` says what was reached. Of other
        losses: the norm of each label's gradient, relative to that at zero.
    label_features : array-like of shape (n_labels, n_features), mapping or frame, default=None
        What the labels themselves say, in the features of X: their names as rows
        (docs/guides/label-names.md). The weights of the shared ridge are drawn to ``label_scale_``
        times these rows, as much as the evidence asks for. By position, or by label name (a
        mapping, or a frame with names as index); names that no row carries become labels. A label
        without a row is taken as unknown, and scored by its features alone.
    n_jobs : int, default=None
        Labels fitted in parallel when `estimator` is given.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (n_labels, n_features), and of shape (n_labels,)
        The shared ridge (absent when `estimator` is given); weights are a csr_array with `max_nonzero_coefs`.
    alpha_, threshold_ : float
        The λ and the threshold used; `intercept_` holds the threshold already.
    residual_ : float
        Certificate: relative residual of the equations solved.
    solver_ : str
        The route taken.
    label_scale_ : float
        g, how much one unit of `label_features` weighs (on the scale of targets 0 and 1).
    dual_coef_ : ndarray of shape (n_samples, n_labels)
        In the place of `coef_`, where `label_features` are given for rows so wide that `coef_` would take
        more than an eighth of a gigabyte; the rows are then kept as ``samples_``.
    moments_ : object
        The sums the shared ridge was solved from (route "gram").
    oof_scores_ : ndarray of shape (n_samples, n_labels)
        Out-of-fold scores at `alpha_` when `cv` is given; NaN for rows in no test fold.
    cv_results_ : dict
        Score of each `alpha` on each fold, in scikit-learn's form (when scores were asked for).
    estimators_ : list
        One fitted clone per label, None for labels that are constant in training.
    classes_, label_names_ : ndarray
        ``arange(n_labels)``, or the classes of a 1-D y; column names of a DataFrame y.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import BinaryRelevance
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> model = BinaryRelevance(alpha=[0.1, 10.0, 1000.0], cv=5).fit(X, Y)
    >>> model.predict(X[:2]).shape
    (2, 5)
    >>> model.oof_scores_.shape, model.alpha_ in (0.1, 10.0, 1000.0)
    ((200, 5), True)
    >>> best, scores = model.predict_topk(X[:2], k=2)
    >>> best.shape
    (2, 2)

    Labels nobody looked at are NaN:

    >>> import numpy as np
    >>> gaps = np.where(np.arange(200)[:, None] % 5 == np.arange(5), np.nan, Y)
    >>> BinaryRelevance().fit(X, gaps).predict(X[:3]).astype(int)
    array([[0, 0, 0, 1, 1],
           [0, 0, 1, 0, 0],
           [1, 0, 0, 1, 0]])
    """

    _accepts_missing_labels = True
    _accepts_soft_targets = True
    _accepts_entry_weights = True
    _takes_grouped_moments = True
    _inner = "estimator"
    _rules: ClassVar = {
        "alpha": ALPHA | each_number(0),
        "threshold": THRESHOLD,
        "tol": number(above=0),
        "loss": one_of("squared", *CURVATURE),
        "class_weight": CLASS_WEIGHT,
    }
    _closed_form_params: ClassVar = {
        "alpha": "alpha"
    }  # what ClosedFormSearchCV may search, and where it lives
    _fitted_shapes: ClassVar[dict[str, str]] = {"coef_": "k d", "intercept_": "k"}

    estimator: Any = None
    _: KW_ONLY
    loss: Literal["squared", "squared_hinge", "logistic"] = "squared"
    class_weight: Any = None
    alpha: float | Sequence[float] | Auto = "auto"
    threshold: float | Auto | None = None
    cv: Any = None
    scoring: Any = None
    solver: Solver = "auto"
    max_nonzero_coefs: int | None = None
    memory_limit: float | None = None
    tol: float = SETTLED
    label_features: Any = None
    n_jobs: int | None = None

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, **fit_params: Any
    ) -> BinaryRelevance:
        """Fit all labels; a 2-D y may hold NaN where a label is unknown, and shares between 0 and 1.

        `sample_weight` weighs the rows, or, of shape (n_samples, n_labels), the entries of y, `groups` keep
        rows together in the folds of `cv`; further metadata goes to `estimator`, when metadata routing is
        enabled.
        """
        X, Y = self._check_fit(X, y)
        if self.label_features is not None:
            Y = self._add_named_labels(Y)
        weights = check_weights(sample_weight, X, Y.shape[1])
        rows = FitRows.of(X, Y, weights, groups, self.cv, fit_params)
        if self.class_weight is not None:
            rows = rows.weigh_classes(self.class_weight, self._layout)
        if self.estimator is not None:
            fit_one_by_one(self, rows)
        elif fit_params:
            raise TypeError(f"The shared ridge takes no fit parameter {next(iter(fit_params))!r}.")
        elif self.loss == "squared":
            fit_shared_ridge(self, rows)
        else:
            fit_margins(self, rows)
        return self

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probability of each label, n×k (both classes as columns for a 1-D binary y).

        Of the estimators of the labels if one is given; of the shared ridge where `cv` gave it out-of-fold
        scores of several labels, calibrated on those (`predict` thresholds the scores instead). They are kept
        when rows and labels come and go. The logistic loss has its own, σ(score).
        """
        if self.estimator is None and self.loss != "logistic":
            return super().predict_proba(X)
        X = self._check_predict(X)
        p = np.repeat((self._constant > 0).astype(float)[None, :], X.shape[0], axis=0)
        if self.estimator is None:
            p = np.where(self._constant, p, expit(self._scores(X) + self.threshold_))
        for j, label_model in enumerate(() if self.estimator is None else self.estimators_):
            if label_model is not None:
                p[:, j] = label_model.predict_proba(X)[:, 1]
            elif self._constant[j] == 0:
                p[:, j] = self._prevalence_
        return shape_probabilities(self._layout, p)

    def _scores(self, X: Any) -> np.ndarray:
        if self.estimator is None:
            return self._linear_map().scores(X)
        return score_labels(self.estimators_, X, self._unknown_score())

    def _unknown_score(self) -> float:
        return score_of_unknown(self.estimator, getattr(self, "_prevalence_", 0.0))

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which metadata goes where: all fit parameters to the per-label estimator."""
        router = MetadataRouter(owner=self).add_self_request(self)
        if self.estimator is not None:
            mapping = MethodMapping().add(caller="fit", callee="fit")
            router.add(estimator=self.estimator, method_mapping=mapping)
        return router

    def _is_ridge(self) -> bool:
        """Return whether the fit is the shared ridge, which depends on the rows through moments only."""
        return self.estimator is None and self.loss == "squared"

    def _refuses_rows(self) -> str | None:
        if self._scans():
            return (
                "class_weight='balanced' needs the counts of all rows first: give the weights of positives "
                "as numbers, or fit on all rows."
            )
        return None if self._is_ridge() else self._refuses_blocks()

    def _scans(self) -> bool:
        return isinstance(self.class_weight, str)

    def _scan(self, X: Any, Y: sparse.csr_array, weights: np.ndarray | None) -> dict[str, Any]:
        counts, known = WeightedEntries.of(Y, weights).counts()
        return {"counts": counts, "known": known}

    def _use_scan(self, total: dict[str, Any]) -> None:
        self._on_off_ = balanced_weights(total["counts"], total["known"])

    def _weights_of_classes(self) -> np.ndarray | None:
        if self._scans():
            return self._on_off_
        return class_weights(self.class_weight, self._layout)

    def _refuses_blocks(self) -> str | None:
        if self.cv is not None:
            return "Out-of-fold scores need all rows at once: leave cv=None."
        if self._is_ridge():
            return None
        arguments = f"loss={self.loss!r}" if self.estimator is None else f"{type(self.estimator).__name__}()"
        return (
            f"BinaryRelevance({arguments}) needs all rows at once: fit it in memory, or leave estimator=None "
            "and loss='squared' for the shared ridge."
        )

    # -- what the fitters share ----------------------------------------------------------------------

    def _list_alphas(self) -> list[Any]:
        """Return the λ to choose from; their rules are checked already, but for those they share."""
        if isinstance(self.threshold, str) and not self._is_ridge():
            raise ValueError(
                "threshold='auto' is read off the shared ridge: give a number, or use ThresholdTuner."
            )
        alphas: list[Any] = [self.alpha]
        if not isinstance(self.alpha, str):
            alphas = [float(alpha) for alpha in np.ravel(self.alpha)]
        if len(alphas) > 1 and self.cv is None:
            raise ValueError("Several alpha were given: set cv= so that one can be chosen.")
        return alphas

    def _threshold_rule(self, alpha: Any = None) -> Any:
        """Return the threshold asked for: without a word on it "auto" beside an automatic λ, else 0."""
        if self.threshold is not None:
            return self.threshold
        is_auto = isinstance(self.alpha if alpha is None else alpha, str)
        return "auto" if is_auto and self._is_ridge() else 0.0

    def _choose_scorer(self, n_choices: int) -> Any:
        if self.scoring is None and n_choices == 1:
            return None
        return get_scorer(self.scoring or "label_ranking_average_precision")

    def _set_cv_attributes(self, cv_scores: ClosedFormCV, rows: FitRows) -> None:
        oof_scores = rows.spread(cv_scores.oof_scores)
        if cv_scores.results is not None:
            self.cv_results_ = cv_scores.results
        self.oof_scores_ = oof_scores[:, 0] if self._layout.kind == "binary" else oof_scores

    def _solve(self) -> None:
        if np.ndim(self.alpha) == 0 or not hasattr(self, "alpha_"):
            (self.alpha_,) = self._list_alphas()
        if (route := self._stored_route()) != "gram":
            rows = self.moments_
            self._solve_rows(rows.X, rows.Y, rows.sample_weight, route)
        else:
            self._solve_sums()

    def _solve_sums(self, rows: Any = None) -> None:
        """Set the fitted attributes from `moments_` at the λ `alpha_`, which may be "auto"."""
        label_features, squares = self._get_label_features(), isinstance(self._threshold_rule(), str)
        moments = self.moments_.sums()
        if label_features is not None and isinstance(moments, GroupedMoments):
            self._set_named_groups(SummedGroups(moments), label_features)
            return
        if label_features is not None:
            solution = solve_named_sums(moments, self.alpha_, label_features, rows=rows)
            self._set_named(solution, moments.sum_targets, moments.weight)
            return
        solved_block, route = solve_sums(moments, self.alpha_, squares=squares, rows=rows)
        self._set_coef([solved_block], route, moments.sum_targets, moments.weight)

    def _solve_rows(self, X: Any, Y: sparse.csr_array, weights: np.ndarray | None, route: Any) -> None:
        """Solve without moments, at `alpha_`."""
        counts, weight = label_counts(Y, weights)
        if (label_features := self._get_label_features()) is not None and np.ndim(weight):
            exact_route: Any = "gram" if X.shape[1] <= X.shape[0] else "samples"
            entries = WeightedEntries.of(Y, weights)
            self._set_named_groups(RowGroups(X, entries, solver=exact_route), label_features)
            return
        if label_features is not None:
            named_options: Any = {"sample_weight": weights, "tol": self.tol}
            solution = solve_named_rows(X, Y, self.alpha_, label_features, route, **named_options)
            self._set_named(solution, counts, weight)
            return
        if np.ndim(weight):
            path = RowGroups(X, WeightedEntries.of(Y, weights), solver=route)
            self._set_coef([solve_groups(path, self.alpha_, squares=True)], path.solver, counts, weight)
            return
        solve_options: Any = {"sample_weight": weights, "memory_limit": self.memory_limit, "tol": self.tol}
        squares = isinstance(self._threshold_rule(), str)
        label_blocks = solve_label_blocks(X, Y, self.alpha_, route=route, squares=squares, **solve_options)
        self._set_coef(label_blocks, route, counts, weight)

    def _stored_route(self) -> str:
        """Return the route to a solution from `moments_`: by rows where these are stored and too wide."""
        if not isinstance(rows := self.moments_, StoredRows):
            return "gram"
        route = self._choose_route(rows.X)
        has_gaps = route == "gram" and np.isnan(rows.Y.data).any()
        if has_gaps and not fits_memory(
            self, rows.n_features, WeightedEntries.of(rows.Y, rows.sample_weight)
        ):
            return self.solver  # one pattern of gaps after the other
        return route

    def _follow(self, X: Any, Y: sparse.csr_array, weights: np.ndarray | None) -> bool:
        return follow_rows(self, FitRows(X, Y, weights, None, None, {}))

    def _linear_map(self) -> LinearMap:
        """Return f(x) = coef·x + intercept; predictions, explanations and closed-form search all read it."""
        if hasattr(self, "dual_coef_"):
            names = 2.0 * self.label_scale_ * self.label_features_
            return sample_map(self.dual_coef_, self.samples_, names, self.intercept_)
        if self.estimator is None:
            return LinearMap(self.coef_, self.intercept_)
        return map_of_labels(self.estimators_, type(self.estimator).__name__, self._unknown_score())

    def _fold_maps(
        self, moments: Any, X: Any, Y: sparse.csr_array, alphas: Sequence[float] = ()
    ) -> Callable[[dict[str, Any]], LinearMap]:
        """Return the map that any setting would have, fitted on the rows summed in `moments`."""
        return fold_maps(self, moments)
