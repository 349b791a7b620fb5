"""The heart: models on moments, fits in blocks of rows, and the one fold engine."""

from hyperlabel.solvers.moments import Moments

__all__ = ["Moments"]
