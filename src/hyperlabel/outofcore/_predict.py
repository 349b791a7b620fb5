"""Predictions of any number of rows, written to disk part by part."""

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
    """Predict chunk by chunk into a folder of npz parts, one per chunk.

    Every part is written atomically. Parts that exist are kept, so a run that was killed goes on
    where it stopped when called again.

    Parameters
    ----------
    model : fitted estimator
        The model.
    chunks : as in `outofcore.fit`
        The rows; labels in them are ignored.
    folder : path
        Where the parts go; made if missing.
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
    ...     parts = list(outofcore.read_predictions(folder))
    >>> np.array_equal(np.vstack(parts), model.predict(X))
    True
    """
    if output not in ("labels", "scores", "topk", "transform"):
        raise ValueError(f"output must be 'labels', 'scores', 'topk' or 'transform', got {output!r}.")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    source = as_source(chunks)
    with row_counter("predict", source, 0, progress) as count:
        for number, (_, chunk) in enumerate(read_ahead(source.read())):
            part = target / f"part-{number:06d}.npz"
            if not part.exists() and chunk.X.shape[0]:
                write_arrays(part, _predict_chunk(model, chunk, output, k))
            count(chunk.X.shape[0])
    return target


def read_predictions(folder: str | os.PathLike[str]) -> Iterator[Any]:
    """Yield the parts that `predict` wrote, in order.

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
    ...     [len(part) for part in outofcore.read_predictions(folder)]
    [20, 30]
    """
    parts = sorted(Path(folder).glob("part-*.npz"))
    if not parts:
        raise FileNotFoundError(f"There are no predictions in {folder}.")
    for part in parts:
        arrays = read_arrays(part)
        yield (arrays["indices"], arrays["scores"]) if "indices" in arrays else arrays["values"]


def _predict_chunk(model: Any, chunk: Chunk, output: Output, k: int) -> dict[str, Any]:
    if output == "topk":
        indices, scores = model.predict_topk(chunk.X, k=k)
        return {"indices": indices, "scores": scores}
    call = {"labels": "predict", "scores": "decision_function", "transform": "transform"}[output]
    values = getattr(model, call)(chunk.X)
    return {"values": values if sparse.issparse(values) else np.asarray(values)}
