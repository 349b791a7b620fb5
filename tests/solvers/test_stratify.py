"""The compiled deal against the same rule written out plainly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from hyperlabel.solvers import compiling
from hyperlabel.solvers.labels import stratify
from hyperlabel.solvers.labels.stratify import solve_stratify


def plain_deal(counts, shares, size=None, rows_per_fold=None, rng=None):
    """Deal unit by unit with dense arrays, searching the rarest label afresh each time."""
    u, k = counts.shape
    exact = rows_per_fold is not None
    rows = np.ones(u) if size is None else np.asarray(size, dtype=float)
    totals = counts.sum(axis=0)
    due = np.outer(totals, shares)
    got = np.zeros_like(due)
    capacity = np.array(rows_per_fold if exact else shares * rows.sum(), dtype=float)
    rank = np.arange(k) if rng is None else rng.permutation(k)
    draws = np.zeros(u) if rng is None else rng.random(u)
    order = np.argsort(-rows, kind="stable")
    fold = np.full(u, -1)

    def give(place, unit, wishes):
        allowed = [f for f in range(len(shares)) if not exact or capacity[f] >= 0.5]
        best = max(round(wishes[f], 10) for f in allowed)
        allowed = [f for f in allowed if round(wishes[f], 10) == best]
        most = max(round(capacity[f], 10) for f in allowed)
        allowed = [f for f in allowed if round(capacity[f], 10) == most]
        chosen = allowed[int(draws[place] * len(allowed))]
        fold[unit] = chosen
        capacity[chosen] -= rows[unit]
        got[:, chosen] += counts[unit]

    while True:
        left = counts[fold < 0].sum(axis=0)
        waiting = [j for j in range(k) if left[j] > 0]
        if not waiting:
            break
        label = min(waiting, key=lambda j: (left[j], rank[j]))
        for place, unit in enumerate(order):
            if fold[unit] < 0 and counts[unit, label]:
                gained = np.zeros(len(shares))
                for f in range(len(shares)):
                    for j in np.flatnonzero(counts[unit]):
                        now, then = got[j, f] - due[j, f], got[j, f] + counts[unit, j] - due[j, f]
                        gained[f] += (now**2 - then**2) / due[j, f]
                    if not exact:
                        now, then = -capacity[f], rows[unit] - capacity[f]
                        gained[f] += (now**2 - then**2) / (shares[f] * rows.sum())
                give(place, unit, gained)
    for place, unit in enumerate(order):
        if fold[unit] < 0:
            give(place, unit, capacity)
    return fold


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.booleans(), st.booleans())
def test_equals_the_plain_rule(seed, n_folds, grouped, random):
    data = np.random.default_rng(seed)
    u, k = int(data.integers(n_folds, 40)), int(data.integers(1, 7))
    counts = (data.random((u, k)) < data.random(k)).astype(float)
    shares = data.dirichlet(np.full(n_folds, 5.0)) if seed % 2 else np.full(n_folds, 1 / n_folds)
    if grouped:
        size = data.integers(1, 6, size=u)
        counts *= data.integers(1, size[:, None] + 1, size=(u, k))
        extra = {"size": size}
    else:
        exact = np.floor(shares * u).astype(int)
        exact[: u - exact.sum()] += 1
        extra = {"rows_per_fold": exact}
    rng = (lambda: np.random.default_rng(seed)) if random else (lambda: None)
    ours = solve_stratify(sparse.csr_array(counts), shares, rng=rng(), **extra).fold
    np.testing.assert_array_equal(ours, plain_deal(counts, shares, rng=rng(), **extra))
    if not grouped:
        np.testing.assert_array_equal(np.bincount(ours, minlength=n_folds), extra["rows_per_fold"])


def test_plain_python_deals_as_compiled_code_does(monkeypatch):
    """Small tables are dealt without numba; a process that deals more compiles, and must deal the same."""
    rng = np.random.default_rng(0)
    counts = sparse.csr_array((rng.random((400, 30)) < 0.1).astype(float))
    stratify._deal_units.ready()  # what it calls is compiled along, it itself still chooses
    assert callable(stratify._deal_units.for_steps(1))
    folds = {}
    for way in ("_interpret", "ready"):
        kernel = stratify._deal_units
        chosen = kernel._interpret if way == "_interpret" else kernel.ready()
        monkeypatch.setattr(type(kernel), "for_steps", lambda self, n_steps, chosen=chosen: chosen)
        folds[way] = solve_stratify(counts, np.full(5, 0.2), rng=np.random.default_rng(1)).fold
    np.testing.assert_array_equal(folds["_interpret"], folds["ready"])
    assert set(folds["ready"]) == set(range(5))


def test_many_steps_are_compiled_and_few_are_not():
    budget = compiling._StepBudget(10)
    assert [budget.takes(steps) for steps in (4, 7, 6, 1)] == [True, False, True, False]
    budget.close()
    assert not budget.takes(1)


def test_single_label_rows_are_dealt_evenly():
    Y = sparse.csr_array(np.eye(3)[np.random.default_rng(0).integers(0, 3, 100)])
    fold = solve_stratify(Y, np.full(4, 0.25), rows_per_fold=np.full(4, 25)).fold
    std = np.array([Y[fold == f].sum(axis=0) for f in range(4)])
    assert (np.ptp(std, axis=0) <= 1).all()


def test_certificate_is_the_imbalance():
    Y = sparse.csr_array(np.ones((3, 1)))
    result = solve_stratify(Y, np.full(2, 0.5))
    assert result.imbalance == pytest.approx(0.5)
    assert solve_stratify(sparse.csr_array((4, 2)), np.full(2, 0.5)).imbalance == 0.0
