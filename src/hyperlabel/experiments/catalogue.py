"""The methods a comparison knows by name: the library's, and scikit-learn's baselines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

import hyperlabel as hl
from hyperlabel.datasets import Dataset
from hyperlabel.experiments.protocol import Method

# Beyond this many labels the methods that work on pairs or chains of labels are left out by default.
MANY_LABELS = 60


@dataclass(frozen=True)
class Entry:
    """One line of the catalogue.

    Parameters
    ----------
    name : str
        As given to ``--methods``.
    what : str
        What it is, in a few words.
    build : callable
        Takes a data set, returns the estimator and its grid.
    default : bool
        Whether a comparison without ``--methods`` includes it.
    pairwise : bool
        Whether its cost grows with the square of the number of labels.
    """

    name: str
    what: str
    build: Callable[[Dataset], tuple[Any, dict[str, list[Any]]]]
    default: bool = True
    pairwise: bool = False


def _alphas(data: Dataset) -> list[float]:
    """Ridge λ in the units of scaled features: columns of unit variance, or rows of unit length."""
    return [0.3, 1.0, 3.0] if sparse.issparse(data.X) else [1.0, 30.0, 1000.0]


def _scaled(estimator: Any, data: Dataset) -> Any:
    """Put features on one scale: unit variance when dense; sparse ones only by their largest value."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    return make_pipeline(MaxAbsScaler() if sparse.issparse(data.X) else StandardScaler(), estimator)


def _named(grid: dict[str, list[Any]], step: str) -> dict[str, list[Any]]:
    return {f"{step}__{key}": values for key, values in grid.items()}


def _plain(make: Callable[[], Any], grid: Callable[[Dataset], dict[str, list[Any]]] | None = None) -> Any:
    """Build a scaled estimator, its grid named for the pipeline's last step."""

    def build(data: Dataset) -> tuple[Any, dict[str, list[Any]]]:
        estimator = make()
        step = type(estimator).__name__.lower()
        return _scaled(estimator, data), _named(grid(data) if grid else {}, step)

    return build


def _per_label(make: Callable[[], Any], grid: dict[str, list[Any]]) -> Any:
    return _plain(
        lambda: hl.BinaryRelevance(make()), lambda data: {f"estimator__{k}": v for k, v in grid.items()}
    )


def _spectral(data: Dataset) -> tuple[Any, dict[str, list[Any]]]:
    """Projection on the label hypergraph, then ridge per label on the few components."""
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(hl.HypergraphSpectral(expansion="star"), hl.BinaryRelevance(alpha=1e-3))
    grid = {"pipeline__hypergraphspectral__alpha": _alphas(data)}
    return _scaled(model, data), grid


def _logistic() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=1000)


def _linear_svc() -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(max_iter=5000)


def _prior(data: Dataset) -> tuple[Any, dict[str, list[Any]]]:
    from sklearn.dummy import DummyClassifier

    return DummyClassifier(strategy="prior"), {}


def _chains() -> Any:
    from hyperlabel import ChainEnsemble

    return ChainEnsemble(n_chains=3)


def _ridge_grid(data: Dataset) -> dict[str, list[Any]]:
    return {"alpha": _alphas(data)}


def _hopls(data: Dataset) -> tuple[Any, dict[str, list[Any]]]:
    """HOPLS and ML-kNN on its components, as in the paper."""
    from sklearn.pipeline import make_pipeline

    model = make_pipeline(hl.HOPLS(), hl.MLkNN())
    return _scaled(model, data), {"pipeline__hopls__alpha": _alphas(data)}


