"""Damage: changes of bytes that know nothing of formats, words that mean something in some, odd arrays."""

from __future__ import annotations

import random
import re

import numpy as np


class Wrong(AssertionError):
    """An attack got through: what was read is not what was written."""


WORDS = [
    *(
        b"0",
        b"1",
        b"-1",
        b"2",
        b"01",
        b"1e1",
        b"1e-9999",
        b"1e400",
        b".5",
        b"5.",
        b"1_0",
        b"+1",
        b"nan",
        b"inf",
    ),
    *(
        b"9" * 20,
        b"9" * 400,
        b"0" * 20 + b"1",
        b"18446744073709551616",
        b"2147483648",
        b"-9223372036854775809",
    ),
    *(
        b",",
        b":",
        b";",
        b"|",
        b" ",
        b"\t",
        b"\n",
        b"\r\n",
        b"\r",
        b"#",
        b"%",
        b"'",
        b'"',
        b"\\",
        b"{",
        b"}",
        b"?",
    ),
    *(
        b"[",
        b"]",
        b"<",
        b">",
        b"&",
        b"/",
        b"\x00",
        b"\x85",
        b"\xa0",
        b"\xff\xfe",
        b"\xef\xbb\xbf",
        b"\xc3\xa9",
    ),
    *(
        b"qid:1",
        b"@data\n",
        b"@attribute a numeric\n",
        b"@relation 'x: -C 2'\n",
        b"{0 1}",
        b"{red,blue}",
        b"-C 99",
    ),
    *(
        b"null",
        b"true",
        b"[1,[2]]",
        b'{"a":1}',
        b"\\ud800",
        b"\\u0000",
        b"2020-01-01",
        b"2020-13-45",
        b"a;b|c,d",
    ),
    *(
        b"<!DOCTYPE a>",
        b"<label name='a'/>",
        b"&lt;",
        b"PK\x03\x04",
        b"PK\x01\x02",
        b"\x93NUMPY",
        b"<f8",
        b"|O",
    ),
    *(
        b"SQLite format 3\x00",
        b"PAR1",
        b"\x1f\x8b\x08",
        b"(((",
        b"True",
        b"shape",
        b"\xed\xa0\x80",
        b"\xf0\x9f\x98\x80",
    ),
]
_NUMBER = re.compile(rb"-?\d+(?:\.\d*)?(?:e[-+]?\d+)?")


def damage(raw: bytes, rng: random.Random) -> bytes:
    """Return the bytes after one to four random changes."""
    found = bytearray(raw)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        found = rng.choice(_CHANGES)(found, rng)
    return bytes(found)


def _flip(raw: bytearray, rng: random.Random) -> bytearray:
    if raw:
        raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
    return raw


def _set(raw: bytearray, rng: random.Random) -> bytearray:
    if raw:
        raw[rng.randrange(len(raw))] = rng.choice((0, 1, 32, 127, 128, 255, rng.randrange(256)))
    return raw


def _cut(raw: bytearray, rng: random.Random) -> bytearray:
    return raw[: rng.randrange(len(raw) + 1)]


def _drop(raw: bytearray, rng: random.Random) -> bytearray:
    start = rng.randrange(len(raw) + 1)
    del raw[start : start + rng.choice((1, 2, 8, 64))]
    return raw


def _repeat(raw: bytearray, rng: random.Random) -> bytearray:
    start, size = rng.randrange(len(raw) + 1), rng.choice((1, 4, 32, 200))
    part = raw[start : start + size]
    place = rng.randrange(len(raw) + 1)
    raw[place:place] = part * rng.choice((1, 1, 3))
    return raw


def _word(raw: bytearray, rng: random.Random) -> bytearray:
    place = rng.randrange(len(raw) + 1)
    raw[place : place + rng.choice((0, 0, 1, 3))] = rng.choice(WORDS)
    return raw


def _number(raw: bytearray, rng: random.Random) -> bytearray:
    found = list(_NUMBER.finditer(bytes(raw)))
    if found:
        one = rng.choice(found)
        raw[one.start() : one.end()] = rng.choice(WORDS[:20])
    return raw


def _swap_lines(raw: bytearray, rng: random.Random) -> bytearray:
    lines = raw.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return bytearray(b"\n".join(lines))


_CHANGES = (_flip, _set, _cut, _drop, _repeat, _word, _word, _number, _number, _swap_lines)


def odd(array: np.ndarray, rng: random.Random) -> np.ndarray:
    """Return an array of another size, type, shape or content."""
    flat = array.ravel().copy()
    kind = rng.randrange(8)
    if kind == 0:
        return flat[: rng.randrange(len(flat) + 1)]
    if kind == 1:
        kinds = ("U2", "S3") if array.dtype.kind in "US" else ("c16", "S3", "U2", "?", "i1", "M8[s]", "f2")
        with np.errstate(all="ignore"):
            return array.astype(rng.choice(kinds), casting="unsafe")
    if kind == 2:
        return array[..., None]
    if kind == 3 and flat.dtype.kind in "fiu" and len(flat):
        with np.errstate(invalid="ignore"):
            flat[rng.randrange(len(flat))] = np.int64(rng.choice((-1, 2**31 - 1, 7, 100))).astype(flat.dtype)
        return flat.reshape(array.shape)
    if kind == 4 and flat.dtype.kind == "f" and len(flat):
        flat[rng.randrange(len(flat))] = rng.choice((np.nan, np.inf, np.finfo(flat.dtype).max))
        return flat.reshape(array.shape)
    if kind == 5:
        return np.asarray(rng.choice((2**40, -1, 0.5)))
    return np.concatenate([flat, flat]) if kind == 6 else flat[::-1].reshape(array.shape)


def odd_throughout(array: np.ndarray, rng: random.Random) -> np.ndarray:
    """Return an array whose every entry, whole width or type is another: shapes may still fit."""
    kind = rng.randrange(10)
    with np.errstate(all="ignore"):
        if kind < 4 and array.dtype.kind == "f":
            number = rng.choice((np.nan, np.inf, -np.inf, 1e300, 1e160, 1e-300))
            return (
                np.full(array.shape, number, dtype=array.dtype)
                if kind < 2
                else (array * number).astype(array.dtype)
            )
        if kind < 4 and array.dtype.kind in "iu":
            number = rng.choice((-1, 0, 1, 10**6, 2**31 - 1, -(2**31)))
            return np.full(array.shape, number, dtype="i8").astype(array.dtype)
        if kind == 4 and array.dtype.kind in "biuf":
            return array.astype(rng.choice(("f4", "f8", "i1", "i4", "i8", "u8", ">f8", ">i4")))
    if kind in (5, 6) and array.ndim:  # one narrower, or shorter, or next to nothing
        fewer = rng.choice((0, 1, -1, -1))
        return array[..., :fewer] if kind == 5 else array[:fewer]
    if kind == 7 and array.ndim:
        return np.concatenate([array, array], axis=rng.randrange(array.ndim))
    return np.ascontiguousarray(array.T) if kind == 8 else array[::-1].copy() if array.ndim else array
