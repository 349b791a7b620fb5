"""Chunks, files and kills: the fit is the one in memory."""

import gzip
import os
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from tests.optional import optional

from hyperlabel import (
    CPLST,
    HOPLS,
    MDDM,
    OPLS,
    PLST,
    BinaryRelevance,
    CompressedSensing,
    HypergraphSpectral,
    PartialBinaryRelevance,
    outofcore,
)
from hyperlabel.outofcore._checkpoint import Checkpoint, CheckpointError, State, read_arrays, write_arrays
from hyperlabel.outofcore._estimate import estimate_rows
from hyperlabel.outofcore._progress import row_counter

pd = optional("pandas")

N, D, K = 400, 6, 5


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)) * (rng.random((N, D)) < 0.7) + 3.0
    Y = (X @ rng.normal(size=(D, K)) + rng.normal(size=(N, K)) > 2.0).astype(int)
    Y[:, 0] = 0  # a label nobody carries
    Y[:7] = 0  # rows without labels
    return X, Y


MODELS = [
    BinaryRelevance(alpha=2.0),
    BinaryRelevance(alpha=0.0),
    HypergraphSpectral(),
    HypergraphSpectral(expansion="star", edge_weights="compactness"),
    HypergraphSpectral(expansion="zhou", form="least_squares"),
    HypergraphSpectral(expansion="cca", n_components=2),
    OPLS(alpha=0.5),
    HOPLS(),
    MDDM(2),
    MDDM(2, variant="feature"),
    PLST(3),
    PLST(None, reference="origin"),
    CPLST(2),
    PartialBinaryRelevance(2, reference="mean"),
]


def _same(a, b, X, rtol=1e-8):
    if hasattr(a, "decision_function"):
        mine, theirs = a.decision_function(X), b.decision_function(X)
    else:  # a projection is fixed by its metric, not by the signs of its columns
        mine, theirs = (Z @ Z.T for Z in (a.transform(X), b.transform(X)))
    assert_allclose(mine, theirs, rtol=0, atol=rtol * np.abs(theirs).max())


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("thresholds", [[], [1], [3, 50, 51, 399]])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_any_chunking_equals_the_fit_in_memory(model, thresholds, container, data):
    X, Y = data
    parts = np.split(np.arange(N), thresholds)
    chunks = [(container(X[p]), container(Y[p])) for p in parts]
    whole = clone(model).fit(container(X), container(Y))
    _same(outofcore.fit(clone(model), chunks), whole, X)
    _same(outofcore.fit(clone(model), lambda: iter(chunks)), whole, X)


def test_weights_empty_chunks_and_mixed_chunks(data):
    X, Y = data
    w = np.random.default_rng(1).random(N)
    chunks = [
        (X[:0], Y[:0], w[:0]),
        (X[:100], Y[:100], w[:100]),
        (sparse.csr_array(X[100:]), Y[100:], w[100:]),
    ]
    _same(outofcore.fit(BinaryRelevance(), chunks), BinaryRelevance().fit(X, Y, w), X)


def test_one_dimensional_y_needs_its_classes(data):
    X, _ = data
    y = np.array(["a", "b", "c"])[np.arange(N) % 3]
    y[:5] = "a"
    chunks = outofcore.RowChunks(X, y, rows=5)
    with pytest.raises(ValueError, match="classes="):
        outofcore.fit(BinaryRelevance(), chunks)
    model = outofcore.fit(BinaryRelevance(), chunks, classes=["a", "b", "c"])
    assert (model.predict(X) == BinaryRelevance().fit(X, y).predict(X)).all()


def test_npy_files_in_single_precision_are_close_and_in_double_exact(data, tmp_path):
    X, Y = data
    X = X.astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", Y)
    chunks = outofcore.RowChunks(tmp_path / "X.npy", tmp_path / "y.npy", rows=64)
    whole = BinaryRelevance().fit(X.astype(np.float64), Y)
    fast = outofcore.fit(BinaryRelevance(), chunks)
    _same(fast, whole, X, rtol=1e-5)
    assert fast.moments_.digits_kept() < 6
    _same(outofcore.fit(BinaryRelevance(), chunks, precision="double"), whole, X)


