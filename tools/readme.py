"""Fill the generated parts of README.md: ``python tools/readme.py [--check]``.

The papers' table is read off the pages of docs/reproduction, the comparison with scikit-learn off what
``python -m benchmarks.first_contact`` wrote, the measured rows off what ``python -m benchmarks.readme_rows``
wrote; the answers of the command line are those of the commands themselves, run on examples/packages.csv.
``--check`` changes nothing and fails where a table is stale (`make contract`); the commands are checked by
tests/test_readme.py.
"""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"

# paper, what is compared, page, table, row, column
PAPERS = [
    ("KDD 2008", "mean AUC, scene, clique, λ", "kdd08", "kdd08-table2", "HG_c^λ", "Scene"),
    ("HOPLS 2014", "F1, scene, HOPLS", "jcp14", "jcp14-table2", "scene, HOPLS", "micro"),
    ("CVPR 2009", "macro-F1, MediaMill, Rank-HLapSVM", "cvpr09", "cvpr09-table2", "Rank-HLapSVM", "F1 macro"),
    ("Tai & Lin 2012", "Hamming loss, delicious, PLST(M*)", "neco12", "neco12-table3", "delicious",
     "PLST(M*)"),
]  # fmt: skip
# benchmark, the row it fills, what follows the benchmark's name in its command
MEASURED = [
    ("bench_foundation", "`BinaryRelevance(alpha=1)` against scikit-learn's `RidgeClassifier`, sparse "
     "delicious, scores equal to {difference:.0e}", ""),
    ("bench_closed_form_cv",
     "the same *with* 5-fold out-of-fold scores against one `Ridge` fit, {n} × {d} rows, "
     "{k} labels", " {n}"),
    ("bench_text", "the same on Debian texts, {n} × {d} words, {k} tags, against omikuji's Parabel "
     "(P@1 {P@1:.3f}, theirs {their P@1:.3f})", " PYTHON-WITH-OMIKUJI"),
    ("bench_rank", "`RankSVM` to gap 1e-3 against one-vs-rest LinearSVC, yeast", ""),
    ("case_documents", "one more document learned by a model of {d} words and {k} tags, equal to a fit, "
     "against the recipe of paperless-ngx, which trains anew", ""),
]  # fmt: skip
TEXT = "Convert and resize photos in many image formats"
COMMANDS = [
    "hyperlabel fit examples/packages.csv --text description --labels tags -o model.hyper",
    f'hyperlabel predict model.hyper --text "{TEXT}"',
    f'hyperlabel explain model.hyper --label use::converting --top 3 --text "{TEXT}"',
]


def number_of(page: str, table: str, row: str, column: str) -> list[str]:
    """Paper's number, ours, its spread over several splits, and the page."""
    path = f"docs/reproduction/{page}.md"
    for section in re.split(r"^## ", (ROOT / path).read_text(encoding="utf-8"), flags=re.M)[1:]:
        lines = section.splitlines()
        if f"`{table}`" not in lines[0]:
            continue
        cells = [[c.strip() for c in line.strip("|").split("|")] for line in lines if line.startswith("|")]
        found = next((line for line in cells if line[0] == row), None)
        if found and f"{column}: paper" in cells[0]:
            at = cells[0].index(f"{column}: paper")
            if found[at + 2] != "–":  # a spread: more than one split
                return [*found[at : at + 3], path]
    raise SystemExit(f"docs/reproduction/{page}.md has no {row}, {column} of {table}")


def papers() -> str:
    """Return how many claims hold, and the papers' table, theirs beside ours."""
    summary = (ROOT / "docs" / "reproduction" / "summary.md").read_text(encoding="utf-8")
    met = re.search(r"\*\*(\d+ of \d+)\*\* are met", summary)[1]
    verdicts = re.search(r"^\d+ claims of the papers: .*$", summary, flags=re.M)[0]
    lines = [f"{met} printed scores are met under one reading per paper. {verdicts}", ""]
    lines += ["| paper | number | printed | ours | std |", "|---|---|---:|---:|---:|"]
    for paper, what, *where in PAPERS:
        printed, ours, std, page = number_of(*where)
        lines.append(f"| [{paper}]({page}) | {what} | {printed} | {ours} | {std} |")
    return "\n".join(lines)


