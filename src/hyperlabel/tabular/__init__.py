"""Tables of files as models take them: column types, reading, pipelines, model files, drift, review."""

import importlib
from typing import Any

_HOMES = {
    "guess_columns": "column_types",
    "ModelColumns": "model_file",
    "ModelFile": "model_file",
    "open_model": "model_file",
    "save_model": "model_file",
    "read_training": "training_table",
    "two_sample_test": "two_sample_test",
    "write_queue": "review_queue",
}

__all__: list[str] = []  # private until each of them has an example (BY_HAND)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hyperlabel.tabular' has no attribute {name!r}")
    return getattr(importlib.import_module(f"hyperlabel.tabular.{_HOMES[name]}"), name)
