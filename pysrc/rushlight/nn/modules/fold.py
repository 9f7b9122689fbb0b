"""Sliding blocks of images, and images of such blocks."""

from __future__ import annotations

from rushlight.nn import functional as F

from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

__all__ = ["Fold", "Unfold"]


class Fold(Module):
    """Combine sliding windows, given as columns, into images (col2im).

    Where windows overlap, their elements are added up: what `Unfold` took apart comes back as the image times
    the number of windows at each place.

    Parameters
    ----------
    output_size : int or tuple of 2 ints
        Height and width of the image; one number stands for both, here and below.
    kernel_size : int or tuple of 2 ints
        Height and width of the window.
    dilation : int or tuple of 2 ints, default 1
        Distance between the elements of the window.
    padding : int or tuple of 2 ints, default 0
        Zeros that were added to each side.
    stride : int or tuple of 2 ints, default 1
        Step of the window.

    Shape
    -----
    Input : (N, C * kernel_size[0] * kernel_size[1], L) or without N
    Output : (N, C, output_size[0], output_size[1]) or without N

    Raises
    ------
    RuntimeError
        When called, if the number or the size of the columns does not fit.

    Notes
    -----
    Same as torch.nn.Fold: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Fold.html

    Examples
    --------
    >>> fold = nn.Fold(output_size=(4, 5), kernel_size=(2, 2))
    >>> fold(torch.ones(1, 4, 12))
    tensor([[[[1., 2., 2., 2., 1.],
              [2., 4., 4., 4., 2.],
              [2., 4., 4., 4., 2.],
              [1., 2., 2., 2., 1.]]]])
    """

    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]

    def __init__(
        self,
        output_size: int | tuple[int | None, ...],
        kernel_size: int | tuple[int, ...],
        dilation: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] = 0,
        stride: int | tuple[int, ...] = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, "
            f"dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
        )


class Unfold(Module):
    """Extract the sliding windows of images as columns (im2col).

    Parameters
    ----------
    kernel_size : int or tuple of 2 ints
        Height and width of the window; one number stands for both, here and below.
    dilation : int or tuple of 2 ints, default 1
        Distance between the elements of the window.
    padding : int or tuple of 2 ints, default 0
        Zeros added to each side.
    stride : int or tuple of 2 ints, default 1
        Step of the window.

    Shape
    -----
    Input : (N, C, H, W) or (C, H, W)
    Output : (N, C * kernel_size[0] * kernel_size[1], L), where L is the number of windows, the product over
        both sides of
        ``floor((size + 2 * padding - dilation * (kernel_size - 1) - 1) / stride + 1)``

    Raises
    ------
    RuntimeError
        When called, if the input has other dimensions or no window fits.

    Notes
    -----
    Same as torch.nn.Unfold: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Unfold.html

    Examples
    --------
    >>> nn.Unfold(kernel_size=(2, 3))(torch.randn(2, 5, 3, 4)).shape
    torch.Size([2, 30, 4])
    """

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(
        self,
        kernel_size: int | tuple[int, ...],
        dilation: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] = 0,
        stride: int | tuple[int, ...] = 1,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )
