"""A page of rows with labels that nobody knows: left out, counted, and still unknown when saved."""

from __future__ import annotations

import json

import numpy as np
from scipy import sparse
from tests.commands import done
from tests.report.test_model_page import content

from hyperlabel import BinaryRelevance
from hyperlabel.apps.report.diagnostics import reliability_curves, replaced_labels
from hyperlabel.apps.report.model_numbers import PageScores, summary_metrics, threshold_tables
from hyperlabel.tabular import open_model


def test_no_number_of_a_page_sees_the_scores_of_unknown_entries():
    rng = np.random.default_rng(0)
    Y = (rng.random((120, 3)) < 0.4).astype(float)
    hidden = rng.random(Y.shape) < 0.3
    known = sparse.csr_array(np.where(hidden, 0.0, Y))
    scores = Y + 0.7 * rng.normal(size=Y.shape)
    thresholds, missing = np.full(3, 0.5), sparse.csr_array(hidden.astype(float))
    plain, other = (
        PageScores(np.where(hidden, s, scores), known, thresholds, "as new rows", missing=missing)
        for s in (scores, -scores)
    )
    for name, value in summary_metrics(plain).items():
        np.testing.assert_array_equal(value, summary_metrics(other)[name])
    assert replaced_labels(plain) == replaced_labels(other)
    for j, table in enumerate(threshold_tables(plain)):
        rows = ~hidden[:, j]
        assert table.with_label.sum() == Y[rows, j].sum()
        assert table.without.sum() == (1 - Y[rows, j]).sum()
    summary = summary_metrics(plain)
    assert (summary["predicted"] == ((scores > 0.5) & ~hidden).sum(axis=0)).all()
    assert (summary["hits"] == ((scores > 0.5) & (Y > 0) & ~hidden).sum(axis=0)).all()
    assert sum(point[4] for point in reliability_curves(plain)["all"]) == (~hidden).sum()


def test_a_page_counts_unknown_entries_and_writes_them_as_unknown(tmp_path):
    rng = np.random.default_rng(1)
    lines, X = [], rng.normal(size=(90, 2)).round(3)
    for a, b in X.tolist():
        lines.append(f"{a},{b},{int(a > 0)},{'' if rng.random() < 0.4 else int(b > 0)}")
    table, page = tmp_path / "b.csv", tmp_path / "p.html"
    table.write_text("\n".join(["u,v,up,far", *lines]) + "\n")
    n_unknown = sum(line.endswith(",") for line in lines)
    done("fit", table, "--labels", "up,far", "--blank", "missing", "-o", tmp_path / "m.hyper")
    done("report", tmp_path / "m.hyper", table, "-o", page)
    header, _ = content(page.read_text(encoding="utf-8"))
    assert f"{n_unknown} of 180 label entries unknown and left out" in header["facts"]["shown"]
    assert [labels for labels in header["unknown"] if labels] == [[1]] * n_unknown
    assert header["kind"] == "out of fold"
    assert header["export"]["labels"] == ["up", "far"]
    # as the page writes a row without the answer about far, and with it
    row = next(i for i, line in enumerate(lines) if line.endswith(","))
    before = {"u": X[row, 0], "v": X[row, 1], "up": int(X[row, 0] > 0), "far": "unknown"}
    for name, record in (("before", before), ("corrected", before | {"far": 1})):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(record) + "\n")
    forget = ["--forget", tmp_path / "before.jsonl", "-o", tmp_path / "c.hyper"]
    done("update", tmp_path / "m.hyper", tmp_path / "corrected.jsonl", *forget)
    lines[row] += "1"
    table.write_text("\n".join(["u,v,up,far", *lines]) + "\n")
    old, learned = (open_model(str(tmp_path / f"{name}.hyper")) for name in "mc")
    Y = np.array([[np.nan if cell == "" else float(cell) for cell in line.split(",")[2:]] for line in lines])
    ridge = BinaryRelevance(alpha=old.model[-1].estimator_.alpha_, threshold=0.0)
    want = ridge.fit(old.model[0].transform(X), Y)
    np.testing.assert_allclose(learned.model[-1].estimator_.coef_, want.coef_, atol=1e-8)
