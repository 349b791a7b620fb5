"""``hyperlabel serve``: models over HTTP, as Annif serves them, and their page, live."""

import os
from functools import partial
from pathlib import Path
from typing import Any

import click

from hyperlabel.apps.cli._input import plain_warnings
from hyperlabel.apps.cli._progress import show_step
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
@click.option("--quiet", is_flag=True, help="Do not log requests on stderr, one line each.")
def serve(models: tuple[str, ...], data: str | None, host: str, port: int, **options: Any) -> None:
    """Serve MODELS over HTTP by Annif's REST API v1.

    Projects are named after the files. Beside projects, suggest, suggest-batch and learn there are explain,
    /healthz and /v1/openapi.json, and with --data the page of hyperlabel report at /. Only this machine is
    served unless --host says otherwise; then a token is needed, which a browser asks for as a password.
    A model of several columns takes a row as JSON.

    \b
    hyperlabel serve model.hyper --data tickets.csv
    curl -d text="a text" localhost:5000/v1/projects/model/suggest
    curl --json '{"row": {"title": "a", "size": 3}}' localhost:5000/v1/projects/model/suggest
    """  # noqa: D301 - click wants the character
    need_data(data)
    try:
        from hyperlabel.apps.serve import Limits, ServedModel, make_app, open_port, run_server
    except ImportError as error:
        raise ValueError("Serving needs starlette and uvicorn: pip install 'hyperlabel[serve]'.") from error
    token = _read_token(options["token_file"], host)
    # before models are read and pages drawn, which takes time
    listener = click.get_current_context().with_resource(open_port(host, port))
    with plain_warnings(), show_step("loading models"):
        projects = [ServedModel(model_path, learns=options["learns"]) for model_path in models]
    page_html = ""
    if data:
        with show_step(f"judging {models[0]} on {data}"):
            page_html = _make_live_page(projects[0], data)
    limits = Limits(int(options["max_body"] * 2**20), options["max_batch"], options["timeout"])
    log = None if options["quiet"] else partial(click.echo, err=True)
    web_app = make_app(projects, page=page_html, token=token, limits=limits, log=log)
    project_names = [project.project_id for project in projects]
    port = listener.getsockname()[1]
    server_url = f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
    click.echo(f"Serving {', '.join(project_names)} on {server_url} (Ctrl-C ends it)")
    if token is None:
        suggest_url = f"{server_url}v1/projects/{project_names[0]}/suggest"
        click.echo(f"Next: curl {projects[0].example_request} {suggest_url}")
    run_server(web_app, listener, limits)


def _make_live_page(project: Any, data: str) -> str:
    """Return the page of a model on labelled rows, which asks this server."""
    from hyperlabel.apps.cli.report import judge_and_draw
    from hyperlabel.apps.report.model_page import PageOptions

    page_options = PageOptions(live={"base": "/", "project": project.project_id})
    return judge_and_draw(project.file, data, options=page_options)


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