def catalogue() -> list[Entry]:
    """Return every method, the library's first.

    Examples
    --------
    >>> from hyperlabel.experiments.catalogue import catalogue
    >>> [entry.name for entry in catalogue()][:2]
    ['ridge', 'plst']
    """
    costs = {"C": [0.1, 1.0, 10.0]}

    def soft(data: Dataset) -> dict[str, list[Any]]:
        return costs

    return [
        Entry("ridge", "one shared ridge solve for all labels", _plain(hl.BinaryRelevance, _ridge_grid)),
        Entry("plst", "PLST, automatic dimension", _plain(hl.PLST, _ridge_grid)),
        Entry("cplst", "CPLST, automatic dimension", _plain(hl.CPLST, _ridge_grid), default=False),
        Entry("spectral", "HypergraphSpectral (star), ridge on it", _spectral),
        Entry("hopls-mlknn", "HOPLS, ML-kNN on it", _hopls, default=False),
        Entry("mlknn", "ML-kNN", _plain(hl.MLkNN, lambda data: {"n_neighbors": [5, 10, 20]})),
        Entry("rank-svm", "Rank-SVM", _plain(lambda: hl.RankSVM(tol=1e-2), soft), pairwise=True),
        Entry(
            "hypergraph-rank-svm",
            "Rank-HLapSVM",
            _plain(lambda: hl.HypergraphRankSVM(tol=1e-2), soft),
            default=False,
            pairwise=True,
        ),
        Entry(
            "calibrated-ranking",
            "calibrated label ranking on ridge",
            _plain(hl.CalibratedLabelRanking, _ridge_grid),
            default=False,
            pairwise=True,
        ),
        Entry("powerset", "each label set seen is a class", _plain(hl.LabelPowerset), default=False),
        Entry("br-logistic", "scikit-learn logistic regression per label", _per_label(_logistic, costs)),
        Entry("br-linear-svc", "scikit-learn LinearSVC per label", _per_label(_linear_svc, costs)),
        Entry("chain-ensemble", "scikit-learn classifier chains, averaged", _plain(_chains), pairwise=True),
        Entry("prior", "always the most frequent answer: the floor", _prior),
    ]


def build(
    names: Sequence[str] | None,
    data: Dataset,
    *,
    tune: bool = True,
    thresholds: str | None = None,
    scoring: str = "f1_macro",
) -> list[Method]:
    """Return the named methods (all defaults when None) for a data set.

    Parameters
    ----------
    names : sequence of str or None
        Names from the catalogue.
    data : Dataset
        What they will learn from: decides scaling and grids, not the names.
    tune : bool, default=True
        Keep the grids.
    thresholds : str, default=None
        Strategy of a `ThresholdTuner` around every method with scores; None leaves decisions alone.
    scoring : str, default="f1_macro"
        What the cuts are tuned for.

    Returns
    -------
    methods : list of Method
    """
    entries = {entry.name: entry for entry in catalogue()}
    if names is None:
        many = data.n_labels > MANY_LABELS
        names = [e.name for e in entries.values() if e.default and not (e.pairwise and many)]
    unknown = [name for name in names if name not in entries]
    if unknown:
        raise ValueError(f"There is no method {unknown[0]!r}: choose from {', '.join(entries)}.")
    methods = []
    for name in dict.fromkeys(names):
        estimator, grid = entries[name].build(data)
        if thresholds is not None and hasattr(estimator, "decision_function"):
            estimator = hl.ThresholdTuner(estimator, strategy=thresholds, scoring=scoring, cv=3)
            grid = _named(grid, "estimator")
        methods.append(Method(name, estimator, grid if tune else {}))
    return methods


def curves(data: Dataset, methods: Sequence[Method], scoring: str, *, seed: int = 0) -> list[dict[str, Any]]:
    """Return learning curves of the methods and the λ-path of the shared ridge, for a report.

    Parameters
    ----------
    data : Dataset
        The data.
    methods : sequence of Method
        Methods to draw learning curves of (their grids are not searched).
    scoring : str
        The measure.
    seed : int, default=0
        Seed of the splits.

    Returns
    -------
    curves : list of dict
        As the report's curve section takes them.
    """
    from hyperlabel.experiments.protocol import LOWER_IS_BETTER, Splits, seeded
    from hyperlabel.model_selection import cross_val_scores

    sign = -1.0 if scoring in LOWER_IS_BETTER else 1.0
    parts = Splits("random", 3, train_size=0.75, seed=seed).parts(data)
    rng = np.random.default_rng(seed)
    shuffled = [(rng.permutation(train), test) for train, test in parts]
    n = min(len(train) for train, _ in parts)
    sizes = sorted({max(20, round(share * n)) for share in (0.1, 0.2, 0.4, 0.7, 1.0)})
    Y = data.Y.toarray()

    def score(model: Any, splits: list[Any]) -> list[float]:
        found = cross_val_scores(seeded(model, seed), data.X, Y, scoring=scoring, cv=splits)
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
    ridge = [score(_scaled(hl.BinaryRelevance(alpha=a), data), parts) for a in lambdas]
    dimensions = sorted({max(1, round(f * data.n_labels)) for f in (0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)})
    alpha = _alphas(data)[1]
    plst = [score(_scaled(hl.PLST(m, alpha=alpha), data), parts) for m in dimensions]
    return [
        panel("learning curves (default parameters)", sizes, learning, "training rows"),
        panel("the λ-path of the shared ridge", lambdas, {"ridge": ridge}, "λ", log=True),
        panel(f"the M-path of PLST (λ = {alpha:g})", dimensions, {"plst": plst}, "label dimensions M"),
    ]
