"""Build the steps of a Pipeline from the name of a method and the user's rows."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hyperlabel.persistence.plain import MIXED_SCRIPTS
from hyperlabel.persistence.plain import UNSPACED as UNSPACED_SCRIPTS
from hyperlabel.persistence.plain import WORDS as WORD_PATTERN

# Up to this many columns a grid of λ is compared (one eigendecomposition per fold); beyond, λ is fixed.
GRID_COLUMNS = 600


SUMS = 5000  # columns up to which a model keeps XᵀX, so that it can be updated


PER_ROW = 4  # features of text for each of a few rows: more cost time and teach nothing


WORDS = 2500  # most frequent words, for comparisons and the methods that many would slow down


PAIRS = 0.6  # weight of words in a row beside single words: Debian texts, benchmarks/quality_text.py


AUTO_WORDS = 1000  # a portfolio factors XᵀX many times over


WEIGHTS = 1 << 25  # of all words for all labels: a quarter of a gigabyte


UNSPACED = re.compile(f"[{UNSPACED_SCRIPTS}]")


CHARACTERS = (4, 6)  # in a row, inside words: where words take many forms (benchmarks/label_names.py --fit)


WIDE_ROWS = 8000  # up to which rows may be wider than WEIGHTS allows: weights then lie over the rows


@dataclass(frozen=True)
class Choices:
    """What the options of ``fit`` say about the model."""

    method: str = "ridge"
    alpha: tuple[float, ...] = ()
    budget: float = 60.0
    scoring: str = "f1_macro"
    thresholds: str = "per_label"
    precision: float | None = None  # that must be guaranteed
    confidence: float = 0.9  # of that guarantee
    words: int | None = None  # at most so many features of text; None: as many as fit in memory
    ngrams: int = 2
    slim: bool = False  # without the moments that an update needs
    seed: int = 0
    analyzer: str = "word"  # of texts, as scikit-learn calls it; "auto": as held-out rows choose
    label_names: bool = True  # whether names are features of the labels, where they are words
    label_text: Any = None  # a `LabelText`: what a file says of labels; None: nothing
    time_blocks: int = 0  # so many blocks of rows are scored by models of earlier rows; 0: any folds


def make_vectorizer(
    texts: Sequence[str], max_features: int | None, ngrams: int, analyzer: str = "word"
) -> Any:
    """Return the unfitted transformer of a column of text: words, and words in a row, or parts of words.

    Where scripts without blanks occur, their runs count as pairs of characters beside the words of others.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    if analyzer == "char_wb":
        return TfidfVectorizer(
            analyzer=analyzer,
            ngram_range=CHARACTERS,
            sublinear_tf=True,
            min_df=2 if len(texts) >= 50 else 1,
            max_features=max_features,
        )
    has_unspaced = any(not text.isascii() and UNSPACED.search(text) for text in texts)
    return TfidfVectorizer(
        sublinear_tf=True,
        min_df=2 if len(texts) >= 50 else 1,
        max_features=max_features,
        token_pattern=MIXED_SCRIPTS if has_unspaced else WORD_PATTERN,
        ngram_range=(1, ngrams),
    )


