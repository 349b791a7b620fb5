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
    first_dataset = c.datasets[0]
    best_method = recommended_method(c)
    return [
        Answer("Which method should I use here?", _answer_which(c, best_method)),
        Answer("How sure are we?", _answer_how_sure(c, first_dataset, best_method)),
        Answer("What does it cost in time and memory?", _answer_cost(c, best_method)),
        Answer("Which labels does it fail on?", _answer_failing_labels(c, best_method)),
        Answer("How do I repeat it?", _answer_repeat(c)),
    ]


def known_title(name: str) -> str:
    """Return the title of a method in the catalogue, or its name."""
    return next((method.title for method in CATALOGUE if method.name == name), name)


def short_title(name: str) -> str:
    """Return the part of that name that fits into a sentence or a figure."""
    full_title = known_title(name)
    return (
        re.split("[,(:]", full_title)[0].strip()
        if full_title in {method.title for method in CATALOGUE}
        else name
    )


def join_titles(names: list[str], max_names: int = 6) -> str:
    """Join the short names of methods."""
    return join_names([short_title(name) for name in names], max_names)


def _name_method(name: str) -> str:
    full_title = known_title(name)
    return name if full_title == name else f"{full_title}, --methods {name}"


def without_folders(command: str | None) -> str:
    """Return a command with files by name: their folders mean nothing on another machine."""
    return re.sub(r"(?<=[\s='\"])/(?:[^/\s'\"]+/)+", "", command or "")


def comparison_hero(c: Comparison) -> Hero:
    """Return the answer in one figure, with the best few methods beside each other."""
    best_method = recommended_method(c)
    first_dataset = c.datasets[0]
    top_methods = [m for m in c.ranking(first_dataset) if math.isfinite(c.mean(first_dataset, m))][:6]
    if best_method not in top_methods:
        top_methods = [*top_methods[:5], best_method]
    mean_scores = {m: c.mean(first_dataset, m) for m in top_methods}
    score_stds = {
        m: c.std(first_dataset, m) if math.isfinite(c.std(first_dataset, m)) else 0.0 for m in top_methods
    }
    lowest = min((mean_scores[m] - score_stds[m] for m in top_methods), default=0.0)
    axis_length = max((mean_scores[m] + score_stds[m] for m in top_methods), default=1.0) - lowest or 1.0
    score_bars = [
        Bar(
            known_title(m),
            f"{mean_scores[m]:.3f}",
            (mean_scores[m] - lowest) / axis_length,
            (mean_scores[m] - score_stds[m] - lowest) / axis_length,
            (mean_scores[m] + score_stds[m] - lowest) / axis_length,
            f"{known_title(m)} ({m})",
            m == best_method,
            is_point=True,
        )
        for m in top_methods
    ]
    dataset_phrase = f" on {first_dataset}" if len(c.datasets) > 1 else ""
    methods_phrase = f"the best {len(top_methods)} of {len(c.ranking(first_dataset))} methods{dataset_phrase}"
    bars_note = (
        f"Mean {c.scoring} of {methods_phrase}, drawn from {lowest:.3f} to {lowest + axis_length:.3f}; "
        "lines: ± one standard deviation."
    )
    return Hero(
        f"{mean_scores[best_method]:.3f}",
        f"{c.scoring}{dataset_phrase}",
        f"{known_title(best_method)}",
        score_bars,
        bars_note,
    )


def recommended_method(c: Comparison) -> str:
    """Return the method that is as good as the best on most data sets, then best on most, then by rank."""
    scored_methods = [method for method in c.methods if any(method in c.ranking(data) for data in c.datasets)]
    average_ranks = (
        {} if c.across is None else dict(zip(c.across.methods, c.across.friedman.ranks, strict=True))
    )

    def support(method: str) -> tuple[float, ...]:
        n_good = sum(method == c.best(d) or method in _methods_as_good(c, d) for d in c.datasets)
        n_wins = sum(method == c.best(d) for d in c.datasets)
        return n_good, n_wins, -average_ranks.get(method, math.inf)

    return max(scored_methods, key=support)


def _methods_as_good(c: Comparison, data: str) -> list[str]:
    """Return the methods not significantly different from the best one, or by less than matters."""
    return [v.method for v in c.versus_best(data) if not v.is_significant or _is_equivalent(v)]


