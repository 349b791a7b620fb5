"""Which column of a table is what, where the user did not say: judged by rows from all over the file."""

import itertools
import re
import shlex
import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hyperlabel.datasets.label_cells import MARKS, find_separator
from hyperlabel.datasets.readable_columns import readable_columns
from hyperlabel.datasets.table_columns import NO, YES, number_form, warn_of_dropped
from hyperlabel.datasets.table_sources import TableRows, read_cells
from hyperlabel.tabular.column_ranges import expand_ranges, join_names
from hyperlabel.tabular.column_sample import TableSample, sample_rows
from hyperlabel.tabular.identifiers import group_candidates, is_identifier
from hyperlabel.tabular.label_spelling import spelling_variants
from hyperlabel.tabular.pipeline import UNSPACED
from hyperlabel.tabular.wording import closest_name, plural, some_names

_FIRST_ROWS = 300
_FEW_LABELS = 10  # fewer may well occur once each
_LABEL_NAMES = ("labels", "label", "tags", "tag", "topics", "categories", "keywords", "genres", "classes")
_DECIMAL_COMMA = re.compile(r"[-+]?[\d.]*\d,\d+").fullmatch
_ONE_COLUMN = ("label_column", "group", "time")
_WORDS = 3.0  # a text column has at least so many words on average
_CHARACTERS = 4  # of a script without blanks that make a word


