"""Does the code speak the words of the field? python tools/names.py [--check] [--list MEASURE].

Names are read from the syntax of the package, terms from docs/glossary.md, sentences from the pages. `LIMITS`
says what is demanded; ``--check`` fails where a demand is not met, ``--list`` shows what counts against it.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.util
import inspect
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# measure: (at least or at most, how much, what it counts)
LIMITS: dict[str, tuple[str, float, str]] = {
    "compound-locals": ("≥", 30, "% of local variables of three letters or more that are compound"),
    "compound-functions": ("≥", 60, "% of function names that are compound"),
    "found": ("≤", 10, "functions with a variable called found"),
    "plain-words": ("≤", 8, "plain words as variables per 100 functions"),
    "doubles": ("≤", 12, "public names defined in more than one module"),
    "terms": ("≥", 100 * 28 / 30, "% of the glossary's terms that lead to their file"),
    "mean-sentence": ("≤", 20, "words in a sentence of README and docs"),
    "long-sentences": ("≤", 8, "% of sentences with more than 35 words"),
    "private-words": ("≤", 0, "private words in public names, options and messages"),
    "cycles": ("≤", 0, "groups of modules that import each other"),
    "lines": ("≤", 50_950, "lines of the package"),
}
# Words that say nothing about what a variable holds.
PLAIN = {
    "after", "again", "alike", "asked", "at", "before", "beside", "cells", "few", "found", "given",
    "here", "kept", "known", "left", "line", "lines", "mine", "most", "now", "off", "on", "one", "other",
    "others", "own", "part", "parts", "place", "places", "reach", "rest", "right", "room", "said", "same",
    "seen", "shown", "some", "table", "taken", "theirs", "there", "told", "wanted", "whole",
}  # fmt: skip
# Words of this project that nobody else has: the glossary says what they are called.
PRIVATE = {
    "room", "rooms", "house", "houses", "gate", "gates", "walk", "walks", "walked", "floor", "floors",
    "promise", "promises", "promised", "cut", "cuts", "chance", "chances", "told", "bend", "bends",
    "bent", "suspects",
}  # fmt: skip
MESSAGES = ("echo", "tell", "say", "warn", "option", "command", "UsageError")  # besides every exception
LONG = 35  # words


@dataclass(frozen=True)
class Names:
    """The names of a package and the sentences of its pages; each measure is a list of what counts."""

    package: Path = ROOT / "src" / "hyperlabel"
    pages: tuple[Path, ...] = (ROOT / "README.md", ROOT / "docs")
    glossary: Path = ROOT / "docs" / "glossary.md"
    below: str = field(default="")  # only modules below this folder

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        """Syntax of every module, by its path below the package."""
        paths = sorted((self.package / self.below).rglob("*.py"))
        return {str(p.relative_to(self.package)): ast.parse(p.read_text(encoding="utf-8")) for p in paths}

    @cached_property
    def functions(self) -> list[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
        """Every function, nested ones and methods too."""
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return [(p, n) for p, tree in self.trees.items() for n in ast.walk(tree) if isinstance(n, kinds)]

    # -- variables and functions --------------------------------------------------------------------

    def local_names(self) -> list[str]:
        """Names that functions assign, once for each function."""
        return [name for _, node in self.functions for name in _assigned(node) if len(name) > 2]

    def function_names(self) -> list[str]:
        """Names of functions, but for those Python gives a meaning."""
        return [node.name.strip("_") for _, node in self.functions if not node.name.startswith("__")]

    def plain_uses(self) -> list[str]:
        """Plain words as variables or arguments, once for each function."""
        return [
            f"{path}:{node.lineno} {node.name}: {name}"
            for path, node in self.functions
            for name in sorted((_assigned(node) | _arguments(node)) & PLAIN)
        ]

    def doubles(self) -> list[str]:
        """Public functions and classes that several modules define."""
        homes = defaultdict(list)
        for path, tree in self.trees.items():
            for node in tree.body:
                if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                    homes[node.name].append(f"{path}:{node.lineno}")
        return [f"{name}: {' '.join(at)}" for name, at in sorted(homes.items()) if len(at) > 1]

    # -- the glossary ---------------------------------------------------------------------------------

    def terms(self) -> dict[str, str]:
        """Return the glossary's terms that have a place in the package, and that place."""
        text = self.glossary.read_text(encoding="utf-8") if self.glossary.is_file() else ""
        rows = (re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("| "))
        found = {}
        for cells in rows:
            place = re.search(r"`(?:hyperlabel/)?([\w/]+)(?:\.py)?`", cells[-1]) if len(cells) == 4 else None
            if place and any((self.package / place[1]).parent.glob(f"{Path(place[1]).name}*")):
                found[cells[0].strip(" *`")] = place[1]
        return found

    def lost_terms(self) -> list[str]:
        """Terms that no module, function or class of their place is named after."""
        names = [(_squashed(Path(path).stem), path) for path in self.trees]
        for path, tree in self.trees.items():
            kinds = (ast.FunctionDef, ast.ClassDef)
            names += [(_squashed(n.name), path) for n in ast.walk(tree) if isinstance(n, kinds)]
        return [
            f"{term}: no name in {place}"
            for term, place in self.terms().items()
            if not any(_squashed(term) in name and path.startswith(place) for name, path in names)
        ]

    # -- prose ----------------------------------------------------------------------------------------

    def sentences(self) -> list[tuple[int, str]]:
        """Length in words and first words of every sentence of the pages."""
        pages = [p for page in self.pages for p in ([page] if page.is_file() else sorted(page.rglob("*.md")))]
        left_out = {"api.md", "glossary.md"}
        return [
            (len(sentence.split()), f"{page.name}: {sentence[:80]}")
            for page in pages
            if page.name not in left_out and not {"reproduction", "generated", "_build"} & set(page.parts)
            for sentence in _sentences(page.read_text(encoding="utf-8"))
            if len(sentence.split()) >= 4
        ]

    # -- what users see -------------------------------------------------------------------------------

    def private_words(self) -> list[str]:
        """Private words in signatures and documented attributes of public names, and in messages."""
        found = [
            f"{path}:{line}: {word!r} in {text[:60]!r}"
            for path, tree in self.trees.items()
            for line, text in _messages(tree)
            for word in sorted(set(re.findall(r"[a-z]+", text.lower())) & PRIVATE)
        ]
        for name, words in self.public_names().items():
            used = {part for word in words for part in word.lower().split("_")} & PRIVATE
            found += [f"{name}: {word!r} in its signature or attributes" for word in sorted(used)]
        return found

    def public_names(self) -> dict[str, set[str]]:
        """Return for each public name itself, its parameters and its documented attributes."""
        if self.package != Names.package or self.below:
            return {}
        package = importlib.import_module(self.package.name)
        modules = [importlib.import_module(f"{package.__name__}.{name}") for name in _modules(package)]
        things = {name: getattr(package, name) for name in package._HOME}
        things |= {
            f"{module.__name__}.{name}": getattr(module, name)
            for module in modules
            for name in module.__all__
        }
        return {name: {name.split(".")[-1]} | _shown(thing) for name, thing in things.items()}

    # -- modules --------------------------------------------------------------------------------------

    def cycles(self) -> list[str]:
        """Groups of modules that import each other, imports inside functions and for types included."""
        edges = {_module(path): set[str]() for path in self.trees}
        for path, tree in self.trees.items():
            for node in ast.walk(tree):
                if isinstance(node, ast.ImportFrom) and node.module:
                    below = node.module.removeprefix(self.package.name).lstrip(".")
                    names = {f"{below}.{alias.name}".lstrip(".") for alias in node.names}
                    edges[_module(path)] |= {n if n in edges else below for n in names} & edges.keys()
        edges = {name: {t for t in targets if t != name} for name, targets in edges.items()}
        return [" ".join(sorted(group)) for group in _components(edges) if len(group) > 1]

    def lines(self) -> Counter[str]:
        """Lines of each module."""
        return Counter(
            {str(p): len((self.package / p).read_text(encoding="utf-8").splitlines()) for p in self.trees}
        )

    # -- all of it ------------------------------------------------------------------------------------

    def measures(self) -> dict[str, tuple[float, list[str]]]:
        """Return each measure with what counts against it."""
        locals_, functions = Counter(self.local_names()), Counter(self.function_names())
        plain, lost, sizes = self.plain_uses(), self.lost_terms(), self.sentences()
        count = max(len(self.functions), 1)
        found = [use for use in plain if use.endswith(": found")]
        long = sorted((pair for pair in sizes if pair[0] > LONG), reverse=True)
        doubles, private, cycles = self.doubles(), self.private_words(), self.cycles()
        words, lines = sum(n for n, _ in sizes), self.lines()
        return {
            "compound-locals": (_compound(locals_), _single(locals_)),
            "compound-functions": (_compound(functions), _single(functions)),
            "found": (len(found), found),
            "plain-words": (100 * len(plain) / count, plain),
            "doubles": (len(doubles), doubles),
            "terms": (100 - 100 * len(lost) / max(len(self.terms()), 1), lost),
            "mean-sentence": (words / max(len(sizes), 1), [f"{n} {text}" for n, text in long]),
            "long-sentences": (100 * len(long) / max(len(sizes), 1), [f"{n} {text}" for n, text in long]),
            "private-words": (len(private), private),
            "cycles": (len(cycles), cycles),
            "lines": (lines.total(), [f"{n} {module}" for module, n in lines.most_common()]),
        }


