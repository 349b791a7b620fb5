"""The exercises of docs/learn run as notebooks, in a kernel of their own."""

from __future__ import annotations

import json

import pytest
from notebooks import PAGES, notebook
from tests.optional import optional

nbformat, nbclient = optional("nbformat"), optional("nbclient")
STEMS = [path.stem for path in sorted(PAGES.glob("[0-9]*.md"))]


def test_there_are_eight_exercises():
    assert len(STEMS) == 8


@pytest.mark.parametrize("stem", STEMS)
def test_every_code_line_of_the_page_is_in_its_notebook(stem):
    page = (PAGES / f"{stem}.md").read_text(encoding="utf-8")
    code = "".join("".join(c["source"]) + "\n" for c in notebook(page)["cells"] if c["cell_type"] == "code")
    lines = [line[4:] for line in page.splitlines() if line.startswith((">>> ", "... "))]
    assert lines
    assert code.splitlines() == lines
    text = "".join("".join(c["source"]) for c in notebook(page)["cells"] if c["cell_type"] == "markdown")
    assert ">>>" not in text
    assert ":::" not in text


@pytest.mark.parametrize("stem", STEMS)
def test_notebook_runs(stem, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(PAGES.parents[1] / "src"))
    pages = nbformat.reads(
        json.dumps(notebook((PAGES / f"{stem}.md").read_text(encoding="utf-8"))), as_version=4
    )
    nbformat.validate(pages)
    nbclient.NotebookClient(pages, timeout=300).execute()
    cells = [cell for cell in pages.cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in cells)
