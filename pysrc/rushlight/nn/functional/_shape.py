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
    """The sliding blocks of (N, C, H, W) or (C, H, W), floating, as columns (N, C * kh * kw, L).

    RuntimeError for sizes that give no block. https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.unfold.html
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
    """The way back from unfold(): columns (N, C * kh * kw, L) or (C * kh * kw, L) to an image of output_size.

    What stands at one place is added up. RuntimeError for sizes that do not fit.
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.fold.html
    """
    return _nn.col2im(input, *(_pair(x) for x in (output_size, kernel_size, dilation, padding, stride)))
