"""The pages of the methods: every equation leads to the code that names it, and the printed model runs."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from reproduction.inventory import ROOT, add_source_lines, paper_items, resolve, source_line

PAGES = {page.stem: page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "methods").glob("*.md")}
ROWS = [
    pytest.param(page, *cells, id=f"{page} {cells[0]} {cells[2]}")
    for page, text in PAGES.items()
    for line in text.partition("## Equation by equation")[2].partition("\n\n|")[0].splitlines()
    if len(cells := [cell.strip(" `") for cell in line.strip("|").split("|")]) == 4
    and cells[0].startswith("(")
]


def section(text: str, title: str) -> str:
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_every_page_has_its_parts():
    assert sorted(PAGES) == ["hopls", "hypergraph-spectral", "label-space", "rank-svm"]
    for name, text in PAGES.items():
        for title in ("When to use it", "The printed model", "Symbols", "Equation by equation"):
            assert section(text, title), (name, title)
        images = re.findall(r"!\[[^]]+\]\(([^)]+)\)", text)
        assert images, name
        for image in images:
            assert (ROOT / "docs" / "methods" / image).resolve().is_file(), image


@pytest.mark.parametrize(("page", "equations", "what", "code", "file"), ROWS)
def test_an_equation_leads_to_code_that_names_it(page, equations, what, code, file):
    named = resolve(code)
    named = inspect.unwrap(getattr(named, "py_func", named))
    assert Path(inspect.getsourcefile(named)).as_posix().endswith(f"hyperlabel/{file}")
    source = inspect.getsource(named)
    for number in re.findall(r"\(\d+\)", equations):
        assert number in source, f"{code} does not name {number}"


@pytest.mark.parametrize("page", sorted(PAGES))
def test_the_site_says_at_which_line_the_code_of_an_equation_begins(page):
    rows = [row.values for row in ROWS if row.values[0] == page]
    built = add_source_lines(PAGES[page])
    lines = {
        code: int(line) for code, line in re.findall(r"\| `([\w.]+)` \| `[\w/.]+`, line (\d+) \|", built)
    }
    assert set(lines) == {code for _, _, _, code, _ in rows}
    for _, _, _, code, file in rows:
        named = resolve(code)
        name = re.escape(getattr(named, "__name__", ""))
        text = (ROOT / "src" / "hyperlabel" / file).read_text(encoding="utf-8").splitlines()
        definition = next(
            line for line in text[lines[code] - 1 :] if not line.startswith((" " * 5, "@", "    @"))
        )
        assert re.search(rf"(class|def) {name}\b", definition), (code, definition)
        assert lines[code] == source_line(code)


@pytest.mark.parametrize(
    ("page", "paper", "n_equations"),
    [
        ("hypergraph-spectral", "kdd08", 30),
        ("hopls", "jcp14", 13),
        ("rank-svm", "cvpr09", 31),
        ("label-space", "neco12", 7),
    ],
)
def test_every_equation_is_in_the_table_or_the_inventory(page, paper, n_equations):
    at = [row.values[1] for row in ROWS if row.values[0] == page]
    at += [item.at for item in paper_items() if item.paper == paper]
    numbers = {int(number) for text in at for number in re.findall(r"\((\d+)\)", text)}
    assert set(range(1, n_equations + 1)) <= numbers
    assert "(../reproduction/inventory.md)" in section(PAGES[page], "Equation by equation")


def test_the_documentation_is_built_with_these_lines():
    conf = (ROOT / "docs" / "conf.py").read_text(encoding="utf-8")
    assert 'app.connect("source-read", _lines_of_equations)' in conf


def test_the_tables_are_not_empty():
    pages = [row.values[0] for row in ROWS]
    assert {page: pages.count(page) >= 4 for page in PAGES} == dict.fromkeys(PAGES, True)


@pytest.mark.parametrize("page", sorted(PAGES))
def test_the_printed_model_of_a_page_runs_as_pasted(page):
    (code,) = re.findall(r"```python\n(.*?)```", section(PAGES[page], "The printed model"), re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code, f"docs/methods/{page}.md", "exec"), names)
    results = {
        "hopls": "predicted",
        "hypergraph-spectral": "scores",
        "label-space": "losses",
        "rank-svm": "predicted",
    }
    assert len(names[results[page]])


@pytest.mark.parametrize("page", sorted(PAGES))
def test_parameters_beside_the_paper_s_symbols_exist(page):
    """The second column of the symbols names parameters or attributes of the page's classes."""
    import hyperlabel as hl

    classes = [
        getattr(hl, name)
        for name in dict.fromkeys(re.findall(r"`(\w+)`", PAGES[page]))
        if inspect.isclass(getattr(hl, name, None))
    ]
    known = " ".join(inspect.getdoc(cls) or "" for cls in classes)
    known += " ".join(name for cls in classes for name in (*inspect.signature(cls).parameters, *dir(cls)))
    for line in section(PAGES[page], "Symbols").splitlines()[2:]:
        for name in re.findall(r"`(\w+)", line.rpartition(" | ")[2]):
            assert name in known, (page, name)


def test_the_front_page_names_the_papers_with_links():
    front = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    for year, name in (
        ("KDD 2008", "hypergraph-spectral"),
        ("2014", "hopls"),
        ("CVPR 2009", "rank-svm"),
        ("2012", "label-space"),
    ):
        lines = [line for line in front.splitlines() if f"(methods/{name}.md)" in line]
        assert any(year in line for line in lines), name
    assert "reproduction/summary.md" in front
    assert "reproduction/inventory.md" in front
