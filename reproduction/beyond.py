"""Where the papers stopped: unlabelled rows, geometry judged by evidence, set sizes from held-out scores.

Each is an experiment that could fail; what is tuned is tuned inside the labelled training rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone

from hyperlabel.datasets import Dataset
from hyperlabel.experiments.runner import Outcome, Value
from reproduction.item import Item, Plan, Runs, make_cells, random_split
from reproduction.kdd08 import rank_auc
from reproduction.result import Result
from reproduction.search import search_grid

SEMI = ("scene", "yeast", "mediamill-real4k")
SHARES = (0.05, 0.1, 0.2, 0.5)
WEIGHTS = (0.0, 0.1, 1.0, 10.0)
GEOMETRY = ("emotions", "scene", "yeast", "medical")
EXPANSIONS = ("clique", "star", "zhou", "cca")
SIZES = ("emotions", "scene", "yeast", "medical", "genbase", "imageclef07a", "mediamill-real4k")


def frequent(data: Dataset) -> Dataset:
    """Keep the labels with more than 30 rows, columns of the rows dense."""
    kept = np.flatnonzero(np.asarray(data.Y.sum(axis=0)).ravel() > 30)
    X = data.X.toarray() if sparse.issparse(data.X) else data.X
    return Dataset(X, data.Y[:, kept], name=data.name)


@dataclass(eq=False, repr=False)
class SmoothRows(TransformerMixin, BaseEstimator):
    """Rows in the metric (I + w·ZᵀLZ)^(−1/2), so that a ridge on them also asks f to be smooth.

    L is the Laplacian of the k-NN graph of labelled and unlabelled rows Z; ZᵀLZ is scaled to trace d. What a
    method on these rows adds to its own ridge, as Rank-HLapSVM does with its label hyperedges, joins it.
    """

    unlabelled: Any = None
    weight: float = 0.0
    n_neighbors: int = 10

    def fit(self, X: np.ndarray, Y: np.ndarray) -> SmoothRows:
        """Find the metric."""
        from sklearn.neighbors import kneighbors_graph

        d = X.shape[1]
        self.lift_ = np.eye(d)
        if self.weight:
            Z = np.vstack([X, self.unlabelled])
            A = kneighbors_graph(Z, self.n_neighbors)
            A = A.maximum(A.T)
            root = sparse.diags_array(1 / np.sqrt(np.asarray(A.sum(axis=1)).ravel()))
            M = Z.T @ Z - Z.T @ (root @ A @ root @ Z)
            values, vectors = linalg.eigh(M * (d / np.trace(M)))
            self.lift_ = vectors / np.sqrt(1 + self.weight * np.maximum(values, 0)) @ vectors.T
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Return the rows in the metric."""
        return X @ self.lift_


def _auc(model: Any, X: Any, Y: Any) -> float:
    """Mean AUC over the labels that the rows can judge."""
    if hasattr(model[-1], "rank_scores"):
        return rank_auc(model[-1], model[:-1].transform(X), Y)
    from hyperlabel.metrics import roc_auc_score

    return float(roc_auc_score(Y, model.decision_function(X)))


def smoothed_methods(unlabelled: np.ndarray, seed: int) -> dict[str, tuple[Any, dict[str, Any]]]:
    """Two methods on smoothed rows, which they must not scale again, and the grids of their own."""
    from sklearn.pipeline import Pipeline

    import hyperlabel as hl

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


def _semi(data: Dataset, split: int, labelled: float, folds: int) -> Outcome:
    """AUC of two methods with few labelled rows: alone, with unlabelled rows smoothed in, self-trained."""
    train, test = random_split(data.n_rows, round(0.7 * data.n_rows), 31, split)
    order = np.random.default_rng([32, split]).permutation(train)
    few, rest = np.split(order, [round(labelled * len(order))])
    X = (data.X - data.X[train].mean(axis=0)) / np.maximum(data.X[train].std(axis=0), 1e-12)
    Y = data.Y.toarray()
    values, chosen, grids = [], {}, {}
    for name, (alone, grid) in smoothed_methods(X[rest], split).items():
        for series, part in (("labelled", grid), ("unlabelled", {"smooth__weight": WEIGHTS})):
            found = search_grid(alone, part, X[few], Y[few], _auc, folds, split, widen=list(part))
            chosen[f"{name}, {series} rows"], grids[f"{name}, {series} rows"] = found.best, found.grid
            if series == "labelled":
                alone.set_params(**found.best)
        smoothed = clone(alone).set_params(**found.best).fit(X[few], Y[few])
        alone.fit(X[few], Y[few])
        guessed = np.vstack([Y[few], alone.predict(X[rest])])
        taught = clone(alone).fit(np.vstack([X[few], X[rest]]), guessed)
        models = {"labelled rows": alone, "unlabelled rows": smoothed, "self-training": taught}
        values += [
            Value(f"{name}, {k}", "roc_auc", _auc(m, X[test], Y[test]), labelled) for k, m in models.items()
        ]
    return Outcome(values, details={"chosen": chosen, "grids": grids})


