"""Data in: readers that return `Dataset`, embedded real data, a generator, statistics."""

from hyperlabel.datasets._arff import iter_arff, read_arff
from hyperlabel.datasets._dataset import Dataset, stack
from hyperlabel.datasets._debtags import debtags_vectorizer, load_debtags
from hyperlabel.datasets._generate import make_multilabel
from hyperlabel.datasets._lines import DataError
from hyperlabel.datasets._mulan import read_mulan_xml
from hyperlabel.datasets._npz import load_npz

__all__ = [
    "Dataset",
    "DataError",
    "stack",
    "read_arff",
    "iter_arff",
    "read_mulan_xml",
    "load_npz",
    "load_debtags",
    "debtags_vectorizer",
    "make_multilabel",
]
