"""Settings of listed parts that a file must not choose: refused when saving and when loading, quickly."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from tests.persistence.test_bad_files import forge, refused

import hyperlabel
from hyperlabel.persistence import ModelFileError, register
from hyperlabel.persistence._container import LONGEST_NGRAM, LONGEST_TEXT
from hyperlabel.persistence._registry import TOKEN_PATTERNS

TEXTS = ["red apple pie", "green apple", "deep blue sea", "sea and sky"] * 3
TAGS = np.array([[1, 0], [1, 0], [0, 1], [0, 1]] * 3)
NUMBERS = np.abs(np.random.default_rng(0).normal(size=(12, 4)))


def states_with(node, setting):
    """Return the states of all parts of a description that have a setting."""
    inside = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    own = [node["state"]] if isinstance(node, dict) and setting in node.get("state", {}) else []
    return own + [state for item in inside for state in states_with(item, setting)]


def forged(path, out, setting, value, rows=None):
    """Write a model file again with another value of a setting, wherever a part has it."""

    def change(manifest):
        states = states_with(manifest["model"], setting)
        assert states
        for state in states:
            state[setting] = {"kind": "tuple", "items": list(value)} if isinstance(value, tuple) else value
        if rows is not None:
            manifest["check"]["rows"] = rows

    return forge(path, out, change)


CASES = [
    (TfidfVectorizer(), "token_pattern", r"(?:a+)+b"),
    (CountVectorizer(), "token_pattern", r"(\w+\s?)+!"),
    (HashingVectorizer(n_features=16), "token_pattern", r"(a|aa)+$"),
    (TfidfVectorizer(), "input", "filename"),
    (CountVectorizer(), "input", "file"),
    (HashingVectorizer(n_features=16), "input", "file"),
    (HashingVectorizer(n_features=16, analyzer="char"), "ngram_range", (1, 10**6)),
    (TfidfVectorizer(), "ngram_range", (1, LONGEST_NGRAM + 1)),
    (CountVectorizer(), "ngram_range", (-5, 2)),
    (PolynomialFeatures(2), "degree", 200),
    (PolynomialFeatures((1, 2)), "degree", (0, 11)),
    (NMF(2, max_iter=50, tol=0.1), "max_iter", 10**9),
    (LatentDirichletAllocation(2), "max_doc_update_iter", 10**9),
    (
        ColumnTransformer([("a", StandardScaler(), slice(0, 4))]),
        "verbose_feature_names_out",
        "{feature_name:>1000000000}",
    ),
    (Pipeline([("a", StandardScaler())]), "memory", "a folder"),
]


def rows_of(step):
    return TEXTS if type(step).__module__ == "sklearn.feature_extraction.text" else NUMBERS


def fitted(step):
    return make_pipeline(clone(step), hyperlabel.BinaryRelevance()).fit(rows_of(step), TAGS)


@pytest.mark.parametrize(
    ("step", "setting", "value"), CASES, ids=lambda v: type(v).__name__ if hasattr(v, "fit") else repr(v)
)
@pytest.mark.parametrize("check", [True, False])
def test_a_setting_of_a_files_choosing_is_refused_at_load(tmp_path, step, setting, value, check):
    path = tmp_path / "m"
    hyperlabel.save(fitted(step), path)
    assert hyperlabel.load(path) is not None
    with pytest.raises(ModelFileError, match=f"has {setting}=|does not describe a model"):
        hyperlabel.load(forged(path, tmp_path / "f", setting, value), check=check)


@pytest.mark.parametrize(
    ("step", "setting", "value"), CASES, ids=lambda v: type(v).__name__ if hasattr(v, "fit") else repr(v)
)
def test_a_setting_that_could_not_be_loaded_is_not_saved(tmp_path, step, setting, value):
    model = fitted(step)
    setattr(model[0], setting, value)
    with pytest.raises(ModelFileError, match=rf"steps\[0\]\[1\] has {setting}=.* only"):
        hyperlabel.save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_folder_of_pickles_is_neither_written_nor_read_at_the_next_fit(tmp_path, monkeypatch):
    """`Pipeline(memory=…)` caches its steps as pickles: a file must not name the folder, at any depth."""
    monkeypatch.chdir(tmp_path)
    inner = Pipeline([("scale", StandardScaler()), ("model", hyperlabel.BinaryRelevance())])
    model = hyperlabel.ThresholdTuner(inner, cv=2).fit(NUMBERS, TAGS)
    hyperlabel.save(model, "m")
    refused(forged("m", "f", "memory", "cache"), "memory='cache'.*memory=None only")
    for pipeline in (model.estimator, model.estimator_):
        pipeline.memory = "cache"
        with pytest.raises(ModelFileError, match="memory='cache'"):
            hyperlabel.save(model, "n")
        pipeline.memory = None
    assert sorted(file.name for file in tmp_path.iterdir()) == ["f", "m"]


@pytest.mark.parametrize(
    "model",
    [
        make_pipeline(FeatureUnion([("a", StandardScaler()), ("b", StandardScaler())]), hyperlabel.PLST(1)),
        hyperlabel.CalibratedLabelRanking(),
        MultiOutputClassifier(LogisticRegression()),
        ClassifierChain(LogisticRegression()),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_file_starts_no_workers(tmp_path, model):
    """Whatever number of workers it names, as it was saved or forged, a loaded part has none."""
    model = clone(model).fit(NUMBERS, TAGS)
    hyperlabel.save(model, tmp_path / "m")
    names = [name for name in model.get_params() if name.endswith("n_jobs")]
    for name in names:
        owner = model
        for step in name.split("__")[:-1]:
            owner = owner.get_params(deep=False).get(step) or dict(owner.steps)[step]
        owner.n_jobs = 7
    hyperlabel.save(model, tmp_path / "seven")
    for path in (
        tmp_path / "seven",
        forged(tmp_path / "m", tmp_path / "f", "n_jobs", 10**6) if names else tmp_path / "m",
    ):
        loaded = hyperlabel.load(path)
        assert {loaded.get_params()[name] for name in names} <= {None}


def test_workers_do_not_come_in_through_the_parameters_of_a_metric(tmp_path):
    model = hyperlabel.MLkNN(3, metric="cosine", metric_params={"n_jobs": 2}).fit(NUMBERS, TAGS)
    with pytest.raises(ModelFileError, match="metric_params"):
        hyperlabel.save(model, tmp_path / "m")
    model = hyperlabel.HypergraphSpectral(kernel="rbf", kernel_params={"gamma": 1.0}).fit(NUMBERS, TAGS)
    hyperlabel.save(model, tmp_path / "m")
    workers = {"kind": "dict", "items": [["n_jobs", 10**6]]}
    refused(forged(tmp_path / "m", tmp_path / "f", "kernel_params", workers), "kernel_params")
    refused(forged(tmp_path / "m", tmp_path / "g", "params", workers), "params")


@pytest.mark.parametrize("pattern", [*TOKEN_PATTERNS, None])
def test_usual_token_patterns_are_saved_and_loaded(tmp_path, pattern):
    step = TfidfVectorizer(token_pattern=pattern, analyzer="char" if pattern is None else "word")
    model = fitted(step)
    hyperlabel.save(model, tmp_path / "m", X=TEXTS)
    np.testing.assert_array_equal(hyperlabel.load(tmp_path / "m").predict(TEXTS), model.predict(TEXTS))


def test_token_patterns_read_a_text_in_one_go():
    """The worst of texts for a pattern that tries again and again: a long run, and nothing it ends in."""
    script = f"import re\nfor p in {TOKEN_PATTERNS!r}:\n"
    script += "    for t in ('a', 'a.', 'a-', '+', 'ä', 'a '): re.findall(p, 30_000 * t + '\\0')"
    subprocess.run([sys.executable, "-c", script], timeout=60, check=True)


def test_a_class_of_ones_own_may_have_any_setting(tmp_path, monkeypatch):
    monkeypatch.setattr("hyperlabel.persistence._registry._registered", {})
    own = type("TfidfVectorizer", (TfidfVectorizer,), {"__module__": __name__})
    register(own, "mine.Words")
    model = make_pipeline(own(token_pattern=r"[a-z]+(?:'[a-z]+)?"), hyperlabel.BinaryRelevance())
    hyperlabel.save(model.fit(TEXTS, TAGS), tmp_path / "m", X=TEXTS)
    assert hyperlabel.load(tmp_path / "m")[0].token_pattern == r"[a-z]+(?:'[a-z]+)?"


def test_long_texts_to_check_by_are_threshold_when_saved_and_refused_when_loaded(tmp_path):
    model, path = fitted(TfidfVectorizer()), tmp_path / "m"
    long = ["apple sea " * LONGEST_TEXT] * 9
    hyperlabel.save(model, path, X=long)
    assert hyperlabel.load(path) is not None
    words = model.named_steps["tfidfvectorizer"]
    refused(
        forged(path, tmp_path / "f", "lowercase", words.lowercase, rows=["a" * (LONGEST_TEXT + 1)]),
        "describe",
    )
    refused(forged(path, tmp_path / "g", "lowercase", words.lowercase, rows=["a"] * 5), "describe")


@pytest.mark.parametrize("form", ["objects", "text", "frame"])
def test_long_texts_of_a_table_are_threshold_as_well(tmp_path, form):
    long, table = "apple sea " * LONGEST_TEXT, [[text, "b"] for text in TEXTS]
    step = ColumnTransformer([("words", TfidfVectorizer(), 0)])
    model = make_pipeline(step, hyperlabel.BinaryRelevance())
    if form == "frame":
        pd = pytest.importorskip("pandas")
        model.set_params(columntransformer=ColumnTransformer([("words", TfidfVectorizer(), "w")]))
        rows = pd.DataFrame(table, columns=["w", "c"])
        probe = pd.DataFrame([[long, "b"]] * 2, columns=["w", "c"])
    else:
        rows = np.array(table, dtype=object if form == "objects" else str)
        probe = np.array([[long, "b"]] * 2, dtype=rows.dtype if form == "objects" else str)
    hyperlabel.save(model.fit(rows, TAGS), tmp_path / "m", X=probe)
    assert (tmp_path / "m").stat().st_size < 100_000
    assert hyperlabel.load(tmp_path / "m") is not None


def test_polynomials_of_too_many_columns_are_not_saved(tmp_path):
    model = PolynomialFeatures(2).fit(np.ones((1, 1000)))
    with pytest.raises(ModelFileError, match="n_output_features_"):
        hyperlabel.save(model, tmp_path / "m", X=np.ones((1, 1000)))


def test_the_vocabulary_is_not_stored_in_the_order_of_the_texts(tmp_path):
    """In order of first appearance the words of a vocabulary spell out the first texts."""
    first = "zebra yak xenops wolf vole urial tapir"
    model = make_pipeline(TfidfVectorizer(), hyperlabel.BinaryRelevance()).fit([first, *TEXTS[1:]], TAGS)
    hyperlabel.save(model, tmp_path / "m")
    words = [*hyperlabel.load(tmp_path / "m")[0].vocabulary_]
    assert words == sorted(words)
    np.testing.assert_array_equal(hyperlabel.load(tmp_path / "m").predict([first]), model.predict([first]))
