"""Predictions of any number of rows, written to disk chunk by chunk."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import numpy as np
from scipy import sparse

from hyperlabel.outofcore._checkpoint import read_arrays, write_arrays
from hyperlabel.outofcore._progress import row_counter
from hyperlabel.outofcore._sources import Chunk, as_source, read_ahead

Output = Literal["labels", "scores", "topk", "transform"]


def predict(
    model: Any,
    chunks: Any,
    folder: str | os.PathLike[str],
    *,
    output: Output = "labels",
    k: int = 5,
    progress: bool | None = None,
) -> Path:
    """Predict chunk by chunk into a folder of npz files, one per chunk.

    Every file is written atomically. Files that exist are kept, so a run that was killed goes on
    where it stopped when called again.

    Parameters
    ----------
    model : fitted estimator
        The model.
    chunks : as in `outofcore.fit`
        The rows; labels in them are ignored.
    folder : path
        Where the files go; made if missing.
    output : {"labels", "scores", "topk", "transform"}, default="labels"
        What to write: the predicted sets, the scores, the best labels with their scores, or the
        projection of a transformer.
    k : int, default=5
        Labels per row for "topk".
    progress : bool, default=None
        Show rows, rate and time left on standard error; None: when that is a terminal.

    Returns
    -------
    folder : Path

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from hyperlabel import BinaryRelevance, outofcore
    >>> X = np.random.default_rng(0).normal(size=(50, 3)); Y = (X > 0).astype(int)
    >>> model = BinaryRelevance().fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = outofcore.predict(model, outofcore.RowChunks(X, rows=20), folder)
    ...     predictions = list(outofcore.read_predictions(folder))
    >>> np.array_equal(np.vstack(predictions), model.predict(X))
    True
    """
    if output not in ("labels", "scores", "topk", "transform"):
        raise ValueError(f"output must be 'labels', 'scores', 'topk' or 'transform', got {output!r}.")
    target_folder = Path(folder)
    target_folder.mkdir(parents=True, exist_ok=True)
    source = as_source(chunks)
    with row_counter("predict", source, 0, progress) as count_rows:
        for chunk_number, (_, chunk) in enumerate(read_ahead(source.read())):
            chunk_path = target_folder / f"part-{chunk_number:06d}.npz"
            if not chunk_path.exists() and chunk.X.shape[0]:
                write_arrays(chunk_path, _predict_chunk(model, chunk, output, k))
            count_rows(chunk.X.shape[0])
    return target_folder


def read_predictions(folder: str | os.PathLike[str]) -> Iterator[Any]:
    """Yield the predictions that `predict` wrote, in order.

    Parameters
    ----------
    folder : path
        The folder.

    Yields
    ------
    part : ndarray or csr_array, or a pair (indices, scores) for "topk"
        The predictions of one chunk.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from hyperlabel import BinaryRelevance, outofcore
    >>> X = np.random.default_rng(0).normal(size=(50, 3)); Y = (X > 0).astype(int)
    >>> model = BinaryRelevance().fit(X, Y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = outofcore.predict(model, [(X[:20], None), (X[20:], None)], folder)
    ...     [len(block) for block in outofcore.read_predictions(folder)]
    [20, 30]
    """
    chunk_paths = sorted(Path(folder).glob("part-*.npz"))
    if not chunk_paths:
        raise FileNotFoundError(f"There are no predictions in {folder}.")
    for chunk_path in chunk_paths:
        arrays = read_arrays(chunk_path)
        yield (arrays["indices"], arrays["scores"]) if "indices" in arrays else arrays["values"]


def _predict_chunk(model: Any, chunk: Chunk, output: Output, k: int) -> dict[str, Any]:
    if output == "topk":
        indices, scores = model.predict_topk(chunk.X, k=k)
        return {"indices": indices, "scores": scores}
    method_name = {"labels": "predict", "scores": "decision_function", "transform": "transform"}[output]
    predicted_rows = getattr(model, method_name)(chunk.X)
    return {"values": predicted_rows if sparse.issparse(predicted_rows) else np.asarray(predicted_rows)}
