"""Pixels from channels, channels from pixels."""

from __future__ import annotations

from rushlight.nn import functional as F

from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """Rearrange channels into pixels of a larger image.

    The image becomes r times as high and wide and has r * r times fewer channels. Behind a convolution this
    is sub-pixel convolution, a cheap way to enlarge images.

    Parameters
    ----------
    upscale_factor : int
        r.

    Shape
    -----
    Input : (*, C * r * r, H, W)
    Output : (*, C, H * r, W * r)

    Raises
    ------
    RuntimeError
        When called, if r * r does not divide the channels or is not positive, or the input has fewer than 3
        dimensions.

    Notes
    -----
    Same as torch.nn.PixelShuffle: https://docs.pytorch.org/docs/2.13/generated/torch.nn.PixelShuffle.html

    References
    ----------
    W. Shi et al., "Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel
    Convolutional Neural Network", 2016, https://arxiv.org/abs/1609.05158

    Examples
    --------
    >>> nn.PixelShuffle(2)(torch.arange(4.0).reshape(1, 4, 1, 1))
    tensor([[[[0., 1.],
              [2., 3.]]]])
    """

    __constants__ = ["upscale_factor"]
    upscale_factor: int

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Rearrange pixels into channels: the inverse of `PixelShuffle`.

    Parameters
    ----------
    downscale_factor : int
        r.

    Shape
    -----
    Input : (*, C, H * r, W * r)
    Output : (*, C * r * r, H, W)

    Raises
    ------
    RuntimeError
        When called, if r does not divide height and width, or the input has fewer than 3 dimensions.

    Notes
    -----
    Same as torch.nn.PixelUnshuffle:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.PixelUnshuffle.html

    References
    ----------
    W. Shi et al., "Real-Time Single Image and Video Super-Resolution Using an Efficient Sub-Pixel
    Convolutional Neural Network", 2016, https://arxiv.org/abs/1609.05158

    Examples
    --------
    >>> nn.PixelUnshuffle(3)(torch.randn(1, 1, 12, 12)).shape
    torch.Size([1, 9, 4, 4])
    """

    __constants__ = ["downscale_factor"]
    downscale_factor: int

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
