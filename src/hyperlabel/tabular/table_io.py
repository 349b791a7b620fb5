"""Write the rows of a table with every column unchanged, and open files of vectors and output."""

import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hyperlabel._files import opened
from hyperlabel.datasets.formats import format_of, table_address
from hyperlabel.tabular.wording import plural

VECTOR = "vector"  # what features from a file of vectors are called


def write_rows(table_cells: Any, index: Any, target: Path, kind: str, vectors: Any = None) -> None:
    """Write the rows numbered by `index` (all of them: None) as a table, and their vectors beside it."""
    import numpy as np

    from hyperlabel._files import opened
    from hyperlabel.datasets.writing import write_columns

    columns = table_cells.columns
    if index is not None:
        columns = {name: [column[i] for i in index] for name, column in columns.items()}
    if not columns:
        raise ValueError(f"{table_cells.path.name} has no columns to write.")
    with opened(target) as file:
        write_columns(columns, file, kind, delimiter=delimiter_of(target, table_cells.delimiter))
    if vectors is not None:
        with opened(target.with_name(target.name.split(".")[0] + ".npy")) as file:
            np.save(file, vectors if index is None else vectors[index], allow_pickle=False)


def delimiter_of(target: str | Path, source_delimiter: str | None = None) -> str:
    """Return what separates the columns of a CSV file: tabs by its name, else what separated those given."""
    if ".tsv" in Path(target).suffixes:
        return "\t"
    return "," if source_delimiter in (None, "\t") else str(source_delimiter)


def add_vectors(data: Any, path: str | Path, width: int | None = None) -> Any:
    """Return a data set with the vectors of a file as further features, named vector[0] and so on.

    `width` is how many numbers a vector must have, where a model says so.
    """
    from dataclasses import replace

    import numpy as np

    vectors = load_vectors(path, len(data))
    if width is not None and vectors.shape[1] != width:
        raise ValueError(f"{path} holds vectors of {vectors.shape[1]} numbers, the model needs {width}.")
    feature_names = [*data.feature_names, *(f"{VECTOR}[{j}]" for j in range(vectors.shape[1]))]
    return replace(data, X=np.hstack([data.X, vectors.astype(np.float64)]), feature_names=feature_names)


def load_vectors(path: str | Path, n_rows: int) -> Any:
    """Read one vector of numbers for each row, from npy or the npz array that fits (FILE::NAME)."""
    import numpy as np

    file_path, array_name = table_address(path)
    try:
        content = np.load(file_path, allow_pickle=False)
        arrays = {"": content} if isinstance(content, np.ndarray) else dict(content.items())
    except FileNotFoundError:
        raise FileNotFoundError(f"There is no file of vectors {path}: check the path.") from None
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{path} is not a readable npy or npz file.") from error
    if array_name is not None:
        arrays = {name: array for name, array in arrays.items() if name == array_name}
    fitting = [a for a in arrays.values() if a.ndim == 2 and a.dtype.kind in "biuf" and len(a) == n_rows]
    if len(fitting) != 1:
        shapes = ", ".join(f"{name} {array.shape}".strip() for name, array in arrays.items()) or "nothing"
        which = f"; name one of several arrays as {file_path}::NAME" if len(fitting) > 1 else ""
        raise ValueError(
            f"{path} must hold one vector of numbers for each of the {plural(n_rows, 'row')}; it holds "
            f"{shapes}{which}."
        )
    return fitting[0]


def vectors_of(files: Sequence[str], vectors: Sequence[str] | None) -> list[str | None]:
    """Return the file of vectors of each data file, named in their order; None where none is named."""
    if not vectors:
        return [None] * len(files)
    if len(vectors) != len(files):
        raise ValueError(
            f"--vectors names {plural(len(vectors), 'file')} for {plural(len(files), 'file')} of rows: name "
            "one for each, in their order."
        )
    return list(vectors)


def is_table(path: str) -> bool:
    """Tell whether a file consists of named columns."""
    return format_of(path).is_table


def need_model(path: str) -> None:
    """Refuse a model file that is not there, before anything is imported to read it."""
    if not Path(path).is_file():
        raise FileNotFoundError(
            f"There is no model file {path}: make one with hyperlabel fit DATA -o {path}."
        )


def need_data(*paths: str | None) -> None:
    """Refuse data files that are not there; ``-`` is stdin, ``debtags`` the embedded data."""
    for path in paths:
        if path in (None, "-", "debtags") or Path(path).exists():
            continue
        if not table_address(path)[0].exists():
            raise FileNotFoundError(f"There is no file {path}: check the path (embedded data: debtags).")


@contextmanager
def open_output(output: str) -> Iterator[Any]:
    """Open stdout, or a file that appears only once it is complete."""
    if output == "-":
        yield sys.stdout
        return
    with opened(output) as binary_file:
        text_stream = io.TextIOWrapper(binary_file, encoding="utf-8", newline="")
        try:
            yield text_stream
        finally:
            text_stream.detach()
