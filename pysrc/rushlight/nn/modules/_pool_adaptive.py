"""Pooling to a size that is given: adaptive and fractional."""

from __future__ import annotations

from rushlight.nn import functional as F

from .module import Module
from .utils import _own_init, _pair, _triple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor


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
