"""Activations that cut off: ReLU and its relatives."""

from __future__ import annotations

from rushlight import _C
from rushlight._C import _nn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Apply the rectified linear unit (ReLU): ``max(x, 0)``.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    inplace : bool, default False
        Write the result into the input.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.relu:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.relu.html

    Examples
    --------
    >>> F.relu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """
    return _C.relu_(input) if inplace else _C.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """Apply ReLU6: limit the input to [0, 6].

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    inplace : bool, default False
        Write the result into the input.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.relu6:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.relu6.html

    Examples
    --------
    >>> F.relu6(torch.tensor([-1.0, 2.0, 8.0]))
    tensor([0., 2., 6.])
    """
    return _nn.hardtanh_(input, 0, 6) if inplace else _nn.hardtanh(input, 0, 6)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """Apply hardtanh: limit the input to [min_val, max_val].

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    min_val : float, default -1.0
        Lower bound.
    max_val : float, default 1.0
        Upper bound.
    inplace : bool, default False
        Write the result into the input.

    Returns
    -------
    Tensor
        Shape of the input.

    Raises
    ------
    ValueError
        If `min_val` is greater than `max_val`.

    Notes
    -----
    Same as torch.nn.functional.hardtanh:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.hardtanh.html

    Examples
    --------
    >>> F.hardtanh(torch.tensor([-2.0, 0.5, 2.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _nn.hardtanh_(input, min_val, max_val) if inplace else _nn.hardtanh(input, min_val, max_val)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Apply the exponential linear unit (ELU): ``x`` where ``x > 0``, else ``alpha * (exp(x) - 1)``.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    alpha : float, default 1.0
        The function tends to ``-alpha`` for small `x`.
    inplace : bool, default False
        Write the result into the input.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.elu:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.elu.html

    References
    ----------
    D. Clevert, T. Unterthiner, S. Hochreiter, "Fast and accurate deep network learning by exponential linear
    units (ELUs)", 2016, https://arxiv.org/abs/1511.07289

    Examples
    --------
    >>> F.elu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.6321,  0.0000,  2.0000])
    """
    return _nn.elu_(input, alpha) if inplace else _nn.elu(input, alpha)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """Apply the continuously differentiable ELU (CELU): ``max(0, x) + min(0, alpha * (exp(x / alpha) - 1))``.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    alpha : float, default 1.0
        The function tends to ``-alpha`` for small `x`; not 0.
    inplace : bool, default False
        Write the result into the input.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.celu:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.celu.html

    References
    ----------
    J. Barron, "Continuously differentiable exponential linear units", 2017, https://arxiv.org/abs/1704.07483

    Examples
    --------
    >>> F.celu(torch.tensor([-1.0, 0.0, 2.0]), alpha=0.5)
    tensor([-0.4323,  0.0000,  2.0000])
    """
    return _C.celu_(input, alpha) if inplace else _C.celu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """Apply the scaled ELU (SELU), whose constants keep activations near mean 0 and variance 1.

    ``scale * (max(0, x) + min(0, alpha * (exp(x) - 1)))`` with ``alpha = 1.6733`` and ``scale = 1.0507``.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    inplace : bool, default False
        Write the result into the input.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.selu:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.selu.html

    References
    ----------
    G. Klambauer et al., "Self-normalizing neural networks", 2017, https://arxiv.org/abs/1706.02515

    Examples
    --------
    >>> F.selu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-1.1113,  0.0000,  2.1014])
    """
    return _C.selu_(input) if inplace else _C.selu(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """Apply the leaky ReLU: ``x`` where ``x > 0``, else ``negative_slope * x``.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    negative_slope : float, default 0.01
        Slope for negative elements.
    inplace : bool, default False
        Write the result into the input.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.leaky_relu:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.leaky_relu.html

    Examples
    --------
    >>> F.leaky_relu(torch.tensor([-1.0, 0.0, 2.0]), 0.1)
    tensor([-0.1000,  0.0000,  2.0000])
    """
    return _nn.leaky_relu_(input, negative_slope) if inplace else _nn.leaky_relu(input, negative_slope)


def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """Apply the randomized leaky ReLU: in training, draw the slope of each negative element.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    lower : float, default 1/8
        Smallest slope.
    upper : float, default 1/3
        Largest slope.
    training : bool, default False
        Draw the slopes; otherwise all are the mean of both bounds.
    inplace : bool, default False
        Write the result into the input.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.rrelu:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.rrelu.html

    References
    ----------
    B. Xu et al., "Empirical evaluation of rectified activations in convolutional network", 2015,
    https://arxiv.org/abs/1505.00853

    Examples
    --------
    >>> F.rrelu(torch.tensor([-1.0, 2.0]), 0.1, 0.3)
    tensor([-0.2000,  2.0000])
    >>> slope = -F.rrelu(torch.tensor([-1.0]), 0.1, 0.3, training=True).item()
    >>> 0.1 <= slope <= 0.3
    True
    """
    return (_C.rrelu_ if inplace else _C.rrelu)(input, lower, upper, training)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """Apply a threshold: ``x`` where ``x > threshold``, else `value`.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    threshold : float
        Elements that are not greater are replaced.
    value : float
        What they become.
    inplace : bool, default False
        Write the result into the input.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.threshold:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.threshold.html

    Examples
    --------
    >>> F.threshold(torch.tensor([-1.0, 0.5, 2.0]), 1.0, -5.0)
    tensor([-5., -5.,  2.])
    """
    return (_C.threshold_ if inplace else _C.threshold)(input, threshold, value)
