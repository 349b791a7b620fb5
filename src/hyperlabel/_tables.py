"""Results that are tables: plain lists and dicts to programs, tables to people."""

import html
import math
from collections.abc import Iterable, Mapping
from typing import Any

_MOST_ROWS = 60  # shown


class Table(list[Any]):
    """A list of rows (dicts, or objects with ``as_row()``) that shows itself as a table."""

    def __repr__(self) -> str:
        head, body = _format_cells(self)
        if not head:
            return "[]"
        column_widths = [max(len(row[j]) for row in (head, *body)) for j in range(len(head))]
        is_numeric = [all(_is_number(row.get(name, "")) for row in _list_mappings(self)) for name in head]
        text_lines = [
            "  ".join(
                cell.rjust(width) if align_right else cell.ljust(width)
                for cell, width, align_right in zip(row, column_widths, is_numeric, strict=True)
            ).rstrip()
            for row in (head, *body)
        ]
        return "\n".join(text_lines)

    def _repr_html_(self) -> str:
        return _render_html(*_format_cells(self))


class Results(dict[str, Any]):
    """scikit-learn's ``cv_results_``: a dict of columns, which a notebook shows as a table."""

    def _repr_html_(self) -> str:
        names = list(self)
        rows = zip(*self.values(), strict=True)
        return _render_html(*_format_cells([dict(zip(names, row, strict=True)) for row in rows]))


def _list_mappings(items: Iterable[Any]) -> list[Mapping[str, Any]]:
    return [item if isinstance(item, Mapping) else item.as_row() for item in items]


def _format_cells(items: Iterable[Any]) -> tuple[list[str], list[list[str]]]:
    rows = _list_mappings(items)
    head = list(dict.fromkeys(name for row in rows for name in row))
    body = [[_format_value(row.get(name, "")) for name in head] for row in rows[:_MOST_ROWS]]
    if len(rows) > _MOST_ROWS:
        body.append([f"… {len(rows) - _MOST_ROWS} more"] + [""] * (len(head) - 1))
    return head, body


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _format_value(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):  # NumPy's too
        return f"{value:.3f}" if math.isfinite(value) and 1e-3 <= abs(value) < 1e4 else f"{value:.3g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_format_value(entry)}" for name, entry in value.items())
    if isinstance(value, (list, tuple)):
        return "; ".join(map(_format_value, value))
    return str(value)


def _render_html(head: list[str], body: list[list[str]]) -> str:
    def render_row(row_texts: list[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row_texts) + "</tr>"

    body_rows = "".join(render_row(row_texts, "td") for row_texts in body)
    return f"<table><thead>{render_row(head, 'th')}</thead><tbody>{body_rows}</tbody></table>"
