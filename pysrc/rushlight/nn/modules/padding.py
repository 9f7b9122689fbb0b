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


# ---- padding with a constant, and around in a circle ----
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
    """Apply 1-D circular padding: continue signals by their other end.

    Parameters
    ----------
    padding : int or (left, right)
        How many elements to add; one number stands for all. Each is at most the size. Negative numbers cut
        off.

    Shape
    -----
    Input : (N, C, L) or (C, L)
    Output : (N, C, L_out) or (C, L_out), where ``L_out = left + L + right``

    Raises
    ------
    ValueError
        When called with an input of other dimensions.
    RuntimeError
        When called, if the padding is too wide.

    Notes
    -----
    Same as torch.nn.CircularPad1d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.CircularPad1d.html

    Examples
    --------
    >>> nn.CircularPad1d(2)(torch.tensor([[0.0, 1.0, 2.0, 3.0]]))
    tensor([[2., 3., 0., 1., 2., 3., 0., 1.]])
    """


@_own_init
class CircularPad2d(_CircularPadNd):
    """Apply 2-D circular padding: continue images by their other end.

    Parameters
    ----------
    padding : int or (left, right, top, bottom)
        How many elements to add; one number stands for all. Each is at most the size. Negative numbers cut
        off.

    Shape
    -----
    Input : (N, C, H, W) or (C, H, W)
    Output : (N, C, H_out, W_out) or (C, H_out, W_out), where ``H_out = top + H + bottom`` and
        ``W_out = left + W + right``

    Raises
    ------
    ValueError
        When called with an input of other dimensions.
    RuntimeError
        When called, if the padding is too wide.

    Notes
    -----
    Same as torch.nn.CircularPad2d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.CircularPad2d.html

    Examples
    --------
    >>> nn.CircularPad2d((1, 1, 2, 0))(torch.arange(9.0).reshape(1, 3, 3))
    tensor([[[5., 3., 4., 5., 3.],
             [8., 6., 7., 8., 6.],
             [2., 0., 1., 2., 0.],
             [5., 3., 4., 5., 3.],
             [8., 6., 7., 8., 6.]]])
    """

    _widths = staticmethod(_quadruple)


@_own_init
class CircularPad3d(_CircularPadNd):
    """Apply 3-D circular padding: continue volumes by their other end.

    Parameters
    ----------
    padding : int or (left, right, top, bottom, front, back)
        How many elements to add; one number stands for all. Each is at most the size. Negative numbers cut
        off.

    Shape
    -----
    Input : (N, C, D, H, W) or (C, D, H, W)
    Output : (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out), where ``D_out = front + D + back``,
        ``H_out = top + H + bottom`` and ``W_out = left + W + right``

    Raises
    ------
    ValueError
        When called with an input of other dimensions.
    RuntimeError
        When called, if the padding is too wide.

    Notes
    -----
    Same as torch.nn.CircularPad3d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.CircularPad3d.html

    Examples
    --------
    >>> nn.CircularPad3d((3, 3, 6, 6, 1, 0))(torch.randn(16, 3, 8, 10, 4)).shape
    torch.Size([16, 3, 9, 22, 10])
    """

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
    """Apply constant padding: put a number around the last dimension.

    Parameters
    ----------
    padding : int or (left, right)
        How many elements to add; one number stands for all. Negative numbers cut off.
    value : float
        The number.

    Shape
    -----
    Input : (*, L)
    Output : (*, L_out), where ``L_out = left + L + right``

    Raises
    ------
    RuntimeError
        When called, if nothing would be left of the input.

    Notes
    -----
    Same as torch.nn.ConstantPad1d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.ConstantPad1d.html

    Examples
    --------
    >>> nn.ConstantPad1d((3, 1), 3.5)(torch.tensor([[1.0, 2.0]]))
    tensor([[3.5000, 3.5000, 3.5000, 1.0000, 2.0000, 3.5000]])
    """


