"""Model files without pickle: arrays and JSON in a zip, known parts only, checked at load.

The format is written down in docs/model-files.md.
"""

from hyperlabel.persistence._container import ModelFileError
from hyperlabel.persistence._files import describe, load, save
from hyperlabel.persistence._onnx import export_onnx
from hyperlabel.persistence._registry import register

__all__ = ["save", "load", "describe", "register", "export_onnx", "ModelFileError"]
