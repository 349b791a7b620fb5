"""Attacks on model files: every estimator's arrays and settings, the plain reader, the notes on columns."""

from __future__ import annotations

import copy
import functools
import hashlib
import io
import json
import random
import tempfile
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np
from click.testing import CliRunner
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures
from tests.estimators import CLASSIFIERS, TRANSFORMERS, UNSUPERVISED

import hyperlabel
from attack.mutate import Wrong, damage, odd, odd_throughout
from hyperlabel.apps.cli import main as cli
from hyperlabel.persistence import ModelFileError, describe
from hyperlabel.persistence.plain import read_plain
from hyperlabel.tabular.model_file import KEY

# What numba says under NUMBA_BOUNDSCHECK=1 (make attack-bounds); numpy's own error names the index.
OUT_OF_BOUNDS = "index is out of bounds"
# Parts whose answers come from compiled loops of hyperlabel.
_COMPILED = (b"HadamardEncoder", b"LabelForest", b"MLkNN", b"LabelPowerset", b"KernelDependencyEstimation")
METHODS = ("decision_function", "predict_proba", "predict", "transform", "partial_fit", "forget")


@functools.cache
def rows_and_labels() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.normal(size=(30, 4)), (rng.random((30, 3)) < 0.4).astype(int)


def _seeds(few: bool) -> list[tuple[Any, Any]]:
    """Return estimators and the rows they are fitted on: a few, or the whole table of the tests as well."""
    X, _ = rows_and_labels()
    counts, words = np.abs(X), [" ".join(f"w{int(v)}" for v in np.abs(10 * row)) for row in X]
    thin = sparse.csr_array(np.where(counts > 0.5, counts, 0.0))
    table = np.array([[text, f"c{i % 3}", float(i)] for i, text in enumerate(words)], dtype=object)
    linear = hyperlabel.BinaryRelevance()
    columns = [
        ("text", TfidfVectorizer(), 0),
        ("categories", OneHotEncoder(handle_unknown="ignore"), slice(1, 2)),
    ]
    beside = [
        (hyperlabel.MLkNN(3), thin),
        (hyperlabel.MLkNN(3, metric="cosine"), thin),
        (hyperlabel.LabelForest(3, splits="means", random_state=0), thin),
        (hyperlabel.RankSVM(), thin),
    ]
    few = [
        (linear, X),
        (hyperlabel.PLST(2), X),
        (hyperlabel.MLkNN(3), X),
        (hyperlabel.HypergraphSpectral(n_components=2), X),
        (hyperlabel.ThresholdTuner(linear), X),
        (DummyClassifier(strategy="uniform", random_state=np.random.RandomState(0)), X),
        (make_pipeline(hyperlabel.NystroemRBF(5, random_state=0), linear), X),
        (make_pipeline(FeatureUnion([("a", PolynomialFeatures(2)), ("b", NMF(2))]), linear), counts),
        (make_pipeline(LatentDirichletAllocation(2), linear), counts),
        (make_pipeline(TfidfVectorizer(), linear), words),
        (make_pipeline(HashingVectorizer(n_features=16, analyzer="char"), linear), words),
        (make_pipeline(ColumnTransformer(columns), linear), table),
    ]
    if few:
        return few
    return [(one, counts) for one in (*CLASSIFIERS, *TRANSFORMERS, *UNSUPERVISED)] + beside + few


@functools.cache
def _models(few: bool = False) -> list[tuple[bytes, Any]]:
    """Fit and save every seed, and ask it once: what is compiled first is no part of an attack."""
    X, Y = rows_and_labels()
    found = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, "m.hyper")
        moments = [(hyperlabel.Moments.from_rows(X, Y), None)]
        for model, rows in [(clone(one).fit(rows, Y), rows) for one, rows in _seeds(few)] + moments:
            try:
                hyperlabel.save(model, path, X=rows, metadata={"seed": [few, len(found)]})
            except ModelFileError as error:  # trees of scikit-learn
                if "not on the list" not in str(error):
                    raise
                continue
            found.append((path.read_bytes(), rows))
            _ask(hyperlabel.load(path), rows)
    return found


