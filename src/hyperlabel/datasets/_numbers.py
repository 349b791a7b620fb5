"""What is a number in a text file, for every reader.

`to_number` and `to_whole` say what counts as a number and as an index, word by word. Where a regular
expression shows that a block of rows holds nothing but `NUMBER`s between marks, `read_plain` reads the same
values from all of it at once.
"""

import re

import numpy as np

BLANKS = " \t\r\v\f"
WORD = re.compile(f"[^{BLANKS}]+")
_DECIMAL = r"[-+]?+(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][-+]?+[0-9]++)?+"
NUMBER = rf"(?:[0-9](?![.0-9eE])|{_DECIMAL})"  # most are one digit, and told in half the time
_BLANK, _MINUS, _DOT = b" -."
_LONGEST = 15  # characters of a number that a double surely holds exactly, its point left out
_POWERS = 10.0 ** np.arange(23)  # exact
MAX_PLAIN = 8 << 20  # bytes; a longer block is one long line, and arrays take many times as much


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


def read_plain_numbers(block: bytes, marks: bytes) -> tuple[np.ndarray, np.ndarray]:
    """Read the numbers between marks, blanks and line ends; return them and where each ends.

    A decimal of at most 15 digits is an integer below 2⁵³ divided by a power of ten that a double holds
    exactly, and IEEE division rounds correctly: that is what `to_number` gives, in a fraction of the time.
    """
    blanked = block.translate(bytes.maketrans(marks + b"\n", b" " * len(marks + b"\n")))
    text = np.frombuffer(blanked, dtype=np.uint8)
    edges = np.flatnonzero(np.diff(text == _BLANK, prepend=True))  # where a number starts, and where it ends
    ends = edges[1::2]
    if b"e" in block or b"E" in block or (ends - edges[0::2]).max(initial=0) > _LONGEST:
        return np.fromstring("0 " + blanked.decode("ascii"), sep=" ")[1:], ends  # of nothing it reads −1
    digits = np.fromstring(b"0 " + blanked.translate(None, b"+-."), dtype=np.int64, sep=" ")
    values = digits[1:].astype(np.float64)
    if b"." in block:
        dots = np.flatnonzero(text == _DOT)
        owner = np.searchsorted(ends, dots)
        values[owner] /= _POWERS[ends[owner] - dots - 1]
    if b"-" in block:
        values[np.searchsorted(ends, np.flatnonzero(text == _MINUS))] *= -1
    return values, ends
