"""ML-kNN: against scikit-multilearn-ng on scene, and a bare neighbour search of scikit-learn on delicious."""

from __future__ import annotations

from typing import Any

from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from benchmarks._timing import data_folder, median_seconds, show
from hyperlabel import MLkNN
from hyperlabel.datasets import read_arff


def _parts(name: str) -> tuple[Any, Any]:
    folder = data_folder() / name
    train, test = (read_arff(folder / f"{name}-{part}.arff.gz") for part in ("train", "test"))
    return train, test


def scene() -> tuple[str, str, str]:
    from skmultilearn.adapt import MLkNN as Theirs

    train, test = _parts("scene")
    scaler = StandardScaler().fit(train.X)
    X, X_new = scaler.transform(train.X), scaler.transform(test.X)
    Y = train.Y.toarray().astype(int)
    ours = median_seconds(lambda: MLkNN().fit(X, train.Y).predict(X_new))
    theirs = median_seconds(lambda: Theirs(k=10).fit(X, Y).predict(X_new), repeats=1, warm=1)
    return ("scene, fit + predict: scikit-multilearn-ng / MLkNN", f"{theirs / ours:.0f}x", "at least 20x")


def delicious() -> tuple[str, str, str]:
    train, test = _parts("delicious")

    def search() -> None:
        found = NearestNeighbors(n_neighbors=10, algorithm="brute").fit(train.X)
        found.kneighbors(return_distance=False)
        found.kneighbors(test.X, return_distance=False)

    ours = median_seconds(lambda: MLkNN().fit(train.X, train.Y).predict(test.X), repeats=3)
    bare = median_seconds(search, repeats=3)
    return ("delicious, fit + predict: MLkNN / bare brute search", f"{ours / bare:.2f}", "at most 1.5")


def main() -> None:
    show("ML-kNN", [scene(), delicious()])


if __name__ == "__main__":
    main()
