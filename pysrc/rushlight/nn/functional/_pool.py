"""Pooling, fractional pooling, and the way back from max pooling."""

from __future__ import annotations

import math

from rushlight import _C
from rushlight._C import _nn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "fractional_max_pool2d",
    "fractional_max_pool2d_with_indices",
    "fractional_max_pool3d",
    "fractional_max_pool3d_with_indices",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]


adaptive_avg_pool1d = _C.adaptive_avg_pool1d
avg_pool1d = _C.avg_pool1d
avg_pool2d = _nn.avg_pool2d
avg_pool3d = _nn.avg_pool3d


# ---- the largest of a window; with return_indices, where it stands too ----
def _named(n, about, *functions):
    """Give functions the names and texts that they have for n dimensions."""
    for name, function in functions:
        function.__name__ = function.__qualname__ = name.format(n)
        function.__module__ = "rushlight.nn.functional"
        function.__doc__ = about
    return tuple(function for _, function in functions)


def _max_pools(n, what):
    largest = getattr(_C, f"max_pool{n}d")
    found = getattr(_C if n == 1 else _nn, f"max_pool{n}d_with_indices")

    def alone(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return largest(input, kernel_size, stride, padding, dilation, ceil_mode)

    def both(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        return tuple(found(input, kernel_size, stride, padding, dilation, ceil_mode))

    def either(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
        if return_indices:
            return tuple(found(input, kernel_size, stride, padding, dilation, ceil_mode))
        return largest(input, kernel_size, stride, padding, dilation, ceil_mode)

    about = f"""Apply {n}-D max pooling over {what}: the largest element of each window.

    Parameters
    ----------
    input : Tensor
        Input, also without N.
    kernel_size : int or tuple of {n} ints
        Sides of the window; one number stands for all, here and below.
    stride : int or tuple of {n} ints, optional
        Step of the window; `kernel_size` if not given.
    padding : int or tuple of {n} ints, default 0
        Elements of ``-inf`` added to each side; at most half the window.
    dilation : int or tuple of {n} ints, default 1
        Distance between the elements of the window.
    ceil_mode : bool, default False
        Round the size of the output up: windows may then reach over the end.
    return_indices : bool, default False
        Also return where the largest elements stand: flat indices, which max_unpool{n}d() takes.
        max_pool{n}d_with_indices() always does.

    Returns
    -------
    Tensor or tuple of 2 Tensors
        The largest elements, and their indices, int64.

    Raises
    ------
    RuntimeError
        If the input has other dimensions, `padding` is more than half the window, or a window does not fit.

    Notes
    -----
    Same as torch.nn.functional.max_pool{n}d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.max_pool{n}d.html

    Examples
    --------
    >>> x = torch.arange({4**n}.0).reshape(1, {", ".join("4" * n)})
    >>> F.max_pool{n}d(x, 2).shape
    torch.Size([1, {", ".join("2" * n)}])
    >>> values, indices = F.max_pool{n}d(x, 4, return_indices=True)
    >>> values.item(), indices.item()
    ({4**n - 1}.0, {4**n - 1})
    """
    names = ("_max_pool{}d", alone), ("max_pool{}d_with_indices", both), ("max_pool{}d", either)
    return _named(n, about, *names)


_max_pool1d, max_pool1d_with_indices, max_pool1d = _max_pools(1, "signals (N, C, L)")
_max_pool2d, max_pool2d_with_indices, max_pool2d = _max_pools(2, "images (N, C, H, W)")
_max_pool3d, max_pool3d_with_indices, max_pool3d = _max_pools(3, "volumes (N, C, D, H, W)")


# ---- as many windows as output_size says ----


def _list_with_default(out_size, defaults):
    """Put the default, an input's side, where out_size has None."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    if None not in out_size:
        return out_size
    return [d if o is None else o for o, d in zip(out_size, defaults[-len(out_size) :])]


def adaptive_avg_pool2d(input: Tensor, output_size: int | tuple[int | None, ...]) -> Tensor:
    """Apply 2-D adaptive average pooling: the mean of each of as many windows as `output_size` says.

    Parameters
    ----------
    input : Tensor
        Images, (N, C, H, W) or (C, H, W).
    output_size : int or tuple of 2 ints or Nones
        Height and width of the result; one number stands for both, None keeps a side.

    Returns
    -------
    Tensor
        (N, C, output_size[0], output_size[1]), or without N.

    Raises
    ------
    RuntimeError, ValueError
        If the input has other dimensions.

    Notes
    -----
    Same as torch.nn.functional.adaptive_avg_pool2d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.adaptive_avg_pool2d.html

    Examples
    --------
    >>> F.adaptive_avg_pool2d(torch.arange(16.0).reshape(1, 4, 4), 2)
    tensor([[[ 2.5000,  4.5000],
             [10.5000, 12.5000]]])
    >>> F.adaptive_avg_pool2d(torch.zeros(8, 3, 10, 9), (5, None)).shape
    torch.Size([8, 3, 5, 9])
    """
    return _nn.adaptive_avg_pool2d(input, _list_with_default(output_size, input.size()))


def adaptive_avg_pool3d(input: Tensor, output_size: int | tuple[int | None, ...]) -> Tensor:
    """Apply 3-D adaptive average pooling: the mean of each of as many windows as `output_size` says.

    Parameters
    ----------
    input : Tensor
        Volumes, (N, C, D, H, W) or (C, D, H, W).
    output_size : int or tuple of 3 ints or Nones
        Depth, height and width of the result; one number stands for all, None keeps a side.

    Returns
    -------
    Tensor
        (N, C, output_size[0], output_size[1], output_size[2]), or without N.

    Raises
    ------
    RuntimeError, ValueError
        If the input has other dimensions.

    Notes
    -----
    Same as torch.nn.functional.adaptive_avg_pool3d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.adaptive_avg_pool3d.html

    Examples
    --------
    >>> F.adaptive_avg_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 1).item()
    3.5
    >>> F.adaptive_avg_pool3d(torch.zeros(8, 3, 10, 9, 8), (5, None, 4)).shape
    torch.Size([8, 3, 5, 9, 4])
    """
    return _nn.adaptive_avg_pool3d(input, _list_with_default(output_size, input.size()))


def _adaptive_max_pools(n, what):
    function = getattr(_C if n == 1 else _nn, f"adaptive_max_pool{n}d")

    def both(input, output_size, return_indices=False):
        size = output_size if n == 1 else _list_with_default(output_size, input.size())
        return tuple(function(input, size))

    def alone(input, output_size, return_indices=False):
        return both(input, output_size)[0]

    def either(input, output_size, return_indices=False):
        values, indices = both(input, output_size)
        return (values, indices) if return_indices else values

    about = f"""Apply {n}-D adaptive max pooling over {what}: `output_size` says how many windows there are.

    Parameters
    ----------
    input : Tensor
        Input, with a dimension of channels and with or without one of the batch.
    output_size : int or tuple of {n} ints{"" if n == 1 else " or Nones"}
        Sides of the output{"" if n == 1 else "; one number stands for all, None keeps a side"}.
    return_indices : bool, default False
        Also return where the largest elements stand, as flat indices.
        adaptive_max_pool{n}d_with_indices() always does.

    Returns
    -------
    Tensor or tuple of 2 Tensors
        The largest element of each window, and their indices, int64.

    Raises
    ------
    RuntimeError{"" if n == 1 else ", ValueError"}
        If the input has other dimensions.

    Notes
    -----
    Same as torch.nn.functional.adaptive_max_pool{n}d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.adaptive_max_pool{n}d.html

    Examples
    --------
    >>> x = torch.arange({5**n}.0).reshape(1, {", ".join("5" * n)})
    >>> F.adaptive_max_pool{n}d(x, 3).shape
    torch.Size([1, {", ".join("3" * n)}])
    >>> values, indices = F.adaptive_max_pool{n}d(x, 1, return_indices=True)
    >>> values.item(), indices.item()
    ({5**n - 1}.0, {5**n - 1})
    """
    names = ("_adaptive_max_pool{}d", alone), ("adaptive_max_pool{}d_with_indices", both)
    return _named(n, about, *names, ("adaptive_max_pool{}d", either))


_adaptive_max_pool1d, adaptive_max_pool1d_with_indices, adaptive_max_pool1d = _adaptive_max_pools(
    1, "signals"
)
_adaptive_max_pool2d, adaptive_max_pool2d_with_indices, adaptive_max_pool2d = _adaptive_max_pools(2, "images")
_adaptive_max_pool3d, adaptive_max_pool3d_with_indices, adaptive_max_pool3d = _adaptive_max_pools(
    3, "volumes"
)


# ---- the p-norm of a window ----


def _lp_pool(average, largest, input, norm_type, kernel_size, stride, ceil_mode, sides):
    if sides > 1 and not isinstance(kernel_size, int) and len(kernel_size) != sides:
        few = f"not enough values to unpack (expected {sides}, got {len(kernel_size)})"
        raise ValueError(few if len(kernel_size) < sides else f"too many values to unpack (expected {sides})")
    if norm_type == float("inf"):
        return largest(input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    if norm_type == -float("inf"):
        return -largest(-input.abs(), kernel_size, stride, 0, 1, ceil_mode)
    many = kernel_size**sides if isinstance(kernel_size, int) else math.prod(kernel_size)
    mean = average(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    return (mean.sign() * mean.abs().relu()).mul(many).pow(1.0 / norm_type)


def lp_pool1d(
    input: Tensor,
    norm_type: int | float,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Apply 1-D power-average pooling: the p-norm of each window, ``sum(x**p)**(1 / p)``.

    Parameters
    ----------
    input : Tensor
        Signals, (N, C, L) or (C, L).
    norm_type : float
        p of the norm; inf takes the largest.
    kernel_size : int or tuple of 1 int
        Size of the window.
    stride : int or tuple of 1 int, optional
        Step of the window; `kernel_size` if not given.
    ceil_mode : bool, default False
        Round the size of the output up.

    Returns
    -------
    Tensor
        (N, C, L_out) or (C, L_out).

    Notes
    -----
    Same as torch.nn.functional.lp_pool1d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.lp_pool1d.html

    Examples
    --------
    >>> F.lp_pool1d(torch.tensor([[3.0, 4.0, 6.0, 8.0]]), 2, 2)
    tensor([[ 5., 10.]])
    """
    return _lp_pool(avg_pool1d, max_pool1d, input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(
    input: Tensor,
    norm_type: int | float,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Apply 2-D power-average pooling: the p-norm of each window, ``sum(x**p)**(1 / p)``.

    Parameters
    ----------
    input : Tensor
        Images, (N, C, H, W) or (C, H, W).
    norm_type : float
        p of the norm; inf takes the largest.
    kernel_size : int or tuple of 2 ints
        Height and width of the window; one number stands for both, here and below.
    stride : int or tuple of 2 ints, optional
        Step of the window; `kernel_size` if not given.
    ceil_mode : bool, default False
        Round the size of the output up.

    Returns
    -------
    Tensor
        (N, C, H_out, W_out) or (C, H_out, W_out).

    Raises
    ------
    ValueError
        If `kernel_size` has another number of elements.

    Notes
    -----
    Same as torch.nn.functional.lp_pool2d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.lp_pool2d.html

    Examples
    --------
    >>> F.lp_pool2d(torch.ones(1, 4, 4), 2, 2)
    tensor([[[2., 2.],
             [2., 2.]]])
    """
    return _lp_pool(avg_pool2d, max_pool2d, input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(
    input: Tensor,
    norm_type: int | float,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """Apply 3-D power-average pooling: the p-norm of each window, ``sum(x**p)**(1 / p)``.

    Parameters
    ----------
    input : Tensor
        Volumes, (N, C, D, H, W) or (C, D, H, W).
    norm_type : float
        p of the norm; inf takes the largest.
    kernel_size : int or tuple of 3 ints
        Depth, height and width of the window; one number stands for all, here and below.
    stride : int or tuple of 3 ints, optional
        Step of the window; `kernel_size` if not given.
    ceil_mode : bool, default False
        Round the size of the output up.

    Returns
    -------
    Tensor
        (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out).

    Raises
    ------
    ValueError
        If `kernel_size` has another number of elements.

    Notes
    -----
    Same as torch.nn.functional.lp_pool3d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.lp_pool3d.html

    Examples
    --------
    >>> F.lp_pool3d(torch.ones(1, 2, 2, 2), 3, 2)
    tensor([[[[2.]]]])
    """
    return _lp_pool(avg_pool3d, max_pool3d, input, norm_type, kernel_size, stride, ceil_mode, 3)


# ---- fractional max pooling, and the way back from max pooling ----
# ---- windows at random places ----
def _output_size(input, output_size, output_ratio, n):
    """How many windows a dimension gets."""
    name = f"fractional_max_pool{n}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is not None:
        return output_size
    if len(output_ratio) > n:
        raise ValueError(f"{name} requires output_ratio to either be a single Int or tuple of Ints.")
    return [int(input.size(i - n) * output_ratio[i]) for i in range(n)]


def _fractional(n, what):
    function = getattr(_nn, f"fractional_max_pool{n}d")

    def both(
        input,
        kernel_size,
        output_size=None,
        output_ratio=None,
        return_indices=False,
        _random_samples=None,
    ):
        output_size = _output_size(input, output_size, output_ratio, n)
        if _random_samples is None:
            batch = 1 if input.dim() == n + 1 else input.size(0)
            _random_samples = _C.rand(batch, input.size(-n - 1), n, dtype=input.dtype, device=input.device)
        return tuple(function(input, kernel_size, output_size, _random_samples))

    def alone(
        input,
        kernel_size,
        output_size=None,
        output_ratio=None,
        return_indices=False,
        _random_samples=None,
    ):
        return both(input, kernel_size, output_size, output_ratio, True, _random_samples)[0]

    def either(
        input,
        kernel_size,
        output_size=None,
        output_ratio=None,
        return_indices=False,
        _random_samples=None,
    ):
        pair = both(input, kernel_size, output_size, output_ratio, True, _random_samples)
        return pair if return_indices else pair[0]

    about = f"""Apply {n}-D fractional max pooling over {what}: windows at random places.

    ``_random_samples``, (N, C, {n}) of numbers from [0, 1), says where they lie; it is drawn if not given.

    Parameters
    ----------
    input : Tensor
        Input, with a dimension of channels and with or without one of the batch.
    kernel_size : int or tuple of {n} ints
        Sides of the window; one number stands for all, here and below.
    output_size : int or tuple of {n} ints, optional
        Sides of the output.
    output_ratio : tuple of {n} floats, optional
        Sides of the output as parts of those of the input, in place of `output_size`.
    return_indices : bool, default False
        Also return where the largest elements stand, as flat indices.
        fractional_max_pool{n}d_with_indices() always does.

    Returns
    -------
    Tensor or tuple of 2 Tensors
        The largest element of each window, and their indices, int64.

    Raises
    ------
    ValueError
        If neither `output_size` nor `output_ratio` is given.
    RuntimeError
        If a window does not fit.

    Notes
    -----
    Same as torch.nn.functional.fractional_max_pool{n}d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.fractional_max_pool{n}d.html

    References
    ----------
    B. Graham, "Fractional max-pooling", 2014, https://arxiv.org/abs/1412.6071

    Examples
    --------
    >>> x = torch.zeros(2, 3, {", ".join(["10"] * n)})
    >>> F.fractional_max_pool{n}d(x, 2, output_size=7).shape
    torch.Size([2, 3, {", ".join("7" * n)}])
    >>> F.fractional_max_pool{n}d(x, 2, output_ratio=({", ".join(["0.5"] * n)})).shape
    torch.Size([2, 3, {", ".join("5" * n)}])
    """
    names = ("_fractional_max_pool{}d", alone), ("fractional_max_pool{}d_with_indices", both)
    return _named(n, about, *names, ("fractional_max_pool{}d", either))


_fractional_max_pool2d, fractional_max_pool2d_with_indices, fractional_max_pool2d = _fractional(2, "images")
_fractional_max_pool3d, fractional_max_pool3d_with_indices, fractional_max_pool3d = _fractional(3, "volumes")


# ---- the way back ----
def _check_unpool_output_size(output_size, dim):
    if output_size[dim] < 0:
        raise ValueError(
            "max_unpooling: output_size must contain non-negative spatial dimensions, "
            f"but got output_size[{dim}]={output_size[dim]}"
        )


def _unpool_output_size(input, kernel_size, stride, padding, output_size):
    """The sides of what was pooled: as the windows say, or `output_size` where that is near enough."""
    n = len(kernel_size)
    sizes = input.size()
    usual = [(sizes[d - n] - 1) * stride[d] + kernel_size[d] - 2 * padding[d] for d in range(n)]
    if output_size is None:
        output_size = usual
    else:
        if len(output_size) == n + 2:
            output_size = output_size[2:]
        if len(output_size) != n:
            raise ValueError(
                f"output_size should be a sequence containing {n} or {n + 2} elements, "
                f"but it has a length of '{len(output_size)}'"
            )
        for d in range(n):
            least, most = usual[d] - stride[d], usual[d] + stride[d]
            if not least < output_size[d] < most:
                raise ValueError(
                    f'invalid output_size "{output_size}" (dim {d} must be between {least} and {most})'
                )
    for d in range(n):
        _check_unpool_output_size(output_size, d)
    return output_size


def _sides(n, kernel_size, stride, padding):
    """n numbers of each."""
    stride = kernel_size if stride is None else stride
    return [(x,) * n if isinstance(x, int) else tuple(x) for x in (kernel_size, stride, padding)]


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
    output_size: int | tuple[int | None, ...] | None = None,
) -> Tensor:
    """Invert 1-D max pooling: put elements back where they stood, with zeros around.

    Parameters
    ----------
    input : Tensor
        Pooled signals, (N, C, L) or (C, L).
    indices : Tensor
        Where its elements stood, as max_pool1d() returns them with `return_indices`.
    kernel_size : int or tuple of 1 int
        Window of the pooling.
    stride : int or tuple of 1 int, optional
        Its step; `kernel_size` if not given.
    padding : int or tuple of 1 int, default 0
        Its padding.
    output_size : sequence of ints, optional
        Size of the result, where several sizes give the pooled one.

    Returns
    -------
    Tensor
        (N, C, L_out) or (C, L_out).

    Raises
    ------
    ValueError
        If `output_size` is not possible.
    RuntimeError
        If an index is outside.

    Notes
    -----
    Same as torch.nn.functional.max_unpool1d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.max_unpool1d.html

    Examples
    --------
    >>> pooled, indices = F.max_pool1d(torch.tensor([[1.0, 5.0, 3.0, 2.0]]), 2, return_indices=True)
    >>> F.max_unpool1d(pooled, indices, 2)
    tensor([[0., 5., 3., 0.]])
    """
    size = _unpool_output_size(input, *_sides(1, kernel_size, stride, padding), output_size)
    return _nn.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*size, 1]).squeeze(-1)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
    output_size: int | tuple[int | None, ...] | None = None,
) -> Tensor:
    """Invert 2-D max pooling: put elements back where they stood, with zeros around.

    Parameters
    ----------
    input : Tensor
        Pooled images, (N, C, H, W) or (C, H, W).
    indices : Tensor
        Where its elements stood, as max_pool2d() returns them with `return_indices`.
    kernel_size : int or tuple of 2 ints
        Window of the pooling.
    stride : int or tuple of 2 ints, optional
        Its step; `kernel_size` if not given.
    padding : int or tuple of 2 ints, default 0
        Its padding.
    output_size : sequence of ints, optional
        Size of the result, where several sizes give the pooled one.

    Returns
    -------
    Tensor
        (N, C, H_out, W_out) or (C, H_out, W_out).

    Raises
    ------
    ValueError
        If `output_size` is not possible.
    RuntimeError
        If an index is outside.

    Notes
    -----
    Same as torch.nn.functional.max_unpool2d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.max_unpool2d.html

    Examples
    --------
    >>> pooled, indices = F.max_pool2d(torch.arange(4.0).reshape(1, 2, 2), 2, return_indices=True)
    >>> F.max_unpool2d(pooled, indices, 2)
    tensor([[[0., 0.],
             [0., 3.]]])
    """
    size = _unpool_output_size(input, *_sides(2, kernel_size, stride, padding), output_size)
    return _nn.max_unpool2d(input, indices, size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | tuple[int, ...],
    stride: int | tuple[int, ...] | None = None,
    padding: int | tuple[int, ...] = 0,
    output_size: int | tuple[int | None, ...] | None = None,
) -> Tensor:
    """Invert 3-D max pooling: put elements back where they stood, with zeros around.

    Parameters
    ----------
    input : Tensor
        Pooled volumes, (N, C, D, H, W) or (C, D, H, W).
    indices : Tensor
        Where its elements stood, as max_pool3d() returns them with `return_indices`.
    kernel_size : int or tuple of 3 ints
        Window of the pooling.
    stride : int or tuple of 3 ints, optional
        Its step; `kernel_size` if not given.
    padding : int or tuple of 3 ints, default 0
        Its padding.
    output_size : sequence of ints, optional
        Size of the result, where several sizes give the pooled one.

    Returns
    -------
    Tensor
        (N, C, D_out, H_out, W_out) or (C, D_out, H_out, W_out).

    Raises
    ------
    ValueError
        If `output_size` is not possible.
    RuntimeError
        If an index is outside.

    Notes
    -----
    Same as torch.nn.functional.max_unpool3d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.max_unpool3d.html

    Examples
    --------
    >>> pooled, indices = F.max_pool3d(torch.arange(8.0).reshape(1, 2, 2, 2), 2, return_indices=True)
    >>> F.max_unpool3d(pooled, indices, 2).flatten()
    tensor([0., 0., 0., 0., 0., 0., 0., 7.])
    """
    sides = _sides(3, kernel_size, stride, padding)
    return _nn.max_unpool3d(input, indices, _unpool_output_size(input, *sides, output_size), *sides[1:])
