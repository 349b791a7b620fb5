"""What ``hyperlabel doctor --warm`` does: every kernel that a method needs is compiled and kept on disk."""

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse


def compile_ahead() -> dict[str, Any]:
    """Fit every method on dense and on sparse rows; return how many fits, kernels and seconds that took."""
    from numba.core import event

    from hyperlabel.solvers.compiling import stop_interpreting
    from hyperlabel.solvers.labels.nested_metric_path import FEW, score_nested

    class CompileCount(event.Listener):
        n_compiled = 0

        def on_start(self, event: Any) -> None:
            self.n_compiled += 1

        def on_end(self, event: Any) -> None:
            pass

    compile_count, n_fits = CompileCount(), 0
    event.register("numba:compile", compile_count)
    start_seconds = time.perf_counter()
    stop_interpreting()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of samples as small as these, nobody reads the scores
        for model, X, Y in _iter_fits():
            model.fit(X, Y)
            model.predict(X)
            n_fits += 1
        n_labels = 100
        n_rows = FEW // n_labels**2 + 1  # so many that the compiled walk ranks them
        label_rows = sparse.csr_array(np.eye(n_rows, n_labels))
        metrics: tuple[Any, ...] = ("ndcg", "f1_micro")
        for metric in metrics:
            score_nested(
                np.zeros((n_rows, n_labels)), np.eye(n_labels), np.zeros(n_labels), label_rows,
                np.arange(1, n_labels + 1), metric=metric,
            )  # fmt: skip
    event.unregister("numba:compile", compile_count)
    seconds = round(time.perf_counter() - start_seconds, 2)
    return {"fits": n_fits, "kernels": compile_count.n_compiled, "seconds": seconds}


def _iter_fits() -> Iterator[tuple[Any, Any, Any]]:
    import hyperlabel as hl
    from hyperlabel.datasets import make_multilabel
    from hyperlabel.meta.catalogue import CATALOGUE, DataShape

    dataset = make_multilabel(160, 24, 6, random_state=0)
    kept_entries = np.random.default_rng(0).random(dataset.X.shape) < 0.3
    for X in (np.asarray(dataset.X), sparse.csr_array(np.where(kept_entries, np.abs(dataset.X), 0.0))):
        models = [method.make(DataShape.of(X)) for method in CATALOGUE]
        models += [hl.BinaryRelevance(loss=loss) for loss in ("logistic", "squared_hinge")]
        models += [hl.ThresholdTuner(), hl.MultiLabelCalibrator(), hl.HypergraphRankSVM(), hl.RankSVM()]
        models += [hl.CompressedSensing(), hl.CompressedSensing(decoder="omp"), hl.LabelPowerset()]
        for model in models:
            yield model, X, dataset.Y
