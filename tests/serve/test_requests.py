"""What the server reads from a request, whom it answers, and what it does with work at the same time."""

from __future__ import annotations

import asyncio
import base64
import hmac
import re
import time

import numpy as np
import pytest
from click.testing import CliRunner
from tests.report.made_model import run
from tests.serve.asking import ask_together, client

from hyperlabel.apps.cli import main
from hyperlabel.apps.serve.served_model import ServedModel

pytest.importorskip("starlette")
from hyperlabel.apps.serve import make_app
from hyperlabel.apps.serve.app import is_loopback

ONE = "/v1/projects/notes"


class Project:
    """A model that answers what it is told, and notes what it was asked."""

    project_id, label_names, learns = "notes", ["music", "travel"], True

    def sources(self, documents):
        return None

    def __init__(self, probabilities=(0.5, 0.25), error=None):
        self.answer, self.error, self.learning = np.array([probabilities]), error, asyncio.Lock()
        self.tops, self.at_work, self.most_at_work = [], 0, 0

    def ranked(self, texts):
        if self.error is not None:
            raise self.error
        order = (-self.answer[0]).argsort(kind="stable")
        return [[(j, float(self.answer[0, j])) for j in order]] * len(texts)

    def explain(self, text, labels, top):
        if self.error is not None:
            raise self.error
        self.tops.append(top)
        return []

    def learn(self, texts, labels):
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        time.sleep(0.02)
        self.at_work -= 1


@pytest.fixture
def ask():
    return client(make_app([Project()]))


# -- whom it answers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    ["127.0.0.2", "127.0.0.2:5000", "127.255.255.254", "[::1]", "[::1]:5000", "LOCALHOST:1", "localhost"],
)
def test_every_name_of_this_machine_is_answered_without_a_token(ask, host):
    assert ask("GET", "/v1/projects", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "[::1].evil.example", "localhost:1:evil", "127.0.0.1@evil", "",
     "[::2]", "::1", "127.1", "126.0.0.1", "\uff11\uff12\uff17.0.0.1".encode()],
)  # fmt: skip
def test_every_other_name_is_refused_without_a_token(ask, host):
    assert ask("GET", "/v1/projects", headers={"host": host}).status_code == 403


def test_serving_another_loopback_address_needs_no_token_and_says_a_url_that_works(made, monkeypatch):
    monkeypatch.delenv("HYPERLABEL_TOKEN", raising=False)
    apps = []
    monkeypatch.setattr("hyperlabel.apps.serve.run_server", lambda app, *_: apps.append(app))
    for host, pattern in (("127.0.0.2", r"http://127\.0\.0\.2:\d+/"), ("::1", r"http://\[::1\]:\d+/")):
        url = re.search(pattern, run("serve", made["model"], "--host", host, "--port", "0"))[0]
        assert client(apps[-1])("GET", "/v1/projects", headers={"host": url[7:-1]}).status_code == 200
    for host in ("127.0.0.1.evil.example", "0.0.0.0", "::"):
        result = CliRunner().invoke(main, ["serve", str(made["model"]), "--host", host])
        assert result.exit_code == 2
        assert not is_loopback(host)


@pytest.mark.parametrize(
    "token", ["a long token of many characters", "12345678", "ü" * 8], ids=["long", "eight", "not ascii"]
)
def test_a_token_that_only_begins_right_is_refused(token):
    ask = client(make_app([Project()], token=token))

    def statuses(sent):
        basic = b"Basic " + base64.b64encode(b"me:" + sent)
        return {
            ask("GET", "/v1/projects", headers={"Authorization": h}).status_code
            for h in (b"Bearer " + sent, basic)
        }

    whole = token.encode()
    assert statuses(whole) == {200}
    for wrong in (
        whole[:8] + b"x",
        whole[:-1],
        whole + b"x",
        whole[:-1] + b"\xfe",
        b"x" + whole[1:],
        whole.swapcase(),
    ):
        assert statuses(wrong) == {401} or wrong == whole


def test_a_token_is_compared_whole_and_in_constant_time(monkeypatch):
    compared = []

    def compare(sent, token):
        compared.append((sent, token))
        return real(sent, token)

    real = hmac.compare_digest
    monkeypatch.setattr("hyperlabel.apps.serve.app.hmac.compare_digest", compare)
    ask = client(make_app([Project()], token="a long token of many characters"))
    for sent in (b"a long t", b"another"):
        ask("GET", "/v1/projects", headers={"Authorization": b"Bearer " + sent})
    assert compared == [
        (b"a long t", b"a long token of many characters"),
        (b"another", b"a long token of many characters"),
    ]


@pytest.mark.parametrize("token", [None, "a secret"])
def test_pages_of_other_sites_may_not_ask(token):
    ask = client(make_app([Project()], token=token), headers={"Authorization": "Bearer a secret"})
    own = {"http://localhost": {}, "https://labels.example": {"X-Forwarded-Host": "labels.example"}}
    for origin, headers in own.items():
        for path in ("suggest", "explain"):
            answer = ask("POST", f"{ONE}/{path}", data={"text": "a"}, headers={"Origin": origin, **headers})
            assert answer.status_code == 200
    for origin in (
        "https://evil.example",
        "http://localhost:3000",
        "http://localhost.evil.example",
        "null",
        "",
    ):
        for path in ("suggest", "explain", "learn"):
            answer = ask("POST", f"{ONE}/{path}", data={"text": "a"}, headers={"Origin": origin})
            assert answer.status_code == 403
            assert answer.headers["content-type"] == "application/problem+json"


