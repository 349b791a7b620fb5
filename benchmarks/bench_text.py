"""Wide text beside omikuji's trees: Debian package descriptions with all tags, and synthetic rows.

Run: python -m benchmarks.bench_text [python with omikuji [name of a data set …]], or … bench_text tolerances
Run: python -m benchmarks.bench_text tuner    (`ThresholdTuner()` beside `hyperlabel fit`)
apt must know Debian bookworm (see tools/build_debtags.py). One thread, CPU seconds of the fit, each fit in
its own process. "converged" is the same ridge to 1e-7 in double precision: it tells what the default
tolerance changes; the squared hinge takes λ by evidence. omikuji runs with its defaults (Parabel) and with
wide, shallow, unbalanced trees (Bonsai); rows without words or labels, which it refuses, are left out for it.
"""

from __future__ import annotations

import json
import pickle
import re
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.bench_wide import make
from benchmarks.measure import in_process, peak_gb

OURS: dict[str, dict[str, Any]] = {
    "hyperlabel": {"alpha": 1.0, "solver": "krylov"},
    "hyperlabel, converged": {"alpha": 1.0, "solver": "krylov", "tol": 1e-7},
    "hyperlabel, squared hinge": {"loss": "squared_hinge"},
}
TREES = {"parabel": {}, "bonsai": {"cluster_balanced": False, "cluster_k": 100, "max_depth": 3}}
Split = tuple[Any, Any, Any, Any]


