"""The heart: sums over rows, models on them, fits in blocks of rows, and the one fold engine."""

from hyperlabel.moments._moments import Moments

__all__ = ["Moments"]
