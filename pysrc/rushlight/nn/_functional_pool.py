"""Pooling; functional.py gives it out."""

from rushlight import _C, _missing
from rushlight._C import _nn

avg_pool2d = _nn.avg_pool2d


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """Largest element of each window."""
    if return_indices:
        raise _missing.refuse("max_pool2d with return_indices=True")
    return _C.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


def adaptive_avg_pool2d(input, output_size):
    """Means of as many windows as output_size says; None keeps a side."""
    if isinstance(output_size, (tuple, list)):
        if input.dim() <= len(output_size):
            raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
        if None in output_size:
            kept = input.shape[-len(output_size) :]
            output_size = [k if o is None else o for o, k in zip(output_size, kept)]
    return _nn.adaptive_avg_pool2d(input, output_size)


# ---- signals: images of one row ----


def _only(value, text):
    """Return the one number of an int or a list; None for None and an empty list."""
    if value is None or isinstance(value, int):
        return value
    values = list(value)
    if len(values) > 1:
        raise RuntimeError(text.format(len(values)))
    return values[0] if values else None


def _check_max_pool1d(kernel, stride, padding, dilation):
    for name, number in (("kernel_size", kernel), ("stride", stride), ("dilation", dilation)):
        if number <= 0:
            raise RuntimeError(f"max_pool1d() {name} must be greater than zero, but got {number}")
    if padding < 0:
        raise RuntimeError(f"max_pool1d() padding must be non-negative, but got {padding}")
    if padding > kernel // 2:
        raise RuntimeError(
            "max_pool1d() padding should be at most half of kernel size, "
            f"but got padding={padding} and kernel_size={kernel}"
        )


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    """Largest element of each window of signals (N, C, L)."""
    if return_indices:
        raise _missing.refuse("max_pool1d with return_indices=True")
    if input.dim() not in (2, 3) or 0 in input.shape[-2:]:
        raise RuntimeError(
            "max_pool1d: Expected 2D or 3D (batch mode) tensor with optional 0 dim batch size for input, "
            f"but got:{list(input.shape)}"
        )
    text = "max_pool1d() {} must be an int, list of ints or tuple of ints of size 1 but got size "
    given = (("kernel_size", kernel_size), ("stride", stride), ("padding", padding), ("dilation", dilation))
    kernel, stride, padding, dilation = (_only(v, text.format(name) + "{}") for name, v in given)
    stride = kernel if stride is None else stride
    _check_max_pool1d(kernel, stride, padding, dilation)
    left = input.size(-1) + 2 * padding - dilation * (kernel - 1) - 1
    if left < 0 and not (ceil_mode and left > -stride):
        raise RuntimeError(f"max_pool1d() Invalid computed output size: {left // stride + 1}")
    row = input.unsqueeze(-2)
    return _C.max_pool2d(row, (1, kernel), (1, stride), (0, padding), (1, dilation), ceil_mode).squeeze(-2)


def _row(input, name):
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"Expected 2 to 3 dimensions, but got {input.dim()}-dimensional tensor for argument #1 'self' "
            f"(while checking arguments for {name})"
        )
    return input.unsqueeze(-2)


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """Mean of each window of signals (N, C, L)."""
    row = _row(input, "avg_pool1d")
    text = "avg_pool1d() argument '{}' should contain one int (got "
    given = (("kernel_size", kernel_size), ("stride", stride), ("padding", padding))
    kernel, stride, padding = (_only(v, text.format(name) + "{})") for name, v in given)
    stride = kernel if stride is None else stride
    return _nn.avg_pool2d(row, (1, kernel), (1, stride), (0, padding), ceil_mode, count_include_pad).squeeze(
        -2
    )


def adaptive_avg_pool1d(input, output_size):
    """Means of as many windows of signals (N, C, L) as output_size says."""
    row = _row(input, "adaptive_avg_pool1d")
    size = _only(output_size, "adaptive_avg_pool1d() argument 'output_size' should contain one int (got {})")
    return _nn.adaptive_avg_pool2d(row, (1, size)).squeeze(-2)
