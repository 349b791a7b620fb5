"""A few rows and what the model said about them: stored when saving, repeated when loading."""

import itertools
import warnings
from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from hyperlabel._sklearn_compat import safe_indexing
from hyperlabel.persistence._container import LONGEST_TEXT

_ROWS = 4
_ANSWERS = 1000  # fewer rows are asked about where each has many labels
_WIDE = 2000  # beyond this many features made-up rows are sparse
_WORDS = 50  # entries of a made-up sparse row
_BETWEEN = "hyperlabel"  # parts what is taken from a vocabulary in made-up texts
_METHODS = ("decision_function", "predict_proba", "transform", "predict")


def probe_rows(model: Any, X: Any = None) -> Any:
    """Return a few rows to ask the model about: the first of X, or made up; None if that is impossible."""
    if X is not None:
        rows = safe_indexing(X, np.arange(min(_ROWS, X.shape[0] if hasattr(X, "shape") else len(X))))
        return _shorten_texts(rows)
    first = _first_step(model)
    if _reads_text(first):
        return _make_up_texts(first)
    if isinstance(first, ColumnTransformer) and (mixed_rows := _make_up_table(first)) is not None:
        return mixed_rows
    width = getattr(model, "n_features_in_", None)
    if width is None:
        return None
    rng = np.random.default_rng(0)
    if width <= _WIDE:
        n_rows = max(1, min(_ROWS, _ANSWERS // max(1, len(getattr(model, "label_names_", ())))))
        return np.abs(rng.normal(size=(n_rows, width)))  # counts and distances are never negative
    columns = np.sort([rng.choice(width, _WORDS, replace=False) for _ in range(_ROWS)])
    ends = _WORDS * np.arange(_ROWS + 1)
    return sparse.csr_array((rng.random(columns.size), columns.ravel(), ends), shape=(_ROWS, width))


def check_probe(rows: Any) -> None:
    """Refuse stored rows that `probe_rows` never returns: many, or with texts that take long to read."""
    n_rows = rows.shape[0] if hasattr(rows, "shape") else len(rows)
    if n_rows > _ROWS:
        raise ValueError(f"{n_rows} rows to check by, at most {_ROWS} are stored")
    row_array = rows.to_numpy() if hasattr(rows, "to_numpy") else rows
    if isinstance(row_array, np.ndarray) and row_array.dtype.kind in "biuf":
        return
    row_cells = row_array.ravel().tolist() if isinstance(row_array, np.ndarray) else row_array
    if isinstance(row_cells, list) and any(cell is not _shorten_text(cell) for cell in row_cells):
        raise ValueError(f"a text to check by is longer than {LONGEST_TEXT} characters")


def _shorten_text(cell: Any) -> Any:
    return cell[:LONGEST_TEXT] if isinstance(cell, str) and len(cell) > LONGEST_TEXT else cell


def _shorten_texts(rows: Any) -> Any:
    """Return rows whose texts a load reads quickly."""
    if type(rows) is list:
        return [_shorten_text(cell) for cell in rows]
    if isinstance(rows, np.ndarray) and rows.dtype == object:
        # numpy would make a table of cells that are sequences of one length: the None keeps them objects
        short_cells = np.array([*map(_shorten_text, rows.ravel()), None], object)[:-1]
        return short_cells.reshape(rows.shape)
    if isinstance(rows, np.ndarray) and rows.dtype.kind == "U":
        return rows.astype(f"U{min(LONGEST_TEXT, max(1, rows.itemsize // 4))}")
    if hasattr(rows, "to_numpy"):
        short_columns = {name: [_shorten_text(cell) for cell in rows[name]] for name in rows.columns}
        is_longer = (rows[name].tolist() != short_column for name, short_column in short_columns.items())
        return rows.assign(**dict(itertools.compress(short_columns.items(), is_longer)))
    return rows


def _first_step(model: Any) -> Any:
    while isinstance(model, Pipeline) and model.steps:
        model = model.steps[0][1]
    return model


def _reads_text(step: Any) -> bool:
    return type(step).__module__ == "sklearn.feature_extraction.text" and hasattr(step, "build_analyzer")


def _make_up_texts(vectoriser: Any) -> list[str]:
    """Join entries of the vocabulary, parted by a word of ours: no four words in a row are anybody's text."""
    entries = sorted(entry for entry in getattr(vectoriser, "vocabulary_", {}) if len(entry.split()) <= 3)
    entries = entries or ["alpha", "beta", "gamma", "delta"]
    chosen = [entries[j] for j in np.random.default_rng(0).permutation(len(entries))[: 10 * _ROWS]]
    parted = [" ".join(f"{entry} {_BETWEEN}" for entry in chosen[i::_ROWS]) for i in range(_ROWS)]
    return [text[:LONGEST_TEXT] for text in parted]


def _make_up_table(step: ColumnTransformer) -> np.ndarray | None:
    """Fill a table with what the transformer of each column reads; None if one of them is unknown."""
    rng = np.random.default_rng(0)
    mixed_rows = np.zeros((_ROWS, step.n_features_in_), dtype=object)
    for _, transformer, columns in step.transformers_:
        first = _first_step(transformer)
        if _reads_text(first) and isinstance(columns, int):
            mixed_rows[:, columns] = _make_up_texts(first)
        elif isinstance(first, OneHotEncoder) and isinstance(columns, slice):
            mixed_rows[:, columns] = np.array([rng.choice(values, _ROWS) for values in first.categories_]).T
        elif isinstance(columns, slice) and hasattr(first, "n_features_in_"):
            mixed_rows[:, columns] = rng.normal(size=(_ROWS, first.n_features_in_))
        else:
            return None
    return mixed_rows


def probe_answers(model: Any, rows: Any) -> dict[str, Any]:
    """Return what the model says about the rows, by method; a method that refuses them is left out."""
    answers: dict[str, Any] = {}
    with warnings.catch_warnings(), suppress(Exception):  # made-up rows do not suit it: unknown categories
        warnings.simplefilter("ignore")
        if isinstance(model, Pipeline) and len(model) > 1 and not isinstance(model[-1], str):
            rows, model = model[:-1].transform(rows), model[-1]
        for method in _METHODS:
            with suppress(Exception):  # none such
                answers[method] = getattr(model, method)(rows)
    return answers


def answers_agree(stored: Any, current: Any) -> bool:
    """Say whether two answers agree: exactly, or up to the rounding of another machine."""
    if isinstance(stored, list) and isinstance(current, list):
        return len(stored) == len(current) and all(map(answers_agree, stored, current))
    is_sparse = sparse.issparse(stored)
    if is_sparse != sparse.issparse(current):
        return False
    stored, current = (
        sparse.csr_array(answer) if is_sparse else np.asarray(answer) for answer in (stored, current)
    )
    if stored.shape != current.shape or stored.dtype.kind != current.dtype.kind:
        return False
    if is_sparse:
        stored, current = _align_entries(stored, current)
    if stored.dtype.kind not in "fc":
        return np.array_equal(stored, current)
    scale = float(np.abs(stored[np.isfinite(stored)]).max(initial=0.0))
    return bool(np.allclose(stored, current, rtol=1e-6, atol=1e-8 * scale, equal_nan=True))


def _align_entries(*pair: sparse.csr_array) -> list[np.ndarray]:
    """Return the entries of both at the places of either, never densely: a hashed row may be 2³⁰ wide."""
    coo_pair = [matrix.tocoo() for matrix in pair]
    for matrix in coo_pair:
        matrix.sum_duplicates()
    keys = [np.ravel_multi_index(matrix.coords, matrix.shape) for matrix in coo_pair]
    entry_pair = [np.zeros(len(union_keys := np.union1d(*keys)), matrix.dtype) for matrix in coo_pair]
    for values, key, matrix in zip(entry_pair, keys, coo_pair, strict=True):
        values[np.searchsorted(union_keys, key)] = matrix.data
    return entry_pair
