"""A few kills of each kind, in processes of their own; the long run: `python -m attack.kill --kills 200`."""

import subprocess
import sys
from pathlib import Path

import pytest

from attack.kill import JOBS


def run(*arguments):
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False, timeout=900
    )


@pytest.mark.parametrize("work", JOBS)
def test_killed_work_leaves_whole_files_and_equal_results(work):
    done = run("attack.kill", "--kills", "3", "--work", work)
    assert done.returncode == 0, done.stderr
    assert f"{work}: 3 kills, every file whole, every result equal" in done.stdout


def test_a_short_soak_stays_in_its_memory():
    """The long one: `python -m attack.soak --minutes 20`."""
    done = run("attack.soak", "--minutes", "0.05")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rounds in 0.05 minutes" in done.stdout


def test_every_acknowledged_row_of_two_writers_is_in_the_file():
    """The long one: `python -m attack.acknowledged --rows 10000 --kills 200`."""
    done = run("attack.acknowledged", "--rows", "100", "--kills", "4", "--seconds", "300")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "4 kills: every row is in the file" in done.stdout
    assert "full disk refused whole" in done.stdout


def test_the_checker_notices_a_row_that_was_acknowledged_and_lost(tmp_path):
    from attack.acknowledged import check, fitted, texts_of
    from hyperlabel.apps.serve.served_model import ServedModel

    path = fitted(tmp_path)
    ServedModel(str(path), learns=True).learn(texts_of("server", "1")[:-1], [["music"]] * 24)
    (tmp_path / "told-server").write_text("")
    assert check(path, tmp_path, unknown=1) == 0  # learned, not yet acknowledged
    with pytest.raises(AssertionError, match="rows nobody sent"):
        check(path, tmp_path, unknown=0)
    (tmp_path / "told-server").write_text("1\n")
    with pytest.raises(AssertionError, match="1 rows of server 1 are not in the file"):
        check(path, tmp_path, unknown=1)


def test_a_few_clients_soak_a_server_and_lose_nothing():
    """The long one: `make soak`."""
    done = run("attack.server_soak", "--clients", "40", "--minutes", "0.08")
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 others, 0 lost," in done.stdout
