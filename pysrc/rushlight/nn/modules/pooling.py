"""Pooling."""

from __future__ import annotations

from rushlight.nn import functional as F

from .module import Module
from .utils import _own_init, _pair, _single, _triple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


# ---- max pooling, and its inverse ----
class _MaxPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]
    return_indices: bool
    ceil_mode: bool

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
        dilation: int | tuple[int, ...] = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def _pool(self, function, input):
        return function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.ceil_mode,
            self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
            f", dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """Apply 1-D max pooling over signals with several channels.

    The output is the largest element of each window.

    Parameters
    ----------
    kernel_size : int or tuple of 1 int
        Length of the window.
    stride : int or tuple of 1 int, optional
        Step of the window; `kernel_size` if not given.
    padding : int or tuple of 1 int, default 0
        Elements of ``-inf`` added to each side; at most half the window.
    dilation : int or tuple of 1 int, default 1
        Distance between the elements of the window.
    return_indices : bool, default False
        Also return where the largest elements stand: flat indices into the signal, which `MaxUnpool1d` takes.
    ceil_mode : bool, default False
        Round the size of the output up: windows may then reach over the end.

    Shape
    -----
    Input : (N, C, L_in) or (C, L_in)
    Output : (N, C, L_out) or (C, L_out), where
        ``L_out = floor((L_in + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1)``

    Raises
    ------
    RuntimeError
        When called, if the input has other dimensions, `padding` is more than half the window, or a window
        does not fit.

    Notes
    -----
    Same as torch.nn.MaxPool1d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.MaxPool1d.html

    Examples
    --------
    >>> layer = nn.MaxPool1d(2, return_indices=True)
    >>> layer(torch.tensor([[1.0, 3.0, 2.0, 0.0, 5.0]]))
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.max_pool1d, input)


class MaxPool2d(_MaxPoolNd):
    """Apply 2-D max pooling over images with several channels.

    The output is the largest element of each window.

    Parameters
    ----------
    kernel_size : int or tuple of 2 ints
        Height and width of the window; one number stands for both, here and below.
    stride : int or tuple of 2 ints, optional
        Step of the window; `kernel_size` if not given.
    padding : int or tuple of 2 ints, default 0
        Elements of ``-inf`` added to each side; at most half the window.
    dilation : int or tuple of 2 ints, default 1
        Distance between the elements of the window.
    return_indices : bool, default False
        Also return where the largest elements stand: flat indices into the image, which `MaxUnpool2d` takes.
    ceil_mode : bool, default False
        Round the size of the output up: windows may then reach over the end.

    Shape
    -----
    Input : (N, C, H_in, W_in) or (C, H_in, W_in)
    Output : (N, C, H_out, W_out) or (C, H_out, W_out), where
        ``H_out = floor((H_in + 2 * padding[0] - dilation[0] * (kernel_size[0] - 1) - 1) / stride[0] + 1)``
        and likewise ``W_out`` with index 1

    Raises
    ------
    RuntimeError
        When called, if the input has other dimensions, `padding` is more than half the window, or a window
        does not fit.

    Notes
    -----
    Same as torch.nn.MaxPool2d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.MaxPool2d.html

    Examples
    --------
    >>> x = torch.arange(16.0).reshape(1, 1, 4, 4)
    >>> nn.MaxPool2d(2)(x)
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    >>> nn.MaxPool2d((3, 2), stride=(2, 1))(torch.randn(20, 16, 50, 32)).shape
    torch.Size([20, 16, 24, 31])
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.max_pool2d, input)


class MaxPool3d(_MaxPoolNd):
    """Apply 3-D max pooling over volumes with several channels.

    The output is the largest element of each window.

    Parameters
    ----------
    kernel_size : int or tuple of 3 ints
        Depth, height and width of the window; one number stands for all three, here and below.
    stride : int or tuple of 3 ints, optional
        Step of the window; `kernel_size` if not given.
    padding : int or tuple of 3 ints, default 0
        Elements of ``-inf`` added to each side; at most half the window.
    dilation : int or tuple of 3 ints, default 1
        Distance between the elements of the window.
    return_indices : bool, default False
        Also return where the largest elements stand: flat indices into the volume, which `MaxUnpool3d` takes.
    ceil_mode : bool, default False
        Round the size of the output up: windows may then reach over the end.

    Shape
    -----
    Input : (N, C, D_in, H_in, W_in) or (C, D_in, H_in, W_in)
    Output : (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out), where
        ``D_out = floor((D_in + 2 * padding[0] - dilation[0] * (kernel_size[0] - 1) - 1) / stride[0] + 1)``
        and likewise ``H_out`` and ``W_out`` with indices 1 and 2

    Raises
    ------
    RuntimeError
        When called, if the input has other dimensions, `padding` is more than half the window, or a window
        does not fit.

    Notes
    -----
    Same as torch.nn.MaxPool3d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.MaxPool3d.html

    Examples
    --------
    >>> nn.MaxPool3d((3, 2, 2), stride=(2, 1, 2))(torch.randn(20, 4, 10, 8, 8)).shape
    torch.Size([20, 4, 4, 7, 4])
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.max_pool3d, input)


