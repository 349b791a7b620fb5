"""Requests to an application, without a socket."""

from __future__ import annotations

import asyncio

import pytest


def client(app, **options):
    """Return a function that asks, one request after the other."""

    def ask(method, path, **kwargs):
        return ask_together(app, [(method, path, kwargs)], **options)[0]

    return ask


def ask_together(app, requests, **options):
    """Return the answers to (method, path, options) asked at the same time."""
    httpx = pytest.importorskip("httpx")

    async def ask_all():
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost", **options) as asking:
            sent = (asking.request(method, path, **kwargs) for method, path, kwargs in requests)
            return await asyncio.gather(*sent)

    return asyncio.run(ask_all())
