"""Where the papers stopped: unlabelled rows, geometry judged by evidence, set sizes from held-out scores.

Each is an experiment that could fail; what is tuned is tuned inside the labelled training rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.neighbors import kneighbors_graph
from sklearn.pipeline import Pipeline

import hyperlabel as hl
from hyperlabel.apps.comparison.runner import Job, JobResult, Measurement
from hyperlabel.datasets import Dataset
from hyperlabel.decision import LabelSetSize
from hyperlabel.geometry import LabelHypergraph
from hyperlabel.metrics import evaluate, roc_auc_score
from hyperlabel.model_selection import IterativeStratifiedKFold
from reproduction.item import Item, Plan, Runs, make_cells, random_split
from reproduction.kdd08 import rank_auc
from reproduction.result import Result
from reproduction.search import search_grid

SEMI_DATA = ("scene", "yeast", "mediamill-real4k")
LABELLED_SHARES = (0.05, 0.1, 0.2, 0.5)
WEIGHTS = (0.0, 0.1, 1.0, 10.0)
EVIDENCE_DATA = ("emotions", "scene", "yeast", "medical")
EXPANSIONS = ("clique", "star", "zhou", "cca")
SET_SIZE_DATA = ("emotions", "scene", "yeast", "medical", "genbase", "imageclef07a", "mediamill-real4k")


def keep_frequent_labels(data: Dataset) -> Dataset:
    """Keep the labels with more than 30 rows, and make the features dense."""
    frequent = np.flatnonzero(np.asarray(data.Y.sum(axis=0)).ravel() > 30)
    X = data.X.toarray() if sparse.issparse(data.X) else data.X
    return Dataset(X, data.Y[:, frequent], name=data.name)


def _standardize(X: np.ndarray, train: np.ndarray) -> np.ndarray:
    """Bring the features to mean 0 and standard deviation 1 on the training rows."""
    return (X - X[train].mean(axis=0)) / np.maximum(X[train].std(axis=0), 1e-12)


@dataclass(eq=False, repr=False)
class SmoothRows(TransformerMixin, BaseEstimator):
    """Rows in the metric (I + w·ZᵀLZ)^(−1/2), so that a ridge on them also asks f to be smooth.

    L is the normalised Laplacian of the k-NN graph of labelled and unlabelled rows Z. ZᵀLZ is scaled to trace
    d. A method on these rows adds its own penalties to this one, as Rank-HLapSVM does with its hyperedges.
    """

    unlabelled: Any = None
    weight: float = 0.0
    n_neighbors: int = 10

    def fit(self, X: np.ndarray, Y: np.ndarray) -> SmoothRows:
        """Compute the square root of the metric."""
        d = X.shape[1]
        self.lift_ = np.eye(d)
        if self.weight:
            Z = np.vstack([X, self.unlabelled])
            adjacency = kneighbors_graph(Z, self.n_neighbors)
            adjacency = adjacency.maximum(adjacency.T)
            inverse_root = sparse.diags_array(1 / np.sqrt(np.asarray(adjacency.sum(axis=1)).ravel()))
            # ZᵀLZ with L = I − D^(−1/2) A D^(−1/2), never formed as n×n.
            smoothness = Z.T @ Z - Z.T @ (inverse_root @ adjacency @ inverse_root @ Z)
            eigenvalues, vectors = linalg.eigh(smoothness * (d / np.trace(smoothness)))
            # Rounding may leave an eigenvalue of a positive semi-definite matrix just below 0.
            scale = np.sqrt(1 + self.weight * np.maximum(eigenvalues, 0))
            self.lift_ = vectors / scale @ vectors.T
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Return the rows in the metric."""
        return X @ self.lift_


def _pipeline_auc(model: Any, X: Any, Y: Any) -> float:
    """Mean AUC over the labels that have both classes in the rows."""
    if hasattr(model[-1], "rank_scores"):
        return rank_auc(model[-1], model[:-1].transform(X), Y)
    return float(roc_auc_score(Y, model.decision_function(X)))


