"""What a fit has summed so far, in one file that is either old or new, never half written."""

import hashlib
import json
import os
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from hyperlabel._files import replacing
from hyperlabel._labels import check_places


class CheckpointError(ValueError):
    """A file that is no checkpoint, is damaged, or belongs to another fit; the message says what to do."""


def write_arrays(path: Path, arrays: dict[str, Any]) -> None:
    """Write an npz file atomically: a reader sees the old file or the whole new one."""
    flat: dict[str, Any] = {}
    for name, value in arrays.items():
        if sparse.issparse(value):
            value = sparse.csr_array(value)
            flat |= {f"{name}.{part}": getattr(value, part) for part in ("data", "indices", "indptr")}
            flat[f"{name}.shape"] = np.asarray(value.shape)
        else:
            flat[name] = np.asarray(value)
    with replacing(path) as file:
        np.savez(file, **flat)


def read_arrays(path: Path) -> dict[str, Any]:
    """Read what `write_arrays` wrote (never a pickle)."""
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > path.stat().st_size:
            raise ValueError("the file claims to hold more than its size")
    with np.load(path, allow_pickle=False) as stored:
        flat = {name: stored[name] for name in stored.files}
    arrays: dict[str, Any] = {name: value for name, value in flat.items() if "." not in name}
    for name in [key.removesuffix(".indptr") for key in flat if key.endswith(".indptr")]:
        parts = tuple(flat[f"{name}.{part}"] for part in ("data", "indices", "indptr"))
        arrays[name] = sparse.csr_array(parts, shape=tuple(flat[f"{name}.shape"]))
        check_places(arrays[name])
    return arrays


@dataclass
class State:
    """How far a fit has come: stage, place in the source, rows summed, the sums, the finished scan."""

    stage: str = "start"
    place: tuple[int, int] = (0, 0)
    rows: int = 0
    sums: dict[str, Any] = field(default_factory=dict)
    scan: dict[str, Any] = field(default_factory=dict)


class Checkpoint:
    """The state of one fit on disk."""

    def __init__(self, path: str | os.PathLike[str], identity: list[Any]) -> None:
        self.path = Path(path)
        self.identity = json.dumps(identity, default=str)

    def save(self, state: State) -> None:
        """Replace the file."""
        head = {"identity": self.identity, "stage": state.stage, "place": state.place, "rows": state.rows}
        arrays: dict[str, Any] = {f"sums:{name}": value for name, value in state.sums.items()}
        arrays |= {f"scan:{name}": value for name, value in state.scan.items()}
        head["content"] = _hash_arrays(arrays, head)
        write_arrays(self.path, {"state": np.asarray(json.dumps(head)), **arrays})

    def load(self) -> State:
        """Return the state to go on from; the start where there is no file yet."""
        if not self.path.exists():
            return State()
        try:
            arrays = read_arrays(self.path)
            head = json.loads(str(arrays.pop("state")))
            state = State(head["stage"], tuple(head["place"]), head["rows"])
            if head.pop("content") != _hash_arrays(arrays, head):
                raise ValueError("the sums, or the place they stand for, are not what was saved")
            for name, value in arrays.items():
                kind, key = name.split(":", 1)
                {"sums": state.sums, "scan": state.scan}[kind][key] = value
        except Exception as error:  # zipfile, zlib and NumPy have no common name for damaged bytes
            raise CheckpointError(
                f"{self.path} is not a checkpoint, or is damaged: delete it or name another file."
            ) from error
        if head.get("identity") != self.identity:
            raise CheckpointError(
                f"The checkpoint {self.path} belongs to another model or other data: delete it or name "
                "another file."
            )
        return state

    def remove(self) -> None:
        """Delete the file: the fit is done."""
        self.path.unlink(missing_ok=True)


def _hash_arrays(arrays: dict[str, Any], head: dict[str, Any]) -> str:
    """Return one hash of the head, and of names, types, shapes and values."""
    found = hashlib.sha256(json.dumps(head).encode())
    for name in sorted(arrays):
        value = arrays[name]
        parts = (value.data, value.indices, value.indptr) if sparse.issparse(value) else (np.asarray(value),)
        for part in parts:
            found.update(f"{name} {part.dtype.str} {np.shape(value)} {part.shape};".encode())
            found.update(np.ascontiguousarray(part).data)
    return found.hexdigest()
