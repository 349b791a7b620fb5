"""The parts that every paper's tables and figures are made of."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from hyperlabel.apps.comparison.protocol import hash_arrays
from hyperlabel.apps.comparison.runner import Job, JobResult, Measurement
from hyperlabel.apps.comparison.store import canonical_json
from hyperlabel.datasets import Dataset
from hyperlabel.geometry.hypercube import distinct_vertices
from reproduction import data
from reproduction.result import Cpu, Curve, Number, Result
from reproduction.search import next_value

PRINTED: dict[str, Any] = tomllib.loads(Path(__file__).with_name("printed.toml").read_text("utf-8"))
# Where the scores of one table entry are found: data set, series, metric, x.
ScoreKey = tuple[str, str, str, float | None]


@dataclass(frozen=True)
class Plan:
    """What to run: the data folder, and whether in the quick form."""

    folder: Path | None
    quick: bool = False

    def has(self, name: str) -> bool:
        """Whether the files of a data set are in the folder."""
        return data.available(self.folder, name)

    def load(self, name: str) -> Dataset:
        """Read a data set."""
        assert self.folder is not None
        return data.load(self.folder, name)

    def pick(self, full: Any, quick: Any) -> Any:
        """Return the setting of the form that was asked for."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Item:
    """A table or figure that can be asked for.

    ``make_cells(plan)`` returns the jobs for the data sets in the folder. ``collect(plan, runs)`` turns their
    values into a `Result`. A data set that is missing is left out, and the result says so.
    """

    id: str
    title: str
    data: tuple[str, ...]
    cells: Callable[[Plan], list[Job]]
    collect: Callable[[Plan, Runs], Result]

    def result(self, plan: Plan, runs: Runs) -> Result:
        """Collect the result, and put the notes that hold for every run before its own."""
        result = self.collect(plan, runs)
        result.id, result.title = self.id, self.title
        result.notes = [*item_notes(self.id), *result.notes]
        return result


def item_notes(id: str) -> list[str]:
    """Return the notes that hold for every run of an item."""
    return [PRINTED["notes"].get(text, text) for text in PRINTED["about"].get(id, [])]


class Scores(list[float]):
    """Scores over the splits, with the ids of the cells they were read from."""

    def __init__(self, values: Iterable[float], cells: tuple[str, ...]) -> None:
        super().__init__(values)
        self.cells = cells


