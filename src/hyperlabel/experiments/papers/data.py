"""The benchmark files by name: where they lie in the data folder."""

from __future__ import annotations

import os
import warnings
from functools import cache
from pathlib import Path

from hyperlabel.datasets import Dataset, load_npz, read_arff, stack

# name → the files whose rows together are the data set, in order
FILES: dict[str, tuple[str, ...]] = {
    "emotions": ("emotions/emotions.arff",),
    "scene": ("scene/scene-train.arff.gz", "scene/scene-test.arff.gz"),
    "yeast": ("yeast/yeast.arff",),
    "genbase": ("genbase/genbase.arff",),
    "medical": ("medical/medical.arff",),
    "corel5k": ("corel5k/Corel5k-sparse.arff",),
    "delicious": ("delicious/delicious-train.arff.gz", "delicious/delicious-test.arff.gz"),
    "yahoo-arts": ("yahoo-arts.npz",),
    "yahoo5k-computers": ("yahoo5k-computers.npz",),
    "mediamill-real4k": ("mediamill-real4k.npz",),
    "mediamill-disc3": ("mediamill-disc3.npz",),
    "imageclef07a": ("imageclef07a.npz",),
}


def data_folder(given: str | None = None) -> Path | None:
    """Return the folder of benchmark files: the given one, else ``HYPERLABEL_DATA``, else None."""
    named = given or os.environ.get("HYPERLABEL_DATA")
    if not named:
        return None
    folder = Path(named)
    if not folder.is_dir():
        raise ValueError(f"The data folder {named!r} does not exist.")
    return folder


def available(folder: Path | None, name: str) -> bool:
    """Whether all files of a data set are there."""
    return folder is not None and all((folder / file).is_file() for file in FILES[name])


@cache
def load(folder: Path, name: str) -> Dataset:
    """Read a data set, once per process."""
    parts = []
    for file in FILES[name]:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*left out text or id columns.*")
            reader = load_npz if file.endswith(".npz") else read_arff
            parts.append(reader(folder / file, name=name))
    return parts[0] if len(parts) == 1 else stack(parts, name=name)
