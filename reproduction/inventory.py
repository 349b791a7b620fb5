"""The inventory of the four papers: every item, what shows it here, or why it cannot be had."""

import importlib
import inspect
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE_TITLES = {
    "kdd08": "Hypergraph spectral learning (KDD 2008)",
    "jcp14": "HOPLS (Journal of Computers 2014)",
    "cvpr09": "Rank-SVM with hypergraph regularisation (CVPR 2009)",
    "neco12": "Principal label space transformation (Neural Computation 2012)",
}


@dataclass(frozen=True)
class PaperItem:
    """An item of a paper: where it stands there, and what shows it here."""

    paper: str
    item: str
    at: str
    code: str = ""
    test: str = ""
    page: str = ""
    impossible: str = ""
    proof: str = ""

    @property
    def status(self) -> str:
        """The verdict, with its reason where the item cannot be had."""
        return f"shown impossible here: {self.impossible}" if self.impossible else "works"

    def evidence(self) -> str:
        """Return the names of code, test, page and proof as Markdown."""
        named = [f"`{self.code}`"] if self.code else []
        named += [f"`{self.test}`"] if self.test else []
        named += [_link(self.page)] if self.page else []
        named += [f"proof: {_link(self.proof)}"] if self.proof else []
        return ", ".join(named)


def _link(page: str) -> str:
    """Return a link to the page of an item of the reproduction, or of the documentation."""
    if page == "why":
        return "[why the rest is missed](why-the-rest-is-missed.md)"
    if page.startswith("methods/"):
        return f"[{page}](../{page})"
    if page.endswith(".md"):
        return f"`{page}`"
    return f"[{page}]({page.partition('-')[0]}.md)"


def paper_items() -> list[PaperItem]:
    """Return every item of the four papers."""
    tables = tomllib.loads(Path(__file__).with_name("inventory.toml").read_text("utf-8"))
    return [PaperItem(paper, **entry) for paper, entries in tables.items() for entry in entries]


def resolve(name: str) -> Any:
    """Return the object that a dotted name stands for; modules are imported as far as they go."""
    parts = name.split(".")
    for i in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:i]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[i:]:
            found = getattr(found, attribute)
        return found
    raise ModuleNotFoundError(name)


def source_line(name: str) -> int:
    """Return the line of its file where a class or function begins."""
    named = resolve(name)
    return inspect.getsourcelines(inspect.unwrap(getattr(named, "py_func", named)))[1]


def add_source_lines(page: str) -> str:
    """Add the lines where the code begins to the equation table of a method page.

    The site is built through this, so that a line is read from the code and cannot be out of date.
    """

    def add_line(row: re.Match[str]) -> str:
        return f"{row[1]}, line {source_line(row[2])} |"

    return re.sub(r"(?m)^(\| \([^|]+\|[^|]+\| `([\w.]+)` \| `[\w/]+\.py`) \|$", add_line, page)


def inventory_page() -> str:
    """Return the page of the inventory."""
    items = paper_items()
    n_works = sum(not item.impossible for item in items)
    lines = [
        "# Inventory of the four papers",
        "",
        f"{len(items)} items: {n_works} work, {len(items) - n_works} are shown impossible here. Tests "
        f"resolve every "
        "name of code, test and page (`reproduction/inventory.toml`).",
    ]
    for paper, title in PAGE_TITLES.items():
        own = [item for item in items if item.paper == paper]
        lines += ["", f"## {title}: {len(own)} items", "", "| item | in the paper | here | shown by |"]
        lines += ["|---|---|---|---|"]
        lines += [f"| {item.item} | {item.at} | {item.status} | {item.evidence()} |" for item in own]
    return "\n".join(lines) + "\n"
