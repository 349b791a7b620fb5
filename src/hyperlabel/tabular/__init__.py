"""Tables of files as models take them: column types, reading, pipelines, model files, drift, review."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hyperlabel.tabular.fitting import fit_table
    from hyperlabel.tabular.model_file import ModelColumns, ModelFile, open_model, save_model
    from hyperlabel.tabular.permutation_test import two_sample_test
    from hyperlabel.tabular.review_queue import write_queue
    from hyperlabel.tabular.training_table import read_training

__all__ = [
    "read_training",
    "fit_table",
    "ModelFile",
    "ModelColumns",
    "open_model",
    "save_model",
    "two_sample_test",
    "write_queue",
]
_HOMES = {
    "read_training": "training_table",
    "fit_table": "fitting",
    "two_sample_test": "permutation_test",
    "write_queue": "review_queue",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'hyperlabel.tabular' has no attribute {name!r}")
    module_name = _HOMES.get(name, "model_file")
    return getattr(importlib.import_module(f"hyperlabel.tabular.{module_name}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
