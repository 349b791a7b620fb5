"""Tables in JSON: one object a line, or one array of objects."""

import itertools
import json
import os
from collections.abc import Iterator
from typing import Any

from hyperlabel.datasets._lines import LineReader
from hyperlabel.datasets._numbers import BLANKS
from hyperlabel.datasets.table_sources import Cells, find_repeated_name, iter_text_lines

MAX_CELLS = 1 << 27  # of some rows of JSON, where every row may bring names of its own
Numbered = Iterator[tuple[int, dict[str, Any]]]


def read_jsonl_cells(path: str | os.PathLike[str], chunk_rows: int, _: str | None = None) -> Iterator[Cells]:
    """Yield the rows of a file with one object a line."""
    with LineReader(path) as reader:
        for columns, lines in _gather_columns(_read_lines(reader), chunk_rows, reader):
            yield Cells(columns, lines, reader.path)


def read_json_cells(path: str | os.PathLike[str], chunk_rows: int, _: str | None = None) -> Iterator[Cells]:
    """Yield the objects of an array; a file with one object a line is read by lines.

    An object around the array (``{"rows": […]}``) is opened where it holds one array of objects only.
    """
    with LineReader(path) as reader:
        text = "".join(iter_text_lines(reader))
        try:
            document = _parse(text, reader, None)
        except json.JSONDecodeError as error:
            if error.msg != "Extra data":
                message = f"this is not JSON ({error.msg})."
                raise reader.fail(message, error.lineno, error.colno) from error
            document = None
    if document is None:
        yield from read_jsonl_cells(path, chunk_rows)
        return
    objects = document if isinstance(document, list) else _find_array(document)
    if objects is None or not all(isinstance(row, dict) for row in objects):
        raise reader.fail("the file must hold an array of objects: [{…}, {…}].")
    for columns, rows in _gather_columns(enumerate(objects, start=1), chunk_rows, reader):
        yield Cells(columns, rows, reader.path, "row")


def _find_array(document: Any) -> list[Any] | None:
    """Return the only array of objects inside an object; an object without any is one row."""
    if not isinstance(document, dict):
        return None
    arrays = [
        value
        for value in document.values()
        if isinstance(value, list) and value and all(isinstance(row, dict) for row in value)
    ]
    return arrays[0] if len(arrays) == 1 else None if arrays else [document]


def _gather_columns(
    numbered_objects: Any, chunk_rows: int, reader: LineReader
) -> Iterator[tuple[dict[str, list[Any]], list[int]]]:
    """Yield columns and the numbers of their rows; later rows may bring further columns."""
    column_names: dict[str, None] = {}
    rows = iter(numbered_objects)
    while row_chunk := list(itertools.islice(rows, chunk_rows)):
        column_names |= {name: None for _, json_object in row_chunk for name in json_object}
        if len(column_names) * len(row_chunk) > MAX_CELLS:
            raise reader.fail(
                f"{len(column_names)} names in {len(row_chunk)} rows make more than {MAX_CELLS} cells, "
                "most of them empty; give rows the same names.",
                row_chunk[-1][0],
            )
        columns = {name: [json_object.get(name) for _, json_object in row_chunk] for name in column_names}
        yield columns, [number for number, _ in row_chunk]


class _TwiceError(Exception):
    """A JSON object that uses a name twice: the reader would keep the last value only."""


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    json_object = dict(pairs)
    if len(json_object) < len(pairs):
        raise _TwiceError(find_repeated_name([name for name, _ in pairs]))
    return json_object


def _parse(text: str, reader: LineReader, line: int | None) -> Any:
    """Parse JSON, but for what a table cannot hold."""
    try:
        document = json.loads(text, object_pairs_hook=_build_object)
        if "\\ud" in text.lower():
            json.dumps(document, ensure_ascii=False).encode()
    except _TwiceError as error:
        raise reader.fail(f"the name {error.args[0][:40]!r} appears twice in one object.", line) from None
    except UnicodeEncodeError:
        raise reader.fail("a text holds half a character (a lone surrogate): repair it.", line) from None
    except json.JSONDecodeError:
        raise
    except (RecursionError, ValueError) as error:
        raise reader.fail("this JSON cannot be read: too deep or too long a number.", line) from error
    return document


def _read_lines(reader: LineReader) -> Numbered:
    while (line_text := reader.readline()) is not None:
        if not line_text.strip(BLANKS):
            continue
        try:
            json_object = _parse(line_text, reader, reader.line)
        except json.JSONDecodeError as error:
            raise reader.fail(f"this is not JSON ({error.msg}).", reader.line, error.colno) from error
        if not isinstance(json_object, dict):
            raise reader.fail("each line must hold one JSON object: {…}.", reader.line, 1)
        yield reader.line, json_object