def debian(*, bigrams: bool, labels: int | None = None) -> Split:
    """All packages with tags, three quarters for training; tags of at least 20 packages (bigrams: 5).

    With `labels`, packages they depend on take the place of tags (of which there are not so many): the most
    frequent ones, on at most 30 000 packages.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    from tools.build_debtags import TOKEN_PATTERN, described, fetch_lists

    found = []
    for entry, tags, text in described(*fetch_lists()):
        if labels is not None:
            tags = set(re.findall(r"(?:^|, )([a-z0-9][a-z0-9+.-]+)", entry.get("Depends", "")))
        if tags:
            found.append((text, tags))
    found = [found[i] for i in np.random.default_rng(0).permutation(len(found))[: 30_000 if labels else None]]
    threshold = 3 * len(found) // 4
    counts = Counter(tag for _, tags in found[:threshold] for tag in tags)
    names = sorted(tag for tag, count in counts.items() if count >= (5 if bigrams else 20))
    if labels is not None:
        names = sorted(sorted(counts, key=lambda tag: (-counts[tag], tag))[:labels])
    place = {tag: j for j, tag in enumerate(names)}
    held = [(i, place[tag]) for i, (_, tags) in enumerate(found) for tag in tags & place.keys()]
    rows, columns = np.array(held).T
    Y = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(found), len(names)))
    vectorizer = TfidfVectorizer(
        token_pattern=TOKEN_PATTERN,
        min_df=3 if labels is None else 5,
        max_df=0.4,
        stop_words="english",
        ngram_range=(1, 2 if bigrams else 1),
        sublinear_tf=True,
        dtype=np.float32,
    )
    train = sparse.csr_array(vectorizer.fit_transform([text for text, _ in found[:threshold]]))
    test = sparse.csr_array(vectorizer.transform([text for text, _ in found[threshold:]]))
    return train, Y[:threshold], test, Y[threshold:]


def synthetic() -> Split:
    X, Y = make(30_000, 20_000, 300)
    return X[3000:], Y[3000:], X[:3000], Y[:3000]


def one(method: str, path: str) -> None:
    X, Y, X_test, Y_test = pickle.loads(Path(path).read_bytes())  # written by `main`
    residual = float("nan")
    if method in OURS:
        from hyperlabel import BinaryRelevance

        model = BinaryRelevance(**OURS[method])
        model.fit(X[:40], Y[:40])  # compiled code warm
        start = time.process_time()
        model.fit(X, Y)
        seconds, residual = time.process_time() - start, model.residual_
        best = model.predict_topk(X_test, k=5)[0]
    else:
        seconds, best = omikuji_trees(TREES[method], X, Y, X_test)
    hit = np.take_along_axis(Y_test.toarray(), best, axis=1)
    precision = [float(hit[:, :k].mean()) for k in (1, 3, 5)]
    print(json.dumps({"fit": seconds, "peak_gb": peak_gb(), "residual": residual, "precision": precision}))


def omikuji_trees(settings: dict[str, Any], X: Any, Y: Any, X_test: Any) -> tuple[float, np.ndarray]:
    import omikuji

    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        kept = np.flatnonzero((np.diff(X.indptr) > 0) & (np.diff(Y.indptr) > 0))
        file.write(f"{len(kept)} {X.shape[1]} {Y.shape[1]}\n")
        for i in kept:
            words = range(X.indptr[i], X.indptr[i + 1])
            labels = ",".join(map(str, Y.indices[Y.indptr[i] : Y.indptr[i + 1]]))
            file.write(labels + "".join(f" {X.indices[t]}:{X.data[t]:.6g}" for t in words) + "\n")
        file.flush()
        options = omikuji.Model.default_hyper_param()
        for name, value in settings.items():
            setattr(options, name, value)
        start = time.process_time()
        model = omikuji.Model.train_on_data(file.name, options, n_threads=1)
        seconds = time.process_time() - start
    best = np.zeros((X_test.shape[0], 5), dtype=int)
    for i in range(X_test.shape[0]):
        span = slice(X_test.indptr[i], X_test.indptr[i + 1])
        row = list(zip(X_test.indices[span].tolist(), X_test.data[span].tolist(), strict=True))
        for rank, (label, _) in enumerate(model.predict(row, top_k=5)):
            best[i, rank] = label
    return seconds, best


def tolerances() -> None:
    """Precision that each tolerance changes, and its price: training rows held out in turn, a quarter each.

    Test rows choose nothing. The price is CPU time over that of the first tolerance.
    """
    from benchmarks._data import real
    from hyperlabel import BinaryRelevance
    from hyperlabel.datasets import load_debtags

    sets = {"debtags": load_debtags(), **{name: real(name, "train") for name in ("medical", "corel5k")}}
    rows = {name: (data.X, sparse.csr_array(data.Y)) for name, data in sets.items()}
    rows["synthetic"] = make(12_000, 10_000, 200, seed=5)
    for name, (X, Y) in rows.items():
        order = np.random.default_rng(0).permutation(X.shape[0])
        quarters = np.array_split(order[: 3 * len(order) // 4], 4)
        X = sparse.csr_array(X, dtype=np.float32)
        found, seconds = {}, {}
        for tol in (5e-4, 2.5e-4, 1e-4, 5e-5, 1e-7):
            hits, start = [], time.process_time()
            for q, held in enumerate(quarters):
                inner = np.concatenate(quarters[:q] + quarters[q + 1 :])
                model = BinaryRelevance(alpha=1.0, solver="krylov", tol=tol).fit(X[inner], Y[inner])
                best = model.predict_topk(X[held], k=5)[0]
                hits.append(np.take_along_axis(Y[held].toarray(), best, axis=1))
            seconds[tol] = time.process_time() - start
            found[tol] = np.array([np.vstack(hits)[:, :k].mean() for k in (1, 3, 5)])
        for tol, precision in found.items():
            off, price = np.round(precision - found[1e-7], 4), seconds[tol] / seconds[5e-4]
            print(f"{name:<12}{tol:8.1e}  P@1/3/5 off by {off}, price {price:.2f}", flush=True)


def tuner() -> None:
    """CPU seconds and held-out macro-F1 of `hyperlabel fit`, and of `ThresholdTuner()` on the same features.

    Programs and their tags of at least 20 of them; a fifth of the sources is held out.
    """
    from hyperlabel import ThresholdTuner
    from hyperlabel.metrics import f1_score
    from hyperlabel.tabular import fit_table
    from tools.build_debtags import described, fetch_lists

    programs = [
        (entry.get("Source", entry["Package"]).split()[0], text, sorted(tags))
        for entry, tags, text in described(*fetch_lists())
        if "role::program" in tags and len(tags) > 2
    ]
    sources = np.random.default_rng(0).permutation(sorted({source for source, _, _ in programs}))
    held_out = set(sources[: len(sources) // 5])
    train = [(text, tags) for source, text, tags in programs if source not in held_out]
    test = [(text, tags) for source, text, tags in programs if source in held_out]
    with tempfile.TemporaryDirectory() as folder:
        options: Any = {"labels": "labels", "group": ""}

        def write(name: str, rows: list[tuple[str, list[str]]]) -> str:
            path = Path(folder, f"{name}.jsonl")
            path.write_text("\n".join(json.dumps({"text": text, "labels": tags}) for text, tags in rows))
            return str(path)

        table = write("train", train)
        fit_table(write("warm", train[:400]), min_rows=20, **options)  # compiled code warm
        start = time.process_time()
        model = fit_table(table, str(Path(folder, "model.hyper")), min_rows=20, **options).model
        seconds = {"hyperlabel fit": time.process_time() - start}
    features, labels = model[0], [str(name) for name in model[-1].label_names_]
    X, X_test = (features.transform([text for text, _ in rows]) for rows in (train, test))
    Y, Y_test = (
        sparse.csr_array([[name in tags for name in labels] for _, tags in rows]) for rows in (train, test)
    )
    Y, Y_test = Y.astype(float), Y_test.astype(float)
    print(f"{X.shape[0]} × {X.shape[1]}, {X.nnz / X.shape[0]:.0f} terms a row, {Y.shape[1]} labels")
    start = time.process_time()
    tuned = ThresholdTuner().fit(X, Y)
    seconds["ThresholdTuner()"] = time.process_time() - start
    for name, classifier in (("hyperlabel fit", model[-1]), ("ThresholdTuner()", tuned)):
        macro = f1_score(Y_test, classifier.predict(X_test), average="macro")
        print(
            f"  {name:<17}{seconds[name]:>7.2f} s  macro-F1 {macro:.4f}  cv_score_ {classifier.cv_score_:.4f}"
        )


DATA = {
    "Debian, words": lambda: debian(bigrams=False),
    "Debian, words and bigrams": lambda: debian(bigrams=True),
    "Debian, 2000 dependencies": lambda: debian(bigrams=True, labels=2000),
    "synthetic": synthetic,
}


def measured(python: str, n_rounds: int = 9) -> dict[str, Any]:
    """Seconds of ours and of Parabel on Debian's words, taking turns, and the precision of either."""
    split = debian(bigrams=False)
    n, d = split[0].shape
    with tempfile.NamedTemporaryFile(suffix=".pkl") as file:
        Path(file.name).write_bytes(pickle.dumps(split))
        ours, theirs = [], []
        for _ in range(n_rounds):
            ours.append(in_process(__file__, "hyperlabel", file.name))
            theirs.append(in_process(__file__, "parabel", file.name, python=python))
    found = {"ours": [row["fit"] for row in ours], "theirs": [row["fit"] for row in theirs]}
    precision = {"P@1": ours[0]["precision"][0], "their P@1": theirs[0]["precision"][0]}
    return found | precision | {"n": n, "d": d, "k": split[1].shape[1]}


def main(python: str | None = None, *names: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in names or DATA:
            split = DATA[name]()
            path = Path(folder, "split.pkl")
            path.write_bytes(pickle.dumps(split))
            n, d = split[0].shape
            print(f"{name}: {n:,} × {d:,}, {split[0].nnz / n:.0f} terms a row, {split[1].shape[1]} labels")
            for method in [*OURS, *(TREES if python else ())]:
                interpreter = python if python and method in TREES else sys.executable
                row = in_process(__file__, method, path, python=interpreter)
                precision = "  ".join(f"{value:.4f}" for value in row["precision"])
                print(f"  {method:<27}{row['fit']:>8.2f} s {row['peak_gb']:>6.2f} GB", end="  ")
                print(f"P@1/3/5 {precision}  residual {row['residual']:.1e}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["tolerances"]:
        tolerances()
    elif sys.argv[1:] == ["tuner"]:
        tuner()
    elif len(sys.argv) == 3 and sys.argv[1] in {*OURS, *TREES}:
        one(*sys.argv[1:])
    else:
        main(*sys.argv[1:])
