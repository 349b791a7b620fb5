"""Which rule of AutoMultiLabel is best on sets that had no part in choosing it?

Rules choose and blend candidates whose scores `benchmarks.rule_cache` kept. Everything a rule does (choosing,
calibrating, weights, thresholds) reads out-of-fold scores of the training rows; its value is measured on the
held-out rows of each split. Gains are against equal blends of the trusted, in points (×100); a fall of
ranking loss is a gain. They are means over splits, then over sets, with the standard error over sets, and the
number of sets on which a rule is better and worse. The last row takes, for each set, the rule that is best on
the *other* sets: what choosing rules gains where they were not chosen.

Run: OMP_NUM_THREADS=1 python -m benchmarks.quality_rules FOLDER [--measures f1_macro …]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.rule_cache import ANY
from hyperlabel import BinaryRelevance
from hyperlabel._validation import checked_indicator
from hyperlabel.decision import per_label_thresholds
from hyperlabel.meta.candidate_selection import RULES, MemberCalibrator, Selector
from hyperlabel.meta.portfolio import PORTFOLIO, CandidateRun, Task
from hyperlabel.meta.stacking import stack_weights
from hyperlabel.metrics import get_scorer
from hyperlabel.metrics.scorers import score_known

KIND = {"ranking_loss": "ranking_loss", "f1_macro": "f1_macro", "f1_micro": "f1_macro"}
MEASURES = ("ranking_loss", "ndcg_at_5", "precision_at_1", "f1_micro", "f1_macro")
STANDING = tuple(candidate.name for candidate in PORTFOLIO)
RESAMPLES = 60
PEERS = ("linear-svm", "logistic", "random-forest", "chain-ensemble", "mlknn")


class NotLinear:
    """Stands for a model whose scores are not linear in the samples."""

    steps = ()


@dataclass(frozen=True, eq=False)
class Entry:
    """A candidate run of the cache with its scores of the held-out rows."""

    run: CandidateRun
    held_out: np.ndarray
    rows: str
    chosen_rows: bool


@dataclass(frozen=True, eq=False)
class Split:
    """One split of the cache, for one measure."""

    entries: list[Entry]
    Y: sparse.csr_array
    T: sparse.csr_array
    selector: Selector
    measure: str
    judged: dict[Any, Any] = field(default_factory=dict)  # fold values of candidates, by identity

    def one(self, index: int, entry: Entry) -> Any:
        """Return the fold scores of one candidate, judged once for all rules."""
        if id(entry) not in self.judged:
            self.judged[id(entry)] = self.selector.one(0, entry.run)
        return replace(self.judged[id(entry)], members=(index,))

    @classmethod
    def load(cls, path: Path, measure: str) -> Split:
        with np.load(path, allow_pickle=False) as kept:
            arrays = {key: kept[key] for key in kept.files}
        Y, T = (sparse.csr_array(arrays[key].astype(float)) for key in "YT")
        folds = arrays["folds"]
        splits = [(np.flatnonzero(folds != f), np.flatnonzero(folds == f)) for f in np.unique(folds)]
        X = np.zeros((Y.shape[0], 1))
        X = sparse.csr_array(X) if arrays["sparse"] else X
        task = Task(X, Y, checked_indicator(Y).layout, splits, None, None, 0)
        ranks = not measure.startswith("f1")
        selector = Selector(task, get_scorer(measure), "f1_macro" if ranks else measure, ranks=ranks)
        titles = [str(name).split("|") for name in arrays["names"]]
        chosen = next(rows for name, rows, *_ in titles if name == "forest")
        entries = []
        for (name, rows, kind, params, form), oof, held_out, seconds in zip(
            titles, arrays["oof"], arrays["held_out"], arrays["seconds"], strict=True
        ):
            if kind not in (ANY, KIND.get(measure, "ndcg_at_5")) or not np.isfinite(oof).all():
                continue
            model = BinaryRelevance() if form == "linear" else NotLinear()
            run = CandidateRun(name, {"params": params}, model, oof.astype(float), float(seconds), 0.0)
            entries.append(Entry(run, held_out.astype(float), rows, rows == chosen))
        return cls(entries, Y, T, selector, measure)

    def value(self, scores: np.ndarray, thresholds: Any, rows: Any = slice(None)) -> float:
        """Return 100 times the measure on (some of) the held-out rows, a loss as its negative."""
        T, layout = self.T[rows], self.selector.task.layout
        X = sparse.csr_array((T.shape[0], 1))
        return 100 * score_known(self.selector.scorer, T, scores[rows], layout, X, thresholds)

    def thresholds(self, oof: np.ndarray, shrinkage: float = 10.0) -> np.ndarray:
        """Return thresholds from out-of-fold scores by the strategy that does best from fold to fold."""
        if self.selector.ranks:
            return np.zeros(oof.shape[1])
        if shrinkage != 10.0:
            return per_label_thresholds(
                oof, self.Y, scoring=self.selector.threshold_scoring, shrinkage=shrinkage
            ).thresholds
        values = np.zeros(len(RULES))
        for train, test in self.selector.folds:
            for i, rule in enumerate(RULES):
                fitted = self.selector.thresholds(rule, oof[train], self.Y[train])
                values[i] += self.selector._evaluate_scores(oof[test], fitted, test)
        return self.selector.thresholds(RULES[int(values.argmax())], oof, self.Y)


Pool = Callable[[Entry], bool]
POOLS: dict[str, Pool] = {
    "standing": lambda e: e.chosen_rows and e.run.name in STANDING,
    "linear": lambda e: e.chosen_rows and e.run.linear and e.run.name in STANDING,
    "all rows": lambda e: e.run.name in STANDING,
    "shared losses": lambda e: e.chosen_rows and (e.run.name in STANDING or e.run.name.endswith("-shared")),
    "random forest": lambda e: e.chosen_rows and e.run.name in (*STANDING, "random-forest"),
    "balanced": lambda e: e.chosen_rows and e.run.name in (*STANDING, "logistic-balanced"),
    "everything": lambda e: True,
    "ml-knn": lambda e: e.chosen_rows and e.run.name in (*STANDING, "mlknn"),
    "ml-knn and balanced": lambda e: (
        e.chosen_rows and e.run.name in (*STANDING, "mlknn", "logistic-balanced")
    ),
    "peers": lambda e: e.run.name in PEERS,
}


# -- rules: from a split and its pool to held-out scores and thresholds ----------------------------------


def standing(split: Split, pool: list[Entry]) -> tuple[np.ndarray, np.ndarray]:
    """Choose as AutoMultiLabel does."""
    selector, runs = split.selector, [entry.run for entry in pool]
    alone = [split.one(i, entry) for i, entry in enumerate(pool)]
    chosen = selector.ordered(runs, alone + selector.blends(runs, alone, np.inf))[0]
    members = [pool[i] for i in chosen.members]
    blend = selector.blend(chosen, [entry.run for entry in members])
    oof = blend([entry.run.scores for entry in members])
    split.judged["oof"] = oof
    thresholds = selector.thresholds(chosen.threshold_strategy, oof, split.Y)
    return blend([entry.held_out for entry in members]), thresholds


def best(split: Split, pool: list[Entry]) -> tuple[np.ndarray, np.ndarray]:
    """Choose the candidate of the best mean over the folds."""
    selector = split.selector
    values = [split.one(i, entry).values.mean() for i, entry in enumerate(pool)]
    entry = pool[int(np.argmax(values))]
    if not selector.ranks:
        return entry.held_out, split.thresholds(entry.run.scores)
    slope, intercept = MemberCalibrator.fit(entry.run.scores, split.Y).linear()
    return entry.held_out * slope + intercept, np.zeros(split.Y.shape[1])


def leaders(split: Split, pool: list[Entry], most: int) -> list[Entry]:
    """Return the best run of each method, the best first."""
    selector, runs = split.selector, [entry.run for entry in pool]
    alone = [split.one(i, entry) for i, entry in enumerate(pool)]
    return [pool[i] for i in selector.leaders(runs, alone)[:most]]


def stacked(
    *, most: int = 6, pull: float = 10.0, start: str = "equal", odds: bool = True
) -> Callable[[Split, list[Entry]], tuple[np.ndarray, np.ndarray]]:
    """Return the rule that stacks the leaders on out-of-fold scores; pull = inf leaves the start."""

    def rule(split: Split, pool: list[Entry]) -> tuple[np.ndarray, np.ndarray]:
        members = leaders(split, pool, len(pool))
        trusted = [e for e in members if e.run.name in split.selector.trusted]
        first = trusted if start == "trusted" and len(trusted) == len(split.selector.trusted) else members[:1]
        members = (first + [e for e in members if e not in first])[:most]
        by_label = split.selector.by_label
        parts, held_out = [], []
        for entry in members:
            calibrator = MemberCalibrator.fit(entry.run.scores, split.Y, by_label=True)
            shared = calibrator.shared
            for scores, into in ((entry.run.scores, parts), (entry.held_out, held_out)):
                if odds and by_label:
                    slope, intercept = calibrator.linear()
                    into.append(scores * slope + intercept)
                elif odds:
                    into.append(scores * shared.slope + shared.intercept)
                else:
                    line = calibrator.slope * scores + calibrator.intercept
                    into.append(calibrator.probabilities(scores) if by_label else line)
        n_first = len(members) if start == "equal" else len(first)
        weights = prior = (np.arange(len(members)) < n_first) / n_first
        if np.isfinite(pull) and len(members) > 1:
            weights = stack_weights(parts, split.Y, prior, prior_rows=pull)
        oof = np.tensordot(weights, np.array(parts), axes=1)
        return np.tensordot(weights, np.array(held_out), axes=1), split.thresholds(oof)

    return rule


def soft_vote(split: Split, pool: list[Entry]) -> tuple[np.ndarray, np.ndarray]:
    """Mean probability of the best linear scikit-learn model and the random forest."""
    linear = leaders(split, [e for e in pool if e.run.name in ("linear-svm", "logistic")], 1)
    others = [e for e in pool if e.run.name == "random-forest"]
    return stacked(pull=np.inf, odds=False)(split, linear + others)


class EqualSelector(Selector):
    """Blends with equal weights only, as before stacking."""

    def blends(self, candidate_runs: Any, candidate_scores: Any, deadline: float) -> Any:
        blend_scores = super().blends(candidate_runs, candidate_scores, deadline)
        return [score for score in blend_scores if not score.stacked]


def equal(split: Split, pool: list[Entry]) -> tuple[np.ndarray, np.ndarray]:
    """Choose as AutoMultiLabel does, with equal weights only."""
    task, scorer = split.selector.task, split.selector.scorer
    selector = EqualSelector(task, scorer, split.selector.threshold_scoring, ranks=split.selector.ranks)
    return standing(replace(split, selector=selector), pool)


def shrunk(shrinkage: float) -> Callable[[Split, list[Entry]], tuple[np.ndarray, np.ndarray]]:
    """Return the standing choice with thresholds drawn otherwise to the shared one (macro-F1)."""

    def rule(split: Split, pool: list[Entry]) -> tuple[np.ndarray, np.ndarray]:
        if split.measure != "f1_macro":
            return equal(split, pool)
        if "shrunk" not in split.judged:
            scores, _ = equal(split, pool)
            split.judged["shrunk"] = scores, split.judged["oof"]
        scores, oof = split.judged["shrunk"]
        return scores, split.thresholds(oof, shrinkage)

    return rule


FIXED = ("linear-svm", "rank-svm", "logistic")  # methods whose cost does not follow the time left


def budgeted(
    share: float, first_share: float
) -> Callable[[Split, list[Entry]], tuple[np.ndarray, np.ndarray]]:
    """Return the standing choice among what fits into a share of the pool's CPU seconds.

    After the ridge those of `FIXED` that fit into `first_share` of the budget come before all others.
    """

    def rule(split: Split, pool: list[Entry]) -> tuple[np.ndarray, np.ndarray]:
        budget = share * sum(entry.run.seconds for entry in pool)
        in_order = sorted(pool, key=lambda entry: STANDING.index(entry.run.name))
        tried = [entry for entry in in_order if entry.run.name == "ridge"][:1]
        spent = sum(entry.run.seconds for entry in tried)
        for names, limit in ((FIXED, first_share * budget), (STANDING, budget)):
            for entry in in_order:
                if entry.run.name in names and entry not in tried and spent + entry.run.seconds <= limit:
                    tried.append(entry)
                    spent += entry.run.seconds
        return equal(split, tried)

    return rule


def trusted_with(name: str) -> Callable[[Split, list[Entry]], tuple[np.ndarray, np.ndarray]]:
    """Return the rule that averages the log-odds of the trusted methods and of one more."""

    def rule(split: Split, pool: list[Entry]) -> tuple[np.ndarray, np.ndarray]:
        names = (*split.selector.trusted, name)
        return stacked(most=len(names), pull=np.inf)(split, [e for e in pool if e.run.name in names])

    return rule


RULES_TRIED: dict[str, tuple[str, Any]] = {
    "equal blends only": ("standing", equal),
    "as it stands": ("standing", standing),
    "best candidate": ("standing", best),
    "mean log-odds of the trusted": ("standing", stacked(most=2, pull=np.inf, start="trusted")),
    "mean log-odds of trusted and random forest": ("random forest", trusted_with("random-forest")),
    "stacked, 10 rows to equal": ("standing", stacked(pull=10.0)),
    "stacked, 10 rows to trusted": ("standing", stacked(pull=10.0, start="trusted")),
    "stacked, 100 rows to trusted": ("standing", stacked(pull=100.0, start="trusted")),
    "stacked, random forest joins": ("random forest", stacked(most=7, pull=10.0, start="trusted")),
    "stacked of 8": ("standing", stacked(most=8, pull=10.0, start="trusted")),
    "stacked of 8, ML-kNN joins": ("ml-knn", stacked(most=8, pull=10.0, start="trusted")),
    "stacked of 8, ML-kNN and balanced join": (
        "ml-knn and balanced",
        stacked(most=8, pull=10.0, start="trusted"),
    ),
    "stacked, everything joins": ("everything", stacked(most=8, pull=10.0, start="trusted")),
    "balanced logistic joins": ("balanced", equal),
    "linear candidates on rows of each kind": ("all rows", equal),
    "shared hinge and logistic losses join": ("shared losses", equal),
    "thresholds drawn by 3 positives": ("standing", shrunk(3.0)),
    "thresholds drawn by 30 positives": ("standing", shrunk(30.0)),
    "half of the budget": ("standing", budgeted(0.5, 0.0)),
    "half of the budget, linear first": ("standing", budgeted(0.5, 1 / 3)),
    "peer chosen by its folds": ("peers", best),
    "soft vote of scikit-learn": ("peers", soft_vote),
}


def judge(path: Path, measures: tuple[str, ...], rules: list[str], kept: dict[str, float]) -> None:
    """Add the values of the rules on a split that are not kept yet."""
    for measure in measures:
        wanted = [r for r in rules if f"{path.stem}|{measure}|{r}" not in kept]
        split = Split.load(path, measure) if wanted else None
        for title in wanted:
            pool_name, rule = RULES_TRIED[title]
            pool = [entry for entry in split.entries if POOLS[pool_name](entry)]
            kept[f"{path.stem}|{measure}|{title}"] = split.value(*rule(split, pool))


def table_of(kept: dict[str, float], measure: str, rules: list[str]) -> tuple[list[str], np.ndarray]:
    """Return the sets and the gains over the first rule, sets × rules; NaN where a rule was not tried."""
    by_set: dict[str, list[list[float]]] = {}
    for stem in sorted({key.split("|")[0] for key in kept}):
        values = [kept.get(f"{stem}|{measure}|{r}", np.nan) for r in rules]
        by_set.setdefault(stem.rsplit(".", 1)[0], []).append([v - values[0] for v in values])
    return list(by_set), np.array([np.mean(gains, axis=0) for gains in by_set.values()])


def left_out_choice(gains: np.ndarray) -> np.ndarray:
    """Return for each set the gain of the rule that is best on the other sets."""
    chosen = [np.delete(gains, i, axis=0).mean(axis=0).argmax() for i in range(len(gains))]
    return gains[np.arange(len(gains)), chosen]


def cell(gains: np.ndarray) -> str:
    values = np.round(gains[np.isfinite(gains)], 9)
    if len(values) < 2:
        return ""
    sets = "" if len(values) == len(gains) else f", {len(values)} sets"
    error = values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():+.2f} ± {error:.2f} ({(values > 0).sum()}/{(values < 0).sum()}{sets})"


def contest(path: Path, measure: str) -> tuple[float, float]:
    """Return our gain over the peer chosen by its folds, and its error over resamples of the rows."""
    split = Split.load(path, measure)
    answers = []
    for pool_name, rule in (("standing", standing), ("peers", best)):
        answers.append(rule(split, [entry for entry in split.entries if POOLS[pool_name](entry)]))

    def gain(rows: Any) -> float:
        return float(np.subtract(*(split.value(*answer, rows) for answer in answers)))

    rng, n = np.random.default_rng(0), split.T.shape[0]
    return gain(slice(None)), float(np.std([gain(rng.integers(0, n, n)) for _ in range(RESAMPLES)]))


def show_contest(options: argparse.Namespace) -> None:
    """Print how many cells are ahead, level and behind."""
    file = options.folder / "contest.json"
    kept = json.loads(file.read_text()) if file.exists() else {}
    for path in sorted(options.folder.glob("*.npz")):
        for measure in options.measures:
            if not options.show and f"{path.stem}|{measure}" not in kept:
                kept[f"{path.stem}|{measure}"] = contest(path, measure)
        file.write_text(json.dumps(kept, indent=0))
    print("| against the peer chosen by its folds | ahead | level | behind |\n|---|---|---|---|")
    for n_errors in (1, 2):
        for measure in (*options.measures, None):
            gains = np.array([pair for key, pair in kept.items() if measure in (None, key.split("|")[1])])
            t = gains[:, 0] / np.maximum(gains[:, 1], 1e-9)
            counts = [(t > n_errors).sum(), (abs(t) <= n_errors).sum(), (t < -n_errors).sum()]
            print(f"| {measure or 'all'}, by {n_errors} standard errors | {' | '.join(map(str, counts))} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--measures", nargs="+", default=MEASURES)
    parser.add_argument("--rules", nargs="+", default=list(RULES_TRIED))
    parser.add_argument("--contest", action="store_true", help="count cells ahead of a peer, and behind")
    parser.add_argument("--show", action="store_true", help="print what is kept, try nothing")
    options = parser.parse_args()
    if options.contest:
        show_contest(options)
        return
    file = options.folder / "values.json"
    kept = json.loads(file.read_text()) if file.exists() else {}
    paths = [] if options.show else options.folder.glob("*.npz")
    for path in sorted(paths, key=lambda path: path.stem.split(".")[::-1]):
        judge(path, options.measures, options.rules, kept)
        file.write_text(json.dumps(kept, indent=0))
    columns = [table_of(kept, measure, options.rules) for measure in options.measures]
    print(f"gain ×100 ± standard error over {len(columns[0][0])} sets (better/worse)")
    print(f"| rule | {' | '.join(options.measures)} |\n|{'---|' * (1 + len(columns))}")
    for i, title in enumerate(options.rules[1:], start=1):
        print(f"| {title} | {' | '.join(cell(gains[:, i]) for _, gains in columns)} |")
    ours = [i for i, r in enumerate(options.rules) if RULES_TRIED[r][0] != "peers" and "budget" not in r]
    left_out = []
    for _, gains in columns:
        everywhere = [i for i in ours if np.isfinite(gains[:, i]).all()]
        left_out.append(cell(left_out_choice(gains[:, everywhere])))
    print(f"| chosen on the other sets | {' | '.join(left_out)} |")


if __name__ == "__main__":
    main()
