"""Compiled code: its one decorator (cached on disk where possible) and the checks of its arguments.

Compiled loops trust every size, index and value of their arguments. The plain function that calls a kernel
therefore checks once per call what the kernel relies on: shapes, indices in range, and finite numbers where
a comparison or a rounded number decides which entry is read or written.
"""

import importlib
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import cache, partial, update_wrapper
from types import FunctionType
from typing import Any

import numpy as np

from hyperlabel._labels import check_places
from hyperlabel.solvers.clock import COMPILE_TIME

Function = Callable[..., Any]
_FIRST_CALL = threading.Lock()
# So many steps of plain Python, in all calls of a process, take about as long as loading numba does.
INTERPRETED_STEPS = 1_000_000


def compiled(function: Function | None = None, *, fastmath: bool | Collection[str] = False) -> Any:
    """Compile a function at its first call, without the global lock, and cache it for later processes.

    Where neither the installation nor the user's home can be written (a container, say) numba refuses
    to keep anything; the function is then compiled in each process.
    """
    return partial(compiled, fastmath=fastmath) if function is None else _Compiled(function, fastmath)


class _Compiled:
    """A function compiled when it is first called: importing numba takes longer than most predictions.

    The functions it calls are compiled along with it, as numba must see them.
    """

    def __init__(self, function: Function, fastmath: bool | Collection[str]) -> None:
        update_wrapper(self, function)
        self._options = {"nogil": True, "fastmath": fastmath}
        self._ready: Any = None

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self.ready()(*arguments, **named)

    def ready(self) -> Any:
        """Return numba's form of the function."""
        if self._ready is None:
            plain_function: Any = self.__wrapped__
            with COMPILE_TIME.paused():
                with _FIRST_CALL:  # of several threads, one imports numba
                    _watch_numba()
                self._ready = _compile_cached(plain_function, self._options)
            for global_name in plain_function.__code__.co_names:  # numba must see what it calls
                global_object = plain_function.__globals__.get(global_name)
                if isinstance(global_object, _Compiled) and global_object is not self:
                    plain_function.__globals__[global_name] = global_object.ready()
        return self._ready

    def for_steps(self, n_steps: float) -> Function:
        """Return the function to call for about `n_steps` inner steps: plain Python while few were asked for.

        Loading numba costs half a second, compiling seconds. The plain form reads 1-D arrays as lists and
        writes them back, so arguments must not overlap. It gives the same bits: float64, int64, no fastmath.
        """
        if self._ready is None and _BUDGET.takes(n_steps):
            return self._interpret
        return self.ready()

    def _interpret(self, *arguments: Any) -> Any:
        lists = [item.tolist() if isinstance(item, np.ndarray) else item for item in arguments]
        result = _plain_form(self.__wrapped__)(*lists)
        for item, values in zip(arguments, lists, strict=True):
            if isinstance(item, np.ndarray) and item.flags.writeable:
                item[:] = values
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        plain_function: Any = self.__wrapped__
        return _find_function, (plain_function.__module__, plain_function.__qualname__)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.ready(), name)


def _plain_form(function: Any) -> Function:
    """Return a kernel as Python, with the kernels it calls, compiled by now or not."""
    namespace = {}
    for name in function.__code__.co_names:
        if name in function.__globals__:
            item = function.__globals__[name]
            inner_function = (
                item.__wrapped__ if isinstance(item, _Compiled) else getattr(item, "py_func", None)
            )
            namespace[name] = item if inner_function is None else _plain_form(inner_function)
    return FunctionType(function.__code__, namespace)


class _StepBudget:
    """The steps of plain Python that this process has left before it loads compiled code."""

    def __init__(self, n_steps: float) -> None:
        self._left, self._lock = n_steps, threading.Lock()

    def takes(self, n_steps: float) -> bool:
        """Whether so many steps are left; they are then used up."""
        with self._lock:
            if n_steps > self._left:
                return False
            self._left -= n_steps
            return True

    def close(self) -> None:
        """Leave no step."""
        with self._lock:
            self._left = 0.0


_BUDGET = _StepBudget(INTERPRETED_STEPS)


def stop_interpreting() -> None:
    """From here on run every kernel compiled, however small its work."""
    _BUDGET.close()


@cache
def _watch_numba() -> None:
    """Stop the clock whenever numba holds its lock: it compiles, or reads compiled code from disk."""
    import numba  # noqa: F401 - as a whole: threads that import parts of it wait for each other for ever
    from numba.core import event

    class Watch(event.Listener):
        def on_start(self, event: Any) -> None:
            COMPILE_TIME.on_start()

        def on_end(self, event: Any) -> None:
            COMPILE_TIME.on_end()

    event.register("numba:compiler_lock", Watch())


@contextmanager
def counting_compiled() -> Iterator[list[str]]:
    """Give a list that grows by the name of each function that numba compiles meanwhile."""
    from numba.core import event

    compiled_names: list[str] = []

    class Listing(event.Listener):
        def on_start(self, event: Any) -> None:
            compiled_names.append(event.data["dispatcher"].py_func.__name__)

        def on_end(self, event: Any) -> None:
            pass

    listing = Listing()
    event.register("numba:compile", listing)
    try:
        yield compiled_names
    finally:
        event.unregister("numba:compile", listing)


def _find_function(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def _compile_cached(function: Function, options: dict[str, Any]) -> Any:
    import numba

    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "cannot cache function" not in str(error):
            raise
        return numba.njit(**options)(function)


def csr_parts(A: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return `indptr`, `indices` and `data` in the types that compiled code is compiled for once."""
    return A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data.astype(np.float64)


def check_csr_indices(A: Any, shape: tuple[int, ...] | None = None) -> None:
    """Refuse rows whose indices would lead compiled code, which trusts them, outside its arrays."""
    if A.format != "csr":
        raise TypeError(f"Rows must be a csr_array, got {A.format}.")
    if shape is not None:
        check_shape("The sparse matrix", A, shape)
    check_places(A)


def check_shape(name: str, array: Any, shape: tuple[int, ...]) -> None:
    """Refuse an array of another shape than the compiled loops run over."""
    if np.shape(array) != shape:
        raise ValueError(f"{name} must have shape {shape}, got {np.shape(array)}.")


def check_finite(name: str, array: np.ndarray) -> None:
    """Refuse NaN and infinity, for which no comparison picks an index."""
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, and holds NaN or infinity.")
