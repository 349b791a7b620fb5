"""What is a number in a text file, and the words and numbers of a block by array operations.

`to_number` and `to_whole` say what counts as a number and as an index, for every reader. A word is a run of
bytes that are neither blanks nor marks (commas, braces …). `read_numbers` gives exactly what `to_number`
gives, without a loop over words: a decimal of at most 15 digits is an integer below 2⁵³ divided by a power of
ten that a double holds exactly, and IEEE division rounds correctly; rarer forms go to `to_number`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

BLANKS = " \t\r\v\f"
WORD = re.compile(f"[^{BLANKS}]+")
_POWERS = 10.0 ** np.arange(23)  # exact up to 10^22
MAX_PLAIN = 8 << 20  # bytes; a longer block is one long line, and arrays take 30 times as much
_LONGEST = 15  # digits of an integer that a double holds exactly


def to_number(word: str) -> float:
    """Read a number as data files write it: no ``1_000``, no digits of other scripts, as ``float`` would."""
    if "_" in word or not word.isascii() or not word.isprintable():
        raise ValueError(word)
    return float(word)


def to_whole(word: str) -> int:
    """Read an index: digits and nothing else. What has more than 18 digits is 10¹⁸, beyond any bound."""
    if not word.isascii() or not word.isdecimal():
        raise ValueError(word)
    digits = word.lstrip("0") or "0"
    return int(digits) if len(digits) <= 18 else 10**18


@dataclass(frozen=True)
class Words:
    """Where the words and marks of a block are.

    ``begin`` and ``finish`` bound each word; ``marks`` holds the byte of each mark, ``before`` how many
    words stand between it and the mark before; ``after`` how many follow the last mark; ``special``
    are the places of bytes inside words that are no digits.
    """

    block: bytes
    begin: np.ndarray
    finish: np.ndarray
    marks: np.ndarray
    before: np.ndarray
    after: int
    special: np.ndarray

    @cached_property
    def owner(self) -> np.ndarray:
        """The word each special byte belongs to."""
        return np.searchsorted(self.begin, self.special, side="right") - 1

    def only_digits(self) -> np.ndarray:
        """Tell the words that are digits and nothing else, few enough to be read without rounding."""
        plain = self.finish - self.begin <= _LONGEST
        plain[self.owner] = False
        return plain


def _kinds(marks: bytes) -> bytes:
    """Translation table of bytes: 0 blank, 1 digit, 2 other byte of a word, 4 mark."""
    kind = bytearray([2]) * 256
    for byte in b"0123456789":
        kind[byte] = 1
    for byte in f"{BLANKS}\n".encode():
        kind[byte] = 0
    for byte in marks:
        kind[byte] = 4
    return bytes(kind)


_TABLES = {marks: _kinds(marks) for marks in (b"{},", b",\n", b",:\n")}


def find_words(block: bytes, marks: bytes) -> Words:
    """Find words and marks; blanks are those of ``BLANKS``, and newline unless a mark."""
    text = np.frombuffer(block, dtype=np.uint8)
    kinds = np.frombuffer(block.translate(_TABLES[marks]), dtype=np.uint8)
    word = np.zeros(len(text) + 2, dtype=bool)
    np.not_equal(kinds & 3, 0, out=word[1:-1])
    edge = word[1:] != word[:-1]
    bounds = np.flatnonzero(edge)
    is_mark = kinds == 4
    events = edge[:-1] & word[1:-1]
    events |= is_mark
    at = np.flatnonzero(is_mark[events])
    before = np.diff(at, prepend=-1) - 1
    after = int(np.count_nonzero(events)) - 1 - (int(at[-1]) if at.size else -1)
    special = np.flatnonzero(kinds == 2)
    return Words(block, bounds[0::2], bounds[1::2], text[is_mark], before, after, special)


def read_numbers(words: Words) -> np.ndarray | None:
    """Read the words as float64; None when one is not a number."""
    text = np.frombuffer(words.block, dtype=np.uint8)
    lengths = words.finish - words.begin
    if not words.special.size and lengths.max(initial=0) <= _LONGEST:
        return read_digits(words.block, words.finish, lengths)
    return _decimals(words, text, lengths)


def _decimals(words: Words, text: np.ndarray, lengths: np.ndarray) -> np.ndarray | None:
    block, begin, finish, places = words.block, words.begin, words.finish, words.special
    count = len(begin)
    owner = words.owner
    byte = text[places]
    is_minus, is_dot = (byte == 45) & (places == begin[owner]), byte == 46
    minus = np.zeros(count, dtype=bool)
    minus[owner[is_minus]] = True
    dotted = owner[is_dot]
    dots = np.bincount(dotted, minlength=count)
    decimals = np.zeros(count, dtype=np.int64)
    decimals[dotted] = finish[dotted] - places[is_dot] - 1
    lengths = lengths - minus - dots
    odd = (dots > 1) | (lengths < 1) | (lengths > _LONGEST)
    odd[owner[~is_minus & ~is_dot]] = True
    # Dropping the dots makes every plain word a run of digits.
    values = read_digits(block.translate(None, b"."), finish - np.cumsum(dots), np.where(odd, 0, lengths))
    values /= _POWERS[np.where(odd, 0, decimals)]
    values[minus] *= -1
    for i in np.flatnonzero(odd):
        try:
            values[i] = to_number(block[begin[i] : finish[i]].decode("latin-1"))
        except ValueError:
            return None
    return values


def read_digits(block: bytes, finish: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Value of runs of at most 16 digits that end at ``finish``; an empty run is 0."""
    # Every place of the text as an eight-byte integer that ends there.
    view = np.ndarray((len(block) + 1,), dtype="<u8", buffer=b"0" * 8 + block, strides=(1,))
    values = _eight_digits(view[finish], np.clip(lengths, 1, 8))
    long = np.flatnonzero(lengths > 8)
    if long.size:
        values[long] += _eight_digits(view[finish[long] - 8], lengths[long] - 8) * np.uint64(10**8)
    values[lengths == 0] = 0
    return values.astype(np.float64)


def _eight_digits(run: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Decimal value of the last ``lengths`` (1 to 8) of eight digits, two at a time in one word."""
    u = np.uint64
    shift = (u(8) - lengths.astype(np.uint64)) * u(8)
    run = (run >> shift) << shift  # bytes before the run count as 0
    run = ((run & u(0x0F0F0F0F0F0F0F0F)) * u(2561)) >> u(8)  # 10·a + b of each pair of bytes
    run = ((run & u(0x00FF00FF00FF00FF)) * u(6553601)) >> u(16)  # 100·a + b
    result: np.ndarray = ((run & u(0x0000FFFF0000FFFF)) * u(42949672960001)) >> u(32)  # 10⁴·a + b
    return result
