"""Read a file of labelled rows by the types of its columns."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from hyperlabel.tabular.table_io import need_data
from hyperlabel.tabular.wording import plural

_SETTLED_ELSEWHERE = ("format", "normalise_labels", "chosen", "kinds", "group_candidates", "shared_labels")


def read_file(path: str, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Read a data set (``debtags`` is the embedded one); return it and the options as the file settled them.

    What the user left open about a table is guessed from it: the types of its columns, the separator of its
    labels, and the column that perhaps names groups (``shared_labels``).
    """
    from hyperlabel.datasets.formats import format_of
    from hyperlabel.datasets.table import TablePlan
    from hyperlabel.datasets.table_sources import TableRows
    from hyperlabel.tabular.identifiers import take_out_candidates
    from hyperlabel.tabular.label_spelling import join_variants
    from hyperlabel.tabular.table_io import add_vectors, vectors_of

    need_data(path)
    file_format = format_of(path)
    rows = TableRows(path) if file_format.is_table else None
    options = options if rows is None else settle_columns(rows, options)
    options = options | {"format": file_format.name if rows is None else "table"}
    reader_arguments = reader_options(path, options, file_format)
    (vector_file,) = vectors_of([path], options.get("vectors"))
    group_columns = [name for name in options.get("group_candidates") or () if not options.get("group")]
    if group_columns:
        text_columns = [*reader_arguments.get("text_columns", ()), *group_columns]
        reader_arguments["text_columns"] = [*dict.fromkeys(text_columns)]
    if rows is None:
        from hyperlabel.datasets import read_data

        dataset = read_data(path, **reader_arguments)
        return (join_variants(dataset) if options.get("normalise_labels") else dataset), options
    table_plan = TablePlan(path, **reader_arguments)
    dataset = table_plan.read(rows)
    if options.get("normalise_labels"):
        dataset = join_variants(dataset)
    if dataset.time is not None:
        need_times(dataset.time, options["time"])
    dataset, shared_labels = take_out_candidates(dataset, group_columns, options.get("text_columns") or ())
    settled_options = {"label_separator": table_plan.label_separator, "features": table_plan.numbers}
    if vector_file is not None:
        with_vectors = add_vectors(dataset, vector_file)
        settled_options["n_vectors"] = with_vectors.n_features - dataset.n_features
        dataset = with_vectors
    return dataset, options | settled_options | {"shared_labels": shared_labels}


def need_times(times: Any, column: str) -> None:
    """Refuse a column of times that has no order: words, or rows without a time."""
    import numpy as np

    if times.dtype.kind not in "fM":
        wrong_time = next((str(time) for time in times if not str(time)[:4].isdecimal()), str(times[0]))
        raise ValueError(
            f"--time {column} must hold numbers or dates such as 2024-05-31, which {wrong_time[:40]!r} is "
            "not."
        )
    is_missing = np.isnan(times) if times.dtype.kind == "f" else np.isnat(times)
    if is_missing.any():
        raise ValueError(
            f"--time {column} has no time in {plural(int(is_missing.sum()), 'row')}, the first of them row "
            f"{int(np.argmax(is_missing)) + 1}: fill them in, or leave these rows out."
        )


