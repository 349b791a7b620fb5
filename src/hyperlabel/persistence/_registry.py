"""The parts a model file may hold. A file names parts; only names listed here are ever looked up.

Parts of hyperlabel are the estimators, splitters and dataclasses defined in its rooms; parts
of scikit-learn are the whitelist below: parts whose state is plain data. Trees, kernel
machines and k-d trees are left out on purpose: they hand stored arrays to compiled code that
trusts them, which an untrusted file must not reach.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
import sys
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator

from hyperlabel.persistence._errors import ModelFileError

_ROOMS = (
    "decision",
    "geometry",
    "labelspace",
    "linear",
    "meta",
    "model_selection",
    "moments",
    "neighbors",
    "projection",
    "ranking",
    "solvers",
    "_validation",
)

_SKLEARN: dict[str, tuple[str, ...]] = {
    "sklearn.pipeline": ("Pipeline", "FeatureUnion"),
    "sklearn.compose": ("ColumnTransformer",),
    "sklearn.feature_extraction": ("DictVectorizer", "FeatureHasher"),
    "sklearn.feature_extraction.text": (
        "CountVectorizer",
        "HashingVectorizer",
        "TfidfTransformer",
        "TfidfVectorizer",
    ),
    "sklearn.preprocessing": (
        "Binarizer",
        "KernelCenterer",
        "LabelBinarizer",
        "LabelEncoder",
        "MaxAbsScaler",
        "MinMaxScaler",
        "MultiLabelBinarizer",
        "Normalizer",
        "OneHotEncoder",
        "OrdinalEncoder",
        "PolynomialFeatures",
        "PowerTransformer",
        "QuantileTransformer",
        "RobustScaler",
        "StandardScaler",
    ),
    "sklearn.impute": ("SimpleImputer", "MissingIndicator"),
    "sklearn.decomposition": ("PCA", "TruncatedSVD", "NMF", "LatentDirichletAllocation"),
    "sklearn.random_projection": ("GaussianRandomProjection", "SparseRandomProjection"),
    "sklearn.feature_selection": ("SelectKBest", "SelectPercentile", "VarianceThreshold"),
    "sklearn.kernel_approximation": ("Nystroem", "RBFSampler"),
    "sklearn.linear_model": (
        "ElasticNet",
        "Lasso",
        "LinearRegression",
        "LogisticRegression",
        "LogisticRegressionCV",
        "Ridge",
        "RidgeCV",
        "RidgeClassifier",
        "RidgeClassifierCV",
        "SGDClassifier",
        "SGDRegressor",
    ),
    "sklearn.svm": ("LinearSVC", "LinearSVR"),
    "sklearn.naive_bayes": ("BernoulliNB", "ComplementNB", "GaussianNB", "MultinomialNB"),
    "sklearn.multiclass": ("OneVsRestClassifier", "_ConstantPredictor"),
    "sklearn.multioutput": ("ClassifierChain", "MultiOutputClassifier", "MultiOutputRegressor"),
    "sklearn.dummy": ("DummyClassifier", "DummyRegressor"),
    "sklearn.model_selection": ("KFold", "StratifiedKFold", "GroupKFold", "ShuffleSplit", "TimeSeriesSplit"),
}

# Compiled helpers that SGDClassifier and SGDRegressor make anew each time they train.
LEFT_OUT = ("_loss_function_",)

# Functions that whitelisted parts take as parameters.
_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "sklearn.feature_selection": ("chi2", "f_classif", "f_regression", "mutual_info_classif"),
}

_SCALAR_TYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float32", "float64"),
)

_registered: dict[str, type] = {}


def register(cls: type, name: str | None = None) -> type:
    """Let model files hold a class of your own.

    Its instances are stored as their ``__dict__`` and come back without calling ``__init__``.
    Register it again, under the same name, before loading. Usable as a decorator.

    Parameters
    ----------
    cls : type
        The class.
    name : str, default=None
        The name in files; ``module.ClassName`` if None.

    Returns
    -------
    cls : type

    Examples
    --------
    >>> from sklearn.base import BaseEstimator, TransformerMixin
    >>> from hyperlabel.persistence import register
    >>> @register
    ... class Doubler(TransformerMixin, BaseEstimator):
    ...     def fit(self, X, y=None):
    ...         return self
    ...     def transform(self, X):
    ...         return 2 * X
    """
    _registered[name or f"{cls.__module__}.{cls.__qualname__}"] = cls
    return cls


def name_of(cls: type) -> str | None:
    """Return the name under which a class is stored, None if it is not known."""
    for name, known in _registered.items():
        if known is cls:
            return name
    top, _, rest = cls.__module__.partition(".")
    if top == "hyperlabel" and rest.split(".")[0] in _ROOMS and _is_part(cls):
        return f"hyperlabel.{rest.split('.')[0]}.{cls.__qualname__}"
    return _listed_name(cls, _SKLEARN)


def class_of(name: str) -> type | None:
    """Return the class stored under a name, None if the name is not known."""
    if name in _registered:
        return _registered[name]
    top, _, rest = name.partition(".")
    room, _, cls = rest.partition(".")
    if top == "hyperlabel" and room in _ROOMS:
        return _part(room, cls)
    return _listed(name, _SKLEARN)


def function_name(function: Any) -> str | None:
    """Return the name of a whitelisted function."""
    return _listed_name(function, _FUNCTIONS)


def function_of(name: str) -> Any:
    """Return a whitelisted function by its name."""
    return _listed(name, _FUNCTIONS)


def scalar_type_name(cls: Any) -> str | None:
    """Return the name of a numpy scalar type used as a parameter (``dtype=np.float32``)."""
    names = [name for name in _SCALAR_TYPES if getattr(np, name) is cls]
    return names[0] if names else None


def scalar_type(name: str) -> Any:
    """Return a numpy scalar type by name."""
    return getattr(np, name) if name in _SCALAR_TYPES else None


def check_part(part: Any, path: str) -> None:
    """Refuse settings that would make a loaded part touch anything but its data."""
    reads = getattr(part, "__dict__", {}).get("input", "content")
    if type(part).__module__.startswith("sklearn.feature_extraction") and reads in ("file", "filename"):
        raise ModelFileError(
            f"{path} reads files named by its input (input={reads!r}): model files hold vectorisers "
            "with input='content' only."
        )


def _listed(name: str, table: dict[str, tuple[str, ...]]) -> Any:
    module, _, attribute = name.rpartition(".")
    if attribute not in table.get(module, ()):
        return None
    return getattr(importlib.import_module(module), attribute, None)


def _listed_name(thing: Any, table: dict[str, tuple[str, ...]]) -> str | None:
    attribute = getattr(thing, "__name__", None)
    for module, names in table.items():
        if attribute in names and getattr(importlib.import_module(module), attribute, None) is thing:
            return f"{module}.{attribute}"
    return None


def _is_part(cls: type) -> bool:
    return dataclasses.is_dataclass(cls) or issubclass(cls, (BaseEstimator, BaseCrossValidator))


def _part(room: str, name: str) -> type | None:
    """Find a part of a room: where it is loaded already, as most are, nothing else is imported for it."""
    package = importlib.import_module(f"hyperlabel.{room}")
    getattr(package, name, None)  # a public name may load its module now
    inside = f"{package.__name__}."
    loaded = [module for key, module in [*sys.modules.items()] if f"{key}.".startswith(inside)]
    return _parts_among(loaded).get(name) or _parts_of(room).get(name)


@cache
def _parts_of(room: str) -> dict[str, type]:
    """Collect the parts defined in one room of the house."""
    package = importlib.import_module(f"hyperlabel.{room}")
    inside = pkgutil.walk_packages(getattr(package, "__path__", []), f"{package.__name__}.")
    return _parts_among([package, *(importlib.import_module(found.name) for found in inside)])


def _parts_among(modules: list[Any]) -> dict[str, type]:
    return {
        thing.__qualname__: thing
        for module in modules
        for thing in vars(module).values()
        if isinstance(thing, type) and thing.__module__ == module.__name__ and _is_part(thing)
    }
