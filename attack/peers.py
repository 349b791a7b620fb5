"""Valid files, read by hyperlabel and by the library everybody knows: the same numbers to the bit."""

from __future__ import annotations

import io
import random
from pathlib import Path

import numpy as np
from scipy import sparse

from attack import grammar
from hyperlabel.datasets import read_arff, read_svmlight, read_table


class Differs(AssertionError):
    """Two libraries read one file differently."""


def _dense(X: object) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)  # type: ignore[attr-defined]


def _agree(mine: np.ndarray, theirs: np.ndarray, what: str) -> None:
    if mine.shape != theirs.shape or not np.array_equal(mine, theirs, equal_nan=True):
        raise Differs(f"{what}: {mine.tolist()} here, {theirs.tolist()} there")


def make_arff(rng: random.Random) -> bytes:
    """Numbers only: what a nominal value becomes is a matter of taste."""
    k, d, n = rng.randint(1, 3), rng.randint(1, 4), rng.randint(1, 6)
    lines = [f"@relation 'r: -C {k}'", *(f"@attribute y{i} {{0,1}}" for i in range(k))]
    lines += [*(f"@attribute a{j} numeric" for j in range(d)), "@data"]
    sparse_rows = rng.random() < 0.5
    for _ in range(n):
        row = [str(rng.randint(0, 1)) for _ in range(k)] + [grammar.number(rng) for _ in range(d)]
        if sparse_rows:
            chosen = [i for i in range(k + d) if rng.random() < 0.6]
            lines.append("{" + ",".join(f"{i} {row[i]}" for i in chosen) + "}")
        else:
            lines.append(",".join(row))
    return ("\n".join(lines) + "\n").encode()


def check_arff(path: Path) -> None:
    import arff

    data = read_arff(path)
    text = path.read_text()
    found = arff.loads(text, return_type=arff.LOD if "{0 " in text or text.endswith("}\n") else arff.DENSE)
    k = data.Y.shape[1]
    table = np.zeros((len(found["data"]), len(found["attributes"])))
    for i, row in enumerate(found["data"]):
        for j, value in row.items() if isinstance(row, dict) else enumerate(row):
            table[i, j] = float(value)
    _agree(_dense(data.Y), table[:, :k], "labels")
    _agree(_dense(data.X), table[:, k:], "features")


def make_svm(rng: random.Random) -> bytes:
    """Zero-based and every row with a label, where scikit-learn's reading and ours mean the same."""
    d, k = rng.randint(1, 5), rng.randint(1, 4)
    rows = []
    for _ in range(rng.randint(1, 6)):
        labels = sorted(rng.sample(range(k), rng.randint(1, k)))
        columns = sorted(rng.sample(range(d), rng.randint(1, d)))
        rows.append(
            ",".join(map(str, labels)) + " " + " ".join(f"{j}:{grammar.number(rng)}" for j in columns)
        )
    return ("\n".join(rows) + "\n").encode()


def check_svm(path: Path) -> None:
    from sklearn.datasets import load_svmlight_file

    data = read_svmlight(path, zero_based=True, labels_zero_based=True)
    X, labels = load_svmlight_file(str(path), multilabel=True, zero_based=True)
    Y = np.zeros((len(labels), data.Y.shape[1]))
    for i, row in enumerate(labels):
        Y[i, [int(label) for label in row]] = 1
    _agree(_dense(data.X), X.toarray(), "features")
    _agree(_dense(data.Y), Y, "labels")


def make_csv(rng: random.Random) -> bytes:
    return grammar.csv(rng)


def _check_frame(path: Path, frame: object) -> None:
    data = read_table(path, labels=["y", "z"], features=["a", "b"], text="t", group="g", time="w")
    _agree(_dense(data.Y), frame[["y", "z"]].to_numpy(float), "labels")  # type: ignore[index]
    _agree(_dense(data.X), frame[["a", "b"]].to_numpy(float), "features")  # type: ignore[index]
    texts = ["" if text is None else str(text) for text in frame["t"]]  # type: ignore[index]
    if list(data.text or []) != texts:
        raise Differs(f"text: {data.text} here, {texts} there")


def check_csv(path: Path) -> None:
    import pandas as pd

    frame = pd.read_csv(
        path, sep=",", dtype={"t": str, "g": str}, keep_default_na=False, na_values={"b": [""]},
        float_precision="round_trip",
    )  # fmt: skip
    _check_frame(path, frame)


def make_parquet(rng: random.Random) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(grammar.table_rows(rng)), out, compression="snappy")
    return out.getvalue()


def check_parquet(path: Path) -> None:
    import pyarrow.parquet as pq

    _check_frame(path, pq.read_table(path).to_pandas())
