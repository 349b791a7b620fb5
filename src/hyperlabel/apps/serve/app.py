"""The application: a project is a model (`ServedModel`); answers are those of Annif's REST API v1.

Work runs in threads with a time limit; a project changes once what it has learned is on disk.
Errors are problem documents (RFC 9457) that name neither paths nor traces.
"""

import asyncio
import base64
import hmac
import ipaddress
import json
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

import anyio.to_thread
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException as Refused
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from hyperlabel import __version__
from hyperlabel.apps.serve.row_inputs import UnreadableRow
from hyperlabel.apps.serve.workers import DaemonThreads

_DECIMAL = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_HOST_AND_PORT = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]]+)(?::[0-9]*)?")
# The page shows texts: no other site may frame it, no cache keep it; answers are what they say they are.
_GUARDS = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cache-control", b"no-store"),
]
_workers = DaemonThreads(8)


@dataclass(frozen=True)
class Limits:
    """What one request may ask for; `arrival_seconds` are for its head and as many again for its body."""

    body: int = 1 << 20
    batch: int = 32
    seconds: float = 10.0
    arrival_seconds: float = 10.0


def make_app(
    projects: list[Any],
    *,
    page: str = "",
    token: str | None = None,
    limits: Limits | None = None,
    log: Callable[[str], None] | None = None,
) -> Any:
    """Return the ASGI application; with a token, every request but ``/healthz`` must carry it.

    `log` is called with one line for each request: who asked, for what, and how it ended; never with texts.
    """
    project_of_name = {project.project_id: project for project in projects}
    if len(project_of_name) < len(projects):
        raise ValueError("Two models have the same name: rename one of the files.")
    request_limits, backend_entry = limits or Limits(), {"backend_id": "hyperlabel"}
    common_fields = {"language": "en", "vocab_language": "en", "is_trained": True, "backend": backend_entry}
    project_entries = {name: {"project_id": name, "name": name, **common_fields} for name in project_of_name}

    def operation(project_operation: Callable[..., Any] | None) -> Callable[[Request], Any]:
        async def run(request: Request) -> Response:
            if (project_name := request.path_params["project_id"]) not in project_of_name:
                raise Refused(404, "There is no such project.")
            if project_operation is None:
                return _make_json_response(project_entries[project_name])
            project, body = project_of_name[project_name], await _read_body(request, request_limits)
            answer = await project_operation(project, request, body, request_limits)
            return Response(status_code=204) if answer is None else _make_json_response(answer)

        return run

    openapi_document = Path(__file__).with_name("openapi.json").read_bytes()
    fixed_responses = {
        "/": HTMLResponse(page) if page else _make_json_response({"projects": list(project_of_name)}),
        "/healthz": _make_json_response({"status": "ok", "projects": len(project_of_name)}),
        "/v1/": _make_json_response({"title": "hyperlabel, by Annif's REST API", "version": __version__}),
        "/v1/openapi.json": Response(openapi_document, media_type="application/json"),
        "/v1/projects": _make_json_response({"projects": list(project_entries.values())}),
    }
    routes = [Route(url_path, response, methods=["GET"]) for url_path, response in fixed_responses.items()]
    works = {"suggest": _suggest, "suggest-batch": _suggest_batch, "explain": _explain, "learn": _learn}
    routes.append(Route(project_path := "/v1/projects/{project_id}", operation(None)))
    routes += [
        Route(f"{project_path}/{operation_name}", operation(work), methods=["POST"])
        for operation_name, work in works.items()
    ]
    exception_handlers: Any = {Refused: _answer_refused, Exception: _answer_failed}
    return _RequestValidation(Starlette(routes=routes, exception_handlers=exception_handlers), token, log)


async def _suggest(project: Any, request: Request, body: bytes, limits: Limits) -> Any:
    document, fields = _parse_document(request, body)
    (suggestions,) = await _run_limited(limits, _suggest_labels, project, [document], *_asked_of(fields))
    return {"results": suggestions}


