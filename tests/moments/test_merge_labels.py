"""Labels that become one on stored moments: as a fit from scratch, or refused because only the rows know."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from tests.commands import done

import hyperlabel
from hyperlabel import PLST, BinaryRelevance, Moments, ThresholdTuner, update
from hyperlabel.tabular import fit_table, open_model

NAMES = [
    "animal",
    "dog",
    "cat",
    "red",
    "blue",
]  # animal: every dog, every cat and some others; red and blue meet


def draw(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    kind = np.argmax(X[:, :4] + 0.3 * rng.normal(size=(n, 4)), axis=1)
    Y = np.column_stack([kind < 3, kind == 0, kind == 1, X[:, 4] > 0, X[:, 5] > 0.5]).astype(float)
    return X, Y


def frame(Y, names=NAMES):
    import pandas as pd

    return pd.DataFrame(Y, columns=names)


def assert_same(model, other):
    assert [str(name) for name in model.label_names_] == [str(name) for name in other.label_names_]
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=0, atol=1e-8)
    np.testing.assert_allclose(model.intercept_, other.intercept_, rtol=0, atol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_merge_labels_that_never_meet(weighted):
    X, Y = draw()
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X)) if weighted else None
    sums = Moments.from_rows(X, frame(Y), sample_weight=weights)
    pet = sums.edit_labels(rename={"red": "crimson"}, merge={"dog": "pet", "cat": "pet"}, drop=["blue"])
    expected = np.column_stack([Y[:, 0], Y[:, 3], Y[:, 1] + Y[:, 2]])
    scratch = Moments.from_rows(X, frame(expected, ["animal", "crimson", "pet"]), sample_weight=weights)
    for fit in (BinaryRelevance.from_moments, lambda moments: PLST.from_moments(moments, n_components=2)):
        one, other = fit(pet), fit(scratch)
        np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=0, atol=1e-8)
    np.testing.assert_allclose(pet.row_moments.target_gram, scratch.row_moments.target_gram, atol=1e-8)
    assert list(sums.label_names) == NAMES  # as they were
    assert (pet + scratch).n == 2 * len(X)


def test_a_parent_learned_as_a_label_takes_its_children():
    X, Y = draw()
    sums = Moments.from_rows(X, frame(Y)).edit_labels(merge={"dog": "animal", "cat": "animal"})
    names = ["animal", "red", "blue"]
    assert_same(BinaryRelevance.from_moments(sums), BinaryRelevance().fit(X, frame(Y[:, [0, 3, 4]], names)))


def test_a_merged_column_that_there_is_keeps_its_place():
    X, Y = draw()
    sums = Moments.from_rows(X, frame(Y)).edit_labels(merge={"cat": "dog"})
    expected = np.column_stack([Y[:, 0], Y[:, 1] + Y[:, 2], Y[:, 3], Y[:, 4]])
    scratch = BinaryRelevance().fit(X, frame(expected, ["animal", "dog", "red", "blue"]))
    assert_same(BinaryRelevance.from_moments(sums), scratch)


def test_what_needs_the_rows_is_refused():
    X, Y = draw()
    sums = Moments.from_rows(X, frame(Y))
    with pytest.raises(
        ValueError, match="'red' and 'blue' meet, and what their rows have in common only the rows"
    ):
        sums.edit_labels(merge={"red": "colour", "blue": "colour"})
    with pytest.raises(ValueError, match="Shares between 0 and 1 have no union"):
        Moments.from_rows(X, frame(Y / 2)).edit_labels(merge={"dog": "pet", "cat": "pet"})
    with pytest.raises(ValueError, match="'cat' is merged itself"):
        sums.edit_labels(merge={"dog": "cat", "cat": "animal"})
    with pytest.raises(ValueError, match="has no label 'bird'"):
        sums.edit_labels(merge={"bird": "animal"})
    model = BinaryRelevance(solver="gram").fit(X, frame(Y))
    with pytest.raises(ValueError, match="hold no label co-occurrence"):
        model.edit_labels(merge={"dog": "pet", "cat": "pet"})
    assert list(model.label_names_) == NAMES
    gaps = Y.copy()
    gaps[::5, 1] = np.nan
    with pytest.raises(ValueError, match="fit anew on the rows"):
        Moments.from_rows(X, frame(gaps)).edit_labels(merge={"dog": "pet", "cat": "pet"})


def test_models_that_keep_co_occurrence_merge():
    X, Y = draw()
    model = PLST(2).fit(X, frame(Y)).edit_labels(merge={"dog": "pet", "cat": "pet"})
    expected = np.column_stack([Y[:, [0, 3, 4]], Y[:, 1] + Y[:, 2]])
    scratch = PLST(2).fit(X, frame(expected, ["animal", "red", "blue", "pet"]))
    np.testing.assert_allclose(model.decision_function(X), scratch.decision_function(X), atol=1e-8)


def test_models_that_keep_rows_merge_any_labels():
    """Also labels that meet: the rows say how often."""
    X, Y = draw()
    X[np.abs(X) < 0.7] = 0
    model = BinaryRelevance(alpha=1.0).fit(sparse.csr_array(X), frame(Y))
    from hyperlabel.meta.updating import store_rows_if_smaller
    from hyperlabel.solvers.moments.stored_rows import StoredRows

    del model.moments_
    store_rows_if_smaller(model, sparse.csr_array(X), sparse.csr_array(Y))
    assert isinstance(model.moments_, StoredRows)
    model.edit_labels(merge={"red": "colour", "blue": "colour"})
    expected = np.column_stack([Y[:, :3], np.maximum(Y[:, 3], Y[:, 4])])
    scratch = BinaryRelevance(alpha=1.0).fit(sparse.csr_array(X), frame(expected, [*NAMES[:3], "colour"]))
    assert_same(model, scratch)


def test_update_knows_what_the_tree_implies():
    X, Y = draw()
    tree = {"dog": "animal", "cat": "animal"}
    model = ThresholdTuner(BinaryRelevance(solver="gram"), label_tree=tree, cv=3).fit(X, frame(Y))
    merged = update(model, merge_labels={"dog": "animal"})
    assert list(merged.label_names_) == ["animal", "cat", "red", "blue"]
    np.testing.assert_allclose(merged.thresholds_, np.delete(model.thresholds_, 1))
    dropped = update(model, drop_labels=["dog"])
    np.testing.assert_allclose(merged.decision_function(X), dropped.decision_function(X), atol=1e-12)
    with pytest.raises(ValueError, match="only the rows know"):
        update(model, merge_labels={"dog": "cat"})


def test_the_command_merges(tmp_path):
    rows = [
        ("a red rose", "red"),
        ("blue sky", "blue"),
        ("green leaf", "green"),
        ("red and blue", "red;blue"),
    ]
    table, model = tmp_path / "a.csv", tmp_path / "m.hyper"
    table.write_text("text,tags\n" + "\n".join(f"{text},{tags}" for text, tags in rows * 6))
    before = fit_table(str(table), str(model), labels="tags", group="", label_names=False)
    found = done("update", model, "--merge-label", "red=colour", "--merge-label", "blue=colour", "--json")
    assert '"merged_labels": {' in found.stdout
    file = open_model(str(model))
    assert file.columns.label_names == ["green", "colour"]
    tuner = file.model[-1]
    X = file.model[0].transform([text for text, _ in rows * 6])
    Y = np.array([[tags == "green", tags != "green"] for _, tags in rows * 6], dtype=float)
    scratch = BinaryRelevance(alpha=1.0, threshold=0.0).fit(X, Y)
    np.testing.assert_allclose(file.scores([rows[0][0]]), scratch.decision_function(X[[0]]), atol=1e-8)
    red_and_blue = [
        before.model[-1].thresholds_[before.columns.label_names.index(tag)] for tag in ("red", "blue")
    ]
    assert tuner.thresholds_[1] == pytest.approx(np.mean(red_and_blue))
    # rows that use the old names are learned under the new one
    more = tmp_path / "b.csv"
    more.write_text("text,tags\nred blue,red\n")
    done("fit", table, "--labels", "tags", "--group", "", "-o", tmp_path / "n.hyper")
    done("update", tmp_path / "n.hyper", more, "--merge-label", "red=colour", "--merge-label", "blue=colour")
    assert hyperlabel.load(str(tmp_path / "n.hyper"))[-1].label_names_.tolist() == ["green", "colour"]
