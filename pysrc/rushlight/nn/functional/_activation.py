"""Activations."""

from __future__ import annotations

from rushlight import _C
from rushlight._C import _nn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

__all__ = [
    "celu",
    "celu_",
    "elu",
    "elu_",
    "gelu",
    "glu",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "hardtanh_",
    "leaky_relu",
    "leaky_relu_",
    "log_softmax",
    "logsigmoid",
    "mish",
    "prelu",
    "relu",
    "relu6",
    "relu_",
    "rrelu",
    "rrelu_",
    "selu",
    "selu_",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "softshrink",
    "softsign",
    "tanh",
    "tanhshrink",
    "threshold",
    "threshold_",
]


# ---- activations that cut off: ReLU and its relatives ----
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


# ---- sigmoids, gates and softmax ----
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """Apply SiLU, the sigmoid linear unit, also called swish: ``x * sigmoid(x)``.

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
    Same as torch.nn.functional.silu:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.silu.html

    References ---------- S. Elfwing, E. Uchibe, K. Doya, "Sigmoid-weighted linear units for neural network
    function approximation in reinforcement learning", 2017, https://arxiv.org/abs/1702.03118

    Examples
    --------
    >>> F.silu(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2689,  0.0000,  1.7616])
    """
    return _nn.silu_(input) if inplace else _nn.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """Apply Mish: ``x * tanh(softplus(x))``.

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
    Same as torch.nn.functional.mish:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.mish.html

    References
    ----------
    D. Misra, "Mish: A self regularized non-monotonic activation function", 2019,
    https://arxiv.org/abs/1908.08681

    Examples
    --------
    >>> F.mish(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.3034,  0.0000,  1.9440])
    """
    return _nn.mish_(input) if inplace else _nn.mish(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """Apply hardswish: ``x * relu6(x + 3) / 6``.

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
    Same as torch.nn.functional.hardswish:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.hardswish.html

    References
    ----------
    A. Howard et al., "Searching for MobileNetV3", 2019, https://arxiv.org/abs/1905.02244

    Examples
    --------
    >>> F.hardswish(torch.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.3333,  0.0000,  0.6667])
    """
    return _nn.hardswish_(input) if inplace else _nn.hardswish(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """Apply hardsigmoid: ``relu6(x + 3) / 6``.

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
    Same as torch.nn.functional.hardsigmoid:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.hardsigmoid.html

    Examples
    --------
    >>> F.hardsigmoid(torch.tensor([-4.0, 0.0, 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """
    return _nn.hardsigmoid_(input) if inplace else _nn.hardsigmoid(input)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """Apply the gated linear unit (GLU): ``a * sigmoid(b)``, where `a` and `b` are the halves of the input.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    dim : int, default -1
        Dimension that is halved; its size is even.

    Returns
    -------
    Tensor
        Shape of the input, with half the size along `dim`.

    Raises
    ------
    RuntimeError
        If the size along `dim` is odd or the input has no dimensions.

    Notes
    -----
    Same as torch.nn.functional.glu:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.glu.html

    References
    ----------
    Y. Dauphin et al., "Language modeling with gated convolutional networks", 2017,
    https://arxiv.org/abs/1612.08083

    Examples
    --------
    >>> F.glu(torch.tensor([1.0, 2.0, 0.0, 0.0]))
    tensor([0.5000, 1.0000])
    """
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _nn.glu(input, dim)


def tanhshrink(input: Tensor) -> Tensor:
    """Apply tanhshrink: ``x - tanh(x)``.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.tanhshrink:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.tanhshrink.html

    Examples
    --------
    >>> F.tanhshrink(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2384,  0.0000,  1.0360])
    """
    return input - input.tanh()


def softsign(input: Tensor) -> Tensor:
    """Apply softsign: ``x / (1 + abs(x))``.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.softsign:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.softsign.html

    Examples
    --------
    >>> F.softsign(torch.tensor([-1.0, 0.0, 3.0]))
    tensor([-0.5000,  0.0000,  0.7500])
    """
    return input / (input.abs() + 1)


def sigmoid(input: Tensor) -> Tensor:
    """Apply the sigmoid, the logistic function: ``1 / (1 + exp(-x))``.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.sigmoid:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.sigmoid.html

    Examples
    --------
    >>> F.sigmoid(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0.2689, 0.5000, 0.8808])
    """
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """Apply the hyperbolic tangent.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.tanh:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.tanh.html

    Examples
    --------
    >>> F.tanh(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.7616,  0.0000,  0.9640])
    """
    return input.tanh()


def _get_softmax_dim(name, ndim, stacklevel):
    import warnings

    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. "
        "Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None) -> Tensor:
    """Apply softmax along a dimension: ``exp(x) / sum(exp(x))``, which are probabilities that add up to 1.

    Losses of classes, such as cross_entropy(), take logits and need no softmax before them.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    dim : int, optional
        Dimension along which the results add up to 1. Without it one is chosen, with a UserWarning: 0 for
        inputs of 0, 1 or 3 dimensions, else 1.
    dtype : dtype, optional
        dtype to convert the input to before.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.softmax:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.softmax.html

    Examples
    --------
    >>> F.softmax(torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]), dim=1)
    tensor([[0.0900, 0.2447, 0.6652],
            [0.3333, 0.3333, 0.3333]])
    """
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None) -> Tensor:
    """Apply softmin along a dimension: softmax of ``-x``.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    dim : int, optional
        Dimension along which the results add up to 1. Without it one is chosen, with a UserWarning: 0 for
        inputs of 0, 1 or 3 dimensions, else 1.
    dtype : dtype, optional
        dtype to convert the input to before.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.softmin:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.softmin.html

    Examples
    --------
    >>> F.softmin(torch.tensor([1.0, 2.0, 3.0]), dim=0)
    tensor([0.6652, 0.2447, 0.0900])
    """
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim(), _stacklevel)
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


def log_softmax(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: int | None = None
) -> Tensor:
    """Apply the logarithm of softmax along a dimension, without overflow or loss of digits in between.

    Parameters
    ----------
    input : Tensor
        Input, of any shape.
    dim : int, optional
        Dimension along which the probabilities add up to 1. Without it one is chosen, with a UserWarning: 0
        for inputs of 0, 1 or 3 dimensions, else 1.
    dtype : dtype, optional
        dtype to convert the input to before.

    Returns
    -------
    Tensor
        Shape of the input.

    Notes
    -----
    Same as torch.nn.functional.log_softmax:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.log_softmax.html

    Examples
    --------
    >>> F.log_softmax(torch.tensor([0.0, 1000.0]), dim=0)
    tensor([-1000.,     0.])
    """
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


gelu = _nn.gelu
hardshrink = _C.hardshrink
logsigmoid = _nn.log_sigmoid
prelu = _C.prelu
softplus = _nn.softplus
softshrink = _nn.softshrink
celu_ = _C.celu_
elu_ = _nn.elu_
hardtanh_ = _nn.hardtanh_
leaky_relu_ = _nn.leaky_relu_
relu_ = _C.relu_
rrelu_ = _C.rrelu_
selu_ = _C.selu_
threshold_ = _C.threshold_
