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