def max_text_features(choices: Choices, n_rows: int, n_labels: int) -> int | None:
    """Return how many features all texts may have: as asked, else those that rows and memory bear."""
    if choices.analyzer == "char_wb":
        is_wide = (
            n_rows <= WIDE_ROWS and not choices.slim
        )  # a slim file holds no rows for weights to lie over
        return None if is_wide else WEIGHTS // max(n_labels, 1)
    row_limit = max(2000, PER_ROW * n_rows)
    return min(choices.words or (row_limit if row_limit <= SUMS else WEIGHTS), WEIGHTS // max(n_labels, 1))


def weigh_pairs(step: Any) -> Any:
    """Let words in a row count less than words, in a fitted transformer of texts; return the weights."""
    import numpy as np

    if not hasattr(step, "vocabulary_"):
        return None
    # a model file has an array for each of NumPy's integers
    step.vocabulary_ = {word: int(column) for word, column in step.vocabulary_.items()}
    is_pair = [step.analyzer == "word" and " " in name for name in step.get_feature_names_out()]
    idf_weights = np.where(is_pair, PAIRS, 1.0)
    step.idf_ = step.idf_ * idf_weights
    return idf_weights


def features_step(columns: Any, dataset: Any, choices: Choices) -> Any:
    """Return the transformer from the user's rows to numbers; `columns` say what a row holds."""
    from scipy import sparse
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

    if not columns.text_columns and sparse.issparse(dataset.X):
        return MaxAbsScaler()
    number_step = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    if not columns.text_columns:
        return number_step
    n_texts, n_words = len(columns.text), len(columns.text_columns)
    n_rows = dataset.Y.shape[0]
    has_enough_rows = n_rows >= 50
    max_features = max_text_features(choices, n_rows, len(dataset.label_names))
    if max_features is not None:
        max_features = max(1, max_features // max(n_texts, 1))
    vectorizers = [
        make_vectorizer(texts, max_features, choices.ngrams, choices.analyzer)
        for texts in columns.cells(dataset)[:n_texts]
    ]
    if columns.text_only:
        return vectorizers[0]
    steps: list[Any] = [(text_step(j, n_texts), step, j) for j, step in enumerate(vectorizers)]
    if columns.categories:
        category_encoder = OneHotEncoder(
            handle_unknown="infrequent_if_exist", min_frequency=5 if has_enough_rows else None
        )
        steps.append(("categories", category_encoder, slice(n_texts, n_words)))
    if columns.n_features:
        steps.append(("numbers", number_step, slice(n_words, None)))
    # unit variance would let one number, or one category, outweigh a whole text of unit length
    step_weights = {"numbers": 0.1, "categories": 0.3} if n_texts else {}
    step_weights = {name: step_weights[name] for name, _, _ in steps if name in step_weights}
    return ColumnTransformer(steps, sparse_threshold=1.0, transformer_weights=step_weights or None)


def learned_rows(features: Any, inputs: Any, groups: Any, precision: float | None) -> Any:
    """Fit the transformer and return all rows as numbers.

    With a guaranteed precision it must not see the rows held out for the guarantee: they would not be new to
    it.
    """
    train_inputs = inputs
    if precision is not None:
        from hyperlabel._sklearn_compat import safe_indexing

        n_rows = inputs.shape[0] if hasattr(inputs, "shape") else len(inputs)
        train_inputs = safe_indexing(inputs, fit_index(n_rows, groups, precision))
    try:
        row_features = features.fit_transform(train_inputs)
    except ValueError as error:
        if "vocabulary" in str(error) or "no terms remain" in str(error):
            raise ValueError("The texts hold no words to learn from: is --text right?") from error
        raise
    pair_weights = [weigh_pairs(step) for _, step, *_ in getattr(features, "transformers_", [("", features)])]
    if precision is None and hasattr(features, "vocabulary_"):  # no need to split the texts again
        from sklearn.preprocessing import normalize

        return normalize(row_features.multiply(pair_weights[0]).tocsr())
    is_unweighted = precision is None and all(pair_weight is None for pair_weight in pair_weights)
    return row_features if is_unweighted else features.transform(inputs)


def fit_index(n_rows: int, groups: Any, precision: float | None) -> Any:
    """Return the rows that the weights are fitted on: all but those held out for a guarantee."""
    from hyperlabel.meta.wrapper_base import held_out_rows

    return slice(None) if precision is None else held_out_rows(n_rows, groups)[0]


def text_step(j: int, n_texts: int) -> str:
    """Return the name of the step of a column of text: numbered where there are several."""
    return "text" if n_texts == 1 else f"text{j}"


def plain_feature(name: str, texts: list[str]) -> str:
    """Return a feature's name as people read it: where several columns hold text, with its column."""
    step_name, step_mark, feature_name = name.partition("__")
    if not step_mark:
        return name
    for j, column in enumerate(texts):
        if step_name == text_step(j, len(texts)):
            return feature_name if len(texts) == 1 else f"{feature_name} ({column})"
    return feature_name if step_name in ("numbers", "categories") else name


def time_blocks(times: Any, max_blocks: int = 5) -> int:
    """Return how many blocks of later rows can be scored by earlier ones."""
    from hyperlabel.model_selection import TimeOrderedSplit

    for n_blocks in range(max_blocks, 0, -1):
        try:
            list(TimeOrderedSplit(n_blocks).split(times, groups=times))
        except ValueError:
            continue
        return n_blocks
    raise ValueError("--time needs rows of at least two moments.")


def classifier_step(method: str, choices: Choices, X: Any, n_units: int | None = None) -> Any:
    """Return the classifier of a method for the rows X, with tuned thresholds unless it has its own.

    There are no more folds than `n_units`: rows, or groups that stay whole.
    """
    from hyperlabel._base import seeded
    from hyperlabel.decision.thresholds import can_tune_each_label, list_tunable
    from hyperlabel.meta import AutoMultiLabel, ThresholdTuner
    from hyperlabel.meta.catalogue import DataShape, method_spec

    rows = DataShape.of(X)
    max_folds = rows.n_rows if n_units is None else n_units
    cv_folds: Any = max(2, min(3 if rows.n_rows > 4000 else 5, max_folds))
    if choices.time_blocks:
        from hyperlabel.model_selection import TimeOrderedSplit

        cv_folds = TimeOrderedSplit(choices.time_blocks)
    if method == "auto":
        return AutoMultiLabel(
            choices.scoring, time_budget=choices.budget, cv=cv_folds, random_state=choices.seed
        )
    method_entry = method_spec(method)
    if not can_tune_each_label(choices.scoring):
        raise ValueError(
            f"Thresholds can be tuned for {', '.join(list_tunable())}, not for {choices.scoring!r}: "
            "choose one of them, or --method auto."
        )
    grid = _set_alpha(method_entry.name, method_entry.grid(rows), choices.alpha)
    model = seeded(method_entry.make(rows), choices.seed)
    model.set_params(**{parameter: values[0] for parameter, values in grid.items()})
    if method == "ridge":
        compares_alphas = len(grid["alpha"]) > 1 and (choices.alpha or rows.n_columns <= GRID_COLUMNS)
        # with the Gram matrix the model can be updated: kept where it fits in memory
        solver = "gram" if rows.n_columns <= SUMS else "auto"
        model.set_params(
            alpha=grid["alpha"] if compares_alphas else grid["alpha"][0], cv=cv_folds, solver=solver
        )
    if choices.thresholds == "none":
        return model
    own_folds = method == "ridge"
    return ThresholdTuner(
        model, strategy=choices.thresholds, scoring=choices.scoring, cv=None if own_folds else cv_folds
    )


def _set_alpha(name: str, grid: dict[str, list[Any]], alpha: tuple[float, ...]) -> dict[str, list[Any]]:
    """Put the λ the user named in place of the catalogue's."""
    if not alpha:
        return grid
    alpha_parameter = next((parameter for parameter in grid if parameter.split("__")[-1] == "alpha"), None)
    if alpha_parameter is None:
        raise ValueError(f"{name} has no ridge λ: leave out --alpha.")
    if len(alpha) > 1 and name != "ridge":
        raise ValueError(f"Several --alpha are compared by ridge only: name one for {name}.")
    return grid | {alpha_parameter: list(alpha)}


def as_numbers(dataset: Any, columns: Any, words: int = WORDS) -> Any:
    """Return a data set whose texts have become numbers, and whose missing numbers are filled in."""
    from dataclasses import replace

    import numpy as np
    from scipy import sparse

    has_missing = not sparse.issparse(dataset.X) and bool(np.isnan(dataset.X).any())
    if not columns.text_columns and not has_missing:
        return dataset
    step = features_step(columns, dataset, Choices(words=words, ngrams=1))
    rows = step.fit_transform(columns.inputs(dataset))
    feature_names = step.get_feature_names_out(None if columns.text_only else columns.names)
    return replace(
        dataset, X=rows, feature_names=[plain_feature(str(name), columns.text) for name in feature_names]
    )
