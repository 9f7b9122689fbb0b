"""Starting values for parameters; with the same seed the numbers are PyTorch's."""

from __future__ import annotations

import math

import rushlight
from rushlight import _missing
from rushlight._C import _set_grad_enabled, is_grad_enabled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from rushlight._C import Generator, Tensor

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]


# ---- starting values that are the same each time ----
def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill a tensor with a constant.

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill.
    val : float
        The constant.

    Returns
    -------
    Tensor
        The tensor.

    Notes
    -----
    Same as torch.nn.init.constant_: https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.constant_

    Examples
    --------
    >>> nn.init.constant_(torch.empty(2), 0.3)
    tensor([0.3000, 0.3000])
    """
    return _unrecorded(tensor.fill_, val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill a tensor with ones.

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill.

    Returns
    -------
    Tensor
        The tensor.

    Notes
    -----
    Same as torch.nn.init.ones_: https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.ones_

    Examples
    --------
    >>> nn.init.ones_(torch.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill a tensor with zeros.

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill.

    Returns
    -------
    Tensor
        The tensor.

    Notes
    -----
    Same as torch.nn.init.zeros_: https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.zeros_

    Examples
    --------
    >>> layer = nn.Linear(3, 2)
    >>> nn.init.zeros_(layer.bias)
    Parameter containing:
    tensor([0., 0.], requires_grad=True)
    """
    return _unrecorded(tensor.zero_)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity: 1 on the diagonal, 0 elsewhere.

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill, of 2 dimensions.

    Returns
    -------
    Tensor
        The tensor.

    Raises
    ------
    ValueError
        If the tensor has not 2 dimensions.

    Notes
    -----
    Same as torch.nn.init.eye_: https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.eye_

    Examples
    --------
    >>> nn.init.eye_(torch.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with rushlight.no_grad():
        tensor.copy_(rushlight.eye(*tensor.shape, dtype=tensor.dtype, device=tensor.device))
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the weight of a convolution so that the layer returns its input.

    It is 1 in the middle of a kernel for each channel, 0 elsewhere.

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill, of 3, 4 or 5 dimensions.
    groups : int, default 1
        Number of groups of the convolution.

    Returns
    -------
    Tensor
        The tensor.

    Raises
    ------
    ValueError
        If the tensor has other dimensions or the first size cannot be divided by `groups`.

    Notes
    -----
    Same as torch.nn.init.dirac_: https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.dirac_

    Examples
    --------
    >>> layer = nn.Conv1d(1, 1, 3, padding=1, bias=False)
    >>> _ = nn.init.dirac_(layer.weight)
    >>> layer(torch.tensor([[1.0, 2.0, 3.0]])).detach()
    tensor([[1., 2., 3.]])
    """
    dimensions = tensor.ndimension()
    if dimensions not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = sizes[0] // groups
    middle = tuple(size // 2 for size in sizes[2:])
    with rushlight.no_grad():
        tensor.zero_()
        for group in range(groups):
            for d in range(min(per_group, sizes[1])):
                tensor[(group * per_group + d, d, *middle)] = 1
    return tensor


# ---- random starting values ----
def _unrecorded(fill, *args, **kwargs):
    """Call it as within no_grad(), which costs more than the filling of a small tensor."""
    before = is_grad_enabled()
    _set_grad_enabled(False)
    try:
        return fill(*args, **kwargs)
    finally:
        _set_grad_enabled(before)


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill a tensor with random numbers of the uniform distribution U(a, b).

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill.
    a : float, default 0.0
        Lower bound.
    b : float, default 1.0
        Upper bound.
    generator : Generator, optional
        Source of random numbers; the default generator if not given.

    Returns
    -------
    Tensor
        The tensor.

    Notes
    -----
    Same as torch.nn.init.uniform_: https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.uniform_

    Examples
    --------
    >>> x = nn.init.uniform_(torch.empty(1000), -1.0, 1.0)
    >>> ((x >= -1) & (x < 1)).all()
    tensor(True)
    """
    return _unrecorded(tensor.uniform_, a, b, generator=generator)


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill a tensor with random numbers of the normal distribution N(mean, std**2).

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill.
    mean : float, default 0.0
        Mean.
    std : float, default 1.0
        Standard deviation.
    generator : Generator, optional
        Source of random numbers; the default generator if not given.

    Returns
    -------
    Tensor
        The tensor.

    Notes
    -----
    Same as torch.nn.init.normal_: https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.normal_

    Examples
    --------
    >>> x = nn.init.normal_(torch.empty(10000), mean=3.0, std=0.1)
    >>> abs(x.mean().item() - 3.0) < 0.01
    True
    """
    return _unrecorded(tensor.normal_, mean, std, generator=generator)


def _normal_share(x):
    """Return the share of normal numbers below x."""
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _reject_normal(tensor, mean, std, a, b, generator):
    """Draw normal numbers, again where they fall outside: good where most fall inside."""
    low, high = tensor.new_tensor(a).item(), tensor.new_tensor(b).item()
    result = tensor.normal_(mean, std, generator=generator)
    while (outside := (result < low) | (result > high)).any():
        again = rushlight.empty_like(result).normal_(mean, std, generator=generator)
        result = rushlight.where(outside, again, result)
    tensor.copy_(result)


def _reject_uniform(tensor, mean, std, a, b, generator):
    """Draw uniform numbers, again where a second draw exceeds their density: for the tails."""
    log_peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    chance = rushlight.empty_like(tensor)

    def refused(numbers):
        log_density = numbers.sub(mean).div_(std).pow_(2).mul_(-0.5).sub_(log_peak)
        return chance.uniform_(generator=generator).log_().gt(log_density)

    result = tensor.uniform_(a, b, generator=generator)
    pending = refused(result)
    while pending.any():
        numbers = rushlight.empty_like(tensor).uniform_(a, b, generator=generator)
        result = rushlight.where(pending, numbers, result)
        pending = pending & refused(numbers)
    tensor.copy_(result)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill a tensor with random numbers of the normal distribution, truncated to [a, b].

    It warns if the mean is more than two standard deviations outside of the bounds.

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill.
    mean : float, default 0.0
        Mean, before the truncation.
    std : float, default 1.0
        Standard deviation, before the truncation.
    a : float, default -2.0
        Lower bound.
    b : float, default 2.0
        Upper bound.
    generator : Generator, optional
        Source of random numbers; the default generator if not given.

    Returns
    -------
    Tensor
        The tensor.

    Notes
    -----
    Same as torch.nn.init.trunc_normal_:
    https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.trunc_normal_

    Examples
    --------
    >>> x = nn.init.trunc_normal_(torch.empty(1000), std=5.0)
    >>> (x.abs() <= 2).all()
    tensor(True)
    """
    if (mean < a - 2 * std) or (mean > b + 2 * std):
        import warnings

        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=2,
        )
    if tensor.is_meta:
        return tensor
    inside = _normal_share((b - mean) / std) - _normal_share((a - mean) / std)
    with rushlight.no_grad():
        draw = _reject_normal if inside > 0.3 else _reject_uniform
        draw(tensor, mean, std, a, b, generator)
    return tensor


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill a tensor with a random orthogonal matrix.

    Its rows, or its columns if there are more rows, are orthonormal. Dimensions after the first count as one.

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill, of 2 dimensions or more.
    gain : float, default 1
        Factor of the matrix.
    generator : Generator, optional
        Source of random numbers; the default generator if not given.

    Returns
    -------
    Tensor
        The tensor.

    Raises
    ------
    ValueError
        If the tensor has less than 2 dimensions.

    Notes
    -----
    Same as torch.nn.init.orthogonal_:
    https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.orthogonal_

    References
    ----------
    A. Saxe, J. McClelland, S. Ganguli, "Exact solutions to the nonlinear dynamics of learning in deep linear
    neural networks", 2014, https://arxiv.org/abs/1312.6120

    Examples
    --------
    >>> q = nn.init.orthogonal_(torch.empty(3, 5))
    >>> torch.allclose(q @ q.T, torch.eye(3), atol=1e-6)
    True
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0 or tensor.is_meta:
        return tensor
    rows = tensor.size(0)
    drawn = tensor.new_empty((rows, tensor.numel() // rows)).normal_(0, 1, generator=generator)
    wide = rows < drawn.size(1)
    q, r = rushlight.linalg.qr(drawn.t() if wide else drawn)
    q = q * rushlight.diag(r).sign()  # else Q would not be uniformly distributed
    with rushlight.no_grad():
        tensor.copy_((q.t() if wide else q).reshape(tensor.shape))
        tensor.mul_(gain)
    return tensor


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Fill a matrix with random numbers of N(0, std**2), and a part of each column with zeros.

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill, of 2 dimensions.
    sparsity : float
        Part of each column to become 0.
    std : float, default 0.01
        Standard deviation of the others.
    generator : Generator, optional
        Source of random numbers; the default generator if not given.

    Returns
    -------
    Tensor
        The tensor.

    Raises
    ------
    ValueError
        If the tensor has not 2 dimensions.

    Notes
    -----
    Same as torch.nn.init.sparse_: https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.sparse_

    References ---------- J. Martens, "Deep learning via Hessian-free optimization", 2010,
    https://icml.cc/Conferences/2010/papers/458.pdf

    Examples
    --------
    >>> w = nn.init.sparse_(torch.empty(10, 4), sparsity=0.3)
    >>> (w == 0).sum(0)
    tensor([3, 3, 3, 3])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with rushlight.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            for row in rushlight.randperm(rows)[:zeros].tolist():
                tensor[row, column] = 0
    return tensor


# ---- random starting values scaled by the number of inputs and outputs ----
_PLAIN_GAINS = (
    "linear",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "sigmoid",
)


def calculate_gain(
    nonlinearity: Literal[
        "linear",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "sigmoid",
        "tanh",
        "relu",
        "leaky_relu",
        "selu",
    ],
    param: int | float | None = None,
) -> float:
    """Return the recommended gain of a nonlinearity, by which initial weights are scaled.

    1 for 'linear', convolutions and 'sigmoid', 5/3 for 'tanh', sqrt(2) for 'relu', 3/4 for 'selu' and
    ``sqrt(2 / (1 + slope**2))`` for 'leaky_relu'.

    Parameters
    ----------
    nonlinearity : str
        Name of the function in ``nn.functional``.
    param : float, optional
        Negative slope of 'leaky_relu'; 0.01 if not given.

    Returns
    -------
    float
        The gain.

    Raises
    ------
    ValueError
        If the nonlinearity is unknown or the slope no number.

    Notes
    -----
    Same as torch.nn.init.calculate_gain:
    https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.calculate_gain

    Examples
    --------
    >>> nn.init.calculate_gain("leaky_relu", 1.0)
    1.0
    """
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif not isinstance(param, bool) and isinstance(param, (int, float)):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity in _PLAIN_GAINS:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def _calculate_fan_in_and_fan_out(tensor):
    sizes = tensor.shape
    if len(sizes) < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    if len(sizes) == 2:
        return sizes[1], sizes[0]
    field = math.prod(sizes[2:])
    return sizes[1] * field, sizes[0] * field


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of {['fan_in', 'fan_out']}")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill a tensor by Xavier (Glorot) initialization, uniformly distributed.

    The numbers are of U(-k, k) with ``k = gain * sqrt(6 / (fan_in + fan_out))``.

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill, of 2 dimensions or more.
    gain : float, default 1.0
        Factor, as calculate_gain() returns it.
    generator : Generator, optional
        Source of random numbers; the default generator if not given.

    Returns
    -------
    Tensor
        The tensor.

    Raises
    ------
    ValueError
        If the tensor has less than 2 dimensions.

    Notes
    -----
    Same as torch.nn.init.xavier_uniform_:
    https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.xavier_uniform_

    References
    ----------
    X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010,
    https://proceedings.mlr.press/v9/glorot10a.html

    Examples
    --------
    >>> w = nn.init.xavier_uniform_(torch.empty(50, 100), gain=nn.init.calculate_gain("relu"))
    >>> w.abs().max() <= 2**0.5 * (6 / 150) ** 0.5
    tensor(True)
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(fan_in + fan_out)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Fill a tensor by Xavier (Glorot) initialization, normally distributed.

    The numbers are of N(0, std**2) with ``std = gain * sqrt(2 / (fan_in + fan_out))``.

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill, of 2 dimensions or more.
    gain : float, default 1.0
        Factor, as calculate_gain() returns it.
    generator : Generator, optional
        Source of random numbers; the default generator if not given.

    Returns
    -------
    Tensor
        The tensor.

    Raises
    ------
    ValueError
        If the tensor has less than 2 dimensions.

    Notes
    -----
    Same as torch.nn.init.xavier_normal_:
    https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.xavier_normal_

    References
    ----------
    X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010,
    https://proceedings.mlr.press/v9/glorot10a.html

    Examples
    --------
    >>> w = nn.init.xavier_normal_(torch.empty(100, 100))
    >>> abs(w.std().item() - 0.1) < 0.01
    True
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def _nothing_to_do(tensor):
    if 0 not in tensor.shape:
        return False
    import warnings

    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return True


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: Literal["fan_in", "fan_out"] = "fan_in",
    nonlinearity: Literal[
        "linear",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "sigmoid",
        "tanh",
        "relu",
        "leaky_relu",
        "selu",
    ] = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill a tensor by Kaiming (He) initialization, uniformly distributed.

    The numbers are of U(-k, k) with ``k = calculate_gain(nonlinearity, a) * sqrt(3 / fan)``.

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill, of 2 dimensions or more.
    a : float, default 0
        Negative slope of 'leaky_relu'.
    mode : {'fan_in', 'fan_out'}, default 'fan_in'
        Keep the variance of activations going forward or of gradients going backward.
    nonlinearity : str, default 'leaky_relu'
        Function that follows; 'relu' and 'leaky_relu' are usual.
    generator : Generator, optional
        Source of random numbers; the default generator if not given.

    Returns
    -------
    Tensor
        The tensor.

    Raises
    ------
    ValueError
        If the tensor has less than 2 dimensions, or `mode` or `nonlinearity` is unknown.

    Notes
    -----
    Same as torch.nn.init.kaiming_uniform_:
    https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.kaiming_uniform_

    References ---------- K. He et al., "Delving deep into rectifiers: Surpassing human-level performance on
    ImageNet classification", 2015, https://arxiv.org/abs/1502.01852

    Examples
    --------
    >>> layer = nn.Conv2d(3, 16, 3)
    >>> w = nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
    >>> w.abs().max() <= (6 / (3 * 9)) ** 0.5
    tensor(True)
    """
    if _nothing_to_do(tensor):
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    bound = math.sqrt(3.0) * (calculate_gain(nonlinearity, a) / math.sqrt(fan))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: Literal["fan_in", "fan_out"] = "fan_in",
    nonlinearity: Literal[
        "linear",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "sigmoid",
        "tanh",
        "relu",
        "leaky_relu",
        "selu",
    ] = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill a tensor by Kaiming (He) initialization, normally distributed.

    The numbers are of N(0, std**2) with ``std = calculate_gain(nonlinearity, a) / sqrt(fan)``.

    Parameters
    ----------
    tensor : Tensor
        Tensor to fill, of 2 dimensions or more.
    a : float, default 0
        Negative slope of 'leaky_relu'.
    mode : {'fan_in', 'fan_out'}, default 'fan_in'
        Keep the variance of activations going forward or of gradients going backward.
    nonlinearity : str, default 'leaky_relu'
        Function that follows; 'relu' and 'leaky_relu' are usual.
    generator : Generator, optional
        Source of random numbers; the default generator if not given.

    Returns
    -------
    Tensor
        The tensor.

    Raises
    ------
    ValueError
        If the tensor has less than 2 dimensions, or `mode` or `nonlinearity` is unknown.

    Notes
    -----
    Same as torch.nn.init.kaiming_normal_:
    https://docs.pytorch.org/docs/2.13/nn.init.html#torch.nn.init.kaiming_normal_

    References ---------- K. He et al., "Delving deep into rectifiers: Surpassing human-level performance on
    ImageNet classification", 2015, https://arxiv.org/abs/1502.01852

    Examples
    --------
    >>> w = nn.init.kaiming_normal_(torch.empty(300, 200), mode="fan_out", nonlinearity="relu")
    >>> abs(w.std().item() - (2 / 300) ** 0.5) < 0.001
    True
    """
    if _nothing_to_do(tensor):
        return tensor
    fan = _calculate_correct_fan(tensor, mode)
    return normal_(tensor, 0, calculate_gain(nonlinearity, a) / math.sqrt(fan), generator)


_lacks = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


# scripts know them by these names, too
_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_
_no_grad_fill_, _no_grad_zero_ = constant_, zeros_


def _deprecated(name):
    new = globals()[name + "_"]

    def old(*args, **kwargs):
        import warnings

        warnings.warn(
            f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2
        )
        return new(*args, **kwargs)

    old.__name__ = name
    old.__doc__ = f"Deprecated: use {name}_."
    return old


_OLD_NAMES = (
    "uniform",
    "normal",
    "constant",
    "eye",
    "dirac",
    "orthogonal",
    "sparse",
    "xavier_uniform",
    "xavier_normal",
    "kaiming_uniform",
    "kaiming_normal",
)


def __getattr__(name):
    return _deprecated(name) if name in _OLD_NAMES else _lacks(name)
