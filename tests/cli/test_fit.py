"""``fit``, ``predict`` and ``evaluate`` on files as people have them."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.commands import run

import hyperlabel
from hyperlabel.meta.catalogue import CATALOGUE

TOPICS = {
    "printing": 'The printer jams on page {i},\nthe paper tray "A" is stuck and toner leaks.',
    "network": "Cannot reach the server; wifi drops after {i} minutes, router blinks.",
    "billing": "Invoice {i} was charged twice, please refund the payment to my card.",
}


def tickets(path, n=90, seed=0, header=True):
    """Multi-line quoted texts, empty tags."""
    rng = np.random.default_rng(seed)
    names = list(TOPICS)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "body", "minutes", "tags"])
        for i in range(n):
            chosen = sorted(rng.choice(3, size=rng.integers(0, 3), replace=False))
            body = "\n".join(TOPICS[names[j]].format(i=i) for j in chosen) or "Hello, just a question."
            writer.writerow([i, body, rng.integers(1, 60), "; ".join(names[j] for j in chosen)])
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("tickets")
    tickets(place / "train.csv")
    tickets(place / "new.csv", n=20, seed=1)
    done = run("fit", place / "train.csv", "--labels", "tags", "--features", "", "-o", place / "model.hyper")
    assert done.exit_code == 0, done.output
    return place


def test_columns_are_found_and_remembered(folder, tmp_path):
    target = tmp_path / "m.hyper"
    done = run("fit", folder / "train.csv", "--labels", "tags", "-o", target, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["labels"] == 3
    assert found["rows"] == 90
    assert found["can_be_updated"]
    assert "text: 'body'" in done.stderr
    assert "1 column of numbers: 'minutes'" in done.stderr  # the id is left out
    model = hyperlabel.load(target)
    assert list(model[-1].label_names_) == ["billing", "network", "printing"]
    done = run("predict", target, folder / "new.csv", "--id", "id")
    assert done.exit_code == 0, done.output


def test_thresholds_are_tuned_on_folds_that_keep_groups_together(tmp_path):
    rng = np.random.default_rng(0)
    points, tags = rng.normal(size=(30, 20)), rng.choice(["a", "b", "a;b", ""], size=30)
    columns = [f"x{j}" for j in range(20)]
    with open(tmp_path / "copies.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["person", *columns, "tags"])
        writer.writerows([i, *points[i], tags[i]] for i in rng.permutation(np.repeat(np.arange(30), 4)))
    scores = []
    for group in ("", "person"):
        done = run(
            "fit", tmp_path / "copies.csv", "--labels", "tags", "--features", ",".join(columns),
            "-o", tmp_path / "m.hyper", "--json", "--group", group,
        )  # fmt: skip
        assert done.exit_code == 0, done.output
        found = json.loads(done.stdout)
        scores.append(found["score"])
    assert scores[1] < scores[0] - 0.1
    printed = run(
        "fit", tmp_path / "copies.csv", "--labels", "tags", "--features", ",".join(columns),
        "-o", tmp_path / "m.hyper", "--group", "person",
    )  # fmt: skip
    expected = f"f1_macro {found['score']:.3f} ± {found['score_std']:.3f} by cross-fitting"
    assert expected in " ".join(printed.output.split())


def test_predict_csv_and_json_lines(folder, tmp_path):
    done = run("predict", folder / "model.hyper", folder / "new.csv")
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    with open(folder / "new.csv", encoding="utf-8", newline="") as file:
        truth = list(csv.DictReader(file))
    assert [row["row"] for row in rows] == [str(i + 1) for i in range(20)]
    for row, true in zip(rows, truth, strict=True):
        wanted = {t.strip() for t in true["tags"].split(";")} - {""}
        assert set(filter(None, row["labels"].split(";"))) == wanted
    out = tmp_path / "out.jsonl"
    done = run("predict", folder / "model.hyper", folder / "new.csv", "--top", 2, "--id", "id", "-o", out)
    assert done.exit_code == 0, done.output
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(lines) == 20
    assert all(len(line["labels"]) == 2 for line in lines)
    assert lines[0]["labels"][0]["probability"] >= lines[0]["labels"][1]["probability"]
    assert not list(tmp_path.glob("tmp*"))


@pytest.mark.parametrize(
    "stdin",
    [
        "the printer is out of toner\nrefund my invoice\n",
        'body,other\n"the printer\nis out of toner",1\nrefund my invoice,2\n',
        '{"body": "the printer is out of toner"}\n{"body": "refund my invoice"}\n',
    ],
)
def test_stdin_lines_csv_and_json_lines(folder, stdin):
    done = run("predict", folder / "model.hyper", "-", "--top", 1, stdin=stdin)
    assert done.exit_code == 0, done.output
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert [row["labels"] for row in rows] == ["printing", "billing"]


def test_fit_from_stdin(folder, tmp_path):
    options = ["--labels", "tags", "--features", "", "-o", tmp_path / "m.hyper"]
    done = run("fit", "-", *options, stdin=(folder / "train.csv").read_text())
    assert done.exit_code == 0, done.output
    assert "90 rows, 3 labels" in done.output
    assert "nothing on stdin" in run("fit", "-", *options, stdin="").output


def test_lists_in_json_lines_and_a_slim_file(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [{"t": ["red car", "green apple"][i % 2], "tags": [["x", "y"], None][i % 2]} for i in range(30)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = run("fit", path, "--labels", "tags", "-o", tmp_path / "m.hyper", "--slim", "--json")
    assert done.exit_code == 0, done.output  # short texts are found where there is nothing else
    assert not json.loads(done.stdout)["can_be_updated"]
    done = run("predict", tmp_path / "m.hyper", "--text", "car", "--json")
    assert [one["label"] for one in json.loads(done.stdout)["labels"]] == ["x", "y"]
    refused = " ".join(run("update", tmp_path / "m.hyper", path).output.split())
    assert "kept neither rows nor sums to update: fit it again without --slim" in refused


def test_a_model_of_many_features_learns_too_and_forgets_what_it_learned(tmp_path):
    rng = np.random.default_rng(0)
    with open(tmp_path / "t.jsonl", "w", encoding="utf-8") as file:
        for i in range(60):
            words = [("red", "blue")[i % 2], *(f"w{j}" for j in rng.integers(6000, size=600))]
            file.write(json.dumps({"text": " ".join(words), "tags": words[:1]}) + "\n")
    call = ("fit", tmp_path / "t.jsonl", "--labels", "tags", "-o", tmp_path / "m.hyper")
    done = run(*call, "--words", 9000)
    assert done.exit_code == 0, done.output
    assert hyperlabel.load(tmp_path / "m.hyper")[-1].n_features_in_ > 5000
    (tmp_path / "new.jsonl").write_text(json.dumps({"text": "w1 w2 w3", "tags": ["blue"]}) + "\n")
    asked = ["w1 w2 w3", "red w5"]
    scores = [hyperlabel.load(tmp_path / "m.hyper").decision_function(asked)]
    for options in ([tmp_path / "new.jsonl"], ["--forget", tmp_path / "new.jsonl"]):
        assert run("update", tmp_path / "m.hyper", *options).exit_code == 0
        scores.append(hyperlabel.load(tmp_path / "m.hyper").decision_function(asked))
    assert np.abs(scores[1] - scores[0]).max() > 0.01
    np.testing.assert_allclose(scores[2], scores[0], atol=1e-9)
    refused = run("update", tmp_path / "m.hyper", "--forget", tmp_path / "new.jsonl")
    assert "not all in the model: row 0 is not among them" in " ".join(refused.output.split())


def test_the_file_of_five_hundred_texts_is_small(tmp_path):
    """Their 2000 words would take 32 MB as sums."""
    rng = np.random.default_rng(0)
    with open(tmp_path / "t.jsonl", "w", encoding="utf-8") as file:
        for i in range(500):
            words = [("red", "blue")[i % 2], *(f"w{j}" for j in rng.integers(3000, size=60))]
            file.write(json.dumps({"text": " ".join(words), "tags": words[:1]}) + "\n")
    sizes = {}
    for slim in ((), ("--slim",)):
        call = ("fit", tmp_path / "t.jsonl", "--labels", "tags", "-o", tmp_path / "m.hyper", "--json")
        done = run(*call, *slim)
        sizes[slim] = json.loads(done.stdout)["bytes"]
        assert json.loads(done.stdout)["can_be_updated"] is not bool(slim)
    assert sizes[("--slim",)] < sizes[()] < 2**20


def test_one_text(folder):
    done = run("predict", folder / "model.hyper", "--text", "wifi router", "--top", 1, "--json")
    assert json.loads(done.stdout)["labels"][0]["label"] == "network"


def test_evaluate(folder):
    done = run("evaluate", folder / "model.hyper", folder / "new.csv", "--json", "--worst", 2)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["f1_macro"] == 1.0
    assert found["n_rows"] == 20
    assert len(found["worst"]) == 2
    shown = run("evaluate", folder / "model.hyper", folder / "new.csv")
    assert "f1_macro                         1.0000" in shown.stdout


def test_config_file(folder, tmp_path):
    target = tmp_path / "c.hyper"
    config = tmp_path / "run.toml"
    config.write_text(
        f'[fit]\ndata = "{folder / "train.csv"}"\nlabels = "tags"\ntext = ["body"]\nmethod = "plst"\n'
        f'output = "{target}"\n'
    )
    done = run("fit", "--config", config)
    assert done.exit_code == 0, done.output
    assert hyperlabel.persistence.describe(target)["metadata"]["hyperlabel fit"]["method"] == "plst"
    config.write_text("[fit]\nlabelz = 1\n")
    done = run("fit", "--config", config)
    assert done.exit_code == 2
    assert "has no option 'labelz'" in done.output
    config.write_text("not toml")
    assert "is not a TOML file" in run("fit", "--config", config).output


@pytest.mark.parametrize("method", ["auto", *(method.name for method in CATALOGUE if method.name != "ridge")])
def test_every_method_fits_saves_and_predicts(folder, tmp_path, method):
    target = tmp_path / "m.hyper"
    options = ["--labels", "tags", "--text", "body", "--features", "minutes"]
    options += ["--time-budget", 1] if method == "auto" else []
    done = run("fit", folder / "train.csv", *options, "--method", method, "-o", target)
    assert done.exit_code == 0, done.output
    done = run("predict", target, folder / "new.csv", "--top", 1)
    assert done.exit_code == 0, done.output
    assert len(done.stdout.splitlines()) == 21


def test_the_methods_of_fit_are_those_of_the_catalogue():
    listed = run("fit", "--list-methods").stdout.splitlines()
    assert [line.split()[0] for line in listed] == ["auto", *(method.name for method in CATALOGUE)]


def test_other_formats(tmp_path):
    from hyperlabel.datasets import make_multilabel

    data = make_multilabel(60, 6, 3, random_state=0)
    for ending in ("npz", "svm", "xmc"):
        path, target = tmp_path / f"a.{ending}", tmp_path / f"{ending}.hyper"
        data.save(path)
        assert run("fit", path, "-o", target).exit_code == 0
        done = run("evaluate", target, path, "--json")
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["f1_macro"] > 0.3
    (tmp_path / "one.svm").write_text("0 2:0.5 6:1\n")  # numbering is remembered, not guessed again
    assert run("predict", tmp_path / "svm.hyper", tmp_path / "one.svm").exit_code == 0
    numbers = tmp_path / "n.csv"
    numbers.write_text(
        "a,b,red,blue\n" + "".join(f"{i},{'' if i == 3 else -i},{i % 2},{int(i > 9)}\n" for i in range(30))
    )
    assert run("fit", numbers, "--labels", "red,blue", "-o", tmp_path / "n.hyper").exit_code == 0
    assert run("evaluate", tmp_path / "n.hyper", numbers).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["fit", "nowhere.csv", "--labels", "tags"], "There is no file nowhere.csv"),
        (["fit", "{train}"], "Say which column of train.csv holds the labels"),
        (
            ["fit", "{train}", "--labels", "tagz"],
            "has no column 'tagz' (did you mean 'tags'?); the columns are id, body",
        ),
        (["fit", "{train}", "--labels", "tags", "--method", "magic"], "There is no method 'magic'"),
        (["fit", "{train}", "--labels", "tags", "--method", "mlknn", "--alpha", "1"], "mlknn has no ridge λ"),
        (
            ["fit", "{train}", "--labels", "tags", "--method", "plst", "--alpha", "1,2"],
            "by ridge only",
        ),
        (["fit", "{train}", "--labels", "tags", "--scoring", "magic"], "not for 'magic'"),
        (["fit", "{train}", "--labels", "tags", "--alpha", "x"], "--alpha must be numbers"),
        (["fit", "{train}", "--labels", "tags", "--min-rows", "9999"], "No label has 9999 rows"),
        (["fit", "{train}", "--labels", "tags", "-o", "/no/such/m.hyper"], "There is no folder"),
        (["predict", "nowhere.hyper", "{train}"], "There is no model file nowhere.hyper"),
        (["predict", "{train}", "{train}"], "is not a hyperlabel model file"),
        (["predict", "{model}"], "Name a file to predict"),
        (["predict", "{model}", "nowhere.csv"], "There is no file nowhere.csv"),
        (["predict", "{model}", "{other}"], "there is no column 'body'"),
        (["fit", "{empty}", "--labels", "tags"], "No label has 1 row:"),
        (["evaluate", "{model}", "{other}"], "there is no column 'body'"),
    ],
)
def test_bad_input_gets_one_sentence_and_code_2(folder, tmp_path, arguments, sentence):
    other = tmp_path / "other.csv"
    other.write_text("x,tags\n1,a\n")
    empty = tmp_path / "empty.csv"
    empty.write_text("body,tags\nno tags at all,\nnone here either,\n")
    places = {"train": folder / "train.csv", "model": folder / "model.hyper", "other": other, "empty": empty}
    done = run(*(a.format(**places) for a in arguments))
    assert done.exit_code == 2, done.output
    assert sentence in " ".join(done.output.split())
    assert "Traceback" not in done.output


def test_doctor():
    done = run("doctor", "--json")
    assert done.exit_code == 0, done.output
    assert [check["ok"] for check in json.loads(done.stdout)["self_test"]] == [True, True, True]
    assert "self-test     model file: ok" in run("doctor").stdout


def test_a_warm_installation_compiles_nothing_more(tmp_path):
    """Fits of a later process load compiled code: `doctor --warm` in the recipe of an image pays for them."""
    later_fits = """
