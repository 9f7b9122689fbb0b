"""Functions that export operators by ONNX's version 11: rushlight has none."""

from rushlight import _missing

__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)
