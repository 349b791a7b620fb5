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
    from hyperlabel.datasets._open import iter_data, read_data
    from hyperlabel.datasets._openml import fetch_openml
    from hyperlabel.datasets._rows import read_svmlight, read_xmc
    from hyperlabel.datasets._save import save_shards
    from hyperlabel.datasets.formats import data_format
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
_MODULE_OF = {
    "Dataset": "_dataset",
    "DataError": "_lines",
    "concat": "_dataset",
    "read_data": "_open",
    "iter_data": "_open",
    "data_format": "formats",
    "read_arff": "_arff",
    "read_mulan_xml": "_mulan",
    "read_svmlight": "_rows",
    "read_xmc": "_rows",
    "read_table": "table",
    "load_npz": "npz",
    "save_shards": "_save",
    "fetch_openml": "_openml",
    "load_debtags": "_debtags",
    "debtags_vectorizer": "_debtags",
    "make_multilabel": "_generate",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'hyperlabel.datasets' has no attribute {name!r}")
    return getattr(importlib.import_module(f"hyperlabel.datasets.{_MODULE_OF[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
