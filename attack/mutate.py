"""Damage: changes of bytes that know nothing of formats, and words that mean something in some."""

from __future__ import annotations

import random
import re

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
