"""Average and power-average pooling."""

from __future__ import annotations

from rushlight.nn import functional as F

from .module import Module
from .utils import _own_init, _single

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor


class _AvgPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "ceil_mode", "count_include_pad"]

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """Apply 1-D average pooling over signals with several channels.

    The output is the mean of each window.

    Parameters
    ----------
    kernel_size : int or tuple of 1 int
        Length of the window.
    stride : int or tuple of 1 int, optional
        Step of the window; `kernel_size` if not given.
    padding : int or tuple of 1 int, default 0
        Zeros added to each side; at most half the window.
    ceil_mode : bool, default False
        Round the size of the output up: windows may then reach over the end.
    count_include_pad : bool, default True
        Count the zeros of the padding in the mean.

    Shape
    -----
    Input : (N, C, L_in) or (C, L_in)
    Output : (N, C, L_out) or (C, L_out), where
        ``L_out = floor((L_in + 2 * padding - kernel_size) / stride + 1)``

    Raises
    ------
    RuntimeError
        When called, if the input has other dimensions, `padding` is more than half the window, a window does
        not fit.

    Notes
    -----
    Same as torch.nn.AvgPool1d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.AvgPool1d.html

    Examples
    --------
    >>> nn.AvgPool1d(3, stride=2)(torch.tensor([[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]]]))
    tensor([[[2., 4., 6.]]])
    """

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(kernel_size if stride is None else stride)
        self.padding = _single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad
        )


class _AvgPoolOverride(_AvgPoolNd):
    """What AvgPool2d and AvgPool3d share: they can divide by a number of one's own."""

    __constants__ = [*_AvgPoolNd.__constants__, "divisor_override"]

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Any = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def _pool(self, function, input):
        return function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def __setstate__(self, state) -> None:
        super().__setstate__(state)
        for name, value in (("padding", 0), ("ceil_mode", False), ("count_include_pad", True)):
            self.__dict__.setdefault(name, value)


