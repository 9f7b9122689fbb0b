"""Devices by number, as DataParallel and programs like it ask for them through ``torch._utils``."""

from __future__ import annotations

import sys

from . import _C

__all__ = [
    "_get_all_device_indices",
    "_get_available_device_type",
    "_get_current_device_index",
    "_get_device_attr",
    "_get_device_index",
    "_get_device_module",
    "_get_devices_properties",
    "get_current_device_index",
]


def _get_available_device_type():
    """Return the type of the accelerator, or None where there is none."""
    return "cuda" if sys.modules["rushlight"].cuda.is_available() else None


def _get_device_attr(get_member):
    """Return get_member(module of the accelerator), or None where there is none."""
    kind = _get_available_device_type()
    return None if kind is None else get_member(_get_device_module(kind))


def _get_current_device_index():
    return _get_device_attr(lambda module: module.current_device())


def _get_all_device_indices():
    return _get_device_attr(lambda module: list(range(module.device_count())))


def _get_devices_properties(device_ids):
    return [_get_device_attr(lambda module, i=i: module.get_device_properties(i)) for i in device_ids]


def get_current_device_index():
    """Return the number of the current GPU, -1 where there is none."""
    cuda = sys.modules["rushlight"].cuda
    return cuda.current_device() if cuda.device_count() > 0 else -1


def _get_device_index(device, optional=False, allow_cpu=False):
    """Return the number of a device that is given as one, by name or as a number.

    With optional, None and a device without a number stand for the current one; with allow_cpu, the CPU is
    -1. Raises ValueError otherwise.
    """
    if isinstance(device, str):
        device = _C.device(device)
    index = device if isinstance(device, int) else None
    if isinstance(device, _C.device):
        if device.type == "cpu" and not allow_cpu:
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        index = -1 if device.type == "cpu" else device.index
    if index is not None:
        return index
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return _get_current_device_index()


def _get_device_module(device_type):
    """Return torch.cuda for "cuda", and so on."""
    module = getattr(sys.modules["rushlight"], device_type, None)
    if module is None:
        raise RuntimeError(
            f"Device '{device_type}' does not have a corresponding module registered as "
            f"'torch.{device_type}'."
        )
    return module