def test_files_bring_their_label_names(data, tmp_path):
    X, Y = data
    names = [f"tag{j}" for j in range(K)]
    for i, part in enumerate(np.split(np.arange(N), [150])):
        np.savez(tmp_path / f"{i}.npz", X=X[part], Y=Y[part], label_names=names)
    model = outofcore.fit(BinaryRelevance(), sorted(tmp_path.glob("*.npz")))
    assert list(model.label_names_) == names
    _same(model, BinaryRelevance().fit(X, Y), X)


@pytest.mark.parametrize("ending", ["svm", "xmc", "parquet"])
def test_text_and_table_files_stream(ending, data, tmp_path):
    X, Y = data
    sets = [" ".join(map(str, np.flatnonzero(row))) for row in Y]
    pairs = [" ".join(f"{j}:{value!r}" for j, value in enumerate(row.tolist())) for row in X]
    if ending == "parquet":
        frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(D)])
        frame[[f"y{j}" for j in range(K)]] = Y
        frame.to_parquet(tmp_path / "rows.parquet")
        chunks = outofcore.FileChunks(tmp_path / "rows.parquet", rows=90, labels=[f"y{j}" for j in range(K)])
    elif ending == "xmc":
        text = [f"{N} {D} {K}"] + [f"{s.replace(' ', ',')} {p}" for s, p in zip(sets, pairs, strict=True)]
        (tmp_path / "rows.txt").write_text("\n".join(text) + "\n")
        chunks = outofcore.FileChunks(tmp_path / "rows.txt", rows=90)
    else:
        text = [f"{s.replace(' ', ',')} {p}" for s, p in zip(sets, pairs, strict=True)]
        (tmp_path / "rows.svm").write_text("\n".join(text) + "\n")
        chunks = outofcore.FileChunks(
            tmp_path / "rows.svm", rows=90, n_features=D, n_labels=K, zero_based=True, labels_zero_based=True
        )
    _same(outofcore.fit(BinaryRelevance(), chunks), BinaryRelevance().fit(X, Y), X)


def test_bad_input_gets_one_sentence(data, tmp_path):
    X, Y = data
    with pytest.raises(TypeError, match="only once"):
        outofcore.fit(BinaryRelevance(), iter([(X, Y)]))
    with pytest.raises(ValueError, match="no rows"):
        outofcore.fit(BinaryRelevance(), [])
    with pytest.raises(ValueError, match="no y"):
        outofcore.fit(BinaryRelevance(), outofcore.RowChunks(X))
    with pytest.raises(ValueError, match="all rows at once"):
        outofcore.fit(BinaryRelevance(LogisticRegression()), [(X, Y)])
    for model, why in (
        (PLST(), "give the number"),
        (PLST(2, regressor=LinearRegression()), "regressor=None"),
        (CompressedSensing(4), "not sums over rows"),
        (BinaryRelevance(cv=3), "cv=None"),
    ):
        with pytest.raises(ValueError, match=why):
            outofcore.fit(model, [(X, Y)])
    with pytest.raises(ValueError, match="GB allowed"):
        outofcore.fit(BinaryRelevance(), [(X, Y)], memory_limit=100)
    with pytest.raises(TypeError, match="not a function of sums"):
        outofcore.fit(LogisticRegression(), [(X, Y)])
    (tmp_path / "rows.xyz").touch()
    with pytest.raises(ValueError, match="known endings"):
        outofcore.fit(BinaryRelevance(), tmp_path / "rows.xyz")
    with pytest.raises(ValueError, match="5 label columns"):
        outofcore.fit(BinaryRelevance(), [(X, Y), (X, Y[:, :3])])


_KILLED = """
import sys
import numpy as np
from hyperlabel import BinaryRelevance, outofcore
X, Y = np.load("X.npy"), np.load("Y.npy")
class Slow:
    def __len__(self): return 20
    def __getitem__(self, i):
        if i in (19, int(sys.argv[1])):
            open("there", "w").close()
            sys.stdin.read()  # until it is killed
        return X[20 * i : 20 * i + 20], Y[20 * i : 20 * i + 20]
outofcore.fit(BinaryRelevance(), Slow(), checkpoint="half.npz", checkpoint_seconds=0.0)
"""


