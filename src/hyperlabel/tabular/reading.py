"""The first rows of a table as the reader will take them: objects opened, decimal commas read."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from hyperlabel.datasets.objects import head_of, names_inside
from hyperlabel.datasets.table_columns import (
    has_decimal_comma,
    need_no_objects,
    reads_commas,
    with_point,
)
from hyperlabel.datasets.table_sources import Cells
from hyperlabel.tabular.wording import plural

# what `readable_columns` finds out beside the options of the reader
FACTS = ("objects", "decimal_commas")


def readable_columns(cells: Cells, options: dict[str, Any]) -> tuple[dict[str, list[Any]], dict[str, Any]]:
    """Return the columns to choose from, and what cannot be chosen as it is.

    Dotted names of the options become columns; columns of objects are none (``objects``: those in which no
    option starts, and the dotted names inside). Numbers that only --decimal would read are named
    in ``decimal_commas``.
    """
    asked = _asked(options)
    cells = cells.reaching(asked)
    inside = _inside(cells)
    need_no_objects(asked, inside, cells.path)
    if _lacks_labels(cells, options):  # the message that will refuse this shows all names there are
        cells = cells.reaching([name for names in inside.values() for name in names])
    columns = {name: column for name, column in cells.columns.items() if name not in inside}
    commas: list[str] = []
    if reads_commas(cells, options.get("decimal")):
        columns = {name: list(map(with_point, column)) for name, column in columns.items()}
    elif options.get("decimal") is None:
        commas = [n for n, column in columns.items() if n not in asked and _all_decimal_commas(column)]
    reached = {head_of(name, inside) for name in asked}
    objects = {name: names for name, names in inside.items() if name not in reached}
    return columns, {"objects": objects, "decimal_commas": commas}


def _lacks_labels(cells: Cells, options: dict[str, Any]) -> bool:
    labels, column = options.get("labels"), options.get("label_column")
    return (labels is None and column is None) or not set(labels or ()) <= set(cells.columns)


def need_numbers(path: str, unread: Sequence[str], used: Iterable[str]) -> None:
    """Refuse to learn from what is left where most columns hold numbers that could not be read."""
    left = list(used)
    if len(unread) <= len(left):
        return
    named = ", ".join(map(repr, unread[:5])) + (", …" if len(unread) > 5 else "")
    others = f", which leaves {', '.join(map(repr, left))}" if left else ""
    hold = "holds" if len(unread) == 1 else "hold"
    raise ValueError(
        f"{plural(len(unread), 'column')} of {Path(path).name} {hold} numbers with a comma ({named}){others}"
        ": say --decimal , to read it as the decimal mark, or --decimal . to leave them out."
    )


def _asked(options: dict[str, Any]) -> list[str]:
    lists = [options.get(key) or () for key in ("labels", "text", "features")]
    single = [options.get(key) for key in ("label_column", "group", "time")]
    return [name for names in lists for name in names] + [name for name in single if name is not None]


def _inside(cells: Cells) -> dict[str, list[str]]:
    found = {name: names_inside(name, column) for name, column in cells.columns.items()}
    return {name: names for name, names in found.items() if names is not None}


def _all_decimal_commas(column: list[Any]) -> bool:
    filled = [cell for cell in column if cell is not None and str(cell).strip()]
    return bool(filled) and all(map(has_decimal_comma, filled))
