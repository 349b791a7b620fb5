"""The parts a model file may hold. A file names parts; only names listed here are ever looked up.

Parts of hyperlabel are the estimators, splitters and dataclasses defined in its packages; parts
of scikit-learn are the whitelist below: parts whose state is plain data. Trees, kernel
machines and k-d trees are left out on purpose: they hand stored arrays to compiled code that
trusts them, which an untrusted file must not reach.
"""

import dataclasses
import importlib
import pkgutil
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import BaseCrossValidator

from hyperlabel.persistence._container import LONGEST_NGRAM, ModelFileError
from hyperlabel.persistence.plain import MIXED_SCRIPTS

_PACKAGES = (
    "decision", "forest", "geometry", "labelspace", "linear", "meta", "model_selection", "moments",
    "neighbors", "projection", "ranking", "solvers", "_validation",
)  # fmt: skip

_LISTED = {
    "sklearn.pipeline": "Pipeline FeatureUnion",
    "sklearn.compose": "ColumnTransformer",
    "sklearn.feature_extraction": "DictVectorizer FeatureHasher",
    "sklearn.feature_extraction.text": "CountVectorizer HashingVectorizer TfidfTransformer TfidfVectorizer",
    "sklearn.preprocessing": "Binarizer KernelCenterer LabelBinarizer LabelEncoder MaxAbsScaler MinMaxScaler "
    "MultiLabelBinarizer Normalizer OneHotEncoder OrdinalEncoder PolynomialFeatures PowerTransformer "
    "QuantileTransformer RobustScaler StandardScaler",
    "sklearn.impute": "SimpleImputer MissingIndicator",
    "sklearn.decomposition": "PCA TruncatedSVD NMF LatentDirichletAllocation",
    "sklearn.random_projection": "GaussianRandomProjection SparseRandomProjection",
    "sklearn.feature_selection": "SelectKBest SelectPercentile VarianceThreshold",
    "sklearn.kernel_approximation": "Nystroem RBFSampler",
    "sklearn.linear_model": "ElasticNet Lasso LinearRegression LogisticRegression LogisticRegressionCV Ridge "
    "RidgeCV RidgeClassifier RidgeClassifierCV SGDClassifier SGDRegressor",
    "sklearn.svm": "LinearSVC LinearSVR",
    "sklearn.naive_bayes": "BernoulliNB ComplementNB GaussianNB MultinomialNB",
    "sklearn.multiclass": "OneVsRestClassifier _ConstantPredictor",
    "sklearn.multioutput": "ClassifierChain MultiOutputClassifier MultiOutputRegressor",
    "sklearn.dummy": "DummyClassifier DummyRegressor",
    "sklearn.model_selection": "KFold StratifiedKFold GroupKFold ShuffleSplit TimeSeriesSplit",
}
# Functions and scalar types that listed parts take as parameters.
FUNCTIONS = {"sklearn.feature_selection": "chi2 f_classif f_regression mutual_info_classif"}
SCALAR_TYPES = {"numpy": "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64"}

# Settings that a file must not choose freely: what they may be, as a test and in words.
Setting = tuple[Callable[[Any], bool], str]


def _at_most(limit: int) -> Setting:
    return lambda value: type(value) is int and value <= limit, f"at most {limit}"


def _is_ngram_range(value: Any) -> bool:
    bounds = tuple(value) if type(value) in (tuple, list) else ()
    return len(bounds) == 2 and all(type(n) is int and 1 <= n <= LONGEST_NGRAM for n in bounds)


def _is_degree(value: Any) -> bool:
    bounds = value if type(value) is tuple else (value,)
    return all(isinstance(n, (int, np.integer)) and n <= 10 for n in bounds)


# Patterns that read a text once, whatever it holds: a pattern of another's choosing can take for ever.
TOKEN_PATTERNS = (
    r"(?u)\b\w\w+\b", r"(?u)\b\w+\b", r"\b\w\w+\b", r"\b\w+\b", r"(?u)\w+", r"\w+", r"\S+", r"[^\s]+",
    r"(?u)\b[a-zA-Z][a-zA-Z0-9+#.-]*[a-zA-Z0-9+#]",  # of hyperlabel.datasets
    MIXED_SCRIPTS,  # of hyperlabel.tabular
)  # fmt: skip
_TEXT: dict[str, Setting] = {
    "input": (lambda value: value == "content", "input='content'"),
    "token_pattern": (
        lambda value: value is None or value in TOKEN_PATTERNS,
        f"token_pattern={TOKEN_PATTERNS[0]!r} or another of those in docs/model-files.md",
    ),
    "ngram_range": (_is_ngram_range, f"1 to {LONGEST_NGRAM} words or characters in a row"),
}
_NO_WORKERS: Setting = (lambda value: "n_jobs" not in (value or ()), "no n_jobs there")
_ITERATIONS = _at_most(10_000)  # of parts that iterate when they transform
_SETTINGS: dict[str, dict[str, Setting]] = {
    **dict.fromkeys(("CountVectorizer", "HashingVectorizer", "TfidfVectorizer"), _TEXT),
    "Pipeline": {"memory": (lambda value: value is None, "memory=None")},
    "ColumnTransformer": {
        "verbose_feature_names_out": (lambda value: type(value) is bool, "True or False there")
    },
    "PolynomialFeatures": {
        "degree": (_is_degree, "degrees up to 10"),
        "n_output_features_": _at_most(250_000),
    },
    "NMF": {"max_iter": _ITERATIONS},
    "LatentDirichletAllocation": {"max_doc_update_iter": _ITERATIONS},
    "MLkNN": {"metric_params": _NO_WORKERS},
    "HypergraphSpectral": {"kernel_params": _NO_WORKERS},
    "KernelRows": {"params": _NO_WORKERS},
}
_UNSET = object()
# Numbers of workers are for the machine that fits, not for the file to say.
WORKERS = ("n_jobs",)

