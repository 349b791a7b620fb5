"""Fit a model on moments from chunks: one pass (two where label counts come first), any size."""

import os
import time
from collections.abc import Callable
from typing import Any, Literal

from hyperlabel.moments.blocks import add_scans, close_fit, open_fit, scan_block, sum_block
from hyperlabel.outofcore._checkpoint import Checkpoint, State
from hyperlabel.outofcore._progress import row_counter
from hyperlabel.outofcore._sources import Chunk, Source, as_source, chunk_digest, read_ahead
from hyperlabel.solvers.moments.grouped_moments import add_sums, sums_from_arrays


def fit(
    estimator: Any,
    chunks: Any,
    *,
    classes: Any = None,
    precision: Literal["auto", "double"] = "auto",
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_seconds: float = 30.0,
    progress: bool | None = None,
    memory_limit: float | None = None,
) -> Any:
    """Fit an estimator on data that need not fit in memory.

    Memory holds two chunks and the estimator's sums (XᵀX and XᵀF), whatever the number of rows.
    The result equals ``estimator.fit(X, y)`` on all rows up to rounding.

    Parameters
    ----------
    estimator : estimator on moments
        `BinaryRelevance`, `PLST` and every other estimator that is a function of sums over rows;
        others raise an error that says why they cannot. It is fitted in place.
    chunks : path, list of paths, `RowChunks`, sequence, or function
        Files (npz, ARFF, …), rows of arrays or ``.npy`` files, a sequence of ``(X, y)`` or
        ``(X, y, sample_weight)``, or a function that returns an iterator of such chunks.
    classes : array-like, default=None
        With a 1-D y: all classes.
    precision : {"auto", "double"}, default="auto"
        "auto" multiplies dense float32 rows in float32 (about six digits, half the time) and adds
        up in float64; "double" multiplies in float64 too. Float64 rows are always summed in float64.
    checkpoint : path, default=None
        File in which the sums are kept every `checkpoint_seconds`. If it exists, the fit goes on
        from there; at the end it is deleted. It is refused for another estimator and for other
        data, recognised by size and time of the files and by the content of the first chunk.
    checkpoint_seconds : float, default=30.0
        Time between two checkpoints.
    progress : bool, default=None
        Show rows, rate and time left on standard error; None: when that is a terminal.
    memory_limit : float, default=None
        Bytes the sums may take, by default what the machine has; more is refused before anything
        is read.

    Returns
    -------
    estimator : object
        The fitted estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from hyperlabel import BinaryRelevance, outofcore
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 4)); Y = (X[:, :3] > 0).astype(int)
    >>> chunks = [(X[:30], Y[:30]), (X[30:], Y[30:])]
    >>> model = outofcore.fit(BinaryRelevance(), chunks)
    >>> np.allclose(model.coef_, BinaryRelevance().fit(X, Y).coef_)
    True
    """
    if precision not in ("auto", "double"):
        raise ValueError(f"precision must be 'auto' or 'double', got {precision!r}.")
    source = as_source(chunks)
    first_chunk = _open_first_chunk(estimator, source, classes, memory_limit)
    saved_state = None
    if checkpoint is not None:
        sorted_params = sorted(estimator.get_params().items())
        data_identity = [
            None if classes is None else list(classes),
            source.identity(),
            chunk_digest(first_chunk),
        ]
        saved_state = Checkpoint(
            checkpoint, [type(estimator).__name__, sorted_params, precision, *data_identity]
        )
    fit_run = _Run(estimator, source, saved_state, checkpoint_seconds, progress)
    if estimator._scans():
        estimator._use_scan(fit_run.scan())
    close_fit(estimator, fit_run.sums(single=precision == "auto"))
    if saved_state is not None:
        saved_state.remove()
    return estimator


class _Run:
    """The passes of one fit, each able to go on from a checkpoint."""

    def __init__(
        self, model: Any, source: Source, saved: Checkpoint | None, seconds: float, progress: bool | None
    ) -> None:
        self.model, self.source, self.saved = model, source, saved
        self.seconds, self.progress = seconds, progress
        self.state = State() if saved is None else saved.load()

    def scan(self) -> dict[str, Any]:
        if self.state.stage != "sum":
            self.state.stage = "scan"
            self._sum_chunks(
                lambda chunk: scan_block(self.model, *_unpack_chunk(chunk)), add_scans, dict, dict
            )
            self.state = State("sum", scan=self.state.sums)
            self._save_checkpoint()
        return self.state.scan

    def sums(self, *, single: bool) -> Any:
        self.state.stage = "sum"
        return self._sum_chunks(
            lambda chunk: sum_block(self.model, *_unpack_chunk(chunk), single=single),
            add_sums,
            lambda sums: sums.to_arrays(),
            sums_from_arrays,
        )

    def _sum_chunks(
        self,
        chunk_moments: Callable[[Chunk], Any],
        add_moments: Callable[[Any, Any], Any],
        to_arrays: Callable[[Any], dict[str, Any]],
        from_arrays: Callable[[dict[str, Any]], Any],
    ) -> Any:
        state = self.state
        total_moments = from_arrays(state.sums) if state.sums else None
        save_time = time.monotonic()
        title = "labels" if state.stage == "scan" else "fit"
        with row_counter(title, self.source, state.rows, self.progress) as count_rows:
            for source_position, chunk in read_ahead(self.source.read(state.place)):
                state.place, n_rows = source_position, chunk.X.shape[0]
                if not n_rows:
                    continue
                block_moments = chunk_moments(chunk)
                total_moments = (
                    block_moments if total_moments is None else add_moments(total_moments, block_moments)
                )
                state.rows += n_rows
                count_rows(n_rows)
                if self.saved is not None and time.monotonic() - save_time >= self.seconds:
                    state.sums = to_arrays(total_moments)
                    self._save_checkpoint()
                    save_time = time.monotonic()
        state.sums = to_arrays(total_moments)
        return total_moments

    def _save_checkpoint(self) -> None:
        if self.saved is not None:
            self.saved.save(self.state)


def _open_first_chunk(model: Any, source: Source, classes: Any, memory_limit: float | None) -> Chunk:
    for _, chunk in source.read():
        if chunk.X.shape[0]:
            if chunk.y is None:
                raise ValueError("The chunks hold no y: a fit needs (X, y).")
            label_options = {"classes": classes, "label_names": chunk.label_names}
            open_fit(model, chunk.X, chunk.y, memory_limit=memory_limit, **label_options)
            return chunk
    raise ValueError("There are no rows in the chunks.")


def _unpack_chunk(chunk: Chunk) -> tuple[Any, Any, Any]:
    return chunk.X, chunk.y, chunk.sample_weight
