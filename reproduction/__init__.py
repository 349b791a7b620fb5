"""The papers: printed figures, protocols, and what we get.

One file per paper. Each lists `Item`s: an id, the data it needs, the cells to compute and how their
values become a `Result` with the paper's figure beside ours. Items of one paper share cells where
they show the same runs (a table and five figures of one sweep are computed once).
"""

from pathlib import Path

from hyperlabel.apps.comparison.environment import CODE_FOLDERS
from reproduction import (
    beyond,
    contest,
    cvpr09,
    jcp14,
    kdd08,
    kdd08_forms,
    kdd08_text,
    neco12,
    neco12_trees,
    ranking_reduction,
)
from reproduction.item import Item, Plan, Runs
from reproduction.result import Curve, Number, Result

__all__ = ["PAPERS", "Curve", "Item", "Number", "Plan", "Result", "Runs", "items"]

PAPERS = {
    "kdd08": "Hypergraph spectral learning (Sun, Ji, Ye, KDD 2008)",
    "jcp14": "Hypergraph orthonormalized PLS (Journal of Computers 9(6), 2014)",
    "cvpr09": "Rank-SVM with hypergraph regularisation (Chen et al., CVPR 2009)",
    "neco12": "Principal label space transformation (Tai, Lin, Neural Computation 2012)",
    "beyond": "Where the papers stopped",
}

# The protocols stand here: a change of them is a change of the code behind the results.
CODE_FOLDERS.append(Path(__file__).resolve().parent)


def items() -> list[Item]:
    """Return everything that can be asked for, tables first within each paper."""
    files = (
        kdd08,
        kdd08_text,
        kdd08_forms,
        jcp14,
        cvpr09,
        neco12,
        neco12_trees,
        ranking_reduction,
        contest,
        beyond,
    )
    return [item for file in files for item in file.ITEMS]
