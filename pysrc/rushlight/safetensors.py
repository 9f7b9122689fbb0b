"""Files of the safetensors format by the names of ``safetensors`` and ``safetensors.torch``.

``rushlight.load("model.safetensors")`` and ``rushlight.save`` read and write the same files; here are
metadata, bytes, models, and access tensor by tensor. The safetensors package is not needed.
"""

from __future__ import annotations

import os
import stat

from ._files import safe
from ._files.safe import SafetensorError
from ._files.writer import parts_writer, write_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Literal

    from rushlight import Tensor
    from rushlight import device as _Device
    from rushlight.nn import Module

__all__ = [
    "SafetensorError",
    "load",
    "load_file",
    "load_model",
    "safe_open",
    "save",
    "save_file",
    "save_model",
]


def _read_path(filename, device, backend):
    if backend not in ("mmap", "pread"):
        raise SafetensorError(f'backend "{backend}" is invalid (expected one of: "mmap", "pread")')
    name = os.fsdecode(filename).encode("utf-8", "replace").decode()
    with open(filename, "rb", buffering=0) as file:
        status = os.fstat(file.fileno())
        plain = stat.S_ISREG(status.st_mode)
        place = (file.fileno(), 0, status.st_size, name) if plain else (file.read(), 0, 0, name)
        return safe.read(place, device, None if backend == "mmap" else False)


def load_file(
    filename: str | os.PathLike[str],
    device: str | int | _Device = "cpu",
    *,
    backend: Literal["mmap", "pread"] = "mmap",
) -> dict[str, Tensor]:
    """Load the tensors of a safetensors file as a dict, by name.

    Parameters
    ----------
    filename : str or os.PathLike
        The file.
    device : str, int or torch.device, default: "cpu"
        Where the tensors go.
    backend : {"mmap", "pread"}, default: "mmap"
        "mmap" maps a file of 64 MB or more privately: nothing is read before it is used, tensors may be
        written to, and the file stays as it is. While they live no other program may truncate it, which ends
        the process, or write to it, which changes them. Smaller files are read at once; with "pread" all are.

    Raises
    ------
    SafetensorError
        The file is damaged, or cut off.

    Examples
    --------
    >>> import os, tempfile
    >>> from rushlight.safetensors import load_file, save_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     save_file({"weight": torch.ones(2, 3)}, path)
    ...     load_file(path)["weight"].shape
    torch.Size([2, 3])
    """
    return _read_path(filename, device, backend)[0]


def load(data: bytes | bytearray | memoryview) -> dict[str, Tensor]:
    """Load the tensors of a safetensors file from its bytes.

    Parameters
    ----------
    data : bytes
        What such a file holds; any object with a buffer will do.

    Raises
    ------
    SafetensorError
        The bytes are damaged, or cut off.

    Examples
    --------
    >>> from rushlight.safetensors import load, save
    >>> load(save({"bias": torch.zeros(2)}))
    {'bias': tensor([0., 0.])}
    """
    return safe.read((data, 0, 0, f"<{type(data).__name__}>"))[0]


def _parts(tensors, metadata):
    for key, value in (metadata or {}).items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"metadata are texts by texts, but got {key!r}: {value!r}")
    return safe.parts(tensors, metadata, force_contiguous=False)


