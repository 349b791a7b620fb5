"""One small finished comparison for all report tests."""

from __future__ import annotations

import pytest
from sklearn.datasets import make_multilabel_classification

from hyperlabel import BinaryRelevance
from hyperlabel.apps.comparison import Method, Protocol, Splits, Store, run
from hyperlabel.apps.comparison.comparison import Comparison
from hyperlabel.apps.comparison.data_profile import data_profile
from hyperlabel.datasets import Dataset


def _suite(store: Store, names: list[str]) -> Comparison:
    methods = [
        Method("ridge", BinaryRelevance(), {"alpha": [1.0, 100.0]}),
        Method("strong ridge", BinaryRelevance(alpha=3000.0)),
        Method("<script>alert(1)</script>", BinaryRelevance(alpha=30.0)),
        Method("broken", BinaryRelevance(alpha=-1.0)),
    ]
    data = []
    for seed, name in enumerate(names):
        X, Y = make_multilabel_classification(n_samples=90, n_classes=15, random_state=seed)
        labels = [f"label & {j}" for j in range(15)]
        data.append(Dataset(X, Y, label_names=labels, name=name))
    protocol = Protocol("suite", data, methods, Splits("folds", 3))
    spec = protocol.spec() | {"metrics": ["f1_macro", "hamming_loss"]}
    run(protocol.cells(), store, "suite", spec=spec, command="hyperlabel compare 'my file.arff'")
    curve = {
        "title": "a path",
        "x": [0.1, 1.0],
        "scores": {"ridge": [[0.1, 0.2], [0.2, 0.2]]},
        "xlabel": "λ",
        "ylabel": "f1_macro",
        "log": True,
    }
    for d in data:
        store.put_artifact("suite", f"portrait:{d.name}", data_profile(d))
        store.put_artifact("suite", f"curve:{d.name}", [curve])
    return Comparison(store, "suite")


@pytest.fixture(scope="session")
def comparison():
    with Store(":memory:") as store:
        yield _suite(store, ["made"])


@pytest.fixture(scope="session")
def many():
    with Store(":memory:") as store:
        yield _suite(store, ["one", "two"])


@pytest.fixture(scope="session", autouse=True)
def _no_screen():
    matplotlib = pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    matplotlib.use("agg")
