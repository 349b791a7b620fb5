"""Every estimator of the table has an independent oracle; the common tests alone let a wrong method pass."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.multioutput import ClassifierChain
from tests import test_common
from tests.estimators import CLASSIFIERS, ORACLES, TRANSFORMERS, UNSUPERVISED
from tests.projection import oracles

from hyperlabel import OPLS, HypergraphSpectral, ProjectionClassifier
from hyperlabel.geometry import LabelFactor
from hyperlabel.linear import ChainEnsemble
from hyperlabel.solvers.arrays import as_dense

TESTS = Path(__file__).parent


def oracle_problems(model):
    """Say what is wrong with the oracle that the table names for an estimator."""
    kind = type(model).__name__
    if type(model) not in ORACLES:
        return [f"{kind} names no oracle in tests/estimators.py."]
    problems = []
    for name in ORACLES[type(model)]:
        path, _, function = name.partition("::")
        text = (TESTS / path).read_text()
        found = [node for node in ast.parse(text).body if getattr(node, "name", None) == function]
        if not found:
            problems.append(f"{kind}: there is no test {name}.")
        elif kind not in text or not any(
            re.search(r"assert|check|agree", ast.unparse(node)) for node in found
        ):
            problems.append(f"{kind}: {name} asserts nothing about it.")
    return problems


@pytest.mark.parametrize("model", [*CLASSIFIERS, *TRANSFORMERS, *UNSUPERVISED], ids=str)
def test_every_estimator_names_its_oracle(model):
    assert not oracle_problems(model)


def check_dense_form(model, n_components=2):
    """Truncated, for any invertible mix of the label factor gives the same projection onto all of it."""
    X, Y = test_common.make_data(30)
    model = clone(model).set_params(n_components=n_components)
    Z = model.fit(X, Y).transform(X)
    want = oracles.dense_projection(model, X, Y)
    assert_allclose(Z @ Z.T, want, atol=1e-7 * np.abs(want).max())


@pytest.mark.parametrize("n_components", [2, None])
@pytest.mark.parametrize("model", TRANSFORMERS, ids=str)
def test_every_projection_of_the_table_equals_its_dense_form(model, n_components):
    has_equal_values = getattr(model, "form", "") == "least_squares" and model.expansion == "cca"
    check_dense_form(model, None if has_equal_values else n_components)


class WrongFactor(LabelFactor):
    """Labels divided by √(number of labels of the row), scaled by sizes of Y and not of that base."""

    def base(self, Y, edges):
        return (Y / np.sqrt(np.maximum(as_dense(Y.sum(axis=1)).reshape(-1, 1), 1))).tocsr()

    def right(self, edges, gram, base_sums):
        return 1 / np.sqrt(np.maximum(edges.sizes, 1))  # base_sums would be right


class SharedMeans(OPLS):
    def _label_factor(self):
        return WrongFactor()


def test_a_wrong_factor_passes_the_common_tests_and_meets_its_oracle(monkeypatch, tmp_path):
    model = SharedMeans()
    for name, test in inspect.getmembers(test_common, inspect.isfunction):
        wanted = inspect.signature(test).parameters
        if name.startswith("test_") and set(wanted) <= {"model"} and "model" in wanted:
            transforms_only = any(
                "CLASSIFIERS" in str(mark) or len(mark.args[1]) == len(CLASSIFIERS)
                for mark in test.pytestmark
            )
            if not transforms_only and "sample_weight" not in name:
                test(model)
    assert oracle_problems(model) == ["SharedMeans names no oracle in tests/estimators.py."]
    with pytest.raises(LookupError, match="has no dense form"):
        check_dense_form(model)

    def dense_form(model, Xc, Yc, Y):
        base = Y / np.sqrt(np.maximum(Y.sum(axis=1, keepdims=True), 1))
        F = oracles.center(base / np.sqrt(base.sum(axis=0)))
        return oracles.products(model, Xc, F @ F.T, model.alpha)

    monkeypatch.setitem(oracles.DENSE_FORMS, "SharedMeans", dense_form)
    with pytest.raises(AssertionError):
        check_dense_form(model)
    monkeypatch.setattr(WrongFactor, "right", lambda self, edges, gram, base_sums: 1 / np.sqrt(base_sums))
    check_dense_form(model)


def test_a_projection_classifier_is_a_ridge_on_the_projected_rows():
    X, Y = test_common.make_data(31)
    model = ProjectionClassifier(HypergraphSpectral(3, alpha=2.0), readout_alpha=0.1).fit(X, Y)
    Z = HypergraphSpectral(3, alpha=2.0).fit(X, Y).transform(X)
    want = 2 * Ridge(alpha=0.1).fit(Z, Y).predict(Z) - 1
    assert_allclose(model.decision_function(X), want, atol=1e-9)


def test_a_chain_ensemble_is_the_mean_of_scikit_learns_chains():
    X, Y = test_common.make_data(32)
    model = ChainEnsemble(n_chains=3, random_state=0).fit(X, Y)
    rng, probabilities = np.random.default_rng(0), []
    for _ in range(3):
        chain = ClassifierChain(LogisticRegression(max_iter=1000), order=list(rng.permutation(Y.shape[1])))
        probabilities.append(chain.fit(X, Y).predict_proba(X))
    assert_allclose(model.predict_proba(X), np.mean(probabilities, axis=0), atol=1e-6)
