"""Several processes, threads and forks at once: nothing gets in each other's way, and the bits are equal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def start(way, cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": f"{ROOT / 'src'}"}
    command = [sys.executable, "-W", "error", "-m", "tests.same_bits", way]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def answer(process):
    told = process.communicate(timeout=900)[0].split()
    assert process.returncode == 0
    return told


@pytest.fixture(scope="module")
def compiled_at_once(tmp_path_factory):
    """Two processes that find no compiled code and write it to one folder at the same time."""
    cache = tmp_path_factory.mktemp("compiled")
    both = [start("plain", cache), start("plain", cache)]
    return cache, [answer(process) for process in both]


def test_two_processes_that_compile_at_once_agree_and_leave_what_a_third_can_use(compiled_at_once):
    cache, (one, other) = compiled_at_once
    assert len(one) == 1
    assert one == other
    assert list(cache.rglob("*.nbi"))
    assert not list(cache.rglob("*.tmp.*"))
    assert answer(start("plain", cache)) == one


@pytest.mark.parametrize("way", ["threads", "fork", "joblib"])
def test_threads_forks_and_workers_give_the_bits_of_one_process(compiled_at_once, way):
    cache, (one, _) = compiled_at_once
    assert answer(start(way, cache)) == one
