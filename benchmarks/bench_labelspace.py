"""Label-space methods on delicious, as ratios to the shared-moments binary relevance in the same run.

Run: OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python benchmarks/bench_labelspace.py
"""

from __future__ import annotations

import numpy as np
from _timing import data_folder, median_seconds, show

from hyperlabel import PLST, BinaryRelevance, CompressedSensing
from hyperlabel.datasets import read_arff, stack
from hyperlabel.solvers.cosamp import solve_sparse_codes


def plain_cosamp(P: np.ndarray, r: np.ndarray, s: int, max_iter: int = 30, tol: float = 1e-7) -> np.ndarray:
    """Textbook CoSaMP of one code in NumPy, with the same stopping rule."""
    best, support, z = np.linalg.norm(r), np.array([], dtype=int), np.zeros(P.shape[1])
    residual = r
    for _ in range(max_iter):
        if best <= tol * np.linalg.norm(r):
            break
        picked = np.argpartition(-np.abs(P.T @ residual), 2 * s)[: 2 * s]
        merged = np.union1d(support, picked)
        b = np.linalg.lstsq(P[:, merged], r, rcond=None)[0]
        keep = np.argpartition(-np.abs(b), s)[:s]
        trial = np.zeros(P.shape[1])
        trial[merged[keep]] = b[keep]
        residual = r - P @ trial
        if np.linalg.norm(residual) >= best:
            break
        best, support, z = np.linalg.norm(residual), merged[keep], trial
    return z


def main() -> None:
    folder = data_folder() / "delicious"
    data = stack([read_arff(folder / f"delicious-{part}.arff.gz") for part in ("train", "test")])
    order = np.random.default_rng(0).permutation(data.X.shape[0])
    X, Y = data.X[order], data.Y[order]
    n = 14494
    train, rest = (X[:n], Y[:n]), X[n:]

    br, plst = BinaryRelevance(), PLST(129)
    fit_br = median_seconds(lambda: br.fit(*train))
    fit_plst = median_seconds(lambda: plst.fit(*train))
    fit_grid = median_seconds(lambda: PLST().fit(*train), repeats=3)
    fit_all = median_seconds(lambda: PLST(candidates="all").fit(*train), repeats=3)
    say_br, say_plst = (median_seconds(lambda m=m: m.decision_function(rest)) for m in (br, plst))
    top_br, top_plst = (median_seconds(lambda m=m: m.predict_topk(rest, 5)) for m in (br, plst))

    cs = CompressedSensing(129).fit(*train)
    encoder, codes = cs.encoder_, cs.predict_codes(rest)
    few = codes[:100]
    P, s = encoder.components_, encoder.sparsity_
    decode = median_seconds(lambda: solve_sparse_codes(P, few, s, gram=encoder.gram_))
    plain = median_seconds(lambda: [plain_cosamp(P, r, s) for r in few], repeats=3)

    show(
        f"delicious, {n} rows, ratios to BinaryRelevance (fit {fit_br:.2f} s, scores {say_br:.3f} s)",
        [
            ("PLST(129) fit", f"{fit_plst / fit_br:.2f}", "at most 3"),
            ("PLST('auto'), grid of M", f"{fit_grid / fit_br:.1f}", "at most 20"),
            ("PLST('auto'), all M", f"{fit_all / fit_br:.1f}", "at most 40"),
            ("PLST(129) scores", f"{say_plst / say_br:.2f}", "at most 1 (equal within noise)"),
            ("PLST(129) predict_topk", f"{top_plst / top_br:.2f}", "at most 1 (equal within noise)"),
            ("NumPy CoSaMP / ours", f"{plain / decode:.0f}", "at least 20"),
        ],
    )


if __name__ == "__main__":
    main()
