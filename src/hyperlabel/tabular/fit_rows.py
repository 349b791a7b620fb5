"""Which rows of a file a model was fitted on: the model file keeps a short hash of each.

Scores of such rows are fitted ones, so they look better than those of new rows.
"""

import base64
import binascii
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse
from scipy.stats import binom

from hyperlabel.tabular.wording import plural

_HASH_BYTES = 6  # 100 000 rows against 100 000 others: one false match in 28 000 comparisons
_OVERLAP_LEVEL = 0.01  # an overlap less probable than this among independent rows is not random


@dataclass(frozen=True)
class FitOverlap:
    """Rows of a file that the model was fitted on.

    `in_fit` marks them; none is marked where rows recur anyway (few categories, say) and no more of them
    equal rows of the fit than independent rows would. `has_whole_fit`: no row of the fit
    is missing from the file.
    """

    in_fit: np.ndarray
    has_whole_fit: bool

    @property
    def n_in_fit(self) -> int:
        """Number of rows of the file that the model was fitted on."""
        return int(self.in_fit.sum())


@dataclass(frozen=True)
class RowsToJudge:
    """Labelled rows, how to score them ("out-of-fold" or "held-out"), and a sentence on rows of the fit."""

    table: Any
    scored: str
    n_in_fit: int
    sentence: str


def hash_rows(columns: Any, rows: Any) -> list[bytes]:
    """Hash what the model reads of each row: its texts, and the columns and values of its non-zeros."""
    if columns.text_only:
        return [_hash_content(_encode_texts([text])) for text in rows]
    n_text_columns = len(columns.text_columns)
    encoded_texts = (
        [_encode_texts(row[:n_text_columns]) for row in rows] if n_text_columns else [b""] * rows.shape[0]
    )
    numeric_columns = rows[:, n_text_columns:].astype(np.float64) if n_text_columns else rows
    sparse_numbers = sparse.csr_array(numeric_columns, dtype=np.float64, copy=True)
    sparse_numbers.sum_duplicates()
    sparse_numbers.eliminate_zeros()
    sparse_numbers.data[np.isnan(sparse_numbers.data)] = np.nan  # one spelling for every NaN
    column_indices = sparse_numbers.indices.astype("<i8")
    row_ends = sparse_numbers.indptr
    return [
        _hash_content(
            encoded_text + column_indices[a:b].tobytes() + sparse_numbers.data[a:b].astype("<f8").tobytes()
        )
        for encoded_text, a, b in zip(encoded_texts, row_ends[:-1], row_ends[1:], strict=True)
    ]


def _encode_texts(texts: Iterable[Any]) -> bytes:
    return "\x1f".join(map(str, texts)).encode("utf-8", errors="surrogatepass") + b"\x00"


def _hash_content(content: bytes) -> bytes:
    return blake2b(content, digest_size=_HASH_BYTES).digest()


def pack_hashes(hashes: Iterable[bytes]) -> str:
    """Write hashes as text, sorted, so that nothing tells the order of the rows."""
    return base64.b64encode(b"".join(sorted(hashes))).decode("ascii")


def unpack_hashes(text: str) -> Counter[bytes]:
    """Read hashes, and how often each occurs."""
    try:
        packed_bytes = base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError) as error:
        raise ValueError("The hashes of rows in the model file are damaged: fit the model again.") from error
    return Counter(packed_bytes[i : i + _HASH_BYTES] for i in range(0, len(packed_bytes), _HASH_BYTES))


def change_hashes(columns: Any, entering: Any = None, leaving: Any = None) -> str:
    """Return the hashes of the fit once rows have entered and left; '' where the model file has none."""
    if not columns.row_hashes:
        return ""
    fit_hashes = unpack_hashes(columns.row_hashes)
    fit_hashes.subtract([] if leaving is None else hash_rows(columns, leaving))
    fit_hashes = +fit_hashes
    fit_hashes.update([] if entering is None else hash_rows(columns, entering))
    return pack_hashes(fit_hashes.elements())


def find_fit_rows(columns: Any, rows: Any) -> FitOverlap:
    """Find the rows of a file that the model was fitted on."""
    fit_hashes, row_hashes = unpack_hashes(columns.row_hashes), hash_rows(columns, rows)
    in_fit = np.array([row_hash in fit_hashes for row_hash in row_hashes], dtype=bool)
    has_whole_fit = bool(fit_hashes) and fit_hashes <= Counter(row_hashes)
    if not has_whole_fit and _is_random_overlap(fit_hashes, int(in_fit.sum()), len(row_hashes)):
        in_fit[:] = False
    return FitOverlap(in_fit, has_whole_fit)


def read_with_groups_of_fit(data: str, columns: Any, vectors: str | None = None) -> Any:
    """Read labelled rows, in the groups that the fit had (--group) where the file names them."""
    from hyperlabel.tabular.column_types import column_names
    from hyperlabel.tabular.model_file import read_with_cells
    from hyperlabel.tabular.table_io import is_table

    group_column = columns.group if columns.group and data != "-" and is_table(data) else None
    has_groups = group_column is not None and group_column in column_names(data, [group_column])
    id_column = group_column if has_groups else None
    return read_with_cells(data, columns, labelled=True, ids=id_column, vectors=vectors)[0]


def rows_to_judge(file: Any, dataset: Any, data: str) -> RowsToJudge:
    """Choose the rows by which a model can be judged without flattery.

    Rows of the fit are judged by models of the file's other rows where it holds the whole fit, or nothing
    else; otherwise they are left out.
    """
    columns = file.columns
    if not columns.row_hashes:
        sentence = (
            f"The model file does not say which rows it was fitted on; it looks better on those in {data}."
        )
        return RowsToJudge(dataset, "held-out", 0, sentence)
    overlap = find_fit_rows(columns, columns.inputs(dataset))
    n_in_fit = overlap.n_in_fit
    if not n_in_fit:
        return RowsToJudge(dataset, "held-out", 0, "")
    overlap_sentence = f"{n_in_fit} of {plural(len(dataset), 'row')} of {data} were in the fit"
    if n_in_fit < len(dataset) and not overlap.has_whole_fit:
        new_rows = dataset[np.flatnonzero(~overlap.in_fit)]
        return RowsToJudge(new_rows, "held-out", n_in_fit, f"{overlap_sentence}: they are left out.")
    if len(dataset) < 2:
        raise ValueError(f"{data} has one row, which was in the fit: judge the model by other rows.")
    judges = "each row is judged by models of the others"
    if not overlap.has_whole_fit:
        judges += " in this file, which know less than the model: its whole training file gives its own score"
    return RowsToJudge(dataset, "out-of-fold", n_in_fit, f"{overlap_sentence}: {judges}.")


def warn_of_flattery(n_in_fit: int, data: str) -> str:
    """Say that fitted scores are shown."""
    n_rows = plural(n_in_fit, "row")
    return f"{n_rows} of {data} were in the fit: on them the model looks better than on new rows."


def _is_random_overlap(fit_hashes: Counter[bytes], n_matches: int, n_rows: int) -> bool:
    """Say whether independent rows would meet rows of the fit as often.

    A new row meets one with probability 1 − (rows of the fit that occur once) / (rows), by Good and Turing.
    """
    n_fit = fit_hashes.total()
    recurrence_probability = (n_fit - sum(count == 1 for count in fit_hashes.values()) + 1) / (n_fit + 1)
    return float(binom.sf(n_matches - 1, n_rows, recurrence_probability)) > _OVERLAP_LEVEL
