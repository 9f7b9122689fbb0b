"""Padding."""

from __future__ import annotations

from rushlight.nn import functional as F

from .module import Module
from .utils import _ntuple, _own_init, _pair, _quadruple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]

_sextuple = _ntuple(6, "_sextuple")


class _PadNd(Module):
    """Padding by as many numbers as _widths makes of one: (left, right) of the last dimension first."""

    __constants__ = ["padding"]
    padding: tuple
    _widths = staticmethod(_pair)

    def __init__(self, padding: int | tuple[int, ...]) -> None:
        super().__init__()
        self.padding = self._widths(padding)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _CircularPadNd(_PadNd):
    def _check_input_dim(self, input) -> None:
        sides = len(self.padding) // 2
        if input.dim() not in (sides + 1, sides + 2):
            raise ValueError(f"expected {sides + 1}D or {sides + 2}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        return F.pad(input, self.padding, "circular")


@_own_init
class CircularPad1d(_CircularPadNd):
    """Goes on with the other end of (N, C, L)."""


@_own_init
class CircularPad2d(_CircularPadNd):
    """Goes on with the other end of (N, C, H, W)."""

    _widths = staticmethod(_quadruple)


@_own_init
class CircularPad3d(_CircularPadNd):
    """Goes on with the other end of (N, C, D, H, W)."""

    _widths = staticmethod(_sextuple)


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]
    value: float

    def __init__(self, padding: int | tuple[int, ...], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


@_own_init
class ConstantPad1d(_ConstantPadNd):
    """Puts a number around the last dimension."""


@_own_init
class ConstantPad2d(_ConstantPadNd):
    """Puts a number around the last two dimensions."""

    _widths = staticmethod(_quadruple)


@_own_init
class ConstantPad3d(_ConstantPadNd):
    """Puts a number around the last three dimensions."""

    _widths = staticmethod(_sextuple)


class ZeroPad1d(ConstantPad1d):
    """Puts zeros around the last dimension."""

    def __init__(self, padding: int | tuple[int, int]) -> None:
        super().__init__(padding, 0.0)

    extra_repr = _PadNd.extra_repr


class ZeroPad2d(ConstantPad2d):
    """Puts zeros around the last two dimensions."""

    def __init__(self, padding: int | tuple[int, int, int, int]) -> None:
        super().__init__(padding, 0.0)

    extra_repr = _PadNd.extra_repr


class ZeroPad3d(ConstantPad3d):
    """Puts zeros around the last three dimensions."""

    def __init__(self, padding: int | tuple[int, int, int, int, int, int]) -> None:
        super().__init__(padding, 0.0)

    extra_repr = _PadNd.extra_repr


class _ReflectionPadNd(_PadNd):
    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "reflect")


@_own_init
class ReflectionPad1d(_ReflectionPadNd):
    """Mirrors (N, C, L) at its ends."""


@_own_init
class ReflectionPad2d(_ReflectionPadNd):
    """Mirrors (N, C, H, W) at its borders."""

    _widths = staticmethod(_quadruple)


@_own_init
class ReflectionPad3d(_ReflectionPadNd):
    """Mirrors (N, C, D, H, W) at its borders."""

    _widths = staticmethod(_sextuple)


class _ReplicationPadNd(_PadNd):
    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "replicate")


@_own_init
class ReplicationPad1d(_ReplicationPadNd):
    """Repeats the ends of (N, C, L)."""


@_own_init
class ReplicationPad2d(_ReplicationPadNd):
    """Repeats the border of (N, C, H, W)."""

    _widths = staticmethod(_quadruple)


@_own_init
class ReplicationPad3d(_ReplicationPadNd):
    """Repeats the border of (N, C, D, H, W)."""

    _widths = staticmethod(_sextuple)
