"""Figures as inline SVG that follows the page's light or dark colours.

Figures are drawn with stand-in colours; in the SVG text these become CSS variables, so that one
figure reads well in light, dark and printed pages. Text stays text: small files, readable by
screen readers and by search.
"""

import html
import io
import re
import warnings
from collections.abc import Callable
from typing import Any

MISSING = (
    "Reports and figures need matplotlib and jinja2: install them with  pip install 'hyperlabel[report]'."
)
# Stand-in colours and the CSS variables they become. The series are a colour-blind-safe set.
INK, MUTED, GRID = "#010203", "#040506", "#070809"
SERIES = ("#0a0b01", "#0a0b02", "#0a0b03", "#0a0b04", "#0a0b05", "#0a0b06", "#0a0b07", "#0a0b08")
_VARIABLES = {
    INK: "var(--ink)",
    MUTED: "var(--muted)",
    GRID: "var(--line)",
    **{colour: f"var(--s{i + 1})" for i, colour in enumerate(SERIES)},
}
_WRITTEN = ("text.color", "axes.labelcolor", "axes.titlecolor", "xtick.labelcolor", "ytick.labelcolor")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def figure_theme() -> dict[str, Any]:
    """Return the matplotlib settings of a report's figures."""
    from cycler import cycler

    return {
        "svg.fonttype": "none",
        "svg.hashsalt": "hyperlabel",
        "text.parse_math": False,  # names may hold dollar signs
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": 10,
        "axes.titlesize": 11,
        "axes.prop_cycle": cycler(color=SERIES, marker=MARKERS),
        **dict.fromkeys(("axes.spines.top", "axes.spines.right", "legend.frameon"), False),
        **dict.fromkeys(("axes.grid", "axes.axisbelow"), True),
        **dict.fromkeys(("axes.edgecolor", "xtick.color", "ytick.color"), MUTED),
        **dict.fromkeys(_WRITTEN, INK),
        **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "none"),
        "grid.color": GRID,
        "grid.linewidth": 0.6,
        "legend.fontsize": 9,
        "lines.markersize": 4.5,
        "lines.linewidth": 1.6,
    }


def figure_svg(draw: Callable[..., Any], *, title: str, key: str) -> str:
    """Draw on one pair of axes and return the figure as an ``<svg>`` element named `title`.

    A Display that `draw` returns says how large it is and which names it shortened. `key` begins the ids
    inside, so that several figures can share a page.
    """
    try:
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ValueError(MISSING) from error

    with matplotlib.rc_context(figure_theme()):
        canvas = FigureCanvasSVG(Figure(layout="constrained"))
        display = draw(ax=canvas.figure.add_subplot())
        canvas.figure.set_size_inches(getattr(display, "size_", (5.2, 3.4)))
        _write_powers_plainly(canvas.figure.axes)
        svg_buffer = io.StringIO()
        with warnings.catch_warnings():  # the browser draws text, in fonts of its own
            warnings.filterwarnings("ignore", "Glyph .* missing from font")
            canvas.figure.savefig(svg_buffer, format="svg", metadata={"Date": None, "Creator": None})
    return _add_titles(
        _prepare_inline_svg(svg_buffer.getvalue(), title, key), getattr(display, "whole_names_", {})
    )


def _write_powers_plainly(every_axes: Any) -> None:
    """Label logarithmic axes 0.01, 1, 100: matplotlib would set powers as mathematics."""
    from matplotlib.ticker import LogFormatter

    class PlainNumbers(LogFormatter):
        def __call__(self, x: float, pos: int | None = None) -> str:
            return f"{x:g}" if super().__call__(x, pos) else ""

    for axis in (axis for axes in every_axes for axis in (axes.xaxis, axes.yaxis)):
        if axis.get_scale() == "log":
            axis.set_major_formatter(PlainNumbers())
            axis.set_minor_formatter(PlainNumbers())


def _add_titles(svg: str, whole_names: dict[str, str]) -> str:
    """Give shortened names their full name as a tooltip."""
    for short_name, name in whole_names.items():
        escaped_name, escaped_title = html.escape(short_name, quote=False), html.escape(name)
        text_pattern = rf">([^<>]*{re.escape(escaped_name)}[^<>]*)</text>"
        svg = re.sub(text_pattern, lambda match: f"><title>{escaped_title}</title>{match[1]}</text>", svg)  # noqa: B023
    return svg


def _prepare_inline_svg(svg: str, title: str, key: str) -> str:
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'(\bid="|url\(#|xlink:href="#)', rf"\g<1>{key}-", svg)
    svg = svg.replace("xlink:href", "href")
    svg = re.sub(r'font: ([\d.]+)px[^";]*', r"font: \1px var(--font)", svg)
    for colour, css_variable in _VARIABLES.items():
        svg = svg.replace(colour, css_variable)
    svg_head = svg[: svg.index(">") + 1]
    view_box = re.findall(r'viewBox="[^"]*"', svg_head)[0]
    width_pixels = float(re.findall(r'width="([\d.]+)pt"', svg_head)[0]) * 4 / 3  # a point is 4/3 pixels
    # on a phone a large figure is moved sideways rather than made too small to read
    size_style = f'style="max-width:{width_pixels:.0f}px;min-width:{0.7 * width_pixels:.0f}px"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {view_box} role="img" '
        f'aria-labelledby="{key}-title" {size_style}><title id="{key}-title">{html.escape(title)}</title>'
        + svg[len(svg_head) :].strip()
    )
