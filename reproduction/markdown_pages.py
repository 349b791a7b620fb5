"""The pages of docs/reproduction: one per paper, and the one that judges the claims."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hyperlabel._files import write_text
from reproduction import PAPERS, Result
from reproduction.claims import costs, summary


def write_markdown(
    results: list[Result], quick_results: list[Result], record: dict[str, Any], folder: Path
) -> None:
    """Write one page per paper, the page of claims, and the numbers of both with their cells as JSON."""
    folder.mkdir(parents=True, exist_ok=True)
    suffix, run_kind = ("-quick", ": quick run") if results[0].quick else ("", "")
    keys = ("hyperlabel", "code", "python", "numpy", "scipy", "scikit-learn", "numba", "cpu")
    versions = "; ".join(
        ", ".join(f"{key} {environment[key]}" for key in keys) for environment in record["environments"]
    )
    origin = f"Written by `{record['command']}`, {datetime.now(UTC):%Y-%m-%d}"
    for paper, title in PAPERS.items():
        paper_results = [result for result in results if result.id.startswith(f"{paper}-")]
        head = [f"# {title}{run_kind}", f"{origin}. {versions}; one BLAS thread per fit."]
        if paper_results:
            write_text(folder / f"{paper}{suffix}.md", _paper_page(paper_results, head))
    paragraphs = [
        f"# What holds of the papers' claims{run_kind}",
        f"{origin}, from the numbers on the pages of this section (`results{suffix}.json` names the cells "
        "behind each). A claim marked (ours) is not the papers'.",
        "\n".join(summary(results)),
        "\n".join(costs(results, quick_results)),
    ]
    write_text(folder / f"summary{suffix}.md", "\n\n".join(paragraphs) + "\n")
    tables = [json.dumps(result.as_dict(), ensure_ascii=False) for result in results if result.numbers]
    write_text(folder / f"results{suffix}.json", "[" + ",\n".join(tables) + "]\n")


def _paper_page(results: list[Result], head: list[str]) -> str:
    computed = [result for result in results if result.numbers or result.curves]
    not_run = ", ".join(f"`{result.id}`" for result in results if result not in computed)
    paragraphs = [
        *head,
        "The paper's figure, ours (mean over splits), the spread over splits, ours minus the paper's.",
        f"**Not run with this code:** {not_run}." if not_run else "",
        *(result.markdown() for result in computed),
    ]
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)
