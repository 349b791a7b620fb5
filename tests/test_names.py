"""The measures of names: what counts, what does not, and the terms of the glossary."""

from __future__ import annotations

import names
import pytest

SOURCE = {
    "pack/__init__.py": "",
    "pack/first.py": """
from pack.second import helper

def read_rows(path):
    found, row_index = path, 3
    def inner(parts):
        return parts
    return found

def helper():
    raise ValueError("the walk ends here")

class Scorer:
    def threshold(self):
        total_rows = 1
        return total_rows
""",
    "pack/second.py": """
def helper():
    from pack.first import read_rows
    return read_rows
""",
}
GLOSSARY = """
| term | meaning | symbol | where |
|---|---|---|---|
| threshold | above it a label is predicted | t | `first.py` |
| row-wise reader | not there | – | `second.py` |
| feature | a column | – | – |
"""


@pytest.fixture
def made(tmp_path):
    for name, source in SOURCE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(source)
    (tmp_path / "glossary.md").write_text(GLOSSARY)
    (tmp_path / "page.md").write_text(
        "# Head\n\nFour words are here. " + "Word " * 40 + "end.\n\n```\nno code\n```\n"
    )
    return names.Names(tmp_path / "pack", (tmp_path / "page.md",), tmp_path / "glossary.md")


def test_variables_and_functions_are_counted_once_a_function(made):
    assert sorted(made.local_names()) == ["found", "row_index", "total_rows"]
    assert sorted(made.function_names()) == ["helper", "helper", "inner", "read_rows", "threshold"]
    assert [use.split()[-1] for use in made.plain_uses()] == ["found", "parts"]
    assert [entry.split(":")[0] for entry in made.doubles()] == ["helper"]


def test_a_term_leads_to_a_name_in_its_file_or_is_lost(made):
    assert made.terms() == {"threshold": "first", "row-wise reader": "second"}
    assert made.lost_terms() == ["row-wise reader: no name in second"]


def test_sentences_leave_out_headings_code_and_scraps(made):
    assert [size for size, _ in made.sentences()] == [4, 41]


def test_private_words_in_messages_are_found(made):
    (found,) = made.private_words()
    assert found.startswith("first.py:11: 'walk' in")


def test_modules_that_import_each_other_are_found_through_functions(made):
    assert made.cycles() == ["first second"]


def test_every_measure_has_a_limit_and_fails_on_the_right_side(made):
    assert made.measures().keys() == names.LIMITS.keys()
    assert names.is_met("found", 10)
    assert not names.is_met("found", 11)
    assert names.is_met("compound-locals", 30)
    assert not names.is_met("compound-locals", 29.9)


def test_the_glossary_places_its_terms_in_files_that_are_there():
    places = names.Names().terms()
    assert len(places) >= 30
    text = names.Names().glossary.read_text(encoding="utf-8")
    assert text.count("| `") == len(places), "a place of the glossary is no file of the package"


def test_check_fails_and_names_what_is_not_kept(capsys, monkeypatch):
    monkeypatch.setattr(names, "Names", lambda: Broken())
    assert names.main(["--check"]) == 1
    assert "Not kept: found; python tools/names.py --list found" in capsys.readouterr().out
    assert names.main([]) == 0
    assert names.main(["--list", "found"]) == 0
    assert capsys.readouterr().out.endswith("first.py:3\n")


class Broken:
    def measures(self):
        return {"found": (11.0, ["first.py:3"]), "lines": (7.0, [])}
