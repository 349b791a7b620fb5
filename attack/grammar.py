"""Random valid files of every text format, as small as they can be while using the whole grammar."""

from __future__ import annotations

import json
import random

import numpy as np

_TEXTS = ("red", "two words", "größe", "it's", 'say "hi"', "a,b", "a;b", "100%", "#1", "", "日本")


def number(rng: random.Random) -> str:
    return rng.choice(
        ("0", "1", "-1", "0.5", "1e3", "-2.5e-3", "7", f"{rng.gauss(0, 1):.6g}", repr(rng.random() * 1e10))
    )


def arff(rng: random.Random) -> bytes:
    labels = rng.randint(1, 3)
    lines = [f"@relation 'r: -C {labels}'"]
    kinds = ["{0,1}"] * labels
    for _ in range(rng.randint(1, 3)):
        kinds.append(rng.choice(("numeric", "real", "integer", "{red,blue,'two words'}", "{0,1}")))
    lines += [f"@attribute {'y' if i < labels else 'a'}{i} {kind}" for i, kind in enumerate(kinds)]
    lines.append("@data")

    def value(kind: str) -> str:
        if kind == "{0,1}":
            return rng.choice("01")
        if kind.startswith("{"):
            return rng.choice(("red", "blue", "'two words'"))
        return str(rng.randint(-9, 9)) if kind == "integer" else number(rng)

    sparse = rng.random() < 0.4
    for _ in range(rng.randint(0, 5)):
        if sparse:
            chosen = [i for i in range(len(kinds)) if rng.random() < 0.5]
            lines.append("{" + ", ".join(f"{i} {value(kinds[i])}" for i in chosen) + "}")
        else:
            lines.append(",".join(map(value, kinds)))
        if rng.random() < 0.05:
            lines.append("% a comment")
    return ("\n".join(lines) + "\n").encode()


def svm_row(rng: random.Random, d: int, k: int, base: int) -> str:
    labels = sorted(rng.sample(range(base, k + base), rng.randint(0, k)))
    columns = sorted(rng.sample(range(base, d + base), rng.randint(1, d)))
    return " ".join([",".join(map(str, labels)), *(f"{j}:{number(rng)}" for j in columns)])


def svm(rng: random.Random) -> bytes:
    d, k, base = rng.randint(1, 5), rng.randint(1, 4), rng.randint(0, 1)
    rows = [svm_row(rng, d, k, base) for _ in range(rng.randint(1, 5))]
    return ("\n".join(rows) + "\n").encode()


def xmc(rng: random.Random) -> bytes:
    d, k = rng.randint(1, 5), rng.randint(1, 4)
    rows = [svm_row(rng, d, k, 0) for _ in range(rng.randint(0, 5))]
    return ("\n".join([f"{len(rows)} {d} {k}", *rows]) + "\n").encode()


def table_rows(rng: random.Random) -> list[dict[str, object]]:
    """Rows with the columns every table target reads: y and z (labels), a and b (numbers), t, g, w."""
    return [
        {
            "y": rng.randint(0, 1),
            "z": rng.randint(0, 1),
            "a": float(number(rng)),
            "b": rng.choice((None, rng.randint(-5, 5))),
            "t": rng.choice(_TEXTS),
            "g": rng.choice(("1", "2", "x")),
            "w": rng.choice(("2020-01-01", "2021-05-06", "2020-01-01T10:00:00")),
        }
        for _ in range(rng.randint(1, 5))
    ]


def csv(rng: random.Random) -> bytes:
    rows = table_rows(rng)

    def cell(value: object) -> str:
        text = "" if value is None else str(value)
        quoted = any(sign in text for sign in ',"\n;') or rng.random() < 0.1
        return '"' + text.replace('"', '""') + '"' if quoted else text

    lines = [",".join(rows[0])] + [",".join(map(cell, row.values())) for row in rows]
    return ("\n".join(lines) + "\n").encode()


def jsonl(rng: random.Random) -> bytes:
    rows = table_rows(rng)
    return "".join(json.dumps(row, ensure_ascii=rng.random() < 0.5) + "\n" for row in rows).encode()


def xml(rng: random.Random) -> bytes:
    """Label files; one in ten declares a document type, which no reader may take."""
    names = "".join(f'<label name="{rng.choice("abc")}{i}"></label>' for i in range(rng.randint(0, 4)))
    head = rng.choice(
        ("", '<?xml version="1.0" encoding="utf-8"?>', '<?xml version="1.0" encoding="latin-1"?>')
    )
    head += rng.choice(("", *[""] * 8, '<!DOCTYPE labels [<!ENTITY b "sky">]>'))
    return f'{head}<labels xmlns="http://mulan.sourceforge.net/labels">{names}</labels>'.encode()


def arrays(rng: random.Random) -> dict[str, np.ndarray]:
    """What an npz file of data may hold."""
    draw = np.random.default_rng(rng.getrandbits(32))
    n, d, k = (int(size) for size in draw.integers(1, 6, size=3))
    found: dict[str, np.ndarray] = {}
    if rng.random() < 0.5:
        found["X"] = draw.normal(size=(n, d)).astype(rng.choice(("f8", "f4", "i4")))
    else:
        filled = draw.random((n, d)) < 0.5
        found |= {"X_data": draw.normal(size=filled.sum()), "X_indices": np.nonzero(filled)[1]}
        found |= {"X_indptr": np.r_[0, np.cumsum(filled.sum(1))], "X_shape": np.array([n, d])}
    carried = draw.random((n, k)) < 0.4
    if rng.random() < 0.5:
        found["Y"] = carried.astype(np.int8)
    else:
        found |= {"Y_indices": np.nonzero(carried)[1], "Y_indptr": np.r_[0, np.cumsum(carried.sum(1))]}
        found["Y_shape"] = np.array([n, k])
    if rng.random() < 0.3:
        found |= {"label_names": np.array([f"l{i}" for i in range(k)]), "groups": np.arange(n)}
    return found
