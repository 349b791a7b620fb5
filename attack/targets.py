"""What is attacked: how its files are made, which error is its own, and what must hold when it reads one."""

from __future__ import annotations

import codecs
import contextlib
import functools
import gzip
import io
import json
import random
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy import sparse

import hyperlabel
from attack import doors, grammar, model_files, peers
from attack.model_files import rows_and_labels
from attack.mutate import Wrong, damage, odd
from hyperlabel import datasets, outofcore
from hyperlabel.apps.comparison.store import Store, StoreError
from hyperlabel.datasets import DataError, Dataset, _lines, read_data, read_mulan_xml
from hyperlabel.datasets._dataset import concat
from hyperlabel.outofcore._checkpoint import Checkpoint, CheckpointError, State, write_arrays
from hyperlabel.persistence import ModelFileError


@dataclass(frozen=True)
class Target:
    """A kind of file: `make` draws one, `check` reads it and raises `own`, nothing, or a finding."""

    name: str
    ending: str
    own: type[Exception]
    make: Callable[[random.Random], bytes]
    check: Callable[[Path], None]


def same(a: Dataset, b: Dataset) -> bool:
    """Say whether two data sets are equal to the bit."""

    def equal(one: Any, other: Any) -> bool:
        if sparse.issparse(one) or sparse.issparse(other):
            one, other = sparse.csr_array(one), sparse.csr_array(other)
            if one.shape != other.shape or not np.array_equal(one.indptr, other.indptr):
                return False
            return np.array_equal(one.indices, other.indices) and equal(one.data, other.data)
        if one is None or other is None:
            return one is other
        one, other = np.asarray(one), np.asarray(other)
        if one.shape != other.shape or one.dtype.kind != other.dtype.kind:
            return False
        return bool(np.array_equal(one, other, equal_nan=one.dtype.kind in "fcmM"))

    parts = ("X", "Y", "groups", "time", "text")
    return all(equal(getattr(a, part), getattr(b, part)) for part in parts) and a.label_names == b.label_names


def answer(read: Callable[[], Dataset]) -> Dataset | DataError:
    """Return the data, or the refusal."""
    try:
        return read()
    except DataError as error:
        return error


# -- readers ----------------------------------------------------------------------------------------------

TABLE = {"labels": ["y", "z"], "features": ["a", "b"], "text": "t", "group": "g", "time": "w"}


def text_reader(options: dict[str, Any], comment: bytes | None) -> Callable[[Path], None]:
    """Read; then in chunks of two rows, and with a comment (which takes the careful parser): the same."""

    def check(path: Path) -> None:
        whole = answer(lambda: read_data(path, **options))
        if isinstance(whole, DataError) and not str(whole).startswith(path.name):
            raise Wrong(f"the refusal does not name the file: {whole}")
        if isinstance(whole, Dataset):
            with small_blocks():
                parts = list(datasets.iter_data(path, chunk_rows=2, **options))
            if parts and not same(whole, concat(iter(parts), name="x")):
                raise Wrong("chunks differ from the whole")
        raw = path.read_bytes()
        if (
            comment is not None
            and raw.removeprefix(codecs.BOM_UTF8).strip()
            and b"\r" not in raw
            and raw[:2] != b"\x1f\x8b"
        ):
            path.write_bytes(raw + (b"" if raw.endswith(b"\n") else b"\n") + comment)
            careful = answer(lambda: read_data(path, **options))
            path.write_bytes(raw)
            if isinstance(whole, Dataset) != isinstance(careful, Dataset):
                raise Wrong(f"a comment decides whether a file is read: {whole} and {careful}")
            if isinstance(whole, Dataset) and not same(whole, careful):
                raise Wrong("a comment changes what is read")
        if isinstance(whole, DataError):
            raise whole

    return check


@contextlib.contextmanager
def small_blocks() -> Iterator[None]:
    """Cut files into blocks of a few bytes, as large files are cut into large ones."""
    _lines.BLOCK_BYTES, before = 16, _lines.BLOCK_BYTES
    try:
        yield
    finally:
        _lines.BLOCK_BYTES = before


# Comments, processing instructions and quoted text, in the order in which they begin.
_NOT_MARKUP = re.compile(rb"<!--.*?-->|<\?.*?\?>|<!\[CDATA\[.*?\]\]>", re.DOTALL)


