"""Constructor parameters, checked where a fit starts, in our own sentences.

An estimator lists rules for its parameters, and validation (`_validation`) applies them::

    class OPLS(LabelProjection):
        _rules = {"n_components": whole(1, none=True), "alpha": number(0), "solver": one_of("auto", "gram")}

Rules of base classes are inherited; a subclass overrides them by name. What depends on several
parameters, or on the data, is checked where it is known.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Rule:
    """What a parameter may be: a test, and the words that end "must be …"."""

    accepts: Callable[[Any], bool]
    wording: str

    def __or__(self, other: Rule) -> Rule:
        """Either of the two."""
        return Rule(
            lambda value: self.accepts(value) or other.accepts(value), f"{self.wording} or {other.wording}"
        )


def number(low: float | None = None, high: float | None = None, *, above: float | None = None) -> Rule:
    """A finite number from `low` to `high`, or greater than `above`."""

    def accepts(value: Any) -> bool:
        if not isinstance(value, numbers.Real) or isinstance(value, (bool, np.bool_)):
            return False
        as_float = float(value)
        return (
            math.isfinite(as_float)
            and (low is None or as_float >= low)
            and (high is None or as_float <= high)
            and (above is None or as_float > above)
        )

    if low is not None and high is not None:
        return Rule(accepts, f"a number from {low:g} to {high:g}")
    if above is not None:
        below = "" if high is None else f" and at most {high:g}"
        return Rule(accepts, f"a finite number above {above:g}{below}")
    return Rule(accepts, "a finite number" + ("" if low is None else f" of at least {low:g}"))


def each_number(low: float | None = None) -> Rule:
    """Several finite numbers of at least `low`."""
    one = number(low)

    def accepts(value: Any) -> bool:
        return np.ndim(value) == 1 and len(value) > 0 and all(map(one.accepts, value))

    return Rule(accepts, "several such numbers")


def whole(low: int = 1) -> Rule:
    """A whole number of at least `low`."""

    def accepts(value: Any) -> bool:
        return isinstance(value, numbers.Integral) and not isinstance(value, bool) and int(value) >= low

    return Rule(accepts, f"a whole number of at least {low}")


def one_of(*words: str) -> Rule:
    """One of these words."""
    listed = " or ".join([", ".join(map(repr, words[:-1])), repr(words[-1])]) if words[1:] else repr(words[0])
    return Rule(lambda value: isinstance(value, str) and value in words, listed)


def callable_() -> Rule:
    """A function."""
    return Rule(callable, "a function")


NONE = Rule(lambda value: value is None, "None")
FLAG = Rule(lambda value: isinstance(value, (bool, np.bool_)), "True or False")


def check_params(estimator: Any) -> None:
    """Refuse the first parameter that breaks its rule."""
    rules: dict[str, Rule] = {}
    for kind in reversed(type(estimator).__mro__):
        rules |= vars(kind).get("_rules", {})
    for name, rule in rules.items():
        value = getattr(estimator, name, None)
        if hasattr(estimator, name) and not rule.accepts(value):
            raise ValueError(f"{name} must be {rule.wording}, got {value!r}.")


def forget_fit(estimator: Any) -> None:
    """Drop what an earlier fit left: fitted attributes end in an underscore, private ones too."""
    for name in [name for name in vars(estimator) if name.endswith("_")]:
        delattr(estimator, name)


def start_fit(estimator: Any) -> None:
    """Begin a fit: parameters are checked, then the last fit is forgotten."""
    check_params(estimator)
    forget_fit(estimator)


def clip_components(n_components: int | None, largest: int) -> int:
    """Return how many components to keep: as many as asked for, at most as many as there are."""
    return largest if n_components is None else min(int(n_components), largest)
