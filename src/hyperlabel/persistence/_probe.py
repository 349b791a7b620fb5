"""A few rows and what the model said about them: stored when saving, repeated when loading."""

import warnings
from contextlib import suppress
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

_ROWS = 4
_WIDE = 2000  # beyond this many features made-up rows are sparse
_WORDS = 50  # entries of a made-up sparse row
_METHODS = ("decision_function", "predict_proba", "transform", "predict")


def probe_rows(model: Any, X: Any = None) -> Any:
    """Return a few rows to ask the model about: the first of X, or made up; None if that is impossible."""
    if X is not None:
        return _safe_indexing(X, np.arange(min(_ROWS, X.shape[0] if hasattr(X, "shape") else len(X))))
    first = model
    while isinstance(first, Pipeline) and first.steps:
        first = first.steps[0][1]
    if type(first).__module__ == "sklearn.feature_extraction.text" and hasattr(first, "build_analyzer"):
        words = sorted(getattr(first, "vocabulary_", {})) or ["alpha", "beta", "gamma", "delta"]
        step = max(1, len(words) // 20)
        return [" ".join(words[i :: step * _ROWS][:10]) for i in range(_ROWS)]
    width = getattr(model, "n_features_in_", None)
    if width is None:
        return None
    rng = np.random.default_rng(0)
    if width <= _WIDE:
        return np.abs(rng.normal(size=(_ROWS, width)))  # counts and distances are never negative
    columns = np.sort([rng.choice(width, _WORDS, replace=False) for _ in range(_ROWS)])
    ends = _WORDS * np.arange(_ROWS + 1)
    return sparse.csr_array((rng.random(columns.size), columns.ravel(), ends), shape=(_ROWS, width))


def answers(model: Any, rows: Any) -> dict[str, Any]:
    """Return what the model says about the rows, by method; a method that refuses them is left out."""
    found: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for method in _METHODS:
            with suppress(Exception):  # none such, or made-up rows do not suit it, e.g. unknown categories
                found[method] = getattr(model, method)(rows)
    return found


def same(stored: Any, now: Any) -> bool:
    """Say whether two answers agree: exactly, or up to the rounding of another machine."""
    if isinstance(stored, list) and isinstance(now, list):
        return len(stored) == len(now) and all(map(same, stored, now))
    thin = sparse.issparse(stored)
    if thin != sparse.issparse(now):
        return False
    stored, now = (sparse.csr_array(one) if thin else np.asarray(one) for one in (stored, now))
    if stored.shape != now.shape or stored.dtype.kind != now.dtype.kind:
        return False
    if thin:
        stored, now = _entries(stored, now)
    if stored.dtype.kind not in "fc":
        return np.array_equal(stored, now)
    scale = float(np.abs(stored[np.isfinite(stored)]).max(initial=0.0))
    return bool(np.allclose(stored, now, rtol=1e-6, atol=1e-8 * scale, equal_nan=True))


def _entries(*pair: sparse.csr_array) -> list[np.ndarray]:
    """Return the entries of both at the places of either, never densely: a hashed row may be 2³⁰ wide."""
    cells = [one.tocoo() for one in pair]
    for one in cells:
        one.sum_duplicates()
    keys = [np.ravel_multi_index(one.coords, one.shape) for one in cells]
    found = [np.zeros(len(places := np.union1d(*keys)), one.dtype) for one in cells]
    for values, key, one in zip(found, keys, cells, strict=True):
        values[np.searchsorted(places, key)] = one.data
    return found
