"""The part of a text model that runs in the page: its words, how they are counted, and their weights."""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

_PATTERN = r"(?u)\b\w\w+\b"  # of scikit-learn's vectorisers unless told otherwise


class NotInPage(ValueError):
    """A model that cannot run in the page; the sentence says why."""


def find_vectorizer(features: Any) -> tuple[Any, str, float]:
    """Return the one vectoriser among the feature steps, the prefix of its names and its weight."""
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import CountVectorizer

    if isinstance(features, CountVectorizer):
        return features, "", 1.0
    if isinstance(features, ColumnTransformer):
        found = [
            (name, part) for name, part, _ in features.transformers_ if isinstance(part, CountVectorizer)
        ]
        if len(found) == 1:
            name, part = found[0]
            return part, f"{name}__", float((features.transformer_weights or {}).get(name, 1.0))
    raise NotInPage("The model does not read one column of text.")


def vectorizer_settings(part: Any, weight: float = 1.0) -> tuple[dict[str, Any], np.ndarray]:
    """Return how scikit-learn reads texts, for the page to repeat, and the factor of each word."""
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

    plain = type(part) in (CountVectorizer, TfidfVectorizer) and part.analyzer == "word"
    plain = plain and part.tokenizer is None and part.preprocessor is None
    if not plain or part.token_pattern != _PATTERN:
        raise NotInPage("The model splits texts into words in a way of its own.")
    words = [str(word) for word in part.get_feature_names_out()]
    tfidf = getattr(part, "_tfidf", None)
    factor = np.ones(len(words)) if tfidf is None or not tfidf.use_idf else np.asarray(tfidf.idf_)
    return {
        "words": words,
        "lowercase": bool(part.lowercase),
        "strip": {None: "", "ascii": "ascii", "unicode": "unicode"}[part.strip_accents],
        "marks": combining_marks() if part.strip_accents == "unicode" else "",
        "letters": word_characters(),
        "ngrams": [int(n) for n in part.ngram_range],
        "stop": sorted(part.get_stop_words() or ()),
        "binary": bool(part.binary),
        "sublinear": bool(getattr(tfidf, "sublinear_tf", False)),
        "norm": getattr(tfidf, "norm", None) or "",
        "scale": weight,
    }, factor


@lru_cache
def word_characters() -> str:
    r"""What Python's ``\w`` matches, as ranges for JavaScript: browsers know other versions of Unicode."""
    matches = re.compile(r"\w").match
    return _character_ranges(lambda character: matches(character) is not None)


@lru_cache
def combining_marks() -> str:
    """Characters that ``strip_accents_unicode`` drops, as ranges of a JavaScript class."""
    return _character_ranges(lambda character: unicodedata.combining(character) != 0)


def _character_ranges(belongs: Callable[[str], bool]) -> str:
    inside = np.fromiter((belongs(chr(i)) for i in range(0x110000)), dtype=bool, count=0x110000)
    change = np.flatnonzero(np.diff(inside.astype(np.int8), prepend=0, append=0))
    return "".join(
        f"\\u{{{first:x}}}" + (f"-\\u{{{after - 1:x}}}" if after - first > 1 else "")
        for first, after in zip(change[::2].tolist(), change[1::2].tolist(), strict=True)
    )


def page_model(
    features: Any, coef: np.ndarray, intercept: np.ndarray, names: Any, blank: Any, prune: float
) -> tuple[dict[str, Any], np.ndarray, np.ndarray, np.ndarray]:
    """Return the vectoriser, the factors of words, their weights k×words and the base scores.

    `blank` is a row without text whose numbers are missing: what the model then adds up, its base, is
    what a text starts from.
    """
    part, prefix, weight = find_vectorizer(features)
    found, factor = vectorizer_settings(part, weight)
    if prefix:
        own = np.array([str(name).startswith(prefix) for name in names])
        row = features.transform(blank)
        row = np.asarray(row.toarray() if hasattr(row, "toarray") else row, dtype=np.float64)[0]
        base = intercept + coef[:, ~own] @ row[~own]
        weights = coef[:, own]
    else:
        base, weights = intercept, coef
    if prune:
        weights = np.where(np.abs(weights) < prune, 0.0, weights)
    return found, factor, weights, base