async def _suggest_batch(project: Any, request: Request, body: bytes, limits: Limits) -> Any:
    result_limits, json_body = _asked_of(request.query_params), _parse_json(body)
    documents: Any = json_body.get("documents") if isinstance(json_body, dict) else None
    if not isinstance(documents, list) or not all(isinstance(d, dict) for d in documents):
        documents = [{}]
    rows, document_ids = [_content_of(d) for d in documents], [d.get("document_id") for d in documents]
    if any(row is None for row in rows) or not all(isinstance(i, str | None) for i in document_ids):
        raise Refused(400, 'The body must be {"documents": [{"text": "…"}, …]}.')
    if len(rows) > limits.batch:
        raise Refused(400, f"A batch may hold {limits.batch} documents, this one has {len(rows)}.")
    suggestions = await _run_limited(limits, _suggest_labels, project, rows, *result_limits) if rows else []
    return [
        {"results": labels, "document_id": i} for labels, i in zip(suggestions, document_ids, strict=True)
    ]


async def _explain(project: Any, request: Request, body: bytes, limits: Limits) -> Any:
    document, fields = _parse_document(request, body)
    label_names = [fields["label"]] if "label" in fields else []
    if not set(label_names) <= set(project.label_names):
        raise Refused(400, "The model has no such label.")
    n_features = min(_asked_of(fields)[0], 100)
    try:
        return {"results": await _run_limited(limits, project.explain, document, label_names, n_features)}
    except ValueError:
        raise Refused(400, "explain needs a linear model.") from None


async def _learn(project: Any, request: Request, body: bytes, limits: Limits) -> None:
    if not project.learns:
        raise Refused(403, "Learning is off: start hyperlabel serve with --learn.")
    if not _is_json(request):
        raise Refused(415, "Send documents to learn as application/json.")
    rows, labels = _read_indexed_documents(_parse_json(body), project.label_names)
    if rows:
        async with project.learning:  # no time limit: a change half waited for would still be made
            try:
                await anyio.to_thread.run_sync(project.learn, rows, labels)
            except UnreadableRow as error:
                raise Refused(400, str(error)) from None


async def _run_limited(limits: Limits, work: Callable[..., Any], *arguments: Any) -> Any:
    """Return what work returns; given up, it goes on in its thread, but takes no second one."""
    try:
        async with asyncio.timeout(limits.seconds):
            return await asyncio.get_running_loop().run_in_executor(_workers, work, *arguments)
    except UnreadableRow as error:
        raise Refused(400, str(error)) from None
    except TimeoutError:
        raise Refused(503, f"The answer took more than {limits.seconds:g} seconds.") from None
    except asyncio.CancelledError:
        raise Refused(503, "The server is being stopped.") from None


def _suggest_labels(
    project: Any, documents: list[Any], limit: int, threshold: float
) -> list[list[dict[str, Any]]]:
    """Return the likeliest labels of each document, best first."""
    names, rankings, sources = project.label_names, project.ranked(documents), project.sources(documents)
    return [
        [
            {"uri": _make_label_uri(names[j]), "label": names[j], "notation": None, "score": p}
            | ({} if sources is None else {"source": str(sources[i, j])})
            for j, p in label_order[:limit]
            if p > 0 and p >= threshold
        ]
        for i, label_order in enumerate(rankings)
    ]


def _make_label_uri(label: str) -> str:
    """Return what names a label: itself where it is a URI."""
    is_uri = label.startswith(("http://", "https://", "urn:"))
    return label if is_uri else "urn:hyperlabel:" + quote(label, safe="", errors="surrogatepass")


def _read_indexed_documents(body: Any, label_names: list[str]) -> tuple[list[Any], list[Any]]:
    """Read documents, each with all its subjects or with answers about single ones.

    Each must have either, for what is acknowledged is learned.
    """
    label_of_uri = {_make_label_uri(name): name for name in label_names} | {
        name: name for name in label_names
    }
    try:
        if not isinstance(body, list):
            raise TypeError
        for i, document in enumerate(body):
            if ("subjects" in document) == ("answers" in document):
                raise Refused(
                    400,
                    f"Document {i} must have subjects ([] says that it carries no label) or answers, "
                    "not both.",
                )
        rows = [_content_of(document) for document in body]
        if any(row is None for row in rows):
            raise TypeError
        return rows, [_read_labels(document, label_of_uri) for document in body]
    except (TypeError, AttributeError):
        raise Refused(400, 'The body must be [{"text": "…", "subjects": [{"uri": "…"}]}, …].') from None
    except KeyError:
        raise Refused(400, "A subject is no label of the model: see hyperlabel update --add-label.") from None


