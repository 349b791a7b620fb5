"""Unknown entries of y_true count in no measure: scikit-learn by label, masks, permutations, empty rows."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics as sk

from hyperlabel import metrics as hm
from hyperlabel._validation import layout_of_classes
from hyperlabel.metrics.measures import list_measures
from hyperlabel.metrics.scorers import score_known
from hyperlabel.metrics.validation import Truth

MEASURES = {measure.name: measure for measure in list_measures()}


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    n, k = 60, 6
    Y = (rng.random((n, k)) < [0.1, 0.3, 0.5, 0.5, 0.7, 0.9]).astype(float)
    scores = np.clip(rng.random((n, k)) * 0.6 + 0.4 * Y, 0, 1).round(2)
    known = rng.random((n, k)) < 0.7
    known[0] = True  # ranked measures keep a row with every label
    return np.where(known, Y, np.nan), known, scores, (scores > 0.5).astype(float)


def answer_of(measure, scores, sets):
    return sets if measure.reads == "label_sets" else scores


@pytest.mark.parametrize("name", MEASURES)
def test_no_measure_sees_what_is_predicted_for_unknown_entries(data, name):
    y, known, scores, sets = data
    measure = MEASURES[name]
    value = measure(y, answer_of(measure, scores, sets))
    other = np.random.default_rng(1).random(scores.shape)
    changed = np.where(known, scores, other), np.where(known, sets, other > 0.5)
    assert measure(y, answer_of(measure, *changed)) == value
    assert measure(sparse.csr_array(y), answer_of(measure, scores, sets)) == value


@pytest.mark.parametrize("name", MEASURES)
def test_a_row_without_a_known_label_changes_no_bit(data, name):
    y, _, scores, sets = data
    measure = MEASURES[name]
    value = measure(y, answer_of(measure, scores, sets))
    y, scores, sets = (
        np.insert(a, 7, filler, axis=0) for a, filler in ((y, np.nan), (scores, 0.9), (sets, 1))
    )
    assert measure(y, answer_of(measure, scores, sets)) == value


@pytest.mark.parametrize("name", MEASURES)
def test_the_order_of_labels_does_not_matter(data, name):
    y, _, scores, sets = data
    measure = MEASURES[name]
    scores = scores + np.arange(6) * 1e-4  # ties go by column
    order = np.random.default_rng(2).permutation(6)
    value = measure(y, answer_of(measure, scores.clip(0, 1), sets))
    moved = measure(y[:, order], answer_of(measure, scores.clip(0, 1)[:, order], sets[:, order]))
    assert moved == pytest.approx(value, rel=1e-12)


ORACLES = {
    "precision": (hm.precision_score, lambda t, s, p: sk.precision_score(t, p, zero_division=0)),
    "recall": (hm.recall_score, lambda t, s, p: sk.recall_score(t, p, zero_division=0)),
    "f1": (hm.f1_score, lambda t, s, p: sk.f1_score(t, p, zero_division=0)),
    "jaccard": (hm.jaccard_score, lambda t, s, p: sk.jaccard_score(t, p, zero_division=0)),
    "roc_auc": (hm.roc_auc_score, lambda t, s, p: sk.roc_auc_score(t, s)),
    "average_precision": (hm.average_precision_score, lambda t, s, p: sk.average_precision_score(t, s)),
    "log_loss": (hm.log_loss, lambda t, s, p: sk.log_loss(t, s, labels=[0, 1])),
    "brier_score": (hm.brier_score, lambda t, s, p: sk.brier_score_loss(t, s)),
}


@pytest.mark.parametrize("name", ORACLES)
def test_each_label_equals_scikit_learn_on_its_known_rows(data, name):
    y, known, scores, sets = data
    ours, theirs = ORACLES[name]
    uses_sets = name in ("precision", "recall", "f1", "jaccard")
    found = ours(y, sets if uses_sets else scores, average=None)
    expected = [theirs(*(a[known[:, j], j] for a in (y, scores, sets))) for j in range(6)]
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert ours(y, sets if uses_sets else scores) == pytest.approx(np.mean(expected))


def test_pooled_measures_equal_scikit_learn_on_the_known_entries(data):
    y, known, scores, sets = data
    truth, pooled_sets, pooled_scores = y[known], sets[known], scores[known]
    assert hm.hamming_loss(y, sets) == pytest.approx(np.mean(truth != pooled_sets))
    for name, theirs in (("precision", sk.precision_score), ("recall", sk.recall_score), ("f1", sk.f1_score)):
        assert MEASURES[f"{name}_micro"](y, sets) == pytest.approx(theirs(truth, pooled_sets))
    found = MEASURES["average_precision_micro"](y, scores)
    assert found == pytest.approx(sk.average_precision_score(truth, pooled_scores))


def test_evaluate_counts_unknown_entries(data):
    y, known, scores, sets = data
    values = hm.evaluate(y, sets, scores, y_proba=scores)
    assert values["n_unknown"] == (~known).sum()
    assert "n_unknown" not in hm.evaluate(np.nan_to_num(y), sets)
    more = (np.vstack([a, np.full((1, 6), filler)]) for a, filler in ((y, np.nan), (sets, 1), (scores, 0.5)))
    again = hm.evaluate(*more)
    assert again["n_unknown"] == values["n_unknown"] + 6
    assert {**again, "n_unknown": 0} == {name: values[name] if name != "n_unknown" else 0 for name in again}


def test_shares_count_as_the_likelier_answer_and_unknown_at_one_half():
    y, sets = np.array([[0.9, 0.2, 0.5], [1.0, 0.4, 0.6]]), np.array([[1, 0, 1], [0, 1, 1]])
    hard = np.array([[1, 0, np.nan], [1, 0, 1]])
    for measure in MEASURES.values():
        if measure.reads == "label_sets":
            assert measure(y, sets) == measure(hard, sets)
    with pytest.raises(ValueError, match="0 and 1 or shares between them"):
        hm.f1_score([[1.5, 0.0]], [[1, 0]])


def test_reliability_bins_hold_known_entries_only(data):
    y, known, scores, _ = data
    bins = hm.reliability(y, scores, n_bins=4)
    alone = hm.reliability(y[known][:, None], scores[known][:, None], n_bins=4)
    np.testing.assert_array_equal(bins.edges, alone.edges)
    np.testing.assert_allclose(bins.observed, alone.observed)
    assert bins.weight.sum() == known.sum()


def test_scorers_of_others_are_shown_which_entries_nobody_knows():
    Y = sparse.csr_array(np.array([[1.0, np.nan], [0, 1], [1, 0]]))
    shown = []
    score_known(
        lambda model, X, y: shown.append(y) or 0.5,
        Truth.of_targets(Y),
        np.zeros((3, 2)),
        layout_of_classes([0, 1], np.dtype(int)),
        None,
    )
    np.testing.assert_array_equal(shown[0], Y.toarray())
