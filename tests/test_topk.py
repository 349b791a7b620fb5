"""The k best columns against a stable sort, ties included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from hyperlabel._topk import top_k


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), n=st.integers(1, 6), columns=st.integers(1, 9), data=st.data())
def test_ties_go_to_the_lowest_index(seed, n, columns, data):
    scores = np.random.default_rng(seed).integers(0, 3, size=(n, columns)).astype(float)
    k = data.draw(st.integers(1, columns))
    indices, values = top_k(scores, k)
    assert_array_equal(indices, np.argsort(-scores, axis=1, kind="stable")[:, :k])
    assert_array_equal(values, np.take_along_axis(scores, indices, axis=1))


def test_k_out_of_range_is_refused():
    with pytest.raises(ValueError, match="between 1 and the number of labels"):
        top_k(np.zeros((2, 3)), 4)
