"""A model file with the user's columns: what `fit` saves and every other command reads."""

import csv
import io
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from hyperlabel.cli._input import need_data, need_model, plain_warnings
from hyperlabel.cli._rows import VECTOR, add_vectors
from hyperlabel.cli._variants import join_variants, key_of
from hyperlabel.cli._words import plural

KEY = "hyperlabel fit"  # where the command's notes stand in a model file's metadata


@dataclass(frozen=True)
class Columns:
    """What the columns of the training file were, kept in the model file."""

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
    blank: Literal["no", "unknown"] | None = None  # what an empty cell of a 0/1 column means
    normalise: bool = False  # labels that differ only in case or blanks are one
    left_out: list[str] = field(default_factory=list)  # labels with too few rows
    reading: dict[str, Any] = field(default_factory=dict)  # further options of the reader (ARFF)
    method: str = ""
    rows: int = 0

    @property
    def text_only(self) -> bool:
        """Whether a row is nothing but a text."""
        return len(self.text) == 1 and not self.n_features and not self.categories

    @property
    def words(self) -> list[str]:
        """Columns of words in the order in which a row holds them: texts, then categories."""
        return [*self.text, *self.categories]

    @property
    def names(self) -> list[str] | None:
        """Names of what a row holds, where it has any."""
        if not self.words:
            return self.feature_names or None
        given = self.feature_names or [f"x{j}" for j in range(self.n_features)]
        return [*self.words, *given]

    def cells(self, data: Any) -> list[list[str]]:
        """Return the columns of words of a data set: texts, then categories."""
        one = {} if data.text is None else dict.fromkeys(self.text[:1], data.text)
        words = {**one, **(data.words or {})}
        missing = [name for name in self.words if name not in words]
        if missing:
            raise ValueError(f"{data.name} has no {missing[0]!r}, which the model was fitted on.")
        return [words[name] for name in self.words]

    def need_text_only(self) -> None:
        """Refuse one text where a row is more than that."""
        if not self.text_only:
            raise ValueError("--text needs a model fitted on text alone: give a file with all its columns.")

    def inputs(self, data: Any) -> Any:
        """Return the rows of a data set as the model takes them."""
        if not self.words:
            return data.X
        cells = self.cells(data)
        if self.text_only:
            return cells[0]
        rows = np.empty((len(data), len(self.words) + self.n_features), dtype=object)
        for j, column in enumerate(cells):
            rows[:, j] = column
        if self.n_features:
            rows[:, len(self.words) :] = data.X.toarray() if hasattr(data.X, "toarray") else data.X
        return rows


@dataclass(frozen=True)
class ModelFile:
    """A loaded model and its columns."""

    model: Any
    columns: Columns
    path: str

    def scores(self, rows: Any) -> np.ndarray:
        """Scores n×k, whatever the model calls them."""
        from hyperlabel._base import score_rows

        return score_rows(self.model, rows)

    def predict(self, rows: Any) -> np.ndarray:
        """Label sets as a dense n×k array of truth values."""
        found = self.model.predict(rows)
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found) > 0


def open_model(path: str) -> ModelFile:
    """Load a model written by ``hyperlabel fit``."""
    from hyperlabel.persistence import load

    columns = read_columns(path)
    return ModelFile(load(path), columns, path)


def read_columns(path: str) -> Columns:
    """Read what `fit` noted in a model file, without building the model."""
    from hyperlabel.persistence import describe

    need_model(path)
    notes = (describe(path).get("metadata") or {}).get(KEY)
    if not isinstance(notes, dict):
        raise ValueError(
            f"{path} holds a model without notes on columns: the commands read files made by hyperlabel fit; "
            "use hyperlabel.load in Python."
        )
    try:
        return Columns(**notes)
    except TypeError as error:
        raise ValueError(
            f"The notes on columns in {path} are of another version: fit the model again."
        ) from error


def save_model(file: ModelFile, sample: Any = None) -> None:
    """Write a model with its columns; the old file stays until the new one is complete."""
    from hyperlabel.persistence import save

    save(file.model, file.path, X=sample, metadata={KEY: asdict(file.columns)})


