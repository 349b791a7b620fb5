"""Encoders: alone, in a classifier, and one of a user's own."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.datasets import make_multilabel_classification

from hyperlabel.labelspace import (
    ConditionalPrincipalEncoder,
    FrequentLabelsEncoder,
    HadamardEncoder,
    IdentityEncoder,
    PrincipalEncoder,
    ideal_scores,
)

X, Y = make_multilabel_classification(n_samples=240, n_features=15, n_classes=12, n_labels=3, random_state=0)


@pytest.mark.parametrize(
    "encoder",
    [
        IdentityEncoder(),
        FrequentLabelsEncoder(12),
        PrincipalEncoder(),
        HadamardEncoder(),
        ConditionalPrincipalEncoder(),
    ],
    ids=str,
)
def test_ideal_learner_with_everything_kept_makes_no_error(encoder):
    fitted = encoder.fit(Y, X)
    assert_array_equal(ideal_scores(fitted, Y) > 0, Y)
    assert_array_equal(ideal_scores(fitted, sparse.csr_array(Y)) > 0, Y)


def test_encoders_check_what_they_are_given():
    encoder = PrincipalEncoder(2).fit(Y)
    with pytest.raises(ValueError, match="11 labels"):
        encoder.transform(Y[:, :11])
    with pytest.raises(ValueError, match="3 columns"):
        encoder.inverse_transform(np.zeros((1, 3)))
    with pytest.raises(ValueError, match=r"fit\(y, X\)"):
        ConditionalPrincipalEncoder(2).fit(Y)
