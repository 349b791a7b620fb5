"""Unknown labels: filled with means, rows without any known label left out."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from hyperlabel.geometry.unknown import (
    fill_unknown,
    find_unknown_labels,
    known_part,
    rank_in_the_middle,
    rows_with_known_labels,
)

nan = np.nan
GAPS = np.array([[1, nan, 0, nan], [nan, nan, nan, nan], [0, nan, 1, 1], [nan, nan, 1, 0]])


def test_gaps_are_filled_with_the_mean_over_the_rows_that_know():
    filled = fill_unknown(sparse.csr_array(GAPS)).toarray()
    means = [0.5, 0.0, 2 / 3, 0.5]  # of the second label nothing is known: it says nothing
    assert_allclose(filled, np.where(np.isnan(GAPS), means, GAPS))
    whole = sparse.csr_array(np.eye(3))
    assert fill_unknown(whole) is whole


def test_rows_without_a_known_label_are_left_out():
    Y = sparse.csr_array(GAPS)
    assert_array_equal(rows_with_known_labels(Y), [0, 2, 3])
    X, known = known_part(np.arange(8.0).reshape(4, 2), Y)
    assert_array_equal(X[:, 0], [0, 4, 6])
    assert_array_equal(known.toarray(), GAPS[[0, 2, 3]])
    assert rows_with_known_labels(sparse.csr_array(GAPS[[0, 2]])) is None
    with pytest.raises(ValueError, match="no known label"):
        known_part(X, sparse.csr_array(np.full((3, 2), nan)))


def test_a_label_that_no_row_knows_gets_the_mean_share_of_the_others():
    unknown_labels, share = find_unknown_labels(sparse.csr_array(GAPS))
    assert_array_equal(unknown_labels, [1])
    assert share == pytest.approx(np.mean([1 / 2, 2 / 3, 1 / 2]))
    scores = np.array([[3.0, 9.0, 1.0], [-3.0, 9.0, 1.0]])
    rank_in_the_middle(scores, np.array([1]))
    assert_allclose(scores[:, 1], [0.0, -1.0], atol=1e-12)
    assert (scores[:, 1] < 0).all()
