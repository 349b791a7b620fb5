"""Run the cells of items, and collect their results from the store."""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hyperlabel.apps.cli._progress import cell_progress
from hyperlabel.apps.comparison import Job, Store, run
from hyperlabel.tabular.wording import plural
from reproduction.item import Item, Plan, Runs, missing_data_notes
from reproduction.result import Result


@dataclass(frozen=True)
class RunOptions:
    """Where results are kept, and which cells are computed."""

    store_path: str
    command: str
    n_jobs: int = 1
    collect_only: bool = False
    fresh: bool = False
    retry_failed: bool = False


def run_items(items: Sequence[Item], plan: Plan, options: RunOptions) -> tuple[list[Result], dict[str, Any]]:
    """Return the results of the items, and the command and environments they were computed with."""
    results: list[Result] = []
    counted_cells: set[str] = set()
    record: dict[str, Any] = {"command": options.command, "environments": []}
    with Store(options.store_path) as store:
        for item in items:
            start = time.perf_counter()
            # One partition of all data sets after the other: a run that is stopped has as many of each.
            planned_cells = sorted(item.cells(plan), key=lambda cell: cell.spec["split"])
            suite = f"reproduce {item.id}{' quick' if plan.quick else ''}"
            _run_cells(item.id, planned_cells, store, suite, options)
            runs = Runs(store.cells(suite), store.values(suite))
            result = item.result(plan, runs)
            result.notes += runs.choice_notes()
            if len(runs.cells) < len(planned_cells):
                result.notes.append(
                    f"{len(runs.cells)} of {len(planned_cells)} planned cells are finished: means are over "
                    "these."
                )
            result.quick, result.failures = plan.quick, runs.failures()
            has_all_data = all(plan.has(name) for name in item.data)
            result.complete = has_all_data and len(runs.cells) == len(planned_cells)
            result.made = _made_text(store.suite(suite), runs) if runs.cells else ""
            result.notes.append(_origin_note(item.id, runs, plan))
            result.missing = [*missing_data_notes(plan, item.data), *result.missing]
            result.seconds, result.cpu = time.perf_counter() - start, runs.cpu(planned_cells, counted_cells)
            results.append(result)
            for environment in store.suite(suite)["environments"]:
                if environment not in record["environments"]:
                    record["environments"].append(environment)
    return results, record


def _run_cells(title: str, cells: list[Job], store: Store, suite: str, options: RunOptions) -> None:
    """Compute the cells that the store lacks; with `collect_only` none, whatever the other options say."""
    computes = not options.collect_only
    finished_ids = store.finished([cell.id for cell in cells])
    with cell_progress(title, len(cells)) as progress:
        run(
            [cell for cell in cells if computes or cell.id in finished_ids],
            store,
            suite,
            command=options.command,
            n_jobs=options.n_jobs,
            fresh=computes and options.fresh,
            retry_failed=computes and options.retry_failed,
            progress=progress,
        )


def _made_text(suite: dict[str, Any], runs: Runs) -> str:
    """Say when the cells were computed, and with which versions."""
    keys = ("hyperlabel", "code", "python", "numpy", "scipy", "scikit-learn", "numba", "cpu")
    versions = "; ".join(
        ", ".join(f"{key} {environment[key]}" for key in keys) for environment in suite["environments"]
    )
    return f"{str(suite['started'])[:10]}: {versions}; one BLAS thread per fit"


def _origin_note(id: str, runs: Runs, plan: Plan) -> str:
    """Name the cells of the store behind the numbers, by a hash, and the command that computes them."""
    cell_ids = "".join(sorted(cell["id"] for cell in runs.cells))
    cells_hash = hashlib.sha256(cell_ids.encode()).hexdigest()[:12]
    suite_form, option = (" quick", " --quick") if plan.quick else ("", "")
    return (
        f"{plural(len(runs.cells), 'cell')} (together {cells_hash}) of the suite `reproduce {id}"
        f"{suite_form}`, made by `python -m reproduction {id}{option}`; "
        "`--collect-only --json` names those behind each number."
    )