@dataclass
class Runs:
    """The finished cells of an item, and their values, as the store returns them."""

    cells: list[dict[str, Any]]
    values: list[dict[str, Any]] = field(repr=False)

    @cached_property
    def _scores_by_key(self) -> dict[ScoreKey, list[tuple[float, str]]]:
        spec = {cell["id"]: cell["spec"] for cell in self.cells}
        scores_by_key: dict[ScoreKey, list[tuple[float, str]]] = {}
        for v in self.values:
            key = (spec[v["cell"]]["data"], v["series"], v["metric"], v["x"])
            scores_by_key.setdefault(key, []).append((v["value"], v["cell"]))
        return scores_by_key

    def scores(self, name: str, series: str, metric: str, x: float | None = None) -> Scores:
        """Return one score per split; where several cells of a split have it, the first counts."""
        split_of = {cell["id"]: cell["spec"].get("split") for cell in self.cells}
        all_scores = self._scores_by_key.get((name, series, metric, None if x is None else float(x)), [])
        first_of_split: dict[Any, tuple[float, str]] = {}
        for i, (value, cell) in enumerate(all_scores):
            first_of_split.setdefault(i if split_of[cell] is None else str(split_of[cell]), (value, cell))
        # Pairs of numbers are compared split by split, whatever order the cells were finished in.
        in_order = sorted(first_of_split, key=lambda split: (not str(split).isdigit(), str(split).zfill(9)))
        in_order_values = [first_of_split[split] for split in in_order]
        values, cell_ids = zip(*in_order_values, strict=True) if in_order_values else ((), ())
        return Scores(values, cell_ids)

    def number(self, row: str, column: str, scores: Sequence[float], paper: float | None = None) -> Number:
        """Return a table entry: mean and standard deviation of the finite scores, and their cells."""
        finite_scores = [score for score in scores if math.isfinite(score)]
        mean = float(np.mean(finite_scores)) if finite_scores else math.nan
        std = float(np.std(finite_scores, ddof=1)) if len(finite_scores) > 1 else math.nan
        cells, by_split = getattr(scores, "cells", ()), tuple(map(float, scores))
        return Number(row, column, mean, std, len(finite_scores), paper, cells, by_split)

    def numbers(self, entries: Iterable[tuple[str, str, Scores, float | None]]) -> list[Number]:
        """Return the table entries (row, column, scores, paper's number) that have scores."""
        return [self.number(*entry) for entry in entries if entry[2]]

    def choice_notes(self) -> list[str]:
        """Name every grid that was searched, and the choices that lie on an edge of their grid."""
        searched_values: dict[tuple[str, str], set[float]] = {}
        edge_choices: dict[tuple[str, str, str], list[float | None]] = {}
        for cell in self.cells:
            details = cell["details"]
            for method, grid in details.get("grids", {}).items():
                for parameter, values in grid.items():
                    short_name = parameter.rpartition("__")[2]
                    searched_values.setdefault((method, short_name), set()).update(values)
                    best = details["chosen"][method][parameter]
                    on_edge = next_value(values, best) is not None
                    key = (cell["spec"]["data"], method, short_name)
                    edge_choices.setdefault(key, []).append(best if on_edge else None)
        if not searched_values:
            return []
        return [_grids_note(searched_values), _edges_note(edge_choices)]

    def path(self, name: str, series: str, metric: str, xs: Iterable[float]) -> list[list[float]] | None:
        """Return one row of scores per split along x, or None when nothing was computed."""
        return rows_by_split([self.scores(name, series, metric, x) for x in xs])

    def along(self, field: str, xs: Sequence[float], series: str, metric: str) -> list[list[float]] | None:
        """Like `path`, with x a field of the cells' specification; the metric "seconds" reads the timings."""
        x_of = {cell["id"]: float(cell["spec"][field]) for cell in self.cells}
        if metric == "seconds":
            timings = [(cell["id"], cell["details"].get("seconds", {}).get(series)) for cell in self.cells]
            measured = [(cell, seconds) for cell, seconds in timings if seconds is not None]
        else:
            key = (series, metric)
            measured = [(v["cell"], v["value"]) for v in self.values if (v["series"], v["metric"]) == key]
        return rows_by_split([[value for cell, value in measured if x_of[cell] == x] for x in map(float, xs)])

    def timings(self, name: str, key: str) -> Scores:
        """Return the seconds that the cells of a data set recorded under a key."""
        timed_cells = [
            cell
            for cell in self.cells
            if key in cell["details"].get("seconds", {}) and cell["spec"]["data"] == name
        ]
        seconds = [cell["details"]["seconds"][key] for cell in timed_cells]
        return Scores(seconds, tuple(cell["id"] for cell in timed_cells))

    def cpu(self, planned: Sequence[Job], counted: set[str]) -> Cpu:
        """Return the CPU time of the planned cells that are not in `counted` yet, and add them to it."""
        measured_seconds: dict[str, float] = {}
        seconds_of_work: dict[str, list[float]] = {}
        for cell in self.cells:
            if "cpu_seconds" in cell["details"]:
                measured_seconds[cell["id"]] = cell["details"]["cpu_seconds"]
                work = _spec_without_split(cell["spec"])
                seconds_of_work.setdefault(work, []).append(measured_seconds[cell["id"]])
        new_cells = [cell for cell in planned if cell.id not in counted]
        counted |= {cell.id for cell in new_cells}
        # A cell that is not finished is estimated by other splits of the same work.
        other_splits = [
            seconds_of_work.get(_spec_without_split(cell.spec))
            for cell in new_cells
            if cell.id not in measured_seconds
        ]
        return Cpu(
            len(new_cells),
            sum(measured_seconds.get(cell.id, 0.0) for cell in new_cells),
            sum(float(np.mean(seconds)) for seconds in other_splits if seconds),
            other_splits.count(None),
        )

    def failures(self) -> list[str]:
        """Return the errors of failed cells, each once."""
        failed_cells = [cell for cell in self.cells if cell["status"] == "failed"]
        return sorted({f"{cell['spec']['data']}: {cell['error']}" for cell in failed_cells})


def _grids_note(searched_values: Mapping[tuple[str, str], set[float]]) -> str:
    """Name the values of every grid, methods with the same grid together."""
    methods_of_grid: dict[str, list[str]] = {}
    for (method, parameter), values in searched_values.items():
        grid_text = f"{parameter} {', '.join(f'{value:.4g}' for value in sorted(values))}"
        methods_of_grid.setdefault(grid_text, []).append(method)
    grids = [f"{', '.join(methods)}: {grid_text}" for grid_text, methods in methods_of_grid.items()]
    return f"Searched: {'; '.join(grids)}."


