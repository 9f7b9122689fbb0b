"""Running a module on several devices."""

from rushlight import _missing

from .data_parallel import DataParallel, data_parallel

__all__ = ["DataParallel", "data_parallel"]
__getattr__ = _missing.module_getattr(__name__)
