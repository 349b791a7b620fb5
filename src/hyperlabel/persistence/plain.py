"""Text models read straight from their file, with numpy alone: a first answer need not wait for scikit-learn.

Read so is what ``hyperlabel fit`` writes for one column of text and the shared ridge, and only if it repeats
the probabilities stored in the file; every other model is loaded whole.
"""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from hyperlabel.persistence._container import LONGEST_NGRAM, LONGEST_TEXT, Reader

UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"  # Thai to Khmer, kana, Chinese
# Words of scripts with blanks; of runs of the others each two characters side by side, and the last one.
MIXED_SCRIPTS = rf"(?u)(?=((?<![^\W{UNSPACED}])[^\W{UNSPACED}][^\W{UNSPACED}]+|[{UNSPACED}]{{1,2}}))"
WORDS = r"(?u)\b\w\w+\b"
_TFIDF = {  # how scikit-learn reads texts for `fit`
    **{"analyzer": "word", "lowercase": True},
    **{"binary": False, "norm": "l2", "use_idf": True, "sublinear_tf": True},
    **dict.fromkeys(("preprocessor", "tokenizer", "stop_words", "strip_accents")),
}
# What a description that makes no sense can lead to, here as in `load`.
_NONSENSE = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError)
_EDGE = float(np.finfo(np.float32).eps)


class _Part:
    """A part of a model file; what it holds is read when it is asked for."""

    def __init__(self, node: Any, fetch: Any) -> None:
        self.type, self.state, self.fetch = str(node["type"]).rsplit(".", 1)[-1], node["state"], fetch

    def __getitem__(self, name: str) -> Any:
        return self.value(self.state[name])

    def value(self, node: Any) -> Any:
        if not isinstance(node, dict):
            return [self.value(item) for item in node] if isinstance(node, list) else node
        if node["kind"] == "part":
            return _Part(node, self.fetch)
        return self.fetch(node["name"]) if node["kind"] == "array" else self.value(node["items"])


