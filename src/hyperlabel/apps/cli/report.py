"""``hyperlabel report``: the page of a model, or the report of a results file again."""

from pathlib import Path
from typing import Any

import click

from hyperlabel._files import write_text
from hyperlabel.apps.cli._input import PAGE, check_target, output_option, refuse_options, say, vectors_option
from hyperlabel.apps.cli._progress import show_step
from hyperlabel.apps.cli.compare import write_page
from hyperlabel.tabular.table_io import need_data, need_model
from hyperlabel.tabular.wording import plural

_MOST_NUMBERS = 64  # columns of numbers a page carries, so that corrected rows can be written


@click.command()
@click.argument("source", metavar="MODEL|STORE")
@click.argument("data", required=False)
@vectors_option("The npy file of the vectors of DATA's rows")
@output_option("out_path", None, "The page. [default: out/report.html]")
@click.option(
    "--scores",
    type=click.Choice(["out-of-fold", "held-out"]),
    help="Judge DATA by models of its other rows, or by the model as new rows. [default: rows of the fit out "
    "of fold]",
)
@click.option("--no-texts", is_flag=True, help="Leave the texts of DATA out of the page.")
@click.option(
    "--max-rows", default=5000, show_default=True, type=click.IntRange(min=1), help="Rows to look at."
)
@click.option(
    "--prune", default=0.0, show_default=True, type=click.FloatRange(min=0), help="Leave out smaller weights."
)
@click.option("--suite", default=None, help="STORE: which suite; the newest comparison when not given.")
@click.option("--scoring", default=None, help="STORE: judge by another measure than the run did.")
@click.option("--rope", default=0.01, show_default=True, help="STORE: differences up to this do not matter.")
@click.option("--list", "as_list", is_flag=True, help="STORE: show its suites and stop.")
def report(
    source: str,
    data: str | None,
    vectors: str | None,
    out_path: str | None,
    scores: str | None,
    no_texts: bool,
    max_rows: int,
    prune: float,
    **store_options: Any,
) -> None:
    """Write a page that shows a model, lets you try it and corrects its rows; or a comparison again.

    With MODEL and DATA (labelled rows, best those of the fit): one file with every threshold of every label,
    the map of the labels, the rows in the order of doubt, and the model itself. With STORE (made by compare):
    its report.

    \b
    hyperlabel report model.hyper tickets.csv -o page.html
    hyperlabel report results.sqlite
    """  # noqa: D301 - click wants the character
    check_target(out_path or "out/report.html", PAGE, makes_folder=True)
    if data is None:
        refuse_options(
            "A comparison has no rows to show", "vectors", "scores", "no_texts", "max_rows", "prune"
        )
        page_html = _read_comparison_page(source, **store_options)
    else:
        refuse_options("DATA shows a model, not a comparison", "suite", "scoring", "rope", "as_list")
        need_model(source)
        need_data(data)
        from hyperlabel.apps.report.model_page import PageOptions
        from hyperlabel.tabular.model_file import open_model

        page_options = PageOptions(max_rows=max_rows, prune=prune)
        with show_step(f"loading {source}"):
            file = open_model(source)
        page_html = model_html(file, data, scores, vectors=vectors, no_texts=no_texts, options=page_options)
    if page_html is None:
        return
    written_path = write_page(out_path or "out/report.html", page_html)
    click.echo(f"Report: {written_path} ({len(page_html.encode()) / 2**20:.1f} MB)")


def model_html(
    file: Any, data: str, scores: str | None = None, *, vectors: str | None = None, **options: Any
) -> str:
    """Return the page of a loaded model on labelled rows."""
    from hyperlabel.apps.cli._fit_rows import read_with_groups_of_fit, rows_to_judge, warn_of_flattery

    with show_step(f"reading {data}"):
        dataset = read_with_groups_of_fit(data, file.columns, vectors)
    judged_rows = rows_to_judge(file, dataset, Path(data).name)
    if scores is None:
        dataset, scores = judged_rows.table, judged_rows.scored
        if judged_rows.sentence:
            say(judged_rows.sentence)
    elif scores == "held-out" and judged_rows.n_in_fit:
        say(f"Warning: {warn_of_flattery(judged_rows.n_in_fit, Path(data).name)}")
    return page_of(file, dataset, data, scores, **options)


def write_model_page(file: Any, dataset: Any, data: str, scores: str, page: str) -> None:
    """Write the page of a loaded model on labelled rows."""
    write_text(Path(page), page_of(file, dataset, data, scores))
    click.echo(f"Report: {page}", err=True)


