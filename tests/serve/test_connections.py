"""Clients that send half a request, or leave: others are served, and the server can be stopped."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress

import pytest

pytest.importorskip("uvicorn")
import uvicorn

from hyperlabel.apps.serve import Limits, make_app, server_options  # asks for it

HALF_HEAD = b"POST /v1/projects/notes/suggest HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n"
HALF_BODY = HALF_HEAD + b"\r\ntext="


class Project:
    """A model whose answers take as long as told."""

    project_id, label_names, learns = "notes", ("music", "travel"), False

    def sources(self, documents):
        return None

    def __init__(self, seconds=0.0):
        self.seconds, self.calls = seconds, 0

    def ranked(self, texts):
        self.calls += 1
        time.sleep(self.seconds)
        return [[(0, 0.5), (1, 0.5)]] * len(texts)


@contextmanager
def serving(project=None, **limits):
    """Run a server on loopback; give its port."""
    allowed = Limits(**limits)
    app = make_app([project or Project()], limits=allowed)
    server = uvicorn.Server(uvicorn.Config(app, port=0, **server_options(allowed)))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive()


def connect(port, sent=b""):
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.sendall(sent)
    return connection


def ask(port, method="GET", path="/healthz", body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, answer.headers["content-type"], answer.read()
    finally:
        connection.close()


def trickle(connection, sent):
    """Send a byte now and then, until the other side has had enough."""
    with suppress(OSError):
        for byte in sent:
            connection.sendall(bytes([byte]))
            time.sleep(0.05)


def seconds_until_closed(connection):
    start = time.monotonic()
    while connection.recv(65536):
        pass
    return time.monotonic() - start


@pytest.mark.parametrize("sent", [HALF_HEAD, HALF_BODY], ids=["heads", "bodies"])
def test_half_sent_requests_of_some_take_no_place_from_others(sent):
    with serving(arrival_seconds=60) as port:
        halves = [connect(port, sent) for _ in range(260)]
        time.sleep(0.2)
        assert ask(port)[0] == 200
        assert ask(port, "POST", "/v1/projects/notes/suggest", "text=a")[0] == 200
        for connection in halves:
            connection.close()


def test_a_flood_of_answered_connections_closes_idle_ones_only():
    with serving() as port:
        busy = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        for _ in range(3):
            idle = [connect(port) for _ in range(100)]
            busy.request("GET", "/healthz")
            assert busy.getresponse().read()
            for connection in idle:
                connection.close()
        busy.close()


def test_more_complete_requests_than_places_are_told_so_as_a_problem(monkeypatch):
    monkeypatch.setattr("hyperlabel.apps.serve.connections._MOST_CONNECTIONS", 2)
    with serving(Project(0.5)) as port:
        whole = HALF_HEAD + b"\r\ntext=piano"
        working = [connect(port, whole) for _ in range(2)]
        time.sleep(0.2)
        status, kind, body = ask(port)
        assert (status, kind) == (503, "application/problem+json")
        assert json.loads(body)["detail"].startswith("Too many requests")
        for connection in working:
            assert connection.recv(100).startswith(b"HTTP/1.1 200")
            connection.close()
        assert ask(port)[0] == 200


def test_a_head_that_does_not_arrive_in_time_closes_the_connection():
    with serving(arrival_seconds=0.3) as port:
        for sent in (b"", HALF_HEAD):
            with connect(port, sent) as connection:
                assert seconds_until_closed(connection) < 3


def test_a_client_that_sends_a_byte_now_and_then_gains_no_time():
    with serving(arrival_seconds=0.5) as port:
        for first in (b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"):
            with connect(port, first) as connection:
                trickler = threading.Thread(target=trickle, args=(connection, HALF_HEAD))
                trickler.start()
                with suppress(ConnectionResetError):
                    assert seconds_until_closed(connection) < 3
                trickler.join()


def test_a_body_that_does_not_arrive_in_time_is_answered_and_closed():
    with serving(arrival_seconds=0.3) as port, connect(port, HALF_BODY) as connection:
        answer = b""
        while block := connection.recv(65536):
            answer += block
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"application/problem+json" in answer


def test_a_request_that_takes_as_long_as_it_may_is_not_threshold_short():
    with serving(Project(0.6), arrival_seconds=0.2) as port:
        for _ in range(2):
            assert ask(port, "POST", "/v1/projects/notes/suggest", "text=a")[0] == 200


def test_a_body_said_to_be_too_large_is_refused_before_it_is_sent():
    head = "POST /v1/projects/notes/suggest HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\nabc"
    with serving() as port:
        for length in (2**20 + 1, 99999999999):
            with connect(port, head.format(length).encode()) as connection:
                assert connection.recv(100).startswith(b"HTTP/1.1 413")


def test_a_client_that_leaves_in_mid_body_leaves_nothing_in_the_log(capfd):
    with serving() as port:
        for sent in (HALF_BODY, HALF_BODY.replace(b"suggest", b"suggest-batch"), HALF_HEAD):
            connect(port, sent).close()
        time.sleep(0.3)
        assert ask(port)[0] == 200
    assert capfd.readouterr() == ("", "")


def test_work_given_up_keeps_its_thread_so_that_threads_do_not_pile_up():
    project = Project(0.5)
    before = threading.active_count()
    with serving(project, seconds=0.1) as port:
        statuses, most = [], 0

        def suggest():
            statuses.append(ask(port, "POST", "/v1/projects/notes/suggest", "text=a")[0])

        for _ in range(3):
            clients = [threading.Thread(target=suggest) for _ in range(30)]
            for client in clients:
                client.start()
            for client in clients:
                client.join()
            most = max(most, threading.active_count() - before)
        assert set(statuses) == {503}
        assert most <= 1 + 8  # the server's own and its workers
        assert project.calls < 60  # what nobody waits for any more is not begun


@contextmanager
def served_process(command):
    """Start a server by a command that takes the port last; give its process and port once it answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [*command, str(port)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        while process.poll() is None:
            try:
                ask(port)
                break
            except OSError:
                time.sleep(0.05)
        yield process, port
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_server_ends_when_told_whatever_its_clients_do(made, number, monkeypatch):
    monkeypatch.delenv("HYPERLABEL_TOKEN", raising=False)
    whole = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    command = [sys.executable, "-m", "hyperlabel", "serve", str(made["model"]), "--port"]
    with served_process(command) as (process, port):
        clients = [connect(port, sent) for sent in (b"", HALF_HEAD, HALF_BODY, whole, whole + HALF_BODY)]
        time.sleep(0.2)
        process.send_signal(number)
        _, said = process.communicate(timeout=10)
        assert "Traceback" not in said
        for client in clients:
            client.close()


BUSY_SERVER = """
import sys, time, uvicorn
from hyperlabel.apps.serve import Limits, make_app, server_options
from hyperlabel.apps.serve import connections

class Project:
    project_id, label_names, learns = "notes", ("music",), False

    def sources(self, documents):
        return None

    def ranked(self, texts):
        print("working", flush=True)
        time.sleep(60)

connections._SECONDS_TO_STOP = 1
limits = Limits(seconds=60)
uvicorn.run(make_app([Project()], limits=limits), port=int(sys.argv[1]), **server_options(limits))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_server_ends_while_work_is_under_way_and_tells_the_client(number):
    with served_process([sys.executable, "-c", BUSY_SERVER]) as (process, port):
        with connect(port, HALF_HEAD + b"\r\ntext=piano") as client:
            assert process.stdout.readline() == "working\n"
            process.send_signal(number)
            _, said = process.communicate(timeout=10)
            answer = client.recv(65536)
        assert answer.startswith(b"HTTP/1.1 503")
        assert b"being stopped" in answer
        assert "Traceback" not in said
