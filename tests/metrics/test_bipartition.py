"""Label-set measures: scikit-learn where definitions agree, hand-worked cases where they don't."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics as sk

from hyperlabel import metrics as hm


@pytest.fixture(params=[7, 1], ids=["7 labels", "1 label"])
def pair(request):
    rng = np.random.default_rng(0)
    return rng.random((60, request.param)) < 0.3, rng.random((60, request.param)) < 0.4


@pytest.mark.parametrize("average", ["micro", "macro", "weighted", None])
@pytest.mark.parametrize("name", ["precision", "recall", "f1"])
@pytest.mark.parametrize("weighted", [False, True])
def test_agrees_with_sklearn(pair, name, average, weighted):
    y, p = pair
    w = np.random.default_rng(1).random(len(y)) if weighted else None
    ours = getattr(hm, f"{name}_score")(sparse.csr_matrix(y), p, average=average, sample_weight=w)
    if y.shape[1] == 1:
        theirs = getattr(sk, f"{name}_score")(y[:, 0], p[:, 0], sample_weight=w)
    else:
        theirs = getattr(sk, f"{name}_score")(y, p, average=average, sample_weight=w, zero_division=0)
    np.testing.assert_allclose(np.ravel(ours), np.ravel(theirs), rtol=1e-12)


def test_hamming_and_subset(pair):
    y, p = pair
    assert hm.hamming_loss(y, sparse.csc_array(p)) == pytest.approx(np.mean(y != p))
    assert hm.subset_accuracy(y, p) == pytest.approx(np.mean((y == p).all(axis=1)))
    w = np.random.default_rng(1).random(len(y))
    assert hm.hamming_loss(y, p, sample_weight=w) == pytest.approx(
        np.average((y != p).mean(axis=1), weights=w)
    )


def test_samples_counts_two_empty_sets_as_right():
    # rows: {0} vs {0, 1}; {} vs {}; {1} vs {}
    y, p = np.array([[1, 0], [0, 0], [0, 1]]), np.array([[1, 1], [0, 0], [0, 0]])
    assert hm.precision_score(y, p, average="samples") == pytest.approx((0.5 + 1 + 0) / 3)
    assert hm.recall_score(y, p, average="samples") == pytest.approx((1 + 1 + 0) / 3)
    assert hm.f1_score(y, p, average="samples") == pytest.approx((2 / 3 + 1 + 0) / 3)
    # the named difference: scikit-learn calls the empty row wrong
    assert sk.f1_score(y, p, average="samples", zero_division=0) == pytest.approx((2 / 3) / 3)


def test_samples_agrees_with_sklearn_where_every_row_has_labels():
    rng = np.random.default_rng(2)
    y, p = rng.random((50, 9)) < 0.4, rng.random((50, 9)) < 0.4
    y[:, 0] = p[:, 1] = True
    for name in ("precision", "recall", "f1"):
        ours = getattr(hm, f"{name}_score")(y, p, average="samples")
        assert ours == pytest.approx(getattr(sk, f"{name}_score")(y, p, average="samples"))


def test_absent_label_counts_zero_and_is_reported():
    y = p = np.array([[1, 0], [1, 0]])
    assert hm.f1_score(y, p) == 0.5
    assert hm.evaluate(y, y_pred=p)["n_labels_absent"] == 1


def test_unknown_entries_count_nowhere():
    nan = np.nan
    y = np.array([[1, nan, 0], [nan, 0, 1], [nan, nan, nan]])
    p = np.array([[1, 1, 1], [0, 0, 1], [1, 1, 1]])
    for truth in (y, sparse.csr_array(y)):
        assert hm.hamming_loss(truth, p) == pytest.approx(1 / 4)
        assert hm.subset_accuracy(truth, p) == pytest.approx(1 / 2)
        assert hm.f1_score(truth, p, average="micro") == pytest.approx(2 * 2 / (2 * 2 + 1))
        np.testing.assert_allclose(hm.precision_score(truth, p, average=None), [1, 0, 0.5])


def test_many_labels_stay_sparse():
    import tracemalloc

    rng = np.random.default_rng(3)
    n, K = 4000, 25_000
    y, p = (sparse.random_array((n, K), density=2e-5, rng=rng, format="csr") for _ in range(2))
    y.data[:], p.data[:] = 1, 1
    tracemalloc.start()
    f1 = hm.f1_score(y, p, average="micro")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * n * K  # a byte an entry would be 100 MB
    assert f1 == pytest.approx(2 * y.multiply(p).sum() / (y.sum() + p.sum()))


@pytest.mark.parametrize(
    ("y", "p", "sentence"),
    [
        ([[1, 2]], [[0, 1]], "only 0 and 1"),
        ([[1, 0]], [[0, 1, 1]], "y_pred has shape"),
        ([[1, 0]], [[0, np.nan]], "NaN"),
        (["a"], [[1]], "y_true must be an indicator"),
    ],
)
def test_bad_input_is_one_sentence(y, p, sentence):
    with pytest.raises(ValueError, match=sentence):
        hm.hamming_loss(y, p)


def test_unknown_average_is_refused():
    with pytest.raises(ValueError, match="average must be"):
        hm.f1_score([[1, 0]], [[1, 0]], average="binary")


def test_label_sets_of_names_are_measured_over_the_labels_of_both():
    y = [["red", "blue"], [], ["green"]]
    p = [{"red"}, ("black",), ["green", "red"]]
    names = ["black", "blue", "green", "red"]
    indicators = [np.array([[name in row for name in names] for row in rows]) for rows in (y, p)]
    for measure in ("hamming_loss", "subset_accuracy", "f1_score", "precision_score"):
        assert getattr(hm, measure)(y, p) == getattr(hm, measure)(*indicators)
    found = hm.evaluate(y, p, per_label=True)
    assert found["n_labels"] == 4
    assert [line["label"] for line in found["per_label"]] == names
    assert hm.f1_score(y, [[], [], []], average="micro") == 0.0


def test_scores_of_label_sets_come_with_the_names_of_their_columns():
    pd = pytest.importorskip("pandas")
    y = [["red"], ["blue"], ["red", "blue"]]
    scores = pd.DataFrame({"red": [0.9, 0.1, 0.8], "blue": [0.2, 0.7, 0.6], "green": [0.3, 0.2, 0.1]})
    indicator = pd.DataFrame({"red": [1, 0, 1], "blue": [0, 1, 1], "green": [0, 0, 0]})
    assert hm.evaluate(y, y_score=scores) == hm.evaluate(indicator, y_score=scores)
    with pytest.raises(ValueError, match="y_true names its labels"):
        hm.ranking_loss(y, scores.to_numpy())
    with pytest.raises(ValueError, match="y_true has no names"):
        hm.f1_score(np.array([[1, 0], [0, 1]]), [["red"], ["blue"]])
