"""What no value of y may change: properties of gaps, weights and bad targets, drawn for every estimator.

Equality is to the bit wherever the same numbers enter the same sums. Labels in another order are other
columns of a matrix product, whose blocks round otherwise, and other coordinates of an eigenproblem. There
results agree to 1e-6 of the largest (or the tolerance named in tests/estimators.py), but for estimators that
take each label by itself (`takes_labels_one_by_one`).
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import has_fit_parameter
from tests.estimators import CLASSIFIERS, DEALT_BY_LABEL, EXCUSES, TRANSFORMERS
from tests.optional import optional
from tests.test_common import assert_same, make_data, outcome

from hyperlabel import (
    AutoMultiLabel,
    BinaryRelevance,
    LabelForest,
    MLkNN,
    MultiLabelCalibrator,
    PartialBinaryRelevance,
    ThresholdTuner,
)

pd = optional("pandas")

N, K = 40, 4
EVERY = [*CLASSIFIERS, *TRANSFORMERS]
WITH_GAPS = [
    model
    for model in EVERY
    if getattr(model, "_accepts_missing_labels", False)
    and getattr(model, "strategy", None) != "precision_at_least"  # which counts whole rows, and says so
]
WRAPPERS = (ThresholdTuner, MultiLabelCalibrator)  # of BinaryRelevance: they pass weights on
WEIGHED = [m for m in WITH_GAPS if has_fit_parameter(m, "sample_weight") or isinstance(m, WRAPPERS)]
BY_ENTRY = [model for model in WEIGHED if isinstance(model, (BinaryRelevance, *WRAPPERS))]
drawn = settings(
    max_examples=5, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck), database=None
)
masks = arrays(bool, (N, K), elements=st.booleans())
entries = arrays(float, (N, K), elements=st.sampled_from([0.0, 1.0]))


def each(models):
    return pytest.mark.parametrize("model", models, ids=str)


def data_with_gaps(mask):
    """Rows and labels, NaN where the mask is set but for four rows, which keep labels of both kinds."""
    X, Y = make_data(3, n=N, k=K)
    Y[0], Y[1] = 0, 1
    Y[2], Y[3] = [0, 1, 0, 1], [1, 0, 1, 0]
    mask = mask.copy()
    mask[:4] = False
    return X, np.where(mask, np.nan, Y.astype(float)), mask


SPELLINGS = {
    "NaN of other bits": lambda gaps: np.where(
        np.isnan(gaps), np.array(0xFFF8_0000_DEAD_BEEF, dtype=np.uint64).view(float), gaps
    ),
    "None": lambda gaps: np.where(np.isnan(gaps), None, gaps.astype(object)),
    "NA": lambda gaps: pd.DataFrame(gaps).astype("Int8"),
    "stored NaN": sparse.csr_array,
}


def takes_labels_one_by_one(model):
    """Whether each label is learned by itself, from numbers that no other label enters."""
    per_label = isinstance(model, BinaryRelevance) and model.estimator is not None
    return per_label or isinstance(model, (MLkNN, LabelForest))


@each(WITH_GAPS)
@drawn
@given(mask=masks, spelling=st.sampled_from(sorted(SPELLINGS)))
def test_how_a_gap_is_written_changes_no_bit(model, mask, spelling):
    X, gaps, _ = data_with_gaps(mask)
    want = outcome(clone(model).fit(X, gaps), X)
    assert np.isfinite(want).all()
    assert_array_equal(outcome(clone(model).fit(X, SPELLINGS[spelling](gaps)), X), want)


@each(BY_ENTRY)
@drawn
@given(mask=masks, behind=entries)
def test_the_value_behind_a_weight_of_0_changes_no_bit(model, mask, behind):
    X, gaps, mask = data_with_gaps(mask)
    weights = np.where(mask, 0.0, 1.0 + (np.arange(N) % 3)[:, None])
    Y = np.where(mask, behind, np.nan_to_num(gaps))
    want = outcome(clone(model).fit(X, np.nan_to_num(gaps), sample_weight=weights), X)
    assert_array_equal(outcome(clone(model).fit(X, Y, sample_weight=weights), X), want)
    assert_array_equal(outcome(clone(model).fit(X, gaps, sample_weight=weights + mask), X), want)


@each(WITH_GAPS)
@drawn
@given(
    mask=masks,
    at=st.lists(st.integers(0, N), min_size=1, max_size=5).map(sorted),
    features=arrays(float, (5, 7), elements=st.floats(-9, 9, width=32)),
)
def test_a_row_without_a_known_label_is_legal_and_changes_no_bit(model, mask, at, features):
    X, gaps, _ = data_with_gaps(mask)
    keeps_rows = ~np.isnan(gaps).all(axis=1)
    X, gaps = X[keeps_rows], gaps[keeps_rows]
    at = np.minimum(at, len(X))
    new = X + 0.125  # scikit-learn rounds the kernel of rows with themselves in another way
    want = outcome(clone(model).fit(X, gaps), new)
    more_X, more_gaps = np.insert(X, at, features[: len(at)], axis=0), np.insert(gaps, at, np.nan, axis=0)
    assert_array_equal(outcome(clone(model).fit(more_X, more_gaps), new), want)


@each(WITH_GAPS)
@drawn
@given(mask=masks, order=st.permutations(range(K)))
def test_labels_in_another_order_are_columns_in_another_order(model, mask, order):
    if EXCUSES.get(id(model), {}).get("label_order") or isinstance(model, AutoMultiLabel):
        pytest.skip(f"{model}: {EXCUSES[id(model)].get('label_order', DEALT_BY_LABEL)}")
    X, gaps, _ = data_with_gaps(mask)
    shares = np.nanmean(gaps, axis=0)
    counts_labels = isinstance(model, PartialBinaryRelevance) or "Frequent" in str(model)
    assume(not counts_labels or len(np.unique(shares)) == K)  # ties go to the first column
    moved, plain = (outcome(clone(model).fit(X, y), X) for y in (gaps[:, order], gaps))
    plain = plain[:, order] if is_classifier(model) else plain
    if takes_labels_one_by_one(model):
        assert_array_equal(moved, plain)
    else:
        assert_same(model, moved, plain)


def refusal(model, X, y, **params):
    """The sentence by which a fit refuses; it is one, and names no internals."""
    with pytest.raises((ValueError, TypeError)) as refused:
        clone(model).fit(X, y, **params)
    sentence = str(refused.value)
    assert "\n" not in sentence
    assert len(sentence) < 300
    assert sentence.endswith(".")
    return sentence


@each(EVERY)
@drawn
@given(value=st.one_of(st.floats(1.001, 1e6), st.floats(-1e6, -1e-3)), at=st.tuples(*[st.integers(0, 3)] * 2))
def test_targets_outside_0_and_1_get_one_sentence(model, value, at):
    X, Y = make_data(3, n=N, k=K)
    Y = Y.astype(float)
    Y[at] = value
    assert "must hold only 0 and 1" in refusal(model, X, Y)


@each(EVERY)
def test_weights_that_cannot_be_get_one_sentence(model):
    X, Y = make_data(3, n=N, k=K)
    if model in WEIGHED:
        assert "Negative values" in refusal(model, X, Y, sample_weight=-np.ones(N))
        assert "at least one non-zero" in refusal(model, X, Y, sample_weight=np.zeros(N))
    if model in BY_ENTRY:
        assert "Negative values" in refusal(model, X, Y, sample_weight=-np.ones((N, K)))
        assert "at least one non-zero" in refusal(model, X, Y, sample_weight=np.zeros((N, K)))


@each([model for model in EVERY if model not in BY_ENTRY])
def test_who_cannot_weigh_entries_names_who_can(model):
    X, Y = make_data(3, n=N, k=K)
    if isinstance(model, WRAPPERS):
        pytest.skip(f"{model}: the estimator inside weighs entries")
    assert "BinaryRelevance" in refusal(model, X, Y, sample_weight=np.ones((N, K)))


@each(EVERY)
def test_who_cannot_take_shares_names_who_can(model):
    X, Y = make_data(3, n=N, k=K)
    shares = 0.1 + 0.8 * Y
    if getattr(model, "_accepts_soft_targets", False) and model in WITH_GAPS:
        assert np.isfinite(outcome(clone(model).fit(X, shares), X)).all()
    elif getattr(model, "strategy", None) == "precision_at_least":
        assert "needs every label known, as 0 or 1" in refusal(model, X, shares)
    else:
        assert "such as BinaryRelevance" in refusal(model, X, shares)
