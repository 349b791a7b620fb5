"""Estimators with ``label_tree=``: ancestors in training, consistent scores and sets, back off, updates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import hyperlabel
from hyperlabel import AutoMultiLabel, BinaryRelevance, ThresholdTuner, update
from hyperlabel.geometry import LabelTree

PATHS = ["a/b/c", "a/b/d", "a/e", "f/g", "f/h"]
TREE = LabelTree.from_paths(PATHS)
NAMES = sorted(TREE.parents)


def draw(n=240, seed=0, noise=1.0):
    """Rows whose lists name the lowest labels only."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    weights = np.random.default_rng(99).normal(size=(6, len(PATHS)))
    on = X @ weights + noise * rng.normal(size=(n, len(PATHS))) > 1.0
    return X, [[name for name, is_on in zip(PATHS, row, strict=True) if is_on] for row in on]


def assert_consistent(values):
    columns = TREE.columns(NAMES)
    assert (values[:, columns.parent] >= values[:, columns.child]).all()


@pytest.mark.parametrize("strategy", ["per_label", "global", "top_k", "proportional", "expected_f1"])
def test_scores_and_sets_of_a_tuner_are_consistent(strategy):
    X, y = draw()
    tuner = ThresholdTuner(strategy=strategy, k=2, label_tree=TREE).fit(X, y)
    assert list(tuner.label_names_) == NAMES  # ancestors that no list names have columns
    assert_consistent(tuner.decision_function(X))
    predicted = tuner.predict(X).toarray()
    assert_consistent(predicted)
    assert predicted.sum() > 0
    flat = ThresholdTuner(strategy=strategy, k=2).fit(X, TREE.imply(y))
    np.testing.assert_allclose(tuner.estimator_.decision_function(X), flat.estimator_.decision_function(X))


@pytest.mark.parametrize("write", [np.asarray, sparse.csr_array])
def test_an_indicator_is_closed_as_lists_are(write):
    pandas = pytest.importorskip("pandas")
    X, y = draw()
    Y = np.array([[int(name in row) for name in NAMES] for row in y])
    by_lists = ThresholdTuner(label_tree=TREE).fit(X, y)
    frame = pandas.DataFrame(Y, columns=NAMES)
    by_frame = ThresholdTuner(label_tree=dict(TREE.parents)).fit(X, frame)
    np.testing.assert_allclose(by_frame.decision_function(X), by_lists.decision_function(X))
    by_closed = ThresholdTuner().fit(X, write(TREE.imply(Y, NAMES)))
    np.testing.assert_allclose(by_frame.estimator_.coef_, by_closed.estimator_.coef_)


def test_the_portfolio_is_consistent_and_says_so_in_probabilities_of_the_same_order():
    X, y = draw()
    model = AutoMultiLabel("average_precision_micro", methods=["ridge", "plst"], label_tree=TREE).fit(X, y)
    assert_consistent(model.decision_function(X))
    assert_consistent(model.predict(X).toarray())
    flat = AutoMultiLabel("average_precision_micro", methods=["ridge", "plst"]).fit(X, TREE.imply(y))
    columns = TREE.columns(NAMES)
    np.testing.assert_allclose(model.decision_function(X), columns.raise_scores(flat.decision_function(X)))


def test_a_label_without_a_guarantee_backs_off_to_its_nearest_ancestor():
    rng = np.random.default_rng(1)
    n = 1500
    X = np.vstack([rng.normal(size=(n, 2)) * 0.1, rng.normal(size=(n, 2)) * 0.1 + [2, 0]])
    kind = rng.integers(0, 2, 2 * n)  # which of the two leaves: nothing in X tells
    y = [["bird/tit" if kind[i] else "bird/crow"] if i >= n else ["stone"] for i in range(2 * n)]
    tree = LabelTree.from_paths(["bird/tit", "bird/crow"])
    tuner = ThresholdTuner(strategy="precision_at_least", precision=0.9, cv="split", label_tree=tree).fit(
        X, y
    )
    lines = {line["label"]: line for line in tuner.guarantees_}
    assert lines["bird"]["guaranteed"]
    assert not lines["bird/tit"]["guaranteed"]
    assert (lines["bird/tit"]["instead"], lines["bird"]["instead"]) == ("bird", None)
    assert tuner.predict_labels(X[-3:]) == [["bird"]] * 3


