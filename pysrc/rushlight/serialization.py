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


# ---- where loading puts tensors ----
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


# ---- classes and functions that loading may use ----
_safe_globals = set()


def _check_safe_global(item):
    obj = item[0] if isinstance(item, tuple) and item else item
    if getattr(obj, "__module__", None) == "builtins" and not isinstance(obj, type):
        raise ValueError(
            f"{obj.__qualname__} cannot be added to the safe globals: a file could run any code with it"
        )


def add_safe_globals(safe_globals: list[Callable[..., Any] | tuple[Callable[..., Any], str]]) -> None:
    """Allow classes and functions in files that torch.load reads with ``weights_only=True``, from now on.

    Parameters
    ----------
    safe_globals : list of classes and functions
        What to allow; a tuple ``(object, "module.name")`` allows it under the name that a file has for it.

    Raises
    ------
    ValueError
        If one is a builtin function, with which a file could run any code.

    Notes
    -----
    Same as torch.serialization.add_safe_globals: https://docs.pytorch.org/docs/2.13/notes/serialization.html

    Examples
    --------
    >>> from fractions import Fraction
    >>> torch.serialization.add_safe_globals([Fraction])
    >>> torch.serialization.get_safe_globals()
    [<class 'fractions.Fraction'>]
    >>> torch.serialization.clear_safe_globals()
    """
    items = set(safe_globals)
    for item in items:
        _check_safe_global(item)
    _safe_globals.update(items)


def get_safe_globals() -> list[Callable[..., Any] | tuple[Callable[..., Any], str]]:
    """Return the list of classes and functions that were allowed in files.

    Notes
    -----
    Same as torch.serialization.get_safe_globals: https://docs.pytorch.org/docs/2.13/notes/serialization.html

    Examples
    --------
    >>> torch.serialization.get_safe_globals()
    []
    """
    return list(_safe_globals)


def clear_safe_globals() -> None:
    """Allow no more classes and functions in files than at the start.

    Notes
    -----
    Same as torch.serialization.clear_safe_globals:
    https://docs.pytorch.org/docs/2.13/notes/serialization.html

    Examples
    --------
    >>> torch.serialization.clear_safe_globals()
    >>> torch.serialization.get_safe_globals()
    []
    """
    _safe_globals.clear()


class safe_globals:
    """Allow classes and functions in files within a context, as add_safe_globals() does for good.

    Parameters
    ----------
    safe_globals : list of classes and functions
        What to allow; a tuple ``(object, "module.name")`` allows it under the name that a file has for it.

    Notes
    -----
    Same as torch.serialization.safe_globals: https://docs.pytorch.org/docs/2.13/notes/serialization.html

    Examples
    --------
    >>> import pathlib
    >>> torch.save({"path": pathlib.PurePosixPath("data")}, "checkpoint.pt")
    >>> with torch.serialization.safe_globals([pathlib.PurePosixPath]):
    ...     torch.load("checkpoint.pt")
    {'path': PurePosixPath('data')}
    """

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


__dir__ = _missing.module_dir(__name__)

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


# ---- where storages go ----


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


def get_unsafe_globals_in_checkpoint(f: Any) -> list[str]:
    """List the classes and functions that a file names and that torch.load refuses, without loading it.

    Parameters
    ----------
    f : str, os.PathLike or file object
        File to look at.

    Returns
    -------
    list of str
        Full names, for add_safe_globals(). Names of modules such as ``os`` are refused even then.

    Notes
    -----
    Same as torch.serialization.get_unsafe_globals_in_checkpoint:
    https://docs.pytorch.org/docs/2.13/notes/serialization.html

    Examples
    --------
    >>> import fractions
    >>> torch.save({"rate": fractions.Fraction(1, 3)}, "checkpoint.pt")
    >>> torch.serialization.get_unsafe_globals_in_checkpoint("checkpoint.pt")
    ['fractions.Fraction']
    """
    if not is_path(f):
        _check_seekable(f)
        asked = _C._names_asked(*_Source(f, f"<{type(f).__name__}>").place)
    else:
        with open(f, "rb") as file:
            asked = _C._names_asked(*_Source(file, os.fsdecode(f).encode("utf-8", "replace").decode()).place)
    allowed = _allowed_names()
    return [name for name in asked if name not in allowed]