def test_a_killed_fit_resumes_and_reads_only_the_rest(data, tmp_path):
    X, Y = data
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "Y.npy", Y)
    (tmp_path / "fit.py").write_text(textwrap.dedent(_KILLED))
    source = os.path.abspath("src")
    env = {**os.environ, "PYTHONPATH": source, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "fit.py", "12"]
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdin=subprocess.PIPE) as job:
        try:
            while not all((tmp_path / name).exists() for name in ("there", "half.npz")):
                assert job.poll() is None, "the fit never wrote a checkpoint"
                time.sleep(0.05)
        finally:
            job.send_signal(signal.SIGKILL)
    read = []

    class Rest:
        def __len__(self):
            return 20

        def __getitem__(self, i):
            read.append(i)
            return X[20 * i : 20 * i + 20], Y[20 * i : 20 * i + 20]

    half = tmp_path / "half.npz"
    with pytest.raises(ValueError, match="another model"):
        outofcore.fit(BinaryRelevance(alpha=7.0), Rest(), checkpoint=half)
    read.clear()
    model = outofcore.fit(BinaryRelevance(), Rest(), checkpoint=half)
    _same(model, BinaryRelevance().fit(X, Y), X)
    assert min(read[1:]) >= 5  # the first chunk once more for validation, then only what was missing
    assert not half.exists()


@pytest.mark.parametrize("fails_at", [6, 17])  # in the pass over the labels, in the pass over the sums
def test_a_fit_of_two_passes_resumes_in_either(fails_at, data, tmp_path):
    X, Y = data
    reads = []

    class Flaky:
        broken = True

        def __len__(self):
            return 10

        def __getitem__(self, i):
            reads.append(i)
            if self.broken and len(reads) == fails_at:
                raise OSError("the disk is gone")
            return X[40 * i : 40 * i + 40], Y[40 * i : 40 * i + 40]

    chunks, options = Flaky(), {"checkpoint": tmp_path / "half.npz", "checkpoint_seconds": 0.0}
    with pytest.raises(OSError, match="the disk is gone"):
        outofcore.fit(HypergraphSpectral(), chunks, **options)
    chunks.broken, before = False, len(reads)
    model = outofcore.fit(HypergraphSpectral(), chunks, **options)
    _same(model, HypergraphSpectral().fit(X, Y), X)
    assert len(reads) - before < 21 - fails_at + 4  # two passes and validation are 21 reads


def write_npz_files(X, Y, folder, ends):
    for i, rows in enumerate(np.split(np.arange(len(X)), ends)):
        np.savez(folder / f"{i}.npz", X=X[rows], Y=Y[rows])


