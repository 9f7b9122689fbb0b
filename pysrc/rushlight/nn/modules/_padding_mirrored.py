"""Padding with what lies at the border: reflected or repeated."""

from __future__ import annotations

from rushlight.nn import functional as F

from ._padding_constant import _PadNd, _sextuple
from .utils import _own_init, _quadruple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


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
