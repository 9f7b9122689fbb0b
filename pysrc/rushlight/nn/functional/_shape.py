"""Elements in another arrangement: shuffles of pixels and channels, sliding blocks."""

from __future__ import annotations

from rushlight import _C
from rushlight._C import _nn
from rushlight.nn.modules.utils import _pair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

channel_shuffle = _C.channel_shuffle
native_channel_shuffle = _C.native_channel_shuffle
pixel_shuffle = _C.pixel_shuffle
pixel_unshuffle = _C.pixel_unshuffle


def unfold(
    input: Tensor,
    kernel_size: int | tuple[int, ...],
    dilation: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    stride: int | tuple[int, ...] = 1,
) -> Tensor:
    """Extract sliding blocks of images as columns (im2col).

    Parameters
    ----------
    input : Tensor
        Images, (N, C, H, W) or (C, H, W).
    kernel_size : int or tuple of 2 ints
        Height and width of a block; one number stands for both, here and below.
    dilation : int or tuple of 2 ints, default 1
        Distance between the elements of a block.
    padding : int or tuple of 2 ints, default 0
        Zeros added to each side.
    stride : int or tuple of 2 ints, default 1
        Step of the blocks.

    Returns
    -------
    Tensor
        (N, C * kernel_size[0] * kernel_size[1], L) for L blocks.

    Raises
    ------
    RuntimeError
        If no block fits.

    Notes
    -----
    Same as torch.nn.functional.unfold:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.unfold.html

    Examples
    --------
    >>> F.unfold(torch.arange(9.0).reshape(1, 1, 3, 3), 2)
    tensor([[[0., 1., 3., 4.],
             [1., 2., 4., 5.],
             [3., 4., 6., 7.],
             [4., 5., 7., 8.]]])
    """
    return _nn.im2col(input, *(_pair(x) for x in (kernel_size, dilation, padding, stride)))


def fold(
    input: Tensor,
    output_size: int | tuple[int | None, ...],
    kernel_size: int | tuple[int, ...],
    dilation: int | tuple[int, ...] = 1,
    padding: int | tuple[int, ...] = 0,
    stride: int | tuple[int, ...] = 1,
) -> Tensor:
    """Combine sliding blocks into images (col2im): add up what overlaps.

    Parameters
    ----------
    input : Tensor
        Blocks as columns, (N, C * kernel_size[0] * kernel_size[1], L), or without N.
    output_size : int or tuple of 2 ints
        Height and width of the images; one number stands for both, here and below.
    kernel_size : int or tuple of 2 ints
        Height and width of a block.
    dilation : int or tuple of 2 ints, default 1
        Distance between the elements of a block.
    padding : int or tuple of 2 ints, default 0
        Zeros added to each side, which are left out again.
    stride : int or tuple of 2 ints, default 1
        Step of the blocks.

    Returns
    -------
    Tensor
        (N, C, output_size[0], output_size[1]).

    Raises
    ------
    RuntimeError
        If the sizes do not fit.

    Notes
    -----
    Same as torch.nn.functional.fold:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.fold.html

    Examples
    --------
    >>> F.fold(torch.ones(1, 4, 4), output_size=3, kernel_size=2)
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    return _nn.col2im(input, *(_pair(x) for x in (output_size, kernel_size, dilation, padding, stride)))
