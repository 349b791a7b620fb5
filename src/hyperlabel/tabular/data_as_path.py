"""Stdin and lines of text in the form of a file, which every reader takes."""

import csv
import io
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hyperlabel.datasets.formats import BY_NAME
from hyperlabel.tabular.table_io import need_data


@contextmanager
def open_data_as_path(source: str, columns: Any = None) -> Iterator[str]:
    """Give stdin the form of a file; for a model of text alone, a text file is one text a line."""
    need_data(source)
    has_text_lines = columns is not None and columns.text_only and Path(source).suffix.lower() == ".txt"
    if source != "-" and not has_text_lines:
        yield source
        return
    file_content = Path(source).read_bytes() if has_text_lines else sys.stdin.buffer.read()
    if not file_content.strip():
        raise ValueError(f"{source} is empty." if has_text_lines else "There is nothing on stdin.")
    with as_temporary(
        file_content, ".lines" if has_text_lines else _guess_file_ending(file_content, columns)
    ) as path:
        yield path


@contextmanager
def as_temporary(content: bytes, ending: str) -> Iterator[str]:
    """Put bytes in a file that lasts as long as it is read."""
    with tempfile.TemporaryDirectory() as folder:
        temporary_path = Path(folder, f"stdin{ending}")
        temporary_path.write_bytes(content)
        yield str(temporary_path)


def _guess_file_ending(content: bytes, columns: Any) -> str:
    """Tell the format of stdin from the model's, or from its first line."""
    leading_text = content[: 1 << 16].decode("utf-8", errors="ignore").lstrip("\ufeff \r\n")
    if columns is not None and columns.format != "table":
        endings = BY_NAME[columns.format].endings if columns.format in BY_NAME else ()
        return endings[0] if endings else ".csv"
    if leading_text.startswith("{"):
        return ".jsonl"
    if leading_text.startswith("["):
        return ".json"
    if columns is None or not columns.text_only:
        return ".csv"
    header_line = leading_text.split("\n")[0].replace("\r", "")
    possible_headers = (
        next(csv.reader(io.StringIO(header_line), delimiter=delimiter), []) for delimiter in ",;\t|"
    )
    has_text_column = any(name.strip() == columns.text[0] for header in possible_headers for name in header)
    return ".csv" if has_text_column else ".lines"


@contextmanager
def name_source(path: str, source: str) -> Iterator[None]:
    """Let messages name stdin, not the temporary file that holds its content."""
    try:
        yield
    except (ValueError, OSError) as error:
        if source != "-":
            raise
        message = str(error).replace(path, "stdin").replace(Path(path).name, "stdin")
        raise ValueError(message) from error
