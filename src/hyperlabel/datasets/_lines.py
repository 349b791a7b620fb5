"""Whole lines of a plain or gzip file, a bounded block at a time, with errors that say where."""

from __future__ import annotations

import gzip
import os
import sys
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

BLOCK_BYTES = 1 << 18  # a block and its arrays fit in cache
MAX_LINE_BYTES = 256 << 20  # a line longer than this is no table; stops decompression bombs early


class DataError(ValueError):
    """A file that cannot be read; the message names the file, line and column.

    Parameters
    ----------
    message : str
        What is wrong and what to do.
    path : path or str
        The file.
    line, column : int, optional
        1-based position in the (decompressed) text.

    Examples
    --------
    >>> from hyperlabel.datasets import DataError
    >>> print(DataError("the value 'x' is not a number.", "a.arff", line=7, column=3))
    a.arff, line 7, column 3: the value 'x' is not a number.
    """

    def __init__(
        self,
        message: str,
        path: str | os.PathLike[str],
        *,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        location = Path(path).name
        if line is not None:
            location += f", line {line}"
        if column is not None:
            location += f", column {column}"
        super().__init__(f"{location}: {message}")
        self.path, self.line, self.column = path, line, column


def warn_user(message: str) -> None:
    """Warn the first caller outside the library, however deep inside it the cause lies."""
    stack_level, frame = 1, sys._getframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("hyperlabel."):
        stack_level, frame = stack_level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(message, stacklevel=stack_level)


def file_ending(path: str | os.PathLike[str]) -> str:
    """Return the last suffix of a file's name, that of packing left out."""
    suffixes = [suffix.lower() for suffix in table_address(path)[0].suffixes if suffix.lower() != ".gz"]
    return suffixes[-1] if suffixes else ""


def table_address(path: str | os.PathLike[str]) -> tuple[Path, str | None]:
    """Return the file and the table of ``FILE::TABLE``: of a file that holds several tables, one."""
    file_name, mark, table_name = str(path).rpartition("::")
    if not mark or Path(path).exists():
        return Path(path), None
    return Path(file_name), table_name


def decode_bytes(text_bytes: bytes) -> str:
    """Return bytes as text: lines that are valid UTF-8 as such, others as Latin-1 (which takes any byte)."""
    try:
        return text_bytes.decode("utf-8")
    except UnicodeDecodeError:
        if b"\n" not in text_bytes:
            return text_bytes.decode("latin-1")
    return "\n".join(decode_bytes(line_bytes) for line_bytes in text_bytes.split(b"\n"))


class LineReader:
    """Lines of a file, opened plain or through gzip by its first bytes.

    Use as a context manager; `readline` serves headers, `blocks` serves bodies. A UTF-8 byte
    order mark is skipped; UTF-16, zip archives and binary bytes are refused with a sentence.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self.line = 0  # number of the last line handed out
        self._block_bytes = BLOCK_BYTES
        self._buffer = b""
        self._position = 0  # where the unread bytes of _buffer start
        self._ended = False

    def __enter__(self) -> LineReader:
        if self.path.is_dir():
            raise DataError("this is a folder; name a file in it.", self.path)
        if not self.path.exists():
            raise FileNotFoundError(f"There is no file {self.path}: check the path.")
        raw_file = open(self.path, "rb")
        is_gzip = raw_file.peek(2)[:2] == b"\x1f\x8b"
        self._raw = raw_file
        self._file = cast(BinaryIO, gzip.GzipFile(fileobj=raw_file)) if is_gzip else raw_file
        try:
            self._check_start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._raw.close()  # a GzipFile leaves the file it was given open

    def fail(self, message: str, line: int | None = None, column: int | None = None) -> DataError:
        """Make an error about this file (the caller raises it)."""
        return DataError(message, self.path, line=line, column=column)

    def readline(self) -> str | None:
        """Return the next line without its end, or None after the last one."""
        while (line_end := self._buffer.find(b"\n", self._position)) < 0 and not self._ended:
            self._fill_buffer()
        if self._position >= len(self._buffer):
            return None
        line_end = len(self._buffer) if line_end < 0 else line_end
        line_bytes, self._position = self._buffer[self._position : line_end], line_end + 1
        self.line += 1
        return decode_bytes(line_bytes.rstrip(b"\r"))

    def blocks(self) -> Iterator[tuple[int, bytes]]:
        r"""Yield (number of the first line, bytes of whole lines); line ends come out as ``\n``."""
        while True:
            while not self._ended and len(self._buffer) - self._position < self._block_bytes:
                self._fill_buffer()
            self._buffer, self._position = self._buffer[self._position :], 0
            block_end = len(self._buffer) if self._ended else self._buffer.rfind(b"\n") + 1
            if block_end == 0 and not self._ended:
                self._fill_buffer()
                continue
            block, self._buffer = self._buffer[:block_end], self._buffer[block_end:]
            if not block:
                return
            first_line = self.line + 1
            self.line += block.count(b"\n") + (not block.endswith(b"\n"))
            yield first_line, block.replace(b"\r\n", b"\n") if b"\r" in block else block

    def _fill_buffer(self) -> None:
        n_held = len(self._buffer) - self._position
        # Within a long line as much again as there is, so that copying and searching stay linear in it.
        n_requested = max(self._block_bytes, min(n_held, MAX_LINE_BYTES + 1 - n_held))
        try:
            chunk = self._file.read(n_requested)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise self.fail(
                "the gzip data is damaged or truncated; get a complete copy of the file."
            ) from error
        if b"\0" in chunk:
            raise self.fail("the file holds binary bytes, not text; is it the right file?")
        self._ended = not chunk
        self._buffer, self._position = self._buffer[self._position :] + chunk, 0
        if len(self._buffer) > MAX_LINE_BYTES and b"\n" not in self._buffer:
            raise self.fail(f"a line is longer than {MAX_LINE_BYTES >> 20} MiB.", self.line + 1)

    def _check_start(self) -> None:
        """Refuse other formats and blank files by their first bytes; skip a byte order mark."""
        if not isinstance(self._file, gzip.GzipFile):
            first_bytes = self._file.peek(4)[:4]  # type: ignore[attr-defined]
            if first_bytes.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise self.fail("the text is UTF-16; save it as UTF-8.")
            if first_bytes.startswith(b"PK\x03\x04"):
                raise self.fail("this is a zip archive; unpack it and name the file inside.")
        self._fill_buffer()
        if self._buffer.startswith(b"\xef\xbb\xbf"):
            self._buffer = self._buffer[3:]
        if not self._buffer.strip():
            self._fill_buffer()
            if self._ended:
                raise self.fail("the file is empty.")
            raise self.fail(f"the first {len(self._buffer)} bytes are blank; is it the right file?")
