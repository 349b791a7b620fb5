"""Write the exercises of docs/learn as Jupyter notebooks: python tools/notebooks.py FOLDER.

A block of ``>>>`` lines becomes a code cell without its output, everything else a cell of text. An answer
that unfolds on the page stands below its question.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGES = Path(__file__).resolve().parents[1] / "docs" / "learn"


def cells_of(page: str) -> Iterator[dict[str, Any]]:
    """Yield the cells of a page: text as Markdown, sessions as code."""
    pieces = re.split(r"^```pycon\n(.*?)^```$", page, flags=re.MULTILINE | re.DOTALL)
    for i, piece in enumerate(pieces):
        is_code = i % 2 == 1
        source = "\n".join(_statements(piece)) if is_code else _plain_markdown(piece)
        if not source:
            continue
        cell: dict[str, Any] = {"id": f"cell{i}", "metadata": {}, "source": source.splitlines(keepends=True)}
        yield cell | (
            {"cell_type": "code", "execution_count": None, "outputs": []}
            if is_code
            else {"cell_type": "markdown"}
        )


def _statements(session: str) -> list[str]:
    return [line[4:] for line in session.splitlines() if line.startswith((">>> ", "... "))]


def _plain_markdown(text: str) -> str:
    """Take away what only the site understands: fences of answers and lists of pages."""
    text = re.sub(r"^```\{toctree\}.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"^:::\{dropdown\} (.*)$", r"*\1*", text, flags=re.MULTILINE)
    return re.sub(r"^:::$", "", text, flags=re.MULTILINE).strip()


def notebook(page: str) -> dict[str, Any]:
    """Return the notebook of a page in format 4.5."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": list(cells_of(page)), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}


def write_notebooks(folder: Path) -> list[Path]:
    """Write one notebook for each exercise and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for page in sorted(PAGES.glob("[0-9]*.md")):
        path = folder / f"{page.stem}.ipynb"
        path.write_text(json.dumps(notebook(page.read_text(encoding="utf-8")), indent=1), encoding="utf-8")
        written.append(path)
    return written


def main() -> None:
    """Write the notebooks into the folder named on the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    for path in write_notebooks(parser.parse_args().folder):
        print(path)


if __name__ == "__main__":
    main()
