"""The commands of the README answer what the README says."""

import re
from pathlib import Path

import readme

ROOT = Path(__file__).parents[1]


def _without_times(text: str) -> str:
    return re.sub(r"\d+(\.\d+)? (s|ms|MB|KB)\b", "…", text)


def test_the_commands_of_the_readme_print_what_it_shows(tmp_path):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    block = re.search(r"<!-- console -->\n```console\n(.*?)\n```", text, flags=re.S)[1]
    shown = dict(part.split("\n", 1) for part in re.split(r"^\$ ", block, flags=re.M)[1:])
    assert list(shown) == readme.COMMANDS
    for command, said in shown.items():
        assert _without_times(readme.run(command, tmp_path)) == _without_times(said.strip()), command


def test_the_papers_table_is_that_of_the_pages():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.with_block(text, "papers", readme.papers()) == text
