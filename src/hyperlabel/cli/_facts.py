"""What ``data info`` says about the columns and labels of a file."""

from __future__ import annotations

from typing import Any


def column_facts(name: str, cells: list[Any]) -> dict[str, Any]:
    """Say what a column holds: its kind, missing cells, distinct values and words of a cell."""
    from hyperlabel.cli._columns import kind_of

    written = [
        "; ".join(map(str, c)) if isinstance(c, list) else str(c).strip() for c in cells if c is not None
    ]
    filled = [text for text in written if text]
    words = sum(len(text.split()) for text in filled) / max(len(filled), 1)
    return {
        "column": name,
        "kind": kind_of(name, cells),
        "missing": len(cells) - len(filled),
        "distinct": len(set(filled)),
        "words_per_cell": words,
        "example": filled[0][:400] if filled else "",
    }


def label_counts(data: Any, count: int) -> dict[str, Any]:
    """Return the labels on most and on fewest rows."""
    import numpy as np

    rows = np.asarray(data.Y.sum(axis=0)).ravel()
    order = np.argsort(-rows, kind="stable")
    named = [{"label": str(data.label_names[j]), "rows": int(rows[j])} for j in order]
    return {"frequent_labels": named[:count], "rare_labels": named[count:][-count:][::-1]}
