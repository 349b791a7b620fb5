"""Plant faults, one for each door at least, in a copy of the source, and see whether the attack finds them.

`python -m attack.planted --seconds 30` prints a line per fault and fails if one is missed: an attack that
misses what is known to be there may claim nothing about what is not. Words choose faults by their text.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from attack.record import read_results, record

ROOT = Path(__file__).parents[1]

# What goes wrong, the file, what stands there, what stands there instead, the targets that read it.
FAULTS = [
    (
        "the fast parser takes 1e1 for a label",
        "datasets/_row_blocks.py",
        '_PLAIN_ROW = rf"(?:[0-9]++(?:,[0-9]++)*+)?+',
        '_PLAIN_ROW = rf"(?:{NUMBER}(?:,{NUMBER})*+)?+',
        ("svm", "xmc"),
    ),
    (
        "damaged gzip data ends in zlib's own error",
        "datasets/_lines.py",
        "except (EOFError, zlib.error, gzip.BadGzipFile) as error:",
        "except EOFError as error:",
        ("gz",),
    ),
    (
        "a line is cut where a block ends",
        "datasets/_lines.py",
        'self._buffer.rfind(b"\\n") + 1',
        'self._buffer.rfind(b" ") + 1',
        ("svm", "xmc", "arff"),
    ),
    (
        "damaged archives end in the errors of zipfile",
        "datasets/npz.py",
        "except Exception as error:",
        "except ValueError as error:",
        ("npz",),
    ),
    (
        "document types of XML are let in",
        "datasets/_mulan.py",
        "    parser.StartDoctypeDeclHandler = document_type\n",
        "",
        ("xml",),
    ),
    (
        "numbers of tables lose half their digits",
        "datasets/table_columns.py",
        'float("nan") if text.lower() in _MISSING else to_number(text)',
        'float("nan") if text.lower() in _MISSING else float(np.float32(to_number(text)))',
        ("csv", "csv-peer"),
    ),
    (
        "a label of a sparse ARFF row is dropped when it comes first",
        "datasets/_arff_rows.py",
        "(entry_values, column_indices, indptr), shape=",
        "(entry_values * (column_indices > 0), column_indices, indptr), shape=",
        ("arff", "arff-peer"),
    ),
    (
        "a model file leads numpy outside the state of its generator",
        "persistence/_nodes.py",
        "if not 0 <= position <= 624 or has_gauss not in (0, 1):",
        "if has_gauss not in (0, 1):",
        ("forged",),
    ),
    (
        "a changed checkpoint is gone on from",
        "outofcore/_checkpoint.py",
        'if state_header.pop("content") != _hash_arrays(arrays, state_header):',
        'if state_header["content"] == "":',
        ("checkpoint",),
    ),
    (
        "texts of a damaged results file end in json's own error",
        "apps/comparison/store.py",
        "except (ValueError, TypeError, OverflowError, RecursionError, MemoryError) as error:",
        "except OverflowError as error:",
        ("store",),
    ),
    (
        "counts of neighbours are looked up past the end of a file's table",
        "solvers/neighbors/neighbor_counts.py",
        "    if log_odds_table.shape != (Y.shape[1], n_counts):\n",
        "    if log_odds_table.ndim != 2:\n",
        ("estimators",),
    ),
    (
        "the plain reader takes any number for the column of a word",
        "persistence/plain.py",
        "        if numbered != list(range(n_words)):\n",
        "        if len(numbered) != n_words:\n",
        ("plain",),
    ),
    (
        "notes on columns are checked by name alone",
        "tabular/notes.py",
        "if name not in type_hints or not _has_type(notes[name], type_hints[name])]",
        "if name not in type_hints]",
        ("notes",),
    ),
    (
        "a model file chooses the pattern of its words",
        "persistence/_registry.py",
        "lambda value: value is None or value in TOKEN_PATTERNS,",
        "lambda value: value is None or isinstance(value, str),",
        ("settings",),
    ),
    (
        "a body that is no JSON ends in an error of the server",
        "apps/serve/app.py",
        "return json.loads(body)\n    except (ValueError, RecursionError) as error:",
        "return json.loads(body)\n    except RecursionError as error:",
        ("http",),
    ),
    (
        "a half-sent head is waited for without end",
        "apps/serve/connections.py",
        "self.loop.call_later(self.arrival_seconds, self.transport.abort)",
        "self.loop.call_later(1e6, self.transport.abort)",
        ("http",),
    ),
    (
        "a half-sent body is waited for without end",
        "apps/serve/app.py",
        "        async with asyncio.timeout(limits.arrival_seconds):",
        "        async with asyncio.timeout(None):",
        ("http",),
    ),
    (
        "many clients that wait leave no place for the next",
        "apps/serve/connections.py",
        "        if not idle_connections:\n",
        "        if idle_connections:\n",
        ("http",),
    ),
    (
        "errors of values end a command in a traceback",
        "apps/cli/__init__.py",
        "    except (ValueError, OSError, csv.Error) as error:",
        "    except OSError as error:",
        ("options",),
    ),
    (
        "pages take texts for markup",
        "apps/report/page.py",
        "autoescape=True",
        "autoescape=False",
        ("page",),
    ),
]


def plant(source: Path, file: str, old: str, new: str) -> None:
    """Replace a passage that must be there exactly once."""
    path = source / "hyperlabel" / file
    text = path.read_text(encoding="utf-8")
    if text.count(old) != 1:
        raise SystemExit(f"{file} holds {old.strip()!r} {text.count(old)} times: plant the fault anew.")
    path.write_text(text.replace(old, new), encoding="utf-8")


def attack(source: Path, folder: Path, seconds: float, targets: tuple[str, ...], bounds: bool) -> bool:
    """Attack a copy of the source, the bounds of compiled code checked or not; say whether it was found."""
    command = [sys.executable, "-m", "attack", "--seconds", str(seconds), "--seed", "1"]
    command += ["--first", "--keep", str(folder / "kept"), "--targets", *targets]
    environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{ROOT}"}
    if bounds:  # code compiled without the check must not stand in for it
        environment |= {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(folder / "numba")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if "executions in" not in done.stdout:
        raise SystemExit(done.stdout + done.stderr)
    return done.returncode == 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m attack.planted", description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0, help="at most, for each fault")
    parser.add_argument("words", nargs="*", help="plant only faults that one of these words is in")
    parser.add_argument("--record", action="store_true", help="keep the figures for docs/reliability.md")
    arguments = parser.parse_args()
    chosen = [fault for fault in FAULTS if not arguments.words or any(w in fault[0] for w in arguments.words)]
    outcomes = {}
    for what, file, old, new, targets in chosen:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "src")
            shutil.copytree(ROOT / "src" / "hyperlabel", source / "hyperlabel")
            plant(source, file, old, new)
            caught = attack(
                source, Path(folder), arguments.seconds, targets, bounds=file.startswith("solvers/")
            )
        outcomes[what] = caught
        print(f"{'found ' if caught else 'MISSED'}  {what}", flush=True)
    print(f"{sum(outcomes.values())} of {len(chosen)} planted faults found")
    if arguments.record:
        faults = read_results().get("planted", {}).get("faults", {})
        known = {fault[0] for fault in FAULTS}
        record("planted", {"faults": {w: f for w, f in (faults | outcomes).items() if w in known}})
    return int(not all(outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())
