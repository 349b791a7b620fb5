"""Every public name can be imported, has an example, and stands in the API reference."""

import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator
from tests.estimators import CLASSIFIERS, NOT_FIT_ON_ROWS_AND_LABELS, TRANSFORMERS, UNSUPERVISED

import hyperlabel

HAS_DASK = importlib.util.find_spec("dask") is not None
MODULES = [name for name in (*hyperlabel._MODULES, *hyperlabel._APPS) if HAS_DASK or name != "distributed"]
NAMES = [
    *((hyperlabel, name) for name in hyperlabel._HOME),
    *(
        (module, name)
        for module in (importlib.import_module(f"hyperlabel.{m}") for m in MODULES)
        for name in module.__all__
    ),
]


@pytest.mark.parametrize(("home", "name"), NAMES, ids=lambda value: getattr(value, "__name__", value))
def test_a_public_name_has_an_example_and_a_place_in_the_reference(home, name):
    thing = getattr(home, name)
    if callable(thing) and not (isinstance(thing, type) and issubclass(thing, Exception)):
        assert ">>>" in (thing.__doc__ or ""), f"{home.__name__}.{name} has no example"
    page = Path(__file__).resolve().parents[1] / "docs" / "api.md"
    assert f"   {name}\n" in page.read_text(encoding="utf-8")


def test_defaults_are_what_the_documentation_says():
    said = {}
    for home, public in NAMES:
        thing = getattr(home, public)
        for names, default in re.findall(
            r"^ *(\w+(?:, \w+)*) : .*?default=(.+)$", thing.__doc__ or "", flags=re.M
        ):
            for name in names.split(", "):
                said[thing, name] = eval(default, {})
    assert len(said) > 200
    for (thing, name), default in said.items():
        given = inspect.signature(thing).parameters[name].default
        assert given == default or default == {}, (thing, name)  # a dict of one's own comes from a factory


def test_every_public_method_says_what_it_does():
    """An overriding method inherits the sentence of the method it overrides."""
    silent = {
        f"{thing.__name__}.{name}"
        for home, public in NAMES
        if isinstance(thing := getattr(home, public), type) and thing.__module__.startswith("hyperlabel")
        for name, value in vars(thing).items()
        if not name.startswith("_") and inspect.isroutine(value)
        if not any(getattr(vars(kind).get(name), "__doc__", None) for kind in thing.__mro__)
    }
    assert silent == set()


def test_import_stays_light():
    code = (
        "import sys, hyperlabel; "
        "heavy = {'sklearn', 'numba', 'dask', 'matplotlib', 'scipy', 'numpy'} & set(sys.modules); "
        "assert not heavy, heavy; assert 'BinaryRelevance' in dir(hyperlabel)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_names_are_refused():
    with pytest.raises(AttributeError, match="no attribute 'Nonsense'"):
        hyperlabel.Nonsense  # noqa: B018


def test_every_public_estimator_is_in_the_table_of_the_batteries():
    """An encoder of labels is there inside a classifier; bases for classes of one's own are no estimators."""
    models = [*CLASSIFIERS, *TRANSFORMERS, *UNSUPERVISED]
    tabled = {type(part).__name__ for model in models for part in (model, getattr(model, "encoder", model))}
    public = {
        name
        for home, name in NAMES
        if isinstance(thing := getattr(home, name), type)
        and issubclass(thing, BaseEstimator)
        and not inspect.isabstract(thing)
    }
    assert public - tabled == NOT_FIT_ON_ROWS_AND_LABELS.keys()


def test_the_table_holds_every_expansion_of_the_hypergraph():
    expansions = {model.expansion for model in TRANSFORMERS if hasattr(model, "expansion")}
    assert expansions >= {"clique", "star", "zhou", "cca"}


def test_the_table_holds_compressed_label_spaces():
    parts = [getattr(model, "encoder", model) for model in CLASSIFIERS]
    sizes = {(type(part).__name__, getattr(part, "n_components", None)) for part in parts}
    assert {name for name, size in sizes if isinstance(size, int)} >= {"PLST", "PrincipalEncoder"}


@pytest.mark.parametrize("module", ["", *(f".{name}" for name in MODULES)])
def test_names_loaded_on_first_use_complete_on_tab(module):
    package = importlib.import_module(f"hyperlabel{module}")
    assert set(package.__all__) <= set(dir(package))
