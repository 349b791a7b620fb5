"""Draw the figures of docs/methods from the record of the reproduction (run it after the record changes)."""

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("svg")
import matplotlib.pyplot as plt
import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from reproduction import Curve, Result  # noqa: E402
from reproduction.flats import FLATS, project  # noqa: E402
from reproduction.markdown_pages import read_record  # noqa: E402

IMAGES = ROOT / "docs" / "images"
METHODS = ("PCA", "LPP", "CCA", "MLSI", "MDDM", "OPLS", "HOPLS")
SIZE = (6.4, 3.4)


def _panel(results: dict[str, Result], id: str, title: str) -> Curve:
    return next(curve for curve in results[id].curves if curve.title.startswith(title))


def _draw_curve(ax: plt.Axes, curve: Curve, names: dict[str, str]) -> None:
    for name, label in names.items():
        ax.plot(curve.x, np.nanmean(np.array(curve.scores[name]), axis=0), marker="o", ms=3, label=label)
    ax.set(xlabel=curve.xlabel, ylabel=curve.ylabel)
    ax.legend(frameon=False)


def spectral(results: dict[str, Result]) -> plt.Figure:
    """Mean AUC on scene against λ (Figure 3)."""
    figure, ax = plt.subplots(figsize=SIZE)
    curve = _panel(results, "kdd08-fig3", "scene, clique")
    names = {"HG_c^λ": "HG, λ > 0", "lsHG_c^λ": "lsHG, λ > 0", "HG_c": "HG, λ = 0", "lsHG_c": "lsHG, λ = 0"}
    _draw_curve(ax, curve, names)
    ax.set_xscale("log")
    return figure


def hopls(results: dict[str, Result]) -> plt.Figure:
    """F1 on emotions, printed and ours (Table II)."""
    figure, ax = plt.subplots(figsize=SIZE)
    numbers = [results["jcp14-table2"].at(f"emotions, {method}", "micro") for method in METHODS]
    places = np.arange(len(METHODS))
    ax.bar(places - 0.2, [number.paper for number in numbers], 0.38, label="printed")
    own, deviations = [number.ours for number in numbers], [number.std for number in numbers]
    ax.bar(places + 0.2, own, 0.38, yerr=deviations, label="ours, ± standard deviation over splits")
    ax.set_xticks(places, METHODS)
    ax.set(ylabel="F1 on emotions")
    ax.set_ylim(0, 0.95)
    ax.legend(frameon=False, loc="upper left")
    return figure


def rank_svm(results: dict[str, Result]) -> plt.Figure:
    """Distance of the dual from its optimum (Theorem 1)."""
    figure, ax = plt.subplots(figsize=SIZE)
    for curve in results["cvpr09-theorem1"].curves:
        (distances,) = curve.scores["DCD"]
        ax.plot(curve.x, distances, marker="o", ms=3, label=curve.title.partition(":")[0])
    ax.set(xlabel="epoch", ylabel="distance from the optimum", yscale="log")
    ax.legend(frameon=False)
    return figure


def label_space(results: dict[str, Result]) -> plt.Figure:
    """Hamming loss on yeast against M (Figure 2)."""
    figure, ax = plt.subplots(figsize=SIZE)
    names = {name: name for name in ("PLST", "PBR", "CS", "BR")}
    _draw_curve(ax, _panel(results, "neco12-fig2", "yeast"), names)
    return figure


def worked_flats() -> plt.Figure:
    """The flats of §3.1: vertices, their nearest points, and the flat."""
    figure = plt.figure(figsize=(9.6, 2.9))
    for i, flat in enumerate(FLATS, 1):
        n_labels = flat.vertices.shape[1]
        ax = figure.add_subplot(1, len(FLATS), i, projection="3d" if n_labels == 3 else None)
        points = project(flat)
        ax.scatter(*flat.vertices.T, s=36, label="vertex")
        ax.scatter(*points.T, s=18, marker="x", label="on the flat")
        for vertex, point in zip(flat.vertices, points, strict=True):
            ax.plot(*np.stack([vertex, point]).T, color="grey", lw=0.8)
        if n_labels == 2:
            line = np.stack([flat.reference + t * flat.directions[0] for t in (-0.4, 1.2)])
            ax.plot(*line.T, lw=0.8)
            ax.set_aspect("equal")
        else:
            grid = np.array([[flat.reference + a * flat.directions[0] + b * flat.directions[1]
                              for a in (-0.8, 1.0)] for b in (-0.8, 1.0)])  # fmt: skip
            ax.plot_surface(grid[..., 0], grid[..., 1], grid[..., 2], alpha=0.2)
        ax.set_title(flat.name, fontsize=9)
        ax.tick_params(labelsize=6)
    return figure


def main() -> None:
    """Write every figure as SVG; the same record gives the same bytes."""
    plt.rcParams.update({"svg.hashsalt": "hyperlabel", "font.size": 9, "axes.spines.top": False,
                         "axes.spines.right": False})  # fmt: skip
    results = {result.id: result for result in read_record(ROOT / "docs" / "reproduction")}
    figures = {
        "method-hypergraph-spectral": spectral(results),
        "method-hopls": hopls(results),
        "method-rank-svm": rank_svm(results),
        "method-label-space": label_space(results),
        "worked-flats": worked_flats(),
    }
    for name, figure in figures.items():
        figure.savefig(IMAGES / f"{name}.svg", bbox_inches="tight", metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