def _answer_which(c: Comparison, best_method: str) -> str:
    if len(c.datasets) > 1:
        n_wins = sum(c.best(d) == best_method for d in c.datasets)
        lost_datasets = [
            d for d in c.datasets if c.best(d) != best_method and best_method not in _methods_as_good(c, d)
        ]
        n_good = len(c.datasets) - len(lost_datasets)
        answer_text = (
            f"{_name_method(best_method)}: as good as the best on {n_good} of {len(c.datasets)} data sets, "
            f"the best itself on {n_wins}."
        )
        better_choices = [
            f"on {d} {short_title(c.best(d))} ({c.mean(d, c.best(d)):.3f} against "
            f"{c.mean(d, best_method):.3f})"
            for d in lost_datasets
        ]
        return answer_text + (
            f" It is clearly behind elsewhere, so choose {join_names(better_choices)}."
            if better_choices
            else ""
        )
    data = c.datasets[0]
    mean_score, n_methods = c.mean(data, best_method), len(c.ranking(data))
    answer_text = (
        f"{_name_method(best_method)}: mean {c.scoring} {mean_score:.3f}, the best of {n_methods} methods "
        f"on {data}."
    )
    equal_methods = _methods_as_good(c, data)
    if equal_methods:
        equal_phrase = "1 other is" if len(equal_methods) == 1 else f"{len(equal_methods)} others are"
        answer_text += (
            f" {equal_phrase} as good (not significantly different, or within {c.rope:g}), so cost may "
            f"decide: {join_titles(equal_methods, 8)}."
        )
    return answer_text + _name_cheaper_method(c, data, best_method, equal_methods)


def _name_cheaper_method(c: Comparison, data: str, best_method: str, equal_methods: list[str]) -> str:
    """Name the method that is as good and fits in less than half the time, where there is one."""
    best_cost = c.cost(data, best_method)
    equal_costs = [(cost.fit_seconds, method) for method in equal_methods if (cost := c.cost(data, method))]
    if best_cost is None or not equal_costs or min(equal_costs)[0] >= best_cost.fit_seconds / 2:
        return ""
    seconds, method = min(equal_costs)
    return (
        f" Of these {short_title(method)} ({c.mean(data, method):.3f}) fits "
        f"{best_cost.fit_seconds / seconds:.0f} times faster than the best."
    )


def _answer_how_sure(c: Comparison, data: str, best_method: str) -> str:
    if len(c.datasets) > 1:
        return _answer_how_sure_across(c, best_method)
    pairwise_tests = c.versus_best(data)
    if not pairwise_tests:
        return "There is nothing to compare it with, or only one split."
    runner_up = pairwise_tests[0]
    answer_text = (
        f"Against the runner-up {short_title(runner_up.method)}: better by more than {c.rope:g} with "
        f"probability {runner_up.best_better:.0%}, practically equal {runner_up.equivalent:.0%}, worse "
        f"{runner_up.best_worse:.0%}."
    )
    equal_methods = [v.method for v in pairwise_tests if not v.is_significant]
    close_methods = [v.method for v in pairwise_tests if v.is_significant and _is_equivalent(v)]
    n_behind = len(pairwise_tests) - len(equal_methods) - len(close_methods)
    outcome_phrases = {
        f"not significantly different at the 5 % level: {join_titles(equal_methods)}": equal_methods,
        f"significantly different, but by less than {c.rope:g}: {join_titles(close_methods)}": close_methods,
        f"clearly behind (5 % level): {n_behind} of {len(pairwise_tests)}": n_behind,
    }
    outcome_text = "; ".join(phrase for phrase, methods in outcome_phrases.items() if methods)
    return f"{answer_text} {outcome_text[0].upper()}{outcome_text[1:]}."


def _answer_how_sure_across(c: Comparison, best_method: str) -> str:
    if c.across is None:
        return "Each data set is judged on its own: too few methods finished everywhere to rank them."
    f = c.across.friedman
    answer_text = f"Friedman over {f.n_datasets} data sets: p = {f.p_value:.3g}."
    if c.across.few:
        answer_text += (
            " With fewer than 8 data sets such tests see only large differences: treat ranks as a hint."
        )
    method_group = next((g for g in c.across.groups if c.across.methods.index(best_method) in g), [])
    equal_methods = [c.across.methods[i] for i in method_group if c.across.methods[i] != best_method]
    group_sentence = (
        f" Not significantly different from {short_title(best_method)}: {join_titles(equal_methods)}."
        if equal_methods
        else " It is significantly different from all others."
    )
    return answer_text + group_sentence


