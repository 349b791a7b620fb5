"""Label sets are compared with what a model says by names, and labels it does not know count as missed.

The oracle of every measure is the indicator of `MultiLabelBinarizer` over the names of both sides: a label
that the model does not know is never predicted, has probability 0 and the lowest score.
"""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer, StandardScaler

from hyperlabel import AutoMultiLabel, BinaryRelevance, MultiLabelCalibrator, ThresholdTuner, metrics
from hyperlabel.model_selection import cross_val_scores

SCORERS = metrics.get_scorer_names()
NAMES = ["ant", "bee", "cat", "dog", "eel", "fox"]


def draw_tags(names, seed, n_rows=150):
    """Rows, and the tags that a linear rule gives them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    on = X @ np.random.default_rng(9).normal(size=(5, 6)) + 0.5 * rng.normal(size=(n_rows, 6)) > 0.8
    columns = [NAMES.index(name) for name in names]
    return X, [[NAMES[j] for j in columns if row[j]] for row in on]


def to_oracle(tags, model_names, answer, missing):
    """Indicator of the tags, and the answer, on the same columns: the sorted names of both sides."""
    names = sorted({*model_names, *(name for row in tags for name in row)})
    truth = MultiLabelBinarizer(classes=names).fit(tags).transform(tags)
    answer = answer.toarray() if sparse.issparse(answer) else np.asarray(answer)
    wide = np.full(truth.shape, missing, dtype=float)
    for j, name in enumerate(model_names):
        wide[:, names.index(name)] = answer[:, j]
    return truth, wide


class MethodSpec(ClassifierMixin, BaseEstimator):
    """A fitted classifier with given answers, as a scorer sees it."""

    def __init__(self, label_names, scores):
        self.label_names_, self.scores = np.array(label_names, object), scores
        self.classes_ = np.arange(len(label_names))

    def fit(self, X, y):
        return self

    def decision_function(self, X):
        return self.scores

    def predict(self, X):
        return sparse.csr_array(self.scores > 0).astype(int)

    def predict_proba(self, X):
        return 1.0 / (1.0 + np.exp(-self.scores))


def value_of_oracle(name, tags, model_names, scores):
    """The measure of a scorer on hand-made indicators; None for precision at 5 of fewer labels."""
    scorer = metrics.get_scorer(name)
    lowest = scores.min() - 1.0
    answers = {
        "predict": to_oracle(tags, model_names, scores > 0, 0),
        ("decision_function", "predict_proba"): to_oracle(tags, model_names, scores, lowest),
        ("predict_proba",): to_oracle(tags, model_names, 1.0 / (1.0 + np.exp(-scores)), 0.0),
    }
    truth, answer = answers[scorer._response_method]
    if scorer._kwargs.get("k", 0) > truth.shape[1]:
        return None
    answer = answer.astype(int) if scorer._response_method == "predict" else answer
    return scorer._score_func(truth, answer, **scorer._kwargs)


def value_of_scorer(name, estimator, X, y):
    scorer = metrics.get_scorer(name)
    return scorer._sign * scorer(estimator, X, y)


def test_the_labels_of_training_and_test_overlap_in_part():
    X, tags = draw_tags(["ant", "bee", "cat"], seed=0)
    model = BinaryRelevance(alpha=1.0).fit(X, tags)
    X, tags = draw_tags(["bee", "cat", "dog"], seed=1)
    want = metrics.f1_score(tags, model.predict_labels(X), average="micro")
    assert_allclose(metrics.get_scorer("f1_micro")(model, X, tags), want)
    with pytest.raises(ValueError, match="label_names"):
        metrics.evaluate(tags, model.predict(X))
    named = metrics.evaluate(tags, model.predict(X), label_names=model.label_names_)
    assert_allclose(named["f1_micro"], want)
    assert_allclose(metrics.evaluate(tags, model.predict_labels(X))["f1_micro"], want)


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize("model_names", [NAMES[:4], ["fox", "ant", "eel"], ["bee"], NAMES[::-1]])
def test_every_scorer_equals_the_oracle_over_the_names_of_both(name, model_names):
    X, tags = draw_tags(["bee", "ant", "eel", "dog"], seed=2)
    scores = np.random.default_rng(3).normal(size=(len(tags), len(model_names)))
    want = value_of_oracle(name, tags, model_names, scores)
    if want is not None:
        assert_allclose(value_of_scorer(name, MethodSpec(model_names, scores), X, tags), want)


@pytest.mark.parametrize("name", SCORERS)
def test_a_frame_in_another_order_is_compared_by_names(name):
    X, tags = draw_tags(NAMES[:5], seed=4)
    frame = pd.DataFrame(MultiLabelBinarizer(classes=NAMES[:5]).fit_transform(tags), columns=NAMES[:5])
    model = BinaryRelevance(alpha=1.0, cv=3).fit(X, frame)
    scorer = metrics.get_scorer(name)
    want = scorer(model, X, frame.to_numpy())
    assert_allclose(scorer(model, X, frame[frame.columns[::-1]]), want)
    with pytest.raises(ValueError, match="'ant' is not in y_true"):
        scorer(model, X, frame.drop(columns="ant"))


def test_a_frame_with_a_label_the_model_does_not_know():
    X, tags = draw_tags(NAMES[:5], seed=4)
    frame = pd.DataFrame(MultiLabelBinarizer(classes=NAMES[:5]).fit_transform(tags), columns=NAMES[:5])
    model = BinaryRelevance(alpha=1.0).fit(X, frame[NAMES[1:5]])
    for name in ("f1_macro", "ranking_loss", "ndcg_at_3"):
        scorer = metrics.get_scorer(name)
        assert_allclose(scorer(model, X, frame), scorer(model, X, tags))


WRAPPERS = {
    "pipeline": lambda: make_pipeline(StandardScaler(), BinaryRelevance(alpha=1.0, cv=2)),
    "grid search": lambda: GridSearchCV(
        BinaryRelevance(cv=2), {"alpha": [1.0, 10.0]}, scoring=metrics.get_scorer("f1_micro"), cv=KFold(2)
    ),
    "grid search in a pipeline": lambda: make_pipeline(
        StandardScaler(),
        GridSearchCV(
            make_pipeline(BinaryRelevance(cv=2)), {"binaryrelevance__alpha": [1.0, 10.0]},
            scoring=metrics.get_scorer("ranking_loss"), cv=KFold(2),
        ),
    ),
    "tuner": lambda: ThresholdTuner(BinaryRelevance(alpha=1.0, cv=2), cv=2),
    "tuner around a pipeline": lambda: ThresholdTuner(
        make_pipeline(StandardScaler(), BinaryRelevance(alpha=1.0, cv=2)), cv=2
    ),
    "calibrator": lambda: MultiLabelCalibrator(BinaryRelevance(alpha=1.0), cv=2),
    "automatic": lambda: AutoMultiLabel("f1_micro", methods=["ridge"], cv=2),
}  # fmt: skip


@pytest.mark.parametrize("kind", sorted(WRAPPERS))
def test_scorers_find_the_names_through_wrappers(kind):
    X, tags = draw_tags(NAMES[:4], seed=5)
    model = WRAPPERS[kind]().fit(X, tags)
    X, tags = draw_tags(NAMES[2:], seed=6)
    truth, predicted = to_oracle(tags, NAMES[:4], model.predict(X), 0)
    found = {name: metrics.get_scorer(name)(model, X, tags) for name in ("f1_micro", "subset_accuracy")}
    assert_allclose(found["f1_micro"], metrics.f1_score(truth, predicted, average="micro"))
    assert_allclose(found["subset_accuracy"], metrics.subset_accuracy(truth, predicted))
    scores = model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)
    want = metrics.ndcg_at_k(*to_oracle(tags, NAMES[:4], scores, scores.min() - 1.0), k=3)
    assert_allclose(metrics.get_scorer("ndcg_at_3")(model, X, tags), want)


@pytest.fixture(scope="module")
def rows_with_a_rare_tag():
    X, tags = draw_tags(NAMES[:5], seed=7, n_rows=60)
    tags[3] = [*tags[3], "rare"]
    return X, tags


@pytest.mark.parametrize("name", SCORERS)
def test_folds_that_lack_a_rare_tag_have_finite_scores(name, rows_with_a_rare_tag):
    X, tags = rows_with_a_rare_tag
    model = make_pipeline(StandardScaler(), BinaryRelevance(alpha=1.0, cv=2))
    scorer = metrics.get_scorer(name)
    found = cross_val_score(model, X, tags, scoring=scorer, cv=KFold(3), error_score="raise")
    assert np.isfinite(found).all()
    ours = cross_val_scores(model, X, tags, scoring=name, cv=[(np.arange(20, 60), np.arange(20))])
    assert np.isfinite(ours["test_score"]).all()


def test_several_scorers_at_once_and_the_score_of_the_model_itself(rows_with_a_rare_tag):
    X, tags = rows_with_a_rare_tag
    folds = [(np.arange(20, 60), np.arange(20)), (np.arange(40), np.arange(40, 60))]
    scoring = {name: metrics.get_scorer(name) for name in ("f1_micro", "subset_accuracy", "ranking_loss")}
    found = cross_validate(
        BinaryRelevance(alpha=1.0), X, tags, scoring=scoring, cv=folds, error_score="raise"
    )
    own = cross_val_score(BinaryRelevance(alpha=1.0), X, tags, cv=folds, error_score="raise")
    assert_allclose(own, found["test_subset_accuracy"])
    model = BinaryRelevance(alpha=1.0).fit(X[20:], tags[20:])
    assert_allclose(
        found["test_f1_micro"][0], metrics.f1_score(tags[:20], model.predict_labels(X[:20]), average="micro")
    )


def test_score_counts_a_row_with_a_label_the_model_does_not_know_as_wrong():
    X, tags = draw_tags(NAMES[:3], seed=8)
    model = BinaryRelevance(alpha=1.0).fit(X, tags)
    said = model.predict_labels(X)
    assert model.score(X, said) == 1.0
    said[0], said[5] = [*said[0], "gnu"], ["gnu"]
    assert_allclose(model.score(X, said), 1.0 - 2 / len(X))
    weights = np.arange(1.0, len(X) + 1.0)
    assert_allclose(model.score(X, said, weights), 1.0 - 7.0 / weights.sum())
    assert_allclose(make_pipeline(model).score(X, said), 1.0 - 2 / len(X))


def test_score_takes_a_frame_by_names():
    X, tags = draw_tags(NAMES[:3], seed=8)
    model = BinaryRelevance(alpha=1.0).fit(X, tags)
    frame = pd.DataFrame(model.predict(X).toarray(), columns=NAMES[:3])
    assert model.score(X, frame[["cat", "ant", "bee"]]) == 1.0
    assert model.score(X, frame.assign(gnu=0)) == 1.0
    assert model.score(X, frame.assign(gnu=1)) == 0.0
    with pytest.raises(ValueError, match="no column 'ant'"):
        model.score(X, frame[["cat", "bee"]])


@pytest.mark.parametrize("name", ["f1_micro", "ranking_loss"])
def test_tags_cannot_be_compared_with_a_model_that_knows_no_names(name):
    X, tags = draw_tags(NAMES[:3], seed=8)
    Y = MultiLabelBinarizer().fit_transform(tags)
    for model in (RidgeClassifier(), BinaryRelevance(), make_pipeline(BinaryRelevance())):
        with pytest.raises(ValueError, match="fitted on label names"):
            metrics.get_scorer(name)(model.fit(X, Y), X, tags)


@pytest.mark.parametrize(
    "name", ["ranking_loss", "precision_at_k", "roc_auc_score", "log_loss", "reliability"]
)
def test_scores_without_names_are_not_compared_with_tags(name):
    with pytest.raises(ValueError, match="y_true names its labels"):
        getattr(metrics, name)([["a"], ["b"]], np.array([[0.9, 0.1], [0.3, 0.8]]))


def test_lists_of_the_best_labels_go_by_names_too():
    X, tags = draw_tags(NAMES[:4], seed=5)
    model = BinaryRelevance(alpha=1.0).fit(X, tags)
    X, tags = draw_tags(NAMES[2:], seed=6)
    with pytest.raises(ValueError, match="label_names"):
        metrics.evaluate(tags, y_score=model.predict_topk(X, k=3))
    found = metrics.evaluate(tags, y_score=model.predict_topk(X, k=3), label_names=model.label_names_)
    want = metrics.evaluate(tags, y_score=model.decision_function(X), label_names=model.label_names_)
    for name in ("precision_at_1", "precision_at_3", "ndcg_at_3", "one_error"):
        assert_allclose(found[name], want[name])


def test_rows_without_any_label_are_label_sets_where_names_are_known():
    X, tags = draw_tags(NAMES[:3], seed=8)
    model = BinaryRelevance(alpha=1.0).fit(X, tags)
    nothing = [[] for _ in tags]
    share = np.mean([not row for row in model.predict_labels(X)])
    assert_allclose(metrics.get_scorer("subset_accuracy")(model, X, nothing), share)
    assert_allclose(metrics.evaluate(nothing, model.predict_labels(X))["subset_accuracy"], share)
    assert_allclose(model.score(X, nothing), share)


def test_label_names_must_fit_the_columns():
    with pytest.raises(ValueError, match="3 labels are named, y_pred has 2 columns"):
        metrics.evaluate([["a"], ["b"]], np.eye(2, dtype=int), label_names=["a", "b", "c"])


tag_sets = st.lists(st.sets(st.sampled_from(NAMES), max_size=4), min_size=2, max_size=8).filter(any)


@given(tag_sets, st.permutations(NAMES), st.integers(1, 6), st.integers(0, 10**6))
def test_values_depend_on_names_alone(tags, order, n_known, seed):
    model_names = order[:n_known]
    scores = np.random.default_rng(seed).normal(size=(len(tags), n_known)).round(1)
    shuffled = np.random.default_rng(seed + 1).permutation(n_known)
    X, tags = np.zeros((len(tags), 1)), [sorted(row) for row in tags]
    for name in ("f1_macro", "hamming_loss", "subset_accuracy", "ranking_loss", "coverage_error", "log_loss"):
        want = value_of_oracle(name, tags, model_names, scores)
        for columns in (np.arange(n_known), shuffled):
            model = MethodSpec([model_names[j] for j in columns], scores[:, columns])
            assert_allclose(value_of_scorer(name, model, X, tags), want, err_msg=name)
