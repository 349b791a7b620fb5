"""Methods that look at other rows: the nearest ones, or a few landmarks."""

from hyperlabel.neighbors._mlknn import MLkNN
from hyperlabel.neighbors._nystroem_rbf import NystroemRBF

__all__ = ["MLkNN", "NystroemRBF"]
