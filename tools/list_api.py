"""Write docs/api.md from the public names of the package: python tools/list_api.py."""

from __future__ import annotations

import importlib
from pathlib import Path

import hyperlabel

TITLES = {
    "linear": "Linear models",
    "labelspace": "Label space",
    "ranking": "Ranking",
    "projection": "Projections",
    "neighbors": "Neighbours",
    "forest": "Forests",
    "meta": "Around estimators",
    "decision": "Decisions",
    "geometry": "Geometry",
    "persistence": "Model files",
}
TABLE = (
    "```{{eval-rst}}\n.. currentmodule:: {module}\n.. autosummary::\n   :toctree: generated\n\n{names}\n```\n"
)


def table(module: str, names: list[str]) -> str:
    return TABLE.format(module=module, names="\n".join(f"   {name}" for name in names))


def main() -> None:
    parts = ["# API\n", "Everything here is imported from `hyperlabel` itself unless a module is named.\n"]
    for package, names in hyperlabel._PACKAGES.items():
        parts += [f"## {TITLES.get(package, package)}\n", table("hyperlabel", list(names))]
    for name in (*hyperlabel._MODULES, *hyperlabel._APPS):
        module = importlib.import_module(f"hyperlabel.{name}")
        names = [entry for entry in module.__all__ if entry not in hyperlabel._HOME]  # listed above
        if names:
            parts += [f"## hyperlabel.{name}\n", table(f"hyperlabel.{name}", names)]
    page = Path(__file__).resolve().parents[1] / "docs" / "api.md"
    page.write_text("\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
