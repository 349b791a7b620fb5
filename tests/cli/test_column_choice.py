"""What `fit` takes each column for: judged all over the file, identifiers left out, groups proposed."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest
from tests.commands import done, run

from hyperlabel.datasets.table_sources import TableRows
from hyperlabel.tabular.column_sample import sample_rows
from hyperlabel.tabular.identifiers import has_identifier_name, is_identifier
from hyperlabel.tabular.model_file import read_columns

SENTENCES = {
    "ja": "画像 変換 音楽 再生 文書 編集 通信 暗号 地図 計算 写真 整理 動画 字幕 辞書 検索",
    "de": "Bilder umwandeln Musik abspielen Texte bearbeiten Netz sichern Karten rechnen Fotos ordnen",
    "en": "pictures convert music play texts edit network secure maps compute photos sort films",
}
WORDS = {language: words.split() for language, words in SENTENCES.items()}
TAGS = ["use::converting", "use::editing", "use::playing", "works-with::audio", "works-with::image"]


def write(path, header, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def translated(n_documents=320, seed=0):
    """Rows id, lang, text, tags: every document in three languages, all Japanese sentences first."""
    rng = np.random.default_rng(seed)
    tags = ["|".join(sorted(rng.choice(TAGS, rng.integers(1, 4), replace=False))) for _ in range(n_documents)]
    for language, words in WORDS.items():
        for document in range(n_documents):
            blank, end = ("を", "するための道具です。") if language == "ja" else (" ", " with this tool")
            text = blank.join(rng.choice(words, 6)) + end
            yield [f"pkg{document}", language, text, tags[document]]


@pytest.fixture(scope="module")
def grouped(tmp_path_factory):
    return write(tmp_path_factory.mktemp("c") / "grouped.csv", ["id", "lang", "text", "tags"], translated())


def chosen(path, *options):
    """Fit and return what the model says of its columns, and what was said."""
    model = path.with_suffix(".hyper")
    said = done("fit", path, *options, "-o", model).stderr
    return read_columns(str(model)), said


def test_p1_a_file_that_starts_in_japanese_keeps_its_text_and_learns_no_id(grouped):
    columns, said = chosen(grouped, "--labels", "tags")
    assert columns.text == ["text"]
    assert columns.categories == ["lang"]
    assert "left out 'id'" in said
    assert "Perhaps --group id: 960 rows share their 'id' with another, and 100% of such rows" in said
    assert "The stated score is too good without it" in said


def test_p1_nothing_is_proposed_where_groups_are_named(grouped):
    for group in ("id", ""):
        _, said = chosen(grouped, "--labels", "tags", "--group", group)
        assert "--group" not in said


def test_p1_json_lines_whose_later_rows_differ(tmp_path):
    """Chinese titles first, a numeric document number without a telling name, labels as lists."""
    rng = np.random.default_rng(1)
    lines = []
    for part in range(3):
        for document in range(150):
            tags = sorted(np.random.default_rng(document).choice(TAGS, 2, replace=False))
            title = "".join(rng.choice(list("图像转换音乐播放文件编辑网络安全地图计算"), 14))
            title = title if part == 0 else " ".join(rng.choice(WORDS["en"], 8))
            lines.append(json.dumps({"document": 7000 + 13 * document, "title": title, "tags": tags}))
    path = tmp_path / "titles.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    columns, said = chosen(path, "--labels", "tags")
    assert columns.text == ["title"]
    assert "Perhaps --group document" in said


def test_p1_a_sorted_column_of_mostly_different_words_is_no_category(tmp_path):
    """The first 600 rows share few sources, the others have one each."""
    rng = np.random.default_rng(0)
    rows = []
    for i in range(2000):
        source = f"src{i // 20}" if i < 600 else f"src{i}"
        rows.append([source, " ".join(rng.choice(WORDS["en"], 8)), rng.choice(TAGS)])
    columns, said = chosen(write(tmp_path / "s.csv", ["source", "body", "tags"], rows), "--labels", "tags")
    assert columns.categories == []
    assert "left out text or id columns 'source'" in said


def test_p1_many_values_with_one_label_set_each_are_an_identifier(tmp_path):
    rng = np.random.default_rng(0)
    tags_of_customer = rng.choice(TAGS, 60)
    rows = []
    for i in range(240):
        customer = i % 60
        town, size = f"town{rng.integers(30)}", rng.normal()
        rows.append([f"c{customer:02d}x", town, "ab"[i % 2], f"{size:.3f}", tags_of_customer[customer]])
    header = ["customer", "town", "side", "size", "tags"]
    columns, said = chosen(write(tmp_path / "c.csv", header, rows), "--labels", "tags")
    assert columns.categories == ["town", "side"]
    assert "left out 'customer'" in said
    assert "Perhaps --group customer" in said


@pytest.mark.parametrize("order", ["counted", "shuffled", "with gaps"])
def test_p7_a_column_that_counts_rows_is_left_out_whatever_its_name(tmp_path, order):
    rng = np.random.default_rng(0)
    numbers = {
        "counted": np.arange(1, 101),
        "shuffled": rng.permutation(100),
        "with gaps": np.flatnonzero(rng.random(200) < 0.5)[:80] + 1,
    }[order]
    rows = [[number, f"{rng.normal():.3f}", int(rng.random() < 0.5)] for number in numbers]
    columns, said = chosen(write(tmp_path / "n.csv", ["Position", "x", "y"], rows), "--labels", "y")
    assert columns.numbers == ["x"]
    assert "left out 'Position'" in said


def test_p7_measures_are_no_counters(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        [i // 2, 1_600_000_000 + 86_400 * i, rng.integers(40), f"{i / 7:.2f}", int(rng.random() < 0.5)]
        for i in range(100)
    ]
    header = ["pair", "seconds", "minutes", "length", "y"]
    columns, _ = chosen(write(tmp_path / "m.csv", header, rows), "--labels", "y")
    assert columns.numbers == ["pair", "seconds", "minutes", "length"]


@pytest.mark.parametrize(
    "name", ["id", "ID", "Nr.", "No.", "ticket_id", "Package ID", "packageId", "key", "#"]
)
def test_names_of_identifiers(name, tmp_path):
    rng = np.random.default_rng(0)
    numbers = rng.choice(10**6, 50, replace=False)
    path = write(tmp_path / "n.csv", [name, "x"], [[number, 0.5] for number in numbers])
    sample = sample_rows(TableRows(path))
    assert is_identifier(name, sample.columns[name], sample, None)


@pytest.mark.parametrize("name", ["paid", "Madrid", "android", "monkey", "casino", "Hybrid", "valid"])
def test_words_that_end_like_identifiers_are_none(name):
    assert not has_identifier_name(name)


def test_a_named_column_of_few_values_on_many_rows_is_still_used(tmp_path):
    rng = np.random.default_rng(0)
    rows = [
        [rng.choice(["north", "south", "east"]), f"{rng.normal():.2f}", rng.choice(TAGS)] for _ in range(200)
    ]
    columns, _ = chosen(write(tmp_path / "s.csv", ["store_id", "x", "tags"], rows), "--labels", "tags")
    assert columns.categories == ["store_id"]


def test_numbers_after_a_first_word_are_read_and_words_after_a_first_number_too(tmp_path):
    rng = np.random.default_rng(0)
    rows = [[f"{rng.normal():.2f}", rng.choice(["7zip", "gimp", "vlc"]), rng.choice(TAGS)] for _ in range(99)]
    path = write(tmp_path / "w.csv", ["x", "game", "tags"], [["1", "2048", TAGS[0]], *rows])
    columns, _ = chosen(path, "--labels", "tags")
    assert (columns.numbers, columns.categories) == (["x"], ["game"])


def test_a_number_that_is_none_is_still_named(tmp_path):
    rows = [[f"{i * 0.37:.2f}", "a" if i % 2 else "b"] for i in range(60)]
    path = write(tmp_path / "b.csv", ["x", "tags"], [*rows, ["12 kB", "a"]])
    refused = run("fit", path, "--labels", "tags", "-o", tmp_path / "m.hyper")
    assert refused.exit_code == 2
    assert "the value '12 kB' of 'x' is not a number" in refused.stderr


def test_the_sample_is_spread_over_the_file_and_always_the_same(tmp_path):
    path = write(tmp_path / "l.csv", ["n", "late"], [[i, "x" if i == 49_000 else ""] for i in range(50_000)])
    sample = sample_rows(TableRows(path))
    assert sample.n_rows == 50_000
    assert 3000 < len(sample.row_index) <= 4000
    assert np.abs(np.histogram(sample.row_index, 10, (0, 50_000))[0] - 400).max() < 100
    for period in (2, 3, 4, 7):
        shares = np.bincount(sample.row_index % period) / len(sample.row_index)
        assert np.abs(shares - 1 / period).max() < 0.05
    assert [int(cell) for cell in sample.columns["n"]] == sample.row_index.tolist()
    assert "x" in sample.columns["late"]
    np.testing.assert_array_equal(sample_rows(TableRows(path)).row_index, sample.row_index)


def test_the_sample_of_json_lines_has_columns_that_come_late(tmp_path):
    path = tmp_path / "j.jsonl"
    lines = [json.dumps({"a": i} | ({"b": "word"} if i == 29_999 else {})) for i in range(30_000)]
    path.write_text("\n".join(lines))
    columns = sample_rows(TableRows(path)).columns
    assert columns["b"][-1] == "word"
    assert set(columns["b"][:-1]) == {None}


def messy(n=400):
    """Words that come back, dates, numbers, an e-mail address that comes back, and a counter."""
    rng = np.random.default_rng(0)
    for i in range(n):
        yield [
            i + 1,
            f"P-{rng.integers(10**6)}",
            rng.choice(["libs", "games", "doc"]) if i > 300 else f"early{i % 7}",
            f"team{rng.integers(60)}@example.org",
            "optional" if i < 320 else rng.choice(["extra", "important"]),
            f"2024-{i % 12 + 1:02d}-01",
            rng.integers(4000) if i % 9 else "",
            " ".join(rng.choice(WORDS["en"], 7)),
            ";".join(rng.choice(TAGS, 2, replace=False)),
        ]


HEADER = [
    "Nr.",
    "Package ID",
    "Section",
    "Maintainer e-mail",
    "Priority",
    "Last seen",
    "Size",
    "Body",
    "Tags",
]


def uses_in_report(page):
    html = page.read_text(encoding="utf-8")
    rows = re.findall(r"<tr>(.*?)</tr>", html[html.index('id="columns-1"') :], flags=re.S)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in rows[1:]]
    return {row[0]: (row[1], row[2]) for row in cells if len(row) == 7}


@pytest.mark.parametrize("file", ["messy", "grouped", "marks", "jsonl"])
def test_p9_the_data_report_says_of_each_column_what_fit_does(tmp_path, grouped, file):
    labels = ["--labels", "Tags"]
    if file == "messy":
        path = write(tmp_path / "messy.csv", HEADER, messy())
    elif file == "jsonl":
        path = tmp_path / "messy.jsonl"
        rows = (dict(zip(HEADER, map(str, row), strict=True)) for row in messy())
        path.write_text("\n".join(json.dumps(row | {"emb": [1.5, 2.0]}) for row in rows), encoding="utf-8")
    elif file == "marks":
        rows = [
            [f"{i * 0.3:.1f}", "yn"[i % 2], "x" if i % 2 else "", "x" if i % 3 else ""] for i in range(60)
        ]
        path, labels = (
            write(tmp_path / "x.csv", ["size", "on", "odd", "third"], rows),
            ["--labels", "odd,third"],
        )
    else:
        path, labels = tmp_path / "g.csv", ["--labels", "tags"]
        path.write_bytes(grouped.read_bytes())
    columns, _ = chosen(path, *labels)
    done("data", "report", path, *labels, "-o", tmp_path / "page.html")
    said = uses_in_report(tmp_path / "page.html")
    taken = dict.fromkeys(said, "left out") | dict.fromkeys(columns.text, "text")
    taken |= dict.fromkeys(columns.categories, "categories") | dict.fromkeys(columns.numbers, "numbers")
    taken |= dict.fromkeys(columns.labels, "label")
    taken |= {columns.label_column: "labels"} if columns.label_column else {}
    assert {name: use for name, (use, _) in said.items()} == taken
    listed = json.loads(done("data", "info", path, *labels, "--json").stdout)["columns"]
    assert {one["column"]: one["kind"] for one in listed} == {name: kind for name, (_, kind) in said.items()}
    left = {name: kind for name, (use, kind) in said.items() if use == "left out"}
    assert set(left.values()) <= {"identifier", "words", "list"}


def test_p9_columns_of_a_messy_file_are_what_they_are(tmp_path):
    columns, said = chosen(write(tmp_path / "messy.csv", HEADER, messy()), "--labels", "Tags")
    assert columns.text == ["Body"]
    assert columns.categories == ["Section", "Maintainer e-mail", "Priority", "Last seen"]
    assert columns.numbers == ["Size"]
    assert "left out 'Nr.', 'Package ID'" in said
