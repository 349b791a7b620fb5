"""Kill −9 at random moments: `python -m attack.kill --kills 200`.

Files are the old or the new ones, whole; fits and suites that were killed end in equal bits.

Children are forked from this process, which has no threads, so that a kill costs no imports.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path

import numpy as np
from click.testing import CliRunner

import hyperlabel
from hyperlabel import outofcore
from hyperlabel.apps.cli import main as cli
from hyperlabel.apps.comparison import Method, Protocol, Splits, Store, run
from hyperlabel.apps.serve.served_model import ServedModel
from hyperlabel.datasets import Dataset, make_multilabel
from hyperlabel.tabular.model_file import open_model
from reproduction.command import main as reproduction_command

Job = tuple[Callable[[], None], Callable[[], None]]


def forked(work: Callable[[], None], seconds: float | None) -> bool:
    """Do the work in a child, killed after so many seconds; say whether the kill came first."""
    child = os.fork()
    if not child:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if not os.WIFSIGNALED(status) and status:
        raise SystemExit("The work itself failed; see above.")
    return os.WIFSIGNALED(status)


def command(*arguments: str) -> str:
    """Run `hyperlabel` in this process; return what it printed."""
    done = CliRunner().invoke(cli, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def saving(folder: Path) -> Job:
    """Models of a few megabytes in turn: the file holds one of them, whole."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(40, 300)), rng.integers(0, 2, size=(40, 50))
    models = [hyperlabel.BinaryRelevance(alpha=alpha).fit(X, Y) for alpha in (1.0, 2.0)]
    path = folder / "m.hyper"
    hyperlabel.save(models[0], path)

    def work() -> None:
        for model in models[::-1] * 3:
            hyperlabel.save(model, path)

    def check() -> None:
        assert hyperlabel.load(path).alpha in (1.0, 2.0)
        hyperlabel.save(models[0], path)
        assert [found.name for found in folder.iterdir()] == ["m.hyper"], "a leftover stayed"

    return work, check


def updating(folder: Path) -> Job:
    """`hyperlabel update` in place: the model has its old rows or the new ones too."""
    data = make_multilabel(60, 5, 3, random_state=0)
    path, new = folder / "m.hyper", folder / "new.npz"
    data.save(new)

    command("fit", str(new), "-o", str(path), "--method", "ridge")
    before = path.read_bytes()

    def work() -> None:
        command("update", str(path), str(new))

    def check() -> None:
        changed = path.read_bytes() != before
        hyperlabel.load(path)
        if changed:
            path.write_bytes(before)

    return work, check


def summing(folder: Path) -> Job:
    """A fit in blocks that goes on where it was killed: the same bits as one that was left alone."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 60))
    Y = (X[:, :4] + rng.normal(size=(6000, 4)) > 0).astype(int)
    chunks = [(X[i : i + 200], Y[i : i + 200]) for i in range(0, 6000, 200)]
    expected = outofcore.fit(hyperlabel.PLST(2), chunks).coef_
    path = folder / "half.npz"

    def work() -> None:
        model = outofcore.fit(hyperlabel.PLST(2), chunks, checkpoint=path, checkpoint_seconds=0.0)
        assert np.array_equal(model.coef_, expected)

    def check() -> None:
        if random.random() < 0.3:  # most go on from kill to kill
            forked(work, None)

    return work, check


def comparing(folder: Path) -> Job:
    """A suite of cells: whatever was finished is there, and the table ends in equal bytes."""
    X, Y = (
        np.random.default_rng(0).normal(size=(80, 6)),
        np.random.default_rng(1).integers(0, 2, size=(80, 4)),
    )
    methods = [Method("ridge", hyperlabel.BinaryRelevance(), {"alpha": [0.1, 10.0]})]
    protocol = Protocol("small", [Dataset(X, Y, name="made")], methods, Splits("random", 6, train_size=50))
    path = folder / "r.sqlite"

    def compute(name: Path) -> str:
        with Store(name) as store:
            run(protocol.cells(), store, protocol.name)
            return repr(store.values("small"))

    expected = compute(folder / "whole.sqlite")

    def work() -> None:
        assert compute(path) == expected

    def check() -> None:
        if random.random() < 0.3:
            forked(work, None)
            for left in folder.glob("r.sqlite*"):
                left.unlink()

    return work, check


def reproducing(folder: Path) -> Job:
    """A table of a paper on made data: after any number of kills its numbers are the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(593, 72))
    Dataset(X, (X[:, :6] + rng.normal(size=(593, 6)) > 0.8).astype(int)).save(folder / "emotions.npz")
    page = folder / "r.html"

    def compute(store: Path) -> list[dict[str, object]]:
        files = ["--data", str(folder), "--store", str(store), "--out", str(page)]
        call = ["neco12-table3", "--quick", "--n-jobs", "1", *files, "--json"]
        done = CliRunner().invoke(reproduction_command, call, catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)[0]["numbers"]

    expected, path = compute(folder / "whole.sqlite"), folder / "p.sqlite"
    assert any(one["ours"] for one in expected)

    def work() -> None:
        assert compute(path) == expected

    def check() -> None:
        assert page.read_text(encoding="utf-8").rstrip().endswith("</html>")
        if random.random() < 0.3:
            forked(work, None)
            for left in folder.glob("p.sqlite*"):
                left.unlink()

    return work, check


def learning(folder: Path) -> Job:
    """A served model that learns: whatever was answered for is in its file, and at most one text more."""
    path, told = folder / "notes.hyper", folder / "told"
    rows = "".join(
        f"{i} {'piano' if i % 2 else 'garden'},{'music' if i % 2 else 'plants'}\n" for i in range(20)
    )
    (folder / "notes.csv").write_text("text,tags\n" + rows)
    command(
        "fit",
        str(folder / "notes.csv"),
        "-o",
        str(path),
        "--method",
        "ridge",
        "--labels",
        "tags",
        "--text",
        "text",
    )
    before, first = path.read_bytes(), open_model(str(path)).columns.rows

    def work() -> None:
        model = ServedModel(str(path), learns=True)
        with told.open("ab", buffering=0) as answers:
            for _ in range(4):
                model.learn(["a piano again"], [["music"]])
                answers.write(b".")

    def check() -> None:
        answered = told.stat().st_size if told.exists() else 0
        assert answered <= open_model(str(path)).columns.rows - first <= answered + 1
        path.write_bytes(before)
        told.unlink(missing_ok=True)

    return work, check


JOBS: dict[str, Callable[[Path], Job]] = {
    "save": saving,
    "update": updating,
    "out-of-core": summing,
    "compare": comparing,
    "reproduce": reproducing,
    "learn": learning,
}


def kill() -> int:
    parser = argparse.ArgumentParser(prog="python -m attack.kill", description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="of each kind of work")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for each kind of work, at most")
    parser.add_argument("--work", nargs="+", default=list(JOBS), choices=list(JOBS))
    options = parser.parse_args()
    for name in options.work:
        with tempfile.TemporaryDirectory() as folder:
            work, check = JOBS[name](Path(folder))
            forked(work, None)
            check()
            start = time.perf_counter()
            forked(work, None)
            check()
            whole, killed = time.perf_counter() - start, 0
            end = time.perf_counter() + options.seconds
            while killed < options.kills and time.perf_counter() < end:
                killed += forked(work, random.uniform(0.0, whole))
                check()
            forked(work, None)
            check()
        print(f"{name}: {killed} kills, every file whole, every result equal", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(kill())
