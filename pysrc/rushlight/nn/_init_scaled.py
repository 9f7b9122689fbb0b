"""Random starting values scaled by the number of inputs and outputs."""

from __future__ import annotations

import math

from ._init_random import normal_, uniform_

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    from rushlight._C import Generator, Tensor


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
