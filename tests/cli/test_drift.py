"""``data drift``: a verdict on two files, labelled or not, that cries wolf rarely (D8)."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from tests.commands import done, run

from hyperlabel.tabular.fit_rows import find_fit_rows, hash_rows, pack_hashes
from hyperlabel.tabular.model_file import ModelColumns, open_model
from hyperlabel.tabular.permutation_test import PERMUTATIONS, ColumnGroup, compare_sections, number_sections

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
        ("wide.csv", [], "size (deviation)"),
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
    assert "Drift: the files differ significantly" in said
    assert "labels were not compared" in said
    assert "words never seen before" in said
    assert "No drift detected (p = " in done("data", "drift", folder / "old.csv", folder / "same.csv").stdout
    assert run("drift", folder / "old.csv", folder / "same.csv").exit_code == 2  # it is a command of data


def test_false_alarms_are_as_rare_as_the_level_says():
    rng = np.random.default_rng(0)
    alarms = 0
    for trial in range(120):
        X = rng.normal(size=(80, 6)) ** 3
        X[:, 1] = X[:, 0]  # columns that hang together
        flags = (rng.random((80, 30)) < 0.2).astype(float)
        parts = [*number_sections(X, [f"x{j}" for j in range(6)]),
                 ColumnGroup("labels", [f"l{j}" for j in range(30)], flags)]  # fmt: skip
        alarms += compare_sections(parts, 50, seed=trial).alarm
    assert alarms <= 12  # 6 expected; more than 12 has a chance below 1 %


def test_a_column_that_goes_missing_is_seen():
    X = np.random.default_rng(0).normal(size=(200, 1))
    X[120:, 0] = np.nan
    shift = compare_sections(number_sections(X, ["size"]), 100)
    assert shift.alarm
    assert shift.moved[0]["name"] == "size (missing)"


# -- rows of the fit ------------------------------------------------------------------------------------


def topics(path, n, rng, copies=None):
    """Texts of one to three topics out of many words, so that a model fits its own rows far too well."""
    with open(path, "w", encoding="utf-8") as file:
        for i in range(n):
            tags = rng.choice(8, size=rng.integers(1, 4), replace=False)
            text = " ".join(f"w{rng.integers(60) + 40 * tag}" for tag in tags for _ in range(12))
            line = {"body": text, "tags": [f"t{tag}" for tag in tags], "document": f"{path.stem}{i}"}
            for _ in range(1 if copies is None else rng.integers(1, copies + 1)):
                file.write(json.dumps(line) + "\n")
    return path


def compare(old, new, *options):
    return json.loads(done("data", "drift", old, new, *options, "--json").stdout)


def test_the_training_file_as_old_raises_no_more_false_alarms_than_the_level(tmp_path):
    """In-sample scores against those of new rows alarmed in every one of these trials."""
    alarms, trials, rng = 0, 12, np.random.default_rng(11)
    for trial in range(trials):
        old, new = topics(tmp_path / "old.jsonl", 160, rng), topics(tmp_path / "new.jsonl", 100, rng)
        done("fit", old, "--labels", "tags", "--text", "body", "-o", tmp_path / "m.hyper")
        found = compare(old, new, "--model", tmp_path / "m.hyper", "--seed", trial)
        assert found["scores_compared"]
        assert any(one["kind"] == "scores" for one in found["moved"])
        alarms += found["drift"]
    assert alarms <= 3  # 0.6 expected; more than 3 has a chance of 0.2 %


def test_scores_that_cannot_be_compared_are_left_out_and_it_is_said(tmp_path):
    rng = np.random.default_rng(0)
    old, new = topics(tmp_path / "old.jsonl", 120, rng), topics(tmp_path / "new.jsonl", 80, rng)
    bare = tmp_path / "bare.jsonl"
    lines = [json.loads(line) for line in old.read_text().splitlines()]
    bare.write_text("".join(json.dumps({"body": one["body"]}) + "\n" for one in lines))
    done("fit", old, "--labels", "tags", "--text", "body", "-o", tmp_path / "m.hyper")
    done("fit", old, "--labels", "tags", "--text", "body", "--method", "mlknn", "-o", tmp_path / "k.hyper")
    cases = [
        ((bare, new, "--model", tmp_path / "m.hyper"), "OLD lacks the labels"),
        ((new, old, "--model", tmp_path / "m.hyper"), "120 rows of NEW are rows of the fit"),
        ((old, new, "--model", tmp_path / "k.hyper"), "mlknn models take too long"),
    ]
    for words, sentence in cases:
        told = done("data", "drift", *words)
        assert f"Scores were not compared: {sentence}" in told.stderr.replace("\n", " ") or (
            f"and {sentence}" in told.stderr.replace("\n", " ")
        )
        assert not compare(*words)["scores_compared"]
        assert not any(one["kind"] == "scores" for one in compare(*words)["moved"])


def test_scores_still_find_a_shift_of_the_training_file(folder):
    found = compare(folder / "old.csv", folder / "gone.csv", "--model", folder / "m.hyper")
    assert found["drift"]
    assert found["scores_compared"]
    assert {one["name"] for one in found["moved"][:4] if one["kind"] == "scores"}


def test_rows_of_the_fit_are_found_by_content_in_every_kind_of_row():
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 6)) * (rng.random((40, 6)) < 0.8)
    X[0, 0] = np.nan
    mixed = np.empty((40, 7), dtype=object)
    mixed[:, 0], mixed[:, 1:] = [f"text {i}" for i in range(40)], X
    cases = [
        (ModelColumns("table", [], text=["body"]), [f"text {i}" for i in range(40)]),
        (ModelColumns("table", [], n_features=6, text=["body"]), mixed),
        (ModelColumns("arff", [], n_features=6), X),
        (ModelColumns("arff", [], n_features=6), sparse.csr_array(X)),
    ]
    for columns, rows in cases:
        noted = ModelColumns(**(vars(columns) | {"row_hashes": pack_hashes(hash_rows(columns, rows[:30]))}))
        some = find_fit_rows(noted, rows[20:])
        assert some.in_fit.tolist() == [True] * 10 + [False] * 10
        assert not some.has_whole_fit
        assert find_fit_rows(noted, rows[5:]).n_in_fit == 25
        whole = find_fit_rows(noted, rows[::-1])
        assert whole.has_whole_fit
        assert whole.n_in_fit == 30
        assert find_fit_rows(noted, rows[30:]).n_in_fit == 0
    assert hash_rows(cases[2][0], X) == hash_rows(cases[3][0], sparse.csr_array(X))
    assert len(noted.row_hashes) == 8 * 30


def test_rows_that_recur_by_nature_are_not_taken_for_rows_of_the_fit():
    """Few categories: new rows equal old ones though nobody copied them."""
    rng, columns = np.random.default_rng(0), ModelColumns("arff", [], n_features=2)
    X = rng.integers(0, 4, (300, 2)).astype(float)
    noted = ModelColumns(**(vars(columns) | {"row_hashes": pack_hashes(hash_rows(columns, X[:150]))}))
    assert find_fit_rows(noted, X[150:]).n_in_fit == 0
    assert find_fit_rows(noted, X[:150]).n_in_fit == 150


def test_update_and_forget_change_which_rows_are_of_the_fit(tmp_path):
    rng = np.random.default_rng(0)
    old, new = topics(tmp_path / "old.jsonl", 60, rng), topics(tmp_path / "new.jsonl", 30, rng)
    model = tmp_path / "m.hyper"
    done("fit", old, "--labels", "tags", "--text", "body", "-o", model)

    def in_fit(path):
        columns = open_model(str(model)).columns
        texts = [json.loads(line)["body"] for line in path.read_text().splitlines()]
        return find_fit_rows(columns, texts).n_in_fit

    assert (in_fit(old), in_fit(new)) == (60, 0)
    done("update", model, new)
    assert (in_fit(old), in_fit(new)) == (60, 30)
    done("update", model, "--forget", old)
    assert (in_fit(old), in_fit(new)) == (0, 30)


# -- groups ---------------------------------------------------------------------------------------------


def test_copies_dealt_whole_to_two_files_raise_no_alarm_with_their_group(tmp_path):
    """Documents in one to five copies: rows of one are not independent, and without --group it alarms."""
    alarms, without, trials, rng = 0, 0, 25, np.random.default_rng(5)
    for trial in range(trials):
        old = topics(tmp_path / "old.jsonl", 60, rng, copies=5)
        new = topics(tmp_path / "new.jsonl", 40, rng, copies=5)
        options = ("--labels", "tags", "--text", "body", "--seed", trial)
        alarms += compare(old, new, *options, "--group", "document")["drift"]
        without += compare(old, new, *options)["drift"]
    assert alarms <= 4  # 1.25 expected; more than 4 has a chance of 1 %
    assert without >= 15


def test_a_shift_is_found_with_groups_of_the_model_too(tmp_path):
    """The group is read with --model, and in a file that lacks columns of the other, as well."""
    rng = np.random.default_rng(1)
    old, new = topics(tmp_path / "old.jsonl", 60, rng, 3), topics(tmp_path / "new.jsonl", 60, rng, 3)
    lines = [json.loads(line) for line in new.read_text().splitlines()]
    for i, line in enumerate(lines):
        line["body"] += " shifted" if i % 2 else ""
    new.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done("fit", old, "--labels", "tags", "--text", "body", "-o", tmp_path / "m.hyper")
    for options in (("--text", "body"), ("--model", tmp_path / "m.hyper")):
        assert compare(old, new, *options, "--group", "document")["drift"]
        missing = run("data", "drift", old, new, *options, "--group", "dokument")
        assert missing.exit_code == 2
        assert "dokument" in missing.output


def exact_p_value(values, groups, is_new):
    """Every deal of groups to the two files, and of the rows of shared groups within them, counted alike."""
    import itertools

    def largest_z(new):
        n, m = len(values), new.sum()
        std = values.std(axis=0) * np.sqrt(m * (n - m) / (n - 1))
        z = (values[new].sum(axis=0) - m * values.mean(axis=0)) / std
        return np.abs(z).max(), (z**2).mean()

    names = sorted(set(groups))
    shares = {name: is_new[groups == name] for name in names}
    pure = [name for name in names if len(set(shares[name].tolist())) == 1]
    mixed = [name for name in names if name not in pure]
    n_new = sum(bool(shares[name][0]) for name in pure)
    deals = []
    for taken in itertools.combinations(pure, n_new):
        inside = [set(itertools.permutations(shares[name].tolist())) for name in mixed]
        for given in itertools.product(*inside):
            new = np.isin(groups, taken)
            for name, pattern in zip(mixed, given, strict=True):
                new[groups == name] = pattern
            deals.append(largest_z(new))
    table = np.round(np.array([largest_z(is_new), *deals]).T, 9)
    extreme = np.array([[(row >= value).mean() for value in row] for row in table])
    least = np.round(extreme.min(axis=0), 9)
    return (least <= least[0]).mean()


def test_groups_are_permuted_whole_and_shared_ones_within_themselves():
    """Against every deal, written down by hand: groups of unequal size, one of them in both files."""
    rng = np.random.default_rng(2)
    groups = np.array([0, 0, 0, 1, 1, 2, 3, 3, 4, 5, 5, 6, 6, 6, 6])
    is_new = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 1, 1], dtype=bool)
    for trial in range(6):
        values = rng.normal(size=(15, 2)) + 1.2 * (trial % 3) * is_new[:, None]
        order = np.argsort(is_new, kind="stable")
        found = compare_sections(
            [ColumnGroup("numbers", ["a", "b"], values[order])],
            int((~is_new).sum()),
            groups=groups[order],
            seed=trial,
        )
        exact = exact_p_value(values, groups, is_new)
        assert found.p_value == pytest.approx(
            exact, abs=4 * np.sqrt(exact * (1 - exact) / PERMUTATIONS) + 0.01
        )


# -- p-values -------------------------------------------------------------------------------------------


def test_a_p_value_counts_what_was_seen_and_is_never_zero():
    values = np.r_[np.zeros(60), np.ones(60)][:, None] + np.linspace(0, 0.1, 120)[:, None]
    assert compare_sections([ColumnGroup("numbers", ["size"], values)], 60).p_value == 1 / (PERMUTATIONS + 1)
    one_row = np.eye(40)[:, :1]  # |z| is the same whichever file has the row
    assert compare_sections([ColumnGroup("numbers", ["size"], one_row)], 20).p_value == 1.0


def test_a_column_whose_statistic_is_always_the_same_hides_no_shift_and_makes_none():
    """Ties count as at least as extreme: a tied column says nothing, it is not the most extreme of all."""
    rng = np.random.default_rng(0)
    tied = ColumnGroup("numbers", ["tied"], np.eye(200)[:, :1])
    shifted = ColumnGroup(
        "words", ["moved"], (rng.random((200, 1)) < np.repeat([0.2, 0.7], 100)[:, None]) * 1.0
    )
    same = ColumnGroup("words", ["same"], (rng.random((200, 1)) < 0.4) * 1.0)
    assert compare_sections([tied, shifted], 100).p_value <= 0.01
    assert compare_sections([tied, same], 100).p_value == pytest.approx(
        compare_sections([same], 100).p_value, abs=0.02
    )
