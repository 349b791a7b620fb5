"""Classifiers that look at a row's neighbours."""

from hyperlabel.neighbors._mlknn import MLkNN

__all__ = ["MLkNN"]
