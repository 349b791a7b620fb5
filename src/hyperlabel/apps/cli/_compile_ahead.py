"""What ``hyperlabel doctor --warm`` does: every kernel that a method needs is compiled and kept on disk."""

import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse


def compile_ahead() -> dict[str, Any]:
    """Fit every method on dense and on sparse rows; return how many fits, kernels and seconds that took."""
    from hyperlabel.solvers.compiling import counting_compiled, stop_interpreting
    from hyperlabel.solvers.labels.nested_metric_path import FEW, score_nested

    start_seconds, n_fits = time.perf_counter(), 0
    stop_interpreting()
    with counting_compiled() as compiled_names, warnings.catch_warnings():
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
    seconds = round(time.perf_counter() - start_seconds, 2)
    return {"fits": n_fits, "kernels": len(compiled_names), "seconds": seconds}


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
