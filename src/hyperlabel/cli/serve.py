"""``hyperlabel serve``: models over HTTP, as Annif serves them, and their page, live."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from hyperlabel.cli._input import need_data, need_model

_MISSING = "hyperlabel serve needs starlette and uvicorn: install them with  pip install 'hyperlabel[serve]'."


@click.command()
@click.argument("models", nargs=-1, required=True)
@click.option("--data", help="Labelled rows: calibrates probabilities and gives the (first) model its page.")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option("--port", default=5000, show_default=True, type=click.IntRange(0, 65535))
@click.option(
    "--token-file", help="File with the token that requests must carry. [default: $HYPERLABEL_TOKEN]"
)
@click.option("--learn", "learns", is_flag=True, help="Let clients change the models, and their files.")
@click.option("--max-body", default=1.0, show_default=True, type=click.FloatRange(min=0.001), help="MB.")
@click.option("--max-batch", default=32, show_default=True, type=click.IntRange(min=1), help="Documents.")
@click.option("--timeout", default=10.0, show_default=True, type=click.FloatRange(min=0.1), help="Seconds.")
def serve(
    models: tuple[str, ...],
    data: str | None,
    host: str,
    port: int,
    token_file: str | None,
    learns: bool,
    max_body: float,
    max_batch: int,
    timeout: float,
) -> None:
    """Serve MODELS (fitted on text alone) over HTTP by Annif's REST API v1.

    Projects are named after the files. Beside projects, suggest, suggest-batch and learn there are explain
    and healthz, and with --data the page of hyperlabel report at /. Only this machine is served unless
    --host says otherwise; then a token is needed.

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
    token = _token(token_file)
    if token is None and not _is_loopback(host):
        raise ValueError(
            f"Serving {host} lets others in: give a token with --token-file or in HYPERLABEL_TOKEN."
        )
    projects = [open_project(path, data if i == 0 else None, learns=learns) for i, path in enumerate(models)]
    limits = Limits(body=int(max_body * 2**20), batch=max_batch, seconds=timeout)
    app = make_app(projects, token=token, limits=limits)
    names = ", ".join(project.project_id for project in projects)
    click.echo(f"Serving {names} on http://{host}:{port}/ (Ctrl-C ends it)")
    uvicorn.run(app, host=host, port=port, log_level="warning", access_log=False, limit_concurrency=256)


def _token(token_file: str | None) -> str | None:
    if not token_file:
        return os.environ.get("HYPERLABEL_TOKEN") or None
    token = Path(token_file).read_text(encoding="utf-8").strip()
    if not token:
        raise ValueError(f"{token_file} holds no token.")
    return token


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def open_project(path: str, data: str | None, *, learns: bool) -> Any:
    """Load a model, and its page if there are rows for it; the first text is scored on the way."""
    from hyperlabel.cli._model import open_model
    from hyperlabel.meta.updating import can_be_updated
    from hyperlabel.serve import Project

    file = open_model(path)
    if not file.columns.text_only:
        raise ValueError(f"{path} was not fitted on text alone: only such models are served.")
    if learns and not can_be_updated(file.model):
        raise ValueError(f"{path} cannot learn: fit it with --method ridge and without --slim.")
    project_id = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(path).stem).strip("-") or "model"
    model, page = ServedModel(file), ""
    if data is not None:
        model, page = _with_data(file, data, project_id)
    model.probabilities(["a first text"])
    return Project(project_id, model, learns=learns, page=page)


def _with_data(file: Any, data: str, project_id: str) -> tuple[ServedModel, str]:
    from hyperlabel.cli._model import aligned_labels, read_rows
    from hyperlabel.cli.report import known_labels, page_of
    from hyperlabel.report.judging import judge
    from hyperlabel.report.model_numbers import calibration
    from hyperlabel.report.model_page import PageOptions

    table = read_rows(data, file.columns, labelled=True)
    live = {"base": "/", "project": project_id}
    page = page_of(file, table, data, None, False, PageOptions(live=live))
    Y, _ = aligned_labels(table, file.columns.label_names, normalise=file.columns.normalise)
    Y = known_labels(Y)
    judged = judge(
        file.model, file.columns.inputs(table), Y, None, n_rows=file.columns.rows, groups=table.groups
    )
    return ServedModel(file, calibration(judged)), page


@dataclass(frozen=True)
class ServedModel:
    """A model file that answers, explains and learns."""

    file: Any
    calibration: Any = None

    @property
    def label_names(self) -> list[str]:
        """Names of the labels, by column."""
        names: list[str] = self.file.columns.label_names
        return names

    def probabilities(self, texts: list[str]) -> Any:
        """Return probabilities, one row for each text."""
        import numpy as np
        from scipy.special import expit

        from hyperlabel._base import label_probabilities
        from hyperlabel.meta.updating import walk
        from hyperlabel.meta.wrapping import brings_scores

        if self.calibration is None and hasattr(self.file.model, "predict_proba"):
            return label_probabilities(self.file.model, texts)
        scores = self.file.scores(texts)
        if self.calibration is not None:
            return self.calibration(scores)
        if brings_scores(list(walk(self.file.model))[-1]):
            return np.clip((scores + 1) / 2, 0.0, 1.0)  # least squares on ±1 estimates 2p − 1
        return expit(scores)

    def explain(self, text: str, labels: list[str], top: int) -> list[dict[str, Any]]:
        """Return the words behind the scores of labels; of the best three where none is named."""
        from hyperlabel.meta import explain

        if not labels:
            best = (-self.file.scores([text])[0]).argsort(kind="stable")[:3]
            labels = [self.label_names[j] for j in best]
        found = explain(self.file.model, [text], labels=labels, top=max(top, 1))
        return [
            {
                "label": one.label,
                "score": one.score,
                "cut": one.threshold if one.threshold is not None and abs(one.threshold) < 1e300 else None,
                "base": one.base,
                "words": [{"word": share.name, "share": share.share} for share in one.features],
                "rest": one.rest,
                "note": one.note,
            }
            for one in found
        ]

    def learned(self, texts: list[str], labels: list[list[str]]) -> ServedModel:
        """Return the model that has learned texts, once its file is on disk."""
        from scipy import sparse

        from hyperlabel._files import locked
        from hyperlabel.cli._model import open_model, save_model, with_columns
        from hyperlabel.meta import update

        place = {name: j for j, name in enumerate(self.label_names)}
        with locked(self.file.path, lambda: None):
            file = open_model(self.file.path)  # another process may have changed it meanwhile
            if file.columns.label_names != self.label_names:
                raise RuntimeError("The labels of the model file have changed: start the server again.")
            Y = sparse.lil_array((len(texts), len(place)))
            for i, names in enumerate(labels):
                for name in names:
                    Y[i, place[name]] = 1
            model = update(file.model, (texts, sparse.csr_array(Y)))
            changed = with_columns(replace(file, model=model), rows=file.columns.rows + len(texts))
            save_model(changed, texts[:4])
        return replace(self, file=changed)
