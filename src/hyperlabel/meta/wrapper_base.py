"""What the estimators that wrap an estimator share: its scores, in and out of fold, and routing."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.utils import indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted

from hyperlabel._base import (
    MultiLabelClassifier,
    fit_checked,
    place_constant_labels,
    score_batches,
    score_dtype,
    score_rows,
)
from hyperlabel._missing_labels import label_counts, mask_entries, rows_with_known_labels
from hyperlabel._params import check_params, forget_fit
from hyperlabel._sklearn_compat import check_method_params, num_samples, routing_enabled, safe_indexing
from hyperlabel._validation import (
    CheckedTargets,
    TargetLayout,
    check_weights,
    indicator_of_names,
    plain_of_indicator,
    read_targets,
    target_check_options,
    warn_of_counts,
)
from hyperlabel.decision.risk_control import group_shuffle_split
from hyperlabel.linear import BinaryRelevance
from hyperlabel.meta.label_trees import ConsistentLabels
from hyperlabel.meta.linear_view import LinearView, linear_view
from hyperlabel.meta.named_labels import add_labels_of, clone_for, find_named_ridge, known_by_name
from hyperlabel.model_selection import IterativeStratifiedGroupKFold
from hyperlabel.model_selection.folds import count_units, is_number
from hyperlabel.model_selection.groups import groups_for_fit
from hyperlabel.model_selection.out_of_fold import score_out_of_fold
from hyperlabel.moments.model import MomentsModel
from hyperlabel.moments.probabilities import OutOfFoldProbabilities

HELD_OUT = 1 / 3  # of the rows (groups), with cv="split"
CLOSED_FORM_FOLDS = 10  # of the shared ridge; five would fit on a fifth fewer samples and score too low


def held_out_rows(n: int, groups: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Draw the rows that ``cv="split"`` fits on and those it holds out: a third, groups whole.

    At random and not stratified: a draw that looked at the labels would leave them dependent.
    """
    held_out, train = group_shuffle_split(n, groups, HELD_OUT, one_each=False, seed=1)
    return np.sort(train), np.sort(held_out)


def has_closed_form_cv(estimator: Any) -> bool:
    """Say whether out-of-fold scores cost this estimator next to nothing."""
    return isinstance(estimator, BinaryRelevance) and estimator._is_ridge()


def split_off_scores(model: Any) -> np.ndarray:
    """Return the out-of-fold scores of a fitted model, which forgets them and the folds it was asked for."""
    oof_scores: np.ndarray = model.oof_scores_
    del model.oof_scores_
    if isinstance(model, OutOfFoldProbabilities):
        model._drop_calibrators()
    model.set_params(cv=None)
    return oof_scores


def iter_nested_estimators(model: Any, inner: str = "estimator_") -> Iterator[Any]:
    """Yield a model and the classifiers inside it, outermost first; unfitted by ``inner="estimator"``."""
    yield model
    if isinstance(model, Pipeline):
        yield from iter_nested_estimators(model[-1], inner)
    elif hasattr(model, inner):
        yield from iter_nested_estimators(getattr(model, inner), inner)
    for member in getattr(model, "estimators_", ()):
        yield from iter_nested_estimators(member, inner)


def _find_moving_threshold(estimator: Any) -> Any:
    """Return the nested ridge of an unfitted classifier if its threshold depends on the rows, or None."""
    inner = next(
        (
            inner
            for inner in iter_nested_estimators(estimator, "estimator")
            if isinstance(inner, MomentsModel)
        ),
        None,
    )
    return inner if getattr(inner, "threshold", 0.0) in (None, "auto") else None


def _pass_names(model: Any, label_names: np.ndarray) -> None:
    """Name the labels of estimators that were fitted on an indicator without names."""
    for estimator in iter_nested_estimators(model):
        layout = getattr(estimator, "_layout", None)
        if layout is not None and layout.n_columns == len(label_names):
            estimator._layout, estimator.label_names_ = replace(layout, label_names=label_names), label_names


