from __future__ import annotations

import html as html_text
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from tests.commands import run
from tests.report.html_checks import checked

from hyperlabel import BinaryRelevance, MultiLabelCalibrator
from hyperlabel.apps.comparison.comparison import PairwiseTest
from hyperlabel.apps.report import (
    CooccurrenceDisplay,
    CostDisplay,
    CriticalDifferenceDisplay,
    DifferenceDisplay,
    EmbeddingDisplay,
    LabelScoresDisplay,
    PathDisplay,
    ReliabilityDisplay,
    SpectrumDisplay,
    comparison_report,
)
from hyperlabel.apps.report.data_page import data_report
from hyperlabel.apps.report.page import draw_figure
from hyperlabel.apps.report.summary import _answer_how_sure, answer_questions
from hyperlabel.datasets import Dataset


@pytest.fixture(scope="module")
def html(comparison):
    return comparison_report(comparison)


def test_the_report_is_one_file_with_everything_in_it(html):
    page = checked(html)
    assert page.seen["svg"] >= 7
    assert page.seen["table"] >= 6
    assert not re.search(r'(src|href)="(http|//|file)', html)
    assert "@import" not in html
    assert "url(http" not in html


def test_the_report_answers_the_five_questions(html, comparison):
    for question in (
        "Which method should I use here?",
        "How sure are we?",
        "What does it cost in time and memory?",
        "Which labels does it fail on?",
        "How do I repeat it?",
    ):
        assert question in html
    assert "hyperlabel compare &#39;my file.arff&#39;" in html
    assert "probability" in html
    assert "not a standard error" in html
    assert comparison.best("made") in ("ridge", "strong ridge", "<script>alert(1)</script>")


def test_scores_stand_beside_their_standard_deviation(html):
    assert '<span class="range"> ±' in html


def test_names_are_escaped_and_failures_shown(html):
    assert "<script>alert(1)" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "alpha must be a finite number of at least 0" in html
    assert "did not finish" in html


def test_several_data_sets_get_ranks_and_a_warning_when_few(many):
    html = comparison_report(many)
    checked(html)
    assert "Friedman" in html
    assert "Only 2 data sets: below 8" in html
    assert "Critical-difference diagram" in html
    assert many.across.few
    assert len(many.across.methods) == 3


def test_figures_follow_the_page_colours_and_describe_themselves(html):
    svgs = re.findall(r"<svg.*?</svg>", html, flags=re.S)
    assert all('role="img"' in svg and "<title" in svg for svg in svgs)
    assert all("var(--ink)" in svg for svg in svgs)
    assert not any(re.search(r"#0[0-9a]0[0-9b]0[0-9]", svg) for svg in svgs)  # no stand-in colour is left


def test_the_same_results_give_the_same_bytes(comparison, html):
    assert comparison_report(comparison) == html


def test_a_name_that_a_figure_cuts_is_told_whole():
    """In the middle of a long name stands what tells it from others: pointing at it shows all of it."""
    from hyperlabel.apps.report.page import draw_figure

    long, other = "a <very> long & winding name of a label, " + "x" * 40, "short"
    twin = long.replace("name", "path")  # looks the same once it is cut
    shown = draw_figure(
        LabelScoresDisplay([long, other, twin], [0.5, 0.7, 0.1], [3, 4, 5]).plot, "F1", key="f"
    )
    titles = [html_text.unescape(t) for t in re.findall(r"<text[^>]*><title>(.*?)</title>", shown.svg)]
    assert titles == [f"{long}; {twin}"] * 2
    assert "<very>" not in shown.svg
    checked(f"<div>{shown.svg}</div>")


