"""``classes=`` names every label a stream will bring: tag lists, indicators and classes alike."""

from __future__ import annotations

import numpy as np
import pytest

from hyperlabel import PLST, BinaryRelevance, outofcore

NAMES = ["c", "a", "b"]
TAGS = [["a"], ["a", "b"], [], ["b"], ["c"], ["a", "c"], ["b", "c"], ["a"]]
X = np.random.default_rng(0).normal(size=(8, 3))
Y = np.array([[int(name in row) for name in NAMES] for row in TAGS])


@pytest.mark.parametrize("make", [lambda: BinaryRelevance(alpha=1.0), lambda: PLST(n_components=2)])
def test_a_stream_of_tag_lists_equals_the_fit_on_all_rows(make):
    """The first batch lacks 'c': the model refused it in the second although classes named it."""
    stream = make().partial_fit(X[:4], TAGS[:4], classes=NAMES).partial_fit(X[4:6], TAGS[4:6])
    stream.partial_fit(X[6:], TAGS[6:], classes=NAMES)
    assert list(stream.label_names_) == NAMES
    whole = make().partial_fit(X, Y)
    np.testing.assert_allclose(stream.decision_function(X), whole.decision_function(X), atol=1e-10)
    assert set(stream.predict_labels(X)[4]) <= set(NAMES)


def test_a_first_batch_without_any_tag_is_fine():
    model = BinaryRelevance(alpha=1.0).partial_fit(X[:2], [[], []], classes=NAMES)
    assert list(model.label_names_) == NAMES
    model.partial_fit(X[2:], TAGS[2:])
    assert model.predict(X).shape == (8, 3)


def test_tags_beyond_classes_are_refused():
    with pytest.raises(ValueError, match="'c', which the model does not know"):
        BinaryRelevance().partial_fit(X, TAGS, classes=["a", "b"])
    model = BinaryRelevance().partial_fit(X, TAGS, classes=NAMES)
    with pytest.raises(ValueError, match="classes are not those of the first call"):
        model.partial_fit(X, TAGS, classes=[*NAMES, "d"])
    with pytest.raises(ValueError, match="as text, not 1"):
        BinaryRelevance().partial_fit(X, TAGS, classes=[1, 2, 3])


def test_classes_name_the_columns_of_an_indicator():
    model = BinaryRelevance(alpha=1.0).partial_fit(X[:5], Y[:5], classes=NAMES).partial_fit(X[5:], TAGS[5:])
    assert list(model.label_names_) == NAMES
    with pytest.raises(ValueError, match="classes names 2 labels, y has 3 columns"):
        BinaryRelevance().partial_fit(X, Y, classes=["a", "b"])
    assert BinaryRelevance().partial_fit(X, Y, classes=[0, 1, 2]).predict(X).shape == (8, 3)


def test_other_classes_of_a_1d_y_are_refused_later():
    y = np.array(["u", "v"] * 4)
    model = BinaryRelevance().partial_fit(X, y, classes=["u", "v", "w"])
    model.partial_fit(X, y, classes=["w", "v", "u"])
    with pytest.raises(ValueError, match="classes are not those of the first call"):
        model.partial_fit(X, y, classes=["u", "v"])


def test_chunks_of_tag_lists_take_classes_too():
    chunks = [(X[:4], TAGS[:4]), (X[4:], TAGS[4:])]
    model = outofcore.fit(BinaryRelevance(alpha=1.0), chunks, classes=NAMES)
    whole = BinaryRelevance(alpha=1.0).partial_fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-10)