class PlainModel:
    """Words, their weights for each label, and the curves that turn scores into probabilities."""

    def __init__(self, text: _Part, linear: _Part, thresholds: Any) -> None:
        self.thresholds = thresholds  # None: not one for each label
        # which labels have no rows, only names
        self.by_name_alone = linear["_by_name_alone"] if "_by_name_alone" in linear.state else None
        curves, steps = linear["calibrators_"], linear["calibrators_"]["steps"]
        if {name: text[name] for name in _TFIDF} != _TFIDF or text["token_pattern"] not in (
            WORDS,
            MIXED_SCRIPTS,
        ):
            raise ValueError("not plain")
        self.words = {str(word): j for word, j in text["vocabulary_"]}
        self.idf, self.base = text["_tfidf"]["idf_"], linear["intercept_"]
        self.weights = np.ascontiguousarray(linear["coef_"].T)
        self.slope, self.intercept = curves["sigmoid"]["slope"], curves["sigmoid"]["intercept"]
        self.kind, self.beta = np.asarray(curves["kind"]), curves["weights"]
        self.start, self.knots, self.values = steps["start"], steps["score"], steps["p"]
        self.token = re.compile(str(text["token_pattern"]))
        shortest, self.longest = text["ngram_range"]
        if shortest != 1 or type(self.longest) is not int or self.longest > LONGEST_NGRAM:
            raise ValueError("not plain")
        self._check_arrays()

    def _check_arrays(self) -> None:
        """Refuse arrays that are not numbers or do not fit each other, and words without their own column."""
        n_words, n_labels = len(self.words), len(self.base)
        per_label, thresholds = (n_labels,), np.zeros(1) if self.thresholds is None else self.thresholds
        numbers = [(self.idf, (n_words,)), (self.weights, (n_words, n_labels)), (self.beta, (n_labels, 3))]
        numbers += [(array, per_label) for array in (self.base, self.slope, self.intercept)]
        numbers += [(self.values, self.knots.shape), (self.knots, (self.knots.size,))]
        if self.by_name_alone is not None and self.by_name_alone.shape != per_label:
            raise ValueError("arrays that do not fit each other")
        numbers += [(thresholds, (1,) if thresholds.shape == (1,) else per_label)]
        fits = all(array.shape == shape and array.dtype.kind == "f" for array, shape in numbers)
        if not fits or self.start.shape != (n_labels + 1,) or self.kind.shape != per_label:
            raise ValueError("arrays that do not fit each other")
        numbered = sorted(j for j in self.words.values() if type(j) is int)
        if numbered != list(range(n_words)):
            raise ValueError("words without a column of their own")

    def probabilities(self, texts: list[str]) -> np.ndarray:
        """Return probabilities, one row for each text."""
        return self.calibrate(self.scores(texts))

    def calibrate(self, scores: np.ndarray) -> np.ndarray:
        """Return the probabilities of scores; as `decision.calibrators.Curves` does."""
        x = scores * self.slope + self.intercept
        for j in np.flatnonzero(self.kind == "beta"):
            a, b, c = self.beta[j]
            x[:, j] = b * np.logaddexp(0, x[:, j]) - a * np.logaddexp(0, -x[:, j]) + c
        p = np.exp(-np.logaddexp(0, -x))
        for j in np.flatnonzero(self.kind == "isotonic"):
            label_knots = slice(self.start[j], self.start[j + 1])
            p[:, j] = np.interp(x[:, j], self.knots[label_knots], self.values[label_knots])
        return np.clip(p, _EDGE, 1 - _EDGE)

    def scores(self, texts: list[str]) -> np.ndarray:
        """Return scores, one row for each text."""
        return np.array([self._score_text(text) for text in texts])

    def sources(self, n_rows: int) -> np.ndarray | None:
        """Return what the scores of each label come from, as `tabular.ModelFile.answer`."""
        if self.by_name_alone is None or not self.by_name_alone.any():
            return None
        return np.tile(np.where(self.by_name_alone, "name", "rows"), (n_rows, 1))

    def predict(self, texts: list[str]) -> np.ndarray:
        """Return which labels pass their threshold."""
        return (self.scores(texts) > self.thresholds) & self.knows(texts)[:, None]

    def knows(self, texts: list[str]) -> np.ndarray:
        """Say which texts hold a word of the vocabulary."""
        return np.array(
            [any(word in self.words for word in self.token.findall(text.lower())) for text in texts],
            dtype=bool,
        )

    def _score_text(self, text: str) -> np.ndarray:
        words = self.token.findall(text.lower())
        counts = Counter(words)
        for n in range(2, self.longest + 1):
            counts.update(" ".join(words[i : i + n]) for i in range(len(words) - n + 1))
        column_counts = [(j, n) for word, n in counts.items() if (j := self.words.get(word)) is not None]
        if not column_counts:
            return self.base
        columns, term_counts = np.array(column_counts).T
        row = (np.log(term_counts) + 1) * self.idf[columns]
        return self.base + row @ self.weights[columns] / np.sqrt(row @ row)


def read_plain(path: str) -> PlainModel | None:
    """Read a text model; None if the file holds another kind, or does not repeat its answers."""
    with Reader(Path(path)) as reader:
        try:
            pipeline = _Part(reader.manifest["model"], reader.fetch)
            (_, text), (_, last) = pipeline["steps"]
            linear = last["estimator_"] if last.type == "ThresholdTuner" else last
            if (text.type, linear.type) != ("TfidfVectorizer", "BinaryRelevance"):
                return None
            thresholds = last["thresholds_"] if "thresholds_" in last.state else None
            model = PlainModel(text, linear, np.zeros(1) if linear is last else thresholds)
            check = reader.manifest["check"]
            answers = dict(check["answers"]["items"])
            stored = [pipeline.value(answers[method]) for method in ("decision_function", "predict_proba")]
            agrees = _repeats_answers(model, check["rows"], stored)
        except _NONSENSE:
            return None
    return model if agrees else None


def _repeats_answers(model: PlainModel, rows: list[str], stored: list[np.ndarray]) -> bool:
    """Say whether a model gives the stored scores and probabilities of the stored rows."""
    if max(map(len, rows)) > LONGEST_TEXT:
        return False
    pairs = zip((model.scores(rows), model.probabilities(rows)), stored, strict=True)
    return all(
        np.allclose(computed, expected.reshape(computed.shape), rtol=1e-7, atol=1e-9)
        for computed, expected in pairs
    )