@_own_init
class AvgPool2d(_AvgPoolOverride):
    """Apply 2-D average pooling over images with several channels.

    The output is the mean of each window.

    Parameters
    ----------
    kernel_size : int or tuple of 2 ints
        Height and width of the window; one number stands for both, here and below.
    stride : int or tuple of 2 ints, optional
        Step of the window; `kernel_size` if not given.
    padding : int or tuple of 2 ints, default 0
        Zeros added to each side; at most half the window.
    ceil_mode : bool, default False
        Round the size of the output up: windows may then reach over the end.
    count_include_pad : bool, default True
        Count the zeros of the padding in the mean.
    divisor_override : int, optional
        Divide the sum of each window by this number; not 0.

    Shape
    -----
    Input : (N, C, H_in, W_in) or (C, H_in, W_in)
    Output : (N, C, H_out, W_out) or (C, H_out, W_out), where
        ``H_out = floor((H_in + 2 * padding[0] - kernel_size[0]) / stride[0] + 1)``
        and likewise ``W_out`` with index 1

    Raises
    ------
    RuntimeError
        When called, if the input has other dimensions, `padding` is more than half the window, a window does
        not fit, or `divisor_override` is 0.

    Notes
    -----
    Same as torch.nn.AvgPool2d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.AvgPool2d.html

    Examples
    --------
    >>> x = torch.arange(16.0).reshape(1, 1, 4, 4)
    >>> nn.AvgPool2d(2)(x)
    tensor([[[[ 2.5000,  4.5000],
              [10.5000, 12.5000]]]])
    >>> nn.AvgPool2d((3, 2), stride=(2, 1))(torch.randn(20, 16, 50, 32)).shape
    torch.Size([20, 16, 24, 31])
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.avg_pool2d, input)


@_own_init
class AvgPool3d(_AvgPoolOverride):
    """Apply 3-D average pooling over volumes with several channels.

    The output is the mean of each window.

    Parameters
    ----------
    kernel_size : int or tuple of 3 ints
        Depth, height and width of the window; one number stands for all three, here and below.
    stride : int or tuple of 3 ints, optional
        Step of the window; `kernel_size` if not given.
    padding : int or tuple of 3 ints, default 0
        Zeros added to each side; at most half the window.
    ceil_mode : bool, default False
        Round the size of the output up: windows may then reach over the end.
    count_include_pad : bool, default True
        Count the zeros of the padding in the mean.
    divisor_override : int, optional
        Divide the sum of each window by this number; not 0.

    Shape
    -----
    Input : (N, C, D_in, H_in, W_in) or (C, D_in, H_in, W_in)
    Output : (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out), where
        ``D_out = floor((D_in + 2 * padding[0] - kernel_size[0]) / stride[0] + 1)``
        and likewise ``H_out`` and ``W_out`` with indices 1 and 2

    Raises
    ------
    RuntimeError
        When called, if the input has other dimensions, `padding` is more than half the window, a window does
        not fit, or `divisor_override` is 0.

    Notes
    -----
    Same as torch.nn.AvgPool3d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.AvgPool3d.html

    Examples
    --------
    >>> nn.AvgPool3d((3, 2, 2), stride=(2, 1, 2))(torch.randn(20, 4, 10, 8, 8)).shape
    torch.Size([20, 4, 4, 7, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.avg_pool3d, input)


class _LPPoolNd(Module):
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]
    norm_type: float
    ceil_mode: bool

    def __init__(
        self,
        norm_type: float,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def _pool(self, function, input):
        return function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """Apply 1-D power-average (p-norm) pooling over signals with several channels.

    The output is ``sum(x ** p) ** (1 / p)`` of each window: with ``p = 1`` its sum, for large p nearly max
    pooling.

    Parameters
    ----------
    norm_type : float
        p; not 0.
    kernel_size : int or tuple of 1 int
        Length of the window.
    stride : int or tuple of 1 int, optional
        Step of the window; `kernel_size` if not given.
    ceil_mode : bool, default False
        Round the size of the output up: windows may then reach over the end.

    Shape
    -----
    Input : (N, C, L_in) or (C, L_in)
    Output : (N, C, L_out) or (C, L_out), where
        ``L_out = floor((L_in - kernel_size) / stride + 1)``

    Raises
    ------
    RuntimeError
        When called, if the input has other dimensions, or a window does not fit.

    Notes
    -----
    Same as torch.nn.LPPool1d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.LPPool1d.html

    Examples
    --------
    >>> nn.LPPool1d(2, 2)(torch.tensor([[[3.0, 4.0, 6.0, 8.0]]]))
    tensor([[[ 5., 10.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.lp_pool1d, input)


class LPPool2d(_LPPoolNd):
    """Apply 2-D power-average (p-norm) pooling over images with several channels.

    The output is ``sum(x ** p) ** (1 / p)`` of each window: with ``p = 1`` its sum, for large p nearly max
    pooling.

    Parameters
    ----------
    norm_type : float
        p; not 0.
    kernel_size : int or tuple of 2 ints
        Height and width of the window; one number stands for both, here and below.
    stride : int or tuple of 2 ints, optional
        Step of the window; `kernel_size` if not given.
    ceil_mode : bool, default False
        Round the size of the output up: windows may then reach over the end.

    Shape
    -----
    Input : (N, C, H_in, W_in) or (C, H_in, W_in)
    Output : (N, C, H_out, W_out) or (C, H_out, W_out), where
        ``H_out = floor((H_in - kernel_size[0]) / stride[0] + 1)``
        and likewise ``W_out`` with index 1

    Raises
    ------
    RuntimeError
        When called, if the input has other dimensions, or a window does not fit.

    Notes
    -----
    Same as torch.nn.LPPool2d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.LPPool2d.html

    Examples
    --------
    >>> nn.LPPool2d(2, (3, 2), stride=(2, 1))(torch.randn(20, 16, 50, 32)).shape
    torch.Size([20, 16, 24, 31])
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.lp_pool2d, input)


class LPPool3d(_LPPoolNd):
    """Apply 3-D power-average (p-norm) pooling over volumes with several channels.

    The output is ``sum(x ** p) ** (1 / p)`` of each window: with ``p = 1`` its sum, for large p nearly max
    pooling.

    Parameters
    ----------
    norm_type : float
        p; not 0.
    kernel_size : int or tuple of 3 ints
        Depth, height and width of the window; one number stands for all three, here and below.
    stride : int or tuple of 3 ints, optional
        Step of the window; `kernel_size` if not given.
    ceil_mode : bool, default False
        Round the size of the output up: windows may then reach over the end.

    Shape
    -----
    Input : (N, C, D_in, H_in, W_in) or (C, D_in, H_in, W_in)
    Output : (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out), where
        ``D_out = floor((D_in - kernel_size[0]) / stride[0] + 1)``
        and likewise ``H_out`` and ``W_out`` with indices 1 and 2

    Raises
    ------
    RuntimeError
        When called, if the input has other dimensions, or a window does not fit.

    Notes
    -----
    Same as torch.nn.LPPool3d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.LPPool3d.html

    Examples
    --------
    >>> nn.LPPool3d(1.2, (3, 2, 2), stride=(2, 1, 2))(torch.rand(20, 4, 10, 8, 8)).shape
    torch.Size([20, 4, 4, 7, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.lp_pool3d, input)