def _edges_note(edge_choices: Mapping[tuple[str, str, str], list[float | None]]) -> str:
    """Name the choices that lie on an edge; None stands for a choice inside."""
    edge_texts = [
        f"{name}, {method}: {parameter} = {value:.4g} in {choices.count(value)} of {len(choices)}"
        for (name, method, parameter), choices in edge_choices.items()
        for value in sorted({choice for choice in choices if choice is not None})
    ]
    if not edge_texts:
        return "Every choice lies inside its grid."
    return f"Chosen at an edge of the grid, so that a wider one might do better: {'; '.join(edge_texts)}."


def _spec_without_split(spec: Mapping[str, Any]) -> str:
    """Return what cells that differ only in their split have in common."""
    return canonical_json({key: value for key, value in spec.items() if key != "split"})


def full_only(cells: Callable[[Plan], list[Job]]) -> Callable[[Plan], list[Job]]:
    """Return the cells of the full form only: a quick run leaves readings out that are not counted."""
    return lambda plan: [] if plan.quick else cells(plan)


def rows_by_split(columns: Sequence[Sequence[float]]) -> list[list[float]] | None:
    """Turn one list of scores per x into one row per split; None when some x has no score."""
    n_splits = min((len(column) for column in columns), default=0)
    return np.array([column[:n_splits] for column in columns]).T.tolist() if n_splits else None


def make_cells(
    plan: Plan,
    names: Iterable[str],
    what: str,
    work: Callable[..., JobResult],
    splits: int | Callable[[str], int],
    settings: Any = MappingProxyType({}),
    prepare: Callable[[Dataset], Dataset] = lambda data: data,
) -> list[Job]:
    """Return the cells of ``work(data, split, **settings)`` for the data sets in the folder.

    The specification of a cell names the data by content and holds every setting that the work takes.
    A list of settings gives one cell for each. Settings and the number of splits may be functions of the
    name of the data.
    """
    work_cells = []
    datasets = {name: prepare(plan.load(name)) for name in names if plan.has(name)}
    for setting in settings if isinstance(settings, list) else [settings]:
        for name, dataset in datasets.items():
            keywords = setting(name) if callable(setting) else setting
            spec = {"data": name, "content": hash_arrays(dataset.X, dataset.Y), "what": what, **keywords}
            for split in range(splits(name) if callable(splits) else splits):
                job = partial(work, dataset, split, **keywords)
                work_cells.append(Job({**spec, "split": split}, job))
    return work_cells


def make_curve(
    title: str, x: Sequence[float], paths: Mapping[str, Any], xlabel: str, ylabel: str, **log: bool
) -> list[Curve]:
    """Return one panel of the series that were computed, or an empty list when there is none."""
    computed_paths = {name: path for name, path in paths.items() if path}
    return [Curve(title, list(x), computed_paths, xlabel, ylabel, **log)] if computed_paths else []


STATISTICS = ("rows", "features", "labels", "cardinality", "density", "distinct", "hypercube", "largest")


def statistics(data: Dataset, split: int) -> JobResult:
    """Compute the statistics that the papers print of their data; there is nothing to split."""
    set_sizes, n_sets = np.diff(data.Y.indptr), len(distinct_vertices(data.Y).counts)
    n, d, k = data.n_rows, data.n_features, data.n_labels
    cardinality = set_sizes.mean()
    values = (n, d, k, cardinality, cardinality / k, n_sets, n_sets / 2**k, set_sizes.max())
    return JobResult(
        [Measurement(name, "statistic", float(v)) for name, v in zip(STATISTICS, values, strict=True)]
    )


def statistics_item(id: str, columns: Sequence[str]) -> Item:
    """Return the item of a table of data statistics."""
    printed = PRINTED["tables"][id]

    def collect(plan: Plan, runs: Runs) -> Result:
        numbers = runs.numbers(
            (name, column, runs.scores(name, column, "statistic"), float(paper))
            for name, row in printed.items()
            for column, paper in zip(columns, row, strict=True)
        )
        notes = ["hypercube: distinct label sets over 2^labels."] if "hypercube" in columns else []
        return Result(numbers=numbers, notes=notes, digits=3, scores=False)

    plan_cells = partial(make_cells, names=tuple(printed), what="statistics", work=statistics, splits=1)
    return Item(id, "Statistics of the data", tuple(printed), plan_cells, collect)


def random_split(n: int, n_train: int, *seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted training and test rows of one random partition."""
    order = np.random.default_rng(list(seed)).permutation(n)
    return np.sort(order[:n_train]), np.sort(order[n_train:])


def missing_data_notes(plan: Plan, names: Sequence[str]) -> list[str]:
    """Name the data sets whose files are not in the folder."""
    return [f"{name}: its files are not in the data folder" for name in names if not plan.has(name)]
