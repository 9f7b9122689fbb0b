"""Fractional max pooling, and the way back from max pooling."""

from __future__ import annotations

from rushlight import _C
from rushlight._C import _nn

from ._pool import _named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


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
