"""The real data sets by name, for benchmarks that use several."""

from __future__ import annotations

import warnings

from benchmarks._timing import data_folder
from hyperlabel.datasets import Dataset, concat, load_npz, read_arff

_FULL = {
    "emotions": "emotions.arff",
    "yeast": "yeast.arff",
    "genbase": "genbase.arff",
    "medical": "medical.arff",
}


def real(name: str, part: str | None = None) -> Dataset:
    """Return a data set; part is None (all rows), "train" or "test"."""
    folder = data_folder()
    if (folder / f"{name}.npz").exists():
        return load_npz(folder / f"{name}.npz", part=part, name=name)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*left out text or id columns.*")
        if part is None and name in _FULL:
            return read_arff(folder / name / f"{name}.arff", name=name)
        if part is None:
            return concat([real(name, "train"), real(name, "test")], name=name)
        (file,) = (folder / name).glob(f"*-{part}*.arff*")
        return read_arff(file, name=name)
