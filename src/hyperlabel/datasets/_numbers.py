"""What is a number in a text file, for every reader.

`to_number` and `to_whole` say what counts as a number and as an index, word by word. Where a regular
expression shows that a block of rows holds nothing but `NUMBER`s between marks, `read_plain_numbers` reads
the same values from all of it at once.
"""

import re

import numpy as np

BLANKS = " \t\r\v\f"
WORD = re.compile(f"[^{BLANKS}]+")
_DECIMAL = r"[-+]?+(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][-+]?+[0-9]++)?+"
NUMBER = rf"(?:[0-9](?![.0-9eE])|{_DECIMAL})"  # most are one digit, which this matches in half the time
_BLANK, _MINUS, _DOT, _PLUS, _NEWLINE = b" -.+\n"
_COMMAS_TO_BLANKS = bytes.maketrans(b",\n", b"  ")
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
    blanked_block = block.translate(bytes.maketrans(marks + b"\n", b" " * len(marks + b"\n")))
    block_bytes = np.frombuffer(blanked_block, dtype=np.uint8)
    # In turn where a number starts and where it ends.
    number_edges = np.flatnonzero(np.diff(block_bytes == _BLANK, prepend=True))
    number_ends = number_edges[1::2]
    if b"e" in block or b"E" in block or (number_ends - number_edges[0::2]).max(initial=0) > _LONGEST:
        # The leading 0: of blank text alone fromstring reads −1.
        return np.fromstring("0 " + blanked_block.decode("ascii"), sep=" ")[1:], number_ends
    digit_values = np.fromstring(b"0 " + blanked_block.translate(None, b"+-."), dtype=np.int64, sep=" ")
    number_values = digit_values[1:].astype(np.float64)
    if b"." in block:
        dot_positions = np.flatnonzero(block_bytes == _DOT)
        number_index = np.searchsorted(number_ends, dot_positions)
        number_values[number_index] /= _POWERS[number_ends[number_index] - dot_positions - 1]
    if b"-" in block:
        number_values[np.searchsorted(number_ends, np.flatnonzero(block_bytes == _MINUS))] *= -1
    return number_values, number_ends


def _find_byte(block_bytes: np.ndarray, block: bytes, code: int) -> np.ndarray:
    """Return where a byte stands; a block without it is not compared."""
    return np.flatnonzero(block_bytes == code) if code in block else np.empty(0, np.intp)


def read_decimals(block: bytes, n_columns: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Read rows of decimals between commas: the numbers and the length of each, rows × columns.

    The block holds digits, signs, points, commas and line ends only. None where these are no numbers, or a
    row has not `n_columns` of them. The values are those of `read_plain_numbers`.
    """
    blanked_block = block.translate(_COMMAS_TO_BLANKS)
    block_bytes = np.frombuffer(block, dtype=np.uint8)
    is_end = np.frombuffer(blanked_block, dtype=np.uint8) == _BLANK
    ends = np.flatnonzero(is_end)
    if len(ends) % n_columns:
        return None
    is_last = block_bytes[ends].reshape(-1, n_columns) == _NEWLINE
    if not is_last[:, -1].all() or is_last[:, :-1].any():
        return None
    lengths = np.diff(ends, prepend=-1) - 1
    number_of_byte = np.cumsum(is_end, dtype=np.int32)
    points, minuses, pluses = (_find_byte(block_bytes, block, code) for code in (_DOT, _MINUS, _PLUS))
    signs = np.concatenate([minuses, pluses])
    with_point, with_sign = number_of_byte[points], number_of_byte[signs]
    n_digits = lengths.copy()
    n_digits[with_point] -= 1
    n_digits[with_sign] -= 1
    is_first = signs == ends[with_sign] - lengths[with_sign]
    if (np.diff(with_point) == 0).any() or not is_first.all() or (n_digits < 1).any():
        return None
    if lengths.max() > _LONGEST:
        numbers = np.fromstring(blanked_block.decode("ascii"), sep=" ")
    else:
        digits = blanked_block.translate(None, b"+-.")
        numbers = np.fromstring(digits, dtype=np.int64, sep=" ").astype(np.float64)
        numbers[with_point] /= _POWERS[ends[with_point] - points - 1]
        numbers[number_of_byte[minuses]] *= -1
    return numbers.reshape(-1, n_columns), lengths.reshape(-1, n_columns)