def save_file(
    tensors: dict[str, Tensor],
    filename: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Save a dict of tensors as a safetensors file.

    The file appears under its name when it is complete and on the disk; until then an old one stays.

    Parameters
    ----------
    tensors : dict of str to Tensor
        Contiguous tensors that do not share memory.
    filename : str or os.PathLike
        The file.
    metadata : dict of str to str, optional
        Texts to keep with them; ``safe_open(...).metadata()`` reads them.

    Raises
    ------
    ValueError
        A value is no tensor, not contiguous, or of a dtype that the format does not have.
    RuntimeError
        Tensors share memory: see `save_model`.

    Examples
    --------
    >>> import os, tempfile
    >>> from rushlight.safetensors import safe_open, save_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     save_file({"weight": torch.ones(2, 3)}, path, metadata={"format": "pt"})
    ...     with safe_open(path, framework="pt") as file:
    ...         file.metadata()
    {'format': 'pt'}
    """
    write_path(os.fspath(filename), parts_writer(_parts(tensors, metadata)))


def save(tensors: dict[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """Save a dict of tensors as the bytes of a safetensors file.

    Parameters and errors are those of `save_file`.

    Examples
    --------
    >>> from rushlight.safetensors import save
    >>> len(save({"bias": torch.zeros(2)}))
    80
    """
    return b"".join(_parts(tensors, metadata))


# ---- models ----


def _is_whole(tensor):
    return tensor.numel() * tensor.itemsize == tensor.untyped_storage().nbytes()


def _repeated(state, preferred=()):
    """Of tensors that share memory one name is kept: the others, by it."""
    repeated = {}
    for names in safe.shared(state):
        whole = [name for name in names if _is_whole(state[name])]
        if not whole:
            raise RuntimeError(
                f"the tensors {names} share memory, and none of them is all of it: nothing can be kept for "
                "the others. Save the state_dict() as .pth, or clone() them"
            )
        kept = min([name for name in whole if name in preferred] or whole)
        repeated[kept] = [name for name in names if name != kept]
    return repeated


def save_model(
    model: Module,
    filename: str | os.PathLike[str],
    metadata: Mapping[str, str] | None = None,
    force_contiguous: bool = True,
) -> None:
    """Save the state of a module as a safetensors file, tied parameters once.

    Parameters
    ----------
    model : nn.Module
        Its ``state_dict()`` is saved.
    filename : str or os.PathLike
        The file.
    metadata : dict of str to str, optional
        As in `save_file`; for each name that is left out, the name is added that stands for it.
    force_contiguous : bool, default: True
        Save tensors that are not contiguous as contiguous ones.

    Raises
    ------
    RuntimeError
        Tensors share memory, and none of them covers it.

    Examples
    --------
    >>> import os, tempfile
    >>> from rushlight.safetensors import load_model, save_model
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     save_model(nn.Linear(2, 3), path)
    ...     load_model(nn.Linear(2, 3), path)
    (set(), [])
    """
    state = dict(model.state_dict())
    for kept, others in _repeated(state).items():
        for name in others:
            metadata = {name: kept, **(metadata or {})}
            del state[name]
    if force_contiguous:
        state = {name: tensor.contiguous() for name, tensor in state.items()}
    save_file(state, filename, metadata)


def load_model(
    model: Module,
    filename: str | os.PathLike[str],
    strict: bool = True,
    device: str | int | _Device = "cpu",
    *,
    backend: Literal["mmap", "pread"] = "mmap",
) -> tuple[set[str], list[str]]:
    """Load a file of `save_model` into a module.

    Parameters
    ----------
    model : nn.Module
        Its parameters and buffers get the values of the file.
    filename : str or os.PathLike
        The file.
    strict : bool, default: True
        Whether names that only one of the two has are an error.
    device, backend
        As in `load_file`.

    Returns
    -------
    tuple of (set of str, list of str)
        Names that the file lacks, and names that the model lacks.

    Raises
    ------
    RuntimeError
        With `strict`, the names differ.

    Examples
    --------
    >>> import os, tempfile
    >>> from rushlight.safetensors import load_model, save_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     save_file({"weight": torch.ones(1, 2), "extra": torch.zeros(1)}, path)
    ...     load_model(nn.Linear(2, 1), path, strict=False)
    ({'bias'}, ['extra'])
    """
    tensors = load_file(filename, device, backend=backend)
    repeated = _repeated(model.state_dict(), tensors)
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    missing = set(missing)
    for name in (name for names in repeated.values() for name in names):
        if name in missing:
            missing.remove(name)
        else:
            unexpected.append(name)
    if strict and (missing or unexpected):
        lines = [f"Error(s) in loading state_dict for {type(model).__name__}:"]
        for title, names in (("Missing", missing), ("Unexpected", unexpected)):
            if names:
                listed = ", ".join(f'"{name}"' for name in sorted(names))
                lines.append(f"{title} key(s) in state_dict: {listed}")
        raise RuntimeError("\n    ".join(lines))
    return missing, unexpected


# ---- tensor by tensor ----


class _Slice:
    """A tensor of a file that is asked for in parts."""

    def __init__(self, tensor, device):
        self._tensor, self._device = tensor, device

    def get_shape(self) -> list[int]:
        """The shape of the whole tensor, as a list."""
        return safe.shape_of(self._tensor)

    def get_dtype(self) -> str:
        """The dtype by the format's name, such as "F32"."""
        return safe.code_of(self._tensor)

    def __getitem__(self, index: Any) -> Tensor:
        return self._tensor[index].to(self._device)


class safe_open:
    """Open a safetensors file and take its tensors one by one.

    Parameters
    ----------
    filename : str or os.PathLike
        The file. One of 64 MB or more is mapped: only tensors that are looked at are read.
    framework : str
        "pt" (or "torch").
    device : str, int or torch.device, default: "cpu"
        Where tensors go when they are asked for.
    backend : {"mmap", "pread"}, default: "mmap"
        As in `load_file`.

    Raises
    ------
    SafetensorError
        The file is damaged, has no such tensor, or is closed.

    Examples
    --------
    >>> import os, tempfile
    >>> from rushlight.safetensors import safe_open, save_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.safetensors")
    ...     save_file({"weight": torch.ones(4, 3)}, path)
    ...     with safe_open(path, framework="pt") as file:
    ...         file.keys(), file.get_slice("weight")[:2].shape
    (['weight'], torch.Size([2, 3]))
    """

    def __init__(
        self,
        filename: str | os.PathLike[str],
        framework: str,
        device: str | int | _Device = "cpu",
        *,
        backend: Literal["mmap", "pread"] = "mmap",
    ) -> None:
        if framework not in ("pt", "torch", "pytorch"):
            raise SafetensorError(f'framework {framework} is invalid: rushlight opens files with "pt"')
        self._tensors, self._metadata = _read_path(filename, "cpu", backend)
        self._device = device

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, _exc_type: object, _exc_value: object, _traceback: object) -> None:
        self._tensors = None

    def _open(self):
        if self._tensors is None:
            raise SafetensorError("File is closed")
        return self._tensors

    def _find(self, name):
        try:
            return self._open()[name]
        except KeyError:
            raise SafetensorError(f"File does not contain tensor {name}") from None

    def keys(self) -> list[str]:
        """The names of the tensors, sorted."""
        return sorted(self._open())

    def offset_keys(self) -> list[str]:
        """The names of the tensors in the order of their bytes."""
        return list(self._open())

    def metadata(self) -> dict[str, str] | None:
        """The texts that were saved with the tensors, or None."""
        self._open()
        return self._metadata

    def get_tensor(self, name: str) -> Tensor:
        """The tensor of a name."""
        return self._find(name).to(self._device)

    def get_tensors(self) -> dict[str, Tensor]:
        """All tensors by name, in the order of their bytes."""
        return {name: tensor.to(self._device) for name, tensor in self._open().items()}

    def get_slice(self, name: str) -> _Slice:
        """The tensor of a name, to be indexed: only what the index takes goes to the device."""
        return _Slice(self._find(name), self._device)