def smoothed_methods(unlabelled: np.ndarray, seed: int) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Return two methods on smoothed rows, which they must not scale again, and the grids of their own."""
    smooth = ("smooth", SmoothRows(unlabelled))
    spectral = [smooth, ("method", hl.HypergraphSpectral()), ("ridge", hl.BinaryRelevance(alpha=1e-3))]
    ranker = hl.HypergraphRankSVM(scaling="none", tol=1e-2, random_state=seed)
    return {
        "HG": (Pipeline(spectral), {"method__alpha": (10.0, 100.0, 1000.0)}),
        "Rank-HLapSVM": (
            Pipeline([smooth, ("method", ranker)]),
            {"method__C": (0.1, 1.0, 10.0), "method__hypergraph_weight": WEIGHTS},
        ),
    }


def _semi(data: Dataset, split: int, labelled: float, folds: int) -> JobResult:
    """AUC of two methods with few labelled rows: alone, with unlabelled rows smoothed in, self-trained."""
    train, test = random_split(data.n_rows, round(0.7 * data.n_rows), 31, split)
    order = np.random.default_rng([32, split]).permutation(train)
    labelled_rows, unlabelled_rows = np.split(order, [round(labelled * len(order))])
    X, Y = _standardize(data.X, train), data.Y.toarray()
    X_labelled, Y_labelled, X_unlabelled = X[labelled_rows], Y[labelled_rows], X[unlabelled_rows]
    values, chosen, grids = [], {}, {}
    for name, (model, own_grid) in smoothed_methods(X_unlabelled, split).items():
        # The method's own parameters are chosen first, without unlabelled rows; then their weight.
        for kind, grid in (("labelled", own_grid), ("unlabelled", {"smooth__weight": WEIGHTS})):
            search = search_grid(
                model, grid, X_labelled, Y_labelled, _pipeline_auc, folds, split, widen=list(grid)
            )
            chosen[f"{name}, {kind} rows"], grids[f"{name}, {kind} rows"] = search.best, search.grid
            if kind == "labelled":
                model.set_params(**search.best)
        smoothed = clone(model).set_params(**search.best).fit(X_labelled, Y_labelled)
        model.fit(X_labelled, Y_labelled)
        pseudo_labels = np.vstack([Y_labelled, model.predict(X_unlabelled)])
        self_trained = clone(model).fit(np.vstack([X_labelled, X_unlabelled]), pseudo_labels)
        fitted = {"labelled rows": model, "unlabelled rows": smoothed, "self-training": self_trained}
        values += [
            Measurement(f"{name}, {kind}", "roc_auc", _pipeline_auc(one, X[test], Y[test]), labelled)
            for kind, one in fitted.items()
        ]
    return JobResult(values, details={"chosen": chosen, "grids": grids})


def _collect_semi(plan: Plan, runs: Runs) -> Result:
    kinds = ("labelled rows", "unlabelled rows", "self-training")
    series = [f"{method}, {kind}" for method in ("HG", "Rank-HLapSVM") for kind in kinds]
    numbers = runs.numbers(
        (f"{name}, {share:.0%}", column, runs.scores(name, column, "roc_auc", share), None)
        for name in SEMI_DATA
        for share in LABELLED_SHARES
        for column in series
    )
    return Result(numbers=numbers)


def log_evidence(X: np.ndarray, U: np.ndarray, alphas: Any) -> list[float]:
    """Log evidence of a label factor given the rows, up to a constant, at each λ.

    The columns of U, an orthonormal basis (n×r) of the factor's span, are N(0, σ²(I + XXᵀ/λ)) with the best
    σ²; X and U are centred. Let e be the eigenvalues of XᵀX, P the squared projections of XᵀU on its
    eigenvectors, and q = r − Σ P/(e + λ). The evidence is −½ r(n−1) log q − ½ r Σ log(1 + e/λ). The
    least-squares form depends on the factor through its span alone.
    """
    X = X - X.mean(axis=0)
    U = linalg.orth(U - U.mean(axis=0))
    eigenvalues, vectors = linalg.eigh(X.T @ X)
    eigenvalues = np.maximum(eigenvalues, 0.0)  # rounding may leave one just below 0
    projections = np.sum((vectors.T @ (X.T @ U)) ** 2, axis=1)
    n, r = U.shape
    evidence = []
    for alpha in alphas:
        residual = r - np.sum(projections / (eigenvalues + alpha))  # q
        # Dividing q by r adds a constant and keeps the logarithm near 0.
        fit_term = -0.5 * r * (n - 1) * np.log(residual / r)
        evidence.append(float(fit_term - 0.5 * r * np.sum(np.log1p(eigenvalues / alpha))))
    return evidence


def _evidence(data: Dataset, split: int, alphas: tuple[float, ...], folds: int) -> JobResult:
    """Expansion, edge weights and λ of lsHG by evidence, by cross-validation, and λ alone by the latter."""
    train, test = random_split(data.n_rows, round(0.7 * data.n_rows), 33, split)
    X, Y = _standardize(data.X, train), data.Y.toarray()
    spectral = hl.HypergraphSpectral(form="least_squares")
    model = Pipeline([("hg", spectral), ("ridge", hl.BinaryRelevance(alpha=1e-3))])
    grid = {"hg__expansion": EXPANSIONS, "hg__edge_weights": ("uniform", "compactness"), "hg__alpha": alphas}
    evidence: dict[tuple[str, str, float], float] = {}
    for weights in grid["hg__edge_weights"]:
        for expansion in EXPANSIONS:
            factor = LabelHypergraph(Y[train], X[train], weights=weights).factor(expansion).toarray()
            for alpha, value in zip(alphas, log_evidence(X[train], factor, alphas), strict=True):
                evidence[expansion, str(weights), alpha] = value
    most_evident = max(evidence.items(), key=lambda entry: entry[1])[0]
    inside = (X[train], Y[train], _pipeline_auc, folds, split)
    choices = {
        "evidence": dict(zip(grid, most_evident, strict=True)),
        "cross-validation": search_grid(model, grid, *inside).best,
        "λ alone, uniform clique": search_grid(model, {"hg__alpha": alphas}, *inside).best,
    }
    values = []
    for name, choice in choices.items():
        fitted = clone(model).set_params(**choice).fit(X[train], Y[train])
        values.append(Measurement(name, "roc_auc", _pipeline_auc(fitted, X[test], Y[test])))
    chosen = {name: {"λ": choice["hg__alpha"]} for name, choice in choices.items()}
    grids = {name: {"λ": list(alphas)} for name in choices}
    return JobResult(values, details={"picked": choices, "chosen": chosen, "grids": grids})


def _collect_evidence(plan: Plan, runs: Runs) -> Result:
    columns = ("evidence", "cross-validation", "λ alone, uniform clique")
    numbers = runs.numbers(
        (name, column, runs.scores(name, column, "roc_auc"), None)
        for name in EVIDENCE_DATA
        for column in columns
    )
    choice_texts = []
    for cell in runs.cells:
        if "picked" in cell["details"]:
            choices = [
                f"{name} {', '.join(map(str, choice.values()))}"
                for name, choice in cell["details"]["picked"].items()
                if len(choice) > 1
            ]
            choice_texts.append(f"{cell['spec']['data']} {cell['spec']['split']}: {'; '.join(choices)}")
    return Result(numbers=numbers, notes=[f"Chosen: {' | '.join(choice_texts)}."])


def _set_size(data: Dataset, split: int, Cs: tuple[float, ...], folds: int) -> JobResult:
    """F1 of RankSVM when h is learned on the training scores (§3.4) and when on held-out ones."""
    train, test = random_split(data.n_rows, min(round(0.7 * data.n_rows), 2000), 34, split)
    X, Y = data.X[train], data.Y.toarray()[train]
    model = hl.RankSVM(tol=1e-2, random_state=split)
    best = search_grid(model, {"C": Cs}, X, Y, "f1_macro", folds, split).best
    model.set_params(**best).fit(X, Y)
    out_of_fold_scores = np.empty(Y.shape)
    cv = IterativeStratifiedKFold(folds, shuffle=True, random_state=split)
    for fit_rows, score_rows in cv.split(X, Y):
        fold_model = clone(model).fit(X[fit_rows], Y[fit_rows])
        out_of_fold_scores[score_rows] = fold_model.rank_scores(X[score_rows])
    set_size = LabelSetSize().fit(X, out_of_fold_scores, Y)
    X_test = data.X[test]
    predictions = {
        "§3.4": model.predict(X_test),
        "out-of-fold": set_size.decide(X_test, model.rank_scores(X_test)),
    }
    values = []
    for name, predicted in predictions.items():
        measures = evaluate(data.Y[test], np.asarray(predicted, dtype=int))
        values += [Measurement(name, metric, float(measures[metric])) for metric in ("f1_macro", "f1_micro")]
    return JobResult(values, details={"chosen": {"RankSVM": best}, "grids": {"RankSVM": {"C": list(Cs)}}})


def _collect_set_sizes(plan: Plan, runs: Runs) -> Result:
    numbers = runs.numbers(
        (name, f"{rule}, F1 {average}", runs.scores(name, rule, f"f1_{average}"), None)
        for name in SET_SIZE_DATA
        for average in ("macro", "micro")
        for rule in ("§3.4", "out-of-fold")
    )
    # Of the four numbers of a data set the first two are macro F1.
    gains = [new.ours > old.ours for old, new in zip(numbers[::4], numbers[1::4], strict=True)]
    if not gains:
        return Result(numbers=numbers)
    verdict = "they could be the default." if all(gains) else "§3.4's rule stays the rankers' default."
    note = f"Out-of-fold sizes gain macro F1 on {sum(gains)} of {len(gains)} sets: {verdict}"
    return Result(numbers=numbers, notes=[note])


def _random_weights(data: Dataset, split: int, alpha: float, n_draws: int) -> JobResult:
    """What hyperedge weights could gain: AUC of HG with uniform weights and with random ones."""
    train, test = random_split(data.n_rows, round(0.7 * data.n_rows), 35, split)
    X, Y = _standardize(data.X, train), data.Y.toarray()
    rng = np.random.default_rng([36, split])
    draws = [np.ones(Y.shape[1]), *rng.lognormal(size=(n_draws, Y.shape[1]))]

    def score(weights: np.ndarray, n_components: int) -> float:
        spectral = hl.HypergraphSpectral(n_components, alpha=alpha, edge_weights=weights)
        model = Pipeline([("hg", spectral), ("ridge", hl.BinaryRelevance(alpha=1e-3))])
        return _pipeline_auc(model.fit(X[train], Y[train]), X[test], Y[test])

    values = []
    for name, n_components in (("all", Y.shape[1]), ("half", max(1, Y.shape[1] // 2))):
        uniform, *gains = [score(weights, n_components) for weights in draws]
        differences = np.array(gains) - uniform
        values += [
            Measurement(f"{name} components, best draw", "gain", float(differences.max())),
            Measurement(f"{name} components, worst draw", "gain", float(differences.min())),
        ]
    return JobResult(values)


WEIGHT_DATA = ("emotions", "scene", "yeast")


def _plan_weights(plan: Plan) -> list[Job]:
    settings = {"alpha": 100.0, "n_draws": plan.pick(15, 3)}
    n_splits = plan.pick(3, 1)
    return make_cells(
        plan, WEIGHT_DATA, "beyond weights", _random_weights, n_splits, settings, keep_frequent_labels
    )


def _collect_weights(plan: Plan, runs: Runs) -> Result:
    series = dict.fromkeys(v["series"] for v in runs.values)
    numbers = runs.numbers(
        (name, what, runs.scores(name, what, "gain"), None) for name in WEIGHT_DATA for what in series
    )
    return Result(numbers=numbers, scores=False)


def _plan_semi(plan: Plan) -> list[Job]:
    settings = [{"labelled": share, "folds": plan.pick(3, 2)} for share in LABELLED_SHARES]
    what = "beyond semi, Rank-HLapSVM"
    return make_cells(plan, SEMI_DATA, what, _semi, plan.pick(3, 1), settings, keep_frequent_labels)


def _plan_evidence(plan: Plan) -> list[Job]:
    settings = {"alphas": (10.0, 100.0, 1000.0, 10000.0), "folds": plan.pick(3, 2)}
    n_splits = plan.pick(3, 1)
    return make_cells(
        plan, EVIDENCE_DATA, "beyond evidence", _evidence, n_splits, settings, keep_frequent_labels
    )


def _plan_set_sizes(plan: Plan) -> list[Job]:
    settings = {"Cs": plan.pick((1.0, 8.0, 64.0, 512.0), (8.0, 64.0)), "folds": plan.pick(3, 2)}
    n_splits = plan.pick(3, 1)
    return make_cells(
        plan, SET_SIZE_DATA, "beyond set size", _set_size, n_splits, settings, keep_frequent_labels
    )


ITEMS = [
    Item("beyond-semi", "Unlabelled rows in the hypergraph", SEMI_DATA, _plan_semi, _collect_semi),
    Item("beyond-evidence", "Geometry by evidence", EVIDENCE_DATA, _plan_evidence, _collect_evidence),
    Item("beyond-weights", "What hyperedge weights could gain", WEIGHT_DATA, _plan_weights, _collect_weights),
    Item(
        "beyond-setsize", "Set sizes from held-out scores", SET_SIZE_DATA, _plan_set_sizes, _collect_set_sizes
    ),
]
