"""Update a fitted model without its old rows: merge, forget, and let labels come and go.

The update changes the innermost estimator, which holds the moments (`moments_`). The transformers of a
Pipeline around it stay unchanged, and so do the thresholds of the wrappers of `meta`.
"""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from hyperlabel._base import MultiLabelClassifier
from hyperlabel._known_labels import encode_like
from hyperlabel._sklearn_compat import num_samples
from hyperlabel._validation import check_targets, target_check_options
from hyperlabel.decision import proportional_thresholds
from hyperlabel.linear import BinaryRelevance
from hyperlabel.meta.label_trees import follow_tree
from hyperlabel.meta.threshold import ThresholdTuner
from hyperlabel.meta.wrapper_base import iter_nested_estimators
from hyperlabel.moments.model import MomentsModel
from hyperlabel.moments.probabilities import OutOfFoldProbabilities
from hyperlabel.solvers.moments.stored_rows import StoredRows


def name_labels(model: Any, names: Sequence[str]) -> Any:
    """Give the labels of a fitted model their names, as a DataFrame y would have; changed in place."""
    label_names = np.asarray(names, dtype=object)
    for estimator in iter_nested_estimators(model):
        layout = getattr(estimator, "_layout", None)
        if layout is not None and len(layout.label_names) == len(label_names):
            estimator._layout = replace(layout, label_names=label_names)
            estimator.label_names_ = label_names
            guarantees = getattr(estimator, "guarantees_", None)
            if guarantees is not None and len(guarantees) == len(label_names) == len(guarantees.thresholds):
                estimator.guarantees_ = replace(guarantees, names=[str(name) for name in label_names])
    return model


def can_be_updated(model: Any) -> bool:
    """Say whether `update` can take rows into this model."""
    return _why_not_updatable(model) is None


def update(
    model: Any,
    new: tuple[Any, Any] | None = None,
    *,
    forget: tuple[Any, Any] | None = None,
    add_labels: Sequence[str] = (),
    drop_labels: Sequence[str] = (),
    rename_labels: Mapping[str, str] | None = None,
    merge_labels: Mapping[str, str] | None = None,
) -> Any:
    r"""Return the model as if it had been fitted on other rows and labels, without the old rows.

    Works where the model rests on sums over rows (`BinaryRelevance` on the Gram route), alone, inside a
    `ThresholdTuner`, and as the last step of a Pipeline. The transformers of a Pipeline stay as they
    are (a vectoriser learns no new words), and so does the ridge λ.

    Labels change first: renamed, merged, dropped, then added (no row so far carries an added label);
    then the rows of `forget` leave and those of `new` enter. Thresholds of a ThresholdTuner are kept; a
    label that had none (a new one) gets the threshold that predicts it in `new` as often as it occurs there,
    a new label that others were merged into the mean of theirs.

    Parameters
    ----------
    model : fitted classifier or Pipeline
        Not changed.
    new : tuple (X, y), default=None
        Rows to merge in, with the labels in the order they have after the changes; NaN where nobody knows.
    forget : tuple (X, y), default=None
        Rows to take out, which must be among those fitted on; labels in the same order.
    add_labels, drop_labels : sequence of str
        Names.
    rename_labels : dict of str to str, default=None
        Old names to new.
    merge_labels : dict of str to str, default=None
        Labels, and the label that takes their rows. Refused where the sums do not determine the answer: where
        two of them meet in some rows, and the model keeps no rows.

    Returns
    -------
    model : classifier or Pipeline
        A changed copy.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from hyperlabel import BinaryRelevance, update
    >>> X, Y = make_multilabel_classification(n_samples=200, random_state=0)
    >>> half = BinaryRelevance().fit(X[:100], Y[:100])
    >>> whole = update(half, (X[100:], Y[100:]))
    >>> np.allclose(whole.coef_, BinaryRelevance().fit(X, Y).coef_)
    True
    """
    reason = _why_not_updatable(model)
    if reason is not None:
        raise ValueError(reason)
    *_, old_model = iter_nested_estimators(model)
    model = copy.deepcopy(model)
    nested_estimators = list(iter_nested_estimators(model))
    core = nested_estimators[-1]
    core.moments_.take_over(old_model.moments_)
    tuners = [estimator for estimator in nested_estimators if isinstance(estimator, ThresholdTuner)]
    renamed, merged = dict(rename_labels or {}), dict(merge_labels or {})
    if renamed or merged or drop_labels or add_labels:
        _edit_labels(core, tuners, renamed, merged, drop_labels, add_labels)
    entering, leaving = (
        None if rows is None else (_transform_rows(model, rows[0]), _imply_ancestors(tuners, core, rows[1]))
        for rows in (new, forget)
    )
    _change_rows(core, entering, leaving)
    for estimator in nested_estimators[:-1]:
        if isinstance(estimator, MultiLabelClassifier):
            estimator._layout, estimator.classes_ = core._layout, core.classes_
            estimator.label_names_, estimator._constant = core.label_names_, core._constant
    for tuner in tuners:
        follow_tree(tuner, renamed)
        _update_thresholds(tuner, core, entering)
    return model


