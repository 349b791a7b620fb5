"""The server, as Annif's clients see it, and as an attacker does."""
# ruff: noqa: E501 - requests in one line

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.report.made_model import run
from tests.serve.asking import client

import hyperlabel
from hyperlabel import BinaryRelevance, load
from hyperlabel.apps.cli._methods import METHODS
from hyperlabel.apps.cli.serve import _make_live_page
from hyperlabel.apps.serve.served_model import ServedModel
from hyperlabel.tabular.fit_rows import hash_rows, pack_hashes

pytest.importorskip("starlette")
from hyperlabel.apps.serve import Limits, make_app  # asks for it

ONE = "/v1/projects/notes"


@pytest.fixture(scope="module")
def project(made):
    return ServedModel(str(made["model"]))


@pytest.fixture(scope="module")
def page(project, made):
    return _make_live_page(project, str(made["data"]))


@pytest.fixture(scope="module")
def ask(project):
    return client(make_app([project]))


def test_projects_are_listed_as_annif_lists_them(ask):
    (listed,) = ask("GET", "/v1/projects").json()["projects"]
    assert listed == ask("GET", ONE).json()
    assert {"project_id", "name", "language", "backend", "is_trained"} <= set(listed)
    assert listed["backend"] == {"backend_id": "hyperlabel"}
    assert {"title", "version"} <= set(ask("GET", "/v1/").json())
    assert ask("GET", "/healthz").json()["status"] == "ok"


def test_what_the_command_tells_to_ask_is_answered(made, monkeypatch):
    monkeypatch.delenv("HYPERLABEL_TOKEN", raising=False)
    served = []
    monkeypatch.setattr("hyperlabel.apps.serve.run_server", lambda app, *_: served.append(app))
    said = run("serve", made["model"], "--port", "0")
    path = re.search(r"curl -d text=\"a text\" http://127.0.0.1:\d+(/\S+)", said)[1]
    assert client(served[0])("POST", path, data={"text": "a text"}).status_code == 200


def test_suggestions_are_probabilities_best_first(ask, made):
    found = ask("POST", f"{ONE}/suggest", data={"text": "piano and violin", "limit": "3"}).json()["results"]
    scores = [one["score"] for one in found]
    assert found[0]["label"] == "music"
    assert found[0]["uri"] == "urn:hyperlabel:music"
    assert set(found[0]) == {"uri", "label", "notation", "score"}
    assert scores == sorted(scores, reverse=True)
    assert 0 < min(scores) <= max(scores) <= 1
    assert len(found) == 3
    many = ask("POST", f"{ONE}/suggest", data={"text": "piano", "threshold": "0.5"}).json()["results"]
    assert all(one["score"] >= 0.5 for one in many)
    assert ask("POST", f"{ONE}/suggest", data={"text": "", "limit": "0"}).json() == {"results": []}


def test_a_batch_answers_each_document_as_alone(ask):
    documents = [
        {"text": "piano", "document_id": "a"},
        {"text": "bread oven"},
        {"text": "\ud800", "document_id": "\udfff"},
    ]
    body = json.dumps({"documents": documents})
    found = ask("POST", f"{ONE}/suggest-batch?limit=2", content=body).json()
    assert [one["document_id"] for one in found] == ["a", None, "\udfff"]
    for one, document in zip(found[:2], documents, strict=False):
        alone = ask("POST", f"{ONE}/suggest", data={"text": document["text"], "limit": "2"}).json()
        assert one["results"] == [pytest.approx(r) for r in alone["results"]]
    assert ask("POST", f"{ONE}/suggest-batch", json={"documents": []}).json() == []


def test_probabilities_come_with_the_model_and_are_those_of_python(made):
    """Read with numpy alone, without rows to calibrate on: the curves are in the file."""
    served = ServedModel(str(made["model"]))
    assert served.plain is not None
    texts = ["piano violin song", "bread", "", "Ünknown WORDS only", "piano " * 50, "\ud800 oven"]
    expected = load(made["model"]).predict_proba(texts)
    assert np.abs(served.probabilities(texts) - expected).max() < 1e-12
    assert served.label_names[expected[0].argmax()] == "music"
    assert "file" not in vars(served)  # the whole model was not needed


