"""Sigmoid against scipy, isotonic against scikit-learn, the quality list against planted errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.datasets import make_multilabel_classification

from hyperlabel import BinaryRelevance
from hyperlabel.decision import Sigmoid, label_errors
from hyperlabel.decision.label_noise import _log_prior_odds
from hyperlabel.solvers.margin.platt import _damped_newton, solve_platt


@pytest.fixture(scope="module")
def problem():
    rng = np.random.default_rng(0)
    Y = (rng.random((150, 4)) < [0.5, 0.1, 0.02, 0.4]).astype(float)
    scores = 3 * Y + rng.normal(size=Y.shape) + 100
    scores[:, 3] = -Y[:, 3] + rng.normal(size=150)  # runs against its label
    return scores, Y, rng.random(150)


@pytest.mark.parametrize("weighted", [False, True])
def test_sigmoid_is_the_constrained_optimum(problem, weighted):
    scores, Y, w = problem
    w = w if weighted else np.ones(150)
    found = solve_platt(scores, sparse.csr_array(Y), sample_weight=w)
    assert found.converged
    for j in range(4):
        positive = w @ Y[:, j]
        t = np.where(Y[:, j] > 0, (positive + 1) / (positive + 2), 1 / (w.sum() - positive + 2))
        s = scores[:, j] - scores[:, j].mean()

        def loss(ab, s=s, t=t):
            u = ab[0] * s + ab[1]
            return w @ (np.logaddexp(0, u) - t * u)

        best = minimize(loss, [0.1, 0.0], bounds=[(0, None), (None, None)], method="L-BFGS-B", tol=1e-14)
        ours = loss([found.slope[j], found.intercept[j] + found.slope[j] * scores[:, j].mean()])
        assert ours <= best.fun + 1e-7
    assert found.slope[3] == 0.0


def test_sigmoid_survives_separation_and_constant_scores():
    Y = sparse.csr_array(np.repeat([[1.0], [0.0]], 50, axis=0))
    separated = np.repeat([[1e6], [-1e6]], 50, axis=0)
    p = Sigmoid.fit(separated, Y).probabilities(separated)
    assert 0.97 < p[0, 0] < 1
    assert 0 < p[-1, 0] < 0.03
    constant = Sigmoid.fit(np.ones((100, 1)), Y).probabilities(np.ones((100, 1)))
    np.testing.assert_allclose(constant, 0.5, atol=1e-6)


@pytest.mark.parametrize("noise", ["uniform", "proportional"])
@pytest.mark.parametrize("rule", ["named", "estimated"])
def test_quality_list_finds_planted_errors(noise, rule):
    X, Y = make_multilabel_classification(n_samples=800, n_classes=6, random_state=1, allow_unlabeled=True)
    rng = np.random.default_rng(0)
    rate = 0.03 if noise == "uniform" else np.where(Y == 1, 0.06, 0.06 * Y.mean(axis=0))
    flipped = rng.random(Y.shape) < rate
    named = noise if rule == "named" else rule
    dirty = np.where(flipped, 1 - Y, Y)
    scores = BinaryRelevance(cv=5).fit(X, dirty).oof_scores_
    n = int(flipped.sum())
    listed = label_errors(sparse.csr_array(dirty), scores, noise=named, n_entries=n // 2)
    assert len(listed) == n // 2
    hits = flipped[listed.row, listed.label].mean()
    assert hits > 4 * flipped.mean()
    np.testing.assert_array_equal(listed.is_set, dirty[listed.row, listed.label] == 1)
    assert (np.diff(listed.evidence) <= 0).all()
    whole = label_errors(dirty, scores, noise=named, n_entries=None)
    assert len(whole) == dirty.size
    np.testing.assert_array_equal(whole.row[: n // 2], listed.row)


def test_quality_list_by_hand_and_rows_without_scores():
    y = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    p = np.array([[0.9, 0.8], [0.2, 0.9], [0.1, 0.7], [np.nan, np.nan]])
    listed = list(label_errors(y, p, proba=True, noise="uniform", n_entries=2))
    assert [entry[:3] for entry in listed] == [(2, 0, "wrong"), (0, 1, "missing")]
    assert listed[0][3] == pytest.approx(0.1)
    with pytest.raises(ValueError, match="noise must be"):
        label_errors(y, p, noise="none")
    with pytest.raises(ValueError, match="shape"):
        label_errors(y, p[:, :1])
    with pytest.raises(ValueError, match="between 0 and 1"):
        label_errors(y, p * 3, proba=True)


def test_quality_is_a_table_with_names():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"red": [1, 0, 1], "blue": [0, 1, 1]})
    p = np.array([[0.9, 0.8], [0.2, 0.9], [0.8, 0.7]])
    first = label_errors(frame, p, proba=True, noise="uniform").table()[0]
    assert (first["row"], first["label"], first["looks"], first["probability"]) == (0, "blue", "missing", 0.8)
    named = label_errors(frame.to_numpy(), p, proba=True, label_names=["a", "b"]).table()
    assert {one["label"] for one in named} == {"a", "b"}


def test_labels_added_by_swapping_are_found_though_they_are_rare():
    """A swap adds any label, however rare: at one rate, far below that of the labels it drops."""
    rng = np.random.default_rng(0)
    likely = np.clip(rng.beta(0.3, 0.3 / np.geomspace(0.2, 0.002, 30) - 0.3, (4000, 30)), 1e-4, 0.999)
    truth = rng.random(likely.shape) < likely
    dirty = truth.copy()
    for i, j in zip(*np.nonzero(truth & (rng.random(truth.shape) < 0.05)), strict=True):
        dirty[i, j], dirty[i, rng.choice(np.flatnonzero(~dirty[i]))] = False, True
    added = (dirty & ~truth).sum() / (~truth).sum()
    p = 0.95 * likely + added * (1 - likely)

    def found(noise):
        listed = label_errors(dirty, p, proba=True, noise=noise, n_entries=200)
        return (dirty != truth)[listed.row, listed.label].sum()

    assert found("estimated") >= found("uniform") > 120
    assert found("estimated") > found("proportional") + 50


def test_the_kind_of_noise_is_read_off_the_probabilities():
    rng = np.random.default_rng(0)
    Y = rng.random((4000, 5)) < 0.02
    clean = np.where(Y, 0.9, 1e-5)
    everywhere = 0.05 + 0.9 * clean  # every entry may be flipped

    def share_wrong(p):
        noisy = rng.random(p.shape) < p
        return label_errors(noisy, p, proba=True, n_entries=25).is_set.mean()

    assert share_wrong(clean) < 0.2  # people forget a rare label far more often than they add it
    assert share_wrong(everywhere) > 0.8


NOISES = ["estimated", "uniform", "proportional"]


@pytest.mark.parametrize("noise", NOISES)
def test_a_short_list_is_the_top_of_the_whole_list(monkeypatch, noise):
    rng = np.random.default_rng(3)
    Y = rng.random((3000, 4)) < [0.02, 0.1, 0.3, 0.5]
    scores = 1.5 * Y + rng.standard_t(4, size=Y.shape) ** 3 / 8
    whole = label_errors(sparse.csr_array(Y * 1.0), scores, noise=noise, n_entries=None)
    monkeypatch.setattr("hyperlabel.solvers.arrays.BLOCK_BYTES", 32 * 4 * 100)  # 30 blocks of rows
    short = label_errors(sparse.csr_array(Y * 1.0), scores, noise=noise, n_entries=60)
    np.testing.assert_allclose(short.evidence, whole.evidence[:60], rtol=1e-10)
    clear = (
        whole.evidence[:60] > whole.evidence[60] + 1e-9
    )  # entries tied with the next one may change places
    assert set(zip(short.row[clear], short.label[clear], strict=True)) == set(
        zip(whole.row[:60][clear], whole.label[:60][clear], strict=True)
    )


def test_added_tags_are_counted_where_probabilities_fall_below_them():
    """Curves fitted to few rows run on towards 0: read off them, hardly any tag would have been added."""
    rng = np.random.default_rng(5)
    truth = rng.random((2000, 50)) < 0.03
    Y, P = truth.copy(), np.where(truth, 0.97, 1e-4)
    for i, j in np.argwhere(truth)[rng.random(truth.sum()) < 0.05]:
        Y[i, j], Y[i, rng.choice(np.flatnonzero(~truth[i]))] = False, True
    P[~Y & (rng.random(P.shape) < 0.005)] = 0.98  # what the model takes for missing tags
    found = {noise: label_errors(Y, P, proba=True, noise=noise, n_entries=200) for noise in NOISES}
    planted = {noise: int((truth != Y)[q.row, q.label].sum()) for noise, q in found.items()}
    assert planted["uniform"] >= 140
    assert planted["estimated"] >= planted["uniform"]


def test_uniform_noise_says_nothing_about_set_and_unset_entries():
    Y, likely = sparse.csr_array(np.eye(4, 3)), np.where(np.eye(4, 3), 0.9, 0.1)
    assert _log_prior_odds("uniform", Y, Y, likely).tolist() == [0.0, 0.0, 0.0]
    assert _log_prior_odds("estimated", Y[:0], Y[:0], likely[:0]).tolist() == [0.0, 0.0, 0.0]
    assert (_log_prior_odds("estimated", Y, Y, likely) < -6).all()  # nobody set what is unlikely


def test_scores_that_say_nothing_are_fitted_at_once():
    """The rounding of their mean passed for a spread, and Newton's method went on to its last step."""
    on = np.arange(50) < 5
    found = solve_platt(np.full((50, 1), 3.0), sparse.csr_array(on[:, None] * 1.0))
    assert found.converged
    assert found.n_iter.max() < 12
    assert expit(found.slope * 3.0 + found.intercept) == pytest.approx((5 * 6 / 7 + 45 / 47) / 50)


