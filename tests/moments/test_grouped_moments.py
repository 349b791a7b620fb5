"""Sums of labels that do not all count on the same rows: every way to them gives the fit on all rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from tests.optional import optional

import hyperlabel as hl
from hyperlabel import PLST, BinaryRelevance, Moments, outofcore
from hyperlabel.solvers.moments.grouped_moments import (
    GroupedMoments,
    add_sums,
    subtract_sums,
    sums_from_arrays,
)
from hyperlabel.solvers.moments.label_groups import WeightedEntries
from hyperlabel.solvers.moments.row_moments import RowMoments

pa = optional("pyarrow")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(160, 6)) + 3.0
    Y = ((X - 3) @ rng.normal(size=(6, 5)) + rng.normal(size=(160, 5)) > 0.5).astype(float)
    Y[rng.random(Y.shape) < 0.15] = np.nan
    Y[:, 3] = np.where(np.isnan(Y[:, 2]), np.nan, Y[:, 0] == 1)  # the same gaps as label 2
    Y[20:60, 4] = np.nan
    return X, Y, 0.2 + rng.random(Y.shape)


def same_model(found, expected, X):
    assert found.alpha_ == expected.alpha_
    assert_allclose(found.threshold_, expected.threshold_, atol=1e-9)
    assert_allclose(found.decision_function(X), expected.decision_function(X), atol=1e-8)


@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weights", ["none", "rows", "entries", "classes"])
def test_groups_are_the_sums_over_their_own_rows(data, storage, weights):
    X, Y, W = data
    given = {"none": None, "rows": W[:, 0], "entries": W, "classes": None}[weights]
    on_off = np.array([[2.0] * 5, [0.5] * 5]) if weights == "classes" else None
    entries = WeightedEntries.of(sparse.csr_array(Y), given, on_off)
    sums = GroupedMoments.from_rows(storage(X), entries)
    if weights in ("none", "rows"):
        assert sums.group_of[2] == sums.group_of[3]
        assert len(sums.groups) == 4
    for j in range(5):
        known = ~np.isnan(Y[:, j])
        y = Y[known, j]
        w = {"none": np.ones_like(Y), "rows": np.repeat(W[:, :1], 5, axis=1), "entries": W}.get(
            weights, np.where(Y == 1, 2.0, 0.5)
        )[known, j]
        group, Z = sums.groups[sums.group_of[j]], X[known] - sums.shift
        place = list(sums.labels_of(sums.group_of[j])).index(j)
        assert group.weight == pytest.approx(w.sum())
        assert_allclose(group.gram, Z.T @ (w[:, None] * Z), atol=1e-9)
        assert_allclose(group.cross[:, place], Z.T @ (w * y), atol=1e-9)
        assert_allclose(group.sum_targets[place], w @ y)
    assert sums.digits_kept() > 10


def test_sums_add_and_subtract_where_groups_differ(data):
    X, Y, W = data
    whole, first, last = (
        GroupedMoments.from_rows(X[rows], WeightedEntries.of(sparse.csr_array(Y[rows]), W[rows]))
        for rows in (slice(None), slice(0, 70), slice(70, None))
    )
    total = first + last
    for sums in (total, sums_from_arrays(total.to_arrays()), (total + first) - first):
        again = sums.overall.reshift(whole.shift)
        assert_allclose(again.cross, whole.overall.cross, atol=1e-7)
        for j in range(5):
            group = sums.groups[sums.group_of[j]].reshift(whole.shift)
            assert_allclose(group.gram, whole.groups[whole.group_of[j]].gram, atol=1e-7)


def test_plain_sums_turn_into_groups_when_they_must():
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(30, 3)), rng.integers(0, 2, (30, 2)).astype(float)
    plain = RowMoments.from_rows(X[:20], sparse.csr_array(Y[:20]))
    gappy = Y[20:].copy()
    gappy[0, 0] = np.nan
    grouped = GroupedMoments.from_rows(X[20:], WeightedEntries.of(sparse.csr_array(gappy), None))
    both = add_sums(plain.copy(), grouped)
    assert isinstance(both, GroupedMoments)
    assert_allclose(both.weight, [29, 30])
    back = subtract_sums(both, grouped)
    assert_allclose(back.groups[back.group_of[0]].gram, plain.gram, atol=1e-10)


@pytest.mark.parametrize("class_weight", [None, "balanced", {0: 1.0, 1: 2.0}])
def test_blocks_from_disk_give_the_fit_in_memory(data, class_weight):
    X, Y, W = data
    expected = BinaryRelevance(class_weight=class_weight).fit(X, Y, sample_weight=W)
    chunks = [(X[rows], Y[rows], W[rows]) for rows in (slice(0, 50), slice(50, 90), slice(90, 160))]
    found = outofcore.fit(BinaryRelevance(class_weight=class_weight), chunks)
    same_model(found, expected, X)


def test_groups_go_into_plain_arrays_and_back_bit_equal(data):
    X, Y, W = data
    sums = GroupedMoments.from_rows(X, WeightedEntries.of(sparse.csr_array(Y), W))
    again = sums_from_arrays(sums.to_arrays())
    assert_array_equal(again.group_of, sums.group_of)
    for one, two in zip([again.overall, *again.groups], [sums.overall, *sums.groups], strict=True):
        assert_array_equal(one.gram, two.gram)
        assert_array_equal(one.cross, two.cross)


def test_batches_give_the_fit_in_memory_and_go_into_a_file(data, tmp_path):
    X, Y, W = data
    expected = BinaryRelevance().fit(X, Y, sample_weight=W)
    batches = [(X[:80], Y[:80], W[:80]), (X[80:], Y[80:], W[80:])]
    moments = Moments.from_batches(batches)
    same_model(BinaryRelevance.from_moments(moments), expected, X)
    hl.save(moments, tmp_path / "sums.hyper")
    same_model(BinaryRelevance.from_moments(hl.load(tmp_path / "sums.hyper")), expected, X)
    hl.save(expected, tmp_path / "model.hyper")
    loaded = hl.load(tmp_path / "model.hyper")
    loaded.partial_fit(X[:10], Y[:10]).forget(X[:10], Y[:10])
    assert_allclose(loaded.decision_function(X), expected.decision_function(X), atol=1e-8)
    with pytest.raises(ValueError, match="PLST needs every label known and rows of one weight"):
        PLST.from_moments(moments, n_components=2)
    with pytest.raises(ValueError, match="class_weight weighs rows"):
        BinaryRelevance.from_moments(moments, class_weight=[1.0] * 5)
    half = Moments.from_rows(X[:80], Y[:80], sample_weight=W[:80])
    same_model(
        BinaryRelevance.from_moments(moments - half),
        BinaryRelevance().fit(X[80:], Y[80:], sample_weight=W[80:]),
        X,
    )


def test_nulls_of_arrow_label_columns_are_unknown(data):
    X, Y, _ = data
    columns = {f"x{j}": X[:, j] for j in range(6)}
    columns |= {f"y{j}": pa.array(Y[:, j], from_pandas=True) for j in range(5)}
    table = pa.table(columns)
    moments = Moments.from_batches(table, labels=[f"y{j}" for j in range(5)])
    found, expected = BinaryRelevance.from_moments(moments), BinaryRelevance().fit(X, Y)
    assert_allclose(found.coef_, expected.coef_, atol=1e-8)
    assert_allclose(found.intercept_, expected.intercept_, atol=1e-8)


def test_strangers_are_not_forgotten(data):
    X, Y, _ = data
    model = BinaryRelevance().fit(X, Y)
    before = model.decision_function(X)
    with pytest.raises(ValueError, match="not all in the model|cannot forget all"):
        model.forget(X[:40] + 50.0, np.where(np.isnan(Y[:40]), np.nan, 1.0))
    assert_array_equal(model.decision_function(X), before)


def test_models_of_parts_with_gaps_and_weights_merge_into_the_fit_on_all_rows(data):
    X, Y, W = data
    expected = BinaryRelevance().fit(X, Y, sample_weight=W)
    parts = [
        BinaryRelevance().fit(X[rows], Y[rows], sample_weight=W[rows]) for rows in np.split(np.arange(160), 4)
    ]
    for part in parts[1:]:
        parts[0].merge(part)
    same_model(parts[0], expected, X)
    for first in range(40, 160, 40):
        rows = slice(first, first + 40)
        parts[0].forget(X[rows], Y[rows], sample_weight=W[rows])
    same_model(parts[0], BinaryRelevance().fit(X[:40], Y[:40], sample_weight=W[:40]), X)
