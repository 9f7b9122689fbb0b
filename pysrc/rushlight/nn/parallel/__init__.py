"""Running a module on several devices."""

from rushlight import _exports

from .data_parallel import DataParallel, data_parallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel", "gather", "scatter"]
_exports.publish(globals())