def test_every_answer_forbids_framing_guessing_and_keeping():
    app = make_app([Project(error=RuntimeError("secret"))], page="<html></html>", token="a secret")
    ask = client(app)
    answers = [ask("GET", "/"), ask("GET", "/healthz")]
    allowed = {"Authorization": "Bearer a secret"}
    answers += [ask("GET", path, headers=allowed) for path in ("/", "/nowhere", "/v1/openapi.json")]
    answers.append(ask("POST", f"{ONE}/suggest", data={"text": "a"}, headers=allowed))
    assert [answer.status_code for answer in answers] == [401, 200, 200, 404, 200, 500]
    for answer in answers:
        assert answer.headers.get_list("x-content-type-options") == ["nosniff"]
        assert answer.headers.get_list("x-frame-options") == ["DENY"]
        assert answer.headers.get_list("cache-control") == ["no-store"]


# -- what it reads -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limit", ["1_0", "\uff11\uff10", "\u0661", " 5", "+3", "1e1", "-1", "", "1.0", "9" * 5000]
)
def test_a_limit_is_read_from_plain_digits_only(ask, limit):
    for path in ("suggest", "explain"):
        assert ask("POST", f"{ONE}/{path}", data={"text": "a", "limit": limit}).status_code == 400
    body = {"documents": [{"text": "a"}]}
    assert ask("POST", f"{ONE}/suggest-batch", params={"limit": limit}, json=body).status_code == 400


@pytest.mark.parametrize(
    "threshold", ["0_0.1", "\uff10.5", " 0.5", "+0.5", "-0.0", "inf", "nan", "1.0000001", "0x1", ".", ""]
)
def test_a_threshold_is_read_from_plain_digits_only(ask, threshold):
    answer = ask("POST", f"{ONE}/suggest", data={"text": "a", "threshold": threshold})
    assert answer.status_code == 400


@pytest.mark.parametrize("threshold", ["0", "1", "0.5", ".5", "1.", "5e-324", "1E-3", "0.25e+0"])
def test_a_threshold_is_a_number_as_json_and_forms_spell_it(ask, threshold):
    assert ask("POST", f"{ONE}/suggest", data={"text": "a", "threshold": threshold}).status_code == 200


@pytest.mark.parametrize(
    ("threshold", "labels"), [("0.5", ["music"]), ("0.25", ["music", "travel"]), ("0.51", [])]
)
def test_a_score_at_the_threshold_is_suggested(ask, threshold, labels):
    answer = ask("POST", f"{ONE}/suggest", data={"text": "a", "threshold": threshold}).json()["results"]
    assert [one["label"] for one in answer] == labels


def test_a_label_without_any_probability_is_never_suggested():
    ask = client(make_app([Project((0.5, 0.0))]))
    answer = ask("POST", f"{ONE}/suggest", data={"text": "a"}).json()["results"]
    assert [one["label"] for one in answer] == ["music"]


# -- what it does ------------------------------------------------------------------------------------------


def test_a_fault_while_suggesting_is_not_blamed_on_explain():
    ask = client(make_app([Project(error=ValueError("a fault"))]))
    body = {"documents": [{"text": "a"}]}
    for path, options in (("suggest", {"data": {"text": "a"}}), ("suggest-batch", {"json": body})):
        answer = ask("POST", f"{ONE}/{path}", **options)
        assert answer.status_code == 500
        assert "explain" not in answer.text
    answer = ask("POST", f"{ONE}/explain", data={"text": "a"})
    assert (answer.status_code, answer.json()["detail"]) == (400, "explain needs a linear model.")
    answer = ask("POST", f"{ONE}/explain", data={"text": "a", "label": "no such"})
    assert (answer.status_code, answer.json()["detail"]) == (400, "The model has no such label.")


def test_explain_shows_at_most_a_hundred_words():
    project = Project()
    ask = client(make_app([project]))
    for limit in ("1000000", "101", "100", "3", "0"):
        assert ask("POST", f"{ONE}/explain", data={"text": "a", "limit": limit}).status_code == 200
    assert project.tops == [100, 100, 100, 3, 0]


def test_texts_are_learned_one_after_the_other():
    project = Project()
    documents = [{"text": "piano", "subjects": [{"uri": "music"}]}]
    answers = ask_together(make_app([project]), [("POST", f"{ONE}/learn", {"json": documents})] * 8)
    assert [answer.status_code for answer in answers] == [204] * 8
    assert project.most_at_work == 1


def test_a_model_of_more_words_than_sums_would_bear_learns_too(made, tmp_path, monkeypatch):
    monkeypatch.setattr("hyperlabel.tabular.pipeline.SUMS", 10)
    path = tmp_path / "wide.hyper"
    run("fit", made["data"], "--labels", "tags", "--text", "body", "-o", path)
    served = ServedModel(str(path), learns=True)
    name, text = served.label_names[0], "a completely new piano"
    before = served.probabilities([text])[0, 0]
    for _ in range(3):
        served.learn([text], [[name]])
    assert served.probabilities([text])[0, 0] > before
    assert served.file.columns.rows == ServedModel(str(path)).file.columns.rows
