"""``python -m reproduction``: its options, its sentences and its files."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.json_schema import faults

from hyperlabel.datasets import Dataset
from reproduction import Plan, Runs, items
from reproduction.command import main

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "reproducing.md").read_text(encoding="utf-8")
SCHEMA = json.loads(re.search(r"```json\n(.*?)```", PAGE, re.DOTALL)[1])


def test_without_data_nothing_is_invented():
    listed = CliRunner().invoke(main, ["--list", "--data", "."])
    assert listed.exit_code == 0
    assert listed.output.count("no data") == len(items())
    nothing = Plan(None, quick=True)
    for item in items():
        assert item.cells(nothing) == []
        result = item.collect(nothing, Runs([], []))
        assert result.numbers == []
        assert result.curves == []
    done = CliRunner().invoke(main, ["kdd08-table2"], env={"HYPERLABEL_DATA": ""})
    assert done.exit_code == 2
    assert "The benchmark files are needed" in done.output


def test_missing_benchmark_files_come_with_the_way_to_get_them(tmp_path, monkeypatch):
    monkeypatch.delenv("HYPERLABEL_DATA", raising=False)
    listing = CliRunner().invoke(main, ["--list", "--data", str(tmp_path)]).stdout
    assert "no data" in listing
    assert "--fetch gets what OpenML has and says where the other files come from" in listing
    without = CliRunner().invoke(main, [])
    assert without.exit_code == 2
    assert "--data or HYPERLABEL_DATA" in without.output


def test_a_run_without_any_data_computes_nothing_and_fails(tmp_path):
    arguments = ["kdd08-table1", "--quick", "--data", str(tmp_path)]
    files = ["--store", str(tmp_path / "s.sqlite"), "--out", str(tmp_path / "r.html")]
    done = CliRunner().invoke(main, [*arguments, *files])
    assert done.exit_code == 2
    assert "Nothing could be computed" in done.output


@pytest.fixture
def made_up_emotions(tmp_path):
    """A folder that holds made-up rows under the name of a data set, and the options that name its files."""
    rng = np.random.default_rng(0)
    Y = (rng.random((40, 6)) < 0.4).astype(int)
    Dataset(rng.normal(size=(40, 72)), Y, name="emotions").save(tmp_path / "emotions.npz")
    files = ["--store", str(tmp_path / "s.sqlite"), "--out", str(tmp_path / "r.html")]
    return ["--quick", "--n-jobs", "1", "--data", str(tmp_path), *files]


def test_collecting_from_an_empty_store_does_not_blame_the_data(made_up_emotions):
    done = CliRunner().invoke(main, ["neco12-table2", "--collect-only", *made_up_emotions])
    assert done.exit_code == 2
    assert "s.sqlite holds no result of neco12-table2: run it without --collect-only" in done.output
    assert "none of the data" not in done.output


@pytest.mark.parametrize("option", ["--fresh", "--retry-failed"])
def test_collecting_computes_nothing_whatever_else_is_asked(option, made_up_emotions, monkeypatch):
    call = ["neco12-table2", *made_up_emotions, "--json"]
    with monkeypatch.context() as patch:
        if option == "--retry-failed":
            patch.setattr("reproduction.item.distinct_vertices", lambda Y: 1 / 0)
        first = CliRunner().invoke(main, call)
    monkeypatch.setattr("hyperlabel.apps.comparison.runner.execute_job", lambda cell: pytest.fail("computed"))
    again = CliRunner().invoke(main, [*call, "--collect-only", option])
    assert (again.exit_code, again.stdout) == (first.exit_code, first.stdout)


def test_a_quick_form_without_cells_does_not_blame_the_data(made_up_emotions, tmp_path):
    (tmp_path / "emotions.npz").rename(tmp_path / "corel5k.npz")
    done = CliRunner().invoke(main, ["neco12-fig3", *made_up_emotions])
    assert done.exit_code == 2
    assert "the quick form leaves these data sets out" in done.output


def test_a_run_whose_cells_all_fail_does_not_blame_the_data(made_up_emotions, monkeypatch):
    def fail(*_, **__):
        raise ArithmeticError("no such statistic")

    monkeypatch.setattr("reproduction.item.distinct_vertices", fail)
    done = CliRunner().invoke(main, ["neco12-table2", *made_up_emotions])
    assert done.exit_code == 2
    assert "every cell failed: emotions: ArithmeticError: no such statistic" in done.output
    assert "none of the data" not in done.output


@pytest.mark.parametrize("call", [["--list"], ["neco12-table2"]])
def test_json_is_what_the_guide_says(call, made_up_emotions):
    done = CliRunner().invoke(main, [*call, *made_up_emotions, "--json"])
    assert done.exit_code == 0, done.output
    assert faults(json.loads(done.stdout), SCHEMA["--list" if "--list" in call else "ID"]) == []
    assert "NaN" not in done.stdout


def test_every_option_is_in_the_guide():
    options = [option for param in main.params for option in param.opts if option.startswith("--")]
    assert [option for option in options if f"`{option}" not in PAGE] == []


def test_the_module_runs_from_a_clone_and_ends_in_one_sentence(tmp_path):
    root = Path(__file__).parents[2]
    call = [sys.executable, "-m", "reproduction", "nature99", "--data", str(tmp_path)]
    done = subprocess.run(call, cwd=root, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr == "Error: There is no 'nature99': python -m reproduction --list shows what there is.\n"
    )


def test_a_stopped_run_says_that_results_are_kept(made_up_emotions, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("reproduction.running.run", stop)
    done = CliRunner().invoke(main, ["neco12-table2", *made_up_emotions])
    assert done.exit_code == 130
    assert "Finished results are kept: the same command goes on where it stopped." in done.output


def test_partitions_come_one_after_the_other_for_every_data_set(tmp_path):
    """So that a stopped run has as many partitions of each, and its means can be compared."""
    from functools import partial

    from hyperlabel.apps.comparison.runner import Job, JobResult
    from reproduction.item import Item
    from reproduction.result import Result
    from reproduction.running import RunOptions, run_items

    order = []

    def work(name, i):
        order.append((name, i))
        return JobResult([])

    def cells(plan):
        return [Job({"data": name, "split": i}, partial(work, name, i)) for name in "ab" for i in range(11)]

    item = Item("x", "", (), cells, lambda plan, runs: Result())
    run_items([item], Plan(tmp_path), RunOptions(str(tmp_path / "s.sqlite"), "x"))
    assert order == [(name, i) for i in range(11) for name in "ab"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nature99"], "There is no 'nature99'"),
        (["--data", "/nowhere/x"], "does not exist"),
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
    arguments = ["neco12-table3", "neco12-fig10", "--quick", "--n-jobs", "1"]
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
    assert [page.name for page in (tmp_path / "md").iterdir() if "-quick" not in page.name] == []
    text = (tmp_path / "md" / "neco12-quick.md").read_text()
    assert "quick run" in text
    assert "scikit-learn" in text