def test_a_first_answer_needs_no_scikit_learn(made):
    """A fresh process answers over HTTP without the imports that cost seconds."""
    code = (
        "import sys, asyncio, httpx\n"
        "from hyperlabel.apps.serve.served_model import ServedModel\n"
        "from hyperlabel.apps.serve import make_app\n"
        f"app = make_app([ServedModel({str(made['model'])!r})])\n"
        "async def ask():\n"
        "    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url='http://localhost') as c:\n"
        f"        return await c.post('{ONE}/suggest', data={{'text': 'piano'}})\n"
        "assert asyncio.run(ask()).json()['results'][0]['label'] == 'music'\n"
        "print([name for name in ('sklearn', 'scipy', 'pandas', 'numba') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stderr


@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("ridge", "auto")])
def test_every_method_of_the_catalogue_answers_with_probabilities(made, tmp_path, method):
    """Thresholds are tuned on out-of-fold scores; so are the curves of methods without probabilities of their own."""
    path = tmp_path / f"{method}.hyper"
    run("fit", made["data"], "--labels", "tags", "--text", "body", "--method", method, "-o", path)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*has no probabilities")
        project = ServedModel(str(path))
    assert project.plain is None
    rows = [json.loads(line) for line in made["data"].read_text(encoding="utf-8").splitlines()]
    p = project.probabilities([row["body"] for row in rows])
    assert ((p > 0) & (p < 1)).all()
    rates = [np.mean([name in row["tags"] for row in rows]) for name in project.label_names]
    assert np.abs(p.mean(axis=0) - rates).max() < 0.1  # on the scale of probabilities
    if method != "prior":
        assert project.label_names[project.probabilities(["piano violin song"])[0].argmax()] == "music"


def test_a_model_without_probabilities_says_so_and_answers_in_order(made, tmp_path):
    path = tmp_path / "plst.hyper"
    bare = ("--method", "plst", "--thresholds", "none")
    run("fit", made["data"], "--labels", "tags", "--text", "body", *bare, "-o", path)
    with pytest.warns(UserWarning, match="has no probabilities"):
        project = ServedModel(str(path))
    p, scores = (found(["piano violin song"])[0] for found in (project.probabilities, project.file.scores))
    assert ((p > 0) & (p < 1)).all()
    np.testing.assert_array_equal(p.argsort(), scores.argsort())


def test_a_file_that_does_not_repeat_its_answers_is_not_trusted(made, monkeypatch):
    from hyperlabel.persistence import plain

    assert plain.read_plain(str(made["model"])) is not None
    monkeypatch.setattr(plain, "_EDGE", 0.4)
    assert plain.read_plain(str(made["model"])) is None


def test_words_behind_a_score_add_up(ask):
    (found,) = ask("POST", f"{ONE}/explain", data={"text": "piano bread", "label": "music"}).json()["results"]
    assert found["features"][0]["name"] == "piano"
    total = found["base"] + found["rest"] + sum(word["share"] for word in found["features"])
    assert total == pytest.approx(found["score"])
    assert len(ask("POST", f"{ONE}/explain", data={"text": "piano"}).json()["results"]) == 3


