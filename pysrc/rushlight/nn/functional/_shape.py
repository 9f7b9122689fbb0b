"""Elements in another arrangement: shuffles of pixels and channels, sliding blocks."""

from rushlight import _C

pixel_shuffle = _C.pixel_shuffle
pixel_unshuffle = _C.pixel_unshuffle


def channel_shuffle(input, groups):
    """Take one channel of each of the groups in turn."""
    if input.dim() <= 2:
        sizes = list(input.shape)
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {sizes}")
    batch, channels, *rest = input.shape
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    if channels % groups != 0:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    if input.numel() == 0:
        return input.view_as(input)
    apart = input.reshape(batch, groups, channels // groups, *rest)
    return apart.transpose(1, 2).contiguous().reshape(input.shape)


def _two(numbers, what):
    two = (numbers, numbers) if isinstance(numbers, int) else tuple(numbers)
    if len(two) != 2:
        raise RuntimeError(f"It is expected {what} equals to 2, but got size {len(two)}")
    return two


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """The sliding blocks of (N, C, H, W) or (C, H, W), floating, as columns (N, C * kh * kw, L).

    RuntimeError for sizes that give no block. https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.unfold.html
    """
    kernel, dilation = _two(kernel_size, "kernel_size"), _two(dilation, "dilation")
    padding, stride = _two(padding, "padding"), _two(stride, "stride")
    for numbers, least, what, name, must in (
        (kernel, 1, "kernel size", "kernel", "greater than zero"),
        (dilation, 1, "dilation", "dilation", "greater than zero"),
        (padding, 0, "padding", "pad", "non-negative"),
        (stride, 1, "stride", "stride", "greater than zero"),
    ):
        if min(numbers) < least:
            raise RuntimeError(
                f"{what} should be {must}, but got {name}_height: {numbers[0]} {name}_width: {numbers[1]}"
            )
    input.size(2)  # IndexError with fewer dimensions
    if input.dim() not in (3, 4) or 0 in input.shape[-3:]:
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions "
            f"for input, but got: {list(input.shape)}"
        )
    size = tuple(input.shape[-2:])
    blocks = tuple(
        (size[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(2)
    )
    if min(blocks) < 1:
        raise RuntimeError(
            f"Given input with spatial size {size}, kernel_size={kernel}, dilation={dilation}, "
            f"padding={padding}, calculated shape of the array of sliding blocks as {blocks}, but its "
            "components must be at least one."
        )
    if not input.is_floating_point() and input.dtype is not _C.bool:
        raise NotImplementedError(f"\"im2col_out_cpu\" not implemented for '{input.type()[6:-6]}'")
    x = _C._nn.pad(input, (padding[1], padding[1], padding[0], padding[0])).contiguous()
    *lead, down, right = x.stride()
    channels = x.shape[-3]
    windows = x.as_strided(
        (*x.shape[:-2], *kernel, *blocks),
        (*lead, down * dilation[0], right * dilation[1], down * stride[0], right * stride[1]),
    )
    return windows.reshape(*x.shape[:-3], channels * kernel[0] * kernel[1], blocks[0] * blocks[1])
