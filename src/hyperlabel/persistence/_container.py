"""The zip around a model: uncompressed members, each with the CRC-32 that a zip has anyway.

The description repeats the checksums of the arrays and has a SHA-256 of its own. None of them stops a forger,
who can compute any checksum. Of those that notice damage, CRC-32 takes a third of the time of SHA-256.
"""

import hashlib
import io
import json
import math
import os
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np

from hyperlabel._files import npy_header

FORMAT = "hyperlabel-model"
FORMAT_VERSION = 4
MANIFEST = "model.json"
DIGEST = "model.sha256"
_DATE = (1980, 1, 1, 0, 0, 0)  # the same model gives the same bytes
_MANIFEST_LIMIT = 2**30
_LONGEST_HEADER = 2**16 + 12  # of an array
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
        self.arrays: dict[str, int] = {}

    def store(self, array: np.ndarray) -> str:
        """Write one array as .npy; return its name."""
        name = f"arrays/{len(self.arrays)}.npy"
        header = io.BytesIO()
        layout = np.lib.format.header_data_from_array_1_0(array)
        np.lib.format.write_array_header_1_0(header, layout)
        values = array.T if layout["fortran_order"] else np.ascontiguousarray(array)
        # dates and texts have no buffer of their own; no values, no bytes
        plain_values = values.reshape(-1).view(np.uint8).data if values.size and values.itemsize else b""
        self.arrays[name] = self._add_member(name, header.getvalue(), plain_values).CRC
        return name

    def finish(self, manifest: dict[str, Any]) -> None:
        """Write the manifest and its digest."""
        # one line: with an indent the encoder is Python's own, ten times slower
        content = json.dumps({**manifest, "arrays": self.arrays}, allow_nan=False).encode()
        self._add_member(MANIFEST, content)
        self._add_member(DIGEST, hashlib.sha256(content).hexdigest().encode())

    def _add_member(self, name: str, *contents: bytes | memoryview) -> zipfile.ZipInfo:
        """Write a member from its pieces, none of which is copied; return it with its CRC-32."""
        member = zipfile.ZipInfo(name, _DATE)
        member.file_size = sum(len(content) for content in contents)
        with self.open(member, "w") as file:
            for content in contents:
                file.write(content)
        return member


class Reader(zipfile.ZipFile):
    """Checks a zip before anything in it is used."""

    def __init__(self, path: Path) -> None:
        self.path, self._file = path, open(path, "rb")  # noqa: SIM115 - one handle: the file may be replaced
        try:
            super().__init__(self._file)
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            self._file.close()
            raise ModelFileError(
                f"{path} is not a hyperlabel model file, or it was truncated: copy or save it again."
            ) from error
        try:
            self._check_members(path.stat().st_size)
            self.manifest = self._read_manifest()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file."""
        super().close()
        if hasattr(self, "_file"):  # there was one
            self._file.close()

    def fetch(self, name: str) -> np.ndarray:
        """Read one array, after its size and with its checksum."""
        where, checksums = f"{name} in {self.path}", self.manifest["arrays"]
        is_there = name in checksums and name in self.NameToInfo
        _require_valid(is_there, f"{where} is missing: the file was damaged or tampered with.")
        member = self.getinfo(name)
        _require_valid(checksums[name] == member.CRC, _differs(where))
        content = np.empty(member.file_size, np.uint8)
        try:
            self._file.seek(
                member.header_offset + 26
            )  # the lengths of the name and extras before the content
            self._file.seek(sum(struct.unpack("<HH", self._file.read(4))), os.SEEK_CUR)
            size = self._file.readinto(content.data)
        except (OSError, struct.error) as error:
            raise ModelFileError(f"{where} is damaged: get the file again.") from error
        _require_valid(size == len(content) and zlib.crc32(content.data) == member.CRC, _differs(where))
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
            _differs(description),
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
        _require_valid(
            version == FORMAT_VERSION,
            f"{self.path} has format version {version!s:.20}, this hyperlabel reads {FORMAT_VERSION}: fit "
            "the model again, or use the release that wrote it.",
        )
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


def _differs(where: str) -> str:
    return (
        f"{where} is not what was saved (its checksum differs): it was damaged or tampered with; get the "
        "file again."
    )


def _parse_npy(content: np.ndarray, where: str) -> np.ndarray:
    """Return the array in the bytes of a .npy file, without a copy; its shape must account for each."""
    stream = io.BytesIO(content[:_LONGEST_HEADER].tobytes())
    try:
        shape, is_fortran, dtype = npy_header(stream)
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"{where} is not a readable array: get the file again.") from error
    is_plain_array = not (dtype.hasobject or dtype.names) and min(shape, default=0) >= 0
    values = content[stream.tell() :]
    _require_valid(
        is_plain_array and math.prod(shape) * dtype.itemsize == len(values),
        f"{where} has a shape or type that does not match its size: do not trust this file.",
    )
    order: Literal["F", "C"] = "F" if is_fortran else "C"
    if not len(values):
        return np.empty(shape, dtype, order)
    typed_values = values.view(dtype)
    aligned_values = typed_values if typed_values.flags.aligned else typed_values.copy()
    return aligned_values.reshape(shape, order=order)
