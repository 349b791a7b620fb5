"""A small text model with hostile labels and texts, made by the commands a user would type."""

from __future__ import annotations

import json

import numpy as np
from click.testing import CliRunner

from hyperlabel.apps.cli import main

HOSTILE = (
    "</script><script>document.title='hijacked'</script><img src=x onerror=\"document.title='hijacked'\">"
)
TOPICS = {
    "cooking": "bread oven flour butter sugar salt soup onion pepper garlic",
    "travel": "train ticket hotel city map flight harbour passport bus island",
    "music": "piano violin guitar song chord choir drum opera melody jazz",
    HOSTILE: "hostile attack script tag quote angle bracket ampersand entity escape",
}


def rows(n=240, seed=0):
    """Texts of one or two topics, some labels wrong, some texts hostile."""
    rng = np.random.default_rng(seed)
    names = list(TOPICS)
    for i in range(n):
        chosen = rng.choice(4, size=1 + i % 2, replace=False)
        words = [w for c in chosen for w in rng.choice(TOPICS[names[c]].split(), size=5)]
        text = " ".join(rng.permutation(words)) + (f" {HOSTILE} & <b>bold</b>" if i % 7 == 0 else "")
        yield {"body": text, "tags": [names[c] for c in chosen]}


def run(*arguments):
    result = CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def make(folder):
    """Return a model, the rows it was fitted on, and its page."""
    data, model, page = folder / "notes.jsonl", folder / "notes.hyper", folder / "page.html"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows()), encoding="utf-8")
    run("fit", data, "--labels", "tags", "--text", "body", "-o", model)
    said = run("report", model, data, "-o", page)
    return {"data": data, "model": model, "html": page.read_text(encoding="utf-8"), "said": said}
