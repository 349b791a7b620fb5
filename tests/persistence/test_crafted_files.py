"""Files made to lead compiled code astray: whatever they say, it never leaves its arrays."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MultiLabelBinarizer, OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.random_projection import SparseRandomProjection
from sklearn.tree import DecisionTreeClassifier
from tests.estimators import CLASSIFIERS, TRANSFORMERS
from tests.persistence.test_bad_files import array_name, forge, good, npy, refused, state  # noqa: F401
from tests.persistence.test_settings import states_with

import hyperlabel
from hyperlabel.persistence import ModelFileError
from hyperlabel.persistence._nodes import DEEPEST
from hyperlabel.solvers.labels.vertex_decode import best_with_and_without
from hyperlabel.solvers.neighbors.nearest import solve_nearest
from hyperlabel.solvers.neighbors.neighbor_counts import look_up

CONTRADICTION = "does not describe a model|does not repeat"


def saved(model, path, **kwargs):
    hyperlabel.save(model, path, **kwargs)
    assert hyperlabel.load(path) is not None
    return path


@pytest.mark.parametrize("position", [10**9, -(10**9), 625, -1])
def test_the_position_of_a_random_state_stays_in_its_key(tmp_path, position):
    X, y = np.eye(3), np.eye(3, dtype=int)
    model = DummyClassifier(strategy="uniform", random_state=np.random.RandomState(0)).fit(X, y)
    path = tmp_path / "m"
    hyperlabel.save(model, path)

    def change(manifest):
        state(manifest)["random_state"]["state"][2] = position

    refused(forge(path, tmp_path / "f", change), "does not describe a model")


@pytest.mark.parametrize(
    "keys",
    [
        np.zeros(3, np.uint32),
        np.zeros(624),
        np.zeros((2, 312), np.uint32),
        np.full(3, np.inf),
        np.full(624, np.inf),
    ],
)
def test_the_key_of_a_random_state_has_its_size(tmp_path, keys):
    model = DummyClassifier(strategy="uniform", random_state=np.random.RandomState(0))
    path = tmp_path / "m"
    hyperlabel.save(model.fit(np.eye(3), np.eye(3, dtype=int)), path)
    name = array_name(path, "random_state", "state", 1)
    forge(path, tmp_path / "f", members={name: npy(keys)})
    if keys.shape == (624,) and np.isfinite(keys).all():  # another key is another model, but a safe one
        refused(tmp_path / "f", CONTRADICTION)
    else:
        refused(tmp_path / "f", "does not describe a model")


def test_a_label_twice_in_a_row_is_refused(good, tmp_path):  # noqa: F811
    """Counted twice, it would be looked up past the end of the table (9e45 in the scores)."""
    names = {part: array_name(good, "_labels", part) for part in ("indices", "indptr", "data")}
    with zipfile.ZipFile(good) as archive:
        arrays = {part: np.load(io.BytesIO(archive.read(name))) for part, name in names.items()}
    twice = {"indices": np.repeat(arrays["indices"], 9), "data": np.repeat(arrays["data"], 9)}
    twice["indptr"] = arrays["indptr"] * 9
    forged = forge(good, tmp_path / "f", members={names[part]: npy(twice[part]) for part in names})
    refused(forged, "does not describe a model")


def test_a_matrix_with_duplicates_is_saved_as_the_equal_one_without(tmp_path):
    X = sparse.csr_array(np.abs(np.random.default_rng(0).normal(size=(6, 3))))
    double = sparse.csr_array(
        (np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), X.indptr * 2), shape=X.shape
    )
    model = hyperlabel.BinaryRelevance().fit(X, np.eye(6, 2, dtype=int))
    saved(model, tmp_path / "m", X=double)
    assert not double.has_canonical_format


def test_unsorted_rows_of_scikit_learn_come_back_as_they_were(tmp_path):
    model = SparseRandomProjection(5, density=0.5, random_state=0).fit(np.ones((9, 40)))
    again = hyperlabel.load(saved(model, tmp_path / "m"))
    np.testing.assert_array_equal(again.components_.indices, model.components_.indices)


@pytest.mark.parametrize(
    "vectoriser", [CountVectorizer(), TfidfVectorizer(), DictVectorizer()], ids=lambda v: type(v).__name__
)
@pytest.mark.parametrize("column", [10**9, -(10**9), 3, -1, 1, 0.0, "1"])
def test_a_vocabulary_names_its_own_columns_only(tmp_path, vectoriser, column):
    rows = [{"a": 1, "b": 2, "c": 3}] if isinstance(vectoriser, DictVectorizer) else ["aa bb cc"]
    path = saved(clone(vectoriser).fit(rows), tmp_path / "m", X=rows)

    def change(manifest):
        state(manifest)["vocabulary_"]["items"][0][1] = column

    refused(forge(path, tmp_path / "f", change), "does not describe a model")


def test_words_are_not_hashed_into_no_columns(tmp_path):
    model = HashingVectorizer(n_features=16).fit(["a b"])
    path = saved(model, tmp_path / "m", X=["some words"])
    forge(path, tmp_path / "f", lambda m: state(m).update(n_features=0))
    refused(tmp_path / "f", "does not describe a model")


def test_wide_sparse_answers_are_compared_without_making_them_dense(tmp_path):
    saved(HashingVectorizer(n_features=2**30).fit(["a b"]), tmp_path / "m", X=["some words", "others"])


def test_a_one_hot_encoder_writes_into_its_own_columns(tmp_path):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(5, size=40), rng.choice([1.0, 2.0, np.nan], 40)])
    plain = OneHotEncoder().fit(X)
    path = saved(plain, tmp_path / "m", X=X)
    categories = array_name(path, "categories_", 0)
    for change in (
        lambda m: state(m).update(_n_features_outs=[1, 3]),
        lambda m: state(m).update(_n_features_outs=[-(10**9), 10**9]),
        lambda m: state(m).update(_n_features_outs=[8]),
    ):
        refused(forge(path, tmp_path / "f", change), "does not describe a model")
    refused(
        forge(path, tmp_path / "f", members={categories: npy(np.array([4.0, 3, 2, 1, 0]))}),
        "does not describe a model",
    )
    for drop in ("first", "if_binary"):
        saved(OneHotEncoder(drop=drop).fit(X), tmp_path / "d", X=X)
    path = saved(OneHotEncoder(drop="first").fit(X), tmp_path / "d", X=X)
    dropped = {"kind": "objects", "shape": [2], "items": [99, 99]}
    refused(
        forge(path, tmp_path / "f", lambda m: state(m).update(_drop_idx_after_grouping=dropped)),
        "does not describe a model",
    )
    rare = OneHotEncoder(min_frequency=15, handle_unknown="infrequent_if_exist", drop="first").fit(X)
    path = saved(rare, tmp_path / "r", X=X)
    with zipfile.ZipFile(path) as archive:
        name = array_name(path, "_default_to_infrequent_mappings", 0)
        mapping = np.load(io.BytesIO(archive.read(name)))
    for wrong in (mapping + 5, mapping - 9):
        refused(forge(path, tmp_path / "f", members={name: npy(wrong)}), "does not describe a model")


def test_polynomials_have_as_many_columns_as_their_degree_makes(tmp_path):
    """More would be returned as they were found in memory."""
    path = saved(PolynomialFeatures(2).fit(np.ones((2, 3))), tmp_path / "m")
    more = {"_n_out_full": 60, "n_output_features_": 60}
    refused(forge(path, tmp_path / "f", lambda m: state(m).update(more)), "does not describe a model")


def test_a_binarizer_numbers_its_classes_anew(tmp_path):
    model = MultiLabelBinarizer(sparse_output=True).fit([["a", "b"]])
    path = saved(model, tmp_path / "m", X=[["a"]])
    stored = {"kind": "dict", "items": [["a", 10**9], ["b", 0]]}
    again = hyperlabel.load(forge(path, tmp_path / "f", lambda m: state(m).update(_cached_dict=stored)))
    assert again.transform([["a"], ["b"]]).toarray().tolist() == [[1, 0], [0, 1]]


def holds_a_tree(estimator):
    return any(isinstance(part, DecisionTreeClassifier) for part in estimator.get_params().values())


SAVEABLE = [estimator for estimator in (*CLASSIFIERS, *TRANSFORMERS) if not holds_a_tree(estimator)]


@pytest.mark.parametrize("estimator", SAVEABLE, ids=repr)
def test_attributes_that_contradict_each_other_never_reach_compiled_code(estimator, tmp_path):
    """Every array of every estimator in turn grows, shrinks or is turned: refused, or numpy says no."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.normal(size=(40, 6)))
    Y = (X @ rng.normal(size=(6, 4)) + rng.normal(size=(40, 4)) > 0).astype(int)
    path = tmp_path / "m"
    hyperlabel.save(clone(estimator).fit(X, Y), path)
    hyperlabel.load(path)
    with zipfile.ZipFile(path) as archive:
        arrays = {n: archive.read(n) for n in archive.namelist() if n.startswith("arrays/")}
    loaded = 0
    for name, content in arrays.items():
        array = np.load(io.BytesIO(content))
        if array.ndim == 0:
            continue
        for changed in (array[:1], array[: len(array) // 2], np.concatenate([array, array]), array.T[:2].T):
            forge(path, tmp_path / "f", members={name: npy(changed)})
            try:
                model = hyperlabel.load(tmp_path / "f", check=False)
            except ModelFileError:
                continue
            loaded += 1
            for method in ("decision_function", "predict_proba", "transform"):
                if hasattr(model, method):
                    try:
                        answer = getattr(model, method)(X)
                    except (ValueError, IndexError, TypeError):
                        continue
                    assert np.isfinite(answer).all()
    assert loaded < 4 * len(arrays)


def stored_array(path, name):
    with zipfile.ZipFile(path) as archive:
        return np.load(io.BytesIO(archive.read(name)))


@pytest.mark.parametrize("decoder", ["cosamp", "omp"])
@pytest.mark.parametrize("attribute", ["components_", "gram_"])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_numbers_that_are_none_do_not_lead_sparse_recovery_astray(tmp_path, decoder, attribute, value):
    """Such a file ended the process by a signal, in `load`."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(60, 6)), (rng.random((60, 12)) < 0.3).astype(int)
    path = tmp_path / "m"
    hyperlabel.save(hyperlabel.CompressedSensing(8, decoder=decoder, random_state=0).fit(X, Y), path, X=X)
    names = []

    def look(manifest):
        names.extend(state[attribute]["name"] for state in states_with(manifest["model"], "gram_"))

    forge(path, path, look)
    changed = np.full_like(stored_array(path, names[0]), value)
    forged = forge(path, tmp_path / "f", members={names[0]: npy(changed)})
    refused(forged, CONTRADICTION)
    model = hyperlabel.load(forged, check=False)
    if not np.isfinite(value):
        with pytest.raises(ValueError, match="must be finite"):
            model.predict(X)


@pytest.mark.parametrize("splits", ["columns", "means"])
@pytest.mark.parametrize("width", [0, 1, 3])
def test_nodes_of_a_forest_have_two_children(tmp_path, splits, width):
    """A width that was a free letter let the walk read past the last node."""
    rng = np.random.default_rng(0)
    X, Y = np.abs(rng.normal(size=(60, 6))), (rng.random((60, 9)) < 0.3).astype(int)
    path = tmp_path / "m"
    hyperlabel.save(hyperlabel.LabelForest(3, splits=splits, random_state=0).fit(X, Y), path)
    name = array_name(path, "_children")
    children = np.resize(stored_array(path, name), (len(stored_array(path, name)), width))
    forge(path, tmp_path / "f", members={name: npy(children)})
    with pytest.raises(ModelFileError, match="does not describe a model"):
        hyperlabel.load(tmp_path / "f", check=False)


def test_pairs_of_labels_are_pairs(tmp_path):
    X, Y = np.eye(6), np.tile(np.eye(3, dtype=int), (2, 1))
    path = tmp_path / "m"
    hyperlabel.save(hyperlabel.CalibratedLabelRanking().fit(X, Y), path)
    name = array_name(path, "pairs_")
    forge(path, tmp_path / "f", members={name: npy(stored_array(path, name)[:, :1])})
    refused(tmp_path / "f", "does not describe a model")


@pytest.mark.parametrize("key", ["coef_", "intercept_", "_constant", "classes_"])
def test_fitted_attributes_are_checked_against_each_other_at_load(tmp_path, key):
    path = tmp_path / "m"
    hyperlabel.save(hyperlabel.BinaryRelevance().fit(np.eye(5), np.eye(5, 3, dtype=int)), path)
    with zipfile.ZipFile(path) as archive:
        array = np.load(io.BytesIO(archive.read(array_name(path, key))))
    forge(path, tmp_path / "f", members={array_name(path, key): npy(array[:-1])})
    with pytest.raises(ModelFileError, match="does not describe a model"):
        hyperlabel.load(tmp_path / "f", check=False)


def test_the_doors_of_compiled_code_look_at_what_comes_in():
    Y = sparse.csr_array(np.eye(3, 2))
    table = np.zeros((2, 3))
    far = sparse.csr_array((np.ones(1), np.array([0]), np.array([0, 1])), shape=(1, 2))
    far.indices[0] = 10**6
    twice = sparse.csr_array((np.ones(2), np.array([1, 1]), np.array([0, 2])), shape=(1, 2))
    back = sparse.csr_array((3, 2))
    back.indptr[1] = 10**6
    zeros = np.zeros((1, 2), dtype=np.int64)
    for rows, message in (
        (far, "index|indices"),
        (back, "end before they start"),
        (twice, "once"),
        (Y.tocsc(), "csr"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            look_up(zeros, rows, table)
    for wrong in (zeros - 1, zeros + 3):
        with pytest.raises(ValueError, match="must be rows of Y"):
            look_up(wrong, Y, table)
    with pytest.raises(ValueError, match="must be labels × counts"):
        look_up(zeros, Y, table[:, :2])
    with pytest.raises(ValueError, match="index|indices"):
        best_with_and_without(np.ones((1, 1)), far)
    with pytest.raises(ValueError, match="same columns"):
        solve_nearest(sparse.csr_array(np.eye(3)), sparse.csr_array(np.eye(3, 2)), 1)
    with pytest.raises(ValueError, match="index|indices"):
        solve_nearest(sparse.csr_array(np.eye(2)), far, 1)
    with pytest.raises(ValueError, match="At least one"):
        solve_nearest(np.eye(3), np.eye(3), 0)


@pytest.mark.parametrize("place", ["estimator", "estimator_", "deeper"])
def test_a_part_that_contains_itself_is_refused(tmp_path, place):
    """Whoever asks such a model for the estimator inside it would ask forever."""
    X, Y = np.eye(6), np.tile(np.eye(2, dtype=int), (3, 1))
    path = saved(hyperlabel.ThresholdTuner(hyperlabel.BinaryRelevance(), cv=2).fit(X, Y), tmp_path / "m")

    def change(manifest):
        if place == "deeper":
            state(manifest)["estimator_"]["state"]["estimator"] = {"kind": "same", "id": 0}
        else:
            state(manifest)[place] = {"kind": "same", "id": 0}

    refused(forge(path, tmp_path / "f", change), "does not describe a model")


def test_a_model_that_contains_itself_is_not_saved(tmp_path):
    model = hyperlabel.BinaryRelevance().fit(np.eye(4), np.tile(np.eye(2, dtype=int), (2, 1)))
    model.note_ = model
    with pytest.raises(ModelFileError, match=r"note_ leads back to a part that contains it"):
        hyperlabel.save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def nested(path, out, depth, *, twice):
    """Forge a pipeline of pipelines of pipelines …, each holding the next once or twice."""

    def change(manifest):
        first = state(manifest)["steps"][0]["items"]
        own = {key: value for key, value in state(manifest).items() if key != "steps"}
        for level in range(depth):
            steps = [{"kind": "tuple", "items": ["a", first[1]]}]
            if twice:
                steps.append({"kind": "tuple", "items": ["b", {"kind": "same", "id": first[1]["id"]}]})
            first[1] = {
                **{"kind": "part", "type": manifest["model"]["type"], "id": 1000 + level},
                "state": {**own, "steps": steps},
            }

    return forge(path, out, change)


@pytest.mark.parametrize(("depth", "twice"), [(30, False), (8, True)])
def test_pipelines_that_nobody_could_walk_through_are_refused(tmp_path, depth, twice):
    """scikit-learn asks an inner pipeline three times for each time it is asked itself."""
    X, Y = np.eye(6), np.tile(np.eye(2, dtype=int), (3, 1))
    path = tmp_path / "m"
    model = make_pipeline(StandardScaler(), hyperlabel.BinaryRelevance()).fit(X, Y)
    saved(model, path)
    refused(nested(path, tmp_path / "f", 2, twice=True), "does not repeat")  # it was walked through
    refused(nested(path, tmp_path / "f", depth, twice=twice), "does not describe a model")


def test_a_model_nested_too_deep_to_be_loaded_is_not_saved(tmp_path):
    model = hyperlabel.BinaryRelevance().fit(np.eye(4), np.tile(np.eye(2, dtype=int), (2, 1)))
    inner = model
    for _ in range(DEEPEST - 1):
        inner.note_ = hyperlabel.BinaryRelevance()
        inner = inner.note_
    saved(model, tmp_path / "m")
    inner.note_ = hyperlabel.BinaryRelevance()
    with pytest.raises(ModelFileError, match="inside one another"):
        hyperlabel.save(model, tmp_path / "n")
