"""The attack itself: what it once found stays fixed, and it can still find something."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("arff")

from attack import semantic_mutants
from attack.__main__ import attempt, main, minimise
from attack.planted import FAULTS, ROOT
from attack.targets import TARGETS, Target, run
from hyperlabel.datasets import DataError

CORPUS = Path(__file__).parent / "corpus"


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*@*")), ids=lambda path: path.name)
def test_what_once_got_through_is_read_or_refused(path, tmp_path):
    target = TARGETS[path.name.split("@")[0]]
    copy = tmp_path / f"{target.name}{target.ending}"
    shutil.copy(path, copy)
    assert run(target, copy) in ("read", "refused")


@pytest.mark.parametrize("name", list(TARGETS))
def test_every_target_stands_a_few_attacks(name, tmp_path):
    target, rng = TARGETS[name], random.Random(7)
    outcomes = []
    for _ in range({"page": 1, "options": 4}.get(name, 15)):
        path = tmp_path / f"{target.name}{target.ending}"
        path.write_bytes(target.make(rng))
        outcomes.append(run(target, path))
        for left in tmp_path.iterdir():
            left.unlink()
    assert set(outcomes) <= {"read", "refused"}


def test_a_foreign_error_is_a_finding_and_its_input_is_made_short(tmp_path):
    def check(path):
        if b"bad" in path.read_bytes():
            raise KeyError("raw")

    target = Target("made", ".txt", DataError, lambda rng: b"", check)
    kind = attempt(target, tmp_path / "a.txt", b"x" * 50 + b"bad" + b"y" * 50).split(":")[0]
    assert kind == "KeyError in the check"
    small = minimise(target, tmp_path / "a.txt", b"x" * 50 + b"bad" + b"y" * 50, kind)
    assert small == b"bad"


def test_the_command_keeps_what_it_finds(tmp_path, monkeypatch, capsys):
    def check(path):
        raise ZeroDivisionError

    monkeypatch.setitem(TARGETS, "svm", Target("svm", ".svm", DataError, TARGETS["svm"].make, check))
    code = main(
        ["--count", "5", "--seconds", "60", "--targets", "svm", "--keep", str(tmp_path), "--seed", "1"]
    )
    assert code == 1
    assert [path.name.startswith("svm@") for path in tmp_path.iterdir()] == [True]
    assert "5 executions" in capsys.readouterr().out


def test_a_death_by_a_signal_is_a_finding(tmp_path, monkeypatch):
    import os
    import signal

    def check(path):
        os.kill(os.getpid(), signal.SIGSEGV)

    monkeypatch.setitem(TARGETS, "svm", Target("svm", ".svm", DataError, TARGETS["svm"].make, check))
    assert main(["--count", "1", "--seconds", "1", "--targets", "svm", "--keep", str(tmp_path)]) == 1


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault[0])
def test_the_faults_to_plant_still_fit_the_source(fault):
    _, file, old, _, targets = fault
    assert (ROOT / "src" / "hyperlabel" / file).read_text(encoding="utf-8").count(old) == 1
    assert set(targets) <= set(TARGETS)


@pytest.mark.parametrize("number", range(len(semantic_mutants.MUTANTS)))
def test_every_fault_made_by_hand_has_one_place_and_tests_that_exist(number):
    mutant = semantic_mutants.MUTANTS[number]
    source = (semantic_mutants.ROOT / "src" / "hyperlabel" / mutant.file).read_text(encoding="utf-8")
    assert source.count(mutant.old) == 1
    assert all((semantic_mutants.ROOT / "tests" / test).exists() for test in mutant.tests.split())
