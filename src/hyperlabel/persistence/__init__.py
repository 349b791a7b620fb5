"""Model files without pickle: arrays and JSON in a zip, known parts only, checked at load.

The format is written down in docs/model-files.md. What needs scikit-learn is loaded on first use: a file can
be looked into, and a text model served from it, without waiting for that.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from hyperlabel.persistence._container import ModelFileError, describe

if TYPE_CHECKING:
    from hyperlabel.persistence._files import load, save
    from hyperlabel.persistence._onnx import export_onnx
    from hyperlabel.persistence._registry import register

__all__ = ["save", "load", "describe", "register", "export_onnx", "ModelFileError"]


_HOMES = {"save": "_files", "load": "_files", "export_onnx": "_onnx", "register": "_registry"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'hyperlabel.persistence' has no attribute {name!r}")
    return getattr(import_module(f"hyperlabel.persistence.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