def test_errors_are_problems_without_paths(ask, made):
    big = "x" * (Limits.body + 1)
    for status, method, path, options in (
        (404, "GET", "/v1/projects/no", {}),
        (404, "POST", "/v1/projects/no/suggest", {"data": {"text": "a"}}),
        (404, "GET", "/nowhere", {}),
        (405, "GET", f"{ONE}/suggest", {}),
        (400, "POST", f"{ONE}/suggest", {"data": {"limit": "3"}}),
        (400, "POST", f"{ONE}/suggest", {"data": {"text": "a", "limit": "-1"}}),
        (400, "POST", f"{ONE}/suggest", {"data": {"text": "a", "threshold": "nan"}}),
        (400, "POST", f"{ONE}/suggest", {"content": b"\xff\xfe"}),
        (400, "POST", f"{ONE}/suggest", {"content": "&".join(f"a{i}=" for i in range(200))}),
        (413, "POST", f"{ONE}/suggest", {"data": {"text": big}}),
        (400, "POST", f"{ONE}/suggest-batch", {"content": "[" * 100_000}),
        (400, "POST", f"{ONE}/suggest-batch", {"content": "1" * 10_000}),
        (400, "POST", f"{ONE}/suggest-batch", {"json": {"documents": [{"text": 3}]}}),
        (400, "POST", f"{ONE}/suggest-batch", {"json": {"documents": [{"text": "a", "document_id": {}}]}}),
        (400, "POST", f"{ONE}/suggest-batch", {"json": {"documents": [{"text": "a"}] * 33}}),
        (400, "POST", f"{ONE}/explain", {"data": {"text": "a", "label": "no such"}}),
        (403, "POST", f"{ONE}/learn", {"json": []}),
    ):
        answer = ask(method, path, **options)
        assert answer.status_code == status, (path, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == status
        assert str(made["model"].parent) not in answer.text
        assert "Traceback" not in answer.text


def test_failures_inside_say_nothing_of_the_inside():
    class Broken:
        project_id, label_names = "notes", ("a",)

        def ranked(self, texts):
            raise RuntimeError("secret /path")

    ask = client(make_app([Broken()]))
    answer = ask("POST", f"{ONE}/suggest", data={"text": "a"})
    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert answer.headers["content-type"] == "application/problem+json"


def test_work_that_takes_too_long_is_given_up():
    import time

    class Slow:
        project_id, label_names = "notes", ("a",)

        def ranked(self, texts):
            time.sleep(0.5)

    ask = client(make_app([Slow()], limits=Limits(seconds=0.05)))
    assert ask("POST", f"{ONE}/suggest", data={"text": "a"}).status_code == 503


def test_a_token_is_needed_where_there_is_one(project):
    app = make_app([project], token="a secret: ü")
    assert client(app)("GET", "/healthz").status_code == 200

    def basic(text):
        return b"Basic " + base64.b64encode(text.encode())

    for sent in (b"Bearer no", "a secret: ü".encode(), basic("me:no"), b"Basic !", basic("a secret: ü"), b""):
        answer = client(app, headers={"Authorization": sent})("GET", "/v1/projects")
        assert answer.status_code == 401
        challenges = answer.headers.get_list("www-authenticate")
        assert challenges == ["Bearer", 'Basic realm="hyperlabel", charset="UTF-8"']
    for sent in ("Bearer a secret: ü".encode(), basic("me:a secret: ü"), basic(":a secret: ü")):
        assert client(app, headers={"Authorization": sent})("GET", "/v1/projects").status_code == 200


def test_another_name_for_this_machine_is_refused_without_a_token(ask):
    assert ask("GET", "/v1/projects", headers={"host": "evil.example"}).status_code == 403
    for host in ("127.0.0.1:5000", "localhost", "[::1]:5000"):
        assert ask("GET", "/v1/projects", headers={"host": host}).status_code == 200


def test_beyond_loopback_a_token_is_demanded(made, monkeypatch):
    from click.testing import CliRunner

    from hyperlabel.apps.cli import main

    monkeypatch.delenv("HYPERLABEL_TOKEN", raising=False)
    result = CliRunner().invoke(main, ["serve", str(made["model"]), "--host", "0.0.0.0"])
    assert result.exit_code == 2
    assert "give a token" in result.output


def test_learning_equals_a_refit_and_is_on_disk_before_the_answer(made, tmp_path):
    path = tmp_path / "notes.hyper"
    shutil.copy(made["model"], path)
    project = ServedModel(str(path), learns=True)
    ask = client(make_app([project]))
    new = [
        {
            "text": "drum chord melody oven",
            "subjects": [{"uri": "urn:hyperlabel:music"}, {"uri": "x", "label": "y"}][:1],
        },
        {"text": "soup onion", "subjects": [{"label": "cooking"}]},
    ]
    half = ask("POST", f"{ONE}/learn", json=[*new, {"text": "without subjects"}])
    assert half.status_code == 400
    assert (
        "Document 2 must have subjects ([] says that it carries no label) or answers"
        in (half.json()["detail"])
    )
    assert ask("POST", f"{ONE}/learn", json=new).status_code == 204
    on_disk = load(path)
    old = load(made["model"])
    rows = [json.loads(line) for line in made["data"].read_text(encoding="utf-8").splitlines()]
    rows += [{"body": new[0]["text"], "tags": ["music"]}, {"body": new[1]["text"], "tags": ["cooking"]}]
    names = project.label_names
    Y = np.array([[int(name in row["tags"]) for name in names] for row in rows])
    inner = old[-1].estimator_
    refit = BinaryRelevance(alpha=inner.alpha_, solver="gram", label_features=inner.label_features_).fit(
        old[0].transform([r["body"] for r in rows]), Y
    )
    assert np.allclose(on_disk[-1].estimator_.coef_, refit.coef_, atol=1e-8)
    assert np.array_equal(project.file.model[-1].estimator_.coef_, on_disk[-1].estimator_.coef_)
    columns = project.file.columns
    assert columns.rows == len(rows)
    assert columns.row_hashes == pack_hashes(hash_rows(columns, [row["body"] for row in rows]))
    for wrong in (
        [{"text": "a", "subjects": [{"uri": "unknown"}]}],
        {"a": 1},
        [{"text": 1, "subjects": []}],
        [{"text": "a", "subjects": [], "answers": {"music": True}}],
        [{"text": "a", "answers": {"unknown": True}}],
        [{"text": "a", "answers": {"music": 1}}],
        [{"text": "a", "answers": {}}],
        [{"text": "a", "answers": ["music"]}],
        [3],
    ):
        assert ask("POST", f"{ONE}/learn", json=wrong).status_code == 400
    plain = ask("POST", f"{ONE}/learn", content="[]", headers={"content-type": "text/plain"})
    assert plain.status_code == 415  # what another site's form could send


def test_answers_about_single_labels_leave_the_others_unknown(made, tmp_path):
    path = tmp_path / "notes.hyper"
    run("fit", made["data"], "--labels", "tags", "--text", "body", "--no-label-names", "-o", path)
    old, project = load(path), ServedModel(str(path), learns=True)
    names = project.label_names
    asked = {"text": "drum chord oven", "answers": {"urn:hyperlabel:music": False, "cooking": True}}
    whole = {"text": "soup onion", "subjects": [{"label": "cooking"}]}
    learned = client(make_app([project]))("POST", f"{ONE}/learn", json=[asked, whole])
    assert learned.status_code == 204, learned.text
    rows = [json.loads(line) for line in made["data"].read_text(encoding="utf-8").splitlines()]
    Y = np.array([[float(name in row["tags"]) for name in names] for row in rows])
    answers = [{"music": 0.0, "cooking": 1.0}.get(name, np.nan) for name in names]
    Y = np.vstack([Y, answers, [float(name == "cooking") for name in names]])
    texts = [*(row["body"] for row in rows), asked["text"], whole["text"]]
    refit = BinaryRelevance(alpha=old[-1].estimator_.alpha_, solver="gram").fit(old[0].transform(texts), Y)
    assert np.allclose(load(path)[-1].estimator_.coef_, refit.coef_, atol=1e-8)


def test_labels_of_one_probability_are_suggested_by_score(made, monkeypatch):
    project = ServedModel(str(made["model"]))
    text = "soup onion drum chord piano"
    scores = project.plain.scores([text])[0]
    monkeypatch.setattr(type(project.plain), "calibrate", lambda self, scores: np.full_like(scores, 0.5))
    answer = client(make_app([project]))("POST", f"{ONE}/suggest", data={"text": text, "limit": "1"}).json()
    assert [one["label"] for one in answer["results"]] == [project.label_names[scores.argmax()]]


def test_text_after_text_is_learned_without_a_solve_until_another_process_changes_the_file(
    made, tmp_path, monkeypatch
):
    monkeypatch.setattr("hyperlabel.solvers.moments.rank_one_update.FEWEST_FEATURES", 1)
    path = tmp_path / "notes.hyper"
    options = (
        "--labels",
        "tags",
        "--text",
        "body",
        "--no-label-names",
    )  # how much names weigh moves with rows
    run("fit", made["data"], *options, "-o", path)
    project = ServedModel(str(path), learns=True)
    for i in range(3):
        project.learn(["drum chord melody oven"], [["music"]])
        assert project.file.model[-1].estimator_.moments_.sums().rank_one_factor.rows == i + 1
    run("update", path, made["data"])
    project.learn(["soup onion"], [["cooking"]])
    assert project.file.model[-1].estimator_.moments_.sums().rank_one_factor.rows == 1
    on_disk = load(path)
    assert project.file.columns.rows == on_disk[-1].estimator_.moments_.n == 2 * 240 + 4
    new, known = project.file.model[-1].estimator_, on_disk[-1].estimator_
    np.testing.assert_array_equal(new.coef_, known.coef_)
    new._solve()
    np.testing.assert_allclose(known.coef_, new.coef_, atol=1e-8)
    np.testing.assert_allclose(project.probabilities(["soup"]), on_disk.predict_proba(["soup"]), atol=1e-12)


def test_a_page_asks_its_server_where_the_model_cannot_run_in_it(browser, made, tmp_path):
    """ML-kNN is not linear: typing in the page shows what the server answers; the token is its password."""
    import threading
    import time

    import uvicorn
    from tests.report.browsing import AUDIT

    path = tmp_path / "near.hyper"
    run("fit", made["data"], "--labels", "tags", "--text", "body", "--method", "mlknn", "-o", path)
    project = ServedModel(str(path))
    app = make_app([project], page=_make_live_page(project, str(made["data"])), token="a secret")
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="warning"))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.02)
        port = server.servers[0].sockets[0].getsockname()[1]
        browser.visit(f"http://me:a%20secret@127.0.0.1:{port}/#try")
        browser.run(
            "(() => { const t = document.getElementById('try-text'); t.value = 'piano violin guitar song'; t.dispatchEvent(new Event('input')); })()"
        )
        browser.until("document.querySelector('#try-labels .name')?.textContent === 'music'")
        assert "probability" in browser.run("document.getElementById('try-how').textContent")
        # probabilities are not held against thresholds of scores
        assert not browser.run("document.querySelector('#try-labels .state').textContent")
        assert browser.run(AUDIT) == []
        assert browser.console == []
        assert [url for url in browser.asked if f"127.0.0.1:{port}/" not in url] == []
    finally:
        server.should_exit = True
        thread.join()


