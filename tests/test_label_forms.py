"""Labels as people have them: every form of y, every classifier, the same model."""

from __future__ import annotations

import importlib.util
from copy import deepcopy

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from tests.estimators import CLASSIFIERS
from tests.optional import optional

from hyperlabel import BinaryRelevance, LabelPowerset, ThresholdTuner, explain
from hyperlabel._validation import check_targets
from hyperlabel.model_selection import (
    IterativeStratifiedKFold,
    IterativeStratifiedShuffleSplit,
    iterative_train_test_split,
    out_of_fold_scores,
)

pd = optional("pandas")

NAMES = ["blue", "green", "red"]


def rows(n=40):
    rng = np.random.default_rng(0)
    Y = (rng.random((n, 3)) < 0.4).astype(int)
    Y[:3] = np.eye(3, dtype=int)
    return rng.normal(size=(n, 4)) + Y @ rng.normal(size=(3, 4)) * 2, Y


def sets(Y, kind=list):
    return [kind(NAMES[j] for j in np.flatnonzero(row)) for row in Y]


def polars_list(Y):
    return pytest.importorskip("polars").Series("tags", sets(Y))


def polars_frame(Y):
    return pytest.importorskip("polars").DataFrame(dict(zip(NAMES, Y.T, strict=True)))


def arrow(Y):
    return pytest.importorskip("pyarrow")


FORMS = {
    "lists": sets,
    "tuples": lambda Y: sets(Y, tuple),
    "sets": lambda Y: sets(Y, set),
    "frozen sets in an object array": lambda Y: _objects(sets(Y, frozenset)),
    "a pandas list column": lambda Y: pd.Series(sets(Y)),
    "a pandas frame of one list column": lambda Y: pd.DataFrame({"tags": sets(Y)}),
    "an Arrow-backed pandas list column": lambda Y: pd.Series(
        sets(Y), dtype=pd.ArrowDtype(arrow(Y).list_(arrow(Y).string()))
    ),
    "a polars list column": polars_list,
    "an Arrow list column": lambda Y: arrow(Y).chunked_array([arrow(Y).array(sets(Y))]),
    "a frame of 0/1": lambda Y: pd.DataFrame(Y, columns=NAMES),
    "a frame of truth values": lambda Y: pd.DataFrame(Y.astype(bool), columns=NAMES),
    "a frame of nullable integers": lambda Y: pd.DataFrame(Y, columns=NAMES, dtype="Int64"),
    "a frame of nullable truth values": lambda Y: pd.DataFrame(
        Y.astype(bool), columns=NAMES, dtype="boolean"
    ),
    "a sparse frame": lambda Y: pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(Y), columns=NAMES),
    "a polars frame": polars_frame,
    "an Arrow table": lambda Y: arrow(Y).table(dict(zip(NAMES, Y.T, strict=True))),
}


def _objects(values):
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found


def form_of(name, Y):
    if name.startswith("a polars"):
        pytest.importorskip("polars")
    return FORMS[name](Y)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_indicator_with_the_same_names(form):
    _, Y = rows()
    found, layout = check_targets(form_of(form, Y))
    np.testing.assert_array_equal(found.toarray(), Y)
    assert list(layout.label_names) == NAMES


@pytest.mark.parametrize("model", CLASSIFIERS, ids=lambda m: type(m).__name__)
def test_every_classifier_takes_every_form(model):
    X, Y = rows()
    wanted = clone(model).fit(X, pd.DataFrame(Y, columns=NAMES))
    for form in FORMS:
        if form.startswith("a polars") and importlib.util.find_spec("polars") is None:
            continue
        found = clone(model).fit(X, form_of(form, Y))
        assert list(found.label_names_) == NAMES, form
        np.testing.assert_allclose(
            found.decision_function(X), wanted.decision_function(X), atol=1e-6, err_msg=form
        )
        said = found.predict(X)
        said = said.toarray() if sparse.issparse(said) else np.asarray(said)
        np.testing.assert_array_equal(said, wanted.predict(X), err_msg=form)
    assert wanted.predict_labels(X) == sets(np.asarray(wanted.predict(X)))
    names, scores = wanted.predict_topk(X, 2, names=True)
    places, same = wanted.predict_topk(X, 2)
    assert names.tolist() == [[NAMES[j] for j in row] for row in places]
    np.testing.assert_array_equal(scores, same)
    assert wanted.score(X, sets(Y)) == wanted.score(X, Y)


