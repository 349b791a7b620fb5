"""The application: a project is a model; answers are those of Annif's REST API v1 (``openapi.json``).

Work runs in threads with a time limit; a model is replaced in one step once it has learned and is on disk.
Errors are problem documents (RFC 9457) that name neither paths nor traces.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException as Refused
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from hyperlabel import __version__
from hyperlabel.serve.reading import Gate, answer, asked_of, json_of, problem, text_and_fields


@dataclass
class Project:
    """A served model (`cli.serve.ServedModel`), and whether clients may change it."""

    project_id: str
    model: Any
    learns: bool = False
    learning: asyncio.Lock = field(default_factory=asyncio.Lock)

    def describe(self) -> dict[str, Any]:
        """Return the project as Annif lists it."""
        found = {"project_id": self.project_id, "name": self.project_id, "language": "en"}
        return found | {"vocab_language": "en", "is_trained": True, "backend": {"backend_id": "hyperlabel"}}

    def suggestions(self, texts: list[str], limit: int, threshold: float) -> list[list[dict[str, Any]]]:
        """Return the likeliest labels of each text, best first."""
        names = self.model.label_names
        return [
            [
                {"uri": uri_of(names[j]), "label": names[j], "notation": None, "score": float(row[j])}
                for j in (-row).argsort(kind="stable")[:limit]
                if row[j] > 0 and row[j] >= threshold
            ]
            for row in self.model.probabilities(texts)
        ]


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


def make_app(
    projects: list[Project], *, page: str = "", token: str | None = None, limits: Limits | None = None
) -> Any:
    """Return the ASGI application; with a token, every request but ``/healthz`` must carry it."""
    known = {project.project_id: project for project in projects}
    if len(known) < len(projects):
        raise ValueError("Two models have the same name: rename one of the files.")
    described = Path(__file__).with_name("openapi.json").read_bytes()
    service, one = _Service(known, limits or Limits()), "/v1/projects/{project_id}"
    pages = {
        "/": lambda request: HTMLResponse(page) if page else answer({"projects": list(known)}),
        "/healthz": lambda request: answer({"status": "ok", "projects": len(known)}),
        "/v1/": lambda request: answer({"title": "hyperlabel, by Annif's REST API", "version": __version__}),
        "/v1/openapi.json": lambda request: Response(described, media_type="application/json"),
        "/v1/projects": lambda request: answer({"projects": [p.describe() for p in projects]}),
        one: lambda request: answer(service.project(request).describe()),
    }
    works = (service.suggest, service.suggest_batch, service.explain, service.learn)
    routes = [Route(path, shown) for path, shown in pages.items()]
    routes += [Route(f"{one}/{w.__name__.replace('_', '-')}", w, methods=["POST"]) for w in works]
    handlers: Any = {Refused: _told, Exception: _told}
    return Gate(Starlette(routes=routes, exception_handlers=handlers), token)


class _Service:
    """The operations; each reads its request, works in a thread and answers."""

    def __init__(self, projects: dict[str, Project], limits: Limits) -> None:
        self.projects, self.limits = projects, limits

    def project(self, request: Request) -> Project:
        project = self.projects.get(request.path_params["project_id"])
        if project is None:
            raise Refused(404, "There is no such project.")
        return project

    async def suggest(self, request: Request) -> Response:
        project = self.project(request)
        text, form = await text_and_fields(request, self.limits.body)
        (found,) = await self._work(project.suggestions, [text], *asked_of(form))
        return answer({"results": found})

    async def suggest_batch(self, request: Request) -> Response:
        project, asked = self.project(request), asked_of(request.query_params)
        body = await json_of(request, self.limits.body)
        documents: Any = body.get("documents") if isinstance(body, dict) else None
        well = isinstance(documents, list) and all(
            isinstance(d, dict)
            and isinstance(d.get("text"), str)
            and isinstance(d.get("document_id", ""), str | None)
            for d in documents
        )
        if not well:
            raise Refused(400, 'The body must be {"documents": [{"text": "…"}, …]}.')
        if len(documents) > (most := self.limits.batch):
            raise Refused(400, f"A batch may hold {most} documents, this one has {len(documents)}.")
        texts = [d["text"] for d in documents]
        found = await self._work(project.suggestions, texts, *asked) if texts else []
        pairs = zip(found, documents, strict=True)
        return answer([{"results": one, "document_id": d.get("document_id")} for one, d in pairs])

    async def explain(self, request: Request) -> Response:
        project = self.project(request)
        text, form = await text_and_fields(request, self.limits.body)
        labels = [form["label"]] if "label" in form else []
        if labels and labels[0] not in project.model.label_names:
            raise Refused(400, "The model has no such label.")
        top = min(asked_of(form)[0], 100)
        return answer({"results": await self._work(project.model.explain, text, labels, top)})

    async def learn(self, request: Request) -> Response:
        project = self.project(request)
        if not project.learns:
            raise Refused(403, "Learning is off: start hyperlabel serve with --learn.")
        if request.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            raise Refused(415, "Send documents to learn as application/json.")
        texts, labels = _indexed(await json_of(request, self.limits.body), project.model.label_names)
        if texts:
            async with project.learning:
                # no time limit: a change half waited for would still be made
                project.model = await anyio.to_thread.run_sync(project.model.learned, texts, labels)
        return Response(status_code=204)

    async def _work(self, work: Callable[..., Any], *given: Any) -> Any:
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await anyio.to_thread.run_sync(work, *given, abandon_on_cancel=True)
        except TimeoutError:
            raise Refused(503, f"The answer took more than {self.limits.seconds:g} seconds.") from None
        except ValueError:
            raise Refused(400, "The model cannot answer this: explain needs a linear model.") from None


def _indexed(body: Any, label_names: list[str]) -> tuple[list[str], list[list[str]]]:
    """Read documents with their subjects; as in Annif, those without either do not count."""
    known = {uri_of(name): name for name in label_names} | {name: name for name in label_names}
    try:
        found = [d for d in body if {"text", "subjects"} <= d.keys()]
        texts = [d["text"] for d in found]
        named = [[s.get("uri", s.get("label")) for s in d["subjects"]] for d in found]
        if not isinstance(body, list) or not all(isinstance(text, str) for text in texts):
            raise TypeError
        return texts, [[known[name] for name in names] for names in named]
    except (TypeError, AttributeError):
        raise Refused(400, 'The body must be [{"text": "…", "subjects": [{"uri": "…"}]}, …].') from None
    except KeyError:
        why = "A subject is no label of the model: add it with hyperlabel update --add-label."
        raise Refused(400, why) from None


async def _told(request: Request, error: Exception) -> Response:
    if isinstance(error, Refused):
        return problem(error.status_code, error.detail)
    return problem(500, "Something went wrong; the server's log says what.")
