"""``hyperlabel data``: look at data files, convert, split and compare them."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from hyperlabel.apps.cli._input import (
    PAGE,
    READING,
    check_target,
    input_options,
    input_options_without,
    load_file,
    load_settled,
    output_option,
    refuse_options,
    stream_file,
)
from hyperlabel.apps.cli._output import print_json, print_table
from hyperlabel.apps.cli.drift import drift
from hyperlabel.apps.cli.label_errors import label_errors
from hyperlabel.datasets.table_sources import whole_table
from hyperlabel.tabular.table_io import TABLE_KINDS, is_table, load_vectors, write_rows
from hyperlabel.tabular.wording import plural

_FORMATS = [*TABLE_KINDS, "npz", "libsvm", "xmc"]
_ENDINGS = {"libsvm": "svm"}
_SHOWN_LABELS = 5

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
    "rows_with_near_twin": "rows with a near twin",
}


@click.group()
def data() -> None:
    """Look at data files, convert, split and compare them."""


data.add_command(drift)


data.add_command(label_errors)


@data.command()
@click.argument("file")
@input_options_without("time")
@click.option("--pairs", default=5, show_default=True, help="Most correlated pairs of labels to list.")
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def info(file: str, pairs: int, as_json: bool, **options: Any) -> None:
    """Print the statistics of FILE (or of the embedded data set, named debtags)."""
    from hyperlabel.apps.cli._near_duplicates import count_near_copies

    data, settled = load_settled(file, options)
    found = data.describe(n_pairs=pairs) | _label_counts(data, _SHOWN_LABELS)
    found["rows_with_near_twin"] = count_near_copies(data, file, settled)
    if is_table(file):
        cells_of = whole_table(file).columns
        found["columns"] = [_column_facts(name, cells, settled) for name, cells in cells_of.items()]
    if as_json:
        print_json(found)
        return
    kind = "sparse" if found["sparse"] else "dense"
    rows = [[title, found[key]] for key, title in _INFO.items() if found[key] is not None]
    print_table([f"{found['name']} ({kind})", ""], rows)
    for key, title in (("frequent_labels", "most frequent labels"), ("rare_labels", "rarest labels")):
        if found[key]:
            click.echo()
            print_table([title, "rows"], [[one["label"], one["rows"]] for one in found[key]])
    if "columns" in found:
        click.echo()
        head = ["column", "kind", "missing", "distinct", "words per cell"]
        keys = ("column", "kind", "missing", "distinct", "words_per_cell")
        facts = [[one[key] for key in keys] for one in found["columns"]]
        print_table(head, facts, n_text_columns=2)
    if found["correlated_pairs"]:
        pairs_found = [[*pair["labels"], pair["phi"], pair["together"]] for pair in found["correlated_pairs"]]
        click.echo()
        head = ["label", "label", "φ", "rows with both"]
        print_table(head, pairs_found, title="most correlated labels (φ)", n_text_columns=2, floats=".3f")


@data.command()
@click.argument("file")
@input_options
@output_option("out", "data.html", "The page.")
def report(file: str, out: str, **options: Any) -> None:
    """Write a page about FILE: its columns, missing cells, labels and which of them come together."""
    check_target(out, PAGE)
    from hyperlabel._files import write_text
    from hyperlabel.apps.cli._near_duplicates import count_near_copies
    from hyperlabel.apps.cli._progress import show_step
    from hyperlabel.apps.report.data_page import column_use, data_report
    from hyperlabel.tabular.training_table import read_file

    with show_step(f"reading {file}"):
        found, settled = read_file(file, options)
        cells = whole_table(file).columns if is_table(file) else {}
        columns = [
            _column_facts(name, column, settled) | {"use": column_use(name, settled)}
            for name, column in cells.items()
        ]
        n_twins = count_near_copies(found, file, settled)
    with show_step("drawing"):
        html = data_report(found, Path(file).name, columns, n_twins)
    write_text(Path(out), html)
    click.echo(f"Report: {out}")


@data.command()
@click.argument("source")
@click.argument("target")
@input_options
@click.option("--to", "format", type=click.Choice(_FORMATS), help="Given by TARGET's ending.")
@click.option(
    "--shard-rows", type=click.IntRange(min=1), help="Write npz shards of so many rows to the folder TARGET."
)
def convert(source: str, target: str, format: str | None, shard_rows: int | None, **options: Any) -> None:
    """Convert SOURCE to TARGET: CSV, JSON lines, Parquet, npz, LIBSVM (.svm) or XMC (.xmc, .txt).

    From table to table every column is kept as it is, and no labels need be named (--normalise-labels
    rewrites those it is told of). With --shard-rows a file larger than memory is read and written piece by
    piece.
    """
    from hyperlabel.datasets.writing import target_format

    if Path(target).exists() and Path(source).exists() and Path(target).samefile(source):
        raise ValueError(f"{source} and {target} are the same file: choose another target.")
    if shard_rows is not None:
        from hyperlabel.datasets import save_shards

        if format not in (None, "npz"):
            raise ValueError("Shards are npz files: leave --to out.")
        paths = save_shards(stream_file(source, options, shard_rows), target)
        click.echo(f"wrote {plural(len(paths), 'shard')} to {target}")
        return
    check_target(target)
    format = target_format(target, format)
    if is_table(source) and format in TABLE_KINDS:
        if options["vectors"]:
            raise ValueError(
                f"{target} will have the rows of {source} in their order: its vectors are the same."
            )
        if not options.get("normalise_labels"):
            refuse_options("From table to table every column is kept", *READING)
        cells = whole_table(source)
        if options.get("normalise_labels"):
            cells = _with_joined_labels(cells, source, options, format)
        write_rows(cells, None, Path(target), format)
        click.echo(f"wrote {target}: {plural(len(cells.places), 'row')}, "
                   f"{plural(len(cells.columns), 'column')}")  # fmt: skip
        return
    found = load_file(source, options)
    found.save(target, format)
    sizes = {"row": found.n_rows, "feature": found.n_features, "label": found.n_labels}
    click.echo(f"wrote {target}: " + ", ".join(plural(n, what) for what, n in sizes.items()))


def _with_joined_labels(cells: Any, source: str, options: dict[str, Any], kind: str) -> Any:
    """Return the cells of a table with one spelling of each label."""
    from hyperlabel.datasets.writing import list_cells
    from hyperlabel.tabular.training_table import read_file

    found, settled = read_file(source, options | {"features": []})
    columns = dict(cells.columns)
    if (column := settled.get("label_column")) is not None:
        mark, sets = settled.get("label_separator") or "", found.label_sets()
        plain = bool(mark) and kind == "csv"
        columns[column] = [mark.join(s) for s in sets] if plain else list_cells(sets, found.label_names, kind)
        return replace(cells, columns=columns)
    for name in options["labels"]:
        columns.pop(name)
    unknown = found.Y * 0 if found.missing is None else found.missing
    for j, name in enumerate(found.label_names):
        on, open_ = found.Y[:, [j]].toarray().ravel(), unknown[:, [j]].toarray().ravel()
        columns[name] = [None if o else int(y) for y, o in zip(on, open_, strict=True)]
    return replace(cells, columns=columns)


@data.command()
@click.argument("file")
@output_option("out", None, "Folder for the parts; made when missing.", required=True)
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
@click.option(
    "--to", "format", type=click.Choice(_FORMATS), help="[default: a table stays what it is, others npz]"
)
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def split(
    file: str,
    out: str,
    by: str,
    test_size: float,
    folds: int | None,
    seed: int,
    format: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Split FILE into training and test parts, stratified by labels, by groups, or by time.

    Parts of a table are tables with every column kept as it is.
    """
    from hyperlabel.datasets.table_sources import table_kind

    table = is_table(file)
    ending = format or (table_kind(file) if table else "npz")
    cells = whole_table(file) if table and ending in TABLE_KINDS else None
    _refuse_unused(by, folds, keeps_columns=cells is not None)
    found = load_file(file, options | ({} if cells is None else {"features": []}))
    pairs = _split_rows(found, by, test_size, folds, seed)
    vectors = load_vectors(options["vectors"][0], len(found)) if options["vectors"] else None
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for i, rows in enumerate(pairs, start=1):
        for part, index in zip(("train", "test"), rows, strict=True):
            name = f"{found.name}-{part}" if folds is None else f"{found.name}-fold{i}-{part}"
            target = folder / f"{name}.{_ENDINGS.get(ending, ending)}"
            if cells is None:
                found[index].save(target, ending)
            else:
                write_rows(cells, index, target, ending, vectors)
            written.append(_part_summary(found, found[index], target.name))
    if as_json:
        print_json({"folder": str(folder), "by": by, "parts": written})
        return
    head = ["file", "rows", "labels per row", "labels without rows", "mean |share − whole|"]
    shown = [list(part.values()) for part in written]
    print_table(head, shown, title=f"split by {by}, written to {folder}", floats=".3g")


