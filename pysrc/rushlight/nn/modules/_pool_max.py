"""Max pooling, and its inverse."""

from __future__ import annotations

from rushlight.nn import functional as F

from .module import Module
from .utils import _own_init, _pair, _single, _triple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


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
