"""The arena: a method enters by one file, predictions are kept, and the page says what they are worth."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_multilabel_classification

from benchmarks import arena
from benchmarks._arena_methods import read_entrant
from benchmarks._arena_page import critical_difference, read_results, resampled_gain, values_of, write_page
from hyperlabel.metrics import f1_score

ENTRANT = """
from sklearn.neighbors import KNeighborsClassifier
TITLE, ONE_BY_ONE, SETTINGS = "k-NN", True, [{"n_neighbors": 1}, {"n_neighbors": 9}]
def make(setting):
    return KNeighborsClassifier(**setting)
"""


@pytest.fixture
def contest():
    X, Y = make_multilabel_classification(n_samples=260, n_classes=4, random_state=0)
    Y = sparse.csr_array(Y.astype(float))
    return arena.Contest(X[:160], Y[:160], X[160:], Y[160:])


def test_a_file_enters_a_method_and_its_better_setting_is_kept(tmp_path, contest):
    file = tmp_path / "neighbours.py"
    file.write_text(ENTRANT, encoding="utf-8")
    entrant = read_entrant(file)
    assert (entrant.title, entrant.is_installed) == ("k-NN", True)
    made = arena.theirs(contest, entrant, 20.0)
    assert made["settings"] == "2 of 2"
    assert "9" in made["note ranking_loss"]
    arena.keep(tmp_path / "out" / "made up@k-NN.npz", made, 1.0, contest)
    kept = read_results(tmp_path / "out")["made up"]["k-NN"]
    predicted = sparse.csr_array(made["f1_micro"] > 0).astype(int)
    assert values_of(kept)["micro-F1"] == pytest.approx(f1_score(contest.T, predicted, average="micro"))
    assert values_of(kept)["micro-F1"] > 0.5


def test_the_page_ranks_who_knows_the_labels_first(tmp_path, contest):
    rng, truth = np.random.default_rng(0), contest.T.toarray()
    for name in ("first", "second"):
        for title, noise in (("AutoMultiLabel", 0.1), ("guess", 3.0), ("poor", 1.0)):
            scores = truth - 0.5 + noise * rng.normal(size=truth.shape)
            made = dict.fromkeys(arena.ASKED, scores) | {"proba": 1 / (1 + np.exp(-scores))}
            made |= {f"oof {asked}": 1 / noise for asked in arena.ASKED}
            arena.keep(tmp_path / f"{name}@{title}.npz", made, 2.0, contest)
    write_page(tmp_path / "page.md", tmp_path, "AutoMultiLabel", "test", ["nobody"])
    lines = (tmp_path / "page.md").read_text(encoding="utf-8").splitlines()
    ranked = [line.split("|")[1:3] for line in lines if line.count("|") == 11 and "CPU" not in line][2:5]
    assert [(title.strip(), rank.strip(" *")) for title, rank in ranked] == [
        ("AutoMultiLabel", "1.0"),
        ("poor", "2.0"),
        ("guess", "3.0"),
    ]
    assert "| all 10 cells, 2 standard errors | 10 | 0 | 0 |" in lines
    by_title = read_results(tmp_path)["first"]
    gain, error = resampled_gain("ranking loss", by_title["guess"], by_title["AutoMultiLabel"])
    assert gain < -2 * error < 0


def test_the_critical_difference_is_that_of_the_table():
    assert critical_difference(5, 30) == pytest.approx(2.728 * np.sqrt(30 / 180), abs=1e-3)  # Demšar, table 5