def _is_equivalent(pairwise_test: PairwiseTest) -> bool:
    """Whether a method is most likely no worse than differences that do not matter."""
    return pairwise_test.equivalent > 0.5


def _answer_cost(c: Comparison, best_method: str) -> str:
    cost_phrases = []
    for data in c.datasets[:3]:
        cost = c.cost(data, best_method)
        if cost is None:
            continue
        n_train = next(x["spec"]["n_train"] for x in c._cells if x["spec"]["data"] == data)
        cost_phrases.append(
            f"{data}: {format_duration(cost.fit_seconds)} to fit {n_train} rows (tuning included), "
            f"{format_duration(cost.predict_seconds)} to predict a test part, "
            f"{format_megabytes(cost.peak_mb)} of extra memory"
        )
    far_methods = c.far_behind(c.datasets[0])
    method_costs = {m: c.cost(c.datasets[0], m) for m in c.methods if m not in far_methods}
    seconds, fastest = min((cost.fit_seconds, m) for m, cost in method_costs.items() if cost is not None)
    answer_text = (
        f"{short_title(best_method)} — " + "; ".join(cost_phrases) + ". One thread, medians over splits."
    )
    if fastest != best_method:
        answer_text += (
            f" The fastest is {short_title(fastest)} ({format_duration(seconds)} on {c.datasets[0]})."
        )
    return answer_text


def failing_labels(labels: list[LabelScore]) -> list[LabelScore]:
    """Return labels with rows whose F1 is low, worst first, frequent ones before rare ones."""
    failing_scores = [label for label in labels if label.actual and label.f1 < FAILING]
    return sorted(failing_scores, key=lambda label: (label.f1, -label.actual))


def _answer_failing_labels(c: Comparison, best_method: str) -> str:
    dataset_sentences = []
    for data in c.datasets[:3]:
        labels = c.labels(data, best_method)
        present_labels = [label for label in labels if label.actual]
        failing_scores = failing_labels(labels)
        if not failing_scores:
            worst_label = min(present_labels, key=lambda label: label.f1, default=None)
            worst_phrase = (
                f"; the weakest is {worst_label.name} (F1 {worst_label.f1:.2f})" if worst_label else ""
            )
            dataset_sentences.append(f"{data}: no label has F1 below {FAILING}{worst_phrase}.")
            continue
        n_without_hits = sum(label.hits == 0 for label in failing_scores)
        label_names = join_names(
            [
                f"{b.name} ({b.f1:.2f}, {b.actual} rows)"
                for b in sorted(failing_scores, key=lambda b: -b.actual)
            ],
            4,
        )
        dataset_sentences.append(
            f"{data}: {len(failing_scores)} of {len(present_labels)} labels have F1 below {FAILING} under "
            f"{short_title(best_method)}, {n_without_hits} of them {'is' if n_without_hits == 1 else 'are'} "
            f"never found. The largest of these: {label_names}."
        )
    return " ".join(dataset_sentences)


def _answer_repeat(c: Comparison) -> Any:
    repeat_command = without_folders(c.record["command"]) or "see the last section"
    return command_html("Run ", repeat_command, ". Versions, seeds and machine are in the last section.")


def metric_direction(c: Comparison) -> str:
    """Name the measure and say which way is better."""
    return f"{c.scoring} ({'lower' if c.sign() < 0 else 'higher'} is better)"


def splits_text(c: Comparison) -> str:
    """Describe the splits in a few words."""
    splits_spec = c.record["spec"]["splits"]
    split_names = {
        "folds": "stratified folds",
        "groups": "stratified folds that keep groups together",
        "time": "splits in time (trained on the past only)",
        "random": "random parts",
    }
    repeat_phrase = f", repeated {splits_spec['n_repeats']} times" if splits_spec["n_repeats"] > 1 else ""
    return f"{splits_spec['n_splits']} {split_names[splits_spec['kind']]}{repeat_phrase}"


def join_names(names: list[str], max_names: int = 6) -> str:
    """Join names as in a sentence; beyond `max_names` only their number is given."""
    listed_names = names[:max_names]
    n_unlisted = len(names) - len(listed_names)
    if n_unlisted:
        return ", ".join(listed_names) + f" and {n_unlisted} more"
    return (
        " and ".join(filter(None, [", ".join(listed_names[:-1]), listed_names[-1]]))
        if listed_names
        else "none"
    )
