"""Rows of a table as they stand in the file, written elsewhere with every column kept."""

from pathlib import Path
from typing import Any

from hyperlabel.cli._words import plural

VECTOR = "vector"  # what features from a file of vectors are called
TABLE_KINDS = ("csv", "jsonl", "parquet")


def write_rows(cells: Any, index: Any, target: Path, kind: str) -> None:
    """Write the rows numbered by `index` (all of them: None) as a table; vectors beside it go along."""
    import numpy as np

    from hyperlabel._files import opened
    from hyperlabel.datasets.writing import write_columns

    columns = cells.columns
    if index is not None:
        columns = {name: [column[i] for i in index] for name, column in columns.items()}
    if not columns:
        raise ValueError(f"{cells.path.name} has no columns to write.")
    with opened(target) as file:
        write_columns(columns, file, kind, delimiter=delimiter_of(target, cells.delimiter))
    beside = vectors_beside(cells.path)
    if beside is not None:
        vectors = np.load(beside, mmap_mode="r", allow_pickle=False)
        with opened(vectors_name(target)) as file:
            np.save(file, vectors if index is None else vectors[index], allow_pickle=False)


def delimiter_of(target: str | Path, given: str | None = None) -> str:
    """Return what separates the columns of a CSV file: tabs by its name, else what separated those given."""
    if ".tsv" in Path(target).suffixes:
        return "\t"
    return "," if given in (None, "\t") else str(given)


def add_vectors(data: Any, path: str | Path) -> Any:
    """Return a data set with the vectors beside its table as further features, named vector[0] and so on."""
    from dataclasses import replace

    import numpy as np

    place = vectors_beside(path)
    if place is None:
        raise ValueError(f"The model was fitted with vectors: there is no {vectors_name(path)}.")
    try:
        vectors = np.load(place, allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{place} is not a readable npy file.") from error
    if vectors.ndim != 2 or vectors.dtype.kind not in "biuf" or len(vectors) != len(data):
        raise ValueError(
            f"{place} must hold one vector of numbers for each of the {plural(len(data), 'row')}; its shape "
            f"is {vectors.shape}."
        )
    names = [*data.feature_names, *(f"{VECTOR}[{j}]" for j in range(vectors.shape[1]))]
    return replace(data, X=np.hstack([data.X, vectors.astype(np.float64)]), feature_names=names)


def vectors_name(path: str | Path) -> Path:
    """Return where the vectors of a table's rows lie: beside it, under its name."""
    path = Path(path)
    return path.with_name(path.name.split(".")[0] + ".npy")


def vectors_beside(path: str | Path) -> Path | None:
    """Return the file of vectors beside a table, if there is one."""
    place = vectors_name(path)
    return place if place.is_file() else None
