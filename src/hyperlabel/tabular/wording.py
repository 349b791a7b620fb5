"""Counts and lists in words, for messages."""

from collections.abc import Sequence


def plural(count: int, noun: str) -> str:
    """Count something in words a person would use: 1 row, 2 rows, 0 entries."""
    if count != 1:
        noun = noun[:-1] + "ies" if noun.endswith("ry") else noun + "s"
    return f"{count} {noun}"


def some_names(names: Sequence[str], max_names: int = 5) -> str:
    """Name the first few of a list: a, b, …"""
    return ", ".join(names[:max_names]) + (", …" if len(names) > max_names else "")
