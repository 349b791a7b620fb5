"""The one list of methods: `compare`, `fit`, `demo` and `AutoMultiLabel` choose from it by name.

A method joins by one `MethodSpec` in `CATALOGUE`. It is made for rows on one scale: columns of unit variance
when dense, rows of unit length (or columns of largest value 1) when sparse.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from hyperlabel.forest import LabelForest
from hyperlabel.labelspace import CPLST, PLST, LabelPowerset
from hyperlabel.linear import BinaryRelevance, ChainEnsemble
from hyperlabel.neighbors import MLkNN, NystroemRBF
from hyperlabel.projection import HOPLS, HypergraphSpectral, ProjectionClassifier
from hyperlabel.ranking import CalibratedLabelRanking, HypergraphRankSVM, RankSVM

LANDMARKS = 600


@dataclass(frozen=True)
class DataShape:
    """What the rows look like once they are numbers on one scale."""

    n_rows: int
    n_columns: int
    is_sparse: bool

    @classmethod
    def of(cls, X: Any) -> DataShape:
        """Return what X looks like."""
        return cls(X.shape[0], X.shape[1], sparse.issparse(X))

    @property
    def alphas(self) -> list[float]:
        """Ridge λ to compare, the likeliest first."""
        return [1.0, 0.3, 3.0] if self.is_sparse else [30.0, 1.0, 1000.0]


Grid = dict[str, list[Any]]


@dataclass(frozen=True)
class MethodSpec:
    """One method of the catalogue: how to make it for some rows, and what is worth comparing on them."""

    name: str  # as given to ``--method``, ``--methods`` and ``methods=``
    title: str  # as tables print it
    make: Callable[[DataShape], BaseEstimator] = field(repr=False)  # the unfitted classifier
    grid: Callable[[DataShape], Grid] = field(
        default=lambda rows: {}, repr=False
    )  # the likeliest value first
    default: bool = True  # whether a comparison that names no methods includes it
    pairwise: bool = False  # needs few labels: its cost grows with their square


def _alpha_grid(parameter: str = "alpha") -> Callable[[DataShape], Grid]:
    return lambda rows: {parameter: rows.alphas}


def _value_grid(parameter: str, *values: float) -> Callable[[DataShape], Grid]:
    return lambda rows: {parameter: list(values)}


def _kernel_ridge(rows: DataShape) -> Any:
    return make_pipeline(NystroemRBF(min(LANDMARKS, rows.n_rows)), BinaryRelevance(alpha=1e-4 * rows.n_rows))


def _kernel_grid(rows: DataShape) -> Grid:
    return {
        "nystroemrbf__length_scale": [1.0, 0.5, 2.0],
        "binaryrelevance__alpha": [share * rows.n_rows for share in (1e-4, 1e-5, 1e-3)],
    }


CATALOGUE: tuple[MethodSpec, ...] = (
    MethodSpec("ridge", "BinaryRelevance (shared ridge)", lambda rows: BinaryRelevance(), _alpha_grid()),
    MethodSpec("kernel-ridge", "shared ridge on an RBF kernel", _kernel_ridge, _kernel_grid, default=False),
    MethodSpec(
        "forest",
        "trees that part labels (LabelForest)",
        lambda rows: LabelForest(),
        lambda rows: {"min_samples_leaf": [5, 2, 10] if rows.is_sparse else [2, 5, 1]},
        default=False,
    ),
    MethodSpec("plst", "PLST, dimension chosen", lambda rows: PLST(), _alpha_grid()),
    MethodSpec("cplst", "CPLST, dimension chosen", lambda rows: CPLST(), _alpha_grid(), default=False),
    MethodSpec(
        "spectral",
        "HypergraphSpectral, ridge on it",
        lambda rows: ProjectionClassifier(HypergraphSpectral(expansion="star")),
        _alpha_grid("projection__alpha"),
    ),
    MethodSpec(
        "hopls-mlknn",
        "HOPLS, ML-kNN on it",
        lambda rows: make_pipeline(HOPLS(), MLkNN()),
        _alpha_grid("hopls__alpha"),
        default=False,
    ),
    MethodSpec(
        "mlknn",
        "ML-kNN",
        lambda rows: MLkNN(metric="cosine" if rows.is_sparse else "euclidean"),  # texts differ in length
        _value_grid("n_neighbors", 10, 5, 20),
    ),
    MethodSpec(
        "rank-svm",
        "Rank-SVM",
        lambda rows: RankSVM(tol=1e-2),
        _value_grid("C", 1.0, 0.1, 10.0),
        pairwise=True,
    ),
    MethodSpec(
        "hypergraph-rank-svm",
        "Rank-HLapSVM",
        lambda rows: HypergraphRankSVM(tol=1e-2),
        _value_grid("C", 1.0, 0.1, 10.0),
        default=False,
        pairwise=True,
    ),
    MethodSpec(
        "calibrated-ranking",
        "calibrated label ranking on ridge",
        lambda rows: CalibratedLabelRanking(),
        _alpha_grid(),
        default=False,
        pairwise=True,
    ),
    MethodSpec("powerset", "label powerset", lambda rows: LabelPowerset(), default=False),
    MethodSpec(
        "logistic",
        "logistic regression per label (scikit-learn)",
        lambda rows: BinaryRelevance(LogisticRegression(max_iter=1000)),
        _value_grid("estimator__C", 1.0, 0.1, 10.0),
    ),
    MethodSpec(
        "linear-svm",
        "LinearSVC per label (scikit-learn)",
        lambda rows: BinaryRelevance(LinearSVC(max_iter=5000)),
        _value_grid("estimator__C", 0.1, 1.0, 0.01),
    ),
    MethodSpec(
        "chain-ensemble",
        "classifier chains, averaged (scikit-learn)",
        lambda rows: ChainEnsemble(LogisticRegression(max_iter=1000), n_chains=3),
        pairwise=True,
    ),
    MethodSpec(
        "prior", "always the most frequent answer: the floor", lambda rows: DummyClassifier(strategy="prior")
    ),
)


def method_spec(name: str) -> MethodSpec:
    """Return a method by its name."""
    for method in CATALOGUE:
        if method.name == name:
            return method
    names = ", ".join(method.name for method in CATALOGUE)
    raise ValueError(f"There is no method {name!r}: choose from {names}.")
