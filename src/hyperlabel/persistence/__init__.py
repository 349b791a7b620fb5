"""Model files without pickle: arrays and JSON in a zip, known parts only, checked at load.

The format is written down in docs/model-files.md. What needs scikit-learn is loaded on first use: a file can
be looked into, and a text model served from it, without waiting for that.
"""

from typing import TYPE_CHECKING, Any

from hyperlabel.persistence._container import ModelFileError, describe

if TYPE_CHECKING:
    from hyperlabel.persistence._files import load, save
    from hyperlabel.persistence._onnx import export_onnx
    from hyperlabel.persistence._registry import register

__all__ = ["save", "load", "describe", "register", "export_onnx", "ModelFileError"]


def __getattr__(name: str) -> Any:
    if name in ("save", "load"):
        from hyperlabel.persistence import _files

        return getattr(_files, name)
    if name == "export_onnx":  # few need it, and it brings all that can be exported
        from hyperlabel.persistence._onnx import export_onnx

        return export_onnx
    if name == "register":
        from hyperlabel.persistence._registry import register

        return register
    raise AttributeError(f"module 'hyperlabel.persistence' has no attribute {name!r}")
