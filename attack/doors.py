"""Attacks on what is no file: requests made from openapi.json, options of commands, pages in a browser."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import logging
import random
import re
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import click
from click.testing import CliRunner
from tests.report.browsing import Browser

from attack import model_files
from attack.mutate import Wrong, damage
from hyperlabel.apps.cli import main as cli

TEXTS = ["", "an apple", "word1 word2", "\0", "é\u2028\u202e", "\ud800", "a" * 3000, "%s{}[]", "null"]
NUMBERS = [0, 1, -1, 10, 0.5, 10**12, -(10**30), 1e308, True]
ODD = [*TEXTS, *NUMBERS, None, [], {}, [[]], {"text": {}}, [None] * 40]


class Refused(Exception):
    """A door stayed shut in the way it should."""


# -- requests ---------------------------------------------------------------------------------------------

ARRIVAL_SECONDS = 1.0
MOST_CONNECTIONS = 24
PATIENCE = 10.0  # seconds, beyond what the server waits itself


@functools.cache
def _openapi() -> dict[str, Any]:
    from hyperlabel.apps.serve import app

    return json.loads(Path(app.__file__).with_name("openapi.json").read_bytes())


def _resolve(node: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in node:
        found: Any = _openapi()
        for key in node["$ref"].removeprefix("#/").split("/"):
            found = found[key]
        node = found
    return node


def _draw(schema: dict[str, Any], rng: random.Random) -> Any:
    """Draw a value that a schema allows, and now and then one that it does not."""
    if rng.random() < 0.06:
        return rng.choice(ODD)
    schema = _resolve(schema)
    for several in ("oneOf", "anyOf", "allOf"):
        if several in schema:
            return _draw(rng.choice(schema[several]), rng)
    kind = schema.get("type", "object")
    if kind == "object":
        names = [name for name in schema.get("properties", {}) if rng.random() < 0.85]
        return {name: _draw(schema["properties"][name], rng) for name in names}
    if kind == "array":
        return [_draw(schema.get("items", {}), rng) for _ in range(rng.choice((0, 1, 2, 33)))]
    if kind in ("integer", "number"):
        return rng.choice((0, 1, 10, 0.5))
    return rng.choice([*schema.get("enum", ()), "l0", "urn:hyperlabel:l1", *TEXTS])


def request(rng: random.Random) -> bytes:
    """Draw a request of the API and how it is sent: whole, slowly, in part, or in part by many clients."""
    path, methods = rng.choice(list(_openapi()["paths"].items()))
    method = rng.choice([name for name in methods if name in ("get", "post")])
    operation = methods[method]
    path = path.replace("{project_id}", "m" if rng.random() < 0.95 else quote(rng.choice(TEXTS[:4])))
    query = [_resolve(one) for one in operation.get("parameters", ()) if rng.random() < 0.5]
    fields = {one["name"]: _draw(one["schema"], rng) for one in query if one["in"] == "query"}
    target = f"/v1{path}" + (f"?{_form(fields)}" if fields else "")
    body, form = b"", ""
    if "requestBody" in operation:
        contents = _resolve(operation["requestBody"])["content"]
        form = rng.choice(list(contents))
        value = _draw(contents[form]["schema"], rng)
        body = json.dumps(value).encode() if "json" in form or not isinstance(value, dict) else b""
        body = body or _form(value).encode()
    head = f"{method.upper()} {target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
    head += f"Content-Type: {form}\r\nContent-Length: {len(body)}\r\n" if form else ""
    raw = f"{head}\r\n".encode() + body
    manner = rng.choices(("whole", "slow", "half", "many"), (80, 8, 9, 3))[0]
    if manner == "whole" and rng.random() < 0.4:
        manner, raw = "damaged", damage(raw, rng)
    return f"{manner}\n".encode() + raw


def _form(fields: dict[str, Any]) -> str:
    return urlencode({name: str(value) for name, value in fields.items()}, errors="surrogatepass")


class _Errors(logging.Handler):
    """Keeps what a server could not handle."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(self.format(record))


@functools.cache
def _server() -> tuple[int, _Errors, list[str]]:
    """Start a server of a text model in a thread; return its port, its errors and its log."""
    import uvicorn

    from hyperlabel.apps.serve import Limits, ServedModel, connections, make_app, open_port

    folder = Path(tempfile.mkdtemp())
    (folder / "m.hyper").write_bytes(model_files.fitted_by_command()[0])
    limits = Limits(body=1 << 16, arrival_seconds=ARRIVAL_SECONDS)
    log: list[str] = []
    connections._MOST_CONNECTIONS = MOST_CONNECTIONS
    app = make_app([ServedModel(str(folder / "m.hyper"), learns=True)], limits=limits, log=log.append)
    errors, listener = _Errors(), open_port("127.0.0.1", 0)
    logging.getLogger("uvicorn.error").addHandler(errors)
    options = connections.server_options(limits) | {"log_config": None}
    server = uvicorn.Server(uvicorn.Config(app, **options))
    threading.Thread(target=lambda: asyncio.run(server.serve([listener])), daemon=True).start()
    port = listener.getsockname()[1]
    _ask(port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    return port, errors, log


def _connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=ARRIVAL_SECONDS + PATIENCE)


