"""Rows that a model was fitted on must not flatter it, whatever command judges it by them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.commands import done, run
from tests.report.test_model_page import content


def texts(path, n, seed):
    """Texts out of many words, so that a model fits its own rows far too well."""
    rng = np.random.default_rng(seed)
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(n):
            tags = rng.choice(6, size=rng.integers(1, 3), replace=False)
            words = [f"w{rng.integers(90) + 50 * tag}" for tag in tags for _ in range(5)]
            file.write(json.dumps({"body": " ".join(words), "tags": [f"t{tag}" for tag in tags]}) + "\n")
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    train, new = texts(folder / "train.jsonl", 200, 0), texts(folder / "new.jsonl", 400, 1)
    lines, others = train.read_text().splitlines(), new.read_text().splitlines()
    for name, content_lines in {
        "half": lines[:100],
        "mixed": lines[:50] + others[:80],
        "more": lines + others[:80],
        "others": others[:80],
        "shuffled": lines[::-1],
    }.items():
        (folder / f"{name}.jsonl").write_text("\n".join(content_lines) + "\n")
    for method in ("ridge", "mlknn"):
        options = ("--labels", "tags", "--text", "body", "--method", method)
        done("fit", train, *options, "-o", folder / f"{method}.hyper")
    for strategy in ("top_k", "label_set_size", "expected_f1"):
        options = ("--labels", "tags", "--text", "body", "--thresholds", strategy)
        done("fit", train, *options, "-o", folder / f"{strategy}.hyper")
    return folder


def judged(place, data, model="ridge"):
    return json.loads(done("evaluate", place / f"{model}.hyper", place / f"{data}.jsonl", "--json").stdout)


@pytest.mark.parametrize("model", ["ridge", "mlknn", "top_k", "label_set_size", "expected_f1"])
@pytest.mark.parametrize("data", ["train", "shuffled"])
def test_evaluate_on_the_training_file_states_what_new_rows_will_show(place, model, data):
    own, new = judged(place, data, model), judged(place, "new", model)
    assert (own["scored"], own["rows_in_fit"], own["n_rows"]) == ("out-of-fold", 200, 200)
    assert (new["scored"], new["rows_in_fit"]) == ("held-out", 0)
    for measure in ("f1_micro", "f1_macro", "precision_at_1"):
        assert own[measure] < new[measure] + 0.06
    told = done("evaluate", place / f"{model}.hyper", place / f"{data}.jsonl").stdout
    assert "200 of 200 rows of" in told
    assert "were in the fit: each row is judged by models of the others." in told


def test_evaluate_states_what_the_fit_stated(place):
    from hyperlabel import load

    stated = load(place / "ridge.hyper")[-1].cv_score_
    assert judged(place, "train")["f1_macro"] == pytest.approx(stated, abs=0.04)


def test_rows_of_the_fit_among_new_ones_are_left_out_and_counted(place):
    mixed, others = judged(place, "mixed"), judged(place, "others")
    assert (mixed["scored"], mixed["rows_in_fit"], mixed["n_rows"]) == ("held-out", 50, 80)
    told = done("evaluate", place / "ridge.hyper", place / "mixed.jsonl").stdout
    assert "50 of 130 rows of" in told
    assert "were in the fit: they are left out." in told
    for measure in ("f1_micro", "f1_macro", "ranking_loss"):
        assert mixed[measure] == pytest.approx(others[measure])


def test_a_part_of_the_training_file_and_all_of_it_with_more_are_judged_out_of_fold(place):
    half, more = judged(place, "half"), judged(place, "more")
    assert (half["scored"], half["rows_in_fit"], half["n_rows"]) == ("out-of-fold", 100, 100)
    assert (more["scored"], more["rows_in_fit"], more["n_rows"]) == ("out-of-fold", 200, 280)
    new = judged(place, "new")
    assert half["f1_micro"] < new["f1_micro"] + 0.06
    assert more["f1_micro"] < new["f1_micro"] + 0.06


def test_pages_judge_the_same_rows_as_the_command(place, tmp_path):
    page = tmp_path / "page.html"
    for data, kind, n_rows in (("train", "out of fold", 200), ("mixed", "as new rows", 80)):
        done("evaluate", place / "ridge.hyper", place / f"{data}.jsonl", "--report", page)
        one = content(page.read_text(encoding="utf-8"))[0]
        told = done("report", place / "ridge.hyper", place / f"{data}.jsonl", "-o", page).stderr
        other = content(page.read_text(encoding="utf-8"))[0]
        assert (one["kind"], one["n"]) == (other["kind"], other["n"]) == (kind, n_rows)
        assert one["worth"] == other["worth"]
        assert "were in the fit" in told
    flattered = done(
        "report", place / "ridge.hyper", place / "train.jsonl", "--scores", "held-out", "-o", page
    )
    assert "on them the model looks better than on new rows" in flattered.stderr.replace("\n", " ")


def test_one_row_of_the_fit_is_refused(place, tmp_path):
    one = tmp_path / "one.jsonl"
    one.write_text((place / "train.jsonl").read_text().splitlines()[0] + "\n")
    refused = run("evaluate", place / "ridge.hyper", one)
    assert refused.exit_code == 2
    assert "which was in the fit: judge the model by other rows" in refused.output


def test_a_part_of_the_training_file_is_judged_by_models_of_that_part_and_says_so(place, tmp_path):
    part = tmp_path / "part.jsonl"
    part.write_text("\n".join((place / "train.jsonl").read_text().splitlines()[:60]) + "\n")
    told = done("evaluate", place / "ridge.hyper", part).stdout
    assert "its whole training file gives its own score" in " ".join(told.split())
    whole = done("evaluate", place / "ridge.hyper", place / "train.jsonl").stdout
    assert "its whole training file" not in " ".join(whole.split())


def test_rows_with_unknown_labels_are_judged_out_of_fold(tmp_path):
    """Folds are fitted on what is known, as the model was."""
    rng = np.random.default_rng(0)
    lines = ["u,v,up,far"]
    for a, b in rng.normal(size=(60, 2)):
        lines.append(f"{a:.4f},{b:.4f},{int(a > 0)},{'' if rng.random() < 0.4 else int(b > 0)}")
    table = tmp_path / "b.csv"
    table.write_text("\n".join(lines) + "\n")
    done("fit", table, "--labels", "up,far", "--blank", "missing", "-o", tmp_path / "m.hyper")
    told = done("evaluate", tmp_path / "m.hyper", table).stdout
    assert "were in the fit: each row is judged by models of the others" in " ".join(told.split())
    assert "looks better than on new rows" not in told


def test_evaluate_says_how_many_rows_without_labels_the_ranking_measures_leave_out(place, tmp_path):
    lines = [json.loads(line) for line in (place / "new.jsonl").read_text().splitlines()]
    some = tmp_path / "some.jsonl"
    some.write_text(
        "".join(
            json.dumps(one | {"tags": one["tags"] if i % 4 else []}) + "\n" for i, one in enumerate(lines)
        )
    )
    told = done("evaluate", place / "ridge.hyper", some).stdout
    assert "100 rows without labels are left out from here on" in told
    values = json.loads(done("evaluate", place / "ridge.hyper", some, "--json").stdout)
    assert values["precision_at_1"] + values["one_error"] == pytest.approx(1.0)
    assert "without labels" not in done("evaluate", place / "ridge.hyper", place / "new.jsonl").stdout
