"""Normalisation."""

from __future__ import annotations

import math

from rushlight import _C
from rushlight._C import _nn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from rushlight._C import Tensor

__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "normalize",
    "rms_norm",
]


def _verify_batch_size(size):
    if math.prod(size[2:]) * size[0] == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _verify_spatial_size(size):
    if math.prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Apply batch normalization: normalize each channel over the batch and all positions.

    ``(x - mean) / sqrt(var + eps) * weight + bias``

    Parameters
    ----------
    input : Tensor
        Input, (N, C, ...).
    running_mean : Tensor or None
        (C), means to use in evaluation; in training they are moved on, in place.
    running_var : Tensor or None
        (C), variances, likewise.
    weight : Tensor, optional
        (C), factors.
    bias : Tensor, optional
        (C), offsets.
    training : bool, default False
        Normalize by mean and variance of this batch.
    momentum : float, default 0.1
        Part of the running statistics that a batch replaces.
    eps : float, default 1e-5
        Added to the variance.

    Returns
    -------
    Tensor
        Shape of the input.

    Raises
    ------
    ValueError
        In training, if there is only one value for each channel or `eps` is not positive.

    Notes
    -----
    Same as torch.nn.functional.batch_norm:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.batch_norm.html

    References ---------- S. Ioffe, C. Szegedy, "Batch normalization: Accelerating deep network training by
    reducing internal covariate shift", 2015, https://arxiv.org/abs/1502.03167

    Examples
    --------
    >>> F.batch_norm(torch.tensor([[1.0, 10.0], [3.0, 30.0]]), None, None, training=True)
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    """
    if training:
        _verify_batch_size(input.size())
        if eps <= 0.0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    elif eps < 0.0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return _C.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Apply instance normalization: normalize each channel of each example over its positions.

    Parameters
    ----------
    input : Tensor
        Input, (N, C, ...).
    running_mean : Tensor, optional
        (C), means to use without `use_input_stats`; with it they are moved on, in place.
    running_var : Tensor, optional
        (C), variances, likewise.
    weight : Tensor, optional
        (C), factors.
    bias : Tensor, optional
        (C), offsets.
    use_input_stats : bool, default True
        Normalize by mean and variance of this input.
    momentum : float, default 0.1
        Part of the running statistics that an input replaces.
    eps : float, default 1e-5
        Added to the variance.

    Returns
    -------
    Tensor
        Shape of the input.

    Raises
    ------
    ValueError
        If `use_input_stats` meets one position only.

    Notes
    -----
    Same as torch.nn.functional.instance_norm:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.instance_norm.html

    References ---------- D. Ulyanov, A. Vedaldi, V. Lempitsky, "Instance normalization: The missing
    ingredient for fast stylization", 2016, https://arxiv.org/abs/1607.08022

    Examples
    --------
    >>> F.instance_norm(torch.tensor([[[1.0, 3.0], [10.0, 30.0]]]))
    tensor([[[-1.0000,  1.0000],
             [-1.0000,  1.0000]]])
    """
    if use_input_stats:
        _verify_spatial_size(input.size())
    return _C.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True
    )


