"""``hyperlabel serve``: models over HTTP, as Annif serves them, and their page, live."""

import asyncio
import os
import re
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import numpy as np

from hyperlabel._files import locked, stamp_of
from hyperlabel.apps.cli._input import plain_warnings, say
from hyperlabel.persistence.plain import read_plain
from hyperlabel.tabular.model_file import open_model, open_plain, read_columns, save_model, with_columns
from hyperlabel.tabular.review_queue import review_probabilities
from hyperlabel.tabular.table_io import need_data


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
    need_data(data)
    try:
        import uvicorn

        from hyperlabel.apps.serve import Limits, make_app, server_options
    except ImportError as error:
        raise ValueError("Serving needs starlette and uvicorn: pip install 'hyperlabel[serve]'.") from error
    token = _read_token(options["token_file"], host)
    projects = [ServedModel(model_path, learns=options["learns"]) for model_path in models]
    page_html = projects[0].page(data) if data else ""
    limits = Limits(int(options["max_body"] * 2**20), options["max_batch"], options["timeout"])
    web_app = make_app(projects, page=page_html, token=token, limits=limits)
    project_names = [project.project_id for project in projects]
    server_url = f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
    click.echo(f"Serving {', '.join(project_names)} on {server_url} (Ctrl-C ends it)")
    if token is None:
        click.echo(f'Next: curl -d text="a text" {server_url}v1/projects/{project_names[0]}/suggest')
    uvicorn.run(web_app, host=host, port=port, **server_options(limits))


def _read_token(token_file: str | None, host: str) -> str | None:
    from hyperlabel.apps.serve.app import is_loopback

    token = os.environ.get("HYPERLABEL_TOKEN") or None
    if token_file and not (token := Path(token_file).read_text(encoding="utf-8").strip()):
        raise ValueError(f"{token_file} holds no token.")
    if token is None and not is_loopback(host):
        raise ValueError(
            f"Serving {host} lets others in: give a token with --token-file or in HYPERLABEL_TOKEN."
        )
    return token


class ServedModel:
    """A model file that answers, explains and learns; all of it is loaded where `plain` is not enough."""

    def __init__(self, path: str, *, learns: bool = False) -> None:
        self.path, self.learns, self.learning = path, learns, asyncio.Lock()
        self.project_id = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(path).stem).strip("-") or "model"
        columns = read_columns(path)
        self.plain = open_plain(path, columns)
        self.label_names = columns.label_names
        if not columns.text_only:
            raise ValueError(f"{path} was not fitted on text alone: only such models are served.")
        if learns:
            from hyperlabel.apps.cli.update import need_updatable

            with plain_warnings(), locked(path, lambda: None):  # says so where there are no locks
                need_updatable(self.file)
        if self.plain is None and not hasattr(self.file.model, "predict_proba"):
            say(f"{path} has no probabilities: it answers with scores moved between 0 and 1.")
        self.probabilities(["a first text"])

    @cached_property
    def file(self) -> Any:
        """The whole model."""
        self.file_stamp = stamp_of(self.path)
        return open_model(self.path)

    def page(self, data: str) -> str:
        """Return the page of the model on labelled rows, which asks this server."""
        from hyperlabel.apps.cli.report import model_html
        from hyperlabel.apps.report.model_page import PageOptions

        page_options = PageOptions(live={"base": "/", "project": self.project_id})
        return model_html(self.file, data, options=page_options)

    def probabilities(self, texts: list[str]) -> Any:
        """Return probabilities, one row for each text."""
        if self.plain is not None:
            return self.plain.probabilities(texts)
        if hasattr(self.file.model, "predict_proba"):
            return review_probabilities(self.file, texts)
        return np.exp(-np.logaddexp(0, -self.file.scores(texts)))

    def explain(self, text: str, labels: list[str], top: int) -> list[dict[str, Any]]:
        """Return the words behind the scores of labels; of the best three where none is named."""
        from hyperlabel.meta import explain

        model_file = self.file
        best_labels = model_file.scores([text])[0].argsort(kind="stable")[::-1][:3]
        labels = labels or [self.label_names[j] for j in best_labels]
        explanations = [
            asdict(explanation)
            for explanation in explain(model_file.model, [text], labels=labels, top=max(top, 1))
        ]
        for explanation in explanations:  # JSON knows no infinite threshold
            explanation["threshold"] = (
                explanation["threshold"] if abs(explanation["threshold"] or 0) < 1e300 else None
            )
        return explanations

    def learn(self, texts: list[str], labels: list[list[str]]) -> None:
        """Learn texts; the file is on disk before the answers change."""
        from hyperlabel.apps.cli._fit_rows import change_hashes
        from hyperlabel.meta import update

        Y = [[int(label_name in text_labels) for label_name in self.label_names] for text_labels in labels]
        with locked(self.path, lambda: None) as lock:
            file = self.file
            if self.file_stamp != lock.stamp:  # another process has changed it meanwhile
                file = open_model(self.path)
            if file.columns.label_names != self.label_names:
                raise RuntimeError("The labels of the model file have changed: start the server again.")
            row_hashes = change_hashes(file.columns, texts)
            file = with_columns(file, rows=file.columns.rows + len(texts), row_hashes=row_hashes)
            file = replace(file, model=update(file.model, (texts, Y)))
            save_model(file)
            self.file, self.plain, self.file_stamp = file, read_plain(self.path), lock.stamp
