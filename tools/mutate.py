"""Mutation testing: change one operator, number or condition of the source at a time; some test must fail.

`python tools/mutate.py map` runs the tests once and notes which function each of them enters;
`python tools/mutate.py run --count 300` draws mutants of the numerical rooms and runs, for each, the quickest
tests that enter the changed function, in a forked process and a copy of the repository. Outcomes are appended
to a file of JSON lines, so that a stopped run goes on; `python tools/mutate.py show` lists survivors.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("solvers", "moments", "geometry", "decision", "metrics", "labelspace", "projection", "linear")
TESTS = (*ROOMS, "ranking", "meta", "model_selection", "neighbors", "outofcore")
SECONDS = 60.0  # of tests for one mutant, by the time they took when they were mapped
MEMORY = 6 << 30

Place = tuple[str, str]  # file, function
_COMPARE = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq},
    **{ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In},
}
_ARITHMETIC = {
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult},
    **{ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd},
}


# -- mutants ----------------------------------------------------------------------------------------------


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what may stand in the place of a node."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARE:
        yield ast.Compare(node.left, [_COMPARE[type(node.ops[0])](), *node.ops[1:]], node.comparators)
    elif isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        yield ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub, ast.Invert)):
        yield node.operand
    elif isinstance(node, ast.Constant) and type(node.value) is bool:
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Constant) and type(node.value) is float:
        yield ast.Constant(2.0 * node.value if node.value else 1.0)
    elif isinstance(node, (ast.If, ast.While)):
        yield type(node)(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    elif isinstance(node, ast.IfExp):
        yield ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse)
    elif isinstance(node, ast.Return) and node.value is not None:
        yield ast.Return(ast.Constant(None))
    elif isinstance(node, ast.AugAssign) and type(node.op) in _ARITHMETIC:
        yield ast.AugAssign(node.target, _ARITHMETIC[type(node.op)](), node.value)


def sites(tree: ast.AST, function: str = "") -> Iterator[tuple[ast.AST, str, int, str]]:
    """Yield parent, field, place in the field and function of every node that may change.

    Left out are annotations, decorators, sentences of errors and what only type checkers read.
    """
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "decorator_list"):
            continue
        for i, child in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(child, ast.AST) or isinstance(child, (ast.Raise, ast.JoinedStr, ast.Assert)):
                continue
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue
            if isinstance(child, ast.Call) and getattr(child.func, "attr", "") == "warn":
                continue
            if any(True for _ in changes(child)):
                yield tree, name, i if isinstance(value, list) else -1, function
            inside = child.name if isinstance(child, (ast.FunctionDef, ast.ClassDef)) else ""
            yield from sites(child, f"{function}.{inside}".strip(".") if inside else function)


def mutant(source: str, number: int) -> tuple[str, str, str, int]:
    """Return the changed source, its function, what changed, and the line."""
    tree = ast.parse(source)
    parent, field, i, function = list(sites(tree))[number]
    value = getattr(parent, field)
    old = value if i < 0 else value[i]
    new = ast.copy_location(next(changes(old)), old)
    before, after = ast.unparse(copy.deepcopy(old)).split("\n")[0], ast.unparse(new).split("\n")[0]
    if i < 0:
        setattr(parent, field, new)
    else:
        value[i] = new
    return ast.unparse(ast.fix_missing_locations(tree)), function, f"{before} → {after}", old.lineno


def draw(root: Path, count: int, seed: int) -> list[tuple[str, int]]:
    """Draw mutants evenly over all places of the numerical rooms."""
    found = []
    for room in ROOMS:
        for path in sorted((root / "src" / "hyperlabel" / room).rglob("*.py")):
            number = sum(1 for _ in sites(ast.parse(path.read_text(encoding="utf-8"))))
            found += [(str(path.relative_to(root / "src")), i) for i in range(number)]
    return random.Random(seed).sample(found, count)


# -- tests ------------------------------------------------------------------------------------------------


def test_paths(root: Path) -> list[str]:
    return [str(root / "tests" / room) for room in TESTS] + sorted(
        map(str, (root / "tests").glob("test_*.py"))
    )


class Mapping:
    """A pytest plugin: notes the functions of hyperlabel that each test enters, and how long it takes."""

    def __init__(self, root: Path) -> None:
        self.source = str(root / "src") + os.sep
        self.entered: set[Place] = set()
        self.tests: dict[str, Any] = {}
        self.names: dict[Any, Place | None] = {}

    def trace(self, frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if code not in self.names:
            inside = code.co_filename.startswith(self.source)
            self.names[code] = (
                (code.co_filename[len(self.source) :], code.co_qualname.replace(".<locals>", ""))
                if inside
                else None
            )
        if (place := self.names[code]) is not None:
            self.entered.add(place)

    def pytest_runtest_logstart(self) -> None:
        self.entered.clear()
        sys.settrace(self.trace)

    def pytest_runtest_logreport(self, report: Any) -> None:
        told = self.tests.setdefault(report.nodeid, {"seconds": 0.0, "passed": True})
        told["seconds"] += report.duration
        told["passed"] &= report.outcome == "passed"
        if report.when == "teardown":
            sys.settrace(None)
            told["entered"] = sorted(self.entered)


class Chosen:
    """A pytest plugin: runs the chosen tests only, in the order given."""

    def __init__(self, tests: list[str]) -> None:
        self.order = {test: i for i, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = sorted(
            (item for item in items if item.nodeid in self.order), key=lambda item: self.order[item.nodeid]
        )


def imports(root: Path) -> dict[str, set[str]]:
    """Return the files of hyperlabel that import each file."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in (root / "src" / "hyperlabel").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hyperlabel"):
                for name in ("", *(f"/{alias.name}" for alias in node.names)):
                    found[f"{node.module.replace('.', '/')}{name}.py"].add(
                        str(path.relative_to(root / "src"))
                    )
    return found