def _semi_table(plan: Plan, runs: Runs) -> Result:
    kinds = ("labelled rows", "unlabelled rows", "self-training")
    series = [f"{method}, {kind}" for method in ("HG", "Rank-HLapSVM") for kind in kinds]
    numbers = runs.numbers(
        (f"{name}, {share:.0%}", s, runs.scores(name, s, "roc_auc", share), None)
        for name in SEMI
        for share in SHARES
        for s in series
    )
    return Result(numbers=numbers)


def log_evidence(X: np.ndarray, U: np.ndarray, alphas: Any) -> list[float]:
    """Log evidence, up to a constant, that the rows explain an orthonormal frame of a label factor.

    Columns of U (n×r) are N(0, σ²(I + XXᵀ/λ)) with σ² at its best; rows are centred. By the eigenvalues
    e of XᵀX and projections P of U, with q = r − Σ P²/(e + λ): −½ r(n−1) log q − ½ r Σ log(1 + e/λ).
    A frame of the span is all that the least-squares form sees of a factor.
    """
    X = X - X.mean(axis=0)
    U = linalg.orth(U - U.mean(axis=0))
    e, V = linalg.eigh(X.T @ X)
    e = np.maximum(e, 0.0)
    P = np.sum((V.T @ (X.T @ U)) ** 2, axis=1)
    n, r = U.shape
    found = []
    for a in alphas:
        q = r - np.sum(P / (e + a))
        found.append(float(-0.5 * r * (n - 1) * np.log(q / r) - 0.5 * r * np.sum(np.log1p(e / a))))
    return found


def _evidence(data: Dataset, split: int, alphas: tuple[float, ...], folds: int) -> Outcome:
    """Expansion, edge weights and λ of lsHG by evidence, by cross-validation, and λ alone by the latter."""
    from sklearn.pipeline import Pipeline

    import hyperlabel as hl
    from hyperlabel.geometry import LabelHypergraph

    train, test = random_split(data.n_rows, round(0.7 * data.n_rows), 33, split)
    X = (data.X - data.X[train].mean(axis=0)) / np.maximum(data.X[train].std(axis=0), 1e-12)
    Y = data.Y.toarray()
    spectral = hl.HypergraphSpectral(form="least_squares")
    model = Pipeline([("hg", spectral), ("ridge", hl.BinaryRelevance(alpha=1e-3))])
    evidence: dict[tuple[str, str, float], float] = {}
    for weights in ("uniform", "compactness"):
        for expansion in EXPANSIONS:
            graph = LabelHypergraph(Y[train], X[train], weights=weights)
            found = log_evidence(X[train], graph.factor(expansion).toarray(), alphas)
            evidence |= {(expansion, weights, a): v for a, v in zip(alphas, found, strict=True)}
    names = ("hg__expansion", "hg__edge_weights", "hg__alpha")
    grid = {"hg__expansion": EXPANSIONS, "hg__edge_weights": ("uniform", "compactness"), "hg__alpha": alphas}
    inside = (X[train], Y[train], _auc, folds, split)
    best = max(evidence.items(), key=lambda entry: entry[1])[0]
    choices = {
        "evidence": dict(zip(names, best, strict=True)),
        "cross-validation": search_grid(model, grid, *inside).best,
        "λ alone, uniform clique": search_grid(model, {"hg__alpha": alphas}, *inside).best,
    }
    values = []
    for name, choice in choices.items():
        fitted = clone(model).set_params(**choice).fit(X[train], Y[train])
        values.append(Value(name, "roc_auc", _auc(fitted, X[test], Y[test])))
    chosen = {name: {"λ": choice["hg__alpha"]} for name, choice in choices.items()}
    grids = {name: {"λ": list(alphas)} for name in choices}
    return Outcome(values, details={"picked": choices, "chosen": chosen, "grids": grids})


