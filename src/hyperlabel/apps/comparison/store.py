"""The results store: one SQLite file, one transaction per finished cell.

A process killed at any moment leaves a file that holds exactly the cells that had finished: each
cell with its values, costs and details is written in one transaction (write-ahead log), under an id
that is a hash of everything it was computed from. Running again skips what is there.
"""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hyperlabel.apps.comparison import environment

SCHEMA = 1
# Errors about the folder or the disk of a file, not about its content.
_OUTSIDE = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_PERM,
)
_UNWRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN)
_TABLES = """
CREATE TABLE IF NOT EXISTS environment (id TEXT PRIMARY KEY, described TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS suite (name TEXT PRIMARY KEY, spec TEXT NOT NULL, command TEXT, started TEXT);
CREATE TABLE IF NOT EXISTS cell (
    id TEXT PRIMARY KEY, spec TEXT NOT NULL, status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    error TEXT, fit_seconds REAL, predict_seconds REAL, peak_mb REAL, details TEXT,
    environment TEXT REFERENCES environment (id), finished TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS value (
    cell TEXT NOT NULL REFERENCES cell (id) ON DELETE CASCADE, series TEXT NOT NULL, metric TEXT NOT NULL,
    x REAL, value REAL
);
CREATE INDEX IF NOT EXISTS value_cell ON value (cell);
CREATE TABLE IF NOT EXISTS member (
    suite TEXT NOT NULL, position INTEGER NOT NULL, cell TEXT NOT NULL, PRIMARY KEY (suite, position)
);
CREATE TABLE IF NOT EXISTS artifact (
    suite TEXT NOT NULL, name TEXT NOT NULL, content TEXT NOT NULL, PRIMARY KEY (suite, name)
);
"""


class StoreError(ValueError):
    """A results file that cannot be opened, read or written; the message says what to do."""