class WrappingClassifier(ConsistentLabels, MetaEstimatorMixin, MultiLabelClassifier):
    """Base of the classifiers that fit another one (`estimator_`) and learn from its out-of-fold scores.

    X is passed on as it is: the wrapped estimator (a Pipeline that reads text, say) validates it.
    """

    label_tree: Any = None  # unless a class has the parameter
    estimator: Any
    cv: Any
    n_jobs: int | None
    estimator_: Any

    @property
    def _accepts_missing_labels(self) -> bool:  # type: ignore[override]
        """Whether y may have gaps: a fitted estimator (`cv="prefit"`) need not learn from them."""
        return self._is_prefit() or target_check_options(self._get_estimator())["missing"]

    @property
    def _accepts_soft_targets(self) -> bool:  # type: ignore[override]
        """Whether y may hold shares between 0 and 1."""
        return self._is_prefit() or target_check_options(self._get_estimator())["soft"]

    def set_params(self, **params: Any) -> Any:
        """Set parameters, as scikit-learn does; those of an estimator that nobody named are refused."""
        inner_names = [name for name in params if name.startswith("estimator__")]
        if inner_names and params.get("estimator", self.estimator) is None:
            name = type(self).__name__
            raise ValueError(
                f"{inner_names[0]} is a parameter of an estimator that was not named: write "
                f"{name}(BinaryRelevance()), which is what {name}() fits."
            )
        return super().set_params(**params)

    def _get_estimator(self) -> Any:
        """Return the classifier to fit, the shared ridge where none was named.

        Its own threshold stays at 0 unless it is a number: it would move when rows come and go, and what is
        learned from scores must not.
        """
        estimator = BinaryRelevance() if self.estimator is None else self.estimator
        if self._is_prefit() or _find_moving_threshold(estimator) is None:
            return estimator
        estimator = clone(estimator)
        _find_moving_threshold(estimator).set_params(threshold=0.0)
        return estimator

    def _fit_estimator(
        self, X: Any, y: Any, groups: Any, params: dict[str, Any], *, kinds: tuple[str, ...]
    ) -> tuple[Any, sparse.csr_array, dict[str, Any]]:
        """Fit `estimator_` on all rows; return X, Y and the parameters of fit and split.

        `kinds` are the kinds of y that out-of-fold scores will be asked for.
        """
        check_params(self)
        forget_fit(self)
        (X,) = indexable(X)
        y = self._imply_sets(y)
        estimator, is_prefit, name = self._get_estimator(), self._is_prefit(), type(self).__name__
        options = {"missing": True, "soft": True} if is_prefit else target_check_options(estimator)
        if not (is_prefit or isinstance(y, CheckedTargets)):
            warn_of_counts(estimator, X)
        targets = read_targets(y, n_rows=num_samples(X), name=name, **options)
        Y, layout = targets.Y, targets.layout
        if not is_prefit:
            Y, layout = add_labels_of(estimator, Y, layout)
        self._check_settings(layout)
        Y = self._imply_columns(Y, layout)
        targets = CheckedTargets(Y, layout)
        y = self._plain_targets(y, targets, estimator)
        routed = self._route_params(groups, params)
        wants_scores = layout.kind in kinds and not is_prefit
        if wants_scores and Y.shape[0] == 1:
            raise ValueError(f"{type(self).__name__} needs at least 2 rows to split; got 1 sample.")
        if is_prefit:
            check_is_fitted(estimator)
            self.estimator_ = estimator
        elif self._is_split():
            train_rows, _ = held_out_rows(Y.shape[0], routed["split"].get("groups"))
            train_params = check_method_params(X, params=routed["fit"], indices=train_rows)
            self.estimator_ = fit_checked(
                clone_for(estimator, layout),
                safe_indexing(X, train_rows),
                safe_indexing(y, train_rows),
                targets.take(train_rows),
                train_params,
            )
        else:
            model = clone_for(estimator, layout)
            fit_params = dict(routed["fit"])
            if wants_scores and has_closed_form_cv(model) and (self.cv is not None or model.cv is None):
                # Its closed-form folds cost almost nothing: let the shared ridge use ours.
                weights = fit_params.get("sample_weight")
                model.set_params(cv=self._own_folds(Y, weights, routed["split"].get("groups")))
                fit_params |= routed["split"]
            self.estimator_ = fit_checked(model, X, y, targets, fit_params)
        self._describe_fit(Y, layout)
        return X, Y, routed

    def _describe_fit(self, Y: sparse.csr_array, layout: TargetLayout) -> None:
        """Set the attributes that tell features, labels and constant labels of the fitted estimator."""
        for attribute in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.estimator_, attribute):
                setattr(self, attribute, getattr(self.estimator_, attribute))
        counts, known_rows = label_counts(Y, None)
        self._set_targets(layout, counts=counts, n_rows=known_rows)
        self._constant = known_by_name(self.estimator_, self._constant)
        if hasattr(self, "tree_columns_") and not self._is_prefit():
            _pass_names(self.estimator_, layout.label_names)

    def _plain_targets(self, y: Any, targets: CheckedTargets, estimator: Any) -> Any:
        """Return y as estimators of other libraries read it, with ancestors and with labels without rows."""
        if hasattr(self, "tree_columns_") or find_named_ridge(estimator) is not None:
            return plain_of_indicator(targets.Y, targets.layout)
        return indicator_of_names(y, targets.Y, targets.layout)

    def _check_settings(self, layout: TargetLayout) -> None:
        """Refuse settings that do not go with such a y, before anything is fitted."""

    def _own_folds(self, Y: sparse.csr_array, weights: Any, groups: Any) -> Any:
        """Return the folds of a closed form: ten by default, never more than rows (groups) with a label."""
        cv, n_rows = CLOSED_FORM_FOLDS if self.cv is None else self.cv, Y.shape[0]
        if weights is not None:
            Y = mask_entries(Y, check_weights(weights, Y, Y.shape[1]))
        if np.isnan(Y.data).any() and (known_rows := rows_with_known_labels(Y)) is not None:
            n_rows, groups = len(known_rows), None if groups is None else np.asarray(groups)[known_rows]
        n_units = n_rows if groups is None else count_units(n_rows, groups)
        return min(int(cv), n_units) if is_number(cv) else cv

    def _out_of_fold_scores(
        self, X: Any, y: Any, Y: sparse.csr_array, routed: dict[str, Any]
    ) -> tuple[np.ndarray, sparse.csr_array, np.ndarray | None, np.ndarray]:
        """Return out-of-fold scores, with the labels, weights and numbers of the rows that have them.

        Those the estimator brings along (`oof_scores_`) cost nothing and are taken unless `cv` asks for
        other folds.
        """
        estimator_scores = getattr(self.estimator_, "oof_scores_", None)
        if self._is_prefit():
            scores = score_rows(self.estimator_, X, self._layout)
        elif self._is_split():
            _, held_out = held_out_rows(Y.shape[0], routed["split"].get("groups"))
            scores = np.full(Y.shape, np.nan)
            scores[held_out] = score_rows(self.estimator_, safe_indexing(X, held_out), self._layout)
        elif estimator_scores is not None and (self.cv is None or has_closed_form_cv(self.estimator_)):
            scores = np.asarray(estimator_scores, dtype=np.float64)
            scores = scores[:, None] if scores.ndim == 1 else scores
            if getattr(self.estimator, "cv", None) is None:  # we asked for them, not the user
                split_off_scores(self.estimator_)
        else:
            estimator, targets = self._get_estimator(), CheckedTargets(Y, self._layout)
            scores = score_out_of_fold(
                clone_for(estimator, self._layout),
                X,
                self._plain_targets(y, targets, estimator),
                targets,
                cv=self.cv,
                groups=routed["split"].get("groups"),
                params=routed["fit"],
                n_jobs=self.n_jobs,
            )
        n_labels = Y.shape[1] if getattr(self.estimator_, "_accepts_entry_weights", False) else None
        weights = routed["fit"].get("sample_weight")
        weights = None if weights is None else check_weights(weights, Y, n_labels=n_labels)
        scored_rows = np.flatnonzero(~np.isnan(scores).any(axis=1))
        if len(scored_rows) < len(scores):
            scores, Y = scores[scored_rows], Y[scored_rows]
            weights = None if weights is None else weights[scored_rows]
        return self._raise(scores), Y, weights, scored_rows

    def _is_split(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "split"

    def _is_prefit(self) -> bool:
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _route_params(self, groups: Any, params: dict[str, Any]) -> dict[str, dict[str, Any]]:
        split_params = {} if groups is None else {"groups": groups}
        if routing_enabled():
            routed = process_routing(self, "fit", **params, **split_params)
            split_params = dict(routed.splitter.split) if "splitter" in routed else {}
            return {"fit": dict(routed.estimator.fit), "split": split_params}
        inner_groups = {} if groups is None else groups_for_fit(self._get_estimator(), groups)
        return {"fit": inner_groups | params, "split": split_params}

    def get_metadata_routing(self) -> MetadataRouter:
        """Say which metadata goes where: fit parameters to the estimator, groups to the splitter."""
        estimator = self._get_estimator()
        if self.estimator is None and routing_enabled():  # nobody else can say what our own ridge requests
            estimator = estimator.set_fit_request(sample_weight=True, groups=True)
        router = MetadataRouter(owner=self).add(
            estimator=estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit")
        )
        is_splitter = hasattr(self.cv, "split") and not isinstance(self.cv, str)  # a str has `split` too
        splitter = self.cv if is_splitter else IterativeStratifiedGroupKFold()
        if not self._is_prefit():
            router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def __sklearn_tags__(self) -> Any:
        inner_tags = self._get_estimator().__sklearn_tags__()
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = inner_tags.input_tags.sparse
        tags.input_tags.allow_nan = inner_tags.input_tags.allow_nan
        return tags

    # -- prediction -----------------------------------------------------------------------------

    def _check_predict(self, X: Any) -> Any:
        if not hasattr(self, "estimator_"):  # to ask for tags takes a clone
            check_is_fitted(self)
        return indexable(X)[0]

    def _scores(self, X: Any) -> np.ndarray:
        return score_rows(self.estimator_, X, self._layout)

    def _linear_view(self, Z: Any, names: Any, columns: Any) -> LinearView:
        return linear_view(self.estimator_, Z, names, columns)

    def _score_blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        n = num_samples(X)
        row_batches = list(score_batches(n, self._layout.n_columns)) or [slice(0, n)]
        has_tree = hasattr(self, "tree_columns_")
        for batch in row_batches:  # one is unsliced, so that the estimator itself refuses malformed X
            rows = X if len(row_batches) == 1 else safe_indexing(X, batch)
            block = place_constant_labels(self._scores(rows), self._constant)
            block = self._raise(block) if has_tree else block
            yield batch, block.astype(score_dtype(X), copy=False)
