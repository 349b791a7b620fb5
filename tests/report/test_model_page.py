"""The page of a model: what is in it, how large it is, and that nothing in the data can break out."""

from __future__ import annotations

import base64
import gzip
import json
import re

import numpy as np
import pytest
from click.testing import CliRunner
from tests.report.made_model import rows, run

from hyperlabel.apps.cli import main
from hyperlabel.apps.report.model_page import page_script
from hyperlabel.apps.report.pack import pack_arrays, weight_planes


def content(html):
    """What the page carries, as its scripts read it."""
    text = re.search(r'<script type="text/plain" id="packed">([^<]*)</script>', html).group(1)
    raw = gzip.decompress(base64.b64decode(text))
    length = int.from_bytes(raw[:8], "little")
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def test_nothing_of_the_data_stands_in_the_page_as_html(made):
    assert "hijacked" not in made["html"]
    assert not re.search(r'(src|href)="(http|//|file)', made["html"])
    assert str(made["data"].parent) not in made["html"]


def test_the_page_says_where_its_scores_come_from(made, tmp_path):
    assert content(made["html"])[0]["kind"] == "out of fold"
    other = tmp_path / "other.jsonl"
    other.write_text("".join(json.dumps(row) + "\n" for row in rows(80, seed=1)), encoding="utf-8")
    page = tmp_path / "page.html"
    run("report", made["model"], other, "-o", page)
    assert content(page.read_text(encoding="utf-8"))[0]["kind"] == "as new rows"
    run("report", made["model"], other, "-o", page, "--scores", "out-of-fold", "--no-texts")
    found = content(page.read_text(encoding="utf-8"))[0]
    assert (found["kind"], found["texts"], found["export"]) == ("out of fold", None, None)


def test_the_page_reads_nothing_that_is_not_written_into_it(made):
    script, (header, _) = page_script(), content(made["html"])
    read_keys = set(re.findall(r"\bdata\.([a-zA-Z_]+)\b", script))
    written_keys = {*header, *header["arrays"], *re.findall(r"\bdata\.([a-zA-Z_]+) = ", script)}
    assert read_keys - written_keys == {"featureOf", "featureStart"}  # of models of numbers, not of texts


