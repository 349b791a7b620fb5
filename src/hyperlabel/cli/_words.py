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


def plural(count: int, noun: str) -> str:
    """Count something in words a person would use: 1 row, 2 rows, 0 entries."""
    if count != 1:
        noun = noun[:-1] + "ies" if noun.endswith("ry") else noun + "s"
    return f"{count} {noun}"


def some(names: Sequence[str], most: int = 5) -> str:
    """Name the first few of a list: a, b, …"""
    return ", ".join(names[:most]) + (", …" if len(names) > most else "")


def tell(text: str, *, err: bool = False) -> None:
    """Print a sentence; on a terminal it is broken between words, in a pipe not at all."""
    if (sys.stderr if err else sys.stdout).isatty():
        width = max(shutil.get_terminal_size().columns, _NARROWEST)
        text = textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
    click.echo(text, err=err)


def print_json(found: Any) -> None:
    """Print what a command found for programs; docs/cli.md says what each command prints."""
    from hyperlabel.datasets.writing import plain

    click.echo(json.dumps(plain(found), indent=2, ensure_ascii=False))


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
        columns = _shortened(columns, max(width, _NARROWEST) - 1)
    sizes = [max(map(_width, column)) for column in columns]
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
            padded = [_pad(cell, sizes[j], j < left) for cell, j in zip(cells, block, strict=True)]
            lines.append(_GAP.join(padded).rstrip())
    return lines


def _shortened(columns: list[list[str]], room: int) -> list[list[str]]:
    """Cut cells so that the first column and any other one fit side by side."""
    others = max((_width(cell) for column in columns[1:] for cell in column), default=0)
    most = max(room - min(others, room // 2) - len(_GAP), 6)
    first = min(most, max(map(_width, columns[0])))
    rest = room - first - len(_GAP)
    return [[_cut(cell, rest if j else first) for cell in column] for j, column in enumerate(columns)]


def _width(text: str) -> int:
    """Columns a text takes: two for Chinese characters, none for combining marks."""
    from rich.cells import cell_len

    return cell_len(text)


def _pad(text: str, size: int, is_left: bool) -> str:
    blanks = " " * (size - _width(text))
    return text + blanks if is_left else blanks + text


def _cut(text: str, size: int) -> str:
    """Cut the middle out of a text that is too long: its end often tells it from its neighbours."""
    if _width(text) <= size:
        return text
    head, tail = text[: (size - 1) // 2], text[len(text) - (size - 1) // 2 :]
    while head and _width(head) + 1 + _width(tail) > size:
        head, tail = head[:-1], tail[1:]
    return f"{head}…{tail}"
