"""The zip around a model: uncompressed members, each with its SHA-256."""

from __future__ import annotations

import hashlib
import io
import json
import os
import tokenize
import zipfile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from hyperlabel.persistence._errors import ModelFileError

FORMAT = "hyperlabel-model"
FORMAT_VERSION = 2
MANIFEST = "model.json"
DIGEST = "model.sha256"
_DATE = (1980, 1, 1, 0, 0, 0)  # the same model gives the same bytes
_MANIFEST_LIMIT = 2**30


class Writer:
    """Adds arrays to an open zip as they come, the manifest last."""

    def __init__(self, file: BinaryIO) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED)
        self.arrays: dict[str, str] = {}

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def store(self, array: np.ndarray) -> str:
        """Write one array as .npy; return its name."""
        name = f"arrays/{len(self.arrays)}.npy"
        buffer = io.BytesIO()
        np.lib.format.write_array(buffer, array, allow_pickle=False)
        content = buffer.getbuffer()
        self._add(name, content)
        self.arrays[name] = hashlib.sha256(content).hexdigest()
        return name

    def finish(self, manifest: dict[str, Any]) -> None:
        """Write the manifest and its digest."""
        content = json.dumps({**manifest, "arrays": self.arrays}, allow_nan=False, indent=1).encode()
        self._add(MANIFEST, content)
        self._add(DIGEST, hashlib.sha256(content).hexdigest().encode())

    def _add(self, name: str, content: Any) -> None:
        self._zip.writestr(zipfile.ZipInfo(name, _DATE), bytes(content))


class Reader:
    """Checks a zip before anything in it is used."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._zip = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            raise ModelFileError(
                f"{path} is not a hyperlabel model file, or it was cut short: copy or save it again."
            ) from error
        try:
            self._check_members(path.stat().st_size)
            self.manifest = self._read_manifest()
        except BaseException:
            self._zip.close()
            raise

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def fetch(self, name: str) -> np.ndarray:
        """Read one array, after its digest and its size."""
        if name not in self.manifest["arrays"]:
            raise ModelFileError(
                f"{self.path} lacks {name}, which it refers to: it was damaged or tampered with."
            )
        content = self._content(name)
        if hashlib.sha256(content).hexdigest() != self.manifest["arrays"][name]:
            raise ModelFileError(
                f"{name} in {self.path} is not what was saved (its checksum differs): it was damaged or "
                "tampered with; get the file again."
            )
        return _parse_npy(content, f"{name} in {self.path}")

    def _check_members(self, size: int) -> None:
        members = self._zip.infolist()
        names = [member.filename for member in members]
        if len(set(names)) < len(names):
            raise ModelFileError(f"{self.path} holds two members of one name: it was tampered with.")
        if MANIFEST not in names or DIGEST not in names:
            raise ModelFileError(f"{self.path} is a zip, but not a hyperlabel model file (no {MANIFEST}).")
        for member in members:
            if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 0x1:
                raise ModelFileError(
                    f"{self.path} holds compressed or encrypted members, as a zip bomb would; hyperlabel "
                    "writes neither: do not trust this file."
                )
        if sum(member.file_size for member in members) > size:
            raise ModelFileError(f"{self.path} claims to hold more than its size: do not trust this file.")

    def _read_manifest(self) -> dict[str, Any]:
        if self._zip.getinfo(MANIFEST).file_size > _MANIFEST_LIMIT:
            raise ModelFileError(
                f"The description in {self.path} is larger than 1 GiB: do not trust this file."
            )
        content = self._content(MANIFEST)
        if hashlib.sha256(content).hexdigest().encode() != self._content(DIGEST):
            raise ModelFileError(
                f"The description in {self.path} is not what was saved (its checksum differs): the file was "
                "damaged or tampered with; get it again."
            )
        try:
            manifest = json.loads(content)
        except (ValueError, RecursionError):
            raise ModelFileError(
                f"The description in {self.path} cannot be read: it was damaged or tampered with."
            ) from None
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise ModelFileError(f"{self.path} is a zip, but not a hyperlabel model file.")
        version = manifest.get("format_version")
        if not isinstance(version, int) or version > FORMAT_VERSION:
            raise ModelFileError(
                f"{self.path} has format version {version!s:.20}, this hyperlabel reads up to "
                f"{FORMAT_VERSION}: upgrade hyperlabel."
            )
        if version < FORMAT_VERSION:
            raise ModelFileError(
                f"{self.path} was written by a hyperlabel before its first release, whose models had other "
                "parts: fit the model again."
            )
        if not isinstance(manifest.get("arrays"), dict):
            raise ModelFileError(f"The description in {self.path} is incomplete: it was tampered with.")
        return manifest

    def _content(self, name: str) -> bytes:
        try:
            return self._zip.read(name)
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
        ``model_type``, ``format_version``, ``versions`` (of the libraries that wrote it) and
        ``metadata``.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import hyperlabel
    >>> from hyperlabel.persistence import describe
    >>> model = hyperlabel.BinaryRelevance().fit(np.eye(4), np.eye(4, 2, dtype=int))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     hyperlabel.save(model, Path(folder, "model.hyper"), metadata={"trained": "2026-11-15"})
    ...     describe(Path(folder, "model.hyper"))["metadata"]
    {'trained': '2026-11-15'}
    """
    with Reader(Path(path)) as reader:
        keys = ("model_type", "format_version", "versions", "metadata")
        return {key: reader.manifest.get(key) for key in keys}


def _parse_npy(content: bytes, where: str) -> np.ndarray:
    """Read .npy bytes; the shape must account for every byte before anything is allocated."""
    stream = io.BytesIO(content)
    try:
        version = np.lib.format.read_magic(stream)
        read_header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, fortran, dtype = read_header(stream)
    except (ValueError, KeyError, SyntaxError, TypeError, MemoryError, tokenize.TokenError) as error:
        raise ModelFileError(f"{where} is not a readable array: get the file again.") from error
    count = 1
    for size in shape:
        count *= size
    if dtype.hasobject or dtype.names or count * dtype.itemsize != len(content) - stream.tell() or count < 0:
        raise ModelFileError(
            f"{where} has a shape or type that does not match its size: do not trust this file."
        )
    array = np.empty(shape, dtype=dtype, order="F" if fortran else "C")
    if count:
        flat = np.frombuffer(content, dtype=dtype, count=count, offset=stream.tell())
        array[...] = flat.reshape(shape, order="F" if fortran else "C")
    return array
