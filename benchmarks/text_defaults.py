"""What `hyperlabel fit` does on texts by itself: words or characters, label names as a prior.

Each set is fitted by `fit_table` in four calls: words without names (ngrams=2, label_names=False), words
with names, the choice without names, and the defaults; "all names" adds labels without rows. F1@5 and nDCG@10
rank the labels; micro-F1, F1 of rows and macro-F1 judge what `predict` gives. True labels without a training
row count as missed. Differences from the first call stand beside their standard errors over the test rows.

Run: OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python -m benchmarks.text_defaults [name …] [--rows N]
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.label_names import SETS, f1_at_5, read
from hyperlabel.tabular import fit_table

CALLS: dict[str, dict[str, Any]] = {
    "words": {"ngrams": 2, "label_names": False},
    "words, names": {"ngrams": 2},
    "chosen": {"label_names": False},
    "defaults": {},
    "all names": {},  # those of the test rows, too, by --label-text
}


def ndcg_of_rows(scores: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return nDCG@10 of each row, the ideal ranking holding all true labels."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, :10]
    discount = 1 / np.log2(np.arange(2, 12))
    ideal = np.array([discount[: min(10, count)].sum() for count in truth.sum(axis=1)])
    return (np.take_along_axis(truth, best, axis=1) * discount).sum(axis=1) / np.maximum(ideal, 1e-12)


def measure(name: str, n_rows: int, call: str) -> tuple[str, dict[str, np.ndarray]]:
    """Fit on a file of the training rows; return a line, and what each test row has."""
    texts, labels, test_texts, test_labels = read(name, n_rows)
    options = dict(CALLS[call])
    with tempfile.TemporaryDirectory() as folder:
        if call == "all names":
            options["label_text"] = str(Path(folder, "names.csv"))
            with Path(folder, "names.csv").open("w", newline="") as file:
                names = sorted({tag for tags in (*labels, *test_labels) for tag in tags})
                csv.writer(file).writerows([label_name] for label_name in names)
        table, model = Path(folder, "rows.jsonl"), Path(folder, "rows.hyper")
        rows = zip(texts, labels, strict=True)
        table.write_text("\n".join(json.dumps({"text": text, "tags": tags}) for text, tags in rows))
        start = time.process_time()
        model_file = fit_table(str(table), str(model), labels="tags", **options)
        seconds, megabytes = time.process_time() - start, model.stat().st_size / 1e6
    known = model_file.columns.label_names
    all_names = [*known, *sorted({tag for tags in test_labels for tag in tags} - set(known))]
    column = {label: j for j, label in enumerate(all_names)}
    truth = np.zeros((len(test_texts), len(all_names)), dtype=bool)
    for i, tags in enumerate(test_labels):
        truth[i, [column[tag] for tag in tags]] = True
    unseen = ((0, 0), (0, len(all_names) - len(known)))
    scores = np.pad(model_file.scores(test_texts), unseen, constant_values=-np.inf)
    sets = np.pad(model_file.predict(test_texts), unseen)
    hits, total = sets & truth, truth.sum(axis=0) + sets.sum(axis=0)
    by_row = {
        "F1@5": f1_at_5(scores, truth),
        "nDCG@10": ndcg_of_rows(scores, truth),
        "F1 of rows": 2 * hits.sum(axis=1) / np.maximum(truth.sum(axis=1) + sets.sum(axis=1), 1),
    }
    micro = 2 * hits.sum() / (truth.sum() + sets.sum())
    macro = (2 * hits.sum(axis=0) / np.maximum(total, 1))[truth.any(axis=0)].mean()
    ridge = getattr(model_file.model[-1], "estimator_", model_file.model[-1])
    line = "  ".join(f"{measure_name} {values.mean():.4f}" for measure_name, values in by_row.items())
    line += (
        f"  micro-F1 {micro:.4f}  macro-F1 {macro:.4f}  {model_file.model[0].analyzer} "
        f"{ridge.n_features_in_} "
        f"g {getattr(ridge, 'label_scale_', 0.0):.2f}  {seconds:.0f} CPU s  {megabytes:.0f} MB"
    )
    return line, by_row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(SETS))
    parser.add_argument("--rows", type=int, default=0, help="so many random training rows")
    parser.add_argument("--calls", default="", help="only these, separated by ;")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    calls = [call for call in options.calls.split(";") if call] or [*CALLS][:4]
    for name in options.names:
        first: dict[str, np.ndarray] = {}
        for call in calls:
            line, by_row = measure(name, options.rows, call)
            first = first or by_row
            differences = {key: values - first[key] for key, values in by_row.items()}
            gains = ", ".join(
                f"{d.mean():+.4f} ({d.std() / np.sqrt(len(d)):.4f})" for d in differences.values()
            )
            print(f"{name:17} {options.rows or 'all'} {call:13} {line}  gain {gains}", flush=True)


if __name__ == "__main__":
    main()
