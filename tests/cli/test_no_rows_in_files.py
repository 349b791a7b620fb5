"""What a model file tells about its training rows: words, labels and sums, but no text as it was written."""

from __future__ import annotations

import csv
import json
import random
import zipfile

import pytest
from tests.commands import done

from hyperlabel import load

SUBJECTS = (
    "the tall printer",
    "our old router",
    "a green parrot",
    "Frau Müller",
    "my first invoice",
    "his boat",
)
VERBS = ("never answered", "quietly lost", "sang about", "forgot", "wrote down", "paid for")
OBJECTS = ("seven blue letters", "the whole weekend", "a naïve question", "nothing at all", "some paper")


def sentences(n, seed):
    """Texts of four words and more, each with a person or thing in it, drawn so that most come once."""
    rng = random.Random(seed)
    return [
        f"{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {rng.choice(OBJECTS)} on day {i} in room{i}"
        for i in range(n)
    ]


def write(path, texts, seed=0):
    rng = random.Random(seed)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "tags", "colour", "size"])
        for text in texts:
            tags = [tag for tag in ("work", "home", "sea") if rng.random() < 0.5] or ["work"]
            writer.writerow([text, ";".join(tags), rng.choice(("red", "blue")), rng.random()])
    return path


def strings_of(node):
    """Return all texts of a description."""
    if isinstance(node, str):
        return [node]
    inside = list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []
    return [text for item in inside for text in strings_of(item)]


def holds_texts(path, texts):
    """Return the four words in a row of these texts that stand anywhere in a file, as read or as bytes."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    strings = strings_of(json.loads(members["model.json"]))
    everything = "\n".join(strings).lower()
    raw = b"\n".join(members.values()).lower()
    told = []
    for text in texts:
        words = text.lower().split()
        windows = [" ".join(words[i : i + 4]) for i in range(len(words) - 3)]
        told += [w for w in windows if w in everything or w.encode() in raw or w.encode("utf-32-le") in raw]
    return told


def test_texts_would_be_seen_if_they_were_there(tmp_path):
    """The search itself: the file of somebody who hands rows to `save` holds them, and it tells."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline

    import hyperlabel

    texts = sentences(20, seed=0)
    model = make_pipeline(TfidfVectorizer(), hyperlabel.BinaryRelevance()).fit(texts, [[0, 1], [1, 0]] * 10)
    hyperlabel.save(model, tmp_path / "m", X=texts)
    assert len(holds_texts(tmp_path / "m", texts[:4])) == sum(len(text.split()) - 3 for text in texts[:4])
    hyperlabel.save(model, tmp_path / "m")
    assert not holds_texts(tmp_path / "m", texts)


@pytest.mark.parametrize("columns", ["text", "text and more"])
@pytest.mark.parametrize("options", [(), ("--slim",), ("--ngrams", "3"), ("--method", "mlknn")])
def test_fit_and_update_leave_no_training_text_in_the_file(tmp_path, columns, options):
    texts = sentences(60, seed=1)
    model = tmp_path / "m.hyper"
    read = [
        "--text",
        "text",
        *(["--features", ""] if columns == "text" else ["--features", "colour", "--features", "size"]),
    ]
    done("fit", write(tmp_path / "t.csv", texts), "--labels", "tags", *read, *options, "-o", model)
    assert not holds_texts(model, texts)
    with zipfile.ZipFile(model) as archive:  # it is checked all the same
        assert json.loads(archive.read("model.json"))["check"]["answers"]
    load(model)
    if not options:
        new = sentences(9, seed=2)
        done("update", model, write(tmp_path / "new.csv", new, seed=3))
        assert not holds_texts(model, [*texts, *new])
        done("update", model, "--forget", tmp_path / "new.csv")
        assert not holds_texts(model, [*texts, *new])


def test_what_a_client_teaches_a_server_is_not_in_the_file(tmp_path):
    from hyperlabel.apps.serve.served_model import ServedModel

    texts, new = sentences(60, seed=4), sentences(3, seed=5)
    model = tmp_path / "m.hyper"
    read = ["--text", "text", "--features", ""]
    done("fit", write(tmp_path / "t.csv", texts), "--labels", "tags", *read, "-o", model)
    served = ServedModel(str(model), learns=True)
    served.learn(new, [["sea"], ["home"], []])
    load(model)
    assert served.plain is not None
    assert not holds_texts(model, [*texts, *new])
