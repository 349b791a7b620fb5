"""A model file with the user's columns: what `fit` saves and every other command reads."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hyperlabel.datasets.formats import TABLE_TITLES
from hyperlabel.tabular.data_as_path import name_source, open_data_as_path
from hyperlabel.tabular.label_spelling import join_variants, move_columns, spelling_key
from hyperlabel.tabular.notes import check_notes
from hyperlabel.tabular.table_io import add_vectors, need_model
from hyperlabel.tabular.wording import closest_name, plural

KEY = "hyperlabel fit"  # key of the command's notes in the metadata of a model file


@dataclass(frozen=True)
class ModelColumns:
    """The columns of the training file and how they were read, stored in the model file.

    Examples
    --------
    >>> from hyperlabel.tabular import ModelColumns
    >>> columns = ModelColumns("table", ["a", "b"], text=["title"], categories=["kind"], label_column="tags")
    >>> columns.names, columns.text_only
    (['title', 'kind'], False)
    """

    format: str
    label_names: list[str]
    feature_names: list[str] = field(default_factory=list)  # empty: they have none
    n_features: int = 0
    numbers: list[str] = field(default_factory=list)  # columns of a table the features come from
    categories: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)  # 0/1 columns of a table
    label_column: str | None = None
    label_separator: str | None = None
    blank: Literal["no", "missing"] | None = None  # what an empty cell of a 0/1 column means
    normalise: bool = False  # labels that differ only in case or blanks are one
    decimal: Literal[",", "."] | None = None  # the decimal mark, where it was said
    unreadable: Literal["refuse", "missing"] = "refuse"  # cells that are no numbers where numbers stand
    vectors: int = 0  # numbers of a vector beside each row; the last features
    left_out: list[str] = field(default_factory=list)  # labels with too few rows
    group: str | None = None  # column of groups that folds keep whole; "": each row is its own group
    reading: dict[str, Any] = field(default_factory=dict)  # further options of the reader (ARFF)
    method: str = ""
    rows: int = 0
    row_hashes: str = ""  # of the rows of the fit, see tabular/fit_rows.py

    @property
    def text_only(self) -> bool:
        """Whether a row is nothing but a text."""
        return len(self.text) == 1 and not self.n_features and not self.categories

    @property
    def text_columns(self) -> list[str]:
        """Return the columns of words in the order in which a row holds them: texts, then categories."""
        return [*self.text, *self.categories]

    @property
    def names(self) -> list[str] | None:
        """Return the names of the columns of a row; None where they have none."""
        if not self.text_columns:
            return self.feature_names or None
        number_names = self.feature_names or [f"x{j}" for j in range(self.n_features)]
        return [*self.text_columns, *number_names]

    def cells(self, data: Any) -> list[list[str]]:
        """Return the columns of words of a data set: texts, then categories."""
        joined_text = {} if data.text is None else dict.fromkeys(self.text[:1], data.text)
        text_columns = {**joined_text, **(data.text_columns or {})}
        missing_columns = [name for name in self.text_columns if name not in text_columns]
        if missing_columns:
            raise ValueError(f"{data.name} has no {missing_columns[0]!r}, which the model was fitted on.")
        return [text_columns[name] for name in self.text_columns]

    def need_text_only(self) -> None:
        """Refuse one text where a row is more than that."""
        if not self.text_only:
            raise ValueError("--text needs a model fitted on text alone: give a file with all its columns.")

    def inputs(self, data: Any) -> Any:
        """Return the rows of a data set as the model takes them."""
        if not self.text_columns:
            return data.X
        word_columns = self.cells(data)
        if self.text_only:
            return word_columns[0]
        rows = np.empty((data.n_rows, len(self.text_columns) + self.n_features), dtype=object)
        for j, column in enumerate(word_columns):
            rows[:, j] = column
        if self.n_features:
            rows[:, len(self.text_columns) :] = data.X.toarray() if hasattr(data.X, "toarray") else data.X
        return rows


@dataclass(frozen=True)
class Answers:
    """What a model says about some rows; `is_known` marks those with something the model knows."""

    label_sets: np.ndarray
    is_known: np.ndarray
    values: Any = None  # scores or probabilities
    sources: Any = None  # of each label of each row: "rows", "name" or "child"; None: all from rows
    scores: Any = None  # which order labels of one probability


@dataclass(frozen=True)
class ModelFile:
    """A fitted pipeline and the columns it reads: what a model file holds.

    Parameters
    ----------
    model : estimator
        From the rows of a table to label sets.
    columns : ModelColumns
        What each column is.
    path : str
        The model file; "" where none was written.

    Examples
    --------
    >>> from hyperlabel import BinaryRelevance
    >>> from hyperlabel.tabular import ModelColumns, ModelFile
    >>> model = BinaryRelevance().fit([[0.0], [1.0], [0.0], [1.0]], [[1, 0], [0, 1], [1, 0], [0, 1]])
    >>> columns = ModelColumns("table", ["low", "high"], n_features=1, numbers=["size"])
    >>> ModelFile(model, columns, "").predict_labels([[1.0]])
    [['high']]
    """

    model: Any
    columns: ModelColumns
    path: str

    def scores(self, rows: Any) -> np.ndarray:
        """Return the scores (n×k), whichever method of the model gives them."""
        from hyperlabel._base import score_rows

        return score_rows(self.model, rows)

    def predict(self, rows: Any) -> np.ndarray:
        """Return the predicted label sets as a dense boolean array (n×k)."""
        return self.answer(rows, values=False).label_sets

    @property
    def has_probabilities(self) -> bool:
        """Whether the model gives probabilities."""
        return hasattr(self.model, "predict_proba")

    def answer(self, rows: Any, *, values: bool = True, probabilities: bool = False) -> "Answers":
        """Return label sets, with scores or probabilities; a text without a known word gets no labels."""
        from hyperlabel._base import label_probabilities, score_rows
        from hyperlabel.meta.named_labels import find_sources

        is_pipeline = hasattr(self.model, "steps") and len(self.model) > 1
        features = self.model[:-1].transform(rows) if is_pipeline else rows
        classifier = self.model[-1] if is_pipeline else self.model
        label_sets = classifier.predict(features)
        label_sets = np.asarray(label_sets.toarray() if hasattr(label_sets, "toarray") else label_sets) > 0
        is_known = np.ones(len(label_sets), dtype=bool)
        if self.columns.text and not (self.columns.n_features or self.columns.categories):
            is_known = np.diff(features.tocsr().indptr) > 0
            label_sets &= is_known[:, None]
        sources = find_sources(classifier, features)
        if not values:
            return Answers(label_sets, is_known, sources=sources)
        scores = score_rows(classifier, features)
        answer_values = label_probabilities(classifier, features) if probabilities else scores
        return Answers(label_sets, is_known, answer_values, sources, scores)

    def predict_labels(self, rows: Any) -> list[list[str]]:
        """Return the names of the predicted labels of each row."""
        return [[self.columns.label_names[j] for j in np.flatnonzero(row)] for row in self.predict(rows)]


def open_model(path: str) -> ModelFile:
    """Load a model file that `fit_table` or ``hyperlabel fit`` wrote.

    Examples
    --------
    >>> from hyperlabel.tabular import open_model
    >>> open_model("lost.hyper")
    Traceback (most recent call last):
    ...
    FileNotFoundError: There is no model file lost.hyper: make one with hyperlabel fit DATA -o lost.hyper.
    """
    from hyperlabel.persistence import load

    columns = read_columns(path)
    file = ModelFile(load(path), columns, path)
    if not _fits_columns(file):
        raise ValueError(f"The notes on columns in {path} do not fit its model: fit the model again.")
    return file


def _fits_columns(file: ModelFile) -> bool:
    """Tell whether the model scores a row made by the notes on columns, for as many labels as they name."""
    columns = file.columns
    n_inputs = len(columns.text_columns) + columns.n_features
    if columns.feature_names and len(columns.feature_names) != columns.n_features:
        return False
    try:
        if columns.text_only:
            row: Any = ["a text"]
        elif file.model.n_features_in_ != n_inputs:  # before a row of any width is made
            return False
        else:
            row = np.zeros((1, n_inputs))
            if columns.text_columns:
                row = np.array([["a"] * len(columns.text_columns) + [0.0] * columns.n_features], dtype=object)
        return file.scores(row).shape == (1, len(columns.label_names))
    except (ValueError, TypeError, AttributeError, IndexError, KeyError):
        return False


def open_plain(path: str, columns: ModelColumns) -> Any:
    """Return the text model read without scikit-learn; None where the whole model is needed."""
    from hyperlabel.persistence.plain import read_plain

    plain = read_plain(path) if columns.text_only else None
    return plain if plain is not None and len(plain.base) == len(columns.label_names) else None


def read_columns(path: str) -> ModelColumns:
    """Read what `fit` noted in a model file, without building the model."""
    from hyperlabel.persistence import describe

    need_model(path)
    column_notes = (describe(path).get("metadata") or {}).get(KEY)
    if not isinstance(column_notes, dict):
        raise ValueError(
            f"{path} holds a model without notes on columns: the commands read files made by hyperlabel fit; "
            "use hyperlabel.load in Python."
        )
    check_notes(column_notes, ModelColumns, path)
    return ModelColumns(**column_notes)


def save_model(file: ModelFile) -> None:
    """Write a model with its columns; the old file stays until the new one is complete.

    Its answers are checked at load by made-up rows: the file holds no row of the user's.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hyperlabel import BinaryRelevance
    >>> from hyperlabel.tabular import ModelColumns, ModelFile, open_model, save_model
    >>> model = BinaryRelevance().fit([[0.0], [1.0], [0.0], [1.0]], [[1, 0], [0, 1], [1, 0], [0, 1]])
    >>> columns = ModelColumns("table", ["low", "high"], n_features=1, numbers=["size"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model_path = str(pathlib.Path(folder, "size.hyper"))
    ...     save_model(ModelFile(model, columns, model_path))
    ...     open_model(model_path).predict_labels([[0.0]])
    [['low']]
    """
    from hyperlabel.persistence import save

    save(file.model, file.path, metadata={KEY: asdict(file.columns)})


# -- reading rows for a model ---------------------------------------------------------------------------


def read_rows(source: str, columns: ModelColumns, *, labelled: bool, vectors: str | None = None) -> Any:
    """Read rows to predict (labels not needed) or to learn from and judge by (labelled).

    `source` is a file or ``-`` for stdin, `vectors` the npy file of its vectors.
    """
    return read_with_cells(source, columns, labelled=labelled, vectors=vectors)[0]


def read_with_cells(
    source: str,
    columns: ModelColumns,
    *,
    labelled: bool = False,
    ids: str | None = None,
    cells: bool = False,
    vectors: str | None = None,
) -> tuple[Any, Any]:
    """Read rows; `ids` names a column to carry along as `groups`.

    With `cells`, all columns of a table come along unchanged (`Cells`).
    """
    _check_vectors(source, columns, vectors)
    with open_data_as_path(source, columns) as path, name_source(path, source):
        data = _read_dataset(path, columns, labelled, ids)
        if vectors is not None:
            data = add_vectors(data, vectors, columns.vectors)
        table_cells = _read_cells(path, data) if cells else None
    if not len(data):
        raise ValueError(f"{source} has no rows.")
    n = columns.n_features
    if n and columns.feature_names and type(data.feature_names) is list:
        data = _reorder_features(data, columns.feature_names, source)
    if n and data.n_features != n:
        raise ValueError(f"{source} has {plural(data.n_features, 'feature')}, the model was fitted on {n}.")
    return data, table_cells


def _check_vectors(source: str, columns: ModelColumns, vectors: str | None) -> None:
    """Demand vectors where the model was fitted with them, and there only."""
    if columns.vectors and vectors is None:
        raise ValueError(
            f"The model was fitted with vectors of {columns.vectors} numbers beside the table: name those of "
            f"{source} with --vectors FILE."
        )
    if vectors is not None and not columns.vectors:
        raise ValueError("The model was fitted without vectors: leave --vectors out.")


def _read_cells(path: str, data: Any) -> Any:
    from hyperlabel.datasets import data_format
    from hyperlabel.datasets.table_sources import Cells, TableRows

    if path.endswith(".lines"):
        return Cells({"text": data.text}, [], Path(path))
    if data_format(path) != "table":
        raise ValueError(f"{Path(path).name} is no table: --keep keeps columns of {TABLE_TITLES}.")
    return TableRows(path).whole()


def _reorder_features(data: Any, model_features: list[str], source: str) -> Any:
    """Return a data set with the features of the model, in its order; other features are dropped."""
    if data.feature_names == model_features:
        return data
    column_of_name = {name: j for j, name in enumerate(data.feature_names)}
    missing_features = [name for name in model_features if name not in column_of_name]
    if missing_features:
        near_match = closest_name(missing_features[0], column_of_name)
        raise ValueError(
            f"{source} has no feature {missing_features[0]!r}, which the model was fitted on{near_match}."
        )
    return replace(
        data, X=data.X[:, [column_of_name[name] for name in model_features]], feature_names=model_features
    )


def _read_dataset(path: str, columns: ModelColumns, labelled: bool, ids: str | None) -> Any:
    from hyperlabel import datasets

    if path.endswith(".lines"):
        text_lines = Path(path).read_text(encoding="utf-8").splitlines()
        empty_matrix = np.zeros((len(text_lines), 0))
        return datasets.Dataset(empty_matrix, empty_matrix, text=text_lines, name="lines")
    file_format = datasets.data_format(path)
    if file_format == "table":
        return _read_table(path, columns, labelled, ids)
    if ids is not None:
        raise ValueError(f"Only a table ({TABLE_TITLES}) has a column of ids or groups to name.")
    options = columns.reading if file_format == "arff" == columns.format else {}
    if file_format == "libsvm":
        options = {"n_features": columns.n_features, **columns.reading}
    return datasets.read_data(path, **options)


def _read_table(path: str, columns: ModelColumns, labelled: bool, ids: str | None) -> Any:
    from hyperlabel.datasets import read_table

    if columns.format != "table":
        raise ValueError(f"{Path(path).name} is a table, but the model was fitted on {columns.format} data.")
    reads_label_column = labelled and columns.label_column is not None
    data = read_table(
        path,
        labels=None if reads_label_column else columns.labels if labelled else [],
        label_column=columns.label_column if reads_label_column else None,
        label_separator=columns.label_separator if reads_label_column else None,
        text=columns.text or None,
        features=columns.numbers,
        text_columns=[*(columns.text if len(columns.text) > 1 else []), *columns.categories],
        blank=columns.blank,
        decimal=columns.decimal,
        unreadable=columns.unreadable,
        group=ids,
    )
    return join_variants(data) if columns.normalise else data


def aligned_labels(
    data: Any, label_names: Sequence[str], *, normalise: bool = False
) -> tuple[Any, list[str]]:
    """Return Y of a data set in the model's label order, and the labels the model does not know.

    Missing labels are NaN.
    """
    label_key = spelling_key if normalise else str
    column_of_key = {label_key(name): j for j, name in enumerate(label_names)}
    targets = [column_of_key.get(label_key(name), -1) for name in data.label_names]
    model_labels = move_columns(data.Y, targets, len(label_names))
    label_counts = np.asarray(data.Y.sum(axis=0)).ravel()
    unknown_labels = [
        name for name, j, n in zip(data.label_names, targets, label_counts, strict=True) if j < 0 and n > 0
    ]
    if data.missing is not None:
        missing_entries = move_columns(data.missing, targets, len(label_names)).astype(float)
        missing_entries.data[:] = np.nan
        model_labels = model_labels.astype(float) + missing_entries
    return model_labels, unknown_labels


def with_columns(file: ModelFile, **changes: Any) -> ModelFile:
    """Return the file with other columns."""
    return replace(file, columns=replace(file.columns, **changes))


def need_updatable(file: Any) -> None:
    """Refuse a model file that cannot learn further rows, and say how to fit one that can."""
    from hyperlabel.meta.updating import can_be_updated, iter_nested_estimators

    model = file.path
    if can_be_updated(file.model):
        return
    if file.columns.method != "ridge":
        raise ValueError(
            f"{model} cannot be updated, which takes --method ridge, not {file.columns.method}: fit it again."
        )
    if hasattr([*iter_nested_estimators(file.model)][-1], "moments_"):
        raise ValueError(f"{model} decides by --thresholds top_k, which no update can keep: fit it again.")
    raise ValueError(f"{model} kept neither rows nor sums to update: fit it again without --slim.")
