"""Lookups, rearrangements and products; functional.py gives them out."""

from rushlight import _C

pixel_shuffle = _C.pixel_shuffle
pixel_unshuffle = _C.pixel_unshuffle


def _renorm(weight, input, max_norm, norm_type):
    """Shorten those rows of weight that input asks for and that are longer than max_norm."""
    import rushlight

    integers = (rushlight.int64, rushlight.int32)
    if input.dtype not in integers:
        raise RuntimeError(
            "Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, Int; "
            f"but got {input.type()} instead (while checking arguments for embedding_renorm_)"
        )
    with rushlight.no_grad():
        for index in sorted(set(input.reshape(-1).tolist())):
            row = weight[index]
            length = row.norm(norm_type).item()
            if length > max_norm:
                row.mul_(max_norm / (length + 1e-7))


def embedding(
    input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False
):
    """The rows of weight whose numbers input holds."""
    if padding_idx is None:
        padding_idx = -1
    elif not -weight.size(0) <= padding_idx < max(weight.size(0), 1):
        raise AssertionError("Padding_idx must be within num_embeddings")
    elif padding_idx < 0:
        padding_idx += weight.size(0)
    if max_norm is not None:
        _renorm(weight, input.contiguous(), max_norm, norm_type)
    return _C.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)


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


def _check_bilinear(input1, input2, weight, bias):
    if input1.dim() != input2.dim():
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}"
        )
    for dim, (a, b) in enumerate(zip(input1.shape[:-1], input2.shape[:-1])):
        if a != b:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {dim}: got {a} and {b}"
            )
    for name, input, dim in (("input1", input1, 1), ("input2", input2, 2)):
        if input.size(-1) != weight.size(dim):
            raise RuntimeError(
                f"bilinear(): {name} size does not match weight size: "
                f"got {input.size(-1)} but expected {weight.size(dim)}"
            )
    if bias is not None and bias.size(0) != weight.size(0):
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: "
            f"got {bias.size(0)} but expected {weight.size(0)}"
        )


def bilinear(input1, input2, weight, bias=None):
    """input1 times weight[o] times input2 for each output o, plus the bias."""
    _check_bilinear(input1, input2, weight, bias)
    outputs, size1, size2 = weight.shape
    left = input1.reshape(-1, size1).matmul(weight.permute(1, 0, 2).reshape(size1, outputs * size2))
    product = left.view(-1, outputs, size2) * input2.reshape(-1, 1, size2)
    result = product.sum(-1).view(*input1.shape[:-1], outputs)
    return result if bias is None else result + bias


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
