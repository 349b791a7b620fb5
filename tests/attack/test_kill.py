"""A few kills of each kind, in a process of their own; the long run: `python -m attack.kill --kills 200`."""

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("work", ["save", "update", "out-of-core", "compare"])
def test_killed_work_leaves_whole_files_and_equal_results(work):
    command = [sys.executable, "-m", "attack.kill", "--kills", "4", "--work", work]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert f"{work}: 4 kills, every file whole, every result equal" in done.stdout
