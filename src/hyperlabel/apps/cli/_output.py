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
_NARROWEST = 12  # columns: a table is not made narrower


def tell(text: str, *, err: bool = False) -> None:
    """Print a sentence; on a terminal it is broken between words, in a pipe not at all."""
    if (sys.stderr if err else sys.stdout).isatty():
        width = max(shutil.get_terminal_size().columns, _NARROWEST)
        text = textwrap.fill(text, width, break_long_words=False, break_on_hyphens=False)
    click.echo(text, err=err)


def print_json(command_output: Any) -> None:
    """Print the output of a command for programs; docs/cli.md says what each command prints."""
    from hyperlabel.datasets.writing import json_value

    click.echo(json.dumps(json_value(command_output), indent=2, ensure_ascii=False))


def print_table(
    head: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    title: str = "",
    n_text_columns: int = 1,
    floats: str = ".4g",
) -> None:
    """Print a table that fits: columns too wide for it follow below, beside the first one again.

    The first `n_text_columns` are words, the others numbers, set right. In a pipe nothing is shortened,
    unless COLUMNS says how wide it is.
    """
    if title:
        click.echo(title)
    formatted_rows = [[f"{v:{floats}}" if isinstance(v, float) else str(v) for v in row] for row in rows]
    has_width = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()
    terminal_width = shutil.get_terminal_size().columns if has_width else None
    for text_row in table_lines(head, formatted_rows, n_text_columns=n_text_columns, width=terminal_width):
        click.echo(text_row)


def on_one_line(text: str) -> str:
    """Return a text whose line breaks and tabs are seen: features of characters may hold some."""
    return text.translate({ord("\r"): "⏎", ord("\n"): "⏎", ord("\t"): "⇥"})


def table_lines(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, n_text_columns: int, width: int | None
) -> list[str]:
    """Return the lines of a table for a terminal `width` columns wide (None: as wide as it takes)."""
    columns = [list(column) for column in zip(head, *rows, strict=True)]
    if width is not None:
        columns = _shorten_columns(columns, max(width, _NARROWEST) - 1)
    column_widths = [max(map(_display_width, column)) for column in columns]
    column_blocks: list[list[int]] = [[0]]
    for j in range(1, len(columns)):
        block_width = sum(column_widths[i] + len(_GAP) for i in column_blocks[-1]) + column_widths[j]
        if width is not None and block_width >= max(width, _NARROWEST) and len(column_blocks[-1]) > 1:
            column_blocks.append([0])
        column_blocks[-1].append(j)
    text_rows: list[str] = []
    for block_index, column_block in enumerate(column_blocks):
        text_rows += [""] if block_index else []
        for row_texts in zip(*(columns[j] for j in column_block), strict=True):
            padded_texts = [
                _pad_cell(cell_text, column_widths[j], j < n_text_columns)
                for cell_text, j in zip(row_texts, column_block, strict=True)
            ]
            text_rows.append(_GAP.join(padded_texts).rstrip())
    return text_rows


def _shorten_columns(columns: list[list[str]], total_width: int) -> list[list[str]]:
    """Shorten cells so that the first column and any other one fit side by side."""
    max_other_width = max((_display_width(text) for column in columns[1:] for text in column), default=0)
    max_first_width = max(total_width - min(max_other_width, total_width // 2) - len(_GAP), 6)
    first_width = min(max_first_width, max(map(_display_width, columns[0])))
    other_width = total_width - first_width - len(_GAP)
    return [
        [_truncate_cell(cell_text, other_width if j else first_width) for cell_text in column]
        for j, column in enumerate(columns)
    ]


def _display_width(text: str) -> int:
    """Columns a text takes: two for Chinese characters, none for combining marks."""
    from rich.cells import cell_len

    return cell_len(text)


def _pad_cell(text: str, size: int, is_left: bool) -> str:
    blanks = " " * (size - _display_width(text))
    return text + blanks if is_left else blanks + text


def _truncate_cell(text: str, size: int) -> str:
    """Remove the middle of a text that is too long: its end often distinguishes it from its neighbours."""
    if _display_width(text) <= size:
        return text
    head, tail = text[: (size - 1) // 2], text[len(text) - (size - 1) // 2 :]
    while head and _display_width(head) + 1 + _display_width(tail) > size:
        head, tail = head[:-1], tail[1:]
    return f"{head}…{tail}"
