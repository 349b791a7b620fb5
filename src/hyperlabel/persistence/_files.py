"""Save and load: the doors of the package."""

import json
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.utils.validation import check_is_fitted

import hyperlabel
from hyperlabel._files import replacing
from hyperlabel.moments import Moments
from hyperlabel.persistence._container import FORMAT, FORMAT_VERSION, ModelFileError, Reader, Writer
from hyperlabel.persistence._nodes import NodeDecoder, NodeEncoder
from hyperlabel.persistence._probe import answers_agree, check_probe, probe_answers, probe_rows

# What building objects from a description that makes no sense can raise.
_NONSENSE = (
    KeyError,
    TypeError,
    ValueError,
    IndexError,
    AttributeError,
    OverflowError,
    RecursionError,
    MemoryError,
)


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    X: Any = None,
    metadata: dict[str, Any] | None = None,
    slim: bool = False,
) -> None:
    """Write a fitted model, or moments, to a file: no pickle, nothing that could run, all or nothing.

    Parameters
    ----------
    model : fitted estimator or Moments
        Any hyperlabel estimator, or a Pipeline of them with listed scikit-learn parts
        (docs/model-files.md); or the sums models are fitted from.
    path : str or path-like
        The file; an old one is replaced only once the new one is complete.
    X : array-like, DataFrame, sparse matrix or list of texts, default=None
        Rows the model can take: the predictions for the first few are stored and repeated
        at load. None makes rows up where it can (numbers, or words of the vocabulary).
    metadata : dict, default=None
        Anything JSON can hold, given back by `describe`.
    slim : bool, default=False
        Leave out `moments_`, so that the file is smaller and says less of the training rows; the loaded
        model predicts the same, but nothing can be added to it or forgotten.

    Examples
    --------
    >>> import tempfile
    >>> import hyperlabel
    >>> model = hyperlabel.BinaryRelevance().fit([[0.0], [1.0]], [[0, 1], [1, 0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hyperlabel.save(model, f"{folder}/m.hyper", metadata={"trained": "2026-11-15"})
    ...     hyperlabel.persistence.describe(f"{folder}/m.hyper")["metadata"]
    {'trained': '2026-11-15'}
    """
    if not isinstance(model, Moments):
        check_is_fitted(model)
    try:
        json.dumps(metadata, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ModelFileError("metadata must be what JSON can hold: text, numbers, lists, dicts.") from error
    with replacing(path) as file, Writer(file) as writer:
        encoder = NodeEncoder(writer.store, ("moments_",) if slim else ())
        name = type(model).__name__
        encoded = encoder.node(model, name)  # before it is asked: settings that are refused may take for ever
        rows = probe_rows(model, X)
        answers = {} if rows is None else probe_answers(model, rows)
        probe = {"rows": rows, "answers": answers}
        manifest = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "versions": versions(),
            "model_type": name,
            "metadata": metadata,
            "model": encoded,
            "check": {key: encoder.node(probe[key], f"the {key} to check by") for key in probe if answers}
            or None,
        }
        writer.finish(manifest)


def load(path: str | os.PathLike[str], *, check: bool = True) -> Any:
    """Read a model back; only known parts are built, and it must repeat its stored predictions.

    Parameters
    ----------
    path : str or path-like
        A file written by `save`.
    check : bool, default=True
        Repeat the stored predictions.

    Returns
    -------
    model : estimator or Moments

    Raises
    ------
    ModelFileError
        If the file is damaged, truncated, tampered with, from a newer version, holds an
        unknown part, or no longer predicts what it did.

    Examples
    --------
    >>> import tempfile
    >>> import hyperlabel
    >>> model = hyperlabel.BinaryRelevance().fit([[0.0], [1.0]], [[0, 1], [1, 0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hyperlabel.save(model, f"{folder}/m.hyper")
    ...     hyperlabel.load(f"{folder}/m.hyper").predict([[1.0]])
    array([[1, 0]])
    """
    with Reader(Path(path)) as reader:
        manifest = reader.manifest
        written_by = _describe_versions(manifest)
        decoder = NodeDecoder(reader.fetch, written_by)
        try:
            model = decoder.value(manifest["model"])
            stored_answers = decoder.value(manifest["check"]["answers"]) if manifest.get("check") else {}
            rows = decoder.value(manifest["check"]["rows"]) if stored_answers else None
            if rows is not None:
                check_probe(rows)
            if isinstance(model, Moments):
                model.check_shapes()
            elif not hasattr(model, "get_params") or not isinstance(stored_answers, dict):
                raise TypeError("a model is an estimator, its answers are a dict")
            decoder.check_parts()
        except ModelFileError:
            raise
        except _NONSENSE as error:
            raise ModelFileError(
                f"The description in {path} does not describe a model: it was damaged or tampered with."
            ) from error
    current_answers = probe_answers(model, rows) if check and stored_answers else {}
    for method, answer in stored_answers.items() if check else ():
        if method not in current_answers or not answers_agree(answer, current_answers[method]):
            installed = _describe_versions({"versions": versions()})
            raise ModelFileError(
                f"The model in {path} does not repeat its stored {method}: it was written by {written_by}, "
                f"here are {installed}; install those versions, or fit and save the model again."
            )
    return model


def versions() -> dict[str, str]:
    """Versions of what takes part in a prediction."""
    libraries = {"hyperlabel": hyperlabel, "numpy": np, "scipy": scipy, "scikit-learn": sklearn}
    library_versions = {name: library.__version__ for name, library in libraries.items()}
    return {**library_versions, "python": platform.python_version()}


def _describe_versions(manifest: dict[str, Any]) -> str:
    stored = manifest.get("versions")
    by_library = stored if isinstance(stored, dict) else {}
    return ", ".join(f"{name} {by_library.get(name)}" for name in ("hyperlabel", "scikit-learn", "numpy"))
