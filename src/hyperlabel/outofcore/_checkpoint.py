"""Checkpoints: the sums of a fit so far, in one file that is replaced atomically."""

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
    flat_arrays: dict[str, Any] = {}
    for name, value in arrays.items():
        if sparse.issparse(value):
            value = sparse.csr_array(value)
            flat_arrays |= {
                f"{name}.{csr_field}": getattr(value, csr_field)
                for csr_field in ("data", "indices", "indptr")
            }
            flat_arrays[f"{name}.shape"] = np.asarray(value.shape)
        else:
            flat_arrays[name] = np.asarray(value)
    with replacing(path) as file:
        np.savez(file, **flat_arrays)


def read_arrays(path: Path) -> dict[str, Any]:
    """Read what `write_arrays` wrote (never a pickle)."""
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > path.stat().st_size:
            raise ValueError("the file claims to hold more than its size")
    with np.load(path, allow_pickle=False) as npz_file:
        flat_arrays = {name: npz_file[name] for name in npz_file.files}
    arrays: dict[str, Any] = {name: value for name, value in flat_arrays.items() if "." not in name}
    for name in [key.removesuffix(".indptr") for key in flat_arrays if key.endswith(".indptr")]:
        csr_arrays = tuple(flat_arrays[f"{name}.{csr_field}"] for csr_field in ("data", "indices", "indptr"))
        arrays[name] = sparse.csr_array(csr_arrays, shape=tuple(flat_arrays[f"{name}.shape"]))
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
        state_header = {
            "identity": self.identity,
            "stage": state.stage,
            "place": state.place,
            "rows": state.rows,
        }
        arrays: dict[str, Any] = {f"sums:{name}": value for name, value in state.sums.items()}
        arrays |= {f"scan:{name}": value for name, value in state.scan.items()}
        state_header["content"] = _hash_arrays(arrays, state_header)
        write_arrays(self.path, {"state": np.asarray(json.dumps(state_header)), **arrays})

    def load(self) -> State:
        """Return the state to go on from; the start where there is no file yet."""
        if not self.path.exists():
            return State()
        try:
            arrays = read_arrays(self.path)
            state_header = json.loads(str(arrays.pop("state")))
            state = State(state_header["stage"], tuple(state_header["place"]), state_header["rows"])
            if state_header.pop("content") != _hash_arrays(arrays, state_header):
                raise ValueError("the sums, or their place in the source, are not what was saved")
            for name, value in arrays.items():
                state_field, array_name = name.split(":", 1)
                {"sums": state.sums, "scan": state.scan}[state_field][array_name] = value
        except Exception as error:  # zipfile, zlib and NumPy share no exception for damaged bytes
            raise CheckpointError(
                f"{self.path} is not a checkpoint, or is damaged: delete it or name another file."
            ) from error
        if state_header.get("identity") != self.identity:
            raise CheckpointError(
                f"The checkpoint {self.path} belongs to another model or other data: delete it or name "
                "another file."
            )
        return state

    def remove(self) -> None:
        """Delete the file: the fit is done."""
        self.path.unlink(missing_ok=True)


def _hash_arrays(arrays: dict[str, Any], state_header: dict[str, Any]) -> str:
    """Return one hash of the head, and of names, types, shapes and values."""
    content_hash = hashlib.sha256(json.dumps(state_header).encode())
    for name in sorted(arrays):
        value = arrays[name]
        plain_arrays = (
            (value.data, value.indices, value.indptr) if sparse.issparse(value) else (np.asarray(value),)
        )
        for plain_array in plain_arrays:
            content_hash.update(
                f"{name} {plain_array.dtype.str} {np.shape(value)} {plain_array.shape};".encode()
            )
            content_hash.update(np.ascontiguousarray(plain_array).data)
    return content_hash.hexdigest()
