"""torch.load and torch.save: the same files, read without executing anything of them."""

from __future__ import annotations

import io
import os
import pickle
import re
import stat
import sys
import warnings

from . import _C, _missing
from ._files import safe
from ._files.names import torch_name
from ._files.writer import archive_name, is_path, parts_writer, stream_writer, write_path, zip_writer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from rushlight._C import device

__all__ = [
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "safe_globals",
    "save",
    "set_crc32_options",
    "validate_cuda_device",
]
__dir__ = _missing.shows(__name__)

DEFAULT_PROTOCOL = 2

_SAFE_HEADLINE = "Weights only load failed. WeightsUnpickler error: "
_UNSAFE_HEADLINE = "What stopped it: "
_TRUST = (
    "Weights only load failed. This file can still be loaded, to do so you have two options, "
    "\033[1mdo those steps only if you trust the source of the checkpoint\033[0m. \n"
    "\t(1) Keep `weights_only=True` and allow what the file names: "
    "`torch.serialization.add_safe_globals([{names}])`. Nothing else of the file is called.\n"
    "\t(2) In PyTorch 2.6, we changed the default value of the `weights_only` argument in `torch.load` from "
    "`False` to `True`. Re-running `torch.load` with `weights_only` set to `False` will likely succeed, but "
    "it can result in arbitrary code execution. Do it only if you got the file from a trusted source.\n"
    "{whole}\tWeightsUnpickler error: "
)
_WHOLE = (
    "The file holds a whole pickled module rather than weights. A file of model.state_dict() needs neither "
    "step and outlives changes of the code.\n"
)

# ---- names that the user trusts ----

_safe_globals = set()


def _check_safe_global(item):
    obj = item[0] if isinstance(item, tuple) and item else item
    if getattr(obj, "__module__", None) == "builtins" and not isinstance(obj, type):
        raise ValueError(
            f"{obj.__qualname__} cannot be added to the safe globals: a file could run any code with it"
        )


def add_safe_globals(safe_globals: list[Callable[..., Any] | tuple[Callable[..., Any], str]]) -> None:
    """Allows classes and functions in files from now on; a tuple (object, "full.path") gives the name too."""
    items = set(safe_globals)
    for item in items:
        _check_safe_global(item)
    _safe_globals.update(items)


def get_safe_globals() -> list[Callable[..., Any] | tuple[Callable[..., Any], str]]:
    """The classes and functions that were added."""
    return list(_safe_globals)


def clear_safe_globals() -> None:
    """Forgets all that was added."""
    _safe_globals.clear()


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """List the classes and functions that a file names and that load() refuses, without loading it.

    torch.load wants them in add_safe_globals; names of modules such as os are refused even then.
    """
    if not is_path(f):
        _check_seekable(f)
        asked = _C._names_asked(*_Source(f, f"<{type(f).__name__}>").place)
    else:
        with open(f, "rb") as file:
            asked = _C._names_asked(*_Source(file, os.fsdecode(f).encode("utf-8", "replace").decode()).place)
    allowed = _allowed_names()
    return [name for name in asked if name not in allowed]


