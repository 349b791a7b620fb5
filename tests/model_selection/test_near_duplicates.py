"""Near copies of rows, against a comparison of every pair."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from hyperlabel.model_selection import near_duplicates
from hyperlabel.model_selection.near_duplicates import count_near_duplicates, near_duplicate_groups


def changed_copies(n_documents, n_copies, changed, seed, n_words=30, vocabulary=3000):
    """Return texts of which each document has several copies, some words of each replaced by others."""
    rng = np.random.default_rng(seed)
    texts, documents = [], []
    for document in range(n_documents):
        words = rng.integers(vocabulary, size=n_words)
        for _ in range(n_copies):
            other = rng.integers(vocabulary, size=n_words)
            texts.append(" ".join(f"w{w}" for w in np.where(rng.random(n_words) < changed, other, words)))
            documents.append(document)
    order = rng.permutation(len(texts))
    return [texts[i] for i in order], np.array(documents)[order]


def pairs_of_all(texts):
    """Compare every pair by plain sets, as the module says; words on many rows do not count."""
    lists = [re.findall(r"\w+", text.lower()) for text in texts]
    n_rows_with = {}
    for words in lists:
        for word in set(words):
            n_rows_with[word] = n_rows_with.get(word, 0) + 1
    most = max(20, 0.1 * len(texts))
    lists = [[word for word in words if n_rows_with[word] <= most] for words in lists]
    found = set()
    for i, j in combinations(range(len(texts)), 2):
        a, b = set(lists[i]), set(lists[j])
        similarity = len(a & b) / max(len(a | b), 1)
        neighbours = set(zip(lists[i], lists[i][1:], strict=False)) & set(
            zip(lists[j], lists[j][1:], strict=False)
        )
        if len(a & b) >= 5 and (similarity >= 0.5 or (similarity >= 0.3 and len(neighbours) >= 3)):
            found.add((i, j))
    return found


def linked(group):
    return {(i, j) for i, j in combinations(range(len(group)), 2) if group[i] == group[j]}


def closure(pairs, n):
    group = list(range(n))
    for i, j in pairs:
        old, new = group[j], group[i]
        group = [new if g == old else g for g in group]
    return linked(group)


@pytest.mark.parametrize(("changed", "recall"), [(0.0, 1.0), (0.1, 0.98), (0.2, 0.95), (0.3, 0.9)])
def test_groups_are_those_of_a_comparison_of_every_pair(changed, recall):
    texts, _ = changed_copies(80, 4, changed, seed=int(10 * changed))
    exact = closure(pairs_of_all(texts), len(texts))
    found = linked(near_duplicate_groups(texts))
    assert found <= exact
    assert len(found) >= recall * len(exact)


@pytest.mark.parametrize("changed", [0.1, 0.2])
def test_copies_of_a_document_are_found_and_no_others(changed):
    texts, documents = changed_copies(150, 3, changed, seed=7)
    found, true = linked(near_duplicate_groups(texts)), linked(documents)
    assert found <= true
    assert len(found) >= 0.95 * len(true)


def test_texts_of_one_subject_are_no_copies():
    rng = np.random.default_rng(0)
    subjects = [rng.choice(3000, 60, replace=False) for _ in range(20)]
    texts = [" ".join(f"w{w}" for w in rng.choice(subjects[i % 20], 25)) for i in range(600)]
    assert count_near_duplicates(near_duplicate_groups(texts)) < 0.05 * len(texts)


def test_sentences_without_blanks_have_copies_too():
    texts = [
        "画像を変換して大きさを変えるための道具です",
        "音楽を再生して録音するための小さな番組",
        "無関係な文章",
    ]
    copies = ["画像を変換して大きさを変えるための道具です。", "音楽を再生して録音するための小さな道具"]
    assert near_duplicate_groups([*texts, *copies]).tolist() == [0, 1, 2, 0, 1]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_equal_rows_of_numbers_are_copies(form):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 3))
    group = near_duplicate_groups(values=form(np.vstack([rows, rows[:15]])))
    assert group.tolist() == [*range(40), *range(15)]
    assert count_near_duplicates(group) == 30


def test_a_missing_number_and_a_negative_zero_equal_their_copies():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20, 3))
    rows[3, 1], rows[4, 2] = np.nan, 0.0
    copies = rows[3:5].copy()
    copies[1, 2] = -0.0
    assert near_duplicate_groups(values=np.vstack([rows, copies]))[20:].tolist() == [3, 4]


@pytest.mark.parametrize("kind", ["categories", "short texts"])
def test_rows_that_chance_makes_equal_are_no_copies(kind):
    rng = np.random.default_rng(0)
    drawn = rng.integers(4, size=(300, 3))
    texts = [" ".join(f"w{w}" for w in row) for row in drawn]
    group = near_duplicate_groups(values=drawn) if kind == "categories" else near_duplicate_groups(texts)
    assert count_near_duplicates(group) == 0


def test_copies_of_short_texts_are_found_where_chance_would_make_none():
    texts = ["printer jams", "invoice unpaid", "password lost", "screen dark"] * 6
    assert near_duplicate_groups(texts).tolist() == [0, 1, 2, 3] * 6


def test_a_short_text_beside_other_numbers_is_no_copy():
    rng = np.random.default_rng(0)
    texts = ["printer jams", "invoice unpaid", "password lost", "screen dark"] * 6
    assert count_near_duplicates(near_duplicate_groups(texts, rng.normal(size=(24, 2)))) == 0


@pytest.mark.parametrize("texts", [[], ["", "", ""], ["one"], ["", "a b c d e f", ""]])
def test_rows_without_words_are_copies_of_nothing(texts):
    assert near_duplicate_groups(texts).tolist() == list(range(len(texts)))


def test_each_row_is_compared_with_few_others(monkeypatch):
    texts, _ = changed_copies(400, 3, 0.2, seed=1)
    compared = []
    compare = near_duplicates._compare_sets
    monkeypatch.setattr(
        near_duplicates,
        "_compare_sets",
        lambda s, pairs: compared.append(pairs.shape[1]) or compare(s, pairs),
    )
    near_duplicate_groups(texts)
    assert 400 < compared[0] < 10 * len(texts)
