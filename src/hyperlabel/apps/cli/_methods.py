"""From a name of the catalogue and the user's rows to the steps of the Pipeline that ``fit`` fits."""

from collections.abc import Sequence

import click

# What --method takes, so that a wrong name is refused before the methods are loaded; a test compares them.
METHODS = (
    *("auto", "ridge", "kernel-ridge", "forest", "plst", "cplst", "spectral", "hopls-mlknn", "mlknn"),
    *("rank-svm", "hypergraph-rank-svm", "calibrated-ranking", "powerset", "logistic", "linear-svm"),
    *("chain-ensemble", "prior"),
)


def list_methods() -> dict[str, str]:
    """Return the names that ``--method`` takes, and what they are."""
    from hyperlabel.meta.catalogue import CATALOGUE

    auto = {"auto": "tries a portfolio within --time-budget and keeps the best"}
    return auto | {method.name: method.title for method in CATALOGUE}


def print_methods(methods: dict[str, str]) -> None:
    """Print names and what they are."""
    for name, what in methods.items():
        click.echo(f"{name:{max(map(len, methods))}}  {what}")


def need_methods(named: Sequence[str], known: Sequence[str] = METHODS) -> None:
    """Refuse names that no method has, before the methods themselves are loaded."""
    for name in named:
        if name not in known:
            raise ValueError(f"There is no method {name!r}: choose from {', '.join(known)}.")
