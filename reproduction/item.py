"""What every paper's items are made of."""

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

from hyperlabel.datasets import Dataset
from hyperlabel.experiments.protocol import fingerprint
from hyperlabel.experiments.runner import Cell, Outcome, Value
from hyperlabel.experiments.store import canonical
from hyperlabel.geometry.hypercube import distinct_vertices
from reproduction import data
from reproduction.result import Cpu, Curve, Number, Result
from reproduction.search import next_value

PRINTED: dict[str, Any] = tomllib.loads(Path(__file__).with_name("printed.toml").read_text("utf-8"))


@dataclass(frozen=True)
class Plan:
    """How far to go: the data folder, and whether to run fewer repeats."""

    folder: Path | None
    quick: bool = False

    def has(self, name: str) -> bool:
        """Whether a data set is there."""
        return data.available(self.folder, name)

    def load(self, name: str) -> Dataset:
        """Read a data set."""
        assert self.folder is not None
        return data.load(self.folder, name)

    def pick(self, full: Any, quick: Any) -> Any:
        """Return the setting of this plan."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Item:
    """A table or figure that can be asked for.

    A data set that is missing is left out, and said to be: ``cells(plan)`` is the work for those that are
    there, ``collect(plan, runs)`` the `Result`.
    """

    id: str
    title: str
    data: tuple[str, ...]
    cells: Callable[[Plan], list[Cell]]
    collect: Callable[[Plan, Runs], Result]

    def result(self, plan: Plan, runs: Runs) -> Result:
        """Collect, and say what is to be said of the item whatever the run was."""
        found = self.collect(plan, runs)
        found.id, found.title = self.id, self.title
        texts = [PRINTED["notes"].get(text, text) for text in PRINTED["about"].get(self.id, [])]
        found.notes = [*texts, *found.notes]
        return found


class Scores(list[float]):
    """Values, and the cells of the store they were read from."""

    def __init__(self, values: Iterable[float], cells: tuple[str, ...]) -> None:
        super().__init__(values)
        self.cells = cells


@dataclass
class Runs:
    """The finished cells of an item, and their values."""

    cells: list[dict[str, Any]]
    values: list[dict[str, Any]] = field(repr=False)

    @cached_property
    def _table(self) -> dict[tuple[str, str, str, float | None], list[tuple[float, str]]]:
        spec = {cell["id"]: cell["spec"] for cell in self.cells}
        table: dict[tuple[str, str, str, float | None], list[tuple[float, str]]] = {}
        for v in self.values:
            key = (spec[v["cell"]]["data"], v["series"], v["metric"], v["x"])
            table.setdefault(key, []).append((v["value"], v["cell"]))
        return table

    def scores(self, name: str, series: str, metric: str, x: float | None = None) -> Scores:
        """Return one value per split (a method that several cells of a split measure is taken once)."""
        split = {cell["id"]: cell["spec"].get("split") for cell in self.cells}
        found = self._table.get((name, series, metric, None if x is None else float(x)), [])
        once: dict[Any, tuple[float, str]] = {}
        for i, (value, cell) in enumerate(found):
            once.setdefault(i if split[cell] is None else str(split[cell]), (value, cell))
        return Scores([value for value, _ in once.values()], tuple(cell for _, cell in once.values()))

    def number(self, row: str, column: str, scores: Sequence[float], paper: float | None = None) -> Number:
        """Return a table entry: mean and spread of the finite scores, and the cells they come from."""
        known = [s for s in scores if math.isfinite(s)]
        mean = float(np.mean(known)) if known else math.nan
        spread = float(np.std(known, ddof=1)) if len(known) > 1 else math.nan
        return Number(row, column, mean, spread, len(known), paper, getattr(scores, "cells", ()))

    def numbers(self, entries: Iterable[tuple[str, str, Scores, float | None]]) -> list[Number]:
        """Return the table entries (row, column, scores, paper) that were computed."""
        return [self.number(*entry) for entry in entries if entry[2]]

    def choice_notes(self) -> list[str]:
        """Pin every grid that was searched, and name the choices that lie on an edge of theirs."""
        searched: dict[tuple[str, str], set[float]] = {}
        chosen: dict[tuple[str, str, str], list[float | None]] = {}
        for c in self.cells:
            for method, grid in c["details"].get("grids", {}).items():
                for name, values in grid.items():
                    shown = name.rpartition("__")[2]
                    searched.setdefault((method, shown), set()).update(values)
                    best = c["details"]["chosen"][method][name]
                    on_edge = next_value(values, best) is not None
                    chosen.setdefault((c["spec"]["data"], method, shown), []).append(
                        best if on_edge else None
                    )
        if not searched:
            return []
        same: dict[str, list[str]] = {}
        for (method, name), values in searched.items():
            same.setdefault(f"{name} {', '.join(f'{v:.4g}' for v in sorted(values))}", []).append(method)
        notes = ["Searched: " + "; ".join(f"{', '.join(ms)}: {grid}" for grid, ms in same.items()) + "."]
        edges = []
        for (where, method, name), found in chosen.items():
            for value in sorted({v for v in found if v is not None}):
                edges.append(
                    f"{where}, {method}: {name} = {value:.4g} in {found.count(value)} of {len(found)}"
                )
        said = "; ".join(edges)
        notes.append(
            f"Chosen at an edge of the grid, so that a wider one might do better: {said}."
            if edges
            else "Every choice lies inside its grid."
        )
        return notes

    def path(self, name: str, series: str, metric: str, xs: Iterable[float]) -> list[list[float]] | None:
        """Return one row per split along x, or None when nothing was computed."""
        return by_split([self.scores(name, series, metric, x) for x in xs])

    def along(self, field: str, xs: Sequence[float], series: str, metric: str) -> list[list[float]] | None:
        """Like `path`, with x a field of the cells' specification; the metric "seconds" is a kept timing."""
        where = {c["id"]: float(c["spec"][field]) for c in self.cells}
        if metric == "seconds":
            timed = [(c["id"], c["details"].get("seconds", {}).get(series)) for c in self.cells]
            found = [(cell, value) for cell, value in timed if value is not None]
        else:
            found = [
                (v["cell"], v["value"]) for v in self.values if (v["series"], v["metric"]) == (series, metric)
            ]
        return by_split([[value for cell, value in found if where[cell] == x] for x in map(float, xs)])

    def timings(self, name: str, key: str) -> Scores:
        """Return a timing kept in the details of the cells of a data set."""
        timed = [c for c in self.cells if key in c["details"].get("seconds", {})]
        mine = [c for c in timed if c["spec"]["data"] == name]
        return Scores([c["details"]["seconds"][key] for c in mine], tuple(c["id"] for c in mine))

    def cpu(self, planned: Sequence[Cell], counted: set[str]) -> Cpu:
        """Return the CPU time of the planned cells that are not `counted` yet, and count them."""
        known = {c["id"]: c["details"]["cpu_seconds"] for c in self.cells if "cpu_seconds" in c["details"]}
        alike: dict[str, list[float]] = {}
        for c in self.cells:
            if c["id"] in known:
                alike.setdefault(_kind(c["spec"]), []).append(known[c["id"]])
        new = [cell for cell in planned if cell.id not in counted]
        counted |= {cell.id for cell in new}
        waiting = [alike.get(_kind(cell.spec)) for cell in new if cell.id not in known]
        measured = sum(known.get(cell.id, 0.0) for cell in new)
        return Cpu(len(new), measured, sum(float(np.mean(a)) for a in waiting if a), waiting.count(None))

    def failures(self) -> list[str]:
        """Return the errors of failed cells, each once."""
        return sorted({f"{c['spec']['data']}: {c['error']}" for c in self.cells if c["status"] == "failed"})


