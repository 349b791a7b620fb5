"""No option of any command is accepted and ignored.

`CASES` holds, for every option of every command, calls in which it matters. Two calls separated by ``=>``
must end differently: in the exit code, on stdout or in a file written. One call alone must be refused.
``{p}`` is the folder of the files made below, ``{o}`` a fresh folder for each call. A new option
needs a line here.
"""

from __future__ import annotations

import re
import shlex
import shutil
import sqlite3
from contextlib import contextmanager
from types import SimpleNamespace

import click
import numpy as np
import pytest
from click.testing import CliRunner

from hyperlabel import datasets
from hyperlabel.apps.cli import _COMMANDS, main
from hyperlabel.apps.cli import demo as demo_module

TAGS = "--labels tags"
RUN = "--methods ridge --folds 2 --repeats 1 --no-curves --no-tune --store {o}/s.sqlite -o {o}/c.html --json"


def reading(call: str, *without: str, text: str = "kind") -> dict[str, str]:
    """Return the cases of the options that say how a file is read; `call` holds FILE in place of it."""

    def line(file: str, options: str) -> str:
        return call.replace("FILE", f"{{p}}/{file}") + f" {options}"

    old = line("old.csv", TAGS)
    chosen = f"{old} --text body --features minutes"  # a group is no feature, whether it is named or not
    found = {
        "--labels": f"{line('old.csv', '')} => {old}",
        "--label-column": f"{line('old.csv', '')} => {line('old.csv', '--label-column tags')}",
        "--label-separator": f"{old} => {old} --label-separator ''",
        "--features": f"{old} => {old} --features minutes",
        "--text": f"{old} => {old} --text {text}",
        "--decimal": f"{line('quoted.csv', TAGS)} => {line('quoted.csv', TAGS)} --decimal ,",
        "--unreadable": f"{line('units.csv', TAGS)} => {line('units.csv', TAGS)} --unreadable missing",
        "--vectors": f"{old} => {old} --vectors {{p}}/old.npy",
        "--blank": f"{line('flags.csv', '--labels a,b')} => {line('flags.csv', '--labels a,b')} --blank no",
        "--normalise-labels": f"{old} => {old} --normalise-labels",
        "--group": f"{chosen} => {chosen} --group user",
        "--time": f"{chosen} => {chosen} --time year",
        "--nominal": f"{line('x.arff', '--labels -2')} => {line('x.arff', '--labels -2')} --nominal onehot",
    }
    return {option: case for option, case in found.items() if option not in without}


VECTORS = "{p}/v.hyper {p}/old.csv", "{p}/v.hyper {p}/old.csv --vectors {p}/old.npy"
FIT = f"fit {{p}}/old.csv {TAGS} -o {{o}}/m.hyper"
NAMED = f"fit {{p}}/named.csv {TAGS} -o {{o}}/m.hyper"
TEXT = "--text body --features ''"
PREDICT = "predict {p}/m.hyper {p}/new.csv"
REVIEW = f"{PREDICT} --review --entries 4"
EVALUATE = "evaluate {p}/m.hyper {p}/new.csv"
EXPLAIN = "explain {p}/m.hyper {p}/new.csv"
UPDATE = "update {p}/m.hyper -o {o}/u.hyper"
COMPARE = f"compare {{p}}/old.csv {TAGS} {RUN}"
TWO = COMPARE.removesuffix("--json") + "--methods ridge,prior"
REPORT = "report {p}/m.hyper {p}/new.csv -o {o}/p.html"
STORE = "report {p}/s.sqlite -o {o}/p.html"
SERVE = "serve {p}/text.hyper"
DRIFT = f"data drift {{p}}/old.csv {{p}}/new.csv {TAGS}"
PLAIN_DRIFT = f"{DRIFT} --text body --features minutes"
SUSPECTS = f"data label-errors {{p}}/old.csv {TAGS} --folds 2"
SPLIT = f"data split {{p}}/old.csv {TAGS} --out {{o}}"
CONVERT = f"data convert {{p}}/old.csv {{o}}/x {TAGS}"
TO_NPZ = "data convert FILE {o}/x.npz"

