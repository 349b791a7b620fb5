"""The server says where scores of labels without rows come from, and what their names give."""

from __future__ import annotations

import pytest
from tests.serve.asking import client

from hyperlabel.apps.serve.served_model import ServedModel
from hyperlabel.tabular import fit_table

pytest.importorskip("starlette")
from hyperlabel.apps.serve import make_app

ROWS = [("a red thing sings", "red"), ("some blue thing sleeps", "blue"), ("pink is never seen", "")]


@pytest.fixture(scope="module", params=["plain", "whole"])
def ask(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("sources")
    (folder / "t.csv").write_text("text,tags\n" + "\n".join(f"{text},{tag}" for text, tag in ROWS * 12))
    (folder / "names.csv").write_text("label,parent\npink,\n" if request.param == "plain" else TREE)
    fit_table(
        str(folder / "t.csv"),
        str(folder / "m.hyper"),
        labels="tags",
        group="",
        label_text=str(folder / "names.csv"),
    )
    served = ServedModel(str(folder / "m.hyper"))
    ask = client(make_app([served]))
    ask.has_tree = request.param == "whole"
    return ask


TREE = "label,parent\npink,colour\nred,colour\nblue,colour\n"


def test_suggestions_name_their_source(ask):
    found = ask("POST", "/v1/projects/m/suggest", json={"text": "a pink thing", "limit": 9}).json()["results"]
    sources = {one["label"]: one["source"] for one in found}
    assert sources["pink"] == "name"
    assert sources["red"] == sources["blue"] == "rows"
    assert sources.get("colour", "child") in ("rows", "child")
    assert ("colour" in sources) == ask.has_tree


def test_explanations_tell_what_the_name_gives(ask):
    query = {"text": "a pink thing", "label": "pink"}
    (why,) = ask("POST", "/v1/projects/m/explain", json=query).json()["results"]
    total = sum(feature["share"] for feature in why["features"]) + why["rest"]
    assert why["from_name"] == pytest.approx(total)  # a label without rows has nothing but its name
    assert why["from_name"] > 0
