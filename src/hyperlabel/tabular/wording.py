"""Counts and lists in words, for messages."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


def plural(count: int, noun: str) -> str:
    """Count something in words a person would use: 1 row, 2 rows, 0 entries."""
    if count != 1:
        noun = noun[:-1] + "ies" if noun.endswith("ry") else noun + "s"
    return f"{count} {noun}"


def some_names(names: Sequence[str], max_names: int = 5) -> str:
    """Name the first few of a list: a, b, …"""
    return ", ".join(names[:max_names]) + (", …" if len(names) > max_names else "")


def closest_name(name: str, names: Iterable[str]) -> str:
    """Ask whether the most similar name was meant; nothing where none is similar."""
    by_folded_name = {known_name.casefold(): known_name for known_name in names}
    matches = get_close_matches(name.casefold(), by_folded_name, n=1)
    return f" (did you mean {by_folded_name[matches[0]]!r}?)" if matches else ""


def need_labels(named_labels: Iterable[str], label_names: Sequence[str]) -> None:
    """Refuse labels that a model does not know, with the most similar one it does."""
    for name in named_labels:
        if name not in label_names:
            raise ValueError(f"The model has no label {name!r}{closest_name(name, label_names)}.")
