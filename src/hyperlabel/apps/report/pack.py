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
    parts, listed, start = [], {}, 0
    for name, array in arrays.items():
        flat = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        listed[name] = [_KINDS[array.dtype.str[1:]], start, array.size]
        padding = -len(flat) % 8
        parts.append(flat + b"\0" * padding)
        start += len(flat) + padding
    head = json.dumps(
        {**content, "arrays": listed}, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )
    raw = head.encode("utf-8", "surrogatepass")
    raw += b" " * (-(len(raw) + 8) % 8)
    whole = struct.pack("<Q", len(raw)) + raw + b"".join(parts)
    return base64.b64encode(gzip.compress(whole, 9, mtime=0)).decode("ascii")


def weight_planes(weights: np.ndarray, norm: str = "l2") -> tuple[np.ndarray, float]:
    """Return weights as whole multiples of a step, byte by byte (lowest first), and the step.

    The step keeps scores within 1e-6: 2⁻²⁴ is enough for texts of unit length, whose values sum to a few
    dozens at most; counts may be large. Bytes of one significance side by side compress well, as the high
    ones are mostly zero. The sign stands in the lowest bit.
    """
    step = 2.0**-24 if norm else 2.0**-34
    whole = np.rint(weights / step).ravel()
    if np.abs(whole).max(initial=0.0) >= 2**51:
        raise ValueError("The weights of this model are too large for a page.")
    whole = whole.astype(np.int64)
    coded = np.where(whole < 0, -2 * whole - 1, 2 * whole).astype("<u8")
    planes = coded.view(np.uint8).reshape(-1, 8).T
    used = max(1, 8 - int(np.argmax(planes[::-1].any(axis=1)))) if coded.any() else 1
    return planes[:used].copy(), step
