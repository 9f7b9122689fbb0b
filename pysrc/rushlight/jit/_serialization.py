"""TorchScript archives, which hold code: they are neither read nor written."""

from __future__ import annotations

from rushlight import _missing

from ._state import deprecated

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


def _refuse_writing() -> NoReturn:
    raise _missing.refuse("jit.save: save m.state_dict() with torch.save instead")


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Raise NotImplementedError: TorchScript archives cannot be written.

    Raises
    ------
    AttributeError
        If `m` is no ScriptModule and no ScriptFunction.
    NotImplementedError
        Otherwise.
    """
    deprecated("save", "Please switch to `torch.export`.")
    m.save(f, _extra_files=_extra_files)


def load(f: Any, map_location: Any = None, _extra_files: Any = None, _restore_shapes: bool = False) -> Any:
    """Raise NotImplementedError: TorchScript archives cannot be read.

    Raises
    ------
    ValueError
        If there is no such file.
    NotImplementedError
        Otherwise.
    """
    import os

    deprecated("load", "Please switch to `torch.export`.")
    if isinstance(f, (str, os.PathLike)):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {f} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {f} is a directory")
    elif not hasattr(f, "read"):
        raise AttributeError(f"'{type(f).__name__}' object has no attribute 'read'")
    raise _missing.refuse("jit.load: load a state_dict with torch.load instead")


def jit_module_from_flatbuffer(f: Any) -> Any:
    """Raise NotImplementedError: such files cannot be read."""
    raise _missing.refuse("jit.jit_module_from_flatbuffer")


def save_jit_module_to_flatbuffer(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Raise NotImplementedError: such files cannot be written."""
    raise _missing.refuse("jit.save_jit_module_to_flatbuffer")
