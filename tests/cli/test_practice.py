"""What a practitioner found, replayed: one test for each defect that has none of its own elsewhere."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.commands import done

from hyperlabel.apps.cli._methods import METHODS, list_methods
from hyperlabel.apps.cli._output import table_lines
from hyperlabel.apps.report.summary import recommended_method
from hyperlabel.datasets import iter_data, read_arff, read_table
from hyperlabel.tabular.wording import plural

ROOT = Path(__file__).parents[2]
TAGS = {"printing": "printer toner paper", "network": "wifi router cable", "billing": "invoice refund charge"}


def tickets(path, n, seed):
    """Write notes whose words give tags away, but for one in ten."""
    rng = np.random.default_rng(seed)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["body", "tags"])
        for _ in range(n):
            on = [tag for tag in TAGS if rng.random() < 0.35]
            words = [rng.choice(TAGS[tag].split()) for tag in on] + ["please", f"w{rng.integers(30)}"]
            writer.writerow([" ".join(words), ";".join(t for t in TAGS if (t in on) != (rng.random() < 0.1))])
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("practice")
    tickets(folder / "train.csv", 400, 0)
    tickets(folder / "held-out.csv", 400, 1)
    done("fit", folder / "train.csv", "--labels", "tags", "-o", folder / "m.hyper")
    return folder


def test_d16_the_printed_score_is_what_other_rows_show(place):
    told = json.loads(
        done("fit", place / "train.csv", "--labels", "tags", "-o", place / "x.hyper", "--json").stdout
    )
    seen = json.loads(done("evaluate", place / "x.hyper", place / "held-out.csv", "--json").stdout)
    assert told["score"] == pytest.approx(seen[told["scoring"]], abs=0.05)


def test_d18_probabilities_say_how_often_a_label_holds(place):
    answers = done("predict", place / "m.hyper", place / "held-out.csv", "--top", 3, "--json")
    rows = [json.loads(line)["labels"] for line in answers.stdout.splitlines()]
    p = np.array([[one["probability"] for one in sorted(row, key=lambda one: one["label"])] for row in rows])
    data = read_table(place / "held-out.csv", label_column="tags", text="body")
    assert ((p > 0) & (p < 1)).all()
    np.testing.assert_allclose(p.mean(axis=0), data.Y.mean(axis=0), atol=0.06)


def comparison(means, apart):
    """Return two data sets' means as a comparison would hold them; all differences are significant or
    none.
    """
    datasets, methods = list(means), list(next(iter(means.values())))

    def ranking(data):
        return sorted(methods, key=lambda method: -means[data][method])

    ranks = [np.mean([ranking(d).index(m) + 1 for d in datasets]) for m in methods]
    friedman = SimpleNamespace(ranks=np.array(ranks), n_datasets=2, p_value=0.5)
    return SimpleNamespace(
        datasets=datasets,
        methods=methods,
        ranking=ranking,
        best=lambda data: ranking(data)[0],
        mean=lambda data, method: means[data][method],
        versus_best=lambda data: [
            SimpleNamespace(method=m, is_significant=apart, equivalent=0.0) for m in ranking(data)[1:]
        ],
        across=SimpleNamespace(methods=methods, friedman=friedman, few=True, groups=[]),
    )


@pytest.mark.parametrize("apart", [True, False])
def test_d20_what_is_recommended_over_several_sets_is_best_on_one_of_them(apart):
    means = {
        "a": {"ridge": 0.500, "svm": 0.505, "forest": 0.400, "mlknn": 0.3},
        "b": {"ridge": 0.308, "svm": 0.200, "forest": 0.345, "mlknn": 0.1},
    }
    c = comparison(means, apart)
    assert c.across.methods[int(np.argmin(c.across.friedman.ranks))] == "ridge"  # best on 0 of them
    best = recommended_method(c)
    assert best in ("svm", "forest")


def test_d20_the_sentence_names_the_sets_where_another_method_is_better():
    from hyperlabel.apps.report.summary import _answer_which

    means = {"a": {"svm": 0.505, "forest": 0.400}, "b": {"svm": 0.200, "forest": 0.345}}
    said = _answer_which(comparison(means, True), "svm")
    assert "as good as the best on 1 of 2 data sets, the best itself on 1" in said
    assert "choose on b trees that part labels (0.345 against 0.200)" in said


WRONG = [
    ["predict", "nowhere.hyper", "--text", "a"],
    ["evaluate", "nowhere.hyper", "nothing.csv"],
    ["explain", "nowhere.hyper", "--text", "a"],
    ["update", "nowhere.hyper", "nothing.csv"],
    ["fit", "nothing.csv", "--labels", "tags"],
    ["fit", "{train}", "--labels", "tags", "--method", "magic"],
    ["fit", "{train}", "--labels", "tags", "--alpha", "much"],
    ["fit", "{train}", "--labels", "tgas"],
    ["fit", "{train}", "--labels", "tags", "--text", "bdoy"],
    ["fit", "{train}", "--labels", "tags", "-o", "no/such/folder/m.hyper"],
    ["compare", "nothing.csv", "--labels", "tags"],
    ["compare", "{train}", "--labels", "tags", "--methods", "magic"],
    ["data", "drift", "nothing.csv", "{train}"],
    ["data", "info", "nothing.csv"],
    ["data", "label-errors", "nothing.csv"],
    ["report", "nothing.sqlite"],
    ["report", "nowhere.hyper", "nothing.csv"],
    ["serve", "nowhere.hyper"],
]


def test_d21_wrong_paths_columns_and_methods_are_refused_before_anything_heavy_is_loaded(place):
    """All of them in one process: a module that one of them loaded would be seen after it."""
    calls = [[part.format(train=place / "train.csv") for part in call] for call in WRONG]
    script = f"""
