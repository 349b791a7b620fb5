"""AutoMultiLabel against tuned baselines on held-out rows: macro-F1, published splits, 60 s each."""

from __future__ import annotations

import sys
import time
import warnings

from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from benchmarks._timing import data_folder
from hyperlabel import AutoMultiLabel, BinaryRelevance, ThresholdTuner
from hyperlabel.datasets import read_arff
from hyperlabel.linear import ChainEnsemble
from hyperlabel.metrics import f1_score

FILES = {
    "emotions": ("emotions/emotions-train.arff", "emotions/emotions-test.arff"),
    "scene": ("scene/scene-train.arff.gz", "scene/scene-test.arff.gz"),
    "yeast": ("yeast/yeast-train.arff", "yeast/yeast-test.arff"),
    "medical": ("medical/medical-train.arff", "medical/medical-test.arff"),
    "corel5k": ("corel5k/Corel5k-train-sparse.arff", "corel5k/Corel5k-test-sparse.arff"),
}


def baselines() -> dict[str, object]:
    return {
        "ridge": ThresholdTuner(BinaryRelevance(cv=5)),
        "logistic": ThresholdTuner(BinaryRelevance(LogisticRegression(max_iter=500))),
        "linear SVM": ThresholdTuner(BinaryRelevance(LinearSVC(max_iter=2000))),
        "chains": ThresholdTuner(ChainEnsemble(n_chains=5, random_state=0), cv=3),
    }


def main(names: list[str]) -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"{'data':10} {'best baseline':26} {'auto':>7} {'diff':>8} {'seconds':>8}  chosen")
    for name in names or FILES:
        train, test = (read_arff(data_folder() / part) for part in FILES[name])
        values = {}
        for label, model in baselines().items():
            dense = not hasattr(train.X, "tocsr")
            pipe = make_pipeline(StandardScaler(), model) if dense else model
            pipe.fit(train.X, train.Y)
            values[label] = float(f1_score(test.Y, pipe.predict(test.X), average="macro"))
        best = max(values, key=lambda key: values[key])
        start = time.perf_counter()
        auto = AutoMultiLabel(time_budget=60.0).fit(train.X, train.Y)
        seconds = time.perf_counter() - start
        score = float(f1_score(test.Y, auto.predict(test.X), average="macro"))
        print(
            f"{name:10} {best:12} {values[best]:.4f}{'':8} {score:7.4f} {score - values[best]:+8.4f} "
            f"{seconds:8.1f}  {auto.leaderboard_[0]['method']}",
            flush=True,
        )
        print("    ", {key: round(value, 4) for key, value in values.items()})
        for row in auto.leaderboard_:
            shown = {k: (round(v, 4) if isinstance(v, float) else v) for k, v in row.items() if k != "params"}
            print("    ", shown)


if __name__ == "__main__":
    main(sys.argv[1:])