# -- reading rows for a model ---------------------------------------------------------------------------


def read_rows(source: str, columns: Columns, *, labelled: bool) -> Any:
    """Read rows to predict (labels not needed) or to learn from and judge by (labelled).

    `source` is a file or ``-`` for stdin.
    """
    return read_with_cells(source, columns, labelled=labelled)[0]


def read_with_cells(
    source: str, columns: Columns, *, labelled: bool = False, ids: str | None = None, cells: bool = False
) -> tuple[Any, dict[str, list[Any]]]:
    """Read rows; `ids` names a column to carry along as `groups`.

    With `cells`, all columns of a table come along as they stand in the file.
    """
    with _as_file(source, columns) as path, plain_warnings(), named(path, source):
        data = _read(path, columns, labelled, ids)
        kept = _cells(path, data) if cells else {}
    if not len(data):
        raise ValueError(f"{source} has no rows.")
    n = columns.n_features
    if n and columns.feature_names and type(data.feature_names) is list:
        data = _with_features(data, columns.feature_names, source)
    if n and data.n_features != n:
        raise ValueError(f"{source} has {plural(data.n_features, 'feature')}, the model was fitted on {n}.")
    return data, kept


@contextmanager
def named(path: str, source: str) -> Iterator[None]:
    """Let messages speak of stdin, not of the file that stands for it."""
    try:
        yield
    except (ValueError, OSError) as error:
        if source != "-":
            raise
        said = str(error).replace(path, "stdin").replace(Path(path).name, "stdin")
        raise ValueError(said) from error


def _cells(path: str, data: Any) -> dict[str, list[Any]]:
    from hyperlabel.cli._rows import whole_table
    from hyperlabel.datasets import data_format

    if path.endswith(".lines"):
        return {"text": data.text}
    if (path == "debtags" and not Path(path).exists()) or data_format(path) != "table":
        raise ValueError(f"{Path(path).name} is no table: --keep keeps columns of CSV, JSON lines, Parquet.")
    columns: dict[str, list[Any]] = whole_table(path).columns
    return columns


def _with_features(data: Any, wanted: list[str], source: str) -> Any:
    """Return the features the model knows, in its order; a file that names its own may have others."""
    if data.feature_names == wanted:
        return data
    place = {name: j for j, name in enumerate(data.feature_names)}
    missing = [name for name in wanted if name not in place]
    if missing:
        raise ValueError(f"{source} has no feature {missing[0]!r}, which the model was fitted on.")
    return replace(data, X=data.X[:, [place[name] for name in wanted]], feature_names=wanted)


def _read(path: str, columns: Columns, labelled: bool, ids: str | None) -> Any:
    from hyperlabel import datasets

    if path.endswith(".lines"):
        texts = Path(path).read_text(encoding="utf-8").splitlines()
        return datasets.Dataset(
            np.zeros((len(texts), 0)), np.zeros((len(texts), 0)), text=texts, name="lines"
        )
    if path == "debtags" and not Path(path).exists():
        return datasets.load_debtags()
    kind = datasets.data_format(path)
    if ids is not None and kind != "table":
        raise ValueError("--id names a column of a table (CSV, JSON lines, Parquet).")
    if kind != "table":
        options: dict[str, Any] = dict(columns.reading) if kind == "arff" == columns.format else {}
        if kind == "svmlight":
            options = {"n_features": columns.n_features, **columns.reading}
        return datasets.read_data(path, **options)
    if columns.format != "table":
        raise ValueError(f"{Path(path).name} is a table, but the model was fitted on {columns.format} data.")
    return _read_table(path, columns, labelled, ids)


