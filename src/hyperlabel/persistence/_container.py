"""The zip around a model: uncompressed members, each with its SHA-256."""

import hashlib
import io
import json
import math
import os
import zipfile
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from hyperlabel._files import npy_header

FORMAT = "hyperlabel-model"
FORMAT_VERSION = 3
MANIFEST = "model.json"
DIGEST = "model.sha256"
_DATE = (1980, 1, 1, 0, 0, 0)  # the same model gives the same bytes
_MANIFEST_LIMIT = 2**30
# What a file may make a loaded model work through: words or characters in a row, texts of the stored check.
LONGEST_NGRAM = 10
LONGEST_TEXT = 1000


class ModelFileError(ValueError):
    """A model cannot be saved, or a file cannot be trusted to give it back.

    Examples
    --------
    >>> import os
    >>> import hyperlabel
    >>> try:
    ...     hyperlabel.load(os.devnull)
    ... except hyperlabel.persistence.ModelFileError as error:
    ...     print(str(error).removeprefix(os.devnull))
     is not a hyperlabel model file, or it was truncated: copy or save it again.
    """


class Writer(zipfile.ZipFile):
    """Adds arrays to an open zip as they come, the manifest last."""

    def __init__(self, file: BinaryIO) -> None:
        super().__init__(file, "w", zipfile.ZIP_STORED)
        self.arrays: dict[str, str] = {}

    def store(self, array: np.ndarray) -> str:
        """Write one array as .npy; return its name."""
        name = f"arrays/{len(self.arrays)}.npy"
        header = io.BytesIO()
        layout = np.lib.format.header_data_from_array_1_0(array)
        np.lib.format.write_array_header_1_0(header, layout)
        values = array.T if layout["fortran_order"] else np.ascontiguousarray(array)
        # dates and texts have no buffer of their own; no values, no bytes
        plain_values = values.reshape(-1).view(np.uint8).data if values.size and values.itemsize else b""
        self.arrays[name] = self._add_member(name, header.getvalue(), plain_values)
        return name

    def finish(self, manifest: dict[str, Any]) -> None:
        """Write the manifest and its digest."""
        # one line: with an indent the encoder is Python's own, ten times slower
        content = json.dumps({**manifest, "arrays": self.arrays}, allow_nan=False).encode()
        self._add_member(DIGEST, self._add_member(MANIFEST, content).encode())

    def _add_member(self, name: str, *contents: bytes | memoryview) -> str:
        """Write a member from its pieces, none of which is copied; return its digest."""
        member, digest = zipfile.ZipInfo(name, _DATE), hashlib.sha256()
        member.file_size = sum(len(content) for content in contents)
        with self.open(member, "w") as file:
            for content in contents:
                digest.update(content)
                file.write(content)
        return digest.hexdigest()