class _MaxUnpoolNd(Module):
    _sides = staticmethod(_single)  # a number to one for each dimension

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] | None = None,
        padding: int | tuple[int, ...] = 0,
    ) -> None:
        super().__init__()
        self.kernel_size = self._sides(kernel_size)
        self.stride = self._sides(kernel_size if stride is None else stride)
        self.padding = self._sides(padding)

    def _unpool(self, function, input, indices, output_size):
        return function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


@_own_init
class MaxUnpool1d(_MaxUnpoolNd):
    """Apply 1-D max unpooling: undo `MaxPool1d` as far as it can be undone.

    It takes the two results of `MaxPool1d` with ``return_indices=True`` and puts elements back where they
    were found, among zeros. Several input sizes pool to one size: ``layer(input, indices, output_size=...)``
    names the one that is meant.

    Parameters
    ----------
    kernel_size : int or tuple of 1 int
        Length of the window.
    stride : int or tuple of 1 int, optional
        Step of the window; `kernel_size` if not given.
    padding : int or tuple of 1 int, default 0
        Padding that the pooling had.

    Shape
    -----
    Input : (N, C, L_in) or (C, L_in)
    Indices : shape of the input, int64
    Output : (N, C, L_out) or (C, L_out), where
        ``L_out = (L_in - 1) * stride - 2 * padding + kernel_size``, unless `output_size` is given

    Raises
    ------
    ValueError
        When called, if `output_size` cannot be reached.
    RuntimeError
        When called, if the shapes of input and indices differ, or an index lies outside the output.

    Notes
    -----
    Same as torch.nn.MaxUnpool1d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.MaxUnpool1d.html

    Examples
    --------
    >>> pool = nn.MaxPool1d(2, stride=2, return_indices=True)
    >>> unpool = nn.MaxUnpool1d(2, stride=2)
    >>> unpool(*pool(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]])))
    tensor([[[0., 3., 2., 0.]]])
    """

    def forward(
        self, input: Tensor, indices: Tensor, output_size: int | tuple[int | None, ...] | None = None
    ) -> Tensor:
        return self._unpool(F.max_unpool1d, input, indices, output_size)


@_own_init
class MaxUnpool2d(_MaxUnpoolNd):
    """Apply 2-D max unpooling: undo `MaxPool2d` as far as it can be undone.

    It takes the two results of `MaxPool2d` with ``return_indices=True`` and puts elements back where they
    were found, among zeros. Several input sizes pool to one size: ``layer(input, indices, output_size=...)``
    names the one that is meant.

    Parameters
    ----------
    kernel_size : int or tuple of 2 ints
        Height and width of the window; one number stands for both, here and below.
    stride : int or tuple of 2 ints, optional
        Step of the window; `kernel_size` if not given.
    padding : int or tuple of 2 ints, default 0
        Padding that the pooling had.

    Shape
    -----
    Input : (N, C, H_in, W_in) or (C, H_in, W_in)
    Indices : shape of the input, int64
    Output : (N, C, H_out, W_out) or (C, H_out, W_out), where
        ``H_out = (H_in - 1) * stride[0] - 2 * padding[0] + kernel_size[0]``
        and likewise ``W_out`` with index 1, unless `output_size` is given

    Raises
    ------
    ValueError
        When called, if `output_size` cannot be reached.
    RuntimeError
        When called, if the shapes of input and indices differ, or an index lies outside the output.

    Notes
    -----
    Same as torch.nn.MaxUnpool2d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.MaxUnpool2d.html

    Examples
    --------
    >>> pool = nn.MaxPool2d(2, stride=2, return_indices=True)
    >>> unpool = nn.MaxUnpool2d(2, stride=2)
    >>> output, indices = pool(torch.arange(16.0).reshape(1, 1, 4, 4))
    >>> unpool(output, indices)
    tensor([[[[ 0.,  0.,  0.,  0.],
              [ 0.,  5.,  0.,  7.],
              [ 0.,  0.,  0.,  0.],
              [ 0., 13.,  0., 15.]]]])
    >>> unpool(output, indices, output_size=(1, 1, 5, 5)).shape
    torch.Size([1, 1, 5, 5])
    """

    _sides = staticmethod(_pair)

    def forward(
        self, input: Tensor, indices: Tensor, output_size: int | tuple[int | None, ...] | None = None
    ) -> Tensor:
        return self._unpool(F.max_unpool2d, input, indices, output_size)