def test_the_page_is_live(project, page):
    ask = client(make_app([project], page=page))
    assert "connect-src 'self'" in page
    assert ask("GET", "/").text == page


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["documents", "text", "document_id", "subjects", "uri", "x"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    body=_json,
    form=st.dictionaries(st.sampled_from(["text", "limit", "threshold", "label", "x"]), st.text(max_size=20)),
    raw=st.binary(max_size=40),
)
def test_no_request_ends_in_a_server_error(ask, body, form, raw):
    from urllib.parse import urlencode

    query = urlencode(form, errors="surrogatepass")
    for path in ("suggest", "suggest-batch", "explain", "learn", ""):
        for content in (json.dumps(body).encode(), query.encode(), raw):
            answer = ask("POST", f"{ONE}/{path}?{query}", content=content)
            assert answer.status_code < 500, (path, content, answer.text)


SCHEMA = json.loads(
    (Path(hyperlabel.apps.serve.__file__).parent / "openapi.json").read_text(encoding="utf-8")
)


def resolved(node):
    """Follow a reference inside the description."""
    while "$ref" in node:
        found = SCHEMA
        for part in node["$ref"].split("/")[1:]:
            found = found[part]
        node = found
    return node


def values(schema):
    """What the description allows, and now and then what it does not."""
    schema = resolved(schema)
    low, high = schema.get("minimum"), schema.get("maximum")
    allowed = {
        "string": lambda: st.text(max_size=30),
        "integer": lambda: st.integers(low, high),
        "number": lambda: st.floats(low, high),
        "array": lambda: st.lists(values(schema["items"]), max_size=4),
        "object": lambda: st.fixed_dictionaries(
            {name: values(schema["properties"][name]) for name in schema.get("required", ())},
            optional={
                name: values(one)
                for name, one in schema.get("properties", {}).items()
                if name not in schema.get("required", ())
            },
        ),
    }[schema["type"]]()
    return st.one_of(allowed, allowed, allowed, _json)


