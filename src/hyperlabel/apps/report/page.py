"""The parts of a report's page, and the template that turns them into one HTML file."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

from hyperlabel import __version__
from hyperlabel.apps.report.svg import MISSING, figure_svg

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


@dataclass(frozen=True)
class Entry:
    """One table cell: its text, what it sorts by, whether it is highlighted."""

    text: str
    sort: str = ""
    numeric: bool = False
    mark: bool = False
    std: str = ""
    title: str = ""


@dataclass(frozen=True)
class PageTable:
    """A sortable table of rows that name their cells; `folded` hides it behind a line until opened."""

    caption: str
    rows: Sequence[Mapping[str, Any]]
    help: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    folded: str = ""
    data: str = ""
    kind: str = "table"


@dataclass(frozen=True)
class Figure:
    """An SVG and its caption."""

    svg: Any
    caption: str


@dataclass(frozen=True)
class Figures:
    """Figures side by side, or one beside the table of its numbers on a wide screen."""

    figures: Sequence[Figure]
    folded: str = ""
    data: str = ""
    table: PageTable | None = None
    kind: str = "figures"


@dataclass(frozen=True)
class Bar:
    """A line of the answer: where a value and its interval are on an axis from 0 to 1.

    Counts are bars from 0; values whose differences matter are points on an axis of their own.
    """

    name: str
    text: str
    place: float
    low: float
    high: float
    title: str = ""
    mark: bool = False
    is_point: bool = False


@dataclass(frozen=True)
class Hero:
    """The answer, large: a figure, what it is, and the best few beside each other."""

    value: str
    unit: str
    text: str
    bars: Sequence[Bar] = ()
    note: str = ""


@dataclass(frozen=True)
class Text:
    """A paragraph or a block of code."""

    text: str
    style: str = ""
    data: str = ""
    kind: str = "text"


@dataclass
class Section:
    """A titled part of the page."""

    key: str
    title: str
    texts: list[str] = field(default_factory=list)
    blocks: list[Any] = field(default_factory=list)
    short: str = ""


@dataclass(frozen=True)
class Answer:
    """A question of the summary and its answer."""

    question: str
    text: Any


@dataclass(frozen=True)
class Page:
    """A whole report."""

    title: str
    lead: str
    answers: Sequence[Answer]
    sections: Sequence[Section]
    hero: Hero | None = None
    switch: Sequence[str] = ()


def number_entry(
    value: float | None, digits: int = 3, *, text: str | None = None, mark: bool = False, std: str = ""
) -> Entry:
    """Return a number cell; unknown numbers show a dash and sort last."""
    if value is None or not math.isfinite(value):
        return Entry(text or "–", "", numeric=True, mark=mark)
    return Entry(text or f"{value:.{digits}f}", repr(float(value)), numeric=True, mark=mark, std=std)


class Html(str):
    """HTML that pages do not escape again; it works where jinja2 is not installed."""

    def __html__(self) -> str:
        return self


def command_html(text_before: str, command: str, text_after: str) -> Html:
    """Return a command between two plain texts, as HTML."""
    words = (
        f'<span class="option">{escape(word)}</span>' if word.startswith("-") else str(escape(word))
        for word in command.split(" ")
    )
    return Html(f"{text_before}<code>{' '.join(words)}</code>{text_after}")


def value_entry(value: Any) -> Entry:
    """Return the cell of a plain value: text as it is, whole numbers, others with three digits."""
    if isinstance(value, Entry):
        return value
    if isinstance(value, str):
        return Entry(value, value)
    return number_entry(value, 0 if isinstance(value, int) else 3)


def draw_figure(plot: Callable[..., Any], caption: str, *, key: str) -> Figure:
    """Draw a figure whose caption is also its description."""
    return Figure(Html(figure_svg(plot, title=caption, key=key)), caption)


def format_duration(seconds: float) -> str:
    """Return seconds as people write them: 12 ms, 4.2 s, 2.2 min."""
    if seconds < 0.9995:
        return f"{1000 * seconds:.2g} ms" if seconds < 0.1 else f"{1000 * seconds:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 100 else f"{seconds / 60:.1f} min"


def format_megabytes(value: float | None) -> str:
    """Return megabytes as people write them."""
    if value is None:
        return "not measured"
    if value < 1:
        return "< 1 MB"
    return f"{value:.0f} MB" if value < 1000 else f"{value / 1000:.1f} GB"


def template_environment() -> Any:
    """Return the templates of the pages; they escape every value."""
    try:
        from jinja2 import Environment, PackageLoader
    except ImportError as error:
        raise ValueError(MISSING) from error
    template_loader = PackageLoader("hyperlabel.apps.report")
    template_env = Environment(loader=template_loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template_env.globals |= {"entry": value_entry, "version": __version__}
    return template_env


def render_page(page: Page) -> str:
    """Return the page as one self-contained HTML text; what HTML cannot hold shows as �."""
    page_html: str = template_environment().get_template("page.html.j2").render(page=page)
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", page_html)
