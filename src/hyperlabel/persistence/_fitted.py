"""What a loaded part may hold: fitted attributes that fit each other, indices that stay in range.

Compiled code trusts its arrays (numba's, scipy's sparse products, scikit-learn's hashing), so a
file must not be able to make one part say "column 7" to another that has five.
"""

from typing import Any

import numpy as np
from sklearn.preprocessing import MultiLabelBinarizer, OneHotEncoder, PolynomialFeatures

from hyperlabel._validation import TargetLayout


def check_fitted(instance: Any) -> None:
    """Raise a ValueError or TypeError if the state of a part contradicts itself."""
    cls = type(instance)
    if cls.__module__.startswith("sklearn.") and hasattr(cls, "_parameter_constraints"):
        instance._validate_params()  # a hash into 0 columns divides by zero
    if cls.__module__.startswith("sklearn.feature_extraction") and hasattr(instance, "vocabulary_"):
        _check_columns(instance.vocabulary_)
    if cls is OneHotEncoder and hasattr(instance, "categories_"):
        _check_one_hot(instance)
    if cls is PolynomialFeatures and hasattr(instance, "n_output_features_"):
        _check_polynomial(instance)
    if cls is MultiLabelBinarizer:
        instance._cached_dict = None  # made anew from the classes
    if hasattr(cls, "_fitted_shapes"):
        _check_shapes(instance)


def _check_shapes(instance: Any) -> None:
    """Compare arrays with the shapes their classes declare; a letter stands for one length everywhere.

    k is the number of label columns, c of classes, d of features; other letters are free, a number is itself.
    """
    state = vars(instance)
    lengths: dict[str, int] = {}
    if (layout := state.get("_layout")) is not None:
        if not isinstance(layout, TargetLayout) or layout.kind not in ("multilabel", "binary", "multiclass"):
            raise TypeError("the layout of y is none")
        lengths = {"k": layout.n_columns, "c": len(layout.classes)}
        _match_shape("label_names", layout.label_names, "k", lengths)
    if (width := state.get("n_features_in_")) is not None:
        if type(width) is not int or width < 0:
            raise TypeError("n_features_in_ is not a number of features")
        lengths["d"] = width
    shapes: dict[str, str] = {}
    for cls in reversed(type(instance).__mro__):
        shapes |= vars(cls).get("_fitted_shapes", {})
    for name, declared in shapes.items():
        if state.get(name) is not None:
            _match_shape(name, state[name], declared, lengths)


def _match_shape(name: str, value: Any, declared: str, lengths: dict[str, int]) -> None:
    shape, letters = tuple(value.shape), declared.split()
    if len(shape) != len(letters):
        raise ValueError(f"{name} has {len(shape)} dimensions, not {len(letters)}")
    for letter, length in zip(letters, shape, strict=True):
        # a free letter takes the first length it meets and holds the others to it
        declared_length = int(letter) if letter.isdigit() else lengths.setdefault(letter, length)
        if declared_length != length:
            raise ValueError(f"{name} has shape {shape}, which does not fit the other attributes")


def _check_columns(vocabulary: Any) -> None:
    """A vocabulary numbers its words 0, 1, …: the numbers become column indices unseen."""
    if type(vocabulary) is not dict:
        raise TypeError("a vocabulary is a dict")
    if sorted(map(_as_index, vocabulary.values())) != list(range(len(vocabulary))):
        raise ValueError("the vocabulary does not number its words 0, 1, …")


def _as_index(number: Any) -> int:
    if isinstance(number, bool) or not isinstance(number, (int, np.integer)):
        raise TypeError(f"{number!r:.40} is not an index")
    return int(number)


def _check_one_hot(encoder: OneHotEncoder) -> None:
    """Follow every category to its column, as `transform` does without looking."""
    n = len(encoder.categories_)
    none_per_feature: list[Any] = [None] * n
    infrequent = encoder._infrequent_indices if encoder._infrequent_enabled else none_per_feature
    mappings = encoder._default_to_infrequent_mappings if encoder._infrequent_enabled else none_per_feature
    drops = none_per_feature if encoder._drop_idx_after_grouping is None else encoder._drop_idx_after_grouping
    widths = [_as_index(width) for width in encoder._n_features_outs]
    if not len(infrequent) == len(mappings) == len(drops) == len(widths) == n or encoder.n_features_in_ != n:
        raise ValueError("the encoder does not have one of each for every feature")
    for feature_state in zip(encoder.categories_, infrequent, mappings, drops, widths, strict=True):
        _check_one_hot_feature(*feature_state)


def _check_one_hot_feature(categories: Any, infrequent: Any, mapping: Any, drop: Any, width: int) -> None:
    if categories.dtype.kind not in "OUS" and not (np.diff(categories[~np.isnan(categories)]) > 0).all():
        raise ValueError("numeric categories are not in order")
    codes = np.arange(len(categories))
    if infrequent is not None:
        codes = np.append(codes, infrequent[:1])
    if mapping is not None:
        codes = np.take(mapping, codes)
    if drop is not None:
        codes = codes[codes != drop]
        codes[codes > drop] -= 1
    if codes.dtype.kind != "i" or ((codes < 0) | (codes >= width)).any():
        raise ValueError("the columns of the encoder are not those of its categories")


def _check_polynomial(transformer: PolynomialFeatures) -> None:
    """The columns are allocated from a stored number, and filled by the powers there are."""
    fresh = PolynomialFeatures(**transformer.get_params()).fit(np.zeros((1, transformer.n_features_in_)))
    for name in ("n_output_features_", "_n_out_full", "_min_degree", "_max_degree"):
        if vars(transformer).get(name) != vars(fresh).get(name):
            raise ValueError(f"{name} of PolynomialFeatures is not what its degree makes it")
