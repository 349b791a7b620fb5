"""Results that are tables: plain lists and dicts to programs, tables to people."""

import html
import math
from collections.abc import Iterable, Mapping
from typing import Any

_MOST_ROWS = 60  # shown


class Table(list[Any]):
    """A list of rows (dicts, or objects with ``as_row()``) that shows itself as a table."""

    def __repr__(self) -> str:
        head, body = _table_cells(self)
        if not head:
            return "[]"
        sizes = [max(len(row[j]) for row in (head, *body)) for j in range(len(head))]
        right = [all(_is_number(row.get(name, "")) for row in _table_rows(self)) for name in head]
        lines = [
            "  ".join(
                cell.rjust(size) if is_right else cell.ljust(size)
                for cell, size, is_right in zip(row, sizes, right, strict=True)
            ).rstrip()
            for row in (head, *body)
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return _render_html(*_table_cells(self))


class Results(dict[str, Any]):
    """scikit-learn's ``cv_results_``: a dict of columns, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        names = list(self)
        rows = zip(*self.values(), strict=True)
        return _render_html(*_table_cells([dict(zip(names, row, strict=True)) for row in rows]))


def _table_rows(items: Iterable[Any]) -> list[Mapping[str, Any]]:
    return [item if isinstance(item, Mapping) else item.as_row() for item in items]


def _table_cells(items: Iterable[Any]) -> tuple[list[str], list[list[str]]]:
    rows = _table_rows(items)
    head = list(dict.fromkeys(name for row in rows for name in row))
    body = [[_show_value(row.get(name, "")) for name in head] for row in rows[:_MOST_ROWS]]
    if len(rows) > _MOST_ROWS:
        body.append([f"… {len(rows) - _MOST_ROWS} more"] + [""] * (len(head) - 1))
    return head, body


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _show_value(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):  # NumPy's too
        return f"{value:.3f}" if math.isfinite(value) and 1e-3 <= abs(value) < 1e4 else f"{value:.3g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_show_value(part)}" for name, part in value.items())
    if isinstance(value, (list, tuple)):
        return "; ".join(map(_show_value, value))
    return str(value)


def _render_html(head: list[str], body: list[list[str]]) -> str:
    def line(cells: list[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    rows = "".join(line(cells, "td") for cells in body)
    return f"<table><thead>{line(head, 'th')}</thead><tbody>{rows}</tbody></table>"