CASES: dict[str, dict[str, str]] = {
    "fit": reading("fit FILE -o {o}/m.hyper --json")
    | {
        "--config": "fit => fit --config {p}/run.toml -o {o}/m.hyper",
        "--output": f"{FIT} => fit {{p}}/old.csv {TAGS} -o {{o}}/n.hyper",
        "--method": f"{FIT} => {FIT} --method prior",
        "--list-methods": "fit => fit --list-methods",
        "--scoring": f"{FIT} => {FIT} --scoring f1_micro",
        "--thresholds": f"{FIT} => {FIT} --thresholds global",
        "--precision": f"{FIT} => {FIT} --precision 0.35",
        "--confidence": f"{FIT} --precision 0.35 => {FIT} --precision 0.35 --confidence 0.8",
        "--alpha": f"{FIT} => {FIT} --alpha 100",
        "--time-budget": f"{FIT} --time-budget 3",
        "--words": f"{FIT} => {FIT} --words 2",
        "--ngrams": f"{FIT} => {FIT} --ngrams 1",
        "--no-label-names": f"{NAMED} => {NAMED} --no-label-names",
        "--label-text": f"{FIT} {TEXT} => {FIT} {TEXT} --label-text {{p}}/names.csv",
        "--min-rows": f"{FIT} => {FIT} --min-rows 5",
        "--slim": f"{FIT} => {FIT} --slim",
        "--seed": f"{FIT} --method forest => {FIT} --method forest --seed 3",
        "--dry-run": f"{FIT} => {FIT} --dry-run",
        "--json": f"{FIT} => {FIT} --json",
    },
    "predict": {
        "--config": f"{PREDICT} => {PREDICT} --config {{p}}/run.toml",
        "--vectors": f"predict {VECTORS[0]} => predict {VECTORS[1]}",
        "--text": "predict {p}/text.hyper => predict {p}/text.hyper --text 'red here'",
        "--top": f"{PREDICT} => {PREDICT} --top 1",
        "--scores": f"{PREDICT} => {PREDICT} --scores",
        "--probabilities": f"{PREDICT} --wide => {PREDICT} --wide --probabilities",
        "--review": f"{PREDICT} => {PREDICT} --review",
        "--entries": f"{PREDICT} --review => {PREDICT} --review --entries 2",
        "--group": f"{PREDICT} --review => {PREDICT} --review --group kind",
        "--id": f"{REVIEW} => {REVIEW} --id id",
        "--keep": f"{PREDICT} => {PREDICT} --keep",
        "--wide": f"{PREDICT} => {PREDICT} --wide",
        "--output": f"{PREDICT} -o {{o}}/a.csv => {PREDICT} -o {{o}}/a.json",
        "--format": f"{PREDICT} => {PREDICT} --format json",
        "--json": f"{PREDICT} => {PREDICT} --json",
    },
    "evaluate": {
        "--config": f"{EVALUATE} => {EVALUATE} --config {{p}}/run.toml",
        "--vectors": f"evaluate {VECTORS[0]} => evaluate {VECTORS[1]}",
        "--worst": f"{EVALUATE} => {EVALUATE} --worst 1",
        "--per-label": f"{EVALUATE} => {EVALUATE} --per-label {{o}}/l.csv",
        "--report": f"{EVALUATE} => {EVALUATE} --report {{o}}/p.html",
        "--json": f"{EVALUATE} => {EVALUATE} --json",
    },
    "explain": {
        "--config": f"{EXPLAIN} => {EXPLAIN} --config {{p}}/run.toml",
        "--vectors": f"explain {VECTORS[0]} => explain {VECTORS[1]}",
        "--row": f"{EXPLAIN} => {EXPLAIN} --row 2",
        "--text": "explain {p}/text.hyper => explain {p}/text.hyper --text 'red here'",
        "--label": f"{EXPLAIN} => {EXPLAIN} --label blue",
        "--top": f"{EXPLAIN} => {EXPLAIN} --top 1",
        "--json": f"{EXPLAIN} => {EXPLAIN} --json",
    },
    "update": {
        "--config": f"{UPDATE} => {UPDATE} --config {{p}}/run.toml",
        "--vectors": f"update {VECTORS[0]} -o {{o}}/u.hyper => update {VECTORS[1]} -o {{o}}/u.hyper",
        "--forget": f"{UPDATE} --add-label x => {UPDATE} --add-label x --forget {{p}}/few.csv",
        "--add-label": f"{UPDATE} => {UPDATE} --add-label pink",
        "--add-labels": f"{UPDATE} {{p}}/more.csv => {UPDATE} {{p}}/more.csv --add-labels",
        "--ignore-unknown": f"{UPDATE} {{p}}/more.csv => {UPDATE} {{p}}/more.csv --ignore-unknown",
        "--drop-label": f"{UPDATE} => {UPDATE} --drop-label red",
        "--merge-label": f"{UPDATE} --add-label odd => {UPDATE} --add-label odd --merge-label red=crimson",
        "--rename-label": f"{UPDATE} => {UPDATE} --rename-label red=rot",
        "--output": f"{UPDATE} --add-label x => update {{p}}/m.hyper -o {{o}}/other.hyper --add-label x",
        "--json": f"{UPDATE} --add-label x => {UPDATE} --add-label x --json",
    },
    "demo": {
        "--json": "demo -o {o}/d.html => demo -o {o}/d.html --json",
        "--seed": "demo -o {o}/d.html --json => demo -o {o}/d.html --json --seed 3",
        "--output": "demo -o {o}/d.html => demo -o {o}/e.html",
    },
    "compare": reading(f"compare FILE {RUN}")
    | {
        "--methods": f"{COMPARE} => {COMPARE} --methods ridge,prior",
        "--list-methods": "compare => compare --list-methods",
        "--scoring": f"{COMPARE} => {COMPARE} --scoring hamming_loss",
        "--splits": f"{COMPARE} --time year => {COMPARE} --time year --splits folds",
        "--folds": f"{COMPARE} => {COMPARE} --folds 3",
        "--repeats": f"{COMPARE} => {COMPARE} --repeats 2",
        "--tune": f"{COMPARE} => {COMPARE} --tune",
        "--thresholds": f"{COMPARE} => {COMPARE} --thresholds none",
        "--rope": f"{TWO} => {TWO} --rope 0.9",
        "--curves": f"{COMPARE} => {COMPARE} --curves",
        "--seed": f"{COMPARE} => {COMPARE} --seed 3",
        "--n-jobs": f"{COMPARE} --n-jobs 0",
        "--store": f"{COMPARE} => {COMPARE} --store {{o}}/t.sqlite",
        "--output": f"{COMPARE} => {COMPARE} -o {{o}}/d.html",
        "--fresh": f"{COMPARE} --store {{o}}/wrong.sqlite => {COMPARE} --store {{o}}/wrong.sqlite --fresh",
        "--retry-failed": f"{COMPARE} --store {{o}}/failed.sqlite"
        f" => {COMPARE} --store {{o}}/failed.sqlite --retry-failed",
        "--json": f"{COMPARE.removesuffix('--json')} => {COMPARE}",
    },
    "report": {
        "--vectors": f"report {VECTORS[0]} -o {{o}}/p.html => report {VECTORS[1]} -o {{o}}/p.html",
        "--output": f"{REPORT} => report {{p}}/m.hyper {{p}}/new.csv -o {{o}}/q.html",
        "--scores": f"{REPORT} => {REPORT} --scores out-of-fold",
        "--no-texts": f"{REPORT} => {REPORT} --no-texts",
        "--max-rows": f"{REPORT} => {REPORT} --max-rows 2",
        "--prune": f"{REPORT} => {REPORT} --prune 9",
        "--suite": f"{STORE} => {STORE} --suite none",
        "--scoring": f"{STORE} => {STORE} --scoring hamming_loss",
        "--rope": f"{STORE} => {STORE} --rope 0.9",
        "--list": f"{STORE} => {STORE} --list",
    },
    "serve": {
        "--data": f"{SERVE} => {SERVE} --data {{p}}/old.csv",
        "--host": f"{SERVE} --host 0.0.0.0",
        "--port": f"{SERVE} => {SERVE} --port 5001",
        "--token-file": f"{SERVE} => {SERVE} --token-file {{p}}/run.toml",
        "--learn": f"{SERVE} => {SERVE} --learn",
        "--max-body": f"{SERVE} => {SERVE} --max-body 2",
        "--max-batch": f"{SERVE} => {SERVE} --max-batch 2",
        "--timeout": f"{SERVE} => {SERVE} --timeout 2",
        "--quiet": f"{SERVE} => {SERVE} --quiet",
    },
    "data drift": reading("data drift FILE {p}/new.csv --json", "--time")
    | {
        "--config": f"{DRIFT} => {DRIFT} --config {{p}}/run.toml",
        "--vectors": f"{DRIFT} --json => {DRIFT} --json --vectors {{p}}/old.npy --vectors {{p}}/new.npy",
        "--unreadable": f"data drift {{p}}/units.csv {{p}}/units.csv {TAGS}"
        f" => data drift {{p}}/units.csv {{p}}/units.csv {TAGS} --unreadable missing",
        "--decimal": f"data drift {{p}}/quoted.csv {{p}}/quoted.csv {TAGS}"
        f" => data drift {{p}}/quoted.csv {{p}}/quoted.csv {TAGS} --decimal ,",
        "--blank": "data drift {p}/flags.csv {p}/flags.csv --labels a,b"
        " => data drift {p}/flags.csv {p}/flags.csv --labels a,b --blank no",
        "--nominal": "data drift {p}/x.arff {p}/x.arff --labels -2"
        " => data drift {p}/x.arff {p}/x.arff --labels -2 --nominal onehot",
        "--group": f"{PLAIN_DRIFT} --json => {PLAIN_DRIFT} --json --group kind",
        "--model": "data drift {p}/old.csv {p}/new.csv"
        " => data drift {p}/old.csv {p}/new.csv --model {p}/m.hyper",
        "--top": f"{DRIFT} => {DRIFT} --top 1",
        "--seed": f"{PLAIN_DRIFT} --json => {PLAIN_DRIFT} --json --seed 5",
        "--json": f"{DRIFT} => {DRIFT} --json",
    },
    "data label-errors": reading("data label-errors FILE --folds 2", "--time")
    | {
        "--entries": f"{SUSPECTS} => {SUSPECTS} --entries 1",
        "--folds": f"{SUSPECTS} => {SUSPECTS} --folds 3",
        "--output": f"{SUSPECTS} -o {{o}}/s.csv => {SUSPECTS} -o {{o}}/s.jsonl",
    },
    "data info": reading("data info FILE", "--time", text="minutes")
    | {
        "--pairs": "data info debtags => data info debtags --pairs 1",
        "--json": f"data info {{p}}/old.csv {TAGS} => data info {{p}}/old.csv {TAGS} --json",
    },
    "data report": reading("data report FILE -o {o}/d.html")
    | {"--output": f"data report {{p}}/old.csv {TAGS} -o {{o}}/d.pdf"},
    "data convert": reading(TO_NPZ)
    | {
        "--to": f"{CONVERT} => {CONVERT} --to npz",
        "--shard-rows": f"{CONVERT} => {CONVERT} --shard-rows 9",
    },
    "data split": reading("data split FILE --out {o} --to npz --json")
    | {
        "--output": f"data split {{p}}/old.csv {TAGS} => {SPLIT}",
        "--by": f"{SPLIT} --group user => {SPLIT} --group user --by groups",
        "--group": f"{SPLIT} --by groups => {SPLIT} --by groups --group user",
        "--time": f"{SPLIT} --by time => {SPLIT} --by time --time year",
        "--test-size": f"{SPLIT} => {SPLIT} --test-size 0.5",
        "--folds": f"{SPLIT} => {SPLIT} --folds 2",
        "--seed": f"{SPLIT} => {SPLIT} --seed 4",
        "--to": f"{SPLIT} => {SPLIT} --to jsonl",
        "--json": f"{SPLIT} => {SPLIT} --json",
    },
    "doctor": {"--json": "doctor => doctor --json", "--warm": "doctor => doctor --warm"},
}


