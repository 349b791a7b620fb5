"""Debian packages and their tags: real multi-label text that ships with the library."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.datasets._dataset import Dataset

DATA_FILE = Path(__file__).with_name("data") / "debtags.npz"
TOKEN_PATTERN = r"(?u)\b[a-zA-Z][a-zA-Z0-9+#.-]*[a-zA-Z0-9+#]"  # c++, x11 and e-mail are words


def load_debtags() -> Dataset:
    """Load Debian packages: the words of their description, and their tags as labels.

    The rows are the programs of Debian 12 ("bookworm", main) that carry at least three tags about
    what they are for, work with, and how one meets them (facets admin, field, game, interface, mail,
    network, security, sound, use, web, works-with); the labels are the tags of these facets on at
    least 30 of them; the features are the words of the English description, summary and body (in at
    least 5 packages and at most 40 % of them, no stop words; not the package's name).
    ``tools/build_debtags.py`` in the source repository makes the file from Debian's Packages
    and Translation-en lists.

    Returns
    -------
    Dataset
        X as ``csr_array``, ``(1 + log count) · idf`` with rows of length 1, what `debtags_vectorizer` gives
        for new text; ``groups`` holds the source package, since packages built from
        one source have nearly the same description: split by groups.

    Notes
    -----
    Volunteers set the tags by hand. **A missing tag is not proof of absence**: measured precision is
    a lower bound. The descriptions are the work of Debian's package maintainers; word counts, tags
    and source names are what ships here.

    Examples
    --------
    >>> from hyperlabel.datasets import load_debtags
    >>> data = load_debtags()
    >>> data.n_labels > 90
    True
    >>> data.label_names[:3]
    ['admin::backup', 'admin::boot', 'admin::configuring']
    """
    stored_arrays = _load_arrays()
    X = _fit_tfidf().transform(_load_word_counts())
    label_indices, label_names = stored_arrays["Y_indices"], _split_lines(stored_arrays["label_names"])
    Y = sparse.csr_array(
        (
            np.ones(len(label_indices), dtype=np.int64),
            label_indices.astype(np.int32),
            _cumulate_lengths(stored_arrays["Y_lengths"]),
        ),
        shape=(X.shape[0], len(label_names)),
    )
    source_names = np.array(_split_lines(stored_arrays["group_names"]))
    return Dataset(
        X,
        Y,
        _split_lines(stored_arrays["vocabulary"]),
        label_names,
        name="debtags",
        groups=source_names[stored_arrays["groups"]],
    )


def debtags_vectorizer() -> Any:
    """Return a scikit-learn vectorizer that turns new text into the features of `load_debtags`.

    Returns
    -------
    TfidfVectorizer
        Ready to ``transform`` (there is nothing to fit: vocabulary and weights ship with the library).

    Examples
    --------
    >>> from hyperlabel.datasets import debtags_vectorizer, load_debtags
    >>> X = debtags_vectorizer().transform(["a fast web server with TLS"])
    >>> X.shape[1] == load_debtags().n_features
    True
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    vocabulary_words = _split_lines(_load_arrays()["vocabulary"])
    vectorizer = TfidfVectorizer(sublinear_tf=True, vocabulary=vocabulary_words, token_pattern=TOKEN_PATTERN)
    vectorizer.idf_ = _fit_tfidf().idf_
    return vectorizer


@cache
def _load_arrays() -> dict[str, np.ndarray]:
    with np.load(DATA_FILE, allow_pickle=False) as stored:
        return {key: stored[key] for key in stored.files}


def _split_lines(text_bytes: np.ndarray) -> list[str]:
    return text_bytes.tobytes().decode().split("\n")


def _cumulate_lengths(row_lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(row_lengths, dtype=np.int64)]).astype(np.int32)


@cache
def _load_word_counts() -> sparse.csr_array:
    stored_arrays = _load_arrays()
    indptr = _cumulate_lengths(stored_arrays["X_lengths"])
    shape = (len(indptr) - 1, len(_split_lines(stored_arrays["vocabulary"])))
    indices = stored_arrays["X_indices"].astype(np.int32)
    return sparse.csr_array((stored_arrays["X_data"].astype(np.float64), indices, indptr), shape=shape)


def _fit_tfidf() -> Any:
    """Weigh words by ``(1 + log count) · (log((1 + n) / (1 + n_word)) + 1)``, rows of length 1."""
    from sklearn.feature_extraction.text import TfidfTransformer

    return TfidfTransformer(sublinear_tf=True).fit(_load_word_counts())
