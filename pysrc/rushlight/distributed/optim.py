"""Optimizers over several processes: names that packages import; to make one raises."""

from rushlight import _missing

__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)

DistributedOptimizer = _missing.absent_class(__name__, "DistributedOptimizer")
PostLocalSGDOptimizer = _missing.absent_class(__name__, "PostLocalSGDOptimizer")
ZeroRedundancyOptimizer = _missing.absent_class(__name__, "ZeroRedundancyOptimizer")
