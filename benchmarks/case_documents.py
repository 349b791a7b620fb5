"""Tagging documents at home: 10 000 texts, 200 tags, against paperless-ngx's published recipe.

Run: python -m benchmarks.case_documents [--markdown]
Debian package descriptions stand in for the documents (apt must know bookworm, see tools/build_debtags.py):
8 000 to learn, 2 000 to judge, the 200 most frequent tags. Theirs is the recipe of the project's classifier:
counts of words and word pairs in at least 1 % of the documents, and scikit-learn's MLPClassifier(tol=0.01),
trained anew for every change. Ours is a pipeline of at most 5 000 words and pairs and one shared ridge that
learns single documents. Both get the same thresholds, tuned on three folds. Each side runs in its own
process, one thread, CPU time; peak memory is what the fit added.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline

from benchmarks.measure import AddedMemory, in_process
from hyperlabel import BinaryRelevance, ThresholdTuner
from hyperlabel.metrics import f1_score
from tools.build_debtags import described, fetch_lists

N, K, LEARNED = 10_000, 200, 8_000
SIDES = ("theirs", "ours")


def documents(path: Path) -> None:
    """Write the texts and their tags to a file."""
    found = [(text, tags) for _, tags, text in described(*fetch_lists()) if tags]
    chosen = [found[i] for i in np.random.default_rng(0).permutation(len(found))[:N]]
    names = [tag for tag, _ in Counter(tag for _, tags in chosen for tag in tags).most_common(K)]
    rows = [[text, sorted(tags & set(names))] for text, tags in chosen]
    path.write_text(json.dumps({"names": sorted(names), "rows": rows}))


def measure(side: str, path: str) -> dict[str, Any]:
    """Fit one side and judge it."""
    stored = json.loads(Path(path).read_text())
    texts = [text for text, _ in stored["rows"]]
    place = {name: j for j, name in enumerate(stored["names"])}
    Y = np.zeros((len(texts), K), dtype=int)
    for i, (_, tags) in enumerate(stored["rows"]):
        Y[i, [place[tag] for tag in tags]] = 1
    if side == "theirs":
        words = CountVectorizer(analyzer="word", ngram_range=(1, 2), min_df=0.01)
        core = MLPClassifier(tol=0.01, random_state=0)
    else:
        words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, max_features=5000, sublinear_tf=True)
        core = BinaryRelevance(alpha=1.0, solver="gram")
        warm = make_pipeline(words, core).fit(texts[:50], Y[:50])  # compiled code is loaded
        warm.predict(texts[:1])
    memory, start = AddedMemory(), time.process_time()
    model = make_pipeline(words, core).fit(texts[:LEARNED], Y[:LEARNED])
    result = {"fit": time.process_time() - start, "memory": memory.megabytes()}
    result["words"] = float(len(words.vocabulary_))
    result["learn"] = one_more(model, texts, Y) if side == "ours" else [result["fit"]]
    result["deleted"] = float(stays_deleted(model, texts, Y)) if side == "ours" else float("nan")
    tuned = ThresholdTuner(core, cv=3).fit(words.transform(texts[:LEARNED]), Y[:LEARNED])
    rows, truth = words.transform(texts[LEARNED:]), Y[LEARNED:]
    plain = model.named_steps[list(model.named_steps)[-1]].predict(rows) if side == "theirs" else None
    if plain is not None:
        result["untuned micro"] = f1_score(truth, plain, average="micro")
    result["micro"], result["macro"] = (
        f1_score(truth, tuned.predict(rows), average=average) for average in ("micro", "macro")
    )
    if side == "ours":
        safe = ThresholdTuner(core, strategy="precision_at_least", precision=0.9, cv=3)
        sure = safe.fit(words.transform(texts[:LEARNED]), Y[:LEARNED]).predict(rows)
        result["sure"] = float(sure.sum() / truth.sum())
        result["sure right"] = float((sure * truth).sum() / max(sure.sum(), 1))
        asked = (tuned.predict(rows) > 0) & (sure == 0)
        result["asked"] = float(asked.sum() / len(truth))
    return result


def one_more(model, texts: list[str], Y: np.ndarray) -> list[float]:
    """CPU seconds to learn a corrected document, text to weights: nine, after the first."""
    words, core = model[0], model[-1]
    times = []
    for i in range(LEARNED, LEARNED + 10):
        start = time.process_time()
        core.partial_fit(words.transform([texts[i]]), Y[[i]])
        times.append(time.process_time() - start)
    for i in range(LEARNED, LEARNED + 10):
        core.forget(words.transform([texts[i]]), Y[[i]])
    return times[1:]


def stays_deleted(model, texts: list[str], Y: np.ndarray) -> bool:
    """Whether a tag that was dropped is still gone after more documents are learned."""
    import copy

    core = copy.deepcopy(model[-1])
    name = core.label_names_[3]
    core.edit_labels(drop=[name])
    core.partial_fit(model[0].transform(texts[LEARNED : LEARNED + 1]), np.delete(Y, 3, axis=1)[[LEARNED]])
    return name not in core.label_names_ and core.coef_.shape[0] == K - 1


def both() -> dict[str, dict[str, Any]]:
    """What either side gave, each in its own process."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "documents.json"
        documents(path)
        return {side: in_process(__file__, "--side", side, path) for side in SIDES}


def measured() -> dict[str, Any]:
    """Seconds that one corrected document takes us, nine times, and the recipe, which trains anew, once."""
    found = both()
    table(found, markdown=True)
    ours, theirs = (found[side]["learn"] for side in ("ours", "theirs"))
    return {"ours": ours, "theirs": theirs, "d": int(found["ours"]["words"]), "k": K}


def table(found: dict[str, dict[str, Any]], markdown: bool) -> None:
    theirs, ours = found["theirs"], found["ours"]
    guaranteed = f"{ours['sure']:.0%}, {ours['sure right']:.1%} right"
    one, again = 1e3 * np.median(ours["learn"]), theirs["learn"][0]
    rows = [
        ("words and pairs", f"{theirs['words']:.0f}", f"{ours['words']:.0f}"),
        ("fit, CPU seconds", f"{theirs['fit']:.1f}", f"{ours['fit']:.1f}"),
        ("memory the fit adds, MB", f"{theirs['memory']:.0f}", f"{ours['memory']:.0f}"),
        ("one corrected document learned, CPU", f"{again:.1f} s", f"{one:.0f} ms"),
        ("micro-F1, as published", f"{theirs['untuned micro']:.3f}", "–"),
        ("micro-F1, the same tuned thresholds", f"{theirs['micro']:.3f}", f"{ours['micro']:.3f}"),
        ("macro-F1, the same tuned thresholds", f"{theirs['macro']:.3f}", f"{ours['macro']:.3f}"),
        ("tags given at a guaranteed precision of .9", "–", guaranteed),
        ("uncertain tags left for review, per document", "–", f"{ours['asked']:.2f}"),
        ("a deleted tag stays deleted", "after training anew", "yes" if ours["deleted"] else "no"),
    ]  # fmt: skip
    line = "| {} | {} | {} |" if markdown else "{:<46} {:>20} {:>16}"
    print(line.format("", "recipe", "hyperlabel"))
    if markdown:
        print("|---|---|---|")
    for row in rows:
        print(line.format(*row))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--side"]:
        warnings.simplefilter("ignore")
        print(json.dumps(measure(sys.argv[2], sys.argv[3])))
    else:
        table(both(), "--markdown" in sys.argv)
