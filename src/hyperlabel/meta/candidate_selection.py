"""How `AutoMultiLabel` scores candidates and blends them: everything is tuned on the other folds.

A blend is the weighted mean of calibrated scores. It averages log-odds where all members are linear, so that
the blend is linear too, and probabilities otherwise. A probability is the mean of two calibrations of a
score: a sigmoid per label, and one line for all labels. The line keeps the order across labels that have too
few positives to calibrate (delicious, out-of-fold, P@1/3/5: sigmoids 68.8/62.6/58.5, the line 68.8/63.0/58.4,
both 69.4/63.3/58.9). Log-odds are likewise the mean of the label's sigmoid and of one sigmoid for all.
Ranking measures calibrate a single member too: a label with little evidence falls back to its frequency.
Macro-F1 uses the line only: the sigmoid of a label with few positives is flat, and no threshold separates it.

The equal blend of landmarks and trees is trusted. It is chosen unless another candidate is better by more
than one standard deviation over the folds: the best of twenty on a few hundred samples is mostly the luckiest
(`benchmarks.quality_nested`). For macro-F1 of sparse samples, mostly words, non-linear features blur rare
labels. There the ridge is trusted, unless another candidate gains more than one standard error over the
folds. A blend is dropped if it is worse than its best member by more than one standard deviation.

Weights are equal, or stacked: those of least log-loss out of fold, drawn to equal weights of the trusted
(`meta.stacking`). All measures but macro-F1 trust a stacked blend of the best candidates and of the trusted
before the equal one (`benchmarks.quality_rules`). Macro-F1 takes one where it gains more than one standard
error over the folds; its blends take members by what they add to the trusted ones, or to the best candidate
where not all trusted ones were tried.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.decision import Sigmoid, per_label_thresholds
from hyperlabel.decision.known_entries import is_complete
from hyperlabel.decision.strategies import OutOfFold, make_strategy
from hyperlabel.meta.portfolio import CandidateRun, Task
from hyperlabel.meta.stacking import stack_weights
from hyperlabel.metrics.scorers import score_known

RULES = ("per_label", "global")  # strategies with thresholds
WEIGHT_ROWS = 1500  # at most, that weights are learned on
LEAST_ROWS = 20  # with fewer, weights stay equal
BLENDED, STACKED = 4, 6  # candidates at most, for macro-F1 and for all else
TRUSTED, OF_WORDS = ("kernel-ridge", "forest"), ("ridge",)  # the second for macro-F1 of sparse rows


@dataclass(frozen=True, eq=False)
class CandidateScore:
    """A candidate (or blend) with its score on each fold and its threshold strategy."""

    name: str
    members: tuple[int, ...]
    threshold_strategy: str
    values: np.ndarray
    seconds: float
    weights: tuple[float, ...] = (1.0,)
    stacked: bool = False  # its weights are learned, and average log-odds


@dataclass(frozen=True, eq=False)
class MemberCalibrator:
    """Calibrators of a member's scores: a sigmoid for each label (or none), one and a line for all."""

    sigmoid: Sigmoid | None
    slope: float
    intercept: float
    shared: Sigmoid

    @classmethod
    def fit(cls, scores: np.ndarray, Y: sparse.csr_array, *, by_label: bool = True) -> MemberCalibrator:
        """Fit the least-squares line from all scores to 0/1 labels, and with `by_label` the sigmoids."""
        if not is_complete(Y, None):
            return cls._fit_known(scores, Y, by_label=by_label)
        mean_score, positive_share, score_variance = (
            float(scores.mean()),
            Y.sum() / scores.size,
            float(scores.var()),
        )
        slope = (
            float(Y.multiply(scores).sum() / scores.size - mean_score * positive_share) / score_variance
            if score_variance
            else 0.0
        )
        shared_line = slope, float(positive_share - slope * mean_score)
        stacked_labels = scores.reshape(-1, 1), sparse.csr_array(Y.reshape((-1, 1)))
        label_sigmoid = Sigmoid.fit(scores, Y) if by_label else None
        return cls(label_sigmoid, *shared_line, Sigmoid.fit(*stacked_labels))

    @classmethod
    def _fit_known(cls, scores: np.ndarray, Y: sparse.csr_array, *, by_label: bool) -> MemberCalibrator:
        """Fit the same on the known entries alone."""
        labels = Y.toarray()
        is_known = ~np.isnan(labels)
        column = scores[is_known][:, None], sparse.csr_array(labels[is_known][:, None])
        known_score, known_label = column[0][:, 0], labels[is_known]
        mean_score, mean_label, variance = known_score.mean(), known_label.mean(), float(known_score.var())
        covariance = float(np.mean(known_score * known_label) - mean_score * mean_label)
        slope = covariance / variance if variance else 0.0
        shared_line = slope, float(mean_label - slope * mean_score)
        return cls(Sigmoid.fit(scores, Y) if by_label else None, *shared_line, Sigmoid.fit(*column))

    def probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Return the mean of the calibrated probabilities."""
        line_probabilities = self.slope * scores + self.intercept
        return (
            line_probabilities
            if self.sigmoid is None
            else (self.sigmoid.probabilities(scores) + line_probabilities) / 2.0
        )

    def linear(self) -> tuple[Any, Any]:
        """Return slope and intercept of the linear calibrator: mean log-odds, or the line."""
        if self.sigmoid is None:
            return self.slope, self.intercept
        return (self.sigmoid.slope + self.shared.slope) / 2.0, (
            self.sigmoid.intercept + self.shared.intercept
        ) / 2.0

    def log_odds(self, scores: np.ndarray) -> np.ndarray:
        """Return the log-odds of the label's sigmoid and the one for all, or of the latter alone."""
        slope, intercept = (
            (self.shared.slope, self.shared.intercept) if self.sigmoid is None else self.linear()
        )
        return scores * slope + intercept


