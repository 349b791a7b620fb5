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

    auto_entry = {"auto": "tries a portfolio within --time-budget and keeps the best"}
    return auto_entry | {method.name: method.title for method in CATALOGUE}


def print_methods(methods: dict[str, str]) -> None:
    """Print names and what they are."""
    for method_name, title in methods.items():
        click.echo(f"{method_name:{max(map(len, methods))}}  {title}")


def need_methods(requested_names: Sequence[str], method_names: Sequence[str] = METHODS) -> None:
    """Refuse names that no method has, before the methods themselves are loaded."""
    for requested_name in requested_names:
        if requested_name not in method_names:
            raise ValueError(f"There is no method {requested_name!r}: choose from {', '.join(method_names)}.")
