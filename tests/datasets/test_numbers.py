"""The array parser reads every number exactly as float does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hyperlabel.datasets._numbers import find_words, read_numbers

_WORDS = st.one_of(
    st.integers(-(10**18), 10**18).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.decimals(-1000, 1000, places=6).map(str),
    st.sampled_from(["0", "-0", "1.", ".5", "-.25", "+3", "1e5", "1E-3", "000.1", "-0.0", "123456789012345"]),
)


@given(st.lists(_WORDS, min_size=1, max_size=40), st.sampled_from([",", " ,", ", ", "\t,\t"]))
@settings(max_examples=25, deadline=None)
def test_equal_to_float(words, comma):
    block = comma.join(words).encode()
    found = read_numbers(find_words(block, b",\n"))
    assert found is not None
    np.testing.assert_array_equal(found, [float(word) for word in words])
    np.testing.assert_array_equal(np.signbit(found), np.signbit([float(word) for word in words]))


@pytest.mark.parametrize("bad", ["x", "1_0", "1-2", "--1", ".", "-", "1.2.3", "é", "0x10", "1e", "?"])
def test_not_a_number(bad):
    assert read_numbers(find_words(f"1,{bad},2".encode(), b",\n")) is None


def test_marks_and_counts():
    words = find_words(b"{1 2, 3 4}\n{}\n5", b"{},")
    assert words.marks.tobytes() == b"{,}{}"
    assert words.before.tolist() == [0, 2, 2, 0, 0]
    assert words.after == 1
    assert find_words(b"", b"{},").after == 0
    assert read_numbers(find_words(b"", b"{},")).size == 0