@_own_init
class ConstantPad2d(_ConstantPadNd):
    """Apply constant padding: put a number around the last two dimensions.

    Parameters
    ----------
    padding : int or (left, right, top, bottom)
        How many elements to add; one number stands for all. Negative numbers cut off.
    value : float
        The number.

    Shape
    -----
    Input : (*, H, W)
    Output : (*, H_out, W_out), where ``H_out = top + H + bottom`` and ``W_out = left + W + right``

    Raises
    ------
    RuntimeError
        When called, if nothing would be left of the input.

    Notes
    -----
    Same as torch.nn.ConstantPad2d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.ConstantPad2d.html

    Examples
    --------
    >>> nn.ConstantPad2d((1, 1, 2, 0), 1.0)(torch.arange(9.0).reshape(1, 3, 3))
    tensor([[[1., 1., 1., 1., 1.],
             [1., 1., 1., 1., 1.],
             [1., 0., 1., 2., 1.],
             [1., 3., 4., 5., 1.],
             [1., 6., 7., 8., 1.]]])
    """

    _widths = staticmethod(_quadruple)


@_own_init
class ConstantPad3d(_ConstantPadNd):
    """Apply constant padding: put a number around the last three dimensions.

    Parameters
    ----------
    padding : int or (left, right, top, bottom, front, back)
        How many elements to add; one number stands for all. Negative numbers cut off.
    value : float
        The number.

    Shape
    -----
    Input : (*, D, H, W)
    Output : (*, D_out, H_out, W_out), where ``D_out = front + D + back``, ``H_out = top + H + bottom`` and
        ``W_out = left + W + right``

    Raises
    ------
    RuntimeError
        When called, if nothing would be left of the input.

    Notes
    -----
    Same as torch.nn.ConstantPad3d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.ConstantPad3d.html

    Examples
    --------
    >>> nn.ConstantPad3d((3, 3, 6, 6, 1, 0), 1.0)(torch.randn(16, 3, 8, 10, 4)).shape
    torch.Size([16, 3, 9, 22, 10])
    """

    _widths = staticmethod(_sextuple)


class ZeroPad1d(ConstantPad1d):
    """Apply zero padding: put zeros around the last dimension.

    Parameters
    ----------
    padding : int or (left, right)
        How many elements to add; one number stands for all. Negative numbers cut off.

    Shape
    -----
    Input : (*, L)
    Output : (*, L_out), where ``L_out = left + L + right``

    Raises
    ------
    RuntimeError
        When called, if nothing would be left of the input.

    Notes
    -----
    Same as torch.nn.ZeroPad1d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.ZeroPad1d.html

    Examples
    --------
    >>> nn.ZeroPad1d((3, 1))(torch.tensor([[1.0, 2.0]]))
    tensor([[0., 0., 0., 1., 2., 0.]])
    """

    def __init__(self, padding: int | tuple[int, int]) -> None:
        super().__init__(padding, 0.0)

    extra_repr = _PadNd.extra_repr


class ZeroPad2d(ConstantPad2d):
    """Apply zero padding: put zeros around the last two dimensions.

    Parameters
    ----------
    padding : int or (left, right, top, bottom)
        How many elements to add; one number stands for all. Negative numbers cut off.

    Shape
    -----
    Input : (*, H, W)
    Output : (*, H_out, W_out), where ``H_out = top + H + bottom`` and ``W_out = left + W + right``

    Raises
    ------
    RuntimeError
        When called, if nothing would be left of the input.

    Notes
    -----
    Same as torch.nn.ZeroPad2d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.ZeroPad2d.html

    Examples
    --------
    >>> nn.ZeroPad2d((1, 1, 2, 0))(torch.arange(9.0).reshape(1, 3, 3))
    tensor([[[0., 0., 0., 0., 0.],
             [0., 0., 0., 0., 0.],
             [0., 0., 1., 2., 0.],
             [0., 3., 4., 5., 0.],
             [0., 6., 7., 8., 0.]]])
    """

    def __init__(self, padding: int | tuple[int, int, int, int]) -> None:
        super().__init__(padding, 0.0)

    extra_repr = _PadNd.extra_repr


