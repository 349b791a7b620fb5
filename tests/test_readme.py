"""The commands of the README answer what the README says."""

import re
from pathlib import Path

import pytest
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


@pytest.mark.parametrize("table", ["papers", "first contact", "measured"])
def test_a_table_is_that_of_its_source(table):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert readme.with_block(text, table, getattr(readme, table.replace(" ", "_"))()) == text


def test_a_number_typed_into_the_measured_rows_fails_the_check(tmp_path, monkeypatch):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (row,) = (line for line in text.splitlines() if "paperless-ngx" in line)
    edited = tmp_path / "README.md"
    edited.write_text(text.replace(row, row.replace("1/", "1/9")), encoding="utf-8")
    monkeypatch.setattr(readme, "README", edited)
    monkeypatch.setattr("sys.argv", ["readme.py", "--check"])
    with pytest.raises(SystemExit, match="other numbers"):
        readme.main()


def test_times_are_written_as_shares():
    shown = [readme.share(ratio) for ratio in (1.62, 0.26, 1 / 20.4, 1 / 1034)]
    assert shown == ["1.6×", "0.26×", "1/20", "1/1000"]
