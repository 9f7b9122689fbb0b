"""Types for annotations."""

import builtins
import os
from typing import IO, Any, TypeAlias

from . import _C, _missing

Tensor = _C.Tensor
Size = _C.Size
Number: TypeAlias = builtins.int | builtins.float | builtins.bool
Device: TypeAlias = _C.device | str | builtins.int | None
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
IntLikeType: TypeAlias = builtins.int
FloatLikeType: TypeAlias = builtins.float
BoolLikeType: TypeAlias = builtins.bool
Storage: TypeAlias = Any

# names that annotations of others' code use
_Number = (builtins.int, builtins.float, builtins.bool)
_dtype = _C.dtype
_size: TypeAlias = Size | list[builtins.int] | tuple[builtins.int, ...]

__all__ = ["Device", "FileLike", "Number", "Size", "Storage", "Tensor"]
__all__ += ["BoolLikeType", "FloatLikeType", "IntLikeType"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)