def test_guaranteed_sets_are_consistent_and_only_stricter():
    X, y = draw(3000, noise=0.3)
    tuner = ThresholdTuner(strategy="precision_at_least", precision=0.7, cv="split", label_tree=TREE).fit(
        X, y
    )
    assert_consistent(tuner.predict(X).toarray())
    flat = ThresholdTuner(strategy="precision_at_least", precision=0.7, cv="split").fit(X, TREE.imply(y))
    guaranteed = np.isfinite(tuner.guarantees_.thresholds)
    assert guaranteed.sum() >= 4
    leaves = [j for j, name in enumerate(NAMES) if name in PATHS and guaranteed[j]]
    assert (tuner.guarantees_.thresholds[leaves] >= flat.guarantees_.thresholds[leaves] - 1e-12).all()


def test_a_recall_stays_guaranteed_since_sets_only_grow():
    X, y = draw(1500, noise=0.3)
    tuner = ThresholdTuner(strategy="recall_at_least", recall=0.8, cv="split", label_tree=TREE).fit(X, y)
    assert_consistent(tuner.predict(X).toarray())
    assert (tuner.predict(X).toarray() >= tuner.guarantees_.decide(tuner.decision_function(X))).all()


def test_updates_imply_ancestors_and_renames_reach_the_tree():
    X, y = draw()
    tuner = ThresholdTuner(BinaryRelevance(alpha=1.0, solver="gram"), label_tree=TREE).fit(X[:200], y[:200])
    more = update(tuner, (X[200:], y[200:]))
    whole = BinaryRelevance(alpha=1.0, solver="gram", threshold=0.0).fit(X, TREE.imply(y))
    np.testing.assert_allclose(more.estimator_.coef_, whole.coef_, atol=1e-10)
    renamed = update(more, rename_labels={"a/b": "birds", "a/b/c": "tits"})
    assert renamed._get_tree().ancestors("tits") == ["birds", "a"]
    np.testing.assert_allclose(renamed.decision_function(X), more.decision_function(X))
    dropped = update(more, drop_labels=["a/b"])
    kept = [j for j, name in enumerate(NAMES) if name != "a/b"]
    scores = more.estimator_.decision_function(X)[:, kept]
    between = TREE.columns([NAMES[j] for j in kept])  # a/b/c lies right under a now
    np.testing.assert_allclose(dropped.decision_function(X), between.raise_scores(scores))


def test_a_model_file_keeps_the_tree(tmp_path):
    X, y = draw()
    tuner = ThresholdTuner(label_tree=TREE).fit(X, y)
    hyperlabel.save(tuner, tmp_path / "tree.hyper")
    loaded = hyperlabel.load(tmp_path / "tree.hyper")
    np.testing.assert_array_equal(loaded.predict(X).toarray(), tuner.predict(X).toarray())
    assert loaded.label_tree.parents == TREE.parents


@pytest.mark.parametrize(
    ("options", "y", "message"),
    [
        ({"label_tree": "a/b"}, [["a"], ["b"], []], "must be a LabelTree or a mapping"),
        ({"label_tree": TREE}, [0, 1, 1], "about label sets"),
        ({"label_tree": TREE}, np.eye(3, dtype=int), "none of the labels of y"),
        (
            {"label_tree": TREE, "strategy": "precision_at_least", "error_control": "overall"},
            [["a"], ["f"], []],
            "leave label_tree=None",
        ),
    ],
)
def test_what_a_tree_cannot_do_is_refused(options, y, message):
    with pytest.raises(ValueError, match=message):
        ThresholdTuner(**options).fit(np.eye(3), y)