def first_contact() -> str:
    """Return the table of `python -m benchmarks.first_contact`: scikit-learn's parts beside ours."""
    rows = json.loads((ROOT / "benchmarks" / "first_contact.json").read_text(encoding="utf-8"))["rows"]
    lines = ["| set | method | micro-F1 | macro-F1 | P@1 | CPU s |", "|---|---|---:|---:|---:|---:|"]
    for name, method, micro, macro, first, seconds in rows:
        lines.append(f"| {name} | {method} | {micro:.3f} | {macro:.3f} | {first:.3f} | {seconds:.1f} |")
    return "\n".join(lines)


def share(ratio: float) -> str:
    """Write our time over theirs with two digits."""
    return f"{ratio:.2g}×" if ratio > 0.1 else f"1/{float(f'{1 / ratio:.2g}'):.0f}"


def measured() -> str:
    """Return the measured rows: the median of our time over theirs, round by round, and its range."""
    rows = json.loads((ROOT / "benchmarks" / "readme_rows.json").read_text(encoding="utf-8"))["rows"]
    days = " and ".join(sorted({row["date"] for row in rows.values()}))
    machines = " and ".join(sorted({row["processor"] for row in rows.values()}))
    loads = sorted(row["load"] for row in rows.values())
    busy = f"{machines}, load {loads[0]:.0f} to {loads[-1]:.0f}; {days}"
    lines = [f"Our CPU time over theirs, both sides in one run, one thread, beside other work ({busy}):", ""]
    lines += ["| | median (range) | `python -m benchmarks.…` |", "|---|---|---|"]
    for name, what, arguments in MEASURED:
        row = rows[name]
        spaced = {key: f"{v:,}".replace(",", " ") if isinstance(v, int) else v for key, v in row.items()}
        found = np.sort(np.divide(row["ours"], row["theirs"]))
        middle, least, most = map(share, (np.median(found), found[0], found[-1]))
        call = f"{name}{arguments}".format_map(row)
        lines.append(f"| {what.format_map(spaced)} | {middle} ({least} to {most}) | `{call}` |")
    return "\n".join(lines)


def run(command: str, folder: Path) -> str:
    """Run a command of the README in a folder beside which the examples stand; what it printed."""
    if not (folder / "examples").exists():
        (folder / "examples").symlink_to(ROOT / "examples")
    words = [sys.executable, "-m", *shlex.split(command)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True)
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def console() -> str:
    """Return the commands and their answers."""
    with tempfile.TemporaryDirectory() as folder:
        parts = [f"$ {command}\n{run(command, Path(folder))}" for command in COMMANDS]
    return "```console\n" + "\n\n".join(parts) + "\n```"


def with_block(text: str, name: str, content: str) -> str:
    """Return the text with what stands between the marks of a block replaced."""
    pattern = rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)"
    if not re.search(pattern, text, flags=re.S):
        raise SystemExit(f"README.md has no block {name}")
    return re.sub(pattern, lambda found: f"{found[1]}{content}\n{found[2]}", text, flags=re.S)


def main() -> None:
    text = README.read_text(encoding="utf-8")
    fresh = text
    for name, content in (("papers", papers()), ("first contact", first_contact()), ("measured", measured())):
        fresh = with_block(fresh, name, content)
    if "--check" in sys.argv:
        if fresh != text:
            sys.exit("README.md shows other numbers than its sources: run python tools/readme.py")
        return
    README.write_text(with_block(fresh, "console", console()), encoding="utf-8")


if __name__ == "__main__":
    main()
