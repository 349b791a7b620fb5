"""Two writers of one model file, killed at random: `python -m attack.acknowledged --rows 10000 --kills 200`.

A server that learns and `hyperlabel update` change the same file in turns. Each notes a batch once it was
acknowledged. At the end every row of every noted batch must be in the file, by its hash, and beside them at
most one batch for each kill. Then the disk is full (a limit on the size of files), and then the file system
has no locks.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from attack.kill import command
from attack.record import record
from hyperlabel import _files
from hyperlabel.apps.serve.served_model import ServedModel
from hyperlabel.tabular.fit_rows import hash_rows, unpack_hashes
from hyperlabel.tabular.model_file import open_model

BATCH = 25


def texts_of(writer: str, attempt: str) -> list[str]:
    """Texts that no other batch holds."""
    return [f"piano garden {writer} {attempt} {i}" for i in range(BATCH)]


def fitted(folder: Path) -> Path:
    """A small text model."""
    rows = "".join(
        f"{i} {'piano' if i % 2 else 'garden'},{'music' if i % 2 else 'plants'}\n" for i in range(20)
    )
    (folder / "notes.csv").write_text("text,tags\n" + rows)
    path = folder / "notes.hyper"
    call = ("fit", str(folder / "notes.csv"), "--method", "ridge", "--labels", "tags", "--text", "text")
    command(*call, "-o", str(path))
    return path


def learn(path: Path, folder: Path) -> Callable[[str], None]:
    """Learn as a server does: the model stays open from batch to batch."""
    model = ServedModel(str(path), learns=True)
    return lambda attempt: model.learn(texts_of("server", attempt), [["music"]] * BATCH)


def update(path: Path, folder: Path) -> Callable[[str], None]:
    """Learn by the command, from a file."""

    def learn_file(attempt: str) -> None:
        lines = (json.dumps({"text": text, "tags": ["plants"]}) for text in texts_of("command", attempt))
        new = folder / "new.jsonl"
        new.write_text("\n".join(lines) + "\n")
        command("update", str(path), str(new))

    return learn_file


WRITERS = {"server": learn, "command": update}


def start(writer: str, path: Path, folder: Path, batches: int) -> int:
    """Fork a writer that notes what was acknowledged; return its process."""
    child = os.fork()
    if child:
        return child
    try:
        work, told = WRITERS[writer](path, folder), folder / f"told-{writer}"
        with told.open("a", encoding="ascii") as notes:
            for i in range(batches):
                work(f"{os.getpid()}-{i}")
                notes.write(f"{os.getpid()}-{i}\n")
                notes.flush()
        os._exit(0)
    except BaseException as error:
        print(f"{writer}: {type(error).__name__}: {error}", file=sys.stderr)
        os._exit(1)


def noted(folder: Path) -> dict[str, list[str]]:
    """Return the attempts that were acknowledged, by writer; a last line may be cut off."""
    told = {writer: folder / f"told-{writer}" for writer in WRITERS}
    return {
        writer: [line.strip() for line in note.read_text().splitlines(keepends=True) if line.endswith("\n")]
        for writer, note in told.items()
        if note.exists()
    }


def check(path: Path, folder: Path, unknown: int, first: int = 20) -> int:
    """Count: every acknowledged row is in the file, beside at most so many whose writer was killed."""
    columns = open_model(str(path)).columns
    in_file, acknowledged = unpack_hashes(columns.row_hashes), 0
    for writer, attempts in noted(folder).items():
        for attempt in attempts:
            hashes = hash_rows(columns, texts_of(writer, attempt))
            lost = [one for one in hashes if in_file[one] != 1]
            assert not lost, f"{len(lost)} rows of {writer} {attempt} are not in the file, or twice"
            acknowledged += len(hashes)
    assert in_file.total() == columns.rows
    assert 0 <= columns.rows - first - acknowledged <= unknown * BATCH, "rows nobody sent"
    return acknowledged


def kill_writers(path: Path, folder: Path, rows: int, kills: int, seconds: float) -> tuple[int, int]:
    """Kill writers until enough rows were acknowledged and enough kills made; return both."""
    ends, killed, running = time.monotonic() + seconds, 0, {}
    batches = -(-rows // BATCH)
    while time.monotonic() < ends:
        done = sum(map(len, noted(folder).values())) * BATCH
        if done >= rows and killed >= kills:
            break
        for writer in WRITERS:
            if writer not in running:
                running[writer] = start(writer, path, folder, batches)
        time.sleep(random.uniform(0.0, 0.4))
        writer = random.choice(list(running))
        if killed < kills:
            os.kill(running[writer], signal.SIGKILL)
        pid, status = os.waitpid(running[writer], 0 if killed < kills else os.WNOHANG)
        if pid:
            del running[writer]
            killed += os.WIFSIGNALED(status)
            assert os.WIFSIGNALED(status) or not os.waitstatus_to_exitcode(status), f"{writer} failed"
    for process in running.values():
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    acknowledged = check(path, folder, unknown=killed + len(running))
    left = [found.name for found in folder.iterdir() if found.name.endswith(".tmp")]
    assert len(left) <= 2, left  # of the last two kills: the next writer removes them
    return acknowledged, killed


def refuse_full_disk(path: Path, folder: Path) -> None:
    """Nothing is acknowledged on a full disk, nothing is lost, and work goes on once there is room."""
    before = path.read_bytes()
    child = os.fork()
    if not child:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        model = ServedModel(str(path), learns=True)
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, resource.RLIM_INFINITY))
        try:
            model.learn(texts_of("server", "full"), [["music"]] * BATCH)
        except OSError as error:
            refused = error.errno == errno.EFBIG and path.read_bytes() == before
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            model.learn(texts_of("server", "room"), [["music"]] * BATCH)
            os._exit(0 if refused else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "a full disk was not refused"
    columns = open_model(str(path)).columns
    in_file = unpack_hashes(columns.row_hashes)
    assert all(in_file[one] == 1 for one in hash_rows(columns, texts_of("server", "room")))
    assert not any(in_file[one] for one in hash_rows(columns, texts_of("server", "full")))


def learn_without_locks(path: Path, folder: Path) -> None:
    """One writer loses nothing where there are no locks, and is warned."""
    child = os.fork()
    if not child:

        def no_lock(*_: object) -> None:
            raise OSError(errno.ENOLCK, "No locks available")

        _files.fcntl.flock = no_lock
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            learn(path, folder)("unlocked")
        os._exit(0 if any("without locks" in str(one.message) for one in caught) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "no warning without locks"
    columns = open_model(str(path)).columns
    in_file = unpack_hashes(columns.row_hashes)
    assert all(in_file[one] == 1 for one in hash_rows(columns, texts_of("server", "unlocked")))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m attack.acknowledged", description=__doc__)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=3600.0, help="at most")
    parser.add_argument("--record", action="store_true", help="keep the figures for docs/reliability.md")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = fitted(folder)
        rows, kills = kill_writers(path, folder, options.rows, options.kills, options.seconds)
        print(f"{rows} rows acknowledged by two writers, {kills} kills: every row is in the file", flush=True)
        refuse_full_disk(path, folder)
        learn_without_locks(path, folder)
        print("full disk refused whole, and one writer without locks loses nothing")
    if options.record:
        record("acknowledged", {"rows": rows, "kills": kills})
    return int(rows < options.rows or kills < options.kills)


if __name__ == "__main__":
    sys.exit(main())
