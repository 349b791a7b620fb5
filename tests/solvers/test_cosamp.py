"""Sparse recovery: against a plain NumPy loop, and exact in the regime where it must be."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from hyperlabel.geometry.hypercube import hadamard_order, hadamard_sample
from hyperlabel.solvers import arrays
from hyperlabel.solvers.labels import cosamp
from hyperlabel.solvers.labels.cosamp import solve_sparse_codes


def plain_cosamp(P, r, s, max_iter=30, tol=1e-7):
    """Textbook CoSaMP of one code: least squares by lstsq, no Gram matrix."""
    K = P.shape[1]
    best, support, z = np.linalg.norm(r), np.array([], dtype=int), np.zeros(K)
    residual = r.copy()
    for _ in range(max_iter):
        if best <= tol * np.linalg.norm(r):
            break
        proxy = np.abs(P.T @ residual)
        picked = np.argsort(-proxy, kind="stable")[: 2 * s]
        merged = np.union1d(support, picked)
        b = np.linalg.lstsq(P[:, merged], r, rcond=None)[0]
        keep = np.argsort(-np.abs(b), kind="stable")[:s]
        trial = np.zeros(K)
        trial[merged[keep]] = b[keep]
        residual = r - P @ trial
        if np.linalg.norm(residual) >= best * (1 - 5e-10):
            break
        best, support, z = np.linalg.norm(residual), merged[keep], trial
    return z


def plain_omp(P, r, s):
    support, z = [], np.zeros(P.shape[1])
    residual = r.copy()
    while len(support) < s and np.linalg.norm(residual) > 1e-7 * np.linalg.norm(r):
        support.append(int(np.argmax(np.abs(P.T @ residual))))
        b = np.linalg.lstsq(P[:, support], r, rcond=None)[0]
        z = np.zeros(P.shape[1])
        z[support] = b
        residual = r - P @ z
    return z


@pytest.mark.parametrize(("method", "plain"), [("cosamp", plain_cosamp), ("omp", plain_omp)])
def test_batched_equals_the_plain_loop(method, plain):
    rng = np.random.default_rng(0)
    P = rng.normal(size=(40, 60)) / np.sqrt(40)
    codes = rng.normal(size=(30, 40))  # noise: not sparse at all, every branch is taken
    found = solve_sparse_codes(P, codes, 5, method=method).toarray()
    assert_allclose(found, [plain(P, r, 5) for r in codes], atol=1e-5)


@pytest.mark.parametrize("method", ["cosamp", "omp"])
def test_every_pair_is_recovered_from_enough_measurements(method):
    K, s = 64, 2
    M = min(int(np.ceil(6 * s * np.log(K))), hadamard_order(K))
    P = hadamard_sample(M, K, np.random.default_rng(0))
    Z = np.zeros((K * (K - 1) // 2, K))
    for row, pair in enumerate(itertools.combinations(range(K), s)):
        Z[row, list(pair)] = 1.0
    found = solve_sparse_codes(P, Z @ P.T, s, method=method)
    assert_array_equal(found.toarray() > 0.5, Z > 0)
    assert found.converged.all()


@pytest.mark.parametrize("seed", range(3))
def test_random_sparse_vertices_are_recovered(seed):
    rng = np.random.default_rng(seed)
    K, s = 1000, 8
    P = hadamard_sample(int(np.ceil(6 * s * np.log(K))), K, rng)
    Z = np.zeros((200, K))
    for row in Z:
        row[rng.choice(K, rng.integers(0, s + 1), replace=False)] = 1.0
    found = solve_sparse_codes(P, Z @ P.T, s)
    assert_array_equal(found.toarray() > 0.5, Z > 0)


@pytest.mark.parametrize("method", ["cosamp", "omp"])
def test_too_few_measurements_still_give_an_answer(method):
    rng = np.random.default_rng(1)
    P = hadamard_sample(2, 6, rng)  # emotions at its published M: codes cannot tell labels apart
    codes = rng.normal(size=(50, 2))
    found = solve_sparse_codes(P, codes, 3, method=method)
    assert np.isfinite(found.values).all()
    explained = np.linalg.norm(codes - found.toarray() @ P.T, axis=1) / np.linalg.norm(codes, axis=1)
    assert_allclose(found.residual, explained, atol=1e-6)
    assert (found.residual <= 1).all()


def test_zero_codes_read_only_input_and_too_many_labels():
    P, codes = np.asfortranarray(np.eye(3)), np.zeros((2, 3))
    codes.setflags(write=False)
    found = solve_sparse_codes(P, codes, 2)
    assert not found.toarray().any()
    assert_array_equal(found.residual, 0)
    with pytest.raises(ValueError, match="at most"):
        solve_sparse_codes(np.zeros((1, 20_000)), np.zeros((1, 1)), 1)


def test_patient_cosamp_takes_every_iteration():
    rng = np.random.default_rng(0)
    P, codes = hadamard_sample(8, 30, rng), rng.normal(size=(20, 8))
    eager = solve_sparse_codes(P, codes, 3)
    patient = solve_sparse_codes(P, codes, 3, max_iter=20, patient=True)
    assert (patient.n_iter == 20).all()
    assert (eager.n_iter < 20).any()
    assert (patient.residual >= eager.residual - 1e-9).mean() > 0.5


def test_correlations_are_formed_a_block_of_rows_at_a_time(monkeypatch):
    P = np.random.default_rng(0).normal(size=(8, 20))
    P /= np.linalg.norm(P, axis=0)
    codes, seen = P[:, :7].T.copy(), []
    kernel = cosamp._cosamp_rows
    monkeypatch.setattr(arrays, "BLOCK_BYTES", 3 * 8 * 20)
    monkeypatch.setattr(cosamp, "_cosamp_rows", lambda C, *more: (seen.append(C.shape), kernel(C, *more)))
    found = solve_sparse_codes(P, codes, 1)
    assert seen == [(3, 20), (3, 20), (1, 20)]
    assert_array_equal(found.indices.ravel(), np.arange(7))


def test_rows_come_in_blocks_of_some_megabytes():
    """Small arrays in one block, rows of a megabyte a few at a time, larger ones alone."""
    assert list(arrays.row_blocks(1000, 800)) == [slice(0, 1000)]
    sizes = [rows.stop - rows.start for rows in arrays.row_blocks(100, 2**20)]
    assert sum(sizes) == 100
    assert 8 <= max(sizes) <= 64
    assert [rows.stop - rows.start for rows in arrays.row_blocks(3, 2**40)] == [1, 1, 1]