def load(
    f: Any,
    map_location: Callable[[Any, str], Any] | device | str | dict[str, str] | None = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **pickle_load_args: Any,
) -> Any:
    """Load an object from a file that torch.save wrote: a state dict, a checkpoint, a tensor.

    By default nothing of a file is executed: it may hold tensors, numbers, texts and containers of them, and
    the classes that were allowed with ``torch.serialization.add_safe_globals``. The formats are recognized:
    PyTorch's zip archives and older files, and safetensors by the ending ``.safetensors``. Checksums are
    compared.

    Parameters
    ----------
    f : str, os.PathLike or file object
        File to read; a file object is binary and can seek.
    map_location : device, str, dict or callable, optional
        Where tensors go. A device or its name takes all of them; a dict maps saved names to new ones; a
        callable takes ``(storage, saved name)`` and returns a storage, or None to decide nothing.
    pickle_module : module, optional
        Reads the pickles in place of ``pickle``; needs ``weights_only=False``.
    weights_only : bool, optional
        True unless `pickle_module` is given. With False the file may hold any object, also whole modules, and
        **can run any code**: only for files that you trust. PyTorch's classes become rushlight's.
    mmap : bool, optional
        Map the file into memory instead of reading it; only for paths. Pages are read when they are used,
        changes stay in this process, and checksums are not compared. While the tensors live the file must
        stay: what another program writes into it may appear in them, and if it becomes shorter, using them
        ends the process (SIGBUS). Replacing it by a new file, as ``save(obj, path)`` does, is harmless;
        writing into it, as PyTorch's ``torch.save`` does, is not. By default files are read, and those of
        safetensors mapped if they have 64 MB or more.
    **pickle_load_args
        Options of ``pickle.Unpickler``, for ``weights_only=False``.

    Returns
    -------
    object
        What was saved; tensors that shared memory share it again.

    Raises
    ------
    pickle.UnpicklingError
        If the file is of no such format, or names something that is not allowed: the text says what, and how
        to allow it.
    EOFError
        If the file is empty.
    RuntimeError
        If the file is damaged, or tensors are of a device that is not there and `map_location` does not move.
    ValueError
        If `mmap` is asked for a file object.

    Notes
    -----
    Same as torch.load: https://docs.pytorch.org/docs/2.13/generated/torch.load.html

    Examples
    --------
    >>> model = nn.Linear(2, 1)
    >>> torch.save({"model": model.state_dict(), "epoch": 3}, "checkpoint.pt")
    >>> checkpoint = torch.load("checkpoint.pt", map_location="cpu")
    >>> checkpoint["epoch"]
    3
    >>> model.load_state_dict(checkpoint["model"])
    <All keys matched successfully>
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
    """Return whether torch.save writes checksums.

    Notes
    -----
    Same as torch.serialization.get_crc32_options: https://docs.pytorch.org/docs/2.13/notes/serialization.html

    Examples
    --------
    >>> torch.serialization.get_crc32_options()
    True
    """
    return _checksums


def set_crc32_options(compute_crc32: bool) -> None:
    """Choose whether torch.save writes checksums (CRC-32); without them a damaged file goes unnoticed.

    Parameters
    ----------
    compute_crc32 : bool
        Whether to write them.

    Notes
    -----
    Same as torch.serialization.set_crc32_options: https://docs.pytorch.org/docs/2.13/notes/serialization.html

    Examples
    --------
    >>> torch.serialization.set_crc32_options(False)
    >>> torch.save(torch.ones(2), "tensor.pt")
    >>> torch.serialization.set_crc32_options(True)
    """
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
    """Save an object to a file: a state dict, a checkpoint, a tensor.

    ``torch.load`` of PyTorch and of rushlight open it. Tensors that share memory are written once and share
    it after loading. A path gets a complete new file or stays as it was. A path that ends with
    ``.safetensors`` gets a file of that format, from a dict of tensors.
    ``_use_new_zipfile_serialization=False`` writes the older stream instead of a zip archive.

    Parameters
    ----------
    obj : object
        What to save: tensors, numbers, texts and containers of them; other objects are pickled and need
        ``weights_only=False`` to load.
    f : str, os.PathLike or file object
        Where to write; a file object has ``write``.
    pickle_module : module, default pickle
        Only ``pickle``.
    pickle_protocol : int, default 2
        Protocol of the pickle, 2 or more.

    Raises
    ------
    AttributeError
        If `f` is neither a path nor has ``write``.
    ValueError
        If `pickle_module` is not ``pickle`` or there is no such protocol.

    Notes
    -----
    Same as torch.save: https://docs.pytorch.org/docs/2.13/generated/torch.save.html

    Examples
    --------
    >>> torch.save({"weight": torch.ones(2), "epoch": 3}, "checkpoint.pt")
    >>> torch.load("checkpoint.pt")
    {'weight': tensor([1., 1.]), 'epoch': 3}
    >>> import io
    >>> buffer = io.BytesIO()
    >>> torch.save(torch.arange(3), buffer)
    >>> _ = buffer.seek(0)
    >>> torch.load(buffer)
    tensor([0, 1, 2])
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
