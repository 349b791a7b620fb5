"""Model files without pickle: arrays and JSON in a zip, known parts only, checked at load.

The format is written down in docs/model-files.md.
"""

from typing import TYPE_CHECKING, Any

from hyperlabel.persistence._container import ModelFileError
from hyperlabel.persistence._files import describe, load, save
from hyperlabel.persistence._registry import register

if TYPE_CHECKING:
    from hyperlabel.persistence._onnx import export_onnx

__all__ = ["save", "load", "describe", "register", "export_onnx", "ModelFileError"]


def __getattr__(name: str) -> Any:
    if name != "export_onnx":  # few need it, and it brings all that can be exported
        raise AttributeError(f"module 'hyperlabel.persistence' has no attribute {name!r}")
    from hyperlabel.persistence._onnx import export_onnx

    return export_onnx