@_own_init
class MaxUnpool3d(_MaxUnpoolNd):
    """Apply 3-D max unpooling: undo `MaxPool3d` as far as it can be undone.

    It takes the two results of `MaxPool3d` with ``return_indices=True`` and puts elements back where they
    were found, among zeros. Several input sizes pool to one size: ``layer(input, indices, output_size=...)``
    names the one that is meant.

    Parameters
    ----------
    kernel_size : int or tuple of 3 ints
        Depth, height and width of the window; one number stands for all three, here and below.
    stride : int or tuple of 3 ints, optional
        Step of the window; `kernel_size` if not given.
    padding : int or tuple of 3 ints, default 0
        Padding that the pooling had.

    Shape
    -----
    Input : (N, C, D_in, H_in, W_in) or (C, D_in, H_in, W_in)
    Indices : shape of the input, int64
    Output : (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out), where
        ``D_out = (D_in - 1) * stride[0] - 2 * padding[0] + kernel_size[0]``
        and likewise ``H_out`` and ``W_out`` with indices 1 and 2, unless `output_size` is given

    Raises
    ------
    ValueError
        When called, if `output_size` cannot be reached.
    RuntimeError
        When called, if the shapes of input and indices differ, or an index lies outside the output.

    Notes
    -----
    Same as torch.nn.MaxUnpool3d: https://docs.pytorch.org/docs/2.13/generated/torch.nn.MaxUnpool3d.html

    Examples
    --------
    >>> pool = nn.MaxPool3d(3, stride=2, return_indices=True)
    >>> unpool = nn.MaxUnpool3d(3, stride=2)
    >>> unpool(*pool(torch.randn(2, 4, 9, 9, 9))).shape
    torch.Size([2, 4, 9, 9, 9])
    """

    _sides = staticmethod(_triple)

    def forward(
        self, input: Tensor, indices: Tensor, output_size: int | tuple[int | None, ...] | None = None
    ) -> Tensor:
        return self._unpool(F.max_unpool3d, input, indices, output_size)


# ---- average and power-average pooling ----
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