def fits(value, schema):
    """Whether an answer is what the description says."""
    schema = resolved(schema)
    if "allOf" in schema:
        return all(fits(value, part) for part in schema["allOf"])
    if value is None:
        return schema.get("nullable", False)
    kinds = {
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
        "array": list,
        "object": dict,
    }
    if not isinstance(value, kinds[schema["type"]]):
        return False
    if isinstance(value, list):
        return all(fits(item, schema["items"]) for item in value)
    if isinstance(value, dict):
        known = schema.get("properties", {})
        within = all(fits(value[name], one) for name, one in known.items() if name in value)
        return within and set(schema.get("required", ())) <= set(value)
    return (
        schema.get("minimum", -np.inf) <= value <= schema.get("maximum", np.inf)
        if isinstance(value, float)
        else True
    )


def shown(value):
    return value if isinstance(value, str) else json.dumps(value)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), path=st.sampled_from(sorted(SCHEMA["paths"])))
def test_requests_drawn_from_the_description_end_in_answers_it_describes(learner, data, path):
    from urllib.parse import urlencode

    item = SCHEMA["paths"][path]
    method, work = next((name, item[name]) for name in ("get", "post") if name in item)
    query = {p["name"]: values(p["schema"]) for p in item.get("parameters", ()) if p["in"] == "query"}
    asked = urlencode({k: shown(data.draw(v)) for k, v in query.items()}, errors="surrogatepass")
    options = {}
    if "requestBody" in work:
        kind, media = data.draw(st.sampled_from(sorted(work["requestBody"]["content"].items(), key=str)))
        body = data.draw(values(media["schema"]))
        form = {k: shown(v) for k, v in body.items()} if isinstance(body, dict) else {}
        as_form = "urlencoded" in kind
        content = urlencode(form, errors="surrogatepass") if as_form else json.dumps(body)
        options = {"content": content.encode(), "headers": {"content-type": kind}}
    answer = learner(method.upper(), f"/v1{path.replace('{project_id}', 'notes')}?{asked}", **options)
    assert str(answer.status_code) in work["responses"], (path, options, answer.text)
    described = resolved(work["responses"][str(answer.status_code)])
    for kind, media in described.get("content", {}).items():
        assert answer.headers["content-type"] == kind
        assert fits(answer.json(), media["schema"]), (path, answer.text)


