"""Methods that look at other rows: the nearest ones, those in the same leaves, or a few landmarks."""

from hyperlabel.neighbors._forest import LabelForest
from hyperlabel.neighbors._landmarks import Landmarks
from hyperlabel.neighbors._mlknn import MLkNN

__all__ = ["MLkNN", "LabelForest", "Landmarks"]