@dataclass(frozen=True, eq=False)
class Blend:
    """Map the members' scores to those of the blend; without calibrators the one member's are returned."""

    calibrations: list[MemberCalibrator]
    weights: np.ndarray
    linear: bool = True

    def __call__(self, scores: list[np.ndarray]) -> np.ndarray:
        """Return the weighted mean of the calibrated scores, n×k."""
        if not self.calibrations:
            return scores[0]
        blended_scores = np.zeros(scores[0].shape)
        for member_scores, calibrator, weight in zip(scores, self.calibrations, self.weights, strict=True):
            slope, intercept = calibrator.linear()
            blended_scores += weight * (
                member_scores * slope + intercept if self.linear else calibrator.probabilities(member_scores)
            )
        return blended_scores


class Selector:
    """Score candidates and blends on each fold, with everything tuned on the other folds.

    `ranks` says that the measure depends on scores and not on label sets, so that thresholds do not matter.
    """

    def __init__(self, task: Task, scorer: Any, threshold_scoring: str, *, ranks: bool = False) -> None:
        self.task, self.scorer, self.threshold_scoring, self.ranks = task, scorer, threshold_scoring, ranks
        test_folds = [test_rows for _, test_rows in task.splits]
        self.oof_rows = np.unique(np.concatenate(test_folds))
        self.folds = [(np.setdiff1d(self.oof_rows, test_rows), test_rows) for test_rows in test_folds]
        self.seconds = 0.0  # spent on scoring the last candidate
        self.by_label = ranks or threshold_scoring != "f1_macro"
        self.n_most = STACKED if self.by_label else BLENDED  # members of a blend
        self.trusted = TRUSTED if self.by_label or not sparse.issparse(task.X) else OF_WORDS

    def thresholds(self, rule: str, scores: np.ndarray, Y: sparse.csr_array) -> np.ndarray:
        """Return the thresholds of a strategy, tuned on these scores and labels."""
        strategy = make_strategy(rule, {"scoring": self.threshold_scoring})
        return strategy.fit(OutOfFold(scores, Y))["thresholds_"]

    def one(self, index: int, candidate_run: CandidateRun) -> CandidateScore:
        """Return the fold scores of one candidate."""
        start_time = self.task.clock()
        (candidate_score,) = self._judge_blends(
            [(candidate_run.name, (index,), False)], [candidate_run], candidate_run.seconds
        )
        self.seconds = self.task.clock() - start_time
        return candidate_score

    def leaders(
        self, candidate_runs: list[CandidateRun], candidate_scores: list[CandidateScore]
    ) -> list[int]:
        """Return the index of the best run of each method, the best method first."""
        leading_runs: list[int] = []
        for score in sorted(candidate_scores, key=lambda score: -_mean_value(score)):
            if all(candidate_runs[i].name != candidate_runs[score.members[0]].name for i in leading_runs):
                leading_runs.append(score.members[0])
        return leading_runs

    def needs(self, candidate_runs: list[CandidateRun], members: list[int]) -> float:
        """Return the seconds needed to score blends of these candidates and to refit them."""
        refit_seconds = 1.3 * sum(candidate_runs[i].refit_seconds for i in members)
        if len(members) < 2:
            return self.seconds + refit_seconds
        n_scorings = 2 * len(members) if self.ranks else 8 + 3 * len(members)  # as measured, a little more
        return n_scorings * self.seconds + refit_seconds

    def blends(
        self, candidate_runs: list[CandidateRun], candidate_scores: list[CandidateScore], deadline: float
    ) -> list[CandidateScore]:
        """Return blends of different methods, with equal and with learned weights, as time allows."""
        blend_members = self._choose_members(candidate_runs, candidate_scores, deadline - self.task.clock())
        if len(blend_members) < 2:
            return []
        blend_specs = [
            ("blend of", tuple(blend_members[:n_members]), False)
            for n_members in (2, 3)
            if n_members <= len(blend_members)
        ]
        blend_specs.append(("weighted blend of", tuple(blend_members), True))
        member_runs = [candidate_runs[i] for i in blend_members]
        blend_scores = self._judge_blends(blend_specs, member_runs, sum(run.seconds for run in member_runs))
        best_equal_blend = max(blend_scores[: len(blend_specs) - 1], key=_mean_value)
        best_candidate = max(candidate_scores, key=_mean_value)
        blend_scores = [score for score in blend_scores if _within_one_std(score, best_candidate)]
        # Macro-F1: stacked weights can overfit the folds. Their gain must exceed its noise.
        return [
            score
            for score in blend_scores
            if self.by_label or not score.stacked or _exceeds_noise(score.values - best_equal_blend.values)
        ]

    def _choose_members(
        self, candidate_runs: list[CandidateRun], candidate_scores: list[CandidateScore], seconds: float
    ) -> list[int]:
        """Return the candidates to blend: the trusted or the best, and those that add to them."""
        members = self.leaders(candidate_runs, candidate_scores)
        trusted_members = [i for i in members if candidate_runs[i].name in self.trusted]
        first = trusted_members if len(trusted_members) == len(self.trusted) else members[:1]
        members = first + [i for i in members if i not in first]
        while len(members) > 1 and self.needs(candidate_runs, members[: self.n_most]) > seconds:
            # Drop the slowest to refit; among equals the weakest.
            members.remove(
                max(members[1:], key=lambda i: (candidate_runs[i].refit_seconds, members.index(i)))
            )
        if len(members) < 2 or self.by_label:
            return members[: self.n_most]
        first = [i for i in first if i in members]
        return [members[i] for i in self._add_complements([candidate_runs[i] for i in members], len(first))]

    def ordered(
        self, candidate_runs: list[CandidateRun], candidate_scores: list[CandidateScore]
    ) -> list[CandidateScore]:
        """Return the candidates best first; the trusted one leads if it is near enough to the best."""
        ranked_scores = sorted(candidate_scores, key=lambda score: -_mean_value(score))
        trusted_scores = [score for score in ranked_scores if self._is_trusted(candidate_runs, score)]
        # All but macro-F1 trust the stacked blend, and equal weights where nothing was stacked.
        for trusted_score in sorted(trusted_scores, key=lambda score: not score.stacked):
            best_score = ranked_scores[0]
            is_near_best = not _exceeds_noise(best_score.values - trusted_score.values)
            if self.trusted == TRUSTED:
                is_near_best = _within_one_std(trusted_score, best_score)
            if is_near_best:
                return [trusted_score, *(score for score in ranked_scores if score is not trusted_score)]
        return ranked_scores

    def _is_trusted(self, candidate_runs: list[CandidateRun], candidate_score: CandidateScore) -> bool:
        if candidate_score.stacked:
            return self.by_label
        member_names = sorted(candidate_runs[i].name for i in candidate_score.members)
        return member_names == sorted(self.trusted)

    def _add_complements(self, member_runs: list[CandidateRun], n_first: int) -> list[int]:
        """Return the first members and, one by one, those that improve the equal blend most."""
        weight_rows = self._sample_rows(self.oof_rows)
        calibrators = self._calibrate_members(member_runs, weight_rows)
        calibrated_scores = _calibrate_scores(member_runs, calibrators, weight_rows)
        n_chosen = BLENDED if len(weight_rows) < LEAST_ROWS else n_first
        chosen_members = list(range(min(n_chosen, len(member_runs))))
        score_sum = np.sum(calibrated_scores[: len(chosen_members)], axis=0)
        while len(chosen_members) < min(BLENDED, len(member_runs)):
            remaining_members = [i for i in range(len(member_runs)) if i not in chosen_members]
            blend_size = len(chosen_members) + 1
            blend_values = [
                self._cross_evaluate((score_sum + calibrated_scores[i]) / blend_size, weight_rows)
                for i in remaining_members
            ]
            chosen_members.append(remaining_members[int(np.argmax(blend_values))])
            score_sum = score_sum + calibrated_scores[chosen_members[-1]]
        return chosen_members

    def blend(self, candidate_score: CandidateScore, member_runs: list[CandidateRun]) -> Blend:
        """Return the blend of a candidate score, calibrated on all out-of-fold scores."""
        calibrators = self._calibrate_members(member_runs, self.oof_rows)
        is_linear = candidate_score.stacked or _is_linear(member_runs)
        return Blend(calibrators, np.array(candidate_score.weights), is_linear)

    def _calibrate_members(self, member_runs: list[CandidateRun], rows: np.ndarray) -> list[MemberCalibrator]:
        """Return a calibrator per member; none for a single member unless the measure ranks labels."""
        if len(member_runs) < 2 and not self.ranks:
            return []
        Y = self.task.Y[rows]
        return [MemberCalibrator.fit(run.scores[rows], Y, by_label=self.by_label) for run in member_runs]

    def _judge_blends(
        self, blend_specs: list[Any], member_runs: list[CandidateRun], seconds: float
    ) -> list[CandidateScore]:
        """Return the scores of blends of the first runs; a spec is (name, members, learned)."""
        fold_values = np.stack(
            [self._judge_blends_on_fold(blend_specs, member_runs, *fold) for fold in self.folds], axis=-1
        )
        calibrators = self._calibrate_members(member_runs, self.oof_rows)
        settled_blends = (
            self._settle_blend(
                name, members, member_runs[: len(members)], calibrators, learned, rule_values, seconds
            )
            for (name, members, learned), rule_values in zip(blend_specs, fold_values, strict=True)
        )
        return [blend for blend in settled_blends if blend is not None]

    def _judge_blends_on_fold(
        self,
        blend_specs: list[Any],
        member_runs: list[CandidateRun],
        train_rows: np.ndarray,
        test_rows: np.ndarray,
    ) -> np.ndarray:
        """Return the score of each blend under each threshold rule on the test rows, tuned on the others."""
        rules, Y = RULES[:1] if self.ranks else RULES, self.task.Y[train_rows]
        fitted = self._calibrate_members(member_runs, train_rows)
        rule_values = np.empty((len(blend_specs), len(rules)))
        for b, (_, members, learned) in enumerate(blend_specs):
            blended_runs = member_runs[: len(members)]
            blend = Blend(
                fitted[: len(members)], *self._choose_weights(blended_runs, fitted, train_rows, learned)
            )
            train_scores = None if self.ranks else blend([run.scores[train_rows] for run in blended_runs])
            test_scores = blend([run.scores[test_rows] for run in blended_runs])
            for r, rule in enumerate(rules):
                thresholds = (
                    np.zeros(Y.shape[1]) if train_scores is None else self.thresholds(rule, train_scores, Y)
                )
                rule_values[b, r] = self._evaluate_scores(test_scores, thresholds, test_rows)
        return rule_values

    def _settle_blend(
        self,
        name: str,
        members: tuple[int, ...],
        member_runs: list[CandidateRun],
        calibrators: list[MemberCalibrator],
        learned: bool,
        rule_values: np.ndarray,
        seconds: float,
    ) -> CandidateScore | None:
        """Return the score of a blend with weights learned on all rows; None if they leave one member."""
        best_rule = int(rule_values.mean(axis=1).argmax())
        if len(member_runs) == 1:
            return CandidateScore(name, members, RULES[best_rule], rule_values[best_rule], seconds)
        weights, _ = self._choose_weights(member_runs, calibrators, self.oof_rows, learned)
        weighted = np.flatnonzero(weights)
        name += " " + ", ".join(member_runs[i].name for i in weighted)
        remaining_members = tuple(members[i] for i in weighted)
        blend_score = CandidateScore(
            name,
            remaining_members,
            RULES[best_rule],
            rule_values[best_rule],
            seconds,
            tuple(weights[weighted].tolist()),
            learned,
        )
        return blend_score if len(weighted) > 1 else None

    def _choose_weights(
        self,
        member_runs: list[CandidateRun],
        calibrators: list[MemberCalibrator],
        rows: np.ndarray,
        learned: bool,
    ) -> tuple[np.ndarray, bool]:
        """Return weights that sum to 1, and whether the blend is linear."""
        if not learned or len(rows) < LEAST_ROWS:
            return np.full(len(member_runs), 1.0 / len(member_runs)), learned or _is_linear(member_runs)
        weight_rows = self._sample_rows(rows)
        log_odds = [
            calibrator.log_odds(run.scores[weight_rows])
            for run, calibrator in zip(member_runs, calibrators, strict=False)
        ]
        is_first = np.array([run.name in self.trusted for run in member_runs], dtype=float)
        prior = is_first if is_first.sum() == len(self.trusted) else np.eye(len(member_runs))[0]
        return stack_weights(log_odds, self.task.Y[weight_rows], prior / prior.sum()), True

    def _sample_rows(self, rows: np.ndarray) -> np.ndarray:
        return rows[np.sort(np.random.default_rng(0).permutation(len(rows))[:WEIGHT_ROWS])]

    def _cross_evaluate(self, scores: np.ndarray, rows: np.ndarray) -> float:
        """Return the two-fold score of these rows, the thresholds of each half being tuned on the other."""
        if self.ranks:
            return self._evaluate_scores(scores, np.zeros(scores.shape[1]), rows)
        rule_values = np.zeros(len(RULES))
        even_rows, odd_rows = slice(0, None, 2), slice(1, None, 2)
        for test_half, train_half in ((even_rows, odd_rows), (odd_rows, even_rows)):
            for i, rule in enumerate(RULES):
                thresholds = self.thresholds(rule, scores[train_half], self.task.Y[rows[train_half]])
                rule_values[i] += self._evaluate_scores(scores[test_half], thresholds, rows[test_half])
        return float(rule_values.max())

    def _evaluate_scores(self, scores: np.ndarray, thresholds: np.ndarray, test_rows: np.ndarray) -> float:
        X, Y = self.task.X[test_rows], self.task.Y[test_rows]
        return score_known(self.scorer, Y, scores, self.task.layout, X, thresholds)


