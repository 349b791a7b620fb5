"""Raw word counts mislead λ = "auto": whoever fits them is told what to do."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline

from hyperlabel import PLST, AutoMultiLabel, BinaryRelevance, ThresholdTuner


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(0)
    topics = rng.random((80, 3)) < 0.4
    words = rng.poisson(0.3 + topics @ rng.random((3, 30)))
    lengths = np.where(np.arange(80) % 10 == 0, 20, 1)  # one text in ten is long
    return sparse.csr_array((words * lengths[:, None]).astype(float)), topics.astype(int)


@pytest.mark.parametrize("model", [BinaryRelevance(), PLST(2), ThresholdTuner()], ids=repr)
def test_uneven_counts_are_named_with_the_cure(counts, model):
    with pytest.warns(UserWarning, match=r"X holds counts.*TfidfTransformer\(sublinear_tf=True\)") as caught:
        model.fit(*counts)
    assert len(caught) == 1
    make_pipeline(TfidfTransformer(sublinear_tf=True), model).fit(*counts)  # warnings are errors here


def test_other_rows_are_fitted_in_silence(counts):
    X, Y = counts
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BinaryRelevance().fit((X > 0).astype(float), Y)
        BinaryRelevance().fit(0.5 * X, Y)
        BinaryRelevance().fit(-X, Y)
        BinaryRelevance().fit(X.toarray(), Y)
        BinaryRelevance().fit(X[:40], Y[:40])  # too few rows to tell
        BinaryRelevance(alpha=1.0).fit(X, Y)
        AutoMultiLabel(methods=["ridge"], time_budget=5.0).fit(X, Y)  # compares scales itself
