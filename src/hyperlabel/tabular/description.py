"""What the columns of any table hold, and what `fit` would do with it: nothing here refuses a messy file."""

import warnings
from dataclasses import dataclass
from typing import Any

from hyperlabel.datasets.label_cells import NO_LABEL
from hyperlabel.datasets.objects import head_of
from hyperlabel.datasets.table_columns import count_numbers, plain_number, reads_commas, zero_one
from hyperlabel.datasets.table_sources import Cells, TableRows
from hyperlabel.tabular.column_ranges import expand_ranges
from hyperlabel.tabular.column_types import describe_label_column, guess_columns
from hyperlabel.tabular.wording import plural, some_names

_EXAMPLE = 400  # characters of the example of a column


@dataclass(frozen=True)
class TableDescription:
    """A table as `fit` would read it: the data set, or the sentence with which it would stop."""

    dataset: Any  # None where fit would stop
    model_columns: Any
    refusal: str
    columns: list[dict[str, Any]]
    settled: dict[str, Any]
    n_rows: int


def describe_table(path: str, options: dict[str, Any]) -> TableDescription:
    """Read a table as `fit` does and describe its columns, also where it would stop."""
    from hyperlabel.tabular.training_table import read_training, reader_options

    reader_options(path, options)  # refuses options of other formats
    dataset, model_columns, refusal = None, None, ""
    try:
        dataset, model_columns = read_training(path, **options, advise=True)
    except ValueError as error:
        refusal = str(error)
    rows = TableRows(path)
    settled = _settle_leniently(rows, options)
    table = rows.whole()
    if refusal and _names_absent_columns(table, options):
        raise ValueError(refusal)
    columns = [_describe_column(name, table, settled) for name in table.columns]
    return TableDescription(dataset, model_columns, refusal, columns, settled, len(table.places))


def _names_absent_columns(table: Cells, options: dict[str, Any]) -> bool:
    """Say whether an option names a column that the table does not have: no fault of the table."""
    options = expand_ranges(options, list(table.columns))
    named_columns = [name for key in ("labels", "text", "features") for name in options.get(key) or ()]
    named_columns += [options[key] for key in ("label_column", "group", "time") if options.get(key)]
    return any(name not in table.columns and head_of(name, table.columns) is None for name in named_columns)


def _settle_leniently(rows: TableRows, options: dict[str, Any]) -> dict[str, Any]:
    """Type the columns; options that the table contradicts are left aside: their refusal is told."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # said by the reading before
        try:
            return guess_columns(rows, options)
        except ValueError:
            return guess_columns(rows, {"labels": [], "decimal": options.get("decimal")})


def column_use(name: str, options: dict[str, Any]) -> str:
    """Say what `fit` takes a column for, by the options of a reader that the file settled."""
    is_object = (options.get("kinds") or {}).get(name) == "objects"

    def is_meant(named: str) -> bool:
        return named.startswith(f"{name}.") if is_object else named == name

    for key, use in (("label_column", "labels"), ("group", "group"), ("time", "time")):
        if is_meant(options.get(key) or ""):
            return use
    for key, use in (
        ("labels", "label"),
        ("text", "text"),
        ("text_columns", "categories"),
        ("features", "numbers"),
    ):
        if any(map(is_meant, options.get(key) or ())):
            return use
    return "left out"


def _describe_column(name: str, table: Cells, settled: dict[str, Any]) -> dict[str, Any]:
    """Say what a column holds: its kind and use, missing and unreadable cells, distinct values and words."""
    cells = table.columns[name]
    cell_texts = [
        "; ".join(map(str, c)) if isinstance(c, list) else str(c).strip() for c in cells if c is not None
    ]
    filled_texts = [text for text in cell_texts if text.lower() not in NO_LABEL]
    words_per_cell = sum(len(text.split()) for text in filled_texts) / max(len(filled_texts), 1)
    kind = settled["kinds"][name]
    unreadable = _unreadable_cells(cells, kind, table, settled.get("decimal"))
    return {
        "column": name,
        "kind": kind,
        "use": column_use(name, settled),
        "missing": len(cells) - len(filled_texts),
        "unreadable": len(unreadable),
        "distinct": len(set(filled_texts)),
        "words_per_cell": words_per_cell,
        "example": filled_texts[0][:_EXAMPLE] if filled_texts else "",
        "unreadable_example": unreadable[0][:_EXAMPLE] if unreadable else "",
    }


def _unreadable_cells(cells: list[Any], kind: str, table: Cells, decimal: str | None) -> list[str]:
    """Return the cells that the kind of their column cannot be read as."""
    if kind not in ("numbers", "0/1"):
        return []
    if kind == "0/1":
        return [str(cell) for cell in cells if not _is_zero_one(cell)]
    has_commas = reads_commas(table, decimal)
    plain_cells = [plain_number(cell, has_commas, decimal) for cell in cells]
    return [
        str(cell)
        for cell, plain_cell in zip(cells, plain_cells, strict=True)
        if count_numbers([plain_cell]) == (0, 1)
    ]


def _is_zero_one(cell: Any) -> bool:
    if cell is None or str(cell).strip().lower() in NO_LABEL:
        return True
    try:
        zero_one(cell)
    except ValueError:
        return False
    return True


def _describe_numbers(columns: Any) -> str:
    number_names = columns.numbers or columns.feature_names
    n_vector_columns = columns.n_features - len(columns.numbers) if columns.numbers else 0
    count_clause = plural(columns.n_features, "column") + " of numbers"
    vectors_clause = " and vectors" if n_vector_columns else ""
    name_list = some_names([repr(name) for name in number_names]) + vectors_clause
    return count_clause + (f": {name_list}" if number_names else "")


def describe_input(dataset: Any, columns: Any) -> str:
    """Say what is learned from: rows, labels, and which columns are what."""
    clauses = [f"{plural(dataset.n_rows, 'row')}, {plural(dataset.n_labels, 'label')}"]
    if columns.label_column:
        clauses.append(describe_label_column(columns.label_column, columns.label_separator))
    if columns.text:
        clauses.append("text: " + ", ".join(map(repr, columns.text)))
    if columns.categories:
        clauses.append(f"categories: {some_names([repr(name) for name in columns.categories])}")
    if columns.n_features:
        clauses.append(_describe_numbers(columns))
    if columns.left_out:
        clauses.append(f"{plural(len(columns.left_out), 'label')} with too few rows left out")
    if dataset.missing is not None and dataset.missing.nnz:
        clauses.append(
            f"{dataset.missing.nnz} of {dataset.Y.shape[0] * dataset.n_labels} label entries unknown"
        )
    if n_unlabelled := int((dataset.Y.sum(axis=1) == 0).sum()):
        clauses.append(f"{plural(n_unlabelled, 'row')} without labels")
    if columns.text and (n_empty_texts := sum(not text.strip() for text in dataset.text or ())):
        clauses.append(plural(n_empty_texts, "empty text"))
    return "; ".join(clauses)
