"""Names of ``torch.onnx`` that packages import. rushlight writes no ONNX files, and says so."""

from __future__ import annotations

import enum
import re

from rushlight import _missing

from . import errors
from .errors import OnnxExporterError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["OnnxExporterError", "errors", "export", "is_in_onnx_export"]
_missing_name = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)
_symbolics: dict[tuple[str, int], Callable[..., Any]] = {}  # what programs registered


def __getattr__(name):
    if name not in ("symbolic_helper", "symbolic_opset11"):
        return _missing_name(name)
    from importlib import import_module

    return import_module(f"{__name__}.{name}")


class TrainingMode(enum.Enum):
    """Say in which mode a model is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.Enum):
    """Say which operators an exported file may have."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


def export(model: Any, args: tuple[Any, ...] = (), f: Any = None, **options: Any) -> Any:
    """Raise NotImplementedError: ONNX files are not written.

    Parameters
    ----------
    model : Module
        In PyTorch: what is exported.
    args : tuple
        In PyTorch: its inputs.
    f : str or path, optional
        In PyTorch: the file. Nothing is written to it.
    **options
        In PyTorch: many.
    """
    raise _missing.refuse("onnx.export: save model.state_dict() with torch.save, and export it with PyTorch")


def is_in_onnx_export() -> bool:
    """Whether a model is being exported: never."""
    return False


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int
) -> None:
    """Remember how an operator would be exported.

    Raises OnnxExporterError unless the name has the form ``domain::name``.
    """
    if not re.fullmatch(r"\w*::[a-zA-Z]\w*", symbolic_name, re.ASCII):
        raise OnnxExporterError(
            f"Failed to register operator {symbolic_name}. The symbolic name must match the format "
            "domain::name, and should start with a letter and contain only alphanumeric characters"
        )
    _symbolics[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Forget what register_custom_op_symbolic() was told."""
    _symbolics.pop((symbolic_name, opset_version), None)
