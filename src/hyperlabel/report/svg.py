"""Figures as inline SVG that follows the page's light or dark colours.

Figures are drawn with stand-in colours; in the SVG text these become CSS variables, so that one
figure reads well in light, dark and printed pages. Text stays text: small files, readable by
screen readers and by search.
"""

from __future__ import annotations

import html
import io
import re
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
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")


def theme() -> dict[str, Any]:
    """Return the matplotlib settings of a report's figures."""
    from cycler import cycler

    return {
        "svg.fonttype": "none",
        "svg.hashsalt": "hyperlabel",
        "font.family": "sans-serif",
        "font.sans-serif": ["DejaVu Sans"],
        "font.size": 10,
        "axes.titlesize": 11,
        "axes.prop_cycle": cycler(color=SERIES, marker=MARKERS),
        "axes.edgecolor": MUTED,
        "axes.labelcolor": INK,
        "axes.titlecolor": INK,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "axes.axisbelow": True,
        "grid.color": GRID,
        "grid.linewidth": 0.6,
        "text.color": INK,
        "xtick.color": MUTED,
        "ytick.color": MUTED,
        "xtick.labelcolor": INK,
        "ytick.labelcolor": INK,
        "legend.frameon": False,
        "legend.fontsize": 9,
        "lines.markersize": 4.5,
        "lines.linewidth": 1.6,
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "savefig.facecolor": "none",
    }


def figure(
    draw: Callable[[Any], Any],
    *,
    title: str,
    text: str = "",
    size: tuple[float, float] = (5.2, 3.4),
    key: str,
) -> str:
    """Draw on one pair of axes and return the figure as an ``<svg>`` element.

    Parameters
    ----------
    draw : callable
        Gets the axes.
    title, text : str
        Name and description for readers who cannot see the figure.
    size : tuple of float, default=(5.2, 3.4)
        Width and height in inches.
    key : str
        Prefix of the ids inside, so that several figures can share a page.

    Returns
    -------
    svg : str
    """
    try:
        import matplotlib
        from matplotlib.backends.backend_svg import FigureCanvasSVG
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ValueError(MISSING) from error

    with matplotlib.rc_context(theme()):
        canvas = FigureCanvasSVG(Figure(figsize=size, layout="constrained"))
        draw(canvas.figure.add_subplot())
        out = io.StringIO()
        canvas.figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    return _inline(out.getvalue(), title, text, key)


def _inline(svg: str, title: str, text: str, key: str) -> str:
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r'(\bid="|url\(#|xlink:href="#)', rf"\g<1>{key}-", svg)
    svg = svg.replace("xlink:href", "href")
    svg = re.sub(r'font: ([\d.]+)px[^";]*', r"font: \1px var(--font)", svg)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, variable)
    head = re.match(r"<svg[^>]*>", svg)
    assert head is not None
    box = re.search(r'viewBox="[^"]*"', head.group())
    width = re.search(r'width="([\d.]+)pt"', head.group())
    assert box is not None
    assert width is not None
    label = f'<title id="{key}-title">{html.escape(title)}</title>'
    label += f'<desc id="{key}-desc">{html.escape(text)}</desc>' if text else ""
    described = f"{key}-title {key}-desc" if text else f"{key}-title"
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" {box.group()} role="img" '
        f'aria-labelledby="{described}" style="max-width:{float(width.group(1)) * 4 / 3:.0f}px">'
    )
    return opening + label + svg[head.end() :].strip()
