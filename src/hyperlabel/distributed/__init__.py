"""The same fits and predictions over Dask collections, on one machine or many."""

try:
    import dask  # noqa: F401
except ImportError as missing:
    raise ImportError("hyperlabel.distributed needs Dask: pip install 'hyperlabel[dask]'.") from missing

from hyperlabel.distributed._fit import fit
from hyperlabel.distributed._predict import predict

__all__ = ["fit", "predict"]
