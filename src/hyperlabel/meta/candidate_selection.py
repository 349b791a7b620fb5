"""How `AutoMultiLabel` judges candidates and blends them: everything tuned on the other folds.

A blend is the weighted mean of calibrated scores: of log-odds where all members are linear, so that the blend
is linear too, otherwise of probabilities. A probability is the mean of two calibrations of a score: by a
sigmoid of its label, and by one line for all labels, which keeps the order across labels that few positives
cannot calibrate (delicious, out of fold, P@1/3/5: sigmoids 68.8/62.6/58.5, the line 68.8/63.0/58.4, both
69.4/63.3/58.9). Log-odds are likewise the mean of the label's own sigmoid and of one for all. Where the
order of labels counts one member alone is read so too: a label that the rows say little about falls back to
its frequency. For macro-F1 the line reads alone: the sigmoid of a label with few positives is flat, and no
threshold finds it.

Landmarks and trees in equal parts are trusted: they are chosen unless something else is better by more than a
spread over the folds. The best of twenty on a few hundred rows is mostly the luckiest
(`benchmarks.quality_nested`). For macro-F1 of sparse rows, mostly words, non-linear features blur rare
labels: there the ridge is trusted, unless something gains more than one standard error over the folds. No
blend is offered that is worse than its best member by more than a spread.

Weights are equal, or chosen for the asked measure one step at a time (Caruana et al., *Ensemble selection
from libraries of models*, ICML 2004): each step adds the member that lifts the measure most, members may come
again, and one more step for every member chosen draws the weights towards equal. They are offered where they
gain more than one standard error over the folds. Members are chosen likewise, for what they add to the
trusted, or to the best where these were not all tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel._base import KnownScores, decode_scores
from hyperlabel.decision import Sigmoid, global_threshold, per_label_thresholds
from hyperlabel.meta.portfolio import CandidateRun, Task

RULES = ("per-label", "global")
STEPS = 8
WEIGHT_ROWS = 1500  # at most, that weights are learned on
LEAST_ROWS = 20  # fewer teach nothing
BLENDED = 4  # candidates at most
TRUSTED, OF_WORDS = ("kernel-ridge", "forest"), ("ridge",)  # the second for macro-F1 of sparse rows


@dataclass(frozen=True, eq=False)
class CandidateScore:
    """A candidate (or blend) with its value on each fold and the rule that reached it."""

    name: str
    members: tuple[int, ...]
    threshold_strategy: str
    values: np.ndarray
    seconds: float
    weights: tuple[float, ...] = (1.0,)


@dataclass(frozen=True, eq=False)
class MemberCalibrator:
    """Calibrators of a member's scores: a sigmoid for each label and for all (or none), a line for all."""

    sigmoid: Sigmoid | None
    slope: float
    intercept: float
    shared: Sigmoid | None = None

    @classmethod
    def fit(cls, scores: np.ndarray, Y: sparse.csr_array, *, by_label: bool = True) -> MemberCalibrator:
        """Fit the sigmoids if wanted, and the line of least squares from all scores to 0 and 1."""
        middle, share, variance = float(scores.mean()), Y.sum() / scores.size, float(scores.var())
        slope = float(Y.multiply(scores).sum() / scores.size - middle * share) / variance if variance else 0.0
        line = slope, float(share - slope * middle)
        if not by_label:
            return cls(None, *line)
        column = scores.reshape(-1, 1), sparse.csr_array(Y.reshape((-1, 1)))
        return cls(Sigmoid.fit(scores, Y), *line, Sigmoid.fit(*column))

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the mean of the calibrated probabilities."""
        line = self.slope * scores + self.intercept
        return line if self.sigmoid is None else (self.sigmoid.probabilities(scores) + line) / 2.0

    def linear(self) -> tuple[Any, Any]:
        """Return slope and intercept of the reading that is linear: mean log-odds, or the line."""
        own = self if self.sigmoid is None else self.sigmoid
        all_ = self.shared or own
        return (own.slope + all_.slope) / 2.0, (own.intercept + all_.intercept) / 2.0


@dataclass(frozen=True, eq=False)
class Blend:
    """From the members' scores to those of the blend; one member's pass as they are if not calibrated."""

    calibrations: list[MemberCalibrator]
    weights: np.ndarray
    linear: bool = True

    def __call__(self, scores: list[np.ndarray]) -> np.ndarray:
        """Return the weighted mean of the calibrated scores, n×k."""
        if not self.calibrations:
            return scores[0]
        total = np.zeros(scores[0].shape)
        for part, found, weight in zip(scores, self.calibrations, self.weights, strict=True):
            slope, intercept = found.linear()
            total += weight * (part * slope + intercept if self.linear else found.probabilities(part))
        return total


class Selector:
    """Values of scores on each fold, with everything tuned on the other folds.

    `ranks` says that the measure reads scores and not label sets, so that thresholds cannot change it.
    """

    def __init__(self, task: Task, scorer: Any, threshold_scoring: str, *, ranks: bool = False) -> None:
        self.task, self.scorer, self.threshold_scoring, self.ranks = task, scorer, threshold_scoring, ranks
        tests = [test for _, test in task.splits]
        self.known = np.unique(np.concatenate(tests))
        self.folds = [(np.setdiff1d(self.known, test), test) for test in tests]
        self.seconds = 0.0  # what judging one candidate took last
        self.by_label = ranks or threshold_scoring != "f1_macro"
        self.trusted = TRUSTED if self.by_label or not sparse.issparse(task.X) else OF_WORDS

    def thresholds(self, rule: str, scores: np.ndarray, Y: sparse.csr_array) -> np.ndarray:
        """Return the thresholds of a rule, tuned on these rows."""
        if rule == "per-label":
            return per_label_thresholds(scores, Y, scoring=self.threshold_scoring).thresholds
        return global_threshold(scores, Y, scoring=self.threshold_scoring).thresholds

    def one(self, index: int, candidate_runs: CandidateRun) -> CandidateScore:
        """Judge one candidate by itself."""
        start = self.task.clock()
        (found,) = self._judge(
            [(candidate_runs.name, (index,), False)], [candidate_runs], candidate_runs.seconds
        )
        self.seconds = self.task.clock() - start
        return found

    def leaders(
        self, candidate_runs: list[CandidateRun], candidate_scores: list[CandidateScore]
    ) -> list[int]:
        """Return the best candidate of each kind, the best kind first."""
        order: list[int] = []
        for j in sorted(candidate_scores, key=lambda j: -j.values.mean()):
            if all(candidate_runs[i].name != candidate_runs[j.members[0]].name for i in order):
                order.append(j.members[0])
        return order

    def needs(self, candidate_runs: list[CandidateRun], members: list[int]) -> float:
        """Seconds to judge blends of these candidates, and to fit all of them and their thresholds."""
        refits = 1.3 * sum(candidate_runs[i].refit_seconds for i in members)
        return ((8 + 3 * len(members)) if len(members) > 1 else 1) * self.seconds + refits

    def blends(
        self, candidate_runs: list[CandidateRun], candidate_scores: list[CandidateScore], deadline: float
    ) -> list[CandidateScore]:
        """Blends of candidates of different kinds, with equal and with learned weights, as time allows."""
        members = self._members(candidate_runs, candidate_scores, deadline - self.task.clock())
        if len(members) < 2:
            return []
        wanted = [("blend of", tuple(members[:some]), False) for some in (2, 3) if some <= len(members)]
        wanted.append(("weighted blend of", tuple(members), True))
        parts = [candidate_runs[i] for i in members]
        found = self._judge(wanted, parts, sum(part.seconds for part in parts))
        best = max(found[: len(wanted) - 1], key=lambda j: j.values.mean())
        alone = max(candidate_scores, key=lambda j: j.values.mean())
        found = [j for j in found if _within_one_std(j, alone)]
        # what learned weights gain must exceed its noise over the folds: equal ones do not bend to them
        return [j for j in found if len(set(j.weights)) == 1 or _exceeds_noise(j.values - best.values)]

    def _members(
        self, candidate_runs: list[CandidateRun], candidate_scores: list[CandidateScore], seconds: float
    ) -> list[int]:
        """Return the candidates to blend: the trusted or the best, what adds to them, as time allows."""
        members = self.leaders(candidate_runs, candidate_scores)
        trusted = [i for i in members if candidate_runs[i].name in self.trusted]
        begun = trusted if len(trusted) == len(self.trusted) else members[:1]
        members = begun + [i for i in members if i not in begun]
        while len(members) > 1 and self.needs(candidate_runs, members[:BLENDED]) > seconds:
            # what is slowest to fit goes first; of equals the weakest
            members.remove(
                max(members[1:], key=lambda i: (candidate_runs[i].refit_seconds, members.index(i)))
            )
        if len(members) < 2:
            return members
        begun = [i for i in begun if i in members]
        return [members[i] for i in self._complements([candidate_runs[i] for i in members], len(begun))]

    def ordered(
        self, candidate_runs: list[CandidateRun], candidate_scores: list[CandidateScore]
    ) -> list[CandidateScore]:
        """Return the best first, after what is trusted if that is near enough to the best."""
        found = sorted(candidate_scores, key=lambda j: -j.values.mean())
        for place, j in enumerate(found):
            kinds = sorted(candidate_runs[i].name for i in j.members)
            less = found[0].values - j.values
            near = _within_one_std(j, found[0]) if self.trusted == TRUSTED else not _exceeds_noise(less)
            if kinds == sorted(self.trusted) and len(set(j.weights)) == 1 and near:
                return [j, *found[:place], *found[place + 1 :]]
        return found

    def _complements(self, parts: list[CandidateRun], begun: int) -> list[int]:
        """Begin with the first few and add, one by one, what lifts the equal blend most: twins do not."""
        rows, linear = self._some(self.known), _is_linear(parts)
        fitted = zip(self._calibrated(parts, rows), parts, strict=True)
        scores = [Blend([c], np.ones(1), linear)([p.scores[rows]]) for c, p in fitted]
        order = list(range(BLENDED if len(rows) < LEAST_ROWS else begun))[: len(parts)]
        total = np.sum(scores[: len(order)], axis=0)
        while len(order) < min(BLENDED, len(parts)):
            left = [i for i in range(len(parts)) if i not in order]
            values = [self._crossed((total + scores[i]) / (len(order) + 1), rows) for i in left]
            order.append(left[int(np.argmax(values))])
            total = total + scores[order[-1]]
        return order

    def blend(self, candidate_scores: CandidateScore, parts: list[CandidateRun]) -> Blend:
        """Return the blend that was judged, calibrated on all rows with out-of-fold scores."""
        found = self._calibrated(parts, self.known)
        return Blend(found, np.array(candidate_scores.weights), _is_linear(parts))

    def _calibrated(self, parts: list[CandidateRun], rows: np.ndarray) -> list[MemberCalibrator]:
        """Calibrations of what is blended; one part alone passes as it is where its order does not count."""
        if len(parts) < 2 and not self.ranks:
            return []
        Y = self.task.Y[rows]
        return [MemberCalibrator.fit(part.scores[rows], Y, by_label=self.by_label) for part in parts]

    def _judge(self, wanted: list[Any], parts: list[CandidateRun], seconds: float) -> list[CandidateScore]:
        """Judge blends of the first few parts, (name, members, learned) each."""
        table = np.stack([self._judge_fold(wanted, parts, *fold) for fold in self.folds], axis=-1)
        fitted = self._calibrated(parts, self.known)
        found = (
            self._settle(name, members, parts[: len(members)], fitted, learned, values, seconds)
            for (name, members, learned), values in zip(wanted, table, strict=True)
        )
        return [candidate_scores for candidate_scores in found if candidate_scores is not None]

    def _judge_fold(
        self, wanted: list[Any], parts: list[CandidateRun], others: np.ndarray, test: np.ndarray
    ) -> np.ndarray:
        """Value of each blend under each rule of thresholds on the rows `test`, taught by the others."""
        rules, Y = RULES[:1] if self.ranks else RULES, self.task.Y[others]
        fitted = self._calibrated(parts, others)
        table = np.empty((len(wanted), len(rules)))
        for b, (_, members, learned) in enumerate(wanted):
            some = parts[: len(members)]
            blend = Blend(fitted[: len(members)], *self._mix(some, fitted, others, learned))
            fitted_on = None if self.ranks else blend([p.scores[others] for p in some])
            judged_on = blend([p.scores[test] for p in some])
            for row, rule in enumerate(rules):
                thresholds = (
                    np.zeros(Y.shape[1]) if fitted_on is None else self.thresholds(rule, fitted_on, Y)
                )
                table[b, row] = self._value(judged_on, thresholds, test)
        return table

    def _settle(
        self,
        name: str,
        members: tuple[int, ...],
        parts: list[CandidateRun],
        fitted: list[MemberCalibrator],
        learned: bool,
        values: np.ndarray,
        seconds: float,
    ) -> CandidateScore | None:
        """Return what was judged, with the weights that all rows teach; None if those leave one member."""
        best = int(values.mean(axis=1).argmax())
        if len(parts) == 1:
            return CandidateScore(name, members, RULES[best], values[best], seconds)
        weights, _ = self._mix(parts, fitted, self.known, learned)
        kept = np.flatnonzero(weights)
        name += " " + ", ".join(parts[i].name for i in kept)
        left = tuple(members[i] for i in kept)
        candidate_scores = CandidateScore(
            name, left, RULES[best], values[best], seconds, tuple(weights[kept].tolist())
        )
        return candidate_scores if len(kept) > 1 else None

    def _mix(
        self, parts: list[CandidateRun], fitted: list[MemberCalibrator], rows: np.ndarray, learned: bool
    ) -> tuple[np.ndarray, bool]:
        """Return weights that sum to 1, and whether the blend is linear."""
        equal, linear = np.full(len(parts), 1.0 / len(parts)), _is_linear(parts)
        if not learned or len(rows) < LEAST_ROWS:
            return equal, linear
        some = self._some(rows)
        pairs = zip(parts, fitted, strict=False)
        scores = [Blend([found], np.ones(1), linear)([part.scores[some]]) for part, found in pairs]
        return learned_weights(scores, lambda mean: self._crossed(mean, some)), linear

    def _some(self, rows: np.ndarray) -> np.ndarray:
        return rows[np.sort(np.random.default_rng(0).permutation(len(rows))[:WEIGHT_ROWS])]

    def _crossed(self, scores: np.ndarray, rows: np.ndarray) -> float:
        """Value of scores of these rows, thresholds of every other row being tuned on the rows between."""
        if self.ranks:
            return self._value(scores, np.zeros(scores.shape[1]), rows)
        values = np.zeros(len(RULES))
        for here, there in ((slice(0, None, 2), slice(1, None, 2)), (slice(1, None, 2), slice(0, None, 2))):
            for i, rule in enumerate(RULES):
                thresholds = self.thresholds(rule, scores[there], self.task.Y[rows[there]])
                values[i] += self._value(scores[here], thresholds, rows[here])
        return float(values.max())

    def _value(self, scores: np.ndarray, thresholds: np.ndarray, test: np.ndarray) -> float:
        known = _ThresholdedScores(scores, thresholds, self.task.layout)
        return float(self.scorer(known, self.task.X[test], self._truth(test)))

    def _truth(self, rows: np.ndarray) -> Any:
        Y = self.task.Y[rows]
        return Y if self.task.layout.is_sparse else Y.toarray().astype(int)


def _is_linear(parts: list[CandidateRun]) -> bool:
    return len(parts) == 1 or all(part.linear for part in parts)


def _within_one_std(candidate_scores: CandidateScore, best: CandidateScore) -> bool:
    variance = max(candidate_scores.values.std(), best.values.std())
    return bool(candidate_scores.values.mean() >= best.values.mean() - variance)


def _exceeds_noise(gain: np.ndarray) -> bool:
    return bool(gain.mean() > gain.std() / np.sqrt(max(len(gain) - 1, 1)))


def learned_weights(scores: list[np.ndarray], measure: Any) -> np.ndarray:
    """Return non-negative weights of the scores for a measure to be maximised; see the head of the file.

    Examples
    --------
    >>> good, bad = np.array([[1.0, 0.0]]), np.array([[0.0, 3.0]])
    >>> learned_weights([bad, good], lambda mean: mean[0, 0] - mean[0, 1])
    array([0., 1.])
    """
    counts, total = np.zeros(len(scores)), np.zeros(scores[0].shape)
    for step in range(1, STEPS + 1):
        values = [measure((total + part) / step) for part in scores]
        best = int(np.argmax(values))
        counts[best] += 1
        total += scores[best]
    counts += counts > 0
    return counts / counts.sum()


class _ThresholdedScores(KnownScores):
    """Known scores whose label sets come from thresholds, the scores themselves staying as they are."""

    def __init__(self, scores: np.ndarray, thresholds: np.ndarray, layout: Any) -> None:
        super().__init__(scores, layout)
        self.thresholds = thresholds

    def predict(self, X: Any) -> Any:
        return decode_scores(self.layout, iter([self.scores - self.thresholds]))


class AttainableScore:
    """Scorer of a grid: the measure that the best thresholds reach on the fold itself."""

    def __init__(self, scoring: str) -> None:
        self.scoring = scoring

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the value, greater being better."""
        scores = estimator.decision_function(X)
        value = per_label_thresholds(scores, sparse.csr_array(y), scoring=self.scoring, shrinkage=0.0).value
        return -value if self.scoring == "hamming_loss" else value
