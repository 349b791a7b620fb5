"""How commands speak: counts in words, lists that end, tables that fit the terminal."""

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from typing import Any

import click

_GAP = "  "
_NARROWEST = 12  # columns: a table is not cut to less


def tell(text: str, *, err: bool = False) -> None:
    """Print a sentence; on a terminal it is broken between words, in a pipe not at all."""
    if (sys.stderr if err else sys.stdout).isatty():
        width = max(shutil.get_terminal_size().columns, _NARROWEST)
        text = textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
    click.echo(text, err=err)


def print_json(found: Any) -> None:
    """Print what a command found for programs; docs/cli.md says what each command prints."""
    from hyperlabel.datasets.writing import json_value

    click.echo(json.dumps(json_value(found), indent=2, ensure_ascii=False))


def print_table(
    head: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    title: str = "",
    left: int = 1,
    floats: str = ".4g",
) -> None:
    """Print a table that fits: columns that find no room follow below, beside the first one again.

    The first `left` columns are words, the others numbers, set right. In a pipe nothing is cut, unless
    COLUMNS says how wide it is.
    """
    if title:
        click.echo(title)
    cells = [[f"{v:{floats}}" if isinstance(v, float) else str(v) for v in row] for row in rows]
    bounded = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    width = shutil.get_terminal_size().columns if bounded else None
    for line in table_lines(head, cells, left=left, width=width):
        click.echo(line)


def table_lines(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int, width: int | None
) -> list[str]:
    """Return the lines of a table for a terminal `width` columns wide (None: as wide as it takes)."""
    columns = [list(column) for column in zip(head, *rows, strict=True)]
    if width is not None:
        columns = _shorten_columns(columns, max(width, _NARROWEST) - 1)
    sizes = [max(map(_display_width, column)) for column in columns]
    blocks: list[list[int]] = [[0]]
    for j in range(1, len(columns)):
        used = sum(sizes[i] + len(_GAP) for i in blocks[-1]) + sizes[j]
        if width is not None and used >= max(width, _NARROWEST) and len(blocks[-1]) > 1:
            blocks.append([0])
        blocks[-1].append(j)
    lines: list[str] = []
    for number, block in enumerate(blocks):
        lines += [""] if number else []
        for cells in zip(*(columns[j] for j in block), strict=True):
            padded = [_pad_cell(cell, sizes[j], j < left) for cell, j in zip(cells, block, strict=True)]
            lines.append(_GAP.join(padded).rstrip())
    return lines


def _shorten_columns(columns: list[list[str]], total_width: int) -> list[list[str]]:
    """Cut cells so that the first column and any other one fit side by side."""
    others = max((_display_width(cell) for column in columns[1:] for cell in column), default=0)
    most = max(total_width - min(others, total_width // 2) - len(_GAP), 6)
    first = min(most, max(map(_display_width, columns[0])))
    rest = total_width - first - len(_GAP)
    return [
        [_truncate_cell(cell, rest if j else first) for cell in column] for j, column in enumerate(columns)
    ]


def _display_width(text: str) -> int:
    """Columns a text takes: two for Chinese characters, none for combining marks."""
    from rich.cells import cell_len

    return cell_len(text)


def _pad_cell(text: str, size: int, is_left: bool) -> str:
    blanks = " " * (size - _display_width(text))
    return text + blanks if is_left else blanks + text


def _truncate_cell(text: str, size: int) -> str:
    """Cut the middle out of a text that is too long: its end often tells it from its neighbours."""
    if _display_width(text) <= size:
        return text
    head, tail = text[: (size - 1) // 2], text[len(text) - (size - 1) // 2 :]
    while head and _display_width(head) + 1 + _display_width(tail) > size:
        head, tail = head[:-1], tail[1:]
    return f"{head}…{tail}"
