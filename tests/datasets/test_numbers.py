"""The array parser reads every number exactly as float does."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperlabel.datasets._numbers import NUMBER, read_plain_numbers

_WORDS = st.one_of(
    st.integers(-(10**18), 10**18).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-1000, 1000, places=6).map(str),
    st.sampled_from(["0", "-0", "1.", ".5", "-.25", "+3", "1e5", "1E-3", "000.1", "-0.0", "123456789012345"]),
)


@given(st.lists(_WORDS, min_size=1, max_size=40), st.sampled_from([",", " ,", ", ", "\n"]))
@settings(max_examples=25, deadline=None)
def test_equal_to_float(words, comma):
    block = comma.join(words).encode() + b"\n"
    found, ends = read_plain_numbers(block, b",")
    expected = [float(word) for word in words]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(expected))
    assert all(block[:end].decode().endswith(word) for word, end in zip(words, ends, strict=True))
    assert all(re.fullmatch(NUMBER, word) for word in words)


@pytest.mark.parametrize("bad", ["x", "1_0", "1-2", "--1", ".", "-", "1.2.3", "é", "0x10", "1e", "?", ""])
def test_not_a_number(bad):
    assert re.fullmatch(NUMBER, bad) is None


def test_a_block_without_numbers_holds_none():
    values, ends = read_plain_numbers(b"{}\n{}\n", b"{}")
    assert values.size == ends.size == 0
