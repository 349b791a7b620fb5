"""Draw the picture of the idea, docs/images/idea.svg: ``python tools/draw_idea.py``."""

from __future__ import annotations

from pathlib import Path

INK, SOFT, PAPER, BLUE, RED, GREEN = "#1c2733", "#667585", "#ffffff", "#2166ac", "#b2452f", "#2f7d4f"
LABELS = {"audio": ([0, 1, 3], RED), "games": ([3, 4], GREEN), "network": ([1, 2, 4], BLUE)}


def text(x: float, y: float, words: str, size: int = 15, fill: str = INK, anchor: str = "start", weight: int = 400) -> str:
    return f'<text x="{x}" y="{y}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" font-weight="{weight}">{words}</text>'


def box(x: float, y: float, w: float, h: float, fill: str = "#eef2f6", stroke: str = "#c5cfd9") -> str:
    return f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="8" fill="{fill}" stroke="{stroke}"/>'


def arrow(x: float, y: float, to: float, down: float | None = None) -> str:
    end = y if down is None else down
    return f'<path d="M{x} {y} L{to} {end}" stroke="{SOFT}" stroke-width="2" marker-end="url(#head)"/>'


def draw() -> str:
    parts = [box(0.5, 0.5, 959, 329, PAPER, "#dfe5eb")]
    parts.append(text(30, 38, "Your rows and labels", 16, weight=600))
    for i in range(5):
        y = 62 + 30 * i
        parts.append(box(30, y, 112, 22))
        parts += [f'<rect x="{38 + 13 * j}" y="{y + 6}" width="9" height="10" fill="{BLUE}" opacity="{(3 * i + 5 * j) % 7 / 9 + 0.15:.2f}"/>' for j in range(8)]
        for j, (rows, colour) in enumerate(LABELS.values()):
            fill = colour if i in rows else "none"
            parts.append(f'<circle cx="{168 + 26 * j}" cy="{y + 11}" r="7.5" fill="{fill}" stroke="{colour}" stroke-width="1.5"/>')
    parts += [text(86, 234, "X: features", 14, SOFT, "middle"), text(194, 234, "Y: labels", 14, SOFT, "middle")]
    parts += [text(30, 270, "Each label is a hyperedge over", 14, SOFT), text(30, 290, "the rows that carry it.", 14, SOFT)]
    parts += [arrow(252, 96, 300), arrow(252, 190, 300)]
    parts += [box(308, 58, 218, 76), text(417, 84, "label factor F", 16, anchor="middle", weight=600)]
    parts += [text(417, 106, "a thin matrix from Y alone:", 14, SOFT, "middle"), text(417, 124, "clique, star, codes, labels …", 14, SOFT, "middle")]
    parts += [box(308, 164, 218, 84), text(417, 190, "moments", 16, anchor="middle", weight=600)]
    parts += [text(417, 213, "XᵀX · XᵀF · FᵀF", 15, anchor="middle"), text(417, 235, "sums over rows, nothing else", 14, SOFT, "middle")]
    parts += [arrow(417, 134, 417, 158)]
    parts += [text(308, 276, "+ more rows, other machines", 14, GREEN), text(308, 298, "− folds, rows to forget", 14, RED)]
    parts += [arrow(526, 206, 576), box(584, 58, 346, 190), text(604, 88, "every model from the same sums", 16, weight=600)]
    rows = [("HypergraphSpectral · HOPLS", "projections"), ("PLST · CPLST · topics", "label spaces"),
            ("BinaryRelevance", "one solve, all labels"), ("every λ, every dimension", "whole paths"),
            ("out-of-fold scores", "cuts, promises, review")]  # fmt: skip
    for i, (what, why) in enumerate(rows):
        parts += [text(604, 120 + 26 * i, what, 14), text(914, 120 + 26 * i, why, 13, SOFT, "end")]
    parts += [text(584, 276, "One pass over the data; the rest is small matrices,", 14, SOFT), text(584, 296, "with a certificate of how exact the answer is.", 14, SOFT)]
    head = f'<defs><marker id="head" markerWidth="8" markerHeight="8" refX="6" refY="4" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{SOFT}"/></marker></defs>'
    style = 'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif"'
    title = "<title>Labels become a thin factor, rows become sums, and every model is read off the sums</title>"
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 330" width="960" role="img" {style}>{title}{head}{"".join(parts)}</svg>\n'


if __name__ == "__main__":
    Path(__file__).resolve().parents[1].joinpath("docs/images/idea.svg").write_text(draw(), encoding="utf-8")
