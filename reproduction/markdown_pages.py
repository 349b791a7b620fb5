"""The pages of docs/reproduction: one per paper, and the one that judges the claims."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hyperlabel._files import write_text
from reproduction import PAPERS, Result
from reproduction.claims import costs, summary


def write_markdown(results: list[Result], short: list[Result], record: dict[str, Any], folder: Path) -> None:
    """Write one page per paper, the page of claims, and the numbers of both with their cells as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    quick = results[0].quick
    end, kind = ("-quick", ": quick run") if quick else ("", "")
    keys = ("hyperlabel", "code", "python", "numpy", "scipy", "scikit-learn", "numba", "cpu")
    versions = "; ".join(", ".join(f"{key} {e[key]}" for key in keys) for e in record["environments"])
    made = f"Written by `{record['command']}`, {datetime.now(UTC):%Y-%m-%d}"
    for paper, title in PAPERS.items():
        mine = [r for r in results if r.id.startswith(f"{paper}-")]
        head = [f"# {title}{kind}", f"{made}. {versions}; one BLAS thread per fit."]
        if mine:
            write_text(folder / f"{paper}{end}.md", _paper_page(mine, head))
    told = [
        f"# What holds of the papers' claims{kind}",
        f"{made}, from the numbers on the pages of this section (`results{end}.json` names the cells behind "
        "each). A claim marked (ours) is not the papers'.",
        "\n".join(summary(results)),
        "\n".join(costs(results, short)),
    ]
    write_text(folder / f"summary{end}.md", "\n\n".join(told) + "\n")
    found = ",\n".join(json.dumps(r.as_dict(), ensure_ascii=False) for r in results if r.numbers)
    write_text(folder / f"results{end}.json", f"[{found}]\n")


def _paper_page(results: list[Result], head: list[str]) -> str:
    there = [r for r in results if r.numbers or r.curves]
    waiting = ", ".join(f"`{r.id}`" for r in results if r not in there)
    parts = [
        *head,
        "The paper's figure, ours (mean over splits), the spread over splits, ours minus the paper's.",
        f"**Not run with this code:** {waiting}." if waiting else "",
        *(r.markdown() for r in there),
    ]
    return "\n\n".join(part for part in parts if part)