def _refuse_unused(by: str, folds: int | None, *, keeps_columns: bool) -> None:
    if keeps_columns:
        refuse_options("Parts of a table keep every column", "features", "text", "decimal")
    if folds is not None:
        refuse_options("The number of folds says how large a test part is", "test_size")
    if by == "time":
        refuse_options("Rows in the order of time are not dealt", "seed")


def _split_rows(found: Any, by: str, test_size: float, folds: int | None, seed: int) -> list[tuple[Any, Any]]:
    """Row numbers of (train, test), once or per fold."""
    import numpy as np

    from hyperlabel import model_selection as splitters
    from hyperlabel.apps.comparison import Splits

    source = {"groups": found.groups, "time": found.time}.get(by)
    if by != "labels" and source is None:
        column = by.removesuffix("s")
        raise ValueError(f"The data have no {by}: name a column with --{column}, or split by labels.")
    if folds is not None:
        return Splits("folds" if by == "labels" else by, folds, seed=seed).parts(found)
    if by == "time":
        splitter = splitters.TimeOrderedSplit(1, test_size=max(1, round(test_size * len(found))))
        return list(splitter.split(found.X, found.Y, source))
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


def _column_facts(name: str, cells: list[Any], settled: dict[str, Any]) -> dict[str, Any]:
    """Say what a column holds: its kind, as `fit` sees it, missing cells, distinct values and words."""
    written = [
        "; ".join(map(str, c)) if isinstance(c, list) else str(c).strip() for c in cells if c is not None
    ]
    filled = [text for text in written if text]
    words = sum(len(text.split()) for text in filled) / max(len(filled), 1)
    return {
        "column": name,
        "kind": settled["kinds"][name],
        "missing": len(cells) - len(filled),
        "distinct": len(set(filled)),
        "words_per_cell": words,
        "example": filled[0][:400] if filled else "",
    }


def _label_counts(data: Any, count: int) -> dict[str, Any]:
    """Return the labels on most and on fewest rows."""
    import numpy as np

    rows = np.asarray(data.Y.sum(axis=0)).ravel()
    order = np.argsort(-rows, kind="stable")
    named = [{"label": str(data.label_names[j]), "rows": int(rows[j])} for j in order]
    return {"frequent_labels": named[:count], "rare_labels": named[count:][-count:][::-1]}
