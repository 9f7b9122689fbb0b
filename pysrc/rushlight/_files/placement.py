"""Where loading puts tensors."""

from __future__ import annotations

import re
import sys

from rushlight import _C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _validate_device(location, backend):
    module = getattr(sys.modules["rushlight"], backend, None)
    if module is None and backend == "hpu":
        raise RuntimeError(
            f"The {backend.upper()} device module is not registered. If you are running on a CPU-only "
            "machine, please use torch.load with map_location=torch.device('cpu') to map your storages to "
            "the CPU."
        )
    if module is None or not module.is_available():
        raise RuntimeError(
            f"Attempting to deserialize object on a {backend.upper()} device but "
            f"torch.{backend}.is_available() is False. If you are running on a CPU-only machine, please use "
            "torch.load with map_location=torch.device('cpu') to map your storages to the CPU."
        )
    index = _C.device(location).index or 0
    count = module.device_count()
    if index >= count:
        raise RuntimeError(
            f"Attempting to deserialize object on {backend.upper()} device {index} but "
            f"torch.{backend}.device_count() is {count}. Please use torch.load with map_location to map your "
            "storages to an existing device."
        )
    return _C.device(backend, index)


def validate_cuda_device(location: Any) -> Any:
    """Return the index of a CUDA device that a file names.

    Parameters
    ----------
    location : str
        Name of the device.

    Returns
    -------
    int
        Its index.

    Raises
    ------
    RuntimeError
        If there is no such device.
    """
    return _validate_device(location, "cuda").index


def _place(location):
    """The device for a location, or PyTorch's error."""
    if isinstance(location, bytes):
        location = location.decode("ascii")
    if location in ("cpu", "meta"):
        return _C.device(location)
    for backend in ("cuda", "hpu", "xpu", "mtia"):
        if location == backend or re.match(f"{backend}(:|[0-9]+)", location):
            return _validate_device(location, backend)
    raise RuntimeError(
        "don't know how to restore data location of torch.storage.UntypedStorage (tagged with "
        + location
        + ")"
    )


def location_tag(storage: Any) -> Any:
    """Return the text that names the device of a storage in a file.

    Parameters
    ----------
    storage : UntypedStorage
        Storage to be saved.

    Examples
    --------
    >>> torch.serialization.location_tag(torch.ones(2).untyped_storage())
    'cpu'
    """
    return str(storage.device)


def default_restore_location(storage: Any, location: Any) -> Any:
    """Return a loaded storage where its file says: what torch.load does without `map_location`.

    Parameters
    ----------
    storage : UntypedStorage
        Storage on the CPU.
    location : str
        Device that the file names.

    Raises
    ------
    RuntimeError
        If it is another device than the CPU.

    Examples
    --------
    >>> storage = torch.ones(2).untyped_storage()
    >>> torch.serialization.default_restore_location(storage, "cpu") is storage
    True
    """
    device = _place(location)
    if device.type != "cpu":
        raise RuntimeError(
            "use map_location=torch.device(...) to load storages to another device than the CPU"
        )
    return storage


def _placement(map_location):
    """(place, hook) for _C._load: one decides by the location's text, the other sees the storage."""
    if map_location is None:
        return _place, None
    if isinstance(map_location, dict):
        return lambda location: _place(str(map_location.get(location, location))), None
    if isinstance(map_location, (str, bytes)):
        return lambda location: _place(map_location), None
    if isinstance(map_location, _C.device):
        return lambda location: _place(str(map_location)), None
    return _place, map_location


def _restorer(place, hook):
    """A function that brings an empty storage of the CPU to where map_location wants it."""

    def restore(storage, location):
        answer = hook(storage, location) if hook else None
        if answer is not None:
            return answer
        device = place(location)
        if device.type == "cpu":
            return storage
        return _C.empty(storage.nbytes(), dtype=_C.uint8, device=device).untyped_storage()

    return restore