class ZeroPad3d(ConstantPad3d):
    """Apply zero padding: put zeros around the last three dimensions.

    Parameters
    ----------
    padding : int or (left, right, top, bottom, front, back)
        How many elements to add; one number stands for all. Negative numbers cut off.

    Shape
    -----
    Input : (*, D, H, W)
    Output : (*, D_out, H_out, W_out), where ``D_out = front + D + back``, ``H_out = top + H + bottom`` and
        ``W_out = left + W + right``

    Raises
    ------
    RuntimeError
        When called, if nothing would be left of the input.

    Notes
    -----
    Same as torch.nn.ZeroPad3d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.ZeroPad3d.html

    Examples
    --------
    >>> nn.ZeroPad3d((3, 3, 6, 6, 1, 0))(torch.randn(16, 3, 8, 10, 4)).shape
    torch.Size([16, 3, 9, 22, 10])
    """

    def __init__(self, padding: int | tuple[int, int, int, int, int, int]) -> None:
        super().__init__(padding, 0.0)

    extra_repr = _PadNd.extra_repr


# ---- padding with what lies at the border: reflected or repeated ----
class _ReflectionPadNd(_PadNd):
    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "reflect")


@_own_init
class ReflectionPad1d(_ReflectionPadNd):
    """Apply 1-D reflection padding: continue signals by their mirror image.

    The border itself is not repeated.

    Parameters
    ----------
    padding : int or (left, right)
        How many elements to add; one number stands for all. Each is less than the size. Negative numbers cut
        off.

    Shape
    -----
    Input : (N, C, L) or (C, L)
    Output : (N, C, L_out) or (C, L_out), where ``L_out = left + L + right``

    Raises
    ------
    NotImplementedError
        When called with an input of other dimensions.
    RuntimeError
        When called, if the padding is too wide.

    Notes
    -----
    Same as torch.nn.ReflectionPad1d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.ReflectionPad1d.html

    Examples
    --------
    >>> nn.ReflectionPad1d(2)(torch.tensor([[0.0, 1.0, 2.0, 3.0]]))
    tensor([[2., 1., 0., 1., 2., 3., 2., 1.]])
    """


@_own_init
class ReflectionPad2d(_ReflectionPadNd):
    """Apply 2-D reflection padding: continue images by their mirror image.

    The border itself is not repeated.

    Parameters
    ----------
    padding : int or (left, right, top, bottom)
        How many elements to add; one number stands for all. Each is less than the size. Negative numbers cut
        off.

    Shape
    -----
    Input : (N, C, H, W) or (C, H, W)
    Output : (N, C, H_out, W_out) or (C, H_out, W_out), where ``H_out = top + H + bottom`` and
        ``W_out = left + W + right``

    Raises
    ------
    NotImplementedError
        When called with an input of other dimensions.
    RuntimeError
        When called, if the padding is too wide.

    Notes
    -----
    Same as torch.nn.ReflectionPad2d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.ReflectionPad2d.html

    Examples
    --------
    >>> nn.ReflectionPad2d((1, 1, 2, 0))(torch.arange(9.0).reshape(1, 3, 3))
    tensor([[[7., 6., 7., 8., 7.],
             [4., 3., 4., 5., 4.],
             [1., 0., 1., 2., 1.],
             [4., 3., 4., 5., 4.],
             [7., 6., 7., 8., 7.]]])
    """

    _widths = staticmethod(_quadruple)


