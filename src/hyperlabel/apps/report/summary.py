"""The summary of a comparison: five questions a reader has, answered in sentences."""

import math
import re
from typing import Any

from hyperlabel.apps.comparison.comparison import Comparison, LabelScore, PairwiseTest
from hyperlabel.apps.report.page import Answer, Bar, Hero, command_html, format_duration, format_megabytes
from hyperlabel.meta.catalogue import CATALOGUE

FAILING = 0.2  # a label whose F1 is below this counts as failing


def answer_questions(c: Comparison) -> list[Answer]:
    """Answer the five questions."""
    main = c.datasets[0]
    best = recommended_method(c)
    return [
        Answer("Which method should I use here?", _answer_which(c, best)),
        Answer("How sure are we?", _how_sure(c, main, best)),
        Answer("What does it cost in time and memory?", _what_cost(c, best)),
        Answer("Which labels does it fail on?", _which_fail(c, best)),
        Answer("How do I repeat it?", _how_repeat(c)),
    ]


def known_title(name: str) -> str:
    """Return the name people know a method of the catalogue by."""
    return next((known.title for known in CATALOGUE if known.name == name), name)


def short_title(name: str) -> str:
    """Return the part of that name that fits into a sentence or a figure."""
    title = known_title(name)
    return re.split("[,(:]", title)[0].strip() if title in {known.title for known in CATALOGUE} else name


def join_titles(names: list[str], most: int = 6) -> str:
    """Join the short names of methods."""
    return join_names([short_title(name) for name in names], most)


def _method_name(name: str) -> str:
    title = known_title(name)
    return name if title == name else f"{title}, --methods {name}"


def without_folders(command: str | None) -> str:
    """Return a command with files by name: where they lie on one machine says nothing on another."""
    return re.sub(r"(?<=[\s='\"])/(?:[^/\s'\"]+/)+", "", command or "")


def comparison_hero(c: Comparison) -> Hero:
    """Return the answer in one figure, with the best few methods beside each other."""
    best = recommended_method(c)
    data = c.datasets[0]
    shown = [m for m in c.ranking(data) if math.isfinite(c.mean(data, m))][:6]
    if best not in shown:
        shown = [*shown[:5], best]
    means = {m: c.mean(data, m) for m in shown}
    stds = {m: c.std(data, m) if math.isfinite(c.std(data, m)) else 0.0 for m in shown}
    longest = max((means[m] + stds[m] for m in shown), default=0.0) or 1.0
    bars = [
        Bar(
            known_title(m),
            f"{means[m]:.3f}",
            max(0.0, means[m] / longest),
            max(0.0, (means[m] - stds[m]) / longest),
            (means[m] + stds[m]) / longest,
            f"{known_title(m)} ({m})",
            m == best,
        )
        for m in shown
    ]
    where = f" on {data}" if len(c.datasets) > 1 else ""
    among = f"the best {len(shown)} of {len(c.ranking(data))} methods{where}"
    note = f"Mean {c.scoring} of {among}; lines: ± one standard deviation."
    return Hero(f"{means[best]:.3f}", f"{c.scoring}{where}", f"{known_title(best)}", bars, note)


def recommended_method(c: Comparison) -> str:
    """Return the method that is as good as the best on most data sets, then best on most, then by rank."""
    methods = [method for method in c.methods if any(method in c.ranking(data) for data in c.datasets)]
    ranks = {} if c.across is None else dict(zip(c.across.methods, c.across.friedman.ranks, strict=True))

    def support(method: str) -> tuple[float, ...]:
        good = sum(method == c.best(d) or method in _as_good(c, d) for d in c.datasets)
        wins = sum(method == c.best(d) for d in c.datasets)
        return good, wins, -ranks.get(method, math.inf)

    return max(methods, key=support)


def _as_good(c: Comparison, data: str) -> list[str]:
    """Return the methods not significantly different from the best one, or told apart by less than
    matters.
    """
    return [v.method for v in c.versus_best(data) if not v.is_significant or _is_equivalent(v)]


def _answer_which(c: Comparison, best: str) -> str:
    if len(c.datasets) > 1:
        wins = sum(c.best(d) == best for d in c.datasets)
        lost = [d for d in c.datasets if c.best(d) != best and best not in _as_good(c, d)]
        good = len(c.datasets) - len(lost)
        text = (
            f"{_method_name(best)}: as good as the best on {good} of {len(c.datasets)} data sets, the best "
            "itself "
            f"on {wins}."
        )
        there = [
            f"on {d} {short_title(c.best(d))} ({c.mean(d, c.best(d)):.3f} against {c.mean(d, best):.3f})"
            for d in lost
        ]
        return text + (f" It is clearly behind elsewhere, so choose {join_names(there)}." if there else "")
    data = c.datasets[0]
    mean, among = c.mean(data, best), len(c.ranking(data))
    text = f"{_method_name(best)}: mean {c.scoring} {mean:.3f}, the best of {among} methods on {data}."
    same = _as_good(c, data)
    if same:
        many = "1 other is" if len(same) == 1 else f"{len(same)} others are"
        text += f" {many} as good (not significantly different, or within {c.rope:g}), so cost may decide: "
        text += join_titles(same, 8) + "."
    return text + _cheaper_method(c, data, best, same)


def _cheaper_method(c: Comparison, data: str, best: str, same: list[str]) -> str:
    """Name the method that is as good and fits in less than half the time, where there is one."""
    mine = c.cost(data, best)
    costs = [(cost.fit_seconds, method) for method in same if (cost := c.cost(data, method))]
    if mine is None or not costs or min(costs)[0] >= mine.fit_seconds / 2:
        return ""
    seconds, method = min(costs)
    return (
        f" Of these {short_title(method)} ({c.mean(data, method):.3f}) fits "
        f"{mine.fit_seconds / seconds:.0f} times faster than the best."
    )


