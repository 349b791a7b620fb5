"""About how many rows a data file holds, without reading it: for the time left."""

import gzip
import zipfile
from pathlib import Path

from hyperlabel._files import npy_header
from hyperlabel.datasets import data_format

HEAD = 2**20  # bytes of text that tell the length of a line


def estimate_rows(path: Path) -> int | None:
    r"""Return about how many rows a file or folder of shards holds, None where it does not tell."""
    try:
        if data_format(path) == "shards":
            return sum(_npz_rows(part) for part in path.glob("*.npz"))
        if path.suffix == ".npz":
            return _npz_rows(path)
        if path.suffix in (".parquet", ".pq"):
            from pyarrow import parquet

            return int(parquet.ParquetFile(path).metadata.num_rows)
        return _text_rows(path)
    except (OSError, EOFError, ValueError, KeyError, ImportError, zipfile.BadZipFile):
        return None  # the reader will say what is wrong


def _npz_rows(path: Path) -> int:
    with zipfile.ZipFile(path) as archive:
        whole = "Y.npy" in archive.namelist()
        with archive.open("Y.npy" if whole else "Y_indptr.npy") as stream:
            rows = npy_header(stream)[0][0]
    return rows if whole else rows - 1


def _text_rows(path: Path) -> int:
    size = path.stat().st_size
    with open(path, "rb") as raw:
        if path.suffix == ".gz":
            with gzip.GzipFile(fileobj=raw) as packed:
                head = packed.read(HEAD)
        else:
            head = raw.read(HEAD)
        read = raw.tell()  # of a packed file: the packed bytes behind the head
    if len(head) < HEAD:
        return head.count(b"\n") + (not head.endswith(b"\n") and bool(head))
    return round(head.count(b"\n") * size / read)