def read_xml(path: Path) -> None:
    names = read_mulan_xml(path)
    if not all(isinstance(name, str) for name in names):
        raise Wrong("a label is no text")
    if b"<!DOCTYPE" in _NOT_MARKUP.sub(b"", path.read_bytes()):
        raise Wrong("a document type was accepted")


def read_npz(path: Path) -> None:
    data = datasets.load_npz(path)
    if data.X.shape[0] != data.Y.shape[0] or len(data.label_names) != data.Y.shape[1]:
        raise Wrong("parts of different sizes")
    for part in (data.X, data.Y):
        if sparse.issparse(part):
            ends = part.indptr
            if ends[0] != 0 or (ends[1:] < ends[:-1]).any() or ends[-1] > len(part.indices):
                raise Wrong("rows that lead outside their arrays")
            part.check_format(full_check=True)


def mutated(make: Callable[[random.Random], bytes], keep: float = 0.1) -> Callable[[random.Random], bytes]:
    """Draw a valid file, and nine times in ten damage it."""
    return lambda rng: make(rng) if rng.random() < keep else damage(make(rng), rng)


def npz(rng: random.Random) -> bytes:
    found, out = grammar.arrays(rng), io.BytesIO()
    if rng.random() < 0.5:  # nonsense in a file that is whole
        name = rng.choice(list(found))
        found[name] = odd(found[name], rng)
    (np.savez if rng.random() < 0.7 else np.savez_compressed)(out, **found)
    return out.getvalue() if rng.random() < 0.5 else damage(out.getvalue(), rng)


@functools.cache
def _parquet_seeds() -> list[bytes]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    found, rng = [], random.Random(0)
    for _ in range(8):
        out = io.BytesIO()
        pq.write_table(
            pa.Table.from_pylist(grammar.table_rows(rng)), out, compression=rng.choice(("NONE", "snappy"))
        )
        found.append(out.getvalue())
    return found


# -- checkpoints and stores -------------------------------------------------------------------------------


def _chunks() -> list[tuple[np.ndarray, np.ndarray]]:
    X, Y = rows_and_labels()
    return [(X[:10], Y[:10]), (X[10:20], Y[10:20]), (X[20:], Y[20:])]


class _Stop(Exception):
    pass


@functools.cache
def _checkpoint_seed() -> bytes:
    """Return the checkpoint of a fit that was stopped after its second chunk."""
    kept: list[bytes] = []
    real = Checkpoint.save

    def save(self: Checkpoint, state: State) -> None:
        real(self, state)
        kept.append(self.path.read_bytes())

    Checkpoint.save = save  # type: ignore[method-assign]
    try:
        with tempfile.TemporaryDirectory() as folder:
            model = hyperlabel.BinaryRelevance()
            outofcore.fit(model, _chunks(), checkpoint=Path(folder, "c"), checkpoint_seconds=0.0)
    finally:
        Checkpoint.save = real  # type: ignore[method-assign]
    return kept[1]


def checkpoint(rng: random.Random) -> bytes:
    raw = _checkpoint_seed()
    if rng.random() < 0.5:
        return damage(raw, rng)
    with np.load(io.BytesIO(raw)) as stored:
        arrays = {name: stored[name] for name in stored.files}
    name = rng.choice(list(arrays))
    if name == "state":
        arrays[name] = np.asarray(damage(str(arrays[name]).encode(), rng).decode("latin-1"))
    elif rng.random() < 0.2:
        del arrays[name]
    else:
        arrays[name] = odd(arrays[name], rng)
    with tempfile.TemporaryDirectory() as folder:
        write_arrays(Path(folder, "c"), arrays)
        return Path(folder, "c").read_bytes()


@functools.cache
def _coef() -> np.ndarray:
    return outofcore.fit(hyperlabel.BinaryRelevance(), _chunks()).coef_


def resume(path: Path) -> None:
    model = outofcore.fit(hyperlabel.BinaryRelevance(), _chunks(), checkpoint=path, checkpoint_seconds=1e9)
    if not np.array_equal(model.coef_, _coef()):
        raise Wrong("a damaged checkpoint gave another model")


