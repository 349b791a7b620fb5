"""Requests in, problems out: bounded bodies, fields and numbers that are what they should be."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

_MOST_LABELS = 10_000


class Refused(HTTPException):
    """A request that is not answered; the sentence says why."""


class Json(JSONResponse):
    """JSON in ASCII: halves of characters that a client sent come back as it wrote them."""

    def render(self, content: Any) -> bytes:
        """Return the bytes of the body."""
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii")


def problem(status: int, detail: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error as application/problem+json."""
    content = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    return Json(content, status_code=status, headers=headers, media_type="application/problem+json")


async def body_of(request: Request, most: int) -> bytes:
    """Read a body of at most so many bytes."""
    found = bytearray()
    async for part in request.stream():
        found += part
        if len(found) > most:
            raise Refused(413, f"The body is larger than {most} bytes.")
    return bytes(found)


async def fields(request: Request, most: int) -> dict[str, str]:
    """Read the fields of a form (urlencoded, as Annif's clients send it)."""
    body = await body_of(request, most)
    try:
        found = parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=100)
    except ValueError as error:
        raise Refused(400, "The body must be a form in UTF-8 (application/x-www-form-urlencoded).") from error
    return {name: values[-1] for name, values in found.items()}


async def json_of(request: Request, most: int) -> Any:
    """Read a body of JSON."""
    try:
        return json.loads(await body_of(request, most))
    except (ValueError, RecursionError) as error:
        raise Refused(400, "The body must be JSON.") from error


def limit_of(given: Mapping[str, str]) -> int:
    """Read how many results are wanted."""
    text = given.get("limit", "10")
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise Refused(400, "limit must be a whole number, 0 or more.")
    return min(int(text), _MOST_LABELS)


def threshold_of(given: Mapping[str, str]) -> float:
    """Read the lowest score wanted."""
    try:
        value = float(given.get("threshold", "0"))
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise Refused(400, "threshold must be a number from 0 to 1.")
    return value