def test_numbers_names_and_commands_are_written_as_people_write_them():
    from hyperlabel.apps.report.page import format_duration, format_megabytes
    from hyperlabel.apps.report.summary import known_title, without_folders

    assert (format_duration(0.0123), format_duration(4.2), format_duration(130)) == (
        "12 ms",
        "4.2 s",
        "2.2 min",
    )
    assert (format_megabytes(None), format_megabytes(0.2), format_megabytes(2100.0)) == (
        "not measured",
        "< 1 MB",
        "2.1 GB",
    )
    assert known_title("linear-svm") == "LinearSVC per label (scikit-learn)"
    assert known_title("my own") == "my own"
    command = "hyperlabel compare '/home/me/my file.arff' --out=/tmp/x.html -k 3"
    assert without_folders(command) == "hyperlabel compare 'my file.arff' --out=x.html -k 3"


def test_versus_best_agrees_with_the_statistics(comparison):
    from hyperlabel.apps.comparison import corrected_resampled_t

    best = comparison.best("made")
    for v in comparison.versus_best("made"):
        mine = list(comparison.splits("made", best).values())
        theirs = list(comparison.splits("made", v.method).values())
        t = corrected_resampled_t(mine, theirs, test_share=0.5)
        assert (v.difference, v.p_value) == pytest.approx((t.mean, t.p_value))
    other = comparison.ranking("made", "hamming_loss")
    means = [comparison.mean("made", m, "hamming_loss") for m in other]
    assert means == sorted(means)


def test_labels_pool_their_counts(comparison):
    labels = comparison.labels("made", "ridge")
    actual = np.array([label.actual for label in labels])
    assert actual.tolist() == comparison.data_profiles["made"]["label_counts"]
    assert all(label.hits <= min(label.actual, label.predicted) for label in labels)


def test_displays_draw(comparison):
    import matplotlib.pyplot as plt
    from sklearn.datasets import make_multilabel_classification

    from hyperlabel import BinaryRelevance, HypergraphSpectral

    X, Y = make_multilabel_classification(n_samples=60, random_state=0)
    thresholds = [
        PathDisplay.from_estimator(
            BinaryRelevance(),
            X,
            Y,
            param_name="alpha",
            param_range=[0.1, 10.0],
            scoring="f1_micro",
            cv=2,
            log=True,
        ),
        PathDisplay.from_training_sizes(BinaryRelevance(), X, Y, sizes=[10, 20], scoring="f1_micro", cv=2),
        CriticalDifferenceDisplay.from_scores(np.random.default_rng(0).uniform(size=(9, 4)), list("abcd")),
        DifferenceDisplay.from_comparison(comparison, "made"),
        CostDisplay.from_comparison(comparison, "made"),
        LabelScoresDisplay.from_predictions(Y, Y),
        CooccurrenceDisplay.from_labels(Y),
        SpectrumDisplay.from_labels(Y),
        EmbeddingDisplay.from_estimator(HypergraphSpectral(2, alpha=1.0).fit(X, Y), X, Y),
        SpectrumDisplay.from_estimator(HypergraphSpectral(2, alpha=1.0).fit(X, Y)),
    ]
    for display in thresholds:
        assert display.figure_ is display.ax_.figure
    plt.close("all")
    with pytest.raises(ValueError, match="2 scores per split for 3 points"):
        PathDisplay([1, 2, 3], {"a": [[1, 2]]})


def test_an_embedding_draws_every_row_as_a_point_and_names_the_labels_outside_of_them():
    import matplotlib.pyplot as plt

    display = EmbeddingDisplay([[0, 0], [1, 1], [2, 0]], [0, 1, -1], ["red", "blue"])
    display.plot()
    lines = display.ax_.lines
    assert [line.get_marker() for line in lines] == ["o"] * 3
    assert sum(len(line.get_xdata()) for line in lines) == 3
    display.figure_.canvas.draw()
    legend, axes = display.ax_.get_legend().get_window_extent(), display.ax_.get_window_extent()
    assert not legend.overlaps(axes)
    plt.close("all")


def test_without_matplotlib_there_is_one_sentence(monkeypatch, comparison):
    import builtins

    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith(("matplotlib", "jinja2", "markupsafe")):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ValueError, match="hyperlabel\\[report\\]"):
        comparison_report(comparison)
    assert (
        "<code>hyperlabel compare" in answer_questions(comparison)[-1].text
    )  # which the terminal shows without them