def test_the_same_rows_give_the_same_page(made, tmp_path):
    run("report", made["model"], made["data"], "-o", tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == made["html"]


def test_out_of_fold_scores_are_those_the_thresholds_were_tuned_on(made):
    """The counts at the model's threshold give the score the fit printed: labels this clear are cut alike."""
    from hyperlabel import load

    found, raw = content(made["html"])
    arrays = {
        name: np.frombuffer(raw, np.uint32, size, start)
        for name, (kind, start, size) in found["arrays"].items()
        if kind == "Uint32Array"
    }
    f1 = []
    for j, t in enumerate(found["chosen"]):
        first, last = arrays["edgeStart"][j] + j, arrays["edgeStart"][j + 1] + j + 1
        carried, lacking = arrays["withLabel"][first:last], arrays["without"][first:last]
        hits, claimed = carried[t + 1 :].sum(), carried[t + 1 :].sum() + lacking[t + 1 :].sum()
        f1.append(2 * hits / (claimed + carried.sum()))
    assert np.mean(f1) == pytest.approx(load(made["model"])[-1].cv_score_, abs=1e-9)
    assert found["worth"]["crossFitted"]


def test_five_thousand_rows_and_111_labels_fit_in_two_megabytes():
    """Scores, counts and a model of 2500 words, without texts; random weights compress worst."""
    from scipy import sparse

    from hyperlabel.apps.report.model_numbers import PageScores
    from hyperlabel.apps.report.model_page import PageRows, _add_labels, _collect_rows

    rng = np.random.default_rng(0)
    Y = sparse.csr_array((rng.random((5000, 111)) < rng.geometric(0.05, 111) / 600).astype(np.int64))
    judged = PageScores(
        -1 + Y.toarray() + 0.4 * rng.normal(size=Y.shape), Y, np.full(111, -0.3), "out of fold"
    )
    kept = np.arange(5000)
    p = np.clip((judged.scores + 1) / 2, 0.01, 0.99)
    contents, arrays = _collect_rows(judged, PageRows(), kept, rng.permutation(5000), p)
    _add_labels(judged, p, kept, contents, arrays)
    arrays["weights"], contents["step"] = weight_planes(rng.normal(scale=0.3, size=(2500, 111)))
    assert len(pack_arrays(contents, arrays)) <= 2e6 - 60_000  # the rest is the page around it


def test_weights_survive_packing_to_a_millionth():
    weights = np.random.default_rng(0).normal(scale=3, size=(50, 7))
    for factor, norm in ((1.0, "l2"), (1e6, "l2"), (1.0, "")):
        planes, step = weight_planes(factor * weights, norm)
        coded = (planes.astype(np.int64) * 256 ** np.arange(len(planes))[:, None]).sum(axis=0)
        read = np.where(coded % 2, -(coded + 1) // 2, coded // 2) * step
        assert np.abs(read - factor * weights.ravel()).max() <= step / 2 <= 1e-7
    assert len(weight_planes(np.zeros((2, 2)))[0]) == 1


@pytest.mark.parametrize("method", ["mlknn", "plst"])
def test_methods_that_are_not_linear_say_why_they_do_not_run_in_the_page(made, tmp_path, method):
    run(
        "fit",
        made["data"],
        "--labels",
        "tags",
        "--text",
        "body",
        "--method",
        method,
        "-o",
        tmp_path / "m.hyper",
    )
    run("report", tmp_path / "m.hyper", made["data"], "-o", tmp_path / "p.html")
    found = content((tmp_path / "p.html").read_text(encoding="utf-8"))[0]
    assert (found["vectoriser"] is None) == (method == "mlknn")
    assert bool(found["noTry"]) == (method == "mlknn")


def test_numbers_beside_the_text_and_numbers_alone(made, tmp_path):
    """Numbers stand at their median when a text is tried; without text there is nothing to type."""
    mixed = tmp_path / "mixed.jsonl"
    lines = [{**row, "length": len(row["body"])} for row in rows()]
    mixed.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    run(
        "fit", mixed, "--labels", "tags", "--text", "body", "--features", "length", "-o", tmp_path / "m.hyper"
    )
    run("report", tmp_path / "m.hyper", mixed, "-o", tmp_path / "p.html")
    found = content((tmp_path / "p.html").read_text(encoding="utf-8"))[0]
    assert found["vectoriser"]["scale"] == 1.0
    assert found["numbers"][0] == [len(lines[0]["body"])]
    assert found["export"]["numbers"] == ["length"]
    run("fit", mixed, "--labels", "tags", "--features", "length", "-o", tmp_path / "n.hyper")
    run("report", tmp_path / "n.hyper", mixed, "-o", tmp_path / "p.html")
    assert content((tmp_path / "p.html").read_text(encoding="utf-8"))[0]["noTry"]


def test_a_model_without_rows_and_rows_without_its_labels_end_in_one_sentence(made, tmp_path):
    result = CliRunner().invoke(main, ["report", str(made["model"])])
    assert result.exit_code == 2
    assert "Name labelled rows too" in result.output
    (tmp_path / "x.jsonl").write_text('{"body": "a b", "tags": ["unknown"]}\n', encoding="utf-8")
    result = CliRunner().invoke(main, ["report", str(made["model"]), str(tmp_path / "x.jsonl")])
    assert result.exit_code == 2
    assert "carries a label of the model" in result.output


def test_categories_and_several_texts_are_shown_and_written(tmp_path):
    table = tmp_path / "t.jsonl"
    lines = [{**row, "head": f"title {i % 3} of it", "kind": "abc"[i % 3]} for i, row in enumerate(rows())]
    table.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    for given, runs in ((["--text", "body"], True), (["--text", "body,head"], False)):
        run("fit", table, "--labels", "tags", *given, "-o", tmp_path / "m.hyper")
        run("report", tmp_path / "m.hyper", table, "-o", tmp_path / "p.html")
        found = content((tmp_path / "p.html").read_text(encoding="utf-8"))[0]
        assert (found["vectoriser"] is not None) == runs
        assert found["texts"][0].startswith(lines[found["rows"][0] - 1]["body"])
    assert found["export"] is not None
    assert found["cells"][0] == [lines[found["rows"][0] - 1][name] for name in found["columns"]]


def test_a_page_knows_which_labels_of_a_row_nobody_knows(tmp_path):
    """It writes them as unknown: as 0 the model would learn what nobody said."""
    table, lines = tmp_path / "t.csv", ["body,a,b"]
    for i in range(60):
        lines.append(f"word{i % 7} said{i % 5} here,{int(i % 7 < 3)},{'' if i % 9 == 0 else int(i % 5 < 2)}")
    table.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for blank, n_unknown in (("missing", 7), ("no", 0)):
        options = ("--labels", "a,b", "--text", "body", "--blank", blank)
        run("fit", table, *options, "-o", tmp_path / "m.hyper")
        run("report", tmp_path / "m.hyper", table, "-o", tmp_path / "p.html")
        found = content((tmp_path / "p.html").read_text(encoding="utf-8"))[0]
        assert found["export"] is not None
        assert sum(map(len, found["unknown"])) == n_unknown
