"""A file of labelled rows: which column is what, and the rows read accordingly."""

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from hyperlabel.tabular.table_io import is_table, need_data
from hyperlabel.tabular.wording import plural

_KNOWN = {
    "arff": {"labels", "nominal"},
    "table": {"labels", "label_column", "label_separator", "features", "text", "blank", "group", "time"}
    | {"text_columns", "decimal", "vectors"},
}


def read_file(path: str, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Read a data set (``debtags`` is the embedded one); return it and the options as the file settled them.

    What the user left open about a table is found from it: its columns, what separates labels, and which
    column perhaps says what belongs together (``shared_labels``).
    """
    from hyperlabel.datasets import read_data
    from hyperlabel.datasets.table import TablePlan
    from hyperlabel.tabular.identifiers import take_out_candidates
    from hyperlabel.tabular.label_spelling import join_variants
    from hyperlabel.tabular.table_io import add_vectors, vectors_of

    options = settle_options(path, options)
    given = reader_options(path, options)
    (vectors,) = vectors_of([path], options.get("vectors"))
    candidates = [name for name in options.get("group_candidates") or () if not options.get("group")]
    given |= (
        {"text_columns": [*dict.fromkeys([*given.get("text_columns", ()), *candidates])]}
        if candidates
        else {}
    )
    plan = TablePlan(path, **given) if is_table(path) else None
    data = read_data(path, **given) if plan is None else plan.read()
    if options.get("normalise_labels"):
        data = join_variants(data)
    if plan is None:
        return data, options
    if data.time is not None:
        need_times(data.time, options["time"])
    data, shared_labels = take_out_candidates(data, candidates, options.get("text_columns") or ())
    found = {"label_separator": plan.label_separator, "features": plan.numbers}
    if vectors is not None:
        with_vectors = add_vectors(data, vectors)
        found["n_vectors"] = with_vectors.n_features - data.n_features
        data = with_vectors
    return data, options | found | {"shared_labels": shared_labels}


def need_times(times: Any, column: str) -> None:
    """Refuse a column of times that has no order: words, or rows without a time."""
    import numpy as np

    if times.dtype.kind not in "fM":
        word = next((str(time) for time in times if not str(time)[:4].isdecimal()), str(times[0]))
        raise ValueError(
            f"--time {column} must hold numbers or dates such as 2024-05-31, which {word[:40]!r} is not."
        )
    missing = np.isnan(times) if times.dtype.kind == "f" else np.isnat(times)
    if missing.any():
        raise ValueError(
            f"--time {column} has no time in {plural(int(missing.sum()), 'row')}, the first of them row "
            f"{int(np.argmax(missing)) + 1}: fill them in, or leave these rows out."
        )


def settle_options(path: str, options: dict[str, Any]) -> dict[str, Any]:
    """Fill in what was left open about the columns of a table."""
    from hyperlabel.datasets.table_columns import warn_of_objects
    from hyperlabel.tabular.column_types import guess_columns

    need_data(path)
    if not is_table(path):
        return options
    found = guess_columns(path, options)
    if found.get("features") is not None:  # else the reader chooses, and warns
        warn_of_objects(Path(path).name, found["objects"])
    return found


def reader_options(path: str, options: dict[str, Any]) -> dict[str, Any]:
    """Turn options as typed into those of the reader of the file's format."""
    from hyperlabel.datasets import data_format

    kind = data_format(path)
    from hyperlabel.tabular.reading import FACTS

    given = {key: value for key, value in options.items() if value not in (None, ())}
    for settled_elsewhere in (
        "normalise_labels",
        "chosen",
        "kinds",
        "group_candidates",
        "shared_labels",
        *FACTS,
    ):
        given.pop(settled_elsewhere, None)
    if kind == "npz":  # which may hold both: '' takes the other one
        given = {key: value for key, value in given.items() if value != []}
    if foreign := sorted(set(given) - _KNOWN.get(kind, set())):
        raise ValueError(
            f"--{foreign[0].replace('_', '-')} does not apply to {Path(path).name} (read as {kind})."
        )
    given.pop("vectors", None)
    if kind == "arff" and len(given.get("labels", ())) == 1:
        (only,) = given["labels"]
        if only.lstrip("-").isdecimal():
            given["labels"] = int(only)
        elif only.lower().endswith(".xml"):
            given["labels"] = only
    return given


def read_training(data: str, reading: dict[str, Any], *, advise: bool = False) -> tuple[Any, Any]:
    """Read labelled rows; return them and what their columns are.

    With `advise`, say which column of a table perhaps names groups.
    """
    from hyperlabel.datasets import data_format
    from hyperlabel.tabular.column_types import warn_of_labels
    from hyperlabel.tabular.model_file import ModelColumns

    need_data(data)
    kind = data_format(data)
    group = reading.get("group")  # "": each row stands alone
    table, reading = read_file(data, reading | {"group": group or None})
    if kind == "npz":
        table = _one_of_two(table, data, reading)
    if not len(table):
        raise ValueError(f"{data} has no rows.")
    if reading.get("label_column"):
        warn_of_labels(table, reading)
    if advise:
        _propose_group(group, reading.get("shared_labels"))
    text, categories = word_columns(table, kind, reading.get("text") or [])
    named = reading if kind == "table" else {}
    if named:
        _need_inputs(data, [*text, *categories], table, named)
    columns = ModelColumns(
        format=kind,
        label_names=list(table.label_names),
        feature_names=[] if type(table.feature_names) is not list else table.feature_names,
        n_features=table.n_features,
        numbers=named.get("features") or [],
        categories=categories,
        text=text,
        labels=named.get("labels") or [],
        label_column=reading.get("label_column"),
        label_separator=reading.get("label_separator"),
        blank=cast(Any, reading.get("blank")),
        decimal=reading.get("decimal"),
        vectors=named.get("n_vectors", 0),
        normalise=bool(reading.get("normalise_labels")),
        group=group,
        reading=_reader_options(data, kind, reading, table),
    )
    return table, columns


def _need_inputs(data: str, words: list[str], table: Any, reading: dict[str, Any]) -> None:
    """Refuse a table that leaves nothing to learn from, or little beside numbers that could not be read."""
    from hyperlabel.tabular.reading import need_numbers

    used = [*words, *(reading.get("features") or ()), *(reading.get("vectors") or ())]
    need_numbers(data, reading["decimal_commas"], used)
    if not (words or table.n_features):
        raise ValueError(f"{data} has neither text nor numbers to learn from: say --text or --features.")


def _propose_group(group: str | None, shared_labels: Any) -> None:
    if group is None and shared_labels is not None:
        warnings.warn(shared_labels.advice, stacklevel=2)


def _one_of_two(table: Any, data: str, asked: dict[str, Any]) -> Any:
    """Return the texts or the numbers of a file that holds both, where one was asked for with ''."""
    import numpy as np
    from scipy import sparse

    if asked.get("text") == []:
        table = replace(table, text=None, text_columns=None)
    if asked.get("features") == []:
        table = replace(table, X=np.zeros((len(table), 0)), feature_names=[])
    if table.n_features and sparse.issparse(table.X) and (table.text is not None or table.text_columns):
        raise ValueError(
            f"{data} holds texts beside sparse numbers, and a model can use one of them: say --features '' "
            "for the texts alone, --text '' for the numbers."
        )
    return table


def word_columns(table: Any, kind: str, text: list[str]) -> tuple[list[str], list[str]]:
    """Return the columns of text and of categories; a file that keeps both has texts first, and joined."""
    columns = list(table.text_columns or ())
    if kind == "table" or table.text is None:
        return text, [name for name in columns if name not in text]
    for count in range(2, len(columns) + 1):
        parts = (table.text_columns[name] for name in columns[:count])
        if all("\n".join(row) == text for *row, text in zip(*parts, table.text, strict=True)):
            return columns[:count], columns[count:]
    return ["text"], columns


def _reader_options(data: str, kind: str, reading: dict[str, Any], table: Any) -> dict[str, Any]:
    """Return the reader's options that a new file of the same kind needs."""
    if kind == "arff":
        again: dict[str, Any] = {"labels": list(table.label_names)}
        return again | ({"nominal": reading["nominal"]} if reading.get("nominal") else {})
    if kind == "svmlight":  # a new file may lack the 0 that tells where numbering starts
        from hyperlabel.datasets import read_svmlight

        from_zero = read_svmlight(data, zero_based=True).n_features == table.n_features
        return {"zero_based": from_zero, "labels_zero_based": table.label_names[0] == "0"}
    return {}