@pytest.mark.parametrize("far", [[1.86e-4, 1.54e-4, 1.76e-4], [7545.0, 13183.0, 12117.0, 8312.0, 18467.0]])
def test_a_few_rows_far_from_all_others_are_fitted(far):
    """A step that overshot to where no chance is between 0 and 1 was divided by its curvature, zero."""
    scores, on = np.zeros((5000, 1)), np.zeros((5000, 1))
    scores[: len(far), 0], on[: len(far)] = far, 1.0
    found = solve_platt(scores, sparse.csr_array(on), tol=1e-6)
    assert found.converged
    p = expit(found.slope * scores + found.intercept)
    assert p.sum() == pytest.approx(len(far) * (len(far) + 1) / (len(far) + 2) + 1, abs=0.02)
    for most in range(1, found.n_iter[0]):
        assert solve_platt(scores, sparse.csr_array(on), tol=1e-6, max_iter=most).n_iter[0] <= most


def test_bins_leave_at_most_one_step_on_the_scores_themselves():
    """A tolerance of 1 is met as soon as the binned problem is solved."""
    rng = np.random.default_rng(0)
    Y = (rng.random((3000, 6)) < [0.5, 0.1, 0.02, 0.4, 0.3, 0.2]).astype(float)
    scores = Y * [3, 2, 1, 0.5, 6, 1] + rng.normal(size=Y.shape)
    scores[:, 5] = np.exp(scores[:, 5])
    binned, whole = (solve_platt(scores, sparse.csr_array(Y), tol=tol).n_iter for tol in (1.0, 1e-8))
    assert (whole - binned <= 1).all()
    for most in (1, 3):
        assert solve_platt(scores, sparse.csr_array(Y), tol=1e-15, max_iter=most).n_iter.max() <= most