def _read_labels(document: dict[str, Any], label_of_uri: dict[str, str]) -> list[str] | dict[str, bool]:
    """Return all labels of a document, or which of the labels that were asked about it carries."""
    if "subjects" in document:
        return [label_of_uri[subject.get("uri", subject.get("label"))] for subject in document["subjects"]]
    answers = {label_of_uri[uri]: is_on for uri, is_on in document["answers"].items()}
    if not answers or not all(isinstance(is_on, bool) for is_on in answers.values()):
        raise Refused(400, 'answers must be {"label": true, …}: true or false for at least one label.')
    return answers


# -- requests in, problems out


def _make_json_response(content: Any, status: int = 200, kind: str = "application/json") -> Response:
    """Return JSON in ASCII: halves of characters that a client sent come back as it wrote them."""
    json_text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return Response(json_text.encode("ascii"), status, media_type=kind)


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error as application/problem+json."""
    document = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "detail": detail}
    response = _make_json_response(document, status, "application/problem+json")
    response.headers.update(headers or {})
    return response


async def _answer_refused(request: Request, error: Any) -> Response:  # not async, it would take a thread
    return problem(error.status_code, error.detail, error.headers)


async def _answer_failed(request: Request, error: Exception) -> Response:
    return problem(500, "Something went wrong; the server's log says what.")


async def _read_body(request: Request, limits: Limits) -> bytes:
    """Read a body that is neither too large nor too slow."""
    too_large = Refused(413, f"The body is larger than {limits.body} bytes.")
    if (_parse_whole_number(request.headers.get("content-length", "0")) or 0) > limits.body:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(limits.arrival_seconds):
            async for body_block in request.stream():
                body += body_block
                if len(body) > limits.body:
                    raise too_large
    except TimeoutError:
        time_limit = f"{limits.arrival_seconds:g}"
        message = f"The body took more than {time_limit} seconds."
        raise Refused(408, message, {"Connection": "close"}) from None
    except ClientDisconnect:
        raise Refused(400, "The body is not whole.") from None  # nobody is there to read it
    return bytes(body)


def _is_json(request: Request) -> bool:
    return request.headers.get("content-type", "").split(";")[0].strip().lower() == "application/json"


def _content_of(document: dict[str, Any]) -> Any:
    """Return what is to be read: a text, or a row by its columns; None if there is neither."""
    text, row = document.get("text"), document.get("row")
    return text if isinstance(text, str) else row if isinstance(row, dict) else None


def _parse_document(request: Request, body: bytes) -> tuple[Any, dict[str, str]]:
    """Read a text or a row, and the other fields, from a form (as Annif's clients send it) or from JSON."""
    if not _is_json(request):
        return _parse_form(body)
    json_body = _parse_json(body)
    document = _content_of(json_body) if isinstance(json_body, dict) else None
    if document is None:
        raise Refused(400, 'The body must be {"text": "…"}, or {"row": {…}} with the columns of the model.')
    options = {name: json_body[name] for name in ("limit", "threshold", "label") if name in json_body}
    if any(isinstance(value, bool) or not isinstance(value, str | int | float) for value in options.values()):
        raise Refused(400, "limit and threshold must be numbers, label a text.")
    return document, {name: str(value) for name, value in options.items()}


def _parse_form(body: bytes) -> tuple[str, dict[str, str]]:
    """Read the text and all fields of a form (urlencoded)."""
    try:
        form_fields = parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=100)
    except ValueError as error:
        raise Refused(400, "The body must be a form in UTF-8 (application/x-www-form-urlencoded).") from error
    if "text" not in form_fields:
        hint = " JSON needs Content-Type: application/json." if body.lstrip()[:1] == b"{" else ""
        raise Refused(400, f"The field text is missing.{hint}")
    last_values = {field_name: field_values[-1] for field_name, field_values in form_fields.items()}
    return last_values["text"], last_values


