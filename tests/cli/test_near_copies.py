"""Near copies among the rows of a file: `fit` says so, and states the score that new rows will show."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter

import numpy as np
import pytest
from tests.commands import done

from hyperlabel.apps.report import page_scores
from hyperlabel.tabular.near_copies import keep_together
from hyperlabel.tabular.training_table import read_training

TAGS = [f"tag{k}" for k in range(6)]
VOCABULARY = 3000
SHARES = 1 / np.arange(1, VOCABULARY + 1) ** 0.8
SHARES /= SHARES.sum()
SUBJECTS = [np.random.default_rng(k).choice(np.arange(100, VOCABULARY), 40, replace=False) for k in range(6)]


def document(rng, n_words=30):
    """Return the words of a document, of which its tags tell a few, and its tags."""
    on = np.flatnonzero(rng.random(len(TAGS)) < 0.3)
    words = rng.choice(VOCABULARY, n_words, p=SHARES)
    for i in np.flatnonzero(rng.random(n_words) < 0.15):
        words[i] = rng.choice(SUBJECTS[rng.choice(on)]) if len(on) else words[i]
    return words, ";".join(TAGS[k] for k in on)


def copies(path, n_documents, n_copies, most_changed, seed=0):
    """Write documents in several copies, up to a share of whose words was changed in each."""
    rng = np.random.default_rng(seed)
    rows = []
    for _ in range(n_documents):
        words, tags = document(rng)
        for _ in range(n_copies):
            other = rng.choice(VOCABULARY, len(words), p=SHARES)
            share = rng.uniform(min(0.1, most_changed), most_changed)
            copy = np.where(rng.random(len(words)) < share, other, words)
            rows.append([" ".join(f"w{word}" for word in copy), tags])
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["body", "tags"], *(rows[i] for i in rng.permutation(len(rows)))])
    return path


def fitted(path, *options):
    """Fit; return the stated score and what was said about copies."""
    found = done("fit", path, "--labels", "tags", "-o", path.with_suffix(".hyper"), "--json", *options)
    said = [line for line in found.stderr.splitlines() if "twin" in line]
    return json.loads(found.stdout)["score"], " ".join(said)


def on_new_rows(path, new):
    return json.loads(done("evaluate", path.with_suffix(".hyper"), new, "--json").stdout)["f1_macro"]


@pytest.mark.parametrize(("n_copies", "most_changed"), [(4, 0.3), (2, 0.2), (3, 0.0)])
def test_p12_the_score_stated_on_near_copies_is_that_of_new_documents(tmp_path, n_copies, most_changed):
    path = copies(tmp_path / "copies.csv", 200, n_copies, most_changed)
    new = copies(tmp_path / "new.csv", 600, 1, most_changed, seed=1)
    alone, silence = fitted(path, "--group", "")
    assert silence == ""
    assert alone > on_new_rows(path, new) + 0.2  # what was stated without a word
    stated, said = fitted(path)
    assert stated == pytest.approx(on_new_rows(path, new), abs=0.08)
    assert re.match(rf"\d+ of {200 * n_copies} rows have a near twin: twins stay in one fold", said)


def test_a11_six_copies_of_four_rows_do_not_state_a_perfect_score(tmp_path):
    rng = np.random.default_rng(0)
    rows = [[" ".join(f"w{w}" for w in rng.integers(VOCABULARY, size=5)), tag] for tag in TAGS[:4]] * 6
    path = tmp_path / "toy.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["body", "tags"], *rows])
    assert fitted(path, "--group", "")[0] == 1.0
    stated, said = fitted(path)
    assert stated < 0.5
    assert said.startswith("24 of 24 rows have a near twin: twins stay in one fold")


@pytest.mark.parametrize("kind", ["texts", "numbers", "categories"])
def test_files_without_copies_are_fitted_as_before(tmp_path, kind):
    rng = np.random.default_rng(0)
    path = tmp_path / "single.csv"
    if kind == "texts":
        copies(path, 150, 1, 0.0)
    else:
        draw = rng.normal if kind == "numbers" else lambda: rng.choice(["a", "b", "c"])
        rows = [[draw(), draw(), rng.choice(TAGS)] for _ in range(120)]
        with open(path, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["u", "v", "tags"], *rows])
    scores, files = [], []
    for options in ([], ["--group", ""]):
        score, said = fitted(path, *options)
        assert said == ""
        scores.append(score)
        files.append(done("predict", path.with_suffix(".hyper"), path).stdout)
    assert scores[0] == scores[1]
    assert files[0] == files[1]


def test_few_copies_are_counted_and_change_nothing(tmp_path):
    path = copies(tmp_path / "few.csv", 200, 1, 0.0)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([*lines, *lines[1:7]]) + "\n", encoding="utf-8")
    score, said = fitted(path)
    assert "12 of 206 rows have a near twin, so the stated score is too good" in said
    assert "--group COLUMN" in said
    assert score == fitted(path, "--group", "")[0]


def test_nothing_is_said_where_groups_are_named(tmp_path):
    path = copies(tmp_path / "c.csv", 40, 3, 0.1)
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    numbered = [f"{line},g{i % 30}" for i, line in enumerate(lines)]
    path.write_text("\n".join([f"{header},who", *numbered]) + "\n", encoding="utf-8")
    assert fitted(path, "--group", "who")[1] == ""


def test_equal_rows_of_numbers_stay_in_one_fold(tmp_path):
    rng = np.random.default_rng(0)
    rows = [[*rng.normal(size=30).round(4), rng.choice(TAGS[:2])] for _ in range(60)] * 3
    path = tmp_path / "n.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[*(f"x{j}" for j in range(30)), "tags"], *rows])
    stated, said = fitted(path)
    assert "180 of 180 rows have a near twin: twins stay in one fold" in said
    assert stated < fitted(path, "--group", "")[0] - 0.2


def test_the_page_of_a_model_judges_in_the_folds_of_the_fit(tmp_path, monkeypatch):
    path = copies(tmp_path / "c.csv", 60, 3, 0.1)
    fitted(path)
    given = []
    out_of_fold = page_scores._score_out_of_fold
    monkeypatch.setattr(page_scores, "_score_out_of_fold", lambda *a: given.append(a[-1]) or out_of_fold(*a))
    done("report", path.with_suffix(".hyper"), path, "-o", tmp_path / "page.html")
    assert len(given[0]) == 180
    assert len(np.unique(given[0])) == 60
    assert given[1:]  # fits of some of the rows, for the growth of the score, in the same groups
    copies_of = Counter(given[0])
    assert all(n == copies_of[group] for groups in given[1:] for group, n in Counter(groups).items())
    given.clear()
    fitted(path, "--group", "")
    done("report", path.with_suffix(".hyper"), path, "-o", tmp_path / "page.html")
    assert given
    assert all(groups is None for groups in given)


def test_the_page_of_a_model_keeps_the_groups_that_were_named(tmp_path, monkeypatch):
    path = copies(tmp_path / "c.csv", 90, 1, 0.0)
    header, *lines = path.read_text(encoding="utf-8").splitlines()
    numbered = [f"{line},g{i % 20}" for i, line in enumerate(lines)]
    path.write_text("\n".join([f"{header},who", *numbered]) + "\n", encoding="utf-8")
    fitted(path, "--group", "who")
    given = []
    out_of_fold = page_scores._score_out_of_fold
    monkeypatch.setattr(page_scores, "_score_out_of_fold", lambda *a: given.append(a[-1]) or out_of_fold(*a))
    done("report", path.with_suffix(".hyper"), path, "-o", tmp_path / "page.html")
    assert list(given[0]) == [f"g{i % 20}" for i in range(90)]


def test_data_info_and_report_count_copies(tmp_path):
    path = copies(tmp_path / "c.csv", 50, 2, 0.1)
    found = json.loads(done("data", "info", path, "--labels", "tags", "--json").stdout)
    assert found["rows_with_near_twin"] == 100
    done("data", "report", path, "--labels", "tags", "-o", tmp_path / "page.html")
    assert "100 rows with a near twin" in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_copies_that_are_nearly_the_whole_file_cannot_make_folds(tmp_path):
    rows = [["the very same words in every single row", "a" if i % 2 else "b"] for i in range(40)]
    rows += [[f"w{i} x{i} y{i} z{i} q{i} r{i}", "a"] for i in range(10)]
    path = tmp_path / "t.csv"
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["body", "tags"], *rows])
    table, columns = read_training(str(path), labels=["tags"])
    together, sentence = keep_together(table, columns)
    assert together.groups is None
    assert sentence.startswith("40 of 50 rows have a near twin, so the stated score is too good")


def test_suspects_are_judged_without_their_copies(tmp_path):
    path = copies(tmp_path / "c.csv", 60, 3, 0.1)
    said = done("data", "label-errors", path, "--labels", "tags", "-o", tmp_path / "s.csv").stderr
    assert "180 of 180 rows have a near twin: twins stay in one fold" in said


def test_evaluating_on_the_training_file_keeps_near_copies_together_as_the_fit_did(tmp_path):
    path, new = copies(tmp_path / "rows.csv", 150, 4, 0.2), copies(tmp_path / "new.csv", 300, 1, 0.0, seed=1)
    fitted(path)
    assert on_new_rows(path, path) < on_new_rows(path, new) + 0.12


def test_evaluating_on_the_training_file_keeps_the_groups_of_the_fit(tmp_path):
    path = copies(tmp_path / "rows.csv", 150, 4, 0.9)
    with open(path, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    origin = {tags: f"o{i % 40}" for i, tags in enumerate(sorted({row[1] for row in rows}))}
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([[*header, "origin"], *([*row, origin[row[1]]] for row in rows)])
    fitted(path, "--group", "origin", "--text", "body")
    stated = on_new_rows(path, path)
    fitted(path, "--group", "", "--text", "body")
    assert stated < on_new_rows(path, path)  # whole sets of tags were held out