@pytest.mark.parametrize("weighted", [False, True])
def test_many_rows_start_from_the_solution_of_their_bins(weighted):
    """From there a step or two are enough; without them the damped steps would hide a wrong start."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(5000, 40)) * rng.random(40)
    Y = sparse.csr_array((scores + rng.normal(size=scores.shape) > 1) * 1.0)
    platt_fit = solve_platt(scores, Y, sample_weight=rng.random(5000) if weighted else None)
    assert platt_fit.converged
    assert platt_fit.n_iter.max() <= 8


@pytest.mark.parametrize("z", [np.zeros(50), np.linspace(-2, 2, 50)], ids=["constant", "std"])
@pytest.mark.parametrize("start", [(0.0, 3.0), (6.0, -9.0)])
def test_newton_arrives_from_far_away(z, start):
    """Full steps overshoot from there; where the scores do not vary only the intercept moves."""
    w, t = np.full(50, 0.02), expit(1.3 * z - 0.4)
    label_terms = [np.array([term]) for term in (w @ (t * z), w @ t, *start)]
    a, b, steps, worst = _damped_newton(z[None], w, *label_terms, 1e-10, 25)
    assert worst <= 1e-10
    assert 3 <= steps < 25
    assert b == pytest.approx(-0.4)
    assert a == pytest.approx(1.3 if z.any() else start[0])
