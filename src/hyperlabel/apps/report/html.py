"""The report of a comparison as one HTML file."""

from hyperlabel.apps.comparison.comparison import Comparison
from hyperlabel.apps.report import data_sections, sections
from hyperlabel.apps.report.page import Page, render_page
from hyperlabel.apps.report.summary import (
    answer_questions,
    comparison_hero,
    join_names,
    metric_direction,
    splits_text,
)


def comparison_report(comparison: Comparison, *, title: str | None = None) -> str:
    """Return the report of a comparison as one self-contained HTML text.

    Parameters
    ----------
    comparison : Comparison
        The finished comparison.
    title : str, default=None
        Title of the page.

    Returns
    -------
    html : str

    Examples
    --------
    >>> from hyperlabel import BinaryRelevance
    >>> from hyperlabel.datasets import make_multilabel
    >>> from hyperlabel.apps.comparison import Comparison, Method, Protocol, Splits, Store, run
    >>> data = make_multilabel(90, 5, 4, random_state=0, name="made")
    >>> methods = [Method("weak", BinaryRelevance()), Method("strong", BinaryRelevance(alpha=1e4))]
    >>> protocol = Protocol("small", [data], methods, Splits("folds", 3))
    >>> with Store(":memory:") as store:
    ...     _ = run(protocol.cells(), store, "small", spec=protocol.spec())
    ...     comparison = Comparison(store, "small")
    >>> from hyperlabel.apps.report import comparison_report
    >>> html = comparison_report(comparison)
    >>> html.startswith("<!doctype html>"), "http://" in html.replace("http://www.w3.org", "")
    (True, False)
    """
    c = comparison
    page_sections = [sections.scores_section(c), sections.differences_section(c)]
    if c.across is not None:
        page_sections.append(sections.across_section(c))
    page_sections += [sections.costs_section(c), data_sections.labels_section(c)]
    if any(c.curves.values()):
        page_sections.append(data_sections.curves_section(c))
    page_sections.append(data_sections.data_section(c))
    if c.failures() or c.warnings():
        page_sections.append(data_sections.problems_section(c))
    page_sections.append(data_sections.repeat_section(c.record, c))
    dataset_names = join_names(c.datasets)
    page = Page(
        title or f"Comparison of {len(c.methods)} methods on {dataset_names}",
        f"Judged by {metric_direction(c)}; {splits_text(c)}. Started "
        f"{c.record['started'].replace('T', ' ')[:16]} "
        "UTC.",
        answer_questions(c),
        page_sections,
        comparison_hero(c),
        c.datasets,
    )
    return render_page(page)
