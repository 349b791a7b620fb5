"""The reader of text models without scikit-learn: it answers as the whole model, or leaves the file to it."""

from __future__ import annotations

import contextlib
import io
import json
import zipfile

import numpy as np
import pytest
from tests.commands import done
from tests.persistence.test_bad_files import forge, npy
from tests.persistence.test_settings import states_with

import hyperlabel
from hyperlabel.persistence import ModelFileError
from hyperlabel.persistence._container import LONGEST_TEXT
from hyperlabel.persistence.plain import read_plain

ROWS = [("red apple pie and apple cake", "food;red"), ("green apple", "food"), ("deep blue sea", "water"),
        ("sea and sky and sea", "water;sky")] * 6  # fmt: skip
TEXTS = [text for text, _ in ROWS]


def fitted(folder, tags=""):
    """Fit a model of texts by the command whose files the plain reader is for."""
    table = folder / "t.csv"
    table.write_text("text,tags\n" + "".join(f"{text},{labels}{tags}\n" for text, labels in ROWS))
    done("fit", table, "--labels", "tags", "-o", folder / "m")
    return folder / "m"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return fitted(tmp_path_factory.mktemp("plain"))


def change_state(setting, value):
    def change(manifest):
        for state in states_with(manifest["model"], setting):
            state[setting] = value(state[setting]) if callable(value) else value

    return change


def nested(depth):
    found = []
    for _ in range(depth):
        found = [found]
    return found


def with_column(column):
    return lambda node: {**node, "items": [[word, column if j == 1 else j] for word, j in node["items"]]}


def test_the_model_is_read_plainly_and_answers_as_the_whole(model):
    plain, whole = read_plain(str(model)), hyperlabel.load(model)
    new = ["a red sea", "apple pie apple pie and sky", "", "nothing known"]
    np.testing.assert_allclose(plain.scores(new), whole.decision_function(new), atol=1e-12)
    np.testing.assert_allclose(plain.probabilities(new), whole.predict_proba(new), atol=1e-9)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("vocabulary_", with_column(10**6)),
        ("vocabulary_", with_column(-3)),
        ("vocabulary_", with_column(0)),
        ("vocabulary_", with_column(float("inf"))),
        ("vocabulary_", with_column(float("nan"))),
        ("vocabulary_", with_column("1")),
        ("vocabulary_", lambda node: {**node, "items": nested(900)}),
        ("vocabulary_", lambda node: {**node, "items": []}),
        ("vocabulary_", 7),
        ("ngram_range", {"kind": "tuple", "items": [1, 10**9]}),
        ("ngram_range", {"kind": "tuple", "items": [1, 2.5]}),
        ("ngram_range", {"kind": "tuple", "items": [1]}),
        ("token_pattern", "(?:a+)+b"),
        ("calibrators_", None),
        ("coef_", lambda node: {**node, "name": "arrays/999.npy"}),
    ],
)
def test_a_description_that_makes_no_sense_is_refused_without_a_foreign_error(
    model, tmp_path, setting, value
):
    """Both readers: the plain one leaves the file, or names what is missing; the whole one refuses it."""
    path = forge(model, tmp_path / "f", change_state(setting, value))
    with contextlib.suppress(ModelFileError):
        assert read_plain(str(path)) is None
    with pytest.raises(ModelFileError):
        hyperlabel.load(path)


def array_names(path):
    with zipfile.ZipFile(path) as archive:
        return {name: np.load(io.BytesIO(archive.read(name))) for name in archive.namelist() if "npy" in name}


def answer_name(path, method="predict_proba"):
    with zipfile.ZipFile(path) as archive:
        answers = dict(json.loads(archive.read("model.json"))["check"]["answers"]["items"])
    return answers[method]["name"]


@pytest.fixture(scope="module")
def unchecked(model, tmp_path_factory):
    """The model with a check row of no known word, which touches no weight before a real text does."""
    path, plain = tmp_path_factory.mktemp("unchecked") / "m", read_plain(str(model))
    stored = {answer_name(model): npy(plain.probabilities([""]))}
    stored[answer_name(model, "decision_function")] = npy(plain.scores([""]))
    forge(model, path, lambda manifest: manifest["check"].update(rows=[""]), members=stored)
    assert read_plain(str(path)) is not None
    return path


CHANGES = {
    "half": lambda a: a[: len(a) // 2],
    "empty": lambda a: a[:0],
    "turned": lambda a: np.ascontiguousarray(a.T[None]),
    "words": lambda a: np.full(a.shape, "x"),
    "durations": lambda a: np.zeros(a.shape, dtype="m8[s]"),
    "one more": lambda a: np.concatenate([a, a[-1:]]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_arrays_of_another_size_or_kind_never_reach_an_answer(unchecked, tmp_path, change):
    for name, array in array_names(unchecked).items():
        if name in (answer_name(unchecked), answer_name(unchecked, "decision_function")):
            continue
        changed = npy(CHANGES[change](np.atleast_1d(array)))
        plain = read_plain(str(forge(unchecked, tmp_path / "f", members={name: changed})))
        if plain is not None:  # it was none of the arrays that the plain reader takes
            assert (
                plain.probabilities(["red apple pie"]).shape
                == plain.scores(["red apple pie"]).shape
                == (1, 4)
            )
            np.testing.assert_array_equal(plain.predict(TEXTS), read_plain(str(unchecked)).predict(TEXTS))


@pytest.mark.parametrize("rows", [[], ["a" * (LONGEST_TEXT + 1)], [7], "text", None, [["a"]]])
def test_rows_to_check_by_that_are_none_are_left_to_the_whole_reader(model, tmp_path, rows):
    def change(manifest):
        manifest["check"]["rows"] = rows

    assert read_plain(str(forge(model, tmp_path / "f", change))) is None


@pytest.mark.parametrize("changed", [1e-6, 1e-3])
def test_a_probability_that_is_not_repeated_is_left_to_the_whole_reader(model, tmp_path, changed):
    name = answer_name(model)
    path = forge(model, tmp_path / "f", members={name: npy(array_names(model)[name] + changed)})
    assert read_plain(str(path)) is None


def test_another_way_to_weigh_words_is_left_to_the_whole_reader(model, tmp_path):
    """Though the rows to check by have no capital: the plain reader would take SEA for sea."""
    file = forge(model, tmp_path / "f", change_state("lowercase", False))
    scores = hyperlabel.load(file).decision_function(["SEA", "sea"])
    assert not np.allclose(*scores)
    assert read_plain(str(file)) is None


def test_a_label_that_every_row_has_is_left_to_the_whole_reader(tmp_path):
    """The plain reader knows weights only, and such a label is not told by its weights."""
    assert read_plain(str(fitted(tmp_path, ";every"))) is None


def test_scores_are_compared_where_probabilities_tell_nothing(model, tmp_path):
    """Curves of slope 0 make all probabilities equal: other weights, other scores, the same probabilities."""
    whole = hyperlabel.load(model)
    linear = whole[-1].estimator_
    linear.calibrators_.sigmoid.slope[:] = 0.0
    hyperlabel.save(whole, tmp_path / "m")
    assert read_plain(str(tmp_path / "m")) is not None
    names = []
    forge(
        tmp_path / "m",
        tmp_path / "m",
        lambda m: names.extend(s["coef_"]["name"] for s in states_with(m, "coef_")),
    )
    other = npy(2 * linear.coef_)
    assert read_plain(str(forge(tmp_path / "m", tmp_path / "f", members={names[0]: other}))) is None
