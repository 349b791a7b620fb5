"""Objects in the cells of a table (JSON lines, Parquet structs, JSON as text): dotted names reach inside.

``annotations.label`` leads through a column ``annotations``, whether it holds an object or a list of them.
An object itself is never read as text.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_SHOWN = 12  # dotted names of one column in a message


def reach(cell: Any, name: str) -> Any:
    """Return what a dotted name leads to inside a cell: a list where a list of objects lies on the way."""
    cell = _parsed(cell)
    if isinstance(cell, list | tuple):
        parts = [reach(part, name) for part in cell]
        lists = [part if isinstance(part, list | tuple) else [part] for part in parts if part is not None]
        return [value for values in lists for value in values]
    return reach_column(cell, name) if isinstance(cell, Mapping) else None


def reach_column(columns: Mapping[str, Any], name: str) -> Any:
    """Follow a dotted name from an object; a name that holds a dot itself goes first."""
    if name in columns:
        return columns[name]
    dots = [i for i, letter in enumerate(name) if letter == "."]
    way = next((i for i in reversed(dots) if name[:i] in columns), None)
    return None if way is None else reach(columns[name[:way]], name[way + 1 :])


def head_of(name: str, columns: Iterable[str]) -> str | None:
    """Return the column in which a dotted name starts; None where there is none."""
    parts = name.split(".")
    heads = (".".join(parts[:i]) for i in range(len(parts) - 1, 0, -1))
    there = set(columns)
    return next((head for head in heads if head in there), None)


def names_inside(name: str, cells: Sequence[Any]) -> list[str] | None:
    """Return the dotted names of what lies inside a column of objects; None where it holds no object."""
    first = next((cell for cell in cells if isinstance(cell, str) and cell.strip()), None)
    if first is not None and not is_object(_parsed(first)):  # text decides by its first cell, as numbers do
        cells = [cell for cell in cells if not isinstance(cell, str)]
    objects = [found for cell in cells if is_object(found := _parsed(cell))]
    names: dict[str, None] = {}
    for one in objects:
        _collect(name, one, names)
    return list(names) if objects else None


def is_object(cell: Any) -> bool:
    """Say whether a cell is an object, or a list of objects."""
    if isinstance(cell, list | tuple):
        return any(map(is_object, cell[:1]))
    return isinstance(cell, Mapping)


def shown_names(names: Sequence[str]) -> str:
    """Name the first dotted names of a column in a message."""
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")


def objects_message(name: str, inside: Sequence[str]) -> str:
    """Say what to name in place of a column of objects."""
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


def _parsed(cell: Any) -> Any:
    """Return the object that a text spells as JSON; other cells as they are."""
    if not isinstance(cell, str) or cell.lstrip()[:1] not in ("{", "["):
        return cell
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        return cell
    return found if is_object(found) else cell


def _collect(name: str, cell: Any, names: dict[str, None]) -> None:
    if isinstance(cell, Mapping):
        for key, value in cell.items():
            if is_object(value):
                _collect(f"{name}.{key}", value, names)
            elif value is not None:
                names[f"{name}.{key}"] = None
    elif isinstance(cell, list | tuple) and is_object(cell):
        for part in cell:
            _collect(name, part, names)