def write_csv_files(X, Y, folder, ends):
    header = ",".join([*(f"x{j}" for j in range(X.shape[1])), *(f"label{j}" for j in range(Y.shape[1]))])
    for i, rows in enumerate(np.split(np.arange(len(X)), ends)):
        lines = (",".join([*map(repr, X[r].tolist()), *map(str, Y[r])]) for r in rows)
        (folder / f"{i}.csv").write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("write", "ends", "model"),
    [
        (write_npz_files, [150, 190], BinaryRelevance()),
        (write_npz_files, [30, 60, 300], HypergraphSpectral(n_components=2)),
        (write_csv_files, [90, 330], PLST(2)),
    ],
)
def test_a_fit_over_several_files_resumes_after_any_chunk_of_any_file(
    write, ends, model, data, tmp_path, monkeypatch
):
    """Chunks are counted in each file anew: a place in one file says nothing about the next."""
    folder = tmp_path / "parts"
    folder.mkdir()
    write(*data, folder, ends)
    labels = {"labels": [f"label{j}" for j in range(K)]} if write is write_csv_files else {}
    files = sorted(folder.iterdir())
    checkpoint = {"checkpoint": tmp_path / "half.npz", "checkpoint_seconds": 0.0}
    whole = outofcore.fit(clone(model), outofcore.FileChunks(files, rows=40, **labels))
    save = Checkpoint.save
    for stop in range(1, 100):
        saves = []

        def save_and_stop(self, state, saves=saves, stop=stop):
            save(self, state)
            saves.append(state.place)
            if len(saves) == stop:
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(Checkpoint, "save", save_and_stop)
            try:
                outofcore.fit(clone(model), outofcore.FileChunks(files, rows=40, **labels), **checkpoint)
                break
            except KeyboardInterrupt:
                pass
        resumed = outofcore.fit(clone(model), outofcore.FileChunks(files, rows=40, **labels), **checkpoint)
        for name in ("coef_", "components_"):
            if hasattr(whole, name):
                np.testing.assert_array_equal(getattr(resumed, name), getattr(whole, name))
        assert not checkpoint["checkpoint"].exists()
    assert stop > sum(-(-len(rows) // 40) for rows in np.split(np.arange(N), ends))


class Interrupted:
    """Chunks of 40 rows of which the fifth cannot be read."""

    def __init__(self, *arrays, broken=True):
        self.arrays, self.broken = arrays, broken

    def __len__(self):
        return 10

    def __getitem__(self, i):
        if self.broken and i == 5:
            raise OSError("the disk is gone")
        return tuple(array[40 * i : 40 * i + 40] for array in self.arrays)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("changed", ["X", "y", "weights", "weights at all"])
def test_a_checkpoint_is_refused_for_other_data_of_the_same_shape(changed, container, data, tmp_path):
    X, Y = data
    weights = np.ones(len(X))
    options = {"checkpoint": tmp_path / "half.npz", "checkpoint_seconds": 0.0}
    with pytest.raises(OSError, match="the disk is gone"):
        outofcore.fit(BinaryRelevance(), Interrupted(container(X), Y, weights), **options)
    other = {
        "X": (container(X + 5), Y, weights),
        "y": (container(X), 1 - Y, weights),
        "weights": (container(X), Y, 2 * weights),
        "weights at all": (container(X), Y),
    }[changed]
    with pytest.raises(ValueError, match="other data"):
        outofcore.fit(BinaryRelevance(), Interrupted(*other, broken=False), **options)
    again = Interrupted(container(X), Y, weights, broken=False)
    _same(outofcore.fit(BinaryRelevance(), again, **options), BinaryRelevance().fit(X, Y), X)


def test_a_checkpoint_is_refused_for_files_written_since_and_for_other_classes(data, tmp_path):
    X, Y = data
    for name, array in (("X", X), ("Y", Y)):
        np.save(tmp_path / f"{name}.npy", array)
    np.savez(tmp_path / "rows.npz", X=X, Y=Y)
    paths = tmp_path / "X.npy", tmp_path / "Y.npy"
    for make, touched in (
        (lambda: outofcore.RowChunks(*paths, rows=50), tmp_path / "Y.npy"),
        (lambda: outofcore.FileChunks(tmp_path / "rows.npz", rows=50), tmp_path / "rows.npz"),
    ):
        identity = make().identity()
        assert make().identity() == identity
        when = touched.stat().st_mtime_ns + 1_000_000
        os.utime(touched, ns=(when, when))
        assert make().identity() != identity
    y = np.arange(len(X)) % 3
    options = {"checkpoint": tmp_path / "half.npz", "checkpoint_seconds": 0.0}
    with pytest.raises(OSError, match="the disk is gone"):
        outofcore.fit(BinaryRelevance(), Interrupted(X, y), classes=[0, 1, 2], **options)
    with pytest.raises(ValueError, match="other data"):
        outofcore.fit(BinaryRelevance(), Interrupted(X, y, broken=False), classes=[0, 1, 2, 3], **options)


def test_a_checkpoint_with_indices_out_of_range_or_odd_parts_is_refused(data, tmp_path):
    path, rows = tmp_path / "half.npz", sparse.csr_array(np.eye(3))
    rows.indices[0] = 10**6
    for arrays in ({"sums:x": rows}, {"other:x": np.ones(3)}, {"state": np.asarray("[1]")}):
        write_arrays(path, {"state": np.asarray('{"stage": "sum", "place": [0, 0], "rows": 0}')} | arrays)
        with pytest.raises(ValueError, match="not a checkpoint"):
            outofcore.fit(BinaryRelevance(), [data], checkpoint=path)
    back = sparse.csr_array((3, 3))
    back.indptr[1] = 10**6
    write_arrays(path, {"sums:x": back})
    with pytest.raises(ValueError, match="end before they start"):
        read_arrays(path)


@pytest.mark.parametrize("place", ["[9, 0]", "[1e1, 0]"])
def test_a_checkpoint_that_names_another_place_is_refused(tmp_path, place):
    """The hash was over the sums alone: from another place they gave another model."""
    path, kept = tmp_path / "half.npz", Checkpoint(tmp_path / "half.npz", ["a fit"])
    kept.save(State("sum", (1, 0), 20, {"x": np.ones(3)}))
    assert kept.load().place == (1, 0)
    arrays = read_arrays(path)
    arrays["state"] = np.asarray(str(arrays["state"]).replace("[1, 0]", place))
    write_arrays(path, arrays)
    with pytest.raises(CheckpointError, match="is damaged"):
        kept.load()


def test_a_file_that_is_no_checkpoint_is_refused(data, tmp_path):
    (tmp_path / "other.npz").write_bytes(b"nonsense")
    with pytest.raises(ValueError, match="not a checkpoint"):
        outofcore.fit(BinaryRelevance(), [data], checkpoint=tmp_path / "other.npz")


@pytest.mark.parametrize("output", ["labels", "scores", "topk"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_predictions_stream_to_disk_and_resume(output, container, data, tmp_path):
    X, Y = data
    model = BinaryRelevance().fit(X, container(Y))
    folder = outofcore.predict(model, outofcore.RowChunks(X, rows=130), tmp_path, output=output, k=2)
    kept = (folder / "part-000000.npz").stat().st_mtime_ns
    (folder / "part-000002.npz").unlink()  # as if killed before the third part
    outofcore.predict(model, outofcore.RowChunks(X, rows=130), tmp_path, output=output, k=2)
    assert (folder / "part-000000.npz").stat().st_mtime_ns == kept
    parts = list(outofcore.read_predictions(folder))
    assert len(parts) == 4
    if output == "topk":
        indices, scores = model.predict_topk(X, k=2)
        assert (np.vstack([p[0] for p in parts]) == indices).all()
        assert_allclose(np.vstack([p[1] for p in parts]), scores)
    elif output == "scores":
        assert_allclose(np.vstack(parts), model.decision_function(X))
    else:
        stacked = sparse.vstack(parts).toarray() if sparse.issparse(parts[0]) else np.vstack(parts)
        expected = model.predict(X)
        assert (stacked == (expected.toarray() if sparse.issparse(expected) else expected)).all()


def test_progress_says_rate_and_time_left_only_when_shown(capsys):
    source = outofcore.RowChunks(np.zeros((100, 2)))
    with row_counter("fit", source, 0, True) as count:
        count(50)
    said = capsys.readouterr().err
    assert "fit: 50 of 100 rows" in said
    assert "rows/s" in said
    assert "left" in said
    with row_counter("fit", source, 0, None) as count:
        count(50)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("ending", [".svm", ".svm.gz", ".csv", ".npz", ".parquet"])
def test_files_say_about_how_many_rows_are_left(ending, tmp_path, capsys):
    rng = np.random.default_rng(0)
    n = 30_000
    path = tmp_path / f"rows{ending}"
    if ending.startswith(".svm"):
        lines = [f"{i % 3} 1:{value:.6f} 2:1\n" for i, value in enumerate(rng.random(n))]
        text = "".join(lines * 2).encode()
        path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
        n *= 2
    elif ending == ".npz":
        np.savez(path, X=rng.random((n, 2)), Y=np.ones((n, 1), dtype=int))
    else:
        table = pd.DataFrame({"a": rng.random(n), "label": rng.integers(0, 2, n)})
        table.to_csv(path, index=False) if ending == ".csv" else table.to_parquet(path)
    found = estimate_rows(path)
    assert abs(found - n) <= (0 if ending in (".npz", ".parquet") else 0.05 * n)
    shards = tmp_path / "shards"
    shards.mkdir()
    for i in range(3):
        Y = sparse.csr_array(np.eye(4, 2))
        np.savez(shards / f"{i}.npz", X=np.eye(4), Y_indices=Y.indices, Y_indptr=Y.indptr, Y_shape=Y.shape)
    assert outofcore.FileChunks(shards).n_rows == 12
    (tmp_path / "broken.npz").write_bytes(b"no archive")
    assert outofcore.FileChunks(tmp_path / "broken.npz").n_rows is None
    if ending == ".npz":
        outofcore.fit(BinaryRelevance(), outofcore.FileChunks(path, rows=10_000), progress=True)
        assert "of about 30,000 rows" in capsys.readouterr().err
