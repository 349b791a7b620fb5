"""Files that are either old or new, never half written; and one writer of a file at a time."""

import errno
import gzip
import hashlib
import os
import re
import secrets
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tokenize import TokenError
from types import ModuleType
from typing import Any, BinaryIO, cast

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # not on Windows: leftovers stay there, and nobody waits
    fcntl = None

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)
_LONGEST_NAME = 255  # bytes, on the usual file systems


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file beside `path` that takes its place only once written in full and on disk.

    The permissions are those of the file replaced, or the ones the umask leaves a new file. What a
    killed writer of the same file left behind is removed. A device or pipe is written to as it is.
    """
    target = Path(os.path.realpath(path))  # through links, which stay
    if not target.parent.is_dir():
        folder = target.parent if Path(path).parent.is_dir() else Path(path).parent  # a link leads elsewhere
        raise FileNotFoundError(f"There is no folder {folder}: make it first.")
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it.")
    if target.exists() and not target.is_file():
        with open(target, "wb") as device:
            yield device
        return
    _remove_leftovers(target)
    temporary: Path | None = None
    try:
        handle, temporary = _create_beside(target)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            lock, stamp = _held_locks.get(_lock_key(target)), stamp_of(file.fileno())
            if fcntl is not None:  # while the lock keeps others from tidying it away
                if lock is not None:  # and from changing it before this holder is done
                    lock.handles.append(os.dup(file.fileno()))
                os.replace(temporary, target)
        if fcntl is None:  # Windows renames closed files only
            os.replace(temporary, target)
        if lock is not None:
            lock.stamp = stamp
        _sync_folder(target.parent)
    except BaseException as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and _concerns_file(error, temporary):
            error.filename, error.filename2 = str(path), None
        raise


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file as `replacing` does; what is written is packed where the name ends in ``.gz``."""
    with replacing(path) as file:
        if not str(path).lower().endswith(".gz"):
            yield file
            return
        with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
            yield cast(BinaryIO, packed)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Replace a file by a text in UTF-8, whole or not at all."""
    with replacing(path) as file:
        file.write(text.encode())


# -- one at a time -----------------------------------------------------------------------------------------


def stamp_of(file: int | str | os.PathLike[str]) -> tuple[int, int, int]:
    """Return what tells a file (by name or handle) from the one that takes its place."""
    status = os.stat(file)
    return status.st_ino, status.st_mtime_ns, status.st_size


@dataclass
class FileLock:
    """The right to change a file; `stamp` is that of the file as its holder found or last wrote it."""

    handles: list[int]
    stamp: tuple[int, int, int]


_held_locks: dict[tuple[int, str], FileLock] = {}


def _lock_key(path: str | os.PathLike[str]) -> tuple[int, str]:
    """Return who holds a lock, and of what: another thread's write must not pass for the holder's."""
    return threading.get_ident(), os.path.realpath(path)


@contextmanager
def locked(path: str | os.PathLike[str], waiting: Callable[[], None]) -> Iterator[FileLock]:
    """Be the only one to read, change and replace a file; call `waiting` first if another does.

    The lock is on the file itself, so nothing is left beside it. `replacing` locks the new file before
    it takes the place of the old one, and both stay locked until the end. One who waited for the old
    file finds it replaced, and waits again for the new one.
    """
    handle, key = _lock_file(path, waiting), _lock_key(path)
    lock = FileLock([] if handle is None else [handle], stamp_of(path if handle is None else handle))
    _held_locks[key] = lock
    try:
        yield lock
    finally:
        del _held_locks[key]
        for locked_handle in lock.handles:
            os.close(locked_handle)


def _lock_file(path: str | os.PathLike[str], waiting: Callable[[], None]) -> int | None:
    """Return a handle that holds the lock of the file at `path`; None where there are no locks."""
    while fcntl is not None:
        # over a network only a file open for writing can be locked
        handle = os.open(path, os.O_RDWR if os.access(path, os.W_OK) else os.O_RDONLY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(handle, fcntl.LOCK_EX)
            is_in_place = os.path.samestat(os.fstat(handle), os.stat(path))
        except BaseException as error:
            os.close(handle)
            if not isinstance(error, OSError) or error.errno not in _NO_LOCKS:
                raise
            sentence = f"{path} is on a file system without locks: let no two programs change it at once."
            warnings.warn(sentence, stacklevel=4)
            return None
        if is_in_place:
            return handle
        os.close(handle)
    return None


# -- the file beside ---------------------------------------------------------------------------------------


def _create_beside(target: Path) -> tuple[int, Path]:
    """Make a new file for the owner of `target`, held by a lock for as long as it is open."""
    try:
        file_mode: int | None = os.stat(target).st_mode & 0o777
    except FileNotFoundError:
        file_mode = None
    while True:
        temporary = target.with_name(f"{_temporary_prefix(target)}{secrets.token_hex(8)}.tmp")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            handle = os.open(temporary, flags, 0o666 if file_mode is None else file_mode)
        except OSError as error:
            error.filename = str(target)
            raise
        try:
            if not _lock_new_file(handle):  # another writer took it for a leftover and deletes it
                os.close(handle)
                continue
            if file_mode is not None and hasattr(os, "fchmod"):
                os.fchmod(handle, file_mode)
        except BaseException:
            os.close(handle)
            temporary.unlink(missing_ok=True)
            raise
        return handle, temporary


def _temporary_prefix(target: Path) -> str:
    """Return how the names of temporary files of a target begin; a digest stands for a long name."""
    prefix, suffix_length = f".{target.name}.", len("0123456789abcdef.tmp")
    if len(os.fsencode(prefix)) + suffix_length > _LONGEST_NAME:
        prefix = f".{hashlib.sha256(os.fsencode(target.name)).hexdigest()[:32]}."
    return prefix


def _lock_new_file(handle: int) -> bool:
    """Hold a new file; False where another was there first."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks keeps its leftovers
        return True
    return os.fstat(handle).st_nlink > 0


def _remove_leftovers(target: Path) -> None:
    """Delete temporary files of this target that no living writer holds."""
    if fcntl is None:
        return
    temporary_name = re.compile(re.escape(_temporary_prefix(target)) + r"[0-9a-f]{16}\.tmp")
    with suppress(OSError):
        for name in filter(temporary_name.fullmatch, os.listdir(target.parent)):
            with suppress(OSError), open(target.with_name(name), "rb") as leftover:
                fcntl.flock(leftover, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.unlink(leftover.name)


def _sync_folder(folder: Path) -> None:
    """Put the new name on disk, where folders can be opened."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _concerns_file(error: OSError, temporary: Path | None) -> bool:
    if error.filename is None:
        return error.errno in _FULL
    return temporary is not None and str(error.filename) == str(temporary)


def npy_header(stream: Any) -> tuple[tuple[int, ...], bool, Any]:
    """Read shape, Fortran order and dtype of an array; the stream then stands at its values."""
    import numpy as np

    is_version_1 = np.lib.format.read_magic(stream) == (1, 0)
    read_header = np.lib.format.read_array_header_1_0 if is_version_1 else np.lib.format.read_array_header_2_0
    try:
        return read_header(stream)
    except (TokenError, SyntaxError, MemoryError, RecursionError) as error:  # NumPy lets Python parse it
        raise ValueError("the header of an array cannot be read") from error
