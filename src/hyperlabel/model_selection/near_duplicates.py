"""Rows that are near copies of each other, detected for all rows in nearly linear time.

Folds that part copies judge a model by rows it has all but seen. Two rows count as near copies where they
are equal in everything, or where their texts are: with s the Jaccard similarity of their sets of words, they
share at least `MIN_SHARED` words and have s ≥ `SAME_WORDS`, or s ≥ `SAME_ORDER` and `MIN_PAIRS` pairs of
neighbouring words in common, which tell a copy from another text of the same subject. Words that many rows
use tell nothing and are left out first.

Similar sets are detected by MinHash (Broder 1997): the smallest of the words of a set, in a random order of
all words, is the same for two sets with a probability equal to their similarity. Rows are sorted by a few
such words at a time, as in the prefix trees of Bawa, Condie and Ganesan (LSH Forest, 2005); neighbours in
a sorted order are compared exactly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

MIN_SHARED, SAME_WORDS = 5, 0.5
MIN_PAIRS, SAME_ORDER = 3, 0.3  # two copies in which 3 of 10 words were changed have a similarity of 0.33
COMMON_SHARE, COMMON_ROWS = 0.1, 20  # words on more rows than both allow are left out
_TREES, _DEPTH, _PREFIX = 64, 4, 3  # sorted orders, smallest words in the key of each, those that must agree
_PAIRS_AT_ONCE = 20_000
_RARE = 0.01  # share of equal rows below which nobody asks whether chance made them
_ODD = np.uint64(0x9E3779B97F4A7C15)
_WORD = re.compile(r"\w+")
# Scripts without blanks between words: Thai to Khmer, kana, Chinese; pairs of characters stand for words.
UNSPACED = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


def near_duplicate_groups(texts: Sequence[str] | None = None, values: Any = None) -> np.ndarray:
    """Give rows that are near copies of each other the same number.

    Parameters
    ----------
    texts : sequence of str, default=None
        The text of each row.
    values : array or sparse array of shape (n_rows, n_columns), default=None
        What else rows hold: numbers, or the codes of categories. They count in the comparison of whole rows
        only.

    Returns
    -------
    group : ndarray of shape (n_rows,)
        Numbers 0 … m − 1; a row without a near duplicate has one of its own. Copies of copies are in one
        group.

    Examples
    --------
    >>> from hyperlabel.model_selection.near_duplicates import near_duplicate_groups
    >>> near_duplicate_groups(["the tray of the printer jams again", "no refund for the invoice of May",
    ...                        "the tray of our printer jams again"]).tolist()
    [0, 1, 0]
    """
    words = None if texts is None else read_words(texts)
    n_rows = values.shape[0] if words is None else words.n_rows
    pairs = [equal_row_pairs(words, values)]
    if words is not None:
        pairs.append(similar_pairs(words.without_common()))
    first, second = np.concatenate(pairs, axis=1)
    links = sparse.csr_array((np.ones(len(first), dtype=bool), (first, second)), shape=(n_rows, n_rows))
    group: np.ndarray = connected_components(links, directed=False)[1]
    return group


def count_near_duplicates(group: np.ndarray) -> int:
    """Count the rows that share their group with another row."""
    return int((np.bincount(group)[group] > 1).sum()) if len(group) else 0


@dataclass(frozen=True)
class Words:
    """The words of texts as numbers, one text after the other."""

    word: np.ndarray
    row: np.ndarray  # of each word
    n_rows: int
    n_words: int  # different ones

    def without_common(self) -> Words:
        """Leave out the words that too many rows use."""
        n_rows_with = np.bincount(self.sets().indices, minlength=self.n_words)
        rare = (n_rows_with <= max(COMMON_ROWS, COMMON_SHARE * self.n_rows))[self.word]
        return replace(self, word=self.word[rare], row=self.row[rare])

    def sets(self) -> sparse.csr_array:
        """Return rows × words with 1 where a row has a word."""
        return _as_sets(self.row, self.word, (self.n_rows, self.n_words))

    def neighbour_sets(self, rows: np.ndarray) -> sparse.csr_array:
        """Return the sets of pairs of neighbouring words, of some rows only."""
        is_pair = (self.row[1:] == self.row[:-1]) & np.isin(self.row[1:], rows)
        pair = (self.word[:-1] * self.n_words + self.word[1:])[is_pair]
        numbered = np.unique(pair, return_inverse=True)[1]
        return _as_sets(self.row[1:][is_pair], numbered, (self.n_rows, max(len(pair), 1)))


def _as_sets(row: np.ndarray, member: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    sets = sparse.csr_array((np.ones(len(row)), (row, member)), shape=shape)  # which sums what comes twice
    sets.data[:] = 1.0
    return sets


def read_words(texts: Sequence[str]) -> Words:
    """Number the words of texts (lower case), in the order in which they come."""
    number_of_word: dict[str, int] = {}
    word: list[int] = []
    n_words_of_row = np.zeros(len(texts), dtype=np.int64)
    for i, text in enumerate(texts):
        word_numbers = [
            number_of_word.setdefault(text_word, len(number_of_word)) for text_word in _split_words(text)
        ]
        word += word_numbers
        n_words_of_row[i] = len(word_numbers)
    row = np.repeat(np.arange(len(texts)), n_words_of_row)
    return Words(np.array(word, dtype=np.int64), row, len(texts), max(len(number_of_word), 1))


def _split_words(text: str) -> list[str]:
    words: list[str] = _WORD.findall(text.lower())
    if text.isascii() or not UNSPACED.search(text):
        return words
    return [
        token
        for word in words
        for token in (map("".join, pairwise(word)) if len(word) > 1 and UNSPACED.search(word) else [word])
    ]


def similar_pairs(words: Words) -> np.ndarray:
    """Return pairs of rows (2 × m) with nearly the same words: enough to link the rows of each group."""
    sets = words.sets()
    rows = np.flatnonzero(np.diff(sets.indptr) >= MIN_SHARED)
    smallest_words = _min_hashes(sets[rows])
    neighbour_pairs = [
        _sorted_neighbours(smallest_words[:, tree * _DEPTH : (tree + 1) * _DEPTH]) for tree in range(_TREES)
    ]
    pairs = rows[np.unique(np.concatenate(neighbour_pairs, axis=1), axis=1)]
    n_shared, similarity = _compare_sets(sets, pairs)
    is_close = (n_shared >= MIN_SHARED) & (similarity >= SAME_ORDER)
    pairs, similarity = pairs[:, is_close], similarity[is_close]
    n_neighbours, _ = _compare_sets(words.neighbour_sets(np.unique(pairs)), pairs)
    return pairs[:, (similarity >= SAME_WORDS) | (n_neighbours >= MIN_PAIRS)]


def _compare_sets(sets: sparse.csr_array, pairs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many members the sets of each pair of rows share, and their Jaccard similarity."""
    set_size = np.diff(sets.indptr)
    n_shared = np.zeros(pairs.shape[1])
    for start in range(0, len(n_shared), _PAIRS_AT_ONCE):
        first, second = pairs[:, start : start + _PAIRS_AT_ONCE]
        n_shared[start : start + len(first)] = sets[first].multiply(sets[second]).sum(axis=1)
    n_either = set_size[pairs].sum(axis=0) - n_shared
    return n_shared, n_shared / np.maximum(n_either, 1)


