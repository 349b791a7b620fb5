"""Two frames meet by their column names, in every measure."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.optional import optional

from hyperlabel import metrics

pd = optional("pandas")
pa = optional("pyarrow")

NAMES = ["a", "b", "c", "d"]
RNG = np.random.default_rng(0)
Y = pd.DataFrame((RNG.random((30, 4)) < [0.2, 0.4, 0.6, 0.5]).astype(int), columns=NAMES)
P = pd.DataFrame((RNG.random((30, 4)) < 0.3 + 0.5 * Y), columns=NAMES).astype(int)
S = pd.DataFrame((RNG.random((30, 4)) + Y) / 2, columns=NAMES)
ORDER = ["c", "a", "d", "b"]
MEASURES = {
    "hamming_loss": P,
    "subset_accuracy": P,
    "f1_score": P,
    "precision_score": P,
    "recall_score": P,
    "ranking_loss": S,
    "one_error": S,
    "coverage_error": S,
    "label_ranking_average_precision": S,
    "roc_auc_score": S,
    "precision_at_k": S,
    "ndcg_at_k": S,
    "log_loss": S,
    "brier_score": S,
}


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_a_measure_of_two_frames_goes_by_names(name):
    measure, guess = getattr(metrics, name), MEASURES[name]
    options = {"average": None} if name in ("f1_score", "log_loss", "roc_auc_score") else {}
    options |= {"k": 2} if name.endswith("_at_k") else {}
    expected = measure(Y, guess, **options)
    close = {"rtol": 1e-13}  # pandas versions lay out columns differently, and sums follow the layout
    assert_allclose(measure(Y, guess[ORDER], **options), expected, **close)
    assert_allclose(measure(Y, pa.Table.from_pandas(guess[ORDER]), **options), expected, **close)
    assert_allclose(measure(Y.to_numpy(), guess.to_numpy(), **options), expected, **close)
    with pytest.raises(ValueError, match="'d' is missing and 'e' is not in y_true"):
        measure(Y, guess.rename(columns={"d": "e"}), **options)


def test_evaluate_goes_by_names():
    expected = metrics.evaluate(Y, P, S, y_proba=S)
    assert metrics.evaluate(Y[ORDER], P, S[NAMES[::-1]], y_proba=S[ORDER]) == pytest.approx(expected)
    assert_array_equal(metrics.reliability(Y, S[ORDER]).observed, metrics.reliability(Y, S).observed)


def test_columns_without_names_go_by_place():
    expected = metrics.evaluate(Y, P)
    assert metrics.evaluate(Y, pd.DataFrame(P.to_numpy())) == expected
    assert metrics.evaluate(pd.DataFrame(Y.to_numpy()), P) == expected
    assert metrics.evaluate(Y.to_numpy(), P) == expected


def test_two_columns_of_one_name_are_refused():
    twice = P.rename(columns={"b": "a"})
    with pytest.raises(ValueError, match="Two columns of y_pred have the same name"):
        metrics.hamming_loss(Y, twice)
