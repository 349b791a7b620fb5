"""How often `hyperlabel data drift` raises an alarm: on random splits, and on stated shifts.

    python -m benchmarks.drift_alarms [--trials 200]
    python -m benchmarks.drift_alarms --model --trials 100
    python -m benchmarks.drift_alarms --groups --trials 100

The rows are those of the embedded debtags data (texts and tags, one number and one category made up for each
row), split at random into two halves. Shifts are made in the new half: half the words of a topic are gone
from the texts, the rate of a label is doubled, a column of numbers is rescaled by 1.5.

``--model`` gives the commands a user would: fit a model on 600 rows, then compare these very rows with 400
others by it. ``--groups`` deals documents in one to five copies each to two files. Nothing has changed in
either, so every alarm is false.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner
from scipy.stats import binom

from hyperlabel.apps.cli import main as main_command
from hyperlabel.datasets import Dataset, load_debtags
from hyperlabel.tabular.model_file import ModelColumns
from hyperlabel.tabular.permutation_test import two_sample_test

WORD = re.compile(r"(?u)\b\w\w+\b")
FREQUENT = 40  # rows of a label that may be a topic


def rows(n: int | None = None) -> Dataset:
    """Texts and tags with a number and a category."""
    found = load_debtags()
    rng = np.random.default_rng(0)
    found = found if n is None else found[np.sort(rng.permutation(len(found))[:n])]
    section = {"section": rng.choice(["main", "contrib", "universe"], len(found)).tolist()}
    size = rng.lognormal(size=(len(found), 1))
    names = np.asarray(found.feature_names, dtype=object)
    ends = itertools.pairwise(found.X.indptr)
    texts = [" ".join(names[found.X.indices[a:b]]) for a, b in ends]
    return replace(found, X=size, feature_names=["size"], text=texts, text_columns=section, groups=None)


def words_gone(new: Dataset, label: int, rng: np.random.Generator) -> Dataset:
    """Take half of the 40 words that a topic uses more than others do out of the texts."""
    on = new.Y[:, [label]].toarray().ravel() > 0
    used = [set(WORD.findall(text.lower())) for text in new.text]
    inside: dict[str, int] = {}
    outside: dict[str, int] = {}
    for words, there in zip(used, on, strict=True):
        for word in words:
            count = inside if there else outside
            count[word] = count.get(word, 0) + 1
    share = {w: c / on.sum() - outside.get(w, 0) / max((~on).sum(), 1) for w, c in inside.items()}
    topic = sorted(share, key=lambda w: -share[w])[:40]
    gone = set(rng.permutation(topic)[:20])
    return replace(new, text=[WORD.sub(lambda m: "" if m[0].lower() in gone else m[0], t) for t in new.text])


def rate_doubled(new: Dataset, label: int, rng: np.random.Generator) -> Dataset:
    """Draw rows anew so that a label is twice as frequent."""
    on = new.Y[:, [label]].toarray().ravel() > 0
    n_on = min(2 * int(on.sum()), len(new) - 1)
    with_label = rng.choice(np.flatnonzero(on), n_on)
    without = rng.choice(np.flatnonzero(~on), len(new) - n_on)
    return new[np.concatenate([with_label, without])]


def rescaled(new: Dataset, label: int, rng: np.random.Generator) -> Dataset:
    """Multiply the number by 1.5."""
    return replace(new, X=1.5 * new.X)


SHIFTS: dict[str, Any] = {
    "none": lambda new, label, rng: new,
    "half the words of a topic gone": words_gone,
    "label rate doubled": rate_doubled,
    "column rescaled": rescaled,
}


def alarms(data: Dataset, shift: str, trials: int, *, labelled: bool = True) -> float:
    """Share of trials with an alarm."""
    columns = ModelColumns(
        "table", list(data.label_names), ["size"], 1, categories=["section"], text=["text"]
    )
    counts = np.asarray(data.Y.sum(axis=0)).ravel()
    topics = np.flatnonzero((counts >= FREQUENT) & (counts <= len(data) / 4))
    raised = 0
    for trial in range(trials):
        rng = np.random.default_rng(1000 + trial)
        order = rng.permutation(len(data))
        old, new = data[order[: len(data) // 2]], data[order[len(data) // 2 :]]
        new = SHIFTS[shift](new, int(rng.choice(topics)), rng)
        if not labelled:
            bare = np.zeros((len(new), 0))
            new = Dataset(new.X, bare, new.feature_names, text=new.text, text_columns=new.text_columns)
        raised += two_sample_test(old, new, columns=columns, random_state=trial).alarm
    return raised / trials


def command(*words: Any) -> Any:
    """Run a command, which must succeed; return what it printed."""
    done = CliRunner().invoke(main_command, [str(word) for word in words])
    if done.exit_code:
        raise RuntimeError(done.output)
    return done.stdout


def write_lines(path: Path, data: Dataset, index: np.ndarray, names: list[str], groups: Any = None) -> None:
    """Write texts and tags as JSON lines, and the groups where given."""
    with path.open("w", encoding="utf-8") as file:
        for i, row in enumerate(index):
            tags = [names[j] for j in data.Y[[row]].indices]
            line = {"body": data.text[row], "tags": tags}
            file.write(json.dumps(line | ({} if groups is None else {"document": groups[i]})) + "\n")


def false_alarms(data: Dataset, trials: int, *, by_model: bool) -> dict[str, Any]:
    """Count alarms of the command on files of one population, and give the chance of as many at 5 %."""
    names, count = list(map(str, data.label_names)), {"asked": 0, "plain": 0}
    for trial in range(trials):
        rng = np.random.default_rng(5000 + trial)
        order = rng.permutation(len(data))
        with tempfile.TemporaryDirectory() as folder:
            old, new, model = (Path(folder, name) for name in ("old.jsonl", "new.jsonl", "m.hyper"))
            if by_model:
                write_lines(old, data, order[:600], names)
                write_lines(new, data, order[600:1000], names)
                command("fit", old, "--labels", "tags", "--text", "body", "-o", model)
                more: tuple[Any, ...] = ("--model", model)
            else:
                for path, documents in ((old, order[:120]), (new, order[120:200])):
                    copied = np.repeat(documents, rng.integers(1, 6, len(documents)))
                    write_lines(path, data, copied, names, [f"d{i}" for i in copied])
                more = ("--labels", "tags", "--text", "body", "--group", "document")
            both = ("data", "drift", old, new, "--json", "--seed", trial)
            count["asked"] += json.loads(command(*both, *more))["drift"]
            count["plain"] += json.loads(command(*both, "--labels", "tags", "--text", "body"))["drift"]
    by_chance = float(binom.sf(count["asked"] - 1, trials, 0.05))
    without = "without --model" if by_model else "without --group"
    return {"trials": trials, "false alarms": count["asked"], "chance of as many at 5 %": by_chance,
            f"false alarms {without}": count["plain"]}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--model", action="store_true")
    parser.add_argument("--groups", action="store_true")
    given = parser.parse_args()
    data = rows(given.rows)
    if given.model or given.groups:
        print(json.dumps(false_alarms(data, given.trials, by_model=given.model), indent=2))
        return
    found = {shift: alarms(data, shift, given.trials) for shift in SHIFTS}
    unlabelled = {shift: alarms(data, shift, given.trials, labelled=False) for shift in list(SHIFTS)[:2]}
    print(
        json.dumps(
            {"rows": len(data), "trials": given.trials, "labelled": found, "unlabelled": unlabelled}, indent=2
        )
    )


if __name__ == "__main__":
    main()