# ---- pooling to a size that is given: adaptive and fractional ----
class _FractionalMaxPoolNd(Module):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    return_indices: bool
    _sides = staticmethod(_pair)

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        output_size: int | tuple[int | None, ...] | None = None,
        output_ratio: float | tuple[float, ...] | None = None,
        return_indices: bool = False,
        _random_samples: Any = None,
    ) -> None:
        super().__init__()
        self._check_kernel(kernel_size)
        self.kernel_size = self._sides(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else self._sides(output_size)
        self.output_ratio = None if output_ratio is None else self._sides(output_ratio)
        if output_size is None and output_ratio is None:
            name = type(self).__name__
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def _check_kernel(self, kernel_size) -> None:
        """FractionalMaxPool3d alone looks at it."""

    def _pool(self, function, input):
        return function(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


@_own_init
class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Apply 2-D fractional max pooling over images with several channels.

    The output is the largest element of each of several windows at random places. The steps between the
    windows are drawn so that they give an output of the size that is asked for, one sequence for each image
    and channel.

    Parameters
    ----------
    kernel_size : int or tuple of 2 ints
        Height and width of the window; one number stands for both, here and below.
    output_size : int or tuple of 2 ints, optional
        Size of the output.
    output_ratio : float or tuple of 2 floats, optional
        Size of the output as a part of the size of the input, between 0 and 1. This or `output_size` is
        given.
    return_indices : bool, default False
        Also return where the largest elements stand: flat indices, which `MaxUnpool2d` takes.

    Shape
    -----
    Input : (N, C, H_in, W_in) or (C, H_in, W_in)
    Output : (N, C, H_out, W_out) or (C, H_out, W_out), of `output_size`, or ``floor(in * output_ratio)``

    Raises
    ------
    ValueError
        If both or none of `output_size` and `output_ratio` are given, or a ratio is not between 0 and 1.
    RuntimeError
        When called, if the input is too small for window and output.

    Notes
    -----
    Same as torch.nn.FractionalMaxPool2d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.FractionalMaxPool2d.html

    References
    ----------
    B. Graham, "Fractional Max-Pooling", 2014, https://arxiv.org/abs/1412.6071

    Examples
    --------
    >>> layer = nn.FractionalMaxPool2d(3, output_size=(13, 12))
    >>> layer(torch.randn(20, 16, 50, 32)).shape
    torch.Size([20, 16, 13, 12])
    >>> nn.FractionalMaxPool2d(3, output_ratio=0.5)(torch.randn(20, 16, 50, 32)).shape
    torch.Size([20, 16, 25, 16])
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.fractional_max_pool2d, input)


@_own_init
class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """Apply 3-D fractional max pooling over volumes with several channels.

    The output is the largest element of each of several windows at random places. The steps between the
    windows are drawn so that they give an output of the size that is asked for, one sequence for each volume
    and channel.

    Parameters
    ----------
    kernel_size : int or tuple of 3 ints
        Depth, height and width of the window; one number stands for all three, here and below.
    output_size : int or tuple of 3 ints, optional
        Size of the output.
    output_ratio : float or tuple of 3 floats, optional
        Size of the output as a part of the size of the input, between 0 and 1. This or `output_size` is
        given.
    return_indices : bool, default False
        Also return where the largest elements stand: flat indices, which `MaxUnpool3d` takes.

    Shape
    -----
    Input : (N, C, D_in, H_in, W_in) or (C, D_in, H_in, W_in)
    Output : (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out), of `output_size`, or
        ``floor(in * output_ratio)``

    Raises
    ------
    ValueError
        If both or none of `output_size` and `output_ratio` are given, or a ratio is not between 0 and 1.
    RuntimeError
        When called, if the input is too small for window and output.

    Notes
    -----
    Same as torch.nn.FractionalMaxPool3d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.FractionalMaxPool3d.html

    References
    ----------
    B. Graham, "Fractional Max-Pooling", 2014, https://arxiv.org/abs/1412.6071

    Examples
    --------
    >>> nn.FractionalMaxPool3d(3, output_ratio=(0.5, 0.5, 0.5))(torch.randn(2, 4, 10, 12, 8)).shape
    torch.Size([2, 4, 5, 6, 4])
    """

    _sides = staticmethod(_triple)

    def _check_kernel(self, kernel_size) -> None:
        sides = (kernel_size,) if isinstance(kernel_size, int) else kernel_size
        if isinstance(sides, (tuple, list)) and not all(side > 0 for side in sides):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.fractional_max_pool3d, input)


