"""The demo runs on the embedded data and its numbers are better than guessing."""

import json

import numpy as np
from click.testing import CliRunner
from scipy import sparse
from sklearn.datasets import make_multilabel_classification

from hyperlabel import BinaryRelevance, ThresholdTuner, datasets
from hyperlabel.apps.cli import demo as demo_module
from hyperlabel.apps.cli import main
from hyperlabel.apps.cli._first_fold_search import Chosen
from hyperlabel.datasets import load_debtags
from hyperlabel.decision import per_label_thresholds
from hyperlabel.model_selection import IterativeStratifiedGroupKFold, IterativeStratifiedKFold


def test_demo_prints_a_table_and_a_report(monkeypatch, tmp_path):
    few = load_debtags()[:500]
    monkeypatch.setattr(datasets, "load_debtags", lambda: few)
    monkeypatch.setattr(demo_module, "_METHODS", demo_module._METHODS[1:])
    page = tmp_path / "demo.html"
    table = CliRunner().invoke(main, ["demo", "--out", str(page)])
    assert table.exit_code == 0, table.output
    assert "BinaryRelevance" in table.stdout
    assert table.stdout.rstrip().endswith("demo.html")
    assert "Which method should I use here?" in page.read_text()
    assert "Which method should I use here?" in table.stdout
    assert "How sure are we?" in table.stdout


def test_every_method_of_the_demo_chooses_its_setting_and_its_thresholds():
    data = load_debtags()[:300]
    rows = demo_module._demo_methods(data)
    assert len(rows) >= 6
    for _, model, grid in rows:
        assert all(len(values) > 1 for values in grid.values())
        assert set(grid) <= set(model.get_params())
        assert isinstance(demo_module._with_tuned_params_and_thresholds(model, grid), ThresholdTuner)
    svc = {name: (model, grid) for name, model, grid in rows}["LinearSVC per label (scikit-learn)"]
    tuned = demo_module._with_tuned_params_and_thresholds(*svc).fit(data.X, data.Y[:, :6].toarray())
    assert len(set(tuned.thresholds_)) > 1
    assert tuned.estimator_.best_params_["estimator__C"] in svc[1]["estimator__C"]


def test_the_setting_is_chosen_on_rows_held_out_and_scores_are_out_of_fold():
    X, y = make_multilabel_classification(n_samples=120, n_classes=4, random_state=0)
    alphas = [1e-6, 1.0, 1e9]
    chosen = Chosen(BinaryRelevance(), {"alpha": alphas}, random_state=0).fit(X, y)
    alpha = chosen.best_params_["alpha"]
    folds = list(IterativeStratifiedKFold(3, shuffle=True, random_state=0).split(X, y))

    def scores(alpha, train, test):
        return BinaryRelevance(alpha=alpha).fit(X[train], y[train]).decision_function(X[test])

    held_out = sparse.csr_array(y[folds[0][1]])
    reached = [per_label_thresholds(scores(a, *folds[0]), held_out, scoring="f1_micro").value for a in alphas]
    assert alpha == alphas[int(np.argmax(reached))]
    for train, test in folds:
        np.testing.assert_allclose(chosen.oof_scores_[test], scores(alpha, train, test))
    everything = np.arange(len(X))
    np.testing.assert_allclose(chosen.decision_function(X), scores(alpha, everything, everything))


def test_groups_stay_together_where_the_setting_is_chosen():
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(30), 4))
    X, y = rng.normal(size=(30, 20))[groups], (rng.random((30, 3)) < 0.4).astype(int)[groups]
    chosen = Chosen(BinaryRelevance(), {"alpha": [1.0]}, random_state=0).fit(X, y, groups=groups)
    for train, test in IterativeStratifiedGroupKFold(3, shuffle=True, random_state=0).split(X, y, groups):
        fresh = BinaryRelevance(alpha=1.0).fit(X[train], y[train])
        np.testing.assert_allclose(chosen.oof_scores_[test], fresh.decision_function(X[test]))


def test_demo_beats_guessing(monkeypatch, tmp_path):
    monkeypatch.setattr(demo_module, "_METHODS", ["ridge"])
    numbers = CliRunner().invoke(main, ["demo", "--json", "--out", str(tmp_path / "demo.html")])
    for row in json.loads(numbers.stdout)["scores"]:
        assert row["precision_at_1"] > 0.7  # the most frequent tag alone reaches .43
        assert row["ranking_loss"] < 0.1


def test_help_lists_the_commands_without_importing_them():
    page = CliRunner().invoke(main, ["--help"])
    assert page.exit_code == 0
    assert "demo" in page.stdout


def test_unknown_command_and_bad_option_end_with_code_2():
    assert CliRunner().invoke(main, ["nonsense"]).exit_code == 2
    assert CliRunner().invoke(main, ["demo", "--seed", "x"]).exit_code == 2