def _parse_json(body: bytes) -> Any:
    """Read a body of JSON."""
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused(400, "The body must be JSON.") from error


def _asked_of(query_fields: Mapping[str, str]) -> tuple[int, float]:
    """Return the number of labels requested, and the lowest score."""
    max_labels = _parse_whole_number(query_fields.get("limit", "10"))
    min_score = query_fields.get("threshold", "0")
    if max_labels is None or not _DECIMAL.fullmatch(min_score) or not 0 <= float(min_score) <= 1:
        raise Refused(400, "limit must be a whole number, 0 or more, and threshold a number from 0 to 1.")
    return min(max_labels, 10_000), float(min_score)


def _parse_whole_number(text: str) -> int | None:
    """Read digits as other programs do: Python alone knows ``1_0`` and digits of other scripts."""
    return int(text) if re.fullmatch("[0-9]{1,4000}", text) else None


class _RequestValidation:
    """Let requests in that carry the token, and only names of this machine where there is none."""

    def __init__(self, app: Any, token: str | None, log: Callable[[str], None] | None = None) -> None:
        self.app, self.token, self.log = app, token, log

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        status, start = 0, time.perf_counter()  # 0: nobody was there to answer

        async def send_guarded(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), *_GUARDS]}
            await send(message)

        refusal = self._make_refusal(scope["path"], Headers(scope=scope))
        try:
            await (refusal or self.app)(scope, receive, send_guarded)
        finally:
            if self.log is not None:
                self.log(_describe_request(scope, status, time.perf_counter() - start))

    def _make_refusal(self, path: str, headers: Headers) -> Response | None:
        if not _is_own_page(headers):
            return problem(403, "Pages of other sites may not ask this server.")
        if self.token is None:
            # another site's name that points here must not reach the models through a browser
            host_match = _HOST_AND_PORT.fullmatch(headers.get("host", "localhost"))
            is_local = host_match is not None and is_loopback(host_match[1].strip("[]"))
            return None if is_local else problem(403, "Ask for localhost, or start the server with a token.")
        if path == "/healthz" or _carries_token(headers.get("authorization", ""), self.token):
            return None
        refusal = problem(401, "Send the token: Authorization: Bearer TOKEN, or as password in a browser.")
        for challenge in ("Bearer", 'Basic realm="hyperlabel", charset="UTF-8"'):
            refusal.headers.append("WWW-Authenticate", challenge)  # browsers read one in a line
        return refusal


def _describe_request(scope: Any, status: int, seconds: float) -> str:
    """Return a line on a request for the log: no query, no text, nothing that could move a terminal."""
    client, now = scope.get("client") or ("-", 0), time.strftime("%Y-%m-%dT%H:%M:%S%z")
    what = f"{scope['method']} {quote(scope['path'][:200], errors='surrogatepass')}"
    return f"{now} {client[0]} {what} {status} {1000 * seconds:.1f} ms"


def is_loopback(host: str) -> bool:
    """Say whether a name or address without its port can only mean this machine."""
    with suppress(ValueError):
        return host.lower() == "localhost" or ipaddress.ip_address(host).is_loopback
    return False


def _is_own_page(headers: Headers) -> bool:
    """Say whether a request comes from this server's page, or from no page; browsers name theirs."""
    origin = headers.get("origin")
    own_hosts = [headers[name].lower() for name in ("host", "x-forwarded-host") if name in headers]
    return origin is None or origin.partition("://")[2].lower() in own_hosts


def _carries_token(authorization: str, token: str) -> bool:
    """Say whether the token is given, by a program (Bearer) or as the password a browser asks for (Basic)."""
    scheme, _, credentials = authorization.partition(" ")
    sent = credentials.encode("latin-1") if scheme.lower() == "bearer" else b""
    if scheme.lower() == "basic":
        with suppress(ValueError):
            sent = base64.b64decode(credentials, validate=True).partition(b":")[2]
    return hmac.compare_digest(sent, token.encode())