def _said(model: Any, rows: Any) -> Any:
    method = "decision_function" if hasattr(model, "decision_function") else "transform"
    return None if rows is None or isinstance(model, DummyClassifier) else getattr(model, method)(rows)


def _equal(one: Any, other: Any) -> bool:
    dense = [part.toarray() if sparse.issparse(part) else part for part in (one, other)]
    return np.array_equal(*dense, equal_nan=True)


def _agree(one: Any, other: Any) -> bool:
    """Say whether answers are those of one model: sums over arrays that lie elsewhere in memory may round."""
    dense = [part.toarray() if sparse.issparse(part) else np.asarray(part) for part in (one, other)]
    if dense[0].shape != dense[1].shape or dense[0].dtype.kind != "f":
        return _equal(one, other)
    return np.allclose(*dense, rtol=1e-12, atol=1e-14, equal_nan=True)


def _seed_of(path: Path) -> tuple[bytes, Any]:
    few, number = describe(path)["metadata"]["seed"]
    return _models(few)[number]


@functools.cache
def _expected(few: bool, number: int) -> Any:
    raw, rows = _models(few)[number]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "m.hyper")
        path.write_bytes(raw)
        return _said(hyperlabel.load(path), rows)


def damaged(rng: random.Random) -> bytes:
    return damage(rng.choice(_models())[0], rng)


def load_damaged(path: Path) -> None:
    """Bytes were changed, checksums were not: refused, or the same model."""
    model = hyperlabel.load(path)
    said, expected = _said(model, _seed_of(path)[1]), _expected(*describe(path)["metadata"]["seed"])
    if said is not None and not _agree(said, expected):
        raise Wrong("a damaged model file gave another model")


def load_forged(path: Path) -> None:
    """Nonsense with checksums that fit: refused, or a model that harms nobody, checked or not."""
    model = hyperlabel.load(path, check=False)
    _ask(model, _seed_of(path)[1])
    hyperlabel.load(path)


def _ask(model: Any, rows: Any) -> None:
    """Ask a model all it can be asked; nonsense may raise anything but an index outside compiled arrays."""
    _, Y = rows_and_labels()
    for method in METHODS if rows is not None else ():
        if isinstance(rows, np.ndarray) or method not in METHODS[-2:]:
            arguments = (rows[:4], Y[:4]) if method in METHODS[-2:] else (rows[:4],)
            try:
                with np.errstate(all="ignore"):
                    getattr(model, method)(*arguments)
            except Exception as error:
                if str(error) == OUT_OF_BOUNDS:
                    raise Wrong(f"{method} of {type(model).__name__} reads outside an array") from error


# -- forging ------------------------------------------------------------------------------------------------


