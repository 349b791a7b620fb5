"""``hyperlabel serve``: models over HTTP, as Annif serves them, and their page, live."""

from __future__ import annotations

import os
import re
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import click

from hyperlabel.cli._input import need_data, need_model

_MISSING = "hyperlabel serve needs starlette and uvicorn: install them with  pip install 'hyperlabel[serve]'."


@click.command()
@click.argument("models", nargs=-1, required=True)
@click.option("--data", help="Labelled rows: they give the (first) model its page.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=5000, show_default=True, type=click.IntRange(0, 65535))
@click.option("--token-file", help="File with the token requests must carry. [default: $HYPERLABEL_TOKEN]")
@click.option("--learn", "learns", is_flag=True, help="Let clients change the models, and their files.")
@click.option("--max-body", default=1.0, show_default=True, type=click.FloatRange(min=0.001), help="MB.")
@click.option("--max-batch", default=32, show_default=True, type=click.IntRange(min=1), help="Documents.")
@click.option("--timeout", default=10.0, show_default=True, type=click.FloatRange(min=0.1), help="Seconds.")
def serve(models: tuple[str, ...], data: str | None, host: str, port: int, **options: Any) -> None:
    """Serve MODELS (fitted on text alone) over HTTP by Annif's REST API v1.

    Projects are named after the files. Beside projects, suggest, suggest-batch and learn there are explain,
    healthz and openapi.json, and with --data the page of hyperlabel report at /. Only this machine is served
    unless --host says otherwise; then a token is needed, which a browser asks for as a password.

    \b
    hyperlabel serve model.hyper --data tickets.csv
    curl -d text="a text" localhost:5000/v1/projects/model/suggest
    """  # noqa: D301 - click wants the character
    for model in models:
        need_model(model)
    need_data(data)
    try:
        import uvicorn

        from hyperlabel.serve import Limits, make_app
    except ImportError as error:
        raise ValueError(_MISSING) from error
    token = _token(options["token_file"], host)
    projects = [open_project(path, learns=options["learns"]) for path in models]
    page = "" if data is None else add_data(projects[0], data)
    limits = Limits(int(options["max_body"] * 2**20), options["max_batch"], options["timeout"])
    app = make_app(projects, page=page, token=token, limits=limits)
    names = ", ".join(project.project_id for project in projects)
    click.echo(f"Serving {names} on http://{host}:{port}/ (Ctrl-C ends it)")
    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False, limit_concurrency=256)


def _token(token_file: str | None, host: str) -> str | None:
    token = os.environ.get("HYPERLABEL_TOKEN") or None
    if token_file:
        token = Path(token_file).read_text(encoding="utf-8").strip()
        if not token:
            raise ValueError(f"{token_file} holds no token.")
    if token is None and not re.fullmatch(r"localhost|::1|127(\.\d+){3}", host):
        raise ValueError(
            f"Serving {host} lets others in: give a token with --token-file or in HYPERLABEL_TOKEN."
        )
    return token


def open_project(path: str, *, learns: bool) -> Any:
    """Read what answers need of a model; the first text is scored on the way."""
    from hyperlabel.cli._model import read_columns
    from hyperlabel.persistence.plain import read_plain
    from hyperlabel.serve import Project

    columns = read_columns(path)
    if not columns.text_only:
        raise ValueError(f"{path} was not fitted on text alone: only such models are served.")
    model = ServedModel(path, columns.label_names, read_plain(path))
    if learns:
        from hyperlabel.meta.updating import can_be_updated

        if not can_be_updated(model.file.model):
            raise ValueError(f"{path} cannot learn: fit it with --method ridge and without --slim.")
    model.probabilities(["a first text"])
    project_id = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(path).stem).strip("-") or "model"
    return Project(project_id, model, learns=learns)


def add_data(project: Any, data: str) -> str:
    """Return the live page of a project; rows calibrate a model without probabilities of its own."""
    from hyperlabel.cli._model import read_rows
    from hyperlabel.cli.report import judged_rows, page_of
    from hyperlabel.report.model_numbers import calibration
    from hyperlabel.report.model_page import PageOptions

    file = project.model.file
    table = read_rows(data, file.columns, labelled=True)
    judged = judged_rows(file, table, data, None)
    if not hasattr(file.model, "predict_proba"):
        project.model = replace(project.model, calibration=calibration(judged[0]))
    live = {"base": "/", "project": project.project_id}
    return page_of(file, table, data, *judged, options=PageOptions(live=live))


@dataclass(frozen=True)
class ServedModel:
    """A model file that answers, explains and learns; all of it is loaded where `plain` is not enough."""

    path: str
    label_names: list[str]
    plain: Any = None
    calibration: Any = None

    @cached_property
    def file(self) -> Any:
        """The whole model."""
        from hyperlabel.cli._model import open_model

        return open_model(self.path)

    def probabilities(self, texts: list[str]) -> Any:
        """Return probabilities, one row for each text."""
        if self.plain is not None:
            return self.plain.probabilities(texts)
        from scipy.special import expit

        from hyperlabel._base import label_probabilities

        if hasattr(self.file.model, "predict_proba"):
            return label_probabilities(self.file.model, texts)
        return (self.calibration or expit)(self.file.scores(texts))

    def explain(self, text: str, labels: list[str], top: int) -> list[dict[str, Any]]:
        """Return the words behind the scores of labels; of the best three where none is named."""
        from hyperlabel.meta import explain

        best = self.file.scores([text])[0].argsort(kind="stable")[::-1][:3]
        labels = labels or [self.label_names[j] for j in best]
        found = [asdict(one) for one in explain(self.file.model, [text], labels=labels, top=max(top, 1))]
        for one in found:  # JSON knows no infinite cut
            one["threshold"] = one["threshold"] if abs(one["threshold"] or 0) < 1e300 else None
        return found

    def learned(self, texts: list[str], labels: list[list[str]]) -> ServedModel:
        """Return the model that has learned texts, once its file is on disk."""
        import numpy as np

        from hyperlabel._files import locked
        from hyperlabel.cli._model import aligned_labels, open_model, save_model, with_columns
        from hyperlabel.datasets import Dataset
        from hyperlabel.meta import update
        from hyperlabel.persistence.plain import read_plain

        with locked(self.path, lambda: None):
            file = open_model(self.path)  # another process may have changed it meanwhile
            if file.columns.label_names != self.label_names:
                raise RuntimeError("The labels of the model file have changed: start the server again.")
            Y, _ = aligned_labels(Dataset(np.zeros((len(texts), 0)), labels), self.label_names)
            changed = replace(file, model=update(file.model, (texts, Y)))
            save_model(with_columns(changed, rows=file.columns.rows + len(texts)), texts[:4])
            return replace(self, plain=read_plain(self.path))
