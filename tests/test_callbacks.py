"""Steps of long fits, as scikit-learn's callbacks hear of them."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from hyperlabel import AutoMultiLabel, HypergraphRankSVM, MLkNN, RankSVM, load, save
from hyperlabel._callbacks import FitSteps, report_fit

pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from version 1.9 on")

X, Y = make_multilabel_classification(60, 8, n_classes=4, random_state=0)


class Recorder:
    """A callback that writes down what it hears, and may ask to stop after a number of steps."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.heard = []

    def setup(self, estimator, context):
        self.heard.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.heard.append(("begin", context.estimator_name, context.task_name))

    def on_fit_task_end(self, estimator, context):
        self.heard.append(("end", context.estimator_name, context.task_name))
        return self.stop_after is not None and self.count("end") >= self.stop_after

    def teardown(self, estimator, context):
        self.heard.append("teardown")

    def names(self, kind="end"):
        return [entry[2] for entry in self.heard if entry[0] == kind]

    def count(self, kind):
        return len(self.names(kind))


class Propagated(Recorder):
    """A callback that a search or a pipeline passes on to what it fits."""

    max_propagation_depth = None


@pytest.mark.parametrize(
    "model",
    [
        RankSVM(1.0, tol=1e-6, random_state=0),
        RankSVM(1.0, solver="frank-wolfe", tol=1e-2, random_state=0),
        HypergraphRankSVM(1.0, tol=1e-6, random_state=0),
    ],
    ids=str,
)
def test_every_epoch_is_reported_and_changes_nothing(model):
    recorder = Recorder()
    heard = clone(model).set_callbacks(recorder).fit(X, Y)
    silent = clone(model).fit(X, Y)
    assert_array_equal(heard.coef_, silent.coef_)
    assert heard.n_iter_ == silent.n_iter_ > 1
    assert recorder.names() == ["epoch"] * heard.n_iter_ + ["fit"]
    assert recorder.names("begin") == ["fit"] + ["epoch"] * heard.n_iter_
    assert (recorder.heard[0], recorder.heard[-1]) == ("setup", "teardown")
    assert not hasattr(heard, "_callback_fit_ctx")


def test_the_choice_of_C_is_a_step_of_its_own():
    recorder = Recorder()
    RankSVM(random_state=0).set_callbacks(recorder).fit(X, Y)
    assert recorder.names()[:2] == ["choose C", "epoch"]


@pytest.mark.parametrize("solver", ["dcd", "frank-wolfe"])
def test_a_callback_ends_a_fit_which_says_how_far_it_came(solver):
    model = RankSVM(1.0, solver=solver, tol=1e-9, random_state=0).set_callbacks(Recorder(stop_after=2))
    with pytest.warns(ConvergenceWarning, match="stopped after 2 iterations"):
        model.fit(X, Y)
    assert model.n_iter_ == 2
    with pytest.warns(ConvergenceWarning):
        stopped = RankSVM(1.0, solver=solver, tol=1e-9, max_iter=2, random_state=0).fit(X, Y)
    assert_array_equal(model.coef_, stopped.coef_)
    assert model.dual_gap_ == stopped.dual_gap_ > 1e-9


def test_a_failed_fit_ends_its_callbacks():
    recorder = Recorder()
    with pytest.raises(ValueError, match="dual_dtype"):
        RankSVM(1.0, solver_options={"dual_dtype": "float16"}).set_callbacks(recorder).fit(X, Y)
    assert recorder.heard[-1] == "teardown"
    assert "fit" not in recorder.names()


def test_every_candidate_is_a_step_and_a_stop_keeps_the_best_so_far():
    methods, recorder = ["ridge", "plst", "spectral"], Recorder()
    model = AutoMultiLabel(methods=methods, cv=2).set_callbacks(recorder).fit(X, Y)
    assert sorted(recorder.names()[:3]) == sorted(methods)
    assert recorder.names()[3:] == ["fit the winner", "fit"]
    assert_array_equal(model.predict(X), AutoMultiLabel(methods=methods, cv=2).fit(X, Y).predict(X))
    stopped = AutoMultiLabel(methods=methods, cv=2).set_callbacks(Recorder(stop_after=1)).fit(X, Y)
    skipped = [row for row in stopped.leaderboard_ if "skipped" in row]
    assert [row["skipped"] for row in skipped] == ["stopped by a callback"] * 2
    assert stopped.predict(X).shape == Y.shape


def test_a_search_and_a_pipeline_pass_their_callbacks_on():
    recorder = Propagated()
    pipeline = make_pipeline(StandardScaler(), RankSVM(random_state=0, tol=1e-2))
    search = GridSearchCV(pipeline, {"ranksvm__C": [0.1, 1.0]}, cv=2, refit=False, error_score="raise")
    search.set_callbacks(recorder).fit(X, Y)
    epochs = [entry for entry in recorder.heard if entry[0] == "end" and entry[1:] == ("RankSVM", "epoch")]
    fits = [entry for entry in recorder.heard if entry[0] == "end" and entry[1:] == ("RankSVM", "fit")]
    assert len(fits) == 4
    assert len(epochs) >= 4
    assert recorder.heard.count("setup") == recorder.heard.count("teardown") == 1


def test_the_progress_bar_of_scikit_learn_ends_full(capsys):
    pytest.importorskip("rich")
    from sklearn.callback import ProgressBar

    RankSVM(1.0, random_state=0).set_callbacks(ProgressBar()).fit(X, Y)
    assert "RankSVM - fit" in capsys.readouterr().out


def test_clones_keep_callbacks_and_model_files_do_not(tmp_path):
    recorder = Recorder()
    model = RankSVM(1.0, random_state=0).set_callbacks(recorder)
    assert clone(model)._skl_callbacks == [recorder]
    save(model.fit(X, Y), tmp_path / "model.hyper")
    restored = load(tmp_path / "model.hyper")
    assert not hasattr(restored, "_skl_callbacks")
    assert_array_equal(restored.coef_, model.coef_)


def test_an_older_scikit_learn_has_no_callbacks(monkeypatch):
    from hyperlabel import _sklearn_compat

    monkeypatch.setitem(sys.modules, "sklearn.callback", None)  # as if there were none
    spec = importlib.util.spec_from_file_location("older_compat", _sklearn_compat.__file__)
    older = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(older)
    assert not hasattr(older.CallbackSupportMixin, "set_callbacks")
    model = type("Older", (older.CallbackSupportMixin, MLkNN), {})()
    with report_fit(model, X, Y) as steps:
        assert steps.report_epoch is None
        assert steps.begin("choose C")() is False


def test_without_callbacks_nothing_is_reported():
    steps = FitSteps(RankSVM())
    assert steps.report_epoch is None
    assert steps.begin("choose C")() is False
    assert np.isfinite(RankSVM(1.0).fit(X, Y).coef_).all()