def _evidence_table(plan: Plan, runs: Runs) -> Result:
    columns = ("evidence", "cross-validation", "λ alone, uniform clique")
    numbers = runs.numbers(
        (name, column, runs.scores(name, column, "roc_auc"), None) for name in GEOMETRY for column in columns
    )
    picked = [
        f"{c['spec']['data']} {c['spec']['split']}: "
        + "; ".join(f"{by} {', '.join(map(str, choice.values()))}"
                    for by, choice in c["details"]["picked"].items() if len(choice) > 1)
        for c in runs.cells if "picked" in c["details"]
    ]  # fmt: skip
    return Result(numbers=numbers, notes=[f"Chosen: {' | '.join(picked)}."])


def _set_size(data: Dataset, split: int, Cs: tuple[float, ...], folds: int) -> Outcome:
    """F1 of RankSVM when h is learned on the training scores (§3.4) and when on held-out ones."""
    import hyperlabel as hl
    from hyperlabel.decision import LabelSetSize
    from hyperlabel.metrics import evaluate
    from hyperlabel.model_selection import IterativeStratifiedKFold

    train, test = random_split(data.n_rows, min(round(0.7 * data.n_rows), 2000), 34, split)
    X, Y = data.X[train], data.Y.toarray()[train]
    model = hl.RankSVM(tol=1e-2, random_state=split)
    best = search_grid(model, {"C": Cs}, X, Y, "f1_macro", folds, split).best
    model.set_params(**best).fit(X, Y)
    held = np.empty(Y.shape)
    for fit, see in IterativeStratifiedKFold(folds, shuffle=True, random_state=split).split(X, Y):
        held[see] = clone(model).fit(X[fit], Y[fit]).rank_scores(X[see])
    rule = LabelSetSize().fit(X, held, Y)
    new = data.X[test]
    answers = {"§3.4": model.predict(new), "out-of-fold": rule.decide(new, model.rank_scores(new))}
    values = []
    for name, answer in answers.items():
        found = evaluate(data.Y[test], np.asarray(answer, dtype=int))
        values += [Value(name, metric, float(found[metric])) for metric in ("f1_macro", "f1_micro")]
    return Outcome(values, details={"chosen": {"RankSVM": best}, "grids": {"RankSVM": {"C": list(Cs)}}})


def _set_size_table(plan: Plan, runs: Runs) -> Result:
    numbers = runs.numbers(
        (name, f"{rule}, F1 {average}", runs.scores(name, rule, f"f1_{average}"), None)
        for name in SIZES
        for average in ("macro", "micro")
        for rule in ("§3.4", "out-of-fold")
    )
    gains = [new.ours > old.ours for old, new in zip(numbers[::4], numbers[1::4], strict=True)]  # macro F1
    said = f"Out-of-fold sizes gain macro F1 on {sum(gains)} of {len(gains)} sets: "
    said += "§3.4's rule stays the rankers' default." if not all(gains) else "they could be the default."
    return Result(numbers=numbers, notes=[said] if gains else [])


ITEMS = [
    Item("beyond-semi", "Unlabelled rows in the hypergraph", SEMI,
         lambda plan: make_cells(plan, SEMI, "beyond semi, Rank-HLapSVM", _semi, plan.pick(3, 1),
                            [{"labelled": share, "folds": plan.pick(3, 2)} for share in SHARES], frequent),
         _semi_table),
    Item("beyond-evidence", "Geometry by evidence", GEOMETRY,
         lambda plan: make_cells(plan, GEOMETRY, "beyond evidence", _evidence, plan.pick(3, 1),
                            {"alphas": (10.0, 100.0, 1000.0, 10000.0), "folds": plan.pick(3, 2)}, frequent),
         _evidence_table),
    Item("beyond-setsize", "Set sizes from held-out scores", SIZES,
         lambda plan: make_cells(plan, SIZES, "beyond set size", _set_size, plan.pick(3, 1),
                            {"Cs": plan.pick((1.0, 8.0, 64.0, 512.0), (8.0, 64.0)),
                             "folds": plan.pick(3, 2)}, frequent),
         _set_size_table),
]  # fmt: skip
