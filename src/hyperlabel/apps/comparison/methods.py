"""The methods of the catalogue made ready for a comparison: scaled, with their grids and thresholds."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from hyperlabel.apps.comparison.protocol import Method
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
    decisions alone.
    """
    rows = DataShape.of(data.X)
    if names is None:
        many = data.n_labels > MANY_LABELS
        names = [method.name for method in CATALOGUE if method.default and not (method.pairwise and many)]
    methods = []
    for name in dict.fromkeys(names):
        method = method_spec(name)
        estimator = _scale_features(method.make(rows), data)
        prefix = f"{estimator.steps[-1][0]}__"
        if thresholds is not None and hasattr(estimator, "decision_function"):
            estimator = ThresholdTuner(estimator, strategy=thresholds, scoring=scoring, cv=3)
            prefix = f"estimator__{prefix}"
        grid = {prefix + parameter: values for parameter, values in method.grid(rows).items()}
        methods.append(Method(name, estimator, grid if tune else {}))
    return methods


def learning_curves(data: Dataset, methods: Sequence[Method], scoring: str) -> list[dict[str, Any]]:
    """Return learning curves of the methods (grids not searched) and paths of λ and M, for a report."""
    from hyperlabel._base import seeded
    from hyperlabel.apps.comparison.protocol import LOWER_IS_BETTER, Splits
    from hyperlabel.model_selection import cross_val_scores

    rows = DataShape.of(data.X)
    sign = -1.0 if scoring in LOWER_IS_BETTER else 1.0
    parts = Splits("random", 3, train_size=0.75).parts(data)
    rng = np.random.default_rng(0)
    shuffled = [(rng.permutation(train), test) for train, test in parts]
    n = min(len(train) for train, _ in parts)
    sizes = sorted({max(20, round(share * n)) for share in (0.1, 0.2, 0.4, 0.7, 1.0)})
    Y = data.Y.toarray()

    def score(model: Any, splits: list[Any]) -> list[float]:
        found = cross_val_scores(seeded(model, 0), data.X, Y, scoring=scoring, cv=splits)
        return [sign * float(v) for v in found["test_score"]]

    def panel(title: str, x: list[Any], scores: dict[str, Any], xlabel: str, log: bool = False) -> Any:
        by_split = {name: np.array(columns).T.tolist() for name, columns in scores.items()}
        labels = {"xlabel": xlabel, "ylabel": scoring, "log": log}
        return {"title": title, "x": x, "scores": by_split, **labels}

    learning = {
        m.name: [score(m.estimator, [(tr[:size], te) for tr, te in shuffled]) for size in sizes]
        for m in methods
    }
    lambdas = [float(a) for a in np.geomspace(1e-2, 1e4, 7)]
    ridge = [
        score(_scale_features(method_spec("ridge").make(rows).set_params(alpha=a), data), parts)
        for a in lambdas
    ]
    dimensions = sorted({max(1, round(f * data.n_labels)) for f in (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)})
    alpha = rows.alphas[0]
    fixed = method_spec("plst").make(rows).set_params(alpha=alpha)
    plst = [score(_scale_features(clone(fixed).set_params(n_components=m), data), parts) for m in dimensions]
    return [
        panel("learning curves (default parameters)", sizes, learning, "training rows"),
        panel("the λ-path of the shared ridge", lambdas, {"ridge": ridge}, "λ", log=True),
        panel(f"the M-path of PLST (λ = {alpha:g})", dimensions, {"plst": plst}, "label dimensions M"),
    ]
