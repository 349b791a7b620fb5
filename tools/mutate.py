"""Mutation testing: change one operator, number or condition of the source at a time; some test must fail.

`python tools/mutate.py run --count 120` draws mutants of all packages, `--packages` of some. The quick tests
run once on a copy of the source with marks in it (`places.py`), which tell which of them come to the lines
drawn. Each mutant then meets only those, the quickest first, up to the first that fails, in a forked process
and for a minute of processor time. What survives them meets the slow tests nearest to it. Compiled code
bears no marks: there the tests that enter its file count, the nearest files first. Outcomes are appended to
a file of JSON lines, so that a stopped run goes on; `again` gives what survived another try, with tests
written since first. `show` lists what survived, and the shares of each package; `verify` runs the tests that
caught something on the source as it is.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import contextlib
import copy
import importlib
import json
import os
import random
import re
import resource
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any

from places import MODULE, NAME, Noting, marked, tests_of

ROOT = Path(__file__).resolve().parents[1]
NUMERICAL_PACKAGES = (
    "solvers",
    "moments",
    "geometry",
    "decision",
    "metrics",
    "labelspace",
    "projection",
    "linear",
)
SECONDS = 60.0  # of processor time after which no further test of a mutant is started
HANG = 60  # more: when a mutant counts as caught because a test does not end
WALL_SECONDS = 600  # the same for tests that wait
MEMORY = 6 << 30
# The plugins of pytest are imported before the forks.
QUIET = ("-W", "ignore::pytest.PytestAssertRewriteWarning")
COMMON_TESTS = "tests/test_common.py"
# Tests of the edges of the architecture and of the repository itself: they come to everything and look at
# little.
SLOW = (
    "attack",
    "cli",
    "experiments",
    "reproduction",
    "report",
    "serve",
    "distributed",
    "datasets",
    "persistence",
    "outofcore",
)
NUMERICAL = tuple(
    f"test_{name}.py" for name in ("numbers", "topk", "label_forms", "validation", "base", "public_names")
)

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


def package_of(file: str) -> str:
    """Return the package of a file, the application it belongs to, or "modules" for what stands in none."""
    parts = Path(file).parts[1:-1]
    return "/".join(parts[: 1 + (parts[:1] == ("apps",))]) or "modules"


def draw(root: Path, count: int, seed: int, packages: list[str]) -> list[tuple[str, int]]:
    """Draw mutants evenly over all places of some packages, or of all."""
    found = []
    for path in sorted((root / "src" / "hyperlabel").rglob("*.py")):
        if not packages or package_of(str(path.relative_to(root / "src"))) in packages:
            number = sum(1 for _ in sites(ast.parse(path.read_text(encoding="utf-8"))))
            found += [(str(path.relative_to(root / "src")), i) for i in range(number)]
    return random.Random(seed).sample(found, count)


# -- tests ------------------------------------------------------------------------------------------------


def near_tests(root: Path, file: str) -> list[Path]:
    """Return test files, the nearest first: by how many of the file's own names they use, for their length.

    What a private file defines is often reached through its package only, so the whole room stays in.
    """
    package, stem = package_of(file).rpartition("/")[2], Path(file).stem.strip("_")
    tree = ast.parse((root / "src" / file).read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    names = {stem} | {node.name for node in ast.walk(tree) if isinstance(node, kinds) and len(node.name) > 4}
    words = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")

    def nearness(path: Path) -> tuple[bool, float]:
        text = path.read_text(encoding="utf-8")
        return stem not in path.stem, -len(set(words.findall(text))) / len(text) ** 0.5

    distant = SLOW if package in NUMERICAL_PACKAGES else ()
    own = sorted((root / "tests" / package).glob("test_*.py"), key=nearness)
    others = [
        path for path in (root / "tests").glob("*/test_*.py") if path.parent.name not in (package, *distant)
    ]
    others += (
        [root / "tests" / name for name in NUMERICAL]
        if distant
        else sorted((root / "tests").glob("test_*.py"))
    )
    told = sorted((path for path in others if words.search(path.read_text(encoding="utf-8"))), key=nearness)
    return own + told + [root / COMMON_TESTS]


class Watch:
    """A pytest plugin: notes the first test that fails, and starts none when time is up."""

    def __init__(self, told: Path, seconds: float) -> None:
        self.told, self.seconds = told, seconds

    def pytest_runtest_setup(self) -> None:
        if time.process_time() > self.seconds:
            import pytest

            pytest.skip("the time of this mutant is up")

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.told.write_text(report.nodeid)

    pytest_collectreport = pytest_runtest_logreport


def in_fork(
    root: Path, batches: list[list[str]], cache: Path, seconds: float, plugin: Any
) -> tuple[bool, str]:
    """Run batches of tests in a child; return whether all went well, and the first test that failed."""
    child, told = os.fork(), root / "failed"
    if not child:
        os.setpgid(0, 0)
        limit = int(seconds) + HANG
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        if not isinstance(plugin, Noting):
            signal.alarm(WALL_SECONDS)
        os.chdir(root)
        sys.path[:0] = [str(root / "src"), str(root)]
        os.environ |= {"PYTHONPATH": str(root / "src"), "NUMBA_CACHE_DIR": str(cache)}
        import numba
        import pytest

        numba.config.reload_config()
        sys.dont_write_bytecode = False  # what pytest makes of a test is good for all mutants
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1), os.dup2(silent, 2)
        code = 3
        chosen = "not real_data and not slow" if isinstance(plugin, Noting) else "not real_data"
        options = ["-q", "-m", chosen, "-p", "no:cacheprovider", "-p", "no:xdist", *QUIET]
        options += ["--hypothesis-seed", "0", "--rootdir", str(root), *([] if plugin else ["-x"])]
        try:
            for tests in batches:  # collected only when the ones before passed
                if time.process_time() < seconds:
                    code = int(pytest.main([*options, *tests], plugins=[plugin or Watch(told, seconds)]))
                if code not in (0, 5):
                    break
                code = 0
        finally:
            os._exit(code)
    done = os.waitpid(child, 0)[1]
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what the tests started
    failed = told.read_text() if told.exists() else "a signal" if os.WIFSIGNALED(done) else ""
    told.unlink(missing_ok=True)
    # What one mutant fails on is no matter of the next.
    shutil.rmtree(root / ".hypothesis", ignore_errors=True)
    return not failed, failed  # a name of a test that pytest does not find catches nothing


# -- commands ---------------------------------------------------------------------------------------------


def trace(root: Path, copied: Path, cache: Path, drawn: list[tuple[str, int]], told: Path) -> None:
    """Run the quick tests once on a marked copy and write down where each goes."""
    lines: dict[str, set[int]] = {}
    for file, number in drawn:
        source = (root / "src" / file).read_text(encoding="utf-8")
        lines.setdefault(file, set()).add(mutant(source, number)[3])
    half, source_folder = told.with_suffix(".half"), copied / "src"
    half.unlink(missing_ok=True)
    (source_folder / f"{NAME}.py").write_text(MODULE)
    for file in lines:
        source = (root / "src" / file).read_text(encoding="utf-8")
        (source_folder / file).write_text(marked(source, file, lines[file]), encoding="utf-8")
    in_fork(copied, [["tests"]], cache, 1e6, Noting(half))  # tests that fail here catch nothing
    for file in lines:
        shutil.copy2(root / "src" / file, source_folder / file)
    half.rename(told)


def batches_of(root: Path, told: Path, file: str, function: str, line: int, again: bool) -> list[list[str]]:
    """Return the tests of a mutant in batches: what was written since the trace, the quickest, the others."""
    near = [str(path.relative_to(root)) for path in near_tests(root, file)]
    new = [test for test in near if (root / test).stat().st_mtime > told.stat().st_mtime] if again else []
    traced = _lines(told)
    tests = tests_of(traced, [f"{file}:{line}"])
    if not tests and "@compiled" in (root / "src" / file).read_text(encoding="utf-8"):
        entering = tests_of(traced, [file])  # nearness stands for the lines nobody sees
        place = {path: i for i, path in enumerate(near)}
        tests = sorted(entering, key=lambda test: place.get(test.partition("::")[0], len(near)))
    tests = tests or tests_of(traced, [f"{file}:{function}", file])
    batches = [[test] for test in new] + [part for part in (tests[:8], tests[8:40], tests[40:]) if part]
    slow = {entry.partition("::")[0] for entry in (root / "tests" / "slow.txt").read_text().split()}
    nearest_slow = [test for test in near if test in slow][:3]  # they run where the quick ones see nothing
    return batches + [
        [test] for test in dict.fromkeys((near[:2] if again or not tests else []) + nearest_slow)
    ]


def own_cache(root: Path, cache: Path, file: str) -> Path:
    """Return compiled code without that of a file and of what calls it."""
    own, stem = cache.with_name("own"), Path(file).stem
    shutil.rmtree(own, ignore_errors=True)
    folder = (root / "src" / file).parent
    old = {stem} | {path.stem for path in folder.glob("*.py") if f".{stem} import" in path.read_text()}
    shutil.copytree(cache, own, ignore=lambda _, names: [name for name in names if name.split(".")[0] in old])
    return own


def load_what_others_wrote() -> None:
    """Import before the forks all that does not change, so that a fork only imports hyperlabel."""
    for name in (
        "hypothesis.extra.numpy",
        "pandas",
        "pytest",
        "sklearn.utils.estimator_checks",
        "hyperlabel",
    ):
        importlib.import_module(name)
    for package in NUMERICAL_PACKAGES:
        importlib.import_module(f"hyperlabel.{package}")
    for name in [name for name in sys.modules if name.partition(".")[0] == "hyperlabel"]:
        del sys.modules[name]


def run(root: Path, out: Path, drawn: list[tuple[str, int]], seconds: float, again: bool) -> None:
    known = {(one["file"], one["number"]): one for one in _last(out)}
    copied, cache, told = (out.with_suffix(end) for end in (".repo", ".numba", ".trace"))
    shutil.rmtree(copied, ignore_errors=True)
    shutil.copytree(root, copied, ignore=shutil.ignore_patterns(".*", "out", "_build", "__pycache__"))
    # By their hash: a change within a second keeps the time of a file.
    compileall.compile_dir(copied / "src", quiet=2, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    drawn = list(known) if again else drawn
    load_what_others_wrote()
    if not told.exists():
        trace(root, copied, cache, drawn, told)
    whole, by = in_fork(copied, [["tests/geometry/test_hypercube.py"]], cache, seconds, None)
    if not whole:
        raise SystemExit(f"The tests fail on the source as it is: {by}.")
    for file, number in drawn:
        before = known.get((file, number))
        if before is not None and not (again and before["survived"]):
            continue
        path = copied / "src" / file
        source, times = path.read_text(encoding="utf-8"), path.stat()
        changed, function, what, line = mutant(source, number)
        if before is not None and before["what"] != what:
            raise SystemExit(f"{file} is not what it was when its mutants were drawn: draw anew.")
        path.write_text(changed, encoding="utf-8")
        start = time.monotonic()
        batches = batches_of(root, told, file, function, line, again)
        own = own_cache(copied, cache, file) if "@compiled" in source else cache
        survived, by = in_fork(copied, batches, own, seconds, None)
        path.write_text(source, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # what is compiled already stays valid
        one = {"file": file, "number": number, "line": line, "function": function, "what": what}
        one |= {"survived": survived, "by": by, "seconds": round(time.monotonic() - start, 1)}
        with out.open("a") as stream:
            stream.write(json.dumps(one, ensure_ascii=False) + "\n")


def show(out: Path) -> dict[str, tuple[int, int, int]]:
    lines = _last(out)
    left = [one for one in lines if one["survived"]]
    for one in sorted(left, key=lambda one: (one["file"], one["line"])):
        print(f"{one['file']}:{one['line']} {one['function']}: {one['what']}")
    first = {(one["file"], one["number"]): one for one in reversed(_lines(out))}
    print("| package | drawn | caught at first | caught now |\n|---|---|---|---|")
    packages: dict[str, tuple[int, int, int]] = {}
    for package in [*sorted({package_of(one["file"]) for one in lines}), "all"]:
        own = [one for one in lines if package in ("all", package_of(one["file"]))]
        at_first = sum(not first[one["file"], one["number"]]["survived"] for one in own)
        now = sum(not one["survived"] for one in own)
        packages[package] = len(own), at_first, now
        print(f"| {package} | {len(own)} | {at_first} | {now} ({100 * now / len(own):.1f} %) |")

    return {name: counts for name, counts in packages.items() if name != "all"}


def keep(root: Path, out: Path, packages: dict[str, tuple[int, int, int]], seed: int, asked: int) -> None:
    """Record a draw; a reason that was written for a survivor stays."""
    sys.path.insert(0, str(root))
    from attack.record import read_results, record

    before = read_results().get("drawn", {}).get("survivors", ())
    reasons = {(one["place"], one["what"]): one["reason"] for one in before}
    survivors = [
        {"place": f"{one['file'].removeprefix('hyperlabel/')}: {one['function']}", "what": one["what"]}
        for one in _last(out)
        if one["survived"]
    ]
    judged = [one | {"reason": reasons.get((one["place"], one["what"]), "")} for one in survivors]
    record("drawn", {"packages": packages, "survivors": judged, "seed": seed, "asked": asked})


def verify(root: Path, out: Path) -> int:
    import pytest

    tests = sorted({one["by"] for one in _last(out) if "::" in one["by"]})
    os.chdir(root)
    return int(pytest.main(["-q", "-p", "no:cacheprovider", *tests]))


def _lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []


def _last(out: Path) -> list[dict[str, Any]]:
    """What became of each mutant in its last try."""
    return list({(one["file"], one["number"]): one for one in _lines(out)}.values())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("run", "again", "show", "verify"))
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository to change (a copy of it)")
    parser.add_argument("--out", type=Path, default=Path("out/mutants.jsonl"))
    parser.add_argument("--count", type=int, default=120)
    parser.add_argument("--packages", nargs="*", default=[], help="as `show` names them; by default all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--record", action="store_true", help="of show: keep it for docs/reliability.md")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of processor time for one mutant")
    options = parser.parse_args()
    root, out = options.root.resolve(), options.out.resolve()
    out.parent.mkdir(parents=True, exist_ok=True)
    sys.dont_write_bytecode = True
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    if options.command in ("run", "again"):
        again = options.command == "again"
        drawn = [] if again else draw(root, options.count, options.seed, options.packages)
        run(root, out, drawn, options.seconds, again)
    elif options.command == "verify":
        sys.exit(verify(root, out))
    else:
        packages = show(out)
        if options.record:
            keep(root, out, packages, options.seed, options.count)


if __name__ == "__main__":
    main()
