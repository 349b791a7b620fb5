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
    say,
    stream_file,
)
from hyperlabel.apps.cli._output import print_json, print_table
from hyperlabel.apps.cli.drift import drift
from hyperlabel.apps.cli.label_errors import label_errors
from hyperlabel.datasets.formats import BY_NAME, WRITTEN, WRITTEN_TABLES, format_of
from hyperlabel.datasets.table_sources import TableRows
from hyperlabel.tabular.table_io import is_table, load_vectors, need_data, write_rows
from hyperlabel.tabular.wording import plural

_SHOWN_LABELS = 5

_INFO = {
    "rows": "rows n",
    "features": "features d",
    "labels": "labels k",
    "unknown_entries": "label entries that nobody knows",
    "feature_density": "share of non-zero features",
    "cardinality": "labels per row (cardinality)",
    "density": "cardinality / labels (density)",
    "max_labels_per_row": "most labels in a row",
    "distinct_label_sets": "distinct label sets",
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
    """Print what FILE holds (or the embedded data set, named debtags), and what fit would do with it.

    Any table is described, also one that fit would refuse: then the columns are listed, and the sentence
    with which it would stop.
    """
    description = None
    if is_table(file):
        from hyperlabel.tabular.description import describe_table

        need_data(file)
        description = describe_table(file, options)
        dataset, settled_options = description.dataset, description.settled
    else:
        dataset, settled_options = load_settled(file, options)
    statistics: dict[str, Any] = {
        "name": Path(file).name,
        "rows": 0 if description is None else description.n_rows,
    }
    if dataset is not None:
        from hyperlabel.tabular.near_copies import count_near_copies

        statistics = dataset.describe(n_pairs=pairs) | _rank_label_counts(dataset, _SHOWN_LABELS)
        statistics["rows_with_near_twin"] = count_near_copies(dataset, file, settled_options)
    if description is not None:
        statistics |= {"fit": _tell_fit(description), "columns": description.columns}
    if as_json:
        print_json(statistics)
        return
    if description is not None:
        say(statistics["fit"])
    if dataset is not None:
        _print_statistics(statistics)
    if description is not None:
        if dataset is not None:
            click.echo()
        _print_columns(description.columns)
    if statistics.get("correlated_pairs"):
        label_pairs = statistics["correlated_pairs"]
        correlated_rows = [[*pair["labels"], pair["phi"], pair["together"]] for pair in label_pairs]
        click.echo()
        column_titles = ["label", "label", "φ", "rows with both"]
        print_table(
            column_titles, correlated_rows, title="most correlated labels (φ)", n_text_columns=2, floats=".3f"
        )


def _tell_fit(description: Any) -> str:
    """Say what fit would do with a table, in the sentence it would print itself."""
    from hyperlabel.tabular.description import describe_input

    if description.dataset is None:
        return f"fit would stop: {description.refusal}"
    return f"fit would take {describe_input(description.dataset, description.model_columns)}"


def _print_statistics(statistics: dict[str, Any]) -> None:
    storage_kind = "sparse" if statistics["sparse"] else "dense"
    # of texts and categories, whose words are counted only in fit, features say nothing
    hidden = set() if statistics["features"] else {"features", "feature_density"}
    statistic_rows = [
        [title, statistics[key]]
        for key, title in _INFO.items()
        if statistics[key] is not None and key not in hidden
    ]
    print_table([f"{statistics['name']} ({storage_kind})", ""], statistic_rows)
    for key, title in (("frequent_labels", "most frequent labels"), ("rare_labels", "rarest labels")):
        if statistics[key]:
            click.echo()
            print_table([title, "rows"], [[entry["label"], entry["rows"]] for entry in statistics[key]])


def _print_columns(columns: list[dict[str, Any]]) -> None:
    column_titles = [
        "column",
        "kind",
        "fit takes it as",
        "missing",
        "unreadable",
        "distinct",
        "words per cell",
    ]
    column_keys = ("column", "kind", "use", "missing", "unreadable", "distinct", "words_per_cell")
    column_rows = [[entry[key] for key in column_keys] for entry in columns]
    print_table(column_titles, column_rows, n_text_columns=3)
    for entry in columns:
        if entry["unreadable"]:
            say(
                f"{entry['column']!r}: {plural(entry['unreadable'], 'cell')} such as "
                f"{entry['unreadable_example']!r} cannot be read: fit stops there, or reads them as missing "
                "with --unreadable missing."
            )


@data.command()
@click.argument("file")
@input_options
@output_option("out", "data.html", "The page.")
def report(file: str, out: str, **options: Any) -> None:
    """Write a page about FILE: its columns, missing cells, labels and which of them come together."""
    check_target(out, PAGE)
    from hyperlabel._files import write_text
    from hyperlabel.apps.cli._progress import show_step
    from hyperlabel.apps.report.data_page import data_report
    from hyperlabel.tabular.near_copies import count_near_copies

    column_facts: list[dict[str, Any]] = []
    with show_step(f"reading {file}"):
        if is_table(file):
            from hyperlabel.tabular.description import describe_table

            need_data(file)
            description = describe_table(file, options)
            dataset, settled_options = description.dataset, description.settled
            column_facts = description.columns
            say(_tell_fit(description))
            if dataset is None:
                dataset = _rows_without_labels(file, description.n_rows)
        else:
            dataset, settled_options = load_settled(file, options)
        n_twins = count_near_copies(dataset, file, settled_options) if dataset.n_labels else 0
    with show_step("drawing"):
        page_html = data_report(dataset, Path(file).name, column_facts, n_twins)
    write_text(Path(out), page_html)
    click.echo(f"Report: {out}")


def _rows_without_labels(file: str, n_rows: int) -> Any:
    """Return a data set with the rows of a table, of which nothing is read."""
    import numpy as np

    from hyperlabel.datasets import Dataset

    return Dataset(np.zeros((n_rows, 0)), np.zeros((n_rows, 0)), name=Path(file).name.split(".")[0])


@data.command()
@click.argument("source")
@click.argument("target")
@input_options
@click.option("--to", "format", type=click.Choice(WRITTEN), help="Given by TARGET's ending.")
@click.option(
    "--shard-rows", type=click.IntRange(min=1), help="Write npz shards of so many rows to the folder TARGET."
)
def convert(source: str, target: str, format: str | None, shard_rows: int | None, **options: Any) -> None:
    """Convert SOURCE to TARGET: a table (CSV, JSON, Parquet, Excel), npz, LIBSVM (.svm) or XMC (.xmc, .txt).

    From table to table every column is kept as it is, and no labels need be named (--normalise-labels
    rewrites those it is given). With --shard-rows a file larger than memory is read and written piece by
    piece.
    """
    from hyperlabel.datasets.formats import target_format

    if Path(target).exists() and Path(source).exists() and Path(target).samefile(source):
        raise ValueError(f"{source} and {target} are the same file: choose another target.")
    if shard_rows is not None:
        from hyperlabel.datasets import save_shards

        if format not in (None, "npz"):
            raise ValueError("Shards are npz files: leave --to out.")
        shard_paths = save_shards(stream_file(source, options, shard_rows), target)
        click.echo(f"wrote {plural(len(shard_paths), 'shard')} to {target}")
        return
    check_target(target)
    format = target_format(target, format)
    if is_table(source) and format in WRITTEN_TABLES:
        if options["vectors"]:
            raise ValueError(
                f"{target} will have the rows of {source} in their order: its vectors are the same."
            )
        if not options.get("normalise_labels"):
            refuse_options("From table to table every column is kept", *READING)
        source_table = TableRows(source).whole()
        if options.get("normalise_labels"):
            source_table = _join_label_spellings(source_table, source, options, format)
        write_rows(source_table, None, Path(target), format)
        click.echo(f"wrote {target}: {plural(len(source_table.places), 'row')}, "
                   f"{plural(len(source_table.columns), 'column')}")  # fmt: skip
        return
    dataset = load_file(source, options)
    dataset.save(target, format)
    sizes = {"row": dataset.n_rows, "feature": dataset.n_features, "label": dataset.n_labels}
    click.echo(f"wrote {target}: " + ", ".join(plural(n, size_name) for size_name, n in sizes.items()))


def _join_label_spellings(source_table: Any, source: str, options: dict[str, Any], table_kind: str) -> Any:
    """Return the cells of a table with one spelling of each label."""
    from hyperlabel.datasets.writing import list_cells
    from hyperlabel.tabular.training_table import read_file

    dataset, settled_options = read_file(source, options | {"features": []})
    table_columns = dict(source_table.columns)
    if (label_column := settled_options.get("label_column")) is not None:
        label_separator, label_sets = settled_options.get("label_separator") or "", dataset.label_sets()
        joins_labels = bool(label_separator) and table_kind == "csv"
        table_columns[label_column] = (
            [label_separator.join(label_set) for label_set in label_sets]
            if joins_labels
            else list_cells(label_sets, dataset.label_names, table_kind)
        )
        return replace(source_table, columns=table_columns)
    for label_name in options["labels"]:
        table_columns.pop(label_name)
    missing_labels = dataset.Y * 0 if dataset.missing is None else dataset.missing
    for j, label_name in enumerate(dataset.label_names):
        label_values = dataset.Y[:, [j]].toarray().ravel()
        is_missing = missing_labels[:, [j]].toarray().ravel()
        table_columns[label_name] = [
            None if o else int(y) for y, o in zip(label_values, is_missing, strict=True)
        ]
    return replace(source_table, columns=table_columns)


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
    "--to", "format", type=click.Choice(WRITTEN), help="[default: a table stays what it is, others npz]"
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
    file_format = format_of(file)
    has_columns = file_format.is_table
    own_kind = file_format.name if file_format.write else "csv"
    file_kind = format or (own_kind if has_columns else "npz")
    source_table = TableRows(file).whole() if has_columns and file_kind in WRITTEN_TABLES else None
    _refuse_unused_options(by, folds, keeps_columns=source_table is not None)
    dataset = load_file(file, options | ({} if source_table is None else {"features": []}))
    split_pairs = _split_rows(dataset, by, test_size, folds, seed)
    row_vectors = load_vectors(options["vectors"][0], len(dataset)) if options["vectors"] else None
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    split_summaries = []
    for i, row_pair in enumerate(split_pairs, start=1):
        for split_side, row_index in zip(("train", "test"), row_pair, strict=True):
            fold_name = split_side if folds is None else f"fold{i}-{split_side}"
            file_stem = f"{dataset.name}-{fold_name}"
            target_path = folder / f"{file_stem}{BY_NAME[file_kind].endings[0]}"
            if source_table is None:
                dataset[row_index].save(target_path, file_kind)
            else:
                write_rows(source_table, row_index, target_path, file_kind, row_vectors)
            split_summaries.append(_summarise_split_file(dataset, dataset[row_index], target_path.name))
    if as_json:
        print_json({"folder": str(folder), "by": by, "parts": split_summaries})
        return
    column_titles = ["file", "rows", "labels per row", "labels without rows", "mean |share − whole|"]
    summary_rows = [list(summary.values()) for summary in split_summaries]
    print_table(column_titles, summary_rows, title=f"split by {by}, written to {folder}", floats=".3g")


def _refuse_unused_options(by: str, folds: int | None, *, keeps_columns: bool) -> None:
    if keeps_columns:
        refuse_options("Parts of a table keep every column", "features", "text", "decimal")
    if folds is not None:
        refuse_options("The number of folds says how large a test part is", "test_size")
    if by == "time":
        refuse_options("Rows in the order of time are not dealt", "seed")


def _split_rows(
    dataset: Any, by: str, test_size: float, folds: int | None, seed: int
) -> list[tuple[Any, Any]]:
    """Return the row numbers of (train, test), once or per fold."""
    import numpy as np

    from hyperlabel import model_selection as splitters
    from hyperlabel.apps.comparison import Splits

    row_groups = {"groups": dataset.groups, "time": dataset.time}.get(by)
    if by != "labels" and row_groups is None:
        column_option = by.removesuffix("s")
        raise ValueError(f"The data have no {by}: name a column with --{column_option}, or split by labels.")
    if folds is not None:
        return Splits("folds" if by == "labels" else by, folds, seed=seed).parts(dataset)
    if by == "time":
        splitter = splitters.TimeOrderedSplit(1, test_size=max(1, round(test_size * len(dataset))))
        return list(splitter.split(dataset.X, dataset.Y, row_groups))
    train_rows, test_rows = splitters.iterative_train_test_split(
        np.arange(len(dataset)), y=dataset.Y, test_size=test_size, random_state=seed, groups=row_groups
    )
    return [(np.sort(train_rows), np.sort(test_rows))]


def _summarise_split_file(dataset: Any, split_dataset: Any, file_name: str) -> dict[str, Any]:
    """Return the sizes of a split file, and the mean difference of its label shares from all rows."""
    import numpy as np

    all_shares = np.asarray(dataset.Y.sum(axis=0)) / max(len(dataset), 1)
    split_shares = np.asarray(split_dataset.Y.sum(axis=0)) / max(len(split_dataset), 1)
    return {
        "file": file_name,
        "rows": len(split_dataset),
        "cardinality": split_dataset.Y.nnz / max(len(split_dataset), 1),
        "labels_without_positives": int((split_shares == 0).sum()),
        "mean_share_difference": float(np.abs(split_shares - all_shares).mean())
        if split_shares.size
        else 0.0,
    }


def _rank_label_counts(dataset: Any, n_shown: int) -> dict[str, Any]:
    """Return the labels on most and on fewest rows."""
    import numpy as np

    label_counts = np.asarray(dataset.Y.sum(axis=0)).ravel()
    label_order = np.argsort(-label_counts, kind="stable")
    names = dataset.label_names
    count_entries = [{"label": str(names[j]), "rows": int(label_counts[j])} for j in label_order]
    rare_entries = count_entries[n_shown:][-n_shown:][::-1]
    return {"frequent_labels": count_entries[:n_shown], "rare_labels": rare_entries}
