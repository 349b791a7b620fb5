"""Documents of a request to the rows a model reads: a text, or an object with a value for each column."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Document = str | Mapping[str, Any]


class UnreadableRow(ValueError):
    """A document that the model cannot read; its message is for the client."""


def check_served(columns: Any, path: str) -> None:
    """Refuse models whose rows no request can hold, and say what serves in their place."""
    if columns.format != "table":
        raise ValueError(
            f"{path} was fitted on {columns.format} data: served are models of tables (texts, categories, "
            "numbers). hyperlabel predict runs every model."
        )
    if columns.vectors:
        raise ValueError(
            f"{path} was fitted with vectors, which a request does not hold: fit it again without --vectors, "
            "or use hyperlabel predict."
        )


def make_inputs(columns: Any, documents: Sequence[Document]) -> Any:
    """Return the rows of documents as the model takes them."""
    if columns.text_only:
        return [_read_text(columns.text[0], document) for document in documents]
    names = columns.names
    rows = np.array([_read_row(columns, names, document) for document in documents], dtype=object)
    rows = rows.reshape(len(documents), len(names))
    return rows if columns.text_columns else rows.astype(np.float64)


def example_document(columns: Any) -> Document:
    """Return a document that the model can read."""
    if columns.text_only:
        return "a text"
    return {name: "a text" if name in columns.text_columns else 0 for name in columns.names}


def _read_text(column: str, document: Document) -> str:
    return document if isinstance(document, str) else _read_words(column, document)


def _read_row(columns: Any, names: Sequence[str], document: Document) -> list[Any]:
    if isinstance(document, str):
        wanted = ", ".join(f'"{name}": …' for name in names[:5]) + (", …" if len(names) > 5 else "")
        raise UnreadableRow(f'The model reads several columns: send JSON, {{"row": {{{wanted}}}}}.')
    n_words = len(columns.text_columns)
    return [
        _read_words(name, document) if j < n_words else _read_number(name, document)
        for j, name in enumerate(names)
    ]


def _read_words(column: str, document: Mapping[str, Any]) -> str:
    value = _read_cell(column, document)
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise UnreadableRow(f"The row's {column!r} must be text.")
    return str(value)


def _read_number(column: str, document: Mapping[str, Any]) -> float:
    value = _read_cell(column, document)
    if value is None or value == "":
        return math.nan
    try:
        if isinstance(value, str | int | float) and math.isfinite(number := float(value)):
            return number
    except (ValueError, OverflowError):
        pass
    raise UnreadableRow(
        f"The row's {column!r} must be a number without quotes (900.5), or null where it is missing."
    )


def _read_cell(column: str, document: Mapping[str, Any]) -> Any:
    if column not in document:
        raise UnreadableRow(
            f"The row has no {column!r}, which the model reads; null says that it is missing."
        )
    return document[column]