class safe_globals:
    """Allows classes and functions while the block runs."""

    def __init__(self, safe_globals: list[Callable[..., Any] | tuple[Callable[..., Any], str]]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        add_safe_globals(self.safe_globals)

    def __exit__(self, type: object, value: object, tb: object) -> None:
        _safe_globals.difference_update(self.safe_globals)


def _allowed_names():
    names = {}
    for item in _safe_globals:
        if not isinstance(item, tuple):
            names[".".join(torch_name(item))] = item
            continue
        if len(item) != 2:
            raise ValueError(
                "Expected tuple of length 2 (global, str of callable full path), but got tuple of length: "
                f"{len(item)}"
            )
        if type(item[1]) is not str:
            raise TypeError(
                f"Expected second item in tuple to be str of callable full path, but got: {type(item[1])}"
            )
        names[item[1]] = item[0]
    return names


# ---- where storages go ----


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
    """The index of a CUDA device that is there."""
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
    """The text that names a storage's device in files."""
    return str(storage.device)


def default_restore_location(storage: Any, location: Any) -> Any:
    """What load does with a storage when map_location does not decide."""
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


# ---- load ----


def _check_seekable(f):
    try:
        f.seek(f.tell())
    except (io.UnsupportedOperation, AttributeError) as error:
        if "seek" in str(error) or "tell" in str(error):
            raise type(error)(
                f"{error}. You can only torch.load from a file that is seekable. Please pre-load the data "
                "into a buffer like io.BytesIO and try to load from it instead."
            ) from None
        raise


def _wants_weights_only(weights_only, pickle_module):
    true = ("1", "y", "yes", "true")
    force = os.getenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "0").lower() in true
    force_not = os.getenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "0").lower() in true
    if force and force_not:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` "
            "should be set, but both were set."
        )
    if force:
        return True
    if weights_only is None:
        if force_not:
            warnings.warn(
                "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the"
                "`weights_only` argument was not explicitly passed to `torch.load`, forcing "
                "weights_only=False.",
                UserWarning,
                stacklevel=3,
            )
            return False
        return pickle_module is None
    return bool(weights_only)


def _is_plain_file(f):
    """A file whose bytes can be read through its descriptor."""
    raw = getattr(f, "raw", f) if type(f) in (io.BufferedReader, io.BufferedRandom) else f
    return type(raw) is io.FileIO and stat.S_ISREG(os.fstat(raw.fileno()).st_mode)


def load(
    f: Any,
    map_location: Callable[[Any, str], Any] | device | str | dict[str, str] | None = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """load(f, map_location=None, pickle_module=None, *, weights_only=True, mmap=None)

    Opens what torch.save wrote: state_dicts and other containers of tensors, numbers and text, in the
    zip format and the older stream. Nothing of a file is executed, and every checksum is compared; a class or
    function is only called when it was added with serialization.add_safe_globals.

    With weights_only=False, whole modules and any other object load as well: what the file names is imported
    and called, so that it can run any code. Use it for files that you trust. PyTorch's classes become
    rushlight's; a layer that rushlight lacks becomes a placeholder that keeps its state.

    With mmap=True the file (a path) is mapped privately instead of read: changes to the tensors stay in this
    process, checksums are not compared, and the file must not be truncated while the tensors live. A path
    that ends in .safetensors is read as such a file, and mapped unless mmap=False.
    """
    weights_only = _wants_weights_only(weights_only, pickle_module)
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    if pickle_load_args and weights_only:
        warnings.warn("pickle_load_args only works if `weights_only=False`.", stacklevel=2)
    if is_path(f):
        name = os.fsdecode(f).encode("utf-8", "replace").decode()
        with open(f, "rb") as file:
            source = _Source(file, name)
            if name.endswith(".safetensors"):
                return safe.read(source.place, map_location, mmap)[0]
            return _load(source, map_location, weights_only, mmap, pickle_module, pickle_load_args)
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    _check_seekable(f)
    name = getattr(f, "name", None)
    name = name.encode("utf-8", "replace").decode() if isinstance(name, str) else f"<{type(f).__name__}>"
    return _load(_Source(f, name), map_location, weights_only, mmap, pickle_module, pickle_load_args)


class _Source:
    """Where a file's bytes are: a descriptor with an offset, or the bytes themselves."""

    def __init__(self, file, name):
        self.file, self.name = file, name
        self.start = file.tell()
        if _is_plain_file(file):
            if file.writable():
                file.flush()
            size = max(os.fstat(file.fileno()).st_size - self.start, 0)
            self.place = (file.fileno(), self.start, size, name)
            return
        data = file.read()
        if isinstance(data, str):
            raise TypeError("f must be opened in binary mode, for example with open(path, 'rb')")
        self.place = (data, 0, 0, name)

    def begins_with(self, head):
        self.file.seek(self.start)
        return self.file.read(len(head)) == head

    def is_tar(self):
        self.file.seek(self.start)
        head = self.file.read(512)
        return len(head) == 512 and head[257:262] == b"ustar"


def _load(source, map_location, weights_only, mmap, pickle_module, options):
    placement = _placement(map_location)
    headline = _SAFE_HEADLINE if weights_only else _UNSAFE_HEADLINE
    if weights_only or (pickle_module in (None, pickle) and not options):
        try:
            obj, end = _C._load(*source.place, headline, bool(mmap), _allowed_names(), *placement)
        except pickle.UnpicklingError as error:
            if weights_only:
                raise pickle.UnpicklingError(_advice(source, str(error))) from None
        else:
            source.file.seek(source.start + end)
            return obj
    return _load_trusted(source, placement, mmap, pickle_module or pickle, {"encoding": "utf-8", **options})


def _load_trusted(source, placement, mmap, pickle_module, options):
    """What the user trusts (weights_only=False): Python's unpickler imports and calls what the file names."""
    from ._files import unpickler

    if source.begins_with(b"PK\3\4"):
        archive = _C._Archive(*source.place, bool(mmap), *placement)
        return unpickler.read_zip(archive, pickle_module, options)
    if mmap:
        raise RuntimeError(
            "mmap can only be used with files saved with `torch.save(_use_new_zipfile_serialization=True), "
            "please torch.save your checkpoint with this option in order to use mmap."
        )
    if source.is_tar():
        tensors, data = _C._tar_parts(*source.place, *placement)
        return unpickler.read_tar(tensors, data, pickle_module, options)
    source.file.seek(source.start)
    return unpickler.read_stream(source.file, _restorer(*placement), pickle_module, options)


