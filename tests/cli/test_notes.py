"""Notes on columns are anybody's JSON: whatever they say, a command ends in one sentence and exit code 2."""

from __future__ import annotations

import json
import zipfile

import pytest
from tests.commands import done, run
from tests.persistence.test_bad_files import forge

from hyperlabel.apps.serve.served_model import ServedModel
from hyperlabel.tabular.model_file import KEY, open_model

VALUES = [
    None,
    5,
    -1,
    2.5,
    1e308,
    True,
    "x",
    "\x1b]0;title\x07",
    [],
    [1],
    [None],
    ["a"],
    [["a"]],
    {},
    {"a": 1},
]
ROWS = [("red apple pie", "food;red"), ("green apple", "food"), ("a red car", "vehicle;red"),
        ("fast green car", "vehicle"), ("apple cake", "food"), ("race car", "vehicle")] * 4  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model of texts, one of texts, categories and numbers, one of an ARFF file; each with its data."""
    folder = tmp_path_factory.mktemp("notes")
    table = folder / "t.csv"
    lines = [f"{text},{tags},{('blue', 'grey')[i % 2]},{i}" for i, (text, tags) in enumerate(ROWS)]
    table.write_text("\n".join(["text,tags,colour,size", *lines]) + "\n")
    arff = folder / "a.arff"
    rows = "\n".join(f"{i % 2},{(i + 1) % 2},{i}.5,{7 - i}" for i in range(8))
    kinds = "".join(f"@attribute {name} {kind}\n" for name, kind in
                    (("y", "{0,1}"), ("z", "{0,1}"), ("a", "numeric"), ("b", "numeric")))  # fmt: skip
    arff.write_text(f"@relation 'r: -C 2'\n{kinds}@data\n{rows}\n")
    made = {
        "text": (folder / "text", table),
        "mixed": (folder / "mixed", table),
        "arff": (folder / "arff", arff),
    }
    done("fit", table, "--labels", "tags", "--text", "text", "--features", "", "-o", made["text"][0])
    more = ["--features", "colour", "--features", "size"]
    done("fit", table, "--labels", "tags", "--text", "text", *more, "-o", made["mixed"][0])
    done("fit", arff, "--alpha", "1", "-o", made["arff"][0])
    return made


def notes_of(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("model.json"))["metadata"][KEY]


def noted(path, out, **changes):
    return forge(path, out, lambda manifest: manifest["metadata"][KEY].update(changes))


def commands(model, data, kind):
    found = [("predict", model, data), ("evaluate", model, data), ("explain", model, data)]
    texts = [("predict", model, "--text", "red car"), ("explain", model, "--text", "red car")]
    return found + (texts if kind == "text" else [])


@pytest.mark.parametrize("kind", ["text", "mixed", "arff"])
def test_notes_of_another_type_end_in_a_sentence(files, tmp_path, kind):
    model, data = files[kind]
    for name, right in notes_of(model).items():
        for value in VALUES:
            if type(value) is type(right) and value == right:
                continue
            noted(model, tmp_path / "n", **{name: value})
            for command in commands(tmp_path / "n", data, kind)[:: 1 if kind == "text" else 2]:
                result = run(*command)
                assert isinstance(result.exception, SystemExit | None), (name, value, command[0])
                assert result.exit_code in (0, 2), (name, value, result.output)
                assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("text", {"label_names": ["food"]}),
        ("text", {"label_names": ["a", "b", "c", "d"]}),
        ("text", {"text": [], "n_features": 3}),
        ("text", {"text": ["text", "colour"]}),
        ("text", {"n_features": 10**12}),
        ("mixed", {"text": ["text", "colour"], "categories": [], "n_features": 1}),
        ("mixed", {"text": ["text", "tags", "colour"], "categories": []}),
        ("mixed", {"text": ["text"], "categories": [], "n_features": 0}),
        ("mixed", {"categories": [], "n_features": 2, "feature_names": ["size", "size"]}),
        ("mixed", {"feature_names": ["size", "weight"]}),
        ("arff", {"n_features": 10**12}),
        ("arff", {"text": ["a"], "n_features": 1, "feature_names": ["b"]}),
        ("arff", {"label_names": ["y"]}),
    ],
)
def test_notes_that_do_not_fit_the_model_are_refused_before_rows_are_read(files, tmp_path, kind, changes):
    model, data = files[kind]
    noted(model, tmp_path / "n", **changes)
    for command in commands(tmp_path / "n", data, kind):
        result = run(*command)
        assert result.exit_code == 2, command
        assert "fit the model again" in result.output or "--text needs a model" in result.output
    with pytest.raises(ValueError, match="fit the model again"):
        open_model(str(tmp_path / "n"))


@pytest.mark.parametrize(
    "reading", [{"path": "x"}, {"labels": "y"}, {"labels": [1]}, {"nominal": 3}, {"zero_based": True}]
)
def test_options_of_another_reader_are_refused(files, tmp_path, reading):
    model, data = files["arff"]
    result = run("predict", noted(model, tmp_path / "n", reading=reading), data)
    assert result.exit_code == 2
    assert "The notes on columns" in result.output


@pytest.mark.parametrize("names", [["food"], ["food", "red", "vehicle", "more"], ["food", "red", 3]])
def test_a_server_does_not_start_on_labels_that_the_model_has_not(files, tmp_path, names):
    noted(files["text"][0], tmp_path / "n", label_names=names)
    with pytest.raises(ValueError, match="fit the model again"):
        ServedModel(str(tmp_path / "n"))


@pytest.mark.parametrize("missing", ["format", "label_names"])
def test_notes_without_what_every_command_needs_are_refused(files, tmp_path, missing):
    forge(files["text"][0], tmp_path / "n", lambda manifest: manifest["metadata"][KEY].pop(missing) and None)
    result = run("predict", tmp_path / "n", "--text", "red")
    assert result.exit_code == 2
    assert missing in result.output
