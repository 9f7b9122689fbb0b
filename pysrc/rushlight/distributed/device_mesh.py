"""Devices of several processes as an array: there are none, and to make one raises."""

from rushlight import _missing

__all__ = ["DeviceMesh", "init_device_mesh"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)

DeviceMesh = _missing.absent_class(__name__, "DeviceMesh")
init_device_mesh = _missing.absent_function(__name__, "init_device_mesh")
