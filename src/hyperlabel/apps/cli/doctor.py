"""``hyperlabel doctor``: versions, threads, optional parts, and a self-test."""

import importlib.metadata
import os
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

import click

from hyperlabel.apps.cli._output import print_json

_NEEDED = ("numpy", "scipy", "scikit-learn", "numba", "click", "rich")
_OPTIONAL = {
    "pandas": "DataFrames",
    "pyarrow": "Parquet files",
    "matplotlib": "figures",
    "jinja2": "reports",
    "dask": "distributed fits",
    "distributed": "distributed fits",
}


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.option("--warm", is_flag=True, help="Compile what every method needs, once for all later processes.")
def doctor(as_json: bool, warm: bool) -> None:
    """Check this installation; exit code 1 if the self-test fails."""
    from hyperlabel import __version__
    from hyperlabel.apps.cli._compile_ahead import compile_ahead

    findings: dict[str, Any] = {
        "hyperlabel": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "needed": {name: _package_version(name) for name in _NEEDED},
        "optional": {name: _package_version(name) for name in _OPTIONAL},
        "cpus": os.cpu_count(),
        "threads": _thread_settings(),
        "self_test": self_test(),
    }
    if warm:
        findings["compiled"] = compile_ahead()
    if as_json:
        print_json(findings)
    else:
        _print_findings(findings)
    if not all(check["ok"] for check in findings["self_test"]):
        raise click.exceptions.Exit(1)


def _package_version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _thread_settings() -> list[dict[str, Any]]:
    import numpy as np
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))
    pool_keys = ("user_api", "internal_api", "version", "num_threads")
    return [{key: pool.get(key) for key in pool_keys} for pool in threadpool_info()]


def self_test() -> list[dict[str, Any]]:
    """Fit, compile, save and load something small; report each check."""
    import numpy as np

    import hyperlabel as hl
    from hyperlabel.datasets import make_multilabel

    dataset = make_multilabel(120, 8, 4, random_state=0)

    def reloads_model() -> bool:
        model = hl.BinaryRelevance().fit(dataset.X, dataset.Y)
        with tempfile.TemporaryDirectory() as folder:
            model_path = Path(folder, "model.hyper")
            hl.save(model, model_path)
            reloaded_model = hl.load(model_path)
        return np.array_equal(reloaded_model.decision_function(dataset.X), model.decision_function(dataset.X))

    self_checks = {
        "shared ridge": lambda: hl.BinaryRelevance().fit(dataset.X, dataset.Y).residual_ < 1e-8,
        "compiled solver": lambda: hl.RankSVM(tol=1e-2).fit(dataset.X, dataset.Y).dual_gap_ <= 1e-2,
        "model file": reloads_model,
    }
    return [_run_check(name, check) for name, check in self_checks.items()]


def _run_check(name: str, check: Any) -> dict[str, Any]:
    start_seconds = time.perf_counter()
    try:
        ok, error_text = bool(check()), None
    except Exception as failure:  # the doctor reports whatever is broken
        ok, error_text = False, f"{type(failure).__name__}: {failure}"
    seconds = round(time.perf_counter() - start_seconds, 2)
    return {"check": name, "ok": ok, "error": error_text, "seconds": seconds}


def _print_findings(findings: dict[str, Any]) -> None:
    click.echo(f"hyperlabel {findings['hyperlabel']}, Python {findings['python']}, {findings['platform']}")
    for name, version in findings["needed"].items():
        click.echo(f"  {name:13} {version or 'MISSING: pip install ' + name}")
    for name, version in findings["optional"].items():
        click.echo(f"  {name:13} {version or 'not installed (' + _OPTIONAL[name] + ')'}")
    pool_list = ", ".join(f"{pool['internal_api']} {pool['num_threads']}" for pool in findings["threads"])
    click.echo(f"  threads       {findings['cpus']} CPUs; {pool_list}")
    for check in findings["self_test"]:
        state = "ok" if check["ok"] else f"FAILED ({check['error'] or 'wrong answer'})"
        click.echo(f"  self-test     {check['check']}: {state} ({check['seconds']} s)")
    if "compiled" in findings:
        compiled = findings["compiled"]
        click.echo(f"  compiled      {compiled['kernels']} kernels in {compiled['seconds']} s, kept on disk")
