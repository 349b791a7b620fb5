"""Label-space methods on delicious, as ratios to the shared-moments binary relevance in the same run.

Processor time of one thread, every ratio taken within one round of all runs, median of the rounds:
a busy machine then slows both sides alike.

Run: OMP_NUM_THREADS=1 HYPERLABEL_DATA=… python -m benchmarks.bench_labelspace
"""

from __future__ import annotations

import numpy as np

from benchmarks._timing import data_folder, rounds, show
from hyperlabel import PLST, BinaryRelevance, CompressedSensing
from hyperlabel.datasets import concat, read_arff
from hyperlabel.solvers.labels.cosamp import solve_sparse_codes


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
    data = concat([read_arff(folder / f"delicious-{part}.arff.gz") for part in ("train", "test")])
    order = np.random.default_rng(0).permutation(data.X.shape[0])
    X, Y = data.X[order], data.Y[order]
    n = 14494
    train, rest = (X[:n], Y[:n]), X[n:]
    br, plst = BinaryRelevance(alpha=1.0).fit(*train), PLST(129, alpha=1.0).fit(*train)
    cs = CompressedSensing(129).fit(*train)
    P, s, G = cs.encoder_.components_, cs.encoder_.sparsity_, cs.encoder_.gram_
    codes = cs.predict_codes(rest[:200])
    seconds = rounds(
        {
            "fit br": lambda: BinaryRelevance(alpha=1.0).fit(*train),
            "fit plst": lambda: PLST(129, alpha=1.0).fit(*train),
            "fit grid": lambda: PLST(alpha=1.0).fit(*train),
            "fit all": lambda: PLST(n_components_grid="all", alpha=1.0).fit(*train),
            "fit λ and M": lambda: PLST(n_components_grid="all").fit(*train),
            "score br": lambda: [br.decision_function(rest) for _ in range(5)],
            "score plst": lambda: [plst.decision_function(rest) for _ in range(5)],
            "top br": lambda: br.predict_topk(rest, 5),
            "top plst": lambda: plst.predict_topk(rest, 5),
            "decode": lambda: solve_sparse_codes(P, codes, s, gram=G),
            "plain": lambda: [plain_cosamp(P, r, s) for r in codes],
        }
    )

    def ratio(a: str, b: str) -> float:
        return float(np.median(seconds[a] / seconds[b]))

    show(
        f"delicious, {n} rows, ratios to BinaryRelevance (fit {np.median(seconds['fit br']):.2f} s)",
        [
            ("PLST(129) fit", f"{ratio('fit plst', 'fit br'):.2f}", "at most 3"),
            ("PLST('auto'), grid of M", f"{ratio('fit grid', 'fit br'):.1f}", "at most 20"),
            ("PLST('auto'), all M", f"{ratio('fit all', 'fit br'):.1f}", "at most 25"),
            ("PLST('auto'), λ and all M", f"{ratio('fit λ and M', 'fit br'):.1f}", "at most 25"),
            (
                "PLST(129) scores of 1611 rows",
                f"{ratio('score plst', 'score br'):.2f}",
                "no slower (1 ± noise)",
            ),
            ("PLST(129) predict_topk", f"{ratio('top plst', 'top br'):.2f}", "no slower (1 ± noise)"),
            ("NumPy CoSaMP loop / ours", f"{ratio('plain', 'decode'):.0f}", "at least 20"),
        ],
    )


if __name__ == "__main__":
    main()
