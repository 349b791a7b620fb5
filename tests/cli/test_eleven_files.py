"""Eleven files as people have them, drawn at random and small: each goes through every command as it is.

What is learned is the same everywhere: words tell the tags. So the numbers are known.
"""

from __future__ import annotations

import csv
import json
import sqlite3

import numpy as np
import pytest
from tests.commands import done

from hyperlabel.tabular import open_model

N_TRAIN, N_NEW = 160, 40
WORDS = {
    "print": ["printer", "toner", "paper", "tray"],
    "net": ["router", "wifi", "cable", "modem"],
    "bill": ["invoice", "refund", "charge", "payment"],
}
JAPANESE = {
    "print": ["印刷機が詰まる", "用紙がない印刷"],
    "net": ["無線に繋がらない", "接続が切れる無線"],
    "bill": ["請求書が二重", "返金と請求書"],
}
HEADERS = {
    "text": ["Description", "本文", "Nachricht", "body text"],
    "tags": ["Tags", "タグ", "Schlagworte", "Topics (all)"],
    "size": ["Installed-Size", "大きさ", "Größe", "size, kB"],
    "kind": ["Section", "種類", "Abteilung", "kind"],
}


class Rows:
    """Rows whose words tell the tags, under headers drawn at random."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.names = {key: str(self.rng.choice(names)) for key, names in HEADERS.items()}
        self.tags = [[tag for tag in WORDS if self.rng.random() < 0.4] for _ in range(N_TRAIN + N_NEW)]
        self.texts = [self._text(tags, WORDS) for tags in self.tags]
        self.sizes = self.rng.integers(1000, 9_999_999, N_TRAIN + N_NEW).tolist()
        self.kinds = self.rng.choice(["libs", "games", "NA", "?"], N_TRAIN + N_NEW).tolist()

    def _text(self, tags, words):
        said = [str(self.rng.choice(words[tag])) for tag in tags for _ in range(2)]
        noise = [f"w{self.rng.integers(40)}" for _ in range(3)]
        return " ".join(["please look at", *said, *noise])

    def parts(self):
        return ("train", range(N_TRAIN)), ("new", range(N_TRAIN, N_TRAIN + N_NEW))


def write_csv(path, columns, delimiter=",", bom=False):
    with open(path, "w", newline="", encoding="utf-8-sig" if bom else "utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def pick(values, index):
    return [values[i] for i in index]


def quoted(name):
    return f'"{name}"' if "," in name else name


def messy(rows, folder):
    """Units among numbers, thousands marks, four words for nothing, a row counter."""
    delimiter, mark = str(rows.rng.choice([",", ";", "\t"])), str(rows.rng.choice([";", "|", ", "]))
    sizes = [f"{size:,}" if i % 9 else f"{size} kB" for i, size in enumerate(rows.sizes)]
    if delimiter == ";":
        sizes = [size.replace(",", ".") for size in sizes]
    for part, index in rows.parts():
        columns = {
            "Nr.": [i + 1 for i in index],
            rows.names["size"]: pick(sizes, index),
            rows.names["kind"]: pick(rows.kinds, index),
            rows.names["text"]: pick(rows.texts, index),
            rows.names["tags"]: [mark.join(tags) or "NA" for tags in pick(rows.tags, index)],
        }
        write_csv(folder / f"{part}.csv", columns, delimiter)
    return ".csv", ["--labels", quoted(rows.names["tags"]), "--unreadable", "missing"]


def nested(rows, folder):
    for part, index in rows.parts():
        objects = [
            {"id": i, "text": {"title": f"no {i}", "body": rows.texts[i]}, "meta": {"labels": rows.tags[i]}}
            for i in index
        ]
        (folder / f"{part}.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in objects))
    return ".jsonl", ["--labels", "meta.labels", "--text", "text.body"]


def label_objects(rows, folder):
    for part, index in rows.parts():
        objects = [
            {"text": rows.texts[i], "annotations": [{"label": tag, "by": "anna"} for tag in rows.tags[i]]}
            for i in index
        ]
        (folder / f"{part}.json").write_text(json.dumps({"version": 1, "rows": objects}))
    return ".json", ["--labels", "annotations.label"]


def languages(rows, folder):
    """English and Japanese in one column, Japanese headers, tags with pictures, separated by 、."""
    texts = [
        text if i % 4 else rows._text(tags, JAPANESE).replace(" ", "").replace("pleaselookat", "")
        for i, (text, tags) in enumerate(zip(rows.texts, rows.tags, strict=True))
    ]
    for part, index in rows.parts():
        tags = ["、".join(f"🏷{tag}" for tag in rows.tags[i]) for i in index]
        write_csv(folder / f"{part}.csv", {"本文": pick(texts, index), "タグ": tags})
    return ".csv", ["--labels", "タグ"]


def excel_csv(rows, folder):
    """What Excel writes in Europe: a byte order mark, semicolons, decimal commas, a counter, 0/1 columns."""
    weights = rows.rng.normal(size=(len(WORDS), 4))
    features = np.array([[tag in tags for tag in WORDS] for tags in rows.tags]) @ weights
    features += 0.05 * rows.rng.normal(size=features.shape)
    for part, index in rows.parts():
        columns = {"Nr.": [i + 1 for i in index]}
        columns |= {f"ton-{j}": [f"{features[i, j]:.4f}".replace(".", ",") for i in index] for j in range(4)}
        columns |= {tag: [int(tag in rows.tags[i]) for i in index] for tag in WORDS}
        write_csv(folder / f"{part}.csv", columns, ";", bom=True)
    return ".csv", ["--labels", "-3"]


def workbook(rows, folder):
    openpyxl = pytest.importorskip("openpyxl")
    for part, index in rows.parts():
        book = openpyxl.Workbook()
        book.active.append([rows.names["text"], rows.names["size"], *WORDS])
        for i in index:
            marks = ["x" if tag in rows.tags[i] else None for tag in WORDS]
            book.active.append([rows.texts[i], rows.sizes[i], *marks])
        book.save(folder / f"{part}.xlsx")
    return ".xlsx", ["--labels", "C:E"]


def embeddings(rows, folder):
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for part, index in rows.parts():
        on = np.array([[tag in rows.tags[i] for tag in WORDS] for i in index], dtype=float)
        vectors = on @ np.eye(3, 8) + 0.1 * rows.rng.normal(size=(len(index), 8))
        table = pyarrow.table({"vector": vectors.tolist(), rows.names["tags"]: pick(rows.tags, index)})
        parquet.write_table(table, folder / f"{part}.parquet")
    return ".parquet", ["--labels", quoted(rows.names["tags"])]


def array_file(rows, folder):
    """A matrix beside a table that holds only the labels."""
    for part, index in rows.parts():
        on = np.array([[tag in rows.tags[i] for tag in WORDS] for i in index], dtype=float)
        np.savez(folder / f"{part}.npz", X=on @ np.eye(3, 8) + 0.1 * rows.rng.normal(size=(len(index), 8)))
        write_csv(folder / f"{part}.csv", {"tags": ["/".join(rows.tags[i]) for i in index]})
    return ".csv", ["--labels", "tags", "--vectors", folder / "train.npz"]


def database(rows, folder):
    for part, index in rows.parts():
        with sqlite3.connect(folder / f"{part}.sqlite") as tables:
            tables.execute("CREATE TABLE notes (key INTEGER, body TEXT, tags TEXT)")
            cells = [(i, rows.texts[i], ";".join(rows.tags[i])) for i in index]
            tables.executemany("INSERT INTO notes VALUES (?, ?, ?)", cells)
            tables.execute("CREATE TABLE other (x)")
        tables.close()
    return ".sqlite::notes", ["--labels", "tags"]


def long_texts(rows, folder):
    filler = "the licence says so. " * 2000
    for part, index in rows.parts():
        texts = [f"{filler}{rows.texts[i]}\n{filler}" for i in index]
        columns = {"text": texts, "tags": [";".join(rows.tags[i]) for i in index]}
        write_csv(folder / f"{part}.csv", columns)
    return ".csv", ["--labels", "tags"]


def many_labels(rows, folder):
    """Most labels on one row only, beside those that words tell."""
    for part, index in rows.parts():
        objects = [
            {"deps": [*rows.tags[i], *(f"dep{i}-{j}" for j in range(5))], "text": rows.texts[i]}
            for i in index
        ]
        (folder / f"{part}.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in objects))
    return ".jsonl", ["--labels", "deps", "--min-rows", "5"]


FILES = [messy, nested, label_objects, languages, excel_csv, workbook, embeddings, array_file, database]
FILES += [long_texts, many_labels]


@pytest.mark.parametrize("write", FILES, ids=lambda write: write.__name__)
def test_a_file_goes_through_every_command_as_it_is(tmp_path, write):
    rows = Rows(FILES.index(write))
    ending, options = write(rows, tmp_path)
    train, new, model = f"{tmp_path}/train{ending}", f"{tmp_path}/new{ending}", tmp_path / "m.hyper"
    vectors = ["--vectors", tmp_path / "new.npz"] if "--vectors" in options else []
    described = json.loads(done("data", "info", train, *options[:2], "--json").stdout)
    assert described["rows"] == N_TRAIN
    assert described["columns"]
    fitted = json.loads(done("fit", train, *options, "-o", model, "--json").stdout)
    assert fitted["rows"] == N_TRAIN
    assert fitted["labels"] == 3
    assert fitted["score"] > 0.85
    measured = json.loads(done("evaluate", model, new, *vectors, "--json").stdout)
    assert (measured["n_rows"], measured["n_labels"]) == (N_NEW, 3)
    assert measured["f1_micro"] > 0.85
    answers = [
        json.loads(line) for line in done("predict", model, new, *vectors, "--json").stdout.splitlines()
    ]
    names = [{one["label"].lstrip("🏷") for one in answer["labels"]} for answer in answers]
    n_right = sum(found == set(tags) for found, tags in zip(names, rows.tags[N_TRAIN:], strict=True))
    assert n_right > 0.7 * N_NEW
    done("report", model, new, *vectors, "-o", tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size > 10_000
    unknown = ["--ignore-unknown"] if write is many_labels else []
    done("update", model, new, *vectors, *unknown)
    assert open_model(str(model)).columns.rows == N_TRAIN + N_NEW