def _read_table(path: str, columns: Columns, labelled: bool, ids: str | None) -> Any:
    from hyperlabel import datasets

    labels: dict[str, Any] = {"labels": []}
    if labelled and columns.label_column is not None:
        labels = {"label_column": columns.label_column, "label_separator": columns.label_separator}
    elif labelled:
        labels = {"labels": columns.labels}
    words = [*(columns.text if len(columns.text) > 1 else []), *columns.categories]
    data = datasets.read_table(
        path,
        text=columns.text or None,
        features=columns.numbers,
        words=words,
        blank=columns.blank,
        group=ids,
        **labels,
    )
    if any(name.startswith(f"{VECTOR}[") for name in columns.feature_names):
        data = add_vectors(data, path)
    return join_variants(data) if columns.normalise else data


@contextmanager
def _as_file(source: str, columns: Columns) -> Iterator[str]:
    """Give stdin the form of a file, told from its first line; a .txt file of texts is lines, too."""
    if source != "-":
        if source == "debtags" and not Path(source).exists():
            yield source
            return
        need_data(source)
        if not (columns.text_only and Path(source).suffix.lower() == ".txt"):
            yield source
            return
        content = Path(source).read_bytes()
        ending = ".lines"
    else:
        content = sys.stdin.buffer.read()
        ending = _kind_of(content, columns)
    if not content.strip():
        raise ValueError("There is nothing on stdin." if source == "-" else f"{source} is empty.")
    with as_temporary(content, ending) as path:
        yield path


@contextmanager
def as_temporary(content: bytes, ending: str) -> Iterator[str]:
    """Put bytes in a file that lasts as long as it is read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"stdin{ending}")
        path.write_bytes(content)
        yield str(path)


@contextmanager
def training_file(source: str) -> Iterator[str]:
    """Give a table on stdin (CSV, or JSON lines where it starts with a brace) the form of a file."""
    if source != "-":
        yield source
        return
    content = sys.stdin.buffer.read()
    if not content.strip():
        raise ValueError("There is nothing on stdin.")
    with as_temporary(content, ".jsonl" if content.lstrip()[:1] == b"{" else ".csv") as path:
        yield path


def _kind_of(content: bytes, columns: Columns) -> str:
    start = content[: 1 << 16].decode("utf-8", errors="ignore").lstrip("\ufeff \r\n")
    if columns.format != "table":
        return {"arff": ".arff", "svmlight": ".svm", "xmc": ".xmc"}.get(columns.format, ".csv")
    if start.startswith("{"):
        return ".jsonl"
    first = start.split("\n")[0].replace("\r", "")
    header = {
        name.strip() for mark in ",;\t|" for name in next(csv.reader(io.StringIO(first), delimiter=mark), [])
    }
    if columns.text_only and not set(columns.text) <= header:
        return ".lines"
    return ".csv"


def aligned_labels(
    data: Any, label_names: Sequence[str], *, normalise: bool = False
) -> tuple[Any, list[str]]:
    """Return Y of a data set in the model's label order, and the labels the model does not know.

    Entries nobody knows are NaN.
    """
    from scipy import sparse

    key = key_of if normalise else str
    place = {key(name): j for j, name in enumerate(label_names)}
    Y = data.Y.tocoo()
    names = list(data.label_names)
    target = np.array([place.get(key(name), -1) for name in names], dtype=np.int64)
    columns = target[Y.col] if len(names) else Y.col
    known = columns >= 0
    found = sparse.csr_array(
        (np.ones(int(known.sum()), dtype=np.int64), (Y.row[known], columns[known])),
        shape=(len(data), len(label_names)),
    )
    counts = np.asarray(data.Y.sum(axis=0)).ravel()
    unknown = [name for name, j, n in zip(names, target, counts, strict=True) if j < 0 and n > 0]
    if data.unknown is not None:
        found = _with_nan(found, data.unknown.tocoo(), target)
    return found, unknown


def _with_nan(Y: Any, unknown: Any, target: np.ndarray) -> Any:
    from scipy import sparse

    columns = target[unknown.col]
    known = columns >= 0
    holes = (np.full(int(known.sum()), np.nan), (unknown.row[known], columns[known]))
    return Y.astype(float) + sparse.csr_array(holes, shape=Y.shape)


def with_columns(file: ModelFile, **changes: Any) -> ModelFile:
    """Return the file with other columns."""
    return replace(file, columns=replace(file.columns, **changes))