def test_reliability_display_draws_calibrated_models():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    Y = (X[:, :3] + rng.normal(size=(200, 3)) > 0.5).astype(int)
    models = {m: MultiLabelCalibrator(BinaryRelevance(), method=m).fit(X, Y) for m in ("sigmoid", "isotonic")}
    display = ReliabilityDisplay.from_estimators(models, X, Y, n_bins=5)
    assert set(display.curves) == set(models)
    for curve in display.curves.values():
        assert curve.calibration_error < 0.1
    assert len(display.ax_.lines) == 3  # two curves and the diagonal


def test_a_difference_that_does_not_matter_is_not_called_clearly_behind():
    """Significantly different by a test is one thing, behind by an amount that counts another."""
    rows = [
        PairwiseTest("near", 0.003, 0.002, 0.004, 0.001, 0.0, 1.0, 0.0),
        PairwiseTest("noisy", 0.02, -0.1, 0.2, 0.4, 0.5, 0.3, 0.2),
        PairwiseTest("far", 0.2, 0.1, 0.3, 0.001, 1.0, 0.0, 0.0),
    ]
    c = SimpleNamespace(datasets=["d"], rope=0.01, versus_best=lambda _: rows)
    text = _answer_how_sure(c, "d", "best")
    assert "significantly different, but by less than 0.01: near; clearly behind (5 % level): 1 of 3." in text
    assert "Not significantly different at the 5 % level: noisy;" in text
    rows[:] = rows[2:]
    assert _answer_how_sure(c, "d", "best").endswith("Clearly behind (5 % level): 1 of 1.")


ODD_NAMES = ["a\x00b\x1b[31mred", "日本語のラベル", "$\\bad{$ and $", "$x$", "\x85 \x0b"]


def odd_data():
    rng = np.random.default_rng(0)
    Y = (rng.random((60, len(ODD_NAMES))) < 0.4).astype(int)
    return Dataset(np.zeros((60, 1)), Y, label_names=ODD_NAMES, name="odd")


def test_rows_of_a_table_begin_with_a_header_cell_of_their_row(html):
    for page in (html, data_report(odd_data(), "odd")):
        assert "&#34;row" not in page
        assert page.count('<th scope="row"') > 5
        assert page.count("<tr><th scope=") == page.count("<tr>")


def test_a_page_holds_no_character_that_html_cannot(recwarn):
    page = data_report(odd_data(), "odd\x00name")
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", page)
    assert "a\N{REPLACEMENT CHARACTER}b" in page
    assert "odd\N{REPLACEMENT CHARACTER}name" in page
    assert not recwarn.list  # matplotlib's about fonts, which the browser has


def test_figures_show_names_as_they_are_dollar_signs_too():
    for name in ("$\\bad{$", "日本語のラベル", "costs $5 to $6"):
        display = CooccurrenceDisplay(np.eye(2), [name, "other"])
        svg = draw_figure(display.plot, "A figure", key="figure").svg
        assert html_text.escape(name, quote=False) in svg


def test_logarithmic_axes_are_labelled_in_plain_numbers():
    display = PathDisplay([0.001, 0.1, 10.0, 1000.0], {"ridge": np.ones((1, 4))}, log=True)
    svg = str(draw_figure(display.plot, "A path", key="path").svg)
    assert "$" not in svg
    assert {"0.001", "0.01", "0.1", "1", "10"} <= set(re.findall(r">([^<>]+)</text>", svg))


def test_the_data_page_of_odd_names_is_written_without_a_warning(tmp_path, capfd):
    path = tmp_path / "d.jsonl"
    rows = ({"body": f"w{i % 5}", "tags": [ODD_NAMES[i % 5], ODD_NAMES[i % 2]]} for i in range(60))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    result = run("data", "report", path, "--labels", "tags", "--text", "body", "-o", tmp_path / "p.html")
    assert result.exit_code == 0, result.output
    assert "Glyph" not in result.output + capfd.readouterr().err
    assert b"\x00" not in (tmp_path / "p.html").read_bytes()