def _places(node: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        found.append((node, key))
        if isinstance(node[key], (dict, list)):
            _places(node[key], found)
    return found


def _settings(node: Any) -> list[tuple[Any, Any]]:
    """Return where the parts of a description keep single values: settings, mostly."""
    return [
        (part, key) for part, key in _places(node, []) if key == "state" for part, key in _values(part[key])
    ]


def _values(state: Any) -> list[tuple[Any, Any]]:
    return [(state, key) for key in state if isinstance(state, dict) and not isinstance(state[key], dict)]


_NODES = [None, -1, 10**12, 0.5, True, "cosine", [], {}, {"kind": "same", "id": 0}]
_NODES += [{"kind": "float", "value": "nan"}, [0, 1], "arrays/0.npy", 624, -(10**9)]
_SETTINGS = [
    0,
    1,
    2,
    10**6,
    1e300,
    "x",
    "filename",
    "(?:a+)+b",
    ["a"],
    {"kind": "tuple", "items": [1, 10**6]},
]


def _forge(raw: bytes, change: Callable[[dict[str, Any], dict[str, bytes]], None]) -> bytes:
    """Change a file's description and members, and make the checksums fit."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(content["model.json"])
    change(manifest, content)
    manifest["arrays"] = {name: zlib.crc32(content[name]) for name in manifest["arrays"]}
    content["model.json"] = json.dumps(manifest).encode()
    content["model.sha256"] = hashlib.sha256(content["model.json"]).hexdigest().encode()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, value in content.items():
            archive.writestr(name, value)
    return out.getvalue()


def _forge_arrays(manifest: dict[str, Any], content: dict[str, bytes], rng: random.Random) -> None:
    """Change one or two arrays of the model; those to check by would only be refused."""
    described = json.dumps(manifest["model"])
    arrays = [name for name in manifest["arrays"] if f'"{name}"' in described]
    for name in {rng.choice(arrays) for _ in range(rng.choice((1, 1, 1, 2))) if arrays}:
        out, array = io.BytesIO(), np.load(io.BytesIO(content[name]))
        np.save(out, (odd if rng.random() < 0.3 else odd_throughout)(array, rng))
        content[name] = out.getvalue() if rng.random() < 0.9 else damage(content[name], rng)


def _forge_nodes(manifest: dict[str, Any], content: dict[str, bytes], rng: random.Random) -> None:
    """Change one or two nodes of the description."""
    for _ in range(rng.choice((1, 1, 2))):
        places = _places(manifest["model"], [])
        node, key = rng.choice(places)
        node[key] = copy.deepcopy(rng.choice((*_NODES, rng.choice(places)[0])))


def _forge_settings(manifest: dict[str, Any], content: dict[str, bytes], rng: random.Random) -> None:
    """Change a setting of some part, and now and then the rows that the model is asked about."""
    node, key = rng.choice(_settings(manifest["model"]) or _places(manifest["model"], []))
    node[key] = copy.deepcopy(rng.choice((*_NODES, *_SETTINGS)))
    if rng.random() < 0.1 and manifest["check"]:
        manifest["check"]["rows"] = rng.choice((["a" * 40], ["ab" * 4000], [], None, [[0.0] * 4] * 9))


# Settings with which a part would read a file, start processes, or work without end.
_HOSTILE_SETTINGS: dict[str, list[Any]] = {
    "token_pattern": ["(?:a+)+b", r"(\w+\s?)+$"],
    "ngram_range": [{"kind": "tuple", "items": [1, 10**6]}],
    "input": ["file", "filename"],
    "memory": ["cache"],
    "degree": [200, 10**6],
    "n_jobs": [12, -1],
    "max_iter": [10**12],
    "max_doc_update_iter": [10**12],
    "metric_params": [{"n_jobs": 12}],
    "analyzer": ["char", "char_wb"],
}


def forged_setting(rng: random.Random) -> bytes:
    """Give a part a setting that no file may choose, and rows to check by that make it cost."""

    def change(manifest: dict[str, Any], _: dict[str, bytes]) -> None:
        places = [place for place in _settings(manifest["model"]) if place[1] in _HOSTILE_SETTINGS]
        for node, key in rng.sample(places, min(len(places), rng.choice((1, 1, 2)))):
            node[key] = copy.deepcopy(rng.choice(_HOSTILE_SETTINGS[key]))
        check = manifest["check"]
        if check and isinstance(check["rows"], list) and isinstance(check["rows"][0], str):
            check["rows"] = [rng.choice(("a" * 40, "ab " * 4000)) for _ in check["rows"]]

    return _forge(rng.choice(_with_hostile_settings()), change)


@functools.cache
def _with_hostile_settings() -> list[bytes]:
    names = [f'"{name}"'.encode() for name in _HOSTILE_SETTINGS]
    found = []
    for raw, _ in _models(few=True):
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            described = archive.read("model.json")
        if any(name in described for name in names):
            found.append(raw)
    return found


def _forge_any(raw: bytes, rng: random.Random, shares: tuple[int, int, int]) -> bytes:
    (forge,) = rng.choices((_forge_arrays, _forge_nodes, _forge_settings), shares)
    return _forge(raw, lambda manifest, content: forge(manifest, content, rng))


def forged(rng: random.Random) -> bytes:
    """Forge a file of one of a few models, mostly the nodes of its description."""
    return _forge_any(rng.choice(_models(few=True))[0], rng, (3, 5, 2))


def forged_estimator(rng: random.Random) -> bytes:
    """Forge a file of any estimator, mostly its arrays; every second one predicts in compiled code."""
    files = [raw for raw, _ in _models()]
    compiled = [raw for raw in files if any(name in raw for name in _COMPILED)]
    return _forge_any(rng.choice(compiled if rng.random() < 0.5 else files), rng, (6, 2, 2))


# -- files of the command line ------------------------------------------------------------------------------


@functools.cache
def fitted_by_command() -> tuple[bytes, bytes]:
    """Return a model of texts and its training table, as `hyperlabel fit` reads and writes them."""
    _, Y = rows_and_labels()
    rng = random.Random(0)  # more words than rows to check by hold
    texts = [" ".join(f"word{rng.randrange(200)}" for _ in range(9)) for _ in Y]
    rows = [f"{texts[i]},{';'.join(f'l{j}' for j in np.flatnonzero(y)) or 'l0'}" for i, y in enumerate(Y)]
    with tempfile.TemporaryDirectory() as folder:
        table, model = Path(folder, "t.csv"), Path(folder, "m.hyper")
        table.write_text("\n".join(["text,tags", *rows]) + "\n", encoding="utf-8")
        run_command("fit", str(table), "--labels", "tags", "-o", str(model))
        return model.read_bytes(), table.read_bytes()


def run_command(*arguments: str) -> None:
    """Run a command; its sentence is raised as click's own error, anything else as what it was."""
    done = CliRunner().invoke(cli, list(arguments))
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    if done.exit_code == 2:
        raise click.UsageError(done.output)
    if done.exit_code:
        raise Wrong(f"exit code {done.exit_code}: {done.output[-200:]}")


def forged_text_model(rng: random.Random) -> bytes:
    return _forge_any(fitted_by_command()[0], rng, (1, 1, 1))


def read_plainly(path: Path) -> None:
    """The reader without scikit-learn: it refuses, leaves the file to `load`, or answers."""
    plain = read_plain(str(path))
    if plain is None:
        raise ModelFileError("left to load")
    answers = [plain.scores, plain.probabilities, *([] if plain.thresholds is None else [plain.predict])]
    texts = [" ".join(plain.words), "", "nothing known " * 50]
    if len({answer(texts).shape for answer in answers}) > 1:
        raise Wrong("answers of different shapes")


def forged_notes(rng: random.Random) -> bytes:
    def change(manifest: dict[str, Any], _: dict[str, bytes]) -> None:
        notes = manifest["metadata"][KEY]
        for _ in range(rng.choice((1, 1, 2))):
            places = _places(notes, [])
            node, key = rng.choice(places)
            node[key] = copy.deepcopy(
                rng.choice((*_NODES, *_SETTINGS, ["text"], ["l0", "l1", "l2"], "text", "table", "arff"))
            )

    return _forge(fitted_by_command()[0], change)


def run_commands(path: Path) -> None:
    """Whatever the notes on columns say, a command works or ends in one sentence."""
    table = path.with_name("notes.csv")
    table.write_bytes(fitted_by_command()[1])
    refusals = []
    for command in (["predict", "--text", "an apple"], ["predict", str(table)], ["evaluate", str(table)]):
        try:
            run_command(command[0], str(path), *command[1:])
        except click.UsageError as error:
            refusals.append(error)
    if refusals:
        raise refusals[0]
