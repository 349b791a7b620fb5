"""Thresholds tuned on out-of-fold scores: what they cost and what they lift, published splits."""

from __future__ import annotations

import statistics

from benchmarks._data import real
from benchmarks._timing import rounds, show
from hyperlabel import BinaryRelevance, MultiLabelCalibrator, ThresholdTuner
from hyperlabel.metrics import brier_score, evaluate, reliability

RULES = {
    "global, f1_micro": {"strategy": "global", "scoring": "f1_micro"},
    "per label, f1_macro": {"strategy": "per_label", "scoring": "f1_macro"},
    "per label, f1_micro": {"strategy": "per_label", "scoring": "f1_micro"},
    "top k": {"strategy": "top_k", "scoring": "f1_samples"},
    "proportional": {"strategy": "proportional"},
    "label-set size": {"strategy": "label_set_size"},
    "expected F1": {"strategy": "expected_f1"},
}
WANTED = {"global, f1_micro": "micro-F1 at least .36", "per label, f1_macro": "macro-F1 at least .15"}


def main() -> None:
    train, test = real("delicious", "train"), real("delicious", "test")
    X, Y = train.X, train.Y
    _cost(X, Y)
    rows = [("ridge at ½", *_f1(BinaryRelevance(alpha=1.0).fit(X, Y), test))]
    for name, params in RULES.items():
        model = ThresholdTuner(BinaryRelevance(alpha=1.0), **params).fit(X, Y)
        measured, _ = _f1(model, test)
        rows.append((name, measured, WANTED.get(name, "")))
    show("delicious: micro / macro / samples F1", rows)
    _guarantees(train, test)
    _calibration(train, test)


def _cost(X, Y, n_rounds: int = 9) -> None:
    """Every job once a round, ratios of processor time within the round: a load that drifts favours none."""
    jobs = {
        "fit": lambda: BinaryRelevance(alpha=1.0).fit(X, Y),
        "scores": lambda: BinaryRelevance(alpha=1.0, cv=5).fit(X, Y),
    }
    for name in ("global, f1_micro", "per label, f1_macro", "per label, f1_micro", "expected F1"):
        jobs[name] = lambda rule=RULES[name]: ThresholdTuner(BinaryRelevance(alpha=1.0), **rule).fit(X, Y)
    taken = rounds(jobs, n_rounds)

    def ratio(name: str, base: str) -> str:
        values = [a / b for a, b in zip(taken[name], taken[base], strict=True)]
        return f"{statistics.median(values):.2f}x ({min(values):.2f}-{max(values):.2f})"

    rows = [("fit with out-of-fold scores / fit", ratio("scores", "fit"), "")]
    for name in list(jobs)[2:]:
        rows.append((f"tuned, {name} / fit with scores", ratio(name, "scores"), "at most 2x"))
    show("delicious: cost of tuning, the fit included (median and range of the rounds)", rows)


def _f1(model, test) -> tuple[str, str]:
    values = evaluate(test.Y, model.predict(test.X))
    return " / ".join(f"{values[f'f1_{average}']:.3f}" for average in ("micro", "macro", "samples")), ""


def _guarantees(train, test) -> None:
    rows = []
    for precision in (0.5, 0.7, 0.9):
        rule = {"strategy": "precision_at_least", "precision": precision}
        model = ThresholdTuner(BinaryRelevance(alpha=1.0), **rule).fit(train.X, train.Y)
        values = evaluate(test.Y, model.predict(test.X))
        kept, covered = values["precision_micro"], values["recall_micro"]
        guarantee = f"{precision:.2f} guaranteed, coverage {model.coverage_:.3f} foretold"
        rows.append((f"precision at least {precision}", f"{kept:.3f} / {covered:.3f}", guarantee))
    show("delicious: precision / coverage on the test rows", rows)


def _calibration(train, test) -> None:
    rows = []
    for method in ("sigmoid", "isotonic"):
        model = MultiLabelCalibrator(BinaryRelevance(alpha=1.0), method=method).fit(train.X, train.Y)
        p = model.predict_proba(test.X)
        error = reliability(test.Y, p).calibration_error
        rows.append((method, f"{brier_score(test.Y, p):.5f} / {error:.5f}", ""))
    scores = BinaryRelevance(alpha=1.0).fit(train.X, train.Y).decision_function(test.X)
    naive = ((scores + 1) / 2).clip(0, 1)
    error = reliability(test.Y, naive).calibration_error
    rows.append(("(score + 1)/2, clipped", f"{brier_score(test.Y, naive):.5f} / {error:.5f}", ""))
    show("delicious: Brier score / calibration error", rows)


if __name__ == "__main__":
    main()