def page_of(
    file: Any, dataset: Any, data: str, scores: str, *, no_texts: bool = False, options: Any = None
) -> str:
    """Return the page of a loaded model on labelled rows, scored "out-of-fold" or as "held-out" ones."""
    from dataclasses import replace

    from hyperlabel.apps.cli._near_duplicates import keep_together
    from hyperlabel.apps.report.model_page import PageOptions, model_report
    from hyperlabel.apps.report.page_scores import score_page_rows
    from hyperlabel.tabular.model_file import aligned_labels

    columns, model_inputs = file.columns, file.columns.inputs(dataset)
    Y, unknown_labels = aligned_labels(dataset, columns.label_names, normalise=columns.normalise)
    Y = known_labels(Y)
    if not Y.nnz:
        raise ValueError(f"No row of {data} carries a label of the model: is it the right file?")
    with show_step("judging every threshold"):
        row_groups = None if scores == "held-out" else keep_together(dataset, columns)[0].groups  # as fit did
        page_scores = score_page_rows(file.model, model_inputs, Y, scores, groups=row_groups)
    subtitle_facts = [
        f"{columns.method} model",
        f"{plural(len(dataset), 'row')} of {Path(data).name}, scored {page_scores.kind}",
    ]
    if unknown_labels:
        subtitle_facts.append(f"{plural(len(unknown_labels), 'label')} unknown to the model left out")
    with show_step("drawing"):
        return model_report(
            file.model,
            page_scores,
            columns.label_names,
            _select_page_rows(dataset, model_inputs, columns, no_texts),
            title=f"{Path(file.path).stem} on {Path(Path(data).name.removesuffix('.gz')).stem}",
            feature_names=None if columns.text_only else columns.names,
            options=replace(
                options or PageOptions(), facts={"model": Path(file.path).name, "shown": subtitle_facts}
            ),
        )


def known_labels(Y: Any) -> Any:
    """Return Y with entries nobody knows taken as absent: a page counts in whole rows."""
    import numpy as np
    from scipy import sparse

    Y = sparse.csr_array(Y, copy=True)
    Y.data = np.nan_to_num(Y.data).astype(np.int64)
    Y.eliminate_zeros()
    return Y


def _select_page_rows(dataset: Any, rows: Any, columns: Any, no_texts: bool) -> Any:
    """Return what the page may show and write of the rows."""
    import numpy as np
    from scipy import sparse

    from hyperlabel.apps.report.model_page import PageRows

    row_texts = None
    if columns.text and not no_texts:
        n = len(columns.text)
        row_texts = list(rows) if columns.text_only else ["\n".join(map(str, row[:n])) for row in rows]
    has_dense_numbers = columns.n_features and not sparse.issparse(dataset.X)
    export_columns = None
    if _can_write_rows(dataset, columns, has_texts=row_texts is not None):
        export_columns = {
            "text": columns.text,
            "numbers": columns.feature_names,
            "labelColumn": columns.label_column,
            "labels": columns.labels,
        }
    dense_numbers = np.asarray(dataset.X, dtype=np.float64) if has_dense_numbers and export_columns else None
    sparse_features = sparse.csr_array(dataset.X) if sparse.issparse(dataset.X) and not columns.text else None
    return PageRows(row_texts, dense_numbers, sparse_features, export_columns, len(columns.text_columns))


def _can_write_rows(dataset: Any, columns: Any, *, has_texts: bool) -> bool:
    """Say whether a page can write corrected rows as the training file has them."""
    has_inputs = columns.format == "table" and (has_texts or not columns.text)
    # one text is all a page can write, and labels nobody knows would be written as absent
    is_plain = columns.n_features <= _MOST_NUMBERS and len(columns.text_columns) <= 1 and not columns.vectors
    is_known = dataset.missing is None or not dataset.missing.nnz
    return has_inputs and is_plain and is_known


def _read_comparison_page(
    store_path: str, suite: str | None, scoring: str | None, rope: float, as_list: bool
) -> str | None:
    """Return the report of a comparison kept in a results file; None where only its suites were asked for."""
    if not Path(store_path).is_file():
        raise ValueError(f"There is no results file {store_path!r}: hyperlabel compare makes one.")
    if store_path.endswith(".hyper"):
        raise ValueError(f"Name labelled rows too: hyperlabel report {store_path} DATA -o page.html.")
    from hyperlabel.apps.comparison.comparison import Comparison
    from hyperlabel.apps.comparison.store import Store
    from hyperlabel.apps.report import comparison_report

    with Store(store_path) as store:
        suite_names = store.suites()
        if as_list:
            click.echo("\n".join(suite_names))
            return None
        comparison_names = [suite_name for suite_name in suite_names if suite_name.startswith("compare ")]
        if suite is None and not comparison_names:
            raise ValueError(f"{store_path} holds no comparison.")
        return comparison_report(Comparison(store, suite or comparison_names[-1], scoring=scoring, rope=rope))
