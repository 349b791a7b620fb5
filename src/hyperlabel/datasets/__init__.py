"""Data in: readers that return `Dataset`, embedded real data, a generator, statistics."""

from hyperlabel.datasets._arff import iter_arff, read_arff
from hyperlabel.datasets._dataset import Dataset, stack
from hyperlabel.datasets._debtags import debtags_vectorizer, load_debtags
from hyperlabel.datasets._generate import make_multilabel
from hyperlabel.datasets._lines import DataError
from hyperlabel.datasets._mulan import read_mulan_xml
from hyperlabel.datasets._npz import iter_npz, load_npz
from hyperlabel.datasets._rows import iter_svmlight, iter_xmc, read_svmlight, read_xmc
from hyperlabel.datasets._save import save_shards

__all__ = [
    "Dataset",
    "DataError",
    "stack",
    "read_arff",
    "iter_arff",
    "read_mulan_xml",
    "read_svmlight",
    "iter_svmlight",
    "read_xmc",
    "iter_xmc",
    "load_npz",
    "iter_npz",
    "save_shards",
    "load_debtags",
    "debtags_vectorizer",
    "make_multilabel",
]