def _imply_ancestors(tuners: Sequence[ThresholdTuner], core: Any, y: Any) -> Any:
    """Add the ancestors to the labels of rows that enter or leave."""
    for tuner in tuners:
        if (tree := tuner._get_tree()) is not None:
            y = tuner._imply_sets(y)
            check_options: Any = target_check_options(core)
            Y = encode_like(y, core._layout, n_rows=num_samples(y), **check_options)
            y = tree.columns([str(name) for name in core.label_names_]).imply(Y)
    return y


def _change_rows(core: Any, entering: tuple[Any, Any] | None, leaving: tuple[Any, Any] | None) -> None:
    if leaving is not None and entering is not None:
        core.slide(*entering, *leaving)
    elif leaving is not None:
        core.forget(*leaving)
    elif entering is not None:
        check_targets(entering[1], n_rows=entering[0].shape[0], name="update", **target_check_options(core))
        core.partial_fit(*entering)


def _edit_labels(
    core: Any,
    tuners: Sequence[ThresholdTuner],
    renamed: Mapping[str, str],
    merged: Mapping[str, str],
    dropped: Sequence[str],
    added: Sequence[str],
) -> None:
    """Rename, merge, drop and add labels; thresholds go with their labels, and new labels have none yet."""
    old_names = [renamed.get(name, name) for name in core.label_names_]
    known_merges, implied = _split_implied(tuners, merged, renamed)
    core.edit_labels(rename=renamed, merge=known_merges, drop=[*implied, *dropped], add=added)
    for tuner in tuners:
        thresholds = dict(zip(old_names, tuner.thresholds_, strict=True))
        for into in set(known_merges.values()) - set(old_names):
            # where the others are off, the score of their union is that of the label that is on
            parts = [thresholds[name] for name, target in known_merges.items() if target == into]
            thresholds[into] = np.mean(parts) if np.isfinite(parts).all() else np.inf
        thresholds |= dict.fromkeys([*dropped, *added], np.inf)
        tuner.thresholds_ = np.array([thresholds[name] for name in core.label_names_])
        if hasattr(tuner, "calibrators_"):
            old_columns = {name: j for j, name in enumerate(old_names) if name not in added}
            tuner.calibrators_ = tuner.calibrators_.relabelled(
                np.array([old_columns.get(name, -1) for name in core.label_names_])
            )
        if hasattr(tuner, "guarantees_"):
            new_names = [str(name) for name in core.label_names_]
            tuner.guarantees_ = tuner.guarantees_.relabelled([str(name) for name in old_names], new_names)


