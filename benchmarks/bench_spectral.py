"""Hypergraph spectral learning: whole paths against one scikit-learn Ridge and against the textbook form.

OMP_NUM_THREADS=1 python -m benchmarks.bench_spectral [--part …]
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
from functools import partial

import numpy as np
from scipy import linalg, sparse
from sklearn.linear_model import Ridge
from sklearn.preprocessing import normalize

from benchmarks import _timing
from benchmarks._data import real
from benchmarks._timing import show
from hyperlabel import OPLS, HypergraphSpectral, projection_path
from hyperlabel.geometry import LabelHypergraph
from hyperlabel.solvers.operators import CenteredRows
from hyperlabel.solvers.ridge.routes import choose_route, krylov_memory

ALPHAS = np.logspace(-1, 3, 12)
CLIQUE = {"clique": HypergraphSpectral()}


# processor time: with one thread it equals wall time on an idle machine
median_seconds = partial(_timing.median_seconds, clock=time.process_time)


def yahoo_rows() -> tuple[sparse.csr_array, sparse.csr_array]:
    data = real("yahoo-arts", "train")
    return sparse.csr_array(normalize(data.X.astype(np.float64))), data.Y


def clique_target(Y: sparse.csr_array) -> np.ndarray:
    return LabelHypergraph(Y).factor("clique").toarray()


def whole_path(X, Y, *, tol: float = 1e-4):
    """Every model of 4 expansions × 2 forms × 12 λ, each W formed."""
    path = projection_path(X, Y, alphas=ALPHAS, tol=tol)
    for _ in path:
        pass
    return path


def true_residual(X, F: np.ndarray, coef: np.ndarray, alpha: float) -> float:
    """Largest relative residual of the normal equations, ‖(XcᵀXc + λI)w − Xcᵀf‖/‖Xcᵀf‖ over the labels."""
    rows = CenteredRows(X)
    rhs = rows.rmatmat(rows.targets(F))
    gap = rows.rmatmat(rows.matmat(coef)) + alpha * coef - rhs
    norms = np.linalg.norm(rhs, axis=0)
    return float((np.linalg.norm(gap, axis=0)[norms > 0] / norms[norms > 0]).max())


def textbook(X: np.ndarray, Y: np.ndarray, alphas, *, hoisted: bool = False) -> None:
    """n×n similarity and d×d generalised eigenproblem (14), top k eigenvectors, for each λ.

    `hoisted`: what does not depend on λ (S, XᵀSX, XᵀX) is formed once for all of them.
    """
    if not hoisted:
        for alpha in alphas:
            textbook(X, Y, [alpha], hoisted=True)
        return
    D = Y @ Y.sum(axis=0)
    root = np.divide(1.0, np.sqrt(D), out=np.zeros_like(D), where=D > 0)
    S = (root[:, None] * (Y @ Y.T)) * root
    Xc = X - X.mean(axis=0)
    top, gram, k = Xc.T @ S @ Xc, Xc.T @ Xc, Y.shape[1]
    d = len(gram)
    for alpha in alphas:
        linalg.eigh(top, gram + alpha * np.eye(d), subset_by_index=(d - k, d - 1))


def yahoo() -> None:
    X, Y = yahoo_rows()
    F = clique_target(Y)
    ridge = Ridge(alpha=0.1, solver="sparse_cg", tol=1e-4)
    one = median_seconds(lambda: ridge.fit(X, F))
    ours = median_seconds(lambda: whole_path(X, Y))
    lazy = median_seconds(lambda: projection_path(X, Y, alphas=ALPHAS, tol=1e-4))
    path = projection_path(X, Y, alphas=ALPHAS, tol=1e-4)
    coef = path.path.combine(0.1, np.eye(len(path.path.f_mean))[:, :26])
    base = LabelHypergraph(Y).factor("clique").base.toarray()
    rows = [
        ("path of 96 models, every W formed / one Ridge", f"{ours / one:.2f}x", "at most 3x (goal 2x)"),
        ("path of 96 models, W on demand / one Ridge", f"{lazy / one:.2f}x", ""),
        ("one Ridge at λ = 0.1", f"{one:.2f} s", ""),
        ("block products", f"{path.path.n_iter}", "22 in a prototype"),
        ("residual of the path at λ = 0.1", f"{path.path.residual(0.1):.1e}", "1e-4"),
        ("  of the normal equations", f"{true_residual(X, base, coef, 0.1):.1e}", ""),
        ("  of the normal equations, Ridge", f"{true_residual(X, F, ridge.coef_.T, 0.1):.1e}", ""),
    ]
    show(f"yahoo-arts {X.shape[0]}×{X.shape[1]}, {X.nnz} nonzeros, 12 λ from 0.1 to 1000", rows)


def scene() -> None:
    data = real("scene")
    X, Y = np.asarray(data.X, dtype=np.float64), data.Y
    F = clique_target(Y)
    one = median_seconds(lambda: Ridge(alpha=0.1).fit(X, F), repeats=9, warm=3)
    ours = median_seconds(lambda: whole_path(X, Y), repeats=9, warm=3)
    show(
        f"scene {X.shape[0]}×{X.shape[1]}, dense",
        [("path of 96 models, every W formed / one Ridge", f"{ours / one:.2f}x", "at most 3x")],
    )


def against_textbook(title: str, X, dense_X: np.ndarray, Y, wanted: tuple[str, str]) -> None:
    dense_Y = Y.toarray().astype(np.float64)
    one = median_seconds(lambda: textbook(dense_X, dense_Y, ALPHAS[:1]), repeats=1, warm=0)
    hoisted = median_seconds(lambda: textbook(dense_X, dense_Y, ALPHAS, hoisted=True), repeats=1, warm=0)
    single = median_seconds(lambda: HypergraphSpectral(alpha=0.1).fit(X, Y))
    path = projection_path(X, Y, alphas=ALPHAS, methods=CLIQUE)

    def clique_path() -> None:
        for _ in projection_path(X, Y, alphas=ALPHAS, methods=CLIQUE):
            pass

    ours = median_seconds(clique_path)
    rows = [
        ("one λ: textbook / ours", f"{one / single:.1f}x", f"at least {wanted[0]}"),
        ("12 λ: textbook for each λ / ours", f"{12 * one / ours:.1f}x", f"at least {wanted[1]}"),
        ("12 λ: textbook, λ-free parts formed once / ours", f"{hoisted / ours:.1f}x", ""),
        ("one λ, ours", f"{single:.3f} s", choose_route(X)),
        ("12 λ, ours", f"{ours:.3f} s", f"{path.path.solver}, residual {path.path.residual(0.1):.0e}"),
    ]
    show(title, rows)


def dense() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2000))
    Y = sparse.csr_array((rng.random((3000, 20)) < 0.1).astype(np.float64))
    against_textbook("dense 3000×2000, 20 labels", X, X, Y, ("5x", "15x"))


def threshold() -> None:
    X, Y = yahoo_rows()
    frequent = np.argsort(-np.asarray((X != 0).sum(axis=0)).ravel(), kind="stable")[:3000]
    X, Y = sparse.csr_array(X[:2000][:, np.sort(frequent)]), Y[:2000]
    against_textbook("yahoo-arts cut to 2000×3000 (Figure 5)", X, X.toarray(), Y, ("12x", "30x"))


def growth() -> None:
    rng = np.random.default_rng(0)
    X = sparse.random_array((32000, 5000), density=0.004, rng=rng, format="csr")
    Y = sparse.csr_array((rng.random((32000, 20)) < 0.1).astype(np.float64))
    Z = rng.normal(size=(32000, 200))
    sizes = [4000, 8000, 16000, 32000]
    rows = []
    for name, A, solver in (("sparse, Krylov, d=5000", X, "krylov"), ("dense, Gram, d=200", Z, "gram")):
        times = []
        for n in sizes:
            model, rows_n, labels = HypergraphSpectral(solver=solver), A[:n], Y[:n]
            times.append(median_seconds(partial(model.fit, rows_n, labels), repeats=3))
        slope = np.polyfit(np.log(sizes), np.log(times), 1)[0]
        rows.append((f"{name}: log–log slope of time against n", f"{slope:.2f}", "about 1 or less"))
    show("growth, n = 4000 … 32000", rows)


def memory() -> None:
    X, Y = yahoo_rows()
    rows = []
    for tol in (1e-3, 1e-4, 1e-6):
        tracemalloc.start()
        path = projection_path(X, Y, alphas=ALPHAS, tol=tol)
        path.model(("clique", "exact"), 0.1)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        guess = krylov_memory(*X.shape, X.nnz, 4 * Y.shape[1], path.path.n_iter)
        rows.append(
            (
                f"{path.path.n_iter} blocks: estimate / measured",
                f"{guess / peak:.2f}",
                f"of {peak / 2**20:.0f} MiB",
            )
        )
    show("peak memory on the sparse route (allocations traced); wanted within 1.5x", rows)


def medical() -> None:
    data = real("medical", "train")
    X, Y = data.X.toarray().astype(np.float64), data.Y.toarray().astype(np.float64)
    k = Y.shape[1]

    def eigenproblem() -> None:
        Xc, Yc = X - X.mean(axis=0), Y - Y.mean(axis=0)
        B = Xc.T @ Yc
        d = X.shape[1]
        linalg.eigh(B @ B.T, Xc.T @ Xc + np.eye(d), subset_by_index=(d - k, d - 1))

    theirs = median_seconds(eigenproblem, repeats=3)
    ours = median_seconds(lambda: OPLS(alpha=1.0).fit(data.X, data.Y))
    rows = [("d×d eigenproblem, top 45 eigenvectors / OPLS", f"{theirs / ours:.0f}x", "at least 40x")]
    show(f"OPLS on medical's training part, {X.shape[0]}×{X.shape[1]}", rows)


PARTS = {
    "medical": medical,
    "yahoo": yahoo,
    "scene": scene,
    "dense": dense,
    "threshold": threshold,
    "growth": growth,
    "memory": memory,
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--part", nargs="*", default=list(PARTS), choices=list(PARTS))
    for part in parser.parse_args().part:
        PARTS[part]()


if __name__ == "__main__":
    main()