def _how_sure(c: Comparison, data: str, best: str) -> str:
    if len(c.datasets) > 1:
        return _how_sure_across(c, best)
    rows = c.versus_best(data)
    if not rows:
        return "There is nothing to compare it with, or only one split."
    second = rows[0]
    text = (
        f"Against the runner-up {short_title(second.method)}: better by more than {c.rope:g} with "
        f"probability {second.best_better:.0%}, practically equal {second.equivalent:.0%}, worse "
        f"{second.best_worse:.0%}."
    )
    same = [v.method for v in rows if not v.is_significant]
    close = [v.method for v in rows if v.is_significant and _is_equivalent(v)]
    behind = len(rows) - len(same) - len(close)
    parts = [f"not significantly different at the 5 % level: {join_titles(same)}"] if same else []
    parts += [f"significantly different, but by less than {c.rope:g}: {join_titles(close)}"] if close else []
    parts += [f"clearly behind (5 % level): {behind} of {len(rows)}"] if behind else []
    found = "; ".join(parts)
    return f"{text} {found[0].upper()}{found[1:]}."


def _how_sure_across(c: Comparison, best: str) -> str:
    if c.across is None:
        return "Each data set is judged on its own: too few methods finished everywhere to rank them."
    f = c.across.friedman
    text = f"Friedman over {f.n_datasets} data sets: p = {f.p_value:.3g}."
    if c.across.few:
        text += " With fewer than 8 data sets such tests see only large differences: treat ranks as a hint."
    group = next((g for g in c.across.groups if c.across.methods.index(best) in g), [])
    same = [c.across.methods[i] for i in group if c.across.methods[i] != best]
    is_significant = (
        f" Not significantly different from {short_title(best)}: {join_titles(same)}."
        if same
        else " It is significantly different from all others."
    )
    return text + is_significant


def _is_equivalent(versus: PairwiseTest) -> bool:
    """Whether a method is most likely no worse than differences that do not matter."""
    return versus.equivalent > 0.5


def _what_cost(c: Comparison, best: str) -> str:
    parts = []
    for data in c.datasets[:3]:
        cost = c.cost(data, best)
        if cost is None:
            continue
        rows = next(x["spec"]["n_train"] for x in c._cells if x["spec"]["data"] == data)
        parts.append(
            f"{data}: {format_duration(cost.fit_seconds)} to fit {rows} rows (tuning included), "
            f"{format_duration(cost.predict_seconds)} to predict a test part, "
            f"{format_megabytes(cost.peak_mb)} of extra "
            "memory"
        )
    far = c.far_behind(c.datasets[0])
    costs = {m: c.cost(c.datasets[0], m) for m in c.methods if m not in far}
    seconds, fastest = min((cost.fit_seconds, m) for m, cost in costs.items() if cost is not None)
    text = f"{short_title(best)} — " + "; ".join(parts) + ". One thread, medians over splits."
    if fastest != best:
        text += f" The fastest is {short_title(fastest)} ({format_duration(seconds)} on {c.datasets[0]})."
    return text


def failing_labels(labels: list[LabelScore]) -> list[LabelScore]:
    """Return labels with rows whose F1 is low, worst first, frequent ones before rare ones."""
    bad = [label for label in labels if label.actual and label.f1 < FAILING]
    return sorted(bad, key=lambda label: (label.f1, -label.actual))


def _which_fail(c: Comparison, best: str) -> str:
    parts = []
    for data in c.datasets[:3]:
        labels = c.labels(data, best)
        seen = [label for label in labels if label.actual]
        bad = failing_labels(labels)
        if not bad:
            worst = min(seen, key=lambda label: label.f1, default=None)
            tail = f"; the weakest is {worst.name} (F1 {worst.f1:.2f})" if worst else ""
            parts.append(f"{data}: no label has F1 below {FAILING}{tail}.")
            continue
        never = sum(label.hits == 0 for label in bad)
        names = join_names(
            [f"{b.name} ({b.f1:.2f}, {b.actual} rows)" for b in sorted(bad, key=lambda b: -b.actual)], 4
        )
        parts.append(
            f"{data}: {len(bad)} of {len(seen)} labels have F1 below {FAILING} under {short_title(best)}, "
            f"{never} of them {'is' if never == 1 else 'are'} never found. The largest of these: {names}."
        )
    return " ".join(parts)


def _how_repeat(c: Comparison) -> Any:
    command = without_folders(c.record["command"]) or "see the last section"
    return command_html("Run ", command, ". Versions, seeds and machine are in the last section.")


def metric_direction(c: Comparison) -> str:
    """Name the measure and say which way is better."""
    return f"{c.scoring} ({'lower' if c.sign() < 0 else 'higher'} is better)"


def splits_text(c: Comparison) -> str:
    """Describe the splits in a few words."""
    splits = c.record["spec"]["splits"]
    kinds = {
        "folds": "stratified folds",
        "groups": "stratified folds that keep groups together",
        "time": "splits in time (trained on the past only)",
        "random": "random parts",
    }
    repeats = f", dealt {splits['n_repeats']} times" if splits["n_repeats"] > 1 else ""
    return f"{splits['n_splits']} {kinds[splits['kind']]}{repeats}"


def join_names(names: list[str], most: int = 6) -> str:
    """Join names as in a sentence, the rest as a number."""
    shown = names[:most]
    rest = len(names) - len(shown)
    if rest:
        return ", ".join(shown) + f" and {rest} more"
    return " and ".join(filter(None, [", ".join(shown[:-1]), shown[-1]])) if shown else "none"
