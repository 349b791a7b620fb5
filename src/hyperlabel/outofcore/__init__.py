"""Data larger than memory on one machine: fit from chunks or files, predict to disk."""

from hyperlabel.outofcore._fit import fit
from hyperlabel.outofcore._predict import predict, read_predictions
from hyperlabel.outofcore._sources import FileChunks, RowChunks

__all__ = ["fit", "predict", "read_predictions", "RowChunks", "FileChunks"]
