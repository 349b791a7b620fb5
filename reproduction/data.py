"""The benchmark files: where they lie in the data folder, and how to get them."""

import hashlib
import os
import tomllib
import warnings
from functools import cache
from pathlib import Path
from typing import Any

from hyperlabel.datasets import Dataset, concat, fetch_openml, load_npz, read_arff
from hyperlabel.geometry.hypercube import distinct_vertices

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


# name → OpenML's number, rows, features, and the `label_hash` that its labels must have
OPENML: dict[str, tuple[int, int, int, str]] = {
    "emotions": (40589, 593, 72, "4c7ce674341d5688"),
    "scene": (40595, 2407, 294, "e6dc3827720bceff"),
    "yeast": (40597, 2417, 103, "a482cc0140b1c257"),
}
SOURCES: dict[str, str] = tomllib.loads(Path(__file__).with_name("printed.toml").read_text("utf-8"))[
    "sources"
]
CACHE = Path.home() / ".cache" / "hyperlabel" / "papers"


def data_folder(folder_option: str | None = None) -> Path | None:
    """Return the folder of benchmark files: the option, else ``HYPERLABEL_DATA``, else fetched ones."""
    folder_name = folder_option or os.environ.get("HYPERLABEL_DATA")
    if not folder_name:
        return CACHE if CACHE.is_dir() else None
    folder = Path(folder_name)
    if not folder.is_dir():
        raise ValueError(f"The data folder {folder_name!r} does not exist.")
    return folder


def available(folder: Path | None, name: str) -> bool:
    """Whether all files of a data set are there."""
    return folder is not None and _files(folder, name) is not None


def _files(folder: Path, name: str) -> tuple[str, ...] | None:
    """Return the files that hold a data set: the published ones, or the one that `fetch` wrote."""
    candidates = (FILES[name], (f"{name}.npz",))
    return next((files for files in candidates if all((folder / file).is_file() for file in files)), None)


def fetch_folder(folder_option: str | None) -> Path:
    """Return the folder that data sets are fetched into; it is made when missing."""
    folder = Path(folder_option or os.environ.get("HYPERLABEL_DATA") or CACHE)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def label_hash(Y: Any) -> str:
    """Hash how often every label and every label set occurs: the same for any order of rows and columns."""
    counts = [sorted(map(int, numbers)) for numbers in (Y.sum(axis=0), distinct_vertices(Y).counts)]
    return hashlib.sha256(repr(counts).encode()).hexdigest()[:16]


def fetch(folder: Path, name: str) -> str:
    """Get a data set from OpenML unless it is in the folder; return one line that says what happened.

    scikit-learn checks the checksum that OpenML publishes and caches the download. Size and labels must also
    be those of the papers' file, as OpenML holds other data of the same name.
    """
    if available(folder, name):
        return f"{name}: there"
    if name not in OPENML:
        files = " and ".join(str(folder / file) for file in FILES[name])
        return f"{name}: not on OpenML; get it from {SOURCES[name]} and save it as {files}"
    data_id, *expected = OPENML[name]
    try:
        with warnings.catch_warnings():
            # Both warnings only say that the download is tried again.
            warnings.filterwarnings("ignore", message="A network error occurred|Invalid cache")
            data = fetch_openml(data_id=data_id, data_home=str(folder / "openml"))
    except OSError as error:  # URLError is one
        raise ConnectionError(
            f"openml.org could not be reached ({error}): connect to a network, or name a folder that holds "
            "the benchmark files with --data."
        ) from error
    actual = [data.n_rows, data.n_features, label_hash(data.Y)]
    if actual != expected:
        raise ValueError(
            f"OpenML's data set {data_id} is not {name}: rows, features and the hash of its labels are "
            f"{actual}, the papers' are {expected}."
        )
    Dataset(data.X, data.Y, data.feature_names, data.label_names, name=name).save(folder / f"{name}.npz")
    return f"{name}: fetched from OpenML ({data_id})"


@cache
def load(folder: Path, name: str) -> Dataset:
    """Read a data set, once per process."""
    file_rows = []
    for file in _files(folder, name) or FILES[name]:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*left out text or id columns.*")
            reader = load_npz if file.endswith(".npz") else read_arff
            file_rows.append(reader(folder / file, name=name))
    return file_rows[0] if len(file_rows) == 1 else concat(file_rows, name=name)