@pytest.fixture(scope="module")
def learner(made, tmp_path_factory):
    path = tmp_path_factory.mktemp("learner") / "notes.hyper"
    shutil.copy(made["model"], path)
    return client(make_app([ServedModel(str(path), learns=True)]))


def test_the_description_is_served_and_names_every_route(ask):
    assert ask("GET", "/v1/openapi.json").json() == SCHEMA
    app = make_app([]).app
    served = {route.path for route in app.routes if route.path.startswith("/v1")} - {"/v1/openapi.json"}
    assert {f"/v1{path}" for path in SCHEMA["paths"]} == served


def test_models_that_cannot_be_served_end_in_one_sentence(made, tmp_path):
    numbers = tmp_path / "numbers.jsonl"
    numbers.write_text(
        "".join(f'{{"a": {i}, "b": {-i}, "t": ["{"xy"[i % 2]}"]}}\n' for i in range(40)), encoding="utf-8"
    )
    run("fit", numbers, "--labels", "t", "--features", "a,b", "-o", tmp_path / "n.hyper")
    assert ServedModel(str(tmp_path / "n.hyper")).probabilities([{"a": 1, "b": -1}]).shape == (1, 2)
    sparse = tmp_path / "sparse.svm"
    sparse.write_text("".join(f"{i % 2} 1:{i}\n" for i in range(40)), encoding="utf-8")
    run("fit", sparse, "-o", tmp_path / "v.hyper")
    with pytest.raises(ValueError, match="libsvm data: served are models of tables"):
        ServedModel(str(tmp_path / "v.hyper"))
    run("fit", made["data"], "--labels", "tags", "--text", "body", "--slim", "-o", tmp_path / "s.hyper")
    with pytest.raises(ValueError, match="kept neither rows nor sums to update: fit it again without --slim"):
        ServedModel(str(tmp_path / "s.hyper"), learns=True)
    project = ServedModel(str(made["model"]))
    with pytest.raises(ValueError, match="same name"):
        make_app([project, project])
