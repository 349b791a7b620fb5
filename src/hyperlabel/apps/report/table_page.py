"""The page of a model file on a table: what is shown of its rows, and how they are scored."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel.apps.report.diagnostics import learning_curve, twins_of_rows
from hyperlabel.apps.report.model_page import PageOptions, PageRows, model_report
from hyperlabel.apps.report.page_scores import has_closed_form_scores, score_page_rows
from hyperlabel.tabular.model_file import aligned_labels
from hyperlabel.tabular.near_copies import find_near_duplicates, keep_together
from hyperlabel.tabular.wording import plural

_MOST_NUMBERS = 64  # columns of numbers a page carries, so that corrected rows can be written


def model_html(
    file: Any, dataset: Any, data: str, scores: str, *, no_texts: bool = False, options: Any = None
) -> str:
    """Return the page of a loaded model on labelled rows, scored "out-of-fold" or as "held-out" ones."""
    columns, model_inputs = file.columns, file.columns.inputs(dataset)
    Y, unknown_labels = aligned_labels(dataset, columns.label_names, normalise=columns.normalise)
    n_unknown = int(np.isnan(Y.data).sum())
    if Y.nnz == n_unknown:
        raise ValueError(f"No row of {data} carries a label of the model: is it the right file?")
    row_groups = None if scores == "held-out" else keep_together(dataset, columns)[0].groups  # as fit did
    page_scores = score_page_rows(file.model, model_inputs, Y, scores, groups=row_groups)
    growth = None
    if scores != "held-out" and has_closed_form_scores(file.model):  # others would be fitted three times
        growth = learning_curve(
            lambda rows: score_page_rows(
                file.model,
                _safe_rows(model_inputs, rows),
                Y[rows],
                scores,
                groups=None if row_groups is None else [row_groups[i] for i in rows],
            ),
            len(dataset),
            row_groups,
        )
    subtitle_facts = [
        f"{columns.method} model",
        f"{plural(len(dataset), 'row')} of {Path(data).name}, scored {page_scores.kind}",
    ]
    if n_unknown:
        n_entries = Y.shape[0] * Y.shape[1]
        subtitle_facts.append(f"{n_unknown} of {n_entries} label entries unknown and left out")
    if unknown_labels:
        subtitle_facts.append(f"{plural(len(unknown_labels), 'label')} unknown to the model left out")
    return model_report(
        file.model,
        page_scores,
        columns.label_names,
        replace(
            _select_page_rows(dataset, model_inputs, columns, no_texts),
            twins=twins_of_rows(find_near_duplicates(dataset, columns).group),
            growth=growth,
        ),
        title=f"{Path(file.path).stem} on {Path(Path(data).name.removesuffix('.gz')).stem}",
        feature_names=None if columns.text_only else columns.names,
        options=replace(
            options or PageOptions(), facts={"model": Path(file.path).name, "shown": subtitle_facts}
        ),
    )


def _safe_rows(model_inputs: Any, rows: Any) -> Any:
    """Return some of the rows, which may be a list of texts."""
    return [model_inputs[i] for i in rows] if isinstance(model_inputs, list) else model_inputs[rows]


def _join_texts(rows: Any, columns: Any) -> list[str]:
    """Return the text of each row, a line for each column of text."""
    n_texts = len(columns.text)
    return list(rows) if columns.text_only else ["\n".join(map(str, row[:n_texts])) for row in rows]


def _cut_cells(rows: Any, n_columns: int) -> list[list[Any]]:
    """Return the first cells of each row as a page can hold them."""
    return [[_plain_cell(cell) for cell in row[:n_columns]] for row in rows]


def _select_page_rows(dataset: Any, rows: Any, columns: Any, no_texts: bool) -> Any:
    """Return what the page may show and write of the rows."""
    row_texts = _join_texts(rows, columns) if columns.text and not no_texts else None
    has_dense_numbers = columns.n_features and not sparse.issparse(dataset.X)
    shown_columns, cells = None, None
    if columns.format == "table" and not columns.text_only and not (no_texts and columns.text_columns):
        shown_columns = (columns.names or [])[: len(columns.text_columns) + _MOST_NUMBERS]
        cells = _cut_cells(rows, len(shown_columns))
    export_columns = None
    if _can_write_rows(dataset, columns, has_texts=row_texts is not None or cells is not None):
        export_columns = {
            "text": columns.text,
            "numbers": columns.feature_names,
            "labelColumn": columns.label_column,
            "labels": columns.labels,
        }
    dense_numbers = np.asarray(dataset.X, dtype=np.float64) if has_dense_numbers and export_columns else None
    sparse_features = sparse.csr_array(dataset.X) if sparse.issparse(dataset.X) and not columns.text else None
    return PageRows(
        row_texts,
        dense_numbers,
        sparse_features,
        export_columns,
        len(columns.text_columns),
        shown_columns,
        cells,
        columns.text,
    )


def _plain_cell(cell: Any) -> str | float | None:
    """Return a cell as JSON holds it; None where it is missing."""
    if isinstance(cell, str):
        return cell
    return float(cell) if np.isfinite(cell) else None


def _can_write_rows(dataset: Any, columns: Any, *, has_texts: bool) -> bool:
    """Say whether a page can write corrected rows as the training file has them."""
    has_inputs = columns.format == "table" and (has_texts or not columns.text)
    # a vector is in a file of its own; labels nobody knows are written in columns of 0 and 1, not in lists
    is_plain = columns.n_features <= _MOST_NUMBERS and not columns.vectors
    is_known = dataset.missing is None or not dataset.missing.nnz
    return has_inputs and is_plain and (is_known or bool(columns.labels))
