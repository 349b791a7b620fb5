"""Published splits: one call of AutoMultiLabel beside published records and tuned peers.

Nothing is chosen on test rows. A call asked for nDCG@5 gives P@1/3/5, ranking loss and, with one threshold
for all labels from its out-of-fold scores, micro-F1; a second, asked for macro-F1, that; each has half of
the budget (``--one`` takes all from the first, with the whole of it). Peers are tuned on three folds of the
same training rows, for ranking and for each F1 by itself, with our thresholds; settings are tried in the
order of `PEERS` and cut off when the budget is spent: "2 of 4" says how many came through; a peer whose
first fold takes a quarter of it is given up. omikuji and napkinXC take part where they are installed. With
``--cpu`` budgets are seconds of processor time, for machines that others use too: with one thread that is
what an idle core would take. Tables are Markdown, as the docs show them; the last row is our distance to the
best peer of each column with the standard error of 400 resamples of the test rows. ``--keep FOLDER`` keeps
what each peer came to, and later runs with the same budget take it from there.

Run: OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python -m benchmarks.quality_published [name …] [--cpu]
"""

from __future__ import annotations

import argparse
import importlib.util
import pickle
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import LinearSVC

from benchmarks._data import real
from benchmarks.peer_runner import Napkin, NapkinPLT
from hyperlabel import AutoMultiLabel, BinaryRelevance
from hyperlabel.decision import global_threshold, per_label_thresholds
from hyperlabel.linear import ChainEnsemble
from hyperlabel.metrics import f1_score, ndcg_at_k, precision_at_k, ranking_loss
from hyperlabel.metrics.ranking import _rank_rows
from hyperlabel.model_selection import resolve_cv
from hyperlabel.solvers.clock import working_cpu_seconds

NAMES = ("emotions", "scene", "yeast", "medical", "corel5k", "yahoo-arts", "mediamill-disc3", "delicious")
# P@1/3/5 ×100, Extreme Classification Repository, table of 2019-01-10
PUBLISHED = {
    "delicious": {
        "one-vs-all": (65.0, 58.9, 53.3),
        "CPLST": (65.3, 60.0, 55.3),
        "LEML": (65.7, 60.6, 56.1),
        "SLEEC": (67.6, 61.4, 56.6),
        "Parabel": (67.4, 61.8, 56.8),
        "PfastreXML": (67.1, 62.3, 58.6),
        "FastXML": (69.6, 64.1, 59.3),
    }
}
TUNED_C = (0.1, 1.0, 0.01, 10.0)
UP = np.array([True, True, True, False, True, True])  # P@1/3/5, ranking loss, micro-F1, macro-F1
THRESHOLDS: dict[str, Callable[..., Any]] = {"micro": global_threshold, "macro": per_label_thresholds}


