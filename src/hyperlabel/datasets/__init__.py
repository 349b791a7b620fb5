"""Data in: readers that return `Dataset`, embedded real data, a generator, statistics.

Names are loaded on first use: a model that answers one text reads no files but its own.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hyperlabel.datasets._arff import read_arff
    from hyperlabel.datasets._dataset import Dataset, concat
    from hyperlabel.datasets._debtags import debtags_vectorizer, load_debtags
    from hyperlabel.datasets._generate import make_multilabel
    from hyperlabel.datasets._lines import DataError
    from hyperlabel.datasets._mulan import read_mulan_xml
    from hyperlabel.datasets._open import data_format, iter_data, read_data
    from hyperlabel.datasets._openml import fetch_openml
    from hyperlabel.datasets._rows import read_svmlight, read_xmc
    from hyperlabel.datasets._save import save_shards
    from hyperlabel.datasets.npz import load_npz
    from hyperlabel.datasets.table import read_table

__all__ = [
    "Dataset",
    "DataError",
    "concat",
    "read_data",
    "iter_data",
    "data_format",
    "read_arff",
    "read_mulan_xml",
    "read_svmlight",
    "read_xmc",
    "read_table",
    "load_npz",
    "save_shards",
    "fetch_openml",
    "load_debtags",
    "debtags_vectorizer",
    "make_multilabel",
]
# the module of each name, in the order of __all__
_HOMES = (
    *("_dataset", "_lines", "_dataset", "_open", "_open", "_open", "_arff", "_mulan", "_rows", "_rows"),
    *("table", "npz", "_save", "_openml", "_debtags", "_debtags", "_generate"),
)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'hyperlabel.datasets' has no attribute {name!r}")
    module_name = _HOMES[__all__.index(name)]
    return getattr(importlib.import_module(f"hyperlabel.datasets.{module_name}"), name)
