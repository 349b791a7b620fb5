"""The items of the papers: their cells, what is collected from them, and the claims they are judged by."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from reproduction import Plan, Runs, items
from reproduction.data import FILES, data_folder

WANTED = [
    "kdd08-distance",
    "kdd08-table1",
    "kdd08-table2",
    *("kdd08-sqrt-n", "kdd08-longest", "kdd08-terms", "kdd08-peak"),
    *(f"jcp14-metric-{measure}" for measure in ("f1", "precision", "recall")),
    *(
        "jcp14-weights",
        "jcp14-tradeoffs",
        "jcp14-cca",
        "jcp14-caps",
        "cvpr09-tuned1",
        "cvpr09-tuned2",
        "cvpr09-mass",
    ),
    *(f"kdd08-fig{i}" for i in range(1, 8)),
    *(f"jcp14-table{i}" for i in range(1, 5)),
    "jcp14-fig1",
    *(f"cvpr09-table{i}" for i in range(1, 4)),
    "cvpr09-theorem1",
    "neco12-stopping",
    "neco12-ranking",
    *(f"neco12-table{i}" for i in range(2, 5)),
    *(f"neco12-fig{i}" for i in range(2, 13)),
    *("kdd08-kernel", "cvpr09-kernel", "neco12-sets", "neco12-topics"),
    *("beyond-semi", "beyond-evidence", "beyond-weights", "beyond-setsize"),
]


def by_id(name):
    return next(item for item in items() if item.id == name)


def test_results_tell_when_the_code_of_a_protocol_has_changed(monkeypatch, tmp_path):
    from hyperlabel.apps.comparison import environment

    assert Path(__file__).parents[2] / "reproduction" in environment.CODE_FOLDERS
    monkeypatch.setattr(environment, "CODE_FOLDERS", [*environment.CODE_FOLDERS, tmp_path])
    (tmp_path / "protocol.py").write_text("SPLITS = 10\n")
    before = environment.code_fingerprint.__wrapped__()
    (tmp_path / "protocol.py").write_text("SPLITS = 20\n")
    assert environment.code_fingerprint.__wrapped__() != before


def test_everything_the_papers_show_can_be_asked_for():
    assert sorted(item.id for item in items()) == sorted(WANTED)
    assert all(set(item.data) <= set(FILES) for item in items())


@pytest.mark.real_data
def test_spectral_forms_agree_and_regularisation_helps(load_real):
    """One partition of scene at few λ: the numbers of METHODS §5 within the spread of one partition."""
    from reproduction import kdd08

    data = kdd08.prepare(load_real("scene"))
    values = {
        (v.series, v.metric, v.x): v.value for v in kdd08._spectral(data, 0, 900, (100.0,), True, 0).values
    }
    for expansion in ("c", "*", "z", "cca"):
        assert values[f"HG_{expansion}", "roc_auc", 0.0] == pytest.approx(0.861, abs=0.03)
        assert values[f"HG_{expansion}", "roc_auc", 100.0] == pytest.approx(0.924, abs=0.02)
        assert values[f"lsHG_{expansion}", "roc_auc", 100.0] == pytest.approx(0.924, abs=0.02)


def run_of(data="d", split=0, **details):
    name = f"{data}{split}"
    return {"id": name, "spec": {"data": data, "split": split}, "status": "done", "error": None,
            "details": details}  # fmt: skip


def test_a_page_says_by_itself_that_an_edge_of_a_grid_was_chosen():
    grid = {"m": {"knn__alpha": [0.1, 1.0, 10.0]}}
    inside = [run_of(split=i, chosen={"m": {"knn__alpha": 1.0}}, grids=grid) for i in range(2)]
    assert Runs(inside, []).choice_notes() == [
        "Searched: m: alpha 0.1, 1, 10.",
        "Every choice lies inside its grid.",
    ]
    edge = run_of(split=2, chosen={"m": {"knn__alpha": 10.0}}, grids=grid)
    assert "d, m: alpha = 10 in 1 of 3" in Runs([*inside, edge], []).choice_notes()[1]
    assert Runs([run_of()], []).choice_notes() == []


def test_every_number_names_the_cells_it_comes_from():
    values = [{"cell": f"d{i}", "series": "s", "metric": "m", "x": None, "value": 0.5} for i in (0, 1, 1)]
    runs = Runs([run_of(split=0), run_of(split=1)], values)
    number = runs.number("row", "column", runs.scores("d", "s", "m"))
    assert (number.cells, number.n) == (("d0", "d1"), 2)


def test_the_warm_search_of_the_rankers_scores_what_cold_fits_score():
    from hyperlabel import HypergraphRankSVM, RankSVM
    from hyperlabel.datasets import make_multilabel
    from hyperlabel.metrics import f1_score
    from reproduction.cvpr09 import _add_path_scores
    from reproduction.search import search_grid

    data = make_multilabel(120, 6, 4, random_state=0)
    X, Y = data.X, data.Y.toarray()
    grid = {"C": (1.0, 8.0), "weight": (0.5,), "nu": (1.0, 4.0)}
    found = {}
    _add_path_scores(X, Y, grid, 2, 0, {"tol": 1e-6}, found)
    assert sorted(found) == [
        (0.0, 1.0, 1.0),
        (0.0, 1.0, 8.0),
        *((0.5, n, C) for n in (1.0, 4.0) for C in (1.0, 8.0)),
    ]
    cold = {}

    def score(model, X, Y):
        at = (getattr(model, "hypergraph_weight", 0.0), getattr(model, "nu", 1.0), model.C)
        cold.setdefault(at, []).append(f1_score(Y, model.predict(X), average="macro"))
        return cold[at][-1]

    search_grid(RankSVM(tol=1e-6, random_state=0), {"C": grid["C"]}, X, Y, score, 2, 0)
    hyper = HypergraphRankSVM(tol=1e-6, random_state=0)
    search_grid(
        hyper, {"C": grid["C"], "hypergraph_weight": grid["weight"], "nu": grid["nu"]}, X, Y, score, 2, 0
    )
    assert found == pytest.approx({at: np.mean(scores) for at, scores in cold.items()})
    assert len(set(found.values())) > 2


def test_all_projections_search_the_same_ridge():
    from reproduction import jcp14

    for quick in (False, True):
        grids = {name: grid for name, (_, grid) in jcp14._projections(6, 100, 72, quick).items() if grid}
        ridge = grids["OPLS"]["alpha"]
        assert {"HOPLS", "HOPLS (trace)", "CCA", "LPP", "MDDM"} <= set(grids)
        for name, grid in grids.items():
            assert grid.get("alpha", ridge) == ridge, name
        assert grids["MDDM"]["mu"] == tuple(1 / (1 + a) for a in ridge)


def test_a_claim_that_fails_is_named_with_both_numbers():
    from reproduction import Number, Result
    from reproduction.claims import PAPER_CLAIMS, judge_claims, sentence, summary

    rows = {"HG_c^λ": 0.7, "HG_c": 0.6, "lsHG_c^λ": 0.72, "RankSVM": 0.71, "SVM per label": 0.705}
    result = Result("kdd08-table2", "t", [Number(row, "Arts", v) for row, v in rows.items()])
    text = "\n".join(summary([result]))
    assert "| regularisation helps every form | `kdd08-table2` | holds | 1 | 0 | 0 | – |" in text
    assert "above RankSVM | `kdd08-table2` | in part | 1 | 0 | 1 | – |" in text
    assert "above RankSVM (`kdd08-table2`): HG_c^λ, Arts (0.7000, 0.7100)." in text
    assert "agree to .01 | `kdd08-table2` | fails | 0 | 0 | 1 | – |" in text
    assert "| an SVM per label is below RankSVM | `kdd08-table2` | holds | 1 | 0 | 0 | – |" in text
    assert "| HOPLS has the best F1 | `jcp14-table2` | not run | – | – | – | – |" in text
    uneven = Result(
        "kdd08-table2", "t", [Number("HG_c^λ", "Arts", 0.7, n=3), Number("HG_c", "Arts", 0.6, n=1)]
    )
    assert "| regularisation helps every form | `kdd08-table2` | not run | – | – | – | – |" in summary(
        [uneven]
    )
    counts = sentence("the papers", judge_claims(PAPER_CLAIMS, [result]))
    assert counts.startswith(f"{len(PAPER_CLAIMS)} claims of the papers: 2 hold, 1 hold in part, 1 fail, ")


def test_pairs_that_the_splits_do_not_tell_apart_are_level():
    from reproduction import Number, Result
    from reproduction.claims import PAPER_CLAIMS, judge_claims

    def scores(row, *by_split):
        return Number(row, "Arts", float(np.mean(by_split)), n=len(by_split), by_split=by_split)

    def verdict(*with_lambda):
        numbers = [scores("HG_c^λ", *with_lambda), scores("HG_c", 0.60, 0.62, 0.61)]
        return judge_claims(PAPER_CLAIMS[:1], [Result("kdd08-table2", "t", numbers)])[0]

    assert verdict(0.70, 0.72, 0.715).word == "holds"
    assert verdict(0.61, 0.61, 0.615).word == "level"  # differences .01, -.01, .005
    assert verdict(0.50, 0.53, 0.51).word == "fails"


def test_points_of_a_figure_are_compared_split_by_split():
    from reproduction import Curve, Result
    from reproduction.claims import PAPER_CLAIMS, judge_claims

    claim = next(
        claim for claim in PAPER_CLAIMS if claim.text == "PLST is below PBR in Hamming loss at every M"
    )
    losses = {"PBR": [[0.3, 0.2], [0.32, 0.2]], "PLST": [[0.25, 0.2], [0.27, 0.2]]}
    curve = Curve("yeast: hamming loss against M", [1.0, 2.0], losses, "M", "hamming loss")
    (found,) = judge_claims([claim], [Result("neco12-fig2", "t", curves=[curve])])
    assert (found.count(1), found.count(0), found.count(-1)) == (1, 1, 0)
    assert found.word == "holds or level"


def test_every_printed_score_is_counted_once_and_by_one_reading():
    from reproduction.item import PRINTED
    from reproduction.readings import READINGS, n_printed

    counted = [reading for reading in READINGS if reading.counted]
    assert [reading.paper for reading in counted] == ["kdd08", "jcp14", "cvpr09", "neco12"]
    assert [n_printed(reading.paper) for reading in counted] == [68, 84, 12, 15]
    results = published_results()
    for reading in counted:
        names = [name for name, _ in reading.numbers(results)]
        assert len(set(names)) == len(names) == n_printed(reading.paper), reading.paper
    for reading in READINGS:  # another reading speaks of the same printed scores
        own = dict(next(r for r in counted if r.paper == reading.paper).numbers(results))
        for name, number in reading.numbers(results):
            assert own[name].paper == number.paper, name
    assert set(PRINTED["errors"]["neco12-table3"]) == set(PRINTED["tables"]["neco12-table3"])


def test_a_hamming_loss_is_met_by_standard_errors_and_other_scores_by_a_distance():
    from reproduction import Number
    from reproduction.readings import is_met

    def met(name, ours, std=0.0):
        return is_met(name, Number("", "", ours, std, paper=0.19916))

    br = ("neco12", "yeast", "BR")  # printed standard error .00211
    assert met(br, 0.19916 + 0.0042)
    assert not met(br, 0.19916 + 0.0043)
    assert met(br, 0.19916 + 0.0043, std=0.002)
    assert met(("kdd08", "HG_c", "Yeast"), 0.2191)
    assert not met(("kdd08", "HG_c", "Yeast"), 0.2193)


def test_printed_triples_that_no_runs_can_have_are_found():
    from reproduction.why_page import Triple, printed_triples

    rng = np.random.default_rng(0)
    precision, recall = rng.uniform(0.4, 0.9, size=(2, 500, 20))
    f1 = 2 * precision * recall / (precision + recall)
    for i in range(500):
        triple = Triple("", "", f1[i].mean(), precision[i].mean(), recall[i].mean())
        assert not triple.is_impossible
    p, r = 0.7 + 0.01 * rng.normal(size=100_000), 0.6 + 0.03 * rng.normal(size=100_000)
    small = Triple("", "", (2 * p * r / (p + r)).mean(), p.mean(), r.mean())
    spread = np.std(r.mean() * (p - p.mean()) - p.mean() * (r - r.mean())) / p.mean()
    assert small.needed_deviation == pytest.approx(spread, rel=0.02)
    assert sum(triple.is_impossible for triple in printed_triples()) == 5


PAGES = Path(__file__).parents[2] / "docs" / "reproduction"


def published_results():
    from reproduction.markdown_pages import read_record

    return read_record(PAGES)


def test_the_published_pages_are_those_of_the_published_record():
    """Every page says what the code says of results.json, whose numbers name their cells."""
    from reproduction.markdown_pages import pages

    record = published_results()
    assert record
    for result in record:
        assert all(number.cells for number in result.numbers), result.id
    for name, text in pages(record).items():
        assert (PAGES / name).read_text(encoding="utf-8") == text, name


def test_a_run_of_one_item_leaves_the_others_on_the_pages(tmp_path):
    from reproduction import Curve, Number, Result
    from reproduction.markdown_pages import read_record, write_markdown

    curve = Curve("p", [1.0], {"a": [[0.123456789], [math.nan]]}, "x", "y")
    table = Result("kdd08-table1", "t", [Number("r", "c", 0.5, n=1, cells=("x",), by_split=(0.5,))])
    figure = Result("kdd08-fig1", "t", curves=[curve], notes=["n"], made="today")
    write_markdown([figure], [], tmp_path)
    write_markdown([table], [], tmp_path)
    first, second = read_record(tmp_path)
    assert (first.id, first.numbers) == ("kdd08-table1", table.numbers)
    assert (second.notes[-1], second.made) == ("n", "today")
    (first_split,), (second_split,) = second.curves[0].scores["a"]
    assert first_split == 0.123457
    assert math.isnan(second_split)
    write_markdown([Result("kdd08-fig1", "nothing was computed")], [], tmp_path)
    assert read_record(tmp_path)[1].curves


def test_an_unfinished_run_replaces_nothing_over_more_partitions(tmp_path):
    from reproduction import Curve, Number, Result
    from reproduction.markdown_pages import read_record, write_markdown
    from reproduction.result import Cpu

    def result(*sizes, rows=1, **options):
        numbers = [
            Number(f"r{i}", "c", float(n), n=n, cells=("x",), by_split=(0.5,) * n)
            for i, n in enumerate(sizes)
            if n
        ]
        curves = [Curve(title, [1.0], {"a": [[0.5]] * rows}, "x", "y") for title in "pq"[: len(sizes)]]
        return Result("kdd08-table2", "t", numbers, curves, **options)

    def stored():
        (one,) = read_record(tmp_path)
        return one

    def sizes():
        return [number.n for number in stored().numbers], [len(c.scores["a"]) for c in stored().curves]

    write_markdown([result(10, 3, 3, rows=2, notes=["first"], made="2026-11-18: x")], [], tmp_path)
    write_markdown([result(0, 1, complete=False, notes=["n"])], [], tmp_path)
    assert sizes() == ([10, 3, 3], [2, 2])
    assert stored().notes[-1] == "first"
    write_markdown([result(0, 7, 2, rows=3, complete=False, notes=["n"])], [], tmp_path)
    assert sizes() == ([10, 7, 3], [3, 3])
    assert stored().notes[-2:] == [
        "n",
        "2 numbers of this item came from an earlier run (2026-11-18), "
        "which has as many partitions of the data or more.",
    ]
    quick = Result("kdd08-table2", quick_cpu=Cpu(2, 5.0))
    write_markdown([Result("kdd08-table2", complete=False)], [quick], tmp_path)
    assert sizes() == ([10, 7, 3], [3, 3])
    assert stored().quick_cpu == Cpu(2, 5.0)
    write_markdown([result(1, 1, 1, notes=["n"])], [], tmp_path)
    assert sizes() == ([1, 1, 1], [1, 1])
    write_markdown([result(1, 1, 1, rows=5, complete=False)], [], tmp_path)
    assert sizes() == ([1, 1, 1], [1, 1])


def test_our_m_star_follows_the_rule_of_the_paper():
    from reproduction import neco12

    plan = Plan(None, quick=True)
    cells = [run_of("emotions", split) for split in range(2)]
    values = []
    for split, jitter in enumerate((-0.01, 0.01)):
        loss = {("BR", None): 0.20, ("PLST", 1.0): 0.25, ("PLST", 2.0): 0.215}
        values += [
            {"cell": f"emotions{split}", "series": s, "metric": "hamming_loss", "x": x, "value": v + jitter}
            for (s, x), v in loss.items()
        ]
    # spread .01·√2, so each standard error is .01: .215 is within .02 of .20, .25 is not
    assert neco12._own_best_m(plan, Runs(cells, values), "emotions") == 2.0


def test_a_rate_is_read_off_a_geometric_sequence():
    from reproduction.cvpr09 import linear_rate

    rate, fit = linear_rate(3.0 * 0.9 ** np.arange(60))
    assert rate == pytest.approx(0.9)
    assert fit == pytest.approx(1.0)
    rate, fit = linear_rate(1.0 / np.arange(1, 200))
    assert rate > 0.98  # 1/t has no such factor: it tends to 1


@pytest.mark.parametrize("alpha", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("expansion", ["clique", "star", "zhou", "cca"])
def test_the_distance_of_the_two_forms_stays_below_its_bound(alpha, expansion):
    from sklearn.datasets import make_multilabel_classification

    import hyperlabel as hl
    from reproduction.kdd08_forms import distance_bound

    X, Y = make_multilabel_classification(200, 15, n_classes=5, random_state=0)
    forms = [
        hl.HypergraphSpectral(form=form, expansion=expansion, alpha=alpha).fit(X[:120], Y[:120])
        for form in ("exact", "least_squares")
    ]
    bound = distance_bound(forms[1].components_, forms[1].transform(X[:120]), alpha)
    for rows in (X[:120], X[120:]):
        K, other = (z @ z.T for z in (form.transform(rows) for form in forms))
        for order in (2, "fro"):
            assert np.linalg.norm(K - other, order) <= (bound + 1e-9) * np.linalg.norm(K, order)
    assert bound < 1


def test_terms_are_scored_as_the_reference_defines():
    from sklearn.metrics import mutual_info_score

    from reproduction.kdd08_text import term_scores

    rng = np.random.default_rng(0)
    X, Y = rng.poisson(0.5, size=(60, 8)), (rng.random((60, 3)) < 0.4).astype(int)
    has_term = X > 0
    gain = [sum(mutual_info_score(term, y) for y in Y.T) for term in has_term.T]
    np.testing.assert_allclose(term_scores("information gain", X, Y), gain, atol=1e-12)
    pointwise = [
        max(np.log((term & (y > 0)).mean() / (term.mean() * y.mean())) for y in Y.T) for term in has_term.T
    ]
    np.testing.assert_allclose(term_scores("mutual information", X, Y), pointwise)
    np.testing.assert_array_equal(term_scores("frequent", X, Y), has_term.sum(axis=0))
    assert term_scores("mutual information", np.zeros((60, 1)), Y)[0] == -np.inf


def test_the_constant_answer_is_chosen_on_training_rows():
    from reproduction import cvpr09

    Y = np.array([[1, 1, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]])
    found = cvpr09._constant_value(Y, Y)
    assert found.value == pytest.approx(2 * 7 / (8 + 8))


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


def test_the_cost_of_a_plan_is_measured_or_estimated_from_other_partitions_and_counted_once():
    from hyperlabel.apps.comparison import Job, JobResult, Store, run
    from reproduction import Result
    from reproduction.claims import costs

    def cell(work, split):
        return Job({"data": "d", "what": work, "split": split}, JobResult)

    with Store(":memory:") as store:
        run([cell("a", 0), cell("a", 1)], store, "s")
        done = store.cells("s")
        assert all(c["details"]["cpu_seconds"] >= 0 for c in done)
    for c, seconds in zip(done, (60.0, 180.0), strict=True):
        c["details"]["cpu_seconds"] = seconds
    planned, counted = [cell("a", i) for i in range(3)] + [cell("b", 0)], set()
    cost = Runs(done, []).cpu(planned, counted)
    assert (cost.cells, cost.measured, cost.estimated, cost.unknown) == (4, 240.0, 120.0, 1)
    assert Runs(done, []).cpu(planned, counted).cells == 0
    text = "\n".join(costs([Result("t", cpu=cost, quick_cpu=cost)]))
    assert "`python -m reproduction`: 6 minutes of one core, 4 of them measured" in text
    assert "`--quick`: 6 minutes" in text
    assert "1 cells of work not run at all are not counted" in text
    assert "| `t` | 4 | 6.0 |" in text
    whole = Runs(done, []).cpu(planned[:2], set())
    assert "`python -m reproduction`: 4 minutes of one core, all measured." in costs([Result("t", cpu=whole)])
    assert "minutes of one core" not in "\n".join(costs([Result("t")]))


def test_items_share_their_cells():
    """A table and the figures of the same sweep are computed once."""
    folder = data_folder(None)
    if folder is None or not (folder / "emotions").is_dir():
        pytest.skip("the real data folder is missing: set HYPERLABEL_DATA to it")
    plan = Plan(folder, quick=True)
    table = {c.id for c in by_id("neco12-table3").cells(plan)}
    figure = {c.id for c in by_id("neco12-fig2").cells(plan)}
    assert figure < table  # the table also has CS with one fixed matrix


def test_every_note_belongs_to_an_item_and_every_name_of_a_note_is_known():
    from reproduction.item import PRINTED

    assert set(PRINTED["about"]) <= set(WANTED)
    assert set(PRINTED["tables"]) <= set(WANTED)
    for texts in PRINTED["about"].values():
        assert all(" " in PRINTED["notes"].get(text, text) for text in texts)
    stopping = by_id("neco12-stopping").result(Plan(None), Runs([], []))
    assert stopping.notes[0].startswith("CS at the paper's M*, a Hadamard matrix; the paper does not say how")
    assert stopping.notes[1] == PRINTED["notes"]["standard-error"]


def test_the_evidence_is_that_of_the_normal_distribution():
    from scipy import linalg, stats

    from reproduction.beyond import log_evidence

    rng = np.random.default_rng(0)
    X, F = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    U = linalg.orth(F - F.mean(axis=0))
    Q = linalg.null_space(np.ones((1, 12)))  # what centring leaves
    Z = Q.T @ (X - X.mean(axis=0))

    def brute(alpha):
        shape = np.eye(11) + Z @ Z.T / alpha
        variance = np.trace(U.T @ Q @ np.linalg.solve(shape, Q.T @ U)) / U.size * 12 / 11
        return sum(stats.multivariate_normal(cov=variance * shape).logpdf(Q.T @ u) for u in U.T)

    found = log_evidence(X, F, (0.5, 3.0, 40.0))
    np.testing.assert_allclose(np.diff(found), np.diff([brute(a) for a in (0.5, 3.0, 40.0)]), rtol=1e-8)
    np.testing.assert_allclose(log_evidence(X, F @ rng.normal(size=(2, 2)), (0.5, 3.0, 40.0)), found)


@pytest.mark.parametrize(("gain", "said"), [(0.1, "they could be"), (-0.1, "§3.4's rule stays")])
def test_the_page_says_whether_held_out_set_sizes_gain_on_every_set(gain, said):
    from reproduction import beyond

    cells = [{"id": name, "spec": {"data": name, "split": 0}} for name in ("emotions", "scene")]
    scores = {"emotions": (0.5, 0.6), "scene": (0.5, 0.5 + gain)}
    values = [
        {"cell": name, "series": rule, "metric": f"f1_{average}", "x": None, "value": value}
        for name, pair in scores.items()
        for rule, value in zip(("§3.4", "out-of-fold"), pair, strict=True)
        for average in ("macro", "micro")
    ]
    (note,) = beyond._collect_set_sizes(Plan(None), Runs(cells, values)).notes
    assert note.startswith(f"Out-of-fold sizes gain macro F1 on {1 + (gain > 0)} of 2 sets: {said}")


def test_smoothed_rows_carry_the_laplacian_in_their_ridge():
    from sklearn.neighbors import kneighbors_graph

    from hyperlabel import RankSVM
    from reproduction.beyond import SmoothRows, smoothed_methods

    rng = np.random.default_rng(0)
    X, rest, Y = rng.normal(size=(20, 4)), rng.normal(size=(30, 4)), rng.integers(0, 2, size=(20, 3))
    Y[:2] = [[1, 0, 0], [0, 1, 1]]
    Z = np.vstack([X, rest])
    A = np.maximum((near := kneighbors_graph(Z, 10).toarray()), near.T)
    scaled = Z / np.sqrt(A.sum(axis=1))[:, None]
    M = sum(A[i, j] * np.outer(g, g) for i in range(50) for j in range(i) for g in [scaled[i] - scaled[j]])
    metric = np.eye(4) + 2.0 * 4 / np.trace(M) * M
    lift = SmoothRows(rest, weight=2.0).fit(X, Y).lift_
    np.testing.assert_allclose(np.linalg.inv(lift @ lift), metric, rtol=1e-8)
    np.testing.assert_array_equal(SmoothRows(rest).fit(X, Y).transform(X), X)
    ranker, _ = smoothed_methods(rest, 0)["Rank-HLapSVM"]
    ranker.set_params(smooth__weight=2.0, method__hypergraph_weight=0.0, method__C=1.0, method__tol=1e-8)
    inner = RankSVM(1.0, kernel="precomputed", tol=1e-8).fit(X @ np.linalg.solve(metric, X.T), Y)
    found = ranker.fit(X, Y)[-1].rank_scores(ranker[:-1].transform(rest))
    expected = inner.rank_scores(rest @ np.linalg.solve(metric, X.T))
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_the_search_of_the_rankers_goes_on_past_every_edge_and_fits_nothing_twice(monkeypatch):
    from hyperlabel.datasets import make_multilabel
    from reproduction import cvpr09

    data, asked = make_multilabel(60, 4, 3, random_state=0), []

    class Fitted:
        def __init__(self, weight, nu, C):
            self.hypergraph_weight, self.C_, self.at = weight, C, (weight, nu, C)

        def predict(self, X):
            asked.append(self.at)
            return self.at

    def path(X, Y, *, Cs, hypergraph_weights, nu, **_):
        return [Fitted(w, nu, C) for w in hypergraph_weights for C in Cs]

    def closeness(Y, at, average):
        return -sum(abs(np.log(v / best)) for v, best in zip(at, (40.0, 0.6, 64.0), strict=True) if v)

    monkeypatch.setattr(cvpr09, "rank_svm_path", path)
    monkeypatch.setattr(cvpr09, "f1_score", closeness)
    grid = {"C": (1.0, 8.0, 64.0), "weight": (0.1, 1.0, 8.0), "nu": (2.0, 8.0)}
    best, wide = cvpr09._search_rankers(data.X, data.Y.toarray(), grid, 2, 0, {})
    assert best == [(0.0, 2.0, 64.0), (64.0, 0.5, 64.0)]
    assert sorted(wide["C"]) == [1.0, 8.0, 64.0, 512.0]
    assert sorted(wide["weight"]) == [0.1, 1.0, 8.0, 64.0, 512.0]
    assert sorted(wide["nu"]) == [0.125, 0.5, 2.0, 8.0]
    assert len(asked) == 2 * len(set(asked))


class MadeUp(Plan):
    """A plan whose data sets are made up."""

    def has(self, name):
        return name in ("emotions", "yeast")

    def load(self, name):
        from hyperlabel.datasets import make_multilabel

        return make_multilabel(200, 6, 3, random_state=len(name), name=name)


@pytest.mark.parametrize("name", ["neco12-sets", "kdd08-kernel", "cvpr09-kernel", "beyond-setsize"])
def test_a_contest_is_tuned_inside_and_shows_every_entrant(name, monkeypatch):
    from hyperlabel.apps.comparison import Store, run
    from reproduction import beyond

    monkeypatch.setattr(beyond, "keep_frequent_labels", lambda data: data)
    item, plan = by_id(name), MadeUp(None, quick=True)
    with Store(":memory:") as store:
        cells = item.cells(plan)
        assert run(cells, store, name).failed == 0, [c["error"] for c in store.cells(name)]
        runs = Runs(store.cells(name), store.values(name))
    result = item.collect(plan, runs)
    assert len(result.rows()) == len({(c.spec["data"], c.spec.get("method")) for c in cells})
    assert all(number.cells for number in result.numbers)
    assert runs.choice_notes()[0].startswith("Searched: ")
