from __future__ import annotations

import json
import math

import pytest
from click.testing import CliRunner

from hyperlabel.cli import main
from hyperlabel.experiments.papers import Plan, Runs, items
from hyperlabel.experiments.papers.data import FILES, data_folder

WANTED = [
    "kdd08-table2",
    *(f"kdd08-fig{i}" for i in range(1, 8)),
    *(f"jcp14-table{i}" for i in range(2, 5)),
    "jcp14-fig1",
    *(f"cvpr09-table{i}" for i in range(1, 4)),
    *(f"neco12-table{i}" for i in range(2, 5)),
    *(f"neco12-fig{i}" for i in range(2, 13)),
]


def by_id(name):
    return next(item for item in items() if item.id == name)


def test_everything_the_papers_show_can_be_asked_for():
    assert sorted(item.id for item in items()) == sorted(WANTED)
    assert all(set(item.data) <= set(FILES) for item in items())


def test_without_data_nothing_is_invented():
    listed = CliRunner().invoke(main, ["reproduce", "--list", "--data", "."])
    assert listed.exit_code == 0
    assert listed.output.count("no data") == len(WANTED)
    nothing = Plan(None, quick=True)
    for item in items():
        assert item.cells(nothing) == []
        result = item.collect(nothing, Runs([], []))
        assert result.numbers == []
        assert result.curves == []
    done = CliRunner().invoke(main, ["reproduce", "kdd08-table2"], env={"HYPERLABEL_DATA": ""})
    assert done.exit_code == 2
    assert "The benchmark files are needed" in done.output


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["reproduce", "nature99"], "There is no 'nature99'"),
        (["reproduce", "--data", "/nowhere/x"], "does not exist"),
    ],
)
def test_bad_input_gets_a_sentence(arguments, sentence):
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 2
    assert sentence in done.output


@pytest.fixture(scope="module")
def emotions_only(tmp_path_factory):
    """A data folder that holds emotions only, so that the other parts must be reported as missing."""
    from tests.conftest import real_folder

    folder = tmp_path_factory.mktemp("data")
    (folder / "emotions").symlink_to(real_folder() / "emotions")
    return folder


@pytest.mark.real_data
def test_a_table_stands_beside_the_papers_and_names_what_is_missing(emotions_only, tmp_path):
    arguments = ["reproduce", "neco12-table3", "neco12-fig10", "--quick", "--n-jobs", "1"]
    arguments += ["--data", str(emotions_only), "--store", str(tmp_path / "s.sqlite")]
    arguments += ["--out", str(tmp_path / "r.html"), "--markdown", str(tmp_path / "md")]
    done = CliRunner().invoke(main, [*arguments, "--json"])
    assert done.exit_code == 0, done.output
    table, figure = json.loads(done.stdout)
    ours = {n["column"]: n for n in table["numbers"]}
    assert abs(ours["BR"]["difference"]) < 0.03
    assert abs(ours["PLST(M*)"]["difference"]) < 0.03
    assert ours["CS(M*)"]["ours"] > ours["PLST(M*)"]["ours"] + 0.05
    assert any("delicious" in part for part in table["missing"])
    assert figure["failures"] == []
    assert "0.20653" in (tmp_path / "r.html").read_text()
    text = (tmp_path / "md" / "neco12-quick.md").read_text()
    assert "quick run" in text
    assert "scikit-learn" in text


@pytest.mark.real_data
def test_spectral_forms_agree_and_regularisation_helps(load_real):
    """One partition of scene at few λ: the numbers of METHODS §5 within the spread of one partition."""
    from hyperlabel.experiments.papers import kdd08

    data = kdd08._prepare(load_real("scene"))
    values = {
        (v.series, v.metric, v.x): v.value for v in kdd08._spectral(data, 900, 0, (100.0,), True, 0).values
    }
    for expansion in ("c", "*", "z", "cca"):
        assert values[f"HG_{expansion}", "roc_auc", 0.0] == pytest.approx(0.861, abs=0.03)
        assert values[f"HG_{expansion}", "roc_auc", 100.0] == pytest.approx(0.924, abs=0.02)
        assert values[f"lsHG_{expansion}", "roc_auc", 100.0] == pytest.approx(0.924, abs=0.02)


def test_results_average_what_is_known():
    runs = Runs(
        [{"id": "a", "spec": {"data": "d"}, "status": "done", "error": None, "details": {}},
         {"id": "b", "spec": {"data": "d"}, "status": "failed", "error": "Oops", "details": {}}],
        [{"cell": "a", "series": "s", "metric": "m", "x": None, "value": 0.5},
         {"cell": "a", "series": "s", "metric": "m", "x": None, "value": math.nan}],
    )  # fmt: skip
    number = runs.number("row", "column", runs.scores("d", "s", "m"), paper=0.4)
    assert (number.ours, number.n) == (0.5, 1)
    assert number.difference == pytest.approx(0.1)
    assert runs.failures() == ["d: Oops"]
    assert runs.path("d", "s", "m", [1.0]) is None


def test_items_share_their_cells():
    """A table and the figures of the same sweep are computed once."""
    folder = data_folder(None)
    if folder is None or not (folder / "emotions").is_dir():
        pytest.skip("the real data folder is missing: set HYPERLABEL_DATA to it")
    plan = Plan(folder, quick=True)
    table = {c.id for c in by_id("neco12-table3").cells(plan)}
    figure = {c.id for c in by_id("neco12-fig2").cells(plan)}
    assert table == figure
