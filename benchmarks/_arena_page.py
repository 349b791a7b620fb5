"""The page of the arena: measures, ranks and contests, from the predictions that `benchmarks.arena` kept."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse, stats

from benchmarks.rule_cache import SETS
from hyperlabel.metrics import (
    f1_score,
    hamming_loss,
    log_loss,
    ndcg_at_k,
    precision_at_k,
    ranking_loss,
    roc_auc_score,
    subset_accuracy,
)
from hyperlabel.metrics.statistics import average_ranks, friedman

RESAMPLES = 60
Kept = dict[str, np.ndarray]


def _label_sets(kept: Kept, asked: str) -> sparse.csr_array:
    return sparse.csr_array(kept[asked] > 0).astype(int)


def _top(T: Any) -> int:
    return min(5, T.shape[1])


# measure: whether greater is better, its value, which choice it reads, the name among the published
Value = Callable[[Any, Kept], float]
MEASURES: dict[str, tuple[bool, Value, str, str]] = {
    "micro-F1": (
        True,
        lambda T, kept: f1_score(T, _label_sets(kept, "f1_micro"), average="micro"),
        "f1_micro",
        "MICRO_F1",
    ),
    "macro-F1": (
        True,
        lambda T, kept: f1_score(T, _label_sets(kept, "f1_macro"), average="macro"),
        "f1_macro",
        "MACRO_F1",
    ),
    "Hamming": (
        False,
        lambda T, kept: hamming_loss(T, _label_sets(kept, "f1_micro")),
        "f1_micro",
        "HAMMING_LOSS_example_based",
    ),
    "subset": (
        True,
        lambda T, kept: subset_accuracy(T, _label_sets(kept, "f1_micro")),
        "f1_micro",
        "SUBSET_ACCURACY",
    ),
    "ranking loss": (
        False,
        lambda T, kept: ranking_loss(T, kept["ranking_loss"]),
        "ranking_loss",
        "LABEL_RANKING_LOSS",
    ),
    "P@1": (True, lambda T, kept: precision_at_k(T, kept["ndcg_at_5"], k=1), "ndcg_at_5", ""),
    "nDCG@5": (True, lambda T, kept: ndcg_at_k(T, kept["ndcg_at_5"], k=_top(T)), "ndcg_at_5", ""),
    "log-loss": (
        False,
        lambda T, kept: log_loss(T, np.clip(kept["proba"], 1e-6, 1 - 1e-6)),
        "ranking_loss",
        "",
    ),
    "AUC": (
        True,
        lambda T, kept: roc_auc_score(T.toarray().reshape(-1, 1), kept["proba"].reshape(-1, 1)),
        "ranking_loss",
        "AUCROC_MICRO",
    ),
}
CONTESTED = ("micro-F1", "macro-F1", "ranking loss", "P@1", "nDCG@5")
PUBLISHED_NAMES = {"tmc2007-500": "tmc2007_500", "20ng": "ng20"}


def read_results(folder: Path) -> dict[str, dict[str, Kept]]:
    """Return the kept predictions by set and method; without those who finished nothing."""
    results: dict[str, dict[str, Kept]] = {}
    for path in sorted(folder.glob("*@*.npz")):
        with np.load(path, allow_pickle=False) as arrays:
            kept = {key: arrays[key] for key in arrays.files}
        name, title = path.stem.split("@")
        if "ranking_loss" in kept:
            results.setdefault(name, {})[title] = kept
    return results


def read_published() -> dict[tuple[str, str], tuple[float, str]]:
    """Return the best of 28 methods by set and measure (Bogatinovski et al., 2022), where the file is."""
    folder = Path(os.environ.get("HYPERLABEL_DATA") or "../shared/data")
    file = folder / "anchors" / "bogatinovski2022.csv"
    if not file.exists():
        return {}
    with file.open(encoding="utf-8", newline="") as rows:
        return {
            (row["dataset"], row["metric"]): (float(row["best_value"]), row["best_method"])
            for row in csv.DictReader(rows)
        }


def values_of(kept: Kept) -> dict[str, float]:
    T = sparse.csr_array(kept["T"].astype(float))
    return {measure: float(value(T, kept)) for measure, (_, value, *_) in MEASURES.items()}


def critical_difference(n_methods: int, n_sets: int) -> float:
    """Return the difference of average ranks that Nemenyi's test calls significant at .05.

    J. Demšar, *Statistical comparisons of classifiers over multiple data sets*, JMLR 7, 2006, §3.2.2.
    """
    q = stats.studentized_range.ppf(0.95, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_sets)))


def rank_table(values: dict[str, dict[str, dict[str, float]]], titles: list[str]) -> list[str]:
    """Return lines with average ranks; who finished nothing on a set ranks last there."""
    ranks = {}
    for measure, (greater, *_) in MEASURES.items():
        worst = -np.inf if greater else np.inf
        table = np.array([[values[name].get(t, {}).get(measure, worst) for t in titles] for name in values])
        table = table if greater else -table
        finite = np.where(np.isfinite(table), table, np.nanmin(table[np.isfinite(table)]) - 1)
        ranks[measure] = (average_ranks(finite), friedman(finite).p_value if len(finite) > 1 else np.nan)
    lines = [f"| method | {' | '.join(MEASURES)} |", f"|{'---|' * (len(MEASURES) + 1)}"]
    for i in np.argsort([np.mean([r[i] for r, _ in ranks.values()]) for i in range(len(titles))]):
        cells = []
        for found, _ in ranks.values():
            cells.append(f"**{found[i]:.1f}**" if found[i] == found.min() else f"{found[i]:.1f}")
        lines.append(f"| {titles[i]} | {' | '.join(cells)} |")
    p_values = " | ".join(f"{p:.3f}" for _, p in ranks.values())
    return [*lines, f"| p, all methods alike (Friedman) | {p_values} |"]


def resampled_gain(measure: str, mine: Kept, rival: Kept) -> tuple[float, float]:
    """Return our gain over a rival and its standard error over resamples of the test rows."""
    greater, value, *_ = MEASURES[measure]
    T = sparse.csr_array(mine["T"].astype(float))
    sign, rng = (1.0 if greater else -1.0), np.random.default_rng(0)

    def gain(rows: Any) -> float:
        on_rows = ({k: v[rows] for k, v in kept.items() if v.ndim == 2} for kept in (mine, rival))
        return sign * float(np.subtract(*(value(T[rows], some) for some in on_rows)))

    n = T.shape[0]
    return gain(slice(None)), float(np.std([gain(rng.integers(0, n, n)) for _ in range(RESAMPLES)]))


def contests(
    results: dict[str, dict[str, Kept]], ours: str
) -> dict[tuple[str, str], tuple[float, float, str]]:
    """Return gain, standard error and rival of each cell: ours against the peer that is best out of fold."""
    cells = {}
    for name, by_title in results.items():
        peers = {title: kept for title, kept in by_title.items() if title != ours}
        if ours not in by_title or not peers:
            continue
        for measure in CONTESTED:
            asked = MEASURES[measure][2]
            rival = max(peers, key=lambda title: float(peers[title][f"oof {asked}"]))
            cells[name, measure] = (*resampled_gain(measure, by_title[ours], peers[rival]), rival)
    return cells


def verdicts(cells: dict[tuple[str, str], tuple[float, float, str]]) -> list[str]:
    """Return the lines that count cells ahead, level and behind, by one and by two standard errors."""
    lines = ["| | ahead | level | behind |", "|---|---|---|---|"]
    for n_errors in (1, 2):
        for measure in (None, *CONTESTED):
            t = np.array([g / max(e, 1e-12) for (_, m), (g, e, _) in cells.items() if measure in (None, m)])
            counts = [(t > n_errors).sum(), (abs(t) <= n_errors).sum(), (t < -n_errors).sum()]
            title = f"{measure or f'all {len(t)} cells'}, {n_errors} standard error{'s' * (n_errors > 1)}"
            lines.append(f"| {title} | {' | '.join(map(str, counts))} |")
    return lines


def published_table(values: dict[str, dict[str, dict[str, float]]], ours: str) -> list[str]:
    """Return the lines that put our values beside the best published; their splits are others."""
    published = read_published()
    lines, reached = [], {"micro-F1": [], "macro-F1": []}
    for name in values:
        if ours not in values[name]:
            continue
        cells = []
        for measure, (greater, _, _, key) in MEASURES.items():
            theirs = published.get((PUBLISHED_NAMES.get(name, name), key)) if key else None
            if theirs is None:
                continue
            mine = values[name][ours][measure]
            cells.append(f"{measure} {mine:.3f} / {theirs[0]:.3f} {theirs[1]}")
            if measure in reached:
                reached[measure].append(mine >= theirs[0] - 0.02 if greater else mine <= theirs[0] + 0.02)
        if cells:
            lines.append(f"- {name}: {'; '.join(cells)}")
    counts = ", ".join(f"{sum(hits)} of {len(hits)} sets in {measure}" for measure, hits in reached.items())
    return [f"Within .02 of the best of 28 or above: {counts}.", "", *lines] if lines else []


def set_table(name: str, by_title: dict[str, dict[str, float]], results: dict[str, Kept]) -> list[str]:
    any_kept = next(iter(results.values()))
    n_train, (n_test, n_labels) = int(any_kept["n_train"]), any_kept["T"].shape
    lines = [
        f"### {name}",
        "",
        f"{n_train} training rows, {n_test} test rows, {n_labels} labels.",
        "",
        f"| method | {' | '.join(MEASURES)} | CPU s |",
        f"|{'---|' * (len(MEASURES) + 2)}",
    ]
    best = {
        measure: (max if greater else min)(values[measure] for values in by_title.values())
        for measure, (greater, *_) in MEASURES.items()
    }
    for title, values in by_title.items():
        cells = [f"**{values[m]:.3f}**" if values[m] == best[m] else f"{values[m]:.3f}" for m in MEASURES]
        lines.append(f"| {title} | {' | '.join(cells)} | {float(results[title]['cpu_seconds']):.0f} |")
    return [*lines, ""]


def write_page(page: Path, folder: Path, ours: str, scale: str, missing: list[str]) -> None:
    """Write the page as Markdown."""
    results = read_results(folder)
    values = {name: {t: values_of(kept) for t, kept in by_t.items()} for name, by_t in results.items()}
    titles = sorted(
        {title for by_title in values.values() for title in by_title}, key=lambda t: (t != ours, t)
    )
    cells = contests(results, ours)
    lines = [
        "# The arena",
        "",
        f"Written by `python -m benchmarks.arena` ({scale} for each method and set; {len(values)} sets).",
        "Every method has the same CPU time, rows, folds and thresholds (`benchmarks/arena.py` says how).",
        "",
        "Peers read all measures off the same fits; ours fits anew for four, a quarter of the time each.",
        "",
        f"Sets not run: {', '.join(name for name in SETS if name not in values) or 'none'}.",
        f"Methods not installed, so not run: {', '.join(missing) or 'none'}.",
        "",
        "## Average ranks",
        "",
        "1 is best. Two methods differ significantly (Nemenyi's test at .05) if their average ranks differ",
        f"by more than {critical_difference(len(titles), len(values)):.1f}. Who finished nothing ranks last.",
        "",
        *rank_table(values, titles),
        "",
        f"## `{ours}` against the peer that is best out of fold",
        "",
        f"Standard errors are of {RESAMPLES} resamples of the test rows.",
        "",
        *verdicts(cells),
        "",
        "Cells behind by more than one standard error:",
        "",
        *(
            f"- {name}, {measure}: {gain:+.3f} ± {error:.3f} ({rival})"
            for (name, measure), (gain, error, rival) in cells.items()
            if gain < -error
        ),
        "",
        "## Beside the best of 28 published methods",
        "",
        "Ours / the best of Bogatinovski et al., *Expert Systems with Applications* 203, 2022. Their splits",
        "are others: differences under .02 mean nothing. In the quick form ours learns from a part of the",
        "rows and labels.",
        "",
        *published_table(values, ours),
        "",
        "## Sets",
        "",
        *(line for name in values for line in set_table(name, values[name], results[name])),
    ]
    page.write_text("\n".join(lines).rstrip() + "\n", encoding="utf-8")
