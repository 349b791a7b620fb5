"""Connections that no client keeps for nothing: uvicorn has no read timeouts and closes no idle one."""

import asyncio
import errno
import socket
from contextlib import suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from hyperlabel.apps.serve.app import Limits, problem

_MOST_CONNECTIONS = 640  # below the 1024 open files that a process usually may have
_SECONDS_TO_STOP = 5
_BACKLOG = 2048


class Connection(H11Protocol):
    """One client's connection; it is closed if the head of a request takes too long.

    The application waits for the body itself. Where there are too many connections, the one that has waited
    longest for a request to be complete is closed for a new one.
    """

    arrival_seconds = Limits.arrival_seconds
    _arrival_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Wait for a first request, but not for long."""
        super().connection_made(transport)
        self.waiting_since = self.loop.time()
        self._start_timer()
        if len(self.connections) > _MOST_CONNECTIONS:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Stop the timer once the head of a request is here; start it where a next one has begun."""
        super().data_received(data)
        if self._is_between_requests():
            self._start_timer()
        else:
            self._stop_timer()

    def on_response_complete(self) -> None:
        """Note since when there has been nothing to do here."""
        self.waiting_since = self.loop.time()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the timer."""
        self._stop_timer()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Wait for answers when the server stops, never for clients."""
        super().shutdown()
        if self.is_waiting():
            self.transport.close()

    def is_waiting(self) -> bool:
        """Say whether it is the client's turn: no request is here in full."""
        return self._is_between_requests() or self.cycle.more_body

    def _is_between_requests(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _start_timer(self) -> None:
        if self._arrival_timer is None:
            self._arrival_timer = self.loop.call_later(self.arrival_seconds, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._arrival_timer is not None:
            self._arrival_timer.cancel()
            self._arrival_timer = None

    def _make_room(self) -> None:
        other_connections: list[Any] = [c for c in self.connections if c is not self]
        idle_connections = [connection for connection in other_connections if connection.is_waiting()]
        if not idle_connections:
            self.app = problem(503, "Too many requests at once: try again.")
            return
        longest_idle = min(idle_connections, key=lambda connection: connection.waiting_since)
        self.connections.discard(longest_idle)
        longest_idle.transport.abort()


def open_port(host: str, port: int) -> socket.socket:
    """Return a socket that listens, so that clients can connect from now on; a used port is one sentence."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise ValueError(
                f"Port {port} is in use: name another with --port, or --port 0 for any."
            ) from error
        raise ValueError(f"Cannot serve {host} on port {port}: {error.strerror or error}.") from error
    return listener


def run_server(app: Any, listener: socket.socket, limits: Limits) -> None:
    """Answer requests on an open port until the process is told to end."""
    server = uvicorn.Server(uvicorn.Config(app, **server_options(limits)))
    with suppress(KeyboardInterrupt):  # Ctrl-C, once everything has been closed
        server.run(sockets=[listener])


def server_options(limits: Limits) -> dict[str, Any]:
    """Return the options of uvicorn by which half-sent requests hinder neither others nor the end."""
    connection_class = type("Connection", (Connection,), {"arrival_seconds": limits.arrival_seconds})
    return {
        "http": connection_class,
        "ws": "none",
        "log_level": "warning",
        "access_log": False,
        "timeout_graceful_shutdown": _SECONDS_TO_STOP,
    }