def commands():
    """Yield every command by its name, those of `data` with both words."""
    context = click.Context(main)
    for name in _COMMANDS:
        command = main.get_command(context, name)
        inside = getattr(command, "commands", None)
        yield from ((f"{name} {key}", one) for key, one in inside.items()) if inside else [(name, command)]


def spelling(option: click.Option) -> str:
    """Return how the table calls an option: by its first long name."""
    return next(name for name in option.opts if name.startswith("--"))


def test_every_option_has_a_case():
    there = {
        name: {spelling(one) for one in command.params if isinstance(one, click.Option)}
        for name, command in commands()
    }
    assert {name: set(cases) for name, cases in CASES.items()} == there


WORDS = {"red": "rose apple", "blue": "sky sea", "green": "leaf"}


def write_table(path, n, seed, tags=("red", "blue", "green")):
    rng = np.random.default_rng(seed)
    lines = ["id,body,minutes,kind,user,year,tags"]
    for i in range(n):
        there = [tag for tag in tags if rng.random() < 0.45]
        body = " ".join([*(WORDS.get(tag, tag) for tag in there), "said", "here", f"w{rng.integers(5)}"])
        listed = ";".join("Red" if tag == "red" and i % 5 == 0 else tag for tag in there)
        lines.append(f"k{i},{body},{rng.integers(99)},{'uvw'[i % 3]},g{i // 4},{1990 + i},{listed}")
    path.write_text("\n".join(lines) + "\n")
    return rng