def test_every_splitter_takes_label_sets():
    X, Y = rows()
    for splitter in (IterativeStratifiedKFold(4), IterativeStratifiedShuffleSplit(2, random_state=0)):
        for (a, b), (c, d) in zip(splitter.split(X, sets(Y)), splitter.split(X, Y), strict=True):
            np.testing.assert_array_equal(a, c)
            np.testing.assert_array_equal(b, d)
    parts = iterative_train_test_split(X, sets(Y), test_size=0.25, random_state=0)
    wanted = iterative_train_test_split(X, Y, test_size=0.25, random_state=0)
    assert [list(part) for part in parts[2:]] == [sets(part) for part in wanted[2:]]


def test_unknown_entries_of_nullable_columns_are_nan():
    X, Y = rows()
    holes = pd.DataFrame(Y, columns=NAMES, dtype="Int64")
    holes.iloc[5, 1] = pd.NA
    known = Y.astype(float)
    known[5, 1] = np.nan
    wanted = BinaryRelevance().fit(X, known)
    wanted_tuned = ThresholdTuner(BinaryRelevance()).fit(X, known)
    for y in (holes, holes.astype("boolean"), pytest.importorskip("pyarrow").Table.from_pandas(holes)):
        found = BinaryRelevance().fit(X, y)
        np.testing.assert_allclose(found.decision_function(X), wanted.decision_function(X))
        assert list(found.label_names_) == NAMES
        tuned = ThresholdTuner(BinaryRelevance()).fit(X, y)
        np.testing.assert_array_equal(tuned.thresholds_, wanted_tuned.thresholds_)
        np.testing.assert_array_equal(np.asarray(tuned.predict(X)), wanted_tuned.predict(X))
        with pytest.raises(ValueError, match="NaN"):
            LabelPowerset().fit(X, y)
        next(IterativeStratifiedKFold(3).split(X, y))


def test_lists_of_numbers_stay_indicator_rows():
    X, Y = rows()
    found = BinaryRelevance().fit(X, Y.tolist())
    assert list(found.label_names_) == ["label0", "label1", "label2"]
    assert found.predict(X).shape == Y.shape
    for wrong in ([[1, 2], [3]] * 20, [{1}, {2}] * 20, [["a"], [1]] * 20):
        with pytest.raises(ValueError, match="Unknown label type"):
            BinaryRelevance().fit(X, wrong)


def test_label_sets_are_never_made_dense():
    n, k = 2000, 40_000
    rng = np.random.default_rng(0)
    y = [[f"t{j}" for j in rng.integers(0, k, 3)] for _ in range(n)]
    found, layout = check_targets(y)
    assert layout.is_sparse
    assert found.nnz <= 3 * n
    frame = pd.DataFrame.sparse.from_spmatrix(sparse.eye(50, format="csr"))
    assert check_targets(frame)[1].is_sparse


def test_more_rows_may_come_as_label_sets():
    X, Y = rows()
    once = BinaryRelevance(alpha=1.0, solver="gram").fit(X, sets(Y))
    twice = BinaryRelevance(alpha=1.0, solver="gram").partial_fit(X[:20], sets(Y[:20]))
    twice.partial_fit(X[20:], [row if i else [] for i, row in enumerate(sets(Y[20:]))])
    twice.forget(X[20:21], [[]])
    twice.partial_fit(X[20:21], sets(Y[20:21]))
    np.testing.assert_allclose(twice.decision_function(X), once.decision_function(X))
    with pytest.raises(ValueError, match="the label 'pink', which the model does not know"):
        deepcopy(twice).partial_fit(X[:1], [["pink"]])


def test_estimators_of_other_libraries_get_an_indicator():
    X, Y = rows()
    tuned = ThresholdTuner(OneVsRestClassifier(LogisticRegression()), cv=3).fit(X, sets(Y))
    wanted = ThresholdTuner(OneVsRestClassifier(LogisticRegression()), cv=3).fit(X, Y)
    np.testing.assert_array_equal(tuned.predict(X).toarray(), wanted.predict(X))
    assert tuned.predict_labels(X) == sets(wanted.predict(X))
    plain = OneVsRestClassifier(LogisticRegression())
    np.testing.assert_allclose(out_of_fold_scores(plain, X, sets(Y)), out_of_fold_scores(plain, X, Y))


def test_explanations_name_the_labels_of_a_wrapped_model():
    X, Y = rows()
    found = explain(ThresholdTuner(BinaryRelevance()).fit(X, sets(Y)), X[:1])
    assert {one.label for one in found} <= set(NAMES)
