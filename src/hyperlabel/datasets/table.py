"""Tables with label columns, or one column that lists the labels of a row, and raw text columns."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from hyperlabel._labels import indicator_from_sets
from hyperlabel.datasets._dataset import Dataset, concat
from hyperlabel.datasets._lines import DataError, warn_user
from hyperlabel.datasets.arrow_numbers import iter_number_batches, number_columns, numbers_and_labels
from hyperlabel.datasets.formats import format_of
from hyperlabel.datasets.label_cells import NO_LABEL, find_separator, split_label_cells, warn_of_empty
from hyperlabel.datasets.objects import cell_text, names_inside
from hyperlabel.datasets.table_columns import (
    TableColumns,
    need_no_objects,
    parse_groups,
    parse_vectors,
    warn_of_dropped,
    warn_of_objects,
)
from hyperlabel.datasets.table_sources import Cells, TableRows, read_cells


def read_table(
    path: str | os.PathLike[str],
    *,
    labels: Sequence[str] | str | None = None,
    label_column: str | None = None,
    label_separator: str | None = None,
    label_names: Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    text: Sequence[str] | str | None = None,
    text_columns: Sequence[str] = (),
    blank: Literal["no", "missing"] | None = None,
    group: str | None = None,
    time: str | None = None,
    delimiter: str | None = None,
    decimal: Literal[",", "."] | None = None,
    unreadable: Literal["refuse", "missing"] = "refuse",
    name: str | None = None,
) -> Dataset:
    r"""Read a table: CSV, JSON, JSON lines, Parquet, Excel or SQLite.

    Parameters
    ----------
    path : path
        ``.csv``/``.tsv`` (header in the first line; quoted text may span lines), ``.jsonl``/``.ndjson``
        (one object per line), ``.json`` (an array of objects), each plain or gzip; ``.parquet`` (needs
        pyarrow); ``.xlsx`` (needs openpyxl; ``FILE::SHEET`` names a sheet); ``.sqlite`` (``FILE::TABLE``
        names a table). Wherever a column is named, a dotted name (``annotations.label``) reaches inside
        objects and lists of objects; objects that no name reaches into are left out with a warning,
        never read as text.
    labels : list of str, optional
        Columns that are labels: 0/1, true/false, yes/no, or ``x`` where they hold.
    label_column : str, optional
        Instead, the one column that lists the labels of each row. A cell that is empty or says ``na``,
        ``n/a``, ``#n/a``, ``<na>``, ``nan``, ``null``, ``none``, ``?`` or ``-`` (in any case) lists none.
    label_separator : str, optional
        What separates them; ``""`` takes each cell as one label. By default the one of ``;``, ``|``, ``、``,
        ``/`` and ``,`` that explains the column: names with commas ("Drinks, hot") stay whole. Blanks
        around names, empty names and brackets and quotes around lists do not count.
    label_names : list of str, optional
        With ``label_column``: the labels and their order; by default all that occur, sorted.
    features : list of str, optional
        Columns of numbers, or of lists of numbers (embeddings), to use as X. By default every other column
        whose first value is one;
        columns left out are named in a warning. Empty cells, and those that say no label in a
        ``label_column``, read as NaN. JSON lines and tables with
        columns that start empty are read once before to decide.
    text : str or list of str, optional
        Columns of raw text, kept in ``Dataset.text`` (several are joined by a line end).
    text_columns : list of str
        Columns to keep as they are in ``Dataset.text_columns``: categories, or texts to keep separate.
    blank : {"no", "missing"}, optional
        What an empty cell of a label column means. By default "no" in columns that hold nothing but ``x``
        marks; elsewhere it is refused. Cells that say ``unknown``, ``na``, ``?`` and the like are missing
        labels, kept in ``Dataset.missing``.
    group, time : str, optional
        Columns for ``Dataset.groups`` (as text; ``1.0`` is the group ``1``, empty cells are one group) and
        ``Dataset.time`` (numbers where all are, dates where all are, otherwise text; an empty one is NaN, NaT
        or empty).
    delimiter : str, optional
        Separator of a CSV file; by default the most frequent of ``, ; tab |`` in its header.
    decimal : {",", "."}, optional
        What separates the decimals of numbers. By default a point; where ``;`` separates the columns of a
        CSV file, a comma as well. The numbers of one column must agree. Thousands may be grouped (``12,345``,
        ``1.234,5``, ``1 234``).
    unreadable : {"refuse", "missing"}, default="refuse"
        What becomes of a cell that is no number in a column of numbers, or neither 0 nor 1 in one of labels.
        All of them are listed when they are refused.
    name : str, optional
        Name of the data set; the file's stem when not given.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hyperlabel.datasets import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "a.csv")
    ...     _ = file.write_text('body,size,tags\n"two\nlines",3,"a; b"\nshort,4,\n')
    ...     data = read_table(file, label_column="tags", text="body")
    >>> data.label_sets(), data.text, data.X.tolist()
    ([['a', 'b'], []], ['two\nlines', 'short'], [[3.0], [4.0]])
    """
    table_plan = TablePlan(
        *(
            path,
            labels,
            label_column,
            label_separator,
            features,
            text,
            group,
            time,
            name,
            text_columns,
            blank,
        ),
        decimal=decimal,
        unreadable=unreadable,
    )
    return table_plan.read(TableRows(path, delimiter), label_names)


def iter_table(
    path: str | os.PathLike[str],
    *,
    label_column: str | None = None,
    label_names: Sequence[str] | None = None,
    delimiter: str | None = None,
    chunk_rows: int = 10_000,
    **options: Any,
) -> Iterator[Dataset]:
    """Read a table as a stream; labels of a list column that are not given come from a first pass."""
    table_plan = TablePlan(path, label_column=label_column, **options)
    if chunk_rows < 1:
        raise ValueError(f"chunk_rows must be at least 1, not {chunk_rows}.")
    if label_column is not None and (label_names is None or table_plan.label_separator is None):
        table_plan.label_separator, scanned_names = scan_labels(
            path, label_column, table_plan.label_separator, delimiter, chunk_rows
        )
        label_names = scanned_names if label_names is None else label_names
    if format_of(path).name == "parquet" and table_plan.takes_numbers_only():
        features = number_columns(Path(path), table_plan.label_list, table_plan.features)
        if features is not None:
            yield from table_plan.iter_numbers(features, chunk_rows)
            return
    table_plan.settle(read_cells(path, chunk_rows, delimiter))
    for chunk in read_cells(path, chunk_rows, delimiter):
        data = table_plan.dataset(chunk)
        table_plan.check_cells()
        if label_column is not None:
            data = table_plan.with_sets(data, chunk.column(label_column), label_names)
        yield data


def scan_labels(
    path: str | os.PathLike[str],
    label_column: str,
    label_separator: str | None = None,
    delimiter: str | None = None,
    chunk_rows: int = 20_000,
) -> tuple[str | None, list[str]]:
    """Read a list column alone: return what separates its labels, and all labels, sorted."""
    cell_counts: Counter[str] = Counter()
    list_labels: set[str] = set()
    column_names: dict[str, None] = {}
    for chunk in read_cells(path, chunk_rows, delimiter):
        column_names |= dict.fromkeys(chunk.reaching([label_column]).columns)
        column_values = chunk.column(label_column)
        if (inner_names := names_inside(label_column, column_values)) is not None:
            need_no_objects([label_column], {label_column: inner_names}, path)
        for cell in column_values:
            if isinstance(cell, list | tuple):
                list_labels.update(split_label_cells([cell], None)[0])
            elif cell is not None:
                cell_counts[str(cell)] += 1
    require_columns([label_column], column_names, path)
    warn_of_empty(cell_counts.elements(), label_column, Path(path).name)
    separator = find_separator(cell_counts) if label_separator is None else label_separator
    return separator, sorted(list_labels.union(*split_label_cells(list(cell_counts), separator)))


@dataclass
class TablePlan:
    """The role of each column: label, feature, text, group or time."""

    path: str | os.PathLike[str]
    labels: Sequence[str] | str | None = None
    label_column: str | None = None
    label_separator: str | None = None
    features: Sequence[str] | None = None
    text: Sequence[str] | str | None = None
    group: str | None = None
    time: str | None = None
    name: str | None = None
    text_columns: Sequence[str] = ()
    blank: Literal["no", "missing"] | None = None
    numbers: list[str] | None = None
    decimal: Literal[",", "."] | None = None
    unreadable: Literal["refuse", "missing"] = "refuse"

    def __post_init__(self) -> None:
        if (self.labels is None) == (self.label_column is None):
            raise DataError(
                "say which columns are labels: labels=[…] for 0/1 columns, or label_column= for a column "
                "that lists them.",
                self.path,
            )
        self.label_list = [self.labels] if isinstance(self.labels, str) else list(self.labels or ())
        self.text_list = [self.text] if isinstance(self.text, str) else list(self.text or ())
        if len(set(self.label_list)) < len(self.label_list):
            raise DataError("a label column is listed more than once.", self.path)
        if self.blank not in (None, "no", "missing"):
            raise ValueError(f"blank must be 'no' or 'missing', not {self.blank!r}.")
        if self.decimal not in (None, ",", "."):
            raise ValueError(f"decimal must be ',' or '.', not {self.decimal!r}.")
        if self.unreadable not in ("refuse", "missing"):
            raise ValueError(f"unreadable must be 'refuse' or 'missing', not {self.unreadable!r}.")
        self.columns = TableColumns(self.time, self.label_list, self.decimal)
        self.title = Path(self.path).name.split(".")[0] if self.name is None else self.name

    def read(self, rows: TableRows, label_names: Sequence[str] | None = None) -> Dataset:
        """Return the rows as one data set; set `label_separator` where it was not given."""
        chunk_datasets: list[Dataset] = []
        label_cells: list[Any] = []
        self.settle(rows)
        for chunk in rows:
            chunk_datasets.append(self.dataset(chunk))
            if self.label_column is not None:
                label_cells += chunk.column(self.label_column)
        self.check_cells()
        data = concat(chunk_datasets)
        if self.label_column is None:
            return data
        warn_of_empty(label_cells, self.label_column, Path(self.path).name, label_names)
        if self.label_separator is None:
            self.label_separator = find_separator(label_cells)
        return self.with_sets(data, label_cells, label_names)

    def check_cells(self) -> None:
        """Refuse the unreadable cells of the rows read so far, or say how many are read as missing."""
        bad_cells = self.columns.bad_cells
        if self.unreadable == "refuse":
            bad_cells.check()
        elif bad_cells.columns:
            warn_user(f"{Path(self.path).name}: unreadable cells are read as missing: {bad_cells.summary()}.")

    def takes_numbers_only(self) -> bool:
        """Whether nothing but columns of numbers and of 0 and 1 is asked for."""
        other_roles = (self.label_column, self.text, self.group, self.time, self.blank, self.decimal)
        return not any(other_roles) and not self.text_columns

    def iter_numbers(self, features: list[str], chunk_rows: int) -> Iterator[Dataset]:
        """Read columns of numbers from Parquet; chunks with other labels are read cell by cell."""
        self.numbers, n_read, has_yielded = features, 0, False
        for batch in iter_number_batches(Path(self.path), [*features, *self.label_list], chunk_rows):
            values = numbers_and_labels(batch, features, self.label_list)
            if values is not None:
                yield Dataset(*values, features, self.label_list, name=self.title)
            else:
                places = list(range(n_read + 1, n_read + batch.num_rows + 1))
                cells = Cells(batch.to_pydict(), places, Path(self.path), "row")
                self.columns.see(cells)
                data = self.dataset(cells)
                self.check_cells()
                yield data
            n_read, has_yielded = n_read + batch.num_rows, True
        if not has_yielded:
            yield self.dataset(
                Cells({name: [] for name in [*features, *self.label_list]}, [], Path(self.path), "row")
            )

    def settle(self, chunks: Iterable[Cells]) -> None:
        """Choose the columns of numbers and the form of the times, from as many rows as that takes."""
        special_columns = [*self.label_list, *self.text_list, *self.text_columns]
        special_columns += [
            column for column in (self.label_column, self.group, self.time) if column is not None
        ]
        needed_columns = [*special_columns, *(self.features or ())]
        for chunk in chunks:
            self.columns.see(chunk.reaching(needed_columns))
            if self._is_settled(needed_columns):
                break
        is_number = self.columns.is_number
        need_no_objects(needed_columns, self.columns.inside, self.path)
        require_columns(
            [name for name in needed_columns if name not in is_number], self.columns.names, self.path
        )
        self.numbers = list(self.features or ())
        if self.features is None:
            warn_of_objects(Path(self.path).name, self.columns.unreached(needed_columns))
            self._choose_numbers({*special_columns, *self.columns.inside})

    def _choose_numbers(self, special_columns: set[str]) -> None:
        """Take every other column of numbers or of vectors, and name those left out."""
        is_number, is_vector = self.columns.is_number, self.columns.vectors
        free_columns = [column for column in is_number if column not in special_columns]
        self.numbers = [
            column for column in free_columns if is_number[column] is not False or column in is_vector
        ]
        warn_of_dropped(Path(self.path).name, [name for name in free_columns if name not in self.numbers])

    def _is_settled(self, needed_columns: Sequence[str]) -> bool:
        """Return whether no later row can change the choice."""
        is_number = self.columns.is_number
        if self.blank is None and any(map(self.columns.may_have_marks_only, self.label_list)):
            return False
        if self.time is not None and len(self.columns.time_forms) > 1:
            return False
        if self.features is not None:
            return is_number.keys() >= set(needed_columns)
        return not format_of(self.path).names_later and None not in is_number.values()

    def dataset(self, chunk: Cells) -> Dataset:
        """Turn a chunk into a data set (labels of a list column come later)."""
        assert self.numbers is not None
        n_rows = len(chunk.places)
        feature_blocks = [
            np.zeros((n_rows, 0)),
            *(self._read_features(chunk, column) for column in self.numbers),
        ]
        Y = np.zeros((n_rows, len(self.label_list)))
        for j, column in enumerate(self.label_list):
            Y[:, j] = self.columns.marks_as_numbers(chunk, column, self._blank_entry(column))
        is_missing = np.isnan(Y)
        text_values = [_read_text_cells(chunk, column) for column in self.text_list]
        return Dataset(
            np.hstack(feature_blocks),
            np.where(is_missing, 0.0, Y),
            self.feature_names,
            self.label_list,
            name=self.title,
            groups=None if self.group is None else parse_groups(chunk, self.group),
            time=None if self.time is None else self.columns.times(chunk),
            text=["\n".join(row) for row in zip(*text_values, strict=True)] if text_values else None,
            text_columns={column: _read_text_cells(chunk, column) for column in self.text_columns} or None,
            missing=sparse.csr_array(is_missing.astype(np.int8))
            if self.blank == "missing" or is_missing.any()
            else None,
        )

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of X: a list of numbers has one for each position."""
        feature_names: list[str] = []
        for column in self.numbers or ():
            vector_length = self.columns.vectors.get(column)
            feature_names += (
                [column] if vector_length is None else [f"{column}[{j}]" for j in range(vector_length)]
            )
        return feature_names

    def _read_features(self, chunk: Cells, column: str) -> np.ndarray:
        vector_length = self.columns.vectors.get(column)
        if vector_length is not None:
            return parse_vectors(chunk, column, vector_length)
        return self.columns.numbers(chunk, column)[:, None]

    def _blank_entry(self, column: str) -> float | None:
        """Return the entry of Y for an empty cell of a label column; None: it is refused."""
        if self.blank is None:
            return 0.0 if self.columns.has_marks_only(column) else None
        return 0.0 if self.blank == "no" else float("nan")

    def with_sets(
        self, data: Dataset, label_cells: Sequence[Any], label_names: Sequence[str] | None
    ) -> Dataset:
        """Give a data set the labels that the cells of its list column name."""
        try:
            Y, indicator_names = indicator_from_sets(
                split_label_cells(label_cells, self.label_separator, label_names), label_names
            )
        except ValueError as error:
            raise DataError(f"{error}", self.path) from None
        return replace(data, Y=Y, label_names=indicator_names, missing=None)


def _read_text_cells(chunk: Cells, column: str) -> list[str]:
    text_values = []
    for i, cell in enumerate(chunk.column(column)):
        try:
            text = cell_text(cell)
            text_values.append("" if text.strip().lower() in NO_LABEL else text)
        except TypeError:
            raise chunk.fail(
                f"the value of {column!r} is an object, not text: a dotted name reaches inside.", i, column
            ) from None
    return text_values


def require_columns(columns: Iterable[str], names: Iterable[str], path: str | os.PathLike[str]) -> None:
    """Refuse columns the table does not have."""
    column_names = dict.fromkeys(names)
    for column in columns:
        if column not in column_names:
            name_list = ", ".join(list(column_names)[:12]) + (", …" if len(column_names) > 12 else "")
            raise DataError(f"there is no column {column!r}; there are {name_list}.", path)
