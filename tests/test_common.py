"""Our own battery: what scikit-learn's checks do not ask of multi-label estimators.

Runs over the table in ``tests/estimators.py``. A classifier is compared through its scores, a
transformer through pairwise products of its projections (which ignore signs and rotations).
"""

from __future__ import annotations

import joblib
import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import has_fit_parameter
from tests.estimators import CLASSIFIERS, EXCUSES, TOLERANCES, TRANSFORMERS
from tests.optional import optional

from hyperlabel import BinaryRelevance
from hyperlabel._validation import CheckedTargets, check_targets

pd = optional("pandas")

every = pytest.mark.parametrize("model", [*CLASSIFIERS, *TRANSFORMERS], ids=str)
classifiers = pytest.mark.parametrize("model", CLASSIFIERS, ids=str)


def make_data(seed=0, n=80, d=7, k=5):
    """Correlated labels, rows without labels, exact duplicate rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    latent = X @ rng.normal(size=(d, 3)) @ rng.normal(size=(3, k)) + rng.normal(size=(n, k))
    Y = (latent > 0.8).astype(int)
    Y[:4] = 0
    X[10:14], Y[10:14] = X[20:24], Y[20:24]
    return X, Y


def outcome(model, X):
    """What must not change: scores, or products of centred projections."""
    if is_classifier(model):
        return model.decision_function(X)
    Z = np.asarray(model.transform(X))
    Z = Z - Z.mean(axis=0)
    return Z @ Z.T


def tolerance(model):
    return max(TOLERANCES.get(id(model), 0.0), 1e-6)


def assert_same(model, a, b, factor=1.0):
    scale = np.abs(b).max() + 1e-12
    assert_allclose(a / scale, b / scale, atol=factor * tolerance(model), rtol=0)


def skip_if_excused(model, what):
    reason = EXCUSES.get(id(model), {}).get(what)
    if reason is not None:
        pytest.skip(f"{model}: {reason}")


@every
@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_sparse_equals_dense(model, container):
    X, Y = make_data()
    X[np.abs(X) < 0.5] = 0.0
    dense_fit = clone(model).fit(X, Y)
    sparse_fit = clone(model).fit(container(X), container(Y))
    assert_same(model, outcome(sparse_fit, container(X)), outcome(dense_fit, X))
    if is_classifier(model):
        found = sparse_fit.predict(container(X))
        assert sparse.issparse(found)
        assert found.dtype == Y.dtype
        sure = np.abs(dense_fit.decision_function(X)) > 1e-6
        assert_array_equal(found.toarray()[sure], dense_fit.predict(X)[sure])


@every
def test_row_order_does_not_matter(model):
    skip_if_excused(model, "row_order")
    X, Y = make_data(1)
    order = np.random.default_rng(0).permutation(len(X))
    assert_same(model, outcome(clone(model).fit(X[order], Y[order]), X), outcome(clone(model).fit(X, Y), X))


@every
def test_label_order_does_not_matter(model):
    skip_if_excused(model, "label_order")
    X, Y = make_data(2)
    order = np.random.default_rng(0).permutation(Y.shape[1])
    moved, kept = outcome(clone(model).fit(X, Y[:, order]), X), outcome(clone(model).fit(X, Y), X)
    assert_same(model, moved, kept[:, order] if is_classifier(model) else kept)


@every
def test_constant_labels_are_legal(model):
    X, Y = make_data(3)
    Y[:, 1], Y[:, 3] = 0, 1
    fitted = clone(model).fit(X, Y)
    result = outcome(fitted, X)
    assert np.isfinite(result).all()
    if is_classifier(model):
        others = np.delete(result, [1, 3], axis=1)
        assert (result[:, 1] < others.min(axis=1)).all()  # never seen: last
        assert (result[:, 3] > others.max(axis=1)).all()  # always on: first
        assert_array_equal(fitted.predict(X)[:, [1, 3]], np.tile([0, 1], (len(X), 1)))


@every
def test_rows_without_and_with_all_labels_are_legal(model):
    X, Y = make_data(4)
    Y[:10], Y[10:15] = 0, 1
    assert np.isfinite(outcome(clone(model).fit(X, Y), X)).all()


@classifiers
def test_single_label_column_is_legal(model):
    X, Y = make_data(5)
    fitted = clone(model).fit(X, Y[:, [0]])
    assert fitted.predict(X).shape == (len(X), 1)
    assert fitted.decision_function(X).shape == (len(X), 1)


@classifiers
def test_no_row_has_a_label(model):
    X, Y = make_data(5)
    fitted = clone(model).fit(X, np.zeros_like(Y))
    assert not fitted.predict(X).any()


@classifiers
@pytest.mark.parametrize("dtype", [np.uint8, bool, np.int32, np.float32])
def test_label_dtype_comes_back(model, dtype):
    X, Y = make_data(6)
    fitted = clone(model).fit(X, Y.astype(dtype))
    found = fitted.predict(X)
    assert found.dtype == dtype
    assert_array_equal(found.astype(int), clone(model).fit(X, Y).predict(X))


@every
def test_data_frame_names_are_kept(model):
    X, Y = make_data(7)
    frame = pd.DataFrame(X, columns=[f"feature {j}" for j in range(X.shape[1])])
    tags = pd.DataFrame(Y, columns=["sea", "sky", "sand", "sun", "surf"])
    fitted = clone(model).fit(frame, tags)
    assert list(fitted.feature_names_in_) == list(frame.columns)
    assert list(fitted.label_names_) == list(tags.columns)
    assert_same(model, outcome(fitted, frame), outcome(clone(model).fit(X, Y), X))
    with pytest.raises(ValueError, match="feature names"):
        outcome(fitted, frame.rename(columns={"feature 0": "other"}))


@every
def test_read_only_and_fortran_input(model, tmp_path):
    X, Y = make_data(8)
    expected = outcome(clone(model).fit(X, Y), X)
    joblib.dump((X, Y, sparse.csr_array(X), sparse.csr_array(Y)), tmp_path / "data.joblib")
    mapped_X, mapped_Y, sparse_X, sparse_Y = joblib.load(tmp_path / "data.joblib", mmap_mode="r")
    for A, B in ((mapped_X, mapped_Y), (sparse_X, sparse_Y), (np.asfortranarray(X), np.asfortranarray(Y))):
        assert_same(model, outcome(clone(model).fit(A, B), A), expected)


@every
def test_float32_rows(model):
    X, Y = make_data(9)
    single = X.astype(np.float32)
    found = outcome(clone(model).fit(single, Y), single)
    expected = outcome(clone(model).fit(X, Y), X)
    if is_classifier(model):  # a tree or a ranking may flip at a split: nearly all scores must agree
        close = np.abs(found - expected) < 1e-3 * (1 + np.abs(expected)) + tolerance(model)
        assert close.mean() > 0.9
    else:
        assert_same(model, found, expected, factor=1e3)


@every
def test_clone_and_parameters(model):
    params = model.get_params()
    assert clone(model).get_params().keys() == params.keys()
    assert clone(model).set_params(**params).get_params() == params


@every
def test_refit_forgets_the_first_fit(model):
    X, Y = make_data(10)
    other_X, other_Y = make_data(11, n=60, d=4, k=3)
    twice = clone(model).fit(other_X, other_Y).fit(X, Y)
    assert_same(model, outcome(twice, X), outcome(clone(model).fit(X, Y), X))


@every
def test_fit_leaves_its_arguments_alone(model):
    X, Y = make_data(12)
    kept = X.copy(), Y.copy()
    fitted = clone(model)
    before = fitted.get_params()
    fitted.fit(X, Y)
    assert_array_equal(X, kept[0])
    assert_array_equal(Y, kept[1])
    assert fitted.get_params() == before


@every
def test_pipeline_and_grid_search(model):
    X, Y = make_data(13)
    steps = (StandardScaler(), clone(model))
    pipe = make_pipeline(*steps) if is_classifier(model) else make_pipeline(*steps, BinaryRelevance())
    search = GridSearchCV(pipe, {"standardscaler__with_mean": [True, False]}, cv=2).fit(X, Y)
    assert search.predict(X).shape == Y.shape
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@every
def test_metadata_routing_passes_sample_weight(model):
    if not has_fit_parameter(model, "sample_weight"):
        pytest.skip(f"{model} takes no sample weights")
    X, Y = make_data(14)
    weights = np.random.default_rng(0).integers(1, 4, size=len(X)).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = clone(model)
        if getattr(asked, "estimator", None) is not None:
            asked.estimator.set_fit_request(sample_weight=True)
        asked.set_fit_request(sample_weight=True)
        routed = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asked)
        routed.fit(X, Y, sample_weight=weights)
        last = routed[-1]
    direct = clone(model).fit(StandardScaler().fit_transform(X), Y, sample_weight=weights)
    Z = StandardScaler().fit_transform(X)
    assert_same(model, outcome(last, Z), outcome(direct, Z))


@every
def test_same_result_every_time_and_for_any_n_jobs(model):
    X, Y = make_data(15)
    first = outcome(clone(model).fit(X, Y), X)
    assert_array_equal(outcome(clone(model).fit(X, Y), X), first)
    if "n_jobs" in model.get_params():
        with joblib.parallel_config(backend="threading"):  # starting processes would cost seconds each
            assert_array_equal(outcome(clone(model).set_params(n_jobs=2).fit(X, Y), X), first)


@classifiers
def test_a_label_is_predicted_where_its_score_is_positive(model):
    skip_if_excused(model, "sign_of_score")
    X, Y = make_data(16)
    fitted = clone(model).fit(X[:60], Y[:60])
    assert_array_equal(fitted.predict(X), (fitted.decision_function(X) > 0).astype(Y.dtype))


@classifiers
def test_top_labels_and_probabilities_agree_with_the_scores(model):
    X, Y = make_data(16)
    fitted = clone(model).fit(X[:60], Y[:60])
    scores = fitted.decision_function(X)
    best, values = fitted.predict_topk(X, 3)
    assert_array_equal(best, np.argsort(-scores, axis=1, kind="stable")[:, :3])
    assert_allclose(values, np.take_along_axis(scores, best, axis=1))
    assert_array_equal(fitted.classes_, np.arange(Y.shape[1]))
    if hasattr(fitted, "predict_proba"):
        p = fitted.predict_proba(X)
        assert p.shape == Y.shape
        assert ((p > 0) & (p < 1)).all()


@every
def test_bad_input_gets_one_clear_sentence(model):
    X, Y = make_data(17)
    with_nan, with_inf = X.copy(), X.copy()
    with_nan[3, 2], with_inf[3, 2] = np.nan, np.inf
    unknown = Y.astype(float)
    unknown[2, 1] = np.nan
    cases = [
        (with_nan, Y, "NaN"),
        (with_inf, Y, "infinity"),
        (X[:-1], Y, "inconsistent numbers of samples"),
        (X, Y + 1, "only 0 and 1"),
        (X, unknown, "NaN"),
        (X, Y[:, :0], "no label columns"),
        (X[:0], Y[:0], "minimum of"),
        (X, None, "requires y"),
        (X, [["a", 1], ["c"]] * 40, "not all of them hold names"),
    ]
    for bad_X, bad_Y, sentence in cases:
        if bad_Y is unknown and getattr(model, "_accepts_missing_labels", False):
            continue
        with pytest.raises(ValueError, match=sentence):
            clone(model).fit(bad_X, bad_Y)
    fitted = clone(model).fit(X, Y)
    with pytest.raises(ValueError, match="features"):
        outcome(fitted, X[:, :-1])


@classifiers
def test_a_y_that_a_wrapper_validated_gives_the_same_bits(model):
    X, Y = make_data()
    plain = clone(model).fit(X, Y)
    handed_down = clone(model).fit(X, CheckedTargets(*check_targets(Y)))
    assert_array_equal(handed_down.decision_function(X), plain.decision_function(X))
    assert_array_equal(handed_down.predict(X), plain.predict(X))
