"""What traces functions and modules, which raises."""

from rushlight import _missing

from . import Tracer, symbolic_trace, wrap

__all__ = ["Tracer", "symbolic_trace", "wrap"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)