def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Apply layer normalization: normalize each example over its last dimensions.

    ``(x - mean) / sqrt(var + eps) * weight + bias``

    Parameters
    ----------
    input : Tensor
        Input, (*, normalized_shape).
    normalized_shape : list of ints
        The last dimensions.
    weight : Tensor, optional
        Factors, of that shape.
    bias : Tensor, optional
        Offsets, of that shape.
    eps : float, default 1e-5
        Added to the variance.

    Returns
    -------
    Tensor
        Shape of the input.

    Raises
    ------
    RuntimeError
        If the shapes do not fit.

    Notes
    -----
    Same as torch.nn.functional.layer_norm:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.layer_norm.html

    References
    ----------
    J. Ba, J. Kiros, G. Hinton, "Layer normalization", 2016, https://arxiv.org/abs/1607.06450

    Examples
    --------
    >>> F.layer_norm(torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 9.0]]), [3])
    tensor([[-1.2247,  0.0000,  1.2247],
            [-0.7071, -0.7071,  1.4142]])
    """
    return _C.layer_norm(input, normalized_shape, weight, bias, eps, True)


def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """Apply root mean square (RMS) normalization over the last dimensions.

    ``x / sqrt(mean(x**2) + eps) * weight``

    Parameters
    ----------
    input : Tensor
        Input, (*, normalized_shape).
    normalized_shape : list of ints
        The last dimensions.
    weight : Tensor, optional
        Factors, of that shape.
    eps : float, optional
        Added to the mean; the eps of the dtype if not given.

    Returns
    -------
    Tensor
        Shape of the input.

    Raises
    ------
    RuntimeError
        If the shapes do not fit.

    Notes
    -----
    Same as torch.nn.functional.rms_norm:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.rms_norm.html

    References
    ----------
    B. Zhang, R. Sennrich, "Root mean square layer normalization", 2019, https://arxiv.org/abs/1910.07467

    Examples
    --------
    >>> F.rms_norm(torch.tensor([[3.0, 4.0]]), [2])
    tensor([[0.8485, 1.1314]])
    """
    return _C.rms_norm(input, normalized_shape, weight, eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Apply group normalization: normalize groups of channels of each example.

    Parameters
    ----------
    input : Tensor
        Input, (N, C, ...).
    num_groups : int
        Number of groups; it divides C.
    weight : Tensor, optional
        (C), factors.
    bias : Tensor, optional
        (C), offsets.
    eps : float, default 1e-5
        Added to the variance.

    Returns
    -------
    Tensor
        Shape of the input.

    Raises
    ------
    RuntimeError
        If the input has less than 2 dimensions or shapes do not fit.
    ValueError
        If there is only one value in each group.

    Notes
    -----
    Same as torch.nn.functional.group_norm:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.group_norm.html

    References
    ----------
    Y. Wu, K. He, "Group normalization", 2018, https://arxiv.org/abs/1803.08494

    Examples
    --------
    >>> F.group_norm(torch.tensor([[1.0, 3.0, 10.0, 30.0]]), num_groups=2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    size = input.size()
    _verify_batch_size([size[0] * size[1] // num_groups, num_groups, *size[2:]])
    return _C.group_norm(input, num_groups, weight, bias, eps, True)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Apply local response normalization: divide each channel by the energy of its neighbour channels.

    ``x / (k + alpha * mean(x**2))**beta``, with the mean over `size` channels around, zeros beyond the ends.

    Parameters
    ----------
    input : Tensor
        Input, (N, C, ...) with 3 or more dimensions.
    size : int
        Number of channels.
    alpha : float, default 1e-4
        Factor of the mean.
    beta : float, default 0.75
        Power.
    k : float, default 1.0
        Added to the mean.

    Returns
    -------
    Tensor
        Shape of the input.

    Raises
    ------
    ValueError
        If the input has less than 3 dimensions.

    Notes
    -----
    Same as torch.nn.functional.local_response_norm:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.local_response_norm.html

    Examples
    --------
    >>> F.local_response_norm(torch.ones(1, 3, 1), size=3, alpha=3.0, beta=1.0).flatten()
    tensor([0.3333, 0.2500, 0.3333])
    """
    if input.dim() < 3:
        text = f"Expected 3D or higher dimensionality{' ' * 25} input (got {input.dim()} dimensions)"
        raise ValueError(text)
    if input.numel() == 0:
        return input
    squares = input.mul(input).reshape(input.size(0), 1, input.size(1), -1)
    squares = _nn.pad(squares, (0, 0, size // 2, (size - 1) // 2))
    if input.dim() > 3:  # what avg_pool3d, which PyTorch calls for these, computes in
        squares = _C._autocast(squares, "float32")
    mean = _nn.avg_pool2d(squares, (size, 1), 1).view(input.shape)
    return input / mean.mul(alpha).add(k).pow(beta)


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """Normalize vectors along a dimension: divide them by their p-norm.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    p : float, default 2.0
        p of the norm.
    dim : int, default 1
        Dimension of the vectors.
    eps : float, default 1e-12
        Smallest norm to divide by.
    out : Tensor, optional
        Where the result goes.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.normalize:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.normalize.html

    Examples
    --------
    >>> F.normalize(torch.tensor([[3.0, 4.0], [0.0, 2.0]]))
    tensor([[0.6000, 0.8000],
            [0.0000, 1.0000]])
    """
    length = input.norm(p, dim, keepdim=True).clamp(eps).expand_as(input)
    return input / length if out is None else _C.div(input, length, out=out)