def _mean_value(candidate_score: CandidateScore) -> float:
    return float(candidate_score.values.mean())


def _is_linear(member_runs: list[CandidateRun]) -> bool:
    return len(member_runs) == 1 or all(run.linear for run in member_runs)


def _calibrate_scores(
    member_runs: list[CandidateRun], calibrators: list[MemberCalibrator], rows: np.ndarray
) -> list[np.ndarray]:
    """Return the calibrated scores of each member on these rows."""
    is_linear = _is_linear(member_runs)
    return [
        Blend([calibrator], np.ones(1), is_linear)([run.scores[rows]])
        for run, calibrator in zip(
            member_runs, calibrators, strict=False
        )  # calibrators may be of more members
    ]


def _within_one_std(candidate_score: CandidateScore, best_score: CandidateScore) -> bool:
    larger_std = max(candidate_score.values.std(), best_score.values.std())
    return bool(candidate_score.values.mean() >= best_score.values.mean() - larger_std)


def _exceeds_noise(gain: np.ndarray) -> bool:
    return bool(gain.mean() > gain.std() / np.sqrt(max(len(gain) - 1, 1)))


class AttainableScore:
    """Scorer of a grid: the measure attained by the best thresholds on the fold itself."""

    def __init__(self, scoring: str) -> None:
        self.scoring = scoring

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the value, greater being better."""
        scores = estimator.decision_function(X)
        # `value` of a loss is already its negative.
        return per_label_thresholds(scores, sparse.csr_array(y), scoring=self.scoring, shrinkage=0.0).value
