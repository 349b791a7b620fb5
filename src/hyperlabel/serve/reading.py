"""Requests in, problems out: who may ask, bounded bodies, fields and numbers that are what they should be."""

from __future__ import annotations

import base64
import hmac
import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException as Refused
from starlette.requests import Request
from starlette.responses import Response

_MOST_LABELS = 10_000


def answer(content: Any, status: int = 200, kind: str = "application/json") -> Response:
    """Return JSON in ASCII: halves of characters that a client sent come back as it wrote them."""
    body = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return Response(body.encode("ascii"), status, media_type=kind)


def problem(status: int, detail: str) -> Response:
    """Return an error as application/problem+json."""
    title = HTTPStatus(status).phrase
    content = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return answer(content, status, "application/problem+json")


async def body_of(request: Request, most: int) -> bytes:
    """Read a body of at most so many bytes."""
    found = bytearray()
    async for part in request.stream():
        found += part
        if len(found) > most:
            raise Refused(413, f"The body is larger than {most} bytes.")
    return bytes(found)


async def text_and_fields(request: Request, most: int) -> tuple[str, dict[str, str]]:
    """Read the text and all fields of a form (urlencoded, as Annif's clients send it)."""
    body = await body_of(request, most)
    try:
        found = parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=100)
    except ValueError as error:
        raise Refused(400, "The body must be a form in UTF-8 (application/x-www-form-urlencoded).") from error
    if "text" not in found:
        raise Refused(400, "The field text is missing.")
    return found["text"][-1], {name: values[-1] for name, values in found.items()}


async def json_of(request: Request, most: int) -> Any:
    """Read a body of JSON."""
    try:
        return json.loads(await body_of(request, most))
    except (ValueError, RecursionError) as error:
        raise Refused(400, "The body must be JSON.") from error


def asked_of(given: Mapping[str, str]) -> tuple[int, float]:
    """Read how many results are wanted, and the lowest score."""
    limit, threshold = given.get("limit", "10"), given.get("threshold", "0")
    if not re.fullmatch("[0-9]{1,9}", limit):
        raise Refused(400, "limit must be a whole number, 0 or more.")
    try:
        lowest = float(threshold)
    except ValueError:
        lowest = -1.0
    if not 0 <= lowest <= 1:
        raise Refused(400, "threshold must be a number from 0 to 1.")
    return min(int(limit), _MOST_LABELS), lowest


class Gate:
    """Let requests in that carry the token, and only names of this machine where there is none."""

    def __init__(self, app: Any, token: str | None) -> None:
        self.app, self.token = app, token

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on, or refuse it."""
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        await (refusal or self.app)(scope, receive, send)

    def _refusal(self, scope: Any) -> Response | None:
        headers = Headers(scope=scope)
        if self.token is None:
            # another site's name that points here must not reach the models through a browser
            host = headers.get("host", "").rsplit(":", 1)[0].strip("[]").lower()
            local = host in ("localhost", "127.0.0.1", "::1", "")
            return None if local else problem(403, "Ask for localhost, or start the server with a token.")
        if scope["path"] == "/healthz" or _carries(headers.get("authorization", ""), self.token):
            return None
        refusal = problem(401, "Send the token: Authorization: Bearer TOKEN, or as password in a browser.")
        for challenge in ("Bearer", 'Basic realm="hyperlabel", charset="UTF-8"'):
            refusal.headers.append("WWW-Authenticate", challenge)  # browsers read one in a line
        return refusal


def _carries(given: str, token: str) -> bool:
    """Say whether the token is given, by a program (Bearer) or as the password a browser asks for (Basic)."""
    kind, _, rest = given.partition(" ")
    sent = rest.encode("latin-1")
    if kind.lower() == "basic":
        try:
            sent = base64.b64decode(sent, validate=True).partition(b":")[2]
        except ValueError:
            return False
    return kind.lower() in ("bearer", "basic") and hmac.compare_digest(sent, token.encode())