# What is made anew when it is needed: SGD's compiled helpers, the factor of sums that follows their rows;
# and whom a fit called while it ran.
# Older vectorisers also keep the words that they do not use, rare ones of single rows among them.
LEFT_OUT = (
    "_loss_function_", "rank_one_factor", "cached_sums", "on_candidate", "stop_words_", "_skl_callbacks",
)  # fmt: skip

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

    Examples
    --------
    >>> from sklearn.preprocessing import FunctionTransformer
    >>> from hyperlabel.persistence import register
    >>> @register
    ... class Doubler(FunctionTransformer):
    ...     def transform(self, X):
    ...         return 2 * X
    """
    _registered[name or f"{cls.__module__}.{cls.__qualname__}"] = cls
    return cls


def name_of(cls: type) -> str | None:
    """Return the name under which a class is stored, None if it is not known."""
    for name, registered in _registered.items():
        if registered is cls:
            return name
    top, package_name, *_ = [*cls.__module__.split("."), ""]
    if top == "hyperlabel" and package_name in _PACKAGES and _is_part(cls):
        return f"hyperlabel.{package_name}.{cls.__qualname__}"
    return listed_name(cls, _LISTED)


def class_of(name: str) -> type | None:
    """Return the class stored under a name, None if the name is not known."""
    if name in _registered:
        return _registered[name]
    top, _, qualified_name = name.partition(".")
    package_name, _, class_name = qualified_name.partition(".")
    if top == "hyperlabel" and package_name in _PACKAGES:
        return _find_part(package_name, class_name)
    return listed_part(name, _LISTED)


def check_settings(instance: Any, path: str) -> None:
    """Refuse settings with which a listed part would touch more than its data, or work without bound."""
    cls = type(instance)
    if name_of(cls) in _registered:
        return
    for name, (allows, allowed) in _SETTINGS.get(cls.__name__, {}).items():
        value = getattr(instance, "__dict__", {}).get(name, _UNSET)
        if value is not _UNSET and not allows(value):
            raise ModelFileError(
                f"{path} has {name}={value!r:.80}, and model files hold {cls.__name__} with {allowed} only: "
                "change the setting and fit again, or register a class of your own "
                "(hyperlabel.persistence.register)."
            )


def listed_part(name: str, listing: dict[str, str]) -> Any:
    """Return what a table lists under a name, None if it does not."""
    module, _, attribute = name.rpartition(".")
    if attribute not in listing.get(module, "").split():
        return None
    return getattr(importlib.import_module(module), attribute, None)


def listed_name(thing: Any, listing: dict[str, str]) -> str | None:
    """Return the name under which a table lists a thing, None if it does not."""
    attribute = getattr(thing, "__name__", None)
    names = (f"{module}.{attribute}" for module in listing)
    return next((name for name in names if listed_part(name, listing) is thing), None)


def function_name(function: Any) -> str | None:
    """Return the name of a function that a listed part may take."""
    return listed_name(function, FUNCTIONS)


def _is_part(cls: type) -> bool:
    return dataclasses.is_dataclass(cls) or issubclass(cls, (BaseEstimator, BaseCrossValidator))


@cache
def _find_part(package_name: str, name: str) -> type | None:
    """Find a part of a package: where it is loaded already, as most are, nothing else is imported for it."""
    package = importlib.import_module(f"hyperlabel.{package_name}")
    getattr(package, name, None)  # a public name may load its module now
    inside = f"{package.__name__}."
    loaded = [module for key, module in [*sys.modules.items()] if f"{key}.".startswith(inside)]
    return _filter_parts(loaded).get(name) or _collect_parts(package_name).get(name)


@cache
def _collect_parts(package_name: str) -> dict[str, type]:
    """Collect the parts defined in one package of the architecture."""
    package = importlib.import_module(f"hyperlabel.{package_name}")
    inside = pkgutil.walk_packages(getattr(package, "__path__", []), f"{package.__name__}.")
    return _filter_parts([package, *(importlib.import_module(module_info.name) for module_info in inside)])


def _filter_parts(modules: list[Any]) -> dict[str, type]:
    return {
        thing.__qualname__: thing
        for module in modules
        for thing in vars(module).values()
        if isinstance(thing, type) and thing.__module__ == module.__name__ and _is_part(thing)
    }
