"""Compiled code: its one decorator (kept on disk where there is a place) and the check at its door."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, overload

import numba

Function = Callable[..., Any]


@overload
def compiled(function: Function) -> Function: ...
@overload
def compiled(*, fastmath: bool | Collection[str]) -> Callable[[Function], Function]: ...
def compiled(function: Function | None = None, *, fastmath: bool | Collection[str] = False) -> Any:
    """Compile a function at its first call, free of the global lock, and keep it for later processes.

    Where neither the installation nor the user's home can be written (a container, say) numba refuses
    at import to keep anything; the function is then compiled in each process.
    """
    if function is None:
        return lambda found: _compiled(found, fastmath)
    return _compiled(function, fastmath)


def _compiled(function: Function, fastmath: bool | Collection[str]) -> Function:
    options = {"nogil": True, "fastmath": fastmath}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise
        return numba.njit(**options)(function)


def check_rows(A: Any) -> None:
    """Refuse rows whose indices would lead compiled code, which trusts them, outside its arrays."""
    if A.format != "csr":
        raise TypeError(f"Rows must be a csr_array, got {A.format}.")
    A.check_format(full_check=True)
