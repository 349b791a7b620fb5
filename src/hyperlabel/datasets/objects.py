"""Objects in the cells of a table (JSON lines, Parquet structs, JSON as text): dotted names reach inside.

``annotations.label`` leads through a column ``annotations``, whether it holds an object or a list of them.
An object itself is never read as text.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_SHOWN = 12  # dotted names of one column in a message


def reach(cell: Any, name: str) -> Any:
    """Return the value of a dotted name inside a cell: a list where a list of objects lies on the way."""
    cell = _parse_object(cell)
    if isinstance(cell, list | tuple):
        items = [reach(item, name) for item in cell]
        reached_lists = [
            item if isinstance(item, list | tuple) else [item] for item in items if item is not None
        ]
        return [value for reached_list in reached_lists for value in reached_list]
    return reach_column(cell, name) if isinstance(cell, Mapping) else None


def reach_column(columns: Mapping[str, Any], name: str) -> Any:
    """Follow a dotted name from an object; a name that holds a dot itself goes first."""
    if name in columns:
        return columns[name]
    dot_positions = [i for i, letter in enumerate(name) if letter == "."]
    split_position = next((i for i in reversed(dot_positions) if name[:i] in columns), None)
    return (
        None if split_position is None else reach(columns[name[:split_position]], name[split_position + 1 :])
    )


def head_of(name: str, columns: Iterable[str]) -> str | None:
    """Return the column in which a dotted name starts; None where there is none."""
    name_pieces = name.split(".")
    candidate_heads = (".".join(name_pieces[:i]) for i in range(len(name_pieces) - 1, 0, -1))
    column_names = set(columns)
    return next((head for head in candidate_heads if head in column_names), None)


def names_inside(name: str, column_values: Sequence[Any]) -> list[str] | None:
    """Return the dotted names of what lies inside a column of objects; None where it holds no object."""
    first_text = next((cell for cell in column_values if isinstance(cell, str) and cell.strip()), None)
    # A column of text is decided by its first cell, as a column of numbers is.
    if first_text is not None and not is_object(_parse_object(first_text)):
        column_values = [cell for cell in column_values if not isinstance(cell, str)]
    cell_objects = [parsed_cell for cell in column_values if is_object(parsed_cell := _parse_object(cell))]
    dotted_names: dict[str, None] = {}
    for cell_object in cell_objects:
        _collect_names(name, cell_object, dotted_names)
    return list(dotted_names) if cell_objects else None


def is_object(cell: Any) -> bool:
    """Return whether a cell is an object, or a list of objects."""
    if isinstance(cell, list | tuple):
        return any(map(is_object, cell[:1]))
    return isinstance(cell, Mapping)


def shown_names(names: Sequence[str]) -> str:
    """Return the first dotted names of a column, joined for a message."""
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")


def objects_message(name: str, inside: Sequence[str]) -> str:
    """Return the sentence that names what to choose instead of a column of objects."""
    if not inside:
        return f"the column {name!r} holds empty objects: leave it out."
    return f"the column {name!r} holds objects: name what is inside them: {shown_names(inside)}."


def cell_text(cell: Any) -> str:
    """Return a cell as text: a list is joined by line ends, an object refused."""
    if cell is None:
        return ""
    if isinstance(cell, list | tuple):
        return "\n".join(map(cell_text, cell))
    if isinstance(cell, Mapping):
        raise TypeError(cell)
    return str(cell)


def _parse_object(cell: Any) -> Any:
    """Return the object that a text spells as JSON; other cells as they are."""
    if not isinstance(cell, str) or cell.lstrip()[:1] not in ("{", "["):
        return cell
    try:
        parsed_cell = json.loads(cell)
    except (ValueError, RecursionError):
        return cell
    return parsed_cell if is_object(parsed_cell) else cell


def _collect_names(name: str, cell: Any, dotted_names: dict[str, None]) -> None:
    if isinstance(cell, Mapping):
        for key, value in cell.items():
            if is_object(value):
                _collect_names(f"{name}.{key}", value, dotted_names)
            elif value is not None:
                dotted_names[f"{name}.{key}"] = None
    elif isinstance(cell, list | tuple) and is_object(cell):
        for list_item in cell:
            _collect_names(name, list_item, dotted_names)
