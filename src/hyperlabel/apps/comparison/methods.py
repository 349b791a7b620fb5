"""The methods of the catalogue made ready for a comparison: scaled, with their grids and thresholds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from hyperlabel._validation import target_check_options
from hyperlabel.apps.comparison.protocol import Method, has_gaps, known_targets
from hyperlabel.datasets import Dataset
from hyperlabel.meta import ThresholdTuner
from hyperlabel.meta.catalogue import CATALOGUE, DataShape, method_spec

# Beyond this many labels the methods that work on pairs or chains of labels are left out by default.
MANY_LABELS = 60


def _scale_features(estimator: Any, data: Dataset) -> Any:
    """Put features on one scale: unit variance when dense; sparse ones only by their largest value."""
    return make_pipeline(MaxAbsScaler() if sparse.issparse(data.X) else StandardScaler(), estimator)


def build_methods(
    names: Sequence[str] | None,
    data: Dataset,
    *,
    tune: bool = True,
    thresholds: str | None = None,
    scoring: str = "f1_macro",
) -> list[Method]:
    """Return the named methods (all defaults when None) for a data set, which decides scaling and grids.

    `thresholds` is the strategy of a `ThresholdTuner` around every method with scores; None leaves
    decisions alone. Where labels are unknown, the defaults leave out methods that need every label.
    """
    data_shape = DataShape.of(data.X)
    if names is None:
        has_many_labels = data.n_labels > MANY_LABELS
        names = [
            catalogue_method.name
            for catalogue_method in CATALOGUE
            if catalogue_method.default and not (catalogue_method.pairwise and has_many_labels)
        ]
        if has_gaps(data):
            names = [name for name in names if takes_gaps(name, data_shape)]
    built_methods = []
    for name in dict.fromkeys(names):
        catalogue_method = method_spec(name)
        estimator = _scale_features(catalogue_method.make(data_shape), data)
        param_prefix = f"{estimator.steps[-1][0]}__"
        if thresholds is not None and hasattr(estimator, "decision_function"):
            estimator = ThresholdTuner(estimator, strategy=thresholds, scoring=scoring, cv=3)
            param_prefix = f"estimator__{param_prefix}"
        param_grid = {
            param_prefix + parameter: values
            for parameter, values in catalogue_method.grid(data_shape).items()
        }
        built_methods.append(Method(name, estimator, param_grid if tune else {}))
    return built_methods


def takes_gaps(name: str, data_shape: DataShape) -> bool:
    """Say whether a method of the catalogue learns from rows of which some labels are unknown."""
    return target_check_options(method_spec(name).make(data_shape))["missing"]


def learning_curves(data: Dataset, methods: Sequence[Method], scoring: str) -> list[dict[str, Any]]:
    """Return learning curves of the methods (grids not searched) and paths of λ and M, for a report."""
    from hyperlabel._base import seeded
    from hyperlabel.apps.comparison.protocol import Splits
    from hyperlabel.metrics.measures import is_loss
    from hyperlabel.model_selection import cross_val_scores

    data_shape = DataShape.of(data.X)
    score_sign = -1.0 if is_loss(scoring) else 1.0
    split_rows = Splits("random", 3, train_size=0.75).parts(data)
    rng = np.random.default_rng(0)
    shuffled_splits = [(rng.permutation(train), test) for train, test in split_rows]
    n = min(len(train) for train, _ in split_rows)
    train_sizes = sorted({max(20, round(share * n)) for share in (0.1, 0.2, 0.4, 0.7, 1.0)})
    Y = known_targets(data)

    def score_splits(model: Any, splits: list[Any]) -> list[float]:
        fold_scores = cross_val_scores(seeded(model, 0), data.X, Y, scoring=scoring, cv=splits)
        return [score_sign * float(v) for v in fold_scores["test_score"]]

    def build_panel(
        title: str, x: list[Any], series_scores: dict[str, Any], xlabel: str, log: bool = False
    ) -> Any:
        by_split = {name: np.array(columns).T.tolist() for name, columns in series_scores.items()}
        axis_labels = {"xlabel": xlabel, "ylabel": scoring, "log": log}
        return {"title": title, "x": x, "scores": by_split, **axis_labels}

    learning_scores = {
        m.name: [
            score_splits(m.estimator, [(tr[:size], te) for tr, te in shuffled_splits]) for size in train_sizes
        ]
        for m in methods
    }
    alpha_grid = [float(a) for a in np.geomspace(1e-2, 1e4, 7)]
    ridge_scores = [
        score_splits(
            _scale_features(method_spec("ridge").make(data_shape).set_params(alpha=a), data), split_rows
        )
        for a in alpha_grid
    ]
    label_shares = (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)
    component_grid = sorted({max(1, round(share * data.n_labels)) for share in label_shares})
    alpha = data_shape.alphas[0]
    plst_estimator = method_spec("plst").make(data_shape).set_params(alpha=alpha)
    plst_scores = [
        score_splits(_scale_features(clone(plst_estimator).set_params(n_components=m), data), split_rows)
        for m in component_grid
    ]
    return [
        build_panel("learning curves (default parameters)", train_sizes, learning_scores, "training rows"),
        build_panel("the λ-path of the shared ridge", alpha_grid, {"ridge": ridge_scores}, "λ", log=True),
        build_panel(
            f"the M-path of PLST (λ = {alpha:g})", component_grid, {"plst": plst_scores}, "label dimensions M"
        ),
    ]
