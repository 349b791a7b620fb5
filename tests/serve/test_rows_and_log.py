"""Rows of several columns, JSON beside forms, the log, and the port."""

from __future__ import annotations

import csv
import re
import socket
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from tests.report.made_model import run
from tests.serve.asking import client

from hyperlabel.apps.cli import main
from hyperlabel.apps.serve.served_model import ServedModel
from hyperlabel.tabular import open_model

pytest.importorskip("starlette")
from hyperlabel.apps.serve import make_app

SUGGEST = "/v1/projects/mixed/suggest"


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A model of two texts, a category and a number, and its file."""
    folder = tmp_path_factory.mktemp("mixed")
    rng = np.random.default_rng(0)
    with open(folder / "t.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["title", "body", "kind", "size", "tags"])
        for i in range(120):
            j = i % 2
            title = f"{('red', 'blue')[j]} thing number {rng.integers(9)}"
            body = f"it {('sings loudly', 'sleeps quietly')[j]} in the {rng.choice(['house', 'wood'])}"
            size = "" if i % 10 == 0 else round(float(rng.normal() + 5 * j), 2)
            writer.writerow([title, body, ("bird", "stone")[j], size, ("a", "b")[j]])
    columns = ("--text", "title,body", "--features", "kind,size")
    run("fit", folder / "t.csv", "--labels", "tags", *columns, "--group", "", "-o", folder / "mixed.hyper")
    return folder / "mixed.hyper"


ROW = {"title": "red thing", "body": "it sings loudly in the wood", "kind": "bird", "size": 0.5}


@pytest.fixture(scope="module")
def ask(mixed):
    return client(make_app([ServedModel(str(mixed))]))


def test_a_row_is_answered_as_predict_would(ask, mixed):
    found = ask("POST", SUGGEST, json={"row": ROW, "limit": 2}).json()["results"]
    file = open_model(str(mixed))
    inputs = np.array([[ROW[name] for name in file.columns.names]], dtype=object)
    expected = dict(zip(file.columns.label_names, file.model.predict_proba(inputs)[0], strict=True))
    assert {one["label"]: one["score"] for one in found} == pytest.approx(expected)
    batch = {"documents": [{"row": ROW, "document_id": "x"}, {"row": {**ROW, "size": None, "extra": 1}}]}
    answers = ask("POST", f"{SUGGEST}-batch", json=batch).json()
    assert [one["document_id"] for one in answers] == ["x", None]
    assert answers[0]["results"] == found
    assert answers[1]["results"] != found
    why = ask("POST", SUGGEST.replace("suggest", "explain"), json={"row": ROW, "label": "a", "limit": 3})
    features = [one["name"] for one in why.json()["results"][0]["features"]]
    assert len(features) == 3
    assert any(name.endswith(("(title)", "(body)")) for name in features)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"text": "red"}, '{"row": {"title": …, "body": …, "kind": …, "size": …}}'),
        ({"row": {"title": "red"}}, "has no 'body'"),
        ({"row": {**ROW, "size": "large"}}, "'size' must be a number"),
        ({"row": {**ROW, "size": 1e999}}, "'size' must be a number"),
        ({"row": {**ROW, "title": ["red"]}}, "'title' must be text"),
        ({"row": "red"}, "columns of the model"),
        ([ROW], "columns of the model"),
        ({"row": ROW, "limit": [3]}, "must be numbers"),
        ({"row": ROW, "limit": -1}, "whole number"),
    ],
)
def test_rows_that_cannot_be_read_are_refused_with_what_to_send(ask, body, sentence):
    import json

    content = json.dumps(body).encode()  # the client's own refuses infinity
    answer = ask("POST", SUGGEST, content=content, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert sentence in answer.json()["detail"]


def test_json_and_forms_get_the_same_answer_of_a_text_model(made):
    ask = client(make_app([ServedModel(str(made["model"]))]))
    url = "/v1/projects/notes/suggest"
    by_form = ask("POST", url, data={"text": "piano and oven", "limit": "3", "threshold": "0.01"}).json()
    assert by_form["results"]
    for body in ({"text": "piano and oven"}, {"row": {"body": "piano and oven"}}):
        assert ask("POST", url, json={**body, "limit": 3, "threshold": 0.01}).json() == by_form
    unsaid = ask("POST", url, content=b'{"text": "a"}')
    assert unsaid.status_code == 400
    assert "Content-Type: application/json" in unsaid.json()["detail"]


def test_rows_are_learned(mixed, tmp_path):
    path = tmp_path / "mixed.hyper"
    path.write_bytes(mixed.read_bytes())
    project = ServedModel(str(path), learns=True)
    ask = client(make_app([project]))
    before = project.probabilities([ROW])[0, 1]
    learn = SUGGEST.replace("suggest", "learn")
    document = {"row": ROW, "subjects": [{"uri": "b"}]}
    assert ask("POST", learn, json=[document] * 40).status_code == 204
    assert project.probabilities([ROW])[0, 1] > before
    assert open_model(str(path)).columns.rows == 160
    assert ask("POST", learn, json=[{**document, "row": {}}]).status_code == 400
    assert open_model(str(path)).columns.rows == 160


def test_each_request_is_one_line_of_the_log_without_texts(made):
    lines = []
    ask = client(make_app([ServedModel(str(made["model"]))], log=lines.append))
    ask("POST", "/v1/projects/notes/suggest?secret=1", data={"text": "a private piano"})
    ask("GET", "/no%1B%5B31m%0Asuch")
    ask("GET", "/healthz", headers={"host": "evil.example"})
    assert [re.fullmatch(r"\S+ \S+ (\S+ \S+ \d+) [\d.]+ ms", line)[1] for line in lines] == [
        "POST /v1/projects/notes/suggest 200",
        "GET /no%1B%5B31m%0Asuch 404",
        "GET /healthz 403",
    ]
    assert not any("private" in line or "secret" in line for line in lines)


def test_a_used_port_is_one_sentence_before_anything_is_said_to_be_served(made, monkeypatch):
    monkeypatch.delenv("HYPERLABEL_TOKEN", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = CliRunner().invoke(main, ["serve", str(made["model"]), "--port", str(port)])
    assert done.exit_code == 2
    assert f"Port {port} is in use: name another with --port" in " ".join(done.output.split())
    assert "Serving" not in done.output
    unknown = CliRunner().invoke(main, ["serve", str(made["model"]), "--host", "127.0.0.300"])
    assert unknown.exit_code == 2


@pytest.mark.parametrize("options", [(), ("--quiet",)])
def test_the_port_is_open_once_it_is_said_and_requests_are_logged(made, monkeypatch, options):
    import http.client

    monkeypatch.delenv("HYPERLABEL_TOKEN", raising=False)
    command = [sys.executable, "-m", "hyperlabel", "serve", str(made["model"]), "--port", "0", *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        port = int(re.search(r":(\d+)/ ", process.stdout.readline())[1])
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        connection.request("GET", "/healthz")
        assert connection.getresponse().status == 200
        connection.close()
    finally:
        process.terminate()
        _, said = process.communicate(timeout=20)
    assert ("GET /healthz 200" in said) is not bool(options)
    assert "Traceback" not in said


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_a_page_under_a_server_has_a_form_for_several_columns(browser, mixed, width, dark):
    import threading

    from tests.report.browsing import AUDIT

    from hyperlabel.apps.cli.serve import _make_live_page
    from hyperlabel.apps.serve import open_port

    uvicorn = pytest.importorskip("uvicorn")
    project = ServedModel(str(mixed))
    app = make_app([project], page=_make_live_page(project, str(mixed.parent / "t.csv")))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    with open_port("127.0.0.1", 0) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
            browser.visit(f"{url}#try", width=width, dark=dark)
            browser.until("document.querySelectorAll('#try-labels .name').length === 2")
            names = browser.run(
                "[...document.querySelectorAll('#try-fields span')].map((e) => e.textContent)"
            )
            assert names == ["title", "body", "kind", "size"]
            for i, cell in enumerate(("blue thing", "it sleeps quietly in the house", "stone", "5.5")):
                said = f"(() => {{ const e = document.getElementById('try-{i}'); e.value = '{cell}'; "
                browser.run(said + "e.dispatchEvent(new Event('input')); })()")
            browser.until("document.querySelector('#try-labels .name')?.textContent === 'b'")
            row = {"title": "blue thing", "body": "it sleeps quietly in the house", "kind": "stone"}
            expected = project.probabilities([{**row, "size": 5.5}])[0, 1]
            shown = f"Number(document.querySelector('#try-labels .value').textContent) === {expected:.2f}"
            browser.until(shown)
            browser.run(
                "(() => { const e = document.getElementById('try-3'); e.value = 'large'; "
                "e.dispatchEvent(new Event('input')); })()"
            )
            browser.until("document.getElementById('try-rest').textContent.includes('must be a number')")
            # An answer that comes late, to an earlier question, does not wipe out what was said since.
            browser.run(
                "(() => { const answered = window.fetch.bind(window); window.late = 0;"
                " window.fetch = async (...asked) => { const turn = window.late++;"
                " const answer = await answered(...asked);"
                " if (turn === 0) await new Promise((done) => setTimeout(done, 600)); return answer; };"
                " const e = document.getElementById('try-3'); for (const value of ['7', 'huge']) {"
                " e.value = value; e.dispatchEvent(new Event('input')); } })()"
            )
            browser.run("new Promise((done) => setTimeout(done, 1200))")
            assert browser.run("window.late") == 2
            assert "must be a number" in browser.run("document.getElementById('try-rest').textContent")
            browser.console[:] = [line for line in browser.console if "400" not in line]  # chromium notes it
            assert browser.run(AUDIT) == []
            assert browser.console == []
            assert [asked for asked in browser.asked if not asked.startswith(url)] == []
        finally:
            server.should_exit = True
            thread.join()
