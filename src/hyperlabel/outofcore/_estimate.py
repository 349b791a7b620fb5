"""About how many rows a data file holds, without reading it: for the remaining time."""

import gzip
import zipfile
from pathlib import Path

from hyperlabel._files import npy_header
from hyperlabel.datasets import data_format

HEAD = 2**20  # bytes of text from which the mean length of a line is taken


def estimate_rows(path: Path) -> int | None:
    r"""Return about how many rows a file or folder of shards holds; None where that is unknown."""
    try:
        if data_format(path) == "shards":
            return sum(_count_npz_rows(shard_path) for shard_path in path.glob("*.npz"))
        if path.suffix == ".npz":
            return _count_npz_rows(path)
        if path.suffix in (".parquet", ".pq"):
            from pyarrow import parquet

            return int(parquet.ParquetFile(path).metadata.num_rows)
        return _estimate_text_rows(path)
    except (OSError, EOFError, ValueError, KeyError, ImportError, zipfile.BadZipFile):
        return None  # the reader will say what is wrong


def _count_npz_rows(path: Path) -> int:
    with zipfile.ZipFile(path) as archive:
        has_dense_labels = "Y.npy" in archive.namelist()
        with archive.open("Y.npy" if has_dense_labels else "Y_indptr.npy") as stream:
            n_entries = npy_header(stream)[0][0]
    return n_entries if has_dense_labels else n_entries - 1


def _estimate_text_rows(path: Path) -> int:
    file_size = path.stat().st_size
    with open(path, "rb") as raw_file:
        if path.suffix == ".gz":
            with gzip.GzipFile(fileobj=raw_file) as gzip_file:
                first_bytes = gzip_file.read(HEAD)
        else:
            first_bytes = raw_file.read(HEAD)
        n_bytes_read = raw_file.tell()  # of a gzip file: the compressed bytes of the head
    if len(first_bytes) < HEAD:
        return first_bytes.count(b"\n") + (not first_bytes.endswith(b"\n") and bool(first_bytes))
    return round(first_bytes.count(b"\n") * file_size / n_bytes_read)