def guess_columns(rows: TableRows, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with the columns that the user left open: labels, text, numbers, categories."""
    path, sample = str(rows.path), sample_rows(rows)
    options = expand_ranges(options, list(sample.columns))
    columns, reading_facts = readable_columns(sample.cells(path), options)
    settled, forms = options | reading_facts, {name: number_form(values) for name, values in columns.items()}
    label_columns = _check_label_columns(rows, columns, settled)
    settled["chosen"] = settled.get("features")
    if len(label_columns) == 1 and not _all_zero_one(columns[label_columns[0]]):
        settled["labels"], settled["label_column"] = None, label_columns[0]
    assigned = [
        *label_columns,
        *(settled.get("text") or ()),
        *(settled.get(option_key) for option_key in _ONE_COLUMN),
    ]
    unassigned = _drop_columns(columns, assigned)
    ids = identifiers(sample, unassigned, _spell_row_labels(columns, settled))
    settled["kinds"] = dict.fromkeys(sample.columns, "objects")
    settled["kinds"] |= {
        name: "identifier" if name in ids else kind_of(values, forms[name])
        for name, values in columns.items()
    }
    settled["group_candidates"] = group_candidates(unassigned, ids)
    if settled.get("text") is None and not settled.get("features"):
        settled["text"] = (
            _find_text_columns(
                _drop_columns(unassigned, ids), forms, has_vectors=bool(settled.get("vectors"))
            )
            or None
        )
    unassigned = _drop_columns(unassigned, settled.get("text") or [])
    category_columns = _find_category_columns(path, unassigned, forms, ids, settled)
    text_columns = settled.get("text") or []  # words of several columns keep the column they come from
    settled["text_columns"] = [*(text_columns if len(text_columns) > 1 else []), *category_columns] or None
    return settled


def _spell_row_labels(columns: dict[str, list[Any]], options: dict[str, Any]) -> list[str] | None:
    """Return what each row of the sample says about its labels; None where nobody named any."""
    label_columns = [options["label_column"]] if options.get("label_column") else options.get("labels") or []
    label_values = [columns[name] for name in label_columns if name in columns]
    return [repr(row_values) for row_values in zip(*label_values, strict=True)] if label_values else None


def identifiers(sample: TableSample, columns: dict[str, list[Any]], labels: list[str] | None) -> list[str]:
    """Return the columns that name or count rows."""
    short_columns = [
        name for name, values in columns.items() if _average_words(values) < 2 and not _has_lists(values)
    ]
    return [name for name in short_columns if is_identifier(name, columns[name], sample, labels)]


def _find_category_columns(
    path: str,
    unassigned: dict[str, list[Any]],
    forms: Mapping[str, str | None],
    ids: list[str],
    settled: dict[str, Any],
) -> list[str]:
    """Return the columns of categories, without identifiers; set the columns of numbers in `settled`."""
    if (chosen_features := settled.get("features")) is not None:
        category_columns = [name for name in chosen_features if name in forms and forms[name] is None]
        settled["features"] = [name for name in chosen_features if name not in category_columns]
        return category_columns
    unassigned = _drop_columns(unassigned, ids)
    category_columns = [name for name, values in unassigned.items() if _is_category(values, forms[name])]
    settled["features"] = [name for name in unassigned if forms[name]]
    if unused_columns := _drop_columns(unassigned, [*category_columns, *settled["features"]]):
        _warn_of_unused(path, unused_columns)
    if ids:
        id_names = some_names([repr(name) for name in ids], max_names=8)
        they_tell = "it tells" if len(ids) == 1 else "they tell"
        warnings.warn(
            f"{Path(path).name}: left out {id_names}: {they_tell} nothing about new rows. --features takes "
            "in the columns it lists.",
            stacklevel=2,
        )
    return category_columns


def _warn_of_unused(path: str, columns: dict[str, list[Any]]) -> None:
    """Name the columns that are of no use: words that hardly come back, or numbers no reader knows."""
    comma_columns = [name for name, values in columns.items() if _has_decimal_commas(values)]
    comma_hint = (
        f". Numbers are read with a decimal point; {comma_columns[0]!r} has commas (see --decimal)"
        if comma_columns
        else ""
    )
    warn_of_dropped(Path(path).name, list(columns), comma_hint)


def _has_decimal_commas(column_values: list[Any]) -> bool:
    filled_cells = _read_filled_cells(column_values)
    return bool(filled_cells) and all(map(_DECIMAL_COMMA, filled_cells))


def _drop_columns(columns: dict[str, list[Any]], dropped_columns: list[Any]) -> dict[str, list[Any]]:
    return {name: values for name, values in columns.items() if name not in dropped_columns}


def _check_label_columns(
    rows: TableRows, columns: dict[str, list[Any]], options: dict[str, Any]
) -> list[str]:
    """Return the columns named by --labels ('' names none); refuse names the file does not have."""
    path = rows.path
    column_list = ", ".join(list(columns)[:20]) + (", …" if len(columns) > 20 else "")
    if options.get("labels") is None and options.get("label_column") is None:
        raise ValueError(
            f"Say which column of {Path(path).name} holds the labels: --labels NAME (a column that lists "
            f"them, or several 0/1 columns separated by commas){_propose_labels(columns)}; the columns are "
            f"{column_list}."
        )
    label_columns: list[str] = options.get("labels") or []
    input_columns = [name for option_key in ("text", "features") for name in options.get(option_key) or ()]
    input_columns += [options[option_key] for option_key in ("group", "time") if options.get(option_key)]
    if rows.format.names_later:  # a later row may be the first to name a column
        input_columns = []
    missing_columns = [name for name in [*label_columns, *input_columns] if name not in columns]
    if missing_columns:
        near_match = closest_name(missing_columns[0], columns)
        raise ValueError(
            f"{Path(path).name} has no column {missing_columns[0]!r}{near_match}; the columns are "
            f"{column_list}."
        )
    return label_columns


def _lists_labels(column_values: list[Any]) -> bool:
    if (
        number_form(column_values)
        or _has_decimal_commas(column_values)
        or _average_words(column_values) >= 2 * _WORDS
    ):
        return False
    return any(isinstance(cell, list | tuple) for cell in column_values) or bool(
        find_separator(column_values)
    )


def _propose_labels(columns: dict[str, list[Any]]) -> str:
    """Propose the column that lists labels, or the 0/1 columns, in the words of the command line."""
    list_columns = [name for name, values in columns.items() if _lists_labels(values)]
    named_columns = [name for name in list_columns if name.lower() in _LABEL_NAMES]
    named_columns = named_columns or [
        name for name in columns if name.lower() in _LABEL_NAMES and name not in list_columns
    ]
    zero_one_columns = [name for name, values in columns.items() if _all_zero_one(values)]
    proposed_columns = (named_columns or list_columns)[:1] or zero_one_columns
    return (
        f", perhaps --labels {shlex.quote(join_names(proposed_columns, list(columns)))}"
        if proposed_columns
        else ""
    )


def _find_text_columns(
    columns: dict[str, list[Any]], forms: Mapping[str, str | None], has_vectors: bool
) -> list[str]:
    """Return the columns of several words to a cell; with no other inputs, the one of most words."""
    mean_words = {name: _average_words(values) for name, values in columns.items() if not forms[name]}
    text_columns = [name for name in mean_words if mean_words[name] >= _WORDS]
    has_other_inputs = (
        has_vectors
        or len(mean_words) < len(columns)
        or any(_is_category(columns[name], forms[name]) for name in mean_words)
    )
    return (
        text_columns
        if text_columns or has_other_inputs
        else sorted(mean_words, key=lambda name: -mean_words[name])[:1]
    )


def describe_label_column(column: str | None, separator: str | None) -> str:
    """Say in a few words how a column lists labels."""
    if separator is None:
        cell_format = "one to a cell or as lists"
    elif separator == "":
        cell_format = "each cell one label (commas belong to the names; --label-separator ',' splits there)"
    else:
        cell_format = f"separated by {separator!r}"
    return f"labels listed in {column!r}, {cell_format}"


def _warn_of_variants(label_names: list[str]) -> None:
    if spelling_groups := spelling_variants(label_names):
        verb = "differs" if len(spelling_groups) == 1 else "differ"
        warnings.warn(
            f"{plural(len(spelling_groups), 'label')} {verb} only in case or blanks, such as "
            f"{some_names([repr(name) for name in spelling_groups[0]])}: --normalise-labels joins them.",
            stacklevel=2,
        )


def warn_of_labels(dataset: Any, options: dict[str, Any]) -> None:
    """Warn where labels look as if their cells were split at the wrong mark."""
    separator, label_names = options.get("label_separator"), set(dataset.label_names)
    label_counts = dataset.Y.sum(axis=0)
    single_labels = [
        name for name, count in zip(dataset.label_names, label_counts, strict=True) if count == 1
    ]
    if len(label_names) >= _FEW_LABELS and 2 * len(single_labels) > len(label_names):
        mostly_spaced = sum(" " in name for name in single_labels) > len(single_labels) / 2
        separator_hint = " (for tags separated by spaces: --label-separator ' ')" if mostly_spaced else ""
        warnings.warn(
            f"{len(single_labels)} of {plural(len(label_names), 'label')} occur once, such as "
            f"{single_labels[0][:60]!r}: if this is a list, say what separates it with "
            f"--label-separator{separator_hint}.",
            stacklevel=2,
        )
    _warn_of_variants(dataset.label_names)
    list_labels = {
        name
        for separator_mark in MARKS
        for name in label_names
        if separator_mark != separator
        and separator_mark in name
        and all(label_piece.strip() in label_names for label_piece in name.split(separator_mark))
    }
    if list_labels:
        list_phrase = "label looks like a list" if len(list_labels) == 1 else "labels look like lists"
        warnings.warn(
            f"{len(list_labels)} {list_phrase} of others, such as {min(list_labels)!r}: a column has one "
            "separator, which --label-separator names.",
            stacklevel=2,
        )


def column_names(path: str, dotted: Iterable[str] = ()) -> list[str]:
    """Return the columns that the first rows of a table have, and what dotted names make of those inside."""
    first_rows = next(itertools.islice(read_cells(path, _FIRST_ROWS, None), 1))
    return list(first_rows.reaching(list(dotted)).columns)


def _read_filled_cells(column_values: list[Any]) -> list[str]:
    return [cell_text for cell in column_values if cell is not None and (cell_text := str(cell).strip())]


def _all_zero_one(column_values: list[Any]) -> bool:
    zero_one_flags = [
        not isinstance(c, list | tuple) and str(c).strip().lower() in {"", *YES, *NO} for c in column_values
    ]
    return all(zero_one_flags) and bool(_read_filled_cells(column_values))


def _average_words(column_values: list[Any]) -> float:
    """Return the mean number of words of the filled cells; see `_count_words`."""
    filled_cells = _read_filled_cells(column_values)
    return sum(map(_count_words, filled_cells)) / max(len(filled_cells), 1)


def _count_words(text: str) -> float:
    # a script without blanks has one word every few characters
    n_words = len(text.split())
    return n_words if text.isascii() else max(n_words, len(UNSPACED.findall(text)) / _CHARACTERS)


def _has_lists(column_values: list[Any]) -> bool:
    return any(isinstance(cell, list | tuple | dict) for cell in column_values)


def _is_category(column_values: list[Any], form: str | None) -> bool:
    """Say whether a column holds single words that come back: at most half as many as cells."""
    filled_cells = _read_filled_cells(column_values)
    return (
        form is None
        and _average_words(column_values) < 2
        and not _has_lists(column_values)
        and 2 * len(set(filled_cells)) <= len(filled_cells)
    )


def kind_of(column_values: list[Any], form: str | None) -> str:
    """Name what a column that is no identifier looks like, in one word or two."""
    if not _read_filled_cells(column_values):
        return "empty"
    if _all_zero_one(column_values):
        return "0/1"
    if any(isinstance(cell, list | tuple) for cell in column_values) and form is None:
        return "list"
    if form is not None:
        return form
    if _average_words(column_values) >= _WORDS:
        return "text"
    return "categories" if _is_category(column_values, form) else "words"