def settle_columns(rows: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Fill in what was left open about the columns of a table."""
    from hyperlabel.datasets.table_columns import warn_of_objects
    from hyperlabel.tabular.column_types import guess_columns

    settled_options = guess_columns(rows, options)
    if (
        settled_options["objects"] and settled_options.get("features") is not None
    ):  # else the reader chooses, and warns
        warn_of_objects(Path(rows.path).name, settled_options["objects"])
    return settled_options


def reader_options(path: str, options: dict[str, Any], file_format: Any = None) -> dict[str, Any]:
    """Turn options as typed into those of the reader of the file's format."""
    from hyperlabel.datasets.formats import format_of
    from hyperlabel.datasets.readable_columns import FACTS

    file_format = file_format or format_of(path)
    reader_arguments = {key: value for key, value in options.items() if value not in (None, ())}
    for settled_elsewhere in (*_SETTLED_ELSEWHERE, *FACTS):
        reader_arguments.pop(settled_elsewhere, None)
    if file_format.name == "npz":  # which may hold both: '' takes the other one
        reader_arguments = {key: value for key, value in reader_arguments.items() if value != []}
    if foreign_options := sorted(set(reader_arguments) - file_format.options):
        raise ValueError(
            f"--{foreign_options[0].replace('_', '-')} does not apply to {path} "
            f"(read as {file_format.title})."
        )
    reader_arguments.pop("vectors", None)
    if file_format.name == "arff" and len(reader_arguments.get("labels", ())) == 1:
        (label_argument,) = reader_arguments["labels"]
        if label_argument.lstrip("-").isdecimal():
            reader_arguments["labels"] = int(label_argument)
        elif label_argument.lower().endswith(".xml"):
            reader_arguments["labels"] = label_argument
    return reader_arguments


def read_training(
    path: str,
    *,
    labels: Sequence[str] | str | None = None,
    text: Sequence[str] | str | None = None,
    features: Sequence[str] | str | None = None,
    group: str | None = None,
    advise: bool = False,
    **reading: Any,
) -> tuple[Any, Any]:
    r"""Read a file of labelled rows, guessing what its columns are where that is not said.

    Parameters
    ----------
    path : str
        A table, or data in any other format of `hyperlabel.datasets.read_data`.
    labels : str or list of str, optional
        The column that lists the labels of a row, or the 0/1 columns.
    text, features : str or list of str, optional
        Columns of raw text, and of numbers, vectors and categories. By default those that look so, but for
        identifiers.
    group : str, optional
        Column of groups that stay in one fold.
    advise : bool, default=False
        Warn where a column looks as if it named groups.
    **reading : Any
        Further options of ``hyperlabel fit`` about reading: label_column, label_separator, decimal, blank,
        time, vectors, nominal, normalise_labels.

    Returns
    -------
    dataset : Dataset
    columns : ModelColumns
        What each column is.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from hyperlabel.tabular import read_training
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = pathlib.Path(folder, "a.csv")
    ...     rows = ["text;size;tags", "a red bird sang;3;a,b", "a blue bird sings;7;b,a", "no bird sings;1;a"]
    ...     _ = table.write_text("\n".join(rows))
    ...     dataset, columns = read_training(str(table), labels="tags")
    >>> columns.text, columns.numbers, dataset.label_sets()
    (['text'], ['size'], [['a', 'b'], ['a', 'b'], ['a']])
    """
    from hyperlabel.tabular.column_types import warn_of_labels
    from hyperlabel.tabular.model_file import ModelColumns

    reading |= {"labels": _list_names(labels), "text": _list_names(text), "features": _list_names(features)}
    # an empty name of a group lets each row be its own
    dataset, reading = read_file(path, reading | {"group": group or None})
    file_format = reading["format"]
    if file_format == "npz":
        dataset = _select_inputs(dataset, path, reading)
    if not dataset.n_rows:
        raise ValueError(f"{path} has no rows.")
    if reading.get("label_column"):
        warn_of_labels(dataset, reading)
    if advise:
        _propose_group(group, reading.get("shared_labels"))
    text_columns, category_columns = word_columns(dataset, file_format, reading.get("text") or [])
    table_options = reading if file_format == "table" else {}
    if table_options:
        _need_inputs(path, [*text_columns, *category_columns], dataset, table_options)
    model_columns = ModelColumns(
        format=file_format,
        label_names=list(dataset.label_names),
        feature_names=[] if type(dataset.feature_names) is not list else dataset.feature_names,
        n_features=dataset.n_features,
        numbers=table_options.get("features") or [],
        categories=category_columns,
        text=text_columns,
        labels=table_options.get("labels") or [],
        label_column=reading.get("label_column"),
        label_separator=reading.get("label_separator"),
        blank=cast(Any, reading.get("blank")),
        decimal=reading.get("decimal"),
        unreadable=reading.get("unreadable") or "refuse",
        vectors=table_options.get("n_vectors", 0),
        normalise=bool(reading.get("normalise_labels")),
        group=group,
        reading=_repeat_reader_options(path, file_format, reading, dataset),
    )
    return dataset, model_columns


def _list_names(names: Sequence[str] | str | None) -> list[str] | None:
    return [names] if isinstance(names, str) else None if names is None else list(names)


def _need_inputs(data: str, text_columns: list[str], dataset: Any, reading: dict[str, Any]) -> None:
    """Refuse a table that leaves nothing to learn from, or little beside numbers that could not be read."""
    input_columns = [*text_columns, *(reading.get("features") or ()), *(reading.get("vectors") or ())]
    _need_numbers(data, reading["decimal_commas"], input_columns)
    if not (text_columns or dataset.n_features):
        raise ValueError(f"{data} has neither text nor numbers to learn from: say --text or --features.")


def _need_numbers(path: str, unread: Sequence[str], used: Iterable[str]) -> None:
    """Refuse to learn from what is left where most columns hold numbers that could not be read."""
    used_columns = list(used)
    if len(unread) <= len(used_columns):
        return
    unread_names = ", ".join(map(repr, unread[:5])) + (", …" if len(unread) > 5 else "")
    used_phrase = f", which leaves {', '.join(map(repr, used_columns))}" if used_columns else ""
    verb = "holds" if len(unread) == 1 else "hold"
    raise ValueError(
        f"{plural(len(unread), 'column')} of {Path(path).name} {verb} numbers with a comma "
        f"({unread_names}){used_phrase}: say --decimal , to read it as the decimal mark, or --decimal . to "
        "leave them out."
    )


def _propose_group(group: str | None, shared_labels: Any) -> None:
    if group is None and shared_labels is not None:
        warnings.warn(shared_labels.advice, stacklevel=2)


def _select_inputs(dataset: Any, data: str, options: dict[str, Any]) -> Any:
    """Return the texts or the numbers of a file that holds both, where one was asked for with ''."""
    import numpy as np
    from scipy import sparse

    if options.get("text") == []:
        dataset = replace(dataset, text=None, text_columns=None)
    if options.get("features") == []:
        dataset = replace(dataset, X=np.zeros((dataset.n_rows, 0)), feature_names=[])
    if (
        dataset.n_features
        and sparse.issparse(dataset.X)
        and (dataset.text is not None or dataset.text_columns)
    ):
        raise ValueError(
            f"{data} holds texts beside sparse numbers, and a model can use one of them: say --features '' "
            "for the texts alone, --text '' for the numbers."
        )
    return dataset


def word_columns(dataset: Any, kind: str, text: list[str]) -> tuple[list[str], list[str]]:
    """Return the columns of text and of categories; a file that keeps both has texts first, and joined."""
    column_names = list(dataset.text_columns or ())
    if kind == "table" or dataset.text is None:
        return text, [name for name in column_names if name not in text]
    for n_texts in range(2, len(column_names) + 1):
        text_values = (dataset.text_columns[name] for name in column_names[:n_texts])
        if all(
            "\n".join(row_texts) == text for *row_texts, text in zip(*text_values, dataset.text, strict=True)
        ):
            return column_names[:n_texts], column_names[n_texts:]
    return ["text"], column_names


def _repeat_reader_options(data: str, kind: str, reading: dict[str, Any], dataset: Any) -> dict[str, Any]:
    """Return the reader's options that a new file of the same kind needs."""
    if kind == "arff":
        arff_options: dict[str, Any] = {"labels": list(dataset.label_names)}
        return arff_options | ({"nominal": reading["nominal"]} if reading.get("nominal") else {})
    if kind == "libsvm":  # a new file may lack the 0 that tells where numbering starts
        from hyperlabel.datasets import read_svmlight

        from_zero = read_svmlight(data, zero_based=True).n_features == dataset.n_features
        return {"zero_based": from_zero, "labels_zero_based": dataset.label_names[0] == "0"}
    return {}