def _assigned(node: ast.AST) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _arguments(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    return {argument.arg for argument in [*node.args.args, *node.args.kwonlyargs]}


def _compound(names: Counter[str]) -> float:
    return 100 * sum(n for name, n in names.items() if "_" in name.strip("_")) / max(names.total(), 1)


def _single(names: Counter[str]) -> list[str]:
    return [f"{n} {name}" for name, n in names.most_common() if "_" not in name.strip("_")]


def _squashed(term: str) -> str:
    """A term or a name without case, marks and plural, so that both can be compared."""
    plain = re.sub(r"\(.*?\)", "", term.lower()).replace("ö", "oe")
    return re.sub(r"s$", "", re.sub(r"[^a-z0-9]", "", plain))


def _sentences(text: str) -> Iterator[str]:
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    text = re.sub(r"^[|#].*$", "", text, flags=re.M)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", re.sub(r"`[^`]*`", "CODE", text))
    for paragraph in re.split(r"\n\s*\n", text):
        yield from re.split(r"(?<=[.!?])\s+(?=[A-Z])", paragraph.replace("\n", " "))


def _messages(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and text of what users may read: errors, printed lines, options of commands."""
    for node in ast.walk(tree):
        calls: list[Any] = []
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            calls = [node.exc]
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            calls = [node] if name in MESSAGES else []
        for call in calls:
            for part in ast.walk(call):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.lineno, part.value


def _modules(package: Any) -> list[str]:
    wanted = [*package._MODULES, *getattr(package, "_APPS", ())]
    return [name for name in wanted if name != "distributed" or importlib.util.find_spec("dask")]


def _shown(thing: Any) -> set[str]:
    """Parameters and documented attributes of a public name."""
    try:
        shown = set(inspect.signature(thing).parameters)
    except (TypeError, ValueError):
        shown = set()
    for names in re.findall(r"^ *(\w+(?:, \w+)*) : ", thing.__doc__ or "", flags=re.M):
        shown |= set(names.split(", "))
    return shown


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("__init__").rstrip("/").replace("/", ".")


def _components(edges: dict[str, set[str]]) -> list[set[str]]:
    """Return the strongly connected components of a graph, by reachability."""
    reached = {name: _reached(edges, name) for name in edges}
    groups: list[set[str]] = []
    for name in edges:
        if not any(name in group for group in groups):
            groups.append({name} | {other for other in reached[name] if name in reached[other]})
    return groups


def _reached(edges: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    todo = [*edges[start]]
    while todo:
        if (name := todo.pop()) not in seen:
            seen.add(name)
            todo += edges[name]
    return seen


def is_met(measure: str, value: float) -> bool:
    """Tell whether a value keeps the limit of its measure."""
    kind, limit, _ = LIMITS[measure]
    return value >= limit if kind == "≥" else value <= limit


def by_package(names: Names, show: Callable[[str], None] = print) -> None:
    """Print the share of compound locals and the commonest plain words of each package."""
    for folder in sorted(p.name for p in names.package.iterdir() if (p / "__init__.py").is_file()):
        inside = Names(names.package, names.pages, names.glossary, folder)
        words = Counter(use.split(": ")[-1] for use in inside.plain_uses())
        common = ", ".join(f"{word} {count}" for word, count in words.most_common(8))
        local_names = Counter(inside.local_names())
        share = f"{_compound(local_names):3.0f} % of {local_names.total():4d} locals compound"
        show(f"{folder:16s} {share}; {common}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="fail where a limit is not kept")
    parser.add_argument("--list", choices=LIMITS, metavar="MEASURE", help="show what counts against it")
    parser.add_argument(
        "--by-package", action="store_true", help="compound locals and plain words by package"
    )
    asked = parser.parse_args(arguments)
    names = Names()
    if asked.by_package:
        by_package(names)
        return 0
    measures = names.measures()
    if asked.list:
        print("\n".join(measures[asked.list][1]))
        return 0
    for measure, (value, _) in measures.items():
        kind, limit, what = LIMITS[measure]
        mark = " " if is_met(measure, value) else "!"
        print(f"{mark} {measure:20s}{value:9.1f}  {kind} {limit:8.1f}  {what}")
    failed = [measure for measure, (value, _) in measures.items() if not is_met(measure, value)]
    if asked.check and failed:
        print(f"Not kept: {', '.join(failed)}; python tools/names.py --list {failed[0]} shows why.")
    return int(asked.check and bool(failed))


if __name__ == "__main__":
    sys.exit(main())
