"""The part of a text model that runs in the page: its words, how they are counted, and their weights."""

import re
import unicodedata
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

_PATTERN = r"(?u)\b\w\w+\b"  # the default of scikit-learn's vectorisers


class NotInPage(ValueError):
    """A model that cannot run in the page; the sentence says why."""


def find_vectorizer(features: Any) -> tuple[Any, str, float]:
    """Return the one vectoriser among the feature steps, the prefix of its names and its weight."""
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import CountVectorizer

    if isinstance(features, CountVectorizer):
        return features, "", 1.0
    if isinstance(features, ColumnTransformer):
        text_steps = [
            (name, vectorizer)
            for name, vectorizer, _ in features.transformers_
            if isinstance(vectorizer, CountVectorizer)
        ]
        if len(text_steps) == 1:
            name, vectorizer = text_steps[0]
            return vectorizer, f"{name}__", float((features.transformer_weights or {}).get(name, 1.0))
    raise NotInPage("The model does not read one column of text.")


def vectorizer_settings(vectorizer: Any, weight: float = 1.0) -> tuple[dict[str, Any], np.ndarray]:
    """Return how scikit-learn reads texts, for the page to repeat, and the factor of each word."""
    from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

    is_standard = type(vectorizer) in (CountVectorizer, TfidfVectorizer) and vectorizer.analyzer == "word"
    is_standard = is_standard and vectorizer.tokenizer is None and vectorizer.preprocessor is None
    if not is_standard or vectorizer.token_pattern != _PATTERN:
        raise NotInPage("The model splits texts into words in a way of its own.")
    word_list = [str(word) for word in vectorizer.get_feature_names_out()]
    tfidf_step = getattr(vectorizer, "_tfidf", None)
    word_factors = np.ones(len(word_list))
    if tfidf_step is not None and tfidf_step.use_idf:
        word_factors = np.asarray(tfidf_step.idf_)
    return {
        "words": word_list,
        "lowercase": bool(vectorizer.lowercase),
        "strip": {None: "", "ascii": "ascii", "unicode": "unicode"}[vectorizer.strip_accents],
        "marks": combining_marks() if vectorizer.strip_accents == "unicode" else "",
        "letters": word_characters(),
        "ngrams": [int(n) for n in vectorizer.ngram_range],
        "stop": sorted(vectorizer.get_stop_words() or ()),
        "binary": bool(vectorizer.binary),
        "sublinear": bool(getattr(tfidf_step, "sublinear_tf", False)),
        "norm": getattr(tfidf_step, "norm", None) or "",
        "scale": weight,
    }, word_factors


@lru_cache
def word_characters() -> str:
    r"""Return the characters that Python's ``\w`` matches, as ranges for JavaScript.

    The ``\w`` of a browser follows another version of Unicode.
    """
    match_word = re.compile(r"\w").match
    return _list_character_ranges(lambda character: match_word(character) is not None)


@lru_cache
def combining_marks() -> str:
    """Return the characters that ``strip_accents_unicode`` drops, as ranges of a JavaScript class."""
    return _list_character_ranges(lambda character: unicodedata.combining(character) != 0)


def _list_character_ranges(is_member: Callable[[str], bool]) -> str:
    is_inside = np.fromiter((is_member(chr(i)) for i in range(0x110000)), dtype=bool, count=0x110000)
    range_bounds = np.flatnonzero(np.diff(is_inside.astype(np.int8), prepend=0, append=0))
    return "".join(
        f"\\u{{{first_code:x}}}" + (f"-\\u{{{end_code - 1:x}}}" if end_code - first_code > 1 else "")
        for first_code, end_code in zip(range_bounds[::2].tolist(), range_bounds[1::2].tolist(), strict=True)
    )


def page_model(
    features: Any, coef: np.ndarray, intercept: np.ndarray, names: Any, blank: Any, prune: float
) -> tuple[dict[str, Any], np.ndarray, np.ndarray, np.ndarray]:
    """Return the vectoriser, the factors of words, their weights k×words and the base scores.

    `blank` is a row without text whose numbers are missing. The base scores are the model's scores of
    that row; the words of a text add to them.
    """
    vectorizer, prefix, text_weight = find_vectorizer(features)
    text_settings, word_factors = vectorizer_settings(vectorizer, text_weight)
    if prefix:
        is_word = np.array([str(name).startswith(prefix) for name in names])
        row = features.transform(blank)
        blank_features = np.asarray(row.toarray() if hasattr(row, "toarray") else row, dtype=np.float64)[0]
        base_scores = intercept + coef[:, ~is_word] @ blank_features[~is_word]
        word_weights = coef[:, is_word]
    else:
        base_scores, word_weights = intercept, coef
    if prune:
        word_weights = np.where(np.abs(word_weights) < prune, 0.0, word_weights)
    return text_settings, word_factors, word_weights, base_scores