def _min_hashes(word_sets: sparse.csr_array) -> np.ndarray:
    """Return the smallest word of each set in several random orders, as 16 bits of its place."""
    order_seed = np.random.default_rng(0)
    hashes = np.zeros((word_sets.shape[0], _TREES * _DEPTH), dtype=np.uint16)
    if not word_sets.nnz:
        return hashes
    for j in range(hashes.shape[1]):
        place_of_word = order_seed.integers(0, 2**32, word_sets.shape[1], dtype=np.uint32)
        smallest = np.minimum.reduceat(place_of_word[word_sets.indices], word_sets.indptr[:-1])
        hashes[:, j] = (smallest * np.uint32(_ODD >> np.uint64(32))) >> np.uint32(16)
    return hashes


def _sorted_neighbours(hashes: np.ndarray) -> np.ndarray:
    """Return the pairs (2 × m, smaller row first) next to each other by these hashes that agree in most."""
    hash_key = np.zeros(len(hashes), dtype=np.uint64)
    for column in hashes.T:
        hash_key = (hash_key << np.uint64(16)) | column.astype(np.uint64)
    key_order = np.argsort(hash_key, kind="stable")
    key_prefix = hash_key[key_order] >> np.uint64(16 * (_DEPTH - _PREFIX))
    agreeing_index = np.flatnonzero(key_prefix[1:] == key_prefix[:-1])
    return np.sort(np.stack([key_order[agreeing_index], key_order[agreeing_index + 1]]), axis=0)