@functools.cache
def _store_seed() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "s.sqlite")
        with Store(path) as store:
            store.begin("suite", {"data": ["d"]}, ["c0", "c1", "c2"], "a command")
            for i in range(3):
                values = [("ridge", "f1", float(j), j / 7) for j in range(4)]
                store.write(f"c{i}", {"fold": i}, values, cost={"fit_seconds": 0.1}, details={"alpha": 1.0})
            store.put_artifact("suite", "portrait", {"rows": 3})
        return path.read_bytes()


def read_store(path: Path) -> None:
    with Store(path) as store:
        store.finished(["c0"])
        for name in store.suites():
            store.suite(name)
            for cell in store.cells(name):
                json.dumps(cell["spec"])
            sum(value["value"] for value in store.values(name))
            store.artifact(name, "portrait")
        store.write("new", {"fold": 9}, [("ridge", "f1", None, 0.5)])


def gz(rng: random.Random) -> bytes:
    raw = gzip.compress(mutated(grammar.svm)(rng), 1, mtime=0)
    return raw if rng.random() < 0.3 else damage(raw, rng)


TARGETS = {
    target.name: target
    for target in (
        Target(
            "arff", ".arff", DataError, mutated(grammar.arff), text_reader({"nominal": "onehot"}, b"% c\n")
        ),
        Target("svm", ".svm", DataError, mutated(grammar.svm), text_reader({}, b"# c\n")),
        Target("xmc", ".xmc", DataError, mutated(grammar.xmc), text_reader({}, None)),
        Target("gz", ".svm.gz", DataError, gz, text_reader({}, None)),
        Target("csv", ".csv", DataError, mutated(grammar.csv), text_reader(TABLE, None)),
        Target("csv-list", ".csv", DataError, mutated(grammar.csv), text_reader({"label_column": "t"}, None)),
        Target("jsonl", ".jsonl", DataError, mutated(grammar.jsonl), text_reader(TABLE, None)),
        Target(
            "parquet",
            ".parquet",
            DataError,
            lambda rng: damage(rng.choice(_parquet_seeds()), rng),
            text_reader(TABLE, None),
        ),
        Target("xml", ".xml", DataError, mutated(grammar.xml), read_xml),
        Target("npz", ".npz", DataError, npz, read_npz),
        Target("model", ".hyper", ModelFileError, model_files.damaged, model_files.load_damaged),
        Target("forged", ".hyper", ModelFileError, model_files.forged, model_files.load_forged),
        Target("estimators", ".hyper", ModelFileError, model_files.forged_estimator, model_files.load_forged),
        Target("settings", ".hyper", ModelFileError, model_files.forged_setting, model_files.load_forged),
        Target("plain", ".hyper", ModelFileError, model_files.forged_text_model, model_files.read_plainly),
        Target("notes", ".hyper", click.UsageError, model_files.forged_notes, model_files.run_commands),
        Target("checkpoint", ".npz", CheckpointError, checkpoint, resume),
        Target("store", ".sqlite", StoreError, lambda rng: damage(_store_seed(), rng), read_store),
        Target("arff-peer", ".arff", DataError, peers.make_arff, peers.check_arff),
        Target("svm-peer", ".svm", DataError, peers.make_svm, peers.check_svm),
        Target("csv-peer", ".csv", DataError, peers.make_csv, peers.check_csv),
        Target("parquet-peer", ".parquet", DataError, peers.make_parquet, peers.check_parquet),
        Target("http", ".http", doors.Refused, doors.request, doors.send),
        Target("options", ".json", doors.Refused, doors.options, doors.run_options),
        Target("page", ".jsonl", doors.Refused, doors.page, doors.show_pages),
    )
}
# Thousands of files are read in the time of one of these: they are asked for by name.
SLOW = ("http", "options", "page")
# How often each is drawn: a parser of text takes a tenth of the time of a model.
WEIGHTS = {
    "estimators": 2,
    "arff": 6,
    "svm": 6,
    "xmc": 5,
    "gz": 3,
    "csv": 4,
    "csv-list": 4,
    "jsonl": 4,
    "xml": 3,
    "npz": 4,
}


def run(target: Target, path: Path) -> str:
    """Attack once: return "read" or "refused"; a finding is whatever else is raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            target.check(path)
        except target.own:
            return "refused"
    return "read"