class Choice:
    """Which tests a mutant has to stand."""

    def __init__(self, root: Path, tests: dict[str, Any]) -> None:
        self.seconds = {name: told["seconds"] for name, told in tests.items() if told["passed"]}
        self.by_place: dict[Place, set[str]] = defaultdict(set)
        self.by_file: dict[str, set[str]] = defaultdict(set)
        for name in self.seconds:
            for file, function in tests[name]["entered"]:
                self.by_place[file, function].add(name)
                self.by_file[file].add(name)
        self.imported_by = imports(root)

    def tests(self, file: str, function: str) -> list[str]:
        """Return tests that enter the function; where compiled code hides that, its file or a caller's."""
        found = self.by_place[file, function] if function else set()
        found = found or self.by_file[file] or set().union(*(self.by_file[f] for f in self.imported_by[file]))
        own, stem = f"tests/{file.split('/')[1]}/", Path(file).stem.strip("_")

        def nearness(test: str) -> tuple[bool, bool, float]:
            return stem not in test, own not in test, self.seconds[test]

        chosen, left = [], SECONDS
        for one in sorted(found, key=nearness):
            if self.seconds[one] <= left:
                chosen.append(one)
                left -= self.seconds[one]
        return chosen


def in_fork(root: Path, arguments: list[str], plugin: Any, seconds: float, cache: Path) -> str:
    """Run pytest in a child; return "caught", "survived", "out of time" or "untested"."""
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        limit = int(seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os.chdir(root)
        sys.path[:0] = [str(root / "src"), str(root)]
        os.environ |= {"PYTHONPATH": f"{root / 'src'}", "NUMBA_CACHE_DIR": str(cache)}
        import numba
        import pytest

        numba.config.reload_config()
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1), os.dup2(silent, 2)
        code = 3
        try:
            options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--rootdir", str(root)]
            code = int(pytest.main([*options, *arguments], plugins=[plugin]))
        finally:
            os._exit(code)
    end = time.monotonic() + 10 * seconds
    while not (done := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > end:
            os.killpg(child, signal.SIGKILL)
        time.sleep(0.05)
    if os.WIFSIGNALED(done[1]):
        return "out of time"
    return {0: "survived", 5: "untested"}.get(os.waitstatus_to_exitcode(done[1]), "caught")


# -- commands ---------------------------------------------------------------------------------------------


def map_tests(root: Path, out: Path) -> None:
    import pytest

    os.chdir(root)
    sys.path[:0] = [str(root / "src"), str(root)]
    plugin = Mapping(root)
    pytest.main(["-q", "-m", "not real_data", "-p", "no:cacheprovider", *test_paths(root)], plugins=[plugin])
    out.write_text(json.dumps(plugin.tests))


def run(root: Path, told: Path, out: Path, count: int, seed: int) -> None:
    choice = Choice(root, json.loads(told.read_text()))
    done = {(one["file"], one["number"]) for one in _lines(out)}
    import hypothesis  # noqa: F401  # before the forks, which then start at once
    import numba  # noqa: F401
    import pandas  # noqa: F401
    import pytest  # noqa: F401
    import sklearn.utils.estimator_checks  # noqa: F401

    with tempfile.TemporaryDirectory() as folder:
        copied, cache = Path(folder, "repo"), Path(folder, "numba")
        shutil.copytree(root, copied, ignore=shutil.ignore_patterns(".*", "out", "_build", "__pycache__"))
        cache.mkdir()
        for file, number in draw(root, count, seed):
            if (file, number) in done:
                continue
            path = copied / "src" / file
            source = path.read_text(encoding="utf-8")
            changed, function, what, line = mutant(source, number)
            tests = choice.tests(file, function)
            own = cache
            if "compiled" in source:  # what calls a changed function is compiled anew too
                own = Path(tempfile.mkdtemp(dir=folder))
            path.write_text(changed, encoding="utf-8")
            start = time.monotonic()
            seconds = 3 * sum(choice.seconds[test] for test in tests) + 60
            files = sorted({str(copied / test.split("::")[0]) for test in tests})
            outcome = in_fork(copied, files, Chosen(tests), seconds, own) if tests else "untested"
            path.write_text(source, encoding="utf-8")
            if own != cache:
                shutil.rmtree(own)
            told_one = {"file": file, "number": number, "line": line, "function": function, "what": what}
            told_one |= {
                "outcome": outcome,
                "tests": len(tests),
                "seconds": round(time.monotonic() - start, 1),
            }
            with out.open("a") as stream:
                stream.write(json.dumps(told_one, ensure_ascii=False) + "\n")


def show(out: Path) -> None:
    lines = _lines(out)
    outcomes = Counter(one["outcome"] for one in lines)
    caught = outcomes["caught"] + outcomes["out of time"]
    for one in sorted(lines, key=lambda one: (one["file"], one["line"])):
        if one["outcome"] in ("survived", "untested"):
            print(f"{one['file']}:{one['line']} {one['function']}: {one['what']}  [{one['outcome']}]")
    share = 100 * caught / max(len(lines), 1)
    print(f"{caught} of {len(lines)} mutants caught ({share:.1f} %): {dict(outcomes)}")


def _lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("map", "run", "show"))
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository to change (a copy of it)")
    parser.add_argument("--map", type=Path, default=Path("out/tests.json"))
    parser.add_argument("--out", type=Path, default=Path("out/mutants.jsonl"))
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for path in (options.map, options.out):
        path.parent.mkdir(parents=True, exist_ok=True)
    root, told, out = options.root.resolve(), options.map.resolve(), options.out.resolve()
    sys.dont_write_bytecode = True  # a change within a second keeps the time of a file
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    if options.command == "map":
        map_tests(root, told)
    elif options.command == "run":
        run(root, told, out, options.count, options.seed)
    else:
        show(out)


if __name__ == "__main__":
    main()