CONFIG = """
[fit]
data = "{p}/old.csv"
labels = "tags"
[predict]
top = 1
[evaluate]
worst = 1
[explain]
top = 1
[update]
add-label = "pink"
[drift]
top = 1
"""
ARFF = """@relation x
@attribute size numeric
@attribute kind {{u,v}}
@attribute a {{0,1}}
@attribute b {{0,1}}
@data
{}
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("options")
    rng = write_table(folder / "old.csv", 36, 0)
    write_table(folder / "new.csv", 20, 1)
    write_table(folder / "more.csv", 8, 2, tags=("red", "purple"))
    rows = (folder / "old.csv").read_text().splitlines()
    (folder / "few.csv").write_text("\n".join(rows[:5]) + "\n")
    quoted = [f'"{i % 7},5",{i % 4},{"up" if i % 7 > 3 else "down"}' for i in range(24)]
    (folder / "quoted.csv").write_text("\n".join(["price,size,tags", *quoted]) + "\n")
    units = [f"{i % 7}{' kB' if i == 5 else ''},{'up' if i % 7 > 3 else 'down'}" for i in range(24)]
    (folder / "units.csv").write_text("\n".join(["size,tags", *units]) + "\n")
    maybe = [f"{i % 5},{'maybe' if i == 5 else i % 2},{i % 3 // 2}" for i in range(24)]
    (folder / "maybe.csv").write_text("\n".join(["size,a,b", *maybe]) + "\n")
    flags = [f"{i % 5},{'' if i % 6 == 0 else i % 2},{i % 3 // 2}" for i in range(24)]
    (folder / "flags.csv").write_text("\n".join(["size,a,b", *flags]) + "\n")
    data = "\n".join(f"{i % 7},{'uv'[i % 2]},{i % 2},{i % 3 // 2}" for i in range(24))
    (folder / "x.arff").write_text(ARFF.format(data))
    for name, n in (("old", 36), ("new", 20)):
        np.save(folder / f"{name}.npy", rng.normal(size=(n, 2)))
    named = [f"{('red', 'blue', 'no')[i % 3]} thing,{('red', 'blue', '')[i % 3]}" for i in range(24)]
    (folder / "named.csv").write_text("\n".join(["text,tags", *named]) + "\n")
    (folder / "names.csv").write_text("label,synonyms\nred,crimson here\npink,here\n")
    (folder / "run.toml").write_text(CONFIG.replace("{p}", str(folder)))
    for line in (
        f"fit {{p}}/old.csv {TAGS} -o {{p}}/m.hyper",
        f"fit {{p}}/old.csv {TAGS} --text body --features '' -o {{p}}/text.hyper",
        f"fit {{p}}/old.csv {TAGS} --vectors {{p}}/old.npy -o {{p}}/v.hyper",
        COMPARE.replace("{o}", "{p}") + " --methods ridge,prior",
        COMPARE.replace("{o}", "{p}"),
    ):
        done = CliRunner().invoke(main, shlex.split(line.replace("{p}", str(folder))))
        assert done.exit_code == 0, f"{line}\n{done.output}"
    spoil_stores(folder)
    return folder


def spoil_stores(folder):
    """Make results that no run would give, and results that failed, so that a new run shows."""
    for kind, change in (
        ("wrong", "UPDATE value SET value = 0.125"),
        ("failed", "UPDATE cell SET status = 'failed', error = 'no memory'"),
    ):
        target = shutil.copy(folder / "s.sqlite", folder / f"{kind}.sqlite")
        with sqlite3.connect(target) as base:
            base.execute(change)
            if kind == "failed":
                base.execute("DELETE FROM value")
        base.close()


TIMES = (
    r"\d+(\.\d+)? (s|ms|MB|min)\b",
    r"\"(fit_)?seconds\": [\d.]+",
    r"(?m)\d\.\d\d$",
    r"\d{4}-\d\d-\d\d[T ][\d:.+]+",
)
OUTCOMES: dict[str, tuple] = {}


def outcome(line, place, out):
    """Run a call; return its exit code, what it printed and the files it wrote."""
    for kind in ("wrong", "failed"):
        if f"{kind}.sqlite" in line:
            shutil.copy(place / f"{kind}.sqlite", out)
    typed = shlex.split(line.replace("{p}", str(place)).replace("{o}", str(out)))
    done = CliRunner().invoke(main, typed)
    if not isinstance(done.exception, SystemExit | None):
        raise done.exception
    if done.exit_code == 2:
        return (2,)
    files = {}
    for path in sorted(out.rglob("*")):
        if path.is_file():
            files[str(path.relative_to(out))] = content(path, out, line.split()[0])
    printed = done.stdout.replace(str(out), "")
    for pattern in TIMES:
        printed = re.sub(pattern, "", printed)
    return done.exit_code, printed, files


def content(path, out, command):
    """Return what counts of a file: all of it, but of pages with measured times their headings."""
    if path.suffix == ".sqlite":
        return None
    if path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            return {name: arrays[name].tobytes() for name in arrays.files}
    if path.suffix != ".html":
        return path.read_bytes()
    page = path.read_text().replace(str(out), "")
    return re.findall(r"<h[23][^>]*>.*?</h", page) if command in ("compare", "demo") else page


def outcome_of(line, place, tmp_path_factory):
    if line not in OUTCOMES:
        OUTCOMES[line] = outcome(line, place, tmp_path_factory.mktemp("o"))
    return OUTCOMES[line]


@pytest.fixture
def no_server(monkeypatch):
    """Print what would be served, and how."""
    import hyperlabel.apps.serve

    def app(projects, *, page, token, limits, log):
        logs = log is not None
        click.echo(f"{[one.learns for one in projects]} {len(page) > 0} {token} {limits} {logs}")

    @contextmanager
    def listener(host, port):
        yield SimpleNamespace(getsockname=lambda: (host, port))

    monkeypatch.setattr(hyperlabel.apps.serve, "make_app", app)
    monkeypatch.setattr(hyperlabel.apps.serve, "open_port", listener)
    monkeypatch.setattr(hyperlabel.apps.serve, "run_server", lambda app, listener, limits: None)


@pytest.fixture
def short_demo(monkeypatch):
    few = datasets.load_debtags()[:60]
    monkeypatch.setattr(datasets, "load_debtags", lambda: few)
    monkeypatch.setattr(demo_module, "_METHODS", ["ridge"])


@pytest.mark.usefixtures("no_server", "short_demo")
@pytest.mark.parametrize(("command", "option"), [(name, option) for name in CASES for option in CASES[name]])
def test_no_option_is_ignored(command, option, place, tmp_path_factory):
    first, mark, second = (part.strip() for part in CASES[command][option].partition("=>"))
    without = outcome_of(first, place, tmp_path_factory)
    if not mark:
        assert without == (2,), f"{first} was not refused"
        return
    given = outcome_of(second, place, tmp_path_factory)
    assert given != without, f"{option} changes nothing"
    assert 0 in (given[0], without[0])


@pytest.mark.usefixtures("no_server", "short_demo")
@pytest.mark.parametrize("command", list(CASES))
def test_the_same_call_ends_the_same_way(command, place, tmp_path_factory):
    """Else any option would seem to change something."""
    lines = [part.strip() for case in CASES[command].values() for part in case.split("=>")]
    line = max(lines, key=lines.count)
    again = outcome(line, place, tmp_path_factory.mktemp("o"))
    assert again == outcome_of(line, place, tmp_path_factory)