def _read(client: socket.socket) -> bytes:
    """Read until the server closes; it must."""
    found = b""
    try:
        while block := client.recv(1 << 16):
            found += block
    except TimeoutError:
        raise Wrong("a connection is kept open") from None
    except OSError:
        pass  # closed without a word
    return found


def _ask(port: int, raw: bytes, pieces: int = 1) -> bytes:
    with _connect(port) as client, contextlib.suppress(OSError):
        size = -(-len(raw) // pieces) or 1
        for start in range(0, len(raw), size):
            client.sendall(raw[start : start + size])
            time.sleep(0.02 if pieces > 1 else 0.0)
        return _read(client)
    return b""


def send(path: Path) -> None:
    """Send a request; the server answers or closes, never fails, and has an answer for the next client."""
    port, errors, log = _server()
    errors.records.clear(), log.clear()
    manner, _, raw = path.read_bytes().partition(b"\n")
    answer = b""
    with contextlib.ExitStack() as left_open:
        if manner in (b"half", b"many"):
            clients = [left_open.enter_context(_connect(port)) for _ in range(1 if manner == b"half" else 40)]
            for client in clients:
                with contextlib.suppress(OSError):
                    client.sendall(raw[: max(1, len(raw) * 2 // 3)])
        else:
            answer = _ask(port, raw, 3 if manner == b"slow" else 1)
        health = _ask(port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        if not health.startswith(b"HTTP/1.1 200"):
            raise Wrong(f"the next client is not answered: {health[:60]!r}")
        if manner == b"half":
            answer = _read(clients[0])
    status = int(found[1]) if (found := re.match(rb"HTTP/1\.1 (\d{3})", answer)) else 0
    if errors.records or status >= 500:
        raise Wrong(f"status {status}: {' '.join(errors.records)[-300:]}")
    if manner in (b"whole", b"slow") and not status:
        raise Wrong("a whole request has no answer")
    from_app = status and b"Invalid HTTP request" not in answer
    if from_app and b"x-content-type-options: nosniff" not in answer.lower():
        raise Wrong("an answer without its guards")
    if manner == b"whole" and len(log) != 2:
        raise Wrong(f"{len(log)} lines of log for two requests")
    if not 200 <= status < 300:
        raise Refused(str(status))


# -- options ----------------------------------------------------------------------------------------------

NOT_RUN = ("serve", "demo", "doctor")  # the first is attacked above, the others read no file
_FILES = ("t.csv", "t.jsonl", "m.hyper", "nothing.csv", "t.txt", ".", "")
_SMALL = [*map(str, (-1, 0, 1, 2, 3, 0.5, 1e-9)), "nan", "inf", "x", "", "0x1", "1_0"]


def _commands(group: Any, words: list[str]) -> Iterator[tuple[list[str], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command, [*words, name])
        elif name not in NOT_RUN:
            yield [*words, name], command


@functools.cache
def _all_commands() -> list[tuple[list[str], click.Command]]:
    return list(_commands(cli, []))


def _value(param: click.Parameter, rng: random.Random) -> str:
    if isinstance(param.type, click.Choice) and rng.random() < 0.8:
        return str(rng.choice(list(param.type.choices)))
    if isinstance(param.type, (click.types.IntParamType, click.types.FloatParamType)):
        return rng.choice(_SMALL)
    if rng.random() < 0.5:
        return rng.choice(_FILES)
    named = ["tags", "text", "nobody", "tags,text", "-1", "text:1", "l0", "'", "\u202e", "a\nb"]
    return rng.choice([*named, *_SMALL])


def options(rng: random.Random) -> bytes:
    """Draw a command with some of its options, each with a value that means something somewhere."""
    words, command = rng.choice(_all_commands())
    line = list(words)
    for param in command.params:
        if isinstance(param, click.Argument):
            right = "m.hyper" if "model" in (param.name or "") else "t.csv"
            values = [right if rng.random() < 0.8 else rng.choice(_FILES)]
            line += values * (1 if param.nargs == 1 else rng.choice((1, 1, 2)))
    likely = {"--labels": "tags", "-o": "out", "--output": "out", "--text": "text"}
    drawn = rng.sample(command.params, min(len(command.params), rng.choice((0, 1, 2, 3))))
    for param in command.params:
        names = [name for name in param.opts if name.startswith("-")]
        if not names or "--help" in names:
            continue
        usual = next((likely[name] for name in names if name in likely), None)
        if param in drawn:
            line += [names[-1], *([] if getattr(param, "is_flag", False) else [_value(param, rng)])]
        elif usual and rng.random() < 0.8:
            line += [names[-1], usual]
    if words == ["compare"]:
        line += ["--methods", "ridge", "--folds", "2", "--repeats", "1"]
    if words == ["fit"]:
        line += ["--method", rng.choice(("ridge", "mlknn"))]
    return json.dumps(line).encode()


def run_options(path: Path) -> None:
    """A command works or ends in one sentence, whatever its options say."""
    line = json.loads(path.read_bytes())
    model, table = model_files.fitted_by_command()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        Path("m.hyper").write_bytes(model)
        Path("t.csv").write_bytes(table)
        Path("t.txt").write_text("an apple\n")
        Path("t.jsonl").write_text('{"text": "word1", "tags": ["l0"]}\n{"text": "word2", "tags": []}\n')
        done = CliRunner().invoke(cli, line, input="")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    if done.exit_code not in (0, 1, 2):
        raise Wrong(f"exit code {done.exit_code}")
    if done.exit_code == 2 and len(done.stderr.strip()) < 10:
        raise Wrong("refused without a sentence")
    if done.exit_code:
        raise Refused(done.stderr)


# -- pages ------------------------------------------------------------------------------------------------

_ACTION = "window.attacked=1;document.title='hijacked'"
PAYLOADS = [
    f"</script><script>{_ACTION}</script>",
    f'<img src=x onerror="{_ACTION}">',
    f"<svg onload={_ACTION}>",
    f"'\" onmouseover='{_ACTION}' autofocus onfocus=\"{_ACTION}\"",
    f"</title></style></textarea><script>{_ACTION}</script>",
    f"javascript:{_ACTION}",
    f"`${{{_ACTION}}}`",
    f"\\u003cimg src=x onerror={_ACTION}\\u003e",
    "<!--<script>",
    "]]>",
    "{{7*7}}{% raw %}",
    "__proto__",
    "constructor",
    "\u2028\u2029\u202e",
    "&lt;b&gt;&#39;",
    "http://127.0.0.1:9/x.png",
    "<link rel=stylesheet href=//127.0.0.1:9/x.css><iframe src=//127.0.0.1:9/>",
]


def page(rng: random.Random) -> bytes:
    """Draw a table whose texts and label names are hostile."""
    names = rng.sample(PAYLOADS, 3)
    if rng.random() < 0.5:
        names = [name + rng.choice(PAYLOADS) for name in names]
    rows = []
    for i in range(40):
        tags = [name for name in names if rng.random() < 0.4] or names[:1]
        words = [f"word{rng.randrange(30)}" for _ in range(8)]
        rows.append({"text": " ".join(words) + (rng.choice(PAYLOADS) if i % 3 else ""), "tags": tags})
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@functools.cache
def _browser() -> Browser:
    return Browser(Path(tempfile.mkdtemp()))


def show_pages(path: Path) -> None:
    """The pages of the data and of a model fitted on them: no script of theirs runs, nothing is asked for."""
    with tempfile.TemporaryDirectory() as folder:
        data, model, html = Path(folder, "t.jsonl"), Path(folder, "m.hyper"), Path(folder, "p.html")
        shutil.copy(path, data)
        table = [str(data), "--labels", "tags", "--text", "text"]
        model_files.run_command("fit", *table, "-o", str(model))
        for command in (["report", str(model), str(data)], ["data", "report", *table]):
            model_files.run_command(*command, "-o", str(html))
            _look(html.read_text(encoding="utf-8", errors="surrogatepass"))


# Every view is opened, and whatever can be seen in it is clicked.
_CLICK = """(async () => {
  const click = (what) => [...document.querySelectorAll(what)].filter((e) => e.checkVisibility()).map((e) => e.click());
  const wait = () => new Promise((done) => setTimeout(done, 60));
  click("button, summary, input, select");
  const views = [...new Set([...document.querySelectorAll("a[href^='#']")].map((e) => e.getAttribute("href")))];
  for (const view of views.slice(0, 9)) { location.hash = view; await wait(); click("button, summary, input, select"); }
  await wait();
})()"""  # noqa: E501 - lines of JavaScript


def _look(html: str) -> None:
    browser = _browser()
    browser.open(html)
    browser.run(_CLICK)
    if browser.run("window.attacked || document.title === 'hijacked'"):
        raise Wrong("a script of the data ran")
    if browser.asked or browser.console:
        raise Wrong(f"asked for {browser.asked[:3]}, said {browser.console[:3]}")