class _AdaptiveAvgPoolNd(Module):
    __constants__ = ["output_size"]

    def __init__(self, output_size: int | tuple[int | None, ...]) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Apply 1-D adaptive average pooling to an output of a given size.

    The output is the mean of each window. Window i of m over n elements reaches from ``floor(i * n / m)`` to
    ``ceil((i + 1) * n / m)``, without the end.

    Parameters
    ----------
    output_size : int or tuple of 1 int
        Length of the output.

    Shape
    -----
    Input : (N, C, L_in) or (C, L_in)
    Output : (N, C, output_size) or (C, output_size)

    Raises
    ------
    RuntimeError
        When called, if the input has other dimensions or is empty.

    Notes
    -----
    Same as torch.nn.AdaptiveAvgPool1d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.AdaptiveAvgPool1d.html

    Examples
    --------
    >>> nn.AdaptiveAvgPool1d(2)(torch.tensor([[[1.0, 2.0, 3.0, 4.0, 5.0]]]))
    tensor([[[2., 4.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Apply 2-D adaptive average pooling to an output of a given size.

    The output is the mean of each window. Window i of m over n elements reaches from ``floor(i * n / m)`` to
    ``ceil((i + 1) * n / m)``, without the end.

    Parameters
    ----------
    output_size : int or tuple of 2 ints or Nones
        Height and width of the output; one number stands for both, None keeps the size of the input.

    Shape
    -----
    Input : (N, C, H_in, W_in) or (C, H_in, W_in)
    Output : (N, C, H_out, W_out) or (C, H_out, W_out), of `output_size`

    Raises
    ------
    RuntimeError
        When called, if the input has other dimensions or is empty.

    Notes
    -----
    Same as torch.nn.AdaptiveAvgPool2d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.AdaptiveAvgPool2d.html

    Examples
    --------
    >>> nn.AdaptiveAvgPool2d(1)(torch.arange(16.0).reshape(1, 1, 4, 4))  # global average pooling
    tensor([[[[7.5000]]]])
    >>> nn.AdaptiveAvgPool2d((5, None))(torch.randn(1, 64, 10, 9)).shape
    torch.Size([1, 64, 5, 9])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Apply 3-D adaptive average pooling to an output of a given size.

    The output is the mean of each window. Window i of m over n elements reaches from ``floor(i * n / m)`` to
    ``ceil((i + 1) * n / m)``, without the end.

    Parameters
    ----------
    output_size : int or tuple of 3 ints or Nones
        Depth, height and width of the output; one number stands for all three, None keeps the size of the
        input.

    Shape
    -----
    Input : (N, C, D_in, H_in, W_in) or (C, D_in, H_in, W_in)
    Output : (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out), of `output_size`

    Raises
    ------
    RuntimeError
        When called, if the input has other dimensions or is empty.

    Notes
    -----
    Same as torch.nn.AdaptiveAvgPool3d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.AdaptiveAvgPool3d.html

    Examples
    --------
    >>> nn.AdaptiveAvgPool3d((5, 7, 9))(torch.randn(1, 4, 8, 9, 10)).shape
    torch.Size([1, 4, 5, 7, 9])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMaxPoolNd(Module):
    __constants__ = ["output_size", "return_indices"]
    return_indices: bool

    def __init__(self, output_size: int | tuple[int | None, ...], return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """Apply 1-D adaptive max pooling to an output of a given size.

    The output is the largest element of each window. Window i of m over n elements reaches from
    ``floor(i * n / m)`` to ``ceil((i + 1) * n / m)``, without the end.

    Parameters
    ----------
    output_size : int or tuple of 1 int
        Length of the output.
    return_indices : bool, default False
        Also return where the largest elements stand, as `MaxPool1d` does.

    Shape
    -----
    Input : (N, C, L_in) or (C, L_in)
    Output : (N, C, output_size) or (C, output_size)

    Raises
    ------
    RuntimeError
        When called, if the input has other dimensions or is empty.

    Notes
    -----
    Same as torch.nn.AdaptiveMaxPool1d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.AdaptiveMaxPool1d.html

    Examples
    --------
    >>> nn.AdaptiveMaxPool1d(2)(torch.tensor([[[1.0, 2.0, 3.0, 4.0, 5.0]]]))
    tensor([[[3., 5.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Apply 2-D adaptive max pooling to an output of a given size.

    The output is the largest element of each window. Window i of m over n elements reaches from
    ``floor(i * n / m)`` to ``ceil((i + 1) * n / m)``, without the end.

    Parameters
    ----------
    output_size : int or tuple of 2 ints or Nones
        Height and width of the output; one number stands for both, None keeps the size of the input.
    return_indices : bool, default False
        Also return where the largest elements stand, as `MaxPool2d` does.

    Shape
    -----
    Input : (N, C, H_in, W_in) or (C, H_in, W_in)
    Output : (N, C, H_out, W_out) or (C, H_out, W_out), of `output_size`

    Raises
    ------
    RuntimeError
        When called, if the input has other dimensions or is empty.

    Notes
    -----
    Same as torch.nn.AdaptiveMaxPool2d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.AdaptiveMaxPool2d.html

    Examples
    --------
    >>> nn.AdaptiveMaxPool2d((2, 1))(torch.arange(16.0).reshape(1, 1, 4, 4))
    tensor([[[[ 7.],
              [15.]]]])
    >>> nn.AdaptiveMaxPool2d((5, None))(torch.randn(1, 64, 10, 9)).shape
    torch.Size([1, 64, 5, 9])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """Apply 3-D adaptive max pooling to an output of a given size.

    The output is the largest element of each window. Window i of m over n elements reaches from
    ``floor(i * n / m)`` to ``ceil((i + 1) * n / m)``, without the end.

    Parameters
    ----------
    output_size : int or tuple of 3 ints or Nones
        Depth, height and width of the output; one number stands for all three, None keeps the size of the
        input.
    return_indices : bool, default False
        Also return where the largest elements stand, as `MaxPool3d` does.

    Shape
    -----
    Input : (N, C, D_in, H_in, W_in) or (C, D_in, H_in, W_in)
    Output : (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out), of `output_size`

    Raises
    ------
    RuntimeError
        When called, if the input has other dimensions or is empty.

    Notes
    -----
    Same as torch.nn.AdaptiveMaxPool3d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.AdaptiveMaxPool3d.html

    Examples
    --------
    >>> nn.AdaptiveMaxPool3d((5, 7, 9))(torch.randn(1, 4, 8, 9, 10)).shape
    torch.Size([1, 4, 5, 7, 9])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)
