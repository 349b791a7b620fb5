"""The first rows of a table as the reader will take them: objects opened, decimal commas read."""

from typing import Any

from hyperlabel.datasets.objects import head_of, names_inside
from hyperlabel.datasets.table_columns import (
    has_decimal_comma,
    has_thousands,
    need_no_objects,
    plain_number,
    reads_commas,
)
from hyperlabel.datasets.table_sources import Cells

# keys that `readable_columns` adds to the options of the reader
FACTS = ("objects", "decimal_commas")


def readable_columns(
    table_cells: Cells, options: dict[str, Any]
) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Return the columns to choose from, and what cannot be chosen as it is.

    Dotted names of the options become columns; columns of objects are none (``objects``: those in which no
    option starts, and the dotted names inside). Numbers that only --decimal would read are named
    in ``decimal_commas``.
    """
    option_columns = _list_named_columns(options)
    table_cells = table_cells.reaching(option_columns)
    names_in_object = _find_object_names(table_cells)
    need_no_objects(option_columns, names_in_object, table_cells.path)
    if _lacks_labels(table_cells, options):  # the message that will refuse this shows all names there are
        table_cells = table_cells.reaching([name for names in names_in_object.values() for name in names])
    columns = {name: column for name, column in table_cells.columns.items() if name not in names_in_object}
    columns, comma_columns = _read_numbers(columns, table_cells, options.get("decimal"), option_columns)
    opened_objects = {head_of(name, names_in_object) for name in option_columns}
    unopened_objects = {name: names for name, names in names_in_object.items() if name not in opened_objects}
    return columns, {"objects": unopened_objects, "decimal_commas": comma_columns}


def _read_numbers(
    columns: dict[str, list[Any]], table_cells: Cells, decimal: str | None, option_columns: list[str]
) -> tuple[dict[str, list[Any]], list[str]]:
    """Return the columns with plain numbers, and those whose decimal commas nobody asked to read."""
    has_commas = reads_commas(table_cells, decimal)
    comma_columns = []
    if not has_commas and decimal is None:
        free_columns = {name: column for name, column in columns.items() if name not in option_columns}
        comma_columns = [name for name, column in free_columns.items() if _all_decimal_commas(column)]
    plain_columns = {
        name: column
        if name in comma_columns
        else [plain_number(cell, has_commas, decimal) for cell in column]
        for name, column in columns.items()
    }
    return plain_columns, comma_columns


def _lacks_labels(table_cells: Cells, options: dict[str, Any]) -> bool:
    labels, column = options.get("labels"), options.get("label_column")
    return (labels is None and column is None) or not set(labels or ()) <= set(table_cells.columns)


def _list_named_columns(options: dict[str, Any]) -> list[str]:
    column_lists = [options.get(key) or () for key in ("labels", "text", "features")]
    single_columns = [options.get(key) for key in ("label_column", "group", "time")]
    return [name for names in column_lists for name in names] + [
        name for name in single_columns if name is not None
    ]


def _find_object_names(table_cells: Cells) -> dict[str, list[str]]:
    names_of_column = {name: names_inside(name, column) for name, column in table_cells.columns.items()}
    return {name: names for name, names in names_of_column.items() if names is not None}


def _all_decimal_commas(column: list[Any]) -> bool:
    filled_cells = [cell for cell in column if cell is not None and str(cell).strip()]
    return (
        bool(filled_cells)
        and all(map(has_decimal_comma, filled_cells))
        and not all(map(has_thousands, filled_cells))
    )