def _kind(spec: Mapping[str, Any]) -> str:
    """What cells that differ in their split alone have in common."""
    return canonical({key: value for key, value in spec.items() if key != "split"})


def by_split(columns: Sequence[Sequence[float]]) -> list[list[float]] | None:
    """Turn one list of splits per x into one row per split; None when some x has nothing."""
    n = min((len(c) for c in columns), default=0)
    return np.array([c[:n] for c in columns]).T.tolist() if n else None


def cells(
    plan: Plan,
    names: Iterable[str],
    what: str,
    work: Callable[..., Outcome],
    splits: int | Callable[[str], int],
    settings: Any = MappingProxyType({}),
    prepare: Callable[[Dataset], Dataset] = lambda data: data,
) -> list[Cell]:
    """Return the cells of ``work(data, split, **settings)`` for the data sets that are there.

    A cell's specification names the data by content and holds every setting that the work is given;
    settings (a list: one after the other) and the number of splits may depend on the name of the data.
    """
    found = []
    ready = {name: prepare(plan.load(name)) for name in names if plan.has(name)}
    for one in settings if isinstance(settings, list) else [settings]:
        for name, part in ready.items():
            given = one(name) if callable(one) else one
            spec = {"data": name, "content": fingerprint(part.X, part.Y), "what": what, **given}
            for split in range(splits(name) if callable(splits) else splits):
                found.append(Cell({**spec, "split": split}, partial(work, part, split, **given)))
    return found


def curve(
    title: str, x: Sequence[float], paths: Mapping[str, Any], xlabel: str, ylabel: str, **log: bool
) -> list[Curve]:
    """Return a panel of the series that were computed; none when there is none."""
    scores = {name: path for name, path in paths.items() if path}
    return [Curve(title, list(x), scores, xlabel, ylabel, **log)] if scores else []


STATISTICS = ("rows", "features", "labels", "cardinality", "density", "distinct", "hypercube", "largest")


def statistics(data: Dataset, split: int) -> Outcome:
    """The statistics that the papers print of their data; there is nothing to split."""
    sizes, sets = np.diff(data.Y.indptr), len(distinct_vertices(data.Y).counts)
    n, d, k = data.n_rows, data.n_features, data.n_labels
    found = (n, d, k, sizes.mean(), sizes.mean() / k, sets, sets / 2**k, sizes.max())
    return Outcome([Value(name, "statistic", float(v)) for name, v in zip(STATISTICS, found, strict=True)])


def statistics_item(id: str, columns: Sequence[str]) -> Item:
    """Return the item of a table of data statistics."""
    printed = PRINTED["tables"][id]

    def collect(plan: Plan, runs: Runs) -> Result:
        numbers = runs.numbers(
            (name, column, runs.scores(name, column, "statistic"), float(paper))
            for name, row in printed.items()
            for column, paper in zip(columns, row, strict=True)
        )
        said = ["hypercube: distinct label sets over 2^labels."] if "hypercube" in columns else []
        return Result(numbers=numbers, notes=said, digits=3, scores=False)

    work = partial(cells, names=tuple(printed), what="statistics", work=statistics, splits=1)
    return Item(id, "Statistics of the data", tuple(printed), work, collect)


def random_part(n: int, n_train: int, *seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return sorted training and test rows of one random partition."""
    order = np.random.default_rng(list(seed)).permutation(n)
    return np.sort(order[:n_train]), np.sort(order[n_train:])


def missing_parts(plan: Plan, names: Sequence[str]) -> list[str]:
    """Say which data sets are not there."""
    return [f"{name}: its files are not in the data folder" for name in names if not plan.has(name)]
