"""Faults made by hand, each of which some test must notice: `python -m attack.semantic_mutants [WORD …]`.

`tools/mutate.py` changes one operator at a time in the numerical packages. Here are whole faults at the
edges: a lock left out, a token compared in part, a row counted twice. Words choose mutants by their file or
text. Each is made in a copy of the source and meets the tests nearest to it. One that no test notices, or
that has no place in the source any more, ends the run with code 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)] if str(ROOT) not in sys.path else []

from attack.record import read_results, record  # noqa: E402 - it may be run as a file

SECONDS = 1800  # after which a test that does not end has noticed, too


class Mutant(NamedTuple):
    """A text of a source file, what takes its place, and the tests (below ``tests/``) that must notice."""

    file: str
    old: str
    new: str
    tests: str


_STORE = "comparison/test_store.py comparison/test_runner.py"
_GUARANTEES = "meta/test_updating.py meta/test_threshold.py cli/test_guarantees.py"
_PLAIN = "persistence/test_plain.py cli/test_one_text.py serve/test_serve.py persistence"

MUTANTS = [
    # -- the server's requests
    Mutant(
        "apps/serve/app.py", "p > 0 and p >= threshold", "p > 0 and p > threshold", "serve/test_requests.py"
    ),
    Mutant(
        "apps/serve/app.py",
        "hmac.compare_digest(sent, token.encode())",
        "hmac.compare_digest(sent[:8], token.encode()[:8])",
        "serve/test_requests.py",
    ),
    Mutant(
        "apps/serve/app.py",
        "hmac.compare_digest(sent, token.encode())",
        "sent == token.encode()",
        "serve/test_requests.py",
    ),
    Mutant("apps/serve/app.py", "async with project.learning:", "if True:", "serve/test_requests.py"),
    Mutant(
        "apps/serve/app.py",
        "min(_asked_of(fields)[0], 100)",
        "_asked_of(fields)[0]",
        "serve/test_requests.py",
    ),
    Mutant(
        "apps/serve/app.py",
        "await anyio.to_thread.run_sync(project.learn, rows, labels)",
        "await anyio.to_thread.run_sync(project.learn, rows[:1], labels[:1])",
        "serve/test_serve.py",
    ),
    Mutant("apps/serve/app.py", "if not _is_own_page(headers):", "if False:", "serve/test_requests.py"),
    Mutant(
        "apps/serve/app.py",
        '*message.get("headers", ()), *_GUARDS',
        '*message.get("headers", ())',
        "serve/test_requests.py",
    ),
    Mutant(
        "apps/serve/app.py",
        "ipaddress.ip_address(host).is_loopback",
        "host.startswith('127.')",
        "serve/test_requests.py",
    ),
    # -- its connections
    Mutant("apps/serve/app.py", "or 0) > limits.body:", "or 0) > 1e99:", "serve/test_connections.py"),
    Mutant(
        "apps/serve/app.py",
        "asyncio.timeout(limits.arrival_seconds)",
        "asyncio.timeout(None)",
        "serve/test_connections.py",
    ),
    Mutant(
        "apps/serve/app.py",
        "except ClientDisconnect:",
        "except ZeroDivisionError:",
        "serve/test_connections.py",
    ),
    Mutant(
        "apps/serve/app.py",
        "run_in_executor(_workers, work",
        "run_in_executor(DaemonThreads(1), work",
        "serve/test_connections.py",
    ),
    Mutant(
        "apps/serve/connections.py",
        "            self._make_room()\n",
        "            pass\n",
        "serve/test_connections.py",
    ),
    Mutant("apps/serve/connections.py", "or self.cycle.more_body", "", "serve/test_connections.py"),
    Mutant(
        "apps/serve/connections.py",
        "        if self._is_between_requests():\n            self._start_timer()\n",
        "        if self._is_between_requests():\n            self._stop_timer()\n",
        "serve/test_connections.py",
    ),
    Mutant(
        "apps/serve/connections.py",
        "        self._start_timer()\n        if len",
        "        if len",
        "serve/test_connections.py",
    ),
    Mutant(
        "apps/serve/connections.py",
        "        if self.is_waiting():\n            self.transport.close()\n",
        "",
        "serve/test_connections.py",
    ),
    # -- a file that several processes change
    Mutant(
        "apps/serve/served_model.py",
        "if file.columns.label_names != self.label_names:",
        "if False:",
        "serve/test_shared_model_file.py",
    ),
    Mutant(
        "apps/serve/served_model.py",
        "with locked(self.path, lambda: None) as lock:",
        "from types import SimpleNamespace as Free\n        for lock in [Free(stamp=stamp_of(self.path))]:",
        "serve/test_shared_model_file.py",
    ),
    Mutant(
        "apps/serve/served_model.py",
        "read_plain(self.path), lock.stamp",
        "read_plain(self.path), stamp_of(self.path)",
        "serve/test_shared_model_file.py",
    ),
    Mutant(
        "_files.py",
        "                    lock.handles.append(os.dup(file.fileno()))\n",
        "                    pass\n",
        "serve/test_shared_model_file.py",
    ),
    Mutant("_files.py", "            os.fsync(file.fileno())\n", "", "test_files.py"),
    Mutant("_files.py", "        _sync_folder(target.parent)\n", "", "test_files.py"),
    Mutant(
        "_files.py",
        "is_in_place = os.path.samestat(os.fstat(handle), os.stat(path))",
        "is_in_place = True",
        "test_files.py cli/test_update.py",
    ),
    # -- model files
    Mutant(
        "persistence/_nodes.py", "if not 0 <= position <= 624", "if not 0 <= position <= 650", "persistence"
    ),
    Mutant("persistence/_container.py", "and not m.flag_bits & 1 for m", "for m", "persistence"),
    Mutant(
        "persistence/_container.py",
        "sizes_fit = sum(member.file_size for member in members) <= size",
        "sizes_fit = True",
        "persistence",
    ),
    Mutant(
        "persistence/_probe.py", "rtol=1e-6, atol=1e-8 * scale", "rtol=1e-2, atol=1e-3 * scale", "persistence"
    ),
    Mutant("persistence/_registry.py", 'value == "content"', 'value != "filename"', "persistence"),
    Mutant(
        "persistence/plain.py",
        "np.allclose(computed, expected.reshape(computed.shape), rtol=1e-7, atol=1e-9)",
        "np.allclose(computed, expected.reshape(computed.shape), rtol=1e-2, atol=1e-2)",
        _PLAIN,
    ),
    Mutant(
        "persistence/plain.py", "for name in _TFIDF} != _TFIDF or", "for name in _TFIDF} is None or", _PLAIN
    ),
    Mutant("persistence/plain.py", "range(2, self.longest + 1)", "range(2, self.longest)", _PLAIN),
    # -- results files
    Mutant("apps/comparison/store.py", "ORDER BY m.position, v.rowid", "ORDER BY v.rowid", _STORE),
    Mutant(
        "apps/comparison/store.py", '"versions": environment.package_versions()', '"versions": {}', _STORE
    ),
    Mutant("apps/comparison/store.py", "PRAGMA synchronous = FULL", "PRAGMA synchronous = OFF", _STORE),
    Mutant("apps/comparison/store.py", "PRAGMA foreign_keys = ON", "PRAGMA foreign_keys = OFF", _STORE),
    Mutant(
        "apps/comparison/store.py", "if log_file.is_file() and log_file.stat().st_size:", "if False:", _STORE
    ),
    Mutant("apps/comparison/runner.py", "threadpool_limits(1)", "threadpool_limits(2)", _STORE),
    # -- fits beyond memory and machine
    Mutant("outofcore/_fit.py", "            chunk_digest(first_chunk),\n", "", "outofcore"),
    Mutant(
        "outofcore/_sources.py",
        "n_skipped = start[1] if i == start[0] else 0",
        "n_skipped = start[1]",
        "outofcore",
    ),
    Mutant(
        "outofcore/_fit.py",
        "    if saved_state is not None:\n        saved_state.remove()\n",
        "",
        "outofcore",
    ),
    Mutant(
        "distributed/_fit.py",
        "total = block_sum.copy() if total is None",
        "total = block_sum if total is None",
        "distributed",
    ),
    Mutant(
        "distributed/_fit.py",
        "FitRows.of(X, Y, check_weights(all_rows[2], X, Y.shape[1]), None",
        "FitRows.of(X, Y, None, None",
        "distributed",
    ),
    # -- rows and groups
    Mutant(
        "model_selection/_splits.py",
        "size=rows_per_group",
        "size=np.ones_like(rows_per_group)",
        "model_selection",
    ),
    Mutant(
        "model_selection/out_of_fold.py",
        "params = groups_for_fit(estimator, groups) | params",
        "pass",
        "model_selection meta/test_groups_reach_every_fold.py",
    ),
    Mutant(
        "model_selection/_splits.py",
        "if not (len(subset_rows[0]) and len(subset_rows[1])):",
        "if False:",
        "model_selection",
    ),
    Mutant("_labels.py", "    matrix.check_format(full_check=True)\n", "", "test_validation.py"),
    # -- guarantees after an update
    Mutant("meta/updating.py", ', basis="updated")', ")", _GUARANTEES),
    Mutant(
        "meta/updating.py",
        "        begun[:] = False  # an infinite threshold is what can be guaranteed, not a gap\n",
        "        pass\n",
        _GUARANTEES,
    ),
    Mutant(
        "meta/threshold.py",
        "on_new_rows = self._is_prefit() or self._is_split()",
        "on_new_rows = True",
        _GUARANTEES,
    ),
    # -- commands
    Mutant(
        "apps/cli/update.py",
        "rows=file.columns.rows + n_merged - n_forgotten",
        "rows=file.columns.rows + n_merged",
        "cli/test_update.py",
    ),
    Mutant(
        "tabular/permutation_test.py",
        'side="left") / len(row)',
        'side="right") / len(row)',
        "cli/test_drift.py",
    ),
    Mutant(
        "tabular/permutation_test.py",
        "(min_p_values <= min_p_values[0]).mean()",
        "(min_p_values < min_p_values[0]).mean()",
        "cli/test_drift.py",
    ),
]


def outcome(mutant: Mutant, copied: Path) -> str:
    """Make the mutant in a copy of ``src``, ask its tests, and put the source right again."""
    path = copied / "hyperlabel" / mutant.file
    source = path.read_text(encoding="utf-8")
    if source.count(mutant.old) != 1:
        return "no place"
    path.write_text(source.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        return ask(mutant.tests.split(), copied)
    finally:
        path.write_text(source, encoding="utf-8")


def ask(tests: list[str], copied: Path) -> str:
    """Run tests against a copy of ``src``; return the one that failed."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--tb=no"]
    paths = os.pathsep.join([str(copied), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    environment |= {"NUMBA_CACHE_DIR": str(copied / "numba"), "OMP_NUM_THREADS": "1"}
    asked = [*command, *(f"tests/{test}" for test in tests)]
    try:
        done = subprocess.run(
            asked, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        return "caught (no end)"
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    if done.returncode == 0:
        return "survived"
    return (
        f"caught by {failed[0].split(' - ')[0].split('::')[-1]}"
        if failed
        else f"caught (code {done.returncode})"
    )


def keep_outcomes(outcomes: list[dict[str, str]]) -> None:
    """Record outcomes beside those of other mutants that still have a place; the first stays the first."""
    listed = [(mutant.file, f"{mutant.old} → {mutant.new}") for mutant in MUTANTS]
    kept = {
        (one["file"], one["change"]): one for one in read_results().get("semantic", {}).get("outcomes", ())
    }
    for one in outcomes:
        key = one["file"], one["change"]
        kept[key] = {"first": kept.get(key, {}).get("first", one["now"])} | one
    record("semantic", {"outcomes": [kept[key] for key in listed if key in kept]})


def main() -> None:
    words = [word for word in sys.argv[1:] if word != "--record"]
    outcomes = []
    chosen = [m for m in MUTANTS if not words or any(word in m.file or word in m.old for word in words)]
    missed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # some tests look at files as another user
        copied = Path(shutil.copytree(ROOT / "src", Path(folder) / "src"))
        for mutant in chosen:
            result = outcome(mutant, copied)
            missed += not result.startswith("caught")
            outcomes.append({"file": mutant.file, "change": f"{mutant.old} → {mutant.new}", "now": result})
            print(
                f"{mutant.file}: {mutant.old.strip()[:60]!r} -> {mutant.new.strip()[:40]!r}: {result}",
                flush=True,
            )
    print(f"{len(chosen) - missed} of {len(chosen)} mutants were caught.")
    if "--record" in sys.argv:
        keep_outcomes(outcomes)
    sys.exit(missed > 0)


if __name__ == "__main__":
    main()
