"""The registry of measures, and the measures that came through it, against scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics as sk

from hyperlabel import metrics as hm
from hyperlabel.metrics.measures import Measure, find_measure, get_measure, list_measures, register_measure


@pytest.fixture
def indicator():
    rng = np.random.default_rng(0)
    y = (rng.random((60, 5)) < 0.4).astype(int)
    y[0] = 1  # no row without labels: scikit-learn counts it 0
    y[~y.any(axis=1), 1] = 1
    return y, (rng.random((60, 5)) < 0.4).astype(int), rng.random((60, 5)), rng.random(60)


@pytest.mark.parametrize("average", ["micro", "macro", "weighted", "samples", None])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_jaccard_is_scikit_learns(indicator, average, as_sparse):
    y, predicted, _, w = indicator
    expected = sk.jaccard_score(y, predicted, average=average, sample_weight=w, zero_division=0)
    truth = sparse.csr_array(y) if as_sparse else y
    np.testing.assert_allclose(hm.jaccard_score(truth, predicted, average=average, sample_weight=w), expected)


@pytest.mark.parametrize("average", ["micro", "macro", None])
@pytest.mark.parametrize("as_sparse", [False, True])
def test_average_precision_is_scikit_learns(indicator, average, as_sparse):
    y, _, scores, w = indicator
    expected = sk.average_precision_score(y, scores, average=average, sample_weight=w)
    truth = sparse.csr_array(y) if as_sparse else y
    measured = hm.average_precision_score(truth, scores, average=average, sample_weight=w)
    np.testing.assert_allclose(measured, expected)


def test_labels_without_positives_are_left_out_of_macro_average_precision(indicator):
    y, _, scores, _ = indicator
    y = np.column_stack([y, np.zeros(60, dtype=int)])
    with_empty = np.column_stack([scores, np.zeros(60)])
    assert np.isnan(hm.average_precision_score(y, with_empty, average=None)[-1])
    assert hm.average_precision_score(y, with_empty) == pytest.approx(
        sk.average_precision_score(y[:, :5], scores)
    )


def test_names_and_aliases_lead_to_one_record():
    assert find_measure("example_based_accuracy") is get_measure("jaccard_samples")
    assert find_measure(max) is None
    assert find_measure("accuracy") is None
    assert sorted(measure.name for measure in list_measures()) == hm.get_scorer_names()
    with pytest.raises(ValueError, match="There is a measure 'f1_macro' already"):
        register_measure(Measure("f1_macro", hm.f1_score, "label_sets"))
