"""One method on one data set, in its own process and environment (hyperlabel is there for ours only).

Run by benchmarks.peers: peer_runner.py METHOD DATA.npz SCORES.npz REPEATS. Prints JSON: seconds of fit and
predict (CPU of one thread, which is the wall time of an idle machine; median of warm runs), the memory
that fit and predict add at their peak, model bytes. Writes scores of the test rows (model fitted on all
training rows) and of the held-out rows (fitted on the others), for tuned thresholds.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import shutil
import statistics
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy import sparse

from benchmarks.measure import AddedMemory

FULL = 1_000_000  # every label


class OneVsRest:
    note = "scikit-learn OneVsRest(LinearSVC)"

    def fit(self, X, Y):
        from sklearn.multiclass import OneVsRestClassifier
        from sklearn.svm import LinearSVC

        self.model = OneVsRestClassifier(LinearSVC(dual=True)).fit(X, Y)

    def scores(self, X):
        return self.model.decision_function(X)

    def size(self):
        return len(pickle.dumps(self.model))


class Ridge(OneVsRest):
    def fit(self, X, Y):
        from sklearn.linear_model import RidgeClassifier

        self.model = RidgeClassifier().fit(X, Y.toarray())


class MLkNN(OneVsRest):
    def fit(self, X, Y):
        from skmultilearn.adapt import MLkNN as Peer

        self.model = Peer(k=10)
        self.model.fit(sparse.csr_matrix(X), sparse.csr_matrix(Y))

    def scores(self, X):
        return np.asarray(self.model.predict_proba(sparse.csr_matrix(X)).todense())


class Napkin:
    name = "BR"

    def fit(self, X, Y):
        from napkinxc import models

        self.k = Y.shape[1]
        self.folder = tempfile.mkdtemp()
        self.model = getattr(models, self.name)(self.folder, threads=1, verbose=False)
        labels = [list(map(int, Y.indices[a:b])) for a, b in zip(Y.indptr[:-1], Y.indptr[1:])]  # noqa: B905
        self.model.fit(sparse.csr_matrix(X), labels)

    def scores(self, X):
        scores = np.zeros((X.shape[0], self.k), dtype=np.float32)
        for i, row in enumerate(self.model.predict_proba(sparse.csr_matrix(X), top_k=self.k)):
            for label, probability in row:
                scores[i, label] = probability
        return scores

    def size(self):
        return sum(file.stat().st_size for file in Path(self.folder).rglob("*") if file.is_file())

    def __del__(self):
        shutil.rmtree(getattr(self, "folder", ""), ignore_errors=True)


class NapkinPLT(Napkin):
    name = "PLT"


class LibMultiLabel(OneVsRest):
    train = "train_1vsrest"

    def fit(self, X, Y):
        import libmultilabel.linear as linear

        X = sparse.csr_matrix(X, dtype=np.float64)
        self.model = getattr(linear, self.train)(sparse.csr_matrix(Y), X, options="-s 1", verbose=False)

    def scores(self, X):
        import libmultilabel.linear as linear

        values = linear.predict_values(self.model, sparse.csr_matrix(X, dtype=np.float64))
        return values.toarray() if sparse.issparse(values) else np.asarray(values)


class LibMultiLabelTree(LibMultiLabel):
    train = "train_tree"

    def fit(self, X, Y):
        import libmultilabel.linear as linear

        X = sparse.csr_matrix(X, dtype=np.float64)
        self.model = linear.train_tree(sparse.csr_matrix(Y), X, options="-s 1", verbose=False)


class Pecos:
    def fit(self, X, Y):
        from pecos.xmc import Indexer, LabelEmbeddingFactory
        from pecos.xmc.xlinear.model import XLinearModel

        X, Y = sparse.csr_matrix(X, dtype=np.float32), sparse.csr_matrix(Y, dtype=np.float32)
        features = LabelEmbeddingFactory.create(Y, X, method="pifa")
        self.k = Y.shape[1]
        self.model = XLinearModel.train(X, Y, C=Indexer.gen(features), threads=1)

    def scores(self, X):
        X = sparse.csr_matrix(X, dtype=np.float32)
        return self.model.predict(X, only_topk=self.k, beam_size=self.k, threads=1).toarray()

    def size(self):
        with tempfile.TemporaryDirectory() as folder:
            self.model.save(folder)
            return sum(file.stat().st_size for file in Path(folder).rglob("*") if file.is_file())


class Ours(OneVsRest):
    def make(self):
        from hyperlabel import BinaryRelevance

        return BinaryRelevance(alpha=1.0)

    def fit(self, X, Y):
        self.model = self.make().fit(X, Y)

    def size(self):
        kept = {k: v for k, v in self.model.__dict__.items() if k not in ("moments_", "oof_scores_")}
        return len(pickle.dumps(kept))


class OursCV(Ours):
    def make(self):
        from hyperlabel import BinaryRelevance

        return BinaryRelevance(alpha=[0.01, 0.1, 1.0, 10.0, 100.0, 1000.0], cv=3)


class OursPLST(Ours):
    def make(self):
        from hyperlabel import PLST

        return PLST(alpha=1.0)


class OursMLkNN(Ours):
    def make(self):
        from hyperlabel import MLkNN as Mine

        return Mine()

    def scores(self, X):
        return self.model.predict_proba(X)


METHODS = {
    "ovr": OneVsRest,
    "ridge": Ridge,
    "mlknn": MLkNN,
    "napkinxc-br": Napkin,
    "napkinxc-plt": NapkinPLT,
    "libmultilabel": LibMultiLabel,
    "libmultilabel-tree": LibMultiLabelTree,
    "pecos": Pecos,
    "ours-br": Ours,
    "ours-br-cv": OursCV,
    "ours-plst": OursPLST,
    "ours-mlknn": OursMLkNN,
}


def load(path):
    with np.load(path) as stored:

        def matrix(name):
            if f"{name}_indptr" in stored:
                parts = tuple(stored[f"{name}_{part}"] for part in ("data", "indices", "indptr"))
                return sparse.csr_matrix(parts, shape=tuple(stored[f"{name}_shape"]))
            return stored[name]

        return {name: matrix(name) for name in ("X", "Y", "X_test")}, stored["held_out"]


def main(method, data, out, repeats):
    warnings.simplefilter("ignore")
    rows, held_out = load(data)
    X, Y, X_test = rows["X"], rows["Y"], rows["X_test"]
    fit_times, predict_times = [], []
    model = METHODS[method]()
    with contextlib.suppress(Exception):  # imports and compiled code do not count as memory of the fit
        model.fit(X[:100], Y[:100])
        model.scores(X_test[:100])
    memory = AddedMemory()
    for turn in range(1 + repeats):  # the first run warms caches
        model = METHODS[method]()
        start = time.process_time()
        model.fit(X, Y)
        fit_times.append(time.process_time() - start)
        start = time.process_time()
        test = model.scores(X_test)
        predict_times.append(time.process_time() - start)
        if not turn:  # later runs reuse what this one freed
            added = memory.megabytes()
        if fit_times[-1] > 20:
            break
    warm = slice(1, None) if len(fit_times) > 1 else slice(None)
    size = model.size()
    kept = np.setdiff1d(np.arange(Y.shape[0]), held_out)
    partial = METHODS[method]()
    partial.fit(X[kept], Y[kept])
    np.savez(out, test=test, held_out=partial.scores(X[held_out]))
    print(
        json.dumps(
            {
                "fit": statistics.median(fit_times[warm]),
                "predict": statistics.median(predict_times[warm]),
                "peak_mb": added,
                "model_mb": size / 1e6,
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
