"""Counts of labels among neighbours: against a loop over rows and labels."""

import numpy as np
from numpy.testing import assert_array_equal
from scipy import sparse

from hyperlabel.solvers.neighbors.neighbor_counts import count_tables, known_count_tables, known_counts

rng = np.random.default_rng(0)
Y = (rng.random((30, 4)) < 0.4).astype(float)
NEIGHBORS = np.array([rng.choice(np.delete(np.arange(30), i), 6, replace=False) for i in range(30)])


def test_tables_are_those_of_a_loop():
    with_label, without_label = np.zeros((4, 7)), np.zeros((4, 7))
    for i in range(30):
        for j in range(4):
            (with_label if Y[i, j] else without_label)[j, int(Y[NEIGHBORS[i], j].sum())] += 1
    found = count_tables(NEIGHBORS, sparse.csr_array(Y))
    assert_array_equal(found[0], with_label)
    assert_array_equal(found[1], without_label)
    nothing = sparse.csr_array((30, 4))
    for table, known_table in zip(
        found, known_count_tables(NEIGHBORS, sparse.csr_array(Y), nothing), strict=True
    ):
        assert_array_equal(known_table, table)


def test_known_neighbours_speak_for_all():
    unknown = rng.random((30, 4)) < 0.6
    known_Y, missing = sparse.csr_array(Y * ~unknown), sparse.csr_array(unknown.astype(float))
    counts = known_counts(NEIGHBORS, known_Y, missing)
    tables = np.zeros((2, 4, 7))
    for i in range(30):
        for j in range(4):
            values = Y[NEIGHBORS[i], j][~unknown[NEIGHBORS[i], j]]
            want = int(np.floor(6 * values.sum() / len(values) + 0.5)) if len(values) else -1
            assert counts[i, j] == want
            if want >= 0 and not unknown[i, j]:
                tables[int(Y[i, j]), j, want] += 1
    found = known_count_tables(NEIGHBORS, known_Y, missing)
    assert_array_equal(found[0], tables[1])
    assert_array_equal(found[1], tables[0])
