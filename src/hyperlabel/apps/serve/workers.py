"""Threads for work that clients ask for: so many and no more, and none that keeps the server from ending."""

import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from queue import SimpleQueue
from typing import Any


class DaemonThreads(Executor):
    """Up to `most` threads, started when first needed; Python waits for those of its own pools to end."""

    def __init__(self, max_workers: int) -> None:
        self._most, self._started, self._starting = max_workers, 0, threading.Lock()
        self._waiting: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Return the future of a call; cancelled before it begins, it takes no thread."""
        future: Future[Any] = Future()
        self._waiting.put((future, lambda: fn(*args, **kwargs)))
        with self._starting:
            if self._started < self._most:
                self._started += 1
                threading.Thread(target=self._run_calls, name="hyperlabel-work", daemon=True).start()
        return future

    def _run_calls(self) -> None:
        while True:
            future, call = self._waiting.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except BaseException as error:
                future.set_exception(error)
            del future, call  # texts of the last request must not wait here for the next one