class Reader(zipfile.ZipFile):
    """Checks a zip before anything in it is used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            super().__init__(path)
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise ModelFileError(
                f"{path} is not a hyperlabel model file, or it was truncated: copy or save it again."
            ) from error
        try:
            self._check_members(path.stat().st_size)
            self.manifest = self._read_manifest()
        except BaseException:
            self.close()
            raise

    def fetch(self, name: str) -> np.ndarray:
        """Read one array, after its digest and its size."""
        where, digests = f"{name} in {self.path}", self.manifest["arrays"]
        _require_valid(name in digests, f"{where} is missing: the file was damaged or tampered with.")
        content = self._read_content(name)
        differs = f"{where} is not what was saved (its checksum differs): it was damaged or tampered with"
        _require_valid(
            hashlib.sha256(content).hexdigest() == digests[name], f"{differs}; get the file again."
        )
        return _parse_npy(content, where)

    def _check_members(self, size: int) -> None:
        members = self.infolist()
        names = [member.filename for member in members]
        names_unique = len(set(names)) == len(names)
        _require_valid(names_unique, f"{self.path} holds two members of one name: it was tampered with.")
        has_manifest = MANIFEST in names and DIGEST in names
        _require_valid(
            has_manifest, f"{self.path} is a zip, but not a hyperlabel model file (no {MANIFEST})."
        )
        plainly_stored = (m.compress_type == zipfile.ZIP_STORED and not m.flag_bits & 1 for m in members)
        _require_valid(
            all(plainly_stored),
            f"{self.path} holds compressed or encrypted members, as a zip bomb would; hyperlabel writes "
            "neither: do not trust this file.",
        )
        sizes_fit = sum(member.file_size for member in members) <= size
        _require_valid(sizes_fit, f"{self.path} claims to hold more than its size: do not trust this file.")

    def _read_manifest(self) -> dict[str, Any]:
        description = f"The description in {self.path}"
        within_limit = self.getinfo(MANIFEST).file_size <= _MANIFEST_LIMIT
        _require_valid(within_limit, f"{description} is larger than 1 GiB: do not trust this file.")
        content = self._read_content(MANIFEST)
        _require_valid(
            hashlib.sha256(content).hexdigest().encode() == self._read_content(DIGEST),
            f"{description} is not what was saved (its checksum differs): the file was damaged or tampered "
            "with; get it again.",
        )
        try:
            manifest = json.loads(content)
        except (ValueError, RecursionError):
            raise ModelFileError(f"{description} cannot be read: it was damaged or tampered with.") from None
        is_model_file = isinstance(manifest, dict) and manifest.get("format") == FORMAT
        _require_valid(is_model_file, f"{self.path} is a zip, but not a hyperlabel model file.")
        version = manifest.get("format_version")
        _require_valid(
            isinstance(version, int) and version <= FORMAT_VERSION,
            f"{self.path} has format version {version!s:.20}, this hyperlabel reads up to {FORMAT_VERSION}: "
            "upgrade hyperlabel.",
        )
        older_format = (
            f"{self.path} was written by a hyperlabel before its first release, whose models had other parts"
        )
        _require_valid(version == FORMAT_VERSION, f"{older_format}: fit the model again.")
        _require_valid(
            isinstance(manifest.get("arrays"), dict), f"{description} is incomplete: it was tampered with."
        )
        return manifest

    def _read_content(self, name: str) -> bytes:
        try:
            return self.read(name)
        except (zipfile.BadZipFile, KeyError, EOFError, OSError, NotImplementedError) as error:
            raise ModelFileError(f"{name} in {self.path} is damaged: get the file again.") from error


def describe(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return what a model file says about itself, without building the model.

    Parameters
    ----------
    path : str or path-like
        A file written by `save`.

    Returns
    -------
    description : dict
        ``model_type``, ``format_version``, ``versions`` (of the libraries that wrote it), ``metadata``.

    Examples
    --------
    >>> import tempfile
    >>> import hyperlabel
    >>> from hyperlabel.persistence import describe
    >>> model = hyperlabel.BinaryRelevance().fit([[0.0], [1.0]], [[0, 1], [1, 0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hyperlabel.save(model, f"{folder}/m.hyper")
    ...     describe(f"{folder}/m.hyper")["model_type"]
    'BinaryRelevance'
    """
    with Reader(Path(path)) as reader:
        keys = ("model_type", "format_version", "versions", "metadata")
        return {key: reader.manifest.get(key) for key in keys}


def _require_valid(holds: bool, otherwise: str) -> None:
    if not holds:
        raise ModelFileError(otherwise)


def _parse_npy(content: bytes, where: str) -> np.ndarray:
    """Read .npy bytes; the shape must account for every byte before anything is allocated."""
    stream = io.BytesIO(content)
    try:
        shape, is_fortran, dtype = npy_header(stream)
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"{where} is not a readable array: get the file again.") from error
    is_plain_array = not (dtype.hasobject or dtype.names) and min(shape, default=0) >= 0
    _require_valid(
        is_plain_array and math.prod(shape) * dtype.itemsize == len(content) - stream.tell(),
        f"{where} has a shape or type that does not match its size: do not trust this file.",
    )
    values = np.frombuffer(content, dtype, offset=stream.tell()) if len(content) > stream.tell() else None
    order: Literal["F", "C"] = "F" if is_fortran else "C"
    if values is None:
        return np.empty(shape, dtype, order)
    return values.reshape(shape, order=order).copy(order)