def _advice(source, text):
    """The error of the safe reader, with all that the file asks for."""
    if "was not an allowed global by default" not in text:
        return text
    try:
        asked = [name.removeprefix("builtins.") for name in _C._names_asked(*source.place)]
    except (pickle.UnpicklingError, RuntimeError, EOFError):
        return text  # the rest of the file is damaged
    allowed = _allowed_names()
    names = ", ".join(name for name in asked if name not in allowed)
    whole = _WHOLE if any(name.startswith("torch.nn.modules.") for name in asked) else ""
    return text.replace(_SAFE_HEADLINE, _TRUST.format(names=names, whole=whole), 1)


# ---- save ----

_checksums = True


def get_crc32_options() -> bool:
    """Whether save writes checksums."""
    return _checksums


def set_crc32_options(compute_crc32: bool) -> None:
    """Whether save writes checksums. Without them nobody can notice later that a file has changed."""
    global _checksums
    _checksums = bool(compute_crc32)


def save(
    obj: object,
    f: Any,
    pickle_module: Any = pickle,
    pickle_protocol: int = DEFAULT_PROTOCOL,
    _use_new_zipfile_serialization: bool = True,
    _disable_byteorder_record: bool = False,
) -> None:
    """save(obj, f, pickle_module=pickle, pickle_protocol=2, _use_new_zipfile_serialization=True)

    Writes a file that torch.load(weights_only=True) opens. Views and tied tensors keep sharing: each storage
    is written once. A path gets a complete new file or stays as it was.
    """
    if not is_path(f) and not hasattr(f, "write"):
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        )
    if pickle_module is not pickle:
        raise ValueError("rushlight has its own writer of pickles: pickle_module must be pickle")
    if not 2 <= pickle_protocol <= pickle.HIGHEST_PROTOCOL:
        raise ValueError(f"pickle_protocol must be 2 to {pickle.HIGHEST_PROTOCOL}, but got {pickle_protocol}")
    path = os.fspath(f) if is_path(f) else None
    if path is not None and os.fsdecode(path).endswith(".safetensors"):
        write_path(path, parts_writer(safe.parts(obj)))
        return
    if _use_new_zipfile_serialization:
        prefix = "archive" if path is None else archive_name(os.fsdecode(path))
        write = zip_writer(obj, prefix, pickle_protocol, not _disable_byteorder_record, _checksums)
    else:
        write = stream_writer(obj, pickle_protocol)
    if path is not None:
        write_path(path, write)
        return
    write(f.write)
    if hasattr(f, "flush"):
        f.flush()
