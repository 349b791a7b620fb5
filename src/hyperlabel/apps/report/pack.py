"""What a page carries for its scripts: JSON and arrays in one gzipped, base64 text.

Base64 holds no character that HTML could take for a tag, so texts and labels cannot break out of it.
"""

import base64
import gzip
import json
import struct
from typing import Any

import numpy as np

_KINDS = {
    "u1": "Uint8Array",
    "u2": "Uint16Array",
    "u4": "Uint32Array",
    "f4": "Float32Array",
    "f8": "Float64Array",
}


def pack_arrays(content: dict[str, Any], arrays: dict[str, np.ndarray]) -> str:
    """Return the text that ``unpack`` of ``pack.js`` turns back into the content and typed arrays."""
    array_chunks, array_index, start_byte = [], {}, 0
    for name, array in arrays.items():
        array_bytes = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        array_index[name] = [_KINDS[array.dtype.str[1:]], start_byte, array.size]
        n_padding = -len(array_bytes) % 8
        array_chunks.append(array_bytes + b"\0" * n_padding)
        start_byte += len(array_bytes) + n_padding
    head_json = json.dumps(
        {**content, "arrays": array_index}, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )
    head_bytes = head_json.encode("utf-8", "surrogatepass")
    head_bytes += b" " * (-(len(head_bytes) + 8) % 8)
    packed_bytes = struct.pack("<Q", len(head_bytes)) + head_bytes + b"".join(array_chunks)
    return base64.b64encode(gzip.compress(packed_bytes, 9, mtime=0)).decode("ascii")


def weight_planes(weights: np.ndarray, norm: str = "l2") -> tuple[np.ndarray, float]:
    """Return weights as whole multiples of a step, byte by byte (lowest first), and the step.

    The step keeps scores within 1e-6: 2⁻²⁴ is enough for texts of unit length, whose values sum to a few
    dozens at most; counts may be large. Bytes of one significance side by side compress well, as the high
    ones are mostly zero. The sign is the lowest bit.
    """
    weight_step = 2.0**-24 if norm else 2.0**-34
    step_counts = np.rint(weights / weight_step).ravel()
    if np.abs(step_counts).max(initial=0.0) >= 2**51:
        raise ValueError("The weights of this model are too large for a page.")
    step_counts = step_counts.astype(np.int64)
    zigzag_codes = np.where(step_counts < 0, -2 * step_counts - 1, 2 * step_counts).astype("<u8")
    byte_planes = zigzag_codes.view(np.uint8).reshape(-1, 8).T
    n_planes = max(1, 8 - int(np.argmax(byte_planes[::-1].any(axis=1)))) if zigzag_codes.any() else 1
    return byte_planes[:n_planes].copy(), weight_step
