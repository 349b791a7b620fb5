"""Predictions over Dask: a collection in, a collection out, nothing computed yet."""

from typing import Any, Literal

import dask.array as da
import numpy as np
from dask import delayed
from scipy import sparse

from hyperlabel.distributed._collections import collection_blocks

_CALLS = {
    "labels": "predict",
    "scores": "decision_function",
    "probabilities": "predict_proba",
    "transform": "transform",
}


def predict(
    model: Any,
    X: Any,
    *,
    output: Literal["labels", "scores", "probabilities", "topk", "transform"] = "labels",
    k: int = 5,
) -> Any:
    """Predict the rows of a Dask collection, lazily.

    Parameters
    ----------
    model : fitted estimator
        The model.
    X : dask array or dataframe
        Rows.
    output : {"labels", "scores", "probabilities", "topk", "transform"}, default="labels"
        What to predict; "topk" gives label indices and scores, as `predict_topk` does.
    k : int, default=5
        Labels per row for "topk".

    Returns
    -------
    predictions : dask array, dask dataframe, or a pair of dask arrays for "topk"
        An array for an array, in row blocks like those of X (sparse blocks where the training y was
        sparse); for a dataframe a dataframe with the label names as columns.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from hyperlabel import BinaryRelevance, distributed
    >>> X = np.random.default_rng(0).normal(size=(60, 4)); Y = (X[:, :3] > 0).astype(int)
    >>> model = BinaryRelevance().fit(X, Y)
    >>> predictions = distributed.predict(model, da.from_array(X, chunks=(25, 4)))
    >>> bool((predictions.compute() == model.predict(X)).all())
    True
    """
    if output not in (*_CALLS, "topk"):
        raise ValueError(f"output must be one of {', '.join((*_CALLS, 'topk'))}; got {output!r}.")
    row_blocks = collection_blocks(X, "X")
    shared_model = delayed(model, pure=False)
    if output == "topk":
        k = min(k, len(model.classes_))
        topk_pairs = [
            delayed(_predict_block_topk, pure=False, nout=2)(shared_model, block, k)
            for block in row_blocks.blocks
        ]
        examples = (np.empty((0, k), dtype=np.intp), np.empty((0, k)))
        return tuple(
            _as_dask_array([topk_pair[i] for topk_pair in topk_pairs], row_blocks.sizes, example)
            for i, example in enumerate(examples)
        )
    example = _predict_example(model, output)
    if hasattr(X, "map_partitions") and hasattr(X, "columns"):
        return _as_dask_frame(model, X, output, example)
    block_predictions = [
        delayed(_predict_block, pure=False)(shared_model, block, output) for block in row_blocks.blocks
    ]
    return _as_dask_array(block_predictions, row_blocks.sizes, example)


def _predict_example(model: Any, output: str) -> Any:
    """Predict one made-up row: its shape, dtype and sparsity are those of all rows."""
    feature_names = getattr(model, "feature_names_in_", None)
    example_row: Any = np.zeros((1, model.n_features_in_))
    if feature_names is not None:
        import pandas as pd

        example_row = pd.DataFrame(example_row, columns=feature_names)
    return getattr(model, _CALLS[output])(example_row)


def _as_dask_array(block_predictions: list[Any], sizes: list[float], example: Any) -> Any:
    meta = sparse.csr_array((0, example.shape[1]), dtype=example.dtype) if sparse.issparse(example) else None
    if meta is None:
        meta = np.empty((0, *example.shape[1:]), dtype=example.dtype)
    blocks = [
        da.from_delayed(
            block_prediction, shape=(size if np.isnan(size) else int(size), *example.shape[1:]), meta=meta
        )
        for block_prediction, size in zip(block_predictions, sizes, strict=True)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _as_dask_frame(model: Any, X: Any, output: str, example: Any) -> Any:
    import pandas as pd

    dense_example = example.toarray() if sparse.issparse(example) else example
    if dense_example.ndim == 1:
        meta: Any = pd.Series(dense_example[:0], name="y")
    else:
        column_names = model.get_feature_names_out() if output == "transform" else model.label_names_
        meta = pd.DataFrame(dense_example[:0], columns=list(column_names))
    return X.map_partitions(_predict_partition, model, output, meta, meta=meta)


def _predict_partition(block: Any, model: Any, output: str, meta: Any) -> Any:
    import pandas as pd

    if not len(block):
        return meta.set_axis(block.index)
    predicted_rows = getattr(model, _CALLS[output])(block)
    predicted_rows = predicted_rows.toarray() if sparse.issparse(predicted_rows) else predicted_rows
    if predicted_rows.ndim == 1:
        return pd.Series(predicted_rows, index=block.index, name=meta.name)
    return pd.DataFrame(predicted_rows, index=block.index, columns=meta.columns)


def _predict_block(model: Any, block: Any, output: str) -> Any:
    return getattr(model, _CALLS[output])(block)


def _predict_block_topk(model: Any, block: Any, k: int) -> tuple[np.ndarray, np.ndarray]:
    return model.predict_topk(block, k=k)