def _split_implied(
    tuners: Sequence[ThresholdTuner], merged: Mapping[str, str], renamed: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """Return merges that moments must determine, and labels merged into one of their ancestors in a tree."""
    trees = [tree for tuner in tuners if (tree := tuner._get_tree()) is not None]
    new_name = {name: renamed.get(name, name) for tree in trees for name in tree.parents}
    ancestors = {
        new_name[name]: {new_name[above] for above in tree.ancestors(name)}
        for tree in trees
        for name in tree.parents
    }
    implied = [name for name, into in merged.items() if into in ancestors.get(name, ())]
    return {name: into for name, into in merged.items() if name not in implied}, implied


def without_training_rows(model: Any, *, sums: bool) -> Any:
    """Delete the out-of-fold scores of a fitted model and, unless `sums` is set, the moments `update` needs.

    Out-of-fold scores are as large as the training labels, and of no use once the thresholds are tuned.
    """
    for estimator in iter_nested_estimators(model):
        if isinstance(estimator, OutOfFoldProbabilities):
            estimator._drop_rows()  # probabilities stay
        for name in ("oof_scores_", *(() if sums else ("moments_",))):
            if hasattr(estimator, name):
                delattr(estimator, name)
    return model


def store_rows_if_smaller(model: Any, X: Any, Y: Any) -> Any:
    """Keep the samples X of a ridge in the place of its moments, where they take fewer bytes or it has none.

    X are the samples as the ridge saw them, Y their labels; a model that no update could change stays as it
    is. So does one with `class_weight`: rows are kept without the weights of their entries.
    """
    *_, core = iter_nested_estimators(model)
    if not (isinstance(core, BinaryRelevance) and core._is_ridge() and core.n_features_in_ == X.shape[1]):
        return model
    if core.class_weight is not None:
        return model
    X = getattr(core, "samples_", X)  # one copy in the file
    stored_rows, had_moments = StoredRows.from_rows(X, Y), hasattr(core, "moments_")
    if had_moments and stored_rows.n_bytes >= stored_rows.sums_bytes:
        return model
    core.moments_ = stored_rows
    if not had_moments and not can_be_updated(model):
        del core.moments_
    return model


def _update_thresholds(tuner: ThresholdTuner, core: Any, entering: tuple[Any, Any] | None) -> None:
    """Set a threshold for labels that now vary, and an infinite one for labels that no longer do."""
    thresholds, constant = tuner.thresholds_, tuner._constant
    begun = np.isinf(thresholds) & (constant == 0)
    if hasattr(tuner, "guarantees_"):
        begun[:] = False  # an infinite threshold is what can be guaranteed, not a gap
    thresholds = np.where(constant < 0, np.inf, np.where(constant > 0, -np.inf, thresholds))
    if begun.any():
        thresholds[begun] = 0.0
        if entering is not None:
            check_options: Any = target_check_options(core)
            Y, _ = check_targets(entering[1], n_rows=entering[0].shape[0], **check_options)
            scores = np.ascontiguousarray(core.decision_function(entering[0])[:, begun])
            thresholds[begun] = proportional_thresholds(scores, Y[:, begun])
    tuner.thresholds_ = thresholds
    if hasattr(tuner, "guarantees_"):
        tuner.guarantees_ = replace(tuner.guarantees_, thresholds=thresholds, basis="updated")


def _transform_rows(model: Any, X: Any) -> Any:
    """Return the rows after the transformers of every nested Pipeline."""
    for estimator in iter_nested_estimators(model):
        if isinstance(estimator, Pipeline) and len(estimator) > 1:
            X = estimator[:-1].transform(X)
    return X


def _why_not_updatable(model: Any) -> str | None:
    """Return why a model cannot be updated with rows, in one sentence, or None."""
    nested = list(iter_nested_estimators(model))
    core = nested[-1]
    model_name = type(core).__name__
    if len(nested) != len({id(estimator) for estimator in nested}) or any(
        hasattr(p, "estimators_") for p in nested
    ):
        return "A model chosen by AutoMultiLabel cannot be updated: fit it anew, or choose ridge."
    if not isinstance(core, MomentsModel) or not isinstance(core, MultiLabelClassifier):
        return (
            f"{model_name} does not rest on sums over rows, so it cannot be updated: fit it anew on all rows."
        )
    if not hasattr(core, "moments_"):
        return core._refuses_blocks() or f"This {model_name} keeps no sums over rows: {core._how_to_keep}."
    for estimator in nested[:-1]:
        keeps_thresholds = isinstance(estimator, ThresholdTuner) and hasattr(estimator, "thresholds_")
        if not (keeps_thresholds or isinstance(estimator, Pipeline)):
            strategy = (
                f" with strategy={estimator.strategy!r}" if isinstance(estimator, ThresholdTuner) else ""
            )
            wrapper = f"{type(estimator).__name__}{strategy}"
            return f"The {wrapper} around {model_name} must be fitted anew: it cannot be updated."
    return None