@_own_init
class ReflectionPad3d(_ReflectionPadNd):
    """Apply 3-D reflection padding: continue volumes by their mirror image.

    The border itself is not repeated.

    Parameters
    ----------
    padding : int or (left, right, top, bottom, front, back)
        How many elements to add; one number stands for all. Each is less than the size. Negative numbers cut
        off.

    Shape
    -----
    Input : (N, C, D, H, W) or (C, D, H, W)
    Output : (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out), where ``D_out = front + D + back``,
        ``H_out = top + H + bottom`` and ``W_out = left + W + right``

    Raises
    ------
    NotImplementedError
        When called with an input of other dimensions.
    RuntimeError
        When called, if the padding is too wide.

    Notes
    -----
    Same as torch.nn.ReflectionPad3d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.ReflectionPad3d.html

    Examples
    --------
    >>> nn.ReflectionPad3d((3, 3, 6, 6, 1, 0))(torch.randn(16, 3, 8, 10, 4)).shape
    torch.Size([16, 3, 9, 22, 10])
    """

    _widths = staticmethod(_sextuple)


class _ReplicationPadNd(_PadNd):
    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "replicate")


@_own_init
class ReplicationPad1d(_ReplicationPadNd):
    """Apply 1-D replication padding: continue signals by their border.

    Parameters
    ----------
    padding : int or (left, right)
        How many elements to add; one number stands for all. Negative numbers cut off.

    Shape
    -----
    Input : (N, C, L) or (C, L)
    Output : (N, C, L_out) or (C, L_out), where ``L_out = left + L + right``

    Raises
    ------
    NotImplementedError
        When called with an input of other dimensions.
    RuntimeError
        When called, if nothing would be left of the input.

    Notes
    -----
    Same as torch.nn.ReplicationPad1d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.ReplicationPad1d.html

    Examples
    --------
    >>> nn.ReplicationPad1d(2)(torch.tensor([[0.0, 1.0, 2.0, 3.0]]))
    tensor([[0., 0., 0., 1., 2., 3., 3., 3.]])
    """


@_own_init
class ReplicationPad2d(_ReplicationPadNd):
    """Apply 2-D replication padding: continue images by their border.

    Parameters
    ----------
    padding : int or (left, right, top, bottom)
        How many elements to add; one number stands for all. Negative numbers cut off.

    Shape
    -----
    Input : (N, C, H, W) or (C, H, W)
    Output : (N, C, H_out, W_out) or (C, H_out, W_out), where ``H_out = top + H + bottom`` and
        ``W_out = left + W + right``

    Raises
    ------
    NotImplementedError
        When called with an input of other dimensions.
    RuntimeError
        When called, if nothing would be left of the input.

    Notes
    -----
    Same as torch.nn.ReplicationPad2d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.ReplicationPad2d.html

    Examples
    --------
    >>> nn.ReplicationPad2d((1, 1, 2, 0))(torch.arange(9.0).reshape(1, 3, 3))
    tensor([[[0., 0., 1., 2., 2.],
             [0., 0., 1., 2., 2.],
             [0., 0., 1., 2., 2.],
             [3., 3., 4., 5., 5.],
             [6., 6., 7., 8., 8.]]])
    """

    _widths = staticmethod(_quadruple)


@_own_init
class ReplicationPad3d(_ReplicationPadNd):
    """Apply 3-D replication padding: continue volumes by their border.

    Parameters
    ----------
    padding : int or (left, right, top, bottom, front, back)
        How many elements to add; one number stands for all. Negative numbers cut off.

    Shape
    -----
    Input : (N, C, D, H, W) or (C, D, H, W)
    Output : (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out), where ``D_out = front + D + back``,
        ``H_out = top + H + bottom`` and ``W_out = left + W + right``

    Raises
    ------
    NotImplementedError
        When called with an input of other dimensions.
    RuntimeError
        When called, if nothing would be left of the input.

    Notes
    -----
    Same as torch.nn.ReplicationPad3d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.ReplicationPad3d.html

    Examples
    --------
    >>> nn.ReplicationPad3d((3, 3, 6, 6, 1, 0))(torch.randn(16, 3, 8, 10, 4)).shape
    torch.Size([16, 3, 9, 22, 10])
    """

    _widths = staticmethod(_sextuple)
