"""Hints that say what to type, and refusals that come before the work."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.commands import done, run

from hyperlabel import AutoMultiLabel, BinaryRelevance, MLkNN, ThresholdTuner, predict_labels
from hyperlabel.apps.cli._input import split_names
from hyperlabel.tabular import fit_table, open_model
from hyperlabel.tabular.column_ranges import expand_ranges, join_names
from hyperlabel.tabular.fit_plan import FitShape, check_plan, plan_fit
from hyperlabel.tabular.fit_time import warn_of_long_fit
from hyperlabel.tabular.pipeline import Choices, make_vectorizer


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hints")
    rows = ["red apple pie,food;red", "green apple,food", "a red car,vehicle;red", "plain,"] * 15
    (folder / "t.csv").write_text("text,tags\n" + "\n".join(rows) + "\n")
    (folder / "new.csv").write_text("text,tags\na red plane,vehicle;flying;red\nan apple,food;fresh\n")
    done("fit", folder / "t.csv", "--labels", "tags", "-o", folder / "m.hyper")
    return folder


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("fti", "did you mean 'hyperlabel fit'?"),
        ("suspects", "did you mean 'hyperlabel data label-errors'?"),
        ("label-error", "did you mean 'hyperlabel data label-errors'?"),
        ("xyzzy", "there are fit, predict"),
    ],
)
def test_misspelt_commands(typed, hint):
    asked = run(typed)
    assert asked.exit_code == 2
    assert hint in asked.stderr


def test_misspelt_columns_and_labels(folder):
    assert "did you mean 'tags'?" in run("fit", folder / "t.csv", "--labels", "Tag").stderr
    asked = run("fit", folder / "t.csv", "--labels", "tags", "--text", "txet")
    assert "did you mean 'text'?" in asked.stderr
    explained = run("explain", folder / "m.hyper", "--label", "vehicel")
    assert explained.exit_code == 2
    assert "no label 'vehicel' (did you mean 'vehicle'?)" in explained.stderr
    changed = run("update", folder / "m.hyper", "--drop-label", "foods", "-o", folder / "n.hyper")
    assert "did you mean 'food'?" in changed.stderr


def test_rows_are_learned_without_the_labels_the_model_does_not_know(folder, tmp_path):
    refused = run("update", folder / "m.hyper", folder / "new.csv", "-o", tmp_path / "n.hyper")
    assert "--ignore-unknown" in refused.stderr
    said = done(
        *("update", folder / "m.hyper", folder / "new.csv", "--ignore-unknown", "--json"),
        *("-o", tmp_path / "n.hyper"),
    )
    assert "ignored 2 labels the model does not know: flying, fresh" in said.stderr
    assert json.loads(said.stdout)["merged"] == 2
    assert open_model(str(tmp_path / "n.hyper")).columns.label_names == ["food", "red", "vehicle"]
    both = run("update", folder / "m.hyper", folder / "new.csv", "--ignore-unknown", "--add-labels")
    assert both.exit_code == 2


def test_a_precision_no_label_can_keep_names_one_that_can(tmp_path):
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(400):
        holds = rng.random() < 0.5
        word = "sunny" if holds == (rng.random() < 0.8) else "cloudy"
        rows.append(f"{word} today w{rng.integers(9)},{'warm' if holds else ''}")
    (tmp_path / "t.csv").write_text("text,tags\n" + "\n".join(rows) + "\n")
    call = ["fit", tmp_path / "t.csv", "--labels", "tags", "--group", "", "-o", tmp_path / "m.hyper"]
    refused = run(*call, "--precision", "0.97")
    assert refused.exit_code == 2, refused.output
    assert "No label of 1 reaches a precision of 0.97" in refused.stderr
    assert not (tmp_path / "m.hyper").exists()
    proposed = refused.stderr.split("--precision ")[1].split(" ")[0]
    assert 0.5 < float(proposed) < 0.9
    assert "for 1 of 1 label" in done(*call, "--precision", proposed).stdout


def test_words_of_mixed_scripts():
    texts = ["GNOME用の端末 emulator für Ubuntu", "東京都に行く", "a plain one", "สวัสดี"]
    vectorizer = make_vectorizer(texts, None, 1).fit(texts)
    words = set(vectorizer.get_feature_names_out())
    assert {"gnome", "emulator", "für", "ubuntu", "用の", "端末", "東京", "京都", "plain", "one"} <= words
    assert all(len(word) <= 2 for word in words if not word[0].isascii() and word != "für")
    plain = make_vectorizer(texts[2:3], None, 1)
    assert plain.token_pattern == r"(?u)\b\w\w+\b"


def test_a_model_of_mixed_scripts_answers_alike_with_and_without_scikit_learn(tmp_path):
    rows = ["赤い林檎を食べる red apple,food", "青い車に乗る blue car,vehicle"] * 30
    (tmp_path / "t.csv").write_text("text,tags\n" + "\n".join(rows) + "\n", encoding="utf-8")
    file = fit_table(str(tmp_path / "t.csv"), str(tmp_path / "m.hyper"), labels="tags", group="")
    answer = done("predict", tmp_path / "m.hyper", "--text", "林檎と車", "--top", 2, "--json").stdout
    said = {one["label"]: one["probability"] for one in json.loads(answer)["labels"]}
    expected = file.answer(["林檎と車"], probabilities=True).values[0]
    assert said == pytest.approx(dict(zip(file.columns.label_names, expected, strict=True)), abs=1e-5)


def test_the_plan_names_options_that_are_enough():
    counts = np.concatenate([np.ones(20_000), np.full(200, 50)])
    shape = FitShape(24_000, 944, len(counts), 24_000 * 40, 10**6)
    plan = plan_fit(shape, Choices(), counts, 16 << 30)
    assert max(plan.bytes_by_part, key=plan.bytes_by_part.get) == "out-of-fold scores"
    assert "--min-rows 2 (leaves 200 labels)" in plan.advice
    assert "--words" not in plan.advice  # which would not be enough
    assert "20000 of 20200 labels occur once: perhaps --label-separator is wrong" in plan.advice
    with pytest.warns(UserWarning, match="to need less, say --min-rows 2"):
        check_plan(plan)
    with pytest.raises(ValueError, match="would take about .* GiB of 4.0 GiB"):
        check_plan(plan_fit(shape, Choices(), counts, 4 << 30))
    smaller = plan_fit(FitShape(24_000, 944, 200, 24_000 * 40, 10**6), Choices(), counts[-200:], 16 << 30)
    assert smaller.advice is None


def test_a_long_fit_is_told_by_its_first_block(monkeypatch):
    from scipy import sparse

    from hyperlabel.solvers import clock

    rng = np.random.default_rng(0)
    X = sparse.random_array((2600, 5200), density=0.002, rng=rng, format="csr")
    Y = sparse.random_array((2600, 1100), density=0.01, rng=rng, format="csr").sign()
    for model in (BinaryRelevance(alpha=1.0), ThresholdTuner(BinaryRelevance(alpha=1.0))):  # as fit makes it
        times = iter([0.0, 20.0])
        monkeypatch.setattr(clock, "working_seconds", lambda times=times: next(times))
        with pytest.warns(
            UserWarning, match="about 6 minutes, by the time of its first block. Faster: --words 1300"
        ):
            assert warn_of_long_fit(model, X, Y, Choices()) == 18 * 20.0
    later_times = iter([0.0, 20.0])
    monkeypatch.setattr(clock, "working_seconds", lambda: next(later_times))
    monkeypatch.setattr("hyperlabel.tabular.fit_time.folds_share_factor", lambda *shape: False)
    with pytest.warns(UserWarning, match="about 18 minutes"):  # each of five folds is solved by itself
        assert warn_of_long_fit(BinaryRelevance(alpha=1.0), X, Y, Choices()) == 54 * 20.0
    assert warn_of_long_fit(BinaryRelevance(alpha=1.0), X[:, :900], Y, Choices()) is None  # a small one


PIECES = {
    "mlknn": (MLkNN(), 2.0),
    "logistic, thresholds": (ThresholdTuner(BinaryRelevance(LogisticRegression()), cv=2), 1.0),
    "auto": (AutoMultiLabel(cv=2), 1.0),
}


@pytest.mark.parametrize("name", PIECES)
def test_other_methods_are_timed_on_more_and_more_rows(name, monkeypatch):
    """A clock by which a fit of n rows takes (n / 500)^p seconds: the prediction is that of all rows."""
    from hyperlabel.tabular import fit_time

    model, power = PIECES[name]
    rows_of_pieces = []

    def time_fit(classifier, X, Y):
        rows_of_pieces.append(X.shape[0])
        clone(classifier).fit(X[:60], Y[:60])  # what is timed can be fitted
        return (X.shape[0] / 500) ** power

    monkeypatch.setattr(fit_time, "_time_fit", time_fit)
    X, Y = make_multilabel_classification(n_samples=60, n_features=5, n_classes=3, random_state=0)
    X, Y = np.tile(X, (700, 1)), np.tile(Y, (700, 1))  # 42 000 rows: 84 s, or two hours
    choices = Choices(method="auto" if name == "auto" else "mlknn")
    with pytest.warns(UserWarning, match="minutes, by the time of its first block. Faster: ") as caught:
        predicted = warn_of_long_fit(model, X, Y, choices)
    assert predicted == pytest.approx((42_000 / 500) ** power, rel=1e-9)
    assert rows_of_pieces[:2] == [250, 500]
    assert max(rows_of_pieces) < 42_000 / 8
    assert "--method ridge" in str(caught[0].message)
    assert ("--thresholds none" in str(caught[0].message)) == (name != "auto")
    rows_of_pieces.clear()
    assert warn_of_long_fit(model, X[:2000], Y[:2000], choices) < 60
    assert rows_of_pieces == [250]  # clear at once


def test_a_dense_ridge_is_timed_on_some_columns(monkeypatch):
    """A clock by which sums take n·d² and solutions d³ steps: the prediction is that of all of them."""
    from hyperlabel.tabular import fit_time

    def time_fit(classifier, X, Y):
        n, d = X.shape
        assert d <= 400
        return 1e-9 * n * d**2 + 4e-8 * d**3

    monkeypatch.setattr(fit_time, "_time_fit", time_fit)
    X, Y = np.broadcast_to(0.5, (9000, 3000)), np.zeros((9000, 2))
    with pytest.warns(UserWarning, match="about 19 minutes, by the time of its first block"):
        predicted = warn_of_long_fit(BinaryRelevance(), X, Y, Choices())
    assert predicted == pytest.approx(1e-9 * 9000 * 3000**2 + 4e-8 * 3000**3)
    assert warn_of_long_fit(BinaryRelevance(), X[:, :100], Y, Choices()) is None  # too small to be timed


def test_the_time_of_a_fit_is_predicted_before_it_starts(tmp_path, monkeypatch):
    """Through the command: with a limit of no time at all, every route says what it would take."""
    from hyperlabel.tabular import fit_time

    monkeypatch.setattr(fit_time, "_LONG", 1e-6)
    rng = np.random.default_rng(0)
    lines = [",".join([*(f"{v:.3f}" for v in x), str(int(x[0] > 0))]) for x in rng.normal(size=(600, 3))]
    table = tmp_path / "t.csv"
    table.write_text("\n".join(["a,b,c,up", *lines]) + "\n")
    for method in ("forest", "logistic", "auto"):
        options = ["--labels", "up", "--method", method, "-o", tmp_path / "m.hyper"]
        said = done("fit", table, *options, *(["--time-budget", 2] if method == "auto" else [])).stderr
        assert "This fit will take about" in " ".join(said.split())


def test_ranges_name_columns():
    columns = ["Nr", "A", "year", "price", "a, b", "x"]

    def expanded(*names):
        return expand_ranges({"labels": list(names)}, columns)["labels"]

    assert expanded("-2") == ["a, b", "x"]
    assert expanded("year:x") == ["year", "price", "a, b", "x"]
    assert expanded("C:D") == ["year", "price"]
    assert expanded("A") == ["A"]  # a name goes first
    assert expanded("no:such") == ["no:such"]
    with pytest.raises(ValueError, match="'year' stands left of 'x'"):
        expanded("x:year")
    assert join_names(columns[-4:], columns) == "-4"
    assert join_names(["a, b", "x"], columns) == '"a, b",x'


def test_labels_are_named_through_a_search_and_a_pipeline():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = [[name for name, x in zip("ab", row, strict=False) if x > 0] for row in X]
    pipe = make_pipeline(StandardScaler(), BinaryRelevance())
    search = GridSearchCV(pipe, {"binaryrelevance__alpha": [1.0, 10.0]}, cv=KFold(2), scoring=lambda *_: 0.0)
    found = predict_labels(search.fit(X, y), X)
    assert found == predict_labels(pipe.set_params(binaryrelevance__alpha=1.0).fit(X, y), X)
    assert np.mean([set(a) == set(b) for a, b in zip(found, y, strict=True)]) > 0.8
    with pytest.raises(TypeError, match="StandardScaler does not know the names"):
        predict_labels(StandardScaler().fit(X), X)


def test_unknown_label_cells_go_through_fit_evaluate_and_predict(tmp_path):
    rng = np.random.default_rng(2)
    cells = []
    for i in range(200):
        a, b = rng.random(2) < 0.5
        words = f"see {'alpha' if a else 'omega'} {'beta' if b else 'gamma'} w{i % 11}"
        said = ["unknown" if rng.random() < 0.2 else int(a), "?" if rng.random() < 0.1 else int(b)]
        cells.append(f"{words},{said[0]},{said[1]}")
    for name, rows in (("t", cells[:150]), ("new", cells[150:])):
        (tmp_path / f"{name}.csv").write_text("text,a,b\n" + "\n".join(rows) + "\n")
    n_unknown = sum(row.count("unknown") + row.count("?") for row in cells[:150])
    call = ["fit", tmp_path / "t.csv", "--labels", "a,b", "--group", "", "-o", tmp_path / "m.hyper"]
    assert f"{n_unknown} of 300 label entries unknown" in done(*call).stderr
    measured = json.loads(done("evaluate", tmp_path / "m.hyper", tmp_path / "new.csv", "--json").stdout)
    assert measured["f1_micro"] > 0.9  # of the entries somebody knows
    answers = done("predict", tmp_path / "m.hyper", tmp_path / "new.csv", "--json").stdout.splitlines()
    assert len(answers) == 50


def test_a_cell_too_large_for_a_table_of_names_ends_in_a_sentence(tmp_path):
    (tmp_path / "t.csv").write_text("text,tags\n" + "one apple,a\ntwo pears,b\n" * 20)
    (tmp_path / "names.csv").write_text(f"a,{'x' * 200_000}\n")
    call = ["fit", tmp_path / "t.csv", "--labels", "tags", "--text", "text", "--features", ""]
    refused = run(*call, "--label-text", tmp_path / "names.csv", "-o", tmp_path / "m.hyper")
    assert refused.exit_code == 2
    assert "field larger than field limit" in refused.stderr


def test_an_option_may_list_names_on_several_lines():
    assert split_names('a, "b,c"\nd\n') == ["a", "b,c", "d"]
