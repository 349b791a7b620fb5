"""One table of ratios against peers from PyPI, each in its own environment and process.

Run: python -m benchmarks.peers [data …]
Environments live in .bench/ (ignored by git) and are made on first use. A peer that does not install or
run here gets a row that says so. Threads are fixed to 1; times are CPU seconds, so that a busy machine
does not distort them, and medians of warm runs. Every
method gets the same rows. Thresholds are tuned for everyone alike, on scores of held-out training rows:
one shared threshold for micro-F1, one per label for macro-F1.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks._data import real
from benchmarks.measure import ROOT, in_process
from hyperlabel import metrics
from hyperlabel.decision import decide, global_threshold, per_label_thresholds

CACHE = ROOT / ".bench"
RUNNER = str(Path(__file__).with_name("peer_runner.py"))


@dataclass(frozen=True)
class Peer:
    """A method, its environment ("": ours) and the packages in it, `bare` ones without what they ask for."""

    method: str
    packages: tuple[str, ...] = ()
    environment: str = ""
    only: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()


PEERS = (
    Peer("ovr", ("scikit-learn==1.9.1", "numpy==2.4.6"), "sklearn"),
    Peer("ridge", ("scikit-learn==1.9.1", "numpy==2.4.6"), "sklearn", only=("emotions", "scene", "medical")),
    Peer("napkinxc-br", ("napkinxc",), "napkinxc"),
    Peer("napkinxc-plt", ("napkinxc",), "napkinxc"),
    Peer("libmultilabel", ("libmultilabel",), "libmultilabel"),
    Peer("libmultilabel-tree", ("libmultilabel",), "libmultilabel"),
    # its linear part needs none of the deep-learning packages that it asks for
    Peer("pecos", ("numpy<2", "scipy<1.14", "scikit-learn<1.6"), "pecos", bare=("libpecos",)),
    Peer("mlknn", ("scikit-multilearn-ng",), "skmultilearn", only=("emotions", "scene")),
    Peer("ours-mlknn", only=("emotions", "scene")),
    Peer("ours-br"),
    Peer("ours-br-cv"),
    Peer("ours-plst"),
)
DATA = ("emotions", "scene", "medical", "delicious")
NOTES = """\
what differs: ovr and libmultilabel train a hinge-loss SVM per label, napkinXC logistic loss (BR, or a
label tree: PLT), PECOS a label tree of SVMs, ridge and ours-br squared loss (ours in one shared solve);
ours-br-cv also chooses λ of six by 3-fold cross-validation, ours-plst the number of components;
mlknn counts each training row among its own neighbours, ours-mlknn does not.
MB is the most that the first fit and its predictions add to data and imports;
model MB the pickled or saved model."""


def python_of(peer: Peer) -> str:
    """Interpreter of the peer's environment, made on first use."""
    if not peer.environment:
        return sys.executable
    home = CACHE / peer.environment
    python = home / "bin" / "python"
    ready = home / ".ready"
    if not ready.exists():
        CACHE.mkdir(exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True, capture_output=True)
        install = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        for packages in (peer.packages, ("--no-deps", *peer.bare) if peer.bare else ()):
            done = subprocess.run([*install, *packages], capture_output=True, text=True) if packages else None
            if done is not None and done.returncode:
                raise RuntimeError("does not install: " + done.stderr.strip().splitlines()[-1])
        ready.touch()
    return str(python)


def prepare(name: str, folder: Path) -> tuple[Path, np.ndarray, Any, Any]:
    """Write the published split for the runners; return the file, held-out rows, Y and Y of the test."""
    train, test = real(name, "train"), real(name, "test")
    X, X_test = train.X, test.X
    if not sparse.issparse(X):  # the same z-scores for everyone: most peers need them
        scale = np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
        X, X_test = (X - X.mean(axis=0)) / scale, (X_test - X.mean(axis=0)) / scale
    held_out = np.sort(np.random.default_rng(0).permutation(len(train))[: len(train) // 4])
    arrays: dict[str, Any] = {"held_out": held_out}
    for key, value in (("X", X), ("Y", train.Y), ("X_test", X_test)):
        if sparse.issparse(value):
            arrays |= {f"{key}_{part}": getattr(value, part) for part in ("data", "indices", "indptr")}
            arrays[f"{key}_shape"] = np.asarray(value.shape)
        else:
            arrays[key] = value
    path = folder / f"{name}.npz"
    np.savez(path, **arrays)
    return path, held_out, train.Y, test.Y


def quality(scores: dict[str, np.ndarray], Y_held_out: Any, Y_test: Any) -> dict[str, float]:
    """Measure the test scores, with thresholds tuned on the held-out scores."""
    held_out, test = (np.nan_to_num(scores[key].astype(np.float64)) for key in ("held_out", "test"))
    shared = decide(test, global_threshold(held_out, Y_held_out, scoring="f1_micro").thresholds)
    own = decide(test, per_label_thresholds(held_out, Y_held_out, scoring="f1_macro").thresholds)
    return {
        "micro-F1": metrics.f1_score(Y_test, shared, average="micro"),
        "macro-F1": metrics.f1_score(Y_test, own, average="macro"),
        "P@1": metrics.precision_at_k(Y_test, test, k=1),
        "nDCG@5": metrics.ndcg_at_k(Y_test, test, k=5),
        "rank loss": metrics.ranking_loss(Y_test, test),
    }


def run(name: str, peer: Peer, path: Path, held_out: np.ndarray, Y: Any, Y_test: Any, repeats: int) -> dict:
    out = path.with_name(f"{peer.method}.npz")
    found = in_process(RUNNER, peer.method, path, out, repeats, python=python_of(peer), timeout=1200)
    with np.load(out) as scores:
        return found | quality(dict(scores), Y[held_out], Y_test)


def main(*names: str, repeats: int = 3) -> None:
    chosen = names or DATA
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen:
            prepared = prepare(name, Path(folder))
            n, k = prepared[2].shape
            print(f"\n{name}: {n} training rows, {k} labels; times are ratios to the first row", flush=True)
            print(
                f"  {'method':<20}{'fit':>9}{'predict':>9}{'MB':>8}{'model MB':>10}"
                "  micro-F1 macro-F1   P@1 nDCG@5 rank loss"
            )
            base: dict[str, float] = {}
            for peer in PEERS:
                if peer.only and name not in peer.only:
                    continue
                try:
                    row = run(name, peer, *prepared, repeats)
                except (RuntimeError, subprocess.SubprocessError) as error:
                    print(f"  {peer.method:<20}{str(error).splitlines()[-1][:100]}", flush=True)
                    continue
                base = base or row
                times = [f"{row[key] / base[key]:>9.2g}" for key in ("fit", "predict")]
                print(
                    f"  {peer.method:<20}{''.join(times)}{row['peak_mb']:>8.0f}{row['model_mb']:>10.1f}"
                    f"{row['micro-F1']:>10.3f}{row['macro-F1']:>9.3f}{row['P@1']:>6.3f}{row['nDCG@5']:>7.3f}"
                    f"{row['rank loss']:>10.4f}",
                    flush=True,
                )
            if base:
                print(f"  (first row: fit {base['fit']:.2f} s, predict {base['predict']:.3f} s)")
    print(NOTES)


if __name__ == "__main__":
    main(*sys.argv[1:])
