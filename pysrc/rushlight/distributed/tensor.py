"""Tensors over several processes: no tensor is one, and to make one raises."""

from rushlight import _missing

__all__ = [
    "DTensor",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)

DTensor = _missing.absent_class(__name__, "DTensor")
Placement = _missing.absent_class(__name__, "Placement")
Partial = _missing.absent_class(__name__, "Partial", Placement)
Replicate = _missing.absent_class(__name__, "Replicate", Placement)
Shard = _missing.absent_class(__name__, "Shard", Placement)
distribute_module = _missing.absent_function(__name__, "distribute_module")
distribute_tensor = _missing.absent_function(__name__, "distribute_tensor")
