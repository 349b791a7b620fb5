"""No loop calls NumPy's and SciPy's BLAS in turns: each has its own threads, and those of one would wait on
the cores that the other needs (two threads then take twice as long as one).

The source is read: what a loop calls, directly or through functions of the same module, or functions that the
module imports from the library, is counted as NumPy's (`@`, `np.linalg`, …) or SciPy's.
"""

import ast
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import hyperlabel
from hyperlabel.solvers.blas import add_gram, add_product, add_weighted_sum, matvec, product
from hyperlabel.solvers.margin import losses
from hyperlabel.solvers.moments.row_moments import RowMoments

SOURCE = Path(hyperlabel.__file__).parent
PACKAGES = ("solvers", "moments", "geometry", "decision")
NUMPY = {"matmul", "dot", "vdot", "tensordot"}
NUMPY_LINALG = {"cholesky", "eigh", "eigvalsh", "inv", "pinv", "qr", "solve", "svd", "lstsq"}
# Sparse or single-precision rows go one way, others another: watched while they run, below.
CHOOSE_BY_ROWS = {"solvers/moments/row_moments.py", "solvers/margin/losses.py"}


class Module:
    """One source file: what its names mean, and its functions."""

    def __init__(self, path):
        self.tree, self.scipy, self.imports = ast.parse(path.read_text()), set(), {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    name = alias.asname or alias.name
                    if f"{node.module}.{alias.name}".startswith("scipy.linalg"):
                        self.scipy.add(name)
                    elif node.module.startswith("hyperlabel."):
                        self.imports[name] = node.module, alias.name
        functions = (node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef))
        self.functions = {node.name: node for node in functions}

    def pools(self, node, seen=frozenset()):
        """Say which pools the code under a node calls."""
        found = set()
        for part in ast.walk(node):
            if isinstance(part, (ast.BinOp, ast.AugAssign)) and isinstance(part.op, ast.MatMult):
                found.add("numpy")
            if isinstance(part, ast.Call):
                found |= self._pools_of_call(part.func, seen)
        return found

    def _pools_of_call(self, function, seen):
        root, path = function, []
        while isinstance(root, ast.Attribute):
            path.append(root.attr)
            root = root.value
        root = root.id if isinstance(root, ast.Name) else ""
        if root in self.scipy and "LinAlgError" not in path:
            return {"scipy"}
        if root == "np":
            is_linalg = path[-1:] == ["linalg"] and path[0] in NUMPY_LINALG
            return {"numpy"} if is_linalg or (len(path) == 1 and path[0] in NUMPY) else set()
        name = path[0] if path else root
        if name in seen:
            return set()
        if name in self.functions:
            return self.pools(self.functions[name], seen | {name})
        if not path and root in self.imports:
            module, original = self.imports[root]
            other = read_module(SOURCE.joinpath(*module.split(".")[1:]).with_suffix(".py"))
            if other is not None and original in other.functions:
                return other.pools(other.functions[original], seen | {name})
        return set()


@cache
def read_module(path):
    return Module(path) if path.exists() else None


FILES = sorted(path for package in PACKAGES for path in (SOURCE / package).glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_no_loop_calls_both_pools(path):
    module = read_module(path)
    loops = [node for node in ast.walk(module.tree) if isinstance(node, (ast.For, ast.While))]
    mixed = [loop.lineno for loop in loops if module.pools(loop) == {"numpy", "scipy"}]
    assert not mixed or f"{path.parent.name}/{path.name}" in CHOOSE_BY_ROWS, f"loops in lines {mixed}"


def test_the_reader_sees_a_mixed_loop(tmp_path):
    source = tmp_path / "mixed.py"
    source.write_text(
        "from scipy.linalg.blas import dsyrk\n"
        "def step(Z):\n    return Z.T @ Z\n"
        "def loop(blocks):\n    for Z in blocks:\n        dsyrk(1.0, Z)\n        step(Z)\n"
    )
    module = Module(source)
    assert module.pools(module.functions["loop"]) == {"numpy", "scipy"}
    assert module.pools(module.functions["step"]) == {"numpy"}


class WithoutMatmul(np.ndarray):
    """An array that refuses NumPy's matrix product."""

    def __array_ufunc__(self, ufunc, method, *inputs, out=(), **options):
        assert ufunc.__name__ not in ("matmul", "vecmat", "matvec", "vecdot"), "NumPy's BLAS was called"
        inputs = [x.view(np.ndarray) if isinstance(x, np.ndarray) else x for x in inputs]
        options |= {"out": tuple(x.view(np.ndarray) for x in out)} if out else {}
        result = getattr(ufunc, method)(*inputs, **options)
        return out[0] if out else result


@pytest.mark.parametrize("labels", ["few", "many", "dense"])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_dense_rows_never_call_numpy_blas(labels, weighted, monkeypatch):
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(50, 4)), rng.random(50) if weighted else None
    F = (rng.random((50, 30)) < {"few": 0.02, "many": 0.5, "dense": 0.5}[labels]).astype(float)
    F = F if labels == "dense" else sparse.csr_array(F)
    want = RowMoments.from_rows(X, F, sample_weight=weights)

    class Numpy:
        """NumPy, whose new arrays refuse its matrix product."""

        def __getattr__(self, name):
            return getattr(np, name)

        def empty(self, *shape, **options):
            return np.empty(*shape, **options).view(WithoutMatmul)

    monkeypatch.setattr("hyperlabel.solvers.moments.row_moments.np", Numpy())
    found = RowMoments.from_rows(X, F, sample_weight=weights)
    for name in ("gram", "cross", "sum_x"):
        assert_allclose(getattr(found, name), getattr(want, name))
    with pytest.raises(AssertionError, match="BLAS"):  # float32 rows go by NumPy alone
        RowMoments.from_rows(X.astype(np.float32), F, sample_weight=weights, single=True)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_margin_losses_of_dense_rows_never_call_numpy_blas(loss):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    T = np.where(rng.random((60, 3)) < 0.5, 1.0, -1.0)
    weight, first = np.ones(60), np.zeros((5, 3))
    rest = T, weight, loss, 1.0, 1e-8, lambda gradient: gradient / 100.0, first
    want, _ = losses._descend_block(X, *rest)
    found, _ = losses._descend_block(X.view(WithoutMatmul), *rest)
    assert_allclose(found, want)


@pytest.mark.parametrize("shape", [(7, 3, 4), (1, 5, 2), (6, 1, 1), (1, 1, 3)])
def test_products_by_scipy_are_those_of_numpy(shape):
    n, d, m = shape
    rng = np.random.default_rng(n + d)
    Z, A, weights = rng.normal(size=(n, d)), rng.normal(size=(n, m)), rng.normal(size=n)
    lower, out, total = np.ones((d, d), order="F"), np.ones((m, d)), np.ones(d)
    add_gram(Z, lower)
    add_product(A, Z, out)
    add_weighted_sum(weights, Z, total)
    assert_allclose(np.tril(lower), np.tril(1.0 + Z.T @ Z))
    assert_allclose(out, 1.0 + A.T @ Z)
    assert_allclose(total, 1.0 + weights @ Z)
    assert_allclose(matvec(Z.T, weights), Z.T @ weights)
    assert_allclose(matvec(Z[:0], Z[0]), np.zeros(0))
    assert_allclose(matvec(Z[:0].T, weights[:0]), np.zeros(d))
    assert_allclose(product(Z.T, A), Z.T @ A)
    assert_allclose(product(A.T.copy(), Z), A.T @ Z)
    assert product(Z.T, A).flags.c_contiguous
