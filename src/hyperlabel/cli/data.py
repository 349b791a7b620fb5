"""``hyperlabel data``: look at data files, convert them, split them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from hyperlabel.cli._input import input_options, load_file, stream_file

_INFO = {
    "rows": "rows n",
    "features": "features d",
    "labels": "labels k",
    "feature_density": "share of non-zero features",
    "cardinality": "labels per row (cardinality)",
    "density": "cardinality / labels (density)",
    "max_labels_per_row": "most labels in a row",
    "distinct_label_sets": "distinct label sets",
    "hypercube_sparsity_log2": "hypercube sparsity (log2 of sets / 2^k)",
    "rows_without_labels": "rows without labels",
    "labels_without_positives": "labels without positives",
    "rarest_label": "positives of the rarest label",
    "most_frequent_label": "positives of the most frequent label",
    "mean_imbalance_ratio": "imbalance ratio, mean over labels",
    "max_imbalance_ratio": "imbalance ratio, largest",
    "groups": "groups",
}


@click.group()
def data() -> None:
    """Look at data files, convert them, split them."""


@data.command()
@click.argument("file")
@input_options
@click.option("--pairs", default=5, show_default=True, help="Most correlated pairs of labels to list.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def info(file: str, pairs: int, as_json: bool, **options: str | None) -> None:
    """Print the statistics of FILE (or of the embedded data set, named debtags)."""
    found = load_file(file, options).describe(n_pairs=pairs)
    if as_json:
        click.echo(json.dumps(found, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{found['name']} ({'sparse' if found['sparse'] else 'dense'})", show_header=False)
    table.add_column()
    table.add_column(justify="right")
    for key, title in _INFO.items():
        if found[key] is not None:
            table.add_row(title, _shown(found[key]))
    console = Console()
    console.print(table)
    if found["correlated_pairs"]:
        table = Table(title="most correlated labels (φ)")
        for title in ("label", "label", "φ", "rows with both"):
            table.add_column(title, justify="left" if title == "label" else "right")
        for pair in found["correlated_pairs"]:
            table.add_row(*map(_plain, pair["labels"]), f"{pair['phi']:.3f}", str(pair["together"]))
        console.print(table)


@data.command()
@click.argument("file")
@input_options
@click.option("-o", "--out", default="data.html", show_default=True, help="The page.")
def report(file: str, out: str, **options: str | None) -> None:
    """Write a page about FILE: its columns, missing cells, labels and which of them come together."""
    from hyperlabel._files import write_text
    from hyperlabel.cli._input import read_file
    from hyperlabel.cli._progress import step
    from hyperlabel.datasets import data_format
    from hyperlabel.report.data_page import data_report, table_columns

    with step(f"reading {file}"):
        found, settled = read_file(file, options)
        is_table = Path(file).exists() and data_format(file) == "table"
        columns = table_columns(file, settled) if is_table else []
    with step("drawing"):
        html = data_report(found, Path(file).name, columns)
    write_text(Path(out), html)
    click.echo(f"Report: {out}")


@data.command()
@click.argument("source")
@click.argument("target")
@input_options
@click.option("--to", "format", type=click.Choice(["npz", "libsvm", "xmc"]), help="Told by TARGET's ending.")
@click.option(
    "--shard-rows", type=click.IntRange(min=1), help="Write npz shards of so many rows to the folder TARGET."
)
def convert(
    source: str, target: str, format: str | None, shard_rows: int | None, **options: str | None
) -> None:
    """Convert SOURCE to TARGET: npz, LIBSVM (.svm) or XMC (.xmc, .txt).

    With --shard-rows a file larger than memory is read and written piece by piece.
    """
    if Path(target).exists() and Path(source).exists() and Path(target).samefile(source):
        raise ValueError(f"{source} and {target} are the same file: choose another target.")
    if shard_rows is not None:
        from hyperlabel.datasets import save_shards

        if format not in (None, "npz"):
            raise ValueError("Shards are npz files: leave --to out.")
        paths = save_shards(stream_file(source, options, shard_rows), target)
        click.echo(f"wrote {len(paths)} shards to {target}")
        return
    found = load_file(source, options)
    found.save(target, format)
    click.echo(f"wrote {target}: {found.n_rows} rows, {found.n_features} features, {found.n_labels} labels")


@data.command()
@click.argument("file")
@click.option("--out", required=True, help="Folder for the parts; made when missing.")
@input_options
@click.option(
    "--by",
    type=click.Choice(["labels", "groups", "time"]),
    default="labels",
    show_default=True,
    help="labels: every label keeps its share; groups: so, and groups stay whole; time: test on the latest.",
)
@click.option(
    "--test-size", default=0.25, show_default=True, type=click.FloatRange(0, 1, min_open=True, max_open=True)
)
@click.option("--folds", type=click.IntRange(min=2), help="Write K folds (train and test of each) instead.")
@click.option("--seed", default=0, show_default=True, help="Seed of the order in which rows are dealt.")
@click.option("--to", "format", type=click.Choice(["npz", "libsvm", "xmc"]), default="npz", show_default=True)
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def split(
    file: str,
    out: str,
    by: str,
    test_size: float,
    folds: int | None,
    seed: int,
    format: str,
    as_json: bool,
    **options: str | None,
) -> None:
    """Split FILE into training and test parts, stratified by labels, by groups, or by time."""
    found = load_file(file, options)
    pairs = _split_rows(found, by, test_size, folds, seed)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    ending = {"npz": "npz", "libsvm": "svm", "xmc": "xmc"}[format]
    written = []
    for i, rows in enumerate(pairs, start=1):
        for part, index in zip(("train", "test"), rows, strict=True):
            name = f"{found.name}-{part}" if folds is None else f"{found.name}-fold{i}-{part}"
            piece = found[index]
            piece.save(folder / f"{name}.{ending}", format)
            written.append(_part_summary(found, piece, f"{name}.{ending}"))
    if as_json:
        click.echo(json.dumps({"folder": str(folder), "by": by, "parts": written}, indent=2))
    else:
        _print_parts(folder, by, written)


def _split_rows(found: Any, by: str, test_size: float, folds: int | None, seed: int) -> list[tuple[Any, Any]]:
    """Row numbers of (train, test), once or per fold."""
    import numpy as np

    from hyperlabel import model_selection as splitters

    source = {"groups": found.groups, "time": found.time}.get(by)
    if by != "labels" and source is None:
        column = by.removesuffix("s")
        raise ValueError(f"The data have no {by}: name a column with --{column}, or split by labels.")
    if by == "time":
        n_test = None if folds else max(1, round(test_size * len(found)))
        splitter = splitters.TimeOrderedSplit(folds or 1, test_size=n_test)
        return list(splitter.split(found.X, found.Y, source))
    if folds is not None:
        kind = (
            splitters.IterativeStratifiedKFold if by == "labels" else splitters.IterativeStratifiedGroupKFold
        )
        return list(kind(folds, shuffle=True, random_state=seed).split(found.X, found.Y, source))
    train, test = splitters.iterative_train_test_split(
        np.arange(len(found)), y=found.Y, test_size=test_size, random_state=seed, groups=source
    )
    return [(np.sort(train), np.sort(test))]


def _part_summary(found: Any, piece: Any, name: str) -> dict[str, Any]:
    """Sizes of a part, and how far the share of a label in it is from the whole, on average."""
    import numpy as np

    whole = np.asarray(found.Y.sum(axis=0)) / max(len(found), 1)
    share = np.asarray(piece.Y.sum(axis=0)) / max(len(piece), 1)
    return {
        "file": name,
        "rows": len(piece),
        "cardinality": piece.Y.nnz / max(len(piece), 1),
        "labels_without_positives": int((share == 0).sum()),
        "mean_share_difference": float(np.abs(share - whole).mean()) if share.size else 0.0,
    }


def _print_parts(folder: Path, by: str, written: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"split by {by}, written to {folder}")
    table.add_column("file", overflow="fold")
    for title in ("rows", "labels per row", "labels without positives", "mean |share − whole|"):
        table.add_column(title, justify="right")
    for part in written:
        table.add_row(
            _plain(part["file"]),
            str(part["rows"]),
            f"{part['cardinality']:.3f}",
            str(part["labels_without_positives"]),
            f"{part['mean_share_difference']:.5f}",
        )
    Console().print(table)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