import numpy as np
import hyperlabel
from hyperlabel.solvers import compiling
from numba.core import event

class Count(event.Listener):
    n_compiled = 0

    def on_start(self, event):
        self.n_compiled += 1

    def on_end(self, event):
        pass

compile_count = Count()
event.register("numba:compile", compile_count)
compiling.stop_interpreting()
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 10))
Y = (X @ rng.normal(size=(10, 6)) > 1).astype(int)
for name in ("RankSVM", "ThresholdTuner", "MLkNN", "LabelForest"):
    getattr(hyperlabel, name)().fit(X, Y).predict(X)
print(compile_count.n_compiled)
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    for command in (["-m", "hyperlabel", "doctor", "--warm"], ["-c", later_fits]):
        child = subprocess.run(
            [sys.executable, *command], env=environment, capture_output=True, text=True, check=True
        )
    assert int(child.stdout) == 0


def test_three_commands_in_a_shell(tmp_path):
    """As a newcomer types them: fit, predict through a pipe, evaluate."""
    tickets(tmp_path / "train.csv")
    program = [sys.executable, "-m", "hyperlabel"]
    source = str(Path(hyperlabel.__file__).parents[1])  # wherever this hyperlabel came from
    env = {**os.environ, "PYTHONPATH": source}

    def shell(arguments, stdin=None):
        done = subprocess.run(
            [*program, *arguments],
            cwd=tmp_path,
            env=env,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    shell(["fit", "train.csv", "--labels", "tags", "--text", "body", "--features", ""])
    assert "printing" in shell(["predict", "model.hyper", "-", "--top", "1"], "toner and paper tray\n")
    assert "f1_macro" in shell(["evaluate", "model.hyper", "train.csv"])


def test_compare_and_info_read_the_same_columns(folder, tmp_path):
    done = run("data", "info", folder / "train.csv", "--labels", "tags", "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["labels"] == 3
    options = ["--methods", "ridge,prior", "--folds", 2, "--repeats", 1, "--no-curves", "--no-tune", "--json"]
    places = ["--store", tmp_path / "s.sqlite", "--out", tmp_path / "r.html"]
    done = run("compare", folder / "train.csv", "--labels", "tags", *options, *places)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["best"]["train"]["best"] == "ridge"


@pytest.mark.parametrize("options", [["--method", "ridge"], ["--method", "plst", "--scoring", "f1_macro"]])
def test_fitting_a_model_does_not_load_the_experiments(tmp_path, options):
    rows = [("red apple", "food;red"), ("a red car", "vehicle;red"), ("green apple", "food")] * 12
    (tmp_path / "t.csv").write_text("text,tags\n" + "".join(f"{text},{tags}\n" for text, tags in rows))
    call = ["fit", str(tmp_path / "t.csv"), "--labels", "tags", *options, "-o", str(tmp_path / "m.hyper")]
    script = (
        "import sys; from click.testing import CliRunner; from hyperlabel.apps.cli import main; "
        f"fitted = CliRunner().invoke(main, {call!r}); "
        "print(fitted.exit_code, [name for name in sys.modules if "
        "name.startswith('hyperlabel.apps.comparison')])"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "0 []"
