"""Fill the generated parts of docs/reliability.md and SECURITY.md: ``python tools/reliability.py [--check]``.

The figures are those of attack/results.json, which the commands of the tables write with ``--record``.
``--check`` changes nothing and fails where a part is stale (`make contract`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from attack.record import read_results  # noqa: E402 - the script stands beside the package

PARTS = {"docs/reliability.md": ("figures", "mutants"), "SECURITY.md": ("figures",)}


def planted_line(figures: dict[str, Any]) -> str:
    found = sum(figures["faults"].values())
    missed = [what for what, is_found in figures["faults"].items() if not is_found]
    return f"{found} of {len(figures['faults'])} found" + (f"; missed: {', '.join(missed)}" if missed else "")


def doors_line(figures: dict[str, Any]) -> str:
    counts = ", ".join(f"{name} {count}" for name, count in figures["executions"].items())
    return f"{counts}; {figures['findings']} findings (seed {figures['seed']})"


def semantic_line(figures: dict[str, Any]) -> str:
    n, first = len(figures["outcomes"]), sum(one["first"] != "survived" for one in figures["outcomes"])
    now = sum(one["now"] != "survived" for one in figures["outcomes"])
    return f"{first} of {n} caught at first ({100 * first / n:.0f} %), {now} with tests written since"


def drawn_line(figures: dict[str, Any]) -> str:
    drawn, first, now = (sum(row[i] for row in figures["packages"].values()) for i in range(3))
    return (
        f"{drawn} drawn (seed {figures['seed']}; {figures['asked']} were asked for): {first} caught at first "
        f"({100 * first / drawn:.1f} %), {now} with tests written since ({100 * now / drawn:.1f} %)"
    )


def soak_line(figures: dict[str, Any]) -> str:
    return (
        f"{figures['clients']} clients, {figures['minutes']:g} minutes: {figures['answers']} answers of 200, "
        f"{figures['others']} others, {figures['lost']} lost, {figures['left']} clients left half-way; half "
        f"within {figures['half']:.2f} s, 99 of 100 within {figures['slow']:.2f} s; memory "
        f"{figures['first']:.1f} MB, then {figures['last']:.1f} MB; stopped in {figures['stopped']:.1f} s"
    )


def acknowledged_line(figures: dict[str, Any]) -> str:
    return (
        f"{figures['rows']} rows acknowledged, {figures['kills']} kills: every one of the rows is in the file"
    )


LINES = {
    "planted": ("faults planted, one for each door at least", "python -m attack.planted", planted_line),
    "doors": ("requests, options, pages, settings", "python -m attack --targets …", doors_line),
    "semantic": ("faults made by hand at the edges", "python -m attack.semantic_mutants", semantic_line),
    "drawn": ("mutants drawn from all packages", "python tools/mutate.py run", drawn_line),
    "soak": ("many clients of one server", "python -m attack.server_soak", soak_line),
    "acknowledged": ("two writers of a file, killed", "python -m attack.acknowledged", acknowledged_line),
}


def figures_table(results: dict[str, Any]) -> str:
    rows = ["| what | command | figure | measured |", "|---|---|---|---|"]
    for part, (what, command, line) in LINES.items():
        if part in results:
            about = results[part]
            rows.append(
                f"| {what} | `{command}` | {line(about)} | {about['day']}, commit {about['commit']} |"
            )
    return "\n".join(rows)


def mutants_table(results: dict[str, Any]) -> str:
    if "drawn" not in results:
        return ""
    rows = ["| package | drawn | caught at first | caught now |", "|---|---|---|---|"]
    for package, (drawn, first, now) in sorted(results["drawn"]["packages"].items()):
        rows.append(f"| `{package}` | {drawn} | {first} | {now} |")
    if left := results["drawn"]["survivors"]:
        rows += ["", "Alive:", ""]
        rows += [f"- `{one['place']}`: `{one['what']}`. {one['reason']}" for one in left]
    return "\n".join(rows)


TABLES = {"figures": figures_table, "mutants": mutants_table}


def filled(text: str, parts: tuple[str, ...], results: dict[str, Any]) -> str:
    """Return a page with its generated parts anew; each stands between two comments."""
    for part in parts:
        opening, closing = f"<!-- {part}: tools/reliability.py -->", f"<!-- end of {part} -->"
        if not text.count(opening) == text.count(closing) == 1:
            raise SystemExit(f"There is no place for {part}.")
        before, _, rest = text.partition(opening)
        text = f"{before}{opening}\n{TABLES[part](results)}\n{closing}{rest.partition(closing)[2]}"
    return text


def main() -> int:
    results, stale = read_results(), []
    for name, parts in PARTS.items():
        path = ROOT / name
        text = path.read_text(encoding="utf-8")
        if (new := filled(text, parts, results)) == text:
            continue
        stale.append(name)
        if "--check" not in sys.argv[1:]:
            path.write_text(new, encoding="utf-8")
    if "--check" in sys.argv[1:] and stale:
        print(f"{', '.join(stale)}: run python tools/reliability.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
