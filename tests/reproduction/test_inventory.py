"""The inventory of the papers names what exists; what only the papers say is checked by definition."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from reproduction import items
from reproduction.inventory import ROOT, paper_items, resolve

ITEMS = paper_items()
COUNTS = {"kdd08": 37, "jcp14": 27, "cvpr09": 33, "neco12": 53}


def test_every_item_of_every_paper_is_there_once():
    assert {paper: sum(item.paper == paper for item in ITEMS) for paper in COUNTS} == COUNTS
    assert len({(item.paper, item.item) for item in ITEMS}) == 150


def test_at_most_twelve_items_are_impossible_and_each_has_its_proof():
    impossible = [item for item in ITEMS if item.impossible]
    assert len(impossible) <= 12
    assert all(item.proof for item in impossible)


def test_what_works_is_shown_by_code_with_a_test_or_a_page_or_by_a_test():
    for item in ITEMS:
        assert item.test or item.page, item


def test_named_code_and_pages_exist():
    ids = {item.id for item in items()} | {"why"}
    for item in ITEMS:
        if item.code:
            resolve(item.code)
        for page in filter(None, (item.page, item.proof)):
            in_docs = ROOT / "docs" / page if page.startswith("methods/") else ROOT / page
            assert page in ids or in_docs.is_file(), item


def test_a_page_that_shows_an_item_has_numbers_or_curves():
    from reproduction.markdown_pages import read_record

    shown = {result.id for result in read_record(ROOT / "docs" / "reproduction")}
    ids = {item.id for item in items()}
    assert {page for item in ITEMS for page in (item.page, item.proof) if page in ids} <= shown


def test_named_tests_exist():
    tests = {
        node.name
        for file in (ROOT / "tests").rglob("test_*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    assert {item.test for item in ITEMS if item.test} <= tests


@pytest.fixture
def label_sets():
    rng = np.random.default_rng(0)
    Y = (rng.random((30, 5)) < 0.4).astype(float)
    Y[:5] += np.eye(5)
    return np.minimum(Y, 1)[Y.any(axis=1)]


def test_eigenpairs_of_the_star_are_those_of_its_similarity(label_sets):
    """(5): (x_v, x_e) of the bipartite Laplacian gives S x_v = (γ − 1)² x_v."""
    from hyperlabel.geometry import LabelHypergraph

    n, sizes = len(label_sets), label_sets.sum(axis=0)
    adjacency = np.zeros((n + 5, n + 5))
    adjacency[:n, n:] = label_sets / sizes
    adjacency += adjacency.T
    root = 1 / np.sqrt(adjacency.sum(axis=1))
    gammas, vectors = np.linalg.eigh(np.eye(n + 5) - root[:, None] * adjacency * root)
    factor = LabelHypergraph(label_sets).factor("star").toarray()
    x_v = vectors[:n]
    np.testing.assert_allclose(factor @ factor.T @ x_v, (gammas - 1) ** 2 * x_v, atol=1e-12)


@pytest.mark.parametrize("expansion", ["clique", "star", "zhou"])
def test_theorem_4_2_no_orthonormal_factor_is_nearer(expansion, label_sets):
    from hyperlabel.geometry import LabelHypergraph

    H0 = LabelHypergraph(label_sets).factor(expansion).toarray()
    H0 = H0 - H0.mean(axis=0)
    S, best = H0 @ H0.T, np.linalg.svd(H0, full_matrices=False)[0]
    rng = np.random.default_rng(1)
    for step in 10.0 ** rng.uniform(-3, 1, size=50):
        rival = np.linalg.qr(best + step * rng.normal(size=best.shape))[0]
        assert np.linalg.norm(S - best @ best.T) <= np.linalg.norm(S - rival @ rival.T) + 1e-12


def test_the_encoding_error_is_the_tail_of_the_singular_values(label_sets):
    from hyperlabel.labelspace import PrincipalEncoder

    sigma = np.linalg.svd(label_sets - label_sets.mean(axis=0), compute_uv=False)
    for m in range(1, 5):
        encoder = PrincipalEncoder(m).fit(label_sets)
        points = encoder.inverse_transform(encoder.transform(label_sets))
        error = np.sum((label_sets - points) ** 2)
        assert error == pytest.approx(np.sum(sigma[m:] ** 2))


def test_the_worked_flats_hold_their_vertices():
    """§3.1: flats whose rounded projections give every occupied vertex back.

    The second flat is printed with reference point [½, 0]. That one serves [0, 0], [1, 0] and [1, 1]; the
    vertices printed beside it need [0, ½].
    """
    from hyperlabel.geometry.hypercube import round_to_vertex
    from reproduction.flats import FLATS, project

    for flat in FLATS:
        points = project(flat)
        np.testing.assert_array_equal(round_to_vertex(points), flat.vertices)
    printed = project(FLATS[1]._replace(reference=np.array([0.5, 0.0])))
    assert not np.array_equal(round_to_vertex(printed), FLATS[1].vertices)
    assert {flat.name for flat in FLATS} == {"equivalent", "inclusive", "disjoint sub-classes", "sub-classes"}


def test_the_page_of_the_inventory_counts_what_works():
    from reproduction.inventory import inventory_page

    page = inventory_page()
    n_impossible = sum(bool(item.impossible) for item in ITEMS)
    assert f"150 items: {150 - n_impossible} work, {n_impossible} are shown impossible here" in page
    assert Path(ROOT / "docs" / "reproduction" / "inventory.md").read_text(encoding="utf-8") == page
