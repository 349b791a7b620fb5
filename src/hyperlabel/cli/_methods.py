"""The methods ``hyperlabel fit`` knows by name, each as a Pipeline from the user's rows to label sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# Up to this many columns a grid of λ is compared (one eigendecomposition per fold); beyond, λ is fixed.
GRID_COLUMNS = 600
WORDS = 2500  # words kept by default: XᵀX stays small, so that a fit is quick and the model can be updated
AUTO_WORDS = 1000  # a portfolio factors XᵀX many times over

CUT_MEASURES = ("f1_macro", "f1_micro", "hamming_loss")


@dataclass(frozen=True)
class Choices:
    """What the options of ``fit`` say about the model."""

    alpha: tuple[float, ...] = ()
    budget: float = 60.0
    scoring: str = "f1_macro"
    thresholds: str = "per_label"
    words: int = WORDS
    seed: int = 0


@dataclass(frozen=True)
class Shape:
    """What the rows look like once they are numbers."""

    n_rows: int
    n_columns: int
    is_sparse: bool


def _alphas(choices: Choices, shape: Shape) -> list[float]:
    """λ for rows of unit length (text, sparse) or columns of unit variance."""
    if choices.alpha:
        return list(choices.alpha)
    if shape.is_sparse:
        return [0.3, 1.0, 3.0] if shape.n_columns <= GRID_COLUMNS else [1.0]
    return [1.0, 30.0, 1000.0] if shape.n_columns <= GRID_COLUMNS else [30.0]


def _one(choices: Choices, shape: Shape) -> float:
    alphas = _alphas(choices, shape)
    return alphas[len(alphas) // 2]


def _folds(shape: Shape) -> int:
    return max(2, min(3 if shape.n_rows > 4000 else 5, shape.n_rows))


def _ridge(choices: Choices, shape: Shape) -> Any:
    import hyperlabel as hl

    alphas = _alphas(choices, shape)
    # the sums are kept where they fit, so that the model can be updated
    solver = "gram" if shape.n_columns <= 2 * WORDS else "auto"
    return hl.BinaryRelevance(alpha=alphas if len(alphas) > 1 else alphas[0], cv=_folds(shape), solver=solver)


def _plst(choices: Choices, shape: Shape) -> Any:
    import hyperlabel as hl

    return hl.PLST(alpha=_one(choices, shape))


def _spectral(choices: Choices, shape: Shape) -> Any:
    import hyperlabel as hl

    return hl.ProjectionClassifier(hl.HypergraphSpectral(alpha=_one(choices, shape), expansion="star"))


def _rank_svm(choices: Choices, shape: Shape) -> Any:
    import hyperlabel as hl

    return hl.RankSVM(tol=1e-2)


def _mlknn(choices: Choices, shape: Shape) -> Any:
    import hyperlabel as hl

    return hl.MLkNN()


def _logistic(choices: Choices, shape: Shape) -> Any:
    from sklearn.linear_model import LogisticRegression

    import hyperlabel as hl

    return hl.BinaryRelevance(LogisticRegression(max_iter=1000))


def _auto(choices: Choices, shape: Shape) -> Any:
    import hyperlabel as hl

    return hl.AutoMultiLabel(
        choices.scoring, time_budget=choices.budget, cv=_folds(shape), random_state=choices.seed
    )


METHODS: dict[str, tuple[Callable[[Choices, Shape], Any], str]] = {
    "ridge": (_ridge, "one ridge solve for all labels, cuts tuned out of fold: fast, can be updated"),
    "auto": (_auto, "tries a portfolio within --time-budget and keeps the best"),
    "plst": (_plst, "PLST: principal label space, for many correlated labels"),
    "spectral": (_spectral, "hypergraph spectral projection, ridge on it"),
    "ranksvm": (_rank_svm, "Rank-SVM: ranks labels in pairs, for few labels"),
    "mlknn": (_mlknn, "ML-kNN: by the labels of the nearest rows"),
    "logistic": (_logistic, "scikit-learn's logistic regression for each label"),
}


def features_step(has_text: bool, n_numbers: int, is_sparse: bool, words: int, n_rows: int) -> Any:
    """Return the transformer from the user's rows to numbers."""
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    if is_sparse:
        return MaxAbsScaler()
    numbers = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2 if n_rows >= 50 else 1, max_features=words)
    if not has_text:
        return numbers
    if not n_numbers:
        return vectorizer
    # unit variance would let one number outweigh a whole text of unit length
    columns = [("text", vectorizer, 0), ("numbers", numbers, slice(1, None))]
    weights = {"text": 1.0, "numbers": 0.1}
    return ColumnTransformer(columns, sparse_threshold=1.0, transformer_weights=weights)


def classifier_step(method: str, choices: Choices, shape: Shape) -> Any:
    """Return the classifier of a method, with tuned cuts where it gives none of its own."""
    import hyperlabel as hl

    if method not in METHODS:
        raise ValueError(f"There is no method {method!r}: choose from {', '.join(METHODS)}.")
    if method != "auto" and choices.scoring not in CUT_MEASURES:
        raise ValueError(
            f"Cuts can be tuned for {', '.join(CUT_MEASURES)}, not for {choices.scoring!r}: choose one of "
            "them, or --method auto."
        )
    model = METHODS[method][0](choices, shape)
    if method == "auto" or choices.thresholds == "none":
        return model
    own_folds = method == "ridge"
    return hl.ThresholdTuner(
        model, strategy=choices.thresholds, scoring=choices.scoring, cv=None if own_folds else _folds(shape)
    )


def as_numbers(table: Any, columns: Any, words: int = WORDS) -> Any:
    """Return a data set whose texts have become numbers; others as they are."""
    from dataclasses import replace

    if not columns.text:
        return table
    step = features_step(True, columns.n_features, False, words, len(table))
    rows = step.fit_transform(columns.inputs(table))
    names = step.get_feature_names_out(["text", *columns.feature_names] if columns.n_features else None)
    return replace(table, X=rows, feature_names=[str(name) for name in names])