def split(name: str) -> list[Any]:
    """Return X, Y, X_test, Y_test: the published split, or the first two thirds of the rows."""
    try:
        parts = [real(name, part) for part in ("train", "test")]
        X, C = (part.X for part in parts)
        Y, T = (sparse.csr_array(part.Y).astype(float) for part in parts)
    except (KeyError, ValueError):
        whole = real(name)
        rows, labels = sparse.csr_array(whole.Y).astype(float), whole.X
        order = np.random.default_rng(0).permutation(rows.shape[0])
        train, test = np.split(order, [2 * len(order) // 3])
        X, C, Y, T = labels[train], labels[test], rows[train], rows[test]
    return [X, Y, C, T]


@dataclass(eq=False)
class Line:
    """What a method came to: scores of the test rows, label sets for each F1; none if it did not finish."""

    title: str
    note: str
    seconds: float
    scores: Any = None
    micro: Any = None
    macro: Any = None

    def values(self, T: Any) -> list[float]:
        """P@1/3/5, ranking loss, micro-F1 and macro-F1."""
        ranked = [100 * precision_at_k(T, self.scores, k=k) for k in (1, 3, 5)]
        sets = [f1_score(T, getattr(self, average), average=average) for average in THRESHOLDS]
        return [*ranked, ranking_loss(T, self.scores), *sets]

    def resampled(self, T: Any, times: np.ndarray) -> np.ndarray:
        """P@1, ranking loss, micro-F1 and macro-F1, 4×resamples, from how often each row came."""
        (loss, _, _), _ = _rank_rows(T, self.scores, None)
        pairs = times * ~np.isnan(loss)
        first = T[np.arange(len(loss)), self.scores.argmax(axis=1)]
        values = [100 * (times @ first) / len(loss), pairs @ np.nan_to_num(loss) / pairs.sum(axis=1)]
        for average, P in (("micro", self.micro), ("macro", self.macro)):
            both, either = times @ T.multiply(P).tocsr(), times @ (T + P).tocsr()
            if average == "micro":
                both, either = (counts.sum(axis=1, keepdims=True) for counts in (both, either))
            values.append((2 * both / np.maximum(either, 1)).mean(axis=1))
        return np.array(values)


def threshold(average: str, oof: np.ndarray, Y: Any, scores: np.ndarray) -> tuple[float, Any]:
    """Return F1 out of fold, as thresholds reach it there, and the label sets of the test rows."""
    found = THRESHOLDS[average](oof, Y, scoring=f"f1_{average}")
    return found.value, sparse.csr_array(scores > found.thresholds).astype(int)


def ours(X: Any, Y: Any, C: Any, *, time_budget: float, one: bool, **options: Any) -> Line:
    start = time.process_time()
    options["time_budget"] = time_budget if one else time_budget / 2
    model = AutoMultiLabel("ndcg_at_5", **options).fit(X, Y)
    other = None if one else AutoMultiLabel("f1_macro", **options).fit(X, Y)
    spent = time.process_time() - start
    scores, oof = model.decision_function(C), model.oof_scores_
    known = ~np.isnan(oof).any(axis=1)
    micro, macro = (threshold(average, oof[known], Y[known], scores)[1] for average in THRESHOLDS)
    chosen = [made.leaderboard_[0]["method"] for made in (model, other) if made is not None]
    if other is not None:
        macro = sparse.csr_array(other.predict(C))
    return Line("`AutoMultiLabel`", "; ".join(chosen), spent, scores, micro, macro)


class Trees:
    """omikuji's trees, scores of all labels."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings

    def fit(self, X: Any, Y: Any) -> Trees:
        import omikuji

        X, self.k = sparse.csr_array(X), Y.shape[1]
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            kept = np.flatnonzero((np.diff(X.indptr) > 0) & (np.diff(Y.indptr) > 0))
            file.write(f"{len(kept)} {X.shape[1]} {self.k}\n")
            for i in kept:
                labels = ",".join(map(str, Y.indices[Y.indptr[i] : Y.indptr[i + 1]]))
                pairs = " ".join(f"{j}:{v:.6g}" for j, v in self._pairs(X, i))
                file.write(f"{labels} {pairs}\n")
            file.flush()
            options = omikuji.Model.default_hyper_param()
            for name, value in self.settings.items():
                setattr(options, name, value)
            self.model = omikuji.Model.train_on_data(file.name, options, n_threads=1)
        return self

    def scores(self, X: Any) -> np.ndarray:
        X = sparse.csr_array(X)
        scores = np.zeros((X.shape[0], self.k))
        for i in range(X.shape[0]):
            for label, value in self.model.predict(self._pairs(X, i), beam_size=self.k, top_k=self.k):
                scores[i, label] = value
        return scores

    def _pairs(self, X: Any, i: int) -> list[tuple[int, float]]:
        here = slice(X.indptr[i], X.indptr[i + 1])
        return [(int(j), float(v)) for j, v in zip(X.indices[here], X.data[here], strict=True)]


class Each:
    """A classifier for each label, or one for all."""

    def __init__(self, model: Any, *, dense: bool = False) -> None:
        self.model, self.dense = model, dense

    def fit(self, X: Any, Y: Any) -> Each:
        self.model.fit(self._rows(X), Y)
        return self

    def scores(self, X: Any) -> np.ndarray:
        return self.model.decision_function(self._rows(X))

    def _rows(self, X: Any) -> Any:
        return X.toarray() if self.dense and sparse.issparse(X) else X


def relevance(make: Any, **options: Any) -> Any:
    return lambda setting: Each(BinaryRelevance(make(**setting)), **options)


# title: how a setting is made, the settings with the likeliest first, and what must be installed
PEERS: dict[str, tuple[Any, list[dict[str, Any]], str]] = {
    "LinearSVC": (relevance(LinearSVC), [{"C": C} for C in TUNED_C], "sklearn"),
    "LogisticRegression": (
        relevance(lambda C: LogisticRegression(C=C, max_iter=1000)),
        [{"C": C} for C in TUNED_C],
        "sklearn",
    ),
    "RandomForest": (
        relevance(lambda **leaf: RandomForestClassifier(100, random_state=0, **leaf)),
        [{"min_samples_leaf": leaf} for leaf in (1, 3)],
        "sklearn",
    ),
    "HistGradientBoosting": (
        relevance(lambda **rate: HistGradientBoostingClassifier(random_state=0, **rate), dense=True),
        [{"learning_rate": 0.1}, {"learning_rate": 0.03}],
        "sklearn",
    ),
    "chain ensemble": (
        lambda setting: Each(ChainEnsemble(LogisticRegression(max_iter=1000, **setting), random_state=0)),
        [{"C": C} for C in (1.0, 0.1)],
        "sklearn",
    ),
    "napkinXC": (
        lambda setting: Napkin() if setting["trees"] == 0 else NapkinPLT(),
        [{"trees": 0}, {"trees": 1}],
        "napkinxc",
    ),
    "omikuji": (
        lambda setting: Trees(**setting),
        [{}, {"linear_c": 0.1}, {"cluster_balanced": False, "max_depth": 2, "cluster_k": 16}],
        "omikuji",
    ),
}


@contextmanager
def at_most(seconds: float, cpu: bool) -> Iterator[None]:
    """Raise TimeoutError when the time is up, again every second should a destructor swallow it."""

    def stop(number: int, frame: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF if cpu else signal.SIGALRM, stop)
    limit(seconds, cpu)
    try:
        yield
    finally:
        limit(0.0, cpu)


def limit(seconds: float, cpu: bool) -> None:
    signal.setitimer(signal.ITIMER_PROF if cpu else signal.ITIMER_REAL, seconds, 1.0)


def theirs(title: str, X: Any, Y: Any, C: Any, *, time_budget: float, cpu: bool) -> Line:
    """Tune one peer on three folds, each measure by itself, until the budget is spent."""
    make, settings, needed = PEERS[title]
    if importlib.util.find_spec(needed) is None:
        return Line(title, "not installed here", 0.0)
    splits = list(resolve_cv(3, Y, None).split(X, Y))
    best: dict[str, tuple[float, Any]] = {}
    clock = time.process_time if cpu else time.perf_counter
    start, done = clock(), 0
    with (
        suppress(TimeoutError),
        at_most(time_budget / 4, cpu),
    ):  # three folds and all rows are four and a half
        for setting in settings:
            oof = np.empty(Y.shape)
            for fold, (train, test) in enumerate(splits):
                oof[test] = scores_of(make(setting), X[train], Y[train], X[test])
                if fold == done == 0:
                    limit(time_budget - (clock() - start), cpu)
            scores = scores_of(make(setting), X, Y, C)
            found = {"scores": (ndcg_at_k(Y, oof, k=min(5, Y.shape[1])), scores)}
            found |= {average: threshold(average, oof, Y, scores) for average in THRESHOLDS}
            for name, pair in found.items():
                best[name] = max(best.get(name, pair), pair, key=lambda pair: pair[0])
            done += 1
    spent = clock() - start
    if not done:
        return Line(title, f"does not finish within {time_budget:.0f} s", spent)
    return Line(title, f"{done} of {len(settings)}", spent, **{name: pair[1] for name, pair in best.items()})


def scores_of(model: Any, X: Any, Y: Any, C: Any) -> np.ndarray:
    model.fit(X, Y)
    return model.scores(C)


def kept(file: Path | None, make: Callable[[], Line]) -> Line:
    """Return the line kept in a file of ours, or make it (and keep it)."""
    if file is not None and file.exists():
        return pickle.loads(file.read_bytes())
    made = make()
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(pickle.dumps(made))
    return made


def show(head: str, lines: list[Line], published: dict[str, Any], T: Any) -> None:
    """Print a Markdown table, the best of each column in bold, then how far the first line is ahead."""
    print(f"\n| {head} | P@1/3/5 | ranking loss | micro-F1 | macro-F1 | CPU s | settings |\n|{'---|' * 7}")
    for title, values in published.items():
        print(f"| {title}, published | {' / '.join(map(str, values))} | | | | | |")
    done = [line for line in lines if line.scores is not None]
    table = np.array([line.values(T) for line in done])
    for line in lines:
        cells = [""] * 4
        if line in done:
            texts = [*(f"{v:.1f}" for v in line.values(T)[:3]), *(f"{v:.3f}"[1:] for v in line.values(T)[3:])]
            best = line.values(T) == np.where(UP, table.max(axis=0), table.min(axis=0))
            texts = [f"**{text}**" if top else text for text, top in zip(texts, best, strict=True)]
            cells = [" / ".join(texts[:3]), *texts[3:]]
        print(f"| {line.title} | {' | '.join(cells)} | {line.seconds:.0f} | {line.note} |")
    if len(done) > 1:
        print(f"| against the best peer | {' | '.join(distances(done, table, T))} | | |")
    sys.stdout.flush()


def distances(done: list[Line], table: np.ndarray, T: Any) -> list[str]:
    """Say for P@1, ranking loss and each F1 how far the first line is from the best of the others."""
    n, cells = T.shape[0], []
    times = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=400)
    mine = done[0].resampled(T, times)
    for place, column in enumerate((0, 3, 4, 5)):
        sign, digits = (1 if UP[column] else -1), (3 if column else 1)
        rival = 1 + int(np.argmax(sign * table[1:, column]))
        gain = sign * (table[0, column] - table[rival, column])
        error = (mine - done[rival].resampled(T, times))[place].std()
        word = "ahead" if gain > error else "behind" if gain < -error else "level"
        cells.append(f"{word}, {gain:+.{digits}f} ± {error:.{digits}f} ({done[rival].title})")
    return cells


def on_one_scale(X: Any, C: Any) -> tuple[Any, Any]:
    if sparse.issparse(X):
        return sparse.csr_array(normalize(X)), sparse.csr_array(normalize(C))
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), scaler.transform(C)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--budget", type=float, default=300.0)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--peers", nargs="*", default=list(PEERS), help="titles; none leaves peers out")
    parser.add_argument("--one", action="store_true")
    parser.add_argument("--keep", type=Path, default=None)
    parser.add_argument("--verbose", type=int, default=0)
    parser.add_argument("--methods", nargs="+", default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    if options.cpu:
        AutoMultiLabel._clock = staticmethod(working_cpu_seconds)
    for name in options.names:
        X, Y, C, T = split(name)
        budget = {"time_budget": options.budget}
        extra = {"methods": options.methods, "verbose": options.verbose, "one": options.one}
        lines = [ours(X, Y, C, **extra, **budget)]
        Z, D = on_one_scale(X, C)
        for title in options.peers:
            file = options.keep and options.keep / f"{name}, {options.budget:.0f} s, {title}"
            lines.append(kept(file, lambda: theirs(title, Z, Y, D, cpu=options.cpu, **budget)))  # noqa: B023
            print(lines[-1].title, lines[-1].note, f"{lines[-1].seconds:.0f} s", file=sys.stderr)
        head = f"{name}, {X.shape[0]} × {X.shape[1]} × {Y.shape[1]}, {options.budget:.0f} s"
        show(head, lines, PUBLISHED.get(name, {}), T)


if __name__ == "__main__":
    main()
