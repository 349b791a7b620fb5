"""The time budget of AutoMultiLabel does not pay for compiling: the first call chooses as any other."""

import json
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.datasets import make_multilabel_classification

from hyperlabel import AutoMultiLabel, BinaryRelevance
from hyperlabel.meta import portfolio
from hyperlabel.meta.portfolio import CandidateRun
from hyperlabel.solvers import clock, compiling
from hyperlabel.solvers.clock import working_cpu_seconds, working_seconds
from hyperlabel.solvers.compiling import compiled

# A clock that goes a hundredth of a second further at each look, and a thousand seconds for each function
# that is compiled: a budget that pays for compiling has nothing left for the second method.
CHILD = """
import json, time
from numba.core.dispatcher import _FunctionCompiler
from sklearn.datasets import make_multilabel_classification
from hyperlabel import AutoMultiLabel

now, n_compiled = [0.0], [0]

def look():
    now[0] += 0.01
    return now[0]

def compile_slowly(self, *arguments, compile=_FunctionCompiler.compile):
    now[0] += 1000.0
    n_compiled[0] += 1
    return compile(self, *arguments)

time.perf_counter, _FunctionCompiler.compile = look, compile_slowly
X, Y = make_multilabel_classification(n_samples=80, n_classes=4, random_state=0)
model = AutoMultiLabel(methods=["ridge", "forest"], cv=2, blend=False, time_budget=60.0).fit(X, Y)
board = [[row["method"], row.get("params"), row.get("left_out")] for row in model.leaderboard_]
print(json.dumps({"board": board, "compiled": n_compiled[0], "summary": model.summary_}))
"""


def run_child(folder):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    done = subprocess.run([sys.executable, "-c", CHILD], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_process_that_compiles_everything_chooses_as_one_that_compiles_nothing(tmp_path):
    cold, warm = run_child(tmp_path), run_child(tmp_path)
    assert cold["compiled"] > 0 == warm["compiled"]
    assert {row[0] for row in cold["board"]} == {"ridge", "forest"}
    assert not any(row[2] for row in cold["board"])
    assert cold["board"] == warm["board"]
    assert cold["summary"] == warm["summary"]


@pytest.fixture
def slow_compiler(monkeypatch):
    """Compiling a function takes ten thousand seconds of the clock that the library reads."""
    from numba.core.dispatcher import _FunctionCompiler

    late, real, compile_function = [0.0], time.perf_counter, _FunctionCompiler.compile

    def compile_slowly(self, *arguments):
        late[0] += 10_000.0
        return compile_function(self, *arguments)

    monkeypatch.setattr(_FunctionCompiler, "compile", compile_slowly)
    monkeypatch.setattr(clock.time, "perf_counter", lambda: real() + late[0])
    monkeypatch.setattr(compiling, "_compile_cached", keep_nothing)
    return late


def keep_nothing(function, options):
    import numba

    return numba.njit(**options)(function)


def new_kernel():
    def double(x):
        return 2.0 * x

    return compiled(double)


def test_candidates_that_compile_are_not_charged_for_it(slow_compiler, monkeypatch):
    def candidate(name, kernel):
        def run(task, deadline):
            start = task.clock()
            kernel(1.0)
            scores = np.repeat(task.X[:, [0]], task.Y.shape[1], axis=1)
            yield CandidateRun(name, {}, BinaryRelevance(), scores, task.clock() - start, 0.0)

        return portfolio.Candidate(name, run)

    names = [candidate(name, new_kernel()) for name in ("first", "second", "third")]
    monkeypatch.setattr("hyperlabel.meta.auto.PORTFOLIO", names)
    X, Y = make_multilabel_classification(n_samples=60, n_classes=3, random_state=0)
    model = AutoMultiLabel(time_budget=1000.0, cv=2, blend=False).fit(X, Y)
    assert slow_compiler[0] >= 30_000.0
    assert {row["method"] for row in model.leaderboard_} == {"first", "second", "third"}
    assert all(row["seconds"] < 1000.0 for row in model.leaderboard_)


@pytest.mark.parametrize("seconds", [working_seconds, working_cpu_seconds])
def test_the_clock_stands_while_numba_compiles_and_goes_on_after_it(seconds, slow_compiler):
    kernel, start = new_kernel(), seconds()
    assert kernel(2.0) == 4.0
    compiled_once = seconds()
    assert 0.0 <= compiled_once - start < 100.0
    assert kernel(3) == 6.0  # another type: compiled again
    assert seconds() - start < 100.0
    until = time.process_time() + 0.02
    while time.process_time() < until:
        pass
    assert seconds() - compiled_once >= 0.02


def test_a_compilation_that_fails_lets_the_clock_go_on(slow_compiler):
    from numba.core.errors import TypingError

    @compiled
    def cannot(x):
        return x + "text"

    with pytest.raises(TypingError):
        cannot(1.0)
    start = working_seconds()
    time.sleep(0.01)
    assert working_seconds() - start >= 0.01


def test_the_clock_stands_while_any_thread_compiles():
    watch, found = clock.CompileTime(), []

    def pause():
        with watch.paused():
            time.sleep(0.05)

    start = watch.working()[0]
    threads = [threading.Thread(target=pause) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
        found.append(watch.working()[0] - start)
    assert max(found) < 0.05
