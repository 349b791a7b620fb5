"""Data named on the command line: files of any known format, or the name of embedded data."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

EMBEDDED = ("debtags",)


def open_dataset(source: str) -> Any:
    """Return the data set a user named: an ARFF or npz file, or an embedded name."""
    from hyperlabel import datasets

    if source in EMBEDDED:
        return datasets.load_debtags()
    path = Path(source)
    if not path.is_file():
        raise ValueError(f"There is no file {source!r} (embedded data: {', '.join(EMBEDDED)}).")
    suffixes = [s for s in path.suffixes if s != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # columns left out are named in `data info`
        if suffix == ".arff":
            return datasets.read_arff(path)
        if suffix == ".npz":
            return datasets.load_npz(path)
    raise ValueError(
        f"The format of {source!r} is not known by its ending {suffix!r}: give .arff, .arff.gz or .npz."
    )