def canonical_json(value: Any) -> str:
    """Return the one JSON text of a value: sorted keys, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def content_id(spec: Mapping[str, Any]) -> str:
    """Return the id of a cell: a hash of its specification and of the versions it runs with."""
    identity_text = canonical_json({"spec": spec, "versions": environment.package_versions()})
    return hashlib.sha256(identity_text.encode()).hexdigest()[:20]


class Store(AbstractContextManager["Store"]):
    """Results on disk, in one SQLite file.

    Parameters
    ----------
    path : str or Path
        The file; made with its folder when missing. ``":memory:"`` keeps everything in memory.

    Examples
    --------
    >>> from hyperlabel.apps.comparison import Store
    >>> with Store(":memory:") as store:
    ...     store.write("id", {"data": "d"}, [("ridge", "f1_macro", None, 0.5)])
    ...     store.finished(["id", "other"])
    {'id': 'done'}
    """

    def __init__(self, path: str | Path) -> None:
        self.path = str(path)
        if self.path != ":memory:":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        self._db = self._open_connection(self.path)
        try:
            with self._translate_errors():
                try:
                    self._open_tables()
                except sqlite3.OperationalError as error:
                    if not self._is_on_read_only_medium(error):
                        raise
                    self._db.close()
                    # no lock and no write-ahead log can be made beside it: read the file as it is
                    self._db = self._open_connection(
                        f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1", uri=True
                    )
                    self._check_schema()
        except BaseException:
            self._db.close()
            raise

    def _open_connection(self, name: str, *, uri: bool = False) -> sqlite3.Connection:
        with self._translate_errors():
            return sqlite3.connect(name, timeout=60.0, isolation_level=None, uri=uri)

    def _is_on_read_only_medium(self, error: sqlite3.OperationalError) -> bool:
        """Return whether the file is complete but nothing can be written beside it."""
        if error.sqlite_errorcode & 0xFF not in _UNWRITABLE or not Path(self.path).is_file():
            return False
        log_file = Path(f"{self.path}-wal")
        if log_file.is_file() and log_file.stat().st_size:
            raise StoreError(
                f"{self.path} cannot be written, and part of its results are still in {log_file.name}: copy "
                "both to a folder that can be written."
            )
        return True

    def _open_tables(self) -> None:
        is_new = self._check_schema()
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA foreign_keys = ON")
        if is_new:
            self._db.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {SCHEMA}; COMMIT;")

    def _check_schema(self) -> bool:
        """Refuse what is not a complete results file; return whether it has no tables yet."""
        self._db.execute("PRAGMA trusted_schema = OFF")
        self._db.execute("PRAGMA cell_size_check = ON")
        schema_version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if schema_version not in (0, SCHEMA):
            raise StoreError(
                f"{self.path} was written by another version (schema {schema_version}): name a new file."
            )
        with closing(sqlite3.connect(":memory:")) as empty_store:
            empty_store.executescript(_TABLES)
            expected_schema = _read_schema(empty_store)
        # Views, triggers and other tables are refused before any query or write runs on them.
        file_schema = _read_schema(self._db)
        if file_schema not in ([], expected_schema):
            raise StoreError(
                f"{self.path} is not a hyperlabel results file but another database: name a new file."
            )
        # A page that no query reads may be missing, and an index may name other rows than its table.
        integrity_report = self._db.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if integrity_report != "ok":
            raise StoreError(f"{self.path} is damaged ({integrity_report}): name a new file.")
        return not (file_schema and schema_version)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turn what SQLite and damaged content raise into one sentence."""
        try:
            yield
        except StoreError:
            raise
        except sqlite3.Error as error:
            error_code = getattr(error, "sqlite_errorcode", None)
            if error_code is not None and error_code & 0xFF in _OUTSIDE:
                raise StoreError(
                    f"The results in {self.path} cannot be opened or written ({error}): see that its folder "
                    "can be written, has space, and that no other program holds the file."
                ) from error
            raise StoreError(
                f"{self.path} is not a hyperlabel results file, or is damaged ({error}): name a new file."
            ) from error
        except (ValueError, TypeError, OverflowError, RecursionError, MemoryError) as error:
            raise StoreError(
                f"{self.path} holds results that make no sense: it is damaged; name a new file."
            ) from error

    def _fetch_rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._translate_errors():
            return self._db.execute(query, values).fetchall()

    def close(self) -> None:
        """Close the file; the write-ahead log is folded in."""
        self._db.close()

    def __exit__(self, *_: Any) -> None:
        self.close()

    @contextmanager
    def _write_transaction(self) -> Iterator[sqlite3.Connection]:
        with self._translate_errors():
            self._db.execute("BEGIN IMMEDIATE")
        try:
            try:
                yield self._db
                self._db.execute("COMMIT")
            except sqlite3.Error:
                with self._translate_errors():
                    raise
        except BaseException:
            if self._db.in_transaction:  # a full disk has rolled back already
                self._db.execute("ROLLBACK")
            raise

    # -- writing ------------------------------------------------------------------------------------

    def begin(self, suite: str, spec: Mapping[str, Any], job_ids: Sequence[str], command: str = "") -> None:
        """Record a suite: what it is, the cells it consists of, the command that started it."""
        start_time = datetime.now(UTC).isoformat(timespec="seconds")
        with self._write_transaction() as db:
            db.execute(
                "INSERT INTO suite VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
                "spec = excluded.spec, command = excluded.command, started = excluded.started",
                (suite, canonical_json(spec), command, start_time),
            )
            db.execute("DELETE FROM member WHERE suite = ?", (suite,))
            db.executemany(
                "INSERT INTO member VALUES (?, ?, ?)",
                [(suite, i, job_id) for i, job_id in enumerate(job_ids)],
            )

    def write(
        self,
        cell: str,
        spec: Mapping[str, Any],
        values: Sequence[tuple[str, str, float | None, float]] = (),
        *,
        error: str | None = None,
        cost: Mapping[str, float | None] | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        """Write one finished (or failed) cell, all of it in one transaction."""
        environment_facts = environment.describe_environment()
        environment_id = hashlib.sha256(canonical_json(environment_facts).encode()).hexdigest()[:12]
        cost = cost or {}
        job_row = (
            cell,
            canonical_json(spec),
            "done" if error is None else "failed",
            error,
            cost.get("fit_seconds"),
            cost.get("predict_seconds"),
            cost.get("peak_mb"),
            canonical_json(details or {}),
            environment_id,
            datetime.now(UTC).isoformat(timespec="seconds"),
        )
        with self._write_transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO environment VALUES (?, ?)",
                (environment_id, canonical_json(environment_facts)),
            )
            db.execute("DELETE FROM cell WHERE id = ?", (cell,))
            db.execute("INSERT INTO cell VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", job_row)
            db.executemany(
                "INSERT INTO value VALUES (?, ?, ?, ?, ?)", [(cell, s, m, x, v) for s, m, x, v in values]
            )

    def forget(self, job_ids: Sequence[str]) -> None:
        """Remove cells, so that they are computed anew."""
        with self._write_transaction() as db:
            db.executemany("DELETE FROM cell WHERE id = ?", [(job_id,) for job_id in job_ids])

    def put_artifact(self, suite: str, name: str, content: Any) -> None:
        """Keep a JSON value beside a suite (a profile of its data, a learning curve)."""
        with self._write_transaction() as db:
            db.execute(
                "INSERT OR REPLACE INTO artifact VALUES (?, ?, ?)", (suite, name, canonical_json(content))
            )

    # -- reading ------------------------------------------------------------------------------------

    def finished(self, job_ids: Sequence[str]) -> dict[str, str]:
        """Return ``{id: "done" or "failed"}`` for those of the cells that are in the store."""
        status_of_job = dict(self._fetch_rows("SELECT id, status FROM cell"))
        return {job_id: status_of_job[job_id] for job_id in job_ids if job_id in status_of_job}

    def suites(self) -> list[str]:
        """Return the names of the suites, oldest first."""
        return [str(name) for (name,) in self._fetch_rows("SELECT name FROM suite ORDER BY started, name")]

    def suite(self, name: str) -> dict[str, Any]:
        """Return a suite's record: spec, command, start, and the environments its cells ran in."""
        suite_rows = self._fetch_rows("SELECT spec, command, started FROM suite WHERE name = ?", (name,))
        if not suite_rows:
            raise ValueError(
                f"{self.path} holds no suite {name!r}; it holds {', '.join(self.suites()) or 'none'}."
            )
        environment_rows = self._fetch_rows(
            "SELECT DISTINCT e.described FROM member m JOIN cell c ON c.id = m.cell "
            "JOIN environment e ON e.id = c.environment WHERE m.suite = ? ORDER BY e.id",
            (name,),
        )
        with self._translate_errors():
            return {
                "name": name,
                "spec": _parse_json_object(suite_rows[0][0]),
                "command": suite_rows[0][1],
                "started": suite_rows[0][2],
                "environments": [_parse_json_object(text) for (text,) in environment_rows],
            }

    def artifact(self, suite: str, name: str) -> Any:
        """Return the JSON value that `put_artifact` stored, or None."""
        artifact_rows = self._fetch_rows(
            "SELECT content FROM artifact WHERE suite = ? AND name = ?", (suite, name)
        )
        with self._translate_errors():
            return json.loads(artifact_rows[0][0]) if artifact_rows else None

    def cells(self, suite: str) -> list[dict[str, Any]]:
        """Return the finished cells of a suite in the suite's order, with cost and details."""
        job_rows = self._fetch_rows(
            "SELECT c.id, c.spec, c.status, c.error, c.fit_seconds, c.predict_seconds, c.peak_mb, c.details "
            "FROM member m JOIN cell c ON c.id = m.cell WHERE m.suite = ? ORDER BY m.position",
            (suite,),
        )
        cost_names = ("fit_seconds", "predict_seconds", "peak_mb")
        column_names = ("id", "spec", "status", "error", *cost_names, "details")
        job_records = [dict(zip(column_names, row, strict=True)) for row in job_rows]
        with self._translate_errors():
            for job_record in job_records:
                for name in ("spec", "details"):
                    job_record[name] = _parse_json_object(job_record[name])
                _check_numbers(job_record[name] for name in cost_names)
        return job_records

    def values(self, suite: str) -> list[dict[str, Any]]:
        """Return every value of a suite: cell position, series, metric, x, value; in a fixed order."""
        measurement_rows = self._fetch_rows(
            "SELECT m.position, v.cell, v.series, v.metric, v.x, v.value FROM member m "
            "JOIN value v ON v.cell = m.cell WHERE m.suite = ? ORDER BY m.position, v.rowid",
            (suite,),
        )
        with self._translate_errors():
            _check_numbers(number for row in measurement_rows for number in row[4:])
        column_names = ("position", "cell", "series", "metric", "x", "value")
        return [
            dict(zip(column_names, (*row[:5], math.nan if row[5] is None else row[5]), strict=True))
            for row in measurement_rows
        ]


def _read_schema(db: sqlite3.Connection) -> list[Any]:
    return db.execute("SELECT type, name, sql FROM sqlite_master ORDER BY type, name").fetchall()


def _parse_json_object(json_text: Any) -> dict[str, Any]:
    json_object = json.loads(json_text)
    if not isinstance(json_object, dict):
        raise TypeError("not an object")
    return json_object


def _check_numbers(values: Iterable[Any]) -> None:
    """Refuse texts where numbers belong: SQLite keeps the type a damaged file says."""
    if not all(value is None or isinstance(value, (int, float)) for value in values):
        raise TypeError("not a number")
