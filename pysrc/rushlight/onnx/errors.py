"""Exceptions of torch.onnx, for programs that catch them."""

from rushlight import _missing

__all__ = ["OnnxExporterError", "OnnxExporterWarning", "SymbolicValueError", "UnsupportedOperatorError"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


class OnnxExporterWarning(UserWarning):
    """Warn of something in an export."""


class OnnxExporterError(RuntimeError):
    """Signal that an export failed."""


class UnsupportedOperatorError(OnnxExporterError):
    """Signal that an operator cannot be exported."""


class SymbolicValueError(OnnxExporterError):
    """Signal that a value of an export is none of those that are expected."""
