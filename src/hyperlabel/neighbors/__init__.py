"""Classifiers that look at a row's neighbours: the nearest rows, or those in the same leaves of trees."""

from hyperlabel.neighbors._forest import LabelForest
from hyperlabel.neighbors._mlknn import MLkNN

__all__ = ["MLkNN", "LabelForest"]
