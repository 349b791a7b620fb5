"""``data drift``: a verdict on two files, labelled or not, that cries wolf rarely (D8)."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from tests.commands import done, run

from hyperlabel.cli._shift import Section, compare_rows, number_sections

WORDS = {"fruit": "apple pear banana", "vehicle": "car lorry tram", "colour": "red green blue"}


def notes(path, n, seed, *, words=WORDS, scale=1.0, tags=True, more=0.0):
    rng = np.random.default_rng(seed)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["note", "size", "shop"] + ["tags"] * tags)
        for _ in range(n):
            chosen = rng.choice(list(words), size=rng.integers(1, 3), replace=False)
            said = " ".join(rng.choice(words[c].split()) for c in chosen)
            if rng.random() < more and "fruit" not in chosen:
                chosen = [*chosen, "fruit"]
            size = scale * rng.normal() + 10
            writer.writerow(
                [f"a note on {said}", f"{size:.4f}", rng.choice(["north", "south"]), ";".join(chosen)][
                    : 3 + tags
                ]
            )
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("drift")
    notes(place / "old.csv", 300, 0)
    notes(place / "same.csv", 300, 7)
    notes(place / "bare.csv", 300, 2, tags=False)
    notes(place / "wide.csv", 300, 3, scale=3.0)
    notes(place / "gone.csv", 300, 4, words=WORDS | {"fruit": "plum fig"}, tags=False)
    notes(place / "more.csv", 300, 5, more=0.9)
    done("fit", place / "old.csv", "--labels", "tags", "-o", place / "m.hyper")
    return place


@pytest.mark.parametrize(
    ("new", "options", "moved"),
    [
        ("same.csv", ["--labels", "tags"], None),
        ("same.csv", [], None),
        ("bare.csv", [], None),
        ("bare.csv", ["--labels", "tags"], None),
        ("bare.csv", ["--model", "{f}/m.hyper"], None),
        ("wide.csv", [], "size (spread)"),
        ("gone.csv", ["--labels", "tags"], ("apple", "pear", "banana", "plum", "fig")),
        ("gone.csv", ["--model", "{f}/m.hyper"], "fruit"),  # its score falls
        ("more.csv", ["--labels", "tags"], "fruit"),
    ],
)
def test_the_verdict_and_what_moved_most(folder, new, options, moved):
    options = [option.format(f=folder) for option in options]
    found = json.loads(done("data", "drift", folder / "old.csv", folder / new, *options, "--json").stdout)
    assert found["drift"] == (moved is not None)
    assert found["drift"] == (found["p_value"] <= found["level"])
    if moved is not None:
        assert found["moved"][0]["name"] in ([moved] if isinstance(moved, str) else moved)


def test_the_verdict_in_words(folder):
    said = done("data", "drift", folder / "old.csv", folder / "gone.csv", "--labels", "tags").stdout
    assert "Drift: the files differ by more than chance" in said
    assert "labels were not compared" in said
    assert "words never seen before" in said
    assert "No drift found (p = " in done("data", "drift", folder / "old.csv", folder / "same.csv").stdout
    assert run("drift", folder / "old.csv", folder / "same.csv").exit_code == 2  # it is a command of data


def test_false_alarms_are_as_rare_as_the_level_says():
    rng = np.random.default_rng(0)
    alarms = 0
    for trial in range(120):
        X = rng.normal(size=(80, 6)) ** 3
        X[:, 1] = X[:, 0]  # columns that hang together
        flags = (rng.random((80, 30)) < 0.2).astype(float)
        parts = [*number_sections(X, [f"x{j}" for j in range(6)]),
                 Section("labels", [f"l{j}" for j in range(30)], flags)]  # fmt: skip
        alarms += compare_rows(parts, 50, seed=trial).alarm
    assert alarms <= 12  # 6 expected; more than 12 has a chance below 1 %


def test_a_column_that_goes_missing_is_seen():
    X = np.random.default_rng(0).normal(size=(200, 1))
    X[120:, 0] = np.nan
    shift = compare_rows(number_sections(X, ["size"]), 100)
    assert shift.alarm
    assert shift.moved[0]["name"] == "size (missing)"
