"""Convolutions in one and three dimensions, made of those in two; functional.py gives them out."""

from rushlight._C import _nn, conv2d

_DIMS = {1: "2D (unbatched) or 3D", 3: "4D (unbatched) or 5D"}


def _repeat(name, value, n):
    """Return value as a list of n numbers; one number stands for all."""
    values = [value] if isinstance(value, int) else list(value)
    if len(values) == 1:
        return values * n
    if len(values) != n:
        raise RuntimeError(
            f"expected {name} to be a single integer value or a list of {n} values to match the convolution "
            f"dimensions, but got {name}={values}"
        )
    return values


def _check_numbers(stride, padding, dilation, groups):
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if any(s <= 0 for s in stride):
        raise RuntimeError("non-positive stride is not supported")
    if any(p < 0 for p in padding):
        raise RuntimeError("negative padding is not supported")
    if any(d <= 0 for d in dilation):
        raise RuntimeError("dilation should be greater than zero")


def _check_shapes(input, weight, bias, padding, dilation, groups):
    given, wanted = list(input.shape), list(weight.shape)
    if len(given) != len(wanted):
        raise RuntimeError(
            f"Expected {len(wanted)}-dimensional input for {len(wanted)}-dimensional weight {wanted}, "
            f"but got {len(given)}-dimensional input of size {given} instead"
        )
    if wanted[0] < groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0, "
            f"but got weight of size {wanted} instead"
        )
    if wanted[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be divisible by {groups} at dimension 0, "
            f"but got weight of size [{wanted}] instead"
        )
    if given[1] != wanted[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {wanted}, expected input{given} to have "
            f"{wanted[1] * groups} channels, but got {given[1]} channels instead"
        )
    if bias is not None and list(bias.shape) != wanted[:1]:
        raise RuntimeError(
            f"Given weight of size {wanted}, expected bias to be 1-dimensional with {wanted[0]} elements, "
            f"but got bias of size {list(bias.shape)} instead"
        )
    padded = [size + 2 * p for size, p in zip(given[2:], padding)]
    kernel = [d * (k - 1) + 1 for k, d in zip(wanted[2:], dilation)]
    if any(size < k for size, k in zip(padded, kernel)):
        raise RuntimeError(
            f"Calculated padded input size per channel: ({' x '.join(map(str, padded))}). "
            f"Kernel size: ({' x '.join(map(str, kernel))}). "
            "Kernel size can't be greater than actual input size"
        )


def _pad_to_same(input, kernel, dilation):
    """Pad so that the output is as large as the input; the odd one goes to the right."""
    widths = []
    for k, d in zip(reversed(kernel), reversed(dilation)):
        widths += [d * (k - 1) // 2, d * (k - 1) - d * (k - 1) // 2]
    return _nn.pad(input, widths) if any(widths) else input


def _convolve(n, function, input, weight, bias, stride, padding, dilation, groups):
    """Check as conv1d and conv3d do, add the batch where it is not there, and convolve."""
    if input.dim() not in (n + 1, n + 2):
        raise RuntimeError(
            f"Expected {_DIMS[n]} (batched) input to conv{n}d, but got input of size: {list(input.shape)}"
        )
    batched = input.dim() == n + 2
    if not batched:
        input = input.unsqueeze(0)
    dilation = _repeat("dilation", dilation, n)
    stride = _repeat("stride", stride, n)
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        if padding == "same" and any(s != 1 for s in stride):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        if padding == "same":
            input = _pad_to_same(input, weight.shape[2:], dilation)
        padding = 0
    padding = _repeat("padding", padding, n)
    _check_numbers(stride, padding, dilation, groups)
    _check_shapes(input, weight, bias, padding, dilation, groups)
    result = function(input, weight, bias, stride, padding, dilation, groups)
    return result if batched else result.squeeze(0)


def _convolve_line(input, weight, bias, stride, padding, dilation, groups):
    """A signal is an image of one row."""
    image, filters = input.unsqueeze(2), weight.unsqueeze(2)
    return conv2d(image, filters, bias, (1, *stride), (0, *padding), (1, *dilation), groups).squeeze(2)


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """1-D convolution over signals (N, C, L)."""
    return _convolve(1, _convolve_line, input, weight, bias, stride, padding, dilation, groups)


def _convolve_slices(input, weight, bias, stride, padding, dilation, groups):
    """A volume is images one behind the other: add what each depth of the filter makes of them."""
    if padding[0]:
        input = _nn.pad(input, [0, 0, 0, 0, padding[0], padding[0]])
    batch, channels, depth, *image = input.shape
    span = dilation[0] * (weight.size(2) - 1) + 1
    outputs = (depth - span) // stride[0] + 1
    slices = input.transpose(1, 2)
    result = None
    for k in range(weight.size(2)):
        first = k * dilation[0]
        seen = slices[:, first : first + (outputs - 1) * stride[0] + 1 : stride[0]]
        images = seen.reshape(batch * outputs, channels, *image)
        shift = bias if k == 0 else None
        part = conv2d(images, weight.select(2, k), shift, stride[1:], padding[1:], dilation[1:], groups)
        result = part if result is None else result + part
    return result.view(batch, outputs, *result.shape[1:]).transpose(1, 2).contiguous()


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """3-D convolution over volumes (N, C, D, H, W)."""
    return _convolve(3, _convolve_slices, input, weight, bias, stride, padding, dilation, groups)
