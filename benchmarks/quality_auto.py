"""AutoMultiLabel beside each of its candidates tuned alone, on the test rows of published splits.

Each is asked for the same measure on the same folds, with thresholds from out-of-fold scores. "within" says
whether the whole is at least as good as the best candidate, less one spread over the folds. With ``--cpu``
budgets are seconds of processor time.

Run: OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python -m benchmarks.quality_auto [name …] [--cpu]
"""

from __future__ import annotations

import argparse
import warnings

from sklearn.exceptions import ConvergenceWarning

from benchmarks.quality_published import split
from hyperlabel import AutoMultiLabel
from hyperlabel.meta.portfolio import PORTFOLIO
from hyperlabel.metrics import get_scorer
from hyperlabel.solvers.clock import working_cpu_seconds

NAMES = ("emotions", "scene", "yeast", "medical")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--scoring", default="f1_macro")
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    if options.cpu:
        AutoMultiLabel._clock = staticmethod(working_cpu_seconds)
    scorer = get_scorer(options.scoring)
    print(f"{'data':10} {'auto':>7} {'std':>7}  {'best alone':24} {'within':6}  chosen; all alone")
    for name in options.names:
        X, Y, C, T = split(name)
        auto = AutoMultiLabel(options.scoring, time_budget=options.budget).fit(X, Y)
        value, best = float(scorer(auto, C, T)), auto.leaderboard_[0]
        alone = {}
        for method in (candidate.name for candidate in PORTFOLIO):
            model = AutoMultiLabel(
                options.scoring, time_budget=options.budget, methods=[method], blend=False
            ).fit(X, Y)
            alone[method] = round(float(scorer(model, C, T)), 4)
        top = max(alone, key=lambda key: alone[key])
        within = "yes" if value >= alone[top] - best["std"] else "no"
        print(
            f"{name:10} {value:7.4f} {best['std']:7.4f}  {top:16} {alone[top]:.4f}  {within:6}  "
            f"{best['method']}; {alone}",
            flush=True,
        )


if __name__ == "__main__":
    main()
