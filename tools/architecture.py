"""The packages of the architecture, their layers and every way one package reaches another: python
tools/architecture.py.

import-linter reads import statements. This reads what it cannot see as well: public names taken from the
package on first use (``hl.PLST``), modules named by strings (``"hyperlabel.apps.cli.fit"``) and packages
listed by name for a string such as ``f"hyperlabel.{room}"``. All of them go down the layers of
pyproject.toml, and no room takes a private module or a private name of another.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MODULE_NAME = re.compile(r"hyperlabel(\.[A-Za-z_]\w*)+")


@dataclass(frozen=True)
class Use:
    """One place where a module of one package reaches into another package."""

    file: str
    line: int
    source: str  # room
    target: str  # room
    name: str  # what is reached, as dotted path below the package
    kind: str  # "import", "lazy name" or "string"

    @property
    def private(self) -> bool:
        """Whether anything below the package is private: the package itself may be (`_base`)."""
        return any(part.startswith("_") for part in self.name.split(".")[1:])


@dataclass(frozen=True)
class Architecture:
    """A package whose sub-packages and top modules are packages on layers."""

    package: Path = ROOT / "src" / "hyperlabel"
    project: Path = ROOT / "pyproject.toml"

    @cached_property
    def _contracts(self) -> list[list[list[str]]]:
        """Return the layers contracts of the whole package, each from the top layer down."""
        settings = tomllib.loads(self.project.read_text(encoding="utf-8"))
        contracts = settings["tool"]["importlinter"]["contracts"]
        return [
            [[package.strip(" ()") for package in re.split(r"[|:]", layer)] for layer in contract["layers"]]
            for contract in contracts
            if contract["type"] == "layers" and contract.get("containers", ["hyperlabel"]) == ["hyperlabel"]
        ]

    @cached_property
    def boxes(self) -> list[list[str]]:
        """Packages of each layer from the top down: the first layers contract."""
        return self._contracts[0]

    @cached_property
    def layers(self) -> list[list[str]]:
        """Return the boxes in the order that the contracts inside them give their packages."""
        layers: list[list[str]] = []
        for box in self.boxes:
            inside = [c for c in self._contracts[1:] if {p for layer in c for p in layer} == set(box)]
            layers += inside[0] if inside else [box]
        return layers

    @cached_property
    def layer(self) -> dict[str, int]:
        """Floor of each package; the private modules at the bottom share the ground floor."""
        above = [layer for layer in self.layers if not layer[0].startswith("_")]
        layers = {package: len(above) - depth for depth, layer in enumerate(above) for package in layer}
        return layers | {package: 0 for layer in self.layers for package in layer if package.startswith("_")}

    @cached_property
    def packages(self) -> dict[str, int]:
        """Packages found on disk and their number of lines."""
        lines: dict[str, int] = {}
        for path in sorted(self.package.rglob("*.py")):
            if (package := self.package_of(path)) is not None:
                lines[package] = lines.get(package, 0) + len(path.read_text(encoding="utf-8").splitlines())
        return lines

    @cached_property
    def uses(self) -> list[Use]:
        """Every reach from one package into another, in the order of files and lines."""
        return [use for path in sorted(self.package.rglob("*.py")) for use in self._uses_of(path)]

    @cached_property
    def _home(self) -> dict[str, str]:
        """Room of each name the package loads on first use."""
        tree = ast.parse((self.package / "__init__.py").read_text(encoding="utf-8"))
        packages = _constant(tree, "_PACKAGES") or {}
        modules = _constant(tree, "_MODULES") or ()
        return {name: package for package, names in packages.items() for name in names} | {
            m: m for m in modules
        }

    def package_of(self, path: Path) -> str | None:
        """Room of a file; None for the front door (``__init__``, ``__main__`` of the package)."""
        first = path.relative_to(self.package).parts[0].removesuffix(".py")
        return None if first.startswith("__") else first

    def faults(self) -> list[str]:
        """One sentence for each use that breaks the contract."""
        found = [
            f"{package} stands in no layer: add it to the layers in pyproject.toml."
            for package in self.packages
            if package not in self.layer
        ]
        order = {package: depth for depth, layer in enumerate(self.layers) for package in layer}
        for use in self.uses:
            where = f"{use.file}:{use.line}: {use.source} reaches {use.name} ({use.kind})"
            if use.target not in self.packages:
                found.append(f"{where}, which is no package of the architecture.")
            elif order.get(use.source, 0) >= order.get(use.target, len(order)):
                found.append(f"{where}, which is not on a layer below it.")
            elif use.private:
                found.append(f"{where}: private names stay in their package; make it public there.")
        return found

    def _uses_of(self, path: Path) -> Iterator[Use]:
        source = self.package_of(path)
        if source is None:
            return
        tree = ast.parse(path.read_text(encoding="utf-8"))
        file = str(path.relative_to(self.package.parent))
        for line, name, kind in self._reaches(tree):
            below = name.split(".")
            # A name of the front door stands for the package it lives in.
            if below[0] in self._home and self._home[below[0]] != below[0]:
                below.insert(0, self._home[below[0]])
            if below[0] != source:
                yield Use(file, line, source, below[0], ".".join(below), kind)

    def _reaches(self, tree: ast.Module) -> Iterator[tuple[int, str, str]]:
        """Yield line, dotted name and kind of everything a module takes from the package."""
        aliases = {
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
            if alias.name == self.package.name
        }
        for node in ast.walk(tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                for name in _imported(node):
                    yield from self._below(node.lineno, name, "import")
            elif isinstance(node, ast.Attribute) and _is_name(node.value, aliases):
                yield from self._below(node.lineno, f"{self.package.name}.{node.attr}", "lazy name")
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                if MODULE_NAME.fullmatch(node.value):
                    yield from self._below(node.lineno, node.value, "string")
            elif isinstance(node, ast.Call):
                yield from self._reaches_of_call(tree, node, aliases)

    def _reaches_of_call(
        self, tree: ast.Module, node: ast.Call, aliases: set[str]
    ) -> Iterator[tuple[int, str, str]]:
        """Yield what ``import_module(f"hyperlabel.{room}")`` may load: the packages the module lists."""
        if any(_is_name(argument, aliases) for argument in node.args):
            yield node.lineno, "the whole package", "lazy name"  # getattr(hl, name): nobody can tell which
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for argument in node.args if called == "import_module" else ():
            if isinstance(argument, ast.JoinedStr):
                head = str(getattr(argument.values[0], "value", "")).split(".")  # "hyperlabel.room.…" is told
                packages = head[1:2] if len(head) > 2 else _constant(tree, "_PACKAGES")
                for package in packages or ["a module made up at run time"]:
                    yield node.lineno, package, "string"

    def _below(self, line: int, name: str, kind: str) -> Iterator[tuple[int, str, str]]:
        top, _, rest = name.partition(".")
        if top == self.package.name and rest and not rest.startswith("__"):
            yield line, rest, kind


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if node.level:
        raise ValueError(f"line {node.lineno}: relative imports hide their package; write the full name.")
    return [f"{node.module}.{alias.name}" for alias in node.names]


def _is_name(node: ast.expr, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _constant(tree: ast.Module, name: str):
    """Value of a module's literal constant, None where it has none of that name."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return ast.literal_eval(node.value)
    return None


def main() -> int:
    architecture = Architecture()
    faults = architecture.faults()
    print(
        "\n".join(faults)
        if faults
        else f"{len(architecture.uses)} uses between {len(architecture.packages)} packages go down."
    )
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