def equal_row_pairs(words: Words | None, values: Any) -> np.ndarray:
    """Return pairs of rows (2 × m) that are equal in everything, unless chance makes as many.

    Rows of few words or few values are equal by themselves. The same words and values dealt to rows at
    random, each within its column, show how many: where that is half of what there is or more, no row is
    taken for a copy.
    """
    row_hash = _hash_rows(words, values)
    pairs = _equal_neighbours(row_hash)
    if pairs.shape[1] < _RARE * len(row_hash):
        return pairs
    by_chance = _equal_neighbours(_hash_rows(words, values, np.random.default_rng(0)))
    return pairs[:, :0] if 2 * by_chance.shape[1] >= pairs.shape[1] else pairs


def _equal_neighbours(row_hash: np.ndarray) -> np.ndarray:
    hash_order = np.argsort(row_hash, kind="stable")
    equal_index = np.flatnonzero(
        (np.diff(row_hash[hash_order]) == 0) & (row_hash[hash_order][1:] != 0)
    )  # 0: an empty row
    return np.stack([hash_order[equal_index], hash_order[equal_index + 1]])


def _hash_rows(words: Words | None, values: Any, dealt: np.random.Generator | None = None) -> np.ndarray:
    """Return 64 bits of each row; `dealt` shuffles words over rows, and values within their columns."""
    n_rows = values.shape[0] if words is None else words.n_rows
    row_hash = np.zeros(n_rows, dtype=np.uint64)
    if words is not None:
        row_hash += _sum_by_row(_mix(words.word.astype(np.uint64) + _ODD), words.row, n_rows, dealt)
    if values is None or not values.shape[1]:
        return row_hash
    if not sparse.issparse(values):
        return row_hash + _hash_dense_rows(np.asarray(values, dtype=np.float64), dealt)
    entries = sparse.csr_array(values).tocoo()
    column, row = entries.coords[1].astype(np.uint64), entries.coords[0]
    return row_hash + _sum_by_row(_mix(_bits(entries.data) + _mix(column + _ODD)), row, n_rows, dealt)


def _sum_by_row(
    entry: np.ndarray, row: np.ndarray, n_rows: int, dealt: np.random.Generator | None
) -> np.ndarray:
    """Return the sum of the entries of each row (rows in order), modulo 2⁶⁴."""
    entry = entry if dealt is None else dealt.permutation(entry)
    running_total = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(entry, dtype=np.uint64)])
    row_ends = np.searchsorted(row, np.arange(n_rows + 1))
    return running_total[row_ends[1:]] - running_total[row_ends[:-1]]


def _hash_dense_rows(block: np.ndarray, dealt: np.random.Generator | None) -> np.ndarray:
    row_hash = np.zeros(len(block), dtype=np.uint64)
    salts = _mix(np.arange(1, block.shape[1] + 1, dtype=np.uint64) * _ODD)
    for column, salt in zip(block.T, salts, strict=True):
        entry = _mix(_bits(column) + salt)
        row_hash += entry if dealt is None else dealt.permutation(entry)
    return row_hash


def _bits(numbers: np.ndarray) -> np.ndarray:
    """Return numbers as 64 bits, one pattern for 0 and −0 and one for every NaN."""
    plain = np.where(np.isnan(numbers), np.nan, numbers.astype(np.float64) + 0.0)
    return np.ascontiguousarray(plain).view(np.uint64)


def _mix(bits: Any) -> Any:
    """Return 64 bits, each of which depends on all (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