import sys
from click.testing import CliRunner
from hyperlabel.apps.cli import main
for call in {calls!r}:
    done = CliRunner().invoke(main, call)
    heavy = [name for name in ("sklearn", "numba", "pandas", "rich") if name in sys.modules]
    print(done.exit_code, heavy, call, done.output.strip().splitlines()[-1])
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    lines = found.splitlines()
    assert len(lines) == len(WRONG)
    assert [line for line in lines if not line.startswith("2 [] ")] == []


def test_d21_the_methods_refused_are_those_the_catalogue_has_not():
    assert list(METHODS) == list(list_methods())


def on_terminal(arguments, width=60):
    """Run a command with a terminal of its own; return what it wrote there."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "hyperlabel", *map(str, arguments)]
    env = os.environ | {"COLUMNS": str(width), "TERM": "xterm"}
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, stdin=theirs, env=env)
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 1 << 16)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        parts.append(part)
    process.wait()
    os.close(ours)
    return b"".join(parts).decode()


def test_d25_the_spinner_is_cleared_and_lines_break_between_words(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("body,tags\n" + "one two three four,Red;blue\nfive six seven eight,red \n" * 30)
    shown = on_terminal(["data", "info", path, "--labels", "tags"])
    warned = re.search(r"[^\n]*Warning: 1 label differs only", shown)
    assert warned is not None
    # what stands on the line before the warning has been erased (CSI 2K or a line end comes last)
    before = warned[0].rpartition("Warning")[0]
    assert re.sub(r"\x1b\[[0-9?;]*[A-Za-z]|\r", "", before.rpartition("\x1b[2K")[2]).strip() == ""
    sentence = re.search(r"Warning: 1 label differs.*?joins\s+them\.", shown, flags=re.S)[0]
    lines = [line.strip() for line in sentence.splitlines()]
    assert len(lines) > 1
    assert max(map(len, lines)) <= 60
    whole = "Warning: 1 label differs only in case or blanks, such as 'Red', 'red'"
    assert " ".join(lines) == f"{whole}: --normalise-labels joins them."


COUNTED = re.compile(
    r"\{[^{}]*\} (rows|labels|entries|columns|files|words|texts|features|questions|others|panels|cells)\b"
)


def test_d26_one_row_is_a_row_everywhere():
    assert [plural(n, "row") for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
    assert plural(0, "entry") == "0 entries"
    for file in (ROOT / "src/hyperlabel/apps/cli").glob("*.py"):
        assert COUNTED.findall(file.read_text(encoding="utf-8")) == [], file.name


def test_tables_repeat_the_first_column_where_others_find_no_room():
    lines = table_lines(["label", "rows", "F1"], [["red", "12", "0.5"]], n_text_columns=1, width=12)
    assert lines == ["label  rows", "red      12", "", "label   F1", "red    0.5"]


ARFF = "@relation 'r: -C 1'\n@attribute y {0,1}\n@attribute s string\n@attribute x real\n@data\n1,'a',0.5\n"


@pytest.mark.parametrize(
    ("read", "name", "content"),
    [
        (lambda p: read_table(p, label_column="tags"), "t.csv", "body,size,tags\nsome words,1,a\n"),
        (lambda p: list(iter_data(p, label_column="tags")), "t.csv", "body,size,tags\nsome words,1,a\n"),
        (lambda p: read_table(p, label_column="tags"), "n.csv", "size,tags\n1,none\n2,a\n"),
        (lambda p: list(iter_data(p, label_column="tags")), "n.csv", "size,tags\n1,none\n2,a\n"),
        (read_arff, "t.arff", ARFF),
        (lambda p: list(iter_data(p)), "t.arff", ARFF),
    ],
)
def test_d28_warnings_name_the_line_that_called(tmp_path, read, name, content):
    path = tmp_path / name
    path.write_text(content)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read(path)
    assert [warning.filename for warning in caught] == [__file__]


def test_d29_formulas_need_no_script_from_elsewhere():
    """MathJax comes with the site; Sphinx's own extension would fetch it from another host."""
    conf = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    assert '"sphinx-mathjax-offline"' in conf
    assert "sphinx.ext.mathjax" not in conf
    assert "mathjax_path" not in conf


def test_csv_of_one_answer_has_a_header(place):
    rows = list(csv.reader(io.StringIO(done("predict", place / "m.hyper", "--text", "toner").stdout)))
    assert rows[0] == ["row", "labels", "probabilities"]
    assert rows[1][1] == "printing"
