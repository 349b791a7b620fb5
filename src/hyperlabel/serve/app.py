"""The application: a project is a model; answers are those of Annif's REST API v1.

Work runs in threads with a time limit; a model is replaced in one step once it has learned and is on disk.
Errors are problem documents (RFC 9457) that name neither paths nor traces.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from urllib.parse import quote

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from hyperlabel import __version__
from hyperlabel.serve.reading import Json, Refused, fields, json_of, limit_of, problem, threshold_of


@dataclass
class Project:
    """A served model (`cli.serve.ServedModel`); `page` is HTML, `learns` whether clients may change it."""

    project_id: str
    model: Any
    language: str = "en"
    learns: bool = False
    page: str = ""
    learning: asyncio.Lock = field(default_factory=asyncio.Lock)

    def describe(self) -> dict[str, Any]:
        """Return the project as Annif lists it."""
        return {
            "project_id": self.project_id,
            "name": self.project_id,
            "language": self.language,
            "backend": {"backend_id": "hyperlabel"},
            "vocab_language": self.language,
            "is_trained": True,
        }

    def suggestions(self, texts: list[str], limit: int, threshold: float) -> list[list[dict[str, Any]]]:
        """Return the likeliest labels of each text, best first."""
        names = self.model.label_names
        found = []
        for row in self.model.probabilities(texts):
            order = (-row).argsort(kind="stable")[:limit]
            found.append(
                [
                    {"uri": uri_of(names[j]), "label": names[j], "notation": None, "score": float(row[j])}
                    for j in order
                    if row[j] > 0 and row[j] >= threshold
                ]
            )
        return found


@dataclass(frozen=True)
class Limits:
    """What one request may ask for."""

    body: int = 1 << 20
    batch: int = 32
    seconds: float = 10.0


def uri_of(label: str) -> str:
    """Return what names a label: itself where it is a URI."""
    own = label.startswith(("http://", "https://", "urn:"))
    return label if own else "urn:hyperlabel:" + quote(label, safe="", errors="surrogatepass")


def make_app(projects: list[Project], *, token: str | None = None, limits: Limits | None = None) -> Any:
    """Return the ASGI application; with a token, every request but ``/healthz`` must carry it."""
    service = _Service({project.project_id: project for project in projects}, limits or Limits())
    if len(service.projects) < len(projects):
        raise ValueError("Two models have the same name: rename one of the files.")
    one = "/v1/projects/{project_id}"
    routes = [
        Route("/healthz", service.health),
        Route("/", service.home),
        Route("/pages/{project_id}", service.page),
        Route("/v1/", service.info),
        Route("/v1/projects", service.list),
        Route(one, service.show),
        Route(f"{one}/suggest", service.suggest, methods=["POST"]),
        Route(f"{one}/suggest-batch", service.suggest_batch, methods=["POST"]),
        Route(f"{one}/explain", service.explain, methods=["POST"]),
        Route(f"{one}/learn", service.learn, methods=["POST"]),
    ]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _refusal, Exception: _failure})
    return _Gate(app, token)


class _Service:
    """The operations; each reads its request, works in a thread and answers."""

    def __init__(self, projects: dict[str, Project], limits: Limits) -> None:
        self.projects, self.limits = projects, limits

    async def health(self, request: Request) -> Response:
        return Json({"status": "ok", "projects": len(self.projects)})

    async def info(self, request: Request) -> Response:
        return Json({"title": "hyperlabel, by Annif's REST API", "version": __version__})

    async def list(self, request: Request) -> Response:
        return Json({"projects": [project.describe() for project in self.projects.values()]})

    async def show(self, request: Request) -> Response:
        return Json(self._project(request).describe())

    async def home(self, request: Request) -> Response:
        pages = [project for project in self.projects.values() if project.page]
        if len(pages) == 1:
            return HTMLResponse(pages[0].page)
        return Json({"projects": list(self.projects), "pages": [f"/pages/{p.project_id}" for p in pages]})

    async def page(self, request: Request) -> Response:
        project = self._project(request)
        if not project.page:
            raise Refused(404, "There is no page: start hyperlabel serve with --data FILE.")
        return HTMLResponse(project.page)

    async def suggest(self, request: Request) -> Response:
        project = self._project(request)
        form = await fields(request, self.limits.body)
        limit, threshold = limit_of(form), threshold_of(form)
        if "text" not in form:
            raise Refused(400, "The field text is missing.")
        (found,) = await self._work(partial(project.suggestions, [form["text"]], limit, threshold))
        return Json({"results": found})

    async def suggest_batch(self, request: Request) -> Response:
        project = self._project(request)
        limit, threshold = limit_of(request.query_params), threshold_of(request.query_params)
        body = await json_of(request, self.limits.body)
        documents = body.get("documents") if isinstance(body, dict) else None
        if not isinstance(documents, list) or not all(
            isinstance(d, dict) and isinstance(d.get("text"), str) for d in documents
        ):
            raise Refused(400, 'The body must be {"documents": [{"text": "…"}, …]}.')
        if len(documents) > self.limits.batch:
            raise Refused(
                400, f"A batch may hold {self.limits.batch} documents, this one has {len(documents)}."
            )
        texts = [d["text"] for d in documents]
        found = await self._work(partial(project.suggestions, texts, limit, threshold)) if texts else []
        return Json(
            [
                {"results": results, "document_id": d.get("document_id")}
                for results, d in zip(found, documents, strict=True)
            ]
        )

    async def explain(self, request: Request) -> Response:
        project = self._project(request)
        form = await fields(request, self.limits.body)
        if "text" not in form:
            raise Refused(400, "The field text is missing.")
        labels = [form["label"]] if "label" in form else []
        if labels and labels[0] not in project.model.label_names:
            raise Refused(400, "The model has no such label.")
        top = min(limit_of(form), 100)
        return Json({"results": await self._work(partial(project.model.explain, form["text"], labels, top))})

    async def learn(self, request: Request) -> Response:
        project = self._project(request)
        if not project.learns:
            raise Refused(403, "Learning is off: start hyperlabel serve with --learn.")
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            raise Refused(415, "Send documents to learn as application/json.")
        body = await json_of(request, self.limits.body)
        texts, labels = _indexed(body, project.model.label_names)
        if texts:
            async with project.learning:
                # no time limit: a change half waited for would still be made
                learned = partial(project.model.learned, texts, labels)
                project.model = await anyio.to_thread.run_sync(learned)
        return Response(status_code=204)

    def _project(self, request: Request) -> Project:
        project = self.projects.get(request.path_params["project_id"])
        if project is None:
            raise Refused(404, "There is no such project.")
        return project

    async def _work(self, work: Callable[[], Any]) -> Any:
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        except TimeoutError:
            raise Refused(503, f"The answer took more than {self.limits.seconds:g} seconds.") from None
        except ValueError:
            raise Refused(400, "The model cannot answer this: explain needs a linear model.") from None


def _indexed(body: Any, label_names: list[str]) -> tuple[list[str], list[list[str]]]:
    """Read documents with their subjects; as in Annif, those without either do not count."""
    if not isinstance(body, list) or not all(isinstance(document, dict) for document in body):
        raise Refused(400, 'The body must be [{"text": "…", "subjects": [{"uri": "…"}]}, …].')
    known = {uri_of(name): name for name in label_names} | {name: name for name in label_names}
    texts, labels = [], []
    for document in body:
        if "text" not in document or "subjects" not in document:
            continue
        text, subjects = document["text"], document["subjects"]
        if not isinstance(text, str) or not isinstance(subjects, list):
            raise Refused(400, "text must be a string and subjects a list.")
        names = [known.get(_named(subject)) for subject in subjects]
        if None in names:
            raise Refused(
                400, "A subject is no label of the model: add it with hyperlabel update --add-label."
            )
        texts.append(text)
        labels.append([name for name in names if name is not None])
    return texts, labels


def _named(subject: Any) -> str:
    name = subject.get("uri", subject.get("label")) if isinstance(subject, dict) else None
    return name if isinstance(name, str) else ""


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return problem(error.status_code, error.detail)


async def _failure(request: Request, error: Exception) -> Response:
    return problem(500, "Something went wrong; the server's log says what.")


class _Gate:
    """Let requests in that carry the token, and only names of this machine where there is none."""

    def __init__(self, app: Any, token: str | None) -> None:
        self.app, self.token = app, token

    async def __call__(
        self, scope: Any, receive: Callable[[], Awaitable[Any]], send: Callable[[Any], Awaitable[None]]
    ) -> None:
        if scope["type"] == "http":
            why = self._why_not({name.lower(): value for name, value in scope["headers"]}, scope["path"])
            if why is not None:
                await why(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _why_not(self, headers: dict[bytes, bytes], path: str) -> Response | None:
        if self.token is None:
            # another site's name that points here must not reach the models through a browser
            host = headers.get(b"host", b"").decode("latin-1").rsplit(":", 1)[0].strip("[]").lower()
            local = host in ("localhost", "127.0.0.1", "::1", "")
            return None if local else problem(403, "Ask for localhost, or start the server with a token.")
        if path == "/healthz":
            return None
        given = headers.get(b"authorization", b"")
        if hmac.compare_digest(given, b"Bearer " + self.token.encode()):
            return None
        return problem(401, "Send the token: Authorization: Bearer TOKEN.", {"WWW-Authenticate": "Bearer"})
